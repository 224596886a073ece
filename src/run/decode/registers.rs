//! Rows of lanes for the registers of a function. Compilers write each register once, so that there are hundreds; registers that no thread
//! needs at the same time share a row, and the rows that are in use stay in the fastest cache.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::prelude::rust_2024::*;
use std::vec;

use ptx_isa::text::resolved::{Function, Parameter};
use ptx_isa::warp::Row;

use super::super::affine::Class;
use super::Planning;
use super::uses::Uses;

/// The position of the entry. It is followed by two of each instruction: it reads at the first and writes at the second.
const ENTRY: usize = 0;

/// The most registers of a function times targets of branches for which ranges are computed: this many bits are in memory.
const MOST: usize = 1 << 26;

/// Positions at which a register holds a value that is needed: from the first to the last one.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: usize,
    last: usize,
}

impl Range {
    const NONE: Range = Range { first: usize::MAX, last: 0 };

    fn add(&mut self, position: usize) {
        self.first = self.first.min(position);
        self.last = self.last.max(position);
    }
}

/// Where the rows of a kernel hold values that are needed.
#[cfg(feature = "jit")]
#[derive(Debug, Default)]
pub(crate) struct Needed {
    /// The index of the kernel among functions.
    pub kernel: usize,
    /// The row of each register, and the positions at which that holds a value that is needed.
    registers: Vec<(Row, Range)>,
    /// For each instruction of the program the one of the kernel that it is for; none if it is in another function.
    pub instructions: Vec<Option<u32>>,
}

#[cfg(feature = "jit")]
impl Needed {
    /// The rows of registers whose values nobody needs where an instruction of the kernel begins, or within it.
    pub(crate) fn unneeded(&self, instruction: u32) -> Vec<Row> {
        let (reading, writing) = (2 * instruction as usize + 1, 2 * instruction as usize + 2);
        let apart = |range: &Range| range.first > writing || range.last < reading;
        let rows = |all: bool| {
            let registers = self.registers.iter().filter(|(_, range)| all || !apart(range));
            distinct(&registers.map(|(row, _)| *row).collect::<Vec<_>>())
        };
        let key = |row: &Row| (row.bits, row.number);
        let (mut unneeded, needed) = (rows(true), rows(false));
        unneeded.retain(|row| needed.binary_search_by_key(&key(row), key).is_err());
        unneeded
    }
}

/// A set of registers.
#[derive(Clone, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn new(registers: usize) -> Set {
        Set(vec![0; registers.div_ceil(64)])
    }

    fn insert(&mut self, register: usize) {
        self.0[register / 64] |= 1 << (register % 64);
    }

    fn remove(&mut self, register: usize) {
        self.0[register / 64] &= !(1 << (register % 64));
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }

    fn extend(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    fn for_each(&self, mut visit: impl FnMut(usize)) {
        for (index, word) in self.0.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                visit(64 * index + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }
}

/// The branches of a function, and other instructions that the next one does not follow.
struct Edges {
    /// For each of these instructions, whether the next one may follow, and the targets.
    by_instruction: Vec<Option<(bool, Vec<usize>)>>,
    /// True if a branch goes back.
    repeats: bool,
}

impl Edges {
    fn new(function: &Function) -> Edges {
        let mut edges = Edges { by_instruction: vec![None; function.instructions.len()], repeats: false };
        for (index, instruction) in function.instructions.iter().enumerate() {
            let (falls, targets) = (instruction.falls_through(), instruction.targets().collect::<Vec<_>>());
            edges.repeats |= targets.iter().any(|target| *target <= index);
            if !falls || !targets.is_empty() {
                edges.by_instruction[index] = Some((falls, targets));
            }
        }
        edges
    }

    fn targets(&self) -> impl Iterator<Item = usize> {
        self.by_instruction.iter().flatten().flat_map(|(_, targets)| targets).copied()
    }
}

impl Planning<'_> {
    /// Adds rows for the registers of a function; returns the row of each, and whether an instruction reads it.
    pub(super) fn assign(&mut self, number: usize, uses: &Uses, kernel: bool) -> (Vec<Row>, Vec<bool>) {
        let function = &self.module.functions[number];
        let width = |register: &usize| Row::of(self.module.table.ty(function.registers[*register].ty), 0).bits;
        let ranges = ranges(function, uses);
        let alone = self.alone(function, uses, kernel);
        let mut read = vec![false; function.registers.len()];
        (0..function.instructions.len())
            .flat_map(|index| uses.reads(index))
            .for_each(|register| read[*register] = true);
        // Callers read results.
        registers(&function.results).for_each(|register| read[register] = true);
        let mut assigned = vec![None; function.registers.len()];
        for bits in [16, 32, 64] {
            let is_shared =
                |register: &usize| width(register) == bits && !alone[*register] && ranges[*register].first > ENTRY;
            let mut shared: Vec<usize> = (0..assigned.len()).filter(is_shared).collect();
            shared.sort_by_key(|register| ranges[*register].first);
            // Rows in use, with the last position at which they are, and free ones, of which the one that was used last comes first.
            let (mut used, mut free) = (BinaryHeap::new(), Vec::new());
            for register in shared {
                let Range { first, last } = ranges[register];
                while used.peek().is_some_and(|Reverse((last, _))| *last < first) {
                    free.extend(used.pop().map(|Reverse((_, number))| number));
                }
                let number = free.pop().unwrap_or_else(|| self.rows.add(bits).number);
                used.push(Reverse((last, number)));
                assigned[register] = Some(Row { bits, number });
            }
        }
        let rows = assigned.into_iter().enumerate();
        let rows: Vec<Row> =
            rows.map(|(register, row)| row.unwrap_or_else(|| self.rows.add(width(&register)))).collect();
        #[cfg(feature = "jit")]
        if kernel {
            self.needed.kernel = number;
            self.needed.registers = rows.iter().copied().zip(ranges).collect();
        }
        (rows, read)
    }

    /// For each register of a function whether it has a row of its own: parameters and results, and whatever is computed once for all blocks
    /// or all threads.
    fn alone(&self, function: &Function, uses: &Uses, kernel: bool) -> Vec<bool> {
        let mut alone = vec![false; function.registers.len()];
        if kernel {
            alone.iter_mut().zip(&self.classes.registers).for_each(|(alone, class)| *alone = *class != Class::Other);
            let hoisted = (0..self.hoisted.len()).filter(|index| self.hoisted[*index]);
            hoisted.flat_map(|index| uses.writes(index)).for_each(|register| alone[*register] = true);
        }
        let passed = registers(&function.parameters).chain(registers(&function.results));
        passed.for_each(|register| alone[register] = true);
        alone
    }
}

