//! The command `isa-spec`, and a newcomer's way with it: a first spec checked, mended as the reports say, formatted, built.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

fn run(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_isa-spec")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// An empty folder of a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

const FIRST: &str = "\
/// Counts the ones of a word, and no more than a limit.
instruction tally {
    section 9.7.1.15;
    syntax {
        tally.type  d, a, limit
        .type={.b32, .b64};
    }
    operands  { d, limit: .u32; a: .type; }
    requires  { ptx 2.0, sm_20;
    semantics { n = population_cuont(a); d = limit < n ? limit : n; }
    examples  { tally.b32 d, a, 7; tally.b64 cnt, X, limit; }
}
";

/// Returns the byte offset in the text of a report's only mistake, and its `help:` line.
fn place(report: &str, text: &str) -> (usize, Option<String>) {
    assert!(report.ends_with("\n1 mistake in the spec\n"), "{report}");
    let (_, place) = report.split_once("--> first.isa:").expect(report);
    let mut numbers = place.lines().next().unwrap().split(':').map(|number| number.parse::<usize>().unwrap());
    let (line, column) = (numbers.next().unwrap(), numbers.next().unwrap());
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let help = report.split_once("help: ").map(|(_, help)| help.lines().next().unwrap().to_owned());
    (start + column - 1, help)
}

/// The last word in ticks of a line.
fn quoted(text: &str) -> &str {
    text.rsplit('`').nth(1).unwrap()
}

#[test]
fn a_first_spec_is_mended_as_the_reports_say() {
    let folder = folder("first");
    let path = folder.join("first.isa");
    let mut text = FIRST.to_owned();
    let report = |text: &str| {
        fs::write(&path, text).unwrap();
        let (code, printed, report) = run(&["check", "first.isa"], &folder);
        assert_eq!((code, printed.as_str()), (1, ""));
        report
    };

    let said = report(&text);
    assert!(said.contains("unclosed bracket: missing `}`"), "{said}");
    let (at, _) = place(&said, &text);
    assert!(text[at..].starts_with("{ ptx 2.0"));
    let end = at + text[at..].find('\n').unwrap();
    text.insert_str(end, " }");

    let said = report(&text);
    assert!(said.contains("expected `;`"), "{said}");
    let (at, _) = place(&said, &text);
    text.insert(at, ';');

    let said = report(&text);
    let (_, help) = place(&said, &text);
    assert_eq!(help.as_deref(), Some("did you forget `use prelude;`?"));
    text.insert_str(0, &format!("{}\n", quoted(&help.unwrap())));

    let said = report(&text);
    let (at, help) = place(&said, &text);
    assert!(include_str!("../README.md").contains(&said), "the README shows another report:\n{said}");
    assert!(text[at..].starts_with("population_cuont("), "{said}");
    text.replace_range(at..at + "population_cuont".len(), quoted(&help.unwrap()));

    fs::write(&path, &text).unwrap();
    let all_well = (0, String::new(), String::new());
    assert_eq!(run(&["check", "first.isa"], &folder), all_well);

    let (code, printed, _) = run(&["fmt", "--check", "first.isa"], &folder);
    assert_eq!((code, printed.as_str()), (1, "first.isa is not formatted\n"));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(run(&["fmt", "first.isa"], &folder), all_well);
    assert_eq!(run(&["fmt", "--check", "first.isa"], &folder), all_well);
    let formatted = fs::read_to_string(&path).unwrap();
    assert!(formatted.contains("\n                .type = { .b32, .b64 }; }\n"), "{formatted}");

    let table = isa_spec::Build::new().file(&path).with_scalar().generate().unwrap();
    assert!(table.contains("pub const fn tally_b64(a: u64, limit: u32) -> u32"), "{table}");
}

/// Several files are one spec; what is wrong in any of them is reported.
#[test]
fn several_files_are_one_spec() {
    let folder = folder("several");
    let entry = |name: &str, value: &str| {
        format!(
            "/// Gives it back.\ninstruction {name} {{\n    section 1.1;\n    syntax    {{ {name}.type  d, a; .type = {{ .b32 }}; }}\n    \
             operands  {{ d, a: .type; }}\n    requires  {{ ptx 1.0, sm_10; }}\n    semantics {{ d = {value}; }}\n    \
             examples  {{ {name}.b32 d, a; }}\n}}\n"
        )
    };
    fs::write(folder.join("a.isa"), format!("use prelude;\n\n{}", entry("first", "same(a)"))).unwrap();
    fs::write(
        folder.join("b.isa"),
        format!("/// The same.\nfn same<T: bits>(x: T) -> T {{ x }}\n\n{}", entry("second", "same(a)")),
    )
    .unwrap();
    let all_well = (0, String::new(), String::new());
    assert_eq!(run(&["fmt", "--check", "a.isa", "b.isa"], &folder), all_well);
    assert_eq!(run(&["check", "a.isa", "b.isa"], &folder), all_well);
    let (code, _, report) = run(&["check", "a.isa"], &folder);
    assert_eq!(code, 1);
    assert!(report.contains("unknown builtin `same`") && report.contains("a.isa:9:21"), "{report}");
    fs::write(folder.join("c.isa"), entry("third", "(a") + "¶").unwrap();
    fs::write(folder.join("d.isa"), entry("fourth", "(a")).unwrap();
    let (code, _, report) = run(&["check", "a.isa", "b.isa", "c.isa", "d.isa"], &folder);
    assert_eq!(code, 1);
    assert!(report.contains("c.isa:10:1") && report.contains("d.isa:7:21"), "{report}");
    // A file that does not parse stays as it is, and keeps none from being formatted.
    fs::write(folder.join("e.isa"), "use   prelude;").unwrap();
    let (code, _, report) = run(&["fmt", "d.isa", "e.isa"], &folder);
    assert_eq!(code, 1);
    assert!(report.contains("d.isa:7:21"), "{report}");
    assert_eq!(fs::read_to_string(folder.join("e.isa")).unwrap(), "use prelude;\n");
}

#[test]
fn usage_and_files_that_cannot_be_read_are_no_mistakes_of_a_spec() {
    let folder = folder("usage");
    for arguments in [&["check"][..], &["fmt"], &["mend", "a.isa"], &[], &["check", "none.isa"], &["fmt", "none.isa"]] {
        let (code, printed, report) = run(arguments, &folder);
        assert_eq!((code, printed.as_str()), (2, ""), "{arguments:?}: {report}");
        assert!(!report.is_empty());
    }
    let (_, _, report) = run(&["check", "none.isa"], &folder);
    assert!(report.starts_with("error: cannot read none.isa: "), "{report}");
}

#[test]
fn the_table_holds_together_as_its_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx");
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut arguments: Vec<String> = files.collect();
    arguments.insert(0, "check".to_owned());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert_eq!(run(&arguments, &folder), (0, String::new(), String::new()));
}
