//! Statements and expressions of semantics and conditions.

use proc_macro2::Span;

use super::*;

/// A statement of semantics.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    /// `t = a CmpOp b;`
    Assign { target: Ident, value: Expr },
    /// `d = unspecified where b == 0;`
    Unspecified { target: Ident, condition: Expr },
    /// `write(a, b);`
    Effect { call: Expr },
    /// `if (.add) { … } else { … }`
    If { condition: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt> },
}

/// An expression of semantics, or a condition of `legal`, `requires` and `where`.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// An operand, a selector, a local or `target`.
    Name(Ident),
    /// `.ftz`, `.stype`, `.f32`
    Dotted(Ident),
    /// `sm_20`
    Target(Target),
    /// From `-0x8000_0000_0000_0000` to `0xffff_ffff_ffff_ffff`.
    Integer(i128),
    Float(f64),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a CmpOp b`
    Infix(Ident, Box<Expr>, Box<Expr>),
    /// `flush(a)`, `BoolOp(t, c)`, `convert.s32(a)`
    Call(Ident, Option<Ident>, Vec<Expr>),
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
    Complement,
    Neg,
}

/// Operators of expressions; all but the logical ones are shorthands of builtins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    /// `||`, on conditions known per form
    LogicalOr,
    /// `&&`, on conditions known per form
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
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
}

impl UnaryOp {
    pub(crate) const fn builtin(self) -> &'static str {
        match self {
            UnaryOp::Not | UnaryOp::Complement => "not",
            UnaryOp::Neg => "neg",
        }
    }

    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
            UnaryOp::Complement => "~",
            UnaryOp::Neg => "-",
        }
    }
}

impl BinaryOp {
    /// Builtin that an operator calls.
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
            BinaryOp::Shl => "shl",
            BinaryOp::Shr => "shr",
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
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
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
        }
    }

    /// Precedence, as in C: higher binds tighter.
    pub(crate) const fn precedence(self) -> u8 {
        match self {
            BinaryOp::LogicalOr => 1,
            BinaryOp::LogicalAnd => 2,
            BinaryOp::Or => 3,
            BinaryOp::Xor => 4,
            BinaryOp::And => 5,
            BinaryOp::Eq | BinaryOp::Ne => 6,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 7,
            BinaryOp::Shl | BinaryOp::Shr => 8,
            BinaryOp::Add | BinaryOp::Sub => 9,
            BinaryOp::Mul => 10,
        }
    }
}
