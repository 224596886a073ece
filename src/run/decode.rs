//! From a resolved module to the code of a kernel: runs of decoded instructions, and effects with their registers.

use std::prelude::rust_2024::*;
use std::{format, vec};

use std::collections::HashMap;

use ptx_isa::table::{self, Effect, EffectKind, Evaluator, Kind, Memory as Belongs, Origin, Special, Table};
use ptx_isa::text::resolved::{Function, Instruction, Module, Parameter, Symbol, Value, Variable};
use ptx_isa::warp::{Operands, Program, Registers, Source};

use super::error::{Error, ErrorKind};
use super::system::System;
use matrix::Matrix;

pub(super) mod matrix;

/// A register of a warp: bits of a lane, 1 for a predicate, and its number among those of that width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub bits: u8,
    pub number: u32,
}

/// What an effect reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Row(Row),
    /// A predicate, complemented.
    Not(u32),
    Constant(u64),
    Sink,
}

/// Where an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    Generic,
    /// Global and constant memory.
    Device,
    /// Shared memory of the block.
    Block,
    /// The stack of the thread.
    Thread,
    /// The parameters of the kernel.
    Parameters,
}

/// An address: a register, or the frame of the thread, and a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub base: Option<Row>,
    /// Whether the frame of the function is added.
    pub frame: bool,
    pub offset: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub place: Where,
    pub at: Address,
    /// Bytes of an element.
    pub bytes: u8,
    /// Whether an element is sign-extended to a wider register.
    pub signed: bool,
    /// Whether it is ordered with others.
    pub ordered: bool,
    /// The elements.
    pub cells: Vec<Cell>,
}

/// A value that a call passes: bytes in a frame, or a register.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Frame { offset: u64, bytes: u64 },
    Cell(Cell),
}

#[derive(Clone, Debug)]
pub(crate) enum Callee {
    /// An index of functions.
    Direct(usize),
    Indirect(Cell),
    System(System),
}

/// What is asked of the threads at a barrier, and where the answer goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub kind: EffectKind,
    pub of: Cell,
    pub to: Cell,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Read(Access),
    Write(Access),
    Update {
        access: Access,
        change: Evaluator,
        sources: Vec<Vec<Cell>>,
        old: usize,
        /// Whether the function is the result, and memory stays as it is.
        inspects: bool,
    },
    CopyBytes(Box<CopyBytes>),
    Fence,
    ToGeneric {
        place: Where,
        at: Cell,
        to: Cell,
    },
    FromGeneric {
        place: Where,
        at: Cell,
        to: Cell,
    },
    IsInSpace {
        place: Where,
        at: Cell,
        to: Cell,
    },
    MapToBlock {
        at: Cell,
        to: Cell,
    },
    RankOfBlock {
        to: Cell,
    },
    Reserve {
        size: Cell,
        alignment: u64,
        to: Cell,
    },
    StackPointer {
        to: Cell,
    },
    SetStackPointer {
        from: Cell,
    },
    /// Copies cells.
    Copy {
        from: Vec<Cell>,
        to: Vec<Cell>,
    },
    /// Copies a cell to one of another width: only so many bits, perhaps sign-extended.
    Convert {
        from: Cell,
        to: Cell,
        bits: u8,
        signed: bool,
    },
    /// The address of something in the frame.
    FrameAddress {
        to: Row,
        offset: u64,
        generic: bool,
    },
    /// Reads what changes while a thread runs.
    Refresh {
        to: Row,
        origin: Origin,
    },
    Branch(usize),
    BranchIndexed {
        index: Cell,
        targets: Vec<usize>,
    },
    Call {
        callee: Callee,
        arguments: Vec<Slot>,
        results: Vec<Slot>,
    },
    Return,
    Exit,
    Trap,
    Wait {
        barrier: Cell,
        threads: Option<Cell>,
        test: Option<Test>,
    },
    Arrive {
        barrier: Cell,
        threads: Cell,
    },
    /// Waits for lanes; whether they also have to be at the same place.
    Converge {
        mask: Cell,
        together: bool,
    },
    Matrix(Box<Matrix>),
    Nothing,
}

/// A copy of bytes between memories.
#[derive(Clone, Debug)]
pub(crate) struct CopyBytes {
    pub to: (Where, Address),
    pub from: (Where, Address),
    pub size: Cell,
    /// How many bytes are read; of a predicate, none if it is true.
    pub count: Option<(Cell, bool)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Decoded instructions, by their numbers.
    Run {
        from: u32,
        to: u32,
    },
    Effect {
        guard: Option<(u32, bool)>,
        action: Action,
        instruction: u32,
        function: u32,
    },
}

