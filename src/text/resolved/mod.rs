//! A module with every name resolved, for emulators and data-flow analyses.
//!
//! [`text::module`](super::module) checks a text and passes its parts to a visitor. Here, registers are numbers, labels
//! are instruction indices, variables have layouts and initial bytes, and nothing borrows from the text.
//!
//! ```
//! use ptx_isa::text::resolved::{Module, Value};
//!
//! let text = ".version 8.0 .target sm_90 .address_size 64
//!     .entry k(.param .u32 n, .param .align 16 .b8 s[20], .param .u64 p) {
//!         .reg .u64 a; ld.param.u64 a, [p+0]; ret; }";
//! let module = Module::read(&ptx_isa::TABLE, text).unwrap();
//! let kernel = &module.functions[0];
//! let offsets: Vec<u64> = kernel.parameters.iter().map(|number| kernel.parameter(number).unwrap().offset).collect();
//! assert_eq!(offsets, [0, 16, 40]);
//! assert!(matches!(kernel.instructions[0].operands[1].value, Value::Address { .. }));
//! ```

mod declare;
mod effects;
mod link;
mod names;
mod read;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::table::{FormInfo, Free, MemoryOrder, Space, Special, Table, TypeId};
use crate::target::{Target, Version};
pub use crate::text::module::Linkage;
pub use link::LinkError;

/// A resolved module, which owns its data.
#[derive(Clone, Debug)]
pub struct Module {
    /// The table of its instructions.
    pub table: &'static Table,
    /// The text that it was read from; for linked modules, their concatenated texts.
    pub text: String,
    /// Offset in `text` of each linked module; a single 0 for a module that was not linked.
    pub parts: Vec<usize>,
    /// The PTX version.
    pub version: Option<Version>,
    /// The target.
    pub target: Option<Target>,
    /// Width of an address in bits: 64 unless `.address_size` specifies otherwise.
    pub address_bits: u32,
    /// Functions, including those without a body; one for each name.
    pub functions: Vec<Function>,
    /// Variables outside of functions.
    pub variables: Vec<Variable>,
    /// The source files that `.file` declares, by their numbers.
    pub files: Vec<(u64, String)>,
}

/// A kernel or another function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// The name.
    pub name: String,
    /// True for a kernel (`.entry`), which the host launches.
    pub kernel: bool,
    /// True if the function has a body.
    pub body: bool,
    /// Linkage; `None` if it is visible only in its module.
    pub linkage: Option<Linkage>,
    /// Return parameters.
    pub results: Vec<Parameter>,
    /// Input parameters.
    pub parameters: Vec<Parameter>,
    /// Size in bytes of all parameters of a kernel.
    pub parameter_bytes: u64,
    /// The registers that its instructions use.
    pub registers: Vec<Register>,
    /// Variables declared in the function, its parameters first.
    pub variables: Vec<Variable>,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// Directives of its head, such as `maxntid` and `reqntid`, with their operands.
    pub directives: Vec<(String, Vec<u64>)>,
    /// Prototypes of indirect calls.
    pub prototypes: Vec<Function>,
    /// The function that it is another name of (`.alias`); references to it are to that function.
    pub alias: Option<usize>,
    /// Byte range in the text.
    pub at: Range<usize>,
}

impl Function {
    /// Returns the variable of a parameter; `None` if it is a register.
    pub fn parameter(&self, parameter: &Parameter) -> Option<&Variable> {
        match parameter {
            Parameter::Register(_) => None,
            Parameter::Variable(number) => self.variables.get(*number),
        }
    }

    /// Returns the operands of a directive of the function's head, if present.
    pub fn directive(&self, name: &str) -> Option<&[u64]> {
        self.directives.iter().find(|(own, _)| own == name).map(|(_, numbers)| numbers.as_slice())
    }
}

/// A parameter or result of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// An index into [`Function::registers`].
    Register(usize),
    /// An index into [`Function::variables`].
    Variable(usize),
}

/// A register, or a single element of a vector register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: TypeId,
}

