//! Parser of items: declarations and the start of entries.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Result};
use syn::{LitStr, Token, token};

use super::{
    dotted, expr, keyword, members, module, number, peek_keyword, semicolon, statements, target, type_set, version,
    word,
};
use crate::syntax::ast::{
    BitField, Builtin, Class, Docs, Effect, Fragment, Function, Ident, Item, Layout, LenientNote, Manual, Map,
    NamedCondition, NamedSet, Operator, OperatorMember, Own, ParamType, Scalarized, Signature, Spec, SumRow, Summation,
    TargetGroup, Template, Type, TypeSet, TypeShape, Word, Words,
};
use crate::text::Errors;

const ITEMS: [&str; 30] = [
    "use",
    "bodies",
    "ptx",
    "targets",
    "families",
    "manual",
    "types",
    "class",
    "builtin",
    "own",
    "effect",
    "fn",
    "operator",
    "words",
    "map",
    "fragment",
    "summation",
    "layout",
    "lenient",
    "special",
    "spaces",
    "directives",
    "set",
    "condition",
    "free",
    "modifiers",
    "template",
    "declarations",
    "scalarize",
    "instruction",
];

/// Rust path: `crate::bodies`.
fn path(input: ParseStream) -> Result<TokenStream> {
    let mut tokens = TokenStream::new();
    loop {
        if let Some(colons) = input.parse::<Option<Token![::]>>()? {
            colons.to_tokens(&mut tokens);
        }
        input.call(syn::Ident::parse_any)?.to_tokens(&mut tokens);
        if !input.peek(Token![::]) {
            return Ok(tokens);
        }
    }
}

pub(super) fn spec(input: ParseStream, spec: &mut Spec, errors: &mut Errors) {
    let items = statements(input, errors, |input, errors| {
        // Doc comment of a file; files may be concatenated, and one may contain nothing else.
        super::file_docs(input)?;
        let start = input.span();
        if input.is_empty() { Ok(None) } else { item(input, errors).map(|item| Some((start, item))) }
    });
    spec.items = items.into_iter().flatten().collect();
}

/// `cvt, add: .sat;`
fn scalarized(input: ParseStream) -> Result<Scalarized> {
    let mut opcodes = vec![super::instruction::opcode(input)?];
    while input.parse::<Option<Token![,]>>()?.is_some() {
        opcodes.push(super::instruction::opcode(input)?);
    }
    let condition = match input.parse::<Option<Token![:]>>()? {
        Some(_) => Some(expr::expr(input)?),
        None => None,
    };
    semicolon(input)?;
    Ok(Scalarized { opcodes, condition })
}

