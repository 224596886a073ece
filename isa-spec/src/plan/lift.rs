//! Lifts programs to shapes: the differences between programs become data.
//!
//! Constants become parameters; Boolean expressions become truth tables; sources are numbered in order of first use.
//! Programs that are then equal share a shape. Finally, parameters with the same value in all programs of a shape are
//! folded back ([`fix`]).
//!
//! ```text
//! set.lt.and.u32.f32   t = a < b;        r = t & c;   d = r ? 0xffffffff : 0;
//! set.geu.or.f32.f32   t = !(a < b);     r = t | c;   d = r ? 1.0 : 0.0;
//!
//! both are             d = Table0(a < b, c) ? Constant1 : Constant2
//! with the data        the table of `t & c`,  0xffffffff, 0
//!                      the table of `!t | c`, 0x3f800000, 0
//! ```
//!
//! Every predicate source is a leaf of a truth table, so that its `!` is data as well.

use std::collections::HashMap;

use isa_table::program::Param;

use super::Table;
use super::shape::{Lane, Op, Shape, Value};
use crate::model::{Kind, Model, SelectorKind};
use crate::program::{self, Program, ValueId};

/// Data of one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Datum {
    /// Bits and their width.
    Constant(u64, u32),
    /// Truth table and its number of leaves.
    Truth(u8, usize),
    /// Selector of the operand at this index.
    Selector(usize),
}

/// A lifted program.
#[derive(Clone, Debug)]
pub(crate) struct Lifted {
    pub shape: Shape,
    /// Operands that its sources refer to, by index among those of the form.
    pub sources: Vec<usize>,
    /// Values of its parameters.
    pub data: Vec<Datum>,
}

/// Maximum number of leaves of a truth table.
const LEAVES: usize = 3;

/// Lifts a program. `selector` describes the selector of an operand.
pub(crate) fn lift<'m>(
    model: &'m Model,
    program: &'m Program,
    selector: impl Fn(usize) -> &'m SelectorKind<Vec<String>>,
) -> Lifted {
    let mut lifting = Lifting {
        model,
        program,
        selector: &selector,
        shape: Shape { values: Vec::new(), outputs: Vec::new(), params: Vec::new() },
        places: HashMap::new(),
        sources: Vec::new(),
        data: Vec::new(),
        tables: Vec::new(),
    };
    for output in &program.outputs {
        let value = match program.value(*output).ty.is_predicate(model) {
            // The polarity of an output is data.
            true => lifting.truth(*output),
            false => lifting.value(*output),
        };
        lifting.shape.outputs.push(value);
    }
    Lifted { shape: lifting.shape, sources: lifting.sources, data: lifting.data }
}

/// Input of a Boolean expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaf {
    id: ValueId,
    /// Lane of it, if a single one is meant.
    lane: Option<u32>,
}

struct Lifting<'m, 's> {
    model: &'m Model,
    program: &'m Program,
    selector: &'s dyn Fn(usize) -> &'m SelectorKind<Vec<String>>,
    shape: Shape,
    /// Index in the shape of values of the program.
    places: HashMap<ValueId, usize>,
    sources: Vec<usize>,
    data: Vec<Datum>,
    /// Truth tables so far: outcomes, leaves that are sources, and the parameter.
    tables: Vec<(u8, Vec<Option<Leaf>>, usize)>,
}

impl Lifting<'_, '_> {
    fn push(&mut self, op: Op, lane: Lane, lanes: u32) -> usize {
        let value = Value { op, lane, lanes };
        let found = self.shape.values.iter().position(|other| *other == value);
        found.unwrap_or_else(|| {
            self.shape.values.push(value);
            self.shape.values.len() - 1
        })
    }

    fn param(&mut self, datum: Datum, param: Param) -> usize {
        let found = self.data.iter().position(|other| *other == datum);
        found.unwrap_or_else(|| {
            self.data.push(datum);
            self.shape.params.push(param);
            self.data.len() - 1
        })
    }

    /// Index of a value; a comparison is a predicate without a truth table.
    fn value(&mut self, id: ValueId) -> usize {
        let value = self.program.value(id);
        if value.ty.is_predicate(self.model) {
            return self.predicate(id);
        }
        self.raw(id)
    }

