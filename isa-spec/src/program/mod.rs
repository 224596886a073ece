//! Intermediate representation of semantics: a typed program for each form, range of targets, and number of operands.
//!
//! A program is a list of values in order of computation; a value refers to earlier ones by index. Values have lanes of
//! a type: one lane for scalars. A predicate is a truth value, or one for each lane. This module depends neither on the
//! syntax of the spec nor on Rust.
//!
//! ```text
//! setp.lt.and.f32 p, a, b, c:      0  Source(1)                 .f32      a
//!                                  1  Source(2)                 .f32      b
//!                                  2  Call(lt, .f32, [0, 1])    .pred     t = a < b
//!                                  3  Source(3)                 .pred     c
//!                                  4  Call(and, .pred, [2, 3])  .pred     p = t & c
//! ```

pub(crate) mod effect;
pub(crate) mod lower;

use crate::model::{BuiltinId, Kind, Model, OperatorId, Own, Pick, TypeId};

/// Index into [`Program::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueId(pub usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    Lanes {
        lane: TypeId,
        lanes: u32,
    },
    /// Lanes picked by a selector.
    Pick(Pick),
}

impl Ty {
    /// Number of lanes of a value; a selector counts as one.
    pub(crate) fn lanes(self) -> u32 {
        match self {
            Ty::Lanes { lane: _, lanes } => lanes,
            Ty::Pick(_) => 1,
        }
    }

    /// Returns true for a truth value, or one for each lane.
    pub(crate) fn is_predicate(self, model: &Model) -> bool {
        matches!(self, Ty::Lanes { lane, lanes: _ } if model.ty(lane).kind == Kind::Predicate)
    }

    /// Width of a lane; 1 for predicates, `None` for selectors.
    pub(crate) fn bits(self, model: &Model) -> Option<u32> {
        match self {
            Ty::Lanes { lane, lanes: _ } => Some(model.ty(lane).lane_bits()),
            Ty::Pick(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Value {
    pub op: Op,
    pub ty: Ty,
}

/// Operation on earlier values: [`ValueId`]s of a program, indices of a shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op<V = ValueId> {
    /// Source operand: by its index among the operands of the form, in a shape numbered in order of first use.
    Source(usize),
    /// Selector of an operand: by the index of the operand, in a shape that of a parameter. A mask is a predicate for
    /// each lane.
    Selector(usize),
    /// Constant, the same in every lane.
    Constant(u64),
    /// Call of a builtin, lane by lane unless it takes whole values.
    Call { callee: Callee, args: Vec<V> },
    /// Selects the second value where the first is true, else the third; lane by lane if the first has lanes.
    Select(V, V, V),
    /// Extracts a lane.
    Lane(V, u32),
    /// Reinterprets the bits as another type.
    Reinterpret(V),
    /// Predicate broadcast to all lanes.
    Spread(V),
    /// Property of the executing thread within its warp.
    Own(Own),
    /// Value of a parameter, broadcast to all lanes; in shapes only.
    Splat(usize),
    /// Boolean function of predicates, lane by lane: truth table, and leaves with their complement flags; in shapes only.
    Truth { table: Table, leaves: Vec<(V, bool)> },
}

/// Truth table: bit `i` is the outcome for leaves that encode `i`, the first leaf being bit 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    /// That of a parameter.
    Param(usize),
    Fixed(u8),
}

/// A builtin with the types and words that it is called with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Callee {
    pub builtin: BuiltinId,
    /// Value of the type parameter.
    pub ty: Option<TypeId>,
    /// Value of the result's own type parameter.
    pub to: Option<TypeId>,
    /// Chosen word of each word list.
    pub modes: Vec<(OperatorId, usize)>,
}

/// Computation of a form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    pub values: Vec<Value>,
    /// One for each destination in order of writing, second destinations after their first.
    pub outputs: Vec<ValueId>,
    /// One for each line of pseudo-code that has a value, if an output depends on it.
    pub steps: Vec<Option<ValueId>>,
}

impl<V: Copy> Op<V> {
    /// The same operation on other values.
    pub(crate) fn map<W>(&self, mut of: impl FnMut(V) -> W) -> Op<W> {
        match self {
            Op::Source(place) => Op::Source(*place),
            Op::Selector(place) => Op::Selector(*place),
            Op::Constant(bits) => Op::Constant(*bits),
            Op::Call { callee, args } => {
                Op::Call { callee: callee.clone(), args: args.iter().map(|arg| of(*arg)).collect() }
            }
            Op::Select(c, a, b) => Op::Select(of(*c), of(*a), of(*b)),
            Op::Lane(value, lane) => Op::Lane(of(*value), *lane),
            Op::Reinterpret(value) => Op::Reinterpret(of(*value)),
            Op::Spread(value) => Op::Spread(of(*value)),
            Op::Own(own) => Op::Own(*own),
            Op::Splat(param) => Op::Splat(*param),
            Op::Truth { table, leaves } => {
                Op::Truth { table: *table, leaves: leaves.iter().map(|(leaf, not)| (of(*leaf), *not)).collect() }
            }
        }
    }

    /// Values that it reads.
    pub(crate) fn args(&self) -> Vec<V> {
        let mut args = Vec::new();
        self.map(|arg| args.push(arg));
        args
    }
}

impl Program {
    /// Returns true if the result of a thread depends on other threads of its warp.
    pub(crate) fn is_collective(&self, model: &Model) -> bool {
        self.values.iter().any(|value| match &value.op {
            Op::Own(_) => true,
            Op::Call { callee, args: _ } => model.builtins[callee.builtin.0].signature.of_warp.contains(&true),
            _ => false,
        })
    }

    /// Builtins that it calls.
    pub(crate) fn builtins(&self) -> impl Iterator<Item = BuiltinId> {
        self.values.iter().filter_map(|value| match &value.op {
            Op::Call { callee, args: _ } => Some(callee.builtin),
            _ => None,
        })
    }

    pub(crate) fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0]
    }

    /// Returns the value of an operation, reusing an equal one.
    pub(crate) fn push(&mut self, op: Op, ty: Ty) -> ValueId {
        let value = Value { op, ty };
        let found = self.values.iter().position(|other| *other == value);
        ValueId(found.unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        }))
    }

    /// Removes the values that no output needs.
    pub(crate) fn prune(&mut self) {
        let mut live = vec![false; self.values.len()];
        self.outputs.iter().for_each(|output| live[output.0] = true);
        for index in (0..self.values.len()).rev() {
            if live[index] {
                self.values[index].op.args().iter().for_each(|arg| live[arg.0] = true);
            }
        }
        let mut places = vec![ValueId(0); self.values.len()];
        let mut kept = Vec::new();
        for (index, mut value) in std::mem::take(&mut self.values).into_iter().enumerate() {
            if live[index] {
                value.op = value.op.map(|arg| places[arg.0]);
                places[index] = ValueId(kept.len());
                kept.push(value);
            }
        }
        self.values = kept;
        self.outputs.iter_mut().for_each(|output| *output = places[output.0]);
        for step in &mut self.steps {
            *step = step.filter(|id| live[id.0]).map(|id| places[id.0]);
        }
    }
}
