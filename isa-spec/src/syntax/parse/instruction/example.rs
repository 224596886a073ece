//! Parser of examples: statements of PTX.

use isa_table::notation::Around;
use proc_macro2::TokenTree;
use syn::parse::{ParseStream, Result};
use syn::{Token, token};

use super::super::{dotted, expr, peek_keyword, semicolon, word};
use super::{floor, no_floor};
use crate::syntax::ast::{Example, ExampleOperand, Requirement};

pub(super) fn example(input: ParseStream) -> Result<Example> {
    let span = input.span();
    let refused = peek_keyword(input, "refused") && input.peek2(syn::Ident);
    if refused {
        word(input)?;
    }
    let with = judged_with(input)?;
    let mut text = String::new();
    if input.peek(Token![@]) {
        input.parse::<Token![@]>()?;
        let bang = if input.parse::<Option<Token![!]>>()?.is_some() { "!" } else { "" };
        text = format!("@{bang}{} ", word(input)?);
    }
    let opcode = word(input)?;
    text += opcode.as_ref();
    let mut modifiers = Vec::new();
    while input.peek(Token![.]) {
        let modifier = dotted(input)?;
        text += &format!(".{modifier}");
        modifiers.push(modifier);
    }
    let mut operands = if input.peek(Token![;]) { Vec::new() } else { example_operands(input)? };
    while input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
        operands.extend(example_operands(input)?);
    }
    let written: Vec<String> = operands.iter().map(ToString::to_string).collect();
    text += if operands.is_empty() { "" } else { " " };
    text += &format!("{};", written.join(", "));
    let end = input.span();
    semicolon(input)?;
    Ok(Example { span: expr::join(span, end), refused, with, text, opcode, modifiers, operands })
}

/// `ptx 7.0, sm_80:`, where an example begins so.
pub(super) fn judged_with(input: ParseStream) -> Result<Option<Requirement>> {
    let read = |input: ParseStream| {
        let mut with = no_floor(input.span());
        floor(input, &mut with)?;
        input.parse::<Token![:]>()?;
        Ok(with)
    };
    if read(&input.fork()).is_ok() { read(input).map(Some) } else { Ok(None) }
}

/// Parses an operand or a bracketed group.
pub(super) fn example_operands(input: ParseStream) -> Result<Vec<ExampleOperand>> {
    if !input.peek(token::Bracket) {
        return Ok(vec![example_operand(input)?]);
    }
    let content;
    syn::bracketed!(content in input);
    let mut list: Vec<ExampleOperand> = content.parse_terminated(example_operand, Token![,])?.into_iter().collect();
    if let Some(first) = list.first_mut() {
        first.around.opens_bracket = true;
    }
    if let Some(last) = list.last_mut() {
        last.around.closes_bracket = true;
    }
    Ok(list)
}

pub(super) fn example_operand(input: ParseStream) -> Result<ExampleOperand> {
    let span = input.span();
    let mut operand = ExampleOperand {
        span,
        negated: false,
        name: String::new(),
        second: None,
        selector: None,
        elements: Vec::new(),
        around: Around::default(),
    };
    if input.peek(token::Brace) {
        let content;
        syn::braced!(content in input);
        operand.elements = content.parse_terminated(example_operand, Token![,])?.into_iter().collect();
        return Ok(operand);
    }
    if input.peek(token::Paren) {
        let content;
        syn::parenthesized!(content in input);
        let list: Vec<String> = content.parse_terminated(operand_name, Token![,])?.into_iter().collect();
        operand.name = format!("({})", list.join(", "));
        return Ok(operand);
    }
    let negated = input.parse::<Option<Token![!]>>()?.is_some();
    let fork = input.fork();
    // `-a` has a minus, `-1` is a constant.
    let minus = fork.parse::<Token![-]>().is_ok() && !fork.peek(syn::Lit);
    if minus {
        input.parse::<Token![-]>()?;
    }
    operand.negated = negated;
    operand.around.minus = minus;
    operand.name = operand_name(input)?;
    if input.peek(Token![+]) {
        input.parse::<Token![+]>()?;
        operand.name += &format!("+{}", operand_name(input)?);
    }
    if input.peek(Token![|]) {
        input.parse::<Token![|]>()?;
        operand.second = Some(operand_name(input)?);
    }
    operand.selector = if input.peek(Token![.]) { Some(dotted(input)?) } else { None };
    Ok(operand)
}

impl std::fmt::Display for ExampleOperand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}{}", self.around.before(), if self.negated { "!" } else { "" }, self.name)?;
        if !self.elements.is_empty() {
            let elements: Vec<String> = self.elements.iter().map(ToString::to_string).collect();
            write!(f, "{{{}}}", elements.join(", "))?;
        }
        if let Some(second) = &self.second {
            write!(f, "|{second}")?;
        }
        self.selector.as_ref().map_or(Ok(()), |selector| write!(f, ".{selector}"))?;
        f.write_str(self.around.behind())
    }
}

/// Parses a register, a constant or the sink.
pub(super) fn operand_name(input: ParseStream) -> Result<String> {
    let mut text = String::new();
    if input.peek(Token![-]) || input.peek(Token![%]) {
        text += &input.parse::<TokenTree>()?.to_string();
    }
    if input.peek(syn::Lit) {
        return Ok(text + &input.parse::<TokenTree>()?.to_string());
    }
    if input.peek(Token![_]) {
        input.parse::<Token![_]>()?;
        return Ok("_".to_owned());
    }
    Ok(text + word(input)?.as_ref())
}
