//! Decoding of effects on matrices that a warp holds.

use std::prelude::rust_2024::*;
use std::sync::Arc;

use ptx_isa::matrix::{Holder, Layout, Product};
use ptx_isa::table::{Effect, EffectKind};
use ptx_isa::text::resolved::{Instruction, Value};

use super::action::{NONE, form_operand};
use super::{Action, Address, Cell, Error, Open, Planning, Where};

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
        /// How elements in memory are widened.
        narrow: Option<Narrow>,
        pieces: Vec<Piece>,
        cells: Vec<Cell>,
    },
    Transpose {
        layout: Arc<Layout>,
        from: Vec<Cell>,
        to: Vec<Cell>,
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

/// Bits that are adjacent both in memory and in a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Index of what is adjacent in memory: a row or column.
    pub line: usize,
    /// First bit behind the start of the line.
    pub at: usize,
    /// Width in memory in bits.
    pub bits: usize,
    pub holder: Holder,
    /// Width in the register in bits.
    pub held: u32,
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
                Matrix::Transpose { layout: layout(from)?, from: cells(self, from)?, to: cells(self, result()?)? }
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
                let pieces = pieces(&layout, transposed || columns, addressed, narrow);
                Matrix::Access { layout, place, at, order, transposed, write, narrow, pieces, cells }
            }
        };
        // All lanes of the warp take part.
        open.effect(None, Action::Converge { mask: Cell::Constant(u32::MAX.into()), together: true });
        Ok(Action::Matrix(Box::new(matrix)))
    }
}

/// The pieces of matrices whose elements have their place in memory by column and row, or by row and column if they are `turned`. Each matrix
/// has lines of its own, aligned to their length, if they are `addressed`; otherwise matrices are copies of each other.
fn pieces(layout: &Layout, turned: bool, addressed: bool, narrow: Option<Narrow>) -> Vec<Piece> {
    let bits = narrow.map_or(layout.bits, |narrow| narrow.width.into()) as usize;
    let (count, length) = if turned { (layout.columns, layout.rows) } else { (layout.rows, layout.columns) };
    let mut pieces: Vec<Piece> = Vec::new();
    for (matrix, line) in (0..layout.matrices).flat_map(|matrix| (0..count).map(move |line| (matrix, line))) {
        let first = pieces.len();
        for element in 0..length {
            let (row, column) = if turned { (element, line) } else { (line, element) };
            let holder = layout.holders[(matrix * layout.rows + row) * layout.columns + column];
            let line = if addressed { matrix * count + line } else { line };
            pieces.push(Piece { line, at: element * bits, bits, holder, held: layout.bits });
        }
        // Adjacent ones are moved together, as long as they are aligned.
        while addressed && narrow.is_none() && (pieces.len() - first).is_multiple_of(2) {
            let pairs = pieces[first..].as_chunks::<2>().0;
            let joined = |[low, high]: &[Piece; 2]| {
                let behind = Holder { bit: low.holder.bit + low.bits as u8, ..low.holder };
                (high.holder == behind && low.bits < 32).then(|| Piece {
                    bits: 2 * low.bits,
                    held: 2 * low.held,
                    ..*low
                })
            };
            let Some(joined) = pairs.iter().map(joined).collect::<Option<Vec<_>>>() else { break };
            if joined.is_empty() {
                break;
            }
            pieces.splice(first.., joined);
        }
    }
    pieces
}
