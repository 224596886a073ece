//! Declarations: variables, registers, heads of functions, and what their names mean.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, LineIndex, Severity};
use ptx_isa::text::{Options, check};

use super::{HEAD, codes, findings, kernel, report};

/// Declarations, and what of each is refused; `None` where it is taken.
#[test]
fn variables_have_types_shapes_and_values() {
    let taken = [
        ".global .align 16 .v4 .f32 x[2] = {{1.0, 2.0, 3.0, 4.0}, {0f3F800000, -1.0, 0.5, 1e3}};",
        ".const .u32 x[][2] = {{1, 2}, {WARP_SZ, 3 + 4}, {}}, y = ~0;",
        ".extern .shared .align 16 .b8 x[]; .extern .global .u32 y; .visible .global .u32 y = 5;",
        ".global .u32 x; .global .u64 y[3] = {x, generic(x) + 8, 0xff00(x)}; .global .u8 z = 0xff(generic(x));",
        ".func f() { ret; } .global .u64 x = f;",
        ".global .b8 x = 1.5;",
        ".global .attribute(.managed) .u32 x;",
        ".visible /* so */ .func f(); .visible .func f() { ret; } .extern /* so */ .global .u32 x[];",
        ".entry k(.param .u64 .ptr .global .align 8 x, .param .texref t, .param .b8 y[WARP_SZ]) { ret; }",
        ".func f(.param .align 8 .b8 x[16], .param .b8 y[]) { .local .v2 .u32 z[4]; .const .u32 c = 5; ret; }",
    ];
    for text in taken {
        let text = format!("{HEAD}{text}\n");
        assert_eq!(findings(&text, &report(&text)), []);
    }
    let refused = [
        (".global x;", "syntax", "x"),
        (".global .pred x;", "syntax", ".pred"),
        (".global .f32 .v4 x;", "syntax", ".v4"),
        (".global .align 3 .u32 x;", "syntax", "3"),
        (".global .v4 .f64 x;", "syntax", ".f64"),
        (".global .u32 x[];", "syntax", "x"),
        (".global .u32 x[2][];", "syntax", "]"),
        (".global .u32 x = 1.5;", "constant", "1.5"),
        (".global .f32 x = 1;", "constant", "1"),
        (".global .f16 x = 1.5;", "constant", "1.5"),
        (".global .u32 x = {5};", "constant", "{"),
        (".global .u32 x[2] = 5;", "constant", "5"),
        (".global .u32 x[2] = {1, 2, 3}, y = 5;", "constant", "3"),
        (".global .u32 x[2][2] = {{1, 2}, 3};", "constant", "3"),
        (".global .v2 .u32 x = {1};", "constant", "}"),
        (".global .u32 x; .global .u16 y = x;", "constant", "x"),
        (".global .u32 x; .global .u8 y = 0xf0(x);", "constant", "0xf0"),
        (".shared .u32 x; .global .u64 y = x;", "constant", "x"),
        (".func f() { ret; } .global .u64 y = generic(f);", "constant", "f"),
        (".shared .u32 x = 5;", "syntax", "="),
        (".extern .global .u32 x = 5;", "syntax", "="),
        (".local .u32 x;", "syntax", ".local"),
        (".shared .texref x;", "syntax", ".texref"),
        (".global .samplerref x;", "target", ".samplerref"),
        (".tex .u32 x;", "ptx-version", ".tex"),
        (".global .attribute(.manged) .u32 x;", "syntax", ".manged"),
        (".visible .weak .global .u32 x;", "syntax", ".weak"),
        (".global .u32 x; .global .f32 x;", "duplicate-name", "x"),
        (".func x() { ret; } .global .u32 x;", "duplicate-name", "x"),
        (".entry k() { .visible .global .u32 x; ret; }", "syntax", ".global"),
        (".entry k(.param .b8 x[]) { ret; }", "syntax", "x"),
        (".func f(.param .u64 .ptr x) { ret; }", "syntax", ".ptr"),
        (".func (.param .b32 x, .param .b32 y) f() { ret; }", "syntax", ".param .b32 y"),
    ];
    for (text, code, at) in refused {
        let text = format!("{HEAD}{text}\n");
        assert_eq!(findings(&text, &report(&text)), [(4, code, at)], "{text}");
    }
}

