//! Whole modules: what compilers write, what the assembler was seen to do, and what is broken.

mod statements;

use std::time::{Duration, Instant};

use proptest::prelude::*;
use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Diagnostic, LineIndex, Severity};
use ptx_isa::selector::Permission;
use ptx_isa::table::{FormInfo, Operand};
use ptx_isa::target::{Target, Version};
use ptx_isa::text::module::{Item, Module, Node, NodeKind, Place, Proceed, Visitor, read, visit};
use ptx_isa::text::{Options, Report, check};

/// Modules as compilers wrote them, each with how many instructions it has.
const MODULES: [(&str, &str, usize); 9] = [
    ("numba float16", include_str!("modules/numba-0.30-cmp_all.float16.sm_100.ptx"), 201),
    ("numba uint16", include_str!("modules/numba-0.30-cmp_all.uint16.sm_100.ptx"), 48),
    ("numba divmod", include_str!("modules/numba-0.30-divmod_.int16.sm_100.ptx"), 51),
    ("numba float32", include_str!("modules/numba-0.30-fl.float32.fast.sm_100.ptx"), 106),
    ("nvrtc 11.8", include_str!("modules/nvrtc-11.8-compute_35.ptx"), 5976),
    ("nvrtc 13.0", include_str!("modules/nvrtc-13.0-compute_90.ptx"), 8353),
    ("rustc", include_str!("modules/rustc-1.97-sm_80.ptx"), 858),
    ("triton bf16", include_str!("modules/triton-3.7-bf16-sm_90.ptx"), 115),
    ("triton fp16", include_str!("modules/triton-3.7-fp16-sm_80.ptx"), 115),
];

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// Registers of every type, as `a` to `c` behind the type's letter and width.
const REGISTERS: &str = "
    .reg .pred p, q, r, %p<10>;
    .reg .b8 b8a; .reg .b16 b16a; .reg .u16 u16a; .reg .s16 s16a; .reg .f16 f16a; .reg .f16x2 f16x2a;
    .reg .b32 b32a; .reg .u32 u32a, u32b, u32c, %r<10>; .reg .s32 s32a; .reg .f32 f32a, f32b, %f<10>;
    .reg .b64 b64a; .reg .u64 u64a; .reg .s64 s64a; .reg .f64 f64a; .reg .b128 b128a;
    .reg .v2 .u32 v2; .reg .v4 .f32 v4;
";

fn report(text: &str) -> Report {
    check(&TABLE, text.as_bytes(), &Options::default())
}

/// A kernel with these lines, behind `HEAD` and `REGISTERS`.
fn kernel(lines: &str) -> String {
    format!("{HEAD}.global .u32 variable;\n.func function() {{ ret; }}\n.entry kernel() {{{REGISTERS}\n{lines}\n}}\n")
}

fn codes(report: &Report) -> Vec<Code> {
    report.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

/// Each finding as its line, its code and the text it underlines.
fn findings<'a>(text: &'a str, report: &Report) -> Vec<(usize, &'static str, &'a str)> {
    let lines = LineIndex::new(text);
    let found = report.diagnostics.iter();
    found.map(|found| (lines.position(found.span.start).line, found.code.as_str(), &text[found.span.clone()])).collect()
}

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
fn a_target_has_options() {
    let sampler = ".version 8.6\n.target sm_90, texmode_independent\n.address_size 64\n.global .samplerref x;\n";
    assert_eq!(findings(sampler, &report(sampler)), []);
    for (text, at) in [
        (
            ".version 8.6\n.target sm_90, texmode_unified, texmode_independent\n",
            ".target sm_90, texmode_unified, texmode_independent",
        ),
        (".version 8.6\n.target sm_90, texmode\n", "texmode"),
        (".version 8.6\n.target sm_90, debug\n.entry k() { ret; }\n", ".target sm_90, debug"),
    ] {
        assert_eq!(findings(text, &report(text)), [(2, "target", at)]);
    }
    let old = ".version 1.4\n.target sm_13, texmode_independent\n";
    assert_eq!(findings(old, &report(old)), [(2, "ptx-version", ".target sm_13, texmode_independent")]);
    let debug = ".version 8.6\n.target sm_90, debug\n.entry k() { ret; }\n.section .debug_info { .b8 0 }\n";
    assert_eq!(findings(debug, &report(debug)), []);
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

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Takes,
    Warns,
    Refuses,
}
use Verdict::{Refuses, Takes, Warns};

