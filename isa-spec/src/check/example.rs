//! Examples: each is a legal form with operands that its syntax line takes, or is refused and says so.

use super::{ABSENT, Form, Rule};
use crate::model::{Item, Opcode, Operand, OperandKind, Pattern, Permission, SelectorBuf, Slot};
use crate::syntax::ast::{Example, ExampleOperand};
use crate::text::{Diagnostic, Errors};

pub(super) fn check(opcode: &Opcode, forms: &[Form], rules: &[Rule], errors: &mut Errors) {
    for (number, entry) in opcode.entries.iter().enumerate() {
        for example in &entry.examples {
            if let Err(diagnostic) = one(opcode, number, forms, rules, example) {
                errors.push(diagnostic);
            }
        }
    }
}

fn one(opcode: &Opcode, number: usize, forms: &[Form], rules: &[Rule], example: &Example) -> Result<(), Diagnostic> {
    let entry = &opcode.entries[number];
    let mut mnemonic = example.opcode.to_string();
    for modifier in &example.modifiers {
        mnemonic += &format!(".{modifier}");
    }
    if example.opcode != opcode.name {
        return Err(Diagnostic::new(example.opcode.span(), format!("this entry is about `{}`", opcode.name)));
    }
    // Free modifiers are no part of a form: an example has them where its words say so.
    let bare = without_free(opcode, example);
    let shaped = |form: &&Form| {
        let patterns = opcode.entries[form.entry].written(&form.patterns);
        let operands = spread(patterns, &example.operands);
        let around = operands.iter().map(|operand| operand.around);
        let least = patterns.iter().filter(|pattern| !pattern.optional).count();
        let vector = |pattern: &Pattern| {
            let cases = &opcode.entries[form.entry].operands[pattern.operand].cases;
            cases.iter().any(|case| matches!(case.kind, OperandKind::Vector(_)))
        };
        let vectors =
            operands.iter().zip(patterns).all(|(operand, pattern)| operand.elements.is_empty() || vector(pattern));
        (least..=patterns.len()).contains(&operands.len())
            && vectors
            && around.eq(patterns[..operands.len()].iter().map(|pattern| pattern.around))
    };
    let mut shapes = forms.iter().filter(|form| form.mnemonic == mnemonic || form.mnemonic == bare);
    // Of forms of one mnemonic that is meant with whose operands it is written, and which its free modifiers go with.
    let goes = |form: &&Form| refusal(opcode, form, rules, example).is_none();
    let legal = shapes.clone().find(|form| shaped(form) && goes(form)).or_else(|| shapes.clone().find(goes));
    let spelt = shapes.clone().find(shaped).or_else(|| shapes.next());
    if let (None, Some(form), false) = (legal, spelt, example.refused) {
        let why = refusal(opcode, form, rules, example).unwrap_or_default();
        return Err(Diagnostic::new(example.span, format!("`{mnemonic}` is not legal: {why}")));
    }
    let form = legal;
    match (form, example.refused) {
        (None, true) => return Ok(()),
        (Some(_), true) => {
            return Err(Diagnostic::new(example.span, format!("`{mnemonic}` is said to be refused, but it is legal")));
        }
        (None, false) => {
            return Err(Diagnostic::new(example.span, format!("`{mnemonic}` is no legal form"))
                .suggest(&mnemonic, forms.iter().map(|form| form.mnemonic.as_str())));
        }
        (Some(_), false) => {}
    }
    let Some(form) = form.filter(|form| form.entry == number) else {
        return Err(Diagnostic::new(example.span, "another entry of this opcode describes this form"));
    };
    let written = || format!("it is written `{}`", entry.syntaxes[form.syntax].text);
    let patterns = entry.written(&form.patterns);
    let least = patterns.iter().filter(|pattern| !pattern.optional).count();
    let operands = spread(patterns, &example.operands);
    if !(least..=patterns.len()).contains(&operands.len()) {
        let message = format!("`{mnemonic}` takes {} operands, here are {}", patterns.len(), operands.len());
        return Err(Diagnostic::new(example.span, message).help(written()));
    }
    let whole = patterns.len() == operands.len();
    for (pattern, operand) in patterns.iter().zip(&operands) {
        fits(pattern, &entry.operands, operand, whole)
            .map_err(|message| Diagnostic::new(operand.span, message).help(written()))?;
    }
    Ok(())
}

