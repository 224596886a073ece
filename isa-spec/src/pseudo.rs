//! Renders pseudo-code as text: as the spec has it, or with a form's modifiers substituted.
//!
//! Substitution removes the conditions that modifiers decide and replaces operators by their definitions.
//! computes nothing but text.
//!
//! ```text
//! t = .ftz ? flush(a) CmpOp flush(b) : a CmpOp b;        as the spec has it
//! t = a < b;                                             filled in, for `setp.lt.s32`
//! ```

use std::collections::HashMap;

use crate::model::choice::Scope;
use crate::model::{Entry, Meaning, Pattern, SlotKind};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Stmt, TypeSet};
use crate::text::Diagnostic;

/// Lines of a form's semantics on its newest targets.
pub(crate) fn lines(scope: Scope<'_>, entry: &Entry, patterns: &[Pattern]) -> Vec<String> {
    let names = patterns.iter().map(|pattern| entry.operands[pattern.operand].name.clone()).collect();
    let mut writer = Writer { scope: Some(scope), operands: names, known: HashMap::new(), lines: Vec::new() };
    // A state is shown under its own name.
    let states = patterns.iter().filter(|pattern| entry.operands[pattern.operand].state.is_some());
    let shown = |pattern: &Pattern| (entry.shown(scope.model, pattern).to_owned(), ATOM);
    let states = states.map(|pattern| (entry.operands[pattern.operand].name.clone(), shown(pattern))).collect();
    writer.filled(&entry.effects, &states);
    writer.filled(entry.semantics.as_deref().unwrap_or_default(), &states);
    writer.lines
}

/// Lines of an entry's semantics as the spec has them, with normalized spacing.
pub(crate) fn unfilled(statements: &[Stmt]) -> Vec<String> {
    let mut writer = Writer { scope: None, operands: Vec::new(), known: HashMap::new(), lines: Vec::new() };
    writer.plain(statements, 0);
    writer.lines
}

/// A condition or an expression as the spec has it.
pub(crate) fn text(expr: &Expr) -> String {
    let writer = Writer { scope: None, operands: Vec::new(), known: HashMap::new(), lines: Vec::new() };
    writer.expr(expr, &Bound::new()).0
}

struct Writer<'a> {
    /// Values of modifiers; `None` to keep them symbolic.
    scope: Option<Scope<'a>>,
    /// Operands of the form's line.
    operands: Vec<String>,
    known: HashMap<String, bool>,
    lines: Vec<String>,
}

/// Precedence above every operator.
const ATOM: u8 = 12;

/// Precedence of `!x`.
const UNARY: u8 = BinaryOp::Mul.precedence() + 1;

/// Lowest precedence: `c ? a : b`.
const CHOOSE: u8 = 0;

/// Text and the precedence of its outermost operator.
type Piece = (String, u8);

/// Arguments bound to the parameters of an operator.
type Bound = HashMap<String, Piece>;

fn number(value: i128) -> String {
    match value {
        10.. => format!("{value:#x}"),
        _ => value.to_string(),
    }
}

impl<'a> Writer<'a> {
    fn plain(&mut self, statements: &[Stmt], depth: usize) {
        let indent = "    ".repeat(depth);
        for statement in statements {
            match statement {
                Stmt::Assign { target, value } => {
                    let text = self.expr(value, &Bound::new()).0;
                    self.lines.push(format!("{indent}{target} = {text};"));
                }
                Stmt::Effect { call } => {
                    let text = self.expr(call, &Bound::new()).0;
                    self.lines.push(format!("{indent}{text};"));
                }
                Stmt::Unspecified { target, condition } => {
                    let text = self.expr(condition, &Bound::new()).0;
                    self.lines.push(format!("{indent}{target} = unspecified where {text};"));
                }
                Stmt::If { condition, then, otherwise } => {
                    let text = self.expr(condition, &Bound::new()).0;
                    self.lines.push(format!("{indent}if ({text}) {{"));
                    self.plain(then, depth + 1);
                    if !otherwise.is_empty() {
                        self.lines.push(format!("{indent}}} else {{"));
                        self.plain(otherwise, depth + 1);
                    }
                    self.lines.push(format!("{indent}}}"));
                }
            }
        }
    }

    fn filled(&mut self, statements: &[Stmt], states: &Bound) {
        for statement in statements {
            match statement {
                Stmt::Assign { target, value } => {
                    let name = target.to_string();
                    match self.decide(value) {
                        Some(known) if self.is_local(&name) => {
                            self.known.insert(name, known);
                        }
                        _ => {
                            let (text, _) = self.expr(value, states);
                            let name = states.get(&name).map_or(&name, |(state, _)| state);
                            self.lines.push(format!("{name} = {text};"));
                        }
                    }
                }
                Stmt::Effect { call } => {
                    let text = self.expr(call, states).0;
                    self.lines.push(format!("{text};"));
                }
                Stmt::Unspecified { target, condition } => {
                    let text = self.expr(condition, states).0;
                    self.lines.push(format!("{target} = unspecified where {text};"));
                }
                Stmt::If { condition, then, otherwise } => {
                    self.filled(if self.decide(condition) == Some(true) { then } else { otherwise }, states);
                }
            }
        }
    }

