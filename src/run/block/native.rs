//! Stretches of a kernel as machine code.
//!
//! Where all lanes of a group come by often, the operations from there on are compiled, as far as they can be: computations, loads and
//! stores whose addresses are affine, lanes that meet, branches ahead that all lanes take, or none, and those over few computations that some
//! lanes take. Instructions that are not compiled are called where they are few. What is computed once for all threads still is,
//! before the code runs; so are the addresses, which must have the steps that the code was made for and lie in one allocation. Wherever that
//! does not hold, operations run one by one.

#![allow(unsafe_code, reason = "machine code accesses memory at addresses that are checked here")]

mod alike;
mod rounds;

use std::ops::Range;
use std::prelude::rust_2024::*;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ptx_isa::jit::{self, Builder, Move, Regular, Trace};
use ptx_isa::lanes::{Element, Transfer};
use ptx_isa::warp::Row;

use super::super::affine::{Affine, DIMENSIONS};
use super::super::decode::{Access, Action, Cell, Meeting, Op, Where};
use super::affine::{OFFSETS, Saved};
use super::{Block, Entry};
use alike::Whole;
use rounds::Back;

/// How much more often than not something may have had other steps, or been in no allocation, before the code is given up.
const MISSES: u32 = 256;

/// The most computations, loads and stores of a stretch, and the fewest.
const MOST: usize = 400;
const FEWEST: usize = 2;

/// Computations, loads and stores between two calls of functions, at least: the code then keeps nothing in registers of the machine.
const APART: usize = 8;

/// Bits of constant addresses that differ among those with one base.
const NEAR: u64 = 0xffff;

type Steps = [u64; DIMENSIONS];

/// Arguments of the code: first the tables of offsets, of which there are at most this many, then the number of instructions that threads
/// executed where others branched over them, then one for each step that has one.
const TABLES: usize = OFFSETS;
const EXECUTED: usize = TABLES;
const STEPS: usize = EXECUTED + 1;

/// The most instructions that some lanes branch over within the code: it computes them for all lanes.
const MOST_SKIPPED: u32 = 8;

/// A place where stretches may begin: where all lanes of a group are active, and where some are. The first of each two goes on behind
/// branches; the second one ends there, for where lanes do not keep to what they did when the first one was compiled.
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
#[derive(Debug)]
enum Step {
    /// The operation of this number is done once for all threads.
    Once(usize),
    /// The lanes of a register are read.
    Lanes(u32),
    /// A predicate is the same in all lanes: it, or its complement, is true.
    Guard { number: u32, is: bool },
    /// A register has lanes of these steps; its base is an argument.
    Value { number: u32, steps: Steps },
    /// Accesses by addresses have these steps; the base is an argument.
    Access { at: usize, base: Base, place: Where, around: Range<i64>, align: u64, steps: Steps },
}

/// Registers as they were before the code was prepared, to be restored, its arguments, and by how much those of steps grow from round to
/// round.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    saved: Vec<Saved>,
    arguments: Vec<u64>,
    growth: Vec<u64>,
}

impl Prepared {
    fn clear(&mut self) {
        self.saved.clear();
        self.arguments.clear();
        self.arguments.resize(STEPS, 0);
        self.growth.clear();
    }

    fn push(&mut self, (value, step): (Affine, u64)) {
        self.arguments.push(value.base);
        self.growth.push(step);
    }
}

/// Consecutive operations as machine code.
#[derive(Debug)]
struct Stretch {
    steps: Vec<Step>,
    /// Steps of lanes for which the code has tables of offsets.
    tables: Vec<Steps>,
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
    /// If this is the body of a loop.
    back: Option<Back>,
    /// How much more often than not something had other steps, or was in no allocation.
    misses: AtomicU32,
    /// If this is all that a thread does.
    whole: Option<Whole>,
}

impl Step {
    fn has_argument(&self) -> bool {
        matches!(self, Step::Value { .. } | Step::Access { .. })
    }
}

/// A stretch that is being compiled.
struct Recorder {
    builder: Builder,
    steps: Vec<Step>,
    tables: Vec<Steps>,
    /// Registers of which the code knows where their lanes are, and steps for addresses, until registers are written.
    values: HashSet<u32>,
    accesses: HashMap<(Base, Where), usize>,
    items: usize,
    /// Their number when a function was called last.
    called: usize,
    count: u64,
    operations: u64,
    writes: bool,
}

