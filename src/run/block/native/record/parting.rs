//! The recording of operations between which lanes part.
//!
//! Where lanes branch by what threads have computed, the operations up to where all of them meet again become sections of code: each warp goes
//! through them in the order of the kernel, with the lanes that are there. Each thread does there for itself what is done once for all threads
//! elsewhere, unless a thread does it at most once.

use std::collections::{BTreeSet, HashSet};
use std::prelude::rust_2024::*;

use ptx_isa::jit::{Flow, Fork, PLACES, Target};
use ptx_isa::warp::Row;

use super::super::super::super::decode::{Access, Action, Op};
use super::super::super::affine::Saved;
use super::super::{Block, EXECUTED, Entry, LEFT, LINES, Step, Stretch, TABLES};
use super::Recorder;

/// The most operations between which lanes part.
const MOST_OPERATIONS: usize = 256;

/// Operations between which lanes part.
struct Parting {
    /// The first one, which is a branch, and the one at which all lanes meet again.
    start: usize,
    end: usize,
    /// Where lanes may wait for others.
    places: Vec<usize>,
    /// Those that are done once for all threads.
    once: Vec<usize>,
    /// Those that are elsewhere, but here by each thread, and the registers that they write.
    each: Vec<usize>,
    in_lanes: HashSet<u32>,
}

impl Parting {
    /// The number of a place.
    fn place(&self, at: usize) -> Option<u32> {
        self.places.binary_search(&at).ok().map(|place| place as u32)
    }

    /// The same, if lanes wait there: at the end they do not.
    fn waiting_place(&self, at: usize) -> Option<u32> {
        self.place(at).filter(|_| at < self.end)
    }
}

