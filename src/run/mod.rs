//! PTX kernels on the CPU, exactly.
//!
//! A [`Module`] is read from text and gives its variables memory; a [`Kernel`] of it is launched over a [`Grid`] with
//! [`Argument`]s, and its threads work on [`Memory`]. What a kernel needs and this machine lacks is an error before the launch; a bad
//! access, a trap, a failed assertion or a deadlock ends the launch with an [`Error`] that names the statement, the line,
//! the block and the thread.
//!
//! ```
//! use ptx_isa::run::{Grid, Memory, Module};
//!
//! let text = "
//!     .version 8.0 .target sm_80 .address_size 64
//!     .visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) {
//!         .reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
//!         ld.param.u32 %r2, [n];
//!         ld.param.f32 %f1, [a];
//!         ld.param.u64 %rd1, [x];
//!         ld.param.u64 %rd2, [y];
//!         mov.u32 %r3, %ctaid.x;
//!         mov.u32 %r4, %ntid.x;
//!         mov.u32 %r5, %tid.x;
//!         mad.lo.s32 %r1, %r3, %r4, %r5;
//!         setp.ge.u32 %p1, %r1, %r2;
//!         @%p1 bra DONE;
//!         mul.wide.u32 %rd3, %r1, 4;
//!         add.s64 %rd4, %rd1, %rd3;
//!         add.s64 %rd5, %rd2, %rd3;
//!         ld.global.f32 %f2, [%rd4];
//!         ld.global.f32 %f3, [%rd5];
//!         fma.rn.f32 %f4, %f2, %f1, %f3;
//!         st.global.f32 [%rd5], %f4;
//!     DONE:
//!         ret;
//!     }";
//! let memory = Memory::new();
//! let module = Module::load(text, &memory)?;
//! let x = memory.upload(&[1.0_f32; 1000]);
//! let y = memory.upload(&[2.0_f32; 1000]);
//! module.kernel("saxpy")?.launch(Grid::new(4, 256), &[1000_u32.into(), 3.0_f32.into(), x.into(), y.into()])?;
//! assert_eq!(memory.download::<f32>(y, 1000)?, [5.0; 1000]);
//!
//! // Beyond the buffer there is nothing.
//! let error = module
//!     .kernel("saxpy")?
//!     .launch(Grid::new(4, 256), &[1024_u32.into(), 3.0_f32.into(), x.into(), y.into()])
//!     .unwrap_err();
//! assert_eq!((error.kind.name(), error.thread), ("access", Some([232, 0, 0])));
//! assert_eq!(error.statement.as_deref(), Some("ld.global.f32 %f2, [%rd4];"));
//! # Ok::<(), ptx_isa::run::Error>(())
//! ```

#![allow(clippy::needless_range_loop, reason = "several lists are read by the number of a warp")]
#![allow(clippy::type_complexity, reason = "closures that visit lanes are named where they are called")]

mod affine;
mod argument;
mod block;
mod cluster;
mod decode;
mod effect;
mod error;
mod groups;
mod launch;
mod memory;
mod order;
mod pending;
mod races;
mod raw;
mod schedule;
mod shape;
mod shares;
mod system;
mod tensor;
mod tensor_memory;
pub mod text;

pub use argument::Argument;
pub use error::{Error, ErrorKind};
pub use launch::{Grid, Kernel, Module, Options, Report};
pub use memory::{Memory, Number};
pub use tensor::{Fill, Interleave, Swizzle, SwizzleAtom, TensorElement, TensorMap, TensorPart};
