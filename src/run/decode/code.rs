//! The code of a kernel: operations, effects with their registers, and what it reads.

use std::prelude::rust_2024::*;

use std::sync::{Mutex, PoisonError};

use ptx_isa::lanes::Transfer;
use ptx_isa::table::{EffectKind, Evaluator, MemoryOrder, Origin, Single};
use ptx_isa::warp::{Item, Moved, Program, Row};

use super::super::affine::Formula;
use super::super::block::State;
use super::asynchronous::{Asynchronous, Change};
use super::matrix::Matrix;
use super::tensor::{Group, Tensor};
use super::{FRAME, System};

/// An operand of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Row(Row),
    /// A predicate, complemented.
    Not(u32),
    Constant(u64),
    Sink,
}

/// Memory that an access refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Where {
    Generic,
    /// Global and constant memory.
    Device,
    /// Shared memory of the block.
    Block,
    /// The stack of the thread.
    Thread,
    /// The parameters of the kernel.
    Parameters,
}

/// An address: a register, or the frame of the thread, and a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub base: Option<Row>,
    /// True if the address is relative to the function's frame.
    pub frame: bool,
    pub offset: u64,
}

impl Address {
    /// The address whose register has this value: arithmetic of 32 bits wraps.
    #[inline]
    pub(crate) fn behind(&self, base: u64) -> u64 {
        match self.base {
            Some(Row { bits: 32, .. }) => (base as u32).wrapping_add(self.offset as u32).into(),
            _ => base.wrapping_add(self.offset),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub place: Where,
    pub at: Address,
    /// The number of the address's register among those that may be affine.
    pub affine: Option<u32>,
    /// Bytes of an element.
    pub bytes: u8,
    /// True if an element is sign-extended to a wider register.
    pub signed: bool,
    /// Of generic addresses, true to access those in shared memory alone, and false for others alone.
    pub shared: Option<bool>,
    /// How the access is ordered with others; none if it is weak.
    pub order: Option<&'static MemoryOrder>,
    /// The elements.
    pub cells: Vec<Cell>,
    /// The same for whole warps, if they can move the elements together.
    pub transfer: Option<Transfer>,
}

impl Access {
    /// Bytes of all elements of a lane.
    pub(crate) fn whole(&self) -> u64 {
        u64::from(self.bytes) * self.cells.len() as u64
    }

    /// Returns true if a register has what was accessed.
    fn has_results(&self) -> bool {
        self.cells.iter().any(|cell| *cell != Cell::Sink)
    }
}

/// A value that a call passes: bytes in a frame, or a register.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Frame { offset: u64, bytes: u64 },
    Cell(Cell),
}

#[derive(Clone, Debug)]
pub(crate) enum Callee {
    /// An index of functions.
    Direct(usize),
    Indirect(Cell),
    System(System),
}

/// Where lanes that wait for each other may be.
#[derive(Clone, Debug)]
pub(crate) enum Meeting {
    /// At the same statement and depth of calls alone.
    Statement,
    /// At any barrier for lanes of the warp.
    Barrier,
    /// At any statement of the same form, whose results follow from what the lanes have. The next operation computes them.
    Collective(Box<Computation>),
}

impl Meeting {
    /// Returns true if it orders accesses to memory: collectives on registers do not.
    pub(crate) fn orders(&self) -> bool {
        !matches!(self, Meeting::Collective(_))
    }
}

/// Evaluator of an instruction on the bits of lanes, with its operands.
#[derive(Clone, Debug)]
pub(crate) struct Computation {
    pub evaluator: Evaluator,
    pub sources: Vec<Cell>,
    pub destinations: Vec<Cell>,
}

/// The reduction across the threads at a barrier, and the destination of its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub kind: EffectKind,
    pub of: Cell,
    pub to: Cell,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Read(Access),
    Write(Access),
    Update {
        access: Access,
        change: Evaluator,
        /// The same where it is one operation.
        single: Option<Single>,
        /// The source that is added to the old value, where that is all.
        addend: Option<Cell>,
        sources: Vec<Vec<Cell>>,
        old: usize,
        /// True if the result is that of the function, and memory is not written.
        inspects: bool,
    },
    CopyBytes(Box<CopyBytes>),
    /// Orders accesses of the thread before it, behind it, or both, with those of others.
    Fence {
        acquires: bool,
        releases: bool,
    },
    ToGeneric {
        place: Where,
        at: Cell,
        to: Cell,
    },
    FromGeneric {
        place: Where,
        at: Cell,
        to: Cell,
    },
    IsInSpace {
        place: Where,
        /// True if it asks for constant memory, which is part of the device's.
        constant: bool,
        at: Cell,
        to: Cell,
    },
    IsInCluster {
        at: Cell,
        to: Cell,
    },
    MapToBlock {
        at: Cell,
        rank: Cell,
        to: Cell,
    },
    RankOfBlock {
        at: Cell,
        to: Cell,
    },
    Reserve {
        size: Cell,
        alignment: u64,
        to: Cell,
    },
    StackPointer {
        to: Cell,
    },
    SetStackPointer {
        from: Cell,
    },
    /// Computes cells from cells, lane by lane.
    Evaluate(Computation),
    /// Changes the first value by each other one.
    Fold {
        change: Change,
        values: Vec<Cell>,
        to: Cell,
    },
    /// Copies cells.
    Copy {
        from: Vec<Cell>,
        to: Vec<Cell>,
    },
    /// The address of something in the frame.
    FrameAddress {
        to: Row,
        offset: u64,
        generic: bool,
    },
    /// Reads what changes while a thread runs.
    Refresh {
        to: Row,
        origin: Origin,
    },
    /// A branch; a guard that may be affine has a number.
    Branch {
        to: usize,
        affine: Option<u32>,
    },
    BranchIndexed {
        index: Cell,
        targets: Vec<usize>,
    },
    Call {
        callee: Callee,
        arguments: Vec<Slot>,
        results: Vec<Slot>,
    },
    Return,
    Exit,
    Trap,
    Wait {
        barrier: Cell,
        threads: Option<Cell>,
        test: Option<Test>,
    },
    Arrive {
        barrier: Cell,
        threads: Cell,
    },
    ArriveCluster,
    WaitCluster,
    /// Waits for lanes of the warp.
    Converge {
        mask: Cell,
        meeting: Meeting,
    },
    Matrix(Box<Matrix>),
    Asynchronous(Box<Asynchronous>),
    /// Waits for the warps of a warpgroup.
    ConvergeGroup,
    Group(Box<Group>),
    Tensor(Box<Tensor>),
    Nothing,
}

