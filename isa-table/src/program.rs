//! Programs on bits: what a form computes for one thread, and what a loop over lanes is made of.
//!
//! Forms that compute alike share a [`Shape`], a program with parameters. What tells them apart is data: constants, truth
//! tables, selectors, and which operands the sources are. The values of a program are words of 128 bits: a predicate in
//! bit 0, packed lanes as in their register, predicates of lanes a bit each.
//!
//! The program is a list of values in the order of computation, written as bytes (see [`Value`]); a value names earlier
//! ones by their number.
//!
//! ```
//! use isa_table::program::{self, Value};
//!
//! // 0 and 1 are sources of 32 bits, 2 is operation 7 of both.
//! let mut code = Vec::new();
//! for value in [
//!     Value::Source { source: 0, bits: 32 },
//!     Value::Source { source: 1, bits: 32 },
//!     Value::Call { operation: 7, lanes: 1, bits: 32, args: &[(0, 32), (1, 32)] },
//! ] {
//!     value.encode(&mut code);
//! }
//! let add = |operation: u16, args: &[u128]| {
//!     assert_eq!(operation, 7);
//!     args[0] + args[1]
//! };
//! let mut values = [0; isa_table::limits::VALUES];
//! program::run(&code, &[], |source| [2, 3][source], |_| 0, add, &mut values);
//! assert_eq!(values[2], 5);
//! ```

use alloc::vec::Vec;
#[cfg(feature = "write")]
use alloc::{format, string::String};

#[cfg(feature = "write")]
use crate::constant::Content;
use crate::constant::{contents, plain};
use crate::limits::{ARGS, VALUES};

/// A function of bits that programs name by its number; each argument is one lane, or a whole value.
pub type Operation = fn(u16, &[u128]) -> u128;

/// What runs a step over one warp, under masks, and those behind it: its registers, the step, how many more.
pub type RunWarp = unsafe fn(*mut u8, *const u8, usize);

/// The code of a loop over lanes at one SIMD level. What the arguments are is between the library's loops and those who
/// call them: see the library's module `lanes`.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// How many operands a step has.
    pub places: usize,
    /// How many words of 32 bits its parameters are.
    pub words: usize,
    /// What runs a step over one warp, and those behind it: what its selectors pick decides.
    pub of_warp: unsafe fn(*const u8) -> RunWarp,
    /// Over chunks of 32 lanes, all of them: the registers of the first warp, or where each operand is; the step, how many
    /// chunks, and for operands of each width how many bytes one chunk is behind the other.
    pub chunks: unsafe fn(*mut u8, *const *mut u8, *const u8, usize, *const usize),
}

contents! {
    /// A program that many forms may share.
    Shape, ShapeBuf {
        /// The values: see [`Value`].
        code: &'static [u8],
        /// The values that are its results.
        outputs: &'static [u8],
        /// What tells the forms apart that share it.
        params: &'static [Param],
        /// Bits of the register of each output, then of each source; 1 for predicates.
        places: &'static [u8],
        /// How it runs over lanes.
        lanes: Lanes,
    }

    /// How a form is evaluated on a range of targets with so many of its sources.
    Evaluation, EvaluationBuf {
        /// It is for SM numbers below this one; `u16::MAX` means all.
        below: u16,
        /// How many source operands are written.
        sources: u8,
        /// Whether the next evaluation is the same form's.
        more: bool,
        /// The shape, as an index of [`Programs::shapes`].
        shape: u32,
        /// Where in [`Programs::places`] the operands stand that the shape's sources are.
        places: u32,
        /// Where in [`Programs::data`] the words of the shape's parameters stand.
        data: u32,
        /// How it is found which results are left open, as an index of [`Programs::evaluations`];
        /// [`NO_EVALUATION`](crate::table::NO_EVALUATION) where none is.
        unspecified: u32,
    }

    /// The programs of a table.
    Programs, ProgramsBuf {
        /// Every program.
        shapes: &'static [Shape],
        /// Runs of evaluations.
        evaluations: &'static [Evaluation],
        /// Operands, as numbers among those of a form that are read.
        places: &'static [u8],
        /// Constants; truth tables, the outcome for leaves `i` in bit `i`; and numbers among the selectors of a form.
        data: &'static [u64],
    }
}

/// What is data of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// The same bits in each lane, of so many bits.
    Constant(u8),
    /// A truth table of so many leaves.
    Truth(u8),
    /// A selector of so many of so many lanes.
    Pick(u8, u8),
    /// A mask of so many lanes.
    Subset(u8),
}

