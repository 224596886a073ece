//! Values that are affine in the position of a thread: the same in all threads of a group of blocks, or growing by fixed steps with
//! the indices of threads and blocks. They are computed once for the group, instead of in every lane.
//!
//! Arithmetic is modulo two to the power of a width. Where a value is extended to more bits, the result is affine only if no
//! thread wraps, which its least and greatest values tell.

use std::prelude::rust_2024::*;

use ptx_isa::table::LinearValue;
use ptx_isa::table::program::Linear;

/// Indices that threads of a group differ in: x, y and z in their block, or lane, warp and y; and the number of the block in the group.
pub(crate) const DIMENSIONS: usize = 4;

/// Maximum number of values of a program, and of steps of its formula.
const VALUES: usize = 12;

/// `base + Σ steps[i] · index[i]`. Steps in dimensions of extent one are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Affine {
    pub base: u64,
    pub steps: [u64; DIMENSIONS],
}

/// The bits of a word below a width.
#[inline(always)]
fn low(word: u64, bits: u8) -> u64 {
    word & u64::MAX >> (64 - bits.min(64))
}

/// The integer that the low bits of a word are, with a sign.
#[inline(always)]
pub(crate) fn signed(word: u64, bits: u8) -> i64 {
    let unused = 64 - u32::from(bits.min(64));
    (word << unused) as i64 >> unused
}

impl Affine {
    /// The same value in all threads.
    #[inline(always)]
    pub(crate) fn uniform(base: u64) -> Affine {
        Affine { base, steps: [0; DIMENSIONS] }
    }

    #[inline(always)]
    pub(crate) fn is_uniform(&self) -> bool {
        self.steps[0] | self.steps[1] | self.steps[2] | self.steps[3] == 0
    }

    /// The value modulo two to the power of a width.
    #[inline(always)]
    pub(crate) fn low(self, bits: u8) -> Affine {
        self.map(|word| low(word, bits))
    }

    /// The least and the greatest value of any thread, as integers of a width; `None` if some threads wrap. `last` has the
    /// greatest index in each dimension.
    #[inline]
    pub(crate) fn range(&self, bits: u8, sign: bool, last: &[u64; DIMENSIONS]) -> Option<(i64, i64)> {
        let base = if sign { signed(self.base, bits) } else { i64::try_from(low(self.base, bits)).ok()? };
        let (mut least, mut most) = (base, base);
        for (step, last) in self.steps.iter().zip(last) {
            if *step != 0 {
                let reach = signed(*step, bits).checked_mul(*last as i64)?;
                least = least.checked_add(reach.min(0))?;
                most = most.checked_add(reach.max(0))?;
            }
        }
        let fits = |value: i64| match sign {
            true => signed(value as u64, bits) == value,
            false => value >= 0 && low(value as u64, bits) == value as u64,
        };
        (fits(least) && fits(most)).then_some((least, most))
    }

    /// Changes the base and all steps. It is a loop, as closures over arrays are called element by element.
    #[inline(always)]
    pub(crate) fn map(mut self, map: impl Fn(u64) -> u64) -> Affine {
        self.base = map(self.base);
        for step in &mut self.steps {
            *step = map(*step);
        }
        self
    }

    #[inline(always)]
    fn zip(mut self, other: Affine, join: impl Fn(u64, u64) -> u64) -> Affine {
        self.base = join(self.base, other.base);
        for dimension in 0..DIMENSIONS {
            self.steps[dimension] = join(self.steps[dimension], other.steps[dimension]);
        }
        self
    }

    fn truth(value: bool) -> Affine {
        Affine::uniform(value.into())
    }

