//! Products of whole matrices of floats, sixteen rows of the result at a time: with the machine's vectors, and the bits of [`fused`](super::fused).

#![allow(clippy::needless_range_loop, reason = "loops over the lanes of several arrays become vectors")]

use alloc::vec::Vec;
use core::mem;

use super::integers::Words;
use super::panels::{Elements, Panels, TILE, Tile};
use super::{Format, Fused, LEAST, ZERO};
use crate::eval::rounding::RZ;
use crate::lanes::{Kernel, Level, Simd};

/// Most fraction bits to which products are aligned: those of a panel, of which each is below four in the highest place, have no more bits
/// than a 32-bit integer.
const MOST: u8 = 25;

/// Most bits of the exponents of factors whose products are normal numbers in single precision.
const NARROW: u32 = 5;

/// Bits of the significand of a single-precision float.
const EXACT: u32 = 24;

/// Bias of the exponent of such a float.
const BIAS: i32 = 127;

/// Exponent of infinities and NaNs: products that have one as a factor, even if the other is zero, have exponents above `BEYOND`, and no other
/// ones have.
const SPECIAL: i32 = 2000;
const BEYOND: i32 = SPECIAL + ZERO - 1;

/// Columns of a panel that are computed at a time: the steps of one wait for those before them.
const PAIR: usize = 2;

/// Returns true if products of such numbers have no more bits than single precision.
const fn fits(format: &Format) -> bool {
    format.is_float() && 2 * (format.fraction + 1) <= EXACT
}

/// The elements of a product.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    pub bits: Panels,
    /// Row and column of those that have to be computed from their numbers: an infinity or NaN is among the terms or partial sums.
    pub unknown: Vec<(usize, usize)>,
}

/// How the bits of a floating-point format are taken apart, for formats whose significands have at most 24 bits.
#[derive(Clone, Copy)]
struct Decoder {
    /// How far exponent and fraction are shifted to be where single precision has them, and their bits there.
    left: u32,
    magnitude: u32,
    /// Magnitude of the least infinity or NaN.
    special: u32,
    /// How far the sign is shifted, and its bit there.
    to_sign: u32,
    sign: u32,
    /// Sign bit of what is negated.
    flip: u32,
    /// Exponent field of the least normal number.
    normal: i32,
    bias: i32,
}

impl Decoder {
    #[inline(always)]
    fn new(format: &Format, negative: bool) -> Decoder {
        let Format { bits, exponent, fraction, signed, .. } = *format;
        let below = bits - u32::from(signed) - exponent - fraction;
        let unused = EXACT - 1 - fraction;
        Decoder {
            left: unused - below,
            magnitude: ((1 << (exponent + fraction)) - 1) << unused,
            special: (format.least_special() as u32) << unused,
            to_sign: 32 - bits,
            sign: u32::from(signed) << 31,
            flip: u32::from(negative) << 31,
            normal: i32::from(fraction != 0),
            bias: format.bias(),
        }
    }

    /// Significand and exponent of a number, as [`Format::decode`]; the exponent of an infinity or NaN is [`SPECIAL`].
    #[inline(always)]
    fn parts(&self, word: u32) -> (f32, i32) {
        let magnitude = word << self.left & self.magnitude;
        let field = (magnitude >> (EXACT - 1)) as i32;
        let absent = if field < self.normal { 1.0 } else { 0.0 };
        let value = f32::from_bits(magnitude & ((1 << (EXACT - 1)) - 1) | 1.0_f32.to_bits()) - absent;
        let exponent = if value == 0.0 { ZERO } else { field.max(self.normal) - self.bias };
        let exponent = if magnitude >= self.special { SPECIAL } else { exponent };
        let sign = (word << self.to_sign & self.sign) ^ self.flip;
        (f32::from_bits(value.to_bits() | sign), exponent)
    }
}

/// Memory of products, for one after the other.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Tiles of the factors, of what is added to their product, and of the result.
    pub(crate) a: Vec<Tile<u32>>,
    pub(crate) b: Vec<Tile<u32>>,
    pub(crate) c: Vec<Tile<u32>>,
    pub(crate) d: Vec<Tile<u32>>,
    factors: [Vec<Numbers>; 2],
    pub(super) words: Words,
}