/// `9.2 "https://…" { 9.7.1 "Integer Arithmetic Instructions"; }`
fn manual(input: ParseStream, span: Span, errors: &mut Errors) -> Result<Manual> {
    let version = version(input)?;
    let address = input.parse::<LitStr>()?.value();
    let content;
    syn::braced!(content in input);
    let chapters = statements(&content, errors, |input, _| {
        let (number, span) = super::instruction::section(input)?;
        let title = input.parse::<LitStr>()?.value();
        semicolon(input)?;
        Ok((number, title, span))
    });
    Ok(Manual { span, version, address, chapters })
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
            let path = path(input)?;
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
        "families" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Families(statements(&content, errors, |input, _| {
                let family = punctuated(input, target)?;
                semicolon(input)?;
                Ok(family)
            })))
        }
        "manual" => manual(input, name.span(), errors).map(Item::Manual),
        "types" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Types(statements(&content, errors, |input, _| type_item(input))))
        }
        "class" => class(input, docs).map(Item::Class),
        "builtin" => builtin(input, docs).map(Item::Builtin),
        "special" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Special(statements(&content, errors, |input, _| module::special(input))))
        }
        "directives" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Directives(statements(&content, errors, |input, _| module::directive(input))))
        }
        "spaces" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Spaces(statements(&content, errors, |input, _| module::space(input))))
        }
        "own" => {
            let name = word(input)?;
            input.parse::<Token![:]>()?;
            let ty = dotted(input)?;
            semicolon(input)?;
            Ok(Item::Own(Own { docs, name, ty }))
        }
        "effect" => effect(input, docs).map(Item::Effect),
        "fn" => function(input, docs).map(Item::Function),
        "operator" => operator(input, docs, errors).map(Item::Operator),
        "words" => {
            let name = word(input)?;
            let of_opcode = peek_keyword(input, "of");
            if of_opcode {
                word(input)?;
                keyword(input, "opcode")?;
            }
            let content;
            syn::braced!(content in input);
            let members = statements(&content, errors, |input, _| words_member(input));
            Ok(Item::Words(Words { docs, name, of_opcode, members: members.into_iter().flatten().collect() }))
        }
        "free" => {
            keyword(input, "set")?;
            named_set(input, docs, true).map(Item::Set)
        }
        "set" => named_set(input, docs, false).map(Item::Set),
        "condition" => {
            let name = word(input)?;
            input.parse::<Token![=]>()?;
            let value = expr::expr(input)?;
            semicolon(input)?;
            Ok(Item::Condition(NamedCondition { name, value }))
        }
        "modifiers" => {
            let content;
            syn::braced!(content in input);
            let words = statements(&content, errors, |input, _| {
                let (mut docs, first) = (super::docs(input)?, dotted(input)?);
                let words = super::numbered(first, input)?;
                let mut attributes = Vec::new();
                while input.peek(syn::Ident) {
                    attributes.push(word(input)?);
                }
                describe(input, &mut docs)?;
                let mut floor = None;
                if input.parse::<Option<Token![:]>>()?.is_some() {
                    floor = Some(super::instruction::requirement(input)?);
                } else {
                    semicolon(input)?;
                }
                let word = |(number, name)| {
                    let (docs, attributes) = (numbered_docs(&docs, number), attributes.clone());
                    Word { docs, name, attributes, floor: floor.clone() }
                };
                Ok(words.into_iter().map(word).collect::<Vec<_>>())
            });
            Ok(Item::Modifiers(words.into_iter().flatten().collect()))
        }
        "template" => template(input, docs).map(Item::Template),
        "map" => {
            let name = word(input)?;
            let content;
            syn::braced!(content in input);
            let pairs = statements(&content, errors, |input, _| {
                let from = dotted(input)?;
                input.parse::<Token![:]>()?;
                let pair = (from, dotted(input)?);
                semicolon(input)?;
                Ok(pair)
            });
            Ok(Item::Map(Map { name, pairs }))
        }
        "fragment" => {
            let name = word(input)?;
            let content;
            syn::braced!(content in input);
            let places = statements(&content, errors, |input, _| {
                let what = word(input)?;
                input.parse::<Token![=]>()?;
                let place = (what, expr::expr(input)?);
                semicolon(input)?;
                Ok(place)
            });
            Ok(Item::Fragment(Fragment { docs, name, places }))
        }
        "summation" => {
            let name = word(input)?;
            let content;
            syn::braced!(content in input);
            Ok(Item::Summation(Summation { docs, name, rows: statements(&content, errors, |input, _| sum_row(input)) }))
        }
        "layout" => {
            let name = word(input)?;
            keyword(input, "of")?;
            let bits = number(input)?;
            let content;
            syn::braced!(content in input);
            let fields = statements(&content, errors, |input, _| bit_field(input));
            Ok(Item::Layout(Layout { docs, name, bits, fields }))
        }
        "declarations" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Declarations(statements(&content, errors, |input, _| module::declared(input))))
        }
        "scalarize" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Scalarize(statements(&content, errors, |input, _| scalarized(input))))
        }
        "lenient" => {
            let content;
            syn::braced!(content in input);
            Ok(Item::Lenient(statements(&content, errors, |input, _| {
                let mut note = LenientNote { docs: super::docs(input)?, name: word(input)? };
                describe(input, &mut note.docs)?;
                semicolon(input)?;
                Ok(note)
            })))
        }
        "instruction" => super::instruction::instruction(input, docs, errors).map(Item::Instruction),
        other => {
            let near = crate::text::nearest(other, ITEMS);
            let hint = near.map_or_else(|| format!("one of {}", ITEMS.join(", ")), |near| format!("`{near}`"));
            Err(syn::Error::new(name.span(), format!("`{other}` begins no item; expected {hint}")))
        }
    }
}

