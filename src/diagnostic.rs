//! Diagnostics about a text: span, severity, rule, and what would be legal.
//!
//! This module depends on neither PTX nor a table; it holds messages and spans. Spans are byte offsets into the text
//! that was read; [`LineIndex`] converts them to lines and columns.
//!
//! The enums and structs of diagnostics are `non_exhaustive`: findings, and the data about them, grow with PTX.
//!
//! ```
//! use ptx_isa::diagnostic::{Code, Diagnostic, LineIndex, Position};
//!
//! let text = "// a comment\nadd.u33 %r1, %r2;\n";
//! let diagnostic = Diagnostic::error(Code::UnknownModifier, 16..20, "`.u33` is not a modifier").with_help("write `.u32`");
//! assert_eq!(diagnostic.to_string(), "`.u33` is not a modifier");
//! assert_eq!(diagnostic.code.as_str(), "unknown-modifier");
//! assert_eq!(LineIndex::new(text).position(diagnostic.span.start), Position { line: 2, column: 4 });
//! ```

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use crate::text::closest;

/// One finding about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The rule that the text violates.
    pub code: Code,
    /// An error if the assembler rejects the text, else a warning.
    pub severity: Severity,
    /// The offending token, in bytes from the start of the text; empty where something is missing.
    pub span: Range<usize>,
    /// Description of the problem: one sentence without a full stop.
    pub message: String,
    /// Suggestion of what would be right, if known.
    pub help: Option<String>,
    /// Reason, if the message does not include it.
    pub note: Option<String>,
    /// Edits, each of which fixes the problem by itself; the most likely one first.
    pub fixes: Vec<Fix>,
    /// Number of edits at the start of [`fixes`](Self::fixes) that are equally likely. Where there are several, none of them is
    /// applied without a choice.
    pub tied: usize,
    /// The statement of a module that contains the problem, if any.
    pub statement: Option<Range<usize>>,
}

/// An edit: a range of the text and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Range to replace; empty for an insertion.
    pub span: Range<usize>,
    /// Replacement text.
    pub text: String,
    /// True if the edit keeps the meaning of the text: it spells what the assembler reads there anyway, or is the only
    /// reading of what it refuses. Any other edit is a guess at what was meant.
    pub safe: bool,
}

impl Fix {
    /// Writes `text` in place of what is there: a guess.
    pub fn new(span: Range<usize>, text: impl Into<String>) -> Fix {
        Fix { span, text: text.into(), safe: false }
    }

    /// Writes `text` in place of what is there, which means the same.
    pub fn safe(span: Range<usize>, text: impl Into<String>) -> Fix {
        Fix { safe: true, ..Fix::new(span, text) }
    }

    /// Returns the text with the edit applied.
    pub fn apply(&self, text: &str) -> String {
        [&text[..self.span.start], &self.text, &text[self.span.end..]].concat()
    }
}

impl Diagnostic {
    /// Creates an error: the assembler rejects the text.
    #[cold]
    pub fn error(code: Code, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let (severity, message) = (Severity::Error, message.into());
        let fixes = Vec::new();
        Diagnostic { code, severity, span, message, help: None, note: None, fixes, tied: 0, statement: None }
    }

    /// Creates a warning: the assembler accepts the text, but the manual does not list it.
    pub fn warning(code: Code, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds a note with the reason.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.note = Some(note.into());
        self
    }

    /// A warning if the spec notes that the assembler accepts this, and the error as it is otherwise.
    pub(crate) fn tolerated(self, note: Option<&'static str>) -> Result<Diagnostic, Box<Diagnostic>> {
        match note {
            Some(note) => Ok(Diagnostic { severity: Severity::Warning, ..self.with_note(note) }),
            None => Err(Box::new(self)),
        }
    }

    /// The same with another edit that makes it right, a guess at what was meant.
    #[must_use]
    pub fn with_fix(self, span: Range<usize>, text: impl Into<String>) -> Diagnostic {
        self.with(Fix::new(span, text))
    }

    /// The same with another edit that makes it right and keeps its meaning.
    #[must_use]
    pub fn with_safe_fix(self, span: Range<usize>, text: impl Into<String>) -> Diagnostic {
        self.with(Fix::safe(span, text))
    }

    /// The same, whose edits are equally likely.
    pub(crate) fn tied(mut self) -> Diagnostic {
        self.tied = self.fixes.len();
        self
    }

    fn with(mut self, fix: Fix) -> Diagnostic {
        self.fixes.push(fix);
        self
    }

