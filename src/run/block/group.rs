//! Warpgroups: four warps that execute together.

use std::prelude::rust_2024::*;

use super::{Block, Entry, Flow};

/// Warps of a warpgroup.
pub(crate) const WARPS: usize = 4;

impl Block<'_> {
    /// Lanes wait for those of their warpgroup.
    pub(crate) fn converge_group(&mut self, entry: &mut Entry, guard: Option<(u32, bool)>) -> Flow {
        if std::mem::take(&mut entry.forced) {
            return Flow::Next;
        }
        self.join(entry);
        let mut waits = Entry { masks: self.masks(), ..*entry };
        for first in (0..entry.masks.len()).step_by(WARPS) {
            let group = first..(first + WARPS).min(entry.masks.len());
            let own = |warp: usize| self.guarded(warp, entry.masks[warp], guard);
            let any = group.clone().any(|warp| own(warp) != 0);
            if any && group.clone().any(|warp| self.live[warp] & !own(warp) != 0) {
                for warp in group {
                    waits.masks[warp] = self.guarded(warp, entry.masks[warp], guard);
                }
            }
        }
        self.wait(entry, waits)
    }
}
