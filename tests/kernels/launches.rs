//! Launches and what a card makes of them.
//!
//! `PTX_ISA_LAUNCHES=FOLDER cargo test …` writes a file for each test that launches kernels; `conformance --launches` repeats
//! them on a card, and writes to `machine/launches.txt` what it leaves in memory. From then on the tests compare.

#[path = "recorded.rs"]
mod recorded;

use std::collections::HashMap;
use std::env;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};

use ptx_isa::run::{Argument, Grid};

/// A launch: the text of its module, the kernel, how it is launched, and each buffer with its address.
pub struct Launch<'l> {
    pub text: &'l str,
    pub kernel: &'l str,
    pub grid: Grid,
    pub arguments: &'l [Argument],
    pub buffers: &'l [(u64, Vec<u8>)],
}

/// A file, and the number of each module in it.
struct Launches {
    file: File,
    modules: HashMap<String, usize>,
}

static LAUNCHES: LazyLock<Option<Mutex<Launches>>> = LazyLock::new(|| {
    let folder = PathBuf::from(env::var_os("PTX_ISA_LAUNCHES")?);
    let file = File::create(folder.join(concat!(env!("CARGO_CRATE_NAME"), ".txt"))).expect("the folder can be written");
    Some(Mutex::new(Launches { file, modules: HashMap::new() }))
});

/// Memory as a card leaves it, by launch.
static RECORDED: LazyLock<HashMap<u64, u64>> = LazyLock::new(|| {
    let lines = include_str!("../machine/launches.txt").lines().filter(|line| !line.starts_with('#'));
    let number = |word: &str| u64::from_str_radix(word, 16).expect("a number");
    lines
        .map(|line| line.split_once(' ').map(|(launch, memory)| (number(launch), number(memory))).expect("a pair"))
        .collect()
});

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Launch<'_> {
    fn sizes(&self) -> Vec<u32> {
        let Grid { blocks, threads, cluster, shared } = self.grid;
        [blocks, threads, cluster].concat().into_iter().chain([shared]).collect()
    }

    /// Compares what the launch left with what a card leaves, if a card has repeated it. Returns true if one has.
    ///
    /// # Panics
    ///
    /// If they differ.
    pub fn compare(&self, after: &[Vec<u8>]) -> bool {
        let arguments: Vec<Vec<u8>> = self.arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
        let buffers: Vec<(u64, &[u8])> = self.buffers.iter().map(|(address, bytes)| (*address, &bytes[..])).collect();
        let name = recorded::launch(self.text, self.kernel, &self.sizes(), &arguments, &buffers);
        let Some(memory) = RECORDED.get(&name) else { return false };
        let here = recorded::memory(after.iter().map(Vec::as_slice));
        assert_eq!(here, *memory, "a card leaves other memory: launch {name:016x}, {}\n{}", self.kernel, self.text);
        true
    }

    /// Writes the launch to the file of the test, if launches are wanted: its module if it is new, the grid, the arguments,
    /// and each buffer before and after.
    pub fn write(&self, after: &[Vec<u8>]) {
        let Some(launches) = &*LAUNCHES else { return };
        let mut launches = launches.lock().expect("no panic while it is held");
        let count = launches.modules.len();
        let mut lines = String::new();
        let number = *launches.modules.entry(self.text.to_owned()).or_insert(count);
        if number == count {
            let _ = writeln!(lines, "module {}", hex(self.text.as_bytes()));
        }
        let _ = write!(lines, "launch {number} {}", self.kernel);
        for size in self.sizes() {
            let _ = write!(lines, " {size}");
        }
        lines.push('\n');
        for argument in self.arguments {
            let _ = writeln!(lines, "argument {}", hex(argument.as_bytes()));
        }
        for ((address, before), after) in self.buffers.iter().zip(after) {
            let after = if before == after { String::from("same") } else { hex(after) };
            let _ = writeln!(lines, "buffer {address} {} {after}", hex(before));
        }
        launches.file.write_all(lines.as_bytes()).expect("the file can be written");
    }
}
