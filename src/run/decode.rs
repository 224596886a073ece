//! From a resolved module to the code of a kernel: runs of decoded instructions, and effects with their registers.

mod action;
mod affine;
pub(super) mod asynchronous;
mod code;
mod computed;
mod hoist;
pub(super) mod matrix;
mod reach;
mod registers;
mod shared;
pub(super) mod tensor;
mod uses;

use std::prelude::rust_2024::*;
use std::{format, vec};

use std::collections::HashMap;
use std::sync::Mutex;

use ptx_isa::table::{Memory as Belongs, Origin, Special};
use ptx_isa::text::resolved::{Function, Instruction, Linkage, Module, Parameter, Symbol, Value, Variable};
use ptx_isa::warp::{Program, Registers, Row};

use super::affine::Class;
use super::error::Error;
use super::system::System;
use action::where_of;
use affine::Classes;
pub(crate) use code::*;
pub(crate) use hoist::differs;
use reach::Reach;
#[cfg(feature = "jit")]
pub(crate) use registers::Needed;
use shared::SharedLayout;
pub(crate) use shared::shared_space;
use uses::Uses;

/// Decodes a kernel, for launches with clusters or for those without, in which all blocks have the same addresses of shared memory.
pub(crate) fn decode(module: &Module, kernel: usize, addresses: &[u64], clusters: bool) -> Result<Code, Error> {
    let reach = Reach::new(module, kernel);
    let reached = &reach.functions;
    let sm = module.target.map_or(u16::MAX, |target| target.sm);
    let mut layouts: Vec<Layout> = module.functions.iter().map(|_| Layout::default()).collect();
    let mut shared = SharedLayout::new(module, reached, clusters);
    let open_size = if reached.len() > 1 { reach::longest_argument(module, reached) } else { 0 };
    for number in reached {
        let function = &module.functions[*number];
        let (mut frame, mut align) = (0_u64, FRAME);
        let mut offsets = Vec::new();
        for (index, variable) in function.variables.iter().enumerate() {
            let offset = match memory(variable) {
                Some(Belongs::Block) => {
                    shared.add(*number, index, variable);
                    0
                }
                Some(Belongs::Call) if function.kernel && is_parameter(function, index) => variable.offset,
                belongs => {
                    // Compilers access all of an argument at once, whatever its alignment is: on a machine it is in registers.
                    let own = variable.align.max(if belongs == Some(Belongs::Call) { FRAME } else { 1 });
                    align = align.max(own);
                    frame = aligned(frame, own);
                    let offset = frame;
                    frame = frame.saturating_add(bytes(variable, open_size));
                    offset
                }
            };
            offsets.push(offset);
        }
        layouts[*number] = Layout { offsets, open_size, frame: aligned(frame, FRAME), align, ..Layout::default() };
    }
    shared.add_dynamic(module);
    let mut analysis = Planning::new(module, addresses, &layouts, &shared);
    let own_uses = Uses::new(&module.functions[kernel]);
    analysis.classes = analysis.classes(kernel, &own_uses);
    analysis.hoisted = analysis.hoisted(kernel, &own_uses);
    // Rows first: a program knows how many it has.
    let assign = |number: &usize| match *number == kernel {
        true => analysis.assign(kernel, &own_uses, true),
        false => analysis.assign(*number, &Uses::new(&module.functions[*number]), false),
    };
    let assigned: Vec<_> = reached.iter().map(assign).collect();
    #[cfg(feature = "jit")]
    let needed = std::mem::take(&mut analysis.needed);
    let Planning { rows, classes, hoisted, .. } = analysis;
    for (number, assigned) in reached.iter().zip(assigned) {
        (layouts[*number].rows, layouts[*number].read) = assigned;
    }
    let mut plan = Planning { rows, classes, hoisted, ..Planning::new(module, addresses, &layouts, &shared) };
    for (class, row) in plan.classes.registers.iter().zip(&layouts[kernel].rows) {
        if *class != Class::Other {
            plan.affine.add(*row);
        }
    }
    let compares = plan.classes.compares;
    let code = |rows: Registers| Code {
        program: Program::new(rows, sm),
        ops: Vec::new(),
        entry: 0,
        prelude: 0,
        frame: layouts[kernel].frame,
        frames: 0,
        routines: vec![None; module.functions.len()],
        specials: Vec::new(),
        affine: Vec::new(),
        static_shared: shared.size(),
        reserved_shared: shared.reserved,
        #[cfg(feature = "jit")]
        slots: Vec::new(),
        #[cfg(feature = "jit")]
        watched: std::sync::OnceLock::new(),
        #[cfg(feature = "jit")]
        needed: Needed::default(),
        grows: false,
        diverges: false,
        compares,
        calls: false,
        lockstep: false,
        apart: false,
        kept: Mutex::default(),
    };
    let mut discarded = code(Registers::default());
    for number in reached {
        plan.hide(*number, &mut discarded)?;
    }
    let mut code = code(plan.rows);
    #[cfg(feature = "jit")]
    {
        code.needed = needed;
    }
    for number in reached {
        plan.function(*number, *number == kernel, &mut code)?;
    }
    for (key, row) in &plan.hidden.specials {
        let affine = plan.affine.get(*row);
        code.specials.push(Read { to: *row, origin: key.origin, element: key.element, addend: key.addend, affine });
    }
    code.affine = std::mem::take(&mut plan.affine.rows);
    for (place, number) in reached.iter().enumerate() {
        if let Some(routine) = code.routines[*number].as_mut().filter(|_| reach.is_recursive(place)) {
            routine.recursive = true;
            // Recursion takes stack even where a function reserves none: it has an end.
            routine.frame = routine.frame.max(FRAME);
            code.grows = true;
        }
    }
    code.link();
    Ok(code)
}

