//! The findings of a module on their way to the visitor.
//!
//! They are held back until the end of their function, because later text may explain them, or may have findings that
//! precede them in text order.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Item, Proceed, Visitor};
use crate::diagnostic::{Code, Diagnostic};
use crate::text::lexer::Cursor;
use crate::text::reader::Read;
use crate::text::statement::Statement;

/// Maximum number of findings that are held back.
const MOST_WAITING: usize = 1000;

/// Hands findings and items to a visitor.
pub(super) struct Findings<'o, 'a> {
    text: &'a str,
    visitor: &'o mut dyn Visitor<'a>,
    pub(super) waiting: Vec<Diagnostic>,
    /// True if findings are only counted: suggestions are not searched for.
    pub(super) brief: bool,
    /// True once the visitor has stopped the reading.
    pub(super) stopped: bool,
    /// Index of the first finding of the current part.
    first: usize,
    /// True if the current part was refused: the finding at that index is all that is reported of it.
    refused: bool,
    /// True if the last part that was refused extends to the end of the text.
    pub(super) cut_off: bool,
    unread: Unread<'a>,
}

/// Text whose declarations are not known, as it could not be read.
#[derive(Default)]
struct Unread<'a> {
    /// Such text since findings were last handed on.
    ranges: Vec<Range<usize>>,
    /// Names in all such text, without trailing digits.
    names: BTreeSet<&'a str>,
    /// Start of a register declaration in the open function whose names could not be read.
    nameless: Option<usize>,
    /// Text after such declarations, up to the end of the function.
    behind_nameless: Vec<Range<usize>>,
}

impl<'o, 'a> Findings<'o, 'a> {
    pub(super) fn new(text: &'a str, visitor: &'o mut dyn Visitor<'a>) -> Self {
        let (waiting, unread) = (Vec::new(), Unread::default());
        let (brief, stopped, first, refused, cut_off) = (false, false, 0, false, false);
        Findings { text, visitor, waiting, brief, stopped, first, refused, cut_off, unread }
    }

    /// Passes a part that was not refused to the visitor.
    #[inline]
    pub(super) fn item(&mut self, item: Item<'_, 'a>, span: Range<usize>) {
        if !self.refused {
            self.visitor.item(item, span);
        }
    }

    /// Passes a refused statement to the visitor, as far as it was read.
    pub(super) fn refused(&mut self, statement: Option<&Statement<'a>>, span: Range<usize>) {
        self.visitor.item(Item::Refused(statement), span);
    }

    /// A part begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        (self.first, self.refused) = (self.waiting.len(), false);
    }

    /// Returns true if something was found in the current part.
    pub(super) fn has_some(&self) -> bool {
        self.waiting.len() > self.first
    }

    /// Refuses the current part for the first reason that is given.
    #[cold]
    pub(super) fn refuse(&mut self, error: Option<Diagnostic>) {
        if !core::mem::replace(&mut self.refused, true) {
            self.waiting.truncate(self.first);
            self.waiting.extend(error);
        }
    }

    /// Refuses the current part if it was judged so.
    #[inline]
    pub(super) fn verdict(&mut self, judged: Read<()>) {
        if let Err(error) = judged {
            self.refuse(Some(*error));
        }
    }

    /// The current statement ends: what was found in it is about it.
    #[inline]
    pub(super) fn statement_ends(&mut self, span: &Range<usize>) {
        for finding in self.waiting.iter_mut().skip(self.first) {
            finding.statement = Some(span.clone());
        }
    }

    /// The current part ends.
    #[inline]
    pub(super) fn end(&mut self, end: usize) {
        if core::mem::take(&mut self.refused) {
            self.waiting.truncate(self.first + 1);
            self.cut_off = end == self.text.len();
        }
    }

    #[cold]
    pub(super) fn error(&mut self, code: Code, span: Range<usize>, message: impl Into<String>) {
        self.waiting.push(Diagnostic::error(code, span, message));
    }

    /// Keeps an error that is not reason enough to stop the judgment of its part.
    pub(super) fn note(&mut self, judged: Read<()>) {
        if let Err(error) = judged {
            self.waiting.push(*error);
        }
    }

    /// Reports a warning if the spec notes that the assembler accepts this (`note`), and an error otherwise.
    pub(super) fn lenient(
        &mut self,
        note: Option<&'static str>,
        code: Code,
        span: Range<usize>,
        message: &str,
    ) -> Read<()> {
        self.tolerated(note, Diagnostic::error(code, span, message))
    }

    /// Like [`lenient`](Self::lenient), for a complete finding.
    pub(super) fn tolerated(&mut self, note: Option<&'static str>, finding: Diagnostic) -> Read<()> {
        self.waiting.push(finding.tolerated(note)?);
        Ok(())
    }

    /// Records text that could not be read.
    pub(super) fn unread(&mut self, range: Range<usize>) {
        self.unread.ranges.push(range);
    }

    /// Records the start of a declaration in a function whose names could not be read.
    pub(super) fn without_names(&mut self, start: usize) {
        self.unread.nameless.get_or_insert(start);
    }

    /// Ends the function that such a declaration is in.
    pub(super) fn function_ends(&mut self, end: usize) {
        if let Some(start) = self.unread.nameless.take() {
            self.unread.behind_nameless.push(start..end);
        }
    }

    /// Hands findings on early if too many are held back.
    #[inline]
    pub(super) fn make_room(&mut self) {
        if self.waiting.len() >= MOST_WAITING {
            self.hand_on();
        }
    }

    /// Hands on the findings of the text read so far.
    pub(super) fn hand_on(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        self.drop_consequences();
        self.first = 0;
        self.waiting.sort_by_key(|finding| finding.span.start);
        for finding in self.waiting.drain(..) {
            match self.visitor.finding(finding) {
                Proceed::Explain => self.brief = false,
                Proceed::Count => self.brief = true,
                Proceed::Stop => {
                    self.stopped = true;
                    break;
                }
            }
        }
    }

    /// Drops findings about undeclared names that occur in unread text, which may contain their declarations.
    fn drop_consequences(&mut self) {
        let (text, Unread { ranges, names, nameless, behind_nameless }) = (self.text, &mut self.unread);
        for unread in core::mem::take(ranges) {
            let mut cursor = Cursor::new(text);
            cursor.seek(unread.start);
            while cursor.at() < unread.end {
                match cursor.at_word() {
                    true => drop(names.insert(stem(cursor.word()))),
                    false if cursor.at_aside() && cursor.skip_comment() => {}
                    false => cursor.bump(),
                }
            }
        }
        let behind = core::mem::take(behind_nameless);
        if names.is_empty() && behind.is_empty() && nameless.is_none() {
            return;
        }
        // The ranges are in text order.
        let unknown = |at: usize| {
            let before = behind.partition_point(|range| range.start <= at);
            behind[..before].last().is_some_and(|range| at < range.end) || nameless.is_some_and(|start| start <= at)
        };
        let follows = |finding: &Diagnostic| {
            matches!(finding.code, Code::UndeclaredRegister | Code::Guard)
                && (names.contains(stem(&text[finding.span.clone()])) || unknown(finding.span.start))
        };
        self.waiting.retain(|finding| !follows(finding));
    }
}

/// Removes the trailing digits of a name, so that all members of a register family have the same stem.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}
