//! Comparison of approximate results with exact ones.

use super::{Bound, Measure, Table, TypeInfo};

impl Bound {
    /// Returns true if the error of each lane is within the bound. Half a unit in the last place is added, because the
    /// exact result was itself rounded to nearest.
    pub(super) fn allows(&self, table: &Table, ty: &TypeInfo, exact: u128, found: u128) -> bool {
        let bits = ty.lane_bits();
        let part = |word: u128, lane: u8| word >> (u32::from(lane) * bits) & u128::MAX >> (128 - bits);
        let float = |word, lane| Float::new(part(word, lane) as u64, bits, table.ty(ty.lane).exponent.into());
        (0..ty.lanes).all(|lane| self.allows_one(float(exact, lane), float(found, lane)))
    }

    fn allows_one(&self, exact: Float, found: Float) -> bool {
        if exact.is_nan() || found.is_nan() {
            return exact.is_nan() && found.is_nan();
        }
        let amount = f64::from_bits(self.amount);
        let room = match self.measure {
            Measure::Ulp => return exact.place().abs_diff(found.place()) as f64 <= amount,
            Measure::Absolute => amount,
            Measure::Relative => amount * exact.value().abs(),
        };
        let distance = (exact.value() - found.value()).abs();
        // The distance between infinities is NaN.
        exact.place() == found.place() || distance.is_finite() && distance <= room + exact.unit() / 2.0
    }
}

/// A float of at most 64 bits.
#[derive(Clone, Copy)]
struct Float {
    magnitude: u64,
    negative: bool,
    /// Width of the exponent in bits.
    exponent: u32,
    /// Width of the fraction in bits.
    fraction: u32,
}

impl Float {
    fn new(word: u64, bits: u32, exponent: u32) -> Float {
        let sign = 1 << (bits - 1);
        Float { magnitude: word & (sign - 1), negative: word & sign != 0, exponent, fraction: bits - 1 - exponent }
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    fn is_nan(self) -> bool {
        self.magnitude > self.infinity()
    }

    /// Position among all floats in ascending order; both zeros are 0.
    fn place(self) -> i64 {
        if self.negative { -(self.magnitude as i64) } else { self.magnitude as i64 }
    }

    /// Exponent of the unit in the last place.
    fn last(self) -> i32 {
        let bias = (1 << (self.exponent - 1)) - 1;
        (self.magnitude >> self.fraction).max(1) as i32 - bias - self.fraction as i32
    }

    /// Value of the unit in the last place.
    fn unit(self) -> f64 {
        power(self.last())
    }

    fn value(self) -> f64 {
        if self.magnitude == self.infinity() {
            return if self.negative { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        let subnormal = self.magnitude >> self.fraction == 0;
        let digits = self.magnitude & ((1 << self.fraction) - 1) | u64::from(!subnormal) << self.fraction;
        let value = digits as f64 * self.unit();
        if self.negative { -value } else { value }
    }
}

/// Returns a power of two; underflows to zero.
fn power(of: i32) -> f64 {
    let half = |of: i32| f64::from_bits(((of + 1023).clamp(0, 2046) as u64) << 52);
    half(of / 2) * half(of - of / 2)
}