/// A function of the code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routine {
    pub entry: usize,
    /// Bytes of its frame.
    pub frame: u64,
    pub parameters: Vec<Slot>,
    pub results: Vec<Slot>,
    /// Its registers, saved where it calls itself.
    pub rows: Vec<Row>,
    pub recursive: bool,
    pub system: Option<System>,
}

/// A special register that the code reads, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub to: Row,
    pub origin: Origin,
    pub element: u8,
}

/// The code of a kernel.
#[derive(Debug)]
pub(crate) struct Code {
    pub program: Program,
    pub ops: Vec<Op>,
    pub entry: usize,
    /// By the number of the module's function; nothing of those that the kernel does not reach.
    pub routines: HashMap<usize, Routine>,
    pub specials: Vec<Read>,
    pub static_shared: u64,
    /// Whether the stack of a thread may grow while it runs.
    pub grows: bool,
}

/// Where addresses of functions begin, and how far they are apart.
pub(crate) const FUNCTIONS: u64 = 0x00f4 << 48;
pub(crate) const FUNCTION: u64 = 16;
/// Where generic addresses of shared memory, of a thread's stack, and of parameters begin.
pub(crate) const BLOCK: u64 = 0x00f1 << 48;
pub(crate) const THREAD: u64 = 0x00f2 << 48;
pub(crate) const PARAMETERS: u64 = 0x00f3 << 48;

pub(crate) fn decode(module: &Module, kernel: usize, addresses: &[u64]) -> Result<Code, Error> {
    let mut reached = Vec::from([kernel]);
    let mut next = 0;
    while next < reached.len() {
        for callee in mentioned(module, reached[next]) {
            if !reached.contains(&callee) {
                reached.push(callee);
            }
        }
        next += 1;
    }
    let sm = module.target.map_or(u16::MAX, |target| target.sm);
    // Rows first: a program knows how many it has.
    let mut rows = Rows::default();
    let mut layouts = HashMap::new();
    let mut static_shared = 0_u64;
    let mut shared = HashMap::new();
    // Shared variables outside of functions lie before those within.
    for (number, variable) in module.variables.iter().enumerate() {
        if memory(variable) == Some(Belongs::Block) && variable.size > 0 && !variable.external {
            static_shared = static_shared.next_multiple_of(variable.align);
            shared.insert((usize::MAX, number), static_shared);
            static_shared += variable.size;
        }
    }
    for number in &reached {
        let function = &module.functions[*number];
        let own: Vec<Row> =
            function.registers.iter().map(|register| rows.of(width(module.table, register.ty))).collect();
        let mut frame = 0_u64;
        let mut offsets = Vec::new();
        for (index, variable) in function.variables.iter().enumerate() {
            let offset = match memory(variable) {
                Some(Belongs::Block) => {
                    static_shared = static_shared.next_multiple_of(variable.align);
                    shared.insert((*number, index), static_shared);
                    static_shared += variable.size;
                    0
                }
                Some(Belongs::Call) if function.kernel && is_parameter(function, index) => variable.offset,
                _ => {
                    frame = frame.next_multiple_of(variable.align);
                    let offset = frame;
                    frame += variable.size;
                    offset
                }
            };
            offsets.push(offset);
        }
        layouts.insert(*number, Layout { rows: own, offsets, frame: frame.next_multiple_of(16) });
    }
    // Dynamic shared memory lies behind all that is static.
    let dynamic = |variable: &Variable| variable.external || variable.size == 0;
    let align =
        module.variables.iter().filter(|variable| memory(variable) == Some(Belongs::Block) && dynamic(variable));
    let align = align.map(|variable| variable.align).max().unwrap_or(16).max(16);
    static_shared = static_shared.next_multiple_of(align);
    for (number, variable) in module.variables.iter().enumerate() {
        if memory(variable) == Some(Belongs::Block) && dynamic(variable) {
            shared.insert((usize::MAX, number), static_shared);
        }
    }
    let mut plan = Planning { module, addresses, layouts: &layouts, shared: &shared, rows, hidden: Hidden::default() };
    // Hidden rows are known once every instruction was looked at: two passes give the same ones.
    for pass in 0..2 {
        let mut code = Code {
            program: Program::new(plan.rows.registers(), sm),
            ops: Vec::new(),
            entry: 0,
            routines: HashMap::new(),
            specials: Vec::new(),
            static_shared,
            grows: false,
        };
        for number in &reached {
            plan.function(*number, &mut code, pass == 1)?;
        }
        if pass == 1 {
            code.entry = code.routines[&kernel].entry;
            for (key, row) in &plan.hidden.specials {
                code.specials.push(Read { to: *row, origin: key.1, element: key.2 });
            }
            let recursive: Vec<usize> =
                reached.iter().copied().filter(|number| calls(module, *number).contains(number)).collect();
            for number in &recursive {
                if let Some(routine) = code.routines.get_mut(number) {
                    routine.recursive = true;
                }
            }
            code.grows |= !recursive.is_empty();
            return Ok(code);
        }
    }
    unreachable!("the second pass returns")
}

