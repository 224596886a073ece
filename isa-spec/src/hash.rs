//! The hash of mnemonics. The generator places forms with it and the library finds them with it, so both crates hold
//! this file; a test keeps the copies the same.

/// A text as three words and its length.
#[derive(Clone, Copy)]
pub(crate) struct Key(pub(crate) [u64; 4]);

impl Key {
    /// The key of a text of 8 to 24 bytes, as most mnemonics are. It is made without a loop: the first, the middle and
    /// the last eight bytes, which overlap in all but the longest. Equal keys are equal texts.
    #[inline(always)]
    pub(crate) fn exact(text: &[u8]) -> Option<Key> {
        let length @ 8..=24 = text.len() else { return None };
        let last = length - 8;
        Some(Key([word(text, 0), word(text, last.min(8)), word(text, last), length as u64]))
    }

    /// The key of any text. Where it is not exact, other texts may have it too.
    pub(crate) fn of(text: &[u8]) -> Key {
        if let Some(key) = Key::exact(text) {
            return key;
        }
        let (words, rest) = text.as_chunks();
        let middle = words.iter().fold(0, |middle, word| fold(middle ^ u64::from_le_bytes(*word) ^ A, B));
        let last = rest.iter().fold(0, |last, byte| last << 8 | u64::from(*byte));
        Key([0, middle, last, text.len() as u64])
    }

    /// The hash of the text. What the last bytes add is turned, as a product carries nothing down and the highest bits
    /// alone could not be parted by a factor.
    #[inline(always)]
    pub(crate) fn hash(self) -> u64 {
        let Key([first, middle, last, length]) = self;
        fold(first ^ A, middle ^ B).wrapping_add((last ^ length).wrapping_mul(C).rotate_left(32))
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
fn word(text: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*text[at..].first_chunk().expect("eight bytes"))
}

/// Both halves of the product in one.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}
