//! Writer of Rust source: lines, blocks, doc comments and lists of numbers.

use std::fmt::{Display, Write};

/// Maximum line width of lists.
const WIDTH: usize = 120;

/// Source text under construction.
#[derive(Default)]
pub(super) struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// Returns the text.
    pub(super) fn finish(self) -> String {
        debug_assert_eq!(self.depth, 0, "every block is closed");
        self.text
    }

    /// Writes a line.
    pub(super) fn line(&mut self, text: impl Display) {
        self.write(&text);
    }

    fn write(&mut self, text: &dyn Display) {
        let indent = 4 * self.depth;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    /// Writes an empty line.
    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Writes a line that ends in an opening bracket, its indented content and the closing bracket.
    pub(super) fn block(&mut self, opening: impl Display, closing: &str, inside: impl FnOnce(&mut Code)) {
        self.open(&opening);
        inside(self);
        self.close(closing);
    }

    fn open(&mut self, opening: &dyn Display) {
        self.write(opening);
        self.depth += 1;
    }

    fn close(&mut self, closing: &str) {
        self.depth -= 1;
        self.write(&closing);
    }

    /// `head { … }`
    pub(super) fn braces(&mut self, head: impl Display, inside: impl FnOnce(&mut Code)) {
        self.block(format_args!("{head} {{"), "}", inside);
    }

    /// Writes a doc comment.
    pub(super) fn docs(&mut self, text: &str) {
        for line in text.lines() {
            self.line(if line.is_empty() { "///".to_owned() } else { format!("/// {line}") });
        }
    }

    /// Writes a `#[doc(alias)]`.
    pub(super) fn alias(&mut self, name: &str) {
        self.line(format_args!("#[doc(alias = {name:?})]"));
    }

    /// Writes comma-separated items, filling lines.
    pub(super) fn list<T: Display>(&mut self, items: impl IntoIterator<Item = T>) {
        self.wrapped(&mut items.into_iter().map(|item| item.to_string()));
    }

    fn wrapped(&mut self, items: &mut dyn Iterator<Item = String>) {
        let mut line = String::new();
        for item in items {
            let before = line.len();
            let _ = write!(line, "{}{item},", if before == 0 { "" } else { " " });
            if before > 0 && line.len() + 4 * self.depth > WIDTH {
                let item = line.split_off(before);
                self.line(&line);
                line = item.trim_start().to_owned();
            }
        }
        if !line.is_empty() {
            self.line(line);
        }
    }
}
