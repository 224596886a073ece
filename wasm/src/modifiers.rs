//! Choices for each slot of a mnemonic, given the modifiers in the other slots.

use ptx_isa::TABLE;
use ptx_isa::table::{ABSENT, InstructionInfo};
use ptx_isa::text::{Statement, spelling};
use serde::Serialize;

use crate::Machine;

/// A slot for a modifier.
#[derive(Serialize)]
pub(crate) struct Slot {
    name: &'static str,
    picks: Vec<Pick>,
}

/// A choice for a slot.
#[derive(Serialize)]
struct Pick {
    /// Empty if no modifier is chosen.
    name: &'static str,
    state: State,
    /// True if it is currently chosen.
    on: bool,
    /// Statement or mnemonic with this choice.
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Fine,
    /// Legal, but not with the version and the target.
    Elsewhere,
    Illegal,
}

/// Returns the slots of an instruction with their choices, where `values` are the chosen modifiers. `around` is the
/// text around the mnemonic, which is kept if the resulting statement is valid.
pub(crate) fn slots(
    instruction: InstructionInfo,
    values: &[u8],
    machine: Machine,
    around: Option<(&str, &str)>,
) -> Vec<Slot> {
    let pick = |index: usize, member: u8| {
        let mut other = values.to_vec();
        other[index] = member;
        let found = instruction.form_of(&other);
        let state = match &found {
            None => State::Illegal,
            Some((form, free)) if spelling::is_taken_with(*form, free, machine.ptx, machine.target) => State::Fine,
            Some(_) => State::Elsewhere,
        };
        let text = match (&found, around) {
            (Some((form, free)), Some((before, behind))) => {
                let mnemonic = form.mnemonic_with(free);
                let whole = format!("{before}{mnemonic}{behind}");
                // Operands that the form does not take are left out.
                if Statement::parse(&TABLE, &whole).is_ok() { whole } else { mnemonic }
            }
            (Some((form, free)), None) => form.mnemonic_with(free),
            (None, _) => spell(instruction, &other),
        };
        let name = instruction.data().slots[index].members.get(usize::from(member)).copied().unwrap_or_default();
        Pick { name, state, on: values[index] == member, text }
    };
    let slots = instruction.data().slots.iter().enumerate();
    slots
        .map(|(index, slot)| {
            // A place that every line fills has no "nothing".
            let needed = instruction
                .syntaxes()
                .iter()
                .all(|line| line.items.iter().any(|item| usize::from(item.slot) == index && !item.optional));
            let members = 0..slot.members.len() as u8;
            let nothing = (!needed).then_some(ABSENT);
            Slot {
                name: slot.name,
                picks: nothing.into_iter().chain(members).map(|member| pick(index, member)).collect(),
            }
        })
        .collect()
}

/// Spells a combination of modifiers that is not a form: in the order of the syntax line that contains most of them,
/// followed by the rest.
fn spell(instruction: InstructionInfo, values: &[u8]) -> String {
    let there = |slot: u8| values[usize::from(slot)] != ABSENT;
    let count = |line: &&ptx_isa::table::Syntax| line.items.iter().filter(|item| there(item.slot)).count();
    // In a tie the first line wins.
    let Some(line) = instruction.syntaxes().iter().rev().max_by_key(count) else { return String::new() };
    let mut text = instruction.spell_all(line, values);
    for (index, slot) in instruction.data().slots.iter().enumerate() {
        let placed = line.items.iter().any(|item| usize::from(item.slot) == index);
        if let Some(member) = slot.members.get(usize::from(values[index])).filter(|_| !placed) {
            text += &format!(".{member}");
        }
    }
    text
}
