//! Plan of a table: shapes, operations and loops, their sharing, and the reasons why forms have no loop over lanes.
//!
//! ```text
//! checked model        4,251 forms, some hundred programs
//!   lift               programs that are equal once constants, tables and selectors are data share a shape
//!   operations         what shapes call, each builtin and type once
//!   loops              a shape runs over lanes by one loop, or thread by thread for a stated reason
//! ```
//!
//! Independent of Rust: [`crate::emit`] generates code from the plan.

mod code;
mod lift;
mod shape;

use std::collections::{HashMap, HashSet};
use std::fmt;

use isa_table::limits::PLACES;
use isa_table::program::Lanes;

use crate::check::{Checked, Form, FormProgram};
use crate::model::{BuiltinId, Model, Param, Pattern};
pub(crate) use crate::program::Table;
use crate::program::{Callee, Program};
use lift::{Datum, Lifted};
pub(crate) use shape::{Lane, Op, Shape, Value};

/// Contents of a table beside its forms.
pub(crate) struct Plan {
    /// Operations that programs call, by number.
    pub operations: Vec<Operation>,
    pub shapes: Vec<Planned>,
    /// Shapes that have a loop, by the number of the loop.
    pub loops: Vec<usize>,
    /// Evaluations of each form, in the order of its programs.
    pub evaluations: Vec<Vec<Evaluation>>,
    /// For each form and effect, the evaluation of an update's new value.
    pub changes: Vec<Vec<Option<Evaluation>>>,
}

/// An operation of programs: a builtin for one type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operation {
    pub callee: Callee,
    /// Number of lanes passed at once, if it is generic.
    pub lanes: Option<u32>,
}

/// A shape and its code.
pub(crate) struct Planned {
    pub shape: Shape,
    /// Encoded values.
    pub code: Vec<u8>,
    /// Its loop, or the reason why it has none.
    pub lanes: Lanes<String>,
    /// Forms that share it, by index.
    pub forms: Vec<usize>,
}

/// Evaluation of a form for a range of targets and a number of source operands.
pub(crate) struct Evaluation {
    pub below: u16,
    /// Number of source operands that are written.
    pub written: usize,
    pub shape: usize,
    /// For each source of the shape, the index of its operand among the source operands.
    pub sources: Vec<u8>,
    /// For each parameter, its bits, its truth table, or the index of its selector.
    pub data: Vec<u64>,
    /// Evaluation that computes which results are unspecified, if any may be.
    pub unspecified: Option<Box<Evaluation>>,
}

/// Plans the table of a checked model.
pub(crate) fn plan(checked: &Checked) -> Plan {
    let model = &checked.model;
    let mut lifted: HashMap<usize, Lifted> = HashMap::new();
    // Shapes before constant parameters are folded, each with its programs.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut numbers: HashMap<Shape, usize> = HashMap::new();
    let mut group_of: HashMap<usize, usize> = HashMap::new();
    for form in &checked.forms {
        for program in form.all_programs() {
            if lifted.contains_key(&program) {
                continue;
            }
            let patterns = &form.patterns;
            let selector = |place: usize| {
                let selector = patterns[place].selector.as_ref().expect("lowered from it");
                &selector.spelling.kind
            };
            let found = lift::lift(model, &checked.programs[program], selector);
            let group = *numbers.entry(found.shape.clone()).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[group].push(program);
            group_of.insert(program, group);
            lifted.insert(program, found);
        }
    }
    let wanted = |form: &&Form| !form.scalarized;
    let wanted: HashSet<usize> =
        checked.forms.iter().filter(wanted).flat_map(|form| &form.programs).map(|of| group_of[&of.program]).collect();
    let mut operations = Operations::default();
    let mut loops = Vec::new();
    let mut kept = Vec::new();
    let mut shapes: Vec<Planned> = Vec::new();
    for (number, programs) in groups.iter().enumerate() {
        let data: Vec<&[Datum]> = programs.iter().map(|program| lifted[program].data.as_slice()).collect();
        let (shape, keeps) = lift::fix(&lifted[&programs[0]].shape, &data);
        let code = code::encode(model, &shape, &mut operations);
        let collective = checked.programs[programs[0]].is_collective(model);
        let index = loops.len() as u32;
        let why =
            without_lanes(&shape).or_else(|| (!wanted.contains(&number)).then(|| "the spec scalarizes it".into()));
        let lanes = match why {
            None if !collective => Lanes::Loop(index),
            None if has_bodies(model, &shape) => Lanes::Warp(Some(index)),
            _ if collective => Lanes::Warp(None),
            why => Lanes::None(why.unwrap_or_default()),
        };
        if matches!(lanes, Lanes::Loop(_) | Lanes::Warp(Some(_))) {
            loops.push(number);
        }
        kept.push(keeps);
        shapes.push(Planned { shape, code, lanes, forms: Vec::new() });
    }
    let (mut evaluations, mut changes) = (Vec::new(), Vec::new());
    for (index, form) in checked.forms.iter().enumerate() {
        let evaluation = |of: &FormProgram, program: usize| {
            let shape = group_of[&program];
            evaluation(form, of.operands, of.below, &lifted[&program], shape, &kept[shape])
        };
        let list = form.programs.iter().map(|of| {
            let planned = &mut shapes[group_of[&of.program]];
            if planned.forms.last() != Some(&index) {
                planned.forms.push(index);
            }
            let unspecified = of.unspecified.map(|program| Box::new(evaluation(of, program)));
            Evaluation { unspecified, ..evaluation(of, of.program) }
        });
        evaluations.push(list.collect());
        let changed = form.effects.iter().map(|effect| {
            effect.change.map(|program| {
                let shape = group_of[&program];
                self::evaluation(form, form.patterns.len(), u16::MAX, &lifted[&program], shape, &kept[shape])
            })
        });
        changes.push(changed.collect());
    }
    Plan { operations: operations.list, shapes, loops, evaluations, changes }
}

