//! SIMD levels: which ones a machine has, and the operations that each implements with its own instructions.

use super::params::{WHOLE_FIRST, WHOLE_SECOND};
use super::values::sealed;
use super::{Pick, WARP, Word};

/// Calls a macro with each level that has vectors, in ascending order: its name, its type, and the CPU features that it
/// needs. Portable code has none on x86-64: machines without AVX2 are rare, and vectors of the instructions that every such
/// machine has were most of the code of all levels together.
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
macro_rules! levels {
    ($each:ident) => {
        $each! {
            avx2 Avx2 ["avx2" "bmi1" "bmi2" "f16c" "fma"];
            avx512 Avx512 ["avx2" "bmi1" "bmi2" "f16c" "fma" "avx512f" "avx512bw" "avx512dq" "avx512vl"];
        }
    };
}
#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
macro_rules! levels {
    ($each:ident) => {
        $each! { portable Portable []; }
    };
}
#[cfg(not(feature = "simd"))]
macro_rules! levels {
    ($each:ident) => {
        $each! {}
    };
}
#[cfg(feature = "simd")]
pub(super) use levels;

macro_rules! names {
    ($($name:ident $simd:ident [$($feature:tt)*];)*) => { &[$(stringify!($name)),*] };
}

/// Names of the levels that have vectors.
const VECTORS: &[&str] = levels!(names);

/// Number of levels before them, at which threads run one by one.
const FIRST: u8 = cfg!(any(target_arch = "x86_64", not(feature = "simd"))) as u8;

/// A SIMD level that this machine has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level(pub(super) u8);

impl Level {
    /// The level that every machine has.
    pub const PORTABLE: Level = Level(0);

    /// The levels that this machine has, the best one last. Without the feature `std` the compiler's flags decide.
    pub fn available() -> impl Iterator<Item = Level> + Clone {
        (0..FIRST + VECTORS.len() as u8).map(Level).filter(|level| level.vectors().is_none_or(has))
    }

    /// The best level that this machine has.
    pub fn best() -> Level {
        Level::available().last().unwrap_or(Level::PORTABLE)
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        self.vectors().map_or("portable", |index| VECTORS[index])
    }

    /// Returns true if its vectors have 64 bytes, and instructions that load scattered elements for the lanes of a mask.
    #[cfg(all(target_arch = "x86_64", feature = "simd", feature = "run"))]
    pub(super) fn gathers(self) -> bool {
        self.name() == "avx512"
    }

    /// The index of its code among that of a loop; `None` where threads run one by one.
    pub(super) fn vectors(self) -> Option<usize> {
        self.0.checked_sub(FIRST).map(usize::from)
    }
}

/// Returns true if the machine has a CPU feature.
#[cfg(all(target_arch = "x86_64", feature = "simd", feature = "std", not(miri)))]
macro_rules! has_feature {
    ($feature:tt) => {
        std::arch::is_x86_feature_detected!($feature)
    };
}
#[cfg(all(target_arch = "x86_64", feature = "simd", not(all(feature = "std", not(miri)))))]
macro_rules! has_feature {
    ($feature:tt) => {
        cfg!(all(target_feature = $feature, not(miri)))
    };
}
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
pub(super) use has_feature;

/// Returns true if the machine has the features of a level with vectors.
fn has(vectors: usize) -> bool {
    macro_rules! detected {
        ($($name:ident $simd:ident [$($feature:tt)*];)*) => { [$(true $(&& has_feature!($feature))*),*] };
    }
    let levels: [bool; VECTORS.len()] = levels!(detected);
    levels[vectors]
}

impl core::fmt::Debug for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// Floating-point functions; `None` at a level without an instruction for them.
macro_rules! floats {
    ($($(#[$doc:meta])* $name:ident($($arg:ident)*) $word:ident -> $result:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        fn $name<const ROUNDING: u8, const N: usize>(self, $($arg: &[$word; N]),*) -> Option<[$result; N]> {
            let _ = ($($arg,)*);
            None
        }
    )*};
}

/// Code that is compiled once for each level, instead of into each loop that uses it.
pub trait Kernel {
    type Output;
    fn run<L: Simd>(self, simd: L) -> Self::Output;
}