/// Why the free modifiers of an example do not go with a form whose mnemonic it has, if they do not.
fn refusal(opcode: &Opcode, form: &Form, rules: &[Rule], example: &Example) -> Option<String> {
    let items = &opcode.entries[form.entry].syntaxes[form.syntax].items;
    let spelling = |slot: usize, member: usize| opcode.slots[slot].members[member].spelling.as_str();
    let mut values = form.choice.values.clone();
    let mut words: Vec<&str> = example.modifiers.iter().map(AsRef::as_ref).collect();
    // What stands in the places of the form itself is no free modifier.
    for item in items.iter().filter(|item| !opcode.slots[item.slot].free) {
        let own = values[item.slot].map(|member| spelling(item.slot, member));
        if let Some(place) = own.and_then(|own| words.iter().position(|word| *word == own)) {
            words.remove(place);
        }
    }
    for word in words {
        let takes = |item: &&Item| {
            let member = item.members.iter().copied().find(|member| spelling(item.slot, *member) == word);
            (opcode.slots[item.slot].free && values[item.slot].is_none()).then_some((item.slot, member?))
        };
        match items.iter().find_map(|item| takes(&item)) {
            Some((slot, member)) => values[slot] = Some(member),
            None => return Some(format!("there is no place for `.{word}`")),
        }
    }
    let missing = items.iter().find(|item| !item.optional && values[item.slot].is_none());
    if let Some(item) = missing {
        return Some(format!("it lacks its `.{}`", opcode.slots[item.slot].name));
    }
    let holds = |(slot, allowed): &(usize, u64)| allowed >> values[*slot].unwrap_or(ABSENT.into()) & 1 == 1;
    let refuses = |rule: &&Rule| rule.decides == Some(form.entry) && rule.forbids.iter().all(holds);
    rules.iter().find(refuses).map(|rule| rule.reason.clone())
}

/// The mnemonic of an example without free modifiers.
fn without_free(opcode: &Opcode, example: &Example) -> String {
    let free = |word: &str| {
        let spelt = |slot: &&Slot| slot.members.iter().any(|member| member.spelling == word);
        opcode.slots.iter().find(spelt).is_some_and(|slot| slot.free)
    };
    let words = example.modifiers.iter().filter(|word| !free(word.as_ref()));
    words.fold(example.opcode.to_string(), |mnemonic, word| format!("{mnemonic}.{word}"))
}

/// The operands of an example, those in braces apart where each is an operand of its own.
fn spread(patterns: &[Pattern], written: &[ExampleOperand]) -> Vec<ExampleOperand> {
    let mut list: Vec<ExampleOperand> = Vec::new();
    for operand in written {
        let apart = patterns.get(list.len()).is_some_and(|pattern| pattern.around.opens) || patterns.is_empty();
        if operand.elements.is_empty() || !apart {
            list.push(operand.clone());
            continue;
        }
        let last = operand.elements.len() - 1;
        list.extend(operand.elements.iter().cloned().enumerate().map(|(index, mut element)| {
            element.around.opens = index == 0;
            element.around.closes = index == last;
            element
        }));
    }
    list
}

fn fits(pattern: &Pattern, operands: &[Operand], written: &ExampleOperand, whole: bool) -> Result<(), String> {
    let name = &operands[pattern.operand].name;
    if !written.elements.is_empty() {
        return Ok(());
    }
    let sinks =
        [Some(&written.name), written.second.as_ref()].into_iter().flatten().filter(|text| *text == "_").count();
    if written.negated && pattern.negation == Permission::No {
        return Err(format!("the operand `{name}` takes no `!`"));
    }
    match (&pattern.second, &written.second) {
        (None, Some(_)) => return Err(format!("the operand `{name}` has no second destination")),
        (Some((_, Permission::No)), None) => return Err(format!("the operand `{name}` has a second destination")),
        (Some(_), _) | (None, None) => {}
    }
    if sinks > 0 && !operands[pattern.operand].sink {
        return Err(format!("the operand `{name}` is no destination that may be a sink"));
    }
    match (&pattern.selector, &written.selector) {
        (None, Some(selector)) => Err(format!("the operand `{name}` takes no selector `.{selector}`")),
        (Some(pattern), Some(selector)) if pattern.spelling.omission != Permission::Yes && !whole => {
            Err(format!("the operand `{name}` takes `.{selector}` only where all operands are written"))
        }
        (Some(pattern), None) if pattern.spelling.omission == Permission::No && whole => {
            Err(format!("the operand `{name}` lacks its `.{}`", pattern.spelling.name))
        }
        (Some(pattern), Some(selector))
            if pattern.spelling.kind.parse(pattern.spelling.letter, selector.as_ref()).is_none() =>
        {
            let SelectorBuf { name, kind, letter, .. } = &pattern.spelling;
            Err(format!("`.{selector}` is none of `.{name}`: {}", kind.describe(*letter)))
        }
        _ => Ok(()),
    }
}
