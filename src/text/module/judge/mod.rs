//! The validator: judges the parts of a module as the reader passes them on.
//!
//! It holds no position in the text. What a part says is in the part; the text is needed for the places of names only.

mod calls;
mod declarations;
mod features;
mod floors;
mod functions;
mod header;
mod kinds;
mod labels;
mod lists;
mod registers;
mod undeclared;
mod values;
mod vectors;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use super::findings::Findings;
use super::index::{Recorder, SymbolKind};
use super::read::{Instruction, Output, Part};
use super::{Item, Linkage};
use crate::diagnostic::Diagnostic;
use crate::table::{Declared, Table};
use crate::text::lexer::{Cursor, span_of};
use crate::text::memo::Memo;
use crate::text::reader::Read;
use crate::text::scope::{Scopes, Symbol};
use crate::text::statement::Statement;
use calls::{List, Shape};
use declarations::Declaring;
pub(super) use floors::Level;
use functions::{Heading, Signature};
use header::Debug;
use labels::Labels;
use lists::Listing;

/// Judges the parts of one module.
pub(super) struct Judge<'o, 'a> {
    table: &'static Table,
    text: &'a str,
    findings: Findings<'o, 'a>,
    names: Names<'o, 'a>,
    pub(super) level: Level<'o>,
    declared: Declarations<'a>,
    debug: Debug<'a>,
    /// The head, the declaration and the body that are being read.
    head: Heading<'a>,
    declaring: Option<Declaring<'a>>,
    body: Body<'a>,
}

/// The names in scope.
pub(super) struct Names<'o, 'a> {
    scopes: Scopes<'a>,
    /// Records the names for an index, if one is wanted.
    recorder: Option<&'o mut Recorder<'a>>,
    /// True if statements may occur outside of functions.
    bare: bool,
    /// True if the text declares registers, so that each register must be declared.
    required: bool,
}

/// What is known of declared names beyond their symbols.
#[derive(Default)]
struct Declarations<'a> {
    /// Signatures of the functions declared so far.
    signatures: BTreeMap<&'a str, Signature>,
    /// The variables declared as `.extern`; true if also defined.
    externals: BTreeMap<&'a str, bool>,
    /// The functions defined by `.alias`.
    aliases: BTreeSet<&'a str>,
    /// The shapes of the known variables, by number.
    shapes: Vec<Shape>,
    /// The functions named by the initializers of an array, by the array's number.
    tables: BTreeMap<u32, Vec<&'a str>>,
    /// Cache of what the table says of types that declarations name.
    types: Memo<'a, Option<&'static Declared>>,
}

/// The open function.
#[derive(Default)]
struct Body<'a> {
    /// True if it is a kernel.
    kernel: bool,
    labels: Labels<'a>,
    /// The lists and prototypes that are named by labels, by number.
    lists: Vec<List<'a>>,
    /// The one that is being read.
    listing: Option<Listing<'a>>,
    /// Start of the statement being judged.
    statement_at: usize,
    /// True if that statement may name special registers.
    special: bool,
}

impl<'o, 'a> Names<'o, 'a> {
    pub(super) fn new(bare: bool, required: bool, recorder: Option<&'o mut Recorder<'a>>) -> Self {
        Names { scopes: Scopes::new(), recorder, bare, required }
    }

