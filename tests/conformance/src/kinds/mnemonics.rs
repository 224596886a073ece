//! Every mnemonic: all types, operators and flags in all slots, legal or not, with every way to write operands.

use ptx_isa::TABLE;
use ptx_isa::table::InstructionInfo;

use super::{Batch, Extent, newest};
use crate::forms::{Shape, Typed, choices, free, register_type, shapes};
use crate::random::Random;

pub(crate) fn batches(extent: &Extent, take: &mut dyn FnMut(Batch)) {
    let context = newest();
    for instruction in TABLE.instructions() {
        let mut lines = Vec::new();
        let shapes = shapes(instruction);
        let choices = choices(instruction);
        let spelt = choices.iter().fold(1_usize, |all, list| all.saturating_mul(list.len()));
        let ways = if extent.quick { 4 } else { 12 };
        let (step, mut turn) = (shapes.len().div_ceil(ways).max(1), 0);
        let mut add = |values: &[Option<&'static str>]| {
            // Of many ways to write operands each mnemonic is tried with some, the next one with others.
            turn += 1;
            let some = shapes.iter().skip(turn % step).step_by(step);
            lines.extend(some.map(|shape| line(instruction, values, shape)));
        };
        // An opcode that spells millions is asked for all that is legal and some of what is not.
        let most = if extent.quick { 1_000 } else { 100_000 } / shapes.len().max(1);
        if spelt <= most.max(20_000) {
            let (step, mut count) = (if extent.quick { (spelt / most).max(8) } else { 1 }, extent.seed as usize);
            each(&choices, &mut Vec::new(), &mut |values| {
                count += 1;
                if count.is_multiple_of(step) || TABLE.form(&mnemonic(instruction, values)).is_some() {
                    add(values);
                }
            });
        } else {
            let mut random = Random::new(extent.seed);
            // Each form, and where modifiers are free some choices of them.
            let rounds = if instruction.syntaxes().iter().any(|syntax| syntax.free) { 4 } else { 1 };
            for form in instruction.forms() {
                for _ in 0..rounds {
                    let values = free(form, &mut random).map_or(form.values().to_vec(), |free| form.values_with(&free));
                    let slots = instruction.data().slots.iter().zip(values);
                    add(&slots.map(|(slot, value)| slot.members.get(usize::from(value)).copied()).collect::<Vec<_>>());
                }
            }
            for _ in 0..most {
                // Only few modifiers can be combined, so most slots stay empty.
                let some = |list: &Vec<Option<&'static str>>, random: &mut Random| match random.one_in(2) {
                    true => *random.of(list),
                    false => None,
                };
                add(&choices.iter().map(|list| some(list, &mut random)).collect::<Vec<_>>());
            }
        }
        take(Batch { context: context.clone(), lines });
    }
}

fn each(
    choices: &[Vec<Option<&'static str>>],
    values: &mut Vec<Option<&'static str>>,
    visit: &mut dyn FnMut(&[Option<&'static str>]),
) {
    let Some((first, rest)) = choices.split_first() else { return visit(values) };
    for choice in first {
        values.push(*choice);
        each(rest, values, visit);
        values.pop();
    }
}

fn mnemonic(instruction: InstructionInfo, values: &[Option<&'static str>]) -> String {
    let mut text = instruction.opcode.to_owned();
    values.iter().flatten().for_each(|value| text.extend([".", value]));
    text
}

fn line(instruction: InstructionInfo, values: &[Option<&'static str>], shape: &Shape) -> String {
    let mut text = mnemonic(instruction, values);
    for (index, typed) in shape.operands.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let around = shape.around[index];
        let ty = match typed {
            Typed::Text(written) => {
                text.push_str(&format!("{comma} {}{written}{}", around.before(), around.behind()));
                continue;
            }
            Typed::Slot(slot) => values[*slot].and_then(|name| TABLE.type_named(name)),
            Typed::Always(ty) => Some(*ty),
        };
        let name = ty.and_then(register_type).map_or("b32", |ty| TABLE.types[ty.index()].name);
        let index = index % crate::context::REGISTERS;
        text.push_str(&format!("{comma} {}{name}_{index}", around.before()));
        if let Some(second) = shape.second.filter(|_| index == 0) {
            let second = register_type(second).map_or("b32", |ty| TABLE.types[ty.index()].name);
            text.push_str(&format!("|{second}_3"));
        }
        text.push_str(around.behind());
    }
    text.push(';');
    text
}
