//! The evaluators against the machine: results recorded from machine code that NVIDIA's compiler made, and from a card
//! once there is one.
//!
//! `cargo run --release -p conformance -- --record` writes `machine/compiled.txt` anew, and with `--card` in its place
//! `machine/card.txt`, on a machine with a card. Replaying needs neither an assembler nor a card.

#[path = "machine/replay.rs"]
mod replay;
#[path = "machine/vectors.rs"]
mod vectors;

use std::fs;
use std::path::Path;

use ptx_isa::TABLE;

/// Replays a file of `mnemonic sm words` lines; tells how many vectors it has, and what differs.
fn held(text: &str) -> (usize, Vec<String>) {
    let (mut count, mut differences) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.split(' ');
        let (Some(mnemonic), Some(sm), Some(recorded)) = (parts.next(), parts.next(), parts.next()) else {
            panic!("a line is a mnemonic, an SM number and results: `{line}`");
        };
        let form = TABLE.form(mnemonic).unwrap_or_else(|| panic!("`{mnemonic}` was recorded and is no form"));
        let sm: u16 = sm.parse().expect("an SM number");
        let recorded = replay::words(recorded);
        for (inputs, recorded) in vectors::of(form, recorded.len()).iter().zip(recorded) {
            count += 1;
            let here = replay::word(form, inputs, &form.evaluate(sm, inputs));
            if here != recorded {
                differences.push(format!("{mnemonic} on sm_{sm}, {inputs:x?}: {here} here, {recorded} there"));
            }
        }
    }
    (count, differences)
}

#[test]
fn evaluators_compute_what_compiled_code_computes() {
    let (count, differences) = held(include_str!("machine/compiled.txt"));
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(count >= 100_000, "{count} vectors are few");
}

#[test]
fn evaluators_compute_what_a_card_computes() {
    let Ok(text) = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machine/card.txt")) else {
        eprintln!("skipped: nothing has been recorded on a card");
        return;
    };
    let (count, differences) = held(&text);
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(count >= 100_000, "{count} vectors are few");
}
