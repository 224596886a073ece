//! `ptx-isa docs`: the reference as a site of plain files, which opens from disk.
//!
//! The pages of `reference` and the table make all of it; templates in `templates/` say how it looks. This module
//! knows no instruction.

mod compact;
mod contents;
mod corners;
mod folds;
mod fragments;
mod guides;
mod index;
mod news;
mod railroad;
mod recorded;
mod shared;
mod sheet;
mod since;
mod told;
mod vocabulary;

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};

use askama::Template;
use base64::Engine;
use flate2::Compression;
use flate2::write::GzEncoder;
use ptx_isa::TABLE;
use ptx_isa::reference::page::{
    self, Chapter, Drawing, Entry, Example, Fragment, Line, Manual, Matrix, Modifier, Page, Row, Source,
};
use ptx_isa::reference::{REFERENCE, examples, form};
use ptx_isa::table::{FormInfo, Free};
use ptx_isa::target::Target;
use ptx_isa::text::spelling;

use self::contents::Contents;
use self::folds::Folds;
use self::index::{Floors, Need};
use self::recorded::Recorded;
use self::shared::Shared;
use super::names::forms_of;
use super::{DocsArguments, Outcome, folder};

/// Style sheet and scripts of all pages.
const FILES: [(&str, &str); 8] = [
    ("icon.svg", include_str!("../../../templates/icon.svg")),
    ("site.css", include_str!("../../../templates/site.css")),
    ("site.js", include_str!("../../../templates/site.js")),
    ("search.js", include_str!("../../../templates/search.js")),
    ("reader.js", include_str!("../../../templates/reader.js")),
    ("playground.js", include_str!("../../../templates/playground.js")),
    ("explorer.js", include_str!("../../../templates/explorer.js")),
    ("pictures.js", include_str!("../../../templates/pictures.js")),
];

pub(super) fn run(arguments: &DocsArguments, quiet: bool) -> io::Result<Outcome> {
    let DocsArguments { out, wasm, without, recorded: results, code, held, address } = arguments;
    if wasm.is_none() && !without {
        super::complain(
            "the explorer of this site could not evaluate: build its module from the sources with `cargo build -p ptx-isa-wasm \
             --profile site --target wasm32-unknown-unknown` (`rustup target add wasm32-unknown-unknown` installs the target) and pass it \
             with --wasm, or pass --static for a site that only reads",
        );
        return Ok(Outcome::Unusable);
    }
    let mut recorded = Recorded::default();
    type Add = fn(&mut Recorded, &str);
    let recordings: [(_, Add); 3] = [(results, Recorded::results), (code, Recorded::code), (held, Recorded::held)];
    for (path, add) in recordings {
        let Some(path) = path else { continue };
        match fs::read_to_string(path) {
            Ok(text) => add(&mut recorded, &text),
            Err(error) => {
                super::complain(format_args!("cannot read {}: {error}", path.display()));
                return Ok(Outcome::Unusable);
            }
        }
    }
    let recorded = (results.is_some() || code.is_some() || held.is_some()).then_some(recorded);
    let module =
        match wasm.as_ref().map(|path| (path, fs::read(path))).map(|(path, read)| (path, read.and_then(packed))) {
            Some((path, Err(error))) => {
                super::complain(format_args!("cannot read {}: {error}", path.display()));
                return Ok(Outcome::Unusable);
            }
            Some((_, Ok(module))) => Some(module),
            None => None,
        };
    let mut files = files(module.as_deref(), recorded.as_ref())?;
    if let Some(address) = address {
        publish(&mut files, address.trim_end_matches('/'));
    }
    let mut files: Vec<(String, Vec<u8>)> = files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    files.push(("dataset.json.gz".to_owned(), dataset()?));
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
    Ok(Outcome::Fine)
}

/// The whole table as data, compressed.
fn dataset() -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(7));
    super::dataset::write(&mut encoder, &TABLE.forms().collect::<Vec<_>>())?;
    encoder.finish()
}

