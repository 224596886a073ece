//! The recording of stretches: operations, as far as they can be compiled, become what is done before the code runs, and the code.

mod accesses;
mod divergence;
mod loops;
mod several;

use std::ops::Range;
use std::prelude::rust_2024::*;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU32;

use ptx_isa::jit::{Builder, Computation, Regular};
use ptx_isa::warp::Row;

use super::super::super::affine::DIMENSIONS;
use super::super::super::decode::{Action, Cell, Meeting, Once, Op, Where};
use super::super::affine::Saved;
use super::rounds::MOST_OPERATIONS;
use super::{Base, Block, EXECUTED, Entry, STEPS, Slot, Step, Steps, Stretch, TABLES};

/// The most computations, loads and stores of a stretch, and the fewest.
const MOST: usize = 400;
const FEWEST: usize = 2;

/// Computations, loads and stores between two calls of functions, at least: the code then keeps nothing in registers of the machine.
const APART: usize = 8;

/// The most instructions that some lanes branch over within the code: it goes through them for all lanes.
const MOST_SKIPPED: u32 = 8;

/// A stretch that is being compiled.
struct Recorder {
    builder: Builder,
    /// The registers that may be affine, by their offsets.
    numbers: HashMap<u32, u32>,
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
    /// True if all lanes of all warps take part.
    whole: bool,
    /// The most computations, loads and stores.
    most: usize,
    /// True if the code is a loop: it calls no functions.
    looped: bool,
    /// True if each thread does what is done once for all threads elsewhere.
    each: bool,
    /// True if it accesses memory by addresses that lanes compute.
    scatters: bool,
    /// True if it is divergent code, and true if it looks there at memory that others may change, and releases what others may wait for.
    divergent: bool,
    looks: bool,
    releases: bool,
}

impl Recorder {
    /// The index of the argument of a step.
    fn slot(&self, step: usize) -> u32 {
        (STEPS + self.steps[..step].iter().map(Step::arguments).sum::<usize>()) as u32
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

    /// Registers are written: what was known of them no longer holds.
    fn forget(&mut self, numbers: &[u32]) {
        self.values.retain(|number| !numbers.contains(number));
        self.accesses.retain(|(base, _), _| !matches!(base, Base::Register(number) if numbers.contains(number)));
    }

    /// Lanes of some steps, whose base is the argument of a step of the stretch.
    fn regular(&mut self, step: usize, steps: Steps) -> Regular {
        Regular { slot: self.slot(step), table: self.table(steps), step: steps[0] }
    }
}

impl Block<'_> {
    /// Compiles what begins at an operation, or at an instruction of it; `None` if there is nothing to compile.
    pub(super) fn compile(&mut self, entry: &Entry, (at, from): (usize, u32), through: bool) -> Option<Box<Stretch>> {
        let mut most = MOST;
        loop {
            let mut saved = Vec::new();
            let recorder = self.recorder(self.whole, self.numbers(), most);
            let (recorder, end, rest) = self.record(entry, (at, from), through, recorder, &mut saved);
            self.affine.restore(&saved);
            let recorder = match recorder {
                Some(recorder) if recorder.items < FEWEST => {
                    let may_diverge = through && from == 0;
                    return if may_diverge { self.compile_divergence(entry, at).map(Box::new) } else { None };
                }
                Some(recorder) if recorder.tables.len() <= TABLES => recorder,
                // More than the machine's registers hold at once, or than there are tables.
                _ if most < 2 * FEWEST => return None,
                _ => {
                    most /= 2;
                    continue;
                }
            };
            // All that is behind the operation at which it begins.
            let entire = from == 0 && rest.is_empty();
            let looped = if entire { self.record_loop(entry, (at, end), through, &recorder) } else { None };
            let recorder = looped.unwrap_or(recorder);
            let mut back =
                Stretch::back(&self.code.ops, &recorder.steps, at, end).filter(|_| entire && !recorder.scatters);
            if let Some(back) = &mut back {
                back.several = self.record_several(entry, (at, end), through, &recorder);
            }
            let whole = self.whole_kernel(&recorder.steps, at, end).filter(|_| entire);
            let stretch = self.finish(recorder, (end, rest), Vec::new())?;
            return Some(Box::new(Stretch { back, whole, ..stretch }));
        }
    }

