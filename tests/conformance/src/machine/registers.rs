//! Registers of the machine, addressed by their names in the disassembly.

use std::cell::Cell;

/// Result of an instruction, or the reason why it is not supported.
pub(super) type Result<T> = std::result::Result<T, String>;

/// Origin of a word, from the most to the least certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// An immediate of the code, only moved.
    Moved,
    /// Computed by an instruction.
    Computed,
    /// Computed by an instruction whose result is unknown for these inputs.
    Open,
}

/// Register files: one per thread, and the uniform one, whose names begin with `U`.
#[derive(Debug)]
pub(super) struct Registers {
    words: [[(u32, Origin); 256]; 2],
    predicates: [[bool; 8]; 2],
    /// Origin of the current instruction's result, as far as known.
    origin: Cell<Origin>,
}

/// Returns the register file and the number: `R12` is in the first file, `UR12` in the second. The number is `None` for
/// registers that read as zero or true and ignore writes.
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
        Registers {
            words: [[(0, Origin::Moved); 256]; 2],
            predicates: [[false; 8]; 2],
            origin: Cell::new(Origin::Moved),
        }
    }

    /// Begins an instruction that either moves words or computes.
    pub(super) fn begin(&self, origin: Origin) {
        self.origin.set(origin);
    }

    /// Records that the current instruction reads a word of this origin.
    pub(super) fn saw(&self, origin: Origin) {
        self.origin.set(self.origin.get().max(origin));
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin.get()
    }

    pub(super) fn is_predicate(operand: &str) -> bool {
        place(operand.trim_start_matches('!'), 'P').is_some()
    }

    pub(super) fn predicate(&self, operand: &str) -> Result<bool> {
        let (name, negated) = operand.strip_prefix('!').map_or((operand, false), |name| (name, true));
        let (file, number) = place(name, 'P').ok_or_else(|| format!("`{operand}` is not a predicate"))?;
        Ok(number.is_none_or(|number| self.predicates[file][number]) != negated)
    }

    pub(super) fn set_predicate(&mut self, operand: &str, value: bool) -> Result<()> {
        let (file, number) = place(operand, 'P').ok_or_else(|| format!("`{operand}` is not a predicate"))?;
        if let Some(number) = number {
            self.predicates[file][number] = value;
        }
        Ok(())
    }

    /// All predicates as a mask.
    pub(super) fn predicates(&self) -> u32 {
        (0..7).fold(0, |mask, number| mask | u32::from(self.predicates[0][number]) << number)
    }

    /// Reads the register `behind` places after the named one.
    pub(super) fn word(&self, operand: &str, behind: usize) -> Result<u32> {
        let (file, number) = place(operand, 'R').ok_or_else(|| format!("`{operand}` is not a register"))?;
        let Some(number) = number else { return Ok(0) };
        let (word, origin) = self.words[file][number + behind];
        self.saw(origin);
        Ok(word)
    }

    pub(super) fn set_word(&mut self, operand: &str, behind: usize, value: u32) -> Result<()> {
        let (file, number) = place(operand, 'R').ok_or_else(|| format!("`{operand}` is not a register"))?;
        if let Some(number) = number {
            self.words[file][number + behind] = (value, self.origin.get());
        }
        Ok(())
    }

    /// Reads a register pair or a nonnegative constant, and applies negation or complement.
    pub(super) fn wide(&self, operand: &str) -> Result<u64> {
        match (operand.strip_prefix('-'), operand.strip_prefix('~'), number(operand)) {
            (_, _, Some(bits)) if bits >> 31 == 0 => Ok(bits),
            (_, _, Some(_)) => Err("how a constant is extended is not known".to_owned()),
            (Some(rest), _, _) => Ok(self.wide(rest)?.wrapping_neg()),
            (_, Some(rest), _) => Ok(!self.wide(rest)?),
            _ => Ok(u64::from(self.word(operand, 0)?) | u64::from(self.word(operand, 1)?) << 32),
        }
    }

    pub(super) fn set(&mut self, operand: &str, value: u32) -> Result<()> {
        self.set_word(operand, 0, value)
    }

    pub(super) fn set_wide(&mut self, operand: &str, value: u64) -> Result<()> {
        self.set_word(operand, 0, value as u32)?;
        self.set_word(operand, 1, (value >> 32) as u32)
    }

    /// Reads a constant, a register or a part of one, and applies negation or complement.
    pub(super) fn value(&self, operand: &str) -> Result<u32> {
        if let Some(bits) = number(operand) {
            return Ok(bits as u32);
        }
        if let Some(rest) = operand.strip_prefix('-') {
            return Ok(self.value(rest)?.wrapping_neg());
        }
        if let Some(rest) = operand.strip_prefix('~') {
            return Ok(!self.value(rest)?);
        }
        let Some((name, part)) = operand.split_once('.') else { return self.word(operand, 0) };
        let word = self.word(name, 0)?;
        match (part.split_at_checked(1), part.get(1..).and_then(|place| place.parse::<u32>().ok())) {
            (Some(("B", _)), Some(place @ 0..4)) => Ok(word >> (8 * place) & 0xff),
            (Some(("H", _)), Some(place @ 0..2)) => Ok(word >> (16 * place) & 0xffff),
            _ => Err(format!("`{operand}` is not part of a register")),
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
            "H1_H0" => [(word >> 16) as u16, word as u16],
            "H0_NH1" => [word as u16, (word >> 16) as u16 ^ 0x8000],
            _ => return Err(format!("`{operand}` is not a pair of halves")),
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
