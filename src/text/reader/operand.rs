//! Reads one operand: a register, an element of a vector, a selector, a sink, a constant, a negation, a second register.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Read, Reader, fail, missing_semicolon, negates_a_name};
use crate::diagnostic::{Code, Diagnostic};
use crate::selector::{Permission, Selector};
use crate::table::{self, Around, FormInfo, Free, Kind, Lenient, OperandKind, TypeInfo};
use crate::text::constant::{self, Constant, WARP_NAME, at_name};
use crate::text::lexer::{Cursor, span_of};
use crate::text::statement::{Operand, Register, Second, Value, element_index};

impl<'a> Reader<'a> {
    /// Fast path for the usual operand: reads a single register, with the comma and blanks before it. Returns false if
    /// the operand is anything else.
    #[inline]
    pub(super) fn register_alone(
        &mut self,
        index: usize,
        info: &'static table::Operand,
        operand: &mut Operand<'a>,
    ) -> bool {
        if info.kind != OperandKind::Scalar
            || info.around != Around::default()
            || info.registers.is_empty()
            || info.second.is_some_and(|second| second.optional != Permission::Yes)
        {
            return false;
        }
        let start = self.cursor;
        match self.cursor.name_alone(index > 0) {
            Some(name) if name != WARP_NAME => {
                let value = Value::Register(Register { name, element: None });
                *operand = Operand { value, selector: info.selector.map(|selector| selector.default), second: None };
                true
            }
            _ => {
                self.cursor = start;
                false
            }
        }
    }

    pub(super) fn operand(
        &mut self,
        form: FormInfo,
        free: &Free,
        index: usize,
        info: &'static table::Operand,
        operand: &mut Operand<'a>,
    ) -> Read<()> {
        operand.selector = info.selector.map(|selector| selector.default);
        let start = self.cursor.at();
        match self.cursor.peek() {
            b'!' if negates_a_name(self.cursor) => self.negated(info, operand)?,
            b'-' if negates_a_name(self.cursor) => {
                let message = format!("the operand `{}` cannot be negated", info.name);
                return fail(Code::Negation, start..start + 1, message);
            }
            _ if self.is_sink() => {
                self.cursor.word();
                if !info.sink || info.kind != OperandKind::Scalar {
                    let message = format!("`_` cannot replace the operand `{}` of `{}`", info.name, form.mnemonic());
                    return fail(Code::Sink, start..start + 1, message);
                }
            }
            _ if at_name(&self.cursor) => {
                self.named(info, operand)?;
            }
            b'[' => {
                return fail(
                    Code::OperandType,
                    start..start + 1,
                    format!("the operand `{}` cannot be an address", info.name),
                );
            }
            b'{' => {
                return fail(
                    Code::OperandType,
                    start..start + 1,
                    format!("the operand `{}` is not a vector", info.name),
                );
            }
            b';' if index > 0 => return fail(Code::Syntax, self.cursor.token(), "an operand is expected here"),
            b';' | 0 => return self.wrong_count(form, free, index, self.cursor.token()),
            b'.' | b'+' | b'-' | b'~' | b'!' | b'(' | b'0'..=b'9' | b'A'..=b'Z' => self.constant(info, operand)?,
            _ => return fail(Code::Syntax, self.cursor.token(), "an operand is expected here"),
        }
        self.second(form, info, start, operand)
    }

    fn negated(&mut self, info: &'static table::Operand, operand: &mut Operand<'a>) -> Read<()> {
        let start = self.cursor.at();
        self.cursor.bump();
        self.cursor.skip_blanks();
        if self.is_sink() {
            return fail(Code::Sink, self.cursor.token(), "`_` cannot be negated");
        }
        let name = self.cursor.word();
        let message = format!("the operand `{}` cannot be negated", info.name);
        self.permitted(info.negation, Code::Negation, start..self.cursor.at(), &message)?;
        operand.value = Value::Negated(Register { name, element: None });
        Ok(())
    }

