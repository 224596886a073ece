//! Mutated, truncated and nested specs: no panic, and a report with a place, or a table.

#[path = "../../tests/random/mod.rs"]
mod random;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use isa_spec::{Build, PTX};
use random::Random;

/// Runs every stage, the emitter too where nothing is wrong; the report, if there are mistakes.
fn report(files: &[(&str, &str)]) -> Option<String> {
    let build = files.iter().fold(Build::new(), |build, (name, text)| build.text(name, text));
    let report = catch_unwind(AssertUnwindSafe(|| build.generate().err()));
    report.unwrap_or_else(|_| panic!("a panic on:\n{}", files.last().unwrap().1))
}

fn assert_placed(report: &str, files: &[(&str, &str)]) {
    assert!(report.starts_with("error"), "{report}");
    assert!(report.contains("--> ") || report.contains("the spec describes no instruction"), "{report}");
    assert!(report.ends_with(" in the spec\n") || report.ends_with("; the first 100 are shown\n"), "{report}");
    // No mistake is placed where there is nothing.
    for line in report.lines().filter_map(|line| line.trim_start().strip_prefix("--> ")) {
        let mut parts = line.split(':');
        let text = files.iter().find(|(name, _)| Some(*name) == parts.clone().next()).expect("a file of the spec").1;
        let (row, column): (usize, usize) = {
            parts.next();
            (parts.next().unwrap().parse().unwrap(), parts.next().unwrap().parse().unwrap())
        };
        let written = text.split('\n').nth(row - 1).unwrap_or_default();
        assert!(column <= written.chars().count() + 1, "{line}: {written:?}");
    }
}

/// Returns each entry of the table without the others of its file, so that a mutant is checked quickly. Entries that
/// use a template are left out: they do not parse on their own.
fn entries() -> Vec<String> {
    let mut list = Vec::new();
    for (_, text) in &PTX[1..] {
        let starts: Vec<usize> = text.match_indices("\ninstruction ").map(|(at, _)| at).collect();
        for start in starts {
            let description = text[..start].rfind("\n\n").unwrap();
            // An entry on one line is a use of a template.
            let Some(end) =
                text[start..].find("\n}\n").filter(|_| text[start + 1..].lines().next().unwrap().ends_with('{'))
            else {
                continue;
            };
            let entry = &text[description..start + end + 3];
            if !entry.contains(" use ") {
                list.push(entry.to_owned());
            }
        }
    }
    list
}

/// The entry that is used where any would do.
fn small_entry() -> String {
    let found = entries().into_iter().find(|entry| entry.contains("\ninstruction selp "));
    found.expect("an entry of eleven forms")
}

/// Pieces that mutants are made of: fragments of the language, and arbitrary characters.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    ".",
    "|",
    "!",
    "?",
    "=",
    "<",
    ">",
    "&&",
    "@",
    "#",
    "/// x\n",
    "//!",
    "'",
    "\"",
    "_",
    "self",
    "if",
    "in",
    "as",
    "none",
    "semantics",
    "0x",
    "1.0",
    "99999999999999999999",
    "é",
    "\u{feff}",
    "\0",
    "/*",
    "r#",
    "sm_",
    "::",
];

fn mutated(text: &str, random: &mut Random) -> String {
    let boundary = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (a, b) = (boundary(random.below(text.len() + 1)), boundary(random.below(text.len() + 1)));
    if text.is_empty() {
        return PIECES[random.below(PIECES.len())].to_owned();
    }
    let near = boundary((a + 1 + random.below(12)).min(text.len()));
    let piece = PIECES[random.below(PIECES.len())];
    match random.below(7) {
        0 => text[..a].to_owned(),
        1 => format!("{}{}", &text[..a], &text[near..]),
        2 => format!("{}{piece}{}", &text[..a], &text[a..]),
        3 => format!("{}{piece}{}", &text[..a], &text[near..]),
        4 => format!("{}{}{}", &text[..b], &text[a..near], &text[b..]),
        5 => {
            let mut chars: Vec<char> = text.chars().collect();
            let (x, y) = (random.below(chars.len()), random.below(chars.len()));
            chars.swap(x, y);
            chars.into_iter().collect()
        }
        _ => text.replacen(piece, PIECES[random.below(PIECES.len())], 1 + random.below(3)),
    }
}

#[test]
fn mutated_entries_are_reported_and_never_panic() {
    let start = Instant::now();
    let mut random = Random::new(1);
    let entries = entries();
    assert!(entries.len() >= 7);
    let (mut refused, mut tried) = (0, 0);
    // As many as a few seconds allow; the first ones are the same on every machine.
    while tried < 60 || tried < 1500 && start.elapsed().as_secs() < 3 {
        // The small ones more often: a mutant that is still a table of a thousand forms takes its time.
        let entry = &entries[random.below(entries.len())];
        if entry.contains("BoolOp") && random.below(6) > 0 {
            continue;
        }
        let mutant = (0..=random.below(3)).fold(entry.clone(), |text, _| mutated(&text, &mut random));
        let files = [PTX[0], ("mutant.isa", &mutant)];
        tried += 1;
        if let Some(report) = report(&files) {
            refused += 1;
            assert_placed(&report, &files);
        }
    }
    assert!(refused * 2 > tried, "{refused} of {tried}");
}

