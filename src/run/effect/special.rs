//! Special registers: those that are filled when a block begins, and clocks.

use std::prelude::rust_2024::*;

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use ptx_isa::table::Origin;
use ptx_isa::warp::Row;

use super::super::block::Block;
use super::super::decode::{self, Cell, differs};
use super::super::shape;

impl Block<'_> {
    pub(super) fn clock(&self, origin: Origin) -> u64 {
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
        let (per, rank, start) = (self.per, self.rank as u64, self.shared_start());
        let shared = launched.code.static_shared + launched.dynamic_shared;
        let space = || decode::shared_space(launched.module());
        let (unit, reserved) = (|| space().map_or(1, |space| space.unit), || space().map_or(0, |space| space.reserved));
        for read in self.code.specials.iter().filter(|read| !again || differs(read.origin)) {
            let of = |shape: [u32; 3]| shape.get(usize::from(read.element)).copied().unwrap_or(0);
            let same = |index: [u32; 3]| -> u64 {
                let value = match read.origin {
                    Origin::BlockShape => of(block).into(),
                    Origin::BlockIndex => of(index).into(),
                    Origin::GridShape => of(grid).into(),
                    Origin::ClusterIndex => of(std::array::from_fn(|axis| index[axis] / cluster[axis])).into(),
                    Origin::GridClusters => of(std::array::from_fn(|axis| grid[axis].div_ceil(cluster[axis]))).into(),
                    Origin::BlockInCluster => of(shape::index(rank, cluster)).into(),
                    Origin::ClusterShape => of(cluster).into(),
                    Origin::BlockRank => rank,
                    Origin::ClusterSize => launched.cluster_size(),
                    Origin::HasClusters => (cluster != [1; 3]).into(),
                    Origin::Warps => per as u64,
                    Origin::DynamicShared => launched.dynamic_shared,
                    Origin::TotalShared => shared.next_multiple_of(unit()),
                    Origin::AggregateShared => shared + reserved(),
                    Origin::ReservedShared => start,
                    Origin::ReservedSharedEnd => start + reserved(),
                    Origin::ReservedSharedSize => reserved(),
                    Origin::Workspace => launched.workspace,
                    Origin::WorkspaceHigh => launched.workspace >> 32,
                    Origin::LaunchNumber => launched.number,
                    Origin::One => 1,
                    _ => 0,
                };
                value.wrapping_add(read.addend)
            };
            let id = |thread: u32| of(shape::index(thread.into(), block));
            if let Some(affine) = read.affine {
                let of_block = |block: usize| same(self.index_of(block * per));
                let first = of_block(0);
                let step = if self.group.count > 1 { of_block(1).wrapping_sub(first) } else { 0 };
                let known = match read.origin {
                    Origin::ThreadIndex => self.set_index(affine, read.element.into()),
                    _ => self.set_uniform(affine, first, step),
                };
                if known {
                    continue;
                }
                self.set_lanes(affine);
            }
            let mut value = 0;
            for number in 0..self.warps.len() {
                let warp = number % self.per;
                if warp == 0 {
                    value = same(self.index_of(number));
                }
                let mut values = [value; 32];
                let mut each =
                    |value: &dyn Fn(u32) -> u64| (0..).zip(&mut values).for_each(|(lane, to)| *to = value(lane));
                match read.origin {
                    Origin::ThreadIndex => each(&|lane| id(32 * warp as u32 + lane).into()),
                    Origin::Lane => each(&|lane| lane.into()),
                    Origin::Warp => each(&|_| warp as u64),
                    Origin::MaskEqual => each(&|lane| 1 << lane),
                    Origin::MaskUpTo => each(&|lane| (2 << lane) - 1),
                    Origin::MaskBelow => each(&|lane| (1 << lane) - 1),
                    Origin::MaskFrom => each(&|lane| u64::from(u32::MAX << lane)),
                    Origin::MaskAbove => each(&|lane| u64::from((u32::MAX << lane) & !(1 << lane))),
                    _ => {}
                }
                // Plain loops: closures over arrays are called lane by lane.
                match read.to {
                    Row { bits: 16, number: row } => {
                        let to = self.warps.b16_mut(number, row).iter_mut();
                        to.zip(&values).for_each(|(to, value)| *to = *value as u16);
                    }
                    Row { bits: 32, number: row } => {
                        let to = self.warps.b32_mut(number, row).iter_mut();
                        to.zip(&values).for_each(|(to, value)| *to = *value as u32);
                    }
                    Row { bits: 64, number: row } => *self.warps.b64_mut(number, row) = values,
                    row => (0..32).for_each(|lane| self.set(number, lane, Cell::Row(row), values[lane])),
                }
            }
        }
    }
}