#[test]
fn a_name_means_its_innermost_declaration() {
    for (lines, errors) in [
        ("{ .reg .f32 u32a; setp.eq.f32 p, u32a, f32a; } setp.eq.u32 p, u32a, u32b;", 0),
        ("{ .reg .f32 u32a; setp.eq.u32 p, u32a, u32b; }", 1),
        ("{ setp.eq.u32 p, u32a, u32b; .reg .f32 u32a; setp.eq.f32 p, u32a, f32a; }", 0),
        ("{ .reg .u32 inner; } setp.eq.u32 p, inner, u32a;", 1),
        ("setp.eq.u32 p, later, u32a; .reg .u32 later;", 1),
        ("{ .reg .f32 %r<2>; setp.eq.f32 p, %r1, f32a; setp.eq.u32 p, %r3, u32a; }", 0),
        ("{ u32a: setp.eq.u32 p, u32a, u32b; }", 1),
        (".reg .u32 %x<010>; setp.eq.u32 p, %x7, %x7; setp.eq.u32 p, %x8, %x8;", 1),
        (".reg .v4 .u32 w<3>; setp.eq.u32 p, w1.x, w2.y;", 0),
        (".reg .align 4 .u32 x, y<2> ; setp.eq.u32 p, x, y1;", 0),
        (".reg.u32 setp, lt; setp.eq.u32 p, setp, lt;", 0),
    ] {
        let report = report(&kernel(lines));
        assert_eq!(report.errors(), errors, "{lines}: {:?}", report.diagnostics);
    }
}

#[test]
fn a_scope_declares_a_name_once() {
    for (lines, errors) in [
        (".reg .u32 x; .reg .f32 x;", 1),
        (".reg .u32 x; { .reg .f32 x; }", 0),
        ("x: .reg .u32 x;", 1),
        ("x: x:", 1),
        (".reg .u32 x<4>, x1;", 1),
        (".reg .u32 x1, x<4>;", 1),
        (".reg .u32 x0, x4, x02, x<4>;", 0),
        (".shared .u32 x1; .reg .u32 x<4>;", 1),
        ("x1: .reg .u32 x<4>;", 0),
        ("{ .reg .u32 x1; } .reg .u32 x<4>;", 0),
        (".reg .u32 x<4>, x4;", 0),
        (".reg .u32 x<4>, x01;", 1),
        (".reg .u32 x<4>, x<2>;", 1),
        (".reg .u32 x<20>, x1<3>;", 0),
        (".reg .u32 kernel;", 0),
    ] {
        let text = kernel(lines);
        let report = report(&text);
        assert_eq!(codes(&report), vec![Code::DuplicateName; errors], "{lines}: {:?}", findings(&text, &report));
    }
}

