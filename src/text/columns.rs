//! Evaluates a statement in any number of threads, at the speed of [`slice`](crate::slice).
//!
//! ```
//! use ptx_isa::text::Statement;
//! use ptx_isa::text::columns::{Column, evaluate};
//!
//! let statement = Statement::parse(&ptx_isa::TABLE, "mad.lo.u32 d, a, b, 1;").unwrap();
//! let outputs = evaluate(&statement, None, 3, |name, _| match &*name {
//!     "a" => Ok(Column::B32(vec![1, 2, 3])),
//!     _ => Ok(Column::Same(10)),
//! });
//! assert_eq!(outputs.unwrap().list[0].bits, Column::B32(vec![11, 21, 31]));
//! ```

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::evaluate::{Lanes, Operands, Problem, WARP, operands, sm};
use super::statement::Statement;
use crate::slice::{Evaluator, Level, Slice, SliceMut};
use crate::table::{FormInfo, TypeInfo};
use crate::target::Target;

/// A word of each of some threads, as wide as its type. A predicate has a byte, 0 or 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// The same in all threads.
    Same(u128),
    /// Words of 8 bits, or predicates.
    B8(Vec<u8>),
    /// Words of 16 bits.
    B16(Vec<u16>),
    /// Words of 32 bits.
    B32(Vec<u32>),
    /// Words of 64 bits.
    B64(Vec<u64>),
    /// Words of 128 bits.
    B128(Vec<u128>),
}

impl Column {
    /// Words cut to a width in bits.
    pub fn of(bits: u16, words: impl Iterator<Item = u128>) -> Column {
        match bits {
            ..=8 => Column::B8(words.map(|word| word as u8).collect()),
            9..=16 => Column::B16(words.map(|word| word as u16).collect()),
            17..=32 => Column::B32(words.map(|word| word as u32).collect()),
            33..=64 => Column::B64(words.map(|word| word as u64).collect()),
            _ => Column::B128(words.collect()),
        }
    }

    /// The number of threads; `None` where all have the same word.
    pub fn lanes(&self) -> Option<usize> {
        Some(match self {
            Column::Same(_) => return None,
            Column::B8(words) => words.len(),
            Column::B16(words) => words.len(),
            Column::B32(words) => words.len(),
            Column::B64(words) => words.len(),
            Column::B128(words) => words.len(),
        })
    }

    /// The word of a thread.
    ///
    /// # Panics
    ///
    /// If there is no such thread.
    pub fn get(&self, lane: usize) -> u128 {
        match self {
            Column::Same(word) => *word,
            Column::B8(words) => words[lane].into(),
            Column::B16(words) => words[lane].into(),
            Column::B32(words) => words[lane].into(),
            Column::B64(words) => words[lane].into(),
            Column::B128(words) => words[lane],
        }
    }

    /// Predicates as bits, those of 32 threads to a word.
    fn mask(&self, lanes: usize) -> Vec<u32> {
        let bit = |lane: usize| (self.get(lane) as u32 & 1) << (lane % WARP);
        let word = |start: usize| (start..lanes.min(start + WARP)).fold(0, |word, lane| word | bit(lane));
        (0..lanes).step_by(WARP).map(word).collect()
    }
}

/// The words of a column as they are, or others of the same width.
macro_rules! widened {
    ($column:expr, $lanes:expr, $own:ident, $ty:ty) => {
        match $column {
            Column::$own(words) => Cow::Borrowed(words.as_slice()),
            other => Cow::Owned((0..$lanes).map(|lane| other.get(lane) as $ty).collect()),
        }
    };
}

/// A source as slices have it.
enum Source<'c> {
    B16(Cow<'c, [u16]>),
    B32(Cow<'c, [u32]>),
    B64(Cow<'c, [u64]>),
    Mask(Vec<u32>),
}

impl Source<'_> {
    fn new(column: &Column, lanes: usize, bits: u8) -> Option<Source<'_>> {
        Some(match bits {
            1 => Source::Mask(column.mask(lanes)),
            16 => Source::B16(widened!(column, lanes, B16, u16)),
            32 => Source::B32(widened!(column, lanes, B32, u32)),
            64 => Source::B64(widened!(column, lanes, B64, u64)),
            _ => return None,
        })
    }

    fn slice(&self) -> Slice<'_> {
        match self {
            Source::B16(words) => Slice::B16(words),
            Source::B32(words) => Slice::B32(words),
            Source::B64(words) => Slice::B64(words),
            Source::Mask(words) => Slice::Mask(words),
        }
    }
}

