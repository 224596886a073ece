//! Broken modules: each mistake is reported once, where it is, and what follows it is read.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use ptx_isa::TABLE;
use ptx_isa::diagnostic::Code;
use ptx_isa::text::{Options, check};

use super::{HEAD, MODULES, codes, findings, kernel, report};

#[test]
fn each_bad_statement_is_reported_once_and_the_others_are_checked() {
    let text = kernel(
        "setp.lo.s32 p, s32a, s32a; setp.eq.u32 p, u32a, f32a;\nmov.u32 u32a, u32b;\nsetp.foo.u32 nowhere, f32a;\n\
         @u32a selp.u32 _, u32a, u32b, c;\nset.lt.u32.u32 u32a, u32b, u32c;\nsetp.eq.u32 p, u32a;",
    );
    let report = report(&text);
    let first = text.lines().position(|line| line.starts_with("setp.lo")).expect("it is there") + 1;
    let expected = [
        (first, "illegal-modifier", "lo"),
        (first, "operand-type", "f32a"),
        (first + 2, "unknown-modifier", "foo"),
        (first + 3, "sink", "_"),
        (first + 5, "operand-count", ";"),
    ];
    assert_eq!(findings(&text, &report), expected);
    assert_eq!((report.in_table, report.outside), (8, 0));
}

#[test]
fn a_spoilt_line_of_a_real_module_is_found_and_nothing_else() {
    let (_, text, ..) = MODULES[6];
    for (from, to, code, token) in [
        ("setp.lt.f16", "setp.lo.f16", "illegal-modifier", "lo"),
        ("setp.ge.s64 \t%p1, %rd4, %rd8", "setp.ge.s64 \t%p1, %rd4, %r1", "operand-type", "%r1"),
        ("setp.eq.f16 \t%p3, %rs1, %rs2;", "setp.eq.f16 \t%p99, %rs1, %rs2;", "undeclared-register", "%p99"),
        ("setp.eq.f16 \t%p3, %rs1, %rs2;", "setp.eq.f16 \t%p3, %rs1, %rs2", "syntax", "mov"),
        ("setp.eq.f16 \t%p3, %rs1, %rs2;", "setp.eq.f16 \t%p3, %rs1;", "operand-count", ";"),
        (".target sm_80", ".target sm_88", "target", "sm_88"),
    ] {
        let spoilt = text.replacen(from, to, 1);
        assert_ne!(spoilt, text, "{from}");
        let report = report(&spoilt);
        let found: Vec<(&str, &str)> =
            findings(&spoilt, &report).into_iter().map(|(_, code, token)| (code, token)).collect();
        assert_eq!(found, [(code, token)], "{to}");
    }
}

#[test]
fn a_missing_semicolon_is_told_of_at_the_next_statement() {
    for (lines, token) in [
        ("setp.eq.u32 p, u32a, u32b\nselp.u32 u32a, u32b, u32c, p;", "selp"),
        ("setp.eq.u32 p, u32a, u32b\n@p selp.u32 u32a, u32b, u32c, p;", "@"),
        ("mov.u32 u32a, u32b // x\n\nselp.u32 u32a, u32b, u32c, p;", "selp"),
        ("mov.u32 u32a, u32b\n.loc 1 2 3\nselp.u32 u32a, u32b, u32c, p;", ".loc"),
        ("selp.u32 u32a, u32b, u32c, p; { mov.u32 u32a, u32b }", "}"),
        ("selp.u32 u32a, u32b, u32c, p; { setp.eq.u32 p, u32a, u32b }", "}"),
        ("selp.u32 u32a, u32b, u32c, p; .pragma \"x\"\nmov.u32 u32a, u32b;", "mov"),
        ("mov.u32 u32a, u32b\nmov.b64 {u32a, u32b}, u64a;", "mov"),
        ("mov.b64 {u32a, u32b}, u64a\nmov.b64 u64a, {u32a, u32b};", "mov"),
        ("mov.b64 {u32a, u32b}, u64a\n@p mov.u32 u32a, u32b;", "@"),
        ("mov.b64 u64a, {u32a, 5}\n{ mov.b64 {u32a, u32b}, u64a; }", "{"),
        // The vector has no brace, and it is a vector all the same.
        ("mov.b64 u64a, {u32a, u32b mov.b64 {u32a, u32b}, u64a;", "mov"),
    ] {
        let text = kernel(lines);
        let report = report(&text);
        let found: Vec<(&str, &str)> =
            findings(&text, &report).into_iter().map(|(_, code, token)| (code, token)).collect();
        assert_eq!(found, [("syntax", token)], "{lines}");
        assert!(report.in_table >= 1);
    }
}

