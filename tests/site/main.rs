//! The site in a real browser: search, verdicts, evaluation, links, colours, widths.
//!
//! With `PTX_ISA_BROWSER=1` Chromium is driven through chromedriver; without it the test says so and passes.
//! `PTX_ISA_WASM` names the module of evaluators; without it the site is tested as one without. `PTX_ISA_AXE` names axe-core's
//! script, which looks for what keeps people out; `PTX_ISA_SHOTS` a folder for screenshots; `PTX_ISA_ONLY` the only part to try.
#![cfg(feature = "docs")]

mod access;
mod browser;
mod explorer;
mod files;
mod guides;
mod loading;
mod pages;
mod playground;
mod search;
mod tasks;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

use crate::browser::Browser;

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
    arguments.extend(["--code", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machine/code.txt")]);
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

#[test]
fn the_site_works_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let module = std::env::var("PTX_ISA_WASM").ok();
    let site = write_site("browser", module.as_deref());
    browser.width(1280);
    let mut parts: Vec<Part> = vec![
        ("the box", search::box_finds),
        ("a version and a target", search::machine_filters),
        ("machines", search::only_machines_that_are),
    ];
    match module {
        Some(_) => parts.extend::<[Part; 10]>([
            ("tasks", tasks::twenty_tasks),
            ("three answers", explorer::three_answers),
            ("the address", explorer::state_is_in_the_address),
            ("verdicts", explorer::verdicts_are_the_library_s),
            ("values", explorer::evaluates),
            ("pictures", pages::pictures),
            ("pictures of forms", pages::pictures_of_forms),
            ("playground", playground::judges_and_runs),
            ("keys", access::keys_alone_do),
            ("quickness", explorer::answers_are_quick),
        ]),
        None => parts.extend::<[Part; 2]>([
            ("no module", explorer::nothing_is_read),
            ("no playground", playground::says_what_it_lacks),
        ]),
    }
    parts.extend::<[Part; 5]>([
        ("folds", pages::long_pages_are_folded),
        ("folds without scripts", pages::folds_need_no_script),
        ("loading", loading::pages_do_not_move),
        ("widths and colours", pages::pages_fit),
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
