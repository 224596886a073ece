//! Lanes that wait for others of their warp.
//!
//! Lanes name those that they wait for by a mask. They meet at one statement, or at several that do the same: compilers copy statements into
//! the arms of branches, and lanes may be at different depths of calls.

use std::prelude::rust_2024::*;
use std::vec;

use ptx_isa::table::program::WARP;
use ptx_isa::warp::Row;

use super::super::decode::{Action, Cell, Meeting, OnBits, Op};
use super::{Block, Entry, Flow};

impl<'l> Block<'l> {
    /// Those of some lanes of a warp whose masks have a value.
    fn naming(&self, warp: usize, lanes: u32, mask: Cell, value: u32) -> u32 {
        match mask {
            Cell::Constant(mask) if mask as u32 == value => lanes,
            Cell::Constant(_) => 0,
            Cell::Row(Row { bits: 32, number }) => {
                let masks = self.warps.b32(warp, number).iter().enumerate();
                lanes & masks.fold(0, |all, (lane, mask)| all | u32::from(*mask == value) << lane)
            }
            mask => Self::lanes_of(lanes)
                .filter(|lane| self.get(warp, *lane, mask) as u32 == value)
                .fold(0, |all, lane| all | 1 << lane),
        }
    }

    /// Lanes of a warp at one place, by the value of their masks.
    fn by_mask(&self, warp: usize, mut lanes: u32, mask: Cell) -> impl Iterator<Item = (u32, u32)> {
        std::iter::from_fn(move || {
            let first = (lanes != 0).then(|| lanes.trailing_zeros() as usize)?;
            let value = self.get(warp, first, mask) as u32;
            let alike = self.naming(warp, lanes, mask, value);
            lanes &= !alike;
            Some((value, alike))
        })
    }

    /// Lanes wait for those that a mask names, of which only live ones count, to name the same ones at a place where they meet.
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
            return Flow::Next;
        }
        // Lanes that wait at the same place join this entry; others it may meet.
        let (mut parts, mut rest) = (Vec::new(), Vec::new());
        for held in std::mem::take(&mut self.held) {
            if (held.depth, held.at) == (entry.depth, entry.at) {
                entry.masks.iter_mut().zip(&held.masks).for_each(|(mask, more)| *mask |= more);
                continue;
            }
            match self.met(meeting, held.at) {
                Some((mask, meeting)) => {
                    let free = Entry { at: behind(&held, meeting), masks: self.masks(), ..held };
                    parts.push(Part { held, mask, meeting, free });
                }
                None => rest.push(held),
            }
        }
        self.held = rest;
        let mut waits = Entry { masks: self.masks(), ..*entry };
        let mut met = Entry { at: behind(entry, meeting), masks: self.masks(), ..*entry };
        for warp in 0..entry.masks.len() {
            let own = self.guarded(warp, entry.masks[warp], guard);
            let groups: Vec<(u32, u32)> = self.by_mask(warp, own, mask).collect();
            for (named, lanes) in groups {
                let others: Vec<u32> =
                    parts.iter().map(|part| self.naming(warp, part.held.masks[warp], part.mask, named)).collect();
                let elsewhere = others.iter().fold(0, |all, lanes| all | lanes);
                if named & self.live[warp] & !(lanes | elsewhere) != 0 {
                    waits.masks[warp] |= lanes;
                    continue;
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
                met.masks[warp] |= lanes;
            }
            entry.masks[warp] &= !met.masks[warp];
        }
        for Part { held, free, .. } in parts {
            self.aside(free);
            self.park(held);
        }
        self.aside(met);
        self.wait(entry, waits)
    }

    /// Some lanes of an entry wait; the others execute what follows at once.
    pub(crate) fn wait(&mut self, entry: &mut Entry, waits: Entry) -> Flow {
        entry.masks.iter_mut().zip(&waits.masks).for_each(|(mask, waits)| *mask &= !waits);
        self.park(waits);
        if entry.masks.iter().all(|mask| *mask == 0) {
            return Flow::Aside;
        }
        self.activate(entry);
        Flow::Next
    }

    /// Lets the lanes of an entry wait, if it has any.
    fn park(&mut self, entry: Entry) {
        match entry.masks.iter().all(|mask| *mask == 0) {
            true => self.spare.push(entry.masks),
            false => self.held.push(entry),
        }
    }

    /// The mask and the kind of a meeting, if lanes that wait at an operation may meet those at another one.
    fn met(&self, meeting: &Meeting, at: usize) -> Option<(Cell, &'l Meeting)> {
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
        let parts: Vec<(&OnBits, u32)> = parts.filter_map(collective).collect();
        let Some((first, _)) = parts.first() else { return };
        let mut inputs = vec![[0; WARP]; first.sources.len()];
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

/// The operation with which lanes go on that have met others elsewhere.
fn behind(entry: &Entry, meeting: &Meeting) -> usize {
    entry.at + if matches!(meeting, Meeting::Collective(_)) { 2 } else { 1 }
}
