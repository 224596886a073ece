//! Error recovery: candidates for the end of a statement that lacks its semicolon.

use proc_macro2::{Span, TokenTree};
use syn::parse::ParseStream;

/// Candidate for the end of a statement.
pub(super) struct End {
    /// Tokens of the statement.
    pub tokens: Vec<TokenTree>,
    /// Last token.
    pub behind: Span,
    /// True if the parser stopped here.
    pub here: bool,
    /// True if a line ends here.
    pub ends_line: bool,
}

/// Candidates, most likely first: the last line end before the parser stopped, then the position where it stopped.
pub(super) fn ends(start: ParseStream, stopped: ParseStream) -> Vec<End> {
    let (mut cursor, end) = (start.cursor(), stopped.cursor());
    let mut tokens: Vec<TokenTree> = Vec::new();
    while cursor < end
        && let Some((token, next)) = cursor.token_tree()
    {
        tokens.push(token);
        cursor = next;
    }
    let here = tokens.len();
    let next_line = |end: usize| match tokens.get(end) {
        Some(next) => next.span().start().line,
        None if stopped.is_empty() => 0,
        None => stopped.span().start().line,
    };
    let ends_line = |end: usize| tokens[end - 1].span().end().line < next_line(end);
    let last_line = (1..=here).rev().find(|end| ends_line(*end));
    let end = |end: usize| End {
        behind: match &tokens[end - 1] {
            TokenTree::Group(group) => group.span_close(),
            token => token.span(),
        },
        tokens: tokens[..end].to_vec(),
        here: end == here,
        ends_line: ends_line(end),
    };
    let stopped = Some(here).filter(|here| *here > 0 && last_line != Some(*here));
    last_line.into_iter().chain(stopped).map(end).collect()
}
