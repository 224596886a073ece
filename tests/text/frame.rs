//! What surrounds statements, as the assembler was seen to take it: attributes of declarations, line markers, directives of heads,
//! labels, reserved words, and fields of textures.

use ptx_isa::TABLE;
use ptx_isa::text::{Options, check};

const HEAD: &str = ".version 9.3\n.target sm_100a\n.address_size 64\n";

/// Messages and underlined texts of the errors of a module behind its header.
fn errors(text: &str) -> Vec<(String, String)> {
    found(&format!("{HEAD}{text}\n"))
}

fn found(module: &str) -> Vec<(String, String)> {
    let report = check(&TABLE, module.as_bytes(), &Options::default());
    report.diagnostics.into_iter().map(|found| (found.message, module[found.span].to_owned())).collect()
}

/// The text in the body of a function.
fn body(text: &str) -> String {
    format!(".func body() {{\n.reg .b32 r<4>; .reg .b64 a; .reg .pred p;\n{text}\nret; }}")
}

fn all_pass(texts: &[&str]) {
    for text in texts {
        assert_eq!(errors(text), [], "{text}");
    }
}

/// Each text has one error, at the given place.
fn all_fail(texts: &[(&str, &str)]) {
    for (text, at) in texts {
        let found = errors(text);
        assert_eq!(found.iter().map(|(_, at)| &**at).collect::<Vec<_>>(), [*at], "{text}: {found:?}");
    }
}

#[test]
fn attributes_may_precede_the_state_space() {
    all_pass(&[
        ".align 8 .global .u32 x;",
        ".visible .align 8 .global .u32 x;",
        ".extern .align 8 .shared .u32 x[];",
        ".attribute(.managed) .align 8 .align 16 .global .align 4 .attribute(.managed) .u32 x, y[2] = {1, 2};",
        ".attribute(.unified(0, 2)) .global .u32 x;",
        ".align WARP_SZ .const .u32 x = 5;",
        ".align 16 .global .texref t;",
        ".func f()\n.align 8 .global .u32 x;",
        ".func (.align 8 .param .b32 x) f(.align 8 .param .b8 y[8], .align 8 .reg .u32 z) { ret; }",
        ".entry f(.align 8 .param .u64 .ptr .global .align 4 x) { ret; }",
        &body(".align 8 .reg .u32 x; .align 8 .local .u32 y; .align 8 .param .b8 z[8]; .align 4 .shared .b32 w;"),
        &body("L: .callprototype (.align 8 .param .b8 _[8]) _ (.align 8 .param .b8 _[8]);"),
    ]);
    all_fail(&[
        (".align 8 .visible .global .u32 x;", ".visible"),
        (".align 8 .v2 .global .u32 x;", ".v2"),
        (".align 8 .func f() { ret; }", ".func"),
        (".visible .align 8 .func f() { ret; }", ".func"),
        (".align 8 x;", "x"),
        (".align 8 .pragma \"nounroll\";", ".pragma"),
        (".align 3 .global .u32 x;", "3"),
        (".attribute(.manged) .global .u32 x;", ".manged"),
        (".attribute(.managed) .const .u32 x;", ".managed"),
        (".align 8 .local .u32 x;", ".local"),
        (".func f(.attribute(.managed) .param .b32 x) { ret; }", ".managed"),
        (".entry f(.param .attribute(.managed) .b32 x) { ret; }", ".managed"),
        (".entry f(.align 3 .param .u64 x) { ret; }", "3"),
        (&body(".attribute(.managed) .reg .u32 x;"), ".managed"),
    ]);
}

#[test]
fn attributes_of_registers_are_in_order() {
    all_pass(&[
        &body(".reg .align 8 .align 4 .v2 .u32 x; .reg .v2 .u32 y;"),
        ".func f(.reg .align 8 .v2 .u32 x) { ret; }",
    ]);
    all_fail(&[
        (&body(".reg .u32 .align 8 x;"), ".align"),
        (&body(".reg .u32 .align 8 x<4>;"), ".align"),
        (&body(".reg .v2 .align 8 .u32 x;"), ".align"),
        (&body(".reg .u32 .v2 x;"), ".v2"),
        (&body(".reg .v2 .v4 .u32 x;"), ".v4"),
        (&body(".reg .v2 .v2 .u32 x;"), ".v2"),
        (".func f(.reg .u32 .align 8 x) { ret; }", ".align"),
    ]);
}