#[test]
fn lines_get_the_assemblers_verdict() {
    for (line, verdict) in [
        // Forms.
        ("setp.eq.b32 p, b32a, b32a;", Takes),
        ("setp.lt.b32 p, b32a, b32a;", Refuses),
        ("setp.hs.u64 p, u64a, u64a;", Takes),
        ("setp.hs.s64 p, s64a, s64a;", Refuses),
        ("setp.nan.f64 p, f64a, f64a;", Takes),
        ("setp.nan.s32 p, s32a, s32a;", Refuses),
        ("setp.lt.ftz.f16x2 p|q, b32a, b32a;", Takes),
        ("setp.lt.ftz.f64 p, f64a, f64a;", Refuses),
        ("setp.lt.ftz.bf16 p, b16a, b16a;", Refuses),
        ("setp.lt.f16 p|q, b16a, b16a;", Refuses),
        ("setp.lt.bf16 p|q, b16a, b16a;", Refuses),
        ("selp.f16 f16a, f16a, f16a, p;", Refuses),
        ("slct.u32.u32 u32a, u32a, u32a, u32a;", Refuses),
        // Wider than the manual.
        ("set.u32.f32.lt u32a, f32a, f32b;", Warns),
        ("setp.f32.lt p, f32a, f32b;", Warns),
        ("setp.lt.f16x2 p, b32a, b32a;", Warns),
        ("setp.lt.bf16x2 p, b32a, b32a;", Warns),
        ("selp.u32 u32a, u32b, u32c, !p;", Warns),
        ("setp.lt.u32 p|p, u32a, u32b;", Warns),
        ("selp.u32 u32a, u32b, u32c, 1;", Warns),
        ("selp.u32 u32a, u32b, u32c, !1;", Warns),
        ("setp.lt.and.u32 p, u32a, u32b, -1;", Warns),
        ("set .lt.u32.f32 u32a, f32a, f32b;", Warns),
        ("vset2.u32.u32.lt u32a .h1, u32b, u32c, u32a;", Warns),
        ("setp.eq.u32 p, %r1+1, %r2;", Warns),
        ("setp.eq.u32 p, variable+4, %r2;", Warns),
        ("setp.eq.u16 p, %r1+1, u16a;", Warns),
        ("setp.eq.f32 p, %f1+1, %f2;", Warns),
        ("setp.eq.f32 p, function, %f2;", Warns),
        ("@!%p01 setp.eq.u32 p, %r01, %r002;", Warns),
        ("set.lt.u32.f32 u32a|_, f32a, f32b;", Warns),
        ("set.lt.and.u32.f16 u32a, b16a, b16a, 1;", Warns),
        ("setp.lt.and.f16 p, b16a, b16a, 1;", Warns),
        // Refused.
        ("setp.eq.u32 p, %r1-1, %r2;", Refuses),
        ("setp.eq.u32 p, 1+%r1, %r2;", Refuses),
        ("setp.eq.f32 p, %r1+1, %f2;", Refuses),
        ("setp.eq.u32 p, %f1+1, %r2;", Refuses),
        ("setp.eq.f32 p, variable+4, %f2;", Refuses),
        ("setp.eq.u32 p, variable, %r2;", Refuses),
        ("setp.eq.and.u32 p, %r1, %r2, function;", Refuses),
        ("setp.lt.and.bf16 p, b16a, b16a, 1;", Refuses),
        ("setp.lt.and.bf16x2 p|q, b32a, b32a, 1;", Refuses),
        ("set.lt.and.u32.bf16 u32a, b16a, b16a, 1;", Refuses),
        ("set.lt.and.bf16.f32 b16a, f32a, f32a, 1;", Refuses),
        ("vset.u32.u32.lt u32a, %r1+1, u32b;", Refuses),
        ("vset.u32.u32.lt v2.x, u32a, u32b;", Refuses),
        ("vset.u32.u32.lt.add u32a, u32b, u32c, v2.x;", Refuses),
        ("vset.u32.u32.lt u32a, v2.x, u32b;", Refuses),
        ("vset.u32.u32.lt u32a, u32b, 5;", Takes),
        ("WARP_SZ: setp.lt.u32 p, u32a, u32b;", Refuses),
        ("setp.lt.ftz.ftz.f32 p, f32a, f32b;", Refuses),
        ("setp.lt.ge.f32 p, f32a, f32b;", Refuses),
        ("setp.lt.u32 p, u32a, u32b, q;", Refuses),
        ("setp.lt.and.u32 p, u32a, u32b;", Refuses),
        ("setp.lt.u32 _, u32a, u32b;", Takes),
        ("setp.lt.u32 p|_, u32a, u32b;", Takes),
        ("setp.lt.u32 _|p, u32a, u32b;", Takes),
        ("setp.lt.u32 _|_, u32a, u32b;", Refuses),
        ("set.lt.u32.u32 _, u32a, u32b;", Refuses),
        ("selp.u32 _, u32a, u32b, p;", Refuses),
        ("@p setp.lt.u32 q, u32a, u32b;", Takes),
        ("@ ! p setp.lt.u32 q, u32a, u32b;", Takes),
        ("@u32a setp.lt.u32 q, u32a, u32b;", Refuses),
        ("@nowhere setp.lt.u32 q, u32a, u32b;", Refuses),
        ("@1 setp.lt.u32 q, u32a, u32b;", Refuses),
        ("@p @q setp.lt.u32 q, u32a, u32b;", Refuses),
        ("@p label: setp.lt.u32 q, u32a, u32b;", Refuses),
        ("setp.lt.u32 p, %tid.x, u32b;", Refuses),
        ("setp.lt.u32 p, v2, u32b;", Refuses),
        ("setp.lt.u32 p, [u32a], u32b;", Refuses),
        ("setp.lt.u32 p, !u32a, u32b;", Refuses),
        ("setp.lt.u32 p, -u32a, u32b;", Refuses),
        ("vset4.u32.u32.ne.max u32a, u32b, u32c, u32a;", Refuses),
        ("vset4.u32.u32.ne u32a.b3210, u32b.b7777, u32c.b0123, u32a;", Takes),
        ("vset4.u32.u32.ne u32a.b01, u32b, u32c, u32a;", Refuses),
        ("vset4.u32.u32.ne u32a, u32b.b012, u32c, u32a;", Refuses),
        ("vset4.u32.u32.ne u32a, u32b.b0128, u32c, u32a;", Refuses),
        ("vset4.u32.u32.ne u32a, u32b, u32c, u32a.b0;", Refuses),
        ("vset4.u32.u32.ne u32a, 1, u32c, u32a;", Refuses),
        ("vset4.u32.u32.ne u32a, u32b, u32c, 1;", Refuses),
        // Statements.
        ("setp.lt.u32 p, v2.x, v2.g;", Takes),
        ("set.lt.f32.f32 v4.w, v4.r, v4.a;", Takes),
        ("setp.lt.u32 p, v4.x, u32a;", Refuses),
        ("one: two: setp.lt.u32 p, u32a, u32b;", Takes),
        ("{ setp.lt.u32 p, u32a, u32b; } { { } }", Takes),
        ("setp.lt.u32 p, u32a, u32b; selp.u32 u32a, u32b, u32c, p;", Takes),
        ("setp.lt.u32 p, u32a, u32b;;", Refuses),
        (";", Refuses),
        ("setp.lt.u32/**/p,// x\nu32a,\nu32b\n;", Takes),
        ("setp\n.lt\n.u32 p, u32a, u32b;", Warns),
        ("setp. lt.u32 p, u32a, u32b;", Refuses),
        // Register types.
        ("setp.eq.b32 p, f32a, f16x2a;", Takes),
        ("setp.eq.u32 p, s32a, b32a;", Takes),
        ("setp.eq.s32 p, f16x2a, u32a;", Takes),
        ("setp.eq.u32 p, f32a, u32a;", Refuses),
        ("setp.eq.f32 p, b32a, f32a;", Takes),
        ("setp.eq.f32 p, u32a, f32a;", Refuses),
        ("setp.eq.b64 p, f64a, s64a;", Takes),
        ("setp.eq.u64 p, u32a, u64a;", Refuses),
        ("setp.eq.b16 p, f16a, u16a;", Takes),
        ("setp.eq.u16 p, f16a, u16a;", Refuses),
        ("setp.eq.f16 p, f16a, b16a;", Takes),
        ("setp.eq.f16 p, u16a, b16a;", Refuses),
        ("setp.eq.bf16 p, b16a, b16a;", Takes),
        ("setp.eq.bf16 p, f16a, b16a;", Refuses),
        ("setp.eq.bf16x2 p|q, b32a, b32a;", Takes),
        ("setp.eq.bf16x2 p|q, u32a, b32a;", Refuses),
        ("setp.eq.f16x2 p|q, f16x2a, b32a;", Takes),
        ("setp.eq.b16 p, b8a, b16a;", Refuses),
        ("setp.eq.b64 p, b128a, b64a;", Refuses),
        ("setp.eq.u32 u32a, u32a, u32b;", Refuses),
        ("setp.eq.u32 p|u32a, u32a, u32b;", Refuses),
        ("setp.eq.and.u32 p, u32a, u32b, u32c;", Refuses),
        // Constants.
        ("setp.eq.u32 p, u32a, 0x1F;", Takes),
        ("setp.eq.u32 p, u32a, 017;", Takes),
        ("setp.eq.u32 p, u32a, 0b101U;", Takes),
        ("setp.eq.u32 p, u32a, 5u;", Refuses),
        ("setp.eq.u16 p, u16a, -18446744073709551615;", Takes),
        ("setp.eq.u32 p, u32a, (.s64)5 < 3 ? WARP_SZ : ~1;", Takes),
        ("setp.eq.u32 p, u32a, 5/0;", Refuses),
        ("setp.eq.u32 p, u32a, 1.0;", Refuses),
        ("setp.eq.f32 p, f32a, 1;", Refuses),
        ("setp.eq.f32 p, f32a, 1. + .5 * 1e3;", Takes),
        ("setp.eq.f32 p, f32a, 0f3f800000;", Takes),
        ("setp.eq.f32 p, f32a, 0d3ff0000000000000;", Takes),
        ("setp.eq.f32 p, f32a, 0f3f80000;", Refuses),
        ("setp.eq.f32 p, f32a, (0f3f800000) + 1.0;", Takes),
        ("setp.eq.f32 p, f32a, -(0f3f800000);", Takes),
        ("setp.eq.f32 p, f32a, 0f3f800000 + 1.0;", Refuses),
        ("setp.eq.b32 p, b32a, 0f3f800000;", Takes),
        ("setp.eq.b32 p, b32a, 1.0;", Refuses),
        ("setp.eq.b64 p, b64a, 0d3ff0000000000000;", Takes),
        ("setp.eq.b64 p, b64a, 0f3f800000;", Refuses),
        ("setp.eq.f16 p, b16a, 1.0;", Refuses),
        ("setp.eq.bf16x2 p|q, b32a, 1;", Refuses),
        // Bfloats and bytes, which are held in registers of 8 bits only.
        ("cvt.rp.bf16.s8 b16a, b8a;", Takes),
        ("cvt.rzi.u8.bf16 b8a, b16a;", Takes),
        ("cvt.rn.bf16.u8 b16a, u16a;", Refuses),
        ("cvt.rni.s8.bf16 b32a, b16a;", Refuses),
        ("cvt.rn.sat.bf16.u8 b16a, b8a;", Refuses),
        // Outside the table.
        ("set.lt.u32.f16x2 u32a, b32a, b32a;", Takes),
        ("call function;", Takes),
        ("mov.b64 {u32a, u32b}, b64a;", Takes),
    ] {
        let report = report(&kernel(line));
        let errors = report.errors();
        let verdict_here = match (errors, report.warnings()) {
            (0, 0) => Takes,
            (0, _) => Warns,
            _ => Refuses,
        };
        assert_eq!(verdict_here, verdict, "{line}: {:?}", report.diagnostics);
        assert!(errors <= 1, "{line} is reported {errors} times: {:?}", report.diagnostics);
    }
}

