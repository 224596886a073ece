//! Execution of effects on matrices: products across a warp, and loads and stores of matrices.

#![allow(unsafe_code, reason = "the addresses of matrices are checked here before memory is accessed")]

use std::prelude::rust_2024::*;
use std::vec;

use ptx_isa::matrix::{Lanes, Layout, Metadata, ScaleSource};
use ptx_isa::warp::Row;

use super::super::block::{Block, Entry};
use super::super::decode::matrix::{Matrix, Order, Piece};
use super::super::decode::{Address, Cell, Where};
use super::super::error::{Error, ErrorKind};
use super::super::raw;
use super::Guard;

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
                let message = "all 32 lanes of a warp have to execute this together";
                return Err(self.error(entry.at, warp, lane, Error::new(ErrorKind::Convergence, message)));
            }
            match matrix {
                Matrix::Multiply { product, factors, to, scales, metadata } => {
                    let [a, b, c] = [0, 1, 2].map(|index| self.held(warp, &factors[index]));
                    let scales = scales.map(|own| own.map(|cells| self.held(warp, &cells)));
                    let source = |held: &'_ Vec<Lanes>| (held[1][0] as u8, held[2][0] as u8);
                    let scales = scales.as_ref().map(|own| {
                        [0, 1].map(|side: usize| {
                            let (byte, lane) = source(&own[side]);
                            ScaleSource { register: &own[side][0], byte, lane }
                        })
                    });
                    let metadata = metadata.map(|cells| self.held(warp, &cells));
                    let d = match &metadata {
                        Some(held) => {
                            let metadata = Metadata { register: &held[0], selector: held[1][0] as u8 };
                            product.multiply_sparse([&a, &b, &c], metadata, scales)
                        }
                        None => product.multiply([&a, &b, &c], scales),
                    };
                    self.hold(warp, to, &d);
                }
                Matrix::Transpose { layout, from, to } => {
                    let held = self.held(warp, from);
                    let mut turned = vec![[0; 32]; layout.registers];
                    for index in 0..layout.rows * layout.columns {
                        let (row, column) = (index / layout.columns, index % layout.columns);
                        layout.set(&mut turned, index, layout.get(&held, column * layout.columns + row));
                    }
                    self.hold(warp, to, &turned);
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

    fn matrix_access(&mut self, entry: &Entry, warp: usize, matrix: &Matrix) -> Result<(), Error> {
        let Matrix::Access { layout, place, at, order, transposed, write, narrow, pieces, cells } = matrix else {
            return Ok(());
        };
        let lines = self.lines(entry, warp, (layout, *transposed), (*place, at), *order)?;
        let mut registers = if *write { self.held(warp, cells) } else { vec![[0; 32]; layout.registers] };
        for Piece { line, at, bits, holder, held } in pieces {
            let (byte, shift) = (lines[*line] as usize + at / 8, at % 8);
            let bytes = bits.div_ceil(8) as u8;
            // SAFETY: `lines` found the bytes of the whole line in an allocation of the launch.
            let mut word = unsafe { raw::load(byte, bytes) };
            if let Some(narrow) = narrow {
                if shift + bits > 8 {
                    // SAFETY: as above; the element ends in the next byte.
                    word |= unsafe { raw::load(byte + 1, 1) } << 8;
                }
                let above = 64 - u32::from(narrow.width);
                let value = word >> shift << above;
                let value = if narrow.signed { (value.cast_signed() >> above).cast_unsigned() } else { value >> above };
                holder.set(&mut registers, *held, value << narrow.shift);
            } else if *write {
                let mask = (u64::MAX >> (64 - held)) << shift;
                let value = word & !mask | holder.get(&registers, *held) << shift;
                // SAFETY: as above.
                unsafe { raw::store(byte, bytes, value) };
            } else {
                holder.set(&mut registers, *held, word >> shift);
            }
        }
        if !*write {
            self.hold(warp, cells, &registers);
        }
        Ok(())
    }

    /// The host addresses of the rows or columns of a matrix: of what is adjacent in memory.
    fn lines(
        &mut self,
        entry: &Entry,
        warp: usize,
        (layout, transposed): (&Layout, bool),
        (place, at): (Where, &Address),
        order: Order,
    ) -> Result<Vec<u64>, Error> {
        let mut addresses = self.addresses(warp, at);
        match order {
            Order::Addressed => {
                let (lines, length) = match transposed {
                    true => (layout.columns, layout.rows),
                    false => (layout.rows, layout.columns),
                };
                let (lines, bytes) = (layout.matrices * lines, length as u64 * u64::from(layout.bits) / 8);
                let mask = u32::MAX >> (32 - lines.min(32));
                self.resolve(warp, mask, place, &mut addresses, bytes, bytes.next_power_of_two())
                    .map_err(|fault| self.fault(entry, warp, fault, bytes))?;
                Ok(addresses[..lines.min(32)].to_vec())
            }
            Order::Strided { stride, columns } => {
                let (lines, length) =
                    if columns { (layout.columns, layout.rows) } else { (layout.rows, layout.columns) };
                let bits = u64::from(layout.bits);
                let stride = stride.map_or(length as u64, |cell| self.get(warp, 0, cell));
                let bytes = length as u64 * bits / 8;
                let resolved = (0..lines as u64).map(|line| {
                    let address = addresses[0].wrapping_add(line.wrapping_mul(stride).wrapping_mul(bits) / 8);
                    let aligned = address.is_multiple_of(bits.div_ceil(8));
                    let found = match aligned {
                        true => self.resolve_one(warp, 0, place, address, bytes),
                        false => Err((ErrorKind::Misaligned, address)),
                    };
                    found.map_err(|fault| self.fault(entry, warp, (0, fault), if aligned { bytes } else { bits / 8 }))
                });
                resolved.collect()
            }
        }
    }
}
