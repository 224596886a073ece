//! Targets and versions by name, as arguments and requests give them.

use ptx_isa::TABLE;
use ptx_isa::target::{NameError, Target, Version};

/// The target with this name, if the table knows it.
pub(super) fn known_target(text: &str) -> Result<Target, String> {
    let target: Target = text.parse().map_err(|error: NameError| error.to_string())?;
    if TABLE.targets.iter().any(|known| known.target == target) {
        return Ok(target);
    }
    let nearest = TABLE.targets.iter().min_by_key(|known| known.target.sm.abs_diff(target.sm));
    Err(nearest
        .map_or_else(String::new, |near| format!("there is no target `{target}`; the nearest is `{}`", near.target)))
}

/// The version with this name, if the table knows it.
pub(super) fn known_version(text: &str) -> Result<Version, String> {
    let version: Version = text.parse().map_err(|error: NameError| error.to_string())?;
    if TABLE.versions.contains(&version) {
        return Ok(version);
    }
    let before = TABLE.versions.iter().rev().find(|known| **known < version).or(TABLE.versions.first());
    Err(before.map_or_else(String::new, |near| format!("there is no PTX version {version}; the nearest is {near}")))
}

/// A mask of the threads of a warp: `0xffff`.
pub(super) fn mask(text: &str) -> Result<u32, String> {
    let found = bits(text).and_then(|bits| u32::try_from(bits).ok());
    found.ok_or_else(|| format!("`{text}` is no mask of 32 bits in hex or decimal"))
}

/// Bits in hex or decimal: `0x1f`, `31`.
pub(super) fn bits(text: &str) -> Option<u128> {
    match text.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
