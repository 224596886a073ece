//! Functions and their scopes: braces, names, parameters.

use alloc::format;
use core::ops::Range;

use super::Checker;
use super::directives::begins_item;
use crate::diagnostic::Code;
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};
use crate::text::scope::Symbol;

impl<'a> Checker<'_, '_, 'a> {
    pub(super) fn open_brace(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        self.braces.push(at);
        self.scopes.enter();
    }

    pub(super) fn close_brace(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        if self.braces.pop().is_none() {
            return self.error(Code::Syntax, at..at + 1, "there is no `{` for this `}`");
        }
        self.scopes.leave();
        if self.scopes.depth() == 0
            && let Some(name) = self.function.take()
        {
            self.scopes.declare(name, None, Symbol::Function);
        }
    }

    pub(super) fn stands_in_function(&self, opcode: usize) -> Read<()> {
        if self.bare || self.scopes.depth() > 0 {
            return Ok(());
        }
        fail(Code::Syntax, self.mnemonic_at(opcode), "an instruction stands within a function")
    }

    /// The head of a function: `(.reg .u32 r) name (.param .u64 p, …) .maxntid 128`, and a body or a semicolon.
    pub(super) fn function(&mut self, span: Range<usize>, kernel: bool) -> Read<()> {
        self.scopes.enter();
        let mut name = None;
        loop {
            self.cursor().skip_blanks();
            match self.cursor().peek() {
                b'(' => {
                    self.cursor().bump();
                    if let Err(error) = self.parameters(kernel) {
                        self.scopes.leave();
                        return Err(error);
                    }
                }
                b'{' => {
                    self.braces.push(self.reader.cursor.at());
                    self.cursor().bump();
                    self.function = name;
                    self.has_no_body(name);
                    self.bodies.extend(name);
                    return Ok(());
                }
                b';' => {
                    self.prototype(name);
                    self.cursor().bump();
                    return Ok(());
                }
                _ if !kernel && name.is_some() && self.item_follows() => {
                    self.prototype(name);
                    return Ok(());
                }
                b'.' if self.cursor().at_dot_word() && !self.item_follows() => {
                    if self.cursor().dot_word() == "pragma" {
                        self.pragma(span.clone())?;
                    }
                    continue;
                }
                b',' => {}
                _ if self.cursor().at_digit() => {
                    self.cursor().word_part();
                    continue;
                }
                _ if self.cursor().at_word() => {
                    let word = self.cursor().word();
                    if name.is_none() {
                        name = Some(word);
                        self.scopes.declare(word, None, Symbol::Function);
                    }
                    continue;
                }
                _ => {
                    self.scopes.leave();
                    let message = match kernel {
                        true => "a kernel has a name, parameters, and a body",
                        false => "a function has a name, parameters, and a body or `;`",
                    };
                    return fail(
                        Code::Syntax,
                        if self.reader.cursor.at_end() { span } else { self.reader.cursor.token() },
                        message,
                    );
                }
            }
            self.cursor().bump();
        }
    }

    /// Whether something else of a module, or its end, comes next: a prototype needs no semicolon then.
    fn item_follows(&mut self) -> bool {
        let mut cursor = self.reader.cursor;
        cursor.at_end() || cursor.at_dot_word() && begins_item(cursor.dot_word())
    }

    /// Leaves the scope of a function without a body.
    fn prototype(&mut self, name: Option<&'a str>) {
        self.scopes.leave();
        self.has_no_body(name);
        if let Some(name) = name {
            self.scopes.declare(name, None, Symbol::Function);
        }
    }

    /// Behind a function's body there is no other, and no prototype.
    fn has_no_body(&mut self, name: Option<&'a str>) {
        if let Some(name) = name.filter(|name| self.bodies.contains(name)) {
            let message = format!("the function `{name}` has a body already");
            self.error(Code::DuplicateName, span_of(self.text(), name), message);
        }
    }

    /// Reads parameters up to the closing parenthesis, where the cursor stays.
    fn parameters(&mut self, kernel: bool) -> Read<()> {
        loop {
            self.cursor().skip_blanks();
            if self.cursor().peek() == b')' {
                return Ok(());
            }
            if !self.cursor().at_dot_word() {
                return fail(Code::Syntax, self.reader.cursor.token(), "a parameter is expected here");
            }
            let start = self.cursor().at();
            let registers = self.cursor().dot_word() == "reg";
            if registers && kernel {
                return fail(
                    Code::Syntax,
                    start..self.reader.cursor.at(),
                    "a kernel's parameters are in memory: `.param`",
                );
            }
            let symbol = self.attributes(registers)?;
            if self.cursor().at_word() {
                let name = self.cursor().word();
                self.declare(name, None, symbol);
                if registers && self.cursor().peek() == b'<' {
                    return fail(Code::Syntax, self.reader.cursor.token(), "a parameter is one register");
                }
            }
            while !self.cursor().at_end() && !matches!(self.cursor().peek(), b',' | b')' | b';' | b'{') {
                self.cursor().bump();
            }
            if !self.cursor().eat(b',') && self.cursor().peek() != b')' {
                return fail(Code::Syntax, self.reader.cursor.token(), "`,` or `)` is expected behind a parameter");
            }
        }
    }
}
