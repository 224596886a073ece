//! Known differences: exact lines, each under a heading that gives the reason for it.
//!
//! `known.txt` has headings, `# bug: …` for a bug of the assembler and `# open: …` for an unfixed bug of ours, each
//! followed by the lines on which it shows. A line consists of the kind of line, its place, what the assembler does
//! with it (`takes`, `refuses`, or `lines` for a module in which both refuse different lines), and the text, separated
//! by tabs. Lines are compared exactly, not as patterns, and no known difference counts as agreement.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use crate::report::{Difference, TAKEN, Tally};

/// A kind, a place, what the assembler does, and a line.
type Key = [String; 4];

#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The heading of each line.
    entries: BTreeMap<Key, String>,
}

/// The line of a difference in `known.txt`.
fn key(kind: &str, difference: &Difference) -> Key {
    let does = match (difference.ours == TAKEN, difference.theirs == TAKEN) {
        (true, _) => "refuses",
        (_, true) => "takes",
        _ => "lines",
    };
    let line = difference.line.escape_debug().to_string();
    [kind.to_owned(), difference.place.clone(), does.to_owned(), line]
}

/// The line of a difference in `known.txt`, as text.
pub(crate) fn entry(kind: &str, difference: &Difference) -> String {
    key(kind, difference).join("\t")
}

/// Classification of differences by the list of known ones.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Number of differences under each heading.
    pub(crate) headings: BTreeMap<String, usize>,
    /// Number of differences that are not in the list.
    pub(crate) unknown: usize,
    /// Entries that were tried and do not differ anymore.
    pub(crate) stale: Vec<String>,
}

impl Known {
    /// # Errors
    ///
    /// If the file cannot be read, or an entry has no heading, is a duplicate, or does not have four parts.
    pub(crate) fn read(path: &Path) -> Result<Known, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut known = Known::default();
        let mut heading = None;
        for (number, line) in text.lines().enumerate() {
            let wrong = |what: &str| Err(format!("{}:{}: {what}", path.display(), number + 1));
            let parts: Vec<String> = line.split('\t').map(str::to_owned).collect();
            match (line.strip_prefix("# "), <Key>::try_from(parts), &heading) {
                (Some(text), ..) => heading = Some(text.to_owned()),
                _ if line.is_empty() => {}
                (_, Ok(key), Some(heading)) => {
                    if known.entries.insert(key, heading.clone()).is_some() {
                        return wrong("duplicate line");
                    }
                }
                (_, Ok(_), None) => return wrong("no heading says why the verdicts differ"),
                (_, Err(_), _) => return wrong("a line is a kind, a place, `takes`, `refuses` or `lines`, and text"),
            }
        }
        Ok(known)
    }

    pub(crate) fn has(&self, kind: &str, difference: &Difference) -> bool {
        self.entries.contains_key(&key(kind, difference))
    }

    /// Returns true if a line is listed, whatever the assembler does with it.
    pub(crate) fn lists(&self, kind: &str, place: &str, line: &str) -> bool {
        let mut key = [kind.to_owned(), place.to_owned(), String::new(), line.escape_debug().to_string()];
        ["refuses", "takes"].into_iter().any(|does| {
            key[2] = does.to_owned();
            self.entries.contains_key(&key)
        })
    }

    /// The places of the listed lines of a kind.
    pub(crate) fn places(&self, kind: &str) -> BTreeSet<&str> {
        self.entries.keys().filter(|key| key[0] == kind).map(|key| key[1].as_str()).collect()
    }

    /// Compares the list with what a run found.
    pub(crate) fn judge(&self, tallies: &[Tally]) -> Judged {
        let mut judged = Judged::default();
        for tally in tallies.iter().filter(|tally| tally.gated) {
            let found: HashSet<Key> = tally.differences.iter().map(|difference| key(tally.kind, difference)).collect();
            for key in &found {
                match self.entries.get(key) {
                    Some(heading) => *judged.headings.entry(heading.clone()).or_default() += 1,
                    None => judged.unknown += 1,
                }
            }
            let tried = |key: &&Key| key[0] == tally.kind && tally.tried.contains(&(key[1].clone(), key[3].clone()));
            let stale = self.entries.keys().filter(tried).filter(|key| !found.contains(*key));
            judged.stale.extend(stale.map(|key| key.join("\t")));
        }
        judged
    }
}
