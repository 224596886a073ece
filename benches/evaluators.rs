//! Forms over one warp: the loop of the machine's best SIMD level against evaluation thread by thread, in one run:
//! `cargo bench --features simd --bench evaluators`. With `-- list` it prints the time of every form instead, slowest
//! first, and with another word behind it the forms whose mnemonics contain it.
//!
//! Both compute the same registers; they are compared before anything is timed.
#![allow(missing_docs, reason = "a bench")]

#[allow(dead_code, unsafe_code, reason = "the goals use all of it")]
#[path = "goals/measure.rs"]
mod measure;

use std::hint::black_box;
use std::time::Instant;

use measure::{Random, report};
use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, Kind};
use ptx_isa::warp::{Level, Operands, Program, Registers, Source, Warps};

const REGISTERS: Registers = Registers { b16: 32, b32: 32, b64: 32, pred: 8 };

/// Number of instructions in a program.
const STEPS: u32 = 16;

/// Forms that compiled kernels use and whose evaluators are not plain operations of Rust, each with the least ratio.
const GOALS: &[(&str, f64)] = &[
    ("ex2.approx.ftz.f32", 30.0),
    ("lg2.approx.ftz.f32", 20.0),
    ("sin.approx.f32", 20.0),
    ("cos.approx.f32", 20.0),
    ("tanh.approx.f32", 25.0),
    ("rsqrt.approx.ftz.f32", 40.0),
    ("rsqrt.approx.f64", 15.0),
    ("rcp.approx.ftz.f64", 60.0),
    ("div.full.f32", 100.0),
    ("div.rn.f32", 100.0),
    ("div.s32", 30.0),
    ("rem.u32", 30.0),
    ("div.u64", 15.0),
    ("prmt.b32", 80.0),
    ("max.f32", 80.0),
    ("min.f64", 60.0),
    ("fma.rn.f64", 60.0),
    ("add.bf16x2", 40.0),
    ("fma.rn.bf16x2", 20.0),
    ("cvt.rn.bf16x2.f32", 60.0),
    ("cvt.f64.f32", 60.0),
    ("cvt.rn.f32.f64", 60.0),
    ("cvt.u32.u8", 80.0),
    ("cvt.rn.f32.s8", 80.0),
    ("cvt.rn.satfinite.e4m3x2.f32", 60.0),
    ("cvt.rn.f16x2.e4m3x2", 60.0),
    ("bfe.u32", 100.0),
    ("mul.hi.u32", 100.0),
    ("mul.wide.s32", 100.0),
    ("mad.lo.s64", 60.0),
    ("mul.hi.u64", 30.0),
    ("dp4a.s32.s32", 20.0),
];

fn main() {
    let mut words = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    if words.next().as_deref() == Some("list") {
        return list(&words.next().unwrap_or_default());
    }
    let best = Level::best();
    for (mnemonic, goal) in GOALS {
        let form = TABLE.form(mnemonic).unwrap_or_else(|| panic!("no form `{mnemonic}`"));
        let (fast, slow) = (program(form, best).unwrap(), program(form, Level::PORTABLE).unwrap());
        let (mut a, mut b) = (filled(&fast), filled(&slow));
        fast.run(&mut a);
        slow.run(&mut b);
        assert_same(mnemonic, &a, &b);
        let name = format!("warp {mnemonic}, {}, thread by thread", best.name());
        let mut ours = || black_box(&fast).run(black_box(&mut a));
        let mut rival = || black_box(&slow).run(black_box(&mut b));
        report(&name, *goal, 2, &mut ours, &mut rival);
    }
}

/// Times of all forms whose mnemonic contains a word.
fn list(word: &str) {
    let mut times: Vec<(f64, &str)> = Vec::new();
    for form in TABLE.forms().filter(|form| form.has_evaluator() && form.states().is_empty()) {
        if !form.mnemonic().contains(word) {
            continue;
        }
        let Some(program) = program(form, Level::best()) else { continue };
        let mut warps = filled(&program);
        program.run(&mut warps);
        let mut least = f64::INFINITY;
        for _ in 0..7 {
            let start = Instant::now();
            black_box(&program).run(black_box(&mut warps));
            least = least.min(start.elapsed().as_secs_f64());
        }
        times.push((least * 1e9 / f64::from(STEPS), form.mnemonic()));
    }
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    times.iter().for_each(|(time, mnemonic)| println!("{time:10.1} ns a warp  {mnemonic}"));
}

/// A program of one form. Sources are never destinations, so that it computes the same in each round.
fn program(form: FormInfo, level: Level) -> Option<Program> {
    let mut program = Program::at_level(REGISTERS, 100, level);
    let mut random = Random::new(3);
    for step in 0..STEPS {
        let destinations: Vec<Option<u32>> = form
            .results()
            .enumerate()
            .map(|(index, (_, ty))| {
                let of = if TABLE.ty(ty).kind == Kind::Predicate { 4 } else { 16 };
                Some(of + (step + index as u32) % of)
            })
            .collect();
        let sources: Vec<Source> = form
            .sources()
            .map(|operand| {
                let of = if TABLE.ty(operand.ty).kind == Kind::Predicate { 4 } else { 16 };
                Source::Register(random.next() as u32 % of)
            })
            .collect();
        let selectors: Vec<u32> = form.selectors().map(|selector| selector.default).collect();
        let operands = Operands { guard: None, destinations: &destinations, sources: &sources, selectors: &selectors };
        program.push(form, &operands).ok()?;
    }
    Some(program)
}

/// Registers with numbers as kernels have them: floats between -16 and 16, halves in each half of a register. As integers
/// they are any.
fn filled(program: &Program) -> Warps {
    let mut random = Random::new(5);
    let mut warps = program.warps(1);
    for register in 0..32 {
        let mut float = || (random.next() >> 40) as f64 / f64::from(1 << 19) - 16.0;
        let doubles = [(); 32].map(|()| float());
        *warps.b64_mut(0, register) = doubles.map(f64::to_bits);
        *warps.b32_mut(0, register) = doubles.map(|x| (x as f32).to_bits());
        *warps.b16_mut(0, register) = doubles.map(|x| ((x as f32).to_bits() >> 16) as u16);
    }
    (0..8).for_each(|register| *warps.pred_mut(0, register) = random.next() as u32);
    warps
}

fn assert_same(what: &str, a: &Warps, b: &Warps) {
    for register in 0..32 {
        assert_eq!(a.b64(0, register), b.b64(0, register), "{what}");
        assert_eq!(a.b32(0, register), b.b32(0, register), "{what}");
        assert_eq!(a.b16(0, register), b.b16(0, register), "{what}");
    }
    (0..8).for_each(|register| assert_eq!(a.pred(0, register), b.pred(0, register), "{what}"));
}
