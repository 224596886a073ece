//! Lanes that wait for each other: at barriers of the block and the cluster, and for the lanes of their warp.

use std::prelude::rust_2024::*;
use std::{format, vec};

use ptx_isa::warp::Row;

use super::super::decode::{Action, Cell, Op};
use super::super::error::{Error, ErrorKind, counted};
use super::{Block, Entry, Flow};

/// Lanes at a barrier.
#[derive(Debug)]
pub(super) struct Waiter {
    /// The number of the block among those in lockstep, and the name.
    pub barrier: (usize, u32),
    pub entry: Entry,
}

/// State of a barrier of the block.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    /// The lanes that have arrived, and those of them whose predicate is true.
    arrived: Vec<u32>,
    yes: Vec<u32>,
    /// Number of threads that the barrier waits for; `None` for the whole block.
    threads: Option<u64>,
}

impl Block<'_> {
    /// Lanes arrive at a barrier, and wait there or do not.
    pub(crate) fn arrive(
        &mut self,
        entry: &mut Entry,
        guard: Option<(u32, bool)>,
        barrier: Cell,
        threads: Option<Cell>,
        test: Option<Cell>,
        waits: bool,
    ) -> Flow {
        // The usual case: all threads arrive together.
        let alone = self.waiting.is_empty() && self.barriers.is_empty() && entry.masks == self.live;
        if alone
            && waits
            && threads.is_none()
            && test.is_none()
            && guard.is_none()
            && matches!(barrier, Cell::Constant(_))
        {
            return Flow::Next;
        }
        let mut names: Vec<((usize, u32), Entry)> = Vec::new();
        for warp in 0..entry.masks.len() {
            let own = self.guarded(warp, entry.masks[warp], guard);
            for lane in Self::lanes_of(own) {
                let name = (warp / self.per, self.get(warp, lane, barrier) as u32);
                let place = names.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
                    names.push((name, Entry { masks: self.masks(), ..*entry }));
                    names.len() - 1
                });
                names[place].1.masks[warp] |= 1 << lane;
                let awaited =
                    threads.map(|threads| self.get(warp, lane, threads) & 0xffff_ffff).filter(|count| *count != 0);
                let yes = test.is_some_and(|test| self.get(warp, lane, test) & 1 != 0);
                let count = entry.masks.len();
                let barrier = self.barriers.entry(name).or_default();
                barrier.arrived.resize(count, 0);
                barrier.yes.resize(count, 0);
                barrier.arrived[warp] |= 1 << lane;
                barrier.yes[warp] |= u32::from(yes) << lane;
                barrier.threads = awaited;
            }
            if waits {
                entry.masks[warp] &= !own;
            }
        }
        let flow = self.go_on(entry);
        let called: Vec<(usize, u32)> = names.iter().map(|(name, _)| *name).collect();
        if waits {
            self.waiting.extend(names.into_iter().map(|(barrier, entry)| Waiter { barrier, entry }));
        }
        called.into_iter().for_each(|barrier| self.release(barrier));
        flow
    }

    /// Lanes arrive at the barrier of the cluster.
    pub(crate) fn arrive_cluster(&mut self, entry: &Entry, guard: Option<(u32, bool)>) {
        for warp in 0..entry.masks.len() {
            self.arrived[warp] |= self.guarded(warp, entry.masks[warp], guard);
        }
    }

    /// Lanes wait at the barrier of the cluster, unless the phase in which they arrived is over.
    pub(crate) fn wait_cluster(&mut self, entry: &mut Entry, guard: Option<(u32, bool)>) -> Flow {
        let mut waits = entry.clone();
        for warp in 0..entry.masks.len() {
            waits.masks[warp] = self.guarded(warp, entry.masks[warp], guard) & self.arrived[warp];
            entry.masks[warp] &= !waits.masks[warp];
        }
        if waits.masks.iter().all(|mask| *mask == 0) {
            return Flow::Next;
        }
        self.at_cluster.push(waits);
        self.go_on(entry)
    }

    /// Returns true if all live lanes have arrived at the barrier of the cluster.
    pub(crate) fn has_arrived(&self) -> bool {
        self.arrived.iter().zip(&self.live).all(|(arrived, live)| live & !arrived == 0)
    }

    /// The next phase of the barrier of the cluster begins.
    pub(crate) fn release_cluster(&mut self) {
        self.arrived.fill(0);
        for entry in std::mem::take(&mut self.at_cluster) {
            self.aside(Entry { at: entry.at + 1, ..entry });
        }
    }

    /// Lets the lanes at a barrier go on if all have arrived.
    pub(super) fn release(&mut self, name: (usize, u32)) {
        let Some(barrier) = self.barriers.get(&name) else { return };
        let own = name.0 * self.per..(name.0 + 1) * self.per;
        let complete = match barrier.threads {
            None => {
                barrier.arrived[own.clone()].iter().zip(&self.live[own]).all(|(arrived, live)| live & !arrived == 0)
            }
            // A warp counts as a whole once all its lanes have come.
            Some(threads) => {
                let count = |(arrived, live): (&u32, &u32)| match live & !arrived == 0 && *arrived != 0 {
                    true => 32,
                    false => u64::from(arrived.count_ones()),
                };
                barrier.arrived.iter().zip(&self.live).map(count).sum::<u64>() >= threads
            }
        };
        if !complete {
            return;
        }
        let barrier = self.barriers.remove(&name).expect("it was just found");
        let yes: u64 = barrier.yes.iter().map(|mask| u64::from(mask.count_ones())).sum();
        let all = barrier.yes == barrier.arrived;
        let (mut released, mut rest) = (Vec::new(), Vec::new());
        for waiter in std::mem::take(&mut self.waiting) {
            if waiter.barrier == name { released.push(waiter) } else { rest.push(waiter) }
        }
        self.waiting = rest;
        for Waiter { mut entry, .. } in released {
            if let Op::Effect { action: Action::Wait { test: Some(test), .. }, .. } = &self.code.ops[entry.at] {
                use ptx_isa::table::EffectKind;
                let value = match test.kind {
                    EffectKind::WaitCount => yes,
                    EffectKind::WaitAll => all.into(),
                    _ => u64::from(yes != 0),
                };
                for warp in 0..entry.masks.len() {
                    for lane in Self::lanes_of(entry.masks[warp]) {
                        self.set(warp, lane, test.to, value);
                    }
                }
            }
            entry.at += 1;
            self.aside(entry);
        }
    }

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

    /// Lanes wait for those that a mask names, of which only live ones count, to be there and name the same ones.
    pub(crate) fn converge(
        &mut self,
        entry: &mut Entry,
        guard: Option<(u32, bool)>,
        mask: Cell,
        together: bool,
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
        // Lanes that wait at the same place join this entry. Lanes at any other barrier of the warp count as arrived,
        // too.
        let (depth, at) = (entry.depth, entry.at);
        let mut joined = Vec::new();
        let mut rest = Vec::new();
        for held in std::mem::take(&mut self.held) {
            match &self.code.ops[held.at] {
                _ if (held.depth, held.at) == (depth, at) => {
                    entry.masks.iter_mut().zip(&held.masks).for_each(|(mask, more)| *mask |= more);
                }
                Op::Effect { action: Action::Converge { together: false, mask }, .. } if !together => {
                    let free = Entry { at: held.at + 1, masks: vec![0; held.masks.len()], ..held.clone() };
                    joined.push((held, *mask, free));
                }
                _ => rest.push(held),
            }
        }
        self.held = rest;
        let mut waits = Entry { masks: self.masks(), ..*entry };
        for warp in 0..entry.masks.len() {
            let own = self.guarded(warp, entry.masks[warp], guard);
            for (named, lanes) in self.by_mask(warp, own, mask) {
                let others = |(held, mask, _): &(Entry, Cell, Entry)| self.naming(warp, held.masks[warp], *mask, named);
                let elsewhere = joined.iter().fold(0, |all, other| all | others(other));
                if named & self.live[warp] & !(lanes | elsewhere) != 0 {
                    waits.masks[warp] |= lanes;
                    continue;
                }
                for other in &mut joined {
                    let released = others(other);
                    other.0.masks[warp] &= !released;
                    other.2.masks[warp] |= released;
                }
            }
            entry.masks[warp] &= !waits.masks[warp];
        }
        for (held, _, free) in joined {
            self.aside(free);
            if held.masks.iter().any(|mask| *mask != 0) {
                self.held.push(held);
            }
        }
        if waits.masks.iter().any(|mask| *mask != 0) {
            self.held.push(waits);
        }
        // The lanes that go on execute what follows at once.
        if entry.masks.iter().all(|mask| *mask == 0) {
            return Flow::Aside;
        }
        self.activate(entry);
        Flow::Next
    }

    /// An error with a thread that goes on, and the statement of the next effect that it executes.
    pub(crate) fn within(&self, error: Error) -> Error {
        let Some(entry) = self.ready.first() else { return error };
        let effect = |op: &Op| matches!(op, Op::Effect { .. });
        let Some(further) = self.code.ops[entry.at..].iter().position(effect) else { return error };
        let (warp, lane) = first_lane(entry);
        self.error(entry.at + further, warp, lane, error)
    }

    /// The error of a block in which nothing can go on.
    pub(crate) fn deadlock(&self) -> Error {
        let mut places = Vec::new();
        // If several blocks run in lockstep, report the first block that is deadlocked.
        let block = self.waiting.iter().map(|waiter| waiter.barrier.0).min().unwrap_or(0);
        let waiting = || self.waiting.iter().filter(|waiter| waiter.barrier.0 == block);
        let at_barriers = waiting().map(|Waiter { barrier, entry }| (format!("barrier {}", barrier.1), entry));
        let at_cluster = self.at_cluster.iter().map(|entry| ("the barrier of the cluster".to_owned(), entry));
        for (barrier, entry) in at_barriers.chain(at_cluster).take(4) {
            let lanes: u32 = entry.masks.iter().map(|mask| mask.count_ones()).sum();
            let place = self.launched.located(entry.at, Error::new(ErrorKind::Deadlock, ""));
            let (line, statement) = (place.line.unwrap_or_default(), place.statement.unwrap_or_default());
            let (threads, statement) = (counted(lanes as usize, "thread"), statement.trim_end_matches(';'));
            places.push(format!("{threads} at {barrier}, line {line}: {statement}"));
        }
        let live: u32 = self.live[block * self.per..][..self.per].iter().map(|mask| mask.count_ones()).sum();
        let message = format!("deadlock: all {live} threads that have not ended wait; {}", places.join("; "));
        let first = waiting().next().map_or_else(|| &self.at_cluster[0], |waiter| &waiter.entry);
        let (warp, lane) = first_lane(first);
        self.error(first.at, warp, lane, Error::new(ErrorKind::Deadlock, message))
    }
}

/// The first warp and lane of an entry.
fn first_lane(entry: &Entry) -> (usize, usize) {
    let warp = entry.masks.iter().position(|mask| *mask != 0).unwrap_or(0);
    (warp, entry.masks[warp].trailing_zeros().min(31) as usize)
}
