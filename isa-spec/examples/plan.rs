//! Prints statistics about the table of `ptx-isa`: shapes, loops, operations, and why forms do not run over lanes.
//!
//! ```sh
//! cargo run -p isa-spec --example plan
//! cargo run -p isa-spec --example plan -- mine.isa
//! ```

fn main() {
    let build = match std::env::args().nth(1) {
        Some(file) => isa_spec::Build::new().file(file),
        None => isa_spec::Build::new().ptx(),
    };
    match build.plan() {
        Ok(plan) => print!("{plan}"),
        Err(report) => eprint!("{report}"),
    }
}
