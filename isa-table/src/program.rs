//! Programs over bits: the computation of a form for one thread, and the body of a loop over lanes.
//!
//! Forms that differ only in data share a [`Shape`], a program with parameters. The data of a form are constants, truth
//! tables, selectors and the operands that its sources refer to. Values of a program are 128-bit words: a predicate in
//! bit 0, packed lanes as in their register, lane predicates one bit each.
//!
//! A program is a list of values in order of computation, encoded as bytes (see [`Value`]); a value refers to earlier
//! ones by index.
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

/// Function that computes an operation, given by number; each argument is one lane or a whole value.
pub type Operation = fn(u16, &[u128]) -> u128;

/// Runs a step over one warp under a mask, and the steps after it. Arguments: registers, step, number of further steps.
pub type RunWarp = unsafe fn(*mut u8, *const u8, usize);

/// Code of a loop over lanes at one SIMD level. The contract of the arguments is private to the library's module
/// `lanes`.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Number of operands of a step.
    pub places: usize,
    /// Number of 32-bit words of its parameters.
    pub words: usize,
    /// Returns the function that runs a step over one warp; the step's selectors decide which.
    pub of_warp: unsafe fn(*const u8) -> RunWarp,
    /// Runs over chunks of 32 active lanes. Arguments: the registers of the first warp, or the address of each operand;
    /// the step; the number of chunks; for each operand width the stride in bytes between chunks.
    pub chunks: unsafe fn(*mut u8, *const *mut u8, *const u8, usize, *const usize),
}

contents! {
    /// A program shared by forms.
    Shape, ShapeBuf {
        /// The values: see [`Value`].
        code: &'static [u8],
        /// Indices of the values that are its results.
        outputs: &'static [u8],
        /// Parameters: the data in which the forms that share it differ.
        params: &'static [Param],
        /// Register width in bits of each output, then of each source; 1 for predicates.
        places: &'static [u8],
        /// How it runs over lanes.
        lanes: Lanes,
    }

    /// Evaluation of a form for a range of targets and a number of written sources.
    Evaluation, EvaluationBuf {
        /// Exclusive upper bound of the SM number; `u16::MAX` means no bound.
        below: u16,
        /// Number of source operands that are written.
        sources: u8,
        /// True if the next evaluation belongs to the same form.
        more: bool,
        /// Index of the shape in [`Programs::shapes`].
        shape: u32,
        /// Start in [`Programs::places`] of the operands that the sources of the shape refer to.
        places: u32,
        /// Start in [`Programs::data`] of the values of the shape's parameters.
        data: u32,
        /// Index in [`Programs::evaluations`] of the evaluation that computes which results are unspecified;
        /// [`NO_EVALUATION`](crate::table::NO_EVALUATION) if all are specified.
        unspecified: u32,
    }

    /// The programs of a table.
    Programs, ProgramsBuf {
        /// All programs.
        shapes: &'static [Shape],
        /// Evaluations; those of one form are consecutive.
        evaluations: &'static [Evaluation],
        /// Operands, as indices among the source operands of a form.
        places: &'static [u8],
        /// Constants; truth tables, with the outcome for leaves `i` in bit `i`; indices among the selectors of a form.
        data: &'static [u64],
    }
}

/// Kind of a shape's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// Constant of the given width, the same in each lane.
    Constant(u8),
    /// Truth table with the given number of leaves.
    Truth(u8),
    /// Lane selector: number of lanes picked, number of lanes to pick from.
    Pick(u8, u8),
    /// Lane mask with the given number of lanes.
    Subset(u8),
}

/// How a shape runs over the lanes of warps and slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes<Text = &'static str> {
    /// A loop over lanes, with this index.
    Loop(u32),
    /// Thread by thread, for this reason.
    None(Text),
    /// For whole warps, as the result of a lane depends on other lanes; the index of its loop, if it has one.
    Warp(Option<u32>),
}

impl Shape {
    /// Returns true if the result of a lane depends on other lanes of its warp.
    pub fn is_collective(&self) -> bool {
        matches!(self.lanes, Lanes::Warp(_))
    }
}

#[cfg(feature = "write")]
impl Content for Lanes {
    type Buf = Lanes<String>;

    fn write(buf: &Lanes<String>, out: &mut String) {
        out.push_str(&match buf {
            Lanes::Loop(index) => format!("Lanes::Loop({index})"),
            Lanes::None(why) => format!("Lanes::None({why:?})"),
            Lanes::Warp(index) => format!("Lanes::Warp({index:?})"),
        });
    }

