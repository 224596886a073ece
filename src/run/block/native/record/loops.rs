//! The recording of loops that lanes leave one by one.
//!
//! The code of a stretch that ends before the branch back to where it begins becomes a loop: each warp goes round until its lanes have left.
//! Each thread does there for itself what is done once for all threads elsewhere, as those that have left keep what they had. The lanes end before
//! the branch, which then is done as everywhere: mostly none of them goes back.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::prelude::rust_2024::*;

use ptx_isa::warp::Row;

use super::super::super::super::decode::{Action, Op};
use super::super::{Block, EXECUTED, Entry, LEFT, Step, TABLES};
use super::Recorder;

/// A loop between two operations, of which the second one is the branch.
struct Loop {
    at: usize,
    end: usize,
    /// The offset of the predicate of the branch, and whether its complement is meant.
    predicate: u32,
    not: bool,
    /// Instructions that a thread executes there.
    count: u32,
    /// The operations that are done once for all threads elsewhere.
    each: Vec<usize>,
    /// The registers that may be affine, by their offsets.
    numbers: HashMap<u32, u32>,
}

/// The registers of a loop, by their offsets, and their widths.
#[derive(Default)]
pub(super) struct Registers {
    /// Those that rounds change for others behind them, or for what is behind the loop.
    pub changed: Vec<(u32, u8)>,
    /// Those that rounds read alone.
    pub read: Vec<(u32, u8)>,
    /// Those of the changed ones in which NaNs keep their bits.
    pub exact: BTreeSet<u32>,
}

impl Registers {
    /// Those of a round that was recorded; nobody needs the `unneeded` ones behind the loop.
    pub(super) fn new(round: &Recorder, unneeded: &[u32]) -> Registers {
        let (read, written) = round.builder.registers();
        let needed = |offset: &u32| read.contains_key(offset) || !unneeded.contains(offset);
        let pairs = |registers: &BTreeMap<u32, u8>| Vec::from_iter(registers.iter().map(|(at, bits)| (*at, *bits)));
        let (mut changed, mut only_read) = (pairs(written), pairs(read));
        changed.retain(|(offset, _)| needed(offset));
        only_read.retain(|(offset, _)| !written.contains_key(offset));
        Registers { changed, read: only_read, exact: BTreeSet::new() }
    }

    /// Records a loop until its exact registers are all that are asked for.
    pub(super) fn recorded(
        mut self,
        mut record: impl FnMut(&Registers) -> Option<(Recorder, BTreeSet<u32>)>,
    ) -> Option<Recorder> {
        loop {
            let (recorder, asked) = record(&self)?;
            if asked.is_subset(&self.exact) {
                return Some(recorder);
            }
            self.exact.extend(asked);
        }
    }
}

impl Block<'_> {
    /// Records the operations from `at` to the branch at `end` once more, as a loop, if some lanes go back there to where they begin; `None`
    /// if it cannot be compiled.
    pub(super) fn record_loop(
        &mut self,
        entry: &Entry,
        (at, end): (usize, usize),
        through: bool,
        first: &Recorder,
    ) -> Option<Recorder> {
        let own = self.loop_between(at, end, first)?;
        // Once more, to know which registers there are.
        let recorder = self.record_rounds(entry, through, first.most, &own, &Registers::default())?;
        let (read, written) = recorder.builder.registers();
        let mut registers = Registers::new(&recorder, &self.unneeded(end, &(0..0)));
        registers.changed.retain(|(offset, _)| *offset != own.predicate);
        // The predicate is computed in each round.
        let computed = written.contains_key(&own.predicate) && !read.contains_key(&own.predicate);
        if !computed || registers.changed.iter().any(|(_, bits)| *bits == 1) {
            return None;
        }
        let recorder = registers.recorded(|registers| {
            let mut recorder = self.record_rounds(entry, through, first.most, &own, registers)?;
            let count = recorder.count as u32 + own.count;
            let arguments = (count, EXECUTED as u32, LEFT as u32);
            let asked = recorder.builder.end_loop(own.predicate, own.not, arguments)?;
            Some((recorder, asked))
        });
        recorder.filter(|recorder| recorder.tables.len() <= TABLES)
    }

    /// The loop between two operations, which were recorded first without one.
    fn loop_between(&self, at: usize, end: usize, first: &Recorder) -> Option<Loop> {
        let code = self.code;
        let Op::Effect { guard: Some((register, not)), action: Action::Branch { to, affine }, count, .. } =
            &code.ops[end]
        else {
            return None;
        };
        let writes = |at: usize, number: u32| matches!(&code.ops[at], Op::Once(once) if once.writes.contains(&number));
        // Where the predicate is computed once for all threads, all of them go back.
        let same = |step: &Step| matches!(step, Step::Once(at) if affine.is_some_and(|number| writes(*at, number)));
        if *to != at || first.steps.iter().any(same) {
            return None;
        }
        let predicate = code.program.offset(Row { bits: 1, number: *register })?;
        let each = Vec::from_iter((at..end).filter(|at| matches!(code.ops[*at], Op::Once(_))));
        let mut numbers = self.numbers();
        numbers.retain(|_, number| !each.iter().any(|at| writes(*at, *number)));
        Some(Loop { at, end, predicate, not: *not, count: *count, each, numbers })
    }

    /// Records what a round does, behind the beginning of the loop.
    fn record_rounds(
        &mut self,
        entry: &Entry,
        through: bool,
        most: usize,
        Loop { at, end, each, numbers, .. }: &Loop,
        Registers { changed, read, exact }: &Registers,
    ) -> Option<Recorder> {
        let mut saved = Vec::new();
        let mut recorder = Recorder { looped: true, each: true, ..self.recorder(false, numbers.clone(), most) };
        for at in each {
            recorder.steps.push(Step::Each(*at));
            self.in_lanes(*at, true, &mut saved);
        }
        changed.iter().chain(read).for_each(|(offset, _)| self.define_source(&mut recorder, *offset));
        let begun = recorder.builder.begin_loop(changed, read, exact, 0);
        let recorded = begun.map(|()| self.record(entry, (*at, 0), through, recorder, &mut saved));
        self.affine.restore(&saved);
        let (recorder, behind, rest) = recorded?;
        recorder.filter(|_| behind == *end && rest.is_empty())
    }
}
