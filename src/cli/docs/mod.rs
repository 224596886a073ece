//! `ptx-isa docs`: the reference as a site of plain files, which opens from disk.
//!
//! The pages of `reference` and the table make all of it; templates in `templates/` say how it looks. This module
//! knows no instruction.

mod index;
mod railroad;
mod recorded;
mod shared;
mod told;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};

use askama::Template;
use base64::Engine;
use flate2::Compression;
use flate2::write::GzEncoder;
use ptx_isa::TABLE;
use ptx_isa::reference::page::{
    self, Chapter, Entry, Example, Floor, Fragment, Line, Manual, Matrix, Modifier, Page, Row, Source,
};
use ptx_isa::reference::{REFERENCE, examples, form};
use ptx_isa::table::{FormInfo, Free};
use ptx_isa::target::{Target, Version};

use self::index::{Floors, Need};
use self::recorded::Recorded;
use super::names::forms_of;
use super::{DocsArguments, Outcome, folder};

/// Style sheet and scripts of all pages.
const FILES: [(&str, &str); 5] = [
    ("site.css", include_str!("../../../templates/site.css")),
    ("site.js", include_str!("../../../templates/site.js")),
    ("search.js", include_str!("../../../templates/search.js")),
    ("explorer.js", include_str!("../../../templates/explorer.js")),
    ("pictures.js", include_str!("../../../templates/pictures.js")),
];

pub(super) fn run(arguments: &DocsArguments, quiet: bool) -> io::Result<Outcome> {
    let DocsArguments { out, wasm, recorded: results, held } = arguments;
    let mut recorded = Recorded::default();
    for (path, add) in [(results, Recorded::results as fn(&mut Recorded, &str)), (held, Recorded::held)] {
        let Some(path) = path else { continue };
        match fs::read_to_string(path) {
            Ok(text) => add(&mut recorded, &text),
            Err(error) => {
                super::complain(format_args!("cannot read {}: {error}", path.display()));
                return Ok(Outcome::Unusable);
            }
        }
    }
    let recorded = (results.is_some() || held.is_some()).then_some(recorded);
    let module =
        match wasm.as_ref().map(|path| (path, fs::read(path))).map(|(path, read)| (path, read.and_then(packed))) {
            Some((path, Err(error))) => {
                super::complain(format_args!("cannot read {}: {error}", path.display()));
                return Ok(Outcome::Unusable);
            }
            Some((_, Ok(module))) => Some(module),
            None => None,
        };
    let files = files(module.as_deref(), recorded.as_ref())?;
    if let Err(error) = folder::write(out, &files) {
        super::complain(format_args!("cannot write to {}: {error}", out.display()));
        return Ok(Outcome::Unusable);
    }
    if quiet {
        return Ok(Outcome::Fine);
    }
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    let mut stdout = anstream::stdout().lock();
    writeln!(stdout, "{} files, {} kB: open {}", files.len(), bytes.div_ceil(1000), out.join("index.html").display())?;
    if module.is_none() {
        writeln!(stdout, "without --wasm the explorer does not evaluate")?;
    }
    Ok(Outcome::Fine)
}

/// A module as text: compressed, so that a site of plain files stays small.
fn packed(module: Vec<u8>) -> io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(7));
    encoder.write_all(&module)?;
    Ok(base64::engine::general_purpose::STANDARD.encode(encoder.finish()?))
}

