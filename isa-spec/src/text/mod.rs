//! Source texts of a spec and diagnostics: files, positions, errors, reports.
//!
//! Independent of the grammar.

mod nearest;
mod render;
mod report;
mod source;
mod unlexed;

pub(crate) use nearest::nearest;
pub use report::{Diagnostic, Errors};
pub(crate) use source::beside;
pub use source::{Place, Sources};

/// Joins the lines of a text.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
