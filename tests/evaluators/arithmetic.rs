//! Compares arithmetic and conversions with an independent implementation of the manual: integers in 128 bits and bit
//! by bit, floats with LLVM's `APFloat`. Mnemonics are parsed as text; only the list of forms is taken from the table.

use std::cmp::Ordering;

use crate::reference::{Random, edges, held};
use ptx_isa::TABLE;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// An integer type: signedness and width in bits.
#[derive(Clone, Copy)]
struct Integer(bool, u32);

fn integer(ty: &str) -> Option<Integer> {
    let (kind, bits) = ty.split_at(1);
    matches!(kind, "u" | "s" | "b").then(|| bits.parse().ok()).flatten().map(|bits| Integer(kind == "s", bits))
}

impl Integer {
    /// Returns the integer in the lowest bits of a word.
    fn value(self, word: u128) -> i128 {
        let Integer(signed, bits) = self;
        let word = (word << (128 - bits)) as i128;
        if signed { word >> (128 - bits) } else { (word as u128 >> (128 - bits)) as i128 }
    }

    fn word(self, value: i128) -> u128 {
        value as u128 & (u128::MAX >> (128 - self.1))
    }

    fn limits(self) -> (i128, i128) {
        match self {
            Integer(true, bits) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Integer(false, bits) => (0, (1 << bits) - 1),
        }
    }

    fn clamp(self, value: i128) -> i128 {
        let (least, most) = self.limits();
        value.clamp(least, most)
    }
}

