//! Whole modules: what compilers write, what the assembler was seen to do, and what is broken.

mod declarations;
mod lines;
mod mistakes;
mod versions;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Diagnostic, LineIndex, Severity};
use ptx_isa::text::module::{Item, Module, Node, NodeKind, Place, Proceed, Visitor, read, visit};
use ptx_isa::text::{Options, Report, check};

/// Modules as compilers wrote them, each with how many instructions it has.
pub(crate) const MODULES: [(&str, &str, usize); 9] = [
    ("numba float16", include_str!("../../modules/numba-0.30-cmp_all.float16.sm_100.ptx"), 201),
    ("numba uint16", include_str!("../../modules/numba-0.30-cmp_all.uint16.sm_100.ptx"), 48),
    ("numba divmod", include_str!("../../modules/numba-0.30-divmod_.int16.sm_100.ptx"), 51),
    ("numba float32", include_str!("../../modules/numba-0.30-fl.float32.fast.sm_100.ptx"), 106),
    ("nvrtc 11.8", include_str!("../../modules/nvrtc-11.8-compute_35.ptx"), 5976),
    ("nvrtc 13.0", include_str!("../../modules/nvrtc-13.0-compute_90.ptx"), 8353),
    ("rustc", include_str!("../../modules/rustc-1.97-sm_80.ptx"), 858),
    ("triton bf16", include_str!("../../modules/triton-3.7-bf16-sm_90.ptx"), 115),
    ("triton fp16", include_str!("../../modules/triton-3.7-fp16-sm_80.ptx"), 115),
];

pub(crate) const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// Registers of every type, as `a` to `c` behind the type's letter and width.
pub(crate) const REGISTERS: &str = "
    .reg .pred p, q, r, %p<10>;
    .reg .b8 b8a; .reg .b16 b16a; .reg .u16 u16a; .reg .s16 s16a; .reg .f16 f16a; .reg .f16x2 f16x2a;
    .reg .b32 b32a; .reg .u32 u32a, u32b, u32c, %r<10>; .reg .s32 s32a; .reg .f32 f32a, f32b, %f<10>;
    .reg .b64 b64a; .reg .u64 u64a; .reg .s64 s64a; .reg .f64 f64a; .reg .b128 b128a;
    .reg .v2 .u32 v2; .reg .v4 .f32 v4;
";

pub(crate) fn report(text: &str) -> Report {
    check(&TABLE, text.as_bytes(), &Options::default())
}

/// A kernel with these lines, behind `HEAD` and `REGISTERS`.
pub(crate) fn kernel(lines: &str) -> String {
    format!("{HEAD}.global .u32 variable;\n.func function() {{ ret; }}\n.entry kernel() {{{REGISTERS}\n{lines}\n}}\n")
}

pub(crate) fn codes(report: &Report) -> Vec<Code> {
    report.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

/// Each finding as its line, its code and the text it underlines.
pub(crate) fn findings<'a>(text: &'a str, report: &Report) -> Vec<(usize, &'static str, &'a str)> {
    let lines = LineIndex::new(text);
    let found = report.diagnostics.iter();
    found.map(|found| (lines.position(found.span.start).line, found.code.as_str(), &text[found.span.clone()])).collect()
}

#[test]
fn what_compilers_wrote_has_no_error_and_no_warning() {
    for (name, text, instructions) in MODULES {
        let report = report(text);
        // Inline assembly is copied from the author's source, so the compiler is not responsible for it.
        let inline = |at: usize| {
            let begun = text[..at].rfind("// begin inline asm");
            begun.is_some_and(|begun| !text[begun..at].contains("// end inline asm"))
        };
        let own: Vec<_> = report.diagnostics.iter().filter(|found| !inline(found.span.start)).collect();
        assert!(own.is_empty() && report.errors() == 0, "{name}: {:?}", report.diagnostics);
        assert_eq!((report.in_table, report.outside), (instructions, 0), "{name}");
    }
}

#[test]
fn every_statement_is_shown() {
    for (name, text, instructions) in MODULES {
        let mut shown = 0;
        read(&TABLE, text.as_bytes(), &Options::default(), |item, _| {
            shown += usize::from(matches!(item, Item::Statement(_)))
        });
        assert_eq!(shown, instructions, "{name}");
    }
}

