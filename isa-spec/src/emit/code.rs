//! Rust as it is written: lines, blocks, descriptions, and lists of numbers.

use std::fmt::{Display, Write};

/// The columns that lists are broken at.
const WIDTH: usize = 120;

/// Text that is being written.
#[derive(Default)]
pub(super) struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// All that was written.
    pub(super) fn finish(self) -> String {
        debug_assert_eq!(self.depth, 0, "every block is closed");
        self.text
    }

    /// One line.
    pub(super) fn line(&mut self, text: impl Display) {
        self.write(&text);
    }

    fn write(&mut self, text: &dyn Display) {
        let indent = 4 * self.depth;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    /// An empty line.
    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line that ends in a bracket, and what stands between it and the closing one.
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

    /// A description.
    pub(super) fn docs(&mut self, text: &str) {
        for line in text.lines() {
            self.line(if line.is_empty() { "///".to_owned() } else { format!("/// {line}") });
        }
    }

    /// What else a search of the documentation finds it by.
    pub(super) fn alias(&mut self, name: &str) {
        self.line(format_args!("#[doc(alias = {name:?})]"));
    }

    /// Items of a list, each with a comma behind it, as many in a line as there is room for.
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