#[test]
fn a_line_marker_may_be_wherever_a_blank_may_be() {
    const MARKER: &str = "\n# 5 \"file\"\n";
    for text in [
        ".func@f@(@.param@.b32@x@,@.param@.b32@y@)@{ ret@; }",
        ".visible@.entry f() .maxntid@3@,@4@{ ret; }",
        ".global@.u32@x@[@2@]@=@{@1@,@2@}@;",
        ".file@1@\"x\" .pragma@\"nounroll\"@; .section .debug_info {@.b8@1@,@2@}",
        &body("add.u32@r0@,@r1@,@r2@; @p@add.u32@r0, r1, 1@+@2; .reg@.b32@x@,@y@; L@: .branchtargets@M@; M:"),
    ] {
        // A guard has a sign of its own.
        let text = text.replace("@p@", "\u{1}p@").replace('@', MARKER).replace('\u{1}', "@");
        assert_eq!(errors(&text), [], "{text}");
    }
    let header = "# 3 \"f\"\n.version 8.0\n.target\n# 4 \"f\"\nsm_90\n# 5 \"f\"\n.address_size\n# 5 \"f\"\n64\n";
    assert_eq!(found(header), []);
    for marker in [
        "# 5 \"f\" 1 2\t3 ",
        "#line5 \"f\"",
        "#\tline 5\t\"\"\r",
        "#5 \"a b;c /* d\"",
        "  # 05 \"f\" 3",
        "# 5 \"a\nb\"",
    ] {
        assert_eq!(errors(&body(&format!("add.u32 r0,\n{marker}\nr1, r2;"))), [], "{marker}");
    }
    for marker in [
        "# 5",
        "# \"f\"",
        "#pragma x",
        "# 5 f",
        "# 5\"f\"",
        "# 5 \"f\"3",
        "# 5 \"f\" 0x3",
        "# 5 \"f\" -3",
        "# 5 \"f\" // x",
        "# 5U \"f\"",
        "#",
    ] {
        let found = errors(&body(marker));
        assert_eq!(found.iter().map(|(_, at)| &**at).collect::<Vec<_>>(), ["#"], "{marker}: {found:?}");
    }
    // The line of a marker has an end.
    assert_eq!(found(".version 8.0\n.target sm_90\n# 5 \"f\"").len(), 1);
    assert_eq!(errors("# 5 \"\u{e9}\"\n"), [("a string holds ASCII only".into(), "\u{e9}".into())]);
}

#[test]
fn numbers_of_heads_have_ranges() {
    all_pass(&[
        ".entry f() .reqnctapercluster 0, 0, 0 { ret; }",
        ".entry f() .maxclusterrank 0 { ret; }",
        ".func f() .abi_preserve 0 .abi_preserve_control 0;",
        ".func f() .abi_preserve 4294967295 .abi_preserve_control 0x0b { ret; }",
        &body("L: .callprototype _ () .abi_preserve 0 .abi_preserve_control 11;"),
    ]);
    all_fail(&[
        (".entry f() .maxntid 0 { ret; }", "0"),
        (".entry f() .reqntid 1, 0, 0 { ret; }", "0"),
        (".entry f() .maxnreg 0 { ret; }", "0"),
        (".entry f() .minnctapersm 0 { ret; }", "0"),
        (".func f() .local_maxnreg 0 { ret; }", "0"),
        (".func f() .abi_preserve_control 12 { ret; }", "12"),
        (".func f() .abi_preserve_control WARP_SZ;", "WARP_SZ"),
        (".func f() .abi_preserve 4294967296 { ret; }", ".abi_preserve"),
        (&body("L: .callprototype _ () .abi_preserve_control 12;"), "12"),
    ]);
    let found = errors(".func f() .abi_preserve_control 12 { ret; }");
    assert_eq!(found[0].0, "a number from 0 to 11 is expected here");
}

