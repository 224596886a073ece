//! Warp and slice evaluators against the scalar functions: every form, every level this machine has, random and edge
//! inputs, guards, inactive lanes, selectors, lengths and offsets.

use std::collections::BTreeSet;

use ptx_isa::TABLE;
use ptx_isa::selector;
use ptx_isa::slice::{Evaluator, Slice, SliceMut};
use ptx_isa::table::{FormInfo, Kind, TypeId};
use ptx_isa::warp::{Level, Operands, Program, Registers, Source, Warps};
use reference::random::Random;

mod reference;

#[cfg(all(unix, not(miri)))]
#[path = "lanes/pages.rs"]
mod pages;

/// Returns the bits of a lane, often at an edge: zeros, subnormals, infinities, NaNs, extremes, or what another lane has.
fn lane_value(random: &mut Random, bits: u32) -> u64 {
    let (sign, exponent) = match bits {
        16 => (1 << 15, 0x7c00),
        32 => (1 << 31, 0x7f80_0000),
        _ => (1 << 63, 0x7ff0_0000_0000_0000),
    };
    let value = match random.next() % 12 {
        0 => 0,
        1 => sign,
        2 => 1,
        3 => sign | 5,
        4 => exponent,
        5 => sign | exponent,
        6 => exponent | 1,
        7 => !0,
        8 => sign - 1,
        // The bfloat's infinity, bytes and halves that repeat.
        9 => 0x7f80_7f80_7f80_7f80,
        10 => 0x0102_0102_0102_0102,
        _ => random.next(),
    };
    value & (u64::MAX >> (64 - bits))
}

/// Signature of the scalar function: the width of each source and of each destination.
struct Signature {
    sources: Vec<u32>,
    destinations: Vec<u32>,
}

/// The width of a lane's value; 1 for predicates.
fn width(ty: TypeId) -> u32 {
    let ty = TABLE.ty(ty);
    if ty.kind == Kind::Predicate { 1 } else { u32::from(ty.bits) }
}

impl Signature {
    fn of(form: FormInfo) -> Signature {
        Signature {
            sources: form.sources().map(|operand| width(operand.ty)).collect(),
            destinations: form.results().map(|(_, ty)| width(ty)).collect(),
        }
    }
}

/// The bits of a register in one thread.
fn read(warps: &Warps, bits: u32, register: u32, (warp, lane): (usize, usize)) -> u128 {
    match bits {
        1 => u128::from(warps.pred(warp, register) >> lane & 1),
        8 => u128::from(warps.b16(warp, register)[lane] & 0xff),
        16 => warps.b16(warp, register)[lane].into(),
        32 => warps.b32(warp, register)[lane].into(),
        _ => warps.b64(warp, register)[lane].into(),
    }
}

fn write(warps: &mut Warps, bits: u32, register: u32, (warp, lane): (usize, usize), value: u128) {
    match bits {
        1 => {
            let word = warps.pred_mut(warp, register);
            *word = *word & !(1 << lane) | ((value & 1) as u32) << lane;
        }
        8 | 16 => warps.b16_mut(warp, register)[lane] = value as u16,
        32 => warps.b32_mut(warp, register)[lane] = value as u32,
        _ => warps.b64_mut(warp, register)[lane] = value as u64,
    }
}

fn selectors(form: FormInfo, random: &mut Random) -> Vec<u32> {
    let mut list = Vec::new();
    for selector in form.selectors() {
        list.push(match (random.next() % 4, selector.kind) {
            (0, _) => selector.default,
            (_, selector::Kind::Lanes { lanes, of }) => {
                (0..lanes).fold(0, |all, lane| all | ((random.next() % u64::from(of)) as u32) << (4 * lane))
            }
            (_, selector::Kind::Listed { words }) => (random.next() % (words.len() as u64 + 1)) as u32,
            (_, selector::Kind::Subset { of }) => 1 + (random.next() % ((1 << of) - 1)) as u32,
        });
    }
    list
}

const REGISTERS: Registers = Registers { b16: 8, b32: 8, b64: 8, pred: 8 };

