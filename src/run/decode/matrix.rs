//! Decoding of effects on matrices that a warp holds.

use std::prelude::rust_2024::*;
use std::sync::Arc;

use ptx_isa::matrix::moves::{Moves, Place};
use ptx_isa::matrix::{Holder, Layout, Product};
use ptx_isa::table::{Effect, EffectKind};
use ptx_isa::text::resolved::{Instruction, Value};

use super::action::{NONE, form_operand};
use super::{Action, Address, Cell, Error, Meeting, Open, Planning, Where};

/// An operation of a warp on matrices.
#[derive(Clone, Debug)]
pub(crate) enum Matrix {
    /// `d = a × b + c`
    Multiply {
        product: Arc<Product>,
        factors: [Vec<Cell>; 3],
        to: Vec<Cell>,
        /// Register, byte and lane of the scale factors of `a` and `b`.
        scales: Option<[[Cell; 3]; 2]>,
        /// Sparsity metadata and its selector.
        metadata: Option<[Cell; 2]>,
    },
    /// Reads or writes memory.
    Access {
        layout: Arc<Layout>,
        place: Where,
        at: Address,
        order: Order,
        transposed: bool,
        write: bool,
        moved: Moved,
        cells: Vec<Cell>,
    },
    Transpose {
        moves: Moves,
        from: Vec<Cell>,
        to: Vec<Cell>,
    },
}

/// How elements are moved between memory and registers.
#[derive(Clone, Debug)]
pub(crate) enum Moved {
    /// Between the words of lines and those of registers.
    Words {
        moves: Moves,
        /// Bytes of a line.
        bytes: usize,
    },
    /// One by one: those that are widened, or have more bits than a word.
    Pieces {
        narrow: Option<Narrow>,
        /// Bits of an element in memory.
        bits: usize,
        pieces: Vec<Piece>,
    },
}

/// Elements in memory with fewer bits than those in registers, packed from the start of each row on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Narrow {
    pub width: u8,
    /// By how many bits they are shifted left.
    pub shift: u8,
    /// True if the elements are sign-extended.
    pub signed: bool,
}

/// An element in memory and in a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Index of what is adjacent in memory: a row or column.
    pub line: usize,
    /// First bit behind the start of the line.
    pub at: usize,
    pub holder: Holder,
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Lanes have the addresses of its rows.
    Addressed,
    /// Consecutive rows, or columns, are `stride` elements apart; adjacent without a stride.
    Strided { stride: Option<Cell>, columns: bool },
}