/// Every file of the site by name.
fn files(module: Option<&str>, recorded: Option<&Recorded>) -> io::Result<Vec<(String, String)>> {
    let render = |template: Result<String, askama::Error>| template.map_err(io::Error::other);
    let Some(manual) = &REFERENCE.manual else { return Err(io::Error::other("the spec names no manual")) };
    let pages = REFERENCE.pages();
    let floors = RefCell::new(Floors::new());
    let site = Site::new(manual, &pages, &floors);
    let mut files: Vec<(String, String)> =
        FILES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    files.push(("index.html".to_owned(), render(Index { site: &site }.render())?));
    files.push(("explorer.html".to_owned(), render(Explorer { site: &site, module: module.is_some() }.render())?));
    files.push(("forms.html".to_owned(), render(Forms { site: &site }.render())?));
    for page in &pages {
        files.push((file(page.opcode), render(Instruction { site: &site, page }.render())?));
        files.push((format!("f-{}.html", page.opcode), render(FormsOf { site: &site, page }.render())?));
        files.push((format!("o-{}.js", page.opcode), told::script(manual, page, recorded)?));
    }
    for source in REFERENCE.sources {
        files.push((format!("s-{}.html", source.name), render(SourceText { site: &site, source }.render())?));
    }
    // Pages have placed their floors.
    files.push(("index.js".to_owned(), index::script(manual, &pages, &mut floors.borrow_mut())?));
    if let Some(module) = module {
        files.push(("module.js".to_owned(), format!("loaded(\"{module}\");\n")));
    }
    Ok(files)
}

/// The file of an opcode's page. An opcode may be called like one of the other pages.
fn file(opcode: &str) -> String {
    format!("i-{opcode}.html")
}

/// Data that all pages are rendered from.
struct Site<'a> {
    manual: &'static Manual,
    pages: &'a [&'static Page],
    /// Pages by chapter; a page with sections in two chapters is listed in both.
    chapters: Vec<(&'static Chapter, Vec<&'static Page>)>,
    floors: &'a RefCell<Floors>,
}

impl<'a> Site<'a> {
    fn new(manual: &'static Manual, pages: &'a [&'static Page], floors: &'a RefCell<Floors>) -> Site<'a> {
        let own: Vec<Vec<usize>> = pages.iter().map(|page| index::chapters(manual, page)).collect();
        let of = |number: usize| {
            let both = pages.iter().zip(&own).filter(|(_, chapters)| chapters.contains(&number));
            both.map(|(page, _)| *page).collect::<Vec<_>>()
        };
        let chapters = manual.chapters.iter().enumerate().map(|(number, chapter)| (chapter, of(number)));
        Site { manual, pages, chapters: chapters.filter(|(_, pages)| !pages.is_empty()).collect(), floors }
    }

    /// The chapter that a page's first section is of, and its pages.
    fn beside(&self, page: &Page) -> (&'static str, &[&'static Page]) {
        let first = page.entries.first().and_then(|entry| self.manual.chapter(entry.section));
        let found = self.chapters.iter().find(|(chapter, _)| first.is_some_and(|first| first.number == chapter.number));
        found.map_or(("", &[]), |(chapter, pages)| (chapter.title, pages.as_slice()))
    }

    fn chapter(&self, section: &str) -> &'static str {
        self.manual.chapter(section).map_or("", |chapter| chapter.title)
    }
}

/// A title of the manual without the word that all have.
fn short(title: &str) -> &str {
    title.trim_end_matches(" Instructions")
}

#[derive(Template)]
#[template(path = "index.html")]
struct Index<'a> {
    site: &'a Site<'a>,
}

impl Index<'_> {
    fn forms(&self) -> usize {
        TABLE.forms().count()
    }
}

#[derive(Template)]
#[template(path = "explorer.html")]
struct Explorer<'a> {
    site: &'a Site<'a>,
    module: bool,
}

#[derive(Template)]
#[template(path = "forms.html")]
struct Forms<'a> {
    site: &'a Site<'a>,
}

#[derive(Template)]
#[template(path = "formsof.html")]
struct FormsOf<'a> {
    site: &'a Site<'a>,
    page: &'static Page,
}

/// Forms that need the same: the number of their floor, it in words, and how they are spelt.
struct Group {
    floor: usize,
    words: String,
    forms: Vec<(&'static str, String)>,
}

impl FormsOf<'_> {
    /// The forms by what they need, the oldest first.
    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<(Need, Group)> = Vec::new();
        for form in forms_of(self.page.opcode) {
            let (need, spelt) = (Need::of(form), (form.mnemonic(), form.pattern()));
            match groups.iter_mut().find(|(other, _)| *other == need) {
                Some((_, group)) if group.forms.contains(&spelt) => {}
                Some((_, group)) => group.forms.push(spelt),
                None => {
                    let floor = self.site.floors.borrow_mut().place(&need);
                    let group = Group { floor, words: need.to_string(), forms: vec![spelt] };
                    groups.push((need, group));
                }
            }
        }
        groups.sort_by(|(need, _), (other, _)| need.cmp(other));
        groups.into_iter().map(|(_, group)| group).collect()
    }
}

