//! Tensor memory of a block.

use std::collections::VecDeque;
use std::prelude::rust_2024::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_isa::matrix::tensor::{COLUMNS, LANES, TensorMemory};

/// Columns that are allocated together.
const UNIT: usize = 32;

/// The cells of a block's tensor memory, with what is allocated.
#[derive(Debug, Default)]
pub(crate) struct TensorCells {
    /// None before the first allocation.
    words: Vec<u32>,
    /// Of each unit of columns, whether it is allocated, and how many units the allocation has that begins there.
    taken: [bool; COLUMNS / UNIT],
    first: [usize; COLUMNS / UNIT],
    /// Units that the other block of a pair allocated here, for which this one has not asked yet.
    reserved: VecDeque<usize>,
}

/// Tensor memory that the other block of a pair may reach for.
pub(crate) type SharedCells = Arc<Mutex<TensorCells>>;

/// Returns the cells; a panic of another thread leaves them as they are.
pub(crate) fn lock(cells: &Mutex<TensorCells>) -> MutexGuard<'_, TensorCells> {
    cells.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TensorCells {
    /// Frees all columns, and makes them zero.
    pub(crate) fn clear(&mut self) {
        if !self.words.is_empty() {
            *self = TensorCells::default();
        }
    }

    /// Allocates columns and returns the first; `None` if there are not enough contiguous free columns.
    pub(crate) fn allocate(&mut self, columns: usize) -> Option<usize> {
        let count = columns / UNIT;
        let first = self.free_units(count).next()?;
        self.take(first, count);
        Some(first * UNIT)
    }

    /// Number of columns that the other block of a pair allocated here in the earliest allocation for which this one has not asked yet.
    pub(crate) fn reserved(&self) -> Option<usize> {
        self.reserved.front().map(|first| self.first[*first] * UNIT)
    }

    /// Allocates the same columns in both blocks of a pair, unless the other block did so before, and returns the first; `None` if there are
    /// not enough contiguous columns free in both.
    pub(crate) fn allocate_pair(&mut self, other: &mut TensorCells, columns: usize) -> Option<usize> {
        let count = columns / UNIT;
        if let Some(first) = self.reserved.pop_front() {
            return Some(first * UNIT);
        }
        let first = self.free_units(count).find(|first| other.is_free(*first, count))?;
        self.take(first, count);
        other.take(first, count);
        other.reserved.push_back(first);
        Some(first * UNIT)
    }

    fn free_units(&self, count: usize) -> impl Iterator<Item = usize> {
        let starts = self.taken.len().checked_sub(count).map_or(0, |last| last + 1);
        (0..starts).step_by(count.max(1)).filter(move |first| self.is_free(*first, count))
    }

    fn is_free(&self, first: usize, count: usize) -> bool {
        !self.taken[first..first + count].contains(&true)
    }

    fn take(&mut self, first: usize, count: usize) {
        self.words.resize(LANES * COLUMNS, 0);
        self.taken[first..first + count].fill(true);
        self.first[first] = count;
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
