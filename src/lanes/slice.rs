//! Slices, and an instruction that runs over them.

use alloc::vec::Vec;
use core::marker::PhantomData;

use isa_table::limits::PLACES;

use super::step::Slices;
use super::thread::Thread;
use super::{BIT, Level, Run, WARP};

/// A source of a slice evaluator: lanes of a width, or predicates packed as bits, 32 to a word.
#[derive(Clone, Copy, Debug)]
pub enum Slice<'a> {
    /// Lanes of 16 bits.
    B16(&'a [u16]),
    /// Lanes of 32 bits.
    B32(&'a [u32]),
    /// Lanes of 64 bits.
    B64(&'a [u64]),
    /// Predicates.
    Mask(&'a [u32]),
}

/// A destination of a slice evaluator.
#[derive(Debug)]
pub enum SliceMut<'a> {
    /// Lanes of 16 bits.
    B16(&'a mut [u16]),
    /// Lanes of 32 bits.
    B32(&'a mut [u32]),
    /// Lanes of 64 bits.
    B64(&'a mut [u64]),
    /// Predicates.
    Mask(&'a mut [u32]),
    /// The destination is not wanted.
    Sink,
}

/// Location of an operand's words, their count, and the bits per lane.
#[derive(Clone, Copy)]
struct Extent {
    bits: u8,
    at: *mut u8,
    words: usize,
}

impl Slice<'_> {
    fn extent(&self) -> Extent {
        let (bits, at, words) = match self {
            Slice::B16(x) => (16, x.as_ptr().cast::<u8>(), x.len()),
            Slice::B32(x) => (32, x.as_ptr().cast(), x.len()),
            Slice::B64(x) => (64, x.as_ptr().cast(), x.len()),
            Slice::Mask(x) => (1, x.as_ptr().cast(), x.len()),
        };
        Extent { bits, at: at.cast_mut(), words }
    }
}

impl SliceMut<'_> {
    fn extent(self) -> Option<Extent> {
        let (bits, at, words) = match self {
            SliceMut::B16(x) => (16, x.as_mut_ptr().cast::<u8>(), x.len()),
            SliceMut::B32(x) => (32, x.as_mut_ptr().cast(), x.len()),
            SliceMut::B64(x) => (64, x.as_mut_ptr().cast(), x.len()),
            SliceMut::Mask(x) => (1, x.as_mut_ptr().cast(), x.len()),
            SliceMut::Sink => return None,
        };
        Some(Extent { bits, at, words })
    }
}

/// An instruction that runs over slices.
#[derive(Clone, Debug)]
pub(crate) struct SliceCode {
    /// Its loop; `None` where it runs thread by thread.
    step: Option<Slices>,
    thread: Thread,
    /// Bits of a lane of each destination, then of each source of the loop; 1 for predicates.
    widths: &'static [u8],
    destinations: usize,
    /// For each source of the loop, which of the sources in order of writing it is.
    sources: Vec<u8>,
    /// Number of sources in order of writing.
    written: usize,
}

/// An instruction with the slices it runs over: they were looked at, and nothing is any more.
#[derive(Debug)]
pub(crate) struct Bound<'a> {
    /// The loop, where all there is to do is to run it over whole chunks.
    plain: Option<&'a Slices>,
    /// Whole chunks, and the lanes behind the last of them.
    chunks: usize,
    rest: usize,
    at: [*mut u8; PLACES],
    code: &'a SliceCode,
    /// The destinations that are not wanted, a bit each.
    sinks: u32,
    slices: PhantomData<&'a mut [u64]>,
}

/// Number of chunks in the buffer of an unused destination; further chunks overwrite it.
const SINK_CHUNKS: usize = 16;

/// Buffer for a destination whose result is discarded.
#[repr(C, align(64))]
struct Sink([[u64; WARP]; SINK_CHUNKS]);

/// A warp that the lanes behind the last whole chunk are copied to.
#[repr(C, align(64))]
struct Scratch([[u64; WARP]; PLACES]);

/// Size of `lanes` lanes in bytes; predicates are packed into words of 32 lanes.
fn bytes(bits: u8, lanes: usize) -> usize {
    if bits == 1 { 4 * lanes.div_ceil(WARP) } else { usize::from(bits) / 8 * lanes }
}

impl SliceCode {
    /// `sources` tells for each source of the loop which of the `written` sources it is.
    pub(crate) fn new(
        (loops, level): (&[Run], Level),
        params: &[u32],
        thread: Thread,
        widths: &'static [u8],
        sources: &[u8],
        written: usize,
    ) -> SliceCode {
        assert!(sources.iter().all(|source| usize::from(*source) < written), "sources of the loop are operands");
        let destinations = widths.len() - sources.len();
        let step = Slices::new(loops, level, widths.len(), params);
        SliceCode { step, thread, widths, destinations, sources: sources.to_vec(), written }
    }

    /// Looks at the slices of `lanes` lanes. `sources` are in order of writing.
    ///
    /// # Panics
    ///
    /// If a slice is missing, has another width than its operand, or fewer lanes.
    pub(crate) fn bind<'a>(
        &'a self,
        lanes: usize,
        destinations: impl IntoIterator<Item = SliceMut<'a>>,
        sources: &[Slice<'a>],
    ) -> Bound<'a> {
        assert!(sources.len() == self.written, "there are {} sources, not {}", self.written, sources.len());
        let mut at = [core::ptr::null_mut(); PLACES];
        let mut sinks = 0;
        let mut given = destinations.into_iter();
        for (place, bits) in self.widths[..self.destinations].iter().enumerate() {
            match given.next().and_then(SliceMut::extent) {
                Some(slice) => at[place] = fitting(slice, *bits, lanes),
                None => sinks |= 1 << place,
            }
        }
        assert!(given.all(|more| matches!(more, SliceMut::Sink)), "there are {} destinations", self.destinations);
        let (_, places) = at.split_at_mut(self.destinations);
        for ((place, bits), source) in places.iter_mut().zip(&self.widths[self.destinations..]).zip(&self.sources) {
            *place = fitting(sources[usize::from(*source)].extent(), *bits, lanes);
        }
        let (chunks, rest) = (lanes / WARP, lanes % WARP);
        let plain = self.step.as_ref().filter(|_| sinks == 0 && chunks > 0 && rest == 0);
        Bound { plain, chunks, rest, at, code: self, sinks, slices: PhantomData }
    }
}

/// Returns the address of a slice.
///
/// # Panics
///
/// If its lanes do not have the width `bits`, or it has fewer than `lanes` lanes.
fn fitting(slice: Extent, bits: u8, lanes: usize) -> *mut u8 {
    const NAMES: [(u8, &str); 4] =
        [(1, "predicates"), (16, "lanes of 16 bits"), (32, "lanes of 32 bits"), (64, "lanes of 64 bits")];
    let name = |bits: u8| NAMES.iter().find(|(own, _)| *own == bits).map_or("nothing", |(_, name)| name);
    assert!(slice.bits == bits, "a slice has {}, its operand {}", name(slice.bits), name(bits));
    let words = if bits == 1 { lanes.div_ceil(WARP) } else { lanes };
    assert!(slice.words >= words, "a slice of {} words is too short for {lanes} lanes", slice.words);
    slice.at
}

impl Bound<'_> {
    /// Runs the instruction.
    #[inline]
    pub(crate) fn run(&mut self) {
        match self.plain {
            // SAFETY: see `chunks`.
            Some(step) => unsafe { step.run(&self.at, self.chunks) },
            None => self.run_parts(),
        }
    }

    /// Runs the instruction where there is more to do than to run a loop.
    #[inline(never)]
    fn run_parts(&mut self) {
        let Bound { chunks, rest, .. } = *self;
        if self.sinks == 0 && chunks > 0 {
            // SAFETY: see `chunks`; nothing is a sink.
            unsafe { self.chunks(&self.at, chunks) };
        } else if chunks > 0 {
            self.with_sinks(chunks);
        }
        if rest > 0 {
            self.tail(chunks, rest);
        }
    }

    /// Runs whole chunks.
    ///
    /// # Safety
    ///
    /// `at` has a pointer to at least `chunks` chunks for each place, including each destination that is a sink.
    #[inline]
    unsafe fn chunks(&self, at: &[*mut u8; PLACES], chunks: usize) {
        let code = self.code;
        // SAFETY: every place was given a slice with lanes enough of its width when it was bound, or by the caller. The
        // borrows of destinations and sources are disjoint and live as long as this value. A level's code is there only if
        // the machine has its features.
        unsafe {
            match &code.step {
                Some(step) => step.run(at, chunks),
                None => (0..chunks).for_each(|chunk| code.thread.run(at, chunk, u32::MAX)),
            }
        }
    }

    /// Runs whole chunks where some destinations are not wanted.
    #[inline(never)]
    fn with_sinks(&self, chunks: usize) {
        let mut sinks = [const { Sink([[0; WARP]; SINK_CHUNKS]) }; isa_table::limits::OUTPUTS];
        let first = (&raw mut sinks).cast::<u8>();
        let mut done = 0;
        while done < chunks {
            let next = (chunks - done).min(SINK_CHUNKS);
            let mut at = self.at;
            for (place, (at, bits)) in at.iter_mut().zip(self.code.widths).enumerate() {
                *at = match self.sinks >> place & 1 != 0 {
                    true => first.wrapping_add(place * size_of::<Sink>()),
                    false => at.wrapping_add(bytes(*bits, done * WARP)),
                };
            }
            // SAFETY: each slice has at least `next` chunks left, and the sinks have room for them.
            unsafe { self.chunks(&at, next) };
            done += next;
        }
    }

    /// Runs the lanes behind the last whole chunk.
    #[inline(never)]
    fn tail(&self, chunks: usize, rest: usize) {
        let mut scratch = Scratch([[0; WARP]; PLACES]);
        let base = (&raw mut scratch).cast::<u8>();
        let mut at = [core::ptr::null_mut(); PLACES];
        for (place, at) in at.iter_mut().enumerate() {
            *at = base.wrapping_add(place * size_of::<[u64; WARP]>());
        }
        // The lanes behind the last whole chunk: their first byte, and how many bytes they have.
        let slices = self.at.iter().zip(self.code.widths).enumerate();
        let slices = slices.filter(|(place, _)| self.sinks >> place & 1 == 0);
        let slices = slices.map(|(place, (at, bits))| (place, at.wrapping_add(bytes(*bits, chunks * WARP)), *bits));
        for (place, slice, bits) in slices.clone() {
            // SAFETY: the place has `rest` lanes behind its whole chunks, or a word of them; its part of the scratch has
            // 256 bytes.
            unsafe { core::ptr::copy_nonoverlapping(slice, at[place], bytes(bits, rest)) };
        }
        // SAFETY: all operands are in the scratch, with a chunk each.
        unsafe { self.chunks(&at, 1) };
        for (place, slice, bits) in slices.take_while(|(place, ..)| *place < self.code.destinations) {
            // SAFETY: as when they were copied in; destinations may be written.
            unsafe {
                if bits == 1 {
                    // Bits behind the lanes keep their value.
                    let (word, new) = (slice.cast::<u32>(), *at[place].cast::<u32>());
                    *word = (*word ^ new) & (BIT[rest] - 1) ^ *word;
                } else {
                    core::ptr::copy_nonoverlapping(at[place], slice, bytes(bits, rest));
                }
            }
        }
    }
}
