//! Words of programs on bits as values of Rust's types, for generated code.

use isa_table::program::WARP;

use super::{bf16, f16};
use crate::selector::Lanes;

/// A value that a word holds.
pub trait Word: Sized {
    /// Its width.
    const BITS: u32;

    /// The value in the lowest bits of a word.
    fn from_word(word: u128) -> Self;

    /// The word that holds it, with zeros above.
    fn into_word(self) -> u128;
}

macro_rules! words {
    ($($ty:ty, $bits:literal: |$word:ident| $from:expr, |$value:ident| $into:expr;)*) => {$(
        impl Word for $ty {
            const BITS: u32 = $bits;

            #[inline(always)]
            fn from_word($word: u128) -> $ty {
                $from
            }

            #[inline(always)]
            fn into_word(self) -> u128 {
                let $value = self;
                $into
            }
        }
    )*};
}

words! {
    bool, 1: |word| word & 1 != 0, |value| value.into();
    u8, 8: |word| word as u8, |value| value.into();
    u16, 16: |word| word as u16, |value| value.into();
    u32, 32: |word| word as u32, |value| value.into();
    u64, 64: |word| word as u64, |value| value.into();
    u128, 128: |word| word, |value| value;
    i8, 8: |word| word as i8, |value| value.cast_unsigned().into();
    i16, 16: |word| word as i16, |value| value.cast_unsigned().into();
    i32, 32: |word| word as i32, |value| value.cast_unsigned().into();
    i64, 64: |word| word as i64, |value| value.cast_unsigned().into();
    f32, 32: |word| f32::from_bits(word as u32), |value| value.to_bits().into();
    f64, 64: |word| f64::from_bits(word as u64), |value| value.to_bits().into();
    f16, 16: |word| f16::from_bits(word as u16), |value| value.to_bits().into();
    bf16, 16: |word| bf16::from_bits(word as u16), |value| value.to_bits().into();
}

impl<const LANES: usize, const OF: usize> Word for Lanes<LANES, OF> {
    const BITS: u32 = 32;

    fn from_word(word: u128) -> Self {
        Lanes::from_bits(word as u32)
    }

    fn into_word(self) -> u128 {
        self.to_bits().into()
    }
}

impl<T: Word, const LANES: usize> Word for [T; LANES] {
    const BITS: u32 = T::BITS * LANES as u32;

    fn from_word(word: u128) -> Self {
        core::array::from_fn(|lane| T::from_word(word >> (T::BITS * lane as u32)))
    }

    fn into_word(self) -> u128 {
        self.into_iter().rev().fold(0, |word, lane| word << T::BITS | lane.into_word())
    }
}

/// An argument of an operation.
#[inline(always)]
pub fn arg<T: Word>(words: &[u128], index: usize) -> T {
    T::from_word(words[index])
}

/// An argument of an operation, the value in every thread of a warp.
#[inline(always)]
pub fn threads<T: Word>(words: &[u128], index: usize) -> [T; WARP] {
    core::array::from_fn(|thread| T::from_word(words[index + thread]))
}

/// No operation has this number.
///
/// # Panics
///
/// Always: a table's programs name its operations only.
#[cold]
pub fn unknown(number: u16, words: &[u128]) -> u128 {
    panic!("there is no operation {number} of {} words", words.len())
}
