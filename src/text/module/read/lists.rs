//! Directives that a label names: label lists (`.branchtargets`), function lists (`.calltargets`), and prototypes of
//! indirect calls (`.callprototype`).

use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use super::directives::unknown_directive;
use super::functions::has_numbers;
use super::{Head, ModuleReader, Output, Part};
use crate::diagnostic::Code;
use crate::table::Directive;
use crate::text::constant;
use crate::text::reader::{Read, constant_error, fail};

impl<'a, O: Output<'a>> ModuleReader<'a, O> {
    /// Returns the directive that follows a label and is named by it, if any.
    pub(super) fn listed(&mut self) -> Option<&'static Directive> {
        let mut cursor = self.reader.cursor;
        cursor.skip_blanks();
        if !cursor.at_dot_word() {
            return None;
        }
        self.reader.table.directive(cursor.dot_word()).filter(|directive| directive.is_labeled())
    }

    /// Reads the directive that a label names, such as `.branchtargets A, B;`.
    pub(super) fn list(&mut self, own: &'a str, directive: &'static Directive) -> Read<()> {
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        self.cursor().dot_word();
        self.out.part(Part::List(own, directive, start..self.reader.cursor.at()));
        let mut read = if directive.prototype { self.call_prototype() } else { self.names() };
        if read.is_ok() {
            self.cursor().skip_blanks();
            if !self.cursor().eat(b';') {
                read = fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this");
            }
        }
        self.out.part(Part::ListEnds(read.is_ok().then_some(start..self.reader.cursor.at())));
        read
    }

    /// Reads comma-separated names, each optionally with the size of a family: `A, B<4>`.
    fn names(&mut self) -> Read<()> {
        loop {
            self.cursor().skip_blanks();
            let token = self.cursor().token();
            if !self.cursor().at_word() || self.text()[token.clone()] == *"_" {
                return fail(Code::Syntax, token, "a name is expected here");
            }
            let name = self.cursor().word();
            self.cursor().skip_blanks();
            let mut count = None;
            if self.cursor().eat(b'<') {
                self.cursor().skip_blanks();
                count = Some(constant::literal(self.cursor()).map_err(constant_error)?);
                self.cursor().skip_blanks();
                if !self.cursor().eat(b'>') {
                    return fail(Code::Syntax, self.reader.cursor.token(), "`>` is expected here");
                }
                self.cursor().skip_blanks();
            }
            self.out.part(Part::ListName(name, count));
            if !self.cursor().eat(b',') {
                return Ok(());
            }
        }
    }

    /// Reads `(.reg .u32 _) _ (.param .b32 _) .noreturn`.
    fn call_prototype(&mut self) -> Read<()> {
        let (mut results, mut parameters, mut named) = (0, 0, false);
        let mut directives: Vec<&'static Directive> = Vec::new();
        loop {
            self.cursor().skip_blanks();
            let token = self.cursor().token();
            match self.cursor().peek() {
                b'(' => {
                    if named && parameters > 0 || !directives.is_empty() {
                        return fail(Code::Syntax, token, "`;` is missing before this");
                    }
                    self.cursor().bump();
                    let count = self.parameters(Head::Prototype, named)?;
                    *(if named { &mut parameters } else { &mut results }) = count;
                    if !self.cursor().eat(b')') {
                        return fail(Code::Syntax, token, "there is no `)` for this `(`");
                    }
                }
                b'.' if named && self.cursor().at_dot_word() => {
                    self.cursor().dot_word();
                    self.prototype_directive(token, &mut directives)?;
                }
                _ if !named && self.text()[token.clone()] == *"_" => {
                    self.cursor().word();
                    named = true;
                }
                _ if named => return Ok(()),
                _ => return fail(Code::Syntax, token, "`_` is expected here: a prototype has no name of its own"),
            }
        }
    }

    /// Reads a directive of a prototype, which must be valid in a function's head.
    fn prototype_directive(&mut self, span: Range<usize>, directives: &mut Vec<&'static Directive>) -> Read<()> {
        let name = &self.text()[span.start + 1..span.end];
        let table = self.reader.table;
        let Some(directive) = table.directive(name).filter(|directive| directive.function) else {
            let names = table.directives.iter().filter(|directive| directive.function).map(|directive| directive.name);
            return unknown_directive(name, span, format!("`.{name}` is not a directive of a prototype"), names);
        };
        directives.push(directive);
        if directive.last {
            return fail(Code::Syntax, span, format!("`.{name}` is for functions with a body"));
        }
        let numbers = self.head_numbers(Some(directive))?;
        has_numbers(directive, numbers.len(), &span)?;
        self.out.part(Part::HeadDirective(directive, &numbers, span));
        Ok(())
    }
}
