//! Conversion between integers and floats, and between floats.
//!
//! ```
//! use ptx_isa::eval::{self, integer_rounding, rounding};
//!
//! assert_eq!(eval::convert_s8_f32::<{ integer_rounding::RNI }>(2.5), 2);
//! assert_eq!(eval::convert_u32_f32::<{ integer_rounding::RZI }>(-1.0), 0);
//! assert_eq!(eval::convert_f32_u32::<{ rounding::RZ }>(u32::MAX), 4294967040.0);
//! assert_eq!(eval::clamp_s8_u32(300), 127);
//! assert_eq!(eval::convert_finite_e4m3_f32::<{ rounding::RN }>(1000.0), 0x7e);
//! ```

use core::convert::identity;

use super::float::{finish_f32, finish_f64, narrow as narrow_f64};
use super::rounding::{RM, RN, RP};
use super::soft::{self, BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, F64, Narrow, UE5M3};
use super::{bf16, f16, widen_bf16, widen_f16};

/// The members of `IntegerRounding`: the same rounding modes, to integers.
pub mod integer_rounding {
    pub use crate::eval::rounding::{RM as RMI, RN as RNI, RP as RPI, RZ as RZI};
}

/// Conversions between all integer types that clamp to the range of the destination.
macro_rules! clamps {
    ($($from:ty: $($to:ty = $name:ident)*;)*) => {$($(
        /// Clamps to the range of the type.
        #[inline(always)]
        pub const fn $name(x: $from) -> $to {
            const LEAST: i128 = <$to>::MIN as i128;
            const MOST: i128 = <$to>::MAX as i128;
            if (x as i128) < LEAST { <$to>::MIN } else if (x as i128) > MOST { <$to>::MAX } else { x as $to }
        }
    )*)*};
}

clamps! {
    u8: u8 = clamp_u8_u8 u16 = clamp_u16_u8 u32 = clamp_u32_u8 u64 = clamp_u64_u8 i8 = clamp_s8_u8 i16 = clamp_s16_u8 i32 = clamp_s32_u8 i64 = clamp_s64_u8;
    u16: u8 = clamp_u8_u16 u16 = clamp_u16_u16 u32 = clamp_u32_u16 u64 = clamp_u64_u16 i8 = clamp_s8_u16 i16 = clamp_s16_u16 i32 = clamp_s32_u16 i64 = clamp_s64_u16;
    u32: u8 = clamp_u8_u32 u16 = clamp_u16_u32 u32 = clamp_u32_u32 u64 = clamp_u64_u32 i8 = clamp_s8_u32 i16 = clamp_s16_u32 i32 = clamp_s32_u32 i64 = clamp_s64_u32;
    u64: u8 = clamp_u8_u64 u16 = clamp_u16_u64 u32 = clamp_u32_u64 u64 = clamp_u64_u64 i8 = clamp_s8_u64 i16 = clamp_s16_u64 i32 = clamp_s32_u64 i64 = clamp_s64_u64;
    i8: u8 = clamp_u8_s8 u16 = clamp_u16_s8 u32 = clamp_u32_s8 u64 = clamp_u64_s8 i8 = clamp_s8_s8 i16 = clamp_s16_s8 i32 = clamp_s32_s8 i64 = clamp_s64_s8;
    i16: u8 = clamp_u8_s16 u16 = clamp_u16_s16 u32 = clamp_u32_s16 u64 = clamp_u64_s16 i8 = clamp_s8_s16 i16 = clamp_s16_s16 i32 = clamp_s32_s16 i64 = clamp_s64_s16;
    i32: u8 = clamp_u8_s32 u16 = clamp_u16_s32 u32 = clamp_u32_s32 u64 = clamp_u64_s32 i8 = clamp_s8_s32 i16 = clamp_s16_s32 i32 = clamp_s32_s32 i64 = clamp_s64_s32;
    i64: u8 = clamp_u8_s64 u16 = clamp_u16_s64 u32 = clamp_u32_s64 u64 = clamp_u64_s64 i8 = clamp_s8_s64 i16 = clamp_s16_s64 i32 = clamp_s32_s64 i64 = clamp_s64_s64;
}