#[derive(Template)]
#[template(path = "source.html")]
struct SourceText<'a> {
    site: &'a Site<'a>,
    source: &'static Source,
}

#[derive(Template)]
#[template(path = "instruction.html")]
struct Instruction<'a> {
    site: &'a Site<'a>,
    page: &'static Page,
}

/// A place on the axis of a timeline.
struct Tick {
    at: String,
    label: String,
}

/// A bar of a timeline.
struct Bar {
    label: String,
    from: String,
    text: String,
    lenient: bool,
}

impl Instruction<'_> {
    /// Returns true if another entry describes the opcode in the same section.
    fn shares(&self, entry: &Entry) -> bool {
        self.page.entries.iter().filter(|other| other.section == entry.section).count() > 1
    }

    /// Returns the spelling of an entry, which distinguishes it from the others of its section.
    fn spelling(&self, entry: &'static Entry) -> &'static str {
        entry.syntax.first().and_then(|line| line.text.split(' ').next()).unwrap_or_default()
    }

    /// The diagram of a line, where it can be read.
    fn diagram(&self, line: &Line) -> Option<String> {
        railroad::svg(self.page.opcode, line)
    }

    fn evaluated(&self, example: &Example) -> Option<examples::Evaluated> {
        if example.refused { None } else { examples::evaluate(example.text) }
    }

    /// The effects of an entry, by its number.
    fn effects(&self, entry: &usize) -> Vec<String> {
        form::effects(self.page.opcode, *entry)
    }

    /// Requirements of the forms of a cell: those that have the members of its row and its column.
    fn needs(&self, matrix: &Matrix, group: &page::Group, row: &Row, column: &str) -> Vec<Need> {
        let has = |form: &FormInfo, name: &str, member: &str| {
            let slots = form.instruction().data().slots;
            let slot = slots.iter().position(|slot| slot.name == name && !slot.free);
            slot.and_then(|slot| form.modifier(&Free::NONE, slot as u8)) == Some(member)
        };
        // Without rows of a modifier there is one, of the opcode.
        let in_row = |form: &FormInfo| group.name.is_empty() || has(form, group.name, row.name.trim_start_matches('.'));
        let forms = forms_of(self.page.opcode);
        Need::lowest(forms.filter(|form| has(form, matrix.across, column) && in_row(form)))
    }

    /// The places of some needs, as the script knows them.
    fn places(&self, needs: &[Need]) -> String {
        let mut floors = self.site.floors.borrow_mut();
        needs.iter().map(|need| floors.place(need).to_string()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the modifiers of a line that have several members.
    fn sets(&self, line: &'static Line) -> impl Iterator<Item = &'static ptx_isa::reference::page::Item> {
        line.items.iter().filter(|item| item.members != [item.name])
    }

    /// Returns true if the instruction has free modifiers.
    fn has_free(&self) -> bool {
        let instruction = TABLE.instruction(self.page.opcode);
        instruction.is_some_and(|info| info.data().slots.iter().any(|slot| slot.free))
    }

    fn version_ticks(&self) -> Vec<Tick> {
        let versions = TABLE.versions.iter().enumerate();
        let majors = versions.filter(|(_, version)| version.minor == 0);
        ticks(majors.map(|(index, version)| (index, version.major.to_string())), TABLE.versions.len())
    }

    fn target_ticks(&self) -> Vec<Tick> {
        let sms = sms();
        let tens = sms.iter().enumerate().filter(|(_, sm)| *sm % 10 == 0);
        ticks(tens.map(|(index, sm)| (index, sm.to_string())), sms.len())
    }

    fn version_bars(&self, entry: &Entry) -> Vec<Bar> {
        let bar = |floor: &Floor| {
            let version: Version = floor.ptx?.parse().ok()?;
            let index = TABLE.versions.iter().position(|known| *known == version)?;
            Some(bar(floor, percent(index, TABLE.versions.len()), format!("PTX {version}")))
        };
        entry.floors.iter().filter_map(bar).collect()
    }

    fn target_bars(&self, entry: &Entry) -> Vec<Bar> {
        let sms = sms();
        let bar = |floor: &Floor| {
            let target: Target = floor.target?.parse().ok()?;
            let index = sms.iter().position(|sm| *sm == target.sm)?;
            Some(bar(floor, percent(index, sms.len()), target.to_string()))
        };
        entry.floors.iter().filter_map(bar).collect()
    }

    fn lenient_floors(&self, entry: &Entry) -> Vec<&'static str> {
        entry.floors.iter().filter_map(|floor| floor.lenient).collect()
    }

    /// Modifiers with something to say of their members.
    fn modifiers(&self) -> impl Iterator<Item = &'static Modifier> {
        self.page.modifiers.iter().filter(|modifier| !modifier.is_word())
    }

    fn words(&self) -> Vec<&'static str> {
        self.page.modifiers.iter().filter(|modifier| modifier.is_word()).map(|modifier| modifier.name).collect()
    }

    /// Some of the forms that have a fragment, and how many more there are.
    fn holders(&self, fragment: &Fragment) -> (Vec<&'static str>, usize) {
        const SOME: usize = 4;
        let forms: Vec<_> = forms_of(self.page.opcode).collect();
        let places = fragment.held.iter().flat_map(|held| held.forms).filter_map(|place| forms.get(*place as usize));
        let names: BTreeSet<&str> = places.map(|form| form.mnemonic()).collect();
        let more = names.len().saturating_sub(SOME);
        (names.into_iter().take(SOME).collect(), more)
    }

    fn has_domains(&self, modifier: &Modifier) -> bool {
        modifier.members.iter().any(|member| !member.domain.is_empty())
    }
}