#[test]
fn every_form_is_refused_just_below_its_floor() {
    let statement = |form: FormInfo| {
        let name = |operand: &Operand| match &operand.second {
            Some(second) if second.optional != Permission::Yes => format!("{}|{}", operand.name, second.name),
            _ => statements::operand(operand, operand.name),
        };
        // Operands that may be left out have floors of their own.
        let needed = form.operands().iter().filter(|operand| !operand.optional);
        let names = needed.map(|operand| operand.with_around(&name(operand)));
        let free = statements::free(form)?;
        // Free modifiers with floors of their own are tested elsewhere.
        let own = form.floors_with(&free).next().is_none();
        own.then(|| format!("{} {};", form.mnemonic_with(&free), names.collect::<Vec<_>>().join(", ")))
    };
    let verdict = |text: &str, ptx: Version, target: Target| {
        let options = Options { ptx: Some(ptx), target: Some(target) };
        let report = check(&TABLE, text.as_bytes(), &options);
        codes(&report)
            .into_iter()
            .find(|code| matches!(code, Code::PtxVersion | Code::Target))
            .zip(report.diagnostics.iter().map(|diagnostic| diagnostic.severity).max())
    };
    for form in TABLE.forms() {
        let Some(text) = statement(form) else { continue };
        // An undeclared name is taken as a register, whose floor is higher than that of a variable if it holds a
        // texture.
        let needed = form.operands().iter().filter(|operand| !operand.optional);
        let of_register = needed.filter_map(|operand| operand.floor).next_back();
        let floor = of_register.unwrap_or(form.lowest_floor());
        if form.lenient_floor().is_some() {
            let earlier = floor.ptx < form.floor().ptx;
            let wanted = Some((if earlier { Code::PtxVersion } else { Code::Target }, Severity::Warning));
            assert_eq!(verdict(&text, floor.ptx, floor.target()), wanted, "{text}");
        }
        let listed = of_register.unwrap_or(form.floor());
        assert_eq!(verdict(&text, listed.ptx, listed.target()), None, "{text}");
        if let Some(below) = TABLE.versions.iter().rev().find(|version| **version < floor.ptx) {
            assert_eq!(verdict(&text, *below, Target::sm(90)), Some((Code::PtxVersion, Severity::Error)), "{text}");
        }
        if let Some(below) = TABLE.targets.iter().rev().find(|known| known.target.sm < floor.target().sm) {
            let newest = TABLE.versions[TABLE.versions.len() - 1];
            assert_eq!(
                verdict(&text, newest, Target::sm(below.target.sm)),
                Some((Code::Target, Severity::Error)),
                "{text}"
            );
        }
    }
}

