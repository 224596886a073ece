//! Video instructions over slices, with selectors and with their defaults.

use std::arch::x86_64::*;
use std::hint::black_box;

use ptx_isa::TABLE;
use ptx_isa::slice::{Evaluator, Slice, SliceMut};

use crate::measure::{Random, lanes, level, report};

/// `vset4.u32.u32.lt` with any selectors, as byte shuffles.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn vset4_512(a: &[u32], b: &[u32], c: &[u32], d: &mut [u32], controls: [u32; 4], mask: u64) {
    // SAFETY: the slices are as long as `d`.
    unsafe {
        let words = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c));
        let [a1, b1, a2, b2] = controls.map(|control| _mm512_or_si512(_mm512_set1_epi32(control as i32), words));
        let one = _mm512_set1_epi8(1);
        let mut i = 0;
        while i + 16 <= d.len() {
            let (x, y) = (_mm512_loadu_si512(a.as_ptr().add(i).cast()), _mm512_loadu_si512(b.as_ptr().add(i).cast()));
            let first = _mm512_or_si512(_mm512_shuffle_epi8(x, a1), _mm512_shuffle_epi8(y, b1));
            let second = _mm512_or_si512(_mm512_shuffle_epi8(x, a2), _mm512_shuffle_epi8(y, b2));
            let t = _mm512_cmplt_epu8_mask(first, second);
            let ones = _mm512_maskz_mov_epi8(t, one);
            let old = _mm512_loadu_si512(c.as_ptr().add(i).cast());
            _mm512_storeu_si512(d.as_mut_ptr().add(i).cast(), _mm512_mask_mov_epi8(old, mask, ones));
            i += 16;
        }
    }
}

/// `vset2.s32.s32.lt` with any selectors, as byte shuffles.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn vset2_512(a: &[u32], b: &[u32], c: &[u32], d: &mut [u32], controls: [u32; 4], mask: u32) {
    // SAFETY: the slices are as long as `d`.
    unsafe {
        let words = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c));
        let [a1, b1, a2, b2] = controls.map(|control| _mm512_or_si512(_mm512_set1_epi32(control as i32), words));
        let one = _mm512_set1_epi16(1);
        let mut i = 0;
        while i + 16 <= d.len() {
            let (x, y) = (_mm512_loadu_si512(a.as_ptr().add(i).cast()), _mm512_loadu_si512(b.as_ptr().add(i).cast()));
            let first = _mm512_or_si512(_mm512_shuffle_epi8(x, a1), _mm512_shuffle_epi8(y, b1));
            let second = _mm512_or_si512(_mm512_shuffle_epi8(x, a2), _mm512_shuffle_epi8(y, b2));
            let t = _mm512_cmplt_epi16_mask(first, second);
            let ones = _mm512_maskz_mov_epi16(t, one);
            let old = _mm512_loadu_si512(c.as_ptr().add(i).cast());
            _mm512_storeu_si512(d.as_mut_ptr().add(i).cast(), _mm512_mask_mov_epi16(old, mask, ones));
            i += 16;
        }
    }
}

/// Reads three arrays and writes one.
#[target_feature(enable = "avx512f")]
unsafe fn roofline3(a: &[u32], b: &[u32], c: &[u32], d: &mut [u32]) {
    let mut i = 0;
    while i + 16 <= d.len() {
        // SAFETY: the slices are as long as `d`.
        unsafe {
            let [a, b, c] = [a, b, c].map(|x| _mm512_loadu_si512(x.as_ptr().add(i).cast()));
            _mm512_storeu_si512(d.as_mut_ptr().add(i).cast(), _mm512_ternarylogic_epi32::<0x96>(a, b, c));
        }
        i += 16;
    }
}

/// Shuffle controls of a selector: bytes of the first source, of the second.
fn controls(lanes: &[u32], width: u32) -> [u32; 2] {
    let mut both = [0, 0];
    for byte in 0..4 {
        let from = lanes[(byte / width) as usize] * width + byte % width;
        both[0] |= if from < 4 { from } else { 0x80 } << (8 * byte);
        both[1] |= if from < 4 { 0x80 } else { from - 4 } << (8 * byte);
    }
    both
}

pub(crate) fn rows(random: &mut Random) {
    const LANES: usize = 2560;
    let Some(level) = level("avx512") else { return };
    let mut source = || lanes(LANES, || random.next() as u32);
    let (a, b, c, d, e) = (source(), source(), source(), source(), source());
    let sources = || [Slice::B32(a), Slice::B32(b), Slice::B32(c)];
    for (name, form, selectors) in [
        ("vset4.u32.u32.lt", "vset4.u32.u32.lt", [0b1011, 0x2705, 0x6143]),
        ("vset2.s32.s32.lt", "vset2.s32.s32.lt", [0b11, 0x03, 0x21]),
    ] {
        let form = TABLE.form(form).unwrap();
        let evaluator = Evaluator::with(form, 90, level, &selectors, 0).unwrap();
        let width = if name.starts_with("vset4") { 1 } else { 2 };
        let digits = |packed: u32| [packed & 15, packed >> 4 & 15, packed >> 8 & 15, packed >> 12 & 15];
        let ([a1, b1], [a2, b2]) = (controls(&digits(selectors[1]), width), controls(&digits(selectors[2]), width));
        let mask4 = (0..16).fold(0, |all, lane| all | u64::from(selectors[0]) << (4 * lane));
        let mask2 = (0..16).fold(0, |all, lane| all | (selectors[0] & 3) << (2 * lane));
        let mut call = evaluator.bind(LANES, [SliceMut::B32(&mut *d)], &sources());
        // SAFETY: the level is there.
        let mut rival = || unsafe {
            match width {
                1 => vset4_512(a, b, c, e, [a1, b1, a2, b2], mask4),
                _ => vset2_512(a, b, c, e, [a1, b1, a2, b2], mask2),
            }
        };
        call.run();
        rival();
        report(&format!("{name}, selectors, avx512, by hand"), 0.95, 400, &mut || call.run(), &mut rival);
        assert!(d == e);
        let mut call = evaluator.bind(LANES, [SliceMut::B32(&mut *d)], &sources());
        let mut rival = || {
            for i in 0..LANES {
                let [a, b, c] = [a[i], b[i], c[i]].map(u128::from);
                let words = [a, b, c, selectors[0].into(), selectors[1].into(), selectors[2].into()];
                e[i] = form.evaluate(90, black_box(&words))[0] as u32;
            }
        };
        rival();
        report(&format!("{name}, selectors, avx512, scalar function"), 15.0, 20, &mut || call.run(), &mut rival);
        assert!(d == e);
    }
    let evaluator = Evaluator::with(TABLE.form("vset4.u32.u32.lt").unwrap(), 90, level, &[], 0).unwrap();
    let mut call = evaluator.bind(LANES, [SliceMut::B32(d)], &sources());
    report(
        "vset4.u32.u32.lt, default selectors, avx512, roofline",
        0.85,
        400,
        &mut || call.run(),
        // SAFETY: the level is there.
        &mut || unsafe { roofline3(a, b, c, e) },
    );
}
