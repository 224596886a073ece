//! What the run found: how many verdicts agree, kind by kind, and which do not.

use std::collections::BTreeMap;

use ptx_isa::TABLE;
use ptx_isa::table::Slip;

/// The verdict on what is taken.
pub(crate) const TAKEN: &str = "taken";

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
    /// Differences that the spec keeps on purpose: see [`kept`].
    pub(crate) kept: usize,
    pub(crate) differences: Vec<Difference>,
}

impl Tally {
    /// Adds what was found of so many lines; differences that the spec explains are counted apart.
    pub(crate) fn add(&mut self, total: usize, found: impl IntoIterator<Item = Difference>) {
        self.total += total;
        self.agreed += total;
        for difference in found {
            self.agreed -= 1;
            match kept(&difference) {
                Some(_) => self.kept += 1,
                None => self.differences.push(difference),
            }
        }
    }

    pub(crate) fn new(kind: &'static str) -> Tally {
        Tally { kind, total: 0, agreed: 0, kept: 0, differences: Vec::new() }
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

/// The slip of the assembler that explains a difference, if the spec notes one.
pub(crate) fn kept(difference: &Difference) -> Option<&'static Slip> {
    let line = without_blanks(&difference.line.replace('⏎', "\n"));
    TABLE.slips.iter().find(|slip| {
        let verdict = match slip.taken {
            true => difference.theirs == TAKEN && difference.ours.starts_with(&format!("[{}]", slip.code)),
            false => difference.ours == TAKEN,
        };
        verdict && slip.patterns.iter().any(|pattern| matches(pattern, &line))
    })
}

/// A statement without blanks and comments.
fn without_blanks(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let comment = if rest.starts_with("/*") {
            Some(rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else {
            None
        };
        if comment.is_none() && !c.is_whitespace() {
            text.push(c);
        }
        rest = &rest[comment.unwrap_or(c.len_utf8())..];
    }
    text
}

/// Whether a text follows a pattern, in which `*` is any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| matches(rest, &text[at..]))
        }),
    }
}

/// Prints the table.
pub(crate) fn table(assembler: &str, tallies: &[Tally]) {
    println!("\n{:<12} {:>9} {:>9} {:>9} {:>11}   ptxas {assembler}", "kind", "agreed", "kept", "total", "");
    let sum = |of: fn(&Tally) -> usize| tallies.iter().map(of).sum();
    let mut all = Tally::new("all");
    (all.total, all.agreed, all.kept) = (sum(|t| t.total), sum(|t| t.agreed), sum(|t| t.kept));
    for Tally { kind, total, agreed, kept, .. } in tallies.iter().filter(|tally| tally.total > 0).chain([&all]) {
        // Rounded down: 100 % means all.
        let share = if *total == 0 { 10_000 } else { (agreed + kept) * 10_000 / total };
        println!("{kind:<12} {agreed:>9} {kept:>9} {total:>9} {:>6}.{:02} %", share / 100, share % 100);
    }
    println!("kept: differences that the spec explains (`slips`)");
}
