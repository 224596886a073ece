//! Traversal of expressions and statements.
//!
//! ```text
//! d = .ftz ? flush(a) : b;      children of `?:` are `.ftz`, `flush(a)` and `b`; walking it also meets `a`
//! ```

use super::ast::{Expr, ExprKind, Stmt};

impl Expr {
    /// Direct subexpressions, from left to right.
    pub(crate) fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Name(_)
            | ExprKind::Dotted(_)
            | ExprKind::Target(_)
            | ExprKind::Integer(_)
            | ExprKind::Float(_) => Vec::new(),
            ExprKind::Unary(_, inner) | ExprKind::As(inner, _) | ExprKind::In(inner, _) | ExprKind::Index(inner, _) => {
                vec![inner]
            }
            ExprKind::Binary(_, a, b) | ExprKind::Infix(_, a, b) => vec![a, b],
            ExprKind::Call(_, _, args) => args.iter().collect(),
            ExprKind::Choose(condition, a, b) => vec![condition, a, b],
        }
    }

    /// Visits this expression and all subexpressions, in pre-order.
    pub(crate) fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        self.children().into_iter().for_each(|child| child.walk(visit));
    }

    /// Returns true if the expression refers to a name.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        let mut found = false;
        self.walk(&mut |expr| found |= matches!(&expr.kind, ExprKind::Name(ident) if ident == name));
        found
    }
}

/// Visits every statement, in pre-order.
pub(crate) fn statements<'a>(list: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt)) {
    for statement in list {
        visit(statement);
        if let Stmt::If { condition: _, then, otherwise } = statement {
            statements(then, visit);
            statements(otherwise, visit);
        }
    }
}

/// Visits every expression in statements, conditions included: see [`Expr::walk`].
pub(crate) fn expressions<'a>(list: &'a [Stmt], visit: &mut dyn FnMut(&'a Expr)) {
    statements(list, &mut |statement| match statement {
        Stmt::Assign { target: _, value } => value.walk(visit),
        Stmt::Effect { call } => call.walk(visit),
        Stmt::Unspecified { target: _, condition } => condition.walk(visit),
        Stmt::If { condition, then: _, otherwise: _ } => condition.walk(visit),
    });
}