/// Rounding to integral values in floating-point format.
macro_rules! wholes {
    ($($ty:ty: $whole:ident;)*) => {$(
        /// Rounds to an integral value; a NaN is returned unchanged.
        #[inline(always)]
        pub(super) const fn $whole<const ROUNDING: u8>(x: $ty) -> $ty {
            // All floats from here on are integral, so adding it rounds to an integral value.
            const EDGE: $ty = 1.0 / <$ty>::EPSILON;
            let size = x.abs();
            let near = size + EDGE - EDGE;
            // True if the magnitude is rounded up, false if it is rounded down.
            let up = ROUNDING == RM && x.is_sign_negative() || ROUNDING == RP && x.is_sign_positive();
            let rounded = match up {
                _ if ROUNDING == RN => near,
                true => if near < size { near + 1.0 } else { near },
                false => if near > size { near - 1.0 } else { near },
            };
            if size < EDGE { rounded.copysign(x) } else { x }
        }
    )*};
}

wholes! {
    f32: whole_f32;
    f64: whole_f64;
}

/// Conversions from each float type to each integer type; halves are converted by way of single precision.
macro_rules! integers {
    ($($from:ty, $float:ty, $single:ident $whole:ident: $($to:ty = $name:ident)*;)*) => {$($(
        /// Rounds to an integer and clamps to the range of the type. A NaN gives zero, or only the highest bit set if
        /// either type has 64 bits.
        #[inline(always)]
        pub const fn $name<const ROUNDING: u8>(x: $from) -> $to {
            let x = $whole::<ROUNDING>($single(x));
            if x.is_nan() && (<$float>::MANTISSA_DIGITS == 53 || <$to>::BITS == 64) {
                return (1 as $to) << (<$to>::BITS - 1);
            }
            if <$to>::BITS == 64 { x as $to } else { word(x as f64, <$to>::MIN as f64, <$to>::MAX as f64) as $to }
        }
    )*)*};
}

/// Clamps an integral value to a range of at most 32 bits, and returns its low bits; zero for NaN. Rust's conversion
/// does the same, but is not vectorized.
#[inline(always)]
const fn word(x: f64, least: f64, most: f64) -> u32 {
    let inside = if x < least {
        least
    } else if x > most {
        most
    } else {
        x
    };
    // The last bits of this sum's fraction are the number.
    let sum = inside + 1.5 / f64::EPSILON;
    if x.is_nan() { 0 } else { sum.to_bits() as u32 }
}

integers! {
    f16, f32, widen_f16 whole_f32: u8 = convert_u8_f16 u16 = convert_u16_f16 u32 = convert_u32_f16 u64 = convert_u64_f16 i8 = convert_s8_f16 i16 = convert_s16_f16 i32 = convert_s32_f16 i64 = convert_s64_f16;
    bf16, f32, widen_bf16 whole_f32: u8 = convert_u8_bf16 u16 = convert_u16_bf16 u32 = convert_u32_bf16 u64 = convert_u64_bf16 i8 = convert_s8_bf16 i16 = convert_s16_bf16 i32 = convert_s32_bf16 i64 = convert_s64_bf16;
    f32, f32, identity whole_f32: u8 = convert_u8_f32 u16 = convert_u16_f32 u32 = convert_u32_f32 u64 = convert_u64_f32 i8 = convert_s8_f32 i16 = convert_s16_f32 i32 = convert_s32_f32 i64 = convert_s64_f32;
    f64, f64, identity whole_f64: u8 = convert_u8_f64 u16 = convert_u16_f64 u32 = convert_u32_f64 u64 = convert_u64_f64 i8 = convert_s8_f64 i16 = convert_s16_f64 i32 = convert_s32_f64 i64 = convert_s64_f64;
}

