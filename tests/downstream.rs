//! Another project's use of the generator: `tests/downstream` is a crate of its own, built and tested here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs cargo on a crate. All of them share a target directory, so that dependencies are built once; it is that of the macros'
/// `trybuild`, and options are the same, so that what the macros need is built once too.
fn cargo(command: &str, crate_dir: &Path) -> Output {
    Command::new(env!("CARGO"))
        .args([command, "--quiet", "--target", "host-tuple", "--target-dir"])
        .arg(Path::new(ROOT).join("target/tests/trybuild"))
        .current_dir(crate_dir)
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .env("CARGO_TERM_COLOR", "never")
        .output()
        .expect("cargo runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A copy of the downstream crate whose spec may be spoilt.
fn copy(name: &str) -> PathBuf {
    let (from, to) = (Path::new(ROOT).join("tests/downstream"), Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    for folder in ["src", "spec"] {
        fs::create_dir_all(to.join(folder)).unwrap();
    }
    for file in
        ["build.rs", "Cargo.lock", "src/lib.rs", "spec/bits.isa", "spec/kernels.isa", "spec/shapes.isa", "spec/toy.isa"]
    {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap().replace("../..", ROOT);
    fs::write(to.join("Cargo.toml"), manifest).unwrap();
    to
}

#[test]
#[ignore = "builds crates for a minute: `.ci/packages` runs it"]
fn a_project_of_its_own_builds_and_passes() {
    let output = cargo("test", &Path::new(ROOT).join("tests/downstream"));
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
#[ignore = "builds crates for a minute: `.ci/packages` runs it"]
fn a_broken_token_shows_file_line_column_and_a_caret() {
    let crate_dir = copy("spoilt");
    let spec = crate_dir.join("spec/bits.isa");
    let good = fs::read_to_string(&spec).unwrap();
    fs::write(&spec, good.replace("d = pops(a)", "d = posp(a)")).unwrap();
    let output = cargo("build", &crate_dir);
    let report = "\
error: downstream@0.0.0: error: unknown builtin `posp`
error: downstream@0.0.0:   --> spec/bits.isa:14:21
error: downstream@0.0.0:    |
error: downstream@0.0.0: 14 |     semantics { d = posp(a); }
error: downstream@0.0.0:    |                     ^^^^
error: downstream@0.0.0:    |
error: downstream@0.0.0:    = help: did you mean `pops`?
error: downstream@0.0.0: 
error: downstream@0.0.0: 1 mistake in the spec
";
    assert!(!output.status.success() && stderr(&output).starts_with(report), "{}", stderr(&output));
    assert!(stderr(&output).contains("cargo::rerun-if-changed=spec/bits.isa"), "{}", stderr(&output));

    // The edit alone makes cargo run the build script again.
    fs::write(&spec, good).unwrap();
    let output = cargo("build", &crate_dir);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
#[ignore = "builds crates for a minute: `.ci/packages` runs it"]
fn a_missing_spec_file_is_named() {
    let crate_dir = copy("missing");
    fs::remove_file(crate_dir.join("spec/toy.isa")).unwrap();
    let output = cargo("build", &crate_dir);
    let report = "error: downstream@0.0.0: cannot read spec/toy.isa: No such file or directory (os error 2)\n";
    assert!(!output.status.success() && stderr(&output).starts_with(report), "{}", stderr(&output));
}

/// Five milliseconds a call is what `ptx!` may cost the compiler; it is far below.
#[test]
#[ignore = "a measurement: run it alone, with --ignored --nocapture"]
fn a_thousand_calls_cost_the_compiler_less_than_five_milliseconds_each() {
    let crate_dir = copy("calls");
    let seconds = |body: &str| {
        fs::write(crate_dir.join("src/lib.rs"), format!("//! Calls.\n{body}")).unwrap();
        let start = std::time::Instant::now();
        let output = cargo("check", &crate_dir);
        assert!(output.status.success(), "{}", stderr(&output));
        start.elapsed().as_secs_f64()
    };
    let forms: Vec<&str> = ptx_isa::Form::ALL.iter().step_by(4).map(|form| form.mnemonic()).take(500).collect();
    let mut body = String::from(
        "use ptx_isa::construct::Reg; use ptx_isa::types::{Pred, S32}; use ptx_isa_macros::ptx;\n\
         pub fn built(p: Reg<'_, Pred>, a: Reg<'_, S32>) {\n",
    );
    for (index, form) in forms.iter().enumerate() {
        body += &format!("let _ = ptx!({form});\nlet _ = ptx!(@p setp.lt.and.s32 p|_, a, {index}, !p);\n");
    }
    body += "}\n";
    seconds("pub use ptx_isa_macros::ptx;");
    let without = seconds("use ptx_isa_macros as _;");
    let with = seconds(&body);
    let each = (with - without) / (2 * forms.len()) as f64 * 1000.0;
    println!("{each:.3} ms a call ({without:.2} s without, {with:.2} s with {} calls)", 2 * forms.len());
    assert!(each < 5.0, "{each:.3} ms a call");
}
