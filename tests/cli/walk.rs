//! Follows the documentation as a newcomer would: every command it shows is run verbatim and must print what the text
//! says.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs a line in a shell, in a folder, with the binary where an installed one would be.
fn shell(line: &str, folder: &Path) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_ptx-isa"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(binary.parent().expect("a folder").to_owned()).chain(std::env::split_paths(&path));
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(folders).expect("a path"))
        .env("HOME", folder)
        .output()
        .expect("a shell")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// The blocks of a language in a document.
fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let parts = document.split("```").skip(1).step_by(2);
    parts.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("a document")
}

#[test]
fn the_first_commands_show_what_the_readme_shows() {
    let readme = document("README.md");
    // The binary is there; what cargo does before is `.ci/first`'s.
    let outputs: Vec<_> = blocks(&readme, "sh")[..2]
        .iter()
        .map(|line| line.trim().replace("cargo run --features cli --", "ptx-isa"))
        .map(|line| shell(&line, Path::new(env!("CARGO_MANIFEST_DIR"))))
        .collect();
    let shown = blocks(&readme, "text");

    // The kernel, whose result is also computed here.
    let result: Vec<String> = (995..1000).map(|x| format!("{:?}", 2.0 * f64::from(x) + 1.0)).collect();
    let result = format!("3 = [{}]\n", result.join(", "));
    assert_eq!(outputs[0].status.code(), Some(0), "{}", text(&outputs[0].stderr));
    assert_eq!(text(&outputs[0].stdout), result);
    assert!(shown.contains(&result.as_str()), "{shown:?}");

    assert_eq!(outputs[1].status.code(), Some(1));
    let report = shown.into_iter().find(|block| block.starts_with("error[")).expect("a report");
    assert!(text(&outputs[1].stdout).contains(report.trim_end()), "{}", text(&outputs[1].stdout));
    assert!(text(&outputs[1].stdout).contains("errors, 1 warning\n"), "{}", text(&outputs[1].stdout));
}

#[test]
fn the_readme_counts_the_forms() {
    let forms = ptx_isa::TABLE.forms().count();
    let count = format!("{},{:03} forms", forms / 1000, forms % 1000);
    assert!(document("README.md").contains(&count), "{count}");
}

#[test]
fn consoles_print_what_the_readme_says() {
    let readme = document("README.md");
    let mut commands = 0;
    for console in blocks(&readme, "console") {
        for command in console.split("$ ").skip(1) {
            let (line, expected) = command.split_once('\n').expect("a line");
            let output = shell(line, Path::new(env!("CARGO_MANIFEST_DIR")));
            assert_eq!(text(&output.stdout).trim_end(), expected.trim_end(), "{line}: {}", text(&output.stderr));
            commands += 1;
        }
    }
    assert!(commands >= 3, "{commands}");
}

/// A module of three kernels, and one with a function that it calls.
const KERNEL: &str = "
    .extern .func (.param .f32 r) half(.param .f32 x);
    .visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) { ret; }
    .visible .entry copy(.param .u64 x, .param .u64 y) {
        .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .pred %p; .reg .f32 %f;
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 256, %r2; setp.ge.u32 %p, %r3, 9; @%p ret;
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
        ld.global.f32 %f, [%rd4]; st.global.f32 [%rd5], %f; ret;
    }
    .visible .entry scaled(.param .u64 y) {
        .reg .f32 %f; .reg .b64 %rd; .param .f32 x; .param .f32 r;
        st.param.f32 [x], 3.0; call.uni (r), half, (x); ld.param.f32 %f, [r]; ld.param.u64 %rd, [y]; st.global.f32 [%rd], %f; ret;
    }";
const LIBRARY: &str = "
    .visible .func (.param .f32 r) half(.param .f32 x) {
        .reg .f32 %f; ld.param.f32 %f, [x]; mul.f32 %f, %f, 0.5; st.param.f32 [r], %f; ret;
    }";