/// Operations that a SIMD level implements with its own instructions. A value exists only in functions with the level's
/// features.
///
/// A mask has the bit of lane `i` at place `i`; packed values have 64 or 128 lanes.
pub trait Simd: Copy + sealed::Sealed {
    /// True if comparisons give masks of one bit a lane, rather than lanes of all ones or zeros.
    const MASKS: bool;
    /// Size of a vector in bytes.
    const WIDTH: usize;
    /// Returns the sign bits of 32, 64 or 128 lanes, which are results of comparisons of `compared`-bit lanes.
    fn mask<const N: usize>(self, lanes: &[i8; N], compared: u32) -> u128;
    /// Returns the bits at even positions, and those at odd positions.
    fn unzip(self, mask: u64) -> (u32, u32);
    /// Doubles each bit.
    fn twice(self, mask: u32) -> u64;
    /// Selects lanes of `yes` where the mask is set, else lanes of `no`.
    fn select<W: Word, const N: usize>(self, mask: u128, yes: &[W; N], no: &[W; N]) -> [W; N];
    /// Returns the number of set bits in each group of `EACH` (2 or 4) neighbors.
    fn count<const EACH: usize>(self, mask: u128) -> [u32; WARP];
    /// Returns the bytes that a selector picks from each pair of words.
    fn pick(self, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128];

    /// Runs a kernel in a function of its own.
    fn call<K: Kernel>(self, kernel: K) -> K::Output;

    /// Selects one of two constants in each lane by a test of `TESTED`-bit lanes, which are narrower than `W`.
    #[inline(always)]
    fn choose<const TESTED: u32, W: Word, const N: usize>(self, test: impl Fn(usize) -> bool, yes: W, no: W) -> [W; N] {
        let mut lanes = [no; N];
        let mut lane = 0;
        if Self::MASKS {
            let mut outcomes = [0; N];
            while lane < N {
                outcomes[lane] = -i8::from(test(lane));
                lane += 1;
            }
            return self.select(self.mask(&outcomes, TESTED), &[yes; N], &lanes);
        }
        if TESTED == 16 && N == WARP {
            let mut outcomes = [0_u16; WARP];
            while lane < N {
                outcomes[lane] = if test(lane) { u16::MAX } else { 0 };
                lane += 1;
            }
            let wide: [W; WARP] = self.widen(&outcomes);
            lane = 0;
            while lane < N {
                lanes[lane] = if wide[lane].is_ones() { yes } else { no };
                lane += 1;
            }
            return lanes;
        }
        while lane < N {
            lanes[lane] = if test(lane) { yes } else { no };
            lane += 1;
        }
        lanes
    }

    // Roundings are those of `eval::rounding`. Where nothing is said of a NaN, it is any.
    floats! {
        /// `a + b`
        add_f32(a b) u32 -> u32;
        /// `a · b`
        mul_f32(a b) u32 -> u32;
        /// `a · b + c` with one rounding.
        fma_f32(a b c) u32 -> u32;
        /// The square root.
        sqrt_f32(a) u32 -> u32;
        /// `a + b`; of NaNs the first is kept, and made quiet.
        add_f64(a b) u64 -> u64;
        /// `a · b`; of NaNs the first is kept, and made quiet.
        mul_f64(a b) u64 -> u64;
        /// `a · b + c` with one rounding.
        fma_f64(a b c) u64 -> u64;
        /// The square root; a NaN is kept, and made quiet.
        sqrt_f64(a) u64 -> u64;
        /// A float as a signed integer, towards zero alone; the least integer in place of one with more bits.
        truncate(a) u32 -> u32;
        /// The greater of two signed integers.
        max_s32(a b) u32 -> u32;
        /// A half in single precision, which needs no rounding.
        single(a) u16 -> u32;
        /// A float in half precision.
        half(a) u32 -> u16;
    }

    /// Any function of three words, bit by bit: bit `4·a + 2·b + c` of the table is the outcome. `None` where tables differ,
    /// or at a level that has no instruction for it.
    #[inline(always)]
    fn logic3<const N: usize>(self, _: &[u32; N], _: &[u32; N], _: &[u32; N], _: &[u32; N]) -> Option<[u32; N]> {
        None
    }

    /// Permutes bytes: selects four of the eight bytes of two words by 4-bit selectors; bit 3 replicates the sign of the byte. `None`
    /// at a level that has no instruction for it.
    #[inline(always)]
    fn byte_permute<const N: usize>(self, _: &[u32; N], _: &[u32; N], _: &[u32; N]) -> Option<[u32; N]> {
        None
    }

