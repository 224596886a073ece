//! Formatting: indents statements by their depth, puts labels at the margin, and aligns operands in one column, as
//! compilers do. Only whitespace changes.

use std::ops::Range;

use lsp_types::TextEdit;

use super::documents::Document;

/// The column in which operands begin, counted from the mnemonic, where it is shorter.
const OPERANDS: usize = 16;

/// The edits that lay out the lines of a document.
pub(super) fn edits(document: &Document) -> Vec<TextEdit> {
    let text = &document.text;
    let mut edits = Vec::new();
    let mut edit = |span: Range<usize>, new: &str| {
        if text[span.clone()] != *new {
            edits.push(TextEdit { range: document.range(&span), new_text: new.to_owned() });
        }
    };
    let mut depth = 0_usize;
    let mut state = State::Code;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let trimmed = content.trim();
        let begins_within = state != State::Code;
        let (opened, closed) = state.braces(content);
        if !begins_within {
            let first = start + (content.len() - content.trim_start().len());
            let own = if trimmed.starts_with('}') { depth.saturating_sub(1) } else { depth };
            let indent = if trimmed.is_empty() || is_label(trimmed) { String::new() } else { "\t".repeat(own) };
            edit(start..first, &indent);
            if let Some(blanks) = blanks_before_operands(document, first, start + content.len()) {
                let written = blanks.start - first;
                edit(blanks, &" ".repeat(OPERANDS.saturating_sub(written).max(1)));
            }
        }
        // Blanks at the end of a line that is all in a comment or string belong to it.
        if state == State::Code && !trimmed.is_empty() {
            edit(start + content.trim_end().len()..start + content.len(), "");
        }
        depth = (depth + opened).saturating_sub(closed);
        start += line.len();
    }
    edits
}

fn is_label(line: &str) -> bool {
    let name =
        line.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '%'));
    name.len() < line.len() && name.trim_start().starts_with(':') && !name.trim_start().starts_with("::")
}

/// Returns the range of whitespace between the mnemonic and the operands of the statement that begins a line, if the
/// operands are on that line.
fn blanks_before_operands(document: &Document, first: usize, end: usize) -> Option<Range<usize>> {
    let part = document.index.part_at(first + 1).filter(|part| part.span.start == first)?;
    let mnemonic = part.mnemonic.clone()?;
    let rest = document.text.get(mnemonic.end..end.min(part.span.end))?;
    let behind = rest.trim_start_matches([' ', '\t']);
    let starts = behind.chars().next().is_some_and(|letter| !matches!(letter, ';' | '/'));
    starts.then(|| mnemonic.end..mnemonic.end + rest.len() - behind.len()).filter(|blanks| !blanks.is_empty())
}

/// Lexical state at the beginning of a line.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    Comment,
    String,
}

impl State {
    /// Reads a line. Returns the number of braces that it opens and closes.
    fn braces(&mut self, line: &str) -> (usize, usize) {
        let (mut opened, mut closed) = (0, 0);
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            match (*self, letter) {
                (State::Code, '/') if letters.peek() == Some(&'/') => break,
                (State::Code, '/') if letters.peek() == Some(&'*') => {
                    letters.next();
                    *self = State::Comment;
                }
                (State::Comment, '*') if letters.peek() == Some(&'/') => {
                    letters.next();
                    *self = State::Code;
                }
                (State::Code, '"') => *self = State::String,
                (State::String, '\\') => drop(letters.next()),
                (State::String, '"') => *self = State::Code,
                (State::Code, '{') => opened += 1,
                (State::Code, '}') => closed += 1,
                _ => {}
            }
        }
        (opened, closed)
    }
}
