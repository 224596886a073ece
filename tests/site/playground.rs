//! The playground: findings, fixes, inventories and launches of whole modules, and the address that holds them.

use std::path::Path;

use serde_json::json;

use crate::browser::Browser;

const READY: &str = "document.documentElement.dataset.ready && document.querySelector('#findings .fine, #findings li')";

fn open(browser: &Browser, site: &Path) {
    browser.open(site, "playground.html");
    browser.wait(READY);
}

/// Types a whole module.
fn write(browser: &Browser, text: &str) {
    let script = format!(
        "$('text').value = {text:?}; $('text').dispatchEvent(new Event('input')); $('findings').textContent = ''"
    );
    browser.script(&script);
    browser.wait(READY);
}

fn field(browser: &Browser, id: &str, value: &str) {
    browser.script(&format!(
        "$({id:?}).value = {value:?}; $({id:?}).dispatchEvent(new Event('change', {{ bubbles: true }}))"
    ));
}

fn run(browser: &Browser) -> String {
    browser.script("$('ran').innerHTML = ''; $('launch').requestSubmit()");
    browser.wait("document.querySelector('#ran p')");
    browser.text("#ran")
}

/// A site without its module says so.
pub(crate) fn says_what_it_lacks(browser: &Browser, site: &Path) {
    browser.open(site, "playground.html");
    assert!(browser.text("main").contains("without the module"));
}

/// A module is judged, measured, run and kept.
pub(crate) fn judges_and_runs(browser: &Browser, site: &Path) {
    open(browser, site);
    assert!(browser.text("#findings").starts_with("No finding. The module needs PTX 2.3, sm_20."));
    let inventory = browser.text("#inventory");
    for said in ["saxpy kernel, 18 statements", "sm_20: line 27, fma.rn.f32", "reads .global memory, 4 bytes × 2"] {
        assert!(inventory.contains(said), "{said}: {inventory}");
    }
    let ran = run(browser);
    assert!(ran.contains("50 × .f32") && ran.contains("1.0, 3.0, 5.0, 7.0"), "{ran}");
    browser.shot("playground.png");
    // An error of a launch has its place.
    field(browser, "argument0", "64");
    let ran = run(browser);
    assert!(ran.contains("no allocation has the 4 bytes") && ran.contains("ld.global.f32"), "{ran}");
    field(browser, "argument2", "[1, two]:f32");
    assert!(run(browser).contains("two is not a number of type f32"), "{}", browser.text("#ran"));
    field(browser, "blocks", "none");
    assert!(run(browser).contains("positive numbers"));
    field(browser, "blocks", "2");
    // The address holds the module and its launch.
    field(browser, "argument0", "3");
    field(browser, "argument2", "[1, 2, 3]:f32");
    browser.script("$('copied').textContent = ''; $('copy').click()");
    browser.wait("$('copied').textContent");
    let address = browser.script("return location.href");
    browser.post("/url", &json!({"url": "about:blank"}));
    browser.post("/url", &json!({"url": address}));
    browser.wait(READY);
    assert!(run(browser).contains("3.0, 5.0, 7.0, 1.0"), "{}", browser.text("#ran"));

    // Errors have places, and safe ones are mended.
    let module = ".version 8.0\n.target sm_80\n.entry k()\n{\n    .reg .pred p;\n    .reg .s32 r<2>;\n    setp.s32.lt p, r0, r1;\n    add.u33 r0, r0, r1;\n    ret;\n}\n";
    write(browser, module);
    let findings = browser.text("#findings");
    assert!(findings.contains("7:") && findings.contains("8:9") && findings.contains("unknown-modifier"), "{findings}");
    assert!(browser.text("#launch").contains("A module with errors cannot be run."));
    browser.script("[...document.querySelectorAll('#findings button')].at(-1).click()");
    let chosen = browser.script(
        "const { value, selectionStart, selectionEnd } = $('text'); return value.slice(selectionStart, selectionEnd)",
    );
    assert!(chosen.as_str().is_some_and(|chosen| module.contains(chosen) && chosen.contains("u33")), "{chosen}");
    browser.script("$('findings').textContent = ''; $('fix').click()");
    browser.wait(READY);
    let text = browser.script("return $('text').value");
    assert!(text.as_str().is_some_and(|text| text.contains("setp.lt.s32 p, r0, r1;")), "{text}");
    // A chosen target takes the place of the module's.
    browser.script("$('target').value = 'sm_50'; $('target').dispatchEvent(new Event('change', { bubbles: true }))");
    write(
        browser,
        ".version 8.0\n.target sm_80\n.entry k()\n{\n    .reg .b32 r<2>;\n    redux.sync.add.u32 r0, r1, 0xff;\n    ret;\n}\n",
    );
    assert!(browser.text("#findings").contains("sm_80"), "{}", browser.text("#findings"));
    // A kernel that never ends does not hang the page, and rubbish breaks nothing.
    browser.script("$('target').value = ''; $('target').dispatchEvent(new Event('change', { bubbles: true }))");
    write(browser, ".version 8.0\n.target sm_80\n.entry k()\n{\nagain:\n    bra again;\n}\n");
    assert!(run(browser).contains("more than"), "{}", browser.text("#ran"));
    write(browser, "}{ \u{1F600} .entry ((");
    assert!(browser.script("return document.querySelectorAll('#findings li.error').length").as_u64() > Some(0));
    browser.script("location.hash = '#rubbish'");
    browser.wait("$('ran').innerText.includes('holds no module')");
}
