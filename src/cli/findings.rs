//! Findings as tools read them: JSON, an object a line, and annotations of GitHub's workflows.

use std::cell::OnceCell;
use std::io::{self, Write};

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Diagnostic, LineIndex, Position, Severity};
use ptx_isa::text::mnemonic;
use serde::Serialize;

/// A text that was read.
pub(super) struct Source<'a> {
    pub name: &'a str,
    pub text: &'a [u8],
    lines: OnceCell<LineIndex<'a>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(name: &'a str, text: &'a [u8]) -> Source<'a> {
        Source { name, text, lines: OnceCell::new() }
    }

    /// Index of its lines, built on first use: only a text with findings needs it.
    pub(super) fn lines(&self) -> &LineIndex<'a> {
        self.lines.get_or_init(|| LineIndex::new(self.text))
    }
}

#[derive(Serialize)]
struct Finding<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    end: End,
    severity: &'a str,
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    bytes: [usize; 2],
    utf16: [usize; 2],
    #[serde(flatten)]
    subject: Option<Subject>,
    fixes: Vec<Fix<'a>>,
}

#[derive(Serialize)]
struct End {
    line: usize,
    column: usize,
}

#[derive(Serialize)]
struct Fix<'a> {
    bytes: [usize; 2],
    text: &'a str,
    safe: bool,
}

impl<'a> Fix<'a> {
    fn new(fix: &'a ptx_isa::diagnostic::Fix) -> Fix<'a> {
        Fix { bytes: [fix.span.start, fix.span.end], text: &fix.text, safe: fix.safe }
    }
}

/// Subject of a finding.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Subject {
    Form(&'static str),
    Opcode(&'static str),
}

impl Subject {
    fn of(source: &Source<'_>, finding: &Diagnostic) -> Option<Subject> {
        let mnemonic = mnemonic_of(source.text.get(finding.statement.clone()?)?)?;
        if let Some(form) = mnemonic::form(&TABLE, mnemonic) {
            return Some(Subject::Form(form.mnemonic()));
        }
        mnemonic::instruction(&TABLE, mnemonic).map(|instruction| Subject::Opcode(instruction.opcode))
    }
}

/// The mnemonic of a statement, of which no more is read than it takes: each of its findings asks.
fn mnemonic_of(statement: &[u8]) -> Option<&str> {
    let mut length = 256;
    loop {
        let head = &statement[..statement.len().min(length)];
        let text = match std::str::from_utf8(head) {
            Ok(text) => text,
            // A letter is cut off.
            Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
            Err(_) => return None,
        };
        match mnemonic::place(text) {
            Some(place) if !text[place.end..].trim_start().is_empty() => return Some(&text[place]),
            place if length >= statement.len() => return Some(&text[place?]),
            _ => length *= 4,
        }
    }
}

pub(super) fn json(out: &mut impl Write, source: &Source<'_>, finding: &Diagnostic) -> io::Result<()> {
    let Diagnostic { code, severity, span, message, help, note, fixes, .. } = finding;
    let utf16 = |offset| source.lines().utf16_position(offset).column;
    let (start, Position { line, column }) = (source.lines().position(span.start), source.lines().position(span.end));
    let finding = Finding {
        file: source.name,
        line: start.line,
        column: start.column,
        end: End { line, column },
        severity: severity.as_str(),
        code: code.as_str(),
        message,
        help: help.as_deref(),
        note: note.as_deref(),
        bytes: [span.start, span.end],
        utf16: [utf16(span.start), utf16(span.end)],
        subject: Subject::of(source, finding),
        fixes: fixes.iter().map(Fix::new).collect(),
    };
    serde_json::to_writer(&mut *out, &finding)?;
    writeln!(out)
}

/// The message with the note and the help behind it, a line each.
pub(super) fn in_full(finding: &Diagnostic) -> String {
    let more = [("note", &finding.note), ("help", &finding.help)];
    let more = more.into_iter().filter_map(|(title, text)| Some(format!("\n{title}: {}", text.as_ref()?)));
    more.fold(finding.message.clone(), |text, line| text + &line)
}

/// `::error file=k.ptx,line=12,…::message`
pub(super) fn github(out: &mut impl Write, source: &Source<'_>, finding: &Diagnostic) -> io::Result<()> {
    // Escapes line ends, and in a property also the separators of properties.
    let value = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| value(text).replace(':', "%3A").replace(',', "%2C");
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let (start, end) = (source.lines().position(finding.span.start), source.lines().position(finding.span.end));
    let place = match start.line == end.line {
        true => format!("line={},col={},endColumn={}", start.line, start.column, end.column),
        // Columns are for findings on one line only.
        false => format!("line={},endLine={}", start.line, end.line),
    };
    let (file, message) = (property(source.name), value(&in_full(finding)));
    writeln!(out, "::{level} file={file},{place},title={}::{message}", finding.code)
}
