//! Shapes: programs with parameters, which many forms share.
//!
//! A shape knows bits where a program knows types: a value has lanes of so many bits, or predicates.

use isa_table::program::Param;

use crate::model::{Own, Pick};
use crate::program::Callee;

/// A program with parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub values: Vec<Value>,
    /// The values that are its results.
    pub outputs: Vec<usize>,
    pub params: Vec<Param>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Value {
    pub op: Op,
    pub lane: Lane,
    pub lanes: u32,
}

/// One lane of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    Predicate,
    Bits(u32),
    Pick(Pick),
}

/// How a value comes about; values and parameters are indices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// Sources are numbered in order of first use.
    Source(usize),
    /// The same bits in each lane.
    Constant(u64),
    /// A parameter's bits in each lane.
    Splat(usize),
    /// A parameter that is a selector; a mask is a predicate for each lane.
    Selector(usize),
    Call {
        callee: Callee,
        args: Vec<usize>,
    },
    /// The second where the first is true, else the third; lane by lane where the first has lanes.
    Select(usize, usize, usize),
    /// One lane of a value.
    Lane(usize, u32),
    /// The same bits as other lanes.
    Reinterpret(usize),
    /// A predicate for each lane.
    Spread(usize),
    /// What the thread is in its warp.
    Own(Own),
    /// A function of predicates, lane by lane: its outcomes, and its leaves, each with whether it is complemented first.
    Truth {
        table: Table,
        leaves: Vec<(usize, bool)>,
    },
}

/// The outcomes of a function of predicates: bit `i` is that for leaves which spell `i`, the first leaf being bit 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    Param(usize),
    Fixed(u8),
}

impl Op {
    /// The values it reads.
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
    /// The width of a lane; 1 for predicates, none for selectors.
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
    /// The widths of its outputs, then of its sources; 1 for predicates.
    pub(crate) fn places(&self) -> Vec<u32> {
        let width = |value: &Value| value.bits().map_or(0, |bits| bits * value.lanes);
        let outputs = self.outputs.iter().map(|output| width(&self.values[*output]));
        outputs.chain(self.sources().iter().map(|source| width(&self.values[*source]))).collect()
    }

    /// The values that are its sources, in order.
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
