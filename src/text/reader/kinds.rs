//! Reads operands that are not scalars: addresses, vectors, names, and call arguments.

use alloc::boxed::Box;
use alloc::format;
use core::ops::Range;

use super::operand::{constant_error, only_bits};
use super::{Read, Reader, fail};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{self, FormInfo, Kind, Lenient, OperandKind, TypeInfo};
use crate::text::constant::{self, Constant, WARP_NAME};
use crate::text::lexer::{Cursor, span_of};
use crate::text::statement::{Element, Elements, Operand, Register, Value, element_index};

/// Values between two brackets, and the byte range of the whole.
struct List<'a> {
    elements: Elements<'a>,
    span: Range<usize>,
    /// Number of values.
    count: usize,
    /// `constants`: at least one value is a constant. `dropped`: all values are sinks (`_`).
    constants: bool,
    dropped: bool,
}

impl<'a> Reader<'a> {
    /// Reads an operand that is not scalar. `bare` is true for an address without brackets.
    #[inline]
    pub(super) fn of_kind(
        &mut self,
        form: FormInfo,
        info: &'static table::Operand,
        bare: bool,
        operand: &mut Operand<'a>,
    ) -> Read<()> {
        let start = self.cursor.at();
        operand.selector = None;
        operand.value = match info.kind {
            OperandKind::Address => self.address(info, bare)?,
            OperandKind::Vector(count) => self.vector(info, usize::from(count))?,
            OperandKind::Arguments => self.arguments(info)?,
            OperandKind::Label
            | OperandKind::Function
            | OperandKind::Branches
            | OperandKind::Targets
            | OperandKind::Scalar => Value::Name(self.name(form, info)?),
        };
        if info.second.is_some() {
            self.second(form, info, start, operand)?;
        }
        Ok(())
    }