fn fill(warps: &mut Warps, random: &mut Random) {
    for warp in 0..warps.len() {
        for register in 0..8 {
            for lane in 0..32 {
                for bits in [16, 32, 64] {
                    // Equal operands are as likely as the edges.
                    let value = match register > 0 && random.one_in(4) {
                        true => read(warps, bits, register - 1, (warp, lane)),
                        false => lane_value(random, bits).into(),
                    };
                    write(warps, bits, register, (warp, lane), value);
                }
            }
            *warps.pred_mut(warp, register) = random.next() as u32;
        }
        *warps.active_mut(warp) = [u32::MAX, 0, random.next() as u32][(random.next() % 3) as usize];
    }
    // If every thread is active, masks are not needed.
    if random.one_in(2) {
        (0..warps.len()).for_each(|warp| *warps.active_mut(warp) = u32::MAX);
    }
}

/// An instruction as a program has it.
#[derive(Debug)]
struct Instruction {
    guard: Option<(u32, bool)>,
    destinations: Vec<Option<u32>>,
    sources: Vec<Source>,
    selectors: Vec<u32>,
}

impl Instruction {
    /// Any operands: registers that are destinations and sources, constants, what is dropped or negated.
    fn any(form: FormInfo, random: &mut Random) -> Instruction {
        let signature = Signature::of(form);
        let destinations = signature.destinations.iter().enumerate();
        let destinations = destinations
            .map(|(index, _)| (index == 0 || !random.one_in(4)).then(|| index as u32 * 2 + (random.next() % 2) as u32))
            .collect();
        let sources = signature
            .sources
            .iter()
            .map(|bits| match (random.next() % 8, bits) {
                (0, 1) => Source::Constant(random.next() & 1),
                (0, bits) => Source::Constant(lane_value(random, *bits)),
                (1..=3, 1) => Source::Not((random.next() % 8) as u32),
                _ => Source::Register((random.next() % 8) as u32),
            })
            .collect();
        let guard = (random.one_in(2)).then(|| ((random.next() % 8) as u32, random.one_in(2)));
        Instruction { guard, destinations, sources, selectors: selectors(form, random) }
    }

    fn push(&self, form: FormInfo, program: &mut Program) {
        let Instruction { guard, destinations, sources, selectors } = self;
        let operands = Operands { guard: *guard, destinations, sources, selectors };
        program.push(form, &operands).unwrap_or_else(|error| panic!("{}: {error}", form.mnemonic()));
    }
}

fn check_warps(form: FormInfo, sm: u16, level: Level, count: usize, random: &mut Random) {
    let signature = Signature::of(form);
    let mut program = Program::at_level(REGISTERS, sm, level);
    let instruction = Instruction::any(form, random);
    instruction.push(form, &mut program);
    let Instruction { guard, destinations, sources, selectors } = &instruction;
    let mut warps = program.warps(count);
    fill(&mut warps, random);
    let before = warps.clone();
    let first = (random.next() % count as u64) as usize;
    let last = first + 1 + (random.next() % (count - first) as u64) as usize;
    program.run_range(0..1, first..last, &mut warps);

    let mut expected = before.clone();
    for warp in first..last {
        let guard = guard.map_or(u32::MAX, |(p, not)| before.pred(warp, p) ^ if not { u32::MAX } else { 0 });
        for lane in (0..32).filter(|lane| guard & before.active(warp) & 1 << lane != 0) {
            let mut inputs: Vec<u128> = Vec::new();
            for (source, bits) in sources.iter().zip(&signature.sources) {
                inputs.push(match source {
                    Source::Register(register) => read(&before, *bits, *register, (warp, lane)),
                    Source::Not(register) => read(&before, *bits, *register, (warp, lane)) ^ 1,
                    Source::Constant(value) => u128::from(*value),
                });
            }
            inputs.extend(selectors.iter().map(|selector| u128::from(*selector)));
            let outputs = form.evaluate(sm, &inputs);
            for (((destination, bits), (_, ty)), output) in
                destinations.iter().zip(&signature.destinations).zip(form.results()).zip(outputs.iter())
            {
                let Some(register) = *destination else { continue };
                // A register of 16 bits holds a byte extended as its type says.
                let byte = *bits == 8 && TABLE.ty(ty).kind == Kind::Signed;
                let value = if byte { (*output as i8 as u16).into() } else { *output };
                write(&mut expected, *bits, register, (warp, lane), value);
            }
        }
    }
    assert_same(&warps, &expected, || {
        format!("{} {level:?} sm_{sm}, {first}..{last} {instruction:x?}", form.mnemonic())
    });
}

