//! Products of whole matrices, sixteen rows of the result at a time: with the machine's vectors, and the bits of [`fused`](super::fused).

#![allow(clippy::needless_range_loop, reason = "loops over the lanes of several arrays become vectors")]

use alloc::vec;
use alloc::vec::Vec;

use super::{Format, Fused, LEAST, Number, ZERO};
use crate::eval::rounding::RZ;
use crate::lanes::{Kernel, Level, Simd};

/// Rows of the result that are computed together, a column at a time.
const TILE: usize = 16;

/// A value for each of them.
type Tile<T> = [T; TILE];

/// Products that are summed as 32-bit integers: each is below four in the highest place.
const PART: usize = 16;

/// Most fraction bits to which such products can be aligned: with a sign, 16 of them have no more bits than an integer.
const MOST: u8 = 25;

/// Bits of the significand of a single-precision float.
const EXACT: u32 = 24;

/// Bias of the exponent of such a float.
const BIAS: i32 = 127;

/// Elements of a factor of a product: lines of equal length, which are rows of the first factor, or columns of the second.
#[derive(Clone, Debug)]
pub struct Elements {
    /// Their bits, without padding.
    pub words: Vec<u32>,
    /// Their format.
    pub format: Format,
    /// True if they are negated.
    pub negative: bool,
}

impl Elements {
    /// The numbers that they represent.
    pub(crate) fn numbers(&self) -> Vec<Number> {
        self.words.iter().map(|word| self.format.decode(u64::from(*word)).signed(self.negative)).collect()
    }

    /// Returns true if products of such numbers, or sums of `length` products of integers, have no more bits than single precision.
    fn fits(&self, length: usize) -> bool {
        match self.format.is_float() {
            true => 2 * (self.format.fraction + 1) <= EXACT,
            false => 2 * self.format.bits + usize::BITS - length.leading_zeros() <= EXACT,
        }
    }
}

/// How the elements of a product are summed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Summation {
    /// Fused dot products of `step` products each, as [`fused`](super::fused), with results in a format.
    Fused { how: Fused, step: usize, to: Format },
    /// Exact sums of integers in 32 bits, which wrap or are clamped.
    Exact { clamps: bool },
}

/// The elements of a product, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    pub bits: Vec<u32>,
    /// Those that have to be computed from their numbers: an infinity or a NaN is among the terms or partial sums.
    pub unknown: Vec<usize>,
}

/// How the bits of a floating-point format are taken apart, for formats whose significands have at most 24 bits.
#[derive(Clone, Copy)]
struct Decoder {
    /// Bits below the fraction.
    below: u32,
    fraction: u32,
    /// Bits of exponent and fraction.
    magnitude: u32,
    special: u32,
    sign: u32,
    /// Sign bit of what is negated.
    flip: u32,
    /// Exponent field of the least normal number.
    normal: i32,
    bias: i32,
    /// Value of the last bit of a fraction.
    place: f32,
}

impl Decoder {
    #[inline(always)]
    fn new(format: &Format, negative: bool) -> Decoder {
        let Format { bits, exponent, fraction, signed, .. } = *format;
        Decoder {
            below: bits - u32::from(signed) - exponent - fraction,
            fraction,
            magnitude: (1 << (exponent + fraction)) - 1,
            special: format.least_special() as u32,
            sign: u32::from(signed) << (bits - 1),
            flip: u32::from(negative) << 31,
            normal: i32::from(fraction != 0),
            bias: format.bias(),
            place: power(BIAS - fraction as i32),
        }
    }

    /// Significand, exponent, and true if it is infinite or NaN, of a number: as [`Format::decode`].
    #[inline(always)]
    fn parts(&self, word: u32) -> (f32, i32, bool) {
        let magnitude = word >> self.below & self.magnitude;
        let field = (magnitude >> self.fraction) as i32;
        let normal = u32::from(field >= self.normal) << self.fraction;
        let significand = (magnitude & ((1 << self.fraction) - 1) | normal) as i32;
        let exponent = if significand == 0 { ZERO } else { field.max(self.normal) - self.bias };
        let value = significand as f32 * self.place;
        let sign = u32::from(word & self.sign != 0) << 31;
        (f32::from_bits(value.to_bits() | sign ^ self.flip), exponent, magnitude >= self.special)
    }
}

/// A product of two matrices, `a × b + c`, with sums of `length` products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multiply<'m> {
    pub a: &'m Elements,
    pub b: &'m Elements,
    /// Bits of the format of the sums, row by row.
    pub c: &'m [u32],
    pub length: usize,
    pub summation: Summation,
}

impl Multiply<'_> {
    /// Computes the product; `None` if the machine has no vectors, or the precision has no quick way.
    pub(crate) fn run(self) -> Option<Sums> {
        let precise = match self.summation {
            Summation::Fused { how, .. } => how.fraction <= MOST,
            Summation::Exact { .. } => true,
        };
        let fits = self.length != 0 && [self.a, self.b].iter().all(|factor| factor.fits(self.length));
        (precise && fits).then(|| Level::best().run(self)).flatten()
    }
}

