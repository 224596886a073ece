//! Matrices held by a warp: where the elements of an operand are, and products of whole matrices.
//!
//! ```
//! use ptx_isa::matrix::Product;
//! use ptx_isa::table::Free;
//!
//! // All elements of `a` and `b` are 1, those of `c` are 0.
//! let form = ptx_isa::TABLE.form("mma.m16n8k16.f32.f16.f16.f32").unwrap();
//! let product = Product::new(form, &Free::NONE, 80).unwrap();
//! let (a, b, c) = (vec![[0x3c00_3c00; 32]; 4], vec![[0x3c00_3c00; 32]; 2], vec![[0; 32]; 4]);
//! let d = product.multiply([&a, &b, &c], None);
//! assert_eq!(f32::from_bits(d[0][0] as u32), 16.0);
//! ```

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::mem;

use isa_table::matrix::{Element, Place, Sum, SumOf};

pub use crate::eval::product::Scratch;
use crate::eval::product::{Elements, Format, Number, Panels};
use crate::eval::soft;
use crate::lanes::Level;
use crate::table::{Effect, EffectKind, FormInfo, Free, NO_OPERAND, Operand, OperandKind, Table};

mod arithmetic;
pub mod group;
pub mod moves;
pub mod shared;
pub mod tensor;

use arithmetic::{Arithmetic, Factors, Scales, mode};
use moves::Fragment;

/// Values of a register in the lanes of a warp.
pub type Lanes = [u64; 32];

/// Location of an element: bits of a register of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Index of the lane in its warp.
    pub lane: u8,
    /// Index of the register in its vector.
    pub register: u8,
    /// Lowest bit in the register.
    pub bit: u8,
}

impl Holder {
    /// Returns the lowest `bits` bits that it holds.
    #[inline]
    pub fn get(self, registers: &[Lanes], bits: u32) -> u64 {
        registers.as_flattened()[self.index()] >> self.bit & (u64::MAX >> (64 - bits))
    }

    /// Sets the lowest `bits` bits that it holds.
    #[inline]
    pub fn set(self, registers: &mut [Lanes], bits: u32, value: u64) {
        let (word, mask) = (&mut registers.as_flattened_mut()[self.index()], u64::MAX >> (64 - bits));
        *word = *word & !(mask << self.bit) | (value & mask) << self.bit;
    }

    fn index(self) -> usize {
        usize::from(self.register) * 32 + usize::from(self.lane)
    }
}

/// The elements of the matrices that an operand holds.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Number of matrices.
    pub matrices: usize,
    /// Number of rows of each.
    pub rows: usize,
    /// Number of columns of each.
    pub columns: usize,
    /// Number of registers in a lane.
    pub registers: usize,
    /// Width of an element in bits.
    pub bits: u32,
    /// Holders of the elements, row by row.
    pub holders: Vec<Holder>,
}

impl Layout {
    /// Returns the layout of an operand of a form; `None` if the operand is not a matrix fragment.
    pub fn new(form: FormInfo, operand: &Operand, free: &Free) -> Option<Layout> {
        let (fragment, parts) = form.fragment(operand, free)?;
        let registers: u32 = if let OperandKind::Vector(count) = operand.kind { count.into() } else { 1 };
        let bits = u32::from(form.table().ty(operand.ty).bits) / parts;
        let elements = (0..32).flat_map(|lane| (0..registers).map(move |register| (lane, register)));
        let places: Vec<(Place, Holder)> = elements
            .flat_map(|(lane, register)| (0..parts).map(move |part| Element { lane, register, part, parts }))
            .map(|element| {
                let Element { lane, register, part, .. } = element;
                let holder = Holder { lane: lane as u8, register: register as u8, bit: (part * bits) as u8 };
                (fragment.place(element), holder)
            })
            .collect();
        let size = |of: fn(&Place) -> u32| places.iter().map(|(place, _)| of(place) as usize + 1).max().unwrap_or(0);
        let (matrices, rows, columns) = (size(|at| at.matrix), size(|at| at.row), size(|at| at.column));
        let mut holders = vec![Holder::default(); matrices * rows * columns];
        for (place, holder) in places {
            let index = (place.matrix as usize * rows + place.row as usize) * columns + place.column as usize;
            holders[index] = holder;
        }
        Some(Layout { matrices, rows, columns, registers: registers as usize, bits, holders })
    }

