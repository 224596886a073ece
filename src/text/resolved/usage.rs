//! What an instruction reads and writes: what liveness, schedulers and linters ask of each.

use alloc::vec::Vec;

use super::{Instruction, Value};
use crate::table::{EffectKind, NO_OPERAND, OperandKind, Space, Table};

/// What an instruction does with registers, memory, control flow and other threads.
///
/// ```
/// use ptx_isa::text::resolved::{Flow, Module};
///
/// let text = ".version 8.0 .target sm_90 .address_size 64
///     .entry k() {
///         .shared .align 4 .b8 tile[64];
///         .reg .b32 a, b; .reg .pred p; .reg .b64 at;
///     @p  ld.shared.v2.u32 {a, b}, [tile+8];
///         atom.global.add.u32 a, [at], b;
///         bar.sync 0;
///     @p  bra DONE;
///     DONE: ret; }";
/// let module = Module::read(&ptx_isa::TABLE, text).unwrap();
/// let kernel = &module.functions[0];
/// let name = |register: &usize| kernel.registers[*register].name.as_str();
/// let usages: Vec<_> = kernel.instructions.iter().map(|instruction| instruction.usage(&ptx_isa::TABLE)).collect();
///
/// assert_eq!(usages[0].reads.iter().map(name).collect::<Vec<_>>(), ["p"]);
/// assert_eq!(usages[0].writes.iter().map(name).collect::<Vec<_>>(), ["a", "b"]);
/// let access = &usages[0].memory[0];
/// assert_eq!((access.space.unwrap().name, access.bytes, access.read, access.written), ("shared", 8, true, false));
/// assert_eq!((usages[1].memory[0].read, usages[1].memory[0].written), (true, true));
/// assert!(usages[2].synchronizes);
/// assert_eq!(usages[3].flow, Flow::Branch);
/// assert_eq!(usages[4].flow, Flow::Return);
///
/// // The accesses to shared memory of the kernel, by their lines.
/// let shared = kernel.instructions.iter().zip(&usages).filter(|(_, usage)| {
///     usage.memory.iter().any(|access| access.space.is_some_and(|space| space.name == "shared"))
/// });
/// assert_eq!(shared.map(|(instruction, _)| module.line(instruction.at.start)).collect::<Vec<_>>(), [5]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// The registers that it reads, the guard and parts of addresses included, each once.
    pub reads: Vec<usize>,
    /// The registers that it writes, each once. Under a guard they may keep what they hold.
    pub writes: Vec<usize>,
    /// Its accesses to memory, in their order.
    pub memory: Vec<Access>,
    /// Where control goes behind it.
    pub flow: Flow,
    /// Whether it waits for other threads, or orders what they see.
    pub synchronizes: bool,
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The state space; none for a generic address.
    pub space: Option<&'static Space>,
    /// The place of the address among the operands.
    pub operand: usize,
    /// The bytes of all elements.
    pub bytes: u32,
    /// Whether it reads.
    pub read: bool,
    /// Whether it writes; what does both is atomic.
    pub written: bool,
    /// The modifier that says how it is ordered with others, if there is one.
    pub order: Option<&'static str>,
    /// The modifier that says with which threads.
    pub scope: Option<&'static str>,
}

/// Where control goes behind an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flow {
    /// To the next one.
    #[default]
    Next,
    /// To a label.
    Branch,
    /// To one of several labels.
    IndirectBranch,
    /// To a function and back.
    Call,
    /// To the caller.
    Return,
    /// Nowhere: the thread ends.
    Exit,
    /// Nowhere: the launch is aborted.
    Trap,
}

impl Instruction {
    /// What it does with registers, memory, control flow and other threads, as its form's effects say.
    pub fn usage(&self, table: &'static Table) -> Usage {
        let mut usage = Usage::default();
        if let Some((register, _)) = self.guard {
            usage.reads.push(register);
        }
        let effects = self.form.effects().effects;
        // What a call gives is written, and is no destination of its form.
        let results = effects.iter().filter(|effect| effect.kind == EffectKind::Call);
        let results: Vec<u8> = results.filter_map(|effect| effect.arguments.first().copied()).collect();
        for (place, (info, operand)) in self.form.operands().iter().zip(&self.operands).enumerate() {
            let written = info.destination || results.contains(&(place as u8));
            registers(&operand.value, if written { &mut usage.writes } else { &mut usage.reads });
            if let Some(second) = operand.second {
                once(second, &mut usage.writes);
            }
        }
        for effect in effects {
            let given = |index: usize| effect.arguments.get(index).copied().filter(|place| *place != NO_OPERAND);
            let word = |index: usize| given(index).and_then(|slot| self.modifier(slot));
            let (read, written, order) = match effect.kind {
                EffectKind::Read => (true, false, 1),
                EffectKind::Write => (false, true, 2),
                EffectKind::Update => (true, true, 2),
                _ => (false, false, 0),
            };
            if read || written {
                let value = if effect.result != NO_OPERAND {
                    Some(effect.result)
                } else {
                    self.value_of(effect.kind, given(1))
                };
                usage.memory.push(Access {
                    space: given(0).and_then(|place| self.space(table, usize::from(place))),
                    operand: given(0).map_or(0, usize::from),
                    bytes: value.map_or(0, |place| self.bytes(table, usize::from(place))),
                    read,
                    written,
                    order: word(order),
                    scope: word(order + 1),
                });
            }
            match effect.kind {
                EffectKind::Branch => usage.flow = Flow::Branch,
                EffectKind::BranchIndexed => usage.flow = Flow::IndirectBranch,
                EffectKind::Call => usage.flow = Flow::Call,
                EffectKind::Return => usage.flow = Flow::Return,
                EffectKind::Exit => usage.flow = Flow::Exit,
                EffectKind::Trap => usage.flow = Flow::Trap,
                EffectKind::Fence
                | EffectKind::Wait
                | EffectKind::Arrive
                | EffectKind::WaitCount
                | EffectKind::WaitAll
                | EffectKind::WaitAny
                | EffectKind::ArriveCluster
                | EffectKind::WaitCluster
                | EffectKind::Converge => usage.synchronizes = true,
                _ => {}
            }
        }
        usage
    }

    /// The operand whose type an access has that gives no value.
    fn value_of(&self, kind: EffectKind, argument: Option<u8>) -> Option<u8> {
        match kind {
            EffectKind::Write => argument,
            // The first value behind the address.
            _ => self.form.operands().iter().position(|info| info.kind.is_value()).map(|place| place as u8),
        }
    }

    fn space(&self, table: &'static Table, place: usize) -> Option<&'static Space> {
        let info = self.form.operands().iter().nth(place)?;
        let fixed = info.spaces.first().filter(|_| info.space.is_none() && info.spaces.len() == 1).copied();
        info.space.and_then(|slot| self.modifier(slot)).or(fixed).and_then(|name| table.space(name))
    }

    fn bytes(&self, table: &'static Table, place: usize) -> u32 {
        let Some(info) = self.form.operands().iter().nth(place) else { return 0 };
        let elements = match info.kind {
            OperandKind::Vector(count) => u32::from(count),
            _ => 1,
        };
        u32::from(table.ty(info.ty).bits / 8) * elements
    }
}

fn once(register: usize, list: &mut Vec<usize>) {
    if !list.contains(&register) {
        list.push(register);
    }
}

/// The registers in an operand.
fn registers(value: &Value, list: &mut Vec<usize>) {
    match value {
        Value::Register(register) | Value::Not(register) | Value::Offset { register, .. } => once(*register, list),
        Value::List(values) => values.iter().for_each(|value| registers(value, list)),
        _ => {}
    }
}
