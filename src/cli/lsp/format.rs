//! Formatting: indents statements by their depth, puts labels at the margin, aligns operands in one column, as compilers
//! do, and writes one blank behind each comma. Only whitespace changes.

use std::ops::Range;

use lsp_types::{FormattingOptions, TextEdit};

use super::documents::Document;

/// The column in which operands begin, counted from the mnemonic, where it is shorter.
const OPERANDS: usize = 16;

const BLANKS: [char; 2] = [' ', '\t'];

/// The edits that lay out the lines of a document.
pub(super) fn edits(document: &Document, options: &FormattingOptions) -> Vec<TextEdit> {
    let text = &document.text;
    let level = if options.insert_spaces { " ".repeat(options.tab_size as usize) } else { "\t".to_owned() };
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
            let indent = if trimmed.is_empty() || is_label(trimmed) { String::new() } else { level.repeat(own) };
            edit(start..first, &indent);
            if let Some(operands) = operands(document, first, start + content.len()) {
                let blanks = operands.start..operands.end - text[operands.clone()].trim_start_matches(BLANKS).len();
                let written = blanks.start - first;
                if !blanks.is_empty() {
                    edit(blanks.clone(), &" ".repeat(OPERANDS.saturating_sub(written).max(1)));
                }
                for (before, behind) in commas(text, blanks.end..operands.end) {
                    edit(before, "");
                    edit(behind, " ");
                }
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

/// Returns what the first line of the statement that begins at `first` has behind its mnemonic, blanks included, up to a semicolon,
/// a comment or `end`; `None` where it has no operands.
fn operands(document: &Document, first: usize, end: usize) -> Option<Range<usize>> {
    let part = document.index.part_at(first + 1).filter(|part| part.span.start == first)?;
    let start = part.mnemonic.clone()?.end;
    let line = document.text.get(start..end.min(part.span.end))?;
    let length = line.find([';', '/']).unwrap_or(line.len());
    (!line[..length].trim().is_empty()).then_some(start..start + length)
}

/// Returns the blanks before and behind each comma in a range of the text; none for a comma that ends it.
fn commas(text: &str, range: Range<usize>) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let found = text[range.clone()].match_indices(',').map(move |(at, _)| range.start + at);
    found.filter_map(move |comma| {
        let before = text[..comma].trim_end_matches(BLANKS).len()..comma;
        let rest = &text[comma + 1..range.end];
        let behind = comma + 1..range.end - rest.trim_start_matches(BLANKS).len();
        (behind.end < range.end).then_some((before, behind))
    })
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