    /// Calls `what` with the recorder, if there is one.
    #[inline]
    fn record(&mut self, what: impl FnOnce(&mut Recorder<'a>)) {
        if let Some(recorder) = &mut self.recorder {
            what(recorder);
        }
    }

    /// Declares a name, whatever else the scope has.
    fn introduce(&mut self, text: &'a str, name: &'a str, count: Option<u64>, symbol: Symbol) {
        self.scopes.declare(name, count, symbol);
        let kind = match symbol {
            Symbol::Register { ty, lanes } => SymbolKind::Register { ty, lanes, count },
            Symbol::Variable { space, .. } => SymbolKind::Variable(space),
            Symbol::Function => SymbolKind::Function { kernel: false },
            Symbol::Label | Symbol::List(_) => return,
        };
        self.record(|recorder| recorder.declare(span_of(text, name), kind));
    }

    /// Records a part, unless it is a brace.
    #[inline]
    fn record_part(&mut self, text: &'a str, span: Range<usize>) {
        if let Some(recorder) = &mut self.recorder
            && !matches!(text.as_bytes()[span.start], b'{' | b'}')
        {
            recorder.part(text, span, &self.scopes);
        }
    }
}

impl<'o, 'a> Judge<'o, 'a> {
    pub(super) fn new(
        table: &'static Table,
        text: &'a str,
        findings: Findings<'o, 'a>,
        names: Names<'o, 'a>,
        level: Level<'o>,
    ) -> Self {
        let (declared, debug, head) = (Declarations::default(), Debug::default(), Heading::default());
        let (declaring, body) = (None, Body::default());
        Judge { table, text, findings, names, level, declared, debug, head, declaring, body }
    }

    /// Judges a statement, which may make it one of another form. For `registers` see [`Judge::registers`]; `opcode` is its
    /// start behind the guard.
    #[inline]
    fn statement(
        &mut self,
        statement: &mut Statement<'a>,
        registers: u32,
        opcode: usize,
        span: Range<usize>,
    ) -> Read<()> {
        self.body.statement_at = span.start;
        if let Some(guard) = statement.guard() {
            self.guard_is_predicate(guard)?;
        }
        self.fits(statement, registers, opcode)?;
        if !self.level.options.is_empty() {
            self.required_operands(statement.form(), opcode)?;
        }
        self.floors(statement, opcode, span.end)?;
        self.findings.item(Item::Statement(statement), span);
        Ok(())
    }

    /// The text without blanks at its end.
    fn trimmed(&self, span: Range<usize>) -> Range<usize> {
        span.start..span.start + self.text[span].trim_end().len()
    }

    fn mnemonic_at(&self, opcode: usize) -> Range<usize> {
        let mut cursor = Cursor::new(self.text);
        cursor.seek(opcode);
        cursor.dotted_word();
        opcode..cursor.at()
    }
}

impl<'a> Output<'a> for Judge<'_, 'a> {
    #[inline]
    fn next(&mut self, item: bool) {
        match item {
            true => self.findings.hand_on(),
            false => self.findings.make_room(),
        }
    }

    #[inline]
    fn begins(&mut self) {
        self.findings.begin();
    }

    #[inline]
    fn instruction(&mut self, instruction: Instruction<'_, 'a>) {
        let Instruction { statement, registers, opcode, span } = instruction;
        if let Err(error) = self.statement(statement, registers, opcode, span.clone()) {
            self.findings.refuse(Some(*error));
            let span = self.trimmed(span);
            self.findings.refused(Some(statement), span);
        }
    }

    #[inline]
    fn statement_ends(&mut self, span: Range<usize>) {
        self.findings.statement_ends(&span);
    }

    #[inline]
    fn ends(&mut self, span: Range<usize>) {
        self.findings.end(span.end);
        self.names.record_part(self.text, span);
    }

    #[inline]
    fn is_brief(&self) -> bool {
        self.findings.brief
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.findings.stopped
    }

