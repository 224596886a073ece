//! The index that the scripts of every page read: opcodes, their forms and floors, and the words that find them.
//!
//! It must be small, since it comes before the first answer: a form is a few letters of base 64, two for its floor and two for its
//! line of syntax where these change, and one for the members in each place of the line; of free modifiers only those that a form cannot do without.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ptx_isa::TABLE;
use ptx_isa::reference::page::{Manual, Page};
use ptx_isa::table::{ABSENT, FormInfo, InstructionInfo, Least};
use ptx_isa::target::{Floor, Removed, Target, Version};
use ptx_isa::text::spelling;
use serde::Serialize;

use super::shared::Shared;
use crate::cli::names;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// In place of a floor and a line that are those of the form before.
const SAME: char = '.';

/// The last digit of a number in base 64.
fn digit(number: usize) -> char {
    char::from(DIGITS[number & 63])
}

/// Requirements of forms.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Need {
    pub(super) since: Least,
    /// From when on they are gone.
    pub(super) removed: Option<Removed>,
}

impl Need {
    pub(super) fn of(form: FormInfo) -> Need {
        Need { since: spelling::since(form), removed: form.floor().removed }
    }

    /// The needs of several forms of which none is above another, the first versions first.
    pub(super) fn lowest(forms: impl Iterator<Item = FormInfo>) -> Vec<Need> {
        let all: BTreeSet<Need> = forms.map(Need::of).collect();
        let has = |low: &Need, target| low.since.targets.iter().any(|lower| TABLE.families().has(target, *lower));
        let is_below = |low: &Need, high: &Need| {
            let targets = high.since.targets.iter().all(|target| has(low, *target));
            low.since.ptx <= high.since.ptx && low.removed.is_none() && targets
        };
        all.iter().filter(|need| !all.iter().any(|other| other != *need && is_below(other, need))).cloned().collect()
    }
}

impl From<&Floor> for Need {
    fn from(floor: &Floor) -> Need {
        Need { since: Least { ptx: floor.ptx, targets: floor.targets.to_vec() }, removed: floor.removed }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.since)?;
        self.removed.map_or(Ok(()), |removed| write!(f, ", {removed}"))
    }
}

/// A need as the script compares it: the version's place, the targets, and from when on it is gone.
#[derive(Serialize, Clone, PartialEq, Eq, Hash)]
pub(super) struct Wanted(usize, Vec<String>, Option<(usize, u16)>);

/// Requirements of forms and of cells of matrices, each once.
pub(super) struct Floors(Shared<Wanted>);

impl Floors {
    pub(super) fn new() -> Floors {
        Floors(Shared::new())
    }

    pub(super) fn place(&mut self, Need { since, removed }: &Need) -> usize {
        let version = |wanted: Version| TABLE.versions.iter().position(|known| *known == wanted).unwrap_or_default();
        let removed = removed.map(|removed| (version(removed.ptx), removed.target.sm));
        self.0.place(Wanted(version(since.ptx), since.targets.iter().map(Target::to_string).collect(), removed))
    }
}

/// Something with a name and a place on a page: its kind, name, description and address.
#[derive(Serialize)]
pub(super) struct Named(pub(super) &'static str, pub(super) String, pub(super) &'static str, pub(super) String);

#[derive(Serialize)]
struct Index<'a> {
    versions: Vec<String>,
    targets: Vec<String>,
    /// For each target the place of the first version that has it.
    since: Vec<Option<usize>>,
    families: &'static [&'static [u16]],
    floors: &'a [Wanted],
    /// Number and title.
    chapters: Vec<(&'static str, &'static str)>,
    opcodes: Vec<Opcode>,
    members: &'a [&'static [&'static str]],
    /// Everything else that has a name: special registers, directives, types, state spaces.
    names: Vec<Named>,
    /// For each word the opcodes that it says something of, four times their number and how much it says, from 1 to 3.
    words: BTreeMap<String, Vec<usize>>,
}

