//! Floats: sums, products, quotients and roots with each rounding, signs, and the lesser and greater of two.
//!
//! A NaN that an operation gives is the machine's: all ones without a sign, but for `f64`, which keeps that of an operand,
//! made quiet.
//!
//! ```
//! use ptx_isa::eval::{self, rounding};
//!
//! assert_eq!(eval::add_f32::<{ rounding::RP }>(1.0, 1e-30), 1.0 + f32::EPSILON);
//! assert_eq!(eval::min_f32(-0.0, 0.0).to_bits(), (-0.0_f32).to_bits());
//! assert_eq!(eval::canonical_nan_f32(0.0).to_bits(), 0x7fff_ffff);
//! ```

use super::convert::convert_bf16_f32;
use super::soft::{self, F16, F32, F64};
use super::{bf16, f16, widen_bf16};

/// The words of `Rounding`, in the order of the spec.
pub mod rounding {
    /// To the nearest, to the even one of two.
    pub const RN: u8 = 0;
    /// Towards zero.
    pub const RZ: u8 = 1;
    /// Towards negative infinity.
    pub const RM: u8 = 2;
    /// Towards positive infinity.
    pub const RP: u8 = 3;
}

use rounding::RN;

/// Arithmetic through integers; sums and products of doubles to the nearest number as the host does them.
macro_rules! arithmetic {
    ($($ty:ty, $format:ident, $bits:ty $(, $finish:ident)?: $add:ident $mul:ident $fma:ident;)*) => {$(
        /// `a + b`
        #[inline(always)]
        pub const fn $add<const ROUNDING: u8>(a: $ty, b: $ty) -> $ty {
            $(if ROUNDING == RN {
                return $finish(a + b, a, b);
            })?
            <$ty>::from_bits(soft::add($format, a.to_bits() as u64, b.to_bits() as u64, ROUNDING) as $bits)
        }
        /// `a · b`
        #[inline(always)]
        pub const fn $mul<const ROUNDING: u8>(a: $ty, b: $ty) -> $ty {
            $(if ROUNDING == RN {
                return $finish(a * b, a, b);
            })?
            <$ty>::from_bits(soft::mul($format, a.to_bits() as u64, b.to_bits() as u64, ROUNDING) as $bits)
        }
        /// `a · b + c` with one rounding.
        #[inline(always)]
        pub const fn $fma<const ROUNDING: u8>(a: $ty, b: $ty, c: $ty) -> $ty {
            let (a, b, c) = (a.to_bits() as u64, b.to_bits() as u64, c.to_bits() as u64);
            <$ty>::from_bits(soft::fma($format, a, b, c, ROUNDING) as $bits)
        }
    )*};
}

arithmetic! {
    f16, F16, u16: add_f16 mul_f16 fma_f16;
    f64, F64, u64, finish_f64: add_f64 mul_f64 fma_f64;
}

/// `a + b`
#[inline(always)]
pub const fn add_f32<const ROUNDING: u8>(a: f32, b: f32) -> f32 {
    if ROUNDING == RN {
        return finish_f32(a + b, a, b);
    }
    finish_f32(narrow::<ROUNDING>(sum_f64::<ROUNDING>(a as f64, b as f64)), a, b)
}

/// `a · b`
#[inline(always)]
pub const fn mul_f32<const ROUNDING: u8>(a: f32, b: f32) -> f32 {
    if ROUNDING == RN {
        return finish_f32(a * b, a, b);
    }
    finish_f32(narrow::<ROUNDING>(a as f64 * b as f64), a, b)
}

/// `a · b + c` with one rounding.
#[inline(always)]
pub const fn fma_f32<const ROUNDING: u8>(a: f32, b: f32, c: f32) -> f32 {
    // The product of two floats is a double.
    finish_f32(narrow::<ROUNDING>(sum_f64::<ROUNDING>(a as f64 * b as f64, c as f64)), a, b)
}

/// `a · b + c`, rounded to odd: of the two neighboring floats, the one with an odd last bit.
#[inline(always)]
pub const fn fma_odd_f32(a: f32, b: f32, c: f32) -> f32 {
    let sum = sum_f64::<RN>(a as f64 * b as f64, c as f64);
    let near = sum as f32;
    let (back, bits) = (near as f64, near.to_bits());
    let beside = if back.abs() > sum.abs() { bits.wrapping_sub(1) } else { bits.wrapping_add(1) };
    let even = back != sum && bits & 1 == 0;
    finish_f32(if even && !sum.is_nan() { f32::from_bits(beside) } else { near }, a, b)
}

/// `a + b`: single precision has enough bits that rounding twice equals rounding the exact sum.
#[inline(always)]
pub const fn add_bf16<const ROUNDING: u8>(a: bf16, b: bf16) -> bf16 {
    convert_bf16_f32::<ROUNDING>(add_f32::<ROUNDING>(widen_bf16(a), widen_bf16(b)))
}