/// A product of two matrices, `a × b + c`.
#[derive(Debug)]
pub(crate) struct Multiply<'m> {
    pub a: &'m Elements,
    pub b: &'m Elements,
    /// In the format of the sums.
    pub c: &'m Panels,
    /// The elements are fused dot products of `step` products each, as [`fused`](super::fused).
    pub how: Fused,
    pub step: usize,
    /// Format of the sums.
    pub to: Format,
    pub scratch: &'m mut Scratch,
}

impl Multiply<'_> {
    /// Computes the product; `None` if the level has no vectors, or the precision has no quick way.
    pub(crate) fn run(self, level: Level) -> Option<Sums> {
        let fits = self.b.words.rows() != 0 && [self.a, self.b].iter().all(|factor| fits(&factor.format));
        (fits && self.how.fraction <= MOST).then(|| level.run(self)).flatten()
    }
}

/// Numbers of a tile, apart by significand and exponent.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Numbers {
    /// If exponents have few bits, the values.
    significands: Tile<f32>,
    exponents: Tile<i32>,
}

impl Numbers {
    #[inline(always)]
    fn floats(words: &Tile<u32>, decoder: &Decoder) -> Numbers {
        let mut numbers = Numbers { significands: [0.0; TILE], exponents: [0; TILE] };
        for lane in 0..TILE {
            (numbers.significands[lane], numbers.exponents[lane]) = decoder.parts(words[lane]);
        }
        numbers
    }
}

/// Sets the numbers of a factor, tile by tile. (There are loops rather than iterators with closures, which would lack the features of the
/// level.)
#[inline(always)]
fn decode(elements: &Elements, narrow: bool, numbers: &mut Vec<Numbers>) {
    let (format, negative, tiles) = (&elements.format, elements.negative, elements.words.tiles());
    numbers.clear();
    numbers.reserve(tiles.len());
    let decoder = Decoder::new(format, negative);
    for words in tiles {
        let mut tile = Numbers::floats(words, &decoder);
        if narrow {
            for lane in 0..TILE {
                tile.significands[lane] *= power(BIAS + tile.exponents[lane]);
            }
        }
        numbers.push(tile);
    }
}

impl Kernel for Multiply<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<L: Simd>(self, simd: L) -> Sums {
        let Multiply { a, b, c, how, step, to, scratch } = self;
        let (rows, columns, length) = (a.words.rows(), b.words.columns(), b.words.rows());
        let narrow = [a, b].iter().all(|factor| factor.format.exponent <= NARROW);
        let [first, second] = &mut scratch.factors;
        decode(a, narrow, first);
        decode(b, narrow, second);
        let decoder = Decoder::new(&to, false);
        let (mut bits, mut unknown) = (mem::take(&mut scratch.d), Vec::new());
        bits.resize(c.tiles().len(), [0; TILE]);
        for (panel, a) in first.chunks_exact(length).enumerate() {
            let of_panel = panel * columns..(panel + 1) * columns;
            let (c, bits) = (&c.tiles()[of_panel.clone()], &mut bits[of_panel]);
            for column in (0..columns).step_by(PAIR) {
                // The last one twice, if it has no neighbor.
                let pair = [column, (column + 1).min(columns - 1)];
                let b = Pair { numbers: second, columns, pair };
                let c = [c[pair[0]], c[pair[1]]];
                let mut greatest = [[LEAST; TILE]; PAIR];
                let how = (how, step, &to, &decoder);
                let sums = match narrow {
                    true => fused::<L, true>(simd, a, b, c, how, &mut greatest),
                    false => fused::<L, false>(simd, a, b, c, how, &mut greatest),
                };
                (bits[pair[0]], bits[pair[1]]) = (sums[0], sums[1]);
                let mut any = false;
                for index in 0..PAIR {
                    for lane in 0..TILE {
                        any |= greatest[index][lane] > BEYOND;
                    }
                }
                if any {
                    find_beyond(&mut unknown, &greatest, panel * TILE, rows, &pair[..PAIR.min(columns - column)]);
                }
            }
        }
        Sums { bits: Panels::of(bits, rows, columns), unknown }
    }
}

