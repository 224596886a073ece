//! Parser of the operands of an entry: types, attributes, fragments.

use std::rc::Rc;

use proc_macro2::Span;
use syn::parse::{ParseStream, Result};
use syn::punctuated::Punctuated;
use syn::{Lit, Token, token};

use super::super::{dotted, expr, keyword, members, number, peek_keyword, semicolon, word};
use crate::syntax::ast::{
    Constants, Count, Factor, FragmentCase, FragmentOf, Ident, OperandKind, OperandType, State, SubstituteRule,
    TypeCase,
};

pub(super) fn operand_type(input: ParseStream) -> Result<OperandType> {
    let mut names = vec![word(input)?];
    while input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
        names.push(word(input)?);
    }
    input.parse::<Token![:]>()?;
    let mut cases = vec![type_case(input)?];
    while input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
        cases.push(type_case(input)?);
    }
    let (mut within, mut condition) = (Vec::new(), None);
    let mut attributes = Vec::new();
    let mut registers = None;
    let mut substitutes = Vec::new();
    let mut state = None;
    while input.peek(syn::Ident) || input.peek(Token![if]) {
        if peek_keyword(input, "registers") {
            word(input)?;
            registers = Some(members(input)?);
        } else if peek_keyword(input, "without") || peek_keyword(input, "with") {
            let with = word(input)? == "with";
            let content;
            syn::braced!(content in input);
            let (mut kinds, mut registers) = (Vec::new(), Vec::new());
            while !content.is_empty() {
                match content.peek(Token![.]) {
                    true => registers.push(dotted(&content)?),
                    false => kinds.push(word(&content)?),
                }
                if !content.is_empty() {
                    content.parse::<Token![,]>()?;
                }
            }
            let mut condition = None;
            if input.peek(Token![where]) {
                input.parse::<Token![where]>()?;
                condition = Some(Rc::new(expr::expr(input)?));
            }
            substitutes.push(SubstituteRule { with, kinds, registers, condition });
        } else if input.peek(Token![if]) {
            input.parse::<Token![if]>()?;
            condition = Some(expr::expr(input)?);
        } else if peek_keyword(input, "within") {
            word(input)?;
            within.push(constants(input)?);
            while input.peek(Token![,]) {
                input.parse::<Token![,]>()?;
                within.push(constants(input)?);
            }
        } else if peek_keyword(input, "state") {
            let span = word(input)?.span();
            let mut name = word(input)?.to_string();
            while input.peek(Token![.]) {
                name += &format!(".{}", dotted(input)?);
            }
            let mut condition = None;
            if input.peek(Token![where]) {
                input.parse::<Token![where]>()?;
                condition = Some(expr::expr(input)?);
            }
            state = Some(State { span, name, condition });
        } else {
            attributes.push(word(input)?);
        }
    }
    semicolon(input)?;
    Ok(OperandType { names, cases, attributes, within, registers, substitutes, state, condition })
}

/// `a, b: left by 4 where .shape == .m8n8k16, right;`
pub(super) fn fragment_of(input: ParseStream) -> Result<FragmentOf> {
    let names = Punctuated::<Ident, Token![,]>::parse_separated_nonempty_with(input, word)?.into_iter().collect();
    input.parse::<Token![:]>()?;
    let case = |input: ParseStream| {
        let mut case = FragmentCase { name: word(input)?, by: None, condition: None };
        if peek_keyword(input, "by") {
            word(input)?;
            case.by = Some(number(input)?);
        }
        if input.peek(Token![where]) {
            input.parse::<Token![where]>()?;
            case.condition = Some(expr::expr(input)?);
        }
        Ok(case)
    };
    let cases = Punctuated::<FragmentCase, Token![,]>::parse_separated_nonempty_with(input, case)?;
    semicolon(input)?;
    Ok(FragmentOf { names, cases: cases.into_iter().collect() })
}

/// `16 to 64 by 16`, `128`
pub(super) fn constants(input: ParseStream) -> Result<Constants> {
    let signed = || -> Result<(i64, Span)> {
        let negative = input.parse::<Option<Token![-]>>()?.is_some();
        let number = number(input)?;
        let (value, span) = (i64::from(number.value), number.span);
        Ok((if negative { -value } else { value }, span))
    };
    let least = signed()?;
    let behind = |name| peek_keyword(input, name).then(|| word(input)).transpose();
    let most = behind("to")?.map(|_| signed()).transpose()?.unwrap_or(least);
    let step = behind("by")?.map(|_| number(input)).transpose()?;
    Ok(Constants { least, most, step })
}

/// `2 of .type where .vec == .v2`, `wide(.type)`, `.type in .ss`, `address in .ss`, `label`
pub(super) fn type_case(input: ParseStream) -> Result<TypeCase> {
    let count = if counts(input) { Some(count(input)?) } else { None };
    let what = if input.peek(Token![.]) {
        OperandKind::Value { count, map: None, ty: dotted(input)? }
    } else if count.is_some() || input.peek2(token::Paren) {
        let map = Some(word(input)?);
        let content;
        syn::parenthesized!(content in input);
        OperandKind::Value { count, map, ty: dotted(&content)? }
    } else {
        let what = word(input)?;
        match what == "address" {
            true => OperandKind::Address,
            false => OperandKind::Other(what),
        }
    };
    let spaces = spaces(input)?;
    let mut condition = None;
    if input.peek(Token![where]) {
        input.parse::<Token![where]>()?;
        condition = Some(expr::expr(input)?);
    }
    Ok(TypeCase { what, spaces, condition })
}

/// Returns true if the length of a vector follows: a number, or a modifier with letters.
pub(super) fn counts(input: ParseStream) -> bool {
    let fork = input.fork();
    input.peek(Lit) || dotted(&fork).is_ok() && dotted(&fork).is_ok()
}

/// `4 of`, `.num.x of`, `.shape.m * .shape.k / 64 of`
pub(super) fn count(input: ParseStream) -> Result<Count> {
    let factor = |input: ParseStream| match input.peek(Lit) {
        true => number(input).map(Factor::Number),
        false => Ok(Factor::Of { modifier: dotted(input)?, letters: dotted(input)? }),
    };
    let mut count = Count { first: factor(input)?, rest: Vec::new() };
    while !peek_keyword(input, "of") {
        let divides = input.peek(Token![/]);
        if divides {
            input.parse::<Token![/]>()?;
        } else {
            input.parse::<Token![*]>().map_err(|error| syn::Error::new(error.span(), "expected `of`"))?;
        }
        count.rest.push((divides, factor(input)?));
    }
    keyword(input, "of")?;
    Ok(count)
}

/// `in .ss`, `in { .shared, .global }`, or nothing.
pub(super) fn spaces(input: ParseStream) -> Result<Vec<Ident>> {
    if !input.peek(Token![in]) {
        return Ok(Vec::new());
    }
    input.parse::<Token![in]>()?;
    if input.peek(token::Brace) { members(input) } else { Ok(vec![dotted(input)?]) }
}
