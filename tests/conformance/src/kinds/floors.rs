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

/// Versions and targets that know each other; for a quick run those at some floor, just below, and the newest.
fn pairs(quick: bool) -> Vec<(Version, Target)> {
    let mut versions: BTreeSet<Version> = TABLE.versions.iter().copied().collect();
    let mut targets: BTreeSet<Target> = TABLE.targets.iter().map(|info| info.target).collect();
    if quick {
        let floors = TABLE.forms().flat_map(|form| {
            [Some(form.floor()), form.lenient_floor().map(|relaxed| &relaxed.floor)].into_iter().flatten()
        });
        let free = TABLE.instructions().flat_map(|instruction| instruction.data().free_floors);
        let floors: Vec<_> = floors.chain(free.map(|free| &free.floor)).collect();
        let list = TABLE.versions;
        let places = floors.iter().filter_map(|floor| list.iter().position(|version| *version == floor.ptx));
        versions = places
            .flat_map(|place| [list[place.saturating_sub(1)], list[place]])
            .chain([list[list.len() - 1]])
            .collect();
        let numbers: BTreeSet<u16> = targets.iter().map(|target| target.sm).collect();
        let numbers: Vec<u16> = numbers.into_iter().collect();
        let places = floors.iter().filter_map(|floor| numbers.iter().position(|sm| *sm == floor.target().sm));
        let near: BTreeSet<u16> = places
            .flat_map(|place| [numbers[place.saturating_sub(1)], numbers[place]])
            .chain([numbers[numbers.len() - 1]])
            .collect();
        targets.retain(|target| near.contains(&target.sm) && target.suffix.is_none());
    }
    let since = |target: Target| TABLE.targets.iter().find(|info| info.target == target).map(|info| info.since);
    let pairs = versions.iter().flat_map(|version| targets.iter().map(move |target| (*version, *target)));
    pairs.filter(|(version, target)| since(*target).is_some_and(|since| since <= *version)).collect()
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
    for (version, target) in pairs(extent.quick) {
        // A quick run tries each form at its floor, and in one place of 24.
        let place = hash(&format!("{version} {target}"), extent.seed);
        let tried = |(floor, line): &&(&Floor, String)| {
            let at_floor = (floor.ptx, floor.target()) == (version, target);
            !extent.quick || at_floor || hash(line, place).is_multiple_of(24)
        };
        let lines = lines.iter().filter(tried).map(|(_, line)| line.clone());
        take(Batch { context: context(version, target), lines: lines.collect() });
    }
}
