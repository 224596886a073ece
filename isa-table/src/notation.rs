//! Operands as the manual writes them: `p[|q], a, {!}c`.
//!
//! ```
//! use isa_table::notation::{self, Operand};
//! use isa_table::selector::Permission;
//!
//! let c = Operand { name: "c", negated: true, ..Operand::default() };
//! let p = Operand { name: "p", second: Some(("q", true)), ..Operand::default() };
//! assert_eq!(notation::list([p, c]), "p[|q], {!}c");
//! ```

use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::constant::plain;

/// What stands around an operand wherever it is written: `-a`, or the braces of a vector, `{a, b}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Around {
    /// Whether a minus stands before it.
    pub minus: bool,
    /// Whether it is the first element of a vector: a brace stands before it.
    pub opens: bool,
    /// Whether it is the last element of a vector: a brace stands behind it.
    pub closes: bool,
    /// Whether a bracket stands before it: `[a]`.
    pub opens_bracket: bool,
    /// Whether a bracket stands behind it.
    pub closes_bracket: bool,
}

impl Around {
    /// What stands before it.
    pub fn before(self) -> &'static str {
        match (self.opens_bracket, self.opens, self.minus) {
            (false, false, false) => "",
            (false, false, true) => "-",
            (false, true, false) => "{",
            (false, true, true) => "{-",
            (true, false, false) => "[",
            (true, false, true) => "[-",
            (true, true, false) => "[{",
            (true, true, true) => "[{-",
        }
    }

    /// What stands behind it.
    pub fn behind(self) -> &'static str {
        match (self.closes, self.closes_bracket) {
            (false, false) => "",
            (true, false) => "}",
            (false, true) => "]",
            (true, true) => "}]",
        }
    }
}

plain! {
    Around = |around| format!("{around:?}");
}

/// What the manual writes of an operand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Operand<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether `!` may stand before it.
    pub negated: bool,
    /// The second destination's name, and whether it may be left out.
    pub second: Option<(&'a str, bool)>,
    /// The name of the selector behind it, and whether that may be left out.
    pub selector: Option<(&'a str, bool)>,
    /// Whether it may be left out, with all operands behind it.
    pub optional: bool,
    /// What stands around it.
    pub around: Around,
}

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.around.before(), if self.negated { "{!}" } else { "" }, self.name)?;
        match self.second {
            Some((second, true)) => write!(f, "[|{second}]")?,
            Some((second, false)) => write!(f, "|{second}")?,
            None => {}
        }
        match self.selector {
            Some((selector, true)) => write!(f, "{{.{selector}}}")?,
            Some((selector, false)) => write!(f, ".{selector}")?,
            None => {}
        }
        f.write_str(self.around.behind())
    }
}

/// The operands of a form, parted by commas: `d, a{, c}`.
pub fn list<'a>(operands: impl IntoIterator<Item = Operand<'a>>) -> String {
    let mut text = String::new();
    for operand in operands {
        let comma = if text.is_empty() { "" } else { ", " };
        text += &if operand.optional { format!("{{{comma}{operand}}}") } else { format!("{comma}{operand}") };
    }
    text
}
