//! Execution of asynchronous effects: copies, reductions, tensor copies, signals, groups, and waits.

#![allow(unsafe_code, reason = "addresses are checked here before memory is accessed")]

use std::prelude::rust_2024::*;
use std::{format, vec};

use std::sync::PoisonError;

use ptx_isa::eval::float::OOB_NAN;
use ptx_isa::table::{ALONE, COPIES};

use super::super::block::{Block, Entry};
use super::super::decode::asynchronous::{After, Asynchronous, Change, Direction, Tensor};
use super::super::decode::{Action, Address, BLOCK, Cell, Where};
use super::super::error::{Error, ErrorKind};
use super::super::pending::{Applied, Pending, Piece, Signal, Source};
use super::super::raw;
use super::super::tensor::{self, Fields, walk::Line};
use super::{Guard, OFFSET, WITHIN, in_block, owner};

/// Alignment in bytes of the shared memory of a tensor copy.
const TENSOR_ALIGN: u64 = 128;

/// A lane at an effect.
type At<'e> = (&'e Entry, usize, usize);

impl Block<'_> {
    pub(super) fn asynchronous(&mut self, entry: &Entry, guard: Guard, effect: &Asynchronous) -> Result<(), Error> {
        for warp in 0..entry.masks.len() {
            let mask = self.guarded(warp, entry.masks[warp], guard);
            if mask == 0 {
                continue;
            }
            match effect {
                Asynchronous::Copy { .. } | Asynchronous::Reduce { .. } => {
                    self.begin_copies(entry, warp, mask, effect)?
                }
                _ => Self::lanes_of(mask).try_for_each(|lane| self.asynchronous_lane((entry, warp, lane), effect))?,
            }
        }
        Ok(())
    }

    fn asynchronous_lane(&mut self, at: At<'_>, effect: &Asynchronous) -> Result<(), Error> {
        let (_, warp, lane) = at;
        let thread = (self.rank, 32 * warp + lane);
        match effect {
            Asynchronous::Write { at: place, bytes, cells } => {
                let all = u64::from(*bytes) * cells.len() as u64;
                let to = self.host(at, place.0, self.address_of(at, &place.1), all, all)?;
                let words = cells
                    .iter()
                    .flat_map(|cell| self.get_wide(warp, lane, *cell).to_le_bytes().into_iter().take((*bytes).into()));
                let mut value = [0; 16];
                value.iter_mut().zip(words).for_each(|(byte, word)| *byte = word);
                let piece = Piece { to, from: Source::Value(value), bytes: all as usize };
                self.begin(at, ALONE, None, all, [piece])?;
            }
            Asynchronous::Update { at: place, change } => {
                let bytes = u64::from(change.bytes);
                let to = self.host(at, place.0, self.address_of(at, &place.1), bytes, bytes)?;
                let piece = Piece { to, from: Source::Value([0; 16]), bytes: bytes as usize };
                let applied = self.applied(at.1, at.2, change, true);
                self.begin(at, ALONE, Some(applied), bytes, [piece])?;
            }
            Asynchronous::Tensor(tensor) => self.copy_tensor(at, tensor)?,
            Asynchronous::Cancel { to, all } => {
                let mut value = [0; 16];
                if let Some(index) = self.launched.cancel() {
                    value[0] = 1;
                    index.iter().enumerate().for_each(|(axis, index)| {
                        value[4 * (axis + 1)..][..4].copy_from_slice(&index.to_le_bytes());
                    });
                }
                let mut pieces = Vec::new();
                for address in self.copies(at, self.address_of(at, &to.1), None, if *all { 2 } else { 0 }) {
                    let to = self.host(at, to.0, address, 16, 16)?;
                    pieces.push(Piece { to, from: Source::Value(value), bytes: 16 });
                }
                self.begin(at, ALONE, None, 16, pieces)?;
            }
            Asynchronous::Signal { after, at: place, change, blocks, which } => {
                let moved = self.moved.get(thread.1).copied().unwrap_or(0);
                let bytes = u64::from(change.bytes);
                let mut signals = Vec::new();
                for address in self.copies(at, self.address_of(at, &place.1), *blocks, *which) {
                    let host = self.host(at, place.0, address, bytes, bytes)?;
                    signals.push(Signal { at: host, applied: self.applied(at.1, at.2, change, true), moved });
                    self.released_at(warp, lane, host as u64);
                }
                match (after, self.pending()) {
                    (After::Instruction, Some(mut pending)) => pending.signal(thread, signals),
                    (After::Copies, Some(mut pending)) => pending.after(thread, signals),
                    // Tensor operations complete at once, and all others if none is kept.
                    // SAFETY: `host` found the addresses in allocations of the launch.
                    _ => signals.iter_mut().for_each(|signal| unsafe { signal.perform() }),
                }
            }
            Asynchronous::Commit { group } => {
                if let Some(mut pending) = self.pending() {
                    pending.commit(thread, *group);
                }
            }
            Asynchronous::Wait { group, left, reading } => {
                let left = left.map(|left| self.get(warp, lane, left) & OFFSET);
                if let Some(mut pending) = self.pending() {
                    pending.wait(thread, *group, left, *reading);
                }
            }
            Asynchronous::Replace { map, field, value, ordinal } => {
                let host = self.host(at, map.0, self.address_of(at, &map.1), tensor::BYTES as u64, 64)?;
                let (value, ordinal) = (self.get(warp, lane, *value), self.get(warp, lane, *ordinal));
                // SAFETY: `host` found the bytes in an allocation of the launch.
                let bytes = std::array::from_fn(|at| unsafe { raw::load(host + at, 1) } as u8);
                let bytes =
                    tensor::replaced(&bytes, *field, value, ordinal).map_err(|message| self.unusable(at, message))?;
                for (place, byte) in bytes.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { raw::store(host + place, 1, (*byte).into()) };
                }
            }
            Asynchronous::Prefetch { from, size } => {
                let size = self.get(warp, lane, *size) & OFFSET;
                if size > 0 {
                    self.host(at, from.0, self.address_of(at, &from.1), size, 16)?;
                }
            }
            // Of whole warps: see above.
            Asynchronous::Copy { .. } | Asynchronous::Reduce { .. } => {}
        }
        Ok(())
    }

    fn pending(&self) -> Option<std::sync::MutexGuard<'_, Pending>> {
        self.pending.as_ref().map(|pending| pending.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn address_of(&self, (_, warp, lane): At<'_>, address: &Address) -> u64 {
        self.addresses(warp, address)[lane]
    }

    /// The host address of bytes that must be aligned.
    fn host(&mut self, at: At<'_>, place: Where, address: u64, bytes: u64, align: u64) -> Result<usize, Error> {
        let (entry, warp, lane) = at;
        if align > 0 && !address.is_multiple_of(align) {
            let message = format!("the address {address:#x} is not a multiple of {align}");
            let error = Error { address: Some(address), ..Error::new(ErrorKind::Misaligned, message) };
            return Err(self.error(entry.at, warp, lane, error));
        }
        let found = self.resolve_one(warp, lane, place, address, bytes);
        Ok(found.map_err(|fault| self.fault(entry, warp, (lane, fault), bytes))? as usize)
    }

    fn unusable(&self, (entry, warp, lane): At<'_>, message: String) -> Error {
        self.error(entry.at, warp, lane, Error::new(ErrorKind::TensorMap, message))
    }

    /// An address of shared memory in each block that a mask has, or that `which` asks for.
    fn copies(&self, (_, warp, lane): At<'_>, address: u64, blocks: Option<Cell>, which: u8) -> Vec<u64> {
        let mask = match (blocks, which) {
            (Some(blocks), _) => self.get(warp, lane, blocks) & OFFSET,
            (None, 2) => (1 << self.peers.len()) - 1,
            (None, _) => return Vec::from([address]),
        };
        let parity = owner(address) as u64 & 1;
        let ranks = (0..32).filter(|rank| mask >> rank & 1 != 0);
        let ranks = ranks.map(|rank: u64| if which == 1 { rank & !1 | parity } else { rank });
        ranks.map(|rank| in_block(address, rank)).collect()
    }

    /// A change, with the sources of a thread.
    pub(super) fn applied(&self, warp: usize, lane: usize, change: &Change, updates: bool) -> Applied {
        let sources = change.sources.iter().map(|cell| self.get_wide(warp, lane, *cell));
        let inputs = sources.chain([0, 0]).collect();
        Applied { evaluator: change.evaluator, inputs, bytes: change.bytes, updates }
    }

    /// Remembers the size of a thread's last operation.
    fn remember(&mut self, thread: usize, moved: u64) {
        if self.moved.len() <= thread {
            let threads = 32 * self.live.len();
            self.moved.resize(threads, 0);
        }
        self.moved[thread] = moved;
    }

    /// Performs an operation at once, or keeps it.
    fn begin(
        &mut self,
        (entry, warp, lane): At<'_>,
        group: u8,
        mut applied: Option<Applied>,
        moved: u64,
        pieces: impl IntoIterator<Item = Piece> + AsRef<[Piece]>,
    ) -> Result<(), Error> {
        let thread = 32 * warp + lane;
        let updates = applied.as_ref().is_some_and(|applied| applied.updates);
        self.watch_pieces(entry.at, (warp, lane), pieces.as_ref(), updates)?;
        self.remember(thread, moved);
        match self.pending() {
            Some(mut pending) => pending.begin((self.rank, thread), group, pieces.into_iter().collect(), applied),
            None => pieces.into_iter().for_each(|piece| {
                // SAFETY: `host` found the bytes of both addresses in allocations of the launch, aligned to 4 bytes or more
                // where elements are updated.
                unsafe { piece.perform(applied.as_mut()) }
            }),
        }
        Ok(())
    }

    /// Copies of equal size of all lanes together, each of which copies all of its bytes or clears them. Returns false, and does nothing, if
    /// one does something else, or has an address that it must not have.
    fn copy_lanes(
        &mut self,
        warp: usize,
        mask: u32,
        (to, from): (&(Where, Address), &(Where, Address)),
        size: Cell,
        count: Option<(Cell, bool)>,
    ) -> bool {
        let Cell::Constant(size) = size else { return false };
        let (mut tos, mut froms) = (self.addresses(warp, &to.1), self.addresses(warp, &from.1));
        let mut whole = mask;
        for lane in Self::lanes_of(mask) {
            let copied = match count {
                None => true,
                Some((cell, ignores)) => match (self.get(warp, lane, cell) & OFFSET, ignores) {
                    (value, true) => value == 0,
                    (0, false) => false,
                    (value, false) if value >= size => true,
                    _ => return false,
                },
            };
            if !size.is_power_of_two() || !froms[lane].is_multiple_of(size) {
                return false;
            }
            whole &= !(u32::from(!copied) << lane);
        }
        if self.resolve(warp, whole, from.0, &mut froms, size, size).is_err()
            || self.resolve(warp, mask, to.0, &mut tos, size, size).is_err()
        {
            return false;
        }
        for lane in Self::lanes_of(mask) {
            self.remember(32 * warp + lane, size);
            let from = match whole >> lane & 1 {
                1 => Source::Memory(froms[lane] as usize),
                _ => Source::Value([0; 16]),
            };
            // SAFETY: the bytes at both addresses are in allocations of the launch, as was found above.
            unsafe { Piece { to: tos[lane] as usize, from, bytes: size as usize }.perform(None) };
        }
        true
    }

    /// Copies of each lane, of which some elements may be updated.
    fn begin_copies(&mut self, entry: &Entry, warp: usize, mask: u32, effect: &Asynchronous) -> Result<(), Error> {
        let (to, from, size, group) = match effect {
            Asynchronous::Copy { to, from, size, group, .. } | Asynchronous::Reduce { to, from, size, group, .. } => {
                (to, from, *size, *group)
            }
            _ => return Ok(()),
        };
        if let Asynchronous::Copy { count, bytes: None, blocks: None, ignored: None, .. } = effect
            && group == COPIES
            && self.pending.is_none()
            && !self.looks_for_races()
            && self.copy_lanes(warp, mask, (to, from), size, *count)
        {
            return Ok(());
        }
        let (tos, froms) = (self.addresses(warp, &to.1), self.addresses(warp, &from.1));
        for lane in Self::lanes_of(mask) {
            let at = (entry, warp, lane);
            let size = self.get(warp, lane, size) & OFFSET;
            if group != COPIES && !size.is_multiple_of(16) {
                let message = format!("a bulk operation moves a multiple of 16 bytes, not {size}");
                return Err(self.error(entry.at, warp, lane, Error::new(ErrorKind::Misaligned, message)));
            }
            if size == 0 {
                // Libraries copy nothing between addresses that are not aligned.
                self.begin(at, group, None, size, [])?;
                continue;
            }
            let align = if group == COPIES { size } else { 16 };
            if let Asynchronous::Reduce { change, .. } = effect {
                let (source, target) =
                    (self.host(at, from.0, froms[lane], size, align)?, self.host(at, to.0, tos[lane], size, align)?);
                let applied = self.applied(at.1, at.2, change, true);
                let piece = Piece { to: target, from: Source::Memory(source), bytes: size as usize };
                self.begin(at, group, Some(applied), size, [piece])?;
                continue;
            }
            let Asynchronous::Copy { count, bytes, blocks, ignored, .. } = effect else { continue };
            let count = match count {
                None => size,
                Some((cell, false)) => size.min(self.get(warp, lane, *cell) & OFFSET),
                Some((cell, true)) => size * u64::from(self.get(warp, lane, *cell) == 0),
            };
            let [left, right] = ignored.map_or([0; 2], |ignored| ignored.map(|cell| self.get(warp, lane, cell) & 15));
            let (left, end) = (left.min(count), count.saturating_sub(right).max(left.min(count)));
            if !froms[lane].is_multiple_of(align) {
                self.host(at, from.0, froms[lane], 0, align)?;
            }
            // Bytes that are not read need not be in an allocation.
            let source = match end - left {
                0 => 0,
                read => self.host(at, from.0, froms[lane].wrapping_add(left), read, 1)?.wrapping_sub(left as usize),
            };
            if blocks.is_none() && bytes.is_none() {
                let target = self.host(at, to.0, tos[lane], size, align)?;
                let copied = Piece {
                    to: target + left as usize,
                    from: Source::Memory(source.wrapping_add(left as usize)),
                    bytes: (end - left) as usize,
                };
                let zeros =
                    Piece { to: target + count as usize, from: Source::Value([0; 16]), bytes: (size - count) as usize };
                self.begin(at, group, None, size, [copied, zeros])?;
                continue;
            }
            let mut pieces = Vec::new();
            for address in self.copies(at, tos[lane], *blocks, 0) {
                let target = self.host(at, to.0, address, size, align)?;
                match bytes.map(|bytes| self.get(warp, lane, bytes)) {
                    None => pieces.push(Piece { to: target, from: Source::Memory(source), bytes: size as usize }),
                    Some(chosen) => {
                        let bytes = (0..size as usize).filter(|byte| chosen >> (byte % 16) & 1 != 0);
                        pieces.extend(bytes.map(|byte| Piece {
                            to: target + byte,
                            from: Source::Memory(source + byte),
                            bytes: 1,
                        }));
                    }
                }
            }
            self.begin(at, group, None, size, pieces)?;
        }
        Ok(())
    }

    /// A copy of a part of a tensor.
    fn copy_tensor(&mut self, at: At<'_>, tensor: &Tensor) -> Result<(), Error> {
        let (_, warp, lane) = at;
        let address = self.address_of(at, &tensor.map.1);
        if address >> 48 == BLOCK >> 48 || tensor.map.0 == Where::Block {
            let message = "a tensor map is in global or constant memory or a parameter, not in shared memory";
            return Err(self.unusable(at, message.into()));
        }
        let host = self.host(at, tensor.map.0, address, tensor::BYTES as u64, 64)?;
        // SAFETY: `host` found the bytes in an allocation of the launch.
        let bytes = std::array::from_fn(|at| unsafe { raw::load(host + at, 1) } as u8);
        let coordinates: Vec<i32> = tensor.at.iter().map(|cell| self.get(warp, lane, *cell) as i32).collect();
        let offsets: Vec<u16> = tensor.offsets.iter().map(|cell| self.get(warp, lane, *cell) as u16).collect();
        let stores = matches!(tensor.direction, Direction::Store | Direction::Reduce);
        let fields = Fields::read(&bytes).map_err(|message| self.unusable(at, message))?;
        let part = fields.part(tensor.mode, &coordinates, &offsets, stores);
        let part = part.map_err(|message| self.unusable(at, message))?;
        let Some((place, shared)) = &tensor.shared else { return Ok(()) };
        let change = tensor.changes.iter().find(|(element, _)| *element == fields.element).map(|(_, change)| change);
        if tensor.direction == Direction::Reduce && change.is_none() {
            let message = format!("elements of the type {} have no such reduction", fields.element().name());
            return Err(self.unusable(at, message));
        }
        let applied = change.map(|change| self.applied(at.1, at.2, change, stores));
        let padded = fields.element().padded();
        let mut found = vec![0; part.lines.len()];
        for (host, line) in found.iter_mut().zip(&part.lines) {
            if let Some(address) = line.tensor {
                *host = self.host(at, Where::Device, address, line.bytes, 1)?;
            }
        }
        let mut pieces = Vec::new();
        for address in self.copies(at, self.address_of(at, shared), tensor.blocks, 0) {
            let base = self.host(at, *place, address, part.extent, TENSOR_ALIGN)?;
            let window = address & WITHIN;
            for (line, host) in part.lines.iter().zip(&found) {
                placed(&fields, line, window, |shared, offset, bytes| {
                    let shared = base.wrapping_add(shared.wrapping_sub(window) as usize);
                    let tensor = host.wrapping_add(offset as usize);
                    let piece = match (stores, line.tensor) {
                        (true, Some(_)) => {
                            let from = if padded { Source::SixBits(shared) } else { Source::Memory(shared) };
                            Piece { to: tensor, from, bytes: bytes as usize }
                        }
                        (true, None) => return,
                        (false, Some(_)) => Piece { to: shared, from: Source::Memory(tensor), bytes: bytes as usize },
                        (false, None) => {
                            let value = if fields.fill == 0 { 0 } else { OOB_NAN };
                            let value = std::array::from_fn(|at| value.to_le_bytes()[at % 2]);
                            Piece { to: shared, from: Source::Value(value), bytes: bytes as usize }
                        }
                    };
                    pieces.push(piece);
                });
            }
        }
        let group = if stores { ptx_isa::table::BULK } else { ALONE };
        self.begin(at, group, applied, part.moved, pieces)?;
        Ok(())
    }

    /// Completes kept operations that signal an object which lanes look at, as long as that is not what they wait for.
    pub(super) fn settle(&mut self, entry: &Entry, guard: Guard, action: &Action) -> Result<(), Error> {
        let Action::Update { access, change, sources, old, inspects: true, .. } = action else { return Ok(()) };
        // PTX allows a look to come too early: only a loop is sure to see the completion.
        if self.pending().is_none_or(|mut pending| pending.hesitates()) {
            return Ok(());
        }
        for (warp, lane) in self.lanes(entry, guard) {
            let at = (entry, warp, lane);
            let bytes = u64::from(access.bytes);
            let host = self.host(at, access.place, self.address_of(at, &access.at), bytes, bytes)?;
            let mut inputs = vec![0_u128; old + 1];
            for (input, cells) in inputs.iter_mut().zip(sources) {
                *input = cells.first().map_or(0, |cell| self.get_wide(warp, lane, *cell));
            }
            let done = || {
                let mut inputs = inputs.clone();
                // SAFETY: `host` found the bytes in an allocation of the launch, aligned to their number.
                inputs[*old] = unsafe { raw::load(host, access.bytes) }.into();
                change.evaluate(&inputs)[0] != 0
            };
            if let Some(mut pending) = self.pending() {
                pending.awaited(host, done);
            }
        }
        Ok(())
    }
}

/// The pieces of a line that stay together: their addresses in shared memory, and their offsets in the line.
fn placed(fields: &Fields, line: &Line, window: u64, mut piece: impl FnMut(u64, u64, u64)) {
    let unit = fields.unit();
    let mut offset = 0;
    while offset < line.bytes {
        let at = window + line.shared + offset;
        let bytes = (unit - at % unit).min(line.bytes - offset);
        piece(fields.swizzled(at), offset, bytes);
        offset += bytes;
    }
}
