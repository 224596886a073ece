//! How tensor copies go through a tensor: which bytes of it are which of shared memory.

use std::prelude::rust_2024::*;
use std::{format, vec};

use ptx_isa::table::Traversal;

use super::{Fields, PADDED, TensorElement};

/// Maximum size in bytes of a box that is traversed: more than the shared memory of any block.
const MOST: u64 = 1 << 20;

/// Bytes that are adjacent both in a tensor and in shared memory before the permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Offset in shared memory.
    pub shared: u64,
    /// Address of the tensor's bytes; nothing out of bounds.
    pub tensor: Option<u64>,
    pub bytes: u64,
}

/// A part of a tensor.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub lines: Vec<Line>,
    /// Bytes that are moved.
    pub moved: u64,
    /// Bytes of shared memory that the part takes.
    pub extent: u64,
}

impl Fields {
    /// The part of the tensor that starts at some coordinates; `offsets` are those of columns.
    pub(crate) fn part(&self, mode: Traversal, at: &[i32], offsets: &[u16], stores: bool) -> Result<Part, String> {
        let rows = mode == Traversal::Rows;
        let rank = if rows { at.len() - 3 } else { at.len() };
        if rank != self.rank {
            return Err(format!(
                "the instruction is for tensors of {rank} dimensions, and the tensor map has {}",
                self.rank
            ));
        }
        let columns = !matches!(mode, Traversal::Tile | Traversal::Rows);
        if columns != (self.mode == 1) {
            let names = ["tiled", "im2col"];
            let (own, other) = (names[usize::from(columns)], names[usize::from(!columns)]);
            return Err(format!("the instruction needs a tensor map in {own} mode, not in {other} mode"));
        }
        if self.slice().is_some() && !matches!(mode, Traversal::Tile | Traversal::Columns) {
            return Err("interleaved tensors are copied in tiled and im2col mode only".into());
        }
        if stores && !columns && at.iter().any(|coordinate| *coordinate < 0) {
            return Err(format!("the coordinates {at:?} of a copy to a tensor are negative"));
        }
        let element = self.element();
        if self.slice().is_none() && i64::from(at[0]) * i64::from(element.bits()) % 128 != 0 {
            return Err(format!("the coordinate {} of dimension 0 is not at a multiple of 16 bytes", at[0]));
        }
        if element.padded() {
            if stores && element == TensorElement::B4x16P64 {
                return Err(format!("elements of the type {} are copied to shared memory only", element.name()));
            }
            if at[0] % PADDED as i32 != 0 {
                return Err(format!("the coordinate {} is not a multiple of {PADDED}", at[0]));
            }
        }
        if !columns {
            let count: u64 = (0..self.rank).map(|axis| u64::from(self.count(axis))).product();
            let size = self.slice().map_or(element.shared_bytes(count), |slice| slice * count);
            if size > MOST {
                return Err(format!("the box has {size} bytes, more than the shared memory of a block"));
            }
        }
        let at: Vec<i64> = at.iter().copied().map(i64::from).collect();
        let mut part = Part::default();
        match mode {
            Traversal::Tile => self.tile(&at, &mut part),
            Traversal::Rows => {
                if self.tile[1] != 1 {
                    return Err(format!(
                        "the box has {} rows; four rows of a tensor are boxes of one row each",
                        self.tile[1]
                    ));
                }
                at[1..].iter().for_each(|row| self.line(&[at[0], *row], &mut part));
            }
            _ => self.columns(mode, &at, offsets, stores, &mut part)?,
        }
        Ok(part)
    }

    /// The first dimension that lines are taken along: a line is a row of elements, or a slice of channels.
    pub(super) fn outer(&self) -> usize {
        usize::from(self.slice().is_none())
    }

    /// Size of the box in a dimension: one slice of channels.
    fn count(&self, axis: usize) -> u16 {
        if self.slice().is_some() && axis + 2 == self.rank { 1 } else { self.tile[axis] }
    }

    fn tile(&self, at: &[i64], part: &mut Part) {
        let mut index = vec![0_i64; at.len()];
        loop {
            let place: Vec<i64> = (0..at.len()).map(|axis| at[axis] + index[axis]).collect();
            self.line(&place, part);
            let mut axis = self.outer();
            loop {
                let Some(own) = index.get_mut(axis) else { return };
                *own += i64::from(self.steps[axis]);
                if *own < i64::from(self.count(axis)) {
                    break;
                }
                *own = 0;
                axis += 1;
            }
        }
    }

