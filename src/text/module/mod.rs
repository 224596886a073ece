//! Reads and checks whole PTX files, as compilers write them.
//!
//! ```
//! use ptx_isa::text::{Options, check};
//!
//! let module = b"
//! .version 7.0
//! .target sm_80
//! .visible .entry kernel(.param .u64 kernel_param_0)
//! {
//!     .reg .pred %p<2>;
//!     .reg .f32  %f<3>;
//!     .reg .b64  %rd<2>;
//!     ld.param.u64 %rd1, [kernel_param_0];
//!     setp.lt.f32 %p1, %f1, %f3;
//! }";
//! let report = check(&ptx_isa::TABLE, module, &Options::default());
//! assert_eq!((report.in_table, report.outside), (2, 0));
//! let error = &report.diagnostics[0];
//! assert_eq!(error.message, "`%f3` is not declared here");
//! assert_eq!(error.help.as_deref(), Some("`%f<3>` declares `%f0` to `%f2`"));
//! ```
//!
//! The reader handles the frame of a module: directives, declarations, functions, scopes and labels. Each invalid
//! statement is reported once, including one with an unknown opcode, and reading resumes after it.

mod declarations;
mod directives;
mod findings;
mod fixes;
mod functions;
mod header;
mod index;
mod item;
mod judge;
mod lists;
mod needs;
mod recovery;
mod sections;
mod silence;
mod stray;
mod tree;
mod variables;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

pub use directives::Linkage;
pub(crate) use directives::OWN;
use directives::begins_item;
use findings::Findings;
pub use fixes::{Fixed, edits, fix};
use header::Header;
use index::Recorder;
pub use index::{Context, Index, Name, Part, Symbol, SymbolKind};
pub use item::{Declaration, Function, Item, Place};
use judge::{Body, Declarations, Judge, Level, Names};
use needs::Collector;
pub use needs::{Minimum, Needs, Reason, needs};
use recovery::has_label;
pub use tree::{Module, Node, NodeKind};

use super::encoding::decode;
use super::lexer::{Cursor, has_directive};
use super::memo::Memo;
use super::mnemonic::{self, Depth};
use super::reader::{Opening, Read, Reader, fail};
use super::statement::Statement;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::table::{Declared, Free, Table, TypeId};
use crate::target::{Target, Version};

/// Settings that take precedence over the header directives of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The PTX version, which overrides `.version`. Required for bare statements, which have no such directive.
    pub ptx: Option<Version>,
    /// The target, which overrides `.target`. Required for bare statements, which have no such directive.
    pub target: Option<Target>,
}

/// The result of checking a text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of statements whose opcode is in the table, including those with errors.
    pub in_table: usize,
    /// Number of instructions whose opcode is not in the table. Each is an error.
    pub outside: usize,
    /// The PTX version that the statements were checked against, if known.
    pub version: Option<Version>,
    /// The target that the last statement was checked against, if known.
    pub target: Option<Target>,
}

impl Report {
    /// Returns the number of errors.
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
    }

    /// Returns the number of warnings.
    pub fn warnings(&self) -> usize {
        self.diagnostics.len() - self.errors()
    }
}

/// Checks every statement of a text.
///
/// A text without `.version` and `.target` is read as bare statements, outside of any function. Their registers must be
/// declared only if the text declares any. Comments may contain bytes that are not UTF-8: see [`decode`].
///
/// A comment `// ptx-isa: ignore CODE` silences the findings of that [`Code`] on its line, or on the next line if it is alone on its own:
/// they are not reported. [`read`] and all that executes modules know no silence.
///
/// ```
/// use ptx_isa::text::{Options, check};
///
/// let module = |comment| format!(".version 8.0 .target sm_80 .entry k() {{\nadd.u33 a, b, c; {comment}\nret; }}");
/// let findings = |comment| check(&ptx_isa::TABLE, module(comment).as_bytes(), &Options::default()).diagnostics.len();
/// assert_eq!(findings(""), 1);
/// assert_eq!(findings("// ptx-isa: ignore unknown-modifier"), 0);
/// ```
pub fn check(table: &'static Table, source: &[u8], options: &Options) -> Report {
    let source = decode(source);
    collected(|_, _| {}, |visitor| visit(table, &source, options, visitor))
}

