//! Tensor memory of a block.

use std::prelude::rust_2024::*;
use std::vec;

use ptx_isa::matrix::tensor::{COLUMNS, LANES, TensorMemory};

/// Columns that are allocated together.
const UNIT: usize = 32;

/// The cells of a block's tensor memory, with what is allocated.
#[derive(Clone, Debug)]
pub(crate) struct TensorCells {
    words: Vec<u32>,
    /// Of each unit of columns, whether it is allocated, and how many units the allocation has that begins there.
    taken: [bool; COLUMNS / UNIT],
    first: [usize; COLUMNS / UNIT],
}

impl TensorCells {
    pub(crate) fn new() -> TensorCells {
        TensorCells { words: vec![0; LANES * COLUMNS], taken: [false; COLUMNS / UNIT], first: [0; COLUMNS / UNIT] }
    }

    /// Allocates columns and returns the first; `None` if there are not enough contiguous free columns.
    pub(crate) fn allocate(&mut self, columns: usize) -> Option<usize> {
        let count = columns / UNIT;
        let first = (0..=self.taken.len().checked_sub(count)?)
            .step_by(count.max(1))
            .find(|first| !self.taken[*first..first + count].contains(&true))?;
        self.taken[first..first + count].fill(true);
        self.first[first] = count;
        Some(first * UNIT)
    }

    /// Frees columns; returns false if they were not allocated together.
    pub(crate) fn free(&mut self, column: usize, columns: usize) -> bool {
        let (first, count) = (column / UNIT, columns / UNIT);
        let found = column.is_multiple_of(UNIT) && count > 0 && self.first.get(first) == Some(&count);
        if found {
            self.taken[first..first + count].fill(false);
            self.first[first] = 0;
        }
        found
    }
}

impl TensorMemory for TensorCells {
    fn get(&self, lane: usize, column: usize) -> Option<u32> {
        let taken = lane < LANES && self.taken.get(column / UNIT) == Some(&true);
        taken.then(|| self.words[lane * COLUMNS + column])
    }

    fn set(&mut self, lane: usize, column: usize, bits: u32) -> bool {
        let taken = self.get(lane, column).is_some();
        if taken {
            self.words[lane * COLUMNS + column] = bits;
        }
        taken
    }
}