#[test]
fn directives_of_functions_are_in_order_and_written_once() {
    all_pass(&[
        ".func f() .noreturn .abi_preserve 4 .abi_preserve_control 4 .local_maxnreg 32 { ret; }",
        ".func f() .noreturn .abi_preserve_control 4 .abi_preserve 4;",
        ".func f .noreturn { ret; }",
        ".entry f() .maxntid 32 .local_maxnreg 32 .maxntid 64 .explicitcluster .local_maxnreg 32 { ret; }",
        &body("L: .callprototype _ () .noreturn .abi_preserve_control 4 .abi_preserve 4;"),
    ]);
    for (directives, at, message) in [
        (".noreturn .noreturn", ".noreturn", "duplicate `.noreturn`"),
        (".abi_preserve 4 .abi_preserve 5", ".abi_preserve", "duplicate `.abi_preserve`"),
        (".abi_preserve 4 .noreturn", ".noreturn", "`.noreturn` must be before `.abi_preserve`"),
        (
            ".abi_preserve_control 4 .noreturn .abi_preserve 4",
            ".noreturn",
            "`.noreturn` must be before `.abi_preserve_control`",
        ),
    ] {
        let expected = [(message.to_owned(), at.to_owned())];
        assert_eq!(errors(&format!(".func f() {directives} {{ ret; }}")), expected);
        assert_eq!(errors(&format!(".func f() {directives};")), expected);
        assert_eq!(errors(&body(&format!("L: .callprototype _ () {directives};"))), expected);
    }
    all_fail(&[
        (".func f() .local_maxnreg 32 .local_maxnreg 32 { ret; }", ".local_maxnreg"),
        (".func f() .local_maxnreg 32 .abi_preserve 4 { ret; }", ".abi_preserve"),
        (".func f() .local_maxnreg 32;", ".local_maxnreg"),
        (&body("L: .callprototype _ () .local_maxnreg 32;"), ".local_maxnreg"),
        (".func .noreturn f() { ret; }", ".noreturn"),
        (".func (.param .b32 x) .abi_preserve 4 f() { ret; }", ".abi_preserve"),
        (".entry .maxntid 32 f() { ret; }", ".maxntid"),
    ]);
}

#[test]
fn words_of_locations_are_no_names() {
    for word in ["function_name", "inlined_at"] {
        for text in [
            format!(".global .u32 {word};"),
            format!(".func {word}() {{ ret; }}"),
            format!(".entry {word}() {{ ret; }}"),
            body(&format!(".reg .b32 {word};")),
            body(&format!(".reg .b32 {word}<4>;")),
            body(&format!("{word}: ret;")),
            body(&format!("bra {word};")),
            format!(".section .debug_info {{\n{word}: .b8 1\n}}"),
        ] {
            let found = errors(&text);
            assert_eq!(found.iter().map(|(_, at)| &**at).collect::<Vec<_>>(), [word], "{text}: {found:?}");
        }
        assert_eq!(errors(&format!(".func f(.param .b32 {word}) {{ ret; }}")).len(), 1);
        all_pass(&[&format!(".global .u32 {word}s;"), &body(&format!(".reg .b32 {word}4;"))]);
    }
}

#[test]
fn labels_are_in_functions() {
    all_fail(&[
        ("L:", "L"),
        ("L: ret;", "L"),
        ("L: .global .u32 x;\n.global .u32 y;", "L"),
        ("L: M: .callprototype _ ();", "L"),
        (".func f() { ret; }\nL: .pragma \"nounroll\";\n.func g() { ret; }", "L"),
        ("L: .callprototype _ ();\n.func f() { .reg .b64 a; call a, L; ret; }", "L"),
        (".func g() { ret; }\nL: .calltargets g;\n.func f() { .reg .b64 a; call a, L; ret; }", "L"),
        (".func g() { M: ret; }\nL: .branchtargets M;", "L"),
    ]);
    all_pass(&[&body("L: .callprototype _ (); call a, L; K: .global .u32 x; M: .pragma \"nounroll\";")]);
}

