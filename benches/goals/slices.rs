//! Slices: `set` to all ones or zero, in the first cache against intrinsics, and in all of memory against what it allows.

use std::arch::x86_64::*;

use ptx_isa::TABLE;
use ptx_isa::slice::{Evaluator, Slice, SliceMut};

use crate::measure::{Random, lane_value, lanes, level, report};

// Rivals over slices: `set` to all ones or zero.

macro_rules! set_rivals {
    ($($name:ident $ty:ty, $feature:literal, |$a:ident, $b:ident, $d:ident| $step:literal $body:block)*) => {$(
        #[target_feature(enable = $feature)]
        unsafe fn $name(a: &[$ty], b: &[$ty], d: &mut [u32]) {
            let mut i = 0;
            while i + $step <= d.len() {
                // SAFETY: the slices are as long as `d`.
                unsafe {
                    let ($a, $b, $d) = (a.as_ptr().add(i), b.as_ptr().add(i), d.as_mut_ptr().add(i));
                    $body
                }
                i += $step;
            }
        }
    )*};
}

set_rivals! {
    set_f32_512 f32, "avx512f,avx512bw,avx512dq,avx512vl", |a, b, d| 32 {
        let t = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_loadu_ps(a), _mm512_loadu_ps(b));
        let u = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_loadu_ps(a.add(16)), _mm512_loadu_ps(b.add(16)));
        _mm512_storeu_si512(d.cast(), _mm512_movm_epi32(t));
        _mm512_storeu_si512(d.add(16).cast(), _mm512_movm_epi32(u));
    }
    set_u32_512 u32, "avx512f,avx512bw,avx512dq,avx512vl", |a, b, d| 32 {
        let t = _mm512_cmplt_epu32_mask(_mm512_loadu_si512(a.cast()), _mm512_loadu_si512(b.cast()));
        let u = _mm512_cmplt_epu32_mask(_mm512_loadu_si512(a.add(16).cast()), _mm512_loadu_si512(b.add(16).cast()));
        _mm512_storeu_si512(d.cast(), _mm512_movm_epi32(t));
        _mm512_storeu_si512(d.add(16).cast(), _mm512_movm_epi32(u));
    }
    set_s32_512 u32, "avx512f,avx512bw,avx512dq,avx512vl", |a, b, d| 32 {
        let t = _mm512_cmplt_epi32_mask(_mm512_loadu_si512(a.cast()), _mm512_loadu_si512(b.cast()));
        let u = _mm512_cmplt_epi32_mask(_mm512_loadu_si512(a.add(16).cast()), _mm512_loadu_si512(b.add(16).cast()));
        _mm512_storeu_si512(d.cast(), _mm512_movm_epi32(t));
        _mm512_storeu_si512(d.add(16).cast(), _mm512_movm_epi32(u));
    }
    set_f64_512 f64, "avx512f,avx512bw,avx512dq,avx512vl", |a, b, d| 16 {
        let t = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(_mm512_loadu_pd(a), _mm512_loadu_pd(b));
        let u = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(_mm512_loadu_pd(a.add(8)), _mm512_loadu_pd(b.add(8)));
        _mm512_storeu_si512(d.cast(), _mm512_movm_epi32(_mm512_kunpackb(u.into(), t.into())));
    }
    set_u16_512 u16, "avx512f,avx512bw,avx512dq,avx512vl", |a, b, d| 32 {
        let t = _mm512_cmplt_epu16_mask(_mm512_loadu_si512(a.cast()), _mm512_loadu_si512(b.cast()));
        _mm512_storeu_si512(d.cast(), _mm512_movm_epi32(t as u16));
        _mm512_storeu_si512(d.add(16).cast(), _mm512_movm_epi32((t >> 16) as u16));
    }
    set_f32_256 f32, "avx2", |a, b, d| 8 {
        let t = _mm256_cmp_ps::<_CMP_LT_OQ>(_mm256_loadu_ps(a), _mm256_loadu_ps(b));
        _mm256_storeu_ps(d.cast(), t);
    }
    set_u32_256 u32, "avx2", |a, b, d| 8 {
        let (a, b) = (_mm256_loadu_si256(a.cast()), _mm256_loadu_si256(b.cast()));
        let flip = _mm256_set1_epi32(i32::MIN);
        _mm256_storeu_si256(d.cast(), _mm256_cmpgt_epi32(_mm256_xor_si256(b, flip), _mm256_xor_si256(a, flip)));
    }
    set_s32_256 u32, "avx2", |a, b, d| 8 {
        let (a, b) = (_mm256_loadu_si256(a.cast()), _mm256_loadu_si256(b.cast()));
        _mm256_storeu_si256(d.cast(), _mm256_cmpgt_epi32(b, a));
    }
    set_f64_256 f64, "avx2", |a, b, d| 8 {
        let t = _mm256_cmp_pd::<_CMP_LT_OQ>(_mm256_loadu_pd(a), _mm256_loadu_pd(b));
        let u = _mm256_cmp_pd::<_CMP_LT_OQ>(_mm256_loadu_pd(a.add(4)), _mm256_loadu_pd(b.add(4)));
        let both = _mm256_shuffle_ps::<0x88>(_mm256_castpd_ps(t), _mm256_castpd_ps(u));
        _mm256_storeu_si256(d.cast(), _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(both)));
    }
    set_u16_256 u16, "avx2", |a, b, d| 16 {
        let (a, b) = (_mm256_loadu_si256(a.cast()), _mm256_loadu_si256(b.cast()));
        let flip = _mm256_set1_epi16(i16::MIN);
        let t = _mm256_cmpgt_epi16(_mm256_xor_si256(b, flip), _mm256_xor_si256(a, flip));
        _mm256_storeu_si256(d.cast(), _mm256_cvtepi16_epi32(_mm256_castsi256_si128(t)));
        _mm256_storeu_si256(d.add(8).cast(), _mm256_cvtepi16_epi32(_mm256_extracti128_si256::<1>(t)));
    }
}

