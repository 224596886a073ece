//! The state of a block. It outlives the launch: a block of a later launch of the kernel begins with it, and allocates little.

use std::ops::{Deref, DerefMut, Range};
use std::prelude::rust_2024::*;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ptx_isa::matrix::Scratch;
use ptx_isa::warp::Warps;

use super::super::decode::FRAME;
use super::super::error::{Error, ErrorKind};
use super::super::groups::Group;
use super::super::launch::Launched;
use super::super::pending::Pending;
use super::super::races::Clocks;
use super::super::raw::Bytes;
use super::super::tensor_memory::{self, SharedCells};
use super::affine::AffineRegisters;
use super::wait::{Barrier, Waiter};
use super::{Block, Entry, Frame, Peer, Status};

/// Maximum size in bytes of the shared memory and the stacks that outlive a launch.
const KEPT: usize = 1 << 18;

/// Everything of a block but its launch and its code.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Its index, or the blocks that run in lockstep.
    pub group: Group,
    /// The warps of a block: those of several blocks follow each other.
    pub per: usize,
    /// After its last turn.
    pub status: Status,
    /// The error of one of several blocks, of which those before it go on: theirs would come first.
    pub(super) failed: Option<Error>,
    /// Its rank in its cluster, and the memory of each block of the cluster.
    pub rank: usize,
    pub peers: Arc<[Peer]>,
    pub warps: Warps,
    pub affine: AffineRegisters,
    /// True if all lanes that have not ended are active.
    pub(super) full: bool,
    /// True if all lanes of all warps are active.
    pub(super) whole: bool,
    /// Lanes that have not ended.
    pub live: Vec<u32>,
    pub(super) ready: Vec<Entry>,
    /// Lanes that wait for others of their warp or warpgroup, or for tensor memory.
    pub(super) held: Vec<Entry>,
    pub(super) waiting: Vec<Waiter>,
    /// By the number of the block among those in lockstep, and the name.
    pub(super) barriers: BTreeMap<(usize, u32), Barrier>,
    /// Lanes that have arrived at the barrier of the cluster in its current phase, and those that wait there.
    pub(super) arrived: Vec<u32>,
    pub(super) at_cluster: Vec<Entry>,
    /// The shared memory: how many bytes a block has, and how far those of several blocks are apart.
    pub shared: Bytes,
    pub shared_len: usize,
    pub span: usize,
    /// Asynchronous operations of the cluster that are kept; none if they are performed at once.
    pub pending: Option<Arc<Mutex<Pending>>>,
    /// Size in bytes of the last asynchronous operation of each thread.
    pub moved: Vec<u64>,
    /// Memory of operations on matrices: registers and lines in memory, and what products take.
    pub words: Vec<u32>,
    pub scratch: Scratch,
    /// Number of failed polls in this turn: tests of an object that was not yet in the awaited state.
    pub waits: u64,
    /// Its tensor memory.
    pub cells: SharedCells,
    /// The stacks of all threads.
    pub local: Bytes,
    pub stack: u64,
    /// Of each thread where its function's frame begins, where its stack ends, and its calls.
    pub frames: Vec<u64>,
    pub tops: Vec<u64>,
    pub calls: Vec<Vec<Frame>>,
    pub(super) picks: u64,
    /// How often lanes went back in a loop while others were ready, and whether the oldest of these is due.
    pub(super) rounds: u64,
    pub(super) starved: bool,
    /// Number of backward jumps in loops with ordered or atomic accesses since a block had a turn alone, and that block.
    pub(super) together: u64,
    pub(super) alone: usize,
    /// Since the last backward branch: true if lanes read memory that other threads may change, and true if they changed any.
    /// `spins` counts successive backward branches with reads only.
    pub(super) looked: bool,
    pub changed: bool,
    pub(super) spins: u64,
    /// True if lanes released, in this turn, what other blocks may wait for.
    pub released: bool,
    pub executed: u64,
    /// What orders the accesses of its threads, if the launch looks for races.
    pub clocks: Option<Box<Clocks>>,
    /// Number of groups behind this one that have run in the same way.
    pub alike: u64,
    /// Bounds of the allocation accessed last by the block, and by each operation.
    pub around: (usize, usize),
    pub bounds: Vec<(usize, usize)>,
    /// Key under which bounds are valid: true if addresses are checked, and the number of allocations that had ended.
    bounds_of: Option<(bool, u64)>,
    /// Ranges of consecutive warps that execute, each with a flag that is true if all live lanes of these warps are
    /// active.
    pub(super) ranges: Vec<(Range<usize>, bool)>,
    pub(super) lanes: u64,
    /// The lanes that were activated last, and those that had not ended then.
    pub(super) activated: Vec<u32>,
    pub(super) activated_of: Vec<u32>,
    /// Masks that nothing uses.
    pub spare: Vec<Vec<u32>>,
    #[cfg(feature = "jit")]
    pub(super) prepared: super::native::Prepared,
    /// Words that code exchanges with functions, once it has.
    #[cfg(feature = "jit")]
    pub(super) exchange: Option<Box<ptx_isa::jit::Exchange>>,
    /// The error that code ended with.
    #[cfg(feature = "jit")]
    pub(super) error: Option<Error>,
}

