//! An index of a module: the position of each part, and the symbol that each name refers to.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use super::silence::silenced;
use super::{Beside, Item, Options, Proceed, Report, Visitor, collected, run};
use crate::diagnostic::Diagnostic;
use crate::table::{Space, Table, TypeId};
use crate::text::lexer::{Cursor, span_of};
use crate::text::scope;

/// The positions of the parts of a module, and the symbols that its names refer to, for editors and other tools that
/// start from a text position. Parts that have an error are included.
///
/// ```
/// use ptx_isa::TABLE;
/// use ptx_isa::text::module::{Index, Options, SymbolKind};
///
/// let text = ".version 7.0 .target sm_80 .entry k() { .reg .b32 %r<3>; add.s32 %r1, %r1, %r2 oops; ret; }";
/// let (index, report) = Index::read(&TABLE, text, &Options::default());
/// assert_eq!(report.errors(), 1);
///
/// // `%r2` is a register of the family that is declared before it.
/// let name = index.name_at(text.find("%r2").unwrap()).unwrap();
/// let family = index.meaning(name).unwrap();
/// assert_eq!(&text[family.declaration.clone()], ".reg .b32 %r<3>");
/// assert!(matches!(family.kind, SymbolKind::Register { count: Some(3), .. }));
/// let used = index.names().iter().filter(|name| index.meaning(name) == Some(family) && !name.declares);
/// assert_eq!(used.count(), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Index {
    parts: Vec<Part>,
    symbols: Vec<Symbol>,
    names: Vec<Name>,
}

/// A statement, a directive or a label, or erroneous text in the place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its byte range. For a function, the range covers the head up to and including the opening brace.
    pub span: Range<usize>,
    /// Byte range of a statement's mnemonic, valid or not.
    pub mnemonic: Option<Range<usize>>,
}

/// A named declaration of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Kind of the symbol.
    pub kind: SymbolKind,
    /// Byte range of the name in the declaration; for a register family, of the stem.
    pub name: Range<usize>,
    /// Byte range of the declaration: for a function, its head; in a list of declarations, everything up to and
    /// including this name.
    pub declaration: Range<usize>,
    /// Byte range of the declaration and, for a function, its body.
    pub whole: Range<usize>,
    /// Byte range in which the symbol can be named.
    pub scope: Range<usize>,
}

/// Kind of a [`Symbol`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A register, or a family of registers.
    Register {
        /// The type of the register; for a vector, the type of its elements.
        ty: TypeId,
        /// Number of elements of a vector; 1 for a scalar.
        lanes: u8,
        /// Number of registers in the family; `None` for a single register.
        count: Option<u64>,
    },
    /// A variable, including parameters in memory.
    Variable(&'static Space),
    /// A function.
    Function {
        /// True for a kernel (`.entry`).
        kernel: bool,
    },
    /// A label.
    Label,
}

/// An occurrence of a name in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its byte range.
    pub span: Range<usize>,
    /// True if this occurrence declares the name.
    pub declares: bool,
    /// One-based index of the symbol that the name refers to; 0 if there is none.
    symbol: u32,
}

