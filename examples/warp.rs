//! A kernel as a compiler wrote it runs on the CPU: each warp sorts 32 numbers.
//!
//! ```sh
//! cargo run --features run --example warp
//! ```
//!
//! `sort_warps.ptx` is what NVRTC 13.5 made of `sort_warps.cu` for `compute_90`.

use std::error::Error;

use ptx_isa::run::{Grid, Memory, Module};

fn main() -> Result<(), Box<dyn Error>> {
    let mut values: Vec<f32> = (0..100_u32).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
    let memory = Memory::new();
    let module = Module::load(include_str!("sort_warps.ptx"), &memory)?;
    let (array, count) = (memory.upload(&values), values.len() as u32);
    let report = module.kernel("sort_warps")?.launch(Grid::new(2, 64), &[array.into(), count.into()])?;
    values.chunks_mut(32).for_each(|warp| warp.sort_by(f32::total_cmp));
    assert_eq!(memory.download::<f32>(array, values.len())?, values);
    println!("{} values sorted by warps, in {} instructions", values.len(), report.instructions);
    Ok(())
}