/// Returns true if an instruction computes registers from registers, possibly after its effects; fails if it cannot be executed.
fn computes(instruction: &Instruction) -> Result<bool, Error> {
    let form = instruction.form;
    let effects = form.effects();
    let computes = !form.evaluations().is_empty();
    let lacks = match (effects.effects, effects.lacks) {
        (_, lacks) if !lacks.is_empty() => lacks,
        ([], _) if !computes => "what it does is not described",
        _ => return Ok(computes),
    };
    Err(Error::unsupported(format!("`{}` cannot be executed: {lacks}", form.mnemonic())))
}

fn is_parameter(function: &Function, variable: usize) -> bool {
    function.parameters.contains(&Parameter::Variable(variable))
}

/// Returns true if another module or the launch defines the variable.
pub(crate) fn external(variable: &Variable) -> bool {
    variable.linkage == Some(Linkage::Extern)
}

pub(crate) fn memory(variable: &Variable) -> Option<Belongs> {
    variable.space.memory
}

/// The next multiple of an alignment; more than any memory has if there is none.
fn aligned(offset: u64, align: u64) -> u64 {
    offset.checked_next_multiple_of(align).unwrap_or(u64::MAX)
}

/// Minimum alignment of a frame in bytes.
pub(super) const FRAME: u64 = 16;

/// Locations of the registers and variables of a function.
#[derive(Default)]
struct Layout {
    rows: Vec<Row>,
    /// Registers that an instruction reads.
    read: Vec<bool>,
    /// Of a variable in the frame or among the kernel's parameters.
    offsets: Vec<u64>,
    /// Size in bytes of a parameter that is declared without one.
    open_size: u64,
    frame: u64,
    align: u64,
}

impl Layout {
    /// A variable that a call passes.
    fn slot(&self, function: &Function, variable: usize) -> Slot {
        Slot::Frame { offset: self.offsets[variable], bytes: bytes(&function.variables[variable], self.open_size) }
    }
}

/// Size of a variable in bytes; `open_size` if its declaration leaves it open.
fn bytes(variable: &Variable, open_size: u64) -> u64 {
    if variable.size == 0 { open_size } else { variable.size }
}

/// Contents of a row that is filled when a block begins: an element of a special register, plus an addend.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Filled {
    bits: u8,
    origin: Origin,
    element: u8,
    addend: u64,
}

/// Rows that no register of the module has.
#[derive(Default)]
struct Hidden {
    specials: HashMap<Filled, Row>,
    /// Rows that an instruction uses for its own.
    scratch: HashMap<(u8, usize), Row>,
}

struct Planning<'m> {
    module: &'m Module,
    addresses: &'m [u64],
    layouts: &'m [Layout],
    shared: &'m SharedLayout,
    rows: Registers,
    hidden: Hidden,
    /// Of the kernel.
    classes: Classes,
    /// Which instructions of the kernel are in its prelude.
    hoisted: Vec<bool>,
    /// Registers that may be affine.
    affine: affine::Numbers,
    #[cfg(feature = "jit")]
    needed: Needed,
}

