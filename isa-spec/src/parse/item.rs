//! Items of the prelude, and the way to the entries.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::parse::{ParseStream, Result};
use syn::punctuated::Punctuated;
use syn::{Attribute, LitStr, Token, token};

use super::{
    dotted, expr, keyword, members, number, peek_keyword, semicolon, statements, target, type_set, version, word,
};
use crate::ast::{
    Builtin, Class, Docs, Item, LenientNote, Operator, OperatorMember, ParamType, Slip, Spec, TargetGroup, Type,
    TypeShape,
};
use crate::diagnostic::Errors;

const ITEMS: [&str; 11] =
    ["use", "bodies", "ptx", "targets", "types", "class", "builtin", "operator", "lenient", "slips", "instruction"];

pub(super) fn spec(input: ParseStream, spec: &mut Spec, errors: &mut Errors) {
    let items = statements(input, errors, |input, errors| {
        // A file's own description; files may follow each other, and one may hold nothing else.
        input.call(Attribute::parse_inner)?;
        if input.is_empty() { Ok(None) } else { item(input, errors).map(Some) }
    });
    spec.items = items.into_iter().flatten().collect();
}

fn item(input: ParseStream, errors: &mut Errors) -> Result<Item> {
    let docs = super::docs(input)?;
    let name = word(input)?;
    match name.to_string().as_str() {
        "use" => {
            let library = word(input)?;
            semicolon(input)?;
            Ok(Item::Use(library))
        }
        "bodies" => {
            let path = input.call(syn::Path::parse_mod_style)?.into_token_stream();
            semicolon(input)?;
            Ok(Item::Bodies { path, span: name.span() })
        }
        "ptx" => {
            let list = punctuated(input, version)?;
            semicolon(input)?;
            Ok(Item::Versions(list))
        }
        "targets" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Targets(statements(&content, errors, |input, _| target_group(input))))
        }
        "types" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Types(statements(&content, errors, |input, _| type_item(input))))
        }
        "class" => class(input, docs).map(Item::Class),
        "builtin" => builtin(input, docs).map(Item::Builtin),
        "operator" => operator(input, docs, errors).map(Item::Operator),
        "lenient" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Lenient(statements(&content, errors, |input, _| {
                let note = LenientNote { docs: super::docs(input)?, name: word(input)? };
                semicolon(input)?;
                Ok(note)
            })))
        }
        "slips" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Slips(statements(&content, errors, |input, _| {
                let docs = super::docs(input)?;
                let verdict = word(input)?;
                let code = if input.peek(LitStr) { None } else { Some(word(input)?) };
                let patterns = Punctuated::<LitStr, Token![,]>::parse_separated_nonempty(input)?;
                semicolon(input)?;
                Ok(Slip { docs, verdict, code, patterns: patterns.iter().map(LitStr::value).collect() })
            })))
        }
        "instruction" => super::instruction::instruction(input, docs, errors).map(Item::Instruction),
        other => {
            let near = crate::diagnostic::nearest(other, ITEMS);
            let hint = near.map_or_else(|| format!("one of {}", ITEMS.join(", ")), |near| format!("`{near}`"));
            Err(syn::Error::new(name.span(), format!("`{other}` begins no item; expected {hint}")))
        }
    }
}

fn punctuated<T>(input: ParseStream, mut parse: impl FnMut(ParseStream) -> Result<T>) -> Result<Vec<T>> {
    let mut list = vec![parse(input)?];
    while input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
        list.push(parse(input)?);
    }
    Ok(list)
}

fn target_group(input: ParseStream) -> Result<TargetGroup> {
    keyword(input, "ptx")?;
    let since = version(input)?;
    input.parse::<Token![:]>()?;
    let targets = punctuated(input, target)?;
    semicolon(input)?;
    Ok(TargetGroup { since, targets })
}

fn type_item(input: ParseStream) -> Result<Type> {
    let docs = super::docs(input)?;
    let name = dotted(input)?;
    input.parse::<Token![:]>()?;
    let shape = if input.peek(syn::LitInt) {
        let lanes = number(input)?;
        keyword(input, "of")?;
        TypeShape::Packed { lanes, of: dotted(input)? }
    } else {
        let (kind, bits) = (word(input)?, number(input)?);
        let mut exponent = None;
        if peek_keyword(input, "exponent") {
            word(input)?;
            exponent = Some(number(input)?);
        }
        TypeShape::Scalar { kind, bits, exponent }
    };
    let mut ty = Type { docs, name, shape, registers: Vec::new(), constants: Vec::new() };
    if peek_keyword(input, "registers") {
        word(input)?;
        ty.registers = members(input)?;
    }
    if peek_keyword(input, "constants") {
        word(input)?;
        ty.constants = members(input)?;
    }
    semicolon(input)?;
    Ok(ty)
}

fn class(input: ParseStream, docs: Docs) -> Result<Class> {
    let name = word(input)?;
    input.parse::<Token![=]>()?;
    let types = members(input)?;
    semicolon(input)?;
    Ok(Class { docs, name, types })
}

fn builtin(input: ParseStream, docs: Docs) -> Result<Builtin> {
    let name = word(input)?;
    let mut generic = None;
    if input.peek(Token![<]) {
        input.parse::<Token![<]>()?;
        let parameter = word(input)?;
        input.parse::<Token![:]>()?;
        generic = Some((parameter, type_set(input)?));
        input.parse::<Token![>]>()?;
    }
    let content;
    syn::parenthesized!(content in input);
    let params = content.parse_terminated(
        |input: ParseStream| {
            let name = word(input)?;
            input.parse::<Token![:]>()?;
            Ok((name, param_type(input)?))
        },
        Token![,],
    )?;
    input.parse::<Token![->]>()?;
    let result = param_type(input)?;
    semicolon(input)?;
    Ok(Builtin { docs, name, generic, params: params.into_iter().collect(), result })
}

fn param_type(input: ParseStream) -> Result<ParamType> {
    if input.peek(Token![.]) {
        return dotted(input).map(ParamType::Type);
    }
    if input.peek(token::Bracket) {
        let content;
        syn::bracketed!(content in input);
        return word(&content).map(ParamType::Lanes);
    }
    let name = word(input)?;
    if name != "lanes" {
        return Ok(ParamType::Generic(name));
    }
    let lanes = number(input)?;
    keyword(input, "of")?;
    Ok(ParamType::Pick { span: name.span(), lanes, of: number(input)? })
}

fn operator(input: ParseStream, docs: Docs, errors: &mut Errors) -> Result<Operator> {
    let name = word(input)?;
    let content;
    syn::parenthesized!(content in input);
    let params = content.parse_terminated(word, Token![,])?.into_iter().collect();
    let content;
    syn::braced!(content in input);
    let members = statements(&content, errors, |input, _| operator_member(input));
    Ok(Operator { docs, name, params, members })
}

fn operator_member(input: ParseStream) -> Result<OperatorMember> {
    let docs = super::docs(input)?;
    let name: Ident = word(input)?;
    input.parse::<Token![=]>()?;
    let body = expr::expr(input)?;
    let mut domain = Vec::new();
    if input.peek(Token![for]) {
        input.parse::<Token![for]>()?;
        domain = type_set(input)?;
    }
    semicolon(input)?;
    Ok(OperatorMember { docs, name, body, domain })
}
