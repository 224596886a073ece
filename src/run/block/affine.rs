//! Registers whose values are affine in the position of a thread: see [`super::super::affine`].
//!
//! While all threads of a group that have not ended are at one place, what an instruction writes replaces the register as a whole. So one
//! value stands for all lanes, until an instruction needs the lanes or only some threads write them. If only some threads are there, the same
//! holds for a register that each thread writes once: threads that come later find the same values in its sources, or find lanes there.

use std::ops::RangeInclusive;
use std::prelude::rust_2024::*;

use ptx_isa::lanes::{HALF, Regular};
use ptx_isa::warp::Row;

use super::super::affine::{Affine, DIMENSIONS, Values};
use super::super::decode::{Access, Action, Cell, Once, Op, Where};
use super::super::launch::Launched;
use super::Block;

/// Number of different steps whose offsets are kept.
pub(super) const OFFSETS: usize = 8;

/// The dimension that counts rounds of a loop, or groups of blocks, where its extent is one: z, or y where lanes and warps are told apart.
#[cfg(feature = "jit")]
const ROUND: usize = 2;

/// Where the value of a register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// In its lanes alone.
    Lanes,
    /// In its affine value alone.
    Value,
    Both,
}

/// State of a register, to be restored.
#[cfg(feature = "jit")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    number: u32,
    value: Affine,
    home: Home,
}

#[cfg(feature = "jit")]
impl Saved {
    /// Returns true if its lanes have its value.
    pub(super) fn has_lanes(&self) -> bool {
        self.home != Home::Value
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Its value if it was affine.
    pub(super) fn value(&self) -> Option<Affine> {
        (self.home != Home::Lanes).then_some(self.value)
    }
}

/// The registers that may be affine.
#[derive(Debug, Default)]
pub(crate) struct AffineRegisters {
    values: Vec<Affine>,
    homes: Vec<Home>,
    /// The greatest index in each dimension.
    last: [u64; DIMENSIONS],
    /// True if x counts lanes, y warps, and z the rows of blocks that have rows of whole warps.
    split: bool,
    /// The most warps of all blocks, and those of one.
    warps: usize,
    per: usize,
    /// True if the lanes of each half of a warp follow each other in x.
    rows: bool,
    /// Offsets in the first lane of each half, for steps that were asked for.
    offsets: Vec<([u64; DIMENSIONS], Vec<u64>)>,
    /// The next of these to be replaced.
    oldest: usize,
    /// What a formula computes on the way.
    scratch: Values,
    /// True if values are those of several rounds of a loop.
    in_rounds: bool,
}

impl AffineRegisters {
    /// A launch begins, with groups of up to `warps` warps: no register is affine. Offsets stay if they are for the same blocks.
    pub(super) fn begin(&mut self, launched: &Launched<'_>, warps: usize) {
        let (extents, split) = match launched.block.map(u64::from) {
            // Lanes and warps are told apart by masks and shifts.
            [x, y, 1] if x > 32 && x.is_multiple_of(32) => ([32, x / 32, y], true),
            extents => (extents, false),
        };
        let [x, y, z] = extents;
        let (last, count) = ([x - 1, y - 1, z - 1, 0], launched.code.affine.len());
        if self.warps != warps || self.last[..DIMENSIONS - 1] != last[..DIMENSIONS - 1] {
            self.offsets.clear();
        }
        (self.last, self.split, self.warps) = (last, split, warps);
        self.per = launched.threads().div_ceil(32);
        self.rows = y * z == 1 || x.is_multiple_of(HALF as u64);
        self.values.resize(count, Affine::default());
        self.homes.clear();
        self.homes.resize(count, Home::Lanes);
    }

    /// The index in each dimension of the first lane of a half of a warp of the first block.
    fn index(&self, half: usize) -> [u64; DIMENSIONS] {
        let thread = (half * HALF) as u64;
        let [x, y, z, _] = self.last;
        match self.rows {
            // In the last warp of a block are lanes that no thread has.
            true if y + z == 0 => [thread, 0, 0, 0],
            true => [thread % (x + 1), thread / (x + 1) % (y + 1), thread / (x + 1) / (y + 1), 0],
            false => [0; DIMENSIONS],
        }
    }

    /// Returns the value of a register if it is affine.
    #[inline]
    pub(crate) fn value(&self, number: u32) -> Option<Affine> {
        let number = number as usize;
        (self.homes[number] != Home::Lanes).then(|| self.values[number])
    }

