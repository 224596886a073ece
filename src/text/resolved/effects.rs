//! Effects of resolved instructions.

use alloc::vec::Vec;
use core::slice;

use super::{Function, Instruction, Value};
use crate::text::effects::{Chosen, Effects, Flow, collect, flow};

impl<R: Clone + PartialEq> Instruction<R> {
    /// Returns the effects on registers, memory, control flow and other threads.
    ///
    /// ```
    /// use ptx_isa::text::effects::Flow;
    /// use ptx_isa::text::resolved::Module;
    ///
    /// let text = ".version 8.0 .target sm_90 .address_size 64
    ///     .entry k() {
    ///         .shared .align 4 .b8 tile[64];
    ///         .reg .b32 a, b; .reg .pred p; .reg .b64 at;
    ///     @p  ld.shared.v2.u32 {a, b}, [tile+8];
    ///         atom.global.add.u32 a, [at], b;
    ///     @p  bra DONE;
    ///     DONE: ret; }";
    /// let module = Module::read(&ptx_isa::TABLE, text).unwrap();
    /// let kernel = &module.functions[0];
    /// let name = |register: &usize| kernel.registers[*register].name.as_str();
    /// let effects: Vec<_> = kernel.instructions.iter().map(|instruction| instruction.effects()).collect();
    ///
    /// // Variables are not registers.
    /// assert_eq!(effects[0].reads.iter().map(name).collect::<Vec<_>>(), ["p"]);
    /// assert_eq!(effects[0].writes.iter().map(name).collect::<Vec<_>>(), ["a", "b"]);
    /// assert_eq!((effects[1].memory[0].read, effects[1].memory[0].written), (true, true));
    /// assert_eq!(effects[2].flow, Flow::Branch);
    /// assert_eq!(kernel.successors(2), [3]);
    /// ```
    pub fn effects(&self) -> Effects<R> {
        collect(Chosen::with(self.form, &self.free), self.guarding(), |place, _, list| self.registers_of(place, list))
    }

    /// Adds the registers that it reads, and those that it writes, to two lists that are empty: as [`effects`](Instruction::effects) has them.
    #[cfg(feature = "run")]
    pub(crate) fn add_registers(&self, reads: &mut Vec<R>, writes: &mut Vec<R>) {
        let effects = Chosen::with(self.form, &self.free).effects();
        crate::text::effects::uses(
            self.form,
            &effects,
            self.guarding(),
            |place, _, list| self.registers_of(place, list),
            [reads, writes],
        );
    }

    /// Returns the control flow after it, as [`effects`](Instruction::effects) has it.
    fn flow(&self) -> Flow {
        flow(self.form.effects_with(&self.free))
    }

    /// Returns true if the next instruction may follow.
    pub(crate) fn falls_through(&self) -> bool {
        self.guard.is_some() || matches!(self.flow(), Flow::Next | Flow::Call)
    }

    /// The instructions whose labels it names: the targets of a branch.
    pub(crate) fn targets(&self) -> impl Iterator<Item = usize> {
        let labels = self.operands.iter().map(|operand| match &operand.value {
            Value::Label(label) => slice::from_ref(label),
            Value::Labels(labels) => labels,
            _ => &[],
        });
        labels.flatten().copied()
    }

    fn guarding(&self) -> Option<R> {
        self.guard.clone().map(|(register, _)| register)
    }

    /// Collects the registers of an operand.
    fn registers_of(&self, place: usize, list: &mut Vec<R>) {
        registers(&self.operands[place].value, list);
        list.extend(self.operands[place].second.clone());
    }
}

impl Function {
    /// Returns the indices of the instructions that may follow an instruction within the function: the next one if
    /// control may fall through, and the targets of its branches.
    pub fn successors(&self, instruction: usize) -> Vec<usize> {
        let own = &self.instructions[instruction];
        let mut found = Vec::new();
        if own.falls_through() && instruction + 1 < self.instructions.len() {
            found.push(instruction + 1);
        }
        if matches!(own.flow(), Flow::Branch | Flow::IndirectBranch) {
            found.extend(own.targets());
        }
        // A label at the end of a function has no instruction.
        found.retain(|index| *index < self.instructions.len());
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Collects the registers of an operand.
fn registers<R: Clone>(value: &Value<R>, list: &mut Vec<R>) {
    match value {
        Value::Register(register) | Value::Not(register) | Value::Offset { register, .. } => {
            list.push(register.clone())
        }
        Value::List(values) => values.iter().for_each(|value| registers(value, list)),
        _ => {}
    }
}
