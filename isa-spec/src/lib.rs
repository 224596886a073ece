#![doc = include_str!("../README.md")]
//!
//! # Example
//!
//! ```
//! let spec = r#"
//!     /// Selects one of two words by a predicate.
//!     instruction pick {
//!         section 1.1;
//!         syntax { pick.type  d, a, b, c; .type = { .u16, .u32 }; }
//!         operands  { d, a, b: .type; c: .pred; }
//!         requires  { ptx 1.0, sm_10; }
//!         semantics { d = c ? a : b; }
//!         examples  { pick.u32 r0, r1, r2, p; }
//!     }
//! "#;
//! let rust = isa_spec::Build::new().prelude().text("pick.isa", spec).generate().unwrap();
//! assert!(rust.contains("pub const U32: Form"));
//!
//! let spoilt = spec.replace("c ? a", "c ? aa");
//! let report = isa_spec::Build::new().prelude().text("pick.isa", &spoilt).generate().unwrap_err();
//! assert!(report.contains("pick.isa:8:29"), "{report}");
//! ```

mod check;
mod emit;
#[cfg(feature = "cli")]
mod format;
mod library;
mod model;
mod pages;
mod plan;
mod program;
mod pseudo;
mod script;
mod syntax;
mod text;

pub use check::{Checked, check};
#[cfg(feature = "cli")]
pub use format::format;
pub use library::PTX;
pub use model::{Model, resolve};
pub use script::{Build, Functions, compile, expand};
pub use syntax::{Spec, parse};
pub use text::{Diagnostic, Errors, Place, Sources};
