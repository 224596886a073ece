//! The shapes that kernels run in: 32 lanes of a warp at once, or slices of any length, at each SIMD level.
//!
//! The generator writes a kernel as safe code for one lane ([`Test`]) or for one warp ([`Program`]); this module
//! compiles it for every level, moves operands between memory and kernels, and applies guards and truth tables. It
//! knows no instruction, no modifier and no builtin. It is the one module with `unsafe`: functions that need a CPU
//! feature, and raw pointers to operands. Both are private to the crate; what is public here is what generated code
//! names, and is safe.
//!
//! Two promises hold all of it, and the callers in [`warp`](crate::warp) and [`slice`](crate::slice) keep them:
//!
//! 1. **Level.** A function of a level is called only through [`Level`], a value of which exists only where the
//!    machine has the level's features.
//! 2. **Places.** Every operand place that a kernel uses points to 32 lanes (to `32 * chunks` lanes) of the operand's
//!    width, or to one word of predicates (a word for each chunk, `step` bytes apart), aligned, readable, and writable
//!    where it is a destination. Destinations overlap no source but itself. `Kernel::layout` says which places
//!    with which widths.
#![allow(unsafe_code, reason = "the one module that calls functions of CPU features and follows operand pointers")]
#![cfg_attr(not(feature = "simd"), allow(dead_code, unused_macros, reason = "without kernels lanes run one by one"))]
// What is shown of this module is for generated code.
#![allow(missing_docs, reason = "traits and types that generated code names; each has a comment where it matters")]

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::sync::atomic::{Ordering, compiler_fence};

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

/// A truth table of a test and a predicate, for 32 lanes at once: `(test & m1) ^ m2`, where the predicate decides
/// both masks: `m1 = (x & and1) ^ xor1`, `m2 = (x & and2) ^ xor2`.
///
/// Of two destinations the second has the same table of the complemented test, or of the second lane of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Truth {
    and1: u32,
    xor1: u32,
    and2: u32,
    xor2: u32,
}

impl Truth {
    /// The table with the outcomes `[test][predicate]`.
    pub const fn new(outcomes: [[bool; 2]; 2]) -> Truth {
        const fn mask(bit: bool) -> u32 {
            if bit { u32::MAX } else { 0 }
        }
        let [[f00, f01], [f10, f11]] = outcomes;
        Truth { and1: mask(f00 ^ f01 ^ f10 ^ f11), xor1: mask(f10 ^ f00), and2: mask(f01 ^ f00), xor2: mask(f00) }
    }

    /// The same table for a predicate that comes complemented.
    pub(crate) const fn complement_predicate(self) -> Truth {
        Truth { xor1: self.xor1 ^ self.and1, xor2: self.xor2 ^ self.and2, ..self }
    }

    /// The masks for these predicates.
    #[inline(always)]
    pub(crate) const fn masks(self, x: u32) -> Masks {
        Masks { m1: (x & self.and1) ^ self.xor1, m2: (x & self.and2) ^ self.xor2 }
    }
}

/// A truth table whose predicate is known in each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Masks {
    m1: u32,
    m2: u32,
}

impl Masks {
    #[inline(always)]
    pub(crate) const fn apply(self, test: u32) -> u32 {
        (test & self.m1) ^ self.m2
    }

    /// What is made of the complement of a test, from what was made of the test.
    #[inline(always)]
    const fn complement(self, applied: u32) -> u32 {
        applied ^ self.m1
    }
}

/// A selector of lanes from two words, prepared for byte shuffles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Pick {
    /// For each byte of a word of the result, the byte of the first word it is, or 0x80.
    first: u32,
    /// The same of the second word.
    second: u32,
    /// Four bits for each byte of a word of the result: which of the eight of both words it is.
    bytes: u16,
    /// [`WHOLE_FIRST`] if the result is the first word, [`WHOLE_SECOND`] if it is the second, else 0.
    whole: u16,
    packed: u32,
}

const WHOLE_FIRST: u16 = 1;
const WHOLE_SECOND: u16 = 2;

impl Pick {
    /// From the packed form of `Lanes`: `lanes` digits of four bits, each below `of`.
    pub(crate) fn new(packed: u32, lanes: u32, of: u32) -> Pick {
        let width = (8 / of).max(1);
        let (mut first, mut second, mut bytes) = (0, 0, 0);
        for byte in 0..4 {
            let lane = packed >> (4 * (byte / width % lanes)) & 15;
            let from = lane % of * width + byte % width;
            let (of_first, of_second) = if from < 4 { (from, 0x80) } else { (0x80, from - 4) };
            first |= of_first << (8 * byte);
            second |= of_second << (8 * byte);
            bytes |= (from as u16) << (4 * byte);
        }
        // Each byte where it was.
        const SAME: u32 = u32::from_le_bytes([0, 1, 2, 3]);
        let whole = if first == SAME { WHOLE_FIRST } else { u16::from(second == SAME) * WHOLE_SECOND };
        Pick { first, second, bytes, whole, packed }
    }

    /// The packed form it was made from.
    pub fn packed(&self) -> u32 {
        self.packed
    }

    /// One that only its packed form is asked of.
    pub(crate) const fn word(packed: u32) -> Pick {
        Pick { packed, ..Pick::NONE }
    }

    pub(crate) const NONE: Pick = Pick { first: 0, second: 0, bytes: 0, whole: 0, packed: 0 };
}

/// What the selectors of an instruction became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Selectors {
    pub picks: [Pick; 3],
    /// The lanes of the subset, of every lane of the warp.
    pub subset: u128,
}

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

/// An integer that holds the bits of a lane.
pub trait Word: Copy + Default + PartialEq + sealed::Sealed + 'static {
    const BITS: u32;
    const ONES: Self;
    fn truncate(bits: u64) -> Self;
    /// `yes` if this is all ones, `no` if it is zero.
    fn choose(self, yes: Self, no: Self) -> Self;
    /// All ones or zero in more bits.
    fn widen<W: Word>(self) -> W;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! words {
    ($($ty:ident)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Word for $ty {
            const BITS: u32 = $ty::BITS;
            const ONES: $ty = $ty::MAX;
            #[inline(always)]
            fn truncate(bits: u64) -> $ty { bits as $ty }
            #[inline(always)]
            fn choose(self, yes: $ty, no: $ty) -> $ty { ((yes ^ no) & self) ^ no }
            #[inline(always)]
            fn widen<W: Word>(self) -> W { W::truncate(i64::from(self.cast_signed()).cast_unsigned()) }
        }
        impl<const N: usize> sealed::Sealed for [$ty; N] {}
        impl<const N: usize> Plain for [$ty; N] {
            #[cfg(target_endian = "big")]
            fn little_endian(mut self) -> Self {
                for lane in &mut self { *lane = lane.to_le(); }
                self
            }
        }
    )*};
}

words!(u8 u16 u32 u64);

/// Lanes that any bits are.
pub trait Plain: Copy + sealed::Sealed {
    #[cfg(target_endian = "big")]
    fn little_endian(self) -> Self;
}

/// The same bits as other lanes: a packed value's lane 0 is the lowest of its word.
#[inline(always)]
pub fn reinterpret<T: Plain, U: Plain>(value: T) -> U {
    const { assert!(size_of::<T>() == size_of::<U>()) };
    #[cfg(target_endian = "big")]
    let value = value.little_endian();
    // SAFETY: both are arrays of integers of the same size, for which every bit pattern is a value.
    let value: U = unsafe { core::mem::transmute_copy(&value) };
    #[cfg(target_endian = "big")]
    let value = value.little_endian();
    value
}

/// What one lane is asked: the kernel of a comparison.
pub trait Test: 'static {
    type A: Word;
    type B: Word;
    fn test(a: Self::A, b: Self::B) -> bool;
}

/// A test for one thread: the outcome in bit 0, its complement in bit 1.
pub fn bits_of<T: Test>(a: u64, b: u64) -> u32 {
    if T::test(T::A::truncate(a), T::B::truncate(b)) { 1 } else { 2 }
}

