//! Conversion to and from narrow formats against what their bits mean: every pair of halves, every byte, and floats at and
//! beside every number and every middle of two.
//!
//! The oracle is a list of a format's numbers as doubles; nothing of the table but its forms is used.

mod reference;

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use reference::{Random, decode, format};
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// Sections 5.2.3 and 9.7.9.21: how many bits a number has, how many of them are its fraction, its bias, the bits of its
/// greatest number, and what NaN becomes.
struct Narrow {
    name: &'static str,
    bits: u32,
    fraction: u32,
    bias: i32,
    greatest: u32,
    nan: u32,
}

const NARROW: [Narrow; 5] = [
    Narrow { name: "e4m3x2", bits: 8, fraction: 3, bias: 7, greatest: 0x7e, nan: 0x7f },
    Narrow { name: "e5m2x2", bits: 8, fraction: 2, bias: 15, greatest: 0x7b, nan: 0x7f },
    Narrow { name: "e2m3x2", bits: 6, fraction: 3, bias: 1, greatest: 0x1f, nan: 0x1f },
    Narrow { name: "e3m2x2", bits: 6, fraction: 2, bias: 3, greatest: 0x1f, nan: 0x1f },
    Narrow { name: "e2m1x2", bits: 4, fraction: 1, bias: 1, greatest: 0x7, nan: 0x7 },
];

impl Narrow {
    fn of(name: &str) -> Option<&'static Narrow> {
        NARROW.iter().find(|narrow| narrow.name == name)
    }

    /// A magnitude's number; beyond the greatest there is an infinity of `e5m2`, and NaN.
    fn magnitude(&self, bits: u32) -> f64 {
        let fraction = f64::from(bits & ((1 << self.fraction) - 1)) / f64::from(1 << self.fraction);
        match bits >> self.fraction {
            _ if bits > self.greatest => {
                if self.name == "e5m2x2" && bits == 0x7c {
                    f64::INFINITY
                } else {
                    f64::NAN
                }
            }
            0 => fraction * 2_f64.powi(1 - self.bias),
            power => (1.0 + fraction) * 2_f64.powi(power as i32 - self.bias),
        }
    }

    fn number(&self, bits: u32) -> f64 {
        let sign = 1 << (self.bits - 1);
        let magnitude = self.magnitude(bits & (sign - 1));
        if bits & sign != 0 { -magnitude } else { magnitude }
    }

    /// The bits of the nearest of these numbers, of two the one with an even last bit.
    fn nearest(&self, numbers: &[f64], x: f64) -> u32 {
        if x.is_nan() {
            return self.nan;
        }
        let sign = u32::from(x.is_sign_negative()) << (self.bits - 1);
        let x = x.abs().min(numbers[numbers.len() - 1]);
        let above = numbers.partition_point(|number| *number < x);
        let below = above.saturating_sub(1);
        let (down, up) = ((x - numbers[below]).abs(), (numbers[above] - x).abs());
        sign | if down < up || down == up && below % 2 == 0 { below } else { above } as u32
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

/// What `.relu` makes of a number.
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
    if x.is_nan() {
        return 0x7fff_ffff;
    }
    let (sign, magnitude) = (bits & 0x8000_0000, bits & 0x7fff_ffff);
    let number = |bits: u32| if bits == 0x7f80_0000 { 2_f64.powi(128) } else { single(bits) };
    let below = magnitude & !0x1fff;
    let above = below + 0x2000;
    let chosen = if x.is_infinite() || parts.contains(&"rz") {
        below
    } else {
        let (down, up) = (x.abs() - number(below), number(above) - x.abs());
        let ties_up = parts.contains(&"rna") || below >> 13 & 1 == 1;
        if up < down || up == down && ties_up { above } else { below }
    };
    let chosen = if chosen == 0x7f80_0000 && parts.contains(&"satfinite") { 0x7f7f_e000 } else { chosen };
    if parts.contains(&"relu") && sign != 0 { 0 } else { sign | chosen }
}

/// What a conversion gives, the numbers of the format that it is to being these; `None` for one that is not told here.
fn expected(parts: &[&str], numbers: &[f64], x: &[u32]) -> Option<u32> {
    let [.., to, from] = *parts else { return None };
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
            let [upper, lower] = sources.map(|x| narrow.nearest(numbers, relu(x, parts)));
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

/// Floats at every number of a format, in the middle of two, and next to these, of either sign; and what is no number.
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

/// How many words there are to each that is tried: all are, but where nothing is optimised.
const STEP: usize = if cfg!(debug_assertions) { 13 } else { 1 };

/// The inputs of a form: all there are of 16 bits and of halves, lane by lane, and floats that matter.
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
    // What else there is: another float, or powers.
    let count = form.sources().count();
    let others = |at: usize, random: &mut Random| {
        (1..count)
            .map(|source| match TABLE.ty(form.sources().nth(source).expect("a source").ty).bits {
                32 => first[(at * 7 + 3) % first.len()],
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
        let numbers = Narrow::of(to).map_or(Vec::new(), Narrow::numbers);
        if expected(&parts, &numbers, &vec![0; form.sources().count()]).is_none() {
            continue;
        }
        told.push(to);
        for x in inputs(form, &parts) {
            let expected = expected(&parts, &numbers, &x).expect("it is told");
            let words: Vec<u128> = x.iter().map(|word| u128::from(*word)).collect();
            let found = form.evaluate(u16::MAX, &words)[0];
            let name = form.mnemonic();
            assert_eq!(found, expected.into(), "{name} of {x:x?}: {found:#x}, the format says {expected:#x}");
        }
    }
    let count = |to: &str| told.iter().filter(|told| **told == to).count();
    let counts = ["tf32", "ue8m0x2", "s2f6x2", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2"].map(count);
    assert_eq!(counts, [10, 8, 16, 6, 6, 6, 6, 6]);
    assert_eq!(["f16x2", "bf16x2", "f16", "bf16"].map(count), [18, 57, 6, 6]);
}
