//! PTX as text: statements and whole modules, read, checked and printed by what a [`Table`](crate::table::Table) says.
//!
//! ```
//! use ptx_isa::text::{Options, Statement, check};
//!
//! let statement = Statement::parse(&ptx_isa::TABLE, "@p setp.lt.and.s32 p|q, a, -3, !c;")?;
//! assert_eq!(statement.form().mnemonic(), "setp.lt.and.s32");
//! assert_eq!(statement.to_string(), "@p setp.lt.and.s32 p|q, a, 0xfffffffd, !c;");
//!
//! let module = b".version 8.6 .target sm_90
//!     .entry k() { .reg .pred p; .reg .f32 f; setp.lo.f32 p, f, f; }";
//! let report = check(&ptx_isa::TABLE, module, &Options::default());
//! assert_eq!((report.in_table, report.outside), (1, 0));
//! assert_eq!(report.diagnostics[0].code.as_str(), "illegal-modifier");
//! # Ok::<(), ptx_isa::diagnostic::Diagnostic>(())
//! ```
//!
//! The layers, each of which knows only those above it:
//!
//! | module | knows |
//! |---|---|
//! | `encoding` | bytes of comments that are not UTF-8 |
//! | `lexer` | bytes: words, blanks, comments |
//! | `alike` | which of some words is spelt most like another |
//! | [`constant`] | constant expressions, and the bits they give an operand |
//! | [`mnemonic`] | which form a mnemonic means, or why it means none |
//! | [`spelling`] | which free modifiers go with a form, and since when it exists |
//! | [`find`] | which forms a pattern of their spelling means |
//! | [`completion`] | which modifiers a mnemonic may go on with |
//! | [`statement`] | one statement, and how it is written |
//! | [`effects`] | what one statement reads and writes, and does to control flow and other threads |
//! | [`mod@evaluate`] | what one statement computes |
//! | [`columns`] | what one statement computes in any number of threads |
//! | `reader` | how one statement is read, and what is wrong where it cannot be |
//! | `scope` | which names a scope declares, and as what |
//! | [`module`] | whole files: directives, functions, scopes, floors |
//! | [`resolved`] | modules with every name resolved: registers, labels, layouts, initial values |
//!
//! None of them names an opcode, a type, a version or a target.

mod alike;
pub mod columns;
pub mod completion;
pub mod constant;
pub mod effects;
mod encoding;
pub mod evaluate;
pub mod find;
mod lexer;
mod memo;
pub mod mnemonic;
pub mod module;
mod reader;
pub mod resolved;
mod scope;
pub mod spelling;
pub mod statement;

pub(crate) use alike::closest;
pub use encoding::decode;
pub use module::{Options, Report, check};
pub use statement::Statement;
