//! Shared by the tests of the runner: a module with its memory, and inputs.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(unreachable_pub, reason = "tests share it as a module")]

#[path = "launches.rs"]
mod launches;

use std::cell::RefCell;

use launches::Launch;
use ptx_isa::run::{Argument, Error, Grid, Memory, Module, Number, Options, Report};

/// A module with its memory.
pub struct Machine {
    pub memory: Memory,
    pub module: Module,
    pub options: Options,
    text: String,
    /// Address and size in bytes of what was uploaded, if kernels run on one thread.
    uploaded: RefCell<Vec<(u64, usize)>>,
}

impl Machine {
    /// The same with other options.
    pub fn with(&self, options: Options) -> Machine {
        let (memory, module, text) = (self.memory.clone(), self.module.clone(), self.text.clone());
        Machine { memory, module, options, text, uploaded: RefCell::default() }
    }

    pub fn upload<T: Number>(&self, numbers: &[T]) -> u64 {
        let address = self.memory.upload(numbers);
        if self.options.threads == Some(1) {
            self.uploaded.borrow_mut().push((address, size_of_val(numbers)));
        }
        address
    }

    pub fn download<T: Number>(&self, pointer: u64, count: usize) -> Vec<T> {
        self.memory.download(pointer, count).unwrap()
    }

    pub fn try_run(&self, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<Report, Error> {
        Ok(self.observe(kernel, grid, arguments)?.0)
    }

    /// The same; also returns true if a card has left the same memory.
    pub fn observe(&self, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<(Report, bool), Error> {
        let run = self.module.kernel(kernel)?;
        let uploaded = self.uploaded.borrow();
        let image = |(address, bytes): &(u64, usize)| self.download::<u8>(*address, *bytes);
        let buffers: Vec<(u64, Vec<u8>)> = uploaded.iter().map(|buffer| (buffer.0, image(buffer))).collect();
        let report = run.launch_with(grid, arguments, &self.options)?;
        let after: Vec<Vec<u8>> = uploaded.iter().map(image).collect();
        if buffers.is_empty() {
            return Ok((report, false));
        }
        let launch = Launch { text: &self.text, kernel, grid, arguments, buffers: &buffers };
        launch.write(&after);
        Ok((report, launch.compare(&after)))
    }

    pub fn run(&self, kernel: &str, grid: Grid, arguments: &[Argument]) {
        self.try_run(kernel, grid, arguments).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Runs a test with a module, on one thread of the host and on several.
pub fn on_threads(text: &str, test: impl Fn(&Machine)) {
    [1, 3].into_iter().for_each(|threads| with(threads, text, &test));
}

/// Runs a test with a module whose kernels have one block, on one thread of the host.
pub fn on_one_thread(text: &str, test: impl Fn(&Machine)) {
    with(1, text, test);
}

fn with(threads: usize, text: &str, test: impl Fn(&Machine)) {
    // As instructions one by one, and as machine code.
    for compile_after in [None, Some(0)] {
        let memory = Memory::new();
        let module = Module::load(text, &memory).unwrap_or_else(|error| panic!("{error}"));
        let options = Options { threads: Some(threads), compile_after, ..Options::default() };
        test(&Machine { memory, module, options, text: text.to_owned(), uploaded: RefCell::default() });
    }
}

/// Numbers that look random.
pub fn random(count: usize) -> Vec<u32> {
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    (0..count).map(|_| next()).collect()
}

pub fn floats(count: usize) -> Vec<f32> {
    random(count).iter().map(|bits| (*bits % 2000) as f32 / 16.0 - 40.0).collect()
}

pub fn shaped(blocks: [u32; 3], threads: [u32; 3]) -> Grid {
    Grid { blocks, threads, ..Grid::new(1, 1) }
}
