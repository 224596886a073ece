//! Approximate instructions, computed in double precision and then rounded: results are correctly rounded, except for
//! ties that double precision cannot distinguish.
//!
//! ```
//! use ptx_isa::eval;
//!
//! assert_eq!(eval::sin_f32(0.5), 0.47942555);
//! assert_eq!(eval::exp2_f32(-3.0), 0.125);
//! assert!(eval::log2_f32(-1.0).is_nan());
//! ```

use super::soft::{self, BF16, F16, F32, F64};
use super::{bf16, f16, rounding::RN};

/// 2/π in words of 64 bits, the integer part left out: the first one's highest bit is one half.
const TWO_OVER_PI: [u64; 4] =
    [0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041, 0xfe51_63ab_debb_c561];

/// Reduces the magnitude of an angle: returns the number of quarter turns, modulo four, and the remaining angle, of at
/// most an eighth of a turn.
const fn reduce(x: f32) -> (u64, f64) {
    let bits = x.to_bits();
    let biased = (bits >> 23 & 0xff) as i32;
    let magnitude = f64_of(f32::from_bits(bits & 0x7fff_ffff));
    if magnitude < core::f64::consts::FRAC_PI_4 {
        return (0, magnitude);
    }
    // The angle is `m · 2^e`; of its product with 2/π, only the bits from two above the point on matter.
    let (m, e) = ((bits & 0x7f_ffff | 0x80_0000) as u128, biased - 150);
    // 128 bits of 2/π from the one on that gives four with the angle's last place.
    let first = e - 2;
    let window = if first < 0 {
        let whole = (TWO_OVER_PI[0] as u128) << 64 | TWO_OVER_PI[1] as u128;
        if first <= -128 { 0 } else { whole >> -first }
    } else {
        let (word, bit) = (first as usize / 64, first as u32 % 64);
        let high = (TWO_OVER_PI[word] as u128) << 64 | TWO_OVER_PI[word + 1] as u128;
        if bit == 0 { high } else { high << bit | (TWO_OVER_PI[word + 2] >> (64 - bit)) as u128 }
    };
    // Two bits of quarters, then the fraction.
    let turns = window.wrapping_mul(m);
    let (mut quarter, fraction) = (turns >> 126, (turns << 2) as i128);
    if fraction < 0 {
        quarter += 1;
    }
    let left = fraction as f64 * (0.5 / (1_u128 << 127) as f64);
    (quarter as u64 & 3, left * core::f64::consts::FRAC_PI_2)
}

const fn f64_of(x: f32) -> f64 {
    x as f64
}

/// The sine of an angle of at most an eighth of a turn.
const fn sine(x: f64) -> f64 {
    let y = x * x;
    let tail = -1.0 / 39_916_800.0 + y * (1.0 / 6_227_020_800.0 - y / 1_307_674_368_000.0);
    let tail = -1.0 / 5040.0 + y * (1.0 / 362_880.0 + y * tail);
    x + x * y * (-1.0 / 6.0 + y * (1.0 / 120.0 + y * tail))
}

/// The cosine of an angle of at most an eighth of a turn.
const fn cosine(x: f64) -> f64 {
    let y = x * x;
    let tail = -1.0 / 3_628_800.0 + y * (1.0 / 479_001_600.0 - y * (1.0 / 87_178_291_200.0 - y / 20_922_789_888_000.0));
    let tail = -1.0 / 720.0 + y * (1.0 / 40_320.0 + y * tail);
    1.0 - 0.5 * y + y * y * (1.0 / 24.0 + y * tail)
}

/// The sine; of zero with its sign, of an infinity NaN.
pub const fn sin_f32(x: f32) -> f32 {
    if !x.is_finite() {
        return f32::from_bits(0x7fff_ffff);
    }
    let (quarter, left) = reduce(x);
    let value = if quarter & 1 == 0 { sine(left) } else { cosine(left) };
    let value = if quarter & 2 == 0 { value } else { -value };
    (if x.to_bits() >> 31 != 0 { -value } else { value }) as f32
}

/// The cosine; of an infinity NaN.
pub const fn cos_f32(x: f32) -> f32 {
    if !x.is_finite() {
        return f32::from_bits(0x7fff_ffff);
    }
    let (quarter, left) = reduce(x);
    let value = if quarter & 1 == 0 { cosine(left) } else { sine(left) };
    (if matches!(quarter, 1 | 2) { -value } else { value }) as f32
}

