//! The shapes that kernels run in: 32 lanes of a warp at once, or slices of any length, at each SIMD level.
//!
//! The generator writes a kernel as safe code for one lane ([`Test`]) or for one warp ([`Program`]); this module
//! compiles it for every level, moves operands between memory and kernels, and applies guards and truth tables. It
//! knows no instruction, no modifier and no builtin. It is the one module with `unsafe`: functions that need a CPU
//! feature, and raw pointers to operands. Both are private to the crate; what is public here is what generated code
//! names, and is safe.
//!
//! `data` and `lanes` hold what a kernel is given, `level` with `portable` and `x86` what a level does with instructions
//! of its own, `shape` how kernels run, `file` and `slice` what they run over.
//!
//! Two promises hold all of it, and the callers in [`warp`](crate::warp) and [`slice`](crate::slice) keep them:
//!
//! 1. **Level.** A function of a level is called only through [`Level`], a value of which exists only where the
//!    machine has the level's features.
//! 2. **Places.** Every operand place that a kernel uses points to 32 lanes (to `32 * chunks` lanes) of the operand's
//!    width, or to one word of predicates (a word for each chunk, `Places::step` bytes apart), aligned, readable, and writable
//!    where it is a destination. Destinations overlap no source but itself. `Kernel::layout` says which places
//!    with which widths.
#![allow(unsafe_code, reason = "the one module that calls functions of CPU features and follows operand pointers")]
#![cfg_attr(not(feature = "simd"), allow(dead_code, unused_macros, reason = "without kernels lanes run one by one"))]
// What is shown of this module is for generated code.
#![allow(missing_docs, reason = "traits and types that generated code names; each has a comment where it matters")]

use alloc::sync::Arc;

#[cfg(any(target_arch = "x86_64", not(feature = "simd")))]
pub(crate) mod by_lane;
mod data;
mod file;
mod lanes;
mod level;
#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
mod portable;
mod shape;
mod slice;
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
mod x86;

pub(crate) use data::Truth;
pub use data::{Pick, Selectors};
pub(crate) use file::{Code, File};
pub use lanes::*;
pub(crate) use level::LEVELS;
pub use level::{Level, Simd, whole};
#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
use portable::Portable;
use shape::*;
pub use slice::{Slice, SliceMut};
pub(crate) use slice::{SliceCode, UNREAD};
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
use x86::{Avx2, Avx512};

/// Lanes of a warp.
pub const WARP: usize = 32;

