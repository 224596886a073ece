//! The command line of `ptx-isa`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
