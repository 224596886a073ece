//! PTX versions and targets, as `.version` and `.target` name them.
//!
//! This module knows no list of either: which exist, a [`Table`](crate::table::Table) says.
//!
//! ```
//! use ptx_isa::target::{Target, Version};
//!
//! let version: Version = "7.8".parse().unwrap();
//! assert!(version < Version::new(8, 0));
//! let target: Target = "sm_90a".parse().unwrap();
//! assert_eq!((target.sm, target.suffix), (90, Some('a')));
//! ```

use core::fmt;
use core::str::FromStr;

/// A version of PTX: `7.8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// The part before the dot.
    pub major: u8,
    /// The part behind the dot.
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
    /// The letter behind the number, if there is one.
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

/// The text is not spelt like a version or a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A version is two numbers parted by a dot.
    #[error("a PTX version is two numbers parted by a dot, like `7.8`")]
    Version,
    /// A target is `sm_`, a number and at most one lower-case letter.
    #[error("a target is `sm_`, a number and at most one letter, like `sm_90a`")]
    Target,
}

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

/// A decimal number without a sign, which the standard parser would take.
fn number<N: FromStr>(digits: &str) -> Option<N> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}