    /// Index of a value that is not a Boolean expression.
    fn raw(&mut self, id: ValueId) -> usize {
        if let Some(place) = self.places.get(&id) {
            return *place;
        }
        let value = self.program.value(id);
        let (lane, lanes) = (Lane::of(self.model, value.ty), value.ty.lanes());
        let op = match &value.op {
            program::Op::Source(place) => {
                let number = self.sources.iter().position(|other| other == place).unwrap_or_else(|| {
                    self.sources.push(*place);
                    self.sources.len() - 1
                });
                Op::Source(number)
            }
            program::Op::Selector(place) => {
                let param = match (self.selector)(*place) {
                    SelectorKind::Subset { of } => Param::Subset(*of),
                    SelectorKind::Lanes { lanes, of } => Param::Pick(*lanes, *of),
                    SelectorKind::Listed { words } => Param::Pick(1, words.len() as u8 + 1),
                };
                Op::Selector(self.param(Datum::Selector(*place), param))
            }
            program::Op::Constant(bits) => match lane {
                Lane::Bits(width) => Op::Splat(self.param(Datum::Constant(*bits, width), Param::Constant(width as u8))),
                Lane::Predicate | Lane::Pick(_) => Op::Constant(*bits),
            },
            program::Op::Select(condition, a, b) => {
                let (condition, swapped) = self.condition(*condition);
                let [a, b] = if swapped { [b, a] } else { [a, b] }.map(|id| self.value(*id));
                Op::Select(condition, a, b)
            }
            program::Op::Reinterpret(of) => {
                let inner = self.value(*of);
                if (self.shape.values[inner].lane, self.shape.values[inner].lanes) == (lane, lanes) {
                    self.places.insert(id, inner);
                    return inner;
                }
                Op::Reinterpret(inner)
            }
            program::Op::Spread(of) => Op::Spread(self.source_or_predicate(*of)),
            other => other.map(|id| self.value(id)),
        };
        let place = self.push(op, lane, lanes);
        self.places.insert(id, place);
        place
    }

    /// A predicate for all lanes; for a source, the enclosing truth table applies its `!`.
    fn source_or_predicate(&mut self, id: ValueId) -> usize {
        if self.is_source(id) { self.raw(id) } else { self.predicate(id) }
    }

    fn is_source(&self, id: ValueId) -> bool {
        match self.program.value(id).op {
            program::Op::Source(_) => true,
            program::Op::Spread(of) => self.is_source(of),
            _ => false,
        }
    }

    /// Leaves of a predicate, comparisons before sources; a subexpression with too many leaves is a leaf itself.
    fn leaves(&self, id: ValueId, lane: Option<u32>) -> Vec<Leaf> {
        let Some(args) = self.algebraic(id) else {
            return match &self.program.value(id).op {
                program::Op::Lane(of, index) => self.leaves(*of, Some(*index)),
                _ => vec![Leaf { id, lane }],
            };
        };
        let parts: Vec<Vec<Leaf>> = args.iter().map(|arg| self.leaves(*arg, lane)).collect();
        let mut all: Vec<Leaf> = Vec::new();
        for leaf in parts.iter().flatten() {
            if !all.contains(leaf) {
                all.push(*leaf);
            }
        }
        if all.len() > LEAVES {
            all = args.iter().map(|arg| Leaf { id: *arg, lane }).collect();
        }
        all.sort_by_key(|leaf| self.is_source(leaf.id));
        all
    }

    /// Operands of a predicate that is a Boolean expression.
    fn algebraic(&self, id: ValueId) -> Option<Vec<ValueId>> {
        let value = self.program.value(id);
        let is_algebraic = matches!(value.op, program::Op::Constant(_)) || truth_table(self.model, value).is_some();
        is_algebraic.then(|| value.op.args())
    }

    /// Value of a predicate for given values of its leaves.
    fn outcome(&self, id: ValueId, lane: Option<u32>, leaves: &[Leaf], spelt: usize) -> bool {
        if let Some(index) = leaves.iter().position(|leaf| *leaf == Leaf { id, lane }) {
            return spelt >> index & 1 != 0;
        }
        let value = self.program.value(id);
        match &value.op {
            program::Op::Lane(inner, index) => self.outcome(*inner, Some(*index), leaves, spelt),
            program::Op::Constant(bits) => *bits != 0,
            op => {
                let table = truth_table(self.model, value).expect("a leaf, or a Boolean function");
                let args = op.args().into_iter().rev();
                let inputs = args.fold(0, |inputs, arg| inputs << 1 | u8::from(self.outcome(arg, lane, leaves, spelt)));
                table >> inputs & 1 != 0
            }
        }
    }

    fn outcomes(&self, id: ValueId, leaves: &[Leaf]) -> u8 {
        (0..1 << leaves.len()).fold(0, |table, spelt| table | u8::from(self.outcome(id, None, leaves, spelt)) << spelt)
    }

    /// Index of a leaf in the shape.
    fn leaf(&mut self, leaf: Leaf) -> usize {
        let value = match self.algebraic(leaf.id) {
            Some(_) => self.predicate(leaf.id),
            None => self.raw(leaf.id),
        };
        match leaf.lane {
            Some(lane) => self.push(Op::Lane(value, lane), Lane::Predicate, 1),
            None => value,
        }
    }

    /// Index of a predicate: the comparison itself, or its truth table.
    fn predicate(&mut self, id: ValueId) -> usize {
        match self.leaves(id, None).as_slice() {
            [only] if !self.is_source(only.id) && self.outcomes(id, &[*only]) == IDENTITY => self.leaf(*only),
            _ => self.truth(id),
        }
    }

    /// Condition of a selection, and whether to swap the alternatives.
    fn condition(&mut self, id: ValueId) -> (usize, bool) {
        match self.leaves(id, None).as_slice() {
            [only] if !self.is_source(only.id) => (self.leaf(*only), self.outcomes(id, &[*only]) != IDENTITY),
            _ => (self.truth(id), false),
        }
    }

