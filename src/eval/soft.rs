//! Floats of any format as integers: one rounding for sums, products, quotients, roots and conversions.
//!
//! A finite number is `magnitude · 2^exponent`, with a magnitude of up to 128 bits; [`round`] brings it into a format.
//!
//! ```
//! use ptx_isa::eval::soft::{self, F32};
//! use ptx_isa::eval::rounding;
//!
//! let third = soft::div(F32, 1.0_f32.to_bits() as u64, 3.0_f32.to_bits() as u64, rounding::RP);
//! assert_eq!(third as u32, (1.0_f32 / 3.0).to_bits());
//! ```

use super::rounding::{RM, RN, RP, RZ};

/// A format of IEEE 754's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the fraction.
    pub fraction: u32,
    /// The biased exponent of one.
    pub bias: i32,
}

/// Half precision.
pub const F16: Format = Format { exponent: 5, fraction: 10, bias: 15 };
/// The upper half of single precision.
pub const BF16: Format = Format { exponent: 8, fraction: 7, bias: 127 };
/// Single precision.
pub const F32: Format = Format { exponent: 8, fraction: 23, bias: 127 };
/// Double precision.
pub const F64: Format = Format { exponent: 11, fraction: 52, bias: 1023 };

impl Format {
    /// The exponent of a normal number's last place, less its biased exponent.
    const fn offset(self) -> i32 {
        self.bias + self.fraction as i32
    }

    /// The biased exponent of infinities and NaNs.
    const fn top(self) -> u64 {
        (1 << self.exponent) - 1
    }

    /// The sign as a bit in its place.
    const fn sign(self, negative: bool) -> u64 {
        (negative as u64) << (self.exponent + self.fraction)
    }

    const fn infinity(self, negative: bool) -> u64 {
        self.sign(negative) | self.top() << self.fraction
    }

    /// Returns the canonical NaN, the result of an invalid operation.
    pub const fn nan(self) -> u64 {
        match self.fraction {
            // The canonical NaN of double precision is negative.
            52 => 0xfff8 << 48,
            _ => self.sign(true) - 1,
        }
    }

    const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign(true) - 1) > self.infinity(false)
    }

    const fn is_infinite(self, bits: u64) -> bool {
        bits & (self.sign(true) - 1) == self.infinity(false)
    }

    const fn is_negative(self, bits: u64) -> bool {
        bits & self.sign(true) != 0
    }

    /// Returns the NaN that results from an operation with NaN operands, the one that is kept first of all first.
    const fn propagate(self, a: u64, b: u64, c: u64) -> u64 {
        // Only double precision keeps the payload of a NaN.
        if self.fraction != 52 {
            return self.nan();
        }
        let quiet = 1 << 51;
        if self.is_nan(a) {
            a | quiet
        } else if self.is_nan(b) {
            b | quiet
        } else {
            c | quiet
        }
    }

    /// A finite number's magnitude, with its highest bit in the fraction's place above, and exponent; zero has none.
    const fn split(self, bits: u64) -> (u64, i32) {
        let fraction = bits & ((1 << self.fraction) - 1);
        let biased = bits >> self.fraction & self.top();
        if fraction == 0 && biased == 0 {
            return (0, 0);
        }
        let (magnitude, biased) = if biased == 0 { (fraction, 1) } else { (fraction | 1 << self.fraction, biased) };
        let shift = magnitude.leading_zeros() - (63 - self.fraction);
        (magnitude << shift, biased as i32 - self.offset() - shift as i32)
    }
}

/// A format of at most eight bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrow {
    /// The format with an extended exponent range.
    format: Format,
    /// Bits of the greatest number.
    most: u8,
    /// Bits of NaN.
    nan: u8,
    /// Result for numbers rounded beyond the greatest one.
    beyond: u8,
    /// Position of the sign bit; 8 if the format is unsigned.
    sign: u32,
}

impl Narrow {
    /// The same format, with the greatest number for numbers rounded beyond it.
    pub const fn saturating(self) -> Narrow {
        Narrow { beyond: self.most, ..self }
    }

