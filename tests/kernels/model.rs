//! The published model of tensor cores, computed in doubles and straight from its description, and places of elements
//! after the manual's formulas.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(unreachable_pub, reason = "tests share it as a module")]

#[path = "../random/mod.rs"]
mod random;

pub(crate) use random::Random;
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

/// Value of an element.
pub fn value(ty: &str, bits: u64) -> f64 {
    fn of<F: Float + FloatConvert<Double>>(bits: u64) -> f64 {
        f64::from_bits(F::from_bits(bits.into()).convert(&mut false).value.to_bits() as u64)
    }
    // Finite formats by hand: sign, exponent of least `bias`, fraction.
    let finite = |exponent: u32, fraction: u32, bias: i32| {
        let magnitude = bits & ((1 << (exponent + fraction)) - 1);
        let (field, part) = ((magnitude >> fraction) as i32, (magnitude & ((1 << fraction) - 1)) as f64);
        let part = part / f64::from(1 << fraction);
        let size = if field == 0 { part * 2_f64.powi(1 - bias) } else { (1.0 + part) * 2_f64.powi(field - bias) };
        if bits >> (exponent + fraction) & 1 != 0 { -size } else { size }
    };
    match ty {
        "f16" => of::<Half>(bits & 0xffff),
        "bf16" => of::<BFloat>(bits & 0xffff),
        "f32" => of::<Single>(bits & 0xffff_ffff),
        "tf32" => of::<Single>(bits & 0xffff_e000),
        "e4m3" => of::<Float8E4M3FN>(bits & 0xff),
        "e5m2" => of::<Float8E5M2>(bits & 0xff),
        "e3m2" => finite(3, 2, 3),
        "e2m3" => finite(2, 3, 1),
        "e2m1" => finite(2, 1, 1),
        "ue8m0" if bits & 0xff == 0xff => f64::NAN,
        "ue8m0" => 2_f64.powi((bits & 0xff) as i32 - 127),
        "ue4m3" => of::<Float8E4M3FN>(bits & 0x7f),
        _ => unreachable!("{ty}"),
    }
}

pub fn least(ty: &str) -> i32 {
    match ty {
        "f16" | "e5m2" => -14,
        "bf16" | "f32" | "tf32" => -126,
        "e4m3" | "ue4m3" => -6,
        "e3m2" => -2,
        "ue8m0" => -127,
        _ => 0,
    }
}

/// Significand in [1, 2), below for subnormals, and exponent; that of zero is -126.
pub fn parts(ty: &str, bits: u64) -> (f64, i32) {
    let x = value(ty, bits);
    if x == 0.0 || !x.is_finite() {
        return (x, -126);
    }
    let mut exponent = x.abs().log2().floor() as i32;
    while x.abs() >= 2_f64.powi(exponent + 1) {
        exponent += 1;
    }
    while x.abs() < 2_f64.powi(exponent) {
        exponent -= 1;
    }
    let exponent = exponent.max(least(ty));
    (x / 2_f64.powi(exponent), exponent)
}

/// Rounds a finite sum to the result's format.
pub fn round(sum: f64, to: &str, result: i32) -> u64 {
    if sum == 0.0 {
        return 0;
    }
    if to == "f16" {
        let exact = Double::from_bits(sum.to_bits().into());
        let half: Half = exact.convert(&mut false).value;
        // A sum that rounds to zero has no sign.
        return if half.is_zero() { 0 } else { half.to_bits() as u64 };
    }
    let mut exponent = -126;
    while sum.abs() >= 2_f64.powi(exponent + 1) {
        exponent += 1;
    }
    let place = 2_f64.powi(exponent - result);
    let kept = (sum / place).trunc() * place;
    // Beyond single precision there is infinity.
    (kept as f32).to_bits().into()
}

pub struct Model {
    pub fraction: i32,
    pub step: usize,
    pub result: i32,
}