/// Each integer type to each float type; to the nearest number as the host does it, where it has the type.
macro_rules! reals {
    ($($from:ty: $($to:ty, $format:ident, $bits:ty $(, $host:ty)? = $name:ident)*;)*) => {$($(
        /// The integer as a float.
        #[inline(always)]
        pub const fn $name<const ROUNDING: u8>(x: $from) -> $to {
            $(if ROUNDING == RN {
                return x as $host;
            })?
            <$to>::from_bits(soft::from_integer($format, x as i128, ROUNDING) as $bits)
        }
    )*)*};
}

reals! {
    u8: f16, F16, u16 = convert_f16_u8 bf16, BF16, u16 = convert_bf16_u8 f32, F32, u32, f32 = convert_f32_u8 f64, F64, u64, f64 = convert_f64_u8;
    u16: f16, F16, u16 = convert_f16_u16 bf16, BF16, u16 = convert_bf16_u16 f32, F32, u32, f32 = convert_f32_u16 f64, F64, u64, f64 = convert_f64_u16;
    u32: f16, F16, u16 = convert_f16_u32 bf16, BF16, u16 = convert_bf16_u32 f32, F32, u32, f32 = convert_f32_u32 f64, F64, u64, f64 = convert_f64_u32;
    u64: f16, F16, u16 = convert_f16_u64 bf16, BF16, u16 = convert_bf16_u64 f32, F32, u32, f32 = convert_f32_u64 f64, F64, u64, f64 = convert_f64_u64;
    i8: f16, F16, u16 = convert_f16_s8 bf16, BF16, u16 = convert_bf16_s8 f32, F32, u32, f32 = convert_f32_s8 f64, F64, u64, f64 = convert_f64_s8;
    i16: f16, F16, u16 = convert_f16_s16 bf16, BF16, u16 = convert_bf16_s16 f32, F32, u32, f32 = convert_f32_s16 f64, F64, u64, f64 = convert_f64_s16;
    i32: f16, F16, u16 = convert_f16_s32 bf16, BF16, u16 = convert_bf16_s32 f32, F32, u32, f32 = convert_f32_s32 f64, F64, u64, f64 = convert_f64_s32;
    i64: f16, F16, u16 = convert_f16_s64 bf16, BF16, u16 = convert_bf16_s64 f32, F32, u32, f32 = convert_f32_s64 f64, F64, u64, f64 = convert_f64_s64;
}

/// Each float type to each that the host does not have both of.
macro_rules! resizes {
    ($($from:ty, $format:ident: $($to:ty, $to_format:ident, $bits:ty = $name:ident)*;)*) => {$($(
        /// The number in the other format.
        #[inline(always)]
        pub const fn $name<const ROUNDING: u8>(x: $from) -> $to {
            <$to>::from_bits(soft::convert($format, $to_format, x.to_bits() as u64, ROUNDING) as $bits)
        }
    )*)*};
}

resizes! {
    f16, F16: bf16, BF16, u16 = convert_bf16_f16 f32, F32, u32 = convert_f32_f16 f64, F64, u64 = convert_f64_f16;
    bf16, BF16: f16, F16, u16 = convert_f16_bf16 f64, F64, u64 = convert_f64_bf16;
    f32, F32: f16, F16, u16 = convert_f16_f32;
    f64, F64: f16, F16, u16 = convert_f16_f64 bf16, BF16, u16 = convert_bf16_f64;
}

/// The number in double precision; a NaN is made quiet, and keeps what it says.
#[inline(always)]
pub const fn convert_f64_f32<const ROUNDING: u8>(x: f32) -> f64 {
    if x.is_nan() { f64::from_bits(soft::convert_nan(F32, F64, x.to_bits() as u64)) } else { x as f64 }
}

/// The number in single precision; a NaN is made quiet, and keeps its upper bits.
#[inline(always)]
pub const fn convert_f32_f64<const ROUNDING: u8>(x: f64) -> f32 {
    if x.is_nan() { f32::from_bits(soft::convert_nan(F64, F32, x.to_bits()) as u32) } else { narrow_f64::<ROUNDING>(x) }
}

