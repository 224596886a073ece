//! The hash of mnemonics. The generator places forms with it and the library finds them with it, so both crates hold
//! this file; a test keeps the copies the same.

/// A text as three words and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    first: u64,
    middle: u64,
    last: u64,
    length: usize,
}

impl Key {
    /// The key of a text of 8 to 24 bytes, as most mnemonics are. It is made without a loop: the first, the middle and
    /// the last eight bytes, which overlap in all but the longest. Equal keys are equal texts.
    #[inline(always)]
    pub(crate) const fn exact(text: &[u8]) -> Option<Key> {
        let length @ 8..=24 = text.len() else { return None };
        let last = length - 8;
        let middle = if last < 8 { last } else { 8 };
        Some(Key { first: word(text, 0), middle: word(text, middle), last: word(text, last), length })
    }

    /// The key of any text. Where it is not exact, other texts may have it too.
    pub(crate) const fn of(text: &[u8]) -> Key {
        if let Some(key) = Key::exact(text) {
            return key;
        }
        let mut middle = 0;
        let mut rest = text;
        while let Some((word, behind)) = rest.split_first_chunk() {
            middle = fold(middle ^ u64::from_le_bytes(*word) ^ A, B);
            rest = behind;
        }
        let mut last = 0;
        while let [byte, behind @ ..] = rest {
            last = last << 8 | *byte as u64;
            rest = behind;
        }
        Key { first: 0, middle, last, length: text.len() }
    }

    /// The hash of the text. What the last bytes add is turned, as a product carries nothing down and the highest bits
    /// alone could not be parted by a factor.
    #[inline(always)]
    pub(crate) const fn hash(self) -> u64 {
        let last = (self.last ^ self.length as u64).wrapping_mul(C).rotate_left(32);
        fold(self.first ^ A, self.middle ^ B).wrapping_add(last)
    }
}

/// The bucket of a hash among so many, a power of two of at most 2¹⁶.
#[inline(always)]
pub(crate) fn bucket(hash: u64, buckets: usize) -> usize {
    (hash >> 48) as usize & (buckets - 1)
}

/// The place of a hash among so many, a power of two of at most 2¹⁶, with its bucket's factor.
#[inline(always)]
pub(crate) fn place(hash: u64, factor: u32, places: usize) -> usize {
    bucket(hash.wrapping_mul(factor as u64), places)
}

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xff51_afd7_ed55_8ccd;
const C: u64 = 0x94d0_49bb_1331_11eb;

#[inline(always)]
const fn word(text: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*text.split_at(at).1.first_chunk().expect("eight bytes"))
}

/// Both halves of the product in one.
#[inline(always)]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}
