//! Kernels that NVRTC compiled, against the same computations in C: `cargo bench --features simd,jit --bench kernels`, and behind
//! `--` a text that the names of the wanted rows contain.
//!
//! The rivals of `rivals.c` are compiled by clang with `-O3 -march=native` and vector versions of the functions of `libm`, and run on one thread
//! as our kernels do. Both run in turns, outputs are compared before anything is timed, and a row is the median over rounds of the rival's time
//! by ours, so that more is better. Time is CPU time, but for what runs on two threads. With `--plot` in front of that text, the ratios to clang
//! are drawn in `docs/kernels.svg`, and speed by size in `docs/sizes.svg`. The crate ptoxide runs the kernels that it can read.
#![cfg(unix)]
#![allow(unsafe_code, reason = "rivals are functions in C")]
#![allow(missing_docs, reason = "a bench")]

mod cases;
mod plot;
mod rival;
mod rows;
mod tensor;

#[path = "../../tests/kernels/model.rs"]
mod model;
#[allow(dead_code, reason = "tests use the rest")]
#[path = "../../tests/kernels/products.rs"]
mod products;

use std::time::Instant;

use cases::Case;
use ptx_isa::run::{Argument, Grid, Kernel, Memory, Module, Options};
use rival::Library;

const TEXT: &str = include_str!("kernels-compute_80.ptx");

/// Times each row for about as long, in seconds.
const ENOUGH: f64 = 1.5;

/// Contents of a kernel's buffer; selects how outputs are compared.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Holds {
    Integers,
    Floats,
    Halves,
}

#[derive(Clone)]
pub(crate) struct Buffer {
    pub bytes: Vec<u8>,
    pub holds: Holds,
    /// True if the kernel writes it.
    pub output: bool,
    /// True if it is zeroed before each launch.
    pub cleared: bool,
}

/// An argument of a kernel: the pointer to a buffer, or a number.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Buffer(usize),
    Int(i32),
    Float(f32),
}

/// A kernel with its buffers in memory.
pub(crate) struct Ours<'c> {
    case: &'c Case,
    kernel: Kernel,
    memory: Memory,
    pointers: Vec<u64>,
    arguments: Vec<Argument>,
    grid: Grid,
    options: Options,
}

impl<'c> Ours<'c> {
    pub(crate) fn new(case: &'c Case, threads: usize) -> Ours<'c> {
        let memory = Memory::new();
        let module = Module::load(TEXT, &memory).unwrap_or_else(|error| panic!("{error}"));
        let kernel = module.kernel(case.name).unwrap_or_else(|error| panic!("{error}"));
        let pointers: Vec<u64> = case.buffers.iter().map(|buffer| memory.upload(&buffer.bytes)).collect();
        let argument = |value: &Value| match value {
            Value::Buffer(number) => pointers[*number].into(),
            Value::Int(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
        };
        let arguments = case.arguments.iter().map(argument).collect();
        let grid = Grid { blocks: case.blocks, threads: case.threads, ..Grid::new(1, 1) };
        Ours {
            case,
            kernel,
            memory,
            pointers,
            arguments,
            grid,
            options: Options { threads: Some(threads), ..Options::default() },
        }
    }

    /// The same, never compiled.
    pub(crate) fn one_by_one(self) -> Ours<'c> {
        Ours { options: Options { compile_after: None, ..self.options }, ..self }
    }

    /// The same, with a look at races.
    pub(crate) fn with_races(self) -> Ours<'c> {
        Ours { options: Options { races: true, ..self.options }, ..self }
    }

    pub(crate) fn run(&self, checked: bool) -> u64 {
        for (buffer, pointer) in self.case.buffers.iter().zip(&self.pointers) {
            if buffer.cleared {
                self.memory.write(*pointer, &buffer.bytes).expect("a buffer of ours");
            }
        }
        let report = match checked {
            true => self.kernel.launch_with(self.grid, &self.arguments, &self.options),
            // SAFETY: the outputs of the same launch with checks were compared before.
            false => unsafe { self.kernel.launch_unchecked(self.grid, &self.arguments, &self.options) },
        };
        report.unwrap_or_else(|error| panic!("{error}")).instructions
    }