/// A function that is decoded.
struct Open<'c> {
    number: usize,
    instruction: usize,
    code: &'c mut Code,
    /// Widths of the scratch rows that the instruction uses.
    scratch: Vec<u8>,
    /// True if the next instruction must begin a new [`Op::Run`].
    apart: bool,
    /// Number of instructions that the next operation counts: its own, if no operation has counted it, and those before that were hoisted
    /// into the prelude.
    pending: u32,
    /// Registers that may be affine whose lanes the instruction reads.
    reads: Vec<u32>,
}

impl<'c> Open<'c> {
    fn new(number: usize, code: &'c mut Code) -> Open<'c> {
        Open { number, instruction: 0, code, scratch: Vec::new(), apart: true, pending: 0, reads: Vec::new() }
    }

    fn begin(&mut self, instruction: usize) {
        self.instruction = instruction;
        self.scratch.clear();
        self.pending += 1;
    }

    /// Number of instructions that the next operation counts.
    fn count(&mut self) -> u32 {
        std::mem::take(&mut self.pending)
    }

    /// What the instruction reads.
    fn take_reads(&mut self) -> Vec<u32> {
        self.reads.sort_unstable();
        self.reads.dedup();
        std::mem::take(&mut self.reads)
    }

    /// Before an effect lanes are filled that it reads.
    fn fill(&mut self) {
        let reads = self.take_reads();
        if !reads.is_empty() {
            let at = self.code.program.len() as u32;
            self.code.ops.push(Op::Run { from: at, to: at, count: 0, reads });
        }
    }

    fn effect(&mut self, guard: Option<(u32, bool)>, action: Action) {
        let (instruction, function) = (self.instruction as u32, self.number as u32);
        let count = self.count();
        self.code.ops.push(Op::Effect { guard, action, instruction, function, count });
    }
}

impl<'m> Planning<'m> {
    fn new(module: &'m Module, addresses: &'m [u64], layouts: &'m [Layout], shared: &'m SharedLayout) -> Planning<'m> {
        Planning {
            module,
            addresses,
            layouts,
            shared,
            rows: Registers::default(),
            hidden: Hidden::default(),
            classes: Classes::default(),
            hoisted: Vec::new(),
            affine: affine::Numbers::default(),
            #[cfg(feature = "jit")]
            needed: Needed::default(),
        }
    }
}

