//! The command line as people and shells use it: arguments in any order, patterns, batches, completions, the folder of a
//! site.

use crate::command::{run, run_with};
use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::text::mnemonic;

#[test]
fn options_stand_where_one_likes() {
    let statement = "set.gt.u32.f32 d, a, 0f00000000";
    let expected = "d = 0x00000000 (0)\n";
    for arguments in [
        ["eval", "--target", "sm_13", statement, "a=1e-40"],
        ["eval", statement, "--target", "sm_13", "a=1e-40"],
        ["eval", statement, "a=1e-40", "--target", "sm_13"],
    ] {
        let output = run(&arguments);
        assert_eq!((output.status, output.out.as_str()), (0, expected), "{arguments:?}: {}", output.err);
    }
    // A value may begin with a minus; it is not parsed as an option.
    assert_eq!(run(&["eval", "add.s32 d, a, b", "a=-5", "b=-3"]).out, "d = 0xfffffff8 (-8)\n");
    assert_eq!(run(&["check", "tests/modules/rustc-1.97-sm_80.ptx", "--strict", "--format", "json"]).status, 0);
    assert_eq!(run(&["explain", "setp.lt.s32", "--target", "sm_90"]).status, 0);
}

#[test]
fn a_batch_names_the_line_that_is_no_request() {
    let requests = concat!(
        r#"{"inst":"add.s32 d, a, b","in":{"a":"0x1","b":"0x2"}}"#,
        "\n",
        r#"{"inst":"add.s32 d, a, b","in":{"a":"0x1","b" "0x2"}}"#,
        "\n\n",
        r#"{"inst":"add.s32 d, a, b","ins":{}}"#,
        "\n",
    );
    let output = run_with(&["eval", "--batch", "-"], requests);
    let answers: Vec<&str> = output.out.lines().collect();
    assert_eq!((output.status, answers.len()), (1, 4), "{}", output.out);
    assert_eq!(answers[0], r#"{"out":{"d":"0x3"}}"#);
    assert_eq!(answers[1], r#"{"error":"line 2, column 47: expected `:`"}"#);
    assert!(answers[2].contains("line 3, column "), "{}", answers[2]);
    assert!(answers[3].contains("line 4, column 31: unknown field `ins`"), "{}", answers[3]);
}

#[test]
fn explain_takes_patterns() {
    // Several opcodes: a line each.
    let output = run(&["explain", "set*"]);
    let lines = output.out.lines().filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = lines.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!((output.status, &names[..1]), (0, &["set"][..]));
    assert!(names.contains(&"setp") && names.contains(&"setmaxnreg.dec"), "{names:?}");
    // Several forms.
    let output = run(&["explain", "setp.lt.*16"]);
    assert!(output.out.lines().any(|line| line.starts_with("setp.lt.f16 ") && line.contains("PTX 4.2, sm_53")));
    assert!(!run(&["explain", "setp.lt.*16", "--target", "sm_50"]).out.contains("setp.lt.f16 "));
    // One thing is explained.
    assert_eq!(run(&["explain", "slc*"]).out, run(&["explain", "slct"]).out);
    assert_eq!(run(&["explain", "setp.lt.f16*2"]).out, run(&["explain", "setp.lt.f16x2"]).out);
    // And nothing is said to be nothing.
    let output = run(&["explain", "zet*"]);
    assert_eq!((output.status, output.out.as_str()), (1, ""));
    assert!(output.err.contains("matches `zet*`"), "{}", output.err);
}

/// Free modifiers and operands count as they do for `check`.
#[test]
fn explain_knows_what_has_a_name_beside_instructions() {
    for (name, said) in [
        ("%tid.x", ["%tid", "threadIdx"]),
        ("%cluster_nctaid", ["special register", "PTX 7.8, sm_90"]),
        ("%envreg7", ["%envreg", "Environment"]),
        (".maxntid", ["directive", "PTX"]),
        (".f16x2", ["type", "half"]),
        (".shared", ["state space", "block"]),
    ] {
        let output = run(&["explain", name]);
        assert_eq!(output.status, 0, "{name}");
        said.iter().for_each(|part| assert!(output.out.contains(part), "{name}: {}", output.out));
    }
}

#[test]
fn near_forms_are_named_once_and_minimum_targets_exist() {
    let output = run(&["table", "mov.b32.s7"]);
    assert_eq!(output.err.matches("`mov.b32`").count(), 1, "{}", output.err);
    // The row is that of the spelling, whose free modifiers need more than the form.
    assert!(run(&["table", "ld.global.u64;"]).out.starts_with("ld.global.u64 "));
    for pattern in ["ld.relaxed.gpu.global.u64", "ld.u64.gpu.global.relaxed", "ld.relaxed.gpu.global.u64*"] {
        let row = run(&["table", pattern]).out;
        assert!(row.starts_with("ld.relaxed.gpu.global.u64 ") && row.contains(" PTX 6.0  sm_70 "), "{pattern}: {row}");
    }
    // Generic addresses came later than the form.
    assert!(run(&["table", "ld.u64"]).out.contains(" PTX 2.0  sm_20 "));
    // Rows are spelt as the version takes them.
    let old = run(&["table", "--ptx", "1.0", "--target", "sm_10"]).out;
    assert!(old.contains("\nld.const.u64 ") && !old.contains("\nld.u64 "), "{old}");
    let new = run(&["table", "--ptx", "8.0", "--target", "sm_90", "wmma.mma.*"]).out;
    let aligned = new.lines().filter(|line| line.contains(".aligned")).count();
    assert!(aligned > 20 && new.lines().count() == aligned + 1, "{new}");
    assert!(run(&["table", "ld.global.u64"]).out.contains(" PTX 1.0  sm_10 "));
    // `sm_100f` came with PTX 8.8.
    let alloc = run(&["table", "tcgen05.alloc.*"]).out;
    assert!(alloc.contains("PTX 8.6  sm_100a or sm_101a"), "{alloc}");
}

#[test]
fn explain_tells_since_when_there_is_all_of_a_statement() {
    let explained = |text: &str| {
        let output = run(&["explain", "--target", "sm_50", "--ptx", "6.0", text]);
        assert_eq!((output.status, output.err.as_str()), (0, ""), "{text}: {}", output.out);
        output.out
    };
    for (text, since, need) in [
        ("ld.relaxed.gpu.global.u64", "PTX 6.0, sm_70", Some("`ld.u64` with `.relaxed`")),
        ("ld.relaxed.gpu.global.u64 %rd1, [%rd2];", "PTX 6.0, sm_70", Some("`ld.u64` with `.relaxed`")),
        ("ld.global.relaxed.u64.cluster", "PTX 7.8, sm_90", Some("`ld.u64` with `.cluster`")),
        ("@p mov.u32 r, %clusterid.x", "PTX 7.8, sm_90", Some("`%clusterid`")),
        ("txq.width.b32 r, [a];", "PTX 3.1, sm_20", None),
        ("ld.global.u64", "PTX 1.0, sm_10", None),
    ] {
        let out = explained(text);
        assert!(out.contains(&format!("Exists since\n  {since}\n")), "{text}: {out}");
        match need {
            Some(need) => {
                assert!(out.contains("Not available.") && out.contains(&format!("{need} needs {since}")), "{out}")
            }
            None => assert!(out.contains("Available."), "{text}: {out}"),
        }
    }
    // The floor of a form with more operands is listed next to them.
    assert!(explained("min.f32").contains("With an operand `c`: PTX 8.8, sm_100"));
    let wrong = run(&["explain", "add.s32 d, a;"]);
    assert!(wrong.status == 1 && wrong.out.contains("takes 3 operands"), "{}", wrong.out);
}

#[test]
fn a_mnemonic_of_several_forms_is_explained_by_the_one_that_the_machine_has() {
    let explain = |ptx, target| run(&["explain", "--ptx", ptx, "--target", target, "tex.1d.v4.u32.f32"]).out;
    for (ptx, target) in [("1.0", "sm_10"), ("3.0", "sm_20"), ("9.0", "sm_90")] {
        let text = explain(ptx, target);
        assert!(
            text.contains("Available.") && !text.contains("Not available") && text.contains("\nOther operands\n"),
            "{text}"
        );
    }
    let output = run(&["explain", "--ptx", "1.0", "--target", "sm_75", "add.s32"]);
    assert_eq!((output.status, output.out.as_str()), (2, ""));
    assert!(output.err.contains("PTX 1.0 does not know sm_75: it came with PTX 6.3"), "{}", output.err);
}

#[test]
fn what_no_version_of_a_target_has_is_not_computed() {
    let output = run(&["eval", "--target", "sm_90", "div.f32 d, a, b", "a=1.0", "b=2.0"]);
    assert!(output.status == 1 && output.out.is_empty(), "{}", output.out);
    assert!(output.err.contains("`div.f32` is gone from PTX 1.4 on"), "{}", output.err);
    let eval = |target| run(&["eval", "--target", target, "div.f32 d, a, b", "a=1.0", "b=2.0"]).out;
    assert!(eval("sm_10").starts_with("d = 0x3f000000 (0.5)\n"));
    let output = run(&["eval", "mov.u32 d, 5", "a=1"]);
    assert!(output.status == 1 && output.err.contains("it reads no register"), "{}", output.err);
    let output = run(&["eval", "ld.global.u32 d, [a]", "a=1"]);
    assert!(!output.err.contains("is not read") && output.err.contains("launch a kernel"), "{}", output.err);
}

#[test]
fn forms_are_found_by_any_legal_spelling() {
    let count = |arguments: &[&str]| run(&[&["table"], arguments].concat()).out.lines().count() - 1;
    assert!(count(&["ld.global*"]) > 100 && count(&["ld.global.u64"]) == 1 && count(&["ld.u64.global"]) == 1);
    // With a machine, a spelling that it has.
    assert!(count(&["--target", "sm_70", "ld.relaxed*"]) > 20);
    assert_eq!(run(&["table", "--target", "sm_50", "ld.relaxed*"]).status, 1);
    assert!(run(&["explain", "ld.relaxed.gpu.global.u6*"]).out.contains("ld.u64"));
    // A form that needs free modifiers is there where one of its spellings is.
    let gather =
        |target: &str| run(&["table", "--target", target, "cp.async.bulk.tensor.2d*gather4*"]).out.lines().count();
    assert_eq!(["sm_90", "sm_90a", "sm_100", "sm_100f"].map(gather), [1, 1, 3, 5]);
    let missed = run(&["table", "ld.globl.u64"]);
    assert!(missed.status == 1 && missed.err.contains("near: `ld.global.u64`"), "{}", missed.err);
    let form: ptx_isa::Form = "ld.global.u64".parse().expect("a form");
    assert_eq!(form.mnemonic(), "ld.u64");
    assert!("ld.globl.u64".parse::<ptx_isa::Form>().is_err());
}

#[test]
fn explain_shows_what_examples_compute() {
    let opcode = run(&["explain", "selp"]).out;
    let form = run(&["explain", "selp.s32"]).out;
    for text in [&opcode, &form] {
        let example = text.find("selp.s32 r0, r, g, p;").expect("the example");
        let row = text[example..].lines().nth(1).expect("a row");
        assert!(row.contains("r = ") && row.contains("p = 1: r0 = "), "{row}");
    }
    // Errata and floors have the same headings as on the site and in rustdoc.
    assert!(opcode.contains("Exists since\n"));
    assert!(run(&["explain", "vset4"]).out.contains("Errata\n"));
}

/// Errata, floors and examples of every opcode, here as there; and a search finds every mnemonic.
#[test]
fn the_terminal_and_rustdoc_say_the_same() {
    let manual = include_str!(concat!(env!("OUT_DIR"), "/manual.rs"));
    let modules: Vec<&str> = manual.split(" {}\n").filter(|module| !module.trim().is_empty()).collect();
    let pages = REFERENCE.pages();
    assert_eq!(modules.len(), pages.len());
    // Neither line breaks nor what each has for quotes matters.
    let plain = |text: &str| -> String {
        let text = text.replace("\\n", " ").replace(['\\', '`'], "");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (page, module) in pages.iter().zip(modules) {
        // A mnemonic that is complete on its own is explained as a form.
        let is_form = mnemonic::resolve(&TABLE, page.opcode).is_ok();
        let (terminal, rustdoc) = (plain(&run(&["explain", page.opcode]).out), plain(module));
        for entry in page.entries {
            let errata = entry.errata.iter().flat_map(|erratum| [erratum.subject, erratum.manual, erratum.machine]);
            let floors = entry.floors.iter().flat_map(|floor| [floor.subject, floor.target, floor.lenient]).flatten();
            let examples = entry.examples.iter().map(|example| example.text);
            let headings = [Some("Exists since"), (!entry.errata.is_empty()).then_some("Errata")].into_iter().flatten();
            for said in errata.chain(floors).chain(examples).chain(headings) {
                let said = plain(said);
                assert!(is_form || terminal.contains(&said), "explain {} does not say: {said}", page.opcode);
                assert!(rustdoc.contains(&said), "the page of {} does not say: {said}", page.opcode);
            }
        }
    }
    for form in TABLE.forms() {
        let (mnemonic, opcode) = (form.mnemonic(), form.instruction().opcode);
        let found = mnemonic == opcode || manual.contains(&format!("#[doc(alias = {mnemonic:?})]"));
        assert!(found, "{mnemonic}");
    }
}

#[test]
fn shells_and_man_know_every_command_and_option() {
    let help = run(&["--help"]).out;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()))
        .collect();
    assert!(commands.contains(&"check") && commands.contains(&"man"), "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&["completions", shell]);
        assert_eq!(script.status, 0);
        let known = commands.iter().all(|command| script.out.contains(command));
        let values = shell == "elvish" || shell == "powershell" || script.out.contains("sarif");
        assert!(known && script.out.contains("error-limit") && values, "{shell}");
    }
    assert_eq!(run(&["completions", "tcsh"]).status, 2);
    let page = run(&["man"]).out;
    assert!(page.contains(".TH ptx-isa 1"), "{page}");
    for command in commands.iter().filter(|command| **command != "help") {
        assert!(page.contains(&format!(".SH PTX\\-ISA {}", command.to_uppercase())), "{command}");
    }
    assert!(page.contains("\\-\\-error\\-limit"));
}

#[cfg(feature = "docs")]
#[test]
fn a_site_is_written_over_itself_and_over_nothing_else() {
    use std::fs;

    let folder = crate::command::folder("written");
    let out = folder.to_str().expect("a path");
    let write = || run(&["docs", "--static", "--out", out]);
    fs::write(folder.join("mine.txt"), "mine").expect("a file");
    // A folder with other files is fine; one of the site's own names is not.
    fs::write(folder.join("index.html"), "mine").expect("a file");
    let refused = write();
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("index.html is there already"), "{}", refused.err);
    assert_eq!(fs::read_to_string(folder.join("index.html")).expect("a file"), "mine");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 2);

    fs::remove_file(folder.join("index.html")).expect("it is there");
    let written = write();
    assert_eq!(written.status, 0, "{}", written.err);
    let index = fs::read_to_string(folder.join("index.html")).expect("a file");
    fs::write(folder.join("index.html"), "old").expect("a file");
    // A file written by an earlier run but not by this one is removed; a name that leads out of the folder is ignored.
    let list = folder.join("written-by-ptx-isa.txt");
    let names = fs::read_to_string(&list).expect("a list");
    let outside = folder.parent().expect("a parent").join("outside.txt");
    fs::write(&outside, "mine").expect("a file");
    fs::write(folder.join("i-gone.html"), "old").expect("a file");
    fs::write(&list, names.clone() + "i-gone.html\n../outside.txt\n").expect("a list");
    assert_eq!(write().status, 0);
    assert_eq!(fs::read_to_string(folder.join("index.html")).expect("a file"), index);
    assert!(!folder.join("i-gone.html").exists() && outside.exists());
    assert_eq!(fs::read_to_string(folder.join("mine.txt")).expect("a file"), "mine");
    assert_eq!(run(&["docs", "--static", "-q", "--out", out]).out, "");
}
