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

use isa_table::matrix::{Element, Place, Rounding, Sum, SumOf};

use crate::eval::product::{Format, Fused, Number, Term, fused, fused_sum};
use crate::eval::soft;
use crate::table::{Effect, EffectKind, FormInfo, Free, NO_OPERAND, Operand, OperandKind, Table};

/// Values of a register in the lanes of a warp.
pub type Lanes = [u64; 32];

/// Where an element is: bits of a register of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Index of the lane in its warp.
    pub lane: u8,
    /// Index of the register in its vector.
    pub register: u8,
    /// Lowest bit in the register.
    pub bit: u8,
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
    /// Returns the layout of an operand of a form; `None` if it is no fragment.
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
        let Holder { lane, register, bit } = self.holders[index];
        registers[usize::from(register)][usize::from(lane)] >> bit & self.mask()
    }

    /// Sets the bits of an element.
    pub fn set(&self, registers: &mut [Lanes], index: usize, value: u64) {
        let Holder { lane, register, bit } = self.holders[index];
        let word = &mut registers[usize::from(register)][usize::from(lane)];
        *word = *word & !(self.mask() << bit) | (value & self.mask()) << bit;
    }

    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

/// Where the scale factors of `a` or `b` are.
#[derive(Clone, Copy, Debug)]
pub struct ScaleSource<'r> {
    /// The register that holds them.
    pub register: &'r Lanes,
    /// Index of the first byte.
    pub byte: u8,
    /// Index of the lanes of each quad that provide them: a pair for `a`, one for `b`.
    pub lane: u8,
}

/// Scale factors of rows of `a` or columns of `b`.
#[derive(Clone, Copy, Debug)]
struct Scales {
    format: Format,
    /// Number of scale factors of a row.
    count: usize,
}

/// A matrix product that a statement computes across a warp.
#[derive(Clone, Debug)]
pub struct Product {
    a: (Layout, Format),
    b: (Layout, Format),
    c: (Layout, Format),
    d: (Layout, Format),
    sum: SumOf,
    clamps: bool,
    scales: Option<Scales>,
}

impl Product {
    /// Returns the product of a statement: a form, its free modifiers and the SM number of a target.
    ///
    /// # Errors
    ///
    /// Why it cannot be computed: it is no matrix product, the target does not have it, or it is not modeled.
    pub fn new(form: FormInfo, free: &Free, sm: u16) -> Result<Product, String> {
        let kinds = [EffectKind::Multiply, EffectKind::MultiplyScaled];
        let effect = form.effects_with(free).find(|effect| kinds.contains(&effect.kind));
        let effect = effect.ok_or_else(|| format!("`{}` is no matrix product that is modeled", form.mnemonic()))?;
        Product::of(form, free, sm, effect)
    }

    fn of(form: FormInfo, free: &Free, sm: u16, effect: &Effect) -> Result<Product, String> {
        let table = form.table();
        let place = |index: usize| effect.arguments.get(index).copied().filter(|place| *place != NO_OPERAND);
        let side = |place: Option<u8>, ty: Option<&str>| {
            let operand = place.and_then(|place| form.operands().iter().nth(place.into()));
            let operand = operand.ok_or("an operand is missing")?;
            let layout = Layout::new(form, operand, free)
                .ok_or_else(|| format!("where the elements of `{}` are is not known", operand.name))?;
            let format = match ty {
                Some(name) => Format::new(table, name),
                None => Format::of(table.ty(table.ty(operand.ty).lane)),
            };
            let format = format.ok_or_else(|| format!("the elements of `{}` have no numeric type", operand.name))?;
            Ok::<_, String>((layout, format))
        };
        let word = |index: usize| place(index).and_then(|slot| form.modifier(free, slot));
        let sum = place(3).and_then(|index| table.summations[usize::from(index)].of(sm));
        let sum = sum.ok_or_else(|| format!("sm_{sm} does not have this product"))?;
        let scaled = effect.kind == EffectKind::MultiplyScaled;
        let scales = scaled.then(|| scale_format(table, form, word(4), place(4))).transpose()?;
        let product = Product {
            a: side(place(0), word(5))?,
            b: side(place(1), word(6))?,
            c: side(place(2), None)?,
            d: side(Some(effect.result), None)?,
            sum,
            clamps: !scaled && word(4).is_some(),
            scales: scales.map(|format| Scales { format, count: place(7).unwrap_or(1).into() }),
        };
        let ((a, _), (b, _), (c, _), (d, _)) = (&product.a, &product.b, &product.c, &product.d);
        let fits = a.columns == b.rows && (c.rows, c.columns) == (d.rows, d.columns) && d.rows == a.rows;
        match fits && d.columns == b.columns {
            true => Ok(product),
            false => Err(format!("the fragments of `{}` do not fit one another", form.mnemonic())),
        }
    }

