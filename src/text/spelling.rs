//! Valid spellings of a form: its permitted free modifiers, and the version and target that each requires.
//!
//! The requirements of a form are those of a statement in its canonical spelling, so that lists of forms, pages and
//! completion agree with the checker.
//!
//! ```
//! use ptx_isa::text::spelling;
//!
//! let form = ptx_isa::TABLE.form("cp.async.ca.global").unwrap();
//! // A copy has to name its cache level and state spaces.
//! assert!(!form.takes(&ptx_isa::table::Free::NONE));
//! assert_eq!(spelling::mnemonic(form), "cp.async.ca.shared.global");
//! assert_eq!(spelling::since(form).to_string(), "PTX 7.0, sm_80");
//! ```

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::statement::Need;
use crate::table::{ABSENT, Forbidden, FormInfo, Free, Item, Least, Requirement, Slot};
use crate::target::{Floor, Target, Version};

/// Returns the free modifiers of a form's canonical spelling: those with the lowest minimum version and target, and as
/// few of them as possible.
///
/// Returns `None` if the rules permit no combination.
pub fn canonical(form: FormInfo) -> Option<Free> {
    let floor = form.floor();
    let own = |other: &Floor| form.table().has(other, Some(floor.ptx), Some(floor.target()));
    let search = Search { form, there: &own };
    let (mut values, open) = (form.values().to_vec(), search.open(0));
    // No spelling is older than the form, so the shortest spelling available at the form's floor is canonical.
    if let Some(found) = search.shortest(&mut values, &open, 1, |_| true).pop() {
        return Some(found);
    }
    let mut best = None;
    Search { form, there: &|_| true }.visit(&mut values, &open, None, &mut |values| {
        let free = Free::of(form.instruction(), values);
        let least = least(form, free, |need| need.listed());
        let count = open.iter().filter(|item| values[usize::from(item.slot)] != ABSENT).count();
        let rank = (least.is_none(), least, count);
        if best.as_ref().is_none_or(|(known, _)| rank < *known) {
            best = Some((rank, free));
        }
        false
    });
    best.map(|(_, free)| free)
}

/// Returns sets of free modifiers with which a form is legal, at most `most` of them: those that are given, and as few others as
/// possible. There is none if the form does not take the given ones.
pub(super) fn completions(form: FormInfo, given: &Free, most: usize) -> Vec<Free> {
    let slots = form.instruction().data().slots;
    let mut values = form.values_with(given);
    let is_given = |slot: usize| slots[slot].free && values[slot] != ABSENT;
    let taken = |slot: usize| {
        form.syntax().items.iter().any(|item| {
            usize::from(item.slot) == slot && members(item, &slots[slot]).any(|(member, _)| member == values[slot])
        })
    };
    if !(0..slots.len()).filter(|slot| is_given(*slot)).all(taken) {
        return Vec::new();
    }
    let search = Search { form, there: &|_| true };
    let mut open = search.open(0);
    open.retain(|item| values[usize::from(item.slot)] == ABSENT);
    search.shortest(&mut values, &open, most, |free| form.takes(free))
}

/// The free modifiers that a form cannot do without: none where it is legal alone, else those of its canonical spelling.
pub fn needed(form: FormInfo) -> Free {
    if form.takes(&Free::NONE) { Free::NONE } else { canonical(form).unwrap_or(Free::NONE) }
}

/// A legal mnemonic of a form, with the free modifiers that it cannot do without.
pub fn mnemonic(form: FormInfo) -> Cow<'static, str> {
    match needed(form) {
        Free::NONE => Cow::Borrowed(form.mnemonic()),
        free => Cow::Owned(form.mnemonic_with(&free)),
    }
}

/// Returns the minimum version and targets of a form: those of its canonical spelling, as the manual lists it, or of
/// the form's own floor if no version and target support that spelling.
pub fn since(form: FormInfo) -> Least {
    listed_since(form, canonical(form))
}

fn listed_since(form: FormInfo, free: Option<Free>) -> Least {
    let own = || Least { ptx: form.floor().ptx, targets: form.floor().targets.to_vec() };
    free.and_then(|free| least(form, free, |need| need.listed())).unwrap_or_else(own)
}

/// The minimum version and targets with which the assembler accepts a form, where that is less than [`since`] says.
pub fn accepted_since(form: FormInfo) -> Option<Least> {
    form.lenient_floor()?;
    let free = canonical(form)?;
    let least = least(form, free, |need| need.floor)?;
    (least != listed_since(form, Some(free))).then_some(least)
}

/// Returns true if the manual lists some spelling of a form for a version of PTX and a target.
pub fn is_listed(form: FormInfo, ptx: Version, target: Target) -> bool {
    let families = form.table().families();
    has_spelling(form, form.floor(), &|floor| floor.has(ptx, target, families))
}

/// Returns true if the assembler accepts some spelling of a form with a version of PTX, the newest where none is given, and on
/// a target, if one is.
pub fn is_taken(form: FormInfo, ptx: Option<Version>, target: Option<Target>) -> bool {
    has_spelling(form, form.lowest_floor(), &|floor| form.table().has(floor, ptx, target))
}

