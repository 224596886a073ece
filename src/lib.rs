//! PTX instructions as one table, computed from a declarative spec.
#![no_std]

extern crate alloc;

// The generated code names this crate as other crates do.
extern crate self as ptx_isa;

pub mod eval;
mod hash;
pub mod selector;
pub mod table;
pub mod target;

include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