    /// Moves all spans by `offset` bytes: for a text that is part of a larger one.
    #[must_use]
    pub fn shifted(mut self, offset: usize) -> Diagnostic {
        let places = self.fixes.iter_mut().map(|fix| &mut fix.span);
        for place in places.chain([&mut self.span]).chain(&mut self.statement) {
            *place = place.start + offset..place.end + offset;
        }
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Diagnostic {}

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The assembler accepts it, but the manual does not list it.
    Warning,
    /// The assembler rejects it.
    Error,
}

impl Severity {
    /// `error` or `warning`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! codes {
    ($(#[doc = $doc:literal] $name:ident = $text:literal,)*) => {
        /// The rule a finding is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code { $(#[doc = $doc] $name,)* }

        impl Code {
            /// Every code.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The name in kebab case, as tools read it: `illegal-modifier`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// The rule in a sentence.
            pub const fn description(self) -> &'static str {
                match self { $(Code::$name => $doc.trim_ascii(),)* }
            }
        }
    };
}

codes! {
    /// The text is not UTF-8.
    Encoding = "encoding",
    /// The text does not follow PTX's grammar.
    Syntax = "syntax",
    /// The opcode is not in the table.
    UnknownOpcode = "unknown-opcode",
    /// No instruction of the table has this modifier.
    UnknownModifier = "unknown-modifier",
    /// A modifier that the instruction does not have, or not with the others.
    IllegalModifier = "illegal-modifier",
    /// Two modifiers are given where only one is allowed.
    DuplicateModifier = "duplicate-modifier",
    /// A modifier that may not be left out is.
    MissingModifier = "missing-modifier",
    /// A form that the assembler takes and the manual does not list.
    UnlistedForm = "unlisted-form",
    /// The modifiers are in another order than in the manual.
    ModifierOrder = "modifier-order",
    /// A blank precedes a modifier or a selector.
    BlankBeforeModifier = "blank-before-modifier",
    /// The version is unknown, or too old for what is used.
    PtxVersion = "ptx-version",
    /// The target is unknown, or too old for what is used.
    Target = "target",
    /// Too few or too many operands.
    OperandCount = "operand-count",
    /// The kind or type of the operand is not allowed here.
    OperandType = "operand-type",
    /// The name is declared already in this scope.
    DuplicateName = "duplicate-name",
    /// The name has no declaration in this scope.
    UndeclaredRegister = "undeclared-register",
    /// A numbered register is written with leading zeros.
    LeadingZeros = "leading-zeros",
    /// The constant is malformed, or not allowed here.
    Constant = "constant",
    /// A register or variable plus a constant.
    RegisterPlusConstant = "register-plus-constant",
    /// The selector or mask is malformed, or not allowed here.
    Selector = "selector",
    /// `_` is not allowed here.
    Sink = "sink",
    /// `!` is not allowed here.
    Negation = "negation",
    /// A second destination is missing, superfluous or the same as the first.
    Destination = "destination",
    /// The guard is not a predicate register.
    Guard = "guard",
    /// A comment silences a finding that its line does not have.
    UnusedIgnore = "unused-ignore",
}

/// Explanations of the codes: a section for each, with a text that has the finding and one that does not.
const EXPLANATIONS: &str = include_str!("findings.md");

impl Code {
    /// The code with this name.
    ///
    /// ```
    /// use ptx_isa::diagnostic::Code;
    ///
    /// assert_eq!(Code::from_name("guard"), Some(Code::Guard));
    /// ```
    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.as_str() == name)
    }

    /// The code whose name is spelt most like this one.
    pub fn nearest(name: &str) -> Option<Code> {
        closest(name, Code::ALL.iter().map(|code| code.as_str())).and_then(Code::from_name)
    }

    /// Returns the explanation of the code, with an example and its cure.
    pub fn explanation(self) -> Explanation {
        let name = self.as_str();
        let section = EXPLANATIONS.split("\n## ").find_map(|section| section.strip_prefix(name)?.strip_prefix('\n'));
        let mut parts = section.unwrap_or_default().split("```").map(str::trim);
        let mut next = || parts.next().unwrap_or_default();
        let (text, wrong, cure, right) = (next(), next(), next(), next());
        let module = |part: &'static str| part.strip_prefix("ptx\n").unwrap_or(part);
        Explanation { text, wrong: module(wrong), cure, right: module(right) }
    }
}

/// Explanation of a [`Code`], with an example and its cure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// When there is such a finding, and why.
    pub text: &'static str,
    /// A module that has it, and no other finding.
    pub wrong: &'static str,
    /// How to put it right.
    pub cure: &'static str,
    /// The same module put right.
    pub right: &'static str,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A place in a text as people count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The character within the line, from 1.
    pub column: usize,
}