    /// Finishes a recording that ends before an operation, or before instructions of it that are run one by one. `labels` are those of
    /// divergent code.
    fn finish(&self, recorder: Recorder, (end, rest): (usize, Range<u32>), labels: Vec<usize>) -> Option<Stretch> {
        let Recorder { builder, steps, count, operations, writes, looped, scatters, looks, releases, .. } = recorder;
        Some(Stretch {
            steps,
            trace: builder.finish(&self.unneeded(end, &rest))?,
            end,
            rest,
            next: Slot::default(),
            count,
            operations,
            writes,
            looks,
            releases,
            rounds: if looped { (MOST_OPERATIONS / operations).max(1) } else { 0 },
            scatters,
            back: None,
            misses: AtomicU32::new(0),
            whole: None,
            labels,
        })
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
            Op::Run { .. } | Op::Once(_) => None,
        };
        let place =
            if rest.is_empty() { code.ops[end..].iter().find_map(next).flatten() } else { instruction(rest.start) };
        self.unneeded_at(place)
    }

    /// The same directly behind an instruction.
    fn unneeded_behind(&self, instruction: u32) -> Vec<u32> {
        let places = &self.code.needed.instructions[instruction as usize..];
        // A statement may be several instructions.
        let last = places.get(1) != Some(&places[0]);
        self.unneeded_at(places[0].filter(|_| last).map(|place| place + 1))
    }

    /// The same before a statement of the kernel.
    fn unneeded_at(&self, place: Option<u32>) -> Vec<u32> {
        let rows = place.into_iter().flat_map(|place| self.code.needed.unneeded(place));
        rows.filter_map(|row| self.code.program.offset(row)).collect()
    }

    fn recorder(&self, whole: bool, numbers: HashMap<u32, u32>, most: usize) -> Recorder {
        Recorder {
            builder: self.code.program.builder(!whole),
            numbers,
            steps: Vec::new(),
            tables: Vec::new(),
            values: HashSet::new(),
            accesses: HashMap::new(),
            items: 0,
            called: 0,
            count: 0,
            operations: 0,
            writes: false,
            whole,
            most,
            looped: false,
            each: false,
            scatters: false,
            divergent: false,
            looks: false,
            releases: false,
        }
    }

    /// The registers that may be affine, by their offsets.
    fn numbers(&self) -> HashMap<u32, u32> {
        let rows = self.code.affine.iter().enumerate();
        rows.filter_map(|(number, row)| Some((self.code.program.offset(*row)?, number as u32))).collect()
    }

    /// Records operations as far as they can be compiled: what happens before, and the code; then the operation at the end, and what of it is
    /// run one by one. The code goes `through` branches, or ends there; then each thread does what may not be the same for all. There is no
    /// recorder if it needs too many of the machine's registers.
    fn record(
        &mut self,
        entry: &Entry,
        (mut at, mut from): (usize, u32),
        through: bool,
        mut recorder: Recorder,
        saved: &mut Vec<Saved>,
    ) -> (Option<Recorder>, usize, Range<u32>) {
        let code = self.code;
        let start = at;
        while recorder.items < recorder.most {
            // Lanes that others have left meet them again.
            if at > start && self.ready.iter().any(|other| (other.depth, other.at) == (entry.depth, at)) {
                break;
            }
            recorder.operations += 1;
            match &code.ops[at] {
                // Each thread does the operation behind.
                Op::Once(_) if recorder.each => at += 1,
                Op::Once(once) => {
                    let each = !through && self.may_differ(&recorder, once);
                    if !each && self.record_once(&mut recorder, at, once, saved).is_some() {
                        recorder.count += u64::from(once.count);
                    } else if !through && self.may_record_each(&recorder, at, once) {
                        let Some(count) = self.record_each(&mut recorder, at, once, saved) else {
                            return (None, at, 0..0);
                        };
                        recorder.count += u64::from(count);
                    } else {
                        break;
                    }
                    at += 2;
                }
                Op::Run { from: first, to, count, .. } => {
                    let start = from.max(*first);
                    let Some(next) = self.record_instructions(&mut recorder, start..*to) else {
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
                        let rest = (next + 1..*to).find(|other| self.compiles(&recorder, *other, &[])).unwrap_or(*to);
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
                            let number = code.program.offset(row).and_then(|offset| recorder.numbers.get(&offset));
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
                        match self.record_access(entry, &mut recorder, at, access, write) {
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
                    if recorder.whole
                        && !matches!(meeting, Meeting::Statement)
                        && !(self.looks_for_races() && meeting.orders()) =>
                {
                    if let Cell::Row(row) = mask {
                        let place = code.program.offset(*row);
                        let known = place.and_then(|offset| Some((offset, *recorder.numbers.get(&offset)?)));
                        let same = known.filter(|(_, number)| self.uniform(*number).is_some());
                        let Some((offset, number)) = same else { break };
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
                            if !self.may_skip(entry, &recorder, *guard, at + 1..*to) {
                                break;
                            }
                            if self.record_skip(&mut recorder, *guard, at + 1..*to, saved).is_none() {
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

    /// Returns true if an instruction can be compiled. Of the registers that may be affine it may write some.
    fn compiles(&self, recorder: &Recorder, instruction: u32, some: &[u32]) -> bool {
        let program = &self.code.program;
        program.computation(instruction as usize).is_some_and(|computation| {
            let outputs = &computation.at[..computation.shape.outputs.len()];
            let may_write = |offset: &u32| recorder.numbers.get(offset).is_none_or(|number| some.contains(number));
            outputs.iter().all(may_write) && program.builder(!recorder.whole).compute(&computation, &[]).is_some()
        })
    }

    /// Records instructions as far as they can be compiled, and gives the first that is not; `None` if the code needs too many of the
    /// machine's registers.
    fn record_instructions(&mut self, recorder: &mut Recorder, instructions: Range<u32>) -> Option<u32> {
        let code = self.code;
        for instruction in instructions.clone() {
            let computation = code.program.computation(instruction as usize);
            let Some(computation) = computation.filter(|_| recorder.items < recorder.most) else {
                return Some(instruction);
            };
            if !self.compiles(recorder, instruction, &[]) {
                let of_lanes = !computation.at.iter().any(|offset| recorder.numbers.contains_key(offset));
                if !of_lanes || recorder.items < recorder.called + APART || recorder.looped {
                    return Some(instruction);
                }
                let unneeded = self.unneeded(0, &(instruction..instruction + 1));
                recorder.builder.call(code.program.callee(instruction as usize), &unneeded)?;
                recorder.called = recorder.items;
                continue;
            }
            self.record_computation(recorder, instruction, &computation)?;
        }
        Some(instructions.end)
    }

    /// Records an instruction that can be compiled; `None` if the code needs too many of the machine's registers.
    fn record_computation(
        &mut self,
        recorder: &mut Recorder,
        instruction: u32,
        computation: &Computation<'_>,
    ) -> Option<()> {
        for offset in &computation.at[computation.shape.outputs.len()..] {
            self.define_source(recorder, *offset);
        }
        recorder.items += 1;
        // Of several results some may be all that is needed.
        let several = computation.shape.outputs.len() > 1;
        let unneeded = if several { self.unneeded_behind(instruction) } else { Vec::new() };
        recorder.builder.compute(computation, &unneeded)
    }

    /// Returns true if lanes that branch over these operations by a predicate may wait for those that do not, within the code: there are few,
    /// each of them is a computation of each lane by itself, a load or a store, and no other lanes are there.
    fn may_skip(
        &self,
        entry: &Entry,
        recorder: &Recorder,
        (register, not): (u32, bool),
        operations: Range<usize>,
    ) -> bool {
        let program = &self.code.program;
        let mut builder = program.builder(!recorder.whole);
        let predicate = program.offset(Row { bits: 1, number: register });
        if predicate.and_then(|predicate| builder.begin_skip(predicate, not)).is_none() {
            return false;
        }
        let computes = |builder: &mut Builder, instruction: u32| {
            program.computation(instruction as usize).is_some_and(|computation| {
                let outputs = computation.shape.outputs.len();
                let plain = !computation.shape.is_collective() && !computation.shape.places[..outputs].contains(&1);
                let of_lanes = !computation.at[..outputs].iter().any(|offset| recorder.numbers.contains_key(offset));
                plain && of_lanes && builder.compute(&computation, &[]).is_some()
            })
        };
        let meets = |other: &Entry| other.depth == entry.depth && operations.contains(&other.at);
        if self.ready.iter().any(meets) {
            return false;
        }
        let (mut count, mut at) = (0, operations.start);
        while at < operations.end && count <= MOST_SKIPPED {
            match &self.code.ops[at] {
                // Whoever needs it finds it.
                Op::Once(once) if once.single && !recorder.each => at += 1,
                Op::Once(_) if recorder.each => {}
                Op::Run { from, to, .. } if (*from..*to).all(|instruction| computes(&mut builder, instruction)) => {
                    count += to - from
                }
                Op::Effect { guard: None, action: action @ (Action::Read(access) | Action::Write(access)), .. } => {
                    let scattered = self.scattered(recorder, access, matches!(action, Action::Write(_)));
                    if scattered.and_then(|scattered| builder.scatter(&scattered)).is_none() {
                        return false;
                    }
                    count += 1;
                }
                _ => return false,
            }
            at += 1;
        }
        count <= MOST_SKIPPED
    }

    /// Records operations that lanes branch over where a predicate is true, or its complement; `None` if the code needs too many of the
    /// machine's registers.
    fn record_skip(
        &mut self,
        recorder: &mut Recorder,
        (register, not): (u32, bool),
        operations: Range<usize>,
        saved: &mut Vec<Saved>,
    ) -> Option<()> {
        let code = self.code;
        let predicate = code.program.offset(Row { bits: 1, number: register })?;
        self.define_source(recorder, predicate);
        recorder.builder.begin_skip(predicate, not)?;
        let (mut counted, mut at) = (0, operations.start);
        while at < operations.end {
            match &code.ops[at] {
                Op::Once(_) if recorder.each => {}
                Op::Once(once) => {
                    self.record_once(recorder, at, once, saved)?;
                    counted += once.count;
                    at += 1;
                }
                Op::Run { from, to, count, .. } => {
                    for instruction in *from..*to {
                        let computation = code.program.computation(instruction as usize)?;
                        self.record_computation(recorder, instruction, &computation)?;
                    }
                    counted += count;
                }
                Op::Effect { action: action @ (Action::Read(access) | Action::Write(access)), count, .. } => {
                    let write = matches!(action, Action::Write(_));
                    let scattered = self.scattered(recorder, access, write)?;
                    self.record_scattered(recorder, at, access, scattered).then_some(())?;
                    recorder.writes |= write;
                    counted += *count;
                }
                _ => return None,
            }
            at += 1;
        }
        recorder.builder.end_skip(counted, EXECUTED as u32);
        Some(())
    }

    /// Records what is done once for all threads; `None` if it cannot be.
    fn record_once(&mut self, recorder: &mut Recorder, at: usize, once: &Once, saved: &mut Vec<Saved>) -> Option<()> {
        self.once_saved(at, saved).then_some(())?;
        recorder.steps.push(Step::Once(at));
        recorder.forget(&once.writes);
        Some(())
    }

    /// Returns true if what is done once for all threads is not elsewhere: it reads what each thread has computed, or compares positions.
    fn may_differ(&self, recorder: &Recorder, once: &Once) -> bool {
        let offset = |number: &u32| self.code.program.offset(self.code.affine[*number as usize]);
        let is_kept = |number: &u32| offset(number).is_some_and(|offset| recorder.numbers.contains_key(&offset));
        let compares = once.writes.iter().any(|number| self.code.affine[*number as usize].bits == 1);
        let value = |number: &u32| self.affine.value(*number);
        !once.writes.iter().all(is_kept)
            || once.reads.iter().any(|number| value(number).is_none_or(|value| compares && !value.is_uniform()))
    }

    /// Returns true if each thread may do the operation behind one that is not done once for all threads.
    fn may_record_each(&self, recorder: &Recorder, at: usize, once: &Once) -> bool {
        let Op::Run { from, to, .. } = self.code.ops[at + 1] else { return false };
        let compiles = |instruction: u32| self.compiles(recorder, instruction, &once.writes);
        recorder.items + (to - from) as usize <= recorder.most && (from..to).all(compiles)
    }

    /// Records this; gives the number of instructions that a thread executes, or `None` if the code needs too many of the machine's registers.
    fn record_each(&mut self, recorder: &mut Recorder, at: usize, once: &Once, saved: &mut Vec<Saved>) -> Option<u32> {
        let Op::Run { from, to, count, .. } = self.code.ops[at + 1] else { return None };
        // It reads its registers as they were before.
        for number in once.reads.iter().filter(|number| once.writes.contains(number)) {
            let offset = self.code.program.offset(self.code.affine[*number as usize])?;
            if recorder.numbers.contains_key(&offset) {
                self.define(recorder, offset, *number);
            }
        }
        self.in_lanes(at, false, saved);
        recorder.steps.push(Step::Each(at));
        recorder.numbers.retain(|_, number| !once.writes.contains(number));
        recorder.forget(&once.writes);
        for instruction in from..to {
            let computation = self.code.program.computation(instruction as usize)?;
            self.record_computation(recorder, instruction, &computation)?;
        }
        Some(count)
    }

    /// Tells the code where the lanes of a register are that is read, if not in the register file.
    fn define(&mut self, recorder: &mut Recorder, offset: u32, number: u32) {
        if !recorder.values.insert(number) {
            return;
        }
        let Some(value) = self.affine.value(number) else { return recorder.steps.push(Step::Lanes(number)) };
        let regular = recorder.regular(recorder.steps.len(), value.steps);
        recorder.steps.push(Step::Value { number, regular });
        recorder.builder.define(offset, self.code.affine[number as usize].bits, regular);
        // Nothing else writes a register that an operation writes at most once.
        let is_fixed = |op: &Op| {
            let Op::Once(once) = op else { return false };
            once.single && once.formula.is_some() && once.reads.is_empty() && once.writes == [number]
        };
        if value.is_uniform() && self.code.ops.iter().any(is_fixed) {
            recorder.builder.fix(offset, value.base);
        }
    }

    /// The same for a register that may be none of those that may be affine.
    fn define_source(&mut self, recorder: &mut Recorder, offset: u32) {
        if let Some(number) = recorder.numbers.get(&offset) {
            self.define(recorder, offset, *number);
        }
    }
}
