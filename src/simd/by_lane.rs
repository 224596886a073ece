//! The portable level of x86-64: a form's function on bits, lane by lane.
//!
//! Machines without AVX2 are rare, and vectors of the instructions that every x86-64 has were most of the code of all
//! levels together.

use crate::table::{Evaluator, FormInfo};

use super::{BIT, D, E, Layout, PLACES, Places, Prepared, WARP, at, guard, rare};

/// How a form's function on bits gets its words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByLane {
    pub form: &'static FormInfo,
    pub evaluator: &'static Evaluator,
    pub layout: Layout,
    /// For each source in order of writing its place, or `u8::MAX` if the kernel has none.
    pub sources: [u8; 6],
    pub source_count: u8,
    /// Sources that come complemented, a bit each.
    pub complemented: u8,
    /// The selectors, packed as in their types.
    pub selectors: [u32; 3],
}

/// # Safety
///
/// `at` points to an operand of so many bits a lane.
unsafe fn get(at: *const u8, bits: u32, lane: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match bits {
            1 => u64::from(*at.cast::<u32>() >> lane & 1),
            16 => u64::from(*at.cast::<u16>().add(lane)),
            32 => u64::from(*at.cast::<u32>().add(lane)),
            _ => *at.cast::<u64>().add(lane),
        }
    }
}

/// # Safety
///
/// As [`get`], and it may be written.
unsafe fn put(at: *mut u8, bits: u32, lane: usize, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match bits {
            0 => {}
            1 => *at.cast::<u32>() = *at.cast::<u32>() & !BIT[lane] | ((value & 1) as u32) << lane,
            16 => *at.cast::<u16>().add(lane) = value as u16,
            32 => *at.cast::<u32>().add(lane) = value as u32,
            _ => *at.cast::<u64>().add(lane) = value,
        }
    }
}

/// # Safety
///
/// The module's second promise.
unsafe fn run(op: &ByLane, at: impl Fn(usize) -> *mut u8, guard: u32) {
    let count = op.source_count as usize;
    let mut words = [0; 9];
    for (word, selector) in words[count..].iter_mut().zip(op.selectors) {
        *word = u64::from(selector);
    }
    for lane in (0..WARP).filter(|lane| guard & BIT[*lane] != 0) {
        for (source, place) in op.sources[..count].iter().enumerate() {
            let place = *place as usize;
            if place < PLACES {
                // SAFETY: the caller's promise.
                let word = unsafe { get(at(place), op.layout[place], lane) };
                words[source] = word ^ u64::from(op.complemented >> source & 1);
            }
        }
        let [d, e] = op.evaluator.evaluate(op.form.operands, &words[..count + op.selectors.len()]);
        // SAFETY: the caller's promise.
        unsafe {
            put(at(D), op.layout[D], lane, d);
            put(at(E), op.layout[E], lane, e);
        }
    }
}

/// # Safety
///
/// The module's second promise.
pub(super) unsafe fn warp(base: *mut u8, op: *const Prepared, active: u32) {
    // SAFETY: the caller's promise.
    unsafe { run(&rare(op).by_lane, |place| at(base, op, place), guard(base, op, active)) }
}

/// # Safety
///
/// The module's second promise.
pub(super) unsafe fn slice(places: &Places, op: *const Prepared, chunks: usize) {
    // SAFETY: the caller's promise, for each of the chunks.
    unsafe {
        let op = &rare(op).by_lane;
        for chunk in 0..chunks {
            let at = |place: usize| {
                let bits = op.layout[place];
                let step = if bits == 1 { places.step(place) } else { bits as usize * WARP / 8 };
                places.at[place].add(step * chunk)
            };
            run(op, at, u32::MAX);
        }
    }
}
