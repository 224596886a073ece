//! Decoded programs against an interpreter that looks at the form in every lane.

use std::hint::black_box;

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use ptx_isa::warp::{Operands, Program, Registers, Source};

use crate::measure::{Random, lane_value, report};

#[derive(Clone, Copy, PartialEq)]
enum Op {
    Set,
    Setp,
    Selp,
    Slct,
}

#[derive(Clone, Copy)]
struct PerLane {
    op: Op,
    cmp: u8,
    bool_op: u8,
    ftz: bool,
    ty: u8,
    second: u8,
    d: u8,
    q: u8,
    a: u8,
    b: u8,
    c: u8,
}

pub(crate) const CMP: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];
const TYPES: [&str; 11] = ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"];

impl PerLane {
    fn new(mnemonic: &str, d: u8, q: u8, [a, b, c]: [u8; 3]) -> Option<PerLane> {
        let mut parts = mnemonic.split('.');
        let op = match parts.next()? {
            "set" => Op::Set,
            "setp" => Op::Setp,
            "selp" => Op::Selp,
            "slct" => Op::Slct,
            _ => return None,
        };
        let mut it = PerLane { op, cmp: 0, bool_op: 0, ftz: false, ty: 0, second: u8::MAX, d, q, a, b, c };
        let mut types = 0;
        for part in parts {
            if let Some(cmp) = CMP.iter().position(|cmp| *cmp == part) {
                it.cmp = cmp as u8;
            } else if let Some(bool_op) = ["and", "or", "xor"].iter().position(|op| *op == part) {
                it.bool_op = 1 + bool_op as u8;
            } else if part == "ftz" {
                it.ftz = true;
            } else {
                let ty = TYPES.iter().position(|ty| *ty == part)? as u8;
                if types == 0 {
                    it.ty = ty
                } else {
                    it.second = ty
                }
                types += 1;
            }
        }
        Some(it)
    }
}

#[derive(Clone)]
struct LaneWarp {
    r16: [[u16; 32]; 16],
    r32: [[u32; 32]; 16],
    r64: [[u64; 32]; 16],
    pred: [u32; 32],
}

/// Result of an operator of [`CMP`] for two values.
pub(crate) fn compare<T: PartialOrd>(cmp: u8, a: T, b: T) -> bool {
    let nan = a.partial_cmp(&b).is_none();
    match cmp {
        0 => a == b,
        1 => !nan && a != b,
        2 | 6 => a < b,
        3 | 7 => a <= b,
        4 | 8 => a > b,
        5 | 9 => a >= b,
        10 => nan || a == b,
        11 => nan || a != b,
        12 => nan || a < b,
        13 => nan || a <= b,
        14 => nan || a > b,
        15 => nan || a >= b,
        16 => !nan,
        _ => nan,
    }
}

fn flushed(x: u32, ftz: bool) -> f32 {
    f32::from_bits(if ftz && x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x })
}

impl LaneWarp {
    #[inline]
    fn word(&self, ty: u8, register: u8, lane: usize) -> u64 {
        match ty {
            0 | 3 | 6 => self.r16[register as usize & 15][lane].into(),
            1 | 4 | 7 | 9 => self.r32[register as usize & 15][lane].into(),
            _ => self.r64[register as usize & 15][lane],
        }
    }

    fn put(&mut self, ty: u8, register: u8, lane: usize, value: u64) {
        match ty {
            0 | 3 | 6 => self.r16[register as usize & 15][lane] = value as u16,
            1 | 4 | 7 | 9 => self.r32[register as usize & 15][lane] = value as u32,
            _ => self.r64[register as usize & 15][lane] = value,
        }
    }

    fn bit(&mut self, register: u8, lane: usize, value: bool) {
        let word = &mut self.pred[register as usize & 31];
        *word = *word & !(1 << lane) | u32::from(value) << lane;
    }