/// How a shape runs over the lanes of warps and slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes<Text = &'static str> {
    /// By one loop, with this index.
    Loop(u32),
    /// Thread by thread, for this reason.
    None(Text),
    /// By whole warps: what a thread computes depends on others of its warp.
    Warp,
}

#[cfg(feature = "write")]
impl Content for Lanes {
    type Buf = Lanes<String>;

    fn write(buf: &Lanes<String>, out: &mut String) {
        out.push_str(&match buf {
            Lanes::Loop(index) => format!("Lanes::Loop({index})"),
            Lanes::None(why) => format!("Lanes::None({why:?})"),
            Lanes::Warp => "Lanes::Warp".into(),
        });
    }

    fn leak(buf: Lanes<String>) -> Lanes {
        match buf {
            Lanes::Loop(index) => Lanes::Loop(index),
            Lanes::None(why) => Lanes::None(why.leak()),
            Lanes::Warp => Lanes::Warp,
        }
    }
}

plain! {
    Param = |param| format!("Param::{param:?}");
}

/// A value of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A source of so many bits; what is above them is cut off.
    Source {
        /// Its number among the sources.
        source: u8,
        /// Its width.
        bits: u8,
    },
    /// A selector, packed: the parameter says which.
    Selector {
        /// The parameter.
        param: u8,
    },
    /// A word.
    Constant(u128),
    /// A parameter's bits in each lane.
    Splat {
        /// The parameter.
        param: u8,
        /// The width of a lane.
        bits: u8,
        /// How many there are.
        lanes: u8,
    },
    /// An operation, lane by lane.
    Call {
        /// Its number.
        operation: u16,
        /// How many lanes the result has.
        lanes: u8,
        /// The width of a lane of the result.
        bits: u8,
        /// Values with the width of their lanes; 0 for one that the operation gets whole, [`ALL_THREADS`] for one that it
        /// gets of every thread of the warp.
        args: &'a [(u8, u8)],
    },
    /// The second where the first is true, else the third.
    Select {
        /// The condition, a bit a lane; the others.
        args: [u8; 3],
        /// How many lanes the condition has.
        lanes: u8,
        /// The width of the part of the others that a lane of the condition decides.
        bits: u8,
    },
    /// One lane.
    Lane {
        /// The value.
        of: u8,
        /// Which lane.
        lane: u8,
        /// Its width.
        bits: u8,
    },
    /// A predicate for each lane.
    Spread {
        /// The predicate.
        of: u8,
        /// How many lanes.
        lanes: u8,
    },
    /// A function of predicates, lane by lane.
    Truth {
        /// The outcomes.
        table: Outcomes,
        /// How many lanes.
        lanes: u8,
        /// Values with whether each is complemented first; the first one is bit 0 of the outcome's number.
        leaves: &'a [(u8, u8)],
    },
    /// What a thread is in its warp.
    Own(Own),
}

/// What a thread is in its warp, of which a program may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    /// Its number.
    Lane,
    /// Which threads execute with it, a bit each.
    Active,
}

impl Own {
    /// Every one.
    pub const ALL: [Own; 2] = [Own::Lane, Own::Active];

    /// What specs call it.
    pub const fn name(self) -> &'static str {
        match self {
            Own::Lane => "lane",
            Own::Active => "active",
        }
    }
}

/// Threads of a warp.
pub const WARP: usize = 32;

/// In place of an argument's width: the operation gets the value of every thread of the warp.
pub const ALL_THREADS: u8 = u8::MAX;

/// The outcomes of a function of predicates: bit `i` is that for leaves which spell `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcomes {
    /// A parameter's.
    Param(u8),
    /// These.
    Fixed(u8),
}

