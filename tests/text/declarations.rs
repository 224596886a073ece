//! Declarations that refer to one another: redeclared variables, aliases of functions, sections of data for debuggers.

use ptx_isa::TABLE;
use ptx_isa::text::{Options, check};

/// The lines behind the header on which errors are found, counted from 1.
fn lines(text: &str) -> Vec<usize> {
    let module = format!(".version 8.0 .target sm_90 .address_size 64\n{text}\n.visible .entry last() {{ ret; }}\n");
    let report = check(&TABLE, module.as_bytes(), &Options::default());
    report.diagnostics.iter().map(|found| module[..found.span.start].matches('\n').count()).collect()
}

fn all_have(lists: &[&str], wanted: &[usize]) {
    for text in lists {
        assert_eq!(lines(text), wanted, "{text}");
    }
}

#[test]
fn declarations_of_a_variable_agree_in_type_and_length() {
    all_have(
        &[
            ".extern .global .u32 a;\n.visible .global .u32 a;",
            ".extern .global .u32 a;\n.weak .global .u32 a;",
            ".extern .global .u32 a;\n.extern .global .u32 a;",
            ".visible .global .u32 a;\n.extern .global .u32 a;",
            ".extern .global .u32 a[];\n.visible .global .u32 a[4];",
            ".extern .global .u32 a[][2];\n.visible .global .u32 a[3][2];",
            ".extern .global .u32 a[2];\n.visible .global .u32 a[] = {1, 2};",
            ".extern .global .align 4 .u32 a;\n.visible .global .align 8 .u32 a;",
            ".extern .global .u32 a;\n.visible .const .u32 a;",
            ".extern .global .texref a;\n.visible .global .texref a;",
        ],
        &[],
    );
    all_have(
        &[
            ".extern .global .u32 a;\n.visible .global .u64 a;",
            ".extern .global .u32 a;\n.visible .global .s32 a;",
            ".extern .global .u32 a;\n.visible .global .b32 a;",
            ".extern .global .u32 a;\n.extern .global .u64 a;",
            ".extern .global .u32 a[5];\n.visible .global .u32 a[4];",
            ".extern .global .u32 a[1];\n.visible .global .u32 a;",
            ".extern .global .u32 a[][2];\n.visible .global .u32 a[3][3];",
            ".extern .global .v2 .u32 a;\n.visible .global .u32 a;",
            ".extern .global .u32 a;\n.global .u32 a;",
            ".func a() { ret; }\n.extern .global .u32 a;",
        ],
        &[2],
    );
    all_have(
        &[
            ".extern .global .u32 a;\n.visible .global .u32 a;\n.visible .global .u32 a;",
            ".visible .global .u32 a;\n.extern .global .u32 a;\n.visible .global .u32 a;",
        ],
        &[3],
    );
}

#[test]
fn an_alias_and_its_function_are_declared_alike() {
    all_have(
        &[
            ".visible .func f(); .visible .func g() { ret; }\n.alias f, g;",
            ".visible .func f(); .visible .func g();\n.alias f, g;\n.visible .func g() { ret; }",
            ".visible .func e(); .visible .func f(); .func g() { ret; }\n.alias f, g;\n.alias e, f;",
            ".func f(); .func g() { ret; } .func k() {\n.alias f, g;\nret; }",
        ],
        &[],
    );
    all_have(
        &[
            "\n.alias f, g;",
            ".visible .func f();\n.alias f, g;",
            ".visible .func g() { ret; }\n.alias f, g;",
            ".visible .func f() { ret; } .visible .func g() { ret; }\n.alias f, g;",
            ".visible .func f(.param .b32 x); .visible .func g() { ret; }\n.alias f, g;",
            ".visible .global .u32 f; .visible .func g() { ret; }\n.alias f, g;",
            ".visible .func f(); .visible .entry g() { ret; }\n.alias f, g;",
            ".visible .func f(); .weak .func g() { ret; }\n.alias f, g;",
            ".visible .func g() { ret; }\n.alias g, g;",
        ],
        &[2],
    );
    all_have(&[".visible .func f(); .visible .func g() { ret; }\n.alias f, g;\n.alias f, g;"], &[3]);
}

