//! What effects do to the lanes of a block, its memory and that of the device.

#![allow(unsafe_code, reason = "addresses are checked here before memory is accessed")]

use std::prelude::rust_2024::*;
use std::{format, vec};

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use ptx_isa::table::Origin;

use super::block::{Block, Entry, Flow, Frame};
use super::decode::{
    Access, Action, Address, BLOCK, Callee, Cell, CopyBytes, FUNCTION, FUNCTIONS, PARAMETERS, Row, Slot, THREAD, Where,
};
use super::error::{Error, ErrorKind};
use super::raw;
use super::system::{self, System};

mod matrix;

/// Where the offset in a window of generic addresses ends.
const OFFSET: u64 = u32::MAX as u64;

type Guard = Option<(u32, bool)>;

/// Why an access is none, and of which address.
type Fault = (ErrorKind, u64);

impl Block<'_> {
    pub(crate) fn effect(&mut self, entry: &mut Entry, guard: Guard, action: &Action) -> Result<Flow, Error> {
        match action {
            Action::Read(access) => self.read(entry, guard, access)?,
            Action::Write(access) => self.write(entry, guard, access)?,
            Action::Update { access, .. } => {
                raw::order();
                self.update(entry, guard, access, action)?;
                raw::order();
            }
            Action::CopyBytes(copy) => self.copy_bytes(entry, guard, copy)?,
            Action::Fence => raw::order(),
            // Addresses of the device are generic ones.
            Action::ToGeneric { place: Where::Device, at: Cell::Row(at), to: Cell::Row(to) }
            | Action::FromGeneric { place: Where::Device, at: Cell::Row(at), to: Cell::Row(to) }
                if at.bits == 64 && to.bits == 64 =>
            {
                for (warp, mask) in entry.masks.iter().enumerate() {
                    let mask = self.guarded(warp, *mask, guard);
                    let from = *self.warps.b64(warp, at.number);
                    merge(self.warps.b64_mut(warp, to.number), &from, mask);
                }
            }
            Action::ToGeneric { place, at, to } => {
                let window = match place {
                    Where::Block => BLOCK,
                    Where::Thread => THREAD,
                    _ => 0,
                };
                self.each(entry, guard, |block, warp, lane| {
                    let value = block.get(warp, lane, *at);
                    // What is generic already stays what it is.
                    block.set(warp, lane, *to, if window == 0 { value } else { window | value & OFFSET });
                });
            }
            Action::FromGeneric { place, at, to } => self.each(entry, guard, |block, warp, lane| {
                let value = block.get(warp, lane, *at);
                let inside = matches!(place, Where::Block | Where::Thread);
                block.set(warp, lane, *to, if inside { value & OFFSET } else { value });
            }),
            Action::IsInSpace { place, at, to } => self.each(entry, guard, |block, warp, lane| {
                let window = block.get(warp, lane, *at) >> 48;
                let inside = match place {
                    Where::Block => window == BLOCK >> 48,
                    Where::Thread => window == THREAD >> 48,
                    Where::Device => window == 0,
                    _ => window == PARAMETERS >> 48,
                };
                block.set(warp, lane, *to, inside.into());
            }),
            Action::MapToBlock { at, to } => self.each(entry, guard, |block, warp, lane| {
                let value = block.get(warp, lane, *at);
                block.set(warp, lane, *to, value);
            }),
            Action::RankOfBlock { to } => self.each(entry, guard, |block, warp, lane| block.set(warp, lane, *to, 0)),
            Action::Reserve { size, alignment, to } => {
                for (warp, lane) in self.lanes(entry, guard) {
                    let thread = 32 * warp + lane;
                    let start = self.tops[thread].next_multiple_of(*alignment);
                    self.tops[thread] = self.grown(entry.at, warp, lane, start, self.get(warp, lane, *size))?;
                    self.set(warp, lane, *to, start);
                }
            }
            Action::StackPointer { to } => self.each(entry, guard, |block, warp, lane| {
                let top = block.tops[32 * warp + lane];
                block.set(warp, lane, *to, top);
            }),
            Action::SetStackPointer { from } => self.each(entry, guard, |block, warp, lane| {
                block.tops[32 * warp + lane] = block.get(warp, lane, *from) & OFFSET;
            }),
            Action::Copy { from, to } => self.each(entry, guard, |block, warp, lane| {
                let values: Vec<u64> = from.iter().map(|cell| block.get(warp, lane, *cell)).collect();
                to.iter().zip(values).for_each(|(cell, value)| block.set(warp, lane, *cell, value));
            }),
            Action::Convert { from, to, bits, signed } => self.each(entry, guard, |block, warp, lane| {
                let value = extended(block.get(warp, lane, *from), *bits, *signed);
                block.set(warp, lane, *to, value);
            }),
            Action::FrameAddress { to, offset, generic } => self.each(entry, guard, |block, warp, lane| {
                let address = block.frames[32 * warp + lane].wrapping_add(*offset);
                block.set(warp, lane, Cell::Row(*to), if *generic { THREAD | address } else { address });
            }),
            Action::Refresh { to, origin } => {
                let value = self.clock(*origin);
                self.each(entry, guard, |block, warp, lane| block.set(warp, lane, Cell::Row(*to), value));
            }
            Action::Branch(to) => return Ok(self.branch(entry, guard, *to)),
            Action::BranchIndexed { index, targets } => {
                let next = entry.at + 1;
                self.scatter(entry, guard, |block, warp, lane| {
                    targets.get(block.get(warp, lane, *index) as u32 as usize).copied().unwrap_or(next)
                });
                return Ok(Flow::Aside);
            }
            Action::Call { callee, arguments, results } => return self.call(entry, guard, callee, arguments, results),
            Action::Return => return self.leave(entry, guard),
            Action::Exit => return Ok(self.end(entry, guard)),
            Action::Trap => {
                if let Some((warp, lane)) = self.lanes(entry, guard).first().copied() {
                    let error = Error::new(ErrorKind::Trap, "the kernel executed a trap");
                    return Err(self.error(entry.at, warp, lane, error));
                }
            }
            Action::Wait { barrier, threads, test } => {
                let test = test.map(|test| test.of);
                return Ok(self.arrive(entry, guard, *barrier, *threads, test, true));
            }
            Action::Arrive { barrier, threads } => {
                return Ok(self.arrive(entry, guard, *barrier, Some(*threads), None, false));
            }
            Action::Converge { mask, together } => return Ok(self.converge(entry, guard, *mask, *together)),
            Action::Matrix(matrix) => self.matrix(entry, guard, matrix)?,
            Action::Nothing => {}
        }
        Ok(Flow::Next)
    }

    fn lanes(&self, entry: &Entry, guard: Guard) -> Vec<(usize, usize)> {
        let own = |(warp, mask): (usize, &u32)| {
            Self::lanes_of(self.guarded(warp, *mask, guard)).map(move |lane| (warp, lane)).collect::<Vec<_>>()
        };
        entry.masks.iter().enumerate().flat_map(own).collect()
    }

    fn each(&mut self, entry: &Entry, guard: Guard, mut act: impl FnMut(&mut Self, usize, usize)) {
        for (warp, mask) in entry.masks.iter().enumerate() {
            for lane in Self::lanes_of(self.guarded(warp, *mask, guard)) {
                act(self, warp, lane);
            }
        }
    }

    /// The addresses of a warp's lanes.
    #[inline]
    fn addresses(&self, warp: usize, at: &Address) -> [u64; 32] {
        match at.base {
            Some(Row { bits: 64, number }) => self.warps.b64(warp, number).map(|base| base.wrapping_add(at.offset)),
            // Arithmetic of 32 bits wraps.
            Some(Row { bits: 32, number }) => {
                self.warps.b32(warp, number).map(|base| base.wrapping_add(at.offset as u32).into())
            }
            Some(row) => std::array::from_fn(|lane| self.get(warp, lane, Cell::Row(row)).wrapping_add(at.offset)),
            None if at.frame => {
                std::array::from_fn(|lane| self.frames.get(32 * warp + lane).map_or(0, |frame| frame + at.offset))
            }
            None => [at.offset; 32],
        }
    }

    /// Makes host addresses of a warp's addresses, each of so many bytes; a multiple of `align`.
    #[inline]
    fn resolve(
        &mut self,
        warp: usize,
        mask: u32,
        place: Where,
        addresses: &mut [u64; 32],
        bytes: u64,
        align: u64,
    ) -> Result<(), (usize, Fault)> {
        let (mut least, mut most, mut low) = (u64::MAX, 0, 0);
        for lane in Self::lanes_of(mask) {
            least = least.min(addresses[lane]);
            most = most.max(addresses[lane]);
            low |= addresses[lane];
        }
        if low & (align - 1) != 0 {
            let lane = Self::lanes_of(mask).find(|lane| addresses[*lane] & (align - 1) != 0).unwrap_or(0);
            return Err((lane, (ErrorKind::Misaligned, addresses[lane])));
        }
        let end = most.saturating_add(bytes);
        match place {
            Where::Generic | Where::Device => {
                let inside = |(from, to): (usize, usize)| least >= from as u64 && end <= to as u64;
                if inside(self.around) {
                    return Ok(());
                }
                if most >> 48 == 0 {
                    self.around = self.launched.memory.around(least as usize).unwrap_or(self.around);
                    if inside(self.around) {
                        return Ok(());
                    }
                }
            }
            Where::Block if end <= self.shared.len() as u64 => {
                let base = self.shared.address() as u64;
                addresses.iter_mut().for_each(|address| *address = address.wrapping_add(base));
                return Ok(());
            }
            _ => {}
        }
        for lane in Self::lanes_of(mask) {
            addresses[lane] =
                self.resolve_one(warp, lane, place, addresses[lane], bytes).map_err(|fault| (lane, fault))?;
        }
        Ok(())
    }

    fn resolve_one(&mut self, warp: usize, lane: usize, place: Where, address: u64, bytes: u64) -> Result<u64, Fault> {
        let fault = (ErrorKind::Access, address);
        let within = |base: usize, len: u64| {
            let offset = address & OFFSET;
            (offset.checked_add(bytes).is_some_and(|end| end <= len))
                .then_some(base as u64 + offset)
                .ok_or(fault.clone())
        };
        let place = match (place, address >> 48) {
            (Where::Generic, window) if window == BLOCK >> 48 => Where::Block,
            (Where::Generic, window) if window == THREAD >> 48 => Where::Thread,
            (Where::Generic, window) if window == PARAMETERS >> 48 => Where::Parameters,
            (Where::Generic, _) => Where::Device,
            (place, _) => place,
        };
        match place {
            Where::Block => within(self.shared.address(), self.shared.len() as u64),
            Where::Thread => within(self.local.address() + (32 * warp + lane) * self.stack as usize, self.stack),
            Where::Parameters => within(self.launched.parameters.address(), self.launched.parameters.len() as u64),
            Where::Device | Where::Generic => {
                let inside = |(start, end): (usize, usize)| {
                    address >= start as u64 && address.checked_add(bytes).is_some_and(|last| last <= end as u64)
                };
                if !inside(self.around) {
                    self.around = self.launched.memory.around(address as usize).unwrap_or((0, 0));
                }
                if inside(self.around) { Ok(address) } else { Err(fault) }
            }
        }
    }

    fn fault(&self, entry: &Entry, warp: usize, (lane, (kind, address)): (usize, Fault), bytes: u64) -> Error {
        let message = match kind {
            ErrorKind::Misaligned => {
                format!("the address {address:#x} of {bytes} bytes is not a multiple of their number")
            }
            _ => format!("no allocation has the {bytes} bytes at the address {address:#x}"),
        };
        let error = Error { address: Some(address), ..Error::new(kind, message) };
        self.error(entry.at, warp, lane, error)
    }

    fn read(&mut self, entry: &Entry, guard: Guard, access: &Access) -> Result<(), Error> {
        if access.ordered {
            raw::order();
        }
        let size = u64::from(access.bytes);
        let whole = size * access.cells.len() as u64;
        for warp in 0..entry.masks.len() {
            let mask = self.guarded(warp, entry.masks[warp], guard);
            if mask == 0 {
                continue;
            }
            let mut addresses = self.addresses(warp, &access.at);
            self.resolve(warp, mask, access.place, &mut addresses, whole, whole.next_power_of_two())
                .map_err(|fault| self.fault(entry, warp, fault, whole))?;
            for (index, cell) in access.cells.iter().enumerate() {
                let Cell::Row(row) = *cell else { continue };
                let from = index as u64 * size;
                let load = |lane: usize| {
                    // SAFETY: `resolve` found the bytes in an allocation of the launch, aligned to their number.
                    unsafe { raw::load((addresses[lane] + from) as usize, access.bytes) }
                };
                // What is the same for all lanes is read once.
                let same = access.at.base.is_none() && !access.at.frame && mask != 0;
                let once = if same { load(mask.trailing_zeros() as usize) } else { 0 };
                match row.bits {
                    32 if access.bytes == 4 => {
                        let to = self.warps.b32_mut(warp, row.number);
                        match mask {
                            _ if same => merge(to, &[once as u32; 32], mask),
                            u32::MAX => (0..32).for_each(|lane| to[lane] = load(lane) as u32),
                            mask => Self::lanes_of(mask).for_each(|lane| to[lane] = load(lane) as u32),
                        }
                    }
                    64 if access.bytes == 8 => {
                        let to = self.warps.b64_mut(warp, row.number);
                        match mask {
                            _ if same => merge(to, &[once; 32], mask),
                            u32::MAX => (0..32).for_each(|lane| to[lane] = load(lane)),
                            mask => Self::lanes_of(mask).for_each(|lane| to[lane] = load(lane)),
                        }
                    }
                    _ => {
                        for lane in Self::lanes_of(mask) {
                            let value = extended(load(lane), access.bytes * 8, access.signed);
                            self.set(warp, lane, *cell, value);
                        }
                    }
                }
            }
        }
        if access.ordered {
            raw::order();
        }
        Ok(())
    }

    fn write(&mut self, entry: &Entry, guard: Guard, access: &Access) -> Result<(), Error> {
        if access.ordered {
            raw::order();
        }
        let size = u64::from(access.bytes);
        let whole = size * access.cells.len() as u64;
        for warp in 0..entry.masks.len() {
            let mask = self.guarded(warp, entry.masks[warp], guard);
            if mask == 0 {
                continue;
            }
            let mut addresses = self.addresses(warp, &access.at);
            self.resolve(warp, mask, access.place, &mut addresses, whole, whole.next_power_of_two())
                .map_err(|fault| self.fault(entry, warp, fault, whole))?;
            for (index, cell) in access.cells.iter().enumerate() {
                if *cell == Cell::Sink {
                    continue;
                }
                let values: [u64; 32] = match *cell {
                    Cell::Row(Row { bits: 32, number }) => self.warps.b32(warp, number).map(u64::from),
                    Cell::Row(Row { bits: 64, number }) => *self.warps.b64(warp, number),
                    Cell::Constant(value) => [value; 32],
                    cell => std::array::from_fn(|lane| self.get(warp, lane, cell)),
                };
                for lane in Self::lanes_of(mask) {
                    let at = (addresses[lane] + index as u64 * size) as usize;
                    // SAFETY: `resolve` found the bytes in an allocation of the launch, aligned to their number.
                    unsafe { raw::store(at, access.bytes, values[lane]) };
                }
            }
        }
        if access.ordered {
            raw::order();
        }
        Ok(())
    }

    fn update(&mut self, entry: &Entry, guard: Guard, access: &Access, action: &Action) -> Result<(), Error> {
        let Action::Update { change, sources, old, inspects, .. } = action else { return Ok(()) };
        let size = u64::from(access.bytes);
        let whole = size * access.cells.len() as u64;
        let mut inputs = vec![0_u128; old + 1];
        for warp in 0..entry.masks.len() {
            let mask = self.guarded(warp, entry.masks[warp], guard);
            if mask == 0 {
                continue;
            }
            let mut addresses = self.addresses(warp, &access.at);
            self.resolve(warp, mask, access.place, &mut addresses, whole, whole.next_power_of_two())
                .map_err(|fault| self.fault(entry, warp, fault, whole))?;
            for lane in Self::lanes_of(mask) {
                for (index, cell) in access.cells.iter().enumerate() {
                    for (input, cells) in inputs.iter_mut().zip(sources) {
                        *input = cells.get(index).map_or(0, |cell| self.get(warp, lane, *cell).into());
                    }
                    let at = (addresses[lane] + index as u64 * size) as usize;
                    // SAFETY: `resolve` found the bytes in an allocation of the launch, aligned to their number.
                    let found = unsafe {
                        if *inspects {
                            inputs[*old] = raw::load(at, access.bytes).into();
                            change.evaluate(&inputs)[0] as u64
                        } else {
                            raw::update(at, access.bytes, |value| {
                                inputs[*old] = value.into();
                                change.evaluate(&inputs)[0] as u64
                            })
                        }
                    };
                    self.set(warp, lane, *cell, found);
                }
            }
        }
        Ok(())
    }

    fn copy_bytes(&mut self, entry: &Entry, guard: Guard, copy: &CopyBytes) -> Result<(), Error> {
        for warp in 0..entry.masks.len() {
            let mask = self.guarded(warp, entry.masks[warp], guard);
            let (to, from) = (self.addresses(warp, &copy.to.1), self.addresses(warp, &copy.from.1));
            for lane in Self::lanes_of(mask) {
                let size = self.get(warp, lane, copy.size) & OFFSET;
                let count = match copy.count {
                    None => size,
                    Some((cell, false)) => size.min(self.get(warp, lane, cell) & OFFSET),
                    Some((cell, true)) => size * u64::from(self.get(warp, lane, cell) == 0),
                };
                // Both are aligned to the size, and bulk copies to 16 bytes.
                let align = if size == 0 { 1 } else { (1 << size.trailing_zeros()).min(16) };
                let mut host = |(place, address): (Where, u64), bytes: u64| {
                    let found = match address % align {
                        _ if bytes == 0 => Ok(0),
                        0 => self.resolve_one(warp, lane, place, address, bytes),
                        _ => Err((ErrorKind::Misaligned, address)),
                    };
                    found.map_err(|fault| self.fault(entry, warp, (lane, fault), bytes))
                };
                let from = host((copy.from.0, from[lane]), count)? as usize;
                let to = host((copy.to.0, to[lane]), size)? as usize;
                for byte in 0..size as usize {
                    // SAFETY: `resolve_one` found the bytes of both in allocations of the launch.
                    unsafe {
                        raw::store(to + byte, 1, if byte < count as usize { raw::load(from + byte, 1) } else { 0 })
                    };
                }
            }
        }
        Ok(())
    }

    /// Where a stack ends that grows by so many bytes.
    fn grown(&self, at: usize, warp: usize, lane: usize, from: u64, by: u64) -> Result<u64, Error> {
        let end = from.saturating_add(by);
        if end <= self.stack {
            return Ok(end);
        }
        let message = format!("the stack of a thread has {} bytes, and {end} are asked for", self.stack);
        Err(self.error(at, warp, lane, Error::new(ErrorKind::Stack, message)))
    }

    /// The host address of an offset in a thread's stack.
    fn stack_at(&self, thread: usize, offset: u64) -> usize {
        self.local.address() + thread * self.stack as usize + offset as usize
    }

    fn call(
        &mut self,
        entry: &mut Entry,
        guard: Guard,
        callee: &Callee,
        arguments: &[Slot],
        results: &[Slot],
    ) -> Result<Flow, Error> {
        let mut entered: Vec<Entry> = Vec::new();
        for (warp, lane) in self.lanes(entry, guard) {
            let function = match callee {
                Callee::System(system) => {
                    self.system(entry, warp, lane, *system, arguments, results)?;
                    continue;
                }
                Callee::Direct(function) => *function,
                Callee::Indirect(cell) => {
                    let address = self.get(warp, lane, *cell);
                    let number = address.wrapping_sub(FUNCTIONS) / FUNCTION;
                    if self.code.routines.get(&(number as usize)).is_none_or(|_| address < FUNCTIONS) {
                        let message = format!("there is no function at the address {address:#x}");
                        let error = Error { address: Some(address), ..Error::new(ErrorKind::Call, message) };
                        return Err(self.error(entry.at, warp, lane, error));
                    }
                    number as usize
                }
            };
            let routine = &self.code.routines[&function];
            if let Some(system) = routine.system {
                self.system(entry, warp, lane, system, arguments, results)?;
                continue;
            }
            let thread = 32 * warp + lane;
            let frame = self.tops[thread].next_multiple_of(16);
            let top = self.grown(entry.at, warp, lane, frame, routine.frame)?;
            let values: Vec<Option<u64>> = arguments.iter().map(|slot| self.slot_value(warp, lane, slot)).collect();
            let again = routine.recursive && (self.calls[thread].iter().any(|call| call.function == function));
            let saved = match again {
                true => routine.rows.iter().map(|row| self.get(warp, lane, Cell::Row(*row))).collect(),
                false => Vec::new(),
            };
            let before = self.frames[thread];
            self.calls[thread].push(Frame { from: entry.at, function, frame: before, stack: self.tops[thread], saved });
            for ((from, to), value) in arguments.iter().zip(&routine.parameters).zip(values) {
                self.pass(thread, (before, from), (frame, to), value);
            }
            (self.frames[thread], self.tops[thread]) = (frame, top);
            let at = routine.entry;
            let place = entered.iter().position(|other| other.at == at).unwrap_or_else(|| {
                let masks = vec![0; entry.masks.len()];
                entered.push(Entry { at, depth: entry.depth + 1, masks, picked: 0, forced: false });
                entered.len() - 1
            });
            entered[place].masks[warp] |= 1 << lane;
            entry.masks[warp] &= !(1 << lane);
        }
        if entered.is_empty() {
            return Ok(Flow::Next);
        }
        entered.into_iter().for_each(|part| self.aside(part));
        entry.at += 1;
        let rest = entry.clone();
        self.aside(rest);
        Ok(Flow::Aside)
    }

    fn slot_value(&self, warp: usize, lane: usize, slot: &Slot) -> Option<u64> {
        match slot {
            Slot::Cell(cell) => Some(self.get(warp, lane, *cell)),
            Slot::Frame { .. } => None,
        }
    }

    /// Passes a value from one frame to another: bytes, or a register.
    fn pass(&mut self, thread: usize, (frame, from): (u64, &Slot), (into, to): (u64, &Slot), value: Option<u64>) {
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
                let from = self.stack_at(thread, frame + offset);
                let value = (0..(*bytes).min(8)).fold(0, |value, byte| {
                    // SAFETY: the frame lies within the stack.
                    value | unsafe { raw::load(from + byte as usize, 1) } << (8 * byte)
                });
                self.set(warp, lane, *cell, value);
            }
            (Slot::Cell(_), Slot::Cell(cell)) => self.set(warp, lane, *cell, value.unwrap_or_default()),
            (Slot::Cell(_), Slot::Frame { offset, bytes }) => {
                let to = self.stack_at(thread, into + offset);
                for byte in 0..(*bytes).min(8) {
                    // SAFETY: the frame lies within the stack.
                    unsafe { raw::store(to + byte as usize, 1, value.unwrap_or_default() >> (8 * byte)) };
                }
            }
        }
    }

    /// Back to the callers; threads end that have none.
    fn leave(&mut self, entry: &mut Entry, guard: Guard) -> Result<Flow, Error> {
        if entry.depth == 0 {
            return Ok(self.end(entry, guard));
        }
        let mut parts: Vec<Entry> = Vec::new();
        for (warp, lane) in self.lanes(entry, guard) {
            let thread = 32 * warp + lane;
            let Some(call) = self.calls[thread].pop() else { continue };
            let routine = &self.code.routines[&call.function];
            let super::decode::Op::Effect { action: Action::Call { results, .. }, .. } = &self.code.ops[call.from]
            else {
                continue;
            };
            let frame = self.frames[thread];
            let values: Vec<Option<u64>> =
                routine.results.iter().map(|slot| self.slot_value(warp, lane, slot)).collect();
            // Where the function called itself its registers are as they were, but for those that take its results.
            for (row, value) in routine.rows.iter().zip(&call.saved) {
                self.set(warp, lane, Cell::Row(*row), *value);
            }
            for ((from, to), value) in routine.results.iter().zip(results).zip(values) {
                self.pass(thread, (frame, from), (call.frame, to), value);
            }
            (self.frames[thread], self.tops[thread]) = (call.frame, call.stack);
            let at = call.from + 1;
            let place = parts.iter().position(|other| other.at == at).unwrap_or_else(|| {
                let masks = vec![0; entry.masks.len()];
                parts.push(Entry { at, depth: entry.depth - 1, masks, picked: 0, forced: false });
                parts.len() - 1
            });
            parts[place].masks[warp] |= 1 << lane;
            entry.masks[warp] &= !(1 << lane);
        }
        parts.into_iter().for_each(|part| self.aside(part));
        entry.at += 1;
        let rest = entry.clone();
        self.aside(rest);
        Ok(Flow::Aside)
    }

    /// The value that a thread passes or gets in a slot.
    fn passed(&self, warp: usize, lane: usize, slot: Option<&Slot>) -> u64 {
        let thread = 32 * warp + lane;
        match slot {
            Some(Slot::Cell(cell)) => self.get(warp, lane, *cell),
            Some(Slot::Frame { offset, bytes }) => {
                let from = self.stack_at(thread, self.frames[thread] + offset);
                (0..(*bytes).min(8)).fold(0, |value, byte| {
                    // SAFETY: the frame lies within the stack.
                    value | unsafe { raw::load(from + byte as usize, 1) } << (8 * byte)
                })
            }
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
        let given: Vec<u64> = (0..4).map(|index| self.passed(warp, lane, arguments.get(index))).collect();
        let result = match system {
            System::Print => {
                let format = self.string(warp, lane, given[0]);
                // Two readers of one block take turns.
                let block = std::cell::RefCell::new(&mut *self);
                let text = format.and_then(|format| {
                    system::print(
                        &format,
                        |offset, bytes| block.borrow_mut().byte(warp, lane, given[1] + offset, bytes),
                        |address| block.borrow_mut().string(warp, lane, address),
                    )
                });
                match text {
                    Some(text) => {
                        self.launched.print(&text);
                        text.len() as u64
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
            System::Allocate => self.launched.memory.allocate_on_heap(given[0], self.launched.options.heap),
            System::Free => {
                self.launched.memory.free_on_heap(given[0]);
                self.around = self.launched.everywhere();
                0
            }
        };
        if let Some(to) = results.first() {
            let thread = 32 * warp + lane;
            let frame = self.frames[thread];
            self.pass(thread, (frame, &Slot::Cell(Cell::Sink)), (frame, to), Some(result));
        }
        Ok(())
    }

    fn clock(&self, origin: Origin) -> u64 {
        let nanoseconds =
            || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        let ticks = || self.launched.ticks.fetch_add(1, Ordering::Relaxed) + self.executed;
        match origin {
            Origin::Clock => ticks(),
            Origin::ClockHigh => ticks() >> 32,
            Origin::Timer => nanoseconds(),
            _ => nanoseconds() >> 32,
        }
    }

    /// Fills the special registers that the code reads; of registers that another block had before only those that blocks
    /// differ in.
    pub(crate) fn specials(&mut self, again: bool) {
        let launched = self.launched;
        let (block, grid, cluster) = (launched.block, launched.grid, launched.cluster);
        let differs = |origin: Origin| {
            matches!(origin, Origin::BlockIndex | Origin::ClusterIndex | Origin::BlockInCluster | Origin::BlockRank)
        };
        for read in self.code.specials.iter().filter(|read| !again || differs(read.origin)) {
            let of = |shape: [u32; 3]| shape.get(usize::from(read.element)).copied().unwrap_or(0);
            let in_cluster: [u32; 3] = std::array::from_fn(|axis| self.index[axis] % cluster[axis]);
            for thread in 0..32 * self.warps.len() {
                let (warp, lane) = (thread / 32, thread % 32);
                let id = thread as u32;
                let value: u64 = match read.origin {
                    Origin::ThreadIndex => {
                        of([id % block[0], id / block[0] % block[1], id / block[0] / block[1]]).into()
                    }
                    Origin::BlockShape => of(block).into(),
                    Origin::BlockIndex => of(self.index).into(),
                    Origin::GridShape => of(grid).into(),
                    Origin::ClusterIndex => of(std::array::from_fn(|axis| self.index[axis] / cluster[axis])).into(),
                    Origin::GridClusters => of(std::array::from_fn(|axis| grid[axis].div_ceil(cluster[axis]))).into(),
                    Origin::BlockInCluster => of(in_cluster).into(),
                    Origin::ClusterShape => of(cluster).into(),
                    Origin::BlockRank => {
                        (in_cluster[0] + cluster[0] * (in_cluster[1] + cluster[1] * in_cluster[2])).into()
                    }
                    Origin::ClusterSize => cluster.iter().product::<u32>().into(),
                    Origin::HasClusters => (cluster != [1; 3]).into(),
                    Origin::Lane => lane as u64,
                    Origin::Warp => warp as u64,
                    Origin::Warps => self.warps.len() as u64,
                    Origin::MaskEqual => 1 << lane,
                    Origin::MaskUpTo => (2 << lane) - 1,
                    Origin::MaskBelow => (1 << lane) - 1,
                    Origin::MaskFrom => u64::from(u32::MAX << lane),
                    Origin::MaskAbove => u64::from((u32::MAX << lane) & !(1 << lane)),
                    Origin::DynamicShared => launched.dynamic_shared,
                    Origin::TotalShared => self.shared.len() as u64,
                    Origin::Workspace => launched.workspace,
                    Origin::WorkspaceHigh => launched.workspace >> 32,
                    Origin::One => 1,
                    _ => 0,
                };
                self.set(warp, lane, Cell::Row(read.to), value);
            }
        }
    }
}

/// Takes over the lanes that a mask has.
fn merge<T: Copy>(to: &mut [T; 32], from: &[T; 32], mask: u32) {
    match mask {
        u32::MAX => *to = *from,
        mask => Block::lanes_of(mask).for_each(|lane| to[lane] = from[lane]),
    }
}

/// The lowest bits of a value, sign- or zero-extended.
fn extended(value: u64, bits: u8, signed: bool) -> u64 {
    let above = 64 - u32::from(bits.clamp(1, 64));
    match signed {
        true => ((value << above) as i64 >> above) as u64,
        false => value << above >> above,
    }
}