#[derive(Serialize)]
struct Opcode {
    name: &'static str,
    /// The numbers of its chapters.
    chapters: Vec<usize>,
    summary: &'static str,
    /// The words of the names that others use for it.
    also: BTreeSet<String>,
    /// Name, whether it is free, and the place of its members among all lists of members.
    slots: Vec<(&'static str, u8, usize)>,
    /// The places of each line of syntax that some form cannot do without.
    lines: Vec<Vec<u8>>,
    forms: String,
}

/// The script. Floors that pages name must have been placed before.
pub(super) fn script(
    manual: &'static Manual,
    pages: &[&'static Page],
    names: Vec<Named>,
    floors: &mut Floors,
) -> serde_json::Result<String> {
    let mut members = Shared::new();
    let described = TABLE.instructions().zip(pages);
    let opcodes = described.map(|(info, page)| opcode(info, page, manual, floors, &mut members)).collect();
    let index = Index {
        versions: TABLE.versions.iter().map(Version::to_string).collect(),
        targets: TABLE.targets.iter().map(|info| info.target.to_string()).collect(),
        since: TABLE.targets.iter().map(|info| TABLE.versions.iter().position(|known| *known == info.since)).collect(),
        families: TABLE.families,
        chapters: manual.chapters.iter().map(|chapter| (chapter.number, chapter.title)).collect(),
        opcodes,
        members: members.list(),
        names,
        words: words(manual, pages),
        floors: floors.0.list(),
    };
    Ok(format!("const PTX={};\n", serde_json::to_string(&index)?))
}

fn opcode(
    info: InstructionInfo,
    page: &'static Page,
    manual: &'static Manual,
    floors: &mut Floors,
    members: &mut Shared<&'static [&'static str]>,
) -> Opcode {
    let slots = &info.data().slots;
    let mut spelt: BTreeSet<String> = BTreeSet::new();
    let forms: Vec<(FormInfo, Vec<u8>)> = info
        .forms()
        .filter(|form| spelt.insert(spelling::mnemonic(*form).into_owned()))
        .map(|form| (form, form.values_with(&spelling::needed(form))))
        .collect();
    let lines = info.syntaxes().iter().enumerate().map(|(line, syntax)| {
        let is_there = |slot: &u8| {
            let needed =
                |(form, values): &(FormInfo, Vec<u8>)| form.line() == line && values[usize::from(*slot)] != ABSENT;
            !slots[usize::from(*slot)].free || forms.iter().any(needed)
        };
        syntax.items.iter().map(|item| item.slot).filter(is_there).collect::<Vec<u8>>()
    });
    let lines: Vec<Vec<u8>> = lines.collect();
    let mut text = String::new();
    let mut before = None;
    for (form, values) in &forms {
        let head = (floors.place(&Need::of(*form)), form.line());
        if before.replace(head) == Some(head) {
            text.push(SAME);
        } else {
            [head.0, head.1]
                .iter()
                .flat_map(|number| [number >> 6, *number])
                .for_each(|number| text.push(digit(number)));
        }
        text.extend(lines[form.line()].iter().map(|slot| digit(values[usize::from(*slot)].into())));
    }
    Opcode {
        name: info.data().opcode,
        chapters: chapters(manual, page),
        summary: page.summary,
        also: page.entries.iter().flat_map(|entry| entry.also).map(|name| names::phrase(name)).collect(),
        slots: slots.iter().map(|slot| (slot.name, slot.free.into(), members.place(slot.members))).collect(),
        lines,
        forms: text,
    }
}

/// The numbers of the chapters that describe an opcode.
pub(super) fn chapters(manual: &Manual, page: &Page) -> Vec<usize> {
    let number = |section: &str| {
        let chapter = manual.chapter(section)?;
        manual.chapters.iter().position(|other| other.number == chapter.number)
    };
    let mut found: Vec<usize> = page.entries.iter().filter_map(|entry| number(entry.section)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Words of two letters tell nothing.
const SHORTEST: usize = 3;

/// The words of summaries, of titles, and of all else that is said of opcodes; what they are called elsewhere is said whole.
fn words(manual: &Manual, pages: &[&Page]) -> BTreeMap<String, Vec<usize>> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, page) in pages.iter().enumerate() {
        let mut add = |text: &str, weight: usize| {
            let words =
                text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| word.len() >= SHORTEST);
            for word in words.filter(|word| word.bytes().any(|byte| byte.is_ascii_alphabetic())) {
                let list = found.entry(word.to_ascii_lowercase()).or_default();
                if list.last().is_none_or(|last| last / 4 != number) {
                    list.push(number * 4 + weight);
                }
            }
        };
        // In decreasing order of weight: only the first occurrence of a word counts.
        add(page.summary, 3);
        page.entries.iter().for_each(|entry| add(entry.summary, 3));
        for chapter in chapters(manual, page) {
            add(manual.chapters[chapter].title, 2);
        }
        for entry in page.entries {
            entry.details.iter().for_each(|paragraph| add(paragraph, 1));
        }
        for modifier in page.modifiers {
            add(modifier.description, 1);
            modifier.members.iter().for_each(|member| add(member.description, 1));
        }
    }
    // A word that occurs on most pages does not identify any of them.
    found.retain(|_, list| list.len() * 2 < pages.len());
    found
}
