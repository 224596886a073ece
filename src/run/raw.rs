//! Atomic access to host memory by address. Callers check that an address lies in an allocation.
//!
//! Threads of a kernel may race, so loads and stores are relaxed atomics of their width, and read-modify-writes are sequentially
//! consistent. Callers order other accesses with [`order`].

#![allow(unsafe_code, reason = "kernels address memory by numbers")]

use std::prelude::rust_2024::*;

use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// Alignment of allocations.
const ALIGN: usize = 256;

/// Bytes of a large page, and of the smallest allocation that has them.
const LARGE_PAGE: usize = 1 << 21;
const LARGE: usize = 2 * LARGE_PAGE;

/// The distance in bytes of the next large allocation from the start of its first page: without one, elements of the same index in several
/// allocations would share a few sets of a cache.
fn next_color() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    const APART: usize = 17 * ALIGN;
    COUNT.fetch_add(1, Ordering::Relaxed) % 16 * APART
}

/// Asks the system for large pages for the memory from one address to another, which then takes less time to translate. It may have none.
fn prefer_large_pages(start: usize, end: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: this changes no contents of the allocation.
    unsafe {
        libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
    }
    let _ = (start, end);
}

/// Number of pieces of 64 bytes of the largest allocation that is zeroed here: allocators have small ones at hand that are not.
const SMALL: usize = 16;

/// Bytes that live until the program drops them, aligned to 256.
#[derive(Debug)]
pub(crate) struct Bytes {
    pieces: Vec<[u64; 8]>,
    start: usize,
    len: usize,
}

impl Default for Bytes {
    /// No bytes, without an allocation.
    fn default() -> Bytes {
        Bytes { pieces: Vec::new(), start: ALIGN, len: 0 }
    }
}

impl Bytes {
    /// Allocates `len` zeroed bytes; returns `None` if the host has no memory for them.
    pub(crate) fn try_zeroed(len: usize) -> Option<Bytes> {
        Bytes::try_apart(len, ALIGN, 0)
    }

    /// Allocates `len` zeroed bytes at a multiple of `align`, a power of two, and of 256, as `try_zeroed` does, but on large pages if there are
    /// many.
    pub(crate) fn try_aligned(len: usize, align: usize) -> Option<Bytes> {
        if len < LARGE || align > ALIGN {
            return Bytes::try_apart(len, align.max(ALIGN), 0);
        }
        let bytes = Bytes::try_apart(len, LARGE_PAGE, next_color())?;
        prefer_large_pages(bytes.start & !(LARGE_PAGE - 1), bytes.start + len);
        Some(bytes)
    }

    /// Allocates `len` zeroed bytes that begin `apart` bytes behind a multiple of `align`.
    fn try_apart(len: usize, align: usize, apart: usize) -> Option<Bytes> {
        // More than is needed, as the allocation need not begin at such a multiple.
        let count = len.checked_add(align + apart)?.div_ceil(64);
        let pieces = if count <= SMALL { [[0; 8]; SMALL][..count].to_vec() } else { Bytes::try_pieces(count)? };
        let start = (pieces.as_ptr() as usize).next_multiple_of(align) + apart;
        Some(Bytes { pieces, start, len })
    }

    /// Allocates zeroed pieces, which the system has if there are many.
    fn try_pieces(count: usize) -> Option<Vec<[u64; 8]>> {
        let layout = Layout::array::<[u64; 8]>(count).ok()?;
        // SAFETY: the layout has at least four pieces.
        let first = unsafe { alloc_zeroed(layout) }.cast::<[u64; 8]>();
        if first.is_null() {
            return None;
        }
        // SAFETY: the global allocator returned `count` pieces, and zeros are valid integers.
        Some(unsafe { Vec::from_raw_parts(first, count, count) })
    }

    /// The address of the first byte.
    pub(crate) fn address(&self) -> usize {
        debug_assert!(self.pieces.as_ptr() as usize <= self.start);
        self.start
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Makes all bytes zero.
    pub(crate) fn clear(&mut self) {
        self.pieces.fill([0; 8]);
    }

    /// The bytes from an offset on.
    pub(crate) fn read(&self, offset: usize, out: &mut [u8]) {
        assert!(offset + out.len() <= self.len, "a range within the allocation");
        // Whole words as far as they go: an offset is mostly a multiple of their size.
        let words = if offset.is_multiple_of(8) { out.len() / 8 } else { 0 };
        let (whole, rest) = out.split_at_mut(8 * words);
        for (index, word) in whole.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            // SAFETY: as below; the first byte is aligned.
            *word = unsafe { load(self.start + offset + 8 * index, 8) }.to_ne_bytes();
        }
        for (index, byte) in rest.iter_mut().enumerate() {
            let index = 8 * words + index;
            // SAFETY: the range lies within the allocation, by the assertion.
            *byte = unsafe { load(self.start + offset + index, 1) } as u8;
        }
    }

    /// Replaces the bytes from an offset on.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.len, "a range within the allocation");
        let words = if offset.is_multiple_of(8) { bytes.len() / 8 } else { 0 };
        let (whole, rest) = bytes.split_at(8 * words);
        for (index, word) in whole.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: as below; the first byte is aligned.
            unsafe { store(self.start + offset + 8 * index, 8, u64::from_ne_bytes(*word)) };
        }
        for (index, byte) in rest.iter().enumerate() {
            let index = 8 * words + index;
            // SAFETY: the range lies within the allocation, by the assertion.
            unsafe { store(self.start + offset + index, 1, (*byte).into()) };
        }
    }
}

