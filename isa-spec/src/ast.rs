//! The syntax tree of the spec language: what was written, with its spans, and nothing of what it means.

use std::rc::Rc;

use proc_macro2::{Ident, Span, TokenStream};

/// A description: the `///` lines before an item, joined, without the leading blank.
pub(crate) type Docs = String;

/// A whole spec: its items in order.
#[derive(Debug, Default)]
pub struct Spec {
    pub(crate) items: Vec<Item>,
}

#[derive(Debug)]
pub(crate) enum Item {
    /// `use prelude;`
    Use(Ident),
    /// `bodies crate::bodies;`
    Bodies {
        path: TokenStream,
        span: Span,
    },
    Versions(Vec<Version>),
    Targets(Vec<TargetGroup>),
    Types(Vec<Type>),
    Class(Class),
    Builtin(Builtin),
    Operator(Operator),
    Lenient(Vec<LenientNote>),
    Slips(Vec<Slip>),
    Instruction(Instruction),
}

/// `7.8`
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub span: Span,
    pub major: u8,
    pub minor: u8,
}

/// `ptx 1.0: sm_10, sm_11;`
#[derive(Debug)]
pub(crate) struct TargetGroup {
    pub since: Version,
    pub targets: Vec<Target>,
}

/// `sm_90a`
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub span: Span,
    pub sm: u16,
    pub suffix: Option<char>,
}

/// `.b16: bits 16 registers { … } constants { … };`
#[derive(Debug)]
pub(crate) struct Type {
    pub docs: Docs,
    pub name: Ident,
    pub shape: TypeShape,
    pub registers: Vec<Ident>,
    pub constants: Vec<Ident>,
}

#[derive(Debug)]
pub(crate) enum TypeShape {
    /// `bits 16`, `float 16 exponent 8`
    Scalar { kind: Ident, bits: Number, exponent: Option<Number> },
    /// `2 of .f16`
    Packed { lanes: Number, of: Ident },
}

/// A small number and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    pub value: u32,
    pub span: Span,
}

/// `class float = { .f32, .f64 };`
#[derive(Debug)]
pub(crate) struct Class {
    pub docs: Docs,
    pub name: Ident,
    pub types: Vec<Ident>,
}

/// Types named one by one or by class: `unsigned, .f32`.
#[derive(Debug)]
pub(crate) enum TypeSet {
    Type(Ident),
    Class(Ident),
}

/// `builtin lt<T: unsigned, float>(a: T, b: T) -> .pred;`
#[derive(Debug)]
pub(crate) struct Builtin {
    pub docs: Docs,
    pub name: Ident,
    /// The parameter's name and the types it ranges over.
    pub generic: Option<(Ident, Vec<TypeSet>)>,
    pub params: Vec<(Ident, ParamType)>,
    pub result: ParamType,
}

#[derive(Debug)]
pub(crate) enum ParamType {
    /// `.u32`
    Type(Ident),
    /// `T`
    Generic(Ident),
    /// `[T]`: any number of lanes
    Lanes(Ident),
    /// `lanes 4 of 8`
    Pick { span: Span, lanes: Number, of: Number },
}

/// `operator CmpOp(a, b) { … }`
#[derive(Debug)]
pub(crate) struct Operator {
    pub docs: Docs,
    pub name: Ident,
    pub params: Vec<Ident>,
    pub members: Vec<OperatorMember>,
}

/// `lo = a < b for unsigned;`
#[derive(Debug)]
pub(crate) struct OperatorMember {
    pub docs: Docs,
    pub name: Ident,
    pub body: Expr,
    /// Empty for `absent`.
    pub domain: Vec<TypeSet>,
}

/// `takes selector "*.b01*", "*.b12*";` with its description: where the assembler's verdict is not followed
#[derive(Debug)]
pub(crate) struct Slip {
    pub docs: Docs,
    /// `takes` or `refuses`
    pub verdict: Ident,
    /// The code of the table's own refusal, where it refuses.
    pub code: Option<Ident>,
    pub patterns: Vec<String>,
}

