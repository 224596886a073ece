//! Groups of blocks that run in the same way.
//!
//! Where all that a thread does is one stretch, groups that follow each other are prepared at once, as the rounds of a loop are: the index
//! of their blocks grows by the same from group to group.

use std::prelude::rust_2024::*;

use std::sync::atomic::{AtomicU32, Ordering};

use super::super::super::affine::Affine;
use super::super::super::decode::{Op, Where, differs};
use super::rounds::FAILURES;
use super::{Block, Entry, Step, Stretch};

/// Maximum number of groups that run at once.
const MOST_GROUPS: u64 = 64;

/// A stretch that is all that a thread does.
#[derive(Debug)]
pub(super) struct Whole {
    /// Instructions that a thread executes where it ends.
    count: u64,
    /// How much more often than not no groups could be prepared at once.
    failures: AtomicU32,
}

impl Block<'_> {
    /// A stretch of these steps, if it begins where kernels do, all that it accesses is memory of the device, threads end behind it, and
    /// registers that tell blocks apart may be affine.
    pub(super) fn whole_kernel(&self, steps: &[Step], at: usize, end: usize) -> Option<Whole> {
        let of_device = |step: &Step| match step {
            Step::Access { place, .. } | Step::Watch { place, .. } => matches!(place, Where::Generic | Where::Device),
            Step::Each(_) | Step::Scattered { .. } => false,
            Step::Once(_) | Step::Guard { .. } | Step::Lanes(_) | Step::Value { .. } => true,
        };
        let Op::Effect { count, .. } = &self.code.ops[end] else { return None };
        let mut differing = self.code.specials.iter().filter(|read| differs(read.origin));
        let affine = differing.all(|read| read.affine.is_some());
        let whole = at == self.code.entry && affine && self.ends(0, end) && steps.iter().all(of_device);
        whole.then(|| Whole { count: u64::from(*count), failures: AtomicU32::new(0) })
    }

    /// Runs groups behind this one, whose threads are about to end, as this one was run.
    pub(super) fn more_groups(&mut self, entry: &Entry, stretch: &Stretch) {
        let Some(Whole { count, failures }) = &stretch.whole else { return };
        let groups = &self.launched.groups;
        let failed = failures.load(Ordering::Relaxed);
        let may = groups.most() > 1 && failed <= FAILURES && self.full && self.affine.can_count_rounds();
        if !may || entry.depth > 0 {
            return;
        }
        let left = self.launched.left_behind(self.group.number).min(MOST_GROUPS);
        let most = if left > 1 { groups.alike(&self.group, left) } else { 0 };
        if most < 2 {
            return;
        }
        let mut counts = std::iter::successors(Some(most), |count| Some(count / 2)).take_while(|count| *count > 1);
        let growing = self.growing_groups();
        let done =
            growing.and_then(|growing| counts.find_map(|count| self.run_groups(entry, stretch, count, &growing)));
        let Some(done) = done else { return failures.store(failed + 1, Ordering::Relaxed) };
        self.executed += self.lanes * done * (stretch.count + count);
        self.alike = done;
        // Each of them would have been no miss.
        let misses = stretch.misses.load(Ordering::Relaxed);
        stretch.misses.store(misses.saturating_sub(done as u32), Ordering::Relaxed);
        failures.store(failed.saturating_sub(1), Ordering::Relaxed);
    }

    /// Runs `count` groups behind this one, or none if another thread of the host has taken some, and gives their number; `None` if some
    /// access what the stretch may not.
    fn run_groups(&mut self, entry: &Entry, stretch: &Stretch, count: u64, growing: &[(u32, u64)]) -> Option<u64> {
        let mut prepared = std::mem::take(&mut self.prepared);
        let ready = self.prepare_rounds(entry, stretch, count as u32, growing, &mut prepared)
            && self.groups_ahead(&mut prepared.watched, count);
        self.affine.count_rounds(1);
        let taken = ready && self.launched.shares.claim_behind(self.group.number, count);
        if taken {
            self.run_prepared(entry, stretch, count as u32, &mut prepared);
        } else {
            self.affine.restore(&prepared.saved);
        }
        self.prepared = prepared;
        ready.then_some(if taken { count } else { 0 })
    }

    /// Lets the registers that tell groups apart have the values of the next one; gives them with what they grow by from group to group, if
    /// they are affine.
    fn growing_groups(&mut self) -> Option<Vec<(u32, u64)>> {
        let (own, code) = (self.group, self.code);
        let mut values = |behind: u64| -> Option<Vec<(u32, Affine)>> {
            self.group = self.launched.groups.get(own.number + behind);
            self.specials(true);
            self.group = own;
            let specials = code.specials.iter().filter(|read| differs(read.origin));
            specials.map(|read| Some((read.affine?, self.affine.value(read.affine?)?))).collect()
        };
        let (later, next) = (values(2)?, values(1)?);
        let grown = next.into_iter().zip(later).map(|((number, value), (_, later))| {
            (value.steps == later.steps).then_some((number, later.base.wrapping_sub(value.base)))
        });
        grown.collect()
    }
}
