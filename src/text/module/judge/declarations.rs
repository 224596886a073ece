//! Judges declarations of registers and variables, and labels.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::super::read::{Attributes, Site};
use super::super::{Declaration, Item, Linkage, Place};
use super::Judge;
use super::calls::{Shape, bytes_of};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Directive, Feature, Kind, Memory, Space, TypeId, TypeInfo};
use crate::text::alike;
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};
use crate::text::scope::Symbol;

/// The most bits that a vector has.
const VECTOR_BITS: u32 = 128;

/// Size of an address in bytes.
pub(super) const ADDRESS_BYTES: u64 = 8;

/// The declaration whose names are being judged.
pub(super) struct Declaring<'a> {
    begun: usize,
    linkage: Option<Linkage>,
    space: Option<&'static Space>,
    site: Site,
    pub(super) kind: DeclaredAs,
    name: &'a str,
    count: Option<u64>,
    /// The symbol of the current name, and that of an earlier declaration of the same variable.
    symbol: Option<Symbol>,
    earlier: Option<Symbol>,
    pub(super) contents: Contents<'a>,
}

/// What the words before the names declare them as.
#[derive(Clone, Copy)]
pub(super) struct DeclaredAs {
    pub(super) symbol: Symbol,
    pub(super) ty: Option<TypeId>,
    pub(super) lanes: u8,
    /// The alignment that is written; 0 where none is.
    pub(super) align: u64,
}

/// What follows the current name.
#[derive(Default)]
pub(super) struct Contents<'a> {
    /// The number of elements; 0 if the text does not give it.
    elements: u64,
    /// The number of elements in each element of the first dimension.
    row: u64,
    /// The functions that the initializer names.
    pub(super) functions: Vec<&'a str>,
    /// True once an error in it was reported: of each initializer only one is.
    pub(super) broken: bool,
}

/// Returns the number of elements of an array with these dimensions; 0 if one of them is omitted.
fn elements(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |all, count| all.saturating_mul(*count))
}