/// The registers among the parameters or results of a function.
fn registers(parameters: &[Parameter]) -> impl Iterator<Item = usize> {
    parameters
        .iter()
        .filter_map(|parameter| if let Parameter::Register(register) = parameter { Some(*register) } else { None })
}

/// The rows of lanes of some registers, each once: one of 128 bits has two.
pub(super) fn distinct(registers: &[Row]) -> Vec<Row> {
    let halves = |row: &Row| {
        let (bits, count) = if row.bits == 128 { (64, 2) } else { (row.bits, 1) };
        (row.number..row.number + count).map(move |number| Row { bits, number })
    };
    let mut rows: Vec<Row> = registers.iter().flat_map(halves).collect();
    rows.sort_unstable_by_key(|row| (row.bits, row.number));
    rows.dedup();
    rows
}

/// The positions at which each register is needed: at the entry, if it may be read before it is written.
fn ranges(function: &Function, uses: &Uses) -> Vec<Range> {
    let (registers, count) = (function.registers.len(), function.instructions.len());
    let edges = Edges::new(function);
    // The registers that are needed before each target of a branch.
    let mut before: Vec<Option<Set>> = vec![None; count + 1];
    let mut targets: Vec<usize> = edges.targets().collect();
    targets.sort_unstable();
    targets.dedup();
    if targets.len().saturating_mul(registers) > MOST {
        return vec![Range { first: ENTRY, last: usize::MAX }; registers];
    }
    targets.into_iter().for_each(|target| before[target] = Some(Set::new(registers)));
    let mut ranges = vec![Range::NONE; registers];
    loop {
        let mut changed = false;
        let mut live = Set::new(registers);
        for (index, instruction) in function.instructions.iter().enumerate().rev() {
            let (reading, writing) = (2 * index + 1, 2 * index + 2);
            if let Some((falls, targets)) = &edges.by_instruction[index] {
                if !falls {
                    live.clear();
                }
                targets.iter().filter_map(|target| before[*target].as_ref()).for_each(|target| live.extend(target));
                live.for_each(|register| ranges[register].add(writing));
            }
            for register in uses.writes(index) {
                ranges[*register].add(writing);
                // Under a guard a register may keep what it holds.
                if instruction.guard.is_none() {
                    live.remove(*register);
                }
            }
            // Effects may write a register before they have read all sources.
            let apart = !instruction.form.effects().effects.is_empty();
            for register in uses.reads(index) {
                ranges[*register].add(reading);
                ranges[*register].add(if apart { writing } else { reading });
                live.insert(*register);
            }
            if let Some(before) = &mut before[index] {
                live.for_each(|register| ranges[register].add(reading));
                changed |= *before != live;
                before.clone_from(&live);
            }
        }
        live.for_each(|register| ranges[register].add(ENTRY));
        if !(changed && edges.repeats) {
            return ranges;
        }
    }
}
