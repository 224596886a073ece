//! Machine code of each form that has any, held against its evaluator, and loads and stores by each kind of address.
#![cfg(all(feature = "jit", target_arch = "x86_64", unix, not(miri)))]
#![allow(dead_code, unreachable_pub, reason = "the module is tested by itself")]

#[allow(unsafe_code, reason = "machine code is called")]
#[path = "../src/jit/mod.rs"]
mod jit;
#[path = "jit/scattered.rs"]
mod scattered;
#[path = "jit/sections.rs"]
mod sections;

use std::collections::BTreeSet;
use std::thread;

use isa_table::program::{Reader, Value, WARP};
use jit::{Builder, Computation, Move, Regular, Trace, is_supported};
use ptx_isa::slice::{self, Slice, SliceMut};
use ptx_isa::table::Evaluator;
use ptx_isa::warp::Level;

const WARPS: usize = 3;

/// Words that operations treat in different ways, in each half of 64 bits.
const EDGES: [u32; 34] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    255,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_1234,
    0x7f80_0001,
    0xff80_0001,
    0x0080_0000,
    0x007f_ffff,
    0x8000_1234,
    0x7f7f_ffff,
    0x4f00_0000,
    0xcf00_0000,
    0x4eff_ffff,
    0xcf00_0001,
    0x3f00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0x7c00_3c00,
    0xfe00_7c01,
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 29
    }

    fn edge(&mut self) -> u64 {
        EDGES[(self.next() >> 8) as usize % EDGES.len()].into()
    }

    /// A word of a width: of edges, of bits, small, or a NaN or an infinity of 64 bits.
    fn word(&mut self, bits: u8) -> u64 {
        let word = match self.next() >> 32 & 7 {
            0 => self.next(),
            1 => self.next() >> (self.next() & 63),
            2 | 3 => self.edge() | self.edge() << 32,
            4 => self.next() & 0x800f_ffff_ffff_ffff | 0x7ff0 << 48,
            5 => self.edge(),
            6 => (self.edge() << 32).wrapping_add(self.next() & 1),
            _ => self.next() & 0x9fff_ffff_9fff_ffff | 0x3000_0000_3000_0000,
        };
        word & u64::MAX >> (64 - bits)
    }
}

/// Registers of some warps.
struct File {
    words: Vec<[u64; 8]>,
    stride: usize,
    warps: usize,
}

impl File {
    fn new(bytes: usize, warps: usize) -> File {
        let stride = bytes.next_multiple_of(64);
        // One line more, to begin at a multiple of its size.
        File { words: vec![[0; 8]; (warps * stride) / 64 + 1], stride, warps }
    }

    fn start(&mut self) -> *mut u8 {
        let start = self.words.as_mut_ptr().cast::<u8>();
        start.wrapping_add(start.align_offset(64))
    }

    fn lane(&mut self, warp: usize, at: u32, bits: u8, lane: usize) -> *mut u8 {
        self.start().wrapping_add(warp * self.stride + at as usize + usize::from(bits / 8) * lane)
    }

    /// Runs code that was made for the registers and for the arguments: active lanes access memory that there is.
    #[allow(unsafe_code, reason = "machine code is called")]
    fn run(&mut self, trace: &Trace, arguments: &mut [u64]) {
        let (start, stride, warps) = (self.start(), self.stride, self.warps);
        // SAFETY: the callers' builders were given offsets within the stride, and these arguments.
        unsafe { trace.run(arguments, start, stride, warps) }
    }

    #[allow(unsafe_code, reason = "lanes lie among the words")]
    fn get(&mut self, warp: usize, at: u32, bits: u8, lane: usize) -> u64 {
        let from = self.lane(warp, at, if bits == 1 { 0 } else { bits }, lane);
        // SAFETY: the offset is that of a register of this width.
        unsafe {
            match bits {
                1 => u64::from(from.cast::<u32>().read() >> lane & 1),
                16 => from.cast::<u16>().read().into(),
                32 => from.cast::<u32>().read().into(),
                _ => from.cast::<u64>().read(),
            }
        }
    }

