//! `ptx-isa docs`: the reference as a site of plain files, which opens from disk.
//!
//! The pages of `reference` and the table make all of it; templates in `templates/` say how it looks. This module
//! knows no instruction.

mod data;
mod examples;
mod railroad;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use askama::Template;
use base64::Engine;
use flate2::Compression;
use flate2::write::GzEncoder;
use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::reference::page::{Cell, Entry, Example, Floor, Line, Matrix, Modifier, Page};
use ptx_isa::target::{Target, Version};

use super::{DocsArguments, Outcome};

const STYLE: &str = include_str!("../../../templates/site.css");
const SCRIPT: &str = include_str!("../../../templates/explorer.js");

pub(super) fn run(arguments: &DocsArguments) -> io::Result<Outcome> {
    let DocsArguments { out, wasm } = arguments;
    let module =
        match wasm.as_ref().map(|path| (path, fs::read(path))).map(|(path, read)| (path, read.and_then(packed))) {
            Some((path, Err(error))) => {
                super::complain(format_args!("cannot read {}: {error}", path.display()));
                return Ok(Outcome::Unusable);
            }
            Some((_, Ok(module))) => Some(module),
            None => None,
        };
    let files = files(module.as_deref())?;
    if let Err(error) = write(out, &files) {
        super::complain(format_args!("cannot write to {}: {error}", out.display()));
        return Ok(Outcome::Unusable);
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

fn write(out: &Path, files: &[(String, String)]) -> io::Result<()> {
    fs::create_dir_all(out)?;
    files.iter().try_for_each(|(name, text)| fs::write(out.join(name), text))
}

/// Every file of the site by name.
fn files(module: Option<&str>) -> io::Result<Vec<(String, String)>> {
    let render = |template: Result<String, askama::Error>| template.map_err(io::Error::other);
    let mut files = vec![
        ("index.html".to_owned(), render(Index { pages: REFERENCE.pages }.render())?),
        ("explorer.html".to_owned(), render(Explorer { module: module.is_some() }.render())?),
        ("forms.html".to_owned(), render(Forms { pages: REFERENCE.pages }.render())?),
        ("site.css".to_owned(), STYLE.to_owned()),
        ("explorer.js".to_owned(), SCRIPT.to_owned()),
        ("data.js".to_owned(), data::script()?),
    ];
    if let Some(module) = module {
        files.push(("module.js".to_owned(), format!("const MODULE=\"{module}\";\n")));
    }
    for page in REFERENCE.pages {
        files.push((file(page.opcode), render(Instruction { page }.render())?));
    }
    Ok(files)
}

/// The file of an opcode's page. An opcode may be called like one of the other pages.
fn file(opcode: &str) -> String {
    format!("i-{opcode}.html")
}

#[derive(Template)]
#[template(path = "index.html")]
struct Index {
    pages: &'static [Page],
}

impl Index {
    fn forms(&self) -> usize {
        TABLE.forms().count()
    }

    /// The pages by the chapter of their first section: `9.7.6`.
    fn chapters(&self) -> Vec<(String, Vec<&'static Page>)> {
        let chapter = |page: &Page| {
            let section = page.entries.first().map_or("", |entry| entry.section);
            section.splitn(4, '.').take(3).collect::<Vec<_>>().join(".")
        };
        let mut chapters: Vec<(String, Vec<&'static Page>)> = Vec::new();
        for page in self.pages {
            let name = chapter(page);
            match chapters.iter_mut().find(|(other, _)| *other == name) {
                Some((_, pages)) => pages.push(page),
                None => chapters.push((name, vec![page])),
            }
        }
        chapters.sort_by_key(|(name, _)| name.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>());
        chapters
    }
}

#[derive(Template)]
#[template(path = "explorer.html")]
struct Explorer {
    module: bool,
}

#[derive(Template)]
#[template(path = "forms.html")]
struct Forms {
    pages: &'static [Page],
}

impl Forms {
    fn mnemonics(&self, page: &usize) -> Vec<&'static str> {
        let own = TABLE.forms().filter(|form| form.instruction().index() == *page);
        own.map(|form| form.mnemonic()).collect()
    }
}

#[derive(Template)]
#[template(path = "instruction.html")]
struct Instruction {
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

impl Instruction {
    fn diagram(&self, line: &Line) -> String {
        railroad::svg(self.page.opcode, line)
    }

    fn evaluated(&self, example: &Example) -> Option<examples::Evaluated> {
        if example.refused { None } else { examples::evaluate(example.text) }
    }

    /// The distinct floors of a matrix, lowest first: each has its shade.
    fn shades(&self, matrix: &Matrix) -> Vec<(&'static str, &'static str)> {
        let cells = matrix.groups.iter().flat_map(|group| group.rows).flat_map(|row| row.cells);
        let mut floors: Vec<(&str, &str)> =
            cells.filter(|cell| cell.forms > 0).map(|cell| (cell.ptx, cell.target)).collect();
        floors.sort_by_key(|(ptx, target)| (ptx.parse::<Version>().ok(), target.parse::<Target>().ok()));
        floors.dedup();
        floors
    }

    /// The place of a cell's floor among the shades there are.
    fn shade(&self, shades: &[(&str, &str)], cell: &Cell) -> usize {
        shades.iter().position(|shade| *shade == (cell.ptx, cell.target)).unwrap_or(0).min(5)
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

    fn has_domains(&self, modifier: &Modifier) -> bool {
        modifier.members.iter().any(|member| !member.domain.is_empty())
    }
}

/// The SM numbers of all targets, ascending.
fn sms() -> Vec<u16> {
    let mut sms: Vec<u16> = TABLE.targets.iter().map(|info| info.target.sm).collect();
    sms.dedup();
    sms
}

/// Those labels that have room beside each other.
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

/// What a cell of a matrix says to those who cannot see it.
fn spoken(cell: &Cell) -> String {
    match cell.forms {
        0 => cell.reason.replace('`', ""),
        1 => format!("1 form, since PTX {}, {}", cell.ptx, cell.target),
        forms => format!("{forms} forms, since PTX {}, {}", cell.ptx, cell.target),
    }
}
