//! Instructions of a program as machine code.

use alloc::boxed::Box;
use alloc::vec::Vec;

use isa_table::program::{Operation, Shape};

use super::{Program, Row, SINK, Warps};
use crate::jit::{Builder, Callee, Computation, Trace};
use crate::lanes::Code;

/// An instruction of a program.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub shape: &'static Shape,
    pub data: Box<[u64]>,
    pub at: Box<[u32]>,
    pub names: &'static [&'static str],
    pub operation: Operation,
}

impl Program {
    /// A builder of machine code on the registers of the program; `partial` says that some lanes may be inactive.
    pub(crate) fn builder(&self, partial: bool) -> Builder {
        let sinks: Vec<u32> = [Some(SINK), self.lane_sink].into_iter().flatten().map(|offset| offset as u32).collect();
        let constant = |(offset, bits, value): &(usize, u32, u64)| (*offset as u32, *bits as u8, *value);
        Builder::new(&sinks, &self.constants.iter().map(constant).collect::<Vec<_>>(), partial)
    }

    /// Computation of an instruction, if it has neither a guard nor operands of other widths.
    pub(crate) fn computation(&self, instruction: usize) -> Option<Computation<'_>> {
        let Kept { shape, data, at, names, operation } = self.computations.get(instruction)?.as_ref()?;
        Some(Computation { shape, data, at, names, operation: *operation })
    }

    /// The function by which machine code runs an instruction that has a computation over one warp.
    pub(crate) fn callee(&self, instruction: usize) -> Callee {
        self.code.callee(self.starts[instruction] as usize)
    }

    /// The byte offset of a register in those of a warp.
    pub(crate) fn offset(&self, row: Row) -> Option<u32> {
        self.layout.offset(row.bits.into(), row.number).ok().map(|offset| offset as u32)
    }

    /// Runs machine code over all warps of a block.
    ///
    /// # Panics
    ///
    /// If the block was created by another program.
    ///
    /// # Safety
    ///
    /// The code was made by a builder of this program, and what it calls, too; no instruction was added since. The arguments are as
    /// [`Trace::run`] says.
    #[allow(unsafe_code, reason = "machine code is called")]
    #[inline]
    pub(crate) unsafe fn run_trace(&self, trace: &Trace, arguments: &mut [u64], block: &mut Warps) {
        assert!(self.bytes <= block.stride, "a block of another program");
        // SAFETY: the caller's promises; the registers of a program lie inside its warps.
        unsafe { Code::run_trace(trace, arguments, block.count, &mut block.file, block.stride) }
    }
}
