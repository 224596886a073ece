//! Decoded instructions, and the registers that they run over.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::Range;

use isa_table::limits::PLACES;
use isa_table::program::RunWarp;

use super::convert::Convert;
use super::thread::Thread;
use super::{Level, Run, WARP, Width, Word};
#[cfg(feature = "run")]
use super::{Regular, Transfer, Window};

/// Header of a step. It is followed by the byte offsets of the step's operands in the registers of a warp, destinations
/// first, and then by the parameters of its loop.
///
/// Its alignment is that of the words that follow, so that no padding separates them.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub(super) struct Head {
    run: RunWarp,
    /// The guard's mask, and what it is xored with.
    pub guard: u32,
    pub flip: u32,
}

impl Head {
    /// Byte offset, within a step, of the register offset of operand number `place`.
    #[inline(always)]
    pub(super) const fn place(place: usize) -> usize {
        size_of::<Head>() + 4 * place
    }

    /// Byte offset of the parameters in a step with this number of operands.
    #[inline(always)]
    pub(super) const fn params(places: usize) -> usize {
        Head::place(places)
    }

    /// Size in bytes of a step with this number of operands and of parameter words, rounded up to whole lines. The next
    /// step follows immediately.
    #[inline(always)]
    pub(super) const fn size(places: usize, words: usize) -> usize {
        (Head::params(places) + 4 * words).next_multiple_of(size_of::<Line>())
    }

    /// Byte offset of the pointer to its [`Thread`] in a step that runs thread by thread: behind the maximum number of
    /// operands.
    const THREAD: usize = Head::place(PLACES).next_multiple_of(8);
}

/// The step behind another one, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Next {
    run: RunWarp,
    step: *const u8,
}

impl Next {
    /// Loads the function pointer of a step. This happens before the preceding step runs, so that a mispredicted jump
    /// is detected early.
    ///
    /// # Safety
    ///
    /// `step` points to a step, or to the line behind the last one.
    #[inline(always)]
    pub(super) unsafe fn at(step: *const u8) -> Next {
        // SAFETY: the caller's promise.
        Next { run: unsafe { (*step.cast::<Head>()).run }, step }
    }

    /// Runs this step and the `more - 1` steps that follow; does nothing if `more` is zero. It must be the last call of
    /// a step: it compiles to a tail jump, so that each instruction has an indirect jump of its own, which is predicted
    /// separately.
    ///
    /// # Safety
    ///
    /// At least `more` steps start here, and the registers belong to their program.
    #[inline(always)]
    pub(super) unsafe fn run(self, registers: *mut u8, more: usize) {
        if more > 0 {
            // SAFETY: the caller's promise.
            unsafe { (self.run)(registers, self.step, more - 1) }
        }
    }
}

/// Runs a step over one warp.
///
/// # Safety
///
/// `registers` points to the registers of a warp of the program that the step is of.
#[cfg(feature = "jit")]
unsafe extern "C" fn run_step(registers: *mut u8, step: *const u8) {
    // SAFETY: the caller's promise.
    unsafe { Next::at(step).run(registers, 1) }
}

/// Placeholder for the function of a line that is not a step.
unsafe fn nothing(_: *mut u8, _: *const u8, _: usize) {}

const _: () = assert!(Head::THREAD + size_of::<*const Thread>() <= 64);

/// Sixty-four bytes: a cache line, and as much as the widest vector. They hold pointers, too.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line(MaybeUninit<[u8; 64]>);

/// A step that is being decoded.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Offsets of operands in the registers of a warp: destinations, then sources.
    pub at: Vec<u32>,
    /// The guard's offset and whether its complement is meant; without one, the offset of a predicate that is true.
    pub guard: Result<(u32, bool), u32>,
    /// The parameters of the loop.
    pub params: Vec<u32>,
}

/// Contents of a register of a warp: an integer in each lane, or the mask of a predicate.
pub trait Contents: Copy + contents::Sealed {
    /// Bits per lane: 16, 32 or 64; 1 for a predicate.
    const BITS: u8;
}

mod contents {
    pub trait Sealed {}
}

macro_rules! contents {
    ($($ty:ty, $bits:literal;)*) => {$(
        impl contents::Sealed for $ty {}
        impl Contents for $ty {
            const BITS: u8 = $bits;
        }
    )*};
}

contents! {
    u32, 1;
    [u16; WARP], 16;
    [u32; WARP], 32;
    [u64; WARP], 64;
}

