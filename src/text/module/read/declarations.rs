//! Declarations of registers and variables.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use super::directives::unknown_directive;
use super::functions::has_numbers;
use super::{Attributes, Linkage, ModuleReader, Output, Part, Site};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Directive, Feature, Space, TypeId};
use crate::target::Version;
use crate::text::constant::{self, WARP, WARP_NAME, is_reserved};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, constant_error, fail};
use crate::text::statement::Guard;

/// What is written of a declaration before its type, before or behind its state space.
#[derive(Default)]
pub(super) struct Early {
    /// The greatest alignment; 0 if there is none.
    align: u64,
    /// Attributes of variables, and their places.
    attributes: Vec<(&'static Directive, Range<usize>)>,
}

impl Early {
    /// Checks that these are words of a parameter.
    pub(super) fn of_parameter(mut self) -> Read<()> {
        match self.attributes.pop() {
            Some((attribute, span)) => {
                fail(Code::Syntax, span, format!("a parameter has no attribute `.{}`", attribute.name))
            }
            None => Ok(()),
        }
    }
}

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    pub(super) fn label(&mut self, guard: Option<Guard<'a>>, name: &'a str) -> Read<()> {
        if guard.is_some() {
            let message = "a guard is followed by an instruction, not a label";
            return fail(Code::Syntax, span_of(self.text(), name), message);
        }
        if is_reserved(name) {
            return fail(Code::Syntax, span_of(self.text(), name), format!("`{name}` is not a name"));
        }
        let (mut listed, outside) = (self.listed(), self.is_outside());
        if outside {
            // What follows is not read, except for lists that calls may refer to.
            listed = listed.filter(|directive| !directive.branches);
            if !self.recovery.broken {
                self.error(Code::Syntax, span_of(self.text(), name), "a label must be in a function");
            }
        }
        self.out.part(Part::Label { name, list: listed.is_some() });
        match listed {
            Some(directive) => self.list(name, directive)?,
            None if outside => self.skip_to_item(),
            None => {}
        }
        Ok(())
    }

    /// `.reg .u32 %r<10>, x;` and variables of all spaces: `.global .align 4 .b8 x[24] = {…}, y;`.
    /// `space` is that of variables; what is declared begins at its linkage.
    pub(super) fn declaration(
        &mut self,
        begun: usize,
        linkage: Option<Linkage>,
        span: Range<usize>,
        space: Option<&'static Space>,
        mut early: Early,
    ) -> Read<()> {
        let registers = space.is_none();
        let site = if self.blocks.open == 0 { Site::Module } else { Site::Body };
        self.out.part(Part::Declaration { begun, keyword: span.clone(), linkage, space, site });
        if let Some(space) = space {
            self.belongs_here(space, &span)?;
            self.bank_exists(space, &span)?;
        }
        if site == Site::Body && linkage.is_some() && !self.bare {
            return fail(Code::Syntax, span, "a declaration within a function has no linkage");
        }
        let attributes =
            if registers { self.register_attributes(&mut early)? } else { self.variable_attributes(&mut early)? };
        for (attribute, span) in early.attributes {
            self.out.part(Part::Keyword(attribute, span));
        }
        self.out.part(Part::Attributes(&attributes));
        self.cursor().skip_blanks();
        // A declaration may have no names.
        if self.cursor().eat(b';') {
            return Ok(());
        }
        if registers && self.is_outside() {
            self.uses(Feature::ModuleRegisters, "`.reg` outside of functions", span.clone());
        }
        loop {
            self.cursor().skip_blanks();
            if !self.cursor().at_word() {
                return fail(Code::Syntax, self.reader.cursor.token(), "a name is expected here");
            }
            let start = self.reader.cursor;
            let name = self.cursor().word();
            if is_reserved(name) {
                self.reader.cursor = start;
                return fail(
                    Code::Syntax,
                    start.token(),
                    format!("a name is expected here, and `{name}` is a reserved word"),
                );
            }
            self.cursor().skip_blanks();
            let mut count = None;
            if self.cursor().eat(b'<') {
                count = Some(self.count()?);
                self.cursor().skip_blanks();
                if !self.cursor().eat(b'>') {
                    return fail(Code::Syntax, self.reader.cursor.token(), "`>` is expected here");
                }
            }
            self.cursor().skip_blanks();
            let array = self.cursor().peek() == b'[';
            self.out.part(Part::Name { name, count, array });
            if let Some(space) = space {
                self.contents(space, &attributes, name, linkage == Some(Linkage::Extern), span.clone())?;
            }
            let end = self.cursor().at();
            self.out.part(Part::NameEnds(end));
            self.cursor().skip_blanks();
            if self.cursor().eat(b';') {
                return Ok(());
            }
            if !self.cursor().eat(b',') {
                return fail(Code::Syntax, self.reader.cursor.token(), "`;` or `,` is expected behind a declaration");
            }
        }
    }

