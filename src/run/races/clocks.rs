//! Times of the threads of blocks in lockstep, and what they know of others.

use std::collections::BTreeMap;
use std::prelude::rust_2024::*;
use std::sync::Arc;

use super::line::{Record, Relation};
use super::{Event, Known, Unit, VOID};

/// The lane, the lane of the earlier access, and the byte in its line of a race.
pub(super) type Found = (usize, usize, u64);

/// What one thread knows beyond its warp.
#[derive(Debug, Default)]
struct Thread {
    known: Option<Arc<Known>>,
    /// What others had released where it read, which a fence acquires.
    seen: Option<Arc<Known>>,
}

/// The time of blocks in lockstep, and what their threads know. An access has the time at which it happens; whatever makes earlier accesses
/// known to others ends that time.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    pub(super) unit: u32,
    pub(super) time: u32,
    /// The numbers of their first block and warp in the launch, and the warps of a block.
    first: (u32, u32),
    pub(super) per: usize,
    /// The block that each warp is in, as they are numbered among those in lockstep.
    block_of: Vec<u8>,
    /// By block: the time up to which all of its threads know each other, and what they know of others.
    blocks: Vec<(u32, Known)>,
    /// The same by warp, for its lanes.
    warps: Vec<(u32, Option<Arc<Known>>)>,
    /// What single threads know, and when each of them released by a fence, if it did.
    threads: BTreeMap<usize, Thread>,
    fences: Vec<u32>,
    /// Masks of an access before, which most have again.
    masks: Arc<[u32]>,
    /// The last event of the weak and of the strong accesses of each operation, and its time.
    pub(super) last: Vec<(u32, u32)>,
}

impl Clocks {
    /// Blocks in lockstep begin.
    pub(super) fn begin(&mut self, unit: u32, first: (u32, u32), (count, per): (usize, usize), operations: usize) {
        (self.unit, self.time, self.first) = (unit, 1, first);
        if self.per != per || self.block_of.len() < count * per {
            self.per = per;
            self.block_of.clear();
            self.block_of.extend((0..count * per).map(|warp| (warp / per) as u8));
        }
        self.blocks.clear();
        self.blocks.resize(count, (0, Known::default()));
        self.warps.clear();
        self.warps.resize(count * per, (0, None));
        self.threads.clear();
        self.fences.clear();
        self.last.clear();
        self.last.resize(2 * operations, (0, 0));
    }

    /// The time at which accesses happen now.
    pub(crate) fn time(&self) -> u32 {
        self.time
    }

    /// The same masks, to be kept.
    pub(crate) fn masks(&mut self, masks: &[u32]) -> Arc<[u32]> {
        if *self.masks != *masks {
            self.masks = masks.into();
        }
        self.masks.clone()
    }

    /// Later accesses have a later time. At its end nothing is known of later ones any more.
    pub(crate) fn advance(&mut self) {
        self.time = self.time.saturating_add(1);
    }

    /// Relates an access of a warp to an earlier one of the same bytes, from the first to the last one; an error where they race. `private` says
    /// that only threads of the block access the memory, `same` that what a lane writes is what is there, or what another lane writes.
    pub(super) fn relate(
        &self,
        (record, own): (Record, &Event),
        (earlier, theirs): (Record, &Event),
        (first, last): (u64, u64),
        (units, private): (&[Unit], bool),
        same: impl Fn(usize, (usize, usize)) -> bool,
    ) -> Result<Relation, Found> {
        let ordered = Relation::Ordered { replaces: own.strong <= theirs.strong };
        if theirs.time == VOID {
            return Ok(ordered);
        }
        let warp = record.warp();
        let near = theirs.unit == self.unit;
        if near {
            let block = self.block_of[warp];
            let knows = theirs.time <= self.blocks[usize::from(block)].0 && self.block_of[earlier.warp()] == block;
            let is_own = earlier.warp() == warp;
            if knows && private {
                return Ok(Relation::Past);
            }
            if knows || is_own && (theirs.time <= self.warps[warp].0 || earlier.is_of_same_lane(record, first)) {
                return Ok(ordered);
            }
        }
        if !(record.writes() || earlier.writes()) || own.strong && theirs.strong {
            return Ok(Relation::Apart);
        }
        let unit = &units[theirs.unit as usize];
        let whose = (unit.block + (earlier.warp() / unit.per) as u32, unit.warp + earlier.warp() as u32);
        let mut apart = false;
        for byte in first..=last {
            let lanes = earlier.lanes_at(byte);
            let mut accessing = record.lanes_at(byte);
            while accessing != 0 {
                let lane = accessing.trailing_zeros() as usize;
                accessing &= accessing - 1;
                let others = if near && earlier.warp() == warp { lanes & !(1 << lane) } else { lanes };
                let unknown = self.unknown(warp, lane, whose, others, theirs.time);
                if unknown == 0 {
                    continue;
                }
                let other = unknown.trailing_zeros() as usize;
                if !(record.writes() && earlier.writes() && same(lane, (earlier.warp(), other))) {
                    return Err((lane, other, byte));
                }
                apart = true;
            }
        }
        Ok(if apart { Relation::Apart } else { ordered })
    }