/// `modifier_order;` with its description
#[derive(Debug)]
pub(crate) struct LenientNote {
    pub docs: Docs,
    pub name: Ident,
}

/// `instruction set { … }`
#[derive(Debug)]
pub(crate) struct Instruction {
    pub docs: Docs,
    pub opcode: Ident,
    pub section: Option<(String, Span)>,
    pub syntax: Vec<SyntaxLine>,
    pub sets: Vec<Set>,
    /// What every line is narrowed by.
    pub narrowed: Vec<OnlyIf>,
    pub operands: Vec<OperandType>,
    pub legal: Vec<OnlyIf>,
    pub requires: Vec<Requirement>,
    pub semantics: Option<Semantics>,
    pub lenient_syntax: Vec<SyntaxLine>,
    pub lenient_floors: Vec<LenientFloor>,
    pub lenient_forms: Vec<LenientForms>,
    pub errata: Vec<Erratum>,
    pub examples: Vec<Example>,
}

/// What an entry says of what it computes.
#[derive(Debug)]
pub(crate) enum Semantics {
    /// `semantics none;`: syntax and validity without an evaluator.
    None,
    /// `semantics { … }`
    Statements(Vec<Stmt>),
}

/// `set.CmpOp{.ftz}.dtype.stype  d, a, b, {!}c  where … ;`
#[derive(Debug)]
pub(crate) struct SyntaxLine {
    /// For a lenient line, the note that says so.
    pub docs: Docs,
    pub opcode: Ident,
    pub modifiers: Vec<Modifier>,
    pub operands: Vec<Pattern>,
    pub condition: Option<Expr>,
}

/// `.dtype` or `{.ftz}`
#[derive(Debug)]
pub(crate) struct Modifier {
    pub name: Ident,
    pub optional: bool,
}

/// An operand of a syntax line.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub name: Ident,
    /// `{!}` before it.
    pub negatable: bool,
    /// `|q`, `[|q]` or `[|_]` behind it.
    pub second: Option<(Ident, bool)>,
    /// `{.mask}` behind it, or `.dsel`, which may not be left out.
    pub selector: Option<(Ident, bool)>,
}

/// `.dtype = { .u32, .s32 };` and its relatives
#[derive(Debug)]
pub(crate) struct Set {
    pub name: Ident,
    pub body: SetBody,
}

#[derive(Debug)]
pub(crate) enum SetBody {
    /// `CmpOp { .eq, .ne }` or `{ .u32, .s32 }`
    Listed { operator: Option<Ident>, members: Vec<Ident> },
    /// `lanes .b 4 of 8 default .b3210`
    Lanes { letter: Ident, lanes: Number, of: Number, default: Ident },
    /// `subset .b of 4 default .b3210`
    Subset { letter: Ident, of: Number, default: Ident },
}

/// `forms where .CmpOp in { .lo };` with its description: forms that only the assembler takes
#[derive(Debug)]
pub(crate) struct LenientForms {
    pub docs: Docs,
    pub span: Span,
    pub condition: Expr,
}

/// What cannot stand for an operand: always, or where a condition on the modifiers holds.
#[derive(Debug)]
pub(crate) struct Without {
    pub things: Vec<Ident>,
    pub condition: Option<Rc<Expr>>,
}

/// `a, b: .stype register;`
#[derive(Debug)]
pub(crate) struct OperandType {
    pub names: Vec<Ident>,
    pub ty: Ident,
    /// `register`, `sink`, `destination`
    pub attributes: Vec<Ident>,
    /// `registers { .b32 }`
    pub registers: Option<Vec<Ident>>,
    /// `without { constants, sums } where .type == .bf16`
    pub without: Vec<Without>,
}

/// `.ftz only if .stype == .f32;`
#[derive(Debug)]
pub(crate) struct OnlyIf {
    pub subject: Expr,
    pub condition: Expr,
    pub span: Span,
}