    // Each caller passes one kind of part: inlined, all arms but one are dropped, and the part is never in memory.
    #[inline(always)]
    fn part(&mut self, part: Part<'_, 'a>) {
        match part {
            Part::Finding(finding) => {
                self.findings.waiting.push(*finding);
                self.findings.make_room();
            }
            Part::Unreadable(error) => self.findings.refuse(error.map(|error| *error)),
            Part::Skipped(span) => self.findings.unread(span),
            Part::Nameless(start) => self.findings.without_names(start),
            Part::Refused(span) => self.findings.refused(None, span),
            Part::Directive(name, span) => self.findings.item(Item::Directive(name), span),

            Part::Version(version, span) => self.version(version, span),
            Part::Target(target, since, span) => {
                let judged = self.target(target, since, span);
                self.findings.verdict(judged);
            }
            Part::TargetOption(option, span) => {
                let judged = self.target_option(option, span);
                self.findings.verdict(judged);
            }

            Part::Keyword(directive, span) => {
                if directive.attribute {
                    self.attribute(directive, &span);
                }
                let judged = self.level.needs(format_args!("`.{}`", directive.name), &directive.floor, span);
                // What follows a linkage or an attribute is read all the same.
                match directive.attribute || Linkage::named(directive.name).is_some() {
                    true => self.findings.note(judged),
                    false => self.findings.verdict(judged),
                }
            }
            Part::Use(feature, what, span) => self.feature(feature, what, span),
            Part::Pragma(span, place) => self.pragma(span, place),
            Part::DebugLine(at) => self.debug_line(at),
            Part::File(number, _, span) => self.file(number, span),
            Part::Location(location) => self.location(location),
            Part::InlinedAt(call, span) => self.inlined_at(call, span),
            Part::Section => self.debug.sections = true,
            Part::SectionLabel(name) => self.section_label(name),
            Part::Alias(alias, function) => {
                let judged = self.alias(alias, function);
                self.findings.verdict(judged);
            }

            Part::Head { at, kernel, linkage } => self.head(at, kernel, linkage),
            Part::HeadName(name) => self.head_name(name),
            Part::Parameters(head) => self.parameters(head),
            Part::Parameter(parameter) => self.parameter(parameter),
            Part::ParametersEnd { behind_name, token } => self.parameters_end(behind_name, token),
            Part::HeadDirective(directive, _, span) => {
                let judged = self.head_directive(directive, span);
                self.findings.note(judged);
                self.findings.make_room();
            }
            Part::HeadBroken(at) => self.leave(at),
            Part::Body { keyword, span } => self.body(keyword, span),
            Part::Prototype(span) => self.prototype(span),

            Part::Block(at) => self.enter(at),
            Part::BlockEnds(at) => self.leave(at),
            Part::FunctionEnds { at, lost_label } => self.function_ends(at, lost_label),
            Part::BodyEnds(name, span) => {
                self.declare_function(name);
                self.findings.item(Item::End, span);
            }
            Part::FunctionCut { at, blocks, name } => self.function_cut(at, blocks, name),

            Part::Declaration { begun, keyword, linkage, space, site } => {
                self.declaration(begun, keyword, linkage, space, site);
            }
            Part::Attributes(attributes) => self.attributes(attributes),
            Part::Name { name, count, array } => self.name(name, count, array),
            Part::Dimensions(dimensions) => self.dimensions(dimensions),
            Part::Field(name, span) => self.field(name, span),
            Part::Value(value, _, span) => self.initial_value(value, span),
            Part::ValuesEnd { dimensions, length } => self.values_end(dimensions, length),
            Part::ContentsBroken(error) => self.contents_broken(*error),
            Part::NameEnds(end) => self.name_ends(end),

            Part::Label { name, list } => self.label(name, list),
            Part::LabelAlone(name) => self.body.labels.place(name),
            Part::List(label, directive, span) => {
                let judged = self.list(label, directive, span);
                self.findings.verdict(judged);
            }
            Part::ListName(name, count) => self.list_name(name, count),
            Part::ListEnds(span) => self.list_ends(span),
            Part::TextEnds { length, whole, missing } => self.text_ends(length, whole, missing),
            Part::AddressSize(_) => {}
        }
    }
}

impl Judge<'_, '_> {
    fn text_ends(&mut self, length: usize, whole: bool, missing: Option<Box<Diagnostic>>) {
        self.findings.function_ends(length);
        self.names.record(|recorder| recorder.function_ends(length + 1));
        if whole && !self.findings.cut_off {
            self.missing_sections();
            self.findings.waiting.extend(missing.map(|missing| *missing));
        }
        self.findings.hand_on();
    }
}
