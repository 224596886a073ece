//! Perfect hash of mnemonics: the generator places forms with it, the library looks them up with it.
//!
//! The hash of a text selects a bucket; the bucket's factor and the hash select a place. [`build`] searches for factors
//! that give every text a place of its own.
//!
//! ```
//! # #[cfg(feature = "write")] {
//! use isa_table::hash::{Key, Places, build};
//!
//! let Places { factors, places } = build(&["selp.b16", "selp.b32"]);
//! let hash = Key::of(b"selp.b32").hash();
//! assert_eq!(places[isa_table::hash::find(hash, &factors, places.len())], 1);
//! # }
//! ```

#[cfg(feature = "write")]
use alloc::{vec, vec::Vec};

/// Size in bytes of an inline name in a table; longer names are stored out of line.
pub const SHORT: usize = 24;

/// A text of up to [`SHORT`] bytes as three words.
#[derive(Clone, Copy, Debug)]
pub struct Key([u64; 3]);

impl PartialEq for Key {
    /// Compares word by word: the derived comparison of all bytes would wait for the stores of both keys.
    #[inline(always)]
    fn eq(&self, other: &Key) -> bool {
        let ([a, b, c], [d, e, f]) = (self.0, other.0);
        (a ^ d) | (b ^ e) | (c ^ f) == 0
    }
}

impl Eq for Key {}

impl Key {
    /// Key of a text of 1 to [`SHORT`] bytes, padded with zeros, computed without a loop. Equal keys imply equal texts,
    /// because no mnemonic ends in a zero byte.
    #[inline(always)]
    pub fn exact(text: &[u8]) -> Option<Key> {
        let length @ 1..=SHORT = text.len() else { return None };
        if text[length - 1] == 0 {
            return None;
        }
        // Two shifts, because a shift by 64 bits would overflow.
        let behind = |end: usize| word(text, length - 8) >> (4 * (end - length)) >> (4 * (end - length));
        // The first and the last bytes, which may overlap.
        let short = |first: u64, last: u64, size: usize| [first | last << (8 * (length - size)), 0, 0];
        Some(Key(match length {
            1 => [text[0].into(), 0, 0],
            2..4 => short(pair(text, 0), pair(text, length - 2), 2),
            4..8 => short(half(text, 0), half(text, length - 4), 4),
            8..=16 => [word(text, 0), behind(16), 0],
            _ => [word(text, 0), word(text, 8), behind(SHORT)],
        }))
    }

    /// Key of a text of any length; equals [`Key::exact`] where that exists.
    #[inline]
    pub fn new(text: &[u8]) -> Key {
        Key::exact(text).unwrap_or_else(|| Key::of(text))
    }

    /// The three words. Those of [`Key::exact`] are the bytes of the text in little-endian order.
    #[inline(always)]
    pub fn words(self) -> [u64; 3] {
        self.0
    }

    /// Key of a name as a table stores it.
    #[inline(always)]
    pub fn padded(name: &[u8; SHORT]) -> Key {
        let [first, middle, last] = name.as_chunks::<8>().0 else { unreachable!("three words") };
        Key([first, middle, last].map(|word| u64::from_le_bytes(*word)))
    }

    /// Key of a text of any length. Longer texts than [`SHORT`] may share a key.
    pub fn of(text: &[u8]) -> Key {
        if text.len() <= SHORT {
            let mut name = [0; SHORT];
            name[..text.len()].copy_from_slice(text);
            return Key::padded(&name);
        }
        let (words, rest) = text.as_chunks();
        let middle = words.iter().fold(0, |middle, word| fold(middle ^ u64::from_le_bytes(*word) ^ A, B));
        let last = rest.iter().fold(text.len() as u64, |last, byte| last << 8 | u64::from(*byte));
        Key([0, middle, last])
    }

    /// Hash of the text. The last word is rotated, because a product propagates no carry downward and a factor could
    /// not separate texts that differ in the highest bits only.
    #[inline(always)]
    pub fn hash(self) -> u64 {
        let Key([first, middle, last]) = self;
        fold(first ^ A, middle ^ B).wrapping_add(last.wrapping_mul(C).rotate_left(32))
    }
}

