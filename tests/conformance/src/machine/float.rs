//! Semantics of the machine's floating-point instructions, implemented with LLVM's `APFloat`.
//!
//! The NaN that a double-precision operation returns is as an H200 was seen to do it.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::half;
use super::integer::{kinds, nearest};
use super::interpreter::{Machine, format, joined};
use super::registers::{Origin, Result};
use super::sass::Instruction;

/// How a name rounds.
fn rounding(i: &Instruction) -> Round {
    let has = |names: &[&str]| names.iter().any(|name| i.has(name));
    match () {
        () if has(&["RZ", "TRUNC"]) => Round::TowardZero,
        () if has(&["RM", "FLOOR"]) => Round::TowardNegative,
        () if has(&["RP", "CEIL"]) => Round::TowardPositive,
        () => Round::NearestTiesToEven,
    }
}

fn read<F: Float>(bits: u64, flushed: bool) -> F {
    let value = F::from_bits(u128::from(bits));
    if flushed && value.is_denormal() { F::ZERO.copy_sign(value) } else { value }
}

/// The bits of a result: the one NaN that the machine knows, subnormal numbers as zero, and what is beyond zero and one.
fn write<F: Float>(i: &Instruction, value: F) -> u64 {
    let one = F::from_u128(1).value;
    let value = if i.has("FTZ") && value.is_denormal() { F::ZERO.copy_sign(value) } else { value };
    let value = match () {
        () if i.has("SAT") && value.is_nan() => F::ZERO,
        () if (i.has("SAT") || i.has("RELU")) && value <= F::ZERO => F::ZERO,
        () if i.has("SAT") && value > one => one,
        () => value,
    };
    let value = if i.has("SATFINITE") && value.is_infinite() { F::largest().copy_sign(value) } else { value };
    if value.is_nan() { (1 << (F::BITS - 1)) - 1 } else { value.to_bits() as u64 }
}

/// Computes the operation of an opcode, given without its first letter. With `FTZ`, a result that is tiny after
/// rounding is flushed to zero; tininess is determined by computing the result at twice the scale.
fn operate<F: Float>(i: &Instruction, name: &str, operands: &[F]) -> Option<F> {
    let round = rounding(i);
    let at_scale = |scale: i32| {
        Some(match (name, operands) {
            ("ADD", &[a, b]) => a.scalbn(scale).add_r(b.scalbn(scale), round).value,
            ("MUL", &[a, b]) => a.scalbn(scale).mul_r(b, round).value,
            ("FMA", &[a, b, c]) => a.scalbn(scale).mul_add_r(b, c.scalbn(scale), round).value,
            _ => return None,
        })
    };
    let (value, doubled) = (at_scale(0)?, at_scale(1)?);
    let tiny = doubled.is_finite() && doubled.abs() < F::smallest_normalized().scalbn(1);
    Some(if i.has("FTZ") && tiny { F::ZERO.copy_sign(value) } else { value })
}

/// The lesser or the greater one, −0 before +0.
fn extreme<F: Float>(i: &Instruction, a: F, b: F, least: bool) -> F {
    let less = if a.is_zero() && b.is_zero() { a.is_negative() } else { a < b };
    match (a.is_nan(), b.is_nan()) {
        (true, _) | (_, true) if i.has("NAN") => F::NAN,
        (true, _) => b,
        (_, true) => a,
        _ => {
            if less == least {
                a
            } else {
                b
            }
        }
    }
}

/// A number as an integer of a kind, and whether it is one at all.
fn integer<F: Float>(i: &Instruction, bits: u64, kind: (bool, u32)) -> Option<u64> {
    let value = read::<F>(bits, i.has("FTZ"));
    if value.is_nan() {
        return i.has("NTZ").then_some(0);
    }
    let whole = value.round_to_integral(rounding(i)).value;
    let value = nearest(whole.to_i128(127).value, kind);
    Some(value as u64 & (u64::MAX >> (64 - kind.1)))
}

/// Converts between formats; a NaN of double precision keeps its sign and its upper bits.
fn resize<F: Float + FloatConvert<G>, G: Float>(i: &Instruction, bits: u64) -> u64 {
    let value: G = read::<F>(bits, i.has("FTZ")).convert_r(rounding(i), &mut false).value;
    if F::BITS == 64 && value.is_nan() && !i.has("SAT") { value.to_bits() as u64 } else { write(i, value) }
}