/// One element of the result.
pub fn dot(a: &[u64], b: &[u64], mut c: u64, (x, y, z, to): (&str, &str, &str, &str), model: &Model) -> u64 {
    let mut z = z;
    for (a, b) in a.chunks(model.step).zip(b.chunks(model.step)) {
        let plain: f64 = a.iter().zip(b).map(|(a, b)| value(x, *a) * value(y, *b)).sum::<f64>() + value(z, c);
        c = if plain.is_nan() {
            if to == "f16" { 0x7fff } else { 0x7fff_ffff }
        } else if plain.is_infinite() {
            let sign = u64::from(plain < 0.0);
            if to == "f16" { 0x7c00 | sign << 15 } else { 0x7f80_0000 | sign << 31 }
        } else {
            let mut terms: Vec<(f64, i32)> = Vec::new();
            for (a, b) in a.iter().zip(b) {
                let ((s, e), (t, f)) = (parts(x, *a), parts(y, *b));
                // Products of zero do not count.
                if s * t != 0.0 {
                    terms.push((s * t, e + f));
                }
            }
            terms.push(parts(z, c));
            let most = terms.iter().map(|(_, e)| *e).max().unwrap();
            let units = terms.iter().map(|(s, e)| {
                // In two steps: a power of two of less than -1074 is zero.
                let down = (e - most).max(-900);
                (s * 2_f64.powi(down) * 2_f64.powi(model.fraction)).trunc()
            });
            round_scaled(units.sum(), most - model.fraction, to, model.result)
        };
        z = to;
    }
    c
}

pub fn round_scaled(units: f64, exponent: i32, to: &str, result: i32) -> u64 {
    // The sum has at most 53 bits and doubles hold all exponents of products.
    round(units * 2_f64.powi(exponent), to, result)
}

/// Bits of inputs: of all kinds, or within a small range so that sums cancel.
pub fn input(random: &mut Random, ty: &str, kind: u64) -> u64 {
    let bits = random.next();
    let (exponent, fraction) = match ty {
        "f16" => (5, 10),
        "bf16" => (8, 7),
        "f32" | "tf32" => (8, 23),
        "e4m3" => (4, 3),
        "e5m2" => (5, 2),
        "e3m2" => (3, 2),
        "e2m3" => (2, 3),
        _ => (2, 1),
    };
    let mask = (1_u64 << (1 + exponent + fraction)) - 1;
    let middle = (1_u64 << (exponent - 1)) - 1;
    let near = |spread: u64| {
        let field = (middle + random_below(bits >> 40, spread)).saturating_sub(spread / 2).min((1 << exponent) - 2);
        bits & ((1 << fraction) - 1) | field << fraction | (bits >> 63) << (exponent + fraction)
    };
    match kind {
        // Anything, with a few zeros.
        0 if bits >> 60 == 0 => (bits >> 20 & 1) << (exponent + fraction),
        0 => bits & mask,
        // Ordinary numbers.
        1 => near(4),
        2 => near(12),
        // Subnormal numbers and zeros.
        3 if bits >> 62 == 0 => 0,
        3 => bits & ((1 << fraction) - 1) | (bits >> 63) << (exponent + fraction),
        // Large ones.
        _ => bits & ((1 << fraction) - 1) | ((1 << exponent) - 2) << fraction | (bits >> 63) << (exponent + fraction),
    }
}

pub fn random_below(bits: u64, bound: u64) -> u64 {
    bits % bound
}

/// Row and column of an element of `a`, with so many elements in a register: the manual's `groupID` and
/// `threadID_in_group`.
pub fn place_of_a(lane: usize, register: usize, part: usize, per: usize) -> (usize, usize) {
    let (group, thread) = (lane / 4, lane % 4);
    let row = group + register % 2 * 8;
    let column = thread * per + part + if register < 2 { 0 } else { 4 * per };
    (row, column)
}

pub fn place_of_b(lane: usize, register: usize, part: usize, per: usize) -> (usize, usize) {
    (lane % 4 * per + part + register * 4 * per, lane / 4)
}

pub fn place_of_c(lane: usize, element: usize) -> (usize, usize) {
    (lane / 4 + if element < 2 { 0 } else { 8 }, lane % 4 * 2 + element % 2)
}