/// A test of pairs for one thread: the outcome of each lane in its bit.
pub fn bits_of_pair<T: Test>(a: u64, b: u64) -> u32 {
    let upper = T::test(T::A::truncate(a >> T::A::BITS), T::B::truncate(b >> T::B::BITS));
    bits_of::<T>(a, b) & 1 | u32::from(upper) << 1
}

/// What a warp computes: a kernel of any other shape.
pub trait Program: 'static {
    type Sources: Sources;
    type D: Output;
    type E: Output;
    /// How many selectors pick lanes of two words.
    const PICKS: usize;
    fn run<L: Simd>(
        simd: L,
        sources: <Self::Sources as Sources>::Refs<'_>,
        selectors: &Selectors,
    ) -> (Self::D, Self::E);
}

/// The predicate lanes of a warp, one bit each.
#[derive(Clone, Copy, Debug)]
pub struct Mask;

/// A source of a [`Program`]: `[u32; 32]` and the like, or [`Mask`].
pub trait Source: 'static {
    /// Bits of a lane; 1 for predicates.
    const BITS: u32;
    type Ref<'a>;
    /// # Safety
    ///
    /// `at` points to an operand of this kind, which nothing writes while the result lives.
    unsafe fn load<'a>(at: *const u8, complement: u32) -> Self::Ref<'a>;
}

impl<W: Word> Source for [W; WARP] {
    const BITS: u32 = W::BITS;
    type Ref<'a> = &'a [W; WARP];
    #[inline(always)]
    unsafe fn load<'a>(at: *const u8, _: u32) -> &'a [W; WARP] {
        // SAFETY: the caller's promise.
        unsafe { &*at.cast() }
    }
}

impl Source for Mask {
    const BITS: u32 = 1;
    type Ref<'a> = u32;
    #[inline(always)]
    unsafe fn load<'a>(at: *const u8, complement: u32) -> Self::Ref<'a> {
        // SAFETY: the caller's promise.
        unsafe { *at.cast::<u32>() ^ complement }
    }
}

/// The sources of a [`Program`]: a tuple of up to six.
pub trait Sources: 'static {
    const BITS: [u32; PLACES - SOURCES];
    type Refs<'a>;
    /// # Safety
    ///
    /// As [`Source::load`], for what `at` says of each place from that of the first source on.
    unsafe fn load<'a>(at: impl Fn(usize) -> *const u8, complement: u32) -> Self::Refs<'a>;
}

macro_rules! sources {
    ($($name:ident $place:literal)*) => {
        impl<$($name: Source),*> Sources for ($($name,)*) {
            const BITS: [u32; PLACES - SOURCES] = {
                let mut bits = [0; PLACES - SOURCES];
                $(bits[$place] = $name::BITS;)*
                bits
            };
            type Refs<'a> = ($($name::Ref<'a>,)*);
            #[inline(always)]
            unsafe fn load<'a>(
                at: impl Fn(usize) -> *const u8,
                complement: u32,
            ) -> Self::Refs<'a> {
                // SAFETY: the caller's promise.
                unsafe { ($($name::load(at(SOURCES + $place), 0_u32.wrapping_sub(complement >> $place & 1)),)*) }
            }
        }
    };
}

sources!(S0 0);
sources!(S0 0 S1 1);
sources!(S0 0 S1 1 S2 2);
sources!(S0 0 S1 1 S2 2 S3 3);
sources!(S0 0 S1 1 S2 2 S3 3 S4 4);
sources!(S0 0 S1 1 S2 2 S3 3 S4 4 S5 5);

/// A destination of a [`Program`]: `[u32; 32]` and the like, predicates as a `u32`, or `()` where there is none.
pub trait Output: 'static {
    /// Bits of a lane; 1 for predicates, 0 for none.
    const BITS: u32;
    /// # Safety
    ///
    /// `at` points to an operand of this kind that may be written.
    unsafe fn store<L: Simd>(self, simd: L, at: *mut u8, guard: u32);
}

impl<W: Word> Output for [W; WARP] {
    const BITS: u32 = W::BITS;
    #[inline(always)]
    unsafe fn store<L: Simd>(self, simd: L, at: *mut u8, guard: u32) {
        let at = at.cast::<[W; WARP]>();
        // Most warps are whole; and what a masked store has written, a load that follows soon would wait for.
        let lanes = match guard {
            u32::MAX => self,
            // SAFETY: the caller's promise.
            _ => simd.select(guard.into(), &self, unsafe { &*at }),
        };
        // SAFETY: the caller's promise.
        unsafe { *at = lanes };
    }
}

impl Output for u32 {
    const BITS: u32 = 1;
    #[inline(always)]
    unsafe fn store<L: Simd>(self, _: L, at: *mut u8, guard: u32) {
        let at = at.cast::<u32>();
        // SAFETY: the caller's promise.
        unsafe { *at = ((self ^ *at) & guard) ^ *at };
    }
}

impl Output for () {
    const BITS: u32 = 0;
    #[inline(always)]
    unsafe fn store<L: Simd>(self, _: L, _: *mut u8, _: u32) {}
}

/// What a SIMD level does with instructions of its own. A value exists only in functions with the level's features.
///
/// A mask has the bit of lane `i` at place `i`; packed values have 64 or 128 lanes.
pub trait Simd: Copy + sealed::Sealed {
    /// Whether comparisons make masks, one bit a lane, rather than lanes of ones and zeros.
    const MASKS: bool;
    /// The sign bits of lanes: 32, 64 or 128. They come of comparisons of lanes of so many bits.
    fn mask<const N: usize>(self, lanes: &[i8; N], compared: u32) -> u128;
    /// The bits at even places, and those at odd places.
    fn unzip(self, mask: u64) -> (u32, u32);
    /// Each bit twice.
    fn twice(self, mask: u32) -> u64;
    /// The first where the mask is set, else the second.
    fn select<W: Word, const N: usize>(self, mask: u128, yes: &[W; N], no: &[W; N]) -> [W; N];
    /// How many of the `EACH` (2 or 4) neighbours of each lane are set.
    fn count<const EACH: usize>(self, mask: u128) -> [u32; WARP];
    /// The bytes that a selector picks from each pair of words.
    fn pick(self, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128];

