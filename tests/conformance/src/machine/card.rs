//! Results from a GPU: every form that it supports, on the vectors of `vectors.rs`, under guards and in diverged warps.
//!
//! Each thread computes one vector. Each kernel runs four times: with the even or the odd threads active, and the
//! others disabled by a guard or by a branch. An inactive thread must leave its destinations unchanged.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use ptx_isa::target::{Floor, Target, Version};
use ptx_isa::text::spelling;
use rayon::prelude::*;

use super::driver::{Card, Code, Shape};
use super::kernel::{KEPT, PHASES, STRIDE, guarded, runs};
use super::{FORMS, VECTORS, constants_reach, deviates, replay, vectors};
use crate::assembler::Assembler;

/// The target of modules for a card: the newest without a suffix that it can run.
fn target(sm: u16) -> Target {
    let plain = TABLE.targets.iter().map(|info| info.target);
    let plain = plain.filter(|target| target.suffix.is_none() && target.sm <= sm);
    plain.max_by_key(|target| target.sm).expect("a target for every card")
}

/// The forms that a card with this SM number knows, and an assembler that takes this PTX version.
fn forms(sm: u16, newest: Version) -> Vec<FormInfo> {
    let takes = |floor: &Floor| floor.ptx <= newest && floor.takes(Target::sm(sm), TABLE.families());
    // With all operands.
    let whole = |form: &FormInfo| form.operands().iter().filter_map(|operand| operand.floor).all(takes);
    // A statement that uses a state (such as the carry flag) cannot run alone, and only `KEPT.len()` results are
    // stored.
    let alone = |form: &FormInfo| form.states().is_empty() && form.results().count() <= KEPT.len();
    let reached = TABLE.forms().filter(|form| constants_reach(*form) && alone(form));
    // Forms that later versions removed are left out as well.
    let kept = |form: &FormInfo| spelling::is_taken(*form, Some(newest), Some(Target::sm(sm)));
    reached.filter(|form| takes(form.floor()) && kept(form) && whole(form)).collect()
}

/// A module with a kernel for each of these forms.
fn module(sm: u16, newest: Version, forms: &[FormInfo]) -> String {
    let kernels = forms
        .iter()
        .enumerate()
        .map(|(at, form)| guarded(&format!("k{at}"), *form, &vectors::of(*form, vectors::RECORDED, VECTORS)));
    format!(".version {newest}\n.target {}\n.address_size 64\n{}", target(sm), kernels.collect::<String>())
}

/// Computes all forms on the first card and writes the results; whether all agree with the evaluators. Prints `show`
/// differences of each form.
pub(crate) fn record(assembler: &Assembler, path: &Path, (date, show): (&str, usize)) -> Result<bool, String> {
    let card = Card::open()?;
    let newest = assembler.newest(target(card.sm)).ok_or("the assembler takes no module for the card")?;
    let mut text = format!(
        "# What a card computes: name, SM number, words for each vector of `vectors.rs`.\n\
         # {}, driver for CUDA {}, ptxas {}, {date}.\n",
        card.name, card.driver, assembler.version
    );
    let all = forms(card.sm, newest);
    let work: Vec<&[FormInfo]> = all.chunks(FORMS).collect();
    let compile = |forms: &&[FormInfo]| assembler.image(&module(card.sm, newest, forms), target(card.sm));
    let images: Vec<Result<Vec<u8>, String>> = work.par_iter().map(compile).collect();
    let mut tally = Tally { sm: card.sm, show, ..Tally::default() };
    for (forms, image) in work.into_iter().zip(images) {
        let code = card.load(&image?)?;
        for (at, form) in forms.iter().enumerate() {
            let vectors = vectors::of(*form, vectors::RECORDED, VECTORS);
            let given = vectors.iter().flat_map(|words| words.iter().take(form.sources().count()));
            let input: Vec<u8> = given.flat_map(|word| (*word as u64).to_le_bytes()).collect();
            let phases = PHASES.map(|phase| run(&card, code, &format!("k{at}"), &input, phase));
            let phases =
                phases.collect::<Result<Vec<_>, _>>().map_err(|problem| format!("{}: {problem}", form.name()))?;
            let words = tally.judge(*form, &vectors, &phases);
            let _ = writeln!(text, "{} {} {words}", form.name(), card.sm);
        }
        card.unload(code)?;
    }
    let Tally { count, open, differences, strayed, .. } = tally;
    println!("{}: {count} results, {differences} differ, {open} are left open", card.name);
    // ptxas 13 extends the sign of what a guarded `set` of 16-bit operands must leave alone, and sets what `testp` must.
    println!("{strayed} threads that were kept away did not leave their destinations alone");
    fs::write(path, text).map_err(|error| error.to_string())?;
    Ok(differences == 0)
}

