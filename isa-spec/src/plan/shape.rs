//! Shapes: programs with parameters, shared by many forms.
//!
//! A shape has bits where a program has types: a value has lanes of some width, or is a predicate.

use isa_table::program::Param;

use crate::model::{Model, Pick};
use crate::program::{self, Ty};

/// A program with parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub values: Vec<Value>,
    /// Values that are its results.
    pub outputs: Vec<usize>,
    pub params: Vec<Param>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Value {
    pub op: Op,
    pub lane: Lane,
    pub lanes: u32,
}

/// Type of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    Predicate,
    Bits(u32),
    Pick(Pick),
}

impl Lane {
    /// Lane of a value of a program.
    pub(crate) fn of(model: &Model, ty: Ty) -> Lane {
        match ty {
            Ty::Pick(pick) => Lane::Pick(pick),
            ty if ty.is_predicate(model) => Lane::Predicate,
            ty => Lane::Bits(ty.bits(model).unwrap_or(0)),
        }
    }
}

/// Operation; values and parameters are indices.
pub(crate) type Op = program::Op<usize>;

impl Value {
    /// Width of a lane; 1 for predicates, `None` for selectors.
    pub(crate) fn bits(&self) -> Option<u32> {
        match self.lane {
            Lane::Predicate => Some(1),
            Lane::Bits(bits) => Some(bits),
            Lane::Pick(_) => None,
        }
    }

    pub(crate) fn is_predicate(&self) -> bool {
        self.lane == Lane::Predicate
    }
}

impl Shape {
    /// Widths of its outputs, then of its sources; 1 for predicates.
    pub(crate) fn places(&self) -> Vec<u32> {
        let width = |value: &Value| value.bits().map_or(0, |bits| bits * value.lanes);
        let outputs = self.outputs.iter().map(|output| width(&self.values[*output]));
        outputs.chain(self.sources().iter().map(|source| width(&self.values[*source]))).collect()
    }

    /// Values that are its sources, in order.
    pub(crate) fn sources(&self) -> Vec<usize> {
        let mut found = Vec::new();
        for (index, value) in self.values.iter().enumerate() {
            if let Op::Source(number) = value.op {
                debug_assert_eq!(number, found.len(), "numbered in order of first use");
                found.push(index);
            }
        }
        found
    }
}