#[test]
fn the_frame_of_a_module_is_passed_over() {
    let text = format!(
        "{HEAD}// a comment ; {{\n.file 1 \"a;b{{.cu\", 1, 2\n.global .align 4 .b8 table[2] = {{1, 2}}, next = 5;\n\
         .func a();\n.func b();\n.alias a, b;\n.pragma \"nounroll\", \"nounroll\";\n.visible .func (.param .b32 r) f (.param .b32 a)\n{{\n.reg .pred p; .reg .u32 u; .pragma \"x\", \"y;\";\n\
         .loc 1 2 3\n.loc 1 2 4, function_name $L+0, inlined_at 1 2 3 setp.eq.u32 p, u, u;\n# 7 \"a.c\"\n\
         $L: .param .b32 x; st.param.b32 [x], u; {{ .reg .b32 t; call.uni (x), f, (x); }}\n\
         proto: .callprototype (.param .b32 _) _ (.param .b32 _);\nlist: .branchtargets $L, list;\nbrx.idx u, list;\n\
         mov.b64 {{u, u}}, 0d0000000000000000; // ;\nld.global.v2.u32\n\t{{u, u}},\n\t[table+4];\nsetp.lt.u32 p, u, u;\n}}\n\
         .section .debug_info {{\n.b8 1 // }}\n.b32 .debug_abbrev\n}}\n.section .debug_loc {{ }}\n"
    );
    let report = report(&text);
    assert_eq!(report.diagnostics, [], "{:?}", findings(&text, &report));
    assert_eq!((report.in_table, report.outside), (7, 0));
}

#[test]
fn columns_count_characters_however_long_the_line_is() {
    for length in [0, 1, 255, 256, 257, 511, 512, 513, 2000] {
        let line: String = "aé€𝄞"
            .chars()
            .cycle()
            .scan(0, |bytes, letter| {
                *bytes += letter.len_utf8();
                (*bytes <= length).then_some(letter)
            })
            .collect();
        let text = format!("é\n{line}\nb");
        let index = LineIndex::new(&text);
        for (number, (at, _)) in line.char_indices().chain([(line.len(), ' ')]).enumerate() {
            let place = index.position(3 + at);
            assert_eq!((place.line, place.column), (2, 1 + number), "{length} {at}");
        }
        assert_eq!(index.position(text.len()).line, 3);
    }
}

#[test]
fn the_parts_of_a_module_are_shown_with_their_places() {
    let text = ".version 7.0 .target sm_80 .shared .align 4 .b8 s[24];\n.func (.reg .u32 r) f(.param .align 4 .b8 a[16]);\n\
                .visible .entry k() { .reg .v2 .f32 v; .reg .pred %p<3>; L: @%p1 ld.shared.f32 v.x, [s];\n\
                @%p2 ld.u33 v.x ; mov.f32 v.y, lost; ret; }";
    let mut shown = Vec::new();
    read(&TABLE, text.as_bytes(), &Options::default(), |item, span| {
        let text = &text[span];
        shown.push(match item {
            Item::Declaration(found) | Item::Parameter(found) => match found.place {
                Place::Registers(count) => format!("{} x{} {count:?}: {text}", found.name, found.lanes),
                Place::Memory { space, elements } => format!("{} {} {elements}: {text}", space.name, found.name),
            },
            Item::Prototype(found) => {
                format!("{} {} {}: {text}", found.name, found.results, found.parameters)
            }
            Item::Function(found) => format!("{} {}: {text}", found.name, found.kernel),
            Item::Statement(found) => format!("{found} <- {text}"),
            Item::Label(name) => format!("{name}:"),
            Item::Directive(name) => format!(".{name}: {text}"),
            Item::End => "end".to_owned(),
            Item::Refused(Some(found)) => format!("refused: {found} <- {text}"),
            Item::Refused(None) => format!("refused: {text}"),
        });
    });
    let expected = [
        ".version: .version 7.0",
        ".target: .target sm_80",
        "shared s 24: .shared .align 4 .b8 s[24]",
        "f 1 1: .func (.reg .u32 r) f(.param .align 4 .b8 a[16])",
        "r x1 None: .reg .u32 r",
        "param a 16: .param .align 4 .b8 a[16]",
        "k true: .visible .entry k() {",
        "v x2 None: .reg .v2 .f32 v",
        "%p x1 Some(3): .reg .pred %p<3>",
        "L:",
        "@%p1 ld.shared.f32 v.x, [s]; <- @%p1 ld.shared.f32 v.x, [s];",
        "refused: @%p2 ld.u33 v.x ;",
        "refused: mov.f32 v.y, lost; <- mov.f32 v.y, lost;",
        "ret; <- ret;",
        "end",
    ];
    assert_eq!(shown, expected);
}

/// The nodes of a tree, in order, those within functions behind them.
fn nodes(list: &[Node]) -> Vec<&Node> {
    list.iter()
        .flat_map(|node| match &node.kind {
            NodeKind::Function { body, .. } => [vec![node], nodes(body)].concat(),
            _ => vec![node],
        })
        .collect()
}

