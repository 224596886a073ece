//! The names of the open function: registers, variables, labels, and lists that labels name.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Function, Instruction, Operand, Parameter, Register, Symbol, Value, Variable};
use crate::table::{Table, TypeId};
use crate::text::constant::{self, Constant};
use crate::text::scope::{self, Scopes};
use crate::text::statement::{self, Element, Second, Statement};

/// The names of a module.
#[derive(Default)]
pub(super) struct Globals<'a> {
    pub(super) functions: BTreeMap<&'a str, usize>,
    pub(super) variables: BTreeMap<&'a str, usize>,
}

impl Globals<'_> {
    pub(super) fn symbol(&self, name: &str) -> Option<Symbol> {
        let variable = self.variables.get(name).map(|number| Symbol::Module(*number));
        variable.or_else(|| self.functions.get(name).map(|number| Symbol::Function(*number)))
    }
}

/// A list or prototype that a label names.
pub(super) enum List<'a> {
    /// Labels, each alone or as many as a family has.
    Labels(Vec<(&'a str, Option<u64>)>),
    Functions(Vec<&'a str>),
    /// An index into [`Function::prototypes`].
    Prototype(usize),
}

/// An operand that names a label or a list, which may follow.
struct Pending<'a> {
    instruction: usize,
    operand: usize,
    name: &'a str,
    block: usize,
}

/// A block of a function.
struct Block<'a> {
    parent: usize,
    labels: BTreeMap<&'a str, usize>,
    lists: BTreeMap<&'a str, List<'a>>,
}

/// A function whose body is being read.
pub(super) struct Body<'a> {
    /// Its index in the module.
    pub(super) number: usize,
    pub(super) function: Function,
    scopes: Scopes<'a>,
    /// The numbers of the registers and how many each has, by the start of the declaration in the text and the number in
    /// its family.
    registers: BTreeMap<(usize, Option<u64>), (usize, u8)>,
    blocks: Vec<Block<'a>>,
    block: usize,
    pending: Vec<Pending<'a>>,
    pub(super) location: Option<(u64, u64, u64)>,
}

