//! Encoding of shapes as bytes, as stored in tables.

use isa_table::program::{ALL_THREADS, Outcomes, Value as Coded};

use super::lift::truth_table;
use super::shape::{Lane, Op, Shape, Value};
use super::{Operation, Operations, Table, each_lane};
use crate::model::{Model, Param, Pattern, Signature};
use crate::program::{self, Program, ValueId};

/// Encodes the values of a shape. Reinterpretation is a no-op on bits.
pub(super) fn encode(model: &Model, shape: &Shape, operations: &mut Operations) -> Vec<u8> {
    let mut code = Vec::new();
    for value in &shape.values {
        let (bits, lanes) = (value.bits().unwrap_or(0) as u8, value.lanes as u8);
        let coded = match &value.op {
            Op::Source(number) => Coded::Source { source: *number as u8, bits: bits * lanes },
            Op::Selector(param) => Coded::Selector { param: *param as u8 },
            Op::Constant(word) => {
                let each = (0..lanes).map(|lane| u128::from(*word) << (u32::from(lane) * u32::from(bits)));
                Coded::Constant(each.fold(0, |all, lane| all | lane))
            }
            Op::Splat(param) => Coded::Splat { param: *param as u8, bits, lanes },
            // Same bits: a single lane that spans the whole value.
            Op::Reinterpret(of) => Coded::Lane { of: *of as u8, lane: 0, bits: bits * lanes },
            Op::Lane(of, lane) => Coded::Lane { of: *of as u8, lane: *lane as u8, bits },
            Op::Spread(of) => Coded::Spread { of: *of as u8, lanes },
            Op::Own(own) => Coded::Own(*own),
            Op::Select(condition, a, b) => {
                let deciding = shape.values[*condition].lanes as u8;
                let each = bits * lanes / deciding;
                Coded::Select { args: [*condition as u8, *a as u8, *b as u8], lanes: deciding, bits: each }
            }
            Op::Truth { table, leaves } => {
                let table = match table {
                    Table::Param(param) => Outcomes::Param(*param as u8),
                    Table::Fixed(outcomes) => Outcomes::Fixed(*outcomes),
                };
                let leaves: Vec<(u8, u8)> =
                    leaves.iter().map(|(leaf, complement)| (*leaf as u8, u8::from(*complement))).collect();
                Coded::Truth { table, lanes, leaves: &leaves }.encode(&mut code);
                continue;
            }
            Op::Call { callee, args } => {
                let Signature { params, of_warp, .. } = &model.builtins[callee.builtin.0].signature;
                let together = params.iter().position(|param| *param == Param::GenericLanes);
                let together = together.map(|index| shape.values[args[index]].lanes);
                let operation = operations.number(Operation { callee: callee.clone(), lanes: together });
                let each = each_lane(model, callee.builtin);
                let args: Vec<(u8, u8)> = args
                    .iter()
                    .zip(of_warp)
                    .map(|(arg, of_warp)| {
                        let value = &shape.values[*arg];
                        let whole = !each || value.lanes == 1 || matches!(value.lane, Lane::Pick(_));
                        let bits = if whole { 0 } else { value.bits().unwrap_or(0) as u8 };
                        (*arg as u8, if *of_warp { ALL_THREADS } else { bits })
                    })
                    .collect();
                let (lanes, bits) = if each { (lanes, bits) } else { (1, bits * lanes) };
                Coded::Call { operation, lanes, bits, args: &args }.encode(&mut code);
                continue;
            }
        };
        coded.encode(&mut code);
    }
    code
}

/// Encodes a lowered program: see [`super::trace`].
pub(super) fn encode_program(
    model: &Model,
    operations: &mut Operations,
    program: &Program,
    patterns: &[Pattern],
) -> Vec<u8> {
    let read = |place: usize| patterns[..place].iter().filter(|pattern| !pattern.destination).count();
    let selectors = |place: usize| patterns[..place].iter().filter(|pattern| pattern.selector.is_some()).count();
    let values = program.values.iter().map(|value| {
        let truth = |leaves: &[ValueId], outcomes: u8| {
            let leaves = leaves.iter().map(|leaf| (leaf.0, false)).collect();
            Op::Truth { table: Table::Fixed(outcomes), leaves }
        };
        let op = match (&value.op, truth_table(model, value)) {
            (op, Some(outcomes)) => truth(&op.args(), outcomes),
            (program::Op::Source(place), _) => Op::Source(read(*place)),
            (program::Op::Selector(place), _) => Op::Selector(selectors(*place)),
            (op, None) => op.map(|id| id.0),
        };
        Value { op, lane: Lane::of(model, value.ty), lanes: value.ty.lanes() }
    });
    let shape = Shape { values: values.collect(), outputs: Vec::new(), params: Vec::new() };
    encode(model, &shape, operations)
}
