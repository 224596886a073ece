//! Pages as they are read: what is above the fold, and what is folded.

use std::fs;
use std::path::Path;

use ptx_isa::reference::REFERENCE;
use serde_json::json;

use super::browser::Browser;

/// A screen is so many pixels high.
const SCREEN: f64 = 900.0;

/// No page is longer than ten screens before something is unfolded, the top of a page says what an instruction is, and an
/// address inside a folded part opens it.
pub(crate) fn long_pages_are_folded(browser: &Browser, site: &Path) {
    browser.width(1280);
    // Shorter files make no long pages.
    let files = fs::read_dir(site).expect("the site").filter_map(|entry| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        (name.starts_with("i-") || entry.metadata().ok()?.len() > 12_000).then_some(name)
    });
    let mut longest = (0.0, String::new());
    for page in files.filter(|name| name.ends_with(".html")) {
        browser.open(site, &page);
        let seen = "const bottom = (selector) => document.querySelector('main ' + selector)?.getBoundingClientRect().bottom; \
             return [document.documentElement.scrollHeight, bottom('.lead'), bottom('.signature'), bottom('.since-when'), bottom('.first a')]";
        let places: Vec<Option<f64>> =
            browser.script(seen).as_array().into_iter().flatten().map(|place| place.as_f64()).collect();
        let height = places[0].expect("a number");
        assert!(height <= 10.0 * SCREEN, "{page} is {height} pixels high");
        let opcode = page.strip_prefix("i-").and_then(|name| name.strip_suffix(".html"));
        if let Some(described) = opcode.and_then(|opcode| REFERENCE.page(opcode)) {
            let has_example = described.entries.iter().flat_map(|entry| entry.examples).any(|example| !example.refused);
            for (place, what) in places[1..].iter().zip(["sentence", "signature", "floor", "example"]) {
                let is_above = place.is_some_and(|place| place < SCREEN);
                assert!(is_above || (what == "example" && !has_example), "{page}: {what} at {place:?}");
            }
        }
        if height > longest.0 {
            longest = (height, page);
        }
    }
    println!("the longest page has {} pixels: {}", longest.0, longest.1);
    // The contents of an opcode with many entries lead to them by meaning.
    for (page, row, column) in [("i-mma.html", ".m16n8k32", ".e4m3"), ("i-cvt.html", ".e4m3x2", ".f32")] {
        browser.open(site, page);
        let found = browser.script(&format!(
            "const table = document.querySelector('.contents'); \
             const heads = [...table.tHead.rows[0].cells].map((cell) => cell.innerText); \
             const row = [...table.tBodies[0].rows].find((row) => row.cells[0].innerText === {row:?}); \
             const link = row.cells[heads.indexOf({column:?})].querySelector('a'); link.click(); return link.hash"
        ));
        let place = found.as_str().expect("a link").trim_start_matches('#').to_owned();
        browser.wait(&format!("document.getElementById({place:?}).checkVisibility()"));
        let said = browser.text(&format!("#{place}"));
        assert!([row, column].iter().all(|word| said.contains(word)), "{page}: {said}");
    }
    // From elsewhere, too, and after it was closed.
    browser.open(site, "i-mma.html#s12");
    browser.wait("document.querySelector('#s12').checkVisibility()");
    let last = "document.querySelector('#s19')";
    browser.assert_holds(&format!("!{last}.closest('details').open"));
    browser.script("location.hash = '#s19-examples'");
    browser.wait(&format!("{last}.closest('details').open"));
    assert_eq!(browser.script("return document.querySelector('#s13').closest('details').open"), json!(false));
}