/// Sixty-four bytes of registers.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Registers([u8; 64]);

/// The registers of the warps of a block: bytes that operands of any width lie in, at multiples of their size.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    lines: Vec<Registers>,
}

impl File {
    /// Creates a register file of at least `bytes` bytes, all zero.
    pub(crate) fn new(bytes: usize) -> File {
        File { lines: alloc::vec![Registers([0; 64]); bytes.div_ceil(64)] }
    }

    pub(crate) fn bytes(&self) -> usize {
        64 * self.lines.len()
    }

    /// Returns `count` words at a byte offset, which must be a multiple of their size.
    #[cfg(feature = "run")]
    pub(crate) fn words<W: Word>(&self, offset: usize, count: usize) -> &[W] {
        self.inside(offset, count.saturating_mul(size_of::<W>()), size_of::<W>());
        // SAFETY: the words lie inside the lines, aligned, and any bits are integers.
        unsafe { core::slice::from_raw_parts(self.lines.as_ptr().cast::<u8>().add(offset).cast(), count) }
    }

    /// Returns `count` words at a byte offset, which must be a multiple of their size, for writing.
    pub(crate) fn words_mut<W: Word>(&mut self, offset: usize, count: usize) -> &mut [W] {
        self.inside(offset, count.saturating_mul(size_of::<W>()), size_of::<W>());
        // SAFETY: as in `words`.
        unsafe { core::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<u8>().add(offset).cast(), count) }
    }

    /// Returns the register at a byte offset, which must be a multiple of its alignment.
    #[inline]
    pub(crate) fn register<T: Contents>(&self, offset: usize) -> &T {
        self.inside(offset, size_of::<T>(), align_of::<T>());
        // SAFETY: the register lies inside the lines, aligned, and any bits are integers.
        unsafe { &*self.lines.as_ptr().cast::<u8>().add(offset).cast() }
    }

    /// Returns the register at a byte offset, which must be a multiple of its alignment, for writing.
    #[inline]
    pub(crate) fn register_mut<T: Contents>(&mut self, offset: usize) -> &mut T {
        self.inside(offset, size_of::<T>(), align_of::<T>());
        // SAFETY: as in `register`.
        unsafe { &mut *self.lines.as_mut_ptr().cast::<u8>().add(offset).cast() }
    }

    /// Panics if some bytes are not inside, or do not begin at a multiple of a number.
    #[inline]
    fn inside(&self, offset: usize, bytes: usize, multiple: usize) {
        let end = offset.checked_add(bytes);
        let inside = offset.is_multiple_of(multiple) && end.is_some_and(|end| end <= self.bytes());
        assert!(inside, "inside the file");
    }
}

/// Number of warps that run a sequence of steps before the next ones start: their registers stay in the first-level cache.
const PIECE: usize = 32;

/// Instructions that run over the warps of a block.
#[derive(Clone, Default)]
pub(crate) struct Code {
    /// The steps, contiguous, followed by one line that is not a step.
    lines: Vec<Line>,
    /// Index of the first line of each step.
    starts: Vec<u32>,
    /// For each step, the loop that runs it over several warps, if it has a loop and no guard.
    wide: Vec<Option<Run>>,
    /// The steps that run thread by thread; `lines` points to them.
    threads: Vec<Arc<Thread>>,
    /// Minimum size of the registers of a warp in bytes.
    bytes: usize,
}

// SAFETY: the pointers in steps are to what the code owns, which is sent and shared with it, and to functions.
unsafe impl Send for Code {}
// SAFETY: as above; nothing is changed through them.
unsafe impl Sync for Code {}

impl core::fmt::Debug for Code {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Code").field("steps", &self.starts.len()).finish_non_exhaustive()
    }
}

impl Code {
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the distance between the registers of consecutive warps in bytes: an odd number of whole lines, so that
    /// the same register of many warps does not map to a few cache sets.
    pub(crate) const fn stride(bytes: usize) -> usize {
        64 * (bytes.div_ceil(64) | 1)
    }

