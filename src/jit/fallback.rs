//! Lanes that machine code leaves to a function.
//!
//! Code calls a routine with all registers of the machine as they are; the routine saves them, calls the function, and restores them. An
//! evaluator computes some lanes of one of them from those of another one.

#![allow(unsafe_code, reason = "machine code calls a function")]

use std::prelude::rust_2024::*;

use std::sync::OnceLock;

use iced_x86::{Code, Register};
use isa_table::program::Operation;

use super::assembler::*;
use super::page::Page;

/// An operation of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationRef {
    pub operation: Operation,
    pub number: u16,
}

/// Registers of the machine as they were.
#[repr(C, align(64))]
struct Frame {
    vectors: [[u32; 16]; VECTORS],
    masks: [u64; MASKS],
}

const VECTORS: usize = 32;
const MASKS: usize = 8;

/// Registers that functions may change.
const CHANGED: [Register; 8] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
];

/// The number of an operation, the mask of the lanes to compute, and the vectors that its operand and its result are in.
#[derive(Clone, Copy)]
struct Order {
    number: u16,
    mask: u8,
    from: u8,
    to: u8,
}

impl Order {
    /// As a word, whose highest bit is clear: it is extended where it is pushed.
    fn coded(self) -> u32 {
        u32::from(self.number) | u32::from(self.mask) << 16 | u32::from(self.from) << 19 | u32::from(self.to) << 24
    }

    fn read(word: u32) -> Order {
        let bits = |first: u32, count: u32| (word >> first & ((1 << count) - 1)) as u8;
        Order { number: word as u16, mask: bits(16, 3), from: bits(19, 5), to: bits(24, 5) }
    }
}

/// A function that the routine calls: with the frame, an address and a word of the caller, the offset of the warp in tables with two offsets
/// for each, and the arguments of the code.
pub(crate) type Function = unsafe extern "C" fn(*mut (), *const (), u64, usize, *mut u64);

/// Computes the lanes of an order.
///
/// # Safety
///
/// The frame is that of the routine, and `operation` is an [`Operation`].
unsafe extern "C" fn evaluate(frame: *mut (), operation: *const (), word: u64, _: usize, _: *mut u64) {
    let Order { number, mask, from, to } = Order::read(word as u32);
    // SAFETY: the caller's promise.
    let (frame, operation) =
        unsafe { (&mut *frame.cast::<Frame>(), core::mem::transmute::<*const (), Operation>(operation)) };
    let lanes = frame.masks[usize::from(mask)];
    for lane in (0..16).filter(|lane| lanes >> lane & 1 != 0) {
        let x = frame.vectors[usize::from(from)][lane];
        frame.vectors[usize::from(to)][lane] = operation(number, &[x.into()]) as u32;
    }
}

/// The address of the routine; `None` if the system gives no memory for it.
fn routine() -> Option<usize> {
    static ROUTINE: OnceLock<Option<Page>> = OnceLock::new();
    ROUTINE.get_or_init(|| Page::new(&[], &code()?)).as_ref().map(Page::address)
}

/// The routine. Its arguments are on the stack: the function, an address and a word.
fn code() -> Option<Vec<u8>> {
    let (frame, base) = (Register::RSP, Register::RBP);
    let vector = |number: usize| at(frame, (LINE * number) as i64);
    let mask = |number: usize| at(frame, (LINE * VECTORS + 8 * number) as i64);
    let mut code = Assembler::new();
    code.one(Code::Push_r64, base);
    code.two(Code::Mov_r64_rm64, base, Register::RSP);
    CHANGED.iter().for_each(|register| code.one(Code::Push_r64, *register));
    code.by(Code::Sub_rm64_imm32, frame, size_of::<Frame>() as i32);
    code.by(Code::And_rm64_imm8, frame, -(LINE as i32));
    (0..VECTORS).for_each(|number| code.store(Code::EVEX_Vmovdqa64_zmmm512_k1z_zmm, vector(number), zmm(number as u8)));
    (0..MASKS).for_each(|number| code.store(Code::VEX_Kmovq_m64_kr, mask(number), k(number as u8)));
    code.two(Code::Mov_r64_rm64, Register::R8, ARGUMENTS);
    code.two(Code::Mov_r64_rm64, Register::RDI, frame);
    // Behind the saved base and the address to return to.
    code.load(Code::Mov_r64_rm64, SCRATCH, at(base, 16));
    code.load(Code::Mov_r64_rm64, Register::RSI, at(base, 24));
    code.load(Code::Mov_r64_rm64, Register::RDX, at(base, 32));
    code.two(Code::Mov_r64_rm64, Register::RCX, ROW);
    code.alone(Code::VEX_Vzeroupper);
    code.one(Code::Call_rm64, SCRATCH);
    (0..VECTORS).for_each(|number| code.load(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, zmm(number as u8), vector(number)));
    (0..MASKS).for_each(|number| code.load(Code::VEX_Kmovq_kr_km64, k(number as u8), mask(number)));
    code.load(Code::Lea_r64_m, Register::RSP, at(base, -8 * CHANGED.len() as i64));
    CHANGED.iter().rev().for_each(|register| code.one(Code::Pop_r64, *register));
    code.one(Code::Pop_r64, base);
    code.value(Code::Retnq_imm16, 24);
    code.finish()
}

/// Leaves the lanes of a mask to an evaluator, if there are any: `to` has its results of the lanes in the vector `from`.
pub(super) fn fall_back(code: &mut Assembler, mask: u8, (from, to): (Register, Register), evaluator: OperationRef) {
    let order = Order { number: evaluator.number, mask, from: vector_number(from), to: vector_number(to) };
    code.two(Code::VEX_Kortestw_kr_kr, k(mask), k(mask));
    code.unless_zero_here(|code| {
        code.value(Code::Pushq_imm32, order.coded());
        code.address(SCRATCH, evaluator.operation as usize);
        code.one(Code::Push_r64, SCRATCH);
        call(code, evaluate);
    });
}

/// Calls a function; the word and the address for it have been pushed.
pub(super) fn call(code: &mut Assembler, function: Function) {
    code.address(SCRATCH, function as *const () as usize);
    code.one(Code::Push_r64, SCRATCH);
    match routine() {
        Some(routine) => code.address(SCRATCH, routine),
        None => code.fail(),
    }
    code.one(Code::Call_rm64, SCRATCH);
}
