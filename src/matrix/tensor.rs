//! Products in tensor memory: a word describes their shape and types, others where the factors are.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use isa_table::matrix::{BitLayout, SumOf};

use super::Reading;
use super::arithmetic::{Arithmetic, Factors, Scales};
use super::group::outside;
use super::shared::{Reader, SharedMatrix, Stored};
use crate::eval::product::{Format, Number, Panels, Scratch};
use crate::table::{EffectKind, FormInfo, Free, NO_OPERAND};

/// Lanes and columns of the tensor memory of a block.
pub const LANES: usize = 128;
/// Columns of 32 bits of the tensor memory of a block.
pub const COLUMNS: usize = 512;

/// A cell of tensor memory: 32 bits.
pub trait TensorMemory {
    /// Returns the bits of a cell; `None` if the block does not have it.
    fn get(&self, lane: usize, column: usize) -> Option<u32>;
    /// Sets the bits of a cell; returns false if the block does not have it.
    fn set(&mut self, lane: usize, column: usize, bits: u32) -> bool;
}

/// A product that a statement computes in tensor memory.
#[derive(Clone, Debug)]
pub struct TensorProduct {
    place: &'static BitLayout,
    shape: &'static BitLayout,
    sum: SumOf,
    /// True if small matrices are spread over all lanes.
    stationary: bool,
    /// Number of scale factors of a row or column.
    scales: usize,
    packed: bool,
    /// Number of blocks that hold parts of the matrices.
    blocks: usize,
    /// Three formats of results, two of scale factors, and those of elements.
    formats: Vec<Option<Format>>,
}

/// Location of the first factor of a product.
#[derive(Clone, Copy, Debug)]
pub enum Left {
    /// In shared memory, as this word describes it.
    Shared(u64),
    /// In tensor memory, at this address.
    Tensor(u32),
}

/// Operands of a product, as the issuing thread provides them.
#[derive(Clone, Debug)]
pub struct Given {
    /// Address of the result.
    pub d: u32,
    /// The first factor.
    pub a: Left,
    /// The word that describes the second factor.
    pub b: u64,
    /// The word that describes shape and types.
    pub shape: u32,
    /// True if the product is added to the previous value of the result.
    pub keep: bool,
    /// Masks of lanes that keep their previous value, for each block.
    pub off: [u128; 2],
    /// Exponent of the power of two by which the previous value of the result is divided.
    pub power: u32,
    /// Addresses of the scale factors.
    pub scales: [u32; 2],
}

/// Memory of a block: the tensor memory, and the shared memory that holds factors.
pub struct BlockMemory<'b, M> {
    /// Its tensor memory.
    pub tensor: &'b mut M,
    /// Reads its shared memory.
    pub shared: Reader<'b>,
}

/// A shape with its types, as a word describes it.
struct Shape {
    /// Rows of the result in each block.
    rows: usize,
    columns: usize,
    a: Stored,
    b: Stored,
    arithmetic: Arithmetic,
    /// Bytes of the first scale factor in a cell.
    parts: [u64; 2],
}

/// Lane and column of an address.
fn split(address: u32) -> (usize, usize) {
    ((address >> 16) as usize, (address & 0xffff) as usize)
}

/// Returns true if an operation on tensor memory concerns a pair of blocks: a form with its free modifiers.
pub fn is_of_pair(form: FormInfo, free: &Free) -> bool {
    form.effects_with(free).any(|effect| effect.kind == EffectKind::PairBlocks)
}

impl TensorProduct {
    /// Returns the product of a statement: a form, its free modifiers and the SM number of a target.
    ///
    /// # Errors
    ///
    /// Why it cannot be computed.
    pub fn new(form: FormInfo, free: &Free, sm: u16) -> Result<TensorProduct, String> {
        let effect = form.effects_with(free).find(|effect| effect.kind == EffectKind::MultiplyTensor);
        let effect = effect.ok_or_else(|| format!("`{}` is not a product in tensor memory", form.mnemonic()))?;
        let (of, table) = (Reading { form, free, effect }, form.table());
        let layout = |index| {
            of.place(index).map(|index| &table.layouts[usize::from(index)]).ok_or("a layout is missing".to_string())
        };
        let number = |index| usize::from(of.place(index).unwrap_or(0));
        let ty = |index: &u8| (*index != NO_OPERAND).then(|| Format::of(&table.types[usize::from(*index)])).flatten();
        let formats = effect.arguments.iter().skip(18).map(ty).collect();
        Ok(TensorProduct {
            place: layout(12)?,
            shape: layout(13)?,
            sum: of.sum(14, sm)?,
            stationary: number(15) != 0,
            scales: number(16),
            packed: number(17) != 0,
            blocks: if is_of_pair(form, free) { 2 } else { 1 },
            formats,
        })
    }

