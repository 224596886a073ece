//! Additions of each PTX version and of each target, derived from the floors of the table.

use std::collections::BTreeSet;

use ptx_isa::TABLE;
use ptx_isa::reference::page::Page;
use ptx_isa::table::FormInfo;
use ptx_isa::target::{Floor, Target, Version};
use ptx_isa::text::spelling;

use super::index::{Floors, Named, Need};
use super::sheet::{Row, Section, Sheet, code};
use super::{prose, vocabulary};
use crate::cli::names::forms_of;

/// The page that leads to the others.
pub(super) const FILE: (&str, &str) = ("news.html", "What is new");

/// A version or a target that something may be new with.
#[derive(Clone, Copy)]
enum Since {
    Version(Version),
    Target(Target),
}

impl Since {
    fn is_of(self, need: &Need) -> bool {
        match self {
            Since::Version(version) => need.since.ptx == version,
            Since::Target(target) => need.since.targets.contains(&target),
        }
    }

    fn name(self) -> String {
        match self {
            Since::Version(version) => format!("PTX {version}"),
            Since::Target(target) => target.to_string(),
        }
    }

    fn file(self) -> String {
        match self {
            Since::Version(version) => format!("v-{version}.html"),
            Since::Target(target) => format!("t-{target}.html"),
        }
    }
}

/// An instruction, and what its forms need.
struct Known {
    page: &'static Page,
    forms: Vec<(FormInfo, Need)>,
}

/// The pages, and their names for the search.
pub(super) fn sheets(pages: &[&'static Page], floors: &mut Floors) -> (Vec<Sheet>, Vec<Named>) {
    let known = |page: &&'static Page| Known {
        page,
        forms: forms_of(page.opcode).map(|form| (form, Need::of(form))).collect(),
    };
    let known: Vec<Known> = pages.iter().map(known).collect();
    let versions: Vec<Since> = TABLE.versions.iter().rev().map(|version| Since::Version(*version)).collect();
    let targets: Vec<Since> = TABLE.targets.iter().rev().map(|info| Since::Target(info.target)).collect();
    let (mut sheets, mut names) = (Vec::new(), Vec::new());
    let mut overview = Vec::new();
    for (id, title, all) in [("versions", "PTX versions", versions), ("targets", "Targets", targets)] {
        let rows: Vec<Row> = all
            .into_iter()
            .map(|since| {
                let sheet = sheet(since, &known, floors);
                let link = format!("<a href=\"{}\"><code>{}</code></a>", sheet.file, since.name());
                let counts = sheet.sections.iter().map(|section| format!("{}: {}", section.title, section.rows.len()));
                let counts = counts.collect::<Vec<_>>().join("; ");
                names.push(Named("new", format!("New in {}", since.name()), "", sheet.file.clone()));
                sheets.push(sheet);
                Row::new(vec![link, if counts.is_empty() { "nothing of its own".to_owned() } else { counts }])
            })
            .collect();
        overview.extend(Section::of(id, title, &["Since", "What is new"], rows));
    }
    let lead = "What each version of PTX and each target has that those before it do not, computed from the table.";
    let (file, title) = (FILE.0.to_owned(), FILE.1.to_owned());
    sheets.push(Sheet { file, title, lead: lead.to_owned(), body: String::new(), sections: overview });
    (sheets, names)
}

