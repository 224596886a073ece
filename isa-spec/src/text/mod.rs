//! The texts of a spec and what is said about them: files, places, mistakes, reports.
//!
//! This module knows no grammar.

mod render;
mod report;
mod source;
mod unlexed;

pub(crate) use report::nearest;
pub use report::{Diagnostic, Errors};
pub(crate) use source::beside;
pub use source::{Place, Sources};
