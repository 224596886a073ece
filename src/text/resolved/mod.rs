//! A module with every name resolved: what runs kernels, and analyses that follow values, stand on.
//!
//! [`text::module`](super::module) says whether a text is legal and shows its parts; here registers are numbers, labels are
//! instructions, variables have layouts and initial bytes, and nothing borrows from the text.
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
mod read;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::table::{FormInfo, Free, Space, Special, Table, TypeId};
use crate::target::{Target, Version};
pub use crate::text::module::Linkage;
pub use link::LinkError;

/// A module that owns everything.
#[derive(Clone, Debug)]
pub struct Module {
    /// The table that its instructions are of.
    pub table: &'static Table,
    /// The text it was read from; of linked modules, one text behind the other.
    pub text: String,
    /// Where the text of each linked module begins; 0 for a module that was read alone.
    pub parts: Vec<usize>,
    /// The PTX version.
    pub version: Option<Version>,
    /// The target.
    pub target: Option<Target>,
    /// Bits of an address: 64 unless `.address_size` says otherwise.
    pub address_bits: u32,
    /// Functions, those without a body included; one for each name.
    pub functions: Vec<Function>,
    /// Variables outside of functions.
    pub variables: Vec<Variable>,
    /// The source files that `.file` names, by their numbers.
    pub files: Vec<(u64, String)>,
}

/// A kernel or another function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// The name.
    pub name: String,
    /// Whether the host launches it.
    pub kernel: bool,
    /// Whether it has a body.
    pub body: bool,
    /// Who else sees it; none if only its module does.
    pub linkage: Option<Linkage>,
    /// What it gives.
    pub results: Vec<Parameter>,
    /// What it is called with.
    pub parameters: Vec<Parameter>,
    /// The bytes of all parameters of a kernel.
    pub parameter_bytes: u64,
    /// The registers that its instructions name.
    pub registers: Vec<Register>,
    /// Variables declared in it, its parameters first.
    pub variables: Vec<Variable>,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// Directives of its head, with their numbers: `maxntid`, `reqntid`.
    pub directives: Vec<(String, Vec<u64>)>,
    /// Prototypes that indirect calls name.
    pub prototypes: Vec<Function>,
    /// Where it stands in the text.
    pub at: Range<usize>,
}

impl Function {
    /// The variable that a parameter is; none where it is a register.
    pub fn parameter(&self, parameter: &Parameter) -> Option<&Variable> {
        match parameter {
            Parameter::Register(_) => None,
            Parameter::Variable(number) => self.variables.get(*number),
        }
    }

    /// The numbers behind a directive of its head, if it has the directive.
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

/// A register; each element of a vector register is one.
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
    /// The type of an element; none for textures and the like.
    pub ty: Option<TypeId>,
    /// Elements of its type, a vector counting as several.
    pub elements: u64,
    /// Its bytes; 0 where the text does not say how many.
    pub size: u64,
    /// The alignment of its address.
    pub align: u64,
    /// Where it begins among the parameters of a kernel; 0 for others.
    pub offset: u64,
    /// Who else sees it; none if only its module does. Another module, or the launch, provides what is `.extern`.
    pub linkage: Option<Linkage>,
    /// The first bytes of its initial contents; zeros follow.
    pub initial: Vec<u8>,
    /// Addresses in its initial contents.
    pub relocations: Vec<Relocation>,
}

/// An address in the initial contents of a variable.
#[derive(Clone, Debug)]
pub struct Relocation {
    /// Where it begins.
    pub offset: u64,
    /// How many bytes it has.
    pub bytes: u32,
    /// The bits of the address that are taken; the lowest taken one becomes bit 0.
    pub mask: u64,
    /// Whether it is a generic address.
    pub generic: bool,
    /// The name of the variable or function.
    pub name: String,
    /// The variable or function; none if the module does not declare it.
    pub symbol: Option<Symbol>,
    /// What is added.
    pub addend: u64,
}

/// An instruction of a function.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The form.
    pub form: FormInfo,
    /// The modifiers that are no part of the form.
    pub free: Free,
    /// The register of the guard, and whether it is negated.
    pub guard: Option<(usize, bool)>,
    /// The operands of the form, in order.
    pub operands: Vec<Operand>,
    /// Where it stands in the text.
    pub at: Range<usize>,
    /// File, line and column of the source, as the last `.loc` says.
    pub location: Option<(u64, u64, u64)>,
}

impl Instruction {
    /// The member in a slot, as [`Statement::modifier`](super::Statement::modifier) gives it.
    pub fn modifier(&self, slot: u8) -> Option<&'static str> {
        self.form.modifier(&self.free, slot)
    }
}

/// An operand of an instruction.
#[derive(Clone, Debug)]
pub struct Operand {
    /// What it is.
    pub value: Value,
    /// The second destination, where one is written.
    pub second: Option<usize>,
    /// The selector behind it, packed.
    pub selector: Option<u32>,
}

/// What an operand is. Registers are indices into [`Function::registers`].
#[derive(Clone, Debug)]
pub enum Value {
    /// A register.
    Register(usize),
    /// A predicate behind `!`.
    Not(usize),
    /// A special register.
    Special {
        /// Which one.
        special: &'static Special,
        /// Its number, where the name has one.
        number: u8,
        /// The element of a vector; none where all of it is meant.
        element: Option<u8>,
    },
    /// A constant.
    Constant(u64),
    /// A variable or function plus a constant.
    Address {
        /// What is addressed.
        symbol: Symbol,
        /// What is added.
        addend: u64,
    },
    /// A register plus a constant.
    Offset {
        /// The register.
        register: usize,
        /// What is added.
        addend: u64,
    },
    /// Values in braces, or what a function is called with or gives.
    List(Vec<Value>),
    /// The instruction behind a label: an index into [`Function::instructions`].
    Label(usize),
    /// The instructions behind a list of labels.
    Labels(Vec<usize>),
    /// The functions that a list names.
    Functions(Vec<usize>),
    /// An index into [`Function::prototypes`].
    Prototype(usize),
    /// `_`
    Sink,
    /// The operand is left out.
    Absent,
}

/// What has an address.
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
    /// The findings of [`check`](super::check), if one of them is an error.
    pub fn read(table: &'static Table, text: &str) -> Result<Module, Vec<Diagnostic>> {
        read::read(table, text)
    }

    /// Makes one module of several: a function or variable that is `.extern` in one is what another defines under its name,
    /// and definitions that are `.weak` or `.common` give way to others. What is neither visible nor `.extern` stays its
    /// module's own.
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
    /// Two modules define the same, or declare it differently.
    pub fn link(modules: Vec<Module>) -> Result<Module, LinkError> {
        link::link(modules)
    }

    /// The linked module that an offset in the text is in, counted from zero.
    pub fn part(&self, offset: usize) -> usize {
        self.parts.iter().rposition(|start| *start <= offset).unwrap_or(0)
    }

    /// The function with a name.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.name == name)
    }

    /// The line of an offset in the text, counted from one at the beginning of its module.
    pub fn line(&self, offset: usize) -> usize {
        let start = self.parts.get(self.part(offset)).copied().unwrap_or(0);
        let before = self.text.as_bytes().get(start..offset.min(self.text.len())).unwrap_or_default();
        1 + memchr::memchr_iter(b'\n', before).count()
    }

    /// The column of a byte of the text, in characters from one.
    pub fn column(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        1 + before[line..].chars().count()
    }

    /// The name of a source file.
    pub fn file(&self, number: u64) -> Option<&str> {
        self.files.iter().find(|(own, _)| *own == number).map(|(_, name)| name.as_str())
    }
}
