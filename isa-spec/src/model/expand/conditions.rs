//! Named conditions.

use std::collections::HashSet;

use proc_macro2::Span;

use super::{Named, expressions};
use crate::syntax::ast::{Expr, ExprKind, Ident, Instruction, Semantics, Stmt, TypeSet};
use crate::text::{Diagnostic, Errors};

/// Maximum nesting depth of conditions that refer to each other, and maximum number of nodes of one.
const DEPTH: usize = 8;
const NODES: usize = 256;

/// Replaces references to conditions within conditions.
pub(super) fn flatten_all(named: &mut Named, errors: &mut Errors) {
    for _ in 0..DEPTH {
        let known = named.conditions.clone();
        for value in named.conditions.values_mut() {
            replace(value, &|name| known.get(name));
            let mut nodes = 0;
            value.walk(&mut |_: &Expr| nodes += 1);
            if nodes > NODES {
                let message = format!("this condition has more than {NODES} operands and operators");
                errors.push(Diagnostic::new(value.span, message));
                value.kind = ExprKind::Integer(0);
            }
        }
    }
    for (name, value) in &named.conditions {
        let mut refers = false;
        value.walk(&mut |expr: &Expr| {
            refers |= matches!(&expr.kind, ExprKind::Name(other) if named.conditions.contains_key(other.as_ref()));
        });
        if refers {
            errors.push(Diagnostic::new(value.span, format!("the condition `{name}` refers to itself")));
        }
    }
}

/// Replaces the names of conditions in an entry by their definitions; operands and destinations of assignments shadow
/// them.
pub(super) fn fill(entry: &mut Instruction, named: &Named) {
    if named.conditions.is_empty() {
        return;
    }
    let mut own: HashSet<String> = HashSet::new();
    own.extend(entry.operands.iter().flat_map(|operand| &operand.names).map(ToString::to_string));
    if let Some(Semantics::Statements(list)) = &entry.semantics {
        destinations(list, &mut own);
    }
    let value = |name: &str| named.conditions.get(name).filter(|_| !own.contains(name));
    expressions(entry, &mut |expr| replace(expr, &value));
}

/// Adds the names that statements assign to.
fn destinations(list: &[Stmt], names: &mut HashSet<String>) {
    for statement in list {
        match statement {
            Stmt::Assign { target, .. } | Stmt::Unspecified { target, .. } => drop(names.insert(target.to_string())),
            Stmt::Effect { .. } => {}
            Stmt::If { then, otherwise, .. } => {
                destinations(then, names);
                destinations(otherwise, names);
            }
        }
    }
}

/// Replaces names in an expression by the conditions that `value` finds; errors in one are reported at the name.
fn replace<'a>(expr: &mut Expr, value: &dyn Fn(&str) -> Option<&'a Expr>) {
    match &mut expr.kind {
        ExprKind::Name(name) => {
            if let Some(found) = value(name.as_ref()) {
                *expr = placed(found, expr.span);
            }
        }
        ExprKind::Unary(_, inner) | ExprKind::As(inner, _) | ExprKind::In(inner, _) | ExprKind::Index(inner, _) => {
            replace(inner, value);
        }
        ExprKind::Binary(_, a, b) | ExprKind::Infix(_, a, b) => {
            replace(a, value);
            replace(b, value);
        }
        ExprKind::Call(_, _, args) => args.iter_mut().for_each(|arg| replace(arg, value)),
        ExprKind::Choose(condition, a, b) => [condition, a, b].into_iter().for_each(|part| replace(part, value)),
        ExprKind::Dotted(_) | ExprKind::Target(_) | ExprKind::Integer(_) | ExprKind::Float(_) => {}
    }
}

/// The same expression at another place.
fn placed(expr: &Expr, span: Span) -> Expr {
    let at = |inner: &Expr| Box::new(placed(inner, span));
    let ident = |name: &Ident| Ident::new(name.to_string(), span);
    let kind = match &expr.kind {
        ExprKind::Unary(op, inner) => ExprKind::Unary(*op, at(inner)),
        ExprKind::As(inner, ty) => ExprKind::As(at(inner), ident(ty)),
        ExprKind::In(inner, set) => ExprKind::In(
            at(inner),
            set.iter()
                .map(|item| match item {
                    TypeSet::Type(name) => TypeSet::Type(ident(name)),
                    TypeSet::Class(name) => TypeSet::Class(ident(name)),
                })
                .collect(),
        ),
        ExprKind::Index(inner, index) => ExprKind::Index(at(inner), *index),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, at(a), at(b)),
        ExprKind::Infix(name, a, b) => ExprKind::Infix(ident(name), at(a), at(b)),
        ExprKind::Call(name, ty, args) => {
            let args = args.iter().map(|arg| placed(arg, span)).collect();
            ExprKind::Call(ident(name), ty.as_ref().map(ident), args)
        }
        ExprKind::Choose(condition, a, b) => ExprKind::Choose(at(condition), at(a), at(b)),
        ExprKind::Name(name) => ExprKind::Name(ident(name)),
        ExprKind::Dotted(name) => ExprKind::Dotted(ident(name)),
        ExprKind::Target(_) | ExprKind::Integer(_) | ExprKind::Float(_) => expr.kind.clone(),
    };
    Expr { span, kind }
}