    /// The least and the greatest value of `self - other` in any thread; `None` if either wraps in some threads.
    #[inline]
    fn distance(&self, other: Affine, bits: u8, sign: bool, last: &[u64; DIMENSIONS]) -> Option<(i64, i64)> {
        let word = |word: u64| if sign { signed(word, bits) } else { low(word, bits) as i64 };
        let wide =
            |value: Affine| Affine { base: word(value.base) as u64, ..value.map(|step| signed(step, bits) as u64) };
        if !self.is_uniform() {
            self.range(bits, sign, last)?;
        }
        if !other.is_uniform() {
            other.range(bits, sign, last)?;
        }
        // Differences of 64-bit values may have one bit more.
        let (a, b) = (wide(*self), wide(other));
        (a.base as i64).checked_sub(b.base as i64)?;
        for (a, b) in a.steps.iter().zip(b.steps) {
            (*a as i64).checked_sub(b as i64)?;
        }
        a.zip(b, |a, b| a.wrapping_sub(b)).range(64, true, last)
    }

    /// Returns `self < other` if that is the same in all threads.
    #[inline]
    fn is_less(&self, other: Affine, bits: u8, sign: bool, last: &[u64; DIMENSIONS]) -> Option<bool> {
        if self.is_uniform() && other.is_uniform() {
            return Some(match sign {
                true => signed(self.base, bits) < signed(other.base, bits),
                false => low(self.base, bits) < low(other.base, bits),
            });
        }
        if !sign && bits == 64 {
            return None;
        }
        let (least, most) = self.distance(other, bits, sign, last)?;
        if most < 0 { Some(true) } else { (least >= 0).then_some(false) }
    }

    /// Returns true if `self <= other` in all threads, and false if `self >= other`.
    #[inline]
    fn is_at_most(&self, other: Affine, bits: u8, sign: bool, last: &[u64; DIMENSIONS]) -> Option<bool> {
        self.is_less(other, bits, sign, last).or_else(|| Some(!other.is_less(*self, bits, sign, last)?))
    }

    /// Returns `self == other` if that is the same in all threads.
    #[inline]
    fn is_equal(&self, other: Affine, bits: u8, last: &[u64; DIMENSIONS]) -> Option<bool> {
        if self.is_uniform() && other.is_uniform() {
            return Some(low(self.base, bits) == low(other.base, bits));
        }
        let (least, most) = self.distance(other, bits, true, last)?;
        (least > 0 || most < 0).then_some(false)
    }

    /// The value modulo two to the power of `kept`, if no thread has a carry from the bits below.
    fn below(&self, kept: u8, last: &[u64; DIMENSIONS]) -> Option<Affine> {
        if kept == 0 {
            return Some(Affine::default());
        }
        let mut value = self.low(kept);
        let (mut least, mut most) = (value.base, value.base);
        for (step, last) in value.steps.iter_mut().zip(last).filter(|(step, _)| **step != 0) {
            let fall = low(step.wrapping_neg(), kept);
            let (up, down) = (step.checked_mul(*last), fall.checked_mul(*last));
            match (up.and_then(|up| most.checked_add(up)), down.and_then(|down| least.checked_sub(down))) {
                (Some(high), _) if low(high, kept) == high => most = high,
                (_, Some(low)) => {
                    *step = fall.wrapping_neg();
                    least = low;
                }
                _ => return None,
            }
        }
        Some(value)
    }

    /// `self & mask`, if the bits of the mask follow each other.
    fn masked(&self, mask: u64, bits: u8, last: &[u64; DIMENSIONS]) -> Option<Affine> {
        let mask = low(mask, bits);
        let (first, end) = (mask.trailing_zeros() as u8, 64 - mask.leading_zeros() as u8);
        if mask == 0 || mask >> first != u64::MAX >> (64 - (end - first)) {
            return (mask == 0).then_some(Affine::default());
        }
        let value = if end < bits { self.below(end, last)? } else { *self };
        Some(value.zip(self.below(first, last)?, |a, b| a.wrapping_sub(b)))
    }

