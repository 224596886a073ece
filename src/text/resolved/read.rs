//! Builds a resolved module from the items of the module reader.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Function, Instruction, Linkage, Module, Operand, Parameter, Register, Symbol, Value, Variable, declare};
use crate::diagnostic::{Diagnostic, Severity};
use crate::table::{Table, TypeId};
use crate::text::constant;
use crate::text::lexer::Cursor;
use crate::text::module::{self, Declaration, Item, Options, Place};
use crate::text::statement::{self, Element, Second, Statement};

/// The declaration that a name denotes in a scope.
#[derive(Clone, Copy)]
enum Named {
    /// A register or, with a count, a family of registers: the type and the number of lanes.
    Registers {
        ty: TypeId,
        lanes: u8,
        count: Option<u64>,
    },
    Variable(usize),
}

/// A name that is resolved at the end of the function.
enum Pending<'a> {
    Label { instruction: usize, operand: usize, name: &'a str, scope: usize },
    Targets { instruction: usize, operand: usize, name: &'a str, scope: usize },
}

/// A labeled list or prototype.
enum List<'a> {
    Labels(Vec<&'a str>, usize),
    Functions(Vec<&'a str>),
    Prototype(usize),
}

struct Scope<'a> {
    parent: usize,
    names: BTreeMap<&'a str, Named>,
    labels: BTreeMap<&'a str, usize>,
    lists: BTreeMap<&'a str, List<'a>>,
    /// The registers of this scope that have a number, and the elements of each.
    numbers: BTreeMap<&'a str, (usize, u8)>,
}

struct Reading<'a> {
    text: &'a str,
    module: Module,
    functions: BTreeMap<&'a str, usize>,
    variables: BTreeMap<&'a str, usize>,
    /// The function whose head or body is being read; `inside` is true in its body.
    function: Option<usize>,
    inside: bool,
    /// Number of return parameters and input parameters that have yet to be read.
    awaited: (usize, usize),
    /// True if these are parameters of a prototype in the open function.
    of_prototype: bool,
    scopes: Vec<Scope<'a>>,
    scope: usize,
    pending: Vec<Pending<'a>>,
    location: Option<(u64, u64, u64)>,
    last_label: Option<&'a str>,
    /// Offset up to which the text has been scanned for braces.
    at: usize,
}

pub(super) fn read(table: &'static Table, text: &str) -> Result<Module, Vec<Diagnostic>> {
    let module = Module {
        table,
        text: text.to_owned(),
        parts: vec![0],
        version: None,
        target: None,
        address_bits: 64,
        functions: Vec::new(),
        variables: Vec::new(),
        files: Vec::new(),
    };
    let mut reading = Reading {
        text,
        module,
        functions: BTreeMap::new(),
        variables: BTreeMap::new(),
        function: None,
        inside: false,
        awaited: (0, 0),
        of_prototype: false,
        scopes: Vec::new(),
        scope: 0,
        pending: Vec::new(),
        location: None,
        last_label: None,
        at: 0,
    };
    let report = module::read(table, text.as_bytes(), &Options::default(), |item, span| reading.item(item, span));
    if report.errors() > 0 {
        let errors = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        return Err(report.diagnostics.into_iter().filter(errors).collect());
    }
    reading.finish();
    reading.relocations();
    reading.module.version = report.version;
    reading.module.target = report.target;
    Ok(reading.module)
}