impl Action {
    /// Returns true if several blocks may do it in lockstep: it concerns the threads of a block and memory, and refuses no thread that comes
    /// after others, which in lockstep would always be those of the same block.
    fn is_joint(&self) -> bool {
        match self {
            Action::Update { access, addend, inspects, .. } => {
                !inspects && (access.place == Where::Block || addend.is_some() || !access.has_results())
            }
            Action::Read(_)
            | Action::Write(_)
            | Action::Fence { .. }
            | Action::ToGeneric { .. }
            | Action::FromGeneric { .. }
            | Action::Evaluate(_)
            | Action::Copy { .. }
            | Action::FrameAddress { .. }
            | Action::Branch { .. }
            | Action::BranchIndexed { .. }
            | Action::Return
            | Action::Exit
            | Action::Trap
            | Action::Wait { .. }
            | Action::Arrive { .. }
            | Action::Converge { .. }
            | Action::Matrix(_)
            | Action::Nothing => true,
            _ => false,
        }
    }

    /// Returns true if by this a block neither waits for others nor observes the order in which blocks run.
    fn is_apart(&self) -> bool {
        let is_alone = match self {
            Action::Read(access) | Action::Write(access) => access.order.is_none(),
            // No thread can wait for an atomic operation without a result.
            Action::Update { access, .. } => access.place == Where::Block || !access.has_results(),
            Action::Fence { .. } => false,
            _ => true,
        };
        is_alone && self.is_joint()
    }
}

/// A computation that may be done once for all threads of a group of blocks. Registers are numbered among those that may be affine.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    /// Without one, the results are the same in all threads where the sources are, and where the next operation loads.
    pub formula: Option<Formula>,
    pub reads: Vec<u32>,
    pub writes: Vec<u32>,
    /// True if a thread executes it at most once and nothing else writes the results: then no thread needs their values from before.
    pub single: bool,
    /// Number of instructions that a thread executes here.
    pub count: u32,
}

/// A copy of bytes between memories.
#[derive(Clone, Debug)]
pub(crate) struct CopyBytes {
    pub to: (Where, Address),
    pub from: (Where, Address),
    pub size: Cell,
    /// Number of bytes to read.
    pub count: Option<Cell>,
}

#[allow(clippy::large_enum_variant, reason = "operations lie behind each other, most of them effects")]
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Decoded instructions, by their numbers.
    Run {
        from: u32,
        to: u32,
        /// Number of instructions that a thread executes here, including those that the prelude has computed.
        count: u32,
        /// The registers that may be affine whose lanes are needed here or in the effect that follows.
        reads: Vec<u32>,
    },
    /// Does once for all threads what the next operation does in each, if that is possible; the next operation is then skipped.
    Once(Box<Once>),
    Effect {
        guard: Option<(u32, bool)>,
        action: Action,
        instruction: u32,
        function: u32,
        count: u32,
    },
}

/// A function of the code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routine {
    pub entry: usize,
    /// Bytes of its frame, and its alignment.
    pub frame: u64,
    pub align: u64,
    pub parameters: Vec<Slot>,
    pub results: Vec<Slot>,
    /// Its registers, saved where it calls itself.
    pub rows: Vec<Row>,
    pub recursive: bool,
    pub system: Option<System>,
}