#[test]
fn a_section_holds_labels_and_integers() {
    all_have(
        &[
            ".section .debug_info {\n.b8 1, 2\n.b32 x\n.b8 -1\n}",
            ".section .debug_info {\nL: .b64 L\n.b32 99999999999\n}",
            ".section .debug_info {\n.b32 .debug_abbrev\n.b64 .debug_abbrev+4\n}",
            ".section .debug_info {\nL: .b32 1\nM:\n.b32 M-L\n}",
        ],
        &[],
    );
    all_have(
        &[
            ".section .debug_info {\n.b8 300\n}",
            ".section .debug_info {\n.b8 -129\n}",
            ".section .debug_info {\nfoo 3\n}",
            ".section .debug_info {\n.b8 1;\n}",
            ".section .debug_info {\n.f32 1.0\n}",
            ".section .debug_info {\n.u8 1\n}",
            ".section .debug_info {\n.b8 1+2\n}",
            ".section .debug_info {\n.b8 L-4\n.b8 7\n}",
        ],
        &[2],
    );
    all_have(&[".section foo {\n.b16 1\n}", ".section .u32 {\n.b64 1\n}"], &[1]);
    all_have(&[".section .debug_info {\nL: .b8 1\n}\n.section .debug_abbrev {\nL: .b8 1\n}"], &[5]);
}

#[test]
fn a_backslash_is_ignored_before_an_instruction_only() {
    all_have(&[".func f() {\n\\ ret;\n}"], &[]);
    all_have(&["\n\\\n.func f() { ret; }", ".func f() {\n\\ .reg .b32 x;\nret; }", ".func f() { ret;\n\\}"], &[2]);
}

#[test]
fn what_a_body_declares_has_no_linkage() {
    all_have(&[".func f() {\n.visible .reg .b32 x;\nret; }", ".func f() {\n.weak .global .b32 x;\nret; }"], &[2]);
    all_have(&[".func f() {\n.extern .func g();\nret; }"], &[]);
}

/// Returns the messages of all diagnostics for a module; the text includes the module's header.
fn messages(module: &str) -> Vec<String> {
    let report = check(&TABLE, module.as_bytes(), &Options::default());
    report.diagnostics.into_iter().map(|found| found.message).collect()
}

#[test]
fn registers_are_declared_outside_of_functions_before_ptx_3() {
    let shared = |version, more| {
        format!(
            ".version {version} .target sm_10\n.reg .u32 r<4>;\n{more}\n.entry k() {{ mov.u32 r1, 0; ret; }}\n.entry l() {{ mov.u32 r3, r1; ret; }}\n"
        )
    };
    for version in ["1.0", "1.4", "2.3"] {
        assert_eq!(messages(&shared(version, "")), [""; 0], "{version}");
        for twice in [".reg .u32 r1;", ".reg .u32 a;\n.reg .u32 a;", ".global .u32 a;\n.reg .u32 a;"] {
            assert_eq!(messages(&shared(version, twice)).len(), 1, "{version}: {twice}");
        }
    }
    for version in ["3.0", "8.0"] {
        let gone = "`.reg` outside of functions is gone from PTX 3.0 on for sm_10 or higher";
        assert_eq!(messages(&shared(version, "")), [gone], "{version}");
    }
    let before = ".version 2.0 .target sm_20\n.func f() { mov.u32 a, 0; ret; }\n.reg .u32 a;\n";
    assert_eq!(messages(before).len(), 1);
}

#[test]
fn doubles_are_demoted_on_targets_without_them_only() {
    for (target, found) in [("sm_10", 0), ("sm_12", 0), ("sm_13", 1), ("sm_90", 1)] {
        let module = format!(".version 8.0 .target {target}, map_f64_to_f32\n");
        assert_eq!(messages(&module).len(), found, "{target}");
    }
}

/// Number of errors of a module with this target, text before its kernel, and body.
fn errors(target: &str, before: &str, body: &str) -> usize {
    let text = format!(
        ".version 8.6\n.target {target}\n.address_size 64\n{before}\n.entry k(.param .u64 own) {{\n\
         .reg .b32 r<4>; .reg .b64 a<4>; .reg .f32 f<4>; .param .u64 passed;\n{body}\nret; }}"
    );
    check(&TABLE, text.as_bytes(), &Options::default()).errors()
}

