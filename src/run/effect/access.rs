//! Loads, stores and atomic updates: addresses are checked here before memory is accessed.

#![allow(unsafe_code, reason = "addresses are checked here before memory is accessed")]

use std::ops::Range;
use std::prelude::rust_2024::*;
use std::{format, vec};

use ptx_isa::lanes::Window;
use ptx_isa::warp::Row;

use super::super::affine::{Affine, DIMENSIONS, signed};
use super::super::block::{Block, Entry, State};
use super::super::decode::{Access, Action, Address, BLOCK, Cell, CopyBytes, PARAMETERS, THREAD, Where};
use super::super::error::{Error, ErrorKind};
use super::super::races::Kind;
use super::super::raw;
use super::{Guard, OFFSET, WITHIN, merge, owner};

/// Alignment in bytes that allocators of hosts guarantee. Elements need no more; only vectors do.
const HOST_ALIGN: u64 = 16;

/// The reason why an address cannot be accessed.
pub(crate) enum Fault {
    /// The bytes at the address are in no allocation.
    Outside(u64),
    /// The address is not a multiple of the required alignment.
    Misaligned { address: u64, align: u64 },
}

impl Block<'_> {
    /// The addresses of a warp's lanes.
    #[inline]
    pub(super) fn addresses(&self, warp: usize, at: &Address) -> [u64; 32] {
        // Loops, as closures over arrays are called element by element.
        let mut addresses = [at.offset; 32];
        match at.base {
            Some(Row { bits: 64, number }) => {
                let lanes = addresses.iter_mut().zip(self.warps.b64(warp, number));
                lanes.for_each(|(to, base)| *to = base.wrapping_add(at.offset));
                addresses
            }
            // Arithmetic of 32 bits wraps.
            Some(Row { bits: 32, number }) => {
                let lanes = addresses.iter_mut().zip(self.warps.b32(warp, number));
                lanes.for_each(|(to, base)| *to = base.wrapping_add(at.offset as u32).into());
                addresses
            }
            Some(row) => std::array::from_fn(|lane| at.behind(self.get(warp, lane, Cell::Row(row)))),
            None if at.frame => std::array::from_fn(|lane| {
                self.frames.get(32 * warp + lane).map_or(0, |frame| frame.wrapping_add(at.offset))
            }),
            None => addresses,
        }
    }

    /// Translates the addresses of a warp to host addresses. Each access has `bytes` bytes and is aligned to `align`.
    #[inline]
    pub(crate) fn resolve(
        &mut self,
        warp: usize,
        mask: u32,
        place: Where,
        addresses: &mut [u64; 32],
        bytes: u64,
        align: u64,
    ) -> Result<(), (usize, Fault)> {
        if mask == 0 {
            return Ok(());
        }
        let (start, end, host) = match place {
            Where::Generic | Where::Device => (self.around.0 as u64, self.around.1 as u64, 0),
            Where::Block => self.shared_window(warp),
            _ => (0, 0, 0),
        };
        let mut inside = false;
        if mask == u32::MAX {
            // Mostly all bits of all offsets together are an offset within the memory.
            let (low, all) = addresses.iter().fold((0, 0), |(low, all), at| (low | at, all | at.wrapping_sub(start)));
            inside = low & (align - 1) == 0 && all.checked_add(bytes).is_some_and(|len| len <= end - start);
        }
        if !inside {
            // Lanes that are not active count as the first one that is.
            let (mut least, mut most, mut low) = (u64::MAX, 0, 0);
            let first = addresses[mask.trailing_zeros() as usize];
            for lane in 0..32 {
                let address = if mask >> lane & 1 != 0 { addresses[lane] } else { first };
                least = least.min(address);
                most = most.max(address);
                low |= address;
            }
            if low & (align - 1) != 0 {
                let lent = match place {
                    Where::Generic | Where::Device => self.launched.memory.lent(first as usize),
                    _ => None,
                };
                // Vectors in memory that the host has lent are aligned if their offsets are.
                let aligned = |address: u64| {
                    let offset = lent.as_ref().filter(|lent| lent.contains(&address)).map(|lent| address - lent.start);
                    let elements = address.is_multiple_of(align.min(HOST_ALIGN));
                    address.is_multiple_of(align)
                        || elements && offset.is_some_and(|offset| offset.is_multiple_of(align))
                };
                if let Some(lane) = Self::lanes_of(mask).find(|lane| !aligned(addresses[*lane])) {
                    return Err((lane, Fault::Misaligned { address: addresses[lane], align }));
                }
            }
            let last = most.saturating_add(bytes);
            inside = least >= start && last <= end;
            if !inside && matches!(place, Where::Generic | Where::Device) && most >> 48 == 0 {
                self.around = self.launched.memory.around(least as usize).unwrap_or(self.around);
                inside = least >= self.around.0 as u64 && last <= self.around.1 as u64;
            }
        }
        if inside {
            if place == Where::Block {
                addresses.iter_mut().for_each(|address| *address = address.wrapping_add(host));
            }
            return Ok(());
        }
        for lane in Self::lanes_of(mask) {
            addresses[lane] =
                self.resolve_one(warp, lane, place, addresses[lane], bytes).map_err(|fault| (lane, fault))?;
        }
        Ok(())
    }

    /// The pointer with these low 32 bits, mostly into the allocation that was accessed last.
    fn widened(&self, low: u32) -> u64 {
        let (start, end) = self.around;
        let offset = low.wrapping_sub(start as u32) as usize;
        match offset < end - start {
            true => (start + offset) as u64,
            false => self.launched.memory.widened(low).unwrap_or(low.into()),
        }
    }

    /// Where addresses in the shared memory of the block that a warp is in start and end, and what is added to them for those of the host.
    pub(crate) fn shared_window(&self, warp: usize) -> (u64, u64, u64) {
        let ((address, len), own) = (self.shared_of(warp), self.shared_start());
        (own, own + len as u64, (address as u64).wrapping_sub(own))
    }

    /// Reads up to four bytes of the shared memory of a block of the cluster.
    pub(super) fn shared_bytes(&self, rank: usize, offset: u64, bytes: u8) -> Option<u64> {
        let (base, len) = self.shared_of_rank(rank, 0);
        let end = offset.checked_add(bytes.into())?;
        let fits = end <= len as u64 && offset.is_multiple_of(bytes.into());
        // SAFETY: the bytes are within the block's shared memory, aligned to their number.
        fits.then(|| unsafe { raw::load(base + offset as usize, bytes) })
    }

    /// Address and length of the shared memory of a block of the cluster, for a warp of this one; nothing if there is no such block.
    fn shared_of_rank(&self, rank: usize, warp: usize) -> (usize, usize) {
        match rank == self.rank {
            true => self.shared_of(warp),
            false => self.peers.get(rank).map_or((0, 0), |peer| peer.shared),
        }
    }

    /// Writes 32 bits for a warp.
    pub(super) fn write_word(&mut self, warp: usize, place: Where, address: u64, word: u32) -> Result<(), Fault> {
        if !address.is_multiple_of(4) {
            return Err(Fault::Misaligned { address, align: 4 });
        }
        let at = self.resolve_one(warp, 0, place, address, 4)?;
        // SAFETY: `resolve_one` found the bytes in an allocation of the launch, and they are aligned.
        unsafe { raw::store(at as usize, 4, word.into()) };
        Ok(())
    }

    pub(super) fn resolve_one(
        &mut self,
        warp: usize,
        lane: usize,
        place: Where,
        address: u64,
        bytes: u64,
    ) -> Result<u64, Fault> {
        let within = |base: usize, offset: u64, len: u64| {
            let fits = offset.checked_add(bytes).is_some_and(|end| end <= len);
            fits.then_some(base as u64 + offset).ok_or(Fault::Outside(address))
        };
        let place = match (place, address >> 48) {
            (Where::Generic, window) if window == BLOCK >> 48 => Where::Block,
            (Where::Generic, window) if window == THREAD >> 48 => Where::Thread,
            (Where::Generic, window) if window == PARAMETERS >> 48 => Where::Parameters,
            (Where::Generic, _) => Where::Device,
            (place, _) => place,
        };
        match place {
            Where::Block => {
                let (base, len) = self.shared_of_rank(owner(address), warp);
                within(base, address & WITHIN, len as u64)
            }
            Where::Thread => {
                let base = self.local.address() + (32 * warp + lane) * self.stack as usize;
                within(base, address & OFFSET, self.stack)
            }
            Where::Parameters => {
                let parameters = &self.launched.parameters;
                within(parameters.address(), address & OFFSET, parameters.len() as u64)
            }
            Where::Device | Where::Generic => {
                let address = if self.launched.narrow { self.widened(address as u32) } else { address };
                let inside = |(start, end): (usize, usize)| {
                    address >= start as u64 && address.checked_add(bytes).is_some_and(|last| last <= end as u64)
                };
                if !inside(self.around) {
                    self.around = self.launched.memory.around(address as usize).unwrap_or((0, 0));
                }
                if inside(self.around) { Ok(address) } else { Err(Fault::Outside(address)) }
            }
        }
    }

    pub(crate) fn fault(&self, entry: &Entry, warp: usize, (lane, fault): (usize, Fault), bytes: u64) -> Error {
        let (kind, address, message) = match fault {
            Fault::Misaligned { address, align } => {
                let message =
                    format!("the address {address:#x} of an access of {bytes} bytes is not a multiple of {align}");
                (ErrorKind::Misaligned, address, message)
            }
            Fault::Outside(address) => {
                (ErrorKind::Access, address, format!("no allocation has the {bytes} bytes at the address {address:#x}"))
            }
        };
        let error = Error { address: Some(address), ..Error::new(kind, message) };
        self.error(entry.at, warp, lane, error)
    }

    pub(super) fn read(&mut self, entry: &Entry, guard: Guard, access: &Access) -> Result<(), Error> {
        let one = |block: &mut Self, warp| block.read_warp(entry, guard, access, warp);
        self.access::<false>(entry, guard, access, one)
    }

    /// An element of up to 64 bits that an access loads from a constant address of the device or among parameters, where `reads_constant` has
    /// found that it is aligned; `None` if no allocation has it.
    pub(crate) fn load_constant(&mut self, access: &Access, index: usize) -> Option<u64> {
        let Access { at: Address { base: None, frame: false, offset }, bytes, signed, .. } = *access else {
            return None;
        };
        let address = offset + index as u64 * u64::from(bytes);
        let host = self.resolve_one(0, 0, access.place, address, bytes.into()).ok()?;
        // SAFETY: `resolve_one` found the bytes in an allocation of the launch or in its parameters, and they are aligned.
        Some(extended(unsafe { raw::load(host as usize, bytes) }, bytes * 8, signed))
    }

    pub(super) fn write(&mut self, entry: &Entry, guard: Guard, access: &Access) -> Result<(), Error> {
        self.changed = true;
        self.released |= access.order.is_some();
        let one = |block: &mut Self, warp| block.write_warp(entry, guard, access, warp);
        self.access::<true>(entry, guard, access, one)
    }

    /// Loads or stores for the lanes that masks have, if the addresses are affine; `None` if nothing was accessed.
    fn regular<const WRITE: bool>(&mut self, masks: &[u32], access: &Access) -> Option<()> {
        let transfer = access.transfer.as_ref()?;
        let value = self.accessed_at(masks, access)?;
        let State { affine, warps, .. } = &mut *self.state;
        let addresses = affine.lanes(&value);
        // SAFETY: the program of the block decoded the transfer. The elements of active lanes lie in an allocation of the launch or in the
        // memory of their block, and are aligned, as the base and all steps are; whoever accesses them does so by relaxed atomics or by what
        // is as good.
        unsafe {
            self.code.program.move_regular::<WRITE>(transfer, &addresses, masks, warps);
        }
        Some(())
    }

    /// The host addresses of an access for the lanes that masks have, if they are affine and all in one memory.
    #[inline]
    pub(super) fn accessed_at(&mut self, masks: &[u32], access: &Access) -> Option<Affine> {
        let (mut value, bits) = self.base(access)?;
        value.base = value.base.wrapping_add(access.at.offset);
        let whole = access.whole();
        self.located(masks, access.place, value.low(bits), bits, 0..whole as i64, whole)
    }

    /// The addresses of an access without what is added to them, and their bits, if they are affine.
    fn base(&self, access: &Access) -> Option<(Affine, u8)> {
        match access.at.base {
            Some(row) => Some((self.affine.value(access.affine?)?, row.bits)),
            None => (!access.at.frame).then_some((Affine::default(), 64)),
        }
    }

    /// The host addresses for affine addresses of `bits` bits, of which the bytes in `around` are accessed; `None` if these are not in one
    /// allocation or in the memory of the block, the addresses are not multiples of `align`, or some wrap.
    #[inline]
    pub(crate) fn located(
        &mut self,
        masks: &[u32],
        place: Where,
        value: Affine,
        bits: u8,
        around: Range<i64>,
        align: u64,
    ) -> Option<Affine> {
        let together = value.steps.iter().fold(value.base, |all, step| all | step);
        if together & (align - 1) != 0 || self.launched.narrow {
            return None;
        }
        // Threads that do not take part may be below the first address.
        let below = || Some((self.affine.range(&value, bits, true)?, signed(value.base, bits) as u64));
        let ((least, most), base) =
            self.affine.range(&value, bits, false).map(|range| (range, value.base)).or_else(below)?;
        // No thread wraps, so that the steps are distances of host addresses.
        let mut value = Affine { base, ..value.map(|step| signed(step, bits) as u64) };
        // Addresses may be accessed from the first on, up to the last one.
        let within = |(start, end): (u64, u64)| {
            let [start, end] = [start, end].map(|at| i64::try_from(at).unwrap_or(i64::MAX));
            (start.saturating_sub(around.start).max(0), end.saturating_sub(around.end))
        };
        let fits = |(first, last): (i64, i64)| least >= first && most <= last;
        let (window, host) = match place {
            Where::Generic | Where::Device => {
                let mut window = (self.around.0 as u64, self.around.1 as u64);
                if !fits(within(window)) {
                    let first = self.affine.first(&value, masks)?.wrapping_add_signed(around.start);
                    self.around = self.launched.memory.around(first as usize).unwrap_or(self.around);
                    window = (self.around.0 as u64, self.around.1 as u64);
                }
                (window, 0)
            }
            Where::Block => {
                let (start, end, host) = self.shared_window(0);
                ((start, end), host)
            }
            _ => return None,
        };
        let window = within(window);
        // Threads that do not take part may have other addresses.
        if !fits(window) {
            if self.affine.counts_rounds() {
                return None;
            }
            let range = u64::try_from(window.0).ok()?..=u64::try_from(window.1).ok()?;
            if !self.affine.are_inside(&value, masks, range) {
                return None;
            }
        }
        if place == Where::Block {
            value.base = value.base.wrapping_add(host);
            value.steps[DIMENSIONS - 1] = value.steps[DIMENSIONS - 1].wrapping_add(self.span as u64);
        }
        Some(value)
    }

    /// Loads or stores: for whole warps as far as that goes, and lane by lane for the warp behind them.
    fn access<const WRITE: bool>(
        &mut self,
        entry: &Entry,
        guard: Guard,
        access: &Access,
        one: impl Fn(&mut Self, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if access.order.is_some() {
            raw::order();
            self.look(false);
        }
        // A statement usually accesses the same allocation each time.
        self.around = self.bounds[entry.at];
        if self.looks_for_races() {
            self.watch(entry, guard, access, WRITE)?;
        }
        let guarded = self.guarded_masks(entry, guard);
        let done = self.regular::<WRITE>(guarded.as_deref().unwrap_or(&entry.masks), access);
        self.spare.extend(guarded);
        if done.is_none() {
            self.fill(access.affine.as_slice());
            if self.around == (0, 0) && matches!(access.place, Where::Generic | Where::Device) {
                self.around = self.first_around(entry, access).unwrap_or((0, 0));
            }
            let mut warp = 0;
            while warp < entry.masks.len() {
                let (done, end) = self.moved::<WRITE>(entry, access, warp);
                warp += done;
                if warp < end {
                    one(self, warp)?;
                    warp += 1;
                }
            }
        }
        self.bounds[entry.at] = self.around;
        if access.order.is_some() {
            raw::order();
        }
        Ok(())
    }

    /// The allocation that the first lane accesses, before the first access of a statement.
    fn first_around(&self, entry: &Entry, access: &Access) -> Option<(usize, usize)> {
        let warp = entry.masks.iter().position(|mask| *mask != 0)?;
        let lane = entry.masks[warp].trailing_zeros() as usize;
        self.launched.memory.around(self.addresses(warp, &access.at)[lane] as usize)
    }

    /// Loads or stores for the warps from `first` on; returns the number of warps done, and the end of the range of
    /// warps that was tried.
    fn moved<const WRITE: bool>(&mut self, entry: &Entry, access: &Access, first: usize) -> (usize, usize) {
        let mut to = entry.masks.len();
        let Some(transfer) = &access.transfer else { return (0, to) };
        let (start, end, host, lane) = match access.place {
            Where::Generic | Where::Device => (self.around.0 as u64, self.around.1 as u64, 0, 0),
            Where::Block => {
                // Blocks in lockstep have their own.
                to = to.min((first / self.per + 1) * self.per);
                let (start, end, host) = self.shared_window(first);
                (start, end, host, 0)
            }
            Where::Thread => {
                let stack = self.stack;
                (0, stack, self.local.address() as u64 + 32 * first as u64 * stack, stack)
            }
            Where::Parameters => {
                let parameters = &self.launched.parameters;
                (0, parameters.len() as u64, parameters.address() as u64, 0)
            }
        };
        let window = Window { start, end, host, warp: 32 * lane, lane };
        // SAFETY: the program of the block decoded the transfer. The window is an allocation of the launch, the memory of the
        // block, the stacks of its threads, of which lanes have their own, or the parameters; whoever accesses them does so by
        // relaxed atomics or by what is as good.
        let done = unsafe {
            self.code.program.move_elements::<WRITE>(transfer, &window, first, &entry.masks[first..to], &mut self.warps)
        };
        (done, to)
    }

    /// The lanes of a warp that access memory; finds the host addresses of their elements.
    pub(super) fn lanes_at(
        &mut self,
        entry: &Entry,
        guard: Guard,
        access: &Access,
        warp: usize,
        addresses: &mut [u64; 32],
    ) -> Result<u32, Error> {
        let mut mask = self.guarded(warp, entry.masks[warp], guard);
        if mask == 0 {
            return Ok(0);
        }
        let whole = access.whole();
        if mask.is_power_of_two()
            && let Some((lane, address)) = self.alone(warp, mask, access)
        {
            addresses[lane] = address;
            return Ok(mask);
        }
        *addresses = self.addresses(warp, &access.at);
        if let Some(shared) = access.shared {
            let own = |at: u64| (at >> 48 == BLOCK >> 48) == shared;
            mask &= (0..32).fold(0, |lanes, lane| lanes | u32::from(own(addresses[lane])) << lane);
        }
        self.resolve(warp, mask, access.place, addresses, whole, whole.next_power_of_two())
            .map_err(|fault| self.fault(entry, warp, fault, whole))?;
        Ok(mask)
    }

    /// The only lane of a mask and the host address of what it accesses; `None` if that is to be found as for several lanes.
    fn alone(&mut self, warp: usize, mask: u32, access: &Access) -> Option<(usize, u64)> {
        let (lane, row) = (mask.trailing_zeros() as usize, access.at.base?);
        let address = access.at.behind(self.get(warp, lane, Cell::Row(row)));
        let whole = access.whole();
        let aligned = address.is_multiple_of(whole.next_power_of_two()) && access.shared.is_none();
        aligned
            .then(|| self.resolve_one(warp, lane, access.place, address, whole).ok())
            .flatten()
            .map(|host| (lane, host))
    }

    fn read_warp(&mut self, entry: &Entry, guard: Guard, access: &Access, warp: usize) -> Result<(), Error> {
        let size = u64::from(access.bytes);
        let mut addresses = [0; 32];
        let mask = self.lanes_at(entry, guard, access, warp, &mut addresses)?;
        for (index, cell) in access.cells.iter().enumerate() {
            let from = index as u64 * size;
            for lane in Self::lanes_of(mask) {
                // SAFETY: `resolve` found the bytes in an allocation of the launch, aligned to their number.
                unsafe {
                    if access.bytes == 16 {
                        let value = raw::update_wide(addresses[lane] as usize, |old| old);
                        self.set_wide(warp, lane, *cell, value);
                    } else {
                        let value = raw::load((addresses[lane] + from) as usize, access.bytes);
                        self.set(warp, lane, *cell, extended(value, access.bytes * 8, access.signed));
                    }
                }
            }
        }
        Ok(())
    }

    fn write_warp(&mut self, entry: &Entry, guard: Guard, access: &Access, warp: usize) -> Result<(), Error> {
        let size = u64::from(access.bytes);
        let mut addresses = [0; 32];
        let mask = self.lanes_at(entry, guard, access, warp, &mut addresses)?;
        for (index, cell) in access.cells.iter().enumerate() {
            if *cell == Cell::Sink {
                continue;
            }
            let from = index as u64 * size;
            for lane in Self::lanes_of(mask) {
                let value = self.get_wide(warp, lane, *cell);
                // SAFETY: `resolve` found the bytes in an allocation of the launch, aligned to their number.
                unsafe {
                    if access.bytes == 16 {
                        raw::update_wide(addresses[lane] as usize, |_| value);
                    } else {
                        raw::store((addresses[lane] + from) as usize, access.bytes, value as u64);
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a value of each lane to what is at its address, in the order of lanes.
    fn add(&mut self, entry: &Entry, guard: Guard, access: &Access, addend: Cell) -> Result<(), Error> {
        let own = matches!(access.place, Where::Block | Where::Thread);
        let mut changed = false;
        let (mut addresses, mut found) = ([0; 32], [0; 32]);
        for warp in 0..entry.masks.len() {
            if own
                && guard.is_none()
                && !self.looks_for_races()
                && entry.masks[warp] == u32::MAX
                && let Some(added) = self.add_near(access, warp, addend)
            {
                changed |= added;
                continue;
            }
            let mask = self.lanes_at(entry, guard, access, warp, &mut addresses)?;
            if mask == 0 {
                continue;
            }
            self.watch_update(entry, access, (warp, mask), &addresses, true)?;
            let values = self.values(warp, addend);
            if own {
                // SAFETY: `resolve` found the bytes in an allocation of the launch, aligned to their number. Other threads of
                // the host access neither the shared memory of a cluster nor the stacks of its threads.
                unsafe { raw::add_each(&addresses, mask, access.bytes, &values, &mut found) };
                changed |= Self::lanes_of(mask).any(|lane| values[lane] != 0);
            }
            let mut rest = if own { 0 } else { mask };
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                let at = addresses[lane] as usize;
                // Lanes with one address that follow each other add in one step.
                let (mut sum, mut together) = (0_u64, 0);
                for lane in Self::lanes_of(rest).take_while(|lane| addresses[*lane] == at as u64) {
                    found[lane] = sum;
                    sum = sum.wrapping_add(values[lane]);
                    together |= 1 << lane;
                }
                rest &= !together;
                // SAFETY: as above; whoever accesses the bytes does so atomically.
                let before = unsafe { raw::add(at, access.bytes, sum) };
                changed |= sum != 0;
                for lane in Self::lanes_of(together) {
                    found[lane] = found[lane].wrapping_add(before);
                }
            }
            self.set_lanes_of(warp, mask, access.cells[0], &found);
            self.synchronized((warp, mask), &addresses, access.order, (true, true));
        }
        self.look(changed);
        Ok(())
    }

    /// Adds for all lanes of a warp to words in the shared memory of its block, if their addresses have 32 bits and nobody asks for the words
    /// before; returns whether any changes. `None` if nothing was added, as some address is none of a word there.
    fn add_near(&self, access: &Access, warp: usize, addend: Cell) -> Option<bool> {
        let Some(Row { bits: 32, number }) = access.at.base else { return None };
        if access.place != Where::Block || access.bytes != 4 || access.cells[0] != Cell::Sink || access.shared.is_some()
        {
            return None;
        }
        let ((start, end, host), offset) = (self.shared_window(warp), access.at.offset as u32);
        let (start, len) = (u32::try_from(start).ok()?, u32::try_from(end - start).ok()?);
        let (bases, base) = (self.warps.b32(warp, number), offset.wrapping_sub(start));
        // Mostly all bits of all offsets together are an offset within the memory.
        let all = bases.iter().fold(0, |all, at| all | at.wrapping_add(base));
        if all % 4 != 0 || all.checked_add(4)? > len {
            return None;
        }
        let host = host.wrapping_add(start.into()) as usize;
        // SAFETY: each offset is a multiple of four and at most that of the last word of the block's shared memory, which is aligned.
        // Other threads of the host do not access it.
        let add = |at: &u32, value| unsafe { raw::add_alone(host + at.wrapping_add(base) as usize, value) };
        // Offsets are read from memory one by one: taken from vectors they take several times as long on some machines.
        let bases = std::hint::black_box(bases);
        match addend {
            Cell::Row(Row { bits: 32, number }) => {
                let values = std::hint::black_box(self.warps.b32(warp, number));
                bases.iter().zip(values).for_each(|(at, value)| add(at, *value));
                Some(*values != [0; 32])
            }
            Cell::Constant(value) => {
                let value = value as u32;
                bases.iter().for_each(|at| add(at, value));
                Some(value != 0)
            }
            _ => None,
        }
    }

    /// Sets the values of a cell in some lanes of a warp.
    fn set_lanes_of(&mut self, warp: usize, mask: u32, cell: Cell, values: &[u64; 32]) {
        match cell {
            Cell::Sink => {}
            Cell::Row(Row { bits: 64, number }) => merge(self.warps.b64_mut(warp, number), values, mask),
            Cell::Row(Row { bits: 32, number }) => {
                let mut words = [0; 32];
                words.iter_mut().zip(values).for_each(|(to, value)| *to = *value as u32);
                merge(self.warps.b32_mut(warp, number), &words, mask);
            }
            cell => Self::lanes_of(mask).for_each(|lane| self.set(warp, lane, cell, values[lane])),
        }
    }

    /// The values of a cell in the lanes of a warp.
    fn values(&self, warp: usize, cell: Cell) -> [u64; 32] {
        match cell {
            Cell::Row(Row { bits: 64, number }) => *self.warps.b64(warp, number),
            Cell::Row(Row { bits: 32, number }) => {
                let mut values = [0; 32];
                values.iter_mut().zip(self.warps.b32(warp, number)).for_each(|(to, value)| *to = u64::from(*value));
                values
            }
            Cell::Constant(value) => [value; 32],
            cell => std::array::from_fn(|lane| self.get(warp, lane, cell)),
        }
    }

    pub(super) fn update(
        &mut self,
        entry: &Entry,
        guard: Guard,
        access: &Access,
        action: &Action,
    ) -> Result<(), Error> {
        let Action::Update { change, single, addend, sources, old, inspects, .. } = action else { return Ok(()) };
        if let Some(addend) = addend {
            return self.add(entry, guard, access, *addend);
        }
        let size = u64::from(access.bytes);
        let mut inputs = vec![0_u128; old + 1];
        let mut found = [0_u128; 32];
        // Lanes that look at one object mostly see the same.
        let mut last = (Vec::new(), 0);
        let mut changed = false;
        let mut addresses = [0; 32];
        for warp in 0..entry.masks.len() {
            let mask = self.lanes_at(entry, guard, access, warp, &mut addresses)?;
            self.watch_update(entry, access, (warp, mask), &addresses, !inspects)?;
            let (mut rest, mut seen) = (mask, 0);
            while rest != 0 {
                // Lanes with one address that follow each other change it in one step, in their order.
                let first = rest.trailing_zeros() as usize;
                let other = Self::lanes_of(rest).find(|lane| addresses[*lane] != addresses[first]);
                let together = other.map_or(rest, |lane| rest & ((1 << lane) - 1));
                rest &= !together;
                for (index, cell) in access.cells.iter().enumerate() {
                    let at = (addresses[first] + index as u64 * size) as usize;
                    let mut join = |before: u128| {
                        Self::lanes_of(together).fold(before, |value, lane| {
                            for (input, cells) in inputs.iter_mut().zip(sources) {
                                *input = cells.get(index).map_or(0, |cell| self.get_wide(warp, lane, *cell));
                            }
                            inputs[*old] = value;
                            if last.0 != inputs {
                                let new = match single {
                                    Some(single) => single.evaluate(&inputs),
                                    None => change.evaluate(&inputs)[0],
                                };
                                last.0.clone_from(&inputs);
                                last.1 = new;
                            }
                            let new = last.1;
                            let (kept, seen) = if *inspects { (value, new) } else { (new, value) };
                            found[lane] = seen;
                            changed |= kept != value;
                            kept
                        })
                    };
                    // SAFETY: `resolve` found the bytes in an allocation of the launch, aligned to their number. Other threads of
                    // the host access neither the shared memory of a cluster nor the stacks of its threads.
                    unsafe {
                        match access.place {
                            _ if access.bytes == 16 => _ = raw::update_wide(at, join),
                            _ if *inspects => _ = join(raw::load(at, access.bytes).into()),
                            Where::Block | Where::Thread => {
                                raw::store(at, access.bytes, join(raw::load(at, access.bytes).into()) as u64);
                            }
                            _ => _ = raw::update(at, access.bytes, |value| join(value.into()) as u64),
                        }
                    }
                    for lane in Self::lanes_of(together) {
                        // Who looks at an object in vain learns nothing.
                        seen |= u32::from(!inspects || found[lane] != 0) << lane;
                        self.waits += u64::from(*inspects && found[lane] == 0);
                        self.set_wide(warp, lane, *cell, found[lane]);
                    }
                }
            }
            self.synchronized((warp, seen), &addresses, access.order, (true, !inspects));
        }
        self.look(changed);
        Ok(())
    }

    /// Returns true if a lane of a warp writes by an access what is at an address of the host, or what another lane of the block writes by it.
    ///
    /// # Safety
    ///
    /// The lane may access the address by it.
    pub(super) unsafe fn writes_the_same(
        &self,
        access: &Access,
        (warp, lane): (usize, usize),
        host: u64,
        other: Option<(usize, usize)>,
    ) -> bool {
        access.cells.iter().zip((host as usize..).step_by(access.bytes.into())).all(|(cell, host)| {
            let written = u128::MAX >> (128 - 8 * u32::from(access.bytes));
            let value = self.get_wide(warp, lane, *cell) & written;
            if other.is_some_and(|(warp, lane)| value == self.get_wide(warp, lane, *cell) & written) {
                return true;
            }
            // SAFETY: the caller's promise.
            let held = unsafe {
                match access.bytes {
                    16 => raw::update_wide(host, |old| old),
                    bytes => raw::load(host, bytes).into(),
                }
            };
            held == value
        })
    }

    /// Copies bytes for each lane, and fills with zeros what is not read.
    pub(super) fn copy_bytes(&mut self, entry: &Entry, guard: Guard, copy: &CopyBytes) -> Result<(), Error> {
        for warp in 0..entry.masks.len() {
            let mask = self.guarded(warp, entry.masks[warp], guard);
            let (to, from) = (self.addresses(warp, &copy.to.1), self.addresses(warp, &copy.from.1));
            for lane in Self::lanes_of(mask) {
                let size = self.get(warp, lane, copy.size);
                let count = copy.count.map_or(size, |cell| size.min(self.get(warp, lane, cell)));
                // Both are aligned to the size; bulk stores, which fill, to 8 bytes only.
                let most = if copy.count.is_some() { 8 } else { 16 };
                let align = if size == 0 { 1 } else { (1 << size.trailing_zeros()).min(most) };
                let mut host = |(place, address): (Where, u64), bytes: u64| {
                    let found = match address % align {
                        _ if bytes == 0 => Ok(0),
                        0 => self.resolve_one(warp, lane, place, address, bytes),
                        _ => Err(Fault::Misaligned { address, align }),
                    };
                    found.map_err(|fault| self.fault(entry, warp, (lane, fault), bytes))
                };
                let from = host((copy.from.0, from[lane]), count)? as usize;
                let to = host((copy.to.0, to[lane]), size)? as usize;
                let [reads, writes] = [false, true].map(|writes| Kind { writes, strong: false });
                self.watch_together(entry.at, (warp, 1 << lane), (from as u64, count), reads, false)?;
                self.watch_together(entry.at, (warp, 1 << lane), (to as u64, size), writes, false)?;
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
}

/// The lowest bits of a value, sign- or zero-extended.
fn extended(value: u64, bits: u8, signed: bool) -> u64 {
    let above = 64 - u32::from(bits.clamp(1, 64));
    match signed {
        true => ((value << above) as i64 >> above) as u64,
        false => value << above >> above,
    }
}
