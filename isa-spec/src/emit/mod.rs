//! From the checked model to Rust.
//!
//! The output is one module: modifier enums, a struct for each instruction, the dense `Form`, evaluators, and the
//! static table that the text layer reads. It takes only a checked model and cannot fail. What the output relies on
//! (the shape of tables, the bodies of builtins) stands behind one path, [`Options::support`].

mod api;
mod markers;
pub mod names;
mod perfect_hash;
mod reference;
mod scalar;
mod table;
mod warp;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::check::Checked;
use crate::source::Sources;

/// How the generated module finds what it relies on.
pub struct Options {
    /// The path of the crate `ptx-isa` as the generated code sees it: `::ptx_isa`.
    pub support: syn::Path,
    /// The path of the module with the builtins' bodies: `::ptx_isa::eval`.
    pub bodies: syn::Path,
}

/// The generated module's items.
pub fn emit(checked: &Checked, sources: &Sources, options: &Options) -> TokenStream {
    let bodies = options.bodies_of(checked);
    let cx = Context { checked, sources, support: &options.support, bodies: &bodies };
    let api = api::emit(&cx);
    let (kernels, evaluations) = warp::emit(&cx);
    let (scalar, bits, functions) = scalar::emit(&cx, &evaluations);
    let table = table::emit(&cx, &functions, &evaluations);
    let markers = markers::emit(&cx);
    quote! {
        #api
        #markers
        #table
        #scalar
        #bits
        #kernels
    }
}

/// The items of the module that holds the reference: the pages, and the values of pseudo-code line by line.
pub(crate) fn reference(
    checked: &Checked,
    sources: &Sources,
    options: &Options,
    pages: &[isa_page::Page],
) -> TokenStream {
    let bodies = options.bodies_of(checked);
    reference::emit(&Context { checked, sources, support: &options.support, bodies: &bodies }, pages)
}

impl Options {
    /// The module with the builtins' bodies: the spec's own word first.
    fn bodies_of(&self, checked: &Checked) -> TokenStream {
        checked.model.bodies.clone().unwrap_or_else(|| self.bodies.to_token_stream())
    }
}

/// What every emitter reads.
struct Context<'a> {
    checked: &'a Checked,
    sources: &'a Sources,
    support: &'a syn::Path,
    bodies: &'a TokenStream,
}

impl Context<'_> {
    /// `comparison.isa:8`
    fn place(&self, span: proc_macro2::Span) -> String {
        self.sources.cite(span)
    }
}
