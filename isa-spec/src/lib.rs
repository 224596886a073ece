#![doc = include_str!("../README.md")]

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