    /// Adds an instruction, of a loop at a level or thread by thread. `widths` are the bits of a lane of each place, 1 for
    /// predicates.
    ///
    /// # Panics
    ///
    /// If the numbers of offsets and widths differ, an operand is misaligned, or the loop has other operands or
    /// parameters.
    pub(crate) fn push(&mut self, step: Step, loops: &[Run], level: Level, widths: &[u8], thread: Thread) {
        let Step { at, guard, params } = step;
        let (guard_at, complemented) = guard.unwrap_or_else(|always| (always, false));
        assert!(at.len() == widths.len(), "an offset for each place");
        self.count(&at, widths);
        self.count(&[guard_at], &[1]);
        let run = at_level(loops, level);
        let collective = thread.is_collective();
        let flip = if complemented { u32::MAX } else { 0 };
        // A collective loop needs to know which lanes are active.
        let wide = run.filter(|_| guard.is_err() && !collective);
        match run {
            Some(run) => {
                assert!((at.len(), params.len()) == (run.places, run.words), "a step of the loop");
                let step = self.append((guard_at, flip), &at, &params, wide);
                // SAFETY: the step has the parameters of the loop, and the machine the level's features.
                unsafe { (*step.cast::<Head>()).run = (run.of_warp)(step) };
            }
            None => {
                let thread = Arc::new(thread);
                let step = self.append((guard_at, flip), &at, &[], wide);
                // SAFETY: a step without parameters is one line, which has room for the pointer behind all places.
                unsafe {
                    (*step.cast::<Head>()).run = by_thread;
                    step.byte_add(Head::THREAD).cast::<*const Thread>().write(Arc::as_ptr(&thread));
                }
                self.threads.push(thread);
            }
        }
    }

    /// Adds a conversion between registers, given by their offsets.
    ///
    /// # Panics
    ///
    /// If an offset is misaligned, or no conversion exists between these widths.
    pub(crate) fn convert(&mut self, to: u32, from: u32, convert: Convert, guard: Result<(u32, bool), u32>) {
        let (guard_at, complemented) = guard.unwrap_or_else(|always| (always, false));
        self.count(&[to, from, guard_at], &[convert.to, convert.from, 1]);
        let flip = if complemented { u32::MAX } else { 0 };
        let step = self.append((guard_at, flip), &[to, from], &[convert.shift()], None);
        // SAFETY: the step has the operands and parameters of a conversion.
        unsafe { (*step.cast::<Head>()).run = convert.code() };
    }

    /// Counts the bytes that a step needs of a warp's registers.
    fn count(&mut self, at: &[u32], widths: &[u8]) {
        for (at, bits) in at.iter().zip(widths) {
            // Registers of 16 bits hold bytes.
            let (at, size) = (*at as usize, if *bits == 1 { 4 } else { usize::from(*bits.max(&16)) * WARP / 8 });
            assert!(at.is_multiple_of(size.min(64)), "registers are aligned");
            self.bytes = self.bytes.max(at + size);
        }
    }

    /// Appends a step that does nothing yet, and returns its first byte.
    fn append(&mut self, guard: (u32, u32), at: &[u32], params: &[u32], wide: Option<Run>) -> *mut u8 {
        // The last step ends a run.
        self.lines.pop();
        let start = self.lines.len();
        self.starts.push(start as u32);
        self.wide.push(wide);
        add_lines(&mut self.lines, guard, at, params);
        add_lines(&mut self.lines, (0, 0), &[], &[]);
        self.lines[start..].as_mut_ptr().cast()
    }

    /// Runs some of the instructions over some of the warps of a block, whose registers are `stride` bytes apart.
    /// `whole` says that the registers of inactive lanes are never read, so that they may be written.
    ///
    /// # Panics
    ///
    /// If `steps` or `warps` is out of range, or the block belongs to another program.
    #[inline]
    pub(crate) fn run(&self, steps: Range<usize>, warps: Range<usize>, whole: bool, file: &mut File, stride: usize) {
        assert!(self.bytes <= stride && warps.end * stride <= file.bytes(), "a block of another program");
        assert!(steps.end <= self.len(), "there are fewer instructions");
        // SAFETY: the file has the warps.
        let first = unsafe { file.lines.as_mut_ptr().cast::<u8>().add(warps.start.min(warps.end) * stride) };
        match warps.len() {
            0 => {}
            // SAFETY: a warp of the file, with all that a step uses.
            1 => unsafe { self.over_warp(steps, first) },
            // SAFETY: as above, for each of them.
            count if count <= PIECE || steps.len() == 1 => unsafe {
                self.over_warps(steps, first, whole, count, stride);
            },
            count => (0..count).step_by(PIECE).for_each(|start| {
                let count = PIECE.min(count - start);
                // SAFETY: as above.
                unsafe { self.over_warps(steps.clone(), first.add(start * stride), whole, count, stride) };
            }),
        }
    }

