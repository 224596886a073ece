//! One warp at a time: `setp` to predicates against intrinsics and against an empty call.

use std::arch::x86_64::*;
use std::hint::black_box;

use ptx_isa::TABLE;
use ptx_isa::warp::{Level, Operands, Program, Registers, Source};

use crate::measure::{Random, lane_value, level, report};

pub(crate) const STEPS: usize = 64;

/// Registers of the rival: what an expert would hold.
#[repr(C, align(64))]
pub(crate) struct HandWarp {
    pub(crate) r32: [[u32; 32]; 64],
    pub(crate) r16: [[u16; 32]; 64],
    pub(crate) pred: [u32; 64],
    pub(crate) r64: [[u64; 32]; 64],
}

impl HandWarp {
    pub(crate) fn new() -> Box<HandWarp> {
        Box::new(HandWarp { r32: [[0; 32]; 64], r16: [[0; 32]; 64], pred: [0; 64], r64: [[0; 32]; 64] })
    }
}

/// Function that runs a step of the rival over the lanes of a mask.
pub(crate) type Rival = unsafe fn(&mut HandWarp, &HandStep, u32);

/// A step of the rival: its destinations, sources and guard.
#[derive(Clone, Copy)]
pub(crate) struct HandStep {
    pub(crate) run: Rival,
    pub(crate) p: u32,
    pub(crate) q: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    pub(crate) guard: u32,
}

macro_rules! setp_rivals {
    ($($name:ident $feature:literal $file:ident |$a:ident, $b:ident| $test:expr;)*) => {$(
        #[target_feature(enable = $feature)]
        unsafe fn $name(warp: &mut HandWarp, step: &HandStep, active: u32) {
            // SAFETY: registers are in range.
            unsafe {
                let $a = warp.$file.get_unchecked(step.a as usize).as_ptr();
                let $b = warp.$file.get_unchecked(step.b as usize).as_ptr();
                let t: u32 = $test;
                let c = *warp.pred.get_unchecked(step.c as usize);
                let guard = *warp.pred.get_unchecked(step.guard as usize) & active;
                let p = warp.pred.get_unchecked_mut(step.p as usize);
                *p = (t & c & guard) | (*p & !guard);
                let q = warp.pred.get_unchecked_mut(step.q as usize);
                *q = (!t & c & guard) | (*q & !guard);
            }
        }
    )*};
}

/// `a < b` of 32 halves with this infinity, compared as integers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1")]
fn less_512(a: __m512i, b: __m512i, infinity: i16) -> u32 {
    let magnitude = _mm512_set1_epi16(0x7fff);
    let (ma, mb) = (_mm512_and_si512(a, magnitude), _mm512_and_si512(b, magnitude));
    let ordered = _mm512_cmple_epu16_mask(_mm512_max_epu16(ma, mb), _mm512_set1_epi16(infinity));
    let zero = _mm512_setzero_si512();
    let ka = _mm512_mask_sub_epi16(ma, _mm512_movepi16_mask(a), zero, ma);
    let kb = _mm512_mask_sub_epi16(mb, _mm512_movepi16_mask(b), zero, mb);
    _mm512_mask_cmplt_epi16_mask(ordered, ka, kb)
}

setp_rivals! {
    setp_f32_512 "avx512f,avx512bw,avx512dq,avx512vl" r32 |a, b| {
        let (a, b) = (a.cast::<f32>(), b.cast::<f32>());
        let low = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_load_ps(a), _mm512_load_ps(b));
        let high = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_load_ps(a.add(16)), _mm512_load_ps(b.add(16)));
        u32::from(low) | u32::from(high) << 16
    };
    setp_f32_256 "avx2,bmi1" r32 |a, b| {
        let (a, b) = (a.cast::<f32>(), b.cast::<f32>());
        let part = |i: usize| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(_mm256_load_ps(a.add(8 * i)), _mm256_load_ps(b.add(8 * i)))) as u32;
        part(0) | part(1) << 8 | part(2) << 16 | part(3) << 24
    };
    setp_f16_512 "avx512f,avx512bw,avx512dq,avx512vl,bmi1" r16 |a, b| {
        less_512(_mm512_load_si512(a.cast()), _mm512_load_si512(b.cast()), 0x7c00)
    };
    setp_bf16_512 "avx512f,avx512bw,avx512dq,avx512vl,bmi1" r16 |a, b| {
        less_512(_mm512_load_si512(a.cast()), _mm512_load_si512(b.cast()), 0x7f80)
    };
    setp_f16_256 "avx2,bmi1" r16 |a, b| {
        let part = |i: usize| {
            let (a, b) = (_mm256_load_si256(a.add(16 * i).cast()), _mm256_load_si256(b.add(16 * i).cast()));
            let magnitude = _mm256_set1_epi16(0x7fff);
            let (ma, mb) = (_mm256_and_si256(a, magnitude), _mm256_and_si256(b, magnitude));
            let nan = _mm256_cmpgt_epi16(_mm256_max_epi16(ma, mb), _mm256_set1_epi16(0x7c00));
            let one = _mm256_set1_epi16(1);
            let ka = _mm256_sign_epi16(ma, _mm256_or_si256(a, one));
            let kb = _mm256_sign_epi16(mb, _mm256_or_si256(b, one));
            _mm256_andnot_si256(nan, _mm256_cmpgt_epi16(kb, ka))
        };
        let bytes = _mm256_permute4x64_epi64::<0xd8>(_mm256_packs_epi16(part(0), part(1)));
        _mm256_movemask_epi8(bytes) as u32
    };
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
unsafe fn setp_f16x2_512(warp: &mut HandWarp, step: &HandStep, active: u32) {
    // SAFETY: registers are in range.
    unsafe {
        let (x, y) =
            (warp.r32.get_unchecked(step.a as usize).as_ptr(), warp.r32.get_unchecked(step.b as usize).as_ptr());
        let part = |i: usize| {
            let (a, b) = (_mm512_load_si512(x.add(16 * i).cast()), _mm512_load_si512(y.add(16 * i).cast()));
            u64::from(less_512(a, b, 0x7c00))
        };
        let both = part(0) | part(1) << 32;
        let c = *warp.pred.get_unchecked(step.c as usize);
        let guard = *warp.pred.get_unchecked(step.guard as usize) & active;
        let p = warp.pred.get_unchecked_mut(step.p as usize);
        *p = (_pext_u64(both, 0x5555_5555_5555_5555) as u32 & c & guard) | (*p & !guard);
        let q = warp.pred.get_unchecked_mut(step.q as usize);
        *q = (_pext_u64(both, 0xaaaa_aaaa_aaaa_aaaa) as u32 & c & guard) | (*q & !guard);
    }
}