/// All functions that a function may call, directly or by others.
fn calls(module: &Module, number: usize) -> Vec<usize> {
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
fn mentioned(module: &Module, number: usize) -> Vec<usize> {
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
        let names = module.variables.iter().flat_map(|variable| &variable.relocations).map(|one| &one.name);
        found.extend(names.filter_map(|name| module.function(name)));
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

fn is_parameter(function: &Function, variable: usize) -> bool {
    function.parameters.contains(&Parameter::Variable(variable))
}

pub(crate) fn memory(variable: &Variable) -> Option<Belongs> {
    variable.space.memory
}

/// The width of the row that holds a register of a type.
fn width(table: &Table, ty: table::TypeId) -> u8 {
    let ty = table.ty(ty);
    match (ty.kind, ty.bits) {
        (Kind::Predicate, _) => 1,
        (_, 0..=16) => 16,
        (_, 17..=32) => 32,
        (_, 33..=64) => 64,
        _ => 128,
    }
}

#[derive(Clone, Debug, Default)]
struct Rows {
    counts: HashMap<u8, u32>,
}

impl Rows {
    fn of(&mut self, bits: u8) -> Row {
        let count = self.counts.entry(bits).or_default();
        *count += 1;
        Row { bits, number: *count - 1 }
    }

    fn registers(&self) -> Registers {
        let of = |bits| self.counts.get(&bits).copied().unwrap_or_default();
        Registers { b16: of(16), b32: of(32), b64: of(64), pred: of(1) }
    }
}

/// Where the registers and variables of a function are.
struct Layout {
    rows: Vec<Row>,
    /// Of a variable in the frame or among the kernel's parameters.
    offsets: Vec<u64>,
    frame: u64,
}

/// Rows that no register of the module has.
#[derive(Default)]
struct Hidden {
    specials: HashMap<(u8, Origin, u8), Row>,
    /// Rows that an instruction uses for its own.
    scratch: HashMap<(u8, usize), Row>,
}

struct Planning<'m> {
    module: &'m Module,
    addresses: &'m [u64],
    layouts: &'m HashMap<usize, Layout>,
    shared: &'m HashMap<(usize, usize), u64>,
    rows: Rows,
    hidden: Hidden,
}

/// A function that is decoded.
struct Open<'c> {
    number: usize,
    instruction: usize,
    code: &'c mut Code,
    /// How many scratch rows of each width the instruction has so far.
    scratch: HashMap<u8, usize>,
    /// Whether the next instruction begins a run of its own.
    apart: bool,
}

impl Open<'_> {
    fn effect(&mut self, guard: Option<(u32, bool)>, action: Action) {
        let (instruction, function) = (self.instruction as u32, self.number as u32);
        self.code.ops.push(Op::Effect { guard, action, instruction, function });
    }
}