impl<'a> Reading<'a> {
    fn item(&mut self, item: Item<'_, 'a>, span: Range<usize>) {
        if self.inside && !matches!(item, Item::Parameter(_)) {
            self.braces(span.start);
        }
        if !matches!(item, Item::Parameter(_)) {
            self.at = self.at.max(span.end);
        }
        let text = &self.text[span.clone()];
        match item {
            Item::Prototype(head) if self.inside => {
                let number = self.function.map_or(0, |function| self.module.functions[function].prototypes.len());
                let prototype = self.head(&head, text, span);
                self.own().prototypes.push(prototype);
                if let Some(label) = self.last_label.take() {
                    self.scopes[self.scope].lists.insert(label, List::Prototype(number));
                }
                self.awaited = (head.results, head.parameters);
                self.of_prototype = true;
            }
            Item::Prototype(head) | Item::Function(head) => {
                self.finish();
                let function = self.head(&head, text, span);
                let number = match self.functions.get(head.name) {
                    Some(number) => {
                        self.module.functions[*number] = function;
                        *number
                    }
                    None => {
                        self.module.functions.push(function);
                        self.functions.insert(head.name, self.module.functions.len() - 1);
                        self.module.functions.len() - 1
                    }
                };
                self.function = Some(number);
                self.awaited = (head.results, head.parameters);
                self.of_prototype = false;
                self.scopes = vec![Scope::new(0)];
                self.scope = 0;
                self.inside = matches!(item, Item::Function(_));
                self.own().body = self.inside;
            }
            // What is not in a function is an error, which others report.
            Item::Parameter(_) | Item::Label(_) if self.function.is_none() => {}
            Item::Parameter(declaration) => self.parameter(&declaration, text),
            Item::End => self.finish(),
            Item::Declaration(declaration) => self.declaration(&declaration, text),
            Item::Label(name) => {
                let next = self.own().instructions.len();
                self.scopes[self.scope].labels.insert(name, next);
                self.last_label = Some(name);
            }
            Item::Directive(name) => self.directive(name, text),
            Item::Statement(statement) => self.statement(statement, span),
            Item::Refused(_) => {}
        }
    }

    fn own(&mut self) -> &mut Function {
        let number = self.function.expect("the reader shows parts of functions within functions");
        &mut self.module.functions[number]
    }

    fn head(&self, head: &module::Function<'a>, text: &str, at: Range<usize>) -> Function {
        Function {
            name: head.name.to_owned(),
            kernel: head.kernel,
            linkage: declare::linkage(text),
            directives: declare::directives(self.module.table, text),
            at,
            ..Function::default()
        }
    }

    /// Scopes that begin and end between the last part and the next one.
    fn braces(&mut self, to: usize) {
        let mut cursor = Cursor::new(&self.text[..to.max(self.at)]);
        cursor.seek(self.at);
        loop {
            cursor.skip_blanks();
            if cursor.at_end() {
                return;
            }
            match cursor.peek() {
                b'{' => {
                    self.scopes.push(Scope::new(self.scope));
                    self.scope = self.scopes.len() - 1;
                }
                b'}' => self.scope = self.scopes[self.scope].parent,
                _ => {}
            }
            cursor.bump();
        }
    }

    fn directive(&mut self, name: &str, text: &'a str) {
        match name {
            "address_size" => {
                if let Some(bits) = declare::numbers(text).0.first() {
                    self.module.address_bits = *bits as u32;
                }
            }
            "file" => {
                if let (Some(number), Some(file)) = (declare::numbers(text).0.first(), declare::numbers(text).1) {
                    self.module.files.push((*number, file.to_owned()));
                }
            }
            "loc" => {
                if let [file, line, column, ..] = declare::numbers(text).0[..] {
                    self.location = Some((file, line, column));
                }
            }
            "branchtargets" | "calltargets" => {
                let words = declare::words(text);
                let list = match name {
                    "branchtargets" => List::Labels(words, self.scope),
                    _ => List::Functions(words),
                };
                if let (Some(label), true) = (self.last_label.take(), self.inside) {
                    self.scopes[self.scope].lists.insert(label, list);
                }
            }
            _ => {}
        }
    }

