//! Decoding of effects on warpgroups and tensor memory.

use std::format;
use std::prelude::rust_2024::*;
use std::sync::Arc;

use ptx_isa::matrix::Layout;
use ptx_isa::matrix::group::GroupProduct;
use ptx_isa::matrix::tensor::{TensorProduct, is_of_pair};
use ptx_isa::table::matrix::BitLayout;
use ptx_isa::table::{Effect, EffectKind};
use ptx_isa::text::resolved::{Instruction, Value};

use super::action::{NONE, form_operand};
use super::matrix::Narrow;
use super::{Action, Address, Cell, Error, Meeting, Open, Planning, Where};

/// A product of a warpgroup.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub product: Arc<GroupProduct>,
    pub left: Left,
    /// The word that describes the second factor.
    pub right: Cell,
    pub keep: Cell,
    /// Signs of the factors; those that are negative negate.
    pub signs: [Option<Cell>; 2],
    pub transposed: [Option<Cell>; 2],
    /// Sparsity metadata and its selector.
    pub metadata: Option<[Cell; 2]>,
    pub to: Vec<Cell>,
}

/// The first factor of a product of a warpgroup.
#[derive(Clone, Debug)]
pub(crate) enum Left {
    Held(Vec<Cell>),
    /// The word that describes it.
    Shared(Cell),
}

/// An operation on tensor memory.
#[derive(Clone, Debug)]
pub(crate) enum Tensor {
    Allocate {
        place: Where,
        at: Address,
        columns: Cell,
        /// True if it allocates in both blocks of a pair.
        pair: bool,
    },
    Free {
        at: Cell,
        columns: Cell,
    },
    /// Reads or writes registers.
    Access {
        layout: Arc<Layout>,
        at: Address,
        /// Columns to the second matrix.
        distance: u64,
        packed: bool,
        write: bool,
        cells: Vec<Cell>,
    },
    Copy {
        at: Address,
        /// The word that describes what is copied.
        from: Cell,
        layout: &'static BitLayout,
        rows: usize,
        words: usize,
        copies: usize,
        step: usize,
        group: usize,
        spread: usize,
        narrow: Option<Narrow>,
        /// True if it copies in both blocks of a pair.
        pair: bool,
    },
    Multiply {
        product: Arc<TensorProduct>,
        d: Address,
        left: LeftFactor,
        right: Cell,
        shape: Cell,
        keep: Cell,
        off: Vec<Cell>,
        power: Option<Cell>,
        zero: Option<Cell>,
        metadata: Option<Address>,
        scales: Option<[Address; 2]>,
    },
}

/// The first factor of a product in tensor memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeftFactor {
    Shared(Cell),
    Tensor(Address),
}

/// The operands of an effect.
struct Given<'p, 'm, 'o, 'c> {
    planning: &'p mut Planning<'m>,
    open: &'o mut Open<'c>,
    instruction: &'p Instruction,
    effect: &'static Effect,
}

fn missing() -> Error {
    Error::unsupported("an operand is missing")
}

impl Given<'_, '_, '_, '_> {
    /// The place of an operand that is written.
    fn place(&self, index: usize) -> Option<usize> {
        let place = self.effect.arguments.get(index).copied().filter(|place| *place != NONE).map(usize::from)?;
        let written = self.instruction.operands.get(place)?;
        (!matches!(written.value, Value::Absent)).then_some(place)
    }

    fn number(&self, index: usize) -> usize {
        self.effect.arguments.get(index).copied().filter(|number| *number != NONE).unwrap_or(0).into()
    }

    fn at(&mut self, place: usize) -> Result<Vec<Cell>, Error> {
        let bits = self.planning.module.table.ty(form_operand(self.instruction, place).ty).bits.min(64) as u8;
        self.planning.elements(self.open, &self.instruction.operands[place].value, bits)
    }

    fn cells(&mut self, index: usize) -> Result<Option<Vec<Cell>>, Error> {
        self.place(index).map(|place| self.at(place)).transpose()
    }

    fn optional(&mut self, index: usize) -> Result<Option<Cell>, Error> {
        Ok(self.cells(index)?.and_then(|cells| cells.first().copied()))
    }

    fn cell(&mut self, index: usize) -> Result<Cell, Error> {
        self.optional(index)?.ok_or_else(missing)
    }

    fn result(&mut self) -> Result<Vec<Cell>, Error> {
        match self.effect.result {
            NONE => Err(missing()),
            place => self.at(place.into()),
        }
    }

    fn address(&mut self, index: usize) -> Result<Option<(Where, Address)>, Error> {
        let Some(place) = self.place(index) else { return Ok(None) };
        let mut space = self.planning.place(self.open, self.instruction, place);
        let at = self.planning.address(self.open, &self.instruction.operands[place].value, &mut space)?;
        Ok(Some((space, at)))
    }

