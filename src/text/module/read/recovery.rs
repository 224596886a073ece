//! Error recovery: resumes reading after text that could not be read.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use core::ops::Range;

use super::{ModuleReader, Output, Part, directives};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::Feature;
use crate::text::lexer::Cursor;
use crate::text::mnemonic::{self, Depth};
use crate::text::reader::{Read, fail, missing_semicolon};

/// What is known of text that could not be read.
#[derive(Default)]
pub(super) struct Recovery {
    /// Set if a label of the open function could not be read.
    pub(super) lost_label: bool,
    /// Set if a bracket was found that may be meant as a brace.
    pub(super) lost_brace: bool,
    /// True if a function's body was ended by the head of another function.
    pub(super) broken: bool,
    /// True if an unclosed brace was found.
    unbalanced: bool,
    /// True if the last error extends to the end of the text.
    pub(super) cut_off: bool,
    /// End of the last line for which an unexpected token was reported.
    pub(super) rubbish: usize,
    /// End of the head of the last function that was found within another function.
    head_end: usize,
}

/// Returns true if unreadable text has a colon on its first line, which may be that of a label.
pub(super) fn has_label(text: &str) -> bool {
    text.split(['\n', ';']).next().is_some_and(|line| line.replace("::", "").contains(':'))
}

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    pub(super) fn no_end<T>(&self, opcode: usize) -> Read<T> {
        fail(Code::Syntax, self.mnemonic_at(opcode), "the text ends within this statement")
    }

    /// Moves the cursor past a statement that could not be read.
    pub(super) fn recover(&mut self, opcode: usize) {
        if self.cursor().at_end() {
            return;
        }
        self.cursor().seek(opcode);
        if self.cursor().at_word() || matches!(self.cursor().peek(), b'@') {
            // Whatever else is wrong with the statement, it has been reported already.
            let _ = self.skip_statement(opcode);
        } else if !matches!(self.cursor().peek(), b'{' | b'}' | b'.') {
            self.cursor().bump();
        }
    }

    /// Moves the cursor past the semicolon that ends a statement, without reading its operands.
    ///
    /// # Errors
    ///
    /// If the text or a scope ends, or a line begins another statement, before a semicolon is found.
    pub(super) fn skip_statement(&mut self, opcode: usize) -> Read<()> {
        let (mut braces, mut parentheses) = (0_usize, 0_isize);
        let mut end = self.cursor().at();
        loop {
            let start = self.cursor().at();
            self.cursor().skip_to_stop();
            let passed = &self.text()[start..self.reader.cursor.at()];
            if let Some(last) = passed.bytes().rposition(|byte| !byte.is_ascii_whitespace()) {
                end = start + last + 1;
            }
            parentheses +=
                passed.bytes().fold(0, |open, byte| open + isize::from(byte == b'(') - isize::from(byte == b')'));
            match self.cursor().peek() {
                _ if self.cursor().at_end() => return self.no_end(opcode),
                b';' => {
                    self.cursor().bump();
                    return Ok(());
                }
                b'{' => braces += 1,
                b'}' if braces == 0 && !self.is_stray_brace(end) => {
                    return missing_semicolon(self.text(), end, self.reader.cursor.token());
                }
                b'}' => {
                    braces = braces.saturating_sub(1);
                    end = self.cursor().at() + 1;
                }
                b'"' if self.cursor().skip_string() => continue,
                b'"' => return self.no_end(opcode),
                b'\n' => {
                    let mut next = self.reader.cursor;
                    next.skip_blanks();
                    if let Some(token) = self.next_statement(next, opcode, end, braces > 0 || parentheses > 0) {
                        self.reader.cursor = next;
                        return missing_semicolon(self.text(), end, token);
                    }
                    // Line ends that follow each other need one answer only.
                    self.reader.cursor = next;
                    continue;
                }
                b'/' => {
                    let at = self.cursor().at();
                    self.cursor().skip_blanks();
                    if self.cursor().at() > at {
                        // The loop handles the end of the line.
                        let passed = &self.text()[at..self.reader.cursor.at()];
                        let line_end = passed.rfind('\n').map_or(self.reader.cursor.at(), |line_end| at + line_end);
                        self.cursor().seek(line_end);
                        continue;
                    }
                }
                _ => {}
            }
            self.cursor().bump();
        }
    }

    /// Returns true if the brace at the cursor closes nothing, because the statement, whose last character is before
    /// `end`, continues around it, as in `add.u32 a, }b;`, `add.u32 a}, b;` and `add.u32 %a} %b;`.
    fn is_stray_brace(&self, end: usize) -> bool {
        let behind = self.text()[self.reader.cursor.at() + 1..].trim_start_matches([' ', '\t']);
        self.text()[..end].ends_with([',', '[', '(']) || behind.starts_with([',', ';', ']', ')', '%'])
    }

    /// Returns the first token after a line end, at `next`, if it begins a new statement, although the previous one, whose last
    /// character is before `end`, has no semicolon. In a vector or list, only a mnemonic with a modifier begins one.
    fn next_statement(&self, next: Cursor<'a>, opcode: usize, end: usize, in_list: bool) -> Option<Range<usize>> {
        let token = next.token();
        if self.has_mnemonic(next) {
            return Some(token);
        }
        let mut operands = self.reader.cursor;
        operands.seek(end);
        if in_list || !operands.is_behind_value() {
            return None;
        }
        operands.seek(opcode);
        let word = operands.dotted_word();
        operands.skip_blanks();
        let is_whole = || mnemonic::form(self.reader.table, word).is_some_and(|form| form.operands().is_empty());
        if operands.at_dot_word() || operands.at() >= end && !is_whole() {
            return None;
        }
        // A short word after a dot may be a vector element or a selector.
        let directive = next.at_dot_word()
            && token.len() > 3
            && !self.text()[token.clone()].ends_with(|c: char| c.is_ascii_digit());
        (next.at_word() || directive || matches!(next.peek(), b'@' | b'{')).then_some(token)
    }

    /// Returns true if a statement or a declaration of a function's body is at the cursor, where the head of a function goes
    /// on or its body begins.
    pub(super) fn body_follows(&self, kernel: bool) -> bool {
        let (table, mut cursor) = (self.reader.table, self.reader.cursor);
        if cursor.at_dot_word() {
            let name = cursor.dot_word();
            let inside = directives::begins_item(table, name) && !directives::stands_outside(table, name);
            let removed = |name| table.declared(name).next().and_then(|declared| declared.floor.removed);
            // Where registers are declared outside of functions as well, they may follow a prototype.
            let registers =
                || removed(Feature::ModuleRegisters.name()).is_some_and(|removed| self.is_from(removed.ptx));
            return inside && (kernel || name == "loc" || name == "reg" && registers());
        }
        // A line of debug information begins with two of them.
        if cursor.peek() == b'@' && cursor.peek_at(1) != b'@' {
            return true;
        }
        let has_opcode = cursor.at_word() && table.instruction_of(cursor.dotted_word()).is_some();
        let mut label = self.reader.cursor;
        has_opcode
            || label.at_word() && {
                label.word();
                label.skip_blanks();
                label.peek() == b':'
            }
    }

    /// Returns true if a valid mnemonic with a modifier is at the cursor. A word without modifiers may be a name.
    fn has_mnemonic(&self, cursor: Cursor<'a>) -> bool {
        let (table, mut start) = (self.reader.table, cursor);
        cursor.at_word() && {
            let mut end = cursor;
            let word = end.dotted_word();
            word.contains('.')
                && (table.form(word).is_some() || mnemonic::read(table, &mut start, Depth::Verdict).is_ok())
        }
    }

    /// Returns true if the cursor is at the first token of a line that begins after `start`, and this token begins a
    /// statement or a directive.
    pub(super) fn line_begins_item(&self, start: usize) -> bool {
        let at = self.reader.cursor.at();
        let Some(end) = self.text().as_bytes()[start..at].iter().rposition(|byte| *byte == b'\n') else { return false };
        let line = start + end + 1;
        let mut first = self.reader.cursor;
        first.seek(line);
        first.skip_blanks();
        let directive = |mut cursor: Cursor<'a>| {
            cursor.at_dot_word() && {
                let name = cursor.dot_word();
                directives::begins_item(self.reader.table, name) || self.reader.table.directive(name).is_some()
            }
        };
        first.at() == at && (self.has_mnemonic(first) || directive(first) || first.peek() == b'@')
    }

    /// Rewrites an error that was found where the next statement begins: the statement before it is incomplete.
    pub(super) fn unfinished(&self, error: &mut Diagnostic) {
        let next = self.reader.cursor.token();
        // A missing semicolon is already reported as such.
        if error.span.start < next.start || !error.fixes.is_empty() && error.span == next {
            return;
        }
        let expected = if error.span == next { &*error.message } else { "an operand is expected here" };
        let message = format!("the statement before this is not finished: {expected}");
        *error = Diagnostic::error(Code::Syntax, next, message);
    }

    /// Checks that no kernel or function body begins within another function. If one does, the open body lacks its `}`
    /// and is ended here.
    pub(super) fn not_within_another(&mut self, span: &Range<usize>, kernel: bool) {
        if self.blocks.open == 0 || self.bare {
            return;
        }
        let mut ahead = self.reader.cursor;
        // The end of the head is cached: several heads without an end would each be searched to the same place.
        if self.recovery.head_end < ahead.at() {
            ahead.find(|byte| matches!(byte, b'{' | b'}' | b';'));
            self.recovery.head_end = ahead.at();
        }
        ahead.seek(self.recovery.head_end);
        let body = (!ahead.at_end() && ahead.peek() == b'{').then(|| ahead.at()..ahead.at() + 1);
        if let Some(place) = if kernel { Some(span.clone()) } else { body } {
            if !self.recovery.lost_brace {
                let before = if kernel { "this kernel" } else { "this function's body" };
                let error = self.missing_brace(place, before);
                self.out.part(Part::Finding(Box::new(error)));
                self.recovery.broken = true;
            }
            self.blocks.too_deep = 0;
            self.recovery.lost_label = false;
            let (blocks, name) = (core::mem::take(&mut self.blocks.open), self.blocks.function.take());
            let at = self.cursor().at();
            self.out.part(Part::FunctionCut { at, blocks, name });
        }
    }

    pub(super) fn missing_brace(&self, place: Range<usize>, before: &str) -> Diagnostic {
        let open = match self.blocks.function {
            Some(name) => format!("the body of `{name}` is still open"),
            None => "a block is still open".to_owned(),
        };
        Diagnostic::error(Code::Syntax, place, format!("missing `}}` before {before}: {open}"))
    }

    /// Skips to the next directive that rarely occurs within functions. Only the first of the statements in between is
    /// reported.
    pub(super) fn skip_to_item(&mut self) {
        loop {
            self.cursor().skip_blanks();
            if self.cursor().at_end() {
                return;
            }
            if self.cursor().at_dot_word() {
                let mut ahead = self.reader.cursor;
                let name = ahead.dot_word();
                if directives::stands_outside(self.reader.table, name) {
                    return;
                }
                self.reader.cursor = ahead;
            } else if self.cursor().peek() == b'{' {
                self.skip_block();
            } else if self.cursor().at_word() {
                self.cursor().dotted_word();
            } else if self.cursor().peek() != b'"' || !self.cursor().skip_string() {
                self.cursor().bump();
            }
        }
    }

    /// Skips a block, or only its brace if it is not closed.
    fn skip_block(&mut self) {
        self.cursor().bump();
        let inside = self.reader.cursor;
        if !self.recovery.unbalanced && self.skip_braces(0..0).is_err() {
            self.recovery.unbalanced = true;
            self.reader.cursor = inside;
        }
    }

    /// Moves the cursor past the brace that closes the one just passed.
    pub(super) fn skip_braces(&mut self, span: Range<usize>) -> Read<()> {
        let mut open = 1;
        while open > 0 {
            match self.cursor().find(|byte| matches!(byte, b'{' | b'}')) {
                Some(b'{') => open += 1,
                Some(_) => open -= 1,
                None => return fail(Code::Syntax, span, "the text ends within this"),
            }
            self.cursor().bump();
        }
        Ok(())
    }

    /// Skips a directive that is not read any further, up to and including its semicolon or block.
    pub(super) fn skip_directive(&mut self, span: Range<usize>) -> Read<()> {
        loop {
            let found = self.cursor().find(|byte| matches!(byte, b';' | b'{' | b'}'));
            match found {
                Some(b'}') => return fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this"),
                Some(_) => self.cursor().bump(),
                None => return fail(Code::Syntax, span, "the text ends within this"),
            }
            match found {
                Some(b'{') => self.skip_braces(span.clone())?,
                _ => return Ok(()),
            }
        }
    }
}