/// Syntactic context of an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Context<'i> {
    /// A comment or a string.
    Aside,
    /// A position where a statement may begin.
    Start,
    /// The mnemonic of a statement, or the position directly after it.
    Mnemonic(&'i Part),
    /// The operands or the guard of a statement, or text that may become them.
    Operands(&'i Part),
    /// A directive.
    Directive(&'i Part),
}

impl Index {
    /// Reads a module and returns its index and the report with all findings.
    pub fn read(table: &'static Table, text: &str, options: &Options) -> (Index, Report) {
        let mut index = Index::default();
        let report = collected(
            |_, _| {},
            |visitor| {
                let (own, report) = Index::visit(table, text, options, visitor);
                index = own;
                report
            },
        );
        (index, report)
    }

    /// Reads a module and returns its index. The parts and the findings are handed to the visitor; the report holds
    /// everything but the findings.
    pub fn visit<'a>(
        table: &'static Table,
        text: &'a str,
        options: &Options,
        visitor: &mut dyn Visitor<'a>,
    ) -> (Index, Report) {
        let mut recorder = Recorder::default();
        let mut extents = Extents { text, visitor, spans: Vec::new(), bodies: Vec::new(), function: 0 };
        let report = silenced(text.as_bytes(), &mut extents, |visitor| {
            run(table, text.as_bytes(), options, visitor, Beside::Recorder(&mut recorder))
        });
        let Extents { spans, bodies, .. } = extents;
        let mut index = recorder.finish(text.len());
        for (name, span) in spans {
            if let Some(symbol) = index.declared_at(name) {
                symbol.declaration = trimmed(text, span);
                symbol.whole = symbol.declaration.clone();
            }
        }
        for (name, end) in bodies {
            if let Some(symbol) = index.declared_at(name) {
                symbol.whole.end = end;
            }
        }
        (index, report)
    }

    fn declared_at(&mut self, name: usize) -> Option<&mut Symbol> {
        let index = self.symbols.binary_search_by_key(&name, |symbol| symbol.name.start).ok()?;
        self.symbols.get_mut(index)
    }

    /// Returns the parts, in text order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the declared symbols, in text order.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Returns the occurrences of names, in text order.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// Returns the part that contains an offset or ends at it.
    pub fn part_at(&self, offset: usize) -> Option<&Part> {
        let behind = self.parts.partition_point(|part| part.span.start <= offset);
        self.parts[..behind].last().filter(|part| offset <= part.span.end)
    }

    /// Returns the name that contains an offset or ends at it.
    pub fn name_at(&self, offset: usize) -> Option<&Name> {
        let behind = self.names.partition_point(|name| name.span.start <= offset);
        self.names[..behind].last().filter(|name| offset <= name.span.end)
    }

    /// Returns the symbol that a name refers to; `None` if the text does not declare it.
    pub fn meaning(&self, name: &Name) -> Option<&Symbol> {
        self.symbols.get((name.symbol as usize).checked_sub(1)?)
    }

    /// Returns the symbol of a name that occurs within `piece`, a byte range within one part; `None` if it is not
    /// declared. `text` must be the text that was read.
    pub fn meaning_in(&self, text: &str, piece: &Range<usize>, name: &str) -> Option<&Symbol> {
        let first = self.names.partition_point(|own| own.span.start < piece.start);
        let own = self.names[first..].iter().take_while(|own| own.span.start < piece.end);
        own.filter(|own| text[own.span.clone()] == *name).find_map(|own| self.meaning(own))
    }

    /// Returns the symbols that can be named at an offset. If a name is declared more than once, its innermost
    /// declaration comes last.
    pub fn visible(&self, offset: usize) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(move |symbol| symbol.scope.contains(&offset))
    }

    /// Returns the syntactic context of an offset in the text that was read.
    pub fn context(&self, text: &str, offset: usize) -> Context<'_> {
        let behind = self.parts.partition_point(|part| part.span.start < offset);
        let Some(part) = self.parts[..behind].last() else {
            return if is_aside(text, 0, offset) { Context::Aside } else { Context::Start };
        };
        let last = text.as_bytes().get(part.span.end.wrapping_sub(1));
        let ended = || matches!(last, Some(b';' | b':' | b'{'));
        if offset > part.span.end || offset == part.span.end && ended() {
            return if is_aside(text, part.span.end, offset) { Context::Aside } else { Context::Start };
        }
        if is_aside(text, part.span.start, offset) {
            return Context::Aside;
        }
        match &part.mnemonic {
            Some(mnemonic) if (mnemonic.start..=mnemonic.end).contains(&offset) => Context::Mnemonic(part),
            None if text.as_bytes().get(part.span.start) == Some(&b'.') => Context::Directive(part),
            _ => Context::Operands(part),
        }
    }
}

