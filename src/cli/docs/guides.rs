//! Pages that explain: prose in Markdown, with tables from the spec and the table of forms.

use std::collections::BTreeMap;

use isa_table::count::Count;
use ptx_isa::TABLE;
use ptx_isa::reference::page::{Modifier, Page};
use ptx_isa::table::Kind;
use ptx_isa::text::spelling;

use super::index::{Floors, Named, Need};
use super::sheet::{Row, Section, Sheet, code};
use super::{file, lowest, prose, spec};
use crate::cli::names::forms_of;

/// The page whose sections a search finds.
const IDIOMS: &str = "idioms.html";

/// Files, titles and first sentences of these pages.
const GUIDES: [(&str, &str, &str); 7] = [
    ("conversions.html", "Conversions", "Which type converts to which, and since when."),
    (
        "rounding.html",
        "Rounding and subnormals",
        "How results are rounded, and what becomes of subnormals, NaN and overflow.",
    ),
    ("memory.html", "Memory consistency", "What orders the memory accesses of threads, in brief."),
    (
        "fragments.html",
        "Fragments and layouts",
        "How matrices are distributed over lanes, and what the bits of descriptors mean.",
    ),
    ("floors.html", "How floors work", "What versions and targets a statement needs, and why."),
    (IDIOMS, "Idioms", "Short sequences for common tasks, each of which is tested."),
    (
        "differences.html",
        "Differences",
        "Where the manual, the assembler and the machine disagree, as the spec records it.",
    ),
];

/// Files and titles.
pub(super) fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    GUIDES.iter().map(|(file, title, _)| (*file, *title))
}

