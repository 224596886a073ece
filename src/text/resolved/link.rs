//! Links several modules into one: `.extern` declarations refer to definitions in other modules.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;

use super::{Function, Linkage, Module, Parameter, Symbol, Value, Variable};
use crate::table::Table;

/// Reason why modules cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// Two modules define a function or variable that is neither `.weak` nor `.common`.
    DefinedTwice {
        /// The name.
        name: String,
        /// The two modules, counted from zero.
        modules: [usize; 2],
    },
    /// A name denotes a function in one module and a variable in another, variables of different state spaces or sizes, or functions
    /// that differ in kind, or in the number or sizes of their parameters and results.
    OfOtherKind {
        /// The name.
        name: String,
        /// The two modules, counted from zero.
        modules: [usize; 2],
        /// What the name denotes in each of them: `a function (4 bytes) -> (8 bytes)`, `a variable of 4 bytes in .global`.
        kinds: [String; 2],
    },
    /// The address size of a module differs from that of the first.
    AddressSize {
        /// The module, counted from zero.
        module: usize,
    },
    /// The list of modules is empty.
    Nothing,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::DefinedTwice { name, modules: [first, second] } => {
                let (first, second) = (first + 1, second + 1);
                write!(f, "`{name}` is defined in module {first} and again in module {second}; one must be `.weak`")
            }
            LinkError::OfOtherKind { name, modules: [first, second], kinds: [one, other] } => {
                write!(f, "`{name}` is {one} in module {}, and {other} in module {}", first + 1, second + 1)
            }
            LinkError::AddressSize { module } => {
                write!(f, "module {} has another `.address_size` than the first", module + 1)
            }
            LinkError::Nothing => f.write_str("there is no module to link"),
        }
    }
}

impl core::error::Error for LinkError {}

/// Precedence of a declaration: it defines nothing, it defines something that another definition may replace, or it is
/// a full definition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Declared,
    Replaceable(u64),
    Defined,
}

fn of_function(function: &Function) -> Strength {
    match (function.body || function.alias.is_some(), function.linkage) {
        (false, _) => Strength::Declared,
        (true, Some(Linkage::Weak)) => Strength::Replaceable(0),
        (true, _) => Strength::Defined,
    }
}

fn of_variable(variable: &Variable) -> Strength {
    match variable.linkage {
        Some(Linkage::Extern) => Strength::Declared,
        // The largest of several definitions is used.
        Some(Linkage::Common) => Strength::Replaceable(variable.size),
        Some(Linkage::Weak) => Strength::Replaceable(0),
        _ => Strength::Defined,
    }
}

/// The sizes in bytes of parameters or results; zero if the text does not specify one.
fn sizes(function: &Function, parameters: &[Parameter], table: &Table) -> Vec<u64> {
    let size = |parameter: &Parameter| match (function.parameter(parameter), parameter) {
        (Some(variable), _) => variable.size,
        (None, Parameter::Register(number)) => table.ty(function.registers[*number].ty).bytes(),
        (None, Parameter::Variable(_)) => 0,
    };
    parameters.iter().map(size).collect()
}

/// What a name denotes: the kind of a declaration, and the sizes in bytes that have to agree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Signature {
    Function { kernel: bool, parameters: Vec<u64>, results: Vec<u64> },
    Variable { space: &'static str, size: u64 },
}

impl Signature {
    fn of_function(function: &Function, table: &Table) -> Signature {
        let [parameters, results] = [&function.parameters, &function.results].map(|list| sizes(function, list, table));
        Signature::Function { kernel: function.kernel, parameters, results }
    }

    fn of_variable(variable: &Variable) -> Signature {
        // The largest of several common variables is used.
        let size = if variable.linkage == Some(Linkage::Common) { 0 } else { variable.size };
        Signature::Variable { space: variable.space.name, size }
    }