    #[allow(unsafe_code, reason = "lanes lie among the words")]
    fn set(&mut self, warp: usize, at: u32, bits: u8, lane: usize, word: u64) {
        let to = self.lane(warp, at, if bits == 1 { 0 } else { bits }, lane);
        // SAFETY: as in `get`.
        unsafe {
            match bits {
                1 => {
                    let mask = to.cast::<u32>();
                    mask.write(mask.read() & !(1 << lane) | (word as u32 & 1) << lane);
                }
                16 => to.cast::<u16>().write(word as u16),
                32 => to.cast::<u32>().write(word as u32),
                _ => to.cast::<u64>().write(word),
            }
        }
    }
}

/// How the lanes of one source are given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    Register,
    Constant,
    Uniform,
    Regular,
    /// All but the first one have values that are known, in instructions that exchange values between lanes.
    Fixed,
}

/// Offsets of registers of these widths, which begin at an offset; and the one behind.
fn offsets(places: &[u8], mut end: u32) -> (Vec<u32>, u32) {
    let place = |bits: &u8| {
        let at = end;
        end = (at + if *bits == 1 { 64 } else { u32::from(*bits) * 4 }).next_multiple_of(64);
        at
    };
    let at = places.iter().map(place).collect();
    (at, end)
}

/// A form with operands at offsets.
fn computation(evaluator: Evaluator, at: &[u32]) -> Computation<'_> {
    let table = evaluator.form().table();
    let (shape, data) = (evaluator.shape(), evaluator.data());
    Computation { shape, data, at, names: table.operations, operation: table.operation }
}

/// Compiles a form and holds it against its evaluator; false if it is not compiled.
fn holds(evaluator: Evaluator, given: Given, random: &mut Random) -> bool {
    let shape = evaluator.shape();
    let outputs = shape.outputs.len();
    let (at, end) = offsets(shape.places, 64);
    let last = at.len() - 1;
    let special = (given != Given::Register && last >= outputs).then_some(last);
    if special.is_none() && given != Given::Register || given == Given::Fixed && !shape.is_collective() {
        return true;
    }
    let (base, step) = (random.next(), random.next());
    let tables: Vec<u64> = (0..2 * WARPS).map(|_| random.next()).collect();
    let bits = shape.places[last];
    let word = random.word(bits);
    if given == Given::Constant && bits == 1 || given == Given::Regular && !matches!(bits, 32 | 64) {
        return true;
    }
    let constants = if given == Given::Constant { vec![(at[last], bits, word)] } else { Vec::new() };
    let mut builder = Builder::new(&[], &constants, false);
    let mut arguments = vec![base, tables.as_ptr() as u64];
    // Lanes, masks of all of them, and anything.
    let mut fixed =
        |bits: u8| [random.next() & 31, u64::MAX, random.next()][random.next() as usize % 3] & u64::MAX >> (64 - bits);
    let fixed: Vec<u64> = shape.places.iter().map(|bits| fixed(*bits)).collect();
    match given {
        Given::Fixed => {
            for place in outputs + 1..at.len() {
                let slot = arguments.len() as u32;
                builder.define(at[place], shape.places[place], Regular { slot, table: None, step: 0 });
                builder.fix(at[place], fixed[place]);
                arguments.push(fixed[place]);
            }
        }
        Given::Uniform => builder.define(at[last], bits, Regular { slot: 0, table: None, step: 0 }),
        Given::Regular => builder.define(at[last], bits, Regular { slot: 0, table: Some(1), step }),
        _ => {}
    }
    if builder.compute(&computation(evaluator, &at), &[]).is_none() {
        return false;
    }
    let trace = builder.finish(&[]).expect("the code is encoded");
    let mut file = File::new(end as usize + 256, WARPS);
    let mut inputs = Vec::new();
    for (warp, lane) in (0..WARPS).flat_map(|warp| (0..32).map(move |lane| (warp, lane))) {
        let mut words = vec![0_u128; evaluator.written()];
        for (place, source) in (outputs..at.len()).zip(evaluator.sources()) {
            let bits = shape.places[place];
            let mut own = random.word(bits);
            file.set(warp, at[place], bits, lane, own);
            if given == Given::Fixed {
                own = if place == outputs { own } else { fixed[place] };
            } else if place == last {
                let along = step.wrapping_mul(lane as u64 % 16).wrapping_add(tables[2 * warp + lane / 16]);
                own = match given {
                    Given::Register | Given::Fixed => own,
                    Given::Regular => base.wrapping_add(along) & u64::MAX >> (64 - bits),
                    Given::Constant | Given::Uniform => word,
                };
            }
            words[usize::from(*source)] = own.into();
        }
        inputs.push((warp, lane, words));
    }
    if given == Given::Uniform {
        arguments[0] = word;
    }
    file.run(&trace, &mut arguments);
    for warp in inputs.chunks(WARP) {
        let words: Vec<&[u128]> = warp.iter().map(|(_, _, words)| &words[..]).collect();
        for ((warp, lane, words), wanted) in warp.iter().zip(evaluated(evaluator, &words)) {
            for (place, wanted) in wanted.iter().enumerate() {
                let found = file.get(*warp, at[place], shape.places[place], *lane);
                assert_eq!(
                    u128::from(found),
                    *wanted,
                    "{} of {words:x?} in lane {lane}, the last one as {given:?}: {found:#x} instead of {wanted:#x}",
                    evaluator.form().mnemonic(),
                );
            }
        }
    }
    true
}

