//! Pseudo-code with modifiers filled in: what a reader sees of one form's semantics.
//!
//! What the modifiers decide is gone, operators are replaced by their meaning. This module computes nothing but text.

use std::collections::HashMap;

use crate::ast::{BinaryOp, Expr, ExprKind, Stmt, TypeSet};
use crate::choice::Scope;
use crate::model::{Entry, Meaning, SlotKind};

/// The lines of a form's semantics on its newest targets.
pub(crate) fn lines(scope: Scope<'_>, entry: &Entry) -> Vec<String> {
    let mut writer = Writer { scope, known: HashMap::new(), lines: Vec::new() };
    writer.block(entry.semantics.as_deref().unwrap_or_default());
    writer.lines
}

/// The lines of an entry's semantics as the spec has them, blanks evened.
pub(crate) fn unfilled(statements: &[Stmt]) -> Vec<String> {
    let mut lines = Vec::new();
    plain_block(statements, 0, &mut lines);
    lines
}

fn plain_block(statements: &[Stmt], depth: usize, lines: &mut Vec<String>) {
    let indent = "    ".repeat(depth);
    for statement in statements {
        match statement {
            Stmt::Assign { target, value } => lines.push(format!("{indent}{target} = {};", plain(value).0)),
            Stmt::If { condition, then, otherwise } => {
                lines.push(format!("{indent}if ({}) {{", plain(condition).0));
                plain_block(then, depth + 1, lines);
                if !otherwise.is_empty() {
                    lines.push(format!("{indent}}} else {{"));
                    plain_block(otherwise, depth + 1, lines);
                }
                lines.push(format!("{indent}}}"));
            }
        }
    }
}

/// A condition or an expression as the spec has it.
pub(crate) fn text(expr: &Expr) -> String {
    plain(expr).0
}

fn plain(expr: &Expr) -> Piece {
    let at_least = |expr: &Expr, level: u8| {
        let (text, own) = plain(expr);
        if own < level { format!("({text})") } else { text }
    };
    match &expr.kind {
        ExprKind::Name(name) => (name.to_string(), ATOM),
        ExprKind::Dotted(name) => (format!(".{name}"), ATOM),
        ExprKind::Target(target) => {
            (format!("sm_{}{}", target.sm, target.suffix.map_or(String::new(), String::from)), ATOM)
        }
        ExprKind::Integer(value) => (number(*value), ATOM),
        ExprKind::Float(value) => (format!("{value:?}"), ATOM),
        ExprKind::Unary(op, inner) => (format!("{}{}", op.symbol(), at_least(inner, ATOM)), UNARY),
        ExprKind::Binary(op, a, b) => {
            let level = op.precedence();
            (format!("{} {} {}", at_least(a, level), op.symbol(), at_least(b, level + 1)), level)
        }
        ExprKind::Infix(name, a, b) => {
            let level = BinaryOp::Eq.precedence();
            (format!("{} {name} {}", at_least(a, level), at_least(b, level + 1)), level)
        }
        ExprKind::Call(name, args) => {
            let args: Vec<String> = args.iter().map(text).collect();
            (format!("{name}({})", args.join(", ")), ATOM)
        }
        ExprKind::Choose(condition, a, b) => {
            let [c, a, b] = [&**condition, a, b].map(|expr| at_least(expr, CHOOSE + 1));
            (format!("{c} ? {a} : {b}"), CHOOSE)
        }
        ExprKind::As(inner, ty) => (format!("{} as .{ty}", at_least(inner, ATOM)), ATOM - 1),
        ExprKind::In(inner, set) => {
            let members: Vec<String> = set
                .iter()
                .map(|item| match item {
                    TypeSet::Type(name) => format!(".{name}"),
                    TypeSet::Class(name) => name.to_string(),
                })
                .collect();
            let set = match set.as_slice() {
                [TypeSet::Class(_)] => members.join(", "),
                _ => format!("{{ {} }}", members.join(", ")),
            };
            (format!("{} in {set}", at_least(inner, ATOM)), CHOOSE + 1)
        }
        ExprKind::Index(inner, index) => (format!("{}[{}]", at_least(inner, ATOM), index.value), ATOM),
    }
}

fn number(value: u64) -> String {
    if value > 9 { format!("{value:#x}") } else { value.to_string() }
}

struct Writer<'a> {
    scope: Scope<'a>,
    known: HashMap<String, bool>,
    lines: Vec<String>,
}

/// Binds tighter than any operator.
const ATOM: u8 = 10;

/// `!x`
const UNARY: u8 = BinaryOp::Add.precedence() + 1;

