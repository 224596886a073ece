//! Spec files and the way from a span back to file, line and column.
//!
//! The files are lexed as one text, so that an offset names its file by itself. This module knows no grammar.

use proc_macro2::{Span, TokenStream};

use crate::diagnostic::{Diagnostic, Errors};

/// The files of one spec, in order.
#[derive(Debug, Default)]
pub struct Sources {
    files: Vec<File>,
    /// All texts, one after the other.
    text: String,
}

#[derive(Debug)]
struct File {
    name: String,
    start: usize,
}

/// A place in a spec file, as editors count: lines and columns from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file's name as it was given.
    pub file: &'a str,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl Sources {
    /// No files yet.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Adds a file; `name` is what reports call it.
    pub fn add(&mut self, name: impl Into<String>, text: &str) {
        self.files.push(File { name: name.into(), start: self.text.len() });
        // Rust's lexer takes a byte order mark at the start of a text only, and this is one of several.
        self.text.push_str(text.strip_prefix('\u{feff}').unwrap_or(text));
        self.text.push('\n');
    }

    /// The names of the files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.name.as_str())
    }

    /// The tokens of all files.
    ///
    /// # Errors
    ///
    /// What does not lex as Rust tokens, at most one mistake for each file.
    pub fn tokens(&self) -> Result<TokenStream, Errors> {
        let mut errors = Errors::new();
        for (index, file) in self.files.iter().enumerate() {
            if let Err(error) = self.text_of(index).parse::<TokenStream>() {
                let at = error.span().byte_range();
                errors.push(Diagnostic::at_offsets(
                    file.start + at.start..file.start + at.end,
                    "this does not lex: a bracket without its partner, an open string or a stray character",
                ));
            }
        }
        errors.finish(())?;
        Ok(self.text.parse().expect("files that lex apart lex together"))
    }

    /// Where an offset into the text of all files lies.
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

    /// Where a span of these files' tokens starts.
    pub fn place_of(&self, span: Span) -> Place<'_> {
        self.place(span.byte_range().start)
    }

    /// The name, the whole text and the start of the file that holds an offset.
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
