//! Lanes that wait for others of their warp.
//!
//! Lanes name those that they wait for by a mask. They meet at one statement, or at several that do the same: compilers copy statements into
//! the arms of branches, and lanes may be at different depths of calls.

use std::prelude::rust_2024::*;

use ptx_isa::table::program::WARP;
use ptx_isa::warp::Row;

use super::super::decode::{Action, Cell, Computation, Meeting, Op};
use super::{Block, Entry, Flow};

impl<'l> Block<'l> {
    /// Returns the lanes among `lanes` whose member mask is `value`.
    fn lanes_with_mask(&self, warp: usize, lanes: u32, mask: Cell, value: u32) -> u32 {
        match mask {
            Cell::Constant(mask) if mask as u32 == value => lanes,
            Cell::Constant(_) => 0,
            Cell::Row(Row { bits: 32, number }) => {
                let masks = self.warps.b32(warp, number).iter().enumerate();
                lanes & masks.fold(0, |all, (lane, mask)| all | u32::from(*mask == value) << lane)
            }
            mask => Self::lanes_where(lanes, |lane| self.get(warp, lane, mask) as u32 == value),
        }
    }

    /// Groups lanes of a warp at one statement by their member mask.
    fn by_mask(&self, warp: usize, mut lanes: u32, mask: Cell) -> impl Iterator<Item = (u32, u32)> {
        std::iter::from_fn(move || {
            let first = (lanes != 0).then(|| lanes.trailing_zeros() as usize)?;
            let value = self.get(warp, first, mask) as u32;
            let alike = self.lanes_with_mask(warp, lanes, mask, value);
            lanes &= !alike;
            Some((value, alike))
        })
    }

    /// Holds lanes until all live lanes in their member mask have arrived with the same mask, here or at a compatible statement.
    pub(crate) fn converge(
        &mut self,
        entry: &mut Entry,
        guard: Option<(u32, bool)>,
        mask: Cell,
        meeting: &Meeting,
    ) -> Flow {
        if std::mem::take(&mut entry.forced) {
            return Flow::Next;
        }
        // The usual case: every warp has all that it names.
        let complete = |block: &Self, entry: &Entry, warp: usize| {
            let own = block.guarded(warp, entry.masks[warp], guard);
            block.by_mask(warp, own, mask).all(|(named, lanes)| named & block.live[warp] & !lanes == 0)
        };
        if (0..entry.masks.len()).all(|warp| complete(self, entry, warp)) {
            self.met(entry, guard, mask, meeting);
            return Flow::Next;
        }
        self.join(entry);
        let mut parts = Vec::new();
        for held in std::mem::take(&mut self.held) {
            match self.compatible(meeting, held.at) {
                Some((mask, meeting)) => {
                    self.executed += self.instructions(&held.masks, held.at);
                    let free = Entry { at: resume_at(&held, meeting), masks: self.masks(), ..held };
                    parts.push(Part { held, mask, meeting, free });
                }
                None => self.held.push(held),
            }
        }
        let mut waits = Entry { masks: self.masks(), ..*entry };
        let mut gone = Entry { at: resume_at(entry, meeting), masks: self.masks(), ..*entry };
        for warp in 0..entry.masks.len() {
            let own = self.guarded(warp, entry.masks[warp], guard);
            let groups: Vec<(u32, u32)> = self.by_mask(warp, own, mask).collect();
            for (named, lanes) in groups {
                let others: Vec<u32> = parts
                    .iter()
                    .map(|part| self.lanes_with_mask(warp, part.held.masks[warp], part.mask, named))
                    .collect();
                let elsewhere = others.iter().fold(0, |all, lanes| all | lanes);
                if named & self.live[warp] & !(lanes | elsewhere) != 0 {
                    waits.masks[warp] |= lanes;
                    continue;
                }
                if meeting.orders() {
                    self.lanes_met(warp, lanes | elsewhere);
                }
                if elsewhere == 0 {
                    continue;
                }
                for (part, lanes) in parts.iter_mut().zip(&others) {
                    part.held.masks[warp] &= !lanes;
                    part.free.masks[warp] |= lanes;
                }
                let meetings = parts.iter().map(|part| part.meeting).zip(others.iter().copied());
                self.compute(warp, meetings.chain([(meeting, lanes)]));
                gone.masks[warp] |= lanes;
            }
            entry.masks[warp] &= !gone.masks[warp];
        }
        for Part { held, free, .. } in parts {
            self.aside(free);
            self.park(held);
        }
        self.aside(gone);
        self.wait(entry, waits)
    }