    /// Returns the number of rows and columns of the result, and the length of the sums.
    pub fn shape(&self) -> [usize; 3] {
        [self.d.0.rows, self.d.0.columns, self.a.0.columns]
    }

    /// Returns the layouts of `a`, `b`, `c` and `d`.
    pub fn layouts(&self) -> [&Layout; 4] {
        [&self.a.0, &self.b.0, &self.c.0, &self.d.0]
    }

    /// Returns how the target sums products.
    pub fn sum(&self) -> SumOf {
        self.sum
    }

    /// Returns true if it takes scale factors.
    pub fn is_scaled(&self) -> bool {
        self.scales.is_some()
    }

    /// Returns the registers of `d`, given those of `a`, `b` and `c`. Block-scaled products take the scale factors of
    /// `a` and `b`; without them, these are 1.
    ///
    /// # Panics
    ///
    /// If there are fewer registers than the operands have.
    pub fn multiply(&self, [a, b, c]: [&[Lanes]; 3], scales: Option<[ScaleSource<'_>; 2]>) -> Vec<Lanes> {
        let mut d = vec![[0; 32]; self.d.0.registers];
        let [m, n, k] = self.shape();
        for matrix in 0..self.d.0.matrices {
            // Copies of a matrix are equal.
            let of = |layout: &Layout| matrix % layout.matrices * layout.rows * layout.columns;
            let [first_a, first_b, first_c, first_d] = self.layouts().map(of);
            let numbers = |(layout, format): &(Layout, Format), registers: &[Lanes], first: usize| -> Vec<Number> {
                let padding = if layout.bits > format.bits { format.padding } else { 0 };
                let count = layout.rows * layout.columns;
                (first..first + count).map(|index| format.decode(layout.get(registers, index) >> padding)).collect()
            };
            if !self.a.1.is_float() {
                let (a, b) = (numbers(&self.a, a, first_a), numbers(&self.b, b, first_b));
                for (index, (i, j)) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).enumerate() {
                    let c = self.c.1.decode(self.c.0.get(c, first_c + index)).significand;
                    let pairs = (0..k).map(|l| (a[i * k + l].significand, b[l * n + j].significand));
                    let sum = c + match self.sum.sum {
                        Sum::CountAnd => pairs.map(|(a, b)| a & b).sum::<i64>(),
                        Sum::CountXor => pairs.map(|(a, b)| a ^ b).sum(),
                        _ => pairs.map(|(a, b)| a * b).sum(),
                    };
                    let sum = if self.clamps { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
                    self.d.0.set(&mut d, first_d + index, sum.cast_unsigned());
                }
                continue;
            }
            if let Sum::Chained(rounding) = self.sum.sum {
                let mode = mode(rounding);
                for (index, (i, j)) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).enumerate() {
                    let first = self.c.0.get(c, first_c + index);
                    let sum = (0..k).fold(first, |sum, l| {
                        let a = self.a.0.get(a, first_a + i * k + l);
                        soft::fma(soft::F64, a, self.b.0.get(b, first_b + l * n + j), sum, mode)
                    });
                    self.d.0.set(&mut d, first_d + index, sum);
                }
                continue;
            }
            let Sum::Fused { fraction, step, result, group } = self.sum.sum else { continue };
            let (a, b) = (numbers(&self.a, a, first_a), numbers(&self.b, b, first_b));
            // A step is given in bytes of `a`.
            let step = if step == 0 { k } else { usize::from(step) * 8 / self.a.0.bits as usize };
            let how = Fused { fraction, result };
            let to = self.d.1;
            for (index, (i, j)) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).enumerate() {
                let mut sum = self.c.1.decode(self.c.0.get(c, first_c + index));
                let mut bits = 0;
                for from in (0..k).step_by(step) {
                    let pairs = (from..k.min(from + step)).map(|l| (a[i * k + l], b[l * n + j]));
                    bits = match (self.scales, scales) {
                        (Some(own), Some([of_a, of_b])) => {
                            // Rows eight apart have a pair of lanes, each column has one lane.
                            let row = own.of(of_a, i % 8 * 4 + i / 8 + 2 * usize::from(of_a.lane));
                            let column = own.of(of_b, j * 4 + usize::from(of_b.lane));
                            scaled(pairs, (&row, &column), sum, (how, group.into()), to)
                        }
                        _ => fused(pairs, sum, how, to),
                    };
                    sum = to.decode(bits);
                }
                self.d.0.set(&mut d, first_d + index, bits);
            }
        }
        d
    }
}

