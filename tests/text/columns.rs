//! Statements over any number of threads, against one thread at a time, and against warps.

use ptx_isa::TABLE;
use ptx_isa::table::TypeInfo;
use ptx_isa::text::columns::{self, Column};
use ptx_isa::text::evaluate::{WARP, evaluate};
use ptx_isa::text::{Statement, find};

/// The bits of a register in a thread: small and special numbers, and any others.
fn bits(name: &str, lane: usize, ty: &TypeInfo) -> u128 {
    let seed = name
        .bytes()
        .fold(lane as u128 + 1, |seed, byte| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c) ^ u128::from(byte));
    let word = match lane % 5 {
        0 => (seed >> 7) % 3,
        1 => u128::MAX - seed % 3,
        _ => seed.wrapping_mul(0x2545_f491_4f6c_dd1d_9e37_79b9),
    };
    if ty.bits >= 128 { word } else { word & ((1 << ty.bits) - 1) }
}

const LANES: usize = 75;

fn compare(text: &str) {
    let statement = Statement::parse(&TABLE, text).expect(text);
    let column = |name: &str, ty: &TypeInfo| Column::of(ty.bits, (0..LANES).map(|lane| bits(name, lane, ty)));
    let ours = columns::evaluate(&statement, None, LANES, |name, ty| Ok(column(&name, ty))).expect(text);
    let collective = statement.form().is_collective();
    for start in (0..LANES).step_by(WARP) {
        let there = LANES.min(start + WARP) - start;
        let active = if there == WARP { u32::MAX } else { (1 << there) - 1 };
        let warp = evaluate(&statement, None, active, |name, ty| {
            Ok(core::array::from_fn::<u128, WARP, _>(
                |lane| if lane < there { bits(&name, start + lane, ty) } else { 0 },
            ))
        })
        .expect(text);
        for lane in (0..there).filter(|lane| warp.written >> lane & 1 != 0) {
            for (own, theirs) in ours.list.iter().zip(&warp.list) {
                assert_eq!(
                    (own.bits.get(start + lane), &own.name),
                    (theirs.bits[lane], &theirs.name),
                    "{text}: {lane}"
                );
                let open = own.unspecified.contains(&(start + lane));
                assert_eq!(open, theirs.unspecified >> lane & 1 != 0, "{text}: {lane}");
            }
            if !collective {
                let alone = evaluate(&statement, None, 1, |name, ty| Ok(bits(&name, start + lane, ty))).expect(text);
                assert!(alone.list.iter().zip(&ours.list).all(|(a, b)| a.bits == b.bits.get(start + lane)), "{text}");
            }
        }
        let guard = |lane: usize| ours.guard.as_ref().is_none_or(|guard| guard[start + lane]);
        assert_eq!(
            (0..there).filter(|lane| guard(*lane)).fold(0, |mask, lane| mask | 1_u32 << lane),
            warp.written,
            "{text}"
        );
    }
}

#[test]
fn columns_have_the_bits_of_single_threads_and_of_warps() {
    for text in [
        "fma.rn.f32 d, a, b, c;",
        "setp.lt.and.s32 p|q, a, -3, !c;",
        "setp.lt.s32 p|_, a, b;",
        "@!p add.u32 d, a, 1;",
        "mad.lo.u32 d, a, a, b+4;",
        "addc.cc.u32 d, a, b;",
        "cvt.u8.s32 d, a;",
        "cvt.rn.f16.f32 d, a;",
        "div.u32 d, a, b;",
        "bfi.b64 d, a, b, c, d0;",
        "vadd.s32.s32.s32 d, a.b3, b.h1;",
        "vadd.s32.s32.s32.sat d.h1, a.b3, b.h1, c;",
        "mov.b32 d, {a, b};",
        "mov.b64 {x, y}, d;",
        "add.f16x2 d, a, b;",
        "selp.f64 d, a, b, c;",
        "and.pred p, q, r;",
        "shfl.sync.bfly.b32 d|p, a, 1, 31, 0xffffffff;",
        "ex2.approx.f32 d, a;",
    ] {
        compare(text);
    }
}

/// Every form of the table whose statement is its names.
#[test]
fn every_form_that_is_spelt_by_its_names() {
    let mut compared = 0;
    for form in find::forms(&TABLE, "*", |_, _| true).into_iter().step_by(7) {
        let names: Vec<String> = form.operands().iter().map(|operand| operand.name.to_owned()).collect();
        let text = format!("{} {};", form.mnemonic(), names.join(", "));
        if !form.evaluations().is_empty()
            && !form.is_collective()
            && Statement::parse(&TABLE, &text).is_ok_and(|it| it.form() == form)
        {
            compare(&text);
            compared += 1;
        }
    }
    println!("{compared} forms");
    assert!(compared > 500);
}

#[test]
fn columns_of_other_lengths_are_refused() {
    let statement = Statement::parse(&TABLE, "add.u32 d, a, b;").unwrap();
    let problems =
        columns::evaluate(&statement, None, 3, |name, _| Ok(Column::B32(vec![1; if name == "a" { 3 } else { 4 }])));
    assert_eq!(problems.unwrap_err()[0].to_string(), "`b` has 4 values, and others have 3");
    let none = columns::evaluate(&statement, None, 0, |_, _| Ok(Column::B32(Vec::new()))).unwrap();
    assert_eq!(none.list[0].bits.lanes(), Some(0));
}
