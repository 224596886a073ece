//! One PTX statement: guard, form, operands, selectors, sinks and constants; checked by all that the table says of it
//! but the types of its registers, which only declarations tell.
//!
//! ```
//! use ptx_isa::text::statement::{Register, Statement, Value};
//!
//! let statement = Statement::parse(&ptx_isa::TABLE, "@!%p1 setp.f32.lt %p2|_, v.r, 1.0;")?;
//! assert!(statement.guard().is_some_and(|guard| guard.negated));
//! assert_eq!(statement.form().mnemonic, "setp.lt.f32");
//! assert_eq!(statement.operands()[2].value, Value::Constant(0x3f80_0000));
//! assert_eq!(statement.to_string(), "@!%p1 setp.lt.f32 %p2|_, v.x, 0f3f800000;");
//!
//! let error = Statement::parse(&ptx_isa::TABLE, "set.lt.u32.f32 _, a, b").unwrap_err();
//! assert_eq!((error.code.as_str(), error.span), ("sink", 15..16));
//! # Ok::<(), ptx_isa::diagnostic::Diagnostic>(())
//! ```
//!
//! Printing gives the canonical spelling, which reads back as an equal statement. Nothing is allocated but for
//! mnemonics out of order, warnings and errors.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::constant::{self, WARP_NAME};
use super::lexer::{Cursor, span_of};
use super::mnemonic;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{self, FormInfo, Kind, Permission, SelectorInfo, SelectorKind, Table, TypeInfo};

/// The most operands a form may have for its statements to be read.
pub const MAX_OPERANDS: usize = 8;

/// A checked statement. Its names are borrowed from the text.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    table: &'static Table,
    guard: Option<Guard<'a>>,
    form: &'static FormInfo,
    operands: [Operand<'a>; MAX_OPERANDS],
}

/// The predicate that a statement depends on: `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'a> {
    /// The name of the register.
    pub register: &'a str,
    /// Whether the statement is done where the predicate is false.
    pub negated: bool,
}

/// What is written for one operand of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand<'a> {
    /// What is read or written.
    pub value: Value<'a>,
    /// What stands behind the bar of `p|q`.
    pub second: Option<Second<'a>>,
    /// The lanes or the mask, packed as [`SelectorKind`] says; the default where none is written. `None` for an operand
    /// that has no selector.
    pub selector: Option<u32>,
}

/// What an operand reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A register, or the name of a function where the assembler takes one.
    Register(Register<'a>),
    /// A predicate register behind `!`.
    Negated(Register<'a>),
    /// A register or variable plus a constant.
    Sum {
        /// The name.
        name: &'a str,
        /// The constant, as 64 bits.
        addend: u64,
    },
    /// A constant, as the bits that the operand's type makes of it.
    Constant(u64),
    /// `_`: the result is dropped.
    Sink,
    /// Nothing: the operand is left out, and all behind it.
    Absent,
}

/// A register, or an element of a vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register<'a> {
    /// The name.
    pub name: &'a str,
    /// The element: 0 for `.x` or `.r`, to 3 for `.w` or `.a`.
    pub element: Option<u8>,
}

/// The second destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second<'a> {
    /// A register.
    Register(&'a str),
    /// `_`: the result is dropped.
    Sink,
}

/// The names of a vector's elements; those in one row mean the same.
const ELEMENTS: [[&str; 2]; 4] = [["x", "r"], ["y", "g"], ["z", "b"], ["w", "a"]];

const NOTHING: Operand<'static> = Operand { value: Value::Sink, second: None, selector: None };

