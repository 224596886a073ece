//! Approximations of single precision in 32 lanes, bit for bit those of [`approx`](crate::eval::approx).
//!
//! Double precision gives each value with a known error. Where both ends of that interval round to the same float, it is
//! the evaluator's result; the few lanes near the middle of two floats are left to the evaluator. So it matters neither
//! how the polynomials are computed nor whether products and sums are fused.

use core::f64::consts::{FRAC_1_PI, FRAC_1_SQRT_2, LOG2_E};

use super::finish_f64;
use crate::eval::approx as exact;
use crate::eval::rounding::RN;
use crate::lanes::{Kernel, Simd};

/// Bound of the relative distance between what is computed here and what evaluators round: polynomials are good to 2⁻⁴¹·⁵,
/// evaluators to 2⁻⁴⁸.
const ERROR: f64 = 1.0 / (1_u64 << 40) as f64;

/// A sum with it rounds to an integer, which is then in the lowest bits.
const SHIFT: f64 = 1.5 / f64::EPSILON;

/// `a · b + c`, fused where the machine does it.
#[inline(always)]
fn fma(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(all(feature = "std", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return a.mul_add(b, c);
    #[cfg(not(all(feature = "std", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    return a * b + c;
}

/// A polynomial, given by its coefficients, the constant first.
macro_rules! polynomial {
    ($x:ident; $last:literal) => { $last };
    ($x:ident; $first:literal $($rest:literal)+) => { fma(polynomial!($x; $($rest)+), $x, $first) };
}

/// Lanes whose interval has two floats, `low` and `high`: the evaluator decides.
#[cold]
#[inline(never)]
fn settle<const N: usize>(x: &[u32; N], low: &mut [u32; N], high: &[u32; N], evaluator: fn(f32) -> f32) {
    for ((x, low), high) in x.iter().zip(low).zip(high) {
        if *low != *high {
            *low = evaluator(f32::from_bits(*x)).to_bits();
        }
    }
}

/// The functions of these names: the value in double precision of a lane, and whether it is known.
macro_rules! approximations {
    ($($kernel:ident $name:ident |$x:ident, $lane:ident $(, $root:ident = $wide:ident)?| $value:expr;)*) => {$(
        struct $kernel<'a, const N: usize>(&'a [u32; N]);

        impl<const N: usize> Kernel for $kernel<'_, N> {
            type Output = [u32; N];

            #[inline(always)]
            fn run<L: Simd>(self, _simd: L) -> [u32; N] {
                let $x = self.0;
                let (mut low, mut high, mut doubt) = ([0; N], [0; N], 0);
                $(let $root = match _simd.$wide::<RN, N>($x) {
                    Some(root) => root,
                    None => {
                        settle($x, &mut low, &[1; N], exact::$name);
                        return low;
                    }
                };)?
                let mut $lane = 0;
                while $lane < N {
                    let (value, known): (f64, bool) = $value;
                    let near = ((value * (1.0 - ERROR)) as f32).to_bits();
                    let far = ((value * (1.0 + ERROR)) as f32).to_bits();
                    let number = near & 0x7fff_ffff <= 0x7f80_0000;
                    low[$lane] = if number { near } else { 0x7fff_ffff };
                    high[$lane] = if !number { 0x7fff_ffff } else if known { far } else { !near };
                    doubt |= low[$lane] ^ high[$lane];
                    $lane += 1;
                }
                if doubt == 0 {
                    return low;
                }
                // A copy, so that the others stay in registers.
                let mut settled = low;
                settle($x, &mut settled, &high, exact::$name);
                settled
            }
        }

        /// The function of this name in each lane.
        #[inline(always)]
        pub fn $name<L: Simd, const N: usize>(simd: L, x: &[u32; N]) -> [u32; N] {
            simd.call($kernel(x))
        }
    )*};
}

approximations! {
    Exp2 exp2_f32 |x, lane| (exp2(f32::from_bits(x[lane])), true);
    Log2 log2_f32 |x, lane| (log2(f32::from_bits(x[lane])), true);
    Sin sin_f32 |x, lane| (sin(f32::from_bits(x[lane])), is_reduced(x[lane]));
    Cos cos_f32 |x, lane| (cos(f32::from_bits(x[lane])), is_reduced(x[lane]));
    Tanh tanh_f32 |x, lane| (tanh(f32::from_bits(x[lane])), true);
    Rsqrt rsqrt_f32 |x, lane, root = sqrt_f32| (rsqrt(f32::from_bits(x[lane]), f32::from_bits(root[lane])), true);
}

/// `p · 2^k` of a number near one; `shifted` has `k` in its lowest bits.
#[inline(always)]
fn scale(p: f64, shifted: f64) -> f64 {
    f64::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 52))
}

#[inline(always)]
fn exp2(x: f32) -> f64 {
    let x = f64::from(x.clamp(-200.0, 200.0));
    let shifted = x + SHIFT;
    let y = x - (shifted - SHIFT);
    let power = polynomial! { y;
        1.000_000_000_000_013_5 0.693_147_180_559_946_2 0.240_226_506_956_403_4 0.055_504_108_664_651_67
        0.009_618_129_193_934_313 0.001_333_355_820_079_459_2 0.000_154_034_337_512_510_1 1.525_267_292_485_073_7e-5
        1.325_964_524_488_711e-6 1.020_590_541_376_559_5e-7
    };
    scale(power, shifted)
}