/// The number in single precision: the bits before sixteen zeros.
#[inline(always)]
pub const fn convert_f32_bf16<const ROUNDING: u8>(x: bf16) -> f32 {
    finish_f32(widen_bf16(x), 0.0, 0.0)
}

/// The upper half of a float, rounded. What is rounded up beyond the greatest number has the bits of an infinity.
#[inline(always)]
pub const fn convert_bf16_f32<const ROUNDING: u8>(x: f32) -> bf16 {
    let bits = x.to_bits();
    let negative = bits >> 31;
    let added = match ROUNDING {
        RN => 0x7fff + (bits >> 16 & 1),
        RM => 0xffff * negative,
        RP => 0xffff * (1 - negative),
        _ => 0,
    };
    bf16::from_bits(if x.is_nan() { 0x7fff } else { (bits.wrapping_add(added) >> 16) as u16 })
}

/// Rounding to integers within a format.
macro_rules! integrals {
    ($($ty:ty, $bits:ty: $finite:ident $name:ident |$x:ident| $value:expr;)*) => {$(
        /// The number rounded to an integer, in its own format.
        #[inline(always)]
        pub const fn $name<const ROUNDING: u8>($x: $ty) -> $ty { $value }
        /// The greatest number of its sign in place of an infinity.
        #[inline(always)]
        pub const fn $finite(x: $ty) -> $ty {
            let bits = x.to_bits();
            let infinite = bits & (<$bits>::MAX >> 1) == <$ty>::INFINITY.to_bits();
            <$ty>::from_bits(bits - infinite as $bits)
        }
    )*};
}

integrals! {
    f16, u16: clamp_finite_f16 round_to_integral_f16 |x| convert_f16_f32::<RN>(whole_f32::<ROUNDING>(widen_f16(x)));
    bf16, u16: clamp_finite_bf16 round_to_integral_bf16 |x| convert_bf16_f32::<RN>(whole_f32::<ROUNDING>(widen_bf16(x)));
    f32, u32: clamp_finite_f32 round_to_integral_f32 |x| finish_f32(whole_f32::<ROUNDING>(x), x, x);
    f64, u64: clamp_finite_f64 round_to_integral_f64 |x| finish_f64(whole_f64::<ROUNDING>(x), x, x);
}

/// The greatest number of `tf32` in place of an infinity; one less for the significant bits of a NaN, too.
#[inline(always)]
pub const fn clamp_finite_tf32(x: u32) -> u32 {
    if x & 0x7fff_ffff >= 0x7f80_0000 { x - 0x2000 } else { x }
}

/// Two floats in one register.
#[inline(always)]
pub const fn pack_f32(low: f32, high: f32) -> [f32; 2] {
    [low, high]
}

/// Conversions to powers of two.
macro_rules! powers {
    ($($from:ty, $single:ident: $name:ident $finite:ident;)*) => {$(
        /// Rounds the magnitude to a power of two, and returns its exponent; all ones for NaN and overflow.
        #[inline(always)]
        pub const fn $name<const ROUNDING: u8>(x: $from) -> u8 {
            let bits = $single(x).to_bits() & 0x7fff_ffff;
            let (exponent, fraction) = (bits >> 23, bits & 0x7f_ffff);
            if exponent == 0xff {
                return 0xff;
            }
            // The smallest power is half of the smallest normal number.
            let above = if exponent == 0 { fraction > 0x40_0000 } else { fraction != 0 };
            (exponent + (ROUNDING == RP && above) as u32) as u8
        }
        /// Rounds the magnitude to a power of two, at most the largest one, and returns its exponent; all ones for NaN.
        #[inline(always)]
        pub const fn $finite<const ROUNDING: u8>(x: $from) -> u8 {
            let exponent = $name::<ROUNDING>(x);
            if exponent == 0xff && !$single(x).is_nan() { 0xfe } else { exponent }
        }
    )*};
}