/// A visitor that records the extents of declarations and bodies, and forwards to another visitor.
struct Extents<'v, 'a> {
    text: &'a str,
    visitor: &'v mut dyn Visitor<'a>,
    /// Start of each declared name, and the byte range of its declaration.
    spans: Vec<(usize, Range<usize>)>,
    /// Start of each function's name, and the end of its body.
    bodies: Vec<(usize, usize)>,
    /// Start of the name of the last function.
    function: usize,
}

impl<'a> Visitor<'a> for Extents<'_, 'a> {
    fn item(&mut self, item: Item<'_, 'a>, span: Range<usize>) {
        let start = |name: &str| span_of(self.text, name).start;
        match item {
            Item::Declaration(declaration) => self.spans.push((start(declaration.name), span.clone())),
            Item::Prototype(head) if !head.name.is_empty() => self.spans.push((start(head.name), span.clone())),
            Item::Function(head) if !head.name.is_empty() => {
                self.function = start(head.name);
                self.spans.push((self.function, span.start..span.end - 1));
            }
            Item::End => self.bodies.push((self.function, span.end)),
            _ => {}
        }
        self.visitor.item(item, span);
    }

    fn finding(&mut self, finding: Diagnostic) -> Proceed {
        self.visitor.finding(finding)
    }
}

/// Removes a trailing comma, semicolon and blanks from a byte range.
fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let end = text[span.clone()].trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).len();
    span.start..span.start + end
}

/// Returns true if an offset is within a comment or a string that begins at `from` or later.
fn is_aside(text: &str, from: usize, offset: usize) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.seek(from);
    while cursor.at() < offset && !cursor.at_end() {
        let line = cursor.peek() == b'#' || cursor.peek_at(1) == b'/';
        match cursor.peek() {
            _ if cursor.at_aside() && cursor.skip_comment() => {
                if cursor.at() > offset || cursor.at() == offset && (line || cursor.unterminated.is_some()) {
                    return true;
                }
            }
            b'"' => {
                if !cursor.skip_string() || cursor.at() > offset {
                    return true;
                }
            }
            _ => cursor.bump(),
        }
    }
    false
}

/// Builds an [`Index`] while a module is read.
#[derive(Default)]
pub(super) struct Recorder<'a> {
    index: Index,
    /// Start of each symbol's name, kept in an array of its own because it is searched often.
    starts: Vec<usize>,
    /// Indices of the symbols that are in scope.
    open: Vec<usize>,
    /// Length of `open` at the start of each open scope.
    scopes: Vec<usize>,
    /// Start of the outermost open scope.
    begun: usize,
    /// The labels of the open function.
    labels: BTreeMap<&'a str, usize>,
    /// Uses in the open function of names that are not declared before their use: they may refer to labels further on.
    unknown: Vec<(&'a str, usize)>,
}

impl<'a> Recorder<'a> {
    pub(super) fn enter(&mut self, at: usize) {
        if self.scopes.is_empty() {
            self.begun = at;
        }
        self.scopes.push(self.open.len());
    }

    pub(super) fn leave(&mut self, at: usize) {
        let Some(first) = self.scopes.pop() else { return };
        for symbol in self.open.drain(first..) {
            self.index.symbols[symbol].scope.end = at;
        }
    }

    pub(super) fn declare(&mut self, name: Range<usize>, kind: SymbolKind) {
        let symbol = Symbol {
            kind,
            declaration: name.clone(),
            whole: name.clone(),
            scope: name.start..usize::MAX,
            name: name.clone(),
        };
        let index = self.index.symbols.len();
        self.starts.push(name.start);
        self.open.push(index);
        self.index.symbols.push(symbol);
        self.index.names.push(Name { span: name, declares: true, symbol: index as u32 + 1 });
    }

