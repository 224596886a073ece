//! Examples: each is a legal form with operands that its syntax line takes, or is refused and says so.

use super::Form;
use crate::model::{Entry, Opcode, Operand, Pattern, Permission};
use crate::syntax::ast::{Example, ExampleOperand};
use crate::text::{Diagnostic, Errors};

pub(super) fn check(opcode: &Opcode, forms: &[Form], errors: &mut Errors) {
    for (number, entry) in opcode.entries.iter().enumerate() {
        for example in &entry.examples {
            if let Err(diagnostic) = one(opcode, number, entry, forms, example) {
                errors.push(diagnostic);
            }
        }
    }
}

fn one(opcode: &Opcode, number: usize, entry: &Entry, forms: &[Form], example: &Example) -> Result<(), Diagnostic> {
    let mut mnemonic = example.opcode.to_string();
    for modifier in &example.modifiers {
        mnemonic += &format!(".{modifier}");
    }
    if example.opcode != opcode.name {
        return Err(Diagnostic::new(example.opcode.span(), format!("this entry is about `{}`", opcode.name)));
    }
    let shaped = |form: &&Form| {
        let patterns = opcode.entries[form.entry].written(&form.patterns);
        let around = patterns.iter().map(|pattern| pattern.around);
        around.eq(example.operands.iter().map(|operand| operand.around))
    };
    let mut shapes = forms.iter().filter(|form| form.mnemonic == mnemonic);
    let form = shapes.clone().find(shaped).or_else(|| shapes.next());
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
    let patterns = entry.written(&form.patterns);
    let least = patterns.iter().filter(|pattern| !pattern.optional).count();
    if !(least..=patterns.len()).contains(&example.operands.len()) {
        return Err(Diagnostic::new(
            example.span,
            format!("`{mnemonic}` takes {} operands, here are {}", patterns.len(), example.operands.len()),
        ));
    }
    let whole = patterns.len() == example.operands.len();
    for (pattern, operand) in patterns.iter().zip(&example.operands) {
        fits(pattern, &entry.operands, operand, whole)
            .map_err(|message| Diagnostic::new(operand.span, message).help(entry.syntaxes[form.syntax].text.clone()))?;
    }
    Ok(())
}

fn fits(pattern: &Pattern, operands: &[Operand], written: &ExampleOperand, whole: bool) -> Result<(), String> {
    let name = &operands[pattern.operand].name;
    let sinks =
        [Some(&written.name), written.second.as_ref()].into_iter().flatten().filter(|text| *text == "_").count();
    if written.negated && pattern.negation == Permission::No {
        return Err(format!("`{name}` takes no `!`"));
    }
    match (&pattern.second, &written.second) {
        (None, Some(_)) => return Err(format!("`{name}` has no second destination")),
        (Some((_, Permission::No)), None) => return Err(format!("`{name}` has a second destination")),
        (Some(_), _) | (None, None) => {}
    }
    if sinks > 0 && !operands[pattern.operand].sink {
        return Err(format!("`{name}` is no destination that may be a sink"));
    }
    match (&pattern.selector, &written.selector) {
        (None, Some(selector)) => Err(format!("`{name}` takes no selector `.{selector}`")),
        (Some(pattern), Some(selector)) if pattern.spelling.omission != Permission::Yes && !whole => {
            Err(format!("`{name}` takes `.{selector}` only where all operands are written"))
        }
        (Some(pattern), None) if pattern.spelling.omission == Permission::No && whole => {
            Err(format!("`{name}` lacks its `.{}`", pattern.spelling.name))
        }
        (Some(pattern), Some(selector))
            if pattern.spelling.kind.parse(pattern.spelling.letter, selector.as_ref()).is_none() =>
        {
            Err(format!("`.{selector}` is none of `.{}`", pattern.spelling.name))
        }
        _ => Ok(()),
    }
}
