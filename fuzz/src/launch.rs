//! Launches: any module with any arguments on any grid.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ptx_isa::run::{Argument, Grid, Kernel, Memory, Module, Options};

use super::random::Random;

/// Bytes of the memory that kernels may access, and of what lies around it.
const OWN: usize = 1 << 12;
const AROUND: usize = 1 << 12;

/// A module: each of its first kernels is launched with arguments, on a grid and with options that depend on the text alone. A
/// launch ends within its limit of instructions, and leaves the bytes around the one buffer as they were.
pub fn launch(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let mut random = Random::new(hasher.finish());
    let memory = Memory::new();
    let Ok(module) = Module::load(text, &memory) else { return };
    let mut bytes = vec![0x5a_u8; OWN + 2 * AROUND];
    // SAFETY: the bytes live as long as the memory, and nobody touches them while a launch runs.
    #[allow(unsafe_code, reason = "only lent memory has bytes around it")]
    let buffer = unsafe { memory.lend(bytes.as_mut_ptr().add(AROUND), OWN) };
    for kernel in module.kernels().take(4) {
        one(&kernel, buffer, &mut random);
    }
    memory.free(buffer);
    let around = bytes[..AROUND].iter().chain(&bytes[AROUND + OWN..]);
    assert!(around.into_iter().all(|byte| *byte == 0x5a), "the kernel wrote outside of its buffer");
}

fn one(kernel: &Kernel, buffer: u64, random: &mut Random) {
    let arguments: Vec<Argument> = kernel
        .parameters()
        .map(|parameter| match (parameter.size, random.below(8)) {
            (8, 0..=4) => buffer.into(),
            // The end of the buffer, or somewhere near.
            (8, 5) => (buffer + OWN as u64 - random.below(64) as u64).into(),
            (8, 6) => (buffer + random.below(2 * OWN) as u64).into(),
            (4, 0..=5) => (random.below(70) as u32).into(),
            (size, _) => Argument::bytes((0..size.min(1 << 16)).map(|_| random.below(256) as u8).collect::<Vec<_>>()),
        })
        .collect();
    let required =
        |name: &str| kernel.directive(name).map(|numbers| numbers.iter().map(|n| *n as u32).collect::<Vec<_>>());
    let mut grid = Grid::new(1 + random.below(3) as u32, 1 + random.below(70) as u32).shared(random.below(5000) as u32);
    if let Some(threads) = required("reqntid") {
        grid.threads = std::array::from_fn(|axis| threads.get(axis).copied().unwrap_or(1));
    }
    if let Some(cluster) = required("reqnctapercluster") {
        grid.blocks = std::array::from_fn(|axis| cluster.get(axis).copied().unwrap_or(1).max(1));
    }
    let limit = 100_000;
    let options = Options {
        threads: Some(1 + random.below(2)),
        limit,
        stack: 1 << 12,
        heap: 1 << 20,
        print: Some(Arc::new(|_: &str| {})),
        ..Options::default()
    };
    if let Ok(report) = kernel.launch_with(grid, &arguments, &options) {
        assert!(report.instructions <= limit, "{} instructions", report.instructions);
    }
}