/// The bit of each lane in a mask.
pub const BIT: [u32; WARP] = {
    let mut bits = [0; WARP];
    let mut lane = 0;
    while lane < WARP {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// Places of operands: destinations, then the sources in the kernel's order. In the shapes with truth tables the
/// second and third source are the test's second one and the predicate.
pub(crate) const PLACES: usize = 8;
const D: usize = 0;
const E: usize = 1;
/// The place of the first source.
pub(crate) const SOURCES: usize = 2;
const A: usize = 2;
const B: usize = 3;
const X: usize = 4;

/// An instruction: its function and its data, made once when it is decoded. Two cache lines: programs are long.
#[derive(Clone, Debug)]
#[repr(C, align(128))]
pub(crate) struct Prepared {
    run: WarpFn,
    /// Byte offsets into the register file.
    pub at: [u32; PLACES],
    /// Byte offset of the guard's mask, and what it is xored with.
    pub guard: u32,
    pub guard_xor: u32,
    pub truth: Truth,
    pub constants: [u64; 2],
    /// The predicate sources that are complemented where there are no truth tables, a bit each.
    pub complement: u32,
    rare: Arc<Rare>,
}

/// What few kernels ask for.
#[derive(Clone, Debug)]
pub(crate) struct Rare {
    pub selectors: Selectors,
    /// What runs slices; warps of packed values take this way too.
    pub slice: SliceFn,
    #[cfg(any(target_arch = "x86_64", not(feature = "simd")))]
    pub by_lane: by_lane::ByLane,
}

impl Prepared {
    pub(crate) fn new(level: Level, kernel: &Kernel, truth: Truth, constants: [u64; 2], rare: Rare) -> Prepared {
        Prepared {
            run: kernel.warp[level.0 as usize],
            at: [0; PLACES],
            guard: 0,
            guard_xor: 0,
            truth,
            constants,
            complement: 0,
            rare: Arc::new(rare),
        }
    }

    /// The part that few kernels ask for.
    #[cfg(any(target_arch = "x86_64", not(feature = "simd")))]
    pub(crate) fn rare_mut(&mut self) -> &mut Rare {
        Arc::make_mut(&mut self.rare)
    }
}

/// Where the operands of a slice evaluator are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub at: [*mut u8; PLACES],
    /// The places of predicates that have one word for all chunks, a bit each.
    pub fixed: u32,
}

impl Places {
    /// How far a place of predicates moves for each chunk, in bytes.
    #[inline(always)]
    fn step(&self, place: usize) -> usize {
        if self.fixed >> place & 1 != 0 { 0 } else { 4 }
    }
}

pub(crate) type WarpFn = unsafe fn(*mut u8, *const Prepared, u32);
pub(crate) type SliceFn = unsafe fn(&Places, *const Prepared, usize);

/// A kernel compiled for every level. Generated tables hold these.
#[derive(Clone, Copy)]
pub struct Kernel {
    warp: [WarpFn; LEVELS.len()],
    slice: [SliceFn; LEVELS.len()],
    layout: Layout,
    tables: bool,
}

impl core::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Kernel").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// The functions of each level. Inlining brings the bodies into functions that have the features.
macro_rules! entries {
    ($($name_warp:ident $name_slice:ident $simd:expr, $(#[$feature:meta])*;)*) => {$(
        /// # Safety
        ///
        /// The module's promises.
        $(#[$feature])*
        unsafe fn $name_warp<S: Shape>(base: *mut u8, op: *const Prepared, active: u32) {
            // SAFETY: the caller's promises; by the first one the features are there.
            unsafe { S::warp($simd, base, op, active) }
        }

        /// # Safety
        ///
        /// The module's promises.
        $(#[$feature])*
        unsafe fn $name_slice<S: Shape>(places: &Places, op: *const Prepared, chunks: usize) {
            // SAFETY: the caller's promises; by the first one the features are there.
            unsafe { S::slice($simd, places, op, chunks) }
        }
    )*};
}

#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
entries! {
    warp_portable slice_portable Portable(()),;
}
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
entries! {
    warp_avx2 slice_avx2 Avx2(()), #[target_feature(enable = "avx2,bmi1,bmi2")];
    warp_avx512 slice_avx512 Avx512(()),
        #[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl")];
}

impl Kernel {
    const fn of<S: Shape>(tables: bool) -> Kernel {
        Kernel {
            #[cfg(all(target_arch = "x86_64", feature = "simd"))]
            warp: [by_lane::warp, warp_avx2::<S>, warp_avx512::<S>],
            #[cfg(all(target_arch = "x86_64", feature = "simd"))]
            slice: [by_lane::slice, slice_avx2::<S>, slice_avx512::<S>],
            #[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
            warp: [warp_portable::<S>],
            #[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
            slice: [slice_portable::<S>],
            #[cfg(not(feature = "simd"))]
            warp: [by_lane::warp],
            #[cfg(not(feature = "simd"))]
            slice: [by_lane::slice],
            layout: S::LAYOUT,
            tables,
        }
    }

    /// A predicate by a truth table of a test and a predicate, and a second one of the complemented test.
    pub const fn truth<K: Test, const OUTPUTS: usize>() -> Kernel {
        Kernel::of::<TruthOf<K, OUTPUTS>>(true)
    }

    /// Two predicates of a test on pairs of lanes: the first of the lower lanes, the second of the upper ones.
    pub const fn truth_of_pairs<K: Test>() -> Kernel {
        Kernel::of::<TruthOfPairs<K>>(true)
    }

    /// One of two constants, by a truth table of a test and a predicate.
    pub const fn choose<K: Test, W: Word>() -> Kernel {
        Kernel::of::<ChooseOf<K, W>>(true)
    }

    /// Pairs of one of two constants of 16 bits, by a truth table of a test on pairs and a predicate.
    pub const fn choose_in_pairs<K: Test>() -> Kernel {
        Kernel::of::<ChooseInPairs<K>>(true)
    }

    /// Whatever a program computes.
    pub const fn general<P: Program>() -> Kernel {
        Kernel::of::<General<P>>(false)
    }

    /// Whatever a program on packed values computes, whose destination has so many bits.
    pub const fn packed<P: Program, const D_BITS: u32, const E_BITS: u32>() -> Kernel {
        #[cfg(feature = "simd")]
        let as_slice = warp_as_slice::<D_BITS, E_BITS>;
        Kernel {
            #[cfg(all(target_arch = "x86_64", feature = "simd"))]
            warp: [by_lane::warp, as_slice, as_slice],
            #[cfg(all(target_arch = "x86_64", feature = "simd"))]
            slice: [by_lane::slice, slice_avx2::<General<P>>, slice_avx512::<General<P>>],
            #[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
            warp: [as_slice],
            #[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
            slice: [slice_portable::<General<P>>],
            #[cfg(not(feature = "simd"))]
            warp: [by_lane::warp],
            #[cfg(not(feature = "simd"))]
            slice: [by_lane::slice],
            layout: <General<P> as Shape>::LAYOUT,
            tables: false,
        }
    }

    /// What the kernel's operands are.
    pub(crate) const fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether the kernel's third source is a predicate that truth tables ask.
    pub(crate) const fn has_tables(&self) -> bool {
        self.tables
    }

    /// The function that runs slices.
    pub(crate) const fn slice(&self, level: Level) -> SliceFn {
        self.slice[level.0 as usize]
    }
}
