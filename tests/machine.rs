//! The evaluators against the machine: results recorded from machine code that NVIDIA's compiler made, and from a card.
//!
//! `cargo run --release -p conformance -- --record` writes `machine/compiled.txt` anew, and with `--card` in its place
//! `machine/card.txt`, on a machine with a card. Replaying needs neither an assembler nor a card.

mod random;
#[path = "machine/replay.rs"]
mod replay;
#[path = "machine/vectors.rs"]
mod vectors;

use std::collections::HashMap;
use std::fmt::Debug;
use std::str::FromStr;

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;

/// Replays a file of `name sm words` lines; returns the number of vectors and the differences. If only some sources are
/// written, their number follows the SM number: `90/2`.
fn held(text: &str) -> (usize, Vec<String>) {
    let forms: HashMap<String, FormInfo> = TABLE.forms().map(|form| (form.name(), form)).collect();
    let (mut count, mut differences) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.split(' ');
        let (Some(name), Some(way), Some(recorded)) = (parts.next(), parts.next(), parts.next()) else {
            panic!("a line is a form, an SM number and results: `{line}`");
        };
        let form = *forms.get(name).unwrap_or_else(|| panic!("recorded form `{name}` is missing from the table"));
        let all = form.sources().count();
        let (sm, sources) = way.split_once('/').map_or((way, all), |(sm, sources)| (sm, number(sources)));
        let recorded = split(form, recorded);
        for (mut inputs, recorded) in vectors::of(form, vectors::RECORDED, recorded.len()).into_iter().zip(recorded) {
            if recorded == replay::OPEN {
                continue;
            }
            count += 1;
            inputs.drain(sources..all);
            let here = replay::word(form, &inputs, &form.evaluate(number(sm), &inputs));
            if here != recorded {
                differences.push(format!("{name} on sm_{way}, {inputs:x?}: {here} here, {recorded} there"));
            }
        }
    }
    (count, differences)
}

/// The words of a line for each vector.
fn split(form: FormInfo, line: &str) -> Vec<String> {
    let each = if replay::is_digit(form) { 1 } else { form.results().count() };
    let (mut vectors, mut rest) = (Vec::new(), words(line).into_iter());
    while let Some(first) = rest.next() {
        let more = if first == replay::OPEN { 0 } else { each - 1 };
        vectors.push(rest.by_ref().take(more).fold(first.to_owned(), |all, word| all + word));
    }
    vectors
}

/// The words of a line.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if first == '(' { rest.find(')').map_or(rest.len(), |end| end + 1) } else { first.len_utf8() };
        words.push(&rest[..length]);
        rest = &rest[length..];
    }
    words
}

fn number<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("a number")
}

#[test]
fn evaluators_compute_what_compiled_code_computes() {
    let (count, differences) = held(include_str!("machine/compiled.txt"));
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(count >= 300_000, "{count} vectors are few");
}

#[test]
fn nans_are_those_of_a_card() {
    let mut count = 0;
    for line in include_str!("machine/nans.txt").lines().filter(|line| !line.starts_with('#')) {
        let (name, words) = line.split_once(' ').expect("a name and words");
        let form = TABLE.form(name).expect("the form is in the table");
        let words: Vec<u128> =
            words.split(' ').map(|word| u128::from_str_radix(word, 16).expect("a word in hex")).collect();
        let (there, inputs) = words.split_last().expect("a result");
        assert_eq!(form.evaluate(90, inputs), [*there], "{line}: in hex");
        count += 1;
    }
    assert_eq!(count, 1924);
}

#[test]
fn evaluators_compute_what_a_card_computes() {
    let (count, differences) = held(include_str!("machine/card.txt"));
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(count >= 400_000, "{count} vectors are few");
}
