//! Spec files, and the mapping from spans to file, line and column.
//!
//! The files are lexed as one text, so that an offset identifies its file. Independent of the grammar.

use std::cell::OnceCell;

use proc_macro2::{Span, TokenStream, TokenTree};

use crate::text::{Diagnostic, Errors};

/// Maximum nesting depth of brackets; prevents stack overflow in the parser.
const MAX_BRACKETS: usize = 256;

/// Finds the first bracket that is nested too deeply.
fn too_deep(tokens: &TokenStream) -> Option<Span> {
    let mut open = vec![tokens.clone().into_iter()];
    while let Some(innermost) = open.last_mut() {
        match innermost.next() {
            Some(TokenTree::Group(group)) if open.len() > MAX_BRACKETS => return Some(group.span_open()),
            Some(TokenTree::Group(group)) => open.push(group.stream().into_iter()),
            Some(_) => {}
            None => drop(open.pop()),
        }
    }
    None
}

/// Files of a spec, in order.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<File>,
    /// All texts, concatenated.
    text: String,
    /// Source text as the fallback lexer knows it, if its tokens are used next to those of a macro's input.
    beside: OnceCell<String>,
}

#[derive(Clone, Debug)]
struct File {
    name: String,
    start: usize,
}

/// A position in a spec file, as editors count: lines and columns from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

/// Runs a function with the fallback lexer of proc_macro2: tokens that the compiler lexes from text have no positions.
/// Fallback tokens cannot be mixed with compiler tokens in a stream.
pub(crate) fn beside<R>(act: impl FnOnce() -> R) -> R {
    proc_macro2::fallback::force();
    let result = act();
    proc_macro2::fallback::unforce();
    result
}

impl Sources {
    /// Creates an empty list.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Adds a file; `name` is used in reports.
    pub fn add(&mut self, name: impl Into<String>, text: &str) {
        self.files.push(File { name: name.into(), start: self.text.len() });
        // Rust's lexer accepts a byte order mark at the start of a text only, and this text is appended to others.
        self.text.push_str(text.strip_prefix('\u{feff}').unwrap_or(text));
        self.text.push('\n');
    }

    /// Names of the files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.name.as_str())
    }

    /// Name and text of each file, in order.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names().enumerate().map(|(index, name)| (name, self.text_of(index)))
    }

    /// Lexes all files.
    ///
    /// # Errors
    ///
    /// Text that does not lex as Rust tokens.
    pub fn tokens(&self) -> Result<TokenStream, Errors> {
        let mut errors = Errors::new();
        for (index, file) in self.files.iter().enumerate() {
            let text = self.text_of(index);
            if text.parse::<TokenStream>().is_err() {
                super::unlexed::mistakes(text, file.start).into_iter().for_each(|mistake| errors.push(mistake));
            }
        }
        errors.finish(())?;
        let tokens = self.text.parse().expect("files that lex apart lex together");
        match too_deep(&tokens) {
            Some(span) => Err(Diagnostic::new(span, "brackets are nested too deeply").into()),
            None => Ok(tokens),
        }
    }

    /// Position of an offset into the concatenated text.
    pub fn place(&self, offset: usize) -> Place<'_> {
        let index = self.file_at(offset);
        let file = &self.files[index];
        let before = &self.text[file.start..offset.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Place {
            file: &file.name,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    /// Position of the start of a span.
    pub fn place_of(&self, span: Span) -> Place<'_> {
        self.place(span.byte_range().start)
    }

    /// Index of the file in which a span starts.
    pub(crate) fn file_number(&self, span: Span) -> usize {
        self.file_at(span.byte_range().start)
    }

    /// File and line of a span, `comparison.isa:8`, for generated code.
    pub(crate) fn cite(&self, span: Span) -> String {
        if self.beside.get().is_some_and(|own| *own != span.file()) {
            return format!("{}:{}", span.file(), span.start().line);
        }
        let place = self.place_of(span);
        format!("{}:{}", place.file, place.line)
    }

    /// Lexes all files with the fallback lexer, for use next to a macro's input.
    ///
    /// # Errors
    ///
    /// As [`Sources::tokens`].
    pub(crate) fn tokens_beside(&self) -> Result<TokenStream, Errors> {
        let tokens = beside(|| self.tokens());
        let first = tokens.as_ref().ok().and_then(|tokens| tokens.clone().into_iter().next());
        let own = first.map_or_else(String::new, |token| token.span().file());
        self.beside.set(own).expect("a spec is lexed once");
        tokens
    }

    /// Returns true if there is a file of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.name == name)
    }

    /// Appends the files of another list.
    pub(crate) fn then(mut self, other: &Sources) -> Sources {
        for index in 0..other.files.len() {
            let text = other.text_of(index);
            self.add(other.files[index].name.clone(), text.strip_suffix('\n').unwrap_or(text));
        }
        self
    }

    /// Name, whole text and start of the file that contains an offset.
    pub(crate) fn file(&self, offset: usize) -> (&str, &str, usize) {
        let index = self.file_at(offset);
        (&self.files[index].name, self.text_of(index), self.files[index].start)
    }

    fn file_at(&self, offset: usize) -> usize {
        self.files.partition_point(|file| file.start <= offset).saturating_sub(1)
    }

    fn text_of(&self, index: usize) -> &str {
        let end = self.files.get(index + 1).map_or(self.text.len(), |next| next.start);
        &self.text[self.files[index].start..end]
    }
}