impl Deref for Block<'_> {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Block<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl State {
    /// The state of a block that takes over none of its own launch, without threads.
    pub(super) fn of(launched: &Launched<'_>) -> Result<Box<State>, Error> {
        let code = launched.code;
        let per = launched.threads().div_ceil(32);
        let count = per * launched.groups.most();
        let threads = 32 * count;
        let kept = code.kept().filter(|state| state.warps.fits(count));
        let new = || Box::new(State { warps: code.program.warps(count), ..State::default() });
        let mut state = kept.unwrap_or_else(new);
        let stack = if code.grows { launched.options.stack.max(code.frame) } else { code.frames };
        // Accesses are aligned by their offsets in a stack.
        let stack = stack.checked_next_multiple_of(FRAME).unwrap_or(stack);
        let shared_len = code.static_shared.checked_add(code.reserved_shared + launched.dynamic_shared);
        let span = shared_len.and_then(|len| len.checked_next_multiple_of(128));
        zeroed(&mut state.shared, span.and_then(|span| span.checked_mul(launched.groups.most() as u64)))?;
        zeroed(&mut state.local, stack.checked_mul(threads as u64))?;
        state.shared_len = shared_len.unwrap_or_default() as usize;
        state.span = span.unwrap_or_default() as usize;
        (state.per, state.stack) = (per, stack);
        state.affine.begin(launched, count);
        state.frames.resize(threads, 0);
        state.tops.resize(threads, code.frame);
        state.calls.resize(if code.calls { threads } else { 0 }, Vec::new());
        // Bounds of allocations stay while none ends.
        let bounds_of = Some((launched.checked, launched.ended));
        if state.bounds_of != bounds_of {
            (state.bounds_of, state.around) = (bounds_of, launched.everywhere());
            state.bounds.clear();
            state.bounds.resize(code.ops.len(), launched.everywhere());
        }
        // Other lanes may be active.
        state.activated.clear();
        Ok(state)
    }
}

/// Resizes to `len` zeroed bytes.
fn zeroed(bytes: &mut Bytes, len: Option<u64>) -> Result<(), Error> {
    let new = |len: u64| Bytes::try_zeroed(usize::try_from(len).ok()?);
    match len {
        Some(0) => *bytes = Bytes::default(),
        Some(len) if len == bytes.len() as u64 => bytes.clear(),
        _ => {
            let message = "the host has no memory for the shared and local memory of a block";
            *bytes = len.and_then(new).ok_or_else(|| Error::new(ErrorKind::Memory, message))?;
        }
    }
    Ok(())
}

impl Block<'_> {
    /// Leaves its state to a later launch; all of its threads have ended.
    pub(crate) fn keep(mut self) {
        // Only memory that most launches need again is kept.
        self.calls.clear();
        (self.pending, self.clocks) = (None, None);
        tensor_memory::lock(&self.cells).clear();
        if self.peers.len() > 1 {
            self.peers = Arc::default();
        }
        if self.shared.len() + self.local.len() > KEPT {
            (self.shared, self.local) = (Bytes::default(), Bytes::default());
        }
        self.code.keep(self.state);
    }
}
