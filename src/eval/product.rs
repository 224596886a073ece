//! Sums of products as tensor cores compute them: fused dot products of floats, chains of fused multiply-adds, exact
//! sums of integers and counts of bits.
//!
//! ```
//! use ptx_isa::eval::product::{Format, Fused, fused};
//!
//! // Ampere keeps 24 fraction bits: what is below them is lost, even if it would be kept after the sum.
//! let half = Format::new(&ptx_isa::TABLE, "f16").unwrap();
//! let single = Format::new(&ptx_isa::TABLE, "f32").unwrap();
//! let numbers = |list: &[u64]| list.iter().map(|bits| half.decode(*bits)).collect::<Vec<_>>();
//! let (a, b) = (numbers(&[0x3c00, 0x0001]), numbers(&[0x3c00, 0x3c00]));
//! let ampere = Fused { fraction: 24, result: 0 };
//! let sum = fused(a.iter().copied().zip(b.iter().copied()), single.decode(0xbf80_0000), ampere, single);
//! assert_eq!(f32::from_bits(sum as u32), 2.0_f32.powi(-24));
//! ```

use super::soft;
use crate::table::{Kind, NonFinite, Table, TypeInfo};

mod integers;
mod panels;
mod whole;

pub(crate) use integers::MultiplyIntegers;
pub use panels::Elements;
pub(crate) use panels::{Panels, TILE, Tile};
pub use whole::Scratch;
pub(crate) use whole::{Multiply, Sums};

/// How the bits of a matrix element represent a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Width in bits.
    pub bits: u32,
    /// Width of the exponent in bits; 0 for integers.
    pub exponent: u32,
    /// Width of the fraction in bits; 0 for integers.
    pub fraction: u32,
    /// True if it has a sign.
    pub signed: bool,
    /// Special values of the format: infinities and NaNs.
    pub beyond: NonFinite,
    /// Number of zero bits below the value if it is padded to a byte.
    pub padding: u32,
}

/// Half precision.
pub(crate) const HALF: Format =
    Format { bits: 16, exponent: 5, fraction: 10, signed: true, beyond: NonFinite::Infinity, padding: 0 };

/// A number: `significand × 2^(exponent - fraction)`, with the fraction bits of its format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Significand with its sign, in [1, 2) for normal numbers. For integers, the value.
    pub significand: i64,
    /// Exponent; that of subnormal numbers is the least of the format, that of zero is below all others.
    pub exponent: i32,
    /// Fraction bits of the significand.
    pub fraction: u32,
    /// Infinity or NaN; the significand is then meaningless.
    pub special: Option<f32>,
}

/// Exponent of zero. Products of zero do not count when terms are aligned.
const ZERO: i32 = -900;

/// Least exponent to which terms are aligned.
const LEAST: i32 = -126;

impl Format {
    /// Returns the format of a table's type; `None` if the type is unknown or not a number.
    pub fn new(table: &Table, name: &str) -> Option<Format> {
        table.types.iter().find(|ty| ty.name == name).and_then(Format::of)
    }

    /// Returns the format of a type; `None` if it is not a number.
    pub fn of(ty: &TypeInfo) -> Option<Format> {
        let (exponent, fraction, bits) = (ty.exponent.into(), ty.fraction.into(), u32::from(ty.bits));
        let signed = match ty.kind {
            Kind::Signed => true,
            Kind::Unsigned | Kind::Bits => false,
            Kind::Float | Kind::Minifloat => exponent + fraction < bits,
            Kind::Predicate | Kind::Packed => return None,
        };
        Some(Format { bits, exponent, fraction, signed, beyond: ty.beyond, padding: ty.padding.into() })
    }

    /// Returns true if it is a floating-point format.
    pub const fn is_float(&self) -> bool {
        self.exponent != 0
    }