/// Checks every statement of a text, and passes each part and its byte range to `visit`, in text order. Of the parts
/// that have an error, only statements are passed.
///
/// ```
/// use ptx_isa::text::module::{Item, Options, read};
///
/// let module = b".version 7.0 .target sm_80 .entry k() { .reg .b32 %r<3>; add.s32 %r1, %r1, %r2; ret; }";
/// let mut mnemonics = Vec::new();
/// read(&ptx_isa::TABLE, module, &Options::default(), |item, _| {
///     if let Item::Statement(statement) = item {
///         mnemonics.push(statement.mnemonic());
///     }
/// });
/// assert_eq!(mnemonics, ["add.s32", "ret"]);
/// ```
pub fn read<'a>(
    table: &'static Table,
    source: &'a [u8],
    options: &Options,
    visit: impl FnMut(Item<'_, 'a>, Range<usize>),
) -> Report {
    collected(visit, |visitor| run(table, source, options, visitor, None, None))
}

/// Receives the parts and the findings of a module while it is read.
pub trait Visitor<'a> {
    /// Called for each part of the text, with its byte range. Of the parts that have an error, only statements are
    /// passed.
    fn item(&mut self, _item: Item<'_, 'a>, _span: Range<usize>) {}

    /// Called for each finding; the result determines how reading proceeds. The findings of a function are passed when
    /// the next function begins, in text order. To bound memory, they are passed earlier once a thousand are pending;
    /// then only each batch is in text order.
    fn finding(&mut self, finding: Diagnostic) -> Proceed;
}

/// How reading proceeds after a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proceed {
    /// Read on, with full diagnostics.
    Explain,
    /// Read on, but only to count findings by severity. The number of findings stays the same, but suggestions, which
    /// take most of the time spent on a finding, are not searched for.
    Count,
    /// Stop reading.
    Stop,
}

/// Checks every statement of a text, and hands its parts and what it finds to a visitor, which may end it. Memory is bounded
/// however many findings there are. The report has all but the findings. Silenced findings are not handed on, as with [`check`].
///
/// ```
/// use ptx_isa::diagnostic::Diagnostic;
/// use ptx_isa::text::module::{Options, Proceed, Visitor, visit};
///
/// struct First(Option<Diagnostic>);
///
/// impl Visitor<'_> for First {
///     fn finding(&mut self, finding: Diagnostic) -> Proceed {
///         self.0 = Some(finding);
///         Proceed::Stop
///     }
/// }
///
/// let module = b".version 7.0 .target sm_80 .func f() { bogus; } .func g() { add.s33 %r1, %r1; }";
/// let mut first = First(None);
/// let report = visit(&ptx_isa::TABLE, module, &Options::default(), &mut first);
/// assert_eq!(first.0.unwrap().message, "`bogus` is not in the table");
/// assert_eq!(report.in_table, 0, "the second function was not read");
/// ```
pub fn visit<'a>(table: &'static Table, source: &'a [u8], options: &Options, visitor: &mut dyn Visitor<'a>) -> Report {
    silence::silenced(source, visitor, |visitor| run(table, source, options, visitor, None, None))
}

/// A visitor that collects all findings.
struct Collecting<F> {
    item: F,
    findings: Vec<Diagnostic>,
}

impl<'a, F: FnMut(Item<'_, 'a>, Range<usize>)> Visitor<'a> for Collecting<F> {
    fn item(&mut self, item: Item<'_, 'a>, span: Range<usize>) {
        (self.item)(item, span);
    }

    fn finding(&mut self, finding: Diagnostic) -> Proceed {
        self.findings.push(finding);
        Proceed::Explain
    }
}

/// Runs `read` with a visitor that collects the findings, and adds them to the report in text order.
fn collected<'a>(
    item: impl FnMut(Item<'_, 'a>, Range<usize>),
    read: impl FnOnce(&mut dyn Visitor<'a>) -> Report,
) -> Report {
    let mut collecting = Collecting { item, findings: Vec::new() };
    let report = read(&mut collecting);
    let mut diagnostics = collecting.findings;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    Report { diagnostics, ..report }
}

