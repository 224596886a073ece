//! Data races: accesses of several threads to the same bytes, at least one of which writes, that nothing orders.
//!
//! What orders accesses is section 8 of the manual: program order, barriers, and what one thread releases and another one acquires. It does
//! not matter in which order they happen here, so that a race is found whichever thread comes first. Strong accesses do not race with each
//! other. Neither do writes of what memory holds already, whoever wrote it: kernels mark things so.
//!
//! | module | holds |
//! |---|---|
//! | `known` | what threads know of each other |
//! | `log` | accesses at affine addresses, of all threads at once |
//! | `line` | records of accesses by lines of memory, where ranges do not tell that there is no race |
//! | `clocks` | times of the threads of a block, and what they know |
//!
//! Less is found than there is. Of many accesses of the same bytes that nothing orders some are remembered. Threads that have ended count as
//! arrived at barriers that count no threads. What a block waits for at the barrier of its cluster includes what others did since they arrived.
//! Lanes that access one object together know of each other. Scopes count as wide enough. Asynchronous copies count as accesses of the
//! thread that begins them, at once. Operands of products of warpgroups and of tensor memory are not looked at, and memory that is lent
//! within other memory is apart from it. What is found is a race.

mod clocks;
mod known;
mod line;
mod log;

use std::collections::BTreeMap;
use std::ops::Range;
use std::prelude::rust_2024::*;
use std::sync::Arc;

pub(crate) use clocks::Clocks;
pub(crate) use known::Known;
use line::{LINE, Lanes, Record, Relation};
pub(crate) use log::{Elements, Rounds};
use log::{Entry, Region, Scattered};

use super::groups::Group;

/// An operation that threads execute at a time: what records of its accesses have in common.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Event {
    /// The number of the blocks in lockstep.
    pub unit: u32,
    /// The operation.
    pub at: u32,
    time: u32,
    strong: bool,
}

/// Maximum number of events, which take 2 GiB; beyond it nothing is recorded.
const EVENTS: usize = 1 << 27;

/// The time of events that did not happen.
const VOID: u32 = 0;

/// Accesses that code is about to make.
#[cfg(feature = "jit")]
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The operation.
    pub at: usize,
    /// Where the memory begins and ends.
    pub bounds: (u64, u64),
    pub elements: Elements,
    pub writes: bool,
}

/// The accesses of a launch.
#[derive(Debug, Default)]
pub(crate) struct Races {
    /// Memory that was accessed, by its first address.
    regions: BTreeMap<u64, Region>,
    /// The first one stands for none.
    events: Vec<Event>,
    /// The blocks that ran in lockstep, and the numbers of the first block and the first warp of each.
    units: Vec<Unit>,
    /// What threads have released, by the address that they wrote then.
    released: BTreeMap<u64, Arc<Known>>,
    /// What the threads of clusters knew when they arrived at their barriers.
    clusters: BTreeMap<u64, Known>,
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    group: Group,
    per: usize,
    block: u32,
    warp: u32,
}

/// What an access does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub writes: bool,
    /// True if it is ordered with others by its modifiers, or atomic.
    pub strong: bool,
}

/// Says whether a lane of a warp writes at its address what memory holds, or what another lane of a warp writes by the same operation.
pub(crate) type Same<'s> = &'s dyn Fn((usize, usize), u64, Option<(usize, usize)>) -> bool;

/// What lanes do to memory.
#[derive(Clone, Copy)]
pub(crate) struct Access<'a> {
    /// Those of the lanes; none if they are known not to race.
    pub clocks: Option<&'a Clocks>,
    pub event: u32,
    pub kind: Kind,
    pub same: Same<'a>,
}

/// An earlier access that one races with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    /// The warp and the lane of the later one, and an address that both access.
    pub warp: usize,
    pub lane: usize,
    pub address: u64,
    /// The operation, the block, and the thread of it.
    pub at: usize,
    pub block: [u32; 3],
    pub thread: u64,
    pub wrote: bool,
    /// True if both are of one block.
    pub near: bool,
}

impl Races {
    /// Blocks in lockstep begin, with `per` warps each, and clocks that others may have had; their shared memory between two addresses is new.
    pub(crate) fn begin(
        &mut self,
        clocks: &mut Clocks,
        (group, per): (Group, usize),
        operations: usize,
        shared: (u64, u64),
    ) {
        let unit = self.next_unit(group, per);
        self.units.push(unit);
        match self.regions.get_mut(&shared.0).filter(|region| region.end == shared.1) {
            Some(region) => region.renew(),
            None => self.forget(shared.0, shared.1),
        }
        self.forget_released(shared.0, shared.1);
        clocks.begin(self.units.len() as u32 - 1, (unit.block, unit.warp), (group.count, per), operations);
    }