impl<'a> Judge<'_, 'a> {
    pub(super) fn declaration(
        &mut self,
        begun: usize,
        keyword: Range<usize>,
        linkage: Option<Linkage>,
        space: Option<&'static Space>,
        site: Site,
    ) {
        let kind = DeclaredAs { symbol: Symbol::Label, ty: None, lanes: 1, align: 0 };
        let (symbol, earlier, contents) = (None, None, Contents::default());
        self.declaring =
            Some(Declaring { begun, linkage, space, site, kind, name: "", count: None, symbol, earlier, contents });
        let Some(space) = space else { return };
        // The reader knows the version, and refuses what it has no more; the last version that has it is collected here.
        self.level.is_gone(space.until, &keyword);
        if linkage == Some(Linkage::Common) && !space.common {
            let message = format!("a variable in `.{}` is not `.common`", space.name);
            self.findings.error(Code::Syntax, keyword.clone(), message);
        }
        if site == Site::Module && !self.names.bare {
            self.level.is_gone(space.inside, &keyword);
        }
        if site == Site::Body && space.memory == Some(Memory::Call) {
            self.feature(Feature::ArgumentVariables, "a variable that holds an argument", keyword);
        }
    }

    /// An attribute of a variable.
    pub(super) fn attribute(&mut self, attribute: &Directive, span: &Range<usize>) {
        let space = self.declaring.as_ref().and_then(|declaring| declaring.space);
        if let Some(space) = space.filter(|space| !space.common) {
            let message = format!("a variable in `.{}` has no attribute `.{}`", space.name, attribute.name);
            self.findings.error(Code::Syntax, span.clone(), message);
        }
    }

    pub(super) fn attributes(&mut self, attributes: &Attributes<'a>) {
        let Some(Declaring { space, site, linkage, .. }) = self.declaring else { return };
        if site == Site::Body && space.is_some_and(|space| space.memory == Some(Memory::Call)) {
            self.amount(Feature::ParameterAlignment, attributes.align, "an alignment", attributes.span.clone());
        }
        if linkage == Some(Linkage::Common) && self.table.space(attributes.word).is_some_and(|space| space.opaque) {
            let message = format!("a `.{}` is not `.common`", attributes.word);
            self.findings.error(Code::Syntax, attributes.span.clone(), message);
        }
        let kind = self.declared_as(attributes, space, site);
        if let Some(declaring) = &mut self.declaring {
            declaring.kind = kind;
        }
    }

    /// Judges the words before names. An invalid type is reported, but the names are declared nonetheless.
    pub(super) fn declared_as(
        &mut self,
        attributes: &Attributes<'a>,
        space: Option<&'static Space>,
        site: Site,
    ) -> DeclaredAs {
        let Attributes { word, ty, lanes, align, ref span, ref behind } = *attributes;
        let Some(space) = space else {
            let ty = ty.unwrap_or_else(|| unreachable!("registers have types"));
            self.type_begins(ty, word, site, span);
            let vector = self.is_vector(self.table.ty(ty), lanes, behind.clone());
            self.findings.note(vector);
            return DeclaredAs { symbol: Symbol::Register { ty, lanes }, ty: Some(ty), lanes, align };
        };
        let unknown = DeclaredAs { symbol: Symbol::Variable { space, holds: None, number: 0 }, ty: None, lanes, align };
        self.variable_type(attributes, unknown, space, site).unwrap_or_else(|error| {
            self.findings.waiting.push(*error);
            unknown
        })
    }

    fn variable_type(
        &mut self,
        attributes: &Attributes<'a>,
        unknown: DeclaredAs,
        space: &'static Space,
        site: Site,
    ) -> Read<DeclaredAs> {
        let table = self.table;
        let Attributes { word: name, ty, lanes, ref span, .. } = *attributes;
        if let Some(opaque) = table.space(name).filter(|space| space.opaque) {
            if let Some(declared) = table.declared_word(name) {
                self.asks(format_args!("`.{name}`"), &declared.floor, span.clone());
            }
            self.has_option(opaque, span.clone())?;
            let there = match site {
                Site::Module => space.opaques,
                Site::Parameters { opaques } => opaques,
                Site::Body => false,
            };
            if !there || lanes > 1 {
                let spaces = table.spaces.iter().filter(|space| space.opaques);
                let spaces: Vec<String> = spaces.map(|space| format!("`.{}`", space.name)).collect();
                let spaces = spaces.join(" or ");
                let message = format!(
                    "a `.{name}` must be declared alone, in {spaces} outside of functions or as a kernel's parameter"
                );
                return fail(Code::Syntax, span.clone(), message);
            }
            let symbol = Symbol::Variable { space: opaque, holds: None, number: 0 };
            return Ok(DeclaredAs { symbol, ..unknown });
        }
        let parameter = matches!(site, Site::Parameters { .. });
        if let Some(ty) = ty {
            self.type_begins(ty, name, site, span);
        }
        let Some(ty) = ty.filter(|ty| parameter || table.ty(*ty).kind != Kind::Predicate) else {
            let message = format!("`.{name}` is not a type of variables");
            let types = table.types.iter().filter(|ty| !ty.registers.is_empty() && ty.kind != Kind::Predicate);
            let error = Diagnostic::error(Code::Syntax, span.clone(), message);
            return Err(Box::new(alike::suggest(error, name, ".", types.map(|ty| ty.name))));
        };
        if (lanes > 1 || table.ty(ty).kind == Kind::Packed) && !space.vectors && !parameter {
            return fail(Code::Syntax, span.clone(), format!("there are no vectors in `.{}`", space.name));
        }
        self.is_vector(table.ty(ty), lanes, span.clone())?;
        let symbol = Symbol::Variable { space, holds: Some((ty, lanes)), number: 0 };
        Ok(DeclaredAs { symbol, ty: Some(ty), ..unknown })
    }

    /// Checks that vectors of `lanes` elements of a type exist.
    fn is_vector(&self, ty: &TypeInfo, lanes: u8, span: Range<usize>) -> Read<()> {
        let least = if ty.kind == Kind::Predicate { u16::MAX } else { ty.bits };
        if lanes > 1 && u32::from(least) * u32::from(lanes) > VECTOR_BITS {
            return fail(Code::Syntax, span, format!("there are no vectors of {lanes} `.{}`", ty.name));
        }
        Ok(())
    }

    /// Checks that `.target` has the option that variables in this space require.
    fn has_option(&self, space: &'static Space, span: Range<usize>) -> Read<()> {
        match space.option {
            Some(option)
                if self.level.options.iter().all(|(given, _)| given.name != option)
                    && self.level.target_at.is_some() =>
            {
                let message = format!("`.{}` needs the option `{option}`", space.name);
                let error = Diagnostic::error(Code::Target, span, message);
                Err(Box::new(error.with_help(format!("write it behind the target: `.target sm_90, {option}`"))))
            }
            _ => Ok(()),
        }
    }

    /// Checks the floor of a type where it is written. Parameters are checked at the start of a body, but for packed types.
    fn type_begins(&mut self, ty: TypeId, name: &'a str, site: Site, span: &Range<usize>) {
        if !matches!(site, Site::Parameters { .. }) || self.table.ty(ty).kind == Kind::Packed {
            self.type_exists(name, span.clone());
        }
    }

    /// Checks the floor of a type that a declaration names: a later version may have brought it.
    pub(super) fn type_exists(&mut self, name: &'a str, span: Range<usize>) {
        let known = self.declared.types.get(name).copied();
        let declared = known.unwrap_or_else(|| self.table.declared_word(name));
        if known.is_none() {
            self.declared.types.insert(name, declared);
        }
        if let Some(declared) = declared {
            self.asks(format_args!("a declaration of type `.{name}`"), &declared.floor, span);
        }
    }

    /// Declares a name.
    pub(super) fn name(&mut self, name: &'a str, count: Option<u64>, array: bool) {
        let Some(mut declaring) = self.declaring.take() else { return };
        let module = declaring.space.is_some() && declaring.site == Site::Module && !self.names.bare;
        let earlier = if module { self.is_new(name, declaring.linkage) } else { None };
        if module {
            self.is_free(name);
        }
        let symbol = declaring.kind.symbol;
        let symbol = self.numbered(if array { symbol.as_array() } else { symbol });
        self.declare(name, count, symbol);
        let contents = Contents::default();
        declaring = Declaring { name, count, symbol: Some(symbol), earlier, contents, ..declaring };
        self.declaring = Some(declaring);
    }

    pub(super) fn dimensions(&mut self, dimensions: &[u64]) {
        let Some(declaring) = &mut self.declaring else { return };
        declaring.contents.elements = elements(dimensions);
        declaring.contents.row = elements(dimensions.get(1..).unwrap_or_default());
        let (DeclaredAs { ty, lanes, align, .. }, symbol) = (declaring.kind, declaring.symbol);
        if let Some(Symbol::Variable { number, .. }) = symbol {
            self.declared.shapes[number as usize] = self.shape(ty, lanes, align, dimensions);
        }
    }

    /// The end of an initializer, which may give the array its length.
    pub(super) fn values_end(&mut self, dimensions: usize, length: Option<u64>) {
        let Some(Declaring { kind, symbol, contents, .. }) = &mut self.declaring else { return };
        if contents.broken {
            return;
        }
        // An indirect call may use an array of functions.
        let functions = core::mem::take(&mut contents.functions);
        let unsigned = kind.ty.is_some_and(|ty| self.table.ty(ty).kind == Kind::Unsigned);
        if let Some(Symbol::Variable { number, .. }) = symbol
            && !functions.is_empty()
            && dimensions == 1
            && kind.lanes == 1
            && unsigned
        {
            self.declared.tables.insert(*number, functions);
        }
        if let Some(length) = length {
            contents.elements = length.saturating_mul(contents.row);
        }
    }

    /// An initializer that cannot be read, or has a value that does not fit.
    pub(super) fn contents_broken(&mut self, error: Diagnostic) {
        let Some(Declaring { contents, .. }) = &mut self.declaring else { return };
        contents.elements = 0;
        if !core::mem::replace(&mut contents.broken, true) {
            self.findings.waiting.push(error);
        }
    }

    /// The end of what is said of a name.
    pub(super) fn name_ends(&mut self, end: usize) {
        let Some(Declaring { begun, space, kind, name, count, symbol, earlier, ref contents, .. }) = self.declaring
        else {
            return;
        };
        let place = match space {
            None => Place::Registers(count),
            Some(space) => Place::Memory { space, elements: contents.elements },
        };
        if let (Some(earlier), Some(symbol)) = (earlier, symbol) {
            self.agrees(name, earlier, symbol);
        }
        self.findings.make_room();
        let declaration = Declaration { name, ty: kind.ty, lanes: kind.lanes, place };
        self.findings.item(Item::Declaration(declaration), begun..end);
    }

    /// Assigns a number to a variable. Its shape is set once its dimensions have been read.
    pub(super) fn numbered(&mut self, symbol: Symbol) -> Symbol {
        let Symbol::Variable { space, holds, .. } = symbol else { return symbol };
        let number = self.declared.shapes.len() as u32;
        self.declared.shapes.push(self.shape(None, 1, 0, &[]));
        Symbol::Variable { space, holds, number }
    }

    /// Returns the shape of a variable with these dimensions; with an alignment of 0, that of its type applies.
    pub(super) fn shape(&self, ty: Option<TypeId>, lanes: u8, align: u64, dimensions: &[u64]) -> Shape {
        // An opaque variable has the size of an address.
        let one = ty.map_or(ADDRESS_BYTES, |ty| bytes_of(self.table.ty(ty), lanes));
        Shape {
            ty,
            lanes,
            dimensions: dimensions.len() as u8,
            bytes: one.saturating_mul(elements(dimensions)),
            row: one.saturating_mul(elements(dimensions.get(1..).unwrap_or_default())),
            align: align.max(one),
            memory: true,
            own: false,
            result: false,
        }
    }
}

