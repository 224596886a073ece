//! Conversion to and from narrow formats against what their bits mean: every pair of halves, every byte, and floats at and
//! beside every number and every middle of two.
//!
//! The oracle is a list of a format's numbers as doubles; nothing of the table but its forms is used.

use crate::reference::{Random, decode, format, held};
use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// Sections 5.2.3 and 9.7.9.21: how many bits a number has, how many of them are its fraction, its bias, the bits of its
/// greatest number, and what NaN becomes. The highest bit is the sign where the format has one.
struct Narrow {
    /// Without how many there are: `x2`, `x4`.
    name: &'static str,
    bits: u32,
    fraction: u32,
    bias: i32,
    greatest: u32,
    nan: u32,
}

const NARROW: [Narrow; 6] = [
    Narrow { name: "e4m3", bits: 8, fraction: 3, bias: 7, greatest: 0x7e, nan: 0x7f },
    Narrow { name: "e5m2", bits: 8, fraction: 2, bias: 15, greatest: 0x7b, nan: 0x7f },
    Narrow { name: "e2m3", bits: 6, fraction: 3, bias: 1, greatest: 0x1f, nan: 0x1f },
    Narrow { name: "e3m2", bits: 6, fraction: 2, bias: 3, greatest: 0x1f, nan: 0x1f },
    Narrow { name: "e2m1", bits: 4, fraction: 1, bias: 1, greatest: 0x7, nan: 0x7 },
    Narrow { name: "ue5m3", bits: 8, fraction: 3, bias: 15, greatest: 0xfe, nan: 0xff },
];

impl Narrow {
    fn of(name: &str) -> Option<&'static Narrow> {
        let name = name.strip_suffix("x2").or(name.strip_suffix("x4"))?;
        NARROW.iter().find(|narrow| narrow.name == name)
    }

    /// A magnitude's number; beyond the greatest there is an infinity of `e5m2`, and NaN.
    fn magnitude(&self, bits: u32) -> f64 {
        let fraction = f64::from(bits & ((1 << self.fraction) - 1)) / f64::from(1 << self.fraction);
        match bits >> self.fraction {
            _ if bits > self.greatest => {
                if self.name == "e5m2" && bits == 0x7c {
                    f64::INFINITY
                } else {
                    f64::NAN
                }
            }
            0 => fraction * 2_f64.powi(1 - self.bias),
            power => (1.0 + fraction) * 2_f64.powi(power as i32 - self.bias),
        }
    }

    /// Mask of the sign bit; beyond the number's bits if the format is unsigned.
    fn sign(&self) -> u32 {
        1 << if self.name.starts_with('u') { self.bits } else { self.bits - 1 }
    }

    fn number(&self, bits: u32) -> f64 {
        let sign = self.sign();
        let magnitude = self.magnitude(bits & (sign - 1));
        if bits & sign != 0 { -magnitude } else { magnitude }
    }

    /// The bits of the number at or beside `x` that a conversion with these parts gives, or these random bits.
    fn rounded(&self, numbers: &[f64], x: f64, parts: &[&str], random: Option<(u32, u32)>) -> u32 {
        if x.is_nan() {
            return self.nan;
        }
        let sign = if x.is_sign_negative() && self.sign() >> self.bits == 0 { self.sign() } else { 0 };
        let x = x.abs();
        let found = beside(numbers, x, parts, random);
        let saturates = parts.contains(&"satfinite") || parts.contains(&"rz") && x.is_finite();
        let bits = match found <= self.greatest {
            true => found,
            false if saturates => self.greatest,
            // The only format with an infinity.
            false if self.name == "e5m2" => self.greatest + 1,
            false => self.nan,
        };
        if bits == 0 && parts.contains(&"pzo") { 0 } else { sign | bits }
    }

    /// All magnitudes that are numbers, in order.
    fn numbers(&self) -> Vec<f64> {
        (0..=self.greatest).map(|bits| self.magnitude(bits)).collect()
    }

    /// Two numbers in a register: bytes, or halves of one.
    fn join(&self, upper: u32, lower: u32) -> u32 {
        upper << if self.bits == 4 { 4 } else { 8 } | lower
    }

    fn apart(&self, word: u32) -> [u32; 2] {
        let each = if self.bits == 4 { 4 } else { 8 };
        [word >> each & ((1 << self.bits) - 1), word & ((1 << self.bits) - 1)]
    }
}

