//! How elements of a product are computed: sums of products in the formats of its operands.

use alloc::vec::Vec;

use isa_table::matrix::{Rounding, Sum};

use crate::eval::product::{
    Elements, Format, Fused, HALF, Multiply, MultiplyIntegers, Number, Panels, Scratch, Sums, Term, fused, fused_sum,
};
use crate::eval::rounding::RN;
use crate::eval::soft;
use crate::lanes::Level;

/// Formats of a product and its sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arithmetic {
    pub a: Format,
    pub b: Format,
    pub c: Format,
    pub d: Format,
    pub sum: Sum,
    /// Width of an element of `a` where it is stored, in bits.
    bits: u32,
    /// True if sums of integers are clamped.
    clamps: bool,
    /// Format of scale factors.
    pub scale: Option<Format>,
    /// The vectors that it uses.
    pub level: Level,
}

/// Scale factors of a row and a column.
pub(super) type Scales<'f> = &'f dyn Fn(usize, usize) -> (&'f [Number], &'f [Number]);

/// The factors of a product.
pub(super) struct Factors<'f, 's> {
    /// The first factor; of a sparse one the elements that are stored.
    pub a: &'f Elements,
    pub b: &'f Elements,
    /// For each stored element of a sparse first factor, its place in a column.
    pub chosen: Option<&'f [usize]>,
    pub scales: Option<Scales<'s>>,
    /// Exponent of the power of two by which `c` is divided.
    pub power: u32,
}

impl Arithmetic {
    pub(super) fn new(
        [a, b, c, d]: [Format; 4],
        sum: Sum,
        bits: u32,
        clamps: bool,
        scale: Option<Format>,
    ) -> Arithmetic {
        Arithmetic { a, b, c, d, sum, bits, clamps, scale, level: Level::best() }
    }

