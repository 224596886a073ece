//! Execution of effects on matrices: products across a warp, and loads and stores of matrices.

#![allow(unsafe_code, reason = "the addresses of matrices are checked here before memory is accessed")]

use std::mem;
use std::ops::Range;
use std::prelude::rust_2024::*;
use std::vec;

use ptx_isa::matrix::{Lanes, Layout, Metadata, ScaleSource};
use ptx_isa::warp::Row;

use super::super::block::{Block, Entry};
use super::super::decode::matrix::{Matrix, Moved, Order, Piece};
use super::super::decode::{Address, Cell, Where};
use super::super::error::{Error, ErrorKind};
use super::super::races::Kind;
use super::super::raw;
use super::Guard;
use super::access::Fault;

impl Block<'_> {
    /// Does with matrices what a statement says, in each warp of an entry.
    pub(super) fn matrix(&mut self, entry: &Entry, guard: Guard, matrix: &Matrix) -> Result<(), Error> {
        for warp in 0..entry.masks.len() {
            let mask = self.guarded(warp, entry.masks[warp], guard);
            if mask == 0 {
                continue;
            }
            if mask != u32::MAX {
                let lane = mask.trailing_zeros() as usize;
                let message = "all 32 lanes of a warp must execute this instruction together";
                return Err(self.error(entry.at, warp, lane, Error::new(ErrorKind::Convergence, message)));
            }
            match matrix {
                Matrix::Multiply { product, factors, to, scales, metadata } => {
                    let scales = scales.map(|own| own.map(|cells| self.held(warp, &cells)));
                    let source = |held: &'_ Vec<Lanes>| (held[1][0] as u8, held[2][0] as u8);
                    let scales = scales.as_ref().map(|own| {
                        [0, 1].map(|side: usize| {
                            let (byte, lane) = source(&own[side]);
                            ScaleSource { register: &own[side][0], byte, lane }
                        })
                    });
                    let metadata = metadata.map(|cells| self.held(warp, &cells));
                    let metadata =
                        metadata.as_ref().map(|held| Metadata { register: &held[0], selector: held[1][0] as u8 });
                    if product.is_wide() {
                        let [a, b, c] = [0, 1, 2].map(|index| self.held(warp, &factors[index]));
                        let d = product.multiply([&a, &b, &c], None);
                        self.hold(warp, to, &d);
                    } else {
                        let [a, b, c] = factors;
                        let (mut words, [a, b, c, d]) = self.parts([a, b, c, to].map(|cells| 32 * cells.len()));
                        let (operands, d) = words.split_at_mut(d.start);
                        for (cells, part) in factors.iter().zip([&a, &b, &c]) {
                            self.registers(warp, cells, &mut operands[part.clone()]);
                        }
                        let factors = [&operands[a], &operands[b], &operands[c]];
                        product.multiply_words(factors, d, (scales, metadata), &mut self.scratch);
                        self.set_registers(warp, to, d);
                        self.words = words;
                    }
                }
                Matrix::Transpose { moves, from, to } => {
                    let (mut words, [_, turned]) = self.parts([32 * from.len(), moves.words()]);
                    let (held, turned) = words.split_at_mut(turned.start);
                    self.registers(warp, from, held);
                    moves.apply(held, turned);
                    self.set_registers(warp, to, turned);
                    self.words = words;
                }
                Matrix::Access { .. } => self.matrix_access(entry, warp, matrix)?,
            }
        }
        Ok(())
    }

    /// The registers of a warp.
    pub(super) fn held(&self, warp: usize, cells: &[Cell]) -> Vec<Lanes> {
        let of = |cell: &Cell| match *cell {
            Cell::Row(Row { bits: 32, number }) => self.warps.b32(warp, number).map(u64::from),
            Cell::Row(Row { bits: 64, number }) => *self.warps.b64(warp, number),
            cell => std::array::from_fn(|lane| self.get(warp, lane, cell)),
        };
        cells.iter().map(of).collect()
    }

    /// Sets the registers of a warp.
    pub(super) fn hold(&mut self, warp: usize, cells: &[Cell], values: &[Lanes]) {
        for (cell, values) in cells.iter().zip(values) {
            match *cell {
                Cell::Row(Row { bits: 32, number }) => {
                    *self.warps.b32_mut(warp, number) = values.map(|word| word as u32)
                }
                cell => (0..32).for_each(|lane| self.set(warp, lane, cell, values[lane])),
            }
        }
    }

    /// Takes the memory of operations on matrices, divided into parts of these lengths in words.
    fn parts<const N: usize>(&mut self, lengths: [usize; N]) -> (Vec<u32>, [Range<usize>; N]) {
        let (mut words, mut end) = (mem::take(&mut self.words), 0);
        let parts = lengths.map(|length| {
            end += length;
            end - length..end
        });
        // Not cleared: parts are written before they are read.
        words.resize(end.max(words.len()), 0);
        (words, parts)
    }

    /// Copies the 32-bit registers of a warp, one after the other.
    pub(super) fn registers(&self, warp: usize, cells: &[Cell], words: &mut [u32]) {
        for (cell, values) in cells.iter().zip(words.as_chunks_mut().0) {
            match *cell {
                Cell::Row(Row { bits: 32, number }) => *values = *self.warps.b32(warp, number),
                cell => *values = std::array::from_fn(|lane| self.get(warp, lane, cell) as u32),
            }
        }
    }

    /// Sets the 32-bit registers of a warp.
    pub(super) fn set_registers(&mut self, warp: usize, cells: &[Cell], words: &[u32]) {
        for (cell, values) in cells.iter().zip(words.as_chunks().0) {
            match *cell {
                Cell::Row(Row { bits: 32, number }) => *self.warps.b32_mut(warp, number) = *values,
                cell => (0..32).for_each(|lane| self.set(warp, lane, cell, values[lane].into())),
            }
        }
    }

    fn matrix_access(&mut self, entry: &Entry, warp: usize, matrix: &Matrix) -> Result<(), Error> {
        let Matrix::Access { layout, place, at, order, transposed, write, moved, cells } = matrix else {
            return Ok(());
        };
        let (lines, count, bytes) = self.lines(entry, warp, (layout, *transposed), (*place, at), *order)?;
        let lines = &lines[..count];
        // All lanes of the warp access what no lane has the address of.
        let lanes_of = |line: usize| if matches!(order, Order::Addressed) { 1 << line } else { u32::MAX };
        let kind = Kind { writes: *write, strong: false };
        if !*write || matches!(moved, Moved::Pieces { .. }) {
            for (line, host) in lines.iter().enumerate() {
                self.watch_together(entry.at, (warp, lanes_of(line)), (*host, bytes), kind, false)?;
            }
        }
        let (narrow, bits, pieces) = match moved {
            Moved::Words { moves, bytes } => {
                let count = bytes.div_ceil(4);
                if *write {
                    let (mut words, [_, moved]) = self.parts([32 * cells.len(), moves.words()]);
                    let (held, moved) = words.split_at_mut(moved.start);
                    self.registers(warp, cells, held);
                    moves.apply(held, moved);
                    for (number, (line, words)) in lines.iter().zip(moved.chunks_exact(count)).enumerate() {
                        if self.looks_for_races() {
                            let mut before = [0; 32];
                            // SAFETY: `lines` found the bytes of the whole line in an allocation of the launch.
                            unsafe { raw::copy(before.as_mut_ptr() as usize, *line as usize, *bytes) };
                            let same = before[..count] == *words;
                            self.watch_together(
                                entry.at,
                                (warp, lanes_of(number)),
                                (*line, *bytes as u64),
                                kind,
                                same,
                            )?;
                        }
                        // SAFETY: as above.
                        unsafe { raw::copy(*line as usize, words.as_ptr() as usize, *bytes) };
                    }
                    self.words = words;
                } else {
                    let (mut words, [_, moved]) = self.parts([lines.len() * count, moves.words()]);
                    let (held, moved) = words.split_at_mut(moved.start);
                    for (line, words) in lines.iter().zip(held.chunks_exact_mut(count)) {
                        // SAFETY: as above.
                        unsafe { raw::copy(words.as_mut_ptr() as usize, *line as usize, *bytes) };
                    }
                    moves.apply(held, moved);
                    self.set_registers(warp, cells, moved);
                    self.words = words;
                }
                return Ok(());
            }
            Moved::Pieces { narrow, bits, pieces } => (narrow, *bits, pieces),
        };
        let mut registers = if *write { self.held(warp, cells) } else { vec![[0; 32]; layout.registers] };
        let bytes = bits.div_ceil(8) as u8;
        for Piece { line, at, holder } in pieces {
            let (byte, shift) = (lines[*line] as usize + at / 8, at % 8);
            if *write {
                // SAFETY: `lines` found the bytes of the whole line in an allocation of the launch.
                unsafe { raw::store(byte, bytes, holder.get(&registers, layout.bits)) };
                continue;
            }
            // SAFETY: as above.
            let mut word = unsafe { raw::load(byte, bytes) };
            if let Some(narrow) = narrow {
                if shift + bits > 8 {
                    // SAFETY: as above; the element ends in the next byte.
                    word |= unsafe { raw::load(byte + 1, 1) } << 8;
                }
                let above = 64 - u32::from(narrow.width);
                let value = word >> shift << above;
                let value = if narrow.signed { (value.cast_signed() >> above).cast_unsigned() } else { value >> above };
                word = value << narrow.shift;
            }
            holder.set(&mut registers, layout.bits, word);
        }
        if !*write {
            self.hold(warp, cells, &registers);
        }
        Ok(())
    }

    /// The host addresses of the rows or columns of a matrix, of which there are at most 32: of what is adjacent in memory. Their number, and
    /// the bytes of each.
    fn lines(
        &mut self,
        entry: &Entry,
        warp: usize,
        (layout, transposed): (&Layout, bool),
        (place, at): (Where, &Address),
        order: Order,
    ) -> Result<(Lanes, usize, u64), Error> {
        let mut addresses = self.addresses(warp, at);
        let columns = match order {
            Order::Addressed => transposed,
            Order::Strided { columns, .. } => columns,
        };
        let (lines, length) = if columns { (layout.columns, layout.rows) } else { (layout.rows, layout.columns) };
        let bits = u64::from(layout.bits);
        let bytes = length as u64 * bits / 8;
        match order {
            Order::Addressed => {
                let lines = (layout.matrices * lines).min(32);
                let mask = u32::MAX >> (32 - lines);
                self.resolve(warp, mask, place, &mut addresses, bytes, bytes.next_power_of_two())
                    .map_err(|fault| self.fault(entry, warp, fault, bytes))?;
                Ok((addresses, lines, bytes))
            }
            Order::Strided { stride, .. } => {
                let stride = stride.map_or(length as u64, |cell| self.get(warp, 0, cell));
                let first = addresses[0];
                for (line, address) in addresses[..lines].iter_mut().enumerate() {
                    *address = first.wrapping_add((line as u64).wrapping_mul(stride).wrapping_mul(bits) / 8);
                    let align = bits.div_ceil(8);
                    let found = match address.is_multiple_of(align) {
                        true => self.resolve_one(warp, 0, place, *address, bytes),
                        false => Err(Fault::Misaligned { address: *address, align }),
                    };
                    *address = found.map_err(|fault| self.fault(entry, warp, (0, fault), bytes))?;
                }
                Ok((addresses, lines, bytes))
            }
        }
    }
}
