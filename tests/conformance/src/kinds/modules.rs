//! Modules that compilers wrote, with statements of the table spoilt at random: which lines are refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{LineIndex, Severity};
use ptx_isa::target::Target;
use ptx_isa::text::{Options, check};
use rayon::prelude::*;

use super::{Extent, near};
use crate::assembler::Assembler;
use crate::random::Random;
use crate::report::{Difference, TAKEN, Tally};

/// How many lines of a module are spoilt at once.
const MOST: usize = 30;

/// The modules of a folder, by name.
fn modules(folder: &Path) -> Vec<(String, String)> {
    let mut modules: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.to_owned();
            (name.ends_with(".ptx") && !name.contains("spoilt"))
                .then(|| Some((name, fs::read_to_string(path).ok()?)))?
        })
        .collect();
    modules.sort();
    modules
}

/// Whether a line begins with an opcode of the table, possibly behind a guard.
fn opens(line: &str) -> bool {
    let line = line.trim_start();
    let behind = |rest: &'_ str| rest.split_once(char::is_whitespace).map_or(0, |(_, rest)| rest.len());
    let line = line.strip_prefix('@').map_or(line, |rest| rest[rest.len() - behind(rest)..].trim_start());
    TABLE.instruction(line.split(['.', ' ', '\t']).next().unwrap_or_default()).is_some()
}

/// Whether a line is a statement of the table.
fn in_table(line: &str) -> bool {
    opens(line) && line.ends_with(';')
}

/// Our refused lines, from 1, with what is said of them.
fn ours(text: &str) -> Vec<(usize, String)> {
    let report = check(&TABLE, text.as_bytes(), &Options::default());
    let lines = LineIndex::new(text);
    let errors = report.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
    let said =
        errors.map(|error| (lines.position(error.span.start).line, format!("[{}] {}", error.code, error.message)));
    said.collect()
}

/// The assembler's refused lines; a line that stops it is put back as it was.
fn theirs<'a>(
    assembler: &Assembler,
    mut lines: Vec<&'a str>,
    original: &[&'a str],
    target: Target,
) -> Vec<(usize, String)> {
    let mut refused: Vec<(usize, String)> = Vec::new();
    loop {
        let run = assembler.run(&(lines.join("\n") + "\n"), target);
        if run.passed {
            refused.sort();
            return refused;
        }
        let mut restored = false;
        for (line, _, message) in run.complaints {
            if refused.iter().all(|(other, _)| *other != line) {
                refused.push((line, message));
            }
            // A missing semicolon is noticed behind the line that misses it.
            let spoilt = (line.saturating_sub(4)..line).rev().find(|&at| lines[at] != original[at]);
            if let Some(at) = spoilt {
                lines[at] = original[at];
                restored = true;
            }
        }
        if !restored {
            refused.push((0, run.output));
            return refused;
        }
    }
}

fn target_of(module: &str) -> Target {
    let word = module.lines().find_map(|line| line.trim().strip_prefix(".target ")).unwrap_or_default();
    word.split(',').next().and_then(|word| word.trim().parse().ok()).unwrap_or(Target::sm(90))
}

pub(crate) fn hold(assembler: &Assembler, folder: &Path, extent: &Extent) -> [Tally; 2] {
    let mut tally = Tally::new("modules");
    let rounds = if extent.quick { 2 } else { 12 };
    let mut modules = modules(folder);
    modules.retain(|(_, text)| !assembler.cannot_judge(&assembler.run(text, target_of(text))));
    let work: Vec<(usize, u64)> =
        (0..modules.len()).flat_map(|module| (0..rounds).map(move |round| (module, round))).collect();
    let results: Vec<(usize, Vec<Difference>, Vec<Option<Difference>>)> = work
        .into_par_iter()
        .map(|(module, round)| {
            let (name, text) = &modules[module];
            let original: Vec<&str> = text.lines().collect();
            let target = target_of(text);
            let mut random = Random::new(extent.seed ^ (module as u64) << 32 ^ round);
            let mut spoilt: Vec<String> = original.iter().map(|line| (*line).to_owned()).collect();
            let mut last = 0;
            let mut count = 0;
            for (index, line) in original.iter().enumerate() {
                if index >= last + 6 && count < MOST && round > 0 && in_table(line) && random.once_in(3) {
                    let other = near::spoil(&mut random, line);
                    // What is no longer in the table is not ours to judge.
                    if other != *line && opens(&other) {
                        spoilt[index] = other;
                        (last, count) = (index, count + 1);
                    }
                }
            }
            let lines: Vec<&str> = spoilt.iter().map(String::as_str).collect();
            let lines_of = lines.clone();
            let mut places = Vec::new();
            let joined = lines.join("\n") + "\n";
            let said = ours(&joined);
            let judged = theirs(assembler, lines, &original, target);
            // A statement may be told of at any of its lines, and a missing semicolon behind it.
            let spoilt_at: Vec<usize> = (0..original.len()).filter(|&at| lines_of[at] != original[at]).collect();
            let statement = |line: usize| spoilt_at.iter().rev().find(|&&at| at < line).map_or(0, |at| at + 1);
            let refused = |list: &[(usize, String)]| -> BTreeSet<usize> {
                list.iter().map(|(line, _)| statement(*line)).collect()
            };
            let (mine, yours) = (refused(&said), refused(&judged));
            let differences = mine.symmetric_difference(&yours).map(|&line| {
                let find = |list: &[(usize, String)]| {
                    let found = list.iter().find(|(other, _)| statement(*other) == line);
                    found.map_or(TAKEN.to_owned(), |(at, said)| format!("{said} (line {at})"))
                };
                let text = line.checked_sub(1).and_then(|index| spoilt.get(index)).map_or("", String::as_str);
                Difference {
                    place: format!("{name}:{line}"),
                    line: text.to_owned(),
                    ours: find(&said),
                    theirs: find(&judged),
                }
            });
            let differences: Vec<Difference> = differences.collect();
            // Of the statements that both refuse: is it the same line? Without its semicolon, a statement has two mistakes.
            let whole = |line: &&usize| line.checked_sub(1).is_some_and(|at| spoilt[at].ends_with(';'));
            for &line in mine.intersection(&yours).filter(whole) {
                let at = |list: &[(usize, String)]| list.iter().find(|(other, _)| statement(*other) == line).cloned();
                let (Some(here), Some(there)) = (at(&said), at(&judged)) else { continue };
                let same = here.0 == there.0;
                let text = line.checked_sub(1).and_then(|index| spoilt.get(index)).map_or("", String::as_str);
                places.push((!same).then(|| Difference {
                    place: format!("{name}:{line}"),
                    line: text.to_owned(),
                    ours: format!("{} (line {})", here.1, here.0),
                    theirs: format!("{} (line {})", there.1, there.0),
                }));
            }
            (count.max(1), differences, places)
        })
        .collect();
    let mut lines = Tally::new("lines");
    for (count, differences, places) in results {
        lines.add(places.len(), places.into_iter().flatten());
        tally.add(count, differences);
    }
    [tally, lines]
}
