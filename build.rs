//! Computes the table from the spec: `isa-spec`'s text in, one Rust module in `OUT_DIR` out.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    isa_spec::Build::new().ptx().write("ptx.rs");
}
