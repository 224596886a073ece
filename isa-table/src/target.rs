//! PTX versions and targets, as `.version` and `.target` name them, and the requirements of forms.
//!
//! A target supports everything that targets of lower numbers support. In addition, features of `sm_90a` are specific
//! to that architecture, and features of `sm_100f` to later targets of its family. This module lists no version, target
//! or family: a [`Table`](crate::table::Table) does.
//!
//! ```
//! use isa_table::target::{Families, Target, Version};
//!
//! let version: Version = "7.8".parse().unwrap();
//! assert!(version < Version::new(8, 0));
//!
//! let target = |name: &str| name.parse::<Target>().unwrap();
//! let families = Families(&[&[100, 103], &[120, 121]]);
//! assert!(families.has(target("sm_100"), target("sm_90")) && families.has(target("sm_90a"), target("sm_90")));
//! assert!(!families.has(target("sm_100a"), target("sm_90a")), "what `sm_90a` adds is its own");
//! assert!(families.has(target("sm_103a"), target("sm_100f")) && !families.has(target("sm_120a"), target("sm_100f")));
//! ```

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::constant::{contents, plain};

/// A version of PTX: `7.8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// The part before the dot.
    pub major: u8,
    /// The part after the dot.
    pub minor: u8,
}

impl Version {
    /// The version `major.minor`.
    pub const fn new(major: u8, minor: u8) -> Version {
        Version { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A target architecture: `sm_90a`. The order is by number, then by suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The SM number: 90 for `sm_90a`.
    pub sm: u16,
    /// The suffix after the number, if there is one.
    pub suffix: Option<char>,
}

impl Target {
    /// The target `sm_N` without a suffix.
    pub const fn sm(sm: u16) -> Target {
        Target { sm, suffix: None }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.sm)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

plain! {
    Version = |version| alloc::format!("Version::new({}, {})", version.major, version.minor);
    Removed = |removed| {
        let (mut ptx, mut target) = (String::new(), String::new());
        Version::write(&removed.ptx, &mut ptx);
        Target::write(&removed.target, &mut target);
        alloc::format!("Removed {{ ptx: {ptx}, target: {target} }}")
    };
    Target = |target| alloc::format!("Target {{ sm: {}, suffix: {:?} }}", target.sm, target.suffix);
}

/// Suffix of architecture-specific targets.
const ARCHITECTURE: char = 'a';

/// Suffix of family-specific targets.
const FAMILY: char = 'f';

/// The families of targets: the SM numbers of each.
#[derive(Clone, Copy, Debug)]
pub struct Families<'a>(pub &'a [&'a [u16]]);

impl Families<'_> {
    /// Returns true if a target supports everything that another one does.
    pub fn has(self, target: Target, wanted: Target) -> bool {
        match wanted.suffix {
            None => target.sm >= wanted.sm,
            Some(FAMILY) => {
                let same = target.sm == wanted.sm
                    || self.0.iter().any(|family| family.contains(&target.sm) && family.contains(&wanted.sm));
                same && target.sm >= wanted.sm && matches!(target.suffix, Some(ARCHITECTURE | FAMILY))
            }
            Some(_) => target == wanted,
        }
    }

    /// Returns the minimal set of targets that meet a target of `these` and a target of `those`.
    pub fn both(self, these: &[Target], those: &[Target]) -> Vec<Target> {
        let mut found = Vec::new();
        for one in these {
            for other in those {
                let both = match (self.has(*one, *other), self.has(*other, *one)) {
                    (true, _) => Some(*one),
                    (false, true) => Some(*other),
                    (false, false) => None,
                };
                found.extend(both.filter(|both| !found.contains(both)));
            }
        }
        found.sort_unstable();
        found
    }
}

contents! {
    /// Minimum PTX version and target: a target meets it if it supports everything that one of the listed targets does.
    Floor, FloorBuf {
        /// Minimum version.
        ptx: Version,
        /// The targets, the lowest first; never empty.
        targets: &'static [Target],
        /// Version and target at which it was removed.
        removed: Option<Removed>,
    }
}

/// Version and target at which a form was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Removed {
    /// First version that no longer has it.
    pub ptx: Version,
    /// Lowest target to which the removal applies.
    pub target: Target,
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gone from PTX {} on for {} or higher", self.ptx, self.target)
    }
}

impl Floor {
    /// Returns the lowest target.
    pub fn target(&self) -> Target {
        self.targets[0]
    }

