//! Uniqueness of the names of generated items.

use std::collections::HashMap;

use isa_table::names::{camel, constant, function};
use proc_macro2::Span;

use super::Form;
use crate::model::Model;
use crate::text::{Diagnostic, Errors};

/// Types that every generated table defines.
const OWN: [&str; 4] = ["Form", "Instruction", "Opcode", "ScalarType"];

pub(super) fn check(model: &Model, forms: &[Form], errors: &mut Errors) {
    let mut types: HashMap<String, (String, Option<Span>)> =
        OWN.iter().map(|name| ((*name).to_owned(), ("of every table".to_owned(), None))).collect();
    let operators = model.operators.iter().map(|operator| (&operator.name, "operator", operator.span));
    let opcodes = model.opcodes.iter().map(|opcode| (&opcode.name, "opcode", opcode.entries[0].span));
    for (name, what, span) in operators.chain(opcodes) {
        let called = format!("of the {what} `{name}`");
        match types.get(&camel(name)) {
            Some((other, place)) => {
                let message = format!("`{}` would be two types: {other} and {called}", camel(name));
                let diagnostic = Diagnostic::new(span, message);
                errors.push(match place {
                    Some(place) => diagnostic.also(*place, "the other one"),
                    None => diagnostic,
                });
            }
            None => drop(types.insert(camel(name), (called, Some(span)))),
        }
    }
    for opcode in &model.opcodes {
        let mut summaries = opcode.entries.iter().filter_map(|entry| entry.summary.as_ref());
        if let (Some((_, first)), Some((_, second))) = (summaries.next(), summaries.next()) {
            let message = format!("duplicate summary of the opcode `{}`", opcode.name);
            errors.push(
                Diagnostic::new(*second, message)
                    .also(*first, "the first one")
                    .help("one entry gives the summary for all of them"),
            );
        }
    }
    let mut functions: HashMap<String, &Form> = HashMap::new();
    let mut constants: HashMap<(usize, String), &Form> = HashMap::new();
    for form in forms {
        let span = || model.opcodes[form.opcode].entries[form.entry].syntaxes[form.syntax].span;
        let mut taken = |other: Option<&Form>| {
            if let Some(other) = other {
                let message = format!("`{}` and `{}` would have one name in Rust", other.mnemonic, form.mnemonic);
                errors.push(Diagnostic::new(span(), message));
            }
        };
        taken(functions.insert(function(&form.name), form));
        taken(constants.insert((form.opcode, constant(&form.name)), form));
    }
}
