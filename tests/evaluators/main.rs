//! Results of evaluators against independent implementations of the manual.

#[path = "../reference/mod.rs"]
mod reference;

mod arithmetic;
mod bits;
mod collective;
mod formats;
#[cfg(feature = "scalar")]
mod halves;
#[cfg(feature = "scalar")]
mod manual;
mod video;
