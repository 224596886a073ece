//! Loads and stores of the warps of a block, for emulators of this crate.

use core::ops::Range;

use super::{ALWAYS, Program, Row, Warps};
use crate::lanes::{Code, ELEMENTS, Element, Transfer, Window};

/// What an element of a load or store is: a register, a constant, or nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Row(Row),
    Constant(u64),
    Sink,
}

/// A load or store to be decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved<'a> {
    pub guard: Option<(u32, bool)>,
    pub base: Option<Row>,
    pub offset: u64,
    /// Bytes of an element, and whether it is sign-extended.
    pub bytes: u8,
    pub signed: bool,
    pub elements: &'a [Item],
    pub write: bool,
}

impl Program {
    /// Decodes a load or store; none if its elements are not ones that warps move together.
    pub(crate) fn transfer(&self, moved: &Moved<'_>) -> Option<Transfer> {
        let offset = |row: Row| Some(self.layout.offset(row.bits.into(), row.number).ok()? as u32);
        let flip = |not| if not { u32::MAX } else { 0 };
        let guard = match moved.guard {
            Some((number, not)) => (offset(Row { bits: 1, number })?, flip(not)),
            None => (ALWAYS as u32, 0),
        };
        let base = match moved.base {
            Some(row) if matches!(row.bits, 32 | 64) => (offset(row)?, row.bits),
            Some(_) => return None,
            None => (0, 0),
        };
        let rows =
            moved.elements.iter().filter_map(|item| if let Item::Row(row) = item { Some(row.bits) } else { None });
        let bits = rows.clone().next().unwrap_or(64);
        let count = moved.elements.len();
        let sizes = matches!(moved.bytes, 1 | 2 | 4 | 8) && usize::from(moved.bytes) * count <= 16;
        if !sizes || !matches!(count, 1 | 2 | 4) || !matches!(bits, 16 | 32 | 64) || rows.clone().any(|one| one != bits)
        {
            return None;
        }
        let mut elements = [Element::Sink; ELEMENTS];
        for (element, item) in elements.iter_mut().zip(moved.elements) {
            *element = match *item {
                Item::Row(row) => Element::Register(offset(row)?),
                Item::Constant(bits) if moved.write => Element::Constant(bits),
                Item::Sink if !moved.write => Element::Sink,
                _ => return None,
            };
        }
        let (bytes, signed) = (moved.bytes, moved.signed);
        Some(Transfer { guard, base, offset: moved.offset, bytes, signed, bits, count: count as u8, elements })
    }

    /// Runs some of the instructions over some of the warps, as [`Program::run_range`] does; lanes that are not active may be
    /// written, as nobody reads what they hold.
    ///
    /// # Panics
    ///
    /// As [`Program::run_range`].
    #[inline]
    pub(crate) fn run_whole(&self, instructions: Range<usize>, warps: Range<usize>, block: &mut Warps) {
        self.run_steps(instructions, warps, true, block);
    }

    /// Loads (or stores) for the warps from one on, a mask for each; returns how many are done. The next one, if there is one,
    /// has addresses that are not in the window or not aligned, and is as it was.
    ///
    /// # Panics
    ///
    /// If there are not as many warps, or the block is another program's.
    ///
    /// # Safety
    ///
    /// This program has decoded the transfer. Every address in the window is readable at the host, and writable; whoever else
    /// accesses the memory does so atomically.
    #[allow(unsafe_code, reason = "memory is accessed by addresses that kernels compute")]
    #[inline]
    pub(crate) unsafe fn move_elements<const WRITE: bool>(
        &self,
        transfer: &Transfer,
        window: &Window,
        first: usize,
        masks: &[u32],
        block: &mut Warps,
    ) -> usize {
        assert!(self.bytes <= block.stride, "a block of another program");
        // SAFETY: the caller's promise; the registers of a transfer that this program decoded lie inside its warps.
        unsafe { Code::transfer::<WRITE>((transfer, window), self.level, first, masks, &mut block.file, block.stride) }
    }
}

impl Warps {
    /// A predicate of each warp.
    ///
    /// # Panics
    ///
    /// If there are not as many registers; what is returned, if there are not as many warps.
    #[inline]
    pub(crate) fn predicate(&self, register: u32) -> impl Fn(usize) -> u32 {
        let first = self.at(0, 1, register);
        let words = self.file.words::<u32>(first, (self.count - 1) * self.stride / 4 + 1);
        let stride = self.stride / 4;
        move |warp| words[warp * stride]
    }
}
