//! Accesses at affine addresses, for all threads of blocks in lockstep at once, by the memory that they are in. As long as their ranges tell that
//! none of them race, that is all that is recorded of them.

use std::collections::BTreeMap;
use std::prelude::rust_2024::*;
use std::sync::Arc;

use super::super::affine::{Affine, DIMENSIONS};
use super::line::Lines;
use super::{Event, Kind};

/// Maximum number of accesses with overlapping ranges that one is compared to, and of accesses to one memory.
const OVERLAPPING: usize = 128;
const ENTRIES: usize = 1 << 18;

/// Maximum number of reads of warps at scattered addresses of one memory before they are recorded by lines.
const SCATTERED: usize = 1 << 18;

/// The dimension that may count rounds.
const ROUND: usize = 2;

/// Number of accesses before one that it may repeat.
const REPEATED: usize = 4;

/// What the dimension [`ROUND`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// An index of threads.
    None,
    /// Rounds of a loop that each thread goes through.
    OfThreads,
    /// Groups of blocks, which are units that follow each other.
    OfGroups,
}

/// Elements that threads access, one in each round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Elements {
    /// The addresses, and the greatest index in each dimension.
    pub value: Affine,
    pub last: [u64; DIMENSIONS],
    /// What [`ROUND`] counts.
    pub rounds: Rounds,
    /// Bytes of an element.
    pub bytes: u64,
    /// The lanes of each warp.
    pub masks: Arc<[u32]>,
}

impl Elements {
    /// Where what is accessed begins and ends, where blocks have `per` warps.
    fn span(&self, per: usize) -> Span {
        let along = self.value.steps[DIMENSIONS - 1];
        let (mut first, mut last) = (self.value.base, self.value.base);
        for (step, most) in self.value.steps[..DIMENSIONS - 1].iter().zip(&self.last) {
            match step.wrapping_mul(*most).cast_signed() {
                reach if reach < 0 => first = first.wrapping_add_signed(reach),
                reach => last = last.wrapping_add_signed(reach),
            }
        }
        let reach = along.wrapping_mul(self.last[DIMENSIONS - 1]).cast_signed();
        let ends = |first: u64, last: u64| (first, last.wrapping_add(self.bytes));
        let of_all = |first: u64, last: u64| {
            ends(first.wrapping_add_signed(reach.min(0)), last.wrapping_add_signed(reach.max(0)))
        };
        let wide = of_all(first, last);
        if self.rounds == Rounds::None && self.masks.iter().any(|mask| *mask != u32::MAX) {
            // Inactive lanes may be far away.
            (first, last) = (u64::MAX, 0);
            for warp in 0..self.masks.len() {
                let block = along.wrapping_mul((warp / per) as u64);
                _ = self.each_run::<()>((warp, per), 0, |_, count, start, step| {
                    let start = start.wrapping_sub(block);
                    let end = start.wrapping_add(step.wrapping_mul(count as u64 - 1));
                    (first, last) = (first.min(start).min(end), last.max(start).max(end));
                    Ok(())
                });
            }
        }
        Span { wide, all: of_all(first, last), first: ends(first, last) }
    }

    /// Returns true if no byte is accessed by several threads, as far as steps tell.
    fn are_apart(&self) -> bool {
        // Rounds of one thread may access the same.
        let same = |(dimension, (step, last)): (usize, (&u64, &u64))| {
            *step == 0 && *last > 0 && !(self.rounds == Rounds::OfThreads && dimension == ROUND)
        };
        if self.value.steps.iter().zip(&self.last).enumerate().any(same) {
            return false;
        }
        let mut steps = Vec::from_iter(self.steps());
        steps.sort_unstable();
        let mut reach = self.bytes;
        for (step, last) in steps {
            if step < reach {
                return false;
            }
            reach = reach.saturating_add(step.saturating_mul(last));
        }
        true
    }

    /// Steps without their signs, and the greatest index of each, where threads or rounds differ in it.
    fn steps(&self) -> impl Iterator<Item = (u64, u64)> {
        let steps = self.value.steps.iter().zip(&self.last);
        steps
            .filter(|(step, last)| **step != 0 && **last > 0)
            .map(|(step, last)| (step.cast_signed().unsigned_abs(), *last))
    }