/// Parses the description that a member of a list or a short item may have behind it, in place of `///` lines before it: strings, each
/// a paragraph.
pub(super) fn describe(input: ParseStream, docs: &mut Docs) -> Result<()> {
    let mut paragraphs = Vec::new();
    while input.peek(LitStr) {
        let text = input.parse::<LitStr>()?;
        if !docs.is_empty() {
            return Err(syn::Error::new(text.span(), "duplicate description"));
        }
        paragraphs.push(text.value());
    }
    if !paragraphs.is_empty() {
        *docs = paragraphs.join("\n\n");
    }
    Ok(())
}

/// `sm_75: fused fraction 24 step 16;`
fn sum_row(input: ParseStream) -> Result<SumRow> {
    let target = target(input)?;
    input.parse::<Token![:]>()?;
    let kind = word(input)?;
    let (mut attributes, mut likely) = (Vec::new(), false);
    while !input.peek(Token![;]) {
        let name = word(input)?;
        if name == "likely" {
            likely = true;
        } else {
            attributes.push((name, number(input)?));
        }
    }
    semicolon(input)?;
    Ok(SumRow { target, kind, attributes, likely })
}

/// `update(at: operand, change: program) -> value;`
fn effect(input: ParseStream, mut docs: Docs) -> Result<Effect> {
    let name = word(input)?;
    let content;
    syn::parenthesized!(content in input);
    let mut params = Vec::new();
    while !content.is_empty() {
        let param = word(&content)?;
        content.parse::<Token![:]>()?;
        params.push((param, word(&content)?));
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    let result = input.peek(Token![->]);
    if result {
        input.parse::<Token![->]>()?;
        keyword(input, "value")?;
    }
    describe(input, &mut docs)?;
    semicolon(input)?;
    Ok(Effect { docs, name, params, result })
}

/// `scope = { .cta, .gpu };`
fn named_set(input: ParseStream, docs: Docs, free: bool) -> Result<NamedSet> {
    let name = word(input)?;
    Ok(NamedSet { docs, name, free, body: super::instruction::set_body(input)? })
}

/// `binary($value, $types) { … }`
fn template(input: ParseStream, docs: Docs) -> Result<Template> {
    let name = word(input)?;
    let mut params = Vec::new();
    if input.peek(token::Paren) {
        let content;
        syn::parenthesized!(content in input);
        params = punctuated(&content, |input| {
            input.parse::<Token![$]>()?;
            word(input)
        })?;
    }
    let content;
    syn::braced!(content in input);
    Ok(Template { docs, name, params, body: content.parse()? })
}

/// `x2;`, or `m64n(8 to 256 by 8)k8;` for one word for each number, which replaces `{}` in the description.
fn words_member(input: ParseStream) -> Result<Vec<(Docs, Ident)>> {
    let (mut docs, first) = (super::docs(input)?, super::undotted(input)?);
    let members = super::numbered(first, input)?;
    describe(input, &mut docs)?;
    semicolon(input)?;
    Ok(members.into_iter().map(|(number, word)| (numbered_docs(&docs, number), word)).collect())
}

/// The description of a word with a number, which replaces `{}` in it.
fn numbered_docs(docs: &str, number: Option<u32>) -> Docs {
    number.map_or_else(|| docs.into(), |number| docs.replace("{}", &number.to_string()))
}

/// `0 to 13: start;`, `52: stride;`
fn bit_field(input: ParseStream) -> Result<BitField> {
    let (mut docs, low) = (super::docs(input)?, number(input)?);
    let mut high = low;
    if peek_keyword(input, "to") {
        word(input)?;
        high = number(input)?;
    }
    input.parse::<Token![:]>()?;
    let name = word(input)?;
    describe(input, &mut docs)?;
    semicolon(input)?;
    Ok(BitField { docs, low, high, name })
}

pub(super) fn punctuated<T>(input: ParseStream, mut parse: impl FnMut(ParseStream) -> Result<T>) -> Result<Vec<T>> {
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
        let attribute = |name| {
            let found = peek_keyword(input, name);
            if found {
                word(input)?;
            }
            found.then(|| number(input)).transpose()
        };
        let (exponent, fraction) = (attribute("exponent")?, attribute("fraction")?);
        let beyond = if peek_keyword(input, "nonfinite") {
            word(input)?;
            Some(word(input)?)
        } else {
            None
        };
        TypeShape::Scalar { kind, bits, exponent, fraction, beyond, padding: attribute("padding")? }
    };
    let mut ty = Type { docs, name, shape, registers: Vec::new(), beside: Vec::new(), constants: Vec::new() };
    if peek_keyword(input, "registers") {
        word(input)?;
        ty.registers = members(input)?;
    }
    if peek_keyword(input, "beside") {
        word(input)?;
        ty.beside = members(input)?;
    }
    if peek_keyword(input, "constants") {
        word(input)?;
        ty.constants = members(input)?;
    }
    describe(input, &mut ty.docs)?;
    semicolon(input)?;
    Ok(ty)
}

