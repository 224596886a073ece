//! What the run found: how many verdicts agree, kind by kind, and which do not.

use std::collections::BTreeMap;

/// A line on which the verdicts differ.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// The version and target, or the module and line.
    pub(crate) place: String,
    pub(crate) line: String,
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

/// One row of the table.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) kind: &'static str,
    pub(crate) total: usize,
    pub(crate) agreed: usize,
    pub(crate) differences: Vec<Difference>,
}

impl Tally {
    pub(crate) fn new(kind: &'static str) -> Tally {
        Tally { kind, total: 0, agreed: 0, differences: Vec::new() }
    }
}

/// Prints the differences, those with the same reasons together, and of those as many as `most`.
pub(crate) fn differences(tally: &Tally, most: usize) {
    let mut groups: BTreeMap<(String, String), Vec<&Difference>> = BTreeMap::new();
    for difference in &tally.differences {
        groups.entry((pattern(&difference.ours), pattern(&difference.theirs))).or_default().push(difference);
    }
    for group in groups.values() {
        for Difference { place, line, ours, theirs } in group.iter().take(most) {
            println!("  {place:<12}  {}", line.escape_debug());
            println!("    here: {ours}\n    assembler: {theirs}");
        }
        if group.len() > most {
            println!("    … and {} more like this", group.len() - most);
        }
    }
}

/// A message without the names in it.
fn pattern(message: &str) -> String {
    message.split(['`', '\'', '"']).step_by(2).collect()
}

/// Prints the table.
pub(crate) fn table(assembler: &str, tallies: &[Tally]) {
    println!("\n{:<12} {:>9} {:>9} {:>9}   ptxas {assembler}", "kind", "agreed", "total", "");
    let sum = |of: fn(&Tally) -> usize| tallies.iter().map(of).sum();
    let all = Tally { kind: "all", total: sum(|t| t.total), agreed: sum(|t| t.agreed), differences: Vec::new() };
    for Tally { kind, total, agreed, .. } in tallies.iter().chain([&all]) {
        // Rounded down: 100 % means all.
        let share = if *total == 0 { 10_000 } else { agreed * 10_000 / total };
        println!("{kind:<12} {agreed:>9} {total:>9} {:>7}.{:02} %", share / 100, share % 100);
    }
}
