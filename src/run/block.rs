//! A block that runs: which lanes are where, what they wait for, and the pick of what runs next.
//!
//! Lanes that are at one place are an [`Entry`]: the depth of their calls, the operation, and a mask for each warp. The entry that
//! is deepest and least far runs, so that lanes meet again; every 64th pick takes the one that has waited longest, so that
//! each of them goes on.

mod group;
pub(crate) use group::WARPS as GROUP;

use std::prelude::rust_2024::*;
use std::{format, vec};

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use ptx_isa::warp::{Row, Warps};

use super::decode::{Action, Cell, Code, Op};
use super::error::{Error, ErrorKind};
use super::launch::Launched;
use super::pending::Pending;
use super::raw::Bytes;
use super::tensor_memory::TensorCells;

/// How often lanes may go back in a loop before the lanes that have waited longest take a turn, and how many operations that
/// turn has.
const ROUNDS: u64 = 512;
const TURN: u32 = 256;

/// How often lanes may look in vain at what others change before the other blocks of the cluster take a turn.
const WAITS: u64 = 64;

/// Lanes at one place.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub depth: u32,
    pub at: usize,
    pub masks: Vec<u32>,
    /// When it was put aside.
    pub picked: u64,
    /// Whether it goes on although lanes are missing.
    pub forced: bool,
}

/// Lanes at a barrier.
#[derive(Debug)]
struct Waiter {
    barrier: u32,
    entry: Entry,
}

/// What is known at a barrier of the block.
#[derive(Debug, Default)]
struct Barrier {
    /// The lanes that have arrived, and those of them whose predicate is true.
    arrived: Vec<u32>,
    yes: Vec<u32>,
    /// How many threads are awaited; none for all of the block.
    threads: Option<u64>,
}

/// A call that a thread is in.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The operation that called.
    pub from: usize,
    pub function: usize,
    pub frame: u64,
    pub stack: u64,
    /// The registers of the function as they were, where it calls itself.
    pub saved: Vec<u64>,
}

/// What becomes of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Status {
    Finished,
    /// It has run long enough: others may be waited for.
    Suspended,
    /// It waits for other blocks at the barrier of the cluster.
    Waiting,
}

/// Where lanes go on behind an effect.
pub(crate) enum Flow {
    Next,
    Jump(usize),
    /// Nowhere, or in entries that are put aside.
    Aside,
}

pub(crate) struct Block<'l> {
    pub launched: &'l Launched<'l>,
    pub code: &'l Code,
    pub index: [u32; 3],
    /// Its rank in its cluster, and where the shared memory of each block of the cluster is, with its length.
    pub rank: usize,
    pub peers: Arc<[(usize, usize)]>,
    pub warps: Warps,
    /// Lanes that have not ended.
    pub live: Vec<u32>,
    ready: Vec<Entry>,
    /// Lanes that wait for others of their warp.
    held: Vec<Entry>,
    waiting: Vec<Waiter>,
    barriers: HashMap<u32, Barrier>,
    /// Lanes that have arrived at the barrier of the cluster in its current phase, and those that wait there.
    arrived: Vec<u32>,
    at_cluster: Vec<Entry>,
    pub shared: Bytes,
    /// Asynchronous operations of the cluster that are kept; none if they are performed at once.
    pub pending: Option<Arc<Mutex<Pending>>>,
    /// How many bytes the last asynchronous operation of each thread moves.
    pub moved: Vec<u64>,
    /// How often lanes looked at something in this turn that was not as they wait for.
    pub waits: u64,
    /// Tensor memory, once it is allocated.
    pub cells: Option<Box<TensorCells>>,
    /// The stacks of all threads.
    pub local: Bytes,
    pub stack: u64,
    /// Of each thread where its function's frame begins, where its stack ends, and its calls.
    pub frames: Vec<u64>,
    pub tops: Vec<u64>,
    pub calls: Vec<Vec<Frame>>,
    picks: u64,
    /// How often lanes went back in a loop while others were ready, and whether the oldest of these is due.
    rounds: u64,
    starved: bool,
    pub executed: u64,
    /// The allocation that was accessed last.
    pub around: (usize, usize),
    ranges: Vec<Range<usize>>,
    lanes: u64,
}

