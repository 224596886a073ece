//! Evaluation of a form: its program with the form's own data.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use super::FormInfo;
use crate::limits::{ARGS, OUTPUTS, VALUES};
use crate::program::{self, Evaluation, Lanes, Linear, Outcomes, Reader, Run, Shape, Value, WARP};

/// Evaluator of a form for a range of targets and a number of written sources.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator {
    pub(super) form: FormInfo,
    pub(super) evaluation: &'static Evaluation,
}

impl Evaluator {
    /// Returns the form.
    pub fn form(self) -> FormInfo {
        self.form
    }

    /// Returns the program, which other forms may share.
    pub fn shape(self) -> &'static Shape {
        &self.form.table.programs.shapes[self.evaluation.shape as usize]
    }

    /// For each source of the program, the index of its operand among the source operands of the form.
    pub fn sources(self) -> &'static [u8] {
        let count = self.shape().places.len() - self.shape().outputs.len();
        &self.form.table.programs.places[self.evaluation.places as usize..][..count]
    }

    /// For each parameter of the program, its constant, truth table, or the index of its selector.
    pub fn data(self) -> &'static [u64] {
        &self.form.table.programs.data[self.evaluation.data as usize..][..self.shape().params.len()]
    }

    /// Number of source operands that must be written.
    pub fn written(self) -> usize {
        usize::from(self.evaluation.sources)
    }

    /// Code of its loop at every SIMD level; empty if the library was built without loops.
    ///
    /// # Errors
    ///
    /// The reason why it has no loop.
    pub fn code(self) -> Result<&'static [Run], &'static str> {
        match self.shape().lanes {
            Lanes::Loop(index) | Lanes::Warp(Some(index)) => {
                Ok(self.form.table.loops.get(index as usize).copied().unwrap_or_default())
            }
            Lanes::None(why) => Err(why),
            Lanes::Warp(None) => Err("the result of a thread depends on other threads of its warp"),
        }
    }

    /// Evaluator of a predicate for each result that is true if the result is unspecified; `None` if all are specified.
    pub fn unspecified(self) -> Option<Evaluator> {
        let evaluation = self.form.table.programs.evaluations.get(self.evaluation.unspecified as usize)?;
        Some(Evaluator { evaluation, ..self })
    }

    /// Zero for each destination.
    pub(super) fn none(self) -> Outputs {
        Outputs { words: [0; OUTPUTS], count: self.shape().outputs.len() }
    }

    /// Computes the results for one thread: see [`FormInfo::evaluate`].
    ///
    /// # Panics
    ///
    /// If there are fewer inputs than sources and selectors.
    #[inline]
    pub fn evaluate(self, inputs: &[u128]) -> Outputs {
        let (shape, sources, written) = (self.shape(), self.sources(), self.written());
        let mut values = [0; VALUES];
        program::run(
            shape.code,
            self.data(),
            |source| inputs[usize::from(sources[source])],
            |selector| inputs[written + selector],
            self.form.table.operation,
            &mut values,
        );
        let mut outputs = Outputs { words: [0; OUTPUTS], count: shape.outputs.len() };
        for (word, output) in outputs.words.iter_mut().zip(shape.outputs) {
            *word = values[usize::from(*output)];
        }
        outputs
    }

    /// The operation that is all of its program, which takes sources as they are; `None` for other programs.
    pub fn single(self) -> Option<Single> {
        let (shape, sources) = (self.shape(), self.sources());
        let mut reader = Reader::new(shape.code);
        let mut places: Vec<(u8, u8)> = Vec::new();
        loop {
            match reader.next()? {
                Value::Source { source, bits } => places.push((sources[usize::from(source)], bits)),
                Value::Call { operation, lanes: 1, bits, args }
                    if args.iter().all(|(_, bits)| *bits == 0) && shape.outputs == [places.len() as u8] =>
                {
                    let args = args.iter().map(|(arg, _)| places.get(usize::from(*arg)).copied());
                    let args = args.collect::<Option<Vec<_>>>()?;
                    return Some(Single { run: self.form.table.operation, operation, args, bits });
                }
                _ => return None,
            }
        }
    }

    /// The values of its program in order, if all of them are linear in the index of a thread, or may be, where the inputs are.
    pub fn linear(self) -> Option<Vec<LinearValue>> {
        let (shape, sources, data) = (self.shape(), self.sources(), self.data());
        let mut reader = Reader::new(shape.code);
        let mut values = Vec::new();
        while let Some(value) = reader.next() {
            values.push(match value {
                Value::Source { source, bits } => LinearValue::Input { input: sources[usize::from(source)], bits },
                Value::Constant(word) => LinearValue::Constant(u64::try_from(word).ok()?),
                Value::Splat { param, bits: _, lanes: 1 } => LinearValue::Constant(data[usize::from(param)]),
                // Its low bits.
                Value::Lane { of, lane: 0, bits } => LinearValue::Low { of, bits },
                Value::Spread { of, lanes: 1 } => LinearValue::Low { of, bits: 1 },
                Value::Select { args: [condition, yes, no], lanes: 1, bits: _ } => {
                    LinearValue::Select { condition, args: [yes, no] }
                }
                Value::Truth { table, lanes: 1, leaves } => {
                    let outcomes = match table {
                        Outcomes::Param(param) => u8::try_from(data[usize::from(param)]).ok()?,
                        Outcomes::Fixed(outcomes) => outcomes,
                    };
                    let mut inputs = [None; 3];
                    for (index, (leaf, complement)) in leaves.iter().enumerate() {
                        *inputs.get_mut(index)? = Some((*leaf, *complement != 0));
                    }
                    LinearValue::Truth { outcomes, leaves: inputs }
                }
                Value::Call { operation, lanes: 1, bits, args } if args.iter().all(|(_, bits)| *bits == 0) => {
                    let table = self.form.table;
                    let found = table.linear.binary_search_by_key(&operation, |(number, _)| *number).ok()?;
                    let arg = |index: usize| args.get(index).map_or(0, |(arg, _)| *arg);
                    LinearValue::Call { kind: table.linear[found].1, args: [arg(0), arg(1)], bits }
                }
                _ => return None,
            });
        }
        Some(values)
    }

    /// Computes the results for a warp: see [`FormInfo::evaluate_warp`].
    ///
    /// # Panics
    ///
    /// If there are fewer inputs than sources and selectors.
    pub fn evaluate_warp(self, active: u32, inputs: &[[u128; WARP]]) -> Vec<[u128; WARP]> {
        let (shape, sources, written) = (self.shape(), self.sources(), self.written());
        let mut values = [[0; WARP]; VALUES];
        program::run_warp(
            shape.code,
            self.data(),
            active,
            |source, thread| inputs[usize::from(sources[source])][thread],
            |selector| inputs[written + selector][0],
            self.form.table.operation,
            &mut values,
        );
        shape.outputs.iter().map(|output| values[usize::from(*output)]).collect()
    }
}