/// `.stype == .f64: ptx 1.4, sm_13;`
#[derive(Debug)]
pub(crate) struct Requirement {
    pub span: Span,
    pub condition: Option<Expr>,
    pub ptx: Option<Version>,
    pub target: Option<Target>,
}

/// A floor of the assembler below the manual's, and the note that says so.
#[derive(Debug)]
pub(crate) struct LenientFloor {
    pub docs: Docs,
    pub requirement: Requirement,
}

#[derive(Debug)]
pub(crate) struct Erratum {
    pub docs: Docs,
    pub manual: String,
    pub machine: String,
}

/// A statement as an example, and whether it is refused although the manual shows it.
#[derive(Debug)]
pub(crate) struct Example {
    pub span: Span,
    pub refused: bool,
    /// The statement as it is written in PTX.
    pub text: String,
    pub opcode: Ident,
    pub modifiers: Vec<Ident>,
    pub operands: Vec<ExampleOperand>,
}

/// `!c`, `p|q`, `a.b3210`
#[derive(Debug)]
pub(crate) struct ExampleOperand {
    pub span: Span,
    pub negated: bool,
    pub name: String,
    pub second: Option<String>,
    pub selector: Option<Ident>,
}

/// A statement of semantics.
#[derive(Debug)]
pub(crate) enum Stmt {
    /// `t = a CmpOp b;`
    Assign { target: Ident, value: Expr },
    /// `if (.add) { … } else { … }`
    If { condition: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt> },
}

/// An expression of semantics, or a condition of `legal`, `requires` and `where`.
#[derive(Debug)]
pub(crate) struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    /// An operand, a selector, a local or `target`.
    Name(Ident),
    /// `.ftz`, `.stype`, `.f32`
    Dotted(Ident),
    /// `sm_20`
    Target(Target),
    Integer(u64),
    Float(f64),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a CmpOp b`
    Infix(Ident, Box<Expr>, Box<Expr>),
    /// `flush(a)`, `BoolOp(t, c)`
    Call(Ident, Vec<Expr>),
    /// `c ? a : b`
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `c as .u8x4`
    As(Box<Expr>, Ident),
    /// `.dtype in float`, `.type in { .f16, .bf16 }`
    In(Box<Expr>, Vec<TypeSet>),
    /// `t[0]`
    Index(Box<Expr>, Number),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Not,
}

/// Operators of expressions; each but the logical ones stands for the builtin of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    /// `||`, of conditions known per form
    LogicalOr,
    /// `&&`, of conditions known per form
    LogicalAnd,
    Or,
    Xor,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
}

impl UnaryOp {
    pub(crate) const fn builtin(self) -> &'static str {
        match self {
            UnaryOp::Not => "not",
        }
    }

    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
        }
    }
}

impl BinaryOp {
    /// The builtin an operator stands for.
    pub(crate) const fn builtin(self) -> &'static str {
        match self {
            BinaryOp::LogicalOr | BinaryOp::Or => "or",
            BinaryOp::LogicalAnd | BinaryOp::And => "and",
            BinaryOp::Xor => "xor",
            BinaryOp::Eq => "eq",
            BinaryOp::Ne => "ne",
            BinaryOp::Lt => "lt",
            BinaryOp::Le => "le",
            BinaryOp::Gt => "gt",
            BinaryOp::Ge => "ge",
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
        }
    }

    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::LogicalOr => "||",
            BinaryOp::LogicalAnd => "&&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::And => "&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
        }
    }

    /// How tightly it binds, as in C: higher binds tighter.
    pub(crate) const fn precedence(self) -> u8 {
        match self {
            BinaryOp::LogicalOr => 1,
            BinaryOp::LogicalAnd => 2,
            BinaryOp::Or => 3,
            BinaryOp::Xor => 4,
            BinaryOp::And => 5,
            BinaryOp::Eq | BinaryOp::Ne => 6,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 7,
            BinaryOp::Add | BinaryOp::Sub => 8,
        }
    }
}