    fn variable(&self, declaration: &Declaration<'a>, text: &str) -> Option<Variable> {
        let Place::Memory { space, elements } = declaration.place else { return None };
        let ty = declaration.ty.map(|ty| self.module.table.ty(ty));
        let bytes = ty.map_or(8, |ty| u64::from(ty.bits.div_ceil(8)));
        let lanes = u64::from(declaration.lanes.max(1));
        // `.align` precedes a list of declarations, and applies to each of them.
        let said = declare::alignment(declare::before_pointer(text));
        let own = &text[text.rfind(declaration.name).unwrap_or(0).min(text.find('=').unwrap_or(text.len()))..];
        let (initial, relocations) = declare::initial(own, ty);
        Some(Variable {
            name: declaration.name.to_owned(),
            space,
            ty: declaration.ty,
            elements: elements.saturating_mul(lanes),
            size: elements.saturating_mul(lanes).saturating_mul(bytes),
            align: said.unwrap_or((bytes * lanes).next_power_of_two()).max(1),
            offset: 0,
            linkage: declare::linkage(text),
            initial,
            relocations,
        })
    }

    fn parameter(&mut self, declaration: &Declaration<'a>, text: &str) {
        let result = self.awaited.0 > 0;
        if result {
            self.awaited.0 -= 1
        } else {
            self.awaited.1 = self.awaited.1.saturating_sub(1)
        }
        let variable = self.variable(declaration, text);
        let of_prototype = self.of_prototype;
        let function = match of_prototype {
            true => self.own().prototypes.last_mut().expect("it was just shown"),
            false => self.own(),
        };
        let parameter = match (variable, declaration.ty) {
            (Some(mut variable), _) => {
                if function.kernel {
                    variable.offset =
                        function.parameter_bytes.checked_next_multiple_of(variable.align).unwrap_or(u64::MAX);
                    function.parameter_bytes = variable.offset.saturating_add(variable.size);
                }
                function.variables.push(variable);
                Parameter::Variable(function.variables.len() - 1)
            }
            (None, Some(ty)) => {
                function.registers.push(Register { name: declaration.name.to_owned(), ty });
                Parameter::Register(function.registers.len() - 1)
            }
            (None, None) => return,
        };
        if result {
            function.results.push(parameter)
        } else {
            function.parameters.push(parameter)
        }
        if of_prototype || self.scopes.is_empty() {
            return;
        }
        match parameter {
            Parameter::Variable(number) => {
                self.scopes[0].names.insert(declaration.name, Named::Variable(number));
            }
            Parameter::Register(number) => {
                let ty = declaration.ty.expect("registers have types");
                let named = Named::Registers { ty, lanes: 1, count: None };
                self.scopes[0].names.insert(declaration.name, named);
                self.scopes[0].numbers.insert(declaration.name, (number, 1));
            }
        }
    }

