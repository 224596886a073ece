//! Contents of a page by meaning: where an opcode has many entries, a table by what tells them apart, and other opcodes to see.

use std::collections::{BTreeMap, BTreeSet};

use ptx_isa::TABLE;
use ptx_isa::reference::page::{Manual, Page};
use ptx_isa::table::{FormInfo, Free, Item};

use super::index;
use crate::cli::names::forms_of;

/// With fewer entries a list is shorter.
const FEWEST: usize = 6;

/// A table of more rows is longer than what it leads to.
const MOST: usize = 40;

/// Entries by two properties of their forms.
pub(super) struct Contents {
    pub(super) across: String,
    pub(super) down: String,
    pub(super) columns: Vec<&'static str>,
    /// A name, and for each column the numbers of entries.
    pub(super) rows: Vec<(&'static str, Vec<Vec<usize>>)>,
}

/// What forms are grouped by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Property {
    /// The type of the source: the second type of the mnemonic.
    Source,
    /// The first type of the mnemonic.
    Destination,
    /// Modifiers of one name, whatever numbers follow it.
    Modifier(&'static str),
}

impl Property {
    fn name(&self) -> String {
        match self {
            Property::Source => "source type".to_owned(),
            Property::Destination => "destination type".to_owned(),
            Property::Modifier(name) => format!("`.{name}`"),
        }
    }
}

/// The properties of a form, and the words that it may have there.
fn properties(page: &Page, form: FormInfo) -> BTreeMap<Property, Vec<&'static str>> {
    let slots = form.instruction().data().slots;
    let line = page.entries.iter().flat_map(|entry| entry.syntax).nth(form.line());
    let words = |item: &Item| {
        let slot = &slots[usize::from(item.slot)];
        let free = || line?.items.iter().find(|own| own.name == slot.name).map(|own| own.members.to_vec());
        let own = || form.modifier(&Free::NONE, item.slot).into_iter().collect();
        (slot.name, if slot.free && !item.optional { free().unwrap_or_default() } else { own() })
    };
    let words = form.syntax().items.iter().map(words).filter(|(_, words)| !words.is_empty());
    let is_type = |word: &&str| TABLE.types.iter().any(|ty| ty.name == *word);
    let (types, others): (Vec<_>, Vec<_>) = words.partition(|(_, words)| words.iter().all(is_type));
    let others = others.into_iter().filter(|(name, words)| *words != [*name]);
    let stem = |name: &'static str| name.trim_end_matches(|last: char| last.is_ascii_digit());
    let mut found: BTreeMap<Property, _> =
        others.map(|(name, words)| (Property::Modifier(stem(name)), words)).collect();
    let mut types = types.into_iter().map(|(_, words)| words);
    if let Some(first) = types.next() {
        found.insert(Property::Source, types.next().unwrap_or_else(|| first.clone()));
        found.insert(Property::Destination, first);
    }
    found
}

/// The contents; `None` where a list does.
pub(super) fn of(page: &'static Page) -> Option<Contents> {
    if page.entries.len() < FEWEST {
        return None;
    }
    let forms: Vec<(usize, BTreeMap<Property, Vec<&'static str>>)> =
        forms_of(page.opcode).map(|form| (form.syntax().entry.into(), properties(page, form))).collect();
    let in_order = |property: &Property| {
        let mut names: Vec<&'static str> = Vec::new();
        for name in forms.iter().filter_map(|(_, own)| own.get(property)).flatten() {
            if !names.contains(name) {
                names.push(name);
            }
        }
        names
    };
    let shared: BTreeSet<&Property> = forms.iter().flat_map(|(_, own)| own.keys()).collect();
    let shared = shared.into_iter().filter(|property| forms.iter().all(|(_, own)| own.contains_key(property)));
    let shared: Vec<&Property> = shared.filter(|property| in_order(property).len() <= MOST).collect();
    let cells = |across: &Property, down: &Property| {
        let mut cells: BTreeMap<(&'static str, &'static str), BTreeSet<usize>> = BTreeMap::new();
        for (entry, own) in &forms {
            for (row, column) in own[down].iter().flat_map(|row| own[across].iter().map(move |column| (*row, *column)))
            {
                cells.entry((row, column)).or_default().insert(*entry);
            }
        }
        cells
    };
    // The fewer entries share a cell, the better a pair tells them apart.
    let crowd = |pair: &(&Property, &Property)| {
        let cells = cells(pair.0, pair.1);
        cells.values().map(BTreeSet::len).sum::<usize>() * 1000 / cells.len().max(1)
    };
    let across = *shared.first()?;
    let (across, down) = shared.iter().skip(1).map(|down| (across, *down)).min_by_key(crowd)?;
    let cells = cells(across, down);
    let columns = in_order(across);
    let row = |name: &'static str| {
        let cell = |column: &&'static str| cells.get(&(name, *column)).into_iter().flatten().map(|entry| entry + 1);
        (name, columns.iter().map(|column| cell(column).collect()).collect())
    };
    let rows = in_order(down).into_iter().map(row).collect();
    Some(Contents { across: across.name(), down: down.name(), rows, columns })
}

/// Functions that opcodes with more first words use say little of them.
const COMMON: usize = 3;

/// For each page the opcodes that it names, or that name it, or that are of its chapter and compute alike.
pub(super) fn see_also(manual: &Manual, pages: &[&'static Page]) -> Vec<Vec<&'static str>> {
    let named = |page: &'static Page| {
        let texts = page.entries.iter().flat_map(|entry| {
            let errata = entry.errata.iter().flat_map(|erratum| [erratum.subject, erratum.manual, erratum.machine]);
            [entry.summary].into_iter().chain(entry.details.iter().copied()).chain(errata)
        });
        let codes = texts.flat_map(|text| text.split('`').skip(1).step_by(2));
        codes.filter_map(|code| pages.iter().position(|other| other.opcode == code)).collect::<BTreeSet<usize>>()
    };
    let names: Vec<BTreeSet<usize>> = pages.iter().map(|page| named(page)).collect();
    let functions = |page: &Page| page.functions.iter().map(|function| function.signature).collect::<BTreeSet<&str>>();
    let functions: Vec<BTreeSet<&str>> = pages.iter().map(|page| functions(page)).collect();
    let chapters: Vec<Vec<usize>> = pages.iter().map(|page| index::chapters(manual, page)).collect();
    let is_rare = |function: &str| {
        let users = pages.iter().zip(&functions).filter(|(_, own)| own.contains(function));
        users.map(|(page, _)| page.opcode.split('.').next()).collect::<BTreeSet<_>>().len() <= COMMON
    };
    // They share a rare function, and at least three of ten that either of them has.
    let compute_alike = |one: usize, other: usize| {
        let (shared, all) =
            (functions[one].intersection(&functions[other]), functions[one].union(&functions[other]).count());
        let is_one_chapter = chapters[one].iter().any(|chapter| chapters[other].contains(chapter));
        is_one_chapter && shared.clone().count() * 10 >= all * 3 && shared.clone().any(|function| is_rare(function))
    };
    let near = |number: usize| {
        let named_by = (0..pages.len()).filter(|other| names[*other].contains(&number));
        let alike = (0..pages.len()).filter(|other| compute_alike(number, *other));
        let all: BTreeSet<usize> = names[number].iter().copied().chain(named_by).chain(alike).collect();
        all.into_iter().filter(|other| *other != number).map(|other| pages[other].opcode).collect()
    };
    (0..pages.len()).map(near).collect()
}
