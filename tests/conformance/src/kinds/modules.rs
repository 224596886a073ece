//! Compiler-generated modules, each with a single random change: checks whether it is refused, and on which lines.
//!
//! The assembler stops at the first syntax error: it reports nothing for the lines after it, nor anything from its last
//! pass, such as undeclared names. An error of the assembler that names no line, as for a target that the version does
//! not support, is matched by one line of ours. Two figures compare the lines: `lines` counts the modules in which both
//! refuse exactly the same lines, and `lines read` those in which they do so in the part that the assembler read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{LineIndex, Severity};
use ptx_isa::target::Target;
use ptx_isa::text::{Options, check};
use rayon::prelude::*;

use super::{Extent, spoil};
use crate::assembler::{Assembler, Run};
use crate::random::{Random, hash};
use crate::report::{Difference, TAKEN, Tally};

/// Lines of functions in one piece of a large module.
const PIECE: usize = 250;

/// Description of a module that is refused as a whole.
const MODULE: &str = "refused, on no line";

/// The modules of some folders, large ones in pieces, by name.
fn modules(folders: &[&Path]) -> Vec<(String, String)> {
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let mut modules: Vec<_> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.to_owned();
            let wanted = name.ends_with(".ptx") && !name.contains("spoilt");
            Some((name, fs::read_to_string(path).ok().filter(|_| wanted)?))
        })
        .flat_map(|(name, text)| {
            let pieces = pieces(&text);
            pieces.into_iter().enumerate().map(move |(number, piece)| (format!("{name}#{number}"), piece))
        })
        .collect();
    modules.sort();
    modules
}

/// Top-level item of a module: a directive, a declaration, or a function with its body.
struct Item<'a> {
    text: &'a str,
    /// The name, if it is a function with a body.
    function: Option<&'a str>,
}

/// The top level of a module.
fn items(text: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0_usize);
    for line in text.split_inclusive('\n') {
        at += line.len();
        let code = line.split("//").next().unwrap_or_default().trim();
        depth += code.matches('{').count();
        depth = depth.saturating_sub(code.matches('}').count());
        let header = [".version", ".target", ".address_size", ".file"].iter().any(|word| code.starts_with(word));
        if depth == 0 && (header || code.ends_with(['}', ';'])) {
            let item = &text[start..at];
            let body = item.contains('{') && item.split('{').next().is_some_and(is_function);
            items.push(Item { text: item, function: body.then(|| name(item)).flatten() });
            start = at;
        }
    }
    items
}

fn is_function(head: &str) -> bool {
    head.split_whitespace().any(|word| matches!(word, ".entry" | ".func"))
}

/// The name of a function: the last word before the list of parameters, or before the body where there is none.
fn name(item: &str) -> Option<&str> {
    let head = item.split('{').next()?;
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
    let mut words = head.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',')).filter(is_name);
    let outside = |word: &&str| {
        let at = word.as_ptr() as usize - head.as_ptr() as usize;
        head[..at].matches('(').count() == head[..at].matches(')').count()
    };
    words.find(outside)
}

/// Modules of a few functions each, with all declarations and the functions that these call.
fn pieces(text: &str) -> Vec<String> {
    let items = items(text);
    let functions: Vec<(usize, &str)> =
        items.iter().enumerate().filter_map(|(index, item)| Some((index, item.function?))).collect();
    if text.lines().count() < 4 * PIECE {
        return vec![text.to_owned()];
    }
    let mut pieces = Vec::new();
    let mut chosen = BTreeSet::new();
    let mut lines = 0;
    for (place, &(index, _)) in functions.iter().enumerate() {
        chosen.insert(index);
        lines += items[index].text.lines().count();
        if lines < PIECE && place + 1 < functions.len() {
            continue;
        }
        while let Some(called) = functions
            .iter()
            .find(|(other, name)| !chosen.contains(other) && chosen.iter().any(|&item| items[item].text.contains(name)))
        {
            chosen.insert(called.0);
        }
        let part = items.iter().enumerate().filter(|(at, item)| item.function.is_none() || chosen.contains(at));
        pieces.push(part.map(|(_, item)| item.text).collect());
        chosen.clear();
        lines = 0;
    }
    pieces
}

/// Our refused lines, from 1, with what is said first of each.
fn ours(text: &str) -> BTreeMap<usize, String> {
    let report = check(&TABLE, text.as_bytes(), &Options::default());
    let lines = LineIndex::new(text);
    let mut refused = BTreeMap::new();
    for error in report.diagnostics.iter().filter(|finding| finding.severity == Severity::Error) {
        let line = lines.position(error.span.start).line;
        refused.entry(line).or_insert_with(|| format!("[{}] {}", error.code, error.message));
    }
    refused
}

/// The assembler's refused lines, and the line at which it stopped, if it did.
fn theirs(run: Run) -> (BTreeMap<usize, String>, Option<usize>) {
    let mut refused = BTreeMap::new();
    let stopped = run.complaints.iter().find(|(_, fatal, _)| *fatal).map(|(line, ..)| *line);
    for (line, _, message) in run.complaints {
        refused.entry(line).or_insert(message);
    }
    if refused.is_empty() && !run.passed && run.unplaced == 0 {
        refused.insert(0, run.output);
    }
    (refused, stopped)
}

