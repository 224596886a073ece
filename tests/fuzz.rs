//! Fuzzing on stable Rust: the corpus of `fuzz`, every find among it, replayed, and mutated with a seed.
#![cfg(feature = "cli")]

#[allow(unreachable_pub, reason = "the fuzz targets call these functions")]
#[path = "../fuzz/src/lib.rs"]
mod properties;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use ptx_isa::TABLE;

/// splitmix64: the same mutants every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as usize % bound
    }

    fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// The corpus of a target, in the order of its names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut paths: Vec<_> = entries.expect("a corpus").iter().map(fs::DirEntry::path).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("an entry")).collect()
}

/// What PTX and requests are made of, beside modifiers of the table.
const PIECES: [&str; 40] = [
    " ",
    "\n",
    ";",
    ",",
    ".",
    "{",
    "}",
    "(",
    ")",
    "[",
    "|",
    "!",
    "@",
    "\"",
    "\\",
    "/*",
    "*/",
    "//",
    "_",
    "%",
    "$",
    "#",
    "-1",
    "0x",
    "0f3f800000",
    "1.5",
    "(1 << 4)",
    "+8",
    "?",
    ":",
    "é",
    "\0",
    ".reg .u32 x<9>;",
    ".target sm_90",
    "@!p ",
    "setp",
    "%r01",
    "v.x",
    ".b10",
    "WARP_SZ",
];

/// An entry with a few things done to it.
fn mutated(entries: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut text = entries[random.below(entries.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(20)).min(text.len());
        let words: Vec<&str> =
            TABLE.instructions.iter().flat_map(|of| of.slots).flat_map(|slot| slot.members).copied().collect();
        let put: Vec<u8> = match random.below(6) {
            0 => vec![],
            1 => random.of(&PIECES).into(),
            2 => format!(".{}", random.of(&words)).into(),
            3 => text[at..end].repeat(2),
            4 => vec![random.below(256) as u8],
            _ => {
                let other = &entries[random.below(entries.len())];
                let from = random.below(other.len() + 1);
                other[from..(from + random.below(60)).min(other.len())].to_vec()
            }
        };
        let kept = if random.below(2) == 0 { at } else { end };
        text.splice(at..kept, put);
    }
    text
}

/// Whether a property holds for an input; shows the input where it does not.
fn holds(property: fn(&[u8]), input: &[u8]) {
    let shown = |panic: Box<dyn Any + Send>| {
        eprintln!("the input is:\n{}", input.escape_ascii());
        resume_unwind(panic)
    };
    catch_unwind(AssertUnwindSafe(|| property(input))).unwrap_or_else(shown);
}

/// The corpus as it is, and so many mutants of it.
fn replay(target: &str, property: fn(&[u8]), mutants: usize) {
    let entries = corpus(target);
    assert!(!entries.is_empty());
    entries.iter().for_each(|entry| holds(property, entry));
    let mut random = Random(1);
    (0..mutants).for_each(|_| holds(property, &mutated(&entries, &mut random)));
}

#[test]
fn specs_are_tables_or_reports() {
    replay("spec", properties::spec, 60);
}

#[test]
fn statements_read_back_and_stand_alone() {
    replay("statement", properties::statement, 20_000);
}

#[test]
fn modules_have_findings_in_order_and_statements_that_stand_for_themselves() {
    replay("module", properties::module, 1_000);
}

#[test]
fn requests_have_answers_of_their_own() {
    replay("batch", properties::batch, 2_000);
}

/// What is long because it says something again and again takes as long as it is long.
#[test]
fn repeated_text_takes_no_time() {
    let start = Instant::now();
    for entry in corpus("module").iter().chain(&corpus("statement")) {
        let options = ptx_isa::text::Options::default();
        ptx_isa::text::check(&TABLE, &entry.repeat(200_000 / entry.len()), &options);
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