/// Adds what is said of a site at an address: where each page is, and a map.
fn publish(files: &mut Vec<(String, String)>, address: &str) {
    const HEAD: &str = "<link rel=\"stylesheet\"";
    let escape = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let mut map = String::new();
    for (name, text) in files.iter_mut().filter(|(name, _)| name.ends_with(".html")) {
        let place = escape(&format!("{address}/{name}"));
        map += &format!("<url><loc>{place}</loc></url>\n");
        let own = format!(
            "<link rel=\"canonical\" href=\"{place}\">\n<meta property=\"og:url\" content=\"{place}\">\n{HEAD}"
        );
        *text = text.replacen(HEAD, &own, 1);
    }
    let head =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
    files.push(("sitemap.xml".to_owned(), format!("{head}{map}</urlset>\n")));
}

/// A module as text: compressed, so that a site of plain files stays small.
fn packed(module: Vec<u8>) -> io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(7));
    encoder.write_all(&module)?;
    Ok(base64::engine::general_purpose::STANDARD.encode(encoder.finish()?))
}

/// Every file of the site by name.
fn files(module: Option<&str>, recorded: Option<&Recorded>) -> io::Result<Vec<(String, String)>> {
    let render = |template: Result<String, askama::Error>| {
        template.map(|page| compact::compact(&page)).map_err(io::Error::other)
    };
    let Some(manual) = &REFERENCE.manual else { return Err(io::Error::other("the spec names no manual")) };
    let pages = REFERENCE.pages();
    let floors = RefCell::new(Floors::new());
    let site = Site::new(manual, &pages, &floors);
    let mut files: Vec<(String, String)> =
        FILES.iter().map(|(name, text)| ((*name).to_owned(), compact::without_comments(text))).collect();
    files.push(("index.html".to_owned(), render(Index { site: &site }.render())?));
    files.push(("explorer.html".to_owned(), render(Explorer { site: &site, module: module.is_some() }.render())?));
    files.push(("playground.html".to_owned(), render(Playground { site: &site, module: module.is_some() }.render())?));
    files.push(("forms.html".to_owned(), render(Forms { site: &site }.render())?));
    for (page, also) in pages.iter().zip(contents::see_also(manual, &pages)) {
        let contents = contents::of(page);
        let folds = Folds::of(page, &modifiers(page));
        let reasons = RefCell::new(Shared::new());
        let instruction = Instruction { site: &site, page, reasons, contents, folds, also, recorded };
        files.push((file(page.opcode), render(instruction.render())?));
        files.push((format!("f-{}.html", stem(page.opcode)), render(FormsOf { site: &site, page }.render())?));
        files.push((format!("o-{}.js", stem(page.opcode)), told::script(manual, page, recorded)?));
        if let Some(script) = recorded.and_then(|recorded| recorded.listing(page.opcode)) {
            files.push((format!("c-{}.js", stem(page.opcode)), script?));
        }
    }
    for source in REFERENCE.sources {
        files.push((format!("s-{}.html", source.name), render(SourceText { site: &site, source }.render())?));
    }
    let (vocabulary, mut names) = vocabulary::sheets(&mut floors.borrow_mut());
    let (news, versions) = news::sheets(&pages, &mut floors.borrow_mut());
    names.extend(versions);
    let (guides, titles) = guides::sheets(&pages, &mut floors.borrow_mut());
    names.extend(titles);
    for sheet in vocabulary.iter().chain(&news).chain(&guides) {
        files.push((sheet.file.clone(), render(SheetPage { site: &site, sheet }.render())?));
    }
    // Pages have placed their floors.
    files.push(("index.js".to_owned(), index::script(manual, &pages, names, &mut floors.borrow_mut())?));
    if let Some(module) = module {
        files.push(("module.js".to_owned(), format!("loaded(\"{module}\");\n")));
    }
    Ok(files)
}

