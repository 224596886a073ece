//! The goals of performance, each as a ratio to a rival written by hand, taken in one run: `cargo bench --features simd
//! --bench goals`, and behind `--` a text that the names of the wanted rows have.
//!
//! Ours and the rival run in turns; the ratio is the median over many rounds of rival's time by ours, so that more
//! is better. Outputs are compared before anything is timed, on data with NaNs, subnormals, infinities and zeros.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code, reason = "rivals are written with intrinsics")]
#![allow(missing_docs, reason = "a bench")]
#![allow(
    clippy::missing_transmute_annotations,
    clippy::needless_range_loop,
    clippy::too_many_arguments,
    reason = "rivals as written by hand"
)]

mod arithmetic;
mod halves;
mod kernels;
mod measure;
mod mnemonics;
mod programs;
mod slices;
mod text;
mod video;
mod warps;

use std::time::Instant;

use measure::Random;
use ptx_isa::warp::Level;

fn main() {
    // `cargo bench --bench goals -- text` runs the parts whose names contain `text`.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let mut random = Random::new(7);
    println!("levels: {:?}", Level::available().collect::<Vec<_>>());
    let mut part = |name: &str, run: fn(&mut Random)| {
        if name.contains(&wanted) {
            let start = Instant::now();
            run(&mut random);
            eprintln!("{name}: {:.0} s", start.elapsed().as_secs_f64());
        }
    };
    part("slices", slices::rows);
    part("warps", warps::rows);
    part("arithmetic", arithmetic::rows);
    part("halves", halves::rows);
    part("video", video::rows);
    part("programs", programs::rows);
    part("kernels", kernels::rows);
    part("mnemonics", mnemonics::rows);
    part("text", text::rows);
}
