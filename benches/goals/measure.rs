//! Random data with the edges of floats, memory at the alignment of vectors, and ratios of times.

#[path = "../../tests/random/mod.rs"]
mod random;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ptx_isa::warp::Level;
pub(crate) use random::Random;

/// Returns the bits of a lane's value, often a special one: zeros, infinity, a NaN, extremes.
pub(crate) fn lane_value(random: &mut Random, bits: u32) -> u64 {
    let exponent = [0x7c00, 0x7f80_0000, 0x7ff0_0000_0000_0000_u64][bits as usize / 32];
    let value = match random.next() % 10 {
        0 => 0,
        1 => 1 << (bits - 1),
        2 => 1,
        3 => exponent,
        4 => exponent | 1,
        5 => !0,
        6 => 7,
        _ => random.next(),
    };
    value & (u64::MAX >> (64 - bits))
}

/// Data at the alignment of the widest vector, as an emulator would have it.
#[repr(C, align(64))]
struct Line([u8; 64]);

#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Page([u8; 4096]);

pub(crate) fn lanes<T: Copy>(count: usize, mut make: impl FnMut() -> T) -> &'static mut [T] {
    // Arrays start a quarter of a page apart from each other, so that no store waits for a load that looks the same.
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let skipped = MADE.fetch_add(1, Ordering::Relaxed) % 4 * (1024 / size_of::<Line>());
    let bytes = count * size_of::<T>();
    let memory = vec![Page([0; 4096]); bytes.div_ceil(4096) + 1].leak().as_mut_ptr().cast::<Line>();
    // SAFETY: the pages hold `count` integers behind the skipped lines, and live for ever.
    let list = unsafe { std::slice::from_raw_parts_mut(memory.add(skipped).cast::<T>(), count) };
    list.iter_mut().for_each(|lane| *lane = make());
    list
}

const ROUNDS: usize = 61;

/// The median over rounds of the rival's time by ours. What is called is not known when this is compiled, so that no
/// call is left out or moved.
fn ratio(calls: usize, ours: &mut dyn FnMut(), rival: &mut dyn FnMut()) -> (f64, f64) {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..calls {
            work();
        }
        start.elapsed().as_secs_f64() / calls as f64
    };
    time(ours);
    time(rival);
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
        .map(|round| {
            if round % 2 == 0 {
                let ours = time(ours);
                (time(rival) / ours, ours)
            } else {
                let rival = time(rival);
                let ours = time(ours);
                (rival / ours, ours)
            }
        })
        .collect();
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    rounds[ROUNDS / 2]
}

pub(crate) fn report(name: &str, goal: f64, calls: usize, ours: &mut dyn FnMut(), rival: &mut dyn FnMut()) {
    let (value, seconds) = ratio(calls, ours, rival);
    let mark = if value >= goal { "" } else { "  MISSED" };
    println!("ratio {name:<58} {value:>8.3} goal ≥ {goal:<5} ({:.2} ns a call){mark}", seconds * 1e9);
}

pub(crate) fn level(name: &str) -> Option<Level> {
    Level::available().find(|level| level.name() == name)
}