fn class(input: ParseStream, mut docs: Docs) -> Result<Class> {
    let name = word(input)?;
    input.parse::<Token![=]>()?;
    let types = members(input)?;
    describe(input, &mut docs)?;
    semicolon(input)?;
    Ok(Class { docs, name, types })
}

/// `T: unsigned, float`
fn type_parameter(input: ParseStream) -> Result<(Ident, Vec<TypeSet>)> {
    let parameter = word(input)?;
    input.parse::<Token![:]>()?;
    Ok((parameter, type_set(input)?))
}

/// `lt<T: unsigned, float>(a: T, b: T) -> .pred`, `convert<T: .f32; U: .s32, .u32>(a: T) -> U`
fn signature(input: ParseStream, docs: Docs) -> Result<Signature> {
    let name = word(input)?;
    let (mut generic, mut to) = (None, None);
    if input.peek(Token![<]) {
        input.parse::<Token![<]>()?;
        generic = Some(type_parameter(input)?);
        if input.peek(Token![;]) {
            input.parse::<Token![;]>()?;
            to = Some(type_parameter(input)?);
        }
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
    Ok(Signature { docs, name, generic, to, params: params.into_iter().collect(), result })
}

fn builtin(input: ParseStream, docs: Docs) -> Result<Builtin> {
    let mut signature = signature(input, docs)?;
    let warp = peek_keyword(input, "warp");
    if warp {
        word(input)?;
    }
    let linear = match peek_keyword(input, "linear") {
        true => {
            word(input)?;
            Some(word(input)?)
        }
        false => None,
    };
    describe(input, &mut signature.docs)?;
    semicolon(input)?;
    Ok(Builtin { signature, warp, linear })
}

fn function(input: ParseStream, docs: Docs) -> Result<Function> {
    let signature = signature(input, docs)?;
    let content;
    syn::braced!(content in input);
    let mut lets = Vec::new();
    while content.peek2(Token![=]) && !content.peek2(Token![==]) {
        let name = word(&content)?;
        content.parse::<Token![=]>()?;
        lets.push((name, expr::expr(&content)?));
        semicolon(&content)?;
    }
    let body = expr::expr(&content)?;
    if content.is_empty() { Ok(Function { signature, lets, body }) } else { Err(content.error("expected `}`")) }
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
    if name == "warp" && !input.peek(Token![,]) && !input.is_empty() {
        return param_type(input).map(|ty| ParamType::Warp(Box::new(ty)));
    }
    if name == "one" && peek_keyword(input, "of") {
        word(input)?;
        return Ok(ParamType::Listed { span: name.span(), words: members(input)? });
    }
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
    let mut docs = super::docs(input)?;
    let name: Ident = word(input)?;
    input.parse::<Token![=]>()?;
    let body = expr::expr(input)?;
    let mut domain = Vec::new();
    if input.peek(Token![for]) {
        input.parse::<Token![for]>()?;
        domain = type_set(input)?;
    }
    describe(input, &mut docs)?;
    semicolon(input)?;
    Ok(OperatorMember { docs, name, body, domain })
}
