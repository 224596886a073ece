//! `ptx-isa check` as used by tools: output formats, edits, options.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::command::{Run, folder, run, run_with};
use serde_json::{Value, json};

/// Two mistakes and something that only the assembler takes. The clef takes four bytes, and two words of UTF-16.
const SPOILT: &str = "\
.version 8.6
.target sm_90
.entry k() {
    .reg .pred %p<2>;
    .reg .s32 %r<3>;
    /* 𝄞: é */ setp.lo.s32 %p1, %r1, %r2;
    ad.s32 %r1, %r1, %r2;
    setp.s32.lt %p1, %r1, %r2;
    ret;
}
";

const RIGHT: &str = "setp.lt.s32 %p1, %r1, %r2;\n    add.s32 %r1, %r1, %r2;\n    setp.lt.s32 %p1, %r1, %r2;";

fn findings(arguments: &[&str], text: &str) -> Vec<Value> {
    let output = run_with(&[&["check", "--format", "json"], arguments, &["-"]].concat(), text);
    output.out.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

#[test]
fn json_says_where_in_bytes_and_in_words_and_how_to_put_it_right() {
    let found = findings(&[], SPOILT);
    let at = SPOILT.find("lo.s32").unwrap();
    let mnemonic = SPOILT.find("setp").unwrap();
    assert_eq!(found.len(), 3);
    let help = found[0]["help"].as_str().expect("help");
    assert!(help.contains("setp.lt.s32"), "{help}");
    // Keys of the original format, which must not change.
    for (key, expected) in [
        ("file", json!("<stdin>")),
        ("line", json!(6)),
        ("column", json!(21)),
        ("end", json!({"line": 6, "column": 23})),
        ("severity", json!("error")),
        ("code", json!("illegal-modifier")),
        ("message", json!("`.lo` is for unsigned integers")),
    ] {
        assert_eq!(found[0][key], expected, "{key}");
    }
    assert_eq!(found[0]["bytes"], json!([at, at + 2]));
    assert_eq!(found[0]["utf16"], json!([22, 24]));
    assert_eq!(found[0]["opcode"], "setp");
    assert_eq!(found[0]["fixes"][0], json!({"bytes": [mnemonic, mnemonic + 11], "text": "setp.lt.s32", "safe": false}));

    // An opcode that is none has nothing to name; a statement that is one names its form.
    assert_eq!((&found[1]["form"], &found[1]["opcode"]), (&Value::Null, &Value::Null));
    assert_eq!(found[1]["fixes"][0]["text"], "add");
    assert_eq!((&found[2]["form"], &found[2]["opcode"]), (&json!("setp.lt.s32"), &Value::Null));
    assert_eq!((&found[2]["severity"], &found[2]["fixes"][0]["safe"]), (&json!("warning"), &json!(true)));
    assert_eq!(found[2]["help"], "write `setp.lt.s32`");
    assert!(found[2]["note"].as_str().is_some_and(|note| !note.is_empty()));
}

/// Findings name their opcode wherever it is: behind a comment of any length, and before letters of several bytes.
#[test]
fn findings_name_opcodes_of_long_statements() {
    for letter in ["x", "é"] {
        for length in [0, 100, 251, 252, 253, 254, 255, 256, 257, 1020, 1024, 5000] {
            let comment = format!("/*{}*/", letter.repeat(length));
            let text = format!(".version 8.0\n.target sm_80\n.entry k() {{ {comment}setp.lo.s32 p, q, r; }}");
            let found = findings(&[], &text);
            assert!(
                !found.is_empty() && found.iter().all(|finding| finding["opcode"] == "setp"),
                "{length}: {found:?}"
            );
        }
    }
}

/// Blanks and comments may stand before a modifier.
#[test]
fn findings_name_opcodes_before_comments() {
    for mnemonic in ["setp /* a;b */ .q32", "setp // a; b\n.q32", "setp .lt.q32"] {
        let found = findings(&[], &format!("{mnemonic} p, q, r;"));
        assert!(!found.is_empty() && found.iter().all(|finding| finding["opcode"] == "setp"), "{mnemonic}: {found:?}");
    }
}

/// Reports leave out the middle of a name that nobody reads whole; other formats have it all.
#[test]
fn reports_shorten_long_names() {
    let text = format!("add{};", "x".repeat(100_000));
    let Run { out, .. } = run_with(&["check", "--format", "text", "-"], &text);
    assert!(out.contains("x…x") && out.len() < 2000, "{} bytes", out.len());
    assert!(findings(&[], &text).iter().any(|finding| finding["bytes"][1] == 100_003), "the place is all of it");
}

/// The first edit of each finding, those at the end first.
fn edited(text: &str, findings: &[Value]) -> String {
    let mut edits: Vec<(usize, usize, &str)> = findings
        .iter()
        .filter_map(|finding| {
            let fix = finding["fixes"].get(0)?;
            let at = |end: usize| fix["bytes"][end].as_u64().expect("a place") as usize;
            Some((at(0), at(1), fix["text"].as_str().expect("a text")))
        })
        .collect();
    edits.sort();
    let made = |text: String, &(start, end, new): &(usize, usize, &str)| [&text[..start], new, &text[end..]].concat();
    edits.iter().rev().fold(text.to_owned(), made)
}

#[test]
fn edits_applied_make_a_file_legal() {
    let text = edited(SPOILT, &findings(&[], SPOILT));
    assert!(text.contains(RIGHT), "{text}");
    let output = run_with(&["check", "--strict", "-"], &text);
    assert_eq!((output.status, output.err.as_str()), (0, ""), "{}", output.out);

    // Of the spoilt copy of a real module those findings are left that nobody can mend.
    let path = "tests/modules/rustc-1.97-sm_80.spoilt.ptx";
    let spoilt = fs::read_to_string(path).expect("a module");
    let found = findings(&[], &spoilt);
    let left = findings(&[], &edited(&spoilt, &found));
    let codes = |findings: &[Value]| -> Vec<String> { findings.iter().map(|it| it["code"].to_string()).collect() };
    let beyond: Vec<Value> = found.iter().filter(|it| it["fixes"] == json!([])).cloned().collect();
    assert!(beyond.len() < found.len());
    assert_eq!(codes(&left), codes(&beyond));
}

#[test]
fn sarif_follows_its_schema_and_carries_the_edits() {
    let folder = folder("sarif");
    let path = folder.join("a kernel, 100%.ptx");
    fs::write(&path, SPOILT).expect("a file");
    let log = |arguments: &[&str]| -> (Run, Value) {
        let output = run(&[&["check", "--format", "sarif"], arguments].concat());
        let log = serde_json::from_str(&output.out).expect("one document");
        (output, log)
    };
    let schema: Value = serde_json::from_str(include_str!("../schemas/sarif-2.1.0.json")).expect("a schema");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let assert_valid = |log: &Value| {
        let mistakes: Vec<String> =
            schema.iter_errors(log).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(mistakes, [""; 0]);
    };

    let (output, log_of_it) = log(&[path.to_str().expect("a path")]);
    assert_eq!(output.status, 1);
    assert_valid(&log_of_it);
    let run = &log_of_it["runs"][0];
    assert_eq!((&log_of_it["version"], &run["columnKind"]), (&json!("2.1.0"), &json!("utf16CodeUnits")));
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 3);
    let rules = &run["tool"]["driver"]["rules"];
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().expect("a number") as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["shortDescription"]["text"].as_str().is_some_and(|text| text.ends_with('.')));
    }
    let place = &results[0]["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().expect("a reference");
    assert!(uri.ends_with("a%20kernel%2C%20100%25.ptx"), "{uri}");
    let at = SPOILT.find("lo.s32").unwrap();
    let region = json!({
        "startLine": 6, "startColumn": 22, "endLine": 6, "endColumn": 24, "byteOffset": at, "byteLength": 2
    });
    assert_eq!(place["region"], region);
    let mut text = SPOILT.to_owned();
    for result in results.iter().rev() {
        assert!(result["fixes"][0]["properties"]["safe"].is_boolean(), "{result}");
        let replacement = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
        let number = |key: &str| replacement["deletedRegion"][key].as_u64().expect("a number") as usize;
        let (start, length) = (number("byteOffset"), number("byteLength"));
        text.replace_range(start..start + length, replacement["insertedContent"]["text"].as_str().expect("a text"));
    }
    assert_eq!(run_with(&["check", "--strict", "-"], &text).status, 0, "{text}");

    // Nothing found, and nothing read, are logs, too.
    let (output, fine) = log(&["tests/modules/rustc-1.97-sm_80.ptx"]);
    assert_valid(&fine);
    assert_eq!((output.status, &fine["runs"][0]["results"]), (0, &json!([])));
    let (output, failed) = log(&["tests/modules/there-is-none.ptx"]);
    assert_valid(&failed);
    assert_eq!(output.status, 2);
    assert_eq!(failed["runs"][0]["invocations"][0]["executionSuccessful"], false);
    let said = &failed["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(said.as_str().is_some_and(|said| said.contains("there-is-none.ptx")), "{said}");
}

#[test]
fn github_gets_annotations() {
    let folder = folder("github");
    let path = folder.join("a,b:c.ptx");
    fs::write(&path, SPOILT).expect("a file");
    let output = run(&["check", "--format", "github", path.to_str().expect("a path")]);
    assert_eq!(output.status, 1);
    let lines: Vec<&str> = output.out.lines().collect();
    assert_eq!(lines.len(), 3, "a finding a line: {}", output.out);
    assert!(lines[0].starts_with("::error file="), "{}", lines[0]);
    let rest = lines[0].split_once("a%2Cb%3Ac.ptx").expect("the file's name").1;
    let expected = ",line=6,col=21,endColumn=23,title=illegal-modifier::`.lo` is for unsigned integers%0Ahelp: use";
    assert!(rest.starts_with(expected), "{rest}");
    assert!(lines[2].starts_with("::warning file="), "{}", lines[2]);
}

#[test]
fn counts_are_in_words() {
    let bare = |text| run_with(&["check", "--target", "sm_90", "--ptx", "8.0", "-"], text).out;
    let last = |text| bare(text).lines().last().unwrap_or_default().to_owned();
    assert_eq!(last("setp.s32.lt p, a, b;"), "1 statement: 1 in the table, 0 outside it, 0 errors, 1 warning");
    assert_eq!(
        last("ad.s32 d, a, b; ad.s32 d, a, b;"),
        "2 statements: 0 in the table, 2 outside it, 2 errors, 0 warnings"
    );
    let output = run_with(&["check", "--error-limit", "1", "-"], SPOILT);
    assert!(output.out.ends_with("2 findings are left out: `--error-limit 0` shows all\n"), "{}", output.out);
}

#[test]
fn colours_and_quiet_are_asked_for_before_or_behind_the_command() {
    let escape = '\u{1b}';
    let coloured = |arguments: &[&str]| run_with(arguments, SPOILT).out.contains(escape);
    assert!(!coloured(&["check", "-"]));
    assert!(coloured(&["check", "-", "--color", "always"]));
    assert!(coloured(&["--color=always", "check", "-"]));
    assert!(!coloured(&["check", "--color", "never", "-"]));

    let loud = run_with(&["check", "-"], SPOILT).out;
    let quiet = run_with(&["check", "-", "-q"], SPOILT).out;
    let (findings, counts) = loud.trim_end().rsplit_once('\n').expect("a last line");
    assert_eq!(counts, "4 statements: 3 in the table, 1 outside it, 2 errors, 1 warning");
    assert_eq!(quiet.trim_end(), findings.trim_end());
    let fine = run(&["check", "-q", "tests/modules/rustc-1.97-sm_80.ptx"]);
    assert_eq!((fine.status, fine.out.as_str(), fine.err.as_str()), (0, "", ""));
}

/// A module for a target below what it needs, which a directive, free modifiers and a special register ask for.
const BELOW: &str = "\
.version 6.0
.target sm_50
.entry old() { ret; }
.func device() { .reg .u32 %r<2>; .reg .u64 %rd<2>; ld.relaxed.gpu.u32 %r1, [%rd1]; ret; }
.entry head()
    .reqnctapercluster 2, 1, 1
{ ret; }
.entry body() {
    .reg .u32 %r<2>;
    mov.u32 %r1, %clusterid.x;
    @%p wgmma.fence.sync.aligned;
    wgmma.fence.sync.aligned; ret;
}
.entry family() { .reg .u32 %r<4>; tcgen05.fence::before_thread_sync; cvt.rn.satfinite.e2m1x2.f32 %r1, %r1; ret; }
";

#[test]
fn a_floor_is_that_of_each_kernel_and_of_the_module() {
    let output = run_with(&["check", "--floor", "--format", "json", "-"], BELOW);
    let found: Vec<Value> = output.out.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let reason = |line: u32, column: u32, needs: &str, statement: &str| json!({"line": line, "column": column, "needs": needs, "statement": statement});
    let of = |kernel: Option<&str>, ptx: &str, target: &str, architecture: Option<&str>, because: &[Value]| {
        json!({"file": "<stdin>", "kernel": kernel, "ptx": ptx, "target": target, "architecture": architecture,
            "because": because})
    };
    let cluster = ".reqnctapercluster 2, 1, 1";
    let fence = "wgmma.fence.sync.aligned;";
    let head = [reason(6, 5, "PTX 7.8", cluster), reason(6, 5, "sm_90", cluster)];
    let body = [reason(12, 5, "PTX 8.0", fence), reason(12, 5, "sm_90a", fence)];
    assert_eq!(
        found[..3],
        [
            of(Some("old"), "1.0", "sm_10", None, &[]),
            of(Some("head"), "7.8", "sm_90", None, &head),
            of(Some("body"), "8.0", "sm_90a", Some("sm_90a"), &body),
        ]
    );
    // No target has what `sm_90a` and another family add.
    assert_eq!((found.len(), &found[4]["kernel"], &found[4]["target"]), (5, &Value::Null, &Value::Null));
    let lines: Vec<&Value> = found[4]["because"].as_array().expect("a list").iter().map(|it| &it["line"]).collect();
    assert_eq!(lines, [12, 14], "{}", found[4]);

    let output = run_with(&["check", "--floor", "--format", "text", "-"], BELOW);
    assert!(output.out.contains("function device needs PTX 6.0, sm_70\n"), "{}", output.out);
    let output = run_with(&["check", "--floor", "-"], ".version 1.3\n.entry k(.param .u64 p, .param .u32 n) { ret; }");
    assert!(output.out.contains("\n  PTX 1.4   <stdin>:2:10: .param .u64 p\n"), "{}", output.out);
    let output = run_with(&["check", "--floor", "-"], "griddepcontrol.wait;");
    assert!(output.out.contains("<stdin> needs PTX 7.8, sm_90\n  PTX 7.8   <stdin>:1:1: griddep"), "{}", output.out);
    // A module with other errors is accepted with no version.
    for broken in ["\0\u{1}\u{2}", ".version 8.0\n.target sm_80\n.entry k() { add.s32 %r1, 1, 2; ret; }"] {
        let output = run_with(&["check", "--floor", "--format", "json", "-"], broken);
        assert!(output.status == 1 && !output.out.contains("\"ptx\":\""), "{}", output.out);
        let output = run_with(&["check", "--floor", "-"], broken);
        assert!(
            output.out.contains("<stdin> is accepted with no PTX version and target: it has errors"),
            "{}",
            output.out
        );
    }
    let output = run_with(&["check", "--floor", "--format", "sarif", "-"], BELOW);
    assert_eq!((output.status, output.out.as_str()), (2, ""));
}

#[test]
fn statements_broken_by_comments_and_cut_off_guards_are_reported_in_every_format() {
    for text in ["mov // a; b\n.b33 %r1,%r2;", "mov /* a;b */ .q32 %r1, %r2;", "@", "@ !", "@!", "@ $", "@p", "@p $"] {
        for format in ["text", "json", "sarif", "github"] {
            let Run { status, err, .. } = run_with(&["check", "--format", format, "-"], text);
            assert_eq!((status, err.contains("panicked")), (1, false), "{format}: {text}: {err}");
        }
    }
}

#[test]
fn a_suggested_edit_reaches_over_a_comment_that_holds_a_semicolon() {
    let found = findings(&["--target", "sm_90", "--ptx", "8.0"], "mov // a; b\n.b33 %r1, %r2;");
    assert_eq!(found.len(), 1);
    let texts: Vec<_> = found[0]["fixes"].as_array().unwrap().iter().map(|fix| &fix["text"]).collect();
    assert!(texts.contains(&&json!("mov.b32")), "{texts:?}");
}

/// Returns the position in the report of a single finding: `8:1503`.
fn place(file: &str) -> String {
    let Run { out, .. } = run(&["check", file]);
    let (_, place) = out.split_once("k.ptx:").unwrap_or_else(|| panic!("no place: {out}"));
    place.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn comments_may_hold_bytes_that_are_not_utf_8() {
    let path = folder("latin_1").join("k.ptx");
    let file = path.to_str().expect("text");
    let comment =
        b"// Autor: M\xfcller /* \xe9\n/* \xff\xfe \" */ .version 8.0\n.target sm_80 // \"\xfc\n.entry k() { ";
    fs::write(&path, [comment.as_slice(), b"ret; }"].concat()).expect("written");
    assert_eq!(run(&["check", file]).status, 0, "{}", run(&["check", file]).out);
    fs::write(&path, [comment.as_slice(), b"/* \xfc */ rot; }"].concat()).expect("written");
    assert_eq!(place(file), "4:22");
    fs::write(&path, [comment.as_slice(), b"re\xfct; }"].concat()).expect("written");
    assert_eq!(place(file), "4:16");
}

#[test]
fn a_finding_far_to_the_right_has_its_true_column() {
    let path = folder("long_line").join("k.ptx");
    let file = path.to_str().expect("text");
    for blanks in [10, 390, 400, 401, 5000] {
        let head = ".version 8.0\n.target sm_80\n.entry k() {";
        fs::write(&path, format!("{head}{}rot; }}", " ".repeat(blanks))).expect("written");
        assert_eq!(place(file), format!("3:{}", 13 + blanks));
    }
}

/// Returns a kernel with `count` statements that have an error.
fn mistakes(count: usize) -> String {
    let head = ".version 8.0\n.target sm_80\n.entry k() {\n.reg .b32 %r<4>;\n";
    format!("{head}{}}}", "add.s33 %r1, %r2, %r3;\n".repeat(count))
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let output = run_with(&["check", "--error-limit", "2", "-"], &mistakes(5000));
    assert_eq!(output.out.matches("error[unknown-modifier]").count(), 2);
    let expected = "5000 statements: 5000 in the table, 0 outside it, 5000 errors, 0 warnings\n\
                    4998 findings are left out: `--error-limit 0` shows all\n";
    assert!(output.out.ends_with(expected), "{}", output.out);
    let all = run_with(&["check", "--format", "json", "-"], &mistakes(5000)).out;
    let lines = all.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
    let places: Vec<u64> =
        lines.filter(|it| it["fixes"][0]["text"] == "add.s32").flat_map(|it| it["line"].as_u64()).collect();
    assert_eq!(places, (5..5005).collect::<Vec<u64>>(), "each in order, and with its edit");
}

#[test]
fn files_are_reported_in_order_however_much_is_found_in_each() {
    let folder = folder("in_order");
    let name = |number: usize| folder.join(format!("{number}.ptx")).to_str().expect("text").to_owned();
    let names: Vec<String> = (0..80).map(name).collect();
    for (number, name) in names.iter().enumerate() {
        fs::write(name, mistakes(if number % 9 == 0 { 2000 } else { 1 })).expect("written");
    }
    let missing = name(99);
    let mut arguments = vec!["check", "--format", "json"];
    arguments.extend(names.iter().chain([&missing]).map(String::as_str));
    let Run { status, out, err } = run(&arguments);
    assert_eq!(status, 2);
    assert!(err.starts_with(&format!("error: cannot read {missing}")), "{err}");
    let files = out.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object")["file"].clone());
    let mut expected = Vec::new();
    for (number, name) in names.iter().enumerate() {
        expected.extend(vec![json!(name); if number % 9 == 0 { 2000 } else { 1 }]);
    }
    assert!(files.eq(expected));
}

#[test]
fn a_reader_that_has_seen_enough_ends_it() {
    let path = folder("closed").join("k.ptx");
    fs::write(&path, mistakes(20_000)).expect("written");
    for format in ["json", "sarif", "github"] {
        let arguments = ["check", "--format", format, path.to_str().expect("text")];
        let mut child = Command::new(env!("CARGO_BIN_EXE_ptx-isa"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut first = [0; 10];
        child.stdout.take().expect("it is piped").read_exact(&mut first).expect("there is output");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), [].as_slice()), "{format}");
    }
}
