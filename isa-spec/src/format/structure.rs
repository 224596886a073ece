//! Context of each token: a block of statements, a list, a statement in PTX notation or one of expressions.

use super::lex::{Kind, Lexeme};

/// Context of a token, and layout decisions for the line break before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// Number of line breaks before it.
    pub breaks: usize,
    /// Indentation of the line, if it begins one.
    pub indent: usize,
    /// Index of the bracket frame that contains its statement.
    pub frame: usize,
    pub mode: Mode,
    /// Alignment column that begins here, if any.
    pub column: Option<Column>,
    /// First word of the statement.
    pub first: &'a str,
    /// True for the braces of a block of statements.
    pub block: bool,
    /// True for the opening brace of a block of an entry on several lines: its statements begin behind the brace, in a
    /// column, and the closing brace is behind the last one.
    pub hangs: bool,
}

/// Notation of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Expressions and lists, with spaces.
    Plain,
    /// Mnemonic of a PTX statement, without spaces.
    Mnemonic,
    /// Operands of a PTX statement; `before` is the number of spaces before the first one.
    Operands { before: usize },
    /// Brackets of type parameters: `<T: bits>`.
    Angle,
    /// `section 9.7.6.1`
    Section,
    /// `instruction cp.async`
    Opcode,
}

/// Alignment columns, from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Column {
    /// The `=` of a set, class or operator member; the shape of a type.
    Value,
    /// Registers of a type.
    Registers,
}

/// An open bracket.
struct Frame<'a> {
    number: usize,
    /// Item or block that it belongs to; `None` for lists and groups.
    block: Option<&'a str>,
    /// Indentation of the statements within.
    indent: usize,
    statement: Statement<'a>,
}

/// State of the current statement.
#[derive(Clone, Copy, Debug)]
struct Statement<'a> {
    mode: Mode,
    first: &'a str,
    /// True if it has begun; its doc comment may be the beginning.
    begun: bool,
    /// Number of its tokens so far.
    length: usize,
    /// True if it begins a line.
    begins_line: bool,
    columns: usize,
}

const NEW: Statement =
    Statement { mode: Mode::Plain, first: "", begun: false, length: 0, begins_line: false, columns: 0 };

/// Parts of an entry that may share a line.
const SHORT: [&str; 4] = ["use", "section", "summary", "also"];

/// Width of the longest names of blocks of an entry: `operands`, `fragments`.
pub(super) const WIDTH: usize = 9;

/// Indentation of the statements of a hanging block: its name, a space, the brace and a space.
const HANGING: usize = WIDTH + 3;

/// Virtual lexeme before the first one.
const NOTHING: Lexeme = Lexeme { text: "", kind: Kind::Operator, breaks: 0 };

/// Computes the contexts of all tokens.
pub(super) fn places<'a>(lexemes: &[Lexeme<'a>]) -> Vec<Place<'a>> {
    let partners = partners(lexemes);
    let mut walk = Walk { lexemes, partners, frames: Vec::new(), count: 0, places: Vec::new() };
    walk.frames.push(Frame { number: 0, block: Some(""), indent: 0, statement: NEW });
    (0..lexemes.len()).for_each(|at| walk.token(at));
    walk.places
}

/// Index of the matching bracket for each bracket.
fn partners(lexemes: &[Lexeme]) -> Vec<usize> {
    let mut partners = vec![0; lexemes.len()];
    let mut open = Vec::new();
    for (at, lexeme) in lexemes.iter().enumerate() {
        match lexeme.kind {
            Kind::Open => open.push(at),
            Kind::Close => {
                let partner = open.pop().expect("brackets of a text that lexes have partners");
                (partners[at], partners[partner]) = (partner, at);
            }
            _ => {}
        }
    }
    partners
}

