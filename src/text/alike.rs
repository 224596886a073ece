//! Words that are spelt alike: what a misspelt one may mean.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::diagnostic::Diagnostic;

/// Maximum number of choices in a suggestion.
pub(super) const CHOICES: usize = 3;

/// The name that is spelt most like `text`, if one is much like it. Case does not count.
pub(crate) fn closest<'n>(text: &str, mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    closest_of(text, &mut names).first().copied()
}

/// The names that are spelt most like `text`, if some are much like it: several where they are equally close, at most one more
/// than [`CHOICES`]. Case does not count.
pub(super) fn closest_all<'n>(text: &str, mut names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    closest_of(text, &mut names)
}

/// Choices as a text, at most [`CHOICES`] of them: `` `a`, `b` or `c` ``.
pub(super) fn either(choices: &[impl AsRef<str>]) -> String {
    let mut text = String::new();
    for (index, choice) in choices.iter().take(CHOICES).enumerate() {
        text.push_str(match index {
            0 => "",
            _ if index + 1 == choices.len() => " or ",
            _ => ", ",
        });
        text.push_str(&format!("`{}`", choice.as_ref()));
    }
    if choices.len() > CHOICES {
        text.push_str(", …");
    }
    text
}

/// Adds to an error about a misspelt word, whose place it has, the names that are spelt most like it as suggestions. `before` is
/// what precedes names in the text.
pub(crate) fn suggest<'n>(
    error: Diagnostic,
    text: &str,
    before: &str,
    names: impl Iterator<Item = &'n str>,
) -> Diagnostic {
    suggest_all(error, &closest_all(text, names), before)
}

/// Adds names that are equally likely to an error about a misspelt word.
pub(super) fn suggest_all(error: Diagnostic, near: &[&str], before: &str) -> Diagnostic {
    if near.is_empty() {
        return error;
    }
    let (near, span): (Vec<String>, _) =
        (near.iter().map(|near| format!("{before}{near}")).collect(), error.span.clone());
    let error = error.with_help(format!("did you mean {}?", either(&near)));
    near.into_iter().fold(error, |error, near| error.with_fix(span.clone(), near)).tied()
}

/// As [`closest_all`], compiled once for all iterators.
fn closest_of<'n>(text: &str, names: &mut dyn Iterator<Item = &'n str>) -> Vec<&'n str> {
    const SHORT: usize = 5;
    let lower = text.to_ascii_lowercase();
    let allowed = (text.len() / 2).min(2);
    // Of two that are alike, the one with the same letters.
    let letters = |word: &str| {
        let mut letters = word.as_bytes().to_vec();
        letters.sort_unstable();
        letters
    };
    let own = letters(&lower);
    let apart = |name: &str| distance(&lower, name).min(distance(text, name));
    let same_start = |name: &str| name.as_bytes().first() == lower.as_bytes().first();
    let alike = |name: &'n str| {
        let other_letters = name.len() != own.len() || letters(name) != own;
        ((apart(name), other_letters, !same_start(name)), name)
    };
    // Words that differ more in length are not alike: each letter more is one edit. Nor are those that have many letters each
    // that the other has not: an edit changes two of them at most.
    let names = names.filter(|name| name.len().abs_diff(lower.len()) <= allowed);
    let own_set = letter_set(&lower);
    let names = names.filter(|name| (letter_set(name) ^ own_set).count_ones() as usize <= 2 * allowed);
    let (mut least, mut near) = (None, Vec::new());
    for (apart, name) in names.map(alike) {
        if least.is_none_or(|least| apart < least) {
            near.clear();
            least = Some(apart);
        }
        if least == Some(apart) && near.len() <= CHOICES && !near.contains(&name) {
            near.push(name);
        }
    }
    // Two edits leave little of a short word.
    let similar = |distance, other_start: bool| distance < 2 || text.len() > SHORT || !other_start;
    if !least.is_some_and(|(distance, _, other_start)| distance <= allowed && similar(distance, other_start)) {
        near.clear();
    }
    near
}

/// A bit for each letter that a word has, whatever its case.
fn letter_set(word: &str) -> u64 {
    word.bytes().fold(0, |set, letter| set | 1 << (letter & 31))
}

/// Returns the edit distance of two words: the number of insertions, deletions, substitutions and transpositions of
/// adjacent letters. A word of more than 32 bytes is similar to none.
pub(super) fn distance(a: &str, b: &str) -> usize {
    const LONGEST: usize = 32;
    if a.len() > LONGEST || b.len() > LONGEST {
        return LONGEST;
    }
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut older = [0; LONGEST + 1];
    let mut old: [usize; LONGEST + 1] = core::array::from_fn(|index| index);
    for (i, x) in a.iter().enumerate() {
        let mut row = [i + 1; LONGEST + 1];
        for (j, y) in b.iter().enumerate() {
            row[j + 1] = (old[j] + usize::from(x != y)).min(old[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && (x, y) == (&b[j - 1], &a[i - 1]) {
                row[j + 1] = row[j + 1].min(older[j - 1] + 1);
            }
        }
        (older, old) = (old, row);
    }
    old[b.len()]
}
