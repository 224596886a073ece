//! Instructions of x86-64 with AVX-512, encoded one behind the other, and the literals that they refer to.

use std::prelude::rust_2024::*;

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register, RoundingControl};

/// Registers of the machine in compiled code: see [`Trace`](super::Trace).
pub(super) const ARGUMENTS: Register = Register::RDI;
pub(super) const FILE: Register = Register::RSI;
pub(super) const STRIDE: Register = Register::RDX;
pub(super) const WARPS: Register = Register::RCX;
pub(super) const LITERALS: Register = Register::R8;
/// Offset of the warp in tables with two offsets for each.
pub(super) const ROW: Register = Register::R9;
/// Registers for the offsets of both halves of the warp from a table, of as many tables as there are pairs. All but the first pair are the
/// caller's.
pub(super) const HALVES: [[Register; 2]; 4] = [
    [Register::RAX, Register::R10],
    [Register::RBX, Register::RBP],
    [Register::R12, Register::R13],
    [Register::R14, Register::R15],
];
pub(super) const SCRATCH: Register = Register::R11;
pub(super) const SCRATCH32: Register = Register::R11D;

/// Number of bytes of a vector, of a line, and of a literal.
pub(super) const LINE: usize = 64;

/// Number of bytes of a jump that is taken if the last result was zero.
const JUMP: usize = 6;
/// Number of bytes of a jump that is always taken.
const UNCONDITIONAL: usize = 5;

/// A vector of 512 bits.
pub(super) fn zmm(number: u8) -> Register {
    Register::ZMM0 + u32::from(number)
}

/// The number of a vector of 512 bits.
pub(super) fn vector_number(vector: Register) -> u8 {
    (vector as u32 - Register::ZMM0 as u32) as u8
}

/// The lower half of a vector.
pub(super) fn ymm(number: u8) -> Register {
    Register::YMM0 + u32::from(number)
}

/// The lowest quarter of a vector.
pub(super) fn xmm(number: u8) -> Register {
    Register::XMM0 + u32::from(number)
}

/// A mask.
pub(super) fn k(number: u8) -> Register {
    Register::K0 + u32::from(number)
}

/// Memory at an address in a register plus a displacement.
pub(super) fn at(base: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(base, displacement)
}

/// Memory at the sum of two registers and a displacement.
pub(super) fn at_sum(base: Register, index: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_index_scale_displ_size(base, index, 1, displacement, 1)
}

/// Lets the lanes be zero that a mask does not have, if it is one.
fn zeroing(mut instruction: Instruction, mask: u8) -> Instruction {
    instruction.set_zeroing_masking(mask != 0);
    instruction
}

/// Code in the making.
pub(super) struct Assembler {
    encoder: Encoder,
    /// Number of bytes so far, with those before.
    len: u64,
    /// True if an instruction had operands that it cannot have.
    failed: bool,
}

impl Assembler {
    pub(super) fn new() -> Assembler {
        Assembler::behind(0)
    }

    /// Code that lies behind other code of `len` bytes.
    pub(super) fn behind(len: u64) -> Assembler {
        Assembler { encoder: Encoder::new(64), len, failed: false }
    }

    /// Appends an instruction.
    pub(super) fn push(&mut self, instruction: &Instruction) {
        match self.encoder.encode(instruction, self.len) {
            Ok(bytes) => self.len += bytes as u64,
            Err(_) => self.failed = true,
        }
    }

    fn created(&mut self, instruction: Result<Instruction, iced_x86::IcedError>, mask: u8) {
        match instruction {
            Ok(mut instruction) => {
                if mask != 0 {
                    instruction.set_op_mask(k(mask));
                }
                self.push(&instruction);
            }
            Err(_) => self.failed = true,
        }
    }

    /// Two registers.
    pub(super) fn two(&mut self, code: Code, to: Register, from: Register) {
        self.created(Instruction::with2(code, to, from), 0);
    }

    /// Two registers and an immediate.
    pub(super) fn two_by(&mut self, code: Code, to: Register, from: Register, by: u32) {
        self.created(Instruction::with3(code, to, from, by), 0);
    }

