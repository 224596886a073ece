//! Lanes, and what the generator writes on them: loops over 32 threads.

use super::{Params, Simd, WARP};

/// An integer that holds the bits of a lane.
pub trait Word: Copy + Default + PartialEq + sealed::Sealed + 'static {
    const BITS: u32;
    const ONES: Self;
    fn truncate(bits: u64) -> Self;
    /// `yes` if this is all ones, `no` if it is zero.
    fn choose(self, yes: Self, no: Self) -> Self;
    /// Returns true if this value, which must be all ones or zero, is all ones. Only the sign bit is tested.
    fn is_ones(self) -> bool;
    /// Widens a value that is all ones or zero.
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
            fn is_ones(self) -> bool { self.cast_signed() < 0 }
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

/// The lowest bits of each lane, or zeros above it.
#[inline(always)]
pub fn resized<V: Word + Into<u64>, W: Word>(lanes: &[V; WARP]) -> [W; WARP] {
    let mut resized = [W::default(); WARP];
    let mut lane = 0;
    while lane < WARP {
        resized[lane] = W::truncate(lanes[lane].into());
        lane += 1;
    }
    resized
}

/// One of two values. Both are there: behind a branch they would be read one by one, from either place.
#[inline(always)]
pub fn either<W: Word>(first: bool, yes: W, no: W) -> W {
    W::truncate(u64::from(first).wrapping_neg()).choose(yes, no)
}

/// A computation over 32 threads, with the types of its sources, outputs and parameters.
pub trait Loop: 'static {
    type Sources: Sources;
    type Outputs: Outputs;
    type Params: Params;
    /// Computes all lanes; `active` is the mask of participating lanes.
    fn chunk<L: Simd>(
        simd: L,
        sources: <Self::Sources as Sources>::Refs<'_>,
        params: Self::Params,
        active: u32,
    ) -> Self::Outputs;
}

/// The predicates of 32 threads, one bit each.
#[derive(Clone, Copy, Debug)]
pub struct Mask;

/// Width of a lane of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Predicate,
    B16,
    B32,
    B64,
}

impl Width {
    pub(super) const COUNT: usize = 4;

    /// Returns the width of a lane with this number of bits; 1 for predicates.
    pub(super) const fn of(bits: u32) -> Width {
        match bits {
            1 => Width::Predicate,
            16 => Width::B16,
            32 => Width::B32,
            _ => Width::B64,
        }
    }
}

/// Addresses of the operands of a step. A type, not a closure of each loop, so that loads and stores are instantiated once per
/// operand list.
pub trait Operands: Copy {
    /// Returns the address of a chunk of an operand; destinations come first.
    ///
    /// # Safety
    ///
    /// The step has the place, whose lanes have this width.
    unsafe fn at(self, place: usize, width: Width) -> *mut u8;
}

/// A source of a [`Loop`]: `[u32; 32]` and the like, or [`Mask`].
pub trait Source: 'static {
    const WIDTH: Width;
    type Ref<'a>;
    /// # Safety
    ///
    /// `at` points to a chunk of this kind, which nothing writes while the result lives.
    unsafe fn load<'a>(at: *const u8) -> Self::Ref<'a>;
}

impl<W: Word> Source for [W; WARP] {
    const WIDTH: Width = Width::of(W::BITS);
    type Ref<'a> = &'a [W; WARP];
    #[inline(always)]
    unsafe fn load<'a>(at: *const u8) -> &'a [W; WARP] {
        // SAFETY: the caller's promise.
        unsafe { &*at.cast::<[W; WARP]>() }
    }
}

impl Source for Mask {
    const WIDTH: Width = Width::Predicate;
    type Ref<'a> = u32;
    #[inline(always)]
    unsafe fn load<'a>(at: *const u8) -> Self::Ref<'a> {
        // SAFETY: the caller's promise.
        unsafe { *at.cast::<u32>() }
    }
}

/// The sources of a [`Loop`]: a tuple.
pub trait Sources: 'static {
    const COUNT: usize;
    type Refs<'a>;
    /// # Safety
    ///
    /// As [`Source::load`], for the places from `first` on.
    unsafe fn load<'a>(operands: impl Operands, first: usize) -> Self::Refs<'a>;
}