    /// Returns true if one name may denote both. A size of zero is any.
    fn fits(&self, other: &Signature) -> bool {
        let size = |one: u64, other: u64| one == other || one == 0 || other == 0;
        let list = |one: &[u64], other: &[u64]| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| size(*one, *other))
        };
        match (self, other) {
            (
                Signature::Function { kernel, parameters, results },
                Signature::Function { kernel: kind, parameters: others, results: given },
            ) => kernel == kind && list(parameters, others) && list(results, given),
            (Signature::Variable { space, size: own }, Signature::Variable { space: another, size: given }) => {
                space == another && size(*own, *given)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |sizes: &[u64]| {
            let bytes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            if bytes.is_empty() { String::from("()") } else { format!("({} bytes)", bytes.join(", ")) }
        };
        match self {
            Signature::Function { kernel: true, parameters, .. } => write!(f, "a kernel {}", list(parameters)),
            Signature::Function { parameters, results, .. } if results.is_empty() => {
                write!(f, "a function {}", list(parameters))
            }
            Signature::Function { parameters, results, .. } => {
                write!(f, "a function {} -> {}", list(parameters), list(results))
            }
            Signature::Variable { space, size: 0 } => write!(f, "a variable in .{space}"),
            Signature::Variable { space, size } => write!(f, "a variable of {size} bytes in .{space}"),
        }
    }
}

/// Declarations merged from several modules: `items` has the chosen declarations and their modules, and `places` the
/// new index of each module's declarations.
struct Merged<T> {
    items: Vec<(usize, T)>,
    places: Vec<Vec<usize>>,
    exported: BTreeMap<String, usize>,
}

impl<T> Merged<T> {
    fn new() -> Self {
        Merged { items: Vec::new(), places: Vec::new(), exported: BTreeMap::new() }
    }

    fn add(
        &mut self,
        module: usize,
        items: Vec<T>,
        name: impl Fn(&T) -> (&str, Option<Linkage>),
        strength: impl Fn(&T) -> Strength,
        signature: impl Fn(&T) -> Signature,
    ) -> Result<(), LinkError> {
        let mut places = Vec::with_capacity(items.len());
        for item in items {
            let (own, linkage) = name(&item);
            let known = linkage.and_then(|_| self.exported.get(own)).copied();
            let Some(place) = known else {
                if linkage.is_some() {
                    self.exported.insert(own.to_owned(), self.items.len());
                }
                places.push(self.items.len());
                self.items.push((module, item));
                continue;
            };
            let (other, before) = &self.items[place];
            let modules = [*other, module];
            let kinds = [signature(before), signature(&item)];
            match (strength(before), strength(&item)) {
                (Strength::Defined, Strength::Defined) => {
                    return Err(LinkError::DefinedTwice { name: own.to_owned(), modules });
                }
                _ if !kinds[0].fits(&kinds[1]) => {
                    let kinds = kinds.map(|kind| kind.to_string());
                    return Err(LinkError::OfOtherKind { name: own.to_owned(), modules, kinds });
                }
                (before, now) if now > before => self.items[place] = (module, item),
                _ => {}
            }
            places.push(place);
        }
        self.places.push(places);
        Ok(())
    }
}

pub(super) fn link(modules: Vec<Module>) -> Result<Module, LinkError> {
    let mut modules = modules.into_iter();
    let mut linked = modules.next().ok_or(LinkError::Nothing)?;
    let table = linked.table;
    let (mut functions, mut variables) = (Merged::new(), Merged::new());
    let mut parts = vec![0];
    let mut add = |number: usize, module: &mut Module| {
        functions.add(
            number,
            core::mem::take(&mut module.functions),
            |function: &Function| (&function.name, function.linkage),
            of_function,
            |function| Signature::of_function(function, table),
        )?;
        variables.add(
            number,
            core::mem::take(&mut module.variables),
            |variable: &Variable| (&variable.name, variable.linkage),
            of_variable,
            Signature::of_variable,
        )
    };
    add(0, &mut linked)?;
    for (number, mut module) in (1..).zip(modules) {
        if module.address_bits != linked.address_bits {
            return Err(LinkError::AddressSize { module: number });
        }
        add(number, &mut module)?;
        linked.text.push('\n');
        parts.push(linked.text.len());
        linked.text.push_str(&module.text);
        linked.version = linked.version.max(module.version);
        linked.target = match (linked.target, module.target) {
            (Some(one), Some(other)) => Some(if other.sm > one.sm { other } else { one }),
            (one, other) => one.or(other),
        };
        linked.files.extend(module.files.into_iter().map(|(file, name)| (of_part(file, number), name)));
    }
    for name in functions.exported.keys() {
        if let Some(variable) = variables.exported.get(name) {
            let (function, variable) = (&functions.items[functions.exported[name]], &variables.items[*variable]);
            let kinds = [Signature::of_function(&function.1, table), Signature::of_variable(&variable.1)];
            let (modules, kinds) = ([function.0, variable.0], kinds.map(|kind| kind.to_string()));
            return Err(LinkError::OfOtherKind { name: name.clone(), modules, kinds });
        }
    }
    let places = Places { functions: functions.places, variables: variables.places };
    linked.functions = functions.items.into_iter().map(|(module, one)| places.function(module, one, &parts)).collect();
    linked.variables = variables.items.into_iter().map(|(module, one)| places.variable(module, one)).collect();
    linked.parts = parts;
    follow_aliases(&mut linked, |_| false);
    Ok(linked)
}

