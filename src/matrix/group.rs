//! Products of warpgroups: four warps that hold 16 rows of the result each, with matrices in shared memory.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use isa_table::matrix::{BitLayout, SumOf};

use super::arithmetic::{Arithmetic, Factors};
use super::shared::{Reader, SharedMatrix, Stored};
use super::{Lanes, Layout, Metadata, Reading, elements, positions};
use crate::eval::product::{Elements, Format};
use crate::table::{EffectKind, FormInfo, Free};

/// A matrix product that a statement computes across a warpgroup.
#[derive(Clone, Debug)]
pub struct GroupProduct {
    /// Layout of `a`, if lanes hold it.
    a: Option<Layout>,
    d: Layout,
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
        Ok(GroupProduct { a: layout(0)?, d, metadata: layout(13)?, place, sum, arithmetic })
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

    fn side(&self, side: Side, format: Format) -> Result<(SharedMatrix, Stored), String> {
        let stored = Stored { transposed: side.transposed, negative: side.negative, ..Stored::new(format, false) };
        Ok((SharedMatrix::new(self.place, side.word)?, stored))
    }

    /// Returns `b`, column by column.
    ///
    /// # Errors
    ///
    /// If its word is invalid, or shared memory does not have it.
    pub fn right(&self, side: Side, read: Reader<'_>) -> Result<Elements, String> {
        let [n, _, k] = self.shape();
        let (matrix, stored) = self.side(side, self.arithmetic.b)?;
        matrix.read(stored, 0..n, k, read).map_err(outside)
    }

    /// Returns the rows of `a` that belong to a warp of the warpgroup, from shared memory.
    ///
    /// # Errors
    ///
    /// As [`GroupProduct::right`].
    pub fn left(&self, side: Side, warp: usize, read: Reader<'_>) -> Result<Elements, String> {
        let [_, stored, _] = self.shape();
        let rows = self.d.rows;
        let (matrix, how) = self.side(side, self.arithmetic.a)?;
        matrix.read(how, warp * rows..(warp + 1) * rows, stored, read).map_err(outside)
    }

    /// Returns the rows of `a` that belong to a warp, from its registers.
    pub fn held(&self, registers: &[Lanes], negative: bool) -> Elements {
        let Some(layout) = &self.a else {
            return Elements { words: Vec::new(), format: self.arithmetic.a, negative };
        };
        Elements { negative, ..elements(&layout.holders, layout.bits, self.arithmetic.a, registers) }
    }

    /// Returns the registers of `d` of a warp: of the product of its rows of `a` and all columns of `b`, added to what
    /// it held if `keep` is true.
    pub fn multiply(
        &self,
        a: &Elements,
        b: &Elements,
        held: &[Lanes],
        keep: bool,
        metadata: Option<Metadata<'_>>,
    ) -> Vec<Lanes> {
        let [n, stored, k] = self.shape();
        let rows = self.d.rows;
        let chosen = self.metadata.as_ref().zip(metadata);
        let chosen = chosen.map(|(layout, metadata)| positions(layout, metadata, [rows, stored, k]));
        let c: Vec<u32> = (0..rows * n).map(|index| if keep { self.d.get(held, index) as u32 } else { 0 }).collect();
        let factors = Factors { a, b, length: k, chosen: chosen.as_deref(), scales: None, power: 0 };
        let mut d = vec![[0; 32]; self.d.registers];
        for (index, bits) in self.arithmetic.multiply(&factors, &c).into_iter().enumerate() {
            self.d.set(&mut d, index, u64::from(bits));
        }
        d
    }
}

pub(super) fn outside(at: u64) -> String {
    format!("shared memory has no element of a matrix at the offset {at:#x}")
}
