//! Open documents: their text as the client has it, and what the reader says of it.

use std::ops::Range;

use lsp_types::{Position, TextDocumentContentChangeEvent};
use ptx_isa::TABLE;
use ptx_isa::diagnostic::Diagnostic;
use ptx_isa::text::module::{Index, Proceed, Visitor};
use ptx_isa::text::{Options, Report};

use super::positions::{Encoding, Lines};

pub(super) struct Document {
    pub(super) text: String,
    pub(super) version: i32,
    pub(super) index: Index,
    pub(super) report: Report,
    lines: Lines,
    encoding: Encoding,
}

/// Maximum number of findings published for a document: nobody reads more, and editors become slow.
const MOST_FINDINGS: usize = 1000;

/// Keeps the first findings.
struct First(Vec<Diagnostic>);

impl Visitor<'_> for First {
    fn finding(&mut self, finding: Diagnostic) -> Proceed {
        if self.0.len() == MOST_FINDINGS {
            return Proceed::Count;
        }
        self.0.push(finding);
        Proceed::Explain
    }
}

/// Reads a text, and keeps at most [`MOST_FINDINGS`] findings.
fn read(text: &str) -> (Index, Report) {
    let mut first = First(Vec::new());
    let (index, report) = Index::visit(&TABLE, text, &Options::default(), &mut first);
    (index, Report { diagnostics: first.0, ..report })
}

impl Document {
    pub(super) fn new(text: String, version: i32, encoding: Encoding) -> Document {
        let (index, report) = read(&text);
        Document { lines: Lines::new(&text), text, version, index, report, encoding }
    }

    /// Makes changes, each to what the one before it left, and reads the text again.
    pub(super) fn change(&mut self, changes: Vec<TextDocumentContentChangeEvent>, version: i32) {
        for TextDocumentContentChangeEvent { range, text, .. } in changes {
            match range {
                Some(range) => {
                    let (start, end) = (self.offset(range.start), self.offset(range.end));
                    self.text.replace_range(start.min(end)..end.max(start), &text);
                }
                None => self.text = text,
            }
            self.lines = Lines::new(&self.text);
        }
        self.version = version;
        (self.index, self.report) = read(&self.text);
    }

    pub(super) fn offset(&self, position: Position) -> usize {
        self.lines.offset(&self.text, position, self.encoding)
    }

    pub(super) fn range(&self, span: &Range<usize>) -> lsp_types::Range {
        let position = |offset| self.lines.position(&self.text, offset, self.encoding);
        lsp_types::Range { start: position(span.start), end: position(span.end) }
    }

    /// A piece of the text with each run of blanks as one.
    pub(super) fn in_one_line(&self, span: &Range<usize>) -> String {
        self.text[span.clone()].split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