impl<'l> Block<'l> {
    pub(crate) fn new(launched: &'l Launched<'l>, index: [u32; 3], warps: Option<Warps>) -> Result<Block<'l>, Error> {
        let code = launched.code;
        let threads = launched.threads();
        let count = threads.div_ceil(32);
        let mask = |warp: usize| u32::MAX >> (32 - (threads - 32 * warp).min(32));
        let live: Vec<u32> = (0..count).map(mask).collect();
        let frame = code.routines[&launched.kernel].frame;
        let stack = if code.grows { launched.options.stack.max(frame) } else { launched.frames };
        let again = warps.is_some();
        let bytes = |len: Option<u64>| {
            let message = "the host has no memory for the shared and local memory of a block";
            let bytes = len.and_then(|len| Bytes::try_zeroed(usize::try_from(len).ok()?));
            bytes.ok_or_else(|| Error::new(ErrorKind::Memory, message))
        };
        let shared = bytes(code.static_shared.checked_add(launched.dynamic_shared))?;
        let local = bytes(stack.checked_mul(threads as u64))?;
        let mut block = Block {
            launched,
            code,
            index,
            rank: 0,
            peers: Arc::new([]),
            warps: warps.unwrap_or_else(|| code.program.warps(count)),
            ready: vec![Entry { depth: 0, at: code.entry, masks: live.clone(), picked: 0, forced: false }],
            live,
            held: Vec::new(),
            waiting: Vec::new(),
            barriers: HashMap::new(),
            arrived: vec![0; count],
            at_cluster: Vec::new(),
            shared,
            pending: None,
            moved: Vec::new(),
            waits: 0,
            cells: None,
            local,
            stack,
            frames: vec![0; threads],
            tops: vec![frame; threads],
            calls: vec![Vec::new(); threads],
            picks: 0,
            rounds: 0,
            starved: false,
            executed: 0,
            around: launched.everywhere(),
            ranges: Vec::new(),
            lanes: 0,
        };
        block.specials(again);
        Ok(block)
    }

    /// Runs until all threads have ended, or so many steps were done, however many lanes took part.
    pub(crate) fn run(&mut self, budget: u64) -> Result<Status, Error> {
        let mut steps = 0;
        self.waits = 0;
        while let Some(mut entry) = self.pick()? {
            self.activate(&entry);
            let program = &self.code.program;
            // Who goes on because it has waited long is not put aside at once for those before it.
            let mut turn = if std::mem::take(&mut self.starved) { TURN } else { 0 };
            loop {
                let code = self.code;
                match &code.ops[entry.at] {
                    Op::Run { from, to } => {
                        for range in &self.ranges {
                            program.run_range(*from as usize..*to as usize, range.clone(), &mut self.warps);
                        }
                        self.executed += self.lanes * u64::from(to - from);
                        steps += u64::from(to - from);
                        entry.at += 1;
                    }
                    Op::Effect { guard, action, .. } => {
                        self.executed += self.lanes;
                        steps += 1;
                        match self.effect(&mut entry, *guard, action)? {
                            Flow::Next => entry.at += 1,
                            Flow::Jump(to) => {
                                let back = to <= entry.at;
                                entry.at = to;
                                if steps >= budget || self.waits >= WAITS && self.peers.len() > 1 {
                                    self.aside(entry);
                                    return Ok(Status::Suspended);
                                }
                                // A loop may wait for lanes that are behind it.
                                self.rounds += u64::from(back && !self.ready.is_empty());
                                if self.rounds >= ROUNDS {
                                    (self.rounds, self.starved) = (0, true);
                                    self.aside(entry);
                                    break;
                                }
                            }
                            Flow::Aside => break,
                        }
                    }
                }
                if turn > 0 {
                    turn -= 1;
                    continue;
                }
                let before =
                    |other: &Entry| other.depth > entry.depth || other.depth == entry.depth && other.at <= entry.at;
                if !self.ready.is_empty() && self.ready.iter().any(before) {
                    self.aside(entry);
                    break;
                }
            }
            if steps >= budget && !self.ready.is_empty() {
                return Ok(Status::Suspended);
            }
        }
        Ok(if self.at_cluster.is_empty() { Status::Finished } else { Status::Waiting })
    }

    /// Puts lanes aside until they are picked.
    pub(crate) fn aside(&mut self, mut entry: Entry) {
        if entry.masks.iter().any(|mask| *mask != 0) {
            entry.picked = self.picks;
            self.ready.push(entry);
        }
    }

    /// The entry that runs next; none when all threads have ended.
    fn pick(&mut self) -> Result<Option<Entry>, Error> {
        self.picks += 1;
        if self.ready.is_empty() {
            // Nothing else runs: who still waits for lanes of its warp waits in vain.
            let Some(place) =
                (0..self.held.len()).min_by_key(|place| (u32::MAX - self.held[*place].depth, self.held[*place].at))
            else {
                let stuck = !self.waiting.is_empty() && self.at_cluster.is_empty();
                return if stuck { Err(self.deadlock()) } else { Ok(None) };
            };
            let entry = self.held.swap_remove(place);
            return Ok(Some(Entry { forced: true, ..entry }));
        }
        self.starved |= self.picks.is_multiple_of(64);
        let oldest = self.starved;
        let key = |entry: &Entry| match oldest {
            true => (entry.picked, 0),
            false => (u64::from(u32::MAX - entry.depth), entry.at),
        };
        let place = (0..self.ready.len()).min_by_key(|place| key(&self.ready[*place])).expect("there is one");
        let mut entry = self.ready.swap_remove(place);
        self.ready.retain(|other| {
            let same = (other.depth, other.at) == (entry.depth, entry.at);
            if same {
                entry.masks.iter_mut().zip(&other.masks).for_each(|(mask, more)| *mask |= more);
                entry.forced &= other.forced;
            }
            !same
        });
        Ok(Some(entry))
    }

    /// Lets the lanes of an entry be the ones that execute.
    fn activate(&mut self, entry: &Entry) {
        self.ranges.clear();
        self.lanes = 0;
        for (warp, mask) in entry.masks.iter().enumerate() {
            *self.warps.active_mut(warp) = *mask;
            self.lanes += u64::from(mask.count_ones());
            match self.ranges.last_mut() {
                _ if *mask == 0 => {}
                Some(last) if last.end == warp => last.end += 1,
                _ => self.ranges.push(warp..warp + 1),
            }
        }
    }

    /// The lanes of a warp that a guard lets execute.
    #[inline]
    pub(crate) fn guarded(&self, warp: usize, mask: u32, guard: Option<(u32, bool)>) -> u32 {
        match guard {
            None => mask,
            Some((register, false)) => mask & self.warps.pred(warp, register),
            Some((register, true)) => mask & !self.warps.pred(warp, register),
        }
    }

    /// What a lane has in a cell.
    #[inline]
    pub(crate) fn get(&self, warp: usize, lane: usize, cell: Cell) -> u64 {
        match cell {
            Cell::Row(Row { bits, number }) => match bits {
                1 => u64::from(self.warps.pred(warp, number) >> lane & 1),
                16 => self.warps.b16(warp, number)[lane].into(),
                32 => self.warps.b32(warp, number)[lane].into(),
                _ => self.warps.b64(warp, number)[lane],
            },
            Cell::Not(number) => u64::from(!self.warps.pred(warp, number) >> lane & 1),
            Cell::Constant(value) => value,
            Cell::Sink => 0,
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, warp: usize, lane: usize, cell: Cell, value: u64) {
        let Cell::Row(Row { bits, number }) = cell else { return };
        match bits {
            1 => {
                let word = self.warps.pred_mut(warp, number);
                *word = *word & !(1 << lane) | ((value & 1) as u32) << lane;
            }
            16 => self.warps.b16_mut(warp, number)[lane] = value as u16,
            32 => self.warps.b32_mut(warp, number)[lane] = value as u32,
            _ => self.warps.b64_mut(warp, number)[lane] = value,
        }
    }

    /// What a lane has in a cell of up to 128 bits.
    pub(crate) fn get_wide(&self, warp: usize, lane: usize, cell: Cell) -> u128 {
        let half = |number| u128::from(self.warps.b64(warp, number)[lane]);
        match cell {
            Cell::Row(Row { bits: 128, number }) => half(number) | half(number + 1) << 64,
            cell => self.get(warp, lane, cell).into(),
        }
    }

    pub(crate) fn set_wide(&mut self, warp: usize, lane: usize, cell: Cell, value: u128) {
        match cell {
            Cell::Row(Row { bits: 128, number }) => {
                self.warps.b64_mut(warp, number)[lane] = value as u64;
                self.warps.b64_mut(warp, number + 1)[lane] = (value >> 64) as u64;
            }
            cell => self.set(warp, lane, cell, value as u64),
        }
    }

    pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
        let mut rest = mask;
        std::iter::from_fn(move || {
            let lane = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(lane)
        })
    }

    /// A branch: the lanes that take it and those that do not part.
    pub(crate) fn branch(&mut self, entry: &Entry, guard: Option<(u32, bool)>, to: usize) -> Flow {
        let (mut taken, mut rest) = (entry.clone(), entry.clone());
        let (mut any_taken, mut any_rest) = (false, false);
        for (warp, mask) in entry.masks.iter().enumerate() {
            let own = self.guarded(warp, *mask, guard);
            (taken.masks[warp], rest.masks[warp]) = (own, mask & !own);
            any_taken |= own != 0;
            any_rest |= mask & !own != 0;
        }
        match (any_taken, any_rest) {
            (false, _) => Flow::Next,
            (true, false) => Flow::Jump(to),
            (true, true) => {
                self.aside(Entry { at: to, ..taken });
                self.aside(Entry { at: entry.at + 1, ..rest });
                Flow::Aside
            }
        }
    }

    /// Lanes go where each of them says; the others go on.
    pub(crate) fn scatter(
        &mut self,
        entry: &Entry,
        guard: Option<(u32, bool)>,
        to: impl Fn(&Self, usize, usize) -> usize,
    ) {
        let mut parts: Vec<Entry> = Vec::new();
        for (warp, mask) in entry.masks.iter().enumerate() {
            let own = self.guarded(warp, *mask, guard);
            for lane in Self::lanes_of(*mask) {
                let at = if own >> lane & 1 != 0 { to(self, warp, lane) } else { entry.at + 1 };
                let place = parts.iter().position(|part| part.at == at).unwrap_or_else(|| {
                    parts.push(Entry { at, masks: vec![0; entry.masks.len()], ..entry.clone() });
                    parts.len() - 1
                });
                parts[place].masks[warp] |= 1 << lane;
            }
        }
        parts.into_iter().for_each(|part| self.aside(part));
    }

    /// Lanes end.
    pub(crate) fn end(&mut self, entry: &mut Entry, guard: Option<(u32, bool)>) -> Flow {
        for warp in 0..entry.masks.len() {
            let own = self.guarded(warp, entry.masks[warp], guard);
            entry.masks[warp] &= !own;
            self.live[warp] &= !own;
        }
        // Whoever waits looks again: fewer are awaited.
        let held = std::mem::take(&mut self.held);
        held.into_iter().for_each(|held| self.aside(held));
        let waited: Vec<u32> = self.barriers.keys().copied().collect();
        waited.into_iter().for_each(|barrier| self.release(barrier));
        self.go_on(entry)
    }

    /// The lanes that are left go on, if there are any.
    fn go_on(&mut self, entry: &mut Entry) -> Flow {
        entry.at += 1;
        let rest = entry.clone();
        self.aside(rest);
        Flow::Aside
    }

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
        let mut names: Vec<(u32, Entry)> = Vec::new();
        for warp in 0..entry.masks.len() {
            let own = self.guarded(warp, entry.masks[warp], guard);
            for lane in Self::lanes_of(own) {
                let name = self.get(warp, lane, barrier) as u32;
                let place = names.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
                    names.push((name, Entry { masks: vec![0; entry.masks.len()], ..entry.clone() }));
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
        let called: Vec<u32> = names.iter().map(|(name, _)| *name).collect();
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

    /// Whether all lanes that have not ended have arrived at the barrier of the cluster.
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
    fn release(&mut self, name: u32) {
        let Some(barrier) = self.barriers.get(&name) else { return };
        let complete = match barrier.threads {
            None => barrier.arrived.iter().zip(&self.live).all(|(arrived, live)| live & !arrived == 0),
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

    /// Lanes wait for those that a mask names, of which only live ones count.
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
            let named = Self::lanes_of(own).fold(0, |all, lane| all | block.get(warp, lane, mask) as u32);
            named & block.live[warp] & !own == 0
        };
        if (0..entry.masks.len()).all(|warp| complete(self, entry, warp)) {
            return Flow::Next;
        }
        // Those that wait at this place join; at a barrier of the warp the place does not matter.
        let (depth, at) = (entry.depth, entry.at);
        let mut joined = Vec::new();
        let mut rest = Vec::new();
        for held in std::mem::take(&mut self.held) {
            if (held.depth, held.at) == (depth, at) {
                entry.masks.iter_mut().zip(&held.masks).for_each(|(mask, more)| *mask |= more);
            } else if !together
                && matches!(self.code.ops[held.at], Op::Effect { action: Action::Converge { together: false, .. }, .. })
            {
                joined.push(held);
            } else {
                rest.push(held);
            }
        }
        self.held = rest;
        let mut waits = Entry { masks: vec![0; entry.masks.len()], ..entry.clone() };
        let mut released = vec![0; entry.masks.len()];
        for warp in 0..entry.masks.len() {
            let own = self.guarded(warp, entry.masks[warp], guard);
            let elsewhere = joined.iter().fold(0, |all, held| all | held.masks[warp]);
            let named = Self::lanes_of(own).fold(0, |all, lane| all | self.get(warp, lane, mask) as u32);
            if named & self.live[warp] & !(own | elsewhere) != 0 {
                waits.masks[warp] = own;
                entry.masks[warp] &= !own;
            } else if own != 0 {
                released[warp] = named;
            }
        }
        for mut held in joined {
            let mut free = Entry { at: held.at + 1, masks: vec![0; held.masks.len()], ..held.clone() };
            for warp in 0..held.masks.len() {
                free.masks[warp] = held.masks[warp] & released[warp];
                held.masks[warp] &= !released[warp];
            }
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

    /// The error of a block in which nothing can go on.
    pub(crate) fn deadlock(&self) -> Error {
        let mut places = Vec::new();
        let at_barriers = self.waiting.iter().map(|Waiter { barrier, entry }| (format!("barrier {barrier}"), entry));
        let at_cluster = self.at_cluster.iter().map(|entry| ("the barrier of the cluster".to_owned(), entry));
        for (barrier, entry) in at_barriers.chain(at_cluster).take(4) {
            let lanes: u32 = entry.masks.iter().map(|mask| mask.count_ones()).sum();
            let (statement, line) = self.launched.statement(entry.at);
            places.push(format!("{lanes} threads at {barrier}, line {line}: {statement}"));
        }
        let live: u32 = self.live.iter().map(|mask| mask.count_ones()).sum();
        let message = format!("deadlock: of {live} threads none can go on; {}", places.join("; "));
        let first = self.waiting.first().map_or_else(|| &self.at_cluster[0], |waiter| &waiter.entry);
        let warp = first.masks.iter().position(|mask| *mask != 0).unwrap_or(0);
        let lane = first.masks[warp].trailing_zeros() as usize;
        self.error(first.at, warp, lane.min(31), Error::new(ErrorKind::Deadlock, message))
    }

    /// An error at an operation of a lane.
    pub(crate) fn error(&self, at: usize, warp: usize, lane: usize, error: Error) -> Error {
        let error = self.launched.located(at, error);
        let thread = (32 * warp + lane) as u32;
        let [x, y, _] = self.launched.block;
        let thread = [thread % x, thread / x % y, thread / x / y];
        Error { block: Some(self.index), thread: Some(thread), ..error }
    }
}
