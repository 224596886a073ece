//! Expansion of templates with the arguments of an entry.

use proc_macro2::{Group, Span, TokenStream, TokenTree};

use super::Named;
use crate::syntax::ast::{Instruction, Template, Use};
use crate::syntax::more_blocks;
use crate::text::{Diagnostic, Errors};

/// Maximum nesting depth of templates.
const DEPTH: usize = 8;

/// Implicit parameter of every template: the opcode of the entry that uses it.
const OPCODE: &str = "opcode";

/// Prepends the blocks of the templates that an entry uses to its own.
pub(super) fn fill(entry: &mut Instruction, named: &Named, errors: &mut Errors) {
    let Some(first) = entry.uses.first() else { return };
    let place = first.name.span();
    let mut whole = Instruction::new(std::mem::take(&mut entry.docs), entry.opcode.clone(), TokenStream::new());
    for template_use in &entry.uses {
        add(&mut whole, template_use, named, 0, errors);
    }
    whole.uses.clear();
    let section = whole.section.take();
    // Errors in its own blocks were reported when they were first read.
    more_blocks(std::mem::take(&mut entry.body), &mut whole, &mut Errors::new());
    whole.section = whole.section.or(section);
    whole.from_template = Some(place);
    *entry = whole;
}

fn add(entry: &mut Instruction, of: &Use, named: &Named, depth: usize, errors: &mut Errors) {
    let Some(template) = named.templates.get(of.name.as_ref()) else {
        let message = format!("unknown template `{}`", of.name);
        let names = named.templates.keys().map(String::as_str);
        errors.push(Diagnostic::new(of.name.span(), message).suggest(of.name.as_ref(), names));
        return;
    };
    if named.apart.contains(of.name.as_ref()) {
        let message = format!("the template `{}` of the library cannot be used in a macro", of.name);
        errors.push(Diagnostic::new(of.name.span(), message).help("write the entry in a file of its own"));
        return;
    }
    if depth == DEPTH {
        errors.push(Diagnostic::new(of.name.span(), "templates use each other too deeply"));
        return;
    }
    if template.params.len() != of.args.len() {
        let message = format!("`{}` takes {} arguments, not {}", of.name, template.params.len(), of.args.len());
        errors.push(Diagnostic::new(of.name.span(), message).also(template.name.span(), "the template"));
        return;
    }
    let before = errors.len();
    let tokens = filled(template.body.clone(), template, of, entry.opcode.as_ref(), errors);
    let uses = std::mem::take(&mut entry.uses);
    // Blocks of templates used by this template precede its own.
    let mut own = Instruction::new(String::new(), entry.opcode.clone(), TokenStream::new());
    more_blocks(tokens.clone(), &mut own, &mut Errors::new());
    for inner in &own.uses {
        add(entry, inner, named, depth + 1, errors);
    }
    more_blocks(tokens, entry, errors);
    entry.uses = uses;
    errors.note_from(before, of.name.span(), &format!("as `{}` uses the template", entry.opcode));
    if !template.docs.is_empty() {
        entry.docs += if entry.docs.is_empty() { "" } else { "\n\n" };
        entry.docs += &template.docs;
    }
}

/// Tokens of a template with arguments substituted for parameters.
fn filled(tokens: TokenStream, template: &Template, of: &Use, opcode: &str, errors: &mut Errors) -> TokenStream {
    let mut out = TokenStream::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let inner = filled(group.stream(), template, of, opcode, errors);
                let mut filled = Group::new(group.delimiter(), inner);
                filled.set_span(group.span());
                out.extend([TokenTree::Group(filled)]);
            }
            TokenTree::Punct(punct) if punct.as_char() == '$' => {
                let Some(name) = tokens.next() else { break };
                let found = template.params.iter().position(|param| *param == name.to_string());
                match found {
                    Some(number) => out.extend(of.args[number].clone()),
                    None if name.to_string() == OPCODE => out.extend(words(opcode, name.span())),
                    None => {
                        let message = format!("the template `{}` has no parameter `${name}`", template.name);
                        let known = template.params.iter().map(AsRef::as_ref).chain([OPCODE]);
                        errors.push(Diagnostic::new(name.span(), message).suggest(&name.to_string(), known));
                    }
                }
            }
            other => out.extend([other]),
        }
    }
    out
}

/// Tokens of an opcode, with a given span.
fn words(opcode: &str, span: Span) -> TokenStream {
    let tokens: TokenStream = opcode.parse().expect("an opcode lexes");
    let placed = tokens.into_iter().map(|mut token| {
        token.set_span(span);
        token
    });
    placed.collect()
}