fn target_of(module: &str) -> Target {
    let word = module.lines().find_map(|line| line.trim().strip_prefix(".target ")).unwrap_or_default();
    word.split(',').next().and_then(|word| word.trim().parse().ok()).unwrap_or(Target::sm(90))
}

/// Result of comparing both verdicts on one changed module.
struct Compared {
    class: &'static str,
    /// Location and kind of the change.
    place: String,
    line: String,
    taken: bool,
    /// Difference in the verdict on the module; if the verdicts agree, differences in the refused lines, of the whole
    /// module and of the part that the assembler read.
    differs: [Option<Difference>; 3],
}

/// `None` where the assembler does not know the target.
fn compare(assembler: &Assembler, name: &str, text: &str, random: &mut Random) -> Option<Compared> {
    let (class, spoilt) = spoil::spoil(random, text);
    let run = assembler.run(&spoilt, target_of(&spoilt));
    if assembler.cannot_judge(&run) {
        return None;
    }
    let mine = ours(&spoilt);
    let unplaced = run.unplaced;
    let (yours, stopped) = theirs(run);
    let taken = yours.is_empty() && unplaced == 0;
    let changed = text.lines().zip(spoilt.lines()).position(|(one, other)| one != other).unwrap_or(0);
    let lines = |text: &str| text.lines().nth(changed).unwrap_or_default().trim().to_owned();
    let said = |refused: &BTreeMap<usize, String>, others: &BTreeMap<usize, String>| {
        let own: Vec<String> = refused
            .iter()
            .filter(|(line, _)| !others.contains_key(line))
            .map(|(line, said)| format!("{said} (line {line})"))
            .collect();
        match (own.len(), refused.is_empty()) {
            (_, true) => TAKEN.to_owned(),
            (0, _) => "nothing else".to_owned(),
            (count @ 1..4, _) => own[..count].join("; "),
            (count, _) => format!("{}; and {} more", own[..3].join("; "), count - 3),
        }
    };
    let place = format!("{name}:{} {class}", changed + 1);
    let line = format!("{} ⇒ {}", lines(text), lines(&spoilt));
    let difference = |mine: &BTreeMap<usize, String>| Difference {
        place: place.clone(),
        line: line.clone(),
        smaller: None,
        ours: said(mine, &yours),
        theirs: if yours.is_empty() && !taken { MODULE.to_owned() } else { said(&yours, mine) },
    };
    // Ignore our errors after the line at which the assembler stopped.
    let mut read = mine.clone();
    read.retain(|line, _| stopped.is_none_or(|stopped| *line <= stopped));
    let verdict = mine.is_empty() == taken;
    // Each error that names no line corresponds to one additional line here.
    let alike = |mine: &BTreeMap<usize, String>| {
        let shared = yours.keys().filter(|line| mine.contains_key(line)).count();
        shared == yours.len() && mine.len() == shared + unplaced
    };
    let differs = [
        (!verdict).then(|| difference(&mine)),
        (verdict && !alike(&mine)).then(|| difference(&mine)),
        (verdict && !alike(&read)).then(|| difference(&read)),
    ];
    Some(Compared { class, taken, differs, place, line })
}

pub(crate) fn hold(assembler: &Assembler, folders: &[&Path], extent: &Extent) -> [Tally; 3] {
    let mut modules = modules(folders);
    modules.retain(|(_, text)| assembler.run(text, target_of(text)).passed);
    let rounds = extent.modules.div_ceil(modules.len().max(1));
    let results: Vec<Compared> = modules
        .par_iter()
        .flat_map_iter(|(name, text)| {
            let mut random = Random::new(hash(name, extent.seed));
            let turns: Vec<u64> = (0..rounds).map(|_| random.next()).collect();
            turns.into_iter().filter_map(|turn| compare(assembler, name, text, &mut Random::new(turn)))
        })
        .collect();
    let mut classes: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut tallies = ["modules", "lines", "lines read"].map(Tally::new);
    // Every difference in `lines read` is also one in `lines`.
    tallies[2].gated = false;
    for Compared { class, place, line, taken, differs } in results {
        let row = classes.entry(class).or_default();
        row[0] += 1;
        let other_verdict = differs[0].is_some();
        for (index, (tally, difference)) in tallies.iter_mut().zip(differs).enumerate() {
            if index == 0 || !other_verdict {
                row[index + 1] += usize::from(difference.is_none());
                tally.add(&place, &line, index == 0 && taken, difference);
            } else {
                tally.total += 1;
            }
        }
    }
    println!("\n{:<16} {:>9} {:>9} {:>9} {:>9}", "change", "modules", "verdict", "lines", "lines read");
    for (class, [total, verdict, lines, read]) in classes {
        println!("{class:<16} {total:>9} {verdict:>9} {lines:>9} {read:>9}");
    }
    tallies
}