/// Index of the lines of a text. It takes at most an eighth of the text's memory, however short the lines are.
#[derive(Clone, Debug)]
pub struct LineIndex<'a> {
    text: &'a [u8],
    /// Counts before each block of the text, and before its end.
    before: Vec<Before>,
    ascii: bool,
}

/// Counts before an offset of a text.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// Number of line ends.
    lines: usize,
    /// Offset of the start of the current line.
    start: usize,
    size: Size,
}

/// The length of a text.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    characters: usize,
    /// Characters that take two UTF-16 code units.
    wide: usize,
}

impl Size {
    /// A character begins at each byte that is not a continuation byte, `10xxxxxx`; a wide one begins with `11110xxx`.
    fn of(text: &[u8]) -> Size {
        let count = |begins: fn(u8) -> bool| text.iter().filter(|&&byte| begins(byte)).count();
        Size { characters: count(|byte| byte & 0xc0 != 0x80), wide: count(|byte| byte >= 0xf0) }
    }

    fn plus(self, other: Size) -> Size {
        Size { characters: self.characters + other.characters, wide: self.wide + other.wide }
    }
}

/// Size of a block in bytes; lines and characters before each block are precomputed.
const BLOCK: usize = 256;

impl<'a> LineIndex<'a> {
    /// Finds the lines of a text, which end at `\n`. The text need not be UTF-8.
    pub fn new(text: &'a (impl AsRef<[u8]> + ?Sized)) -> LineIndex<'a> {
        let text = text.as_ref();
        let ascii = text.is_ascii();
        let mut index = LineIndex { text, before: Vec::with_capacity(text.len() / BLOCK + 1), ascii };
        let mut before = Before::default();
        for (number, block) in text.chunks(BLOCK).enumerate() {
            index.before.push(before);
            before = index.behind(before, number * BLOCK, block);
        }
        // Counts before the end, in case the text ends at the end of a block.
        index.before.push(before);
        index
    }

    /// Returns the counts at the end of a piece of the text that begins at `at`, given the counts at its begin.
    fn behind(&self, before: Before, at: usize, piece: &[u8]) -> Before {
        let mut behind = before;
        for end in memchr::memchr_iter(b'\n', piece) {
            behind.lines += 1;
            behind.start = at + end + 1;
        }
        let size = if self.ascii { Size { characters: piece.len(), wide: 0 } } else { Size::of(piece) };
        Before { size: before.size.plus(size), ..behind }
    }

    /// Returns the counts before a byte offset, which must not be past the end.
    fn before(&self, offset: usize) -> Before {
        let block = offset / BLOCK;
        self.behind(self.before[block], block * BLOCK, &self.text[block * BLOCK..offset])
    }

    /// Returns the line and column of a byte offset; an offset past the end counts as the end.
    pub fn position(&self, offset: usize) -> Position {
        self.counted(offset, |size| size.characters)
    }

    /// As [`position`](LineIndex::position), with the column in UTF-16 code units, as editors count it.
    ///
    /// ```
    /// let text = "/* 𝄞 */ add.u33";
    /// let lines = ptx_isa::diagnostic::LineIndex::new(text);
    /// let at = text.find("add").unwrap();
    /// assert_eq!((lines.position(at).column, lines.utf16_position(at).column), (9, 10));
    /// ```
    pub fn utf16_position(&self, offset: usize) -> Position {
        self.counted(offset, |size| size.characters + size.wide)
    }

    fn counted(&self, offset: usize, length: fn(Size) -> usize) -> Position {
        let Before { lines, start, size } = self.before(offset.min(self.text.len()));
        Position { line: lines + 1, column: 1 + length(size) - length(self.before(start).size) }
    }

    /// Returns the number of characters that begin before a byte offset, which must not be past the end.
    pub fn characters_before(&self, offset: usize) -> usize {
        self.before(offset).size.characters
    }

    /// Returns the bytes of a line, counted from 1, without its line end; empty if the text does not have the line.
    pub fn line(&self, line: usize) -> &'a [u8] {
        let Some(start) = line.checked_sub(1).and_then(|ends| self.start_behind(ends)) else { return &[] };
        let rest = &self.text[start..];
        let line = memchr::memchr(b'\n', rest).map_or(rest, |end| &rest[..end]);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Returns the start of the line that follows the first `ends` line ends; `None` if the text has fewer lines.
    fn start_behind(&self, ends: usize) -> Option<usize> {
        if ends == 0 {
            return Some(0);
        }
        self.before.last().filter(|all| all.lines >= ends)?;
        let block = self.before.partition_point(|before| before.lines < ends).checked_sub(1)?;
        let from = block * BLOCK;
        let end = memchr::memchr_iter(b'\n', &self.text[from..]).nth(ends - self.before[block].lines - 1)?;
        Some(from + end + 1)
    }
}