/// Reads a module for a visitor. A recorder, if any, builds an index. With a collector, minimum versions and targets
/// are collected instead of checked.
fn run<'a>(
    table: &'static Table,
    source: &'a [u8],
    options: &Options,
    visitor: &mut dyn Visitor<'a>,
    recorder: Option<&mut Recorder<'a>>,
    collector: Option<&mut Collector>,
) -> Report {
    let report = Report { version: options.ptx, target: options.target, ..Report::default() };
    let text = match core::str::from_utf8(source) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let message = "the text is not UTF-8 from here on, so that none of it was read";
            visitor.finding(Diagnostic::error(Code::Encoding, at..at + 1, message));
            return report;
        }
    };
    let bare = !has_directive(text, ".version") && !has_directive(text, ".target");
    let judge = Judge {
        table,
        text,
        bare,
        declares: !bare || has_directive(text, ".reg"),
        findings: Findings::new(text, visitor),
        names: Names::new(recorder),
        level: Level::new(table, *options, collector),
        declared: Declarations::default(),
        body: Body::default(),
    };
    let mut checker = Checker {
        reader: Reader::new(table, text),
        judge,
        types: Memo::default(),
        options,
        header: Header::Version,
        sections: false,
        section_labels: BTreeSet::new(),
        address_sized: false,
        function: None,
        braces: 0,
        too_deep: 0,
        strings: (!text.is_ascii()).then(|| Cursor::new(text)),
        lost_label: false,
        lost_brace: false,
        broken: false,
        headless: false,
        unbalanced: false,
        dwarf: false,
        files: BTreeSet::new(),
        locations: BTreeSet::new(),
        head_end: 0,
        begun: None,
        cut_off: false,
        rubbish: 0,
        named: Vec::new(),
        in_table: 0,
        outside: 0,
    };
    checker.module();
    let Checker { judge, in_table, outside, .. } = checker;
    Report { version: judge.level.version, target: judge.level.target, in_table, outside, ..report }
}

struct Checker<'o, 'a> {
    reader: Reader<'a>,
    judge: Judge<'o, 'a>,
    /// Cache of the types of registers by name.
    types: Memo<'a, (TypeId, Option<&'static Declared>)>,
    options: &'o Options,
    header: Header,
    /// True once a `.section` has been read.
    sections: bool,
    /// True once `.address_size` has been read.
    address_sized: bool,
    /// The function whose body is open.
    function: Option<&'a str>,
    /// The labels of the `.section`s read so far.
    section_labels: BTreeSet<&'a str>,
    /// Number of open braces, and number of open braces beyond the nesting depth that the assembler accepts.
    braces: usize,
    too_deep: usize,
    /// Position up to which strings have been checked; `None` for ASCII text, which needs no check.
    strings: Option<Cursor<'a>>,
    /// Set if a label of the open function could not be read, or if a bracket was found that may be meant as a brace.
    lost_label: bool,
    lost_brace: bool,
    /// True if a function's body was ended by the head of another function.
    broken: bool,
    /// True if the next block belongs to a function whose head could not be read.
    headless: bool,
    /// True if an unclosed brace was found.
    unbalanced: bool,
    /// True once a line of debug information has been read.
    dwarf: bool,
    /// File numbers and source locations read so far.
    files: BTreeSet<u32>,
    locations: BTreeSet<[u32; 3]>,
    /// End of the head of the last function that was found within another function.
    head_end: usize,
    /// A pending linkage directive, such as `.visible`, and its start.
    begun: Option<(usize, Linkage)>,
    /// True if the last error extends to the end of the text.
    cut_off: bool,
    /// End of the last line for which an unexpected token was reported.
    rubbish: usize,
    /// The functions named by the initializers of the current declaration.
    named: Vec<&'a str>,
    in_table: usize,
    outside: usize,
}

/// End-of-file character of old systems (SUB).
const SUBSTITUTE: u8 = 0x1a;

