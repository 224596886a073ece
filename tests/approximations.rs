//! Functions of one float at every SIMD level against their evaluators, bit for bit: a sample of all floats, and with
//! `cargo test --release --features simd --test approximations -- --ignored --nocapture` all 2³² of them.
#![cfg(not(miri))]

use std::thread;
use std::time::Instant;

use ptx_isa::TABLE;
use ptx_isa::eval::{self, rounding::RN};
use ptx_isa::slice::{Evaluator, Slice, SliceMut};
use ptx_isa::warp::Level;

/// Forms with a source and a destination of 32 bits, and their evaluators.
#[allow(clippy::type_complexity, reason = "a list of pairs")]
const FUNCTIONS: [(&str, fn(f32) -> f32); 8] = [
    ("ex2.approx.f32", eval::exp2_f32),
    ("lg2.approx.f32", eval::log2_f32),
    ("sin.approx.f32", eval::sin_f32),
    ("cos.approx.f32", eval::cos_f32),
    ("tanh.approx.f32", eval::tanh_f32),
    ("rsqrt.approx.f32", eval::rsqrt_f32),
    ("sqrt.approx.f32", eval::sqrt_f32::<RN>),
    ("rcp.approx.f32", |x| eval::div_f32::<RN>(1.0, x)),
];

/// Floats that are compared at once.
const LANES: u32 = 1 << 12;

/// Compares a function on `LANES` floats from each multiple of `step · LANES` on, on all cores.
fn compare(mnemonic: &str, function: fn(f32) -> f32, level: Level, step: usize) {
    let evaluator = Evaluator::with(TABLE.form(mnemonic).unwrap(), 90, level, &[], 0).unwrap();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for first in 0..threads {
            let evaluator = &evaluator;
            scope.spawn(move || {
                let mut results = vec![0; LANES as usize];
                for part in (0..u32::MAX / LANES + 1).step_by(step).skip(first).step_by(threads) {
                    let floats: Vec<u32> = (0..LANES).map(|lane| part * LANES + lane).collect();
                    evaluator.run(floats.len(), [SliceMut::B32(&mut results), SliceMut::Sink], &[Slice::B32(&floats)]);
                    for (x, result) in floats.iter().zip(&results) {
                        let expected = function(f32::from_bits(*x)).to_bits();
                        assert_eq!(*result, expected, "{mnemonic} of {x:#010x} at {level:?}");
                    }
                }
            });
        }
    });
}

#[test]
fn nans_of_halves_are_canonical() {
    for mnemonic in ["ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"] {
        let form = TABLE.form(mnemonic).unwrap();
        for nan in [0x7f81, 0x7fc1, 0x7fff, 0xff81, 0xffff] {
            assert_eq!(form.evaluate(90, &[nan]), [0x7fff], "{mnemonic} of {nan:#x}");
        }
    }
}

/// The step is odd, so that all exponents come with many fractions.
#[test]
fn a_sample_of_floats() {
    for level in Level::available() {
        for (mnemonic, function) in FUNCTIONS {
            compare(mnemonic, function, level, if cfg!(debug_assertions) { 20_011 } else { 1_009 });
        }
    }
}

#[test]
#[ignore = "twenty minutes of CPU"]
fn all_floats() {
    for (mnemonic, function) in FUNCTIONS {
        for level in Level::available().filter(|level| *level != Level::PORTABLE) {
            let start = Instant::now();
            compare(mnemonic, function, level, 1);
            println!("{mnemonic} at {level:?}: 2³² floats equal, {:.0} s", start.elapsed().as_secs_f64());
        }
    }
}
