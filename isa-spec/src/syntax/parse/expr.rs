//! Parser of expressions and statements of semantics.

use proc_macro2::{Spacing, Span};
use syn::buffer::Cursor;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Result};
use syn::{LitFloat, LitInt, Token, token};

use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Stmt, TypeSet, UnaryOp};
use crate::text::Errors;

/// Maximum nesting depth of expressions; prevents stack overflow on malformed input.
const MAX_DEPTH: usize = 64;

/// Keywords that end an operand: neither operands nor infix operators.
const RESERVED: [&str; 10] = ["as", "in", "if", "else", "only", "where", "for", "default", "with", "without"];

/// Parses a condition or the right side of an assignment.
pub(super) fn expr(input: ParseStream) -> Result<Expr> {
    choose(input, 0)
}

/// Checks the nesting depth; each operator of a chain counts.
fn not_too_deep(input: ParseStream, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH { Err(input.error("this expression is nested too deeply")) } else { Ok(()) }
}

fn choose(input: ParseStream, depth: usize) -> Result<Expr> {
    not_too_deep(input, depth)?;
    let condition = binary(input, 0, depth)?;
    if !input.peek(Token![?]) {
        return Ok(condition);
    }
    input.parse::<Token![?]>()?;
    let then = choose(input, depth + 1)?;
    input.parse::<Token![:]>()?;
    let otherwise = choose(input, depth + 1)?;
    let span = join(condition.span, otherwise.span);
    Ok(Expr { span, kind: ExprKind::Choose(Box::new(condition), Box::new(then), Box::new(otherwise)) })
}

fn binary(input: ParseStream, least: u8, mut depth: usize) -> Result<Expr> {
    let mut left = unary(input, depth)?;
    loop {
        not_too_deep(input, depth)?;
        depth += 1;
        if peek_name(input) {
            let precedence = BinaryOp::Lt.precedence();
            if precedence < least {
                return Ok(left);
            }
            let name = super::word(input)?;
            let right = binary(input, precedence + 1, depth)?;
            let span = join(left.span, right.span);
            left = Expr { span, kind: ExprKind::Infix(name, Box::new(left), Box::new(right)) };
        } else if input.peek(Token![in]) {
            if BinaryOp::Lt.precedence() < least {
                return Ok(left);
            }
            input.parse::<Token![in]>()?;
            let (set, end) = in_set(input)?;
            left = Expr { span: join(left.span, end), kind: ExprKind::In(Box::new(left), set) };
        } else if let Some(op) = peek_binary(input)
            && op.precedence() >= least
        {
            skip_binary(input, op)?;
            let right = binary(input, op.precedence() + 1, depth)?;
            let span = join(left.span, right.span);
            left = Expr { span, kind: ExprKind::Binary(op, Box::new(left), Box::new(right)) };
        } else {
            return Ok(left);
        }
    }
}

/// Parses a class, or types in braces.
fn in_set(input: ParseStream) -> Result<(Vec<TypeSet>, Span)> {
    if input.peek(token::Brace) {
        let content;
        let brace = syn::braced!(content in input);
        return Ok((super::type_set(&content)?, brace.span.close()));
    }
    let class = super::word(input)?;
    let span = class.span();
    Ok((vec![TypeSet::Class(class)], span))
}

fn unary(input: ParseStream, mut depth: usize) -> Result<Expr> {
    not_too_deep(input, depth)?;
    if input.peek(Token![!]) {
        let bang = input.parse::<Token![!]>()?;
        let inner = unary(input, depth + 1)?;
        return Ok(Expr { span: join(bang.span, inner.span), kind: ExprKind::Unary(UnaryOp::Not, Box::new(inner)) });
    }
    if input.peek(Token![~]) {
        let tilde = input.parse::<Token![~]>()?;
        let inner = unary(input, depth + 1)?;
        let span = join(tilde.span, inner.span);
        return Ok(Expr { span, kind: ExprKind::Unary(UnaryOp::Complement, Box::new(inner)) });
    }
    if input.peek(Token![-]) {
        let minus = input.parse::<Token![-]>()?;
        let inner = unary(input, depth + 1)?;
        let span = join(minus.span, inner.span);
        let kind = match inner.kind {
            // Fold the sign into a literal.
            ExprKind::Integer(value) if value <= 1 << 63 => ExprKind::Integer(-value),
            ExprKind::Integer(_) => return Err(syn::Error::new(span, "this number has more than 64 bits")),
            ExprKind::Float(value) => ExprKind::Float(-value),
            _ => ExprKind::Unary(UnaryOp::Neg, Box::new(inner)),
        };
        return Ok(Expr { span, kind });
    }
    let mut value = atom(input, depth)?;
    loop {
        not_too_deep(input, depth)?;
        depth += 1;
        if input.peek(Token![as]) {
            input.parse::<Token![as]>()?;
            let ty = super::dotted(input)?;
            value = Expr { span: join(value.span, ty.span()), kind: ExprKind::As(Box::new(value), ty) };
        } else if input.peek(token::Bracket) {
            let content;
            let bracket = syn::bracketed!(content in input);
            let index = super::number(&content)?;
            let span = join(value.span, bracket.span.close());
            value = Expr { span, kind: ExprKind::Index(Box::new(value), index) };
        } else {
            return Ok(value);
        }
    }
}

