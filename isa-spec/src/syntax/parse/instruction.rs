//! Parser of entries: everything between the braces of `instruction`.

mod example;
mod operands;

use isa_table::notation::Around;
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser, Result};
use syn::punctuated::Punctuated;
use syn::{Lit, LitStr, Token, token};

use super::{dotted, expr, keyword, members, number, once, peek_keyword, semicolon, statements, target, version, word};
use crate::syntax::ast::{
    Bound, Docs, Erratum, Ident, Instruction, LenientFloor, LenientForms, Lifetime, Modifier, OnlyIf, Pattern,
    Requirement, Semantics, Set, SetBody, SyntaxLine, Use,
};
use crate::text::Errors;
use example::example;
use operands::{fragment_of, operand_type};

const BLOCKS: [&str; 15] = [
    "use",
    "section",
    "summary",
    "also",
    "syntax",
    "operands",
    "fragments",
    "layouts",
    "legal",
    "requires",
    "semantics",
    "bound",
    "lenient",
    "erratum",
    "examples",
];

/// Item of a `syntax` block: a line or a set.
enum SyntaxItem {
    Line(SyntaxLine),
    Set(Set),
    Narrowed(OnlyIf),
    Free(Vec<Ident>),
    Unread(Vec<Ident>),
}

/// Item of a `lenient` block: a line, a floor, or forms.
enum LenientItem {
    Line(SyntaxLine),
    Floor(LenientFloor),
    Forms(LenientForms),
}

/// `cvt.pack`
pub(super) fn opcode(input: ParseStream) -> Result<Ident> {
    let mut opcode = word(input)?;
    while input.peek(Token![.]) {
        opcode = joined(&opcode, &dotted(input)?);
    }
    Ok(opcode)
}

pub(super) fn instruction(input: ParseStream, docs: Docs, errors: &mut Errors) -> Result<Instruction> {
    let opcode = opcode(input)?;
    let content;
    syn::braced!(content in input);
    let mut entry = Instruction::new(docs, opcode, content.fork().parse()?);
    blocks(&content, &mut entry, errors);
    Ok(entry)
}

/// Parses further blocks of an entry, from a template that it uses.
pub(crate) fn more_blocks(tokens: TokenStream, entry: &mut Instruction, errors: &mut Errors) {
    let parser = |input: ParseStream| {
        blocks(input, entry, errors);
        Ok(())
    };
    if let Err(error) = parser.parse2(tokens) {
        errors.push_syn(&error);
    }
}

fn blocks(input: ParseStream, entry: &mut Instruction, errors: &mut Errors) {
    let mut seen = Vec::new();
    statements(input, errors, |input, errors| block(input, entry, &mut seen, errors));
    for line in entry.syntax.iter_mut().chain(&mut entry.lenient_syntax) {
        take_opcode(&entry.opcode, &mut line.opcode, &mut line.modifiers, |modifier| match modifier.optional {
            true => None,
            false => Some(&modifier.name),
        });
    }
    for example in &mut entry.examples {
        take_opcode(&entry.opcode, &mut example.opcode, &mut example.modifiers, |word| Some(word));
    }
}

fn joined(first: &Ident, word: &Ident) -> Ident {
    Ident::new(format!("{first}.{word}"), expr::join(first.span(), word.span()))
}

/// Moves modifiers that are further words of the opcode from the list to the opcode.
fn take_opcode<T>(wanted: &Ident, opcode: &mut Ident, modifiers: &mut Vec<T>, name: impl Fn(&T) -> Option<&Ident>) {
    // Blocks of templates are parsed more than once.
    if opcode == wanted.as_ref() {
        return;
    }
    let words = wanted.as_ref().split('.').count() - 1;
    let own = modifiers.iter().take(words).map_while(&name);
    let whole = own.fold(opcode.clone(), |opcode, word| joined(&opcode, word));
    if whole == *wanted {
        *opcode = whole;
        modifiers.drain(..words);
    }
}