    /// Those of the lanes of a warp whose accesses at a time a thread does not know.
    fn unknown(&self, warp: usize, lane: usize, whose: (u32, u32), lanes: u32, time: u32) -> u32 {
        let (_, of_block) = &self.blocks[warp / self.per];
        let of_warp = self.warps[warp].1.as_deref();
        let of_thread = self.threads.get(&(32 * warp + lane)).and_then(|thread| thread.known.as_deref());
        let known = [Some(of_block), of_warp, of_thread].into_iter().flatten();
        known.fold(lanes, |lanes, known| if lanes == 0 { 0 } else { known.unknown(whose, lanes, time) })
    }

    /// What some lanes of a warp know together, with what they did themselves up to a time.
    pub(crate) fn knowledge(&self, warp: usize, lanes: u32, time: u32) -> Known {
        let block = warp / self.per;
        let (until, mut known) = self.blocks[block].clone();
        known.add_block(self.first.0 + block as u32, until);
        known.add_lanes(self.first.1 + warp as u32, u32::MAX, self.warps[warp].0);
        known.add_lanes(self.first.1 + warp as u32, lanes, time);
        if let Some(of_warp) = &self.warps[warp].1 {
            known.join(of_warp);
        }
        for (thread, own) in self.threads.range(32 * warp..32 * (warp + 1)) {
            if let Some(own) = own.known.as_deref().filter(|_| lanes >> (thread % 32) & 1 != 0) {
                known.join(own);
            }
        }
        known
    }

    /// What the lanes of several warps know, with what they have done until now. Where they are `all` lanes of a block, its threads count as one.
    pub(crate) fn knowledge_of(&self, masks: &[u32], all: &[u32]) -> Known {
        let mut known = Known::default();
        for (block, (masks, all)) in masks.chunks(self.per).zip(all.chunks(self.per)).enumerate() {
            if masks == all && masks.iter().any(|mask| *mask != 0) {
                known.add_block(self.first.0 + block as u32, self.time);
            }
        }
        for (warp, lanes) in masks.iter().enumerate().filter(|(_, lanes)| **lanes != 0) {
            known.join(&self.knowledge(warp, *lanes, self.time));
        }
        known
    }

    /// All threads of a block have met.
    pub(crate) fn meet_block(&mut self, block: usize) {
        let warps = block * self.per..(block + 1) * self.per;
        let (until, known) = &mut self.blocks[block];
        *until = self.time;
        for (_, of_warp) in &mut self.warps[warps.clone()] {
            if let Some(of_warp) = of_warp.take() {
                known.join(&of_warp);
            }
        }
        for (_, thread) in self.threads.range_mut(32 * warps.start..32 * warps.end) {
            if let Some(own) = thread.known.take() {
                known.join(&own);
            }
        }
    }

    /// Lanes of a warp have met; `live` are all that it has.
    pub(crate) fn meet_lanes(&mut self, warp: usize, lanes: u32, live: u32) {
        if lanes.count_ones() < 2 {
            return;
        }
        if lanes != live {
            let known = Arc::new(self.knowledge(warp, lanes, self.time));
            return self.learn(warp, lanes, live, &known);
        }
        let (until, of_warp) = &mut self.warps[warp];
        *until = self.time;
        for (_, thread) in self.threads.range_mut(32 * warp..32 * (warp + 1)) {
            if let Some(own) = thread.known.take() {
                learn(of_warp, &own);
            }
        }
    }

    /// Lanes of a warp learn what others know.
    pub(crate) fn learn(&mut self, warp: usize, lanes: u32, live: u32, known: &Arc<Known>) {
        if lanes == live {
            return learn(&mut self.warps[warp].1, known);
        }
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            learn(&mut self.threads.entry(32 * warp + lane).or_default().known, known);
        }
    }

    /// Lanes execute a fence: what they do later by strong writes releases what they did before, and what they have read acquires.
    pub(crate) fn fence(&mut self, warp: usize, lanes: u32, acquires: bool, releases: bool) {
        for thread in (0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane| 32 * warp + lane) {
            if releases {
                self.fences.resize(32 * self.warps.len(), 0);
                self.fences[thread] = self.time;
            }
            if let Some(thread) = self.threads.get_mut(&thread).filter(|_| acquires)
                && let Some(seen) = thread.seen.take()
            {
                learn(&mut thread.known, &seen);
            }
        }
    }

    /// Returns true if some thread has executed a fence that releases.
    pub(crate) fn has_fenced(&self) -> bool {
        !self.fences.is_empty()
    }

    /// The time at which a thread executed its last fence that releases; 0 if it executed none.
    pub(crate) fn fenced(&self, warp: usize, lane: usize) -> u32 {
        self.fences.get(32 * warp + lane).copied().unwrap_or(0)
    }

    /// A thread has read what others released.
    pub(crate) fn see(&mut self, warp: usize, lane: usize, known: &Arc<Known>) {
        learn(&mut self.threads.entry(32 * warp + lane).or_default().seen, known);
    }
}

/// Adds what is known.
fn learn(own: &mut Option<Arc<Known>>, known: &Arc<Known>) {
    match own {
        _ if known.is_empty() => {}
        None => *own = Some(known.clone()),
        Some(own) if Arc::ptr_eq(own, known) => {}
        Some(own) => Arc::make_mut(own).join(known),
    }
}