    /// Bits of −0.
    pub const fn negative_zero(self) -> u8 {
        (1_u32 << self.sign) as u8
    }
}

/// Format with the given fraction and bias, and exponents beyond those of a narrow format.
const fn endless(fraction: u32, bias: i32) -> Format {
    Format { exponent: 12, fraction, bias }
}

/// Four bits of exponent, three of fraction.
pub const E4M3: Narrow = Narrow { format: endless(3, 7), most: 0x7e, nan: 0x7f, beyond: 0x7f, sign: 7 };
/// Five bits of exponent, two of fraction.
pub const E5M2: Narrow = Narrow { format: endless(2, 15), most: 0x7b, nan: 0x7f, beyond: 0x7c, sign: 7 };
/// Two bits of exponent, three of fraction.
pub const E2M3: Narrow = Narrow { format: endless(3, 1), most: 0x1f, nan: 0x1f, beyond: 0x1f, sign: 5 };
/// Three bits of exponent, two of fraction.
pub const E3M2: Narrow = Narrow { format: endless(2, 3), most: 0x1f, nan: 0x1f, beyond: 0x1f, sign: 5 };
/// Two bits of exponent, one of fraction.
pub const E2M1: Narrow = Narrow { format: endless(1, 1), most: 0x7, nan: 0x7, beyond: 0x7, sign: 3 };
/// Five bits of exponent, three of fraction, and no sign.
pub const UE5M3: Narrow = Narrow { format: endless(3, 15), most: 0xfe, nan: 0xff, beyond: 0xff, sign: 8 };

/// A number in a narrow format; where random bits are given, these decide as [`dither`] says, and `mode` does not matter.
pub const fn narrow(from: Format, to: Narrow, a: u64, mode: u8, random: Option<u32>) -> u8 {
    if from.is_nan(a) {
        return to.nan;
    }
    let sign = ((from.is_negative(a) as u32) << to.sign) as u8;
    if from.is_infinite(a) {
        return sign | to.beyond;
    }
    let (magnitude, exponent) = from.split(a);
    let magnitude = match random {
        Some(random) => dither(to.format, magnitude as u128, exponent, random),
        None => magnitude as u128,
    };
    let bits = round(to.format, false, magnitude, exponent, false, mode);
    sign | match mode {
        _ if bits <= to.most as u64 => bits as u8,
        RZ => to.most,
        _ => to.beyond,
    }
}

/// A float in a narrow format, to the nearest number: as [`narrow`], and vectors can be made of it.
#[inline(always)]
pub const fn narrow_nearest(to: Narrow, x: f32) -> u8 {
    let Format { fraction, bias, .. } = to.format;
    let size = x.to_bits() & 0x7fff_ffff;
    let drop = 23 - fraction;
    let normal =
        ((size + (1 << (drop - 1)) - 1 + (size >> drop & 1)) >> drop).wrapping_sub(((127 - bias) as u32) << fraction);
    // A sum with it has the format's least number as its last place.
    let places = ((151 - bias) as u32 - fraction) << 23;
    let subnormal = (f32::from_bits(size) + f32::from_bits(places)).to_bits().wrapping_sub(places);
    let magnitude = if size < ((128 - bias) as u32) << 23 { subnormal } else { normal };
    let magnitude = if magnitude > to.most as u32 { to.beyond as u32 } else { magnitude };
    let sign = x.to_bits() >> 31 << to.sign;
    (if size > 0x7f80_0000 { to.nan as u32 } else { sign | magnitude }) as u8
}

/// The bits of a narrow format's number in single precision, without its sign.
#[inline(always)]
const fn single(from: Narrow, magnitude: u32) -> u32 {
    let Format { fraction, bias, .. } = from.format;
    let normal = (magnitude << (23 - fraction)) + (((127 - bias) as u32) << 23);
    let least = f32::from_bits(((128 - bias) as u32 - fraction) << 23);
    if magnitude < 1 << fraction { (magnitude as f32 * least).to_bits() } else { normal }
}

