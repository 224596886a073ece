//! Lanes that wait at barriers of the block and the cluster, and the error of lanes that wait forever.

use std::format;
use std::prelude::rust_2024::*;
use std::sync::Arc;

use isa_table::count::Count;

use super::super::decode::{Action, Cell, Op};
use super::super::error::{Error, ErrorKind};
use super::super::races::Known;
use super::{Block, Entry, Flow, Status, lanes};

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
    /// What they know, if the launch looks for races.
    known: Known,
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
            self.blocks_met(0..self.group.count);
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
        if self.looks_for_races() {
            for (name, arrived) in &names {
                let known = self.arrival(&arrived.masks, threads.is_some());
                self.barriers.entry(*name).or_default().known.join(&known);
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
        let mut arrived = self.masks();
        for (warp, arrived) in arrived.iter_mut().enumerate() {
            *arrived = self.guarded(warp, entry.masks[warp], guard);
            self.arrived[warp] |= *arrived;
        }
        self.arrival_in_cluster(&arrived);
        self.spare.push(arrived);
    }

    /// Lanes wait at the barrier of the cluster, unless the phase in which they arrived is over.
    pub(crate) fn wait_cluster(&mut self, entry: &mut Entry, guard: Option<(u32, bool)>) -> Flow {
        let mut waits = Entry { masks: self.masks(), ..*entry };
        for warp in 0..entry.masks.len() {
            waits.masks[warp] = self.guarded(warp, entry.masks[warp], guard) & self.arrived[warp];
            entry.masks[warp] &= !waits.masks[warp];
        }
        if waits.is_empty() {
            self.spare.push(waits.masks);
            self.departure_from_cluster(&entry.masks);
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
        if self.status == Status::Waiting {
            self.status = Status::Suspended;
        }
        for entry in std::mem::take(&mut self.at_cluster) {
            self.departure_from_cluster(&entry.masks);
            self.aside(Entry { at: entry.at + 1, ..entry });
        }
    }

    /// Lets the lanes at a barrier go on if all have arrived.
    pub(super) fn release(&mut self, name: (usize, u32)) {
        let Some(barrier) = self.barriers.get(&name) else { return };
        let own = name.0 * self.per..(name.0 + 1) * self.per;
        let complete = match barrier.threads {
            None => barrier.arrived[own.clone()]
                .iter()
                .zip(&self.live[own.clone()])
                .all(|(arrived, live)| live & !arrived == 0),
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
        let yes = lanes(&barrier.yes);
        let all = barrier.yes == barrier.arrived;
        let (mut released, mut rest) = (Vec::new(), Vec::new());
        for waiter in std::mem::take(&mut self.waiting) {
            if waiter.barrier == name { released.push(waiter) } else { rest.push(waiter) }
        }
        self.waiting = rest;
        if self.looks_for_races() {
            let known = Arc::new(barrier.known);
            let lanes = |warp: usize| released.iter().fold(0, |all, waiter| all | waiter.entry.masks[warp]);
            // Threads that do not wait learn nothing. Those that have ended count as there, unless threads are counted.
            let whole = own.clone().all(|warp| lanes(warp) == self.live[warp]);
            let all = barrier.threads.is_none() || own.into_iter().all(|warp| lanes(warp) == self.started(warp));
            match whole && all {
                true => self.blocks_met(name.0..name.0 + 1),
                false => released.iter().for_each(|waiter| self.departure(&waiter.entry.masks, &known)),
            }
        }
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
        let at_barriers =
            self.waiting.iter().map(|Waiter { barrier, entry }| (format!("at barrier {}", barrier.1), entry));
        let at_cluster = self.at_cluster.iter().map(|entry| ("at the barrier of the cluster".to_owned(), entry));
        let awaited = |entry: &Entry| match &self.code.ops[entry.at] {
            Op::Effect { action: Action::Tensor(_), .. } => "for columns of tensor memory",
            Op::Effect { action: Action::ConvergeGroup, .. } => "for warps of their warpgroup",
            _ => "for lanes of their warp",
        };
        let held = self.held.iter().map(|entry| (awaited(entry).to_owned(), entry));
        let all: Vec<(String, &Entry)> = at_barriers.chain(at_cluster).chain(held).collect();
        // If several blocks run in lockstep, report the first block that is deadlocked.
        let block = all.iter().map(|(_, entry)| first_lane(entry).0 / self.per).min().unwrap_or(0);
        let own = block * self.per..(block + 1) * self.per;
        let count = |masks: &[u32]| lanes(&masks[own.clone()]);
        let waiting = || all.iter().filter(|(_, entry)| count(&entry.masks) > 0);
        for (awaits, entry) in waiting().take(4) {
            let place = self.launched.located(entry.at, Error::new(ErrorKind::Deadlock, ""));
            let (line, statement) = (place.line.unwrap_or_default(), place.statement.unwrap_or_default());
            let threads = Count(count(&entry.masks) as usize, "thread");
            places.push(format!("{threads} {awaits}, line {line}: {}", statement.trim_end_matches(';')));
        }
        let live = count(&self.live);
        let message = format!("deadlock: all {live} threads that have not ended wait; {}", places.join("; "));
        let error = Error::new(ErrorKind::Deadlock, message);
        let Some((_, first)) = waiting().next() else { return error };
        let (warp, lane) = first_lane(first);
        self.error(first.at, warp, lane, error)
    }
}

/// The first warp and lane of an entry.
fn first_lane(entry: &Entry) -> (usize, usize) {
    let warp = entry.masks.iter().position(|mask| *mask != 0).unwrap_or(0);
    (warp, entry.masks[warp].trailing_zeros().min(31) as usize)
}
