//! Asynchronous operations: performed at once, or kept until someone waits for them.
//!
//! Both are what a machine may do. [`Options::delay`](super::Options::delay) keeps them to the last moment, so that whoever reads
//! without having waited reads what was there before.

#![allow(unsafe_code, reason = "operations hold addresses that were checked when they began")]

use std::mem;
use std::prelude::rust_2024::*;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ptx_isa::table::{ALONE, COPIES, Evaluator};

use super::raw;

/// Source of the bytes to move.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A host address.
    Memory(usize),
    /// A pattern that is repeated.
    Value([u8; 16]),
    /// Bytes that were read earlier.
    Read(Vec<u8>),
    /// The lowest six bits of each byte at a host address, adjacent.
    SixBits(usize),
}

impl Source {
    /// Returns a byte.
    ///
    /// # Safety
    ///
    /// The bytes at a host address lie in an allocation of the launch.
    unsafe fn byte(&self, at: usize) -> u8 {
        // SAFETY: the caller's promise.
        let load = |address: usize| unsafe { raw::load(address, 1) };
        match self {
            Source::Memory(from) => load(from + at) as u8,
            Source::Value(value) => value[at % 16],
            Source::Read(bytes) => bytes[at],
            Source::SixBits(from) => {
                let first = from + at / 3 * 4;
                let word = (0..4).fold(0, |word, place| word | (load(first + place) & 0x3f) << (6 * place));
                (word >> (8 * (at % 3))) as u8
            }
        }
    }
}

/// Bytes that go to a host address.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub to: usize,
    pub from: Source,
    pub bytes: usize,
}

/// A function that is applied to each element in memory, each element that is moved, or both.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub evaluator: Evaluator,
    /// Values of the sources, followed by the old element and the moved element.
    pub inputs: Vec<u128>,
    /// Bytes of an element.
    pub bytes: u8,
    /// True if the result depends on the element in memory: the update is then atomic.
    pub updates: bool,
}

impl Applied {
    pub(crate) fn of(&mut self, old: u64, new: u64) -> u64 {
        let count = self.inputs.len();
        self.inputs[count - 2] = old.into();
        self.inputs[count - 1] = new.into();
        self.evaluator.evaluate(&self.inputs)[0] as u64
    }
}

impl Piece {
    /// Returns true if its bytes are there already.
    ///
    /// # Safety
    ///
    /// As for [`Piece::perform`].
    pub(crate) unsafe fn is_done(&self) -> bool {
        // SAFETY: the caller's promise.
        (0..self.bytes).all(|at| unsafe { raw::load(self.to + at, 1) as u8 == self.from.byte(at) })
    }

    /// Moves the bytes.
    ///
    /// # Safety
    ///
    /// The bytes at both addresses lie in allocations of the launch, and are aligned to elements where there is a function of them.
    #[allow(clippy::cast_ptr_alignment, reason = "addresses are numbers")]
    pub(crate) unsafe fn perform(&self, applied: Option<&mut Applied>) {
        let Some(applied) = applied else {
            match &self.from {
                // SAFETY: the caller's promise.
                Source::Memory(from) => unsafe { raw::copy(self.to, *from, self.bytes) },
                from => (0..self.bytes).for_each(|at| {
                    // SAFETY: the caller's promise.
                    unsafe { raw::store(self.to + at, 1, from.byte(at).into()) }
                }),
            }
            return;
        };
        let size = applied.bytes;
        for at in (0..self.bytes).step_by(size.into()) {
            let new = match &self.from {
                // SAFETY: the caller's promise.
                Source::Memory(from) => unsafe { raw::load(from + at, size) },
                from => (0..usize::from(size)).fold(0, |word, place| {
                    // SAFETY: the caller's promise.
                    word | u64::from(unsafe { from.byte(at + place) }) << (8 * place)
                }),
            };
            // SAFETY: the caller's promise.
            unsafe {
                if applied.updates {
                    raw::update(self.to + at, size, |old| applied.of(old, new));
                } else {
                    raw::store(self.to + at, size, applied.of(0, new));
                }
            }
        }
    }

    /// Reads the bytes, so that the source may be overwritten.
    fn read(&mut self) {
        if let Source::Memory(_) | Source::SixBits(_) = self.from {
            // SAFETY: the address was checked when the operation began.
            let byte = |at: usize| unsafe { self.from.byte(at) };
            self.from = Source::Read((0..self.bytes).map(byte).collect());
        }
    }
}

/// An update of memory when an operation is complete.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    pub at: usize,
    pub applied: Applied,
    /// Bytes that were moved.
    pub moved: u64,
}

impl Signal {
    /// Updates memory.
    ///
    /// # Safety
    ///
    /// The address lies in an allocation of the launch, aligned to the width of the update.
    pub(crate) unsafe fn perform(&mut self) {
        let (applied, moved) = (&mut self.applied, self.moved);
        // SAFETY: the caller's promise.
        unsafe { raw::update(self.at, applied.bytes, |old| applied.of(old, moved)) };
    }
}

/// A thread of a cluster: the rank of its block, and its number.
pub(crate) type Thread = (usize, usize);

/// An operation that was begun.
#[derive(Debug)]
struct Operation {
    group: u8,
    /// The number of its group, once that is made.
    number: Option<u64>,
    pieces: Vec<Piece>,
    applied: Option<Applied>,
    signals: Vec<Signal>,
    /// True if the thread's earlier copies must complete first.
    after: bool,
}

