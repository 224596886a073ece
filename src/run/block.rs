//! A running block: the positions of its lanes, the conditions that they wait for, and the scheduling of the next
//! entry.
//!
//! An [`Entry`] groups the lanes that are at the same place: it has their call depth, the operation, and a mask for
//! each warp. The scheduler picks the entry with the deepest call and, among these, the earliest operation, so that
//! lanes reconverge; every 64th pick takes the entry that has waited longest, so that every lane makes progress.

mod affine;
mod branch;
mod converge;
mod group;
#[cfg(feature = "jit")]
mod native;
mod races;
mod state;
mod wait;
pub(crate) use group::WARPS as GROUP;
#[cfg(feature = "jit")]
pub(crate) use native::{Slot, slots};
pub(crate) use state::State;

use std::prelude::rust_2024::*;

use std::sync::atomic::Ordering;

use ptx_isa::warp::Row;

use super::decode::{Action, Cell, Code, Meeting, Op, RANK};
use super::error::Error;
use super::groups::Group;
use super::launch::Launched;
use super::shape;
use super::tensor_memory::{self, SharedCells};

/// How often lanes may go back in a loop before the lanes that have waited longest take a turn, and how many operations that
/// turn has.
const ROUNDS: u64 = 512;
const TURN: u32 = 256;

/// Number of backward jumps in loops with ordered or atomic accesses before one of several blocks in lockstep has a turn alone: more than most
/// loops need that make progress, as registers that were affine differ from block to block behind it.
const TOGETHER: u64 = 16 * ROUNDS;

/// How often lanes may look in vain at what others change before the other blocks of the cluster take a turn.
const WAITS: u64 = 64;

/// How often lanes may go back in a loop that looks at memory in vain, before lanes that they may wait for take a turn; and before
/// other blocks do, which is later, as all blocks that have begun are in memory.
const LOOKS: u64 = 16;
const SPINS: u64 = 64 * LOOKS;

/// Lanes at one place.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub depth: u32,
    pub at: usize,
    pub masks: Vec<u32>,
    /// When it was put aside.
    pub picked: u64,
    /// True if the entry proceeds although lanes are missing.
    pub forced: bool,
}

impl Entry {
    /// Returns true if it has no lanes.
    fn is_empty(&self) -> bool {
        self.masks.iter().all(|mask| *mask == 0)
    }
}

/// Number of lanes that masks have.
fn lanes(masks: &[u32]) -> u64 {
    masks.iter().map(|mask| u64::from(mask.count_ones())).sum()
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

/// State of a block after a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Status {
    Finished,
    /// It has not begun, or has used up its budget: it may have to wait for other blocks.
    #[default]
    Suspended,
    /// It waits for other blocks at the barrier of the cluster.
    Waiting,
}

/// Control flow of the lanes after an effect.
pub(crate) enum Flow {
    Next,
    Jump(usize),
    /// Nowhere, or in entries that are put aside.
    Aside,
}

/// Which block of a launch, by its index and its rank in its cluster, or which blocks that run in lockstep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub group: Group,
    pub rank: usize,
}

/// Memory of a block that the other blocks of its cluster access.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Address and length of the shared memory.
    pub shared: (usize, usize),
    pub cells: SharedCells,
}

pub(crate) struct Block<'l> {
    pub launched: &'l Launched<'l>,
    pub code: &'l Code,
    pub state: Box<State>,
}

