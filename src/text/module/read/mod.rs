//! The reader of modules: turns text into parts, in one pass, and knows nothing of what becomes of them.
//!
//! It handles the frame of a module: directives, declarations, functions, blocks and labels. Statements are read by
//! [`Reader`]. After text that cannot be read it goes on where the next part is likely to begin.

mod declarations;
mod directives;
mod functions;
mod header;
mod lists;
mod part;
mod recovery;
mod sections;
mod stray;
mod values;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::ops::Range;

pub(crate) use directives::OWN;
use header::Header;
pub(in crate::text) use part::{Attributes, Head, Parameter, Part, PragmaPlace, Site, Value};
use recovery::{Recovery, has_label};

use super::{Linkage, Options};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Feature, Free, Table, TypeId};
use crate::text::lexer::Cursor;
use crate::text::memo::Memo;
use crate::text::mnemonic::{self, Depth};
use crate::text::reader::{Opening, Read, Reader, fail};
use crate::text::statement::Statement;

/// Receives the parts of a module. What each statement has is passed by a method of its own.
pub(super) trait Output<'a> {
    /// The next part follows; true if it begins an item of a module.
    fn next(&mut self, item: bool);

    /// A directive or a statement begins: if it turns out to be unreadable, what was found in it does not count.
    fn begins(&mut self);

    /// Takes an instruction.
    fn instruction(&mut self, instruction: Instruction<'_, 'a>);

    /// A statement ends, with or without an error: the findings in it are about it.
    fn statement_ends(&mut self, span: Range<usize>);

    /// A part of any kind ends, which may hold names.
    fn ends(&mut self, span: Range<usize>);

    /// Takes a part of another kind.
    fn part(&mut self, part: Part<'_, 'a>);

    /// Returns true if findings are only counted: suggestions need not be searched for.
    fn is_brief(&self) -> bool;

    /// Returns true if no more parts are wanted.
    fn is_done(&self) -> bool;
}

/// An instruction of a module.
pub(super) struct Instruction<'s, 'a> {
    pub(super) statement: &'s mut Statement<'a>,
    /// Its operands that are registers alone, a bit each: see [`Reader::registers`].
    pub(super) registers: u32,
    /// Its start behind the guard.
    pub(super) opcode: usize,
    pub(super) span: Range<usize>,
}

/// Reads a module for an output.
pub(super) struct ModuleReader<'a, O> {
    pub(super) out: O,
    reader: Reader<'a>,
    /// True if statements may occur outside of functions.
    bare: bool,
    header: Header,
    blocks: Blocks<'a>,
    recovery: Recovery,
    /// A pending linkage directive, such as `.visible`, and its start.
    begun: Option<(usize, Linkage)>,
    /// Position up to which strings have been checked; `None` for ASCII text, which needs no check.
    strings: Option<Cursor<'a>>,
    /// Cache of the types of registers by name.
    types: Memo<'a, TypeId>,
    /// Number of statements whose opcode is in the table, and of those whose opcode is not.
    pub(super) counts: (usize, usize),
}

/// The open blocks.
#[derive(Default)]
struct Blocks<'a> {
    /// The function whose body is open.
    function: Option<&'a str>,
    /// Number of open braces.
    open: usize,
    /// Number of open braces beyond the nesting depth that the assembler accepts.
    too_deep: usize,
    /// True if the next block belongs to a function whose head could not be read.
    headless: bool,
}