/// Adds the row and column of elements with exponents of infinities and NaNs.
#[cold]
fn find_beyond(
    found: &mut Vec<(usize, usize)>,
    greatest: &[Tile<i32>; PAIR],
    first: usize,
    rows: usize,
    columns: &[usize],
) {
    for (column, greatest) in columns.iter().zip(greatest) {
        let lanes = (0..TILE.min(rows - first)).filter(|lane| greatest[*lane] > BEYOND);
        found.extend(lanes.map(|lane| (first + lane, *column)));
    }
}

/// A pair of columns of the second factor.
#[derive(Clone, Copy)]
struct Pair<'n> {
    numbers: &'n [Numbers],
    /// Number of all columns.
    columns: usize,
    pair: [usize; PAIR],
}

impl<'n> Pair<'n> {
    /// The tiles that have the places of a panel.
    #[inline(always)]
    fn of(self, panel: usize) -> [&'n Numbers; PAIR] {
        let tile = |column| &self.numbers[panel * self.columns + column];
        [tile(self.pair[0]), tile(self.pair[1])]
    }
}

/// The end of the places from one on that are in its panel, and before `end`.
#[inline(always)]
fn part(place: usize, end: usize) -> usize {
    end.min((place / TILE + 1) * TILE)
}

/// The bits of fused sums of a pair of columns; `greatest` is raised to the exponents of all terms.
#[inline(always)]
fn fused<L: Simd, const NARROW: bool>(
    simd: L,
    a: &[Numbers],
    b: Pair<'_>,
    c: [Tile<u32>; PAIR],
    (how, step, to, decoder): (Fused, usize, &Format, &Decoder),
    greatest: &mut [Tile<i32>; PAIR],
) -> [Tile<u32>; PAIR] {
    let (mut sums, mut first) = (c, 0);
    while first < a.len() {
        let end = (first + step).min(a.len());
        let held = [Numbers::floats(&sums[0], decoder), Numbers::floats(&sums[1], decoder)];
        // Apart, as the compiler keeps an array of both in memory.
        let mut found0 = greater(simd, &[LEAST; TILE], &held[0].exponents, 0);
        let mut found1 = greater(simd, &[LEAST; TILE], &held[1].exponents, 0);
        let mut place = first;
        while place < end {
            let (next, [b0, b1]) = (part(place, end), b.of(place / TILE));
            let b = b0.exponents[place % TILE..].iter().zip(&b1.exponents[place % TILE..]);
            for (a, (b0, b1)) in a[place..next].iter().zip(b) {
                found0 = greater(simd, &found0, &a.exponents, *b0);
                found1 = greater(simd, &found1, &a.exponents, *b1);
            }
            place = next;
        }
        let found = [found0, found1];
        // Added to the exponent of a term: the field of the power of two that aligns it.
        let mut align = [[BIAS + i32::from(how.fraction); TILE]; PAIR];
        let (mut totals, mut scale) = ([[0.0; TILE]; PAIR], [[0.0; TILE]; PAIR]);
        for index in 0..PAIR {
            greatest[index] = greater(simd, &greatest[index], &found[index], 0);
            for lane in 0..TILE {
                align[index][lane] -= found[index][lane];
                // If all products are zero, any power will do.
                scale[index][lane] = power(align[index][lane].min(2 * BIAS));
            }
            totals[index] = to_doubles(&term(simd, &held[index], 1.0, 0, &align[index]));
        }
        while first < end {
            let (next, [b0, b1]) = (part(first, end), b.of(first / TILE));
            let (mut parts0, mut parts1) = ([0; TILE], [0; TILE]);
            let within = first % TILE..first % TILE + (next - first);
            let significands = b0.significands[within.clone()].iter().zip(&b1.significands[within.clone()]);
            let exponents = b0.exponents[within.clone()].iter().zip(&b1.exponents[within]);
            for (a, ((b0, b1), (e0, e1))) in a[first..next].iter().zip(significands.zip(exponents)) {
                let (term0, term1) = match NARROW {
                    true => (scaled(simd, a, *b0, &scale[0]), scaled(simd, a, *b1, &scale[1])),
                    false => (term(simd, a, *b0, *e0, &align[0]), term(simd, a, *b1, *e1, &align[1])),
                };
                for lane in 0..TILE {
                    parts0[lane] += term0[lane];
                    parts1[lane] += term1[lane];
                }
            }
            let parts = [to_doubles(&parts0), to_doubles(&parts1)];
            for index in 0..PAIR {
                for lane in 0..TILE {
                    totals[index][lane] += parts[index][lane];
                }
            }
            first = next;
        }
        for index in 0..PAIR {
            sums[index] = rounded(&totals[index], &found[index], to, how);
        }
    }
    sums
}

