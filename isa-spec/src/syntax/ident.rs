//! Identifiers of PTX.

use std::fmt;

use proc_macro2::Span;

/// A name: a Rust identifier, or a word that only PTX allows: `scaled::n2::ue8m0`, `L2::128B`, `2d`.
#[derive(Clone, Debug)]
pub(crate) struct Ident {
    text: String,
    span: Span,
    /// True if written without a dot: in a list of words it names a set.
    bare: bool,
}

impl Ident {
    pub(crate) fn new(text: String, span: Span) -> Ident {
        Ident { text, span, bare: false }
    }

    /// Returns true if it is a Rust identifier without a dot before it.
    pub(crate) fn is_bare(&self) -> bool {
        self.bare
    }

    /// Its span.
    pub(crate) fn span(&self) -> Span {
        self.span
    }
}

impl From<proc_macro2::Ident> for Ident {
    fn from(ident: proc_macro2::Ident) -> Ident {
        Ident { text: ident.to_string(), span: ident.span(), bare: true }
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for Ident {
    fn eq(&self, other: &T) -> bool {
        self.text == other.as_ref()
    }
}

impl AsRef<str> for Ident {
    fn as_ref(&self) -> &str {
        &self.text
    }
}
