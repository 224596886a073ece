//! Reads one statement: guard, opcode, operands and semicolon. Reports what is missing if it ends too early.

mod count;
mod kinds;
mod operand;
mod shape;

use count::written_as;
pub(crate) use kinds::elements;
pub(crate) use operand::constant_error;
use operand::operand_span;
use shape::Shapes;
pub(crate) use shape::operands_at_end;

use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::constant::at_name;
use super::lexer::Cursor;
use super::memo::Memo;
use super::mnemonic::{self, Depth, Refusal, narrowed};
use super::statement::{Guard, MAX_OPERANDS, NOTHING, Operand, Register, Statement, Value};
use crate::diagnostic::{Code, Diagnostic, Fix};
use crate::selector::{Permission, Selector};
use crate::table::{self, FormInfo, Free, Lenient, OperandKind, Table};

/// The error is boxed to keep results small.
pub(crate) type Read<T> = Result<T, Box<Diagnostic>>;

/// An error. As it is cold, what makes its message is out of the way of what is usual.
#[cold]
pub(crate) fn fail<T>(code: Code, span: Range<usize>, message: impl Into<String>) -> Read<T> {
    Err(Box::new(Diagnostic::error(code, span, message)))
}

/// The text at `next` is not part of the statement that ends before it: a bracket without its other half, or something
/// before which a semicolon is missing. On the same line something else may be missing.
#[cold]
pub(crate) fn missing_semicolon<T>(text: &str, end: usize, next: Range<usize>) -> Read<T> {
    if let Some(bracket @ (']' | ')')) = text[next.start..].chars().next() {
        let message = format!("this `{bracket}` closes nothing");
        let span = next.start..next.start + 1;
        let mut error = Diagnostic::error(Code::Syntax, span.clone(), message);
        error.help = Some("remove it, or write its other half".into());
        error.fixes.push(Fix { safe: false, ..Fix::new(span, "") });
        return Err(Box::new(error));
    }
    let apart = text[end..next.start].contains('\n') || text[next.start..].starts_with('}');
    let fix = Fix { safe: apart, ..Fix::new(end..end, ";") };
    let mut error = Diagnostic::error(Code::Syntax, next, "`;` is missing before this");
    error.fixes.push(fix);
    Err(Box::new(error))
}

/// Classification of a statement by its first word.
pub(crate) enum Opening<'a> {
    /// A form of the table; its operands follow.
    Form(FormInfo),
    /// A label; the colon has been read.
    Label(&'a str),
    /// An instruction that is not in the table; the word has been read.
    Outside,
}

/// Maximum length in bytes of a statement for which suggestions are checked against its operands.
const LONGEST_STATEMENT: usize = 1024;

/// Reads statements from a text.
pub(crate) struct Reader<'a> {
    pub(crate) table: &'static Table,
    pub(crate) cursor: Cursor<'a>,
    /// Receives warnings.
    pub(crate) notes: Vec<Diagnostic>,
    /// Cache of resolved mnemonics that are not the canonical mnemonic of a form.
    known: Memo<'a, (FormInfo, Free)>,
    /// Cache of errors for mnemonics without blanks; spans are relative to the start of the mnemonic.
    refused: Memo<'a, (Depth, Rc<Diagnostic>)>,
    /// True if findings are only counted: suggestions are not searched for.
    pub(crate) brief: bool,
    /// Cache of the forms selected by operand shapes.
    shapes: Shapes,
    /// Set of the operands of the last statement that are a register and nothing else, neither an element of a vector nor
    /// held to be like one: bit `i` is operand `i`.
    pub(crate) registers: u32,
}

const _: () = assert!(MAX_OPERANDS <= u32::BITS as usize);