/// A slot for each operation; none if the machine does not run what is compiled.
pub(crate) fn slots(operations: usize) -> Vec<Slot> {
    let count = if jit::is_supported() { operations } else { 0 };
    (0..count).map(|_| Slot::default()).collect()
}

impl Recorder {
    /// The index of the argument of a step.
    fn slot(&self, step: usize) -> u32 {
        (STEPS + self.steps[..step].iter().filter(|step| step.has_argument()).count()) as u32
    }

    /// The index of the table of offsets for steps; all lanes are the same without one.
    fn table(&mut self, steps: Steps) -> Option<u32> {
        if steps == [0; DIMENSIONS] {
            return None;
        }
        let found = self.tables.iter().position(|own| *own == steps);
        let index = found.unwrap_or_else(|| {
            self.tables.push(steps);
            self.tables.len() - 1
        });
        Some(index as u32)
    }
}

impl Block<'_> {
    /// Runs a stretch that begins at an operation, if there is one; returns the operation behind, and the number of operations.
    #[inline]
    pub(super) fn native(&mut self, entry: &Entry) -> Option<(usize, u64)> {
        let code = self.code;
        let slot = code.slots.get(entry.at)?;
        let mut stretch = self.stretch(entry, slot, entry.at, 0)?;
        self.more_groups(entry, stretch);
        let (mut at, mut operations) = (stretch.end, stretch.operations + self.more_rounds(entry, stretch));
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
        Some((at, operations))
    }

    /// Runs the stretch of a slot, which begins at an operation, or at an instruction of it.
    #[inline]
    fn stretch<'s>(&mut self, entry: &Entry, slot: &'s Slot, at: usize, from: u32) -> Option<&'s Stretch> {
        let [through, up_to] = &slot.0[usize::from(!self.whole)];
        let mut stretch = self.compiled(entry, through, (at, from), true)?;
        if !self.may_run(entry, stretch, at) {
            stretch = self.compiled(entry, up_to, (at, from), false)?;
            if !self.may_run(entry, stretch, at) {
                return None;
            }
        }
        let misses = &stretch.misses;
        let before = misses.load(Ordering::Relaxed);
        let mut prepared = std::mem::take(&mut self.prepared);
        prepared.clear();
        let ready = self.prepare(entry, stretch, &mut prepared);
        let Prepared { saved, arguments, .. } = &mut prepared;
        match ready {
            Ok(()) => {
                self.affine.tables(&stretch.tables, arguments);
                self.run_trace(stretch, arguments);
                self.executed += self.lanes * stretch.count;
                if before > 0 {
                    misses.store(before - 1, Ordering::Relaxed);
                }
            }
            Err(missed) => {
                self.affine.restore(saved);
                misses.store(before + u32::from(missed), Ordering::Relaxed);
            }
        }
        self.prepared = prepared;
        ready.is_ok().then_some(stretch)
    }

    /// The stretch that begins at an operation, or at an instruction of it, once lanes have come by often enough.
    #[inline]
    fn compiled<'s>(
        &mut self,
        entry: &Entry,
        Compiled { seen, stretch }: &'s Compiled,
        place: (usize, u32),
        through: bool,
    ) -> Option<&'s Stretch> {
        let often = self.launched.options.compile_after?;
        if let Some(stretch) = stretch.get() {
            return stretch.as_deref();
        }
        // Whoever counts at the same time may be lost: it is compiled a little later.
        let count = seen.load(Ordering::Relaxed).saturating_add(entry.masks.len() as u32);
        seen.store(count, Ordering::Relaxed);
        if count < often {
            return None;
        }
        stretch.get_or_init(|| self.compile(entry, place, through)).as_deref()
    }

    /// Returns true if a stretch that begins at an operation is not given up, and no lanes that are further on meet these within it.
    #[inline]
    fn may_run(&self, entry: &Entry, stretch: &Stretch, at: usize) -> bool {
        let meets = |other: &Entry| other.depth == entry.depth && (at + 1..stretch.end).contains(&other.at);
        stretch.misses.load(Ordering::Relaxed) <= MISSES && !self.ready.iter().any(meets)
    }

    /// Runs the code for all warps, with arguments that were prepared.
    fn run_trace(&mut self, stretch: &Stretch, arguments: &mut [u64]) {
        // SAFETY: the program of the block made the code. Arguments are in the order of its slots; `prepare` has found all bytes that are
        // accessed in one allocation or in the memory of their block, aligned, for the lanes that the code is for.
        unsafe { self.code.program.run_trace(&stretch.trace, arguments, &mut self.warps) }
        self.executed += std::mem::take(&mut arguments[EXECUTED]);
        self.changed |= stretch.writes;
    }

    /// Does what is done before the code runs, or before several rounds of it. The error is true if something has other steps, or is in no
    /// allocation.
    fn prepare(&mut self, entry: &Entry, stretch: &Stretch, prepared: &mut Prepared) -> Result<(), bool> {
        for step in &stretch.steps {
            let (value, steps) = match step {
                Step::Once(at) => {
                    if !self.once_saved(*at, &mut prepared.saved) {
                        return Err(false);
                    }
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
                Step::Value { number, steps } => (self.affine.value(*number), steps),
                Step::Access { at, base, place, around, align, steps } => {
                    (self.address(entry, *at, *base, *place, around.clone(), *align), steps)
                }
            };
            let (value, growth) = self.affine.in_first_round(value.ok_or(true)?);
            if value.steps != *steps {
                return Err(true);
            }
            prepared.push((value, growth));
        }
        Ok(())
    }

    /// A predicate, if it is the same in all lanes.
    fn decided(&self, number: u32) -> Option<bool> {
        self.affine.value(number).filter(Affine::is_uniform).map(|value| value.base != 0)
    }

    /// Does an operation once for all threads, and keeps what its results were; false if that is not possible.
    fn once_saved(&mut self, at: usize, saved: &mut Vec<Saved>) -> bool {
        let code = self.code;
        let Op::Once(once) = &code.ops[at] else { return false };
        if !self.full && !once.single {
            return false;
        }
        let before = saved.len();
        saved.extend(once.writes.iter().map(|number| self.affine.saved(*number)));
        // Where it runs in one warp, lanes of that warp are written that may be needed.
        if once.formula.is_none() && saved[before..].iter().any(Saved::has_lanes) || !self.try_once(at, once) {
            saved.truncate(before);
            return false;
        }
        true
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

    /// Compiles what begins at an operation, or at an instruction of it; `None` if there is nothing to compile.
    fn compile(&mut self, entry: &Entry, (at, from): (usize, u32), through: bool) -> Option<Box<Stretch>> {
        let mut most = MOST;
        loop {
            let mut saved = Vec::new();
            let (recorder, end, rest) = self.record(entry, (at, from), (most, through), &mut saved);
            self.affine.restore(&saved);
            let recorder = match recorder {
                Some(recorder) if recorder.items < FEWEST => return None,
                Some(recorder) if recorder.tables.len() <= TABLES => recorder,
                // More than the machine's registers hold at once, or than there are tables.
                _ if most < 2 * FEWEST => return None,
                _ => {
                    most /= 2;
                    continue;
                }
            };
            let Recorder { builder, steps, tables, count, operations, writes, .. } = recorder;
            let trace = builder.finish(&self.unneeded(end, &rest))?;
            let next = Slot::default();
            let back = Stretch::back(&self.code.ops, &steps, at, end).filter(|_| rest.is_empty() && from == 0);
            let whole = self.whole_kernel(&steps, at, end).filter(|_| rest.is_empty() && from == 0);
            return Some(Box::new(Stretch {
                steps,
                tables,
                trace,
                end,
                rest,
                next,
                count,
                operations,
                writes,
                back,
                misses: AtomicU32::new(0),
                whole,
            }));
        }
    }

    /// The offsets of registers that nobody needs where a stretch ends: before an operation, or before an instruction of it.
    fn unneeded(&self, end: usize, rest: &Range<u32>) -> Vec<u32> {
        let code = self.code;
        let instruction = |number: u32| code.needed.instructions[number as usize];
        let next = |op: &Op| match op {
            Op::Run { from, to, .. } if from < to => Some(instruction(*from)),
            Op::Effect { instruction, function, .. } => {
                Some((*function as usize == code.needed.kernel).then_some(*instruction))
            }
            Op::Run { .. } | Op::Once(_) | Op::Same(_) => None,
        };
        let place =
            if rest.is_empty() { code.ops[end..].iter().find_map(next).flatten() } else { instruction(rest.start) };
        let rows = place.into_iter().flat_map(|place| code.needed.unneeded(place));
        rows.filter_map(|row| code.program.offset(row)).collect()
    }

    /// Records operations as far as they can be compiled: what happens before, and the code; then the operation at the end, and what of it is
    /// run one by one. The code has at most `most` computations, loads and stores, and ends at branches unless it goes `through` them. There
    /// is no recorder if it needs too many of the machine's registers.
    fn record(
        &mut self,
        entry: &Entry,
        (mut at, mut from): (usize, u32),
        (most, through): (usize, bool),
        saved: &mut Vec<Saved>,
    ) -> (Option<Recorder>, usize, Range<u32>) {
        let code = self.code;
        let rows = code.affine.iter().enumerate();
        let numbers: HashMap<u32, u32> =
            rows.filter_map(|(number, row)| Some((code.program.offset(*row)?, number as u32))).collect();
        let mut recorder = Recorder {
            builder: code.program.builder(!self.whole),
            steps: Vec::new(),
            tables: Vec::new(),
            values: HashSet::new(),
            accesses: HashMap::new(),
            items: 0,
            called: 0,
            count: 0,
            operations: 0,
            writes: false,
        };
        let start = at;
        while recorder.items < most {
            // Lanes that others have left meet them again.
            if at > start && self.ready.iter().any(|other| (other.depth, other.at) == (entry.depth, at)) {
                break;
            }
            recorder.operations += 1;
            match &code.ops[at] {
                Op::Once(once) => {
                    if !self.once_saved(at, saved) {
                        break;
                    }
                    recorder.steps.push(Step::Once(at));
                    recorder.count += u64::from(once.count);
                    for number in &once.writes {
                        recorder.values.remove(number);
                        recorder.accesses.retain(|(base, _), _| *base != Base::Register(*number));
                    }
                    at += 2;
                }
                Op::Run { from: first, to, count, .. } => {
                    let start = from.max(*first);
                    let Some(next) = self.record_instructions(&mut recorder, &numbers, start..*to, most) else {
                        return (None, at, 0..0);
                    };
                    if next == start && start < *to {
                        break;
                    }
                    if start == *first {
                        recorder.count += u64::from(*count);
                    }
                    if next < *to {
                        // Those that cannot be compiled, up to the next one that can.
                        let rest = (next + 1..*to).find(|other| self.compiles(&numbers, *other)).unwrap_or(*to);
                        return (Some(recorder), at, next..rest);
                    }
                    at += 1;
                }
                Op::Effect {
                    guard, action: action @ (Action::Read(access) | Action::Write(access)), count, ..
                } => {
                    let runs = match guard {
                        None => true,
                        Some((register, not)) => {
                            let row = Row { bits: 1, number: *register };
                            let number = code.program.offset(row).and_then(|offset| numbers.get(&offset));
                            let Some((number, is)) = number.and_then(|number| Some((*number, self.decided(*number)?)))
                            else {
                                break;
                            };
                            recorder.steps.push(Step::Guard { number, is });
                            is != *not
                        }
                    };
                    let write = matches!(action, Action::Write(_));
                    if runs {
                        match self.record_access(entry, &mut recorder, &numbers, at, access, write) {
                            Some(true) => {}
                            Some(false) => return (None, at, 0..0),
                            None => {
                                if guard.is_some() {
                                    recorder.steps.pop();
                                }
                                break;
                            }
                        }
                    }
                    recorder.count += u64::from(*count);
                    recorder.writes |= write && runs;
                    at += 1;
                }
                // Lanes meet where all of them are: only masks that differ would let some go on before others.
                Op::Effect { guard: None, action: Action::Converge { mask, meeting }, count, .. }
                    if self.whole && !matches!(meeting, Meeting::Statement) =>
                {
                    if let Cell::Row(row) = mask {
                        let place = code.program.offset(*row);
                        let known = place.and_then(|offset| Some((offset, *numbers.get(&offset)?)));
                        let same = |(_, number): &(u32, u32)| {
                            self.affine.value(*number).is_some_and(|value| value.is_uniform())
                        };
                        let Some((offset, number)) = known.filter(same) else { break };
                        self.define(&mut recorder, offset, number);
                    }
                    recorder.count += u64::from(*count);
                    at += 1;
                }
                Op::Effect { guard, action: Action::Branch { to, affine }, count, .. } if through && *to > at => {
                    let decided = affine.and_then(|number| Some((number, self.decided(number)?)));
                    let taken = match (guard, decided) {
                        (None, _) => true,
                        (Some((_, not)), Some((number, is))) => {
                            recorder.steps.push(Step::Guard { number, is });
                            is != *not
                        }
                        (Some(guard), None) => {
                            if !self.may_skip(entry, &numbers, *guard, at + 1..*to) {
                                break;
                            }
                            if self.record_skip(&mut recorder, &numbers, *guard, at + 1..*to).is_none() {
                                return (None, at, 0..0);
                            }
                            true
                        }
                    };
                    recorder.count += u64::from(*count);
                    at = if taken { *to } else { at + 1 };
                }
                _ => break,
            }
            from = 0;
        }
        (Some(recorder), at, 0..0)
    }

    /// Returns true if an instruction can be compiled.
    fn compiles(&self, numbers: &HashMap<u32, u32>, instruction: u32) -> bool {
        let program = &self.code.program;
        program.computation(instruction as usize).is_some_and(|computation| {
            let outputs = &computation.at[..computation.shape.outputs.len()];
            !outputs.iter().any(|offset| numbers.contains_key(offset))
                && program.builder(!self.whole).compute(&computation).is_some()
        })
    }

    /// Records instructions as far as they can be compiled, and gives the first that is not; `None` if the code needs too many of the
    /// machine's registers.
    fn record_instructions(
        &mut self,
        recorder: &mut Recorder,
        numbers: &HashMap<u32, u32>,
        instructions: Range<u32>,
        most: usize,
    ) -> Option<u32> {
        let code = self.code;
        for instruction in instructions.clone() {
            let computation = code.program.computation(instruction as usize);
            let Some(computation) = computation.filter(|_| recorder.items < most) else { return Some(instruction) };
            if !self.compiles(numbers, instruction) {
                let of_lanes = !computation.at.iter().any(|offset| numbers.contains_key(offset));
                if !of_lanes || recorder.items < recorder.called + APART {
                    return Some(instruction);
                }
                let unneeded = self.unneeded(0, &(instruction..instruction + 1));
                recorder.builder.call(code.program.callee(instruction as usize), &unneeded)?;
                recorder.called = recorder.items;
                continue;
            }
            for offset in &computation.at[computation.shape.outputs.len()..] {
                self.define_source(recorder, numbers, *offset);
            }
            recorder.builder.compute(&computation)?;
            recorder.items += 1;
        }
        Some(instructions.end)
    }

    /// Returns true if lanes that branch over these operations by a predicate may wait for those that do not, within the code: there are few,
    /// all of them computations of each lane by itself, and no other lanes there.
    fn may_skip(
        &self,
        entry: &Entry,
        numbers: &HashMap<u32, u32>,
        (register, not): (u32, bool),
        operations: Range<usize>,
    ) -> bool {
        let program = &self.code.program;
        let mut builder = program.builder(!self.whole);
        let predicate = program.offset(Row { bits: 1, number: register });
        if predicate.and_then(|predicate| builder.begin_skip(predicate, not)).is_none() {
            return false;
        }
        let mut computes = |instruction: u32| {
            program.computation(instruction as usize).is_some_and(|computation| {
                let outputs = computation.shape.outputs.len();
                let plain = !computation.shape.is_collective() && !computation.shape.places[..outputs].contains(&1);
                let of_lanes = !computation.at[..outputs].iter().any(|offset| numbers.contains_key(offset));
                plain && of_lanes && builder.compute(&computation).is_some()
            })
        };
        let meets = |other: &Entry| other.depth == entry.depth && operations.contains(&other.at);
        let mut count = 0;
        let few = self.code.ops[operations.clone()].iter().all(|op| match op {
            Op::Run { from, to, .. } => {
                count += to - from;
                count <= MOST_SKIPPED && (*from..*to).all(&mut computes)
            }
            _ => false,
        });
        few && !self.ready.iter().any(meets)
    }

    /// Records operations that lanes branch over where a predicate is true, or its complement; `None` if the code needs too many of the
    /// machine's registers.
    fn record_skip(
        &mut self,
        recorder: &mut Recorder,
        numbers: &HashMap<u32, u32>,
        (register, not): (u32, bool),
        operations: Range<usize>,
    ) -> Option<()> {
        let code = self.code;
        let predicate = code.program.offset(Row { bits: 1, number: register })?;
        self.define_source(recorder, numbers, predicate);
        recorder.builder.begin_skip(predicate, not)?;
        let mut counted = 0;
        for op in &code.ops[operations] {
            if let Op::Run { from, to, count, .. } = op {
                self.record_instructions(recorder, numbers, *from..*to, usize::MAX)?;
                counted += count;
            }
        }
        recorder.builder.end_skip(counted, EXECUTED as u32);
        Some(())
    }

    /// Tells the code where the lanes of a register are that is read, if not in the register file.
    fn define(&mut self, recorder: &mut Recorder, offset: u32, number: u32) {
        if !recorder.values.insert(number) {
            return;
        }
        let Some(value) = self.affine.value(number) else { return recorder.steps.push(Step::Lanes(number)) };
        let (slot, table) = (recorder.slot(recorder.steps.len()), recorder.table(value.steps));
        recorder.steps.push(Step::Value { number, steps: value.steps });
        let bits = self.code.affine[number as usize].bits;
        recorder.builder.define(offset, bits, Regular { slot, table, step: value.steps[0] });
    }

    /// The same for a register that may be none of those that may be affine.
    fn define_source(&mut self, recorder: &mut Recorder, numbers: &HashMap<u32, u32>, offset: u32) {
        if let Some(number) = numbers.get(&offset) {
            self.define(recorder, offset, *number);
        }
    }

    /// Records a load or store; `None` if it cannot be compiled, false if the code needs too many of the machine's registers.
    fn record_access(
        &mut self,
        entry: &Entry,
        recorder: &mut Recorder,
        numbers: &HashMap<u32, u32>,
        at: usize,
        access: &Access,
        write: bool,
    ) -> Option<bool> {
        let transfer = access.transfer.as_ref()?;
        if access.ordered || access.shared.is_some() {
            return None;
        }
        let Transfer { bits, bytes, signed, count, elements, .. } = transfer;
        let elements = elements[..usize::from(*count)].iter().map(|element| match element {
            Element::Register(offset) => Some(Ok(*offset)),
            Element::Constant(word) => Some(Err(*word)),
            Element::Sink => None,
        });
        let elements = elements.collect::<Option<Vec<_>>>()?;
        // Arithmetic on addresses wraps. Constant addresses that are near each other have one base.
        let (base, offset) = match access.at.base {
            None if access.at.frame => return None,
            None => (Base::Constant(access.at.offset & !NEAR), (access.at.offset & NEAR) as i64),
            Some(row) if row.bits == 32 => (Base::Register(access.affine?), i64::from(access.at.offset as i32)),
            Some(_) => (Base::Register(access.affine?), access.at.offset as i64),
        };
        let displacement = i32::try_from(offset).ok()?;
        let whole = access.whole();
        if offset.rem_euclid(whole as i64) != 0 {
            return None;
        }
        let value = self.address(entry, at, base, access.place, offset..offset + whole as i64, whole)?;
        let mut moved = Move {
            write,
            elements,
            bits: *bits,
            bytes: *bytes,
            signed: *signed,
            at: Regular { slot: 0, table: None, step: value.steps[0] },
            offset: displacement,
        };
        let uniform = value.steps == [0; DIMENSIONS];
        if !moved.is_compiled(uniform, !self.whole) {
            return None;
        }
        let known = moved.elements.iter().filter_map(|element| element.ok());
        let known: Vec<(u32, u32)> = known.filter_map(|offset| Some((offset, *numbers.get(&offset)?))).collect();
        if !write && !known.is_empty() {
            return None;
        }
        known.into_iter().for_each(|(offset, number)| self.define(recorder, offset, number));
        let (key, own) = ((base, access.place), offset..offset + whole as i64);
        // Accesses that are counted from one base are checked at once, if what all of them access is in one allocation.
        let joined = recorder.accesses.get(&key).and_then(|index| {
            let Step::Access { around, align, .. } = &recorder.steps[*index] else { return None };
            let (around, align) = (around.start.min(own.start)..around.end.max(own.end), whole.max(*align));
            self.address(entry, at, base, access.place, around.clone(), align)?;
            Some((*index, around, align))
        });
        let (index, around, align) = joined.unwrap_or((recorder.steps.len(), own, whole));
        let step = Step::Access { at, base, place: access.place, around, align, steps: value.steps };
        match recorder.steps.get_mut(index) {
            Some(before) => *before = step,
            None => recorder.steps.push(step),
        }
        recorder.accesses.insert(key, index);
        moved.at.slot = recorder.slot(index);
        moved.at.table = recorder.table(value.steps);
        recorder.items += 1;
        Some(recorder.builder.move_elements(&moved).is_some())
    }
}