/// `a · b`: a product has 16 bits, all of which single precision keeps, except below its smallest subnormal.
#[inline(always)]
pub const fn mul_bf16<const ROUNDING: u8>(a: bf16, b: bf16) -> bf16 {
    convert_bf16_f32::<ROUNDING>(mul_f32::<ROUNDING>(widen_bf16(a), widen_bf16(b)))
}

/// `a · b + c` with one rounding.
#[inline(always)]
pub const fn fma_bf16<const ROUNDING: u8>(a: bf16, b: bf16, c: bf16) -> bf16 {
    let (a, b, c) = (widen_bf16(a), widen_bf16(b), widen_bf16(c));
    convert_bf16_f32::<ROUNDING>(if ROUNDING == RN { fma_odd_f32(a, b, c) } else { fma_f32::<ROUNDING>(a, b, c) })
}

/// Sums computed with more bits than are kept.
macro_rules! sums {
    ($($ty:ty: $sum:ident;)*) => {$(
        /// Sum of two floats, which must not overflow, rounded to odd: the last bit of an inexact sum is one. Rounding
        /// it to a format with at least two bits fewer then equals rounding the exact sum (Boldo and Melquiond,
        /// "Emulation of FMA and correctly rounded sums").
        #[inline(always)]
        pub(super) const fn $sum<const ROUNDING: u8>(a: $ty, b: $ty) -> $ty {
            let sum = a + b;
            // Rounding error of the sum; NaN if the sum is infinite.
            let part = sum - a;
            let rest = (a - (sum - part)) + (b - part);
            let bits = sum.to_bits();
            let beside = if (rest > 0.0) == (sum > 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
            let inexact = rest.abs() > 0.0;
            let odd = <$ty>::from_bits(if inexact && bits & 1 == 0 { beside } else { bits });
            // The exact sum of a number and its opposite is −0 if rounding is toward −∞.
            let opposite = a.is_sign_negative() != b.is_sign_negative();
            if ROUNDING == rounding::RM && sum == 0.0 && opposite { -0.0 } else { odd }
        }
    )*};
}

sums! {
    f32: sum_f32;
    f64: sum_f64;
}

/// Rounds a double to single precision; a NaN stays NaN, with an unspecified payload.
#[inline(always)]
pub(super) const fn narrow<const ROUNDING: u8>(x: f64) -> f32 {
    let near = x as f32;
    let (back, bits) = (near as f64, near.to_bits());
    // True if the nearest float is on the wrong side, and true if the other neighbor is closer to zero.
    let (wrong, inwards) = match ROUNDING {
        RN => (false, false),
        rounding::RZ => (back.abs() > x.abs(), true),
        rounding::RM => (back > x, x > 0.0),
        _ => (back < x, x < 0.0),
    };
    let other = if inwards { bits.wrapping_sub(1) } else { bits.wrapping_add(1) };
    if wrong { f32::from_bits(other) } else { near }
}

/// Quotients and roots, and signs that are copied: halves have none.
macro_rules! quotients {
    ($($ty:ty, $format:ident, $bits:ty, $finish:ident: $div:ident $sqrt:ident $copysign:ident;)*) => {$(
        /// `a / b`
        #[inline(always)]
        pub const fn $div<const ROUNDING: u8>(a: $ty, b: $ty) -> $ty {
            if ROUNDING == RN {
                // Unlike a sum and a product, a quotient keeps the NaN of `a`.
                return $finish(a / b, b, a);
            }
            <$ty>::from_bits(soft::div($format, a.to_bits() as u64, b.to_bits() as u64, ROUNDING) as $bits)
        }
        /// The square root.
        #[inline(always)]
        pub const fn $sqrt<const ROUNDING: u8>(a: $ty) -> $ty {
            <$ty>::from_bits(soft::sqrt($format, a.to_bits() as u64, ROUNDING) as $bits)
        }
        /// `x` with the sign of `sign`.
        #[inline(always)]
        pub const fn $copysign(x: $ty, sign: $ty) -> $ty { x.copysign(sign) }
    )*};
}

quotients! {
    f32, F32, u32, finish_f32: div_f32 sqrt_f32 copysign_f32;
    f64, F64, u64, finish_f64: div_f64 sqrt_f64 copysign_f64;
}

/// Whatever NaN the host gives becomes the machine's.
#[inline(always)]
pub(super) const fn finish_f32(result: f32, _: f32, _: f32) -> f32 {
    // Compared as bits: for the compiler one NaN is as good as another.
    let bits = result.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { bits })
}

/// A NaN among the operands is kept: that of `b` if both are NaNs.
#[inline(always)]
pub(super) const fn finish_f64(result: f64, a: f64, b: f64) -> f64 {
    const QUIET: u64 = 1 << 51;
    let kept = if b.is_nan() { b } else { a };
    let nan = if kept.is_nan() { kept.to_bits() | QUIET } else { 0xfff8 << 48 };
    if result.is_nan() { f64::from_bits(nan) } else { result }
}