/// Holds all registers against the expected ones, and tells what was run.
fn assert_same(warps: &Warps, expected: &Warps, what: impl Fn() -> String) {
    for (warp, register) in (0..warps.len()).flat_map(|warp| (0..8).map(move |register| (warp, register))) {
        let what = || format!("{}: warp {warp} of {}", what(), warps.len());
        assert_eq!(warps.b16(warp, register), expected.b16(warp, register), "{}", what());
        assert_eq!(warps.b32(warp, register), expected.b32(warp, register), "{}", what());
        assert_eq!(warps.b64(warp, register), expected.b64(warp, register), "{}", what());
        assert_eq!(warps.pred(warp, register), expected.pred(warp, register), "{} p{register}", what());
    }
}

/// Forms that run over warps; under Miri only a sample, as asking a form what it is takes as long as running it. Warps
/// have registers of 16, 32 and 64 bits, and predicates; bytes are held in 16-bit registers.
fn warp_forms() -> impl Iterator<Item = FormInfo> {
    let step = if cfg!(miri) { 997 } else { 1 };
    let held = |form: &FormInfo| {
        form.operands().iter().all(|operand| matches!(TABLE.ty(operand.ty).bits, 1 | 8 | 16 | 32 | 64))
    };
    TABLE.forms().step_by(step).filter(|form| form.has_evaluator()).filter(held)
}

/// Slices have no bytes.
fn forms() -> impl Iterator<Item = FormInfo> {
    warp_forms().filter(|form| form.operands().iter().all(|operand| TABLE.ty(operand.ty).bits != 8))
}

#[test]
fn warps_compute_what_scalar_functions_do() {
    let mut random = Random::new(1);
    for level in Level::available() {
        // Forms of the same shape share their code, so only the first one is tested thoroughly.
        let mut shapes = BTreeSet::new();
        // A state is the program's own: see the tests of decoded statements.
        for form in warp_forms().filter(|form| form.states().is_empty()) {
            let evaluator = form.evaluator(90, form.sources().count());
            let first = evaluator.is_some_and(|evaluator| shapes.insert(std::ptr::from_ref(evaluator.shape())));
            let rounds = if cfg!(miri) {
                1
            } else if first {
                12
            } else {
                2
            };
            for round in 0..rounds {
                check_warps(form, [90, 13][round % 2], level, [1, 1, 3][round % 3], &mut random);
            }
        }
    }
}

/// Each instruction finds the one behind it, be it of one line or of several, of a loop or thread by thread.
#[test]
fn a_program_is_its_instructions_one_after_the_other() {
    let mut random = Random::new(8);
    let forms: Vec<FormInfo> = warp_forms().filter(|form| form.states().is_empty()).collect();
    let length = if cfg!(miri) { 18 } else { 3_000 };
    for (level, count) in Level::available().flat_map(|level| [(level, 1), (level, 3)]) {
        let mut program = Program::at_level(REGISTERS, 90, level);
        for _ in 0..length {
            let form = forms[random.next() as usize % forms.len()];
            Instruction::any(form, &mut random).push(form, &mut program);
        }
        let mut together = program.warps(count);
        // Most float results soon become NaN, so the registers are refilled after a few instructions.
        for first in (0..length).step_by(37) {
            fill(&mut together, &mut random);
            let mut alone = together.clone();
            let last = length.min(first + 37);
            program.run_range(first..last, 0..count, &mut together);
            (first..last).for_each(|step| program.run_range(step..step + 1, 0..count, &mut alone));
            assert_same(&together, &alone, || format!("{level:?} {first}..{last}"));
        }
    }
}