/// Converts a number of a narrow format to half precision; a number that is too large becomes infinity.
#[inline(always)]
pub const fn widen_half(from: Narrow, a: u8) -> u16 {
    let magnitude = a as u32 & ((1 << from.sign) - 1);
    let bits = match from.format.bias {
        // The exponents are those of halves, but for one more.
        15 => magnitude << (10 - from.format.fraction),
        _ => (single(from, magnitude) >> 13).saturating_sub(112 << 10),
    };
    widened(from, a, magnitude, if bits > 0x7c00 { 0x7c00 } else { bits }, 0x7c00)
}

/// A number of a narrow format as a bfloat.
#[inline(always)]
pub const fn widen_bfloat(from: Narrow, a: u8) -> u16 {
    let magnitude = a as u32 & ((1 << from.sign) - 1);
    widened(from, a, magnitude, single(from, magnitude) >> 16, 0x7f80)
}

/// Adds the sign to the bits of a magnitude, and replaces infinities and NaNs.
#[inline(always)]
const fn widened(from: Narrow, a: u8, magnitude: u32, bits: u32, infinity: u32) -> u16 {
    let sign = (a as u32 >> from.sign & 1) << 15;
    // Five bits of exponent leave room for an infinity.
    let infinite = from.most == 0x7b && magnitude == 0x7c;
    let bits = sign | if infinite { infinity } else { bits };
    (if magnitude > from.most as u32 && !infinite { 0x7fff } else { bits }) as u16
}

/// Value of the discarded bits, compared with half of the last place.
#[derive(Clone, Copy)]
enum Rest {
    None,
    Less,
    Half,
    More,
}

impl Rest {
    /// Classifies the discarded bits, given half of the last place; `more` is true if lower bits that are not in `rest`
    /// are set.
    const fn of(rest: u128, half: u128, more: bool) -> Rest {
        if rest == 0 && !more {
            Rest::None
        } else if rest < half {
            Rest::Less
        } else if rest == half && !more {
            Rest::Half
        } else {
            Rest::More
        }
    }

    /// Returns true if the magnitude is rounded up; `odd` is its last bit.
    const fn goes_up(self, mode: u8, negative: bool, odd: bool) -> bool {
        match (mode, self) {
            (_, Rest::None) => false,
            (RN, Rest::Less) => false,
            (RN, Rest::Half) => odd,
            (RN, Rest::More) => true,
            (RM, _) => negative,
            (RP, _) => !negative,
            _ => false,
        }
    }
}

/// Returns the number of low bits that a format discards from a magnitude, and the biased exponent of the result, at
/// least that of subnormals.
const fn dropped(to: Format, magnitude: u128, exponent: i32) -> (i32, i32) {
    let length = 128 - magnitude.leading_zeros() as i32;
    // The biased exponent if it is normal, and where its last place is.
    let biased = exponent + length - 1 - to.fraction as i32 + to.offset();
    let biased = if biased < 1 { 1 } else { biased };
    (biased - to.offset() - exponent, biased)
}

/// `magnitude · 2^exponent` with random bits, of which the highest counts half a last place of the format, added to what the
/// format does not keep; what is left of that is gone. The magnitude has at most 64 places.
pub const fn dither(to: Format, magnitude: u128, exponent: i32, random: u32) -> u128 {
    match dropped(to, magnitude, exponent).0 {
        // Nothing is cut off, or all, and no carry comes of so little.
        ..=0 => magnitude,
        drop @ 1..=96 => (magnitude + ((random as u128) << drop >> 32)) >> drop << drop,
        _ => 0,
    }
}