impl Planning<'_> {
    /// Decodes an effect on matrices.
    pub(super) fn matrix(
        &mut self,
        open: &mut Open<'_>,
        instruction: &Instruction,
        effect: &'static Effect,
    ) -> Result<Action, Error> {
        let form = instruction.form;
        let given = |index: usize| effect.arguments.get(index).copied().filter(|place| *place != NONE).map(usize::from);
        let layout = |place: usize| {
            let operand = form_operand(instruction, place);
            let layout = Layout::new(form, operand, &instruction.free);
            layout.map(Arc::new).ok_or_else(|| {
                Error::unsupported(format!("where the elements of `{}` are is not described", operand.name))
            })
        };
        let missing = || Error::unsupported("an operand is missing");
        let operand = |index: usize| given(index).ok_or_else(missing);
        let mut cells = |this: &mut Self, place: usize| {
            let bits = this.module.table.ty(form_operand(instruction, place).ty).bits.min(64) as u8;
            this.elements(open, &instruction.operands[place].value, bits)
        };
        let result = || (effect.result != NONE).then(|| usize::from(effect.result)).ok_or_else(missing);
        let matrix = match effect.kind {
            EffectKind::Multiply
            | EffectKind::MultiplySparse
            | EffectKind::MultiplyScaled
            | EffectKind::MultiplySparseScaled => {
                let product = Product::new(form, &instruction.free, self.sm()).map_err(Error::unsupported)?;
                let scales = match product.is_scaled() {
                    true => {
                        let mut all = Vec::new();
                        for index in 8..14 {
                            all.extend(cells(self, operand(index)?)?);
                        }
                        let [a, b, c, d, e, f] = all[..] else { return Err(missing()) };
                        Some([[a, b, c], [d, e, f]])
                    }
                    false => None,
                };
                let mut factors = [0, 1, 2].map(|_| Vec::new());
                for (index, factor) in factors.iter_mut().enumerate() {
                    *factor = cells(self, operand(index)?)?;
                }
                let metadata = match product.is_sparse() {
                    true => {
                        // Syntax lines have the selector by one of two names.
                        let first = if scales.is_some() { 14 } else { 7 };
                        let selector = given(first + 1).or_else(|| given(first + 2)).ok_or_else(missing)?;
                        let [from, selector] = [operand(first)?, selector].map(|place| cells(self, place));
                        let one = |cells: Vec<Cell>| cells.first().copied().ok_or_else(missing);
                        Some([one(from?)?, one(selector?)?])
                    }
                    false => None,
                };
                let to = cells(self, result()?)?;
                Matrix::Multiply { product: Arc::new(product), factors, to, scales, metadata }
            }
            EffectKind::Transpose => {
                let from = operand(0)?;
                let of = layout(from)?;
                let elements = (0..of.rows).flat_map(|row| (0..of.columns).map(move |column| (row, column)));
                let holder = |row: usize, column: usize| of.holders[row * of.columns + column].place();
                let elements = elements.map(|(row, column)| (holder(column, row), holder(row, column)));
                let moves = Moves::new(of.registers * 32, of.bits, elements);
                Matrix::Transpose { moves, from: cells(self, from)?, to: cells(self, result()?)? }
            }
            kind => {
                let write = matches!(kind, EffectKind::WriteRows | EffectKind::WriteMatrix | EffectKind::WriteColumns);
                let addressed = matches!(kind, EffectKind::ReadRows | EffectKind::WriteRows);
                let held = if write { operand(1)? } else { result()? };
                let last = match kind {
                    EffectKind::ReadRows => 4,
                    _ if write => 2,
                    _ => 1,
                };
                let number = |index: usize| given(index).unwrap_or(0) as u8;
                let narrow = Narrow { width: number(1), shift: number(2), signed: number(3) != 0 };
                let narrow = (kind == EffectKind::ReadRows && narrow.width != 0).then_some(narrow);
                let stride = given(last).filter(|_| !addressed);
                let stride = stride.filter(|place| !matches!(instruction.operands[*place].value, Value::Absent));
                let stride = match stride {
                    Some(place) => cells(self, place)?.first().copied(),
                    None => None,
                };
                let columns = matches!(kind, EffectKind::ReadColumns | EffectKind::WriteColumns);
                let transposed =
                    addressed && given(last).is_some_and(|slot| instruction.modifier(slot as u8).is_some());
                let cells = cells(self, held)?;
                let layout = layout(held)?;
                let at = operand(0)?;
                let mut place = self.place(open, instruction, at);
                let at = self.address(open, &instruction.operands[at].value, &mut place)?;
                let order = if addressed { Order::Addressed } else { Order::Strided { stride, columns } };
                let moved = moved(&layout, transposed || columns, addressed, write, narrow);
                Matrix::Access { layout, place, at, order, transposed, write, moved, cells }
            }
        };
        // All lanes of the warp take part.
        open.effect(None, Action::Converge { mask: Cell::Constant(u32::MAX.into()), meeting: Meeting::Statement });
        Ok(Action::Matrix(Box::new(matrix)))
    }
}

/// How the elements of matrices are moved that have their place in memory by column and row, or by row and column if they are `turned`.
/// Each matrix has lines of its own, aligned to their length, if they are `addressed`; otherwise matrices are copies of each other.
fn moved(layout: &Layout, turned: bool, addressed: bool, write: bool, narrow: Option<Narrow>) -> Moved {
    let bits = narrow.map_or(layout.bits, |narrow| narrow.width.into()) as usize;
    let (count, length) = if turned { (layout.columns, layout.rows) } else { (layout.rows, layout.columns) };
    // Of several copies the last one stays.
    let first = if write && !addressed { layout.matrices - 1 } else { 0 };
    let mut pieces: Vec<Piece> = Vec::new();
    for (matrix, line) in (first..layout.matrices).flat_map(|matrix| (0..count).map(move |line| (matrix, line))) {
        for element in 0..length {
            let (row, column) = if turned { (element, line) } else { (line, element) };
            let holder = layout.holders[(matrix * layout.rows + row) * layout.columns + column];
            let line = if addressed { matrix * count + line } else { line };
            pieces.push(Piece { line, at: element * bits, holder });
        }
    }
    if narrow.is_some() || layout.bits > u32::BITS {
        return Moved::Pieces { narrow, bits, pieces };
    }
    let bytes = length * bits / 8;
    let words = bytes.div_ceil(4);
    let lines = if addressed { layout.matrices * count } else { count };
    let places = pieces.iter().map(|piece| {
        let place = Place { word: piece.line * words + piece.at / 32, bit: piece.at as u32 % 32 };
        (place, piece.holder.place())
    });
    let moves = match write {
        true => Moves::new(lines * words, layout.bits, places.map(|(memory, register)| (register, memory))),
        false => Moves::new(layout.registers * 32, layout.bits, places),
    };
    Moved::Words { moves, bytes }
}