/// The greater of what was found so far and exponents of products. (Without an instruction of the level the compiler makes vectors of places
/// rather than of lanes.)
#[inline(always)]
fn greater<L: Simd>(simd: L, found: &Tile<i32>, exponents: &Tile<i32>, other: i32) -> Tile<i32> {
    let (mut before, mut sums) = ([0; TILE], [0; TILE]);
    for lane in 0..TILE {
        before[lane] = found[lane].cast_unsigned();
        sums[lane] = (exponents[lane] + other).cast_unsigned();
    }
    let known = simd.max_s32::<RZ, TILE>(&before, &sums);
    let mut greater = [0; TILE];
    for lane in 0..TILE {
        greater[lane] = match &known {
            Some(known) => known[lane].cast_signed(),
            None => sums[lane].cast_signed().max(found[lane]),
        };
    }
    greater
}

/// Products in units of the last bit that is kept, truncated.
#[inline(always)]
fn term<L: Simd>(simd: L, a: &Numbers, b: f32, exponent: i32, align: &Tile<i32>) -> Tile<i32> {
    let mut terms = [0.0; TILE];
    for lane in 0..TILE {
        terms[lane] = a.significands[lane] * b * power(align[lane] + a.exponents[lane] + exponent);
    }
    truncate(simd, &terms)
}

/// The same of values, which a power of two aligns.
#[inline(always)]
fn scaled<L: Simd>(simd: L, a: &Numbers, b: f32, scale: &Tile<f32>) -> Tile<i32> {
    let mut terms = [0.0; TILE];
    for lane in 0..TILE {
        terms[lane] = a.significands[lane] * b * scale[lane];
    }
    truncate(simd, &terms)
}

/// The bits of each total, whose terms were aligned to an exponent, as [`Format::round`] gives them.
#[inline(always)]
fn rounded(totals: &Tile<f64>, exponents: &Tile<i32>, to: &Format, how: Fused) -> Tile<u32> {
    let kept = if how.result == 0 { to.fraction } else { to.fraction.min(how.result.into()) };
    // Without the bits that are not kept the conversion is exact, or gives an infinity; but that of subnormal numbers.
    let mask = u64::MAX << (f64::MANTISSA_DIGITS - 1 - kept);
    let (mut sums, mut apart) = ([0; TILE], to.bits < 32);
    for lane in 0..TILE {
        let exponent = exponents[lane] - i32::from(how.fraction);
        // Totals are integers.
        apart |= exponent < LEAST;
        let value = totals[lane] * super::power_of_two(exponent);
        sums[lane] = (f64::from_bits(value.to_bits() & mask) as f32).to_bits();
    }
    if apart { one_by_one(totals, exponents, to, how) } else { sums }
}

/// The same without vectors.
#[cold]
fn one_by_one(totals: &Tile<f64>, exponents: &Tile<i32>, to: &Format, how: Fused) -> Tile<u32> {
    let round = |lane: usize| to.round(totals[lane] as i64, exponents[lane] - i32::from(how.fraction), how.result);
    core::array::from_fn(|lane| round(lane) as u32)
}

/// The float whose exponent field is a number; zero below it.
#[inline(always)]
fn power(field: i32) -> f32 {
    f32::from_bits((field.max(0) as u32) << 23)
}

/// Integers of floats, toward zero.
#[inline(always)]
fn truncate<L: Simd>(simd: L, floats: &Tile<f32>) -> Tile<i32> {
    let (mut bits, mut integers) = ([0; TILE], [0; TILE]);
    for lane in 0..TILE {
        bits[lane] = floats[lane].to_bits();
    }
    let known = simd.truncate::<RZ, TILE>(&bits);
    for lane in 0..TILE {
        integers[lane] = match &known {
            Some(known) => known[lane].cast_signed(),
            None => floats[lane] as i32,
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
