//! Forms by a pattern of their spelling, free modifiers included.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::mnemonic::{matches, resolve};
use crate::table::{ABSENT, FormInfo, Free, Table};

/// Maximum number of combinations of free modifiers that are tried for a form.
const MOST_TRIED: usize = 3000;

/// Finds the forms of a table that have a legal spelling, free modifiers included, that matches the pattern and that
/// `wanted` accepts, which is called until it accepts one of a form. `*` matches any text. In a pattern without `*`, modifiers may be in
/// any order that the assembler accepts.
///
/// ```
/// use ptx_isa::text::find::forms;
///
/// let found = |pattern: &str| forms(&ptx_isa::TABLE, pattern, |_, _| true).len();
/// assert_eq!(found("ld.relaxed.gpu.global.u64"), 1);
/// assert!(found("ld.global*") > 100 && found("*.relaxed.gpu.*") > found("ld.relaxed.gpu.*"));
/// assert_eq!(found("ld.gpu.relaxed.u64"), found("ld.relaxed.gpu.u64"));
/// // A weak read has no scope.
/// assert_eq!(found("ld.weak.gpu*"), 0);
/// ```
pub fn forms(table: &'static Table, pattern: &str, wanted: impl Fn(FormInfo, &Free) -> bool) -> Vec<FormInfo> {
    let resolved = if pattern.contains('*') { None } else { resolve(table, pattern).ok() };
    let is_found = |form: &FormInfo| {
        if let Some(resolved) = &resolved {
            let same = form.mnemonic() == resolved.form.mnemonic();
            return same && form.takes(&resolved.free) && wanted(*form, &resolved.free);
        }
        // A form also matches by its own name. If that is not a legal spelling because the form needs free modifiers,
        // any of its spellings may be the wanted one.
        let plain = matches(pattern, form.mnemonic())
            && match form.takes(&Free::NONE) {
                true => wanted(*form, &Free::NONE),
                false => Search::new(*form, "*").is_some_and(|mut search| search.finds(&wanted)),
            };
        plain || form.syntax().free && Search::new(*form, pattern).is_some_and(|mut search| search.finds(&wanted))
    };
    table.forms().filter(is_found).collect()
}

/// A choice for a slot of a mnemonic: the index of a member or [`ABSENT`], and its spelling.
type Choice = (u8, String);

/// Search for free modifiers with which the spelling of a form matches a pattern.
struct Search<'p> {
    form: FormInfo,
    pattern: &'p [u8],
    /// Slots after the opcode, in order: the index of the slot, whether it is free, and its choices, [`ABSENT`] first.
    places: Vec<(usize, bool, Vec<Choice>)>,
    values: Vec<u8>,
    tried: usize,
    /// Place, number of free modifiers and states from which the end of the pattern cannot be reached.
    dead: BTreeSet<(usize, usize, Vec<usize>)>,
}

impl<'p> Search<'p> {
    /// `None` where the opcode is another one.
    fn new(form: FormInfo, pattern: &'p str) -> Option<Search<'p>> {
        let instruction = form.instruction().data();
        let pattern = pattern.as_bytes();
        step(pattern, &start(pattern), instruction.opcode).first()?;
        let places = form.syntax().items.iter().map(|item| {
            let (index, own) = (usize::from(item.slot), form.values()[usize::from(item.slot)]);
            let slot = &instruction.slots[index];
            let members = (0..slot.members.len() as u8).filter(|member| match slot.free {
                true => item.members >> member & 1 == 1,
                false => *member == own,
            });
            let nothing = if slot.free { item.optional } else { own == ABSENT };
            let nothing = nothing.then(|| (ABSENT, String::new()));
            let members = members.map(|member| (member, [".", slot.members[usize::from(member)]].concat()));
            (index, slot.free, nothing.into_iter().chain(members).collect())
        });
        Some(Search {
            form,
            pattern,
            places: places.collect(),
            values: form.values().to_vec(),
            tried: 0,
            dead: BTreeSet::new(),
        })
    }

    /// Tries few modifiers before many.
    fn finds(&mut self, wanted: &impl Fn(FormInfo, &Free) -> bool) -> bool {
        let opcode = self.form.instruction().data().opcode;
        let states = step(self.pattern, &start(self.pattern), opcode);
        let free = self.places.iter().filter(|(_, free, _)| *free).count();
        (0..=free).any(|count| self.finds_behind(0, count, &states, wanted))
    }

    /// Returns true if the places from `place` on can be filled using exactly `count` free modifiers.
    fn finds_behind(
        &mut self,
        place: usize,
        count: usize,
        states: &[usize],
        wanted: &impl Fn(FormInfo, &Free) -> bool,
    ) -> bool {
        if states.is_empty() || self.tried >= MOST_TRIED {
            return false;
        }
        let Some((slot, free, choices)) = self.places.get(place) else {
            if count > 0 || !states.contains(&self.pattern.len()) {
                return false;
            }
            self.tried += 1;
            let free = Free::of(self.form.instruction(), &self.values);
            return self.form.takes(&free) && wanted(self.form, &free);
        };
        let (slot, free, choices) = (*slot, *free, choices.len());
        let from = (place, count, states.to_vec());
        if self.dead.contains(&from) {
            return false;
        }
        let tried = self.tried;
        let found = (0..choices).any(|choice| {
            let (value, text) = &self.places[place].2[choice];
            let next = step(self.pattern, states, text);
            self.values[slot] = *value;
            let left = if free && *value != ABSENT { count.checked_sub(1) } else { Some(count) };
            left.is_some_and(|left| self.finds_behind(place + 1, left, &next, wanted))
        });
        if self.tried == tried {
            self.dead.insert(from);
        }
        found
    }
}

/// Returns the start states of a pattern.
fn start(pattern: &[u8]) -> Vec<usize> {
    let mut states = vec![];
    add(pattern, &mut states, 0);
    states
}

/// Adds a state, and those that follow it if a `*` matches the empty text.
fn add(pattern: &[u8], states: &mut Vec<usize>, mut place: usize) {
    while !states.contains(&place) {
        states.push(place);
        if pattern.get(place) != Some(&b'*') {
            break;
        }
        place += 1;
    }
}

/// Returns the states after a text has been matched.
fn step(pattern: &[u8], states: &[usize], text: &str) -> Vec<usize> {
    let mut states = states.to_vec();
    for byte in text.bytes() {
        let mut next = Vec::new();
        for place in states {
            match pattern.get(place) {
                Some(b'*') => add(pattern, &mut next, place),
                Some(own) if *own == byte => add(pattern, &mut next, place + 1),
                _ => {}
            }
        }
        states = next;
    }
    states
}