/// The pages, and their names for the search.
pub(super) fn sheets(pages: &[&'static Page], floors: &mut Floors) -> (Vec<Sheet>, Vec<Named>) {
    let texts = [
        "",
        include_str!("prose/rounding.md"),
        include_str!("prose/memory.md"),
        include_str!("prose/fragments.md"),
        include_str!("prose/floors.md"),
        include_str!("prose/idioms.md"),
        "",
    ];
    let sections = |file: &str, floors: &mut Floors| match file {
        "conversions.html" => conversions(pages, floors),
        "fragments.html" => vec![drawings(pages), layouts(pages)],
        "floors.html" => vec![families()],
        "differences.html" => vec![errata(pages), lenient(pages)],
        _ => Vec::new(),
    };
    let sheet = |((file, title, lead), text): (&(&'static str, &'static str, &'static str), &str)| Sheet {
        file: (*file).to_owned(),
        title: (*title).to_owned(),
        lead: (*lead).to_owned(),
        body: body(text, pages),
        sections: sections(file, floors).into_iter().flatten().collect(),
    };
    let mut names =
        Vec::from(GUIDES.map(|(file, title, lead)| Named("guide", title.to_owned(), lead, file.to_owned())));
    for ((file, ..), text) in GUIDES.iter().zip(texts).filter(|((file, ..), _)| *file == IDIOMS) {
        let titles = text.lines().filter_map(|line| line.strip_prefix("## "));
        // An instruction that is called like an idiom comes first.
        let name = |title| format!("Idiom: {}", super::plain(title));
        names.extend(titles.map(|title| Named("guide", name(title), "", format!("{file}#{}", anchor(title)))));
    }
    (GUIDES.iter().zip(texts).map(sheet).collect(), names)
}

/// The HTML of a text in Markdown: sections, paragraphs, items, code, links, and `table:` with words of modifiers.
fn body(text: &str, pages: &[&'static Page]) -> String {
    let mut html = String::new();
    let mut lines = text.lines().skip_while(|line| line.starts_with("# ")).peekable();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            let id = anchor(title);
            html += &format!("<h2 id=\"{id}\"><a class=\"self\" href=\"#{id}\">{}</a></h2>\n", prose(title));
        } else if line.starts_with("```") {
            let code: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            html += &format!("<pre class=\"code\"><code>{}</code></pre>\n", super::escape(&code.join("\n")));
        } else if let Some(words) = line.strip_prefix("table: ") {
            html += &users(&words.split(' ').map(|word| &word[1..]).collect::<Vec<_>>(), pages);
        } else if let Some(first) = line.strip_prefix("- ") {
            html += &format!("<ul><li>{}", paragraph(first));
            while let Some(next) = lines.next_if(|line| line.starts_with("- ")) {
                html += &format!("<li>{}", paragraph(&next[2..]));
            }
            html += "</ul>\n";
        } else if !line.is_empty() {
            let mut words = line.to_owned();
            while let Some(next) = lines.next_if(|line| !line.is_empty() && !line.starts_with("- ")) {
                words = format!("{words} {next}");
            }
            html += &format!("<p>{}</p>\n", paragraph(&words));
        }
    }
    html
}

/// Prose with links: `[text](address)`.
fn paragraph(text: &str) -> String {
    let mut html = String::new();
    let mut rest = text;
    while let Some((before, (words, (address, after)))) = rest.split_once('[').and_then(|(before, link)| {
        let (words, link) = link.split_once("](")?;
        Some((before, (words, link.split_once(')')?)))
    }) {
        html += &format!("{}<a href=\"{address}\">{}</a>", prose(before), prose(words));
        rest = after;
    }
    html + &prose(rest)
}

/// The place of a heading.
fn anchor(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

fn opcode_link(page: &Page) -> String {
    format!("<a href=\"{}\">{}</a>", file(page.opcode), code(page.opcode))
}

/// Which instructions take which of some words.
fn users(words: &[&str], pages: &[&'static Page]) -> String {
    let has = |page: &'static Page, word: &str| {
        page.modifiers.iter().find(|modifier| modifier.members.iter().any(|member| member.name == word))
    };
    let mut html = String::from(
        "<div class=\"scroll\" role=\"group\" aria-label=\"Instructions\"><table class=\"contents\"><thead><tr><td>",
    );
    words.iter().for_each(|word| html += &format!("<th scope=\"col\">{}", code(&format!(".{word}"))));
    html += "<tbody>";
    for page in pages {
        let found: Vec<Option<&Modifier>> = words.iter().map(|word| has(page, word)).collect();
        if found.iter().all(Option::is_none) {
            continue;
        }
        html += &format!("<tr><th scope=\"row\">{}", opcode_link(page));
        for (modifier, word) in found.iter().zip(words) {
            html += "<td>";
            if let Some(modifier) = modifier {
                let place =
                    if modifier.is_word() { String::from("#modifiers") } else { format!("#m-{}", modifier.name) };
                let name = format!("yes, {} .{word}", page.opcode);
                html += &format!("<a href=\"{}{place}\" aria-label=\"{name}\">yes</a>", file(page.opcode));
            }
        }
    }
    html + "</table></div>\n"
}

/// Forms by destination and source type, of opcodes with a form that reads a value of one type and writes one of another,
/// both of which its mnemonic names.
fn conversions(pages: &[&'static Page], floors: &mut Floors) -> Vec<Option<Section>> {
    let type_of = |name: &str| TABLE.types.iter().find(|ty| ty.name == name);
    let is_number = |name: &str| type_of(name).is_some_and(|ty| !matches!(ty.kind, Kind::Predicate | Kind::Bits));
    let named = |name: &&'static str| type_of(name).is_some();
    let mut cells: BTreeMap<(usize, usize), (Vec<Need>, String)> = BTreeMap::new();
    let mut order: Vec<&'static str> = Vec::new();
    for page in pages {
        let forms =
            || forms_of(page.opcode).map(|form| (form, form.mnemonic().split('.').filter(named).collect::<Vec<_>>()));
        let converts = |(form, types): (ptx_isa::table::FormInfo, Vec<&str>)| {
            form.has_evaluator()
                && !form.is_collective()
                && form.sources().count() == 1
                && matches!(types[..], [to, from] if to != from && is_number(to) && is_number(from))
        };
        if !forms().any(converts) {
            continue;
        }
        for (form, types) in forms() {
            let [to, from, ..] = types[..] else { continue };
            let mut place = |name| {
                order.iter().position(|other| *other == name).unwrap_or_else(|| {
                    order.push(name);
                    order.len() - 1
                })
            };
            let key = (place(to), place(from));
            let spelt = spelling::mnemonic(form).into_owned();
            cells.entry(key).or_insert_with(|| (Vec::new(), spelt)).0.push(Need::of(form));
        }
    }
    // Types in the order of the spec.
    let mut places: Vec<usize> = (0..order.len()).collect();
    places.sort_by_key(|place| TABLE.types.iter().position(|ty| ty.name == order[*place]));
    let is_from = |place: &&usize| cells.keys().any(|(_, from)| from == *place);
    let from: Vec<usize> = places.iter().filter(is_from).copied().collect();
    let rows = places.iter().filter(|to| cells.keys().any(|(own, _)| own == *to)).map(|to| {
        let head = code(&format!(".{}", order[*to]));
        let cell = |from: &usize| {
            let Some((needs, spelt)) = cells.get(&(*to, *from)) else { return String::new() };
            let mut needs = needs.clone();
            needs.sort();
            let (needs, first) = (places_of(&needs, floors), &needs[0]);
            let words = format!("{} {}", first.since.ptx, lowest(first));
            format!("<a data-needs=\"{needs}\" href=\"explorer.html#{spelt}\">{words}</a>")
        };
        Row::new([head].into_iter().chain(from.iter().map(cell)).collect())
    });
    let rows: Vec<Row> = rows.collect();
    let columns = ["To \\ from".to_owned()].into_iter().chain(from.iter().map(|place| format!(".{}", order[*place])));
    let section = Section::of("types", "Destination by source type", &[], rows);
    vec![section.map(|section| Section { columns: columns.collect(), ..section })]
}

fn places_of(needs: &[Need], floors: &mut Floors) -> String {
    let mut places: Vec<usize> = needs.iter().map(|need| floors.place(need)).collect();
    places.dedup();
    places.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

/// Every distribution, and where its sizes are drawn.
fn drawings(pages: &[&'static Page]) -> Option<Section> {
    // Of each distribution the operands that have it, and of these the sizes.
    type Sizes = Vec<(String, Vec<String>)>;
    let mut drawn: Vec<(&'static str, Sizes)> = Vec::new();
    for page in pages {
        for (number, drawing) in page.drawings().into_iter().enumerate() {
            let fragment = drawing.fragment;
            let held = fragment.held.iter().map(|held| code(held.operand)).collect::<Vec<_>>().join(", ");
            let head = format!("{} {held}", opcode_link(page));
            let count = if fragment.matrices > 1 { format!("{} of ", fragment.matrices) } else { String::new() };
            let registers = Count(fragment.registers as usize, "register");
            let size = format!("{count}{} × {} in {registers}", fragment.rows, fragment.columns);
            let link = format!("<a href=\"{}#fragment{}\">{size}</a>", file(page.opcode), number + 1);
            let place = drawn.iter().position(|(text, _)| *text == fragment.description).unwrap_or(drawn.len());
            if place == drawn.len() {
                drawn.push((fragment.description, Vec::new()));
            }
            match drawn[place].1.iter_mut().find(|(other, _)| *other == head) {
                Some((_, links)) => links.push(link),
                None => drawn[place].1.push((head, vec![link])),
            }
        }
    }
    let words = |(head, links): &(String, Vec<String>)| format!("{head}: {}", links.join(", "));
    let rows = drawn
        .iter()
        .map(|(text, operands)| Row::new(vec![prose(text), operands.iter().map(words).collect::<Vec<_>>().join("; ")]));
    Section::of("drawn", "Fragments", &["Distribution", "Instructions, operands and sizes"], rows)
}

fn layouts(pages: &[&'static Page]) -> Option<Section> {
    let rows = pages.iter().flat_map(|page| {
        page.layouts.iter().enumerate().map(|(number, layout)| {
            let link = format!("<a href=\"{}#bits{}\">{}</a>", file(page.opcode), number + 1, code(page.opcode));
            Row::new(vec![link, prose(&layout.operands()), prose(layout.description)])
        })
    });
    Section::of("bits", "Layouts of bits", &["Instruction", "Operands", "Meaning"], rows)
}

fn families() -> Option<Section> {
    let rows = TABLE.families.iter().filter(|family| family.len() > 1).map(|family| {
        let targets = TABLE.targets.iter().map(|info| info.target).filter(|target| family.contains(&target.sm));
        let name = |target: ptx_isa::target::Target| format!("<a href=\"t-{target}.html\">{target}</a>");
        Row::new(vec![format!("sm_{}", family[0]), targets.map(name).collect::<Vec<_>>().join(" ")])
    });
    Section::of("families", "Families", &["First", "Targets"], rows)
}

fn errata(pages: &[&'static Page]) -> Option<Section> {
    let rows = pages.iter().flat_map(|page| {
        page.entries.iter().flat_map(move |entry| {
            entry.errata.iter().map(move |erratum| {
                let place = format!("<a href=\"{}\">{}</a>", spec(entry.source), entry.section);
                let [subject, manual, machine] = [erratum.subject, erratum.manual, erratum.machine].map(prose);
                Row::new(vec![format!("{} {place}", opcode_link(page)), subject, manual, machine])
            })
        })
    });
    Section::of("errata", "The manual and the machine", &["Instruction", "Subject", "The manual", "The machine"], rows)
}

fn lenient(pages: &[&'static Page]) -> Option<Section> {
    let mut notes: Vec<(&'static str, Vec<&'static Page>)> = Vec::new();
    for page in pages {
        let floors = page.entries.iter().flat_map(|entry| entry.floors).filter_map(|floor| floor.lenient);
        for note in page.entries.iter().flat_map(|entry| entry.lenient).copied().chain(floors) {
            match notes.iter_mut().find(|(other, _)| *other == note) {
                Some((_, list)) if list.last().is_some_and(|last| last.opcode == page.opcode) => {}
                Some((_, list)) => list.push(page),
                None => notes.push((note, vec![page])),
            }
        }
    }
    let rows = notes.into_iter().map(|(note, list)| {
        Row::new(vec![list.iter().map(|page| opcode_link(page)).collect::<Vec<_>>().join(", "), prose(note)])
    });
    Section::of("lenient", "Beyond the manual", &["Instructions", "The assembler"], rows)
}
