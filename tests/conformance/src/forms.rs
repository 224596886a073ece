//! Queries on the table from which the kinds of lines are built: the slots of an opcode, the dependence of its operands
//! on them, and representative forms.

use std::collections::{BTreeSet, HashSet};

use ptx_isa::TABLE;
use ptx_isa::selector::{self, Permission};
use ptx_isa::table::{ABSENT, Around, FormInfo, Free, InstructionInfo, Kind, Operand, OperandKind, TypeId};

use crate::context::declarable;
use crate::random::Random;

/// Free modifiers that go with a form: those that must be there, and perhaps others. `None` where no choice of many does.
pub(crate) fn free(form: FormInfo, random: &mut Random) -> Option<Free> {
    let instruction = form.instruction();
    let slots = instruction.data().slots;
    let items: Vec<_> = form.syntax().items.iter().filter(|item| slots[usize::from(item.slot)].free).collect();
    // Of many choices most have few modifiers.
    (0..400).find_map(|round| {
        let mut values = form.values().to_vec();
        for item in &items {
            let members: Vec<u8> = (0..ABSENT).filter(|member| item.members >> member & 1 == 1).collect();
            let there = !item.optional || round > 0 && random.one_in(4);
            values[usize::from(item.slot)] = if there { *random.of(&members) } else { ABSENT };
        }
        let free = Free::of(instruction, &values);
        form.refusals(&free).next().is_none().then_some(free)
    })
}

/// Returns the text of an operand, with registers named by `register`.
pub(crate) fn operand(operand: &'static Operand, mut register: impl FnMut(usize) -> String) -> String {
    match operand.kind {
        OperandKind::Scalar | OperandKind::Address => register(0),
        OperandKind::Vector(count) => {
            let elements: Vec<String> = (0..usize::from(count)).map(register).collect();
            format!("{{{}}}", elements.join(", "))
        }
        OperandKind::Label => "label".to_owned(),
        OperandKind::Function => "function".to_owned(),
        OperandKind::Arguments => "()".to_owned(),
        OperandKind::Branches | OperandKind::Targets => "list".to_owned(),
    }
}

/// The words of all modifiers, each once.
pub(crate) fn words() -> Vec<&'static str> {
    let slots = TABLE.instructions().flat_map(|instruction| instruction.data().slots);
    let words: BTreeSet<&str> = slots.flat_map(|slot| slot.members).copied().collect();
    words.into_iter().collect()
}

/// The modifier of a form in a slot.
pub(crate) fn value(form: FormInfo, slot: usize) -> Option<&'static str> {
    let slots = form.instruction().data().slots;
    (form.values()[slot] != ABSENT).then(|| slots[slot].members[form.values()[slot] as usize])
}

/// Returns the words to try in each slot: every type for a type slot, all members of related slots for any other, and
/// none.
pub(crate) fn choices(instruction: InstructionInfo) -> Vec<Vec<Option<&'static str>>> {
    let slots = instruction.data().slots.iter();
    slots
        .map(|slot| {
            let mut choices: Vec<Option<&str>> = vec![None];
            let mut push = |name| {
                if !choices.contains(&Some(name)) {
                    choices.push(Some(name));
                }
            };
            slot.members.iter().for_each(|member| push(member));
            if slot.types {
                declarable().for_each(|ty| push(TABLE.ty(ty).name));
                TABLE.types.iter().filter(|ty| !ty.registers.is_empty()).for_each(|ty| push(ty.name));
            } else if slot.members.len() > 1 {
                let others = TABLE.instructions().flat_map(|other| other.data().slots);
                let related = others.filter(|other| other.members.iter().any(|member| slot.members.contains(member)));
                related.flat_map(|other| other.members).for_each(|member| push(member));
            }
            choices
        })
        .collect()
}

/// Origin of an operand's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Typed {
    Slot(usize),
    Always(TypeId),
    /// No type: this is what is written.
    Text(String),
}

/// One way to write the operands of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) operands: Vec<Typed>,
    /// Punctuation required around each operand.
    pub(crate) around: Vec<Around>,
    /// The type of the second destination, if one is written.
    pub(crate) second: Option<TypeId>,
}

/// A syntax line, and what its operands are in some forms.
type Written = (usize, Vec<OperandKind>);