    /// Loads or stores for some of the warps of a block, a mask for each; returns how many are done.
    ///
    /// # Panics
    ///
    /// If there are fewer warps.
    ///
    /// # Safety
    ///
    /// As [`Transfer::run`]; the registers of the transfer lie inside the stride.
    #[cfg(feature = "run")]
    pub(crate) unsafe fn transfer<const WRITE: bool>(
        (transfer, window): (&Transfer, &Window),
        level: Level,
        first: usize,
        masks: &[u32],
        file: &mut File,
        stride: usize,
    ) -> usize {
        assert!((first + masks.len()) * stride <= file.bytes(), "warps of the block");
        // SAFETY: the caller's promises; the file has the warps.
        unsafe {
            let registers = file.lines.as_mut_ptr().cast::<u8>().add(first * stride);
            transfer.run::<WRITE>(level, window, registers, stride, masks)
        }
    }

    /// Loads or stores for some of the warps of a block, whose addresses are regular.
    ///
    /// # Panics
    ///
    /// If there are fewer warps.
    ///
    /// # Safety
    ///
    /// As [`Transfer::run_regular`]; the registers of the transfer lie inside the stride.
    #[cfg(feature = "run")]
    pub(crate) unsafe fn transfer_regular<const WRITE: bool>(
        transfer: &Transfer,
        addresses: &Regular<'_>,
        level: Level,
        masks: &[u32],
        file: &mut File,
        stride: usize,
    ) {
        assert!(masks.len() * stride <= file.bytes(), "warps of the block");
        assert!(2 * masks.len() <= addresses.offsets.len(), "two offsets for each warp");
        // SAFETY: the caller's promises; the file has the warps.
        unsafe {
            let registers = file.lines.as_mut_ptr().cast::<u8>();
            transfer.run_regular::<WRITE>(level, addresses, registers, stride, masks);
        }
    }

    /// The function by which machine code runs a step over one warp.
    ///
    /// # Panics
    ///
    /// If there is no such step.
    #[cfg(feature = "jit")]
    pub(crate) fn callee(&self, step: usize) -> crate::jit::Callee {
        let lines = &self.lines[self.starts[step] as usize..];
        crate::jit::Callee { function: run_step, step: lines.as_ptr().cast() }
    }

    /// Runs machine code over all warps of a block.
    ///
    /// # Panics
    ///
    /// If there are fewer warps.
    ///
    /// # Safety
    ///
    /// As [`Trace::run`](crate::jit::Trace::run), for arguments; the registers that the code uses lie inside the stride.
    #[cfg(feature = "jit")]
    pub(crate) unsafe fn run_trace(
        trace: &crate::jit::Trace,
        arguments: &mut [u64],
        warps: usize,
        file: &mut File,
        stride: usize,
    ) {
        assert!(warps > 0 && warps * stride <= file.bytes(), "warps of the block");
        // SAFETY: the caller's promises; the file has the warps, aligned to lines.
        unsafe { trace.run(arguments, file.lines.as_mut_ptr().cast(), stride, warps) }
    }

    /// Runs some of the instructions over one warp.
    ///
    /// # Safety
    ///
    /// `registers` points to the registers of a warp of this program, and `steps` is in range.
    #[inline(always)]
    unsafe fn over_warp(&self, steps: Range<usize>, registers: *mut u8) {
        // Limits the stack depth in case the compiler does not turn the last call of a step into a jump.
        const TOGETHER: usize = 16;
        // SAFETY: where a step begins there is a head, and behind a step that is not the last is the next one. A level's code
        // is in a step only if the machine has its features. Every place that a loop uses was counted when the step was added,
        // so it lies inside the registers, aligned; loops read their sources before they write, so that it does not matter
        // which places are the same.
        unsafe {
            for some in self.starts[steps].chunks(TOGETHER) {
                Next::at(self.lines.as_ptr().add(some[0] as usize).cast()).run(registers, some.len());
            }
        }
    }

    /// Runs some of the instructions over several warps. An instruction runs over all warps at once if it has no guard,
    /// and all lanes are active or `whole` says that inactive lanes are never read.
    ///
    /// # Safety
    ///
    /// The registers of `count` warps of this program start at `first`, `stride` bytes apart, and `steps` is in range.
    unsafe fn over_warps(&self, steps: Range<usize>, first: *mut u8, whole: bool, count: usize, stride: usize) {
        // SAFETY: the caller's promises; the rest is as in `over_warp`.
        unsafe {
            let warps = || (0..count).map(|warp| first.add(warp * stride));
            let all = whole || warps().all(|registers| registers.cast::<u32>().read() == u32::MAX);
            let strides = [stride; Width::COUNT];
            for (start, wide) in self.starts[steps.clone()].iter().zip(&self.wide[steps]) {
                let step = self.lines.as_ptr().add(*start as usize).cast::<u8>();
                match wide {
                    Some(wide) if all => (wide.chunks)(first, core::ptr::null(), step, count, strides.as_ptr()),
                    _ => warps().for_each(|registers| Next::at(step).run(registers, 1)),
                }
            }
        }
    }
}

