//! Where a statement that does not parse may have ended, had it not lacked its semicolon.

use proc_macro2::{Span, TokenTree};
use syn::parse::ParseStream;

/// A place where a statement may have ended.
pub(super) struct End {
    /// Those of the statement.
    pub tokens: Vec<TokenTree>,
    /// The last one of them.
    pub behind: Span,
    /// Whether the parser stopped here.
    pub here: bool,
    /// Whether a line ends here.
    pub ends_line: bool,
}

/// The ends of a statement that are likely, the likeliest first: the last end of a line before the parser stopped, then
/// where it stopped.
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