/// Counts of results, by verdict.
#[derive(Default)]
struct Tally {
    sm: u16,
    /// Number of differences to print of each form.
    show: usize,
    count: usize,
    /// Unspecified results, and those that differ because of how the compiler emulates a form.
    open: usize,
    differences: usize,
    /// Threads that were kept away and wrote.
    strayed: usize,
}

impl Tally {
    /// Judges what a form wrote for each vector in each phase; returns its words, those under guards.
    fn judge(&mut self, form: FormInfo, vectors: &[Vec<u128>], phases: &[Vec<u64>]) -> String {
        let (mut words, before) = (String::new(), self.differences);
        for (thread, inputs) in vectors.iter().enumerate() {
            let own = form.evaluate(self.sm, inputs);
            let here = replay::word(form, inputs, &own);
            for (phase, written) in PHASES.zip(phases) {
                let found = [written[2 * thread], written[2 * thread + 1]].map(u128::from);
                if !runs(thread, phase) {
                    let mut results = form.results().map(|(_, ty)| replay::low(ty)).zip(found).zip(KEPT);
                    let wrote = results.any(|((low, found), kept)| found & low != u128::from(kept) & low);
                    self.strayed += usize::from(wrote);
                    continue;
                }
                self.count += 1;
                let mut there = replay::word(form, inputs, &found);
                if form.unspecified(self.sm, inputs).iter().any(|open| *open != 0) || there != here && deviates(form) {
                    self.open += 1;
                    replay::OPEN.clone_into(&mut there);
                } else if there != here {
                    self.differences += 1;
                    if self.differences <= before + self.show {
                        println!("  {} {inputs:x?}: {here} here, {there} there", form.name());
                    }
                }
                if phase < 2 {
                    words.push_str(&there);
                }
            }
        }
        words
    }
}

/// Runs the kernel of a form in a phase, on the sources of all vectors; gives what it wrote.
fn run(card: &Card, code: Code, kernel: &str, input: &[u8], phase: u32) -> Result<Vec<u64>, String> {
    let mut buffers = [input.to_vec(), vec![0; VECTORS * STRIDE as usize]];
    let shape = Shape { blocks: [1; 3], threads: [VECTORS as u32, 1, 1], ..Shape::default() };
    let arguments = |addresses: &[u64]| {
        let addresses = addresses.iter().map(|address| address.to_le_bytes().to_vec());
        addresses.chain([phase.to_le_bytes().to_vec()]).collect()
    };
    card.launch(code, kernel, shape, &mut buffers, arguments)?;
    Ok(buffers[1].chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes"))).collect())
}

#[cfg(test)]
mod tests {
    use ptx_isa::diagnostic::Severity;
    use ptx_isa::text::{Options, check};

    use super::*;
    use crate::assembler::installed;

    const CARD: u16 = 90;

    fn newest() -> Version {
        *TABLE.versions.last().expect("the table has versions")
    }

    #[test]
    fn the_modules_hold_for_our_own_reader() {
        for forms in forms(CARD, newest()).chunks(FORMS) {
            let text = module(CARD, newest(), forms);
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
        for forms in forms(CARD, newest()).chunks(20 * FORMS) {
            let run = assembler.run(&module(CARD, newest(), forms), Target::sm(CARD));
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
        for form in forms(CARD, newest()) {
            let word = replay::word(form, &[], &KEPT.map(u128::from));
            assert!(replay::is_digit(form) || word.starts_with('('), "{}: {word}", form.name());
        }
    }
}
