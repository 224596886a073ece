//! What a thread learns of others of its warp. Threads are sets of bits, one for each of 32.
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

/// What a thread of the warp has; the lowest five bits of its number are looked at.
#[inline(always)]
pub const fn shuffle_b32(x: [u32; WARP], thread: u32) -> u32 {
    x[thread as usize % WARP]
}

/// Those of some threads that have it true.
#[inline(always)]
pub const fn ballot(x: [bool; WARP], threads: u32) -> u32 {
    let (mut all, mut thread) = (0, 0);
    while thread < WARP {
        all |= (x[thread] as u32) << thread;
        thread += 1;
    }
    all & threads
}

/// Those of some threads that have the same.
macro_rules! alike {
    ($($ty:ty: $alike:ident;)*) => {$(
        /// Those of some threads that have the same as `like`.
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

/// What some threads have, joined by a function, from a value that changes nothing.
macro_rules! joined {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $none:expr, |$all:ident, $x:ident| $join:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
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
    /// The sum of what some threads have, modulo two to the width.
    reduce_add_b32: u32, 0_u32, |all, x| all.wrapping_add(x);
    /// The bits that all of some threads have.
    reduce_and_b32: u32, u32::MAX, |all, x| all & x;
    /// The bits that any of some threads has.
    reduce_or_b32: u32, 0, |all, x| all | x;
    /// The bits that an odd number of some threads has.
    reduce_xor_b32: u32, 0, |all, x| all ^ x;
    /// The least of what some threads have.
    reduce_min_u32: u32, u32::MAX, |all, x| if x < all { x } else { all };
    /// The least of what some threads have.
    reduce_min_s32: i32, i32::MAX, |all, x| if x < all { x } else { all };
    /// The greatest of what some threads have.
    reduce_max_u32: u32, 0, |all, x| if x > all { x } else { all };
    /// The greatest of what some threads have.
    reduce_max_s32: i32, i32::MIN, |all, x| if x > all { x } else { all };
    /// The least number of those that some threads have; NaN if none has one.
    reduce_min_f32: f32, canonical_nan_f32(0.0), |all, x| min_f32(all, x);
    /// The greatest number of those that some threads have; NaN if none has one.
    reduce_max_f32: f32, canonical_nan_f32(0.0), |all, x| max_f32(all, x);
}