    /// Returns how the target sums products.
    pub fn sum(&self) -> SumOf {
        self.sum
    }

    /// Returns the number of blocks whose memory it takes: 2 for a pair, each of which holds a half of the rows of the first factor and the
    /// result, and of the columns of the second factor.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns true if it takes scale factors.
    pub fn is_scaled(&self) -> bool {
        self.scales != 0
    }

    fn shape(&self, word: u32) -> Result<Shape, String> {
        let field = |name: &str| self.shape.get(name, word.into()).unwrap_or(0);
        let format = |first: usize, name: &str| {
            let value = field(name);
            let found = self.formats.get(first + value as usize).copied().flatten();
            found.ok_or_else(|| format!("the instruction descriptor has an invalid `{name}`: {value}"))
        };
        if field("sparse") != 0 || field("depth") != 0 || field("greatest_shift") != 0 {
            return Err("sparse, deeper and shifted products in tensor memory are not modeled".to_string());
        }
        let (a, b) = (format(5, "atype")?, format(5, "btype")?);
        let (d, scale) = match self.is_scaled() {
            // Their results are single-precision floats.
            true => (self.formats[1].ok_or("a type is missing")?, Some(format(3, "scale_type")?)),
            false => (format(0, "dtype")?, None),
        };
        if a.is_float() != d.is_float() {
            return Err("the instruction descriptor has element types that do not fit the result".to_string());
        }
        let unit = if self.is_scaled() { 128 } else { 16 };
        let (all, columns) = (field("rows") as usize * unit, field("columns") as usize * 8);
        let rows = all / self.blocks;
        let fits = match self.stationary {
            true => [32, 64, 128].contains(&rows) && columns % 4 == 0,
            false => [64, 128].contains(&rows) && columns % (8 * self.blocks) == 0,
        };
        if !fits || !(8..=256).contains(&columns) {
            return Err(format!("the instruction descriptor has an invalid shape: {all}×{columns}"));
        }
        if self.is_scaled() && rows != 128 {
            return Err("where the scale factors of 64 rows of a block are is not known".to_string());
        }
        let stored = |format: Format, negate: &str, transpose: &str| Stored {
            negative: field(negate) != 0,
            transposed: field(transpose) != 0,
            ..Stored::new(format, self.packed)
        };
        let (a, b) = (stored(a, "negate_a", "transpose_a"), stored(b, "negate_b", "transpose_b"));
        let clamps = field("saturate") != 0;
        let arithmetic = Arithmetic::new([a.format, b.format, d, d], self.sum.sum, 8, clamps, scale);
        Ok(Shape { rows, columns, a, b, arithmetic, parts: [field("scale_a_part"), field("scale_b_part")] })
    }

    /// Lane and column of an element of the part of the result that a block holds, from its address on.
    fn cell(&self, [rows, columns]: [usize; 2], row: usize, column: usize) -> (usize, usize) {
        match (rows, self.stationary || self.blocks > 1) {
            (64, false) => (row / 16 * 32 + row % 16, column),
            (64, true) => (row + column / (columns / 2) * 64, column % (columns / 2)),
            (32, _) => (row + column / (columns / 4) * 32, column % (columns / 4)),
            _ => (row, column),
        }
    }

