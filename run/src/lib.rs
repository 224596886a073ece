//! PTX kernels on the CPU, for Rust and C.
//!
//! What runs kernels stands in [`ptx_isa::run`], whose items this crate names once more; [`mod@c`] is the C interface, which
//! `include/ptx_run.h` declares.

pub use ptx_isa::run::*;

pub mod c;