/// End-of-file character of old systems (SUB).
const SUBSTITUTE: u8 = 0x1a;

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    pub(super) fn new(table: &'static Table, text: &'a str, bare: bool, options: &Options, out: O) -> Self {
        ModuleReader {
            out,
            reader: Reader::new(table, text),
            bare,
            header: Header::new(options),
            blocks: Blocks::default(),
            recovery: Recovery::default(),
            begun: None,
            strings: (!text.is_ascii()).then(|| Cursor::new(text)),
            types: Memo::default(),
            counts: (0, 0),
        }
    }

    /// Reads the whole module, unless the output wants no more of it.
    pub(super) fn module(&mut self) {
        // All statements are read into the same place, as they are large.
        let mut statement = None;
        loop {
            self.cursor().skip_blanks();
            // Text after a function that does not begin an item still belongs to that function.
            let item = self.is_outside() && self.cursor().at_dot_word();
            if item {
                self.strings();
            }
            self.out.next(item);
            self.reader.brief = self.out.is_brief();
            if self.cursor().at_end() || self.out.is_done() {
                break;
            }
            let start = self.cursor().at();
            self.linkage_alone();
            match self.cursor().peek() {
                b'{' => self.open_brace(),
                b'}' => self.close_brace(),
                b'.' if self.cursor().at_dot_word() => self.directive(),
                b'@' if self.cursor().peek_at(1) == b'@' && self.blocks.open == 0 => self.dwarf_line(),
                b'#' => self.line_marker(),
                b'\\' => self.backslash(),
                SUBSTITUTE if self.cursor().at() + 1 == self.text().len() => self.cursor().bump(),
                b'@' => self.statement(&mut statement),
                _ if self.cursor().at_word() => self.statement(&mut statement),
                _ => self.rubbish(),
            }
            self.out.ends(start..self.reader.cursor.at());
        }
        if !self.out.is_done() {
            self.end();
        }
    }

    /// Returns true outside of functions, unless statements may stand there.
    fn is_outside(&self) -> bool {
        self.blocks.open == 0 && !self.bare
    }

    /// Checks that the strings read so far are ASCII. Comments may contain any character.
    fn strings(&mut self) {
        let (text, end) = (self.text(), self.reader.cursor.at());
        let Some(mut cursor) = self.strings else { return };
        while cursor.at() < end {
            cursor.skip_blanks();
            let start = cursor.at();
            if cursor.peek() != b'"' || !cursor.skip_string() {
                cursor.bump();
                continue;
            }
            let string = &text[start..cursor.at()];
            if let Some((at, letter)) = string.char_indices().find(|(_, letter)| !letter.is_ascii()) {
                let span = start + at..start + at + letter.len_utf8();
                self.error(Code::Encoding, span, "a string holds ASCII only");
            }
        }
        self.strings = Some(cursor);
    }

    fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.reader.cursor
    }

    fn text(&self) -> &'a str {
        self.reader.cursor.text()
    }

    #[cold]
    fn error(&mut self, code: Code, span: Range<usize>, message: impl Into<String>) {
        self.out.part(Part::Finding(Box::new(Diagnostic::error(code, span, message))));
    }

    /// Reports an error after which the part is read on.
    fn note(&mut self, read: Read<()>) {
        if let Err(error) = read {
            self.out.part(Part::Finding(error));
        }
    }

    fn uses(&mut self, feature: Feature, what: &'static str, span: Range<usize>) {
        self.out.part(Part::Use(feature, what, span));
    }

    fn end(&mut self) {
        let length = self.text().len();
        let unterminated = self.reader.cursor.unterminated;
        if unterminated.is_none() && !self.recovery.cut_off {
            self.linkage_alone();
            self.header_ends(length..length);
        }
        let unclosed = self.blocks.open > 0 && !self.recovery.lost_brace && self.blocks.too_deep == 0;
        let missing = unclosed.then(|| Box::new(self.missing_brace(length..length, "the end of the text")));
        if self.bare {
            self.out.part(Part::FunctionEnds { at: length + 1, lost_label: self.recovery.lost_label });
        }
        if let Some(at) = unterminated {
            self.error(Code::Syntax, at..at + 2, "this comment has no end");
        }
        self.strings();
        let whole = unterminated.is_none() && !self.recovery.cut_off;
        self.out.part(Part::TextEnds { length, whole, missing });
    }

    fn statement(&mut self, place: &mut Option<Statement<'a>>) {
        let start = self.cursor().at();
        self.out.begins();
        self.header_ends(start..start + 1);
        let mut opcode = start;
        if let Err(mut error) = self.one_statement(place, &mut opcode) {
            self.reader.notes.clear();
            let unread = matches!(error.code, Code::Syntax | Code::UnknownOpcode);
            self.recover(opcode);
            self.unfinished(&mut error);
            let outside = self.is_outside();
            // An unterminated comment is reported at the end of the text. A body that was cut short by another function
            // has been reported already.
            let told = self.cursor().unterminated.is_some() || outside && self.recovery.broken;
            self.out.part(Part::Unreadable((!told).then_some(error)));
            if outside {
                self.skip_to_item();
            }
            // A statement within a single line declares nothing, but longer text may contain a label or a declaration.
            let passed = &self.text()[start..self.reader.cursor.at()];
            if unread && (outside || passed.trim_end().contains([':', '{', '}', '\n'])) {
                self.out.part(Part::Skipped(start..self.reader.cursor.at()));
            }
            self.recovery.lost_label |= has_label(passed);
            self.recovery.cut_off = self.cursor().at_end();
            self.out.part(Part::Refused(start..start + passed.trim_end().len()));
        }
        let end = self.reader.cursor.at();
        self.out.statement_ends(start..end);
    }

    /// Reads a statement. Sets `opcode` to its start after the guard.
    #[inline]
    fn one_statement(&mut self, place: &mut Option<Statement<'a>>, opcode: &mut usize) -> Read<()> {
        let start = *opcode;
        let guard = self.reader.guard()?;
        *opcode = self.reader.cursor.at();
        if !self.reader.cursor.at_word() {
            return fail(Code::Syntax, self.reader.cursor.token(), "a guard is followed by an instruction");
        }
        let mut free = Free::NONE;
        let form = match self.reader.opening(&mut free) {
            Ok(Opening::Form(form)) => form,
            Ok(Opening::Label(name)) => return self.label(guard, name),
            Ok(Opening::Outside) if self.label_without_colon(*opcode) => return Ok(()),
            Ok(Opening::Outside) => return self.outside(*opcode),
            Err(error) => {
                self.counts.0 += 1;
                return Err(error);
            }
        };
        self.counts.0 += 1;
        let statement = place.get_or_insert_with(|| Statement::new(self.reader.table, guard, form, free));
        statement.renew(guard, form, free);
        let read = self.reader.operands(statement);
        if self.reader.cursor.at_end() && (read.is_err() || !self.reader.cursor.is_behind(b';')) {
            return self.no_end(*opcode);
        }
        read?;
        self.is_in_function(*opcode)?;
        if !self.reader.notes.is_empty() {
            self.notes();
        }
        let (registers, span) = (self.reader.registers, start..self.reader.cursor.at());
        self.out.instruction(Instruction { statement, registers, opcode: *opcode, span });
        Ok(())
    }

    /// Passes the warnings about a statement on.
    #[cold]
    fn notes(&mut self) {
        for note in self.reader.notes.drain(..) {
            self.out.part(Part::Finding(Box::new(note)));
        }
    }

    fn is_in_function(&self, opcode: usize) -> Read<()> {
        if !self.is_outside() {
            return Ok(());
        }
        fail(Code::Syntax, self.mnemonic_at(opcode), "an instruction must be in a function")
    }

    /// Treats a name alone on its line, if the next line begins a statement, as a label that lacks its colon. Moves the
    /// cursor to the next line.
    #[cold]
    fn label_without_colon(&mut self, opcode: usize) -> bool {
        let name = &self.text()[opcode..self.reader.cursor.at()];
        let mut next = self.reader.cursor;
        next.skip_blanks();
        let between = &self.text()[self.reader.cursor.at()..next.at()];
        let mut directive = next;
        let begins = next.at_word()
            || matches!(next.peek(), b'@' | b'{' | b'}')
            || next.at_dot_word() && directives::begins_item(self.reader.table, directive.dot_word());
        if name.contains('.') || !between.contains('\n') || !begins || self.blocks.open == 0 {
            return false;
        }
        let end = self.reader.cursor.at();
        let message = format!("`:` is missing before this, behind the label `{name}`");
        let error = Diagnostic::error(Code::Syntax, next.token(), message);
        self.out.part(Part::Finding(Box::new(error.with_fix(end..end, ":"))));
        self.reader.cursor = next;
        self.out.part(Part::LabelAlone(name));
        true
    }

    /// Reports an opcode that is not in the table, with the nearest one as a suggestion.
    #[cold]
    fn outside(&mut self, opcode: usize) -> Read<()> {
        self.counts.1 += 1;
        let span = opcode..self.reader.cursor.at();
        let word = &self.text()[span.clone()];
        if directives::begins_item(self.reader.table, word) {
            let error = Diagnostic::error(Code::Syntax, span.clone(), format!("the directive `.{word}` lacks its dot"));
            return Err(Box::new(error.with_safe_fix(span, format!(".{word}"))));
        }
        self.is_in_function(opcode)?;
        let mut cursor = self.reader.cursor;
        cursor.seek(opcode);
        match mnemonic::read(self.reader.table, &mut cursor, Depth::Verdict) {
            Err(refusal) => {
                cursor.seek(opcode);
                self.reader.refused(cursor, refusal)
            }
            Ok(_) => self.skip_statement(opcode),
        }
    }

    fn mnemonic_at(&self, opcode: usize) -> Range<usize> {
        let mut cursor = self.reader.cursor;
        cursor.seek(opcode);
        cursor.dotted_word();
        opcode..cursor.at()
    }

    /// The type with this name, if registers are declared with it.
    fn register_type(&mut self, name: &'a str) -> Option<TypeId> {
        if let Some(known) = self.types.get(name) {
            return Some(*known);
        }
        let types = self.reader.table.types;
        let ty = TypeId(types.iter().position(|ty| ty.name == name)? as u8);
        let found = types.iter().any(|other| other.registers.has(ty)).then_some(ty)?;
        self.types.insert(name, found);
        Some(found)
    }
}
