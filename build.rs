//! Computes the table from the spec: `isa-spec`'s text in, Rust modules in `OUT_DIR` out.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let has = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let mut build = isa_spec::Build::new().ptx().loops("loops.rs");
    if has("SCALAR") {
        build = build.scalar("scalar.rs").catalog("functions.rs");
    }
    if has("REFERENCE") {
        build = build.manual("manual.rs").reference("reference.rs");
    }
    build.write("ptx.rs");
}