    /// Lanes of ones and zeros with more bits.
    #[inline(always)]
    fn widen<V: Word, W: Word>(self, lanes: &[V; WARP]) -> [W; WARP] {
        let mut wide = [W::default(); WARP];
        let mut lane = 0;
        while lane < WARP {
            wide[lane] = lanes[lane].widen();
            lane += 1;
        }
        wide
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

/// The level that every machine has.
#[derive(Clone, Copy)]
#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
struct Portable(());

#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
impl sealed::Sealed for Portable {}

#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
impl Simd for Portable {
    const MASKS: bool = false;

    #[inline(always)]
    fn mask<const N: usize>(self, lanes: &[i8; N], _: u32) -> u128 {
        let (mut mask, mut lane) = (0, 0);
        // Multiplied, the eight lowest bits of a word's bytes meet in its highest byte.
        for eight in lanes.as_chunks::<8>().0 {
            let word = u64::from_le_bytes(eight.map(|lane| lane as u8)) & 0x0101_0101_0101_0101;
            mask |= u128::from(word.wrapping_mul(0x0102_0408_1020_4080) >> 56) << lane;
            lane += 8;
        }
        mask
    }

    #[inline(always)]
    fn unzip(self, mask: u64) -> (u32, u32) {
        // Bits at even places move together, by twice the distance each time.
        let even = |mut bits: u64| {
            bits &= 0x5555_5555_5555_5555;
            bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
            bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
            bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
            bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
            (bits | bits >> 16) as u32
        };
        (even(mask), even(mask >> 1))
    }

    #[inline(always)]
    fn twice(self, mask: u32) -> u64 {
        let mut bits = u64::from(mask);
        bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
        bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
        bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
        bits = (bits | bits << 1) & 0x5555_5555_5555_5555;
        bits | bits << 1
    }

    #[inline(always)]
    fn select<W: Word, const N: usize>(self, mask: u128, yes: &[W; N], no: &[W; N]) -> [W; N] {
        let mut lanes = *no;
        let mut lane = 0;
        while lane < N {
            let word = (mask >> (lane & !31)) as u32;
            lanes[lane] = if word & BIT[lane & 31] != 0 { yes[lane] } else { no[lane] };
            lane += 1;
        }
        lanes
    }

    #[inline(always)]
    fn count<const EACH: usize>(self, mask: u128) -> [u32; WARP] {
        let mut count = [0; WARP];
        let mut lane = 0;
        while lane < WARP {
            let word = (mask >> (EACH * lane & !31)) as u32;
            let shift = EACH * lane & 31;
            count[lane] = (word >> shift & ((1 << EACH) - 1)).count_ones();
            lane += 1;
        }
        count
    }

    #[inline(always)]
    fn pick(self, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128] {
        let mut picked = [0; WARP];
        let mut byte = 0;
        while byte < 4 {
            let from = u32::from(pick.bytes >> (4 * byte) & 15);
            let shift = 8 * (from & 3);
            let (keep_a, keep_b) = if from < 4 { (0xff, 0) } else { (0, 0xff) };
            let mut lane = 0;
            while lane < WARP {
                picked[lane] |= ((a[lane] >> shift & keep_a) | (b[lane] >> shift & keep_b)) << (8 * byte);
                lane += 1;
            }
            byte += 1;
        }
        reinterpret(picked)
    }
}

#[cfg(all(target_arch = "x86_64", feature = "simd"))]
mod x86 {
    use core::arch::x86_64::*;

    use super::{Pick, Simd, WARP, Word, sealed};

    /// AVX2, BMI1, BMI2.
    #[derive(Clone, Copy)]
    pub(super) struct Avx2(pub(super) ());

    /// AVX-512 F, BW, DQ, VL, and what [`Avx2`] has.
    #[derive(Clone, Copy)]
    pub(super) struct Avx512(pub(super) ());

    impl sealed::Sealed for Avx2 {}
    impl sealed::Sealed for Avx512 {}

    /// Where each word of a vector of 128 bits has its bytes.
    const WORDS: [u32; 4] = [0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c];

    // SAFETY, of all blocks in the two implementations: a value of the level's type exists only where its features
    // do. A load or store of a vector at `round` touches the bytes from `round * size_of::<vector>()` of an array, and
    // rounds end where the array does.

    impl Simd for Avx2 {
        const MASKS: bool = false;

        #[inline(always)]
        fn mask<const N: usize>(self, lanes: &[i8; N], _: u32) -> u128 {
            let mut mask = 0;
            let mut round = 0;
            while round < N / 32 {
                // SAFETY: see above.
                let part = unsafe {
                    _mm256_movemask_epi8(_mm256_loadu_si256(lanes.as_ptr().cast::<__m256i>().add(round))) as u32
                };
                mask |= u128::from(part) << (32 * round);
                round += 1;
            }
            mask
        }

        #[inline(always)]
        fn unzip(self, mask: u64) -> (u32, u32) {
            // SAFETY: see above.
            unsafe { (_pext_u64(mask, 0x5555_5555_5555_5555) as u32, _pext_u64(mask, 0xaaaa_aaaa_aaaa_aaaa) as u32) }
        }

        #[inline(always)]
        fn twice(self, mask: u32) -> u64 {
            // SAFETY: see above.
            3 * unsafe { _pdep_u64(mask.into(), 0x5555_5555_5555_5555) }
        }

        #[inline(always)]
        fn select<W: Word, const N: usize>(self, mask: u128, yes: &[W; N], no: &[W; N]) -> [W; N] {
            let mut lanes = *no;
            let each = 256 / W::BITS as usize;
            let mut round = 0;
            while round < N / each {
                let part = (mask >> (round * each)) as u32 as i32;
                // SAFETY: see above.
                unsafe {
                    let whole = match W::BITS {
                        8 => {
                            let spread = _mm256_set_epi64x(
                                0x0303_0303_0303_0303,
                                0x0202_0202_0202_0202,
                                0x0101_0101_0101_0101,
                                0,
                            );
                            let bits = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
                            let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(part), spread);
                            _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bits), bits)
                        }
                        16 => {
                            let bits = _mm256_setr_epi16(
                                1,
                                2,
                                4,
                                8,
                                16,
                                32,
                                64,
                                128,
                                256,
                                512,
                                1024,
                                2048,
                                4096,
                                8192,
                                16384,
                                i16::MIN,
                            );
                            _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16(part as i16), bits), bits)
                        }
                        32 => {
                            let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
                            _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(part), bits), bits)
                        }
                        _ => {
                            let bits = _mm256_setr_epi64x(1, 2, 4, 8);
                            _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(i64::from(part)), bits), bits)
                        }
                    };
                    let yes = _mm256_loadu_si256(yes.as_ptr().cast::<__m256i>().add(round));
                    let no = _mm256_loadu_si256(no.as_ptr().cast::<__m256i>().add(round));
                    let chosen = _mm256_blendv_epi8(no, yes, whole);
                    _mm256_storeu_si256(lanes.as_mut_ptr().cast::<__m256i>().add(round), chosen);
                }
                round += 1;
            }
            lanes
        }

        #[inline(always)]
        fn count<const EACH: usize>(self, mask: u128) -> [u32; WARP] {
            let mut count = [0; WARP];
            if EACH == 4 {
                let ones: [u8; 128] = self.select(mask, &[1; 128], &[0; 128]);
                let mut round = 0;
                while round < 4 {
                    // SAFETY: see above.
                    unsafe {
                        let ones = _mm256_loadu_si256(ones.as_ptr().cast::<__m256i>().add(round));
                        let pairs = _mm256_maddubs_epi16(ones, _mm256_set1_epi8(1));
                        let sums = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
                        _mm256_storeu_si256(count.as_mut_ptr().cast::<__m256i>().add(round), sums);
                    }
                    round += 1;
                }
            } else {
                let ones: [u16; 64] = self.select(mask, &[1; 64], &[0; 64]);
                let mut round = 0;
                while round < 4 {
                    // SAFETY: see above.
                    unsafe {
                        let ones = _mm256_loadu_si256(ones.as_ptr().cast::<__m256i>().add(round));
                        let sums = _mm256_madd_epi16(ones, _mm256_set1_epi16(1));
                        _mm256_storeu_si256(count.as_mut_ptr().cast::<__m256i>().add(round), sums);
                    }
                    round += 1;
                }
            }
            count
        }

        /// Sixteen bits are told apart: of one loop for both widths the compiler would make vectors of the wide one.
        #[inline(always)]
        fn widen<V: Word, W: Word>(self, lanes: &[V; WARP]) -> [W; WARP] {
            let mut wide = [W::default(); WARP];
            if (V::BITS, W::BITS) == (16, 32) {
                let mut round = 0;
                while round < 2 {
                    // SAFETY: see above; a round writes twice as many bytes as it reads.
                    unsafe {
                        let both = _mm256_loadu_si256(lanes.as_ptr().cast::<__m256i>().add(round));
                        let to = wide.as_mut_ptr().cast::<__m256i>().add(2 * round);
                        _mm256_storeu_si256(to, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(both)));
                        _mm256_storeu_si256(to.add(1), _mm256_cvtepi16_epi32(_mm256_extracti128_si256::<1>(both)));
                    }
                    round += 1;
                }
                return wide;
            }
            let mut lane = 0;
            while lane < WARP {
                wide[lane] = lanes[lane].widen();
                lane += 1;
            }
            wide
        }

        #[inline(always)]
        fn pick(self, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128] {
            let mut picked = [0; 128];
            // SAFETY: see above.
            unsafe {
                let words = _mm256_broadcastsi128_si256(_mm_loadu_si128(WORDS.as_ptr().cast()));
                let first = _mm256_or_si256(_mm256_set1_epi32(pick.first as i32), words);
                let second = _mm256_or_si256(_mm256_set1_epi32(pick.second as i32), words);
                let mut round = 0;
                while round < 4 {
                    let a = _mm256_loadu_si256(a.as_ptr().cast::<__m256i>().add(round));
                    let b = _mm256_loadu_si256(b.as_ptr().cast::<__m256i>().add(round));
                    let both = _mm256_or_si256(_mm256_shuffle_epi8(a, first), _mm256_shuffle_epi8(b, second));
                    _mm256_storeu_si256(picked.as_mut_ptr().cast::<__m256i>().add(round), both);
                    round += 1;
                }
            }
            picked
        }
    }

    impl Simd for Avx512 {
        const MASKS: bool = true;

        #[inline(always)]
        fn mask<const N: usize>(self, lanes: &[i8; N], compared: u32) -> u128 {
            // As many lanes at once as one comparison made: its mask is used as it is.
            let each = match compared {
                8 => 64,
                16 => 32,
                _ => 16,
            };
            let each = if N < each { N } else { each };
            let mut mask = 0;
            let mut lane = 0;
            while lane < N {
                let part = lanes.as_ptr().wrapping_add(lane);
                // SAFETY: see above.
                let part = unsafe {
                    match each {
                        64 => _mm512_movepi8_mask(_mm512_loadu_si512(part.cast())),
                        32 => _mm256_movepi8_mask(_mm256_loadu_si256(part.cast())).into(),
                        _ => _mm_movepi8_mask(_mm_loadu_si128(part.cast())).into(),
                    }
                };
                mask |= u128::from(part) << lane;
                lane += each;
            }
            mask
        }

        #[inline(always)]
        fn unzip(self, mask: u64) -> (u32, u32) {
            Avx2(()).unzip(mask)
        }

        #[inline(always)]
        fn twice(self, mask: u32) -> u64 {
            Avx2(()).twice(mask)
        }

        #[inline(always)]
        fn select<W: Word, const N: usize>(self, mask: u128, yes: &[W; N], no: &[W; N]) -> [W; N] {
            let mut lanes = *no;
            let each = 512 / W::BITS as usize;
            let mut round = 0;
            while round < N / each {
                let part = (mask >> (round * each)) as u64;
                // SAFETY: see above.
                unsafe {
                    let yes = _mm512_loadu_si512(yes.as_ptr().cast::<__m512i>().add(round));
                    let no = _mm512_loadu_si512(no.as_ptr().cast::<__m512i>().add(round));
                    let chosen = match W::BITS {
                        8 => _mm512_mask_blend_epi8(part, no, yes),
                        16 => _mm512_mask_blend_epi16(part as u32, no, yes),
                        32 => _mm512_mask_blend_epi32(part as u16, no, yes),
                        _ => _mm512_mask_blend_epi64(part as u8, no, yes),
                    };
                    _mm512_storeu_si512(lanes.as_mut_ptr().cast::<__m512i>().add(round), chosen);
                }
                round += 1;
            }
            lanes
        }

        #[inline(always)]
        fn count<const EACH: usize>(self, mask: u128) -> [u32; WARP] {
            let mut count = [0; WARP];
            let mut round = 0;
            while round < 2 {
                let part = (mask >> (16 * EACH * round)) as u64;
                // SAFETY: see above.
                unsafe {
                    // Two factors of -1: a mask becomes lanes of ones, not of one.
                    let minus_one = _mm512_set1_epi16(-1);
                    let sums = match EACH {
                        4 => {
                            let pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), _mm512_movm_epi8(part));
                            _mm512_madd_epi16(pairs, minus_one)
                        }
                        _ => _mm512_madd_epi16(_mm512_movm_epi16(part as u32), minus_one),
                    };
                    _mm512_storeu_si512(count.as_mut_ptr().cast::<__m512i>().add(round), sums);
                }
                round += 1;
            }
            count
        }

        #[inline(always)]
        fn pick(self, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128] {
            let mut picked = [0; 128];
            // SAFETY: see above.
            unsafe {
                let words = _mm512_broadcast_i32x4(_mm_loadu_si128(WORDS.as_ptr().cast()));
                let first = _mm512_or_si512(_mm512_set1_epi32(pick.first as i32), words);
                let second = _mm512_or_si512(_mm512_set1_epi32(pick.second as i32), words);
                let mut round = 0;
                while round < 2 {
                    let a = _mm512_loadu_si512(a.as_ptr().cast::<__m512i>().add(round));
                    let b = _mm512_loadu_si512(b.as_ptr().cast::<__m512i>().add(round));
                    let both = _mm512_or_si512(_mm512_shuffle_epi8(a, first), _mm512_shuffle_epi8(b, second));
                    _mm512_storeu_si512(picked.as_mut_ptr().cast::<__m512i>().add(round), both);
                    round += 1;
                }
            }
            picked
        }
    }
}

