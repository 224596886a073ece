//! Labels are visible in the block that declares them; lists of labels and functions are named by labels.

use ptx_isa::TABLE;
use ptx_isa::text::{Options, check};

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n.global .u32 g;\n.func fn() { ret; }\n\
                    .entry k() {\n.reg .pred p; .reg .u32 r, %r<10>; .reg .u64 a;\n";

/// The errors of a kernel with this body: each as its code and the text that it underlines.
fn errors(body: &str) -> Vec<(&'static str, String)> {
    let text = format!("{HEAD}{body}\n}}\n");
    let report = check(&TABLE, text.as_bytes(), &Options::default());
    report.diagnostics.iter().map(|found| (found.code.as_str(), text[found.span.clone()].to_owned())).collect()
}

#[test]
fn a_label_is_visible_in_its_block_and_those_within() {
    for body in [
        "{ bra W; } W: ret;",
        "W: { bra W; } ret;",
        "W: ret; { bra W; }",
        "{ bra W; W: ret; }",
        "W: { W: bra W; }",
        "{W: ret;} {W: ret;}",
        "{ bra W; { W: ret; } W: ret; }",
        "{ bra Q; { bra W; } W: ret; } Q: ret;",
        "W: {.reg .u32 W; add.u32 W, W, W; bra X;} X: ret;",
        "g: bra g;",
        "%r11: bra %r11;",
        "{ %r1: bra %r1; }",
        "{ r: bra r; }",
    ] {
        assert_eq!(errors(body), [], "{body}");
    }
    for (body, at) in [
        ("@p bra W; { W: ret; }", "W"),
        ("{ W: ret; } bra W;", "W"),
        ("{ W: ret; } { bra W; }", "W"),
        ("{ bra W; } { W: ret; }", "W"),
        ("{ { bra W; } } { W: ret; }", "W"),
        ("bra W;", "W"),
        ("bra L; L: .callprototype _ ();", "L"),
    ] {
        assert_eq!(errors(body), [("undeclared-register", at.to_owned())], "{body}");
    }
    for (body, at) in [
        ("bra r;", "r"),
        ("bra g;", "g"),
        ("bra fn;", "fn"),
        ("%r1: bra %r1;", "%r1"),
        ("%r1: { bra %r1; }", "%r1"),
        ("{ %r1: ret; } bra %r1;", "%r1"),
        ("{ .reg .u32 W; bra W; } W: ret;", "W"),
        ("L: .calltargets fn; bra L;", "L"),
    ] {
        assert_eq!(errors(body), [("operand-type", at.to_owned())], "{body}");
    }
}

#[test]
fn lists_behind_labels_have_members_that_exist() {
    for body in [
        "L: .branchtargets A, B; A: B: brx.idx r, L;",
        "L: .branchtargets A<2>, B; A0: A1: B: brx.idx r, L;",
        "A0: ret; { L: .branchtargets A<3>; A1: A1x: { A0: ret; } brx.idx r, L; } A2: ret;",
        "L: .branchtargets A<1>, A1<2>; A0: A10: A11: brx.idx r, L;",
        "L: .branchtargets A; A: ret; { brx.idx r, L; }",
        "A: { L: .branchtargets A; brx.idx r, L; }",
        "{ L: .branchtargets A; brx.idx r, L; } A: ret;",
        "L: M: .branchtargets A; A: brx.idx r, M;",
        "L: .calltargets fn, fn; call a, L;",
        "L: .calltargets fn; { call r, (), L; }",
        "L: .callprototype _; call a, L;",
        "L: .callprototype () _ () .noreturn; call a, L;",
    ] {
        assert_eq!(errors(body), [], "{body}");
    }
    for (body, code, at) in [
        ("L: .branchtargets A, B; A: brx.idx r, L;", "undeclared-register", "B"),
        ("L: .branchtargets A; { A: brx.idx r, L; }", "undeclared-register", "A"),
        ("L: .branchtargets A<3>; A0: A1: brx.idx r, L;", "undeclared-register", "A"),
        ("L: .branchtargets A<3>; A0: A1: A02: brx.idx r, L;", "undeclared-register", "A"),
        ("L: .branchtargets A<3>; A0: { A1: ret; } A2: brx.idx r, L;", "undeclared-register", "A"),
        ("L: .branchtargets A<4294967295>; A0: A1: brx.idx r, L;", "undeclared-register", "A"),
        ("L: .branchtargets r; brx.idx r, L;", "operand-type", "r"),
        ("L: .branchtargets %r<2>; brx.idx r, L;", "operand-type", "%r"),
        ("L: .branchtargets fn; brx.idx r, L;", "operand-type", "fn"),
        ("L: .branchtargets; brx.idx r, L;", "syntax", ";"),
        ("L: .branchtargets A B; A: B: brx.idx r, L;", "syntax", "B"),
        ("L: .branchtargets A,; A: brx.idx r, L;", "syntax", ";"),
        (".branchtargets A; A: ret;", "syntax", ".branchtargets"),
        ("A: brx.idx r, A;", "operand-type", "A"),
        ("L: M: .branchtargets A; A: brx.idx r, L;", "operand-type", "L"),
        ("brx.idx r, g;", "operand-type", "g"),
        ("brx.idx r, nowhere;", "undeclared-register", "nowhere"),
        ("brx.idx r, L; L: .branchtargets A; A: ret;", "undeclared-register", "L"),
        ("{L: .branchtargets A; A: ret;} brx.idx r, L;", "undeclared-register", "L"),
        ("L: .calltargets fn; brx.idx r, L;", "operand-type", "L"),
        ("L: .calltargets nowhere; call a, L;", "operand-type", "nowhere"),
        ("L: .calltargets g; call a, L;", "operand-type", "g"),
        ("L: .calltargets; call a, L;", "syntax", ";"),
        ("L: .branchtargets A; A: call a, L;", "operand-type", "L"),
        ("L: call a, L;", "operand-type", "L"),
        ("call a, fn;", "operand-type", "fn"),
        ("call a, g;", "operand-type", "g"),
        ("L: .callprototype foo (); call a, L;", "syntax", "foo"),
        ("L: .callprototype _ _; call a, L;", "syntax", "_"),
        ("L: .callprototype _ () .noreturn .noreturn; call a, L;", "syntax", ".noreturn"),
        ("L: .callprototype _ () .maxntid 4; call a, L;", "syntax", ".maxntid"),
        ("L: .callprototype _ (.param .u33 _); call a, (5), L;", "syntax", ".u33"),
    ] {
        assert_eq!(errors(body), [(code, at.to_owned())], "{body}");
    }
}

/// Many blocks, each with a label of the same name, and branches into none of them.
#[test]
fn labels_of_many_blocks_are_found_in_little_time() {
    let mut body = String::new();
    for _ in 0..20_000 {
        body += "{ bra W; W: } bra X; ";
    }
    let started = std::time::Instant::now();
    assert_eq!(errors(&(body + "X: ret;")), []);
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
}