powers! {
    f32, identity: convert_ue8m0_f32 convert_finite_ue8m0_f32;
    f16, widen_f16: convert_ue8m0_f16 convert_finite_ue8m0_f16;
    bf16, widen_bf16: convert_ue8m0_bf16 convert_finite_ue8m0_bf16;
}

/// A power of two, given by its exponent.
#[inline(always)]
pub const fn convert_bf16_ue8m0(x: u8) -> bf16 {
    bf16::from_bits(match x {
        0 => 0x40,
        0xff => 0x7fff,
        _ => (x as u16) << 7,
    })
}

/// A power of two, given by its exponent.
#[inline(always)]
pub const fn convert_f32_ue8m0(x: u8) -> f32 {
    widen_bf16(convert_bf16_ue8m0(x))
}

/// Two halves in one register.
#[inline(always)]
pub const fn pack_f16(low: f16, high: f16) -> [f16; 2] {
    [low, high]
}

/// Two bfloats in one register.
#[inline(always)]
pub const fn pack_bf16(low: bf16, high: bf16) -> [bf16; 2] {
    [low, high]
}

/// The 19 bits of `tf32` in a word: rounded to nearest, to the greater magnitude of two. A NaN keeps these bits, which can
/// be those of an infinity.
#[inline(always)]
pub const fn round_tf32_away(x: f32) -> u32 {
    let bits = x.to_bits();
    bits.wrapping_add(0x1000 * x.is_finite() as u32) & !0x1fff
}

/// The 19 bits of `tf32` in a word.
#[inline(always)]
pub const fn convert_tf32_f32<const ROUNDING: u8>(x: f32) -> u32 {
    let bits = x.to_bits();
    if x.is_nan() {
        return 0x7fff_e000;
    }
    let odd = bits >> 13 & 1;
    let added = if ROUNDING == RN && !x.is_infinite() { 0xfff + odd } else { 0 };
    (bits + added) & !0x1fff
}

/// Conversions of floats to narrow formats, with overflow as the format has it, and saturating.
macro_rules! narrows {
    ($($narrow:ident: $($from:ty, $format:ident, $single:ident = $name:ident $finite:ident)*;)*) => {$($(
        /// The number in the narrow format; overflow gives an infinity or NaN, if the format has them.
        #[inline(always)]
        pub const fn $name<const ROUNDING: u8>(x: $from) -> u8 {
            if ROUNDING == RN {
                return soft::narrow_nearest($narrow, $single(x));
            }
            soft::narrow($format, $narrow, x.to_bits() as u64, ROUNDING, None)
        }
        /// The number in the narrow format; overflow gives the largest finite number.
        #[inline(always)]
        pub const fn $finite<const ROUNDING: u8>(x: $from) -> u8 {
            const TO: Narrow = $narrow.saturating();
            if ROUNDING == RN {
                return soft::narrow_nearest(TO, $single(x));
            }
            soft::narrow($format, TO, x.to_bits() as u64, ROUNDING, None)
        }
    )*)*};
}

