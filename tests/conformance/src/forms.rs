//! What of the table the kinds of lines are made from: the slots of an opcode, how its operands depend on them, and
//! forms that stand for many.

use std::collections::HashSet;

use ptx_isa::TABLE;
use ptx_isa::table::{ABSENT, FormInfo, Instruction, Kind, ModifierId, Operand, TypeId};

use crate::context::declarable;

pub(crate) fn spelling(modifier: ModifierId) -> &'static str {
    TABLE.modifiers[modifier.0 as usize]
}

/// The type with this name.
pub(crate) fn type_named(name: &str) -> Option<TypeId> {
    TABLE.types.iter().position(|ty| ty.name == name).map(|index| TypeId(index as u8))
}

/// Whether all members of a slot are types.
pub(crate) fn is_type_slot(instruction: &Instruction, slot: usize) -> bool {
    instruction.slots[slot].members.iter().all(|member| type_named(spelling(*member)).is_some())
}

/// The forms of an instruction.
pub(crate) fn forms_of(instruction: &'static Instruction) -> impl Iterator<Item = &'static FormInfo> {
    TABLE.forms.iter().filter(move |form| TABLE.instructions[form.instruction as usize].opcode == instruction.opcode)
}

/// The modifier of a form in a slot.
pub(crate) fn value(form: &FormInfo, slot: usize) -> Option<&'static str> {
    let slots = TABLE.instructions[form.instruction as usize].slots;
    (form.values[slot] != ABSENT).then(|| spelling(slots[slot].members[form.values[slot] as usize]))
}

/// All that may be tried in each slot: every type where types stand, every operator where operators do, and nothing.
pub(crate) fn choices(instruction: &'static Instruction) -> Vec<Vec<Option<&'static str>>> {
    let slots = instruction.slots.iter().enumerate();
    slots
        .map(|(index, slot)| {
            let mut choices: Vec<Option<&str>> = vec![None];
            let mut push = |name| {
                if !choices.contains(&Some(name)) {
                    choices.push(Some(name));
                }
            };
            slot.members.iter().for_each(|member| push(spelling(*member)));
            if is_type_slot(instruction, index) {
                declarable().for_each(|ty| push(TABLE.types[ty.index()].name));
                TABLE.types.iter().filter(|ty| ty.registers != 0).for_each(|ty| push(ty.name));
            } else if slot.members.len() > 1 {
                let others = TABLE.instructions.iter().flat_map(|other| other.slots);
                let related = others.filter(|other| other.members.iter().any(|member| slot.members.contains(member)));
                related.flat_map(|other| other.members).for_each(|member| push(spelling(*member)));
            }
            choices
        })
        .collect()
}

/// Where the type of an operand comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Typed {
    Slot(usize),
    Always(TypeId),
}

/// One way to write the operands of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) operands: Vec<Typed>,
    /// Whether a second destination is written.
    pub(crate) second: bool,
}

/// All ways to write the operands of an instruction's forms.
pub(crate) fn shapes(instruction: &'static Instruction) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for syntax in 0..instruction.syntaxes.len() {
        let forms: Vec<_> = forms_of(instruction).filter(|form| usize::from(form.syntax) == syntax).collect();
        let Some(first) = forms.first() else { continue };
        let typed: Vec<Typed> = (0..first.operands.len())
            .map(|operand| {
                let follows = |slot: &usize| {
                    forms
                        .iter()
                        .all(|form| value(form, *slot) == Some(TABLE.types[form.operands[operand].ty.index()].name))
                };
                let slot = (0..instruction.slots.len()).filter(|slot| is_type_slot(instruction, *slot)).find(follows);
                slot.map_or(Typed::Always(first.operands[operand].ty), Typed::Slot)
            })
            .collect();
        let least = first.operands.iter().take_while(|operand| !operand.optional).count();
        let predicate =
            |typed: &Typed| matches!(typed, Typed::Always(ty) if TABLE.types[ty.index()].kind == Kind::Predicate);
        for length in least..=typed.len() {
            for second in [false, true] {
                let shape = Shape { operands: typed[..length].to_vec(), second };
                if (!second || predicate(&shape.operands[0])) && !shapes.contains(&shape) {
                    shapes.push(shape);
                }
            }
        }
    }
    shapes
}

/// The first declarable type whose register fits an operand: its own, or another.
pub(crate) fn register_type(ty: TypeId) -> Option<TypeId> {
    let registers = TABLE.types[ty.index()].registers;
    let own = (registers >> ty.0 & 1 == 1).then_some(ty);
    own.or_else(|| declarable().find(|other| registers >> other.0 & 1 == 1))
}

/// A type of plain bits, or predicates, whose register fits.
pub(crate) fn plain_type(operand: &Operand) -> TypeId {
    let plain = |ty: &TypeId| matches!(TABLE.types[ty.index()].kind, Kind::Predicate | Kind::Bits);
    let fits = |ty: &TypeId| operand.registers >> ty.0 & 1 == 1;
    declarable().filter(plain).find(fits).expect("some plain register fits every operand")
}

/// One form for each way in which forms differ, as `key` sees them.
pub(crate) fn one_each<K: Eq + std::hash::Hash>(key: impl Fn(&'static FormInfo) -> K) -> Vec<&'static FormInfo> {
    let mut seen = HashSet::new();
    TABLE.forms.iter().filter(|form| seen.insert(key(form))).collect()
}

/// A legal statement of a form, with the registers that `register` names for each operand.
pub(crate) fn statement(form: &FormInfo, mut register: impl FnMut(usize, &'static Operand) -> String) -> String {
    let mut text = form.mnemonic.to_owned();
    for (index, operand) in form.operands.iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        text.push_str(&register(index, operand));
        if let Some(second) = &operand.second
            && second.optional != ptx_isa::table::Permission::Yes
        {
            text.push('|');
            text.push_str(&register(index + form.operands.len(), operand));
        }
        if let Some(selector) = &operand.selector
            && selector.omission != ptx_isa::table::Permission::Yes
            && let ptx_isa::table::SelectorKind::Listed { words } = selector.kind
        {
            text.push_str(&format!(".{}", words[0]));
        }
    }
    text.push(';');
    text
}

/// Register `number` of the type that an operand most likely has.
pub(crate) fn own_register(number: usize, operand: &Operand) -> String {
    let own = (operand.registers >> operand.ty.0 & 1 == 1).then_some(operand.ty);
    let ty = own.or_else(|| declarable().find(|other| operand.registers >> other.0 & 1 == 1));
    let name = ty.map_or("none", |ty| TABLE.types[ty.index()].name);
    format!("{name}_{}", number % crate::context::REGISTERS)
}
