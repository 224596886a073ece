//! The recording of divergent code: operations between a branch at which lanes diverge and the point where all of them reconverge.
//!
//! They become sections of machine code. Each thread does there for itself what is done once for all threads elsewhere, unless a thread does it
//! at most once.

use std::collections::{BTreeSet, HashSet};
use std::prelude::rust_2024::*;

use ptx_isa::jit::{Branch, LABELS, SectionArguments, Target};
use ptx_isa::warp::Row;

use super::super::super::super::decode::{Action, Op};
use super::super::super::affine::Saved;
use super::super::{Block, EXECUTED, Entry, LEFT, Step, Stretch, TABLES, WAITING};
use super::Recorder;

/// Maximum number of operations of divergent code.
const MOST_OPERATIONS: usize = 256;

/// Divergent code.
struct Divergence {
    /// The branch at which lanes diverge, and the operation at which all of them reconverge.
    start: usize,
    end: usize,
    /// Branch targets, and operations behind backward branches: lanes may wait there for others.
    labels: Vec<usize>,
    /// Operations that are done once for all threads.
    once: Vec<usize>,
    /// Operations that are done once elsewhere, but here by each thread, and the registers that they write.
    each: Vec<usize>,
    in_lanes: HashSet<u32>,
}

impl Divergence {
    /// Index of the label at an operation.
    fn label(&self, at: usize) -> Option<u32> {
        self.labels.binary_search(&at).ok().map(|label| label as u32)
    }

    /// The same for a label at which lanes wait: at the end they do not.
    fn waiting_label(&self, at: usize) -> Option<u32> {
        self.label(at).filter(|_| at < self.end)
    }
}

