//! What is said about a piece of text: where, how bad, which rule, and what would be legal.
//!
//! This module knows neither PTX nor a table; it holds words and places. Places are byte offsets into the text that was
//! read; [`LineIndex`] turns them into lines and columns.
//!
//! Enums and structs of findings are `non_exhaustive`: what is found, and what is said of it, grows with PTX.
//!
//! ```
//! use ptx_isa::diagnostic::{Code, Diagnostic, LineIndex, Position};
//!
//! let text = "// a comment\nadd.u33 %r1, %r2;\n";
//! let diagnostic = Diagnostic::error(Code::UnknownModifier, 16..20, "`.u33` is no modifier").with_help("write `.u32`");
//! assert_eq!(diagnostic.to_string(), "`.u33` is no modifier");
//! assert_eq!(diagnostic.code.as_str(), "unknown-modifier");
//! assert_eq!(LineIndex::new(text).position(diagnostic.span.start), Position { line: 2, column: 4 });
//! ```

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use crate::text::closest;

/// One finding about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Which rule it is about.
    pub code: Code,
    /// Whether the assembler refuses the text.
    pub severity: Severity,
    /// The offending token, in bytes from the start of the text; empty where something is missing.
    pub span: Range<usize>,
    /// What is wrong: one sentence without a full stop.
    pub message: String,
    /// What would be right, where that is known.
    pub help: Option<String>,
    /// Why, where the message does not say it.
    pub note: Option<String>,
    /// Edits of which each, by itself, puts right what this is about; the likeliest first.
    pub fixes: Vec<Fix>,
    /// The statement of a module that this is about, if it is about one.
    pub statement: Option<Range<usize>>,
}

/// A part of a text, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What goes; empty where something is inserted.
    pub span: Range<usize>,
    /// What comes in its place.
    pub text: String,
    /// Whether the text means the same with the edit: it spells what the assembler reads there anyway, or is the only
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

    /// A text with the edit made.
    pub fn apply(&self, text: &str) -> String {
        [&text[..self.span.start], &self.text, &text[self.span.end..]].concat()
    }
}

impl Diagnostic {
    /// A text that the assembler refuses.
    pub fn error(code: Code, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let (severity, message) = (Severity::Error, message.into());
        Diagnostic { code, severity, span, message, help: None, note: None, fixes: Vec::new(), statement: None }
    }

    /// A text that the assembler takes and the manual does not list.
    pub fn warning(code: Code, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// The same with what would be right.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// The same with the reason.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.note = Some(note.into());
        self
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

    fn with(mut self, fix: Fix) -> Diagnostic {
        self.fixes.push(fix);
        self
    }

    /// The same, `offset` bytes further on: for a text that is part of a larger one.
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

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The assembler takes it, the manual does not list it.
    Warning,
    /// The assembler refuses it.
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
    /// A modifier stands where another already does.
    DuplicateModifier = "duplicate-modifier",
    /// A modifier that may not be left out is.
    MissingModifier = "missing-modifier",
    /// A form that the assembler takes and the manual does not list.
    UnlistedForm = "unlisted-form",
    /// The modifiers stand in another order than the manual's.
    ModifierOrder = "modifier-order",
    /// A blank stands before a modifier or a selector.
    BlankBeforeModifier = "blank-before-modifier",
    /// The version is unknown, or too old for what is used.
    PtxVersion = "ptx-version",
    /// The target is unknown, or too old for what is used.
    Target = "target",
    /// Too few or too many operands.
    OperandCount = "operand-count",
    /// The operand is not of a kind or type that may stand there.
    OperandType = "operand-type",
    /// The name is declared already in this scope.
    DuplicateName = "duplicate-name",
    /// The name has no declaration in this scope.
    UndeclaredRegister = "undeclared-register",
    /// A numbered register is written with leading zeros.
    LeadingZeros = "leading-zeros",
    /// The constant cannot be read, or may not stand there.
    Constant = "constant",
    /// A register or variable plus a constant.
    RegisterPlusConstant = "register-plus-constant",
    /// The selector or mask cannot be read, or may not stand there.
    Selector = "selector",
    /// `_` may not stand there.
    Sink = "sink",
    /// `!` may not stand there.
    Negation = "negation",
    /// A second destination is missing, superfluous or the same as the first.
    Destination = "destination",
    /// The guard is no predicate register.
    Guard = "guard",
    /// A comment silences a finding that its line does not have.
    UnusedIgnore = "unused-ignore",
}

/// What is said of each code beyond a sentence: a section for each, with a text that has the finding and one that has not.
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

    /// What the code means, with an example and its cure.
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

/// What a [`Code`] means, with an example and its cure.
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

/// Where the lines of a text begin. It takes an eighth of the text's memory at most, however short the lines are.
#[derive(Clone, Debug)]
pub struct LineIndex<'a> {
    text: &'a [u8],
    /// What stands before each block of the text, and before its end.
    before: Vec<Before>,
    ascii: bool,
}

/// What stands before a place of a text.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// The line ends.
    lines: usize,
    /// Where the line of the place begins.
    start: usize,
    size: Size,
}

/// The length of a text.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    characters: usize,
    /// Characters that take two words of UTF-16.
    wide: usize,
}

impl Size {
    /// Characters begin at bytes that are no continuation, `10xxxxxx`, wide ones with `11110xxx`.
    fn of(text: &[u8]) -> Size {
        let count = |begins: fn(u8) -> bool| text.iter().filter(|&&byte| begins(byte)).count();
        Size { characters: count(|byte| byte & 0xc0 != 0x80), wide: count(|byte| byte >= 0xf0) }
    }

    fn plus(self, other: Size) -> Size {
        Size { characters: self.characters + other.characters, wide: self.wide + other.wide }
    }
}

/// Bytes of a block whose lines and characters are counted once.
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
        // A text may end where a block would begin.
        index.before.push(before);
        index
    }

    /// What stands before the end of a piece of the text, of which it is known what stands before its begin at `at`.
    fn behind(&self, before: Before, at: usize, piece: &[u8]) -> Before {
        let mut behind = before;
        for end in memchr::memchr_iter(b'\n', piece) {
            behind.lines += 1;
            behind.start = at + end + 1;
        }
        let size = if self.ascii { Size { characters: piece.len(), wide: 0 } } else { Size::of(piece) };
        Before { size: before.size.plus(size), ..behind }
    }

    /// What stands before a byte offset, which is not behind the end.
    fn before(&self, offset: usize) -> Before {
        let block = offset / BLOCK;
        self.behind(self.before[block], block * BLOCK, &self.text[block * BLOCK..offset])
    }

    /// The line and column of a byte offset; an offset behind the end counts as the end.
    pub fn position(&self, offset: usize) -> Position {
        self.counted(offset, |size| size.characters)
    }

    /// The same with the column in words of UTF-16, as editors count it.
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

    /// How many characters begin before a byte offset, which is not behind the end.
    pub fn characters_before(&self, offset: usize) -> usize {
        self.before(offset).size.characters
    }

    /// The bytes of a line, counted from 1, without its line end; empty for a line that the text does not have.
    pub fn line(&self, line: usize) -> &'a [u8] {
        let Some(start) = line.checked_sub(1).and_then(|ends| self.start_behind(ends)) else { return &[] };
        let rest = &self.text[start..];
        let line = memchr::memchr(b'\n', rest).map_or(rest, |end| &rest[..end]);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Where the line begins that stands behind so many line ends.
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