    /// The bits of `a × b + c`, given those of `c`.
    pub(super) fn multiply(&self, factors: &Factors<'_, '_>, c: &Panels, scratch: &mut Scratch) -> Panels {
        let Factors { mut a, b, mut chosen, scales, power } = *factors;
        let (rows, columns) = (a.words.rows(), b.words.columns());
        let dense = match chosen {
            // Terms that are zero do not change an exact sum.
            Some(chosen) if self.sum == Sum::Exact => spread(a, chosen, b.words.rows()),
            _ => None,
        };
        if let Some(dense) = &dense {
            (a, chosen) = (dense, None);
        }
        let quick = match scales {
            _ if chosen.is_some() || power != 0 => None,
            None => self.quick(a, b, c, scratch),
            Some(scales) => self.quick_scaled(a, b, c, scales, scratch),
        };
        let places = || (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
        let none = || Sums { bits: Panels::new(rows, columns), unknown: places().collect() };
        let Sums { mut bits, unknown } = quick.unwrap_or_else(none);
        if unknown.is_empty() {
            return bits;
        }
        let (stored, length) = (a.words.columns(), b.words.rows());
        let of_a: Vec<Number> = (0..rows).flat_map(|row| (0..stored).map(move |place| a.number(row, place))).collect();
        let of_b: Vec<Number> =
            (0..columns).flat_map(|column| (0..length).map(move |place| b.number(place, column))).collect();
        let mut picked = Vec::with_capacity(stored);
        for (i, j) in unknown {
            let (row, column) = (&of_a[i * stored..][..stored], &of_b[j * length..][..length]);
            let column = match chosen {
                Some(chosen) => {
                    picked.clear();
                    picked.extend(chosen[i * stored..][..stored].iter().map(|place| column[*place]));
                    &picked
                }
                None => column,
            };
            let mut first = self.c.decode(c.get(i, j).into());
            if first.significand != 0 {
                first.exponent -= power as i32;
            }
            bits.set(i, j, self.dot(row, column, first, scales.map(|scales| scales(i, j))) as u32);
        }
        bits
    }

    /// The same of dense factors without scale factors by the machine's vectors; `None` if these have no way to sum like this.
    fn quick(&self, a: &Elements, b: &Elements, c: &Panels, scratch: &mut Scratch) -> Option<Sums> {
        match self.sum {
            Sum::Exact | Sum::CountAnd | Sum::CountXor => {
                let (xor, clamps) = (self.sum == Sum::CountXor, self.clamps);
                let bits = MultiplyIntegers { a, b, c, xor, clamps, scratch }.run(self.level)?;
                Some(Sums { bits, unknown: Vec::new() })
            }
            Sum::Fused { fraction, step, result, group: 0, split: 0 } => {
                let to = self.accumulator();
                let convert = |from: Format, to: Format| {
                    move |bits: u32| soft::convert(from.soft(), to.soft(), bits.into(), RN) as u32
                };
                let widened = (self.c != to).then(|| c.clone().map(convert(self.c, to)));
                let c = widened.as_ref().unwrap_or(c);
                let (how, step) = (Fused { fraction, result }, self.step(step, b.words.rows()));
                let mut sums = Multiply { a, b, c, how, step, to, scratch }.run(self.level)?;
                if to != self.d {
                    sums.bits = sums.bits.map(convert(to, self.d));
                }
                Some(sums)
            }
            _ => None,
        }
    }

    /// The same where a row of each factor has one scale factor, which is a power of two: `c` is divided by their product, and the sum
    /// is multiplied by it. Both are exact as long as no number on the way is subnormal.
    fn quick_scaled(
        &self,
        a: &Elements,
        b: &Elements,
        c: &Panels,
        scales: Scales<'_>,
        scratch: &mut Scratch,
    ) -> Option<Sums> {
        let single = |format: Format| format.soft() == soft::F32;
        let of_sum =
            matches!(self.sum, Sum::Fused { step: 0, group: 0, split: 0, .. }) && single(self.c) && single(self.d);
        if !of_sum || self.scale.is_none_or(|scale| scale.fraction != 0) || scales(0, 0).0.len() != 1 {
            return None;
        }
        let exponent = |i: usize, j: usize| match scales(i, j) {
            ([x], [y]) if x.special.is_none() && y.special.is_none() => Some(x.exponent + y.exponent),
            _ => None,
        };
        let (rows, columns) = (a.words.rows(), b.words.columns());
        let places = || (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
        let mut divided = Panels::new(rows, columns);
        let mut exponents = Vec::with_capacity(rows * columns);
        for (i, j) in places() {
            let scaled = exponent(i, j).and_then(|by| Some((by, times_power(c.get(i, j), -by)?)));
            exponents.push(scaled.map(|(by, _)| by));
            divided.set(i, j, scaled.map_or(0, |(_, bits)| bits));
        }
        let Sums { mut bits, unknown } = self.quick(a, b, &divided, scratch)?;
        for (i, j) in unknown {
            exponents[i * columns + j] = None;
        }
        let mut unknown = Vec::new();
        for (place, by) in places().zip(exponents) {
            let (i, j) = place;
            // A sum of zero may have lost terms that are small.
            let sum = bits.get(i, j);
            match by.filter(|_| sum << 1 != 0).and_then(|by| times_power(sum, by)) {
                Some(sum) => bits.set(i, j, sum),
                None => unknown.push(place),
            }
        }
        Some(Sums { bits, unknown })
    }

    /// Bits of the sum of the products of two rows of elements and `c`; with scale factors of both rows.
    fn dot(&self, a: &[Number], b: &[Number], c: Number, scales: Option<(&[Number], &[Number])>) -> u64 {
        let pairs = a.iter().copied().zip(b.iter().copied());
        match self.sum {
            Sum::Exact => self.integer(c, pairs.map(|(a, b)| a.significand * b.significand).sum()),
            Sum::CountAnd => self.integer(c, pairs.map(|(a, b)| a.significand & b.significand).sum()),
            Sum::CountXor => self.integer(c, pairs.map(|(a, b)| a.significand ^ b.significand).sum()),
            Sum::Chained { rounding, step } => self.chained(a, b, c, mode(rounding), self.step(step, a.len())),
            Sum::Fused { fraction, step, result, group, split: 0 } => {
                let (step, how, format) = (self.step(step, a.len()), Fused { fraction, result }, self.accumulator());
                let (mut sum, mut bits) = (format.widen(c), 0);
                for (a, b) in a.chunks(step).zip(b.chunks(step)) {
                    bits = match scales {
                        Some(scales) => scaled((a, b), scales, sum, (how, group.into()), format),
                        None => fused(a.iter().copied().zip(b.iter().copied()), sum, how, format),
                    };
                    sum = format.decode(bits);
                }
                self.rounded(bits)
            }
            Sum::Fused { fraction, result, split, .. } => {
                let (split, how) = (usize::from(split), Fused { fraction, result });
                let pairs = pairs.map(|(a, b)| (HALF.widen(a), HALF.widen(b))).enumerate();
                let sum = (0..2).fold(0, |bits, half| {
                    let own = pairs.clone().filter(|(index, _)| index % split * 2 / split == half);
                    fused(own.map(|(_, pair)| pair), self.d.decode(bits), how, self.d)
                });
                soft::add(self.d.soft(), c.bits(self.d.soft()), sum, RN)
            }
        }
    }

    /// Elements of a row in a step that is given in bytes; all if it is 0.
    fn step(&self, bytes: u8, all: usize) -> usize {
        if bytes == 0 { all } else { usize::from(bytes) * 8 / self.bits as usize }
    }

    /// The format of sums: the wider of those of `c` and `d`.
    fn accumulator(&self) -> Format {
        if self.c.bits > self.d.bits { self.c } else { self.d }
    }

    /// The bits of a sum in the format of `d`.
    fn rounded(&self, bits: u64) -> u64 {
        let format = self.accumulator();
        if format == self.d { bits } else { soft::convert(format.soft(), self.d.soft(), bits, RN) }
    }

    fn integer(&self, c: Number, products: i64) -> u64 {
        let sum = c.significand + products;
        let sum = if self.clamps { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
        sum.cast_unsigned()
    }

    /// Chains of fused multiply-adds in single precision, of `step` products each, that are added to `c`.
    fn chained(&self, a: &[Number], b: &[Number], c: Number, mode: u8, step: usize) -> u64 {
        let single = |number: &Number| number.bits(soft::F32);
        let sum = a.chunks(step).zip(b.chunks(step)).fold(single(&c), |sum, (a, b)| {
            let pairs = a.iter().zip(b);
            let chain = pairs.fold(0, |chain, (a, b)| soft::fma(soft::F32, single(a), single(b), chain, mode));
            soft::add(soft::F32, sum, chain, mode)
        });
        soft::convert(soft::F32, self.d.soft(), sum, RN)
    }
}

/// A sparse factor with the zeros that it leaves out; `None` if two of its elements have one place.
fn spread(a: &Elements, chosen: &[usize], length: usize) -> Option<Elements> {
    let (rows, stored) = (a.words.rows(), a.words.columns());
    let mut words = Panels::new(rows, length);
    for row in 0..rows {
        for place in 0..stored {
            let (word, column) = (a.words.get(row, place), chosen[row * stored + place]);
            if word != 0 && words.get(row, column) != 0 {
                return None;
            }
            words.set(row, column, word | words.get(row, column));
        }
    }
    Some(Elements { words, ..*a })
}

/// A number in single precision times a power of two; `None` if it is not zero, and one of both is not normal, or so small that
/// [`fused_sum`] might align the terms of a sum to its least exponent.
fn times_power(bits: u32, power: i32) -> Option<u32> {
    let exponent = (bits >> 23 & 0xff) as i32;
    let normal = |exponent: i32| (16..255).contains(&exponent);
    match bits << 1 {
        0 => Some(bits),
        _ => (normal(exponent) && normal(exponent + power)).then(|| bits.wrapping_add((power as u32) << 23)),
    }
}

/// A fused dot product with scale factors of blocks.
fn scaled(
    (left, right): (&[Number], &[Number]),
    (row, column): (&[Number], &[Number]),
    c: Number,
    (how, group): (Fused, usize),
    to: Format,
) -> u64 {
    let special = |x: &Number| x.special.is_some();
    let (pairs, count) = (left.iter().copied().zip(right.iter().copied()), left.len());
    if row.iter().chain(column).any(special) {
        return fused(core::iter::empty(), Number { special: Some(f32::NAN), ..c }, how, to);
    }
    if special(&c) || left.iter().chain(right).any(special) {
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
    let groups = left.chunks_exact(group).zip(right.chunks_exact(group)).enumerate();
    // Most sums have few groups, which need no memory of their own.
    let (mut few, mut many) = ([NOTHING; 16], Vec::new());
    let terms = match few.get_mut(..count / group) {
        Some(terms) => terms,
        None => {
            many.resize(count / group, NOTHING);
            &mut many
        }
    };
    for (term, (number, (a, b))) in terms.iter_mut().zip(groups) {
        let (significand, exponent, fraction) = factor(number * group);
        let (sum, own) = exact_sum(a, b);
        let sum = sum * significand;
        // The significand of the sum is not normalized: its exponent is that of the scale factors.
        *term = Term { significand: sum, exponent: if sum == 0 { ZERO } else { exponent }, fraction: own + fraction };
    }
    fused_sum(terms.iter().copied(), c, how, to)
}

/// The exact sum of the products of finite numbers, and its number of fractional bits.
fn exact_sum(a: &[Number], b: &[Number]) -> (i64, u32) {
    let least = |x: &Number| if x.significand == 0 { 0 } else { x.exponent };
    let fraction = a[0].fraction + b[0].fraction;
    let (mut sum, mut signs) = (0, 0);
    for (a, b) in a.iter().zip(b) {
        let exponent = least(a) + least(b);
        signs |= exponent;
        sum = ((a.significand * b.significand) << (exponent & 63)).wrapping_add(sum);
    }
    if signs >= 0 {
        return (sum, fraction);
    }
    // In units of the least bit that one of the products can have.
    let exponents = || a.iter().zip(b).map(|(a, b)| least(a) + least(b));
    let base = exponents().min().unwrap_or(0).min(0);
    let products = a.iter().zip(b).map(|(a, b)| a.significand * b.significand);
    let sum = products.zip(exponents()).map(|(product, exponent)| product << (exponent - base)).sum();
    (sum, fraction + base.unsigned_abs())
}

/// Exponent of a group whose sum is zero.
const ZERO: i32 = -126;

const NOTHING: Term = Term { significand: 0, exponent: ZERO, fraction: 0 };

pub(super) const fn mode(rounding: Rounding) -> u8 {
    use crate::eval::rounding::{RM, RP, RZ};
    match rounding {
        Rounding::Nearest => RN,
        Rounding::Zero => RZ,
        Rounding::Down => RM,
        Rounding::Up => RP,
    }
}