/// Puts the elements of a matrix into registers.
pub fn pack(count: usize, per: usize, bits: usize, of: impl Fn(usize, usize, usize) -> u64) -> Vec<[u64; 32]> {
    let mut registers = vec![[0; 32]; count];
    for (register, lanes) in registers.iter_mut().enumerate() {
        for (lane, word) in lanes.iter_mut().enumerate() {
            *word = (0..per).fold(0, |word, part| word | of(lane, register, part) << (part * bits));
        }
    }
    registers
}

/// Which lanes hold the indices of an element: one of four, a pair with both rows of eight each, a pair with a row each,
/// or all four.
#[derive(Clone, Copy, PartialEq)]
pub enum Held {
    One,
    Pair,
    Rows,
    Quad,
}

/// Lane and lowest bit of a two-bit index of a row.
pub fn place_of_index(held: Held, row: usize, index: usize, selector: usize) -> (usize, usize) {
    let (group, high) = (row % 8 * 4, row / 8);
    match held {
        Held::One => (group + selector, 2 * index + 16 * high),
        Held::Pair => (group + 2 * selector + index / 8, 2 * (index % 8) + 16 * high),
        Held::Rows => (group + 2 * selector + high, 2 * index),
        Held::Quad => (group + index / 16 * 2 + high, 2 * (index % 16)),
    }
}

/// A sparse `a`: the columns of its stored elements, and the metadata that says so.
pub struct Sparse {
    pub columns: Vec<usize>,
    pub metadata: [u64; 32],
}

/// Chooses columns for the stored elements of 16 rows. A chunk has four parts, of which two are stored; of two elements
/// with TF32.
pub fn choose(random: &mut Random, k: usize, bits: usize, held: Held, selector: usize, ordered: bool) -> Sparse {
    let mut sparse = Sparse { columns: Vec::new(), metadata: [0; 32] };
    // What the selector does not choose is rubbish.
    let mut garbage: [u64; 32] = std::array::from_fn(|_| random.next() & 0xffff_ffff);
    for row in 0..16 {
        let mut indices = Vec::new();
        match bits {
            32 => {
                for pair in 0..k / 2 {
                    let second = random.next() as usize & 1;
                    sparse.columns.push(2 * pair + second);
                    // Halves of the element count as elements.
                    indices.extend([2 * second, 2 * second + 1]);
                }
            }
            _ => {
                let run = if bits == 4 { 2 } else { 1 };
                for chunk in 0..k / (4 * run) {
                    let first = (random.next() % 3) as usize;
                    let second = first + 1 + (random.next() as usize % (3 - first));
                    let mut both = [first, second];
                    if !ordered && random.next() & 1 == 1 {
                        both.reverse();
                    }
                    for part in both {
                        sparse.columns.extend((0..run).map(|within| chunk * 4 * run + part * run + within));
                    }
                    indices.extend(both);
                }
            }
        }
        for (index, value) in indices.into_iter().enumerate() {
            let (lane, bit) = place_of_index(held, row, index, selector);
            garbage[lane] = garbage[lane] & !(3 << bit) | (value as u64) << bit;
        }
    }
    sparse.metadata = garbage;
    sparse
}

/// A sum with scale factors: products one by one, or sums of sixteen.
pub fn scaled_dot(
    a: &[f64],
    b: &[f64],
    c: u64,
    scales: (&[u64], &[u64], &str),
    types: (&str, &str),
    grouped: bool,
) -> u64 {
    let (row, column, ty) = scales;
    let (x, y) = types;
    if row.iter().chain(column).any(|bits| value(ty, *bits).is_nan()) || value("f32", c).is_nan() {
        return 0x7fff_ffff;
    }
    let exponent = |ty: &str, x: f64| match x {
        0.0 => -126,
        x => (x.abs().log2().floor() as i32).max(least(ty)),
    };
    let factor = |l: usize, all: &[u64]| {
        let bits = all[l * all.len() / a.len()];
        let e = exponent(ty, value(ty, bits));
        (value(ty, bits) / 2_f64.powi(e), e)
    };
    let mut terms = Vec::new();
    for l in (0..a.len()).step_by(if grouped { 16 } else { 1 }) {
        let ((s, e), (t, f)) = (factor(l, row), factor(l, column));
        terms.push(if grouped {
            let sum: f64 = (l..l + 16).map(|l| a[l] * b[l]).sum();
            (sum * s * t, if sum * s * t == 0.0 { -126 } else { e + f })
        } else {
            let (g, h) = (exponent(x, a[l]), exponent(y, b[l]));
            (a[l] / 2_f64.powi(g) * (b[l] / 2_f64.powi(h)) * s * t, g + h + e + f)
        });
    }
    terms.push(parts("f32", c));
    let fraction = if grouped { 35 } else { 25 };
    let most = terms.iter().map(|(_, e)| *e).max().unwrap();
    let units = terms.iter().map(|(s, e)| (s * 2_f64.powi((e - most).max(-900)) * 2_f64.powi(fraction)).trunc());
    round_scaled(units.sum(), most - fraction, "f32", 23)
}