/// Returns the free modifiers with which the assembler accepts a form, as [`is_taken`] says of it, as few of them as possible.
pub fn taken(form: FormInfo, ptx: Option<Version>, target: Option<Target>) -> Option<Free> {
    let there = |floor: &Floor| form.table().has(floor, ptx, target);
    let search = Search { form, there: &there };
    let found =
        there(form.lowest_floor()).then(|| search.shortest(&mut form.values().to_vec(), &search.open(0), 1, |_| true));
    found?.pop()
}

/// Returns true if a form with this floor has a spelling that needs only what is there.
fn has_spelling(form: FormInfo, floor: &Floor, there: &dyn Fn(&Floor) -> bool) -> bool {
    let search = Search { form, there };
    there(floor) && search.visit(&mut form.values().to_vec(), &search.open(0), None, &mut |_| true)
}

/// Returns true if the assembler accepts the spelling of a form with these free modifiers, as [`is_taken`] says of any.
pub fn is_taken_with(form: FormInfo, free: &Free, ptx: Option<Version>, target: Option<Target>) -> bool {
    Need::of(form, *free).all(|need| form.table().has(need.floor, ptx, target))
}

fn least(form: FormInfo, free: Free, floor: impl Fn(&Need<'_>) -> &'static Floor) -> Option<Least> {
    form.table().least(Need::of(form, free).map(|need| Requirement::From(floor(&need))))
}

/// The search for free modifiers that go with a form and with each other.
pub(super) struct Search<'f> {
    pub(super) form: FormInfo,
    /// Returns true if what has a floor may be used.
    pub(super) there: &'f dyn Fn(&Floor) -> bool,
}

impl Search<'_> {
    /// The places of free modifiers from one item of the syntax line on.
    pub(super) fn open(&self, from: usize) -> Vec<&'static Item> {
        let slots = self.form.instruction().data().slots;
        let items = &self.form.syntax().items[from..];
        items.iter().filter(|item| slots[usize::from(item.slot)].free).collect()
    }

    /// Returns the first ways to fill the open places with as few modifiers as possible that are accepted, at most `most`.
    fn shortest(
        &self,
        values: &mut [u8],
        open: &[&'static Item],
        most: usize,
        accepted: impl Fn(&Free) -> bool,
    ) -> Vec<Free> {
        let mut found = Vec::new();
        for count in 0..=open.len() {
            self.visit(values, open, Some(count), &mut |values| {
                found.extend(Some(Free::of(self.form.instruction(), values)).filter(&accepted));
                found.len() == most
            });
            if !found.is_empty() {
                break;
            }
        }
        found
    }

    /// Visits the ways to fill the open places, with exactly `count` modifiers if it is given, those with nothing in the first
    /// places first, until `visit` returns true; returns true if it did. `values` has the members of all other slots, and
    /// [`ABSENT`] in the open ones.
    pub(super) fn visit(
        &self,
        values: &mut [u8],
        open: &[&'static Item],
        count: Option<usize>,
        visit: &mut dyn FnMut(&[u8]) -> bool,
    ) -> bool {
        if self.is_refused(values, open) {
            return false;
        }
        let Some((item, rest)) = open.split_first() else { return count.unwrap_or(0) == 0 && visit(values) };
        let slot = &self.form.instruction().data().slots[usize::from(item.slot)];
        let absent = item.optional.then_some(ABSENT);
        let found = absent.into_iter().chain(members(item, slot).map(|(member, _)| member)).any(|value| {
            let left = match count {
                Some(count) if value != ABSENT => count.checked_sub(1).map(Some),
                count => Some(count),
            };
            values[usize::from(item.slot)] = value;
            left.is_some_and(|left| self.visit(values, rest, left, visit))
        });
        values[usize::from(item.slot)] = ABSENT;
        found
    }

    /// Returns true if a rule refuses what is there, or a floor that it needs is not met, whatever fills the open places.
    fn is_refused(&self, values: &[u8], open: &[&'static Item]) -> bool {
        let (data, entry) = (self.form.instruction().data(), self.form.syntax().entry);
        let holds = |all: &[Forbidden]| {
            let is_open = |slot: u8| open.iter().any(|item| item.slot == slot);
            all.iter().all(|one| one.holds(values) && !is_open(one.slot))
        };
        let mut rules = data.rules.iter().filter(|rule| rule.decides == Some(entry));
        let mut floors = data.free_floors.iter().filter(|floor| floor.entry == entry);
        rules.any(|rule| holds(rule.forbids)) || floors.any(|floor| holds(floor.when) && !(self.there)(&floor.floor))
    }
}

/// The members that an item takes.
pub(super) fn members(item: &Item, slot: &'static Slot) -> impl Iterator<Item = (u8, &'static str)> + use<> {
    let own = item.members;
    let members = slot.members.iter().enumerate().filter(move |(index, _)| own >> index & 1 == 1);
    members.map(|(index, member)| (index as u8, *member))
}