/// Ascending numbers, and what lies beyond: the number that would be the next, and infinity.
fn endless(mut numbers: Vec<f64>) -> Vec<f64> {
    let [.., before, last] = *numbers else { unreachable!("a format has more than one number") };
    numbers.extend([last + (last - before), f64::INFINITY]);
    numbers
}

/// Rounds `x`, which is nonnegative, to one of `numbers`, which are ascending, and returns its index.
///
/// Stochastic rounding takes random bits and their count (section 9.7.9.21): it rounds up if adding the random bits to
/// the same number of bits of the fraction between the lower neighbor and `x` produces a carry.
fn beside(numbers: &[f64], x: f64, parts: &[&str], random: Option<(u32, u32)>) -> u32 {
    let above = numbers.partition_point(|number| *number < x);
    if numbers[above] == x {
        return above as u32;
    }
    let below = above - 1;
    let (down, gap) = (x - numbers[below], numbers[above] - numbers[below]);
    let goes_up = match random {
        _ if numbers[above].is_infinite() => false,
        Some((bits, count)) => ((down / gap * 2_f64.powi(count as i32)) as u64 + u64::from(bits)) >> count != 0,
        None if parts.contains(&"rz") => false,
        None if parts.contains(&"rp") => true,
        None => down > gap / 2.0 || down == gap / 2.0 && below % 2 == 1,
    };
    if goes_up { above as u32 } else { below as u32 }
}

/// Applies `.relu` to a number.
fn relu(x: f64, parts: &[&str]) -> f64 {
    if parts.contains(&"relu") && !x.is_nan() && x <= 0.0 { 0.0 } else { x }
}

fn half(name: &str, bits: u32) -> f64 {
    decode(bits.into(), format(name).unwrap()).unwrap_or(f64::NAN)
}

fn single(bits: u32) -> f64 {
    half("f32", bits)
}

/// A double in another format, with its one NaN; with `.satfinite` never infinite.
fn rounded<F: Float>(x: f64, parts: &[&str], round: Round) -> u32
where
    Double: FloatConvert<F>,
{
    if x.is_nan() {
        return u32::MAX >> (33 - F::BITS);
    }
    let value: F = Double::from_bits(x.to_bits().into()).convert_r(round, &mut false).value;
    let value = if value.is_infinite() && parts.contains(&"satfinite") { F::largest().copy_sign(value) } else { value };
    value.to_bits() as u32
}

fn into(format: &str, x: f64, parts: &[&str]) -> u32 {
    let round = if parts.contains(&"rz") { Round::TowardZero } else { Round::NearestTiesToEven };
    match format {
        "f16" | "f16x2" => rounded::<Half>(x, parts, round),
        "bf16" | "bf16x2" => rounded::<BFloat>(x, parts, round),
        _ => rounded::<Single>(x, parts, round),
    }
}

/// A power of two, and what it is not.
fn power(bits: u32) -> f64 {
    if bits == 0xff { f64::NAN } else { 2_f64.powi(bits as i32 - 127) }
}

/// The power at or below a magnitude with `.rz`, at or above it with `.rp`; the least one where there is none below.
fn to_power(x: f64, parts: &[&str]) -> u32 {
    let x = x.abs();
    let above_all = if parts.contains(&"satfinite") { 0xfe } else { 0xff };
    if x.is_nan() || x.is_infinite() {
        return if x.is_nan() { 0xff } else { above_all };
    }
    // The exponent of the power at or below it, and whether it is that power.
    let exponent = (x.to_bits() >> 52) as i32 - 1023;
    let up = parts.contains(&"rp") && x > 2_f64.powi(exponent);
    match exponent + i32::from(up) + 127 {
        ..0 => 0,
        power @ 0..0xff => power.cast_unsigned(),
        _ => above_all,
    }
}

/// A number with six bits behind the point.
fn to_fixed(x: f64, parts: &[&str]) -> u32 {
    let x = x * 64.0;
    let whole = if parts.contains(&"rz") { x.trunc() } else { x.round_ties_even() };
    if x.is_nan() { 127 } else { (whole.clamp(-128.0, 127.0) as i32 & 0xff).cast_unsigned() }
}