/// The file of an opcode's page. An opcode may be called like one of the other pages.
fn file(opcode: &str) -> String {
    format!("i-{}.html", stem(opcode))
}

/// An opcode in names of files: a colon would end a scheme in addresses, and no name on Windows has one.
fn stem(opcode: &str) -> String {
    opcode.replace("::", "--")
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

    /// Files and titles of the pages beside instructions.
    fn sheets(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        vocabulary::FILES.into_iter().chain(guides::files()).chain([news::FILE])
    }

    /// The places of some needs, as the script knows them.
    fn places(&self, needs: &[Need]) -> String {
        let mut floors = self.floors.borrow_mut();
        needs.iter().map(|need| floors.place(need).to_string()).collect::<Vec<_>>().join(" ")
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

    /// Requirements of the forms of an opcode, in the notation of the script.
    fn needs(&self, page: &Page) -> String {
        self.site.places(&Need::lowest(forms_of(page.opcode)))
    }
}

#[derive(Template)]
#[template(path = "explorer.html")]
struct Explorer<'a> {
    site: &'a Site<'a>,
    module: bool,
}

#[derive(Template)]
#[template(path = "playground.html")]
struct Playground<'a> {
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
    /// True if those before it fill the page.
    folded: bool,
    forms: Vec<(Cow<'static, str>, String)>,
}

impl FormsOf<'_> {
    /// Number of forms in the list: those with one mnemonic are one.
    fn listed(&self) -> usize {
        self.groups().iter().map(|group| group.forms.len()).sum()
    }

    /// The forms by what they need, the oldest first.
    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<(Need, Group)> = Vec::new();
        for form in forms_of(self.page.opcode) {
            let (need, spelt) = (Need::of(form), (spelling::mnemonic(form), form.pattern()));
            match groups.iter_mut().find(|(other, _)| *other == need) {
                Some((_, group)) if group.forms.contains(&spelt) => {}
                Some((_, group)) => group.forms.push(spelt),
                None => {
                    let floor = self.site.floors.borrow_mut().place(&need);
                    let group = Group { floor, words: need.to_string(), folded: false, forms: vec![spelt] };
                    groups.push((need, group));
                }
            }
        }
        groups.sort_by(|(need, _), (other, _)| need.cmp(other));
        let mut groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
        let mut before = 0;
        for group in &mut groups {
            before += group.forms.len();
            group.folded = before > OPEN;
        }
        groups
    }
}

/// Number of forms of a page that are listed without being unfolded.
const OPEN: usize = 400;

#[derive(Template)]
#[template(path = "sheet.html")]
struct SheetPage<'a> {
    site: &'a Site<'a>,
    sheet: &'a sheet::Sheet,
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
    reasons: RefCell<Shared<&'static str>>,
    contents: Option<Contents>,
    folds: Folds,
    /// Opcodes that have to do with this one.
    also: Vec<&'static str>,
    recorded: Option<&'a Recorded>,
}

