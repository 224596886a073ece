//! Semantics of the machine's integer instructions.

use super::interpreter::Machine;
use super::registers::{Registers, Result};
use super::sass::Instruction;

/// Sign- or zero-extends the lowest `bits` bits of a word.
fn number(word: u32, signed: bool, bits: u32) -> i64 {
    let word = i64::from(word) << (64 - bits);
    if signed { word >> (64 - bits) } else { (word as u64 >> (64 - bits)) as i64 }
}

/// Parses the signedness and width from a part of an instruction's name: `U16`.
fn kind(part: &str) -> Option<(bool, u32)> {
    let (kind, bits) = part.split_at_checked(1)?;
    let signed = match kind {
        "U" => false,
        "S" => true,
        _ => return None,
    };
    Some((signed, bits.parse().ok().filter(|bits| (2..=64).contains(bits))?))
}

/// Returns all such kinds in a name, in order.
pub(super) fn kinds(i: &Instruction) -> Vec<(bool, u32)> {
    i.parts[1..].iter().filter_map(|part| kind(part)).collect()
}

/// Saturates a value to the range of a kind.
pub(super) fn nearest(value: i128, (signed, bits): (bool, u32)) -> i128 {
    let above = 1_i128 << (bits - u32::from(signed));
    value.clamp(if signed { -above } else { 0 }, above - 1)
}

/// Clamps a shift amount to the width.
fn by(places: u32, width: u32) -> u32 {
    places.min(width)
}

fn ones(count: u32) -> u32 {
    ((1_u64 << count.min(32)) - 1) as u32
}

