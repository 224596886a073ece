//! Command line `isa-spec`: checks and formats specs without a build.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::{Parser, Subcommand};
use isa_spec::Build;

/// Checks and formats instruction specs.
///
/// Exits with 0 on success, with 1 if a spec has errors or is not formatted, and with 2 if the command line is invalid
/// or a file cannot be read or written.
#[derive(Parser)]
#[command(name = "isa-spec", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Report every error of a spec, which consists of all the files
    Check {
        /// Files of the spec; libraries named by `use` are added
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Format spec files in place
    Fmt {
        /// List the files that would change, without changing them
        #[arg(long)]
        check: bool,
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Check { files } => check(&files),
        Command::Fmt { check, files } => format(&files, check),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            anstream::eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Adds the file name to an I/O error.
fn about(path: &Path, doing: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {doing} {}: {error}", path.display()))
}

fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path).map_err(|error| about(path, "read", &error))
}

/// Returns true if the spec is valid.
fn check(files: &[PathBuf]) -> io::Result<bool> {
    let mut build = Build::new().colour();
    for path in files {
        build = build.text(&path.display().to_string(), &read(path)?);
    }
    match build.check() {
        Ok(()) => Ok(true),
        Err(report) => {
            anstream::eprint!("{report}");
            Ok(false)
        }
    }
}

/// Returns true if all files parse and, with `check`, are formatted.
fn format(files: &[PathBuf], check: bool) -> io::Result<bool> {
    let mut fine = true;
    for path in files {
        let text = read(path)?;
        match isa_spec::format(&path.display().to_string(), &text) {
            Ok(formatted) if formatted == text => {}
            Ok(_) if check => {
                anstream::println!("{} is not formatted", path.display());
                fine = false;
            }
            Ok(formatted) => fs::write(path, formatted).map_err(|error| about(path, "write", &error))?,
            Err(report) => {
                anstream::eprint!("{report}");
                fine = false;
            }
        }
    }
    Ok(fine)
}
