//! Evaluators over slices of any length and alignment; predicates are packed as bits, 32 to a word.
//!
//! ```
//! use ptx_isa::slice::{Evaluator, Slice, SliceMut};
//!
//! let form = ptx_isa::TABLE.form("set.lt.u32.f32").unwrap();
//! let evaluator = Evaluator::new(form, 90).unwrap();
//! let (a, b) = ([1.0_f32, 2.0, f32::NAN].map(f32::to_bits), [2.0_f32; 3].map(f32::to_bits));
//! let mut d = [7; 3];
//! evaluator.run(3, [SliceMut::B32(&mut d)], &[Slice::B32(&a), Slice::B32(&b)]);
//! assert_eq!(d, [u32::MAX, 0, 0]);
//! ```

use alloc::vec::Vec;

use crate::lanes::thread::Thread;
use crate::lanes::{Bound, SliceCode, words};
pub use crate::lanes::{Level, Slice, SliceMut};
use crate::table::FormInfo;
use crate::warp::{DecodeError, Decoded, complement};

/// A form's evaluator over slices, resolved to a function of one SIMD level.
#[derive(Clone, Debug)]
pub struct Evaluator {
    code: SliceCode,
}

/// An evaluator with the slices it runs over, which were looked at once: a call has no checks to make.
#[derive(Debug)]
pub struct Call<'a> {
    bound: Bound<'a>,
}

impl Call<'_> {
    /// Evaluates.
    #[inline]
    pub fn run(&mut self) {
        self.bound.run();
    }
}

impl Evaluator {
    /// The evaluator of a form on a target, at the machine's best level, with its default selectors.
    ///
    /// # Errors
    ///
    /// If the form has no evaluator over lanes.
    pub fn new(form: FormInfo, sm: u16) -> Result<Evaluator, DecodeError> {
        Evaluator::with(form, sm, Level::best(), &[], 0)
    }

    /// The evaluator at a level, with selectors packed as [`selector::Kind`](crate::selector::Kind) says (none for
    /// the defaults), and with `!` before the sources whose bits are set.
    ///
    /// # Errors
    ///
    /// If the form has no evaluator over lanes or has other selectors, or `!` is applied to a source that is not a
    /// predicate.
    pub fn with(
        form: FormInfo,
        sm: u16,
        level: Level,
        selectors: &[u32],
        complemented: u32,
    ) -> Result<Evaluator, DecodeError> {
        let written = form.sources().count();
        if form.is_collective() {
            let why = "what a thread computes depends on others of its warp";
            return Err(DecodeError::NoLanes { form: form.mnemonic(), why });
        }
        let Decoded { evaluator, mut data, loops } = Decoded::new(form, sm, written, selectors)?;
        let shape = evaluator.shape();
        let widths = &shape.places[shape.outputs.len()..];
        for (index, operand) in evaluator.sources().iter().enumerate() {
            if complemented >> operand & 1 != 0 {
                if widths[index] != 1 {
                    return Err(DecodeError::Not(form.mnemonic()));
                }
                complement(shape, &mut data, index);
            }
        }
        let mut params = Vec::new();
        shape.params.iter().zip(&data).for_each(|(param, datum)| words(*param, *datum, &mut params));
        let thread = Thread::new(shape, form.table().operation, data);
        let code = SliceCode::new((loops, level), &params, thread, shape.places, evaluator.sources(), written);
        Ok(Evaluator { code })
    }

    /// The evaluator over the first `lanes` lanes of slices, to be called again and again. `sources` are in order of
    /// writing; a destination that is not wanted is [`SliceMut::Sink`], or left out at the end. In the last word of
    /// predicates, bits behind the lanes keep their value.
    ///
    /// # Panics
    ///
    /// If there are too few sources, or a slice is too short or of another width than its operand.
    pub fn bind<'a>(
        &'a self,
        lanes: usize,
        destinations: impl IntoIterator<Item = SliceMut<'a>>,
        sources: &[Slice<'a>],
    ) -> Call<'a> {
        Call { bound: self.code.bind(lanes, destinations, sources) }
    }

    /// Evaluates the first `lanes` lanes of slices once: see [`Evaluator::bind`].
    ///
    /// # Panics
    ///
    /// As [`Evaluator::bind`].
    #[inline]
    pub fn run<'a>(
        &'a self,
        lanes: usize,
        destinations: impl IntoIterator<Item = SliceMut<'a>>,
        sources: &[Slice<'a>],
    ) {
        self.bind(lanes, destinations, sources).run();
    }

    /// As [`Evaluator::run`], split over rayon's threads where the slices are long.
    ///
    /// # Panics
    ///
    /// As [`Evaluator::run`].
    #[cfg(feature = "rayon")]
    pub fn run_parallel<'a>(
        &'a self,
        lanes: usize,
        destinations: impl IntoIterator<Item = SliceMut<'a>>,
        sources: &[Slice<'a>],
    ) {
        /// Lanes that one thread does without being worth a split: a few times what fits a core's second cache.
        const ALONE: usize = 1 << 18;
        if lanes <= ALONE {
            return self.run(lanes, destinations, sources);
        }
        let middle = (lanes / 2).next_multiple_of(32);
        let halves = destinations.into_iter().map(|destination| destination.split_at(middle));
        let (first, second): (Vec<_>, Vec<_>) = halves.unzip();
        let halves = sources.iter().map(|source| source.split_at(middle));
        let (lower, upper): (Vec<_>, Vec<_>) = halves.unzip();
        rayon::join(|| self.run_parallel(middle, first, &lower), || self.run_parallel(lanes - middle, second, &upper));
    }
}

#[cfg(feature = "rayon")]
impl<'a> Slice<'a> {
    /// The lanes before and from a multiple of 32 on.
    fn split_at(self, lane: usize) -> (Slice<'a>, Slice<'a>) {
        match self {
            Slice::B16(x) => halves(x.split_at(lane), Slice::B16),
            Slice::B32(x) => halves(x.split_at(lane), Slice::B32),
            Slice::B64(x) => halves(x.split_at(lane), Slice::B64),
            Slice::Mask(x) => halves(x.split_at(lane / 32), Slice::Mask),
        }
    }
}

#[cfg(feature = "rayon")]
impl<'a> SliceMut<'a> {
    /// The lanes before and from a multiple of 32 on.
    fn split_at(self, lane: usize) -> (SliceMut<'a>, SliceMut<'a>) {
        match self {
            SliceMut::B16(x) => halves(x.split_at_mut(lane), SliceMut::B16),
            SliceMut::B32(x) => halves(x.split_at_mut(lane), SliceMut::B32),
            SliceMut::B64(x) => halves(x.split_at_mut(lane), SliceMut::B64),
            SliceMut::Mask(x) => halves(x.split_at_mut(lane / 32), SliceMut::Mask),
            SliceMut::Sink => (SliceMut::Sink, SliceMut::Sink),
        }
    }
}

#[cfg(feature = "rayon")]
fn halves<T, U>((lower, upper): (T, T), wrap: impl Fn(T) -> U) -> (U, U) {
    (wrap(lower), wrap(upper))
}
