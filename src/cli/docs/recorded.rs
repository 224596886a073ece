//! How it is known what forms compute: files that tests replay and write say so.

use std::borrow::Cow;
use std::collections::HashMap;

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use ptx_isa::text::spelling;
use serde::Serialize;

use crate::cli::names::forms_of;

/// Contents of files of recorded results, of machine code, and of independently tested forms.
#[derive(Default)]
pub(super) struct Recorded {
    /// How results were recorded: the last line of the file's head.
    by: String,
    /// By the numbers of forms the ways in which they are known.
    ways: HashMap<usize, u8>,
    /// How the machine code was made.
    assembler: String,
    /// By the numbers of forms their machine code: the architecture, and the opcodes.
    code: HashMap<usize, (String, String)>,
}

/// How the results of an opcode's forms are known.
#[derive(Serialize)]
pub(super) struct Part {
    by: String,
    /// A digit for each form, in the table's order: the sum of 1 where the assembler folded results, 2 where machine code was
    /// interpreted, and 4 where a test holds the form to a reading of its own.
    ways: String,
    /// True if there is machine code.
    compiled: bool,
}

/// The machine code of an opcode's forms, for the explorer.
#[derive(Serialize)]
struct Listing<'r> {
    /// How it was made.
    assembler: &'r str,
    /// Architectures and opcodes.
    code: Vec<&'r (String, String)>,
    /// For each form, in the table's order, the place of its code in this list, counted from 1, or 0 if it has none.
    places: Vec<usize>,
}

/// Machine code that forms of an opcode share.
pub(super) struct Code {
    pub(super) architecture: String,
    pub(super) opcodes: String,
    /// The first of these forms, and the number of all.
    pub(super) forms: Vec<Cow<'static, str>>,
    pub(super) count: usize,
}

/// The most kinds of machine code that a page shows, and forms for each.
const MOST_CODE: usize = 8;
const MOST_FORMS: usize = 2;

impl Recorded {
    /// Recorded results: lines of a form's name, an SM number, results, and letters for how these are known, behind a head of
    /// comments.
    pub(super) fn results(&mut self, text: &str) {
        self.by = head(text);
        let forms = forms_by_name();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.split(' ');
            let form = parts.next().and_then(|name| forms.get(name));
            if let (Some(form), Some(letters)) = (form, parts.nth(2)) {
                let has = |letter| u8::from(letters.contains(letter));
                *self.ways.entry(form.index()).or_default() |= has('f') + 2 * has('i');
            }
        }
    }

    /// Machine code: lines of a form's name, an architecture and opcodes, behind a head of comments.
    pub(super) fn code(&mut self, text: &str) {
        self.assembler = head(text);
        let forms = forms_by_name();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            if let (Some(name), Some(architecture), Some(opcodes)) = (parts.next(), parts.next(), parts.next())
                && let Some(form) = forms.get(&name)
            {
                self.code.insert(form.index(), (architecture, opcodes));
            }
        }
    }

    /// How the machine code was made; empty if there is none.
    pub(super) fn assembler(&self) -> &str {
        &self.assembler
    }

    /// The machine code of an opcode's forms, in the order of the table, and the number of those that are left out.
    pub(super) fn code_of(&self, opcode: &str) -> (Vec<Code>, usize) {
        let mut found: Vec<Code> = Vec::new();
        for form in forms_of(opcode) {
            let Some((architecture, opcodes)) = self.code.get(&form.index()) else { continue };
            let known = found.iter().position(|one| one.architecture == *architecture && one.opcodes == *opcodes);
            let place = known.unwrap_or_else(|| {
                let (architecture, opcodes) = (architecture.clone(), opcodes.clone());
                found.push(Code { architecture, opcodes, forms: Vec::new(), count: 0 });
                found.len() - 1
            });
            found[place].count += 1;
            if found[place].forms.len() < MOST_FORMS {
                found[place].forms.push(spelling::mnemonic(form));
            }
        }
        let more = found.len().saturating_sub(MOST_CODE);
        found.truncate(MOST_CODE);
        (found, more)
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
        let compiled = forms_of(opcode).any(|form| self.code.contains_key(&form.index()));
        Part { by: self.by.clone(), ways: forms_of(opcode).map(digit).collect(), compiled }
    }

    /// A script with the machine code of an opcode's forms; `None` if there is none.
    pub(super) fn listing(&self, opcode: &str) -> Option<serde_json::Result<String>> {
        let mut code: Vec<&(String, String)> = Vec::new();
        let place = |form: FormInfo| {
            let Some(own) = self.code.get(&form.index()) else { return 0 };
            1 + code.iter().position(|one| *one == own).unwrap_or_else(|| {
                code.push(own);
                code.len() - 1
            })
        };
        let places = forms_of(opcode).map(place).collect();
        let listing = Listing { assembler: &self.assembler, places, code };
        let script =
            |listing: &Listing<'_>| Ok(format!("assembled({opcode:?},{});\n", serde_json::to_string(listing)?));
        (!listing.code.is_empty()).then(|| script(&listing))
    }
}

fn forms_by_name() -> HashMap<String, FormInfo> {
    TABLE.forms().map(|form| (form.name(), form)).collect()
}

/// The last line of the comments that a file begins with: how it was recorded.
fn head(text: &str) -> String {
    let head = text.lines().take_while(|line| line.starts_with('#'));
    head.last().map_or("", |line| line.trim_start_matches('#').trim().trim_end_matches('.')).to_owned()
}
