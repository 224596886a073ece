//! One warp at a time: arithmetic, shifts and conversions of words against AVX-512 intrinsics.

use std::arch::x86_64::*;
use std::hint::black_box;

use ptx_isa::TABLE;
use ptx_isa::warp::{Level, Operands, Program, Registers, Source};

use crate::measure::{Random, lane_value, level, report};
use crate::warps::{HandStep, HandWarp, Rival, STEPS, hand};

/// Each rival computes 16 lanes of `p` from those of `a`, `b` and `c`.
macro_rules! rivals {
    ($($name:ident |$a:ident, $b:ident, $c:ident| $value:expr;)*) => {$(
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,f16c")]
        unsafe fn $name(warp: &mut HandWarp, step: &HandStep, active: u32) {
            // SAFETY: registers are in range.
            unsafe {
                let source = |register: u32| warp.r32.get_unchecked(register as usize).as_ptr();
                let (x, y, z) = (source(step.a), source(step.b), source(step.c));
                let guard = *warp.pred.get_unchecked(step.guard as usize) & active;
                let part = |i: usize| {
                    let load = |at: *const u32| _mm512_load_si512(at.add(16 * i).cast());
                    let ($a, $b, $c) = (load(x), load(y), load(z));
                    $value
                };
                let (low, high): (__m512i, __m512i) = (part(0), part(1));
                let d = warp.r32.get_unchecked_mut(step.p as usize).as_mut_ptr();
                _mm512_mask_store_epi32(d.cast(), guard as u16, low);
                _mm512_mask_store_epi32(d.add(16).cast(), (guard >> 16) as u16, high);
            }
        }
    )*};
}

/// A float as bits, a NaN the canonical one.
#[inline]
#[target_feature(enable = "avx512f")]
fn canonical(x: __m512) -> __m512i {
    let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
    _mm512_mask_set1_epi32(_mm512_castps_si512(x), nan, 0x7fff_ffff)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn float(x: __m512i) -> __m512 {
    _mm512_castsi512_ps(x)
}

/// Halves, a NaN the canonical one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn canonical_halves(x: __m512i) -> __m512i {
    let magnitude = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
    let nan = _mm512_cmpgt_epu16_mask(magnitude, _mm512_set1_epi16(0x7c00));
    _mm512_mask_blend_epi16(nan, x, _mm512_set1_epi16(0x7fff))
}

/// The sums of 32 halves, a NaN the canonical one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,f16c")]
fn add_halves(a: __m512i, b: __m512i) -> __m512i {
    let widen =
        |x: __m512i| [_mm512_cvtph_ps(_mm512_castsi512_si256(x)), _mm512_cvtph_ps(_mm512_extracti64x4_epi64::<1>(x))];
    let ([a0, a1], [b0, b1]) = (widen(a), widen(b));
    let low = _mm512_cvtps_ph::<0>(_mm512_add_ps(a0, b0));
    let high = _mm512_cvtps_ph::<0>(_mm512_add_ps(a1, b1));
    canonical_halves(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high))
}

/// `a · b + c` of 32 halves, a NaN the canonical one: rounded down and up to floats, of which the one whose last bit is one
/// is rounded to a half as the exact sum would be.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,f16c")]
fn fma_halves(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    let widen =
        |x: __m512i| [_mm512_cvtph_ps(_mm512_castsi512_si256(x)), _mm512_cvtph_ps(_mm512_extracti64x4_epi64::<1>(x))];
    let odd = |a: __m512, b: __m512, c: __m512| {
        let down = _mm512_fmadd_round_ps::<DOWN>(a, b, c);
        let up = _mm512_fmadd_round_ps::<UP>(a, b, c);
        let is_odd = _mm512_test_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
        _mm512_mask_blend_ps(is_odd, up, down)
    };
    let ([a0, a1], [b0, b1], [c0, c1]) = (widen(a), widen(b), widen(c));
    let low = _mm512_cvtps_ph::<0>(odd(a0, b0, c0));
    let high = _mm512_cvtps_ph::<0>(odd(a1, b1, c1));
    canonical_halves(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high))
}

const ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
const UP: i32 = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;

