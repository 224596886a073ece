//! Runs straight-line machine code: enough of the instructions that NVIDIA's compiler makes of comparisons, selections
//! and video instructions to read off what they store.
//!
//! It knows what each machine instruction does and nothing of PTX. An instruction that it does not know is an error, so
//! that nothing is passed over.

use std::collections::HashMap;

use super::half::{Format, compare};
use super::registers::{Registers, Result, number};
use super::sass::Instruction;

/// What a kernel stored, by address; the parameter is address 0.
pub(super) type Memory = HashMap<u64, u32>;

struct Machine {
    registers: Registers,
    memory: Memory,
}

/// Runs a kernel to its end.
pub(super) fn run(code: &[Instruction]) -> Result<Memory> {
    let mut machine = Machine { registers: Registers::new(), memory: HashMap::new() };
    for instruction in code {
        match machine.step(instruction) {
            Ok(true) => {}
            Ok(false) => return Ok(machine.memory),
            Err(problem) => return Err(format!("`{}`: {problem}", instruction.text)),
        }
    }
    Err("there is no end".to_owned())
}

impl Machine {
    /// Does an instruction; false at the end.
    fn step(&mut self, i: &Instruction) -> Result<bool> {
        if let Some(guard) = &i.guard
            && !self.registers.predicate(guard)?
        {
            return Ok(true);
        }
        // What works on registers of all threads at once differs by their names alone.
        let opcode = i.parts[0].strip_prefix('U').unwrap_or(&i.parts[0]);
        match opcode {
            "EXIT" => return Ok(false),
            "NOP" => {}
            "MOV" | "R2UR" => self.set(i, self.value(i, 1)?)?,
            // The parameter is a pointer to 0; nothing else is read from the constant bank but the descriptor.
            "LDC" if i.operand(1)?.starts_with("c[0x0]") => self.zero(i, i.has("64"))?,
            "CS2R" if i.operand(1)? == "SRZ" => self.zero(i, !i.has("32"))?,
            "SEL" => self.set(i, self.value(i, if self.predicate(i, 3)? { 1 } else { 2 })?)?,
            "P2R" if i.operand(1)? == "PR" => {
                let (kept, mask) = (self.value(i, 2)?, self.value(i, 3)?);
                self.set(i, kept & !mask | self.registers.predicates() & mask)?;
            }
            "PRMT" if i.parts.len() == 1 => {
                self.set(i, permute(self.value(i, 1)?, self.value(i, 3)?, self.value(i, 2)?))?
            }
            "LOP3" => self.logic(i)?,
            "IMAD" if ["MOV", "U32", "IADD"].iter().any(|part| i.has(part)) => {
                self.set(i, self.value(i, 1)?.wrapping_mul(self.value(i, 2)?).wrapping_add(self.value(i, 3)?))?;
            }
            "IADD3" | "VIADD" if i.parts.len() == 1 => {
                let sum: Result<u32> =
                    (1..i.operands.len()).try_fold(0u32, |sum, at| Ok(sum.wrapping_add(self.value(i, at)?)));
                self.set(i, sum?)?;
            }
            "IABS" => self.set(i, (self.value(i, 1)? as i32).unsigned_abs())?,
            // The upper word of a pair, to the right.
            "SHF" if i.has("R") && i.has("HI") => {
                let (shift, high) = (self.value(i, 2)?.min(32), self.value(i, 3)?);
                let wide = if i.has("S32") { i64::from(high as i32) } else { i64::from(high) };
                self.set(i, (wide >> shift) as u32)?;
            }
            "ISETP" => self.compare(i)?,
            "I2F" => {
                let value = self.value(i, 1)?;
                let value = if i.has("S16") { i32::from(value as i16) } else { value as i32 };
                let known = i.parts.iter().skip(1).all(|part| matches!(part.as_str(), "F16" | "BF16" | "S16"));
                let half = format(i).of_integer(value).filter(|_| known).ok_or("a conversion is not known")?;
                self.set(i, half.into())?;
            }
            "HADD2" => {
                let (a, b) = (self.registers.halves(i.operand(1)?)?, self.last_halves(i, 2)?);
                self.move_halves(i, a, b)?;
            }
            // As a move: the product is a negative zero.
            "HFMA2" if i.operand(1)?.starts_with("-RZ") && i.operand(2)?.starts_with("RZ") => {
                self.move_halves(i, self.last_halves(i, 3)?, [0x8000; 2])?;
            }
            "HSETP2" => {
                let with = self.predicate(i, i.operands.len() - 1)?;
                for (at, truth) in self.compare_halves(i, 2)?.into_iter().enumerate() {
                    self.registers.set_predicate(i.operand(at)?, joined(i, truth, with)?)?;
                }
            }
            "HSET2" => {
                let with = self.predicate(i, i.operands.len() - 1)?;
                let truth = if i.has("BF") { format(i).one() } else { 0xffff };
                let [low, high] = self.compare_halves(i, 1)?;
                let half = |holds| Ok::<_, String>(if joined(i, holds, with)? { u32::from(truth) } else { 0 });
                self.set(i, half(low)? | half(high)? << 16)?;
            }
            "STG" => self.store(i)?,
            _ => return Err("this instruction is not known".to_owned()),
        }
        Ok(true)
    }

