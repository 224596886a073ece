//! Products of whole matrices of integers: exact sums by the machine's dot products of bytes.

#![allow(clippy::needless_range_loop, reason = "loops over the lanes of several arrays become vectors")]

use alloc::vec::Vec;
use core::mem;

use super::panels::{Elements, Panels, TILE, Tile};
use super::{Format, Scratch};
use crate::lanes::{Kernel, Level, Simd};

/// Elements in a word.
const BYTES: usize = 4;

/// Longest sum of products of bytes that has 32 bits in any case, as have all parts of it.
const LONGEST: usize = 1 << 14;

/// Difference of a signed byte and the unsigned one with another highest bit.
const BIAS: i32 = 128;

/// A product of two matrices of integers, `a × b + c` in 32 bits.
#[derive(Debug)]
pub(crate) struct MultiplyIntegers<'m> {
    pub a: &'m Elements,
    pub b: &'m Elements,
    pub c: &'m Panels,
    /// True if bits are combined by XOR rather than multiplied.
    pub xor: bool,
    /// True if sums are clamped rather than wrapped.
    pub clamps: bool,
    pub scratch: &'m mut Scratch,
}

/// Memory of products of integers.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// Unsigned bytes of a panel of the first factor, four places of a row in each word.
    rows: Vec<Tile<u32>>,
    /// Signed bytes of the second factor, four places of a column in each word, column by column.
    columns: Vec<u32>,
    /// Sum of the elements of each column.
    of_columns: Vec<i32>,
    /// Sums of products of bytes, for each column.
    sums: Vec<Tile<u32>>,
}

impl MultiplyIntegers<'_> {
    /// Computes the product; `None` if the level has no vectors, or elements are wider than a byte.
    pub(crate) fn run(self, level: Level) -> Option<Panels> {
        let (length, [a, b]) = (self.b.words.rows(), [self.a, self.b]);
        let fits = [a, b].iter().all(|factor| factor.format.bits <= u8::BITS && !factor.format.is_float())
            && length.is_multiple_of(BYTES)
            && length <= LONGEST;
        fits.then(|| level.run(self)).flatten()
    }
}

impl Kernel for MultiplyIntegers<'_> {
    type Output = Panels;

    /// With unsigned bytes `u = a + α` and signed ones `s = b - β`, `∑ a·b = ∑ u·s + β·∑ u - α·∑ b`. The XOR of bits is
    /// `a·(1 - 2·b) + b`.
    #[inline(always)]
    fn run<L: Simd>(self, simd: L) -> Panels {
        let MultiplyIntegers { a, b, c, xor, clamps, scratch } = self;
        let (rows, columns, length) = (a.words.rows(), b.words.columns(), b.words.rows());
        let Scratch { words: Words { rows: words, columns: others, of_columns, sums }, d, .. } = scratch;
        let (alpha, beta) = (if a.format.signed { BIAS } else { 0 }, if fits_signed(&b.format) { 0 } else { BIAS });
        pack_columns(b, if xor { (-2, 1) } else { (1, -beta) }, others, of_columns);
        let of_column = i32::from(xor) - alpha;
        let negative = a.negative != b.negative;
        let mut bits = mem::take(d);
        bits.resize(c.tiles().len(), [0; TILE]);
        sums.resize(columns, [0; TILE]);
        for (panel, tiles) in a.words.tiles().chunks_exact(length).enumerate() {
            let of_row = pack_rows(tiles, &a.format, alpha, words);
            simd.dot_bytes(words, others, sums);
            for column in 0..columns {
                let (c, bits) = (&c.tiles()[panel * columns + column], &mut bits[panel * columns + column]);
                let (sums, constant) = (&sums[column], of_column * of_columns[column]);
                for lane in 0..TILE {
                    let sum = sums[lane].cast_signed() + of_row[lane] * beta + constant;
                    let (c, sum) = (c[lane].cast_signed(), if negative { -sum } else { sum });
                    bits[lane] = if clamps { c.saturating_add(sum) } else { c.wrapping_add(sum) }.cast_unsigned();
                }
            }
        }
        Panels::of(bits, rows, columns)
    }
}

/// Returns true if integers of a format fit in a signed byte.
const fn fits_signed(format: &Format) -> bool {
    format.signed || format.bits < u8::BITS
}

/// The integer that the low bits of a word represent.
#[inline(always)]
fn integer(format: &Format, word: u32) -> i32 {
    let above = 32 - format.bits;
    match format.signed {
        true => (word << above).cast_signed() >> above,
        false => (word << above >> above).cast_signed(),
    }
}

/// Sets the words of a panel of the first factor: bytes of elements to which `bias` is added. Returns the sum of those of each row.
#[inline(always)]
fn pack_rows(tiles: &[Tile<u32>], format: &Format, bias: i32, words: &mut Vec<Tile<u32>>) -> Tile<i32> {
    let mut sums = [0; TILE];
    words.clear();
    for tiles in tiles.chunks_exact(BYTES) {
        let mut word = [0; TILE];
        for place in 0..BYTES {
            for lane in 0..TILE {
                let byte = integer(format, tiles[place][lane]) + bias;
                sums[lane] += byte;
                word[lane] |= byte.cast_unsigned() << (u8::BITS as usize * place);
            }
        }
        words.push(word);
    }
    sums
}

/// Sets the words of the second factor, a linear function of its elements, and the sums of the elements of its columns.
#[inline(always)]
fn pack_columns(b: &Elements, (factor, constant): (i32, i32), words: &mut Vec<u32>, sums: &mut Vec<i32>) {
    let (columns, length) = (b.words.columns(), b.words.rows());
    words.clear();
    sums.clear();
    for column in 0..columns {
        let mut sum = [0; TILE];
        for (panel, start) in (0..length).step_by(TILE).enumerate() {
            let tile = &b.words.tiles()[panel * columns + column];
            // The last panel may have fewer places.
            let (left, mut bytes) = ((length - start).min(TILE), [0; TILE]);
            for lane in 0..TILE {
                let value = if lane < left { integer(&b.format, tile[lane]) } else { 0 };
                sum[lane] += value;
                bytes[lane] = (factor * value + constant) as u8;
            }
            for word in &bytes.as_chunks::<BYTES>().0[..left / BYTES] {
                words.push(u32::from_le_bytes(*word));
            }
        }
        sums.push(sum.iter().sum());
    }
}