    fn declaration(&mut self, declaration: &Declaration<'a>, text: &str) {
        let name = declaration.name;
        match (declaration.place, declaration.ty) {
            (Place::Registers(count), Some(ty)) if self.inside => {
                let named = Named::Registers { ty, lanes: declaration.lanes.max(1), count };
                self.scopes[self.scope].names.insert(name, named);
            }
            (Place::Memory { .. }, _) => {
                let Some(variable) = self.variable(declaration, text) else { return };
                if self.inside {
                    self.own().variables.push(variable);
                    let number = self.own().variables.len() - 1;
                    self.scopes[self.scope].names.insert(name, Named::Variable(number));
                } else {
                    match self.variables.get(name) {
                        // Whatever is known of it already is more than that it is elsewhere.
                        Some(_) if variable.linkage == Some(Linkage::Extern) => {}
                        Some(number) => self.module.variables[*number] = variable,
                        None => {
                            self.module.variables.push(variable);
                            self.variables.insert(name, self.module.variables.len() - 1);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// The scope around one.
    fn around(&self, scope: usize) -> Option<usize> {
        let parent = self.scopes[scope].parent;
        (scope != parent).then_some(parent)
    }

    /// The scopes from one outwards.
    fn outwards(&self, scope: usize) -> impl Iterator<Item = usize> {
        core::iter::successors(Some(scope), |scope| self.around(*scope))
    }

    /// Returns the index of the first register that a name denotes, and its number of lanes. Registers are numbered at
    /// their first use.
    fn register(&mut self, name: &'a str) -> Option<(usize, u8)> {
        let mut next = Some(self.scope);
        while let Some(scope) = next {
            next = self.around(scope);
            if let Some(found) = self.scopes[scope].numbers.get(name) {
                return Some(*found);
            }
            let direct = self.scopes[scope]
                .names
                .get(name)
                .copied()
                .filter(|named| !matches!(named, Named::Registers { count: Some(_), .. }));
            let found = direct.or_else(|| {
                let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
                // A stem may itself end in digits: `%r1<10>`.
                (1..=digits).rev().find_map(|digits| {
                    let (stem, number) = name.split_at(name.len() - digits);
                    match self.scopes[scope].names.get(stem) {
                        Some(named @ Named::Registers { count: Some(count), .. })
                            if number.parse::<u64>().is_ok_and(|number| number < *count) =>
                        {
                            Some(*named)
                        }
                        _ => None,
                    }
                })
            });
            match found {
                Some(Named::Registers { ty, lanes, .. }) => {
                    let function = self.own();
                    let first = function.registers.len();
                    for _ in 0..lanes {
                        function.registers.push(Register { name: name.to_owned(), ty });
                    }
                    self.scopes[scope].numbers.insert(name, (first, lanes));
                    return Some((first, lanes));
                }
                Some(Named::Variable(_)) => return None,
                None => {}
            }
        }
        None
    }

    /// Resolves the names in initial contents, which may be declared behind them.
    fn relocations(&mut self) {
        for variable in &mut self.module.variables {
            for relocation in &mut variable.relocations {
                let named = self.variables.get(&*relocation.name).map(|number| Symbol::Module(*number));
                let function = || self.functions.get(&*relocation.name).map(|number| Symbol::Function(*number));
                relocation.symbol = named.or_else(function);
            }
        }
    }

    fn symbol(&self, name: &str) -> Option<Symbol> {
        for scope in self.outwards(self.scope) {
            if let Some(Named::Variable(number)) = self.scopes[scope].names.get(name) {
                return Some(Symbol::Local(*number));
            }
        }
        let variable = self.variables.get(name).map(|number| Symbol::Module(*number));
        variable.or_else(|| self.functions.get(name).map(|number| Symbol::Function(*number)))
    }

    fn statement(&mut self, statement: &Statement<'a>, at: Range<usize>) {
        if self.function.is_none() {
            return;
        }
        let guard = statement.guard().and_then(|guard| Some((self.register(guard.register)?.0, guard.negated)));
        let number = self.own().instructions.len();
        let mut operands = Vec::new();
        for (index, operand) in statement.operands().iter().enumerate() {
            let value = self.value(operand.value, (number, index));
            let second = match operand.second {
                Some(Second::Register(name)) => self.register(name).map(|(number, _)| number),
                _ => None,
            };
            operands.push(Operand { value, second, selector: operand.selector });
        }
        let (form, free, location) = (statement.form(), *statement.free(), self.location);
        self.own().instructions.push(Instruction { form, free, guard, operands, at, location });
    }

    fn named(&mut self, name: &'a str, element: Option<u8>) -> Value {
        if let Some((first, lanes)) = self.register(name) {
            return match element {
                Some(element) => Value::Register(first + usize::from(element.min(lanes - 1))),
                None if lanes == 1 => Value::Register(first),
                None => Value::List((first..first + usize::from(lanes)).map(Value::Register).collect()),
            };
        }
        if let Some(special) = self.module.table.special(name) {
            let number = name[special.name.len()..].parse().unwrap_or(0);
            return Value::Special { special, number, element };
        }
        self.symbol(name).map_or(Value::Absent, |symbol| Value::Address { symbol, addend: 0 })
    }

    fn value(&mut self, value: statement::Value<'a>, (instruction, operand): (usize, usize)) -> Value {
        match value {
            statement::Value::Register(register) => self.named(register.name, register.element),
            statement::Value::Negated(register) => match self.named(register.name, register.element) {
                Value::Register(number) => Value::Not(number),
                other => other,
            },
            statement::Value::Sum { name, addend } => match self.named(name, None) {
                Value::Register(register) => Value::Offset { register, addend },
                Value::Address { symbol, .. } => Value::Address { symbol, addend },
                other => other,
            },
            statement::Value::Element { name, index } => match self.symbol(name) {
                Some(symbol) => {
                    let variable = match symbol {
                        Symbol::Module(number) => Some(&self.module.variables[number]),
                        Symbol::Local(number) => {
                            self.function.map(|function| &self.module.functions[function].variables[number])
                        }
                        Symbol::Function(_) => None,
                    };
                    let ty = variable.and_then(|variable| variable.ty);
                    let bytes = ty.map_or(1, |ty| u64::from(self.module.table.ty(ty).bits.div_ceil(8)));
                    Value::Address { symbol, addend: index.wrapping_mul(bytes) }
                }
                None => Value::Absent,
            },
            statement::Value::Constant(bits) => Value::Constant(bits),
            statement::Value::Vector(elements) | statement::Value::Arguments(elements) => {
                Value::List(elements.iter().map(|element| self.element(element)).collect())
            }
            statement::Value::Name(name) => {
                // A function may be called by its name, or by a register that holds its address.
                if let Some((register, _)) = self.register(name) {
                    return Value::Register(register);
                }
                let scope = self.scope;
                if let Some(Symbol::Function(number)) = self.symbol(name) {
                    return Value::Address { symbol: Symbol::Function(number), addend: 0 };
                }
                self.pending.push(Pending::Label { instruction, operand, name, scope });
                self.pending.push(Pending::Targets { instruction, operand, name, scope });
                Value::Absent
            }
            statement::Value::Sink => Value::Sink,
            statement::Value::Absent => Value::Absent,
        }
    }

    fn element(&mut self, element: Element<'a>) -> Value {
        match element {
            Element::Register(register) => self.named(register.name, register.element),
            Element::Constant(text) => match constant::parse(text) {
                Ok(constant::Constant::Integer { bits, .. }) => Value::Constant(bits),
                Ok(constant::Constant::Single(bits)) => Value::Constant(bits.into()),
                Ok(constant::Constant::Double(value)) => Value::Constant(value.to_bits()),
                Err(_) => Value::Absent,
            },
            Element::Sink => Value::Sink,
        }
    }

    /// Ends the function that is read: labels and lists have all stood by now.
    fn finish(&mut self) {
        for pending in core::mem::take(&mut self.pending) {
            let (instruction, operand, value) = match pending {
                Pending::Label { instruction, operand, name, scope } => {
                    (instruction, operand, self.label(name, scope).map(Value::Label))
                }
                Pending::Targets { instruction, operand, name, scope } => {
                    (instruction, operand, self.list(name, scope))
                }
            };
            if let Some(value) = value {
                self.own().instructions[instruction].operands[operand].value = value;
            }
        }
        self.function = None;
        self.inside = false;
        self.location = None;
        self.scopes.clear();
        self.scope = 0;
    }

    fn label(&self, name: &str, scope: usize) -> Option<usize> {
        self.outwards(scope).find_map(|scope| self.scopes[scope].labels.get(name).copied())
    }

    fn list(&self, name: &str, scope: usize) -> Option<Value> {
        let list = self.outwards(scope).find_map(|scope| self.scopes[scope].lists.get(name))?;
        Some(match list {
            List::Labels(names, scope) => {
                Value::Labels(names.iter().filter_map(|name| self.label(name, *scope)).collect())
            }
            List::Functions(names) => {
                Value::Functions(names.iter().filter_map(|name| self.functions.get(name).copied()).collect())
            }
            List::Prototype(number) => Value::Prototype(*number),
        })
    }
}

impl Scope<'_> {
    fn new(parent: usize) -> Self {
        Scope {
            parent,
            names: BTreeMap::new(),
            labels: BTreeMap::new(),
            lists: BTreeMap::new(),
            numbers: BTreeMap::new(),
        }
    }
}