/// Bucket of a hash. `buckets` is a power of two of at most 2²⁰.
#[inline(always)]
fn bucket(hash: u64, buckets: usize) -> usize {
    (hash >> 44) as usize & (buckets - 1)
}

/// Place of a hash under its bucket's factor. The number of places is a power of two of at most 2²⁰.
#[inline(always)]
fn place(hash: u64, factor: u32, places: usize) -> usize {
    bucket(hash.wrapping_mul(factor as u64), places)
}

/// Place of a hash under the factors of all buckets. Both lengths are powers of two.
#[inline(always)]
pub fn find(hash: u64, factors: &[u32], places: usize) -> usize {
    place(hash, factors[bucket(hash, factors.len())], places)
}

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xff51_afd7_ed55_8ccd;
const C: u64 = 0x94d0_49bb_1331_11eb;

#[inline(always)]
fn word(text: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*text[at..].first_chunk().expect("eight bytes"))
}

#[inline(always)]
fn half(text: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(*text[at..].first_chunk().expect("four bytes")).into()
}

#[inline(always)]
fn pair(text: &[u8], at: usize) -> u64 {
    u16::from_le_bytes(*text[at..].first_chunk().expect("two bytes")).into()
}

/// Folds the 128-bit product into 64 bits.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Result of [`build`]; both lengths are powers of two.
#[cfg(feature = "write")]
#[derive(Debug)]
pub struct Places {
    /// Factor of each bucket.
    pub factors: Vec<u32>,
    /// Index of the text in each place; [`EMPTY`] if the place is free.
    pub places: Vec<u16>,
}

/// Marks a free place.
pub const EMPTY: u16 = u16::MAX;

#[cfg(feature = "write")]
/// Number of factors tried for each bucket.
const TRIES: u32 = 1 << 14;

/// Assigns a place to every text; the id of a text is its index.
///
/// # Panics
///
/// If two texts have the same hash, so that no factor separates them: for a table of maximum size the probability is
/// 10⁻¹⁰.
#[cfg(feature = "write")]
pub fn build(texts: &[&str]) -> Places {
    let hashes: Vec<u64> = texts.iter().map(|text| Key::of(text.as_bytes()).hash()).collect();
    let mut sorted = hashes.clone();
    sorted.sort_unstable();
    assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "two mnemonics have one hash");
    let buckets = (texts.len() / 3).next_power_of_two();
    let mut places = (texts.len() + 1).next_power_of_two();
    loop {
        if let Some(found) = try_build(&hashes, buckets, places) {
            return found;
        }
        places *= 2;
    }
}

#[cfg(feature = "write")]
fn try_build(hashes: &[u64], buckets: usize, size: usize) -> Option<Places> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); buckets];
    for (id, hash) in hashes.iter().enumerate() {
        members[bucket(*hash, buckets)].push(id);
    }
    let mut order: Vec<usize> = (0..buckets).collect();
    order.sort_by_key(|index| core::cmp::Reverse(members[*index].len()));
    let mut places = vec![EMPTY; size];
    let mut factors = vec![1; buckets];
    for index in order {
        let ids = &members[index];
        let spots = |factor| ids.iter().map(move |id| place(hashes[*id], factor, size));
        factors[index] = (0..TRIES).map(factor).find(|factor| {
            let free = spots(*factor).all(|spot| places[spot] == EMPTY);
            free && spots(*factor).enumerate().all(|(i, spot)| spots(*factor).take(i).all(|other| other != spot))
        })?;
        for (id, spot) in ids.iter().zip(spots(factors[index])) {
            places[spot] = *id as u16;
        }
    }
    Some(Places { factors, places })
}

#[cfg(feature = "write")]
/// Odd factor for an attempt; spreads the low bits of a hash upward.
fn factor(number: u32) -> u32 {
    (number + 1).wrapping_mul(0x9e37_79b9) | 1
}
