//! The resolved spec: names have become indices; what was written is kept for what is computed from it.
//!
//! This module holds data only. [`crate::resolve`] makes it, [`crate::check`] reads it.

use std::rc::Rc;

use proc_macro2::{Span, TokenStream};

use crate::ast::{Docs, Example, Expr, Stmt, Target, Version};

/// Index into [`Model::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TypeId(pub usize);

/// Index into [`Model::builtins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BuiltinId(pub usize);

/// Index into [`Model::operators`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OperatorId(pub usize);

/// A resolved spec: what [`check`](crate::check) takes.
#[derive(Debug, Default)]
pub struct Model {
    /// The module with the builtins' bodies, where the spec names it.
    pub(crate) bodies: Option<TokenStream>,
    pub(crate) versions: Vec<Version>,
    pub(crate) targets: Vec<(Target, Version)>,
    pub(crate) types: Vec<Type>,
    pub(crate) classes: Vec<Class>,
    pub(crate) builtins: Vec<Builtin>,
    pub(crate) operators: Vec<Operator>,
    pub(crate) lenient: Vec<LenientNote>,
    pub(crate) slips: Vec<Slip>,
    /// Sorted by name.
    pub(crate) opcodes: Vec<Opcode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Predicate,
    Bits,
    Unsigned,
    Signed,
    Float,
    Packed,
}

#[derive(Debug)]
pub(crate) struct Type {
    pub name: String,
    pub docs: Docs,
    pub kind: Kind,
    /// Of the whole value.
    pub bits: u32,
    /// Bits of a float's exponent; 0 for the other kinds.
    pub exponent: u32,
    pub lanes: u32,
    /// Of one lane; the type itself where it is not packed.
    pub lane: TypeId,
    pub registers: Vec<TypeId>,
    pub constants: Vec<Constant>,
}

/// What may be written for an operand in place of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constant {
    Integer,
    Float,
    Single,
}

#[derive(Debug)]
pub(crate) struct Class {
    pub name: String,
    pub docs: Docs,
    pub types: Vec<TypeId>,
}