/// Brings `magnitude · 2^exponent` into a format. `more` says that there is something below the magnitude's last place;
/// the magnitude then has at least two places more than the format.
pub const fn round(to: Format, negative: bool, magnitude: u128, exponent: i32, more: bool, mode: u8) -> u64 {
    let sign = to.sign(negative);
    if magnitude == 0 {
        return sign;
    }
    let (drop, biased) = dropped(to, magnitude, exponent);
    let (mut kept, rest) = match drop {
        ..=0 => (magnitude << -drop, Rest::of(0, 1, more)),
        1..128 => (magnitude >> drop, Rest::of(magnitude & ((1 << drop) - 1), 1 << (drop - 1), more)),
        128 => (0, Rest::of(magnitude, 1 << 127, more)),
        _ => (0, Rest::Less),
    };
    kept += rest.goes_up(mode, negative, kept & 1 != 0) as u128;
    // The place above the fraction counts as one in the exponent: subnormals have none.
    let bits = (((biased - 1) as u128) << to.fraction) + kept;
    if bits >= (to.top() as u128) << to.fraction {
        let infinite = matches!((mode, negative), (RN, _) | (RM, true) | (RP, false));
        return sign | (to.infinity(false) - !infinite as u64);
    }
    sign | bits as u64
}

/// `a · b + c` with one rounding.
pub const fn fma(f: Format, a: u64, b: u64, c: u64, mode: u8) -> u64 {
    let negative = f.is_negative(a) != f.is_negative(b);
    if f.is_nan(a) || f.is_nan(b) || f.is_nan(c) {
        return f.propagate(b, c, a);
    }
    let ((x, xe), (y, ye), (z, ze)) = (f.split(a), f.split(b), f.split(c));
    if f.is_infinite(a) || f.is_infinite(b) {
        let zero = !f.is_infinite(a) && x == 0 || !f.is_infinite(b) && y == 0;
        let opposed = f.is_infinite(c) && f.is_negative(c) != negative;
        return if zero || opposed { f.nan() } else { f.infinity(negative) };
    }
    if f.is_infinite(c) {
        return c;
    }
    sum(f, (negative, x as u128 * y as u128, xe + ye), (f.is_negative(c), z as u128, ze), mode)
}

/// `a + b` with one rounding.
pub const fn add(f: Format, a: u64, b: u64, mode: u8) -> u64 {
    if f.is_nan(a) || f.is_nan(b) {
        return f.propagate(b, a, a);
    }
    if f.is_infinite(a) {
        return if f.is_infinite(b) && a != b { f.nan() } else { a };
    }
    if f.is_infinite(b) {
        return b;
    }
    let ((x, xe), (y, ye)) = (f.split(a), f.split(b));
    sum(f, (f.is_negative(a), x as u128, xe), (f.is_negative(b), y as u128, ye), mode)
}

/// The sum of two numbers; the first has up to 106 places, the second up to 53.
const fn sum(f: Format, a: (bool, u128, i32), b: (bool, u128, i32), mode: u8) -> u64 {
    let ((a_negative, a, ae), (b_negative, b, be)) = (a, b);
    if a == 0 && b == 0 {
        let negative = if a_negative == b_negative { a_negative } else { mode == RM };
        return f.sign(negative);
    }
    if a == 0 {
        return round(f, b_negative, b, be, false, mode);
    }
    if b == 0 {
        return round(f, a_negative, a, ae, false, mode);
    }
    // Both with the highest bit in place 125; what is below the last place then is too small to matter but for its being
    // there.
    let (left, right) = (a.leading_zeros() - 2, b.leading_zeros() - 2);
    let (a, ae, b, be) = (a << left, ae - left as i32, b << right, be - right as i32);
    let a_first = ae > be || ae == be && a >= b;
    let (negative, big, exponent) = if a_first { (a_negative, a, ae) } else { (b_negative, b, be) };
    let (small, apart) = if a_first { (b, ae - be) } else { (a, be - ae) };
    let (small, more) = if apart > 126 { (0, true) } else { (small >> apart, small & ((1 << apart) - 1) != 0) };
    if a_negative == b_negative {
        return round(f, negative, big + small, exponent, more, mode);
    }
    let difference = big - small - more as u128;
    if difference == 0 && !more {
        return f.sign(mode == RM);
    }
    round(f, negative, difference, exponent, more, mode)
}

