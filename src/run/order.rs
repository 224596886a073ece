//! The order of instructions that compute registers from registers. Compilers mostly write one chain of dependent instructions behind the other;
//! the machine finds independent ones only among those that follow each other closely. So in long sequences without effects they take turns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::prelude::rust_2024::*;
use std::vec;

use ptx_isa::text::resolved::{Function, Instruction, Value};

/// The fewest instructions of a sequence that is brought into another order: the machine looks ahead far enough in others.
const FEWEST: usize = 32;

/// Latency of every instruction, in instructions that begin meanwhile.
const LATENCY: usize = 4;

/// Brings the instructions of a function into an order in which fewer wait for those directly before them.
pub(super) fn reorder(function: &mut Function) {
    if function.instructions.len() < FEWEST {
        return;
    }
    let mut ends: Vec<usize> = function.instructions.iter().flat_map(Instruction::targets).collect();
    ends.push(function.instructions.len());
    ends.sort_unstable();
    let (mut start, mut registers) = (0, Vec::new());
    for end in ends {
        while start < end {
            let computing = function.instructions[start..end].iter().take_while(|instruction| computes(instruction));
            let count = computing.count();
            if count >= FEWEST {
                registers.resize_with(function.registers.len(), Register::default);
                let sequence = &mut function.instructions[start..start + count];
                if let Some(order) = Sequence::new(sequence, &mut registers).order() {
                    arrange(sequence, order);
                }
            }
            start += count + 1;
        }
        start = start.min(end);
    }
}

/// Returns true if an instruction does nothing but compute the registers of each thread from other ones.
fn computes(instruction: &Instruction) -> bool {
    let form = instruction.form;
    let is_clock = |value: &Value| matches!(value, Value::Special { special, .. } if special.origin.is_clock());
    instruction.guard.is_none()
        && form.has_evaluator()
        && form.effects().effects.is_empty()
        && form.states().iter().next().is_none()
        && !instruction.operands.iter().any(|operand| is_clock(&operand.value))
}

/// Moves the element of each number in `order` to the place of that number in it.
fn arrange<T>(elements: &mut [T], mut order: Vec<usize>) {
    for place in 0..elements.len() {
        // Elements that were swapped away are where their own place was.
        let mut from = order[place];
        while from < place {
            from = order[from];
        }
        elements.swap(place, from);
        order[place] = from;
    }
}

/// The instruction of a sequence that wrote a register last, and those that have read it since.
#[derive(Default)]
struct Register {
    written: Option<usize>,
    read: Vec<usize>,
}

/// Instructions that compute, as a graph.
struct Sequence {
    /// For each of them those that must follow, and how many instructions later they may at the earliest.
    followers: Vec<Vec<(usize, usize)>>,
    /// Number of instructions that must come before each.
    waits: Vec<usize>,
}

impl Sequence {
    fn new(instructions: &[Instruction], registers: &mut [Register]) -> Sequence {
        let mut sequence =
            Sequence { followers: vec![Vec::new(); instructions.len()], waits: vec![0; instructions.len()] };
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let mut used = Vec::new();
        for (number, instruction) in instructions.iter().enumerate() {
            instruction.add_registers(&mut reads, &mut writes);
            for register in &reads {
                if let Some(written) = registers[*register].written {
                    sequence.add(written, number, LATENCY);
                }
                registers[*register].read.push(number);
            }
            for register in &writes {
                let Register { written, read } = &mut registers[*register];
                read.drain(..).filter(|read| *read < number).for_each(|read| sequence.add(read, number, 0));
                if let Some(written) = written.replace(number) {
                    sequence.add(written, number, 0);
                }
            }
            used.append(&mut reads);
            used.append(&mut writes);
        }
        used.into_iter().for_each(|register| registers[register] = Register::default());
        sequence
    }

    fn add(&mut self, before: usize, behind: usize, distance: usize) {
        self.followers[before].push((behind, distance));
        self.waits[behind] += 1;
    }

    /// The order in which they begin if at each step one does that waits for none: of several the one that most others wait for one after the
    /// other. One that waits for nothing in the sequence begins where no other one can, so that few chains of them take turns, whose registers
    /// the machine has room for. `None` if that takes as long as the order in which they are.
    fn order(mut self) -> Option<Vec<usize>> {
        let count = self.waits.len();
        let (mut height, mut earliest) = (vec![0; count], vec![0; count]);
        for number in (0..count).rev() {
            let behind = self.followers[number].iter().map(|(behind, distance)| height[*behind] + distance);
            height[number] = behind.max().unwrap_or(0);
        }
        let mut time = 0;
        for number in 0..count {
            time = (time + 1).max(earliest[number]);
            for (behind, distance) in &self.followers[number] {
                earliest[*behind] = earliest[*behind].max(time + distance);
            }
        }
        let (mut order, as_written) = (Vec::with_capacity(count), time);
        earliest.fill(0);
        time = 0;
        // Those that wait for results alone, the earliest first, and those that wait for nothing.
        let (mut coming, mut ready) = (BinaryHeap::new(), BinaryHeap::new());
        ready.extend(
            (0..count).filter(|number| self.waits[*number] == 0).map(|number| (false, height[number], Reverse(number))),
        );
        while order.len() < count {
            time += 1;
            if let (true, Some(Reverse((start, _)))) = (ready.is_empty(), coming.peek()) {
                time = time.max(*start);
            }
            while let Some(Reverse((_, number))) = coming.peek().copied().filter(|Reverse((start, _))| *start <= time) {
                coming.pop();
                ready.push((true, height[number], Reverse(number)));
            }
            let (_, _, Reverse(number)) = ready.pop()?;
            order.push(number);
            for (behind, distance) in std::mem::take(&mut self.followers[number]) {
                earliest[behind] = earliest[behind].max(time + distance);
                self.waits[behind] -= 1;
                if self.waits[behind] == 0 {
                    coming.push(Reverse((earliest[behind], behind)));
                }
            }
        }
        (time < as_written).then_some(order)
    }
}
