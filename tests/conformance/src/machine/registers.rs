//! Registers of the machine, by the names that the disassembler gives them.

/// What an instruction comes to, or why it is not known.
pub(super) type Result<T> = std::result::Result<T, String>;

/// A file of registers for each thread, and one for all of them, which a `U` in a name tells.
#[derive(Debug)]
pub(super) struct Registers {
    words: [[u32; 256]; 2],
    predicates: [[bool; 8]; 2],
}

/// `R12` in the first file, `UR12` in the second; nothing for those that read as zero and keep nothing.
fn place(name: &str, letter: char) -> Option<(usize, Option<usize>)> {
    let (file, rest) = name.strip_prefix('U').map_or((0, name), |rest| (1, rest));
    let number = rest.strip_prefix(letter)?;
    match number {
        "Z" | "T" => Some((file, None)),
        _ => Some((file, Some(number.parse().ok()?))),
    }
}

impl Registers {
    pub(super) fn new() -> Registers {
        Registers { words: [[0; 256]; 2], predicates: [[false; 8]; 2] }
    }

    pub(super) fn is_predicate(operand: &str) -> bool {
        place(operand.trim_start_matches('!'), 'P').is_some()
    }

    pub(super) fn predicate(&self, operand: &str) -> Result<bool> {
        let (name, negated) = operand.strip_prefix('!').map_or((operand, false), |name| (name, true));
        let (file, number) = place(name, 'P').ok_or_else(|| format!("`{operand}` is no predicate"))?;
        Ok(number.is_none_or(|number| self.predicates[file][number]) != negated)
    }

    pub(super) fn set_predicate(&mut self, operand: &str, value: bool) -> Result<()> {
        let (file, number) = place(operand, 'P').ok_or_else(|| format!("`{operand}` is no predicate"))?;
        if let Some(number) = number {
            self.predicates[file][number] = value;
        }
        Ok(())
    }

    /// All predicates as a mask.
    pub(super) fn predicates(&self) -> u32 {
        (0..7).fold(0, |mask, number| mask | u32::from(self.predicates[0][number]) << number)
    }

    /// The register that stands so many behind the named one.
    pub(super) fn word(&self, operand: &str, behind: usize) -> Result<u32> {
        let (file, number) = place(operand, 'R').ok_or_else(|| format!("`{operand}` is no register"))?;
        Ok(number.map_or(0, |number| self.words[file][number + behind]))
    }

    pub(super) fn set_word(&mut self, operand: &str, behind: usize, value: u32) -> Result<()> {
        let (file, number) = place(operand, 'R').ok_or_else(|| format!("`{operand}` is no register"))?;
        if let Some(number) = number {
            self.words[file][number + behind] = value;
        }
        Ok(())
    }

    pub(super) fn set(&mut self, operand: &str, value: u32) -> Result<()> {
        self.set_word(operand, 0, value)
    }

    pub(super) fn set_wide(&mut self, operand: &str, value: u64) -> Result<()> {
        self.set_word(operand, 0, value as u32)?;
        self.set_word(operand, 1, (value >> 32) as u32)
    }

    /// A constant or a register, negated where it says so.
    pub(super) fn value(&self, operand: &str) -> Result<u32> {
        if let Some(bits) = number(operand) {
            return Ok(bits as u32);
        }
        match operand.strip_prefix('-') {
            Some(rest) => Ok(self.value(rest)?.wrapping_neg()),
            None => self.word(operand, 0),
        }
    }

    /// A pair of halves, the low one first: `R3`, `-R3.H1_H1`.
    pub(super) fn halves(&self, operand: &str) -> Result<[u16; 2]> {
        let (rest, negated) = operand.strip_prefix('-').map_or((operand, false), |rest| (rest, true));
        let (name, which) = rest.split_once('.').unwrap_or((rest, ""));
        let word = self.word(name, 0)?;
        let pair = match which {
            "" => [word as u16, (word >> 16) as u16],
            "H0_H0" => [word as u16; 2],
            "H1_H1" => [(word >> 16) as u16; 2],
            _ => return Err(format!("`{operand}` is no pair of halves")),
        };
        Ok(if negated { pair.map(|half| half ^ 0x8000) } else { pair })
    }
}

/// `0x10`, `-0x10` or `16`.
pub(super) fn number(text: &str) -> Option<u64> {
    let (text, negative) = text.strip_prefix('-').map_or((text, false), |text| (text, true));
    let value = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => text.parse::<u64>().ok()?,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}