/// Returns the result of an integer instruction; `None` if this reference does not implement it.
fn integers(parts: &[&str], x: &[u128]) -> Option<u128> {
    let has = |word: &str| parts.contains(&word);
    let ty = integer(parts[parts.len() - 1])?;
    let Integer(signed, bits) = ty;
    let v = |index: usize| ty.value(x[index]);
    let wide = Integer(signed, 2 * bits);
    let part = |product: i128| if has("hi") { product >> bits } else { product };
    let shift = |index: usize| (x[index] as u32).min(200);
    Some(match parts[0] {
        "add" if has("sat") => ty.word(ty.clamp(v(0) + v(1))),
        "add" => ty.word(v(0) + v(1)),
        "sub" if has("sat") => ty.word(ty.clamp(v(0) - v(1))),
        "sub" => ty.word(v(0) - v(1)),
        "mul" if has("wide") => wide.word(v(0) * v(1)),
        "mul" if !signed && bits == 64 && has("hi") => {
            let (a, b) = (x[0] as u64, x[1] as u64);
            u128::from(((u128::from(a) * u128::from(b)) >> 64) as u64)
        }
        "mul" => ty.word(part(v(0).wrapping_mul(v(1)))),
        "mad" if has("wide") => wide.word(v(0) * v(1) + wide.value(x[2])),
        "mad" if has("sat") => ty.word(ty.clamp(part(v(0) * v(1)) + v(2))),
        "mad" if bits < 64 || signed => ty.word(part(v(0) * v(1)) + v(2)),
        "mul24" | "mad24" => {
            let half = Integer(signed, 24);
            let product = half.value(x[0]) * half.value(x[1]);
            let kept = ty.value(ty.word(if has("hi") { product >> 16 } else { product }));
            match (parts[0], has("sat")) {
                ("mul24", _) => ty.word(kept),
                (_, true) => ty.word(ty.clamp(kept + v(2))),
                (_, false) => ty.word(kept + v(2)),
            }
        }
        "sad" => ty.word(v(2) + (v(0) - v(1)).abs()),
        "div" if v(1) != 0 => ty.word(v(0) / v(1)),
        "rem" if v(1) != 0 => ty.word(v(0) % v(1)),
        "abs" => ty.word(v(0).abs()),
        "neg" => ty.word(-v(0)),
        "min" | "max" => {
            let chosen = if parts[0] == "min" { v(0).min(v(1)) } else { v(0).max(v(1)) };
            ty.word(if has("relu") { chosen.max(0) } else { chosen })
        }
        "popc" => (0..bits).map(|bit| x[0] >> bit & 1).sum(),
        "clz" => (0..bits).rev().take_while(|bit| x[0] >> bit & 1 == 0).count() as u128,
        "brev" => (0..bits).fold(0, |all, bit| all | (x[0] >> bit & 1) << (bits - 1 - bit)),
        "bfind" => {
            let a = if v(0) < 0 { !v(0) } else { v(0) };
            match (0..bits).rev().find(|bit| a >> bit & 1 != 0) {
                None => 0xffff_ffff,
                Some(bit) if has("shiftamt") => u128::from(bits - 1 - bit),
                Some(bit) => u128::from(bit),
            }
        }
        "bfe" => {
            let masked = |word: u128| if bits == 32 { word as u32 & 0xff } else { (word as u32).min(1000) };
            let (first, length) = (masked(x[1]), masked(x[2]));
            let bit = |place: u32| x[0] >> place & 1;
            let sign = match signed && length > 0 {
                true => bit((first + length - 1).min(bits - 1)),
                false => 0,
            };
            (0..bits).fold(0, |all, place| {
                let inside = place < length && first + place < bits;
                all | if inside { bit(first + place) } else { sign } << place
            })
        }
        "bfi" => {
            let masked = |word: u128| if bits == 32 { word as u32 & 0xff } else { (word as u32).min(1000) };
            let (first, length) = (masked(x[2]), masked(x[3]));
            let replaced = |place: u32| (first..first + length).contains(&place);
            (0..bits).fold(0, |all, place| {
                let bit = if replaced(place) { x[0] >> (place - first) & 1 } else { x[1] >> place & 1 };
                all | bit << place
            })
        }
        "shl" => {
            if shift(1) < bits {
                ty.word((x[0] << shift(1)) as i128)
            } else {
                0
            }
        }
        "shr" => ty.word(v(0) >> shift(1).min(127)),
        "shf" => {
            let n = if has("wrap") { x[2] as u32 & 31 } else { (x[2] as u32).min(32) };
            let both = (x[1] & 0xffff_ffff) << 32 | x[0] & 0xffff_ffff;
            if has("l") { both << n >> 32 & 0xffff_ffff } else { both >> n & 0xffff_ffff }
        }
        "lop3" => (0..32).fold(0, |all, place| {
            let spelt = (x[0] >> place & 1) << 2 | (x[1] >> place & 1) << 1 | x[2] >> place & 1;
            all | (x[3] >> spelt & 1) << place
        }),
        _ => return None,
    })
}

fn rounding(parts: &[&str]) -> Round {
    let word = parts.iter().find(|part| matches!(part.get(..2), Some("rn" | "rz" | "rm" | "rp")) && part.len() < 4);
    match word.map_or("rn", |word| &word[..2]) {
        "rz" => Round::TowardZero,
        "rm" => Round::TowardNegative,
        "rp" => Round::TowardPositive,
        _ => Round::NearestTiesToEven,
    }
}

/// Returns the bits of a result: the canonical NaN for a NaN, saturated to [0, 1] on request.
fn finish<F: Float>(value: F, saturated: bool) -> u128 {
    if value.is_nan() {
        return if saturated { 0 } else { (1 << (F::BITS - 1)) - 1 };
    }
    if saturated {
        let one = F::from_u128(1).value;
        let zero = F::from_u128(0).value;
        return if value >= one {
            one
        } else if value > zero {
            value
        } else {
            zero
        }
        .to_bits();
    }
    value.to_bits()
}

fn flush<F: Float>(value: F, flushed: bool) -> F {
    if flushed && value.is_denormal() { F::ZERO.copy_sign(value) } else { value }
}

/// Exponent by which operands are scaled so that results are far above the smallest normal number.
const SCALE: i32 = 4;

