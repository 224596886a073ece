//! The search box, and what a chosen version and target leave of the site.

use std::collections::BTreeSet;
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::text::{mnemonic, spelling};
use serde_json::{Value, json};

use crate::browser::{Browser, TITLE};

/// Words, misspelt ones, an opcode, a section, and a statement: the best hit opens.
pub(crate) fn box_finds(browser: &Browser, site: &Path) {
    browser.open(site, "index.html");
    browser.shot("index.png");
    let names = |text: &str| -> Vec<String> {
        let found = browser.script(&format!("return search({text:?}).map((hit) => hit.name)"));
        found.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    for line in include_str!("queries.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
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
pub(crate) fn machine_filters(browser: &Browser, site: &Path) {
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
pub(crate) fn only_machines_that_are(browser: &Browser, site: &Path) {
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