/// A value of a program all of whose values are linear in the index of a thread where its inputs are: see
/// [`Evaluator::linear`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearValue {
    /// An input, truncated to some bits.
    Input {
        /// Which one.
        input: u8,
        /// Number of bits.
        bits: u8,
    },
    /// A constant.
    Constant(u64),
    /// The low bits of an earlier value.
    Low {
        /// The index of the value.
        of: u8,
        /// Number of bits.
        bits: u8,
    },
    /// One of two earlier values, the first one where a predicate is true.
    Select {
        /// The index of the predicate.
        condition: u8,
        /// The indices of the values.
        args: [u8; 2],
    },
    /// A Boolean function of earlier predicates.
    Truth {
        /// Bit `i` is the outcome where the leaves encode `i`, the first one in bit 0.
        outcomes: u8,
        /// The indices of the predicates, each with its complement flag.
        leaves: [Option<(u8, bool)>; 3],
    },
    /// An operation on earlier values.
    Call {
        /// What it computes.
        kind: Linear,
        /// The indices of the values; an extension has one.
        args: [u8; 2],
        /// Width of the result in bits.
        bits: u8,
    },
}

/// An operation on inputs of an [`Evaluator`], whose whole program it is: see [`Evaluator::single`].
#[derive(Clone, Debug)]
pub struct Single {
    run: fn(u16, &[u128]) -> u128,
    operation: u16,
    /// For each argument which input it is, and its width in bits.
    args: Vec<(u8, u8)>,
    bits: u8,
}

impl Single {
    /// Computes the result for one thread, as [`Evaluator::evaluate`].
    ///
    /// # Panics
    ///
    /// If there are fewer inputs than sources.
    #[inline]
    pub fn evaluate(&self, inputs: &[u128]) -> u128 {
        let mut words = [0; ARGS];
        for (word, (input, bits)) in words.iter_mut().zip(&self.args) {
            *word = program::low(inputs[usize::from(*input)], *bits);
        }
        program::low((self.run)(self.operation, &words[..self.args.len()]), self.bits)
    }
}

/// Results of a form: a word for each destination in order of writing, second destinations after their first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    words: [u128; OUTPUTS],
    count: usize,
}

impl Deref for Outputs {
    type Target = [u128];

    #[inline]
    fn deref(&self) -> &[u128] {
        &self.words[..self.count]
    }
}

impl<const N: usize> PartialEq<[u128; N]> for Outputs {
    fn eq(&self, other: &[u128; N]) -> bool {
        **self == other[..]
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