/// A destination as slices have it.
enum Destination {
    B16(Vec<u16>),
    B32(Vec<u32>),
    B64(Vec<u64>),
    Mask(Vec<u32>),
}

impl Destination {
    fn new(lanes: usize, bits: u8) -> Option<Destination> {
        Some(match bits {
            1 => Destination::Mask(vec![0; lanes.div_ceil(WARP)]),
            16 => Destination::B16(vec![0; lanes]),
            32 => Destination::B32(vec![0; lanes]),
            64 => Destination::B64(vec![0; lanes]),
            _ => return None,
        })
    }

    fn slice(&mut self) -> SliceMut<'_> {
        match self {
            Destination::B16(words) => SliceMut::B16(words),
            Destination::B32(words) => SliceMut::B32(words),
            Destination::B64(words) => SliceMut::B64(words),
            Destination::Mask(words) => SliceMut::Mask(words),
        }
    }

    fn column(self, lanes: usize) -> Column {
        match self {
            Destination::B16(words) => Column::B16(words),
            Destination::B32(words) => Column::B32(words),
            Destination::B64(words) => Column::B64(words),
            Destination::Mask(words) => {
                Column::B8((0..lanes).map(|lane| (words[lane / WARP] >> (lane % WARP) & 1) as u8).collect())
            }
        }
    }
}

impl Lanes for Column {
    fn same(word: u128) -> Column {
        Column::Same(word)
    }

    fn map(self, change: impl Fn(u128) -> u128) -> Column {
        let Some(lanes) = self.lanes() else { return Column::Same(change(self.get(0))) };
        let bits = match &self {
            Column::B8(_) => 8,
            Column::B16(_) => 16,
            Column::B32(_) => 32,
            Column::B64(_) => 64,
            _ => 128,
        };
        Column::of(bits, (0..lanes).map(|lane| change(self.get(lane))))
    }
}

/// A destination and what it received.
#[derive(Clone, Debug)]
pub struct Output {
    /// The register, or the state of a thread.
    pub name: String,
    /// Values after the statement, also of threads whose guard is false.
    pub bits: Column,
    /// The type that the form gives it.
    pub ty: &'static TypeInfo,
    /// The threads in which any other value is as good, as the manual leaves it open; empty where that is so in none.
    pub unspecified: Vec<usize>,
}

/// Results of a statement; sinks are left out.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// Each destination, in the order of the form's results.
    pub list: Vec<Output>,
    /// The guard of each thread, where there is one; its threads write where it is true.
    pub guard: Option<Vec<bool>>,
}

/// Computes a statement in some threads; `input` gives the bits of a register by name, or says what is wrong with them. Where threads
/// depend on each other they are taken for warps, the last of which may lack some.
///
/// # Errors
///
/// All that keeps it from being computed.
pub fn evaluate<'a>(
    statement: &Statement<'a>,
    target: Option<Target>,
    lanes: usize,
    mut input: impl FnMut(Cow<'a, str>, &'static TypeInfo) -> Result<Column, String>,
) -> Result<Outputs, Vec<Problem>> {
    let counted = |name: Cow<'a, str>, ty| {
        let shown = name.clone();
        let column = input(name, ty)?;
        match column.lanes() {
            Some(own) if own != lanes => Err(alloc::format!("`{shown}` has {own} values, and others have {lanes}")),
            _ => Ok(column),
        }
    };
    let Operands { words, guard, destinations } = operands(statement, target, counted)?;
    let (form, sm) = (statement.form(), sm(target));
    let guard = guard.map(|(column, negated)| -> Vec<bool> {
        (0..lanes).map(|lane| (column.get(lane) & 1 != 0) != negated).collect()
    });
    let in_vectors = if form.is_collective() { None } else { in_vectors(form, sm, lanes, &words) };
    let columns = in_vectors.unwrap_or_else(|| in_warps(form, sm, lanes, &words, guard.as_deref()));
    let unspecified = unspecified(form, sm, lanes, &words, guard.as_deref(), columns.len());
    let results = columns.into_iter().zip(unspecified);
    let outputs = destinations.into_iter().zip(results).filter_map(|(destination, (bits, unspecified))| {
        let (name, ty) = destination?;
        Some(Output { name: name.into_owned(), bits, ty, unspecified })
    });
    Ok(Outputs { list: outputs.collect(), guard })
}

