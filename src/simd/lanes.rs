//! Lanes, and what the generator writes on them: tests of one lane, programs of a warp.

use super::{PLACES, SOURCES, Selectors, Simd, WARP};

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

pub(super) mod sealed {
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