narrows! {
    E4M3: f32, F32, identity = convert_e4m3_f32 convert_finite_e4m3_f32 f16, F16, widen_f16 = convert_e4m3_f16 convert_finite_e4m3_f16 bf16, BF16, widen_bf16 = convert_e4m3_bf16 convert_finite_e4m3_bf16;
    E5M2: f32, F32, identity = convert_e5m2_f32 convert_finite_e5m2_f32 f16, F16, widen_f16 = convert_e5m2_f16 convert_finite_e5m2_f16 bf16, BF16, widen_bf16 = convert_e5m2_bf16 convert_finite_e5m2_bf16;
    E2M3: f32, F32, identity = convert_e2m3_f32 convert_finite_e2m3_f32 f16, F16, widen_f16 = convert_e2m3_f16 convert_finite_e2m3_f16 bf16, BF16, widen_bf16 = convert_e2m3_bf16 convert_finite_e2m3_bf16;
    E3M2: f32, F32, identity = convert_e3m2_f32 convert_finite_e3m2_f32 f16, F16, widen_f16 = convert_e3m2_f16 convert_finite_e3m2_f16 bf16, BF16, widen_bf16 = convert_e3m2_bf16 convert_finite_e3m2_bf16;
    E2M1: f32, F32, identity = convert_e2m1_f32 convert_finite_e2m1_f32 f16, F16, widen_f16 = convert_e2m1_f16 convert_finite_e2m1_f16 bf16, BF16, widen_bf16 = convert_e2m1_bf16 convert_finite_e2m1_bf16;
    UE5M3: f32, F32, identity = convert_ue5m3_f32 convert_finite_ue5m3_f32 f16, F16, widen_f16 = convert_ue5m3_f16 convert_finite_ue5m3_f16 bf16, BF16, widen_bf16 = convert_ue5m3_bf16 convert_finite_ue5m3_bf16;
}

/// Conversions from narrow formats, and what only those with a sign have.
macro_rules! wides {
    ($($narrow:ident: $half:ident $bfloat:ident $float:ident $(, $random:ident $zero:ident)?;)*) => {$(
        /// The number as a half.
        #[inline(always)]
        pub const fn $half(x: u8) -> f16 { f16::from_bits(soft::widen_half($narrow, x)) }
        /// The number as a bfloat.
        #[inline(always)]
        pub const fn $bfloat(x: u8) -> bf16 { bf16::from_bits(soft::widen_bfloat($narrow, x)) }
        /// The number in single precision.
        #[inline(always)]
        pub const fn $float(x: u8) -> f32 { widen_bf16($bfloat(x)) }
        $(
            /// The number in the narrow format, rounded by random bits.
            #[inline(always)]
            pub const fn $random(x: f32, random: u32) -> u8 {
                soft::narrow(F32, $narrow.saturating(), x.to_bits() as u64, RN, Some(random))
            }
            /// The number, with +0 in place of −0.
            #[inline(always)]
            pub const fn $zero(x: u8) -> u8 { if x == $narrow.negative_zero() { 0 } else { x } }
        )?
    )*};
}

wides! {
    E4M3: convert_f16_e4m3 convert_bf16_e4m3 convert_f32_e4m3, round_stochastic_e4m3_f32 positive_zero_e4m3;
    E5M2: convert_f16_e5m2 convert_bf16_e5m2 convert_f32_e5m2, round_stochastic_e5m2_f32 positive_zero_e5m2;
    E2M3: convert_f16_e2m3 convert_bf16_e2m3 convert_f32_e2m3, round_stochastic_e2m3_f32 positive_zero_e2m3;
    E3M2: convert_f16_e3m2 convert_bf16_e3m2 convert_f32_e3m2, round_stochastic_e3m2_f32 positive_zero_e3m2;
    E2M1: convert_f16_e2m1 convert_bf16_e2m1 convert_f32_e2m1, round_stochastic_e2m1_f32 positive_zero_e2m1;
    UE5M3: convert_f16_ue5m3 convert_bf16_ue5m3 convert_f32_ue5m3;
}

/// Four 4-bit floats in one register, the first one lowest.
#[inline(always)]
pub const fn concat_b16_e2m1(a: u8, b: u8, c: u8, d: u8) -> u16 {
    a as u16 | (b as u16) << 4 | (c as u16) << 8 | (d as u16) << 12
}

/// The number as a half, rounded by random bits.
#[inline(always)]
pub const fn round_stochastic_f16_f32(x: f32, random: u32) -> f16 {
    f16::from_bits(soft::convert_randomly(F32, F16, x.to_bits() as u64, random) as u16)
}

/// The number as a bfloat, rounded by random bits.
#[inline(always)]
pub const fn round_stochastic_bf16_f32(x: f32, random: u32) -> bf16 {
    bf16::from_bits(soft::convert_randomly(F32, BF16, x.to_bits() as u64, random) as u16)
}