/// The results of evaluators over slices, if they have such operands.
fn in_vectors(form: FormInfo, sm: u16, lanes: usize, words: &[Column]) -> Option<Vec<Column>> {
    let written = form.sources().count();
    // Where something is left out, there is no loop for it.
    if words.len() != written + form.selectors().count() {
        return None;
    }
    let (sources, selectors) = words.split_at(written);
    let evaluator = form.evaluator(sm, written)?;
    let shape = evaluator.shape();
    let (results, places) = shape.places.split_at(shape.outputs.len());
    let selectors: Vec<u32> = selectors.iter().map(|selector| selector.get(0) as u32).collect();
    let run = Evaluator::with(form, sm, Level::best(), &selectors, 0).ok()?;
    // Sources that the program does not read may be anything.
    let mut widths = vec![32; sources.len()];
    places.iter().zip(evaluator.sources()).for_each(|(bits, source)| widths[usize::from(*source)] = *bits);
    let sources: Option<Vec<Source<'_>>> =
        sources.iter().zip(widths).map(|(column, bits)| Source::new(column, lanes, bits)).collect();
    let results: Option<Vec<Destination>> = results.iter().map(|bits| Destination::new(lanes, *bits)).collect();
    let (sources, mut results) = (sources?, results?);
    let slices: Vec<Slice<'_>> = sources.iter().map(Source::slice).collect();
    run.run(lanes, results.iter_mut().map(Destination::slice), &slices);
    Some(results.into_iter().map(|result| result.column(lanes)).collect())
}

/// The words of the threads of a warp, and which of them there are.
fn warp(words: &[Column], start: usize, lanes: usize, guard: Option<&[bool]>) -> (u32, Vec<[u128; WARP]>) {
    let there = lanes.min(start + WARP) - start;
    let executes = |lane: usize| guard.is_none_or(|guard| guard[start + lane]);
    let active = (0..there).filter(|lane| executes(*lane)).fold(0, |mask, lane| mask | 1 << lane);
    let word = |column: &Column, lane: usize| if lane < there { column.get(start + lane) } else { 0 };
    (active, words.iter().map(|column| core::array::from_fn(|lane| word(column, lane))).collect())
}

/// The results warp by warp.
fn in_warps(form: FormInfo, sm: u16, lanes: usize, words: &[Column], guard: Option<&[bool]>) -> Vec<Column> {
    let mut results: Vec<Vec<u128>> = Vec::new();
    for start in (0..lanes).step_by(WARP) {
        let (active, inputs) = warp(words, start, lanes, guard);
        let computed = form.evaluate_warp(sm, active, &inputs);
        results.resize(computed.len(), Vec::new());
        results.iter_mut().zip(&computed).for_each(|(all, own)| all.extend(&own[..WARP.min(lanes - start)]));
    }
    let types = form.results().map(|(_, ty)| form.table().ty(ty).bits);
    types
        .zip(results.into_iter().chain(core::iter::repeat(Vec::new())))
        .map(|(bits, words)| Column::of(bits, words.into_iter()))
        .collect()
}

/// For each result the threads in which the manual leaves it open.
fn unspecified(
    form: FormInfo,
    sm: u16,
    lanes: usize,
    words: &[Column],
    guard: Option<&[bool]>,
    results: usize,
) -> Vec<Vec<usize>> {
    let mut open = vec![Vec::new(); results];
    let selectors = form.selectors().count();
    let evaluator = form.evaluator(sm, words.len().saturating_sub(selectors));
    if evaluator.is_none_or(|evaluator| evaluator.unspecified().is_none()) {
        return open;
    }
    for start in (0..lanes).step_by(WARP) {
        let (active, inputs) = warp(words, start, lanes, guard);
        for (open, mask) in open.iter_mut().zip(form.unspecified_warp(sm, active, &inputs)) {
            open.extend((0..WARP).filter(|lane| mask >> lane & 1 != 0).map(|lane| start + lane));
        }
    }
    open
}
