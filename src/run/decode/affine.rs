//! Which instructions of a kernel compute values that are the same in all threads of a block, or affine in their position: see
//! [`super::super::affine`].
//!
//! A register may have such values if every instruction that writes it computes them from such registers. Whether they do is known
//! when the kernel runs; here others are left out, so that only few instructions have to be asked.

use std::ops::Range;
use std::prelude::rust_2024::*;
use std::sync::Arc;
use std::vec;

use ptx_isa::table::{EffectKind, LinearValue, Origin};
use ptx_isa::text::resolved::{Function, Instruction, Value};
use ptx_isa::warp::Row;

use super::super::affine::{Class, class, compares};
use super::code::Where;
use super::uses::Uses;
use super::{Planning, Symbolic, where_of};

/// Returns the class of the values of a special register.
pub(super) fn origin(origin: Origin) -> Class {
    match origin {
        Origin::ThreadIndex => Class::Affine,
        Origin::BlockShape
        | Origin::BlockIndex
        | Origin::GridShape
        | Origin::GridClusters
        | Origin::ClusterShape
        | Origin::ClusterSize
        | Origin::HasClusters
        | Origin::Warps
        | Origin::DynamicShared
        | Origin::TotalShared
        | Origin::AggregateShared
        | Origin::ReservedShared
        | Origin::ReservedSharedEnd
        | Origin::ReservedSharedSize
        | Origin::Workspace
        | Origin::WorkspaceHigh
        | Origin::LaunchNumber => Class::Uniform,
        _ => Class::Other,
    }
}

/// Registers that may be affine, with numbers.
#[derive(Default)]
pub(super) struct Numbers {
    /// By number.
    pub rows: Vec<Row>,
    /// The number of each register, by the logarithm of its width.
    by_width: [Vec<Option<u32>>; 7],
}

impl Numbers {
    pub(super) fn get(&self, row: Row) -> Option<u32> {
        self.by_width.get(row.bits.ilog2() as usize)?.get(row.number as usize).copied().flatten()
    }

    /// The number of a register, which gets one if it has none.
    pub(super) fn add(&mut self, row: Row) -> u32 {
        let list = &mut self.by_width[row.bits.ilog2() as usize];
        if list.len() <= row.number as usize {
            list.resize(row.number as usize + 1, None);
        }
        let rows = &mut self.rows;
        *list[row.number as usize].get_or_insert_with(|| {
            rows.push(row);
            rows.len() as u32 - 1
        })
    }
}

/// How the results of an instruction are computed once for all threads.
#[derive(Clone, Debug)]
pub(super) enum Once {
    /// By the formula of its program, which has these values and results.
    Formula(Arc<[LinearValue]>, &'static [u8]),
    /// In one thread, as its sources are the same in all.
    Any,
    /// It copies its source.
    Copy,
    /// It loads a parameter of the kernel, or constant memory.
    Load,
}

/// Registers and instructions of a kernel.
#[derive(Default)]
pub(super) struct Classes {
    /// The class of each register; none for other functions.
    pub registers: Vec<Class>,
    pub instructions: Vec<Option<Once>>,
    /// For each instruction, true if a thread executes it at most once and no other one writes its results.
    pub single: Vec<bool>,
    /// True if affine values are compared.
    pub compares: bool,
}

/// Ranges of instructions that a thread may execute several times, in ascending order: those between the target of a branch that goes back
/// and the branch. Every loop lies in such a range.
fn repeated(function: &Function) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (index, instruction) in function.instructions.iter().enumerate() {
        let Some(target) = instruction.targets().filter(|target| *target <= index).min() else { continue };
        let mut range = target..index + 1;
        // Ranges that overlap become one.
        while let Some(last) = ranges.pop_if(|last| last.end > range.start) {
            range.start = range.start.min(last.start);
        }
        ranges.push(range);
    }
    ranges
}

/// An instruction that writes registers.
struct Definition<'u> {
    instruction: usize,
    results: &'u [usize],
    sources: Vec<Source>,
}

#[derive(Clone, Copy)]
enum Source {
    Register(usize),
    Known(Class),
}

