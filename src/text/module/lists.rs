//! Labeled directives: label lists (`.branchtargets`), function lists (`.calltargets`), and prototypes of indirect
//! calls (`.callprototype`).

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use super::directives::unknown_directive;
use super::functions::{Signature, goes_with_results, has_numbers};
use super::judge::List;
use super::{Checker, Item};
use crate::diagnostic::Code;
use crate::table::Directive;
use crate::text::constant;
use crate::text::lexer::span_of;
use crate::text::reader::{Read, constant_error, fail};
use crate::text::scope::Symbol;

/// Maximum number of functions in a list with which another one is compared.
const MOST_COMPARED: usize = 16;

impl<'a> Checker<'_, 'a> {
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
        let span = start..self.cursor().at();
        let number = self.judge.body.lists.len();
        self.judge.body.lists.push(List::Unknown);
        self.judge.level.needs(format_args!("`.{}`", directive.name), &directive.floor, span)?;
        let before = self.judge.findings.waiting.len();
        let list = if directive.prototype {
            List::Prototype(Box::new(self.call_prototype()?))
        } else if directive.branches {
            self.names(|checker, name, count| if name == own { Ok(()) } else { checker.judge.jump(name, count) })?;
            List::Branches
        } else {
            let mut functions: Vec<&str> = Vec::new();
            self.names(|checker, name, count| {
                let function = matches!(checker.judge.find(name)?, Some(Symbol::Function)) && count.is_none();
                // Calls are checked against each function that is kept, so one function per signature is enough.
                let own = checker.judge.declared.signatures.get(name);
                let alike = |other: &&str| {
                    let other = checker.judge.declared.signatures.get(other);
                    own.zip(other).is_some_and(|(own, other)| own.is_called_as(other))
                };
                if !functions.iter().rev().take(MOST_COMPARED).any(alike) {
                    functions.push(name);
                }
                let message = || format!("`{name}` is not a function");
                if function { Ok(()) } else { fail(Code::OperandType, span_of(checker.text(), name), message()) }
            })?;
            List::Functions(functions)
        };
        self.cursor().skip_blanks();
        if !self.cursor().eat(b';') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this");
        }
        if self.judge.findings.waiting.len() == before {
            self.judge.body.lists[number] = list;
        }
        self.judge.findings.item(Item::Directive(directive.name), start..self.reader.cursor.at());
        Ok(())
    }

    /// Reads comma-separated names, each optionally with the size of a family: `A, B<4>`.
    fn names(&mut self, mut each: impl FnMut(&mut Self, &'a str, Option<u64>) -> Read<()>) -> Read<()> {
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
            each(self, name, count)?;
            if !self.cursor().eat(b',') {
                return Ok(());
            }
        }
    }

    /// Reads `(.reg .u32 _) _ (.param .b32 _) .noreturn`.
    fn call_prototype(&mut self) -> Read<Signature> {
        let mut signature = Signature::default();
        let mut named = false;
        let mut said: Vec<&'static Directive> = Vec::new();
        loop {
            self.cursor().skip_blanks();
            let token = self.cursor().token();
            match self.cursor().peek() {
                b'(' => {
                    if named && !signature.parameters().is_empty() || !said.is_empty() {
                        return fail(Code::Syntax, token, "`;` is missing before this");
                    }
                    let list = self.prototype_parameters(named, token)?;
                    signature.put(named, list);
                }
                b'.' if named && self.cursor().at_dot_word() => {
                    self.cursor().dot_word();
                    self.prototype_directive(token, !signature.results().is_empty(), &mut said)?;
                }
                _ if !named && self.text()[token.clone()] == *"_" => {
                    self.cursor().word();
                    named = true;
                }
                _ if named => return Ok(signature),
                _ => return fail(Code::Syntax, token, "`_` is expected here: a prototype has no name of its own"),
            }
        }
    }

    /// Reads parameters in parentheses, which are in a scope of their own.
    fn prototype_parameters(&mut self, named: bool, token: Range<usize>) -> Read<Vec<super::judge::Shape>> {
        self.cursor().bump();
        let (mut shown, shapes) = (Vec::new(), self.judge.declared.shapes.len());
        self.judge.names.scopes.enter();
        let list = self.parameters(super::functions::Head::Prototype, &mut shown);
        self.judge.names.scopes.leave();
        self.judge.declared.shapes.truncate(shapes);
        let list = list?;
        self.lengths(&shown, named)?;
        if !self.cursor().eat(b')') {
            return fail(Code::Syntax, token, "there is no `)` for this `(`");
        }
        Ok(list)
    }

    /// Reads a directive of a prototype, which must be valid in a function's head.
    fn prototype_directive(
        &mut self,
        span: Range<usize>,
        results: bool,
        said: &mut Vec<&'static Directive>,
    ) -> Read<()> {
        let name = &self.text()[span.start + 1..span.end];
        let table = self.reader.table;
        let Some(directive) = table.directive(name).filter(|directive| directive.function) else {
            let names = table.directives.iter().filter(|directive| directive.function).map(|directive| directive.name);
            return unknown_directive(name, span, format!("`.{name}` is not a directive of a prototype"), names);
        };
        if said.iter().any(|other| other.name == name) {
            return fail(Code::Syntax, span, format!("duplicate `.{name}`"));
        }
        said.push(directive);
        let numbers = self.head_numbers()?;
        has_numbers(directive, numbers, &span)?;
        goes_with_results(directive, results, &span)?;
        self.judge.asks(format_args!("`.{name}`"), &directive.floor, span);
        Ok(())
    }
}
