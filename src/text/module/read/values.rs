//! What follows the name of a variable: its dimensions and its initializer.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Attributes, ModuleReader, Output, Part, Value};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Feature, Space};
use crate::text::alike;
use crate::text::constant::{self, Constant, WARP, WARP_NAME, at_name};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, constant_error, fail};

/// Maximum number of array dimensions; each is a level of recursion into nested braces.
const MOST_DIMENSIONS: usize = 64;

/// Reports a word that is none of some words.
#[cold]
fn one_of(word: &str, span: Range<usize>, message: String, which: &str, words: &[&'static str]) -> Read<()> {
    let error = Diagnostic::error(Code::Syntax, span, message);
    if !word.is_empty() && alike::closest(word, words.iter().copied()).is_some() {
        return Err(Box::new(alike::suggest(error, word, "", words.iter().copied())));
    }
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    Err(Box::new(error.with_help(format!("{which} {}", words.join(", ")))))
}

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    /// Reads the dimensions and initializer, such as `[2][3] = {…}`, up to the comma or semicolon after them. What
    /// cannot be read of them is reported and skipped.
    pub(super) fn contents(
        &mut self,
        space: &'static Space,
        attributes: &Attributes<'a>,
        name: &'a str,
        external: bool,
        keyword: Range<usize>,
    ) -> Read<()> {
        let start = self.reader.cursor;
        let Err(error) = self.dimensions_and_values(space, attributes, name, external, &keyword) else { return Ok(()) };
        self.out.part(Part::ContentsBroken(error));
        self.reader.cursor = start;
        self.pass_contents(keyword)
    }

    fn dimensions_and_values(
        &mut self,
        space: &'static Space,
        attributes: &Attributes<'a>,
        name: &'a str,
        external: bool,
        keyword: &Range<usize>,
    ) -> Read<()> {
        let mut shape = self.dimensions()?;
        self.out.part(Part::Dimensions(&shape));
        if self.bank(space, keyword).is_some_and(|bank| bank > 0) && !(external && shape.first() == Some(&0)) {
            let message = format!("`{name}` is not in the first bank, and no external array of unknown length");
            let error = Diagnostic::error(Code::Syntax, keyword.clone(), message);
            return Err(Box::new(
                error.with_help(format!("write it like `.extern .{}[1] .b32 {name}[];`", space.name)),
            ));
        }
        if self.cursor().peek() != b'=' {
            if shape.contains(&0) && !external {
                let message = format!("`{name}` has no length: only what is `.extern` or has values needs none");
                return fail(Code::Syntax, span_of(self.text(), name), message);
            }
            return Ok(());
        }
        let at = self.cursor().at();
        if external || !space.values {
            let why = if external { "what is `.extern`" } else { "a variable in this state space" };
            return fail(Code::Syntax, at..at + 1, format!("{why} begins without a value"));
        }
        self.cursor().bump();
        self.cursor().skip_blanks();
        let token = self.reader.cursor.token();
        if attributes.ty.is_none() {
            return match self.reader.table.space(attributes.word).filter(|space| space.opaque) {
                Some(opaque) => self.fields(opaque, space, &shape),
                None => self.pass_contents(token),
            };
        }
        let vector = attributes.lanes > 1;
        if vector {
            shape.push(attributes.lanes.into());
        }
        let first = self.values(&shape, vector, 0)?;
        let length = (shape.first() == Some(&0)).then_some(first);
        self.out.part(Part::ValuesEnd { dimensions: shape.len(), length });
        if length == Some(0) {
            return fail(Code::Syntax, token, format!("no values give `{name}` no length"));
        }
        Ok(())
    }

    /// Reads dimensions such as `[2][3]`. The first one may be empty, which is returned as 0.
    pub(super) fn dimensions(&mut self) -> Read<Vec<u64>> {
        let mut shape = Vec::new();
        loop {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            if !self.cursor().eat(b'[') {
                return Ok(shape);
            }
            self.cursor().skip_blanks();
            if self.text()[self.cursor().token()] == *WARP_NAME {
                self.cursor().word();
                shape.push(WARP);
            } else if self.cursor().at_digit() {
                shape.push(constant::literal(self.cursor()).map_err(constant_error)?);
            } else if shape.is_empty() && self.cursor().peek() == b']' {
                shape.push(0);
            } else {
                return fail(Code::Syntax, self.reader.cursor.token(), "a number is expected here");
            }
            self.cursor().skip_blanks();
            if !self.cursor().eat(b']') {
                return fail(Code::Syntax, self.reader.cursor.token(), "`]` is expected here");
            }
            if shape.len() > MOST_DIMENSIONS {
                let message = format!("an array has at most {MOST_DIMENSIONS} dimensions");
                return fail(Code::Syntax, start..self.reader.cursor.at(), message);
            }
        }
    }

    /// Reads the initializer of an array of this shape, whose innermost dimension may be that of a vector, and whose
    /// first scalar is number `at` of the variable. Returns the number of values in the outermost dimension.
    fn values(&mut self, shape: &[u64], vector: bool, at: u64) -> Read<u64> {
        let Some((&most, inner)) = shape.split_first() else {
            return self.value(at).map(|()| 1);
        };
        let step = inner.iter().fold(1, |all: u64, count| all.saturating_mul(*count));
        if !self.cursor().eat(b'{') {
            let message = "`{` is expected here: this is an array or a vector";
            return fail(Code::Constant, self.reader.cursor.token(), message);
        }
        let mut count = 0;
        self.cursor().skip_blanks();
        // An empty list is valid.
        let mut more = self.cursor().peek() != b'}';
        while more {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            self.values(inner, vector, step.saturating_mul(count).saturating_add(at))?;
            count += 1;
            if most > 0 && count > most {
                let message = format!("there are {most} values here, and this is one more");
                return fail(Code::Constant, start..self.reader.cursor.at(), message);
            }
            self.cursor().skip_blanks();
            more = self.cursor().eat(b',');
        }
        if vector && inner.is_empty() && count < most {
            let message = format!("a vector of {most} has {most} values, not {count}");
            return fail(Code::Constant, self.reader.cursor.token(), message);
        }
        if !self.cursor().eat(b'}') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`,` or `}` is expected here");
        }
        Ok(count)
    }

    /// Reads the initializer of an opaque variable, such as `{width = 4, filter_mode = linear}`. An array of this shape may have such a
    /// list for each element.
    fn fields(&mut self, opaque: &'static Space, space: &'static Space, shape: &[u64]) -> Read<()> {
        self.cursor().skip_blanks();
        if !self.cursor().eat(b'{') {
            return fail(Code::Syntax, self.reader.cursor.token(), "the fields are expected here, in braces");
        }
        self.cursor().skip_blanks();
        // An empty list is valid.
        if self.cursor().eat(b'}') {
            return Ok(());
        }
        let mut lists = 0;
        loop {
            self.cursor().skip_blanks();
            match shape.split_first() {
                Some((most, inner)) if self.cursor().peek() == b'{' => {
                    lists += 1;
                    if lists > *most && *most > 0 {
                        let message = format!("there are {most} values here, and this is one more");
                        return fail(Code::Constant, self.reader.cursor.token(), message);
                    }
                    self.fields(opaque, space, inner)?;
                }
                _ => self.field(opaque, space)?,
            }
            self.cursor().skip_blanks();
            if self.cursor().eat(b'}') {
                return Ok(());
            }
            if !self.cursor().eat(b',') {
                return fail(Code::Syntax, self.reader.cursor.token(), "`,` or `}` is expected here");
            }
        }
    }

    /// Reads a field of an opaque variable and its value.
    fn field(&mut self, opaque: &'static Space, space: &'static Space) -> Read<()> {
        let token = self.reader.cursor.token();
        let name = if self.cursor().at_word() { self.cursor().word() } else { "" };
        if !opaque.fields.contains(&name) {
            let message = match name {
                "" => "the name of a field is expected here".into(),
                name => format!("`{name}` is not a field of a `.{}`", opaque.name),
            };
            return one_of(name, token, message, "its fields are", opaque.fields);
        }
        self.out.part(Part::Field(name, token));
        self.cursor().skip_blanks();
        if !self.cursor().eat(b'=') {
            let message = format!("`=` and the value of `{name}` are expected here");
            return fail(Code::Syntax, self.reader.cursor.token(), message);
        }
        self.cursor().skip_blanks();
        let token = self.reader.cursor.token();
        if !at_name(self.cursor()) {
            return constant::expression(self.cursor()).map(|_| ()).map_err(constant_error);
        }
        let value = self.cursor().word();
        if !space.words.contains(&value) {
            let message = format!("`{value}` is not a value of a field");
            return one_of(value, token, message, "it is a number or one of", space.words);
        }
        Ok(())
    }

    /// Reads a single value: a constant, an address, or a byte of an address.
    fn value(&mut self, at: u64) -> Read<()> {
        let start = self.cursor().at();
        if at_name(self.cursor()) {
            let value = self.address_value(None)?;
            self.out.part(Part::Value(&value, at, start..self.reader.cursor.at()));
            return Ok(());
        }
        let value = constant::expression(self.cursor()).map_err(constant_error)?;
        let span = start..self.cursor().at();
        self.cursor().skip_blanks();
        if !self.cursor().eat(b'(') {
            self.out.part(Part::Value(&Value::Constant(value), at, span));
            return Ok(());
        }
        let is_byte = |bits: u64| (0..8).any(|byte| bits == 0xff << (8 * byte));
        let mask = match value {
            Constant::Integer { bits, .. } if is_byte(bits) => bits,
            _ => return fail(Code::Constant, span, "this is not a byte of an address: `0xff`, `0xff00` …"),
        };
        self.uses(Feature::AddressByteValues, "a byte of an address as a value", span.clone());
        self.cursor().skip_blanks();
        let value = self.address_value(Some((mask, span.clone())))?;
        self.cursor().skip_blanks();
        if !self.cursor().eat(b')') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`)` is expected here");
        }
        self.out.part(Part::Value(&value, at, span));
        Ok(())
    }

    /// Reads an address: `x`, `x+4`, `generic(x)+4`, `f`.
    fn address_value(&mut self, byte: Option<(u64, Range<usize>)>) -> Read<Value<'a>> {
        let mut name = self.cursor().word();
        let generic = name == "generic" && self.cursor().eat(b'(');
        if generic {
            self.cursor().skip_blanks();
            name = self.cursor().word();
            self.cursor().skip_blanks();
            if !self.cursor().eat(b')') {
                return fail(Code::Syntax, self.reader.cursor.token(), "`)` is expected here");
            }
        }
        let behind = self.reader.cursor;
        self.cursor().skip_blanks();
        let mut addend = None;
        if self.cursor().eat(b'+') {
            addend = Some(constant::integer(self.cursor()).map_err(constant_error)?);
        } else {
            self.reader.cursor = behind;
        }
        Ok(Value::Address { name, generic, addend, byte })
    }

    /// Skips dimensions and initializer, such as `[24] = {…}`, up to the comma or semicolon after them.
    fn pass_contents(&mut self, span: Range<usize>) -> Read<()> {
        let mut open = 0_usize;
        loop {
            match self.cursor().find(|byte| matches!(byte, b';' | b',' | b'{' | b'}' | b'(' | b')' | b'[' | b']')) {
                None => return fail(Code::Syntax, span, "the text ends within this"),
                Some(b';') => return Ok(()),
                Some(b',') if open == 0 => return Ok(()),
                Some(b'{') => {
                    self.cursor().bump();
                    self.skip_braces(span.clone())?;
                    continue;
                }
                Some(b'}') => return fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this"),
                Some(b'(' | b'[') => open += 1,
                Some(b')' | b']') => open = open.saturating_sub(1),
                Some(_) => {}
            }
            self.cursor().bump();
        }
    }
}
