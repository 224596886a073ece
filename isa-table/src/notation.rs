//! Operands in the manual's notation: `p[|q], a, {!}c`.
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

/// Punctuation that surrounds an operand in every statement: `-a`, or the braces of a vector, `{a, b}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Around {
    /// True if a minus precedes it.
    pub minus: bool,
    /// True if it is the first element of a vector: an opening brace precedes it.
    pub opens: bool,
    /// True if it is the last element of a vector: a closing brace follows it.
    pub closes: bool,
    /// True if an opening bracket precedes it: `[a]`.
    pub opens_bracket: bool,
    /// True if a closing bracket follows it.
    pub closes_bracket: bool,
}

impl Around {
    /// Punctuation before the operand.
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

    /// Punctuation after the operand.
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

/// An operand in the manual's notation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Operand<'a> {
    /// Name.
    pub name: &'a str,
    /// True if `!` may precede it.
    pub negated: bool,
    /// Name of the second destination, and whether it is optional.
    pub second: Option<(&'a str, bool)>,
    /// Name of the selector that follows it, and whether it is optional.
    pub selector: Option<(&'a str, bool)>,
    /// True if this operand and all that follow may be omitted.
    pub optional: bool,
    /// Surrounding punctuation.
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

/// Operands of a form, separated by commas: `d, a{, c}`.
pub fn list<'a>(operands: impl IntoIterator<Item = Operand<'a>>) -> String {
    let mut text = String::new();
    for operand in operands {
        let comma = if text.is_empty() { "" } else { ", " };
        text += &if operand.optional { format!("{{{comma}{operand}}}") } else { format!("{comma}{operand}") };
    }
    text
}
