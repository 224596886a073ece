//! The small typed language that semantics are lowered to, one program for each form, range of targets, and number of
//! operands.
//!
//! A program is a list of values in order of computation; a value refers to earlier ones by index. Values are lanes
//! of a type: one lane for scalars. A predicate is a truth value, or one for each lane. This module knows no syntax
//! of the spec and no Rust.
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
    /// The lanes that a selector picks.
    Pick(Pick),
}

impl Ty {
    /// How many lanes a value has; a selector counts as one.
    pub(crate) fn lanes(self) -> u32 {
        match self {
            Ty::Lanes { lane: _, lanes } => lanes,
            Ty::Pick(_) => 1,
        }
    }

    /// Whether it is a truth value, or one for each lane.
    pub(crate) fn is_predicate(self, model: &Model) -> bool {
        matches!(self, Ty::Lanes { lane, lanes: _ } if model.ty(lane).kind == Kind::Predicate)
    }

    /// The width of a lane; 1 for predicates. Selectors have none.
    pub(crate) fn bits(self, model: &Model) -> Option<u32> {
        match self {
            Ty::Lanes { lane, lanes: _ } => Some(model.ty(lane).bits),
            Ty::Pick(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Value {
    pub op: Op,
    pub ty: Ty,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// A source operand, by its place among the operands of the form.
    Source(usize),
    /// The selector behind an operand, by that operand's place. A mask is a predicate for each lane.
    Selector(usize),
    /// The same bits in every lane.
    Constant(u64),
    /// A builtin. Lane by lane unless it takes whole values.
    Call { callee: Callee, args: Vec<ValueId> },
    /// The second where the first is true, else the third; lane by lane where the first has lanes.
    Select(ValueId, ValueId, ValueId),
    /// One lane of a value.
    Lane(ValueId, u32),
    /// The same bits read as another type.
    Reinterpret(ValueId),
    /// A predicate for each lane.
    Spread(ValueId),
    /// What the thread is in its warp.
    Own(Own),
}

/// A builtin, for the types and words that it is called with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Callee {
    pub builtin: BuiltinId,
    /// The type parameter.
    pub ty: Option<TypeId>,
    /// The result's own.
    pub to: Option<TypeId>,
    /// Of each list of words the chosen one.
    pub modes: Vec<(OperatorId, usize)>,
}

/// What one form computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    pub values: Vec<Value>,
    /// One for each destination in order of writing, second destinations behind their first.
    pub outputs: Vec<ValueId>,
    /// One for each line of the pseudo-code that has a value: what the line computes, where an output needs it.
    pub steps: Vec<Option<ValueId>>,
}

impl Op {
    /// The values it reads.
    pub(crate) fn args(&self) -> Vec<ValueId> {
        match self {
            Op::Source(_) | Op::Selector(_) | Op::Constant(_) | Op::Own(_) => Vec::new(),
            Op::Call { args, .. } => args.clone(),
            Op::Select(c, a, b) => vec![*c, *a, *b],
            Op::Lane(value, _) | Op::Reinterpret(value) | Op::Spread(value) => vec![*value],
        }
    }

    pub(crate) fn map_args(&mut self, map: impl Fn(ValueId) -> ValueId) {
        match self {
            Op::Source(_) | Op::Selector(_) | Op::Constant(_) | Op::Own(_) => {}
            Op::Call { args, .. } => args.iter_mut().for_each(|arg| *arg = map(*arg)),
            Op::Select(c, a, b) => [c, a, b].into_iter().for_each(|arg| *arg = map(*arg)),
            Op::Lane(value, _) | Op::Reinterpret(value) | Op::Spread(value) => *value = map(*value),
        }
    }
}

impl Program {
    /// Whether what a thread computes depends on others of its warp.
    pub(crate) fn is_collective(&self, model: &Model) -> bool {
        self.values.iter().any(|value| match &value.op {
            Op::Own(_) => true,
            Op::Call { callee, args: _ } => model.builtins[callee.builtin.0].signature.of_warp.contains(&true),
            _ => false,
        })
    }

    pub(crate) fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0]
    }

    /// The value of an operation, found or added.
    pub(crate) fn push(&mut self, op: Op, ty: Ty) -> ValueId {
        let value = Value { op, ty };
        let found = self.values.iter().position(|other| *other == value);
        ValueId(found.unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        }))
    }

    /// Drops the values that no output needs.
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
                value.op.map_args(|arg| places[arg.0]);
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
