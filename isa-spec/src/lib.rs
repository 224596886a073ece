#![doc = include_str!("../README.md")]
//!
//! # Example
//!
//! ```
//! let spec = r#"
//!     /// Selects one of two words by a predicate.
//!     instruction pick {
//!         section 1.1;
//!         syntax    { pick.type d, a, b, c; .type = { .u16, .u32 }; }
//!         operands  { d, a, b: .type; c: .pred; }
//!         requires  { ptx 1.0, sm_10; }
//!         semantics { d = c ? a : b; }
//!         examples  { pick.u32 r0, r1, r2, p; }
//!     }
//! "#;
//! let rust = isa_spec::Build::new().prelude().text("pick.isa", spec).generate().unwrap();
//! assert!(rust.contains("pub const fn pick_u32(a: u32, b: u32, c: bool) -> u32"));
//!
//! let spoilt = spec.replace("c ? a", "c ? aa");
//! let report = isa_spec::Build::new().prelude().text("pick.isa", &spoilt).generate().unwrap_err();
//! assert!(report.contains("pick.isa:8:29"), "{report}");
//! ```

mod ast;
mod build;
mod check;
mod choice;
mod diagnostic;
mod emit;
mod hash;
mod ir;
mod kernel;
mod library;
mod lower;
mod model;
mod parse;
mod print;
mod pseudo;
mod reference;
mod resolve;
mod source;

pub use ast::Spec;
pub use build::{Build, compile, expand};
pub use check::{Checked, check};
pub use diagnostic::{Diagnostic, Errors};
pub use emit::{Options, emit, names};
pub use library::PTX;
pub use model::Model;
pub use parse::parse;
pub use resolve::resolve;
pub use source::{Place, Sources};
