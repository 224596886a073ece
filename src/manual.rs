//! The manual: a page for each opcode of the table, written by the spec.
//!
//! Syntax, operands, pseudo-code, floors, errata and examples of each; which modifiers go together, as a matrix; what
//! each modifier means. The same pages make `ptx-isa explain` and the site that `ptx-isa docs` writes.

include!(concat!(env!("OUT_DIR"), "/manual.rs"));