/// Flushes a result that is tiny after rounding: `scaled`, the same result multiplied by 2^`SCALE`, is below the
/// smallest normal number at that scale.
fn flush_result<F: Float>(value: F, scaled: F, flushed: bool) -> F {
    let tiny = scaled.is_finite() && scaled.abs() < F::smallest_normalized().scalbn(SCALE);
    flush(if flushed && tiny { F::ZERO.copy_sign(value) } else { value }, flushed)
}

fn float<F: Float>(parts: &[&str], x: &[u128]) -> Option<u128> {
    let has = |word: &str| parts.contains(&word);
    let (ftz, round) = (has("ftz"), rounding(parts));
    let v = |index: usize| flush(F::from_bits(x[index] & (u128::MAX >> (128 - F::BITS))), ftz);
    let at_scale = |scale: i32| {
        let scaled = |value: F| value.scalbn(scale);
        Some(match parts[0] {
            "add" => scaled(v(0)).add_r(scaled(v(1)), round).value,
            "sub" => scaled(v(0)).sub_r(scaled(v(1)), round).value,
            "mul" => scaled(v(0)).mul_r(v(1), round).value,
            "fma" | "mad" => scaled(v(0)).mul_add_r(v(1), scaled(v(2)), round).value,
            "div" => scaled(v(0)).div_r(v(1), round).value,
            "rcp" if !has("approx") => scaled(F::from_u128(1).value).div_r(v(0), round).value,
            _ => return None,
        })
    };
    let value = flush_result(at_scale(0)?, at_scale(SCALE)?, ftz);
    Some(if F::BITS == 64 && value.is_nan() { kept_nan(parts[0], x) } else { finish(value, has("sat")) })
}

/// Returns the NaN that an operation on doubles gives: one of its operands, made quiet, as an H200 was seen to choose it.
fn kept_nan(operation: &str, x: &[u128]) -> u128 {
    let order: &[usize] = match operation {
        "div" | "rcp" => &[0, 1],
        "fma" | "mad" => &[1, 2, 0],
        _ => &[1, 0],
    };
    let operands = order.iter().filter_map(|index| Some(x.get(*index)? & u128::from(u64::MAX)));
    let nan = operands.into_iter().find(|bits| Double::from_bits(*bits).is_nan());
    nan.map_or(0xfff8 << 48, |bits| bits | 1 << 51)
}

fn resized<F: Float + FloatConvert<G>, G: Float>(parts: &[&str], x: u128) -> u128 {
    let has = |word: &str| parts.contains(&word);
    let single = |bits: usize| bits == 32;
    // The hardware does not flush the source of a conversion to `f16`.
    let flushed = has("ftz") && single(F::BITS) && !has("f16");
    let value = flush(F::from_bits(x & (u128::MAX >> (128 - F::BITS))), flushed);
    let result: G = value.convert_r(rounding(parts), &mut false).value;
    // To detect tiny results, the compiler rounds to nearest, whatever the rounding mode.
    let scaled: G = value.scalbn(SCALE).convert_r(Round::NearestTiesToEven, &mut false).value;
    if result.is_nan() && F::BITS.max(G::BITS) == 64 && !has("sat") {
        // Flushing makes a NaN of single precision the canonical one.
        let canonical: G = F::from_bits((1 << (F::BITS - 1)) - 1).convert(&mut false).value;
        return if flushed { canonical } else { result }.to_bits();
    }
    finish(flush_result(result, scaled, has("ftz") && single(G::BITS)), has("sat"))
}

/// Returns a number within a few ulps of one, two or the smallest normal number, with a random sign. For `f64`, the
/// smallest normal number is that of `f32`, and the distance is up to that of a few ulps of `f32`.
fn near_edges(ty: &str, random: &mut Random) -> u128 {
    let (bits, fraction, least) = match ty {
        "f16" => (16, 10, 1 << 10),
        "f32" => (32, 23, 1 << 23),
        _ => (64, 52, 0x381 << 52),
    };
    let one = ((1_u128 << (bits - 2)) - 1) >> fraction << fraction;
    let center = [one, one + (1 << fraction), least, least][random.below(4) as usize];
    let step = if bits == 64 { random.below(30) as u32 } else { 0 };
    let distance = random.below(9) << step;
    let magnitude = if random.below(2) == 0 { center + distance } else { center - distance };
    magnitude | random.below(2) << (bits - 1)
}