fn atom(input: ParseStream, depth: usize) -> Result<Expr> {
    if input.peek(token::Paren) {
        let content;
        syn::parenthesized!(content in input);
        let inner = choose(&content, depth + 1)?;
        return if content.is_empty() { Ok(inner) } else { Err(content.error("expected `)`")) };
    }
    if input.peek(Token![.]) {
        let dot = input.span();
        let name = super::dotted(input)?;
        return Ok(Expr { span: join(dot, name.span()), kind: ExprKind::Dotted(name) });
    }
    if input.peek(LitFloat) {
        let literal: LitFloat = input.parse()?;
        return Ok(Expr { span: literal.span(), kind: ExprKind::Float(literal.base10_parse()?) });
    }
    if input.peek(LitInt) {
        let literal: LitInt = input.parse()?;
        let value: u64 = literal.base10_parse().map_err(|_| {
            syn::Error::new(literal.span(), "a number is written in decimal or hex, and has up to 64 bits")
        })?;
        return Ok(Expr { span: literal.span(), kind: ExprKind::Integer(value.into()) });
    }
    if !peek_name(input) {
        return Err(input.error("expected an operand, a modifier, a number, a call or `(`"));
    }
    let name = super::word(input)?;
    if let Some(target) = super::target_of(&name) {
        return Ok(Expr { span: name.span(), kind: ExprKind::Target(target) });
    }
    let ty = if input.peek(Token![.]) { Some(super::dotted(input)?) } else { None };
    if ty.is_some() && !input.peek(token::Paren) {
        return Err(input.error("expected `(` after the result type of a call"));
    }
    if !input.peek(token::Paren) {
        return Ok(Expr { span: name.span(), kind: ExprKind::Name(name) });
    }
    let content;
    let paren = syn::parenthesized!(content in input);
    let mut args = Vec::new();
    while !content.is_empty() {
        args.push(choose(&content, depth + 1)?);
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    let span = join(name.span(), paren.span.close());
    Ok(Expr { span, kind: ExprKind::Call(name, ty, args) })
}

/// Returns true if a name follows: of an operand, a builtin, or an infix modifier as in `a CmpOp b`. Keywords of Rust
/// are names here.
fn peek_name(input: ParseStream) -> bool {
    input.fork().call(syn::Ident::parse_any).is_ok_and(|ident| RESERVED.iter().all(|word| ident != word))
}

fn peek_binary(input: ParseStream) -> Option<BinaryOp> {
    BinaryOp::ALL.iter().copied().find(|op| begins_with(input.cursor(), op.symbol()))
}

/// Returns true if the next tokens are a symbol, without blanks within it.
fn begins_with(mut cursor: Cursor<'_>, symbol: &str) -> bool {
    symbol.chars().enumerate().all(|(index, wanted)| match cursor.punct() {
        Some((punct, rest)) => {
            cursor = rest;
            punct.as_char() == wanted && (index + 1 == symbol.len() || punct.spacing() == Spacing::Joint)
        }
        None => false,
    })
}

fn skip_binary(input: ParseStream, op: BinaryOp) -> Result<()> {
    for _ in op.symbol().chars() {
        input.parse::<proc_macro2::Punct>()?;
    }
    Ok(())
}

/// `t = …;`, `write(a, b);`, `d = unspecified where …;` or `if (…) { … } else { … }`
pub(super) fn statement(input: ParseStream, errors: &mut Errors, depth: usize) -> Result<Stmt> {
    if depth > MAX_DEPTH {
        return Err(input.error("these blocks are nested too deeply"));
    }
    if !input.peek(Token![if]) {
        if input.peek2(token::Paren) || input.peek2(Token![.]) {
            let call = expr(input)?;
            super::semicolon(input)?;
            return Ok(Stmt::Effect { call });
        }
        let target = super::word(input)?;
        input.parse::<Token![=]>()?;
        if super::peek_keyword(input, "unspecified") && input.peek2(Token![where]) {
            super::keyword(input, "unspecified")?;
            input.parse::<Token![where]>()?;
            let condition = expr(input)?;
            super::semicolon(input)?;
            return Ok(Stmt::Unspecified { target, condition });
        }
        let value = expr(input)?;
        super::semicolon(input)?;
        return Ok(Stmt::Assign { target, value });
    }
    input.parse::<Token![if]>()?;
    let content;
    let paren = syn::parenthesized!(content in input);
    let condition = expr(&content).and_then(|condition| match content.is_empty() {
        true => Ok(condition),
        false => Err(content.error("expected `)`")),
    });
    let condition = condition.unwrap_or_else(|error| {
        errors.push_syn(&error);
        // Placeholder, so that the branches are parsed.
        Expr { span: paren.span.open(), kind: ExprKind::Integer(0) }
    });
    let then = block(input, errors, depth)?;
    let mut otherwise = Vec::new();
    if input.peek(Token![else]) {
        input.parse::<Token![else]>()?;
        otherwise = if input.peek(Token![if]) {
            vec![statement(input, errors, depth + 1)?]
        } else {
            block(input, errors, depth)?
        };
    }
    Ok(Stmt::If { condition, then, otherwise })
}

fn block(input: ParseStream, errors: &mut Errors, depth: usize) -> Result<Vec<Stmt>> {
    let content;
    syn::braced!(content in input);
    Ok(super::statements(&content, errors, |input, errors| statement(input, errors, depth + 1)))
}

/// A span over both if the compiler supports it; otherwise the first.
pub(super) fn join(first: Span, last: Span) -> Span {
    first.join(last).unwrap_or(first)
}