fn sheet(since: Since, known: &[Known], floors: &mut Floors) -> Sheet {
    let is_new = |floor: &Floor| since.is_of(&Need::from(floor));
    let words = |floor: &Floor| floor.to_string();
    let mut sections = Vec::new();
    if let Since::Version(version) = since {
        let targets = TABLE.targets.iter().filter(|info| info.since == version);
        let row = |target: Target| {
            let file = Since::Target(target).file();
            Row::new(vec![format!("<a href=\"{file}\"><code>{target}</code></a>")])
        };
        sections.push(Section::of("targets", "Targets", &["Target"], targets.map(|info| row(info.target))));
    }
    // Of an instruction that is new, all is.
    let is_first = |known: &&Known| match since {
        Since::Version(_) => known.forms.iter().all(|(_, need)| !is_before(need, since)),
        Since::Target(_) => known.forms.iter().all(|(_, need)| since.is_of(need)),
    };
    let with = |first: bool| {
        let some = known.iter().filter(|known| known.forms.iter().any(|(_, need)| since.is_of(need)));
        some.filter(move |known| is_first(known) == first)
    };
    let link = |page: &Page| format!("<a href=\"{}\"><code>{}</code></a>", super::file(page.opcode), page.opcode);
    let first = with(true).map(|known| Row::new(vec![link(known.page), prose(known.page.summary)]));
    sections.push(Section::of("instructions", "Instructions", &["Instruction", "What it does"], first));
    let more = with(false).map(|known| {
        let of = known.forms.iter().filter(|(_, need)| since.is_of(need)).map(|(form, _)| spelling::mnemonic(*form));
        let spelt: BTreeSet<_> = of.collect();
        let links =
            spelt.iter().take(SHOWN).map(|name| format!("<a href=\"explorer.html#{name}\"><code>{name}</code></a>"));
        let more = match spelt.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and <a href=\"f-{}.html\">{more} more</a>", super::stem(known.page.opcode)),
        };
        Row::new(vec![link(known.page), links.collect::<Vec<_>>().join(", ") + &more])
    });
    sections.push(Section::of("forms", "Forms of other instructions", &["Instruction", "Forms"], more));
    let modifiers = known.iter().flat_map(|known| {
        free_modifiers(known.page, since).map(|words| Row::new(vec![link(known.page), prose(&words)]))
    });
    sections.push(Section::of("modifiers", "Modifiers and conditions", &["Instruction", "Where"], modifiers));
    let families = vocabulary::families().into_iter().filter(|family| is_new(&family[0].floor));
    let registers = families.map(|family| {
        let (name, floor) = (vocabulary::family_name(&family), &family[0].floor);
        Row::named("", Some(floor), floors, vec![name, prose(family[0].description), words(floor)])
    });
    let registers: Vec<Row> = registers.collect();
    sections.push(Section::of("registers", "Special registers", &["Register", "Meaning", "Exists since"], registers));
    let directives = TABLE.directives.iter().filter(|one| is_new(&one.floor)).map(|one| {
        let name = code(&format!(".{}", one.name));
        Row::named("", Some(&one.floor), floors, vec![name, prose(one.description), words(&one.floor)])
    });
    let directives: Vec<Row> = directives.collect();
    sections.push(Section::of("directives", "Directives", &["Directive", "Meaning", "Exists since"], directives));
    Sheet {
        file: since.file(),
        title: format!("New in {}", since.name()),
        lead: format!("New in {}, computed from the table.", since.name()),
        body: String::new(),
        sections: sections.into_iter().flatten().collect(),
    }
}

/// Maximum number of forms that are named; the list of the opcode has all.
const SHOWN: usize = 2;

fn is_before(need: &Need, since: Since) -> bool {
    matches!(since, Since::Version(version) if need.since.ptx < version)
}

/// The conditions of a page under which forms need a version or a target: modifiers that are in no form above all.
fn free_modifiers(page: &'static Page, since: Since) -> impl Iterator<Item = String> {
    let floors = page.entries.iter().flat_map(|entry| entry.floors).filter(|floor| floor.lenient.is_none());
    let named = floors.filter_map(move |floor| {
        let is_new = match since {
            Since::Version(version) => floor.ptx.and_then(|ptx| ptx.parse::<Version>().ok()) == Some(version),
            Since::Target(target) => floor.target.and_then(|name| name.parse::<Target>().ok()) == Some(target),
        };
        floor.words.filter(|_| is_new).map(str::to_owned)
    });
    named.collect::<BTreeSet<String>>().into_iter()
}