/// The rows of a matrix with what they are called.
fn named(fragment: &Fragment, matrix: &[Vec<String>]) -> Vec<(String, Vec<String>)> {
    fragment.row_names().into_iter().zip(matrix.iter().cloned()).collect()
}

/// The SM numbers of all targets, ascending.
fn sms() -> Vec<u16> {
    let mut sms: Vec<u16> = TABLE.targets.iter().map(|info| info.target.sm).collect();
    sms.dedup();
    sms
}

/// Returns the labels that fit side by side.
fn ticks(labels: impl Iterator<Item = (usize, String)>, count: usize) -> Vec<Tick> {
    const ROOM: usize = 8;
    let mut last = None;
    let mut ticks = Vec::new();
    for (index, label) in labels {
        let at = 100 * index / count;
        if last.is_none_or(|last| at >= last + ROOM) && at + ROOM <= 100 {
            last = Some(at);
            ticks.push(Tick { at: percent(index, count), label });
        }
    }
    ticks
}

fn percent(index: usize, count: usize) -> String {
    format!("{:.2}%", 100.0 * index as f64 / count as f64)
}

fn bar(floor: &Floor, from: String, text: String) -> Bar {
    Bar { label: floor.subject.unwrap_or("every form").to_owned(), from, text, lenient: floor.lenient.is_some() }
}

/// Prose with code between backquotes, as HTML.
fn prose(text: &str) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let parts = text.split('`').enumerate();
    parts
        .map(|(index, part)| if index % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { escape(part) })
        .collect()
}

/// The lowest target of a cell without what all begin with, and a mark where there are others.
fn lowest(need: &Need) -> String {
    let first = need.since.targets.first().map(Target::to_string).unwrap_or_default();
    if need.since.targets.len() > 1 { format!("{first}…") } else { first }
}

/// The name of an entry's place on its page.
fn anchor(number: &usize) -> String {
    format!("s{number}")
}

/// Returns the address of a spec line on the site: `comparison.isa:8`.
fn spec(source: &str) -> String {
    source.split_once(':').map_or_else(String::new, |(name, line)| format!("s-{name}.html#L{line}"))
}

/// A statement as the explorer's address has it.
fn address(text: &str) -> String {
    text.trim_end_matches(';').replace('%', "%25").replace(' ', "%20").replace('"', "%22").replace('#', "%23")
}
