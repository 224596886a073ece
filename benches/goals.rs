//! The goals of performance, each as a ratio to a rival written by hand, taken in one run: `cargo bench --features simd
//! --bench goals`, and behind `--` a text that the names of the wanted rows have.
//!
//! Ours and the rival run in turns; the ratio is the median over many rounds of rival's time by ours, so that more
//! is better. Outputs are compared before anything is timed, on data with NaNs, subnormals, infinities and zeros.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code, reason = "rivals are written with intrinsics")]
#![allow(missing_docs, reason = "a bench")]
#![allow(
    clippy::missing_transmute_annotations,
    clippy::needless_range_loop,
    clippy::too_many_arguments,
    reason = "rivals as written by hand"
)]

use std::arch::x86_64::*;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ptx_isa::TABLE;
use ptx_isa::slice::{Evaluator, Slice, SliceMut};
use ptx_isa::text::module;
use ptx_isa::warp::{Level, Operands, Program, Registers, Source};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn lane(&mut self, bits: u32) -> u64 {
        let exponent = [0x7c00, 0x7f80_0000, 0x7ff0_0000_0000_0000_u64][bits as usize / 32];
        let value = match self.next() % 10 {
            0 => 0,
            1 => 1 << (bits - 1),
            2 => 1,
            3 => exponent,
            4 => exponent | 1,
            5 => !0,
            6 => 7,
            _ => self.next(),
        };
        value & (u64::MAX >> (64 - bits))
    }
}

/// Data at the alignment of the widest vector, as an emulator would have it.
#[repr(C, align(64))]
struct Line([u8; 64]);

#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Page([u8; 4096]);

fn lanes<T: Copy>(count: usize, mut make: impl FnMut() -> T) -> &'static mut [T] {
    // Arrays start a quarter of a page apart from each other, so that no store waits for a load that looks the same.
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let skipped = MADE.fetch_add(1, Ordering::Relaxed) % 4 * (1024 / size_of::<Line>());
    let bytes = count * size_of::<T>();
    let memory = vec![Page([0; 4096]); bytes.div_ceil(4096) + 1].leak().as_mut_ptr().cast::<Line>();
    // SAFETY: the pages hold `count` integers behind the skipped lines, and live for ever.
    let list = unsafe { std::slice::from_raw_parts_mut(memory.add(skipped).cast::<T>(), count) };
    list.iter_mut().for_each(|lane| *lane = make());
    list
}

const ROUNDS: usize = 61;

/// The median over rounds of the rival's time by ours. What is called is not known when this is compiled, so that no
/// call is left out or moved.
fn ratio(calls: usize, ours: &mut dyn FnMut(), rival: &mut dyn FnMut()) -> (f64, f64) {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..calls {
            work();
        }
        start.elapsed().as_secs_f64() / calls as f64
    };
    time(ours);
    time(rival);
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
        .map(|round| {
            if round % 2 == 0 {
                let ours = time(ours);
                (time(rival) / ours, ours)
            } else {
                let rival = time(rival);
                let ours = time(ours);
                (rival / ours, ours)
            }
        })
        .collect();
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    rounds[ROUNDS / 2]
}

fn report(name: &str, goal: f64, calls: usize, ours: &mut dyn FnMut(), rival: &mut dyn FnMut()) {
    let (value, seconds) = ratio(calls, ours, rival);
    let mark = if value >= goal { "" } else { "  MISSED" };
    println!("ratio {name:<58} {value:>8.3} goal ≥ {goal:<5} ({:.2} ns a call){mark}", seconds * 1e9);
}

fn level(name: &str) -> Option<Level> {
    Level::available().find(|level| level.name() == name)
}

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

