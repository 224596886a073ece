//! Results from a GPU: every form that it supports, on the vectors of `vectors.rs`, under guards and in diverged warps.
//!
//! Each thread computes one vector. Each kernel runs four times: with the even or the odd threads active, and the
//! others disabled by a guard or by a branch. An inactive thread must leave its destinations unchanged.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use ptx_isa::target::{Floor, Target};
use ptx_isa::text::spelling;

use super::driver::Card;
use super::kernel::{KEPT, PHASES, STRIDE, guarded, runs};
use super::{FORMS, VECTORS, constants_reach, replay, vectors};

/// The head of a module for the newest target that a card with this SM number can run.
fn head(sm: u16) -> String {
    let plain = TABLE.targets.iter().filter(|info| info.target.suffix.is_none() && info.target.sm <= sm);
    let info = plain.max_by_key(|info| info.target.sm).expect("a target for every card");
    let newest = forms(sm).iter().map(|form| form.floor().ptx).chain([info.since]).max().expect("one is given");
    format!(".version {newest}\n.target {}\n.address_size 64\n", Target::sm(info.target.sm))
}

/// The forms that a card with this SM number knows.
fn forms(sm: u16) -> Vec<FormInfo> {
    let takes = |floor: &Floor| floor.takes(Target::sm(sm), TABLE.families());
    // With all operands.
    let whole = |form: &FormInfo| form.operands().iter().filter_map(|operand| operand.floor).all(takes);
    // A statement that uses a state (such as the carry flag) cannot run alone, and only `KEPT.len()` results are
    // stored.
    let alone = |form: &FormInfo| form.states().is_empty() && form.results().count() <= KEPT.len();
    let reached = TABLE.forms().filter(|form| constants_reach(*form) && alone(form));
    // Forms that later versions removed are left out as well.
    let newest = TABLE.versions.last().copied();
    let kept = |form: &FormInfo| spelling::is_taken(*form, newest, Some(Target::sm(sm)));
    reached.filter(|form| takes(form.floor()) && kept(form) && whole(form)).collect()
}

/// A module with a kernel for each of these forms.
fn module(sm: u16, forms: &[FormInfo]) -> String {
    let kernels = forms.iter().enumerate();
    head(sm)
        + &kernels
            .map(|(at, form)| guarded(&format!("k{at}"), *form, &vectors::of(*form, vectors::RECORDED, VECTORS)))
            .collect::<String>()
}

/// Computes all forms on the first card and writes the results; whether all agree with the evaluators.
pub(crate) fn record(path: &Path, date: &str) -> Result<bool, String> {
    let card = Card::open()?;
    let mut text = format!(
        "# What a card computes: name, SM number, words for each vector of `vectors.rs`.\n\
         # {}, driver for CUDA {}, {date}.\n",
        card.name, card.driver
    );
    let (mut count, mut differences) = (0, 0);
    let mut differs = |what: String| {
        differences += 1;
        if differences <= 20 {
            println!("  {what}");
        }
    };
    for forms in forms(card.sm).chunks(FORMS) {
        let work: Vec<_> = forms
            .iter()
            .enumerate()
            .map(|(at, form)| {
                let sources = form.sources().count();
                let input = vectors::of(*form, vectors::RECORDED, VECTORS)
                    .into_iter()
                    .flat_map(|words| words.into_iter().take(sources));
                let input = input.map(|word| word as u64);
                (format!("k{at}"), input.collect(), PHASES.collect())
            })
            .collect();
        let results = card.run(&module(card.sm, forms), VECTORS, VECTORS * STRIDE as usize / 8, &work)?;
        for (form, phases) in forms.iter().zip(results) {
            let mut words = String::new();
            for (thread, inputs) in vectors::of(*form, vectors::RECORDED, VECTORS).iter().enumerate() {
                let here = replay::word(*form, inputs, &form.evaluate(card.sm, inputs));
                for (phase, written) in PHASES.zip(&phases) {
                    let found = [written[2 * thread], written[2 * thread + 1]].map(u128::from);
                    if !runs(thread, phase) {
                        let mut results = form.results().map(|(_, ty)| replay::low(ty)).zip(found).zip(KEPT);
                        if results.any(|((low, found), kept)| found & low != u128::from(kept) & low) {
                            differs(format!("{}: thread {thread} was kept away and wrote {found:x?}", form.name()));
                        }
                        continue;
                    }
                    count += 1;
                    let there = replay::word(*form, inputs, &found);
                    if there != here {
                        differs(format!("{} {inputs:x?}: {here} here, {there} there", form.name()));
                    }
                    if phase < 2 {
                        words.push_str(&there);
                    }
                }
            }
            let _ = writeln!(text, "{} {} {words}", form.name(), card.sm);
        }
    }
    println!("{}: {count} results, {differences} differ", card.name);
    fs::write(path, text).map_err(|error| error.to_string())?;
    Ok(differences == 0)
}

#[cfg(test)]
mod tests {
    use ptx_isa::diagnostic::Severity;
    use ptx_isa::text::{Options, check};

    use super::*;
    use crate::assembler::{Assembler, installed};

    const CARD: u16 = 90;

    #[test]
    fn the_modules_hold_for_our_own_reader() {
        for forms in forms(CARD).chunks(FORMS) {
            let text = module(CARD, forms);
            let report = check(&TABLE, text.as_bytes(), &Options::default());
            let error = report.diagnostics.iter().find(|found| found.severity == Severity::Error);
            assert!(error.is_none(), "{error:?}");
            assert!(report.in_table >= 2 * forms.len());
        }
    }

    #[test]
    fn the_assembler_takes_the_modules() {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/assembler");
        let Some(path) = installed(&place).into_iter().next() else {
            eprintln!("skipped: no assembler is installed");
            return;
        };
        let assembler = Assembler::open(&path).expect("the assembler runs");
        for forms in forms(CARD).chunks(20 * FORMS) {
            let run = assembler.run(&module(CARD, forms), Target::sm(CARD));
            assert!(run.passed, "{}", run.output);
        }
    }

    #[test]
    fn every_thread_runs_under_a_guard_and_behind_a_branch() {
        for thread in 0..VECTORS {
            assert_eq!(PHASES.filter(|phase| *phase < 2 && runs(thread, *phase)).count(), 1);
            assert_eq!(PHASES.filter(|phase| *phase >= 2 && runs(thread, *phase)).count(), 1);
        }
    }

    #[test]
    fn what_is_kept_is_no_result() {
        for form in forms(CARD) {
            let word = replay::word(form, &[], &KEPT.map(u128::from));
            assert!(replay::is_digit(form) || word.starts_with('('), "{}: {word}", form.name());
        }
    }
}