impl<'a> Checker<'_, 'a> {
    fn module(&mut self) {
        // All statements are read into the same place, as they are large.
        let mut statement = None;
        loop {
            self.cursor().skip_blanks();
            self.reader.brief = self.judge.findings.brief;
            // Text after a function that does not begin an item still belongs to that function's findings.
            if self.judge.names.scopes.depth() == 0 && !self.judge.bare && self.cursor().at_dot_word() {
                self.hand_on();
            } else {
                self.judge.findings.make_room();
            }
            if self.cursor().at_end() || self.judge.findings.stopped {
                break;
            }
            let start = self.cursor().at();
            self.linkage_alone();
            match self.cursor().peek() {
                b'{' => self.open_brace(),
                b'}' => self.close_brace(),
                b'.' if self.cursor().at_dot_word() => self.directive(),
                b'@' if self.cursor().peek_at(1) == b'@' && self.judge.names.scopes.depth() == 0 => self.dwarf_line(),
                b'#' => self.line_marker(),
                b'\\' => self.backslash(),
                SUBSTITUTE if self.cursor().at() + 1 == self.text().len() => self.cursor().bump(),
                b'@' => self.statement(&mut statement),
                _ if self.cursor().at_word() => self.statement(&mut statement),
                _ => self.rubbish(),
            }
            self.record_part(start);
        }
        let length = self.text().len();
        self.judge.names.record(|recorder| recorder.function_ends(length + 1));
        if self.judge.findings.stopped {
            return;
        }
        if self.judge.bare {
            self.judge.jumps(self.lost_label);
        }
        self.end();
        self.hand_on();
    }

    /// Hands on the findings of the text read so far.
    fn hand_on(&mut self) {
        self.strings();
        self.judge.findings.hand_on();
    }

    /// Records the part from `start` up to the cursor.
    #[inline]
    fn record_part(&mut self, start: usize) {
        let (text, end) = (self.text(), self.reader.cursor.at());
        let names = &mut self.judge.names;
        if let Some(recorder) = &mut names.recorder
            && !matches!(text.as_bytes()[start], b'{' | b'}')
        {
            recorder.part(text, start..end, &names.scopes);
        }
    }

    /// Checks that the strings read so far are ASCII. Comments may contain any character.
    fn strings(&mut self) {
        let (text, end) = (self.text(), self.reader.cursor.at());
        let Some(mut cursor) = self.strings else { return };
        while cursor.at() < end {
            cursor.skip_blanks();
            let start = cursor.at();
            if cursor.peek() != b'"' || !cursor.skip_string() {
                cursor.bump();
                continue;
            }
            let string = &text[start..cursor.at()];
            if let Some((at, letter)) = string.char_indices().find(|(_, letter)| !letter.is_ascii()) {
                let span = start + at..start + at + letter.len_utf8();
                self.judge.findings.error(Code::Encoding, span, "a string holds ASCII only");
            }
        }
        self.strings = Some(cursor);
    }

    fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.reader.cursor
    }

    fn text(&self) -> &'a str {
        self.reader.cursor.text()
    }

    fn end(&mut self) {
        let length = self.text().len();
        self.names_end(length);
        if let Some(at) = self.reader.cursor.unterminated {
            return self.judge.findings.error(Code::Syntax, at..at + 2, "this comment has no end");
        }
        if self.cut_off {
            return;
        }
        self.linkage_alone();
        self.header_ends(length..length);
        self.missing_sections();
        if self.braces > 0 && !self.lost_brace && self.too_deep == 0 {
            self.missing_brace(length..length, "the end of the text");
        }
    }

    fn statement(&mut self, place: &mut Option<Statement<'a>>) {
        let before = self.judge.findings.waiting.len();
        let start = self.cursor().at();
        self.header_ends(start..start + 1);
        let mut opcode = start;
        if let Err(mut error) = self.one_statement(place, &mut opcode) {
            self.judge.findings.waiting.truncate(before);
            self.reader.notes.clear();
            let unread = matches!(error.code, Code::Syntax | Code::UnknownOpcode);
            self.recover(opcode);
            self.unfinished(&mut error);
            let outside = self.judge.names.scopes.depth() == 0 && !self.judge.bare;
            // An unterminated comment is reported at the end of the text. A body that was cut short by another function
            // has been reported already.
            if self.cursor().unterminated.is_none() && !(outside && self.broken) {
                self.judge.findings.waiting.push(*error);
            }
            if outside {
                self.skip_to_item();
            }
            // A statement within a single line declares nothing, but longer text may contain a label or a declaration.
            let passed = &self.text()[start..self.reader.cursor.at()];
            if unread && (outside || passed.trim_end().contains([':', '{', '}', '\n'])) {
                self.judge.findings.unread(start..self.reader.cursor.at());
            }
            self.lost_label |= has_label(passed);
            self.cut_off = self.cursor().at_end();
            let end = start + self.text()[start..self.reader.cursor.at()].trim_end().len();
            self.judge.findings.item(Item::Refused, start..end);
        }
        let end = self.reader.cursor.at();
        for finding in self.judge.findings.waiting.iter_mut().skip(before) {
            finding.statement = Some(start..end);
        }
    }

    /// Reads a statement. Sets `opcode` to its start after the guard.
    #[inline]
    fn one_statement(&mut self, place: &mut Option<Statement<'a>>, opcode: &mut usize) -> Read<()> {
        let start = *opcode;
        let guard = self.reader.guard()?;
        *opcode = self.reader.cursor.at();
        if !self.reader.cursor.at_word() {
            return fail(Code::Syntax, self.reader.cursor.token(), "a guard is followed by an instruction");
        }
        let mut free = Free::NONE;
        let form = match self.reader.opening(&mut free) {
            Ok(Opening::Form(form)) => form,
            Ok(Opening::Label(name)) => return self.label(guard, name),
            Ok(Opening::Outside) if self.label_without_colon(*opcode) => return Ok(()),
            Ok(Opening::Outside) => return self.outside(*opcode),
            Err(error) => {
                self.in_table += 1;
                return Err(error);
            }
        };
        self.in_table += 1;
        let statement = place.get_or_insert_with(|| Statement::new(self.reader.table, guard, form, free));
        statement.renew(guard, form, free);
        let read = self.reader.operands(statement);
        if self.reader.cursor.at_end() && (read.is_err() || !self.reader.cursor.is_behind(b';')) {
            return self.no_end(*opcode);
        }
        read?;
        self.stands_in_function(*opcode)?;
        self.judge.findings.waiting.append(&mut self.reader.notes);
        let span = start..self.reader.cursor.at();
        self.judge.statement(statement, guard, *opcode, span.clone())?;
        self.judge.findings.item(Item::Statement(statement), span);
        Ok(())
    }

    /// Treats a name alone on its line, if the next line begins a statement, as a label that lacks its colon. Moves the
    /// cursor to the next line.
    #[cold]
    fn label_without_colon(&mut self, opcode: usize) -> bool {
        let name = &self.text()[opcode..self.reader.cursor.at()];
        let mut next = self.reader.cursor;
        next.skip_blanks();
        let between = &self.text()[self.reader.cursor.at()..next.at()];
        let mut directive = next;
        let begins = next.at_word()
            || matches!(next.peek(), b'@' | b'{' | b'}')
            || next.at_dot_word() && begins_item(self.reader.table, directive.dot_word());
        if name.contains('.') || !between.contains('\n') || !begins || self.judge.names.scopes.depth() == 0 {
            return false;
        }
        let end = self.reader.cursor.at();
        let message = format!("`:` is missing before this, behind the label `{name}`");
        let error = Diagnostic::error(Code::Syntax, next.token(), message);
        self.judge.findings.waiting.push(error.with_fix(end..end, ":"));
        self.reader.cursor = next;
        self.judge.body.labels.place(name);
        true
    }

    /// Reports an opcode that is not in the table, with the nearest one as a suggestion.
    #[cold]
    fn outside(&mut self, opcode: usize) -> Read<()> {
        self.outside += 1;
        self.stands_in_function(opcode)?;
        let mut cursor = self.reader.cursor;
        cursor.seek(opcode);
        match mnemonic::read(self.reader.table, &mut cursor, Depth::Verdict) {
            Err(refusal) => {
                cursor.seek(opcode);
                self.reader.refused(cursor, refusal)
            }
            Ok(_) => self.skip_statement(opcode),
        }
    }

    fn mnemonic_at(&self, opcode: usize) -> Range<usize> {
        let mut cursor = self.reader.cursor;
        cursor.seek(opcode);
        cursor.dotted_word();
        opcode..cursor.at()
    }
}