    /// Two registers, for the lanes of a mask.
    pub(super) fn two_in(&mut self, code: Code, mask: u8, to: Register, from: Register) {
        self.created(Instruction::with2(code, to, from), mask);
    }

    /// Three registers.
    pub(super) fn three(&mut self, code: Code, to: Register, a: Register, b: Register) {
        self.created(Instruction::with3(code, to, a, b), 0);
    }

    /// Three registers, for the lanes of a mask.
    pub(super) fn three_in(&mut self, code: Code, mask: u8, to: Register, a: Register, b: Register) {
        self.created(Instruction::with3(code, to, a, b), mask);
    }

    /// Two or three registers, of floats that are rounded so.
    pub(super) fn rounded(&mut self, code: Code, rounding: RoundingControl, to: Register, args: &[Register]) {
        let instruction = match *args {
            [a] => Instruction::with2(code, to, a),
            [a, b] => Instruction::with3(code, to, a, b),
            _ => return self.failed = true,
        };
        self.created(
            instruction.map(|mut instruction| {
                instruction.set_rounding_control(rounding);
                instruction
            }),
            0,
        );
    }

    /// Three registers and an immediate.
    pub(super) fn three_by(&mut self, code: Code, to: Register, a: Register, b: Register, by: u32) {
        self.three_by_in(code, 0, to, a, b, by);
    }

    /// Three registers and an immediate, for the lanes of a mask.
    pub(super) fn three_by_in(&mut self, code: Code, mask: u8, to: Register, a: Register, b: Register, by: u32) {
        self.created(Instruction::with4(code, to, a, b, by), mask);
    }

    /// Memory to a register.
    pub(super) fn load(&mut self, code: Code, to: Register, from: MemoryOperand) {
        self.load_in(code, 0, to, from);
    }

    /// Memory to a register, for the lanes of a mask; the others are zero, and their memory is not accessed.
    pub(super) fn load_in(&mut self, code: Code, mask: u8, to: Register, from: MemoryOperand) {
        self.created(Instruction::with2(code, to, from).map(|instruction| zeroing(instruction, mask)), mask);
    }

    /// A register to memory.
    pub(super) fn store(&mut self, code: Code, to: MemoryOperand, from: Register) {
        self.store_in(code, 0, to, from);
    }

    /// A register to memory, for the lanes of a mask.
    pub(super) fn store_in(&mut self, code: Code, mask: u8, to: MemoryOperand, from: Register) {
        self.created(Instruction::with2(code, to, from), mask);
    }

    /// Memory to a register, for the lanes of a mask; the others stay as they are.
    pub(super) fn load_over(&mut self, code: Code, mask: u8, to: Register, from: MemoryOperand) {
        self.created(Instruction::with2(code, to, from), mask);
    }

    /// A word of memory and an immediate.
    pub(super) fn word(&mut self, code: Code, at: MemoryOperand, by: i32) {
        self.created(Instruction::with2(code, at, by), 0);
    }

    /// A register to memory, and an immediate.
    pub(super) fn store_by(&mut self, code: Code, to: MemoryOperand, from: Register, by: u32) {
        self.created(Instruction::with3(code, to, from, by), 0);
    }

    /// A register, memory and an immediate to a register.
    pub(super) fn with_memory_by(&mut self, code: Code, to: Register, a: Register, b: MemoryOperand, by: u32) {
        self.with_memory_by_in(code, 0, to, a, b, by);
    }

    /// A register, memory and an immediate to a register, for the lanes of a mask.
    pub(super) fn with_memory_by_in(
        &mut self,
        code: Code,
        mask: u8,
        to: Register,
        a: Register,
        b: MemoryOperand,
        by: u32,
    ) {
        self.created(Instruction::with4(code, to, a, b, by), mask);
    }

    /// A register and an immediate to a register, for the lanes of a mask; the others are zero.
    pub(super) fn two_by_in(&mut self, code: Code, mask: u8, to: Register, from: Register, by: u32) {
        self.created(Instruction::with3(code, to, from, by).map(|instruction| zeroing(instruction, mask)), mask);
    }

    /// A register and memory to a register.
    pub(super) fn with_memory(&mut self, code: Code, to: Register, a: Register, b: MemoryOperand) {
        self.created(Instruction::with3(code, to, a, b), 0);
    }