/// Numbers that are multiplied together, apart by significand and exponent, with those that are infinite or NaN.
#[derive(Clone, Copy)]
struct Numbers {
    significands: Tile<f32>,
    exponents: Tile<i32>,
    special: Tile<bool>,
}

impl Numbers {
    #[inline(always)]
    fn new(words: &Tile<u32>, format: &Format, negative: bool) -> Numbers {
        let mut numbers = Numbers { significands: [0.0; TILE], exponents: [0; TILE], special: [false; TILE] };
        if format.is_float() {
            let decoder = Decoder::new(format, negative);
            for lane in 0..TILE {
                (numbers.significands[lane], numbers.exponents[lane], numbers.special[lane]) =
                    decoder.parts(words[lane]);
            }
        } else {
            for lane in 0..TILE {
                let above = 32 - format.bits;
                let (signed, unsigned) = ((words[lane] << above).cast_signed() >> above, words[lane] << above >> above);
                let value = if format.signed { signed as f32 } else { unsigned as f32 };
                numbers.significands[lane] = if negative { -value } else { value };
            }
        }
        numbers
    }
}

/// The numbers of the second factor, line by line.
struct Second {
    significands: Vec<f32>,
    exponents: Vec<i32>,
    /// Of each line, true if a number is infinite or NaN.
    special: Vec<bool>,
}

impl Second {
    #[inline(always)]
    fn new(b: &Elements, length: usize) -> Second {
        let count = b.words.len();
        let (mut significands, mut exponents) = (vec![0.0; count], vec![0; count]);
        let mut special = vec![false; count / length];
        for first in (0..count).step_by(TILE) {
            let own = TILE.min(count - first);
            let mut words = [0; TILE];
            words[..own].copy_from_slice(&b.words[first..][..own]);
            let numbers = Numbers::new(&words, &b.format, b.negative);
            significands[first..][..own].copy_from_slice(&numbers.significands[..own]);
            exponents[first..][..own].copy_from_slice(&numbers.exponents[..own]);
            if numbers.special[..own].contains(&true) {
                for lane in (0..own).filter(|lane| numbers.special[*lane]) {
                    special[(first + lane) / length] = true;
                }
            }
        }
        Second { significands, exponents, special }
    }
}

impl Kernel for Multiply<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<L: Simd>(self, simd: L) -> Sums {
        let Multiply { a, b, c, length, summation } = self;
        let (rows, columns) = (a.words.len() / length, b.words.len() / length);
        let (mut bits, mut unknown) = (vec![0; rows * columns], Vec::new());
        let second = Second::new(b, length);
        for first in (0..rows).step_by(TILE) {
            // Lanes without a row repeat the last one.
            let row = |lane: usize| (first + lane).min(rows - 1);
            let mut numbers = Vec::with_capacity(length);
            let mut special = [false; TILE];
            for place in 0..length {
                let mut words = [0; TILE];
                for lane in 0..TILE {
                    words[lane] = a.words[row(lane) * length + place];
                }
                let own = Numbers::new(&words, &a.format, a.negative);
                for lane in 0..TILE {
                    special[lane] |= own.special[lane];
                }
                numbers.push(own);
            }
            for column in 0..columns {
                let mut words = [0; TILE];
                for lane in 0..TILE {
                    words[lane] = c[row(lane) * columns + column];
                }
                let line = column * length..(column + 1) * length;
                let (b, exponents) = (&second.significands[line.clone()], &second.exponents[line]);
                let mut beyond = special;
                if second.special[column] {
                    beyond = [true; TILE];
                }
                match summation {
                    Summation::Fused { how, step, to } => {
                        words = fused(simd, &numbers, (b, exponents), words, (how, step, to), &mut beyond);
                    }
                    Summation::Exact { clamps } => words = exact(&numbers, b, words, clamps),
                }
                let mut any = false;
                for lane in 0..TILE.min(rows - first) {
                    bits[(first + lane) * columns + column] = words[lane];
                    any |= beyond[lane];
                }
                if any {
                    let lanes = (0..TILE.min(rows - first)).filter(|lane| beyond[*lane]);
                    unknown.extend(lanes.map(|lane| (first + lane) * columns + column));
                }
            }
        }
        Sums { bits, unknown }
    }
}

/// Exact sums of integers.
#[inline(always)]
fn exact(a: &[Numbers], b: &[f32], c: Tile<u32>, clamps: bool) -> Tile<u32> {
    let mut sums = [0.0; TILE];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..TILE {
            sums[lane] += a.significands[lane] * b;
        }
    }
    let mut words = c;
    for lane in 0..TILE {
        let (c, sum) = (c[lane].cast_signed(), sums[lane] as i32);
        words[lane] = if clamps { c.saturating_add(sum) } else { c.wrapping_add(sum) }.cast_unsigned();
    }
    words
}