impl Machine {
    /// Does an instruction on integers, if it is one.
    pub(super) fn integer(&mut self, opcode: &str, i: &Instruction) -> Result<bool> {
        match opcode {
            "PRMT" => {
                let selector = permutation(i.parts.get(1).map(String::as_str), self.value(i, 2)?)?;
                self.set(i, permute(self.value(i, 1)?, self.value(i, 3)?, selector))?;
            }
            "IADD3" | "VIADD" | "IADD" if !i.parts[1..].iter().any(|part| part != "X") => self.sum(i)?,
            "VIADD" if i.parts[1..] == ["16x2"] || i.parts[1..] == ["U16x2"] => {
                let (a, b) = (self.value(i, 1)?, self.value(i, 2)?);
                self.set(i, a.wrapping_add(b) & 0xffff | (a >> 16).wrapping_add(b >> 16) << 16)?;
            }
            "IMAD" => self.multiply(i)?,
            "LEA" => self.scaled_sum(i)?,
            "IABS" => self.set(i, (self.value(i, 1)? as i32).unsigned_abs())?,
            "SHF" => self.shift(i)?,
            "IMNMX" | "VIMNMX" => self.extreme(i)?,
            "POPC" => self.set(i, self.value(i, 1)?.count_ones())?,
            "BREV" => self.set(i, self.value(i, 1)?.reverse_bits())?,
            "FLO" => {
                let word = self.value(i, 1)?;
                let word = if i.has("U32") || word >> 31 == 0 { word } else { !word };
                let zeros = word.leading_zeros();
                let place = if i.has("SH") { zeros } else { 31_u32.wrapping_sub(zeros) };
                self.set(i, if word == 0 { u32::MAX } else { place })?;
            }
            "BMSK" => {
                let (first, width) = (self.value(i, 1)?, self.value(i, 2)?);
                let (first, width) = if i.has("W") { (first & 31, width & 31) } else { (first, width) };
                self.set(i, (u64::from(ones(width)) << by(first, 32)) as u32)?;
            }
            "SGXT" => {
                let (word, width) = (self.value(i, 1)?, self.value(i, 2)?);
                let width = if i.has("W") { width & 31 } else { by(width, 32) };
                self.set(i, if width == 0 { 0 } else { number(word, !i.has("U32"), width) as u32 })?;
            }
            "IDP" => self.products(i)?,
            "VABSDIFF" => {
                let [a, b] = [self.value(i, 1)?, self.value(i, 2)?].map(|word| number(word, !i.has("U32"), 32));
                let c = if i.operands.len() > 3 { self.value(i, 3)? } else { 0 };
                self.set(i, ((a - b).unsigned_abs() as u32).wrapping_add(c))?;
            }
            "VABSDIFF4" if i.parts[1..].iter().all(|part| part == "U8" || part == "ACC") => {
                let [a, b, c] = [self.value(i, 1)?, self.value(i, 2)?, self.value(i, 3)?];
                let byte = |word: u32, at: u32| number(word >> at, !i.has("U8"), 8);
                let lanes = [0, 8, 16, 24].map(|at| (byte(a, at) - byte(b, at)).unsigned_abs() as u32);
                let word = match i.has("ACC") {
                    true => lanes.iter().fold(c, |sum, lane| sum.wrapping_add(*lane)),
                    false => lanes.iter().rev().fold(0, |all, lane| all << 8 | lane),
                };
                self.set(i, word)?;
            }
            "CLMAD" => {
                let [a, b, c] = [1, 2, 3].map(|at| i.operand(at).and_then(|operand| self.registers.wide(operand)));
                let (a, b) = (a?, u128::from(b?));
                let product = (0..64).filter(|at| a >> at & 1 == 1).fold(0, |sum, at| sum ^ b << at);
                let half = if i.has("HI") { product >> 64 } else { product } as u64;
                self.registers.set_wide(i.operand(0)?, half ^ c?)?;
            }
            "I2I" => {
                let (&[to, (signed, bits)], true) = (&kinds(i)[..], i.has("SAT")) else { return Ok(false) };
                let value = nearest(number(self.value(i, 1)?, signed, bits).into(), to);
                self.set(i, value as u32 & if to.1 == 32 { u32::MAX } else { ones(to.1) })?;
            }
            "I2IP" => {
                let (&[to, (signed, bits)], true) = (&kinds(i)[..], i.has("SAT")) else { return Ok(false) };
                let part = |index| {
                    Ok::<_, String>(nearest(number(self.value(i, index)?, signed, bits).into(), to) as u32 & ones(to.1))
                };
                // `R7.28`: the lowest bits, for which there is room.
                let above = i.operand(3)?.split_once('.').map_or(i.operand(3)?, |(name, _)| name);
                let above = u64::from(self.registers.value(above)?) << (2 * to.1);
                self.set(i, above as u32 | part(1)? << to.1 | part(2)?)?;
            }
            "PLOP3" => {
                let bit = |index| match i.operand(index)?.split_once(".SIGN") {
                    Some((register, _)) => Ok(self.registers.value(register)? >> 31),
                    None => self.predicate(i, index).map(u32::from),
                };
                let row = bit(2)? << 2 | bit(3)? << 1 | bit(4)?;
                let (first, second) = (self.value(i, 5)? >> row & 1 != 0, self.value(i, 6)? >> row & 1 != 0);
                self.registers.set_predicate(i.operand(0)?, first)?;
                self.registers.set_predicate(i.operand(1)?, second)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Number of consecutive predicate operands starting at `from`.
    fn predicates(i: &Instruction, from: usize) -> usize {
        i.operands[from..].iter().take_while(|operand| Registers::is_predicate(operand)).count()
    }

    /// Sum of the carry-in predicates, the operands starting at `from`.
    fn carried(&self, i: &Instruction, from: usize) -> Result<u64> {
        (from..i.operands.len()).map(|at| self.predicate(i, at).map(u64::from)).sum()
    }

    /// `IADD3 R0, P0, P1, R1, -R2, R3`: adds three words; with `X` and trailing predicates also the carries in.
    fn sum(&mut self, i: &Instruction) -> Result<()> {
        let out = Machine::predicates(i, 1);
        let carries = i.operands.len() - i.operands.iter().rev().take_while(|own| Registers::is_predicate(own)).count();
        let mut sum = self.carried(i, carries)?;
        for at in 1 + out..carries {
            let negated =
                i.operand(at)?.strip_prefix('-').filter(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
            sum += match negated {
                Some(_) if i.has("X") => return Err("a negated operand beside a carry is not known".to_owned()),
                // The complement and one.
                Some(rest) => (1 << 32) - u64::from(self.registers.value(rest)?),
                None => u64::from(self.value(i, at)?),
            };
        }
        if out > 0 && sum >> 32 > out as u64 {
            return Err("more is carried than there are predicates".to_owned());
        }
        for at in 0..out {
            self.registers.set_predicate(i.operand(1 + at)?, sum >> 32 > at as u64)?;
        }
        self.set(i, sum as u32)
    }

    /// `IMAD R0, R1, R2, R3`: the lower half of a product, with `HI` the upper one, with `WIDE` all of it, and a third word.
    fn multiply(&mut self, i: &Instruction) -> Result<()> {
        let out = Machine::predicates(i, 1);
        let known = |part: &String| matches!(part.as_str(), "MOV" | "SHL" | "IADD" | "U32" | "X" | "HI" | "WIDE");
        if !i.parts[1..].iter().all(known) {
            return Err("a product is not known".to_owned());
        }
        let signed = !i.has("U32");
        let [a, b] = [self.value(i, 1 + out)?, self.value(i, 2 + out)?].map(|word| number(word, signed, 32));
        let product = (i128::from(a) * i128::from(b)) as u128 & u128::from(u64::MAX);
        let carry = u128::from(self.carried(i, 4 + out)?);
        if !i.has("WIDE") && !i.has("HI") {
            if out > 0 {
                return Err("what this carries is not known".to_owned());
            }
            let sum = product + u128::from(self.value(i, 3 + out)?) + carry;
            return self.set(i, sum as u32);
        }
        let sum = product + u128::from(self.registers.wide(i.operand(3 + out)?)?) + carry;
        if out > 0 {
            self.registers.set_predicate(i.operand(1)?, sum >> 64 != 0)?;
        }
        match i.has("HI") {
            true => self.set(i, (sum >> 32) as u32),
            false => self.registers.set_wide(i.operand(0)?, sum as u64),
        }
    }

    /// `LEA R0, R1, R2, 0x4`: shifts a word left and adds another; with `HI` it adds to the upper 32 bits of the
    /// shifted value.
    fn scaled_sum(&mut self, i: &Instruction) -> Result<()> {
        let out = Machine::predicates(i, 1);
        if i.operand(1 + out)?.starts_with(['-', '~']) {
            return Err("this sum is not known".to_owned());
        }
        let (a, b) = (self.value(i, 1 + out)?, u64::from(self.value(i, 2 + out)?));
        let (above, next) = match () {
            () if i.has("SX32") => ((a as i32 >> 31).cast_unsigned(), 3),
            () if i.has("HI") => (self.value(i, 3 + out)?, 4),
            () => (0, 3),
        };
        let shift = self.value(i, next + out)?;
        let wide = (u64::from(above) << 32 | u64::from(a)) << shift;
        let sum = u64::from(if i.has("HI") { (wide >> 32) as u32 } else { wide as u32 }) + b;
        let sum = sum + self.carried(i, next + 1 + out)?;
        if out > 0 {
            self.registers.set_predicate(i.operand(1)?, sum >> 32 != 0)?;
        }
        self.set(i, sum as u32)
    }

    /// `SHF.R.U32.HI R0, R1, R2, R3`: two words, of which the third operand is the upper, to the right or to the left.
    fn shift(&mut self, i: &Instruction) -> Result<()> {
        let (low, places, high) = (self.value(i, 1)?, self.value(i, 2)?, self.value(i, 3)?);
        let width = if i.has("U64") || i.has("S64") { 64 } else { 32 };
        let places = if i.has("W") { places & (width - 1) } else { by(places, width) };
        let pair = u64::from(high) << 32 | u64::from(low);
        let shifted = match (i.has("L"), i.has("S32") || i.has("S64")) {
            (true, _) => (u128::from(pair) << places) as u64,
            (false, true) => (i128::from(pair.cast_signed()) >> places) as u64,
            (false, false) => (u128::from(pair) >> places) as u64,
        };
        self.set(i, if i.has("HI") { (shifted >> 32) as u32 } else { shifted as u32 })
    }

    /// `VIMNMX.U32 R0, R1, R2, PT`: the lesser one where the predicate is true.
    fn extreme(&mut self, i: &Instruction) -> Result<()> {
        let (a, b, least) = (self.value(i, 1)?, self.value(i, 2)?, self.predicate(i, 3)?);
        let (signed, width) = match () {
            () if i.has("U16x2") => (false, 16),
            () if i.has("S16x2") => (true, 16),
            () if i.has("U8x4") => (false, 8),
            () if i.has("S8x4") => (true, 8),
            () => (!i.has("U32"), 32),
        };
        let lane = |at: u32| {
            let (a, b) = (number(a >> at, signed, width), number(b >> at, signed, width));
            let chosen = if least { a.min(b) } else { a.max(b) };
            (if i.has("RELU") { chosen.max(0) } else { chosen }) as u32
        };
        let lanes = (0..32).step_by(width as usize);
        self.set(i, lanes.fold(0, |all, at| all | (lane(at) & ones(width)) << at))
    }

    /// `IDP.4A.U8.S8 R0, R1, R2, R3`, and `IDP.2A.LO.U16.U8`, with half-words by the lower two bytes.
    fn products(&mut self, i: &Instruction) -> Result<()> {
        let (a, b, c) = (self.value(i, 1)?, self.value(i, 2)?, self.value(i, 3)?);
        let &[(a_signed, each), (b_signed, 8)] = &kinds(i)[..] else {
            return Err("its kinds are not known".to_owned());
        };
        let first = if i.has("HI") { 2 } else { 0 };
        let product = |at: u32| number(a >> (each * at), a_signed, each) * number(b >> (8 * (at + first)), b_signed, 8);
        let sum: i64 = (0..32 / each).map(product).sum();
        self.set(i, c.wrapping_add(sum as u32))
    }
}

/// The selector that a mode makes of the lowest two bits of a word.
fn permutation(mode: Option<&str>, word: u32) -> Result<u32> {
    let place = word & 3;
    let lanes: [u32; 4] = match mode {
        None => return Ok(word),
        Some("F4E") => [0, 1, 2, 3].map(|lane| place + lane),
        Some("B4E") => [0, 1, 2, 3].map(|lane| (8 + place - lane) & 7),
        Some("RC8") => [place; 4],
        Some("ECL") => [0, 1, 2, 3].map(|lane| place.max(lane)),
        Some("ECR") => [0, 1, 2, 3].map(|lane| place.min(lane)),
        Some("RC16") => [0, 1, 2, 3].map(|lane| 2 * (place & 1) + lane % 2),
        Some(_) => return Err("a permutation is not known".to_owned()),
    };
    Ok(lanes.iter().rev().fold(0, |all, lane| all << 4 | lane))
}

/// Four bytes of eight, or their signs.
fn permute(low: u32, high: u32, selector: u32) -> u32 {
    let pool = u64::from(low) | u64::from(high) << 32;
    let byte = |lane: u32| {
        let pick = selector >> (4 * lane) & 15;
        let byte = (pool >> (8 * (pick & 7))) as u8;
        if pick & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte }
    };
    (0..4).fold(0, |word, lane| word | u32::from(byte(lane)) << (8 * lane))
}
