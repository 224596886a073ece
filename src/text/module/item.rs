//! What a module is made of, as its reader shows it.

use crate::table::{Space, TypeId};
use crate::text::statement::Statement;

/// A part of a module that has no error, or a statement that has one. Names are borrowed from the text, `'a`; a statement
/// stands in its reader, `'s`, and who wants to keep it copies it.
#[derive(Clone, Copy, Debug)]
pub enum Item<'s, 'a> {
    /// A function without a body.
    Prototype(Function<'a>),
    /// A function with a body: what follows, up to [`Item::End`], stands in it.
    Function(Function<'a>),
    /// A parameter of the function or prototype that came before, within its head: results first. One without a name has an
    /// empty one.
    Parameter(Declaration<'a>),
    /// The end of a function's body.
    End,
    /// A register, a family of registers, or a variable.
    Declaration(Declaration<'a>),
    /// A label.
    Label(&'a str),
    /// Any other directive, by its name without the dot.
    Directive(&'a str),
    /// An instruction.
    Statement(&'s Statement<'a>),
    /// An instruction that has an error; the report has it.
    Refused,
}

/// The head of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// The name; empty where it has none.
    pub name: &'a str,
    /// Whether it is a kernel, which the host launches.
    pub kernel: bool,
    /// How many values it gives.
    pub results: usize,
    /// How many parameters it has.
    pub parameters: usize,
}

/// What a declaration declares under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration<'a> {
    /// The name; of a family, the stem.
    pub name: &'a str,
    /// The type, where it is one of the table's; of an array or a vector, that of an element.
    pub ty: Option<TypeId>,
    /// How many elements a vector has; 1 for what is none.
    pub lanes: u8,
    /// What it is.
    pub place: Place,
}

/// Where something that is declared lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In registers: one, or a family of so many.
    Registers(Option<u64>),
    /// In memory.
    Memory {
        /// The state space.
        space: &'static Space,
        /// How many elements an array has; 1 for what is none, 0 where the text does not say.
        elements: u64,
    },
}
