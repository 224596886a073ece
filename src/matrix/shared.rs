//! Matrices in shared memory that a word describes: where their elements are, with strides and swizzling.

use alloc::string::{String, ToString};
use core::ops::Range;

use isa_table::matrix::BitLayout;

use crate::eval::product::{Elements, Format, Panels};

/// Reads up to four bytes of shared memory at an offset; `None` if the block does not have them.
pub type Reader<'r> = &'r dyn Fn(u64, u8) -> Option<u64>;

/// Bytes of the units that swizzling permutes.
pub(super) const UNIT: usize = 16;

/// A matrix in shared memory, as a word describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMatrix {
    /// Offset of the first element in bytes.
    pub start: u64,
    /// Distance between units, or between swizzled rows of units, in bytes.
    pub leading: u64,
    /// Distance between groups of eight rows in bytes.
    pub stride: u64,
    /// Start of the swizzling pattern, in units of 128 bytes.
    pub base: u64,
    /// Bytes of a swizzled row; 16 without swizzling.
    pub row: usize,
    /// True if pairs of units are permuted.
    pub pairs: bool,
    /// True if `leading` is the offset where swizzled rows go on that would be longer.
    pub absolute: bool,
}

/// How the elements of a matrix are stored.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Their format.
    pub format: Format,
    /// Number of elements in 16 bytes.
    pub unit: usize,
    /// Width in bits; elements with fewer bits than a byte are packed from the lowest bit of the 16 bytes on.
    pub width: u32,
    /// True if units extend along the rows or columns of the result, not along the sums.
    pub transposed: bool,
    /// True if elements are negated.
    pub negative: bool,
}

impl Stored {
    /// Returns how elements are stored; those of less than a byte are two in a byte if they are `packed`, and one
    /// otherwise.
    pub fn new(format: Format, packed: bool) -> Stored {
        let container = if packed || format.bits < 4 { format.bits } else { format.bits.next_power_of_two().max(8) };
        let unit = 8 * UNIT / container as usize;
        Stored { format, unit, width: format.bits, transposed: false, negative: false }
    }

    /// Elements of this format, which are zero.
    pub(super) fn elements(&self, rows: usize, columns: usize) -> Elements {
        Elements { words: Panels::new(rows, columns), format: self.format, negative: self.negative }
    }
}

impl SharedMatrix {
    /// Returns the matrix that a word describes, whose fields have the names `start`, `leading_distance`,
    /// `stride_distance`, `base_offset` and `swizzle`.
    ///
    /// # Errors
    ///
    /// If the word has a swizzling mode or another mode that is not known.
    pub fn new(layout: &BitLayout, word: u64) -> Result<SharedMatrix, String> {
        let field = |name: &str| layout.get(name, word).unwrap_or(0);
        let all = layout.get("swizzle", u64::MAX).unwrap_or(0);
        // Three bits have two modes between those that two bits have.
        let mode = field("swizzle");
        let (row, pairs) = match if all == 7 { mode } else { 2 * mode } {
            0 => (UNIT, false),
            1 => (128, true),
            2 => (128, false),
            4 => (64, false),
            6 => (32, false),
            _ => return Err("a matrix descriptor has an invalid swizzling mode".to_string()),
        };
        let absolute = field("leading_mode") != 0;
        if absolute && (row, pairs) != (128, false) {
            return Err("a matrix descriptor with an absolute leading dimension needs 128-byte swizzling".to_string());
        }
        let bytes = |name| field(name) * UNIT as u64;
        let (start, leading, stride) = (bytes("start"), bytes("leading_distance"), bytes("stride_distance"));
        Ok(SharedMatrix { start, leading, stride, base: field("base_offset"), row, pairs, absolute })
    }

    /// Returns the offset of the byte and the bit in it where an element is: of a row or column of the result, and
    /// of a place in the sums.
    pub fn place(&self, stored: Stored, line: usize, place: usize) -> (u64, u32) {
        let (inner, outer) = if stored.transposed { (line, place) } else { (place, line) };
        let (unit, within) = (inner / stored.unit, inner % stored.unit);
        let (units, plain) = (self.row / UNIT, self.row == UNIT);
        let high = if self.pairs { 4 } else { 8 };
        let (group, row) = ((outer / high) as u64, (outer % high * self.row) as u64);
        let bytes = |unit: usize| (unit * UNIT) as u64;
        let offset = match (stored.transposed, plain) {
            (false, true) => row + group * self.stride + unit as u64 * self.leading,
            (false, false) => (row + group * self.stride + bytes(unit)).wrapping_add(self.beyond(bytes(unit))),
            (true, true) => row + group * self.leading + unit as u64 * self.stride,
            (true, false) => row + group * self.stride + bytes(unit % units) + (unit / units) as u64 * self.leading,
        };
        let bit = within as u32 * stored.width;
        let at = self.start.wrapping_add(offset).wrapping_add(u64::from(bit / 8));
        let pattern = (at >> 7).wrapping_sub(self.base);
        let swizzled = match self.pairs {
            true => at ^ (pattern & 3) << 5,
            false => at ^ (pattern & (units as u64 - 1)) << 4,
        };
        (swizzled, bit % 8)
    }

    /// The distance to add where `bytes` from the start lie behind the end of a swizzled row that continues elsewhere.
    fn beyond(&self, bytes: u64) -> u64 {
        let (along, row) = (self.start % self.row as u64 + bytes, self.row as u64);
        let next = self.absolute && along >= row;
        if next { self.leading.wrapping_sub(self.start - self.start % row + row) } else { 0 }
    }

    /// Reads lines of `length` elements. A function takes each: its line, counted from the first one, its place, and its bits.
    ///
    /// # Errors
    ///
    /// Offset of the first element that lies outside of shared memory.
    pub fn read(
        &self,
        stored: Stored,
        lines: Range<usize>,
        length: usize,
        read: Reader<'_>,
        mut each: impl FnMut(usize, usize, u32),
    ) -> Result<(), u64> {
        let mask = u32::MAX >> (32 - stored.format.bits);
        for (to, line) in lines.enumerate() {
            for place in 0..length {
                let (at, bit) = self.place(stored, line, place);
                let bytes = (bit + stored.width).div_ceil(8).next_power_of_two() as u8;
                // Elements that lie in two bytes need not be aligned.
                let word = match bytes {
                    2 if bit != 0 => read(at, 1).and_then(|low| Some(low | read(at + 1, 1)? << 8)),
                    bytes => read(at, bytes),
                };
                each(to, place, (word.ok_or(at)? >> bit) as u32 & mask);
            }
        }
        Ok(())
    }
}