    /// All lanes of an entry have met those that they name.
    fn met(&mut self, entry: &Entry, guard: Option<(u32, bool)>, mask: Cell, meeting: &Meeting) {
        if !self.looks_for_races() || !meeting.orders() {
            return;
        }
        for warp in 0..entry.masks.len() {
            let own = self.guarded(warp, entry.masks[warp], guard);
            let groups: Vec<(u32, u32)> = self.by_mask(warp, own, mask).collect();
            groups.into_iter().for_each(|(_, lanes)| self.lanes_met(warp, lanes));
        }
    }

    /// Lanes that are held at the place of an entry join it.
    pub(super) fn join(&mut self, entry: &mut Entry) {
        for held in std::mem::take(&mut self.held) {
            if (held.depth, held.at) == (entry.depth, entry.at) {
                self.executed += self.instructions(&held.masks, held.at);
                entry.masks.iter_mut().zip(&held.masks).for_each(|(mask, more)| *mask |= more);
            } else {
                self.held.push(held);
            }
        }
    }

    /// Some lanes of an entry wait; the others execute what follows at once.
    pub(crate) fn wait(&mut self, entry: &mut Entry, waits: Entry) -> Flow {
        entry.masks.iter_mut().zip(&waits.masks).for_each(|(mask, waits)| *mask &= !waits);
        self.park(waits);
        if entry.is_empty() {
            return Flow::Aside;
        }
        self.activate(entry);
        Flow::Next
    }

    /// Lets the lanes of an entry wait, if it has any. What they wait to execute counts when they go on.
    fn park(&mut self, entry: Entry) {
        if entry.is_empty() {
            return self.spare.push(entry.masks);
        }
        self.executed -= self.instructions(&entry.masks, entry.at);
        self.held.push(entry);
    }

    /// The member mask of lanes at an operation, and how they meet, if lanes that meet in a way may meet them there.
    fn compatible(&self, meeting: &Meeting, at: usize) -> Option<(Cell, &'l Meeting)> {
        let Op::Effect { action: Action::Converge { mask, meeting: other }, .. } = &self.code.ops[at] else {
            return None;
        };
        let meets = match (meeting, other) {
            (Meeting::Barrier, Meeting::Barrier) => true,
            (Meeting::Collective(one), Meeting::Collective(other)) => {
                one.evaluator.form() == other.evaluator.form() && one.sources.len() == other.sources.len()
            }
            _ => false,
        };
        meets.then_some((*mask, other))
    }

    /// Computes a collective for lanes of a warp that have met at several statements.
    fn compute<'m>(&mut self, warp: usize, parts: impl Iterator<Item = (&'m Meeting, u32)>) {
        let collective = |(meeting, lanes): (&'m Meeting, u32)| match meeting {
            Meeting::Collective(collective) => Some((&**collective, lanes)),
            _ => None,
        };
        let parts: Vec<(&Computation, u32)> = parts.filter_map(collective).collect();
        let Some((first, _)) = parts.first() else { return };
        // Lanes that take no part have what they hold, as where all lanes are at one statement.
        let held = |source: &Cell| std::array::from_fn(|lane| self.get(warp, lane, *source).into());
        let mut inputs: Vec<[u128; WARP]> = first.sources.iter().map(held).collect();
        for (collective, lanes) in &parts {
            for (input, source) in inputs.iter_mut().zip(&collective.sources) {
                Self::lanes_of(*lanes).for_each(|lane| input[lane] = self.get(warp, lane, *source).into());
            }
        }
        let active = parts.iter().fold(0, |all, (_, lanes)| all | lanes);
        let results = first.evaluator.evaluate_warp(active, &inputs);
        for (collective, lanes) in &parts {
            for (result, to) in results.iter().zip(&collective.destinations) {
                Self::lanes_of(*lanes).for_each(|lane| self.set(warp, lane, *to, result[lane] as u64));
            }
        }
    }
}

/// Lanes that an entry may meet: those that wait, with their masks, and those that go on.
struct Part<'c> {
    held: Entry,
    mask: Cell,
    meeting: &'c Meeting,
    free: Entry,
}

/// The operation at which lanes go on that met others elsewhere: behind the one that computes, as their results are there.
fn resume_at(entry: &Entry, meeting: &Meeting) -> usize {
    entry.at + if matches!(meeting, Meeting::Collective(_)) { 2 } else { 1 }
}