impl Planning<'_> {
    fn function(&mut self, number: usize, code: &mut Code, whole: bool) -> Result<(), Error> {
        let function = &self.module.functions[number];
        let layout = &self.layouts[&number];
        let slot = |parameter: &Parameter| match parameter {
            Parameter::Register(register) => Slot::Cell(Cell::Row(layout.rows[*register])),
            Parameter::Variable(variable) => {
                Slot::Frame { offset: layout.offsets[*variable], bytes: function.variables[*variable].size }
            }
        };
        let mut routine = Routine {
            entry: code.ops.len(),
            frame: layout.frame,
            parameters: function.parameters.iter().map(slot).collect(),
            results: function.results.iter().map(slot).collect(),
            rows: layout.rows.clone(),
            ..Routine::default()
        };
        if !function.body {
            routine.system = System::named(&function.name);
            if routine.system.is_none() {
                let message = format!("the function `{}` has no body in this module", function.name);
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            code.routines.insert(number, routine);
            return Ok(());
        }
        code.routines.insert(number, routine);
        let mut targets = vec![false; function.instructions.len() + 1];
        for instruction in &function.instructions {
            for operand in &instruction.operands {
                match &operand.value {
                    Value::Label(label) => targets[*label] = true,
                    Value::Labels(labels) => labels.iter().for_each(|label| targets[*label] = true),
                    _ => {}
                }
            }
        }
        let first = code.ops.len();
        let mut starts = Vec::with_capacity(function.instructions.len() + 1);
        let mut open = Open { number, instruction: 0, code, scratch: HashMap::new(), apart: true };
        for (index, instruction) in function.instructions.iter().enumerate() {
            open.instruction = index;
            open.scratch.clear();
            open.apart |= targets[index];
            // A target begins where its first operation will be.
            starts.push(open.code.ops.len());
            let before = open.code.ops.len();
            self.instruction(&mut open, function, instruction, whole).map_err(|error| Error {
                statement: Some(
                    self.module.text[instruction.at.clone()].split_whitespace().collect::<Vec<_>>().join(" "),
                ),
                line: Some(self.module.line(instruction.at.start)),
                source: instruction
                    .location
                    .and_then(|(file, line, column)| Some((self.module.file(file)?.to_owned(), line, column))),
                ..error
            })?;
            if open.code.ops.len() == before && targets[index] {
                unreachable!("an instruction behind a label has an operation of its own");
            }
        }
        open.instruction = function.instructions.len().saturating_sub(1);
        starts.push(open.code.ops.len());
        open.effect(None, Action::Return);
        for op in &mut code.ops[first..] {
            match op {
                Op::Effect { action: Action::Branch(target), .. } => *target = starts[*target],
                Op::Effect { action: Action::BranchIndexed { targets, .. }, .. } => {
                    targets.iter_mut().for_each(|target| *target = starts[*target]);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn scratch(&mut self, open: &mut Open<'_>, bits: u8) -> Row {
        let count = open.scratch.entry(bits).or_default();
        *count += 1;
        let key = (bits, *count - 1);
        let rows = &mut self.rows;
        *self.hidden.scratch.entry(key).or_insert_with(|| rows.of(bits))
    }

    fn special(&mut self, open: &mut Open<'_>, special: &'static Special, element: Option<u8>, bits: u8) -> Row {
        let row = match special.origin {
            Origin::Clock | Origin::ClockHigh | Origin::Timer | Origin::TimerHigh => {
                let to = self.scratch(open, bits);
                open.effect(None, Action::Refresh { to, origin: special.origin });
                open.apart = true;
                return to;
            }
            _ => (bits, special.origin, element.unwrap_or(0)),
        };
        let rows = &mut self.rows;
        *self.hidden.specials.entry(row).or_insert_with(|| rows.of(bits))
    }

    /// The address of a variable or function: a constant, or an offset in the frame and whether a generic address is meant.
    fn symbol(&self, function: usize, symbol: Symbol, addend: u64) -> Result<Symbolic, Error> {
        let address = match symbol {
            Symbol::Function(number) => Symbolic::Constant(FUNCTIONS + number as u64 * FUNCTION),
            Symbol::Module(number) => match self.shared.get(&(usize::MAX, number)) {
                Some(offset) => Symbolic::Constant(*offset),
                None => Symbolic::Constant(self.addresses[number]),
            },
            Symbol::Local(number) => {
                let own = &self.module.functions[function];
                let offset = self.layouts[&function].offsets[number];
                match (self.shared.get(&(function, number)), memory(&own.variables[number])) {
                    (Some(offset), _) => Symbolic::Constant(*offset),
                    (None, Some(Belongs::Call)) if own.kernel && is_parameter(own, number) => {
                        Symbolic::Constant(PARAMETERS + offset)
                    }
                    (None, Some(Belongs::Call)) => Symbolic::Frame { offset, generic: true },
                    (None, Some(Belongs::Thread)) => Symbolic::Frame { offset, generic: false },
                    (None, _) => {
                        let message = format!("`{}` has no memory here", own.variables[number].name);
                        return Err(Error::new(ErrorKind::Unsupported, message));
                    }
                }
            }
        };
        Ok(match address {
            Symbolic::Constant(address) => Symbolic::Constant(address.wrapping_add(addend)),
            Symbolic::Frame { offset, generic } => Symbolic::Frame { offset: offset.wrapping_add(addend), generic },
        })
    }

    /// What an effect reads for a value.
    fn cell(&mut self, open: &mut Open<'_>, value: &Value, bits: u8) -> Result<Cell, Error> {
        let rows = &self.layouts[&open.number].rows;
        Ok(match value {
            Value::Register(register) => Cell::Row(rows[*register]),
            Value::Not(register) => Cell::Not(rows[*register].number),
            Value::Constant(bits) => Cell::Constant(*bits),
            Value::Special { special, element, .. } => Cell::Row(self.special(open, special, *element, bits.max(16))),
            Value::Address { symbol, addend } => match self.symbol(open.number, *symbol, *addend)? {
                Symbolic::Constant(address) => Cell::Constant(address),
                Symbolic::Frame { offset, generic } => {
                    let to = self.scratch(open, 64);
                    open.effect(None, Action::FrameAddress { to, offset, generic });
                    Cell::Row(to)
                }
            },
            Value::Offset { register, addend } => {
                let message = format!("a register plus {addend} is no value here");
                let _ = register;
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            Value::Sink | Value::Absent => Cell::Sink,
            Value::List(list) if list.len() == 1 => self.cell(open, &list[0], bits)?,
            _ => return Err(Error::new(ErrorKind::Unsupported, "this operand has no single value")),
        })
    }

    fn instruction(
        &mut self,
        open: &mut Open<'_>,
        function: &Function,
        instruction: &Instruction,
        whole: bool,
    ) -> Result<(), Error> {
        let form = instruction.form;
        let effects = form.effects();
        let computes = !form.evaluations().is_empty();
        let lacks = match (effects.effects, effects.lacks) {
            (_, lacks) if !lacks.is_empty() => lacks,
            ([], _) if !computes => "what it does is not described",
            _ => "",
        };
        if !lacks.is_empty() {
            let message = format!("`{}` cannot be executed: {lacks}", form.mnemonic());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let layout = &self.layouts[&open.number];
        let guard = instruction.guard.map(|(register, not)| (layout.rows[register].number, not));
        for effect in form.effects_with(&instruction.free) {
            let action = self.action(open, function, instruction, effect, computes)?;
            open.effect(guard, action);
            open.apart = true;
        }
        if computes {
            self.evaluated(open, instruction, guard, whole)?;
        }
        Ok(())
    }

    /// An instruction that computes registers from registers.
    fn evaluated(
        &mut self,
        open: &mut Open<'_>,
        instruction: &Instruction,
        guard: Option<(u32, bool)>,
        whole: bool,
    ) -> Result<(), Error> {
        let form = instruction.form;
        let unsupported =
            |why: &str| Error::new(ErrorKind::Unsupported, format!("`{}` cannot be executed: {why}", form.mnemonic()));
        let operands = || form.operands().iter().zip(&instruction.operands);
        let read = operands().filter(|(info, operand)| !info.destination && !matches!(operand.value, Value::Absent));
        let states = form.states().iter().filter(|operand| !operand.destination).count();
        let written = read.clone().count();
        let sm = self.module.target.map_or(u16::MAX, |target| target.sm);
        let evaluator = form.evaluator(sm, written + states).ok_or_else(|| unsupported("it has other operands"))?;
        let places = evaluator.shape().places;
        let outputs = evaluator.shape().outputs.len();
        let place = |source: usize| {
            let index = evaluator.sources().iter().position(|of| usize::from(*of) == source);
            index.map(|index| places[outputs + index])
        };
        let mut sources = Vec::new();
        for (number, (info, operand)) in read.enumerate() {
            let own = self.module.table.ty(info.ty);
            let bits = place(number).unwrap_or(own.bits.min(64) as u8);
            sources.push(match self.cell(open, &operand.value, bits)? {
                Cell::Constant(value) => Source::Constant(value),
                Cell::Not(number) => Source::Not(number),
                Cell::Row(row) if row.bits == bits || bits < 16 && row.bits == 16 => Source::Register(row.number),
                Cell::Row(row) => {
                    let to = self.scratch(open, bits.max(16));
                    let signed = own.kind == Kind::Signed;
                    let least = bits.min(row.bits);
                    open.effect(None, Action::Convert { from: Cell::Row(row), to: Cell::Row(to), bits: least, signed });
                    open.apart = true;
                    Source::Register(to.number)
                }
                Cell::Sink => return Err(unsupported("an operand is a sink")),
            });
        }
        let mut destinations = Vec::new();
        let mut after = Vec::new();
        let mut output = 0;
        for (info, operand) in operands().filter(|(info, _)| info.destination) {
            let bits = places.get(output).copied().unwrap_or(32);
            output += 1;
            let register = match &operand.value {
                Value::Register(register) => Some(self.layouts[&open.number].rows[*register]),
                _ => None,
            };
            destinations.push(match register {
                Some(row) if row.bits == bits => Some(row.number),
                Some(row) => {
                    let from = self.scratch(open, bits.max(16));
                    let signed = self.module.table.ty(info.ty).kind == Kind::Signed;
                    let least = bits.min(row.bits);
                    after.push(Action::Convert { from: Cell::Row(from), to: Cell::Row(row), bits: least, signed });
                    Some(from.number)
                }
                None => None,
            });
            if info.second.is_some() {
                output += 1;
                destinations.push(operand.second.map(|register| self.layouts[&open.number].rows[register].number));
            }
        }
        let selectors: Vec<u32> = operands()
            .filter_map(|(info, operand)| info.selector.map(|own| operand.selector.unwrap_or(own.default)))
            .collect();
        let from = open.code.program.len() as u32;
        if whole {
            let operands = Operands { guard, destinations: &destinations, sources: &sources, selectors: &selectors };
            open.code.program.push(form, &operands).map_err(|error| unsupported(&error.to_string()))?;
        }
        let to = open.code.program.len() as u32;
        match open.code.ops.last_mut() {
            Some(Op::Run { to: last, .. }) if !open.apart => *last = to,
            _ => open.code.ops.push(Op::Run { from, to }),
        }
        open.apart = !after.is_empty();
        for action in after {
            open.effect(guard, action);
        }
        Ok(())
    }

    /// The space of an address: as the statement says, or as the variable is in that it names.
    fn place(&self, open: &Open<'_>, instruction: &Instruction, operand: usize) -> Where {
        let info = &form_operand(instruction, operand);
        let named = info.space.and_then(|slot| instruction.modifier(slot));
        let fixed = match info.space {
            Some(_) => None,
            None if info.spaces.len() == 1 => info.spaces.first().copied(),
            None => None,
        };
        let space = named.or(fixed).and_then(|name| self.module.table.space(name)).and_then(|space| space.memory);
        let space = space.or_else(|| match &instruction.operands[operand].value {
            Value::Address { symbol: Symbol::Module(number), .. } => memory(&self.module.variables[*number]),
            Value::Address { symbol: Symbol::Local(number), .. } => {
                memory(&self.module.functions[open.number].variables[*number])
            }
            _ => None,
        });
        where_of(space)
    }

    fn address(&mut self, open: &mut Open<'_>, value: &Value, place: &mut Where) -> Result<Address, Error> {
        let rows = &self.layouts[&open.number].rows;
        Ok(match value {
            Value::Register(register) => Address { base: Some(rows[*register]), frame: false, offset: 0 },
            Value::Offset { register, addend } => {
                Address { base: Some(rows[*register]), frame: false, offset: *addend }
            }
            Value::Constant(offset) => Address { base: None, frame: false, offset: *offset },
            Value::Address { symbol, addend } => match self.symbol(open.number, *symbol, *addend)? {
                Symbolic::Constant(offset) if offset >> 48 == PARAMETERS >> 48 => {
                    *place = Where::Parameters;
                    Address { base: None, frame: false, offset: offset - PARAMETERS }
                }
                Symbolic::Constant(offset) => Address { base: None, frame: false, offset },
                Symbolic::Frame { offset, .. } => {
                    *place = Where::Thread;
                    Address { base: None, frame: true, offset }
                }
            },
            _ => return Err(Error::new(ErrorKind::Unsupported, "this operand is no address")),
        })
    }

    fn elements(&mut self, open: &mut Open<'_>, value: &Value, bits: u8) -> Result<Vec<Cell>, Error> {
        match value {
            Value::List(list) => list.iter().map(|value| self.cell(open, value, bits)).collect(),
            value => Ok(vec![self.cell(open, value, bits)?]),
        }
    }

    fn action(
        &mut self,
        open: &mut Open<'_>,
        function: &Function,
        instruction: &Instruction,
        effect: &'static Effect,
        computes: bool,
    ) -> Result<Action, Error> {
        let table = self.module.table;
        let given = |index: usize| effect.arguments.get(index).copied().filter(|place| *place != NONE).map(usize::from);
        let operand = |index: usize| {
            let place = given(index)?;
            let operand = instruction.operands.get(place)?;
            (!matches!(operand.value, Value::Absent)).then_some((place, operand))
        };
        let word = |index: usize| given(index).and_then(|slot| instruction.modifier(slot as u8));
        let missing = || Error::new(ErrorKind::Unsupported, "an operand is missing");
        let bits_of = |place: usize| table.ty(form_operand(instruction, place).ty).bits.min(128) as u8;
        let result = (effect.result != NONE).then(|| usize::from(effect.result));
        macro_rules! cell {
            ($index:expr) => {{
                let (place, operand) = operand($index).ok_or_else(missing)?;
                self.cell(open, &operand.value, bits_of(place))?
            }};
        }
        macro_rules! to {
            () => {{
                match result {
                    Some(place) => self.cell(open, &instruction.operands[place].value, bits_of(place))?,
                    None => Cell::Sink,
                }
            }};
        }
        macro_rules! access {
            ($value:expr, $order:expr) => {{
                let (at, address) = operand(0).ok_or_else(missing)?;
                let mut place = self.place(open, instruction, at);
                let at = self.address(open, &address.value, &mut place)?;
                let value: Option<usize> = $value;
                let (bytes, signed, cells) = match value {
                    Some(value) => {
                        let ty = table.ty(form_operand(instruction, value).ty);
                        let cells = self.elements(open, &instruction.operands[value].value, ty.bits.min(64) as u8)?;
                        ((ty.bits / 8) as u8, ty.kind == Kind::Signed, cells)
                    }
                    None => (0, false, Vec::new()),
                };
                if bytes > 8 {
                    let message = "registers of 128 bits are not modeled";
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
                Access { place, at, bytes, signed, ordered: word($order).is_some(), cells }
            }};
        }
        let space = |index: usize| where_of(word(index).and_then(|name| table.space(name)).and_then(|s| s.memory));
        Ok(match effect.kind {
            EffectKind::Read => Action::Read(access!(result, 1)),
            EffectKind::Write => Action::Write(access!(operand(1).map(|(place, _)| place), 2)),
            EffectKind::Update | EffectKind::Inspect => {
                let change = instruction.form.change(effect).ok_or_else(missing)?;
                let inspects = effect.kind == EffectKind::Inspect;
                let mut access = access!(result, 2);
                let mut sources = Vec::new();
                let mut count = 1;
                for (place, info) in
                    instruction.form.operands().iter().enumerate().filter(|(_, info)| !info.destination)
                {
                    let value = &instruction.operands[place].value;
                    let cells = match info.kind.is_value() && !matches!(value, Value::Absent) {
                        true => self.elements(open, value, bits_of(place))?,
                        false => Vec::new(),
                    };
                    if change.sources().contains(&(sources.len() as u8)) {
                        count = count.max(cells.len());
                    }
                    sources.push(cells);
                }
                access.cells.resize(count, Cell::Sink);
                access.bytes = instruction.form.changed_bits(effect).ok_or_else(missing)? / 8;
                if access.bytes > 8 {
                    let message = "registers of 128 bits are not modeled";
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
                let old = sources.len();
                Action::Update { access, change, sources, old, inspects }
            }
            EffectKind::CopyBytes => {
                let mut address = |index: usize| {
                    let (at, address) = operand(index).ok_or_else(missing)?;
                    let mut place = self.place(open, instruction, at);
                    let at = self.address(open, &address.value, &mut place)?;
                    Ok::<_, Error>((place, at))
                };
                let (to, from) = (address(0)?, address(1)?);
                let count = match operand(3) {
                    Some((_, operand)) => {
                        let predicate = match operand.value {
                            Value::Register(register) => self.layouts[&open.number].rows[register].bits == 1,
                            ref value => matches!(value, Value::Not(_)),
                        };
                        Some((cell!(3), predicate))
                    }
                    None => None,
                };
                Action::CopyBytes(Box::new(CopyBytes { to, from, size: cell!(2), count }))
            }
            EffectKind::Fence => Action::Fence,
            EffectKind::ToGeneric => Action::ToGeneric { place: space(1), at: cell!(0), to: to!() },
            EffectKind::FromGeneric => Action::FromGeneric { place: space(1), at: cell!(0), to: to!() },
            EffectKind::IsInSpace => Action::IsInSpace { place: space(1), at: cell!(0), to: to!() },
            EffectKind::MapToBlock => Action::MapToBlock { at: cell!(0), to: to!() },
            EffectKind::RankOfBlock => Action::RankOfBlock { to: to!() },
            EffectKind::Reserve => {
                open.code.grows = true;
                let alignment = match operand(1).map(|(_, operand)| &operand.value) {
                    Some(Value::Constant(bytes)) => *bytes,
                    _ => 16,
                };
                Action::Reserve { size: cell!(0), alignment: alignment.max(1), to: to!() }
            }
            EffectKind::StackPointer => Action::StackPointer { to: to!() },
            EffectKind::SetStackPointer => Action::SetStackPointer { from: cell!(0) },
            EffectKind::Copy => {
                let (place, operand) = operand(0).ok_or_else(missing)?;
                let bits = bits_of(place);
                let from = match &operand.value {
                    Value::Special { special, element: None, .. } => {
                        (0..4).map(|element| Cell::Row(self.special(open, special, Some(element), bits))).collect()
                    }
                    value => self.elements(open, value, bits)?,
                };
                let to = result.ok_or_else(missing)?;
                Action::Copy { from, to: self.elements(open, &instruction.operands[to].value, bits)? }
            }
            EffectKind::Opaque => Action::Copy { from: vec![Cell::Constant(0)], to: vec![to!()] },
            EffectKind::Branch => match operand(0).map(|(_, operand)| &operand.value) {
                Some(Value::Label(label)) => Action::Branch(*label),
                _ => return Err(Error::new(ErrorKind::Unsupported, "the label is not in this function")),
            },
            EffectKind::BranchIndexed => match operand(1).map(|(_, operand)| &operand.value) {
                Some(Value::Labels(labels)) => Action::BranchIndexed { index: cell!(0), targets: labels.clone() },
                _ => return Err(Error::new(ErrorKind::Unsupported, "the list of labels is not in this function")),
            },
            EffectKind::Call => self.call(
                open,
                function,
                [0, 1, 2].map(|index| operand(index).map(|(_, one)| &one.value)),
                instruction,
            )?,
            EffectKind::Return => Action::Return,
            EffectKind::Exit => Action::Exit,
            EffectKind::Trap => Action::Trap,
            EffectKind::Wait | EffectKind::WaitCount | EffectKind::WaitAll | EffectKind::WaitAny => {
                let threads = match operand(1) {
                    Some(_) => Some(cell!(1)),
                    None => None,
                };
                let test = match operand(2) {
                    Some(_) => Some(Test { kind: effect.kind, of: cell!(2), to: to!() }),
                    None => None,
                };
                Action::Wait { barrier: cell!(0), threads, test }
            }
            EffectKind::Arrive => Action::Arrive { barrier: cell!(0), threads: cell!(1) },
            EffectKind::Converge => Action::Converge { mask: cell!(0), together: computes },
            EffectKind::Nothing => Action::Nothing,
            EffectKind::Multiply
            | EffectKind::MultiplySparse
            | EffectKind::MultiplyScaled
            | EffectKind::MultiplySparseScaled
            | EffectKind::ReadRows
            | EffectKind::WriteRows
            | EffectKind::ReadMatrix
            | EffectKind::ReadColumns
            | EffectKind::WriteMatrix
            | EffectKind::WriteColumns
            | EffectKind::Transpose => self.matrix(open, instruction, effect)?,
            EffectKind::ArriveCluster | EffectKind::WaitCluster => {
                return Err(Error::new(ErrorKind::Unsupported, "clusters of several blocks are not modeled"));
            }
            _ => return Err(Error::new(ErrorKind::Unsupported, "an effect is not known")),
        })
    }

    fn call(
        &mut self,
        open: &mut Open<'_>,
        function: &Function,
        _: [Option<&Value>; 3],
        instruction: &Instruction,
    ) -> Result<Action, Error> {
        // Lists are results where the function comes behind them, and arguments where it comes before.
        let (mut results, mut arguments, mut callee) = (Vec::new(), Vec::new(), None);
        for operand in &instruction.operands {
            match (&operand.value, &callee) {
                (Value::List(list), None) => results.clone_from(list),
                (Value::List(list), Some(_)) => arguments.clone_from(list),
                (Value::Address { symbol: Symbol::Function(number), .. }, None) => {
                    callee = Some(Callee::Direct(*number))
                }
                (value @ Value::Register(_), None) => callee = Some(Callee::Indirect(self.cell(open, value, 64)?)),
                _ => {}
            }
        }
        let callee = match callee {
            Some(Callee::Direct(number)) if !self.module.functions[number].body => {
                let name = &self.module.functions[number].name;
                Callee::System(System::named(name).ok_or_else(|| {
                    Error::new(ErrorKind::Unsupported, format!("the function `{name}` has no body in this module"))
                })?)
            }
            Some(callee) => callee,
            None => return Err(Error::new(ErrorKind::Unsupported, "the function that is called is not known")),
        };
        if let Callee::Indirect(_) = callee {
            open.code.grows = true;
        }
        let mut slots = |list: Vec<Value>| -> Result<Vec<Slot>, Error> {
            let mut found = Vec::new();
            for value in list {
                found.push(match value {
                    Value::Address { symbol: Symbol::Local(number), .. } => Slot::Frame {
                        offset: self.layouts[&open.number].offsets[number],
                        bytes: function.variables[number].size,
                    },
                    value => Slot::Cell(self.cell(open, &value, 64)?),
                });
            }
            Ok(found)
        };
        let (arguments, results) = (slots(arguments)?, slots(results)?);
        Ok(Action::Call { callee, arguments, results })
    }
}

const NONE: u8 = ptx_isa::table::NO_OPERAND;

/// The address of a variable or function.
enum Symbolic {
    Constant(u64),
    Frame { offset: u64, generic: bool },
}

fn where_of(space: Option<Belongs>) -> Where {
    match space {
        Some(Belongs::Device | Belongs::Constant) => Where::Device,
        Some(Belongs::Block) => Where::Block,
        Some(Belongs::Thread) => Where::Thread,
        Some(Belongs::Call) | None | Some(_) => Where::Generic,
    }
}

fn form_operand(instruction: &Instruction, place: usize) -> &'static table::Operand {
    instruction.form.operands().iter().nth(place).expect("an operand of the form")
}