#[cfg(all(target_arch = "x86_64", feature = "simd"))]
use x86::{Avx2, Avx512};

/// Whether a selector picks a word as it is: the first of two, or the second.
#[inline(always)]
pub fn whole<'a>(a: &'a [u32; WARP], b: &'a [u32; WARP], pick: &Pick) -> Option<&'a [u32; WARP]> {
    match pick.whole {
        WHOLE_FIRST => Some(a),
        WHOLE_SECOND => Some(b),
        _ => None,
    }
}

/// A shape: how a kernel's operands are moved and what is done with its outcome.
trait Shape: 'static {
    const LAYOUT: Layout;
    /// # Safety
    ///
    /// The module's promises, for offsets from `base`.
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32);
    /// # Safety
    ///
    /// The module's promises.
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize);
}

/// Bits of a lane in each place of operands: 1 for predicates, 0 where the kernel has no operand.
pub(crate) type Layout = [u32; PLACES];

/// The mask of lanes that an instruction writes.
///
/// # Safety
///
/// The module's second promise.
#[inline(always)]
unsafe fn guard(base: *mut u8, op: *const Prepared, active: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { (*base.add((*op).guard as usize).cast::<u32>() ^ (*op).guard_xor) & active }
}

/// The part of an instruction's data that few kernels ask for.
///
/// # Safety
///
/// `op` points to an instruction that lives as long as the result is used.
#[inline(always)]
unsafe fn rare<'a>(op: *const Prepared) -> &'a Rare {
    // SAFETY: the caller's promise.
    unsafe { &(&*op).rare }
}

/// The place of an operand in a register file.
///
/// # Safety
///
/// The module's second promise.
#[inline(always)]
unsafe fn at(base: *mut u8, op: *const Prepared, place: usize) -> *mut u8 {
    // SAFETY: the caller's promise: the offset is inside the register file.
    unsafe { base.add((*op).at[place] as usize) }
}

/// Keeps the optimiser from two things: from taking warps for lanes (it would gather), and from holding what an
/// instruction's data says in registers that it must save first.
#[inline(always)]
fn each_warp_alone() {
    compiler_fence(Ordering::SeqCst);
}

/// Bits of the lanes that a test compares.
const fn widest<K: Test>() -> u32 {
    if K::A::BITS > K::B::BITS { K::A::BITS } else { K::B::BITS }
}

/// The outcomes of a test, one bit a lane.
#[inline(always)]
fn outcomes<K: Test, L: Simd>(simd: L, a: &[K::A; WARP], b: &[K::B; WARP]) -> u32 {
    let mut lanes = [0; WARP];
    let mut lane = 0;
    while lane < WARP {
        lanes[lane] = -i8::from(K::test(a[lane], b[lane]));
        lane += 1;
    }
    simd.mask(&lanes, widest::<K>()) as u32
}

/// The same for lanes in pairs, of which words hold two.
#[inline(always)]
fn pair_outcomes<K: Test, L: Simd>(simd: L, a: &[K::A; 64], b: &[K::B; 64]) -> (u32, u32) {
    let mut lanes = [0; 64];
    let mut lane = 0;
    while lane < 64 {
        lanes[lane] = -i8::from(K::test(a[lane], b[lane]));
        lane += 1;
    }
    simd.unzip(simd.mask(&lanes, widest::<K>()) as u64)
}

/// Outputs are predicates: a truth table of a test and a predicate, and of the complemented test.
struct TruthOf<K, const OUTPUTS: usize>(PhantomData<K>);

