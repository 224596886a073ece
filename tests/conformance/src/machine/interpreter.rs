//! Runs straight-line machine code: enough of the instructions that NVIDIA's compiler makes of pure computations to read
//! off what they store. Integers are in `integer.rs`, floats in `float.rs`.
//!
//! It knows what each machine instruction does and nothing of PTX. An instruction that it does not know is an error, so
//! that nothing is passed over.

use std::collections::HashMap;

use super::half::{Format, compare};
use super::registers::{Origin, Registers, Result, number};
use super::sass::Instruction;

/// Memory contents, word by word, with the origin of each word; the kernel parameter is address 0.
pub(super) type Memory = HashMap<u64, (u32, Origin)>;

pub(super) struct Machine {
    pub(super) registers: Registers,
    memory: Memory,
}

/// Runs a kernel to its end, with this in memory.
pub(super) fn run(code: &[Instruction], memory: Memory) -> Result<Memory> {
    let mut machine = Machine { registers: Registers::new(), memory };
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
        // Uniform instructions differ only by the `U` in their names.
        let opcode = i.parts[0].strip_prefix('U').unwrap_or(&i.parts[0]);
        self.registers.begin(if is_move(opcode, i) { Origin::Moved } else { Origin::Computed });
        match opcode {
            "EXIT" => return Ok(false),
            "NOP" => {}
            "MOV" | "R2UR" => self.set(i, self.value(i, 1)?)?,
            // The parameter is a pointer to 0; nothing else is read from the constant bank but the descriptor.
            "LDC" | "LDCU" if i.operand(1)?.starts_with("c[0x0]") => self.zero(i, i.has("64"))?,
            "CS2R" if i.operand(1)? == "SRZ" => self.zero(i, !i.has("32"))?,
            "SEL" => self.set(i, self.value(i, if self.predicate(i, 3)? { 1 } else { 2 })?)?,
            "P2R" if i.operand(1)? == "PR" => {
                let (kept, mask) = (self.value(i, 2)?, self.value(i, 3)?);
                self.set(i, kept & !mask | self.registers.predicates() & mask)?;
            }
            "LOP3" => self.logic(i)?,
            "ISETP" => self.compare(i)?,
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
            "LDG" => self.load(i)?,
            _ if self.integer(opcode, i)? || self.float(opcode, i)? => {}
            _ => return Err("this instruction is not known".to_owned()),
        }
        Ok(true)
    }

    pub(super) fn value(&self, i: &Instruction, index: usize) -> Result<u32> {
        self.registers.value(i.operand(index)?)
    }

    pub(super) fn predicate(&self, i: &Instruction, index: usize) -> Result<bool> {
        self.registers.predicate(i.operand(index)?)
    }

    /// Writes the first operand.
    pub(super) fn set(&mut self, i: &Instruction, value: u32) -> Result<()> {
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
            let with = self.predicate(i, i.operands.len() - 1)?;
            let any = if i.has("PAND") { (result != 0) & with } else { (result != 0) | with };
            self.registers.set_predicate(i.operand(0)?, any)?;
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
    pub(super) fn last_halves(&self, i: &Instruction, at: usize) -> Result<[u16; 2]> {
        match self.registers.halves(i.operand(at)?) {
            Ok(pair) => Ok(pair),
            Err(_) if i.operands.len() > at + 1 => Ok([i.constant as u16, (i.constant >> 16) as u16]),
            Err(problem) => Err(problem),
        }
    }

    /// Compares both halves of the sources that start at operand `at`.
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

    /// `desc[UR4][R2.64+0x10]`, or `[R2.64+0x10]`; the base is the parameter.
    fn address(&self, operand: &str) -> Result<u64> {
        let inside =
            operand.rsplit_once('[').and_then(|(_, rest)| rest.strip_suffix(']')).ok_or("an address is not known")?;
        let (base, offset) = match inside.split_once('+') {
            Some((base, offset)) => (base, number(offset).ok_or("an offset is not known")?),
            None => (inside, 0),
        };
        match self.registers.value(base.trim_end_matches(".64"))? {
            0 => Ok(offset),
            _ => Err("an address is not the parameter's".to_owned()),
        }
    }

    /// `STG.E desc[UR4][R2.64+0x10], R5`
    fn store(&mut self, i: &Instruction) -> Result<()> {
        let at = self.address(i.operand(0)?)?;
        let (words, mask) = access(i)?;
        for word in 0..words {
            self.registers.begin(Origin::Moved);
            let value = self.registers.word(i.operand(1)?, word)? & mask;
            self.memory.insert(at + 4 * word as u64, (value, self.registers.origin()));
        }
        Ok(())
    }

    /// `LDG.E R5, desc[UR4][R2.64+0x10]`
    fn load(&mut self, i: &Instruction) -> Result<()> {
        let at = self.address(i.operand(1)?)?;
        let (words, mask) = access(i)?;
        for word in 0..words {
            let (value, origin) = self.memory.get(&(at + 4 * word as u64)).ok_or("nothing is there")?;
            self.registers.saw(*origin);
            self.registers.set_word(i.operand(0)?, word, value & mask)?;
        }
        Ok(())
    }
}

/// Number of words that a memory access transfers, and the mask of the bits kept of each.
fn access(i: &Instruction) -> Result<(usize, u32)> {
    let widths = i.parts[1..].iter().filter(|part| !matches!(part.as_str(), "E" | "CONSTANT"));
    match widths.map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok((1, u32::MAX)),
        ["64"] => Ok((2, u32::MAX)),
        ["128"] => Ok((4, u32::MAX)),
        ["U16"] => Ok((1, 0xffff)),
        ["U8"] => Ok((1, 0xff)),
        _ => Err("an access to memory is not known".to_owned()),
    }
}

/// Returns true if an instruction only moves a word.
fn is_move(opcode: &str, i: &Instruction) -> bool {
    let zeros = |operands: &[&str]| operands.iter().zip(&i.operands[1..]).all(|(zero, own)| own.starts_with(zero));
    match opcode {
        "MOV" | "R2UR" | "LDC" | "LDCU" | "CS2R" => true,
        "IMAD" => (i.has("MOV") || i.has("U32")) && (zeros(&["RZ", "RZ"]) || zeros(&["URZ", "URZ"])),
        // The product is a negative zero.
        "HFMA2" => i.operands[1] == "-RZ" && i.operands[2] == "RZ",
        _ => false,
    }
}

/// The float that an instruction on halves is about.
pub(super) fn format(i: &Instruction) -> Format {
    if i.parts.iter().any(|part| part.starts_with("BF16")) { Format::Bf16 } else { Format::F16 }
}

/// Combines the result of a comparison with a predicate.
pub(super) fn joined(i: &Instruction, truth: bool, with: bool) -> Result<bool> {
    match () {
        () if i.has("AND") => Ok(truth & with),
        () if i.has("OR") => Ok(truth | with),
        () if i.has("XOR") => Ok(truth ^ with),
        () => Err("an operator is not known".to_owned()),
    }
}