#[test]
fn version_and_target_are_checked_themselves() {
    for (head, expected) in [
        (".version 8.6 .target sm_90", None),
        (".version 8.6\n.target sm_80, sm_90, texmode_unified", None),
        (".version 8.6\n.target sm_80\n.target compute_90", None),
        ("// x\n/* y */ .version 8.0\n.target sm_90a", None),
        (".version 8.9\n.target sm_90", Some((Code::PtxVersion, "8.9"))),
        (".version eight\n.target sm_90", Some((Code::PtxVersion, "eight"))),
        (".version 8.6\n.target sm_91", Some((Code::Target, "sm_91"))),
        (".version 8.6\n.target SM_90", Some((Code::Target, "SM_90"))),
        (".version 8.6\n.target sm_90, foo", Some((Code::Target, "foo"))),
        (".version 7.0\n.target sm_90", Some((Code::Target, "sm_90"))),
        (".version 7.7\n.target sm_90", Some((Code::Target, "sm_90"))),
        (".version 7.8\n.target sm_90", None),
        (".version 7.8\n.target sm_90a", Some((Code::Target, "sm_90a"))),
        (".version 8.6", Some((Code::Target, ".entry"))),
        (".target sm_90", Some((Code::PtxVersion, ".target"))),
        (".version 8.6\n.version 8.6\n.target sm_90", Some((Code::Syntax, ".version"))),
        (".version 8.6\n.target sm_90\n.address_size 64\n.target sm_80", Some((Code::Syntax, ".target"))),
        ("", Some((Code::PtxVersion, ".entry"))),
        (".version\n8.6\n.target sm_90", Some((Code::PtxVersion, ".version"))),
        (".version 5.1\n.target sm_70", None),
        (".version 5.0\n.target sm_70", Some((Code::Target, "sm_70"))),
        (".version 8.6\n.target sm_90, texmode_unified, texmode_unified", None),
        (
            ".version 8.6\n.target sm_90, texmode_unified, texmode_independent",
            Some((Code::Target, ".target sm_90, texmode_unified, texmode_independent")),
        ),
        (".version 8.6\n.target sm_90\n.address_size 32", None),
        (".version 8.6\n.target sm_90\n.address_size 16", Some((Code::Syntax, "16"))),
        (".version 8.6\n.target sm_90\n.address_size x", Some((Code::Syntax, "x"))),
        (".version 8.6\n.target sm_90\n.address_size 64\n.address_size 64", Some((Code::Syntax, ".address_size"))),
        (".version 8.6\n.target sm_90\n.reg .u32 r;", Some((Code::PtxVersion, ".reg"))),
    ] {
        let text = format!("{head}\n.entry k() {{ .reg .pred p; .reg .u32 r; setp.eq.u32 p, r, r; }}\n");
        let report = report(&text);
        let found = report.diagnostics.first().map(|found| (found.code, &text[found.span.clone()]));
        assert_eq!(found, expected, "{head}");
        assert!(report.diagnostics.len() <= 1, "{head}: {:?}", report.diagnostics);
    }
}