impl<K: Test, const OUTPUTS: usize> Shape for TruthOf<K, OUTPUTS> {
    const LAYOUT: Layout = [1, if OUTPUTS > 1 { 1 } else { 0 }, K::A::BITS, K::B::BITS, 1, 0, 0, 0];

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let test = outcomes::<K, L>(simd, &*at(base, op, A).cast(), &*at(base, op, B).cast());
            let masks = (*op).truth.masks(*at(base, op, X).cast());
            let guard = guard(base, op, active);
            let first = masks.apply(test);
            first.store(simd, at(base, op, D), guard);
            if OUTPUTS > 1 {
                masks.complement(first).store(simd, at(base, op, E), guard);
            }
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let (a, b) = (places.at[A].cast::<[K::A; WARP]>(), places.at[B].cast::<[K::B; WARP]>());
            each_chunk_asked(places, op, chunks, |chunk, masks| {
                let first = masks.apply(outcomes::<K, L>(simd, &*a.add(chunk), &*b.add(chunk)));
                *predicates(places, D, chunk) = first;
                if OUTPUTS > 1 {
                    *predicates(places, E, chunk) = masks.complement(first);
                }
            });
        }
    }
}

/// The predicates of a chunk.
///
/// # Safety
///
/// The module's second promise.
#[inline(always)]
unsafe fn predicates(places: &Places, place: usize, chunk: usize) -> *mut u32 {
    // SAFETY: the caller's promise.
    unsafe { places.at[place].add(places.step(place) * chunk).cast() }
}

/// Runs a body for each chunk with its number and the masks of its predicates.
///
/// # Safety
///
/// The module's second promise.
#[inline(always)]
unsafe fn each_chunk_asked(places: &Places, op: *const Prepared, chunks: usize, mut body: impl FnMut(usize, Masks)) {
    // SAFETY: the caller's promise.
    let truth = unsafe { (*op).truth };
    let mut chunk = 0;
    if places.step(X) == 0 {
        // SAFETY: the caller's promise: there is one word for all chunks.
        let masks = truth.masks(unsafe { *predicates(places, X, 0) });
        while chunk < chunks {
            body(chunk, masks);
            each_warp_alone();
            chunk += 1;
        }
        return;
    }
    while chunk < chunks {
        // SAFETY: the caller's promise.
        body(chunk, truth.masks(unsafe { *predicates(places, X, chunk) }));
        each_warp_alone();
        chunk += 1;
    }
}

/// The same for pairs of lanes: the first output is the lower lane's, the second the upper one's.
struct TruthOfPairs<K>(PhantomData<K>);

impl<K: Test> Shape for TruthOfPairs<K> {
    const LAYOUT: Layout = [1, 1, 2 * K::A::BITS, 2 * K::B::BITS, 1, 0, 0, 0];

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let (lower, upper) = pair_outcomes::<K, L>(simd, &*at(base, op, A).cast(), &*at(base, op, B).cast());
            let masks = (*op).truth.masks(*at(base, op, X).cast());
            let guard = guard(base, op, active);
            masks.apply(lower).store(simd, at(base, op, D), guard);
            masks.apply(upper).store(simd, at(base, op, E), guard);
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let (a, b) = (places.at[A].cast::<[K::A; 64]>(), places.at[B].cast::<[K::B; 64]>());
            each_chunk_asked(places, op, chunks, |chunk, masks| {
                let (lower, upper) = pair_outcomes::<K, L>(simd, &*a.add(chunk), &*b.add(chunk));
                *predicates(places, D, chunk) = masks.apply(lower);
                *predicates(places, E, chunk) = masks.apply(upper);
            });
        }
    }
}

/// The output is one of two constants, chosen by a truth table of a test and a predicate.
struct ChooseOf<K, W>(PhantomData<(K, W)>);

impl<K: Test, W: Word> Shape for ChooseOf<K, W> {
    const LAYOUT: Layout = [W::BITS, 0, K::A::BITS, K::B::BITS, 1, 0, 0, 0];

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let test = outcomes::<K, L>(simd, &*at(base, op, A).cast(), &*at(base, op, B).cast());
            let choice = (*op).truth.masks(*at(base, op, X).cast()).apply(test);
            let [yes, no] = (*op).constants.map(W::truncate);
            let chosen = simd.select(choice.into(), &[yes; WARP], &[no; WARP]);
            chosen.store(simd, at(base, op, D), guard(base, op, active));
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let (a, b) = (places.at[A].cast::<[K::A; WARP]>(), places.at[B].cast::<[K::B; WARP]>());
            let d = places.at[D].cast::<[W; WARP]>();
            let [yes, no] = (*op).constants.map(W::truncate);
            if places.step(X) != 0 {
                return each_chunk_asked(places, op, chunks, |chunk, masks| {
                    let choice = masks.apply(outcomes::<K, L>(simd, &*a.add(chunk), &*b.add(chunk)));
                    *d.add(chunk) = simd.select(choice.into(), &[yes; WARP], &[no; WARP]);
                });
            }
            // The commonest case needs no masks: the test alone chooses. And often the constants are what lanes of
            // outcomes are made of.
            if !L::MASKS && yes == W::ONES && no == W::default() {
                choose_by_test::<K, W, L>(simd, a, b, d, chunks, W::ONES, W::default());
            } else {
                choose_by_test::<K, W, L>(simd, a, b, d, chunks, yes, no);
            }
        }
    }
}

/// Fills chunks with one of two constants in each lane.
///
/// # Safety
///
/// So many chunks can be read at `a` and `b` and written at `d`.
#[inline(always)]
unsafe fn choose_by_test<K: Test, W: Word, L: Simd>(
    simd: L,
    a: *const [K::A; WARP],
    b: *const [K::B; WARP],
    d: *mut [W; WARP],
    chunks: usize,
    yes: W,
    no: W,
) {
    // SAFETY: the caller's promise.
    unsafe {
        // Two at once, as the compiler would unroll it.
        let mut chunk = 0;
        for _ in 0..chunks / 2 {
            *d.add(chunk) = chosen::<K, W, L>(simd, &*a.add(chunk), &*b.add(chunk), yes, no);
            *d.add(chunk + 1) = chosen::<K, W, L>(simd, &*a.add(chunk + 1), &*b.add(chunk + 1), yes, no);
            each_warp_alone();
            chunk += 2;
        }
        if !chunks.is_multiple_of(2) {
            *d.add(chunk) = chosen::<K, W, L>(simd, &*a.add(chunk), &*b.add(chunk), yes, no);
        }
    }
}

/// One of two constants in each lane, chosen by a test.
#[inline(always)]
fn chosen<K: Test, W: Word, L: Simd>(simd: L, a: &[K::A; WARP], b: &[K::B; WARP], yes: W, no: W) -> [W; WARP] {
    let mut lanes = [no; WARP];
    let mut lane = 0;
    if K::A::BITS >= W::BITS {
        while lane < WARP {
            lanes[lane] = if K::test(a[lane], b[lane]) { yes } else { no };
            lane += 1;
        }
        return lanes;
    }
    // Tests are done in the width of the sources, and only outcomes are widened.
    if L::MASKS {
        return simd.select(outcomes::<K, L>(simd, a, b).into(), &[yes; WARP], &lanes);
    }
    let mut outcomes = [K::A::default(); WARP];
    while lane < WARP {
        outcomes[lane] = if K::test(a[lane], b[lane]) { K::A::ONES } else { K::A::default() };
        lane += 1;
    }
    let wide: [W; WARP] = simd.widen(&outcomes);
    lane = 0;
    while lane < WARP {
        lanes[lane] = wide[lane].choose(yes, no);
        lane += 1;
    }
    lanes
}

/// The same for pairs of 16 bits, each with a test of its own.
struct ChooseInPairs<K>(PhantomData<K>);

/// What a truth table makes of pairs of tests.
///
/// # Safety
///
/// `op` points to an instruction's data.
#[inline(always)]
unsafe fn chosen_pairs<K: Test, L: Simd>(
    simd: L,
    a: &[K::A; 64],
    b: &[K::B; 64],
    x: u32,
    op: *const Prepared,
) -> [u32; WARP] {
    let mut lanes = [0; 64];
    let mut lane = 0;
    while lane < 64 {
        lanes[lane] = -i8::from(K::test(a[lane], b[lane]));
        lane += 1;
    }
    let (tests, x) = (simd.mask(&lanes, widest::<K>()) as u64, simd.twice(x));
    // SAFETY: the caller's promise.
    let (truth, [yes, no]) = unsafe { ((*op).truth, (*op).constants.map(u16::truncate)) };
    let half = |shift: u32| u64::from(truth.masks((x >> shift) as u32).apply((tests >> shift) as u32)) << shift;
    reinterpret(simd.select((half(0) | half(32)).into(), &[yes; 64], &[no; 64]))
}

