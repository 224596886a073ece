//! Calls, returns, stacks, and the functions of the system.

#![allow(unsafe_code, reason = "frames lie within stacks that are checked where they grow")]

use std::format;
use std::prelude::rust_2024::*;

use super::super::block::{Block, Entry, Flow, Frame};
use super::super::decode::{Action, Callee, Cell, FUNCTION, FUNCTIONS, Op, Slot, Where};
use super::super::error::{Error, ErrorKind};
use super::super::raw;
use super::super::system::{self, System};
use super::Guard;

impl Block<'_> {
    /// Returns the new end of a stack that grows by `by` bytes.
    ///
    /// # Errors
    ///
    /// If the stack of the thread is exhausted.
    pub(super) fn grown(&self, at: usize, warp: usize, lane: usize, from: u64, by: u64) -> Result<u64, Error> {
        let end = from.saturating_add(by);
        if end <= self.stack {
            return Ok(end);
        }
        let message = format!("stack overflow: {end} bytes are needed, but the stack of a thread has {}", self.stack);
        Err(self.error(at, warp, lane, Error::new(ErrorKind::Stack, message)))
    }

    /// The host address of an offset in a thread's stack.
    fn stack_at(&self, thread: usize, offset: u64) -> usize {
        self.local.address() + thread * self.stack as usize + offset as usize
    }

    /// Returns up to 16 bytes at an offset in a thread's stack, little-endian. Callers ensure that they lie within the stack.
    fn in_frame(&self, thread: usize, offset: u64, bytes: u64) -> u128 {
        let from = self.stack_at(thread, offset);
        (0..bytes.min(16)).fold(0, |value, byte| {
            // SAFETY: frames lie within the stack, as `grown` has seen.
            value | u128::from(unsafe { raw::load(from + byte as usize, 1) }) << (8 * byte)
        })
    }

    pub(super) fn call(
        &mut self,
        entry: &mut Entry,
        guard: Guard,
        callee: &Callee,
        arguments: &[Slot],
        results: &[Slot],
    ) -> Result<Flow, Error> {
        let mut entered: Vec<Entry> = Vec::new();
        let mut values: Vec<u128> = Vec::new();
        for (warp, lane) in self.lanes(entry, guard) {
            let function = match callee {
                Callee::System(system) => {
                    self.system(entry, warp, lane, *system, arguments, results)?;
                    continue;
                }
                Callee::Direct(function) => *function,
                Callee::Indirect(cell) => {
                    let address = self.get(warp, lane, *cell);
                    let offset = address.checked_sub(FUNCTIONS).filter(|offset| offset.is_multiple_of(FUNCTION));
                    let number = offset.and_then(|offset| usize::try_from(offset / FUNCTION).ok());
                    let Some(number) = number.filter(|number| self.code.routine(*number).is_some()) else {
                        let message = format!("there is no function at the address {address:#x}");
                        let error = Error { address: Some(address), ..Error::new(ErrorKind::Call, message) };
                        return Err(self.error(entry.at, warp, lane, error));
                    };
                    number
                }
            };
            let routine = self.code.routine(function).expect("the kernel reaches the function");
            if let Some(system) = routine.system {
                self.system(entry, warp, lane, system, arguments, results)?;
                continue;
            }
            let thread = 32 * warp + lane;
            let frame = self.tops[thread].next_multiple_of(routine.align);
            let top = self.grown(entry.at, warp, lane, frame, routine.frame)?;
            values.clear();
            values.extend(arguments.iter().map(|slot| self.slot_value(warp, lane, slot)));
            let again = routine.recursive && (self.calls[thread].iter().any(|call| call.function == function));
            let saved = match again {
                true => routine.rows.iter().map(|row| self.get(warp, lane, Cell::Row(*row))).collect(),
                false => Vec::new(),
            };
            let before = self.frames[thread];
            let stack = self.tops[thread];
            self.calls[thread].push(Frame { from: entry.at, function, frame: before, stack, saved });
            for ((from, to), value) in arguments.iter().zip(&routine.parameters).zip(&values) {
                self.pass(thread, (before, from), (frame, to), *value);
            }
            (self.frames[thread], self.tops[thread]) = (frame, top);
            self.part(&mut entered, entry.depth + 1, routine.entry).masks[warp] |= 1 << lane;
            entry.masks[warp] &= !(1 << lane);
        }
        if entered.is_empty() {
            return Ok(Flow::Next);
        }
        entered.into_iter().for_each(|part| self.aside(part));
        Ok(self.go_on(entry))
    }

    /// The value of a register that is passed; bytes in a frame are copied later.
    fn slot_value(&self, warp: usize, lane: usize, slot: &Slot) -> u128 {
        match slot {
            Slot::Cell(cell) => self.get_wide(warp, lane, *cell),
            Slot::Frame { .. } => 0,
        }
    }

    /// Passes a value from one frame to another: bytes, or a register.
    fn pass(&mut self, thread: usize, (frame, from): (u64, &Slot), (into, to): (u64, &Slot), value: u128) {
        let (warp, lane) = (thread / 32, thread % 32);
        match (from, to) {
            (Slot::Frame { offset, bytes }, Slot::Frame { offset: other, bytes: most }) => {
                let (from, to) = (self.stack_at(thread, frame + offset), self.stack_at(thread, into + other));
                for byte in 0..*bytes.min(most) as usize {
                    // SAFETY: both frames lie within the stack, as `grown` has seen.
                    unsafe { raw::store(to + byte, 1, raw::load(from + byte, 1)) };
                }
            }
            (Slot::Frame { offset, bytes }, Slot::Cell(cell)) => {
                let value = self.in_frame(thread, frame + offset, *bytes);
                self.set_wide(warp, lane, *cell, value);
            }
            (Slot::Cell(_), Slot::Cell(cell)) => self.set_wide(warp, lane, *cell, value),
            (Slot::Cell(_), Slot::Frame { offset, bytes }) => {
                let to = self.stack_at(thread, into + offset);
                for (byte, value) in value.to_le_bytes().iter().take(*bytes as usize).enumerate() {
                    // SAFETY: the frame lies within the stack.
                    unsafe { raw::store(to + byte, 1, (*value).into()) };
                }
            }
        }
    }

    /// Back to the callers; threads end that have none.
    pub(super) fn leave(&mut self, entry: &mut Entry, guard: Guard) -> Result<Flow, Error> {
        if entry.depth == 0 {
            return Ok(self.end(entry, guard));
        }
        let mut parts: Vec<Entry> = Vec::new();
        let mut values: Vec<u128> = Vec::new();
        for (warp, lane) in self.lanes(entry, guard) {
            let thread = 32 * warp + lane;
            let Some(call) = self.calls[thread].pop() else { continue };
            let routine = self.code.routine(call.function).expect("the kernel reaches the function");
            let Op::Effect { action: Action::Call { results, .. }, .. } = &self.code.ops[call.from] else {
                continue;
            };
            let frame = self.frames[thread];
            values.clear();
            values.extend(routine.results.iter().map(|slot| self.slot_value(warp, lane, slot)));
            // After a recursive call the caller's registers are restored, except those that receive the results.
            for (row, value) in routine.rows.iter().zip(&call.saved) {
                self.set(warp, lane, Cell::Row(*row), *value);
            }
            for ((from, to), value) in routine.results.iter().zip(results).zip(&values) {
                self.pass(thread, (frame, from), (call.frame, to), *value);
            }
            (self.frames[thread], self.tops[thread]) = (call.frame, call.stack);
            self.part(&mut parts, entry.depth - 1, call.from + 1).masks[warp] |= 1 << lane;
            entry.masks[warp] &= !(1 << lane);
        }
        parts.into_iter().for_each(|part| self.aside(part));
        Ok(self.go_on(entry))
    }

    /// The value that a thread passes or gets in a slot.
    fn passed(&self, warp: usize, lane: usize, slot: Option<&Slot>) -> u64 {
        let thread = 32 * warp + lane;
        match slot {
            Some(Slot::Cell(cell)) => self.get(warp, lane, *cell),
            Some(Slot::Frame { offset, bytes }) => self.in_frame(thread, self.frames[thread] + offset, *bytes) as u64,
            None => 0,
        }
    }

    fn byte(&mut self, warp: usize, lane: usize, address: u64, bytes: u8) -> Option<u64> {
        let mut value = 0;
        for byte in 0..bytes {
            let at = self.resolve_one(warp, lane, Where::Generic, address.wrapping_add(byte.into()), 1).ok()?;
            // SAFETY: the byte lies in an allocation of the launch.
            value |= unsafe { raw::load(at as usize, 1) } << (8 * byte);
        }
        Some(value)
    }

    /// A string that ends with zero.
    fn string(&mut self, warp: usize, lane: usize, address: u64) -> Option<String> {
        const LONGEST: u64 = 1 << 16;
        let mut bytes = Vec::new();
        for offset in 0..LONGEST {
            match self.byte(warp, lane, address.wrapping_add(offset), 1)? as u8 {
                0 => return Some(String::from_utf8_lossy(&bytes).into_owned()),
                byte => bytes.push(byte),
            }
        }
        None
    }

    fn system(
        &mut self,
        entry: &Entry,
        warp: usize,
        lane: usize,
        system: System,
        arguments: &[Slot],
        results: &[Slot],
    ) -> Result<(), Error> {
        let given: [u64; 4] = std::array::from_fn(|index| self.passed(warp, lane, arguments.get(index)));
        let result = match system {
            System::Print => {
                let format = self.string(warp, lane, given[0]);
                // Two readers of one block take turns.
                let block = std::cell::RefCell::new(&mut *self);
                let text = format.and_then(|format| {
                    system::print(
                        &format,
                        |offset, bytes| block.borrow_mut().byte(warp, lane, given[1].wrapping_add(offset), bytes),
                        |address| block.borrow_mut().string(warp, lane, address),
                    )
                });
                match text {
                    Some((text, arguments)) => {
                        self.launched.print(&text);
                        arguments
                    }
                    None => u64::MAX,
                }
            }
            System::Assert => {
                let message = self.string(warp, lane, given[0]).unwrap_or_default();
                let file = self.string(warp, lane, given[1]).unwrap_or_default();
                let line = given[2] as u32;
                let message = format!("assertion failed: {message}, at {file}:{line}");
                return Err(self.error(entry.at, warp, lane, Error::new(ErrorKind::Assertion, message)));
            }
            System::Allocate => {
                let start = self.launched.memory.allocate_on_heap(given[0], self.launched.options.heap);
                if start != 0 {
                    self.is_new(start, given[0]);
                }
                start
            }
            System::Free => {
                self.launched.memory.free_on_heap(given[0]);
                self.around = self.launched.everywhere();
                let around = self.around;
                self.bounds.fill(around);
                0
            }
        };
        if let Some(to) = results.first() {
            let thread = 32 * warp + lane;
            let frame = self.frames[thread];
            self.pass(thread, (frame, &Slot::Cell(Cell::Sink)), (frame, to), result.into());
        }
        Ok(())
    }
}
