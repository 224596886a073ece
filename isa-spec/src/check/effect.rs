//! Unused operands and modifiers: operands that nothing reads, modifiers that change nothing.

use std::collections::HashMap;

use super::Form;
use crate::model::{Opcode, SlotKind};
use crate::program::{Op, Program};
use crate::text::{Diagnostic, Errors};

pub(super) fn check(opcode: &Opcode, forms: &[Form], programs: &[Program], errors: &mut Errors) {
    for number in 0..opcode.entries.len() {
        let forms: Vec<&Form> = forms.iter().filter(|form| form.entry == number && !form.programs.is_empty()).collect();
        if !forms.is_empty() {
            operands(opcode, number, &forms, programs, errors);
            modifiers(opcode, number, &forms, errors);
        }
    }
}

/// Reports operands and selectors of an entry that no form reads.
fn operands(opcode: &Opcode, number: usize, forms: &[&Form], programs: &[Program], errors: &mut Errors) {
    let entry = &opcode.entries[number];
    let mut read = vec![false; entry.operands.len()];
    let mut selected = vec![false; entry.operands.len()];
    for form in forms {
        let patterns = &form.patterns;
        for value in form.programs.iter().flat_map(|of| &programs[of.program].values) {
            match value.op {
                Op::Source(place) => read[patterns[place].operand] = true,
                Op::Selector(place) => selected[patterns[place].operand] = true,
                _ => {}
            }
        }
    }
    for pattern in entry.syntaxes.iter().flat_map(|syntax| &syntax.patterns) {
        let operand = &entry.operands[pattern.operand];
        if operand.unread && read[pattern.operand] {
            let message = format!("`{}` is marked `unread`, but the semantics read it", operand.name);
            errors.push(Diagnostic::new(operand.span, message));
        }
        if !pattern.destination && !read[pattern.operand] && !operand.unread {
            let message = format!("unused operand `{}`: the semantics never read it", operand.name);
            errors.push(
                Diagnostic::new(operand.span, message)
                    .help("read it in `semantics`, or mark it `unread` if no result depends on it"),
            );
        }
        if let Some(selector) = &pattern.selector
            && !selected[pattern.operand]
        {
            let message = format!(
                "unused selector `.{}` of operand `{}`: the semantics never read it",
                selector.spelling.name, operand.name
            );
            errors.push(Diagnostic::new(operand.span, message));
        }
    }
}

/// Reports modifiers that make no difference to any form.
fn modifiers(opcode: &Opcode, number: usize, forms: &[&Form], errors: &mut Errors) {
    let entry = &opcode.entries[number];
    let by_choice: HashMap<&[Option<usize>], &Form> =
        forms.iter().map(|form| (form.choice.values.as_slice(), *form)).collect();
    for (index, slot) in opcode.slots.iter().enumerate().filter(|(_, slot)| slot.kind == SlotKind::Flag) {
        // Pairs of forms that differ only in the presence of the modifier.
        let mut pairs = forms.iter().filter(|form| form.choice.values[index].is_some()).filter_map(|form| {
            let mut without = form.choice.values.clone();
            without[index] = None;
            let without = by_choice.get(without.as_slice())?;
            Some(form.programs == without.programs)
        });
        let Some(first) = pairs.next() else { continue };
        let changes = !first || pairs.any(|same| !same);
        let unread = entry.unread.iter().find(|(unread, _)| *unread == index);
        let items = entry.syntaxes.iter().find(|syntax| syntax.items.iter().any(|item| item.slot == index));
        match (changes, unread, items) {
            (false, None, Some(syntax)) => errors.push(
                Diagnostic::new(syntax.span, format!("modifier `.{}` has no effect in any form", slot.name))
                    .help(format!("if that is so, say it in `syntax`: `unread {{ .{} }};`", slot.name)),
            ),
            (true, Some((_, span)), _) => {
                let message = format!("forms with `.{}` compute something else than those without it", slot.name);
                errors.push(Diagnostic::new(*span, message).label("marked `unread` here"));
            }
            _ => {}
        }
    }
}