    /// Jumps to an offset in bytes, by what the last result was.
    pub(super) fn jump(&mut self, code: Code, to: u64) {
        self.created(Instruction::with_branch(code, to), 0);
    }

    /// Appends code that is skipped if the last result was zero: it does not depend on its place. Without it, nothing is encoded.
    pub(super) fn unless_zero(&mut self, code: Option<Vec<u8>>) {
        let Some(code) = code else { return self.failed = true };
        self.created(Instruction::with_branch(Code::Je_rel32_64, self.len + (JUMP + code.len()) as u64), 0);
        self.bytes(&code);
    }

    /// Appends code that is skipped if the last result was zero, and that may jump to where code was before.
    pub(super) fn unless_zero_here(&mut self, append: impl FnOnce(&mut Assembler)) {
        let before = self.begin_inner_here();
        append(self);
        let code = self.end_inner(before);
        self.unless_zero(code);
    }

    /// Appends code that runs if the last result was not zero, and code that runs if it was.
    pub(super) fn either(&mut self, unless: impl FnOnce(&mut Assembler), if_zero: impl FnOnce(&mut Assembler)) {
        let mut zero = Assembler::new();
        if_zero(&mut zero);
        let zero = zero.finish();
        let len = zero.as_ref().map_or(0, Vec::len);
        self.unless_zero_here(|code| {
            unless(code);
            code.jump(Code::Jmp_rel32_64, code.len + (UNCONDITIONAL + len) as u64);
        });
        self.append(zero);
    }

    /// Code that does not depend on its place begins within this: returns what is before.
    pub(super) fn begin_inner(&mut self) -> Assembler {
        std::mem::replace(self, Assembler::new())
    }

    /// Begins code within this that is skipped if the last result was zero, and that may jump to where code was before; returns what is
    /// before.
    pub(super) fn begin_inner_here(&mut self) -> Assembler {
        let inner = Assembler::behind(self.len + JUMP as u64);
        std::mem::replace(self, inner)
    }

    /// The inner code ends: returns it.
    pub(super) fn end_inner(&mut self, before: Assembler) -> Option<Vec<u8>> {
        std::mem::replace(self, before).finish()
    }

    /// Appends code that does not depend on its place. Without it, nothing is encoded.
    pub(super) fn append(&mut self, code: Option<Vec<u8>>) {
        match code {
            Some(code) => self.bytes(&code),
            None => self.failed = true,
        }
    }

    /// Appends bytes.
    fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.encoder.write_u8(*byte));
        self.len += bytes.len() as u64;
    }

    /// Lets the code be none, as an instruction cannot be encoded.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    /// Number of bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Changes a word of memory.
    pub(super) fn change(&mut self, code: Code, at: MemoryOperand) {
        self.created(Instruction::with1(code, at), 0);
    }

    /// An immediate.
    pub(super) fn value(&mut self, code: Code, value: u32) {
        self.created(Instruction::with1(code, value), 0);
    }

    /// An instruction without operands.
    pub(super) fn alone(&mut self, code: Code) {
        self.push(&Instruction::with(code));
    }

    /// A register and an immediate.
    pub(super) fn by(&mut self, code: Code, to: Register, by: i32) {
        self.created(Instruction::with2(code, to, by), 0);
    }

    /// An address to a register.
    pub(super) fn address(&mut self, to: Register, address: usize) {
        self.created(Instruction::with2(Code::Mov_r64_imm64, to, address as u64), 0);
    }

    /// One register.
    pub(super) fn one(&mut self, code: Code, to: Register) {
        self.created(Instruction::with1(code, to), 0);
    }

    /// The code begins: it keeps registers of the caller.
    pub(super) fn enter(&mut self) {
        HALVES[1..].iter().flatten().for_each(|register| self.one(Code::Push_r64, *register));
    }

    /// The code ends.
    pub(super) fn leave(&mut self) {
        HALVES[1..].iter().flatten().rev().for_each(|register| self.one(Code::Pop_r64, *register));
        self.alone(Code::VEX_Vzeroupper);
        self.alone(Code::Retnq);
    }

    /// The bytes of the code; `None` if an instruction could not be encoded.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        (!self.failed).then(|| self.encoder.take_buffer())
    }
}