struct Walk<'a, 'b> {
    lexemes: &'b [Lexeme<'a>],
    partners: Vec<usize>,
    frames: Vec<Frame<'a>>,
    count: usize,
    places: Vec<Place<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn token(&mut self, at: usize) {
        let lexeme = self.lexemes[at];
        match lexeme.kind {
            _ if lexeme.is_comment() => self.comment(at),
            Kind::Close => self.close(at),
            _ => self.inside(at),
        }
    }

    /// Innermost block, which the current statement belongs to.
    fn block(&mut self) -> &mut Frame<'a> {
        let block = self.frames.iter().rposition(|frame| frame.block.is_some());
        &mut self.frames[block.expect("a file is a block")]
    }

    /// Returns true if the innermost bracket is a block.
    fn in_block(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.block.is_some())
    }

    fn place(&mut self, at: usize, breaks: usize, indent: usize, block: bool) {
        let frame = self.block();
        let (number, Statement { mode, first, .. }) = (frame.number, frame.statement);
        let column = self.column(at);
        self.places.push(Place { breaks, indent, frame: number, mode, column, first, block, hangs: false });
    }

    /// Doc comments have lines of their own; a comment may follow code.
    fn comment(&mut self, at: usize) {
        let Lexeme { breaks, kind, .. } = self.lexemes[at];
        let Frame { indent, statement: Statement { begun, .. }, .. } = *self.block();
        let indent = indent + if begun { 4 } else { 0 };
        let opened = self.opened_block(at);
        let least = usize::from(kind == Kind::Docs || self.is_behind_comment(at));
        let mut breaks = breaks.clamp(least, if opened || begun { 1 } else { 2 });
        if breaks > 0 && !begun && kind != Kind::Inline && self.entry_begins(at) {
            breaks = 2;
        }
        let on_line = at == 0 || self.is_behind_hanging_brace(at);
        self.place(at, if on_line { 0 } else { breaks }, indent, false);
    }

    /// Returns true if the last token is a line comment.
    fn is_behind_comment(&self, at: usize) -> bool {
        at > 0 && self.lexemes[at - 1].ends_line()
    }

    /// Returns true if the last token opened a multi-line block.
    fn opened_block(&self, at: usize) -> bool {
        at > 0 && self.lexemes[at - 1].kind == Kind::Open && self.places[at - 1].block && self.is_broken(at - 1)
    }

    /// Returns true if the last token is the opening brace of a hanging block.
    fn is_behind_hanging_brace(&self, at: usize) -> bool {
        at > 0 && self.places[at - 1].hangs
    }

    /// Returns true if the content of a bracket spans several lines.
    fn is_broken(&self, open: usize) -> bool {
        (open + 1..=self.partners[open]).any(|at| self.lexemes[at].breaks > 0 || self.lexemes[at].ends_line())
    }

    /// Returns true if the entry that contains a token spans several lines.
    fn entry_is_broken(&self, at: usize) -> bool {
        let open = (0..at).rev().find(|open| self.lexemes[*open].is("{") && self.partners[*open] > at);
        open.is_some_and(|open| self.is_broken(open))
    }

    /// Returns true if an entry, or the doc comments before it, begins here, or directly follows another entry.
    fn entry_begins(&mut self, at: usize) -> bool {
        if self.frames.len() > 1 || (at > 0 && self.lexemes[at - 1].ends_line()) {
            return false;
        }
        let comment = |at: &usize| self.lexemes[*at].ends_line() || self.lexemes[*at].kind == Kind::Inline;
        let next = (at..self.lexemes.len()).find(|at| !comment(at));
        let begins = next.is_some_and(|next| is_entry(self.lexemes[next].text));
        let behind = self.places.last().is_some_and(|last| is_entry(last.first));
        // Single-line entries need no blank line between them.
        let short = |open: Option<usize>| open.is_some_and(|open| !self.is_broken(open));
        let open = next.and_then(|next| (next..self.lexemes.len()).find(|at| self.lexemes[*at].is("{")));
        let before =
            at.checked_sub(1).filter(|before| self.lexemes[*before].is("}")).map(|before| self.partners[before]);
        match (behind, begins) {
            (true, true) => !(short(before) && short(open)),
            (behind, begins) => behind || begins,
        }
    }

    fn close(&mut self, at: usize) {
        let open = self.partners[at];
        let closed = self.frames.pop().expect("brackets have partners");
        let block = self.places[open].block;
        let frame = self.block();
        let indent = frame.indent;
        let broken = block && self.is_broken(open);
        let breaks = match block {
            // Empty block.
            _ if at == open + 1 => 0,
            true if self.places[open].hangs => usize::from(self.is_behind_comment(at)),
            true => usize::from(broken),
            false => self.lexemes[at].breaks.min(1).max(usize::from(self.is_behind_comment(at))),
        };
        self.place(at, breaks, indent, block);
        self.block().statement.length += 1;
        let goes_on = self.lexemes.get(at + 1).is_some_and(|next| next.is("else"));
        if closed.block.is_some() && !goes_on {
            self.block().statement = NEW;
        }
    }

    fn inside(&mut self, at: usize) {
        let lexeme = self.lexemes[at];
        let begins = !self.block().statement.begun;
        let depth = self.frames.len();
        let breaks = self.breaks(at, begins);
        if begins {
            let mode = self.mode(at);
            let begins_line = breaks > 0 || at == 0 || self.is_behind_hanging_brace(at);
            let statement = Statement { mode, first: lexeme.text, begun: true, begins_line, ..NEW };
            self.block().statement = statement;
        } else {
            self.goes_on(at);
        }
        let frame = self.block();
        let indent = frame.indent + if begins { 0 } else { 4 };
        let (block, first) = (frame.block, frame.statement.first);
        let opens_block =
            lexeme.is("{") && depth == self.frames.len() && self.opens_block(at, block.unwrap_or(""), first);
        self.place(at, breaks, indent, opens_block);
        let hangs = opens_block && block.is_some_and(is_entry) && self.entry_is_broken(at);
        self.places[at].hangs = hangs;
        self.block().statement.length += 1;
        if lexeme.kind == Kind::Open {
            self.count += 1;
            let name = match first {
                "if" | "else" => block.unwrap_or(""),
                first => first,
            };
            let indent = self.block().indent + if hangs { HANGING } else { 4 };
            let block = opens_block.then_some(name);
            self.frames.push(Frame { number: self.count, block, indent, statement: NEW });
        } else if lexeme.is(";") && self.in_block() && self.block().statement.mode != Mode::Angle {
            self.block().statement = NEW;
        }
    }

    /// Number of line breaks before a token that is neither a closing bracket nor a comment.
    fn breaks(&mut self, at: usize, begins: bool) -> usize {
        let goes_on = at > 0 && self.lexemes[at].is("else") && self.lexemes[at - 1].is("}");
        if at == 0 || goes_on || self.is_behind_hanging_brace(at) {
            return 0;
        }
        let least = usize::from(self.opened_block(at) || self.is_behind_comment(at));
        let describes = self.lexemes[at - 1].kind == Kind::Docs && !self.lexemes[at - 1].text.starts_with("//!");
        let most = if !begins || self.opened_block(at) || describes { 1 } else { 2 };
        let breaks = self.lexemes[at].breaks.clamp(least, most);
        // Items and the blocks of an entry are on lines of their own.
        let shares = self.lexemes[at - 1].is(";") && SHORT.contains(&self.lexemes[at].text);
        let part = self.block().block.is_some_and(is_entry) && self.entry_is_broken(at) && !shares;
        match begins && (self.frames.len() == 1 || part) {
            true if self.entry_begins(at) => 2,
            true => breaks.max(1),
            false => breaks,
        }
    }

    /// Returns true if a brace opens a block of statements.
    fn opens_block(&self, at: usize, block: &str, first: &str) -> bool {
        if !self.in_block() {
            return false;
        }
        match block {
            "" => !matches!(first, "class" | "set" | "condition" | "free"),
            "instruction" | "template" => first != "use",
            _ => self.last_two(at)[0].is(")") && first == "if" || self.last_two(at)[0].is("else"),
        }
    }

    /// Notation of a statement that begins here.
    fn mode(&mut self, at: usize) -> Mode {
        let lexemes = self.lexemes;
        let next = |by: usize| lexemes.get(at + by).copied();
        let is = |by: usize, text: &str| next(by).is_some_and(|next| next.is(text));
        let block = self.block().block.unwrap_or("");
        let in_entry = self.frames.len() == 3 && self.frames[1].block.is_some_and(is_entry);
        match (block, lexemes[at].text) {
            ("instruction" | "template", "section") => Mode::Section,
            ("", "instruction") => Mode::Opcode,
            ("syntax", "." | "where") => Mode::Plain,
            ("syntax", "free" | "unread")
                if is(1, "{") && self.lexemes.get(self.partners[at + 1] + 1).is_some_and(|behind| behind.is(";")) =>
            {
                Mode::Plain
            }
            ("syntax" | "examples", _) => Mode::Mnemonic,
            ("lenient", "forms") if is(1, "where") => Mode::Plain,
            ("lenient", _) if in_entry && lexemes[at].kind == Kind::Word && (is(1, ".") || is(1, "{")) => {
                Mode::Mnemonic
            }
            _ => Mode::Plain,
        }
    }

    /// Updates the notation, which may change within a statement.
    fn goes_on(&mut self, at: usize) {
        let (lexeme, [last, before]) = (self.lexemes[at], self.last_two(at));
        let direct = self.in_block();
        let inside = &self.lexemes[at + 1..];
        let frame = self.block();
        let block = frame.block.unwrap_or("");
        let Statement { mode, first, length, .. } = frame.statement;
        let example = block == "examples";
        let mode = match mode {
            // Behind the version and the target that an example is judged with.
            _ if example && direct && lexeme.is(":") => Mode::Operands { before: 0 },
            _ if example && direct && last.is(":") => Mode::Mnemonic,
            Mode::Mnemonic if direct => {
                let part = [".", "::"].iter().any(|mark| last.is(mark) || lexeme.is(mark));
                let part = part || last.is("$") || lexeme.is("$") && goes_on_behind_argument(inside);
                let guard = last.is("@") || last.is("!") || lexeme.is("!") && last.is("@");
                let guarded = before.is("@") || before.is("!");
                let opcode = lexeme.kind == Kind::Word && (guarded || length == 1 && last.is("refused"));
                let modifier = !example && lexeme.is("{") && is_modifier(inside);
                let bank = lexeme.is("[") && is_bank(inside);
                match part || guard || opcode || modifier || bank || lexeme.is(";") {
                    true => Mode::Mnemonic,
                    false if lexeme.is("where") => Mode::Plain,
                    false => Mode::Operands { before: if example { 1 } else { 2 } },
                }
            }
            Mode::Operands { .. } if direct && lexeme.is("where") && !example => Mode::Plain,
            Mode::Operands { .. } => Mode::Operands { before: 0 },
            Mode::Plain if matches!(first, "builtin" | "fn") && block.is_empty() && length == 2 && lexeme.is("<") => {
                Mode::Angle
            }
            Mode::Angle if last.is(">") => Mode::Plain,
            mode => mode,
        };
        self.block().statement.mode = mode;
    }

    /// The two tokens before one, comments excluded.
    fn last_two(&self, at: usize) -> [Lexeme<'a>; 2] {
        let mut tokens = self.lexemes[..at].iter().rev().filter(|lexeme| !lexeme.is_comment());
        [(); 2].map(|()| tokens.next().copied().unwrap_or(NOTHING))
    }

    /// Alignment column that a token begins.
    fn column(&mut self, at: usize) -> Option<Column> {
        let (lexeme, [last, _]) = (self.lexemes[at], self.last_two(at));
        let direct = self.in_block();
        let Frame { block, statement, .. } = self.block();
        let Statement { first, begins_line, columns, .. } = *statement;
        let named = match (*block)? {
            "syntax" => first == ".",
            "operator" => true,
            "" => matches!(first, "class" | "set" | "condition" | "free"),
            _ => false,
        };
        let column = match *block {
            _ if named && lexeme.is("=") => Column::Value,
            Some("types") if last.is(":") => Column::Value,
            Some("types") if lexeme.is("registers") => Column::Registers,
            _ => return None,
        };
        let free = columns == column as usize;
        if !(direct && begins_line && free) {
            return None;
        }
        statement.columns += 1;
        Some(column)
    }
}

