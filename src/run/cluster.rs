//! A cluster that runs: blocks that reach for the shared memory of each other and meet at the barrier of the cluster.

use std::prelude::rust_2024::*;
use std::vec;

use std::sync::{Arc, Mutex, PoisonError};

use super::block::{Block, Peer, Place, Status};
use super::error::Error;
use super::groups::Group;
use super::launch::Launched;
use super::pending::Pending;
use super::shape;

/// Turns of a cluster after which asynchronous operations are not kept any longer.
const KEPT: u64 = 64;

/// The blocks of a cluster, by rank; one thread of the host runs them in turns.
pub(crate) struct Cluster<'l> {
    blocks: Vec<Block<'l>>,
    /// Asynchronous operations that are kept.
    pending: Option<Arc<Mutex<Pending>>>,
    turns: u64,
}

impl<'l> Cluster<'l> {
    /// The cluster with this number in a launch; its blocks take over what others had.
    pub(crate) fn new(
        launched: &'l Launched<'l>,
        number: u64,
        spare: &mut Vec<Block<'l>>,
    ) -> Result<Cluster<'l>, Error> {
        if launched.groups.most() > 1 {
            let block = Block::new(launched, Place { group: launched.groups.get(number), rank: 0 }, spare.pop())?;
            return Ok(Cluster { pending: None, turns: 0, blocks: vec![block] });
        }
        let first = first_block(launched, number);
        let mut blocks: Vec<Block<'l>> = (0..launched.cluster_size())
            .map(|rank| {
                let within = shape::index(rank, launched.cluster);
                let index = std::array::from_fn(|axis| first[axis] + within[axis]);
                let group = Group { number, index, axis: 0, count: 1 };
                Block::new(launched, Place { group, rank: rank as usize }, spare.pop())
            })
            .collect::<Result<_, _>>()?;
        let pending = launched.options.delay.map(|seed| Arc::new(Mutex::new(Pending::new(seed ^ number))));
        blocks.iter_mut().for_each(|block| block.pending.clone_from(&pending));
        // Blocks of an earlier cluster usually know each other.
        let peers = &blocks[0].peers;
        let known = peers.len() == blocks.len()
            && blocks.iter().all(|block| Arc::ptr_eq(&block.peers, peers))
            && peers
                .iter()
                .zip(&blocks)
                .all(|(peer, block)| peer.shared == block.shared_of(0) && Arc::ptr_eq(&peer.cells, &block.cells));
        if !known {
            let peers = blocks.iter().map(|block| Peer { shared: block.shared_of(0), cells: block.cells.clone() });
            let peers: Arc<[Peer]> = peers.collect();
            blocks.iter_mut().for_each(|block| block.peers.clone_from(&peers));
        }
        Ok(Cluster { pending, turns: 0, blocks })
    }

    /// Runs each block until it has ended, waits at the barrier of the cluster, or has done `budget` steps.
    pub(crate) fn run(&mut self, budget: u64) -> Result<Status, Error> {
        let status = self.turn(budget)?;
        // Other blocks may wait for a deferred operation that nothing else completes: operations are not deferred
        // forever.
        self.turns += 1;
        if let Some(pending) = &self.pending
            && (status == Status::Finished || self.turns.is_multiple_of(KEPT))
        {
            pending.lock().unwrap_or_else(PoisonError::into_inner).finish();
        }
        Ok(status)
    }

    fn turn(&mut self, budget: u64) -> Result<Status, Error> {
        loop {
            for block in self.blocks.iter_mut().filter(|block| block.status != Status::Finished) {
                block.status = block.run(budget)?;
            }
            let some = |status: Status| self.blocks.iter().any(|block| block.status == status);
            if some(Status::Waiting) && self.blocks.iter().all(|block| block.has_arrived()) {
                self.blocks.iter_mut().for_each(|block| block.release_cluster());
            } else if some(Status::Suspended) {
                return Ok(Status::Suspended);
            } else if let Some(block) = self.stuck() {
                return Err(block.deadlock());
            } else {
                return Ok(Status::Finished);
            }
        }
    }

    /// A block that waits: one whose threads cannot reach the barrier of the cluster, if there is one.
    fn stuck(&self) -> Option<&Block<'l>> {
        let mut blocks = self.blocks.iter().filter(|block| block.status == Status::Waiting);
        blocks.clone().find(|block| !block.has_arrived()).or_else(|| blocks.next())
    }

    /// An error with a thread that goes on.
    pub(crate) fn within(&self, error: Error) -> Error {
        match self.blocks.iter().find(|block| block.status != Status::Finished) {
            Some(block) => block.within(error),
            None => error,
        }
    }

    /// Number of blocks in the cluster, and in those that have ended with it.
    pub(crate) fn len(&self) -> u64 {
        self.blocks.iter().map(|block| block.group.count as u64).sum::<u64>() * self.ended()
    }

    /// Number of clusters that have ended with it: groups behind one may run in the same way.
    pub(crate) fn ended(&self) -> u64 {
        1 + self.blocks[0].alike
    }

    /// The instructions that its blocks have executed.
    pub(crate) fn executed(&self) -> u64 {
        self.blocks.iter().map(|block| block.executed).sum()
    }

    /// The blocks, for others to take over.
    pub(crate) fn into_blocks(self) -> Vec<Block<'l>> {
        self.blocks
    }
}

/// The index of the first block of a cluster.
pub(crate) fn first_block(launched: &Launched<'_>, number: u64) -> [u32; 3] {
    let (grid, cluster) = (launched.grid, launched.cluster);
    let index = shape::index(number, std::array::from_fn(|axis| grid[axis] / cluster[axis]));
    std::array::from_fn(|axis| index[axis] * cluster[axis])
}