impl<'l> Block<'l> {
    /// A block of a launch, or several that run in lockstep; it may take over what another one had.
    pub(crate) fn new(launched: &'l Launched<'l>, place: Place, other: Option<Block<'l>>) -> Result<Block<'l>, Error> {
        if let Some(mut block) = other {
            block.start(place, true);
            return Ok(block);
        }
        let mut block = Block { launched, code: launched.code, state: State::of(launched)? };
        // Values that are the same in all blocks are computed for as many blocks as a group may have.
        let most = Place { group: Group { count: launched.groups.most(), ..place.group }, ..place };
        block.start(most, false);
        block.prelude()?;
        if place.group.count < most.group.count {
            block.ready.clear();
            block.start(place, true);
        }
        Ok(block)
    }

    /// Starts the threads of the block, which had others before that have all ended; `again` says that these were of the same launch.
    fn start(&mut self, place: Place, again: bool) {
        (self.group, self.rank, self.status) = (place.group, place.rank, Status::Suspended);
        let (code, threads, per) = (self.code, self.launched.threads(), self.per);
        let count = per * place.group.count;
        self.warps.set_len(count);
        self.live.clear();
        self.live.resize(count, u32::MAX);
        if threads % 32 != 0 {
            let last = self.live.iter_mut().skip(per - 1).step_by(per);
            last.for_each(|mask| *mask = u32::MAX >> (32 - threads % 32));
        }
        self.arrived.clear();
        self.arrived.resize(count, 0);
        if code.calls {
            self.tops.fill(code.frame);
            self.frames.fill(0);
            // Threads that exit in a function leave their calls behind.
            self.calls.iter_mut().for_each(Vec::clear);
        }
        if again {
            self.shared.clear();
            self.local.clear();
            tensor_memory::lock(&self.cells).clear();
        }
        self.barriers.clear();
        (self.picks, self.rounds, self.starved, self.executed) = (0, 0, false, 0);
        (self.together, self.alone) = (0, 0);
        (self.looked, self.changed, self.alike) = (false, false, 0);
        self.moved.clear();
        let mut masks = self.masks();
        masks.copy_from_slice(&self.live);
        self.ready.push(Entry { depth: 0, at: code.entry, masks, picked: 0, forced: false });
        self.start_affine();
        self.specials(again);
        self.begin_races();
    }

    /// Computes what is the same in all blocks.
    fn prelude(&mut self) -> Result<(), Error> {
        let mut masks = self.masks();
        masks.fill(u32::MAX);
        let mut entry = Entry { depth: 0, at: 0, masks, picked: 0, forced: false };
        let code = self.code;
        self.activate(&entry);
        // The next entry is activated whatever its lanes are.
        self.activated.clear();
        self.full = true;
        while entry.at < code.prelude {
            match &code.ops[entry.at] {
                Op::Run { from, to, reads, .. } => {
                    self.fill(reads);
                    self.steps(*from, *to);
                }
                Op::Effect { guard, action, .. } => _ = self.effect(&mut entry, *guard, action)?,
                Op::Once(once) => entry.at += usize::from(self.once(entry.at, once)),
            }
            entry.at += 1;
        }
        self.spare.push(entry.masks);
        Ok(())
    }

    /// Runs instructions in the warps that execute.
    #[inline]
    fn steps(&mut self, from: u32, to: u32) {
        let (program, State { ranges, warps: registers, .. }) = (&self.code.program, &mut *self.state);
        for (warps, whole) in ranges {
            let (steps, warps) = (from as usize..to as usize, warps.clone());
            match whole {
                true => program.run_full(steps, warps, registers),
                false => program.run_range(steps, warps, registers),
            }
        }
    }

    /// The lanes that a warp starts with.
    fn started(&self, warp: usize) -> u32 {
        let behind = self.launched.threads() - 32 * (warp % self.per);
        u32::MAX >> 32_usize.saturating_sub(behind)
    }

    /// The index of the block that a warp is in.
    pub(crate) fn index_of(&self, warp: usize) -> [u32; 3] {
        self.group.block(warp / self.per)
    }

    /// The address of the first byte of the shared memory of the block.
    pub(crate) fn shared_start(&self) -> u64 {
        (self.rank as u64) << RANK
    }

    /// The shared memory of the block that a warp is in.
    #[inline]
    pub(crate) fn shared_of(&self, warp: usize) -> (usize, usize) {
        (self.shared.address() + warp / self.per * self.span, self.shared_len)
    }

    /// One of several blocks has failed: those before it go on, and the others end.
    fn contain(&mut self, entry: &mut Entry, error: Error) -> Result<Flow, Error> {
        let Some(block) = error.block.filter(|_| self.group.count > 1) else { return Err(error) };
        let Group { index, axis, .. } = self.group;
        let per = self.per;
        let first = (block[axis] - index[axis]) as usize * per;
        if first == 0 {
            return Err(error);
        }
        self.failed = Some(error);
        let State { ready, held, waiting, .. } = &mut *self.state;
        let waiting = waiting.iter_mut().map(|waiter| &mut waiter.entry);
        let entries = ready.iter_mut().chain(held).chain(waiting);
        entries.for_each(|entry| entry.masks[first..].fill(0));
        entry.masks[first..].fill(0);
        self.live[first..].fill(0);
        let some = |entry: &Entry| !entry.is_empty();
        self.ready.retain(some);
        self.held.retain(some);
        self.waiting.retain(|waiter| some(&waiter.entry));
        self.barriers.retain(|(block, _), _| block * per < first);
        if !some(entry) {
            return Ok(Flow::Aside);
        }
        self.activate(entry);
        Ok(Flow::Next)
    }

    /// Masks of no lanes.
    pub(crate) fn masks(&mut self) -> Vec<u32> {
        let mut masks = self.spare.pop().unwrap_or_default();
        masks.clear();
        masks.resize(self.live.len(), 0);
        masks
    }

    /// Runs until all threads have ended or `budget` steps are done. A step counts once, however many lanes take part.
    pub(crate) fn run(&mut self, budget: u64) -> Result<Status, Error> {
        let mut steps = 0;
        (self.waits, self.spins, self.released) = (0, 0, false);
        while let Some(mut entry) = self.pick()? {
            self.activate(&entry);
            let code = self.code;
            // An entry that was picked because it starved runs for a whole turn before entries ahead of it are
            // preferred again.
            let mut turn = if std::mem::take(&mut self.starved) { TURN } else { 0 };
            loop {
                #[cfg(feature = "jit")]
                let native = self.native(&mut entry)?;
                #[cfg(not(feature = "jit"))]
                let native: Option<(Flow, u64)> = None;
                match (native, &code.ops[entry.at]) {
                    (Some((flow, operations)), _) => {
                        steps += operations;
                        let Flow::Jump(at) = flow else { break };
                        entry.at = at;
                    }
                    (None, Op::Once(once)) => {
                        steps += 1;
                        if self.once(entry.at, once) {
                            self.executed += self.lanes * u64::from(once.count);
                            entry.at += 1;
                        }
                        entry.at += 1;
                    }
                    (None, Op::Run { from, to, count, reads }) => {
                        self.fill(reads);
                        self.steps(*from, *to);
                        self.executed += self.lanes * u64::from(*count);
                        steps += u64::from(to - from);
                        entry.at += 1;
                    }
                    (None, Op::Effect { guard, action, count, .. }) => {
                        self.executed += self.lanes * u64::from(*count);
                        steps += 1;
                        let flow = match self.effect(&mut entry, *guard, action) {
                            Ok(flow) => flow,
                            Err(error) => self.contain(&mut entry, error)?,
                        };
                        match flow {
                            Flow::Next => entry.at += 1,
                            Flow::Jump(to) => {
                                let back = to <= entry.at;
                                entry.at = to;
                                let alone = back && self.is_due_alone();
                                let spins = back && self.has_spun();
                                let waits = self.waits >= WAITS && self.peers.len() > 1;
                                let stuck = waits || self.spins >= SPINS;
                                if stuck {
                                    self.launched.stuck.store(true, Ordering::Relaxed);
                                }
                                if steps >= budget || stuck || back && !spins && self.yields() {
                                    self.aside(entry);
                                    return self.suspended();
                                }
                                // A loop may wait for lanes that are behind it.
                                if back && !self.ready.is_empty() {
                                    self.rounds += if spins { ROUNDS / LOOKS } else { 1 };
                                }
                                if self.rounds >= ROUNDS {
                                    (self.rounds, self.starved) = (0, true);
                                    self.aside(entry);
                                    break;
                                }
                                if alone {
                                    self.leave_alone(&mut entry);
                                    turn = TURN;
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
                return self.suspended();
            }
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        Ok(if self.at_cluster.is_empty() { Status::Finished } else { Status::Waiting })
    }

    /// Lanes look at memory that others may change, and perhaps change it.
    pub(crate) fn look(&mut self, changed: bool) {
        self.looked = true;
        self.changed |= changed;
        self.released |= changed;
    }

    /// Counts a backward jump in a loop with ordered or atomic accesses, and returns true if one block is due for a turn without the others of
    /// its group. In lockstep blocks may give way to each other forever.
    fn is_due_alone(&mut self) -> bool {
        self.together += u64::from(self.looked && self.group.count > 1 && !self.code.apart);
        self.together >= TOGETHER
    }

    /// Puts the lanes of all blocks but one aside: of the next block that has lanes.
    fn leave_alone(&mut self, entry: &mut Entry) {
        let (count, per) = (self.group.count, self.per);
        let has_lanes = |block: &usize| entry.masks[block * per..][..per].iter().any(|mask| *mask != 0);
        let Some(block) = (1..=count).map(|next| (self.alone + next) % count).find(has_lanes) else { return };
        (self.alone, self.together) = (block, 0);
        let mut others = Entry { masks: self.masks(), ..*entry };
        others.masks.clone_from(&entry.masks);
        others.masks[block * per..][..per].fill(0);
        entry.masks[..block * per].fill(0);
        entry.masks[(block + 1) * per..].fill(0);
        self.aside(others);
        self.activate(entry);
    }

    /// Returns true if lanes that go back in a loop looked at memory in vain: they wait for others.
    fn has_spun(&mut self) -> bool {
        let (looked, changed) = (std::mem::take(&mut self.looked), std::mem::take(&mut self.changed));
        let spun = looked && !changed;
        self.spins = if spun { self.spins + 1 } else { 0 };
        if spun && self.spins.is_multiple_of(LOOKS) {
            // Another thread of the host may run the lanes that this one waits for.
            std::thread::yield_now();
        }
        spun
    }

    /// Returns true if lanes released something while a block waits in vain, which then has its turn: lanes that take a lock again
    /// would mostly have it when the turn is over.
    fn yields(&self) -> bool {
        self.released
            && self.launched.stuck.load(Ordering::Relaxed)
            && self.launched.stuck.swap(false, Ordering::Relaxed)
    }

    /// It has run long enough: an error of one of several blocks is not kept any longer.
    fn suspended(&mut self) -> Result<Status, Error> {
        self.failed.take().map_or(Ok(Status::Suspended), Err)
    }

    /// Puts lanes aside until they are picked, with those that are at the same place.
    pub(crate) fn aside(&mut self, mut entry: Entry) {
        if entry.is_empty() {
            return self.spare.push(entry.masks);
        }
        let place = (entry.depth, entry.at);
        if let Some(other) = self.ready.iter_mut().find(|other| (other.depth, other.at) == place) {
            other.masks.iter_mut().zip(&entry.masks).for_each(|(mask, more)| *mask |= more);
            other.forced &= entry.forced;
            return self.spare.push(entry.masks);
        }
        entry.picked = self.picks;
        self.ready.push(entry);
    }

    /// The entry that runs next; none when all threads have ended or wait at the barrier of the cluster.
    fn pick(&mut self) -> Result<Option<Entry>, Error> {
        self.picks += 1;
        if self.ready.is_empty() {
            if !self.at_cluster.is_empty() {
                return Ok(None);
            }
            // Nothing else can run. Matrix instructions and allocations report missing lanes and columns themselves; the rest is a deadlock.
            let reports = |held: &Entry| match &self.code.ops[held.at] {
                Op::Effect { action: Action::Converge { meeting, .. }, .. } => matches!(meeting, Meeting::Statement),
                _ => true,
            };
            if let Some(place) = self.held.iter().position(reports) {
                let held = self.held.swap_remove(place);
                return Ok(Some(Entry { forced: true, ..held }));
            }
            let stuck = !self.held.is_empty() || !self.waiting.is_empty();
            return if stuck { Err(self.deadlock()) } else { Ok(None) };
        }
        self.starved |= self.picks.is_multiple_of(64);
        let oldest = self.starved;
        let key = |entry: &Entry| match oldest {
            true => (entry.picked, 0),
            false => (u64::from(u32::MAX - entry.depth), entry.at),
        };
        let place = (0..self.ready.len()).min_by_key(|place| key(&self.ready[*place])).expect("there is one");
        Ok(Some(self.ready.swap_remove(place)))
    }

    /// Lets the lanes of an entry be the ones that execute.
    fn activate(&mut self, entry: &Entry) {
        // Groups of blocks mostly begin with the lanes that the one before ended with.
        if entry.masks == self.activated && self.live == self.activated_of {
            return;
        }
        let State { activated, activated_of, live, .. } = &mut *self.state;
        activated.clone_from(&entry.masks);
        activated_of.clone_from(live);
        self.full = entry.masks == self.live;
        self.whole = entry.masks.iter().all(|mask| *mask == u32::MAX);
        self.warps.activate(&entry.masks);
        self.lanes = lanes(&entry.masks);
        self.ranges.clear();
        if self.full && self.live.iter().all(|mask| *mask != 0) {
            let all = 0..self.live.len();
            return self.ranges.push((all, true));
        }
        for (warp, mask) in entry.masks.iter().enumerate() {
            // The registers of lanes that have ended are never read.
            let whole = *mask == self.live[warp];
            match self.ranges.last_mut() {
                _ if *mask == 0 => {}
                Some((last, same)) if last.end == warp && *same == whole => last.end += 1,
                _ => self.ranges.push((warp..warp + 1, whole)),
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

    /// Returns the value of a cell in a lane.
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

    /// Returns the value of a cell of up to 128 bits in a lane.
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

    /// The lanes of a mask for which something holds.
    pub(crate) fn lanes_where(mask: u32, holds: impl Fn(usize) -> bool) -> u32 {
        Self::lanes_of(mask).filter(|lane| holds(*lane)).fold(0, |lanes, lane| lanes | 1 << lane)
    }

    /// An error at an operation of a lane.
    pub(crate) fn error(&self, at: usize, warp: usize, lane: usize, error: Error) -> Error {
        let error = self.launched.located(at, error);
        let thread = shape::index((32 * (warp % self.per) + lane) as u64, self.launched.block);
        Error { block: Some(self.index_of(warp)), thread: Some(thread), ..error }
    }
}
