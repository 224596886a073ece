//! Computes the table from the spec: `isa-spec`'s text in, Rust modules in `OUT_DIR` out.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let build = isa_spec::Build::new().ptx().manual("manual.rs");
    let with_reference = std::env::var_os("CARGO_FEATURE_REFERENCE").is_some();
    let build = if with_reference { build.reference("reference.rs") } else { build };
    build.write("ptx.rs");
}