    fn leak(buf: Lanes<String>) -> Lanes {
        match buf {
            Lanes::Loop(index) => Lanes::Loop(index),
            Lanes::None(why) => Lanes::None(why.leak()),
            Lanes::Warp(index) => Lanes::Warp(index),
        }
    }
}

plain! {
    Param = |param| format!("Param::{param:?}");
}

/// A value of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Source operand of the given width; higher bits are discarded.
    Source {
        /// Index among the sources.
        source: u8,
        /// Width in bits.
        bits: u8,
    },
    /// Packed selector, given by a parameter.
    Selector {
        /// Index of the parameter.
        param: u8,
    },
    /// Constant.
    Constant(u128),
    /// Value of a parameter, broadcast to all lanes.
    Splat {
        /// Index of the parameter.
        param: u8,
        /// Width of a lane.
        bits: u8,
        /// Number of lanes.
        lanes: u8,
    },
    /// Operation applied to each lane.
    Call {
        /// Number of the operation.
        operation: u16,
        /// Number of lanes of the result.
        lanes: u8,
        /// Width of a lane of the result.
        bits: u8,
        /// Indices of the arguments, each with the width of its lanes; 0 passes the whole value, [`ALL_THREADS`] the
        /// values of all lanes of the warp.
        args: &'a [(u8, u8)],
    },
    /// Bitwise select: the second argument where the first is true, else the third.
    Select {
        /// The condition, one bit for each lane, and both alternatives.
        args: [u8; 3],
        /// Number of lanes of the condition.
        lanes: u8,
        /// Width of the part of the alternatives that one bit of the condition selects.
        bits: u8,
    },
    /// Extracts one lane.
    Lane {
        /// Index of the value.
        of: u8,
        /// Index of the lane.
        lane: u8,
        /// Width of a lane.
        bits: u8,
    },
    /// Predicate broadcast to all lanes.
    Spread {
        /// Index of the predicate.
        of: u8,
        /// Number of lanes.
        lanes: u8,
    },
    /// Boolean function of predicates, applied to each lane.
    Truth {
        /// Truth table.
        table: Outcomes,
        /// Number of lanes.
        lanes: u8,
        /// Indices of the inputs, each with its complement flag; the first input is bit 0 of the table index.
        leaves: &'a [(u8, u8)],
    },
    /// Property of the executing thread within its warp.
    Own(Own),
}

/// What an operation computes from integers, modulo two to the power of the result's width: its result is linear in the
/// index of a thread where its arguments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linear {
    /// `a + b`.
    Sum,
    /// `a - b`.
    Difference,
    /// `!a`.
    Complement,
    /// `a * b`, linear where one of them is the same in all threads.
    Product,
    /// `a << b`, linear where `b` is the same in all threads.
    Shift,
    /// `a >> b`, linear where `b` is the same in all threads, no thread wraps, and none has a carry from what is shifted out.
    RightShift {
        /// Width of the arguments in bits.
        bits: u8,
        /// True if they are signed.
        signed: bool,
    },
    /// `a & b`, linear where one of them is the same in all threads, its bits follow each other, and no thread has a carry into them.
    Mask,
    /// `a | b`, linear where all bits of one are below those of the other, which the least and the greatest values tell.
    Union,
    /// `a`, truncated, zero- or sign-extended; where it is extended, linear if no thread has another multiple of two to the
    /// power of the narrower width.
    Extension {
        /// Width of the argument in bits.
        bits: u8,
        /// True if it is sign-extended.
        signed: bool,
    },
    /// The lesser one of `a` and `b`, linear where the least and the greatest values tell that it is the same one in all threads.
    Least {
        /// Width of the arguments in bits.
        bits: u8,
        /// True if they are signed.
        signed: bool,
    },
    /// The greater one of `a` and `b`, linear as for [`Linear::Least`].
    Greatest {
        /// Width of the arguments in bits.
        bits: u8,
        /// True if they are signed.
        signed: bool,
    },
    /// `a < b`, the same in all threads where that follows from the least and the greatest values.
    Less {
        /// Width of the arguments in bits.
        bits: u8,
        /// True if they are signed.
        signed: bool,
    },
    /// `a == b`, the same in all threads where that follows from the least and the greatest values.
    Equal {
        /// Width of the arguments in bits.
        bits: u8,
    },
}

