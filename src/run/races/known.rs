//! What threads know of each other: a vector clock, sparse, as most threads know of most others by barriers of whole blocks.

use std::collections::BTreeMap;
use std::prelude::rust_2024::*;

/// Threads and the times up to which their accesses are ordered before those of whoever knows. Blocks and warps are numbered through the
/// launch; times are those of the threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// All threads of a block, up to a time.
    blocks: BTreeMap<u32, u32>,
    /// Lanes of a warp, up to a time each.
    warps: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl Known {
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.warps.is_empty()
    }

    /// Adds all threads of a block up to a time; 0 adds nothing.
    pub(super) fn add_block(&mut self, block: u32, time: u32) {
        if time > 0 {
            let known = self.blocks.entry(block).or_default();
            *known = time.max(*known);
        }
    }

    /// Adds lanes of a warp up to a time; 0 adds nothing.
    pub(super) fn add_lanes(&mut self, warp: u32, lanes: u32, time: u32) {
        if time == 0 || lanes == 0 {
            return;
        }
        let list = self.warps.entry(warp).or_default();
        if list.iter().any(|(own, until)| lanes & !own == 0 && *until >= time) {
            return;
        }
        list.retain(|(own, until)| own & !lanes != 0 || *until > time);
        list.push((lanes, time));
    }

    /// Adds what others know.
    pub(crate) fn join(&mut self, other: &Known) {
        other.blocks.iter().for_each(|(block, time)| self.add_block(*block, *time));
        for (warp, list) in &other.warps {
            list.iter().for_each(|(lanes, time)| self.add_lanes(*warp, *lanes, *time));
        }
    }

    /// Returns those of the lanes of a warp whose accesses at a time are not known.
    pub(super) fn unknown(&self, (block, warp): (u32, u32), lanes: u32, time: u32) -> u32 {
        if self.blocks.get(&block).is_some_and(|until| *until >= time) {
            return 0;
        }
        let list = self.warps.get(&warp).map_or(&[][..], |list| list);
        list.iter().filter(|(_, until)| *until >= time).fold(lanes, |lanes, (own, _)| lanes & !own)
    }
}
