//! How a form computes: its program with the form's own data.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use super::FormInfo;
use crate::limits::{OUTPUTS, VALUES};
use crate::program::{self, Evaluation, Lanes, Run, Shape, WARP};

/// How a form is evaluated on a range of targets, with so many of its sources.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator {
    pub(super) form: FormInfo,
    pub(super) evaluation: &'static Evaluation,
}

impl Evaluator {
    /// The form.
    pub fn form(self) -> FormInfo {
        self.form
    }

    /// The program, which other forms may share.
    pub fn shape(self) -> &'static Shape {
        &self.form.table.programs.shapes[self.evaluation.shape as usize]
    }

    /// For each source of the program the operand it is, as a number among the operands that are read.
    pub fn sources(self) -> &'static [u8] {
        let count = self.shape().places.len() - self.shape().outputs.len();
        &self.form.table.programs.places[self.evaluation.places as usize..][..count]
    }

    /// For each parameter of the program its constant, its truth table, or the number of its selector.
    pub fn data(self) -> &'static [u64] {
        &self.form.table.programs.data[self.evaluation.data as usize..][..self.shape().params.len()]
    }

    /// How many source operands it is for.
    pub fn written(self) -> usize {
        usize::from(self.evaluation.sources)
    }

    /// The code of its loop at every SIMD level; none where the library was built without.
    ///
    /// # Errors
    ///
    /// Why it has no loop.
    pub fn code(self) -> Result<&'static [Run], &'static str> {
        match self.shape().lanes {
            Lanes::Loop(index) => Ok(self.form.table.loops.get(index as usize).copied().unwrap_or_default()),
            Lanes::None(why) => Err(why),
            Lanes::Warp => Err("what a thread computes depends on others of its warp"),
        }
    }

    /// How it is found which results are left open, a truth value for each; `None` where none ever is.
    pub fn unspecified(self) -> Option<Evaluator> {
        let evaluation = self.form.table.programs.evaluations.get(self.evaluation.unspecified as usize)?;
        Some(Evaluator { evaluation, ..self })
    }

    /// Zero for each destination.
    pub(super) fn none(self) -> Outputs {
        Outputs { words: [0; OUTPUTS], count: self.shape().outputs.len() }
    }

    /// What it computes: see [`FormInfo::evaluate`].
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

    /// What the threads of a warp compute: see [`FormInfo::evaluate_warp`].
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

/// What a form computes: a word for each destination in order of writing, second destinations behind their first.
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