/// Words of a buffer whose end is the end of the allocation, so that Miri or a page's end sees a step too far.
enum Buffer {
    B16(Vec<u16>),
    B32(Vec<u32>),
    B64(Vec<u64>),
    Mask(Vec<u32>),
}

impl Buffer {
    fn new(bits: u32, lanes: usize, random: &mut Random) -> Buffer {
        match bits {
            1 => Buffer::Mask((0..lanes.div_ceil(32)).map(|_| random.next() as u32).collect()),
            16 => Buffer::B16((0..lanes).map(|_| lane_value(random, 16) as u16).collect()),
            32 => Buffer::B32((0..lanes).map(|_| lane_value(random, 32) as u32).collect()),
            _ => Buffer::B64((0..lanes).map(|_| lane_value(random, 64)).collect()),
        }
    }

    fn get(&self, lane: usize) -> u128 {
        match self {
            Buffer::Mask(x) => u128::from(x[lane / 32] >> (lane % 32) & 1),
            Buffer::B16(x) => x[lane].into(),
            Buffer::B32(x) => x[lane].into(),
            Buffer::B64(x) => x[lane].into(),
        }
    }

    /// From a lane on; predicates begin with a word.
    fn slice(&self, from: usize) -> Slice<'_> {
        match self {
            Buffer::Mask(x) => Slice::Mask(x),
            Buffer::B16(x) => Slice::B16(&x[from..]),
            Buffer::B32(x) => Slice::B32(&x[from..]),
            Buffer::B64(x) => Slice::B64(&x[from..]),
        }
    }

    fn slice_mut(&mut self, from: usize) -> SliceMut<'_> {
        match self {
            Buffer::Mask(x) => SliceMut::Mask(x),
            Buffer::B16(x) => SliceMut::B16(&mut x[from..]),
            Buffer::B32(x) => SliceMut::B32(&mut x[from..]),
            Buffer::B64(x) => SliceMut::B64(&mut x[from..]),
        }
    }
}

fn check_slice(form: FormInfo, level: Level, lanes: usize, offset: usize, random: &mut Random) {
    let signature = Signature::of(form);
    let selectors = selectors(form, random);
    let complemented = signature
        .sources
        .iter()
        .enumerate()
        .fold(0, |all, (index, bits)| all | if *bits == 1 && random.one_in(2) { 1 << index } else { 0 });
    let evaluator = Evaluator::with(form, 90, level, &selectors, complemented).unwrap();
    let sources: Vec<Buffer> =
        signature.sources.iter().map(|bits| Buffer::new(*bits, lanes + offset, random)).collect();
    let mut d = Buffer::new(signature.destinations[0], lanes + offset, random);
    let old: Vec<u128> = (0..lanes + offset).map(|lane| d.get(lane)).collect();
    let two = signature.destinations.len() > 1 && !random.one_in(4);
    let mut e = Buffer::new(signature.destinations.get(1).copied().unwrap_or(1), lanes + offset, random);
    let start = |buffer: &Buffer| if matches!(buffer, Buffer::Mask(_)) { 0 } else { offset };
    let slices: Vec<Slice> = sources.iter().map(|source| source.slice(offset)).collect();
    let e_slice = if two { e.slice_mut(offset) } else { SliceMut::Sink };
    evaluator.run(lanes, [d.slice_mut(offset), e_slice], &slices);
    for lane in 0..lanes {
        let mut inputs: Vec<u128> = sources.iter().map(|source| source.get(start(source) + lane)).collect();
        for (index, input) in inputs.iter_mut().enumerate() {
            *input ^= u128::from(complemented >> index & 1);
        }
        inputs.extend(selectors.iter().map(|selector| u128::from(*selector)));
        let outputs = form.evaluate(90, &inputs);
        let what = || format!("{} {level:?}, {lanes} lanes from {offset}, lane {lane}", form.mnemonic());
        assert_eq!(d.get(start(&d) + lane), outputs[0], "{}", what());
        assert!(!two || e.get(start(&e) + lane) == outputs[1], "{}", what());
    }
    // The lanes before and after the written ones are unchanged.
    for (lane, old) in old.iter().enumerate() {
        let written = (start(&d)..start(&d) + lanes).contains(&lane);
        assert!(written || d.get(lane) == *old, "{} {level:?} wrote lane {lane}", form.mnemonic());
    }
}