impl Block<'_> {
    /// Compiles divergent code from a branch on; `None` if lanes do not diverge there, or if it cannot be compiled.
    pub(super) fn compile_divergence(&mut self, entry: &Entry, start: usize) -> Option<Stretch> {
        let (end, labels) = self.reconvergence(start)?;
        let divergence = self.divergence(start, end, labels);
        let mut saved = Vec::new();
        let recorder = self.record_divergence(entry, &divergence, &mut saved);
        self.affine.restore(&saved);
        self.finish(recorder?, (end, 0..0), divergence.labels)
    }

    /// Finds the operation at which all lanes reconverge that diverge at a branch, and the labels before it.
    fn reconvergence(&self, start: usize) -> Option<(usize, Vec<usize>)> {
        let code = self.code;
        let is_branch = |op: &Op| matches!(op, Op::Effect { action: Action::Branch { .. }, .. });
        let is_inside = |op: &Op| matches!(op, Op::Effect { action: Action::Branch { to, .. }, .. } if *to >= start);
        let Op::Effect { guard: Some(_), action: Action::Branch { to, .. }, .. } = &code.ops[start] else {
            return None;
        };
        if *to <= start || !self.diverges_at(start) {
            return None;
        }
        let (mut labels, mut end) = (BTreeSet::new(), start);
        let (mut branches, mut loops, mut plain_loops) = (0, 0, 0);
        while end == start || labels.last().is_some_and(|last| *last > end) || is_inside(&code.ops[end]) {
            match &code.ops[end] {
                Op::Effect { action: Action::Branch { to, .. }, .. } if *to >= start => {
                    labels.insert(*to);
                    branches += 1;
                    if *to <= end {
                        labels.insert(end + 1);
                        loops += 1;
                        plain_loops += usize::from(!code.ops[*to..end].iter().any(is_branch));
                    }
                }
                Op::Once(_) | Op::Run { .. } => {}
                Op::Effect { guard: None, action: Action::Read(_) | Action::Write(_), .. } => {}
                // Skipped if the operation before is done once for all threads.
                Op::Effect { action: Action::ToGeneric { .. } | Action::FromGeneric { .. }, .. } => {}
                Op::Effect { .. } => return None,
            }
            end += 1;
            if end - start > MOST_OPERATIONS {
                return None;
            }
        }
        // Code behind a single branch, and loops without branches, are faster by themselves: with affine addresses, and registers of the
        // kernel in those of the machine.
        let pays = branches > 1 && (loops == 0 || loops > plain_loops);
        (pays && labels.len() <= LABELS).then(|| (end, labels.into_iter().collect()))
    }

    /// Selects the operations of divergent code that can be done once for all threads: their sources are not computed by each thread.
    fn divergence(&mut self, start: usize, end: usize, labels: Vec<usize>) -> Divergence {
        let (code, range) = (self.code, start..end);
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
                None => return Divergence { start, end, labels, once, each, in_lanes },
            }
        }
    }

    /// Records divergent code as sections; `None` if it cannot be compiled.
    fn record_divergence(
        &mut self,
        entry: &Entry,
        divergence: &Divergence,
        saved: &mut Vec<Saved>,
    ) -> Option<Recorder> {
        let code = self.code;
        let mut numbers = self.numbers();
        numbers.retain(|_, number| !divergence.in_lanes.contains(number));
        let recorder = self.recorder(false, numbers, usize::MAX);
        let mut recorder = Recorder { looped: true, each: true, divergent: true, ..recorder };
        for at in &divergence.each {
            recorder.steps.push(Step::Each(*at));
            self.in_lanes(*at, true, saved);
        }
        for at in &divergence.once {
            let Op::Once(once) = &code.ops[*at] else { continue };
            self.record_once(&mut recorder, *at, once, saved)?;
        }
        let (waiting, left, executed) = (WAITING as u32, LEFT as u32, EXECUTED as u32);
        recorder.builder.begin_sections(SectionArguments { waiting, left, executed });
        recorder.builder.begin_section(None);
        // Number of instructions of the current section; `None` between a branch and the next section.
        let (mut at, mut section) = (divergence.start, Some(0));
        while at < divergence.end {
            let label = divergence.label(at);
            if label.is_some() || section.is_none() {
                self.end_section(&mut recorder, at, section)?;
                recorder.builder.begin_section(label);
                section = Some(0);
            }
            let counted = section.get_or_insert(0);
            recorder.operations += 1;
            match &code.ops[at] {
                Op::Once(once) if divergence.once.contains(&at) => {
                    *counted += once.count;
                    at += 1;
                }
                Op::Once(_) => {}
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
                    self.record_access(entry, &mut recorder, at, access, write)?.then_some(())?;
                    recorder.writes |= write;
                    recorder.looks |= access.order.is_some();
                    recorder.releases |= write && access.order.is_some();
                }
                Op::Effect { guard, action: Action::Branch { to, .. }, count, .. } => {
                    let counted = *counted + count;
                    self.record_branch(&mut recorder, divergence, at, (*guard, *to), counted)?;
                    section = None;
                }
                Op::Effect { .. } => return None,
            }
            at += 1;
        }
        self.end_section(&mut recorder, at, section)?;
        (recorder.tables.len() <= TABLES).then_some(recorder)
    }

    /// Ends the current section, if there is one, before an operation.
    fn end_section(&self, recorder: &mut Recorder, at: usize, section: Option<u32>) -> Option<()> {
        let Some(counted) = section else { return Some(()) };
        recorder.builder.end_section(None, counted, &self.unneeded(at, &(0..0)))
    }

    /// Ends the current section with a branch.
    fn record_branch(
        &mut self,
        recorder: &mut Recorder,
        divergence: &Divergence,
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
            true => Target::Ahead(divergence.waiting_label(to)),
            false => Target::Back { to: divergence.label(to)?, rest: divergence.waiting_label(at + 1) },
        };
        // Not needed by lanes that branch, nor by those that do not.
        let (mut unneeded, next) = (self.unneeded(to, &(0..0)), self.unneeded(at + 1, &(0..0)));
        unneeded.retain(|offset| guard.is_none() || next.contains(offset));
        recorder.builder.end_section(Some(Branch { guard, target }), counted, &unneeded)
    }
}
