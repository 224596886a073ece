//! Functions of what other lanes of a warp hold, for all of its lanes.

use core::convert::identity;

use crate::eval;
use crate::lanes::{Simd, WARP};

/// [`shuffle_b32`](eval::shuffle_b32) in each lane.
#[inline(always)]
pub fn shuffle_b32<L: Simd>(simd: L, x: &[u32; WARP], lanes: &[u32; WARP]) -> [u32; WARP] {
    simd.shuffle(x, lanes)
}

/// [`ballot`](eval::ballot) in each lane.
#[inline(always)]
pub fn ballot<L: Simd>(_: L, x: u32, threads: &[u32; WARP]) -> [u32; WARP] {
    let mut result = *threads;
    let mut lane = 0;
    while lane < WARP {
        result[lane] &= x;
        lane += 1;
    }
    result
}

macro_rules! matches {
    ($($name:ident $word:ident;)*) => {$(
        /// The function of this name in each lane.
        #[inline(always)]
        pub fn $name<L: Simd>(simd: L, x: &[$word; WARP], like: &[$word; WARP], threads: &[u32; WARP]) -> [u32; WARP] {
            let mut result = *threads;
            let mut lane = 0;
            while lane < WARP {
                let mut same = [0_i8; WARP];
                let mut other = 0;
                while other < WARP {
                    same[other] = -i8::from(x[other] == like[lane]);
                    other += 1;
                }
                result[lane] &= simd.mask(&same, <$word>::BITS) as u32;
                lane += 1;
            }
            result
        }
    )*};
}

matches! {
    match_any_b32 u32;
    match_any_b64 u64;
}

/// Reductions, computed once where all lanes reduce over the same ones.
macro_rules! reductions {
    ($($name:ident $from:expr, $to:expr;)*) => {$(
        /// The function of this name in each lane.
        #[inline(always)]
        pub fn $name<L: Simd>(_: L, x: &[u32; WARP], threads: &[u32; WARP]) -> [u32; WARP] {
            let mut values = [$from(0_u32); WARP];
            let (mut lane, mut differs) = (0, 0);
            while lane < WARP {
                values[lane] = $from(x[lane]);
                differs |= threads[lane] ^ threads[0];
                lane += 1;
            }
            let mut result = [$to(eval::$name(values, threads[0])); WARP];
            lane = 1;
            while differs != 0 && lane < WARP {
                result[lane] = $to(eval::$name(values, threads[lane]));
                lane += 1;
            }
            result
        }
    )*};
}

reductions! {
    reduce_add_b32 identity, identity;
    reduce_and_b32 identity, identity;
    reduce_or_b32 identity, identity;
    reduce_xor_b32 identity, identity;
    reduce_min_u32 identity, identity;
    reduce_max_u32 identity, identity;
    reduce_min_s32 u32::cast_signed, i32::cast_unsigned;
    reduce_max_s32 u32::cast_signed, i32::cast_unsigned;
    reduce_min_f32 f32::from_bits, f32::to_bits;
    reduce_max_f32 f32::from_bits, f32::to_bits;
}
