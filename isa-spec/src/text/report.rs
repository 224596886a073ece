//! Diagnostics of a spec, collected by each stage and reported together.
//!
//! Independent of grammar, rules and files: a stage states what is wrong, where, and what would be right.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::ops::Range;

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use super::nearest::nearest;

/// Maximum number of names to list if none is near.
const MAX_LISTED: usize = 12;

/// An error in a spec.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub(super) at: At,
    pub(super) message: String,
    pub(super) label: Option<Box<str>>,
    pub(super) secondary: Vec<(Span, String)>,
    pub(super) help: Option<Box<str>>,
    /// The unresolved name, if that is the error.
    unknown: Option<Box<str>>,
}

#[derive(Clone, Debug)]
pub(super) enum At {
    Span(Span),
    /// Directly after a token, where something is missing.
    Behind(Span),
    Offsets(Range<usize>),
    /// The spec as a whole.
    Spec,
}

impl Diagnostic {
    /// Creates an error at a token or a range of tokens.
    pub fn new(span: Span, message: impl Into<String>) -> Diagnostic {
        let at = At::Span(span);
        Diagnostic { at, message: message.into(), label: None, secondary: Vec::new(), help: None, unknown: None }
    }

    /// Creates an error about something missing after a token.
    pub(crate) fn behind(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { at: At::Behind(span), ..Diagnostic::new(span, message) }
    }

    /// Creates an error in text that does not lex.
    pub(crate) fn at_offsets(range: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { at: At::Offsets(range), ..Diagnostic::new(Span::call_site(), message) }
    }

    /// Creates an error about the spec as a whole.
    pub(crate) fn whole(message: impl Into<String>) -> Diagnostic {
        Diagnostic { at: At::Spec, ..Diagnostic::new(Span::call_site(), message) }
    }

    /// Labels the primary span.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = Some(label.into().into_boxed_str());
        self
    }

    /// Adds a secondary span that explains the error.
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.secondary.push((span, label.into()));
        self
    }

    /// Moves the error to another span; the present one becomes secondary.
    pub(crate) fn blame(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        if let At::Span(before) = std::mem::replace(&mut self.at, At::Span(span)) {
            self.secondary.push((before, label.into()));
            self.label = None;
        }
        self
    }

    /// Adds help: what would be right.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into().into_boxed_str());
        self
    }

    /// Adds the nearest of some names as help, or all of them if they are few.
    pub fn suggest<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        let known: BTreeSet<&str> = names.into_iter().collect();
        let listed = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let few = (1..=MAX_LISTED).contains(&known.len());
        let mut diagnostic = self.near(wrong, known);
        diagnostic.unknown = Some(wrong.into());
        diagnostic.help = diagnostic.help.or(few.then(|| format!("known are {listed}").into()));
        diagnostic
    }

    /// Adds the nearest of some names as help, if one is near.
    pub(crate) fn near<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        match nearest(wrong, names) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Returns the message, a single line.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn range(&self) -> Range<usize> {
        match &self.at {
            At::Span(span) => span.byte_range(),
            At::Behind(span) => span.byte_range().end..span.byte_range().end,
            At::Offsets(range) => range.clone(),
            At::Spec => 0..0,
        }
    }

    /// Position and message, by which duplicates are recognized.
    fn identity(&self) -> Identity {
        let place = match &self.at {
            At::Span(span) | At::Behind(span) => extent(*span),
            At::Offsets(range) => Extent { offsets: range.clone(), ..Extent::default() },
            At::Spec => Extent::default(),
        };
        (place, self.message.clone())
    }
}

/// Location of a span. Lines and columns are known inside a compiler, too; offsets are not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Extent {
    offsets: Range<usize>,
    lines: Range<usize>,
    columns: Range<usize>,
}

type Identity = (Extent, String);

fn extent(span: Span) -> Extent {
    let (start, end) = (span.start(), span.end());
    Extent { offsets: span.byte_range(), lines: start.line..end.line, columns: start.column..end.column }
}

/// Errors of one stage.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    list: Vec<Diagnostic>,
    known: HashSet<Identity>,
}

impl Errors {
    /// Creates an empty list.
    pub fn new() -> Errors {
        Errors::default()
    }

    /// Adds an error unless it is present already: several forms may report the same one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.known.insert(diagnostic.identity()) {
            self.list.push(diagnostic);
        }
    }

    /// Places errors at the end of input on the last token.
    pub(crate) fn place_ends(&mut self, last: Span) {
        let nowhere = extent(Span::call_site());
        for diagnostic in &mut self.list {
            if matches!(diagnostic.at, At::Span(span) if extent(span) == nowhere) {
                diagnostic.at = At::Span(last);
                diagnostic.label = Some("the spec ends here".into());
            }
        }
    }

    /// Adds help to errors about unresolved names.
    pub(crate) fn explain(&mut self, help: impl Fn(&str) -> Option<String>) {
        for diagnostic in &mut self.list {
            let more = diagnostic.unknown.as_deref().and_then(&help);
            diagnostic.help = more.map(String::into_boxed_str).or(diagnostic.help.take());
        }
    }

    /// Adds the errors of a parser.
    pub(crate) fn push_syn(&mut self, error: &syn::Error) {
        error.into_iter().for_each(|error| self.push(Diagnostic::new(error.span(), error.to_string())));
    }

    /// Adds a secondary span, the origin of the tokens, to all errors from index `first` on.
    pub(crate) fn note_from(&mut self, first: usize, span: Span, label: &str) {
        for diagnostic in &mut self.list[first..] {
            let shown = |other: &Span| extent(*other) == extent(span);
            let at = matches!(&diagnostic.at, At::Span(own) if shown(own));
            if !at && !diagnostic.secondary.iter().any(|(other, _)| shown(other)) {
                diagnostic.secondary.push((span, label.to_owned()));
            }
        }
    }

    /// Number of errors.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if no error was reported.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the value if no error was reported.
    ///
    /// # Errors
    ///
    /// All errors, if there are any.
    pub fn finish<T>(self, value: T) -> Result<T, Errors> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }

    /// Iterates over the errors in the order of discovery.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Converts all errors to `compile_error!` at the tokens, for a macro.
    pub fn into_compile_errors(self) -> TokenStream {
        self.list
            .into_iter()
            .map(|diagnostic| {
                let (span, place) = match diagnostic.at {
                    At::Span(span) => (span, ""),
                    At::Behind(span) => (span, " after this"),
                    At::Offsets(_) | At::Spec => (Span::call_site(), ""),
                };
                let mut message = diagnostic.message + place;
                diagnostic.label.iter().for_each(|label| message += &format!("\nnote: {label}"));
                for (span, label) in &diagnostic.secondary {
                    message += &format!("\nnote: {label} is in line {}", span.start().line);
                }
                diagnostic.help.iter().for_each(|help| message += &format!("\nhelp: {help}"));
                quote_spanned!(span=> ::core::compile_error! { #message })
            })
            .collect()
    }
}

impl From<Diagnostic> for Errors {
    fn from(diagnostic: Diagnostic) -> Errors {
        let mut errors = Errors::new();
        errors.push(diagnostic);
        errors
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.list {
            writeln!(f, "{}", diagnostic.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}
