//! The edits that findings come with: each makes the text right.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Diagnostic};
use ptx_isa::target::{Target, Version};
use ptx_isa::text::module::fix;
use ptx_isa::text::{Options, Statement, check};

/// A module with this body; its registers are `%r`, `%f`, `%p`, `%h`, `%rd` and the vector `v`.
fn module(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.entry k()\n{{\n    .reg .b32 %r<3>;\n    .reg .f32 %f<3>;\n    .reg .pred %p<3>;\n    \
         .reg .b16 %h<3>;\n    .reg .b64 %rd<3>;\n    .reg .v2 .b32 v;\n    {body}\n    ret;\n}}\n"
    )
}

fn findings(text: &str) -> Vec<Diagnostic> {
    check(&TABLE, text.as_bytes(), &Options::default()).diagnostics
}

/// The text with the first edit of the first finding that has one, made again and again until there is none.
fn fixed(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..10 {
        let Some(fix) = findings(&text).into_iter().find_map(|finding| finding.fixes.into_iter().next()) else { break };
        text = fix.apply(&text);
    }
    text
}

/// The mistake, the message, the corrected text, and true if the fix keeps the meaning.
const CASES: &[(&str, Code, &str, bool)] = &[
    ("add.u33 %r1, %r1, %r2;", Code::UnknownModifier, "add.u32 %r1, %r1, %r2;", false),
    ("sept.lt.s32 %p1, %r1, %r2;", Code::UnknownOpcode, "setp.lt.s32 %p1, %r1, %r2;", false),
    ("setp.lo.f32 %p1, %f1, %f2;", Code::IllegalModifier, "setp.lt.f32 %p1, %f1, %f2;", false),
    ("setp.lt.lt.s32 %p1, %r1, %r2;", Code::DuplicateModifier, "setp.lt.s32 %p1, %r1, %r2;", false),
    ("setp.s32.lt %p1, %r1, %r2;", Code::ModifierOrder, "setp.lt.s32 %p1, %r1, %r2;", true),
    ("setp .lt.s32 %p1, %r1, %r2;", Code::BlankBeforeModifier, "setp.lt.s32 %p1, %r1, %r2;", true),
    ("mul.s32.wide %rd1, %r1, %r2;", Code::IllegalModifier, "mul.wide.s32 %rd1, %r1, %r2;", true),
    ("add.s32 %r1, %r1, %r2", Code::Syntax, "add.s32 %r1, %r1, %r2;", true),
    ("add.s32 %r1, %r1, %r2;;", Code::Syntax, "add.s32 %r1, %r1, %r2;", true),
    ("add.s32 %r1, %r01, %r2;", Code::LeadingZeros, "add.s32 %r1, %r1, %r2;", true),
    ("add.s32 %r1, %r1, v;", Code::OperandType, "add.s32 %r1, %r1, v.x;", false),
    ("mov.u32 %r1, %tid;", Code::OperandType, "mov.u32 %r1, %tid.x;", false),
    ("add.f32 %f1, %f1, 1;", Code::Constant, "add.f32 %f1, %f1, 1.0;", false),
    ("add.s32 %r1|_, %r1, %r2;", Code::Destination, "add.s32 %r1, %r1, %r2;", true),
    ("ld.globl.u32 %r1, [%rd1];", Code::UnknownModifier, "ld.global.u32 %r1, [%rd1];", false),
    ("ld.global.relaxd.gpu.u32 %r1, [%rd1];", Code::UnknownModifier, "ld.relaxed.gpu.global.u32 %r1, [%rd1];", false),
];

#[test]
fn an_edit_makes_it_right() {
    for (wrong, code, right, safe) in CASES {
        let (text, expected) = (module(wrong), module(right));
        let found = findings(&text);
        assert_eq!(found.first().map(|finding| finding.code), Some(*code), "{wrong}: {found:?}");
        assert_eq!(found[0].fixes.first().map(|fix| fix.safe), Some(*safe), "{wrong}: {found:?}");
        let fixed = fixed(&text);
        assert_eq!(fixed, expected, "{wrong}: {found:?}");
        assert_eq!(findings(&fixed), [], "{wrong}");
    }
}

/// Fixes that keep the meaning are applied by default, whatever else is beside them.
#[test]
fn safe_edits_are_made_together_and_others_on_request() {
    let with = |take: fn(&(&str, Code, &str, bool)) -> bool| {
        let lines: Vec<&str> = CASES.iter().map(|case| if take(case) { case.2 } else { case.0 }).collect();
        module(&lines.join("\n    "))
    };
    let text = with(|_| false);
    let made = |safe: bool| fix(&TABLE, &text, &Options::default(), |_, fix| fix.safe || !safe);
    assert_eq!(made(true).text, with(|case| case.3));
    assert_eq!(made(true).edits, CASES.iter().filter(|case| case.3).count());
    assert_eq!(made(true).report.diagnostics.len(), CASES.iter().filter(|case| !case.3).count());
    let all = made(false);
    assert_eq!((all.text, all.report.diagnostics), (with(|_| true), Vec::new()));
}

/// A safe edit of what the assembler takes leaves the statement that it read.
#[test]
fn a_safe_edit_leaves_the_statement_as_it_was_read() {
    let statements = ["setp.s32.lt p, a, b;", "add .s32 d, a, b;", "ld.gpu.relaxed.u32 d, [a];"];
    for text in statements {
        let options = Options { ptx: Some(Version::new(8, 6)), target: Some(Target::sm(90)) };
        let fixed = fix(&TABLE, text, &options, |_, fix| fix.safe);
        assert!(fixed.edits > 0 && fixed.text != text, "{text}");
        let printed = |text: &str| Statement::parse(&TABLE, text).expect("the assembler takes it").to_string();
        assert_eq!(printed(text), printed(&fixed.text));
    }
}

