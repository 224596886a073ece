//! Groups of blocks that run in the same way.
//!
//! Where all that a thread does is one stretch, groups that follow each other are prepared at once, as the rounds of a loop are: the index
//! of their blocks grows by the same from group to group.

use std::prelude::rust_2024::*;

use std::sync::atomic::Ordering;

use super::super::super::affine::Affine;
use super::super::super::decode::{Op, Where, differs};
use super::rounds::FAILURES;
use super::{Block, Entry, Step, Stretch};

/// Maximum number of groups that run at once.
const MOST_GROUPS: u64 = 64;

impl Block<'_> {
    /// The instructions that a thread executes where it ends, if that is behind a stretch which begins where kernels do, all that the stretch
    /// accesses is memory of the device, and registers that tell blocks apart may be affine.
    pub(super) fn ends_behind(&self, steps: &[Step], at: usize, end: usize) -> Option<u64> {
        let of_device = |step: &Step| match step {
            Step::Access { place, .. } => matches!(place, Where::Generic | Where::Device),
            Step::Once(_) | Step::Guard { .. } | Step::Lanes(_) | Step::Value { .. } => true,
        };
        let Op::Effect { count, .. } = &self.code.ops[end] else { return None };
        let differing = self.code.specials.iter().filter(|read| differs(read.origin));
        let affine = differing.map(|read| read.affine).all(|affine| affine.is_some());
        let ends = at == self.code.entry && affine && self.ends(0, end) && steps.iter().all(of_device);
        ends.then_some(u64::from(*count))
    }

    /// Runs groups behind this one, whose threads are about to end, as this one was run.
    pub(super) fn more_groups(&mut self, entry: &Entry, stretch: &Stretch) {
        let Some(count) = stretch.ends else { return };
        let groups = &self.launched.groups;
        let failures = stretch.failures.load(Ordering::Relaxed);
        let may = groups.most() > 1 && failures <= FAILURES && self.full && self.affine.can_count_rounds();
        if !may || entry.depth > 0 {
            return;
        }
        let left = self.launched.left_behind(self.group.number).min(MOST_GROUPS);
        let mut more = if left > 1 { groups.alike(&self.group, left) } else { 0 };
        if more < 2 {
            return;
        }
        while more > 1 {
            if let Some(done) = self.run_groups(entry, stretch, more) {
                self.executed += self.lanes * done * (stretch.count + count);
                self.alike = done;
                // Each of them would have been no miss.
                let misses = stretch.misses.load(Ordering::Relaxed);
                stretch.misses.store(misses.saturating_sub(done as u32), Ordering::Relaxed);
                return stretch.failures.store(failures.saturating_sub(1), Ordering::Relaxed);
            }
            more /= 2;
        }
        stretch.failures.store(failures + 1, Ordering::Relaxed);
    }

    /// Runs so many groups behind this one, or none if another thread of the host has taken some, and gives their number; `None` if some
    /// access what the stretch may not.
    fn run_groups(&mut self, entry: &Entry, stretch: &Stretch, more: u64) -> Option<u64> {
        let growing = self.growing_groups()?;
        let mut prepared = std::mem::take(&mut self.prepared);
        let ready = self.prepare_rounds(entry, stretch, more as u32, &growing, &mut prepared);
        self.affine.count_rounds(1);
        let done = ready.then(|| {
            let taken = self.launched.claim_behind(self.group.number, more);
            self.run_prepared(stretch, taken as u32, &mut prepared);
            taken
        });
        self.prepared = prepared;
        done
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