fn block(input: ParseStream, entry: &mut Instruction, seen: &mut Vec<String>, errors: &mut Errors) -> Result<()> {
    let name = word(input)?;
    let text = name.to_string();
    if !BLOCKS.contains(&text.as_str()) {
        let near = crate::text::nearest(&text, BLOCKS);
        let hint = near.map_or_else(|| format!("one of {}", BLOCKS.join(", ")), |near| format!("`{near}`"));
        return Err(syn::Error::new(name.span(), format!("unknown block `{text}` of an entry; expected {hint}")));
    }
    if text == "use" {
        entry.uses.push(template_use(input)?);
        return semicolon(input);
    }
    if text != "erratum" {
        once(seen, &name, errors);
    }
    if text == "section" {
        entry.section = Some(section(input)?);
        semicolon(input)?;
        return Ok(());
    }
    if text == "summary" {
        let text = input.parse::<LitStr>()?;
        entry.summary = Some((text.value(), text.span()));
        return semicolon(input);
    }
    if text == "also" {
        let phrases = Punctuated::<LitStr, Token![,]>::parse_separated_nonempty(input)?;
        entry.also.extend(phrases.iter().map(|phrase| (phrase.value(), phrase.span())));
        return semicolon(input);
    }
    if text == "semantics" && peek_keyword(input, "none") {
        word(input)?;
        let why = if input.peek(LitStr) { input.parse::<LitStr>()?.value() } else { String::new() };
        entry.semantics = Some(Semantics::None(why));
        return semicolon(input);
    }
    let content;
    syn::braced!(content in input);
    match text.as_str() {
        "syntax" => {
            for item in statements(&content, errors, |input, _| syntax_item(input)) {
                match item {
                    SyntaxItem::Line(line) => entry.syntax.push(line),
                    SyntaxItem::Set(set) => entry.sets.push(set),
                    SyntaxItem::Narrowed(rule) => entry.narrowed.push(rule),
                    SyntaxItem::Free(names) => entry.free.extend(names),
                    SyntaxItem::Unread(names) => entry.unread.extend(names),
                }
            }
        }
        "operands" => entry.operands.extend(statements(&content, errors, |input, _| operand_type(input))),
        "fragments" => entry.fragments.extend(statements(&content, errors, |input, _| fragment_of(input))),
        "layouts" => entry.layouts.extend(statements(&content, errors, |input, _| fragment_of(input))),
        "legal" => entry.legal.extend(statements(&content, errors, |input, _| only_if(input))),
        "requires" => entry.requires.extend(statements(&content, errors, |input, _| requirement(input))),
        "semantics" => {
            let list = statements(&content, errors, |input, errors| expr::statement(input, errors, 0));
            match &mut entry.semantics {
                Some(Semantics::Statements(before)) => before.extend(list),
                semantics => *semantics = Some(Semantics::Statements(list)),
            }
        }
        "bound" => entry.bounds.extend(statements(&content, errors, |input, _| bound(input))),
        "lenient" => {
            for item in statements(&content, errors, |input, _| lenient_item(input)) {
                match item {
                    LenientItem::Line(line) => entry.lenient_syntax.push(line),
                    LenientItem::Floor(floor) => entry.lenient_floors.push(floor),
                    LenientItem::Forms(forms) => entry.lenient_forms.push(forms),
                }
            }
        }
        "erratum" => match erratum(&content) {
            Ok(erratum) => entry.errata.push(erratum),
            // The block is complete; recovery continues after it.
            Err(error) => errors.push_syn(&error),
        },
        _ => entry.examples.extend(statements(&content, errors, |input, _| example(input))),
    }
    Ok(())
}

/// `binary(x + y, { .f16, .f16x2 })` after `use`; semicolons separate arguments that contain commas
fn template_use(input: ParseStream) -> Result<Use> {
    let name = word(input)?;
    let mut args = Vec::new();
    if input.peek(token::Paren) {
        let content;
        syn::parenthesized!(content in input);
        let is = |token: &TokenTree, mark: char| matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark);
        let tokens: Vec<TokenTree> = content.parse::<TokenStream>()?.into_iter().collect();
        let mark = if tokens.iter().any(|token| is(token, ';')) { ';' } else { ',' };
        args.extend(tokens.split(|token| is(token, mark)).map(|arg| arg.iter().cloned().collect::<TokenStream>()));
        // A separator may follow the last argument.
        args.pop_if(|last| last.is_empty());
    }
    Ok(Use { name, args })
}