#[test]
fn mutated_preludes_are_reported_and_never_panic() {
    let start = Instant::now();
    let mut random = Random::new(2);
    let entry = small_entry();
    let (mut refused, mut tried) = (0, 0);
    while tried < 60 || tried < 1000 && start.elapsed().as_secs() < 2 {
        let mutant = (0..=random.below(3)).fold(PTX[0].1.to_owned(), |text, _| mutated(&text, &mut random));
        let files = [("prelude.isa", mutant.as_str()), ("entry.isa", entry.as_str())];
        tried += 1;
        if let Some(report) = report(&files) {
            refused += 1;
            assert_placed(&report, &files);
        }
    }
    assert!(refused * 3 > tried, "{refused} of {tried}");
}

/// Cut off anywhere, a spec is refused at its end or before.
#[test]
fn truncated_specs_are_refused() {
    for (index, entry) in entries().iter().enumerate() {
        let ends = (0..entry.trim_end().len()).filter(|end| entry.is_char_boundary(*end));
        for end in ends.skip(index).step_by(41) {
            let files = [PTX[0], ("cut.isa", &entry[..end])];
            let report = report(&files).expect("half an entry is not a spec");
            assert_placed(&report, &files);
        }
    }
}

/// Whatever is nested, there is a depth at which it is refused; the stack is not what ends it.
#[test]
fn deep_nesting_is_refused() {
    let around = |open: &str, close: &str, depth: usize| format!("{}{}", open.repeat(depth), close.repeat(depth));
    let chains = ["a + ", "a ? b : ", "!", "a CmpOp ", "a && ", "if (.x) { d = a; } else ", "-", "a ? "];
    let shells =
        [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("if (.x) {", "}"), ("a[", "]"), ("instruction x {", "}")];
    let tails = ["[0]", " as .u32", ".x", "{.x}", "{!}"];
    let mut texts = Vec::new();
    for depth in [100, 1_000] {
        texts.extend(chains.map(|chain| chain.repeat(depth)));
        texts.extend(shells.map(|(open, close)| around(open, close, depth)));
        texts.extend(tails.map(|tail| format!("a{}", tail.repeat(depth))));
    }
    texts.extend([around("(", ")", 50_000), around("{", "}", 50_000)]);
    for text in texts {
        for spec in [
            text.clone(),
            format!("/// X.\ninstruction x {{ semantics {{ d = {text}; }} }}"),
            format!("/// X.\ninstruction x {{ syntax {{ x{text} d; }} legal {{ {text} only if .x; }} }}"),
            format!("/// X.\ninstruction x {{ semantics {{ {text} }} examples {{ x {text}; }} }}"),
        ] {
            let files = [PTX[0], ("deep.isa", &spec)];
            let report = report(&files).unwrap_or_else(|| panic!("{}", &spec[..200]));
            assert_placed(&report, &files);
        }
    }
}

#[test]
fn odd_files_are_reported_or_read() {
    let entry = small_entry();
    let generate = |text: &str| Build::new().prelude().text("odd.isa", text).generate();
    assert!(Build::new().generate().unwrap_err().contains("describes no instruction"));
    for text in ["", "\u{feff}", "\n\n", "// nothing", "//! nothing", "/* nothing */"] {
        assert!(generate(text).unwrap_err().contains("describes no instruction"), "{text:?}");
    }
    // A byte order mark and Windows' line ends are read; a place behind them is right.
    let odd = format!("\u{feff}{}", entry.replace('\n', "\r\n"));
    assert_eq!(generate(&odd).unwrap(), generate(&entry).unwrap());
    let report = generate(&odd.replace("c ? a : b", "c ? aé : b")).unwrap_err();
    let line = entry.lines().position(|line| line.contains("semantics { d = c ? a : b; }")).unwrap() + 1;
    assert!(report.contains(&format!("odd.isa:{line}:25")), "{report}");
    // A description that describes nothing, at the end of a file that another one follows.
    let two = Build::new().prelude().text("first.isa", "/// Dangling.").text("second.isa", &entry);
    assert!(two.generate().is_ok_and(|rust| rust.contains("Dangling")), "it is the next item's description");
    assert!(generate(&format!("#!/usr/bin/env isa\n{entry}")).unwrap_err().contains("odd.isa:1:"));
    assert!(generate(&format!("{entry}\n/// Dangling.")).unwrap_err().contains("odd.isa:"));
}
