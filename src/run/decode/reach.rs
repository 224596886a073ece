//! Which functions a kernel may call.

use std::prelude::rust_2024::*;
use std::vec;

use std::cell::LazyCell;
use std::collections::HashMap;

use ptx_isa::table::EffectKind;
use ptx_isa::text::resolved::{Module, Symbol, Value};

/// The functions that a kernel reaches, and those that each of them may call.
pub(super) struct Reach {
    /// The kernel, and functions behind it. Other kernels are not among them: they are launched, not called.
    pub functions: Vec<usize>,
    /// For each of `functions` the places of its callees in that list.
    callees: Vec<Vec<usize>>,
}

impl Reach {
    pub(super) fn new(module: &Module, kernel: usize) -> Reach {
        let (mut functions, mut places) = (Vec::from([kernel]), HashMap::from([(kernel, 0)]));
        let mut callees = Vec::new();
        let taken = LazyCell::new(|| taken_addresses(module));
        while let Some(number) = functions.get(callees.len()) {
            let mentioned = mentioned(module, *number, &taken);
            let mut place = |callee: usize| {
                *places.entry(callee).or_insert_with(|| {
                    functions.push(callee);
                    functions.len() - 1
                })
            };
            let called = mentioned.into_iter().filter(|callee| !module.functions[*callee].kernel);
            callees.push(called.map(&mut place).collect());
        }
        Reach { functions, callees }
    }

    /// Returns true if the function at a place may call itself, directly or through others.
    pub(super) fn is_recursive(&self, place: usize) -> bool {
        let mut seen = vec![false; self.functions.len()];
        let mut next = self.callees[place].clone();
        while let Some(callee) = next.pop() {
            if !std::mem::replace(&mut seen[callee], true) {
                next.extend(&self.callees[callee]);
            }
        }
        seen[place]
    }
}

/// The functions that a function names, and those whose addresses are taken, if it calls by address.
fn mentioned(module: &Module, number: usize, taken: &LazyCell<Vec<usize>, impl FnOnce() -> Vec<usize>>) -> Vec<usize> {
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
        found.extend(taken.iter());
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The functions whose addresses are in variables, or taken by any function: a register may hold each of them.
fn taken_addresses(module: &Module) -> Vec<usize> {
    let relocations = module.variables.iter().flat_map(|variable| &variable.relocations);
    let stored = relocations.filter_map(|relocation| match relocation.symbol {
        Some(Symbol::Function(callee)) => Some(callee),
        _ => None,
    });
    let instructions = module.functions.iter().flat_map(|function| &function.instructions);
    let operands = instructions
        .filter(|instruction| instruction.form.effects().effects.is_empty())
        .flat_map(|instruction| &instruction.operands);
    let named = operands.filter_map(|operand| match operand.value {
        Value::Address { symbol: Symbol::Function(callee), .. } => Some(callee),
        _ => None,
    });
    stored.chain(named).collect()
}

/// Returns the size in bytes of the largest argument in memory that some functions pass: an upper bound for parameters declared without a
/// size.
pub(super) fn longest_argument(module: &Module, functions: &[usize]) -> u64 {
    let sizes = functions.iter().flat_map(|number| {
        let function = &module.functions[*number];
        let operands = function.instructions.iter().flat_map(|instruction| &instruction.operands);
        let lists =
            operands.filter_map(|operand| if let Value::List(list) = &operand.value { Some(list) } else { None });
        lists.flatten().map(|value| match value {
            Value::Address { symbol: Symbol::Local(variable), .. } => function.variables[*variable].size,
            _ => 0,
        })
    });
    sizes.max().unwrap_or(0)
}
