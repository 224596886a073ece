//! Shapes: programs with parameters, shared by many forms.
//!
//! A shape has bits where a program has types: a value has lanes of some width, or is a predicate.

use isa_table::program::Param;

use crate::model::{Model, Own, Pick};
use crate::program::{Callee, Ty};

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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// Source, numbered in order of first use.
    Source(usize),
    /// Constant, the same in each lane.
    Constant(u64),
    /// Value of a parameter, broadcast to all lanes.
    Splat(usize),
    /// Selector given by a parameter; a mask is a predicate for each lane.
    Selector(usize),
    Call {
        callee: Callee,
        args: Vec<usize>,
    },
    /// Selects the second value where the first is true, else the third; lane by lane if the first has lanes.
    Select(usize, usize, usize),
    /// Extracts a lane.
    Lane(usize, u32),
    /// Reinterprets the bits with another lane width.
    Reinterpret(usize),
    /// Predicate broadcast to all lanes.
    Spread(usize),
    /// Property of the executing thread within its warp.
    Own(Own),
    /// Boolean function of predicates, lane by lane: truth table, and leaves with their complement flags.
    Truth {
        table: Table,
        leaves: Vec<(usize, bool)>,
    },
}

/// Truth table: bit `i` is the outcome for leaves that encode `i`, the first leaf being bit 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    Param(usize),
    Fixed(u8),
}

impl Op {
    /// Values that it reads.
    pub(crate) fn args(&self) -> Vec<usize> {
        match self {
            Op::Source(_) | Op::Constant(_) | Op::Splat(_) | Op::Selector(_) | Op::Own(_) => Vec::new(),
            Op::Call { callee: _, args } => args.clone(),
            Op::Select(condition, a, b) => vec![*condition, *a, *b],
            Op::Lane(of, _) | Op::Reinterpret(of) | Op::Spread(of) => vec![*of],
            Op::Truth { table: _, leaves } => leaves.iter().map(|(leaf, _)| *leaf).collect(),
        }
    }
}

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
