//! PTX kernels on the CPU, for Rust and C.
//!
//! The kernel runner is [`ptx_isa::run`], whose items this crate reexports; [`mod@c`] is the C interface, which
//! `include/ptx_run.h` declares.

pub use ptx_isa::run::*;

pub mod c;
