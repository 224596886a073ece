//! The binary, run as a user runs it.
#![allow(dead_code, reason = "each test file uses what it needs")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Result of a finished process: exit status and captured output.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn run(arguments: &[&str]) -> Run {
    run_with(arguments, "")
}

/// With a text as standard input.
pub(crate) fn run_with(arguments: &[&str], input: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptx-isa"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // Whoever refuses its arguments reads nothing.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Run { status: output.status.code().expect("it ends by itself"), out: text(output.stdout), err: text(output.stderr) }
}

/// A new folder for a test's files.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