    const fn bias(&self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Returns the same format as a format of soft floats.
    pub(crate) const fn soft(&self) -> soft::Format {
        soft::Format { exponent: self.exponent, fraction: self.fraction, bias: self.bias() }
    }

    /// The same number in this format, which has room for its significand: subnormal numbers of a narrower format are normalized. A
    /// number below all of this format keeps its lowest bit.
    pub(crate) fn widen(&self, number: Number) -> Number {
        if number.significand == 0 || number.special.is_some() {
            return number;
        }
        let width = 63 - number.significand.unsigned_abs().leading_zeros() as i32;
        let value = number.exponent - number.fraction as i32;
        let exponent = (width + value).max((1 - self.bias()).min(value + self.fraction as i32));
        let significand = number.significand << (value - (exponent - self.fraction as i32));
        Number { significand, exponent, fraction: self.fraction, special: None }
    }

    /// Exponent and fraction of the least infinity or NaN, as they are in the bits; more than any if it has none.
    const fn least_special(&self) -> u64 {
        let all = (1 << (self.exponent + self.fraction)) - 1;
        match self.beyond {
            NonFinite::Infinity => all - ((1 << self.fraction) - 1),
            NonFinite::Nan => all,
            _ => all + 1,
        }
    }

    /// Returns the number that the low bits of a word represent.
    pub fn decode(&self, word: u64) -> Number {
        let word = word & (u64::MAX >> (64 - self.bits));
        if !self.is_float() {
            let above = 64 - self.bits;
            let significand = if self.signed { (word << above).cast_signed() >> above } else { word.cast_signed() };
            return Number { significand, exponent: 0, fraction: 0, special: None };
        }
        // The exponent follows the sign, and bits below the fraction are ignored.
        let below = self.bits - u32::from(self.signed) - self.exponent - self.fraction;
        let negative = self.signed && word >> (self.bits - 1) & 1 != 0;
        let fraction = word >> below & ((1 << self.fraction) - 1);
        let exponent = word >> (below + self.fraction) & ((1 << self.exponent) - 1);
        let infinite = self.beyond == NonFinite::Infinity && fraction == 0;
        let special = exponent << self.fraction | fraction >= self.least_special();
        let special = special.then_some(if infinite { f32::INFINITY } else { f32::NAN });
        // A format without fraction has no zero and no subnormals.
        let normal = exponent != 0 || self.fraction == 0;
        let significand = fraction | u64::from(normal) << self.fraction;
        let exponent = match (significand, exponent) {
            (0, _) => ZERO,
            (_, 0) if self.fraction != 0 => 1 - self.bias(),
            (_, exponent) => exponent as i32 - self.bias(),
        };
        let sign = |value: i64| if negative { -value } else { value };
        Number {
            significand: sign(significand.cast_signed()),
            exponent,
            fraction: self.fraction,
            special: special.map(|value| if negative { -value } else { value }),
        }
    }

    /// Returns the bits of `sum × 2^exponent`: rounded toward zero, or to nearest, ties to even, if it is narrower than
    /// single precision. `result` is the number of fraction bits; all of the format if 0.
    fn round(&self, sum: i64, exponent: i32, result: u8) -> u64 {
        let sign = u64::from(sum < 0) << (self.bits - 1);
        let magnitude = sum.unsigned_abs();
        if magnitude == 0 {
            return 0;
        }
        let kept = if result == 0 { self.fraction } else { self.fraction.min(result.into()) };
        let top = 63 - magnitude.leading_zeros() as i32 + exponent;
        let least = 1 - self.bias();
        // The weight of the last place that is kept.
        let drop = top.max(least) - kept as i32 - exponent;
        let nearest = self.bits < 32;
        let rounded = match drop {
            ..=0 => magnitude << -drop,
            1..64 => {
                let (floor, rest) = (magnitude >> drop, magnitude & ((1 << drop) - 1));
                let half = 1_u64 << (drop - 1);
                floor + u64::from(nearest && (rest > half || rest == half && floor & 1 == 1))
            }
            _ => 0,
        };
        // The leading one counts as one in the exponent: subnormal numbers have none.
        let biased = (top.max(least) - least) as u64;
        let bits = (biased << self.fraction) + (rounded << (self.fraction - kept));
        let infinity = ((1 << self.exponent) - 1) << self.fraction;
        // A sum that rounds to zero has no sign.
        if bits == 0 { 0 } else { sign | bits.min(infinity) }
    }

    /// Bits of an infinity, or of the NaN that tensor cores give.
    fn special(&self, value: f64) -> u64 {
        let infinity = ((1 << self.exponent) - 1) << self.fraction;
        match value {
            value if value.is_nan() => (1 << (self.bits - 1)) - 1,
            value => infinity | u64::from(value < 0.0) << (self.bits - 1),
        }
    }
}

impl Number {
    /// Its value; that of −0 is +0.
    pub fn value(self) -> f64 {
        match self.special {
            Some(special) => special.into(),
            // Exact: no significand has more bits, no exponent is larger than a double has.
            None => self.significand as f64 * power_of_two(self.exponent - self.fraction as i32),
        }
    }

