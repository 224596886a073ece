//! Runs a kernel body as a compiler wrote it, decoded, against an interpreter that dispatches in every lane.
//!
//! The body is the part of an NVRTC kernel that uses 32-bit registers and predicates, in program order: 200
//! instructions that mix integers, floats, comparisons, logic and conversions. Both run it unchanged.

use std::hint::black_box;

use ptx_isa::TABLE;
use ptx_isa::text::Statement;
use ptx_isa::text::statement::{Register, Value};
use ptx_isa::warp::{Program, Registers, Row, Warps};

use crate::measure::{Random, lane_value, report};
use crate::programs::{CMP, compare};

const MODULE: &str = include_str!("../../tests/modules/nvrtc-13.0-compute_90.ptx");
const KERNEL: &str = ".entry k239(";
const LENGTH: usize = 200;
/// More than the kernel has of each kind.
const REGISTERS: u32 = 512;

#[derive(Clone, Copy)]
enum Op {
    Move,
    And,
    Or,
    Xor,
    Not,
    AddInt,
    SubInt,
    ShiftLeft,
    ShiftRight,
    AndPred,
    OrPred,
    CompareFloat(u8),
    CompareSigned(u8),
    CompareUnsigned(u8),
    Select,
    Add,
    Sub,
    Mul,
    Fma,
    Min,
    Max,
    Neg,
    Abs,
    CopySign,
    Truncate,
    Round,
    ToInt,
    FromInt,
}

impl Op {
    fn is_predicate(self) -> bool {
        let compares = matches!(self, Op::CompareFloat(_) | Op::CompareSigned(_) | Op::CompareUnsigned(_));
        compares || matches!(self, Op::AndPred | Op::OrPred)
    }
}

#[derive(Clone, Copy)]
enum Source {
    Register(u32),
    Constant(u32),
}

#[derive(Clone, Copy)]
struct Instruction {
    op: Op,
    to: u32,
    from: [Source; 3],
}

fn comparison(name: &str) -> Option<u8> {
    CMP.iter().position(|known| *known == name).map(|place| place as u8)
}

fn operation(mnemonic: &str) -> Option<Op> {
    Some(match mnemonic.split('.').collect::<Vec<_>>()[..] {
        ["mov", "b32" | "u32" | "f32"] => Op::Move,
        ["and", "b32"] => Op::And,
        ["or", "b32"] => Op::Or,
        ["xor", "b32"] => Op::Xor,
        ["not", "b32"] => Op::Not,
        ["add", "s32" | "u32"] => Op::AddInt,
        ["sub", "s32" | "u32"] => Op::SubInt,
        ["shl", "b32"] => Op::ShiftLeft,
        ["shr", "u32"] => Op::ShiftRight,
        ["and", "pred"] => Op::AndPred,
        ["or", "pred"] => Op::OrPred,
        ["setp", cmp, "f32"] => Op::CompareFloat(comparison(cmp)?),
        ["setp", cmp, "s32"] => Op::CompareSigned(comparison(cmp)?),
        ["setp", cmp, "u32" | "b32"] => Op::CompareUnsigned(comparison(cmp)?),
        ["selp", "b32" | "u32" | "s32" | "f32"] => Op::Select,
        ["add", "f32"] | ["add", "rn", "f32"] => Op::Add,
        ["sub", "f32"] | ["sub", "rn", "f32"] => Op::Sub,
        ["mul", "f32"] | ["mul", "rn", "f32"] => Op::Mul,
        ["fma", "rn", "f32"] => Op::Fma,
        ["min", "f32"] => Op::Min,
        ["max", "f32"] => Op::Max,
        ["neg", "f32"] => Op::Neg,
        ["abs", "f32"] => Op::Abs,
        ["copysign", "f32"] => Op::CopySign,
        ["cvt", "rzi", "f32", "f32"] => Op::Truncate,
        ["cvt", "rni", "f32", "f32"] => Op::Round,
        ["cvt", "rzi", "s32", "f32"] => Op::ToInt,
        ["cvt", "rn", "f32", "s32"] => Op::FromInt,
        _ => return None,
    })
}

/// The number of a register in the arrays of both: `%f` and `%r` share one, `%p` has its own.
fn number(register: Register<'_>) -> Option<u32> {
    let digits = |stem| register.name.strip_prefix(stem).and_then(|digits| digits.parse::<u32>().ok());
    digits("%r").or_else(|| digits("%f").map(|number| REGISTERS + number)).or_else(|| digits("%p"))
}

struct Warp {
    words: Vec<[u32; 32]>,
    predicates: Vec<u32>,
}