    /// Computes the product, given the memory of its blocks.
    ///
    /// # Errors
    ///
    /// If a word is invalid, or memory does not have a matrix.
    pub fn multiply<M: TensorMemory>(&self, given: &Given, blocks: &mut [BlockMemory<'_, M>]) -> Result<(), String> {
        let Shape { rows, columns, a, b, arithmetic, parts } = self.shape(given.shape)?;
        if blocks.len() != self.blocks {
            return Err(format!("the product is of {} blocks", self.blocks));
        }
        // A product takes 32 bytes of each row.
        let k = 2 * a.unit;
        if b.unit != a.unit {
            return Err("the instruction descriptor has element types of different widths".to_string());
        }
        let missing = |(lane, column): (usize, usize)| {
            format!("the block has not allocated column {column} of lane {lane} of tensor memory")
        };
        let (mut left, mut right) = (a.elements(self.blocks * rows, k), b.elements(k, columns));
        let right_matrix = SharedMatrix::new(self.place, given.b)?;
        for (index, block) in blocks.iter().enumerate() {
            match given.a {
                Left::Shared(word) => {
                    let matrix = SharedMatrix::new(self.place, word)?;
                    let set = |row, place, bits| left.words.set(index * rows + row, place, bits);
                    matrix.read(a, 0..rows, k, block.shared, set).map_err(outside)?;
                }
                Left::Tensor(address) => {
                    let (lane, first) = split(address);
                    let container = 128 / a.unit;
                    let padding = if container as u32 > a.width { a.format.padding } else { 0 };
                    let mask = u32::MAX >> (32 - a.format.bits);
                    for (row, l) in (0..rows).flat_map(|row| (0..k).map(move |l| (row, l))) {
                        let bit = l * container;
                        let at = (lane + self.cell([rows, 4], row, 0).0, first + bit / 32);
                        let bits = block.tensor.get(at.0, at.1).ok_or_else(|| missing(at))? >> (bit % 32);
                        left.words.set(index * rows + row, l, bits >> padding & mask);
                    }
                }
            }
            let own = columns / self.blocks;
            let set = |column, place, bits| right.words.set(place, index * own + column, bits);
            right_matrix.read(b, 0..own, k, block.shared, set).map_err(outside)?;
        }
        let factors = |block: &BlockMemory<'_, M>, side: usize, lines: usize| -> Result<Vec<Vec<Number>>, String> {
            let Some(format) = arithmetic.scale else { return Ok(Vec::new()) };
            let (lane, first) = split(given.scales[side]);
            let of = |line: usize| {
                let at = (lane + line % 32, first + line / 32);
                let bits = block.tensor.get(at.0, at.1).ok_or_else(|| missing(at))?;
                let byte = |index: usize| u64::from(bits) >> (8 * ((parts[side] as usize + index) % 4));
                Ok((0..self.scales).map(|index| format.decode(byte(index))).collect())
            };
            (0..lines).map(of).collect()
        };
        // Each block has the factors of its own rows, and those of all columns.
        let factors = |block| Ok((factors(block, 0, rows)?, factors(block, 1, columns)?));
        let factors = blocks.iter().map(factors).collect::<Result<Vec<_>, String>>()?;
        let (lane, first) = split(given.d);
        let place = |i: usize, j: usize| {
            let (down, across) = self.cell([rows, columns], i % rows, j);
            (i / rows, (lane + down, first + across))
        };
        let places = || (0..self.blocks * rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
        let mut c = Panels::new(self.blocks * rows, columns);
        for (i, j) in places() {
            let (block, at) = place(i, j);
            let held = blocks[block].tensor.get(at.0, at.1).ok_or_else(|| missing(at))?;
            c.set(i, j, if given.keep { held } else { 0 });
        }
        let of = |i: usize, j: usize| {
            let (of_rows, of_columns) = &factors[i / rows];
            (&of_rows[i % rows][..], &of_columns[j][..])
        };
        let scales: Option<Scales<'_>> = if self.is_scaled() { Some(&of) } else { None };
        let factors = Factors { a: &left, b: &right, chosen: None, scales, power: given.power };
        let d = arithmetic.multiply(&factors, &c, &mut Scratch::default());
        for (i, j) in places() {
            let (block, at) = place(i, j);
            if given.off[block] >> (at.0 % LANES) & 1 == 0 {
                blocks[block].tensor.set(at.0, at.1, d.get(i, j));
            }
        }
        Ok(())
    }
}