/// A destination of a [`Loop`]: `[u32; 32]` and the like, or predicates as a `u32`.
pub trait Output: 'static {
    const WIDTH: Width;
    /// Writes all lanes.
    ///
    /// # Safety
    ///
    /// `at` points to a chunk of this kind that may be written.
    unsafe fn store(self, at: *mut u8);
    /// Writes the lanes that a mask has.
    ///
    /// # Safety
    ///
    /// As [`Output::store`].
    unsafe fn store_masked<L: Simd>(self, simd: L, at: *mut u8, mask: u32);
}

impl<W: Word> Output for [W; WARP] {
    const WIDTH: Width = Width::of(W::BITS);
    #[inline(always)]
    unsafe fn store(self, at: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { *at.cast::<[W; WARP]>() = self };
    }
    #[inline(always)]
    unsafe fn store_masked<L: Simd>(self, simd: L, at: *mut u8, mask: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let at = at.cast::<[W; WARP]>();
            *at = simd.select(mask.into(), &self, &*at);
        }
    }
}

impl Output for u32 {
    const WIDTH: Width = Width::Predicate;
    #[inline(always)]
    unsafe fn store(self, at: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { *at.cast::<u32>() = self };
    }
    #[inline(always)]
    unsafe fn store_masked<L: Simd>(self, _: L, at: *mut u8, mask: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let at = at.cast::<u32>();
            *at = ((self ^ *at) & mask) ^ *at;
        }
    }
}

/// Tells the compiler that it is seldom called from where it is: most instructions write all lanes, and should not jump
/// before they do.
#[cold]
fn some_lanes() {}

/// The destinations of a [`Loop`]: a tuple.
pub trait Outputs: 'static {
    const COUNT: usize;
    /// # Safety
    ///
    /// As [`Output::store`], for the first places.
    unsafe fn store(self, operands: impl Operands);
    /// # Safety
    ///
    /// As [`Output::store_masked`], for the first places.
    unsafe fn store_masked<L: Simd>(self, simd: L, operands: impl Operands, mask: u32);
}

macro_rules! tuples {
    ($count:literal: $($name:ident $place:literal)*) => {
        impl<$($name: Source),*> Sources for ($($name,)*) {
            const COUNT: usize = $count;
            type Refs<'a> = ($($name::Ref<'a>,)*);
            #[inline(always)]
            unsafe fn load<'a>(operands: impl Operands, first: usize) -> Self::Refs<'a> {
                // SAFETY: the caller's promise.
                unsafe { ($($name::load(operands.at(first + $place, $name::WIDTH)),)*) }
            }
        }

        impl<$($name: Output),*> Outputs for ($($name,)*) {
            const COUNT: usize = $count;
            #[inline(always)]
            #[allow(non_snake_case, reason = "a value is named as its type")]
            unsafe fn store(self, operands: impl Operands) {
                let ($($name,)*) = self;
                // SAFETY: the caller's promise.
                unsafe { $($name.store(operands.at($place, $name::WIDTH));)* }
            }
            #[inline(always)]
            #[allow(non_snake_case, reason = "a value is named as its type")]
            unsafe fn store_masked<L: Simd>(self, simd: L, operands: impl Operands, mask: u32) {
                // Writing some lanes costs more than writing all.
                let lanes = false $(|| !matches!($name::WIDTH, Width::Predicate))*;
                // SAFETY: the caller's promise.
                unsafe {
                    if lanes && mask == u32::MAX {
                        return self.store(operands);
                    }
                    if lanes {
                        some_lanes();
                    }
                    let ($($name,)*) = self;
                    $($name.store_masked(simd, operands.at($place, $name::WIDTH), mask);)*
                }
            }
        }
    };
}

tuples!(1: A 0);
tuples!(2: A 0 B 1);
tuples!(3: A 0 B 1 C 2);
tuples!(4: A 0 B 1 C 2 D 3);
tuples!(5: A 0 B 1 C 2 D 3 E 4);
tuples!(6: A 0 B 1 C 2 D 3 E 4 F 5);
tuples!(7: A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuples!(8: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