    /// Memory is given to other threads: what was done to it before is in the past.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        self.regions.retain(|own, region| region.end <= start || *own >= end);
        self.forget_released(start, end);
    }

    fn forget_released(&mut self, start: u64, end: u64) {
        let addresses: Vec<u64> = self.released.range(start..end).map(|(address, _)| *address).collect();
        addresses.iter().for_each(|address| _ = self.released.remove(address));
    }

    /// An operation is executed; gives the number of its event, which may be that of an earlier execution at the same time. Zero is none.
    pub(crate) fn event(&mut self, clocks: &mut Clocks, at: usize, strong: bool) -> u32 {
        let last = 2 * at + usize::from(strong);
        let (event, time) = clocks.last[last];
        if time == clocks.time {
            return event;
        }
        let event = self.add_events(clocks, at, strong, 1);
        clocks.last[last] = (event, clocks.time);
        event
    }

    /// Adds events of an operation in units that follow each other, from that of the clocks on; gives the number of the first one.
    fn add_events(&mut self, clocks: &Clocks, at: usize, strong: bool, units: u32) -> u32 {
        if self.events.is_empty() {
            self.events.push(Event::default());
        }
        let event = self.events.len();
        if event + units as usize > EVENTS {
            return 0;
        }
        let of = |unit: u32| Event { unit: clocks.unit + unit, at: at as u32, time: clocks.time, strong };
        self.events.extend((0..units).map(of));
        event as u32
    }

    /// All threads that may access the shared memory from an address on have met: what they did is in the past.
    pub(crate) fn settle(&mut self, start: u64) {
        if let Some(region) = self.regions.get_mut(&start) {
            region.settle();
            region.private = true;
        }
    }

    /// The memory with these bounds.
    fn region(&mut self, bounds: (u64, u64)) -> &mut Region {
        let region = self.regions.entry(bounds.0).or_insert_with(|| Region::new(bounds));
        if region.end != bounds.1 {
            // The host has lent other memory there.
            *region = Region::new(bounds);
        }
        region
    }

    /// From now on accesses to memory with these bounds are recorded by lines; those before are, too.
    fn by_lines(&mut self, clocks: Option<&Clocks>, bounds: (u64, u64)) {
        if self.region(bounds).by_lines {
            return;
        }
        // Ranges have told that they do not race.
        let (entries, scattered) = self.region(bounds).take();
        let of = |unit: u32| clocks.filter(|clocks| clocks.unit == unit);
        for Entry { event, unit, writes, elements, per, .. } in entries {
            if self.events[event as usize].time == VOID {
                continue;
            }
            let kind = Kind { writes, strong: false };
            let access = Access { clocks: of(unit), event, kind, same: &|_, _, _| true };
            _ = self.enter_all(access, bounds, (&elements, per));
        }
        for Scattered { event, unit, kind, warp, mask, bytes, base, offsets } in scattered {
            let addresses = offsets.map(|offset| base + u64::from(offset));
            let access = Access { clocks: of(unit), event, kind, same: &|_, _, _| true };
            _ = self.enter_lanes(access, bounds, (warp, mask), (&addresses, bytes));
        }
    }

    /// Enters the accesses of threads at affine addresses, all in memory with these bounds.
    pub(crate) fn access_all(
        &mut self,
        access: Access<'_>,
        bounds: (u64, u64),
        elements: Elements,
        per: usize,
    ) -> Result<(), Race> {
        let Access { clocks, event, kind, .. } = access;
        if event == 0 || elements.masks.iter().all(|mask| *mask == 0) {
            return Ok(());
        }
        let own = self.events[event as usize];
        let region = self.region(bounds);
        let elements = match region.by_lines || kind.strong {
            true => elements,
            false => match region.add(Entry::new(event, &own, kind.writes, elements, per)) {
                Ok(()) => return Ok(()),
                Err(entry) => entry.elements,
            },
        };
        self.by_lines(clocks, bounds);
        self.enter_all(access, bounds, (&elements, per))
    }

    /// Enters accesses that code is about to make. If some may race, which operations one by one tell, this returns false, and they are void.
    #[cfg(feature = "jit")]
    pub(crate) fn access_ahead(&mut self, clocks: &mut Clocks, accesses: impl Iterator<Item = Ahead>) -> bool {
        let first = self.events.len().max(1);
        for Ahead { at, bounds, elements, writes } in accesses {
            let of_groups = elements.rounds == Rounds::OfGroups;
            let units = if of_groups { elements.rounds() as u32 } else { 1 };
            // The clocks tell what the threads of one unit know.
            let may = !of_groups || !self.region(bounds).by_lines;
            let event = if may { self.add_events(clocks, at, false, units) } else { 0 };
            let kind = Kind { writes, strong: false };
            let access = Access { clocks: Some(clocks), event, kind, same: &|_, _, _| false };
            let done = event > 0 && self.access_all(access, bounds, elements, clocks.per).is_ok();
            if !done || of_groups && self.region(bounds).by_lines {
                self.events.iter_mut().skip(first).for_each(|event| event.time = VOID);
                // Those that really happen do not repeat them.
                clocks.advance();
                return false;
            }
        }
        true
    }

    /// Groups of blocks go on as others ended, each as a unit of its own; `ahead` enters their accesses, or returns false.
    #[cfg(feature = "jit")]
    pub(crate) fn with_units(
        &mut self,
        clocks: &mut Clocks,
        groups: impl Iterator<Item = Group>,
        per: usize,
        ahead: impl FnOnce(&mut Races, &mut Clocks) -> bool,
    ) -> bool {
        let (own, before) = (clocks.unit, self.units.len());
        for group in groups {
            let unit = self.next_unit(group, per);
            self.units.push(unit);
        }
        clocks.unit = before as u32;
        let done = ahead(self, clocks);
        clocks.unit = own;
        done
    }

    /// The unit behind the last one.
    fn next_unit(&self, group: Group, per: usize) -> Unit {
        let behind = |last: &Unit| {
            let count = last.group.count as u32;
            (last.block.wrapping_add(count), last.warp.wrapping_add(count * last.per as u32))
        };
        let (block, warp) = self.units.last().map_or((0, 0), behind);
        Unit { group, per, block, warp }
    }

    /// Enters the accesses of lanes of a warp to `bytes` bytes each, all in memory with these bounds.
    pub(crate) fn access(
        &mut self,
        access: Access<'_>,
        bounds: (u64, u64),
        lanes: (usize, u32),
        memory: (&[u64; 32], u64),
    ) -> Result<(), Race> {
        let Access { clocks, event, kind, .. } = access;
        if event == 0 || memory.1 == 0 || lanes.1 == 0 {
            return Ok(());
        }
        let unit = self.events[event as usize].unit;
        let region = self.region(bounds);
        let ((addresses, bytes), (warp, mask)) = (memory, lanes);
        let accesses = || {
            let mut offsets = [0; 32];
            let lanes = offsets.iter_mut().zip(addresses);
            lanes.for_each(|(offset, address)| *offset = address.wrapping_sub(bounds.0) as u32);
            Scattered { event, unit, kind, warp, mask, bytes, base: bounds.0, offsets }
        };
        if bounds.1 - bounds.0 <= u64::from(u32::MAX) && region.add_scattered(kind, accesses).is_ok() {
            return Ok(());
        }
        // Reads may stay beside those that are not recorded by lines.
        match kind.writes || kind.strong || region.is_written() || region.is_strong() {
            true => self.by_lines(clocks, bounds),
            false => region.some_by_lines = true,
        }
        self.enter_lanes(access, bounds, lanes, memory)
    }

    /// Enters accesses of lanes of a warp by lines.
    fn enter_lanes(
        &mut self,
        access: Access<'_>,
        bounds: (u64, u64),
        (warp, mask): (usize, u32),
        (addresses, bytes): (&[u64; 32], u64),
    ) -> Result<(), Race> {
        let Some(region) = self.regions.get_mut(&bounds.0) else { return Ok(()) };
        let mut entering = Entering { access, bytes, events: &self.events, units: &self.units, region };
        let mut rest = mask;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let consecutive = (rest >> first).trailing_ones() as usize;
            let run = &addresses[first..first + consecutive];
            let many = |step: u64| {
                run.iter().zip(0..).take_while(|(at, lane)| **at == run[0].wrapping_add(lane * step)).count()
            };
            let (step, count) = match many(bytes) {
                1 => (0, if run.get(1) == run.first() { many(0) } else { 1 }),
                count => (bytes, count),
            };
            rest &= !(u32::MAX >> (32 - count) << first);
            entering.enter((warp, first), count, run[0], step)?;
        }
        Ok(())
    }

    /// Enters accesses of all warps by lines.
    fn enter_all(
        &mut self,
        access: Access<'_>,
        bounds: (u64, u64),
        (elements, per): (&Elements, usize),
    ) -> Result<(), Race> {
        let Some(region) = self.regions.get_mut(&bounds.0) else { return Ok(()) };
        let bytes = elements.bytes;
        let mut entering = Entering { access, bytes, events: &self.events, units: &self.units, region };
        for round in 0..elements.rounds() {
            for warp in 0..elements.masks.len() {
                elements.each_run((warp, per), round, |first, count, start, step| {
                    entering.enter((warp, first), count, start, step)
                })?;
            }
            entering.access.event += u32::from(elements.rounds == Rounds::OfGroups);
        }
        Ok(())
    }

    /// Returns true if threads have released something.
    pub(crate) fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// What threads have released by writes to an address.
    pub(crate) fn released(&self, address: u64) -> Option<&Arc<Known>> {
        self.released.get(&address)
    }

    /// Threads that know something have written to an address.
    pub(crate) fn release(&mut self, address: u64, known: &Known) {
        Arc::make_mut(self.released.entry(address).or_default()).join(known);
    }

    /// What threads of a cluster knew when they arrived at its barrier.
    pub(crate) fn cluster(&mut self, number: u64) -> &mut Known {
        self.clusters.entry(number).or_default()
    }
}

