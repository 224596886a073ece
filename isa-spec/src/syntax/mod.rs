//! Syntax of the spec language: tree and parser.
//!
//! Names are not interpreted.

pub(crate) mod ast;
mod ident;
mod parse;
pub(crate) mod walk;

pub use ast::Spec;
pub(crate) use parse::more_blocks;
pub use parse::parse;