#[test]
fn the_last_target_counts() {
    let statement = ".entry k() { .reg .pred p; .reg .b16 h; setp.eq.bf16 p, h, h; }";
    assert_eq!(report(&format!(".version 8.6\n.target sm_90\n.target sm_80\n{statement}")).errors(), 1);
    assert_eq!(report(&format!(".version 8.6\n.target sm_80, sm_90\n{statement}")).errors(), 0);
}

#[test]
fn options_override_the_module() {
    let text = kernel("setp.eq.bf16 p, b16a, b16a;");
    let with =
        |ptx: Option<Version>, target: Option<Target>| codes(&check(&TABLE, text.as_bytes(), &Options { ptx, target }));
    assert_eq!(with(None, None), []);
    assert_eq!(with(None, Some(Target::sm(80))), [Code::Target]);
    // The kernel declares a register of 128 bits.
    assert_eq!(with(Some(Version::new(7, 0)), None), [Code::PtxVersion, Code::PtxVersion]);
}

#[test]
fn bare_statements_need_a_version_and_a_target_and_no_declarations() {
    let options = Options { ptx: Some(Version::new(8, 6)), target: Some(Target::sm(90)) };
    let text = "@%p1 setp.lt.u32 %p2, %r1, %r2;\nset.u32.f32.lt a, b, c;\nsetp.lo.s32 p, a, b;\nbar.sync a;\n";
    let bare = check(&TABLE, text.as_bytes(), &options);
    assert_eq!((bare.in_table, bare.outside), (4, 0));
    assert_eq!(codes(&bare), [Code::ModifierOrder, Code::IllegalModifier]);
    assert_eq!(codes(&report(text))[0], Code::PtxVersion);

    let declared = ".reg .f32 a; .reg .u32 b;\nsetp.lt.u32 p, a, b;";
    assert_eq!(codes(&check(&TABLE, declared.as_bytes(), &options)), [Code::UndeclaredRegister]);
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
        (".reg .u32 x<4>, x01;", 0),
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
fn the_frame_of_a_module_is_passed_over() {
    let text = format!(
        "{HEAD}// a comment ; {{\n.file 1 \"a;b{{.cu\", 1, 2\n.global .align 4 .b8 table[2] = {{1, 2}}, next = 5;\n\
         .func a();\n.func b();\n.alias a, b;\n.pragma \"x\", \"y;\";\n.visible .func (.param .b32 r) f (.param .b32 a)\n{{\n.reg .pred p; .reg .u32 u;\n\
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

/// An optional operand may have a higher floor than the form.
#[test]
fn operands_are_refused_below_their_floors() {
    let verdict = |text: &str, ptx: Version, target: Target| {
        let options = Options { ptx: Some(ptx), target: Some(target) };
        codes(&check(&TABLE, text.as_bytes(), &options)).into_iter().find(|code| *code != Code::UndeclaredRegister)
    };
    let mut asking = 0;
    for form in TABLE.forms().filter(|form| form.has_evaluator()) {
        let names: Vec<&str> = form.operands().iter().map(|operand| operand.name).collect();
        for (place, operand) in form.operands().iter().enumerate() {
            let Some(floor) = &operand.floor else { continue };
            let with = |count: usize| format!("{} {};", form.mnemonic(), names[..count].join(", "));
            let (shorter, longer) = (with(place), with(place + 1));
            assert_eq!(verdict(&longer, floor.ptx, floor.target()), None, "{longer}");
            let below = *TABLE.versions.iter().rev().find(|version| **version < floor.ptx).expect("an older one");
            assert_eq!(verdict(&longer, below, floor.target()), Some(Code::PtxVersion), "{longer}");
            assert_eq!(verdict(&longer, floor.ptx, Target::sm(90)), Some(Code::Target), "{longer}");
            assert_eq!(verdict(&shorter, below, Target::sm(90)), None, "{shorter}");
            asking += 1;
        }
    }
    // The third source of `min` and `max`, with and without `.ftz`, `.NaN`.
    assert_eq!(asking, 2 * 2 * 2);
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
fn a_warning_about_an_element_of_a_vector_is_given_once() {
    let text = kernel(".reg .b16 x<4>; .reg .b32 y; mov.b32 y, {x01, x2};");
    assert_eq!(codes(&report(&text)), [Code::LeadingZeros]);
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
fn in_a_vector_a_variable_stands_for_a_register_of_its_type() {
    let declared = ".shared .b32 v, array[4]; .shared .v2 .b32 pair; .shared .f32 float;";
    for (line, found) in [
        ("st.global.v2.u32 [u64a], {u32a, v};", Ok(1)),
        ("st.global.v2.u32 [u64a], {v, pair.x};", Ok(2)),
        ("mov.b64 {v, b32a}, b64a;", Ok(1)),
        ("mov.b64 b64a, {b32a, v};", Ok(1)),
        ("st.global.v2.u32 [u64a], {pair, u32a};", Err("pair")),
        ("st.global.v2.u32 [u64a], {array, u32a};", Err("array")),
        ("st.global.v2.u32 [u64a], {float, u32a};", Err("u32a")),
        ("mov.b64 b64a, {b32a, array};", Err("array")),
        ("mov.b64 b64a, {float, u32a};", Err("u32a")),
        ("add.u32 u32a, u32a, v;", Err("v")),
    ] {
        let text = kernel(&format!("{declared}\n{line}"));
        let report = report(&text);
        let errors = report.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let errors: Vec<&str> = errors.map(|error| &text[error.span.clone()]).collect();
        match found {
            Ok(warnings) => assert_eq!((errors, report.warnings()), (vec![], warnings), "{line}"),
            Err(place) => assert_eq!(errors, [place], "{line}"),
        }
    }
}

/// A cached result for one statement must not be used for a different statement of the same mnemonic.
#[test]
fn statements_of_one_mnemonic_have_operands_of_their_own() {
    let lines = "
        mov.b64 b64a, u64a;
        mov.b64 b64a, {b32a, u32a};
        mov.b64 b64a, {b16a, u16a, b16a, u16a};
        mov.b64 {b16a, u16a, _, _}, b64a;
        mov.b64 {b32a, _}, b64a;
        mov.b64 b64a, {u32a, u32a};";
    let text = kernel(&lines.repeat(2));
    let mut signatures = Vec::new();
    let report = read(&TABLE, text.as_bytes(), &Options::default(), |item, _| {
        if let Item::Statement(statement) = item {
            signatures.push(statement.form().signature());
        }
    });
    assert_eq!(report.diagnostics, []);
    let expected = ["d, a", "d, {a, b}", "d, {a, b, c, e}", "{d, e, f, g}, a", "{d, e}, a", "d, {a, b}"].repeat(2);
    assert_eq!(signatures[1..], expected);
}

#[test]
fn addresses_name_their_space_and_vectors_have_one_type() {
    let lines = [
        ("ld.global.u32 u32a, [variable];", None),
        ("ld.u32 u32a, [variable+4];", None),
        ("ld.shared.u32 u32a, [variable];", Some((Code::OperandType, "variable"))),
        ("ld.global.u32 u32a, [16];", Some((Code::Constant, "ld.global.u32"))),
        ("ld.local.u32 u32a, [16];", None),
        ("ld.global.u32 u32a, [f32a];", Some((Code::OperandType, "f32a"))),
        ("ld.global.v2.u32 {u32a, u32b}, [variable];", None),
        ("ld.global.v2.u32 {u32a, f32a}, [variable];", Some((Code::OperandType, "f32a"))),
        ("ld.global.v2.u32 {u32a, _}, [variable];", None),
        ("ld.global.v2.u32 {_, _}, [variable];", Some((Code::Sink, "{_, _}"))),
        ("ld.global.v4.u32 {u32a, u32b}, [variable];", Some((Code::OperandType, "{u32a, u32b}"))),
        ("ld.global.u32 {u32a}, [variable];", None),
        ("st.global.v2.u32 [variable], {u32a, 5};", None),
        ("ld.relaxed.u32 u32a, [variable];", Some((Code::IllegalModifier, "relaxed"))),
        ("ld.global.shared.u32 u32a, [variable];", Some((Code::DuplicateModifier, "shared"))),
        ("bra there; there:", None),
        ("bra nowhere;", Some((Code::UndeclaredRegister, "nowhere"))),
        ("bra u32a;", Some((Code::OperandType, "u32a"))),
        ("call function;", None),
        ("call function, (u32a);", Some((Code::OperandCount, "function"))),
        ("call kernel;", Some((Code::OperandType, "kernel"))),
        ("call variable;", Some((Code::OperandType, "variable"))),
        ("foo.bar u32a;", Some((Code::UnknownOpcode, "foo"))),
        ("cp.bulk.async u32a;", Some((Code::UnknownOpcode, "cp.bulk.async"))),
        ("bfe.u32 u32a, u32b, 255, 1;", None),
        ("bfe.u32 u32a, u32b, 256, 1;", Some((Code::Constant, "256"))),
        ("barrier.cluster.arrive;", None),
        ("cp.async.ca.shared.global [u32a], [variable], 8;", None),
        ("cp.async.ca.shared.global [u32a], [variable], 12;", Some((Code::Constant, "12"))),
        ("bar.sync 0, 64;", None),
        ("bar.sync 0, 65;", Some((Code::Constant, "65"))),
        ("createpolicy.fractional.L2::evict_last.b64 b64a, 1.0;", None),
        ("createpolicy.fractional.L2::evict_last.b64 b64a, 1.5;", Some((Code::Constant, "1.5"))),
        ("cvta.global.u64 u64a, variable+4;", None),
        ("cvta.shared.u64 u64a, variable+4;", Some((Code::OperandType, "variable"))),
        (".global .texref t; txq.width.b32 b32a, [t];", None),
        (".global .surfref t; txq.width.b32 b32a, [t];", Some((Code::OperandType, "t"))),
        ("txq.width.b32 b32a, [variable];", Some((Code::OperandType, "variable"))),
        (".global .texref t; ld.global.u32 u32a, [t];", Some((Code::OperandType, "t"))),
        (".global .surfref t; suld.b.1d.b32.trap {b32a}, [t, {u32a}];", None),
        (".global .surfref t; suld.b.1d.b32.trap b32a, [t, {u32a}];", None),
        (".global .surfref t; suld.b.2d.b32.trap b32a, [t, {u32a}];", Some((Code::OperandType, "{u32a}"))),
        (".global .texref t; tex.2d.v4.f32.s32 v4, [t, {u32a, u32a, u32a, u32a}];", None),
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [u32a], [u64a], 16, [u32a];", None),
        (
            "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [u32a], [u64a], 16, [u32a];",
            Some((Code::ModifierOrder, "global")),
        ),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {f64a, f64a}, {f64a}, {f64a}, {f64a, f64a};", None),
        (
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {f64a, f64a}, f64a, {f64a}, {f64a, f64a};",
            Some((Code::OperandType, "f64a")),
        ),
    ];
    for (line, expected) in lines {
        // A declaration at module scope precedes the kernel.
        let (outside, inside) = match line.split_once("; ") {
            Some((variable, rest)) if variable.starts_with('.') => (format!("{variable};\n"), rest),
            _ => (String::new(), line),
        };
        let text = kernel(inside).replacen(HEAD, &format!("{HEAD}{outside}"), 1);
        let report = report(&text);
        let errors = report.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let found: Vec<_> = errors.map(|found| (found.code, &text[found.span.clone()])).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{line}: {:?}", report.diagnostics);
    }
}

#[test]
fn free_modifiers_have_floors() {
    for (line, version, target, errors) in [
        ("ld.global.u32 r, [a];", "7.0", "sm_70", 0),
        ("ld.relaxed.cluster.global.u32 r, [a];", "7.8", "sm_90", 0),
        ("txq.width.b32 r, [a];", "3.1", "sm_20", 0),
        ("txq.width.b32 r, [a];", "3.0", "sm_20", 1),
        ("txq.width.b32 r, [t];", "3.0", "sm_20", 0),
        ("ld.relaxed.cluster.global.u32 r, [a];", "7.7", "sm_80", 1),
        ("ld.relaxed.cluster.global.u32 r, [a];", "7.8", "sm_80", 1),
        ("ld.relaxed.gpu.global.u32 r, [a];", "7.8", "sm_80", 0),
    ] {
        let text = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.global .texref t;\n.entry k() {{ .reg .u32 r; .reg .u64 a; {line} }}\n"
        );
        assert_eq!(report(&text).errors(), errors, "{line} {version} {target}");
    }
}

#[test]
fn directives_of_a_head_are_its_kinds() {
    for (head, errors) in [
        (".entry k() .maxntid 32, 2 .minnctapersm 1 { }", 0),
        (".entry k() .maxntid 32, 2, 1, 1 { }", 1),
        (".entry k() .maxntid 0 { }", 1),
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
        (".entrY k(\n.param .u32 a)\n{ .reg .b32 r; mov.b32 r, 1; }", "there is no directive `.entrY`"),
        // A function within another.
        (".entry k() {\n.entry l() { ret; }\nret;\n}", "missing `}` before this kernel: the body of `k` is still open"),
        (".entry k() { ret; }\n{ ret; }", "a block is within a function"),
        (".visible\n", "a function or a variable is expected here, behind its linkage"),
        (".entry k() { .visible ret; }", "a function or a variable is expected here, behind its linkage"),
        (
            ".entry k() { ret; }\n.visible .file 1 \"a\"",
            "a function or a variable is expected here, behind its linkage",
        ),
    ] {
        let text = if text == ".visible\n" { text.to_owned() + ".pragma \"nounroll\";" } else { text.to_owned() };
        assert_eq!(module(&text), [message], "{text}");
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