    /// Returns the bits of an element.
    pub fn get(&self, registers: &[Lanes], index: usize) -> u64 {
        self.holders[index].get(registers, self.bits)
    }

    /// Sets the bits of an element.
    pub fn set(&self, registers: &mut [Lanes], index: usize, value: u64) {
        self.holders[index].set(registers, self.bits, value);
    }

    /// Returns the number of elements of a matrix.
    pub(crate) const fn size(&self) -> usize {
        self.rows * self.columns
    }
}

/// Source of the scale factors of `a` or `b`.
#[derive(Clone, Copy, Debug)]
pub struct ScaleSource<'r> {
    /// The register that holds them.
    pub register: &'r Lanes,
    /// Index of the first byte.
    pub byte: u8,
    /// Index of the lanes of each quad that provide them: a pair for `a`, one for `b`.
    pub lane: u8,
}

/// Source of the sparsity metadata.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'r> {
    /// The register that holds it.
    pub register: &'r Lanes,
    /// Which lanes provide it, where there is a choice.
    pub selector: u8,
}

/// A matrix product that a statement computes across a warp.
#[derive(Clone, Debug)]
pub struct Product {
    a: (Layout, Format),
    b: (Layout, Format),
    c: (Layout, Format),
    d: (Layout, Format),
    /// How the elements of `a`, `b` and `c` are read, and those of `d` written; `None` if they have more bits than a word.
    fragments: Option<[Fragment; 4]>,
    /// Layout of the sparsity metadata, if `a` is sparse.
    metadata: Option<Layout>,
    likely: SumOf,
    arithmetic: Arithmetic,
    /// Number of scale factors of a row or column.
    scales: usize,
}

/// The operands of an effect, its types and its summation.
#[derive(Clone, Copy)]
struct Reading<'f> {
    form: FormInfo,
    free: &'f Free,
    effect: &'f Effect,
}

impl Reading<'_> {
    fn place(self, index: usize) -> Option<u8> {
        self.effect.arguments.get(index).copied().filter(|place| *place != NO_OPERAND)
    }

    fn word(self, index: usize) -> Option<&'static str> {
        self.place(index).and_then(|slot| self.form.modifier(self.free, slot))
    }

    fn operand(self, place: Option<u8>) -> Option<&'static Operand> {
        place.and_then(|place| self.form.operands().iter().nth(place.into()))
    }

    fn layout(self, operand: &Operand) -> Result<Layout, String> {
        Layout::new(self.form, operand, self.free)
            .ok_or_else(|| format!("where the elements of `{}` are is not known", operand.name))
    }

    /// An operand with its layout and the format of its elements: of the type that a modifier names, or of its own.
    fn side(self, place: Option<u8>, ty: Option<&str>) -> Result<(Layout, Format), String> {
        let table = self.form.table();
        let operand = self.operand(place).ok_or("an operand is missing")?;
        let format = match ty {
            Some(name) => Format::new(table, name),
            None => Format::of(table.ty(table.ty(operand.ty).lane)),
        };
        let format = format.ok_or_else(|| format!("the elements of `{}` have no numeric type", operand.name))?;
        Ok((self.layout(operand)?, format))
    }

    fn sum(self, index: usize, sm: u16) -> Result<SumOf, String> {
        let sum = self.place(index).and_then(|index| self.form.table().summations[usize::from(index)].of(sm));
        sum.ok_or_else(|| format!("sm_{sm} does not have this product"))
    }
}