    fn value(&self, i: &Instruction, index: usize) -> Result<u32> {
        self.registers.value(i.operand(index)?)
    }

    fn predicate(&self, i: &Instruction, index: usize) -> Result<bool> {
        self.registers.predicate(i.operand(index)?)
    }

    /// Writes the first operand.
    fn set(&mut self, i: &Instruction, value: u32) -> Result<()> {
        self.registers.set(i.operand(0)?, value)
    }

    fn zero(&mut self, i: &Instruction, wide: bool) -> Result<()> {
        match wide {
            true => self.registers.set_wide(i.operand(0)?, 0),
            false => self.set(i, 0),
        }
    }

    /// `LOP3.LUT {P0,} R0, R1, R2, R3, 0xc0, !PT`: any function of three bits, by its table.
    fn logic(&mut self, i: &Instruction) -> Result<()> {
        let at = usize::from(Registers::is_predicate(i.operand(0)?));
        let (a, b, c) = (self.value(i, at + 1)?, self.value(i, at + 2)?, self.value(i, at + 3)?);
        let table = self.value(i, at + 4)?;
        let pick = |bits: u32, one: bool| if one { bits } else { !bits };
        let minterms = (0..8).filter(|minterm| table >> minterm & 1 == 1);
        let result = minterms.fold(0, |result, minterm| {
            result | pick(a, minterm & 4 != 0) & pick(b, minterm & 2 != 0) & pick(c, minterm & 1 != 0)
        });
        if at == 1 {
            self.registers.set_predicate(i.operand(0)?, result != 0)?;
        }
        self.registers.set(i.operand(at)?, result)
    }

    /// `ISETP.LT.U32.AND P0, PT, R1, R2, P1`, and with `EX` for the upper words, behind what the lower ones came to.
    fn compare(&mut self, i: &Instruction) -> Result<()> {
        let (a, b) = (self.value(i, 2)?, self.value(i, 3)?);
        let order = if i.has("U32") { a.cmp(&b) } else { (a as i32).cmp(&(b as i32)) };
        let truth = |order: std::cmp::Ordering| {
            Ok::<_, String>(match i.parts.get(1).map(String::as_str) {
                Some("EQ") => order.is_eq(),
                Some("NE") => order.is_ne(),
                Some("LT") => order.is_lt(),
                Some("LE") => order.is_le(),
                Some("GT") => order.is_gt(),
                Some("GE") => order.is_ge(),
                _ => return Err("a comparison is not known".to_owned()),
            })
        };
        let truth = if i.has("EX") && order.is_eq() { self.predicate(i, 5)? } else { truth(order)? };
        let with = self.predicate(i, 4)?;
        self.registers.set_predicate(i.operand(0)?, joined(i, truth, with)?)?;
        self.registers.set_predicate(i.operand(1)?, joined(i, !truth, with)?)
    }

