//! Declarations of registers and variables.

use alloc::boxed::Box;
use alloc::format;
use core::ops::Range;

use super::{Checker, Declaration, Item, Place, SymbolKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Kind, Space, TypeId};
use crate::text::constant::{self, WARP, WARP_NAME};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};
use crate::text::scope::Symbol;
use crate::text::statement::Guard;

/// What stands before the names of a declaration.
pub(super) struct Attributes {
    pub(super) symbol: Symbol,
    pub(super) ty: Option<TypeId>,
    pub(super) lanes: u8,
}

/// The most bits that a vector of registers has.
const VECTOR_BITS: u32 = 128;

impl<'a> Checker<'_, '_, 'a> {
    /// Declares a name, and tells if the scope has it already.
    pub(super) fn declare(&mut self, name: &'a str, count: Option<u64>, symbol: Symbol) {
        if self.scopes.depth() > 0 && self.scopes.clashes(name, count) {
            let message = format!("`{name}` is declared twice in this scope");
            let span = span_of(self.text(), name);
            self.error(Code::DuplicateName, span, message);
        }
        self.scopes.declare(name, count, symbol);
        let kind = match symbol {
            Symbol::Register { ty, lanes } => SymbolKind::Register { ty, lanes, count },
            Symbol::Variable(space) => SymbolKind::Variable(space),
            Symbol::Function => SymbolKind::Function { kernel: false },
            Symbol::Label => return,
        };
        self.record(|recorder, text| recorder.declare(span_of(text, name), kind));
    }

    pub(super) fn label(&mut self, guard: Option<Guard<'a>>, name: &'a str) -> Read<()> {
        if guard.is_some() {
            return fail(
                Code::Syntax,
                span_of(self.text(), name),
                "a guard is followed by an instruction, not a label",
            );
        }
        if matches!(name, "_" | WARP_NAME) {
            return fail(Code::Syntax, span_of(self.text(), name), format!("`{name}` is no name"));
        }
        self.labels.insert(name);
        self.record(|recorder, text| recorder.label(name, span_of(text, name)));
        // Labels have names of their own: a register of a family is what it was.
        if !self.scopes.is_of_family(name) {
            self.declare(name, None, Symbol::Label);
        }
        let span = span_of(self.text(), name);
        (self.visit)(Item::Label(name), span);
        Ok(())
    }

    /// `.reg .u32 %r<10>, x;` and variables of all spaces: `.global .align 4 .b8 x[24] = {…}, y;`.
    /// `space` is that of variables; what is declared begins at its linkage.
    pub(super) fn declaration(&mut self, begun: usize, span: Range<usize>, space: Option<&'static Space>) -> Read<()> {
        let registers = space.is_none();
        let Attributes { symbol, ty, lanes } = self.attributes(space)?;
        self.cursor().skip_blanks();
        if registers && self.cursor().eat(b';') {
            return Ok(());
        }
        if registers && self.scopes.depth() == 0 && !self.bare {
            return fail(Code::Syntax, span, "registers are declared within a function");
        }
        loop {
            self.cursor().skip_blanks();
            let token = self.cursor().token();
            if !self.cursor().at_word() || matches!(&self.text()[token.clone()], "_" | WARP_NAME) {
                return fail(Code::Syntax, token, "a name is expected here");
            }
            let name = self.cursor().word();
            self.cursor().skip_blanks();
            let mut count = None;
            if registers && self.cursor().eat(b'<') {
                count = Some(self.count()?);
                self.cursor().skip_blanks();
                if !self.cursor().eat(b'>') {
                    return fail(Code::Syntax, self.reader.cursor.token(), "`>` is expected here");
                }
            }
            self.declare(name, count, symbol);
            self.cursor().skip_blanks();
            let place = match space {
                None => Place::Registers(count),
                Some(space) => {
                    let elements = self.dimensions();
                    self.initialiser(span.clone())?;
                    Place::Memory { space, elements }
                }
            };
            let end = self.cursor().at();
            (self.visit)(Item::Declaration(Declaration { name, ty, lanes, place }), begun..end);
            if self.cursor().eat(b';') {
                return Ok(());
            }
            if !self.cursor().eat(b',') {
                return fail(Code::Syntax, self.reader.cursor.token(), "`;` or `,` is expected behind a declaration");
            }
        }
    }

