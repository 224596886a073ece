//! How good a result is: exact, near to the exact one, or left open by the manual.

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;

const NEWEST: u16 = u16::MAX;

fn form(mnemonic: &str) -> FormInfo {
    TABLE.form(mnemonic).expect("a form of the table")
}

#[test]
fn a_quotient_by_zero_is_left_open() {
    let types = ["u16", "u32", "u64", "s16", "s32", "s64"];
    for form in types.iter().flat_map(|ty| [form(&format!("div.{ty}")), form(&format!("rem.{ty}"))]) {
        for (b, open) in [(0, 1), (1, 0), (5, 0), (0xffff, 0)] {
            assert_eq!(form.unspecified(NEWEST, &[7, b]), [open], "{}: 7, {b}", form.mnemonic());
        }
        let zero = form.evaluate(NEWEST, &[7, 0]);
        assert!(form.admits(NEWEST, &[7, 0], &zero) && form.admits(NEWEST, &[7, 0], &[1234]));
        assert!(!form.admits(NEWEST, &[7, 2], &[1234]));
    }
    // The quotients of floats are all defined, and so is everything else that a thread computes by itself, but `fns` from a bit
    // that there is not.
    assert_eq!(form("fns.b32").unspecified(NEWEST, &[1, 32, 1]), [1]);
    assert_eq!(form("div.rn.f32").unspecified(NEWEST, &[0, 0]), [0]);
    let own = TABLE.forms().filter(|form| form.has_evaluator());
    let open = own.filter(|form| form.evaluations().iter().any(|of| of.unspecified != ptx_isa::table::NO_EVALUATION));
    assert_eq!(open.count(), 13);
}

/// Section 9.7.9.6: the result is undefined if the source lane is inactive or not in the member mask, and in every lane
/// that executes without being in the mask.
#[test]
fn what_is_read_of_a_thread_outside_of_the_mask_is_left_open() {
    let each = |word: u128| [word; 32];
    let down = form("shfl.sync.down.b32");
    let open = |active, mask| down.unspecified_warp(NEWEST, active, &[each(9), each(1), each(31), each(mask)]);
    assert_eq!(open(u32::MAX, 0xffff_ffff), [0, 0]);
    // Thread 7 reads thread 8, which is not in the mask; 31 has nobody above and keeps its own.
    assert_eq!(open(0xff, 0xff), [1 << 7, 0]);
    // Threads 4 to 7 execute and are not in the mask: they learn nothing, nor does thread 3 of thread 4.
    assert_eq!(open(0xff, 0x0f), [0xf8, 0xf0]);
    assert_eq!(form("vote.sync.ballot.b32").unspecified_warp(NEWEST, 0x3, &[each(1), each(1)]), [0x2]);
    assert_eq!(form("elect.sync").unspecified_warp(NEWEST, 0x3, &[each(2)]), [0x1, 0x1]);
    assert_eq!(form("activemask.b32").unspecified_warp(NEWEST, 0x3, &[]), [0]);
}

/// The bounds are the manual's: units in the last place, absolute and relative errors.
#[test]
fn a_machine_may_be_off_by_the_bound_and_no_more() {
    // Tests whether `admits` accepts the exact result plus an offset in units in the last place.
    let beside = |mnemonic: &str, input: u128, places: i64| {
        let form = form(mnemonic);
        let exact = form.evaluate(NEWEST, &[input])[0];
        form.admits(NEWEST, &[input], &[exact.wrapping_add_signed(places.into())])
    };
    let single = |value: f32| u128::from(value.to_bits());
    for (mnemonic, input, places) in [
        // Two units in the last place.
        ("ex2.approx.f32", single(1.3), 2),
        ("rcp.approx.f32", single(3.0), 1),
        // 2^-20.5, where the last place of 0.909 is 2^-24: 11.3 of them.
        ("sin.approx.f32", single(2.0), 11),
        // 2^-23 of 1.22 × 2^0, whose last place is 2^-23.
        ("sqrt.approx.f32", single(1.5), 1),
        // 2^-9.9 of 1.19 in halves: 1.27 places of 2^-10.
        ("ex2.approx.f16", 0x3400, 1),
    ] {
        assert!((-places..=places).all(|off| beside(mnemonic, input, off)), "{mnemonic}");
        assert!(!beside(mnemonic, input, places + 1) && !beside(mnemonic, input, -places - 1), "{mnemonic}");
    }
    // Without an error bound, a result must be exact.
    assert!(!beside("sqrt.rn.f32", single(1.5), 1) && beside("sqrt.rn.f32", single(1.5), 0));
    // Lanes are compared separately: a carry out of the lower one does not make the upper one wrong.
    let (pair, word) = (form("tanh.approx.bf16x2"), 0x3f80_3f80);
    let exact = pair.evaluate(NEWEST, &[word])[0];
    assert!(pair.admits(NEWEST, &[word], &[exact + 1]) && !pair.admits(NEWEST, &[word], &[exact + 0x0010_0000]));
    // NaN is any NaN, and nothing else; infinities are none but themselves.
    let reciprocal = form("rcp.approx.f32");
    assert!(reciprocal.admits(NEWEST, &[0x7fc0_0000], &[0x7fff_ffff]));
    assert!(reciprocal.admits(NEWEST, &[0x7fc0_0000], &[0xffc0_1234]));
    assert!(!reciprocal.admits(NEWEST, &[0x7fc0_0000], &[0]));
    let root = form("rsqrt.approx.f32");
    assert!(root.admits(NEWEST, &[0], &[0x7f80_0000]) && !root.admits(NEWEST, &[0], &[0x7f7f_ffff]));
}
