//! Targets, versions and opcodes by name, as arguments and requests give them, and counts in words.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::Code;
use ptx_isa::table::FormInfo;
use ptx_isa::target::{Target, Version};

/// The target with this name, if the table knows it.
pub(super) fn known_target(text: &str) -> Result<Target, String> {
    TABLE.target(text).map_err(|error| error.to_string())
}

/// The version with this name, if the table knows it.
pub(super) fn known_version(text: &str) -> Result<Version, String> {
    TABLE.version(text).map_err(|error| error.to_string())
}

/// Checks that a version knows a target, where both are given.
pub(super) fn known_pair(ptx: Option<Version>, target: Option<Target>) -> Result<(), String> {
    match (ptx, target.and_then(|target| TABLE.target_info(target))) {
        (Some(ptx), Some(known)) if ptx < known.since => {
            Err(format!("PTX {ptx} does not know {}: it came with PTX {}", known.target, known.since))
        }
        _ => Ok(()),
    }
}

/// The code of findings with this name.
pub(super) fn known_code(text: &str) -> Result<Code, String> {
    let near = || Code::nearest(text).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Code::from_name(text).ok_or_else(|| format!("`{text}` is not the code of a finding{}", near()))
}

/// Returns the forms of an opcode in the table's order; empty if the opcode is unknown.
pub(super) fn forms_of(opcode: &str) -> impl Iterator<Item = FormInfo> {
    TABLE.instruction(opcode).into_iter().flat_map(|info| info.forms())
}

/// A mask of the threads of a warp: `0xffff`.
pub(super) fn mask(text: &str) -> Result<u32, String> {
    let found = bits(text).and_then(|bits| u32::try_from(bits).ok());
    found.ok_or_else(|| format!("`{text}` is not a mask of 32 bits in hex or decimal"))
}

/// Bits in hex or decimal: `0x1f`, `31`.
pub(super) fn bits(text: &str) -> Option<u128> {
    match text.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The words of what people call an opcode, as searches compare them: `__shfl_up_sync` is `shfl up sync`.
pub(super) fn phrase(name: &str) -> String {
    let words = name.split(['_', ':', ' ']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_ascii_lowercase()
}
