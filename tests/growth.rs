//! The table grows by spec alone: half-precision `set`, logic, `testp`, each as the assembler takes it.
#![cfg(feature = "scalar")]

use half::{bf16, f16};
use ptx_isa::{Form, scalar};

fn forms(opcode: &str, section: &str) -> usize {
    Form::ALL.iter().filter(|form| form.opcode().as_str() == opcode && form.section() == section).count()
}

#[test]
fn every_form_that_the_assembler_takes_is_there() {
    assert_eq!(forms("set", "9.7.7.1"), 2112);
    assert_eq!(forms("set", "9.7.6.1"), 1152 + 32);
    let logic = [("and", "9.7.8.1", 4), ("or", "9.7.8.2", 4), ("xor", "9.7.8.3", 4), ("not", "9.7.8.4", 4)];
    for (opcode, section, count) in logic {
        assert_eq!(forms(opcode, section), count, "{opcode}");
    }
    assert_eq!(forms("cnot", "9.7.8.5"), 3);
    assert_eq!(forms("testp", "9.7.3.1"), 12);
    assert_eq!(forms("vset", "9.7.18.1.4"), 96);
}

#[test]
fn half_set_writes_one_or_all_ones() {
    let (one, two) = (f16::ONE, f16::from_f32_const(2.0));
    assert_eq!(scalar::set_lt_f16_f16(one, two), f16::ONE);
    assert_eq!(scalar::set_lt_bf16_f16(one, two), bf16::ONE);
    assert_eq!(scalar::set_lt_u16_f16(one, two), 0xffff);
    assert_eq!(scalar::set_lt_s32_f16(two, one), 0);
    assert_eq!(scalar::set_lo_f16_u32(1, 2), f16::ONE);
    assert_eq!(scalar::set_lt_f16x2_f16x2([one, two], [two, one]), [f16::ONE, f16::ZERO]);
    assert_eq!(scalar::set_lt_u32_f16x2([one, two], [two, one]), 0xffff);
    assert_eq!(scalar::set_lt_and_u32_f16x2([one, one], [two, two], false), 0);
    assert_eq!(scalar::set_lt_or_s32_f16x2([one, two], [two, one], true), -1);
    let tiny = f16::from_bits(1);
    assert_eq!(scalar::set_ne_ftz_u16_f16(tiny, f16::ZERO), 0);
    assert_eq!(scalar::set_ne_u16_f16(tiny, f16::ZERO), 0xffff);
    assert_eq!(scalar::set_ne_ftz_f16_f32(f32::from_bits(1), 0.0), f16::ZERO);
}

#[test]
fn bits_and_types_agree() {
    let form = |mnemonic: &str| mnemonic.parse::<Form>().unwrap();
    assert_eq!(form("set.lt.bf16.u32").evaluate(&[1, 2])[0], 0x3f80);
    assert_eq!(form("set.lt.and.f16x2.f16x2").evaluate(&[0x3c00_4000, 0x4000_3c00, 1])[0], 0x3c00_0000);
    assert_eq!(form("set.gt.xor.s32.bf16x2").evaluate(&[0x3f80_4000, 0x4000_3f80, 1])[0], 0xffff_0000);
}

#[test]
fn logic_works_on_predicates_and_on_bits() {
    assert!(scalar::and_pred(true, true) && !scalar::xor_pred(true, true));
    assert_eq!(scalar::or_b64(1 << 63, 1), 1 << 63 | 1);
    assert_eq!(scalar::not_b16(0x00ff), 0xff00);
    assert_eq!((scalar::cnot_b32(0), scalar::cnot_b32(7)), (1, 0));
}

#[test]
fn zeros_are_normal_and_infinities_are_numbers() {
    assert!(scalar::testp_normal_f32(-0.0) && !scalar::testp_subnormal_f32(-0.0));
    assert!(scalar::testp_number_f64(f64::INFINITY) && !scalar::testp_finite_f64(f64::INFINITY));
    assert!(scalar::testp_notanumber_f32(f32::NAN) && !scalar::testp_normal_f32(f32::NAN));
    assert!(scalar::testp_subnormal_f64(f64::from_bits(1)) && !scalar::testp_normal_f64(f64::from_bits(1)));
}

