//! Unused functions.

use std::collections::HashSet;

use crate::model::{Function, Model};
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::walk;
use crate::text::{Diagnostic, Errors};

/// Reports each function selected by `judged` that no entry, operator or other function calls.
pub(crate) fn functions(model: &Model, judged: impl Fn(&Function) -> bool) -> Result<(), Errors> {
    let mut called: HashSet<String> = HashSet::new();
    let mut collect = |expr: &Expr| {
        let name: Option<&str> = match &expr.kind {
            ExprKind::Call(name, _, _) => Some(name.as_ref()),
            ExprKind::Unary(op, _) => Some(op.builtin()),
            ExprKind::Binary(op, _, _) => Some(op.builtin()),
            _ => None,
        };
        called.extend(name.map(str::to_owned));
    };
    for entry in model.opcodes.iter().flat_map(|opcode| &opcode.entries) {
        walk::expressions(&entry.effects, &mut collect);
        walk::expressions(entry.semantics.as_deref().unwrap_or_default(), &mut collect);
    }
    for operator in &model.operators {
        let bodies = operator.members.iter().filter_map(|member| member.body.as_ref()).chain(&operator.absent);
        bodies.for_each(|body| body.walk(&mut collect));
    }
    for function in &model.functions {
        function.lets.iter().map(|(_, value)| value).chain([&function.body]).for_each(|body| body.walk(&mut collect));
    }
    let mut errors = Errors::new();
    for function in model.functions.iter().filter(|function| judged(function)) {
        if !called.contains(function.signature.name.as_str()) {
            let message = format!("unused function `{}`", function.signature.name);
            errors.push(Diagnostic::new(function.span, message).help("remove it, or call it"));
        }
    }
    errors.finish(())
}