impl Block<'_> {
    /// Compiles what begins at a branch at which lanes part; `None` if it is none, or cannot be compiled.
    pub(super) fn compile_parting(&mut self, entry: &Entry, start: usize) -> Option<Stretch> {
        let (end, places) = self.parts_from(start)?;
        let parting = self.done_once(Parting {
            start,
            end,
            places,
            once: Vec::new(),
            each: Vec::new(),
            in_lanes: HashSet::new(),
        });
        let mut saved = Vec::new();
        let recorder = self.record_parting(entry, &parting, &mut saved);
        self.affine.restore(&saved);
        self.finish(recorder?, (end, 0..0), parting.places)
    }

    /// Where all lanes meet that part at a branch, and where some may wait before.
    fn parts_from(&self, start: usize) -> Option<(usize, Vec<usize>)> {
        let code = self.code;
        let is_branch = |op: &Op| matches!(op, Op::Effect { action: Action::Branch { .. }, .. });
        let Op::Effect { guard: Some(_), action: Action::Branch { to, .. }, .. } = &code.ops[start] else {
            return None;
        };
        if *to <= start || !self.parts_at(start) {
            return None;
        }
        let (mut places, mut end) = (BTreeSet::new(), start);
        let (mut branches, mut loops, mut plain_loops) = (0, 0, 0);
        while end == start || places.last().is_some_and(|last| *last > end) || is_branch(&code.ops[end]) {
            match &code.ops[end] {
                Op::Effect { action: Action::Branch { to, .. }, .. } if *to >= start => {
                    places.insert(*to);
                    branches += 1;
                    if *to <= end {
                        places.insert(end + 1);
                        loops += 1;
                        plain_loops += usize::from(!code.ops[*to..end].iter().any(is_branch));
                    }
                }
                Op::Once(_) | Op::Same(_) | Op::Run { .. } => {}
                Op::Effect { guard: None, action: Action::Read(_) | Action::Write(_), .. } => {}
                // They are skipped where the operation before is done once for all threads.
                Op::Effect { action: Action::ToGeneric { .. } | Action::FromGeneric { .. }, .. } => {}
                Op::Effect { .. } => return None,
            }
            end += 1;
            if end - start > MOST_OPERATIONS {
                return None;
            }
        }
        // Behind a branch alone, and in a loop without others, more is known of addresses, and more stays in registers of the machine.
        let pays = branches > 1 && (loops == 0 || loops > plain_loops);
        (pays && places.len() <= PLACES).then(|| (end, places.into_iter().collect()))
    }

    /// Finds what can be done once for all threads: what does not read what each thread has computed.
    fn done_once(&mut self, parting: Parting) -> Parting {
        let (code, range) = (self.code, parting.start..parting.end);
        let is_single = |at: &usize| matches!(&code.ops[*at], Op::Once(once) if once.single);
        let mut once = Vec::from_iter(range.clone().filter(is_single));
        loop {
            let is_each = |at: &usize| !once.contains(at) && !self.results(*at).is_empty();
            let each = Vec::from_iter(range.clone().filter(is_each));
            let in_lanes: HashSet<u32> = each.iter().flat_map(|at| self.results(*at)).copied().collect();
            let reads = |at: usize| match &code.ops[at] {
                Op::Once(once) => once.reads.iter().any(|number| in_lanes.contains(number)),
                _ => false,
            };
            let mut saved = Vec::new();
            each.iter().for_each(|at| self.in_lanes(*at, true, &mut saved));
            let failed = once.iter().position(|at| reads(*at) || !self.once_saved(*at, &mut saved));
            self.affine.restore(&saved);
            match failed {
                Some(place) => _ = once.remove(place),
                None => return Parting { once, each, in_lanes, ..parting },
            }
        }
    }

    /// Records the sections; `None` if they cannot be compiled.
    fn record_parting(&mut self, entry: &Entry, parting: &Parting, saved: &mut Vec<Saved>) -> Option<Recorder> {
        let code = self.code;
        let mut numbers = self.numbers();
        numbers.retain(|_, number| !parting.in_lanes.contains(number));
        let recorder = self.recorder(false, numbers, usize::MAX);
        let mut recorder = Recorder { looped: true, each: true, parts: true, ..recorder };
        for at in &parting.each {
            recorder.steps.push(Step::Each(*at));
            self.in_lanes(*at, true, saved);
        }
        for at in &parting.once {
            let Op::Once(once) = &code.ops[*at] else { continue };
            self.record_once(&mut recorder, *at, once, saved)?;
        }
        recorder.builder.begin_sections(Flow { lines: LINES as u32, left: LEFT as u32, executed: EXECUTED as u32 });
        recorder.builder.begin_section(None);
        // The instructions of the section so far, or none between a branch and the next one.
        let (mut at, mut section) = (parting.start, Some(0));
        while at < parting.end {
            let place = parting.place(at);
            if place.is_some() || section.is_none() {
                self.end_section(&mut recorder, at, section)?;
                recorder.builder.begin_section(place);
                section = Some(0);
            }
            let counted = section.get_or_insert(0);
            recorder.operations += 1;
            match &code.ops[at] {
                Op::Once(once) if parting.once.contains(&at) => {
                    *counted += once.count;
                    at += 1;
                }
                Op::Once(_) | Op::Same(_) => {}
                Op::Run { from, to, count, .. } => {
                    *counted += count;
                    for instruction in *from..*to {
                        let computation = code.program.computation(instruction as usize)?;
                        let of_lane = !computation.shape.is_collective() && self.compiles(&recorder, instruction, &[]);
                        of_lane.then_some(())?;
                        self.record_computation(&mut recorder, instruction, &computation)?;
                    }
                }
                Op::Effect { action: action @ (Action::Read(access) | Action::Write(access)), count, .. } => {
                    *counted += count;
                    let write = matches!(action, Action::Write(_));
                    self.record_access_of_parts(entry, &mut recorder, at, access, write)?;
                    recorder.writes |= write;
                    recorder.releases |= write && access.ordered;
                }
                Op::Effect { guard, action: Action::Branch { to, .. }, count, .. } => {
                    let counted = *counted + count;
                    self.record_fork(&mut recorder, parting, at, (*guard, *to), counted)?;
                    section = None;
                }
                Op::Effect { .. } => return None,
            }
            at += 1;
        }
        self.end_section(&mut recorder, at, section)?;
        (recorder.tables.len() <= TABLES).then_some(recorder)
    }

    /// Ends a section before an operation, if there is one.
    fn end_section(&self, recorder: &mut Recorder, at: usize, section: Option<u32>) -> Option<()> {
        let Some(counted) = section else { return Some(()) };
        recorder.builder.end_section(None, counted, &self.unneeded(at, &(0..0)))
    }

    /// Ends a section with a branch.
    fn record_fork(
        &mut self,
        recorder: &mut Recorder,
        parting: &Parting,
        at: usize,
        (guard, to): (Option<(u32, bool)>, usize),
        counted: u32,
    ) -> Option<()> {
        let guard = match guard {
            Some((register, not)) => {
                let predicate = self.code.program.offset(Row { bits: 1, number: register })?;
                self.define_source(recorder, predicate);
                Some((predicate, not))
            }
            None => None,
        };
        let target = match to > at {
            true => Target::Ahead(parting.waiting_place(to)),
            false => Target::Back { to: parting.place(to)?, rest: parting.waiting_place(at + 1) },
        };
        // Neither those that branch need it, nor the others.
        let (mut unneeded, next) = (self.unneeded(to, &(0..0)), self.unneeded(at + 1, &(0..0)));
        unneeded.retain(|offset| guard.is_none() || next.contains(offset));
        recorder.builder.end_section(Some(Fork { guard, target }), counted, &unneeded)
    }

    /// Records an access of the lanes that are there; `None` if it cannot be compiled.
    fn record_access_of_parts(
        &mut self,
        entry: &Entry,
        recorder: &mut Recorder,
        at: usize,
        access: &Access,
        write: bool,
    ) -> Option<()> {
        // Addresses of lanes that are elsewhere may be none of theirs: only what is the same for all of them is known to be accessed.
        let base = access.affine.filter(|_| access.at.base.is_some());
        let is_same = access.at.base.is_none() || base.is_some_and(|base| self.uniform(base).is_some());
        if is_same
            && !write
            && let Some(recorded) = self.record_regular(entry, recorder, at, access, write)
        {
            return recorded.then_some(());
        }
        let scattered = self.scattered(recorder, access, write)?;
        self.record_scattered(recorder, at, access, scattered).then_some(())
    }
}
