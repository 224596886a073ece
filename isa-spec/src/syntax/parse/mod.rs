//! Parser: converts tokens to the syntax tree.
//!
//! An error ends the statement rather than the file: parsing resumes after the next semicolon or block, so that all
//! errors of a spec are reported at once. Names are resolved later.

mod ends;
mod expr;
mod instruction;
mod item;
mod module;

use proc_macro2::{Punct, Spacing, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{ParseStream, Parser, Result};
use syn::{Lit, LitInt, LitStr, Token, token};

use self::ends::{End, ends};
use crate::syntax::ast::{Docs, Ident, Number, Spec, Target, TypeSet, Version};
use crate::text::{Diagnostic, Errors};

/// Parses a whole spec.
///
/// # Errors
///
/// Every syntax error, at its token.
pub fn parse(tokens: TokenStream) -> std::result::Result<Spec, Errors> {
    let mut errors = Errors::new();
    let mut spec = Spec::default();
    let last = tokens.clone().into_iter().last().map(|tree| match tree {
        TokenTree::Group(group) => group.span_close(),
        other => other.span(),
    });
    let parser = |input: ParseStream| {
        item::spec(input, &mut spec, &mut errors);
        Ok(())
    };
    // Tokens that remain in a nested group are a consequence of an error that is already in the list.
    if let Err(error) = parser.parse2(tokens)
        && errors.is_empty()
    {
        errors.push_syn(&error);
    }
    if let Some(last) = last {
        errors.place_ends(last);
    }
    errors.finish(spec)
}

pub(crate) use instruction::more_blocks;

/// Parses statements to the end of the input; an error skips past the next semicolon or block.
fn statements<T>(
    input: ParseStream,
    errors: &mut Errors,
    mut parse: impl FnMut(ParseStream, &mut Errors) -> Result<T>,
) -> Vec<T> {
    let mut list = Vec::new();
    while !input.is_empty() {
        let start = input.fork();
        let error = match parse(input, errors) {
            Ok(statement) => {
                list.push(statement);
                continue;
            }
            Err(error) => error,
        };
        if !mend(&start, input, errors, &mut list, &mut parse) {
            errors.push_syn(&error);
            skip_statement(input);
        }
    }
    list
}

/// Reports a missing semicolon at the end of the statement rather than where the parser stopped, and resumes with the
/// next statement; returns true if a missing semicolon explains the error.
fn mend<T>(
    start: ParseStream,
    stopped: ParseStream,
    errors: &mut Errors,
    list: &mut Vec<T>,
    parse: &mut impl FnMut(ParseStream, &mut Errors) -> Result<T>,
) -> bool {
    let whole = |end: &End, parse: &mut dyn FnMut(ParseStream, &mut Errors) -> Result<T>| {
        let semicolon = TokenTree::from(Punct::new(';', Spacing::Alone));
        let statement = end.tokens.iter().cloned().chain([semicolon]).collect();
        (|input: ParseStream| parse(input, &mut Errors::new())).parse2(statement).is_ok()
    };
    for end in ends(start, stopped) {
        if !whole(&end, parse) {
            continue;
        }
        let rest = start.fork();
        end.tokens.iter().for_each(|_| drop(rest.parse::<TokenTree>()));
        let next = rest.fork();
        let mut found = Errors::new();
        match if rest.is_empty() { None } else { Some(parse(&rest, &mut found)) } {
            None => {}
            Some(Ok(statement)) => list.push(statement),
            // The next statement may lack its semicolon, too.
            Some(Err(_)) if end.ends_line && ends(&next, &rest).iter().any(|end| whole(end, parse)) => {
                rest.advance_to(&next);
            }
            Some(Err(_)) if end.here => skip_statement(&rest),
            Some(Err(_)) => continue,
        }
        errors.push(Diagnostic::behind(end.behind, "expected `;`"));
        found.iter().for_each(|diagnostic| errors.push(diagnostic.clone()));
        stopped.advance_to(&rest);
        return true;
    }
    false
}

fn skip_statement(input: ParseStream) {
    while let Ok(tree) = input.parse::<TokenTree>() {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            TokenTree::Group(group)
                if group.delimiter() == proc_macro2::Delimiter::Brace && !input.peek(Token![;]) && !goes_on(input) =>
            {
                return;
            }
            _ => {}
        }
    }
}

