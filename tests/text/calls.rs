//! Calls: the arguments of direct and indirect calls against the parameters of what they call.

use ptx_isa::TABLE;
use ptx_isa::text::{Options, check};

const REGISTERS: &str = ".reg .pred p; .reg .u32 r; .reg .s32 s; .reg .b32 b; .reg .f32 f; .reg .f16x2 h; .reg .u16 w;\n\
    .reg .u64 a; .reg .f64 d; .reg .v2 .u32 v; .param .b32 P; .param .align 8 .b32 P8; .param .b8 Q[4];\n\
    .param .align 4 .b8 Q4[4]; .param .u32 U[2]; .param .f32 F[2]; .param .align 8 .b8 B8[16];\n";

/// The first error of a call: its code and the text that it underlines.
fn error(functions: &str, call: &str) -> Option<(&'static str, String)> {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.global .u32 g;\n{functions}\n\
         .entry k(.param .u32 own) {{\n{REGISTERS}{call}\n}}\n"
    );
    let report = check(&TABLE, text.as_bytes(), &Options::default());
    report.diagnostics.first().map(|found| (found.code.as_str(), text[found.span.clone()].to_owned()))
}

/// Parameters, and what of the arguments can and what cannot be passed for each.
const PARAMETERS: [(&str, &[&str], &[&str]); 15] = [
    (
        ".reg .u32 x",
        &["r", "s", "b", "h", "P", "5", "-1"],
        &["f", "w", "a", "p", "Q", "P8", "1.5", "v", "v.x", "g", "own"],
    ),
    (".reg .f32 x", &["f", "b", "h", "P", "1.5", "0f3f800000"], &["r", "s", "d", "5"]),
    (".reg .b32 x", &["f", "r", "b", "h", "P", "1.5", "5"], &["w", "Q4", "P8"]),
    (".reg .f16x2 x", &["h", "b", "r", "f"], &["5", "1.5", "w"]),
    (".reg .pred x", &["p"], &["r", "1", "P"]),
    (".reg .u64 x", &["a", "v", "5"], &["d", "r", "B8"]),
    (".reg .v2 .f32 x", &["v", "a", "d", "5"], &["r", "0f3f800000"]),
    (".param .b32 x", &["P", "r", "f", "5"], &["P8", "Q4", "Q", "w"]),
    (".param .align 8 .b32 x", &["P8", "5"], &["P", "r"]),
    (".param .b8 x[4]", &["Q"], &["Q4", "P", "r", "5"]),
    (".param .align 4 .b8 x[4]", &["Q4"], &["Q", "U", "5"]),
    (".param .align 4 .b8 x[8]", &["U", "F"], &["Q4", "B8"]),
    (".param .u32 x[2]", &["U"], &["F", "Q4", "r"]),
    (".param .align 8 .b8 x[16]", &["B8"], &["U", "Q4", "P8"]),
    (".param .align 4 .b8 x[]", &["U", "F", "Q4"], &["Q", "B8", "r", "5"]),
];

#[test]
fn arguments_match_parameters_in_type_size_and_alignment() {
    for (parameter, taken, refused) in PARAMETERS {
        let function = format!(".func fx({parameter});");
        let prototype = format!("X: .callprototype _ ({parameter});");
        for argument in taken {
            assert_eq!(error(&function, &format!("call fx, ({argument});")), None, "{parameter} {argument}");
            assert_eq!(error("", &format!("{prototype} call a, ({argument}), X;")), None, "{parameter} {argument}");
            let list = format!("X: .calltargets fx; call a, ({argument}), X;");
            assert_eq!(error(&function, &list), None, "{parameter} {argument}");
        }
        for argument in refused {
            for (functions, call) in [
                (&*function, format!("call fx, ({argument});")),
                ("", format!("{prototype} call a, ({argument}), X;")),
                (&*function, format!("X: .calltargets fx; call a, ({argument}), X;")),
            ] {
                let (_, at) = error(functions, &call).unwrap_or_else(|| panic!("{parameter} takes {argument}"));
                assert_eq!(at, argument.trim_end_matches(".x"), "{call}");
            }
        }
    }
}

#[test]
fn results_are_held_to_the_same_rules_and_may_be_dropped() {
    let function = ".func (.reg .u32 y, .reg .f32 z) fx(.reg .u32 x);";
    for (call, expected) in [
        ("call (r, f), fx, (r);", None),
        ("call (_, _), fx, (r);", None),
        ("call (r, r), fx, (r);", Some(("operand-type", "r"))),
        ("call (r), fx, (r);", Some(("operand-count", "fx"))),
        ("call fx, (r);", Some(("operand-count", "fx"))),
        ("call (r, f), fx, (_);", Some(("sink", "_"))),
        ("call (r, f), fx, ();", Some(("operand-count", "fx"))),
    ] {
        let found = error(function, call);
        assert_eq!(found.as_ref().map(|(code, at)| (*code, &**at)), expected, "{call}");
    }
}

#[test]
fn an_indirect_call_matches_all_that_it_may_reach() {
    let functions = ".func f0(); .func f1(.reg .u32 x); .func f2(.reg .s32 x); .func f3(.reg .f32 x);\n\
                     .global .u64 t0[2] = {f0, f0}; .global .u64 t1[2] = {f1, f2}; .global .u64 none[2]; .shared .u64 sh[2];";
    for (call, expected) in [
        ("call a, t0;", None),
        ("call a, (r), t1;", None),
        ("call a, t1;", Some(("operand-count", "t1"))),
        ("call a, (f), t1;", Some(("operand-type", "f"))),
        ("call a, none;", Some(("operand-type", "none"))),
        ("call a, sh;", Some(("operand-type", "sh"))),
        ("X: .calltargets f1, f2; call a, (r), X;", None),
        ("X: .calltargets f1, f3; call a, (r), X;", Some(("operand-type", "r"))),
        ("X: .calltargets f0, f1; call a, X;", Some(("operand-count", "X"))),
        ("X: .callprototype (.reg .u32 _) _ (.reg .u32 _); call a, (r), X;", Some(("operand-count", "X"))),
        ("X: .callprototype (.param .u32 _, .param .u32 _) _;", Some(("syntax", ".param .u32 _"))),
        ("X: .callprototype (.param .b8 _[]) _;", Some(("syntax", ".param .b8 _[]"))),
        ("call a;", Some(("operand-type", "a"))),
        ("call nowhere;", Some(("undeclared-register", "nowhere"))),
    ] {
        let found = error(functions, call);
        assert_eq!(found.as_ref().map(|(code, at)| (*code, &**at)), expected, "{call}");
    }
}

#[test]
fn the_last_parameter_without_a_length_may_be_left_out() {
    let function = ".func fx(.param .b32 x, .param .align 8 .b8 y[]);";
    assert_eq!(error(function, "call fx, (P, B8);"), None);
    assert_eq!(error(function, "call fx, (r);"), None);
    assert_eq!(error(function, "call fx, (P, Q);"), Some(("operand-type", "Q".to_owned())));
    assert_eq!(error(function, "call fx, (P, B8, B8);"), Some(("operand-count", "fx".to_owned())));
}
