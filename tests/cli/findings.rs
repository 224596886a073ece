//! The codes of findings: their explanations, and what silences them.

use crate::command::{Run, folder, run, run_with};
use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Diagnostic, Explanation};
use ptx_isa::text::{Options, check};

fn findings(text: &str) -> Vec<Diagnostic> {
    check(&TABLE, text.as_bytes(), &Options::default()).diagnostics
}

fn codes(text: &str) -> Vec<Code> {
    findings(text).iter().map(|finding| finding.code).collect()
}

#[test]
fn the_example_of_a_code_has_exactly_that_finding_and_its_cure_has_none() {
    for code in Code::ALL {
        let Explanation { text, wrong, cure, right, .. } = code.explanation();
        assert!(text.ends_with('.') && cure.ends_with('.'), "{code}: {text} {cure}");
        assert_eq!(codes(wrong), [*code], "{code}: {:?}", findings(wrong));
        assert_eq!(codes(right), [], "{code}: {:?}", findings(right));

        let Run { status, out, err } = run(&["explain", code.as_str()]);
        assert_eq!((status, err.as_str()), (0, ""));
        let statement = |module: &str| module.lines().rev().nth(2).unwrap_or_default().trim().to_owned();
        for said in [code.description(), &statement(wrong), &statement(right)] {
            assert!(words(&out).contains(&words(said)), "{code}: {said}\n{out}");
        }
    }
    let sections = include_str!("../../src/findings.md").matches("\n## ").count();
    assert_eq!(sections, Code::ALL.len(), "a section for each code and nothing else");
}

/// A text without how it is broken into lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_misspelt_code_names_the_nearest() {
    for arguments in [&["explain", "illegal-modifer"][..], &["check", "--ignore", "illegal-modifer", "-"]] {
        let Run { status, out, err } = run(arguments);
        assert!(status > 0 && (out + &err).contains("illegal-modifier"), "{arguments:?}: {err}");
    }
}

fn module(body: &str) -> String {
    format!(".version 8.6\n.target sm_90\n.entry k()\n{{\n    .reg .b32 %r<3>;\n{body}\n    ret;\n}}\n")
}

#[test]
fn a_comment_silences_its_line_or_the_next() {
    use Code::{OperandCount, UnknownModifier, UnusedIgnore};
    let cases: &[(&str, &[Code])] = &[
        ("add.u33 %r1, %r1, %r2;", &[UnknownModifier]),
        ("add.u33 %r1, %r1, %r2; // ptx-isa: ignore unknown-modifier", &[]),
        ("add.u33 %r1, %r1, %r2; //ptx-isa:ignore unknown-modifier because of a bug", &[]),
        ("// ptx-isa: ignore unknown-modifier\nadd.u33 %r1, %r1, %r2;", &[]),
        ("// ptx-isa: ignore unknown-modifier\nadd.u33\n  %r1, %r1, %r2;", &[]),
        ("// ptx-isa: ignore operand-count, unknown-modifier\nadd.u33 %r1, %r1; mov.b32 %r1;", &[]),
        ("// ptx-isa: ignore unknown-modifier\n\nadd.u33 %r1, %r1, %r2;", &[UnusedIgnore, UnknownModifier]),
        ("mov.b32 %r1; // ptx-isa: ignore unknown-modifier", &[OperandCount, UnusedIgnore]),
        ("add.u33 %r1, %r1, %r2; // ptx-isa: ignore everything", &[UnknownModifier, UnusedIgnore]),
        ("add.u33 %r1, %r1, %r2; // ptx-isa: ignore", &[UnknownModifier, UnusedIgnore]),
        ("add.u33 %r1, %r1, %r2; // ptx-isa: ignore unknown-modifer", &[UnknownModifier, UnusedIgnore]),
        ("// of ptx-isa: ignore is a word\nadd.s32 %r1, %r1, %r2;", &[]),
    ];
    for (body, expected) in cases {
        let text = module(body);
        assert_eq!(codes(&text), *expected, "{body}: {:?}", findings(&text));
        // The command line counts what the library does.
        let Run { status, out, .. } = run_with(&["check", "--format", "json", "-"], &text);
        assert_eq!(out.lines().count(), expected.len(), "{body}");
        assert_eq!(status, i32::from(expected.iter().any(|code| *code != UnusedIgnore)), "{body}");
    }
    let text = module("add.u33 %r1, %r1, %r2; // ptx-isa: ignore unknown-modifer");
    assert_eq!(findings(&text)[1].fixes[0].apply(&text), text.replace("modifer", "modifier"));
    // The runner ignores comments that silence findings.
    assert!(ptx_isa::text::resolved::Module::read(&TABLE, &module(cases[1].0)).is_err());
}

#[test]
fn codes_can_be_left_out() {
    let text = module("add.u33 %r1, %r1, %r2; mov.b32 %r1;");
    let run = |arguments: &[&str]| run_with(&[&["check", "--format", "json", "-"], arguments].concat(), &text);
    let all = run(&[]).out.lines().count();
    let ours = run(&["--ignore", "unknown-modifier"]);
    assert_eq!((ours.status, ours.out.contains("unknown-modifier")), (1, false));
    assert!(ours.out.contains("operand-count") && ours.out.lines().count() < all, "{}", ours.out);
    let every: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let none = run(&["--ignore", &every.join(",")]);
    assert_eq!((none.status, none.out.as_str()), (0, ""));
}

#[test]
fn files_are_fixed() {
    let folder = folder("fix");
    let path = folder.join("k.ptx");
    let file = path.to_str().expect("text");
    let safe = |text: &str| text.replace("add.s32.sat", "add.sat.s32").replace("%r2\n", "%r2;\n");
    let text = module(
        "    add.s32.sat %r1, %r1, %r2; // ü\r\n    mov.b32 %r1, %r2\n    add.u33 %r1, %r1, %r2;\n    adx.s32 %r1, %r1, %r2;",
    );
    std::fs::write(&path, &text).expect("written");
    let now = || std::fs::read_to_string(&path).expect("a file");

    let Run { status, out, .. } = run(&["check", "--fix", file]);
    assert_eq!((status, now()), (1, safe(&text)), "{out}");
    assert!(out.contains("add.u33") && out.ends_with("2 edits made\n"), "what is left is reported: {out}");
    let Run { out, .. } = run(&["check", "--fix", file]);
    assert!(out.ends_with("0 edits made\n"), "{out}");

    let Run { status, .. } = run(&["check", "--fix=unsafe", "--ignore", "unknown-opcode", file]);
    assert_eq!((status, now()), (0, safe(&text).replace("u33", "u32")), "what is ignored stays");
    let Run { status, out, .. } = run(&["check", "--strict", "--fix=unsafe", file]);
    assert_eq!((status, now()), (0, safe(&text).replace("u33", "u32").replace("adx", "add")), "{out}");

    std::fs::write(&path, b"// \xfc\n.version 8.0").expect("written");
    for arguments in [&["check", "--fix", "-"][..], &["check", "--fix", file]] {
        let Run { status, err, .. } = run(arguments);
        assert!(status == 2 && err.starts_with("error: "), "{arguments:?}: {err}");
    }
}