impl Product {
    /// Returns the product of a statement: a form, its free modifiers and the SM number of a target.
    ///
    /// # Errors
    ///
    /// Reason why the product cannot be computed: the form is not a matrix product, the target lacks it, or it is not
    /// modeled.
    pub fn new(form: FormInfo, free: &Free, sm: u16) -> Result<Product, String> {
        let kinds = [
            EffectKind::Multiply,
            EffectKind::MultiplySparse,
            EffectKind::MultiplyScaled,
            EffectKind::MultiplySparseScaled,
        ];
        let effect = form.effects_with(free).find(|effect| kinds.contains(&effect.kind));
        let effect = effect.ok_or_else(|| format!("`{}` is not a matrix product that is modeled", form.mnemonic()))?;
        let of = Reading { form, free, effect };
        let sum = of.sum(3, sm)?;
        let scaled = matches!(effect.kind, EffectKind::MultiplyScaled | EffectKind::MultiplySparseScaled);
        let scale = scaled.then(|| scale_format(form.table(), form, of.word(4), of.place(4))).transpose()?;
        let metadata = match effect.kind {
            EffectKind::MultiplySparse => of.operand(of.place(7)),
            EffectKind::MultiplySparseScaled => of.operand(of.place(14)),
            _ => None,
        };
        let (a, b) = (of.side(of.place(0), of.word(5))?, of.side(of.place(1), of.word(6))?);
        let (c, d) = (of.side(of.place(2), None)?, of.side(Some(effect.result), None)?);
        let clamps = !scaled && of.word(4).is_some();
        let arithmetic = Arithmetic::new([a.1, b.1, c.1, d.1], sum.sum, a.0.bits, clamps, scale);
        let metadata = metadata.map(|operand| of.layout(operand)).transpose()?;
        let scales = of.place(7).unwrap_or(1).into();
        let wide = d.0.bits > u32::BITS;
        if wide && !matches!(sum.sum, Sum::Chained { step: 0, .. }) {
            return Err(format!("how `{}` sums is not modeled", form.mnemonic()));
        }
        let fragments = (!wide).then(|| {
            let [a, b, c] = [&a, &b, &c].map(reading);
            [a, b, c, Fragment::writing(&d.0)]
        });
        let product = Product { a, b, c, d, fragments, metadata, likely: sum, arithmetic, scales };
        let ((a, _), (b, _), (c, _), (d, _)) = (&product.a, &product.b, &product.c, &product.d);
        let stored = if product.metadata.is_some() { 2 * a.columns } else { a.columns };
        let fits = stored == b.rows && (c.rows, c.columns) == (d.rows, d.columns) && d.rows == a.rows;
        let held = product.metadata.as_ref().is_none_or(|metadata| metadata.rows == a.rows);
        match fits && held && d.columns == b.columns {
            true => Ok(product),
            false => Err(format!("the fragments of `{}` do not fit one another", form.mnemonic())),
        }
    }

    /// Computes with the vectors of a level rather than those of the machine's best one, which give the same bits.
    pub fn at_level(mut self, level: Level) -> Product {
        self.arithmetic.level = level;
        for fragment in self.fragments.iter_mut().flatten() {
            fragment.moves.level = level;
        }
        self
    }

    /// Returns the number of rows and columns of the result, and the length of the sums.
    pub fn shape(&self) -> [usize; 3] {
        [self.d.0.rows, self.d.0.columns, self.b.0.rows]
    }

    /// Returns the layouts of `a`, `b`, `c` and `d`.
    pub fn layouts(&self) -> [&Layout; 4] {
        [&self.a.0, &self.b.0, &self.c.0, &self.d.0]
    }

    /// Returns how the target sums products.
    pub fn sum(&self) -> SumOf {
        self.likely
    }

    /// Returns true if it takes scale factors.
    pub fn is_scaled(&self) -> bool {
        self.arithmetic.scale.is_some()
    }