#[test]
fn a_brace_within_a_statement_closes_no_function() {
    for line in ["mov.u32 u32a, }u32b;", "mov.u32 u32a}, u32b;", "mov.u32 u32a, u32b};", "foo.u32 u32a, }, u32b;"] {
        let text = kernel(&format!("{line}\nselp.u32 u32a, u32b, u32c, p;\nsept.u32 u32a, u32b, u32c, p;"));
        let report = report(&text);
        let lines: Vec<usize> = findings(&text, &report).into_iter().map(|(line, ..)| line).collect();
        assert_eq!((lines.len(), lines[1]), (2, lines[0] + 2), "{line}: {:?}", report.diagnostics);
    }
}

#[test]
fn what_has_no_end_or_no_beginning_is_told_of() {
    for (text, token) in [
        (format!("{HEAD}.entry k() {{ /* x"), "/*"),
        (format!("{HEAD}.entry k() {{ ret;"), ""),
        (format!("{HEAD}.entry k() {{ ret; }} }}"), "}"),
        (format!("{HEAD}.entry k() {{ .reg .u32 a; setp.eq.u32"), "setp.eq.u32"),
        (format!("{HEAD}.entry k() {{ .reg .u32 a; mov.u32 a, a"), "mov.u32"),
        (format!("{HEAD}.entry k("), ""),
        (format!("{HEAD}.global .b8 x[2] = {{1, "), ".global"),
        (format!("{HEAD}.section .debug_str {{ "), ".section"),
        (format!("{HEAD}setp.eq.u32 p, a, b;"), "setp.eq.u32"),
        (format!("{HEAD}.entry k() {{ é: ret; }}"), "é"),
        (format!("\u{feff}{HEAD}"), "\u{feff}"),
    ] {
        let report = report(&text);
        let found: Vec<&str> = report.diagnostics.iter().map(|found| &text[found.span.clone()]).collect();
        assert_eq!(found, [token], "{text}: {:?}", report.diagnostics);
        assert_eq!(report.errors(), 1);
    }
}

#[test]
fn a_statement_that_the_text_ends_within_is_told_of_by_its_mnemonic() {
    for statement in [
        "add.u32 u32a,",
        "add.u32 u32a, u32b, u32c",
        "mov.b64 u64a,",
        "mov.b64 {u32a, u32b}, u64a",
        "mov.b64 u64a, {u32a, u32b",
        "st.global.v2.u32 [u64a], {u32a,",
        "st.global.v2.u32 [u64a",
    ] {
        let text = format!("{HEAD}.entry k() {{ .reg .u32 u32a, u32b, u32c; .reg .u64 u64a; {statement}");
        let report = report(&text);
        let found: Vec<(&str, &str)> =
            report.diagnostics.iter().map(|found| (&*found.message, &text[found.span.clone()])).collect();
        let (mnemonic, _) = statement.split_once(' ').expect("operands follow");
        assert_eq!(found, [("the text ends within this statement", mnemonic)], "{statement}");
    }
}

#[test]
fn a_module_cut_off_anywhere_is_an_error_and_no_panic() {
    let text = kernel(
        "@!p setp.lt.and.f32 p|q, %f1, 0f3f800000, !q; // x\nvset4.u32.u32.lt u32a.b10, u32b, u32c.b0123, u32a;\n",
    );
    let start = text.find(".entry").expect("there is a kernel") + 1;
    let end = text.rfind('}').expect("the kernel ends");
    for cut in 0..end {
        let report = report(&text[..cut]);
        assert!(report.errors() == 1 || cut < start, "cut at {cut}: {}: {:?}", &text[..cut], report.diagnostics);
        assert!(report.diagnostics.iter().all(|found| text[..cut].get(found.span.clone()).is_some()));
    }
    assert_eq!(report(&text).errors(), 0);
}