impl<'a> Statement<'a> {
    /// Reads one statement of the table; its semicolon may be left out. What the assembler takes beyond the manual is
    /// taken; [`Statement::parse_with`] tells of it.
    ///
    /// # Errors
    ///
    /// The first mistake, with the token it is about.
    pub fn parse(table: &'static Table, text: &'a str) -> Result<Statement<'a>, Diagnostic> {
        Statement::parse_with(table, text, &mut Vec::new())
    }

    /// Reads one statement of the table, and adds a warning to `notes` for all that the manual does not list.
    ///
    /// # Errors
    ///
    /// The first mistake, with the token it is about. Then there are no warnings.
    pub fn parse_with(
        table: &'static Table,
        text: &'a str,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<Statement<'a>, Diagnostic> {
        let before = notes.len();
        let mut reader = Reader { table, cursor: Cursor::new(text), notes };
        let read = reader.statement();
        let notes = reader.notes;
        read.map_err(|error| {
            notes.truncate(before);
            *error
        })
    }

    pub(crate) fn new(table: &'static Table, guard: Option<Guard<'a>>, form: &'static FormInfo) -> Statement<'a> {
        Statement { table, guard, form, operands: [NOTHING; MAX_OPERANDS] }
    }

    /// A statement whose parts fit each other.
    pub(crate) fn from_parts(
        table: &'static Table,
        form: &'static FormInfo,
        guard: Option<Guard<'a>>,
        written: &[Operand<'a>],
    ) -> Statement<'a> {
        let mut operands = [Operand { value: Value::Absent, ..NOTHING }; MAX_OPERANDS];
        operands[..written.len()].copy_from_slice(written);
        Statement { table, guard, form, operands }
    }

    /// The table that the form is of.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// The predicate that the statement depends on.
    pub fn guard(&self) -> Option<Guard<'a>> {
        self.guard
    }

    /// The form.
    pub fn form(&self) -> &'static FormInfo {
        self.form
    }

    /// What is written for each operand of the form, in its order.
    pub fn operands(&self) -> &[Operand<'a>] {
        &self.operands[..self.form.operands.len()]
    }

    /// What the table says of each operand, beside what is written for it.
    pub fn operands_with_info(&self) -> impl Iterator<Item = (&'static table::Operand, &Operand<'a>)> {
        self.form.operands.iter().zip(self.operands())
    }
}

impl fmt::Debug for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Statement({self})")
    }
}

impl PartialEq for Statement<'_> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.form, other.form) && self.guard == other.guard && self.operands() == other.operands()
    }
}

impl Eq for Statement<'_> {}

impl fmt::Display for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Guard { register, negated }) = self.guard {
            write!(f, "@{}{register} ", if negated { "!" } else { "" })?;
        }
        f.write_str(self.form.mnemonic)?;
        let written = self.operands_with_info().take_while(|(_, operand)| operand.value != Value::Absent);
        for (index, (info, operand)) in written.enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            match operand.value {
                Value::Register(register) => write!(f, "{register}")?,
                Value::Negated(register) => write!(f, "!{register}")?,
                Value::Sum { name, addend } => write!(f, "{name}+{addend}")?,
                Value::Constant(bits) => write_constant(f, bits, &self.table.types[info.ty.index()])?,
                Value::Sink => f.write_str("_")?,
                Value::Absent => {}
            }
            match operand.second {
                Some(Second::Register(name)) => write!(f, "|{name}")?,
                Some(Second::Sink) => f.write_str("|_")?,
                None => {}
            }
            if let (Some(bits), Some(selector)) = (operand.selector, &info.selector) {
                write_selector(f, bits, selector)?;
            }
        }
        f.write_str(";")
    }
}

impl fmt::Display for Register<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.element.map_or(Ok(()), |element| write!(f, ".{}", ELEMENTS[usize::from(element & 3)][0]))
    }
}

fn write_constant(f: &mut fmt::Formatter<'_>, bits: u64, ty: &TypeInfo) -> fmt::Result {
    match (ty.constants.integer, ty.bits) {
        (true, _) => write!(f, "{bits:#x}"),
        (false, 32) => write!(f, "0f{bits:08x}"),
        (false, _) => write!(f, "0d{bits:016x}"),
    }
}

