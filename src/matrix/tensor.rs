//! Products in tensor memory: a word describes their shape and types, others where the factors are.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use isa_table::matrix::{BitLayout, SumOf};

use super::arithmetic::{Arithmetic, Factors, Scales};
use super::group::outside;
use super::shared::{Reader, SharedMatrix, Stored, UNIT};
use super::{Reading, positions};
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
    mask: &'static BitLayout,
    sum: SumOf,
    /// True if small matrices are spread over all lanes.
    stationary: bool,
    /// Number of scale factors of a row or column.
    scales: usize,
    packed: bool,
    /// Elements of a chunk of a row of a sparse first factor, of which a half is stored; 0 if it is dense.
    chunk: usize,
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
    /// The word that says which columns of the second factor are zero; 0 for none.
    pub zero: u64,
    /// Address of the metadata of a sparse first factor.
    pub metadata: u32,
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
    /// Number of units of 16 bytes of a row of the first factor.
    units: usize,
    a: Stored,
    b: Stored,
    arithmetic: Arithmetic,
    /// Bytes of the first scale factor in a cell.
    parts: [u64; 2],
    /// Which column has the metadata, where there is a choice.
    selector: usize,
    /// The most columns by which the second factor may be shifted.
    shift: usize,
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
        let formats = effect.arguments.iter().skip(20).map(ty).collect();
        Ok(TensorProduct {
            place: layout(12)?,
            shape: layout(13)?,
            mask: layout(14)?,
            sum: of.sum(15, sm)?,
            stationary: number(16) != 0,
            scales: number(17),
            packed: number(18) != 0,
            chunk: number(19),
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

    /// Returns true if the first factor is sparse, and the product takes metadata.
    pub fn is_sparse(&self) -> bool {
        self.chunk != 0
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
        if (field("sparse") != 0) != self.is_sparse() {
            return Err("the instruction and its descriptor differ in whether the first factor is sparse".to_string());
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
        // A product takes 32 bytes of each row of the first factor, or 48.
        let units = 2 + field("depth") as usize;
        if units > 2 && self.is_sparse() {
            return Err("the instruction descriptor has a sparse factor with 96 elements".to_string());
        }
        let stored = |format: Format, negate: &str, transpose: &str| Stored {
            negative: field(negate) != 0,
            transposed: field(transpose) != 0,
            ..Stored::new(format, self.packed)
        };
        let (a, b) = (stored(a, "negate_a", "transpose_a"), stored(b, "negate_b", "transpose_b"));
        let clamps = field("saturate") != 0;
        let arithmetic = Arithmetic::new([a.format, b.format, d, d], self.sum.sum, 8, clamps, scale);
        let parts = [field("scale_a_part"), field("scale_b_part")];
        let (selector, shift) = (field("sparsity_selector") as usize, field("greatest_shift"));
        Ok(Shape {
            rows,
            columns,
            units,
            a,
            b,
            arithmetic,
            parts,
            selector,
            shift: if shift == 0 { 0 } else { 4 << shift },
        })
    }

    /// Lane and column of an element of the part of the result that a block holds, from its address on.
    fn cell(&self, [rows, columns]: [usize; 2], row: usize, column: usize) -> (usize, usize) {
        match (rows, self.stationary || self.blocks > 1 && !self.is_sparse()) {
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
        let Shape { rows, columns, units, a, b, arithmetic, parts, selector, shift } = self.shape(given.shape)?;
        if blocks.len() != self.blocks {
            return Err(format!("the product is of {} blocks", self.blocks));
        }
        let stored = units * a.unit;
        let k = if self.is_sparse() { 2 * stored } else { stored };
        if b.unit != a.unit {
            return Err("the instruction descriptor has element types of different widths".to_string());
        }
        let (mut left, mut right) = (a.elements(self.blocks * rows, stored), b.elements(k, columns));
        let right_matrix = self.matrix(given.b, b, k)?;
        // Small matrices are spread over all lanes by parts of their columns.
        let part = if self.stationary { columns * rows / LANES } else { columns };
        let zeros = self.zeros(given.zero, columns, part);
        let first = self.mask.get("shift", given.zero).unwrap_or(0) as usize;
        if first > shift {
            return Err(format!("columns are shifted by {first}; the instruction descriptor allows {shift}"));
        }
        for (index, block) in blocks.iter().enumerate() {
            match given.a {
                Left::Shared(word) => {
                    let matrix = self.matrix(word, a, stored)?;
                    let set = |row, place, bits| left.words.set(index * rows + row, place, bits);
                    matrix.read(a, 0..rows, stored, block.shared, set).map_err(outside)?;
                }
                Left::Tensor(address) => {
                    let (lane, first) = split(address);
                    let container = 128 / a.unit;
                    let padding = if container as u32 > a.width { a.format.padding } else { 0 };
                    let mask = u32::MAX >> (32 - a.format.bits);
                    for (row, l) in (0..rows).flat_map(|row| (0..stored).map(move |l| (row, l))) {
                        let bit = l * container;
                        let at = (lane + self.cell([rows, 4], row, 0).0, first + bit / 32);
                        let bits = block.tensor.get(at.0, at.1).ok_or_else(|| missing(at))? >> (bit % 32);
                        left.words.set(index * rows + row, l, bits >> padding & mask);
                    }
                }
            }
            let own = columns / self.blocks;
            let set = |column, place, bits| {
                let column = index * own + column;
                right.words.set(place, column, if zeros[column] { 0 } else { bits });
            };
            right_matrix.read(b, first..first + own, k, block.shared, set).map_err(outside)?;
        }
        let chosen = match self.is_sparse() {
            true => Some(self.chosen((given.metadata, selector), [rows, columns, stored], part, blocks)?),
            false => None,
        };
        // Each block has the factors of its own rows, and those of all columns.
        let factors = |block: &BlockMemory<'_, M>| -> Result<_, String> {
            let Some(format) = arithmetic.scale else { return Ok((Vec::new(), Vec::new())) };
            let of = |side: usize, lines: [usize; 2]| {
                scale_factors(&*block.tensor, (given.scales[side], parts[side]), format, lines, self.scales * units / 2)
            };
            // Where a block has 64 rows, each half of the lanes has the factors of a half of the columns.
            Ok((of(0, [rows; 2])?, of(1, [columns, if rows == 64 { columns / 2 } else { columns }])?))
        };
        let factors = blocks.iter().map(factors).collect::<Result<Vec<_>, _>>()?;
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
        let factors = Factors { a: &left, b: &right, chosen: chosen.as_deref(), scales, power: given.power };
        let d = arithmetic.multiply(&factors, &c, &mut Scratch::default());
        for (i, j) in places() {
            let (block, at) = place(i, j);
            if given.off[block] >> (at.0 % LANES) & 1 == 0 {
                blocks[block].tensor.set(at.0, at.1, d.get(i, j));
            }
        }
        Ok(())
    }

    /// The matrix that a word describes; a row has `length` elements.
    fn matrix(&self, word: u64, stored: Stored, length: usize) -> Result<SharedMatrix, String> {
        let matrix = SharedMatrix::new(self.place, word)?;
        let longer = matrix.row > UNIT && length / stored.unit * UNIT > matrix.row;
        match stored.transposed {
            true if matrix.absolute => Err("a transposed matrix has no absolute leading dimension".to_string()),
            false if longer => Err(format!("a matrix has rows of more than the {} bytes of its swizzling", matrix.row)),
            _ => Ok(matrix),
        }
    }

    /// For each stored element of each row of a sparse first factor, its place in a column. `part` is the number of columns that have a copy of
    /// the metadata.
    fn chosen<M: TensorMemory>(
        &self,
        (address, selector): (u32, usize),
        [rows, columns, stored]: [usize; 3],
        part: usize,
        blocks: &[BlockMemory<'_, M>],
    ) -> Result<Vec<usize>, String> {
        let (lane, first) = split(address);
        let codes = 2 * stored / self.chunk;
        // Eight codes of a row are in two lanes, whose other halves another row has.
        let halves = codes == CODES;
        if selector > usize::from(halves) {
            return Err(format!("the instruction descriptor has an invalid sparsity selector: {selector}"));
        }
        let read = |block: &BlockMemory<'_, M>, line: usize, code: usize| -> Result<usize, String> {
            let (down, column, digit) = match halves {
                true => (line / 16 * 16 + code / 4 * 8 + line % 8, selector, line % 16 / 8 * 4 + code % 4),
                false => (line, code / CODES, code % CODES),
            };
            let at = (lane + down, first + column);
            let bits = block.tensor.get(at.0, at.1).ok_or_else(|| missing(at))?;
            Ok((bits >> (4 * digit)) as usize % 16)
        };
        // A code has two indices.
        let mut indices = Vec::with_capacity(self.blocks * rows * 2 * codes);
        for (block, row) in blocks.iter().flat_map(|block| (0..rows).map(move |row| (block, row))) {
            for code in 0..codes {
                let of = |column| read(block, self.cell([rows, columns], row, column).0, code);
                let found = of(0)?;
                for column in (part..columns).step_by(part) {
                    if of(column)? != found {
                        return Err("the copies of the metadata of a sparse product differ".to_string());
                    }
                }
                indices.extend([found % 4, found / 4]);
            }
        }
        Ok(positions(&indices, [self.blocks * rows, stored, 2 * stored]))
    }

    /// For each column of the second factor whether a mask lets it be zero: in each `part` of the columns, runs of zero and of used ones
    /// alternate.
    fn zeros(&self, mask: u64, columns: usize, part: usize) -> Vec<bool> {
        let field = |name: &str| self.mask.get(name, mask).unwrap_or(0) as usize;
        if field("any") == 0 {
            return vec![false; columns];
        }
        let [zero, used] = ["zero", "used"].map(|name| field(name) + 1);
        let of_part = |number: usize| {
            let starts = field(&format!("first_{number}")) != 0;
            let (one, other) = if starts { (zero, used) } else { (used, zero) };
            // The first run begins in its middle.
            let start = field(&format!("start_{number}")).min(one - 1);
            (0..part).map(move |place| ((place + start) % (one + other) < one) == starts)
        };
        (0..columns / part).flat_map(of_part).collect()
    }
}

/// The scale factors of each row or column of a matrix; those behind `half` are 64 lanes below. `part` is the byte of the first one in its
/// cell; those behind the fourth byte are four columns to the right for each 128 rows.
fn scale_factors<M: TensorMemory>(
    tensor: &M,
    (address, part): (u32, u64),
    format: Format,
    [lines, half]: [usize; 2],
    count: usize,
) -> Result<Vec<Vec<Number>>, String> {
    let (lane, first) = split(address);
    let of = |line: usize, index: usize| {
        let (place, byte) = (line % half, part as usize + index);
        let at = (lane + line / half * 64 + place % 32, first + place / 32 + byte / 4 * 4 * lines.div_ceil(LANES));
        let bits = tensor.get(at.0, at.1).ok_or_else(|| missing(at))?;
        Ok(format.decode(u64::from(bits) >> (8 * (byte % 4))))
    };
    (0..lines).map(|line| (0..count).map(|index| of(line, index)).collect()).collect()
}

/// Codes of metadata in a cell.
const CODES: usize = 8;

fn missing((lane, column): (usize, usize)) -> String {
    format!("the block has not allocated column {column} of lane {lane} of tensor memory")
}