    /// The number, negated on demand.
    pub(crate) fn signed(self, negative: bool) -> Number {
        match negative {
            true => Number { significand: -self.significand, special: self.special.map(|special| -special), ..self },
            false => self,
        }
    }

    /// Its bits in a format that has it; the canonical NaN if it is one.
    pub(crate) fn bits(self, to: soft::Format) -> u64 {
        soft::from_double(to, self.value())
    }
}

/// `2^exponent`, for exponents of normal doubles.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Precision of a fused dot product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fused {
    /// Fraction bits that terms keep when they are aligned to the greatest exponent.
    pub fraction: u8,
    /// Fraction bits of the result; all of its format if 0.
    pub result: u8,
}

/// A term of a fused sum: `significand × 2^(exponent - fraction)`.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// Significand with its sign.
    pub significand: i64,
    /// Exponent, to which the significand need not be normalized.
    pub exponent: i32,
    /// Fraction bits of the significand.
    pub fraction: u32,
}

/// Fused dot product: the bits of the sum of all products and `c`, in a format.
pub fn fused(products: impl Iterator<Item = (Number, Number)> + Clone, c: Number, how: Fused, to: Format) -> u64 {
    let special = |x: Number| x.special.is_some();
    if special(c) || products.clone().any(|(a, b)| special(a) || special(b)) {
        let sum: f64 = products.map(|(a, b)| a.value() * b.value()).sum();
        return to.special(sum + c.value());
    }
    let terms = products.map(|(a, b)| Term {
        significand: a.significand * b.significand,
        exponent: a.exponent + b.exponent,
        fraction: a.fraction + b.fraction,
    });
    fused_sum(terms, c, how, to)
}

/// A term in units of the last bit that is kept behind the greatest exponent, truncated.
fn aligned(term: Term, greatest: i32, how: Fused) -> i64 {
    let drop = term.fraction as i32 - i32::from(how.fraction) + greatest - term.exponent;
    let magnitude = term.significand.unsigned_abs();
    let kept = match drop {
        ..=0 => magnitude << -drop,
        1..64 => magnitude >> drop,
        _ => 0,
    };
    if term.significand < 0 { -kept.cast_signed() } else { kept.cast_signed() }
}

/// Fused sum of finite terms and `c`.
pub fn fused_sum(terms: impl Iterator<Item = Term> + Clone, c: Number, how: Fused, to: Format) -> u64 {
    let c = Term { significand: c.significand, exponent: c.exponent, fraction: c.fraction };
    let greatest = terms.clone().fold(c.exponent.max(LEAST), |greatest, term| greatest.max(term.exponent));
    let sum = terms.map(|term| aligned(term, greatest, how)).sum::<i64>() + aligned(c, greatest, how);
    to.round(sum, greatest - i32::from(how.fraction), how.result)
}