    /// `self >> by`, zero- or sign-extended, if no thread wraps or has a carry from what is shifted out.
    fn shifted(&self, by: u64, bits: u8, sign: bool, last: &[u64; DIMENSIONS]) -> Option<Affine> {
        let by = match by {
            by if by < u64::from(bits) => by as u8,
            _ if sign => bits - 1,
            _ => return Some(Affine::default()),
        };
        if !self.is_uniform() {
            self.range(bits, sign, last)?;
        }
        let rest = self.below(by, last)?;
        let base = if sign { signed(self.base, bits) as u64 } else { low(self.base, bits) }.wrapping_sub(rest.base);
        let mut value = Affine::uniform(if sign { (base as i64 >> by) as u64 } else { base >> by });
        for (to, (step, rest)) in value.steps.iter_mut().zip(self.steps.iter().zip(rest.steps)) {
            // It may have a bit more than the width.
            *to = (signed(*step, bits).checked_sub(rest as i64)? >> by) as u64;
        }
        Some(value)
    }

    /// `self | other`, if all bits of one are below those of the other.
    fn joined(&self, other: Affine, bits: u8, last: &[u64; DIMENSIONS]) -> Option<Affine> {
        let (_, most) = other.range(bits, false, last)?;
        let above = self.steps.iter().fold(self.base, |all, step| all | step);
        let end = u64::BITS - (most as u64).leading_zeros();
        (low(above, bits).trailing_zeros() >= end).then(|| self.zip(other, |a, b| a.wrapping_add(b)))
    }

    /// The result of an operation whose result has `bits` bits; `None` if it is not affine.
    #[inline(always)]
    fn apply(kind: Linear, a: Affine, b: Affine, bits: u8, last: &[u64; DIMENSIONS]) -> Option<Affine> {
        let result = match kind {
            Linear::Sum => a.zip(b, |a, b| a.wrapping_add(b)),
            Linear::Difference => a.zip(b, |a, b| a.wrapping_sub(b)),
            Linear::Complement => Affine { base: !a.base, ..a.map(u64::wrapping_neg) },
            Linear::Product if b.is_uniform() => a.map(|word| word.wrapping_mul(b.base)),
            Linear::Product if a.is_uniform() => b.map(|word| word.wrapping_mul(a.base)),
            Linear::Shift if b.is_uniform() => match b.base {
                by if by < u64::from(bits) => a.map(|word| word << by),
                _ => Affine::default(),
            },
            Linear::Product | Linear::Shift => return None,
            Linear::RightShift { bits, signed } if b.is_uniform() => a.shifted(b.base, bits, signed, last)?,
            Linear::RightShift { .. } => return None,
            Linear::Mask | Linear::Union if a.is_uniform() && b.is_uniform() => Affine::uniform(match kind {
                Linear::Mask => a.base & b.base,
                _ => a.base | b.base,
            }),
            Linear::Mask if b.is_uniform() => a.masked(b.base, bits, last)?,
            Linear::Mask if a.is_uniform() => b.masked(a.base, bits, last)?,
            Linear::Mask => return None,
            Linear::Union => a.joined(b, bits, last).or_else(|| b.joined(a, bits, last))?,
            Linear::Extension { bits: from, signed: sign } if from < bits => {
                if !a.is_uniform() {
                    a.range(from, sign, last)?;
                }
                let base = if sign { signed(a.base, from) as u64 } else { low(a.base, from) };
                Affine { base, ..a.map(|step| signed(step, from) as u64) }
            }
            Linear::Extension { .. } => a,
            Linear::Least { bits, signed } | Linear::Greatest { bits, signed } => {
                let first = a.is_at_most(b, bits, signed, last)? == matches!(kind, Linear::Least { .. });
                if first { a } else { b }
            }
            Linear::Less { bits, signed } => return a.is_less(b, bits, signed, last).map(Affine::truth),
            Linear::Equal { bits } => return a.is_equal(b, bits, last).map(Affine::truth),
        };
        Some(result.low(bits))
    }
}

/// Values of a formula while it is evaluated.
pub(crate) type Values = [Affine; VALUES];