#[test]
fn opaque_variables_are_initialized_by_fields() {
    all_pass(&[
        ".global .texref t = {}, s = {width = 3};",
        ".global .texref t = {width = -1, width = 1.5, height = (1 + 2), depth = WARP_SZ, width = linear};",
        ".global .texref t = {channel_data_type = 1, channel_order = 2, normalized_coords = 1, array_size = 1, num_mipmap_levels = 1};",
        ".global .texref t = {num_samples = 1, filter_mode = wrap, addr_mode_0 = mirror, addr_mode_1 = clamp_ogl, addr_mode_2 = nearest};",
        ".global .texref t = {addr_mode_0 = clamp_to_edge, addr_mode_1 = clamp_to_border};",
        ".global .texref t[2] = {{width = 3}, {}}, u[2] = {width = 3}, v[1][2] = {{{width = 3}, {height = 4}}};",
        ".global .surfref t = {width = 1, height = 1, depth = 1, channel_data_type = 1, channel_order = 1, array_size = 1, memory_layout = 1};",
        ".global .u32 width; .visible .global .texref t = {width /* a */ = 3};",
    ]);
    all_fail(&[
        (".global .texref t = {width = 3,};", "}"),
        (".global .texref t = {width = 3 height = 4};", "height"),
        (".global .texref t = {3};", "3"),
        (".global .texref t = {width};", "}"),
        (".global .texref t = {width =};", "}"),
        (".global .texref t = {,};", ","),
        (".global .texref t = {width = 3,, height = 4};", ","),
        (".global .texref t = {.width = 3};", ".width"),
        (".global .texref t = {width = foo};", "foo"),
        (".global .texref t = {width = NEAREST};", "NEAREST"),
        (".global .texref t = {width = \"x\"};", "\""),
        (".global .texref t = {width = {3}};", "{"),
        (".global .texref t = {{width = 3}};", "{"),
        (".global .texref t[1] = {{width = 3}, {width = 4}};", "{"),
        (".global .texref t = 3;", "3"),
        (".global .texref t = {addr_mode_3 = wrap};", "addr_mode_3"),
        (".global .texref t = {force_unnormalized_coords = 1};", "force_unnormalized_coords"),
        (".global .texref t = {memory_layout = 1};", "memory_layout"),
        (".global .surfref t = {filter_mode = linear};", "filter_mode"),
        (".global .surfref t = {num_samples = 1};", "num_samples"),
    ]);
    let old = |version: &str, variable: &str| {
        found(&format!(".version {version}\n.target sm_20, texmode_independent\n.global {variable};\n")).len()
    };
    for field in ["channel_data_type", "channel_order"] {
        let variable = format!(".texref t = {{{field} = 1}}");
        assert_eq!((old("2.0", &variable), old("2.1", &variable)), (1, 0), "{field}");
    }
    let sampler = |field: &str| format!(".samplerref s = {{{field} = 1}}");
    assert_eq!(
        (old("2.1", &sampler("force_unnormalized_coords")), old("2.2", &sampler("force_unnormalized_coords"))),
        (1, 0)
    );
    for (field, expected) in
        [("filter_mode", 0), ("addr_mode_2", 0), ("normalized_coords", 1), ("width", 1), ("memory_layout", 1)]
    {
        assert_eq!(old("3.0", &sampler(field)), expected, "{field}");
    }
}

#[test]
fn a_field_that_is_misspelled_is_suggested() {
    for (text, fix) in [("widht = 1", "width"), ("filter_mode = liner", "linear")] {
        let module = format!("{HEAD}.global .texref t = {{{text}}};\n");
        let report = check(&TABLE, module.as_bytes(), &Options::default());
        let fixes: Vec<&str> = report.diagnostics.iter().flat_map(|one| &one.fixes).map(|fix| &*fix.text).collect();
        assert_eq!(fixes, [fix], "{text}: {:?}", report.diagnostics);
    }
}

#[test]
fn a_register_with_leading_zeros_is_a_member_of_the_family_before_it() {
    let in_function = |declarations: &str| errors(&format!(".func f() {{ {declarations} ret; }}")).len();
    for name in ["%r01", "%r001", "%r00", "%r1"] {
        assert_eq!(in_function(&format!(".reg .b32 %r<10>; .reg .b32 {name};")), 1, "{name}");
        assert_eq!(in_function(&format!(".reg .b32 %r<10>; .local .b32 {name};")), 1, "{name}");
        assert_eq!(in_function(&format!(".reg .b32 %r<10>; {{ .reg .b32 {name}; }}")), 0, "{name}");
        assert_eq!(in_function(&format!(".reg .b32 %r<10>; {name}:")), 0, "{name}");
    }
    for others in [
        ".reg .b32 %r<10>; .reg .b32 %r010;",
        ".reg .b32 %r01; .reg .b32 %r<10>;",
        ".reg .b32 %r<10>; .reg .b32 %r0<2>;",
        ".reg .b32 %r0<2>; .reg .b32 %r01;",
        ".reg .b32 %r01; .reg .b32 %r1;",
    ] {
        assert_eq!(in_function(others), 0, "{others}");
    }
}
