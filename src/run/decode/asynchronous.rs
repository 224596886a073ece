//! Asynchronous effects of a statement, with their registers.

use std::prelude::rust_2024::*;

use ptx_isa::table::{Effect, EffectKind, Evaluator, Traversal};
use ptx_isa::text::resolved::{Instruction, Value};

use super::super::error::Error;
use super::action::{NONE, form_operand};
use super::{Action, Address, Cell, Open, Planning, Where};

type Place = (Where, Address);

/// A function that combines an element in memory with the element that is moved.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub evaluator: Evaluator,
    /// Bytes of an element.
    pub bytes: u8,
    /// Values of the statement's sources.
    pub sources: Vec<Cell>,
}

/// Direction of a tensor copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Load,
    Store,
    Reduce,
    Prefetch,
}

/// A copy of a part of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub direction: Direction,
    pub map: Place,
    pub at: Vec<Cell>,
    pub mode: Traversal,
    pub offsets: Vec<Cell>,
    /// Nothing for a prefetch.
    pub shared: Option<Place>,
    pub blocks: Option<Cell>,
    /// Functions of elements by the type that the tensor map gives them.
    pub changes: Vec<(u8, Change)>,
}

/// An asynchronous effect.
#[derive(Clone, Debug)]
pub(crate) enum Asynchronous {
    Copy {
        to: Place,
        from: Place,
        size: Cell,
        group: u8,
        /// Number of bytes to read; if the flag is true, the cell is a predicate instead, and a true predicate means
        /// none.
        count: Option<(Cell, bool)>,
        /// Mask of the bytes to copy in each 16 bytes.
        bytes: Option<Cell>,
        blocks: Option<Cell>,
        /// Bytes on the left and on the right that are not copied.
        ignored: Option<[Cell; 2]>,
    },
    Reduce {
        to: Place,
        from: Place,
        size: Cell,
        group: u8,
        change: Change,
    },
    Write {
        at: Place,
        bytes: u8,
        cells: Vec<Cell>,
    },
    Update {
        at: Place,
        change: Change,
    },
    Tensor(Tensor),
    Cancel {
        to: Place,
        all: bool,
    },
    Signal {
        after: After,
        at: Place,
        change: Change,
        blocks: Option<Cell>,
        /// 1 for the block of each pair that has the parity of the address's, 2 for all blocks.
        which: u8,
    },
    Commit {
        group: u8,
    },
    Wait {
        group: u8,
        left: Option<Cell>,
        reading: bool,
    },
    Replace {
        map: Place,
        field: u8,
        value: Cell,
        ordinal: Cell,
    },
    Prefetch {
        from: Place,
        size: Cell,
    },
}

/// What is complete before an object is updated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum After {
    /// What the instruction began.
    Instruction,
    /// All prior copies of the thread.
    Copies,
    /// All prior tensor operations of the thread.
    TensorOperations,
}