/// The operations of a cluster that are kept.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Those of each thread, in order.
    operations: BTreeMap<Thread, Vec<Operation>>,
    /// Number of groups that each thread has committed.
    groups: HashMap<(Thread, u8), u64>,
    random: u64,
}

impl Pending {
    pub(crate) fn new(seed: u64) -> Pending {
        Pending { random: seed, ..Pending::default() }
    }

    /// Keeps an operation.
    pub(crate) fn begin(&mut self, thread: Thread, group: u8, pieces: Vec<Piece>, applied: Option<Applied>) {
        let operation = Operation { group, number: None, pieces, applied, signals: Vec::new(), after: false };
        self.operations.entry(thread).or_default().push(operation);
    }

    /// The thread's last operation signals.
    pub(crate) fn signal(&mut self, thread: Thread, signals: Vec<Signal>) {
        if let Some(last) = self.operations.get_mut(&thread).and_then(|own| own.last_mut()) {
            last.signals.extend(signals);
        }
    }

    /// Signals when all copies of the thread are complete.
    pub(crate) fn after(&mut self, thread: Thread, signals: Vec<Signal>) {
        let operation =
            Operation { group: ALONE, number: None, pieces: Vec::new(), applied: None, signals, after: true };
        self.operations.entry(thread).or_default().push(operation);
    }

    /// Makes a group of what the thread began.
    pub(crate) fn commit(&mut self, thread: Thread, group: u8) {
        let count = self.groups.entry((thread, group)).or_default();
        for one in self.operations.get_mut(&thread).into_iter().flatten() {
            if (one.group, one.number) == (group, None) {
                one.number = Some(*count);
            }
        }
        *count += 1;
    }

    /// Completes all but the last groups of a thread, or all that it began; or only reads what they copy.
    pub(crate) fn wait(&mut self, thread: Thread, group: u8, left: Option<u64>, reading: bool) {
        let made = self.groups.get(&(thread, group)).copied().unwrap_or(0);
        let due = |one: &Operation| {
            let old = match (one.number, left) {
                (_, None) => true,
                (Some(number), Some(left)) => number.saturating_add(left) < made,
                (None, Some(_)) => false,
            };
            one.group == group && old
        };
        let Some(own) = self.operations.remove(&thread) else { return };
        let mut of = BTreeMap::from([(thread, own)]);
        if reading {
            let due = of.values_mut().flatten().filter(|one| due(one));
            due.flat_map(|one| &mut one.pieces).for_each(Piece::read);
        } else {
            self.complete(&mut of, due, || false);
        }
        self.operations.append(&mut of);
    }

    /// Returns true if kept operations stay so although a thread looks for their completion; the seed decides.
    pub(crate) fn hesitates(&mut self) -> bool {
        !self.operations.is_empty() && self.next() & 1 != 0
    }

    /// The upper bits of a linear congruential generator, which look random.
    fn next(&mut self) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize
    }

    /// Completes what signals an object in memory, until the object is as it is awaited.
    pub(crate) fn awaited(&mut self, at: usize, done: impl Fn() -> bool) {
        let mut all = mem::take(&mut self.operations);
        self.complete(&mut all, |one| one.signals.iter().any(|signal| signal.at == at), done);
        self.operations = all;
    }

    /// Completes everything.
    pub(crate) fn finish(&mut self) {
        let mut all = mem::take(&mut self.operations);
        self.complete(&mut all, |_| true, || false);
    }

    /// Completes operations in an order that the seed chooses, until they are enough.
    fn complete(
        &mut self,
        operations: &mut BTreeMap<Thread, Vec<Operation>>,
        due: impl Fn(&Operation) -> bool,
        done: impl Fn() -> bool,
    ) {
        let places = |(thread, own): (&Thread, &Vec<Operation>)| {
            let due = own.iter().enumerate().filter(|(_, one)| due(one));
            due.map(|(place, _)| (*thread, place)).collect::<Vec<_>>()
        };
        let mut due: Vec<(Thread, usize)> = operations.iter().flat_map(places).collect();
        // Operations that are complete have no place any more, but keep those of others until the end.
        let mut complete = BTreeSet::new();
        while !due.is_empty() && !done() {
            let (thread, place) = due.swap_remove(self.next() % due.len());
            let own = operations.get_mut(&thread).expect("the thread has operations");
            if !complete.insert((thread, place)) {
                continue;
            }
            if own[place].after {
                for (earlier, copy) in own[..place].iter_mut().enumerate() {
                    if copy.group == COPIES && complete.insert((thread, earlier)) {
                        copy.perform();
                    }
                }
            }
            own[place].perform();
        }
        if complete.is_empty() {
            return;
        }
        for (thread, own) in operations.iter_mut() {
            let mut place = 0;
            own.retain(|_| {
                place += 1;
                !complete.contains(&(*thread, place - 1))
            });
        }
        operations.retain(|_, own| !own.is_empty());
    }
}

impl Operation {
    fn perform(&mut self) {
        for piece in &self.pieces {
            // SAFETY: the addresses were checked when the operation began, and memory stays as long as the launch runs.
            unsafe { piece.perform(self.applied.as_mut()) };
        }
        for signal in &mut self.signals {
            // SAFETY: as above.
            unsafe { signal.perform() };
        }
        raw::order();
    }
}