#[test]
fn parameters_and_functions_are_declared_by_their_heads() {
    for (function, errors) in [
        (".func (.reg .u32 r) f (.reg .u32 a, .reg .f32 b) { .reg .pred p; setp.eq.u32 p, r, a; ret; }", 0),
        (".func f (.reg .v2 .u32 a) { .reg .pred p; setp.eq.u32 p, a.x, 1; ret; }", 0),
        (".func f (.param .u32 a) { .reg .pred p; setp.eq.u32 p, a, 1; ret; }", 1),
        (".entry a() { .reg .u32 %r<4>; } .entry b() { .reg .pred p; setp.eq.u32 p, %r1, 1; }", 1),
        (".func f (.reg .u32 a); .entry b() { .reg .pred p; setp.eq.u32 p, a, 1; }", 1),
        (".entry b(.reg .u32 a) { }", 1),
        (".func f (.reg .u32 a<4>) { }", 1),
        (".func f (.reg .u32 a) { .reg .f32 a; }", 1),
        (".func f (.reg .u32 a) { { .reg .f32 a; } }", 0),
        (".entry b() { .reg .v4 .f32 a; .reg .v2 .f64 b; }", 0),
        (".entry b() { .reg .v4 .f64 a; }", 1),
        (".entry b() { .reg .v2 .pred a; }", 1),
        (".entry b() { .file 1 \"a\" }", 1),
        (".entry b() { } .entry b() { }", 1),
        (".func f(); .func f(); .func f() { }", 0),
        (".func f() { } .func f();", 1),
        (".entry b() .maxntid 32, 1, 1 .pragma \"x\"; { .reg .pred p; .reg .u32 a; setp.eq.u32 p, a, 1; }", 0),
        (".visible .entry b(.param .align 8 .b8 a[16], .param .u64 .ptr .global .align 1 c) { }", 0),
        (".extern .func (.param .b32 r) g (.param .b64 a, .param .b64 b) ;", 0),
    ] {
        let text = format!("{HEAD}{function}\n");
        let report = report(&text);
        assert_eq!(report.errors(), errors, "{function}: {:?}", report.diagnostics);
    }
}

#[test]
fn names_and_heads_are_read_as_the_assembler_reads_them() {
    let head = |version: &str, target: &str| format!(".version {version}\n.target {target}\n");
    let module = |text: &str| head("8.0", "sm_80") + text;
    let kernel = |text: &str| module(&format!(".entry k() {{\n{text}\nret;\n}}\n"));
    let taken = [
        // A prototype ends where something else begins, and its parameters with it.
        module(".extern .func f(.param .b32 x)\n.file 1 \"a.c\"\n.global .u32 g;\n.entry k() { ret; }"),
        module(".extern .func f\n.visible .func g() { ret; }\n.extern .func h(.reg .u32 a)"),
        module(".extern .func f(.reg .u32 a)\n.entry k() { .reg .u32 a; mov.u32 a, 1; ret; }"),
        module(".reg .u32;\n.entry k() { ret; }\n\x1a"),
        // A family may come behind one of its names, or a label of such a name.
        kernel(".reg .u32 n0; .reg .u32 n<4>; mov.u32 n0, n3;"),
        module(".entry k(.param .u32 n0) { .reg .u32 n<4>; mov.u32 n0, 1; ret; }"),
        kernel(".reg .u32 r<5>; r0: mov.u32 r0, 1;"),
        kernel(".reg .u32 r<WARP_SZ>; \\ mov.u32 r31, 1;"),
        kernel("// é\n"),
    ];
    for text in &taken {
        assert_eq!(errors(text), [""; 0], "{text}");
    }
    let refused = [
        (module(".entry k()\n.global .u32 g;"), "a kernel has a name, parameters, and a body"),
        (module(".extern .func f(.reg .u32 a)\n.entry k() { mov.u32 a, 1; ret; }"), "`a` is not declared here"),
        (
            module(".reg .u32 r;\n.entry k() { ret; }"),
            "`.reg` outside of functions is gone from PTX 3.0 on for sm_10 or higher",
        ),
        (kernel(".reg .u32 n<4>; .reg .u32 n0;"), "`n0` is declared twice in this scope"),
        (kernel(".reg .u32 a1<5>; mov.u32 a13, 1;"), "`a13` is not declared here"),
        (kernel(".pragma \"é\";"), "a string holds ASCII only"),
        (module(".loc 1 1 1\n.entry k() { ret; }"), "`.loc` must be in a function"),
    ];
    for (text, message) in &refused {
        assert_eq!(errors(text), [*message], "{text}");
    }
}

/// Returns the error messages for a module.
fn errors(text: &str) -> Vec<String> {
    let report = check(&TABLE, text.as_bytes(), &Options::default());
    let errors = report.diagnostics.into_iter().filter(|found| found.severity == Severity::Error);
    errors.map(|error| error.message).collect()
}