    /// Visits the elements of lanes of a warp that follow each other, in a round, where blocks have `per` warps: the first lane, their
    /// number, the address of the first element, and how far they are apart. A visit that fails ends it.
    pub(super) fn each_run<E>(
        &self,
        (warp, per): (usize, usize),
        round: u64,
        mut visit: impl FnMut(usize, usize, u64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let Affine { base, steps } = self.value;
        let [x, y, ..] = self.last.map(|last| last + 1);
        let base = base.wrapping_add(steps[DIMENSIONS - 1].wrapping_mul((warp / per) as u64));
        let first = 32 * (warp % per) as u64;
        let mut lanes = self.masks[warp];
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            let thread = first + lane as u64;
            let along = thread % x;
            let count = ((lanes >> lane).trailing_ones() as usize).min((x - along) as usize);
            lanes &= !(u32::MAX >> (32 - count) << lane);
            let z = if self.rounds == Rounds::None { thread / (x * y) } else { round };
            let parts = [along, thread / x % y, z].into_iter().zip(steps);
            let start = parts.fold(base, |address, (index, step)| address.wrapping_add(step.wrapping_mul(index)));
            visit(lane, count, start, steps[0])?;
        }
        Ok(())
    }

    /// The addresses of the lanes of a warp.
    pub(crate) fn addresses(&self, place: (usize, usize)) -> [u64; 32] {
        let mut addresses = [0; 32];
        _ = self.each_run::<()>(place, 0, |first, count, start, step| {
            let lanes = addresses[first..first + count].iter_mut().zip(0..);
            lanes.for_each(|(to, lane)| *to = start.wrapping_add(step.wrapping_mul(lane)));
            Ok(())
        });
        addresses
    }

    /// Number of rounds.
    pub(super) fn rounds(&self) -> u64 {
        if self.rounds == Rounds::None { 1 } else { self.last[ROUND] + 1 }
    }
}

/// Where elements begin, and end.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Of all lanes, active or not.
    wide: (u64, u64),
    /// Of active lanes.
    all: (u64, u64),
    /// The same, as if all blocks were in the place of the first one.
    first: (u64, u64),
}

/// Accesses of threads of the blocks of a unit.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The first event and the first unit, if rounds are those of groups.
    pub event: u32,
    pub unit: u32,
    /// The operation, and the time.
    pub of: (u32, u32),
    pub writes: bool,
    pub elements: Elements,
    /// Number of warps of a block.
    pub per: usize,
}

/// An access with its span.
type Spanning = (Entry, Span);

/// Returns true if what begins and ends somewhere has nothing in common with something else, wherever a step leads from either.
fn are_apart((own, own_end): (u64, u64), (other, other_end): (u64, u64), step: u64) -> bool {
    let distance = other.wrapping_sub(own).cast_signed().rem_euclid(step.cast_signed()).cast_unsigned();
    distance >= own_end - own && distance + (other_end - other) <= step
}

/// Accesses of lanes of a warp, each to some bytes at an address of its own: an offset. They read, or are strong.
#[derive(Clone, Debug)]
pub(super) struct Scattered {
    pub event: u32,
    pub unit: u32,
    pub kind: Kind,
    pub warp: usize,
    pub mask: u32,
    pub bytes: u64,
    pub base: u64,
    pub offsets: [u32; 32],
}

impl Entry {
    pub(super) fn new(number: u32, event: &Event, writes: bool, elements: Elements, per: usize) -> Entry {
        Entry { event: number, unit: event.unit, of: (event.at, event.time), writes, elements, per }
    }

    /// Returns true if it is the same operation at the same time, in the same threads.
    fn repeats(&self, other: &Entry) -> bool {
        (self.unit, self.of) == (other.unit, other.of) && self.elements == other.elements
    }

    /// Returns true if no two threads race by two such accesses whose ranges overlap, as each thread accesses its own.
    fn is_of_same_threads(&self, other: &Entry) -> bool {
        let of = |entry: &Entry| {
            let Elements { value, last, rounds, bytes, .. } = entry.elements;
            (entry.unit, value.base, value.steps, last, rounds, bytes)
        };
        of(self) == of(other)
    }
}

/// Returns true if none of the bytes of an access are those of another one, as far as steps tell.
fn miss_each_other((own, span): &Spanning, (other, others): &Spanning) -> bool {
    if span.all.1 <= others.all.0 || others.all.1 <= span.all.0 {
        return true;
    }
    let block = |entry: &Entry| entry.elements.value.steps[DIMENSIONS - 1].cast_signed().unsigned_abs();
    if block(own) == block(other) && block(own) > 0 && are_apart(span.first, others.first, block(own)) {
        return true;
    }
    let mut common = own.elements.steps().filter(|(step, _)| other.elements.steps().any(|(theirs, _)| theirs == *step));
    common.any(|(step, _)| {
        // Bytes that are accessed without that step, and multiples of it, from the least address on.
        let within = |entry: &Entry, (least, end): (u64, u64)| {
            let steps = entry.elements.steps().filter(|(own, _)| own % step == 0);
            let along: u64 = steps.map(|(step, last)| step * last).sum();
            (least, end.wrapping_sub(along))
        };
        are_apart(within(own, span.wide), within(other, others.wide), step)
    })
}

