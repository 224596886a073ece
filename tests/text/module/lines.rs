//! Statements of a kernel, line by line: what the assembler was seen to take, and what of operands it refuses.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Severity};
use ptx_isa::text::Options;
use ptx_isa::text::module::{Item, read};

use super::{HEAD, codes, kernel, report};

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
fn a_warning_about_an_element_of_a_vector_is_given_once() {
    let text = kernel(".reg .b16 x<4>; .reg .b32 y; mov.b32 y, {x01, x2};");
    assert_eq!(codes(&report(&text)), [Code::LeadingZeros]);
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

#[test]
fn special_registers_in_vectors_have_their_own_width() {
    for (line, found) in [
        ("mov.b64 b64a, {%tid.x, %tid.y};", Ok(0)),
        ("mov.b64 b64a, {u32a, %laneid};", Ok(0)),
        ("mov.b128 b128a, {%gridid, %clock64};", Ok(0)),
        ("st.global.v2.u32 [u64a], {%tid.x, %laneid};", Ok(2)),
        ("st.global.v2.f32 [u64a], {%tid.x, f32a};", Ok(1)),
        ("st.global.v2.f64 [u64a], {f64a, %clock64};", Ok(1)),
        ("mov.v2.u32 v2, {%tid.x, %tid.y};", Ok(2)),
        ("tex.2d.v4.f32.s32 v4, [u64a, {%tid.x, u32a}];", Ok(1)),
        ("mov.b32 b32a, {%tid.x, %tid.y};", Err(("%tid", "`%tid.x` cannot be read as a `.b16`"))),
        ("mov.b32 b32a, {b16a, %tid.y};", Err(("%tid", "`%tid.y` cannot be read as a `.b16`"))),
        ("mov.b64 b64a, {%gridid, u32a};", Err(("%gridid", "`%gridid` cannot be read as a `.b32`"))),
        (
            "st.global.v2.u64 [u64a], {u64a, %laneid};",
            Err(("%laneid", "`%laneid` is a `.b32` register, and `u64a` beside it is a `.u64` register")),
        ),
        (
            "st.global.v2.u32 [u64a], {%tid, u32a};",
            Err(("%tid", "`%tid` is a special register, and a declared register is expected here")),
        ),
        (
            "st.global.v4.u32 [u64a], %tid;",
            Err(("%tid", "`%tid` is a special register, and a declared register is expected here")),
        ),
        (
            "@%laneid mov.u32 u32a, 0;",
            Err(("%laneid", "`%laneid` is a special register, and a guard is a predicate register")),
        ),
        ("call %laneid;", Err(("%laneid", "`%laneid` is a special register, not a function"))),
        (
            "mbarrier.init.shared.b64 [%laneid], 1;",
            Err(("%laneid", "`%laneid` is a special register, which is not an address")),
        ),
    ] {
        let text = kernel(line);
        let report = report(&text);
        let errors = report.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let errors: Vec<_> = errors.map(|error| (&text[error.span.clone()], &*error.message)).collect();
        match found {
            Ok(warnings) => assert_eq!((errors, report.warnings()), (vec![], warnings), "{line}"),
            Err(error) => assert_eq!(errors, [error], "{line}"),
        }
    }
    // Elements have the minimum versions of what they are.
    let text = kernel("st.global.v2.u64 [u64a], {u64a, %clock64};").replacen(
        ".version 8.6\n.target sm_90",
        ".version 1.5\n.target sm_10",
        1,
    );
    assert!(report(&text).diagnostics.iter().any(|found| found.message.starts_with("`%clock64` needs")), "{text}");
}

#[test]
fn the_result_of_a_vector_of_atomic_operations_may_be_dropped() {
    for (line, verdict) in [
        ("atom.global.v2.f32.add _, [u64a], {f32a, f32b};", Takes),
        ("atom.global.v4.f32.add _, [u64a], {f32a, f32b, f32a, f32b};", Takes),
        ("atom.global.v4.bf16x2.min.noftz _, [u64a], {b32a, b32a, b32a, b32a};", Takes),
        ("atom.global.v2.f32.add {f32a, _}, [u64a], {f32a, f32b};", Takes),
        ("atom.global.v2.f32.add {_, _}, [u64a], {f32a, f32b};", Refuses),
        ("atom.global.v2.f32.add _, [u64a], _;", Refuses),
        ("atom.global.v2.f32.add _, [u64a], {f32a, _};", Refuses),
        ("ld.global.v2.f32 _, [u64a];", Refuses),
        ("red.global.v2.f32.add [u64a], _;", Refuses),
    ] {
        let report = report(&kernel(line));
        assert_eq!(report.errors(), usize::from(verdict == Refuses), "{line}: {:?}", report.diagnostics);
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