#[test]
fn an_option_of_the_target_may_require_an_operand() {
    let (texture, sampler) = (".global .texref t;", ".global .texref t; .global .samplerref s;");
    let independent = "sm_90, texmode_independent";
    for (target, before, statement, expected) in [
        ("sm_90", texture, "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [t, {r0}];", 0),
        ("sm_90, texmode_unified", texture, "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [a0, {r0}];", 0),
        (independent, texture, "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [t, {r0}];", 1),
        (independent, texture, "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [a0, {r0}];", 1),
        (independent, texture, "tex.level.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f0,f1}], f2;", 1),
        (independent, texture, "tld4.r.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f0,f1}];", 1),
        (independent, sampler, "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [t, s, {r0}];", 0),
        (independent, texture, "txq.width.b32 r0, [t];", 0),
    ] {
        assert_eq!(errors(target, before, statement), expected, "{target}: {statement}");
    }
}

#[test]
fn windows_of_parameters_are_those_of_kernels_or_of_functions() {
    for (statement, expected) in [
        ("ld.param::entry.u64 a0, [own];", 0),
        ("ld.param::entry.u64 a0, [a1];", 0),
        ("ld.param::entry.u64 a0, [passed];", 1),
        ("ld.param::func.u64 a0, [own];", 1),
        ("ld.param::func.u64 a0, [a1];", 1),
        ("ld.param::func.u64 a0, [passed];", 0),
        ("st.param::func.u64 [passed], a0;", 0),
    ] {
        assert_eq!(errors("sm_90", "", statement), expected, "{statement}");
    }
    let in_function = |statement: &str| format!(".func f(.param .u64 p) {{ .reg .b64 l; {statement} ret; }}");
    for statement in ["ld.param::func.u64 l, [p];", "ld.param::func.u64 l, [l];", "ld.param::entry.u64 l, [p];"] {
        assert_eq!(errors("sm_90", &in_function(statement), ""), 0, "{statement}");
    }
}

#[test]
fn a_target_among_statements_holds_from_there_on() {
    let (new, old) = ("griddepcontrol.wait;", "ret;");
    assert_eq!(errors("sm_80", "", new), 1);
    assert_eq!(errors("sm_80", "", &format!(".target sm_90\n{new}")), 0);
    assert_eq!(errors("sm_90", "", &format!("{new} .target sm_80\n{old}")), 0);
    assert_eq!(errors("sm_90", "", &format!("{new} .target sm_80\n{new}")), 1);
    assert_eq!(errors("sm_90", ".target sm_80\n", ""), 1, "not between functions");
}

#[test]
fn pragmas_have_their_places_and_arguments() {
    let header = ".version 9.3 .target sm_90\n";
    let found = |text: &str| messages(&format!("{header}{text}\n"));
    let body = |pragma: &str| found(&format!(".entry k() {{ .pragma \"{pragma}\"; ret; }}"));
    for pragma in
        ["nounroll", "unroll", "frequency 2", "used_bytes_mask 0xf", "enable_smem_spilling", "mma_throughput x"]
    {
        assert_eq!(body(pragma), [""; 0], "{pragma}");
    }
    for argument in [" 0XF", " +2", "  3", " 017"] {
        assert_eq!(body(&format!("frequency{argument}")), [""; 0], "{argument}");
    }
    for argument in ["", " ", " x", " 1 2", " 1.5", " 0x", " 0xg", " 08", " 2 "] {
        let expected = ["the pragma `frequency` is followed by an integer"];
        assert_eq!(body(&format!("frequency{argument}")), expected, "{argument}");
    }
    let head = |pragma: &str| found(&format!(".entry k() .pragma \"{pragma}\"; {{ ret; }}"));
    let module = |pragma: &str| found(&format!(".pragma \"{pragma}\";"));
    for pragma in ["frequency 2", "used_bytes_mask 0xf", "enable_smem_spilling"] {
        let word = pragma.split(' ').next().unwrap();
        let expected = [format!("the pragma `{word}` is for bodies of functions")];
        assert_eq!((&head(pragma)[..], &module(pragma)[..]), (&expected[..], &expected[..]));
    }
    assert_eq!((head("nounroll"), head("unroll"), module("nounroll")), (vec![], vec![], vec![]));
    assert_eq!(module("unroll"), ["there is no pragma \"unroll\" for modules"]);
}