/// Accesses to an allocation, or to the shared memory of blocks in lockstep.
#[derive(Debug, Default)]
pub(super) struct Region {
    pub end: u64,
    pub lines: Lines,
    /// True if threads of one block alone access each byte, as is known once they have met.
    pub private: bool,
    /// True if all accesses are recorded by lines.
    pub by_lines: bool,
    /// True if some reads are.
    pub some_by_lines: bool,
    /// Accesses at addresses that are not affine: all of them are weak reads, or all are strong.
    scattered: Vec<Scattered>,
    /// Accesses, all of which read.
    reads: Vec<Entry>,
    /// Accesses by their least address, and their number; all of them, once one writes.
    sorted: BTreeMap<(u64, usize), Spanning>,
    /// The most bytes that one of these spans.
    longest: u64,
}

impl Region {
    /// Memory between two addresses, which nobody has accessed.
    pub(super) fn new(bounds: (u64, u64)) -> Region {
        Region { end: bounds.1, lines: Lines::new(bounds), ..Region::default() }
    }

    /// Returns true if an access writes.
    pub(super) fn is_written(&self) -> bool {
        !self.sorted.is_empty()
    }

    /// Returns true if accesses are strong.
    pub(super) fn is_strong(&self) -> bool {
        self.scattered.last().is_some_and(|access| access.kind.strong)
    }

    /// Adds an access, unless it may race with one that is there.
    pub(super) fn add(&mut self, entry: Entry) -> Result<(), Entry> {
        let scattered = self.some_by_lines || !self.scattered.is_empty();
        if self.is_strong()
            || entry.writes && (scattered || !entry.elements.are_apart())
            || self.sorted.len() + self.reads.len() >= ENTRIES
        {
            return Err(entry);
        }
        if !entry.writes && !self.is_written() {
            if !self.reads.iter().rev().take(REPEATED).any(|other| other.repeats(&entry)) {
                self.reads.push(entry);
            }
            return Ok(());
        }
        for read in std::mem::take(&mut self.reads) {
            let span = read.elements.span(read.per);
            self.sort((read, span));
        }
        let span = entry.elements.span(entry.per);
        let (entry, (least, end)) = ((entry, span), span.all);
        let near = self.sorted.range((least.saturating_sub(self.longest), 0)..(end, 0));
        for (count, (_, other)) in near.enumerate() {
            if other.0.repeats(&entry.0) {
                return Ok(());
            }
            let harmless = !(entry.0.writes || other.0.writes) || other.0.is_of_same_threads(&entry.0);
            if count == OVERLAPPING || !harmless && !miss_each_other(other, &entry) {
                return Err(entry.0);
            }
        }
        self.sort(entry);
        Ok(())
    }

    fn sort(&mut self, entry: Spanning) {
        let (least, end) = entry.1.all;
        self.longest = self.longest.max(end - least);
        self.sorted.insert((least, self.sorted.len()), entry);
    }

    /// Adds accesses of a warp that read or are strong, unless there are many, or they may race.
    pub(super) fn add_scattered(&mut self, kind: Kind, accesses: impl FnOnce() -> Scattered) -> Result<(), ()> {
        let alike = self.scattered.last().is_none_or(|other| other.kind.strong == kind.strong);
        let others = if kind.strong { self.some_by_lines || !self.reads.is_empty() } else { kind.writes };
        if self.is_written() || self.by_lines || others || !alike || self.scattered.len() >= SCATTERED {
            return Err(());
        }
        self.scattered.push(accesses());
        Ok(())
    }

    /// Takes all accesses out, in the order in which they happened; from now on they are recorded by lines.
    pub(super) fn take(&mut self) -> (Vec<Entry>, Vec<Scattered>) {
        self.by_lines = true;
        let mut entries = std::mem::take(&mut self.reads);
        entries.extend(std::mem::take(&mut self.sorted).into_values().map(|(entry, _)| entry));
        entries.sort_by_key(|entry| entry.event);
        (entries, std::mem::take(&mut self.scattered))
    }

    /// Other threads have the memory from now on.
    pub(super) fn renew(&mut self) {
        self.settle();
        self.lines.clear();
    }

    /// All accesses are in the past of all threads that may access the memory.
    pub(super) fn settle(&mut self) {
        self.by_lines = false;
        self.some_by_lines = false;
        self.scattered.clear();
        self.longest = 0;
        self.reads.clear();
        self.sorted.clear();
    }
}