/// Returns true if a statement continues after a group in braces, as in `{.ftz}.type` and `{!}c`.
fn goes_on(input: ParseStream) -> bool {
    input.peek(Token![.]) || input.peek(Token![,]) || (input.peek(syn::Ident) && !input.peek2(token::Brace))
}

/// Parses the `///` lines before an item.
fn docs(input: ParseStream) -> Result<Docs> {
    let mut lines = Vec::new();
    while input.peek(Token![#]) && !input.peek2(Token![!]) {
        input.parse::<Token![#]>()?;
        lines.push(doc_line(input)?);
    }
    Ok(lines.join("\n"))
}

/// Parses and discards the `//!` lines of a file.
fn file_docs(input: ParseStream) -> Result<()> {
    while input.peek(Token![#]) && input.peek2(Token![!]) {
        input.parse::<Token![#]>()?;
        input.parse::<Token![!]>()?;
        doc_line(input)?;
    }
    Ok(())
}

/// Parses the attribute of a doc comment after its `#`: `[doc = " text"]`.
fn doc_line(input: ParseStream) -> Result<String> {
    let content;
    syn::bracketed!(content in input);
    let name = word(&content)?;
    if name != "doc" {
        return Err(syn::Error::new(name.span(), "the one attribute of a spec is a description, `/// text`"));
    }
    content.parse::<Token![=]>()?;
    let text = content.parse::<LitStr>()?.value();
    Ok(text.strip_prefix(' ').unwrap_or(&text).trim_end().to_owned())
}

/// Parses any word, including keywords of Rust.
fn word(input: ParseStream) -> Result<Ident> {
    let description = input.peek(Token![#]);
    input.call(syn::Ident::parse_any).map(Ident::from).map_err(|error| {
        let message = if description { "no description belongs here" } else { "expected a name" };
        syn::Error::new(error.span(), message)
    })
}

/// Parses a given word.
fn keyword(input: ParseStream, expected: &str) -> Result<()> {
    if peek_keyword(input, expected) {
        word(input).map(drop)
    } else {
        Err(input.error(format!("expected `{expected}`")))
    }
}

fn peek_keyword(input: ParseStream, expected: &str) -> bool {
    input.fork().call(syn::Ident::parse_any).is_ok_and(|ident| ident == expected)
}

/// `.f32`
fn dotted(input: ParseStream) -> Result<Ident> {
    input.parse::<Token![.]>()?;
    undotted(input)
}

/// `scaled::n2::ue8m0`, `2d`
fn undotted(input: ParseStream) -> Result<Ident> {
    let first = part(input)?;
    let (mut text, mut span) = (first.to_string(), first.span());
    while input.peek(Token![::]) {
        input.parse::<Token![::]>()?;
        let next = part(input)?;
        text += &format!("::{next}");
        span = expr::join(span, next.span());
    }
    if let Some(number) = bank(input) {
        text += &format!("[{number}]");
    }
    Ok(Ident::new(text, span))
}

/// Parses `[2]` if another modifier follows, as in `ld.const[2].u32`.
fn bank(input: ParseStream) -> Option<u32> {
    let behind = input.fork();
    let number = brackets(&behind, number).ok()?;
    if !behind.peek(Token![.]) {
        return None;
    }
    input.advance_to(&behind);
    Some(number.value)
}

/// Parses `[…]`.
fn brackets<T>(input: ParseStream, parse: impl FnOnce(ParseStream) -> Result<T>) -> Result<T> {
    let content;
    syn::bracketed!(content in input);
    let value = parse(&content)?;
    if content.is_empty() { Ok(value) } else { Err(content.error("expected `]`")) }
}

/// `scaled`, `2d`, `128B`
fn part(input: ParseStream) -> Result<Ident> {
    if !input.peek(Lit) {
        return word(input);
    }
    let literal: Lit = input.parse()?;
    let text = match &literal {
        Lit::Int(number) => number.token().to_string(),
        Lit::Float(number) => number.token().to_string(),
        _ => String::from("?"),
    };
    match text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        true => Ok(Ident::new(text, literal.span())),
        false => Err(syn::Error::new(literal.span(), "expected a name")),
    }
}

/// `7.8`
fn version(input: ParseStream) -> Result<Version> {
    let literal: Lit = input.parse().map_err(|error| syn::Error::new(error.span(), "expected a version like `7.8`"))?;
    let span = literal.span();
    let text = match &literal {
        Lit::Float(float) => float.to_string(),
        Lit::Int(int) => int.to_string(),
        _ => String::new(),
    };
    let parts = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = parts.ok_or_else(|| syn::Error::new(span, "expected a version like `7.8`"))?;
    Ok(Version { span, major, minor })
}

/// `sm_90a`
fn target(input: ParseStream) -> Result<Target> {
    let ident = word(input)?;
    target_of(&ident).ok_or_else(|| syn::Error::new(ident.span(), "expected a target like `sm_90`"))
}

fn target_of(ident: &Ident) -> Option<Target> {
    Some(Target { span: ident.span(), value: ident.to_string().parse().ok()? })
}

fn number(input: ParseStream) -> Result<Number> {
    let literal: LitInt = input.parse().map_err(|error| syn::Error::new(error.span(), "expected a whole number"))?;
    Ok(Number { value: literal.base10_parse()?, span: literal.span() })
}

/// Parses `unsigned, .f32`: at least one.
fn type_set(input: ParseStream) -> Result<Vec<TypeSet>> {
    let mut list = Vec::new();
    loop {
        list.push(if input.peek(Token![.]) { TypeSet::Type(dotted(input)?) } else { TypeSet::Class(word(input)?) });
        if !input.peek(Token![,]) {
            return Ok(list);
        }
        input.parse::<Token![,]>()?;
    }
}

/// Parses `{ .u32, eq }`: members with or without a dot.
fn members(input: ParseStream) -> Result<Vec<Ident>> {
    let content;
    syn::braced!(content in input);
    let list = content.parse_terminated(
        |input: ParseStream| {
            let first = if input.peek(Token![.]) { dotted(input)? } else { word(input)? };
            numbered(first, input)
        },
        Token![,],
    )?;
    Ok(list.into_iter().flatten().map(|(_, word)| word).collect())
}

/// Parses the rest of a word pattern such as `m64n(8 to 256 by 8)k8` or `const[0 to 10]` after its first part; returns the words
/// with their numbers.
fn numbered(first: Ident, input: ParseStream) -> Result<Vec<(Option<u32>, Ident)>> {
    if input.peek(token::Bracket) {
        let (least, most, step) = brackets(input, range)?;
        let word = |number: u32| (Some(number), Ident::new(format!("{first}[{number}]"), first.span()));
        return Ok((least..=most).step_by(step).map(word).collect());
    }
    if !input.peek(token::Paren) {
        return Ok(vec![(None, first)]);
    }
    let content;
    syn::parenthesized!(content in input);
    let (least, most, step) = range(&content)?;
    if !content.is_empty() {
        return Err(content.error("expected `)`"));
    }
    let ends = input.peek(Token![;]) || input.peek(Token![,]) || input.peek(LitStr) || input.is_empty();
    let behind = if ends { String::new() } else { undotted(input)?.to_string() };
    let word = |number: u32| (Some(number), Ident::new(format!("{first}{number}{behind}"), first.span()));
    Ok((least..=most).step_by(step).map(word).collect())
}

/// Parses `8 to 256 by 8`.
fn range(input: ParseStream) -> Result<(u32, u32, usize)> {
    let least = number(input)?.value;
    keyword(input, "to")?;
    let most = number(input)?.value;
    let mut step = 1;
    if peek_keyword(input, "by") {
        word(input)?;
        step = number(input)?.value.max(1) as usize;
    }
    Ok((least, most, step))
}

/// Parses a semicolon; reports an error at the token found instead.
fn semicolon(input: ParseStream) -> Result<()> {
    input.parse::<Token![;]>().map(drop)
}

/// Reports a duplicate block.
fn once(seen: &mut Vec<String>, ident: &Ident, errors: &mut Errors) {
    let name = ident.to_string();
    if seen.contains(&name) {
        errors.push(Diagnostic::new(ident.span(), format!("duplicate block `{name}` in this entry")));
    }
    seen.push(name);
}