#[derive(Debug)]
pub(crate) struct Builtin {
    pub name: String,
    pub docs: Docs,
    /// How it is called: `flush(x)`.
    pub signature: String,
    /// The types its parameter ranges over, if it has one.
    pub generic: Option<Vec<TypeId>>,
    pub params: Vec<Param>,
    pub result: Param,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Param {
    Type(TypeId),
    Generic,
    /// Any number of lanes of the type parameter.
    GenericLanes,
    Pick {
        lanes: u32,
        of: u32,
    },
}

#[derive(Debug)]
pub(crate) struct Operator {
    pub name: String,
    pub docs: Docs,
    pub params: Vec<String>,
    pub members: Vec<OperatorMember>,
    /// What the operator means where its modifier is left out.
    pub absent: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct OperatorMember {
    pub name: String,
    pub docs: Docs,
    pub body: Expr,
    pub domain: Vec<TypeId>,
    /// The domain as it was written: `unsigned integers, floats`.
    pub domain_text: String,
}

#[derive(Debug)]
pub(crate) struct LenientNote {
    pub name: String,
    pub text: Docs,
}

/// Where the assembler's verdict is not followed.
#[derive(Debug)]
pub(crate) struct Slip {
    pub text: Docs,
    /// Whether the assembler takes it, and the table refuses it.
    pub taken: bool,
    /// The code of the table's refusal, in kebab case; empty where the assembler refuses.
    pub code: String,
    /// Statements with `*` for any text.
    pub patterns: Vec<String>,
}

/// Forms that the manual does not list and the assembler takes.
#[derive(Debug)]
pub(crate) struct LenientForms {
    pub span: Span,
    pub condition: Expr,
    pub text: Docs,
}

/// An opcode with all its entries.
#[derive(Debug)]
pub(crate) struct Opcode {
    pub name: String,
    pub slots: Vec<Slot>,
    pub entries: Vec<Entry>,
}

/// A place for a modifier, shared by the entries of an opcode.
#[derive(Debug)]
pub(crate) struct Slot {
    pub name: String,
    pub kind: SlotKind,
    pub members: Vec<Member>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// One of an operator's members.
    Operator(OperatorId),
    /// A type.
    Type,
    /// A fixed word that is there or not.
    Flag,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub spelling: String,
    pub meaning: Meaning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Index into [`Operator::members`].
    Operator(usize),
    Type(TypeId),
    Flag,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub span: Span,
    pub docs: Docs,
    pub section: String,
    pub syntaxes: Vec<Syntax>,
    pub operands: Vec<Operand>,
    /// What the entry is not about: another entry may be.
    pub narrowed: Vec<OnlyIf>,
    pub legal: Vec<OnlyIf>,
    pub requires: Vec<Requirement>,
    /// `None` where the entry says that it has none.
    pub semantics: Option<Vec<Stmt>>,
    pub lenient_floors: Vec<(Requirement, Docs)>,
    /// Forms that only the assembler takes: which, and why.
    pub lenient_forms: Vec<LenientForms>,
    pub errata: Vec<Erratum>,
    pub examples: Vec<Example>,
}

#[derive(Debug)]
pub(crate) struct Syntax {
    pub span: Span,
    /// The line as it was written, blanks evened.
    pub text: String,
    pub items: Vec<Item>,
    pub patterns: Vec<Pattern>,
    pub condition: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct Item {
    /// Index into [`Opcode::slots`].
    pub slot: usize,
    pub optional: bool,
    /// The members this line allows, indices into [`Slot::members`].
    pub members: Vec<usize>,
}

/// An operand of a syntax line: names are indices into [`Entry::operands`].
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub operand: usize,
    pub destination: bool,
    pub second: Option<(usize, Permission)>,
    /// A bar and a sink behind a destination that has no second one.
    pub trailing_sink: Permission,
    pub negation: Permission,
    pub selector: Option<Selector>,
    /// Whether this operand and those behind it may be left out.
    pub optional: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    No,
    Yes,
    /// With the note that says so.
    Lenient(String),
}

#[derive(Debug)]
pub(crate) struct Operand {
    pub name: String,
    pub span: Span,
    pub ty: OperandType,
    /// The registers it may be, where the entry says so; else its type says.
    pub registers: Option<Vec<TypeId>>,
    /// What cannot stand for it: things by their place in [`crate::resolve::THINGS`].
    pub without: Vec<(Vec<usize>, Option<Rc<Expr>>)>,
    pub sink: bool,
    /// Said so in an entry without semantics, which would tell.
    pub destination: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum OperandType {
    Fixed(TypeId),
    /// The type in a slot.
    Slot(usize),
}

/// The lanes or the mask behind an operand.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    pub name: String,
    pub letter: char,
    pub shape: SelectorShape,
    /// Lanes: four bits each, lane 0 lowest; subset: one bit a lane; listed: the member's place.
    pub default: u32,
    /// Whether it may be left out where all operands are written. What may not stands with all operands only.
    pub omission: Permission,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SelectorShape {
    Lanes {
        lanes: u32,
        of: u32,
    },
    Subset {
        of: u32,
    },
    /// One of these words, or none: the place after the last.
    Listed(Vec<String>),
}

#[derive(Debug)]
pub(crate) struct OnlyIf {
    pub subject: Expr,
    pub condition: Expr,
    pub span: Span,
}

#[derive(Debug)]
pub(crate) struct Requirement {
    pub span: Span,
    pub condition: Option<Expr>,
    pub ptx: Option<Version>,
    pub target: Option<Target>,
}

#[derive(Debug)]
pub(crate) struct Erratum {
    pub subject: Docs,
    pub manual: String,
    pub machine: String,
}

impl Model {
    pub(crate) fn ty(&self, id: TypeId) -> &Type {
        &self.types[id.0]
    }

    pub(crate) fn type_named(&self, name: &str) -> Option<TypeId> {
        self.types.iter().position(|ty| ty.name == name).map(TypeId)
    }

    pub(crate) fn operator_named(&self, name: &str) -> Option<OperatorId> {
        self.operators.iter().position(|operator| operator.name == name).map(OperatorId)
    }

    pub(crate) fn class_named(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }
}
