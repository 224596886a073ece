//! The threads of the host that run the clusters of a launch.

use std::format;
use std::prelude::rust_2024::*;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::block::Status;
use super::cluster::Cluster;
use super::error::{Error, ErrorKind};
use super::launch::Launched;

/// Steps after which a cluster lets another one run.
const SLICE: u64 = 1 << 15;

/// The same before other threads of the host have joined.
const FIRST_SLICE: u64 = 1 << 6;

/// How long one thread runs blocks before others join, and the warps of a launch that others join at once: about what starting them takes.
const ALONE: Duration = Duration::from_micros(30);
const MANY: u64 = 1024;

/// The clusters of a launch that have begun: those that wait for others, and how many have ended.
struct Queue<'l> {
    suspended: Mutex<VecDeque<Cluster<'l>>>,
    /// Clusters that have ended, and how many they were when a suspended one last went on because of that.
    ended: AtomicU64,
    resumed: AtomicU64,
    /// Instructions that were executed.
    executed: AtomicU64,
    failed: Mutex<Option<Error>>,
    stop: AtomicBool,
    /// Number of finished blocks that were reported to the progress callback.
    told: Mutex<u64>,
}

/// Runs all clusters of a launch; gives the number of instructions that were executed.
pub(super) fn run(launched: &Launched<'_>) -> Result<u64, Error> {
    let workers = (launched.workers() as u64).min(launched.shares.clusters) as usize;
    let queue = Queue {
        suspended: Mutex::new(VecDeque::new()),
        ended: AtomicU64::new(0),
        resumed: AtomicU64::new(0),
        executed: AtomicU64::new(0),
        failed: Mutex::new(None),
        stop: AtomicBool::new(false),
        told: Mutex::new(0),
    };
    match workers {
        1 => work(launched, &queue, 0, || true),
        _ => std::thread::scope(|scope| {
            let (start, queue) = (Instant::now(), &queue);
            let many = launched.blocks() * launched.threads().div_ceil(32) as u64 >= MANY;
            work(launched, queue, 0, || {
                let joined = many || start.elapsed() >= ALONE;
                if joined {
                    // If the host cannot create a thread, the launch runs on fewer.
                    (1..workers).for_each(|worker| {
                        let run = move || work(launched, queue, worker, || true);
                        drop(std::thread::Builder::new().spawn_scoped(scope, run));
                    });
                }
                joined
            });
        }),
    }
    match queue.failed.into_inner().expect("no panic while it was held") {
        Some(error) => Err(error),
        None => Ok(queue.executed.into_inner()),
    }
}

impl<'l> Queue<'l> {
    fn suspended(&self) -> MutexGuard<'_, VecDeque<Cluster<'l>>> {
        self.suspended.lock().expect("no panic while it is held")
    }

    /// Takes a suspended cluster if others have ended since one went on: one for each time, as most may wait for clusters that have not
    /// begun.
    fn resume(&self) -> Option<Cluster<'l>> {
        let ended = self.ended.load(Ordering::Acquire);
        let is_first =
            self.resumed.load(Ordering::Relaxed) < ended && self.resumed.fetch_max(ended, Ordering::Relaxed) < ended;
        if is_first { self.suspended().pop_front() } else { None }
    }
}

/// Stops the other threads of the host if this one panics; they would wait forever for its cluster.
struct Stop<'q>(&'q AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs clusters until none is left. `join` lets other threads join, and tells whether that is done.
fn work<'l>(launched: &'l Launched<'l>, queue: &Queue<'l>, worker: usize, join: impl FnMut() -> bool) {
    let _stop = Stop(&queue.stop);
    if let Err(error) = run_clusters(launched, queue, worker, join) {
        queue.stop.store(true, Ordering::Relaxed);
        queue.failed.lock().expect("no panic while it is held").get_or_insert(error);
    }
}

fn run_clusters<'l>(
    launched: &'l Launched<'l>,
    queue: &Queue<'l>,
    worker: usize,
    mut join: impl FnMut() -> bool,
) -> Result<(), Error> {
    let (mut spare, mut joined) = (Vec::new(), join());
    while !queue.stop.load(Ordering::Relaxed) {
        // A suspended cluster waits for others, perhaps: one goes first when others have ended, else those that have not begun do.
        let mut cluster = if let Some(cluster) = queue.resume() {
            cluster
        } else if let Some(number) = launched.shares.claim(worker) {
            Cluster::new(launched, number, &mut spare)?
        } else if queue.ended.load(Ordering::Acquire) + launched.cancelled.load(Ordering::Relaxed)
            >= launched.shares.clusters
        {
            if let Some(block) = spare.pop() {
                block.keep();
            }
            return Ok(());
        } else if let Some(cluster) = queue.suspended().pop_front() {
            cluster
        } else {
            std::thread::yield_now();
            continue;
        };
        let status = loop {
            let before = cluster.executed();
            let status = cluster.run(if joined { SLICE } else { FIRST_SLICE });
            let since = cluster.executed() - before;
            let all = queue.executed.fetch_add(since, Ordering::Relaxed) + since;
            let status = status?;
            if all > launched.options.limit {
                let message = format!("the launch executed more than {} instructions", launched.options.limit);
                return Err(cluster.within(Error::new(ErrorKind::Limit, message)));
            }
            let alone = !joined;
            joined = joined || join();
            if status == Status::Finished || !alone {
                break status;
            }
        };
        match status {
            Status::Finished => {
                queue.ended.fetch_add(cluster.ended(), Ordering::Release);
                if let Some(progress) = &launched.options.progress {
                    // The callback may have panicked on another thread.
                    let mut told = queue.told.lock().unwrap_or_else(PoisonError::into_inner);
                    *told += cluster.len();
                    let cancelled = launched.cancelled.load(Ordering::Relaxed) * launched.cluster_size();
                    progress(*told + cancelled, launched.blocks());
                }
                // The last one is taken first, by the block with the least rank.
                let mut blocks = cluster.into_blocks();
                blocks.reverse();
                match spare.is_empty() {
                    true => spare = blocks,
                    false => spare.append(&mut blocks),
                }
            }
            Status::Suspended | Status::Waiting => {
                queue.suspended().push_back(cluster);
            }
        }
    }
    Ok(())
}