/// An input of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Input {
    /// A register of those that may be affine, by its number among them.
    Row(u32),
    Constant(u64),
}

/// Operand of a step of a formula: a value, truncated to `bits` bits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Arg {
    place: Place,
    bits: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Input(Input),
    Step(u8),
}

impl Arg {
    fn step(number: usize) -> Arg {
        Arg { place: Place::Step(number as u8), bits: 64 }
    }

    fn low(self, bits: u8) -> Arg {
        Arg { bits: self.bits.min(bits), ..self }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Copy(Arg),
    Select { condition: Arg, args: [Arg; 2] },
    Truth { outcomes: u8, leaves: [Option<(Arg, bool)>; 3] },
    Call { kind: Linear, args: [Arg; 2], bits: u8 },
}

/// The computation of values that are affine where its inputs are.
#[derive(Clone, Debug)]
pub(crate) struct Formula {
    steps: Vec<Step>,
    /// The steps that compute its results.
    pub results: Vec<u8>,
}

impl Formula {
    /// The formula of a program, with its inputs and the values that are its results; `None` if it is too long.
    pub(crate) fn new(values: &[LinearValue], inputs: &[Input], results: impl Iterator<Item = u8>) -> Option<Formula> {
        let mut steps = Vec::new();
        let mut args: Vec<Arg> = Vec::with_capacity(values.len());
        for value in values {
            let of = |number: u8| args[usize::from(number)];
            let input = |input: Input, bits: u8| Arg { place: Place::Input(input), bits };
            args.push(match *value {
                LinearValue::Input { input: number, bits } => input(inputs[usize::from(number)], bits),
                LinearValue::Constant(value) => input(Input::Constant(value), 64),
                LinearValue::Low { of: number, bits } => of(number).low(bits),
                LinearValue::Select { condition, args } => {
                    let step = Step::Select { condition: of(condition), args: args.map(of) };
                    add(&mut steps, step)
                }
                LinearValue::Truth { outcomes, leaves } => {
                    let leaf = |(number, complement)| (of(number), complement);
                    add(&mut steps, Step::Truth { outcomes, leaves: leaves.map(|one| one.map(leaf)) })
                }
                LinearValue::Call { kind, args, bits } => {
                    let step = Step::Call { kind, args: args.map(of), bits };
                    add(&mut steps, step)
                }
            });
        }
        // All results are computed before the first one is written, as a destination may also be a source.
        let mut result = |number: u8| match args[usize::from(number)] {
            Arg { place: Place::Step(step), bits: 64 } => step,
            arg => {
                add(&mut steps, Step::Copy(arg));
                steps.len() as u8 - 1
            }
        };
        let results: Vec<u8> = results.map(&mut result).collect();
        // Those behind the last result, of destinations that are sinks, are not needed.
        steps.truncate(results.iter().max().map_or(0, |last| usize::from(*last) + 1));
        (steps.len() <= VALUES).then_some(Formula { steps, results })
    }

    /// Returns true if a register is one of its inputs.
    pub(crate) fn reads(&self, number: u32) -> bool {
        let is = |arg: &Arg| arg.place == Place::Input(Input::Row(number));
        self.steps.iter().any(|step| match step {
            Step::Copy(arg) => is(arg),
            Step::Select { condition, args } => is(condition) || args.iter().any(is),
            Step::Truth { leaves, .. } => leaves.iter().flatten().any(|(leaf, _)| is(leaf)),
            Step::Call { args, .. } => args.iter().any(is),
        })
    }