    fn outputs(&self) -> Vec<Vec<u8>> {
        let buffers = self.case.buffers.iter().zip(&self.pointers);
        buffers
            .map(|(buffer, pointer)| self.memory.download(*pointer, buffer.bytes.len()).expect("a buffer of ours"))
            .collect()
    }
}

/// Panics if outputs of a kernel are not those of a rival.
pub(crate) fn compare(case: &Case, ours: &[Vec<u8>], theirs: &[Vec<u8>]) {
    for (buffer, (ours, theirs)) in case.buffers.iter().zip(ours.iter().zip(theirs)).filter(|(buffer, _)| buffer.output)
    {
        let differs = match buffer.holds {
            Holds::Integers => ours.iter().zip(theirs).position(|(a, b)| a != b),
            Holds::Floats => differ(floats(ours), floats(theirs), 2e-4),
            Holds::Halves => differ(halves(ours), halves(theirs), 4e-3),
        };
        if let Some(place) = differs {
            panic!("{}: the outputs differ at {place}", case.name);
        }
    }
}

/// The place of the first float that is not within a part of the other's size; sums in another order differ in their last bits.
fn differ(a: impl Iterator<Item = f32>, b: impl Iterator<Item = f32>, part: f32) -> Option<usize> {
    let near = |a: f32, b: f32| a == b || (a - b).abs() <= part * b.abs().max(1.0);
    a.zip(b).position(|(a, b)| !near(a, b))
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<2>().0.iter().map(|bytes| half::f16::from_le_bytes(*bytes).to_f32())
}

/// CPU time of this thread: what other processes do on a shared machine does not count.
pub(crate) fn seconds(work: impl FnOnce()) -> f64 {
    let now = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the clock exists on every Unix, and writes the time alone.
        assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let start = now();
    work();
    now() - start
}

/// Elapsed time, for what runs on several threads.
pub(crate) fn elapsed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// The median over rounds of the second one's time by the first one's, and of the first one's in seconds, on this thread.
pub(crate) fn ratio(ours: impl FnMut(), rival: impl FnMut()) -> (f64, f64) {
    timed(|work| seconds(work), ours, rival)
}

/// The same by a clock.
pub(crate) fn timed(
    clock: impl Fn(&mut dyn FnMut()) -> f64,
    mut ours: impl FnMut(),
    mut rival: impl FnMut(),
) -> (f64, f64) {
    let once = clock(&mut ours) + clock(&mut rival);
    let rounds = ((ENOUGH / once) as usize).clamp(5, 61);
    let mut times: Vec<(f64, f64)> = (0..rounds)
        .map(|_| {
            let own = clock(&mut ours);
            (clock(&mut rival) / own, own)
        })
        .collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    times[rounds / 2]
}

pub(crate) fn report(name: &str, value: f64, goal: f64, note: &str) {
    let mark = if value >= goal { "" } else { "  MISSED" };
    println!("ratio {name:<48} {value:>8.3} goal ≥ {goal:<5} {note}{mark}");
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let library = Library::compile();
    println!("rivals: {}", library.as_ref().map_or("none, no compiler of C was found", |library| library.compiler));
    let start = Instant::now();
    let bars = rows::kernels(&wanted, library.as_ref());
    let plots = std::env::args().any(|argument| argument == "--plot");
    let write = |name: &str, svg: String| {
        let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/docs"));
        std::fs::write(folder.join(name), svg).expect("docs can be written to");
    };
    if plots && !bars.is_empty() {
        write("kernels.svg", plot::bars("Kernels: clang's time by ours, one thread", &bars, (0.01, 10.0)));
    }
    let sizes = rows::sizes(&wanted, library.as_ref());
    if plots && !sizes.is_empty() {
        write("sizes.svg", plot::lines("saxpy: elements a nanosecond by the length of the vectors", &sizes));
    }
    tensor::rows(&wanted, library.as_ref());
    rows::machine_code(&wanted);
    rows::modes(&wanted);
    rows::races(&wanted);
    rows::starts(&wanted);
    eprintln!("{:.0} s", start.elapsed().as_secs_f64());
}