fn write_selector(f: &mut fmt::Formatter<'_>, bits: u32, info: &SelectorInfo) -> fmt::Result {
    if bits == info.default {
        return Ok(());
    }
    match info.kind {
        SelectorKind::Listed { words } => write!(f, ".{}", words[bits as usize]),
        SelectorKind::Lanes { lanes, .. } => {
            write!(f, ".{}", info.letter)?;
            (0..lanes).rev().try_for_each(|lane| write!(f, "{}", bits >> (4 * lane) & 15))
        }
        SelectorKind::Subset { of } => {
            write!(f, ".{}", info.letter)?;
            (0..of).rev().filter(|lane| bits >> lane & 1 == 1).try_for_each(|lane| write!(f, "{lane}"))
        }
    }
}

/// Boxed, so that what is not an error stays small.
pub(crate) type Read<T> = Result<T, Box<Diagnostic>>;

fn fail<T>(code: Code, span: Range<usize>, message: impl Into<String>) -> Read<T> {
    Err(Box::new(Diagnostic::error(code, span, message)))
}

/// What a statement turns out to be from its first word.
pub(crate) enum Opening<'a> {
    /// A form of the table; operands follow.
    Form(&'static FormInfo),
    /// A label; the colon is passed.
    Label(&'a str),
    /// An instruction that is not in the table; the word is passed.
    Outside,
}

/// Reads statements from a text.
pub(crate) struct Reader<'n, 'a> {
    pub(crate) table: &'static Table,
    pub(crate) cursor: Cursor<'a>,
    /// Receives warnings.
    pub(crate) notes: &'n mut Vec<Diagnostic>,
}

impl<'a> Reader<'_, 'a> {
    fn statement(&mut self) -> Read<Statement<'a>> {
        self.cursor.skip_blanks();
        let guard = self.guard()?;
        if !self.cursor.at_word() {
            return fail(Code::Syntax, self.cursor.token(), "an opcode is expected here");
        }
        let start = self.cursor;
        let form = match self.opening()? {
            Opening::Form(form) => form,
            Opening::Label(_) => return fail(Code::Syntax, start.token(), "a label is no part of a statement"),
            Opening::Outside => {
                let mut cursor = start;
                return match mnemonic::read(self.table, &mut cursor) {
                    Err(refusal) => Err(Box::new(refusal.into_diagnostic())),
                    Ok(_) => fail(Code::Syntax, start.token(), "an opcode is expected here"),
                };
            }
        };
        let mut statement = Statement::new(self.table, guard, form);
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

    /// Reads `@p` or `@!p`, if it is there, and the blanks behind it.
    pub(crate) fn guard(&mut self) -> Read<Option<Guard<'a>>> {
        if !self.cursor.eat(b'@') {
            return Ok(None);
        }
        self.cursor.skip_blanks();
        let negated = self.cursor.eat(b'!');
        self.cursor.skip_blanks();
        if !self.cursor.at_word() || self.is_sink() {
            return fail(Code::Guard, self.cursor.token(), "a guard is `@` or `@!` and a predicate register");
        }
        let register = self.cursor.word();
        self.cursor.skip_blanks();
        Ok(Some(Guard { register, negated }))
    }

    /// Whether the word here is `_`.
    fn is_sink(&self) -> bool {
        self.cursor.peek() == b'_' && self.cursor.token().len() == 1
    }

    /// Reads the mnemonic or label that a statement begins with. The cursor must be at a word; blanks behind it are passed.
    #[inline]
    pub(crate) fn opening(&mut self) -> Read<Opening<'a>> {
        let start = self.cursor;
        if let Some(form) = self.table.form(self.cursor.dotted_word()) {
            self.cursor.skip_blanks();
            if form.lenient.is_none() && !matches!(self.cursor.peek(), b'.' | b':') {
                return Ok(Opening::Form(form));
            }
        }
        self.cursor = start;
        self.unusual_opening()
    }

    /// Reads an opening that is no canonical mnemonic, or one that only the assembler takes.
    fn unusual_opening(&mut self) -> Read<Opening<'a>> {
        let start = self.cursor;
        let word = self.cursor.word();
        let end = self.cursor;
        if self.table.instruction(word).is_none() || !matches!(self.cursor.peek(), b'.') {
            self.cursor.skip_blanks();
            if self.cursor.peek() == b':' && self.cursor.peek_at(1) != b':' {
                self.cursor.seek(self.cursor.at() + 1);
                return Ok(Opening::Label(word));
            }
            if self.table.instruction(word).is_none() {
                self.cursor = end;
                return Ok(Opening::Outside);
            }
        }
        self.cursor = start;
        match mnemonic::read(self.table, &mut self.cursor) {
            Ok(resolved) => {
                let span = start.at()..self.cursor.at();
                let canonical = resolved.form.mnemonic;
                let lenient = &self.table.lenient;
                if let Some(note) = resolved.form.lenient {
                    let message = format!("the manual does not list `{canonical}`");
                    self.lenient(Some(note), Code::UnlistedForm, span.clone(), &message)?;
                }
                if resolved.reordered {
                    let message = format!("the modifiers of `{canonical}` stand in another order than the manual's");
                    self.lenient(lenient.modifier_order, Code::ModifierOrder, span.clone(), &message)?;
                }
                if resolved.blanks {
                    let message = format!("blanks stand before a modifier of `{canonical}`");
                    self.lenient(lenient.blank_before_modifier, Code::BlankBeforeModifier, span, &message)?;
                }
                self.cursor.skip_blanks();
                Ok(Opening::Form(resolved.form))
            }
            Err(refusal) => Err(Box::new(refusal.into_diagnostic())),
        }
    }

    /// A warning where the spec has a note that the assembler takes this, an error where it has none.
    pub(crate) fn lenient(
        &mut self,
        note: Option<&'static str>,
        code: Code,
        span: Range<usize>,
        message: &str,
    ) -> Read<()> {
        let Some(note) = note else { return fail(code, span, message) };
        self.notes.push(Diagnostic::warning(code, span, message).with_note(note));
        Ok(())
    }

    fn permitted(&mut self, permission: Permission, code: Code, span: Range<usize>, message: &str) -> Read<()> {
        match permission {
            Permission::Yes => Ok(()),
            Permission::Lenient(note) => self.lenient(Some(note), code, span, message),
            Permission::No => fail(code, span, message),
        }
    }

    /// Reads the operands of a form and the semicolon behind them, which may be left out at the end of the text; tells
    /// whether it is there.
    #[inline]
    pub(crate) fn operands(&mut self, statement: &mut Statement<'a>) -> Read<bool> {
        let infos = statement.form.operands;
        if infos.len() > MAX_OPERANDS {
            let message = format!("this reader takes at most {MAX_OPERANDS} operands");
            return fail(Code::OperandCount, self.cursor.token(), message);
        }
        let first = self.cursor;
        for (index, info) in infos.iter().enumerate() {
            self.cursor.skip_blanks();
            if index > 0 && !self.cursor.eat(b',') {
                if !info.optional || !(self.cursor.peek() == b';' || self.cursor.at_end()) {
                    return self.no_comma(statement.form, index);
                }
                statement.operands[index..infos.len()].iter_mut().for_each(|left| left.value = Value::Absent);
                break;
            }
            if index > 0 {
                self.cursor.skip_blanks();
            }
            self.operand(statement.form, index, info, &mut statement.operands[index])?;
        }
        self.cursor.skip_blanks();
        if infos.iter().any(|info| info.selector.is_some_and(|selector| selector.omission != Permission::Yes)) {
            self.omissions(statement, first)?;
        }
        let ended = self.cursor.eat(b';');
        if ended || self.cursor.at_end() { Ok(ended) } else { self.no_semicolon(statement.form) }
    }

    /// Checks the selectors that must stand where all operands are written, and only there.
    fn omissions(&mut self, statement: &Statement<'a>, first: Cursor<'a>) -> Read<()> {
        let whole = statement.operands().iter().all(|operand| operand.value != Value::Absent);
        for (index, (info, operand)) in statement.operands_with_info().enumerate() {
            let Some(selector) = info.selector.filter(|selector| selector.omission != Permission::Yes) else {
                continue;
            };
            let written = operand.selector != Some(selector.default);
            if written && !whole {
                let span = operand_span(first, index);
                let message = format!("`{}` has a `.{}` only where all operands are written", info.name, selector.name);
                return fail(Code::Selector, span, message);
            }
            if !written && whole {
                let message = format!("`{}` has no `.{}`", info.name, selector.name);
                let span = operand_span(first, index);
                self.permitted(selector.omission, Code::Selector, span, &message)?;
            }
        }
        Ok(())
    }

    /// Something else than a comma stands behind an operand.
    #[cold]
    fn no_comma<T>(&self, form: &FormInfo, read: usize) -> Read<T> {
        if self.cursor.peek() == b';' || self.cursor.at_end() {
            return self.wrong_count(form, read, self.cursor.token());
        }
        fail(Code::Syntax, self.cursor.token(), "`,` is expected here")
    }

    /// Something else than a semicolon stands behind the last operand.
    #[cold]
    fn no_semicolon<T>(&self, form: &FormInfo) -> Read<T> {
        if self.cursor.peek() != b',' {
            return fail(Code::Syntax, self.cursor.token(), "`;` is missing before this");
        }
        let mut cursor = self.cursor;
        let mut count = form.operands.len();
        let mut surplus = None;
        while cursor.eat(b',') {
            cursor.skip_blanks();
            if matches!(cursor.peek(), b';' | b',') || cursor.at_end() {
                return fail(Code::Syntax, cursor.token(), "an operand is expected here");
            }
            let start = cursor.at();
            while !cursor.at_end() && !matches!(cursor.peek(), b',' | b';' | b'}' | b'\n') {
                cursor.bump();
            }
            surplus.get_or_insert(start..cursor.at());
            count += 1;
            cursor.skip_blanks();
        }
        self.wrong_count(form, count, surplus.unwrap_or(self.cursor.token()))
    }

    fn wrong_count<T>(&self, form: &FormInfo, count: usize, span: Range<usize>) -> Read<T> {
        let most = form.operands.len();
        let least = form.operands.iter().filter(|operand| !operand.optional).count();
        let takes = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        let message = format!("`{}` takes {takes} operands, not {count}", form.mnemonic);
        let mut diagnostic = Diagnostic::error(Code::OperandCount, span, message);
        diagnostic.note = Some(format!("it is written `{} {}`", form.mnemonic, signature(form)));
        if let Some(near) = mnemonic::nearest_with_operands(self.table, form, count) {
            diagnostic.help = Some(format!("with {count} operands it is `{} {}`", near.mnemonic, signature(near)));
        }
        Err(Box::new(diagnostic))
    }

    #[inline]
    fn operand(
        &mut self,
        form: &'static FormInfo,
        index: usize,
        info: &'static table::Operand,
        operand: &mut Operand<'a>,
    ) -> Read<()> {
        operand.selector = info.selector.map(|selector| selector.default);
        if self.cursor.at_word() && !self.is_sink() {
            let start = self.cursor;
            let name = self.cursor.word();
            // The usual operand: a register and nothing else.
            let alone = info.second.as_ref().is_none_or(|second| second.optional == Permission::Yes);
            if alone && matches!(self.cursor.peek(), b',' | b';') && name != WARP_NAME {
                operand.value = Value::Register(Register { name, element: None });
                return Ok(());
            }
            self.cursor = start;
        }
        self.unusual_operand(form, index, info, operand)
    }

    fn unusual_operand(
        &mut self,
        form: &'static FormInfo,
        index: usize,
        info: &'static table::Operand,
        operand: &mut Operand<'a>,
    ) -> Read<()> {
        let start = self.cursor.at();
        match self.cursor.peek() {
            b'!' if self.negates_a_name() => self.negated(info, operand)?,
            _ if self.is_sink() => {
                self.cursor.word();
                if !info.sink {
                    let message = format!("`_` cannot stand for `{}` of `{}`", info.name, form.mnemonic);
                    return fail(Code::Sink, start..start + 1, message);
                }
            }
            _ if self.cursor.at_word() && self.cursor.text()[self.cursor.token()] != *WARP_NAME => {
                self.named(info, operand)?;
            }
            b'[' => return fail(Code::OperandType, start..start + 1, format!("`{}` is no address", info.name)),
            b'{' => return fail(Code::OperandType, start..start + 1, format!("`{}` is no vector", info.name)),
            b';' if index > 0 => return fail(Code::Syntax, self.cursor.token(), "an operand is expected here"),
            b';' | 0 => return self.wrong_count(form, index, self.cursor.token()),
            b'.' | b'+' | b'-' | b'~' | b'!' | b'(' | b'0'..=b'9' | b'A'..=b'Z' => self.constant(info, operand)?,
            _ => return fail(Code::Syntax, self.cursor.token(), "an operand is expected here"),
        }
        self.second(form, info, start, operand)
    }

    /// Whether a name that is no constant follows the `!` here.
    fn negates_a_name(&self) -> bool {
        let mut cursor = self.cursor;
        cursor.bump();
        cursor.skip_blanks();
        cursor.at_word() && cursor.text()[cursor.token()] != *WARP_NAME
    }

    fn negated(&mut self, info: &'static table::Operand, operand: &mut Operand<'a>) -> Read<()> {
        let start = self.cursor.at();
        self.cursor.bump();
        self.cursor.skip_blanks();
        if self.is_sink() {
            return fail(Code::Sink, self.cursor.token(), "`_` cannot be negated");
        }
        let name = self.cursor.word();
        let message = format!("`{}` cannot be negated", info.name);
        self.permitted(info.negation, Code::Negation, start..self.cursor.at(), &message)?;
        operand.value = Value::Negated(Register { name, element: None });
        Ok(())
    }

    /// Reads a name, and the element, selector or sum behind it.
    fn named(&mut self, info: &'static table::Operand, operand: &mut Operand<'a>) -> Read<()> {
        let name = self.cursor.word();
        let mut register = Register { name, element: None };
        let end = self.cursor;
        self.cursor.skip_blanks();
        if self.cursor.at_dot_word() {
            let span = self.cursor.at()..self.cursor.at() + 1 + self.cursor_dot_word_len();
            if self.cursor.at() > end.at() {
                let note = self.table.lenient.blank_before_modifier;
                let message = format!("blanks stand before `{}`", &self.cursor.text()[span.clone()]);
                self.lenient(note, Code::BlankBeforeModifier, span.clone(), &message)?;
            }
            let word = self.cursor.dot_word();
            match &info.selector {
                Some(selector) => operand.selector = Some(self.selector(info, selector, word, span)?),
                None => register.element = Some(element(info, word, span)?),
            }
        } else if self.cursor.peek() == b'+' {
            let start = span_of(self.cursor.text(), name).start;
            self.cursor.bump();
            let addend = constant::integer(&mut self.cursor).map_err(constant_error)?;
            let span = start..self.cursor.at();
            if !info.sums {
                let message = format!("`{}` is a register, not a sum", info.name);
                return fail(Code::OperandType, span, message);
            }
            let note = self.table.lenient.register_plus_constant;
            self.lenient(
                note,
                Code::RegisterPlusConstant,
                span,
                "a register or variable plus a constant is no operand",
            )?;
            operand.value = Value::Sum { name, addend };
            return Ok(());
        } else {
            self.cursor = end;
        }
        operand.value = Value::Register(register);
        Ok(())
    }

    fn cursor_dot_word_len(&self) -> usize {
        let mut cursor = self.cursor;
        cursor.dot_word().len()
    }

    fn selector(&self, info: &table::Operand, selector: &SelectorInfo, word: &str, span: Range<usize>) -> Read<u32> {
        pack(word, selector).ok_or_else(|| {
            let message = format!("`.{word}` is no `.{}` of `{}`", selector.name, info.name);
            Box::new(Diagnostic::error(Code::Selector, span, message).with_help(describe_selector(selector)))
        })
    }

    fn constant(&mut self, info: &'static table::Operand, operand: &mut Operand<'a>) -> Read<()> {
        let start = self.cursor.at();
        let value = constant::expression(&mut self.cursor).map_err(constant_error)?;
        let span = start..self.cursor.at();
        if !info.constants || info.destination {
            let message = format!("`{}` is a register, not a constant", info.name);
            return fail(Code::Constant, span, message);
        }
        let ty = &self.table.types[info.ty.index()];
        let bits = value.bits(ty).map_err(|error| {
            let diagnostic = Diagnostic::error(Code::Constant, span.clone(), format!("{error}"));
            Box::new(match describe_constants(ty) {
                Some(takes) => diagnostic.with_help(format!("it takes {takes}")),
                None => diagnostic.with_help("it takes registers only"),
            })
        })?;
        if ty.kind == Kind::Predicate {
            let message = format!("`{}` is a constant in place of a predicate", info.name);
            self.lenient(self.table.lenient.constant_predicate, Code::Constant, span, &message)?;
        }
        operand.value = Value::Constant(bits);
        Ok(())
    }

    /// Reads the second destination, if there is one, and checks that there may be one, or none.
    fn second(
        &mut self,
        form: &'static FormInfo,
        info: &'static table::Operand,
        start: usize,
        operand: &mut Operand<'a>,
    ) -> Read<()> {
        let end = self.cursor;
        self.cursor.skip_blanks();
        let has_element = matches!(operand.value, Value::Register(Register { element: Some(_), .. }));
        if self.cursor.peek() != b'|' || !info.destination || has_element {
            self.cursor = end;
            let Some(second) = &info.second else { return Ok(()) };
            let message = format!("`{}` has a second destination, `{}|{}`", form.mnemonic, info.name, second.name);
            return self.permitted(second.optional, Code::Destination, start..end.at(), &message);
        }
        let bar = self.cursor.at();
        self.cursor.bump();
        self.cursor.skip_blanks();
        if !self.cursor.at_word() {
            return fail(Code::Syntax, self.cursor.token(), "a register or `_` is expected behind `|`");
        }
        let span = self.cursor.token();
        let sink = self.is_sink();
        let name = self.cursor.word();
        match info.second {
            None if sink && operand.value != Value::Sink => {
                let message = format!("`{}` has one destination", form.mnemonic);
                let selector = self.cursor.text()[start..end.at()].contains('.');
                match (info.trailing_sink, self.table.lenient.sink_behind_destination) {
                    (Permission::No, note @ Some(_)) if !selector => {
                        self.lenient(note, Code::Destination, bar..span.end, &message)?;
                    }
                    (permission, _) => self.permitted(permission, Code::Destination, bar..span.end, &message)?,
                }
            }
            None => {
                let message = format!("`{}` has one destination", form.mnemonic);
                return fail(Code::Destination, bar..span.end, message);
            }
            Some(_) if sink && (operand.value == Value::Sink || !info.sink) => {
                return fail(Code::Sink, span, "`_` may stand for one destination, not for both");
            }
            Some(_) if operand.value == Value::Register(Register { name, element: None }) => {
                let note = self.table.lenient.repeated_destination;
                self.lenient(note, Code::Destination, span, &format!("`{name}` is both destinations"))?;
            }
            Some(_) => {}
        }
        operand.second = Some(if sink { Second::Sink } else { Second::Register(name) });
        Ok(())
    }
}