impl<'a> Value<'a> {
    /// Appends the value.
    pub fn encode(&self, code: &mut Vec<u8>) {
        match *self {
            Value::Source { source, bits } => code.extend([0, source, bits]),
            Value::Selector { param } => code.extend([1, param]),
            Value::Constant(word) => {
                let bytes = word.to_le_bytes();
                let used = 16 - word.leading_zeros() as usize / 8;
                code.extend([2, used as u8]);
                code.extend(&bytes[..used]);
            }
            Value::Splat { param, bits, lanes } => code.extend([3, param, bits, lanes]),
            Value::Call { operation, lanes, bits, args } => {
                let [low, high] = operation.to_le_bytes();
                code.extend([4, low, high, lanes, bits, args.len() as u8]);
                args.iter().for_each(|&(arg, bits)| code.extend([arg, bits]));
            }
            Value::Select { args: [c, a, b], lanes, bits } => code.extend([5, c, a, b, lanes, bits]),
            Value::Lane { of, lane, bits } => code.extend([6, of, lane, bits]),
            Value::Spread { of, lanes } => code.extend([7, of, lanes]),
            Value::Truth { table, lanes, leaves } => {
                let (fixed, table) = match table {
                    Outcomes::Param(param) => (0, param),
                    Outcomes::Fixed(outcomes) => (1, outcomes),
                };
                code.extend([8, fixed, table, lanes, leaves.len() as u8]);
                leaves.iter().for_each(|&(leaf, complement)| code.extend([leaf, complement]));
            }
            Value::Own(own) => code.extend([9, own as u8]),
        }
    }
}

/// Reads the values of a program.
#[derive(Clone, Debug)]
pub struct Reader<'c> {
    code: &'c [u8],
    /// The pairs of the last value that had some.
    pairs: [(u8, u8); ARGS],
}

impl<'c> Reader<'c> {
    /// From the first value on.
    pub fn new(code: &'c [u8]) -> Reader<'c> {
        Reader { code, pairs: [(0, 0); ARGS] }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.code.split_first_chunk().expect("a whole value");
        self.code = rest;
        *taken
    }

    fn pairs(&mut self, count: u8) -> &[(u8, u8)] {
        for index in 0..usize::from(count) {
            let [first, second] = self.take();
            self.pairs[index] = (first, second);
        }
        &self.pairs[..usize::from(count)]
    }

    /// The next value, if there is one.
    #[allow(clippy::should_implement_trait, reason = "what it gives borrows from it")]
    pub fn next(&mut self) -> Option<Value<'_>> {
        if self.code.is_empty() {
            return None;
        }
        let [kind] = self.take();
        Some(match kind {
            0 => {
                let [source, bits] = self.take();
                Value::Source { source, bits }
            }
            1 => Value::Selector { param: self.take::<1>()[0] },
            2 => {
                let [used] = self.take();
                let mut bytes = [0; 16];
                let (word, rest) = self.code.split_at(usize::from(used));
                bytes[..word.len()].copy_from_slice(word);
                self.code = rest;
                Value::Constant(u128::from_le_bytes(bytes))
            }
            3 => {
                let [param, bits, lanes] = self.take();
                Value::Splat { param, bits, lanes }
            }
            4 => {
                let [low, high, lanes, bits, count] = self.take();
                let operation = u16::from_le_bytes([low, high]);
                Value::Call { operation, lanes, bits, args: self.pairs(count) }
            }
            5 => {
                let [c, a, b, lanes, bits] = self.take();
                Value::Select { args: [c, a, b], lanes, bits }
            }
            6 => {
                let [of, lane, bits] = self.take();
                Value::Lane { of, lane, bits }
            }
            7 => {
                let [of, lanes] = self.take();
                Value::Spread { of, lanes }
            }
            9 => Value::Own(Own::ALL[usize::from(self.take::<1>()[0])]),
            _ => {
                let [fixed, table, lanes, count] = self.take();
                let table = if fixed == 0 { Outcomes::Param(table) } else { Outcomes::Fixed(table) };
                Value::Truth { table, lanes, leaves: self.pairs(count) }
            }
        })
    }
}

/// The lowest bits, so many.
fn low(word: u128, bits: u8) -> u128 {
    match 128_u32.checked_sub(bits.into()) {
        Some(0) | None => word,
        Some(unused) => word << unused >> unused,
    }
}

/// One lane of a packed value.
fn lane(word: u128, lane: u8, bits: u8) -> u128 {
    low(word >> (u32::from(lane) * u32::from(bits)), bits)
}

/// Joins lanes.
fn join(lanes: u8, bits: u8, of: impl Fn(u8) -> u128) -> u128 {
    (0..lanes).fold(0, |word, lane| word | low(of(lane), bits) << (u32::from(lane) * u32::from(bits)))
}

/// What a thread's values are computed from.
struct Inputs<'d, S, P, O> {
    data: &'d [u64],
    source: S,
    selector: P,
    operation: O,
}