#[test]
fn scalar_video_comparison_selects_merges_and_accumulates() {
    let form = |mnemonic: &str| mnemonic.parse::<Form>().unwrap();
    // Sources a, b, c, then the parts of d, a and b: bytes 0 to 3, half-words 4 and 5, all 6.
    let merge = form("vset.s32.u32.lt");
    assert_eq!(merge.evaluate(&[0xffff_ffff, 0, 0, 6, 6, 6])[0], 1, "-1 is less than 0 of the other sign");
    assert_eq!(merge.evaluate(&[0x80_0000, 0x7f00, 0xaabb_ccdd, 1, 2, 1])[0], 0xaabb_01dd);
    assert_eq!(form("vset.u32.u32.lt").evaluate(&[0x80_0000, 0x7f00, 0xaabb_ccdd, 5, 2, 1])[0], 0x0000_ccdd);
    assert_eq!(form("vset.u32.u32.ne.add").evaluate(&[1, 2, 0xffff_ffff, 6, 6])[0], 0);
    // The third source is signed exactly where the first one is.
    assert_eq!(form("vset.s32.u32.ne.min").evaluate(&[1, 2, 0xffff_ffff, 6, 6])[0], 0xffff_ffff);
    assert_eq!(form("vset.u32.s32.ne.min").evaluate(&[1, 2, 0xffff_ffff, 6, 6])[0], 1);
    let c = merge.operands().last().unwrap();
    assert!(c.optional && !form("vset.s32.u32.lt.add").operands().last().unwrap().optional);
}

#[test]
fn floors_follow_the_types() {
    let floor = |mnemonic: &str| {
        let form: Form = mnemonic.parse().unwrap();
        (form.since().to_string(), form.target().to_string())
    };
    let pair = |ptx: &str, sm: &str| (ptx.to_owned(), sm.to_owned());
    assert_eq!(floor("set.lt.f16.u32"), pair("4.2", "sm_53"));
    assert_eq!(floor("set.lt.u16.f16"), pair("6.5", "sm_53"));
    assert_eq!(floor("set.lt.s32.bf16x2"), pair("7.8", "sm_90"));
    assert_eq!(floor("testp.normal.f32"), pair("2.0", "sm_20"));
}

#[test]
fn a_part_to_merge_into_stands_with_all_operands_only() {
    use ptx_isa::text::Statement;
    let parse = |text| Statement::parse(&ptx_isa::TABLE, text).map(|statement| statement.to_string());
    for text in
        ["vset.s32.u32.lt r0, r1, r2;", "vset.s32.u32.lt r0.b0, r1.h1, r2, 5;", "vset.s32.u32.lt.add r0, r1, r2, r3;"]
    {
        let canonical = text.replace(" 5;", " 0x5;");
        assert_eq!(parse(text).as_deref(), Ok(canonical.as_str()));
    }
    let message = |text| parse(text).unwrap_err().message;
    assert_eq!(
        message("vset.s32.u32.lt r0.b0, r1, r2;"),
        "the operand `d` has a `.dsel` only where all operands are written"
    );
    assert_eq!(message("vset.s32.u32.lt r0, r1;"), "`vset.s32.u32.lt` takes 3 to 4 operands, not 2");
    assert_eq!(message("vset.s32.u32.lt.add r0, r1, r2;"), "`vset.s32.u32.lt.add` takes 4 operands, not 3");
    assert_eq!(message("vset.s32.u32.lt r0, r1.b4, r2;"), "`.b4` is not a valid `.asel` of the operand `a`");
    let mut notes = Vec::new();
    Statement::parse_with(&ptx_isa::TABLE, "vset.s32.u32.lt r0, r1, r2, r3;", &mut notes).unwrap();
    assert_eq!(notes.len(), 1, "the assembler takes it, the manual does not list it");
}

#[test]
fn a_mistake_is_explained_by_the_entry_it_is_about() {
    use ptx_isa::text::mnemonic::resolve;
    let reasons = |mnemonic| {
        let refusal = resolve(&ptx_isa::TABLE, mnemonic).unwrap_err();
        refusal.reasons.into_iter().map(|reason| reason.message).collect::<Vec<_>>()
    };
    assert_eq!(reasons("set.lt.u32.b32"), ["`.lt` is for unsigned integers, signed integers and floats"]);
    assert_eq!(reasons("set.lt.ftz.u32.s32"), ["`.ftz` needs `.stype` to be `.f32`"]);
    let f16 = "`.f16` is not a valid `.stype` of `set.CmpOp{.ftz}.dtype.stype d, a, b;`";
    assert_eq!(reasons("set.lt.f32.f16"), [f16]);
}
