//! The C interface, from C programs that the system's compiler builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Builds a C program of this folder against the library, and runs it.
fn run(source: &str, arguments: &[&Path]) -> Output {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Tests lie in `deps`, beside the library.
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let library = [folder, folder.parent().unwrap()]
        .iter()
        .map(|folder| folder.join("libptx_isa_run.so"))
        .find(|library| library.exists())
        .expect("the library is built with its tests");
    let name = Path::new(source).file_stem().unwrap();
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here.join("include"))
        .arg(here.join(source))
        .arg(&library)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a C compiler, which Rust links with");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Command::new(&program).args(arguments).env("LD_LIBRARY_PATH", library.parent().unwrap()).output().unwrap()
}

#[test]
fn a_c_program_runs_kernels() {
    let output = run("tests/c/test.c", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_example_computes() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernels");
    let output = run("examples/saxpy.c", &[&kernels.join("suite-compute_80.ptx")]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "y = ... 1995.0 1997.0 1999.0\n", "{}", String::from_utf8_lossy(&output.stderr));
    // A module without the kernel is an error with a text.
    let output = run("examples/saxpy.c", &[&kernels.join("cluster-compute_90.ptx")]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("no kernel `saxpy`"));
}