impl<S: Fn(usize) -> u128, P: Fn(usize) -> u128, O: Fn(u16, &[u128]) -> u128> Inputs<'_, S, P, O> {
    /// A value of one thread, from earlier ones and what the thread is in its warp.
    #[inline(always)]
    fn compute(&self, value: &Value<'_>, of: impl Fn(u8) -> u128, own: impl Fn(Own) -> u128) -> u128 {
        let param = |number: u8| self.data[usize::from(number)];
        match *value {
            Value::Source { source: number, bits } => low((self.source)(number.into()), bits),
            Value::Selector { param: number } => (self.selector)(param(number) as usize),
            Value::Constant(word) => word,
            Value::Splat { param: number, bits, lanes } => join(lanes, bits, |_| param(number).into()),
            Value::Call { operation: number, lanes, bits, args } => join(lanes, bits, |index| {
                let mut words = [0; ARGS];
                for (word, (arg, bits)) in words.iter_mut().zip(args) {
                    *word = if *bits == 0 { of(*arg) } else { lane(of(*arg), index, *bits) };
                }
                (self.operation)(number, &words[..args.len()])
            }),
            Value::Select { args: [condition, a, b], lanes, bits } => join(lanes, bits, |index| {
                let chosen = if of(condition) >> index & 1 != 0 { a } else { b };
                lane(of(chosen), index, bits)
            }),
            Value::Lane { of: number, lane: index, bits } => lane(of(number), index, bits),
            Value::Spread { of: number, lanes } => join(lanes, 1, |_| of(number)),
            Value::Truth { table, lanes, leaves } => {
                let outcomes = match table {
                    Outcomes::Param(number) => param(number),
                    Outcomes::Fixed(outcomes) => outcomes.into(),
                };
                join(lanes, 1, |index| {
                    let spelt = leaves.iter().rev().fold(0, |spelt, (leaf, complement)| {
                        spelt << 1 | (of(*leaf) >> index & 1) as u32 ^ u32::from(*complement)
                    });
                    u128::from(outcomes >> spelt & 1)
                })
            }
            Value::Own(what) => own(what),
        }
    }
}

/// Computes the values of a program for one thread, the first one first. `data` are the words of its parameters, `source`
/// gives the word of a source, `selector` that of a selector.
pub fn run(
    code: &[u8],
    data: &[u64],
    source: impl Fn(usize) -> u128,
    selector: impl Fn(usize) -> u128,
    operation: impl Fn(u16, &[u128]) -> u128,
    values: &mut [u128; VALUES],
) {
    let inputs = Inputs { data, source, selector, operation };
    let mut reader = Reader::new(code);
    let mut index = 0;
    while let Some(value) = reader.next() {
        values[index] = inputs.compute(&value, |number| values[usize::from(number)], |_| 0);
        index += 1;
    }
}

/// The values of a program in every thread of a warp.
pub type WarpValues = [[u128; WARP]; VALUES];

/// Computes the values of a program for the threads of a warp, of which `active` has a bit for each that executes: as
/// [`run`], and the program may ask for values of other threads. `source` gives the word of a source in a thread.
pub fn run_warp(
    code: &[u8],
    data: &[u64],
    active: u32,
    source: impl Fn(usize, usize) -> u128,
    selector: impl Fn(usize) -> u128,
    operation: impl Fn(u16, &[u128]) -> u128,
    values: &mut WarpValues,
) {
    let mut reader = Reader::new(code);
    let mut index = 0;
    while let Some(value) = reader.next() {
        for thread in 0..WARP {
            values[index][thread] = match value {
                Value::Call { operation: number, args, .. } if args.iter().any(|(_, bits)| *bits == ALL_THREADS) => {
                    let mut words = [0; WARP + ARGS];
                    let mut count = 0;
                    for (arg, bits) in args {
                        let all = &values[usize::from(*arg)];
                        let taken = if *bits == ALL_THREADS { &all[..] } else { &all[thread..=thread] };
                        words[count..][..taken.len()].copy_from_slice(taken);
                        count += taken.len();
                    }
                    operation(number, &words[..count])
                }
                _ => {
                    let source = |number| source(number, thread);
                    let own = |own| match own {
                        Own::Lane => thread as u128,
                        Own::Active => active.into(),
                    };
                    let inputs = Inputs { data, source, selector: &selector, operation: &operation };
                    inputs.compute(&value, |number| values[usize::from(number)][thread], own)
                }
            };
        }
        index += 1;
    }
}
