//! Parameters that distinguish the instructions of one loop: constants, truth tables and selectors.

use alloc::vec::Vec;

use isa_table::program::Param;

/// The parameters of a loop: a tuple, laid out in memory as `words` writes it.
pub trait Params: Copy {
    /// Size in 32-bit words.
    const WORDS: usize;
    /// True if there are selectors, which have a usual value.
    const SELECTS: bool;
    /// # Safety
    ///
    /// `at` must point to the words of these parameters.
    unsafe fn load(at: *const u8) -> Self;
    /// Returns the parameters specialized for the usual selectors, `None` if any selector differs: the first selector
    /// picks the first word, the second one the second word, and masks have all lanes.
    fn usual(self) -> Option<Self>;
    /// Returns the parameters with nothing assumed about selectors.
    fn unusual(self) -> Self;
}

/// One parameter.
pub trait OneParam: Copy {
    /// Size in 32-bit words.
    const WORDS: usize;
    /// # Safety
    ///
    /// `at` must point to the words of this parameter.
    unsafe fn load(at: *const u8) -> Self;
    /// Returns the parameter specialized for the usual selector, `None` if the selector differs. The counter is the
    /// number of preceding selectors in the loop.
    fn usual(self, _: &mut u16) -> Option<Self> {
        Some(self)
    }
    /// Returns the parameter with nothing assumed about the selector.
    fn unusual(self) -> Self {
        self
    }
    /// True if it is a selector.
    const SELECTS: bool = false;
}

/// Two words as one, whichever half of it comes first in memory.
///
/// # Safety
///
/// At `at` lie two words.
#[inline(always)]
unsafe fn two_words(at: *const u8) -> u64 {
    // SAFETY: the caller's promise.
    let [low, high] = unsafe { at.cast::<[u32; 2]>().read_unaligned() };
    u64::from(low) | u64::from(high) << 32
}

macro_rules! constants {
    ($($ty:ty)*) => {$(
        impl OneParam for $ty {
            const WORDS: usize = 1;
            #[inline(always)]
            unsafe fn load(at: *const u8) -> $ty {
                // SAFETY: the caller's promise.
                unsafe { at.cast::<u32>().read_unaligned() as $ty }
            }
        }
    )*};
}

constants!(u8 u16 u32);

impl OneParam for u64 {
    const WORDS: usize = 2;
    #[inline(always)]
    unsafe fn load(at: *const u8) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { two_words(at) }
    }
}

macro_rules! params {
    ($($name:ident)*) => {
        impl<$($name: OneParam),*> Params for ($($name,)*) {
            const WORDS: usize = 0 $(+ $name::WORDS)*;
            const SELECTS: bool = false $(|| $name::SELECTS)*;
            #[inline(always)]
            #[allow(clippy::unused_unit, unused_variables, unused_mut, unused_assignments, reason = "a loop may have no parameters")]
            unsafe fn load(at: *const u8) -> Self {
                let mut words = 0;
                ($({
                    // SAFETY: the caller's promise: parameters lie one behind the other.
                    let param = unsafe { $name::load(at.add(4 * words)) };
                    words += $name::WORDS;
                    param
                },)*)
            }
            #[inline(always)]
            #[allow(non_snake_case, unused_variables, unused_mut, reason = "a loop may have no parameters")]
            fn usual(self) -> Option<Self> {
                let ($($name,)*) = self;
                let mut number = 0;
                Some(($($name.usual(&mut number)?,)*))
            }
            #[inline(always)]
            #[allow(non_snake_case, clippy::unused_unit, reason = "a loop may have no parameters")]
            fn unusual(self) -> Self {
                let ($($name,)*) = self;
                ($($name.unusual(),)*)
            }
        }
    };
}

params!();
params!(A);
params!(A B);
params!(A B C);
params!(A B C D);
params!(A B C D E);
params!(A B C D E F);
params!(A B C D E F G);
params!(A B C D E F G H);

