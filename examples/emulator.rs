//! An emulator of one's own: the program computes registers, and what the table calls effects is up to the emulator. It has memory,
//! parameters and branches, which is what `sort_warps.ptx` needs.
//!
//! ```sh
//! cargo run --example emulator
//! ```

use std::error::Error;

use ptx_isa::TABLE;
use ptx_isa::table::{Effect, EffectKind, Origin};
use ptx_isa::text::resolved::{Function, Instruction, Module, Symbol, Value};
use ptx_isa::warp::{Handle, Program, Registers, Row, Source, Warps};

/// A register that holds numbers.
#[derive(Clone, Copy)]
enum Register {
    Word(Handle<[u32; 32]>),
    Long(Handle<[u64; 32]>),
}

/// The emulator's part in an effect, with the handles of its registers.
enum Action {
    Parameter { to: Register, at: usize },
    Load { to: Register, address: Handle<[u64; 32]> },
    Store { from: Register, address: Handle<[u64; 32]> },
    Copy { to: Register, from: Register },
    Branch(usize),
    Return,
    Nothing,
}

/// An instruction: its guard, what the emulator does for it, and then the number of its code.
struct Step {
    guard: Option<(Handle<u32>, bool)>,
    actions: Vec<Action>,
    code: Option<usize>,
}

/// A kernel that is decoded.
pub(crate) struct Emulator {
    program: Program,
    steps: Vec<Step>,
    /// Special registers, each with its row: the thread, the size of a block, and the block.
    specials: [(Origin, Row); 3],
}

impl Emulator {
    pub(crate) fn new(module: &Module, kernel: &Function) -> Result<Emulator, Box<dyn Error>> {
        let mut registers = Registers::default();
        let rows = kernel.registers.iter().map(|own| registers.add_for(module.table.ty(own.ty)));
        let rows: Vec<Row> = rows.collect();
        let specials = [Origin::ThreadIndex, Origin::BlockShape, Origin::BlockIndex];
        let specials = specials.map(|origin| (origin, registers.add(32)));
        let mut program = Program::new(registers, module.target.ok_or("a module has a target")?.sm);
        let mut steps = Vec::new();
        for instruction in &kernel.instructions {
            let instruction = instruction.map(|register| rows[*register]);
            let code = program.push_instruction(&instruction, |value| match value {
                Value::Special { special, element: Some(0), .. } => {
                    specials.iter().find(|(origin, _)| *origin == special.origin).map(|(_, row)| Source::Register(*row))
                }
                _ => None,
            })?;
            let effects = instruction.form.effects_with(&instruction.free);
            let actions = effects.map(|effect| action(&program, kernel, &instruction, effect)).collect::<Option<_>>();
            let actions =
                actions.ok_or_else(|| format!("`{}` is not emulated", &module.text[instruction.at.clone()]))?;
            let guard = |(row, negated)| Some((program.handle(row)?, negated));
            steps.push(Step { guard: instruction.guard.and_then(guard), actions, code });
        }
        Ok(Emulator { program, steps, specials })
    }

    /// Runs the warps of some blocks, one after the other.
    pub(crate) fn run(&self, blocks: u32, threads: u32, parameters: &[u8], memory: &mut [u8]) {
        let mut warps = self.program.warps(threads.div_ceil(32) as usize);
        for block in 0..blocks {
            for warp in 0..warps.len() {
                let thread = std::array::from_fn(|lane| (32 * warp + lane) as u32);
                for ((_, row), values) in self.specials.iter().zip([thread, [threads; 32], [block; 32]]) {
                    *warps.b32_mut(warp, row.number) = values;
                }
                self.warp(warp, threads, parameters, memory, &mut warps);
            }
        }
    }