/// All ways to write the operands of an instruction's forms.
pub(crate) fn shapes(instruction: InstructionInfo) -> Vec<Shape> {
    let mut shapes = Vec::new();
    // The forms of a line that are written alike.
    let mut groups: Vec<(Written, Vec<FormInfo>)> = Vec::new();
    for form in instruction.forms() {
        let key = (form.line(), form.operands().iter().map(|operand| operand.kind).collect());
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, forms)) => forms.push(form),
            None => groups.push((key, vec![form])),
        }
    }
    for (_, forms) in groups {
        let first = forms[0];
        let typed: Vec<Typed> = (0..first.operands().len())
            .map(|operand| {
                let info = first.operands().get(operand).expect("an operand");
                if info.kind != OperandKind::Scalar {
                    return Typed::Text(self::operand(info, |place| own_register(operand + place, info)));
                }
                let follows = |slot: &usize| {
                    forms
                        .iter()
                        .all(|form| value(*form, *slot) == Some(TABLE.types[form.operands()[operand].ty.index()].name))
                };
                let slot = (0..instruction.slots.len()).filter(|slot| instruction.slots[*slot].types).find(follows);
                slot.map_or(Typed::Always(first.operands()[operand].ty), Typed::Slot)
            })
            .collect();
        let least = first.operands().iter().take_while(|operand| !operand.optional).count();
        // A predicate is also tried with a second one where there is none.
        let predicate = match typed.first() {
            Some(Typed::Always(ty)) if TABLE.types[ty.index()].kind == Kind::Predicate => Some(*ty),
            _ => None,
        };
        let second = first.operands().first().and_then(|operand| operand.second).map(|second| second.ty).or(predicate);
        let around: Vec<Around> = first.operands().iter().map(|info| info.around).collect();
        for length in least..=typed.len() {
            for second in [Some(None), second.map(Some)].into_iter().flatten() {
                let shape = Shape { operands: typed[..length].to_vec(), around: around[..length].to_vec(), second };
                if !shapes.contains(&shape) {
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
    let own = registers.has(ty).then_some(ty);
    own.or_else(|| declarable().find(|other| registers.has(*other)))
}

/// A type of plain bits, or predicates, whose register fits: one of the operand's width where there is one.
pub(crate) fn plain_type(operand: &Operand) -> TypeId {
    let plain = |ty: &TypeId| matches!(TABLE.types[ty.index()].kind, Kind::Predicate | Kind::Bits);
    let fits = |ty: &TypeId| operand.registers.has(*ty);
    // `mov` knows no bytes: a wider register is taken where one fits.
    let fitting = || declarable().filter(plain).filter(fits);
    let bits = |ty: &TypeId| TABLE.types[ty.index()].bits;
    let moved = || fitting().filter(|ty| bits(ty) != 8);
    let exact = moved().find(|ty| bits(ty) == TABLE.ty(operand.ty).bits);
    exact.or_else(|| moved().next()).or_else(|| fitting().next()).expect("some plain register fits every operand")
}

/// One form for each way in which forms differ, as `key` sees them.
pub(crate) fn one_each<K: Eq + std::hash::Hash>(key: impl Fn(FormInfo) -> K) -> Vec<FormInfo> {
    let mut seen = HashSet::new();
    TABLE.forms().filter(|form| seen.insert(key(*form))).collect()
}

/// A legal statement of a form, with the registers that `register` names for each operand.
pub(crate) fn statement(form: FormInfo, register: impl FnMut(usize, &'static Operand) -> String) -> String {
    let free = free(form, &mut Random::new(0)).unwrap_or(Free::NONE);
    statement_with(form, &free, register)
}

/// The same with some free modifiers.
pub(crate) fn statement_with(
    form: FormInfo,
    free: &Free,
    mut register: impl FnMut(usize, &'static Operand) -> String,
) -> String {
    let mut text = form.mnemonic_with(free);
    for (index, operand) in form.operands().iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        text.push_str(operand.around.before());
        if operand.kind == OperandKind::Scalar && operand.registers.is_empty() {
            text.push_str(&operand.within.first().map_or(0, |range| range.least).to_string());
            text.push_str(operand.around.behind());
            continue;
        }
        text.push_str(&self::operand(operand, |place| register(index + place, operand)));
        if let Some(second) = &operand.second
            && second.optional != Permission::Yes
        {
            text.push('|');
            text.push_str(&register(index + form.operands().len(), operand));
        }
        if let Some(selector) = &operand.selector
            && selector.omission != Permission::Yes
            && let selector::Kind::Listed { words } = selector.kind
        {
            text.push_str(&format!(".{}", words[0]));
        }
        text.push_str(operand.around.behind());
    }
    text.push(';');
    text
}

/// Register `number` of the type that an operand most likely has.
pub(crate) fn own_register(number: usize, operand: &Operand) -> String {
    let own = operand.registers.has(operand.ty).then_some(operand.ty);
    let ty = own.or_else(|| declarable().find(|other| operand.registers.has(*other)));
    let name = ty.map_or("none", |ty| TABLE.types[ty.index()].name);
    format!("{name}_{}", number % crate::context::REGISTERS)
}
