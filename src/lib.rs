//! PTX instructions as one table: forms, validator, evaluators and reference, all computed from a declarative spec.
//!
//! The spec (`isa-spec/ptx/*.isa`) is the only place where an instruction is described. What this crate offers of it:
//!
//! * [`Form`]: every legal form, with its operands, floors and section; [`Instruction`], [`Opcode`] and a struct for each
//!   opcode; [`CmpOp`] and the other enums of modifiers.
//! * [`scalar`]: a `const fn` for each form, named by its mnemonic. [`Form::evaluate`] is the same on bits.
//! * [`text`]: one statement ([`Statement`](text::Statement)) or whole modules ([`text::check`]), with the assembler's
//!   verdict.
//! * [`TABLE`]: all of it as data.
//!
//! # From a mnemonic to bits
//!
//! ```
//! use ptx_isa::{CmpOp, Form, ScalarType, Setp, scalar};
//!
//! let form: Form = "setp.lt.f16x2".parse().unwrap();
//! assert_eq!((form.since().to_string(), form.target().to_string()), ("4.2".into(), "sm_53".into()));
//!
//! // One half in each half of a register: 1.0 < 2.0 in the lower lane, 2.0 < 1.0 in the upper one.
//! assert_eq!(form.evaluate(&[0x4000_3c00, 0x3c00_4000]), [1, 0]);
//!
//! // The same in Rust's types, at compile time.
//! const BOTH: (bool, bool) = scalar::setp_lt_s32(5, -3);
//! assert_eq!(BOTH, (false, true));
//!
//! // Modifiers chosen at run time; an illegal choice is refused with the reason.
//! let setp = Setp { cmp_op: CmpOp::Lo, bool_op: None, ftz: false, ty: ScalarType::S32 };
//! assert_eq!(setp.form().unwrap_err().to_string(), "`.lo` is for unsigned integers");
//! ```
//!
//! # From text to a verdict
//!
//! ```
//! use ptx_isa::text::Statement;
//!
//! let statement = Statement::parse(&ptx_isa::TABLE, "@!%p1 setp.f32.lt %p2|_, %f1, 0f3F800000;").unwrap();
//! assert_eq!(statement.to_string(), "@!%p1 setp.lt.f32 %p2|_, %f1, 0f3f800000;");
//!
//! let error = Statement::parse(&ptx_isa::TABLE, "setp.lo.s32 p, a, b;").unwrap_err();
//! assert_eq!(error.message, "`.lo` is for unsigned integers");
//! ```
//!
//! # Features
//!
//! Without features the crate needs no standard library, only an allocator. `std` is for what needs an operating
//! system, `cli` builds the command line.

#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// The generated code names this crate as other crates do.
extern crate self as ptx_isa;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub mod build;
pub mod diagnostic;
pub mod eval;
mod hash;
pub mod selector;
pub mod simd;
pub mod slice;
pub mod table;
pub mod target;
pub mod text;
pub mod warp;

include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