/// A variable in memory.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// Its state space.
    pub space: &'static Space,
    /// The type of an element; `None` for an opaque variable (texture, sampler or surface).
    pub ty: Option<TypeId>,
    /// Number of elements of type `ty`; a vector counts as several.
    pub elements: u64,
    /// Size in bytes; 0 if the text does not specify it.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Offset among the parameters of a kernel; 0 for other variables.
    pub offset: u64,
    /// Linkage; `None` if it is visible only in its module. An `.extern` variable is provided by another module, or by
    /// the launch.
    pub linkage: Option<Linkage>,
    /// The initial contents, in ascending order; the rest is zero.
    pub initial: Vec<Bytes>,
    /// Addresses in its initial contents.
    pub relocations: Vec<Relocation>,
}

/// Bytes in the initial contents of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Offset in bytes within the variable.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// An address in the initial contents of a variable.
#[derive(Clone, Debug)]
pub struct Relocation {
    /// Offset in bytes within the variable.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// Mask of the address bits that are stored; the lowest of them becomes bit 0.
    pub mask: u64,
    /// True for a generic address.
    pub generic: bool,
    /// The name of the variable or function.
    pub name: String,
    /// The variable or function; `None` if the module does not declare it.
    pub symbol: Option<Symbol>,
    /// Constant that is added to the address.
    pub addend: u64,
}

/// An instruction of a function. Registers are whatever identifies them: indices into [`Function::registers`] where a module
/// was read, rows of a warp behind [`map`](Instruction::map).
#[derive(Clone, Debug)]
pub struct Instruction<R = usize> {
    /// The form.
    pub form: FormInfo,
    /// The modifiers that are not part of the form.
    pub free: Free,
    /// The register of the guard, and true if it is negated.
    pub guard: Option<(R, bool)>,
    /// The operands of the form, in order.
    pub operands: Vec<Operand<R>>,
    /// Byte range in the text.
    pub at: Range<usize>,
    /// File, line and column of the source, as given by the last `.loc`.
    pub location: Option<(u64, u64, u64)>,
}

impl<R> Instruction<R> {
    /// Returns the modifier in a slot, as [`Statement::modifier`](super::Statement::modifier) does.
    pub fn modifier(&self, slot: u8) -> Option<&'static str> {
        self.form.modifier(&self.free, slot)
    }

    /// Returns how an access is ordered by the modifier in a slot of the instruction; `None` if it is weak.
    pub fn order(&self, slot: u8) -> Option<&'static MemoryOrder> {
        self.form.order(&self.free, slot)
    }

    /// Returns the instruction with other identifiers for its registers, such as the [rows](crate::warp::Row) that hold them.
    pub fn map<T>(&self, mut register: impl FnMut(&R) -> T) -> Instruction<T> {
        let operand = |operand: &Operand<R>| Operand {
            value: operand.value.map(&mut register),
            second: operand.second.as_ref().map(&mut register),
            selector: operand.selector,
        };
        Instruction {
            form: self.form,
            free: self.free,
            operands: self.operands.iter().map(operand).collect(),
            guard: self.guard.as_ref().map(|(guard, negated)| (register(guard), *negated)),
            at: self.at.clone(),
            location: self.location,
        }
    }
}

/// An operand of an instruction.
#[derive(Clone, Debug)]
pub struct Operand<R = usize> {
    /// Value of the operand.
    pub value: Value<R>,
    /// The register of the second destination, if present.
    pub second: Option<R>,
    /// The packed selector, if any.
    pub selector: Option<u32>,
}

/// Value of an operand. Registers are as in the [`Instruction`].
#[derive(Clone, Debug)]
pub enum Value<R = usize> {
    /// A register.
    Register(R),
    /// A negated predicate, `!p`.
    Not(R),
    /// A special register.
    Special {
        /// The special register.
        special: &'static Special,
        /// Its number, if its name has one.
        number: u8,
        /// The element of a vector; `None` for the whole vector.
        element: Option<u8>,
    },
    /// A constant.
    Constant(u64),
    /// A variable or function plus a constant.
    Address {
        /// The variable or function.
        symbol: Symbol,
        /// The constant.
        addend: u64,
    },
    /// A register plus a constant.
    Offset {
        /// The register.
        register: R,
        /// The constant.
        addend: u64,
    },
    /// Values in braces, or the arguments or return values of a call.
    List(Vec<Value<R>>),
    /// The target of a label: an index into [`Function::instructions`].
    Label(usize),
    /// The targets of a list of labels.
    Labels(Vec<usize>),
    /// The functions of a list of call targets.
    Functions(Vec<usize>),
    /// An index into [`Function::prototypes`].
    Prototype(usize),
    /// `_`: the result is discarded.
    Sink,
    /// The operand is omitted.
    Absent,
}