fn slices(random: &mut Random) {
    macro_rules! row {
        ($ty:ident $bits:ident $wrap:ident $count:literal: $($level:literal $rival:ident),*) => {
            // As many as three arrays in the first cache allow.
            const LANES: usize = $count;
            let (a, b) = (lanes(LANES, || random.lane($bits::BITS) as $bits), lanes(LANES, || random.lane($bits::BITS) as $bits));
            for i in 0..LANES / 4 { b[4 * i] = a[4 * i]; }
            let form = TABLE.form(concat!("set.lt.u32.", stringify!($ty))).unwrap();
            $(if let Some(level) = level($level) {
                let evaluator = Evaluator::with(form, 90, level, &[], 0).unwrap();
                let (d, e) = (lanes(LANES, || 1_u32), lanes(LANES, || 2_u32));
                // SAFETY: the level is there; the words are read as the lanes they hold.
                let mut rival = || unsafe {
                    $rival(core::mem::transmute(&*a), core::mem::transmute(&*b), e)
                };
                let mut ours = || evaluator.run(LANES, [SliceMut::B32(d), SliceMut::Sink], &[Slice::$wrap(a), Slice::$wrap(b)]);
                ours();
                rival();
                report(concat!("slice set.", stringify!($ty), " ", $level, ", L1, by hand"), 0.95, 400, &mut ours, &mut rival);
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
        let (a, b) = (lanes(count, || random.lane(32) as u32), lanes(count, || random.lane(32) as u32));
        let (d, e) = (lanes(count, || 0_u32), lanes(count, || 0_u32));
        report(
            &format!("slice set.f32 avx512, {name}, roofline"),
            goal,
            calls,
            &mut || evaluator.run(count, [SliceMut::B32(d), SliceMut::Sink], &[Slice::B32(a), Slice::B32(b)]),
            // SAFETY: the level is there; any bits are floats.
            &mut || unsafe { roofline(core::mem::transmute(&*a), core::mem::transmute(&*b), e) },
        );
    }
}

// Warps.

const STEPS: usize = 64;

/// Registers of the rival: what an expert would hold.
#[repr(C, align(64))]
struct HandWarp {
    r32: [[u32; 32]; 64],
    r16: [[u16; 32]; 16],
    pred: [u32; 64],
}

#[derive(Clone, Copy)]
struct HandStep {
    run: unsafe fn(&mut HandWarp, &HandStep, u32),
    p: u32,
    q: u32,
    a: u32,
    b: u32,
    c: u32,
    guard: u32,
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
        let (a, b) = (_mm512_load_si512(a.cast()), _mm512_load_si512(b.cast()));
        let magnitude = _mm512_set1_epi16(0x7fff);
        let (ma, mb) = (_mm512_and_si512(a, magnitude), _mm512_and_si512(b, magnitude));
        let ordered = _mm512_cmple_epu16_mask(_mm512_max_epu16(ma, mb), _mm512_set1_epi16(0x7c00));
        let zero = _mm512_setzero_si512();
        let ka = _mm512_mask_sub_epi16(ma, _mm512_movepi16_mask(a), zero, ma);
        let kb = _mm512_mask_sub_epi16(mb, _mm512_movepi16_mask(b), zero, mb);
        _mm512_mask_cmplt_epi16_mask(ordered, ka, kb)
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
            let magnitude = _mm512_set1_epi16(0x7fff);
            let (ma, mb) = (_mm512_and_si512(a, magnitude), _mm512_and_si512(b, magnitude));
            let ordered = _mm512_cmple_epu16_mask(_mm512_max_epu16(ma, mb), _mm512_set1_epi16(0x7c00));
            let zero = _mm512_setzero_si512();
            let ka = _mm512_mask_sub_epi16(ma, _mm512_movepi16_mask(a), zero, ma);
            let kb = _mm512_mask_sub_epi16(mb, _mm512_movepi16_mask(b), zero, mb);
            u64::from(_mm512_mask_cmplt_epi16_mask(ordered, ka, kb))
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

fn hand(steps: &[HandStep], warp: &mut HandWarp) {
    for step in steps {
        // SAFETY: rivals are chosen by level, registers are in range.
        unsafe { (step.run)(warp, step, u32::MAX) };
    }
}

/// Programs of one form over one warp: ours and the rival's, with the same registers.
fn warp_row(
    name: &str,
    goal: f64,
    form: &str,
    level: Level,
    rival: unsafe fn(&mut HandWarp, &HandStep, u32),
    equal: bool,
    random: &mut Random,
) {
    let form = TABLE.form(form).unwrap();
    let mut program = Program::with_level(Registers { b16: 16, b32: 64, pred: 64, ..Registers::default() }, 90, level);
    let mut steps = Vec::new();
    let two = form.operands[0].second.is_some();
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
    let mut theirs = Box::new(HandWarp { r32: [[0; 32]; 64], r16: [[0; 32]; 16], pred: [0; 64] });
    let mut warp = program.warp();
    for register in 0..16 {
        for lane in 0..32 {
            theirs.r32[register][lane] = random.lane(32) as u32;
            theirs.r16[register][lane] = random.lane(16) as u16;
        }
        *warp.b32_mut(register as u32) = theirs.r32[register];
        *warp.b16_mut(register as u32) = theirs.r16[register];
    }
    for register in 0..64 {
        theirs.pred[register] = random.next() as u32;
        *warp.pred_mut(register as u32) = theirs.pred[register];
    }
    program.run(&mut warp);
    hand(&steps, &mut theirs);
    for register in 0..if two { 64 } else { 32 } {
        assert!(!equal || warp.pred(register) == theirs.pred[register as usize], "{name} p{register}");
    }
    let mut ours = || black_box(&program).run(black_box(&mut warp));
    let mut rival = || hand(black_box(&steps), black_box(&mut theirs));
    report(name, goal, 300, &mut ours, &mut rival);
}

fn warps(random: &mut Random) {
    if let Some(level) = level("avx512") {
        warp_row("warp setp.f32 p|q, avx512, by hand", 0.90, "setp.lt.and.f32", level, setp_f32_512, true, random);
        warp_row("half setp.f16, avx512, by hand", 0.95, "setp.lt.and.f16", level, setp_f16_512, true, random);
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

/// Half comparison against the conversion that the crate `half` ships.
fn halves(random: &mut Random) {
    const LANES: usize = 4096;
    let (a, b) = (lanes(LANES, || random.lane(16) as u16), lanes(LANES, || random.lane(16) as u16));
    for i in 0..LANES / 4 {
        b[4 * i] = a[4 * i];
    }
    macro_rules! row {
        ($form:literal $ty:ident) => {
            let evaluator = Evaluator::new(TABLE.form($form).unwrap(), 90).unwrap();
            let (d, e) = (lanes(LANES / 32, || 0_u32), lanes(LANES / 32, || 0_u32));
            let mut ours =
                || evaluator.run(LANES, [SliceMut::Mask(d), SliceMut::Sink], &[Slice::B16(a), Slice::B16(b)]);
            let mut rival = || {
                for (word, (a, b)) in e.iter_mut().zip(a.chunks(32).zip(b.chunks(32))) {
                    *word = a.iter().zip(b).enumerate().fold(0, |all, (lane, (a, b))| {
                        let (a, b) = (half::$ty::from_bits(*a).to_f32(), half::$ty::from_bits(*b).to_f32());
                        all | u32::from(a < b) << lane
                    });
                }
            };
            ours();
            rival();
            report(concat!($form, ", best level, half::to_f32"), 30.0, 40, &mut ours, &mut rival);
            assert!(d == e);
        };
    }
    row!("setp.lt.f16" f16);
    row!("setp.lt.bf16" bf16);
}

// Video.

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

fn video(random: &mut Random) {
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
        let mut ours = || evaluator.run(LANES, [SliceMut::B32(d), SliceMut::Sink], &sources());
        // SAFETY: the level is there.
        let mut rival = || unsafe {
            match width {
                1 => vset4_512(a, b, c, e, [a1, b1, a2, b2], mask4),
                _ => vset2_512(a, b, c, e, [a1, b1, a2, b2], mask2),
            }
        };
        ours();
        rival();
        report(&format!("{name}, selectors, avx512, by hand"), 0.95, 400, &mut ours, &mut rival);
        assert!(d == e);
        let mut ours = || evaluator.run(LANES, [SliceMut::B32(d), SliceMut::Sink], &sources());
        let mut rival = || {
            for i in 0..LANES {
                let [a, b, c] = [a[i], b[i], c[i]].map(u64::from);
                let words = [a, b, c, selectors[0].into(), selectors[1].into(), selectors[2].into()];
                e[i] = form.evaluate(90, black_box(&words))[0] as u32;
            }
        };
        rival();
        report(&format!("{name}, selectors, avx512, scalar function"), 15.0, 20, &mut ours, &mut rival);
        assert!(d == e);
    }
    let evaluator = Evaluator::with(TABLE.form("vset4.u32.u32.lt").unwrap(), 90, level, &[], 0).unwrap();
    report(
        "vset4.u32.u32.lt, default selectors, avx512, roofline",
        0.85,
        400,
        &mut || evaluator.run(LANES, [SliceMut::B32(d), SliceMut::Sink], &sources()),
        // SAFETY: the level is there.
        &mut || unsafe { roofline3(a, b, c, e) },
    );
}

// Decoded programs against an interpreter that looks at the form in every lane.

#[derive(Clone, Copy, PartialEq)]
enum Op {
    Set,
    Setp,
    Selp,
    Slct,
}

#[derive(Clone, Copy)]
struct PerLane {
    op: Op,
    cmp: u8,
    bool_op: u8,
    ftz: bool,
    ty: u8,
    second: u8,
    d: u8,
    q: u8,
    a: u8,
    b: u8,
    c: u8,
}

const CMP: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];
const TYPES: [&str; 11] = ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"];

impl PerLane {
    fn new(mnemonic: &str, d: u8, q: u8, [a, b, c]: [u8; 3]) -> Option<PerLane> {
        let mut parts = mnemonic.split('.');
        let op = match parts.next()? {
            "set" => Op::Set,
            "setp" => Op::Setp,
            "selp" => Op::Selp,
            "slct" => Op::Slct,
            _ => return None,
        };
        let mut it = PerLane { op, cmp: 0, bool_op: 0, ftz: false, ty: 0, second: u8::MAX, d, q, a, b, c };
        let mut types = 0;
        for part in parts {
            if let Some(cmp) = CMP.iter().position(|cmp| *cmp == part) {
                it.cmp = cmp as u8;
            } else if let Some(bool_op) = ["and", "or", "xor"].iter().position(|op| *op == part) {
                it.bool_op = 1 + bool_op as u8;
            } else if part == "ftz" {
                it.ftz = true;
            } else {
                let ty = TYPES.iter().position(|ty| *ty == part)? as u8;
                if types == 0 {
                    it.ty = ty
                } else {
                    it.second = ty
                }
                types += 1;
            }
        }
        Some(it)
    }
}

struct LaneWarp {
    r16: [[u16; 32]; 16],
    r32: [[u32; 32]; 16],
    r64: [[u64; 32]; 16],
    pred: [u32; 32],
}

fn compare<T: PartialOrd>(cmp: u8, a: T, b: T) -> bool {
    let nan = a.partial_cmp(&b).is_none();
    match cmp {
        0 => a == b,
        1 => !nan && a != b,
        2 | 6 => a < b,
        3 | 7 => a <= b,
        4 | 8 => a > b,
        5 | 9 => a >= b,
        10 => nan || a == b,
        11 => nan || a != b,
        12 => nan || a < b,
        13 => nan || a <= b,
        14 => nan || a > b,
        15 => nan || a >= b,
        16 => !nan,
        _ => nan,
    }
}

fn flushed(x: u32, ftz: bool) -> f32 {
    f32::from_bits(if ftz && x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x })
}

impl LaneWarp {
    #[inline]
    fn word(&self, ty: u8, register: u8, lane: usize) -> u64 {
        match ty {
            0 | 3 | 6 => self.r16[register as usize & 15][lane].into(),
            1 | 4 | 7 | 9 => self.r32[register as usize & 15][lane].into(),
            _ => self.r64[register as usize & 15][lane],
        }
    }

    fn put(&mut self, ty: u8, register: u8, lane: usize, value: u64) {
        match ty {
            0 | 3 | 6 => self.r16[register as usize & 15][lane] = value as u16,
            1 | 4 | 7 | 9 => self.r32[register as usize & 15][lane] = value as u32,
            _ => self.r64[register as usize & 15][lane] = value,
        }
    }

    fn bit(&mut self, register: u8, lane: usize, value: bool) {
        let word = &mut self.pred[register as usize & 31];
        *word = *word & !(1 << lane) | u32::from(value) << lane;
    }

    fn step(&mut self, it: &PerLane) {
        for lane in 0..32 {
            let c = self.pred[it.c as usize & 31] >> lane & 1 != 0;
            match it.op {
                Op::Set | Op::Setp => {
                    let ty = if it.op == Op::Set { it.second } else { it.ty };
                    let (a, b) = (self.word(ty, it.a, lane), self.word(ty, it.b, lane));
                    let t = match ty {
                        6 => compare(it.cmp, a as i16, b as i16),
                        7 => compare(it.cmp, a as i32, b as i32),
                        8 => compare(it.cmp, a as i64, b as i64),
                        9 => compare(it.cmp, flushed(a as u32, it.ftz), flushed(b as u32, it.ftz)),
                        10 => compare(it.cmp, f64::from_bits(a), f64::from_bits(b)),
                        _ => compare(it.cmp, a, b),
                    };
                    let combine = |t: bool| match it.bool_op {
                        0 => t,
                        1 => t & c,
                        2 => t | c,
                        _ => t ^ c,
                    };
                    if it.op == Op::Set {
                        let yes = if it.ty == 9 { 0x3f80_0000 } else { 0xffff_ffff };
                        let value = if combine(t) { yes } else { 0 };
                        self.put(it.ty, it.d, lane, value);
                    } else {
                        self.bit(it.d, lane, combine(t));
                        self.bit(it.q, lane, combine(!t));
                    }
                }
                Op::Selp => {
                    let value = self.word(it.ty, if c { it.a } else { it.b }, lane);
                    self.put(it.ty, it.d, lane, value);
                }
                Op::Slct => {
                    let third = self.r32[it.c as usize & 15][lane];
                    let first = match it.second {
                        9 => flushed(third, it.ftz) >= 0.0,
                        _ => third as i32 >= 0,
                    };
                    let value = self.word(it.ty, if first { it.a } else { it.b }, lane);
                    self.put(it.ty, it.d, lane, value);
                }
            }
        }
    }
}

fn programs(random: &mut Random) {
    let forms: Vec<_> = TABLE
        .forms
        .iter()
        .filter(|form| {
            PerLane::new(form.mnemonic, 0, 0, [0; 3])
                .is_some_and(|it| it.op != Op::Setp || form.operands[0].second.is_some())
        })
        .collect();
    for (name, goal, count, calls) in [
        ("decoded, random forms, a switch in every lane", 25.0, 4096, 2),
        ("decoded, a loop of 64 instructions, a switch in every lane", 50.0, 64, 40),
    ] {
        let mut program = Program::new(Registers { b16: 16, b32: 16, b64: 16, pred: 32 }, 90);
        let mut code = Vec::new();
        for _ in 0..count {
            let form = forms[random.next() as usize % forms.len()];
            let [d, q, a, b, c] = [(); 5].map(|()| (random.next() % 16) as u8);
            let q = 16 + q;
            let it = PerLane::new(form.mnemonic, d, q, [a, b, c]).unwrap();
            let sources = [a, b, c].map(|register| Source::Register(register.into()));
            let destinations = [Some(d.into()), Some(q.into())];
            program
                .push(
                    form,
                    &Operands {
                        destinations: &destinations[..1 + usize::from(it.op == Op::Setp)],
                        sources: &sources[..form.sources().count()],
                        ..Operands::default()
                    },
                )
                .unwrap();
            code.push(it);
        }
        let mut warp = program.warp();
        let mut theirs =
            Box::new(LaneWarp { r16: [[0; 32]; 16], r32: [[0; 32]; 16], r64: [[0; 32]; 16], pred: [0; 32] });
        for register in 0..16 {
            for lane in 0..32 {
                theirs.r16[register][lane] = random.lane(16) as u16;
                theirs.r32[register][lane] = random.lane(32) as u32;
                theirs.r64[register][lane] = random.lane(64);
            }
            *warp.b16_mut(register as u32) = theirs.r16[register];
            *warp.b32_mut(register as u32) = theirs.r32[register];
            *warp.b64_mut(register as u32) = theirs.r64[register];
        }
        for register in 0..32 {
            theirs.pred[register] = random.next() as u32;
            *warp.pred_mut(register as u32) = theirs.pred[register];
        }
        let mut ours = || black_box(&program).run(black_box(&mut warp));
        let mut rival = || black_box(&code).iter().for_each(|it| black_box(&mut *theirs).step(it));
        ours();
        rival();
        report(name, goal, calls, &mut ours, &mut rival);
        for register in 0..16 {
            assert_eq!(*warp.b16(register), theirs.r16[register as usize]);
            assert_eq!(*warp.b32(register), theirs.r32[register as usize]);
            assert_eq!(*warp.b64(register), theirs.r64[register as usize]);
        }
        (0..32).for_each(|register| assert_eq!(warp.pred(register), theirs.pred[register as usize]));
    }
}

// Mnemonics.

fn mnemonics(random: &mut Random) {
    let names: Vec<&'static str> = TABLE.forms.iter().map(|form| form.mnemonic).collect();
    let fx: rustc_hash::FxHashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (*name, i)).collect();
    let state = phf_generator::generate_hash(&names);
    let entries: Vec<(&'static str, usize)> = state.map.iter().map(|i| (names[*i], *i)).collect();
    let phf: phf::Map<&'static str, usize> =
        phf::Map { key: state.key, disps: state.disps.leak(), entries: entries.leak() };
    // Texts of their own, in random order, as a reader would have them.
    let queries: Vec<String> = (0..8192).map(|_| names[random.next() as usize % names.len()].to_owned()).collect();
    let sum = |find: &dyn Fn(&str) -> Option<usize>| queries.iter().map(|q| find(q).unwrap()).sum::<usize>();
    let ours = |q: &str| TABLE.form_index(q);
    assert_eq!(sum(&ours), sum(&|q| fx.get(q).copied()));
    assert_eq!(sum(&ours), sum(&|q| phf.get(q).copied()));
    let mut ours = || {
        black_box(black_box(&queries).iter().map(|q| TABLE.form_index(q).unwrap()).sum::<usize>());
    };
    report("mnemonic to form, FxHashMap", 1.5, 4, &mut ours, &mut || {
        black_box(black_box(&queries).iter().map(|q| *fx.get(q.as_str()).unwrap()).sum::<usize>());
    });
    report("mnemonic to form, phf", 3.0, 4, &mut ours, &mut || {
        black_box(black_box(&queries).iter().map(|q| *phf.get(q.as_str()).unwrap()).sum::<usize>());
    });
}

// Text.

/// A module of so many statements of the table, in forms drawn at random, as a compiler would write it.
fn module(random: &mut Random, statements: usize) -> String {
    let registers = |set: u64| TABLE.types[set.trailing_zeros() as usize].name;
    let mut text = String::from(".version 9.0\n.target sm_100\n.address_size 64\n\n.visible .entry kernel()\n{\n");
    text += "\t.reg .pred \t%q_<100>;\n";
    let declared = TABLE.types.iter().filter(|ty| ty.registers != 0).map(|ty| registers(ty.registers));
    for ty in std::collections::BTreeSet::from_iter(declared.chain(["pred"])) {
        text += &format!("\t.reg .{ty} \t%{ty}_<100>;\n");
    }
    // Forms that the manual lists: of the others each would have a warning.
    let forms: Vec<_> = TABLE.forms.iter().filter(|form| form.lenient.is_none()).collect();
    for _ in 0..statements {
        let form = forms[random.next() as usize % forms.len()];
        let mut register = |ty: &str| format!("%{ty}_{}", random.next() % 100);
        let operands = form.operands.iter().filter(|operand| !operand.optional).map(|operand| {
            let second = operand.second.as_ref().map_or(String::new(), |_| format!("|{}", register("q")));
            register(registers(operand.registers)) + &second
        });
        let operands = operands.collect::<Vec<_>>().join(", ");
        let guard = if random.next().is_multiple_of(8) { "@%pred_0 " } else { "" };
        text += &format!("\t{guard}{} \t{operands};\n", form.mnemonic);
    }
    text + "}\n"
}

fn text(random: &mut Random) {
    const STATEMENTS: usize = 20_000;
    let text = module(random, STATEMENTS);
    let read = |text: &str| {
        let mut statements = 0;
        let report = module::read(&TABLE, text.as_bytes(), &module::Options::default(), |statement| {
            black_box(statement);
            statements += 1;
        });
        (statements, report)
    };
    let (statements, found) = read(&text);
    assert_eq!((statements, found.diagnostics.first()), (STATEMENTS, None));
    let split = |text: &str| {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
            black_box(&text[start..end]);
            start = end + 1;
        }
    };
    let mut ours = || {
        black_box(read(black_box(&text)));
    };
    report("text to validated instructions, lines with memchr", 0.04, 1, &mut ours, &mut || split(black_box(&text)));
}

fn main() {
    // `cargo bench --bench goals -- text` runs the parts whose names contain `text`.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let mut random = Random(7);
    println!("levels: {:?}", Level::available().collect::<Vec<_>>());
    let mut part = |name: &str, run: fn(&mut Random)| {
        if name.contains(&wanted) {
            run(&mut random);
        }
    };
    part("slices", slices);
    part("warps", warps);
    part("halves", halves);
    part("video", video);
    part("programs", programs);
    part("mnemonics", mnemonics);
    part("text", text);
}