rivals! {
    add |a, b, _c| _mm512_add_epi32(a, b);
    mad |a, b, c| _mm512_add_epi32(_mm512_mullo_epi32(a, b), c);
    majority |a, b, c| _mm512_ternarylogic_epi32::<0xe8>(a, b, c);
    shl |a, b, _c| _mm512_sllv_epi32(a, b);
    funnel |a, b, c| {
        let n = _mm512_and_si512(c, _mm512_set1_epi32(31));
        let rest = _mm512_sub_epi32(_mm512_set1_epi32(31), n);
        _mm512_or_si512(_mm512_sllv_epi32(b, n), _mm512_srlv_epi32(_mm512_srli_epi32::<1>(a), rest))
    };
    min |a, b, _c| _mm512_min_epi32(a, b);
    popc |a, _b, _c| {
        let counts = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
        let digits = _mm512_set1_epi8(15);
        let low = _mm512_shuffle_epi8(counts, _mm512_and_si512(a, digits));
        let high = _mm512_shuffle_epi8(counts, _mm512_and_si512(_mm512_srli_epi32::<4>(a), digits));
        let bytes = _mm512_add_epi8(low, high);
        _mm512_madd_epi16(_mm512_maddubs_epi16(bytes, _mm512_set1_epi8(1)), _mm512_set1_epi16(1))
    };
    fma |a, b, c| canonical(_mm512_fmadd_ps(float(a), float(b), float(c)));
    to_integer |a, _b, _c| {
        let x = float(a);
        let huge = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(x, _mm512_set1_ps(2_147_483_648.0));
        let number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(x, x);
        _mm512_mask_set1_epi32(_mm512_maskz_cvttps_epi32(number, x), huge, i32::MAX)
    };
    div |a, b, _c| canonical(_mm512_div_ps(float(a), float(b)));
    sqrt |a, _b, _c| canonical(_mm512_sqrt_ps(float(a)));
    rcp |a, _b, _c| canonical(_mm512_div_ps(_mm512_set1_ps(1.0), float(a)));
    add_to_zero |a, b, _c| canonical(_mm512_add_round_ps::<ZERO>(float(a), float(b)));
    fma_down |a, b, c| canonical(_mm512_fmadd_round_ps::<DOWN>(float(a), float(b), float(c)));
    add_pairs |a, b, _c| add_halves(a, b);
    fma_pairs |a, b, c| fma_halves(a, b, c);
    permute |a, b, c| {
        // The digits in bytes of their own; the word that a byte is in.
        let digits = _mm512_and_si512(c, _mm512_set1_epi32(0xffff));
        let digits = _mm512_or_si512(digits, _mm512_slli_epi32::<8>(digits));
        let digits = _mm512_and_si512(digits, _mm512_set1_epi32(0x00ff_00ff));
        let digits = _mm512_or_si512(digits, _mm512_slli_epi32::<4>(digits));
        let words = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c));
        let place = _mm512_or_si512(_mm512_and_si512(digits, _mm512_set1_epi8(3)), words);
        let second = _mm512_test_epi8_mask(digits, _mm512_set1_epi8(4));
        let byte = _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(a, place), second, b, place);
        let sign = _mm512_movm_epi8(_mm512_movepi8_mask(byte));
        _mm512_mask_blend_epi8(_mm512_test_epi8_mask(digits, _mm512_set1_epi8(8)), byte, sign)
    };
    add_bytes |a, b, _c| _mm512_add_epi8(a, b);
}

/// Sums of doubles.
#[target_feature(enable = "avx512f")]
unsafe fn add_doubles(warp: &mut HandWarp, step: &HandStep, active: u32) {
    // SAFETY: registers are in range.
    unsafe {
        let source = |register: u32| warp.r64.get_unchecked(register as usize).as_ptr().cast::<f64>();
        let (x, y) = (source(step.a), source(step.b));
        let guard = *warp.pred.get_unchecked(step.guard as usize) & active;
        let part = |i: usize| _mm512_add_pd(_mm512_load_pd(x.add(8 * i)), _mm512_load_pd(y.add(8 * i)));
        let sums = [part(0), part(1), part(2), part(3)];
        let d = warp.r64.get_unchecked_mut(step.p as usize).as_mut_ptr().cast::<f64>();
        _mm512_mask_store_pd(d, guard as u8, sums[0]);
        _mm512_mask_store_pd(d.add(8), (guard >> 8) as u8, sums[1]);
        _mm512_mask_store_pd(d.add(16), (guard >> 16) as u8, sums[2]);
        _mm512_mask_store_pd(d.add(24), (guard >> 24) as u8, sums[3]);
    }
}

/// Floats as halves.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn to_halves(warp: &mut HandWarp, step: &HandStep, active: u32) {
    // SAFETY: registers are in range.
    unsafe {
        let x = warp.r32.get_unchecked(step.a as usize).as_ptr().cast::<f32>();
        let guard = *warp.pred.get_unchecked(step.guard as usize) & active;
        let low = _mm512_cvtps_ph::<0>(_mm512_load_ps(x));
        let high = _mm512_cvtps_ph::<0>(_mm512_load_ps(x.add(16)));
        let halves = canonical_halves(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high));
        let d = warp.r16.get_unchecked_mut(step.p as usize).as_mut_ptr();
        _mm512_mask_storeu_epi16(d.cast(), guard, halves);
    }
}