    /// Reads a name, and any element, selector or addend after it.
    fn named(&mut self, info: &'static table::Operand, operand: &mut Operand<'a>) -> Read<()> {
        let name = self.cursor.word();
        if info.registers.is_empty() {
            let instead = if info.destination { "`_`" } else { "a constant" };
            let message = format!("operand `{}` must be {instead}, not a register", info.name);
            return fail(Code::OperandType, span_of(self.cursor.text(), name), message);
        }
        let mut register = Register { name, element: None };
        let end = self.cursor;
        self.cursor.skip_blanks();
        if self.cursor.at_dot_word() {
            let span = self.cursor.at()..self.cursor.at() + 1 + self.cursor_dot_word_len();
            let apart = self.cursor.at() > end.at();
            if apart && self.text_between(end.at()).contains('\n') && !self.is_element_or_selector(info, span.clone()) {
                return missing_semicolon(self.cursor.text(), end.at(), span);
            }
            if apart {
                let note = self.table.takes(Lenient::BlankBeforeModifier);
                let message = format!("blanks before `{}`", &self.cursor.text()[span.clone()]);
                let finding = Diagnostic::error(Code::BlankBeforeModifier, span.clone(), message);
                self.tolerated(note, finding.with_safe_fix(end.at()..span.start, ""))?;
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
                let message = format!("the operand `{}` is a register, not a sum", info.name);
                return fail(Code::OperandType, span, message);
            }
            if !info.addresses {
                let note = self.table.takes(Lenient::RegisterPlusConstant);
                let message = "a register or variable plus a constant is not an operand";
                self.lenient(note, Code::RegisterPlusConstant, span, message)?;
            }
            operand.value = Value::Sum { name, addend };
            return Ok(());
        } else if self.cursor.peek() == b'[' && info.addresses {
            let index = self.index()?;
            operand.value = Value::Element { name, index };
            return Ok(());
        } else {
            self.cursor = end;
        }
        operand.value = Value::Register(register);
        Ok(())
    }

    /// Reads an index, such as `[1]`, after the name of an array.
    pub(super) fn index(&mut self) -> Read<u64> {
        self.cursor.bump();
        let index = constant::integer(&mut self.cursor).map_err(constant_error)?;
        self.cursor.skip_blanks();
        if !self.cursor.eat(b']') {
            return fail(Code::Syntax, self.cursor.token(), "`]` is expected here");
        }
        Ok(index)
    }

