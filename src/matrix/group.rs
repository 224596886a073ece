//! Products of warpgroups: four warps that hold 16 rows of the result each, with matrices in shared memory.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::mem;
use core::ops::Range;

use isa_table::matrix::{BitLayout, SumOf};

use super::arithmetic::{Arithmetic, Factors};
use super::moves::Fragment;
use super::shared::{Reader, SharedMatrix, Stored};
use super::{Layout, Metadata, Reading, indices, positions, reading};
use crate::eval::product::{Elements, Format, Panels, Scratch};
use crate::table::{EffectKind, FormInfo, Free};

/// A matrix product that a statement computes across a warpgroup.
#[derive(Clone, Debug)]
pub struct GroupProduct {
    /// How the elements of `a` are read, if lanes hold it.
    a: Option<Fragment>,
    d: Layout,
    /// How its elements are read and written.
    sums: [Fragment; 2],
    metadata: Option<Layout>,
    place: &'static BitLayout,
    sum: SumOf,
    arithmetic: Arithmetic,
}

/// How a matrix in shared memory is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side {
    /// The word that describes it.
    pub word: u64,
    /// True if its elements are negated.
    pub negative: bool,
    /// True if it is transposed.
    pub transposed: bool,
}

/// Bytes of the part of a row of `a` that one product takes.
const DEPTH: usize = 32;

impl GroupProduct {
    /// Returns the product of a statement: a form, its free modifiers and the SM number of a target.
    ///
    /// # Errors
    ///
    /// Why it cannot be computed.
    pub fn new(form: FormInfo, free: &Free, sm: u16) -> Result<GroupProduct, String> {
        let effect = form.effects_with(free).find(|effect| effect.kind == EffectKind::MultiplyGroup);
        let effect = effect.ok_or_else(|| format!("`{}` is not a matrix product of a warpgroup", form.mnemonic()))?;
        let (of, table) = (Reading { form, free, effect }, form.table());
        let format = |index| {
            let name = of.word(index).unwrap_or_default();
            Format::new(table, name).ok_or_else(|| format!("`.{name}` is not a type of elements"))
        };
        let (a, b) = (format(5)?, format(6)?);
        let (d, sums) = of.side(Some(effect.result), None)?;
        let sum = of.sum(3, sm)?;
        let place = of.place(7).map(|index| &table.layouts[usize::from(index)]).ok_or("a layout is missing")?;
        let layout = |index| of.operand(of.place(index)).map(|operand| of.layout(operand)).transpose();
        let arithmetic = Arithmetic::new([a, b, sums, sums], sum.sum, a.bits, of.word(4).is_some(), None);
        let a = layout(0)?.map(|layout| reading(&(layout, a)));
        let (d, metadata) = ((d, sums), layout(13)?);
        let sums = [reading(&d), Fragment::writing(&d.0)];
        Ok(GroupProduct { a, d: d.0, sums, metadata, place, sum, arithmetic })
    }

    /// Returns how the target sums products.
    pub fn sum(&self) -> SumOf {
        self.sum
    }

    /// Returns true if `a` is sparse, and the product takes metadata.
    pub fn is_sparse(&self) -> bool {
        self.metadata.is_some()
    }

    /// Returns the number of columns of the result, the elements of a row of `a`, and the length of the sums.
    pub fn shape(&self) -> [usize; 3] {
        let stored = DEPTH * 8 / self.arithmetic.a.bits as usize;
        [self.d.columns, stored, if self.is_sparse() { 2 * stored } else { stored }]
    }

    /// Rows of the first factor in shared memory, or columns of the second one.
    fn shared(
        &self,
        side: Side,
        format: Format,
        (lines, length, second): (Range<usize>, usize, bool),
        read: Reader<'_>,
    ) -> Result<Elements, String> {
        let stored = Stored { transposed: side.transposed, negative: side.negative, ..Stored::new(format, false) };
        let turn = |line, place| if second { (place, line) } else { (line, place) };
        let (rows, columns) = turn(lines.len(), length);
        let mut elements = stored.elements(rows, columns);
        let set = |line, place, bits| {
            let (row, column) = turn(line, place);
            elements.words.set(row, column, bits);
        };
        SharedMatrix::new(self.place, side.word)?.read(stored, lines, length, read, set).map_err(outside)?;
        Ok(elements)
    }

    /// Returns `b`.
    ///
    /// # Errors
    ///
    /// If its word is invalid, or shared memory does not have it.
    pub fn right(&self, side: Side, read: Reader<'_>) -> Result<Elements, String> {
        let [n, _, k] = self.shape();
        self.shared(side, self.arithmetic.b, (0..n, k, true), read)
    }

    /// Returns the rows of `a` that belong to a warp of the warpgroup, from shared memory.
    ///
    /// # Errors
    ///
    /// As [`GroupProduct::right`].
    pub fn left(&self, side: Side, warp: usize, read: Reader<'_>) -> Result<Elements, String> {
        let ([_, stored, _], rows) = (self.shape(), self.d.rows);
        self.shared(side, self.arithmetic.a, (warp * rows..(warp + 1) * rows, stored, false), read)
    }

    /// Returns the rows of `a` that belong to a warp, from the words of its registers.
    pub fn held(&self, registers: &[u32], negative: bool) -> Elements {
        let ([_, stored, _], rows) = (self.shape(), self.d.rows);
        let words = match &self.a {
            Some(fragment) => Panels::of(fragment.read(0, registers, Vec::new()), rows, stored),
            None => Panels::new(rows, stored),
        };
        Elements { words, format: self.arithmetic.a, negative }
    }

    /// Returns the words of the registers of `d` of a warp: of the product of its rows of `a` and all columns of `b`,
    /// added to what it held if `keep` is true.
    pub fn multiply(
        &self,
        a: &Elements,
        b: &Elements,
        held: &[u32],
        keep: bool,
        metadata: Option<Metadata<'_>>,
        scratch: &mut Scratch,
    ) -> Vec<u32> {
        let ([n, stored, k], rows) = (self.shape(), self.d.rows);
        let chosen = self.metadata.as_ref().zip(metadata);
        let chosen = chosen.map(|(layout, metadata)| positions(&indices(layout, metadata, rows), [rows, stored, k]));
        let [reading, writing] = &self.sums;
        let c = match keep {
            true => Panels::of(reading.read(0, held, mem::take(&mut scratch.c)), rows, n),
            false => Panels::new(rows, n),
        };
        let factors = Factors { a, b, chosen: chosen.as_deref(), scales: None, power: 0 };
        let d = self.arithmetic.multiply(&factors, &c, scratch).into_tiles();
        let mut registers = vec![0; 32 * self.d.registers];
        writing.write(&d, &mut registers);
        (scratch.c, scratch.d) = (c.into_tiles(), d);
        registers
    }
}

pub(super) fn outside(at: u64) -> String {
    format!("shared memory has no element of a matrix at the offset {at:#x}")
}