/// An access that is entered by lines.
struct Entering<'e> {
    access: Access<'e>,
    /// Bytes that each lane accesses.
    bytes: u64,
    events: &'e [Event],
    units: &'e [Unit],
    region: &'e mut Region,
}

impl Entering<'_> {
    /// Enters what lanes of a warp that follow each other access, with addresses that grow by a step.
    fn enter(&mut self, (warp, first): (usize, usize), count: usize, start: u64, step: u64) -> Result<(), Race> {
        let Entering { access: Access { clocks, event, kind, same }, bytes, .. } = *self;
        let in_row =
            count > 1 && step == bytes && bytes <= 32 && bytes.is_power_of_two() && start.is_multiple_of(bytes);
        if in_row {
            let mut at = start;
            let end = start + bytes * count as u64;
            while at < end {
                let behind = ((at / LINE + 1) * LINE).min(end);
                let first = (first as u64 + (at - start) / bytes) as u8;
                let lanes = Lanes::Linear { first, shift: bytes.trailing_zeros() as u8 };
                let base = at;
                self.enter_in_line(warp, at..behind, lanes, |lane| base + (lane as u64 - u64::from(first)) * bytes)?;
                at = behind;
            }
            return Ok(());
        }
        let together = step == 0 || count == 1;
        for lane in 0..if together { 1 } else { count } {
            let start = start.wrapping_add(step.wrapping_mul(lane as u64));
            let (own, last) = ((first + lane) as u8, if together { first + count - 1 } else { first + lane } as u8);
            let mut at = start;
            while at < start + bytes {
                let behind = ((at / LINE + 1) * LINE).min(start + bytes);
                self.enter_in_line(warp, at..behind, Lanes::Together { first: own, last }, |_| start)?;
                at = behind;
            }
        }
        // Lanes that write to one address at once must write the same.
        if together
            && kind.writes
            && !kind.strong
            && let Some(clocks) = clocks
            && let Some(lane) = (first + 1..first + count).find(|lane| !same((warp, *lane), start, Some((warp, first))))
        {
            let lanes = Lanes::Together { first: first as u8, last: first as u8 };
            let record = Record::new(event, warp, (0, 0), lanes, true);
            return Err(self.race(clocks, (record, first), (warp, lane), start));
        }
        Ok(())
    }

    /// Enters an access to bytes of one line, by lanes whose elements have these addresses.
    fn enter_in_line(
        &mut self,
        warp: usize,
        at: Range<u64>,
        lanes: Lanes,
        address: impl Fn(usize) -> u64,
    ) -> Result<(), Race> {
        let Entering { access: Access { clocks, event, kind, same }, events, units, .. } = *self;
        let record = Record::new(event, warp, (at.start % LINE, (at.end - 1) % LINE), lanes, kind.writes);
        let (mut found, own, private) = (None, &events[event as usize], self.region.private);
        let relate = |earlier: Record, both: (u64, u64)| {
            let Some(clocks) = clocks else { return Relation::Apart };
            let theirs = &events[earlier.event() as usize];
            let relation = clocks.relate((record, own), (earlier, theirs), both, (units, private), |lane, other| {
                same((warp, lane), address(lane), (earlier.event() == event).then_some(other))
            });
            relation.unwrap_or_else(|race| {
                found = Some(race);
                Relation::Race
            })
        };
        match (self.region.lines.enter(at.start, record, relate), clocks) {
            (Err(earlier), Some(clocks)) => {
                let (lane, other, byte) = found.unwrap_or_default();
                Err(self.race(clocks, (earlier, other), (warp, lane), at.start / LINE * LINE + byte))
            }
            _ => Ok(()),
        }
    }

    fn race(
        &self,
        clocks: &Clocks,
        (earlier, other): (Record, usize),
        (warp, lane): (usize, usize),
        address: u64,
    ) -> Race {
        let event = &self.events[earlier.event() as usize];
        let unit = &self.units[event.unit as usize];
        let (block, within) = (earlier.warp() / unit.per, earlier.warp() % unit.per);
        Race {
            warp,
            lane,
            address,
            at: event.at as usize,
            block: unit.group.block(block),
            thread: (32 * within + other) as u64,
            wrote: earlier.writes(),
            near: event.unit == clocks.unit && warp / unit.per == block,
        }
    }
}