    fn name(&mut self, form: FormInfo, info: &'static table::Operand) -> Read<&'a str> {
        if !self.cursor.at_word() || self.is_sink() {
            let message = format!("the operand `{}` of `{}` is a name", info.name, form.mnemonic());
            return fail(Code::OperandType, self.cursor.token(), message);
        }
        Ok(self.cursor.word())
    }

    /// Reads an address: `a`, `a+4`, `16` or, without brackets around it, an array element `a[1]`.
    fn address(&mut self, info: &'static table::Operand, bare: bool) -> Read<Value<'a>> {
        let start = self.cursor.at();
        let Some(name) = self.cursor.word_but(WARP_NAME) else {
            let address = constant::integer(&mut self.cursor).map_err(constant_error)?;
            return Ok(Value::Constant(address));
        };
        if name == "_" {
            return fail(Code::Sink, start..start + 1, format!("the operand `{}` is an address", info.name));
        }
        self.cursor.skip_blanks();
        match self.cursor.peek() {
            b'+' => {
                if !info.sums {
                    let message = format!("the operand `{}` is an address without an offset", info.name);
                    return fail(Code::OperandType, start..self.cursor.at() + 1, message);
                }
                self.cursor.bump();
                let addend = constant::integer(&mut self.cursor).map_err(constant_error)?;
                Ok(Value::Sum { name, addend })
            }
            b'[' if bare => {
                let index = self.index()?;
                Ok(Value::Element { name, index })
            }
            _ => Ok(Value::Register(Register { name, element: None })),
        }
    }

    /// Reads a vector: `{a, b}`, or the name of a vector register.
    fn vector(&mut self, info: &'static table::Operand, count: usize) -> Read<Value<'a>> {
        if count > 1 && self.cursor.at_word() && !self.is_sink() {
            return Ok(Value::Register(Register { name: self.cursor.word(), element: None }));
        }
        if info.sink && self.is_sink() {
            self.cursor.word();
            return Ok(Value::Sink);
        }
        let message = || format!("the operand `{}` is a vector of {count}: `{{` is expected here", info.name);
        let List { elements, span, count: found, constants, dropped } = self.list(info, b'{', b'}', message)?;
        let longer = info.longer && found > count && matches!(found, 2 | 4);
        if found != count && !longer {
            let message = format!("the operand `{}` is a vector of {count}, not of {found}", info.name);
            return fail(Code::OperandType, span, message);
        }
        if dropped {
            return fail(Code::Sink, span, "one element of a vector is a register at least");
        }
        if constants {
            self.constants_of(info, elements)?;
        }
        Ok(Value::Vector(elements))
    }

    /// Checks that the constants of a vector are valid for its type. In a vector that also has registers, the assembler
    /// compares them with those only. Otherwise integers have 64 bits, and fit all operands that take such registers.
    fn constants_of(&mut self, info: &'static table::Operand, elements: Elements<'a>) -> Read<()> {
        let ty = self.table.ty(info.ty);
        let registers = elements.iter().any(|element| matches!(element, Element::Register(_)));
        for element in elements.iter() {
            let Element::Constant(text) = element else { continue };
            let value = constant::parse(text).map_err(constant_error)?;
            let span = span_of(self.cursor.text(), text);
            if let Err(error) = value.bits(ty) {
                let integer = matches!(value, Constant::Integer { .. });
                let any = registers || integer && self.takes_long_integers(info);
                let note = self.table.takes(Lenient::ConstantBesideBits).filter(|_| any);
                self.lenient(note, Code::Constant, span, &format!("{error}"))?;
            } else if !registers && !info.numbers {
                only_bits(info, value, span)?;
            }
        }
        Ok(())
    }

    /// Returns true if an operand accepts integer registers of 64 bits: it lists them, or is as wide and accepts wider ones.
    fn takes_long_integers(&self, info: &'static table::Operand) -> bool {
        let long = self.table.ty(info.ty).bits == 64;
        let fits = |register: &TypeInfo| {
            let listed = register.bits == 64 && matches!(register.kind, Kind::Unsigned | Kind::Signed);
            listed || long && register.bits > 64
        };
        info.registers.iter().any(|register| fits(self.table.ty(register)))
    }

    /// Reads call arguments: `(a, b)`, `(a)`, `()`.
    fn arguments(&mut self, info: &'static table::Operand) -> Read<Value<'a>> {
        let message = || format!("the operand `{}` must be in parentheses: `(` is expected here", info.name);
        Ok(Value::Arguments(self.list(info, b'(', b')', message)?.elements))
    }

    /// Reads values between two brackets, and makes the checks that need no declarations.
    fn list(
        &mut self,
        info: &'static table::Operand,
        open: u8,
        close: u8,
        message: impl Fn() -> alloc::string::String,
    ) -> Read<List<'a>> {
        let start = self.cursor.at();
        if !self.cursor.eat(open) {
            return fail(Code::OperandType, self.cursor.token(), message());
        }
        let from = self.cursor.at();
        self.cursor.skip_blanks();
        let (mut count, mut constants, mut dropped) = (0, false, true);
        let empty = open == b'(' && self.cursor.peek() == close;
        if !empty {
            loop {
                let element = self.element(info)?;
                count += 1;
                constants |= matches!(element, Element::Constant(_));
                dropped &= element == Element::Sink;
                let end = self.cursor.at();
                self.cursor.skip_blanks();
                if !self.cursor.eat(b',') {
                    self.list_goes_on(end, close)?;
                    break;
                }
                self.cursor.skip_blanks();
            }
        }
        let text = &self.cursor.text()[from..self.cursor.at()];
        if !self.cursor.eat(close) {
            let message = format!("`{}` is expected here", char::from(close));
            return fail(Code::Syntax, self.cursor.token(), message);
        }
        Ok(List { elements: Elements { text }, span: start..self.cursor.at(), count, constants, dropped })
    }

    /// Reports a comma that is missing behind a value, which ends at `end`: another value of the list follows.
    fn list_goes_on(&self, end: usize, close: u8) -> Read<()> {
        let (mut cursor, next) = (self.cursor, self.cursor.token());
        while cursor.peek() != close && cursor.peek() != b',' {
            let start = cursor.at();
            // A line that begins a statement is no value: it has a mnemonic, or a semicolon behind it.
            if element(&mut cursor).is_err() || cursor.at() == start {
                return Ok(());
            }
            cursor.skip_blanks();
        }
        if cursor.at() == next.start {
            return Ok(());
        }
        let error = Diagnostic::error(Code::Syntax, next, "`,` is missing before this");
        Err(Box::new(error.with_fix(end..end, ",")))
    }

    /// Reads a value of a list, and checks that the operand accepts it.
    fn element(&mut self, info: &'static table::Operand) -> Read<Element<'a>> {
        let start = self.cursor.at();
        let element = element(&mut self.cursor).map_err(constant_error)?;
        match element {
            Element::Sink if !info.sinks => {
                fail(Code::Sink, start..self.cursor.at(), format!("`_` cannot be part of the operand `{}`", info.name))
            }
            Element::Constant(_) if info.kind != OperandKind::Arguments && (!info.constants || info.destination) => {
                let message = format!("the operand `{}` holds registers, not constants", info.name);
                fail(Code::Constant, start..self.cursor.at(), message)
            }
            _ => Ok(element),
        }
    }
}

/// Reads a value of a list.
fn element<'a>(cursor: &mut Cursor<'a>) -> Result<Element<'a>, constant::ConstantError> {
    if let Some(name) = cursor.word_but(WARP_NAME) {
        if name == "_" {
            return Ok(Element::Sink);
        }
        let end = *cursor;
        cursor.skip_blanks();
        if cursor.at_dot_word() {
            let word = cursor.dot_word();
            let element = element_index(word);
            if element.is_some() {
                return Ok(Element::Register(Register { name, element }));
            }
        }
        *cursor = end;
        return Ok(Element::Register(Register { name, element: None }));
    }
    let start = cursor.at();
    constant::expression(cursor)?;
    Ok(Element::Constant(&cursor.text()[start..cursor.at()]))
}

/// Iterates over the values of a list that has been read before.
pub(crate) fn elements(text: &str) -> impl Iterator<Item = Element<'_>> {
    let mut cursor = Cursor::new(text);
    core::iter::from_fn(move || {
        cursor.skip_blanks();
        cursor.eat(b',');
        cursor.skip_blanks();
        if cursor.at_end() { None } else { element(&mut cursor).ok() }
    })
}
