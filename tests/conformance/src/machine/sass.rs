//! Machine code as the disassembler writes it.

use std::collections::HashMap;

/// An instruction: `@!P0 ISETP.NE.AND P1, PT, R2, 0x5, PT`.
#[derive(Debug)]
pub(super) struct Instruction {
    pub(super) text: String,
    /// Predicate of the guard, without the `@`.
    pub(super) guard: Option<String>,
    /// The opcode and its modifiers.
    pub(super) parts: Vec<String>,
    pub(super) operands: Vec<String>,
    /// Constant field of the encoding, 32 bits. It is needed because the disassembly shows a pair of halves as
    /// decimals, and a NaN without its payload.
    pub(super) constant: u32,
}

impl Instruction {
    fn read(text: &str, encoding: u64) -> Instruction {
        let guarded = text.strip_prefix('@').and_then(|rest| rest.split_once(' '));
        let (guard, rest) = guarded.map_or((None, text), |(guard, rest)| (Some(guard.to_owned()), rest.trim()));
        let (mnemonic, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        let operands = operands.split(',').map(str::trim).filter(|operand| !operand.is_empty());
        Instruction {
            text: text.to_owned(),
            guard,
            parts: mnemonic.split('.').map(str::to_owned).collect(),
            operands: operands.map(|operand| operand.replace(".reuse", "")).collect(),
            constant: (encoding >> 32) as u32,
        }
    }

    pub(super) fn has(&self, part: &str) -> bool {
        self.parts.iter().any(|own| own == part)
    }

    pub(super) fn operand(&self, index: usize) -> Result<&str, String> {
        self.operands.get(index).map(String::as_str).ok_or_else(|| format!("operand {index} is missing"))
    }
}

/// The kernels of a disassembly with encodings (`nvdisasm -c -hex`), by name.
pub(super) fn kernels(disassembly: &str) -> HashMap<String, Vec<Instruction>> {
    let mut kernels: HashMap<String, Vec<Instruction>> = HashMap::new();
    let mut current = None;
    for line in disassembly.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix(".section") {
            let name = rest.trim().split(',').next().and_then(|name| name.trim().strip_prefix(".text."));
            current = name.map(str::to_owned);
        } else if let (Some(name), Some((text, encoding))) = (&current, instruction(line)) {
            kernels.entry(name.clone()).or_default().push(Instruction::read(text, encoding));
        }
    }
    kernels
}

/// Splits `/*0060*/ NOP ; /* 0x0000000000007918 */` into the instruction's text and its encoding.
fn instruction(line: &str) -> Option<(&str, u64)> {
    let (_, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let (text, rest) = rest.rsplit_once(';')?;
    let encoding = rest.trim().strip_prefix("/*")?.strip_suffix("*/")?.trim();
    Some((text.trim(), u64::from_str_radix(encoding.strip_prefix("0x")?, 16).ok()?))
}
