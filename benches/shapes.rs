//! Costs of reading and checking adversarial texts: `cargo bench --features cli --bench shapes`, optionally followed by
//! `--`, a substring of the names of the wanted shapes, and arguments of `ptx-isa check` that replace the usual ones.
//!
//! Each shape is checked at two sizes with the command that users run. The output has the seconds of user and system
//! CPU time at the larger size, the exponent of the growth in time, and the ratio of peak memory to text size. Goals:
//! an exponent of at most 1.2, and at most 12 times the text plus 40 MB of memory.
#![cfg(unix)]
#![allow(unsafe_code, reason = "the system is asked for a command's CPU time and memory")]
#![allow(missing_docs, reason = "a bench")]

#[path = "../tests/shapes/mod.rs"]
mod shapes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shapes::{SHAPES, Shape};

/// Bytes of the larger text, and how many times the smaller one is in it.
const LARGE: usize = 8 << 20;
const TIMES: usize = 4;

/// How often a text is checked that takes fewer seconds than this.
const RUNS: usize = 5;
const SHORT: f64 = 1.0;

const MOST_EXPONENT: f64 = 1.2;
const MOST_FACTOR: f64 = 12.0;
const MOST_BYTES: f64 = 40e6;

/// Resources used by a command: seconds of CPU time, and peak memory in bytes.
struct Usage {
    seconds: f64,
    bytes: f64,
}

#[allow(clippy::zombie_processes, reason = "`wait4` waits for it")]
fn usage(command: &mut Command) -> Usage {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command starts");
    let mut status = 0;
    // SAFETY: a `rusage` is integers, for which zeros are values.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is ours and is waited for once; both pointers are to locals of the right types.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut used) };
    assert!(waited > 0 && libc::WIFEXITED(status), "{command:?} dies");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Usage { seconds: seconds(used.ru_utime) + seconds(used.ru_stime), bytes: used.ru_maxrss as f64 * 1024.0 }
}

/// The least time and the most memory of several runs; of one where it is long.
fn checked(file: &Path, text: &str, arguments: &[String]) -> Usage {
    fs::write(file, text).expect("the folder can be written to");
    let run = || usage(Command::new(env!("CARGO_BIN_EXE_ptx-isa")).args(["-q", "check"]).args(arguments).arg(file));
    let mut least = run();
    for _ in 1..RUNS {
        if least.seconds < SHORT {
            let other = run();
            least = Usage { seconds: least.seconds.min(other.seconds), bytes: least.bytes.max(other.bytes) };
        }
    }
    least
}

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (own, names): (Vec<String>, Vec<String>) = arguments.partition(|argument| argument.starts_with("--"));
    let wanted = |shape: &&Shape| names.is_empty() || names.iter().any(|name| shape.name.contains(name.as_str()));
    let ways = match own.is_empty() {
        true => vec![vec![], vec!["--format=json".to_owned()]],
        false => vec![own],
    };
    let folder = PathBuf::from(option_env!("CARGO_TARGET_TMPDIR").unwrap_or("/tmp"));
    let file = folder.join(format!("shapes-{}.ptx", std::process::id()));
    let nothing = checked(&file, "", &[]);
    let mut missed = 0;
    for way in &ways {
        println!("\n{:<40} {:>9} {:>9} {:>9}", format!("check {}", way.join(" ")), "seconds", "exponent", "memory");
        for shape in SHAPES.iter().filter(wanted) {
            let small = checked(&file, &shape.text(LARGE / TIMES), way);
            let large = checked(&file, &shape.text(LARGE), way);
            let own = |usage: &Usage| (usage.seconds - nothing.seconds).max(0.02);
            let exponent = (own(&large) / own(&small)).ln() / (TIMES as f64).ln();
            let factor = (large.bytes - nothing.bytes) / LARGE as f64;
            let room = large.bytes <= MOST_FACTOR * LARGE as f64 + MOST_BYTES;
            let fine = exponent <= MOST_EXPONENT && room;
            missed += usize::from(!fine);
            let mark = if fine { "" } else { "  MISSED" };
            println!("{:<40} {:>9.3} {exponent:>9.2} {factor:>8.1}×{mark}", shape.name, large.seconds);
        }
    }
    fs::remove_file(&file).expect("it was written");
    println!("\n{missed} missed");
}