/// The 19 bits of `.tf32` at or beside a float.
fn to_tensor(bits: u32, parts: &[&str]) -> u32 {
    let x = single(bits);
    let (rna, finite) = (parts.contains(&"rna"), parts.contains(&"satfinite"));
    if x.is_nan() {
        let kept = (bits >> 13) - u32::from(finite);
        return if rna { kept << 13 } else { 0x7fff_e000 };
    }
    let (sign, magnitude) = (bits & 0x8000_0000, bits & 0x7fff_ffff);
    let number = |bits: u32| if bits == 0x7f80_0000 { 2_f64.powi(128) } else { single(bits) };
    let below = magnitude & !0x1fff;
    let above = below + 0x2000;
    let chosen = if x.is_infinite() || parts.contains(&"rz") {
        below
    } else {
        let (down, up) = (x.abs() - number(below), number(above) - x.abs());
        let ties_up = rna || below >> 13 & 1 == 1;
        if up < down || up == down && ties_up { above } else { below }
    };
    let chosen = if chosen == 0x7f80_0000 && finite { 0x7f7f_e000 } else { chosen };
    if parts.contains(&"relu") && sign != 0 { 0 } else { sign | chosen }
}

/// A float as a half or a bfloat by random bits.
fn rounded_randomly(numbers: &[f64], x: f64, parts: &[&str], random: (u32, u32)) -> u32 {
    if x.is_nan() {
        return 0x7fff;
    }
    let (sign, infinity) = (u32::from(x.is_sign_negative()) << 15, numbers.len() as u32 - 2);
    let found = beside(numbers, x.abs(), parts, Some(random)).min(infinity);
    sign | if found == infinity && parts.contains(&"satfinite") { infinity - 1 } else { found }
}

/// Computes a conversion with `.rs`. In a conversion of four operands, the first two share the upper half of the random
/// bits and the last two the lower half; for 4-bit formats each operand has one byte of its half. In one of two
/// operands each has a half, of which `.f16x2` ignores the highest three bits.
fn expected_randomly(parts: &[&str], numbers: &[f64], x: &[u32]) -> u32 {
    let to = parts[parts.len() - 2];
    let (random, x) = x.split_last().expect("it has random bits");
    let x: Vec<f64> = x.iter().map(|bits| relu(single(*bits), parts)).collect();
    let (upper, lower) = (random >> 16, random & 0xffff);
    let Some(narrow) = Narrow::of(to) else {
        let count = if to == "f16x2" { 13 } else { 16 };
        let [a, b] = [(x[0], upper), (x[1], lower)]
            .map(|(x, bits)| rounded_randomly(numbers, x, parts, (bits & ((1 << count) - 1), count)));
        return a << 16 | b;
    };
    let shares = match narrow.bits {
        4 => [(upper >> 8, 8), (lower >> 8, 8), (upper & 0xff, 8), (lower & 0xff, 8)],
        _ => [(upper, 16), (upper, 16), (lower, 16), (lower, 16)],
    };
    let each = x.iter().zip(shares).map(|(x, share)| narrow.rounded(numbers, *x, parts, Some(share)));
    each.fold(0, |word, bits| word << if narrow.bits == 4 { 4 } else { 8 } | bits)
}

/// Computes a conversion to a format with these numbers; `None` for a conversion that is not tested here.
fn expected(parts: &[&str], numbers: &[f64], x: &[u32]) -> Option<u32> {
    let [.., to, from] = *parts else { return None };
    if parts.contains(&"rs") {
        return Some(expected_randomly(parts, numbers, x));
    }
    let scaled = parts.contains(&"scaled::n2::ue8m0");
    let scale = |upper: bool| match scaled {
        true => power(x[x.len() - 1] >> if upper { 8 } else { 0 } & 0xff),
        false => 1.0,
    };
    // The two numbers of the source, the upper one first.
    let sources = match (from, Narrow::of(from)) {
        ("f32", _) if x.len() - usize::from(scaled) == 2 => [single(x[0]), single(x[1])],
        ("f32", _) => [single(x[0]); 2],
        ("f16x2" | "bf16x2", _) => [x[0] >> 16, x[0] & 0xffff].map(|bits| half(&from[..from.len() - 2], bits)),
        ("s2f6x2", _) => [x[0] >> 8 & 0xff, x[0] & 0xff].map(|bits| f64::from(bits as u8 as i8) / 64.0),
        ("ue8m0x2", _) => [x[0] >> 8 & 0xff, x[0] & 0xff].map(power),
        (_, Some(narrow)) => narrow.apart(x[0]).map(|bits| narrow.number(bits)),
        _ => return None,
    };
    Some(match (to, Narrow::of(to)) {
        ("tf32", _) => to_tensor(x[0], parts),
        ("ue8m0x2", _) => {
            let [upper, lower] = sources.map(|x| to_power(x, parts));
            upper << 8 | lower
        }
        ("s2f6x2", _) => {
            let [upper, lower] =
                [sources[0] / scale(true), sources[1] / scale(false)].map(|x| to_fixed(relu(x, parts), parts));
            upper << 8 | lower
        }
        (_, Some(narrow)) => {
            let [upper, lower] = sources.map(|x| narrow.rounded(numbers, relu(x, parts), parts, None));
            narrow.join(upper, lower)
        }
        ("f16x2" | "bf16x2", _) => {
            let products = [sources[0] * scale(true), sources[1] * scale(false)];
            let [upper, lower] = products.map(|x| into(to, relu(x, parts), parts));
            upper << 16 | lower
        }
        ("f16" | "bf16", _) if parts.contains(&"relu") || parts.contains(&"satfinite") => {
            into(to, relu(sources[0], parts), parts)
        }
        _ => return None,
    })
}

