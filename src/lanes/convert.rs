//! Steps that copy a register to one of another width.

use isa_table::program::RunWarp;

use super::step::{Head, Next};
use super::{BIT, WARP, Word};

/// Conversion of a register to one of another width: keeps some of the lowest bits, and sign- or zero-extends them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convert {
    /// The width of the register that is read: 16, 32 or 64.
    pub from: u8,
    /// The width of the register that is written.
    pub to: u8,
    /// The bits that are kept: at least one.
    pub bits: u8,
    pub signed: bool,
}

impl Convert {
    /// How far the bits that are kept are shifted to the top of 64 and back: the parameter of the step.
    pub(super) fn shift(self) -> u32 {
        64 - u32::from(self.bits)
    }

    /// The function that runs it.
    pub(super) fn code(self) -> RunWarp {
        match self.from {
            16 => self.code_from::<u16>(),
            32 => self.code_from::<u32>(),
            64 => self.code_from::<u64>(),
            bits => panic!("registers of {bits} bits"),
        }
    }

    fn code_from<F: Word>(self) -> RunWarp {
        match (self.to, self.signed) {
            (16, false) => run::<F, u16, false>,
            (16, true) => run::<F, u16, true>,
            (32, false) => run::<F, u32, false>,
            (32, true) => run::<F, u32, true>,
            (64, false) => run::<F, u64, false>,
            (64, true) => run::<F, u64, true>,
            (bits, _) => panic!("registers of {bits} bits"),
        }
    }
}

/// Runs a conversion over a warp, then the steps behind it.
///
/// # Safety
///
/// As a loop's code for a warp; the step has two places and one word of parameters, and the places are of these widths.
unsafe fn run<F: Word, T: Word, const SIGNED: bool>(registers: *mut u8, step: *const u8, more: usize) {
    // SAFETY: the caller's promises.
    unsafe {
        let next = Next::at(step.add(Head::size(2, 1)));
        let [to, from, shift] = step.add(Head::place(0)).cast::<[u32; 3]>().read();
        let Head { guard, flip, .. } = step.cast::<Head>().read();
        let mask = (registers.add(guard as usize).cast::<u32>().read() ^ flip) & registers.cast::<u32>().read();
        let from = registers.add(from as usize).cast::<F>();
        let to = registers.add(to as usize).cast::<T>();
        for lane in (0..WARP).filter(|lane| mask & BIT[*lane] != 0) {
            let top = from.add(lane).read().widen::<u64>() << shift;
            let value = if SIGNED { (top.cast_signed() >> shift).cast_unsigned() } else { top >> shift };
            to.add(lane).write(T::truncate(value));
        }
        next.run(registers, more);
    }
}