/// `c ? a : b` binds loosest.
const CHOOSE: u8 = 0;

/// Text and how tightly its outermost operator binds.
type Piece = (String, u8);

/// What the parameters of an operator stand for.
type Bound = HashMap<String, Piece>;

impl Writer<'_> {
    fn block(&mut self, statements: &[Stmt]) {
        for statement in statements {
            match statement {
                Stmt::Assign { target, value } => {
                    let name = target.to_string();
                    match self.decide(value) {
                        Some(known) if entry_local(self.scope, &name) => {
                            self.known.insert(name, known);
                        }
                        _ => {
                            let (text, _) = self.expr(value, &Bound::new());
                            self.lines.push(format!("{name} = {text};"));
                        }
                    }
                }
                Stmt::If { condition, then, otherwise } => {
                    self.block(if self.decide(condition) == Some(true) { then } else { otherwise });
                }
            }
        }
    }

    fn decide(&self, expr: &Expr) -> Option<bool> {
        if let ExprKind::Name(name) = &expr.kind {
            return self.known.get(&name.to_string()).copied();
        }
        self.scope.decide(expr).ok().flatten()
    }

    fn expr(&self, expr: &Expr, bound: &Bound) -> Piece {
        match &expr.kind {
            ExprKind::Name(name) => {
                let text = name.to_string();
                bound.get(&text).cloned().unwrap_or((text, ATOM))
            }
            ExprKind::Dotted(name) => (format!(".{name}"), ATOM),
            ExprKind::Target(target) => (format!("sm_{}", target.sm), ATOM),
            ExprKind::Integer(value) => (number(*value), ATOM),
            ExprKind::Float(value) => (format!("{value:?}"), ATOM),
            ExprKind::Unary(op, inner) => (format!("{}{}", op.symbol(), self.at_least(inner, bound, ATOM)), UNARY),
            ExprKind::Binary(op, a, b) => {
                let level = op.precedence();
                let (a, b) = (self.at_least(a, bound, level), self.at_least(b, bound, level + 1));
                (format!("{a} {} {b}", op.symbol()), level)
            }
            ExprKind::Infix(name, a, b) => self.operator(&name.to_string(), &[a, b], bound),
            ExprKind::Call(name, args) => {
                let text = name.to_string();
                if self.scope.operator_slot(&text).is_some() {
                    return self.operator(&text, &args.iter().collect::<Vec<_>>(), bound);
                }
                let args: Vec<String> = args.iter().map(|arg| self.expr(arg, bound).0).collect();
                (format!("{text}({})", args.join(", ")), ATOM)
            }
            ExprKind::Choose(condition, a, b) => match self.decide(condition) {
                Some(true) => self.expr(a, bound),
                Some(false) => self.expr(b, bound),
                None => {
                    let [c, a, b] = [&**condition, a, b].map(|expr| self.at_least(expr, bound, CHOOSE + 1));
                    (format!("{c} ? {a} : {b}"), CHOOSE)
                }
            },
            ExprKind::As(inner, ty) => (format!("{} as .{ty}", self.at_least(inner, bound, ATOM)), ATOM - 1),
            ExprKind::In(inner, _) => (format!("{} in …", self.at_least(inner, bound, ATOM)), CHOOSE + 1),
            ExprKind::Index(inner, index) => (format!("{}[{}]", self.at_least(inner, bound, ATOM), index.value), ATOM),
        }
    }

    /// In parentheses where it would bind too loosely.
    fn at_least(&self, expr: &Expr, bound: &Bound, level: u8) -> String {
        let (text, own) = self.expr(expr, bound);
        if own < level { format!("({text})") } else { text }
    }

    fn operator(&self, name: &str, args: &[&Expr], bound: &Bound) -> Piece {
        let (index, slot) = self.scope.operator_slot(name).expect("checked");
        let SlotKind::Operator(id) = slot.kind else { unreachable!("an operator's slot") };
        let operator = &self.scope.model.operators[id.0];
        let body = match self.scope.choice.values[index] {
            Some(member) => {
                let Meaning::Operator(member) = slot.members[member].meaning else {
                    unreachable!("a member of an operator's slot")
                };
                &operator.members[member].body
            }
            None => operator.absent.as_ref().expect("checked"),
        };
        let args = args.iter().map(|arg| self.expr(arg, bound));
        self.expr(body, &operator.params.iter().cloned().zip(args).collect())
    }
}

/// Whether a name is a local rather than an operand, so that a known value needs no line.
fn entry_local(scope: Scope<'_>, name: &str) -> bool {
    scope.opcode.entries.iter().all(|entry| entry.operands.iter().all(|operand| operand.name != name))
}