/// `9.7.6.1` lexes as two floats and dots: keep the source text.
pub(super) fn section(input: ParseStream) -> Result<(String, Span)> {
    let mut text = String::new();
    let span = input.span();
    while input.peek(syn::LitInt) || input.peek(syn::LitFloat) || input.peek(Token![.]) {
        text += &input.parse::<TokenTree>()?.to_string();
    }
    let plain = text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    if !plain {
        return Err(syn::Error::new(span, "expected a section like `9.7.6.1`"));
    }
    Ok((text, span))
}

/// `ulps 2;`, `.type == .f16: relative "2^-9.9";`
fn bound(input: ParseStream) -> Result<Bound> {
    let measure_follows = input.peek(syn::Ident) && input.peek2(Lit);
    let mut condition = None;
    if !measure_follows {
        condition = Some(expr::expr(input)?);
        input.parse::<Token![:]>()?;
    }
    let measure = word(input)?;
    let literal = input.parse::<Lit>()?;
    let value = match &literal {
        Lit::Int(number) => number.to_string(),
        Lit::Str(text) => text.value(),
        _ => String::new(),
    };
    let amount = match value.strip_prefix("2^") {
        Some(exponent) => exponent.parse().map(f64::exp2),
        None => value.parse(),
    };
    let Some(amount) = amount.ok().filter(|amount| *amount > 0.0) else {
        let message = "a bound is a number of ulps, or a power like `\"2^-22.5\"`";
        return Err(syn::Error::new(literal.span(), message));
    };
    semicolon(input)?;
    Ok(Bound { condition, measure, value, amount })
}

fn syntax_item(input: ParseStream) -> Result<SyntaxItem> {
    if input.peek(Token![where]) {
        input.parse::<Token![where]>()?;
        return only_if(input).map(SyntaxItem::Narrowed);
    }
    let says = |what: &str| peek_keyword(input, what) && input.peek2(token::Brace) && !optional_modifier_follows(input);
    if says("free") || says("unread") {
        let free = word(input)? == "free";
        let names = members(input)?;
        semicolon(input)?;
        return Ok(if free { SyntaxItem::Free(names) } else { SyntaxItem::Unread(names) });
    }
    if input.peek(Token![.]) { set(input).map(SyntaxItem::Set) } else { line(input).map(SyntaxItem::Line) }
}

/// Returns true if an instruction named `free` with an optional modifier follows: `free{.x} a;`.
fn optional_modifier_follows(input: ParseStream) -> bool {
    let fork = input.fork();
    word(&fork).is_ok() && fork.parse::<TokenTree>().is_ok() && !fork.peek(Token![;])
}

fn line(input: ParseStream) -> Result<SyntaxLine> {
    let docs = super::docs(input)?;
    let opcode = word(input)?;
    let mut modifiers = Vec::new();
    loop {
        if input.peek(Token![.]) {
            modifiers.push(Modifier { name: dotted(input)?, optional: false });
        } else if input.peek(token::Brace) && modifier_follows(input) {
            let content;
            syn::braced!(content in input);
            modifiers.push(Modifier { name: dotted(&content)?, optional: true });
            if !content.is_empty() {
                return Err(content.error("expected `}` after an optional modifier"));
            }
        } else {
            break;
        }
    }
    let mut operands = if input.peek(Token![;]) || input.peek(Token![where]) { Vec::new() } else { patterns(input)? };
    loop {
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
            operands.extend(patterns(input)?);
        } else if input.peek(token::Brace) {
            let content;
            syn::braced!(content in input);
            content.parse::<Token![,]>()?;
            operands.extend(patterns(&content)?.into_iter().map(|pattern| Pattern { optional: true, ..pattern }));
        } else {
            break;
        }
    }
    let mut condition = None;
    if input.peek(Token![where]) {
        input.parse::<Token![where]>()?;
        condition = Some(expr::expr(input)?);
    }
    semicolon(input)?;
    Ok(SyntaxLine { docs, opcode, modifiers, operands, condition })
}

