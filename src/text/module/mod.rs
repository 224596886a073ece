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
//! A text is read once: `read` makes parts of it and knows nothing of what becomes of them, `judge` resolves names and judges
//! each part as it comes, and `findings` holds back what it says until the end of a function. Each invalid statement is reported
//! once, including one with an unknown opcode, and reading resumes after it.

mod findings;
mod fixes;
mod index;
mod item;
mod judge;
mod needs;
pub(in crate::text) mod read;
mod silence;
mod tree;
mod watch;

use alloc::vec::Vec;
use core::ops::Range;

use findings::Findings;
pub use fixes::{Fixed, edits, fix};
use index::Recorder;
pub use index::{Context, Index, Name, Part, Symbol, SymbolKind};
pub use item::{Declaration, Function, Item, Linkage, Place};
use judge::{Judge, Level, Names};
use needs::Collector;
pub use needs::{Minimum, Needs, Reason, needs};
use read::ModuleReader;
pub(crate) use read::OWN;
pub use tree::{Module, Node, NodeKind};
pub(in crate::text) use watch::Watch;
use watch::Watched;

use super::encoding::decode;
use super::lexer::has_directive;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::table::Table;
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
    collected(visit, |visitor| run(table, source, options, visitor, Beside::Nobody))
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
/// assert_eq!(first.0.unwrap().message, "`bogus` is not an instruction");
/// assert_eq!(report.in_table, 0, "the second function was not read");
/// ```
pub fn visit<'a>(table: &'static Table, source: &'a [u8], options: &Options, visitor: &mut dyn Visitor<'a>) -> Report {
    silence::silenced(source, visitor, |visitor| run(table, source, options, visitor, Beside::Nobody))
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

/// Participants in a reading besides the validator.
enum Beside<'o, 'a> {
    Nobody,
    /// Builds an index.
    Recorder(&'o mut Recorder<'a>),
    /// Collects minimum versions and targets, which are then not checked.
    Collector(&'o mut Collector),
    /// Sees the parts.
    Watch(&'o mut dyn Watch<'a>),
}

/// Reads a module for a visitor.
fn run<'o, 'a>(
    table: &'static Table,
    source: &'a [u8],
    options: &Options,
    visitor: &'o mut dyn Visitor<'a>,
    beside: Beside<'o, 'a>,
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
    let (recorder, collector, watch) = match beside {
        Beside::Nobody => (None, None, None),
        Beside::Recorder(recorder) => (Some(recorder), None, None),
        Beside::Collector(collector) => (None, Some(collector), None),
        Beside::Watch(watch) => (None, None, Some(watch)),
    };
    let bare = is_bare(text);
    let required = !bare || has_directive(text, ".reg");
    let (findings, names) = (Findings::new(text, visitor), Names::new(bare, required, recorder));
    let judge = Judge::new(table, text, findings, names, Level::new(table, *options, collector));
    let mut reader = ModuleReader::new(table, text, bare, options, Watched { judge, watch });
    reader.module();
    let (level, (in_table, outside)) = (&reader.out.judge.level, reader.counts);
    Report { version: level.version, target: level.target, in_table, outside, ..report }
}

/// Checks every statement of a text, and lets another see its parts.
pub(in crate::text) fn watched<'a>(table: &'static Table, text: &'a str, watch: &mut dyn Watch<'a>) -> Report {
    let options = Options::default();
    collected(|_, _| {}, |visitor| run(table, text.as_bytes(), &options, visitor, Beside::Watch(watch)))
}

/// Returns true if a text has no header: statements may stand outside of functions.
fn is_bare(text: &str) -> bool {
    !has_directive(text, ".version") && !has_directive(text, ".target")
}