    /// Sets the declaration of the last symbol, for declarations that are not reported as an item.
    pub(super) fn declared_by(&mut self, span: Range<usize>) {
        if let Some(symbol) = self.index.symbols.last_mut() {
            symbol.declaration = span.clone();
            symbol.whole = span;
        }
    }

    /// Keeps a function's name in scope after the function.
    pub(super) fn declare_outside(&mut self, name: Range<usize>) {
        self.open.extend(self.symbol_at(name.start));
    }

    pub(super) fn label(&mut self, name: &'a str, span: Range<usize>) {
        self.labels.entry(name).or_insert(self.index.symbols.len());
        self.declare(span, SymbolKind::Label);
        // The scope of a label is the whole function.
        self.open.pop();
    }

    fn symbol_at(&self, name: usize) -> Option<usize> {
        self.starts.binary_search(&name).ok()
    }

    /// Ends a function: its labels are visible in all of it, before and after their declarations.
    pub(super) fn function_ends(&mut self, at: usize) {
        let labels = core::mem::take(&mut self.labels);
        let own = self.index.symbols.iter_mut().rev().take_while(|symbol| symbol.name.start >= self.begun);
        own.filter(|symbol| symbol.kind == SymbolKind::Label).for_each(|label| label.scope = self.begun..at);
        for (name, place) in self.unknown.drain(..) {
            if let Some(label) = labels.get(name) {
                self.index.names[place].symbol = *label as u32 + 1;
            }
        }
        self.begun = at;
    }

    /// Adds a part that was read, and the names in it that it does not declare.
    pub(super) fn part(&mut self, text: &'a str, span: Range<usize>, scopes: &scope::Scopes<'a>) {
        let mut cursor = Cursor::new(text);
        cursor.seek(span.start);
        let mut mnemonic = None;
        if cursor.eat(b'@') {
            cursor.skip_blanks();
            cursor.eat(b'!');
            cursor.skip_blanks();
            if cursor.at_word() && cursor.at() < span.end {
                self.name(text, cursor.word(), scopes);
            }
            cursor.skip_blanks();
        }
        let is_label = self.symbol_at(span.start).is_some();
        if cursor.at_word() && cursor.at() < span.end && !is_label {
            let start = cursor.at();
            cursor.dotted_word();
            mnemonic = Some(start..cursor.at());
        }
        while cursor.at() < span.end {
            if cursor.at_word() {
                self.name(text, cursor.word(), scopes);
            } else if cursor.at_dot_word() {
                cursor.dot_word();
            } else if cursor.at_digit() {
                cursor.word_part();
            } else if cursor.peek() == b'"' {
                cursor.skip_string();
            } else if !cursor.at_aside() || !cursor.skip_comment() {
                cursor.bump();
            }
        }
        self.index.parts.push(Part { span, mnemonic });
    }

    /// Records a use of a name. Does nothing if the name is declared at this position.
    fn name(&mut self, text: &'a str, name: &'a str, scopes: &scope::Scopes<'a>) {
        let span = span_of(text, name);
        if self.starts.last().is_some_and(|last| span.start <= *last) && self.symbol_at(span.start).is_some() {
            return;
        }
        let declared = scopes.declaration(name).and_then(|declared| self.symbol_at(span_of(text, declared).start));
        let symbol = declared.map_or(0, |symbol| symbol as u32 + 1);
        if symbol == 0 {
            self.unknown.push((name, self.index.names.len()));
        }
        self.index.names.push(Name { span, declares: false, symbol });
    }

    fn finish(mut self, end: usize) -> Index {
        for symbol in self.open.drain(..) {
            self.index.symbols[symbol].scope.end = end + 1;
        }
        let Index { names, symbols, .. } = &mut self.index;
        symbols.iter_mut().for_each(|symbol| symbol.scope.end = symbol.scope.end.min(end + 1));
        // The names that a part declares were recorded before the names that it uses.
        names.sort_by_key(|name| name.span.start);
        self.index
    }
}
