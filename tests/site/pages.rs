//! Pages as they are read: what is above the fold, what is folded, pictures, widths and colors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use serde_json::json;

use super::browser::{Browser, CONTRAST, base64};

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
        if let Some(described) = opcode.and_then(|opcode| REFERENCE.page(&opcode.replace("--", "::"))) {
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

/// Lanes that selectors pick, where bits go, and values lane by lane.
pub(crate) fn pictures(browser: &Browser, site: &Path) {
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
}

/// Lanes that read from others, truth tables, distributions of matrices, and what is said beside a value.
pub(crate) fn pictures_of_forms(browser: &Browser, site: &Path) {
    // The examples give a shuffle its constants: lanes that are 16 apart exchange their values.
    browser.explore(site, "#shfl.sync.bfly.b32");
    browser.wait("document.querySelector('.warp')");
    let arrows = browser.script("return document.querySelectorAll('.warp > line').length");
    let said = browser.script("return document.querySelector('.warp').getAttribute('aria-label')");
    assert_eq!(arrows, json!(32));
    assert!(said.as_str().is_some_and(|said| said.contains("0 from 16, 1 from 17")), "{said}");
    browser.explore(site, "#shfl.sync.up.b32;b=1;c=0");
    let said = browser.script("return document.querySelector('.warp').getAttribute('aria-label')");
    assert!(said.as_str().is_some_and(|said| said.contains("0 from 0, 1 from 0, 2 from 1")), "{said}");
    browser.explore(site, "#shfl.sync.idx.b32%20d,%20a,%20b,%20c,%20m;b=3;m=0xffff");
    assert!(browser.outs().contains("Unspecified in lanes 16–31: any other value is as good."), "{}", browser.outs());
    assert_eq!(browser.script("return document.querySelectorAll('.warp .open').length"), json!(16));
    // A vote joins all lanes, and gives all the same.
    browser.explore(site, "#vote.sync.any.pred");
    browser.wait("document.querySelector('.warp')");
    let said = browser.script("return document.querySelector('.warp').getAttribute('aria-label')");
    assert!(said.as_str().is_some_and(|said| said.contains("from all")), "{said}");
    assert!(browser.text(".picture figcaption").contains("1 in all lanes"), "{}", browser.text(".picture"));
    // Lanes with the same value have the same mask, and one colour.
    browser.explore(site, "#match.any.sync.b32");
    browser.wait("document.querySelector('.warp')");
    let colours =
        "return new Set([...document.querySelectorAll('.warp g[style]')].map((one) => one.getAttribute('style'))).size";
    assert_eq!(browser.script(colours), json!(16));
    // A result of a truth table is a button that changes the constant; the focus stays.
    browser.explore(site, "#lop3.b32%20d,%20a,%20b,%20c,%200x80");
    let results = "return [...document.querySelectorAll('.truth button')].map((one) => one.innerText).join('')";
    assert_eq!(browser.script(results), json!("00000001"));
    browser.script("document.querySelectorAll('.truth button')[0].focus(); document.activeElement.click()");
    browser.wait("document.querySelector('#box').value.includes('0x81')");
    browser.assert_holds("document.activeElement === document.querySelectorAll('.truth button')[0]");
    browser.assert_holds("document.activeElement.getAttribute('aria-pressed') === 'true'");
    // A field of bits, and its sign, which fit a phone.
    browser.width(320);
    browser.explore(site, "#bfe.s32;a=0x12f45678;b=12;c=8");
    let picture = browser.text(".bits");
    assert!(picture.contains("a[19] × 24") && picture.contains("a[19:12]") && picture.contains("0x45"), "{picture}");
    browser.assert_holds(
        "document.documentElement.scrollWidth <= 320 && document.querySelector('.bits').scrollWidth <= 320",
    );
    browser.width(1280);
    // Unspecified results are marked beside the value, and are no step.
    browser.explore(site, "#div.u32;a=5;b=0");
    assert!(browser.outs().contains("Unspecified: any other value is as good."), "{}", browser.outs());
    assert!(!browser.text(".steps").contains("unspecified"));
    browser.replace("#in1", "2");
    browser.wait("document.querySelector('#outs').innerText.startsWith('d = 0x00000002')");
    assert!(!browser.outs().contains("Unspecified"));
    // Red is what is wrong: either of two modifiers, and not the others.
    browser.explore(site, "#setp.lo.s32");
    let red = browser.script("return [...document.querySelectorAll('.chip.illegal')].filter((chip) => chip.querySelector('input').checked).map((chip) => chip.querySelector('span').firstChild.data)");
    assert_eq!(red, json!([".lo", ".s32"]));
    // Who holds the elements of a product's matrices, by shape.
    browser.explore(site, "#mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
    browser.wait("document.querySelectorAll('#about .fragment').length === 3");
    browser.script("document.querySelectorAll('#about .fragment').forEach((one) => (one.open = true))");
    let matrices = browser.text("#about");
    for said in ["d, c: 16 × 8 elements, 4 registers", "a: 16 × 16 elements", "b: 16 × 8 elements", "T31"] {
        assert!(matrices.contains(said), "{said}: {matrices}");
    }
    assert!(browser.text("#why").contains("kernels run it"), "{}", browser.text("#why"));
    // Machine code of a form.
    browser.explore(site, "#fma.rn.f32");
    browser.wait("document.querySelector('#about').innerText.includes('Machine code')");
    let said = browser.text("#about");
    assert!(said.contains("FFMA") && said.contains("For sm_90, by ptxas 13.5"), "{said}");
}

/// Folded parts open without scripts.
pub(crate) fn folds_need_no_script(browser: &Browser, site: &Path) {
    browser.command("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.open(site, "i-cvt.html");
    let folds = browser.script("return document.querySelectorAll('details.fold').length");
    browser.keys("details.fold summary", "\n");
    let seen = browser.script("return document.querySelector('details.fold').open && document.querySelector('details.fold article, details.fold div').checkVisibility()");
    browser.command("Emulation.setScriptExecutionDisabled", &json!({"value": false}));
    assert!(folds.as_u64() > Some(10), "{folds}");
    assert_eq!(seen, json!(true));
}

/// Pages stay inside the window, on a phone, too, where the evaluator is near the top; text is readable in both colours;
/// forced colours and paper lose nothing.
pub(crate) fn pages_fit(browser: &Browser, site: &Path) {
    let some = TABLE.instructions.iter().step_by(30).map(|instruction| instruction.opcode);
    let large = ["cvt", "ld", "mma", "set", "wgmma.mma_async"].into_iter();
    let opcodes: BTreeSet<String> =
        some.chain(large).map(|opcode| format!("i-{}.html", opcode.replace("::", "--"))).collect();
    let others = [
        "index.html",
        "forms.html",
        "f-setp.html",
        "s-comparison.isa.html",
        "explorer.html#set.lo.s32.f32",
        "explorer.html#shfl.sync.bfly.b32",
        "explorer.html#lop3.b32",
        "playground.html",
    ];
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
