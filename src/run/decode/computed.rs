//! Instructions that compute registers from registers.

use std::prelude::rust_2024::*;
use std::{format, vec};

use ptx_isa::table::{LinearValue, Operand};
use ptx_isa::text::resolved::{Instruction, Value};
use ptx_isa::warp::{Gathered, Row, Source};

use super::super::affine::{Formula, Input};
use super::super::error::Error;
use super::affine;
use super::code::{Action, Cell, Computation, Meeting, Once, Op};
use super::{Open, Planning};

impl Planning<'_> {
    /// The numbers of the registers that may be affine.
    pub(super) fn numbers(&self, cells: &[Cell]) -> Vec<u32> {
        let number = |cell: &Cell| if let Cell::Row(row) = cell { self.affine.get(*row) } else { None };
        cells.iter().filter_map(number).collect()
    }

    /// The formula of a copy.
    pub(super) fn copied(&self, from: Cell, to: Cell) -> Option<Formula> {
        let (Cell::Row(from), Cell::Row(to)) = (from, to) else { return None };
        let value = LinearValue::Input { input: 0, bits: to.bits };
        let input = Input::Row(self.affine.get(from)?);
        Formula::new(&[value], &[input], [0].into_iter()).filter(|_| from.bits == to.bits)
    }

    /// Tries to compute once what the next operation computes.
    pub(super) fn push_once(&self, open: &mut Open<'_>, formula: Option<Formula>, results: &[Cell]) {
        let (mut reads, writes) = (open.take_reads(), self.numbers(results));
        if let Some(formula) = &formula {
            reads.retain(|read| formula.reads(*read));
        }
        let single = self.classes.single[open.instruction];
        open.code.ops.push(Op::Once(Box::new(Once { formula, reads, writes, single, count: open.pending })));
        open.apart = true;
    }

    /// The cell of a source of an instruction that computes registers from registers.
    pub(super) fn source(&mut self, open: &mut Open<'_>, info: &Operand, value: &Value) -> Result<Cell, Error> {
        let bits = Row::of(self.module.table.ty(info.ty), 0).bits.min(64);
        self.cell(open, value, bits)
    }

    /// The operands of an instruction that computes registers from registers.
    pub(super) fn gather(
        &mut self,
        open: &mut Open<'_>,
        instruction: &Instruction,
        guard: Option<(u32, bool)>,
    ) -> Result<Gathered, Error> {
        let mut gathered = Gathered { guard, ..Gathered::default() };
        for (info, operand) in instruction.form.operands().iter().zip(&instruction.operands) {
            let rows = &self.layouts[open.number].rows;
            let second = operand.second.map(|register| rows[register]);
            let value = match (&operand.value, info.destination) {
                (Value::Register(register), true) => Some(Source::Register(rows[*register])),
                (_, true) | (Value::Absent, _) => None,
                (value, false) => Some(match self.source(open, info, value)? {
                    Cell::Constant(value) => Source::Constant(value),
                    Cell::Not(number) => Source::Not(Row { bits: 1, number }),
                    Cell::Row(row) => Source::Register(row),
                    Cell::Sink => return Err(unsupported(instruction, "an operand is a sink")),
                }),
            };
            gathered.add(info, value, second, operand.selector);
        }
        Ok(gathered)
    }

    /// The computation of an instruction on the bits of its operands.
    pub(super) fn computation(&self, instruction: &Instruction, gathered: &Gathered) -> Result<Computation, Error> {
        let Gathered { sources, destinations, selectors, .. } = gathered;
        let evaluator = instruction.form.evaluator(self.sm(), sources.len());
        let cell = |source: &Source<Row>| match *source {
            Source::Register(row) => Cell::Row(row),
            Source::Not(row) => Cell::Not(row.number),
            Source::Constant(value) => Cell::Constant(value),
        };
        Ok(Computation {
            evaluator: evaluator.ok_or_else(|| unsupported(instruction, "it has other operands"))?,
            sources: sources
                .iter()
                .map(cell)
                .chain(selectors.iter().map(|lanes| Cell::Constant((*lanes).into())))
                .collect(),
            destinations: destinations.iter().map(|row| row.map_or(Cell::Sink, Cell::Row)).collect(),
        })
    }

    /// An instruction that computes registers from registers.
    pub(super) fn evaluated(
        &mut self,
        open: &mut Open<'_>,
        instruction: &Instruction,
        gathered: &Gathered,
        once: Option<affine::Once>,
    ) -> Result<(), Error> {
        let form = instruction.form;
        let (sources, destinations) = (&gathered.sources, &gathered.destinations);
        let wide = |row: &Row| row.bits == 128;
        let any = sources.iter().any(|source| matches!(source, Source::Register(row) if wide(row)))
            || destinations.iter().flatten().any(wide);
        if any {
            // No lanes hold registers of this width.
            let computed = self.computation(instruction, gathered)?;
            open.fill();
            open.effect(gathered.guard, Action::Evaluate(computed));
            open.apart = true;
            return Ok(());
        }
        // Lanes that met others elsewhere go on behind it.
        let meets =
            |op: &Op| matches!(op, Op::Effect { action: Action::Converge { meeting: Meeting::Collective(_), .. }, .. });
        let alone = once.is_some() || open.code.ops.last().is_some_and(meets);
        if let Some(once) = once {
            let formula = match once {
                affine::Once::Formula(values, results) => {
                    self.formula(instruction, (&values, results), sources, destinations)
                }
                _ => None,
            };
            let results: Vec<Cell> = destinations.iter().flatten().map(|row| Cell::Row(*row)).collect();
            self.push_once(open, formula, &results);
        }
        let reads = open.take_reads();
        let from = open.code.program.len() as u32;
        let pushed = open.code.program.push_rows(form, &gathered.operands());
        pushed.map_err(|error| unsupported(instruction, &error.to_string()))?;
        let to = open.code.program.len() as u32;
        #[cfg(feature = "jit")]
        {
            let kernel = open.number == open.code.needed.kernel;
            let instruction = kernel.then_some(open.instruction as u32);
            open.code.needed.instructions.resize(to as usize, instruction);
        }
        let count = open.count();
        match open.code.ops.last_mut() {
            Some(Op::Run { to: last, count: before, reads: own, .. }) if !open.apart => {
                *last = to;
                *before += count;
                own.extend(reads.into_iter().filter(|read| !own.contains(read)).collect::<Vec<_>>());
            }
            _ => open.code.ops.push(Op::Run { from, to, count, reads }),
        }
        open.apart = alone;
        Ok(())
    }

    /// The formula of an instruction with its operands; none if a register is narrower than its operand, or wider than the result.
    fn formula(
        &self,
        instruction: &Instruction,
        (values, results): (&[LinearValue], &[u8]),
        sources: &[Source<Row>],
        destinations: &[Option<Row>],
    ) -> Option<Formula> {
        let evaluator = instruction.form.evaluator(self.sm(), sources.len())?;
        let widths = evaluator.shape().places;
        let (to, from) = widths.split_at(results.len());
        if destinations.iter().zip(to).any(|(row, bits)| row.is_some_and(|row| row.bits != *bits)) {
            return None;
        }
        let mut inputs = vec![Input::Constant(0); sources.len()];
        for (source, bits) in evaluator.sources().iter().zip(from) {
            let source = usize::from(*source);
            inputs[source] = match sources[source] {
                Source::Register(row) if row.bits >= *bits => Input::Row(self.affine.get(row)?),
                Source::Constant(value) => Input::Constant(value),
                _ => return None,
            };
        }
        let written = results.iter().zip(destinations).filter(|(_, row)| row.is_some());
        Formula::new(values, &inputs, written.map(|(result, _)| *result))
    }
}

fn unsupported(instruction: &Instruction, why: &str) -> Error {
    Error::unsupported(format!("`{}` cannot be executed: {why}", instruction.form.mnemonic()))
}