impl<K: Test> Shape for ChooseInPairs<K> {
    const LAYOUT: Layout = [32, 0, 2 * K::A::BITS, 2 * K::B::BITS, 1, 0, 0, 0];

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let x = *at(base, op, X).cast::<u32>();
            let chosen = chosen_pairs::<K, L>(simd, &*at(base, op, A).cast(), &*at(base, op, B).cast(), x, op);
            chosen.store(simd, at(base, op, D), guard(base, op, active));
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let (a, b) = (places.at[A].cast::<[K::A; 64]>(), places.at[B].cast::<[K::B; 64]>());
            let (d, x) = (places.at[D].cast::<[u32; WARP]>(), places.at[X]);
            let mut chunk = 0;
            while chunk < chunks {
                let x = *x.add(places.step(X) * chunk).cast();
                *d.add(chunk) = chosen_pairs::<K, L>(simd, &*a.add(chunk), &*b.add(chunk), x, op);
                each_warp_alone();
                chunk += 1;
            }
        }
    }
}

/// Warps of packed values, which run as slices of one chunk: half the code, and a call more.
///
/// # Safety
///
/// The module's promises.
unsafe fn warp_as_slice<const D_BITS: u32, const E_BITS: u32>(base: *mut u8, op: *const Prepared, active: u32) {
    // SAFETY: the caller's promise; the function in `op.rare` is of a level that the machine has.
    unsafe {
        let mut places = Places { at: core::array::from_fn(|place| at(base, op, place)), fixed: u32::MAX };
        let guard = guard(base, op, active);
        if guard == u32::MAX {
            return (rare(op).slice)(&places, op, 1);
        }
        let mut new = [[0_u64; WARP]; 2];
        places.at[D] = new[0].as_mut_ptr().cast();
        places.at[E] = new[1].as_mut_ptr().cast();
        (rare(op).slice)(&places, op, 1);
        for (place, bits) in [(D, D_BITS), (E, E_BITS)] {
            let (from, to) = (places.at[place].cast_const(), at(base, op, place));
            match bits {
                0 => {}
                1 => keep::<u32>(1, from, to, |_| guard),
                16 => keep::<u16>(WARP, from, to, |lane| if guard & BIT[lane] != 0 { u16::MAX } else { 0 }),
                32 => keep::<u32>(WARP, from, to, |lane| if guard & BIT[lane] != 0 { u32::MAX } else { 0 }),
                _ => keep::<u64>(WARP, from, to, |lane| if guard & BIT[lane] != 0 { u64::MAX } else { 0 }),
            }
        }
    }
}

/// Writes the bits of `from` that a mask has, word by word.
///
/// # Safety
///
/// `from` may be read and `to` written for so many words.
unsafe fn keep<W>(words: usize, from: *const u8, to: *mut u8, mask: impl Fn(usize) -> W)
where
    W: Copy + core::ops::BitXor<Output = W> + core::ops::BitAnd<Output = W>,
{
    for word in 0..words {
        // SAFETY: the caller's promise.
        unsafe {
            let (from, to) = (from.cast::<W>().add(word), to.cast::<W>().add(word));
            *to = ((*from ^ *to) & mask(word)) ^ *to;
        }
    }
}

/// Any other program.
struct General<P>(PhantomData<P>);

impl<P: Program> Shape for General<P> {
    const LAYOUT: Layout = {
        let sources = P::Sources::BITS;
        let mut layout = [0; PLACES];
        layout[D] = P::D::BITS;
        layout[E] = P::E::BITS;
        let mut source = 0;
        while source < sources.len() {
            layout[SOURCES + source] = sources[source];
            source += 1;
        }
        layout
    };

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise. The sources are not used any more when the outputs are stored.
        unsafe {
            let sources = P::Sources::load(|place| at(base, op, place).cast_const(), (*op).complement);
            let (d, e) = P::run(simd, sources, &rare(op).selectors);
            let guard = guard(base, op, active);
            d.store(simd, at(base, op, D), guard);
            e.store(simd, at(base, op, E), guard);
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // A copy, so that what is made of it is made once.
        // SAFETY: the caller's promise.
        let mut selectors = unsafe { rare(op).selectors };
        let picks = &mut selectors.picks[..P::PICKS];
        // Either every selector picks a word as it is, the first one the first, the second one the second, or all are
        // done by shuffles. Within a loop nothing is asked.
        let whole = picks.iter().zip([WHOLE_FIRST, WHOLE_SECOND]).all(|(pick, whole)| pick.whole == whole);
        if P::PICKS == 2 && whole {
            [picks[0].whole, picks[1].whole] = [WHOLE_FIRST, WHOLE_SECOND];
            // SAFETY: the caller's promise.
            unsafe { compute::<P, L>(simd, places, op, chunks, &selectors) }
        } else {
            picks.iter_mut().for_each(|pick| pick.whole = 0);
            // SAFETY: the caller's promise.
            unsafe { compute::<P, L>(simd, places, op, chunks, &selectors) }
        }
    }
}

/// Runs a program for each chunk.
///
/// # Safety
///
/// The module's promises.
#[inline(always)]
unsafe fn compute<P: Program, L: Simd>(
    simd: L,
    places: &Places,
    op: *const Prepared,
    chunks: usize,
    selectors: &Selectors,
) {
    let layout = General::<P>::LAYOUT;
    let mut chunk = 0;
    while chunk < chunks {
        let at = |place: usize| {
            let step = if layout[place] == 1 { places.step(place) } else { layout[place] as usize * WARP / 8 };
            // SAFETY: the caller's promise.
            unsafe { places.at[place].add(step * chunk) }
        };
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let sources = P::Sources::load(|place| at(place).cast_const(), (*op).complement);
            let (d, e) = P::run(simd, sources, selectors);
            d.store(simd, at(D), u32::MAX);
            e.store(simd, at(E), u32::MAX);
        }
        each_warp_alone();
        chunk += 1;
    }
}

/// Names of levels, portable first.
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
pub(crate) const LEVELS: [&str; 3] = ["portable", "avx2", "avx512"];
/// Names of levels, portable first.
#[cfg(any(not(target_arch = "x86_64"), not(feature = "simd")))]
pub(crate) const LEVELS: [&str; 1] = ["portable"];

/// A SIMD level that this machine has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// The level that every machine has.
    pub const PORTABLE: Level = Level(0);

    /// The levels that this machine has, the best one last. Without the feature `std` the compiler's flags decide.
    pub fn available() -> impl Iterator<Item = Level> + Clone {
        (0..LEVELS.len() as u8).filter(|level| Level::has(*level)).map(Level)
    }

    /// The best level that this machine has.
    pub fn best() -> Level {
        Level::available().last().unwrap_or(Level::PORTABLE)
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        LEVELS[self.0 as usize]
    }

    #[cfg(all(target_arch = "x86_64", feature = "simd"))]
    fn has(level: u8) -> bool {
        #[cfg(all(feature = "std", not(miri)))]
        macro_rules! has {
            ($($feature:tt)*) => { true $(&& std::arch::is_x86_feature_detected!($feature))* };
        }
        #[cfg(not(all(feature = "std", not(miri))))]
        macro_rules! has {
            ($($feature:tt)*) => { cfg!(not(miri)) $(&& cfg!(target_feature = $feature))* };
        }
        match level {
            0 => true,
            1 => has!("avx2" "bmi1" "bmi2"),
            _ => has!("avx2" "bmi1" "bmi2" "avx512f" "avx512bw" "avx512dq" "avx512vl"),
        }
    }

    #[cfg(any(not(target_arch = "x86_64"), not(feature = "simd")))]
    fn has(level: u8) -> bool {
        level == 0
    }
}

impl core::fmt::Debug for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

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