impl Linear {
    /// All variants, of arguments whose width is not given yet: see [`Linear::of`].
    pub const ALL: [Linear; 13] = [
        Linear::Sum,
        Linear::Difference,
        Linear::Complement,
        Linear::Product,
        Linear::Shift,
        Linear::RightShift { bits: 0, signed: false },
        Linear::Mask,
        Linear::Union,
        Linear::Extension { bits: 0, signed: false },
        Linear::Least { bits: 0, signed: false },
        Linear::Greatest { bits: 0, signed: false },
        Linear::Less { bits: 0, signed: false },
        Linear::Equal { bits: 0 },
    ];

    /// Name in a spec.
    pub const fn name(self) -> &'static str {
        match self {
            Linear::Sum => "sum",
            Linear::Difference => "difference",
            Linear::Complement => "complement",
            Linear::Product => "product",
            Linear::Shift => "shift",
            Linear::RightShift { .. } => "right_shift",
            Linear::Mask => "mask",
            Linear::Union => "union",
            Linear::Extension { .. } => "extension",
            Linear::Least { .. } => "least",
            Linear::Greatest { .. } => "greatest",
            Linear::Less { .. } => "less",
            Linear::Equal { .. } => "equal",
        }
    }

    /// Returns the same operation on arguments of `bits` bits.
    #[must_use]
    pub const fn of(self, bits: u8, signed: bool) -> Linear {
        match self {
            Linear::Sum
            | Linear::Difference
            | Linear::Complement
            | Linear::Product
            | Linear::Shift
            | Linear::Mask
            | Linear::Union => self,
            Linear::RightShift { .. } => Linear::RightShift { bits, signed },
            Linear::Extension { .. } => Linear::Extension { bits, signed },
            Linear::Least { .. } => Linear::Least { bits, signed },
            Linear::Greatest { .. } => Linear::Greatest { bits, signed },
            Linear::Less { .. } => Linear::Less { bits, signed },
            Linear::Equal { .. } => Linear::Equal { bits },
        }
    }
}

/// Property of a thread within its warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    /// Lane index.
    Lane,
    /// Mask of active lanes.
    Active,
}

impl Own {
    /// All variants.
    pub const ALL: [Own; 2] = [Own::Lane, Own::Active];

    /// Name in a spec.
    pub const fn name(self) -> &'static str {
        match self {
            Own::Lane => "lane",
            Own::Active => "active",
        }
    }
}

/// Number of lanes in a warp.
pub const WARP: usize = 32;

/// Argument width that passes the value of every lane of the warp.
pub const ALL_THREADS: u8 = u8::MAX;

/// Truth table: bit `i` is the outcome for the inputs that encode `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcomes {
    /// Given by a parameter.
    Param(u8),
    /// Fixed.
    Fixed(u8),
}

impl<'a> Value<'a> {
    /// Appends the encoding of the value.
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

/// Decoder of the values of a program.
#[derive(Clone, Debug)]
pub struct Reader<'c> {
    code: &'c [u8],
    /// Argument pairs of the most recent value.
    pairs: [(u8, u8); ARGS],
}

impl<'c> Reader<'c> {
    /// Starts at the first value.
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

    /// Decodes the next value; `None` at the end.
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

/// Truncates a word to its low `bits` bits.
#[inline]
pub(crate) fn low(word: u128, bits: u8) -> u128 {
    match 128_u32.checked_sub(bits.into()) {
        Some(0) | None => word,
        Some(unused) => word << unused >> unused,
    }
}

/// Extracts one lane of a packed value.
fn lane(word: u128, lane: u8, bits: u8) -> u128 {
    low(word >> (u32::from(lane) * u32::from(bits)), bits)
}

/// Packs lanes into a word.
fn join(lanes: u8, bits: u8, of: impl Fn(u8) -> u128) -> u128 {
    (0..lanes).fold(0, |word, lane| word | low(of(lane), bits) << (u32::from(lane) * u32::from(bits)))
}

/// Inputs of a computation for one thread.
struct Inputs<'d, S, P, O> {
    data: &'d [u64],
    source: S,
    selector: P,
    operation: O,
}

impl<S: Fn(usize) -> u128, P: Fn(usize) -> u128, O: Fn(u16, &[u128]) -> u128> Inputs<'_, S, P, O> {
    /// Computes a value of one thread from earlier values and the thread's properties.
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

/// Computes the values of a program for one thread, in order. `data` holds the values of its parameters; `source` and
/// `selector` return the word of a source or selector.
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

/// Values of a program in every lane of a warp.
pub type WarpValues = [[u128; WARP]; VALUES];

/// Computes the values of a program for all lanes of a warp, as [`run`]; operations may take the values of other lanes.
/// `active` is the mask of active lanes; `source` returns the word of a source in a lane.
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
