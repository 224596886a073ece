//! Lexer of the formatter: tokens, multi-character operators, doc comments and comments.

use std::ops::Range;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::syntax::ast::BinaryOp;

/// Returns true for an operator of two characters.
fn is_pair(text: &str) -> bool {
    ["->", "::"].contains(&text) || text.len() == 2 && BinaryOp::ALL.iter().any(|op| op.symbol() == text)
}

/// A token or a comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme<'a> {
    pub text: &'a str,
    pub kind: Kind,
    /// Number of line breaks before it.
    pub breaks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Literal,
    Operator,
    Open,
    Close,
    /// `/// …`, `//! …`
    Docs,
    /// `// …`
    Comment,
    /// `/* … */`
    Inline,
}

impl Lexeme<'_> {
    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    /// Returns true for doc comments and comments.
    pub(super) fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::Docs | Kind::Comment | Kind::Inline)
    }

    /// Returns true for lexemes that extend to the end of their line.
    pub(super) fn ends_line(&self) -> bool {
        matches!(self.kind, Kind::Docs | Kind::Comment)
    }
}

/// Splits a text that lexes.
pub(super) fn lexemes(text: &str) -> Vec<Lexeme<'_>> {
    let mut tokens = Vec::new();
    flatten(text.parse().expect("a text that was parsed lexes"), &mut tokens);
    let mut list: Vec<Lexeme> = Vec::new();
    let mut end = 0;
    for (range, kind) in tokens {
        // A doc comment is several tokens with one span.
        if range.start < end {
            continue;
        }
        let breaks = comments(&text[end..range.start], &mut list);
        let token = &text[range.clone()];
        let is_docs = token.starts_with("//") || token.starts_with("/*");
        list.push(Lexeme { text: token.trim_end(), kind: if is_docs { Kind::Docs } else { kind }, breaks });
        end = range.end;
    }
    comments(&text[end..], &mut list);
    list
}

/// Flattens a token tree into tokens in order.
fn flatten(tokens: TokenStream, list: &mut Vec<(Range<usize>, Kind)>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let range = token.span().byte_range();
        match token {
            TokenTree::Ident(_) => list.push((range, Kind::Word)),
            TokenTree::Literal(_) => list.push((range, Kind::Literal)),
            TokenTree::Punct(first) => {
                let second = match tokens.peek() {
                    Some(TokenTree::Punct(second)) if first.spacing() == Spacing::Joint => Some(second),
                    _ => None,
                };
                let pair = second.map(|second| String::from_iter([first.as_char(), second.as_char()]));
                let pair = pair.is_some_and(|pair| is_pair(&pair));
                let end = if pair { tokens.next().map(|second| second.span().byte_range().end) } else { None };
                list.push((range.start..end.unwrap_or(range.end), Kind::Operator));
            }
            TokenTree::Group(group) => {
                let bracketed = group.delimiter() != Delimiter::None;
                if bracketed {
                    list.push((group.span_open().byte_range(), Kind::Open));
                }
                flatten(group.stream(), list);
                if bracketed {
                    list.push((group.span_close().byte_range(), Kind::Close));
                }
            }
        }
    }
}

/// Comments between two tokens, and the number of line breaks after the last one.
fn comments<'a>(mut gap: &'a str, list: &mut Vec<Lexeme<'a>>) -> usize {
    loop {
        let rest = gap.trim_start();
        let breaks = gap[..gap.len() - rest.len()].matches('\n').count();
        if rest.is_empty() {
            return breaks;
        }
        let (length, kind) = match rest.starts_with("/*") {
            true => (inline(rest), Kind::Inline),
            false => (rest.find('\n').unwrap_or(rest.len()), Kind::Comment),
        };
        list.push(Lexeme { text: rest[..length].trim_end(), kind, breaks });
        gap = &rest[length..];
    }
}

/// Length of a block comment, which may nest.
fn inline(text: &str) -> usize {
    let mut depth = 0;
    let mut marks = text.match_indices(['/', '*']).map(|(at, _)| at).filter(|at| at + 1 < text.len());
    while let Some(at) = marks.next() {
        match &text.as_bytes()[at..at + 2] {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return at + 2;
        }
        marks.next();
    }
    text.len()
}