/// The examples of `ptx-isa run --help`.
#[test]
fn launches_of_the_help_run() {
    let folder = crate::command::folder("walk-run");
    for (name, text) in [("a.ptx", KERNEL), ("b.ptx", LIBRARY)] {
        fs::write(folder.join(name), format!(".version 8.0\n.target sm_80\n.address_size 64\n{text}")).expect("a file");
    }
    let header = format!("{:117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }");
    let array = [b"\x93NUMPY\x01\x00v\x00", header.as_bytes(), &[0; 36]].concat();
    for name in ["x.npy", "y.npy"] {
        fs::write(folder.join(name), &array).expect("a file");
    }
    let help = crate::command::run(&["run", "--help"]).out;
    let examples = help.split_once("Examples:\n").expect("examples").1;
    let lines: Vec<&str> = examples.lines().take_while(|line| line.starts_with("  ")).collect();
    let outputs: Vec<String> = lines
        .iter()
        .map(|line| {
            let output = shell(line.trim(), &folder);
            assert!(output.status.success(), "{line}: {}", text(&output.stderr));
            text(&output.stdout).to_owned()
        })
        .collect();
    let listed =
        "saxpy(.u32 n, .f32 a, .u64 x, .u64 y)\ncopy(.u64 x, .u64 y)\nscaled(.u64 y)\n    cannot be run: no module";
    assert!(outputs[0].starts_with(listed), "{}", outputs[0]);
    assert_eq!(outputs[1..], ["", "out = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]\n", ""]);
    let saved = fs::read(folder.join("out.npy")).expect("the array");
    assert_eq!(saved[128..132], 1.5_f32.to_le_bytes());
}

/// The examples of `--help`, in a folder with the files that they name. A site is written from what cargo has built, and is
/// tested for itself.
#[test]
fn examples_of_the_help_run() {
    let folder = crate::command::folder("walk");
    let module = fs::read_to_string("tests/modules/rustc-1.97-sm_80.ptx").expect("a module");
    for name in ["kernel.ptx", "a.ptx", "b.ptx"] {
        fs::write(folder.join(name), &module).expect("a file");
    }
    let request = r#"{"inst":"setp.lt.s32 p, a, b","target":"sm_90","in":{"a":"0x5","b":"0xfffffffd"}}"#;
    fs::write(folder.join("requests.jsonl"), request).expect("a file");
    for place in
        [".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions", ".local/share/man/man1"]
    {
        fs::create_dir_all(folder.join(place)).expect("a folder");
    }
    let mut lines = 0;
    for command in ["check", "eval", "explain", "table", "completions", "man"] {
        let help = crate::command::run(&[command, "--help"]).out;
        let examples = help.split_once("Examples:\n").expect("examples").1;
        for line in examples.lines().take_while(|line| line.starts_with("  ")) {
            let output = shell(line.trim(), &folder);
            // Explaining an illegal form exits with 1.
            let expected = i32::from(line.contains("setp.lo.s32"));
            assert_eq!(output.status.code(), Some(expected), "{line}: {}", text(&output.stderr));
            assert!(!line.contains("--format") || !line.contains(" >") || output.stdout.is_empty(), "{line}");
            lines += 1;
        }
    }
    assert!(lines >= 18, "{lines}");
    let written = ["findings.sarif", "ptx.json", ".zfunc/_ptx-isa", ".local/share/man/man1/ptx-isa.1"];
    assert!(written.iter().all(|name| fs::metadata(folder.join(name)).is_ok_and(|file| file.len() > 0)));
}

#[test]
fn the_commands_of_the_documents_on_data_run() {
    let folder = crate::command::folder("walk-data");
    let mut lines = 0;
    for block in blocks(&document("docs/dataset.md"), "sh") {
        for line in block.lines().filter(|line| line.starts_with("ptx-isa ") && !line.ends_with(['\'', '\\'])) {
            let output = shell(line, &folder);
            assert!(output.status.success(), "{line}: {}", text(&output.stderr));
            lines += 1;
        }
    }
    assert!(lines >= 2, "{lines}");
}