    /// Returns true if `a` is sparse, and the product takes metadata.
    pub fn is_sparse(&self) -> bool {
        self.metadata.is_some()
    }

    /// Returns the registers of `d`, given those of `a`, `b` and `c`. Block-scaled products take the scale factors of
    /// `a` and `b`; without them, these are 1.
    ///
    /// # Panics
    ///
    /// If there are fewer registers than the operands have.
    pub fn multiply(&self, operands: [&[Lanes]; 3], scales: Option<[ScaleSource<'_>; 2]>) -> Vec<Lanes> {
        self.compute(operands, scales, None)
    }

    /// The same with sparse `a`.
    ///
    /// # Panics
    ///
    /// As [`Product::multiply`].
    pub fn multiply_sparse(
        &self,
        operands: [&[Lanes]; 3],
        metadata: Metadata<'_>,
        scales: Option<[ScaleSource<'_>; 2]>,
    ) -> Vec<Lanes> {
        self.compute(operands, scales, Some(metadata))
    }

    fn compute(
        &self,
        operands: [&[Lanes]; 3],
        scales: Option<[ScaleSource<'_>; 2]>,
        metadata: Option<Metadata<'_>>,
    ) -> Vec<Lanes> {
        if self.fragments.is_none() {
            return self.chained(operands);
        }
        let words = operands.map(|rows| rows.iter().flatten().map(|word| *word as u32).collect::<Vec<u32>>());
        let mut d = vec![0; 32 * self.d.0.registers];
        let words = words.each_ref().map(Vec::as_slice);
        self.multiply_words(words, &mut d, (scales, metadata), &mut Scratch::default());
        d.as_chunks::<32>().0.iter().map(|row| row.map(u64::from)).collect()
    }

    /// Chains of fused multiply-adds in double precision.
    fn chained(&self, [a, b, c]: [&[Lanes]; 3]) -> Vec<Lanes> {
        let mut d = vec![[0; 32]; self.d.0.registers];
        let Sum::Chained { rounding, .. } = self.arithmetic.sum else { unreachable!("sums of doubles are chains") };
        let (mode, [m, n, k]) = (mode(rounding), self.shape());
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let sum = (0..k).fold(self.c.0.get(c, i * n + j), |sum, l| {
                let (a, b) = (self.a.0.get(a, i * k + l), self.b.0.get(b, l * n + j));
                soft::fma(soft::F64, a, b, sum, mode)
            });
            self.d.0.set(&mut d, i * n + j, sum);
        }
        d
    }

    /// Returns true if its elements have more bits than the words of [`Product::multiply_words`].
    pub fn is_wide(&self) -> bool {
        self.fragments.is_none()
    }

    /// Sets the registers of `d`: the same for registers of 32 bits, of which that of lane `l` in register `r` is word `32·r + l`.
    ///
    /// # Panics
    ///
    /// As [`Product::multiply`], and if its elements have more bits.
    pub fn multiply_words(
        &self,
        [a, b, c]: [&[u32]; 3],
        d: &mut [u32],
        (scales, metadata): (Option<[ScaleSource<'_>; 2]>, Option<Metadata<'_>>),
        scratch: &mut Scratch,
    ) {
        let [m, n, k] = self.shape();
        let stored = self.a.0.columns;
        let [of_a, of_b, of_c, of_d] = self.fragments.as_ref().expect("elements that words hold");
        let scales = self.arithmetic.scale.zip(scales).map(|(format, [of_a, of_b])| {
            let of = |source: ScaleSource<'_>, lane: usize| scale_factors(format, self.scales, source, lane);
            // Rows eight apart have a pair of lanes, each column has one lane.
            let pair = |i: usize| i % 8 * 4 + i / 8 + 2 * usize::from(of_a.lane);
            let of_rows: Vec<_> = (0..m).map(|i| of(of_a, pair(i))).collect();
            let of_columns: Vec<_> = (0..n).map(|j| of(of_b, j * 4 + usize::from(of_b.lane))).collect();
            (of_rows, of_columns)
        });
        let scales = scales.as_ref().map(|(rows, columns)| |i: usize, j: usize| (&rows[i][..], &columns[j][..]));
        let scales = scales.as_ref().map(|scales| scales as Scales<'_>);
        let chosen = self.metadata.as_ref().zip(metadata);
        let chosen = chosen.map(|(layout, metadata)| positions(&indices(layout, metadata, m), [m, stored, k]));
        let factor = |tiles, rows, columns, format| Elements {
            words: Panels::of(tiles, rows, columns),
            format,
            negative: false,
        };
        let mut multiply = |matrix: usize| {
            // Copies of a matrix are equal.
            let [in_a, in_b, in_c, _] = self.layouts().map(|layout| matrix % layout.matrices);
            let a = factor(of_a.read(in_a, a, mem::take(&mut scratch.a)), m, stored, self.a.1);
            let b = factor(of_b.read(in_b, b, mem::take(&mut scratch.b)), k, n, self.b.1);
            let c = Panels::of(of_c.read(in_c, c, mem::take(&mut scratch.c)), m, n);
            let factors = Factors { a: &a, b: &b, chosen: chosen.as_deref(), scales, power: 0 };
            let tiles = self.arithmetic.multiply(&factors, &c, scratch).into_tiles();
            (scratch.a, scratch.b, scratch.c) = (a.words.into_tiles(), b.words.into_tiles(), c.into_tiles());
            tiles
        };
        if self.d.0.matrices == 1 {
            let tiles = multiply(0);
            of_d.write(&tiles, d);
            scratch.d = tiles;
        } else {
            of_d.write(&(0..self.d.0.matrices).flat_map(multiply).collect::<Vec<_>>(), d);
        }
    }
}

/// How the elements of a side are read.
fn reading((layout, format): &(Layout, Format)) -> Fragment {
    let padding = if layout.bits > format.bits { format.padding } else { 0 };
    Fragment::reading(layout, format.bits, padding)
}

/// The two-bit indices of each row that registers hold.
fn indices(layout: &Layout, metadata: Metadata<'_>, rows: usize) -> Vec<usize> {
    let registers = core::slice::from_ref(metadata.register);
    let first = usize::from(metadata.selector) % layout.matrices * layout.size();
    (first..first + rows * layout.columns).map(|index| layout.get(registers, index) as usize).collect()
}

/// For each stored element of each row, its column in the matrix with all elements. An index chooses one of four parts of a chunk; two of
/// them are stored.
fn positions(indices: &[usize], [rows, stored, k]: [usize; 3]) -> Vec<usize> {
    let fields = indices.len() / rows;
    let (chunk, run) = (2 * k / fields, (stored / fields).max(1));
    let places = (0..rows).flat_map(|row| (0..stored).map(move |place| (row, place)));
    places
        .map(|(row, place)| {
            let field = place * fields / stored;
            field / 2 * chunk + indices[row * fields + field] * chunk / 4 + place % run
        })
        .collect()
}

/// The scale factors that a lane provides.
fn scale_factors(format: Format, count: usize, source: ScaleSource<'_>, lane: usize) -> Vec<Number> {
    let bytes = source.register[lane % 32].to_le_bytes();
    let byte = |index| bytes[(usize::from(source.byte) + index) % 4];
    (0..count).map(|index| format.decode(byte(index).into())).collect()
}

/// Returns the format of scale factors whose type a modifier names.
fn scale_format(table: &Table, form: FormInfo, word: Option<&str>, slot: Option<u8>) -> Result<Format, String> {
    // An optional modifier has exactly one member.
    let only = || slot.and_then(|slot| form.instruction().slots.get(usize::from(slot))?.members.first().copied());
    let name = word.or_else(only).unwrap_or_default();
    let found = Format::new(table, name).filter(Format::is_float);
    found.ok_or_else(|| format!("`.{name}` is not a type of scale factors"))
}