    /// The value of the lane that each lane names by its lowest five bits.
    #[inline(always)]
    fn shuffle(self, x: &[u32; WARP], lanes: &[u32; WARP]) -> [u32; WARP] {
        let mut result = [0; WARP];
        let mut lane = 0;
        while lane < WARP {
            result[lane] = x[lanes[lane] as usize % WARP];
            lane += 1;
        }
        result
    }

    /// The words at places of a slice.
    ///
    /// # Panics
    ///
    /// If a place is beyond it.
    #[inline(always)]
    fn gather(self, words: &[u32], places: &[u32; 16]) -> [u32; 16] {
        gather(words, places)
    }

    /// Counts the one bits of each word. `None` at a level without a faster sequence than the compiler's.
    #[inline(always)]
    fn population_count_b32<const N: usize>(self, _: &[u32; N]) -> Option<[u32; N]> {
        None
    }

    /// Sets the sums of each column to those of each lane: sums of the products of unsigned bytes of `rows` and signed ones of the
    /// column, four of each in a word. `columns` has as many words for a column as there are rows.
    #[inline(always)]
    fn dot_bytes(self, rows: &[[u32; 16]], columns: &[u32], sums: &mut [[u32; 16]]) {
        for (column, sums) in columns.chunks_exact(rows.len()).zip(sums) {
            let mut totals = [0; 16];
            for (row, signed) in rows.iter().zip(column) {
                let signed = signed.to_le_bytes();
                let mut lane = 0;
                while lane < 16 {
                    let unsigned = row[lane].to_le_bytes();
                    let mut byte = 0;
                    while byte < 4 {
                        totals[lane] += i32::from(unsigned[byte]) * i32::from(signed[byte].cast_signed());
                        byte += 1;
                    }
                    lane += 1;
                }
            }
            let mut lane = 0;
            while lane < 16 {
                sums[lane] = totals[lane].cast_unsigned();
                lane += 1;
            }
        }
    }

    /// Widens lanes of all ones or zeros.
    #[inline(always)]
    fn widen<V: Word, W: Word>(self, lanes: &[V; WARP]) -> [W; WARP] {
        widen(lanes)
    }

    /// One of each `EACH` bits.
    #[inline(always)]
    fn lane<const EACH: usize>(self, mask: u128, lane: u32) -> u32 {
        let (lower, upper) = (self.unzip(mask as u64), self.unzip((mask >> 64) as u64));
        let join = |lower: u32, upper: u32| u64::from(lower) | u64::from(upper) << 32;
        let half = if lane.is_multiple_of(2) { join(lower.0, upper.0) } else { join(lower.1, upper.1) };
        match (EACH, lane / 2) {
            (2, _) => half as u32,
            (_, 0) => self.unzip(half).0,
            _ => self.unzip(half).1,
        }
    }
}

/// Returns the word that a selector picks unchanged, the first or the second; `None` if it picks any other bytes.
#[inline(always)]
pub fn whole<'a>(a: &'a [u32; WARP], b: &'a [u32; WARP], pick: &Pick) -> Option<&'a [u32; WARP]> {
    match pick.whole {
        WHOLE_FIRST => Some(a),
        WHOLE_SECOND => Some(b),
        _ => None,
    }
}

/// Each bit `each` times.
#[inline(always)]
pub fn spread(mask: u32, each: u32) -> u128 {
    let ones = (1_u128 << each) - 1;
    let (mut spread, mut lane) = (0, 0);
    while lane < WARP as u32 {
        spread |= (u128::from(mask >> lane & 1) * ones) << (lane * each);
        lane += 1;
    }
    spread
}

/// Words at places, one by one.
#[inline(always)]
pub(crate) fn gather(words: &[u32], places: &[u32; 16]) -> [u32; 16] {
    let (mut gathered, mut lane) = ([0; 16], 0);
    while lane < 16 {
        gathered[lane] = words[places[lane] as usize];
        lane += 1;
    }
    gathered
}

/// Lanes of ones and zeros with more bits, one by one.
#[inline(always)]
pub(super) fn widen<V: Word, W: Word>(lanes: &[V; WARP]) -> [W; WARP] {
    let mut wide = [W::default(); WARP];
    let mut lane = 0;
    while lane < WARP {
        wide[lane] = lanes[lane].widen();
        lane += 1;
    }
    wide
}
