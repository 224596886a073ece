//! PTX instructions as one table: forms, validator, evaluators and reference, all computed from a declarative spec.
//!
//! The spec (`isa-spec/ptx/*.isa`) is the only place where an instruction is described. What this crate offers of it:
//!
//! * [`Form`]: every legal form, with its operands, floors and section; [`Instruction`], [`Opcode`] and a struct for each
//!   opcode; [`CmpOp`] and the other enums of modifiers.
//! * [`Form::evaluate`]: bits in, bits out; [`warp`] and [`slice`](mod@slice) compute many threads at once. With Rust's
//!   types, `ptx!` of the crate `ptx-isa-macros` expands to the form that it names and its evaluator, a `const fn`; the
//!   feature `scalar` provides such a function for every form, in the module `scalar`.
//! * [`text`]: one statement ([`Statement`](text::Statement)) or whole modules ([`text::check`]), with the assembler's
//!   verdict.
//! * [`TABLE`]: all of it as data.
//! * [`manual`]: a page to read for each opcode.
//! * [`glossary`]: what form, shape, floor and the other words mean here.
//!
//! The steps below lead from nothing to a checked statement, to an evaluated warp, and to an instruction of your own.
//!
//! # From text to a verdict
//!
//! ```
//! use ptx_isa::TABLE;
//! use ptx_isa::text::Statement;
//!
//! let statement = Statement::parse(&TABLE, "@!%p1 setp.f32.lt %p2|_, %f1, 0f3F800000;").unwrap();
//! assert_eq!(statement.to_string(), "@!%p1 setp.lt.f32 %p2|_, %f1, 0f3f800000;");
//!
//! // A form knows when it came, and where it runs.
//! let form = statement.form();
//! assert_eq!(form.floor().to_string(), "PTX 1.0, sm_10");
//!
//! // An illegal statement is rejected with the reason and similar legal forms.
//! let error = Statement::parse(&TABLE, "setp.lo.s32 p, a, b;").unwrap_err();
//! assert_eq!(error.message, "`.lo` is for unsigned integers");
//! assert!(error.help.unwrap().contains("`setp.lt.s32`"));
//!
//! // Whole modules are checked at once: what is outside the table is counted, not refused.
//! let module = b".version 8.6 .target sm_90
//!     .entry k() { .reg .pred p; .reg .f32 f; setp.lo.f32 p, f, f; }";
//! let report = ptx_isa::text::check(&TABLE, module, &Default::default());
//! assert_eq!(report.diagnostics[0].code.as_str(), "illegal-modifier");
//! ```
//!
//! # From a mnemonic to bits
//!
//! ```
//! use ptx_isa::{CmpOp, Form, ScalarType, Setp};
//!
//! let form: Form = "setp.lt.f16x2".parse().unwrap();
//! assert_eq!((form.since().to_string(), form.target().to_string()), ("4.2".into(), "sm_53".into()));
//!
//! // One half in each half of a register: 1.0 < 2.0 in the lower lane, 2.0 < 1.0 in the upper one.
//! assert_eq!(form.evaluate(&[0x4000_3c00, 0x3c00_4000]), [1, 0]);
//!
//! // Modifiers chosen at run time; an illegal combination is rejected with the reason.
//! let setp = Setp { cmp_op: CmpOp::Lo, bool_op: None, ftz: false, ty: ScalarType::S32 };
//! assert_eq!(setp.form().unwrap_err().to_string(), "`.lo` is for unsigned integers");
//! ```
//!
//! # From instructions to a warp
//!
//! A program is decoded once and then run over warps of 32 lanes; predicates are masks.
//!
//! ```
//! use ptx_isa::TABLE;
//! use ptx_isa::warp::{Operands, Program, Registers, Source};
//!
//! // setp.lt.s32 p0, r0, 10;
//! let mut program = Program::new(Registers { b32: 1, pred: 1, ..Registers::default() }, 90);
//! let less = TABLE.form("setp.lt.s32").unwrap();
//! let sources = [Source::Register(0), Source::Constant(10)];
//! program.push(less, &Operands { destinations: &[Some(0), None], sources: &sources, ..Operands::default() })?;
//!
//! // Every lane of the one warp holds its own number.
//! let mut warps = program.warps(1);
//! for (lane, value) in warps.b32_mut(0, 0).iter_mut().enumerate() {
//!     *value = lane as u32;
//! }
//! program.run(&mut warps);
//! assert_eq!(warps.pred(0, 0), 0x3ff);
//! # Ok::<(), ptx_isa::warp::DecodeError>(())
//! ```
//!
//! # From an entry to an instruction
//!
//! An instruction is an entry of a `.isa` file: of this crate's (`isa-spec/ptx`), of your own crate's, or inline. All of
//! the above is computed from it; a mistake is shown with its place. Here the generator says what it makes:
//!
//! ```
//! # // The crate `isa-spec` is a build dependency; its own documentation tests the same entry.
//! let entry = r#"
//!     /// Selects one of two words by a predicate.
//!     instruction pick {
//!         section   1.1;
//!         syntax    { pick.type d, a, b, c; .type = { .u16, .u32 }; }
//!         operands  { d, a, b: .type; c: .pred; }
//!         requires  { ptx 1.0, sm_10; }
//!         semantics { d = c ? a : b; }
//!         examples  { pick.u32 r0, r1, r2, p; }
//!     }
//! "#;
//! let rust = isa_spec::Build::new().prelude().text("pick.isa", entry).generate().unwrap();
//! assert!(rust.contains("pub const U32: Form"));
//! ```
//!
//! # Features
//!
//! Without features the crate needs no standard library, only an allocator. `std` is for what needs an operating
//! system, `simd` adds loops at every SIMD level of the machine, `scalar` a typed function for each form, `reference` the
//! pages of the manual as data and values of pseudo-code line by line, `explain` those pages as text; `run` runs kernels, and `jit` those parts of them as machine code that run often; `cli` builds the
//! command line, `docs` its command that writes the reference as a site, `lsp` its language server.
//!
//! # Versions
//!
//! Enums that grow with PTX are `non_exhaustive`: opcodes, types, modifiers, diagnostic codes. The structs of
//! instructions are not, so that struct literals can build them; nor are the parts of a text
//! ([`Item`](text::module::Item)), so that matches must handle every new kind of part. Indices of forms are valid for
//! one release only, mnemonics forever.

#![no_std]
#![deny(unsafe_code)]
// The page of the generated table's source would weigh as much as all other pages.
#![doc(html_no_source)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// The generated code names this crate as other crates do.
extern crate self as ptx_isa;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

#[cfg(doc)]
#[doc = include_str!("glossary.md")]
pub mod glossary {}

pub mod construct;
pub mod diagnostic;
pub mod eval;
#[cfg(feature = "jit")]
mod jit;
pub mod lanes;
#[cfg(all(feature = "reference", any(doc, doctest)))]
pub mod manual;
pub mod matrix;
#[cfg(feature = "reference")]
pub mod reference;
#[cfg(feature = "run")]
pub mod run;
pub mod slice;
pub mod table;
pub mod text;
pub mod value;
pub mod warp;

pub use isa_table::{selector, target};

include!(concat!(env!("OUT_DIR"), "/ptx.rs"));

#[cfg(feature = "simd")]
include!(concat!(env!("OUT_DIR"), "/loops.rs"));
#[cfg(not(feature = "simd"))]
mod loops {
    pub(super) static LOOPS: &[&[crate::lanes::Run]] = &[];
}

#[cfg(feature = "scalar")]
include!(concat!(env!("OUT_DIR"), "/scalar.rs"));