/// Returns true if braces contain a modifier: `{.ftz}`.
fn modifier_follows(input: ParseStream) -> bool {
    let fork = input.fork();
    let Ok(TokenTree::Group(group)) = fork.parse::<TokenTree>() else { return false };
    let parts = group.stream().into_iter().any(|token| token.to_string() == ",");
    // A single word without a dot is a misspelled modifier, or a vector of one element if operands follow or end.
    let element = fork.peek(Token![,]) || fork.peek(Token![;]);
    !(parts || element) || group.stream().to_string().starts_with('.')
}

/// Parses an operand, the elements of a vector, `{a, b}`, or a bracketed group, `[a, b]`.
fn patterns(input: ParseStream) -> Result<Vec<Pattern>> {
    if input.peek(token::Bracket) {
        let content;
        syn::bracketed!(content in input);
        let mut list = patterns(&content)?;
        while !content.is_empty() {
            content.parse::<Token![,]>()?;
            list.extend(patterns(&content)?);
        }
        if let Some(first) = list.first_mut() {
            first.around.opens_bracket = true;
        }
        if let Some(last) = list.last_mut() {
            last.around.closes_bracket = true;
            if last.selector.is_none() {
                last.selector = selector(input)?;
            }
        }
        return Ok(list);
    }
    if !input.peek(token::Brace) || negation_follows(input) {
        return Ok(vec![pattern(input)?]);
    }
    let content;
    syn::braced!(content in input);
    let mut list: Vec<Pattern> = content.parse_terminated(pattern, Token![,])?.into_iter().collect();
    match list.as_mut_slice() {
        [] => return Err(content.error("a vector has an element at least")),
        [only] => (only.around.opens, only.around.closes) = (true, true),
        [first, .., last] => (first.around.opens, last.around.closes) = (true, true),
    }
    Ok(list)
}

fn negation_follows(input: ParseStream) -> bool {
    let fork = input.fork();
    matches!(fork.parse::<TokenTree>(), Ok(TokenTree::Group(group)) if group.stream().to_string() == "!")
}

fn pattern(input: ParseStream) -> Result<Pattern> {
    let around = Around { minus: input.parse::<Option<Token![-]>>()?.is_some(), ..Around::default() };
    let negatable = input.peek(token::Brace) && negation_follows(input);
    if negatable {
        input.parse::<TokenTree>()?;
    }
    let name = word(input)?;
    let mut pattern = Pattern { name, negatable, second: None, selector: None, optional: false, around };
    if input.peek(Token![|]) {
        input.parse::<Token![|]>()?;
        pattern.second = Some((word(input)?, false));
    } else if input.peek(token::Bracket) {
        let content;
        syn::bracketed!(content in input);
        content.parse::<Token![|]>()?;
        pattern.second = Some((word(&content)?, true));
    } else {
        pattern.selector = selector(input)?;
    }
    Ok(pattern)
}

/// Parses the selector of an operand, and whether it is optional: `{.mask}`, `.mask`.
fn selector(input: ParseStream) -> Result<Option<(Ident, bool)>> {
    if input.peek(token::Brace) && modifier_follows(input) {
        let content;
        syn::braced!(content in input);
        return Ok(Some((dotted(&content)?, true)));
    }
    Ok(if input.peek(Token![.]) { Some((dotted(input)?, false)) } else { None })
}

fn set(input: ParseStream) -> Result<Set> {
    let name = dotted(input)?;
    let body = set_body(input)?;
    Ok(Set { name, body })
}

/// Parses the definition after the name of a set, with the semicolon.
pub(super) fn set_body(input: ParseStream) -> Result<SetBody> {
    input.parse::<Token![=]>()?;
    let body = if input.peek(token::Brace) {
        SetBody::Listed { operator: None, members: members(input)? }
    } else {
        let word = word(input)?;
        match word.to_string().as_str() {
            "lanes" => {
                let letter = dotted(input)?;
                let lanes = number(input)?;
                keyword(input, "of")?;
                let of = number(input)?;
                SetBody::Lanes { letter, lanes, of, default: default(input)? }
            }
            "subset" => {
                let letter = dotted(input)?;
                keyword(input, "of")?;
                let of = number(input)?;
                SetBody::Subset { letter, of, default: default(input)? }
            }
            _ if input.peek(Token![;]) => SetBody::Named(word),
            _ => SetBody::Listed { operator: Some(word), members: members(input)? },
        }
    };
    semicolon(input)?;
    Ok(body)
}