    /// Checks that this version has variables of a state space, and has them here.
    fn belongs_here(&self, space: &'static Space, span: &Range<usize>) -> Read<()> {
        let (name, from) = (space.name, |since: Option<Version>| since.is_some_and(|since| self.is_from(since)));
        if from(space.until) {
            return fail(Code::PtxVersion, span.clone(), format!("`.{name}` went with a PTX before this one"));
        }
        if self.is_outside() && from(space.inside) {
            return fail(Code::Syntax, span.clone(), format!("variables in `.{name}` are declared within a function"));
        }
        Ok(())
    }

    /// Checks the number of the bank that a keyword, at this place, names, if it names one.
    fn bank_exists(&mut self, space: &'static Space, span: &Range<usize>) -> Read<()> {
        let Some(bank) = self.bank(space, span) else { return Ok(()) };
        self.uses(Feature::Banks, "a bank of a state space", span.clone());
        if bank >= space.banks.into() {
            let message = format!("`.{}` has banks 0 to {}", space.name, space.banks - 1);
            return fail(Code::Syntax, span.clone(), message);
        }
        Ok(())
    }

    /// The bank that a keyword, at this place, names.
    pub(super) fn bank(&self, space: &'static Space, span: &Range<usize>) -> Option<u64> {
        self.text().get(span.start + 1..span.end).and_then(|word| space.bank(word))
    }

    /// Reads the name of the number of lanes of a warp, if it is there.
    fn eat_warp_size(&mut self) -> bool {
        let token = self.cursor().token();
        let found = self.text()[token] == *WARP_NAME;
        if found {
            self.cursor().word();
        }
        found
    }

    /// Reads how many registers a family has.
    fn count(&mut self) -> Read<u64> {
        if self.eat_warp_size() {
            return Ok(WARP);
        }
        let start = self.cursor().at();
        let count = constant::literal(self.cursor())
            .map_err(|error| Box::new(Diagnostic::error(Code::Syntax, error.span, format!("{}", error.kind))))?;
        if count > u32::MAX.into() {
            let message = format!("a family has at most {} registers", u32::MAX);
            return fail(Code::Syntax, start..self.reader.cursor.at(), message);
        }
        Ok(count)
    }

    /// Reads the attributes before a state space or `.reg`, and the word behind them with its place; empty if none follows.
    pub(super) fn attributes_first(&mut self) -> Read<(Early, &'a str, Range<usize>)> {
        let mut early = Early::default();
        loop {
            self.cursor().skip_blanks();
            let token = self.reader.cursor.token();
            if !self.cursor().at_dot_word() {
                return Ok((early, "", token));
            }
            let word = self.cursor().dot_word();
            let span = token.start..self.cursor().at();
            match word {
                "align" => self.alignment_of(&mut early, span)?,
                "attribute" => self.attribute(&mut early, span)?,
                word => return Ok((early, word, span)),
            }
        }
    }

