//! Nothing knows an instruction but the spec, and the table grows by what differs.

mod renaming;

use renaming::{Renaming, copies, generated, later, opcodes, spec, words};

/// Splits generated code at whitespace, because longer names change the line breaks. Omits the hash tables of
/// mnemonics, which depend on the mnemonics' bytes.
fn comparable(text: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if ["static FACTORS", "static PLACES"].iter().any(|name| line.trim_start().starts_with(name)) {
            lines.by_ref().find(|line| *line == "    ];");
        } else {
            kept.extend(line.split_whitespace());
        }
    }
    kept
}

#[track_caller]
fn assert_same(left: &str, right: &str) {
    // Mnemonics are filled up with zeros, more of them where a single letter stays one.
    let (left, right) = (left.replace("\\x00", ""), right.replace("\\x00", ""));
    let (left, right) = (comparable(&left), comparable(&right));
    assert!(left.len() > 50_000, "there is something to compare");
    // A single letter does not tell which case its name is in.
    let other = left
        .iter()
        .zip(&right)
        .position(|(left, right)| !left.eq_ignore_ascii_case(right))
        .unwrap_or(left.len().min(right.len()));
    let around = |words: &[&str]| words[other.saturating_sub(10)..words.len().min(other + 10)].join(" ");
    assert!(other == left.len() && other == right.len(), "{}\n{}", around(&left), around(&right));
}

#[test]
fn a_table_in_other_words_is_the_same_table() {
    let files = spec();
    let rust = generated(&files);
    let mut texts: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
    texts.push(&rust);
    let renaming = Renaming::nonsense(&opcodes().into_iter().chain(words()).collect(), &texts);
    let renamed: Vec<_> = files.iter().map(|(name, text)| (name.clone(), renaming.spec(text))).collect();
    assert_ne!(files, renamed);
    // Words that are left in the other Rust as they were are English.
    assert_same(&renaming.rust(&rust), &renaming.rust(&generated(&renamed)));
}

/// A text as numbers and what is between them, without blanks.
fn numbers(text: &str) -> Vec<&str> {
    let words = comparable(text).into_iter();
    words.flat_map(|word| word.split_inclusive(|c: char| !c.is_ascii_digit())).collect()
}

#[test]
fn later_floors_are_all_that_differs_where_floors_are_later() {
    let files = spec();
    let shifted: Vec<_> = files.iter().map(|(name, text)| (name.clone(), later(text))).collect();
    let (before, after) = (generated(&files), generated(&shifted));
    let (before, after) = (numbers(&before), numbers(&after));
    assert_eq!(before.len(), after.len());
    let mut differences = [0, 0];
    for (at, (before, after)) in before.iter().zip(&after).enumerate().filter(|(_, (before, after))| before != after) {
        let number = |word: &str| word.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().ok();
        match number(after).zip(number(before)).map(|(after, before)| after - before) {
            Some(10) => differences[0] += 1,
            Some(1000) => differences[1] += 1,
            _ => panic!("{before} and {after}, word {at}"),
        }
    }
    assert!(differences.iter().all(|count| *count > 50), "{differences:?}");
}

#[test]
fn copies_of_the_table_share_what_they_run() {
    // As many as a table holds.
    let (one, six) = (generated(&copies(1)), generated(&copies(6)));
    let count = |rust: &str, what: &str| rust.matches(what).count();
    for shared in ["impl Loop for ", "fn operation(x: &[u128])"] {
        assert!(count(&one, shared) > 50, "{shared}");
        assert_eq!(count(&one, shared), count(&six, shared), "{shared}");
    }
    assert_eq!(6 * count(&one, "        Name(*b"), count(&six, "        Name(*b"));
    // 15 MB for ten copies of the first table.
    let each = (six.len() - one.len()) as f64 / (5 * ptx_isa::Form::COUNT) as f64;
    assert!(each < 15e6 / 42_510.0, "{each} bytes a form");
}
