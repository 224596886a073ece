//! From an effect of a form to an action on registers and memory.

use std::prelude::rust_2024::*;
use std::{format, vec};

use ptx_isa::table::program::Linear;
use ptx_isa::table::{self, Effect, EffectKind, Evaluator, Kind, LinearValue, Memory as Belongs};
use ptx_isa::text::effects::space;
use ptx_isa::text::resolved::{Function, Instruction, Symbol, Value};
use ptx_isa::warp::Gathered;

use super::super::error::Error;
use super::super::system::System;
use super::code::{Access, Action, Address, Callee, Cell, CopyBytes, Meeting, PARAMETERS, Slot, Test, Where};
use super::{FRAME, Open, Planning, Symbolic, memory, undefined};

pub(super) const NONE: u8 = ptx_isa::table::NO_OPERAND;

impl Planning<'_> {
    /// The space of an address: as the statement says, or as the variable is in that it names.
    pub(super) fn place(&self, open: &Open<'_>, instruction: &Instruction, operand: usize) -> Where {
        let name = space(form_operand(instruction, operand), |slot| instruction.modifier(slot));
        if let Some(place) = name.and_then(|name| self.named(open, name)) {
            return place;
        }
        where_of(match &instruction.operands[operand].value {
            Value::Address { symbol: Symbol::Module(number), .. } => memory(&self.module.variables[*number]),
            Value::Address { symbol: Symbol::Local(number), .. } => {
                memory(&self.module.functions[open.number].variables[*number])
            }
            _ => None,
        })
    }

    /// The memory of a state space that a statement names. Parameters of a kernel are in one memory, those of another function and
    /// arguments of calls in the frames of threads, unless the name tells which are meant.
    fn named(&self, open: &Open<'_>, name: &str) -> Option<Where> {
        let space = self.module.table.space(name)?;
        let kernel =
            space.function != Some(name) && (space.kernel == Some(name) || self.module.functions[open.number].kernel);
        Some(match space.memory? {
            Belongs::Call if kernel => Where::Parameters,
            Belongs::Call => Where::Thread,
            memory => where_of(Some(memory)),
        })
    }

    pub(super) fn address(&mut self, open: &mut Open<'_>, value: &Value, place: &mut Where) -> Result<Address, Error> {
        let rows = &self.layouts[open.number].rows;
        Ok(match value {
            Value::Register(register) => {
                open.reads.extend(self.affine.get(rows[*register]));
                Address { base: Some(rows[*register]), frame: false, offset: 0 }
            }
            Value::Offset { register, addend } => {
                open.reads.extend(self.affine.get(rows[*register]));
                Address { base: Some(rows[*register]), frame: false, offset: *addend }
            }
            Value::Constant(offset) => Address { base: None, frame: false, offset: *offset },
            Value::Address { symbol, addend } => match self.symbol(open.number, *symbol, *addend)? {
                Symbolic::Constant(offset) if offset >> 48 == PARAMETERS >> 48 => {
                    *place = Where::Parameters;
                    Address { base: None, frame: false, offset: offset - PARAMETERS }
                }
                Symbolic::Constant(offset) => Address { base: None, frame: false, offset },
                Symbolic::Shared(offset) => {
                    Address { base: Some(self.shared_address(open, 0, 64)), frame: false, offset }
                }
                Symbolic::Frame { offset, .. } => {
                    *place = Where::Thread;
                    Address { base: None, frame: true, offset }
                }
            },
            _ => return Err(Error::unsupported("this operand is not an address")),
        })
    }

    pub(super) fn elements(&mut self, open: &mut Open<'_>, value: &Value, bits: u8) -> Result<Vec<Cell>, Error> {
        match value {
            Value::List(list) => list.iter().map(|value| self.cell(open, value, bits)).collect(),
            value => Ok(vec![self.cell(open, value, bits)?]),
        }
    }

    pub(super) fn action(
        &mut self,
        open: &mut Open<'_>,
        function: &Function,
        instruction: &Instruction,
        effect: &'static Effect,
        gathered: Option<&Gathered>,
    ) -> Result<Action, Error> {
        let table = self.module.table;
        let given = |index: usize| effect.arguments.get(index).copied().filter(|place| *place != NONE).map(usize::from);
        let operand = |index: usize| {
            let place = given(index)?;
            let operand = instruction.operands.get(place)?;
            (!matches!(operand.value, Value::Absent)).then_some((place, operand))
        };
        let word = |index: usize| given(index).and_then(|slot| instruction.modifier(slot as u8));
        let missing = || Error::unsupported("an operand is missing");
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
                        let cells = self.elements(open, &instruction.operands[value].value, ty.bits.min(128) as u8)?;
                        ((ty.bits / 8) as u8, ty.kind == Kind::Signed, cells)
                    }
                    None => (0, false, Vec::new()),
                };
                if bytes > 16 {
                    let message = "an element has more than 128 bits";
                    return Err(Error::unsupported(message));
                }
                let affine = at.base.and_then(|row| self.affine.get(row));
                if matches!(effect.kind, EffectKind::Read | EffectKind::Write) {
                    // The access itself asks whether its address is affine.
                    open.reads.retain(|read| {
                        Some(*read) != affine || cells.contains(&Cell::Row(self.affine.rows[*read as usize]))
                    });
                }
                let order = given($order).and_then(|slot| instruction.order(slot as u8));
                Access { place, at, affine, bytes, signed, shared: None, order, cells, transfer: None }
            }};
        }
        let space = |index: usize| word(index).and_then(|name| self.named(open, name)).unwrap_or(Where::Generic);
        Ok(match effect.kind {
            EffectKind::Read => Action::Read(access!(result, 1)),
            EffectKind::Write => Action::Write(access!(Some(operand(1).ok_or_else(missing)?.0), 2)),
            EffectKind::Update | EffectKind::Inspect => {
                let change = instruction.form.change(effect).ok_or_else(missing)?;
                let inspects = effect.kind == EffectKind::Inspect;
                let mut access = access!(result, 2);
                if let Some(Value::Register(register)) = result.map(|place| &instruction.operands[place].value)
                    && !self.layouts[open.number].read[*register]
                {
                    access.cells.fill(Cell::Sink);
                }
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
                if access.bytes > 16 {
                    let message = "an element has more than 128 bits";
                    return Err(Error::unsupported(message));
                }
                let shared = match given(4) {
                    Some(1) => Some(true),
                    Some(2) => Some(false),
                    _ => None,
                };
                match (shared, access.place) {
                    (Some(_), Where::Generic) => access.shared = shared,
                    (Some(shared), place) if shared != (place == Where::Block) => return Ok(Action::Nothing),
                    _ => {}
                }
                let old = sources.len();
                let addend = addend(&change, &sources, old).filter(|_| !inspects && access.cells.len() == 1);
                Action::Update { access, change, single: change.single(), addend, sources, old, inspects }
            }
            EffectKind::CopyBytes => {
                let mut address = |index: usize| {
                    let (at, address) = operand(index).ok_or_else(missing)?;
                    let mut place = self.place(open, instruction, at);
                    let at = self.address(open, &address.value, &mut place)?;
                    Ok::<_, Error>((place, at))
                };
                let (to, from) = (address(0)?, address(1)?);
                let count = if operand(3).is_some() { Some(cell!(3)) } else { None };
                Action::CopyBytes(Box::new(CopyBytes { to, from, size: cell!(2), count }))
            }
            EffectKind::Fence => {
                let order = word(0).and_then(|word| table.order(word));
                let acquires = order.is_none_or(|order| order.acquires);
                Action::Fence { acquires, releases: order.is_none_or(|order| order.releases) }
            }
            EffectKind::ToGeneric => {
                let (place, to) = (space(1), to!());
                if matches!((place, to), (Where::Block | Where::Thread, Cell::Row(row)) if row.bits < 64) {
                    let message = "generic addresses of 32 bits have no room for the state space";
                    return Err(Error::unsupported(message));
                }
                Action::ToGeneric { place, at: cell!(0), to }
            }
            EffectKind::FromGeneric => Action::FromGeneric { place: space(1), at: cell!(0), to: to!() },
            EffectKind::IsInSpace => {
                let belongs = word(1).and_then(|name| table.space(name)).and_then(|space| space.memory);
                let place = if belongs == Some(Belongs::Call) { Where::Parameters } else { where_of(belongs) };
                Action::IsInSpace { place, constant: belongs == Some(Belongs::Constant), at: cell!(0), to: to!() }
            }
            EffectKind::IsInCluster => Action::IsInCluster { at: cell!(0), to: to!() },
            EffectKind::MapToBlock => Action::MapToBlock { at: cell!(0), rank: cell!(1), to: to!() },
            EffectKind::RankOfBlock => Action::RankOfBlock { at: cell!(0), to: to!() },
            EffectKind::Reserve => {
                open.code.grows = true;
                let alignment = match operand(1).map(|(_, operand)| &operand.value) {
                    Some(Value::Constant(bytes)) => *bytes,
                    _ => FRAME,
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
                Some(Value::Label(label)) => {
                    let rows = &self.layouts[open.number].rows;
                    let affine = instruction.guard.and_then(|(register, _)| self.affine.get(rows[register]));
                    // The branch itself asks whether its guard is the same in all threads.
                    open.reads.retain(|read| Some(*read) != affine);
                    Action::Branch { to: *label, affine }
                }
                _ => return Err(Error::unsupported("the label is not in this function")),
            },
            EffectKind::BranchIndexed => match operand(1).map(|(_, operand)| &operand.value) {
                Some(Value::Labels(labels)) => Action::BranchIndexed { index: cell!(0), targets: labels.clone() },
                _ => return Err(Error::unsupported("the list of labels is not in this function")),
            },
            EffectKind::Call => self.call(open, function, instruction)?,
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
            EffectKind::Converge => {
                let meeting = match gathered {
                    Some(gathered) => Meeting::Collective(Box::new(self.computation(instruction, gathered)?)),
                    None => Meeting::Barrier,
                };
                Action::Converge { mask: cell!(0), meeting }
            }
            EffectKind::Nothing | EffectKind::PairBlocks => Action::Nothing,
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
            EffectKind::BeginCopy
            | EffectKind::BeginReduce
            | EffectKind::BeginWrite
            | EffectKind::BeginUpdate
            | EffectKind::BeginLoadTensor
            | EffectKind::ConvertElement
            | EffectKind::BeginStoreTensor
            | EffectKind::BeginReduceTensor
            | EffectKind::PrefetchBytes
            | EffectKind::PrefetchTensor
            | EffectKind::ReplaceField
            | EffectKind::BeginCancel
            | EffectKind::Signal
            | EffectKind::AfterCopies
            | EffectKind::AfterTensorOperations
            | EffectKind::CommitGroup
            | EffectKind::WaitGroup => self.asynchronous(open, instruction, effect)?,
            EffectKind::Fold => {
                let (place, operand) = operand(0).ok_or_else(missing)?;
                let values = self.elements(open, &operand.value, bits_of(place))?;
                Action::Fold { change: self.change(open, instruction, effect)?, values, to: to!() }
            }
            EffectKind::MultiplyGroup => self.group(open, instruction, effect)?,
            EffectKind::AllocateTensor
            | EffectKind::FreeTensor
            | EffectKind::ReadTensor
            | EffectKind::WriteTensor
            | EffectKind::CopyToTensor
            | EffectKind::MultiplyTensor => self.tensor(open, instruction, effect)?,
            EffectKind::Unmodeled => {
                let message = format!("`{}` cannot be executed with these modifiers", instruction.form.mnemonic());
                return Err(Error::unsupported(message));
            }
            EffectKind::ArriveCluster => Action::ArriveCluster,
            EffectKind::WaitCluster => Action::WaitCluster,
            _ => return Err(Error::unsupported("an effect is not known")),
        })
    }

    fn call(&mut self, open: &mut Open<'_>, function: &Function, instruction: &Instruction) -> Result<Action, Error> {
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
            Some(Callee::Direct(number)) if self.module.functions[number].kernel => {
                let message =
                    format!("`{}` is a kernel; kernels are launched, not called", self.module.functions[number].name);
                return Err(Error::unsupported(message));
            }
            Some(Callee::Direct(number)) if !self.module.functions[number].body => {
                let name = &self.module.functions[number].name;
                Callee::System(System::named(name).ok_or_else(|| undefined("function", name))?)
            }
            Some(callee) => callee,
            None => return Err(Error::unsupported("the function that is called is not known")),
        };
        if let Callee::Indirect(_) = callee {
            open.code.grows = true;
        }
        let mut slots = |list: Vec<Value>| -> Result<Vec<Slot>, Error> {
            let mut found = Vec::new();
            for value in list {
                found.push(match value {
                    Value::Address { symbol: Symbol::Local(number), .. } => {
                        self.layouts[open.number].slot(function, number)
                    }
                    value => Slot::Cell(self.cell(open, &value, 64)?),
                });
            }
            Ok(found)
        };
        let (arguments, results) = (slots(arguments)?, slots(results)?);
        Ok(Action::Call { callee, arguments, results })
    }
}

/// Returns the source that an update adds to the old value, if it does nothing else.
fn addend(change: &Evaluator, sources: &[Vec<Cell>], old: usize) -> Option<Cell> {
    let values = change.linear()?;
    let [LinearValue::Input { input: a, .. }, LinearValue::Input { input: b, .. }, sum] = values[..] else {
        return None;
    };
    let LinearValue::Call { kind: Linear::Sum, args: [0, 1] | [1, 0], bits: 32 | 64 } = sum else { return None };
    let other = if usize::from(a) == old { b } else { a };
    let cell = sources.get(usize::from(other))?.first()?;
    (usize::from(a) == old || usize::from(b) == old).then_some(*cell)
}

pub(super) fn where_of(space: Option<Belongs>) -> Where {
    match space {
        Some(Belongs::Device | Belongs::Constant) => Where::Device,
        Some(Belongs::Block) => Where::Block,
        Some(Belongs::Thread) => Where::Thread,
        Some(Belongs::Call) | None | Some(_) => Where::Generic,
    }
}

pub(super) fn form_operand(instruction: &Instruction, place: usize) -> &'static table::Operand {
    instruction.form.operands().iter().nth(place).expect("an operand of the form")
}