/// Reads 1, 2, 4 or 8 bytes.
///
/// # Safety
///
/// The bytes are readable, the address is a multiple of their number, and whoever else accesses them does so atomically.
#[inline(always)]
pub(crate) unsafe fn load(address: usize, bytes: u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(address as *mut u8).load(Ordering::Relaxed).into(),
            2 => AtomicU16::from_ptr(address as *mut u16).load(Ordering::Relaxed).into(),
            4 => AtomicU32::from_ptr(address as *mut u32).load(Ordering::Relaxed).into(),
            _ => AtomicU64::from_ptr(address as *mut u64).load(Ordering::Relaxed),
        }
    }
}

/// Writes 1, 2, 4 or 8 bytes.
///
/// # Safety
///
/// As [`load`], and the bytes are writable.
#[inline(always)]
pub(crate) unsafe fn store(address: usize, bytes: u8, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(address as *mut u8).store(value as u8, Ordering::Relaxed),
            2 => AtomicU16::from_ptr(address as *mut u16).store(value as u16, Ordering::Relaxed),
            4 => AtomicU32::from_ptr(address as *mut u32).store(value as u32, Ordering::Relaxed),
            _ => AtomicU64::from_ptr(address as *mut u64).store(value, Ordering::Relaxed),
        }
    }
}

/// Atomically replaces 1, 2, 4 or 8 bytes by a function of them; returns the old value.
///
/// # Safety
///
/// As [`store`].
pub(crate) unsafe fn update(address: usize, bytes: u8, mut change: impl FnMut(u64) -> u64) -> u64 {
    let order = Ordering::SeqCst;
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            1 => {
                let cell = AtomicU8::from_ptr(address as *mut u8);
                cell.fetch_update(order, order, |old| Some(change(old.into()) as u8)).unwrap_or_default().into()
            }
            2 => {
                let cell = AtomicU16::from_ptr(address as *mut u16);
                cell.fetch_update(order, order, |old| Some(change(old.into()) as u16)).unwrap_or_default().into()
            }
            4 => {
                let cell = AtomicU32::from_ptr(address as *mut u32);
                cell.fetch_update(order, order, |old| Some(change(old.into()) as u32)).unwrap_or_default().into()
            }
            _ => {
                let cell = AtomicU64::from_ptr(address as *mut u64);
                cell.fetch_update(order, order, |old| Some(change(old))).unwrap_or_default()
            }
        }
    }
}

/// Atomically adds to 4 or 8 bytes; returns the old value.
///
/// # Safety
///
/// As [`store`].
pub(crate) unsafe fn add(address: usize, bytes: u8, value: u64) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            4 => AtomicU32::from_ptr(address as *mut u32).fetch_add(value as u32, Ordering::SeqCst).into(),
            _ => AtomicU64::from_ptr(address as *mut u64).fetch_add(value, Ordering::SeqCst),
        }
    }
}

/// Adds to the 4 or 8 bytes of each lane of a mask, one lane after the other; `old` gets the values before. No other thread accesses them.
///
/// # Safety
///
/// As [`store`].
pub(crate) unsafe fn add_each(at: &[u64; 32], mask: u32, bytes: u8, values: &[u64; 32], old: &mut [u64; 32]) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            4 => add_in_turn::<4>(at, mask, values, old),
            _ => add_in_turn::<8>(at, mask, values, old),
        }
    }
}

/// # Safety
///
/// As [`add_each`].
unsafe fn add_in_turn<const BYTES: u8>(at: &[u64; 32], mask: u32, values: &[u64; 32], old: &mut [u64; 32]) {
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        // SAFETY: the caller's promise.
        unsafe {
            old[lane] = load(at[lane] as usize, BYTES);
            store(at[lane] as usize, BYTES, old[lane].wrapping_add(values[lane]));
        }
    }
}

/// Adds to four bytes that no other thread accesses.
///
/// # Safety
///
/// As [`store`].
#[inline]
pub(crate) unsafe fn add_alone(address: usize, value: u32) {
    // SAFETY: the caller's promise.
    unsafe { store(address, 4, (load(address, 4) as u32).wrapping_add(value).into()) };
}

/// Serializes accesses of 16 bytes, so that none is torn.
static WIDE: Mutex<()> = Mutex::new(());

/// Replaces 16 bytes by a function of them, with no other access to 16 bytes between; returns the old value.
///
/// # Safety
///
/// As [`store`], for both halves.
pub(crate) unsafe fn update_wide(address: usize, change: impl FnOnce(u128) -> u128) -> u128 {
    let _held = WIDE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's promise.
    unsafe {
        let old = u128::from(load(address, 8)) | u128::from(load(address + 8, 8)) << 64;
        let new = change(old);
        if new != old {
            store(address, 8, new as u64);
            store(address + 8, 8, (new >> 64) as u64);
        }
        old
    }
}

/// Orders all accesses of the thread.
pub(crate) fn order() {
    fence(Ordering::SeqCst);
}

/// Copies bytes in the widest units that the alignment of the addresses allows.
///
/// # Safety
///
/// As [`load`] and [`store`], for each byte.
pub(crate) unsafe fn copy(to: usize, from: usize, bytes: usize) {
    let together = to | from;
    let mut at = 0;
    while together.is_multiple_of(8) && at + 8 <= bytes {
        // SAFETY: the caller's promise; both addresses are multiples of 8.
        unsafe { store(to + at, 8, load(from + at, 8)) };
        at += 8;
    }
    while at < bytes {
        let width = [8, 4, 2]
            .into_iter()
            .find(|width| (together | at).is_multiple_of(*width) && at + width <= bytes)
            .unwrap_or(1);
        // SAFETY: the caller's promise; both addresses are multiples of the width.
        unsafe { store(to + at, width as u8, load(from + at, width as u8)) };
        at += width;
    }
}