impl<'a> Judge<'_, 'a> {
    /// Declares a name, and tells if the scope has it already.
    pub(super) fn declare(&mut self, name: &'a str, count: Option<u64>, symbol: Symbol) {
        let register = matches!(symbol, Symbol::Register { .. });
        let checked = self.names.scopes.depth() > 0 || register && !self.names.bare;
        let clashes = checked && self.names.scopes.clashes(name, count);
        let has_member = checked && count.is_some_and(|count| self.names.scopes.has_member(name, count));
        if clashes || has_member {
            let what = if clashes { "" } else { "a member of the family " };
            let message = format!("{what}`{name}` is declared twice in this scope");
            let span = span_of(self.text, name);
            self.findings.error(Code::DuplicateName, span, message);
        }
        // Of several declarations of a name, only the first is recorded.
        if !clashes {
            self.names.introduce(self.text, name, count, symbol);
        }
    }

    /// Reports a name of the module that a special register has.
    pub(super) fn is_free(&mut self, name: &'a str) {
        if self.table.special(name).is_some() {
            let message = format!("`{name}` is a special register");
            self.findings.error(Code::DuplicateName, span_of(self.text, name), message);
        }
    }

    /// Reports a name that the module has already. What is declared as `.extern` may be defined once, so that others see it.
    /// Returns the earlier declaration of the same variable.
    fn is_new(&mut self, name: &'a str, linkage: Option<Linkage>) -> Option<Symbol> {
        let found = self.names.scopes.find(name).map(|found| found.symbol);
        let external = linkage == Some(Linkage::Extern);
        let clash = match found {
            Some(Symbol::Function) => true,
            Some(Symbol::Variable { .. }) if external => {
                self.declared.externals.entry(name).or_insert(true);
                false
            }
            Some(Symbol::Variable { .. }) => {
                let defined = self.declared.externals.get_mut(name);
                defined.is_none_or(|defined| core::mem::replace(defined, true)) || linkage.is_none()
            }
            _ if external => {
                self.declared.externals.insert(name, false);
                false
            }
            _ => self.names.scopes.clashes(name, None),
        };
        if clash {
            let span = span_of(self.text, name);
            self.findings.error(Code::DuplicateName, span, format!("`{name}` is declared twice in this module"));
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
        let (before, now) = (self.declared.shapes[number as usize], self.declared.shapes[now as usize]);
        // A type that could not be read was reported.
        let known = |shape: &Shape, space: &Space| shape.ty.is_some() || space.opaque;
        if !known(&before, space) || !known(&now, other) {
            return;
        }
        if !before.agrees(&now) || (space.opaque || other.opaque) && space != other {
            let help = format!("it was {}, and now is {}", before.in_words(self.table), now.in_words(self.table));
            let message = format!("`{name}` was declared with another type or length");
            let error = Diagnostic::error(Code::DuplicateName, span_of(self.text, name), message);
            self.findings.waiting.push(if space.opaque || other.opaque { error } else { error.with_help(help) });
        }
    }

    /// Judges a label; one that names a list is declared at its end.
    pub(super) fn label(&mut self, name: &'a str, list: bool) {
        let span = span_of(self.text, name);
        self.names.record(|recorder| recorder.label(name, span.clone()));
        self.body.statement_at = span.start;
        self.findings.item(Item::Label(name), span);
        if list {
            return;
        }
        // One that is declared twice in a block was placed there.
        let label = self.names.scopes.find(name).is_some_and(|found| found.symbol == Symbol::Label);
        if !label || !self.names.scopes.clashes(name, None) {
            self.body.labels.place(name);
        }
        self.declare_label(name, Symbol::Label);
    }

    /// Labels have names of their own: a register of a family is what it was.
    pub(super) fn declare_label(&mut self, name: &'a str, symbol: Symbol) {
        if !self.names.scopes.is_of_family(name) {
            self.declare(name, None, symbol);
        }
    }
}