#[test]
fn directives_of_a_head_are_its_kinds() {
    for (head, errors) in [
        (".entry k() .maxntid 32, 2 .minnctapersm 1 { }", 0),
        (".entry k() .maxntid 32, 2, 1, 1 { }", 1),
        (".entry k() .maxntid 0 { }", 1),
        (".entry k() .maxntid 32;", 1),
        (".entry k();", 0),
        (".func k() .noreturn;", 0),
        (".entry k() .maxntid 32 .reqntid 32 { }", 1),
        (".entry k() .noreturn { }", 1),
        (".func k() .noreturn { }", 0),
        (".func k() .maxntid 32 { }", 1),
        (".entry k() .maxntidd 32 { }", 1),
        (".foo;", 1),
        (".maxntid 32;", 1),
    ] {
        let text = format!(".version 7.0\n.target sm_80\n.address_size 64\n{head}\n");
        assert_eq!(report(&text).errors(), errors, "{head}: {:?}", report(&text).diagnostics);
    }
}

/// Of two declarations of a name in a scope the first one counts.
#[test]
fn a_second_declaration_declares_nothing() {
    for (lines, wrong) in [
        (".reg .b32 x<4>;\n.reg .b64 x<6>;\nmov.b32 x1, 1;\nmov.b64 x1, 1;\nmov.b64 x5, 1;", vec![1, 3, 4]),
        (".reg .b32 x;\n.shared .b64 x;\nmov.b32 x, 1;", vec![1]),
        (".shared .b32 x;\n.reg .b32 x;\nmov.b32 x, 1;", vec![1, 2]),
        // A family takes the names that it has.
        (".reg .b32 x1;\n.reg .b64 x<4>;\nmov.b32 x1, 1;\nmov.b64 x1, 1;", vec![1, 2]),
        // A declaration of an invalid vector still declares a vector.
        (".reg .v4 .b64 x<2>;\nmov.b64 x1, 1;", vec![0, 1]),
        (".reg .b32 x<4294967296>;\n", vec![0]),
    ] {
        let text = kernel(lines);
        let report = report(&text);
        let start = LineIndex::new(&text).position(text.find(lines).expect("the text contains the lines")).line;
        let found: Vec<usize> = findings(&text, &report).into_iter().map(|(line, ..)| line - start).collect();
        assert_eq!(found, wrong, "{lines}: {:?}", report.diagnostics);
    }
}

/// A function reads its parameters and writes its results.
#[test]
fn parameters_are_read_and_results_are_written() {
    let errors = |text: &str| {
        let text = format!(".version 8.6\n.target sm_90\n.address_size 64\n{text}");
        check(&TABLE, text.as_bytes(), &Options::default()).errors()
    };
    for (text, wrong) in [
        (".func f(.param .u32 a) { .reg .u32 r; ld.param.u32 r, [a]; ret; }", 0),
        (".func f(.param .u32 a) { .reg .u32 r; st.param.u32 [a], r; ret; }", 1),
        (".entry f(.param .u32 a) { .reg .u32 r; st.param.u32 [a+4], r; ret; }", 1),
        (".func (.param .u32 a) f() { .reg .u32 r; st.param.u32 [a], r; ret; }", 0),
        (".func (.param .u32 a) f() { .reg .u32 r; ld.param.u32 r, [a+2]; ret; }", 1),
        (".func f() { .param .u32 a; .reg .u32 r; st.param.u32 [a], r; ld.param.u32 r, [a]; ret; }", 0),
        (".func (.param .u32 a) f() .noreturn;", 1),
        (".func f() .noreturn;", 0),
        (".entry k() { p: .callprototype (.reg .u32 _) _ () .noreturn; ret; }", 1),
        // Types of parameters matter where there is a body.
        (".func f(.param .pred a);", 0),
        (".func f(.param .pred a) { ret; }", 1),
        (".func f(.param .pred a[4]);", 1),
    ] {
        assert_eq!(errors(text), wrong, "{text}");
    }
    let old = |text: &str| {
        check(&TABLE, format!(".version 8.2 .target sm_90 {text}").as_bytes(), &Options::default()).errors()
    };
    assert_eq!([old(".func f(.param .b128 a);"), old(".func f(.param .b128 a) { ret; }")], [0, 1]);
    // A packed type is looked at where it is written, and reported once.
    let old = |text: &str| {
        check(&TABLE, format!(".version 7.8 .target sm_35 {text}").as_bytes(), &Options::default()).errors()
    };
    for text in [
        ".func f(.param .f16x2 a);",
        ".func f(.reg .f16x2 a);",
        ".func (.param .f16x2 r) f();",
        ".entry f(.param .f16x2 a);",
        ".func f(.reg .f16x2 a) { ret; }",
        ".func f() { p: .callprototype _ (.param .f16x2 _); ret; }",
    ] {
        assert_eq!(old(text), 1, "{text}");
    }
    // The parameter list is reported only once.
    let old = ".version 1.3 .target sm_10 .entry k(.param .u32 a, .param .u32 b) { ret; }";
    assert_eq!(check(&TABLE, old.as_bytes(), &Options::default()).errors(), 1);
}