    /// Computes the values of its steps, and returns the last one, which is the result if there is one alone: a load from where it was just
    /// stored would wait. `None` if an input has no affine value or a value would have none.
    #[inline]
    pub(crate) fn evaluate(
        &self,
        row: impl Fn(u32) -> Option<Affine>,
        values: &mut Values,
        last: &[u64; DIMENSIONS],
    ) -> Option<Affine> {
        let mut last_value = Affine::default();
        for (index, step) in self.steps.iter().enumerate() {
            let of = |arg: &Arg| -> Option<Affine> {
                let value = match arg.place {
                    Place::Input(Input::Row(number)) => row(number)?,
                    Place::Input(Input::Constant(value)) => Affine::uniform(value),
                    Place::Step(number) => values[usize::from(number)],
                };
                Some(if arg.bits < 64 { value.low(arg.bits) } else { value })
            };
            last_value = match step {
                Step::Copy(arg) => of(arg)?,
                // A predicate is only known where it is the same in all threads.
                Step::Select { condition, args: [yes, no] } => of(if of(condition)?.base != 0 { yes } else { no })?,
                Step::Truth { outcomes, leaves } => {
                    let mut spelt = 0;
                    for (place, leaf) in leaves.iter().enumerate() {
                        if let Some((leaf, complement)) = leaf {
                            spelt |= u8::from((of(leaf)?.base != 0) != *complement) << place;
                        }
                    }
                    Affine::truth(outcomes >> spelt & 1 != 0)
                }
                Step::Call { kind, args: [a, b], bits } => Affine::apply(*kind, of(a)?, of(b)?, *bits, last)?,
            };
            values[index] = last_value;
        }
        Some(last_value)
    }
}

/// Adds a step; returns an operand that refers to its result.
fn add(steps: &mut Vec<Step>, step: Step) -> Arg {
    steps.push(step);
    Arg::step(steps.len() - 1)
}

/// What is known of a value before a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// The same in all threads of a block.
    Uniform,
    /// Affine, unless it wraps.
    Affine,
    Other,
}

/// Returns true if a program compares values.
pub(crate) fn compares(values: &[LinearValue]) -> bool {
    values.iter().any(|value| match value {
        LinearValue::Call { kind, .. } => match kind {
            Linear::Sum
            | Linear::Difference
            | Linear::Complement
            | Linear::Product
            | Linear::Shift
            | Linear::RightShift { .. }
            | Linear::Mask
            | Linear::Union
            | Linear::Extension { .. } => false,
            Linear::Least { .. } | Linear::Greatest { .. } | Linear::Less { .. } | Linear::Equal { .. } => true,
        },
        _ => false,
    })
}

/// The class of the results of a program whose inputs have these classes.
pub(crate) fn class(values: &[LinearValue], results: &[u8], input: impl Fn(u8) -> Class) -> Class {
    let mut classes = [Class::Uniform; VALUES];
    for (index, value) in values.iter().enumerate() {
        let of = |index: u8| classes[usize::from(index)];
        let class = match *value {
            LinearValue::Input { input: number, .. } => input(number),
            LinearValue::Constant(_) => Class::Uniform,
            LinearValue::Low { of: number, .. } => of(number),
            LinearValue::Select { condition, args: [yes, no] } => of(condition).max(of(yes)).max(of(no)),
            LinearValue::Truth { leaves, .. } => {
                leaves.iter().flatten().map(|(leaf, _)| of(*leaf)).max().unwrap_or(Class::Uniform)
            }
            LinearValue::Call { kind, args: [a, b], .. } => match kind {
                Linear::Sum
                | Linear::Difference
                | Linear::Union
                | Linear::Least { .. }
                | Linear::Greatest { .. }
                | Linear::Less { .. }
                | Linear::Equal { .. } => of(a).max(of(b)),
                Linear::Product | Linear::Mask if of(a).min(of(b)) == Class::Uniform => of(a).max(of(b)),
                Linear::Shift | Linear::RightShift { .. } if of(b) == Class::Uniform => of(a),
                Linear::Product | Linear::Mask | Linear::Shift | Linear::RightShift { .. } => Class::Other,
                Linear::Complement | Linear::Extension { .. } => of(a),
            },
        };
        let Some(place) = classes.get_mut(index) else { return Class::Other };
        *place = class;
    }
    results.iter().map(|result| classes[usize::from(*result)]).max().unwrap_or(Class::Other)
}
