//! The C interface, from a C program that the system's compiler builds.

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_c_program_runs_kernels() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Tests lie in `deps`, beside the library.
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let library = [folder, folder.parent().unwrap()]
        .iter()
        .map(|folder| folder.join("libptx_isa_run.so"))
        .find(|library| library.exists())
        .expect("the library is built with its tests");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c-test");
    let built = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here.join("include"))
        .arg(here.join("tests/c/test.c"))
        .arg(&library)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a C compiler, which Rust links with");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let run = Command::new(&program).env("LD_LIBRARY_PATH", library.parent().unwrap()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
