//! Accesses by addresses that lanes compute, within machine code.
//!
//! The code moves what is in the allocation that the operation accessed last. Where some lane accesses another one, it calls a function, which
//! moves the elements of the warp one by one, and lets the code go on with that allocation; or there is none, and the code ends. As each warp
//! runs all of the code before the next one does, the error of an earlier warp comes before that of an earlier operation.

#![allow(unsafe_code, reason = "machine code calls a function, which accesses memory at addresses that it has checked")]

use std::prelude::rust_2024::*;

use ptx_isa::jit::{Exchange, WINDOW};

use super::super::super::decode::{Access, Action, Op, Where};
use super::super::super::error::Error;
use super::super::super::raw;
use super::{Block, Entry, Step, Stretch};

/// State that the function has while the code runs.
pub(super) struct Context<'c, 'l> {
    block: &'c mut Block<'l>,
    entry: &'c Entry,
    stretch: &'c Stretch,
    /// How often the function was called.
    pub calls: usize,
    pub error: Option<Error>,
}

impl<'c, 'l> Context<'c, 'l> {
    pub(super) fn new(block: &'c mut Block<'l>, entry: &'c Entry, stretch: &'c Stretch) -> Self {
        Context { block, entry, stretch, calls: 0, error: None }
    }

    /// Accesses memory for a step, and for a warp; returns the index of the arguments that are its window, and what they are now.
    fn access(&mut self, exchange: &mut Exchange, step: usize, warp: usize) -> Result<(usize, [u64; WINDOW]), Error> {
        let code = self.block.code;
        let Step::Scattered { at, slot, .. } = self.stretch.steps[step] else { unreachable!("the code was made so") };
        let Op::Effect { action: action @ (Action::Read(access) | Action::Write(access)), .. } = &code.ops[at] else {
            unreachable!("the step was made so");
        };
        let Exchange { addresses: exchanged, elements, mask, .. } = exchange;
        let narrow = access.at.base.is_some_and(|row| row.bits == 32);
        let base = |lane: usize| if narrow { half(exchanged, lane) } else { exchanged[lane] };
        let mut addresses = std::array::from_fn(|lane| access.at.behind(base(lane)));
        let (block, whole) = (&mut *self.block, access.whole());
        block.around = block.bounds[at];
        let resolved = block.resolve(warp, *mask, access.place, &mut addresses, whole, whole);
        if let Err(fault) = resolved {
            return Err(block.fault(&Entry { at, ..self.entry.clone() }, warp, fault, whole));
        }
        block.bounds[at] = block.around;
        for (index, elements) in elements.iter_mut().enumerate().take(access.cells.len()) {
            for lane in Block::lanes_of(*mask) {
                let place = addresses[lane] as usize + index * usize::from(access.bytes);
                // SAFETY: `resolve` found the bytes in an allocation of the launch, aligned to their number.
                unsafe {
                    match (action, access.bytes) {
                        (Action::Write(_), 8) => raw::store(place, 8, elements[lane]),
                        (Action::Write(_), bytes) => raw::store(place, bytes, half(elements, lane)),
                        (_, 8) => elements[lane] = raw::load(place, 8),
                        (_, bytes) => set_half(elements, lane, raw::load(place, bytes)),
                    }
                }
            }
        }
        Ok((slot as usize, block.window(at, access)))
    }
}

/// A word of 32 bits of those that pairs of them are.
fn half(words: &[u64; 32], index: usize) -> u64 {
    words[index / 2] >> (32 * (index % 2)) & u64::from(u32::MAX)
}

fn set_half(words: &mut [u64; 32], index: usize, word: u64) {
    let shift = 32 * (index % 2);
    words[index / 2] = words[index / 2] & !(u64::from(u32::MAX) << shift) | word << shift;
}

/// The function that the code calls.
///
/// # Safety
///
/// There is an [`Exchange`] at the address, whose context is a [`Context`]; nothing else uses them meanwhile, and the code has the arguments of its
/// stretch.
pub(super) unsafe extern "C" fn access(_: *mut (), exchange: *const (), step: u64, row: usize, arguments: *mut u64) {
    // SAFETY: the caller's promise.
    let exchange = unsafe { &mut *exchange.cast_mut().cast::<Exchange>() };
    let context = std::ptr::with_exposed_provenance_mut::<Context<'_, '_>>(exchange.context as usize);
    // SAFETY: the same.
    let context = unsafe { &mut *context };
    context.calls += 1;
    match context.access(exchange, step as usize, row / 16) {
        // SAFETY: the caller's promise: the step has a window among the arguments.
        Ok((slot, window)) => unsafe { arguments.add(slot).cast::<[u64; WINDOW]>().write(window) },
        Err(error) => {
            exchange.failed = 1;
            context.error = Some(error);
        }
    }
}

impl Block<'_> {
    /// The arguments that tell the code of an operation what it may access: nothing if it is to call the function each time.
    pub(super) fn window(&self, at: usize, access: &Access) -> [u64; WINDOW] {
        let ((start, end), host) = match access.place {
            Where::Block => {
                let (start, end, host) = self.shared_window(0);
                ((start, end), start.wrapping_add(host))
            }
            _ => {
                let (start, end) = self.bounds[at];
                ((start as u64, end as u64), start as u64)
            }
        };
        let (whole, bits) = (access.whole(), access.at.base.map_or(64, |row| row.bits));
        // Offsets of 32 bits have a sign.
        let reaches = start.is_multiple_of(whole) && (bits == 64 || end <= 1 << 31);
        let count = if reaches { (end - start) / whole } else { 0 };
        [start.wrapping_sub(access.at.offset), count, host]
    }
}