/// A factor in shared memory.
#[derive(Clone, Copy)]
pub struct Laid {
    /// Bits of the swizzle: 0 for none, 1, 2 and 3 for 32, 64 and 128 bytes.
    pub swizzle: usize,
    pub transposed: bool,
}

impl Laid {
    /// Leading and stride distances in units of 16 bytes, for so many rows.
    pub fn distances(self, rows: usize, depth: usize, unit: usize) -> [usize; 2] {
        let wide = 1 << self.swizzle;
        match (self.transposed, self.swizzle) {
            (false, 0) => [8, 8 * depth.div_ceil(unit)],
            (false, _) => [1, 8 * wide],
            (true, 0) => [8 * rows.div_ceil(unit), 8],
            (true, _) => [8 * wide * depth.div_ceil(8), 8 * wide],
        }
    }

    /// Bit of an element, counted from the start of shared memory: modes of rows and places, each a size and a distance
    /// in elements, then the swizzle of the address.
    pub fn bit(self, bits: usize, (rows, depth): (usize, usize), start: usize, (row, place): (usize, usize)) -> usize {
        let t = 128 / bits;
        let w = 1 << self.swizzle;
        let [leading, stride] = self.distances(rows, depth, t).map(|units| units * t);
        let rest = usize::MAX;
        let (row_modes, place_modes) = match (self.transposed, self.swizzle) {
            (true, 0) => (vec![(t, 1), (1, t), (rest, stride)], vec![(8, t), (rest, leading)]),
            (true, _) => (vec![(t, 1), (w, t), (rest, leading)], vec![(8, w * t), (rest, stride)]),
            (false, 0) => (vec![(8, t), (rest, stride)], vec![(t, 1), (rest, leading)]),
            (false, _) => (vec![(8, w * t), (rest, stride)], vec![(t, 1), (rest, t)]),
        };
        let along = |modes: &[(usize, usize)], mut index: usize| {
            let mut sum = 0;
            for (size, distance) in modes {
                sum += index % size * distance;
                index /= size;
            }
            sum
        };
        let bit = start * 8 + (along(&row_modes, row) + along(&place_modes, place)) * bits;
        let byte = bit / 8;
        let mask = ((1 << self.swizzle) - 1) << 7;
        (byte ^ (byte & mask) >> 3) * 8 + bit % 8
    }

    /// The word that describes it for a warpgroup.
    pub fn descriptor(self, bits: usize, rows: usize, depth: usize, start: usize) -> u64 {
        let [leading, stride] = self.distances(rows, depth, 128 / bits).map(|units| units as u64);
        let mode = [0, 3, 2, 1][self.swizzle];
        (start as u64 >> 4) | leading << 16 | stride << 32 | mode << 62
    }

    /// The word that describes it for tensor memory.
    pub fn tensor_descriptor(self, bits: usize, rows: usize, depth: usize, start: usize) -> u64 {
        let [leading, stride] = self.distances(rows, depth, 128 / bits).map(|units| units as u64);
        let mode = [0, 6, 4, 2][self.swizzle];
        (start as u64 >> 4) | leading << 16 | stride << 32 | 1 << 46 | mode << 61
    }
}

pub fn laid(swizzle: usize, transposed: bool) -> Laid {
    Laid { swizzle, transposed }
}
