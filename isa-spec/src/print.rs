//! Generated tokens as text that a person reads and steps through.
//!
//! Code is laid out as Rust usually is. Lists of data, which are much of the text, are printed a row for each element:
//! they read well as tables, and to parse and lay them out as expressions takes long.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The text of generated items.
pub(crate) fn print(tokens: TokenStream) -> String {
    let mut text = String::new();
    for mut item in items(tokens) {
        let count = item.len();
        let (group, inside): (usize, fn(TokenStream) -> String) = match item.as_slice() {
            [.., TokenTree::Ident(word), _name, TokenTree::Group(_)] if *word == "mod" => (count - 1, body),
            [.., TokenTree::Group(list), end] if list.delimiter() == Delimiter::Bracket && is_semicolon(end) => {
                (count - 2, rows)
            }
            _ => {
                text += &code(item);
                continue;
            }
        };
        if let TokenTree::Group(group) = &mut item[group] {
            let tokens = std::mem::replace(group, Group::new(group.delimiter(), TokenStream::new())).stream();
            let emptied = code(item);
            let (opening, closing) = emptied.split_at(emptied.rfind(['}', ']']).expect("the group's own"));
            text += &format!("{opening}\n{}{closing}", inside(tokens));
        }
    }
    text
}

/// The items of a module, indented. No token of theirs has several lines.
fn body(items: TokenStream) -> String {
    let text = print(items);
    text.lines().map(|line| if line.is_empty() { String::from("\n") } else { format!("    {line}\n") }).collect()
}

/// An item laid out as Rust usually is.
fn code(item: Vec<TokenTree>) -> String {
    prettyplease::unparse(&syn::parse2(item.into_iter().collect()).expect("generated code parses"))
}

/// The items of a module: each ends with a semicolon, or with braces that none follows.
fn items(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut items = Vec::new();
    let mut item = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let braces = matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        let ends = is_semicolon(&token) || braces && !tokens.peek().is_some_and(is_semicolon);
        item.push(token);
        if ends {
            items.push(std::mem::take(&mut item));
        }
    }
    items
}

fn is_semicolon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';')
}

/// The elements of a list, each in a line.
fn rows(list: TokenStream) -> String {
    let mut text = String::new();
    let mut element = TokenStream::new();
    for token in list {
        if matches!(&token, TokenTree::Punct(comma) if comma.as_char() == ',') {
            text += &format!("    {},\n", row(std::mem::take(&mut element)));
        } else {
            element.extend([token]);
        }
    }
    if !element.is_empty() {
        text += &format!("    {},\n", row(element));
    }
    text
}

/// An expression of data in one line.
fn row(tokens: TokenStream) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let inner = row(group.stream());
                let inner = inner.trim_end();
                text += &match group.delimiter() {
                    Delimiter::Parenthesis => format!("({inner})"),
                    Delimiter::Bracket => format!("[{inner}]"),
                    Delimiter::Brace => format!(" {{ {inner} }}"),
                    Delimiter::None => inner.to_owned(),
                };
            }
            TokenTree::Punct(punct) => {
                let path = text.ends_with(':') || punct.spacing() == Spacing::Joint;
                text.push(punct.as_char());
                if punct.as_char() == ',' || punct.as_char() == ':' && !path {
                    text.push(' ');
                }
            }
            TokenTree::Ident(_) | TokenTree::Literal(_) => {
                if text.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
                    text.push(' ');
                }
                text += &token.to_string();
            }
        }
    }
    text
}
