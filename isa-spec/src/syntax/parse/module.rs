//! Parser of what a spec says of modules: directives, parts of declarations, state spaces and special registers.

use syn::parse::{ParseStream, Result};
use syn::{LitStr, Token};

use super::item::{describe, punctuated};
use super::{dotted, keyword, members, number, peek_keyword, semicolon, version, word};
use crate::syntax::ast::{Declared, Directive, Space, Special, SpecialName};

/// `.maxntid entry numbers 1 to 3 without { .reqntid }: ptx 1.3, sm_10;`
pub(super) fn directive(input: ParseStream) -> Result<Directive> {
    let (docs, name) = (super::docs(input)?, dotted(input)?);
    let (places, with, without) = (Vec::new(), Vec::new(), Vec::new());
    let (numbers, from, until, lifetime) = (None, None, None, None);
    let mut directive = Directive { docs, name, places, numbers, from, with, without, until, lifetime };
    while input.peek(syn::Ident) {
        if peek_keyword(input, "numbers") {
            word(input)?;
            let least = number(input)?;
            keyword(input, "to")?;
            directive.numbers = Some((least, number(input)?));
        } else if peek_keyword(input, "from") {
            word(input)?;
            let least = number(input)?;
            let bounded = peek_keyword(input, "to");
            if bounded {
                word(input)?;
            }
            directive.from = Some((least, if bounded { Some(number(input)?) } else { None }));
        } else if peek_keyword(input, "with") {
            word(input)?;
            directive.with = members(input)?;
        } else if peek_keyword(input, "without") {
            word(input)?;
            directive.without = members(input)?;
        } else if peek_keyword(input, "until") {
            word(input)?;
            directive.until = Some(version(input)?);
        } else {
            directive.places.push(word(input)?);
        }
    }
    describe(input, &mut directive.docs)?;
    input.parse::<Token![:]>()?;
    directive.lifetime = Some(super::instruction::lifetime(input)?);
    Ok(directive)
}

/// `.b128: ptx 8.3, sm_70;`
pub(super) fn declared(input: ParseStream) -> Result<Declared> {
    let (mut docs, span) = (super::docs(input)?, input.span());
    let name = if input.peek(Token![.]) {
        format!(".{}", dotted(input)?)
    } else if input.peek(LitStr) {
        format!("{:?}", input.parse::<LitStr>()?.value())
    } else {
        word(input)?.to_string()
    };
    let most = if input.peek(syn::LitInt) { Some(number(input)?) } else { None };
    let mut attributes = Vec::new();
    while input.peek(syn::Ident) {
        attributes.push(word(input)?);
    }
    describe(input, &mut docs)?;
    input.parse::<Token![:]>()?;
    let lifetime = super::instruction::lifetime(input)?;
    Ok(Declared { docs, span, name, most, attributes, lifetime })
}

/// `.local generic constants;`
pub(super) fn space(input: ParseStream) -> Result<Space> {
    let (mut docs, name) = (super::docs(input)?, dotted(input)?);
    let (mut memory, mut attributes, mut option, mut inside, mut until) = (None, Vec::new(), None, None, None);
    let (mut kernel, mut function, mut banks, mut limit, mut reserved, mut unit) = (None, None, None, None, None, None);
    let (mut fields, mut words) = (Vec::new(), Vec::new());
    while input.peek(syn::Ident) {
        let attribute = word(input)?;
        match attribute.to_string().as_str() {
            "of" => memory = Some(word(input)?),
            "option" => option = Some(word(input)?),
            "inside" => inside = Some(version(input)?),
            "until" => until = Some(version(input)?),
            "kernel" => kernel = Some(dotted(input)?),
            "function" => function = Some(dotted(input)?),
            "banks" => banks = Some(number(input)?),
            "limit" => limit = Some(number(input)?),
            "reserved" => reserved = Some(number(input)?),
            "unit" => unit = Some(number(input)?),
            "fields" => fields = members(input)?,
            "words" => words = members(input)?,
            _ => attributes.push(attribute),
        }
    }
    describe(input, &mut docs)?;
    semicolon(input)?;
    Ok(Space {
        docs,
        name,
        memory,
        attributes,
        option,
        inside,
        until,
        kernel,
        function,
        banks,
        limit,
        reserved,
        unit,
        fields,
        words,
    })
}

pub(super) fn special(input: ParseStream) -> Result<Special> {
    let mut docs = super::docs(input)?;
    let names = punctuated(input, |input| {
        input.parse::<Token![%]>()?;
        let name = word(input)?;
        let mut count = None;
        if input.peek(Token![<]) {
            input.parse::<Token![<]>()?;
            count = Some(number(input)?);
            input.parse::<Token![>]>()?;
        }
        input.parse::<Token![=]>()?;
        let origin = word(input)?;
        Ok(SpecialName { name, count, origin })
    })?;
    describe(input, &mut docs)?;
    input.parse::<Token![:]>()?;
    let mut elements = None;
    if input.peek(syn::LitInt) {
        elements = Some(number(input)?);
        keyword(input, "of")?;
    }
    let types = punctuated(input, dotted)?;
    let mut limit = Vec::new();
    if peek_keyword(input, "limit") {
        word(input)?;
        limit = punctuated(input, number)?;
    }
    if let Some(more) = limit.get(elements.as_ref().map_or(1, |count| count.value as usize)) {
        return Err(syn::Error::new(more.span, "more limits than elements"));
    }
    let floor = super::instruction::requirement(input)?;
    Ok(Special { docs, names, elements, types, limit, floor })
}
