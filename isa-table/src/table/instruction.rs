//! Instructions of a table: their syntax lines, rules and free modifiers, and illegal combinations.

use alloc::string::String;
use core::fmt;
use core::ops::Deref;

use super::{ABSENT, FOREIGN, Forbidden, FormInfo, Instruction, Operand, Rule, Syntax, Table};
use crate::limits::SLOTS;
use crate::notation;
use crate::selector::Permission;

/// An instruction of a table.
#[derive(Clone, Copy)]
pub struct InstructionInfo {
    pub(super) table: &'static Table,
    pub(super) index: usize,
}

impl Deref for InstructionInfo {
    type Target = Instruction;

    fn deref(&self) -> &Instruction {
        self.data()
    }
}

impl InstructionInfo {
    /// Returns its data, which does not depend on the form.
    pub fn data(&self) -> &'static Instruction {
        &self.table.instructions[self.index]
    }

    /// Returns its index among the table's own instructions.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the table that owns it.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// Returns the syntax lines of all its entries, in the spec's order.
    pub fn syntaxes(&self) -> &'static [Syntax] {
        let Instruction { first_syntax, syntaxes, .. } = *self.data();
        &self.table.syntaxes[usize::from(first_syntax)..][..usize::from(syntaxes)]
    }

    /// Returns its forms, grouped by syntax line.
    pub fn forms(&self) -> impl Iterator<Item = FormInfo> + use<> {
        let (table, first) = (self.table, u32::from(self.data().first_form));
        (first..first + u32::from(self.data().forms)).map(move |index| FormInfo { table, index })
    }

    /// Mnemonic that a syntax line spells for these slot values, without free modifiers.
    pub fn spell(&self, syntax: &Syntax, values: &[u8]) -> String {
        self.spelt(syntax, values, false)
    }

    /// Mnemonic that a syntax line spells for these slot values, with free modifiers.
    pub fn spell_all(&self, syntax: &Syntax, values: &[u8]) -> String {
        self.spelt(syntax, values, true)
    }

    /// Splits slot values into a form and its free modifiers; `None` if no form matches.
    pub fn form_of(&self, values: &[u8]) -> Option<(FormInfo, Free)> {
        let free = Free::of(*self, values);
        let spelt = self.syntaxes().iter().filter(|syntax| syntax.spells(values));
        let forms = spelt.filter_map(|syntax| self.table.form(&self.spell(syntax, values)));
        forms.flat_map(FormInfo::shapes).find(|form| form.takes(&free)).map(|form| (form, free))
    }

    pub(super) fn spelt(&self, syntax: &Syntax, values: &[u8], free: bool) -> String {
        let mut mnemonic = String::from(self.opcode);
        for item in syntax.items {
            let slot = &self.slots[usize::from(item.slot)];
            if slot.free && !free {
                continue;
            }
            if let Some(member) = slot.members.get(usize::from(values[usize::from(item.slot)])) {
                mnemonic.push('.');
                mnemonic.push_str(member);
            }
        }
        mnemonic
    }
}

impl fmt::Debug for InstructionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode)
    }
}

impl Syntax {
    /// Returns true if the line has a slot for every modifier, and a modifier for every required slot.
    pub fn spells(&self, values: &[u8]) -> bool {
        self.spells_where(values, |_| true)
    }

    /// As [`Syntax::spells`], for the slots that `asked` accepts.
    pub(super) fn spells_where(&self, values: &[u8], asked: impl Fn(u8) -> bool) -> bool {
        let mut places = 0;
        let fits = self.items.iter().filter(|item| asked(item.slot)).all(|item| {
            places |= 1_u64 << item.slot;
            match values[item.slot as usize] {
                ABSENT => item.optional,
                value => value < ABSENT && item.members >> value & 1 != 0,
            }
        });
        fits && values.iter().enumerate().all(|(slot, value)| *value == ABSENT || places >> slot & 1 != 0)
    }
}

