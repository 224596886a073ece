//! Links several modules into one: `.extern` declarations refer to definitions in other modules.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::{Function, Linkage, Module, Symbol, Value, Variable};

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
    /// A name denotes a function in one module and a variable in another, variables of different state spaces, or
    /// functions that differ in kind or number of parameters.
    OfOtherKind {
        /// The name.
        name: String,
        /// The two modules, counted from zero.
        modules: [usize; 2],
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
            LinkError::OfOtherKind { name, modules: [first, second] } => {
                let (first, second) = (first + 1, second + 1);
                write!(f, "`{name}` is declared differently in module {first} and in module {second}")
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
    match (function.body, function.linkage) {
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
        alike: impl Fn(&T, &T) -> bool,
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
            if !alike(before, &item) {
                return Err(LinkError::OfOtherKind { name: own.to_owned(), modules });
            }
            match (strength(before), strength(&item)) {
                (Strength::Defined, Strength::Defined) => {
                    return Err(LinkError::DefinedTwice { name: own.to_owned(), modules });
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
    let (mut functions, mut variables) = (Merged::new(), Merged::new());
    let mut parts = vec![0];
    let mut add = |number: usize, module: &mut Module| {
        functions.add(
            number,
            core::mem::take(&mut module.functions),
            |function: &Function| (&function.name, function.linkage),
            of_function,
            |one, other| one.kernel == other.kernel && one.parameters.len() == other.parameters.len(),
        )?;
        variables.add(
            number,
            core::mem::take(&mut module.variables),
            |variable: &Variable| (&variable.name, variable.linkage),
            of_variable,
            |one, other| one.space.name == other.space.name,
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
            let modules = [functions.items[functions.exported[name]].0, variables.items[*variable].0];
            return Err(LinkError::OfOtherKind { name: name.clone(), modules });
        }
    }
    let places = Places { functions: functions.places, variables: variables.places };
    linked.functions = functions.items.into_iter().map(|(module, one)| places.function(module, one, &parts)).collect();
    linked.variables = variables.items.into_iter().map(|(module, one)| places.variable(module, one)).collect();
    linked.parts = parts;
    Ok(linked)
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
