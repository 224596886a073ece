//! Register files, and instructions that run over them.

use alloc::vec::Vec;
use core::ops::Range;

use super::*;

/// A register file: bytes that operands of any width lie in, at multiples of their size.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    lines: Vec<Line>,
}

/// Sixty-four bytes: as much as the widest vector.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line([u8; 64]);

impl File {
    /// So many bytes, all zero.
    pub(crate) fn new(bytes: usize) -> File {
        File { lines: alloc::vec![Line([0; 64]); bytes.div_ceil(64)] }
    }

    pub(crate) fn bytes(&self) -> usize {
        64 * self.lines.len()
    }

    /// The words at an offset, which is a multiple of their size.
    pub(crate) fn words<W: Word, const N: usize>(&self, offset: usize) -> &[W; N] {
        assert!(
            offset.is_multiple_of(size_of::<W>()) && offset + size_of::<[W; N]>() <= self.bytes(),
            "inside the file"
        );
        // SAFETY: the assertion: the words lie inside the lines, aligned, and any bits are integers.
        unsafe { &*self.lines.as_ptr().cast::<u8>().add(offset).cast() }
    }

    /// The words at an offset, which is a multiple of their size.
    pub(crate) fn words_mut<W: Word, const N: usize>(&mut self, offset: usize) -> &mut [W; N] {
        assert!(
            offset.is_multiple_of(size_of::<W>()) && offset + size_of::<[W; N]>() <= self.bytes(),
            "inside the file"
        );
        // SAFETY: as in `words`.
        unsafe { &mut *self.lines.as_mut_ptr().cast::<u8>().add(offset).cast() }
    }
}

/// Instructions that run over a register file.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    level: Level,
    steps: Vec<Prepared>,
    /// The bytes that a file has at least.
    bytes: usize,
}

impl Code {
    pub(crate) const fn new(level: Level) -> Code {
        Code { level, steps: Vec::new(), bytes: 0 }
    }

    pub(crate) const fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Adds an instruction of a kernel. Its places are offsets into a file that [`Code::run`] finds large enough.
    pub(crate) fn push(&mut self, kernel: &Kernel, op: Prepared) {
        for (at, bits) in op.at.iter().zip(kernel.layout).chain([(&op.guard, 1)]) {
            let (at, size) = (*at as usize, if bits == 1 { 4 } else { bits as usize * WARP / 8 });
            assert!(at.is_multiple_of(8) || bits < 64 && at.is_multiple_of(4), "registers are aligned");
            self.bytes = self.bytes.max(at + size);
        }
        self.steps.push(op);
    }

    /// Runs some of the instructions over one warp.
    #[inline]
    pub(crate) fn run(&self, steps: Range<usize>, file: &mut File, active: u32) {
        assert!(self.bytes <= file.bytes(), "a warp of another program");
        let base = file.lines.as_mut_ptr().cast::<u8>();
        for step in &self.steps[steps] {
            // SAFETY: a level's value exists only where the machine has its features. Every place that a kernel uses
            // was counted when the step was added, so by the assertion it lies inside the file, aligned; kernels read
            // their sources before they write, so that it does not matter which places are the same.
            unsafe { (step.run)(base, &raw const *step, active) };
        }
    }
}