impl Rule {
    /// Returns true if the rule refuses a combination of modifiers.
    pub fn refuses(&self, values: &[u8]) -> bool {
        self.forbids.iter().all(|forbidden| forbidden.holds(values))
    }
}

impl Forbidden {
    /// Returns true if its slot has one of its values.
    pub fn holds(&self, values: &[u8]) -> bool {
        let value = values[usize::from(self.slot)];
        value <= ABSENT && self.values >> value & 1 != 0
    }
}

/// Free modifiers of a statement: the member in each slot of its instruction, or [`ABSENT`].
///
/// Aligned to a word: otherwise it is copied bytewise, and the loads that follow stall on store forwarding.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(align(8))]
pub struct Free([u8; SLOTS]);

impl Free {
    /// No free modifiers.
    pub const NONE: Free = Free([ABSENT; SLOTS]);

    /// Selects the free modifiers from the slot values of an instruction.
    pub fn of(instruction: InstructionInfo, values: &[u8]) -> Free {
        let mut free = Free::NONE;
        for (slot, value) in values.iter().enumerate().filter(|(slot, _)| instruction.slots[*slot].free) {
            free.0[slot] = *value;
        }
        free
    }

    /// Returns the member in a slot, or [`ABSENT`].
    pub fn in_slot(&self, slot: u8) -> u8 {
        self.0[usize::from(slot)]
    }
}

impl fmt::Debug for Free {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.0.iter().enumerate().filter(|(_, value)| **value != ABSENT);
        f.debug_map().entries(there).finish()
    }
}

impl Operand {
    /// Adds the surrounding punctuation to the text of the operand.
    pub fn with_around(&self, text: &str) -> String {
        alloc::format!("{}{text}{}", self.around.before(), self.around.behind())
    }

    /// Returns the operand in the manual's notation.
    pub fn notation(&self) -> notation::Operand<'static> {
        notation::Operand {
            name: self.name,
            negated: self.negation == Permission::Yes,
            second: self.second.map(|second| (second.name, second.optional == Permission::Yes)),
            selector: self.selector.map(|selector| (selector.name, selector.omission != Permission::No)),
            optional: self.optional,
            around: self.around,
        }
    }
}

/// Returns the index of a modifier among the members of a slot, or [`FOREIGN`].
pub fn member<T: PartialEq>(members: &[T], value: T) -> u8 {
    members.iter().position(|member| *member == value).map_or(FOREIGN, |index| index as u8)
}

/// Returns the index of a modifier among the members of a slot, [`ABSENT`] if there is none, or [`FOREIGN`].
pub fn optional_member<T: PartialEq>(members: &[T], value: Option<T>) -> u8 {
    value.map_or(ABSENT, |value| member(members, value))
}

/// Error: a combination of modifiers is not a form. Its text gives the reasons.
#[derive(Clone, Copy)]
pub struct IllegalForm {
    instruction: InstructionInfo,
    values: [u8; SLOTS],
}

impl IllegalForm {
    pub(super) fn new(instruction: InstructionInfo, given: &[u8]) -> IllegalForm {
        let mut values = [ABSENT; SLOTS];
        values[..given.len()].copy_from_slice(given);
        IllegalForm { instruction, values }
    }

    /// Returns the instruction whose modifiers they are.
    pub fn instruction(&self) -> InstructionInfo {
        self.instruction
    }

    /// Returns the rules that refuse the combination; none if no syntax line spells it.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.instruction.data().rules.iter().filter(|rule| rule.refuses(&self.values))
    }
}

impl fmt::Display for IllegalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rules = self.rules().peekable();
        if rules.peek().is_none() {
            write!(f, "no syntax line of `{}` has these modifiers:", self.instruction.opcode)?;
            return self.instruction.syntaxes().iter().try_for_each(|syntax| write!(f, " `{}`", syntax.text));
        }
        for (index, rule) in rules.enumerate() {
            write!(f, "{}{}", if index > 0 { "; " } else { "" }, rule.reason)?;
        }
        Ok(())
    }
}

impl fmt::Debug for IllegalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IllegalForm({self})")
    }
}

impl core::error::Error for IllegalForm {}