fn bits(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

/// The lesser of two, of which one may be no number.
fn lesser(a: f32, b: f32) -> u32 {
    if a.is_nan() || b < a || a == b && b.is_sign_negative() { bits(b) } else { bits(a) }
}

impl Warp {
    fn step(&mut self, it: &Instruction) {
        for lane in 0..32 {
            let word = |source: Source| match source {
                Source::Register(register) => self.words[register as usize][lane],
                Source::Constant(bits) => bits,
            };
            let truth = |source: Source| match source {
                Source::Register(register) => self.predicates[register as usize] >> lane & 1 != 0,
                Source::Constant(bits) => bits != 0,
            };
            let float = |source| f32::from_bits(word(source));
            let [a, b, c] = it.from;
            let predicate = match it.op {
                Op::AndPred => Some(truth(a) & truth(b)),
                Op::OrPred => Some(truth(a) | truth(b)),
                Op::CompareFloat(cmp) => Some(compare(cmp, float(a), float(b))),
                Op::CompareSigned(cmp) => Some(compare(cmp, word(a) as i32, word(b) as i32)),
                Op::CompareUnsigned(cmp) => Some(compare(cmp, word(a), word(b))),
                _ => None,
            };
            if let Some(value) = predicate {
                let place = &mut self.predicates[it.to as usize];
                *place = *place & !(1 << lane) | u32::from(value) << lane;
                continue;
            }
            let value = match it.op {
                Op::Move => word(a),
                Op::And => word(a) & word(b),
                Op::Or => word(a) | word(b),
                Op::Xor => word(a) ^ word(b),
                Op::Not => !word(a),
                Op::AddInt => word(a).wrapping_add(word(b)),
                Op::SubInt => word(a).wrapping_sub(word(b)),
                Op::ShiftLeft => word(a).checked_shl(word(b)).unwrap_or(0),
                Op::ShiftRight => word(a).checked_shr(word(b)).unwrap_or(0),
                Op::Select => word(if truth(c) { a } else { b }),
                Op::Add => bits(float(a) + float(b)),
                Op::Sub => bits(float(a) - float(b)),
                Op::Mul => bits(float(a) * float(b)),
                Op::Fma => bits(float(a).mul_add(float(b), float(c))),
                Op::Min => lesser(float(a), float(b)),
                Op::Max => match lesser(-float(a), -float(b)) {
                    nan @ 0x7fff_ffff => nan,
                    bits => bits ^ 0x8000_0000,
                },
                Op::Neg => bits(-float(a)),
                Op::Abs => bits(float(a).abs()),
                Op::CopySign => word(a) & 0x8000_0000 | word(b) & 0x7fff_ffff,
                Op::Truncate => bits(float(a).trunc()),
                Op::Round => bits(float(a).round_ties_even()),
                Op::ToInt => float(a) as i32 as u32,
                Op::FromInt => (word(a) as i32 as f32).to_bits(),
                _ => unreachable!("a predicate"),
            };
            self.words[it.to as usize][lane] = value;
        }
    }
}

/// The body, decoded and for the interpreter.
fn body() -> (Program, Vec<Instruction>) {
    let text = &MODULE[MODULE.find(KERNEL).expect("the kernel is there")..];
    let mut program = Program::new(Registers { b32: 2 * REGISTERS, pred: REGISTERS, ..Registers::default() }, 90);
    let mut code = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| line.ends_with(';')) {
        let Ok(statement) = Statement::parse(&TABLE, line) else { continue };
        let Some(op) = operation(statement.form().mnemonic()) else { continue };
        let mut from = [Source::Constant(0); 3];
        let mut places = from.iter_mut();
        let (mut to, mut known) = (None, statement.guard().is_none());
        for (info, operand) in statement.operands_with_info() {
            match operand.value {
                Value::Register(register) if info.destination => to = number(register),
                Value::Register(register) if number(register).is_some() => {
                    *places.next().expect("three sources") = Source::Register(number(register).expect("it has one"));
                }
                Value::Constant(bits) => *places.next().expect("three sources") = Source::Constant(bits as u32),
                Value::Absent => {}
                _ => known = false,
            }
        }
        if let (true, Some(to)) = (known, to) {
            program
                .push_statement(&statement, |register, ty| Some(Row::of(ty, number(register)?)))
                .expect("it works on registers");
            code.push(Instruction { op, to, from });
        }
        if code.len() == LENGTH {
            return (program, code);
        }
    }
    panic!("the kernel has {} such instructions", code.len());
}

pub(crate) fn rows(random: &mut Random) {
    let (program, code) = body();
    for (warps, goal) in [(1, 30.0), (8, 60.0)] {
        let mut ours = program.warps(warps);
        let mut theirs: Vec<Warp> = (0..warps)
            .map(|_| Warp {
                words: (0..2 * REGISTERS).map(|_| [(); 32].map(|()| lane_value(random, 32) as u32)).collect(),
                predicates: (0..REGISTERS).map(|_| random.next() as u32).collect(),
            })
            .collect();
        for (warp, theirs) in theirs.iter().enumerate() {
            (0..2 * REGISTERS).for_each(|number| *ours.b32_mut(warp, number) = theirs.words[number as usize]);
            (0..REGISTERS).for_each(|number| *ours.pred_mut(warp, number) = theirs.predicates[number as usize]);
        }
        program.run(&mut ours);
        theirs.iter_mut().for_each(|warp| code.iter().for_each(|it| warp.step(it)));
        for (warp, theirs) in theirs.iter().enumerate() {
            for it in &code {
                let place = it.to as usize;
                match it.op.is_predicate() {
                    true => assert_eq!(ours.pred(warp, it.to), theirs.predicates[place], "predicate {place}"),
                    false => assert_eq!(*ours.b32(warp, it.to), theirs.words[place], "word {place}"),
                }
            }
        }
        let name = format!("decoded, {LENGTH} of a kernel, {warps} warps, a switch in every lane");
        let time = |name: &str, ours: &mut Warps, theirs: &mut [Warp]| {
            let mut run = || black_box(&program).run(black_box(ours));
            let mut rival = || {
                for warp in black_box(&mut *theirs) {
                    black_box(&code).iter().for_each(|it| warp.step(it));
                }
            };
            report(name, goal, 20 / warps, &mut run, &mut rival);
        };
        // Some machines take a hundred cycles for an instruction that meets a subnormal.
        time(&format!("{name}, subnormals"), &mut ours, &mut theirs);
        for (warp, theirs) in theirs.iter_mut().enumerate() {
            for (number, word) in theirs.words.iter_mut().enumerate() {
                // Floats of either sign, of 2⁻³¹ to 2.
                *word = [(); 32].map(|()| random.next() as u32 & 0x8fff_ffff | 0x3000_0000);
                *ours.b32_mut(warp, number as u32) = *word;
            }
        }
        time(&name, &mut ours, &mut theirs);
    }
}
