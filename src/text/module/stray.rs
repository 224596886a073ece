//! Reads lines and tokens that belong to no statement: debug information, line markers, backslashes and rubbish.

use alloc::format;

use super::Checker;
use super::recovery::has_label;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::Feature;

impl Checker<'_, '_> {
    /// Skips a line of debug information; only the first one is reported.
    pub(super) fn dwarf_line(&mut self) {
        let start = self.cursor().at();
        self.cursor().skip_line();
        if !core::mem::replace(&mut self.dwarf, true) {
            self.judge.feature(Feature::DwarfLines, "a line of debug information", start..start + 2);
        }
    }

    /// Reports a linkage directive that no declaration follows.
    pub(super) fn linkage_alone(&mut self) {
        if self.begun.is_some() && !self.cursor().at_dot_word() {
            self.begun = None;
            let token = self.reader.cursor.token();
            self.judge.findings.error(
                Code::Syntax,
                token,
                "a function or a variable is expected here, behind its linkage",
            );
        }
    }

    /// Skips a line marker: `# 3 "file"` names the origin of the text.
    pub(super) fn line_marker(&mut self) {
        let start = self.cursor().at();
        self.cursor().bump();
        self.cursor().skip_blanks();
        if !self.cursor().at_digit() {
            self.judge.findings.error(Code::Syntax, start..start + 1, "`#` is followed by a line number");
        }
        self.cursor().skip_line();
    }

    /// The assembler ignores a backslash in front of an instruction, and only there.
    pub(super) fn backslash(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        self.cursor().skip_blanks();
        let instruction = self.cursor().at_word() || self.cursor().peek() == b'@';
        if !instruction || self.judge.names.scopes.depth() == 0 && !self.judge.bare {
            self.judge.findings.error(Code::Syntax, at..at + 1, "a statement is expected here, not `\\`");
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
            return self.judge.findings.waiting.push(error.with_safe_fix(token, ""));
        }
        // A bracket may be meant as a brace.
        self.lost_brace |= matches!(self.cursor().peek(), b'(' | b')' | b'[' | b']');
        // Stop at any character that may begin a statement.
        self.cursor().bump();
        while !self.cursor().at_end()
            && !self.cursor().at_word()
            && !matches!(self.cursor().peek(), b'.' | b'@' | b';' | b'{' | b'}' | b'\n')
        {
            self.cursor().bump();
        }
        self.cut_off = self.cursor().at_end();
        self.lost_label |= has_label(&self.text()[token.start..self.reader.cursor.at()]);
        if token.start >= self.rubbish {
            let rest = &self.text().as_bytes()[token.start..];
            self.rubbish = token.start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let found = self.text()[token.clone()].escape_debug();
            let message = format!("a statement is expected here, not `{found}`");
            self.judge.findings.error(Code::Syntax, token, message);
        }
    }
}