    /// Reads how many registers a family has.
    fn count(&mut self) -> Read<u64> {
        let token = self.cursor().token();
        if self.text()[token] == *WARP_NAME {
            self.cursor().word();
            return Ok(WARP);
        }
        constant::literal(self.cursor())
            .map_err(|error| Box::new(Diagnostic::error(Code::Syntax, error.span, format!("{}", error.kind))))
    }

    /// How many elements the dimensions behind a name give: `[2][3]`. The cursor stays.
    pub(super) fn dimensions(&self) -> u64 {
        let mut cursor = self.reader.cursor;
        let mut elements = 1_u64;
        loop {
            cursor.skip_blanks();
            if !cursor.eat(b'[') {
                return elements;
            }
            cursor.skip_blanks();
            let dimension = if cursor.peek() == b']' { 0 } else { constant::integer(&mut cursor).unwrap_or(0) };
            elements = elements.saturating_mul(dimension);
            cursor.skip_blanks();
            if !cursor.eat(b']') {
                return 0;
            }
        }
    }

    /// Passes `[24] = {…}` up to the comma or semicolon behind it.
    fn initialiser(&mut self, span: Range<usize>) -> Read<()> {
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

    /// Reads what stands between the space and the name: alignment, vector, type.
    pub(super) fn attributes(&mut self, mut space: Option<&'static Space>) -> Read<Attributes> {
        let registers = space.is_none();
        let mut ty: Option<TypeId> = None;
        let mut lanes = 1;
        loop {
            self.cursor().skip_blanks();
            if self.cursor().at_dot_word() {
                let start = self.cursor().at();
                match self.cursor().dot_word() {
                    "align" => self.numbers(start..self.reader.cursor.at(), 1)?,
                    "v2" if ty.is_none() => lanes = 2,
                    "v4" if ty.is_none() => lanes = 4,
                    name if !registers => {
                        ty = ty.or(self.reader.table.type_named(name));
                        space = self.reader.table.space(name).filter(|space| space.opaque).or(space);
                    }
                    _ if ty.is_some() => {
                        return fail(Code::Syntax, start..self.reader.cursor.at(), "a name is expected here");
                    }
                    name => {
                        ty = self.register_type(name);
                        if ty.is_none() {
                            let message = format!("`.{name}` is no type of registers");
                            return fail(Code::Syntax, start..self.reader.cursor.at(), message);
                        }
                    }
                }
            } else if self.cursor().peek() == b'(' {
                while !self.cursor().at_end() && !self.cursor().eat(b')') {
                    self.cursor().bump();
                }
                self.cursor().eat(b')');
            } else {
                if let Some(space) = space {
                    return Ok(Attributes { symbol: Symbol::Variable(space), ty, lanes: lanes as u8 });
                }
                return match ty {
                    Some(ty) => {
                        let info = &self.reader.table.types[ty.index()];
                        let least = if info.kind == Kind::Predicate { u16::MAX } else { info.bits };
                        if lanes > 1 && u32::from(least) * lanes > VECTOR_BITS {
                            let message = format!("there are no vectors of {lanes} `.{}` registers", info.name);
                            return fail(Code::Syntax, self.reader.cursor.token(), message);
                        }
                        let lanes = lanes as u8;
                        Ok(Attributes { symbol: Symbol::Register { ty, lanes }, ty: Some(ty), lanes })
                    }
                    None => fail(Code::Syntax, self.reader.cursor.token(), "a type is expected before this"),
                };
            }
        }
    }

    /// The type with this name, if registers are declared with it.
    fn register_type(&self, name: &str) -> Option<TypeId> {
        let types = self.reader.table.types;
        let index = types.iter().position(|ty| ty.name == name)?;
        types.iter().any(|ty| ty.registers.has(TypeId(index as u8))).then_some(TypeId(index as u8))
    }
}
