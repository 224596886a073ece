//! Memory that holds compiled code.

#![allow(unsafe_code, reason = "machine code is called")]

use std::prelude::rust_2024::*;

use memmap2::{Mmap, MmapMut};

/// Compiled code over warps: arguments, registers of the first warp, distance to those of the next in bytes, number of warps, literals.
#[cfg(target_arch = "x86_64")]
type Entry = unsafe extern "sysv64" fn(*mut u64, *mut u8, usize, usize, *const u8);

/// Literals, and the code behind them.
#[derive(Debug)]
pub(super) struct Page {
    memory: Mmap,
    /// Offset of the code in bytes.
    code: usize,
}

impl Page {
    /// Copies literals and code to memory of their own; `None` if the system gives none, or none that is executable.
    pub(super) fn new(literals: &[u8], code: &[u8]) -> Option<Page> {
        let mut memory = MmapMut::map_anon(literals.len() + code.len()).ok()?;
        memory[..literals.len()].copy_from_slice(literals);
        memory[literals.len()..].copy_from_slice(code);
        Some(Page { memory: memory.make_exec().ok()?, code: literals.len() })
    }

    /// The address of the code.
    pub(super) fn address(&self) -> usize {
        self.memory.as_ptr() as usize + self.code
    }

    /// Calls the code.
    ///
    /// # Safety
    ///
    /// The code follows the convention of [`Entry`], and what it does with the arguments and the registers is sound.
    pub(super) unsafe fn call(&self, arguments: &mut [u64], registers: *mut u8, stride: usize, warps: usize) {
        let literals = self.memory.as_ptr();
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!(
            "there is no code for this machine: {literals:?} {arguments:?} {registers:?} {stride} {warps} {}",
            self.code
        );
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the code begins there, by the caller's promise a function of this type.
        unsafe {
            let entry: Entry = core::mem::transmute(literals.add(self.code));
            entry(arguments.as_mut_ptr(), registers, stride, warps, literals);
        }
    }
}