/// Returns floats at every number of a format, halfway between two, and adjacent to these, with either sign, and NaNs.
fn floats(narrow: Option<&Narrow>, random: &mut Random) -> Vec<u32> {
    let numbers: Vec<f64> = match narrow {
        Some(narrow) => narrow.numbers(),
        None => (0..=0xfe).map(power).collect(),
    };
    let middles = numbers.windows(2).map(|pair| f32::midpoint(pair[0] as f32, pair[1] as f32));
    let beyond = numbers.last().into_iter().flat_map(|last| [last * 1.0625, last * 1.125, last * 1.5, last * 4.0]);
    let places = numbers.iter().map(|number| *number as f32).chain(middles).chain(beyond.map(|x| x as f32));
    let mut floats: Vec<u32> = places
        .flat_map(|place| [-1, 0, 1].map(|by| place.to_bits().saturating_add_signed(by)))
        .chain([0x0040_0000, 0x003f_ffff, 0x0040_0001, 0x007f_ffff, 0x7f7f_efff, 0x7f7f_f000, 0x7f7f_ffff])
        .chain([0x7f80_0000, 0x7f80_0001, 0x7fc0_0000, 0x7fff_ffff])
        .collect();
    for _ in 0..200 {
        let bits = random.next() as u32 & 0x7fff_ffff;
        // At and beside the middle of two numbers of bfloats, of `.tf32`, and of halves, which are of a certain size.
        let (bfloat, tensor) = (bits >> 16 << 16 | 0x8000, bits >> 13 << 13 | 0x1000);
        let half = (0x3300_0000 + bits % 0x1600_0000) >> 13 << 13 | 0x1000;
        floats.extend([bits, bfloat - 1, bfloat, bfloat + 1, tensor - 1, tensor, tensor + 1, half - 1, half, half + 1]);
    }
    floats.extend(floats.clone().iter().map(|bits| bits | 0x8000_0000));
    floats
}

/// Step through the 16-bit inputs: all are tried, except in debug builds.
const STEP: usize = if cfg!(debug_assertions) { 13 } else { 1 };

/// Returns the inputs of a form: all 16-bit values and halves in each lane, and floats near the numbers of the format.
fn inputs(form: FormInfo, parts: &[&str]) -> Vec<Vec<u32>> {
    let mut random = Random::new(form.index() as u64);
    let to = parts[parts.len() - 2];
    let first: Vec<u32> = match parts[parts.len() - 1] {
        "f32" => floats(Narrow::of(to), &mut random),
        // Each half is the upper one once, and the lower one once.
        "f16x2" | "bf16x2" => {
            (0..=0xffff_u32).step_by(STEP).map(|bits| (bits.wrapping_mul(0x5bd1) & 0xffff) << 16 | bits).collect()
        }
        from => {
            let kept = Narrow::of(from).map_or(0xffff, |narrow| narrow.join(1, 1) * ((1 << narrow.bits) - 1));
            let words = (0..=0xffff).filter(|word| word & !kept == 0);
            words.step_by(STEP * if kept == 0xffff { 7 } else { 1 }).collect()
        }
    };
    // The other sources: floats, scale factors, or random bits.
    let count = form.sources().count();
    let others = |at: usize, random: &mut Random| {
        (1..count)
            .map(|source| match TABLE.ty(form.sources().nth(source).expect("a source").ty).bits {
                32 if parts[1] == "rs" && source + 1 == count => random.next() as u32,
                32 => first[(at * (7 + source) + 3) % first.len()],
                _ => [0x7f7f, 0x0001, 0xfffe, 0x8073, random.below(1 << 16) as u32][at % 5],
            })
            .collect::<Vec<_>>()
    };
    first.iter().enumerate().map(|(at, bits)| [&[*bits], &others(at, &mut random)[..]].concat()).collect()
}