    /// Truth table of a predicate.
    fn truth(&mut self, id: ValueId) -> usize {
        let leaves = self.leaves(id, None);
        let table = self.outcomes(id, &leaves);
        let lanes = self.program.value(id).ty.lanes();
        if leaves.is_empty() {
            return self.push(Op::Constant(u64::from(table & 1)), Lane::Predicate, lanes);
        }
        let places: Vec<usize> = leaves.iter().map(|leaf| self.leaf(*leaf)).collect();
        // Reuse the table of another predicate with complemented comparisons.
        let tests = leaves.iter().filter(|leaf| !self.is_source(leaf.id)).count();
        // The `!` of a source affects every table that reads it, so tables are shared only between equal source leaves.
        let asked: Vec<Option<Leaf>> = leaves.iter().map(|leaf| self.is_source(leaf.id).then_some(*leaf)).collect();
        let shared = (0..1_usize << tests).find_map(|complement| {
            let wanted = complemented(table, leaves.len(), complement);
            let serves = |known: &&(u8, Vec<Option<Leaf>>, usize)| known.0 == wanted && known.1 == asked;
            self.tables.iter().find(serves).map(|(.., param)| (*param, complement))
        });
        let (param, complement) = shared.unwrap_or_else(|| {
            self.data.push(Datum::Truth(table, leaves.len()));
            self.shape.params.push(Param::Truth(leaves.len() as u8));
            self.tables.push((table, asked, self.data.len() - 1));
            (self.data.len() - 1, 0)
        });
        let leaves = places.into_iter().enumerate().map(|(index, place)| (place, complement >> index & 1 != 0));
        let op = Op::Truth { table: Table::Param(param), leaves: leaves.collect() };
        self.push(op, Lane::Predicate, lanes)
    }
}

/// Truth table of a predicate that equals its only leaf.
const IDENTITY: u8 = 0b10;

/// Truth table with the inputs in the mask complemented.
fn complemented(table: u8, leaves: usize, complement: usize) -> u8 {
    (0..1 << leaves).fold(0, |found, spelt| found | (table >> (spelt ^ complement) & 1) << spelt)
}

/// Truth table of a selection: the condition is bit 0, what it selects bits 1 and 2.
const SELECTION: u8 = 0b1101_1000;

/// Truth table of a value that is a Boolean function of predicates, its arguments.
pub(super) fn truth_table(model: &Model, value: &program::Value) -> Option<u8> {
    match &value.op {
        program::Op::Call { callee, args: _ } => {
            let of_predicates = model.ty(callee.ty?).kind == Kind::Predicate;
            model.builtins[callee.builtin.0].truth.filter(|_| of_predicates)
        }
        program::Op::Select(..) => value.ty.is_predicate(model).then_some(SELECTION),
        _ => None,
    }
}

/// Folds parameters with the same value in all programs of a shape into the shape; returns it with a flag for each
/// parameter that is true if it remains.
pub(crate) fn fix(shape: &Shape, data: &[&[Datum]]) -> (Shape, Vec<bool>) {
    let asks_source = |param: usize| {
        shape.values.iter().any(|value| match &value.op {
            Op::Truth { table: Table::Param(own), leaves } if *own == param => {
                leaves.iter().any(|(leaf, _)| is_source(shape, *leaf))
            }
            _ => false,
        })
    };
    let kept: Vec<bool> = (0..shape.params.len())
        .map(|param| {
            let same = data.iter().all(|other| other[param] == data[0][param]);
            matches!(data[0][param], Datum::Selector(_)) || !same || asks_source(param)
        })
        .collect();
    let number = |param: usize| kept[..param].iter().filter(|kept| **kept).count();
    let mut fixed = shape.clone();
    for value in &mut fixed.values {
        match &mut value.op {
            Op::Splat(param) | Op::Selector(param) if kept[*param] => *param = number(*param),
            Op::Splat(param) => {
                let Datum::Constant(bits, _) = data[0][*param] else { unreachable!("a constant's parameter") };
                value.op = Op::Constant(bits);
            }
            Op::Truth { table, leaves: _ } => {
                let Table::Param(param) = *table else { unreachable!("fixed once") };
                *table = match data[0][param] {
                    _ if kept[param] => Table::Param(number(param)),
                    Datum::Truth(outcomes, _) => Table::Fixed(outcomes),
                    Datum::Constant(..) | Datum::Selector(_) => unreachable!("a table's parameter"),
                };
            }
            _ => {}
        }
    }
    let mut kept_params = kept.iter();
    fixed.params.retain(|_| *kept_params.next().expect("one for each"));
    (fixed, kept)
}

/// Returns true if a leaf of a truth table is a source, or a broadcast source.
fn is_source(shape: &Shape, value: usize) -> bool {
    match shape.values[value].op {
        Op::Source(_) => true,
        Op::Spread(of) => is_source(shape, of),
        _ => false,
    }
}
