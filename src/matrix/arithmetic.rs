//! How elements of a product are computed: sums of products in the formats of its operands.

use isa_table::matrix::{Rounding, Sum};

use crate::eval::product::{Format, Fused, Number, Rows, Term, fused, fused_sum};

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
}

impl Arithmetic {
    pub(super) fn new(
        [a, b, c, d]: [Format; 4],
        sum: Sum,
        bits: u32,
        clamps: bool,
        scale: Option<Format>,
    ) -> Arithmetic {
        Arithmetic { a, b, c, d, sum, bits, clamps, scale }
    }

    /// As [`Arithmetic::dot`] without scale factors, of a row and a column of numbers that were prepared; `None` if it has
    /// to be computed from the numbers.
    pub(super) fn dot_rows(
        &self,
        (a, row): (&Rows, usize),
        (b, column): (&Rows, usize),
        k: usize,
        c: Number,
    ) -> Option<u64> {
        match self.sum {
            Sum::Exact => {
                let sum = c.significand + a.sum(row, b, column);
                let sum = if self.clamps { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
                Some(sum.cast_unsigned())
            }
            Sum::Fused { fraction, step, result, group: 0 } => {
                let step = if step == 0 { k } else { usize::from(step) * 8 / self.bits as usize };
                let how = Fused { fraction, result };
                let (mut sum, mut bits) = (c, 0);
                for first in (0..k).step_by(step) {
                    let range = first..k.min(first + step);
                    bits = a.fused(row, (b, column), range, (self.a.fraction + self.b.fraction, sum), how, self.d)?;
                    sum = self.d.decode(bits);
                }
                Some(bits)
            }
            _ => None,
        }
    }

    /// Bits of the sum of the products of two rows of elements and `c`; with scale factors of both rows.
    pub(super) fn dot(&self, a: &[Number], b: &[Number], c: Number, scales: Option<(&[Number], &[Number])>) -> u64 {
        let Sum::Fused { fraction, step, result, group } = self.sum else {
            let pairs = a.iter().zip(b).map(|(a, b)| (a.significand, b.significand));
            let sum = c.significand
                + match self.sum {
                    Sum::CountAnd => pairs.map(|(a, b)| a & b).sum::<i64>(),
                    Sum::CountXor => pairs.map(|(a, b)| a ^ b).sum(),
                    _ => pairs.map(|(a, b)| a * b).sum(),
                };
            let sum = if self.clamps { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
            return sum.cast_unsigned();
        };
        // A step is given in bytes of `a`.
        let step = if step == 0 { a.len() } else { usize::from(step) * 8 / self.bits as usize };
        let how = Fused { fraction, result };
        let (mut sum, mut bits) = (c, 0);
        for (a, b) in a.chunks(step).zip(b.chunks(step)) {
            let pairs = a.iter().copied().zip(b.iter().copied());
            bits = match scales {
                Some(scales) => scaled(pairs, scales, sum, (how, group.into()), self.d),
                None => fused(pairs, sum, how, self.d),
            };
            sum = self.d.decode(bits);
        }
        bits
    }
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

pub(super) const fn mode(rounding: Rounding) -> u8 {
    use crate::eval::rounding::{RM, RN, RP, RZ};
    match rounding {
        Rounding::Nearest => RN,
        Rounding::Zero => RZ,
        Rounding::Down => RM,
        Rounding::Up => RP,
    }
}