impl Routine {
    /// Returns the most bytes of stack that its frame takes where another one ends.
    pub(crate) fn room(&self) -> u64 {
        self.frame.saturating_add(self.align.saturating_sub(FRAME))
    }
}

/// A special register that the code reads, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub to: Row,
    pub origin: Origin,
    pub element: u8,
    /// Addend of its value.
    pub addend: u64,
    /// Its number among the registers that may be affine.
    pub affine: Option<u32>,
}

/// The code of a kernel.
#[derive(Debug)]
pub(crate) struct Code {
    pub program: Program,
    pub ops: Vec<Op>,
    pub entry: usize,
    /// Number of leading operations, which compute the values that are the same in all blocks.
    pub prelude: usize,
    /// Bytes of the kernel's frame, and of all frames that one thread may have.
    pub frame: u64,
    pub frames: u64,
    /// The functions that the kernel reaches, by their index in the module.
    pub routines: Vec<Option<Routine>>,
    pub specials: Vec<Read>,
    /// Registers whose values may be affine in the position of a thread.
    pub affine: Vec<Row>,
    pub static_shared: u64,
    /// Bytes at the start of a block's shared memory that are set apart for the system.
    pub reserved_shared: u64,
    /// For each operation, the machine code from there on.
    #[cfg(feature = "jit")]
    pub slots: Vec<super::super::block::Slot>,
    /// The same for launches that look for races.
    #[cfg(feature = "jit")]
    pub watched: std::sync::OnceLock<Vec<super::super::block::Slot>>,
    #[cfg(feature = "jit")]
    pub needed: super::Needed,
    /// True if the stack of a thread may grow while it runs.
    pub grows: bool,
    /// True if branches depend on what threads compute or load.
    pub diverges: bool,
    /// True if it compares the positions of threads with other values.
    pub compares: bool,
    /// True if it calls functions or changes the stacks of its threads.
    pub calls: bool,
    /// True if several blocks may run in lockstep, and true if besides they neither wait for each other nor can observe the order in which
    /// they run.
    pub lockstep: bool,
    pub apart: bool,
    /// The state of a block that a launch has left to the next one.
    pub(super) kept: Mutex<Option<Box<State>>>,
}

impl Code {
    /// Takes the state of a block of an earlier launch.
    pub(crate) fn kept(&self) -> Option<Box<State>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the state of a block for a later launch.
    pub(crate) fn keep(&self, state: Box<State>) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }

    /// The function with an index in the module; `None` if the kernel does not reach it.
    pub(crate) fn routine(&self, function: usize) -> Option<&Routine> {
        self.routines.get(function)?.as_ref()
    }

    /// Decodes loads and stores for whole warps, once the program is complete, and notes what the code does.
    pub(super) fn link(&mut self) {
        let actions =
            || self.ops.iter().filter_map(|op| if let Op::Effect { action, .. } = op { Some(action) } else { None });
        self.frames = self.routines.iter().flatten().map(Routine::room).fold(self.frame, u64::saturating_add);
        (self.lockstep, self.apart) = (actions().all(Action::is_joint), actions().all(Action::is_apart));
        for op in &mut self.ops {
            let Op::Effect { guard, action, .. } = op else { continue };
            self.diverges |= guard.is_some() && matches!(action, Action::Branch { affine: None, .. })
                || matches!(action, Action::BranchIndexed { .. });
            self.calls |=
                matches!(action, Action::Call { .. } | Action::Reserve { .. } | Action::SetStackPointer { .. });
            let (access, write) = match action {
                Action::Read(access) => (access, false),
                Action::Write(access) => (access, true),
                _ => continue,
            };
            let item = |cell: &Cell| match *cell {
                Cell::Row(row) => Some(Item::Row(row)),
                Cell::Constant(bits) => Some(Item::Constant(bits)),
                Cell::Sink => Some(Item::Sink),
                Cell::Not(_) => None,
            };
            let Some(elements) = access.cells.iter().map(item).collect::<Option<Vec<_>>>() else { continue };
            let Access { at: Address { base, frame, offset }, bytes, signed, .. } = *access;
            let moved = Moved { guard: *guard, base, offset, bytes, signed, elements: &elements, write };
            access.transfer = if frame { None } else { self.program.transfer(&moved) };
        }
        #[cfg(feature = "jit")]
        {
            self.slots = super::super::block::slots(self.ops.len());
        }
    }
}

/// Address of the first function.
pub(crate) const FUNCTIONS: u64 = 0x00f4 << 48;
/// Distance in bytes between the addresses of functions.
pub(crate) const FUNCTION: u64 = 16;
/// Base of the generic addresses of shared memory, of a thread's stack, and of parameters.
pub(crate) const BLOCK: u64 = 0x00f1 << 48;
pub(crate) const THREAD: u64 = 0x00f2 << 48;
pub(crate) const PARAMETERS: u64 = 0x00f3 << 48;
/// Lowest bit of the rank of a block in an address of shared memory, as in hardware with clusters. Kernels clear it to address the block of
/// even rank in a pair.
pub(crate) const RANK: u32 = 24;
