//! Declarations of registers and variables.

use alloc::boxed::Box;
use alloc::format;
use core::ops::Range;

use super::directives::Linkage;
use super::judge::Shape;
use super::variables::{Declared, Site};
use super::{Checker, Declaration, Item, Place};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Feature, Kind, Space, TypeId, TypeInfo};
use crate::text::constant::{self, WARP, WARP_NAME};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};
use crate::text::scope::Symbol;
use crate::text::statement::Guard;

/// Attributes that precede the names of a declaration.
#[derive(Clone, Copy)]
pub(super) struct Attributes {
    pub(super) symbol: Symbol,
    pub(super) ty: Option<TypeId>,
    pub(super) lanes: u8,
    /// The alignment that is written; 0 where none is.
    pub(super) align: u64,
}

/// The most bits that a vector has.
const VECTOR_BITS: u32 = 128;

impl<'a> Checker<'_, 'a> {
    /// Declares a name, and tells if the scope has it already.
    pub(super) fn declare(&mut self, name: &'a str, count: Option<u64>, symbol: Symbol) {
        let register = matches!(symbol, Symbol::Register { .. });
        let checked = self.judge.names.scopes.depth() > 0 || register && !self.judge.bare;
        let clashes = checked && self.judge.names.scopes.clashes(name, count);
        let has_member = checked && count.is_some_and(|count| self.judge.names.scopes.has_member(name, count));
        if clashes || has_member {
            let what = if clashes { "" } else { "a member of the family " };
            let message = format!("{what}`{name}` is declared twice in this scope");
            let span = span_of(self.text(), name);
            self.judge.findings.error(Code::DuplicateName, span, message);
        }
        // Of several declarations of a name, only the first is recorded.
        if !clashes {
            self.judge.names.introduce(self.judge.text, name, count, symbol);
        }
    }

    /// Reports a name that the module has already. What is declared as `.extern` may be defined once, so that others see it.
    /// Returns the earlier declaration of the same variable.
    fn is_new(&mut self, name: &'a str, linkage: Option<Linkage>) -> Option<Symbol> {
        let found = self.judge.names.scopes.find(name).map(|found| found.symbol);
        let external = linkage == Some(Linkage::Extern);
        let clash = match found {
            Some(Symbol::Function) => true,
            Some(Symbol::Variable { .. }) if external => {
                self.judge.declared.externals.entry(name).or_insert(true);
                false
            }
            Some(Symbol::Variable { .. }) => {
                let defined = self.judge.declared.externals.get_mut(name);
                defined.is_none_or(|defined| core::mem::replace(defined, true)) || linkage.is_none()
            }
            _ if external => {
                self.judge.declared.externals.insert(name, false);
                false
            }
            _ => self.judge.names.scopes.clashes(name, None),
        };
        if clash {
            let span = span_of(self.text(), name);
            self.judge.findings.error(Code::DuplicateName, span, format!("`{name}` is declared twice in this module"));
        }
        found.filter(|found| !clash && matches!(found, Symbol::Variable { .. }))
    }

    /// Reports a declaration whose type or length is not that of an earlier one.
    fn agrees(&mut self, name: &'a str, earlier: Symbol, now: Symbol) {
        let (Symbol::Variable { space, number, .. }, Symbol::Variable { space: other, number: now, .. }) =
            (earlier, now)
        else {
            return;
        };
        let (before, now) = (self.judge.declared.shapes[number as usize], self.judge.declared.shapes[now as usize]);
        // A type that could not be read was reported.
        let known = |shape: &Shape, space: &Space| shape.ty.is_some() || space.opaque;
        if !known(&before, space) || !known(&now, other) {
            return;
        }
        if !before.agrees(&now) || (space.opaque || other.opaque) && space != other {
            let help = format!(
                "it was {}, and now is {}",
                before.in_words(self.reader.table),
                now.in_words(self.reader.table)
            );
            let message = format!("`{name}` was declared with another type or length");
            let error = Diagnostic::error(Code::DuplicateName, span_of(self.text(), name), message);
            self.judge.findings.waiting.push(if space.opaque || other.opaque { error } else { error.with_help(help) });
        }
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
            return fail(Code::Syntax, span_of(self.text(), name), format!("`{name}` is not a name"));
        }
        {
            let text = self.text();
            self.judge.names.record(|recorder| recorder.label(name, span_of(text, name)));
        }
        let span = span_of(self.text(), name);
        self.judge.body.statement_at = span.start;
        self.judge.findings.item(Item::Label(name), span);
        let (mut symbol, mut listed) = (Symbol::Label, Ok(()));
        match self.listed() {
            Some(directive) => {
                symbol = Symbol::List(self.judge.body.lists.len() as u32);
                listed = self.list(name, directive);
            }
            // One that is declared twice in a block was placed there.
            None => {
                let label = self.judge.names.scopes.find(name).is_some_and(|found| found.symbol == Symbol::Label);
                if !label || !self.judge.names.scopes.clashes(name, None) {
                    self.judge.body.labels.place(name);
                }
            }
        }
        // Labels have names of their own: a register of a family is what it was.
        if !self.judge.names.scopes.is_of_family(name) {
            self.declare(name, None, symbol);
        }
        listed
    }

    /// `.reg .u32 %r<10>, x;` and variables of all spaces: `.global .align 4 .b8 x[24] = {…}, y;`.
    /// `space` is that of variables; what is declared begins at its linkage.
    pub(super) fn declaration(
        &mut self,
        begun: usize,
        linkage: Option<Linkage>,
        span: Range<usize>,
        space: Option<&'static Space>,
    ) -> Read<()> {
        let registers = space.is_none();
        let site = if self.judge.names.scopes.depth() == 0 { Site::Module } else { Site::Body };
        if let Some(space) = space {
            self.stands(space, site, span.clone())?;
        }
        if site == Site::Body && linkage.is_some() && !self.judge.bare {
            return fail(Code::Syntax, span, "a declaration within a function has no linkage");
        }
        let Attributes { symbol, ty, lanes, align } = match space {
            Some(space) => self.variable_attributes(space, site)?,
            None => self.register_attributes(site)?,
        };
        self.cursor().skip_blanks();
        if registers && self.cursor().eat(b';') {
            return Ok(());
        }
        if registers && self.judge.names.scopes.depth() == 0 && !self.judge.bare {
            self.judge.feature(Feature::ModuleRegisters, "`.reg` outside of functions", span.clone());
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
            if self.cursor().eat(b'<') {
                count = Some(self.count()?);
                self.cursor().skip_blanks();
                if !self.cursor().eat(b'>') {
                    return fail(Code::Syntax, self.reader.cursor.token(), "`>` is expected here");
                }
            }
            let external = linkage == Some(Linkage::Extern);
            let module = space.is_some() && site == Site::Module && !self.judge.bare;
            let earlier = if module { self.is_new(name, linkage) } else { None };
            self.cursor().skip_blanks();
            let array = self.cursor().peek() == b'[';
            let symbol = self.numbered(if array { symbol.as_array() } else { symbol });
            self.declare(name, count, symbol);
            let place = match space {
                None => Place::Registers(count),
                Some(space) => {
                    let ty = ty.map(|ty| self.reader.table.ty(ty));
                    let variable = Declared { space, symbol, ty, lanes, align, external };
                    let elements = self.contents(variable, name, span.clone())?;
                    if let Some(earlier) = earlier {
                        self.agrees(name, earlier, symbol);
                    }
                    Place::Memory { space, elements }
                }
            };
            let end = self.cursor().at();
            self.judge.findings.make_room();
            self.judge.findings.item(Item::Declaration(Declaration { name, ty, lanes, place }), begun..end);
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
        let start = self.cursor().at();
        let count = constant::literal(self.cursor())
            .map_err(|error| Box::new(Diagnostic::error(Code::Syntax, error.span, format!("{}", error.kind))))?;
        if count > u32::MAX.into() {
            let message = format!("a family has at most {} registers", u32::MAX);
            return fail(Code::Syntax, start..self.reader.cursor.at(), message);
        }
        Ok(count)
    }

    /// Reads the attributes between `.reg` and the names: `.v2 .f32`.
    pub(super) fn register_attributes(&mut self, site: Site) -> Read<Attributes> {
        let mut ty: Option<TypeId> = None;
        let (mut lanes, mut align) = (1, 0);
        loop {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            if !self.cursor().at_dot_word() {
                break;
            }
            match self.cursor().dot_word() {
                "align" => align = self.alignment(start..self.reader.cursor.at())?,
                "v2" if ty.is_none() => lanes = 2,
                "v4" if ty.is_none() => lanes = 4,
                _ if ty.is_some() => {
                    return fail(Code::Syntax, start..self.reader.cursor.at(), "a name is expected here");
                }
                name => {
                    ty = self.declared_type(name, site, start..self.reader.cursor.at());
                    if ty.is_none() {
                        let message = format!("`.{name}` is not a type of registers");
                        return fail(Code::Syntax, start..self.reader.cursor.at(), message);
                    }
                }
            }
        }
        let Some(ty) = ty else {
            return fail(Code::Syntax, self.reader.cursor.token(), "a type is expected before this");
        };
        // After the error, the name is still declared as a vector.
        if let Err(error) = self.is_vector(self.reader.table.ty(ty), lanes, self.reader.cursor.token()) {
            self.judge.findings.waiting.push(*error);
        }
        Ok(Attributes { symbol: Symbol::Register { ty, lanes }, ty: Some(ty), lanes, align })
    }

    /// Checks that vectors of `lanes` elements of a type exist.
    pub(super) fn is_vector(&self, ty: &TypeInfo, lanes: u8, span: Range<usize>) -> Read<()> {
        let least = if ty.kind == Kind::Predicate { u16::MAX } else { ty.bits };
        if lanes > 1 && u32::from(least) * u32::from(lanes) > VECTOR_BITS {
            return fail(Code::Syntax, span, format!("there are no vectors of {lanes} `.{}`", ty.name));
        }
        Ok(())
    }

    /// Checks that `.target` has the option that variables in this space require.
    pub(super) fn has_option(&self, space: &'static Space, span: Range<usize>) -> Read<()> {
        match space.option {
            Some(option)
                if self.judge.level.options.iter().all(|(given, _)| given.name != option)
                    && self.judge.level.target_at.is_some() =>
            {
                let message = format!("`.{}` needs the option `{option}`", space.name);
                let error = Diagnostic::error(Code::Target, span, message);
                Err(Box::new(error.with_help(format!("write it behind the target: `.target sm_90, {option}`"))))
            }
            _ => Ok(()),
        }
    }

    /// The type with this name, if registers are declared with it.
    pub(super) fn register_type(&mut self, name: &'a str) -> Option<TypeId> {
        if let Some((known, _)) = self.types.get(name) {
            return Some(*known);
        }
        let types = self.reader.table.types;
        let ty = TypeId(types.iter().position(|ty| ty.name == name)? as u8);
        let found = types.iter().any(|other| other.registers.has(ty)).then_some(ty)?;
        self.types.insert(name, (found, self.reader.table.declared_word(name)));
        Some(found)
    }

    /// The type that a declaration names at a place. Those of parameters are looked at when a body begins.
    pub(super) fn declared_type(&mut self, name: &'a str, site: Site, span: Range<usize>) -> Option<TypeId> {
        let ty = self.register_type(name)?;
        if !matches!(site, Site::Parameters { .. }) {
            self.type_exists(name, span);
        }
        Some(ty)
    }

    /// Checks the floor of a type that a declaration names: a later version may have brought it.
    pub(super) fn type_exists(&mut self, name: &'a str, span: Range<usize>) {
        if let Some((_, Some(declared))) = self.types.get(name) {
            self.judge.asks(format_args!("a declaration of type `.{name}`"), &declared.floor, span);
        }
    }
}
