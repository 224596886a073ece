//! Tensor copies and tensor maps against a card: each line of `machine/tensors.txt`, which `machine/tensors.py` explains and repeats.

use std::collections::HashMap;

use ptx_isa::run::{Argument, Fill, Grid, Interleave, Memory, Module, Swizzle, TensorElement, TensorMap};

const LINES: &str = include_str!("../machine/tensors.txt");
const KERNELS: &str = include_str!("../machine/tensors.ptx");

/// Bytes of shared memory that kernels fill, of the tensor's buffer, and of it before the tensor.
const SHARED: usize = 16384;
const GLOBAL: usize = 1 << 17;
const BASE: usize = 1 << 14;
const EMPTY: u32 = 0xeeee_eeee;
/// Number of the first word of a source.
const FIRST: u32 = 1 << 20;
const OOB_NAN: u32 = 0x7ff7_7ff7;

/// The parameters of a line.
struct Given<'l>(HashMap<&'l str, &'l str>);

impl Given<'_> {
    fn list<T: TryFrom<i64>>(&self, name: &str) -> Option<Vec<T>> {
        let numbers = self.0.get(name).map_or("", |list| list).split(',').filter(|number| !number.is_empty());
        numbers.map(|number| T::try_from(number.parse().expect("a number")).ok()).collect()
    }

    fn number<T: TryFrom<i64> + Default + Copy>(&self, name: &str) -> Option<T> {
        Some(self.list(name)?.first().copied().unwrap_or_default())
    }

    /// The tensor map at an address; nothing if it has no room for a parameter or is refused.
    fn map(&self, address: u64) -> Option<Argument> {
        let name = self.0["element"].to_uppercase();
        let element = TensorElement::ALL.iter().find(|element| element.name().to_uppercase() == name);
        let element = *element.unwrap_or_else(|| panic!("{name} is not a type of elements"));
        let (sizes, strides) = (self.list("dims")?, self.list("strides")?);
        let map = match self.0.contains_key("box") {
            true => TensorMap::tiled(element, address, &sizes, &strides, &self.list("box")?),
            false => {
                let corners = [self.list("lower")?, self.list("upper")?];
                let columns = [self.number("channels")?, self.number("pixels")?];
                TensorMap::im2col(element, address, &sizes, &strides, [&corners[0], &corners[1]], columns)
            }
        };
        let interleave =
            [Interleave::None, Interleave::Bytes16, Interleave::Bytes32][self.number::<usize>("interleave")?];
        let swizzles = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];
        let fill = [Fill::Zero, Fill::Nan][self.number::<usize>("fill")?];
        let map = map.interleave(interleave).swizzle(swizzles[self.number::<usize>("swizzle")?]).fill(fill);
        let steps: Vec<u32> = self.list("steps")?;
        let map = if steps.is_empty() { map } else { map.element_stride(&steps) };
        map.encode().ok().map(Argument::bytes)
    }
}

/// The words of the destination that a list describes; nothing of them is `empty` before the copy.
fn words(list: &str, empty: u32, count: usize) -> Vec<u32> {
    let mut words = Vec::new();
    for item in list.split(' ').filter(|item| !item.is_empty()) {
        let (item, times) =
            item.split_once('*').map_or((item, 1), |(item, times)| (item, times.parse().expect("a count")));
        let (first, last) = item.split_once("..").unwrap_or((item, item));
        for _ in 0..times {
            match first {
                "." => words.extend([empty; 4]),
                "-" => words.extend([0; 4]),
                "n" => words.extend([OOB_NAN; 4]),
                _ => {
                    let [first, last] =
                        [first, last].map(|number| number.parse::<u32>().expect("a number of 16 bytes"));
                    words.extend(FIRST + 4 * first..FIRST + 4 * last + 4);
                }
            }
        }
    }
    words.resize(count, empty);
    words
}