#[test]
fn slices_compute_what_scalar_functions_do() {
    let mut random = Random::new(2);
    for level in Level::available() {
        for form in forms() {
            let (lanes, offset) = ((random.next() % 201) as usize, (random.next() % 5) as usize);
            check_slice(form, level, lanes, offset, &mut random);
        }
    }
}

/// Edges of a type, as lanes of a slice.
fn buffer(ty: TypeId, lanes: usize, random: &mut Random) -> Buffer {
    let edges = reference::edges(TABLE.ty(ty).name, &mut reference::Random::new(random.next()), 24);
    let mut next = || edges[random.next() as usize % edges.len()];
    match width(ty) {
        1 => Buffer::Mask((0..lanes.div_ceil(32)).map(|_| next() as u32).collect()),
        16 => Buffer::B16((0..lanes).map(|_| next() as u16).collect()),
        32 => Buffer::B32((0..lanes).map(|_| next() as u32).collect()),
        _ => Buffer::B64((0..lanes).map(|_| next() as u64).collect()),
    }
}

/// Lanes of one source each, for a form with one destination.
fn check_lanes(form: FormInfo, level: Level, lanes: usize, sources: &[Buffer], random: &mut Random) {
    let evaluator = Evaluator::with(form, 90, level, &[], 0).unwrap();
    let mut d = Buffer::new(Signature::of(form).destinations[0], lanes, random);
    let slices: Vec<Slice> = sources.iter().map(|source| source.slice(0)).collect();
    evaluator.run(lanes, [d.slice_mut(0), SliceMut::Sink], &slices);
    for lane in 0..lanes {
        let inputs: Vec<u128> = sources.iter().map(|source| source.get(lane)).collect();
        let expected = form.evaluate(90, &inputs)[0];
        assert_eq!(d.get(lane), expected, "{} {level:?} {inputs:x?}", form.mnemonic());
    }
}

/// Levels have instructions of their own for floats: what these make of the edges of formats.
#[test]
#[cfg_attr(miri, ignore = "about values: the portable level, which Miri runs, reaches memory as for other forms")]
fn lanes_of_floats_are_those_of_scalar_functions() {
    let mut random = Random::new(5);
    let lanes = 1024;
    for level in Level::available() {
        let simple = |form: &FormInfo| form.selectors().count() == 0 && form.results().count() == 1;
        let names =
            |form: &FormInfo| form.operands().iter().map(|operand| TABLE.ty(operand.ty).name).collect::<Vec<_>>();
        let float = |name: &&str| reference::format(name.strip_suffix("x2").unwrap_or(name)).is_some();
        let known = |name: &&str| {
            matches!(*name, "f16x2" | "bf16x2" | "pred")
                || reference::format(name).is_some()
                || name[1..].parse::<u32>().is_ok()
        };
        let floats = |form: &FormInfo| names(form).iter().any(float) && names(form).iter().all(known);
        for form in forms().filter(simple).filter(floats) {
            let sources: Vec<Buffer> = form.sources().map(|operand| buffer(operand.ty, lanes, &mut random)).collect();
            check_lanes(form, level, lanes, &sources, &mut random);
        }
    }
}

