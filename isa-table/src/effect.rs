//! Effects: what an instruction does beyond registers.
//!
//! A form has an ordered list of them. The prelude declares each effect with its parameters and the semantics of an
//! entry name it, so an executor implements these few effects and needs no opcode.
//!
//! ```text
//! d = read(a, .sem, .scope);        Effect { kind: Read, result: the operand d, arguments: [the operand a, .sem, .scope] }
//! ```

#[cfg(feature = "write")]
use alloc::format;

use crate::constant::{contents, plain};
use crate::table::Forbidden;

macro_rules! kinds {
    ($(#[$docs:meta])* $name:ident { $($(#[$variant_docs:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_docs])* $variant,)* }

        impl $name {
            /// All variants.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// Its name in a spec.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

kinds! {
    /// Effect of an instruction beyond registers.
    #[non_exhaustive]
    EffectKind {
        /// Reads memory: `(address, order, scope)`; returns the value.
        Read = "read",
        /// Writes memory: `(address, value, order, scope)`.
        Write = "write",
        /// Atomic read-modify-write of memory: `(address, change, order, scope)`; returns the old value.
        Update = "update",
        /// Reads memory and returns a function of the value: `(address, function, order, scope)`.
        Inspect = "inspect",
        /// Copies bytes: `(destination, source, size, number of bytes to read)`; zeros fill the rest. A predicate in place
        /// of the number reads nothing if it is true.
        CopyBytes = "copy_bytes",
        /// Begins a copy: `(destination, source, size, group, number of bytes to read, bytes of each 16, mask of destination
        /// blocks, bytes ignored on the left, on the right)`. The group is [`COPIES`], [`BULK`] or [`ALONE`].
        BeginCopy = "begin_copy",
        /// Begins an update of each element: `(destination, source, size, group, change)`.
        BeginReduce = "begin_reduce",
        /// Begins a store: `(address, value)`.
        BeginWrite = "begin_write",
        /// Begins an update: `(address, change)`.
        BeginUpdate = "begin_update",
        /// Begins a copy of a part of a tensor to shared memory: `(destination, map, coordinates, mode, offsets, mask of
        /// destination blocks)`. The mode is that of a [`Traversal`].
        BeginLoadTensor = "begin_load_tensor",
        /// Elements that the next such copy reads are converted if their type has this number: `(type, change)`.
        ConvertElement = "convert_element",
        /// Begins a copy of a part of a tensor from shared memory: `(map, coordinates, source, mode)`.
        BeginStoreTensor = "begin_store_tensor",
        /// Begins an update of a part of a tensor, if the type of its elements has this number: `(map, coordinates, source,
        /// mode, type, change)`.
        BeginReduceTensor = "begin_reduce_tensor",
        /// Checks a prefetch: `(address, size)`.
        PrefetchBytes = "prefetch_bytes",
        /// Checks a prefetch of a part of a tensor: `(map, coordinates, mode, offsets)`.
        PrefetchTensor = "prefetch_tensor",
        /// Replaces a field of a tensor map: `(map, field, value, ordinal)`.
        ReplaceField = "replace_field",
        /// Begins the cancellation of a cluster that has not started: `(destination of the response, 1 for one in each block)`.
        BeginCancel = "begin_cancel",
        /// Updates memory when what the instruction began is complete: `(address, change, mask of blocks, 1 for the block of
        /// each pair that has the parity of the address's block or 2 for all blocks)`.
        Signal = "signal",
        /// Updates memory when all copies that the thread began are complete: `(address, change)`.
        AfterCopies = "after_copies",
        /// Updates memory once all prior tensor operations of the thread are complete: `(address, change, mask of blocks)`.
        AfterTensorOperations = "after_tensor_operations",
        /// Makes a group of what the thread began since the last one: `(group)`.
        CommitGroup = "commit_group",
        /// Waits for all but some of the thread's last groups: `(group, number, word for their reads only)`. Without a number it
        /// waits for all that the thread began.
        WaitGroup = "wait_group",
        /// Memory fence: `(order, scope)`.
        Fence = "fence",
        /// Converts an address in a state space to a generic address: `(address, space)`.
        ToGeneric = "to_generic",
        /// Converts a generic address to an address in a state space: `(address, space)`.
        FromGeneric = "from_generic",
        /// Tests whether a generic address lies in a state space: `(address, space)`; returns a predicate.
        IsInSpace = "is_in_space",
        /// Tests whether a generic address lies in the shared memory of a block of the cluster: `(address)`; returns a predicate.
        IsInCluster = "is_in_cluster",
        /// Maps a shared memory address to another block of the cluster: `(address, rank)`; returns the address.
        MapToBlock = "map_to_block",
        /// Returns the rank of the block that owns a shared memory address: `(address)`.
        RankOfBlock = "rank_of_block",
        /// Allocates stack memory: `(size, alignment)`; returns its address.
        Reserve = "reserve",
        /// Returns the stack pointer.
        StackPointer = "stack_pointer",
        /// Sets the stack pointer: `(pointer)`.
        SetStackPointer = "set_stack_pointer",
        /// Continues at a label: `(label)`.
        Branch = "branch",
        /// Branches through a list of labels: `(index, labels)`.
        BranchIndexed = "branch_indexed",
        /// Calls a function: `(results, function, arguments, targets)`; all but the function are optional.
        Call = "call",
        /// Returns to the caller, or ends the thread if it has no caller.
        Return = "return_to_caller",
        /// Ends the thread.
        Exit = "end_thread",
        /// Aborts the launch.
        Trap = "abort_launch",
        /// Waits at a barrier of the block: `(barrier, threads)`.
        Wait = "wait",
        /// Arrives at a barrier of the block without waiting: `(barrier, threads)`.
        Arrive = "arrive",
        /// Waits at a barrier of the block and returns the number of threads whose predicate is true: `(barrier,
        /// threads, predicate)`.
        WaitCount = "wait_count",
        /// Waits at a barrier of the block and returns the AND of the predicates of all threads: `(barrier, threads,
        /// predicate)`.
        WaitAll = "wait_all",
        /// Waits at a barrier of the block and returns the OR of the predicates of all threads: `(barrier, threads,
        /// predicate)`.
        WaitAny = "wait_any",
        /// Arrives at the barrier of the cluster without waiting.
        ArriveCluster = "arrive_cluster",
        /// Waits at the barrier of the cluster.
        WaitCluster = "wait_cluster",
        /// Waits for the lanes of a member mask: `(mask)`. The result of the instruction is computed after it.
        Converge = "converge",
        /// Copies the elements of a vector: `(value)`; returns them.
        Copy = "copy",
        /// Folds the registers of a list: `(list, change)`; returns what is left.
        Fold = "fold",
        /// Matrix product of a warp: `(a, b, c, summation, saturation, type of a, type of b)`; returns `a × b + c`.
        Multiply = "multiply",
        /// Matrix product with sparse `a`: the arguments of `Multiply`, then `(metadata, selector, selector)`.
        MultiplySparse = "multiply_sparse",
        /// Matrix product with scale factors: `(a, b, c, summation, type of the scale factors, type of a, type of b, number of scale factors)`, then
        /// `(scale, byte, lane)` of `a` and of `b`.
        MultiplyScaled = "multiply_scaled",
        /// Matrix product with sparse `a` and scale factors: the arguments of `MultiplyScaled`, then `(metadata, selector)`.
        MultiplySparseScaled = "multiply_sparse_scaled",
        /// Matrix product of a warpgroup with matrices in shared memory: `(a, descriptor of a, descriptor of b, summation,
        /// saturation, type of a, type of b, layout of descriptors, predicate, sign of a, sign of b, transposition of a,
        /// transposition of b, metadata, selector)`; the result is added to what the destination holds.
        MultiplyGroup = "multiply_group",
        /// Allocates tensor memory: `(address, columns)`.
        AllocateTensor = "allocate_tensor",
        /// Frees tensor memory: `(address, columns)`.
        FreeTensor = "free_tensor",
        /// Reads a matrix from tensor memory: `(address, distance, packing)`.
        ReadTensor = "read_tensor",
        /// Writes a matrix to tensor memory: `(address, value, distance, packing)`.
        WriteTensor = "write_tensor",
        /// Copies from shared to tensor memory: `(address, descriptor, layout of the descriptor, rows, words of a row, copies,
        /// lanes between copies, rows of a group, lanes between groups, width, shift)`.
        CopyToTensor = "copy_to_tensor",
        /// Matrix product in tensor memory: `(result, descriptor of a, address of a, descriptor of b, shape, predicate, lanes
        /// that are off, power, metadata, mask of zero columns, scale factors of a, those of b, layout of descriptors,
        /// layout of the shape, layout of the mask, summation, 1 if stationary, number of scale factors, 1 if packed, elements of a chunk of
        /// sparse a)`, then types of results, scale factors and elements.
        MultiplyTensor = "multiply_tensor",
        /// An operation on tensor memory concerns a pair of blocks of the cluster.
        PairBlocks = "pair_blocks",
        /// Not modeled: the statement cannot be executed.
        Unmodeled = "unmodeled",
        /// Reads matrices from shared memory, whose rows have their addresses in lanes: `(address, width, shift, 1 if
        /// signed, transposition)`.
        ReadRows = "read_rows",
        /// Writes matrices to shared memory, whose rows have their addresses in lanes: `(address, value,
        /// transposition)`.
        WriteRows = "write_rows",
        /// Reads a matrix whose rows are adjacent in memory: `(address, stride)`.
        ReadMatrix = "read_matrix",
        /// Reads a matrix whose columns are adjacent in memory: `(address, stride)`.
        ReadColumns = "read_columns",
        /// Writes a matrix with adjacent rows: `(address, value, stride)`.
        WriteMatrix = "write_matrix",
        /// Writes a matrix with adjacent columns: `(address, value, stride)`.
        WriteColumns = "write_columns",
        /// Transposes a matrix that the lanes of a warp hold: `(value)`.
        Transpose = "transpose",
        /// Returns an opaque value: a cache policy.
        Opaque = "opaque",
        /// No observable effect: performance hints.
        Nothing = "nothing",
    }
}

kinds! {
    /// Source of the value of a special register.
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
        /// 1 if the launch specified clusters, else 0.
        HasClusters = "has_clusters",
        /// The index of the thread in its warp.
        Lane = "lane",
        /// The index of the warp in its block.
        Warp = "warp",
        /// The number of warps of a block.
        Warps = "warps",
        /// Mask with only the lane's own bit set.
        MaskEqual = "mask_equal",
        /// Mask of the lane and those below it.
        MaskUpTo = "mask_up_to",
        /// Mask of the lanes below.
        MaskBelow = "mask_below",
        /// Mask of the lane and those above it.
        MaskFrom = "mask_from",
        /// Mask of the lanes above.
        MaskAbove = "mask_above",
        /// Monotonic clock counter.
        Clock = "clock",
        /// Upper 32 bits of the clock counter.
        ClockHigh = "clock_high",
        /// Wall-clock time in nanoseconds.
        Timer = "timer",
        /// Upper 32 bits of the wall-clock time.
        TimerHigh = "timer_high",
        /// Size of dynamic shared memory in bytes.
        DynamicShared = "dynamic_shared",
        /// Size of static and dynamic shared memory in bytes.
        TotalShared = "total_shared",
        /// The same with the shared memory that is reserved for the system.
        AggregateShared = "aggregate_shared",
        /// Address of the shared memory that is reserved for the system.
        ReservedShared = "reserved_shared",
        /// Address of its end.
        ReservedSharedEnd = "reserved_shared_end",
        /// Size in bytes of it.
        ReservedSharedSize = "reserved_shared_size",
        /// Address of the zeroed workspace of a launch, in which the blocks of a cooperative grid synchronize.
        Workspace = "workspace",
        /// Bits 32 to 63 of that address.
        WorkspaceHigh = "workspace_high",
        /// Number of the launch, counted from one.
        LaunchNumber = "launch_number",
        /// The constant 1.
        One = "one",
        /// The constant 0, for features that the emulated machine does not have.
        Zero = "zero",
    }
}

impl Origin {
    /// Returns true if the value changes with time.
    pub fn is_clock(self) -> bool {
        matches!(self, Origin::Clock | Origin::ClockHigh | Origin::Timer | Origin::TimerHigh)
    }
}

kinds! {
    /// Owner of the memory of a state space.
    #[non_exhaustive]
    Memory {
        /// The device: shared by all threads of all launches.
        Device = "device",
        /// The device, read-only to threads.
        Constant = "constant",
        /// One instance for each block.
        Block = "block",
        /// One instance for each thread.
        Thread = "thread",
        /// One instance for each call: parameters of kernels and functions.
        Call = "call",
    }
}

plain! {
    EffectKind = |kind| format!("EffectKind::{kind:?}");
    Origin = |origin| format!("Origin::{origin:?}");
    Memory = |memory| format!("Memory::{memory:?}");
}

/// Group of asynchronous copies, in the arguments of effects.
pub const COPIES: u8 = 0;
/// Group of bulk asynchronous operations.
pub const BULK: u8 = 1;
/// No group: completion is signaled.
pub const ALONE: u8 = 2;

/// How an instruction goes through a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Traversal {
    /// A box.
    Tile,
    /// Four rows.
    Rows,
    /// Pixels of images, in columns.
    Columns,
    /// Pixels of one row of images.
    Row,
    /// 128 of these.
    Row128,
}

impl Traversal {
    /// All modes, in the order of their numbers in a spec.
    pub const ALL: [Traversal; 5] =
        [Traversal::Tile, Traversal::Rows, Traversal::Columns, Traversal::Row, Traversal::Row128];
}

/// Absent operand in [`Effect::arguments`] and [`Effect::result`].
pub const NO_OPERAND: u8 = u8::MAX;

contents! {
    /// An effect of a form.
    Effect, EffectBuf {
        /// Kind of effect.
        kind: EffectKind,
        /// Index of the operand it writes, among those of the form; [`NO_OPERAND`] if it writes none.
        result: u8,
        /// For each parameter, the index of an operand, the slot of a modifier, or the index of a summation;
        /// [`NO_OPERAND`] if omitted.
        arguments: &'static [u8],
        /// For an update or an inspection, the evaluation that computes the new value or the result; its sources are those of the form followed by the
        /// old value. [`NO_EVALUATION`](crate::table::NO_EVALUATION) for other effects.
        change: u32,
        /// Free modifiers with which it happens: all of these hold.
        when: &'static [Forbidden],
    }

    /// The effects of a form, in execution order; they precede the computation of its results.
    EffectList, EffectListBuf {
        /// The effects.
        effects: &'static [Effect],
        /// Reason why the form cannot be executed; empty if it can.
        lacks: &'static str,
    }
}