/// `a · b`
pub const fn mul(f: Format, a: u64, b: u64, mode: u8) -> u64 {
    let negative = f.is_negative(a) != f.is_negative(b);
    if f.is_nan(a) || f.is_nan(b) {
        return f.propagate(b, a, a);
    }
    let ((x, xe), (y, ye)) = (f.split(a), f.split(b));
    if f.is_infinite(a) || f.is_infinite(b) {
        let zero = !f.is_infinite(a) && x == 0 || !f.is_infinite(b) && y == 0;
        return if zero { f.nan() } else { f.infinity(negative) };
    }
    round(f, negative, x as u128 * y as u128, xe + ye, false, mode)
}

/// `a / b`
pub const fn div(f: Format, a: u64, b: u64, mode: u8) -> u64 {
    let negative = f.is_negative(a) != f.is_negative(b);
    if f.is_nan(a) || f.is_nan(b) {
        return f.propagate(a, b, b);
    }
    match (f.is_infinite(a), f.is_infinite(b)) {
        (true, true) => return f.nan(),
        (true, false) => return f.infinity(negative),
        (false, true) => return f.sign(negative),
        (false, false) => {}
    }
    let ((x, xe), (y, ye)) = (f.split(a), f.split(b));
    match (x, y) {
        (0, 0) => return f.nan(),
        (_, 0) => return f.infinity(negative),
        (0, _) => return f.sign(negative),
        _ => {}
    }
    let up = f.fraction + 4;
    let wide = (x as u128) << up;
    let (quotient, rest) = (wide / y as u128, wide % y as u128);
    round(f, negative, quotient, xe - ye - up as i32, rest != 0, mode)
}

/// The square root.
pub const fn sqrt(f: Format, a: u64, mode: u8) -> u64 {
    if f.is_nan(a) {
        return f.propagate(a, a, a);
    }
    let (x, exponent) = f.split(a);
    if f.is_infinite(a) && !f.is_negative(a) || !f.is_infinite(a) && x == 0 {
        return a;
    }
    if f.is_negative(a) {
        return f.nan();
    }
    // Twice the number of bits of the root, at an even exponent.
    let up = f.fraction as i32 + 6;
    let up = up + ((exponent - up) & 1);
    let wide = (x as u128) << up;
    let root = wide.isqrt();
    round(f, false, root, (exponent - up) / 2, root * root != wide, mode)
}

/// A NaN of one format in another: quiet, with its sign and the bits that both have if one is double precision.
#[inline(always)]
pub(super) const fn convert_nan(from: Format, to: Format, a: u64) -> u64 {
    if from.fraction != 52 && to.fraction != 52 {
        return to.nan();
    }
    // Double precision has the widest fraction.
    let payload = (a & ((1 << from.fraction) - 1)) << (52 - from.fraction) >> (52 - to.fraction);
    to.infinity(from.is_negative(a)) | 1 << (to.fraction - 1) | payload
}

/// A double that stands for a number computed in another format; any NaN is the canonical one.
pub(crate) const fn from_double(to: Format, value: f64) -> u64 {
    if value.is_nan() { to.nan() } else { convert(F64, to, value.to_bits(), RN) }
}

/// The number of one format in another.
pub const fn convert(from: Format, to: Format, a: u64, mode: u8) -> u64 {
    let negative = from.is_negative(a);
    if from.is_nan(a) {
        return convert_nan(from, to, a);
    }
    if from.is_infinite(a) {
        return to.infinity(negative);
    }
    let (magnitude, exponent) = from.split(a);
    round(to, negative, magnitude as u128, exponent, false, mode)
}

/// The number of one format in another, rounded up by random bits as [`dither`] says.
pub const fn convert_randomly(from: Format, to: Format, a: u64, random: u32) -> u64 {
    if from.is_nan(a) || from.is_infinite(a) {
        return convert(from, to, a, RN);
    }
    let (magnitude, exponent) = from.split(a);
    let magnitude = dither(to, magnitude as u128, exponent, random);
    round(to, from.is_negative(a), magnitude, exponent, false, RN)
}

/// An integer as a float.
pub const fn from_integer(to: Format, value: i128, mode: u8) -> u64 {
    round(to, value < 0, value.unsigned_abs(), 0, false, mode)
}
