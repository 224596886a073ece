//! Stretches of a kernel as machine code.
//!
//! Where lanes of a group come by often, the operations from there on are compiled, as far as they can be: computations, loads and stores,
//! lanes that meet, branches ahead that all lanes take, or none, and those over few operations that some lanes take, and loops. Where lanes
//! diverge, so is the code up to where they reconverge. Instructions that are not compiled are called where they are few. Mostly,
//! values that are computed once for all threads still are, before the code runs; so are affine addresses, which must grow from lane to lane
//! as where the code was made, and lie in one allocation. Wherever that does not hold, operations run one by one. Addresses that lanes compute
//! are looked at by the code itself.
//!
//! | module | holds |
//! |---|---|
//! | `record` | what becomes of operations: what is done before, and the code |
//! | `rounds` | loops that all lanes leave together: many rounds are prepared at once |
//! | `alike` | groups of blocks that are prepared at once |
//! | `scattered` | accesses by addresses that lanes compute |

#![allow(unsafe_code, reason = "machine code accesses memory at addresses that are checked here")]

mod alike;
mod record;
mod rounds;
mod scattered;

use std::ops::Range;
use std::prelude::rust_2024::*;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ptx_isa::jit::{self, Exchange, LABELS, Regular, Trace, WINDOW};

use super::super::affine::{Affine, DIMENSIONS};
use super::super::decode::{Action, Meeting, Op, Where};
use super::super::error::Error;
use super::super::races::Ahead;
use super::affine::{OFFSETS, Saved};
use super::{Block, Entry, Flow};
use alike::Whole;
use rounds::Back;
use scattered::Context;

/// How much more often than not lanes may not have been as in the code, or in no allocation, before it is given up.
const MISSES: u32 = 256;

type Steps = [u64; DIMENSIONS];

/// Arguments of the code: first the tables of offsets, of which there are at most this many, then the number of instructions that threads
/// executed where others branched over them or went round in a loop, how many rounds of loops are left, what the code and a function
/// exchange, where the arguments of the first round are if each has its own, where the masks of waiting lanes are, then those of each step.
const TABLES: usize = OFFSETS;
const EXECUTED: usize = TABLES;
const LEFT: usize = EXECUTED + 1;
const EXCHANGE: usize = LEFT + 1;
const FIRST: usize = EXCHANGE + 1;
const WAITING: usize = FIRST + 1;
const STEPS: usize = WAITING + 1;

/// A place where stretches may begin: where all lanes of a group are active, and where some are. The first of each two goes on behind
/// branches; the second one ends there, and lets each thread compare positions, for where lanes do not keep to what they did when the first
/// one was compiled.
#[derive(Debug, Default)]
pub(crate) struct Slot([[Compiled; 2]; 2]);

#[derive(Debug, Default)]
struct Compiled {
    /// Number of warps that came by before it was compiled.
    seen: AtomicU32,
    /// None if there is nothing to compile.
    stretch: OnceLock<Option<Box<Stretch>>>,
}

/// Where the addresses of accesses are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Base {
    /// A register that may be affine.
    Register(u32),
    Constant(u64),
}

/// Something that is done before the code runs.
#[derive(Debug, PartialEq)]
enum Step {
    /// The operation of this number is done once for all threads.
    Once(usize),
    /// The operation of this number is done by each thread: registers that it writes have their lanes.
    Each(usize),
    /// The lanes of a register are read.
    Lanes(u32),
    /// A predicate is the same in all lanes: it, or its complement, is true.
    Guard { number: u32, is: bool },
    /// A register has such lanes.
    Value { number: u32, regular: Regular },
    /// Accesses are by such addresses.
    Access { at: usize, base: Base, place: Where, around: Range<i64>, align: u64, regular: Regular },
    /// The operation of this number accesses memory by addresses that lanes compute; its window is the arguments from `slot` on. The table,
    /// for shared memory, has how far those of blocks are apart.
    Scattered { at: usize, slot: u32, table: Option<u32> },
    /// Where the launch looks for races: an access in these bytes behind such addresses.
    Watch { at: usize, base: Base, place: Where, own: Range<i64>, writes: bool },
}

/// Registers as they were before the code was prepared, to be restored, its arguments, by how much those of steps grow from round to round,
/// and the steps that its tables of offsets are for.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    saved: Vec<Saved>,
    arguments: Vec<u64>,
    growth: Vec<u64>,
    tables: Vec<Steps>,
    /// The arguments of several rounds.
    rounds: Vec<u64>,
    /// Where the launch looks for races: what the code accesses.
    watched: Vec<Ahead>,
    /// Masks of the lanes of each warp that wait at labels of divergent code: zero, unless it has just run.
    waiting: Vec<[u32; LABELS]>,
}