impl Scales {
    /// The scale factors that a lane provides.
    fn of(&self, source: ScaleSource<'_>, lane: usize) -> Vec<Number> {
        let bytes = source.register[lane % 32].to_le_bytes();
        let byte = |index| bytes[(usize::from(source.byte) + index) % 4];
        (0..self.count).map(|index| self.format.decode(byte(index).into())).collect()
    }
}

/// Format of scale factors: of the type that a modifier names.
fn scale_format(table: &Table, form: FormInfo, word: Option<&str>, slot: Option<u8>) -> Result<Format, String> {
    // Where it may be omitted, there is one.
    let only = || slot.and_then(|slot| form.instruction().slots.get(usize::from(slot))?.members.first().copied());
    let name = word.or_else(only).unwrap_or_default();
    let found = Format::new(table, name).filter(Format::is_float);
    found.ok_or_else(|| format!("`.{name}` is no type of scale factors"))
}

/// A fused dot product with scale factors of blocks.
fn scaled(
    pairs: impl Iterator<Item = (Number, Number)> + Clone,
    (row, column): (&[Number], &[Number]),
    c: Number,
    (how, group): (Fused, usize),
    to: Format,
) -> u64 {
    let special = |x: &Number| x.special.is_some();
    let count = pairs.clone().count();
    if row.iter().chain(column).any(special) {
        return fused(core::iter::empty(), Number { special: Some(f32::NAN), ..c }, how, to);
    }
    if special(&c) || pairs.clone().any(|(a, b)| special(&a) || special(&b)) {
        return fused(pairs, c, how, to);
    }
    let factor = |first: usize| {
        let (a, b) = (row[first * row.len() / count], column[first * column.len() / count]);
        (a.significand * b.significand, a.exponent + b.exponent, a.fraction + b.fraction)
    };
    if group == 0 {
        let terms = pairs.enumerate().map(|(index, (a, b))| {
            let (significand, exponent, fraction) = factor(index);
            Term {
                significand: a.significand * b.significand * significand,
                exponent: a.exponent + b.exponent + exponent,
                fraction: a.fraction + b.fraction + fraction,
            }
        });
        return fused_sum(terms, c, how, to);
    }
    // The products of a group are summed exactly: in units of the least bit that one of them can have.
    let terms = (0..count / group).map(|number| {
        let least = |x: Number| if x.significand == 0 { 0 } else { x.exponent };
        let own = pairs.clone().skip(number * group).take(group);
        let base = own.clone().map(|(a, b)| least(a) + least(b)).min().unwrap_or(0).min(0);
        let products = own.clone().map(|(a, b)| (a.significand * b.significand) << (least(a) + least(b) - base));
        let (significand, exponent, fraction) = factor(number * group);
        let sum = products.sum::<i64>() * significand;
        let own_fraction = own.clone().next().map_or(0, |(a, b)| a.fraction + b.fraction);
        // The significand of the sum is not normalized: its exponent is that of the scale factors.
        let (sum, shift) = if base < 0 { (sum, base.unsigned_abs()) } else { (sum, 0) };
        Term {
            significand: sum,
            exponent: if sum == 0 { ZERO } else { exponent },
            fraction: own_fraction + fraction + shift,
        }
    });
    fused_sum(terms, c, how, to)
}

/// Exponent of a group whose sum is zero.
const ZERO: i32 = -126;

const fn mode(rounding: Rounding) -> u8 {
    use crate::eval::rounding::{RM, RN, RP, RZ};
    match rounding {
        Rounding::Nearest => RN,
        Rounding::Zero => RZ,
        Rounding::Down => RM,
        Rounding::Up => RP,
    }
}
