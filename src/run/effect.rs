//! Execution of effects on the lanes of a block, its memory, and the memory of the device.

mod access;
mod asynchronous;
mod call;
mod matrix;
mod races;
mod special;
mod tensor;
mod warpgroup;

use std::prelude::rust_2024::*;

use super::block::{Block, Entry, Flow};
use super::decode::{Action, BLOCK, Cell, PARAMETERS, RANK, THREAD, Where};
use super::error::{Error, ErrorKind};
use super::raw;

/// Mask of the offset in a window of generic addresses.
const OFFSET: u64 = u32::MAX as u64;

/// The part of a shared address that is an offset in the memory of a block.
const WITHIN: u64 = (1 << RANK) - 1;

type Guard = Option<(u32, bool)>;

impl Block<'_> {
    pub(crate) fn effect(&mut self, entry: &mut Entry, guard: Guard, action: &Action) -> Result<Flow, Error> {
        match action {
            Action::Read(access) => self.read(entry, guard, access)?,
            Action::Write(access) => self.write(entry, guard, access)?,
            Action::Update { access, .. } => {
                self.settle(entry, guard, action)?;
                // Only threads of one host thread see shared memory.
                let seen = access.place != Where::Block;
                if seen {
                    raw::order();
                }
                self.update(entry, guard, access, action)?;
                if seen {
                    raw::order();
                }
            }
            Action::CopyBytes(copy) => self.copy_bytes(entry, guard, copy)?,
            Action::Fence { acquires, releases } => {
                raw::order();
                self.fenced(entry, guard, *acquires, *releases);
            }
            // Addresses of the device are generic ones.
            Action::ToGeneric { place: Where::Device, at: Cell::Row(at), to: Cell::Row(to) }
            | Action::FromGeneric { place: Where::Device, at: Cell::Row(at), to: Cell::Row(to) }
                if at.bits == 64 && to.bits == 64 =>
            {
                for (warp, mask) in entry.masks.iter().enumerate() {
                    let mask = self.guarded(warp, *mask, guard);
                    let from = *self.warps.b64(warp, at.number);
                    let whole = mask == self.live[warp];
                    merge(self.warps.b64_mut(warp, to.number), &from, if whole { u32::MAX } else { mask });
                }
            }
            Action::ToGeneric { place, at, to } => {
                let window = match place {
                    Where::Block => BLOCK,
                    Where::Thread => THREAD,
                    Where::Parameters => PARAMETERS,
                    Where::Generic | Where::Device => 0,
                };
                self.each(entry, guard, |block, warp, lane| {
                    let value = block.get(warp, lane, *at);
                    // Addresses of global and constant memory are already generic.
                    block.set(warp, lane, *to, if window == 0 { value } else { window | value & OFFSET });
                });
            }
            Action::FromGeneric { place, at, to } => self.each(entry, guard, |block, warp, lane| {
                let value = block.get(warp, lane, *at);
                let inside = matches!(place, Where::Block | Where::Thread);
                block.set(warp, lane, *to, if inside { value & OFFSET } else { value });
            }),
            Action::IsInSpace { place, constant, at, to } => self.each(entry, guard, |block, warp, lane| {
                let address = block.get(warp, lane, *at);
                let window = address >> 48;
                let inside = match place {
                    Where::Block => window == BLOCK >> 48 && owner(address) == block.rank,
                    Where::Thread => window == THREAD >> 48,
                    // The window of kernel parameters lies within the global window.
                    Where::Device => {
                        (window == 0 || window == PARAMETERS >> 48) && block.launched.is_constant(address) == *constant
                    }
                    _ => window == PARAMETERS >> 48,
                };
                block.set(warp, lane, *to, inside.into());
            }),
            Action::IsInCluster { at, to } => self.each(entry, guard, |block, warp, lane| {
                let inside = block.get(warp, lane, *at) >> 48 == BLOCK >> 48;
                block.set(warp, lane, *to, inside.into());
            }),
            Action::MapToBlock { at, rank, to } => self.each(entry, guard, |block, warp, lane| {
                let (address, rank) = (block.get(warp, lane, *at), block.get(warp, lane, *rank));
                block.set(warp, lane, *to, in_block(address, rank));
            }),
            Action::RankOfBlock { at, to } => self.each(entry, guard, |block, warp, lane| {
                let rank = owner(block.get(warp, lane, *at));
                block.set(warp, lane, *to, rank as u64);
            }),
            Action::Reserve { size, alignment, to } => {
                for (warp, lane) in self.lanes(entry, guard) {
                    let thread = 32 * warp + lane;
                    let start = self.tops[thread].checked_next_multiple_of(*alignment).unwrap_or(u64::MAX);
                    self.tops[thread] = self.grown(entry.at, warp, lane, start, self.get(warp, lane, *size))?;
                    self.set(warp, lane, *to, start);
                }
            }
            Action::StackPointer { to } => self.each(entry, guard, |block, warp, lane| {
                let top = block.tops[32 * warp + lane];
                block.set(warp, lane, *to, top);
            }),
            Action::SetStackPointer { from } => self.each(entry, guard, |block, warp, lane| {
                block.tops[32 * warp + lane] = block.get(warp, lane, *from) & OFFSET;
            }),
            Action::Evaluate(computation) => self.each(entry, guard, |block, warp, lane| {
                let inputs: Vec<u128> =
                    computation.sources.iter().map(|cell| block.get_wide(warp, lane, *cell)).collect();
                let results = computation.evaluator.evaluate(&inputs);
                computation
                    .destinations
                    .iter()
                    .zip(&results[..])
                    .for_each(|(cell, value)| block.set_wide(warp, lane, *cell, *value));
            }),
            Action::Fold { change, values, to } => self.each(entry, guard, |block, warp, lane| {
                let mut applied = block.applied(warp, lane, change, false);
                let values = values.iter().map(|cell| block.get(warp, lane, *cell));
                let last = values.reduce(|old, new| applied.of(old, new));
                block.set(warp, lane, *to, last.unwrap_or_default());
            }),
            Action::Copy { from, to } => self.each(entry, guard, |block, warp, lane| {
                let values: Vec<u128> = from.iter().map(|cell| block.get_wide(warp, lane, *cell)).collect();
                to.iter().zip(values).for_each(|(cell, value)| block.set_wide(warp, lane, *cell, value));
            }),
            Action::FrameAddress { to, offset, generic } => self.each(entry, guard, |block, warp, lane| {
                let address = block.frames[32 * warp + lane].wrapping_add(*offset);
                block.set(warp, lane, Cell::Row(*to), if *generic { THREAD | address } else { address });
            }),
            Action::Refresh { to, origin } => {
                let value = self.clock(*origin);
                self.each(entry, guard, |block, warp, lane| block.set(warp, lane, Cell::Row(*to), value));
            }
            Action::Branch { to, affine } => return Ok(self.branch(entry, guard, *affine, *to)),
            Action::BranchIndexed { index, targets } => {
                let next = entry.at + 1;
                self.scatter(entry, guard, |block, warp, lane| {
                    targets.get(block.get(warp, lane, *index) as u32 as usize).copied().unwrap_or(next)
                });
                return Ok(Flow::Aside);
            }
            Action::Call { callee, arguments, results } => return self.call(entry, guard, callee, arguments, results),
            Action::Return => return self.leave(entry, guard),
            Action::Exit => return Ok(self.end(entry, guard)),
            Action::Trap => {
                if let Some((warp, lane)) = self.lanes(entry, guard).first().copied() {
                    let error = Error::new(ErrorKind::Trap, "the kernel executed a trap");
                    return Err(self.error(entry.at, warp, lane, error));
                }
            }
            Action::Wait { barrier, threads, test } => {
                let test = test.map(|test| test.of);
                return Ok(self.arrive(entry, guard, *barrier, *threads, test, true));
            }
            Action::Arrive { barrier, threads } => {
                return Ok(self.arrive(entry, guard, *barrier, Some(*threads), None, false));
            }
            Action::ArriveCluster => self.arrive_cluster(entry, guard),
            Action::WaitCluster => return Ok(self.wait_cluster(entry, guard)),
            Action::Converge { mask, meeting } => return Ok(self.converge(entry, guard, *mask, meeting)),
            Action::Asynchronous(effect) => self.asynchronous(entry, guard, effect)?,
            Action::Matrix(matrix) => self.matrix(entry, guard, matrix)?,
            Action::ConvergeGroup => return Ok(self.converge_group(entry, guard)),
            Action::Group(group) => self.group(entry, guard, group)?,
            Action::Tensor(tensor) => return self.tensor(entry, guard, tensor),
            Action::Nothing => {}
        }
        Ok(Flow::Next)
    }

    /// The lanes of each warp that a guard lets execute, if there is one.
    fn guarded_masks(&mut self, entry: &Entry, guard: Guard) -> Option<Vec<u32>> {
        guard?;
        let mut masks = self.masks();
        for (warp, mask) in masks.iter_mut().enumerate() {
            *mask = self.guarded(warp, entry.masks[warp], guard);
        }
        Some(masks)
    }

    fn lanes(&self, entry: &Entry, guard: Guard) -> Vec<(usize, usize)> {
        let mut lanes = Vec::new();
        for (warp, mask) in entry.masks.iter().enumerate() {
            lanes.extend(Self::lanes_of(self.guarded(warp, *mask, guard)).map(|lane| (warp, lane)));
        }
        lanes
    }

    fn each(&mut self, entry: &Entry, guard: Guard, mut act: impl FnMut(&mut Self, usize, usize)) {
        for (warp, mask) in entry.masks.iter().enumerate() {
            for lane in Self::lanes_of(self.guarded(warp, *mask, guard)) {
                act(self, warp, lane);
            }
        }
    }
}

/// The rank of the block that an address of shared memory is in.
fn owner(address: u64) -> usize {
    ((address & OFFSET) >> RANK) as usize
}

/// Returns the address with the same offset in the block with a rank. The greatest rank stands for larger ones: no cluster has it.
fn in_block(address: u64, rank: u64) -> u64 {
    address & !OFFSET | rank.min(OFFSET >> RANK) << RANK | address & WITHIN
}

/// Takes over the lanes that a mask has.
fn merge<T: Copy>(to: &mut [T; 32], from: &[T; 32], mask: u32) {
    match mask {
        u32::MAX => *to = *from,
        mask => Block::lanes_of(mask).for_each(|lane| to[lane] = from[lane]),
    }
}
