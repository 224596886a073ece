//! Which forms have results of a machine, and how these are known: the file of recorded results that the tests replay says so.

use std::collections::HashMap;

use ptx_isa::TABLE;
use serde::Serialize;

/// What a file of recorded results says.
pub(super) struct Recorded {
    /// How they were recorded: the last line of the file's head.
    by: String,
    /// By the names of forms the letters of how they are known.
    ways: HashMap<String, String>,
}

/// How the results of an opcode's forms are known.
#[derive(Serialize)]
pub(super) struct Part {
    by: String,
    /// A digit for each form, in the table's order: 1 where the assembler folded results, 2 where machine code was interpreted, 3 where
    /// both, 0 where none are recorded.
    ways: String,
}

impl Recorded {
    /// Lines of a form's name, an SM number, results, and letters for how these are known, behind a head of comments.
    pub(super) fn read(text: &str) -> Recorded {
        let head = text.lines().take_while(|line| line.starts_with('#'));
        let mut ways: HashMap<String, String> = HashMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.split(' ');
            if let (Some(name), Some(letters)) = (parts.next(), parts.nth(2)) {
                *ways.entry(name.to_owned()).or_default() += letters;
            }
        }
        Recorded { by: head.last().map_or("", |line| line.trim_start_matches('#').trim()).to_owned(), ways }
    }

    pub(super) fn part(&self, opcode: &str) -> Part {
        let forms = TABLE.instruction(opcode).into_iter().flat_map(|info| info.forms());
        let digit = |name: String| {
            let has = |letter| self.ways.get(&name).is_some_and(|letters| letters.contains(letter));
            char::from(b'0' + u8::from(has('f')) + 2 * u8::from(has('i')))
        };
        Part { by: self.by.clone(), ways: forms.map(|form| digit(form.name())).collect() }
    }
}