fn is_nan(bits: u64) -> bool {
    f64::from_bits(bits).is_nan()
}

/// A half as a float: it is one.
fn widened(bits: u64) -> u64 {
    let value: Single = read::<Half>(bits, false).convert(&mut false).value;
    value.to_bits() as u64
}

/// The formats in a name, in order.
fn formats(i: &Instruction) -> Vec<&str> {
    let known = |part: &&str| matches!(*part, "F16" | "BF16" | "F32" | "F64");
    i.parts[1..].iter().map(String::as_str).filter(known).collect()
}

impl Machine {
    /// Does an instruction on floats, if it is one.
    pub(super) fn float(&mut self, opcode: &str, i: &Instruction) -> Result<bool> {
        match opcode {
            "FADD" | "FMUL" | "FFMA" => {
                self.knows(i, &["FTZ", "SAT", "RM", "RP", "RZ"])?;
                let name = if opcode == "FFMA" { "FMA" } else { &opcode[1..] };
                let value = operate(i, name, &self.singles(i, 1..i.operands.len())?);
                self.set(i, write(i, value.ok_or("its operands are not known")?) as u32)?;
            }
            "DADD" | "DMUL" | "DFMA" => {
                self.knows(i, &["RM", "RP", "RZ"])?;
                let bits = (1..i.operands.len()).map(|at| self.bits(i, at, 64)).collect::<Result<Vec<_>>>()?;
                let operands: Vec<Double> = bits.iter().map(|bits| read(*bits, false)).collect();
                let value = operate(i, &opcode[1..], &operands).ok_or("its operands are not known")?;
                // The NaN of the first operand is kept last.
                let kept = bits[1..].iter().chain(&bits[..1]).copied().find(|bits| is_nan(*bits));
                self.set_double(i, value, kept)?;
            }
            "FMNMX" => {
                self.knows(i, &["FTZ", "NAN"])?;
                let (a, b) = (self.bits(i, 1, 32)?, self.bits(i, 2, 32)?);
                let (a, b) = (read::<Single>(a, i.has("FTZ")), read(b, i.has("FTZ")));
                self.set(i, write(i, extreme(i, a, b, self.predicate(i, 3)?)) as u32)?;
            }
            "FMNMX3" => {
                self.knows(i, &["FTZ", "NAN"])?;
                let [a, b, c] = self.singles(i, 1..4)?[..] else { return Ok(false) };
                let least = self.predicate(i, 4)?;
                self.set(i, write(i, extreme(i, extreme(i, a, b, least), c, least)) as u32)?;
            }
            // The first source, and the second of a product, are halves.
            "FHADD" | "FHFMA" => {
                self.knows(i, &["BF16", "SAT", "RM", "RP", "RZ"])?;
                let half = |at| {
                    let bits = self.bits(i, at, 16)?;
                    let bits = if i.has("BF16") { bits << 16 } else { widened(bits) };
                    Ok::<_, String>(read::<Single>(bits, false))
                };
                let last = i.operands.len() - 1;
                let halves = (1..last).map(half).collect::<Result<Vec<_>>>()?;
                let operands = [halves, self.singles(i, last..last + 1)?].concat();
                let value = operate(i, &opcode[2..], &operands).ok_or("its operands are not known")?;
                self.set(i, write(i, value) as u32)?;
            }
            // Two floats in a pair of registers.
            "FADD2" | "FMUL2" | "FFMA2" => {
                self.knows(i, &["FTZ", "RM", "RP", "RZ"])?;
                let wide = |at| {
                    let operand = i.operand(at)?;
                    let name = operand
                        .trim_end_matches(".NP")
                        .strip_suffix(".F32x2.HI_LO")
                        .ok_or("its operands are not known")?;
                    let bits = self.registers.wide(name.trim_start_matches('-'))?;
                    Ok::<_, String>(if name.starts_with('-') { bits ^ (1 << 63 | 1 << 31) } else { bits })
                };
                let operands = (1..i.operands.len()).map(wide).collect::<Result<Vec<_>>>()?;
                let lane = |shift: u32| {
                    let lanes = operands.iter().map(|bits| read::<Single>(bits >> shift & 0xffff_ffff, i.has("FTZ")));
                    let value = operate(i, &opcode[1..opcode.len() - 1], &lanes.collect::<Vec<_>>());
                    Ok::<_, String>(write(i, value.ok_or("its operands are not known")?))
                };
                let word = lane(0)? | lane(32)? << 32;
                self.registers.set_wide(i.operand(0)?, word)?;
            }
            "FSEL" => {
                self.knows(i, &[])?;
                let bits = self.bits(i, if self.predicate(i, 3)? { 1 } else { 2 }, 32)?;
                self.set(i, bits as u32)?;
            }
            "FSETP" | "DSETP" => {
                let width = if opcode == "DSETP" { 64 } else { 32 };
                let number = |at| {
                    let bits = self.bits(i, at, width)?;
                    Ok::<_, String>(match width {
                        64 => f64::from_bits(bits),
                        _ => f64::from(f32::from_bits(read::<Single>(bits, i.has("FTZ")).to_bits() as u32)),
                    })
                };
                let name = i.parts[1..].first().ok_or("there is no comparison")?;
                let truth = half::compare(name, number(2)?, number(3)?).ok_or("a comparison is not known")?;
                let with = self.predicate(i, 4)?;
                self.registers.set_predicate(i.operand(0)?, joined(i, truth, with)?)?;
                self.registers.set_predicate(i.operand(1)?, joined(i, !truth, with)?)?;
            }
            "FRND" => {
                self.knows(i, &["FTZ", "F16", "BF16", "F32", "F64", "TRUNC", "FLOOR", "CEIL"])?;
                match formats(i).first() {
                    Some(&"F64") => {
                        let bits = self.bits(i, 1, 64)?;
                        let value = read::<Double>(bits, false).round_to_integral(rounding(i)).value;
                        self.set_double(i, value, Some(bits))?;
                    }
                    Some(&"F16") => {
                        let value = read::<Half>(self.bits(i, 1, 16)?, false).round_to_integral(rounding(i)).value;
                        self.set(i, write(i, value) as u32)?;
                    }
                    Some(&"BF16") => {
                        let value = read::<BFloat>(self.bits(i, 1, 16)?, false).round_to_integral(rounding(i)).value;
                        self.set(i, write(i, value) as u32)?;
                    }
                    _ => {
                        let value = read::<Single>(self.bits(i, 1, 32)?, i.has("FTZ"));
                        self.set(i, write(i, value.round_to_integral(rounding(i)).value) as u32)?;
                    }
                }
            }
            "F2I" => self.rounded(i)?,
            "I2F" | "I2FP" => self.floated(i)?,
            "F2F" => self.resized(i)?,
            "F2FP" => self.packed(i)?,
            "HADD2" if i.has("F32") => {
                self.knows(i, &["F32"])?;
                let [_, half] = self.pairs(i)?[..] else { return Err("its operands are not known".to_owned()) };
                self.set(i, resize::<Half, Single>(i, half[0].into()) as u32)?;
            }
            "HADD2" | "HMUL2" | "HFMA2" | "HMNMX2" => {
                self.knows(i, &["MMA", "FTZ", "SAT", "RELU", "BF16_V2", "NAN"])?;
                let word = match format(i) {
                    half::Format::F16 => self.halves::<Half>(opcode, i)?,
                    half::Format::Bf16 => self.halves::<BFloat>(opcode, i)?,
                };
                self.set(i, word)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An instruction with a word that means nothing to us is not known.
    fn knows(&self, i: &Instruction, words: &[&str]) -> Result<()> {
        match i.parts[1..].iter().find(|part| !words.contains(&part.as_str())) {
            Some(part) => Err(format!("`{part}` is not known")),
            None => Ok(()),
        }
    }

    fn singles(&self, i: &Instruction, operands: std::ops::Range<usize>) -> Result<Vec<Single>> {
        operands.map(|at| Ok(read(self.bits(i, at, 32)?, i.has("FTZ")))).collect()
    }

    /// Returns the bits of a floating-point operand: a register, or a register pair for 64 bits, with `-` and `|…|`
    /// applied, or the constant from the encoding.
    fn bits(&self, i: &Instruction, at: usize, width: u32) -> Result<u64> {
        let operand = i.operand(at)?;
        let (rest, negated) = operand.strip_prefix('-').map_or((operand, false), |rest| (rest, true));
        let bare = rest.strip_prefix('|').and_then(|rest| rest.strip_suffix('|'));
        let name = bare.unwrap_or(rest);
        if !name.starts_with(['R', 'U']) {
            return Ok(if width == 64 { u64::from(i.constant) << 32 } else { i.constant.into() });
        }
        let name = name.strip_suffix(".H0_H0").unwrap_or(name);
        let name = if width == 16 { name.strip_suffix(".H0").unwrap_or(name) } else { name };
        let bits = match (width, name.strip_suffix(".H1").or(name.strip_suffix(".H1_H1"))) {
            (16, Some(name)) => u64::from(self.registers.value(name)? >> 16),
            (64, _) => self.registers.wide(name)?,
            _ => self.registers.value(name)?.into(),
        };
        // Double precision leaves the sign of a NaN.
        if width == 64 && is_nan(bits) {
            return Ok(bits);
        }
        let sign = 1 << (width - 1);
        let bits = if bare.is_some() { bits & (sign - 1) } else { bits };
        Ok(if negated { bits ^ sign } else { bits } & (u64::MAX >> (64 - width)))
    }

    /// Sets the result, a NaN to the bits of the operand that it keeps, made quiet.
    fn set_double(&mut self, i: &Instruction, value: Double, kept: Option<u64>) -> Result<()> {
        let nan = kept.map_or(0xfff8 << 48, |bits| bits | 1 << 51);
        self.registers.set_wide(i.operand(0)?, if value.is_nan() { nan } else { value.to_bits() as u64 })
    }

    /// `F2I.U64.F64.TRUNC R0, R2`
    fn rounded(&mut self, i: &Instruction) -> Result<()> {
        let kinds = kinds(i);
        let kind = kinds.first().copied().unwrap_or((true, 32));
        let value = match formats(i).first() {
            Some(&"F64") => integer::<Double>(i, self.bits(i, 1, 64)?, kind),
            Some(&"F16") => integer::<Half>(i, self.bits(i, 1, 16)?, kind),
            Some(&"BF16") => integer::<BFloat>(i, self.bits(i, 1, 16)?, kind),
            _ => integer::<Single>(i, self.bits(i, 1, 32)?, kind),
        };
        if value.is_none() {
            self.registers.saw(Origin::Open);
        }
        match kind.1 {
            64 => self.registers.set_wide(i.operand(0)?, value.unwrap_or_default()),
            _ => self.set(i, value.unwrap_or_default() as u32),
        }
    }

    /// `I2F.F64.S64.RP R0, R2`
    fn floated(&mut self, i: &Instruction) -> Result<()> {
        let (signed, bits) = kinds(i).first().copied().unwrap_or((true, 32));
        let word = match bits {
            // The encoding holds only the upper half of a 64-bit constant.
            64 if !i.operand(1)?.contains('R') => u64::from(i.constant) << 32,
            64 => self.registers.wide(i.operand(1)?)?,
            _ => self.value(i, 1)?.into(),
        };
        let word = i128::from(word) << (128 - bits);
        let value = if signed { word >> (128 - bits) } else { ((word as u128) >> (128 - bits)) as i128 };
        match formats(i).first() {
            Some(&"F64") => self.set_double(i, Double::from_i128_r(value, rounding(i)).value, None),
            Some(&"F16") => self.set(i, write(i, Half::from_i128_r(value, rounding(i)).value) as u32),
            Some(&"BF16") => self.set(i, write(i, BFloat::from_i128_r(value, rounding(i)).value) as u32),
            _ => self.set(i, write(i, Single::from_i128_r(value, rounding(i)).value) as u32),
        }
    }

    /// `F2F.F32.F64.RZ R0, R2`
    fn resized(&mut self, i: &Instruction) -> Result<()> {
        self.knows(i, &["FTZ", "SAT", "RM", "RP", "RZ", "F16", "BF16", "F32", "F64"])?;
        let &[to, from] = &formats(i)[..] else { return Err("its formats are not known".to_owned()) };
        let width = |format| match format {
            "F64" => 64,
            "F32" => 32,
            _ => 16,
        };
        let bits = self.bits(i, 1, width(from))?;
        let result = match (to, from) {
            ("F32", "F64") => resize::<Double, Single>(i, bits),
            ("F16", "F64") => resize::<Double, Half>(i, bits),
            ("BF16", "F64") => resize::<Double, BFloat>(i, bits),
            ("F16", "F32") => resize::<Single, Half>(i, bits),
            ("BF16", "F32") => resize::<Single, BFloat>(i, bits),
            ("F32", "F16") => resize::<Half, Single>(i, bits),
            ("BF16", "F16") => resize::<Half, BFloat>(i, bits),
            ("F16", "BF16") => resize::<BFloat, Half>(i, bits),
            ("F64", "F32" | "F16") => {
                let value: Double = match from {
                    "F32" => read::<Single>(bits, i.has("FTZ")).convert(&mut false).value,
                    _ => read::<Half>(bits, false).convert(&mut false).value,
                };
                return self.set_double(i, value, Some(value.to_bits() as u64));
            }
            _ => return Err("its formats are not known".to_owned()),
        };
        self.set(i, result as u32)
    }

    /// `F2FP.F16.F32.PACK_AB R0, R1, R2`: packs both sources, the first into the upper half. With `MERGE_C` it converts
    /// only the first source and takes the upper half from the second.
    fn packed(&mut self, i: &Instruction) -> Result<()> {
        self.knows(i, &["RZ", "RM", "RP", "RELU", "SATFINITE", "F16", "BF16", "F32", "PACK_AB", "MERGE_C"])?;
        let convert = |at| {
            let bits = self.bits(i, at, 32)?;
            Ok::<_, String>(match formats(i)[..] {
                ["F16", "F32"] => resize::<Single, Half>(i, bits) as u32,
                ["BF16", "F32"] => resize::<Single, BFloat>(i, bits) as u32,
                _ => return Err("its formats are not known".to_owned()),
            })
        };
        let word = match i.has("MERGE_C") {
            true => self.value(i, 2)? << 16 | convert(1)?,
            false => convert(1)? << 16 | convert(2)?,
        };
        self.set(i, word)
    }

    /// The pairs of halves that are its sources: registers, or two constants each.
    fn pairs(&self, i: &Instruction) -> Result<Vec<[u16; 2]>> {
        let (mut pairs, mut at) = (Vec::new(), 1);
        while at < i.operands.len() {
            let operand = i.operand(at)?;
            let bare = operand.trim_start_matches('-');
            match bare.strip_prefix('|').and_then(|rest| rest.split_once('|')) {
                Some((name, part)) => {
                    let pair = self.registers.halves(&format!("{name}{part}"))?.map(|half| half & 0x7fff);
                    pairs.push(if operand.starts_with('-') { pair.map(|half| half | 0x8000) } else { pair });
                }
                None if bare.starts_with(['R', 'U']) => pairs.push(self.registers.halves(operand)?),
                // The predicate of a lesser or greater one.
                None if bare.trim_start_matches('!').starts_with('P') => {}
                None => {
                    pairs.push([i.constant as u16, (i.constant >> 16) as u16]);
                    at += 1;
                }
            }
            at += 1;
        }
        Ok(pairs)
    }

    fn halves<F: Float>(&self, opcode: &str, i: &Instruction) -> Result<u32> {
        let pairs = self.pairs(i)?;
        let lane = |lane: usize| {
            let operands: Vec<F> = pairs.iter().map(|pair| read(pair[lane].into(), i.has("FTZ"))).collect();
            let value = match (opcode, &operands[..]) {
                ("HMNMX2", &[a, b]) => Some(extreme(i, a, b, self.predicate(i, i.operands.len() - 1)?)),
                _ => operate(i, &opcode[1..opcode.len() - 1], &operands),
            };
            Ok::<_, String>(write(i, value.ok_or("its operands are not known")?) as u32)
        };
        Ok(lane(0)? | lane(1)? << 16)
    }
}
