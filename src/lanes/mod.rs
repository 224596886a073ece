//! Loops over lanes: 32 threads of a warp at once, several warps of a block, or slices of any length, at each SIMD level.
//!
//! The generator writes a [`Loop`] as safe code for 32 threads; this module compiles it for every level, moves operands
//! between memory and loops, and applies guards. It knows no instruction, no modifier and no builtin. It is the one module
//! with `unsafe`: functions that need a CPU feature, and raw pointers to operands. Both are private to the crate; what is
//! public here is what generated code names, and is safe.
//!
//! | module | holds |
//! |---|---|
//! | `values` | lanes, masks, sources and destinations: what a loop gets and gives |
//! | `params` | parameters that distinguish the instructions of one loop: constants, truth tables, selectors |
//! | `level`, `portable`, `x86` | SIMD levels: which ones a machine has, and what each does with instructions of its own |
//! | `run` | how a loop runs: the code of a level around the generated body |
//! | `step` | decoded instructions, and the register files they run over |
//! | `memory` | loads and stores of whole warps, by what their addresses have in common |
//! | `regular` | the same where addresses are known to be a fixed distance apart |
//! | `elements` | what both move: elements of lanes between memory and registers |
//! | `fill` | registers whose lanes grow by a fixed step |
//! | `convert` | steps that copy a register to one of another width |
//! | `slice` | the same over slices |
//! | `thread` | the level that needs no vectors: programs on bits, thread by thread |
//!
//! A new SIMD level is a type that implements [`Simd`], and a line in `level`.
//!
//! Two promises hold all of it, and `step` and `slice` keep them:
//!
//! 1. **Level.** A function of a level is called only through [`Level`], a value of which exists only where the
//!    machine has the level's features.
//! 2. **Places.** Every operand place that a loop uses points to 32 lanes of the operand's width for each of the chunks it
//!    is called for, or to one word of predicates for each, aligned, readable, and writable where it is a destination.
//!    Destinations overlap no source of another chunk. A step has the number of places and parameters that its loop
//!    requires, and does not change: the function that runs it was chosen for its selectors.
#![allow(unsafe_code, reason = "the one module that calls functions of CPU features and follows operand pointers")]
#![cfg_attr(not(feature = "simd"), allow(dead_code, reason = "without loops threads run one by one"))]
// The items of this module that are visible outside are for generated code.
#![allow(missing_docs, reason = "traits and types that generated code names; each has a comment where it matters")]

mod convert;
#[cfg(feature = "run")]
mod elements;
#[cfg(feature = "run")]
mod fill;
mod level;
#[cfg(feature = "run")]
mod memory;
mod params;
#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
mod portable;
#[cfg(feature = "run")]
mod regular;
mod run;
mod slice;
mod step;
pub(crate) mod thread;
mod values;
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
mod x86;

pub(crate) use convert::Convert;
#[cfg(feature = "run")]
pub(crate) use elements::{ELEMENTS, Element};
#[cfg(feature = "run")]
pub(crate) use fill::{HALF, fill};
pub use isa_table::program::{Run, WARP};
pub(crate) use level::gather;
pub use level::{Kernel, Level, Simd, spread, whole};
#[cfg(feature = "run")]
pub(crate) use memory::{Transfer, Window};
pub(crate) use params::words;
pub use params::{MaskWord, OneParam, Params, Pick, Subset, Truth1, Truth2, Truth3};
#[cfg(feature = "run")]
pub(crate) use regular::Regular;
pub use run::code;
pub(crate) use slice::{Bound, SliceCode};
pub use slice::{Slice, SliceMut};
pub use step::Contents;
pub(crate) use step::{Code, File, Step};
pub use values::*;

/// The bit of each lane in a mask.
pub const BIT: [u32; WARP] = {
    let mut bits = [0; WARP];
    let mut lane = 0;
    while lane < WARP {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};