impl Planning<'_> {
    pub(super) fn classes(&self, number: usize, uses: &Uses) -> Classes {
        let function = &self.module.functions[number];
        let mut instructions = vec![None; function.instructions.len()];
        let mut definitions = Vec::new();
        let mut registers = vec![Class::Other; function.registers.len()];
        let mut others = Vec::new();
        let mut writes = vec![0_u32; function.registers.len()];
        for (index, instruction) in function.instructions.iter().enumerate() {
            let results = uses.writes(index);
            results.iter().for_each(|register| writes[*register] += 1);
            match self.once(function, instruction) {
                Some(once) => {
                    let sources = self.sources(number, instruction);
                    results.iter().for_each(|register| registers[*register] = Class::Uniform);
                    definitions.push(Definition { instruction: index, results, sources });
                    instructions[index] = Some(once);
                }
                None => others.extend(results),
            }
        }
        others.into_iter().for_each(|register: &usize| registers[*register] = Class::Other);
        for (class, register) in registers.iter_mut().zip(&function.registers) {
            if Row::of(self.module.table.ty(register.ty), 0).bits > 64 {
                *class = Class::Other;
            }
        }
        // Classes rise until they fit every definition.
        loop {
            let mut changed = false;
            for Definition { instruction, results, sources } in &definitions {
                let Some(once) = &instructions[*instruction] else { continue };
                let of = |source: &Source| match source {
                    Source::Register(register) => registers[*register],
                    Source::Known(class) => *class,
                };
                let most = || sources.iter().map(of).max().unwrap_or(Class::Uniform);
                let class = match once {
                    Once::Load => Class::Uniform,
                    Once::Copy => most(),
                    Once::Any if most() == Class::Uniform => Class::Uniform,
                    Once::Any => Class::Other,
                    Once::Formula(values, results) => {
                        class(values, results, |input| sources.get(usize::from(input)).map_or(Class::Other, of))
                    }
                };
                // One value stands for all lanes of all results, or of none.
                let class = results.iter().map(|register| registers[*register]).fold(class, Class::max);
                for register in *results {
                    changed |= registers[*register] < class;
                    registers[*register] = class;
                }
            }
            if !changed {
                break;
            }
        }
        for Definition { instruction, results, .. } in &definitions {
            if results.iter().any(|register| registers[*register] == Class::Other) {
                instructions[*instruction] = None;
            }
        }
        let compares = definitions.iter().any(|Definition { instruction, sources, .. }| {
            let affine =
                |source: &Source| matches!(source, Source::Register(register) if registers[*register] == Class::Affine);
            matches!(&instructions[*instruction], Some(Once::Formula(values, _)) if compares(values))
                && sources.iter().any(affine)
        });
        let mut single = vec![false; function.instructions.len()];
        let mut repeated = repeated(function).into_iter().peekable();
        for Definition { instruction, results, .. } in &definitions {
            while repeated.next_if(|range| range.end <= *instruction).is_some() {}
            let once = repeated.peek().is_none_or(|range| *instruction < range.start);
            single[*instruction] = once && results.iter().all(|register| writes[*register] == 1);
        }
        Classes { registers, instructions, single, compares }
    }

    /// How an instruction might be computed once; none if its results differ from thread to thread in other ways, or if it does more.
    fn once(&self, function: &Function, instruction: &Instruction) -> Option<Once> {
        let form = instruction.form;
        if instruction.guard.is_some() || form.is_collective() || form.states().iter().next().is_some() {
            return None;
        }
        let mut effects = form.effects_with(&instruction.free);
        match (effects.next(), effects.next(), form.evaluations().is_empty()) {
            (None, _, false) => {
                let sources = form.operands().iter().zip(&instruction.operands);
                let sources =
                    sources.filter(|(info, operand)| !info.destination && !matches!(operand.value, Value::Absent));
                let evaluator = form.evaluator(self.sm(), sources.count())?;
                let shape = evaluator.shape();
                let wide = shape.places.iter().any(|bits| *bits > 64);
                (!wide).then(|| match evaluator.linear() {
                    Some(values) => Once::Formula(values.into(), shape.outputs),
                    None => Once::Any,
                })
            }
            (Some(effect), None, true) => match effect.kind {
                EffectKind::Read => self.reads_constant(function, instruction).then_some(Once::Load),
                EffectKind::ToGeneric | EffectKind::FromGeneric => {
                    let word = effect.arguments.get(1).and_then(|slot| instruction.modifier(*slot));
                    let space = word.and_then(|name| self.module.table.space(name)).and_then(|space| space.memory);
                    (where_of(space) == Where::Device).then_some(Once::Copy)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The sources of an instruction, in order.
    fn sources(&self, number: usize, instruction: &Instruction) -> Vec<Source> {
        let mut sources = Vec::new();
        for (info, operand) in instruction.form.operands().iter().zip(&instruction.operands) {
            if info.destination {
                continue;
            }
            sources.push(match &operand.value {
                Value::Absent => continue,
                Value::Register(register) | Value::Not(register) => Source::Register(*register),
                Value::Constant(_) => Source::Known(Class::Uniform),
                Value::Special { special, .. } => Source::Known(origin(special.origin)),
                Value::Address { symbol, addend } => {
                    let frame = matches!(self.symbol(number, *symbol, *addend), Ok(Symbolic::Frame { .. }) | Err(_));
                    Source::Known(if frame { Class::Other } else { Class::Uniform })
                }
                _ => Source::Known(Class::Other),
            });
        }
        sources
    }
}