    /// Runs a warp: of its lanes those go on that are at the earliest instruction, so that the others meet them.
    fn warp(&self, warp: usize, threads: u32, parameters: &[u8], memory: &mut [u8], warps: &mut Warps) {
        let mut next: [Option<usize>; 32] =
            std::array::from_fn(|lane| ((32 * warp + lane) < threads as usize).then_some(0));
        while let Some(at) = next.iter().flatten().min().copied() {
            let lanes: Vec<usize> = (0..32).filter(|lane| next[*lane] == Some(at)).collect();
            *warps.active_mut(warp) = lanes.iter().fold(0, |mask, lane| mask | 1 << lane);
            lanes.iter().for_each(|lane| next[*lane] = Some(at + 1));
            let step = &self.steps[at];
            let enabled = step
                .guard
                .map_or(u32::MAX, |(guard, negated)| warps.get(warp, guard) ^ if negated { u32::MAX } else { 0 });
            for lane in lanes.into_iter().filter(|lane| enabled >> lane & 1 != 0) {
                for action in &step.actions {
                    match *action {
                        Action::Parameter { to, at } => set(warps, warp, lane, to, &parameters[at..]),
                        Action::Load { to, address } => {
                            set(warps, warp, lane, to, &memory[warps.get(warp, address)[lane] as usize..]);
                        }
                        Action::Store { from, address } => {
                            let (at, value) = (warps.get(warp, address)[lane] as usize, get(warps, warp, lane, from));
                            memory[at..at + value.len()].copy_from_slice(&value);
                        }
                        Action::Copy { to, from } => set(warps, warp, lane, to, &get(warps, warp, lane, from)),
                        Action::Branch(target) => next[lane] = Some(target),
                        Action::Return => next[lane] = None,
                        Action::Nothing => {}
                    }
                }
            }
            if let Some(code) = step.code {
                self.program.run_range(code..code + 1, warp..warp + 1, warps);
            }
        }
    }
}

/// The action of an effect; none if the emulator has no such thing.
fn action(program: &Program, kernel: &Function, instruction: &Instruction<Row>, effect: &Effect) -> Option<Action> {
    let operand = |place: u8| Some(&instruction.operands.get(usize::from(place))?.value);
    let register = |place: u8| match operand(place)? {
        Value::Register(row) if row.bits == 32 => Some(Register::Word(program.handle(*row)?)),
        Value::Register(row) => Some(Register::Long(program.handle(*row)?)),
        _ => None,
    };
    let argument = |number: usize| effect.arguments[number];
    Some(match (effect.kind, effect.arguments.first().and_then(|place| operand(*place))) {
        (EffectKind::Read, Some(Value::Address { symbol: Symbol::Local(variable), addend })) => {
            let at = kernel.variables[*variable].offset + addend;
            Action::Parameter { to: register(effect.result)?, at: at as usize }
        }
        (EffectKind::Read, Some(Value::Register(address))) => {
            Action::Load { to: register(effect.result)?, address: program.handle(*address)? }
        }
        (EffectKind::Write, Some(Value::Register(address))) => {
            Action::Store { from: register(argument(1))?, address: program.handle(*address)? }
        }
        // All state spaces are one here, and their addresses are generic addresses.
        (EffectKind::ToGeneric | EffectKind::FromGeneric, _) => {
            Action::Copy { to: register(effect.result)?, from: register(argument(0))? }
        }
        (EffectKind::Branch, Some(Value::Label(target))) => Action::Branch(*target),
        (EffectKind::Return, _) => Action::Return,
        // The lanes of a warp are together here, unless they have branched apart.
        (EffectKind::Converge, _) => Action::Nothing,
        _ => return None,
    })
}

fn get(warps: &Warps, warp: usize, lane: usize, register: Register) -> Vec<u8> {
    match register {
        Register::Word(handle) => warps.get(warp, handle)[lane].to_le_bytes().to_vec(),
        Register::Long(handle) => warps.get(warp, handle)[lane].to_le_bytes().to_vec(),
    }
}

fn set(warps: &mut Warps, warp: usize, lane: usize, register: Register, bytes: &[u8]) {
    match register {
        Register::Word(handle) => {
            warps.get_mut(warp, handle)[lane] = u32::from_le_bytes(*bytes.first_chunk().expect("4 bytes"))
        }
        Register::Long(handle) => {
            warps.get_mut(warp, handle)[lane] = u64::from_le_bytes(*bytes.first_chunk().expect("8 bytes"))
        }
    }
}

/// Sorts numbers in runs of 32, as the kernel of `sort_warps.ptx` does.
pub(crate) fn sort(values: &[f32]) -> Result<Vec<f32>, Box<dyn Error>> {
    let module = Module::read(&TABLE, include_str!("sort_warps.ptx")).map_err(|errors| errors[0].to_string())?;
    let emulator = Emulator::new(&module, &module.functions[0])?;
    let mut memory: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    // The address of the numbers, and how many there are.
    let parameters = [0_u64.to_le_bytes(), (values.len() as u64).to_le_bytes()].concat();
    emulator.run(values.len().div_ceil(64) as u32, 64, &parameters, &mut memory);
    Ok(memory.chunks_exact(4).map(|bytes| f32::from_le_bytes(*bytes.first_chunk().expect("4 bytes"))).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let values: Vec<f32> = (0..100_u32).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
    println!("{:?}", sort(&values)?);
    Ok(())
}