/// The results in each lane of a warp, from the words of its operands.
fn evaluated(evaluator: Evaluator, words: &[&[u128]]) -> Vec<Vec<u128>> {
    if !evaluator.shape().is_collective() {
        return words.iter().map(|words| evaluator.evaluate(words).to_vec()).collect();
    }
    let inputs: Vec<[u128; WARP]> =
        (0..evaluator.written()).map(|source| std::array::from_fn(|lane| words[lane][source])).collect();
    let results = evaluator.evaluate_warp(u32::MAX, &inputs);
    (0..WARP).map(|lane| results.iter().map(|result| result[lane]).collect()).collect()
}

#[test]
fn forms_compute_what_their_evaluators_do() {
    if !is_supported() {
        return;
    }
    let mut random = Random(1);
    let (mut compiled, mut operations) = (Vec::new(), BTreeSet::new());
    for form in ptx_isa::TABLE.forms() {
        for evaluator in (0..6).filter_map(|sources| form.evaluator(90, sources).filter(|one| one.written() == sources))
        {
            if evaluator.shape().places.iter().any(|bits| !matches!(bits, 1 | 16 | 32 | 64)) {
                continue;
            }
            let given = [Given::Register, Given::Constant, Given::Uniform, Given::Regular];
            let all = given.iter().all(|given| (0..6).all(|_| holds(evaluator, *given, &mut random)));
            if all {
                let fixed = (0..60).all(|_| holds(evaluator, Given::Fixed, &mut random));
                assert!(fixed, "{}", evaluator.form().mnemonic());
                compiled.push(evaluator);
                let mut reader = Reader::new(evaluator.shape().code);
                while let Some(value) = reader.next() {
                    if let Value::Call { operation, .. } = value {
                        operations.insert(form.table().operations[usize::from(operation)]);
                    }
                }
            }
        }
    }
    assert!(compiled.len() > 1500 && operations.len() > 80, "{} forms, {operations:?}", compiled.len());
    // Most operations do not ask which NaN their sources are.
    let one_float =
        |one: &&Evaluator| one.shape().outputs.len() == 1 && one.form().mnemonic().to_string().contains("f32");
    let floats: Vec<Evaluator> = compiled.iter().filter(one_float).copied().collect();
    let of_words = |one: &&Evaluator| {
        let shape = one.shape();
        shape.outputs.len() == 1 && shape.places.iter().all(|bits| *bits == 32) && !shape.is_collective()
    };
    let words: Vec<Evaluator> = compiled.iter().filter(of_words).copied().collect();
    let mut count = 0;
    for second in compiled {
        for _ in 0..6 {
            let first = floats[random.next() as usize % floats.len()];
            count += u32::from(follows(first, second, &mut random));
        }
    }
    assert!(count > 5000, "{count} pairs");
    let count = (0..400).filter(|_| follow_each_other(&words, &mut random)).count();
    assert!(count > 300, "{count} sequences");
}