#[test]
fn a_module_is_a_tree_that_prints_as_it_was_read() {
    for (name, text, instructions) in MODULES {
        let (module, report) = Module::read(&TABLE, text, &Options::default());
        assert_eq!(module.to_string(), text, "{name}");
        let nodes = nodes(&module.nodes);
        let statements = nodes.iter().filter(|node| matches!(node.kind, NodeKind::Statement(_)));
        assert_eq!(statements.clone().count(), instructions, "{name}");
        for node in statements {
            let statement = node.statement(&TABLE).unwrap_or_else(|error| panic!("{}: {error}", node.text));
            assert!(matches!(node.kind, NodeKind::Statement(form) if form == statement.form()), "{}", node.text);
        }
        assert!(nodes.iter().all(|node| text[node.span.clone()] == node.text), "{name}");
        assert_eq!(report.errors(), 0, "{name}");

        // A text that ends anywhere is a tree, too.
        for part in 1..40 {
            let cut = &text[..text.floor_char_boundary(text.len() * part / 40)];
            assert_eq!(Module::read(&TABLE, cut, &Options::default()).0.to_string(), cut, "{name}");
        }
    }
}

#[test]
fn what_a_tree_has_is_what_the_text_declares() {
    let text = ".version 7.0\n.target sm_80\n.extern .func f(.param .b32 a);\n.visible .global .u32 x, y[2] = {1, 2};\n\
                .visible .entry k() /* one */ {\n  .reg .u32 %r<3>, z; { L: add.s33 z, z, z; ret; }\n} // end\n.entry l() { ret;";
    let (module, report) = Module::read(&TABLE, text, &Options::default());
    assert_eq!(module.to_string(), text);
    assert_eq!(report.errors(), 2);
    let shown: Vec<String> = nodes(&module.nodes)
        .iter()
        .map(|node| match &node.kind {
            NodeKind::Directive(name) => format!(".{name}"),
            NodeKind::Declaration(names) => names.join(" "),
            NodeKind::Prototype(name) => format!("{name}: {}", node.text),
            NodeKind::Function { name, kernel, end, .. } => format!("{name} {kernel} {end:?}: {}", node.text),
            NodeKind::Label => format!("{}:", node.text),
            NodeKind::Statement(form) => form.mnemonic().to_owned(),
        })
        .collect();
    let expected = [
        ".version",
        ".target",
        "f: .extern .func f(.param .b32 a)",
        "x y",
        "k true \" }\\n}\": .visible .entry k() /* one */ {",
        "%r z",
        "L:",
        "ret",
        "l true \"\": .entry l() {",
        "ret",
    ];
    assert_eq!(shown, expected);
}

/// Counts what is found, in full or for its number only.
struct Counting {
    proceed: Proceed,
    findings: Vec<(Severity, usize)>,
}

impl Visitor<'_> for Counting {
    fn finding(&mut self, finding: Diagnostic) -> Proceed {
        self.findings.push((finding.severity, finding.span.start));
        self.proceed
    }
}

#[test]
fn counted_findings_are_those_that_are_explained() {
    let mut found = 0;
    for (name, text, _) in MODULES {
        // Every third statement with a letter of its mnemonic doubled, every third operand's register with another number.
        let spoil = |(number, line): (usize, &str)| match (number % 3, line.trim_start().split_once('.')) {
            (0, Some((opcode, rest))) if !opcode.is_empty() => format!("{opcode}.{}{rest}\n", &rest[..1]),
            (1, _) => line.replacen("%r1", "%q1", 1) + "\n",
            _ => format!("{line}\n"),
        };
        let spoilt: String = text.lines().enumerate().map(spoil).collect();
        let of = |proceed| {
            let mut counting = Counting { proceed, findings: Vec::new() };
            let report = visit(&TABLE, spoilt.as_bytes(), &Options::default(), &mut counting);
            counting.findings.sort_by_key(|(_, start)| *start);
            (counting.findings, report.in_table, report.outside)
        };
        let (explained, counted) = (of(Proceed::Explain), of(Proceed::Count));
        let number = |findings: &[(Severity, usize)]| {
            (findings.len(), findings.iter().filter(|it| it.0 == Severity::Error).count())
        };
        assert_eq!(
            (number(&explained.0), explained.1, explained.2),
            (number(&counted.0), counted.1, counted.2),
            "{name}"
        );
        assert_eq!(explained.0.len(), report(&spoilt).diagnostics.len(), "{name}");
        found += explained.0.len();
    }
    assert!(found > 1000, "{found}");
}