    /// Returns true if a name is a local: a local with a known value needs no line.
    fn is_local(&self, name: &str) -> bool {
        let entries = self.scope.iter().flat_map(|scope| &scope.opcode.entries);
        entries.flat_map(|entry| &entry.operands).all(|operand| operand.name != name)
    }

    fn decide(&self, expr: &Expr) -> Option<bool> {
        let scope = self.scope?;
        let given = |expr: &Expr| match &expr.kind {
            ExprKind::Name(name) => Some(Ok(Some(*self.known.get(&name.to_string())?))),
            ExprKind::Dotted(name) if scope.slot(name.as_ref()).is_none() => {
                let mut operands = scope.opcode.entries.iter().flat_map(|entry| &entry.operands);
                let operand = operands.any(|operand| name == &operand.name);
                // Presence of an optional selector: the line with all operands is shown.
                Some(Ok(Some(!operand || self.operands.iter().any(|other| name == other))))
            }
            _ => None,
        };
        scope.decide_given::<Diagnostic>(expr, &given).ok().flatten()
    }

    fn expr(&self, expr: &Expr, bound: &Bound) -> Piece {
        match &expr.kind {
            ExprKind::Name(name) => {
                let text = name.to_string();
                bound.get(&text).cloned().unwrap_or((text, ATOM))
            }
            ExprKind::Dotted(name) => (format!(".{name}"), ATOM),
            ExprKind::Target(target) => (target.value.to_string(), ATOM),
            ExprKind::Integer(value) => (number(*value), if *value < 0 { UNARY } else { ATOM }),
            ExprKind::Float(value) => (format!("{value:?}"), if value.is_sign_negative() { UNARY } else { ATOM }),
            ExprKind::Unary(op, inner) => (format!("{}{}", op.symbol(), self.at_least(inner, bound, ATOM)), UNARY),
            ExprKind::Binary(op, a, b) => {
                let level = op.precedence();
                let (a, b) = (self.at_least(a, bound, level), self.at_least(b, bound, level + 1));
                (format!("{a} {} {b}", op.symbol()), level)
            }
            ExprKind::Infix(name, a, b) => self.operator(name.as_ref(), &[a, b], bound).unwrap_or_else(|| {
                let level = BinaryOp::Eq.precedence();
                (format!("{} {name} {}", self.at_least(a, bound, level), self.at_least(b, bound, level + 1)), level)
            }),
            ExprKind::Call(name, ty, args) => {
                let text = name.to_string();
                self.operator(&text, &args.iter().collect::<Vec<_>>(), bound).unwrap_or_else(|| {
                    let args: Vec<String> = args.iter().map(|arg| self.expr(arg, bound).0).collect();
                    let ty = ty.as_ref().map_or_else(String::new, |ty| format!(".{ty}"));
                    (format!("{text}{ty}({})", args.join(", ")), ATOM)
                })
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
                (format!("{} in {set}", self.at_least(inner, bound, ATOM)), CHOOSE + 1)
            }
            ExprKind::Index(inner, index) => (format!("{}[{}]", self.at_least(inner, bound, ATOM), index.value), ATOM),
        }
    }

    /// Adds parentheses if the precedence is below `level`.
    fn at_least(&self, expr: &Expr, bound: &Bound, level: u8) -> String {
        let (text, own) = self.expr(expr, bound);
        if own < level { format!("({text})") } else { text }
    }

    /// Definition of the operator that a modifier selects, if modifiers are substituted and the name is an operator.
    fn operator(&self, name: &str, args: &[&Expr], bound: &Bound) -> Option<Piece> {
        let scope = self.scope?;
        let (index, slot) = scope.operator_slot(name)?;
        let SlotKind::Operator(id) = slot.kind else { unreachable!("an operator's slot") };
        let operator = &scope.model.operators[id.0];
        let body = match scope.choice.values[index] {
            Some(member) => {
                let Meaning::Operator(member) = slot.members[member].meaning else {
                    unreachable!("a member of an operator's slot")
                };
                operator.members[member].body.as_ref()?
            }
            None => operator.absent.as_ref().expect("checked"),
        };
        let args = args.iter().map(|arg| self.expr(arg, bound));
        Some(self.expr(body, &operator.params.iter().cloned().zip(args).collect()))
    }
}
