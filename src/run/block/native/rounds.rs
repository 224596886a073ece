//! Rounds of a loop whose body is one stretch.
//!
//! Where all lanes go back, and what is computed once for all threads grows by the same from round to round, many rounds are prepared at
//! once: the round is one more index that values are affine in, and what holds for all threads holds in all rounds.

use std::prelude::rust_2024::*;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use ptx_isa::jit::Trace;

use super::super::super::decode::{Action, Op};
use super::{Base, Block, EXECUTED, Entry, FIRST, LEFT, Prepared, STEPS, Step, Stretch};

/// The most operations of all rounds behind the first one, before other lanes have their turn.
pub(super) const MOST_OPERATIONS: u64 = 1 << 14;

/// Number of rounds that are tried first, until a loop has ended once.
const TRIED: u32 = 8;

/// The most rounds of a warp before the next one has its own.
const AT_ONCE: usize = 8;

/// How much more often there may have been no further rounds than some, before they are not tried any longer.
pub(super) const FAILURES: u32 = 16;

/// The branch behind a stretch that goes back to where it begins.
#[derive(Debug)]
pub(super) struct Back {
    /// The number of the predicate, among registers that may be affine, and whether its complement is meant.
    guard: (u32, bool),
    /// Instructions that a thread executes there.
    count: u64,
    /// Registers that are read before they are written: a round has their values from the one before.
    kept: Vec<u32>,
    /// Code for several rounds of each warp, with the arguments of each round behind those of the one before.
    pub(super) several: Option<Trace>,
    /// Number of rounds that followed the first one when the loop was run last.
    rounds: AtomicU32,
    failures: AtomicU32,
}

impl Stretch {
    /// The branch behind it, if it goes back to the operation `at`, where the stretch begins.
    pub(super) fn back(ops: &[Op], steps: &[Step], at: usize, end: usize) -> Option<Back> {
        let Op::Effect { guard: Some((_, not)), action: Action::Branch { to, affine: Some(number) }, count, .. } =
            &ops[end]
        else {
            return None;
        };
        if steps.iter().any(|step| matches!(step, Step::Each(_))) {
            return None;
        }
        let once = |step: &Step| match step {
            Step::Once(at) => match &ops[*at] {
                Op::Once(once) => Some(once),
                _ => None,
            },
            _ => None,
        };
        let writes: HashSet<u32> = steps.iter().filter_map(once).flat_map(|once| once.writes.iter().copied()).collect();
        let (mut kept, mut written) = (Vec::new(), HashSet::new());
        for step in steps {
            let reads = |number: u32| match (step, once(step)) {
                (_, Some(once)) => match &once.formula {
                    Some(formula) => formula.reads(number),
                    None => once.reads.contains(&number),
                },
                (Step::Access { base, .. } | Step::Watch { base, .. }, _) => *base == Base::Register(number),
                (Step::Lanes(own) | Step::Value { number: own, .. } | Step::Guard { number: own, .. }, _) => {
                    *own == number
                }
                (Step::Once(_) | Step::Each(_) | Step::Scattered { .. }, None) => false,
            };
            kept.extend(writes.iter().copied().filter(|number| !written.contains(number) && reads(*number)));
            written.extend(once(step).into_iter().flat_map(|once| once.writes.iter().copied()));
        }
        kept.sort_unstable();
        kept.dedup();
        let (rounds, failures) = (AtomicU32::new(0), AtomicU32::new(0));
        (*to == at).then_some(Back {
            guard: (*number, *not),
            count: u64::from(*count),
            kept,
            several: None,
            rounds,
            failures,
        })
    }
}