impl Prepared {
    fn clear(&mut self) {
        self.saved.clear();
        self.arguments.clear();
        self.arguments.resize(STEPS, 0);
        self.growth.clear();
        self.tables.clear();
        self.watched.clear();
    }

    /// Returns true if lanes of some steps are regular in this way.
    fn has(&mut self, Regular { table, step, .. }: Regular, steps: Steps) -> bool {
        table.map_or(steps == [0; DIMENSIONS], |table| steps[0] == step && self.is_for(table, steps))
    }

    /// Returns true if a table is for some steps: those of the first lanes that have it.
    fn is_for(&mut self, table: u32, steps: Steps) -> bool {
        let table = table as usize;
        if table == self.tables.len() {
            self.tables.push(steps);
        }
        self.tables.get(table) == Some(&steps)
    }

    fn push(&mut self, argument: u64, growth: u64) {
        self.arguments.push(argument);
        self.growth.push(growth);
    }
}

/// Consecutive operations as machine code.
#[derive(Debug)]
struct Stretch {
    steps: Vec<Step>,
    trace: Trace,
    /// The first operation behind, or the one in which the code ends.
    end: usize,
    /// In that one, the instructions that are run one by one before the next stretch.
    rest: Range<u32>,
    /// Where this begins.
    next: Slot,
    /// Number of instructions that a thread executes, and of operations.
    count: u64,
    operations: u64,
    writes: bool,
    /// True if it looks at memory that others may change, and true if it releases what other blocks may wait for.
    looks: bool,
    releases: bool,
    /// True if it accesses memory by addresses that lanes compute.
    scatters: bool,
    /// The most rounds of a warp within the code, if lanes go round there, and are before the branch behind their last one when it ends.
    rounds: u64,
    /// If this is the body of a loop that all lanes leave together.
    back: Option<Back>,
    /// How much more often than not lanes were not as in the code, or in no allocation.
    misses: AtomicU32,
    /// If this is all that a thread does.
    whole: Option<Whole>,
    /// The labels of divergent code: operations at which lanes may wait.
    labels: Vec<usize>,
}

impl Step {
    /// The number of its arguments.
    fn arguments(&self) -> usize {
        match self {
            Step::Once(_) | Step::Each(_) | Step::Lanes(_) | Step::Guard { .. } | Step::Watch { .. } => 0,
            Step::Value { .. } | Step::Access { .. } => 1,
            Step::Scattered { .. } => WINDOW,
        }
    }
}

/// A slot for each operation; none if the machine does not run what is compiled.
pub(crate) fn slots(operations: usize) -> Vec<Slot> {
    let count = if jit::is_supported() { operations } else { 0 };
    (0..count).map(|_| Slot::default()).collect()
}