/// Predicates of a chunk: one bit for each of 32, 64 or 128 lanes.
pub trait MaskWord:
    Copy + core::ops::BitAnd<Output = Self> + core::ops::BitXor<Output = Self> + core::ops::Not<Output = Self>
{
    /// All lanes alike: `bits` is 0 or all ones.
    fn splat(bits: u32) -> Self;
}

macro_rules! mask_words {
    ($($ty:ty, $signed:ty;)*) => {$(
        impl MaskWord for $ty {
            #[inline(always)]
            fn splat(bits: u32) -> $ty {
                <$signed>::from(bits.cast_signed()) as $ty
            }
        }
    )*};
}

mask_words! {
    u32, i32;
    u64, i64;
    u128, i128;
}

/// Functions of predicates as sums modulo two of products: `c0 ^ c1 & x0 ^ c2 & x1 ^ c3 & x0 & x1`, and so on. Each
/// coefficient is 0 or all ones.
macro_rules! truths {
    ($($name:ident $leaves:literal $coefficients:literal |$c:ident, $x:ident| $function:expr;)*) => {$(
        #[doc = concat!("A function of ", $leaves, " predicates.")]
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct $name([u32; $coefficients]);

        impl $name {
            /// The function whose outcome for predicates that spell `i` is bit `i`; the first one is bit 0.
            #[inline(always)]
            pub const fn of(outcomes: u8) -> $name {
                let mut coefficients = [0; $coefficients];
                let mut index = 0;
                while index < $coefficients {
                    let (mut sum, mut below) = (0, 0);
                    while below <= index {
                        // The outcomes for what is part of the product.
                        if below & index == below {
                            sum ^= outcomes >> below & 1;
                        }
                        below += 1;
                    }
                    coefficients[index] = 0_u32.wrapping_sub(sum as u32);
                    index += 1;
                }
                $name(coefficients)
            }

            /// Applies the function to predicates.
            #[inline(always)]
            pub fn apply<M: MaskWord>(self, $x: [M; $leaves]) -> M {
                let $c = |index: usize| M::splat(self.0[index]);
                $function
            }
        }

        impl OneParam for $name {
            const WORDS: usize = $coefficients;
            #[inline(always)]
            unsafe fn load(at: *const u8) -> $name {
                // SAFETY: the caller's promise.
                unsafe { at.cast::<$name>().read_unaligned() }
            }
        }
    )*};
}

truths! {
    Truth1 1 2 |c, x| x[0] & c(1) ^ c(0);
    Truth2 2 4 |c, x| x[0] & (x[1] & c(3) ^ c(1)) ^ (x[1] & c(2) ^ c(0));
    Truth3 3 8 |c, x| {
        let low = x[1] & (x[2] & c(6) ^ c(2)) ^ (x[2] & c(4) ^ c(0));
        let high = x[1] & (x[2] & c(7) ^ c(3)) ^ (x[2] & c(5) ^ c(1));
        x[0] & high ^ low
    };
}

/// A selector of lanes from two words, prepared for byte shuffles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Pick {
    /// For each byte of a word of the result, the byte of the first word it is, or 0x80.
    pub(super) first: u32,
    /// The same of the second word.
    pub(super) second: u32,
    /// Four bits for each byte of a word of the result: which of the eight of both words it is.
    pub(super) bytes: u16,
    /// [`WHOLE_FIRST`] if the result is the first word, [`WHOLE_SECOND`] if it is the second, else 0.
    pub(super) whole: u16,
    packed: u32,
}

pub(super) const WHOLE_FIRST: u16 = 1;
pub(super) const WHOLE_SECOND: u16 = 2;

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
    #[inline(always)]
    pub fn packed(&self) -> u32 {
        self.packed
    }
}

