//! Effects: what an instruction does beyond registers.
//!
//! A form has an ordered list of them. The prelude declares each with its parameters, entries name them in their semantics, and
//! whoever executes instructions implements these few and needs no opcode.
//!
//! ```text
//! d = read(a, .sem, .scope);        Effect { kind: Read, result: the operand d, arguments: [the operand a, .sem, .scope] }
//! ```

#[cfg(feature = "write")]
use alloc::format;

use crate::constant::{contents, plain};

macro_rules! kinds {
    ($(#[$docs:meta])* $name:ident { $($(#[$variant_docs:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_docs])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// What a spec calls it.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

kinds! {
    /// What an instruction may do beyond registers.
    #[non_exhaustive]
    EffectKind {
        /// Reads memory: `(address, order, scope)`, gives the value.
        Read = "read",
        /// Writes memory: `(address, value, order, scope)`.
        Write = "write",
        /// Replaces a value in memory by a function of it, atomically: `(address, change, order, scope)`, gives the old value.
        Update = "update",
        /// Orders accesses to memory: `(order, scope)`.
        Fence = "fence",
        /// Converts an address in a state space to a generic one: `(address, space)`.
        ToGeneric = "to_generic",
        /// Converts a generic address to one in a state space: `(address, space)`.
        FromGeneric = "from_generic",
        /// Gives whether a generic address lies in a state space: `(address, space)`.
        IsInSpace = "is_in_space",
        /// Gives the address in another block of the cluster: `(address, rank)`.
        MapToBlock = "map_to_block",
        /// Gives the rank of the block in whose shared memory an address lies: `(address)`.
        RankOfBlock = "rank_of_block",
        /// Reserves stack: `(size, alignment)`, gives its address.
        Reserve = "reserve",
        /// Gives the stack pointer.
        StackPointer = "stack_pointer",
        /// Sets the stack pointer: `(pointer)`.
        SetStackPointer = "set_stack_pointer",
        /// Continues at a label: `(label)`.
        Branch = "branch",
        /// Continues at one label of a list: `(index, labels)`.
        BranchIndexed = "branch_indexed",
        /// Calls a function: `(results, function, arguments, targets)`; all but the function may be left out.
        Call = "call",
        /// Returns to the caller; ends the thread where there is none.
        Return = "return_to_caller",
        /// Ends the thread.
        Exit = "end_thread",
        /// Aborts the launch.
        Trap = "abort_launch",
        /// Waits at a barrier of the block: `(barrier, threads)`.
        Wait = "wait",
        /// Arrives at a barrier of the block without waiting: `(barrier, threads)`.
        Arrive = "arrive",
        /// Waits at a barrier of the block, gives the number of threads with a true predicate: `(barrier, threads, predicate)`.
        WaitCount = "wait_count",
        /// Waits at a barrier of the block, gives whether all threads have a true predicate: `(barrier, threads, predicate)`.
        WaitAll = "wait_all",
        /// Waits at a barrier of the block, gives whether any thread has a true predicate: `(barrier, threads, predicate)`.
        WaitAny = "wait_any",
        /// Arrives at the barrier of the cluster without waiting.
        ArriveCluster = "arrive_cluster",
        /// Waits at the barrier of the cluster.
        WaitCluster = "wait_cluster",
        /// Waits for the threads of a member mask: `(mask)`. What the instruction computes comes after.
        Converge = "converge",
        /// Copies the elements of a vector: `(value)`, gives them.
        Copy = "copy",
        /// Gives a value that means nothing to a program: a cache policy.
        Opaque = "opaque",
        /// Does nothing that a program can observe: hints.
        Nothing = "nothing",
    }
}

kinds! {
    /// Where the value of a special register comes from.
    #[non_exhaustive]
    Origin {
        /// The index of the thread in its block, by dimension.
        ThreadIndex = "thread_index",
        /// The shape of the block, by dimension.
        BlockShape = "block_shape",
        /// The index of the block in the grid, by dimension.
        BlockIndex = "block_index",
        /// The shape of the grid, by dimension.
        GridShape = "grid_shape",
        /// The index of the cluster in the grid, by dimension.
        ClusterIndex = "cluster_index",
        /// The number of clusters in the grid, by dimension.
        GridClusters = "grid_clusters",
        /// The index of the block in its cluster, by dimension.
        BlockInCluster = "block_in_cluster",
        /// The shape of the cluster, by dimension.
        ClusterShape = "cluster_shape",
        /// The rank of the block in its cluster.
        BlockRank = "block_rank",
        /// The number of blocks of a cluster.
        ClusterSize = "cluster_size",
        /// Whether the launch specified clusters.
        HasClusters = "has_clusters",
        /// The index of the thread in its warp.
        Lane = "lane",
        /// The index of the warp in its block.
        Warp = "warp",
        /// The number of warps of a block.
        Warps = "warps",
        /// The bit of the lane.
        MaskEqual = "mask_equal",
        /// The bits of the lane and those below.
        MaskUpTo = "mask_up_to",
        /// The bits below that of the lane.
        MaskBelow = "mask_below",
        /// The bits of the lane and those above.
        MaskFrom = "mask_from",
        /// The bits above that of the lane.
        MaskAbove = "mask_above",
        /// A counter that never decreases while a launch runs.
        Clock = "clock",
        /// Bits 32 to 63 of that counter.
        ClockHigh = "clock_high",
        /// Nanoseconds of a clock on the wall.
        Timer = "timer",
        /// Bits 32 to 63 of these nanoseconds.
        TimerHigh = "timer_high",
        /// The bytes of dynamic shared memory.
        DynamicShared = "dynamic_shared",
        /// The bytes of shared memory, static and dynamic.
        TotalShared = "total_shared",
        /// One.
        One = "one",
        /// Zero: what does not exist on this machine.
        Zero = "zero",
    }
}

kinds! {
    /// What the memory of a state space belongs to.
    #[non_exhaustive]
    Memory {
        /// The device: all threads of all launches.
        Device = "device",
        /// The device, and threads only read it.
        Constant = "constant",
        /// A block.
        Block = "block",
        /// A thread.
        Thread = "thread",
        /// A call: parameters of kernels and functions.
        Call = "call",
    }
}

plain! {
    EffectKind = |kind| format!("EffectKind::{kind:?}");
    Origin = |origin| format!("Origin::{origin:?}");
    Memory = |memory| format!("Memory::{memory:?}");
}

/// In [`Effect::arguments`] and [`Effect::result`]: there is none.
pub const NO_OPERAND: u8 = u8::MAX;

contents! {
    /// An effect of a form.
    Effect, EffectBuf {
        /// What it does.
        kind: EffectKind,
        /// The operand that it writes, as an index among those of the form; [`NO_OPERAND`] if it writes none.
        result: u8,
        /// One for each parameter: the index of an operand, or the slot of a free modifier; [`NO_OPERAND`] where it is left out.
        arguments: &'static [u8],
        /// For an update, the program that changes the value: an index of evaluations; its sources are those of the form and,
        /// behind them, the old value. [`NO_EVALUATION`](crate::table::NO_EVALUATION) for others.
        change: u32,
    }

    /// The effects of a form, in the order in which they happen, before what it computes.
    EffectList, EffectListBuf {
        /// The effects.
        effects: &'static [Effect],
        /// Why the form cannot be executed; empty if it can.
        lacks: &'static str,
    }
}