fn to_integer<F: Float>(parts: &[&str], to: Integer, x: u128) -> u128 {
    let flushed = parts.contains(&"ftz");
    let value = flush(F::from_bits(x & (u128::MAX >> (128 - F::BITS))), flushed);
    if value.is_nan() {
        return if to.1 == 64 || F::BITS == 64 { 1 << (to.1 - 1) } else { 0 };
    }
    let whole = value.round_to_integral(rounding(parts)).value;
    to.word(to.clamp(whole.to_i128(127).value))
}

fn from_integer<F: Float>(parts: &[&str], from: Integer, x: u128) -> u128 {
    finish(F::from_i128_r(from.value(x), rounding(parts)).value, parts.contains(&"sat"))
}

/// Returns the result of `cvt`.
fn converted(parts: &[&str], x: u128) -> Option<u128> {
    let [.., to, from] = parts else { return None };
    macro_rules! by_format {
        ($name:expr, $format:ident => $value:expr) => {
            match $name {
                "f16" => {
                    type $format = Half;
                    Some($value)
                }
                "bf16" => {
                    type $format = BFloat;
                    Some($value)
                }
                "f32" => {
                    type $format = Single;
                    Some($value)
                }
                "f64" => {
                    type $format = Double;
                    Some($value)
                }
                _ => None,
            }
        };
    }
    match (integer(to), integer(from)) {
        (Some(to), Some(from)) => {
            let value = from.value(x);
            Some(to.word(if parts.contains(&"sat") { to.clamp(value) } else { value }))
        }
        (Some(to), None) => by_format!(*from, F => to_integer::<F>(parts, to, x)),
        (None, Some(from)) => by_format!(*to, F => from_integer::<F>(parts, from, x)),
        (None, None)
            if parts.iter().any(|part| matches!(*part, "relu" | "satfinite" | "rni" | "rzi" | "rmi" | "rpi")) =>
        {
            None
        }
        (None, None) if to == from => None,
        // A `bf16` has the upper bits of an `f32`, including for NaN.
        (None, None) if (*to, *from) == ("f32", "bf16") => None,
        (None, None) => by_format!(*from, F => by_format!(*to, G => resized::<F, G>(parts, x))).flatten(),
    }
}

fn expected(mnemonic: &str, x: &[u128]) -> Option<u128> {
    let parts: Vec<&str> = mnemonic.split('.').collect();
    let last = parts[parts.len() - 1];
    match parts[0] {
        "cvt" if x.len() == 1 => converted(&parts, x[0]),
        // Mixed-precision operations have two types.
        "add" | "sub" | "fma" if parts[parts.len() - 2] == "f32" => None,
        _ if parts.contains(&"relu") && integer(last).is_none() || parts.contains(&"oob") => None,
        _ => match last {
            "f16" => float::<Half>(&parts, x),
            "bf16" => float::<BFloat>(&parts, x),
            "f32" => float::<Single>(&parts, x),
            "f64" => float::<Double>(&parts, x),
            _ => integers(&parts, x),
        },
    }
}

