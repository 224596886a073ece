//! Bodies of the builtins that take whole values, for 32 lanes at once.
//!
//! Most lane-wise builtins need none of these: loops call their body for one lane, and the compiler vectorizes it. The
//! functions here are for operations that such a loop cannot express well: moving bytes between lanes of a packed
//! value, sums over them, and instructions of a SIMD level without an operator in Rust, such as sums with a rounding
//! mode.

mod approx;

use core::convert::identity;

pub use approx::*;

use super::convert::whole_f32;
use super::f16;
use super::float::{finish_f64, sum_f32};
use super::rounding::{RM, RN, RP, RZ};
use crate::lanes::{Pick, Simd, WARP, reinterpret, whole};

/// Computes a value for each lane. A macro rather than a closure: a closure would not have the level's features.
macro_rules! lanes {
    (|$lane:ident| $value:expr) => {{
        let mut lanes = [Default::default(); N];
        let mut $lane = 0;
        while $lane < N {
            lanes[$lane] = $value;
            $lane += 1;
        }
        lanes
    }};
}

/// Floats whose NaNs are the machine's.
#[inline(always)]
fn machine<const N: usize>(x: [u32; N]) -> [u32; N] {
    lanes!(|lane| if x[lane] & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { x[lane] })
}

/// Halves whose NaNs are the machine's.
#[inline(always)]
fn machine_halves<const N: usize>(x: [u16; N]) -> [u16; N] {
    lanes!(|lane| if x[lane] & 0x7fff > 0x7c00 { 0x7fff } else { x[lane] })
}

/// Sums, products and roots with a rounding.
macro_rules! rounded {
    ($($word:ident $float:ty, $finish:ident: $($name:ident($($arg:ident)*))*;)*) => {$($(
        /// The function of this name in each lane.
        #[inline(always)]
        pub fn $name<const ROUNDING: u8, L: Simd, const N: usize>(simd: L, $($arg: &[$word; N]),*) -> [$word; N] {
            match simd.$name::<ROUNDING, N>($($arg),*) {
                Some(result) => $finish(result),
                None => lanes!(|lane| super::$name::<ROUNDING>($(<$float>::from_bits($arg[lane])),*).to_bits()),
            }
        }
    )*)*};
}

rounded! {
    u32 f32, machine: add_f32(a b) mul_f32(a b) fma_f32(a b c) sqrt_f32(a);
    u64 f64, identity: add_f64(a b) mul_f64(a b) sqrt_f64(a);
}

/// [`fma_f64`](super::fma_f64) in each lane.
#[inline(always)]
pub fn fma_f64<const ROUNDING: u8, L: Simd, const N: usize>(
    simd: L,
    a: &[u64; N],
    b: &[u64; N],
    c: &[u64; N],
) -> [u64; N] {
    let float = f64::from_bits;
    match simd.fma_f64::<ROUNDING, N>(a, b, c) {
        Some(result) => lanes!(|lane| {
            let (a, b, c) = (float(a[lane]), float(b[lane]), float(c[lane]));
            finish_f64(float(result[lane]), a, if b.is_nan() { b } else { c }).to_bits()
        }),
        None => lanes!(|lane| super::fma_f64::<ROUNDING>(float(a[lane]), float(b[lane]), float(c[lane])).to_bits()),
    }
}

/// Sums and products of halves, rounded to nearest even. Single precision has enough bits that rounding its result to
/// half precision equals rounding the exact result.
macro_rules! halves {
    ($($name:ident($simd:ident $($arg:ident)*) $value:expr;)*) => {$(
        /// The function of this name in each lane.
        #[inline(always)]
        pub fn $name<const ROUNDING: u8, L: Simd, const N: usize>($simd: L, $($arg: &[u16; N]),*) -> [u16; N] {
            if ROUNDING == RN
                && let ($(Some($arg),)*) = ($($simd.single::<RN, N>($arg),)*)
                && let Some(result) = $simd.half::<RN, N>(&$value)
            {
                return machine_halves(result);
            }
            lanes!(|lane| super::$name::<ROUNDING>($(f16::from_bits($arg[lane])),*).to_bits())
        }
    )*};
}

halves! {
    add_f16(simd a b) lanes!(|lane| (f32::from_bits(a[lane]) + f32::from_bits(b[lane])).to_bits());
    mul_f16(simd a b) lanes!(|lane| (f32::from_bits(a[lane]) * f32::from_bits(b[lane])).to_bits());
    fma_f16(simd a b c) odd_fma(simd, &a, &b, &c);
}

