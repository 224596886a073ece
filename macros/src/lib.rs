//! The macros of `ptx-isa`.