    fn layout(&self, index: usize) -> Result<&'static BitLayout, Error> {
        let layouts = self.planning.module.table.layouts;
        layouts.get(self.number(index)).ok_or_else(missing)
    }
}

impl Planning<'_> {
    /// Decodes a product of a warpgroup.
    pub(super) fn group(
        &mut self,
        open: &mut Open<'_>,
        instruction: &Instruction,
        effect: &'static Effect,
    ) -> Result<Action, Error> {
        let product = GroupProduct::new(instruction.form, &instruction.free, self.sm()).map_err(Error::unsupported)?;
        let mut given = Given { planning: self, open, instruction, effect };
        let left = match given.cells(0)? {
            Some(cells) => Left::Held(cells),
            None => Left::Shared(given.cell(1)?),
        };
        let metadata = match product.is_sparse() {
            true => Some([given.cell(13)?, given.cell(14)?]),
            false => None,
        };
        let group = Group {
            product: Arc::new(product),
            left,
            right: given.cell(2)?,
            keep: given.cell(8)?,
            signs: [given.optional(9)?, given.optional(10)?],
            transposed: [given.optional(11)?, given.optional(12)?],
            metadata,
            to: given.result()?,
        };
        open.effect(None, Action::ConvergeGroup);
        Ok(Action::Group(Box::new(group)))
    }

    /// Decodes an effect on tensor memory.
    pub(super) fn tensor(
        &mut self,
        open: &mut Open<'_>,
        instruction: &Instruction,
        effect: &'static Effect,
    ) -> Result<Action, Error> {
        let mut given = Given { planning: self, open, instruction, effect };
        let pair = is_of_pair(instruction.form, &instruction.free);
        let tensor = match effect.kind {
            EffectKind::AllocateTensor => {
                let (place, at) = given.address(0)?.ok_or_else(missing)?;
                Tensor::Allocate { place, at, columns: given.cell(1)?, pair }
            }
            EffectKind::FreeTensor => Tensor::Free { at: given.cell(0)?, columns: given.cell(1)? },
            EffectKind::CopyToTensor => {
                let (_, at) = given.address(0)?.ok_or_else(missing)?;
                let [rows, words, copies, step, group, spread, width, shift] =
                    std::array::from_fn(|index| given.number(3 + index));
                let narrow = Narrow { width: width as u8, shift: shift as u8, signed: false };
                let narrow = (width != 0).then_some(narrow);
                let layout = given.layout(2)?;
                let from = given.cell(1)?;
                Tensor::Copy { at, from, layout, rows, words, copies, step, group, spread, narrow, pair }
            }
            EffectKind::MultiplyTensor => {
                let product = TensorProduct::new(instruction.form, &instruction.free, given.planning.sm())
                    .map_err(Error::unsupported)?;
                let left = match given.address(2)? {
                    Some((_, at)) => LeftFactor::Tensor(at),
                    None => LeftFactor::Shared(given.cell(1)?),
                };
                let scales = match product.is_scaled() {
                    true => {
                        let [a, b] = [given.address(10)?, given.address(11)?];
                        Some([a.ok_or_else(missing)?.1, b.ok_or_else(missing)?.1])
                    }
                    false => None,
                };
                Tensor::Multiply {
                    product: Arc::new(product),
                    d: given.address(0)?.ok_or_else(missing)?.1,
                    left,
                    right: given.cell(3)?,
                    shape: given.cell(4)?,
                    keep: given.cell(5)?,
                    off: given.cells(6)?.unwrap_or_default(),
                    power: given.optional(7)?,
                    zero: given.optional(9)?,
                    metadata: given.address(8)?.map(|(_, at)| at),
                    scales,
                }
            }
            kind => {
                let write = kind == EffectKind::WriteTensor;
                let held = if write { given.place(1).ok_or_else(missing)? } else { effect.result.into() };
                let operand = form_operand(instruction, held);
                let layout = Layout::new(instruction.form, operand, &instruction.free);
                let layout = layout.ok_or_else(|| {
                    Error::unsupported(format!("where the elements of `{}` are is not described", operand.name))
                })?;
                let last = if write { 2 } else { 1 };
                let distance = match given.optional(last)? {
                    Some(Cell::Constant(columns)) => columns,
                    _ => 0,
                };
                let slot = effect.arguments.get(last + 1).copied().filter(|slot| *slot != NONE);
                Tensor::Access {
                    layout: Arc::new(layout),
                    at: given.address(0)?.ok_or_else(missing)?.1,
                    distance,
                    packed: slot.is_some_and(|slot| instruction.modifier(slot).is_some()),
                    write,
                    cells: given.at(held)?,
                }
            }
        };
        // A copy or a product is of one thread, anything else of the warp.
        if !matches!(tensor, Tensor::Copy { .. } | Tensor::Multiply { .. }) {
            open.effect(None, Action::Converge { mask: Cell::Constant(u32::MAX.into()), meeting: Meeting::Statement });
        }
        Ok(Action::Tensor(Box::new(tensor)))
    }
}