    fn step(&mut self, it: &PerLane) {
        for lane in 0..32 {
            let c = self.pred[it.c as usize & 31] >> lane & 1 != 0;
            match it.op {
                Op::Set | Op::Setp => {
                    let ty = if it.op == Op::Set { it.second } else { it.ty };
                    let (a, b) = (self.word(ty, it.a, lane), self.word(ty, it.b, lane));
                    let t = match ty {
                        6 => compare(it.cmp, a as i16, b as i16),
                        7 => compare(it.cmp, a as i32, b as i32),
                        8 => compare(it.cmp, a as i64, b as i64),
                        9 => compare(it.cmp, flushed(a as u32, it.ftz), flushed(b as u32, it.ftz)),
                        10 => compare(it.cmp, f64::from_bits(a), f64::from_bits(b)),
                        _ => compare(it.cmp, a, b),
                    };
                    let combine = |t: bool| match it.bool_op {
                        0 => t,
                        1 => t & c,
                        2 => t | c,
                        _ => t ^ c,
                    };
                    if it.op == Op::Set {
                        let yes = if it.ty == 9 { 0x3f80_0000 } else { 0xffff_ffff };
                        let value = if combine(t) { yes } else { 0 };
                        self.put(it.ty, it.d, lane, value);
                    } else {
                        self.bit(it.d, lane, combine(t));
                        self.bit(it.q, lane, combine(!t));
                    }
                }
                Op::Selp => {
                    let value = self.word(it.ty, if c { it.a } else { it.b }, lane);
                    self.put(it.ty, it.d, lane, value);
                }
                Op::Slct => {
                    let third = self.r32[it.c as usize & 15][lane];
                    let first = match it.second {
                        9 => flushed(third, it.ftz) >= 0.0,
                        _ => third as i32 >= 0,
                    };
                    let value = self.word(it.ty, if first { it.a } else { it.b }, lane);
                    self.put(it.ty, it.d, lane, value);
                }
            }
        }
    }
}

pub(crate) fn rows(random: &mut Random) {
    let forms: Vec<_> = TABLE
        .forms()
        .filter(|form| {
            PerLane::new(form.mnemonic(), 0, 0, [0; 3])
                .is_some_and(|it| it.op != Op::Setp || form.operands()[0].second.is_some())
        })
        .collect();
    for (name, goals, count, calls) in
        [("random forms", [15.0, 50.0], 4096, 2), ("a loop of 64 instructions", [40.0, 75.0], 64, 40)]
    {
        for (warps, goal) in [1, 8].into_iter().zip(goals) {
            let name = format!("decoded, {name}, {warps} warps, a switch in every lane");
            program(&name, goal, &forms, count, warps, calls / if warps > 1 { 2 } else { 1 }, random);
        }
    }
}

/// Times the same random instructions over `warps` warps: decoded, and in the interpreter.
fn program(name: &str, goal: f64, forms: &[FormInfo], count: usize, warps: usize, calls: usize, random: &mut Random) {
    let registers = Registers { b16: 16, b32: 16, b64: 16, pred: 32 };
    let mut program = Program::new(registers, 90);
    let mut code = Vec::new();
    for _ in 0..count {
        let form = forms[random.next() as usize % forms.len()];
        let [d, q, a, b, c] = [(); 5].map(|()| (random.next() % 16) as u8);
        let q = 16 + q;
        let it = PerLane::new(form.mnemonic(), d, q, [a, b, c]).unwrap();
        let sources = [a, b, c].map(|register| Source::Register(register.into()));
        let destinations = [Some(d.into()), Some(q.into())];
        let operands = Operands {
            destinations: &destinations[..1 + usize::from(it.op == Op::Setp)],
            sources: &sources[..form.sources().count()],
            ..Operands::default()
        };
        program.push(form, &operands).unwrap();
        code.push(it);
    }
    let mut ours = program.warps(warps);
    let mut theirs =
        vec![LaneWarp { r16: [[0; 32]; 16], r32: [[0; 32]; 16], r64: [[0; 32]; 16], pred: [0; 32] }; warps];
    for (warp, theirs) in theirs.iter_mut().enumerate() {
        for register in 0..16 {
            for lane in 0..32 {
                theirs.r16[register][lane] = lane_value(random, 16) as u16;
                theirs.r32[register][lane] = lane_value(random, 32) as u32;
                theirs.r64[register][lane] = lane_value(random, 64);
            }
            *ours.b16_mut(warp, register as u32) = theirs.r16[register];
            *ours.b32_mut(warp, register as u32) = theirs.r32[register];
            *ours.b64_mut(warp, register as u32) = theirs.r64[register];
        }
        for register in 0..32 {
            theirs.pred[register] = random.next() as u32;
            *ours.pred_mut(warp, register as u32) = theirs.pred[register];
        }
    }
    let mut run = || black_box(&program).run(black_box(&mut ours));
    let mut rival = || {
        for warp in black_box(&mut theirs) {
            black_box(&code).iter().for_each(|it| warp.step(it));
        }
    };
    run();
    rival();
    report(name, goal, calls, &mut run, &mut rival);
    for (warp, theirs) in theirs.iter().enumerate() {
        for register in 0..16 {
            assert_eq!(*ours.b16(warp, register), theirs.r16[register as usize]);
            assert_eq!(*ours.b32(warp, register), theirs.r32[register as usize]);
            assert_eq!(*ours.b64(warp, register), theirs.r64[register as usize]);
        }
        (0..32).for_each(|register| assert_eq!(ours.pred(warp, register), theirs.pred[register as usize]));
    }
}
