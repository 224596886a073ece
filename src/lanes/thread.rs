//! Threads one by one, by programs on bits: what needs no vectors.
//!
//! It is the level of machines without AVX2, of builds without the feature `simd`, and of forms that have no loop.

use alloc::boxed::Box;
use alloc::vec::Vec;

use isa_table::limits::{PLACES, VALUES};
use isa_table::program::{self, Operation, Shape};

use super::{BIT, WARP};

/// The computation of a single thread.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    shape: &'static Shape,
    operation: Operation,
    /// Constants, outcomes and packed selectors.
    data: Vec<u64>,
}

/// An operand's place: where it is, and the bits of a lane; 1 for predicates.
type Place = (*mut u8, u8);

/// # Safety
///
/// At the place are 32 lanes for each chunk up to this one.
unsafe fn get((at, bits): Place, chunk: usize, lane: usize) -> u128 {
    let index = chunk * WARP + lane;
    // SAFETY: the caller's promise.
    unsafe {
        match bits {
            1 => u128::from(*at.cast::<u32>().add(chunk) >> lane & 1),
            8 => u128::from(*at.cast::<u16>().add(index) & 0xff),
            16 => u128::from(*at.cast::<u16>().add(index)),
            32 => u128::from(*at.cast::<u32>().add(index)),
            _ => u128::from(*at.cast::<u64>().add(index)),
        }
    }
}

/// # Safety
///
/// As [`get`], and it may be written.
unsafe fn put((at, bits): Place, chunk: usize, lane: usize, value: u128) {
    let index = chunk * WARP + lane;
    // SAFETY: the caller's promise.
    unsafe {
        match bits {
            1 => {
                let word = at.cast::<u32>().add(chunk);
                *word = *word & !BIT[lane] | ((value & 1) as u32) << lane;
            }
            8 | 16 => *at.cast::<u16>().add(index) = value as u16,
            32 => *at.cast::<u32>().add(index) = value as u32,
            _ => *at.cast::<u64>().add(index) = value as u64,
        }
    }
}

impl Thread {
    pub(crate) fn new(shape: &'static Shape, operation: Operation, data: Vec<u64>) -> Thread {
        Thread { shape, operation, data }
    }

    /// Returns true if the result of a lane depends on other lanes.
    pub(super) fn is_collective(&self) -> bool {
        self.shape.is_collective()
    }

    /// Number of operands.
    pub(super) fn places(&self) -> usize {
        self.shape.places.len()
    }

    /// Runs the lanes of a chunk that a mask has.
    ///
    /// # Safety
    ///
    /// The module's second promise, for the shape's places and chunks up to this one.
    pub(super) unsafe fn run(&self, at: &[*mut u8; PLACES], chunk: usize, mask: u32) {
        let mut places = [(core::ptr::null_mut(), 0); PLACES];
        for (place, (at, bits)) in places.iter_mut().zip(at.iter().zip(self.shape.places)) {
            *place = (*at, *bits);
        }
        let (outputs, sources) = places.split_at(self.shape.outputs.len());
        if self.is_collective() {
            // SAFETY: the caller's promise.
            return unsafe { self.run_warp(outputs, sources, chunk, mask) };
        }
        for lane in (0..WARP).filter(|lane| mask & BIT[*lane] != 0) {
            let mut values = [0; VALUES];
            program::run(
                self.shape.code,
                &self.data,
                // SAFETY: the caller's promise.
                |source| unsafe { get(sources[source], chunk, lane) },
                |packed| packed as u128,
                self.operation,
                &mut values,
            );
            for (place, output) in outputs.iter().zip(self.shape.outputs) {
                // SAFETY: the caller's promise.
                unsafe { put(*place, chunk, lane, values[usize::from(*output)]) };
            }
        }
    }

    /// Runs the lanes of a chunk together; those are written that a mask has.
    ///
    /// # Safety
    ///
    /// As [`Thread::run`], for outputs and sources.
    unsafe fn run_warp(&self, outputs: &[Place], sources: &[Place], chunk: usize, mask: u32) {
        let mut values = Box::new([[0; WARP]; VALUES]);
        program::run_warp(
            self.shape.code,
            &self.data,
            mask,
            // SAFETY: the caller's promise.
            |source, lane| unsafe { get(sources[source], chunk, lane) },
            |packed| packed as u128,
            self.operation,
            &mut values,
        );
        for (place, output) in outputs.iter().zip(self.shape.outputs) {
            for lane in (0..WARP).filter(|lane| mask & BIT[*lane] != 0) {
                // SAFETY: the caller's promise.
                unsafe { put(*place, chunk, lane, values[usize::from(*output)][lane]) };
            }
        }
    }
}