/// The portable level of x86-64: a form's function on bits, lane by lane.
///
/// Machines without AVX2 are rare, and vectors of the instructions that every x86-64 has were most of the code of all
/// levels together.
#[cfg(any(target_arch = "x86_64", not(feature = "simd")))]
pub(crate) mod by_lane {
    use crate::table::{Evaluator, FormInfo};

    use super::{BIT, D, E, Layout, PLACES, Places, Prepared, WARP, at, guard, rare};

    /// How a form's function on bits gets its words.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct ByLane {
        pub form: &'static FormInfo,
        pub evaluator: &'static Evaluator,
        pub layout: Layout,
        /// For each source in order of writing its place, or `u8::MAX` if the kernel has none.
        pub sources: [u8; 6],
        pub source_count: u8,
        /// Sources that come complemented, a bit each.
        pub complemented: u8,
        /// The selectors, packed as in their types.
        pub selectors: [u32; 3],
    }

    /// # Safety
    ///
    /// `at` points to an operand of so many bits a lane.
    unsafe fn get(at: *const u8, bits: u32, lane: usize) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            match bits {
                1 => u64::from(*at.cast::<u32>() >> lane & 1),
                16 => u64::from(*at.cast::<u16>().add(lane)),
                32 => u64::from(*at.cast::<u32>().add(lane)),
                _ => *at.cast::<u64>().add(lane),
            }
        }
    }

    /// # Safety
    ///
    /// As [`get`], and it may be written.
    unsafe fn put(at: *mut u8, bits: u32, lane: usize, value: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            match bits {
                0 => {}
                1 => *at.cast::<u32>() = *at.cast::<u32>() & !BIT[lane] | ((value & 1) as u32) << lane,
                16 => *at.cast::<u16>().add(lane) = value as u16,
                32 => *at.cast::<u32>().add(lane) = value as u32,
                _ => *at.cast::<u64>().add(lane) = value,
            }
        }
    }

    /// # Safety
    ///
    /// The module's second promise.
    unsafe fn run(op: &ByLane, at: impl Fn(usize) -> *mut u8, guard: u32) {
        let count = op.source_count as usize;
        let mut words = [0; 9];
        for (word, selector) in words[count..].iter_mut().zip(op.selectors) {
            *word = u64::from(selector);
        }
        for lane in (0..WARP).filter(|lane| guard & BIT[*lane] != 0) {
            for (source, place) in op.sources[..count].iter().enumerate() {
                let place = *place as usize;
                if place < PLACES {
                    // SAFETY: the caller's promise.
                    let word = unsafe { get(at(place), op.layout[place], lane) };
                    words[source] = word ^ u64::from(op.complemented >> source & 1);
                }
            }
            let [d, e] = op.evaluator.evaluate(op.form.operands, &words[..count + op.selectors.len()]);
            // SAFETY: the caller's promise.
            unsafe {
                put(at(D), op.layout[D], lane, d);
                put(at(E), op.layout[E], lane, e);
            }
        }
    }

    /// # Safety
    ///
    /// The module's second promise.
    pub(super) unsafe fn warp(base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise.
        unsafe { run(&rare(op).by_lane, |place| at(base, op, place), guard(base, op, active)) }
    }

    /// # Safety
    ///
    /// The module's second promise.
    pub(super) unsafe fn slice(places: &Places, op: *const Prepared, chunks: usize) {
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let op = &rare(op).by_lane;
            for chunk in 0..chunks {
                let at = |place: usize| {
                    let bits = op.layout[place];
                    let step = if bits == 1 { places.step(place) } else { bits as usize * WARP / 8 };
                    places.at[place].add(step * chunk)
                };
                run(op, at, u32::MAX);
            }
        }
    }
}

/// A register file: bytes that operands of any width lie in, at multiples of their size.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    lines: Vec<Line>,
}

/// Sixty-four bytes: as much as the widest vector.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl File {
    /// So many bytes, all zero.
    pub(crate) fn new(bytes: usize) -> File {
        File { lines: alloc::vec![Line([0; 64]); bytes.div_ceil(64)] }
    }

    pub(crate) fn bytes(&self) -> usize {
        64 * self.lines.len()
    }

    /// The words at an offset, which is a multiple of their size.
    pub(crate) fn words<W: Word, const N: usize>(&self, offset: usize) -> &[W; N] {
        assert!(
            offset.is_multiple_of(size_of::<W>()) && offset + size_of::<[W; N]>() <= self.bytes(),
            "inside the file"
        );
        // SAFETY: the assertion: the words lie inside the lines, aligned, and any bits are integers.
        unsafe { &*self.lines.as_ptr().cast::<u8>().add(offset).cast() }
    }

    /// The words at an offset, which is a multiple of their size.
    pub(crate) fn words_mut<W: Word, const N: usize>(&mut self, offset: usize) -> &mut [W; N] {
        assert!(
            offset.is_multiple_of(size_of::<W>()) && offset + size_of::<[W; N]>() <= self.bytes(),
            "inside the file"
        );
        // SAFETY: as in `words`.
        unsafe { &mut *self.lines.as_mut_ptr().cast::<u8>().add(offset).cast() }
    }
}

/// Instructions that run over a register file.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    level: Level,
    steps: Vec<Prepared>,
    /// The bytes that a file has at least.
    bytes: usize,
}

impl Code {
    pub(crate) const fn new(level: Level) -> Code {
        Code { level, steps: Vec::new(), bytes: 0 }
    }

    pub(crate) const fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Adds an instruction of a kernel. Its places are offsets into a file that [`Code::run`] finds large enough.
    pub(crate) fn push(&mut self, kernel: &Kernel, op: Prepared) {
        for (at, bits) in op.at.iter().zip(kernel.layout).chain([(&op.guard, 1)]) {
            let (at, size) = (*at as usize, if bits == 1 { 4 } else { bits as usize * WARP / 8 });
            assert!(at.is_multiple_of(8) || bits < 64 && at.is_multiple_of(4), "registers are aligned");
            self.bytes = self.bytes.max(at + size);
        }
        self.steps.push(op);
    }

    /// Runs the instructions over one warp.
    #[inline]
    pub(crate) fn run(&self, file: &mut File, active: u32) {
        assert!(self.bytes <= file.bytes(), "a warp of another program");
        let base = file.lines.as_mut_ptr().cast::<u8>();
        for step in &self.steps {
            // SAFETY: a level's value exists only where the machine has its features. Every place that a kernel uses
            // was counted when the step was added, so by the assertion it lies inside the file, aligned; kernels read
            // their sources before they write, so that it does not matter which places are the same.
            unsafe { (step.run)(base, &raw const *step, active) };
        }
    }
}