/// The code of a loop at a level; `None` where it runs thread by thread.
fn at_level(loops: &[Run], level: Level) -> Option<Run> {
    level.vectors().and_then(|index| loops.get(index)).copied()
}

/// Adds a step that does nothing, in whole lines: its guard and what that is xored with, and the words behind.
fn add_lines(lines: &mut Vec<Line>, (guard, flip): (u32, u32), at: &[u32], params: &[u32]) {
    let start = lines.len();
    lines.resize(start + Head::size(at.len(), params.len()) / size_of::<Line>(), Line(MaybeUninit::zeroed()));
    let step = lines[start..].as_mut_ptr().cast::<u8>();
    // SAFETY: the lines have room for the head and for the words that follow it.
    unsafe {
        step.cast::<Head>().write(Head { run: nothing, guard, flip });
        for (number, word) in at.iter().chain(params).enumerate() {
            step.add(Head::place(number)).cast::<u32>().write(*word);
        }
    }
}

/// Runs a step thread by thread over a warp, then the steps behind it.
///
/// # Safety
///
/// As a loop's code for a warp; the step has a [`Thread`].
unsafe fn by_thread(registers: *mut u8, step: *const u8, more: usize) {
    // SAFETY: the caller's promises; a step that runs thread by thread is one line.
    unsafe {
        let next = Next::at(step.add(size_of::<Line>()));
        one_by_thread(registers, step);
        next.run(registers, more);
    }
}

/// Runs one step thread by thread. It is separate from `by_thread`, whose last call becomes a jump only if its stack
/// frame is empty.
///
/// # Safety
///
/// As for [`by_thread`].
#[inline(never)]
unsafe fn one_by_thread(registers: *mut u8, step: *const u8) {
    let mut at = [core::ptr::null_mut(); PLACES];
    // SAFETY: the caller's promises.
    unsafe {
        let Head { guard, flip, .. } = step.cast::<Head>().read();
        let thread = &*step.add(Head::THREAD).cast::<*const Thread>().read();
        for (place, at) in at.iter_mut().enumerate().take(thread.places()) {
            *at = registers.add(step.add(Head::place(place)).cast::<u32>().read() as usize);
        }
        let mask = (registers.add(guard as usize).cast::<u32>().read() ^ flip) & registers.cast::<u32>().read();
        thread.run(&at, 0, mask);
    }
}

/// A loop that runs over slices.
#[derive(Clone)]
pub(super) struct Slices {
    run: Run,
    /// A step with the parameters alone.
    lines: Vec<Line>,
}

impl Slices {
    /// Returns the loop for a SIMD level, with `places` operands; `None` if the instruction runs thread by thread.
    ///
    /// # Panics
    ///
    /// If the loop has other operands or parameters.
    pub(super) fn new(loops: &[Run], level: Level, places: usize, params: &[u32]) -> Option<Slices> {
        let run = at_level(loops, level)?;
        assert!((places, params.len()) == (run.places, run.words), "a step of the loop");
        let mut lines = Vec::new();
        add_lines(&mut lines, (0, 0), &alloc::vec![0; places], params);
        Some(Slices { run, lines })
    }

    /// Runs the loop over `chunks` chunks of the operands, at least one.
    ///
    /// # Safety
    ///
    /// The module's promises, for `chunks` chunks at each place.
    #[inline(always)]
    pub(super) unsafe fn run(&self, at: &[*mut u8; PLACES], chunks: usize) {
        /// Lanes lie one behind the other.
        static STRIDES: [usize; Width::COUNT] = [4, 2 * WARP, 4 * WARP, 8 * WARP];
        // SAFETY: the caller's promise.
        unsafe {
            let step = self.lines.as_ptr().cast();
            (self.run.chunks)(core::ptr::null_mut(), at.as_ptr(), step, chunks, STRIDES.as_ptr());
        }
    }
}

impl core::fmt::Debug for Slices {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Slices")
    }
}
