//! Semantics of the machine's instructions on pairs of halves, computed exactly in double precision.

/// A float of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    F16,
    Bf16,
}

use Format::{Bf16, F16};

impl Format {
    const fn exponent_bits(self) -> u32 {
        match self {
            F16 => 5,
            Bf16 => 8,
        }
    }

    const fn fraction_bits(self) -> u32 {
        15 - self.exponent_bits()
    }

    /// Converts the bits to a double, which is exact for every half.
    pub(super) fn number(self, bits: u16) -> f64 {
        let fraction_bits = self.fraction_bits();
        let largest = (1 << self.exponent_bits()) - 1;
        let (exponent, fraction) = (bits >> fraction_bits & largest, bits & ((1 << fraction_bits) - 1));
        let bias = i32::from(largest / 2);
        let ulp = |exponent: u16| 2f64.powi(i32::from(exponent) - bias - fraction_bits as i32);
        let size = match exponent {
            0 => f64::from(fraction) * ulp(1),
            _ if exponent == largest && fraction == 0 => f64::INFINITY,
            _ if exponent == largest => f64::NAN,
            _ => f64::from(fraction | 1 << fraction_bits) * ulp(exponent),
        };
        if bits >> 15 == 1 { -size } else { size }
    }

    /// Returns true if the bits are a subnormal number.
    pub(super) fn is_subnormal(self, bits: u16) -> bool {
        let low = (1 << self.fraction_bits()) - 1;
        bits & low != 0 && bits & 0x7fff & !low == 0
    }

    pub(super) fn one(self) -> u16 {
        ((1 << (self.exponent_bits() - 1)) - 1) << self.fraction_bits()
    }
}

/// A comparison by its name in machine code.
pub(super) fn compare(name: &str, a: f64, b: f64) -> Option<bool> {
    let unordered = a.is_nan() || b.is_nan();
    Some(match name {
        "NUM" => !unordered,
        "NAN" => unordered,
        "EQ" => a == b,
        "NE" => !unordered && a != b,
        "LT" => a < b,
        "LE" => a <= b,
        "GT" => a > b,
        "GE" => a >= b,
        _ => compare(name.strip_suffix('U')?, a, b)? || unordered,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        assert_eq!(F16.number(0x3c00), 1.0);
        assert_eq!(F16.number(0x8001), -(2f64.powi(-24)));
        assert_eq!(F16.number(0xfbff), -65504.0);
        assert_eq!(Bf16.number(0x0001), 2f64.powi(-133));
        assert_eq!(Bf16.number(0x7f80), f64::INFINITY);
        assert!(F16.number(0x7c01).is_nan() && Bf16.number(0xffff).is_nan());
        assert!(F16.is_subnormal(0x83ff) && !F16.is_subnormal(0x0400) && !F16.is_subnormal(0x8000));
    }

    #[test]
    fn comparisons_know_what_is_unordered() {
        assert_eq!(compare("NE", f64::NAN, 1.0), Some(false));
        assert_eq!(compare("NEU", f64::NAN, 1.0), Some(true));
        assert_eq!(compare("LTU", 2.0, 1.0), Some(false));
        assert_eq!(compare("EQ", 0.0, -0.0), Some(true));
        assert_eq!(compare("LO", 0.0, 0.0), None);
        assert_eq!(compare("MIN", f64::NAN, 0.0), None);
    }
}
