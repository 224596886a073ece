//! What orders accesses of the threads of a block, where a launch looks for [races](super::super::races).

use std::ops::Range;
use std::prelude::rust_2024::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_isa::table::MemoryOrder;

use super::super::decode::Where;
#[cfg(feature = "jit")]
use super::super::races::{Ahead, Rounds};
use super::super::races::{Clocks, Known, Races};
use super::{Block, Entry};

/// The accesses of a launch, which one thread of the host runs.
fn lock(races: &Mutex<Races>) -> MutexGuard<'_, Races> {
    races.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Block<'_> {
    /// Threads start in blocks that have not begun.
    pub(super) fn begin_races(&mut self) {
        let Some(races) = &self.launched.races else { return };
        let shared = self.bounds_of(Where::Block);
        let mut clocks = self.clocks.take().unwrap_or_default();
        lock(races).begin(&mut clocks, (self.group, self.per), self.code.ops.len(), shared);
        self.clocks = Some(clocks);
    }

    /// Does something with the clocks of the block and the accesses of the launch, if it looks for races.
    pub(crate) fn with_races<T>(&mut self, act: impl FnOnce(&mut Self, &mut Clocks, &mut Races) -> T) -> Option<T> {
        let (races, mut clocks) = (self.launched.races.as_ref()?, self.clocks.take()?);
        let done = act(self, &mut clocks, &mut lock(races));
        self.clocks = Some(clocks);
        Some(done)
    }

    /// Does something that orders accesses, which ends the time in which they happen.
    fn order(&mut self, act: impl FnOnce(&mut Self, &mut Clocks, &mut Races)) {
        self.with_races(|block, clocks, races| {
            act(block, clocks, races);
            clocks.advance();
        });
    }

    /// All threads of some blocks have met at a barrier.
    pub(super) fn blocks_met(&mut self, blocks: Range<usize>) {
        self.order(|block, clocks, races| {
            // No other block accesses their shared memory.
            if blocks.len() == block.group.count && block.peers.len() <= 1 {
                races.settle(block.shared.address() as u64);
            }
            blocks.for_each(|block| clocks.meet_block(block));
        });
    }

    /// Lanes of a warp have met.
    pub(super) fn lanes_met(&mut self, warp: usize, lanes: u32) {
        self.order(|block, clocks, _| clocks.meet_lanes(warp, lanes, block.live[warp]));
    }

    /// What lanes make known when they arrive at a barrier. Threads that have ended count as there, unless threads are counted.
    pub(super) fn arrival(&mut self, masks: &[u32], counted: bool) -> Known {
        let started: Vec<u32> = (0..masks.len()).map(|warp| self.started(warp)).collect();
        let mut known = Known::default();
        self.order(|block, clocks, _| {
            known = clocks.knowledge_of(masks, if counted { &started } else { &block.live });
        });
        known
    }

    /// Lanes leave a barrier, and know what others have made known there.
    pub(super) fn departure(&mut self, masks: &[u32], known: &Arc<Known>) {
        self.order(|block, clocks, _| {
            for (warp, lanes) in masks.iter().enumerate().filter(|(_, lanes)| **lanes != 0) {
                clocks.learn(warp, *lanes, block.live[warp], known);
            }
        });
    }

    /// Lanes arrive at the barrier of the cluster.
    pub(super) fn arrival_in_cluster(&mut self, masks: &[u32]) {
        self.order(|block, clocks, races| {
            races.cluster(block.group.number).join(&clocks.knowledge_of(masks, &block.live));
        });
    }

    /// Lanes leave the barrier of the cluster.
    pub(super) fn departure_from_cluster(&mut self, masks: &[u32]) {
        let Some(races) = &self.launched.races else { return };
        let known = Arc::new(lock(races).cluster(self.group.number).clone());
        self.departure(masks, &known);
    }

    /// Looks for races of accesses of code that is about to run; false if there may be some, which operations one by one tell.
    #[cfg(feature = "jit")]
    pub(super) fn accesses_ahead(&mut self, accesses: &mut Vec<Ahead>) -> bool {
        let enter =
            |_: &mut Self, clocks: &mut Clocks, races: &mut Races| races.access_ahead(clocks, accesses.drain(..));
        self.with_races(enter).unwrap_or(true)
    }

    /// The same for code that runs `count` groups of blocks behind this one.
    #[cfg(feature = "jit")]
    pub(super) fn groups_ahead(&mut self, accesses: &mut Vec<Ahead>, count: u64) -> bool {
        accesses.iter_mut().for_each(|access| access.elements.rounds = Rounds::OfGroups);
        let enter = |block: &mut Self, clocks: &mut Clocks, races: &mut Races| {
            let groups = (1..=count).map(|behind| block.launched.groups.get(block.group.number + behind));
            races.with_units(clocks, groups, block.per, |races, clocks| races.access_ahead(clocks, accesses.drain(..)))
        };
        self.with_races(enter).unwrap_or(true)
    }

    /// Lanes execute a fence.
    pub(crate) fn fenced(&mut self, entry: &Entry, guard: Option<(u32, bool)>, acquires: bool, releases: bool) {
        self.order(|block, clocks, _| {
            for (warp, mask) in entry.masks.iter().enumerate() {
                clocks.fence(warp, block.guarded(warp, *mask, guard), acquires, releases);
            }
        });
    }

    /// Returns true if the launch looks for races.
    #[inline]
    pub(crate) fn looks_for_races(&self) -> bool {
        self.launched.races.is_some()
    }

    /// Memory is given to other threads than before.
    pub(crate) fn is_new(&self, start: u64, bytes: u64) {
        if let Some(races) = &self.launched.races {
            lock(races).forget(start, start + bytes);
        }
    }

    /// What a lane has done becomes known to those that see an object.
    pub(crate) fn released_at(&mut self, warp: usize, lane: usize, address: u64) {
        self.order(|_, clocks, races| races.release(address, &clocks.knowledge(warp, 1 << lane, clocks.time())));
    }

    /// Lanes have made a strong access, each to the address of an object: those that wrote release, and those that read see what others released.
    /// Lanes at one address see what all of them released.
    pub(crate) fn synchronized(
        &mut self,
        (warp, mask): (usize, u32),
        addresses: &[u64; 32],
        order: Option<&MemoryOrder>,
        (reads, writes): (bool, bool),
    ) {
        let (acquires, releases) = order.map_or((false, false), |order| (order.acquires, order.releases));
        self.with_races(|block, clocks, races| {
            if !releases && !clocks.has_fenced() && !races.has_released() {
                return;
            }
            let mut rest = mask;
            while rest != 0 {
                let address = addresses[rest.trailing_zeros() as usize];
                let lanes = Self::lanes_where(rest, |lane| addresses[lane] == address);
                rest &= !lanes;
                let fences = || Self::lanes_of(lanes).map(|lane| clocks.fenced(warp, lane));
                let until = if releases { clocks.time() } else { fences().max().unwrap_or(0) };
                if writes && until > 0 {
                    let released = Self::lanes_where(lanes, |lane| releases || clocks.fenced(warp, lane) > 0);
                    races.release(address, &clocks.knowledge(warp, released, until));
                }
                if reads && let Some(known) = races.released(address) {
                    match acquires {
                        true => clocks.learn(warp, lanes, block.live[warp], known),
                        false => Self::lanes_of(lanes).for_each(|lane| clocks.see(warp, lane, known)),
                    }
                }
            }
            if releases && writes {
                clocks.advance();
            }
        });
    }
}
