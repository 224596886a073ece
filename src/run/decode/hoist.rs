//! Instructions of a kernel whose results are the same in every block of a launch: they read parameters, constants, and special
//! registers in which blocks do not differ. Registers keep what they compute while one block after the other runs.

use std::prelude::rust_2024::*;
use std::vec;

use ptx_isa::table::{EffectKind, Memory as Belongs, Origin};
use ptx_isa::text::effects::space;
use ptx_isa::text::resolved::{Function, Instruction, Symbol, Value};

use super::uses::Uses;
use super::{Planning, Symbolic, external, is_parameter, memory};

/// Returns true if blocks of a launch differ in a special register.
pub(crate) fn differs(origin: Origin) -> bool {
    matches!(
        origin,
        Origin::BlockIndex
            | Origin::ClusterIndex
            | Origin::BlockInCluster
            | Origin::BlockRank
            | Origin::ReservedShared
            | Origin::ReservedSharedEnd
    )
}

/// Uses of a register in a function.
#[derive(Clone, Copy)]
struct Register {
    /// The first instruction that reads it.
    read: usize,
    /// Number of instructions that write it.
    writes: u32,
    /// True if its value is the same in all blocks.
    same: bool,
}

impl Planning<'_> {
    /// For each instruction of a kernel whether one block computes it for all of a launch.
    pub(super) fn hoisted(&self, number: usize, uses: &Uses) -> Vec<bool> {
        let function = &self.module.functions[number];
        let mut registers = vec![Register { read: usize::MAX, writes: 0, same: false }; function.registers.len()];
        for index in 0..function.instructions.len() {
            for register in uses.reads(index) {
                registers[*register].read = registers[*register].read.min(index);
            }
            uses.writes(index).iter().for_each(|register| registers[*register].writes += 1);
        }
        let mut hoisted = Vec::with_capacity(function.instructions.len());
        for (index, instruction) in function.instructions.iter().enumerate() {
            let written = uses.writes(index);
            let once = |register: &usize| registers[*register].writes == 1 && registers[*register].read > index;
            let same = !written.is_empty()
                && written.iter().all(once)
                && self.is_same(number, function, instruction, |register| registers[register].same);
            if same {
                written.iter().for_each(|register| registers[*register].same = true);
            }
            hoisted.push(same);
        }
        hoisted
    }

    /// Returns true if an instruction has the same results in all blocks, nothing else happens, and nothing can fail.
    fn is_same(
        &self,
        number: usize,
        function: &Function,
        instruction: &Instruction,
        same: impl Fn(usize) -> bool + Copy,
    ) -> bool {
        let form = instruction.form;
        if instruction.guard.is_some() || form.is_collective() || form.states().iter().next().is_some() {
            return false;
        }
        let mut effects = form.effects_with(&instruction.free);
        let reads = match (effects.next(), effects.next()) {
            (None, _) if form.evaluations().is_empty() => return false,
            (None, _) => false,
            (Some(effect), None) if form.evaluations().is_empty() => match effect.kind {
                EffectKind::Read => true,
                EffectKind::ToGeneric | EffectKind::FromGeneric | EffectKind::Copy => false,
                _ => return false,
            },
            _ => return false,
        };
        if reads {
            return self.reads_constant(function, instruction);
        }
        form.operands().iter().zip(&instruction.operands).filter(|(info, _)| !info.destination).all(|(_, operand)| {
            matches!(operand.value, Value::Absent) || self.is_same_value(number, &operand.value, same)
        })
    }

    /// Returns true if a load is of a parameter of the kernel or a variable in constant memory, as it is declared, so that it cannot fail.
    pub(super) fn reads_constant(&self, function: &Function, instruction: &Instruction) -> bool {
        let operands = || instruction.form.operands().iter().zip(&instruction.operands);
        let bytes: u64 = operands()
            .filter(|(info, _)| info.destination)
            .map(|(info, operand)| {
                let count = if let Value::List(list) = &operand.value { list.len() } else { 1 };
                count as u64 * u64::from(self.module.table.ty(info.ty).bits) / 8
            })
            .sum();
        operands().filter(|(info, _)| !info.destination).all(|(info, operand)| match &operand.value {
            Value::Address { symbol: Symbol::Local(variable), addend } => {
                let own = &function.variables[*variable];
                let at = own.offset.wrapping_add(*addend);
                memory(own) == Some(Belongs::Call)
                    && is_parameter(function, *variable)
                    && at.checked_add(bytes).is_some_and(|end| end <= function.parameter_bytes)
                    && at.is_multiple_of(bytes.next_power_of_two())
            }
            Value::Address { symbol: Symbol::Module(variable), addend } => {
                let own = &self.module.variables[*variable];
                let align = bytes.next_power_of_two();
                let named =
                    space(info, |slot| instruction.modifier(slot)).and_then(|name| self.module.table.space(name));
                memory(own) == Some(Belongs::Constant)
                    && named.is_none_or(|space| space.memory == Some(Belongs::Constant))
                    && !external(own)
                    && addend.checked_add(bytes).is_some_and(|end| end <= own.size)
                    && (addend | own.align).is_multiple_of(align)
            }
            value => matches!(value, Value::Absent),
        })
    }

    fn is_same_value(&self, number: usize, value: &Value, same: impl Fn(usize) -> bool + Copy) -> bool {
        match value {
            Value::Register(register) | Value::Not(register) => same(*register),
            Value::Constant(_) | Value::Absent => true,
            Value::Special { special, .. } => !special.origin.is_clock() && !differs(special.origin),
            Value::Address { symbol, addend } => {
                matches!(self.symbol(number, *symbol, *addend), Ok(Symbolic::Constant(_)))
            }
            Value::List(list) => list.iter().all(|value| self.is_same_value(number, value, same)),
            _ => false,
        }
    }
}