/// Returns true if a keyword introduces an item with the blocks of an entry.
fn is_entry(word: &str) -> bool {
    matches!(word, "instruction" | "template")
}

/// Returns true if a parameter of a template, whose name begins `inside`, is a part of a mnemonic: more of it follows, or
/// the first operand without a comma.
fn goes_on_behind_argument(inside: &[Lexeme]) -> bool {
    let mut behind = inside.iter().enumerate().filter(|(_, lexeme)| !lexeme.is_comment()).skip(1);
    behind.next().is_some_and(|(at, next)| match next.kind {
        Kind::Word => !next.is("where"),
        Kind::Open => next.is("[") || is_modifier(&inside[at + 1..]),
        _ => [".", "::", "$"].iter().any(|mark| next.is(mark)),
    })
}

/// Returns true if braces after a mnemonic contain a modifier: `{.ftz}`.
fn is_modifier(inside: &[Lexeme]) -> bool {
    inside.iter().find(|lexeme| !lexeme.is_comment()).is_some_and(|first| first.is("."))
}

/// Returns true if brackets in a mnemonic contain the number of a bank: `ld.const[2].b32`.
fn is_bank(inside: &[Lexeme]) -> bool {
    let mut next = inside.iter().filter(|lexeme| !lexeme.is_comment());
    let literal = next.next().is_some_and(|number| number.kind == Kind::Literal);
    literal && next.next().is_some_and(|end| end.is("]")) && next.next().is_some_and(|dot| dot.is("."))
}
