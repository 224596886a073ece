//! Which functions a kernel may call.

use std::prelude::rust_2024::*;

use ptx_isa::table::EffectKind;
use ptx_isa::text::resolved::{Module, Symbol, Value};

/// All functions that a function may call, directly or by others.
pub(super) fn calls(module: &Module, number: usize) -> Vec<usize> {
    let mut found = mentioned(module, number);
    let mut next = 0;
    while next < found.len() {
        for callee in mentioned(module, found[next]) {
            if !found.contains(&callee) {
                found.push(callee);
            }
        }
        next += 1;
    }
    found
}

/// The functions that a function names, and those whose addresses are in variables, if it calls by address.
pub(super) fn mentioned(module: &Module, number: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut indirect = false;
    for instruction in &module.functions[number].instructions {
        let calls = instruction.form.effects().effects.iter().any(|effect| effect.kind == EffectKind::Call);
        for operand in &instruction.operands {
            match &operand.value {
                Value::Address { symbol: Symbol::Function(callee), .. } => found.push(*callee),
                Value::Functions(list) => found.extend(list),
                Value::Register(_) if calls => indirect = true,
                _ => {}
            }
        }
    }
    if indirect {
        for relocation in module.variables.iter().flat_map(|variable| &variable.relocations) {
            if let Some(Symbol::Function(callee)) = relocation.symbol {
                found.push(callee);
            }
        }
        // A function that a register holds may come from wherever an address was taken.
        for function in &module.functions {
            for instruction in &function.instructions {
                if !instruction.form.effects().effects.is_empty() {
                    continue;
                }
                for operand in &instruction.operands {
                    if let Value::Address { symbol: Symbol::Function(callee), .. } = operand.value {
                        found.push(callee);
                    }
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