/// Compiles forms of 32 bits behind each other, more than the machine's registers have room for, and holds them against their evaluators;
/// false if one of them needs more than the machine's registers.
fn follow_each_other(forms: &[Evaluator], random: &mut Random) -> bool {
    const REGISTERS: usize = 40;
    let (ats, end) = offsets(&[32; REGISTERS], 64);
    let (mut builder, mut file) = (Builder::new(&[], &[], false), File::new(end as usize + 256, WARPS));
    let mut lanes = vec![[0; WARPS * WARP]; REGISTERS];
    for (at, lanes) in ats.iter().zip(&mut lanes) {
        for (lane, word) in lanes.iter_mut().enumerate() {
            *word = random.word(32);
            file.set(lane / WARP, *at, 32, lane % WARP, *word);
        }
    }
    let register = |random: &mut Random| (random.next() >> 8) as usize % REGISTERS;
    for _ in 0..2 * REGISTERS {
        let form = forms[(random.next() >> 8) as usize % forms.len()];
        let numbers: Vec<usize> = form.shape().places.iter().map(|_| register(random)).collect();
        let at: Vec<u32> = numbers.iter().map(|number| ats[*number]).collect();
        if builder.compute(&computation(form, &at), &[]).is_none() {
            return false;
        }
        let result = |lane: usize| {
            let mut words = vec![0; form.written()];
            for (number, source) in numbers[1..].iter().zip(form.sources()) {
                words[usize::from(*source)] = lanes[*number][lane].into();
            }
            form.evaluate(&words)[0] as u64
        };
        lanes[numbers[0]] = std::array::from_fn(result);
    }
    let trace = builder.finish(&[]).expect("the code is encoded");
    file.run(&trace, &mut []);
    for (at, lanes) in ats.iter().zip(&lanes) {
        for (lane, wanted) in lanes.iter().enumerate() {
            assert_eq!(file.get(lane / WARP, *at, 32, lane % WARP), *wanted, "the register at {at} in lane {lane}");
        }
    }
    true
}