/// A source of a slice evaluator: lanes of a width, or predicates packed as bits, 32 to a word.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Slice<'a> {
    /// Lanes of 16 bits.
    B16(&'a [u16]),
    /// Lanes of 32 bits.
    B32(&'a [u32]),
    /// Lanes of 64 bits.
    B64(&'a [u64]),
    /// Predicates.
    Mask(&'a [u32]),
}

/// A destination of a slice evaluator.
#[derive(Debug)]
#[repr(usize)]
pub enum SliceMut<'a> {
    /// Lanes of 16 bits.
    B16(&'a mut [u16]),
    /// Lanes of 32 bits.
    B32(&'a mut [u32]),
    /// Lanes of 64 bits.
    B64(&'a mut [u64]),
    /// Predicates.
    Mask(&'a mut [u32]),
    /// The second destination is not wanted.
    Sink,
}

/// Which variant of [`Slice`] or [`SliceMut`] a slice is.
type Tag = usize;

/// The variant for a place with so many bits a lane; none where a place has no operand.
fn tag(bits: u32) -> Tag {
    match bits {
        16 => 0,
        32 => 1,
        64 => 2,
        MASK_BITS => MASK,
        _ => Tag::MAX,
    }
}

const MASK: Tag = 3;
const MASK_BITS: u32 = 1;
const SINK: Tag = 4;

/// Where an operand's words are, and how many there are.
#[derive(Clone, Copy)]
struct Extent {
    tag: Tag,
    at: *mut u8,
    words: usize,
}

impl Slice<'_> {
    #[inline(always)]
    fn extent(&self) -> Extent {
        let (at, words) = match self {
            Slice::B16(x) => (x.as_ptr().cast(), x.len()),
            Slice::B32(x) | Slice::Mask(x) => (x.as_ptr().cast(), x.len()),
            Slice::B64(x) => (x.as_ptr().cast::<u8>(), x.len()),
        };
        // SAFETY: an enum of a primitive representation begins with its tag.
        let tag = unsafe { *(&raw const *self).cast::<Tag>() };
        Extent { tag, at: at.cast_mut(), words }
    }
}

impl SliceMut<'_> {
    #[inline(always)]
    fn extent(mut self) -> Extent {
        // SAFETY: an enum of a primitive representation begins with its tag.
        let tag = unsafe { *(&raw const self).cast::<Tag>() };
        let (at, words) = match &mut self {
            SliceMut::B16(x) => (x.as_mut_ptr().cast(), x.len()),
            SliceMut::B32(x) | SliceMut::Mask(x) => (x.as_mut_ptr().cast(), x.len()),
            SliceMut::B64(x) => (x.as_mut_ptr().cast::<u8>(), x.len()),
            SliceMut::Sink => (core::ptr::null_mut(), 0),
        };
        Extent { tag, at, words }
    }
}

/// One instruction over slices.
#[derive(Clone, Debug)]
pub(crate) struct SliceCode {
    layout: Layout,
    /// With offsets into a [`Scratch`].
    op: Prepared,
    destinations: [Wanted; 2],
    /// The sources in order of writing, and how many there are.
    sources: [Wanted; PLACES - SOURCES],
    count: usize,
    /// The places of predicate sources that have no slice, a bit each.
    fixed: u32,
    /// Whether the kernel reads the first source in the place of the second too.
    twice: bool,
}

/// The slice that an operand asks for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    tag: Tag,
    /// Lanes in a word, as a power of two.
    lanes: u32,
    /// The place of the operand; [`UNREAD`] for a source that the kernel does not read.
    place: u8,
}

/// The place of a source that a kernel does not read.
pub(crate) const UNREAD: u8 = u8::MAX;

impl Wanted {
    fn new(layout: Layout, place: u8) -> Wanted {
        let tag = layout.get(usize::from(place)).map_or(Tag::MAX, |bits| tag(*bits));
        Wanted { tag, lanes: if tag == MASK { WARP.ilog2() } else { 0 }, place }
    }

    #[inline(always)]
    fn fits(self, slice: Extent, lanes: usize) -> bool {
        slice.tag == self.tag && slice.words << self.lanes >= lanes
    }

    /// Tells why a slice does not fit.
    #[cold]
    #[inline(never)]
    fn refuse(self, slice: Extent, lanes: usize) -> ! {
        const WORDS: [&str; 5] = ["lanes of 16 bits", "lanes of 32 bits", "lanes of 64 bits", "predicates", "nothing"];
        let wanted = WORDS.get(self.tag).unwrap_or(&"nothing");
        assert!(slice.tag == self.tag, "a slice has {}, its operand {wanted}", WORDS[slice.tag]);
        panic!("a slice of {} words is too short for {lanes} lanes", slice.words)
    }
}

/// A warp that the lanes behind the last whole chunk are copied to.
#[repr(C, align(64))]
struct Scratch([[u64; WARP]; PLACES + 1]);

impl SliceCode {
    /// `places` tells for each of the `count` sources in order of writing its place, or [`UNREAD`].
    pub(crate) fn new(kernel: &Kernel, mut op: Prepared, places: [u8; PLACES - SOURCES], count: usize) -> SliceCode {
        for (place, at) in op.at.iter_mut().enumerate() {
            *at = (place * size_of::<[u64; WARP]>()) as u32;
        }
        op.guard = (PLACES * size_of::<[u64; WARP]>()) as u32;
        op.guard_xor = 0;
        let layout = kernel.layout;
        let given = |place: usize| places[..count].contains(&(place as u8));
        let twice = kernel.tables && !given(B);
        let needed = |place: usize| layout[place] != 0 && !(kernel.tables && (place == B || place == X));
        assert!((SOURCES..PLACES).all(|place| given(place) || !needed(place)), "a kernel's sources are operands");
        SliceCode {
            layout,
            op,
            destinations: [D, E].map(|place| Wanted::new(layout, place as u8)),
            sources: places.map(|place| Wanted::new(layout, place)),
            count,
            fixed: if given(X) { 0 } else { 1 << X },
            twice,
        }
    }

    /// Runs `lanes` lanes. `sources` are in order of writing.
    ///
    /// # Panics
    ///
    /// If a slice is missing, has another width than its operand, or fewer lanes.
    #[inline]
    pub(crate) fn run(&self, lanes: usize, destinations: [SliceMut<'_>; 2], sources: &[Slice<'_>]) {
        // What a place points to that has no slice: one word, again and again.
        let mut nothing = 0_u32;
        let mut places = Places { at: [(&raw mut nothing).cast(); PLACES], fixed: self.fixed };
        for (place, (wanted, destination)) in self.destinations.iter().zip(destinations).enumerate() {
            let slice = destination.extent();
            if wanted.fits(slice, lanes) {
                places.at[place] = slice.at;
            } else if slice.tag == SINK && self.layout[place] <= MASK_BITS {
                places.fixed |= 1 << place;
            } else {
                wanted.refuse(slice, lanes);
            }
        }
        assert!(sources.len() == self.count, "there are {} sources, not {}", self.count, sources.len());
        for (wanted, source) in self.sources.iter().zip(sources) {
            if wanted.place != UNREAD {
                let slice = source.extent();
                if !wanted.fits(slice, lanes) {
                    wanted.refuse(slice, lanes);
                }
                places.at[usize::from(wanted.place) % PLACES] = slice.at;
            }
        }
        if self.twice {
            places.at[B] = places.at[A];
        }
        let (chunks, rest) = (lanes / WARP, lanes % WARP);
        if chunks > 0 {
            // SAFETY: the level's features are there, as in `Code::run`. Every place that the kernel uses was given
            // one of the slices, by the checks here and in `new`, with lanes enough of its width; or it is a
            // predicate that may be left out, whose word is there for every chunk. The borrows of the destinations
            // and `sources` are disjoint and live as long as this call.
            unsafe { (self.op.rare.slice)(&places, &raw const self.op, chunks) };
        }
        if rest > 0 {
            self.tail(&places, chunks, rest);
        }
    }

    /// Runs the lanes behind the last whole chunk, for places that [`SliceCode::run`] has checked.
    #[inline(never)]
    fn tail(&self, places: &Places, chunks: usize, rest: usize) {
        let mut scratch = Scratch([[0; WARP]; PLACES + 1]);
        let base = (&raw mut scratch).cast::<u8>();
        let tail = |place: usize| {
            let bits = self.layout[place];
            // Lanes behind the last whole chunk: their first byte, and how many bytes they have.
            match bits {
                1 => (places.at[place].wrapping_add(places.step(place) * chunks), 4),
                _ => (places.at[place].wrapping_add(bits as usize * WARP / 8 * chunks), bits as usize / 8 * rest),
            }
        };
        for place in (0..PLACES).filter(|place| self.layout[*place] != 0) {
            let (from, bytes) = tail(place);
            // SAFETY: as above, the place has `rest` lanes behind its whole chunks, or a word of them; its part of
            // the scratch has 256 bytes.
            unsafe { core::ptr::copy_nonoverlapping(from, base.add(self.op.at[place] as usize), bytes) };
        }
        // SAFETY: all operands are in the scratch, whose last part is the guard.
        unsafe {
            *base.add(self.op.guard as usize).cast::<u32>() = u32::MAX;
            (self.op.run)(base, &raw const self.op, BIT[rest] - 1);
        }
        for place in (D..=E).filter(|place| self.layout[*place] != 0) {
            let (to, bytes) = tail(place);
            // SAFETY: as when they were copied in; destinations may be written.
            unsafe { core::ptr::copy_nonoverlapping(base.add(self.op.at[place] as usize), to, bytes) };
        }
    }
}