unsafe fn empty(_: &mut HandWarp, _: &HandStep, _: u32) {}

pub(crate) fn hand(steps: &[HandStep], warp: &mut HandWarp) {
    for step in steps {
        // SAFETY: rivals are chosen by level, registers are in range.
        unsafe { (step.run)(warp, step, u32::MAX) };
    }
}

/// Programs of one form over one warp: ours and the rival's, with the same registers.
fn warp_row(name: &str, goal: f64, form: &str, level: Level, rival: Rival, equal: bool, random: &mut Random) {
    let form = TABLE.form(form).unwrap();
    let mut program = Program::at_level(Registers { b16: 16, b32: 64, pred: 64, ..Registers::default() }, 90, level);
    let mut steps = Vec::new();
    let two = form.operands()[0].second.is_some();
    for i in 0..STEPS as u32 {
        let [a, b] = [random.next() as u32 % 16, random.next() as u32 % 16];
        let (p, q, c, guard) = (8 + i % 24, 32 + i % 24, i % 4, 4 + i % 4);
        let destinations = [Some(p), Some(q)];
        let sources = [Source::Register(a), Source::Register(b), Source::Register(c)];
        program
            .push(
                form,
                &Operands {
                    guard: Some((guard, false)),
                    destinations: &destinations[..1 + usize::from(two)],
                    sources: &sources,
                    ..Operands::default()
                },
            )
            .unwrap();
        steps.push(HandStep { run: rival, p, q, a, b, c, guard });
    }
    let mut theirs = HandWarp::new();
    let mut warps = program.warps(1);
    for register in 0..16 {
        for lane in 0..32 {
            theirs.r32[register][lane] = lane_value(random, 32) as u32;
            theirs.r16[register][lane] = lane_value(random, 16) as u16;
        }
        *warps.b32_mut(0, register as u32) = theirs.r32[register];
        *warps.b16_mut(0, register as u32) = theirs.r16[register];
    }
    for register in 0..64 {
        theirs.pred[register] = random.next() as u32;
        *warps.pred_mut(0, register as u32) = theirs.pred[register];
    }
    program.run(&mut warps);
    hand(&steps, &mut theirs);
    for register in 0..if two { 64 } else { 32 } {
        assert!(!equal || warps.pred(0, register) == theirs.pred[register as usize], "{name} p{register}");
    }
    let mut ours = || black_box(&program).run(black_box(&mut warps));
    let mut rival = || hand(black_box(&steps), black_box(&mut theirs));
    report(name, goal, 300, &mut ours, &mut rival);
}

pub(crate) fn rows(random: &mut Random) {
    if let Some(level) = level("avx512") {
        warp_row("warp setp.f32 p|q, avx512, by hand", 0.90, "setp.lt.and.f32", level, setp_f32_512, true, random);
        warp_row("half setp.f16, avx512, by hand", 0.95, "setp.lt.and.f16", level, setp_f16_512, true, random);
        warp_row("half setp.bf16, avx512, by hand", 0.90, "setp.lt.and.bf16", level, setp_bf16_512, true, random);
        warp_row("half setp.f16x2, avx512, by hand", 0.85, "setp.lt.and.f16x2", level, setp_f16x2_512, true, random);
        warp_row(
            "one warp call (setp.f32 p|q), avx512, empty call",
            0.667,
            "setp.lt.and.f32",
            level,
            empty,
            false,
            random,
        );
    }
    if let Some(level) = level("avx2") {
        warp_row("warp setp.f32 p|q, avx2, by hand", 0.95, "setp.lt.and.f32", level, setp_f32_256, true, random);
        warp_row("half setp.f16, avx2, by hand", 0.70, "setp.lt.and.f16", level, setp_f16_256, true, random);
    }
}