#[inline(always)]
fn log2(x: f32) -> f64 {
    /// The bits of one: its biased exponent.
    const ONE: u64 = 1.0_f64.to_bits();
    /// From here on all floats are whole.
    const WHOLE: f64 = 1.0 / f64::EPSILON;
    // `m · 2^e`, with `m` between √½ and √2.
    let bits = f64::from(x).to_bits();
    let biased = (bits.wrapping_sub(FRAC_1_SQRT_2.to_bits()).wrapping_add(ONE)) >> 52;
    let m = f64::from_bits(bits.wrapping_sub(biased << 52).wrapping_add(ONE));
    let e = f64::from_bits(biased | WHOLE.to_bits()) - (WHOLE + 1023.0);
    // 2 artanh((m − 1)/(m + 1))
    let s = (m - 1.0) / (m + 1.0);
    let y = s * s;
    let factor = polynomial! { y;
        2.885_390_081_777_851 0.961_796_694_112_264_9 0.577_077_942_660_304_4 0.412_209_224_061_104_33
        0.319_906_803_807_013_36 0.282_885_023_407_482_34
    };
    let value = fma(s, factor, e);
    let edge = if x == 0.0 { f64::NEG_INFINITY } else { f64::from(x) };
    let value = if (x > 0.0) & (x < f32::INFINITY) { value } else { edge };
    if x < 0.0 { f64::NAN } else { value }
}

/// π in parts, of which the first two have so few bits that their products with half turns are exact.
const PI: [f64; 3] = [3.141_592_651_605_606, 1.984_187_159_194_406e-9, 1.666_748_583_704_175_8e-19];

/// True for angles whose half turns are few enough for [`PI`], and for those that have no sine.
#[inline(always)]
fn is_reduced(x: u32) -> bool {
    const MOST: u32 = ((1 << 22) as f32).to_bits();
    let size = x & 0x7fff_ffff;
    (size <= MOST) | (size >= 0x7f80_0000)
}

/// Sine of `x` minus `half_turns` half turns; the lowest bit of `shifted` gives the sign.
#[inline(always)]
fn turned(x: f64, half_turns: f64, shifted: f64) -> f64 {
    let x = fma(-half_turns, PI[0], x);
    let x = fma(-half_turns, PI[1], x);
    let x = fma(-half_turns, PI[2], x);
    let y = x * x;
    let factor = polynomial! { y;
        1.0 -0.166_666_666_666_584_6 0.008_333_333_330_939_175 -0.000_198_412_687_086_061_93
        2.755_712_311_604_415_6e-6 -2.503_674_197_012_488e-8 1.550_245_431_659_691_3e-10
    };
    f64::from_bits((x * factor).to_bits() ^ shifted.to_bits() << 63)
}

#[inline(always)]
fn sin(x: f32) -> f64 {
    let x = f64::from(x);
    let shifted = x * FRAC_1_PI + SHIFT;
    turned(x, shifted - SHIFT, shifted)
}

#[inline(always)]
fn cos(x: f32) -> f64 {
    // The sine of a quarter turn more.
    let x = f64::from(x);
    let shifted = fma(x, FRAC_1_PI, 0.5) + SHIFT;
    turned(x, shifted - SHIFT - 0.5, shifted)
}

#[allow(clippy::approx_constant, reason = "the first coefficient is nearly the logarithm of two")]
#[inline(always)]
fn tanh(x: f32) -> f64 {
    // e / (e + 2), where e + 1 is a power of two.
    let size = f32::from_bits(x.to_bits() & 0x7fff_ffff);
    let x2 = f64::from(if size > 30.0 { 30.0 } else { size }) * (2.0 * LOG2_E);
    let shifted = x2 + SHIFT;
    let y = x2 - (shifted - SHIFT);
    let factor = polynomial! { y;
        0.693_147_180_559_945_3 0.240_226_506_958_129_9 0.055_504_108_664_760_424 0.009_618_129_159_402_558
        0.001_333_355_817_904_311_2 0.000_154_034_558_524_538_38 1.525_268_684_626_772e-5 1.325_522_487_866_881_7e-6
        1.020_312_106_339_172_9e-7
    };
    let power = scale(1.0, shifted);
    let e = fma(y * factor, power, power - 1.0);
    let value = e / (e + 2.0);
    f64::from_bits(value.to_bits() | u64::from(x.to_bits() & 0x8000_0000) << 32)
}

/// From the square root in single precision: one of Newton's steps doubles its bits.
#[inline(always)]
fn rsqrt(x: f32, root: f32) -> f64 {
    let first = 1.0 / root;
    let y = f64::from(first);
    let rest = fma(-(f64::from(x) * y), y, 1.0);
    let value = fma(y * 0.5, rest, y);
    if (first > 0.0) & (first < f32::INFINITY) { value } else { y }
}

/// [`rsqrt_f64`](crate::eval::rsqrt_f64) in each lane.
#[inline(always)]
pub fn rsqrt_f64<L: Simd, const N: usize>(simd: L, x: &[u64; N]) -> [u64; N] {
    let root = simd.sqrt_f64::<RN, N>(x);
    let mut lanes = [0; N];
    let mut lane = 0;
    while lane < N {
        lanes[lane] = match root {
            Some(root) => {
                let root = f64::from_bits(root[lane]);
                finish_f64(1.0 / root, 1.0, root).to_bits()
            }
            None => exact::rsqrt_f64(f64::from_bits(x[lane])).to_bits(),
        };
        lane += 1;
    }
    lanes
}
