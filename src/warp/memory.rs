//! Loads and stores over the warps of a block, for the emulator of this crate.

use super::{ACTIVE, ALWAYS, Level, Program, Row, Warps};
use crate::lanes::{Code, ELEMENTS, Element, Regular, Transfer, Window, fill};

/// An element of a load or store: a register, a constant, or a sink.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Row(Row),
    Constant(u64),
    Sink,
}

/// Description of a load or store to be decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved<'a> {
    pub guard: Option<(u32, bool)>,
    pub base: Option<Row>,
    pub offset: u64,
    /// Size of an element in bytes; `signed` is true if it is sign-extended.
    pub bytes: u8,
    pub signed: bool,
    pub elements: &'a [Item],
    pub write: bool,
}

impl Program {
    /// Decodes a load or store; returns `None` if its elements cannot be moved a warp at a time.
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

    /// Executes a load (or store) for consecutive warps, beginning with `first`, with a mask for each. Returns the
    /// number of warps done. The next warp, if any, has addresses that are misaligned or outside the window, and is
    /// left unchanged.
    ///
    /// # Panics
    ///
    /// If the warps are out of bounds, or the block was created by another program.
    ///
    /// # Safety
    ///
    /// The transfer must have been decoded by this program. Every address in the window must be readable and writable
    /// on the host, and all concurrent accesses to the memory must be atomic.
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

    /// Executes a load (or store) for all warps, whose addresses are regular, with a mask of the lanes of each that access, whatever its guard is.
    ///
    /// # Panics
    ///
    /// If there are more masks than warps or fewer offsets than halves of them, or the block was created by another program.
    ///
    /// # Safety
    ///
    /// The transfer must have been decoded by this program. The elements of active lanes must be aligned, and readable and writable on the
    /// host, and all concurrent accesses to the memory must be atomic.
    #[allow(unsafe_code, reason = "memory is accessed by addresses that kernels compute")]
    #[inline]
    pub(crate) unsafe fn move_regular<const WRITE: bool>(
        &self,
        transfer: &Transfer,
        addresses: &Regular<'_>,
        masks: &[u32],
        block: &mut Warps,
    ) {
        assert!(self.bytes <= block.stride, "a block of another program");
        // SAFETY: the caller's promise; the registers of a transfer that this program decoded lie inside its warps.
        unsafe {
            Code::transfer_regular::<WRITE>(transfer, addresses, self.level, masks, &mut block.file, block.stride);
        }
    }
}

impl Warps {
    /// Returns true if it has been created with this number of warps, or with more.
    pub(crate) fn fits(&self, count: usize) -> bool {
        count * self.stride <= self.file.bytes()
    }

    /// Changes the number of warps, to one that it has been created with at most.
    ///
    /// # Panics
    ///
    /// If it was created with fewer.
    #[inline]
    pub(crate) fn set_len(&mut self, count: usize) {
        assert!(self.fits(count), "registers of {count} warps");
        self.count = count;
    }

    /// Sets the mask of active threads of each warp.
    ///
    /// # Panics
    ///
    /// If there are more masks than warps.
    #[inline]
    pub(crate) fn activate(&mut self, masks: &[u32]) {
        assert!(masks.len() <= self.count, "a mask for each warp");
        let stride = self.stride / 4;
        let words = self.file.words_mut(ACTIVE, (self.count - 1) * stride + 1).iter_mut().step_by(stride);
        words.zip(masks).for_each(|(word, mask)| *word = *mask);
    }

    /// Fills a register of consecutive warps, beginning with `first`, with regular values; a predicate has the same in all.
    ///
    /// # Panics
    ///
    /// If the register or a warp is out of bounds.
    pub(crate) fn fill(&mut self, level: Level, row: Row, first: usize, values: &Regular<'_>) {
        if row.bits == 1 {
            let mask = if values.base != 0 { u32::MAX } else { 0 };
            return (first..first + values.offsets.len() / 2).for_each(|warp| *self.pred_mut(warp, row.number) = mask);
        }
        let at = self.at(first, row.bits.into(), row.number);
        fill(level, row.bits, (&mut self.file, at, self.stride), values);
    }

    /// Returns a function that reads a predicate of each warp.
    ///
    /// # Panics
    ///
    /// If the register is out of bounds. The returned function panics if the warp is out of bounds.
    #[inline]
    pub(crate) fn predicate(&self, register: u32) -> impl Fn(usize) -> u32 {
        let first = self.at(0, 1, register);
        let words = self.file.words::<u32>(first, (self.count - 1) * self.stride / 4 + 1);
        let stride = self.stride / 4;
        move |warp| words[warp * stride]
    }
}
