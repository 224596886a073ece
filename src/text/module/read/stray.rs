//! Reads lines and tokens that belong to no statement: debug information, line markers, backslashes and rubbish.

use alloc::boxed::Box;
use alloc::format;

use super::directives::AFTER_LINKAGE;
use super::recovery::has_label;
use super::{ModuleReader, Output, Part};
use crate::diagnostic::{Code, Diagnostic};

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    /// Skips a line of debug information.
    pub(super) fn dwarf_line(&mut self) {
        let start = self.cursor().at();
        self.cursor().skip_line();
        self.out.part(Part::DebugLine(start));
    }

    /// Reports a linkage directive that no declaration follows.
    pub(super) fn linkage_alone(&mut self) {
        if self.begun.is_some() && !self.cursor().at_dot_word() {
            self.begun = None;
            let token = self.reader.cursor.token();
            self.error(Code::Syntax, token, AFTER_LINKAGE);
        }
    }

    /// Reports a line that begins like a line marker. Line markers, `# 3 "file"` or `#line 3 "file"`, are passed as comments are.
    pub(super) fn line_marker(&mut self) {
        let start = self.cursor().at();
        self.cursor().skip_line();
        let line = &self.text()[start..self.reader.cursor.at()];
        let words = line[1..].trim_start();
        let numbered = words.strip_prefix("line").unwrap_or(words).trim_start();
        let named = numbered.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let message = if named.len() == numbered.len() {
            "`#` is followed by a line number"
        } else if !named.trim_start().strip_prefix('"').is_some_and(|name| name.contains('"')) {
            "`#` is followed by a line number and a file name in quotes"
        } else if line.is_ascii() {
            "a line marker is `#`, a line number and a file name in quotes, on a line of its own"
        } else {
            // Strings are checked on their own.
            return;
        };
        self.error(Code::Syntax, start..start + 1, message);
    }

    /// The assembler ignores a backslash in front of an instruction, and only there.
    pub(super) fn backslash(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        self.cursor().skip_blanks();
        let instruction = self.cursor().at_word() || self.cursor().peek() == b'@';
        if !instruction || self.is_outside() {
            self.error(Code::Syntax, at..at + 1, "a statement is expected here, not `\\`");
        }
    }

    /// Reports text that cannot begin a statement, at most once per line.
    pub(super) fn rubbish(&mut self) {
        let token = self.cursor().token();
        let empty = self.cursor().peek() == b';';
        while empty && self.cursor().eat(b';') {
            self.cursor().skip_blanks();
        }
        if empty {
            let error = Diagnostic::error(Code::Syntax, token.clone(), "`;` without a statement");
            return self.out.part(Part::Finding(Box::new(error.with_safe_fix(token, ""))));
        }
        // A bracket may be meant as a brace.
        self.recovery.lost_brace |= matches!(self.cursor().peek(), b'(' | b')' | b'[' | b']');
        // Stop at any character that may begin a statement.
        self.cursor().bump();
        while !self.cursor().at_end()
            && !self.cursor().at_word()
            && !matches!(self.cursor().peek(), b'.' | b'@' | b';' | b'{' | b'}' | b'\n')
        {
            self.cursor().bump();
        }
        self.recovery.cut_off = self.cursor().at_end();
        self.recovery.lost_label |= has_label(&self.text()[token.start..self.reader.cursor.at()]);
        if token.start >= self.recovery.rubbish {
            let rest = &self.text().as_bytes()[token.start..];
            self.recovery.rubbish = token.start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let found = self.text()[token.clone()].escape_debug();
            let message = format!("a statement is expected here, not `{found}`");
            self.error(Code::Syntax, token, message);
        }
    }
}