    /// The least and the greatest value in any thread, as integers of `bits` bits with or without a sign; `None` if some threads wrap.
    pub(crate) fn range(&self, value: &Affine, bits: u8, sign: bool) -> Option<(i64, i64)> {
        value.range(bits, sign, &self.last)
    }

    /// Returns the values in all lanes.
    #[inline]
    pub(crate) fn lanes(&mut self, value: &Affine) -> Regular<'_> {
        let steps = value.steps;
        let place = self.place(&steps).unwrap_or_else(|| self.add_offsets(steps));
        let halves = 2 * self.per * (self.last[DIMENSIONS - 1] as usize + 1);
        Regular { base: value.base, offsets: &self.offsets[place].1[..halves], step: steps[0] }
    }

    /// Where the offsets for steps are kept.
    fn place(&self, steps: &[u64; DIMENSIONS]) -> Option<usize> {
        self.offsets.iter().position(|(own, _)| own == steps)
    }

    /// Computes the offsets for steps, in place of the oldest ones if there are many.
    fn add_offsets(&mut self, steps: [u64; DIMENSIONS]) -> usize {
        let offset = |half: usize| {
            let parts = self.index(half).into_iter().zip(steps).map(|(index, step)| step.wrapping_mul(index));
            parts.fold(0, u64::wrapping_add)
        };
        let of_first = Vec::from_iter((0..2 * self.per).map(offset));
        let mut offsets = Vec::with_capacity(2 * self.warps);
        for block in 0..self.warps / self.per {
            let start = steps[DIMENSIONS - 1].wrapping_mul(block as u64);
            offsets.extend(of_first.iter().map(|offset| start.wrapping_add(*offset)));
        }
        if self.offsets.len() < OFFSETS {
            self.offsets.push((steps, offsets));
            return self.offsets.len() - 1;
        }
        let place = self.oldest;
        self.oldest = (place + 1) % OFFSETS;
        self.offsets[place] = (steps, offsets);
        place
    }

    /// Returns the value in the first of the lanes that masks have.
    pub(crate) fn first(&mut self, value: &Affine, masks: &[u32]) -> Option<u64> {
        let warp = masks.iter().position(|mask| *mask != 0)?;
        let lane = masks[warp].trailing_zeros() as usize;
        let lanes = self.lanes(value);
        let along = lanes.step.wrapping_mul((lane % HALF) as u64);
        Some(lanes.base.wrapping_add(lanes.offsets[2 * warp + lane / HALF]).wrapping_add(along))
    }

    /// Returns true if the values of the lanes that masks have are in a range. No thread's value wraps.
    pub(crate) fn are_inside(&mut self, value: &Affine, masks: &[u32], range: RangeInclusive<u64>) -> bool {
        let Regular { base, offsets, step } = self.lanes(value);
        let halves = masks.iter().flat_map(|mask| [*mask as u16, (*mask >> HALF) as u16]);
        halves.zip(offsets).filter(|(mask, _)| *mask != 0).all(|(mask, offset)| {
            // Lanes grow or fall: the outermost ones have the least and the greatest value.
            let ends = [mask.trailing_zeros(), 15 - mask.leading_zeros()];
            let value = |lane: u32| base.wrapping_add(*offset).wrapping_add(step.wrapping_mul(lane.into()));
            ends.into_iter().all(|lane| range.contains(&value(lane)))
        })
    }

    /// The greatest index in each dimension, and true if the third one counts rounds of a loop.
    pub(crate) fn extents(&self) -> ([u64; DIMENSIONS], bool) {
        (self.last, self.in_rounds)
    }

    /// Returns true if values are those of several rounds of a loop.
    pub(crate) fn counts_rounds(&self) -> bool {
        self.in_rounds
    }

    fn set(&mut self, number: u32, value: Affine, home: Home) {
        self.values[number as usize] = value;
        self.homes[number as usize] = home;
    }
}

/// For compiled code.
#[cfg(feature = "jit")]
impl AffineRegisters {
    /// The value of a register and where it is, to be restored.
    pub(super) fn saved(&self, number: u32) -> Saved {
        Saved { number, value: self.values[number as usize], home: self.homes[number as usize] }
    }

    /// Restores registers that were saved one behind the other.
    pub(super) fn restore(&mut self, saved: &[Saved]) {
        saved.iter().rev().for_each(|saved| self.set(saved.number, saved.value, saved.home));
    }

