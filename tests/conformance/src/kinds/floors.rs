//! Every family of forms on all targets and versions: at its floor, just below, and everywhere else.

use std::collections::BTreeSet;

use ptx_isa::TABLE;
use ptx_isa::table::{ABSENT, FormInfo};
use ptx_isa::target::{Floor, Target, Version};

use super::{Batch, Extent, context};
use crate::forms::{free, one_each, plain_type, statement, statement_with};
use crate::random::{Random, hash};

/// Returns what a floor may depend on: instruction, syntax line, filled slots, and the types in them.
fn family(form: FormInfo) -> (usize, usize, Vec<Option<u8>>) {
    let instruction = form.instruction();
    let values = form.values().iter().enumerate();
    let values = values.map(|(slot, &value)| match value {
        ABSENT => None,
        value => Some(if instruction.slots[slot].types { value } else { 0 }),
    });
    (instruction.index(), form.line(), values.collect())
}

/// Versions and targets that know each other; for a quick run those at some floor, just below, the newest, and those of
/// known differences.
fn pairs(extent: &Extent) -> Vec<(Version, Target)> {
    let versions = TABLE.versions.iter().copied();
    let pairs = versions.flat_map(|version| TABLE.targets.iter().map(move |info| (version, info)));
    let pairs = pairs.filter(|(version, info)| info.since <= *version).map(|(version, info)| (version, info.target));
    let mut pairs: Vec<(Version, Target)> = pairs.collect();
    if extent.quick {
        let (versions, numbers) = near_floors();
        let known = extent.known.places("floors");
        pairs.retain(|(version, target)| {
            let near = versions.contains(version) && numbers.contains(&target.sm) && target.suffix.is_none();
            near || known.contains(&*format!("{version} {target}"))
        });
    }
    pairs.sort();
    pairs
}

/// Versions and numbers of targets at some floor, just below, and the newest.
fn near_floors() -> (BTreeSet<Version>, BTreeSet<u16>) {
    let forms = TABLE.forms().flat_map(|form| {
        [Some(form.floor()), form.lenient_floor().map(|relaxed| &relaxed.floor)].into_iter().flatten()
    });
    let free = TABLE.instructions().flat_map(|instruction| instruction.data().free_floors);
    let floors: Vec<&Floor> = forms.chain(free.map(|free| &free.floor)).collect();
    let versions: Vec<Version> = TABLE.versions.to_vec();
    let numbers: BTreeSet<u16> = TABLE.targets.iter().map(|info| info.target.sm).collect();
    let numbers: Vec<u16> = numbers.into_iter().collect();
    (
        near(&versions, floors.iter().map(|floor| floor.ptx)),
        near(&numbers, floors.iter().map(|floor| floor.target().sm)),
    )
}

/// Those of a list that are wanted, each with the one before it, and the last.
fn near<T: Copy + Ord>(list: &[T], wanted: impl Iterator<Item = T>) -> BTreeSet<T> {
    let places = wanted.filter_map(|one| list.iter().position(|other| *other == one));
    places.flat_map(|place| [list[place.saturating_sub(1)], list[place]]).chain(list.last().copied()).collect()
}

/// Statements with free modifiers that ask for more than their forms do, with what they ask for.
fn free_floors() -> impl Iterator<Item = (&'static Floor, String)> {
    let mut random = Random::new(0);
    TABLE.instructions().flat_map(move |instruction| {
        let asking: Vec<_> = instruction.data().free_floors.iter().collect();
        let forms: Vec<FormInfo> = instruction.forms().collect();
        let mut found = Vec::new();
        for free_floor in asking {
            // A form and a choice for which it is asked, if few tries find one.
            let mut tries = (0..300).filter_map(|_| {
                let form = *random.of(&forms);
                let free = free(form, &mut random)?;
                form.floors_with(&free).any(|other| core::ptr::eq(other, free_floor)).then_some((form, free))
            });
            found.extend(tries.next().map(|(form, free)| {
                let register = |index, operand: &_| format!("{}_{}", TABLE.ty(plain_type(operand)).name, index % 4);
                (&free_floor.floor, statement_with(form, &free, register))
            }));
        }
        found
    })
}

pub(crate) fn batches(extent: &Extent, take: &mut dyn FnMut(Batch)) {
    let lines = one_each(family).into_iter().map(|form| {
        let register = |index, operand: &_| format!("{}_{}", TABLE.types[plain_type(operand).index()].name, index % 4);
        (form.floor(), statement(form, register))
    });
    let lines: Vec<_> = lines.chain(free_floors()).collect();
    for (version, target) in pairs(extent) {
        // A quick run tries each form at its floor, where it is known to differ, and in one place of 24.
        let name = format!("{version} {target}");
        let place = hash(&name, extent.seed);
        let tried = |(floor, line): &&(&Floor, String)| {
            let at_floor = (floor.ptx, floor.target()) == (version, target);
            let known = || extent.known.lists("floors", &name, line);
            !extent.quick || at_floor || hash(line, place).is_multiple_of(24) || known()
        };
        let lines = lines.iter().filter(tried).map(|(_, line)| line.clone());
        take(Batch { context: context(version, target), lines: lines.collect() });
    }
}
