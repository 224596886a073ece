//! Which modifiers may stand at a place of a mnemonic, so that some form remains.
//!
//! ```
//! use ptx_isa::text::completion;
//!
//! let words = |before, after| -> Vec<&str> {
//!     completion::modifiers(&ptx_isa::TABLE, before, after, |_| true).iter().map(|choice| choice.modifier).collect()
//! };
//! // `.lo` compares unsigned integers.
//! assert_eq!(words("setp.lo", ""), ["u16", "u32", "u64", "and", "or", "xor"]);
//! assert!(words("setp", ".u32").contains(&"lo") && !words("setp", ".s32").contains(&"lo"));
//! ```

use alloc::vec;
use alloc::vec::Vec;

use crate::table::{ABSENT, FormInfo, InstructionInfo, Item, Slot, Syntax, Table};

/// A modifier that may stand at a place.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The spelling without its dot.
    pub modifier: &'static str,
    /// The slot of the instruction that it fills.
    pub slot: &'static Slot,
}

/// The modifiers that may stand between the two parts of a mnemonic, `setp.lt` and `.f32`, whose modifiers stand in the
/// manual's order: with each of them some form is left that `wanted` takes, and the form may have more modifiers behind.
pub fn modifiers(table: &'static Table, before: &str, after: &str, wanted: impl Fn(FormInfo) -> bool) -> Vec<Choice> {
    let Some(instruction) = table.instruction_of(before) else { return Vec::new() };
    let before = before[instruction.opcode.len()..].split('.').skip(1).map(Some);
    let after = after.split('.').skip(1).map(Some);
    let words: Vec<Option<&str>> = before.chain([None]).chain(after).collect();
    let forms: Vec<FormInfo> = instruction.forms().filter(|form| wanted(*form)).collect();
    let mut choices = Vec::new();
    for syntax in instruction.syntaxes() {
        let of_line = |form: &&FormInfo| core::ptr::eq(form.syntax(), syntax);
        let forms: Vec<FormInfo> = forms.iter().filter(of_line).copied().collect();
        let values = vec![ABSENT; instruction.slots.len()];
        let mut search = Search { instruction, syntax, forms, values, choice: None, choices: &mut choices };
        search.lay(0, &words);
    }
    choices
}

/// Words on their way into the items of a syntax line.
struct Search<'c> {
    instruction: InstructionInfo,
    syntax: &'static Syntax,
    /// The forms of the line that are wanted.
    forms: Vec<FormInfo>,
    /// What the items so far have.
    values: Vec<u8>,
    choice: Option<Choice>,
    choices: &'c mut Vec<Choice>,
}

impl Search<'_> {
    /// Lays words into the items from one on, in order; `None` is the modifier that is asked for.
    fn lay(&mut self, item: usize, words: &[Option<&str>]) {
        let Some((word, rest)) = words.split_first() else { return self.add(item) };
        let Some(info) = self.syntax.items.get(item) else { return };
        let slot = &self.instruction.data().slots[usize::from(info.slot)];
        for (member, modifier) in members(info, slot) {
            match word {
                Some(word) if *word != modifier => continue,
                Some(_) => {}
                None if self.choices.iter().any(|choice| choice.modifier == modifier) => continue,
                None => self.choice = Some(Choice { modifier, slot }),
            }
            self.values[usize::from(info.slot)] = member;
            self.lay(item + 1, rest);
            self.values[usize::from(info.slot)] = ABSENT;
        }
        if info.optional {
            self.lay(item + 1, words);
        }
    }

    /// Adds the choice if a form remains, whatever the items from one on have.
    fn add(&mut self, item: usize) {
        let Some(choice) = self.choice else { return };
        let known = self.choices.iter().any(|other| other.modifier == choice.modifier);
        if !known && self.forms.iter().any(|form| self.remains(*form, item)) {
            self.choices.push(choice);
        }
    }

    /// Whether a form has the items so far, and goes with some free modifiers behind them.
    fn remains(&self, form: FormInfo, item: usize) -> bool {
        let free = |item: &Item| self.instruction.data().slots[usize::from(item.slot)].free;
        let (so_far, behind) = self.syntax.items.split_at(item);
        let own = |item: &Item| form.values()[usize::from(item.slot)] == self.values[usize::from(item.slot)];
        if !so_far.iter().all(|item| free(item) || own(item)) {
            return false;
        }
        let mut values = form.values().to_vec();
        so_far.iter().filter(|item| free(item)).for_each(|item| {
            values[usize::from(item.slot)] = self.values[usize::from(item.slot)];
        });
        let open: Vec<&Item> = behind.iter().filter(|item| free(item)).collect();
        self.completes(&mut values, &open)
    }

    /// Whether the open items can be filled so that no rule refuses them together with what is there.
    fn completes(&self, values: &mut [u8], open: &[&Item]) -> bool {
        let is_open = |slot: u8| open.iter().any(|item| item.slot == slot);
        let mut rules = self.instruction.data().rules.iter().filter(|rule| rule.decides == Some(self.syntax.entry));
        if rules.any(|rule| rule.refuses(values) && !rule.forbids.iter().any(|forbidden| is_open(forbidden.slot))) {
            return false;
        }
        let Some((item, rest)) = open.split_first() else { return true };
        let slot = &self.instruction.data().slots[usize::from(item.slot)];
        let absent = item.optional.then_some(ABSENT);
        let mut tried = absent.into_iter().chain(members(item, slot).map(|(member, _)| member));
        let found = tried.any(|value| {
            values[usize::from(item.slot)] = value;
            self.completes(values, rest)
        });
        values[usize::from(item.slot)] = ABSENT;
        found
    }
}

/// The members that an item takes.
fn members(item: &Item, slot: &'static Slot) -> impl Iterator<Item = (u8, &'static str)> + use<> {
    let own = item.members;
    let members = slot.members.iter().enumerate().filter(move |(index, _)| own >> index & 1 == 1);
    members.map(|(index, member)| (index as u8, *member))
}
