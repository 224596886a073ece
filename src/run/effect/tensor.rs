//! Tensor memory: allocation, registers and shared memory to and from it, and products.

use std::prelude::rust_2024::*;
use std::{format, vec};

use ptx_isa::eval::product::Format;
use ptx_isa::matrix::Lanes;
use ptx_isa::matrix::shared::{SharedMatrix, Stored};
use ptx_isa::matrix::tensor::{BlockMemory, Given, Left, TensorMemory};
use ptx_isa::table::NonFinite;

use super::super::block::{Block, Entry, Flow, GROUP};
use super::super::decode::tensor::{LeftFactor, Tensor};
use super::super::decode::{Address, Cell};
use super::super::error::{Error, ErrorKind};
use super::super::tensor_memory::{SharedCells, lock};
use super::Guard;

/// Lanes of tensor memory that a warp may access.
const OWN: usize = 32;

impl Block<'_> {
    /// Does with tensor memory what a statement says.
    pub(super) fn tensor(&mut self, entry: &mut Entry, guard: Guard, tensor: &Tensor) -> Result<Flow, Error> {
        let forced = std::mem::take(&mut entry.forced);
        let mut waits: Option<Entry> = None;
        let at = entry.at;
        for warp in 0..entry.masks.len() {
            let mask = self.guarded(warp, entry.masks[warp], guard);
            let fail = |block: &Self, lane: usize, kind: ErrorKind, message: String| {
                block.error(at, warp, lane, Error::new(kind, message))
            };
            if let Tensor::Copy { .. } | Tensor::Multiply { .. } = tensor {
                for lane in Self::lanes_of(mask) {
                    let done = match tensor {
                        Tensor::Copy { .. } => self.copy_to_tensor(warp, lane, tensor),
                        _ => self.multiply_tensor(warp, lane, tensor),
                    };
                    done.map_err(|message| fail(self, lane, ErrorKind::Access, message))?;
                }
                continue;
            }
            if mask == 0 {
                continue;
            }
            let lane = mask.trailing_zeros() as usize;
            if mask != u32::MAX {
                let message = "all 32 lanes of a warp must execute this instruction together";
                return Err(fail(self, lane, ErrorKind::Convergence, message.into()));
            }
            match tensor {
                Tensor::Allocate { place, at, columns, pair } => {
                    let columns = self.get(warp, lane, *columns) as usize;
                    if !columns.is_power_of_two() || !(32..=512).contains(&columns) {
                        let message =
                            format!("tensor memory is allocated by 32, 64, 128, 256 or 512 columns, not {columns}");
                        return Err(fail(self, lane, ErrorKind::Memory, message));
                    }
                    let ranks =
                        self.concerned(*pair).map_err(|message| fail(self, lane, ErrorKind::Access, message))?;
                    let other = ranks.into_iter().find(|rank| *rank != self.rank);
                    let reserved = lock(&self.cells).reserved().filter(|_| other.is_some());
                    if let Some(reserved) = reserved.filter(|reserved| *reserved != columns) {
                        let message =
                            format!("the other block of the pair has allocated {reserved} columns, not {columns}");
                        return Err(fail(self, lane, ErrorKind::Memory, message));
                    }
                    let allocate = || match other {
                        Some(other) => lock(&self.cells).allocate_pair(&mut lock(self.cells_of(other)), columns),
                        None => lock(&self.cells).allocate(columns),
                    };
                    let Some(found) = allocate() else {
                        let message = format!("the block has no {columns} contiguous free columns of tensor memory");
                        // Nothing else can run that would free columns, or the other block of a pair might have to.
                        if forced || other.is_some() {
                            return Err(fail(self, lane, ErrorKind::Memory, message));
                        }
                        waits.get_or_insert_with(|| Entry { masks: self.masks(), ..*entry }).masks[warp] = mask;
                        continue;
                    };
                    let address = self.addresses(warp, at)[lane];
                    self.write_word(warp, *place, address, found as u32)
                        .map_err(|fault| self.fault(entry, warp, (lane, fault), 4))?;
                }
                Tensor::Free { at, columns } => {
                    let [at, columns] = [*at, *columns].map(|cell| self.get(warp, lane, cell) as usize);
                    if !lock(&self.cells).free(at & 0xffff, columns) {
                        let message = format!("no {columns} columns were allocated at {at:#x} of tensor memory");
                        return Err(fail(self, lane, ErrorKind::Access, message));
                    }
                    self.look_again();
                }
                _ => {
                    self.access_tensor(warp, tensor).map_err(|message| fail(self, lane, ErrorKind::Access, message))?
                }
            }
        }
        Ok(waits.map_or(Flow::Next, |waits| self.wait(entry, waits)))
    }

    fn tensor_address(&self, warp: usize, lane: usize, at: &Address) -> u32 {
        self.addresses(warp, at)[lane] as u32
    }

    /// Reads or writes registers of a warp.
    fn access_tensor(&mut self, warp: usize, tensor: &Tensor) -> Result<(), String> {
        let Tensor::Access { layout, at, distance, packed, write, cells } = tensor else { return Ok(()) };
        let address = self.tensor_address(warp, 0, at) as usize;
        let (lane, first) = (address >> 16, address & 0xffff);
        let part = warp % GROUP;
        if lane / OWN != part || lane % OWN + layout.rows > OWN {
            return Err(format!(
                "warp {part} of a warpgroup accesses the lanes {} to {} of tensor memory, not {} from {lane} on",
                part * OWN,
                part * OWN + OWN - 1,
                layout.rows
            ));
        }
        let mut registers: Vec<Lanes> = if *write { self.held(warp, cells) } else { vec![[0; 32]; layout.registers] };
        let missing = |column: usize| format!("the block has not allocated column {column} of tensor memory");
        let mut memory = lock(&self.cells);
        for index in 0..layout.matrices * layout.rows * layout.columns {
            let (row, column) = (index / layout.columns % layout.rows, index % layout.columns);
            let behind = index / layout.columns / layout.rows * *distance as usize;
            // A register has the halves of two columns if they are packed.
            let parts = if *packed { 2 } else { 1 };
            let mut value = if *write { layout.get(&registers, index) } else { 0 };
            for half in 0..parts {
                let at = (lane + row, first + behind + column * parts + half);
                match (*write, parts) {
                    (true, 1) => memory.set(at.0, at.1, value as u32),
                    (true, _) => memory.set(at.0, at.1, (value >> (16 * half)) as u32 & 0xffff),
                    (false, _) => {
                        let bits = u64::from(memory.get(at.0, at.1).ok_or_else(|| missing(at.1))?);
                        value |= if parts == 1 { bits } else { (bits & 0xffff) << (16 * half) };
                        true
                    }
                }
                .then_some(())
                .ok_or_else(|| missing(at.1))?;
            }
            if !*write {
                layout.set(&mut registers, index, value);
            }
        }
        drop(memory);
        if !*write {
            self.hold(warp, cells, &registers);
        }
        Ok(())
    }

    fn cells_of(&self, rank: usize) -> &SharedCells {
        if rank == self.rank { &self.cells } else { &self.peers[rank].cells }
    }

    /// The ranks of the blocks that an operation of a thread concerns, the one of even rank first if they are a pair.
    fn concerned(&self, pair: bool) -> Result<Vec<usize>, String> {
        let first = self.rank & !1;
        match pair {
            false => Ok(vec![self.rank]),
            true if first + 1 < self.peers.len() => Ok(vec![first, first + 1]),
            true => Err("this takes a pair of blocks, which the cluster does not have".into()),
        }
    }

    /// Copies rows from shared memory for a thread.
    fn copy_to_tensor(&mut self, warp: usize, lane: usize, tensor: &Tensor) -> Result<(), String> {
        let Tensor::Copy { at, from, layout, rows, words, copies, step, group, spread, narrow, pair } = tensor else {
            return Ok(());
        };
        let address = self.tensor_address(warp, lane, at) as usize;
        let matrix = SharedMatrix::new(layout, self.get(warp, lane, *from))?;
        // Words of what is copied, or elements that are widened to bytes.
        let format =
            |bits: u32| Format { bits, exponent: 0, fraction: 0, signed: false, beyond: NonFinite::None, padding: 0 };
        let (stored, shift) = match narrow {
            Some(narrow) => (Stored::new(format(narrow.width.into()), false), narrow.shift),
            None => (Stored::new(format(32), false), 0),
        };
        let each = if narrow.is_some() { 8 } else { 32 };
        let count = words * 32 / each;
        let outside = |at: u64| format!("shared memory has no element of a matrix at the offset {at:#x}");
        for rank in self.concerned(*pair)? {
            let read = |offset: u64, bytes: u8| self.shared_bytes(rank, offset, bytes);
            let mut elements = Vec::with_capacity(rows * count);
            matrix.read(stored, 0..*rows, count, &read, |_, _, bits| elements.push(bits)).map_err(outside)?;
            let mut cells = lock(self.cells_of(rank));
            for (row, elements) in elements.chunks(count).enumerate() {
                for (column, part) in elements.chunks(32 / each).enumerate() {
                    let join = |word: u64, element: &u32| word << (each % 32) | u64::from(*element) << shift;
                    let word = part.iter().rev().fold(0_u64, join);
                    for copy in 0..*copies {
                        let to = (address >> 16) + row / group * spread + row % group + copy * step;
                        let column = (address & 0xffff) + column;
                        if !cells.set(to, column, word as u32) {
                            return Err(format!("the block has not allocated column {column} of tensor memory"));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Computes a product for a thread.
    fn multiply_tensor(&mut self, warp: usize, lane: usize, tensor: &Tensor) -> Result<(), String> {
        let Tensor::Multiply { product, d, left, right, shape, keep, off, power, zero, metadata, scales } = tensor
        else {
            return Ok(());
        };
        let one = |cell: Option<Cell>| cell.map_or(0, |cell| self.get(warp, lane, cell));
        let masks: Vec<u128> = off.iter().map(|cell| u128::from(one(Some(*cell)) as u32)).collect();
        let mask = |block: usize| masks.iter().skip(4 * block).take(4).rev().fold(0, |mask, word| mask << 32 | word);
        let given = Given {
            d: self.tensor_address(warp, lane, d),
            a: match left {
                LeftFactor::Shared(word) => Left::Shared(one(Some(*word))),
                LeftFactor::Tensor(at) => Left::Tensor(self.tensor_address(warp, lane, at)),
            },
            b: one(Some(*right)),
            shape: one(Some(*shape)) as u32,
            keep: one(Some(*keep)) & 1 != 0,
            off: [mask(0), mask(1)],
            power: one(*power) as u32,
            zero: one(*zero),
            metadata: metadata.map_or(0, |at| self.tensor_address(warp, lane, &at)),
            // Bits 30 and 31 of an address of scale factors choose the byte of a word; the instruction descriptor has them, too.
            scales: scales
                .map_or([0; 2], |scales| scales.map(|at| self.tensor_address(warp, lane, &at) & (u32::MAX >> 2))),
        };
        let ranks = self.concerned(product.blocks() > 1)?;
        let block = &*self;
        let read = |rank: &usize| {
            let rank = *rank;
            move |offset: u64, bytes: u8| block.shared_bytes(rank, offset, bytes)
        };
        let readers: Vec<_> = ranks.iter().map(read).collect();
        let mut cells: Vec<_> = ranks.iter().map(|rank| lock(block.cells_of(*rank))).collect();
        let memory = cells.iter_mut().zip(&readers);
        let mut blocks: Vec<_> = memory.map(|(cells, shared)| BlockMemory { tensor: &mut **cells, shared }).collect();
        product.multiply(&given, &mut blocks)
    }
}
