//! The registers that the instructions of a function read and write.

use std::prelude::rust_2024::*;

use ptx_isa::text::resolved::Function;

/// The registers that each instruction of a function reads, and those that it writes.
pub(super) struct Uses {
    registers: Vec<usize>,
    /// Where those of an instruction end that it reads, and those that it writes.
    ends: Vec<[usize; 2]>,
}

impl Uses {
    pub(super) fn new(function: &Function) -> Uses {
        let (mut uses, mut writes) = (Uses { registers: Vec::new(), ends: Vec::new() }, Vec::new());
        let mut reads = Vec::new();
        for instruction in &function.instructions {
            instruction.add_registers(&mut reads, &mut writes);
            uses.registers.append(&mut reads);
            let end = uses.registers.len();
            uses.registers.append(&mut writes);
            uses.ends.push([end, uses.registers.len()]);
        }
        uses
    }

    pub(super) fn reads(&self, instruction: usize) -> &[usize] {
        let start = instruction.checked_sub(1).map_or(0, |before| self.ends[before][1]);
        &self.registers[start..self.ends[instruction][0]]
    }

    pub(super) fn writes(&self, instruction: usize) -> &[usize] {
        &self.registers[self.ends[instruction][0]..self.ends[instruction][1]]
    }
}
