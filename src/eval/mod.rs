//! Bodies of the prelude's builtins, one function for each type a builtin is declared for: `lt_f32`, `flush_f16`.
//!
//! These are all that is written in Rust of what instructions compute; the spec's pseudo-code is compiled to calls of
//! them. A body knows no instruction and no modifier.
//!
//! ```
//! use ptx_isa::eval;
//!
//! const LESS: bool = eval::lt_f32(1.0, 2.0);
//! assert!(LESS && !eval::lt_f32(f32::NAN, 2.0));
//! assert_eq!(eval::flush_f32(-1e-40).to_bits(), (-0.0_f32).to_bits());
//! ```

pub use half::{bf16, f16};

pub mod approx;
pub mod bits;
pub mod collective;
pub mod convert;
pub mod float;
pub mod integer;
pub mod product;
pub mod soft;
pub mod warp;

pub use approx::*;
pub use collective::*;
pub use convert::*;
pub use float::*;
pub use integer::*;

use isa_table::selector::Lanes;

/// The order of whole numbers; of bits there is equality.
macro_rules! integers {
    ($($ty:ty: $lt:ident;)*) => {$(
        /// `a < b`
        #[inline(always)]
        pub const fn $lt(a: $ty, b: $ty) -> bool { a < b }
    )*};
}

integers! {
    u8: lt_u8;
    u16: lt_u16;
    u32: lt_u32;
    u64: lt_u64;
    i8: lt_s8;
    i16: lt_s16;
    i32: lt_s32;
    i64: lt_s64;
}

/// Equality and logic of uninterpreted bits.
macro_rules! bits {
    ($($ty:ty: $eq:ident $not:ident $and:ident $or:ident $xor:ident;)*) => {$(
        /// `a == b`
        #[inline(always)]
        pub const fn $eq(a: $ty, b: $ty) -> bool { a == b }
        /// The complement of each bit.
        #[inline(always)]
        pub const fn $not(x: $ty) -> $ty { !x }
        /// The bits that both have.
        #[inline(always)]
        pub const fn $and(a: $ty, b: $ty) -> $ty { a & b }
        /// The bits that either has.
        #[inline(always)]
        pub const fn $or(a: $ty, b: $ty) -> $ty { a | b }
        /// The bits that exactly one has.
        #[inline(always)]
        pub const fn $xor(a: $ty, b: $ty) -> $ty { a ^ b }
    )*};
}

bits! {
    u8:  eq_b8 not_b8 and_b8 or_b8 xor_b8;
    u16: eq_b16 not_b16 and_b16 or_b16 xor_b16;
    u32: eq_b32 not_b32 and_b32 or_b32 xor_b32;
    u64: eq_b64 not_b64 and_b64 or_b64 xor_b64;
}

/// Ordered comparisons of floats: false where either is NaN.
macro_rules! floats {
    ($($ty:ty: $eq:ident $ne:ident $lt:ident $le:ident $unordered:ident;)*) => {$(
        /// `a == b`; false if either is NaN
        #[inline(always)]
        pub const fn $eq(a: $ty, b: $ty) -> bool { a == b }
        /// `a != b` of two numbers; false if either is NaN
        #[inline(always)]
        pub const fn $ne(a: $ty, b: $ty) -> bool { (a < b) | (a > b) }
        /// `a < b`; false if either is NaN
        #[inline(always)]
        pub const fn $lt(a: $ty, b: $ty) -> bool { a < b }
        /// `a <= b`; false if either is NaN
        #[inline(always)]
        pub const fn $le(a: $ty, b: $ty) -> bool { a <= b }
        /// Returns true if either is NaN.
        #[inline(always)]
        pub const fn $unordered(a: $ty, b: $ty) -> bool { a.is_nan() | b.is_nan() }
    )*};
}

floats! {
    f32: eq_f32 ne_f32 lt_f32 le_f32 unordered_f32;
    f64: eq_f64 ne_f64 lt_f64 le_f64 unordered_f64;
}

/// Classification of floats.
macro_rules! classes {
    ($($ty:ty: $infinite:ident $subnormal:ident;)*) => {$(
        /// Returns true if `x` is an infinity of either sign.
        #[inline(always)]
        pub const fn $infinite(x: $ty) -> bool { x.is_infinite() }
        /// Returns true if `x` is subnormal; zero is not.
        #[inline(always)]
        pub const fn $subnormal(x: $ty) -> bool { x.is_subnormal() }
    )*};
}

classes! {
    f32: is_infinite_f32 is_subnormal_f32;
    f64: is_infinite_f64 is_subnormal_f64;
}