/// Compares functions of one float with loops over lanes, which `approximations` compares with evaluators, on 4096 floats from each
/// multiple of `step` times as many on.
fn compare_functions(step: usize) {
    const WARPS: usize = 128;
    const LANES: usize = WARPS * WARP;
    if !is_supported() {
        return;
    }
    for mnemonic in ["ex2.approx.f32", "ex2.approx.ftz.f32", "rsqrt.approx.f32", "rsqrt.approx.ftz.f32"] {
        let form = ptx_isa::TABLE.form(mnemonic).unwrap();
        let (evaluator, [to, from]) = (form.evaluator(90, 1).unwrap(), [64, 192]);
        let mut builder = Builder::new(&[], &[], false);
        builder.compute(&computation(evaluator, &[to, from]), &[]).expect("it is compiled");
        let trace = builder.finish(&[]).expect("the code is encoded");
        let loops = slice::Evaluator::with(form, 90, Level::best(), &[], 0).unwrap();
        thread::scope(|scope| {
            let threads = thread::available_parallelism().map_or(1, usize::from);
            for first in 0..threads {
                let (trace, loops) = (&trace, &loops);
                scope.spawn(move || {
                    let (mut file, mut wanted) = (File::new(320, WARPS), vec![0; LANES]);
                    for part in (0..(1 << 32) / LANES).step_by(step).skip(first).step_by(threads) {
                        let floats: Vec<u32> = (0..LANES).map(|lane| (part * LANES + lane) as u32).collect();
                        for (lane, x) in floats.iter().enumerate() {
                            file.set(lane / WARP, from, 32, lane % WARP, (*x).into());
                        }
                        loops.run(LANES, [SliceMut::B32(&mut wanted), SliceMut::Sink], &[Slice::B32(&floats)]);
                        file.run(trace, &mut []);
                        for (lane, (x, wanted)) in floats.iter().zip(&wanted).enumerate() {
                            let found = file.get(lane / WARP, to, 32, lane % WARP) as u32;
                            assert_eq!(found, *wanted, "{mnemonic} of {x:#010x}");
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn functions_of_some_floats_are_those_of_loops() {
    compare_functions(509);
}

#[test]
#[ignore = "all floats take minutes"]
fn functions_of_all_floats_are_those_of_loops() {
    compare_functions(1);
}

/// Compiles a form and another one, one of whose sources is the result of the first, and holds both against their evaluators; false if there
/// is no such source, or they need more than the machine's registers.
fn follows(first: Evaluator, second: Evaluator, random: &mut Random) -> bool {
    let [one, two] = [first, second].map(|evaluator| evaluator.shape());
    let outputs = [one.outputs.len(), two.outputs.len()];
    let (ats, middle) = offsets(one.places, 64);
    let (mut at, end) = offsets(two.places, middle);
    let of_width = (outputs[1]..at.len()).filter(|place| two.places[*place] == one.places[0]);
    let Some(joined) = of_width.max_by_key(|_| random.next()) else { return false };
    at[joined] = ats[0];
    let mut builder = Builder::new(&[], &[], false);
    for (evaluator, at) in [(first, &ats), (second, &at)] {
        if builder.compute(&computation(evaluator, at), &[]).is_none() {
            return false;
        }
    }
    let trace = builder.finish(&[]).expect("the code is encoded");
    let mut file = File::new(end as usize + 256, WARPS);
    let mut wanted = Vec::new();
    for warp in 0..WARPS {
        let mut sources = |evaluator: Evaluator, at: &[u32], outputs: usize, known: Option<(usize, &[Vec<u128>])>| {
            let mut words = vec![vec![0_u128; evaluator.written()]; WARP];
            for (lane, words) in words.iter_mut().enumerate() {
                for (place, source) in (outputs..at.len()).zip(evaluator.sources()) {
                    let bits = evaluator.shape().places[place];
                    words[usize::from(*source)] = match known {
                        Some((own, results)) if own == place => results[lane][0],
                        _ => {
                            let word = random.word(bits);
                            file.set(warp, at[place], bits, lane, word);
                            word.into()
                        }
                    };
                }
            }
            evaluated(evaluator, &words.iter().map(|words| &words[..]).collect::<Vec<_>>())
        };
        let results = sources(first, &ats, outputs[0], None);
        let last = sources(second, &at, outputs[1], Some((joined, &results)));
        wanted
            .extend(results.iter().zip(last).enumerate().map(|(lane, (results, last))| (warp, lane, results[0], last)));
    }
    file.run(&trace, &mut []);
    let names = [first, second].map(|evaluator| evaluator.form().mnemonic().to_string());
    for (warp, lane, result, last) in wanted {
        assert_eq!(u128::from(file.get(warp, ats[0], one.places[0], lane)), result, "{} before {}", names[0], names[1]);
        for (place, wanted) in last.iter().enumerate() {
            let found = u128::from(file.get(warp, at[place], two.places[place], lane));
            assert_eq!(found, *wanted, "{} behind {}", names[1], names[0]);
        }
    }
    true
}

/// A load or store of elements of a width; the halves of `inactive` have addresses that nothing has.
fn moves(moved: &Move, uniform: bool, masks: [u32; WARPS], random: &mut Random) {
    let Move { write, bits, bytes, signed, offset, at: Regular { step, .. }, .. } = *moved;
    let partial = masks != [u32::MAX; WARPS];
    let mut builder = Builder::new(&[], &[], partial);
    let at = Regular { slot: 0, table: (!uniform).then_some(1), step };
    builder.move_elements(&Move { at, ..moved.clone() }).expect("it is compiled");
    let trace = builder.finish(&[]).expect("the code is encoded");
    // Each half of a warp has its own part of memory, in another order.
    let part = 48 * usize::from(bytes) * moved.elements.len() + 64;
    let mut memory: Vec<u8> = (0..2 * WARPS * part).map(|_| random.next() as u8).collect();
    let start = memory.as_mut_ptr() as u64;
    let own = |half: usize| if uniform { 0 } else { (5 * half % (2 * WARPS) * part) as u64 };
    let is_active = |half: usize| masks[half / 2] >> (16 * (half % 2)) & 0xffff != 0;
    let table = |half: usize| if is_active(half) { own(half) } else { 0_u64.wrapping_sub(start) };
    let tables: Vec<u64> = (0..2 * WARPS).map(table).collect();
    let mut file = File::new(2048, WARPS);
    for (warp, mask) in masks.iter().enumerate() {
        for lane in 0..32 {
            file.set(warp, 0, 1, lane, u64::from(mask >> lane & 1));
            for register in moved.elements.iter().flatten() {
                file.set(warp, *register, bits, lane, random.next());
            }
        }
    }
    let before = memory.clone();
    let mut arguments = [start, tables.as_ptr() as u64];
    file.run(&trace, &mut arguments);
    let mut wanted = before.clone();
    for (warp, lane) in (0..WARPS).flat_map(|warp| (0..32).map(move |lane| (warp, lane))) {
        if masks[warp] >> lane & 1 == 0 {
            continue;
        }
        let first = own(2 * warp + lane / 16) + step * (lane as u64 % 16) + u64::try_from(offset).unwrap();
        for (index, element) in moved.elements.iter().enumerate() {
            let from = first as usize + index * usize::from(bytes);
            let from = from..from + usize::from(bytes);
            let found = element.map(|register| file.get(warp, register, bits, lane));
            if write {
                let word = found.unwrap_or_else(|word| word);
                wanted[from.clone()].copy_from_slice(&word.to_le_bytes()[..from.len()]);
            } else {
                let mut word = [0; 8];
                word[..from.len()].copy_from_slice(&before[from.clone()]);
                let unused = 64 - 8 * u32::from(bytes);
                let word = u64::from_le_bytes(word) << unused;
                let word = if signed { (word as i64 >> unused) as u64 } else { word >> unused };
                let word = word & u64::MAX >> (64 - bits);
                assert_eq!(found, Ok(word), "{moved:?} in lane {lane} of warp {warp}");
            }
        }
    }
    assert!(memory == wanted, "{moved:?}");
}

#[test]
fn elements_move_where_addresses_say() {
    if !is_supported() {
        return;
    }
    let mut random = Random(2);
    let mut count = 0;
    for (bits, bytes, signed) in
        [(16, 2, false), (32, 4, false), (64, 8, false), (32, 1, false), (32, 1, true), (32, 2, false), (32, 2, true)]
    {
        let constant = Err(0x1234_5678_9abc_def0);
        let registers = [Ok(64), Ok(320), Ok(576), Ok(832)];
        for (write, elements) in [
            (false, &registers[..1]),
            (false, &registers[..2]),
            (false, &registers),
            (true, &registers[..1]),
            (true, &[constant]),
            (true, &registers[..2]),
            (true, &[Ok(64), constant]),
            (true, &registers),
        ] {
            for step in [0, u64::from(bytes) * elements.len() as u64, 3 * u64::from(bytes)] {
                let at = Regular { slot: 0, table: None, step };
                let moved = Move { write, elements: elements.to_vec(), bits, bytes, signed, at, offset: 8 };
                for masks in [[u32::MAX; WARPS], [0xffff_0000, 0x0000_8001, 0], [0x0100_0000, u32::MAX, 0x0000_0180]] {
                    for uniform in [false, true] {
                        let partial = masks != [u32::MAX; WARPS];
                        if moved.is_compiled(uniform, partial) && (!uniform || step == 0) {
                            moves(&moved, uniform, masks, &mut random);
                            count += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(count, 104);
}