    /// The addresses of the offsets for several steps, at most [`OFFSETS`], all of which stay until others are asked for.
    pub(super) fn tables(&mut self, steps: &[[u64; DIMENSIONS]], tables: &mut [u64]) {
        // Those that are added may replace others.
        while let Some(missing) = steps.iter().find(|own| self.place(own).is_none()) {
            self.add_offsets(*missing);
        }
        for (table, own) in tables.iter_mut().zip(steps) {
            *table = self.place(own).map_or(0, |place| self.offsets[place].1.as_ptr() as u64);
        }
    }

    /// Returns true if the dimension that counts rounds is free.
    pub(super) fn can_count_rounds(&self) -> bool {
        self.last[ROUND] == 0
    }

    /// From now on values are those of several rounds of a loop, until they are those of one again.
    pub(super) fn count_rounds(&mut self, rounds: u32) {
        self.last[ROUND] = u64::from(rounds) - 1;
        self.in_rounds = rounds > 1;
    }

    /// A register has its value in the first round, and grows from round to round.
    pub(super) fn grow(&mut self, number: u32, step: u64) {
        self.values[number as usize].steps[ROUND] = step;
    }

    /// Returns true if a register has the value that was saved before [`AffineRegisters::grow`], a round later.
    pub(super) fn has_grown(&self, saved: &Saved, step: u64, bits: u8) -> bool {
        let mut value = saved.value;
        value.base = value.base.wrapping_add(step);
        value.steps[ROUND] = step;
        self.value(saved.number).is_some_and(|found| found.low(bits) == value.low(bits))
    }

    /// A value in the first round, and how much it grows from round to round.
    pub(super) fn in_first_round(&self, mut value: Affine) -> (Affine, u64) {
        let step = if self.in_rounds { std::mem::take(&mut value.steps[ROUND]) } else { 0 };
        (value, step)
    }

    /// Registers, of these widths, have the values of the last round.
    pub(super) fn last_round(&mut self, registers: impl Iterator<Item = (u32, u8)>) {
        let last = self.last[ROUND];
        for (number, bits) in registers {
            let (value, step) = self.in_first_round(self.values[number as usize]);
            let base = value.base.wrapping_add(step.wrapping_mul(last));
            self.values[number as usize] = Affine { base, ..value }.low(bits);
        }
    }
}