/// The modifiers of a page with something to say of their members.
fn modifiers(page: &Page) -> Vec<&'static Modifier> {
    page.modifiers.iter().filter(|modifier| !modifier.is_word()).collect()
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

    /// Tables of corner cases of an entry, by its number.
    fn corners(&self, entry: &usize) -> Vec<corners::Corners> {
        corners::of(self.page.opcode, *entry)
    }

    /// Machine code of its forms, and the number of sequences that are left out.
    fn code(&self) -> (Vec<recorded::Code>, usize) {
        self.recorded.map(|recorded| recorded.code_of(self.page.opcode)).unwrap_or_default()
    }

    fn assembler(&self) -> &str {
        self.recorded.map_or("", Recorded::assembler)
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

    /// The place of a reason why no form has two members, among those of the page.
    fn why(&self, reason: &'static str) -> usize {
        self.reasons.borrow_mut().place(reason)
    }

    /// These reasons, for the script.
    fn whys(&self) -> String {
        serde_json::to_string(self.reasons.borrow().list()).unwrap_or_default().replace('<', "\\u003c")
    }

    /// How the first form of a cell is spelt.
    fn spelt(&self, mnemonic: &str) -> Cow<'static, str> {
        TABLE.form(mnemonic).map_or_else(|| mnemonic.to_owned().into(), spelling::mnemonic)
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

    fn since(&self, entry: &Entry) -> Vec<since::Since> {
        since::rows(entry)
    }

    fn lenient_floors(&self, entry: &Entry) -> Vec<&'static str> {
        entry.floors.iter().filter_map(|floor| floor.lenient).collect()
    }

    fn modifiers(&self) -> Vec<&'static Modifier> {
        modifiers(self.page)
    }

    /// The first lines of syntax, which say what an instruction looks like.
    fn signature(&self) -> Vec<&'static str> {
        const SOME: usize = 3;
        let mut lines: Vec<&'static str> = Vec::new();
        for line in self.page.entries.iter().flat_map(|entry| entry.syntax) {
            if lines.len() < SOME && !lines.contains(&line.text) {
                lines.push(line.text);
            }
        }
        lines
    }

    /// Number of lines of syntax beyond these.
    fn more_lines(&self) -> usize {
        self.page.entries.iter().map(|entry| entry.syntax.len()).sum::<usize>() - self.signature().len()
    }

    /// Minimum versions and targets of the opcode.
    fn floor(&self) -> String {
        let needs = Need::lowest(forms_of(self.page.opcode));
        needs.iter().map(Need::to_string).collect::<Vec<_>>().join(", or ")
    }

    /// An example that the assembler accepts.
    fn example(&self) -> Option<&'static str> {
        let all = self.page.entries.iter().flat_map(|entry| entry.examples);
        all.filter(|example| !example.refused).map(|example| example.text).next()
    }

    fn words(&self) -> Vec<&'static str> {
        self.page.modifiers.iter().filter(|modifier| modifier.is_word()).map(|modifier| modifier.name).collect()
    }

    /// The fragments, each distribution once; true for those whose operands and sizes are those of another.
    fn drawn(&self) -> Vec<(Drawing, bool)> {
        let drawings = self.page.drawings();
        let title = |drawing: &Drawing| {
            let held = drawing.fragment.held.iter().map(|held| held.operand).collect::<Vec<_>>();
            (held, drawing.fragment.size(), drawing.members.len())
        };
        let titles: Vec<_> = drawings.iter().map(title).collect();
        let is_alike = |drawing: &Drawing| titles.iter().filter(|other| **other == title(drawing)).count() > 1;
        let alike: Vec<bool> = drawings.iter().map(is_alike).collect();
        drawings.into_iter().zip(alike).collect()
    }

    fn holders(&self, fragment: &Fragment) -> (Vec<Cow<'static, str>>, usize) {
        fragments::holders(self.page, fragment)
    }

    fn has_domains(&self, modifier: &Modifier) -> bool {
        modifier.members.iter().any(|member| !member.domain.is_empty())
    }
}

/// The rows of a matrix with what they are called.
fn named(fragment: &Fragment, matrix: &[Vec<String>]) -> Vec<(String, Vec<String>)> {
    fragment.row_names().into_iter().zip(matrix.iter().cloned()).collect()
}

/// An opcode as HTML; a line may end behind a dot or a `::` of one that is wider than the list at the side.
fn breakable(opcode: &str) -> String {
    const WIDTH: usize = 22;
    match opcode.len() > WIDTH {
        true => escape(opcode).replace('.', ".<wbr>").replace("::", "::<wbr>"),
        false => escape(opcode),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Prose with code between backquotes, as HTML.
fn prose(text: &str) -> String {
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

/// Prose without the marks of code.
fn plain(text: &str) -> String {
    text.replace('`', "")
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
