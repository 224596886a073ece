//! Search index that the scripts of every page load: opcodes, their forms and floors, and the words that find them.
//!
//! It must be small, since it is loaded before the first answer: a form is a few letters of base 64, two for its floor,
//! two for its line of syntax, and one for the value of each modifier of the line; free modifiers are not part of a
//! form.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ptx_isa::TABLE;
use ptx_isa::reference::page::{Manual, Page};
use ptx_isa::table::{FormInfo, InstructionInfo, Least};
use ptx_isa::target::{Removed, Target, Version};
use ptx_isa::text::spelling;
use serde::Serialize;

use super::shared::Shared;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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

#[derive(Serialize)]
struct Index<'a> {
    versions: Vec<String>,
    targets: Vec<String>,
    families: &'static [&'static [u16]],
    floors: &'a [Wanted],
    /// Number and title.
    chapters: Vec<(&'static str, &'static str)>,
    opcodes: Vec<Opcode>,
    /// For each word the opcodes that it says something of, four times their number and how much it says, from 1 to 3.
    words: BTreeMap<String, Vec<usize>>,
}

#[derive(Serialize)]
struct Opcode {
    name: &'static str,
    /// The numbers of its chapters.
    chapters: Vec<usize>,
    summary: &'static str,
    /// Name, whether it is free, and members.
    slots: Vec<(&'static str, bool, &'static [&'static str])>,
    /// The modifiers of each line of syntax, without free ones.
    lines: Vec<Vec<u8>>,
    forms: String,
}

/// The script. Floors that pages name must have been placed before.
pub(super) fn script(
    manual: &'static Manual,
    pages: &[&'static Page],
    floors: &mut Floors,
) -> serde_json::Result<String> {
    let opcodes = TABLE.instructions().zip(pages).map(|(info, page)| opcode(info, page, manual, floors)).collect();
    let index = Index {
        versions: TABLE.versions.iter().map(Version::to_string).collect(),
        targets: TABLE.targets.iter().map(|info| info.target.to_string()).collect(),
        families: TABLE.families,
        chapters: manual.chapters.iter().map(|chapter| (chapter.number, chapter.title)).collect(),
        opcodes,
        words: words(manual, pages),
        floors: floors.0.list(),
    };
    Ok(format!("const PTX={};\n", serde_json::to_string(&index)?))
}

fn opcode(info: InstructionInfo, page: &'static Page, manual: &'static Manual, floors: &mut Floors) -> Opcode {
    let slots = &info.data().slots;
    let lines = info.syntaxes().iter().map(|line| {
        line.items.iter().map(|item| item.slot).filter(|slot| !slots[usize::from(*slot)].free).collect::<Vec<u8>>()
    });
    let lines: Vec<Vec<u8>> = lines.collect();
    let mut text = String::new();
    let mut push = |digit: usize| text.push(char::from(DIGITS[digit & 63]));
    let mut last = None;
    for form in info.forms().filter(is_first) {
        let floor = floors.place(&Need::of(form));
        // The line is said where it is another one.
        for number in [floor, form.line()] {
            push(number >> 6);
            push(number);
        }
        lines[form.line()].iter().for_each(|slot| push(form.values()[usize::from(*slot)].into()));
        last = Some(form);
    }
    debug_assert!(last.is_some());
    Opcode {
        name: info.data().opcode,
        chapters: chapters(manual, page),
        summary: page.summary,
        slots: slots.iter().map(|slot| (slot.name, slot.free, slot.members)).collect(),
        lines,
        forms: text,
    }
}

/// Of forms of one mnemonic, which have other operands each, the first.
fn is_first(form: &FormInfo) -> bool {
    TABLE.form(form.mnemonic()) == Some(*form)
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

/// The words of what opcodes are called elsewhere, of summaries, of titles, and of all else that is said of opcodes.
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
        page.entries.iter().flat_map(|entry| entry.also).for_each(|phrase| add(phrase, 3));
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