fn constant_error(error: constant::ConstantError) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(Code::Constant, error.span, format!("{}", error.kind)))
}

fn element(info: &table::Operand, word: &str, span: Range<usize>) -> Read<u8> {
    let found = ELEMENTS.iter().position(|names| names.contains(&word));
    match found {
        Some(index) if info.elements => Ok(index as u8),
        Some(_) => fail(Code::OperandType, span, format!("`{}` is a register, not an element of a vector", info.name)),
        None if word.bytes().any(|byte| byte.is_ascii_digit()) => {
            fail(Code::Selector, span, format!("`{}` takes no selector", info.name))
        }
        None => fail(Code::OperandType, span, format!("`.{word}` is no element of a vector")),
    }
}

/// The packed value of a selector's word; digits are written from the highest lane down.
fn pack(word: &str, selector: &SelectorInfo) -> Option<u32> {
    let digits = || word.strip_prefix(selector.letter).map(str::as_bytes);
    let below = |of: u8| move |digit: &u8| digit.is_ascii_digit() && digit - b'0' < of;
    let value = |digit: &u8| u32::from(digit - b'0');
    match selector.kind {
        SelectorKind::Listed { words } => words.iter().position(|other| *other == word).map(|index| index as u32),
        SelectorKind::Lanes { lanes, of } => {
            let digits = digits()?;
            let right = digits.len() == usize::from(lanes) && digits.iter().all(below(of));
            right.then(|| digits.iter().fold(0, |bits, digit| bits << 4 | value(digit)))
        }
        SelectorKind::Subset { of } => {
            let digits = digits()?;
            let falling = digits.windows(2).all(|pair| pair[0] > pair[1]);
            let right = !digits.is_empty() && falling && digits.iter().all(below(of));
            right.then(|| digits.iter().fold(0, |bits, digit| bits | 1 << value(digit)))
        }
    }
}