/// `a · b + c` of halves in single precision, rounded to odd: of the two neighbors of an inexact result, the one with
/// an odd last bit. The product of two halves is exact in single precision.
#[inline(always)]
fn odd_fma<L: Simd, const N: usize>(simd: L, a: &[u32; N], b: &[u32; N], c: &[u32; N]) -> [u32; N] {
    match (simd.fma_f32::<RM, N>(a, b, c), simd.fma_f32::<RP, N>(a, b, c)) {
        (Some(down), Some(up)) => lanes!(|lane| if down[lane] & 1 != 0 { down[lane] } else { up[lane] }),
        _ => lanes!(|lane| {
            let float = f32::from_bits;
            sum_f32::<RN>(float(a[lane]) * float(b[lane]), float(c[lane])).to_bits()
        }),
    }
}

/// [`widen_f16`](super::widen_f16) in each lane.
#[inline(always)]
pub fn widen_f16<L: Simd, const N: usize>(simd: L, x: &[u16; N]) -> [u32; N] {
    convert_f32_f16::<RN, L, N>(simd, x)
}

/// [`convert_f32_f16`](super::convert_f32_f16) in each lane.
#[inline(always)]
pub fn convert_f32_f16<const ROUNDING: u8, L: Simd, const N: usize>(simd: L, x: &[u16; N]) -> [u32; N] {
    match simd.single::<ROUNDING, N>(x) {
        Some(result) => machine(result),
        None => lanes!(|lane| super::convert_f32_f16::<ROUNDING>(f16::from_bits(x[lane])).to_bits()),
    }
}

/// [`convert_f16_f32`](super::convert_f16_f32) in each lane.
#[inline(always)]
pub fn convert_f16_f32<const ROUNDING: u8, L: Simd, const N: usize>(simd: L, x: &[u32; N]) -> [u16; N] {
    match simd.half::<ROUNDING, N>(x) {
        Some(result) => machine_halves(result),
        None => lanes!(|lane| super::convert_f16_f32::<ROUNDING>(f32::from_bits(x[lane])).to_bits()),
    }
}

/// [`convert_s32_f32`](super::convert_s32_f32) in each lane.
#[inline(always)]
pub fn convert_s32_f32<const ROUNDING: u8, L: Simd, const N: usize>(simd: L, x: &[u32; N]) -> [u32; N] {
    let float = f32::from_bits;
    let whole = if ROUNDING == RZ { *x } else { lanes!(|lane| whole_f32::<ROUNDING>(float(x[lane])).to_bits()) };
    match simd.truncate::<RZ, N>(&whole) {
        Some(result) => lanes!(|lane| match float(x[lane]) {
            x if x.is_nan() => 0,
            x if x >= 2_147_483_648.0 => i32::MAX as u32,
            _ => result[lane],
        }),
        None => lanes!(|lane| super::convert_s32_f32::<ROUNDING>(float(x[lane])).cast_unsigned()),
    }
}

/// Functions of words.
macro_rules! words {
    ($($name:ident($($arg:ident)*);)*) => {$(
        /// The function of this name in each lane.
        #[inline(always)]
        pub fn $name<L: Simd, const N: usize>(simd: L, $($arg: &[u32; N]),*) -> [u32; N] {
            match simd.$name($($arg),*) {
                Some(result) => result,
                None => lanes!(|lane| super::$name($($arg[lane]),*)),
            }
        }
    )*};
}

words! {
    logic3(a b c table);
    byte_permute(a b control);
    population_count_b32(x);
}

/// [`population_count_b64`](super::population_count_b64) in each lane.
#[inline(always)]
pub fn population_count_b64<L: Simd, const N: usize>(_: L, x: &[u64; N]) -> [u32; N] {
    lanes!(|lane| super::population_count_b64(x[lane]))
}

/// [`select_bytes`](super::select_bytes) in each lane.
#[inline(always)]
pub fn select_bytes<L: Simd>(simd: L, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128] {
    match whole(a, b, pick) {
        Some(word) => reinterpret(*word),
        None => simd.pick(a, b, pick),
    }
}

/// [`select_halves`](super::select_halves) in each lane.
#[inline(always)]
pub fn select_halves<L: Simd>(simd: L, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u16; 64] {
    reinterpret(select_bytes(simd, a, b, pick))
}

/// [`count_true_pred`](super::count_true_pred) in each lane, of whose predicates the mask has `EACH` neighbours.
#[inline(always)]
pub fn count_true_pred<L: Simd, const EACH: usize>(simd: L, x: u128) -> [u32; WARP] {
    simd.count::<EACH>(x)
}
