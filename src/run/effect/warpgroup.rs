//! Products of warpgroups.

use std::mem;
use std::prelude::rust_2024::*;
use std::vec;

use ptx_isa::matrix::Metadata;
use ptx_isa::matrix::group::Side;

use super::super::block::{Block, Entry, GROUP};
use super::super::decode::Cell;
use super::super::decode::tensor::{Group, Left};
use super::super::error::{Error, ErrorKind};
use super::Guard;

impl Block<'_> {
    /// Computes a product of each warpgroup of an entry.
    pub(super) fn group(&mut self, entry: &Entry, guard: Guard, group: &Group) -> Result<(), Error> {
        for first in (0..entry.masks.len()).step_by(GROUP) {
            let warps = first..first + GROUP;
            let mask = |warp: usize| entry.masks.get(warp).map_or(0, |mask| self.guarded(warp, *mask, guard));
            if warps.clone().all(|warp| mask(warp) == 0) {
                continue;
            }
            if let Some(warp) = warps.clone().find(|warp| mask(*warp) != u32::MAX) {
                let warp = warp.min(entry.masks.len() - 1);
                let message = "all four warps of a warpgroup must execute this instruction together";
                return Err(self.error(entry.at, warp, 0, Error::new(ErrorKind::Convergence, message)));
            }
            let mut scratch = mem::take(&mut self.scratch);
            let one = |cell: Option<Cell>| cell.map_or(0, |cell| self.get(first, 0, cell));
            let side = |index: usize, word: Cell| Side {
                word: one(Some(word)),
                negative: (one(group.signs[index]) as i32) < 0,
                transposed: one(group.transposed[index]) != 0,
            };
            let read = |offset: u64, bytes: u8| self.shared_bytes(self.rank, offset, bytes);
            let fail = |message: String| self.error(entry.at, first, 0, Error::new(ErrorKind::Access, message));
            let product = &group.product;
            let right = product.right(side(1, group.right), &read).map_err(fail)?;
            let keep = one(Some(group.keep)) & 1 != 0;
            let mut results = Vec::new();
            for warp in warps {
                let words = |cells: &[Cell]| {
                    let mut words = vec![0; 32 * cells.len()];
                    self.registers(warp, cells, &mut words);
                    words
                };
                let left = match &group.left {
                    Left::Held(cells) => product.held(&words(cells), (one(group.signs[0]) as i32) < 0),
                    Left::Shared(word) => product.left(side(0, *word), warp - first, &read).map_err(fail)?,
                };
                let metadata = group.metadata.map(|cells| self.held(warp, &cells));
                let metadata =
                    metadata.as_ref().map(|held| Metadata { register: &held[0], selector: held[1][0] as u8 });
                results.push(product.multiply(&left, &right, &words(&group.to), keep, metadata, &mut scratch));
            }
            self.scratch = scratch;
            for (warp, d) in results.iter().enumerate() {
                self.set_registers(first + warp, &group.to, d);
            }
        }
        Ok(())
    }
}
