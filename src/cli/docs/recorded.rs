//! How it is known what forms compute: files that tests replay and write say so.

use std::collections::HashMap;

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use serde::Serialize;

use crate::cli::names::forms_of;

/// Contents of a file of recorded results, and of a file of independently tested forms.
#[derive(Default)]
pub(super) struct Recorded {
    /// How results were recorded: the last line of the file's head.
    by: String,
    /// By the numbers of forms the ways in which they are known.
    ways: HashMap<usize, u8>,
}

/// How the results of an opcode's forms are known.
#[derive(Serialize)]
pub(super) struct Part {
    by: String,
    /// A digit for each form, in the table's order: the sum of 1 where the assembler folded results, 2 where machine code was
    /// interpreted, and 4 where a test holds the form to a reading of its own.
    ways: String,
}

impl Recorded {
    /// Recorded results: lines of a form's name, an SM number, results, and letters for how these are known, behind a head of
    /// comments.
    pub(super) fn results(&mut self, text: &str) {
        let head = text.lines().take_while(|line| line.starts_with('#'));
        self.by = head.last().map_or("", |line| line.trim_start_matches('#').trim()).to_owned();
        let forms: HashMap<String, FormInfo> = TABLE.forms().map(|form| (form.name(), form)).collect();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.split(' ');
            let form = parts.next().and_then(|name| forms.get(name));
            if let (Some(form), Some(letters)) = (form, parts.nth(2)) {
                let has = |letter| u8::from(letters.contains(letter));
                *self.ways.entry(form.index()).or_default() |= has('f') + 2 * has('i');
            }
        }
    }

    /// Reads the list of tested forms. Each line has a test, an opcode, and a digit for each form of the opcode: 1 if
    /// the test checks the form against an independent implementation.
    pub(super) fn held(&mut self, text: &str) {
        for line in text.lines() {
            let mut parts = line.split(' ').skip(1);
            let (Some(opcode), Some(digits)) = (parts.next(), parts.next()) else { continue };
            for (form, _) in forms_of(opcode).zip(digits.bytes()).filter(|(_, digit)| *digit == b'1') {
                *self.ways.entry(form.index()).or_default() |= 4;
            }
        }
    }

    pub(super) fn part(&self, opcode: &str) -> Part {
        let digit = |form: FormInfo| char::from(b'0' + self.ways.get(&form.index()).unwrap_or(&0));
        Part { by: self.by.clone(), ways: forms_of(opcode).map(digit).collect() }
    }
}
