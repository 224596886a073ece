//! The spec language as it is written: its tree, and the way from tokens to it.
//!
//! This module knows no meaning: a name is a word with a place.

pub(crate) mod ast;
mod ident;
mod parse;
pub(crate) mod walk;

pub use ast::Spec;
pub(crate) use parse::more_blocks;
pub use parse::parse;
