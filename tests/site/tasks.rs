//! What people come for: `tasks.txt` says how it is found, and this does it.

use std::path::Path;

use serde_json::json;

use super::browser::Browser;

/// No task takes more actions.
const MOST: usize = 3;

/// Walks each task from the first page.
pub(crate) fn twenty_tasks(browser: &Browser, site: &Path) {
    let text = include_str!("tasks.txt");
    let tasks = text.split("\n\n").filter(|task| !task.starts_with('#'));
    let mut count = 0;
    browser.width(1280);
    for task in tasks {
        let mut lines = task.trim().lines();
        let title = lines.next().expect("a title");
        browser.open(site, "index.html");
        let mut actions = 0;
        for line in lines {
            let (act, what) = line.split_once(' ').unwrap_or_else(|| panic!("{title}: `{line}`"));
            actions += usize::from(!["sees", "misses"].contains(&act));
            walk(browser, act, what);
        }
        assert!((1..=MOST).contains(&actions), "{title} takes {actions} actions");
        count += 1;
    }
    assert!(count >= 20, "{count} tasks");
}

fn walk(browser: &Browser, act: &str, what: &str) {
    // A page that is left still answers for a while.
    let before = browser.script("return location.href");
    let left = || browser.wait(&format!("location.href !== {before} && document.readyState === 'complete'"));
    let first = |selector: &str, test: &str| {
        format!("[...document.querySelectorAll({selector:?})].find((one) => one.checkVisibility() && {test})")
    };
    match act {
        "search" => {
            browser.keys("#box", &format!("{what}\n"));
            left();
        }
        "follow" => {
            let link = first("a", &format!("one.innerText.trim().startsWith({what:?})"));
            browser.wait(&link);
            browser.script(&format!("{link}.click()"));
            left();
        }
        "unfold" => {
            let summary = first("summary", &format!("one.innerText.trim().startsWith({what:?})"));
            browser.wait(&summary);
            browser.script(&format!("const one = {summary}; if (!one.parentNode.open) one.click()"));
        }
        "choose" => {
            let (list, name) = what.split_once(' ').expect("a list and a name");
            browser.script(&format!(
                "const list = document.getElementById({list:?}); list.value = {name:?}; list.dispatchEvent(new Event('change', {{ bubbles: true }}))"
            ));
        }
        "enter" => {
            let (place, value) = what.split_once(' ').expect("a place and a value");
            browser.wait(&format!("document.getElementById('in{place}')"));
            browser.replace(&format!("#in{place}"), value);
        }
        // What lies inside a scrolled box counts as seen.
        "sees" => browser.wait(&format!("document.querySelector('main').innerText.includes({what:?})")),
        "misses" => {
            assert_eq!(
                browser.script(&format!("return document.querySelector('main').innerText.includes({what:?})")),
                json!(false),
                "{what}"
            );
        }
        _ => panic!("`{act}` is no action"),
    }
}