/// The wide modes take corners in W that im2col mode takes in three dimensions only.
#[test]
fn corners_have_limits_by_mode() {
    let map = |lower: [i16; 2]| {
        TensorMap::im2col(
            TensorElement::F16,
            1 << 16,
            &[64, 512, 16, 4],
            &[128, 1 << 16, 1 << 20],
            [&lower, &[0, 0]],
            [8, 8],
        )
    };
    assert!(map([-200, 0]).encode().is_ok());
    let error = map([0, -200]).encode().unwrap_err().to_string();
    assert!(error.contains("corner 1 of the bounding box is -200, not -128 to 127"), "{error}");
}

#[test]
fn copies_and_maps_are_as_on_a_card() {
    let memory = Memory::new();
    let module = Module::load(KERNELS, &memory).unwrap_or_else(|error| panic!("{error}"));
    let empty = |bytes: usize, word: u32| vec![word; bytes / 4];
    let numbered = |bytes: usize, base: usize| -> Vec<u32> {
        (0..bytes as u32 / 4).map(|word| (word + FIRST).wrapping_sub(base as u32 / 4)).collect()
    };
    let (tensor, after) = (memory.allocate(GLOBAL), memory.upload(&empty(SHARED + 64, 0)));
    let (blank, full) = (memory.upload(&empty(SHARED, EMPTY)), memory.upload(&numbered(SHARED, 0)));
    let mut count = 0;
    for line in LINES.lines().filter(|line| !line.starts_with('#')) {
        count += 1;
        let (given, outcome) = line.split_once(" -> ").unwrap_or_else(|| panic!("{line}"));
        let (operation, given) = given.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let given = Given(given.split(' ').filter_map(|word| word.split_once('=')).collect());
        let map = given.map(tensor + BASE as u64);
        assert_eq!(map.is_some(), outcome != "refused", "{line}");
        let Some(map) = map.filter(|_| operation != "map") else { continue };
        let load = operation == "load";
        let initial = if operation == "reduce" { 0 } else { EMPTY };
        let before = if load { numbered(GLOBAL, BASE) } else { empty(GLOBAL, initial) };
        let before: Vec<u8> = before.into_iter().flat_map(u32::to_le_bytes).collect();
        let mut places: Vec<i32> = given.list("at").unwrap();
        let rank = places.len();
        places.resize(5, 0);
        places.extend(given.list::<i32>("offsets").unwrap());
        places.resize(8, 0);
        let mode = if given.0.contains_key("box") { "tile" } else { "im2col" };
        let kernel = module.kernel(&format!("{operation}_{mode}_{rank}")).unwrap();
        let places = memory.upload(&places);
        let run = |bytes: u32| {
            memory.write(tensor, &before).unwrap();
            let source = if load { blank } else { full };
            let start = given.number::<u32>("start").unwrap();
            let arguments = [map.clone(), places.into(), source.into(), after.into(), start.into(), bytes.into()];
            kernel.launch(Grid::new(1, 1), &arguments)
        };
        let (bytes, list) = outcome.split_once(' ').unwrap_or((outcome, ""));
        let Ok(bytes) = bytes.parse::<u32>() else {
            let error = run(0).err().map(|error| error.kind.name());
            let expected = if outcome == "illegal" { "tensor-map" } else { "misaligned" };
            assert_eq!(error, Some(expected), "{line}");
            continue;
        };
        run(bytes).unwrap_or_else(|error| panic!("{line}: {error}"));
        let (from, place, size) = if load { (after, 0, SHARED) } else { (tensor, BASE / 4, GLOBAL) };
        let found = memory.download::<u32>(from, size / 4).unwrap();
        let expected = words(list, initial, size / 4 - place);
        let wrong = found[place..].iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong.map(|at| (at, found[place + at], expected[at])), None, "{line}");
        assert!(found[..place].iter().all(|word| *word == initial), "{line}: before the tensor");
        if load {
            let done = || memory.download::<u32>(after + SHARED as u64, 1).unwrap()[0];
            let first = done();
            run(bytes + 16).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!([first, done()], [1, 0], "{line}: bytes that complete");
        }
    }
    assert!(count > 600, "{count} lines");
}