#[test]
fn conversions_are_what_the_bits_of_formats_mean() {
    let mut told = Vec::new();
    for form in TABLE.forms().filter(|form| form.has_evaluator()) {
        let parts: Vec<&str> = form.mnemonic().split('.').collect();
        if parts[0] != "cvt" {
            continue;
        }
        let to = parts[parts.len() - 2];
        let numbers = match Narrow::of(to) {
            Some(narrow) => endless(narrow.numbers()),
            None if parts.contains(&"rs") => {
                let infinity = if to == "f16x2" { 0x7c00 } else { 0x7f80 };
                endless((0..infinity).map(|bits| half(&to[..to.len() - 2], bits)).collect())
            }
            None => Vec::new(),
        };
        if expected(&parts, &numbers, &vec![0; form.sources().count()]).is_none() {
            continue;
        }
        told.push((to, form));
        for x in inputs(form, &parts) {
            let expected = expected(&parts, &numbers, &x).expect("the conversion is modeled");
            let words: Vec<u128> = x.iter().map(|word| u128::from(*word)).collect();
            let found = form.evaluate(u16::MAX, &words)[0];
            let name = form.mnemonic();
            assert_eq!(found, expected.into(), "{name} of {x:x?}: {found:#x}, the format says {expected:#x}");
        }
    }
    let count = |to: &str| told.iter().filter(|(told, _)| *told == to).count();
    let counts = ["tf32", "ue8m0x2", "ue5m3x2", "s2f6x2", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2"].map(count);
    assert_eq!(counts, [10, 8, 18, 16, 24, 24, 24, 24, 24]);
    let counts = ["e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4", "f16x2", "bf16x2", "f16", "bf16"].map(count);
    assert_eq!(counts, [2, 2, 2, 2, 2, 23, 63, 6, 6]);
    held("formats", told.into_iter().map(|(_, form)| form));
}

/// Sums, differences and products of four numbers in a register: `.dtype` of the result and of what is added, then those of
/// the others.
fn computed(parts: &[&str], numbers: &[f64], words: &[u32]) -> u32 {
    let types: Vec<&str> = parts.iter().copied().filter(|part| part.ends_with("x4")).collect();
    let number = |ty: &str, word: u32, lane: u32| match Narrow::of(ty) {
        Some(narrow) if narrow.bits == 4 => narrow.number(word >> (4 * lane) & 0xf),
        Some(narrow) => narrow.number(word >> (8 * lane) & ((1 << narrow.bits) - 1)),
        None => power(word >> (8 * lane) & 0xff),
    };
    let narrow = Narrow::of(types[0]).expect("a narrow result");
    (0..4).rev().fold(0, |all, lane| {
        let source = |at: usize| number(types[at + 1], words[at], lane);
        let last = || number(types[0], words[words.len() - 1], lane);
        // In a double all is exact that matters: what it cannot hold beside the greater term is too little to count.
        let x = match parts[0] {
            "add" => source(0) + last(),
            "sub" => source(0) - last(),
            "mul" => source(0) * source(1),
            _ => source(0) * source(1) + last(),
        };
        all << 8 | narrow.rounded(numbers, x, parts, None)
    })
}

#[test]
fn arithmetic_of_four_numbers_is_rounded_once() {
    let mut random = Random::new(94);
    let mut told = Vec::new();
    for form in TABLE.forms().filter(|form| form.has_evaluator()) {
        let parts: Vec<&str> = form.mnemonic().split('.').collect();
        let narrow = parts.iter().find_map(|part| Narrow::of(part).filter(|_| part.ends_with("x4")));
        let (false, Some(narrow)) = (parts[0] == "cvt", narrow) else { continue };
        told.push((parts[0], form));
        let numbers = endless(narrow.numbers());
        for _ in 0..500 {
            let words: Vec<u32> = form.sources().map(|_| random.next() as u32).collect();
            let expected = computed(&parts, &numbers, &words);
            let words: Vec<u128> = words.iter().map(|word| u128::from(*word)).collect();
            let found = form.evaluate(u16::MAX, &words)[0];
            assert_eq!(found, expected.into(), "{} of {words:x?}: {found:#x}, not {expected:#x}", form.mnemonic());
        }
    }
    let count = |opcode: &str| told.iter().filter(|(told, _)| *told == opcode).count();
    assert_eq!(["add", "sub", "mul", "fma"].map(count), [48, 48, 288, 288]);
    held("four-numbers", told.into_iter().map(|(_, form)| form));
}
