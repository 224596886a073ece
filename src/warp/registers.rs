//! The registers of the warps of a block.

use core::marker::PhantomData;

use super::{ACTIVE, Layout, Program, Row};
pub use crate::lanes::Contents;
use crate::lanes::{File, WARP};

/// Where a register is in the registers of a warp, found once: [`Warps::get`] needs no further lookup. `T` is what it holds: `[u16; 32]`,
/// `[u32; 32]` or `[u64; 32]` for lanes, `u32` for the mask of a predicate.
pub struct Handle<T> {
    /// In bytes.
    at: u32,
    holds: PhantomData<fn() -> T>,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> core::fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Handle").field("at", &self.at).finish()
    }
}

impl Program {
    /// Returns the handle of a register; `None` if the program has no such register, or `T` has lanes of another width.
    ///
    /// ```
    /// use ptx_isa::warp::{Program, Registers};
    ///
    /// let mut registers = Registers::default();
    /// let (sum, small) = (registers.add(32), registers.add(1));
    /// let program = Program::new(registers, 90);
    /// let (lanes, mask) = (program.handle::<[u32; 32]>(sum).unwrap(), program.handle::<u32>(small).unwrap());
    /// assert!(program.handle::<[u64; 32]>(sum).is_none());
    ///
    /// let mut warps = program.warps(2);
    /// warps.get_mut(1, lanes)[5] = 7;
    /// *warps.get_mut(1, mask) = 1 << 5;
    /// assert_eq!((warps.b32(1, 0)[5], warps.pred(1, 0)), (7, 32));
    /// ```
    pub fn handle<T: Contents>(&self, row: Row) -> Option<Handle<T>> {
        let at = self.layout.offset(row.bits.into(), row.number).ok().filter(|_| row.bits == T::BITS)?;
        Some(Handle { at: u32::try_from(at).ok()?, holds: PhantomData })
    }
}

/// The registers of the warps of a block, and the masks of their active threads. [`Program::warps`] creates them; by default there are no warps.
#[derive(Clone, Debug, Default)]
pub struct Warps {
    pub(super) layout: Layout,
    pub(super) count: usize,
    /// Distance in bytes between the registers of two consecutive warps.
    pub(super) stride: usize,
    pub(super) file: File,
}

macro_rules! registers {
    ($($read:ident $write:ident $ty:ty, $bits:literal;)*) => {$(
        #[doc = concat!(
            "Returns the lanes of a ", $bits, "-bit register of a warp.\n\n# Panics\n\n",
            "If the warp or the register is out of bounds."
        )]
        #[inline]
        pub fn $read(&self, warp: usize, register: u32) -> &[$ty; WARP] {
            self.file.register(self.at(warp, $bits, register))
        }

        #[doc = concat!(
            "Returns the lanes of a ", $bits, "-bit register of a warp, mutably.\n\n# Panics\n\n",
            "If the warp or the register is out of bounds."
        )]
        #[inline]
        pub fn $write(&mut self, warp: usize, register: u32) -> &mut [$ty; WARP] {
            self.file.register_mut(self.at(warp, $bits, register))
        }
    )*};
}

impl Warps {
    /// Returns the number of warps.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if the block is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the byte offset of a warp's registers.
    #[inline]
    fn warp(&self, warp: usize) -> usize {
        assert!(warp < self.count, "warp {warp} of {}", self.count);
        warp * self.stride
    }

    /// Returns the byte offset of a register of a warp.
    #[inline]
    pub(super) fn at(&self, warp: usize, bits: u32, register: u32) -> usize {
        let offset = self.layout.offset(bits, register);
        self.warp(warp) + offset.unwrap_or_else(|count| panic!("register {register} of {count} with {bits} bits"))
    }

    registers! {
        b16 b16_mut u16, 16;
        b32 b32_mut u32, 32;
        b64 b64_mut u64, 64;
    }

    /// Returns a register of a warp: an array of lanes, or the mask of a predicate.
    ///
    /// # Panics
    ///
    /// If the warp is out of bounds, or the handle is one of a program with more registers.
    #[inline]
    pub fn get<T: Contents>(&self, warp: usize, handle: Handle<T>) -> &T {
        self.file.register(self.warp(warp) + self.inside(handle))
    }

    /// Returns a register of a warp, mutably.
    ///
    /// # Panics
    ///
    /// As [`Warps::get`].
    #[inline]
    pub fn get_mut<T: Contents>(&mut self, warp: usize, handle: Handle<T>) -> &mut T {
        self.file.register_mut(self.warp(warp) + self.inside(handle))
    }

    #[inline]
    fn inside<T: Contents>(&self, handle: Handle<T>) -> usize {
        let at = handle.at as usize;
        assert!(at < self.stride, "a handle of another program");
        at
    }

    /// Returns a predicate of a warp: bit *i* is the value in lane *i*.
    ///
    /// # Panics
    ///
    /// If the warp or the register is out of bounds.
    #[inline]
    pub fn pred(&self, warp: usize, register: u32) -> u32 {
        *self.file.register(self.at(warp, 1, register))
    }

    /// Returns a predicate of a warp, mutably.
    ///
    /// # Panics
    ///
    /// If the warp or the register is out of bounds.
    #[inline]
    pub fn pred_mut(&mut self, warp: usize, register: u32) -> &mut u32 {
        self.file.register_mut(self.at(warp, 1, register))
    }

    /// Returns the mask of active threads of a warp. The registers of inactive threads are not modified.
    ///
    /// # Panics
    ///
    /// If the warp is out of bounds.
    #[inline]
    pub fn active(&self, warp: usize) -> u32 {
        *self.file.register(self.warp(warp) + ACTIVE)
    }

    /// Returns the mask of active threads of a warp, mutably.
    ///
    /// # Panics
    ///
    /// If the warp is out of bounds.
    #[inline]
    pub fn active_mut(&mut self, warp: usize) -> &mut u32 {
        self.file.register_mut(self.warp(warp) + ACTIVE)
    }
}