fn default(input: ParseStream) -> Result<Ident> {
    keyword(input, "default")?;
    dotted(input)
}

fn only_if(input: ParseStream) -> Result<OnlyIf> {
    let subject = expr::expr(input)?;
    keyword(input, "only")?;
    input.parse::<Token![if]>()?;
    let condition = expr::expr(input)?;
    let span = expr::join(subject.span, condition.span);
    semicolon(input)?;
    Ok(OnlyIf { subject, condition, span })
}

pub(super) fn requirement(input: ParseStream) -> Result<Requirement> {
    let mut requirement = no_floor(input.span());
    let floor_follows = |input: ParseStream| {
        peek_keyword(input, "ptx") || peek_keyword(input, "removed") || input.fork().call(target).is_ok()
    };
    if !floor_follows(input) {
        let condition = expr::expr(input)?;
        requirement.span = condition.span;
        requirement.condition = Some(condition);
        input.parse::<Token![:]>()?;
    }
    if peek_keyword(input, "removed") {
        word(input)?;
        requirement.removed = true;
    }
    floor(input, &mut requirement)?;
    semicolon(input)?;
    Ok(requirement)
}

/// `ptx 1.0, sm_10;`, `ptx 1.0, sm_10 removed ptx 3.0, sm_10;`: the lifetime of a directive or of a part of a declaration.
pub(super) fn lifetime(input: ParseStream) -> Result<Lifetime> {
    let mut from = no_floor(input.span());
    floor(input, &mut from)?;
    let mut removed = None;
    if peek_keyword(input, "removed") {
        let mut requirement = Requirement { removed: true, ..no_floor(word(input)?.span()) };
        floor(input, &mut requirement)?;
        removed = Some(requirement);
    }
    semicolon(input)?;
    Ok(Lifetime { from, removed })
}

fn no_floor(span: Span) -> Requirement {
    Requirement { span, condition: None, removed: false, ptx: None, targets: Vec::new() }
}

/// `ptx 7.8, sm_90`, `sm_100a | sm_110a`: one or both.
fn floor(input: ParseStream, requirement: &mut Requirement) -> Result<()> {
    loop {
        if peek_keyword(input, "ptx") {
            word(input)?;
            requirement.ptx = Some(version(input)?);
        } else {
            requirement.targets = vec![target(input)?];
            while input.peek(Token![|]) {
                input.parse::<Token![|]>()?;
                requirement.targets.push(target(input)?);
            }
        }
        if !input.peek(Token![,]) {
            return Ok(());
        }
        input.parse::<Token![,]>()?;
    }
}

fn lenient_item(input: ParseStream) -> Result<LenientItem> {
    let docs = super::docs(input)?;
    if peek_keyword(input, "forms") && input.peek2(Token![where]) {
        let span = word(input)?.span();
        input.parse::<Token![where]>()?;
        let condition = expr::expr(input)?;
        semicolon(input)?;
        return Ok(LenientItem::Forms(LenientForms { docs, span, condition }));
    }
    // A line begins with a word and a modifier; a floor begins with a dot or contains a colon.
    let fork = input.fork();
    if word(&fork).is_ok() && (fork.peek(Token![.]) || fork.peek(token::Brace)) {
        return Ok(LenientItem::Line(SyntaxLine { docs, ..line(input)? }));
    }
    Ok(LenientItem::Floor(LenientFloor { docs, requirement: requirement(input)? }))
}

fn erratum(input: ParseStream) -> Result<Erratum> {
    let docs = super::docs(input)?;
    keyword(input, "manual")?;
    let manual: LitStr = input.parse()?;
    semicolon(input)?;
    let compiled = peek_keyword(input, "compiled");
    keyword(input, if compiled { "compiled" } else { "machine" })?;
    let machine: LitStr = input.parse()?;
    semicolon(input)?;
    Ok(Erratum { docs, manual: manual.value(), machine: machine.value(), compiled })
}
