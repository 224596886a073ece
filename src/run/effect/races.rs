//! Accesses of a launch that looks for [races](super::super::races).

#![allow(unsafe_code, reason = "memory is compared with what lanes may write there")]

use std::format;
use std::prelude::rust_2024::*;

use isa_table::count::Count;

use super::super::affine::Affine;
use super::super::block::{Block, Entry};
use super::super::decode::{Access, Address, Cell, PARAMETERS, THREAD, Where};
use super::super::error::{Error, ErrorKind};
use super::super::pending::{Piece, Source};
use super::super::races::{self, Elements, Kind, Race, Races, Rounds};
use super::super::shape;
use super::Guard;

impl Block<'_> {
    /// Looks for races of loads and stores, before they are done.
    pub(super) fn watch(&mut self, entry: &Entry, guard: Guard, access: &Access, writes: bool) -> Result<(), Error> {
        if matches!(access.place, Where::Thread | Where::Parameters) {
            return Ok(());
        }
        let guarded = self.guarded_masks(entry, guard);
        let masks = guarded.as_deref().unwrap_or(&entry.masks);
        match self.accessed_at(masks, access) {
            Some(value) => self.watch_regular(entry.at, masks, access, &value, writes)?,
            None => self.watch_each(entry, guard, access, writes)?,
        }
        self.spare.extend(guarded);
        Ok(())
    }

    /// The same at affine addresses of the host.
    fn watch_regular(
        &mut self,
        at: usize,
        masks: &[u32],
        access: &Access,
        value: &Affine,
        writes: bool,
    ) -> Result<(), Error> {
        let kind = Kind { writes, strong: access.order.is_some() };
        let whole = !access.cells.contains(&Cell::Sink);
        // SAFETY: `located` has found that all lanes of the masks may access these addresses.
        let same =
            |block: &Self, lane, host, other| whole && unsafe { block.writes_the_same(access, lane, host, other) };
        for (offset, bytes) in written(access, writes) {
            let elements =
                self.accessed_elements(masks, Affine { base: value.base.wrapping_add(offset), ..*value }, bytes);
            self.accessed_by_all(at, access.place, elements, kind, &same)?;
        }
        if kind.strong {
            let elements = self.accessed_elements(masks, *value, access.whole());
            for (warp, mask) in masks.iter().enumerate().filter(|(_, mask)| **mask != 0) {
                let hosts = elements.addresses((warp, self.per));
                self.synchronized_elements((warp, *mask), &hosts, access, writes);
            }
        }
        Ok(())
    }

    /// The same at addresses in lanes.
    fn watch_each(&mut self, entry: &Entry, guard: Guard, access: &Access, writes: bool) -> Result<(), Error> {
        self.fill(access.affine.as_slice());
        let kind = Kind { writes, strong: access.order.is_some() };
        let mut hosts = [0; 32];
        let whole = !access.cells.contains(&Cell::Sink);
        // SAFETY: `lanes_at` has found that the lanes may access these addresses.
        let same =
            |block: &Self, lane, host, other| whole && unsafe { block.writes_the_same(access, lane, host, other) };
        for warp in 0..entry.masks.len() {
            let mask = self.lanes_at(entry, guard, access, warp, &mut hosts)?;
            if mask == 0 {
                continue;
            }
            let mask = self.outside(warp, mask, access.place, &access.at);
            for (offset, bytes) in written(access, writes) {
                let mut elements = hosts;
                elements.iter_mut().for_each(|host| *host = host.wrapping_add(offset));
                self.accessed(entry.at, (warp, mask), (&elements, bytes), kind, &same)?;
            }
            if kind.strong {
                self.synchronized_elements((warp, mask), &hosts, access, writes);
            }
        }
        Ok(())
    }

    /// Lanes have made strong loads or stores: each element is an object.
    fn synchronized_elements(&mut self, lanes: (usize, u32), hosts: &[u64; 32], access: &Access, writes: bool) {
        let mut hosts = *hosts;
        for _ in &access.cells {
            self.synchronized(lanes, &hosts, access.order, (!writes, writes));
            hosts.iter_mut().for_each(|host| *host = host.wrapping_add(access.bytes.into()));
        }
    }

    /// The elements at affine addresses of the host that lanes access.
    pub(crate) fn accessed_elements(&mut self, masks: &[u32], value: Affine, bytes: u64) -> Elements {
        let ((last, rounds), masks) = (self.affine.extents(), self.clocks.as_mut().map(|clocks| clocks.masks(masks)));
        let rounds = if rounds { Rounds::OfThreads } else { Rounds::None };
        Elements { value, last, rounds, bytes, masks: masks.unwrap_or_default() }
    }

    /// Looks for races of what lanes access at affine addresses of the host.
    fn accessed_by_all(
        &mut self,
        at: usize,
        place: Where,
        elements: Elements,
        kind: Kind,
        same: &dyn Fn(&Self, (usize, usize), u64, Option<(usize, usize)>) -> bool,
    ) -> Result<(), Error> {
        self.entered(at, elements.bytes, kind, same, |block, races, access| {
            races.access_all(access, block.bounds_of(place), elements, block.per)
        })
    }

    /// Enters an access of an operation to `bytes` bytes of each lane.
    fn entered(
        &mut self,
        at: usize,
        bytes: u64,
        kind: Kind,
        same: &dyn Fn(&Self, (usize, usize), u64, Option<(usize, usize)>) -> bool,
        enter: impl FnOnce(&Self, &mut Races, races::Access<'_>) -> Result<(), Race>,
    ) -> Result<(), Error> {
        let found = self.with_races(|block, clocks, races| {
            let event = races.event(clocks, at, kind.strong);
            let same = |lane: (usize, usize), host: u64, other: Option<(usize, usize)>| same(block, lane, host, other);
            enter(block, races, races::Access { clocks: Some(clocks), event, kind, same: &same })
        });
        found.unwrap_or(Ok(())).map_err(|race| self.raced(at, bytes, kind, &race))
    }

    /// Where the shared memory of the blocks begins and ends.
    fn shared_bounds(&self) -> (usize, usize) {
        (self.shared.address(), self.shared.address() + self.shared.len())
    }

    /// Where memory begins and ends that was found last.
    pub(crate) fn bounds_of(&self, place: Where) -> (u64, u64) {
        let (start, end) = if place == Where::Block { self.shared_bounds() } else { self.around };
        (start as u64, end as u64)
    }

    /// The memory that an address of the host is in.
    fn bounds_at(&self, host: u64) -> (u64, u64) {
        let host = host as usize;
        let inside = |bounds: &(usize, usize)| bounds.0 <= host && host < bounds.1;
        let peers = self.peers.iter().map(|peer| (peer.shared.0, peer.shared.0 + peer.shared.1));
        let mut near = [self.around, self.shared_bounds()].into_iter().chain(peers);
        let (start, end) = near.find(inside).or_else(|| self.launched.memory.around(host)).unwrap_or((host, host + 1));
        (start as u64, end as u64)
    }

    /// Looks for races of an atomic update, or of a look at an object.
    pub(super) fn watch_update(
        &mut self,
        entry: &Entry,
        access: &Access,
        (warp, mask): (usize, u32),
        hosts: &[u64; 32],
        writes: bool,
    ) -> Result<(), Error> {
        if !self.looks_for_races() {
            return Ok(());
        }
        let mask = self.outside(warp, mask, access.place, &access.at);
        let kind = Kind { writes, strong: true };
        self.accessed(entry.at, (warp, mask), (hosts, access.whole()), kind, &|_, _, _, _| false)
    }

    /// Looks for races of lanes of a warp that access the same bytes together, at an address of the host; `same` says that they write what is
    /// there.
    #[inline]
    pub(super) fn watch_together(
        &mut self,
        at: usize,
        (warp, lanes): (usize, u32),
        (host, bytes): (u64, u64),
        kind: Kind,
        same: bool,
    ) -> Result<(), Error> {
        if !self.looks_for_races() {
            return Ok(());
        }
        let is_own = |other: Option<(usize, usize)>| other.is_some_and(|(other, _)| other == warp);
        self.accessed(at, (warp, lanes), (&[host; 32], bytes), kind, &|_, _, _, other| same || is_own(other))
    }

    /// Looks for races of an asynchronous operation of a lane, as if the lane did it at once. Updates are atomic.
    pub(super) fn watch_pieces(
        &mut self,
        at: usize,
        (warp, lane): (usize, usize),
        pieces: &[Piece],
        updates: bool,
    ) -> Result<(), Error> {
        let lanes = (warp, 1 << lane);
        if !self.looks_for_races() {
            return Ok(());
        }
        for piece in pieces {
            let bytes = piece.bytes as u64;
            let from = match piece.from {
                Source::Memory(from) => Some((from as u64, bytes)),
                Source::SixBits(from) => Some((from as u64, bytes.div_ceil(3) * 4)),
                Source::Value(_) | Source::Read(_) => None,
            };
            if let Some(from) = from {
                self.watch_together(at, lanes, from, Kind { writes: false, strong: false }, false)?;
            }
            // SAFETY: whoever begins an operation has found that all of its bytes are in allocations of the launch.
            let same = !updates && unsafe { piece.is_done() };
            self.watch_together(at, lanes, (piece.to as u64, bytes), Kind { writes: true, strong: updates }, same)?;
        }
        Ok(())
    }

    /// Looks for races of what lanes of a warp access, each at an address of the host.
    fn accessed(
        &mut self,
        at: usize,
        (warp, mask): (usize, u32),
        (hosts, bytes): (&[u64; 32], u64),
        kind: Kind,
        same: &dyn Fn(&Self, (usize, usize), u64, Option<(usize, usize)>) -> bool,
    ) -> Result<(), Error> {
        self.entered(at, bytes, kind, same, |block, races, access| {
            let mut rest = mask;
            while rest != 0 {
                // Mostly all are in one memory.
                let bounds = block.bounds_at(hosts[rest.trailing_zeros() as usize]);
                let (least, most) = hosts.iter().fold((u64::MAX, 0), |ends, at| (ends.0.min(*at), ends.1.max(*at)));
                let lanes = match bounds.0 <= least && most < bounds.1 {
                    true => rest,
                    false => Self::lanes_where(rest, |lane| (bounds.0..bounds.1).contains(&hosts[lane])),
                };
                rest &= !lanes;
                races.access(access, bounds, (warp, lanes), (hosts, bytes))?;
            }
            Ok(())
        })
    }

    /// The lanes of a mask whose addresses are not in memory of their own, which no other thread accesses.
    fn outside(&self, warp: usize, mask: u32, place: Where, at: &Address) -> u32 {
        match place {
            Where::Thread | Where::Parameters => 0,
            Where::Generic => {
                let addresses = self.addresses(warp, at);
                Self::lanes_where(mask, |lane| ![THREAD, PARAMETERS].contains(&(addresses[lane] >> 48 << 48)))
            }
            Where::Device | Where::Block => mask,
        }
    }

    fn raced(&self, at: usize, bytes: u64, kind: Kind, race: &Race) -> Error {
        let does = |writes: bool| if writes { "write" } else { "read" };
        let (own, other) = (does(kind.writes), does(race.wrote));
        let order = match race.near {
            true => "a barrier between them would",
            false => {
                "a release behind the first one and an acquire before the second one would, or atomic accesses do not race"
            }
        };
        let message = format!(
            "data race: nothing orders this {own} of {} at {:#x} and the {other} of another thread; {order}",
            Count(bytes as usize, "byte"),
            race.address
        );
        let theirs = self.launched.located(race.at, Error::new(ErrorKind::Race, format!("the other {other}")));
        let thread = shape::index(race.thread, self.launched.block);
        let theirs = Error { block: Some(race.block), thread: Some(thread), ..theirs };
        let error = Error::new(ErrorKind::Race, message);
        let error = Error { address: Some(race.address), other: Some(Box::new(theirs)), ..error };
        self.error(at, race.warp, race.lane, error)
    }
}

/// What a lane accesses: offsets and bytes. Elements of a vector that are left out are not written.
fn written(access: &Access, writes: bool) -> impl Iterator<Item = (u64, u64)> {
    let size = u64::from(access.bytes);
    let all = !writes || !access.cells.contains(&Cell::Sink);
    let elements = access.cells.iter().enumerate().filter(move |(_, cell)| !all && **cell != Cell::Sink);
    let elements = elements.map(move |(index, _)| (index as u64 * size, size));
    all.then_some((0, access.whole())).into_iter().chain(elements)
}
