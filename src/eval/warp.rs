//! Bodies of the builtins that take whole values, for 32 lanes at once.
//!
//! A builtin that works lane by lane needs none of these: kernels call its body for one lane in a loop, and the
//! compiler makes vectors of it. These are for what no such loop can say well: bytes that move between lanes of a
//! packed value, and sums over them.

use crate::lanes::{Pick, Simd, WARP, reinterpret, whole};

/// [`bytes`](super::bytes) in each lane.
#[inline(always)]
pub fn bytes<L: Simd>(simd: L, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128] {
    match whole(a, b, pick) {
        Some(word) => reinterpret(*word),
        None => simd.pick(a, b, pick),
    }
}

/// [`halves`](super::halves) in each lane.
#[inline(always)]
pub fn halves<L: Simd>(simd: L, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u16; 64] {
    reinterpret(bytes(simd, a, b, pick))
}

/// [`count_pred`](super::count_pred) in each lane, of whose predicates the mask has `EACH` neighbours.
#[inline(always)]
pub fn count_pred<L: Simd, const EACH: usize>(simd: L, x: u128) -> [u32; WARP] {
    simd.count::<EACH>(x)
}
