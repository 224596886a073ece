//! Moves of matrix elements between words: of the registers of a warp, of lines in memory, and of panels.

use alloc::vec;
use alloc::vec::Vec;

use super::{Holder, Layout};
use crate::eval::product::{TILE, Tile};
use crate::lanes::{Kernel, Level, Simd, gather};

/// Location of an element: bits of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Index of the word.
    pub word: usize,
    /// Lowest bit in it.
    pub bit: u32,
}

impl Holder {
    /// Returns its place in the words of the registers of a warp: that of lane `l` in register `r` is word `32·r + l`.
    pub fn place(self) -> Place {
        Place { word: self.index(), bit: self.bit.into() }
    }
}

/// One element for each word of a tile.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Part {
    from: Tile<u32>,
    /// How far its word is rotated to the right.
    rotate: Tile<u32>,
    /// Its bits in the result; none where there is no element.
    mask: Tile<u32>,
    /// True if all are in the words that the part before it reads.
    again: bool,
}

/// The moves that make words of the elements of others.
#[derive(Clone, Debug)]
pub struct Moves {
    pub(super) level: Level,
    parts: Vec<Part>,
    /// Number of parts of a tile.
    count: usize,
}

impl Moves {
    /// Returns the moves of elements of `bits` bits, each from one place to another. The result has `words` words; bits to which nothing
    /// moves are zero.
    pub fn new(words: usize, bits: u32, elements: impl Iterator<Item = (Place, Place)>) -> Moves {
        let mut of: Vec<Vec<(Place, u32)>> = vec![Vec::new(); words.next_multiple_of(TILE)];
        for (from, to) in elements {
            of[to.word].push((from, to.bit));
        }
        let count = of.iter().map(Vec::len).max().unwrap_or(0);
        let mut parts: Vec<Part> = Vec::with_capacity(of.len() / TILE * count);
        for tile in of.as_chunks::<TILE>().0 {
            for index in 0..count {
                let mut part = Part { from: [0; TILE], rotate: [0; TILE], mask: [0; TILE], again: false };
                for (lane, elements) in tile.iter().enumerate() {
                    let Some((from, bit)) = elements.get(index) else { continue };
                    part.from[lane] = from.word as u32;
                    part.rotate[lane] = from.bit.wrapping_sub(*bit) % u32::BITS;
                    part.mask[lane] = (u32::MAX >> (u32::BITS - bits)) << bit;
                }
                part.again = parts.last().is_some_and(|last| last.from == part.from);
                parts.push(part);
            }
        }
        Moves { level: Level::best(), parts, count: count.max(1) }
    }

    /// Makes a range of tiles.
    ///
    /// # Panics
    ///
    /// If a place is beyond the words.
    fn tiles(&self, tiles: core::ops::Range<usize>, from: &[u32], to: &mut [Tile<u32>]) {
        let parts = &self.parts[tiles.start * self.count..tiles.end * self.count];
        let ran = self.level.run(Make { parts, count: self.count, from, to });
        if ran.is_none() {
            Make { parts, count: self.count, from, to }.make(gather);
        }
    }

    /// Makes words of others.
    ///
    /// # Panics
    ///
    /// If there are fewer than they need, or than they make.
    pub fn apply(&self, from: &[u32], to: &mut [u32]) {
        let count = self.parts.len() / self.count;
        self.tiles(0..count, from, &mut to.as_chunks_mut().0[..count]);
    }

    /// Number of words that are made: as many as were asked for, or up to 15 more.
    pub fn words(&self) -> usize {
        self.parts.len() / self.count * TILE
    }
}

struct Make<'m> {
    parts: &'m [Part],
    count: usize,
    from: &'m [u32],
    to: &'m mut [Tile<u32>],
}

impl Make<'_> {
    #[inline(always)]
    fn make(self, gather: impl Fn(&[u32], &Tile<u32>) -> Tile<u32>) {
        let mut words = [0; TILE];
        for (to, parts) in self.to.iter_mut().zip(self.parts.chunks_exact(self.count)) {
            let mut tile = [0; TILE];
            for part in parts {
                if !part.again {
                    words = gather(self.from, &part.from);
                }
                for lane in 0..TILE {
                    tile[lane] |= words[lane].rotate_right(part.rotate[lane]) & part.mask[lane];
                }
            }
            *to = tile;
        }
    }
}

impl Kernel for Make<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Simd>(self, simd: L) {
        self.make(
            #[inline(always)]
            |words, places| simd.gather(words, places),
        );
    }
}

/// Moves between the registers of a fragment and its matrices in panels, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) moves: Moves,
    /// Tiles of a matrix.
    size: usize,
}

impl Fragment {
    /// From registers to panels, without the zero bits below elements of `bits` bits.
    pub(super) fn reading(layout: &Layout, bits: u32, padding: u32) -> Fragment {
        let size = size(layout);
        let elements = elements(layout).map(|(from, to)| (Place { bit: from.bit + padding, ..from }, to));
        Fragment { moves: Moves::new(layout.matrices * size * TILE, bits, elements), size }
    }

    /// From panels to registers.
    pub(super) fn writing(layout: &Layout) -> Fragment {
        let moved = elements(layout).map(|(register, panel)| (panel, register));
        Fragment { moves: Moves::new(layout.registers * 32, layout.bits, moved), size: size(layout) }
    }

    /// The tiles of a matrix, in memory that had others.
    pub(super) fn read(&self, matrix: usize, registers: &[u32], mut tiles: Vec<Tile<u32>>) -> Vec<Tile<u32>> {
        tiles.resize(self.size, [0; TILE]);
        self.moves.tiles(matrix * self.size..(matrix + 1) * self.size, registers, &mut tiles);
        tiles
    }

    /// Sets the registers that hold all matrices.
    pub(super) fn write(&self, tiles: &[Tile<u32>], registers: &mut [u32]) {
        self.moves.apply(tiles.as_flattened(), registers);
    }
}

fn size(layout: &Layout) -> usize {
    layout.rows.div_ceil(TILE) * layout.columns
}

/// Each element in its register, and in its panel.
fn elements(layout: &Layout) -> impl Iterator<Item = (Place, Place)> {
    layout.holders.iter().enumerate().map(|(index, holder)| {
        let [matrix, row, column] =
            [index / layout.size(), index / layout.columns % layout.rows, index % layout.columns];
        let tile = matrix * size(layout) + row / TILE * layout.columns + column;
        (holder.place(), Place { word: tile * TILE + row % TILE, bit: 0 })
    })
}