/// Halves are compared as integers: the magnitude with its sign is in the floats' order, and both zeros are 0.
macro_rules! halves {
    ($($ty:ty: $eq:ident $ne:ident $lt:ident $le:ident $unordered:ident $key:ident;)*) => {$(
        /// A number in the order of the floats.
        #[inline(always)]
        const fn $key(x: $ty) -> i16 {
            let magnitude = (x.to_bits() & 0x7fff) as i16;
            if (x.to_bits() as i16) < 0 { -magnitude } else { magnitude }
        }
        /// `a == b`; false if either is NaN
        #[inline(always)]
        pub const fn $eq(a: $ty, b: $ty) -> bool { ($key(a) == $key(b)) & !$unordered(a, b) }
        /// `a != b` of two numbers; false if either is NaN
        #[inline(always)]
        pub const fn $ne(a: $ty, b: $ty) -> bool { ($key(a) != $key(b)) & !$unordered(a, b) }
        /// `a < b`; false if either is NaN
        #[inline(always)]
        pub const fn $lt(a: $ty, b: $ty) -> bool { ($key(a) < $key(b)) & !$unordered(a, b) }
        /// `a <= b`; false if either is NaN
        #[inline(always)]
        pub const fn $le(a: $ty, b: $ty) -> bool { ($key(a) <= $key(b)) & !$unordered(a, b) }
        /// Returns true if either is NaN.
        #[inline(always)]
        pub const fn $unordered(a: $ty, b: $ty) -> bool {
            const INFINITY: u16 = <$ty>::INFINITY.to_bits();
            let (a, b) = (a.to_bits() & 0x7fff, b.to_bits() & 0x7fff);
            (if a > b { a } else { b }) > INFINITY
        }
    )*};
}

halves! {
    f16:  eq_f16 ne_f16 lt_f16 le_f16 unordered_f16 key_f16;
    bf16: eq_bf16 ne_bf16 lt_bf16 le_bf16 unordered_bf16 key_bf16;
}

/// Subnormal numbers become zero of the same sign.
#[inline(always)]
pub const fn flush_f32(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// Subnormal numbers become zero of the same sign.
#[inline(always)]
pub const fn flush_bf16(x: bf16) -> bf16 {
    let bits = x.to_bits();
    bf16::from_bits(if bits & 0x7f80 == 0 { bits & 0x8000 } else { bits })
}

/// Flushes results that are tiny after rounding: subnormal, or below the least normal number at twice the scale.
macro_rules! flushed_results {
    ($($ty:ty, $sign:literal, $normal:literal: $flush_result:ident $flush:ident;)*) => {$(
        /// `x` flushed to zero of the same sign where it is tiny after rounding. `doubled` is the result at twice the scale.
        #[inline(always)]
        pub const fn $flush_result(x: $ty, doubled: $ty) -> $ty {
            let tiny = doubled.to_bits() & !$sign < 2 * $normal;
            $flush(<$ty>::from_bits(if tiny { x.to_bits() & $sign } else { x.to_bits() }))
        }
    )*};
}

flushed_results! {
    f16, 0x8000, 0x0400: flush_result_f16 flush_f16;
    f32, 0x8000_0000, 0x0080_0000: flush_result_f32 flush_f32;
}

/// A half in single precision.
#[inline(always)]
pub const fn widen_f16(x: f16) -> f32 {
    convert_f32_f16::<{ rounding::RN }>(x)
}

/// A bfloat in single precision: the bits before sixteen zeros.
#[inline(always)]
pub const fn widen_bf16(x: bf16) -> f32 {
    f32::from_bits((x.to_bits() as u32) << 16)
}

/// Subnormal numbers become zero of the same sign.
#[inline(always)]
pub const fn flush_f16(x: f16) -> f16 {
    let bits = x.to_bits();
    f16::from_bits(if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits })
}

/// True where `x` is not.
#[inline(always)]
pub const fn not_pred(x: bool) -> bool {
    !x
}

/// True where both are.
#[inline(always)]
pub const fn and_pred(a: bool, b: bool) -> bool {
    a & b
}

/// True where either is.
#[inline(always)]
pub const fn or_pred(a: bool, b: bool) -> bool {
    a | b
}

/// True where exactly one is.
#[inline(always)]
pub const fn xor_pred(a: bool, b: bool) -> bool {
    a ^ b
}

/// The next wider signed integer.
#[inline(always)]
pub const fn widen_u8(x: u8) -> i16 {
    x as i16
}

/// The next wider signed integer.
#[inline(always)]
pub const fn widen_s8(x: i8) -> i16 {
    x as i16
}