impl Block<'_> {
    /// A new group of blocks begins, as many as there are now.
    pub(super) fn start_affine(&mut self) {
        let last = self.group.count as u64 - 1;
        if last > self.affine.last[DIMENSIONS - 1] {
            // Values of the prelude have lanes for fewer blocks.
            let both = self.affine.homes.iter_mut().filter(|home| **home == Home::Both);
            both.for_each(|home| *home = Home::Value);
        }
        self.affine.last[DIMENSIONS - 1] = last;
    }

    /// The index of a thread in a dimension is affine; the others have their lanes. Returns false if lanes are to be filled.
    pub(crate) fn set_index(&mut self, number: u32, dimension: usize) -> bool {
        let mut value = Affine::default();
        match (dimension, self.affine.split) {
            (0, true) => value.steps = [1, 32, 0, 0],
            (1, true) => value.steps[2] = 1,
            (2, true) | (3.., _) => {}
            (dimension, _) => value.steps[dimension] = 1,
        }
        // Steps in dimensions of extent one are zero.
        value.steps.iter_mut().zip(&self.affine.last).filter(|(_, last)| **last == 0).for_each(|(step, _)| *step = 0);
        self.set_affine(number, value)
    }

    /// A register gets the same value in all threads of a block, which grows by `step` from block to block; returns false if lanes
    /// are to be filled.
    pub(crate) fn set_uniform(&mut self, number: u32, base: u64, step: u64) -> bool {
        let mut value = Affine::uniform(base);
        if self.group.count > 1 {
            value.steps[DIMENSIONS - 1] = step;
        }
        self.set_affine(number, value)
    }

    fn set_affine(&mut self, number: u32, value: Affine) -> bool {
        let within = self.affine.rows || value.steps[..DIMENSIONS - 1] == [0; DIMENSIONS - 1];
        let home = if within { Home::Value } else { Home::Lanes };
        let bits = self.code.affine[number as usize].bits;
        self.affine.set(number, value.low(bits), home);
        within
    }

    /// A register has its value in its lanes.
    pub(crate) fn set_lanes(&mut self, number: u32) {
        self.affine.homes[number as usize] = Home::Lanes;
    }

    /// Tries to do once what the operation behind does for all threads; if it returns false, that operation must run.
    #[inline]
    pub(super) fn once(&mut self, at: usize, once: &Once) -> bool {
        if (self.full || once.single) && self.try_once(at, once) {
            return true;
        }
        self.fill(&once.reads);
        if !self.full {
            // The lanes of other threads keep their values.
            self.fill(&once.writes);
        }
        once.writes.iter().for_each(|number| self.set_lanes(*number));
        false
    }

    /// Does once what the operation behind does for all threads, if the values of its sources allow it.
    #[inline]
    pub(super) fn try_once(&mut self, at: usize, once: &Once) -> bool {
        match &once.formula {
            Some(formula) => {
                let AffineRegisters { values, homes, last, scratch, .. } = &mut self.affine;
                let row = |number: u32| (homes[number as usize] != Home::Lanes).then(|| values[number as usize]);
                let Some(value) = formula.evaluate(row, scratch, last) else { return false };
                if let [number] = *once.writes {
                    self.affine.set(number, value, Home::Value);
                    return true;
                }
                for (number, result) in once.writes.iter().zip(&formula.results) {
                    let value = self.affine.scratch[usize::from(*result)];
                    self.affine.set(*number, value, Home::Value);
                }
                true
            }
            None => {
                let same = |number: &u32| self.affine.value(*number).is_some_and(|value| value.is_uniform());
                let may_run = once.reads.iter().all(same);
                match (&self.code.ops[at + 1], self.ranges.first()) {
                    (Op::Run { from, to, .. }, Some((warps, _))) if may_run => {
                        let warp = warps.start;
                        self.once_in(warp, *from..*to, once);
                        true
                    }
                    // Its address is constant.
                    (Op::Effect { action: Action::Read(access), .. }, _) => {
                        let may_race = self.looks_for_races() && access.place != Where::Parameters;
                        !may_race && self.load_once(access, &once.writes).is_some()
                    }
                    _ => false,
                }
            }
        }
    }

    /// Loads the same values for all threads.
    fn load_once(&mut self, access: &Access, writes: &[u32]) -> Option<()> {
        let mut numbers = writes.iter();
        for index in (0..access.cells.len()).filter(|index| access.cells[*index] != Cell::Sink) {
            let (number, value) = (*numbers.next()?, self.load_constant(access, index)?);
            let bits = self.code.affine[number as usize].bits;
            self.affine.set(number, Affine::uniform(value).low(bits), Home::Value);
        }
        Some(())
    }

    /// Runs instructions in one warp, whose results are those of all.
    fn once_in(&mut self, warp: usize, steps: std::ops::Range<u32>, once: &Once) {
        for number in &once.reads {
            if self.affine.homes[*number as usize] == Home::Value {
                let (row, base) = (self.code.affine[*number as usize], self.affine.values[*number as usize].base);
                let value = Regular { base, offsets: &[0; 2], step: 0 };
                let level = self.code.program.level();
                self.warps.fill(level, row, warp, &value);
            }
        }
        let steps = steps.start as usize..steps.end as usize;
        self.code.program.run_full(steps, warp..warp + 1, &mut self.warps);
        let lane = self.warps.active(warp).trailing_zeros() as usize % 32;
        for number in &once.writes {
            self.spread(*number, warp, lane);
        }
    }

    /// Lets the value in one lane be that of all threads.
    fn spread(&mut self, number: u32, warp: usize, lane: usize) {
        let row = self.code.affine[number as usize];
        let value = Affine::uniform(self.get(warp, lane, Cell::Row(row)));
        self.affine.set(number, value, Home::Value);
    }

    /// Fills the lanes of registers whose values are affine.
    #[inline]
    pub(crate) fn fill(&mut self, numbers: &[u32]) {
        for number in numbers {
            if self.affine.homes[*number as usize] == Home::Value {
                self.fill_one(*number);
            }
        }
    }

    fn fill_one(&mut self, number: u32) {
        let row: Row = self.code.affine[number as usize];
        let value = self.affine.values[number as usize];
        let (level, state) = (self.code.program.level(), &mut *self.state);
        state.warps.fill(level, row, 0, &state.affine.lanes(&value));
        state.affine.homes[number as usize] = Home::Both;
    }
}