impl<'a> Reader<'a> {
    pub(crate) fn new(table: &'static Table, text: &'a str) -> Reader<'a> {
        let (known, refused, shapes) = (Memo::default(), Memo::default(), Shapes::default());
        let (cursor, notes) = (Cursor::new(text), Vec::new());
        Reader { table, cursor, notes, known, refused, brief: false, shapes, registers: 0 }
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn statement(&mut self) -> Read<Statement<'a>> {
        self.cursor.skip_blanks();
        let guard = self.guard()?;
        if !self.cursor.at_word() {
            return fail(Code::Syntax, self.cursor.token(), "an opcode is expected here");
        }
        let start = self.cursor;
        let mut free = Free::NONE;
        let form = match self.opening(&mut free)? {
            Opening::Form(form) => form,
            Opening::Label(_) => return fail(Code::Syntax, start.token(), "a label is not part of a statement"),
            Opening::Outside => {
                let mut cursor = start;
                return match mnemonic::read(self.table, &mut cursor, Depth::Verdict) {
                    Err(refusal) => self.refused(start, refusal),
                    Ok(_) => fail(Code::Syntax, start.token(), "an opcode is expected here"),
                };
            }
        };
        let mut statement = Statement::new(self.table, guard, form, free);
        self.operands(&mut statement)?;
        self.cursor.skip_blanks();
        if let Some(at) = self.cursor.unterminated {
            return fail(Code::Syntax, at..at + 2, "this comment has no end");
        }
        if !self.cursor.at_end() {
            return fail(Code::Syntax, self.cursor.token(), "one statement is expected, and this is behind it");
        }
        Ok(statement)
    }

    /// Reads a guard, `@p` or `@!p`, if there is one, and the blanks after it.
    #[inline]
    pub(crate) fn guard(&mut self) -> Read<Option<Guard<'a>>> {
        match self.cursor.eat(b'@') {
            true => self.guarded().map(Some),
            false => Ok(None),
        }
    }

    /// Reads a guard behind its `@`.
    fn guarded(&mut self) -> Read<Guard<'a>> {
        self.cursor.skip_blanks();
        let negated = self.cursor.eat(b'!');
        self.cursor.skip_blanks();
        if !self.cursor.at_word() || self.is_sink() {
            return fail(Code::Guard, self.cursor.token(), "a guard is `@` or `@!` and a predicate register");
        }
        let start = self.cursor;
        let register = self.cursor.word();
        // A mnemonic: the predicate is missing.
        if self.cursor.peek() == b'.' {
            return fail(Code::Guard, start.token(), "a guard is `@` or `@!` and a predicate register");
        }
        self.cursor.skip_blanks();
        Ok(Guard { register, negated })
    }

    /// Returns true if the word at the cursor is `_`.
    fn is_sink(&self) -> bool {
        self.cursor.peek() == b'_' && self.cursor.is_word_of_one()
    }

    /// Reads the mnemonic or label that a statement begins with, and stores its free modifiers in `free`, which must be
    /// empty. The cursor must be at a word. Skips the blanks after the mnemonic.
    #[inline]
    pub(crate) fn opening(&mut self, free: &mut Free) -> Read<Opening<'a>> {
        let start = self.cursor;
        let word = self.cursor.dotted_word();
        let known = match self.table.form(word) {
            Some(form) if !form.syntax().free => form.lenient().is_none().then_some(form),
            _ => self.known.get(word).map(|(form, own)| {
                *free = *own;
                *form
            }),
        };
        if let Some(form) = known {
            self.cursor.skip_blanks();
            if !matches!(self.cursor.peek(), b'.' | b':') {
                return Ok(Opening::Form(form));
            }
        }
        self.cursor = start;
        let before = self.notes.len();
        let opening = self.unusual_opening(free)?;
        if let Opening::Form(form) = opening
            && self.notes.len() == before
        {
            self.known.insert(word, (form, *free));
        }
        Ok(opening)
    }

    /// Reads an opening that is not a canonical mnemonic, or that only the assembler accepts.
    fn unusual_opening(&mut self, free: &mut Free) -> Read<Opening<'a>> {
        let start = self.cursor;
        let word = self.cursor.word();
        let end = self.cursor;
        self.cursor.skip_blanks();
        if self.cursor.peek() == b':' && self.cursor.peek_at(1) != b':' {
            self.cursor.seek(self.cursor.at() + 1);
            return Ok(Opening::Label(word));
        }
        self.cursor = start;
        if self.table.instruction_of(self.cursor.dotted_word()).is_none() {
            self.cursor = end;
            return Ok(Opening::Outside);
        }
        self.cursor = start;
        if let Some(known) = self.known_refusal(start) {
            return self.with_meant(start, known);
        }
        match mnemonic::read(self.table, &mut self.cursor, Depth::Verdict) {
            Ok(resolved) => {
                let span = start.at()..self.cursor.at();
                let canonical = resolved.form.mnemonic_with(&resolved.free);
                if let Some(note) = resolved.form.lenient() {
                    let message = format!("the manual does not list `{canonical}`");
                    self.lenient(Some(note), Code::UnlistedForm, span.clone(), &message)?;
                }
                let canonically = |code, message| {
                    let finding = Diagnostic::error(code, span.clone(), message);
                    finding.with_help(format!("write `{canonical}`")).with_safe_fix(span.clone(), &*canonical)
                };
                if resolved.reordered {
                    let written = &self.cursor.text()[span.clone()];
                    let message = format!("the modifiers of `{written}` are not in the manual's order");
                    let note = self.table.takes(Lenient::ModifierOrder);
                    self.tolerated(note, canonically(Code::ModifierOrder, message))?;
                }
                if resolved.blanks {
                    let message = format!("blanks before a modifier of `{canonical}`");
                    let note = self.table.takes(Lenient::BlankBeforeModifier);
                    self.tolerated(note, canonically(Code::BlankBeforeModifier, message))?;
                }
                self.cursor.skip_blanks();
                *free = resolved.free;
                Ok(Opening::Form(resolved.form))
            }
            Err(refusal) => self.refused(start, refusal),
        }
    }

    /// Reports a mnemonic that resolves to no form. `refusal` has no reason yet: it is determined here.
    #[cold]
    pub(crate) fn refused<T>(&mut self, start: Cursor<'a>, refusal: Refusal) -> Read<T> {
        if let Some(known) = self.known_refusal(start) {
            return self.with_meant(start, known);
        }
        let mut behind = start;
        let word = behind.dotted_word();
        behind.skip_blanks();
        // A mnemonic with blanks in it is not cached.
        let whole = behind.peek() != b'.';
        let depth = if self.brief { Depth::Verdict } else { Depth::Reasons };
        let mut alone = Cursor::new(word);
        let read = if whole { &mut alone } else { &mut start.clone() };
        let reasons = mnemonic::read(self.table, read, depth).err().unwrap_or(refusal).into_wide_diagnostic();
        if !whole {
            return self.with_meant(start, reasons);
        }
        self.refused.insert(word, (depth, Rc::new(reasons.clone())));
        self.with_meant(start, reasons.shifted(start.at()))
    }

    /// Returns the cached error of a mnemonic that resolves to no form: many statements have the same mistake.
    fn known_refusal(&self, start: Cursor<'a>) -> Option<Diagnostic> {
        let mut behind = start;
        let (depth, known) = self.refused.get(behind.dotted_word())?;
        behind.skip_blanks();
        let enough = self.brief || *depth == Depth::Reasons;
        (enough && behind.peek() != b'.').then(|| Diagnostic::clone(known).shifted(start.at()))
    }

    /// Keeps only those suggested mnemonics that fit the operands.
    fn with_meant<T>(&self, start: Cursor<'a>, mut diagnostic: Diagnostic) -> Read<T> {
        if self.brief || diagnostic.fixes.is_empty() {
            return Err(Box::new(narrowed(diagnostic)));
        }
        let text = start.text();
        let mut end = Cursor::new(&text[..text.floor_char_boundary(start.at() + LONGEST_STATEMENT)]);
        end.seek(start.at());
        // A semicolon within a comment does not end the statement.
        let Some(_) = end.find(|byte| byte == b';') else { return Err(Box::new(narrowed(diagnostic))) };
        let statement = start.at()..end.at();
        let goes = |fix: &Fix| {
            let span = fix.span.start - statement.start..fix.span.end - statement.start;
            let edited = Fix::new(span, &*fix.text).apply(&text[statement.clone()]);
            let mut reader = Reader::new(self.table, &edited);
            reader.brief = true;
            reader.statement().is_ok()
        };
        // With an unknown opcode, more than the mnemonic may need to be corrected, so its suggestions are kept if none
        // fits.
        let fits: Vec<bool> = diagnostic.fixes.iter().map(goes).collect();
        if diagnostic.code != Code::UnknownOpcode || fits.contains(&true) {
            let tied = fits.iter().take(diagnostic.tied).filter(|fits| **fits).count();
            let mut fits = fits.into_iter();
            diagnostic.fixes.retain(|_| fits.next() == Some(true));
            // Those that remain are equally unlikely if none of the likely ones fits.
            diagnostic.tied = if tied == 0 { diagnostic.fixes.len() } else { tied };
        }
        Err(Box::new(narrowed(diagnostic)))
    }

    /// Reports a warning if the spec notes that the assembler accepts this (`note`), and an error otherwise.
    pub(crate) fn lenient(
        &mut self,
        note: Option<&'static str>,
        code: Code,
        span: Range<usize>,
        message: &str,
    ) -> Read<()> {
        self.tolerated(note, Diagnostic::error(code, span, message))
    }

    /// Like [`lenient`](Self::lenient), for a complete finding.
    pub(crate) fn tolerated(&mut self, note: Option<&'static str>, finding: Diagnostic) -> Read<()> {
        self.notes.push(finding.tolerated(note)?);
        Ok(())
    }

    fn permitted(&mut self, permission: Permission, code: Code, span: Range<usize>, message: &str) -> Read<()> {
        match permission {
            Permission::Yes => Ok(()),
            Permission::Lenient(note) => self.lenient(Some(note), code, span, message),
            Permission::No => fail(code, span, message),
        }
    }

    /// Reads the operands of a form and the semicolon after them, which may be omitted at the end of the text.
    #[inline]
    pub(crate) fn operands(&mut self, statement: &mut Statement<'a>) -> Read<()> {
        let (first, notes) = (self.cursor, self.notes.len());
        self.operands_of(statement, true).or_else(|error| {
            self.notes.truncate(notes);
            let read = self.other_shape(statement, first, error);
            let shown = |error: &Diagnostic| error.code == Code::OperandType && error.note.is_none();
            let (form, free) = (statement.form, &statement.free);
            read.map_err(|error| if shown(&error) { written_as(form, free, error) } else { error })
        })
    }

    /// Reads the operands of a form. With `guessed`, a vector that does not match the form is an error without a
    /// finding, as another form may be meant.
    #[inline]
    fn operands_of(&mut self, statement: &mut Statement<'a>, guessed: bool) -> Result<(), Option<Box<Diagnostic>>> {
        let infos = statement.form.operands();
        if infos.len() > MAX_OPERANDS {
            let message = format!("this reader takes at most {MAX_OPERANDS} operands");
            fail(Code::OperandCount, self.cursor.token(), message)?;
        }
        let first = self.cursor;
        self.registers = 0;
        // True while the operands are elements of an open vector.
        let mut inside = false;
        for (index, info) in infos.iter().enumerate() {
            if self.register_alone(index, info, &mut statement.operands[index]) {
                self.registers |= u32::from(info.mixtures && !inside) << index;
                continue;
            }
            statement.operands[index] = NOTHING;
            self.cursor.skip_blanks();
            if index > 0 && !self.cursor.eat(b',') {
                if !info.optional || !(self.cursor.peek() == b';' || self.cursor.at_end()) {
                    self.no_comma(statement.form, &statement.free, index)?;
                }
                statement.operands[index..infos.len()].fill(Operand { value: Value::Absent, ..NOTHING });
                break;
            }
            if index > 0 {
                self.cursor.skip_blanks();
            }
            // An array element is an address without brackets.
            let bare = info.around.opens_bracket && info.around.closes_bracket && self.at_element();
            if info.around.opens_bracket && !bare {
                if !self.cursor.eat(b'[') {
                    let message = format!("the operand `{}` is an address: `[` is expected here", info.name);
                    fail(Code::OperandType, self.cursor.token(), message)?;
                }
                self.cursor.skip_blanks();
            }
            let elsewhere = match self.cursor.peek() {
                b'{' => !info.around.opens && !matches!(info.kind, OperandKind::Vector(_)),
                _ => info.around.opens,
            };
            if guessed && elsewhere {
                return Err(None);
            }
            if info.around.opens {
                if !self.cursor.eat(b'{') {
                    let message =
                        format!("the operand `{}` is an element of a vector: `{{` is expected here", info.name);
                    fail(Code::OperandType, self.cursor.token(), message)?;
                }
                self.cursor.skip_blanks();
            }
            if info.around.minus {
                if !self.cursor.eat(b'-') {
                    let message = format!("the operand `{}` is negated: `-` is expected here", info.name);
                    fail(Code::Negation, self.cursor.token(), message)?;
                }
                self.cursor.skip_blanks();
            }
            let start = self.cursor.at();
            let operand = &mut statement.operands[index];
            match info.kind {
                OperandKind::Scalar => self.operand(statement.form, &statement.free, index, info, operand)?,
                // Some vector operands accept a scalar register.
                OperandKind::Vector(_) if info.bare && self.cursor.peek() != b'{' => {
                    let named = at_name(&self.cursor);
                    if named || !info.around.closes_bracket {
                        self.operand(statement.form, &statement.free, index, info, operand)?;
                    }
                    // Within brackets nothing follows a name.
                    let alone = matches!(operand.value, Value::Register(Register { element: None, .. }));
                    if info.around.closes_bracket && !(named && alone) {
                        let message = format!("the operand `{}` is a register, or a vector in braces", info.name);
                        let span = if named { start..self.cursor.at() } else { self.cursor.token() };
                        fail(Code::Syntax, span, message)?;
                    }
                }
                _ => self.of_kind(statement.form, info, bare, operand)?,
            }
            inside |= info.around.opens;
            if inside && statement.operands[index].second.is_some() {
                let message = format!("the operand `{}` is an element of a vector, and one destination", info.name);
                fail(Code::Destination, start..self.cursor.at(), message)?;
            }
            inside &= !info.around.closes;
            if info.around.closes {
                self.vector_ends(statement, index)?;
            }
            if info.around.closes_bracket && !bare {
                self.cursor.skip_blanks();
                if !self.cursor.eat(b']') {
                    fail(Code::Syntax, self.cursor.token(), "`]` is expected here")?;
                }
            }
            if info.kind == OperandKind::Address
                && let Some(selector) = &info.selector
            {
                self.behind_address(info, selector, &mut statement.operands[index])?;
            }
        }
        let end = self.cursor.at();
        self.cursor.skip_blanks();
        if infos.iter().any(|info| info.selector.is_some_and(|selector| selector.omission != Permission::Yes)) {
            self.omissions(statement, first)?;
        }
        if !self.cursor.eat(b';') && !self.cursor.at_end() {
            self.no_semicolon(statement.form, &statement.free, end)?;
        }
        Ok(())
    }

    /// Reads the optional selector after an address.
    fn behind_address(
        &mut self,
        info: &'static table::Operand,
        selector: &'static Selector,
        operand: &mut Operand<'a>,
    ) -> Read<()> {
        operand.selector = Some(selector.default);
        let end = self.cursor;
        self.cursor.skip_blanks();
        if !self.cursor.at_dot_word() {
            self.cursor = end;
            return Ok(());
        }
        let start = self.cursor.at();
        let word = self.cursor.dot_word();
        operand.selector = Some(self.selector(info, selector, word, start..self.cursor.at())?);
        Ok(())
    }

    /// Returns true if an array element, such as `a[1]`, is at the cursor.
    fn at_element(&self) -> bool {
        let mut cursor = self.cursor;
        cursor.at_word() && {
            cursor.word();
            cursor.skip_blanks();
            cursor.peek() == b'['
        }
    }

    /// Reads the closing brace of a vector.
    fn vector_ends(&mut self, statement: &Statement<'a>, last: usize) -> Read<()> {
        self.cursor.skip_blanks();
        if !self.cursor.eat(b'}') {
            return fail(Code::Syntax, self.cursor.token(), "`}` is expected here");
        }
        let first = statement.form.operands().iter().take(last + 1).rposition(|info| info.around.opens).unwrap_or(last);
        if statement.operands[first..=last].iter().all(|operand| operand.value == Value::Sink) {
            let at = self.cursor.at();
            return fail(Code::Sink, at - 1..at, "one element of a vector is a register at least");
        }
        Ok(())
    }

    /// Checks the selectors that are required if all operands are written, and forbidden otherwise.
    fn omissions(&mut self, statement: &Statement<'a>, first: Cursor<'a>) -> Read<()> {
        let whole = statement.operands().iter().all(|operand| operand.value != Value::Absent);
        for (index, (info, operand)) in statement.operands_with_info().enumerate() {
            let Some(selector) = info.selector.filter(|selector| selector.omission != Permission::Yes) else {
                continue;
            };
            let written = operand.selector != Some(selector.default);
            if written && !whole {
                let span = operand_span(first, index);
                let message = format!(
                    "the operand `{}` has a `.{}` only where all operands are written",
                    info.name, selector.name
                );
                return fail(Code::Selector, span, message);
            }
            if !written && whole {
                let message = format!("the operand `{}` has no `.{}`", info.name, selector.name);
                let span = operand_span(first, index);
                self.permitted(selector.omission, Code::Selector, span, &message)?;
            }
        }
        Ok(())
    }

    /// End of what precedes the blanks before the cursor; the cursor itself if that is a comment.
    fn before_blanks(&self) -> usize {
        let before = self.cursor.text()[..self.cursor.at()].trim_end();
        // Only a line that ends here is searched: a long one with many errors would be for each.
        let in_line_comment = || {
            let ends = self.text_between(before.len()).contains('\n');
            ends && before.rsplit('\n').next().is_some_and(|line| line.contains("//"))
        };
        if before.ends_with("*/") || in_line_comment() { self.cursor.at() } else { before.len() }
    }
}

/// Returns true if the `!` or `-` at the cursor is followed by a name rather than a constant.
fn negates_a_name(mut cursor: Cursor<'_>) -> bool {
    cursor.bump();
    cursor.skip_blanks();
    at_name(&cursor)
}