    /// The pair of halves from operand `at` on: a register, or two constants.
    fn last_halves(&self, i: &Instruction, at: usize) -> Result<[u16; 2]> {
        match self.registers.halves(i.operand(at)?) {
            Ok(pair) => Ok(pair),
            Err(_) if i.operands.len() > at + 1 => Ok([i.constant as u16, (i.constant >> 16) as u16]),
            Err(problem) => Err(problem),
        }
    }

    fn move_halves(&mut self, i: &Instruction, a: [u16; 2], b: [u16; 2]) -> Result<()> {
        let format = format(i);
        let known = i.parts.iter().skip(1).all(|part| matches!(part.as_str(), "MMA" | "BF16_V2"));
        let sum = |at: usize| {
            let sum = format.plus_zero(a[at], b[at]).or_else(|| format.plus_zero(b[at], a[at]));
            sum.filter(|_| known).map(u32::from).ok_or("only moves of halves are known")
        };
        let (low, high) = (sum(0)?, sum(1)?);
        self.set(i, low | high << 16)
    }

    /// What a comparison of halves, with its sources from operand `at` on, finds for each of the two.
    fn compare_halves(&self, i: &Instruction, at: usize) -> Result<[bool; 2]> {
        let format = format(i);
        let known = |part: &&String| !matches!(part.as_str(), "BF16_V2" | "BF" | "FTZ" | "AND" | "OR" | "XOR");
        let mut names = i.parts.iter().skip(1).filter(known);
        let (Some(name), None) = (names.next(), names.next()) else {
            return Err("a comparison is not known".to_owned());
        };
        let number = |bits: u16| match i.has("FTZ") && format.is_subnormal(bits) {
            true => format.number(bits & 0x8000),
            false => format.number(bits),
        };
        let (a, b) = (self.registers.halves(i.operand(at)?)?, self.last_halves(i, at + 1)?);
        let half = |at: usize| compare(name, number(a[at]), number(b[at])).ok_or("a comparison is not known");
        Ok([half(0)?, half(1)?])
    }

    /// `STG.E desc[UR4][R2.64+0x10], R5`, or `[R2.64+0x10]`; the base is the parameter.
    fn store(&mut self, i: &Instruction) -> Result<()> {
        let address = i.operand(0)?;
        let inside =
            address.rsplit_once('[').and_then(|(_, rest)| rest.strip_suffix(']')).ok_or("an address is not known")?;
        let (base, offset) = match inside.split_once('+') {
            Some((base, offset)) => (base, number(offset).ok_or("an offset is not known")?),
            None => (inside, 0),
        };
        if self.registers.value(base.trim_end_matches(".64"))? != 0 {
            return Err("an address is not the parameter's".to_owned());
        }
        let (words, mask) = match i.parts.get(2).map(String::as_str) {
            None => (1, u32::MAX),
            Some("64") => (2, u32::MAX),
            Some("U16") => (1, 0xffff),
            _ => return Err("a store is not known".to_owned()),
        };
        for word in 0..words {
            self.memory.insert(offset + 4 * word as u64, self.registers.word(i.operand(1)?, word)? & mask);
        }
        Ok(())
    }
}

/// The float that an instruction on halves is about.
fn format(i: &Instruction) -> Format {
    if i.parts.iter().any(|part| part.starts_with("BF16")) { Format::Bf16 } else { Format::F16 }
}

/// What a comparison found, together with a predicate.
fn joined(i: &Instruction, truth: bool, with: bool) -> Result<bool> {
    match () {
        () if i.has("AND") => Ok(truth & with),
        () if i.has("OR") => Ok(truth | with),
        () if i.has("XOR") => Ok(truth ^ with),
        () => Err("an operator is not known".to_owned()),
    }
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