impl Planning<'_> {
    pub(super) fn asynchronous(
        &mut self,
        open: &mut Open<'_>,
        instruction: &Instruction,
        effect: &'static Effect,
    ) -> Result<Action, Error> {
        let literal = |index: usize| effect.arguments.get(index).copied().filter(|number| *number != NONE).unwrap_or(0);
        let missing = || Error::unsupported("an operand is missing");
        let given = |index: usize| {
            let place = effect.arguments.get(index).copied().filter(|place| *place != NONE).map(usize::from)?;
            let operand = instruction.operands.get(place)?;
            (!matches!(operand.value, Value::Absent)).then_some((place, &operand.value))
        };
        let bits_of = |planning: &Self, place: usize| {
            planning.module.table.ty(form_operand(instruction, place).ty).bits.min(128) as u8
        };
        macro_rules! optional {
            ($index:expr) => {
                match given($index) {
                    Some((place, value)) => {
                        let bits = bits_of(self, place);
                        Some(self.cell(open, value, bits)?)
                    }
                    None => None,
                }
            };
        }
        macro_rules! cell {
            ($index:expr) => {
                optional!($index).ok_or_else(missing)?
            };
        }
        macro_rules! place {
            ($index:expr) => {{
                let (at, value) = given($index).ok_or_else(missing)?;
                let mut place = self.place(open, instruction, at);
                let address = self.address(open, value, &mut place)?;
                (place, address)
            }};
        }
        // Tensor maps have generic addresses, whatever the operand may name.
        macro_rules! map {
            ($index:expr) => {{
                let (place, address) = place!($index);
                (if place == Where::Device { Where::Generic } else { place }, address)
            }};
        }
        macro_rules! list {
            ($index:expr) => {
                match given($index) {
                    Some((place, value)) => {
                        let bits = bits_of(self, place);
                        self.elements(open, value, bits)?
                    }
                    None => Vec::new(),
                }
            };
        }
        let mode = |index: usize| {
            Traversal::ALL
                .get(usize::from(literal(index)))
                .copied()
                .ok_or_else(|| Error::unsupported("a way through tensors is not known"))
        };
        let same =
            |kind: EffectKind| instruction.form.effects_with(&instruction.free).filter(move |other| other.kind == kind);
        let made = match effect.kind {
            EffectKind::BeginCopy => {
                let count = match given(4) {
                    Some((_, value)) => {
                        let predicate = match value {
                            Value::Register(register) => self.layouts[open.number].rows[*register].bits == 1,
                            value => matches!(value, Value::Not(_)),
                        };
                        Some((cell!(4), predicate))
                    }
                    None => None,
                };
                let ignored = match given(7) {
                    Some(_) => Some([cell!(7), cell!(8)]),
                    None => None,
                };
                let (bytes, blocks) = (optional!(5), optional!(6));
                let (to, from) = (place!(0), place!(1));
                Asynchronous::Copy { to, from, size: cell!(2), group: literal(3), count, bytes, blocks, ignored }
            }
            EffectKind::BeginReduce => {
                let (to, from) = (place!(0), place!(1));
                let change = self.change(open, instruction, effect)?;
                Asynchronous::Reduce { to, from, size: cell!(2), group: literal(3), change }
            }
            EffectKind::BeginWrite => {
                let (place, _) = given(1).ok_or_else(missing)?;
                let bytes = bits_of(self, place) / 8;
                Asynchronous::Write { at: place!(0), bytes, cells: list!(1) }
            }
            EffectKind::BeginUpdate => {
                Asynchronous::Update { at: place!(0), change: self.change(open, instruction, effect)? }
            }
            EffectKind::BeginLoadTensor => {
                let mut changes = Vec::new();
                for other in same(EffectKind::ConvertElement) {
                    changes.push((other.arguments[0], self.change(open, instruction, other)?));
                }
                Asynchronous::Tensor(Tensor {
                    direction: Direction::Load,
                    shared: Some(place!(0)),
                    map: map!(1),
                    at: list!(2),
                    mode: mode(3)?,
                    offsets: list!(4),
                    blocks: optional!(5),
                    changes,
                })
            }
            EffectKind::BeginStoreTensor | EffectKind::BeginReduceTensor => {
                let reduces = effect.kind == EffectKind::BeginReduceTensor;
                let mut changes = Vec::new();
                if reduces {
                    // The first of these effects is decoded for all of them; the others have no action.
                    if same(effect.kind).next().is_some_and(|first| !std::ptr::eq(first, effect)) {
                        return Ok(Action::Nothing);
                    }
                    for other in same(effect.kind) {
                        changes.push((other.arguments[4], self.change(open, instruction, other)?));
                    }
                }
                Asynchronous::Tensor(Tensor {
                    direction: if reduces { Direction::Reduce } else { Direction::Store },
                    map: map!(0),
                    at: list!(1),
                    shared: Some(place!(2)),
                    mode: mode(3)?,
                    offsets: Vec::new(),
                    blocks: None,
                    changes,
                })
            }
            EffectKind::PrefetchTensor => Asynchronous::Tensor(Tensor {
                direction: Direction::Prefetch,
                map: map!(0),
                at: list!(1),
                mode: mode(2)?,
                offsets: list!(3),
                shared: None,
                blocks: None,
                changes: Vec::new(),
            }),
            EffectKind::PrefetchBytes => Asynchronous::Prefetch { from: place!(0), size: cell!(1) },
            EffectKind::ReplaceField => {
                let ordinal = optional!(3).unwrap_or(Cell::Constant(0));
                Asynchronous::Replace { map: place!(0), field: literal(1), value: cell!(2), ordinal }
            }
            EffectKind::BeginCancel => Asynchronous::Cancel { to: place!(0), all: literal(1) != 0 },
            EffectKind::Signal | EffectKind::AfterCopies | EffectKind::AfterTensorOperations => {
                let after = match effect.kind {
                    EffectKind::Signal => After::Instruction,
                    EffectKind::AfterCopies => After::Copies,
                    _ => After::TensorOperations,
                };
                let change = self.change(open, instruction, effect)?;
                Asynchronous::Signal { after, at: place!(0), change, blocks: optional!(2), which: literal(3) }
            }
            EffectKind::CommitGroup => Asynchronous::Commit { group: literal(0) },
            EffectKind::WaitGroup => {
                let reading = effect.arguments.get(2).copied().filter(|slot| *slot != NONE);
                let reading = reading.is_some_and(|slot| instruction.modifier(slot).is_some());
                Asynchronous::Wait { group: literal(0), left: optional!(1), reading }
            }
            // Decoded together with the tensor load that it belongs to.
            EffectKind::ConvertElement => return Ok(Action::Nothing),
            _ => return Err(Error::unsupported("an effect is not known")),
        };
        Ok(Action::Asynchronous(Box::new(made)))
    }

    pub(super) fn change(
        &mut self,
        open: &mut Open<'_>,
        instruction: &Instruction,
        effect: &'static Effect,
    ) -> Result<Change, Error> {
        let missing = || Error::unsupported("what an effect computes is not known");
        let evaluator = instruction.form.change(effect).ok_or_else(missing)?;
        let bytes = instruction.form.changed_bits(effect).ok_or_else(missing)? / 8;
        let mut sources = Vec::new();
        for (place, info) in instruction.form.operands().iter().enumerate().filter(|(_, info)| !info.destination) {
            let value = &instruction.operands[place].value;
            let bits = self.module.table.ty(info.ty).bits.min(128) as u8;
            let read = evaluator.sources().contains(&(sources.len() as u8));
            sources.push(match read && !matches!(value, Value::Absent) {
                true => self.cell(open, value, bits)?,
                false => Cell::Constant(0),
            });
        }
        Ok(Change { evaluator, bytes, sources })
    }
}