impl Block<'_> {
    /// Runs a stretch that begins at an operation, if there is one; returns the operation behind, and the number of operations.
    #[inline]
    pub(super) fn native(&mut self, entry: &mut Entry) -> Result<Option<(Flow, u64)>, Error> {
        let code = self.code;
        let slots =
            if self.looks_for_races() { code.watched.get_or_init(|| slots(code.slots.len())) } else { &code.slots };
        let Some(slot) = slots.get(entry.at) else { return Ok(None) };
        let Some(mut stretch) = self.stretch(entry, slot, entry.at, 0) else { return Ok(None) };
        let (mut at, mut operations) = (stretch.end, stretch.operations);
        if self.error.is_none() {
            self.more_groups(entry, stretch);
            operations += self.more_rounds(entry, stretch);
        }
        if let Flow::Aside = self.left_waiting(entry, stretch) {
            return Ok(Some((Flow::Aside, operations)));
        }
        if let Flow::Aside = self.contained(entry)? {
            return Ok(Some((Flow::Aside, operations)));
        }
        // The operation in which it ends goes on.
        while !stretch.rest.is_empty() {
            let Op::Run { to, reads, .. } = &code.ops[at] else { break };
            self.fill(reads);
            self.steps(stretch.rest.start, stretch.rest.end);
            operations += u64::from(stretch.rest.end - stretch.rest.start);
            if stretch.rest.end == *to {
                at += 1;
                break;
            }
            match self.stretch(entry, &stretch.next, at, stretch.rest.end) {
                Some(next) => {
                    (at, stretch) = (next.end, next);
                    operations += next.operations;
                    if let Flow::Aside = self.contained(entry)? {
                        return Ok(Some((Flow::Aside, operations)));
                    }
                }
                None => {
                    self.steps(stretch.rest.end, *to);
                    operations += u64::from(*to - stretch.rest.end);
                    at += 1;
                    break;
                }
            }
        }
        // The effect behind may need lanes, and so may what lanes compute that have met.
        let meets = |op: &&Op| {
            matches!(op, Op::Effect { action: Action::Converge { meeting: Meeting::Collective(_), .. }, .. })
        };
        if let Some(Op::Run { reads, .. }) = code.ops[..at].iter().rev().find(|op| !meets(op)) {
            self.fill(reads);
        }
        Ok(Some((Flow::Jump(at), operations)))
    }

    /// Puts lanes aside that wait at labels of divergent code which has ended before they reached its end.
    fn left_waiting(&mut self, entry: &mut Entry, stretch: &Stretch) -> Flow {
        if stretch.labels.is_empty() || self.prepared.arguments[LEFT] > 0 && self.error.is_none() {
            return Flow::Next;
        }
        let mut waiting = std::mem::take(&mut self.prepared.waiting);
        for (label, at) in stretch.labels.iter().enumerate() {
            let mut masks = self.masks();
            masks.iter_mut().zip(&mut waiting).for_each(|(mask, labels)| *mask = std::mem::take(&mut labels[label]));
            entry.masks.iter_mut().zip(&masks).for_each(|(mask, waiting)| *mask &= !waiting);
            self.aside(Entry { at: *at, masks, ..*entry });
        }
        self.prepared.waiting = waiting;
        if entry.is_empty() {
            return Flow::Aside;
        }
        self.activate(entry);
        Flow::Next
    }

    /// Code may have ended with an error in one of several blocks: those before it go on, if they have lanes.
    fn contained(&mut self, entry: &mut Entry) -> Result<Flow, Error> {
        self.error.take().map_or(Ok(Flow::Next), |error| self.contain(entry, error))
    }

    /// Runs a stretch of a slot, which begins at an operation, or at an instruction of it.
    #[inline]
    fn stretch<'s>(&mut self, entry: &Entry, slot: &'s Slot, at: usize, from: u32) -> Option<&'s Stretch> {
        let [through, up_to] = &slot.0[usize::from(!self.whole)];
        // Unless lanes have not come by often enough.
        if let Some(stretch) = self.compiled(entry, through, (at, from), true)?
            && self.run_stretch(entry, stretch, at)
        {
            return Some(stretch);
        }
        let stretch = self.compiled(entry, up_to, (at, from), false)??;
        self.run_stretch(entry, stretch, at).then_some(stretch)
    }

    /// Runs a stretch that begins at an operation, unless it is given up, lanes that are further on meet these within it, or it is not for
    /// what there is now.
    #[inline]
    fn run_stretch(&mut self, entry: &Entry, stretch: &Stretch, at: usize) -> bool {
        let misses = &stretch.misses;
        let before = misses.load(Ordering::Relaxed);
        let meets = |other: &Entry| other.depth == entry.depth && (at + 1..stretch.end).contains(&other.at);
        let diverges = stretch.labels.is_empty() || self.diverges_at(at);
        if before > MISSES || !diverges || self.ready.iter().any(meets) {
            return false;
        }
        let mut prepared = std::mem::take(&mut self.prepared);
        prepared.clear();
        let ready = self.prepare(entry, stretch, &mut prepared);
        let ready = ready.and_then(|()| self.accesses_ahead(&mut prepared.watched).then_some(()).ok_or(true));
        let Prepared { saved, arguments, tables, waiting, .. } = &mut prepared;
        match ready {
            Ok(()) => {
                self.affine.tables(tables, arguments);
                if !stretch.labels.is_empty() {
                    waiting.resize(self.live.len(), [0; LABELS]);
                    arguments[WAITING] = waiting.as_mut_ptr().expose_provenance() as u64;
                }
                let calls = self.run_trace(entry, stretch, arguments);
                self.executed += self.lanes * stretch.count;
                // Code that mostly leaves accesses to a function does not pay.
                let missed = 2 * calls > self.live.len() + self.rounds_done(stretch, arguments) as usize
                    || !stretch.labels.is_empty() && arguments[LEFT] == 0;
                let now = if missed { before + 1 } else { before.saturating_sub(1) };
                if now != before {
                    misses.store(now, Ordering::Relaxed);
                }
            }
            Err(missed) => {
                self.affine.restore(saved);
                misses.store(before + u32::from(missed), Ordering::Relaxed);
            }
        }
        self.prepared = prepared;
        ready.is_ok()
    }

    /// Returns true if lanes may diverge at a branch: it is not known that all of them take it, or none.
    fn diverges_at(&self, at: usize) -> bool {
        match &self.code.ops[at] {
            Op::Effect { action: Action::Branch { affine, .. }, .. } => {
                affine.is_none_or(|number| self.decided(number).is_none())
            }
            _ => false,
        }
    }

    /// The stretch that begins at an operation, or at an instruction of it, if there is one; `None` until lanes have come by often enough.
    #[inline]
    fn compiled<'s>(
        &mut self,
        entry: &Entry,
        Compiled { seen, stretch }: &'s Compiled,
        place: (usize, u32),
        through: bool,
    ) -> Option<Option<&'s Stretch>> {
        let often = self.launched.options.compile_after?;
        if let Some(stretch) = stretch.get() {
            return Some(stretch.as_deref());
        }
        // Whoever counts at the same time may be lost: it is compiled a little later.
        let count = seen.load(Ordering::Relaxed).saturating_add(entry.masks.len() as u32);
        seen.store(count, Ordering::Relaxed);
        (count >= often).then(|| stretch.get_or_init(|| self.compile(entry, place, through)).as_deref())
    }

    /// Runs the code for all warps, with arguments that were prepared; returns how often it left an access to a function.
    fn run_trace(&mut self, entry: &Entry, stretch: &Stretch, arguments: &mut [u64]) -> usize {
        arguments[LEFT] = stretch.rounds * self.live.len() as u64;
        let program = &self.code.program;
        let mut calls = 0;
        if stretch.scatters {
            // The function has the block without its warps.
            let mut warps = std::mem::take(&mut self.warps);
            let mut exchange = self.exchange.take().unwrap_or_else(|| Box::new(Exchange::EMPTY));
            let mut context = Context::new(self, entry, stretch);
            exchange.context = (&raw mut context).expose_provenance() as u64;
            arguments[EXCHANGE] = (&raw mut *exchange).expose_provenance() as u64;
            // SAFETY: as in `run_code`; besides, the code calls a function with the exchange and its context alone.
            unsafe { program.run_trace(&stretch.trace, arguments, &mut warps) };
            let error = context.error.take();
            calls = context.calls;
            exchange.failed = 0;
            (self.warps, self.error, self.exchange) = (warps, error, Some(exchange));
        } else {
            self.run_code(&stretch.trace, arguments);
        }
        self.executed += std::mem::take(&mut arguments[EXECUTED]);
        self.looked |= stretch.looks;
        self.changed |= stretch.writes;
        self.released |= stretch.releases;
        calls
    }

    /// Runs code without accesses by addresses that lanes compute, whose arguments were prepared, or those of each of its rounds.
    fn run_code(&mut self, trace: &Trace, arguments: &mut [u64]) {
        // SAFETY: the program of the block made the code. Arguments are in the order of its slots; `prepare` has found all bytes that are
        // accessed in one allocation or in the memory of their block, aligned, for the lanes that the code is for. The shared memory of a block
        // is a multiple of 128 bytes, and each warp has a row of zeros for waiting lanes.
        unsafe { self.code.program.run_trace(trace, arguments, &mut self.warps) };
    }

    /// Does what is done before the code runs, or before several rounds of it. The error is true if lanes are not as in the code, or in no
    /// allocation.
    fn prepare(&mut self, entry: &Entry, stretch: &Stretch, prepared: &mut Prepared) -> Result<(), bool> {
        for step in &stretch.steps {
            let (value, regular) = match step {
                Step::Once(at) => {
                    if !self.once_saved(*at, &mut prepared.saved) {
                        return Err(false);
                    }
                    continue;
                }
                Step::Each(at) => {
                    self.in_lanes(*at, stretch.rounds > 0, &mut prepared.saved);
                    continue;
                }
                Step::Scattered { at, table, .. } => {
                    let Op::Effect { action: Action::Read(access) | Action::Write(access), .. } = &self.code.ops[*at]
                    else {
                        return Err(true);
                    };
                    if table.is_some_and(|table| !prepared.is_for(table, self.apart())) {
                        return Err(true);
                    }
                    self.window(*at, access).into_iter().for_each(|argument| prepared.push(argument, 0));
                    continue;
                }
                Step::Watch { at, base, place, own, writes } => {
                    let bytes = (own.end - own.start) as u64;
                    let value = self.address(entry, *at, *base, *place, own.clone(), bytes).ok_or(true)?;
                    let value = Affine { base: value.base.wrapping_add_signed(own.start), ..value };
                    let elements = self.accessed_elements(&entry.masks, value, bytes);
                    let bounds = self.bounds_of(*place);
                    prepared.watched.push(Ahead { at: *at, bounds, elements, writes: *writes });
                    continue;
                }
                Step::Guard { number, is } => {
                    if self.decided(*number) != Some(*is) {
                        return Err(true);
                    }
                    continue;
                }
                Step::Lanes(number) => {
                    // The lanes are those of one round.
                    if self.affine.value(*number).is_some_and(|value| self.affine.in_first_round(value).1 != 0) {
                        return Err(false);
                    }
                    self.fill(std::slice::from_ref(number));
                    continue;
                }
                Step::Value { number, regular } => (self.affine.value(*number), regular),
                Step::Access { at, base, place, around, align, regular } => {
                    (self.address(entry, *at, *base, *place, around.clone(), *align), regular)
                }
            };
            let (value, growth) = self.affine.in_first_round(value.ok_or(true)?);
            if !prepared.has(*regular, value.steps) {
                return Err(true);
            }
            prepared.push(value.base, growth);
        }
        Ok(())
    }

    /// How far the shared memory of a lane's block is from that of the first one.
    fn apart(&self) -> Steps {
        let mut steps = [0; DIMENSIONS];
        steps[DIMENSIONS - 1] = self.span as u64;
        steps
    }

    /// The value of a register, if it is the same in all lanes.
    fn uniform(&self, number: u32) -> Option<u64> {
        self.affine.value(number).filter(Affine::is_uniform).map(|value| value.base)
    }

    /// A predicate, if it is the same in all lanes.
    fn decided(&self, number: u32) -> Option<bool> {
        self.uniform(number).map(|value| value != 0)
    }

    /// Does an operation once for all threads, and keeps what its results were; false if that is not possible.
    fn once_saved(&mut self, at: usize, saved: &mut Vec<Saved>) -> bool {
        let code = self.code;
        let Op::Once(once) = &code.ops[at] else { return false };
        if !self.full && !once.single {
            return false;
        }
        let before = saved.len();
        let mut may_run = true;
        // Nobody needs what is written once as it was before.
        if !once.single || self.affine.counts_rounds() {
            once.writes.iter().for_each(|number| saved.push(self.affine.saved(*number)));
            // Where it runs in one warp, lanes of that warp are written that may be needed.
            let in_warp = once.formula.is_none() && matches!(code.ops[at + 1], Op::Run { .. });
            may_run = !in_warp || !saved[before..].iter().any(Saved::has_lanes);
        }
        let done = may_run && self.try_once(at, once);
        if !done {
            saved.truncate(before);
        }
        done
    }

    /// Lets the registers that an operation writes for all threads have their lanes, and keeps what they were; `read` says that lanes are read
    /// before.
    fn in_lanes(&mut self, at: usize, read: bool, saved: &mut Vec<Saved>) {
        let results = self.results(at);
        saved.extend(results.iter().map(|number| self.affine.saved(*number)));
        if read || !self.full {
            self.fill(results);
        }
        results.iter().for_each(|number| self.set_lanes(*number));
    }

    /// The host addresses of what an access accesses.
    fn address(
        &mut self,
        entry: &Entry,
        at: usize,
        base: Base,
        place: Where,
        around: Range<i64>,
        align: u64,
    ) -> Option<Affine> {
        let (value, bits) = match base {
            Base::Register(number) => (self.affine.value(number)?, self.code.affine[number as usize].bits),
            Base::Constant(address) => (Affine::uniform(address), 64),
        };
        self.around = self.bounds[at];
        let located = self.located(&entry.masks, place, value, bits, around, align);
        self.bounds[at] = self.around;
        located
    }
}

impl<'l> Block<'l> {
    /// The registers that may be affine and that an operation writes for all threads.
    fn results(&self, at: usize) -> &'l [u32] {
        match &self.code.ops[at] {
            Op::Once(once) => &once.writes,
            Op::Run { .. } | Op::Effect { .. } => &[],
        }
    }
}