/// Makes references to other names of functions references to these functions, where no other module may replace the name.
pub(super) fn follow_aliases(module: &mut Module, replaceable: impl Fn(&Function) -> bool) {
    let aliases = module.functions.iter().filter(|function| function.alias.is_some()).count();
    if aliases == 0 {
        return;
    }
    let alias = |at: usize| module.functions[at].alias.filter(|_| !replaceable(&module.functions[at]));
    // A cycle of names is none of them.
    let last = |own| (0..aliases).fold(own, |at, _| alias(at).unwrap_or(at));
    let functions = (0..module.functions.len()).map(last).collect();
    let places = Places { functions: vec![functions], variables: vec![(0..module.variables.len()).collect()] };
    let (functions, variables) = (core::mem::take(&mut module.functions), core::mem::take(&mut module.variables));
    module.functions = functions.into_iter().map(|function| places.function(0, function, &[0])).collect();
    module.variables = variables.into_iter().map(|variable| places.variable(0, variable)).collect();
}

/// Returns the number of a source file among those of all modules.
fn of_part(file: u64, module: usize) -> u64 {
    file.wrapping_add((module as u64) << 32)
}

/// New indices of the functions and variables of each module.
struct Places {
    functions: Vec<Vec<usize>>,
    variables: Vec<Vec<usize>>,
}

impl Places {
    fn symbol(&self, module: usize, symbol: Symbol) -> Symbol {
        match symbol {
            Symbol::Module(number) => Symbol::Module(self.variables[module][number]),
            Symbol::Function(number) => Symbol::Function(self.functions[module][number]),
            Symbol::Local(number) => Symbol::Local(number),
        }
    }

    fn variable(&self, module: usize, mut variable: Variable) -> Variable {
        for relocation in &mut variable.relocations {
            relocation.symbol = relocation.symbol.map(|symbol| self.symbol(module, symbol));
        }
        variable
    }

    fn function(&self, module: usize, mut function: Function, parts: &[usize]) -> Function {
        let shift = parts[module];
        function.at = function.at.start + shift..function.at.end + shift;
        function.alias = function.alias.map(|of| self.functions[module][of]);
        for instruction in &mut function.instructions {
            instruction.at = instruction.at.start + shift..instruction.at.end + shift;
            if let Some((file, ..)) = &mut instruction.location {
                *file = of_part(*file, module);
            }
            instruction.operands.iter_mut().for_each(|operand| self.value(module, &mut operand.value));
        }
        function
    }

    fn value(&self, module: usize, value: &mut Value) {
        match value {
            Value::Address { symbol, .. } => *symbol = self.symbol(module, *symbol),
            Value::List(list) => list.iter_mut().for_each(|value| self.value(module, value)),
            Value::Functions(list) => list.iter_mut().for_each(|number| *number = self.functions[module][*number]),
            Value::Register(_)
            | Value::Not(_)
            | Value::Special { .. }
            | Value::Constant(_)
            | Value::Offset { .. }
            | Value::Label(_)
            | Value::Labels(_)
            | Value::Prototype(_)
            | Value::Sink
            | Value::Absent => {}
        }
    }
}
