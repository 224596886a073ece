//! Collective operations across the lanes of a warp. Member masks have one bit for each of the 32 lanes.
//!
//! ```
//! use ptx_isa::eval;
//!
//! let x = core::array::from_fn(|thread| thread as u32 / 8);
//! assert_eq!(eval::shuffle_b32(x, 9), 1);
//! assert_eq!(eval::match_any_b32(x, 3, 0x0fff_ffff), 0x0f00_0000);
//! assert_eq!(eval::reduce_add_b32(x, 0xf), 0);
//! ```

use isa_table::program::WARP;

use super::{canonical_nan_f32, max_f32, min_f32};

/// Indexed shuffle: returns the value of lane `thread` modulo 32.
#[inline(always)]
pub const fn shuffle_b32(x: [u32; WARP], thread: u32) -> u32 {
    x[thread as usize % WARP]
}

/// Returns a ballot: bit *i* is the predicate of lane *i*, for the lanes in `threads`.
pub const fn ballot(x: [bool; WARP], threads: u32) -> u32 {
    let (mut all, mut thread) = (0, 0);
    while thread < WARP {
        all |= (x[thread] as u32) << thread;
        thread += 1;
    }
    all & threads
}

/// Matches of a value across lanes.
macro_rules! alike {
    ($($ty:ty: $alike:ident;)*) => {$(
        /// Returns the mask of the lanes in `threads` whose value equals `like`.
        pub const fn $alike(x: [$ty; WARP], like: $ty, threads: u32) -> u32 {
            let (mut same, mut thread) = ([false; WARP], 0);
            while thread < WARP {
                same[thread] = x[thread] == like;
                thread += 1;
            }
            ballot(same, threads)
        }
    )*};
}

alike! {
    u32: match_any_b32;
    u64: match_any_b64;
}

/// Reductions over the lanes in `threads`, starting from a neutral element.
macro_rules! joined {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $none:expr, |$all:ident, $x:ident| $join:expr;)*) => {$(
        $(#[$doc])*
        pub const fn $name(x: [$ty; WARP], threads: u32) -> $ty {
            let (mut $all, mut thread) = ($none, 0);
            while thread < WARP {
                if threads >> thread & 1 != 0 {
                    let $x = x[thread];
                    $all = $join;
                }
                thread += 1;
            }
            $all
        }
    )*};
}

joined! {
    /// Sum over the lanes in `threads`; wraps on overflow.
    reduce_add_b32: u32, 0_u32, |all, x| all.wrapping_add(x);
    /// Bitwise AND over the lanes in `threads`.
    reduce_and_b32: u32, u32::MAX, |all, x| all & x;
    /// Bitwise OR over the lanes in `threads`.
    reduce_or_b32: u32, 0, |all, x| all | x;
    /// Bitwise XOR over the lanes in `threads`.
    reduce_xor_b32: u32, 0, |all, x| all ^ x;
    /// Minimum over the lanes in `threads`.
    reduce_min_u32: u32, u32::MAX, |all, x| if x < all { x } else { all };
    /// Minimum over the lanes in `threads`.
    reduce_min_s32: i32, i32::MAX, |all, x| if x < all { x } else { all };
    /// Maximum over the lanes in `threads`.
    reduce_max_u32: u32, 0, |all, x| if x > all { x } else { all };
    /// Maximum over the lanes in `threads`.
    reduce_max_s32: i32, i32::MIN, |all, x| if x > all { x } else { all };
    /// Minimum over the lanes in `threads`, ignoring NaNs; NaN if all of them are NaN.
    reduce_min_f32: f32, canonical_nan_f32(0.0), |all, x| min_f32(all, x);
    /// Maximum over the lanes in `threads`, ignoring NaNs; NaN if all of them are NaN.
    reduce_max_f32: f32, canonical_nan_f32(0.0), |all, x| max_f32(all, x);
}