    fn columns(
        &self,
        mode: Traversal,
        at: &[i64],
        offsets: &[u16],
        stores: bool,
        part: &mut Part,
    ) -> Result<(), String> {
        if mode == Traversal::Columns {
            self.check_corners(false)?;
        }
        let (images, outer) = (at.len() - 1, self.outer());
        let mut count = self.tile[1];
        let (mut shift, mut base) = (vec![0; at.len()], at.to_vec());
        let (mut lower, mut upper) = (self.lower.map(i64::from), self.upper.map(i64::from));
        // The dimensions that pixels are taken along.
        let mut along = outer..outer + at.len() - 2;
        if mode == Traversal::Columns {
            offsets.iter().enumerate().for_each(|(axis, offset)| shift[axis + outer] = i64::from(*offset));
        } else {
            along = 1..2;
            if let [halo, offset] = *offsets {
                if halo != 0 {
                    return Err(format!("a halo of {halo} pixels cannot be copied: its order is not documented"));
                }
                let offset = i64::from(offset);
                (lower[0], upper[0], base[1]) = (lower[0] + offset, upper[0] + offset, base[1] + offset);
            }
            if mode == Traversal::Row128 {
                count = 128;
            }
        }
        let first = |axis: usize| lower[axis - outer];
        let last = |axis: usize| i64::from(self.sizes[axis]) - 1 + upper[axis - outer];
        for axis in along.clone() {
            let left = mode != Traversal::Columns || base[axis] >= first(axis);
            if !left || base[axis] > last(axis) || first(axis) > last(axis) {
                return Err(format!(
                    "the coordinate {} of dimension {axis} is not in the bounding box from {} to {}",
                    base[axis],
                    first(axis),
                    last(axis)
                ));
            }
            if stores && (first(axis) < 0 || upper[axis - outer] > 0) {
                return Err("the bounding box of a copy to a tensor goes beyond it".into());
            }
        }
        for _ in 0..count {
            let place: Vec<i64> = base.iter().zip(&shift).map(|(base, shift)| base + shift).collect();
            self.line(&place, part);
            let mut carry = true;
            for axis in along.clone() {
                if carry {
                    base[axis] += i64::from(self.steps[axis]);
                    carry = base[axis] > last(axis);
                    if carry {
                        base[axis] = first(axis);
                    }
                }
            }
            base[images] += i64::from(carry) * i64::from(self.steps[images]);
        }
        Ok(())
    }

    /// A row of the box, or the channels of a pixel.
    fn line(&self, place: &[i64], part: &mut Part) {
        if let Some(bytes) = self.slice() {
            let inside = place.iter().zip(&self.sizes).all(|(at, size)| (0..i64::from(*size)).contains(at));
            let tensor = inside.then(|| self.address_of(place, bytes));
            part.lines.push(Line { shared: part.extent, tensor, bytes });
            part.moved += bytes;
            part.extent += bytes;
            return;
        }
        let bits = i64::from(self.element().bits());
        let bytes = |elements: i64| (elements * bits / 8) as u64;
        let count = i64::from(self.tile[0]);
        let inside = place.iter().zip(&self.sizes).skip(1).all(|(at, size)| (0..i64::from(*size)).contains(at));
        let (mut from, mut to) = (place[0].max(0), (place[0] + count).min(self.sizes[0].into()));
        if !inside || from >= to {
            (from, to) = (place[0], place[0]);
        }
        let row = self.address_of(place, 0);
        let (start, element) = (part.extent, self.element());
        let mut push = |from: i64, to: i64, inside: bool| {
            // Elements with padding behind them are adjacent by 16.
            let adjacent = if element.padded() { 16 } else { (to - from).max(1) };
            for at in (from..to).step_by(adjacent as usize) {
                let shared = start + element.shared_bytes((at - place[0]) as u64);
                let tensor = inside.then(|| row.wrapping_add(bytes(at)));
                part.lines.push(Line { shared, tensor, bytes: bytes(adjacent) });
            }
        };
        push(place[0], from, false);
        push(from, to, true);
        push(to, place[0] + count, false);
        part.moved += bytes(count);
        part.extent += self.span().unwrap_or(element.shared_bytes(count as u64));
    }

    /// Address of a place, given the stride of the first dimension.
    fn address_of(&self, place: &[i64], first: u64) -> u64 {
        let strides = [first].into_iter().chain(self.strides);
        place
            .iter()
            .zip(strides)
            .fold(self.address, |sum, (at, stride)| sum.wrapping_add((*at as u64).wrapping_mul(stride)))
    }
}