fn evaluation(form: &Form, operands: usize, below: u16, lifted: &Lifted, shape: usize, kept: &[bool]) -> Evaluation {
    let patterns = &form.patterns;
    // Behind the operands is what an effect provides.
    let read = |place: usize| {
        let written = patterns.iter().take(place).filter(|pattern| !pattern.destination).count();
        written + place.saturating_sub(patterns.len())
    };
    let selectors = |place: usize| patterns[..place].iter().filter(|pattern| pattern.selector.is_some()).count();
    let data = lifted.data.iter().zip(kept).filter(|(_, kept)| **kept).map(|(datum, _)| match *datum {
        Datum::Constant(bits, _) => bits,
        Datum::Truth(outcomes, _) => outcomes.into(),
        Datum::Selector(place) => selectors(place) as u64,
    });
    Evaluation {
        below,
        written: read(operands),
        shape,
        sources: lifted.sources.iter().map(|place| read(*place) as u8).collect(),
        data: data.collect(),
        unspecified: None,
    }
}

/// Operations under construction.
#[derive(Default)]
pub(crate) struct Operations {
    list: Vec<Operation>,
    numbers: HashMap<Operation, u16>,
}

impl Operations {
    /// Starts with the operations of an existing plan.
    pub(crate) fn known(list: &[Operation]) -> Operations {
        let numbers = list.iter().cloned().enumerate().map(|(number, operation)| (operation, number as u16));
        Operations { list: list.to_vec(), numbers: numbers.collect() }
    }

    fn number(&mut self, operation: Operation) -> u16 {
        let next = self.list.len() as u16;
        let list = &mut self.list;
        *self.numbers.entry(operation).or_insert_with_key(|operation| {
            list.push(operation.clone());
            next
        })
    }
}

/// Operand widths that a loop reads or writes, in bits; 1 for predicates. Registers of 16 bits hold bytes.
const REGISTERS: [u32; 5] = [1, 8, 16, 32, 64];

/// Lane widths that a loop computes with, in bits.
const LANES: [u32; 5] = [1, 8, 16, 32, 64];

/// Reason why a shape has no loop, if it has none.
fn without_lanes(shape: &Shape) -> Option<String> {
    let places = shape.places();
    if places.len() > PLACES {
        return Some(format!("it has {} sources and destinations, and a loop has at most {PLACES}", places.len()));
    }
    if shape.sources().is_empty() {
        return Some("it has no source".into());
    }
    if let Some(bits) = places.iter().find(|bits| !REGISTERS.contains(bits)) {
        return Some(format!("an operand has {bits} bits, and the registers of warps have 16, 32 or 64"));
    }
    for value in &shape.values {
        if let Some(bits) = value.bits().filter(|bits| !LANES.contains(bits)) {
            return Some(format!("a value has lanes of {bits} bits, and loops know 8, 16, 32 and 64"));
        }
        if !matches!(value.lanes, 1 | 2 | 4) {
            return Some(format!("a value has {} lanes, and loops know 1, 2 and 4", value.lanes));
        }
    }
    None
}

/// Returns true if each builtin that reads other lanes of the warp has a body for all of them.
fn has_bodies(model: &Model, shape: &Shape) -> bool {
    shape.values.iter().all(|value| match &value.op {
        Op::Call { callee, .. } => {
            let builtin = &model.builtins[callee.builtin.0];
            builtin.warp || !builtin.signature.of_warp.contains(&true)
        }
        _ => true,
    })
}

/// Returns true if a builtin works lane by lane: it takes no groups of lanes and returns no packed value.
pub(crate) fn each_lane(model: &Model, builtin: BuiltinId) -> bool {
    let signature = &model.builtins[builtin.0].signature;
    signature.params.iter().chain([&signature.result]).all(|param| match param {
        Param::Type(ty) => model.ty(*ty).lanes == 1,
        Param::Generic | Param::To | Param::Pick(_) => true,
        Param::GenericLanes => false,
    })
}

/// Summary of the plan, for authors of a spec.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = self.evaluations.iter().filter(|list| !list.is_empty()).count();
        writeln!(
            f,
            "{forms} forms with evaluators, {} shapes, {} loops, {} operations",
            self.shapes.len(),
            self.loops.len(),
            self.operations.len()
        )?;
        let mut without: Vec<(&str, usize)> = Vec::new();
        for planned in &self.shapes {
            let Lanes::None(why) = &planned.lanes else { continue };
            match without.iter_mut().find(|(other, _)| other == why) {
                Some((_, forms)) => *forms += planned.forms.len(),
                None => without.push((why, planned.forms.len())),
            }
        }
        without.iter().try_for_each(|(why, forms)| writeln!(f, "{forms} forms run thread by thread: {why}"))
    }
}

/// Encodes a lowered program with the values of its steps, for display. Each selector is a parameter, its index among
/// those of the form.
pub(crate) fn trace(model: &Model, operations: &mut Operations, program: &Program, patterns: &[Pattern]) -> Vec<u8> {
    code::encode_program(model, operations, program, patterns)
}
