//! Matrices whose elements lie as vectors take them: those of sixteen rows that are in one column together.

use alloc::vec;
use alloc::vec::Vec;

use super::{Format, Number};

/// Rows of a panel.
pub(crate) const TILE: usize = 16;

/// A value for each of them.
pub(crate) type Tile<T> = [T; TILE];

/// The bits of the elements of a matrix: panels of sixteen rows, each of which has its elements column by column.
#[derive(Clone, Debug)]
pub(crate) struct Panels {
    tiles: Vec<Tile<u32>>,
    rows: usize,
    columns: usize,
}

impl Panels {
    /// A matrix of zeros.
    pub(crate) fn new(rows: usize, columns: usize) -> Panels {
        Panels::of(vec![[0; TILE]; rows.div_ceil(TILE) * columns], rows, columns)
    }

    /// The matrix that has these tiles.
    pub(crate) fn of(tiles: Vec<Tile<u32>>, rows: usize, columns: usize) -> Panels {
        debug_assert_eq!(tiles.len(), rows.div_ceil(TILE) * columns, "a tile for each column of each panel");
        Panels { tiles, rows, columns }
    }

    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) const fn columns(&self) -> usize {
        self.columns
    }

    /// The tiles, panel by panel; those of the last one may have more rows than the matrix has.
    pub(crate) fn tiles(&self) -> &[Tile<u32>] {
        &self.tiles
    }

    pub(crate) fn into_tiles(self) -> Vec<Tile<u32>> {
        self.tiles
    }

    pub(crate) fn get(&self, row: usize, column: usize) -> u32 {
        self.tiles[row / TILE * self.columns + column][row % TILE]
    }

    pub(crate) fn set(&mut self, row: usize, column: usize, bits: u32) {
        self.tiles[row / TILE * self.columns + column][row % TILE] = bits;
    }

    /// A function of each element.
    pub(crate) fn map(mut self, of: impl Fn(u32) -> u32) -> Panels {
        self.tiles.as_flattened_mut().iter_mut().for_each(|bits| *bits = of(*bits));
        self
    }
}

/// Elements of a factor of a product.
#[derive(Clone, Debug)]
pub struct Elements {
    /// Their bits, without padding.
    pub(crate) words: Panels,
    pub(crate) format: Format,
    /// True if they are negated.
    pub(crate) negative: bool,
}

impl Elements {
    /// The number that an element represents.
    pub(crate) fn number(&self, row: usize, column: usize) -> Number {
        self.format.decode(self.words.get(row, column).into()).signed(self.negative)
    }
}