impl OneParam for Pick {
    const WORDS: usize = 4;
    const SELECTS: bool = true;
    #[inline(always)]
    unsafe fn load(at: *const u8) -> Pick {
        // SAFETY: the caller's promise.
        unsafe {
            let [first, second, both, packed] = at.cast::<[u32; 4]>().read_unaligned();
            Pick { first, second, bytes: both as u16, whole: (both >> 16) as u16, packed }
        }
    }
    #[inline(always)]
    fn usual(self, number: &mut u16) -> Option<Pick> {
        *number += 1;
        let usual = if *number == 1 { WHOLE_FIRST } else { WHOLE_SECOND };
        (self.whole == usual).then_some(Pick { whole: usual, ..self })
    }
    #[inline(always)]
    fn unusual(self) -> Pick {
        Pick { whole: 0, ..self }
    }
}

/// The lanes of a mask, of every thread of a warp.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Subset([u64; 2]);

impl Subset {
    /// From the packed form, a bit for each of `of` lanes.
    pub(crate) fn new(packed: u32, of: u32) -> Subset {
        let each = u128::from(packed) & ((1 << of) - 1);
        // Both words are filled, so that a mask of all lanes is all ones.
        let all = (0..128 / of).fold(0, |all, thread| all | each << (thread * of));
        Subset([all as u64, (all >> 64) as u64])
    }

    /// The lanes as a mask.
    #[inline(always)]
    pub fn mask(self) -> u128 {
        u128::from(self.0[0]) | u128::from(self.0[1]) << 64
    }
}

impl OneParam for Subset {
    const WORDS: usize = 4;
    const SELECTS: bool = true;
    #[inline(always)]
    unsafe fn load(at: *const u8) -> Subset {
        // SAFETY: the caller's promise.
        unsafe { Subset([two_words(at), two_words(at.add(8))]) }
    }
    #[inline(always)]
    fn usual(self, _: &mut u16) -> Option<Subset> {
        (self.0[0] & self.0[1] == u64::MAX).then_some(Subset([u64::MAX; 2]))
    }
}

/// Appends the words of a parameter: its constant, its outcomes, or its packed selector.
pub(crate) fn words(param: Param, datum: u64, into: &mut Vec<u32>) {
    match param {
        Param::Constant(bits) => {
            let datum = datum & (u64::MAX >> (64 - u32::from(bits.clamp(1, 64))));
            into.push(datum as u32);
            into.extend((bits > 32).then_some((datum >> 32) as u32));
        }
        Param::Truth(1) => into.extend(Truth1::of(datum as u8).0),
        Param::Truth(2) => into.extend(Truth2::of(datum as u8).0),
        Param::Truth(_) => into.extend(Truth3::of(datum as u8).0),
        Param::Pick(lanes, of) => {
            let Pick { first, second, bytes, whole, packed } = Pick::new(datum as u32, lanes.into(), of.into());
            into.extend([first, second, u32::from(bytes) | u32::from(whole) << 16, packed]);
        }
        Param::Subset(of) => {
            let Subset([low, high]) = Subset::new(datum as u32, of.into());
            into.extend([low, high].iter().flat_map(|half| [*half as u32, (*half >> 32) as u32]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_predicates_has_the_outcomes_it_was_made_of() {
        for outcomes in 0..=u8::MAX {
            for spelt in 0..8_u32 {
                let x = [0, 1, 2].map(|leaf| 0_u32.wrapping_sub(spelt >> leaf & 1));
                let wanted = |leaves: u32| 0_u32.wrapping_sub(u32::from(outcomes) >> (spelt & ((1 << leaves) - 1)) & 1);
                assert_eq!(Truth1::of(outcomes).apply([x[0]]), wanted(1));
                assert_eq!(Truth2::of(outcomes).apply([x[0], x[1]]), wanted(2));
                assert_eq!(Truth3::of(outcomes).apply(x), wanted(3));
                let wide = x.map(u128::splat);
                assert_eq!(Truth3::of(outcomes).apply(wide), u128::splat(wanted(3)));
            }
        }
    }
}