impl<R> Value<R> {
    fn map<T>(&self, register: &mut impl FnMut(&R) -> T) -> Value<T> {
        match self {
            Value::Register(own) => Value::Register(register(own)),
            Value::Not(own) => Value::Not(register(own)),
            Value::Special { special, number, element } => {
                Value::Special { special, number: *number, element: *element }
            }
            Value::Constant(bits) => Value::Constant(*bits),
            Value::Address { symbol, addend } => Value::Address { symbol: *symbol, addend: *addend },
            Value::Offset { register: own, addend } => Value::Offset { register: register(own), addend: *addend },
            Value::List(values) => Value::List(values.iter().map(|value| value.map(register)).collect()),
            Value::Label(label) => Value::Label(*label),
            Value::Labels(labels) => Value::Labels(labels.clone()),
            Value::Functions(functions) => Value::Functions(functions.clone()),
            Value::Prototype(prototype) => Value::Prototype(*prototype),
            Value::Sink => Value::Sink,
            Value::Absent => Value::Absent,
        }
    }
}

/// A variable or function, which has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// An index into [`Module::variables`].
    Module(usize),
    /// An index into [`Function::variables`].
    Local(usize),
    /// An index into [`Module::functions`].
    Function(usize),
}

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    ///
    /// Returns the findings of [`check`](super::check) that are errors, if any.
    pub fn read(table: &'static Table, text: &str) -> Result<Module, Vec<Diagnostic>> {
        read::read(table, text)
    }

    /// Links several modules into one. An `.extern` function or variable refers to the definition of the same name in
    /// another module, and `.weak` and `.common` definitions give way to others. Names without a linkage directive stay
    /// local to their module.
    ///
    /// ```
    /// use ptx_isa::text::resolved::Module;
    ///
    /// let read = |text: &str| Module::read(&ptx_isa::TABLE, text).unwrap();
    /// let head = ".version 8.0 .target sm_90 .address_size 64 ";
    /// let caller = read(&format!("{head} .extern .func f; .entry k() {{ call f; ret; }}"));
    /// let callee = read(&format!("{head} .visible .func f() {{ ret; }}"));
    /// let linked = Module::link(vec![caller, callee]).unwrap();
    /// assert!(linked.functions.iter().all(|function| function.body));
    /// ```
    ///
    /// # Errors
    ///
    /// If two modules define the same name or declare it differently, if their address sizes differ, or if the list of
    /// modules is empty.
    pub fn link(modules: Vec<Module>) -> Result<Module, LinkError> {
        link::link(modules)
    }

    /// Returns the index of the linked module that contains an offset in the text.
    pub fn part(&self, offset: usize) -> usize {
        self.parts.iter().rposition(|start| *start <= offset).unwrap_or(0)
    }

    /// Returns the index of the function with this name.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.name == name)
    }

    /// Returns the one-based line of an offset in the text, relative to the beginning of its module.
    pub fn line(&self, offset: usize) -> usize {
        let start = self.parts.get(self.part(offset)).copied().unwrap_or(0);
        let before = self.text.as_bytes().get(start..offset.min(self.text.len())).unwrap_or_default();
        1 + memchr::memchr_iter(b'\n', before).count()
    }

    /// Returns the one-based column of an offset in the text, in characters.
    pub fn column(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        1 + before[line..].chars().count()
    }

    /// Returns the name of a source file.
    pub fn file(&self, number: u64) -> Option<&str> {
        self.files.iter().find(|(own, _)| *own == number).map(|(_, name)| name.as_str())
    }
}