impl<'a> Body<'a> {
    /// Opens the body of a function, whose parameters and results have these names.
    pub(super) fn new(number: usize, function: Function, parameters: &[(&'a str, Parameter)]) -> Self {
        let block = Block::within(0);
        let (scopes, registers, pending) = (Scopes::new(), BTreeMap::new(), Vec::new());
        let (blocks, block, location) = (vec![block], 0, None);
        let mut body = Body { number, function, scopes, registers, blocks, block, pending, location };
        for (name, parameter) in parameters {
            match *parameter {
                Parameter::Variable(number) => body.declare_variable(name, number),
                Parameter::Register(number) => {
                    let ty = body.function.registers[number].ty;
                    body.declare_registers(name, ty, 1, None);
                    body.registers.insert((name.as_ptr().addr(), None), (number, 1));
                }
            }
        }
        body
    }

    pub(super) fn enter(&mut self) {
        self.scopes.enter();
        self.blocks.push(Block::within(self.block));
        self.block = self.blocks.len() - 1;
    }

    pub(super) fn leave(&mut self) {
        self.scopes.leave();
        self.block = self.blocks[self.block].parent;
    }

    pub(super) fn declare_registers(&mut self, name: &'a str, ty: TypeId, lanes: u8, count: Option<u64>) {
        self.scopes.declare(name, count, scope::Symbol::Register { ty, lanes });
    }

    /// Adds a variable, and declares its name.
    pub(super) fn add_variable(&mut self, name: &'a str, variable: Variable) {
        self.function.variables.push(variable);
        self.declare_variable(name, self.function.variables.len() - 1);
    }

    fn declare_variable(&mut self, name: &'a str, number: usize) {
        let space = self.function.variables[number].space;
        let symbol = scope::Symbol::Variable { space, holds: None, number: number as u32 };
        self.scopes.declare(name, None, symbol);
    }

    pub(super) fn label(&mut self, name: &'a str) {
        self.scopes.declare(name, None, scope::Symbol::Label);
        let next = self.function.instructions.len();
        self.blocks[self.block].labels.insert(name, next);
    }

    pub(super) fn list(&mut self, label: &'a str, list: List<'a>) {
        self.blocks[self.block].lists.insert(label, list);
    }

    /// Returns the index of the first register that a name denotes, and its number of lanes. Registers are numbered at
    /// their first use.
    fn register(&mut self, name: &'a str) -> Option<(usize, u8)> {
        let (declared, member, symbol) = self.scopes.denoted(name)?;
        let scope::Symbol::Register { ty, lanes } = symbol else { return None };
        let function = &mut self.function;
        let found = self.registers.entry((declared.as_ptr().addr(), member)).or_insert_with(|| {
            let first = function.registers.len();
            for _ in 0..lanes {
                function.registers.push(Register { name: name.to_owned(), ty });
            }
            (first, lanes)
        });
        Some(*found)
    }

    /// Returns the variable or function that a name denotes.
    fn symbol(&self, globals: &Globals<'a>, name: &str) -> Option<Symbol> {
        match self.scopes.find(name).map(|found| found.symbol) {
            Some(scope::Symbol::Variable { number, .. }) => Some(Symbol::Local(number as usize)),
            Some(_) => None,
            None => globals.symbol(name),
        }
    }

    /// Adds an instruction.
    pub(super) fn statement(&mut self, names: &Names<'_, 'a>, statement: &Statement<'a>, at: Range<usize>) {
        let guard = statement.guard().and_then(|guard| Some((self.register(guard.register)?.0, guard.negated)));
        let mut operands = Vec::with_capacity(statement.operands().len());
        for (index, operand) in statement.operands().iter().enumerate() {
            let value = match operand.value {
                statement::Value::Vector(elements) => {
                    let info = statement.form().operands().get(index);
                    let bits = info.map_or(64, |info| names.table.ty(info.ty).bits);
                    Value::List(elements.iter().map(|element| self.element(names, element, bits)).collect())
                }
                value => self.value(names, value, index),
            };
            let second = match operand.second {
                Some(Second::Register(name)) => self.register(name).map(|(number, _)| number),
                _ => None,
            };
            operands.push(Operand { value, second, selector: operand.selector });
        }
        let (form, free, location) = (statement.form(), *statement.free(), self.location);
        self.function.instructions.push(Instruction { form, free, guard, operands, at, location });
    }

    fn named(&mut self, names: &Names<'_, 'a>, name: &'a str, element: Option<u8>) -> Value {
        if let Some((first, lanes)) = self.register(name) {
            return match element {
                Some(element) => Value::Register(first + usize::from(element.min(lanes - 1))),
                None if lanes == 1 => Value::Register(first),
                None => Value::List((first..first + usize::from(lanes)).map(Value::Register).collect()),
            };
        }
        if let Some(symbol) = self.symbol(names.globals, name) {
            return Value::Address { symbol, addend: 0 };
        }
        names.table.special(name).map_or(Value::Absent, |special| {
            let number = name[special.name.len()..].parse().unwrap_or(0);
            Value::Special { special, number, element }
        })
    }

    fn value(&mut self, names: &Names<'_, 'a>, value: statement::Value<'a>, operand: usize) -> Value {
        match value {
            statement::Value::Register(register) => self.named(names, register.name, register.element),
            statement::Value::Negated(register) => match self.named(names, register.name, register.element) {
                Value::Register(number) => Value::Not(number),
                other => other,
            },
            statement::Value::Sum { name, addend } => match self.named(names, name, None) {
                Value::Register(register) => Value::Offset { register, addend },
                Value::Address { symbol, .. } => Value::Address { symbol, addend },
                other => other,
            },
            statement::Value::Element { name, index } => match self.symbol(names.globals, name) {
                Some(symbol) => {
                    let variable = match symbol {
                        Symbol::Module(number) => names.variables.get(number),
                        Symbol::Local(number) => self.function.variables.get(number),
                        Symbol::Function(_) => None,
                    };
                    let ty = variable.and_then(|variable| variable.ty);
                    let bytes = ty.map_or(1, |ty| names.table.ty(ty).bytes());
                    Value::Address { symbol, addend: index.wrapping_mul(bytes) }
                }
                None => Value::Absent,
            },
            statement::Value::Constant(bits) => Value::Constant(bits),
            statement::Value::Vector(elements) | statement::Value::Arguments(elements) => {
                Value::List(elements.iter().map(|element| self.element(names, element, 64)).collect())
            }
            statement::Value::Name(name) => self.target(names, name, operand),
            statement::Value::Sink => Value::Sink,
            statement::Value::Absent => Value::Absent,
        }
    }

    /// Resolves the target of a branch or call: a register that holds an address, a function, or a label.
    fn target(&mut self, names: &Names<'_, 'a>, name: &'a str, operand: usize) -> Value {
        if let Some((register, _)) = self.register(name) {
            return Value::Register(register);
        }
        if let Some(symbol @ Symbol::Function(_)) = self.symbol(names.globals, name) {
            return Value::Address { symbol, addend: 0 };
        }
        let instruction = self.function.instructions.len();
        self.pending.push(Pending { instruction, operand, name, block: self.block });
        Value::Absent
    }

    /// Resolves an element of a list. Floats have the width `bits`.
    fn element(&mut self, names: &Names<'_, 'a>, element: Element<'a>, bits: u16) -> Value {
        match element {
            Element::Register(register) => self.named(names, register.name, register.element),
            Element::Constant(text) => match constant::parse(text) {
                Ok(Constant::Integer { bits, .. }) => Value::Constant(bits),
                Ok(Constant::Single(single)) if bits == 64 => {
                    Value::Constant(f64::from(f32::from_bits(single)).to_bits())
                }
                Ok(Constant::Single(single)) => Value::Constant(single.into()),
                Ok(Constant::Double(value)) if bits == 32 => Value::Constant((value as f32).to_bits().into()),
                Ok(Constant::Double(value)) => Value::Constant(value.to_bits()),
                Err(_) => Value::Absent,
            },
            Element::Sink => Value::Sink,
        }
    }

    /// Ends the function, whose labels and lists are all known now.
    pub(super) fn finish(mut self, globals: &Globals<'a>) -> (usize, Function) {
        for Pending { instruction, operand, name, block } in core::mem::take(&mut self.pending) {
            let value = self.list_at(globals, name, block).or_else(|| self.label_at(name, block).map(Value::Label));
            if let Some(value) = value {
                self.function.instructions[instruction].operands[operand].value = value;
            }
        }
        (self.number, self.function)
    }

    /// The blocks from one outwards.
    fn outwards(&self, block: usize) -> impl Iterator<Item = usize> {
        core::iter::successors(Some(block), |block| Some(self.blocks[*block].parent).filter(|parent| parent != block))
    }

    fn label_at(&self, name: &str, block: usize) -> Option<usize> {
        self.outwards(block).find_map(|block| self.blocks[block].labels.get(name).copied())
    }

    fn list_at(&self, globals: &Globals<'a>, name: &str, block: usize) -> Option<Value> {
        let of = |block: usize| Some((block, self.blocks[block].lists.get(name)?));
        let (block, list) = self.outwards(block).find_map(of)?;
        Some(match list {
            List::Labels(names) => {
                let mut labels = Vec::new();
                for (name, count) in names {
                    match count {
                        None => labels.extend(self.label_at(name, block)),
                        // A label that is not there ends the family: it is an error.
                        Some(count) => labels
                            .extend((0..*count).map_while(|number| self.label_at(&format!("{name}{number}"), block))),
                    }
                }
                Value::Labels(labels)
            }
            List::Functions(names) => {
                Value::Functions(names.iter().filter_map(|name| globals.functions.get(name).copied()).collect())
            }
            List::Prototype(number) => Value::Prototype(*number),
        })
    }
}

impl Block<'_> {
    fn within(parent: usize) -> Self {
        Block { parent, labels: BTreeMap::new(), lists: BTreeMap::new() }
    }
}

/// What a function sees of its module.
pub(super) struct Names<'m, 'a> {
    pub(super) table: &'static Table,
    pub(super) globals: &'m Globals<'a>,
    pub(super) variables: &'m [Variable],
}