fn describe_selector(selector: &SelectorInfo) -> String {
    let letter = selector.letter;
    match selector.kind {
        SelectorKind::Listed { words } => format!("it is one of `.{}`", words.join("`, `.")),
        SelectorKind::Lanes { lanes, of } => {
            format!("a selector is `.{letter}` and {lanes} digits from 0 to {}", of.saturating_sub(1))
        }
        SelectorKind::Subset { of } => {
            format!("a mask is `.{letter}` and up to {of} falling digits from {} to 0", of.saturating_sub(1))
        }
    }
}

fn describe_constants(ty: &TypeInfo) -> Option<&'static str> {
    let takes = ty.constants;
    Some(match (takes.integer, takes.float, takes.single) {
        (true, false, false) => "integers",
        (true, true, _) => "integers and floats",
        (true, false, true) => "integers and `0f…`",
        (false, true, _) => "floats: write a point, `0f…` or `0d…`",
        (false, false, true) => "`0f…`",
        (false, false, false) => return None,
    })
}

/// The operands of a form as the manual writes them: `p[|q], a, b, {!}c`.
pub fn signature(form: &FormInfo) -> String {
    let mut text = String::new();
    for operand in form.operands {
        text.push_str(match (text.is_empty(), operand.optional) {
            (true, _) => "",
            (false, true) => "{, ",
            (false, false) => ", ",
        });
        text.push_str(if operand.negation == Permission::Yes { "{!}" } else { "" });
        text.push_str(operand.name);
        match &operand.second {
            Some(second) if second.optional == Permission::Yes => text.push_str(&format!("[|{}]", second.name)),
            Some(second) => text.push_str(&format!("|{}", second.name)),
            None => {}
        }
        if let Some(selector) = &operand.selector {
            text.push_str(&format!("{{.{}}}", selector.name));
        }
        text.push_str(if operand.optional { "}" } else { "" });
    }
    text
}

/// Where an operand stands, of those that begin at a place.
fn operand_span(mut cursor: Cursor<'_>, index: usize) -> Range<usize> {
    for _ in 0..index {
        while !cursor.at_end() && cursor.peek() != b',' {
            cursor.bump();
        }
        cursor.eat(b',');
    }
    cursor.skip_blanks();
    let start = cursor.at();
    let mut end = start;
    while !cursor.at_end() && !matches!(cursor.peek(), b',' | b';') {
        let blank = cursor.peek().is_ascii_whitespace();
        cursor.bump();
        end = if blank { end } else { cursor.at() };
    }
    start..end
}