/// Every half, and the floats at and beside every half and every middle of two.
#[test]
#[cfg(not(miri))]
fn halves_are_converted_as_scalar_functions_do() {
    let mut random = Random::new(6);
    let halves: Vec<u16> = (0..=u16::MAX).collect();
    let single = TABLE.form("cvt.f32.f16").unwrap();
    let float = |half: u16| single.evaluate(90, &[half.into()])[0] as u32;
    let floats: Vec<u32> = halves
        .iter()
        .flat_map(|half| [0, 0x1000].map(|more| float(*half).wrapping_add(more)))
        .flat_map(|float| [float.wrapping_sub(1), float, float.wrapping_add(1)])
        .collect();
    for level in Level::available() {
        check_lanes(single, level, halves.len(), &[Buffer::B16(halves.clone())], &mut random);
        for mnemonic in ["cvt.rn.f16.f32", "cvt.rz.f16.f32", "cvt.rzi.s32.f32", "cvt.rni.s32.f32", "cvt.rmi.s32.f32"] {
            let form = TABLE.form(mnemonic).unwrap();
            check_lanes(form, level, floats.len(), &[Buffer::B32(floats.clone())], &mut random);
        }
    }
}

#[test]
fn slices_have_any_length_and_offset() {
    let mut random = Random::new(3);
    let forms =
        ["set.lt.u32.f32", "set.ge.xor.f32.u16", "setp.neu.or.f64", "selp.b64", "slct.u16.f32", "vset4.s32.u32.le"];
    let mut lengths: Vec<usize> = (0..=200).collect();
    if cfg!(miri) {
        lengths = vec![0, 1, 31, 32, 33, 64, 70];
    }
    for level in Level::available() {
        for form in forms {
            let form = TABLE.form(form).unwrap();
            for lanes in &lengths {
                check_slice(form, level, *lanes, lanes % 7, &mut random);
            }
        }
    }
}

#[test]
#[cfg(feature = "rayon")]
fn long_slices_are_split() {
    let lanes = (1 << 20) + 77;
    let mut random = Random::new(4);
    let form = TABLE.form("setp.lt.and.f32").unwrap();
    let evaluator = Evaluator::new(form, 90).unwrap();
    let [a, b] = [(); 2].map(|()| Buffer::new(32, lanes, &mut random));
    let c = Buffer::new(1, lanes, &mut random);
    let [mut one, mut two] = [(); 2].map(|()| vec![0; lanes.div_ceil(32)]);
    let sources = [a.slice(0), b.slice(0), c.slice(0)];
    evaluator.run(lanes, [SliceMut::Mask(&mut one), SliceMut::Sink], &sources);
    evaluator.run_parallel(lanes, [SliceMut::Mask(&mut two), SliceMut::Sink], &sources);
    assert_eq!(one, two);
}

#[test]
#[should_panic(expected = "a slice of 31 words is too short for 32 lanes")]
fn a_slice_that_is_too_short_is_refused() {
    let evaluator = Evaluator::new(TABLE.form("selp.b16").unwrap(), 90).unwrap();
    let (a, c) = ([0; 31], [0]);
    evaluator.run(
        32,
        [SliceMut::B16(&mut [0; 32]), SliceMut::Sink],
        &[Slice::B16(&a), Slice::B16(&[0; 32]), Slice::Mask(&c)],
    );
}

#[test]
#[should_panic(expected = "a slice has lanes of 32 bits, its operand lanes of 16 bits")]
fn a_slice_of_another_width_is_refused() {
    let evaluator = Evaluator::new(TABLE.form("setp.eq.b16").unwrap(), 90).unwrap();
    evaluator.run(1, [SliceMut::Mask(&mut [0]), SliceMut::Sink], &[Slice::B32(&[0]), Slice::B16(&[0])]);
}

#[test]
fn a_register_that_is_not_declared_is_refused() {
    let mut program = Program::new(Registers { b32: 2, pred: 1, ..Registers::default() }, 90);
    let form = TABLE.form("setp.eq.b32").unwrap();
    let sources = [Source::Register(0), Source::Register(2)];
    let error =
        program.push(form, &Operands { destinations: &[Some(0), None], sources: &sources, ..Operands::default() });
    assert_eq!(error.unwrap_err().to_string(), "`setp.eq.b32` names register 2 of 2 with 32 bits");
}
