//! How much memory a piece of work takes, counted in each thread.
#![allow(unsafe_code, reason = "an allocator is the one way to see what is allocated")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has allocated and not yet freed; `PEAK` is the maximum.
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let now = NOW.get().wrapping_add(bytes);
    NOW.set(now);
    PEAK.set(PEAK.get().max(now));
}

struct Counting;

// SAFETY: the system's allocator does all of it; counters of numbers neither allocate nor are dropped.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Does a piece of work on `length` bytes, and sees that it takes at most `fixed` bytes and `each` for each of them.
pub(super) fn bounded<T>(fixed: usize, each: usize, length: usize, work: impl FnOnce() -> T) -> T {
    let before = NOW.get();
    PEAK.set(before);
    let done = work();
    let taken = PEAK.get() - before;
    assert!(taken <= (fixed + each * length) as isize, "{taken} bytes of memory for {length} bytes of text");
    done
}