#[test]
fn rubbish_is_an_error_and_takes_no_time() {
    let start = Instant::now();
    let deep = format!("{HEAD}.entry k() {}", "{".repeat(200_000));
    assert_eq!(codes(&report(&deep)), [Code::Syntax]);
    let nested = kernel(&format!("setp.eq.u32 p, u32a, {}1;", "(".repeat(200_000)));
    assert_eq!(codes(&report(&nested)), [Code::Constant]);
    let long = kernel(&format!("setp.eq.u32 p, u32a, 0{};", "+1".repeat(200_000)));
    assert_eq!(codes(&report(&long)), []);
    let name = kernel(&format!("setp.eq.u32 p, u32a, x{};", "1".repeat(200_000)));
    assert_eq!(codes(&report(&name)), [Code::UndeclaredRegister]);
    let family = kernel(&format!(".reg .u32 x1<4294967295>; setp.eq.u32 p, u32a, x1{};", "0".repeat(200_000)));
    assert_eq!(codes(&report(&family)), [Code::UndeclaredRegister]);
    let semicolons = kernel(&";".repeat(200_000));
    assert_eq!(codes(&report(&semicolons)), [Code::Syntax]);
    let again = kernel(&(".reg .u32 y<1>;\n".repeat(100_000) + &"setp.eq.u32 p, y5, y6;\n".repeat(100_000)));
    assert_eq!(report(&again).errors(), 199_999);
    let zeros = check(&TABLE, &[0; 200_000], &Options::default());
    assert!(zeros.errors() >= 1 && zeros.errors() < 5);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn text_that_is_not_utf_8_is_an_error_at_the_first_such_byte() {
    let report = check(&TABLE, b".version 8.6\n.target sm_90\n// \xfe\n\xff\n", &Options::default());
    assert_eq!(codes(&report), [Code::Encoding]);
    assert_eq!(report.diagnostics[0].span, 32..33);
}

proptest! {
    #[test]
    fn no_module_makes_the_reader_panic(
        (from, to, cut) in (0_usize..20_000, 0_usize..20_000, 0_usize..200),
        inserted in prop::sample::select(&["", ";", "{", "}", "\"", "/*", "\n", ".reg .u32 x<9>;", "@p", "setp", "(", "é"][..]),
    ) {
        // A piece of one module with another piece in its middle.
        let (_, text, ..) = MODULES[(from + to) % MODULES.len()];
        let at = |offset: usize| (offset % text.len()..).find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let broken = format!("{}{inserted}{}", &text[..at(from)], &text[at(to)..at(to).max(at(to + cut * 50))]);
        let report = report(&broken);
        prop_assert!(report.diagnostics.iter().all(|found| broken.get(found.span.clone()).is_some()));
        prop_assert!(report.diagnostics.is_sorted_by_key(|found| found.span.start));
    }
}

/// A missing brace is reported once, where the text breaks, and the next function is read as if it were there.
#[test]
fn a_missing_brace_is_reported_where_the_text_breaks() {
    let head = ".version 8.6\n.target sm_90\n.address_size 64\n";
    let errors = |body: &str| -> Vec<(usize, String)> {
        let text = format!("{head}{body}");
        let report = check(&TABLE, text.as_bytes(), &Options::default());
        let line = |at: usize| text[..at].matches('\n').count() - 2;
        report.diagnostics.iter().map(|error| (line(error.span.start), error.message.clone())).collect()
    };
    let open = |place: &str| format!("missing `}}` before {place}: the body of `f` is still open");
    let next = "\n.entry k(\n.param .u32 a)\n{ .reg .u32 r;\nld.param.u32 r, [a];\nld.param.u32 r, [b]; }";
    let undeclared = |line| (line, "`b` is not declared here".to_owned());
    assert_eq!(errors(&format!(".func f() {{ {{ ret; }}{next}")), [(2, open("this kernel")), undeclared(6)]);
    let function = next.replace(".entry", ".func");
    assert_eq!(errors(&format!(".func f() {{ ret;{function}")), [(4, open("this function's body")), undeclared(6)]);
    assert_eq!(errors(".func f() { ret;\n"), [(2, open("the end of the text"))]);
    // Functions may be declared within others.
    assert_eq!(errors(".func f() { .extern .func g();\n call g; ret; }"), []);
}

/// After a surplus `}` or a malformed function header, a single error covers everything that follows.
#[test]
fn what_follows_from_a_mistake_is_not_reported() {
    let module = |body: &str| {
        let text = format!(".version 8.6\n.target sm_90\n.address_size 64\n{body}\n.entry last() {{ ret; }}");
        let report = check(&TABLE, text.as_bytes(), &Options::default());
        report.diagnostics.into_iter().map(|error| error.message).collect::<Vec<String>>()
    };
    let early = ".entry k() { .reg .u32 r<3>; .reg .pred p; @p bra L; }\nmov.u32 r1, r2;\nmov.u32 r1, r2;\nL: ret; }";
    assert_eq!(module(early), ["an instruction must be in a function"]);
    let list = ".func f(\n.param .param .u32 a,\n.param .u32 b)\n{ .reg .u32 r; ld.param.u32 r, [b]; ret; }\n.entry k() { call f, (1); }";
    assert_eq!(module(list).len(), 1, "{:?}", module(list));
    let guards = ".entry k() { .reg .reg .pred p<8>; @p1 ret; @!p2 ret; }";
    assert_eq!(module(guards).len(), 1, "{:?}", module(guards));
    let declaration = ".entry k() { .reg .reg .f32 f<8>; add.f32 f1, f2, f3; }";
    assert_eq!(module(declaration).len(), 1, "{:?}", module(declaration));
    let labels = ".entry k() { .reg .pred p; @p bra L;\nbra M;\n_:\nret;\n}";
    assert_eq!(module(labels), ["`_` is not a name"]);
    for (text, message) in [
        // Names that cannot be read.
        (".entry k() { .reg .pred %<3>; @%p1 ret; }", "a name is expected here"),
        (".entry k() { .reg .b32 {%r}<3>;\nmov.b32 %r1, %r2; }", "a name is expected here"),
        // A bracket for the brace of a function.
        (".entry k() { ret;\n[\n.entry l() { ret; }", "a statement is expected here, not `[`"),
        (".entry k() [\n.reg .b32 r;\nmov.b32 r, 1; ret;\n}", "a kernel has a name, parameters, and a body"),
        (".entry k(\n.param .u32 a\n;\n{ .reg .b32 r; mov.b32 r, 1; }", "`,` or `)` is expected behind a parameter"),
        // A function's body without its first brace.
        (".entry k()\n.reg .b32 r;\nmov.b32 r, 1; ret;\n}", "missing `{` before this, where the body of `k` begins"),
        (".entry k()\nret;\n}", "missing `{` before this, where the body of `k` begins"),
        (".func f()\n.reg .b32 r;\nmov.b32 r, 1; ret;\n}", "missing `{` before this, where the body of `f` begins"),
        (".func f() .noreturn\nL: bra L;\n}", "missing `{` before this, where the body of `f` begins"),
        (".entrY k(\n.param .u32 a)\n{ .reg .b32 r; mov.b32 r, 1; }", "there is no directive `.entrY`"),
        // A function within another.
        (".entry k() {\n.entry l() { ret; }\nret;\n}", "missing `}` before this kernel: the body of `k` is still open"),
        (".entry k() { ret; }\n{ ret; }", "a block is within a function"),
        (
            ".entry k() { .reg .b32 a;\n@\nadd.s32 a, a, a; ret; }",
            "the statement before this is not finished: a guard is `@` or `@!` and a predicate register",
        ),
        (
            ".entry k() { .reg .b64 d; .reg .b32 a;\nmov.b64 d, {a,\nadd.s32 a, a, a; ret; }",
            "the statement before this is not finished: an operand is expected here",
        ),
        (".entry k() { reg .b32 a; ret; }", "the directive `.reg` lacks its dot"),
        (".visible\n", "a function (`.entry` or `.func`) or a variable is expected here, behind its linkage"),
        (
            ".entry k() { .visible ret; }",
            "a function (`.entry` or `.func`) or a variable is expected here, behind its linkage",
        ),
        (
            ".entry k() { ret; }\n.visible .file 1 \"a\"",
            "a function (`.entry` or `.func`) or a variable is expected here, behind its linkage",
        ),
    ] {
        let text = if text == ".visible\n" { text.to_owned() + ".pragma \"nounroll\";" } else { text.to_owned() };
        assert_eq!(module(&text), [message], "{text}");
    }
}

/// What follows a misspelt directive of the header is read as if it were right.
#[test]
fn a_misspelt_header_is_one_error() {
    for (head, token) in [
        (".verison 8.6\n.target sm_90", ".verison"),
        (".versio 8.6 .target sm_90\n.address_size 64", ".versio"),
        (".version 8.6\n.tagret sm_90", ".tagret"),
    ] {
        let text = format!("{head}\n.entry k() {{ ret; }}\n");
        let found = report(&text);
        let tokens: Vec<&str> = found.diagnostics.iter().map(|found| &text[found.span.clone()]).collect();
        assert_eq!(tokens, [token], "{:?}", found.diagnostics);
        assert_eq!(codes(&report(&found.diagnostics[0].fixes[0].apply(&text))), []);
    }
}

#[test]
fn a_comma_missing_in_a_list_is_told_of_at_the_next_value() {
    for (list, token) in [("r s", "s"), ("r // a comment\n\ts\n", "s"), ("1 s", "s"), ("r 2", "2")] {
        let call = |list: &str| {
            let function = ".func f(.reg .b32 a, .reg .b32 b) { ret; }";
            format!("{HEAD}{function}\n.entry k() {{ .reg .b32 r, s;\ncall f,\n({list});\nret; }}\n")
        };
        let text = call(list);
        let found = report(&text).diagnostics;
        let told: Vec<(&str, &str)> = found.iter().map(|found| (&*found.message, &text[found.span.clone()])).collect();
        assert_eq!(told, [("`,` is missing before this", token)], "{list}");
        assert_eq!(codes(&report(&found[0].fixes[0].apply(&text))), [], "{list}");
    }
}

/// A name alone on its line is a label without its colon, where a statement follows.
#[test]
fn a_label_without_its_colon_is_told_of_at_the_next_statement() {
    for (lines, token) in [
        ("bra L;\nL\nmov.u32 u32a, u32b;", "mov"),
        ("bra L;\nL // here\n\n@p mov.u32 u32a, u32b;", "@"),
        ("{ bra L;\nL\n}", "}"),
        ("bra L;\nL\n.reg .b32 x;", ".reg"),
    ] {
        let text = kernel(lines);
        let report = report(&text);
        let found: Vec<(&str, &str)> =
            report.diagnostics.iter().map(|found| (&*found.message, &text[found.span.clone()])).collect();
        let found_at = found.iter().map(|(_, token)| *token).collect::<Vec<_>>();
        assert_eq!(found_at, [token], "{lines}: {found:?}");
        let fix = &report.diagnostics[0].fixes[0];
        assert!(text[..fix.span.start].ends_with('L'), "{lines}");
    }
}

#[test]
fn what_follows_an_unfinished_statement_is_read() {
    let unfinished = [
        ("add.u32 u32a, u32b", "the statement before this is not finished: `,` is expected here"),
        ("add.u32 u32a, u32b,", "the statement before this is not finished: an operand is expected here"),
        ("ld.global.u32 u32a, [u64a", "the statement before this is not finished: `]` is expected here"),
        ("add.u32 u32a, u32b, u32c", "`;` is missing before this"),
        (".reg .b32 x", "`;` or `,` is expected behind a declaration"),
    ];
    for (line, message) in unfinished {
        let text = kernel(&format!("{line}\nadd.u32 u32a, f32a, u32c;\nadd.u32 u32a, u32b, f32b;"));
        let report = report(&text);
        let found: Vec<&str> = report.diagnostics.iter().map(|found| &text[found.span.clone()]).collect();
        assert_eq!(found, ["add", "f32a", "f32b"], "{line}");
        assert_eq!(report.diagnostics[0].message, message, "{line}");
    }
}
