//! The files of the site: their sizes, their links, and a place for whatever the table has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::text::{Statement, mnemonic, spelling};

use crate::{plain, ptx_isa};

fn size(folder: &Path) -> u64 {
    fs::read_dir(folder)
        .expect("the site")
        .map(|entry| entry.and_then(|entry| entry.metadata()).expect("a file").len())
        .sum()
}

/// Files that a page loads before its first answer.
const BEFORE: [&str; 7] = ["explorer.html", "site.css", "site.js", "search.js", "reader.js", "explorer.js", "index.js"];

#[test]
fn the_site_is_small_and_has_a_page_for_each_opcode_and_a_link_to_each_form() {
    let site = plain();
    let size_of = |name: &str| fs::metadata(site.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")).len();
    let all = size(site);
    let told = TABLE.instructions.iter().map(|info| size_of(&format!("o-{}.js", stem(info.opcode)))).max();
    let before = BEFORE.iter().map(|name| size_of(name)).sum::<u64>() + told.unwrap_or_default();
    println!("{all} bytes in all, at most {before} before the first answer");
    // The budget excludes the WebAssembly module.
    assert!(all < 11_000_000 && before <= 310_000);
    for instruction in TABLE.instructions() {
        let opcode = instruction.data().opcode;
        assert!(site.join(format!("i-{}.html", stem(opcode))).exists());
        let forms = fs::read_to_string(site.join(format!("f-{}.html", stem(opcode)))).expect("a page");
        for form in instruction.forms() {
            assert!(forms.contains(&format!("explorer.html#{}\"", spelling::mnemonic(form))), "{form:?}");
        }
        // A page names its section, and leads to the manual's and to its line of the spec.
        let page = fs::read_to_string(site.join(format!("i-{}.html", stem(opcode)))).expect("a page");
        for entry in instruction.data().entries {
            assert!(page.contains(&format!(":~:text={}.\"", entry.section)), "{opcode}");
            assert!(page.contains(&format!("s-{}\"", entry.source.replace(":", ".html#L"))), "{opcode}");
        }
    }
    // A form exists since some spelling of it does: what is free in this one needs PTX 7.4.
    let loads = fs::read_to_string(site.join("f-ld.html")).expect("a page");
    let group = loads.split("<section").find(|group| group.contains("explorer.html#ld.L2::cache_hint.u32\""));
    assert!(group.expect("a group").contains("<h2>PTX 7.4, sm_80 "));
    // Effects, and why there are none.
    for (page, said) in [
        ("i-st.html", "Writes the bytes of <code>b</code> at <code>[a]</code> in <code>.ss</code>"),
        ("i-bar.html", "<li>Waits at barrier <code>a</code> of the block"),
        ("i-tex.html", "<li>Cannot be executed: textures and surfaces are not modeled"),
    ] {
        assert!(fs::read_to_string(site.join(page)).expect("a page").contains(said), "{page}");
    }
    assert!(fs::read_to_string(site.join("explorer.html")).expect("a page").contains("without the module"));
    // Diagrams show brackets, and no box is empty.
    let page = fs::read_to_string(site.join("i-discard.html")).expect("a page");
    let [open, close] = ["[", "]"].map(|bracket| page.find(&format!(">{bracket}</text>")).expect("a bracket"));
    assert!(page[open..close].contains(">a</text>") && !page.contains("\"></text>"));
    // Search engines and previews get a description of each page, and of a page with an address its place.
    let page = fs::read_to_string(site.join("i-popc.html")).expect("a page");
    for head in ["<meta name=\"description\" content=\"popc: ", "<meta property=\"og:title\" content=\"PTX popc\">"] {
        assert!(page.contains(head), "{head}");
    }
    assert!(!page.contains("canonical") && !site.join("sitemap.xml").exists());
    assert!(fs::read(site.join("dataset.json.gz")).is_ok_and(|data| data.starts_with(&[0x1f, 0x8b])));
    let placed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("placed");
    let _ = fs::remove_dir_all(&placed);
    ptx_isa(&["docs", "--static", "--out", placed.to_str().expect("a path"), "--address", "https://ptx.example/"]);
    let page = fs::read_to_string(placed.join("i-popc.html")).expect("a page");
    assert!(page.contains("<link rel=\"canonical\" href=\"https://ptx.example/i-popc.html\">"));
    let map = fs::read_to_string(placed.join("sitemap.xml")).expect("a map");
    assert!(map.contains("<loc>https://ptx.example/index.html</loc>"));
    // A site that would not evaluate is written where that is asked for only.
    let output =
        Command::new(env!("CARGO_BIN_EXE_ptx-isa")).args(["docs", "--out", "nowhere"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("ptx-isa-wasm") && said.contains("--static"), "{said}");
}

#[test]
fn what_has_a_name_has_a_row_and_what_is_new_has_a_page() {
    let site = plain();
    let read = |name: &str| fs::read_to_string(site.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let [registers, directives, types, spaces] =
        ["special-registers.html", "directives.html", "types.html", "spaces.html"].map(read);
    let row = |page: &str, id: &str| page.contains(&format!("<tr id=\"{id}\""));
    // Registers that differ in a number only share the row of the first, to which the search leads.
    let index = read("index.js");
    for special in TABLE.specials {
        let named = index.split(&format!("[\"special register\",\"{}\",", special.name)).nth(1);
        let place = named.and_then(|rest| rest.split("special-registers.html#").nth(1)?.split('"').next());
        assert!(place.is_some_and(|place| row(&registers, place)), "{}: {place:?}", special.name);
    }
    let counters = registers.split("<tr id=\"pm").skip(1).map(|row| row.split("<td").next().unwrap_or_default());
    let counters: Vec<&str> = counters.collect();
    assert!(counters.len() == 3 && counters[0].contains("<code>%pm0</code> to <code>%pm3</code>"), "{counters:?}");
    assert!(row(&registers, "WARP_SZ"));
    assert!(TABLE.directives.iter().all(|directive| row(&directives, &format!("directive-{}", directive.name))));
    assert!(TABLE.spaces.iter().all(|space| row(&spaces, space.name)));
    let described = TABLE.types.iter().filter(|ty| !ty.description.is_empty());
    assert!(described.count() > 40 && row(&types, "bf16x2"));
    // Extremes of formats, as IEEE 754 and the specification of 8-bit floats have them.
    for (ty, largest) in
        [("f16", "65504"), ("e4m3", "448"), ("e5m2", "57344"), ("e2m1", "6"), ("e3m2", "28"), ("e2m3", "7.5")]
    {
        let line = types.lines().find(|line| line.contains(&format!("<code>.{ty}</code>")) && line.contains("<sup>"));
        assert!(line.is_some_and(|line| line.contains(&format!("<td>{largest}<td>"))), "{ty}: {line:?}");
    }
    // Each instruction is new in one version, that of its first form.
    let mut new: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for version in TABLE.versions {
        let page = read(&format!("v-{version}.html"));
        let part = page.split("<section id=\"instructions\">").nth(1).and_then(|rest| rest.split("</section>").next());
        for instruction in TABLE.instructions() {
            let opcode = instruction.data().opcode;
            if part.is_some_and(|part| part.contains(&format!("<code>{opcode}</code></a><td>"))) {
                new.entry(opcode).or_default().push(version.to_string());
            }
        }
    }
    for instruction in TABLE.instructions() {
        let first = instruction.forms().map(|form| spelling::since(form).ptx).min().expect("a form").to_string();
        assert_eq!(new.get(instruction.data().opcode), Some(&vec![first]), "{}", instruction.data().opcode);
    }
    for info in TABLE.targets {
        assert!(read(&format!("v-{}.html", info.since)).contains(&format!("t-{}.html\"", info.target)));
        read(&format!("t-{}.html", info.target));
    }
}

/// An opcode in names of files.
fn stem(opcode: &str) -> String {
    opcode.replace("::", "--")
}

/// Percent-decodes an address.
fn decoded(text: &str) -> String {
    text.replace("%20", " ").replace("%22", "\"").replace("%23", "#").replace("%25", "%")
}

#[test]
fn no_link_is_broken_and_nothing_comes_from_a_network() {
    let site = plain();
    let read = |name: &str| fs::read_to_string(site.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let manual = REFERENCE.manual.as_ref().expect("the spec names it");
    let mut anchors: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut links = BTreeSet::new();
    let pages = fs::read_dir(site).expect("the site").map(|entry| entry.expect("a file").file_name());
    for page in pages.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".html")) {
        let text = read(&page);
        let values =
            |key: &'static str| text.split(key).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned);
        assert!(values("src=\"").all(|source| !source.contains('/')), "{page}");
        links.extend(values("href=\"").map(|link| (page.clone(), link)));
        anchors.insert(page.clone(), values(" id=\"").collect());
    }
    for (page, link) in links {
        if link.starts_with("data:") || link.starts_with(manual.address) {
            continue;
        }
        assert!(!link.contains("//"), "{page}: {link}");
        // A colon would end a scheme.
        let (before, _) = link.split_once(['#', '?']).unwrap_or((&link, ""));
        assert!(!before.contains(':'), "{page}: {link}");
        let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
        let file = if file.is_empty() { page.as_str() } else { file };
        assert!(site.join(file).exists(), "{page}: {link}");
        if file == "explorer.html" && !anchor.is_empty() {
            let text = decoded(anchor.split(';').next().unwrap_or_default());
            let known = TABLE.instruction_of(&text).is_some_and(|info| info.data().opcode == text);
            // The reader takes what the site links, a form with all the modifiers that it cannot do without.
            let is_read = || mnemonic::resolve(&TABLE, &text).is_ok() || Statement::parse(&TABLE, &text).is_ok();
            let is_place = link.starts_with('#') && anchors[file].contains(anchor);
            assert!(known || is_read() || is_place, "{page}: {link}");
        } else if !anchor.is_empty() {
            assert!(anchors[file].contains(anchor), "{page}: {link}");
        }
    }
}