impl Block<'_> {
    /// Runs further rounds behind one of a stretch, as long as all lanes go back; returns the number of operations. The lanes stay before the
    /// branch.
    pub(super) fn more_rounds(&mut self, entry: &Entry, stretch: &Stretch) -> u64 {
        if stretch.rounds > 0 {
            return stretch.operations * (self.rounds_done(stretch, &self.prepared.arguments) / self.live.len() as u64);
        }
        let Some(back) = &stretch.back else { return 0 };
        let failures = back.failures.load(Ordering::Relaxed);
        if failures > FAILURES || !self.ready.is_empty() || !self.goes_back(back) || !self.affine.can_count_rounds() {
            return 0;
        }
        let most = (MOST_OPERATIONS / stretch.operations) as u32;
        let (mut rounds, mut done) = (back.rounds.load(Ordering::Relaxed).max(TRIED), 0);
        if let Some(growing) = self.growing(back) {
            while done < most && self.goes_back(back) {
                rounds = rounds.min(most - done);
                while rounds > 1 && !self.run_rounds(entry, (stretch, back), rounds, &growing) {
                    rounds /= 2;
                }
                if rounds < 2 {
                    break;
                }
                done += rounds;
                rounds *= 2;
            }
        }
        match done {
            0 => back.failures.store(failures + 1, Ordering::Relaxed),
            _ => {
                back.rounds.store(done, Ordering::Relaxed);
                back.failures.store(failures.saturating_sub(1), Ordering::Relaxed);
            }
        }
        self.executed += self.lanes * u64::from(done) * (stretch.count + back.count);
        stretch.operations * u64::from(done)
    }

    /// Number of rounds behind the first ones within a stretch, of all warps, once its code has run.
    pub(super) fn rounds_done(&self, stretch: &Stretch, arguments: &[u64]) -> u64 {
        stretch.rounds * self.live.len() as u64 - arguments[LEFT]
    }

    /// Returns true if all lanes take a branch.
    fn goes_back(&self, back: &Back) -> bool {
        let (number, not) = back.guard;
        self.decided(number) == Some(!not)
    }

    /// The registers that rounds have from those before, and by how much the last one changed them; `None` if it is not by the same in all
    /// threads.
    fn growing(&self, back: &Back) -> Option<Vec<(u32, u64)>> {
        let saved = &self.prepared.saved;
        let grown = back.kept.iter().map(|number| {
            let before = saved.iter().find(|saved| saved.number() == *number)?.value()?;
            let value = self.affine.value(*number)?;
            let step = value.base.wrapping_sub(before.base);
            // A predicate is the same in all rounds: it does not grow.
            let grows = self.code.affine[*number as usize].bits > 1 || step == 0;
            (before.steps == value.steps && grows).then_some((*number, step))
        });
        grown.collect()
    }

    /// Runs rounds behind the last one, if all of them access what the stretch may access, and all lanes go back behind each of them.
    fn run_rounds(
        &mut self,
        entry: &Entry,
        (stretch, back): (&Stretch, &Back),
        rounds: u32,
        growing: &[(u32, u64)],
    ) -> bool {
        let mut prepared = std::mem::take(&mut self.prepared);
        let before: Vec<_> = growing.iter().map(|(number, _)| self.affine.saved(*number)).collect();
        let code = self.code;
        let bits = |number: u32| code.affine[number as usize].bits;
        let ready = self.prepare_rounds(entry, stretch, rounds, growing, &mut prepared)
            && self.goes_back(back)
            && growing
                .iter()
                .zip(&before)
                .all(|((number, step), saved)| self.affine.has_grown(saved, *step, bits(*number)))
            && self.accesses_ahead(&mut prepared.watched);
        let saved = &prepared.saved;
        if ready {
            self.affine.last_round(saved.iter().map(|saved| (saved.number(), bits(saved.number()))));
        } else {
            self.affine.restore(saved);
            self.affine.restore(&before);
        }
        self.affine.count_rounds(1);
        if ready {
            self.run_prepared(entry, stretch, rounds, &mut prepared);
        }
        self.prepared = prepared;
        ready
    }

    /// Prepares rounds in which registers grow; values are those of several rounds from then on.
    pub(super) fn prepare_rounds(
        &mut self,
        entry: &Entry,
        stretch: &Stretch,
        rounds: u32,
        growing: &[(u32, u64)],
        prepared: &mut Prepared,
    ) -> bool {
        prepared.clear();
        self.affine.count_rounds(rounds);
        growing.iter().for_each(|(number, step)| self.affine.grow(*number, *step));
        self.prepare(entry, stretch, prepared).is_ok()
    }

    /// Runs the code for rounds that are prepared.
    pub(super) fn run_prepared(&mut self, entry: &Entry, stretch: &Stretch, rounds: u32, prepared: &mut Prepared) {
        let Prepared { arguments, growth, tables, rounds: several, .. } = prepared;
        self.affine.tables(tables, arguments);
        let grow = |arguments: &mut [u64]| {
            let bases = arguments[STEPS..].iter_mut().zip(&*growth);
            bases.for_each(|(base, step)| *base = base.wrapping_add(*step));
        };
        let Some(trace) = stretch.back.as_ref().and_then(|back| back.several.as_ref()) else {
            for _ in 0..rounds {
                self.run_trace(entry, stretch, arguments);
                grow(arguments);
            }
            return;
        };
        for first in (0..rounds).step_by(AT_ONCE) {
            let count = (rounds - first).min(AT_ONCE as u32);
            several.clear();
            // They are not moved any more.
            several.reserve(count as usize * arguments.len());
            for number in 0..count {
                (arguments[LEFT], arguments[FIRST]) = ((count - 1 - number).into(), several.as_ptr() as u64);
                several.extend_from_slice(arguments);
                grow(arguments);
            }
            self.run_code(trace, several);
            self.executed += several.chunks(arguments.len()).map(|arguments| arguments[EXECUTED]).sum::<u64>();
        }
        self.changed |= stretch.writes;
    }
}