/// Reads two arrays and writes one: what memory allows.
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn roofline(a: &[f32], b: &[f32], d: &mut [u32]) {
    let mut i = 0;
    while i + 32 <= d.len() {
        // SAFETY: the slices are as long as `d`.
        unsafe {
            let (a, b, d) = (a.as_ptr().add(i), b.as_ptr().add(i), d.as_mut_ptr().add(i));
            _mm512_storeu_ps(d.cast(), _mm512_or_ps(_mm512_loadu_ps(a), _mm512_loadu_ps(b)));
            _mm512_storeu_ps(d.add(16).cast(), _mm512_or_ps(_mm512_loadu_ps(a.add(16)), _mm512_loadu_ps(b.add(16))));
        }
        i += 32;
    }
}

pub(crate) fn rows(random: &mut Random) {
    macro_rules! row {
        ($ty:ident $bits:ident $wrap:ident $count:literal: $($level:literal $rival:ident),*) => {
            // As many as three arrays in the first cache allow.
            const LANES: usize = $count;
            let mut source = || lanes(LANES, || lane_value(random, $bits::BITS) as $bits);
            let (a, b) = (source(), source());
            for i in 0..LANES / 4 { b[4 * i] = a[4 * i]; }
            let form = TABLE.form(concat!("set.lt.u32.", stringify!($ty))).unwrap();
            $(if let Some(level) = level($level) {
                let evaluator = Evaluator::with(form, 90, level, &[], 0).unwrap();
                let (d, e) = (lanes(LANES, || 1_u32), lanes(LANES, || 2_u32));
                // SAFETY: the level is there; the words are read as the lanes they hold.
                let mut rival = || unsafe {
                    $rival(core::mem::transmute(&*a), core::mem::transmute(&*b), e)
                };
                let mut call = evaluator.bind(LANES, [SliceMut::B32(&mut *d)], &[Slice::$wrap(a), Slice::$wrap(b)]);
                call.run();
                rival();
                report(concat!("slice set.", stringify!($ty), " ", $level, ", L1, by hand"), 0.95, 400, &mut || call.run(), &mut rival);
                assert!(d == e && d.iter().any(|x| *x == 0) && d.iter().any(|x| *x != 0));
            })*
        };
    }
    {
        row!(f32 u32 B32 3584: "avx512" set_f32_512, "avx2" set_f32_256);
    }
    {
        row!(u32 u32 B32 3584: "avx512" set_u32_512, "avx2" set_u32_256);
    }
    {
        row!(s32 u32 B32 3584: "avx512" set_s32_512, "avx2" set_s32_256);
    }
    {
        row!(f64 u64 B64 2048: "avx512" set_f64_512, "avx2" set_f64_256);
    }
    {
        row!(u16 u16 B16 4096: "avx512" set_u16_512, "avx2" set_u16_256);
    }
    let Some(level) = level("avx512") else { return };
    let evaluator = Evaluator::with(TABLE.form("set.lt.u32.f32").unwrap(), 90, level, &[], 0).unwrap();
    for (name, count, calls, goal) in [("L1", 3584, 300, 0.85), ("L2", 32 << 10, 30, 0.95), ("DRAM", 8 << 20, 1, 0.95)]
    {
        let (a, b) = (lanes(count, || lane_value(random, 32) as u32), lanes(count, || lane_value(random, 32) as u32));
        let (d, e) = (lanes(count, || 0_u32), lanes(count, || 0_u32));
        let mut call = evaluator.bind(count, [SliceMut::B32(d)], &[Slice::B32(a), Slice::B32(b)]);
        report(
            &format!("slice set.f32 avx512, {name}, roofline"),
            goal,
            calls,
            &mut || call.run(),
            // SAFETY: the level is there; any bits are floats.
            &mut || unsafe { roofline(core::mem::transmute(&*a), core::mem::transmute(&*b), e) },
        );
    }
}
