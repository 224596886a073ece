//! What tells instructions of one kernel apart: truth tables and selectors.

/// A truth table of a test and a predicate, for 32 lanes at once: `(test & m1) ^ m2`, where the predicate decides
/// both masks: `m1 = (x & and1) ^ xor1`, `m2 = (x & and2) ^ xor2`.
///
/// Of two destinations the second has the same table of the complemented test, or of the second lane of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Truth {
    and1: u32,
    xor1: u32,
    and2: u32,
    xor2: u32,
}

impl Truth {
    /// The table whose outcome for a test and a predicate is bit `2 * test + predicate`.
    pub(crate) fn new(outcomes: u8) -> Truth {
        let [f00, f01, f10, f11] = [0, 1, 2, 3].map(|bit| 0_u32.wrapping_sub(u32::from(outcomes >> bit & 1)));
        Truth { and1: f00 ^ f01 ^ f10 ^ f11, xor1: f10 ^ f00, and2: f01 ^ f00, xor2: f00 }
    }

    /// The same table for a predicate that comes complemented.
    pub(crate) fn complement_predicate(self) -> Truth {
        Truth { xor1: self.xor1 ^ self.and1, xor2: self.xor2 ^ self.and2, ..self }
    }

    /// The masks for these predicates.
    #[inline(always)]
    pub(super) const fn masks(self, x: u32) -> Masks {
        Masks { m1: (x & self.and1) ^ self.xor1, m2: (x & self.and2) ^ self.xor2 }
    }
}

/// A truth table whose predicate is known in each lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Masks {
    m1: u32,
    m2: u32,
}

impl Masks {
    #[inline(always)]
    pub(super) const fn apply(self, test: u32) -> u32 {
        (test & self.m1) ^ self.m2
    }

    /// What is made of the complement of a test, from what was made of the test.
    #[inline(always)]
    pub(super) const fn complement(self, applied: u32) -> u32 {
        applied ^ self.m1
    }
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
