//! The clusters of a launch, shared out among the threads of the host. Each thread begins with a share of its own, so that launches of a kernel
//! find their data in its cache, and goes on with what is left of the others.

use std::prelude::rust_2024::*;

use std::sync::atomic::{AtomicU64, Ordering};

/// Clusters that have not begun, by thread of the host.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// Number of clusters of the launch.
    pub clusters: u64,
    /// Number of clusters of a share; the last one may have fewer.
    len: u64,
    /// The first cluster of each share that has not begun.
    next: Box<[AtomicU64]>,
}

impl Shares {
    /// Shares clusters out among `count` threads.
    pub(super) fn new(clusters: u64, count: u64) -> Shares {
        let len = clusters.div_ceil(count);
        Shares { clusters, len, next: (0..count).map(|number| AtomicU64::new(number * len)).collect() }
    }

    /// Takes a cluster that has not begun: the next one of the share of a thread, or of another share.
    pub(super) fn claim(&self, thread: usize) -> Option<u64> {
        let count = self.next.len();
        (0..count).map(|other| (thread + other) % count).find_map(|number| {
            let (next, end) = self.share(number);
            if next.load(Ordering::Relaxed) >= end {
                return None;
            }
            next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| (next < end).then_some(next + 1)).ok()
        })
    }

    /// Number of clusters of its share directly behind a cluster that have not begun.
    #[cfg(feature = "jit")]
    pub(super) fn left_behind(&self, cluster: u64) -> u64 {
        let (next, end) = self.share((cluster / self.len) as usize);
        if next.load(Ordering::Relaxed) == cluster + 1 { end - (cluster + 1) } else { 0 }
    }

    /// Takes `count` of these; returns false, and takes none, if some have begun since [`Shares::left_behind`] counted them.
    #[cfg(feature = "jit")]
    pub(crate) fn claim_behind(&self, cluster: u64, count: u64) -> bool {
        let (next, _) = self.share((cluster / self.len) as usize);
        next.compare_exchange(cluster + 1, cluster + 1 + count, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The first cluster of a share that has not begun, and where the share ends.
    fn share(&self, number: usize) -> (&AtomicU64, u64) {
        (&self.next[number], ((number as u64 + 1) * self.len).min(self.clusters))
    }
}