/// `.loc` of inlined code names the function and a location that was named before; each `.file` has a number of its own.
#[test]
fn locations_of_inlined_code_name_a_function_and_a_call() {
    let errors = |text: &str| {
        let text =
            format!(".version 8.6 .target sm_90 .file 1 \"a\" .file 2 \"b\" .entry k() {{ .loc 1 2 3 {text} ret; }}");
        check(&TABLE, text.as_bytes(), &Options::default()).errors()
    };
    for location in [
        "1 1 1, function_name L, inlined_at 1 2 3",
        "1 1 1, function_name L+3, inlined_at 1 2 3",
        "1 1 1, function_name .debug_str, inlined_at 1 2 3",
    ] {
        assert_eq!(errors(&format!(".loc {location}")), 0, "{location}");
    }
    for location in [
        "1 1 1, function_name L",
        "1 1 1, inlined_at 1 2 3",
        "1 1 1, inlined_at 1 2 3, function_name L",
        "1 1 1, function_name L, inlined_at 1 2 4",
        "1 1 1, function_name L, inlined_at 2 2 3",
        "1 1 1, function_name, inlined_at 1 2 3",
        "1 99999999999 1",
    ] {
        assert_eq!(errors(&format!(".loc {location}")), 1, "{location}");
    }
    assert_eq!(errors("} .file 01 \"c\" .entry l() {"), 1);
    let dwarf = |version: &str| {
        let text = format!(".version {version} .target sm_13\n@@DWARF .byte 1\n@@DWARF .byte 2\n.entry k() {{ ret; }}");
        check(&TABLE, text.as_bytes(), &Options::default()).errors()
    };
    assert_eq!([dwarf("1.5"), dwarf("2.0")], [0, 1]);
}

/// Names are found where their numbers grow in steps, have zeros before them, or are too large for a word.
#[test]
fn names_are_found_whatever_their_numbers_are() {
    let steps =
        (0..60).step_by(12).flat_map(|bits| (0..1000_u64).map(move |number| format!("s{bits}_{}", number << bits)));
    let zeros = (0..1000).map(|count| format!("z{}1", "0".repeat(count)));
    let large = (0..1000).map(|number| format!("l{}", 10_u128.pow(30) + number));
    let names: Vec<String> = steps.chain(zeros).chain(large).collect();
    let declared: String = names.iter().map(|name| format!(".reg .b32 {name};\n")).collect();
    let used: String = names.iter().map(|name| format!("mov.b32 {name}, 0;\n")).collect();
    assert_eq!(codes(&report(&kernel(&(declared + &used)))), []);
}
