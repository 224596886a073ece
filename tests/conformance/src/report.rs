//! Results of a run: the number of verdicts that agree for each kind, and the differences.

use std::collections::{BTreeMap, HashSet};

use crate::known::{self, Judged, Known};

/// The verdict on what is taken.
pub(crate) const TAKEN: &str = "taken";

/// A line on which the verdicts differ.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// The version and target, or the module and line.
    pub(crate) place: String,
    pub(crate) line: String,
    /// A smaller line on which they differ, too.
    pub(crate) smaller: Option<String>,
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

/// One row of the table.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) kind: &'static str,
    pub(crate) total: usize,
    pub(crate) agreed: usize,
    /// Number of lines that the assembler takes; `false_errors` counts those of them that are refused here.
    pub(crate) legal: usize,
    pub(crate) false_errors: usize,
    /// True if every difference must be a known one.
    pub(crate) gated: bool,
    /// Place and text of every line that was tried.
    pub(crate) tried: HashSet<(String, String)>,
    pub(crate) differences: Vec<Difference>,
}

impl Tally {
    pub(crate) fn new(kind: &'static str) -> Tally {
        let (tried, differences) = (HashSet::new(), Vec::new());
        Tally { kind, total: 0, agreed: 0, legal: 0, false_errors: 0, gated: true, tried, differences }
    }

    /// Adds a line that was tried, whether the assembler takes it, and how the verdicts differ, if they do.
    pub(crate) fn add(&mut self, place: &str, line: &str, taken: bool, difference: Option<Difference>) {
        self.total += 1;
        self.agreed += usize::from(difference.is_none());
        self.legal += usize::from(taken);
        self.false_errors += usize::from(taken && difference.is_some());
        self.tried.insert((place.to_owned(), line.escape_debug().to_string()));
        self.differences.extend(difference);
    }
}

/// Prints the unknown differences, grouped by their reasons with the most frequent first, and at most `most` of each
/// group.
pub(crate) fn differences(tally: &Tally, known: &Known, most: usize) {
    let mut groups: BTreeMap<(String, String), Vec<&Difference>> = BTreeMap::new();
    for difference in tally.differences.iter().filter(|difference| !known.has(tally.kind, difference)) {
        groups.entry((pattern(&difference.ours), pattern(&difference.theirs))).or_default().push(difference);
    }
    let mut groups: Vec<Vec<&Difference>> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    for group in groups {
        for difference in group.iter().take(most) {
            println!("{}", known::entry(tally.kind, difference));
            if let Some(smaller) = difference.smaller.as_ref().filter(|smaller| **smaller != difference.line) {
                println!("    smaller: {}", smaller.escape_debug());
            }
            println!("    here: {}\n    assembler: {}", difference.ours, difference.theirs);
        }
        if group.len() > most {
            println!("    … and {} more like this", group.len() - most);
        }
    }
}

/// A message without the names and numbers in it.
fn pattern(message: &str) -> String {
    let names = message.split(['`', '\'', '"']).step_by(2);
    names.flat_map(str::chars).filter(|c| !c.is_ascii_digit()).collect()
}

/// Prints the table: plain agreement, in which no known difference counts, and false errors among the lines that the
/// assembler takes.
pub(crate) fn table(assembler: &str, tallies: &[Tally]) {
    println!("\n{:<12} {:>9} {:>9} {:>11} {:>14}   ptxas {assembler}", "kind", "agreed", "total", "", "false errors");
    // Rounded down: 100 % means all.
    let share = |part: usize, whole: usize| {
        let share = part * 10_000 / whole.max(1);
        format!("{}.{:02} %", share / 100, share % 100)
    };
    for Tally { kind, total, agreed, legal, false_errors, .. } in tallies.iter().filter(|tally| tally.total > 0) {
        let errors = if *legal > 0 { share(*false_errors, *legal) } else { String::new() };
        println!("{kind:<12} {agreed:>9} {total:>9} {:>11} {errors:>14}", share(*agreed, *total));
    }
}

/// Prints which differences are known and why, and what is wrong with the list; returns whether nothing is.
pub(crate) fn known(judged: &Judged) -> bool {
    for (heading, count) in &judged.headings {
        println!("{count:>5} known: {heading}");
    }
    for entry in &judged.stale {
        println!("no longer different, to be removed from known.txt: {entry}");
    }
    if judged.unknown > 0 {
        println!("{} differences are not known", judged.unknown);
    }
    judged.unknown == 0 && judged.stale.is_empty()
}
