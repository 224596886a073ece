//! Evaluators over slices of any length and alignment; predicates are packed as bits, 32 to a word.
//!
//! ```
//! use ptx_isa::slice::{Evaluator, Slice, SliceMut};
//!
//! let form = ptx_isa::TABLE.form("set.lt.u32.f32").unwrap();
//! let evaluator = Evaluator::new(form, 90).unwrap();
//! let (a, b) = ([1.0_f32, 2.0, f32::NAN].map(f32::to_bits), [2.0_f32; 3].map(f32::to_bits));
//! let mut d = [7; 3];
//! evaluator.run(3, [SliceMut::B32(&mut d), SliceMut::Sink], &[Slice::B32(&a), Slice::B32(&b)]);
//! assert_eq!(d, [u32::MAX, 0, 0]);
//! ```

use crate::simd::{Level, PLACES, SOURCES, SliceCode, UNREAD};
pub use crate::simd::{Slice, SliceMut};
use crate::table::FormInfo;
use crate::warp::{DecodeError, complement, prepare};

/// A form's evaluator over slices, resolved to a function of one SIMD level.
#[derive(Clone, Debug)]
pub struct Evaluator {
    code: SliceCode,
}

impl Evaluator {
    /// The evaluator of a form on a target, at the machine's best level, with its default selectors.
    ///
    /// # Errors
    ///
    /// If the form has no evaluator over lanes.
    pub fn new(form: &'static FormInfo, sm: u16) -> Result<Evaluator, DecodeError> {
        Evaluator::with(form, sm, Level::best(), &[], 0)
    }

    /// The evaluator at a level, with selectors packed as [`SelectorKind`](crate::table::SelectorKind) says (none for
    /// the defaults), and with `!` before the sources whose bits are set.
    ///
    /// # Errors
    ///
    /// If the form has no evaluator over lanes, other selectors, or a source with `!` that is no predicate.
    pub fn with(
        form: &'static FormInfo,
        sm: u16,
        level: Level,
        selectors: &[u32],
        complemented: u32,
    ) -> Result<Evaluator, DecodeError> {
        let name = form.mnemonic;
        let lanes = form.lane_evaluator(sm).ok_or(DecodeError::NoEvaluator(name))?;
        let mut op = prepare(form, lanes, level, selectors).ok_or(DecodeError::Count(name))?;
        let mut places = [UNREAD; PLACES - SOURCES];
        // A test of one source names it twice: the first place counts.
        for (index, operand) in lanes.sources.iter().enumerate().rev() {
            if form.operands.get(*operand as usize).is_none() {
                continue;
            }
            let source = form.operands[..*operand as usize].iter().filter(|o| !o.destination).count();
            *places.get_mut(source).ok_or(DecodeError::Count(name))? = (SOURCES + index) as u8;
            if complemented >> source & 1 != 0
                && (lanes.kernel.layout()[SOURCES + index] != 1 || !complement(&mut op, lanes.kernel, source, index))
            {
                return Err(DecodeError::Not(name));
            }
        }
        let sources = form.sources().count();
        if sources > places.len() {
            return Err(DecodeError::Count(name));
        }
        Ok(Evaluator { code: SliceCode::new(lanes.kernel, op, places, sources) })
    }

    /// Evaluates the first `lanes` lanes of slices. `sources` are in order of writing; a second destination that is
    /// not wanted is [`SliceMut::Sink`]. In the last word of predicates, bits behind the lanes keep their value.
    ///
    /// # Panics
    ///
    /// If there are too few sources, or a slice is too short or of another width than its operand.
    #[inline]
    pub fn run(&self, lanes: usize, destinations: [SliceMut<'_>; 2], sources: &[Slice<'_>]) {
        self.code.run(lanes, destinations, sources);
    }

    /// As [`Evaluator::run`], split over rayon's threads where the slices are long.
    ///
    /// # Panics
    ///
    /// As [`Evaluator::run`].
    #[cfg(feature = "rayon")]
    pub fn run_parallel(&self, lanes: usize, destinations: [SliceMut<'_>; 2], sources: &[Slice<'_>]) {
        /// Lanes that one thread does without being worth a split: a few times what fits a core's second cache.
        const ALONE: usize = 1 << 18;
        if lanes <= ALONE {
            return self.run(lanes, destinations, sources);
        }
        let middle = (lanes / 2).next_multiple_of(32);
        let [d, e] = destinations;
        let ((d1, d2), (e1, e2)) = (d.split_at(middle), e.split_at(middle));
        let halves: alloc::vec::Vec<_> = sources.iter().map(|source| source.split_at(middle)).collect();
        let (lower, upper): (alloc::vec::Vec<_>, alloc::vec::Vec<_>) = halves.into_iter().unzip();
        rayon::join(
            || self.run_parallel(middle, [d1, e1], &lower),
            || self.run_parallel(lanes - middle, [d2, e2], &upper),
        );
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
