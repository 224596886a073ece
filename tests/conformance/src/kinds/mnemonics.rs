//! Every mnemonic: all types, operators and flags in all slots, legal or not, with every way to write operands.

use ptx_isa::TABLE;
use ptx_isa::table::InstructionInfo;

use super::{Batch, Extent, newest};
use crate::forms::{Shape, Typed, choices, register_type, shapes};

pub(crate) fn batches(extent: &Extent, take: &mut dyn FnMut(Batch)) {
    let context = newest();
    for instruction in TABLE.instructions() {
        let mut lines = Vec::new();
        let shapes = shapes(instruction);
        let mut count = extent.seed as usize;
        let choices = choices(instruction);
        let spelt = choices.iter().fold(shapes.len(), |all, list| all.saturating_mul(list.len()));
        // An opcode that spells millions is asked for some of what is illegal.
        let step = if extent.quick { (spelt / 5_000).max(8) } else { (spelt / 500_000).max(1) };
        each(&choices, &mut Vec::new(), &mut |values| {
            count += 1;
            if !count.is_multiple_of(step) && TABLE.form(&mnemonic(instruction, values)).is_none() {
                return;
            }
            lines.extend(shapes.iter().map(|shape| line(instruction, values, shape)));
        });
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
        let ty = match typed {
            Typed::Slot(slot) => values[*slot].and_then(|name| TABLE.type_named(name)),
            Typed::Always(ty) => Some(*ty),
        };
        let name = ty.and_then(register_type).map_or("b32", |ty| TABLE.types[ty.index()].name);
        let comma = if index == 0 { "" } else { "," };
        text.push_str(&format!("{comma} {name}_{index}"));
        if index == 0 && shape.second {
            text.push_str(&format!("|{name}_3"));
        }
    }
    text.push(';');
    text
}