#[test]
fn forms_compute_what_the_manual_says() {
    let mut told = Vec::new();
    for (number, form) in TABLE.forms().filter(|form| form.has_evaluator()).enumerate() {
        let mut random = Random::new(number as u64);
        let types: Vec<&str> = form.sources().map(|operand| TABLE.ty(operand.ty).name).collect();
        let plain = types.iter().all(|ty| integer(ty).is_some() || crate::reference::format(ty).is_some());
        if !plain || form.bound().is_some() || form.results().count() != 1 || form.selectors().count() > 0 {
            continue;
        }
        let sources: Vec<Vec<u128>> = types.iter().map(|ty| edges(ty, &mut random, 12)).collect();
        let mut told_here = false;
        for round in 0..600 {
            let pick = |list: &Vec<u128>, random: &mut Random| list[random.below(list.len() as u128) as usize];
            let mut inputs: Vec<u128> = sources.iter().map(|list| pick(list, &mut random)).collect();
            // Shift counts and field positions should often be small.
            if round % 3 == 0 {
                inputs.iter_mut().skip(1).for_each(|input| *input %= 70);
            }
            if round % 3 == 1 && form.mnemonic().contains(".ftz") {
                let floats = inputs.iter_mut().zip(&types).filter(|(_, ty)| matches!(**ty, "f16" | "f32" | "f64"));
                floats.for_each(|(input, ty)| *input = near_edges(ty, &mut random));
            }
            let Some(expected) = expected(form.mnemonic(), &inputs) else { continue };
            told_here = true;
            let found = form.evaluate(u16::MAX, &inputs)[0];
            assert_eq!(
                found,
                expected,
                "{} of {inputs:x?}: found {found:#x}, the manual says {expected:#x}",
                form.mnemonic()
            );
        }
        told.extend(told_here.then_some(form));
    }
    assert!(told.len() > 900, "{}", told.len());
    held("arithmetic", told);
}

/// Splits a word into parts of `bits` bits, lowest first.
fn apart(word: u128, bits: u32, count: usize) -> Vec<u128> {
    (0..count as u32).map(|part| word >> (part * bits) & (u128::MAX >> (128 - bits))).collect()
}

#[test]
fn values_side_by_side_are_what_the_manual_says() {
    let mut random = Random::new(11);
    let mut told = Vec::new();
    let (mut moved, mut packed, mut compared, mut video_forms) = (0, 0, 0, 0);
    for form in TABLE.forms().filter(|form| form.has_evaluator()) {
        let name = form.name();
        let parts: Vec<&str> = name.split('.').collect();
        let widths: Vec<u32> = form.sources().map(|operand| TABLE.ty(operand.ty).bits.into()).collect();
        for round in 0..300 {
            let small = random.below(2) == 0;
            let word = |bits: &u32, random: &mut Random| match (small, bits) {
                (_, 128) => random.below(1 << 64) << 64 | random.below(1 << 64),
                (true, 32) => u128::from((random.below(600) as i32 - 300).cast_unsigned()),
                (_, bits) => random.below(1 << bits.min(&64)),
            };
            let mut inputs: Vec<u128> = widths.iter().map(|bits| word(bits, &mut random)).collect();
            let expected = match (parts[0], parts[parts.len() - 1]) {
                ("mov", "into2" | "into4") => {
                    apart(inputs[0], widths[0] / form.results().count() as u32, form.results().count())
                }
                ("mov", "of2" | "of4") => {
                    let bits = widths[0];
                    vec![inputs.iter().rev().fold(0, |all, part| if bits == 128 { *part } else { all << bits | part })]
                }
                ("mov", _) => vec![inputs[0]],
                ("cvt", "s32" | "b32") if parts[1] == "pack" => {
                    let to = integer(parts[3]).unwrap();
                    let number = |word: u128| to.word(to.clamp(i128::from(word as u32 as i32)));
                    let above = inputs.get(2).copied().unwrap_or(0) << (2 * to.1);
                    vec![(above | number(inputs[0]) << to.1 | number(inputs[1])) & 0xffff_ffff]
                }
                ("set", "u8x4" | "s8x4" | "u16x2" | "s16x2") => {
                    let (ty, count) = parts[2].split_once('x').unwrap();
                    let (ty, count) = (integer(ty).unwrap(), count.parse().unwrap());
                    let lanes = apart(inputs[0], ty.1, count).into_iter().zip(apart(inputs[1], ty.1, count));
                    let lanes = lanes.map(|(a, b)| match (parts[1], ty.value(a).cmp(&ty.value(b))) {
                        ("eq" | "le" | "ge" | "ls" | "hs", Ordering::Equal)
                        | ("ne" | "lt" | "le" | "lo" | "ls", Ordering::Less)
                        | ("ne" | "gt" | "ge" | "hi" | "hs", Ordering::Greater) => u128::MAX >> (128 - ty.1),
                        _ => 0,
                    });
                    let lanes: Vec<u128> = lanes.collect();
                    vec![lanes.into_iter().rev().fold(0, |all, lane| all << ty.1 | lane)]
                }
                ("vmad", _) => vec![product_sum(&parts, &inputs)],
                ("vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax", _) => vec![video(&parts, &mut inputs)],
                ("clmad", _) => {
                    // Carry-less multiplication, bit by bit.
                    let bit = |word: u128, at: u32| word >> at & 1;
                    let sum = |at: u32| {
                        (0..=at.min(63))
                            .filter(|i| at - i < 64 && bit(inputs[0], *i) & bit(inputs[1], at - i) != 0)
                            .count()
                    };
                    let product = (0..127).fold(0, |all, at| all | (sum(at) as u128 & 1) << at);
                    vec![(if parts[1] == "hi" { product >> 64 } else { product } ^ inputs[2]) & u128::from(u64::MAX)]
                }
                _ => break,
            };
            told.extend((round == 0).then_some(form));
            // The default selectors select the whole source.
            inputs.extend(form.selectors().map(|selector| u128::from(selector.default)));
            assert_eq!(*form.evaluate(u16::MAX, &inputs), expected, "{name} of {inputs:x?}");
        }
        moved += usize::from(parts[0] == "mov");
        packed += usize::from(parts.get(1) == Some(&"pack"));
        compared += usize::from(parts[0] == "set" && parts.len() == 3);
        video_forms += usize::from(["vmad", "vadd", "vsub", "vabsdiff", "vmin", "vmax"].contains(&parts[0]));
    }
    assert_eq!((moved, packed, compared, video_forms), (35, 8, 32, 384 + 5 * 64));
    held("side-by-side", told);
}