/// Operations on the sign.
macro_rules! signs {
    ($($ty:ty, $bits:ty, $nan:literal $(, $finish:ident)?: $invalid:ident $magnitude:ident $opposite:ident $product:ident;)*) => {$(
        /// Returns the canonical NaN, the result of an invalid operation.
        #[inline(always)]
        pub const fn $invalid(_: $ty) -> $ty { <$ty>::from_bits($nan) }
        /// Clears the sign, of NaNs as well, but for those of double precision.
        #[inline(always)]
        pub const fn $magnitude(x: $ty) -> $ty {
            let result = <$ty>::from_bits(x.to_bits() & (<$bits>::MAX >> 1));
            $(let result = $finish(result, x, x);)?
            result
        }
        /// Flips the sign, of NaNs as well, but for those of double precision.
        #[inline(always)]
        pub const fn $opposite(x: $ty) -> $ty {
            let result = <$ty>::from_bits(x.to_bits() ^ !(<$bits>::MAX >> 1));
            $(let result = $finish(result, x, x);)?
            result
        }
        /// Returns `x` with the sign of `a · b`.
        #[inline(always)]
        pub const fn $product(x: $ty, a: $ty, b: $ty) -> $ty {
            let sign = (a.to_bits() ^ b.to_bits()) & !(<$bits>::MAX >> 1);
            <$ty>::from_bits(x.to_bits() & (<$bits>::MAX >> 1) | sign)
        }
    )*};
}

signs! {
    f16, u16, 0x7fff: canonical_nan_f16 abs_f16 neg_f16 product_sign_f16;
    bf16, u16, 0x7fff: canonical_nan_bf16 abs_bf16 neg_bf16 product_sign_bf16;
    f32, u32, 0x7fff_ffff: canonical_nan_f32 abs_f32 neg_f32 product_sign_f32;
    f64, u64, 0xfff8_0000_0000_0000, finish_f64: canonical_nan_f64 abs_f64 neg_f64 product_sign_f64;
}

/// The lesser and greater of two floats.
macro_rules! extremes {
    ($($ty:ty, $finish:ident: $minimum:ident $maximum:ident;)*) => {$(
        /// The lesser one, −0 before +0; the number where one is NaN.
        #[inline(always)]
        pub const fn $minimum(a: $ty, b: $ty) -> $ty {
            let lesser = if b < a { b } else { a };
            // Equal numbers have the same bits, but for zeros.
            let lesser = if a == b { <$ty>::from_bits(a.to_bits() | b.to_bits()) } else { lesser };
            $finish(if a.is_nan() { b } else { lesser }, a, b)
        }
        /// The greater one, +0 behind −0; the number where one is NaN.
        #[inline(always)]
        pub const fn $maximum(a: $ty, b: $ty) -> $ty {
            let greater = if b > a { b } else { a };
            let greater = if a == b { <$ty>::from_bits(a.to_bits() & b.to_bits()) } else { greater };
            $finish(if a.is_nan() { b } else { greater }, a, b)
        }
    )*};
}

extremes! {
    f32, finish_f32: min_f32 max_f32;
    f64, finish_f64: min_f64 max_f64;
}

/// The lesser and greater of two halves, which are compared as integers.
macro_rules! half_extremes {
    ($($ty:ty, $nan:ident: $minimum:ident $maximum:ident $key:ident;)*) => {$(
        /// A number in the order of numbers, with −0 before +0.
        #[inline(always)]
        const fn $key(x: $ty) -> i16 {
            let bits = x.to_bits() as i16;
            bits ^ ((bits >> 15) as u16 >> 1) as i16
        }
        /// The lesser one, −0 before +0; the number where one is NaN.
        #[inline(always)]
        pub const fn $minimum(a: $ty, b: $ty) -> $ty {
            let lesser = if $key(b) < $key(a) { b } else { a };
            let number = if a.is_nan() { b } else if b.is_nan() { a } else { lesser };
            if number.is_nan() { $nan(number) } else { number }
        }
        /// The greater one, +0 behind −0; the number where one is NaN.
        #[inline(always)]
        pub const fn $maximum(a: $ty, b: $ty) -> $ty {
            let greater = if $key(a) < $key(b) { b } else { a };
            let number = if a.is_nan() { b } else if b.is_nan() { a } else { greater };
            if number.is_nan() { $nan(number) } else { number }
        }
    )*};
}

half_extremes! {
    f16, canonical_nan_f16: min_f16 max_f16 order_f16;
    bf16, canonical_nan_bf16: min_bf16 max_bf16 order_bf16;
}

/// The NaN that marks out-of-bounds elements of a tensor, of either sign: found on an H200, by `fma.oob` of all values.
pub(crate) const OOB_NAN: u16 = 0x7ff7;

/// Returns true if it is the NaN that marks out-of-bounds elements of a tensor.
#[inline(always)]
pub const fn is_oob_nan_f16(x: f16) -> bool {
    x.to_bits() & 0x7fff == OOB_NAN
}

/// Returns true if it is the NaN that marks out-of-bounds elements of a tensor.
#[inline(always)]
pub const fn is_oob_nan_bf16(x: bf16) -> bool {
    x.to_bits() & 0x7fff == OOB_NAN
}
