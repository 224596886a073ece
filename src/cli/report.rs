//! Findings as a terminal shows them: source, caret, note and help.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use ptx_isa::diagnostic::{Diagnostic, LineIndex, Severity};

/// Of a longer line only the part around the finding is shown.
const LONGEST_LINE: usize = 400;

/// Of a longer name in a message only the two ends are shown, as the source is: a character of a report takes dozens of bytes.
const LONGEST_NAME: usize = 200;

/// Writes one finding about a text, styled; the stream drops styles where they are not wanted.
pub(super) fn write(
    out: &mut impl Write,
    file: &str,
    text: &[u8],
    lines: &LineIndex<'_>,
    finding: &Diagnostic,
) -> io::Result<()> {
    let shown = shown(text, &finding.span);
    // Invalid UTF-8 is shown as replacement characters; the caret counts characters as shown.
    let part = |range: Range<usize>| String::from_utf8_lossy(&text[range]);
    let before = part(shown.start..finding.span.start);
    let marked = brief(&part(finding.span.clone())).into_owned();
    let source = format!("{before}{marked}{}", part(finding.span.end..shown.end));
    let position = lines.position(finding.span.start);
    // The snippet of a part of a line counts columns from where the part begins.
    let cut = shown.start > 0 && text[shown.start - 1] != b'\n';
    let origin = cut.then(|| Origin::path(file).line(position.line).char_column(position.column));
    let snippet = Snippet::source(&source)
        .path((!cut).then_some(file))
        .line_start(position.line)
        .annotation(AnnotationKind::Primary.span(before.len()..before.len() + marked.len()));
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(brief(&finding.message)).id(finding.code.as_str());
    let mut group: Group<'_> = title.elements(origin).element(snippet);
    if let Some(note) = &finding.note {
        group = group.element(Level::NOTE.message(brief(note)));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(brief(help)));
    }
    writeln!(out, "{}\n", Renderer::styled().render(&[group]))
}

/// A message without the middles of long names.
fn brief(message: &str) -> Cow<'_, str> {
    if message.len() <= LONGEST_NAME {
        return message.into();
    }
    let words = message.split_inclusive([' ', '\n']).map(|word| match word.len() {
        0..=LONGEST_NAME => Cow::from(word),
        length => {
            let (head, tail) =
                (word.floor_char_boundary(LONGEST_NAME / 2), word.ceil_char_boundary(length - LONGEST_NAME / 2));
            format!("{}…{}", &word[..head], &word[tail..]).into()
        }
    });
    words.collect::<String>().into()
}

/// The lines that a finding touches, or the part around it where they are huge.
fn shown(text: &[u8], span: &Range<usize>) -> Range<usize> {
    let is_end = |byte: &u8| *byte == b'\n';
    let (first, last) = (span.start.saturating_sub(LONGEST_LINE), text.len().min(span.end + LONGEST_LINE));
    let start = text[first..span.start].iter().rposition(is_end).map_or(first, |at| first + at + 1);
    let end = text[span.end..last].iter().position(is_end).map_or(last, |at| span.end + at);
    start..end
}
