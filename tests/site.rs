//! The site in a real browser: search, verdicts, evaluation, links, colours, widths.
//!
//! With `PTX_ISA_BROWSER=1` Chromium is driven through chromedriver; without it the test says so and passes.
//! `PTX_ISA_WASM` names the module of evaluators; without it the site is tested as one without. `PTX_ISA_AXE` names axe-core's
//! script, which looks for what keeps people out; `PTX_ISA_SHOTS` a folder for screenshots; `PTX_ISA_ONLY` the only part to try.
#![cfg(feature = "docs")]

#[path = "site/access.rs"]
mod access;
#[path = "site/browser.rs"]
mod browser;
#[path = "site/guides.rs"]
mod guides;
#[path = "site/pages.rs"]
mod pages;
#[path = "site/tasks.rs"]
mod tasks;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

use ptx_isa::reference::REFERENCE;
use ptx_isa::text::{Statement, mnemonic, spelling};
use ptx_isa::{Form, TABLE};
use serde_json::{Value, json};

use self::browser::{Browser, CONTRAST, TITLE, base64};

fn ptx_isa(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ptx-isa")).args(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Writes the site, with the module of evaluators if there is one.
fn write_site(name: &str, module: Option<&str>) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&out);
    let mut arguments = vec!["docs", "--out", out.to_str().expect("a path")];
    match module {
        Some(module) => arguments.extend(["--wasm", module]),
        None => arguments.push("--static"),
    }
    arguments.extend(["--recorded", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machine/compiled.txt")]);
    arguments.extend(["--held", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/held.txt")]);
    let start = Instant::now();
    ptx_isa(&arguments);
    println!("written in {:?}", start.elapsed());
    out
}

/// The site without the module, which tests share.
fn plain() -> &'static Path {
    static SITE: OnceLock<PathBuf> = OnceLock::new();
    SITE.get_or_init(|| write_site("plain", None))
}

fn size(folder: &Path) -> u64 {
    fs::read_dir(folder)
        .expect("the site")
        .map(|entry| entry.and_then(|entry| entry.metadata()).expect("a file").len())
        .sum()
}

/// Files that a page loads before its first answer.
const BEFORE: [&str; 7] =
    ["explorer.html", "site.css", "site.js", "search.js", "explorer.js", "pictures.js", "index.js"];

#[test]
fn the_site_is_small_and_has_a_page_for_each_opcode_and_a_link_to_each_form() {
    let site = plain();
    let size_of = |name: &str| fs::metadata(site.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")).len();
    let all = size(site);
    let told = TABLE.instructions.iter().map(|info| size_of(&format!("o-{}.js", info.opcode))).max();
    let before = BEFORE.iter().map(|name| size_of(name)).sum::<u64>() + told.unwrap_or_default();
    println!("{all} bytes in all, at most {before} before the first answer");
    // The budget excludes the WebAssembly module.
    assert!(all < 11_000_000 && before <= 310_000);
    for instruction in TABLE.instructions() {
        let opcode = instruction.data().opcode;
        assert!(site.join(format!("i-{opcode}.html")).exists());
        let forms = fs::read_to_string(site.join(format!("f-{opcode}.html"))).expect("a page");
        for form in instruction.forms() {
            assert!(forms.contains(&format!("explorer.html#{}\"", spelling::mnemonic(form))), "{form:?}");
        }
        // A page names its section, and leads to the manual's and to its line of the spec.
        let page = fs::read_to_string(site.join(format!("i-{opcode}.html"))).expect("a page");
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
    assert!(TABLE.specials.iter().all(|special| row(&registers, special.name.trim_start_matches('%'))));
    assert!(TABLE.directives.iter().all(|directive| row(&directives, directive.name)));
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

/// A mnemonic with one modifier replaced: many are illegal.
fn variations() -> Vec<String> {
    let mut list = Vec::new();
    for (index, form) in Form::ALL.iter().enumerate().step_by(23) {
        let other = Form::ALL[(index * 7 + 311) % Form::COUNT].mnemonic();
        let parts: Vec<&str> = form.mnemonic().split('.').collect();
        if parts.len() == 1 {
            continue;
        }
        let word = other.split('.').nth(1 + index % 3).unwrap_or("ftz");
        let place = 1 + index % (parts.len() - 1);
        list.push(
            parts[..place].iter().chain([&word]).chain(&parts[place + 1..]).copied().collect::<Vec<_>>().join("."),
        );
        list.push(parts[..parts.len() - 1].join("."));
        list.push(form.mnemonic().to_owned());
    }
    list
}

#[test]
fn the_site_works_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let module = std::env::var("PTX_ISA_WASM").ok();
    let site = write_site("browser", module.as_deref());
    browser.width(1280);
    let mut parts: Vec<Part> =
        vec![("the box", box_finds), ("a version and a target", machine_filters), ("machines", only_machines_that_are)];
    match module {
        Some(_) => parts.extend::<[Part; 8]>([
            ("tasks", tasks::twenty_tasks),
            ("three answers", three_answers),
            ("the address", state_is_in_the_address),
            ("verdicts", verdicts_are_the_library_s),
            ("values", evaluates),
            ("pictures", pictures),
            ("keys", keys_alone_do),
            ("quickness", answers_are_quick),
        ]),
        None => parts.push(("no module", nothing_is_read)),
    }
    parts.extend::<[Part; 3]>([
        ("folds", pages::long_pages_are_folded),
        ("widths and colours", pages_fit),
        ("access", access::nobody_is_kept_out),
    ]);
    if let Ok(only) = std::env::var("PTX_ISA_ONLY") {
        parts.retain(|(name, _)| *name == only);
    }
    // Whatever fails in one part, the others are tried.
    let failed = parts.into_iter().filter(|(name, part)| {
        let start = Instant::now();
        let failed = catch_unwind(AssertUnwindSafe(|| part(&browser, &site))).is_err();
        println!("{name}: {:?}", start.elapsed());
        failed
    });
    let failed: Vec<&str> = failed.map(|(name, _)| name).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let errors = browser.errors();
    assert!(errors.is_empty(), "{errors:?}");
}

/// A name and what it tries.
type Part = (&'static str, fn(&Browser, &Path));

/// A site without its module knows mnemonics as the table spells them.
fn nothing_is_read(browser: &Browser, site: &Path) {
    browser.open(site, "explorer.html#selp.b32");
    browser.wait("document.querySelector('.verdict')");
    assert!(browser.word() == "legal" && browser.text("main").contains("without the module"));
}

/// Words, misspelt ones, an opcode, a section, and a statement: the best hit opens.
fn box_finds(browser: &Browser, site: &Path) {
    browser.open(site, "index.html");
    browser.shot("index.png");
    let names = |text: &str| -> Vec<String> {
        let found = browser.script(&format!("return search({text:?}).map((hit) => hit.name)"));
        found.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    for line in include_str!("site/queries.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let [first, among] = [" = ", " ~ "].map(|sign| line.split_once(sign));
        let (text, wanted) = first.or(among).unwrap_or_else(|| panic!("`{line}` says nothing"));
        let most = if first.is_some() { 1 } else { 4 };
        let found = names(text);
        let is_it =
            |hit: &String| hit.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        assert!(found.iter().take(most).any(is_it), "{line}: {found:?}");
        assert_eq!(browser.script(&format!("return isStatement({text:?})")), json!(false), "{text}");
    }
    // Every form that it lists is legal as it is spelt, and has its own line of the table.
    let listed = browser.script("return PTX.opcodes.flatMap(formsOf).map((form) => form.mnemonic)");
    let listed: BTreeSet<&str> = listed.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert_eq!(listed.len(), TABLE.forms().map(spelling::mnemonic).collect::<BTreeSet<_>>().len());
    for form in listed {
        assert!(mnemonic::resolve(&TABLE, form).is_ok(), "{form}");
    }
    for (text, wanted) in [
        ("setp lt f16", "setp.lt.f16"),
        ("f16 lt setp", "setp.lt.f16"),
        ("setp", "setp"),
        ("sept", "setp"),
        ("select", "selp"),
        ("logic and shift instructions", "Logic and Shift Instructions"),
        ("9.7.18", "Video Instructions"),
        ("cp async bulk", "cp.async.bulk"),
        ("set lt f32", "set.lt.u32.f32"),
    ] {
        assert_eq!(names(text).first().map(String::as_str), Some(wanted), "{text}: {:?}", names(text));
    }
    // Words of descriptions find several.
    for (text, wanted) in [
        ("compare half", vec!["set", "setp"]),
        ("video", vec!["vadd", "vset4"]),
        ("half", vec!["setp"]),
        ("multiply matrix", vec!["mma"]),
        ("select", vec!["selp", "slct"]),
        ("cosine", vec!["cos"]),
        ("permute bytes", vec!["prmt"]),
        ("barrier", vec!["bar", "barrier", "mbarrier.init"]),
        ("atomic", vec!["atom", "red"]),
        ("tensor core", vec!["mma", "wgmma.mma_async", "tcgen05.mma"]),
        ("broadcast", vec!["shfl"]),
        ("absolute", vec!["abs", "vabsdiff"]),
    ] {
        let found = names(text);
        assert!(wanted.iter().all(|name| found.iter().any(|hit| hit == name)), "{text}: {found:?}");
    }
    // Common names that occur in no description: the spec lists them, and they must lead to one of the first four hits.
    for (text, wanted) in [
        ("shuffle", "shfl"),
        ("popcount", "popc"),
        ("leading zeros", "clz"),
        ("byte permute", "prmt"),
        ("rotate", "shf"),
        ("funnel shift", "shf"),
        ("square root", "sqrt"),
        ("reciprocal", "rcp"),
        ("multiply add", "mad"),
        ("fused multiply add", "fma"),
        ("ballot", "vote"),
        ("syncthreads", "bar"),
        ("bit field extract", "bfe"),
        ("tma", "cp.async.bulk"),
    ] {
        let found = names(text);
        assert!(found.iter().take(4).any(|hit| hit == wanted), "{text}: {found:?}");
    }
    // Enter opens the best; an opcode has its page.
    browser.keys("#box", "setp\n");
    browser.wait("location.pathname.endsWith('i-setp.html')");
    browser.keys("#box", "setp lt f16\n");
    browser.wait("location.pathname.endsWith('explorer.html') && document.querySelector('.verdict.legal')");
    assert!(browser.text(TITLE).starts_with("setp.lt.f16"));
    // The list is walked with keys.
    browser.replace("#box", "setp lt ftz f16x2");
    browser.assert_holds("document.querySelector('#box').getAttribute('aria-expanded') === 'true'");
    browser.keys("#box", "\u{e015}");
    browser.assert_holds("document.querySelector('#hit0').getAttribute('aria-selected') === 'true' && document.querySelector('#box').getAttribute('aria-activedescendant') === 'hit0'");
    browser.keys("#box", "\n");
    browser.wait("document.querySelector('.verdict h2').innerText.startsWith('setp.lt.ftz.f16x2')");
    assert!(browser.text(".verdict").contains("PTX 4.2, sm_53"));
}

/// A version and a target hold for the whole site: they go along with links, and matrices, lists and chips follow them.
fn machine_filters(browser: &Browser, site: &Path) {
    browser.open(site, "i-setp.html?ptx=7.0&target=sm_75");
    browser.assert_holds("document.querySelector('#target').value === 'sm_75'");
    browser.assert_holds("document.querySelector('a[href^=\"f-setp\"]').href.endsWith('?ptx=7.0&target=sm_75')");
    let off = |row: &str, column: &str| {
        browser.script(&format!(
            "const table = [...document.querySelectorAll('.matrix')].find((table) => table.tHead.innerText.includes({column:?})); \
             const heads = [...table.tHead.rows[0].cells].map((cell) => cell.innerText); \
             const row = [...table.tBodies].flatMap((body) => [...body.rows]).find((row) => row.cells[0].innerText === {row:?}); \
             const cell = row.cells[heads.indexOf({column:?})]; return [cell.classList.contains('off'), cell.innerText]"
        ))
    };
    let gone = off(".lt", ".bf16");
    assert!(gone[0] == json!(true) && gone[1].as_str().is_some_and(|text| text.contains("sm_90")), "{gone}");
    assert_eq!(off(".lt", ".f16")[0], json!(false));
    // It is chosen on the page, too.
    browser.script("const list = document.querySelector('#target'); list.value = 'sm_90'; list.dispatchEvent(new Event('change', { bubbles: true })); const ptx = document.querySelector('#ptx'); ptx.value = ''; ptx.dispatchEvent(new Event('change', { bubbles: true }))");
    assert_eq!(off(".lt", ".bf16")[0], json!(false));
    browser.assert_holds("location.search === '?target=sm_90'");
    browser.open(site, "f-setp.html?target=sm_52");
    browser.assert_holds("document.querySelector('section.off') && document.querySelector('section:not(.off)')");
}

/// The index has what the chosen version and target have, and no machine can be chosen that never was.
fn only_machines_that_are(browser: &Browser, site: &Path) {
    let listed = |query: &str| {
        browser.open(site, &format!("index.html{query}"));
        browser.script("return [...document.querySelectorAll('.index > div')].filter((row) => row.checkVisibility()).map((row) => row.querySelector('code').innerText)")
    };
    let (all, old) = (listed(""), listed("?ptx=3.0&target=sm_20"));
    let has = |list: &Value, name: &str| list.as_array().is_some_and(|list| list.contains(&json!(name)));
    for instruction in TABLE.instructions() {
        let there =
            |form| spelling::is_listed(form, "3.0".parse().expect("a version"), "sm_20".parse().expect("a target"));
        let opcode = instruction.data().opcode;
        assert!(has(&all, opcode));
        // A form is listed by its canonical spelling.
        if has(&old, opcode) {
            assert!(instruction.forms().any(there), "{opcode}");
        }
    }
    assert!(has(&old, "setp") && !has(&old, "wgmma.mma_async"));
    // A target that came later is none of an older version, in the lists as in an address.
    let disabled = "const list = document.querySelector('#target'); return [...list.options].filter((option) => option.disabled).map((option) => option.value)";
    let missing = browser.script(disabled);
    for info in TABLE.targets {
        assert_eq!(
            has(&missing, &info.target.to_string()),
            info.since > "3.0".parse().expect("a version"),
            "{}",
            info.target
        );
    }
    browser.open(site, "index.html?ptx=8.6&target=sm_100f");
    browser.assert_holds(
        "document.querySelector('#ptx').value === '' && document.querySelector('#target').value === 'sm_100f'",
    );
    browser
        .assert_holds("[...document.querySelector('#ptx').options].find((option) => option.value === '8.6').disabled");
}

/// A form all of whose recorded results are known in these ways; the explorer takes its name as it is.
fn recorded(ways: &str) -> Option<&'static str> {
    let text = include_str!("machine/compiled.txt");
    let mut of: BTreeMap<&str, BTreeSet<char>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(' ').collect();
        let [name, _, _, letters] = parts[..] else { panic!("`{line}` does not say how it is known") };
        of.entry(name).or_default().extend(letters.chars());
    }
    let plain = |name: &str| TABLE.form(name).is_some_and(|form| form.name() == name);
    of.into_iter().find(|(name, letters)| letters.iter().copied().eq(ways.chars()) && plain(name)).map(|(name, _)| name)
}

/// "Not covered", "not legal" and "not legal on this target" are three answers; all of a statement is read.
fn three_answers(browser: &Browser, site: &Path) {
    let judged = |text: &str| {
        browser.explore(site, &format!("?ptx=7.0&target=sm_75#{}", text.replace('%', "%25").replace(' ', "%20")));
        browser.word()
    };
    assert!(judged("frobnicate.u32 d, a;").starts_with("not covered"));
    assert!(judged("sept.lt.s32 p, a, b;").starts_with("not covered"));
    assert!(browser.text(".verdict").contains("did you mean setp?"), "{}", browser.text(".verdict"));
    assert_eq!(judged("setp.lo.s32"), "not legal");
    assert!(browser.text(".verdict").contains(".lo is for unsigned integers"));
    browser.shot("illegal.png");
    browser.script("document.querySelector('.verdict a').click()");
    browser.wait("document.querySelector('.verdict h2').innerText.startsWith('setp.lt.s32')");
    // The command line names the same form near a misspelt one.
    assert_eq!(judged("setp.lt.f61"), "not legal");
    let near = browser.text(".verdict a");
    let output =
        Command::new(env!("CARGO_BIN_EXE_ptx-isa")).args(["explain", "setp.lt.f61"]).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = told.lines().skip_while(|line| *line != "Legal and near").nth(1).unwrap_or_default();
    assert_eq!(first.split_whitespace().next(), Some(near.as_str()), "{told}");
    assert!(judged("setp.lt.bf16").starts_with("not legal on this target"));
    assert!(browser.text(".verdict").contains("needs PTX 7.8, sm_90"), "{}", browser.text(".verdict"));
    for statement in [
        "setp.lt.s32 p, a, b;",
        "@p setp.lt.and.s32 p|q, a, b, !c;",
        "@!%p1 setp.f32.lt %p2|_, v.r, 1.0;",
        "vset4.u32.u32.lt %r1, %r2.b7654, %r3.b3210, %r4;",
        "ld.global.ca.v2.u32 {%r1, %r2}, [%rd1+16];",
    ] {
        assert_eq!(judged(statement), "legal", "{statement}: {}", browser.text(".verdict"));
    }
    // A modifier that is in no form is judged with the others.
    assert_eq!(judged("ld.relaxed.u32"), "not legal");
    assert!(browser.text(".verdict").contains(".scope"), "{}", browser.text(".verdict"));
    browser.pick("scope", ".gpu");
    assert_eq!((browser.word().as_str(), browser.text(TITLE).contains("ld.relaxed.gpu.u32")), ("legal", true));
    // An opcode alone begins somewhere.
    assert_eq!(judged("setp"), "an opcode");
    // How a form is known, the recorded results say.
    let known = [
        (recorded("f").expect("folded"), "Replayed: results that the assembler folded. "),
        (recorded("i").expect("interpreted"), "Replayed: results of machine code, interpreted. "),
        (
            recorded("fi").expect("both"),
            "Replayed: results that the assembler folded, and results of machine code, interpreted. ",
        ),
        ("sin.approx.f32", "Evaluated; no result"),
        ("shfl.sync.up.b32", "No result of a machine is recorded. Held to an independent reference: "),
        ("ld.u32", "The manual only"),
    ];
    for (form, how) in known {
        judged(form);
        browser.wait("document.querySelector('.badge')");
        assert!(browser.text(".badge").starts_with(how), "{form}: {}", browser.text(".badge"));
    }
    judged("setp.lt.f32");
    let badge = browser.text(".badge");
    assert!(badge.starts_with("Replayed: ") && badge.contains(" Held to an independent reference: "), "{badge}");
}

/// The address holds all that is shown, and nothing loses what was typed.
fn state_is_in_the_address(browser: &Browser, site: &Path) {
    browser.explore(site, "#setp.lt.f32;a=nan;b=1.0");
    assert_eq!(browser.outs(), "p = 0\nq = 1");
    browser.replace("#in0", "-inf");
    assert!(browser.hash().contains("a=-inf"), "{}", browser.hash());
    browser.pick("CmpOp", ".gt");
    browser.pick("ftz", ".ftz");
    assert!(browser.hash().starts_with("#setp.gt.ftz.f32;a=-inf;b=1.0"), "{}", browser.hash());
    assert_eq!(browser.outs(), "p = 0\nq = 1");
    browser.script("history.back()");
    browser.wait("document.querySelector('.verdict h2').innerText.startsWith('setp.gt.f32')");
    browser.assert_holds("document.querySelector('#in0').value === '-inf'");
    // "Skip to content" shows the content and changes nothing.
    let before = browser.hash();
    browser.script("document.querySelector('.skip').click()");
    assert_eq!(browser.hash(), before);
    browser.assert_holds("document.activeElement.id === 'main'");
    // Selectors are part of the statement.
    browser.explore(site, "#vset4.u32.u32.lt;a=0x04030201;b=0x08070605;c=0");
    browser.replace("#in4", "0123");
    browser.assert_holds("document.querySelector('#in4').getAttribute('aria-invalid') === 'true'");
    browser.replace("#in4", "b0123");
    browser.assert_holds("document.querySelector('#in4').getAttribute('aria-invalid') === 'false' && document.querySelector('#box').value.includes('a.b0123')");
    let typed = browser.script("return location.href");
    browser.post("/url", &json!({"url": "about:blank"}));
    browser.post("/url", &json!({"url": typed}));
    browser.wait("document.querySelector('#outs')");
    browser.assert_holds("document.querySelector('#in4').value === 'b0123'");
    browser.script("document.querySelector('#copy').click()");
    browser.wait("document.querySelector('#copied').innerText");
    // An address that cannot be decoded must not cause an error.
    browser.open(site, "explorer.html#%E0%A4%A");
    browser.wait("document.querySelector('.verdict')");
    assert!(browser.word().starts_with("not covered"));
    // Headings are links to themselves.
    browser.open(site, "i-setp.html");
    browser.assert_holds(
        "[...document.querySelectorAll('main h2, main h3')].every((head) => head.closest('summary') || head.querySelector('a.self[href^=\"#\"]'))",
    );
}

/// Verdicts and reasons are those of the library.
fn verdicts_are_the_library_s(browser: &Browser, site: &Path) {
    browser.explore(site, "#setp.lt.f32");
    let mnemonics = variations();
    let list = serde_json::to_string(&mnemonics).expect("text");
    let start = Instant::now();
    let verdicts = browser.script(&format!("return {list}.map((text) => {{ const v = explain(text); return [v.verdict === 'legal', v.reasons[0]?.message]; }})"));
    println!("{} verdicts in {:?}", mnemonics.len(), start.elapsed());
    for (mnemonic, verdict) in mnemonics.iter().zip(verdicts.as_array().expect("a list")) {
        match mnemonic::resolve(&TABLE, mnemonic) {
            Ok(_) => assert_eq!(verdict[0], json!(true), "{mnemonic}"),
            Err(refusal) => assert_eq!(*verdict, json!([false, refusal.reasons[0].message]), "{mnemonic}"),
        }
    }
}

/// Prints the time of each keystroke, at full speed and throttled to a quarter, without asserting a limit.
fn answers_are_quick(browser: &Browser, site: &Path) {
    browser.explore(site, "#setp.lt.f32");
    for slower in [1, 4] {
        browser.command("Emulation.setCPUThrottlingRate", &json!({"rate": slower}));
        let took = browser.script(
            "formsOf(PTX.opcodes[0]); const took = {}; \
             for (const text of ['s', 'set', 'compare half', 'setp lt', 'setp.l', 'setp.lo.s32', 'set.lt.and.ftz.u32.f32', 'b64 ne', 'wgmma f16', 'cvt.rn.f16.f32 d, a;']) { \
             box.value = text; let best = Infinity; \
             for (let time = 0; time < 3; time++) { const start = performance.now(); box.dispatchEvent(new Event('input')); document.body.offsetHeight; best = Math.min(best, performance.now() - start); } \
             took[text] = Math.round(best * 10) / 10; } return took",
        );
        println!("{slower} times slower, a keystroke takes (ms): {took}");
    }
    browser.command("Emulation.setCPUThrottlingRate", &json!({"rate": 1}));
}

/// Lanes that selectors pick, where bits go, and values lane by lane.
fn pictures(browser: &Browser, site: &Path) {
    browser.explore(site, "#vset4.u32.u32.lt%20d,%20a.b0123,%20b,%20c;a=0x04030201;b=0x08070605;c=0");
    browser.wait("document.querySelector('.picture')");
    let picture = browser.text("#results");
    assert!(picture.contains("0x04") && picture.contains("→ 3") && picture.contains("0x01"), "{picture}");
    browser.shot("lanes.png");
    browser.explore(site, "#prmt.b32;a=0x44332211;b=0x88776655;c=0x0123");
    let picture = browser.text("#results");
    assert!(picture.contains("a[7:0]") && picture.contains("d[31:24]") && picture.contains("0x11"), "{picture}");
    browser.explore(site, "#shl.b32;a=0x12345678;b=8");
    assert!(browser.text(".picture").contains("a[23:0]"), "{}", browser.text(".picture"));
    browser.explore(site, "#setp.lt.f16x2;a=1.0 2.0;b=2.0 1.0");
    assert_eq!(browser.outs(), "p = 1\nq = 0");
    assert!(browser.text("#in0shown").contains("2.0") && browser.text("#in0shown").contains("1.0"));
    // Who holds what of a matrix: a table in each fragment.
    browser.open(site, "i-mma.html#fragments");
    browser.assert_holds("document.querySelectorAll('#fragments details').length > 10");
    browser.assert_holds("[...document.querySelectorAll('#fragments details')].every((one) => one.querySelector('table.held td.picked') && one.querySelector('.holders a'))");
    browser.script("[...document.querySelectorAll('#fragments details')].forEach((one) => (one.open = true))");
    let summary = browser.text("#fragments");
    assert!(summary.contains("16 × 16 elements; each lane has 4 registers of 2 elements"), "{summary}");
    browser.shot("fragments.png");
    // Layout of a descriptor's bits, highest first.
    browser.open(site, "i-wgmma.mma_async.html#bits1");
    browser.wait("document.querySelector('#bits .cells').checkVisibility()");
    let bits = browser.text("#bits .cells");
    let places = ["63:62", "swizzle", "61:52", "51:49", "base_offset", "45:32", "13:0", "start"];
    let found: Vec<_> = places.iter().map(|place| bits.find(place)).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{bits}");
    browser.shot("bits.png");
    browser.explore(site, "#shfl.sync.bfly.b32");
    browser.assert_holds("document.querySelectorAll('#outs .lanes span').length === 32 || document.querySelector('#outs').innerText.includes('d = ')");
}

/// A form is found, changed and evaluated without a mouse, and a page has few stops.
fn keys_alone_do(browser: &Browser, site: &Path) {
    browser.open(site, "i-setp.html");
    let stops = browser.script("return [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex=\"0\"]')].filter((element) => element.tabIndex >= 0 && element.checkVisibility()).length");
    println!("{stops} stops on the page of setp");
    assert!(stops.as_u64().is_some_and(|stops| stops < 90), "{stops}");
    let active = "document.activeElement";
    browser.script("document.querySelector('.matrix td a').focus()");
    browser.keys(".matrix td a:focus", "\u{e014}\u{e015}");
    browser.assert_holds(&format!(
        "{active}.closest('td') && {active}.closest('td').cellIndex > 1 && {active}.tabIndex === 0"
    ));
    browser.assert_holds("document.querySelectorAll('.matrix')[0].querySelectorAll('a[tabindex=\"0\"]').length === 1");
    browser.keys(".matrix td a:focus", "\n");
    browser.wait("location.pathname.endsWith('explorer.html') && document.documentElement.dataset.ready && document.querySelector('#pick input')");
    browser.script("document.querySelector('#pick [role=radiogroup] input:checked').focus()");
    let before = browser.text(TITLE);
    browser.keys("#pick input:focus", "\u{e014}");
    assert_ne!(browser.text(TITLE), before);
    browser.assert_holds(&format!("{active}.type === 'radio' && {active}.checked"));
    // An illegal chip says so.
    browser.assert_holds("[...document.querySelectorAll('.chip.illegal')].every((chip) => chip.innerText.includes('not legal') && chip.querySelector('[aria-disabled=true]'))");
    browser.assert_holds("document.querySelector('.chip.illegal')");
    // No two links of a page are called alike and lead elsewhere.
    browser.open(site, "i-setp.html");
    let twice = browser.script("const names = new Map(); for (const a of document.querySelectorAll('main a')) { const name = (a.ariaLabel ?? a.textContent).trim(); if (!names.has(name)) names.set(name, new Set()); names.get(name).add(a.href); } return [...names].filter(([, targets]) => targets.size > 2).map(([name]) => name)");
    assert_eq!(twice, json!([]));
}

/// Pages stay inside the window, on a phone, too, where the evaluator is near the top; text is readable in both colours;
/// forced colours and paper lose nothing.
fn pages_fit(browser: &Browser, site: &Path) {
    let some = TABLE.instructions.iter().step_by(30).map(|instruction| instruction.opcode);
    let large = ["cvt", "ld", "mma", "set", "wgmma.mma_async"].into_iter();
    let opcodes: BTreeSet<String> = some.chain(large).map(|opcode| format!("i-{opcode}.html")).collect();
    let others = ["index.html", "forms.html", "f-setp.html", "s-comparison.isa.html", "explorer.html#set.lo.s32.f32"];
    for page in opcodes.into_iter().chain(others.map(str::to_owned)) {
        browser.open(site, &page);
        for width in [320, 768, 1280] {
            browser.width(width);
            let wide = browser.script("return document.documentElement.scrollWidth").as_i64().expect("a number");
            assert!(wide <= width.into(), "{page} takes {wide} pixels of {width}");
            browser.shot(&format!("{}-{width}.png", page.replace(['#', '.'], "_")));
        }
        for scheme in ["light", "dark"] {
            browser.colours(scheme);
            assert_eq!(browser.script(CONTRAST), json!([]), "{page}, {scheme}");
        }
    }
    if std::env::var_os("PTX_ISA_WASM").is_some() {
        browser.width(320);
        browser.explore(site, "#vset4.s32.u32.lt.add");
        let top = browser.script("return document.querySelector('#in0').getBoundingClientRect().top + scrollY");
        println!("the evaluator is {top} pixels down on a phone");
        assert!(top.as_f64().is_some_and(|top| top < 700.0), "{top}");
        browser.assert_holds("document.documentElement.scrollWidth <= 320");
        browser.shot("explorer-320.png");
        browser.width(1280);
        // Chosen chips are seen where a page has no colours of its own, and on paper.
        let seen = "const chip = document.querySelector('.chip input:checked + span'); return getComputedStyle(chip).outlineStyle";
        let features = json!([{"name": "forced-colors", "value": "active"}]);
        browser.command("Emulation.setEmulatedMedia", &json!({"features": features}));
        assert_eq!(browser.script(seen), json!("solid"));
        browser.command("Emulation.setEmulatedMedia", &json!({"media": "print", "features": []}));
        assert_eq!(browser.script(seen), json!("solid"));
    }
    browser.command("Emulation.setEmulatedMedia", &json!({"media": "print", "features": []}));
    for (page, most) in [("i-set.html", 5), ("i-selp.html", 2)] {
        browser.open(site, page);
        let printed = browser.command("Page.printToPDF", &json!({"paperWidth": 8.27, "paperHeight": 11.7}));
        let printed = base64(printed["data"].as_str().expect("a file"));
        let pages = printed.windows(11).filter(|bytes| bytes == b"/Type /Page").count()
            - printed.windows(12).filter(|bytes| bytes == b"/Type /Pages").count();
        println!("{page} takes {pages} pages of paper");
        assert!((1..=most).contains(&pages), "{page}: {pages}");
    }
    browser.command("Emulation.setEmulatedMedia", &json!({"media": "", "features": []}));
}

/// Compares what the page computes with `ptx-isa eval`.
fn evaluates(browser: &Browser, site: &Path) {
    let compare = |statement: &str, inputs: &[(&str, &str)]| {
        let values: String = inputs.iter().map(|(name, value)| format!(";{name}={value}")).collect();
        let address = format!("#{}{values}", statement.trim_end_matches(';').replace(' ', "%20"));
        browser.script(&format!("arrive('explorer.html' + {address:?})"));
        let page = browser.script("return [...document.querySelectorAll('#outs > div')].map((line) => line.firstChild.data + line.querySelector('output').innerText)");
        let page: Vec<&str> = page.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let given: Vec<String> = inputs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let arguments: Vec<&str> = ["eval", statement].into_iter().chain(given.iter().map(String::as_str)).collect();
        let line = ptx_isa(&arguments);
        // Notes on a result are shown with its instruction, so only lines with values are compared.
        let results: Vec<&str> = line.lines().filter(|line| line.contains(" = ")).collect();
        assert_eq!(page, results, "{statement} {inputs:?}");
    };
    browser.explore(site, "#setp.lt.f32");
    compare("setp.ltu.and.ftz.f32 p|q, a, b, !c;", &[("a", "nan"), ("b", "1.0"), ("c", "0")]);
    assert!(browser.outs().starts_with("p = 1"));
    compare("@g setp.eq.u32 p, i, n;", &[("i", "7"), ("n", "7"), ("g", "1")]);
    compare("vset4.s32.u32.lt.add d.b10, a.b7654, b.b0000, c;", &[("a", "-2"), ("b", "0x01020304"), ("c", "5")]);
    compare("setp.lt.and.s32 p|q, a, b, c;", &[("a", "5"), ("b", "-3"), ("c", "1")]);
    compare("set.leu.f32.f32 d, a, b;", &[("a", "nan"), ("b", "-inf")]);
    compare("set.lt.ftz.u32.f32 d, a, b;", &[("a", "1e-40"), ("b", "0f3f800000")]);
    compare("setp.gt.f16x2 p|q, a, b;", &[("a", "0x3c004000"), ("b", "0x40003c00")]);
    compare("slct.f64.f32 d, a, b, c;", &[("a", "1.5"), ("b", "0d7ff0000000000001"), ("c", "-0.0")]);
    compare("vset4.s32.u32.lt d, a, b, c;", &[("a", "-2"), ("b", "0x01020304"), ("c", "0")]);
    // Forms that use no state, such as the carry flag, read only registers, and are the first of their mnemonic: for
    // all others the page gives the reason why nothing is computed.
    let alone = |form: &&Form| {
        let info = form.info();
        let registers = info.operands().iter().all(|operand| !operand.registers.is_empty());
        let first = TABLE.form(info.mnemonic()) == Some(info);
        info.has_evaluator() && info.states().is_empty() && registers && first
    };
    for form in Form::ALL.iter().filter(alone).step_by(211) {
        let info = form.info();
        let operands: Vec<String> = info
            .operands()
            .iter()
            .map(|operand| match &operand.second {
                Some(second) => format!("{}|{}", operand.name, second.name),
                None => operand.name.to_owned(),
            })
            .collect();
        let inputs: Vec<(&str, &str)> = info
            .sources()
            .enumerate()
            .map(|(index, operand)| {
                let value = match TABLE.ty(operand.ty).bits {
                    1 => "1",
                    8 => ["0x1", "0x7f", "0x85"][index % 3],
                    _ => ["0x3c01", "0x7fff", "0x5"][index % 3],
                };
                (operand.name, value)
            })
            .collect();
        let selector = info.selectors().next().is_some();
        if !selector {
            compare(&format!("{form} {};", operands.join(", ")), &inputs);
        }
    }

    // Input is evaluated immediately, and errors in it are reported.
    browser.explore(site, "#setp.lt.f16x2;a=0x3c004000;b=0x40003c00");
    assert!(browser.text(".steps").contains("t = a < b;"));
    browser.shot("evaluated.png");
    browser.replace("#in0", "two");
    browser.wait("document.querySelector('#wrong').innerText.includes('is not a value of type')");
    browser.assert_holds("document.querySelector('#in0').getAttribute('aria-invalid') === 'true'");
    browser.replace("#in0", "0");
    browser.wait("document.querySelector('#outs')");
}