/// Of equally likely edits none is made, and the finding names them.
#[test]
fn equally_likely_edits_are_left_to_the_reader() {
    let unchanged = |text: &str| fix(&TABLE, text, &Options::default(), |_, _| true).text == text;
    for (statement, choices) in [
        ("membar.gpu;", &["membar.cta", "membar.gl", "membar.sys"][..]),
        ("mul.s32 %r1, %r1, %r2;", &["mul.hi.s32", "mul.lo.s32", "mul.wide.s32"]),
        ("add.x32 %r1, %r1, %r2;", &["add.u32", "add.s32", "add.f32"]),
        ("add.b32 %r1, %r1, %r2;", &["add.u32", "add.s32"]),
        ("shx.b32 %r1, %r1, %r2;", &["shl", "shr"]),
    ] {
        let text = module(statement);
        let found = findings(&text);
        assert_eq!(found.iter().map(|finding| finding.tied).collect::<Vec<_>>(), [choices.len()], "{found:?}");
        let help = found[0].help.as_deref().unwrap_or_default();
        assert!(help.starts_with("use `") && choices.iter().all(|one| help.contains(&format!("`{one}`"))), "{help}");
        assert!(unchanged(&text), "{statement}");
    }
    // More than a suggestion names.
    for statement in ["setp.s32 %p1, %r1, %r2;", "cvt.rzi.s32 %r1, %f2;", "shfl.sync.xor.b32 %r1, %r2, 1, 31, -1;"] {
        let text = module(statement);
        assert!(unchanged(&text), "{statement}: {:?}", findings(&text));
    }
    let text = module("").replace(".version 8.6", ".version 8.9");
    assert!(unchanged(&text), "{:?}", findings(&text));
}

#[test]
fn two_directions_are_no_safe_edit() {
    let found = findings(&module(
        "cp.async.bulk.mbarrier::complete_tx::bytes.global.shared::cluster [%r1], [%rd1], %r1, [%r2];",
    ));
    assert!(found.iter().flat_map(|finding| &finding.fixes).all(|fix| !fix.safe), "{found:?}");
}

#[test]
fn a_semicolon_is_no_part_of_a_comment() {
    let text = module("add.s32 %r1, %r1, %r2 // the sum");
    assert_eq!(fixed(&text), text.replace("%r2 //", "%r2; //"));
    assert_eq!(findings(&fixed(&text)), []);
}

#[test]
fn a_family_grows_and_a_head_rises_where_the_fault_is_not_in_the_statement() {
    let text = module("add.s32 %r1, %r1, %r7;");
    assert_eq!(fixed(&text), text.replace("%r<3>", "%r<8>"));

    let text = module("setp.lt.bf16 %p1, %h1, %h2;").replace("8.6", "7.0").replace("sm_90", "sm_80");
    let right = fixed(&text);
    assert_eq!(findings(&right), []);
    assert!(right.contains(".version 7.8\n.target sm_90"), "{right}");

    for (head, near) in [(".version 8.9", ".version 9.0"), (".version 10.9", ".version 9.")] {
        let text = module("").replace(".version 8.6", head);
        let fixes = findings(&text).remove(0).fixes;
        assert!(fixes.iter().any(|fix| fix.apply(&text).starts_with(near)), "{head}: {fixes:?}");
    }
    let text = module("").replace("k()", "k() .maxntd 32, 1, 1");
    assert_eq!(fixed(&text), text.replace("maxntd", "maxntid"));
    let text = module("").replace("sm_90", "sm_91");
    assert!(findings(&text)[0].fixes.iter().all(|fix| findings(&fix.apply(&text)).is_empty()));
}

/// Real modules with a letter of every modifier, one at a time, left out or doubled.
#[test]
fn no_edit_leaves_a_misspelt_module_as_it_is() {
    let text = std::fs::read_to_string("tests/modules/rustc-1.97-sm_80.ptx").expect("a module");
    let errors = |text: &str| check(&TABLE, text.as_bytes(), &Options::default()).errors();
    assert_eq!(errors(&text), 0);
    let (mut spoilt, mut edits) = (0, 0);
    let starts =
        text.match_indices("\n\t").map(|(at, _)| at + 2).filter(|at| text[*at..].starts_with(char::is_alphabetic));
    for start in starts {
        let mnemonic = text[start..].split(char::is_whitespace).next().unwrap_or_default();
        for (dot, _) in mnemonic.match_indices('.') {
            let at = start + dot + 2;
            for spoil in [String::new(), text[at - 1..at].repeat(2)] {
                let spoilt_text = [&text[..at - 1], &spoil, &text[at..]].concat();
                let before = errors(&spoilt_text);
                if before == 0 {
                    continue;
                }
                spoilt += 1;
                for fix in findings(&spoilt_text).iter().filter_map(|finding| finding.fixes.first()) {
                    edits += 1;
                    // A fix does not take the declared types of registers into account.
                    let left = findings(&fix.apply(&spoilt_text));
                    let fits = left.len() < before || left.iter().all(|finding| finding.code == Code::OperandType);
                    assert!(fits, "{mnemonic}: {fix:?}: {left:?}");
                }
            }
        }
    }
    println!("{spoilt} mistakes, {edits} edits");
    assert!(spoilt > 50 && edits > spoilt / 2);
}
