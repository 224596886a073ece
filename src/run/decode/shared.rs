//! Addresses of variables in the shared memory of a block.

use std::prelude::rust_2024::*;

use std::collections::HashMap;

use ptx_isa::table::{Memory as Belongs, Origin, Space};
use ptx_isa::text::resolved::{Module, Value, Variable};

use super::{Symbolic, aligned, external, memory};

/// The shared memory of a block: what is reserved for the system, variables of the module, of functions, and dynamic memory.
pub(super) struct SharedLayout {
    /// Offsets of variables, by function and number; those outside of functions have [`MODULE`] in its place.
    offsets: HashMap<(usize, usize), u64>,
    end: u64,
    /// True if the blocks of a cluster have different addresses.
    clusters: bool,
    /// Bytes that are reserved for the system.
    pub(super) reserved: u64,
}

/// Stands for a function where there is none.
const MODULE: usize = usize::MAX;

impl SharedLayout {
    /// The static variables outside of functions.
    pub(super) fn new(module: &Module, reached: &[usize], clusters: bool) -> SharedLayout {
        let reserved = reserved(module, reached);
        let mut layout = SharedLayout { offsets: HashMap::new(), end: reserved, clusters, reserved };
        for (number, variable) in module.variables.iter().enumerate() {
            if memory(variable) == Some(Belongs::Block) && !is_dynamic(variable) {
                layout.add(MODULE, number, variable);
            }
        }
        layout
    }

    /// Adds a variable behind the others.
    pub(super) fn add(&mut self, function: usize, number: usize, variable: &Variable) {
        self.end = aligned(self.end, variable.align);
        self.offsets.insert((function, number), self.end);
        self.end = self.end.saturating_add(variable.size);
    }

    /// Adds dynamic shared memory, which lies behind all that is static.
    pub(super) fn add_dynamic(&mut self, module: &Module) {
        let variables = || module.variables.iter().enumerate();
        let dynamic = || variables().filter(|(_, one)| memory(one) == Some(Belongs::Block) && is_dynamic(one));
        self.end = aligned(self.end, dynamic().map(|(_, variable)| variable.align).max().unwrap_or(16).max(16));
        for (number, _) in dynamic() {
            self.offsets.insert((MODULE, number), self.end);
        }
    }

    /// Bytes of static variables, with padding.
    pub(super) fn size(&self) -> u64 {
        self.end - self.reserved
    }

    /// The address of a variable of a function; `None` if it is not in shared memory.
    pub(super) fn of_function(&self, function: usize, number: usize) -> Option<Symbolic> {
        let offset = *self.offsets.get(&(function, number))?;
        Some(if self.clusters { Symbolic::Shared(offset) } else { Symbolic::Constant(offset) })
    }

    /// The address of a variable outside of functions.
    pub(super) fn of_module(&self, number: usize) -> Option<Symbolic> {
        self.of_function(MODULE, number)
    }
}

/// Returns true if the launch gives the size of a variable.
fn is_dynamic(variable: &Variable) -> bool {
    external(variable) || variable.size == 0
}

/// Bytes of shared memory that are set apart for the system: none if no function reads where they are.
fn reserved(module: &Module, reached: &[usize]) -> u64 {
    let reads = |value: &Value| {
        matches!(value, Value::Special { special, .. }
            if matches!(special.origin, Origin::ReservedShared | Origin::ReservedSharedEnd))
    };
    let mut instructions = reached.iter().flat_map(|number| &module.functions[*number].instructions);
    let needed = instructions.any(|one| one.operands.iter().any(|operand| reads(&operand.value)));
    shared_space(module).filter(|_| needed).map_or(0, |space| space.reserved)
}

/// The space of the memory that a block has.
pub(crate) fn shared_space(module: &Module) -> Option<&'static Space> {
    module.table.spaces.iter().find(|space| space.memory == Some(Belongs::Block))
}
