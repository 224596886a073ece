//! Data model of instruction tables, shared by their generator and their readers.
//!
//! `isa-spec` builds the values of these types from a spec and writes them as Rust; `ptx-isa` reads them. Everything
//! that both must agree on is defined here once: columns and pools ([`table`]), programs over bits ([`program`]),
//! minimum versions and targets ([`target`]), operand selectors ([`selector`]), the manual's notation ([`notation`]),
//! names of generated items ([`names`]), the hash of mnemonics ([`hash`]), reference pages ([`page`]), values of
//! pseudo-code lines ([`trace`]), size limits ([`limits`]) and counts with their nouns ([`count`]).
//!
//! This crate depends on no instruction, spec language or builtin: a table refers to its operations by number and
//! supplies the function that computes them.
//!
//! ```
//! use isa_table::target::{Target, Version};
//!
//! assert!("7.8".parse::<Version>().unwrap() < Version::new(8, 0));
//! assert_eq!(isa_table::names::camel("cmp_op"), "CmpOp");
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub mod constant;
pub mod count;
pub mod effect;
pub mod hash;
pub mod limits;
#[cfg(feature = "write")]
pub mod markdown;
pub mod matrix;
pub mod names;
pub mod notation;
pub mod page;
pub mod program;
pub mod selector;
pub mod table;
pub mod target;
pub mod trace;
