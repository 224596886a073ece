//! Where everything stands in a module: its parts, and its names with what they mean.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use super::silence::silenced;
use super::{Item, Options, Proceed, Report, Visitor, collected, run};
use crate::diagnostic::Diagnostic;
use crate::table::{Space, Table, TypeId};
use crate::text::lexer::{Cursor, span_of};
use crate::text::scope;

/// Where the parts of a module stand, and its names with what they mean: for editors and other tools that start from a
/// place. What has an error is in it as well.
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

/// A statement, a directive, a label, or what stands in the place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The bytes it takes: of a function, those of its head with the brace.
    pub span: Range<usize>,
    /// Where the mnemonic of a statement stands, be it legal or not.
    pub mnemonic: Option<Range<usize>>,
}

/// What a module declares under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// What it is.
    pub kind: SymbolKind,
    /// Where its declaration names it; of a family, the stem.
    pub name: Range<usize>,
    /// What declares it: of a function the head, of what is declared with others all up to its name.
    pub declaration: Range<usize>,
    /// The declaration, and of a function its body.
    pub whole: Range<usize>,
    /// Where it may be named.
    pub scope: Range<usize>,
}

/// What a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A register, or a family of so many.
    Register {
        /// The type, or that of an element of a vector.
        ty: TypeId,
        /// How many elements a vector has; 1 for what is none.
        lanes: u8,
        /// How many registers a family has; `None` for a single one.
        count: Option<u64>,
    },
    /// A variable, a parameter in memory among them.
    Variable(&'static Space),
    /// A function.
    Function {
        /// Whether it is a kernel.
        kernel: bool,
    },
    /// A label.
    Label,
}

/// A place where a name stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The bytes it takes.
    pub span: Range<usize>,
    /// Whether it is declared here.
    pub declares: bool,
    /// Which of the symbols it means, one-based; 0 for none.
    symbol: u32,
}

/// What an offset is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Context<'i> {
    /// A comment or a string.
    Aside,
    /// Where a statement may begin.
    Start,
    /// The mnemonic of a statement, or right behind it.
    Mnemonic(&'i Part),
    /// The operands or the guard of a statement, or what may become them.
    Operands(&'i Part),
    /// A directive.
    Directive(&'i Part),
}

impl Index {
    /// Reads a module and keeps what stands where, beside what is to be said of it.
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

    /// Reads a module and keeps what stands where; the visitor takes what is to be said of it, and its parts. The report has all
    /// but the findings.
    pub fn visit<'a>(
        table: &'static Table,
        text: &'a str,
        options: &Options,
        visitor: &mut dyn Visitor<'a>,
    ) -> (Index, Report) {
        let mut recorder = Recorder::default();
        let mut extents = Extents { text, visitor, spans: Vec::new(), bodies: Vec::new(), function: 0 };
        let report = silenced(text.as_bytes(), &mut extents, |visitor| {
            run(table, text.as_bytes(), options, visitor, Some(&mut recorder), None)
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

    /// Its parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// All that is declared, in order.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The places where names stand, in order.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// The part that an offset is in, or right behind.
    pub fn part_at(&self, offset: usize) -> Option<&Part> {
        let behind = self.parts.partition_point(|part| part.span.start <= offset);
        self.parts[..behind].last().filter(|part| offset <= part.span.end)
    }

    /// The name that an offset is in, or right behind.
    pub fn name_at(&self, offset: usize) -> Option<&Name> {
        let behind = self.names.partition_point(|name| name.span.start <= offset);
        self.names[..behind].last().filter(|name| offset <= name.span.end)
    }

    /// What a name means; `None` where the text does not declare it.
    pub fn meaning(&self, name: &Name) -> Option<&Symbol> {
        self.symbols.get((name.symbol as usize).checked_sub(1)?)
    }

    /// The symbol of a name within a piece of the text that was read, a part or less; `None` where nothing declares it.
    pub fn meaning_in(&self, text: &str, piece: &Range<usize>, name: &str) -> Option<&Symbol> {
        let first = self.names.partition_point(|own| own.span.start < piece.start);
        let own = self.names[first..].iter().take_while(|own| own.span.start < piece.end);
        own.filter(|own| text[own.span.clone()] == *name).find_map(|own| self.meaning(own))
    }

    /// What may be named at an offset. Of several declarations of a name the innermost comes last.
    pub fn visible(&self, offset: usize) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(move |symbol| symbol.scope.contains(&offset))
    }

    /// What an offset of the text that was read is in.
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

/// Where declarations and bodies stand that a visitor is shown.
struct Extents<'v, 'a> {
    text: &'a str,
    visitor: &'v mut dyn Visitor<'a>,
    /// The place of each name, and the extent of what declares it.
    spans: Vec<(usize, Range<usize>)>,
    /// The place of the name of each function, and the end of its body.
    bodies: Vec<(usize, usize)>,
    /// The place of the name of the last function.
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

/// Without the comma, semicolon and blanks at its end.
fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let end = text[span.clone()].trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).len();
    span.start..span.start + end
}

/// Whether an offset is within a comment or string, of those that begin at `from` or behind.
fn is_aside(text: &str, from: usize, offset: usize) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.seek(from);
    while cursor.at() < offset && !cursor.at_end() {
        let line = cursor.peek_at(1) == b'/';
        match cursor.peek() {
            b'/' if cursor.skip_comment() => {
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

/// An index that is being made while a module is read.
#[derive(Default)]
pub(super) struct Recorder<'a> {
    index: Index,
    /// Where the name of each symbol stands: it is looked for often.
    starts: Vec<usize>,
    /// The symbols that may be named here.
    open: Vec<usize>,
    /// How many of them there were when each open scope began.
    scopes: Vec<usize>,
    /// Where the outermost open scope began.
    begun: usize,
    /// The labels of the open function.
    labels: BTreeMap<&'a str, usize>,
    /// The places in the open function of names that nothing before them declares: perhaps labels behind them.
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

    /// What declares the last symbol, where no item says it.
    pub(super) fn declared_by(&mut self, span: Range<usize>) {
        if let Some(symbol) = self.index.symbols.last_mut() {
            symbol.declaration = span.clone();
            symbol.whole = span;
        }
    }

    /// A function's name is known behind its scope as well.
    pub(super) fn declare_outside(&mut self, name: Range<usize>) {
        self.open.extend(self.symbol_at(name.start));
    }

    pub(super) fn label(&mut self, name: &'a str, span: Range<usize>) {
        self.labels.entry(name).or_insert(self.index.symbols.len());
        self.declare(span, SymbolKind::Label);
        // Its scope is the function's.
        self.open.pop();
    }

    fn symbol_at(&self, name: usize) -> Option<usize> {
        self.starts.binary_search(&name).ok()
    }

    /// Labels are known in all of a function, before and behind where they stand.
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

    /// A part that was read: notes the names in it that it does not declare.
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
            } else if cursor.peek() != b'/' || !cursor.skip_comment() {
                cursor.bump();
            }
        }
        self.index.parts.push(Part { span, mnemonic });
    }

    /// A name that stands somewhere, unless it is declared there.
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
        // What a part declares was noted before what else it names.
        names.sort_by_key(|name| name.span.start);
        self.index
    }
}