    pub(super) fn text_between(&self, start: usize) -> &'a str {
        &self.cursor.text()[start..self.cursor.at()]
    }

    /// Returns true if the word after a dot may belong to the preceding operand.
    fn is_element_or_selector(&self, info: &table::Operand, span: Range<usize>) -> bool {
        let word = &self.cursor.text()[span.start + 1..span.end];
        element_index(word).is_some()
            || info.selector.is_some_and(|selector| selector.kind.parse(selector.letter, word).is_some())
    }

    fn cursor_dot_word_len(&self) -> usize {
        let mut cursor = self.cursor;
        cursor.dot_word().len()
    }

    pub(super) fn selector(
        &self,
        info: &table::Operand,
        selector: &Selector,
        word: &str,
        span: Range<usize>,
    ) -> Read<u32> {
        selector.parse(word).ok_or_else(|| {
            let message = format!("`.{word}` is not a valid `.{}` of the operand `{}`", selector.name, info.name);
            Box::new(
                Diagnostic::error(Code::Selector, span, message).with_help(selector.kind.describe(selector.letter)),
            )
        })
    }

    fn constant(&mut self, info: &'static table::Operand, operand: &mut Operand<'a>) -> Read<()> {
        let start = self.cursor.at();
        let value = constant::expression(&mut self.cursor).map_err(constant_error)?;
        let span = start..self.cursor.at();
        if !info.constants || info.destination {
            let message = format!("the operand `{}` is a register, not a constant", info.name);
            return fail(Code::Constant, span, message);
        }
        let ty = self.table.ty(info.ty);
        let bits = value.bits(ty).map_err(|error| {
            let mut diagnostic = Diagnostic::error(Code::Constant, span.clone(), format!("{error}"));
            let digits = self.cursor.text()[span.clone()].trim_start_matches('-');
            if ty.constants.float && !ty.constants.integer && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                diagnostic = diagnostic.with_fix(span.end..span.end, ".0");
            }
            Box::new(match describe_constants(ty) {
                Some(takes) => diagnostic.with_help(format!("it takes {takes}")),
                None => diagnostic.with_help("it takes registers only"),
            })
        })?;
        if !info.numbers {
            only_bits(info, value, span.clone())?;
        }
        // The range check uses the integer before truncation to the operand's type.
        let whole = match value {
            Constant::Integer { bits, .. } => bits,
            _ => bits,
        };
        if !info.within.is_empty() && !info.within.iter().any(|range| range.has(whole)) {
            let ranges: Vec<String> = info.within.iter().map(|range| range.in_words(ty.kind, ty.bits.into())).collect();
            let message = format!("as a constant, the operand `{}` must be {}", info.name, ranges.join(" or "));
            return fail(Code::Constant, span, message);
        }
        if ty.kind == Kind::Predicate && !info.listed_constants {
            let message = format!("the operand `{}` is a constant in place of a predicate", info.name);
            self.lenient(self.table.takes(Lenient::ConstantPredicate), Code::Constant, span, &message)?;
        }
        operand.value = Value::Constant(bits);
        Ok(())
    }

    /// Reads the second destination, if any, and checks that it is permitted or may be omitted.
    pub(super) fn second(
        &mut self,
        form: FormInfo,
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
            let message = format!("`{}` has a second destination, `{}|{}`", form.mnemonic(), info.name, second.name);
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
                let message = format!("`{}` has one destination", form.mnemonic());
                let selector = self.cursor.text()[start..end.at()].contains('.');
                match (info.trailing_sink, self.table.takes(Lenient::SinkBehindDestination)) {
                    (Permission::No, note @ Some(_)) if !selector => {
                        let finding = Diagnostic::error(Code::Destination, bar..span.end, message);
                        self.tolerated(note, finding.with_safe_fix(bar..span.end, ""))?;
                    }
                    (permission, _) => self.permitted(permission, Code::Destination, bar..span.end, &message)?,
                }
            }
            None => {
                let message = format!("`{}` has one destination", form.mnemonic());
                return fail(Code::Destination, bar..span.end, message);
            }
            Some(_) if sink && operand.value == Value::Sink => {
                return fail(Code::Sink, span, "`_` may replace one destination, not both");
            }
            Some(second) if sink && second.optional == Permission::No => {
                let message = format!("`_` cannot replace the operand `{}` of `{}`", second.name, form.mnemonic());
                return fail(Code::Sink, span, message);
            }
            Some(_) if operand.value == Value::Register(Register { name, element: None }) => {
                let note = self.table.takes(Lenient::RepeatedDestination);
                self.lenient(note, Code::Destination, span, &format!("`{name}` is both destinations"))?;
            }
            Some(_) => {}
        }
        operand.second = Some(if sink { Second::Sink } else { Second::Register(name) });
        Ok(())
    }
}

#[cold]
pub(crate) fn constant_error(error: constant::ConstantError) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(Code::Constant, error.span, format!("{}", error.kind)))
}

/// Reports a constant that is not spelt as 32 bits.
pub(super) fn only_bits(info: &table::Operand, value: Constant, span: Range<usize>) -> Read<()> {
    if matches!(value, Constant::Single(_)) {
        return Ok(());
    }
    fail(Code::Constant, span, format!("a constant for the operand `{}` must be written as 32 bits, `0f…`", info.name))
}

fn element(info: &table::Operand, word: &str, span: Range<usize>) -> Read<u8> {
    match element_index(word) {
        Some(index) if info.elements => Ok(index),
        Some(_) => fail(
            Code::OperandType,
            span,
            format!("the operand `{}` is a register, not an element of a vector", info.name),
        ),
        None if word.bytes().any(|byte| byte.is_ascii_digit()) => {
            fail(Code::Selector, span, format!("the operand `{}` takes no selector", info.name))
        }
        None => fail(Code::OperandType, span, format!("`.{word}` is not an element of a vector")),
    }
}

/// Describes the constants that a type accepts; `None` if it accepts none.
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

/// Returns the byte range of an operand. `cursor` is at the start of the first operand.
pub(super) fn operand_span(mut cursor: Cursor<'_>, index: usize) -> Range<usize> {
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