/// The next wider signed integer.
#[inline(always)]
pub const fn widen_u16(x: u16) -> i32 {
    x as i32
}

/// The next wider signed integer.
#[inline(always)]
pub const fn widen_s16(x: i16) -> i32 {
    x as i32
}

/// The next wider signed integer.
#[inline(always)]
pub const fn widen_u32(x: u32) -> i64 {
    x as i64
}

/// The next wider signed integer.
#[inline(always)]
pub const fn widen_s32(x: i32) -> i64 {
    x as i64
}

/// The lesser one.
#[inline(always)]
pub const fn min_u32(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

/// The lesser one.
#[inline(always)]
pub const fn min_s32(a: i32, b: i32) -> i32 {
    if a < b { a } else { b }
}

/// The greater one.
#[inline(always)]
pub const fn max_u32(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

/// The greater one.
#[inline(always)]
pub const fn max_s32(a: i32, b: i32) -> i32 {
    if a > b { a } else { b }
}

/// The lesser one.
#[inline(always)]
pub const fn min_s64(a: i64, b: i64) -> i64 {
    if a < b { a } else { b }
}

/// The greater one.
#[inline(always)]
pub const fn max_s64(a: i64, b: i64) -> i64 {
    if a > b { a } else { b }
}

/// The nearest unsigned number that a byte, a half-word or a word holds.
#[inline(always)]
pub const fn clamp_part_u32_s64(x: i64, pick: Lanes<1, 7>) -> u32 {
    let most = (u32::MAX >> (32 - field(pick).1)) as i64;
    (if x < 0 {
        0
    } else if x > most {
        most
    } else {
        x
    }) as u32
}

/// The nearest signed number that a byte, a half-word or a word holds.
#[inline(always)]
pub const fn clamp_part_s32_s64(x: i64, pick: Lanes<1, 7>) -> i32 {
    let most = (i32::MAX >> (32 - field(pick).1)) as i64;
    (if x < -most - 1 {
        -most - 1
    } else if x > most {
        most
    } else {
        x
    }) as i32
}

/// First bit and width of a byte, a half-word or a whole word.
#[inline(always)]
const fn field(pick: Lanes<1, 7>) -> (u32, u32) {
    match pick.lane(0) {
        byte @ 0..4 => (8 * byte as u32, 8),
        6 => (0, 32),
        half => (16 * (half as u32 - 4), 16),
    }
}

/// A byte or half-word with zeros above, or all of `x`.
#[inline(always)]
pub const fn select_part_u32(x: u32, pick: Lanes<1, 7>) -> u32 {
    let (first, width) = field(pick);
    x << (32 - width - first) >> (32 - width)
}

/// A byte or half-word with its sign above, or all of `x`.
#[inline(always)]
pub const fn select_part_s32(x: i32, pick: Lanes<1, 7>) -> i32 {
    let (first, width) = field(pick);
    x << (32 - width - first) >> (32 - width)
}

/// `c` with the lowest bits of `x` in place of a byte or half-word, or `x`.
#[inline(always)]
pub const fn merge_part(c: u32, x: u32, pick: Lanes<1, 7>) -> u32 {
    let (first, width) = field(pick);
    let mask = u32::MAX >> (32 - width) << first;
    c & !mask | x << first & mask
}

/// Counts the lanes that are true.
#[inline(always)]
pub const fn count_true_pred<const LANES: usize>(x: [bool; LANES]) -> u32 {
    let mut count = 0;
    let mut lane = 0;
    while lane < LANES {
        count += x[lane] as u32;
        lane += 1;
    }
    count
}

/// Four bytes picked from the eight of `a` (0 to 3) and `b` (4 to 7).
#[inline(always)]
pub const fn select_bytes(a: u32, b: u32, pick: Lanes<4, 8>) -> [u8; 4] {
    let pool = a as u64 | (b as u64) << 32;
    let mut picked = [0; 4];
    let mut lane = 0;
    while lane < 4 {
        picked[lane] = (pool >> (8 * pick.lane(lane))) as u8;
        lane += 1;
    }
    picked
}

/// Two half-words picked from the four of `a` (0 and 1) and `b` (2 and 3).
#[inline(always)]
pub const fn select_halves(a: u32, b: u32, pick: Lanes<2, 4>) -> [u16; 2] {
    let pool = a as u64 | (b as u64) << 32;
    let mut picked = [0; 2];
    let mut lane = 0;
    while lane < 2 {
        picked[lane] = (pool >> (16 * pick.lane(lane))) as u16;
        lane += 1;
    }
    picked
}