    /// Reads the attributes between `.reg` and the names: `.align 8 .v2 .f32`.
    pub(super) fn register_attributes(&mut self, early: &mut Early) -> Read<Attributes<'a>> {
        if let Some((attribute, span)) = early.attributes.pop() {
            return fail(Code::Syntax, span, format!("a register has no attribute `.{}`", attribute.name));
        }
        let mut named: Option<(&'a str, TypeId, Range<usize>)> = None;
        let mut lanes = 1;
        loop {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            if !self.cursor().at_dot_word() {
                break;
            }
            let word = self.cursor().dot_word();
            let span = start..self.cursor().at();
            match word {
                "align" | "v2" | "v4" if named.is_some() => {
                    return fail(Code::Syntax, span, format!("`.{word}` must be before the type"));
                }
                "align" if lanes == 1 => self.alignment_of(early, span)?,
                "align" => return fail(Code::Syntax, span, "`.align` must be before the size of the vector"),
                "v2" if lanes == 1 => lanes = 2,
                "v4" if lanes == 1 => lanes = 4,
                _ if named.is_some() => return fail(Code::Syntax, span, "a name is expected here"),
                name => match self.register_type(name) {
                    Some(ty) => named = Some((name, ty, span)),
                    None => {
                        let types = self.reader.table.types.iter().filter(|ty| !ty.registers.is_empty());
                        let message = format!("`.{name}` is not a type of registers");
                        return unknown_directive(name, span, message, types.map(|ty| ty.name));
                    }
                },
            }
        }
        let behind = self.reader.cursor.token();
        match named {
            Some((word, ty, span)) => Ok(Attributes { word, ty: Some(ty), lanes, align: early.align, span, behind }),
            None => fail(Code::Syntax, behind, "a type is expected before this"),
        }
    }

    /// Reads the attributes between the state space and the name: `.align 16 .v4 .f32`.
    pub(super) fn variable_attributes(&mut self, early: &mut Early) -> Read<Attributes<'a>> {
        let mut lanes = 1;
        loop {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            if !self.cursor().at_dot_word() {
                return fail(Code::Syntax, self.reader.cursor.token(), "the type of a variable is expected here");
            }
            let word = self.cursor().dot_word();
            let span = start..self.cursor().at();
            match word {
                "align" if lanes == 1 => self.alignment_of(early, span)?,
                "attribute" if lanes == 1 => self.attribute(early, span)?,
                "v2" if lanes == 1 => lanes = 2,
                "v4" if lanes == 1 => lanes = 4,
                word => {
                    let (ty, behind) = (self.register_type(word), self.reader.cursor.token());
                    return Ok(Attributes { word, ty, lanes, align: early.align, span, behind });
                }
            }
        }
    }

    /// Reads the operand of `.align`; of several the greatest counts.
    fn alignment_of(&mut self, early: &mut Early, span: Range<usize>) -> Read<()> {
        early.align = early.align.max(self.alignment(span)?);
        Ok(())
    }

    /// Reads the operand of `.align`, a power of two.
    pub(super) fn alignment(&mut self, span: Range<usize>) -> Read<u64> {
        self.cursor().skip_blanks();
        if self.eat_warp_size() {
            return Ok(WARP);
        }
        let start = self.cursor().at();
        if !self.cursor().at_digit() {
            return fail(Code::Syntax, span, "this is followed by a number");
        }
        let bytes = constant::literal(self.cursor()).map_err(constant_error)?;
        if !bytes.is_power_of_two() || bytes > u32::MAX.into() {
            return fail(Code::Syntax, start..self.reader.cursor.at(), "an alignment is a power of two");
        }
        Ok(bytes)
    }

    /// Reads the operand of `.attribute`, such as `(.managed)` or `(.unified(19, 95))`.
    fn attribute(&mut self, early: &mut Early, span: Range<usize>) -> Read<()> {
        self.cursor().skip_blanks();
        let table = self.reader.table;
        if !self.cursor().eat(b'(') {
            return fail(Code::Syntax, span, "this is followed by an attribute in parentheses");
        }
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        let name = if self.cursor().at_dot_word() { self.cursor().dot_word() } else { "" };
        let span = start..self.cursor().at();
        let attributes = || table.directives.iter().filter(|directive| directive.attribute);
        let Some(attribute) = attributes().find(|attribute| attribute.name == name) else {
            let names = attributes().map(|attribute| attribute.name);
            return unknown_directive(name, span, format!("`.{name}` is not an attribute"), names);
        };
        self.cursor().skip_blanks();
        let numbers = if self.cursor().eat(b'(') {
            let numbers = self.head_numbers(Some(attribute))?.len();
            self.cursor().skip_blanks();
            self.cursor().eat(b')');
            numbers
        } else {
            0
        };
        has_numbers(attribute, numbers, &span)?;
        early.attributes.push((attribute, span));
        self.cursor().skip_blanks();
        if !self.cursor().eat(b')') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`)` is expected here");
        }
        Ok(())
    }
}
