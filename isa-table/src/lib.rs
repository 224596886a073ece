//! What an instruction table is: the shape of its data, and what can be read from it.
//!
//! `isa-spec` builds the values of these types from a spec and writes them as Rust; `ptx-isa` reads them. Whatever both
//! must agree on stands here, once: columns and pools ([`table`]), programs on bits ([`program`]), floors and targets
//! ([`target`]), selectors behind operands ([`selector`]), the manual's notation ([`notation`]), names of generated
//! items ([`names`]), the hash of mnemonics ([`hash`]), pages of the reference ([`page`]), what lines of pseudo-code
//! compute ([`trace`]), and how much of anything there may be ([`limits`]).
//!
//! This crate knows no instruction, no spec language, and no builtin: a table names its operations by number and brings
//! a function that does them.
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
pub mod effect;
pub mod hash;
pub mod limits;
#[cfg(feature = "write")]
pub mod markdown;
pub mod names;
pub mod notation;
pub mod page;
pub mod program;
pub mod selector;
pub mod table;
pub mod target;
pub mod trace;