/// Returns the result of scalar video arithmetic without selectors. Truncates `inputs` to the sources that the form
/// reads.
fn video(parts: &[&str], inputs: &mut Vec<u128>) -> u128 {
    let [to, a, b] = [1, 2, 3].map(|place| integer(parts[place]).unwrap());
    let (x, y) = (a.value(inputs[0]), b.value(inputs[1]));
    let t = match parts[0] {
        "vadd" => x + y,
        "vsub" => x - y,
        "vabsdiff" => (x - y).abs(),
        "vmin" => x.min(y),
        _ => x.max(y),
    };
    let t = if parts.contains(&"sat") { to.clamp(t) } else { t };
    let second = ["add", "min", "max"].contains(parts.last().unwrap());
    inputs.truncate(if second { 3 } else { 2 });
    to.word(match (*parts.last().unwrap(), inputs.get(2).map(|c| to.value(*c))) {
        ("add", Some(c)) => t + c,
        ("min", Some(c)) => t.min(c),
        ("max", Some(c)) => t.max(c),
        _ => t,
    })
}

/// Returns the result of `vmad` without selectors, following the manual's pseudo-code.
fn product_sum(parts: &[&str], inputs: &[u128]) -> u128 {
    let has = |word: &str| parts.contains(&word);
    let [_, a, b] = [1, 2, 3].map(|place| integer(parts[place]).unwrap());
    let negated = has("minus_a") != has("minus_b");
    let signed = a.0 || b.0 || negated || has("minus_c");
    let product = a.value(inputs[0]) * b.value(inputs[1]);
    let c = Integer(signed, 32).value(inputs[2]);
    let sum = if negated { !product } else { product } + if has("minus_c") { !c } else { c };
    let sum = sum + i128::from(negated || has("minus_c") || has("po"));
    let scaled = sum
        >> if has("shr7") {
            7
        } else if has("shr15") {
            15
        } else {
            0
        };
    let result = Integer(signed, 64).value(scaled.cast_unsigned());
    Integer(true, 32).word(if has("sat") { Integer(signed, 32).clamp(result) } else { result })
}