/// The bits of fused sums; `special` becomes true for those that have an infinity or NaN as `c` or within.
#[inline(always)]
fn fused<L: Simd>(
    simd: L,
    a: &[Numbers],
    (b, exponents): (&[f32], &[i32]),
    c: Tile<u32>,
    (how, step, to): (Fused, usize, Format),
    special: &mut Tile<bool>,
) -> Tile<u32> {
    let mut sums = c;
    let seconds = b.chunks(step).zip(exponents.chunks(step));
    for (a, (b, exponents)) in a.chunks(step).zip(seconds) {
        let held = Numbers::new(&sums, &to, false);
        for lane in 0..TILE {
            special[lane] |= held.special[lane];
        }
        let mut found = greater(simd, &[LEAST.cast_unsigned(); TILE], &held.exponents, 0);
        for (a, exponent) in a.iter().zip(exponents) {
            found = greater(simd, &found, &a.exponents, *exponent);
        }
        // Added to the exponent of a term: the field of the power of two that aligns it.
        let mut align = [BIAS + i32::from(how.fraction); TILE];
        for lane in 0..TILE {
            align[lane] -= found[lane].cast_signed();
        }
        let mut totals = to_doubles(&term(simd, &held, 1.0, 0, &align));
        let seconds = b.chunks(PART).zip(exponents.chunks(PART));
        for (a, (b, exponents)) in a.chunks(PART).zip(seconds) {
            let mut parts = [0; TILE];
            for (a, (b, exponent)) in a.iter().zip(b.iter().zip(exponents)) {
                let term = term(simd, a, *b, *exponent, &align);
                for lane in 0..TILE {
                    parts[lane] += term[lane];
                }
            }
            let parts = to_doubles(&parts);
            for lane in 0..TILE {
                totals[lane] += parts[lane];
            }
        }
        sums = rounded(&totals, &align, to, how);
    }
    sums
}

/// The greater of what was found so far and exponents of products. (Without an instruction of the level the compiler makes vectors of places
/// rather than of lanes.)
#[inline(always)]
fn greater<L: Simd>(simd: L, found: &Tile<u32>, exponents: &Tile<i32>, other: i32) -> Tile<u32> {
    let mut sums = [0; TILE];
    for lane in 0..TILE {
        sums[lane] = (exponents[lane] + other).cast_unsigned();
    }
    simd.max_s32::<RZ, TILE>(found, &sums).unwrap_or_else(|| {
        for lane in 0..TILE {
            sums[lane] = sums[lane].cast_signed().max(found[lane].cast_signed()).cast_unsigned();
        }
        sums
    })
}

/// Products in units of the last bit that is kept, truncated.
#[inline(always)]
fn term<L: Simd>(simd: L, a: &Numbers, b: f32, exponent: i32, align: &Tile<i32>) -> Tile<i32> {
    let mut terms = [0; TILE];
    for lane in 0..TILE {
        terms[lane] = (a.significands[lane] * b * power(align[lane] + a.exponents[lane] + exponent)).to_bits();
    }
    truncate(simd, &terms)
}

/// The bits of each total, whose terms were aligned by a power of two, as [`Format::round`] gives them.
#[inline(always)]
fn rounded(totals: &Tile<f64>, align: &Tile<i32>, to: Format, how: Fused) -> Tile<u32> {
    let kept = if how.result == 0 { to.fraction } else { to.fraction.min(how.result.into()) };
    // Without the bits that are not kept the conversion is exact, or gives an infinity; but that of subnormal numbers.
    let mask = u64::MAX << (f64::MANTISSA_DIGITS - 1 - kept);
    let (mut sums, mut apart) = ([0; TILE], to.bits < 32);
    for lane in 0..TILE {
        let value = totals[lane] * super::power_of_two(BIAS - align[lane]);
        apart |= value != 0.0 && value.abs() < f64::from(f32::MIN_POSITIVE);
        sums[lane] = (f64::from_bits(value.to_bits() & mask) as f32).to_bits();
    }
    if apart {
        for lane in 0..TILE {
            sums[lane] = to.round(totals[lane] as i64, BIAS - align[lane], how.result) as u32;
        }
    }
    sums
}

/// The float whose exponent field is a number; zero below it.
#[inline(always)]
fn power(field: i32) -> f32 {
    f32::from_bits((field.max(0) as u32) << 23)
}

/// Integers of floats, toward zero.
#[inline(always)]
fn truncate<L: Simd>(simd: L, floats: &Tile<u32>) -> Tile<i32> {
    let known = simd.truncate::<RZ, TILE>(floats);
    let mut integers = [0; TILE];
    for lane in 0..TILE {
        integers[lane] = match &known {
            Some(known) => known[lane].cast_signed(),
            None => f32::from_bits(floats[lane]) as i32,
        };
    }
    integers
}

#[inline(always)]
fn to_doubles(integers: &Tile<i32>) -> Tile<f64> {
    let mut doubles = [0.0; TILE];
    for lane in 0..TILE {
        doubles[lane] = f64::from(integers[lane]);
    }
    doubles
}
