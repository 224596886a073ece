//! Special registers: those that are filled when a block begins, and clocks.

use std::prelude::rust_2024::*;

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use ptx_isa::table::Origin;

use super::super::block::Block;
use super::super::decode::Cell;

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
                    Origin::LaunchNumber => launched.number,
                    Origin::One => 1,
                    _ => 0,
                };
                self.set(warp, lane, Cell::Row(read.to), value);
            }
        }
    }
}