/// Programs of one form over one warp: ours and the rival's, with the same registers. `table` is a constant behind the
/// registers.
fn row(name: &str, goal: f64, form: &str, table: Option<u64>, level: Level, run: Rival, random: &mut Random) {
    let form = TABLE.form(form).unwrap();
    let bits: Vec<u16> = form.operands().iter().map(|operand| TABLE.ty(operand.ty).bits).collect();
    let count = |wanted: u16| if bits.contains(&wanted) { 64 } else { 0 };
    let registers = Registers { b16: count(16), b32: count(32), b64: count(64), pred: 8 };
    let mut program = Program::at_level(registers, 100, level);
    let read = form.sources().count() - usize::from(table.is_some());
    let mut steps = Vec::new();
    for i in 0..STEPS as u32 {
        let sources = [0; 3].map(|_| random.next() as u32 % 16);
        let (d, guard) = (16 + i % 48, i % 8);
        let mut read: Vec<Source> = sources[..read].iter().map(|source| Source::Register(*source)).collect();
        read.extend(table.map(Source::Constant));
        let operands =
            Operands { guard: Some((guard, false)), destinations: &[Some(d)], sources: &read, ..Operands::default() };
        program.push(form, &operands).unwrap();
        let [a, b, c] = sources;
        steps.push(HandStep { run, p: d, q: d, a, b, c, guard });
    }
    let mut theirs = HandWarp::new();
    let mut warps = program.warps(1);
    for register in 0..64 {
        for lane in 0..32 {
            theirs.r16[register][lane] = lane_value(random, 16) as u16;
            theirs.r32[register][lane] = lane_value(random, 32) as u32;
            theirs.r64[register][lane] = lane_value(random, 64);
        }
        if registers.b16 > 0 {
            *warps.b16_mut(0, register as u32) = theirs.r16[register];
        }
        if registers.b32 > 0 {
            *warps.b32_mut(0, register as u32) = theirs.r32[register];
        }
        if registers.b64 > 0 {
            *warps.b64_mut(0, register as u32) = theirs.r64[register];
        }
    }
    for register in 0..8 {
        theirs.pred[register] = random.next() as u32;
        *warps.pred_mut(0, register as u32) = theirs.pred[register];
    }
    program.run(&mut warps);
    hand(&steps, &mut theirs);
    for register in 0..64 {
        let index = register as usize;
        assert!(registers.b16 == 0 || *warps.b16(0, register) == theirs.r16[index], "{name} r{register}");
        assert!(registers.b32 == 0 || *warps.b32(0, register) == theirs.r32[index], "{name} r{register}");
        assert!(registers.b64 == 0 || *warps.b64(0, register) == theirs.r64[index], "{name} r{register}");
    }
    let mut ours = || black_box(&program).run(black_box(&mut warps));
    let mut rival = || hand(black_box(&steps), black_box(&mut theirs));
    report(&format!("warp {name}, avx512, by hand"), goal, 300, &mut ours, &mut rival);
}

pub(crate) fn rows(random: &mut Random) {
    let Some(level) = level("avx512") else { return };
    let mut row = |goal: f64, form: &str, table: Option<u64>, rival: Rival| {
        row(form, goal, form, table, level, rival, random);
    };
    row(0.9, "add.s32", None, add);
    row(0.9, "mad.lo.s32", None, mad);
    row(0.9, "lop3.b32", Some(0xe8), majority);
    row(0.9, "shl.b32", None, shl);
    row(0.9, "shf.l.wrap.b32", None, funnel);
    row(0.9, "min.s32", None, min);
    row(0.9, "popc.b32", None, popc);
    row(0.9, "fma.rn.f32", None, fma);
    row(0.9, "cvt.rzi.s32.f32", None, to_integer);
    row(0.9, "div.rn.f32", None, div);
    row(0.9, "sqrt.rn.f32", None, sqrt);
    row(0.9, "rcp.rn.f32", None, rcp);
    row(0.9, "add.rz.f32", None, add_to_zero);
    row(0.9, "fma.rm.f32", None, fma_down);
    row(0.9, "add.rn.f64", None, add_doubles);
    row(0.9, "cvt.rn.f16.f32", None, to_halves);
    row(0.9, "prmt.b32", None, permute);
    row(0.7, "add.f16x2", None, add_pairs);
    row(0.7, "fma.rn.f16x2", None, fma_pairs);
    row(0.9, "vadd4.u32.u32.u32", None, add_bytes);
}