/// The logarithm to the base two.
pub const fn log2_f32(x: f32) -> f32 {
    if x.is_nan() || x < 0.0 {
        return f32::from_bits(0x7fff_ffff);
    }
    if x == 0.0 || x.is_infinite() {
        return if x == 0.0 { f32::NEG_INFINITY } else { x };
    }
    let bits = (x as f64).to_bits();
    let (mut exponent, mut m) = ((bits >> 52) as i32 - 1023, f64::from_bits(bits & (u64::MAX >> 12) | 0x3ff << 52));
    if m > core::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    // 2 artanh((m − 1)/(m + 1))
    let s = (m - 1.0) / (m + 1.0);
    let (y, mut sum, mut n) = (s * s, 0.0, 27);
    while n > 0 {
        sum = sum * y + 1.0 / n as f64;
        n -= 2;
    }
    (exponent as f64 + 2.0 * s * sum * core::f64::consts::LOG2_E) as f32
}

/// Two to a power, for powers that double precision has.
const fn power(x: f64) -> f64 {
    let whole = if x < 0.0 { (x - 0.5) as i64 } else { (x + 0.5) as i64 };
    let y = (x - whole as f64) * core::f64::consts::LN_2;
    let (mut sum, mut n) = (1.0, 18);
    while n > 0 {
        sum = 1.0 + sum * y / n as f64;
        n -= 1;
    }
    sum * f64::from_bits(((whole + 1023) as u64) << 52)
}

/// Two to a power, in double precision.
const fn wide_power(x: f32) -> f64 {
    if x > 200.0 {
        f64::INFINITY
    } else if x < -200.0 {
        0.0
    } else {
        power(x as f64)
    }
}

/// Two to a power.
pub const fn exp2_f32(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { wide_power(x) as f32 }
}

/// The hyperbolic tangent, in double precision.
const fn wide_tangent(x: f32) -> f64 {
    let a = (if x < 0.0 { -x } else { x }) as f64;
    let value = if a < 0.125 {
        let y = a * a;
        let tail = -17.0 / 315.0 + y * (62.0 / 2835.0 - y * (1382.0 / 155_925.0 - y * 21_844.0 / 6_081_075.0));
        a + a * y * (-1.0 / 3.0 + y * (2.0 / 15.0 + y * tail))
    } else if a > 30.0 {
        1.0
    } else {
        let e = power(2.0 * a * core::f64::consts::LOG2_E);
        1.0 - 2.0 / (e + 1.0)
    };
    if x.to_bits() >> 31 != 0 { -value } else { value }
}

/// The hyperbolic tangent; of zero with its sign.
pub const fn tanh_f32(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { wide_tangent(x) as f32 }
}

/// The same for halves.
macro_rules! halves {
    ($($ty:ty, $format:ident: $power:ident $tangent:ident;)*) => {$(
        /// Two to a power.
        pub const fn $power(x: $ty) -> $ty {
            let wide = f32::from_bits(soft::convert($format, F32, x.to_bits() as u64, RN) as u32);
            <$ty>::from_bits(soft::from_double($format, wide_power(wide)) as u16)
        }
        /// The hyperbolic tangent; of zero with its sign.
        pub const fn $tangent(x: $ty) -> $ty {
            let wide = f32::from_bits(soft::convert($format, F32, x.to_bits() as u64, RN) as u32);
            <$ty>::from_bits(soft::from_double($format, wide_tangent(wide)) as u16)
        }
    )*};
}

halves! {
    f16, F16: exp2_f16 tanh_f16;
    bf16, BF16: exp2_bf16 tanh_bf16;
}

/// One divided by the square root.
pub const fn rsqrt_f32(x: f32) -> f32 {
    if x.is_nan() || x < 0.0 {
        return f32::from_bits(0x7fff_ffff);
    }
    let root = f64::from_bits(soft::sqrt(F64, (x as f64).to_bits(), RN));
    (1.0 / root) as f32
}

/// One divided by the square root.
pub const fn rsqrt_f64(x: f64) -> f64 {
    let root = soft::sqrt(F64, x.to_bits(), RN);
    f64::from_bits(soft::div(F64, 1.0_f64.to_bits(), root, RN))
}

/// The upper half of a double, as the machine's fast functions of doubles give it: nothing subnormal, one NaN.
#[inline(always)]
pub const fn upper_word_f64(x: f64) -> f64 {
    let kept = f64::from_bits(x.to_bits() & !0xffff_ffff);
    if kept.is_nan() {
        return f64::from_bits(0x7fff_ffff << 32);
    }
    if kept.abs() < f64::MIN_POSITIVE { 0.0_f64.copysign(kept) } else { kept }
}
