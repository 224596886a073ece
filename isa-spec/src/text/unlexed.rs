//! Diagnostics of text that does not lex: unbalanced brackets, unterminated strings, stray characters.

use proc_macro2::{TokenStream, TokenTree};

use super::Diagnostic;

const BRACKETS: [(char, char); 3] = [('{', '}'), ('(', ')'), ('[', ']')];

/// A bracket of the text.
#[derive(Clone, Copy)]
struct Bracket {
    is: char,
    at: usize,
}

impl Bracket {
    /// Matching closing bracket of an opening one.
    fn partner(self) -> Option<char> {
        BRACKETS.iter().find(|(open, _)| *open == self.is).map(|(_, close)| *close)
    }

    /// Indentation of its line, and whether only whitespace precedes it.
    fn indent(self, text: &str) -> (usize, bool) {
        let line = &text[text[..self.at].rfind('\n').map_or(0, |end| end + 1)..];
        let indent = line.len() - line.trim_start_matches(' ').len();
        (indent, line[indent..].starts_with(self.is))
    }
}

/// Reports the lexical errors of a text; `start` is its offset in the concatenated text.
pub(super) fn mistakes(text: &str, start: usize) -> Vec<Diagnostic> {
    // Semicolons lex wherever brackets do; brackets in strings and comments are not tokens.
    let flat: String = text.chars().map(|c| if is_bracket(c) { ';' } else { c }).collect();
    let tokens = match flat.parse::<TokenStream>() {
        Ok(tokens) => tokens,
        Err(error) => {
            let at = error.span().byte_range().start;
            let opens = text[at..].starts_with(['"', '\'']) || text[at..].starts_with("/*");
            let what = if opens { "unterminated string or comment" } else { "unknown character" };
            let length = text[at..].chars().next().map_or(0, char::len_utf8);
            return vec![Diagnostic::at_offsets(start + at..start + at + length, what)];
        }
    };
    let places = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Punct(punct) => Some(punct.span().byte_range().start),
        _ => None,
    });
    let brackets = places.filter_map(|at| Some(Bracket { is: text[at..].chars().next()?, at }));
    alone(text, brackets.filter(|bracket| is_bracket(bracket.is)))
        .into_iter()
        .map(|bracket| {
            let message = match bracket.partner() {
                Some(close) => format!("unclosed bracket: missing `{close}`"),
                None => "unmatched closing bracket".to_owned(),
            };
            Diagnostic::at_offsets(start + bracket.at..start + bracket.at + 1, message)
        })
        .collect()
}

fn is_bracket(c: char) -> bool {
    BRACKETS.iter().any(|(open, close)| c == *open || c == *close)
}

/// Unmatched brackets. A closing bracket at the start of its line matches the open bracket whose line has the same
/// indentation; the brackets in between are unmatched.
fn alone(text: &str, brackets: impl Iterator<Item = Bracket>) -> Vec<Bracket> {
    let (mut open, mut alone): (Vec<Bracket>, Vec<Bracket>) = (Vec::new(), Vec::new());
    for bracket in brackets {
        if bracket.partner().is_some() {
            open.push(bracket);
            continue;
        }
        let closes = |other: &Bracket| other.partner() == Some(bracket.is);
        let (indent, first) = bracket.indent(text);
        let as_far = open.iter().rposition(|other| closes(other) && first && other.indent(text).0 == indent);
        match as_far.or_else(|| open.iter().rposition(closes)) {
            Some(partner) => alone.extend(open.drain(partner..).skip(1)),
            None => alone.push(bracket),
        }
    }
    alone.extend(open);
    alone.sort_by_key(|bracket| bracket.at);
    alone
}
