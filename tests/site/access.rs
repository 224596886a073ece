//! What keeps people out: what axe-core finds, and what needs a mouse.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::browser::{Browser, TITLE};

/// One of each kind of page: these are tried with all rules in both color schemes.
const KINDS: [&str; 16] = [
    "index.html",
    "forms.html",
    "f-selp.html",
    "i-setp.html?target=sm_75",
    "i-ld.html",
    "i-mma.html",
    "i-tcgen05.mma.html",
    "memory.html",
    "conversions.html",
    "idioms.html",
    "explorer.html#setp.lt.f16x2",
    "explorer.html?target=sm_75#setp.lo.s32",
    "explorer.html#vset4.s32.u32.lt",
    "explorer.html#lop3.b32",
    "explorer.html#shfl.sync.idx.b32",
    "playground.html",
];

/// Pages that are lists of one kind: one of so many is tried.
const ALIKE: usize = 12;

/// Checks that axe-core finds nothing: on a page of each kind in both color schemes, and on all pages but for colors, which are
/// the same everywhere.
pub(crate) fn nobody_is_kept_out(browser: &Browser, site: &Path) {
    let Some(axe) = std::env::var_os("PTX_ISA_AXE") else {
        println!("skipped: PTX_ISA_AXE names no axe-core");
        return;
    };
    let axe = fs::read_to_string(axe).expect("axe-core's script");
    browser.width(1280);
    browser.command("Page.addScriptToEvaluateOnNewDocument", &json!({"source": axe}));
    let check = |page: &str, options: &str| {
        let script = format!(
            "const done = arguments[0]; axe.run({{ preload: false, {options} }}).then((found) => done(found.violations.map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | '))), (error) => done([String(error)]))"
        );
        let found = browser.post("/execute/async", &json!({"script": script, "args": []}));
        assert_eq!(found, json!([]), "{page}");
    };
    for page in KINDS {
        browser.open(site, page);
        if page.starts_with("explorer") && std::env::var_os("PTX_ISA_WASM").is_some() {
            browser.wait("document.documentElement.dataset.ready && document.querySelector('#about h2, #about p')");
        }
        for scheme in ["light", "dark"] {
            browser.colours(scheme);
            check(page, "");
        }
    }
    let files = fs::read_dir(site).expect("the site").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut pages: Vec<String> = files.filter(|name| name.ends_with(".html")).collect();
    pages.sort();
    let is_list = |name: &str| ["f-", "s-", "t-", "v-"].iter().any(|kind| name.starts_with(kind));
    let mut count = 0;
    for (number, page) in pages.iter().enumerate() {
        if !is_list(page) || number % ALIKE == 0 {
            browser.open(site, page);
            check(page, "rules: { 'color-contrast': { enabled: false } }");
            count += 1;
        }
    }
    println!("{count} pages keep nobody out");
}

/// A form is found, changed and evaluated without a mouse, and a page has few stops.
pub(crate) fn keys_alone_do(browser: &Browser, site: &Path) {
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