#[test]
fn sections_and_pointers_have_floors() {
    let section = |version: &str, line: &str| {
        messages(&format!(".version {version} .target sm_75\n.section .debug_x {{\n{line}\n}}\n"))
    };
    assert_eq!(section("6.4", "label:\n.b8 1"), ["a label in a section needs PTX 7.0, and this is PTX 6.4"]);
    assert_eq!(section("7.4", ".b8 -1"), ["a negative number in a section needs PTX 7.5, and this is PTX 7.4"]);
    assert_eq!((section("7.0", "label:\n.b8 1"), section("7.5", ".b8 -1")), (vec![], vec![]));
    let pointer = |version: &str, space: &str| {
        let options = ".target sm_20, texmode_independent";
        messages(&format!(".version {version} {options}\n.entry k(.param .u64 .ptr {space} a) {{ ret; }}\n"))
    };
    for space in [".texref", ".samplerref", ".surfref"] {
        let expected = ["a pointer to a texture, sampler or surface needs PTX 4.3, and this is PTX 3.2"];
        assert_eq!((pointer("3.2", space), pointer("4.3", space)), (expected.map(str::to_owned).to_vec(), vec![]));
    }
    assert_eq!(pointer("3.2", ".global .align 4"), [""; 0]);
}

#[test]
fn directives_require_others() {
    let found =
        |directives: &str| messages(&format!(".version 9.0 .target sm_90\n.entry k() {directives} {{ ret; }}\n"));
    let both = "`.blocksareclusters` requires `.reqntid` and `.reqnctapercluster`";
    let one = "`.blocksareclusters` requires `.reqnctapercluster`";
    assert_eq!(found(".blocksareclusters"), [both]);
    assert_eq!(found(".reqntid 32 .blocksareclusters"), [one]);
    assert_eq!(found(".blocksareclusters .reqnctapercluster 2 .reqntid 32"), [""; 0]);
}

#[test]
fn common_variables_and_those_with_attributes_are_global() {
    let found = |text: &str| messages(&format!(".version 9.0 .target sm_90\n{text}\n"));
    for space in [".shared", ".const"] {
        assert_eq!(found(&format!(".common {space} .u32 x;")), [format!("a variable in `{space}` is not `.common`")]);
        for attribute in [".managed", ".unified(1, 2)"] {
            let name = attribute.split('(').next().unwrap();
            let expected = [format!("a variable in `{space}` has no attribute `{name}`")];
            assert_eq!(found(&format!("{space} .attribute({attribute}) .u32 x;")), expected);
            assert_eq!(found(&format!(".global .attribute({attribute}) .u32 x;")), [""; 0]);
        }
    }
}

#[test]
fn unified_memory_is_global() {
    let take = |space: &str| format!("ld{space}.u32 r0, [a0].unified;");
    for (space, expected) in [("", 0), (".global", 0), (".shared", 1), (".const", 1), (".local", 1), (".param", 1)] {
        assert_eq!(errors("sm_90", "", &take(space)), expected, "ld{space}");
    }
    assert_eq!(errors("sm_90", ".global .u32 g;", "ld.global.u32 r0, [g].unified;"), 1);
    assert_eq!(errors("sm_90", "", "atom.shared.add.u32 r0, [a0].unified, r1;"), 1);
    assert_eq!(errors("sm_90", "", "atom.global.add.u32 r0, [a0].unified, r1;"), 0);
}

#[test]
fn banks_but_the_first_have_external_arrays_of_unknown_length() {
    let found = |version: &str, text: &str| {
        let module = format!(".version {version}\n.target sm_10\n{text}\n");
        check(&TABLE, module.as_bytes(), &Options::default()).diagnostics.len()
    };
    for text in [".const[0] .u32 a;", ".extern .const[10] .b32 a[];", ".extern .const[1] .align 8 .b32 a[], b[];"] {
        assert_eq!((found("1.4", text), found("2.1", text), found("2.2", text)), (1, 0, 1), "{text}");
    }
    for text in [
        ".const[1] .u32 a;",
        ".extern .const[1] .u32 a;",
        ".extern .const[1] .u32 a[4];",
        ".extern .const[11] .u32 a[];",
        ".extern .global[1] .u32 a[];",
        ".const [0] .u32 a;",
    ] {
        assert_eq!(found("2.1", text), 1, "{text}");
    }
}