impl Planning<'_> {
    /// Number of the module's target; the greatest if it has none.
    fn sm(&self) -> u16 {
        self.module.target.map_or(u16::MAX, |target| target.sm)
    }

    /// Finds the hidden rows of a function: a program knows from the start how many rows it has. What this adds to the code is discarded.
    fn hide(&mut self, number: usize, code: &mut Code) -> Result<(), Error> {
        let function = &self.module.functions[number];
        let mut open = Open::new(number, code);
        for (index, instruction) in function.instructions.iter().enumerate() {
            open.begin(index);
            self.hide_rows(&mut open, function, instruction).map_err(|error| error.at(self.module, instruction))?;
        }
        Ok(())
    }

    fn hide_rows(&mut self, open: &mut Open<'_>, function: &Function, instruction: &Instruction) -> Result<(), Error> {
        let computes = computes(instruction)?;
        for effect in instruction.form.effects_with(&instruction.free) {
            self.action(open, function, instruction, effect, None)?;
        }
        let operands = instruction.form.operands().iter().zip(&instruction.operands);
        for (info, operand) in operands.filter(|(info, _)| computes && !info.destination) {
            if !matches!(operand.value, Value::Register(_) | Value::Constant(_) | Value::Absent) {
                self.source(open, info, &operand.value)?;
            }
        }
        Ok(())
    }

    fn function(&mut self, number: usize, kernel: bool, code: &mut Code) -> Result<(), Error> {
        let function = &self.module.functions[number];
        let layout = &self.layouts[number];
        let slot = |parameter: &Parameter| match parameter {
            Parameter::Register(register) => Slot::Cell(Cell::Row(layout.rows[*register])),
            Parameter::Variable(variable) => layout.slot(function, *variable),
        };
        let mut routine = Routine {
            entry: code.ops.len(),
            frame: layout.frame,
            align: layout.align,
            parameters: function.parameters.iter().map(slot).collect(),
            results: function.results.iter().map(slot).collect(),
            rows: registers::distinct(&layout.rows),
            ..Routine::default()
        };
        if !function.body {
            routine.system = System::named(&function.name);
            if routine.system.is_none() {
                return Err(undefined("function", &function.name));
            }
            code.routines[number] = Some(routine);
            return Ok(());
        }
        let hoisted = if kernel { std::mem::take(&mut self.hoisted) } else { vec![false; function.instructions.len()] };
        let mut open = Open::new(number, code);
        if kernel {
            for index in (0..hoisted.len()).filter(|index| hoisted[*index]) {
                open.begin(index);
                self.instruction(&mut open, function, &function.instructions[index])
                    .map_err(|error| error.at(self.module, &function.instructions[index]))?;
            }
            open.code.prelude = open.code.ops.len();
            open.code.entry = open.code.prelude;
            open.apart = true;
        } else {
            open.code.routines[number] = Some(routine);
        }
        let mut targets = vec![false; function.instructions.len() + 1];
        for instruction in &function.instructions {
            instruction.targets().for_each(|target| targets[target] = true);
        }
        let first = open.code.ops.len();
        let mut starts = Vec::with_capacity(function.instructions.len() + 1);
        for (index, instruction) in function.instructions.iter().enumerate() {
            open.apart |= targets[index];
            if targets[index] && open.pending > 0 {
                // A jump to this target skips the preceding hoisted instructions, which must not count for it.
                let (at, count) = (open.code.program.len() as u32, open.count());
                open.code.ops.push(Op::Run { from: at, to: at, count, reads: Vec::new() });
            }
            open.begin(index);
            // A target begins where its first operation will be.
            starts.push(open.code.ops.len());
            if hoisted[index] {
                if let Some(Op::Run { count, .. }) = open.code.ops.last_mut().filter(|_| !open.apart) {
                    *count += std::mem::take(&mut open.pending);
                }
                continue;
            }
            let before = open.code.ops.len();
            self.instruction(&mut open, function, instruction).map_err(|error| error.at(self.module, instruction))?;
            if open.code.ops.len() == before && targets[index] {
                unreachable!("an instruction behind a label has an operation of its own");
            }
        }
        open.instruction = function.instructions.len().saturating_sub(1);
        starts.push(open.code.ops.len());
        open.effect(None, Action::Return);
        for op in &mut open.code.ops[first..] {
            match op {
                Op::Effect { action: Action::Branch { to, .. }, .. } => *to = starts[*to],
                Op::Effect { action: Action::BranchIndexed { targets, .. }, .. } => {
                    targets.iter_mut().for_each(|target| *target = starts[*target]);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn scratch(&mut self, open: &mut Open<'_>, bits: u8) -> Row {
        let key = (bits, open.scratch.iter().filter(|used| **used == bits).count());
        open.scratch.push(bits);
        let rows = &mut self.rows;
        *self.hidden.scratch.entry(key).or_insert_with(|| rows.add(bits))
    }

    fn special(&mut self, open: &mut Open<'_>, special: &'static Special, element: Option<u8>, bits: u8) -> Row {
        let origin = special.origin;
        if origin.is_clock() {
            let to = self.scratch(open, bits);
            open.effect(None, Action::Refresh { to, origin });
            open.apart = true;
            return to;
        }
        self.filled(open, Filled { bits, origin, element: element.unwrap_or(0), addend: 0 })
    }

    /// Returns the row that holds a special register plus an addend; it is filled when a block begins.
    fn filled(&mut self, open: &mut Open<'_>, key: Filled) -> Row {
        let Filled { bits, origin, .. } = key;
        let rows = &mut self.rows;
        let to = *self.hidden.specials.entry(key).or_insert_with(|| rows.add(bits));
        // Only the kernel knows what is affine.
        if !self.classes.registers.is_empty() && matches!(bits, 16..=64) && affine::origin(origin) != Class::Other {
            open.reads.push(self.affine.add(to));
        }
        to
    }

    /// Returns the row that holds the address of an offset in the block's shared memory.
    fn shared_address(&mut self, open: &mut Open<'_>, offset: u64, bits: u8) -> Row {
        self.filled(open, Filled { bits, origin: Origin::ReservedShared, element: 0, addend: offset })
    }

    /// The address of a variable or function: a constant, or an offset in the frame and whether a generic address is meant.
    fn symbol(&self, function: usize, symbol: Symbol, addend: u64) -> Result<Symbolic, Error> {
        let address = match symbol {
            Symbol::Function(number) => Symbolic::Constant(FUNCTIONS + number as u64 * FUNCTION),
            Symbol::Module(number) => match self.shared.of_module(number) {
                Some(address) => address,
                None if external(&self.module.variables[number]) => {
                    return Err(undefined("variable", &self.module.variables[number].name));
                }
                None => Symbolic::Constant(self.addresses[number]),
            },
            Symbol::Local(number) => {
                let own = &self.module.functions[function];
                let offset = self.layouts[function].offsets[number];
                match (self.shared.of_function(function, number), memory(&own.variables[number])) {
                    (Some(address), _) => address,
                    (None, Some(Belongs::Call)) if own.kernel && is_parameter(own, number) => {
                        Symbolic::Constant(PARAMETERS + offset)
                    }
                    (None, Some(Belongs::Call)) => Symbolic::Frame { offset, generic: true },
                    (None, Some(Belongs::Thread)) => Symbolic::Frame { offset, generic: false },
                    (None, _) => {
                        let message = format!("`{}` has no memory here", own.variables[number].name);
                        return Err(Error::unsupported(message));
                    }
                }
            }
        };
        Ok(match address {
            Symbolic::Constant(address) => Symbolic::Constant(address.wrapping_add(addend)),
            Symbolic::Shared(offset) => Symbolic::Shared(offset.wrapping_add(addend)),
            Symbolic::Frame { offset, generic } => Symbolic::Frame { offset: offset.wrapping_add(addend), generic },
        })
    }

    /// Returns the cell that an effect reads for a value.
    fn cell(&mut self, open: &mut Open<'_>, value: &Value, bits: u8) -> Result<Cell, Error> {
        let rows = &self.layouts[open.number].rows;
        Ok(match value {
            Value::Register(register) => {
                open.reads.extend(self.affine.get(rows[*register]));
                Cell::Row(rows[*register])
            }
            Value::Not(register) => {
                open.reads.extend(self.affine.get(rows[*register]));
                Cell::Not(rows[*register].number)
            }
            Value::Constant(bits) => Cell::Constant(*bits),
            Value::Special { special, element, .. } => {
                Cell::Row(self.special(open, special, *element, if bits == 1 { 1 } else { bits.max(16) }))
            }
            Value::Address { symbol, addend } => match self.symbol(open.number, *symbol, *addend)? {
                Symbolic::Constant(address) => Cell::Constant(address),
                Symbolic::Shared(offset) => Cell::Row(self.shared_address(open, offset, bits.max(16))),
                Symbolic::Frame { offset, generic } => {
                    let to = self.scratch(open, 64);
                    open.effect(None, Action::FrameAddress { to, offset, generic });
                    Cell::Row(to)
                }
            },
            Value::Offset { addend, .. } => {
                return Err(Error::unsupported(format!("a register plus {addend} is not a value here")));
            }
            Value::Sink | Value::Absent => Cell::Sink,
            Value::List(list) if list.len() == 1 => self.cell(open, &list[0], bits)?,
            _ => return Err(Error::unsupported("this operand has no single value")),
        })
    }

    fn instruction(
        &mut self,
        open: &mut Open<'_>,
        function: &Function,
        instruction: &Instruction,
    ) -> Result<(), Error> {
        let form = instruction.form;
        let computes = computes(instruction)?;
        let layout = &self.layouts[open.number];
        let guard = instruction.guard.map(|(register, not)| (layout.rows[register].number, not));
        open.reads.clear();
        open.reads.extend(instruction.guard.and_then(|(register, _)| self.affine.get(layout.rows[register])));
        let once = match function.kernel {
            true => self.classes.instructions.get(open.instruction).cloned().flatten(),
            false => None,
        };
        let gathered = if computes { Some(self.gather(open, instruction, guard)?) } else { None };
        for effect in form.effects_with(&instruction.free) {
            let action = self.action(open, function, instruction, effect, gathered.as_ref())?;
            match (&once, &action) {
                (Some(affine::Once::Copy), Action::ToGeneric { at, to, .. } | Action::FromGeneric { at, to, .. }) => {
                    let copied = self.copied(*at, *to);
                    self.push_once(open, copied, &[*to]);
                }
                (Some(affine::Once::Load), Action::Read(access)) => {
                    // Its address is constant.
                    open.reads.clear();
                    self.push_once(open, None, &access.cells);
                }
                _ => open.fill(),
            }
            open.effect(guard, action);
            open.apart = true;
        }
        if let Some(gathered) = gathered {
            self.evaluated(open, instruction, &gathered, once)?;
        }
        Ok(())
    }
}

/// The address of a variable or function.
enum Symbolic {
    Constant(u64),
    /// Offset in the block's shared memory, whose address depends on the block's rank.
    Shared(u64),
    Frame {
        offset: u64,
        generic: bool,
    },
}

/// The error that a kernel needs a function or a variable that no module defines.
fn undefined(kind: &str, name: &str) -> Error {
    Error::unsupported(match System::missing(name) {
        Some(what) => format!("`{name}` is not supported: {what}"),
        None => format!("no module defines the {kind} `{name}`; link one that does"),
    })
}