    /// Returns true if the form exists on the target.
    #[inline]
    pub fn takes(&self, target: Target, families: Families<'_>) -> bool {
        self.targets.iter().any(|wanted| families.has(target, *wanted))
    }

    /// Returns true if a version no longer has the form on a target.
    #[inline]
    pub fn is_gone(&self, ptx: Version, target: Target) -> bool {
        self.removed.is_some_and(|removed| ptx >= removed.ptx && target.sm >= removed.target.sm)
    }

    /// Returns true if it exists in a version of PTX on a target.
    pub fn has(&self, ptx: Version, target: Target, families: Families<'_>) -> bool {
        ptx >= self.ptx && self.takes(target, families) && !self.is_gone(ptx, target)
    }

    /// The targets in words: `sm_90a`, `sm_100f or sm_110f`.
    pub fn targets_in_words(&self) -> String {
        in_words(self.targets)
    }
}

/// Targets in words: `sm_90a`, `sm_100f or sm_110f`.
pub fn in_words(targets: &[Target]) -> String {
    let mut text = String::new();
    for (index, target) in targets.iter().enumerate() {
        text += if index > 0 { " or " } else { "" };
        text += &alloc::string::ToString::to_string(target);
    }
    text
}

impl PartialEq for Floor {
    fn eq(&self, other: &Floor) -> bool {
        (self.ptx, self.targets, self.removed) == (other.ptx, other.targets, other.removed)
    }
}

impl Eq for Floor {}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX {}, {}", self.ptx, self.targets_in_words())?;
        self.removed.map_or(Ok(()), |removed| write!(f, "; {removed}"))
    }
}

/// Error: malformed or unknown version or target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Malformed version: expected two numbers separated by a dot.
    Version,
    /// Malformed target: expected `sm_`, a number and at most one lower-case letter.
    Target,
    /// Unknown version, and the nearest known one.
    NoVersion(Version, Option<Version>),
    /// Unknown target, and the nearest known one.
    NoTarget(Target, Option<Target>),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Version => f.write_str("a PTX version is two numbers parted by a dot, like `7.8`"),
            NameError::Target => f.write_str("a target is `sm_`, a number and at most one letter, like `sm_90a`"),
            NameError::NoVersion(version, near) => {
                write!(f, "unknown PTX version {version}")?;
                near.map_or(Ok(()), |near| write!(f, "; the nearest is {near}"))
            }
            NameError::NoTarget(target, near) => {
                write!(f, "unknown target `{target}`")?;
                near.map_or(Ok(()), |near| write!(f, "; the nearest is `{near}`"))
            }
        }
    }
}

impl core::error::Error for NameError {}

impl FromStr for Version {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Version, NameError> {
        let (major, minor) = text.split_once('.').ok_or(NameError::Version)?;
        Ok(Version::new(number(major).ok_or(NameError::Version)?, number(minor).ok_or(NameError::Version)?))
    }
}

impl FromStr for Target {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Target, NameError> {
        let rest = text.strip_prefix("sm_").ok_or(NameError::Target)?;
        let suffix = rest.chars().next_back().filter(char::is_ascii_lowercase);
        let digits = suffix.map_or(rest, |_| &rest[..rest.len() - 1]);
        Ok(Target { sm: number(digits).ok_or(NameError::Target)?, suffix })
    }
}

/// Parses a decimal number without a sign, which the standard parser would accept.
fn number<N: FromStr>(digits: &str) -> Option<N> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}
