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

/// Declares the binary operators.
macro_rules! binary_operators {
    ($($(#[$docs:meta])* $name:ident $symbol:literal $builtin:literal $precedence:literal $(truth $truth:literal)?;)*) => {
        /// Operators of expressions; all but the logical ones are shorthands of builtins.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum BinaryOp { $($(#[$docs])* $name,)* }

        impl BinaryOp {
            /// All operators; one whose symbol begins with that of another precedes it.
            pub(crate) const ALL: &[BinaryOp] = &[$(BinaryOp::$name),*];

            pub(crate) const fn symbol(self) -> &'static str {
                match self { $(BinaryOp::$name => $symbol),* }
            }

            /// Builtin that an operator calls.
            pub(crate) const fn builtin(self) -> &'static str {
                match self { $(BinaryOp::$name => $builtin),* }
            }

            /// Precedence, as in C: higher binds tighter.
            pub(crate) const fn precedence(self) -> u8 {
                match self { $(BinaryOp::$name => $precedence),* }
            }
        }

        /// Truth table of the builtin of an operator on predicates, and its number of operands.
        pub(crate) fn truth_table(builtin: &str) -> Option<(u8, usize)> {
            match builtin {
                "not" => Some((0b01, 1)),
                $($($builtin => Some(($truth, 2)),)?)*
                _ => None,
            }
        }
    };
}

// Symbol, builtin, precedence; bit `b << 1 | a` of a truth table is the outcome for operands `a` and `b`.
binary_operators! {
    /// On conditions known per form.
    LogicalOr "||" "or" 1;
    /// On conditions known per form.
    LogicalAnd "&&" "and" 2;
    Eq "==" "eq" 6;
    Ne "!=" "ne" 6;
    Shl "<<" "shl" 8;
    Shr ">>" "shr" 8;
    Le "<=" "le" 7;
    Ge ">=" "ge" 7;
    Lt "<" "lt" 7;
    Gt ">" "gt" 7;
    Or "|" "or" 3 truth 0b1110;
    Xor "^" "xor" 4 truth 0b0110;
    And "&" "and" 5 truth 0b1000;
    Add "+" "add" 9;
    Sub "-" "sub" 9;
    Mul "*" "mul" 10;
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
