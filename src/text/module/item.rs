//! The items of a module, as its reader passes them to a visitor.

use crate::table::{Space, TypeId};
use crate::text::statement::Statement;

/// A part of a module that has no error, or a statement that has one. Names borrow from the text (`'a`). A statement
/// borrows from the reader (`'s`): clone it to keep it.
#[derive(Clone, Copy, Debug)]
pub enum Item<'s, 'a> {
    /// A function without a body.
    Prototype(Function<'a>),
    /// A function with a body, which consists of the items up to [`Item::End`].
    Function(Function<'a>),
    /// A parameter in the head of the preceding function or prototype; return parameters come first. The name of an
    /// unnamed parameter is empty.
    Parameter(Declaration<'a>),
    /// The end of a function's body.
    End,
    /// A register, a family of registers, or a variable.
    Declaration(Declaration<'a>),
    /// A label.
    Label(&'a str),
    /// Any other directive: its name, without the dot.
    Directive(&'a str),
    /// An instruction.
    Statement(&'s Statement<'a>),
    /// An instruction that has an error, which the report contains; with its operands, if they could be read.
    Refused(Option<&'s Statement<'a>>),
}

/// The head of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// The name; empty if it has none.
    pub name: &'a str,
    /// True for a kernel (`.entry`), which the host launches.
    pub kernel: bool,
    /// Number of return parameters.
    pub results: usize,
    /// Number of parameters.
    pub parameters: usize,
}

/// A declaration of a single name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration<'a> {
    /// The name; for a register family, the stem.
    pub name: &'a str,
    /// The type, if it is in the table; for an array or a vector, the element type.
    pub ty: Option<TypeId>,
    /// Number of elements of a vector; 1 for a scalar.
    pub lanes: u8,
    /// Location: registers or memory.
    pub place: Place,
}

/// Location of a declared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A register (`None`), or a family with the given number of registers.
    Registers(Option<u64>),
    /// In memory.
    Memory {
        /// The state space.
        space: &'static Space,
        /// Number of elements of an array; 1 for any other variable, 0 if the text omits the length.
        elements: u64,
    },
}

/// Who else sees what is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Linkage {
    /// Other modules see it.
    Visible,
    /// Another module defines it.
    Extern,
    /// Other modules see it, and may replace it.
    Weak,
    /// Other modules see it, and those that declare it as well share it.
    Common,
}

impl Linkage {
    /// Every linkage, with its directive without the dot.
    pub(crate) const NAMED: [(&str, Linkage); 4] = [
        ("visible", Linkage::Visible),
        ("extern", Linkage::Extern),
        ("weak", Linkage::Weak),
        ("common", Linkage::Common),
    ];

    /// The linkage that a directive, given without its dot, says.
    pub(crate) fn named(name: &str) -> Option<Linkage> {
        Linkage::NAMED.iter().find(|(own, _)| *own == name).map(|(_, linkage)| *linkage)
    }
}
