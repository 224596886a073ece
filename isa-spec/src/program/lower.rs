//! Lowering of semantics: for one choice of modifiers and one range of targets, the pseudo-code is type-checked and
//! converted to a [`Program`].
//!
//! Conditions on modifiers are folded. A choice of modifiers is illegal here only if an operator is applied to a type
//! outside its domain.

mod call;
mod literal;

use std::collections::{HashMap, HashSet};

use proc_macro2::Span;

use super::{Op, Program, Ty, ValueId};
use crate::model::choice::Scope;
use crate::model::{Entry, Kind, Model, OperandType, OperatorId, Pattern, Permission, SelectorKind, TypeCase, TypeId};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Ident, Stmt};
use crate::syntax::walk;
use crate::text::{Diagnostic, Errors};
use call::Given;
use literal::is_number;

/// Reason why a choice of modifiers has no program.
#[derive(Debug)]
pub(crate) enum LowerError {
    /// An operator's member does not support the type: the choice is illegal.
    Domain(DomainError),
    /// Error in the spec.
    Spec(Box<Diagnostic>),
    /// Errors in several statements of the spec.
    Mistakes(Errors),
    /// A dependency failed to lower, which is reported elsewhere.
    Broken,
}

/// The member of an operator, and the slot that chose the unsupported type, if one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DomainError {
    pub slot: usize,
    pub member: usize,
    pub type_slot: Option<usize>,
}

impl From<Diagnostic> for LowerError {
    fn from(diagnostic: Diagnostic) -> LowerError {
        LowerError::Spec(Box::new(diagnostic))
    }
}

type Result<T> = std::result::Result<T, LowerError>;

/// A value, and the slot that chose its type, if one did.
#[derive(Clone, Copy, Debug)]
struct Typed {
    id: ValueId,
    slot: Option<usize>,
}

/// Meaning of a name in semantics.
#[derive(Clone, Copy, Debug)]
enum Local {
    Value(Typed),
    /// A condition that modifiers and target decide.
    Known(bool),
    /// A word from a list.
    Word(OperatorId, usize),
    /// Its statement has an error.
    Broken,
}

/// Result of lowering.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub program: Program,
    /// Program that computes for each destination whether its value is unspecified; `None` if all are specified.
    pub unspecified: Option<Program>,
}

/// Lowers semantics for the operands of one syntax line, or for those that remain if optional ones are omitted.
///
/// `whole` is true if all operands of the line are written.
pub(crate) fn lower(
    scope: Scope<'_>,
    entry: &Entry,
    semantics: &[Stmt],
    patterns: &[Pattern],
    whole: bool,
) -> Result<Lowered> {
    let mut lowering = Lowering {
        scope,
        entry,
        patterns,
        whole,
        program: Program { values: Vec::new(), outputs: Vec::new(), steps: Vec::new() },
        locals: HashMap::new(),
        types: HashMap::new(),
        calls: 0,
        outputs: HashMap::new(),
        unspecified: HashMap::new(),
        errors: Errors::new(),
    };
    lowering.block(semantics)?;
    lowering.finish()
}

/// Name of an update's old value.
const OLD: &str = "old";

/// Lowers the new value of an update, or the result of an inspection if it has a type of its own; the old value is an
/// additional source, and behind it the value of the same type that the effect provides under a name.
pub(crate) fn lower_change(
    scope: Scope<'_>,
    entry: &Entry,
    patterns: &[Pattern],
    (ty, result): (&Ident, Option<TypeId>),
    provided: Option<&str>,
    value: &Expr,
) -> Result<Program> {
    let mut lowering = Lowering {
        scope,
        entry,
        patterns,
        whole: true,
        program: Program { values: Vec::new(), outputs: Vec::new(), steps: Vec::new() },
        locals: HashMap::new(),
        types: HashMap::new(),
        calls: 0,
        outputs: HashMap::new(),
        unspecified: HashMap::new(),
        errors: Errors::new(),
    };
    let ty = lowering.type_named(ty).map(|ty| lowering.ty_of(ty))?;
    let slot = None;
    let old = lowering.push(Op::Source(patterns.len()), ty, slot);
    lowering.locals.insert(OLD.to_owned(), Local::Value(old));
    if let Some(name) = provided {
        let value = lowering.push(Op::Source(patterns.len() + 1), ty, slot);
        lowering.locals.insert(name.to_owned(), Local::Value(value));
    }
    let expected = result.map_or(ty, |result| lowering.ty_of(result));
    let new = lowering.expr(value, Some(expected))?;
    if lowering.ty(new) != expected {
        let (expected, found) = (lowering.describe(expected), lowering.describe(lowering.ty(new)));
        return Err(Diagnostic::new(value.span, format!("{expected} is expected, this is {found}")).into());
    }
    lowering.errors.finish(()).map_err(LowerError::Mistakes)?;
    lowering.program.outputs.push(new.id);
    lowering.program.prune();
    Ok(lowering.program)
}

struct Lowering<'a> {
    scope: Scope<'a>,
    entry: &'a Entry,
    patterns: &'a [Pattern],
    /// True if all operands of the line are written.
    whole: bool,
    program: Program,
    locals: HashMap<String, Local>,
    /// Type parameters of the function whose body is being lowered.
    types: HashMap<String, TypeId>,
    /// Depth of function bodies being lowered.
    calls: usize,
    /// Values of destinations, by index of the operand; `None` if the statement has an error.
    outputs: HashMap<usize, Option<ValueId>>,
    /// For destinations, by index of the operand, the predicate that the value is unspecified.
    unspecified: HashMap<usize, ValueId>,
    /// An error ends its statement; the others are still checked.
    errors: Errors,
}

impl<'a> Lowering<'a> {
    fn model(&self) -> &'a Model {
        self.scope.model
    }

    fn finish(mut self) -> Result<Lowered> {
        let (mut outputs, mut operands) = (Vec::new(), Vec::new());
        for pattern in self.patterns.iter().filter(|pattern| pattern.destination) {
            for operand in std::iter::once(pattern.operand).chain(pattern.second.as_ref().map(|(second, _)| *second)) {
                operands.push(operand);
                match self.outputs.get(&operand) {
                    Some(value) => outputs.extend(value),
                    None => {
                        let operand = &self.entry.operands[operand];
                        let message = format!("semantics leave `{}` without a value", operand.name);
                        self.errors.push(Diagnostic::new(operand.span, message));
                    }
                }
            }
        }
        let unspecified = self.doubts(&operands);
        self.errors.finish(()).map_err(LowerError::Mistakes)?;
        self.program.outputs = outputs;
        self.program.prune();
        Ok(Lowered { program: self.program, unspecified })
    }

    /// Program that computes for each destination whether its value is unspecified; `None` if all are specified.
    fn doubts(&self, destinations: &[usize]) -> Option<Program> {
        let predicate = self.program.value(*self.unspecified.values().next()?).ty;
        let mut program = Program { steps: Vec::new(), ..self.program.clone() };
        let doubt = |operand| match self.unspecified.get(operand) {
            Some(holds) => *holds,
            None => program.push(Op::Constant(0), predicate),
        };
        program.outputs = destinations.iter().map(doubt).collect();
        program.prune();
        Some(program)
    }

    fn block(&mut self, statements: &[Stmt]) -> Result<()> {
        for statement in statements {
            let done = match statement {
                Stmt::Assign { target, value } => self.assign(target.as_ref(), target.span(), value),
                Stmt::Unspecified { target, condition } => self.unspecified(target, condition),
                Stmt::Effect { .. } => Ok(()),
                Stmt::If { condition, then, otherwise } => match self.known(condition) {
                    Ok(holds) => self.block(if holds { then } else { otherwise }),
                    Err(error) => Err(error),
                },
            };
            match done {
                Ok(()) => continue,
                Err(LowerError::Spec(diagnostic)) => self.errors.push(*diagnostic),
                Err(LowerError::Broken) => {}
                Err(error @ (LowerError::Domain(_) | LowerError::Mistakes(_))) => return Err(error),
            }
            self.give_up(statement);
        }
        Ok(())
    }

    /// Marks the target of a failed statement, so that its uses are not reported.
    fn give_up(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign { target, .. } => {
                let name = target.to_string();
                match self.entry.operands.iter().position(|operand| operand.name == name) {
                    Some(operand) => drop(self.outputs.entry(operand).or_insert(None)),
                    None => drop(self.locals.entry(name).or_insert(Local::Broken)),
                }
            }
            Stmt::Unspecified { .. } | Stmt::Effect { .. } => {}
            Stmt::If { then, otherwise, .. } => then.iter().chain(otherwise).for_each(|inner| self.give_up(inner)),
        }
    }

    fn known(&self, condition: &Expr) -> Result<bool> {
        self.decide(condition)?.ok_or_else(|| {
            Diagnostic::new(condition.span, "modifiers alone do not decide this condition")
                .help("`if` is for modifiers; for predicates write `c ? a : b`")
                .into()
        })
    }

    /// Decides a condition on modifiers, targets and locals with known values.
    fn decide(&self, expr: &Expr) -> Result<Option<bool>> {
        self.scope.decide_given(expr, &|expr| self.given(expr).transpose().map(|known| known.map(Some)))
    }

    /// Decides part of a condition from locals and from the presence of operands.
    fn given(&self, expr: &Expr) -> Result<Option<bool>> {
        match &expr.kind {
            ExprKind::Name(name) => match self.locals.get(&name.to_string()) {
                Some(Local::Known(value)) => Ok(Some(*value)),
                Some(Local::Broken) => Err(LowerError::Broken),
                _ => Ok(None),
            },
            ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) => {
                let (ExprKind::Name(name), ExprKind::Dotted(word)) = (&a.kind, &b.kind) else { return Ok(None) };
                let Some(Local::Word(words, member)) = self.locals.get(&name.to_string()) else { return Ok(None) };
                Ok(Some((self.member(*words, word)? == *member) == (*op == BinaryOp::Eq)))
            }
            ExprKind::Dotted(name) if self.scope.slot(name.as_ref()).is_none() => {
                let written = self.entry.is_written(name.as_ref(), self.patterns);
                Ok(written.or_else(|| self.selector_is_written(name.as_ref())))
            }
            _ => Ok(None),
        }
    }

    /// Index of a word in its list.
    fn member(&self, words: OperatorId, word: &Ident) -> Result<usize> {
        let words = &self.model().operators[words.0];
        let text = word.to_string();
        words.members.iter().position(|member| member.name == text).ok_or_else(|| {
            Diagnostic::new(word.span(), format!("`.{text}` is not a member of `{}`", words.name))
                .suggest(&text, words.members.iter().map(|member| member.name.as_str()))
                .into()
        })
    }

    /// Returns whether a selector of the entry may be written with one of these operands; `None` if the entry has no
    /// such selector.
    fn selector_is_written(&self, name: &str) -> Option<bool> {
        let of = |patterns: &[Pattern]| {
            let selectors = patterns.iter().filter_map(|pattern| pattern.selector.as_ref());
            selectors.map(|selector| &selector.spelling).find(|spelling| spelling.name == name).cloned()
        };
        self.entry.syntaxes.iter().find_map(|syntax| of(&syntax.patterns))?;
        // A mandatory selector requires all operands.
        Some(of(self.patterns).is_some_and(|spelling| self.whole || spelling.omission == Permission::Yes))
    }

    fn assign(&mut self, target: &str, span: Span, value: &Expr) -> Result<()> {
        let operand = self.entry.operands.iter().position(|operand| operand.name == target);
        let Some(operand) = operand else {
            if self.locals.contains_key(target) {
                return Err(Diagnostic::new(span, format!("`{target}` has a value already")).into());
            }
            let local = match self.decide(value)? {
                Some(known) => Local::Known(known),
                None => {
                    let value = self.expr(value, None)?;
                    self.program.steps.push(Some(value.id));
                    Local::Value(value)
                }
            };
            self.locals.insert(target.to_owned(), local);
            return Ok(());
        };
        let written = self.patterns.iter().any(|pattern| {
            pattern.operand == operand || pattern.second.as_ref().is_some_and(|(second, _)| *second == operand)
        });
        if !written {
            return Err(Diagnostic::new(span, format!("this syntax line has no operand `{target}`")).into());
        }
        let ty = self.operand_ty(operand)?;
        let found = self.expr(value, Some(ty))?;
        let found_ty = self.ty(found);
        if found_ty != ty {
            let message = format!("`{target}` is {}, this is {}", self.describe(ty), self.describe(found_ty));
            let diagnostic = Diagnostic::new(value.span, message);
            let same_bits = self.bits(ty).is_some() && self.bits(ty) == self.bits(found_ty);
            return Err(match same_bits {
                true => diagnostic.help("write `as` and a type to reinterpret the bits"),
                false => diagnostic,
            }
            .into());
        }
        self.program.steps.push(Some(found.id));
        if self.outputs.insert(operand, Some(found.id)).is_some() {
            return Err(Diagnostic::new(span, format!("`{target}` has a value already")).into());
        }
        Ok(())
    }

    /// `d = unspecified where b == 0;`: `d` keeps its value, but any other is equally valid.
    fn unspecified(&mut self, target: &Ident, condition: &Expr) -> Result<()> {
        let operand = self.entry.operands.iter().position(|operand| target == &operand.name);
        let Some(operand) = operand.filter(|operand| self.outputs.contains_key(operand)) else {
            let message = format!("`{target}` must be a destination that has been assigned");
            return Err(Diagnostic::new(target.span(), message)
                .help("first assign the value that evaluators return")
                .into());
        };
        let holds = self.expr(condition, None)?;
        let ty = self.ty(holds);
        if !ty.is_predicate(self.model()) || ty.lanes() != 1 {
            let message = format!("this is {}, and a condition is one truth value", self.describe(ty));
            return Err(Diagnostic::new(condition.span, message).into());
        }
        self.program.steps.push(Some(holds.id));
        if self.unspecified.insert(operand, holds.id).is_some() {
            let message = format!("duplicate `unspecified` condition of `{target}`");
            return Err(Diagnostic::new(target.span(), message).help("join the conditions with `|`").into());
        }
        Ok(())
    }

    fn operand_slot(&self, operand: usize) -> Option<usize> {
        match self.entry.operands[operand].cases.as_slice() {
            [TypeCase { ty: OperandType::Slot(slot), .. }] => Some(*slot),
            _ => None,
        }
    }

    fn operand_id(&self, operand: usize) -> Result<TypeId> {
        let operand = &self.entry.operands[operand];
        self.scope.opcode.operand_type(self.scope.model, operand, self.scope.choice).ok_or_else(|| {
            Diagnostic::new(operand.span, format!("a syntax line leaves the type of `{}` open", operand.name)).into()
        })
    }

    fn operand_ty(&self, operand: usize) -> Result<Ty> {
        Ok(self.ty_of(self.operand_id(operand)?))
    }

    /// Type that a dotted name denotes: a function's type parameter, a modifier's type, a type, or that of an operand.
    fn type_named(&self, name: &Ident) -> Result<TypeId> {
        let text = name.to_string();
        if let Some(ty) = self.types.get(&text) {
            return Ok(*ty);
        }
        let chosen = self.scope.slot(&text).and_then(|slot| self.scope.choice.ty(self.scope.opcode, slot));
        if let Some(ty) = chosen.or_else(|| self.model().type_named(&text)) {
            return Ok(ty);
        }
        if let Some(operand) = self.entry.operands.iter().position(|operand| operand.name == text) {
            return self.operand_id(operand);
        }
        Err(Diagnostic::new(name.span(), format!("unknown type `.{name}`"))
            .suggest(&text, self.model().types.iter().map(|ty| ty.name.as_str()))
            .into())
    }

    fn ty_of(&self, id: TypeId) -> Ty {
        let ty = self.model().ty(id);
        Ty::Lanes { lane: ty.lane, lanes: ty.lanes }
    }

    fn ty(&self, value: Typed) -> Ty {
        self.program.value(value.id).ty
    }

    fn describe(&self, ty: Ty) -> String {
        match ty {
            Ty::Lanes { lane, lanes: 1 } => format!("`.{}`", self.model().ty(lane).name),
            Ty::Lanes { lane, lanes } => format!("{lanes} lanes of `.{}`", self.model().ty(lane).name),
            Ty::Pick(pick) => match pick.words {
                Some(words) => format!("one of `.{}`", self.model().words[words].join("`, `.")),
                None => format!("a selector of {} lanes of {}", pick.lanes, pick.of),
            },
        }
    }

    fn push(&mut self, op: Op, ty: Ty, slot: Option<usize>) -> Typed {
        Typed { id: self.program.push(op, ty), slot }
    }

    fn expr(&mut self, expr: &Expr, expected: Option<Ty>) -> Result<Typed> {
        match &expr.kind {
            ExprKind::Name(name) => self.name(name.as_ref(), expr.span),
            ExprKind::Integer(value) => self.integer(*value, expr.span, expected),
            ExprKind::Float(value) => self.float(*value, expr.span, expected),
            ExprKind::Unary(op, inner) => {
                let value = self.expr(inner, expected)?;
                self.call(op.builtin(), expr.span, &[value], &Given::default())
            }
            ExprKind::Binary(op, a, b) => {
                let args = self.arguments(op.builtin(), &[a, b])?;
                self.call(op.builtin(), expr.span, &args, &Given::default())
            }
            ExprKind::Infix(name, a, b) => self.operator(name.as_ref(), name.span(), &[a, b]),
            ExprKind::Call(name, to, args) => {
                let text = name.to_string();
                let mut args: Vec<&Expr> = args.iter().collect();
                if self.scope.operator_slot(&text).is_some() {
                    return self.operator(&text, name.span(), &args);
                }
                self.callable(&text, name.span())?;
                let mut given = Given::default();
                if let Some(to) = to {
                    given.to = Some(self.type_named(to)?);
                }
                while let Some(word) = args.last().and_then(|last| self.word(last).transpose()) {
                    given.words.insert(0, word?);
                    args.pop();
                }
                let args = self.arguments(&text, &args)?;
                self.call(&text, name.span(), &args, &given)
            }
            ExprKind::Choose(condition, a, b) => match self.decide(condition)? {
                Some(true) => self.expr(a, expected),
                Some(false) => self.expr(b, expected),
                None => self.select(condition, a, b, expected),
            },
            ExprKind::As(inner, ty) => self.reinterpret(inner, ty),
            ExprKind::Index(inner, index) => {
                let value = self.expr(inner, None)?;
                match self.ty(value) {
                    Ty::Lanes { lane, lanes } if index.value < lanes => {
                        let ty = Ty::Lanes { lane, lanes: 1 };
                        Ok(self.push(Op::Lane(value.id, index.value), ty, None))
                    }
                    ty => Err(Diagnostic::new(
                        index.span,
                        format!("lane {} is out of range for {}", index.value, self.describe(ty)),
                    )
                    .into()),
                }
            }
            ExprKind::Dotted(_) | ExprKind::Target(_) | ExprKind::In(..) => {
                Err(Diagnostic::new(expr.span, "modifiers and targets are not values; use them in conditions").into())
            }
        }
    }

    fn name(&mut self, name: &str, span: Span) -> Result<Typed> {
        match self.locals.get(name) {
            Some(Local::Value(value)) => return Ok(*value),
            Some(Local::Word(..)) => {
                return Err(Diagnostic::new(span, format!("`{name}` is a word, not a value")).into());
            }
            Some(Local::Known(_)) => {
                return Err(Diagnostic::new(span, format!("`{name}` is a condition, not a value")).into());
            }
            Some(Local::Broken) => return Err(LowerError::Broken),
            None if self.calls > 0 => {
                return Err(Diagnostic::new(span, format!("unknown name `{name}`"))
                    .label("no parameter of the function")
                    .suggest(name, self.locals.keys().map(String::as_str))
                    .into());
            }
            None => {}
        }
        if let Some(place) = self.patterns.iter().position(|pattern| self.entry.operands[pattern.operand].name == name)
        {
            let pattern = &self.patterns[place];
            if pattern.destination {
                return Err(Diagnostic::new(span, format!("`{name}` is a destination and has no value before")).into());
            }
            let (ty, slot) = (self.operand_ty(pattern.operand)?, self.operand_slot(pattern.operand));
            return Ok(self.push(Op::Source(place), ty, slot));
        }
        let selector = self.patterns.iter().enumerate().find_map(|(place, pattern)| {
            pattern
                .selector
                .as_ref()
                .filter(|selector| selector.spelling.name == name)
                .map(|selector| (place, selector))
        });
        if let Some((place, selector)) = selector {
            let ty = match (selector.pick, &selector.spelling.kind) {
                (Some(pick), _) => Ty::Pick(pick),
                (None, SelectorKind::Subset { of }) => Ty::Lanes { lane: self.predicate(span)?, lanes: u32::from(*of) },
                (None, SelectorKind::Lanes { .. } | SelectorKind::Listed { .. }) => return Err(LowerError::Broken),
            };
            return Ok(self.push(Op::Selector(place), ty, None));
        }
        if let Some((own, ty, _)) = self.model().own.iter().find(|(own, ..)| own.name() == name) {
            return Ok(self.push(Op::Own(*own), self.ty_of(*ty), None));
        }
        let operands = self.patterns.iter().map(|pattern| self.entry.operands[pattern.operand].name.as_str());
        let selectors = self.patterns.iter().filter_map(|pattern| pattern.selector.as_ref());
        let names =
            operands.chain(self.locals.keys().map(String::as_str)).chain(selectors.map(|s| s.spelling.name.as_str()));
        Err(Diagnostic::new(span, format!("unknown name `{name}`"))
            .label("no operand of this syntax line, no selector and no earlier value")
            .suggest(name, names)
            .into())
    }

    fn predicate(&self, span: Span) -> Result<TypeId> {
        self.model().predicate().ok_or_else(|| Diagnostic::new(span, "the prelude has no predicate type").into())
    }

    /// Two operands of one type; a literal takes the type of the other operand.
    fn pair(&mut self, a: &Expr, b: &Expr, expected: Option<Ty>) -> Result<(Typed, Typed)> {
        if is_number(a) && !is_number(b) {
            let b = self.expr(b, expected)?;
            let a = self.expr(a, Some(self.ty(b)))?;
            Ok((a, b))
        } else {
            let a = self.expr(a, expected)?;
            let b = self.expr(b, Some(self.ty(a)))?;
            Ok((a, b))
        }
    }

    fn select(&mut self, condition: &Expr, a: &Expr, b: &Expr, expected: Option<Ty>) -> Result<Typed> {
        let predicate = self.expr(condition, None)?;
        let lanes = match self.ty(predicate) {
            Ty::Lanes { lane, lanes } if self.model().ty(lane).kind == Kind::Predicate => lanes,
            ty => {
                return Err(Diagnostic::new(
                    condition.span,
                    format!("a condition is a predicate, this is {}", self.describe(ty)),
                )
                .help("a comparison gives one, as `a != 0` does")
                .into());
            }
        };
        let (a_span, b_span) = (a.span, b.span);
        let (a, b) = self.pair(a, b, expected)?;
        let (ty, other) = (self.ty(a), self.ty(b));
        let fits = matches!(ty, Ty::Lanes { lanes: found, .. } if lanes == 1 || found == lanes);
        let (ty_text, other_text) = (self.describe(ty), self.describe(other));
        if ty != other {
            let message = format!("a choice is between values of one type: {ty_text} or {other_text}");
            return Err(Diagnostic::new(b_span, message).also(a_span, "the other one").into());
        }
        if !fits {
            let predicate = self.describe(self.ty(predicate));
            let message = format!("{predicate} cannot choose between {ty_text} and {other_text}");
            return Err(Diagnostic::new(condition.span, message).into());
        }
        let slot = a.slot.filter(|_| a.slot == b.slot);
        Ok(self.push(Op::Select(predicate.id, a.id, b.id), ty, slot))
    }

    fn reinterpret(&mut self, inner: &Expr, name: &Ident) -> Result<Typed> {
        let id = self.type_named(name)?;
        let wanted = self.ty_of(id);
        let value = self.expr(inner, Some(wanted))?;
        let found = self.ty(value);
        if found == wanted {
            return Ok(value);
        }
        if self.bits(found).is_none() || self.bits(found) != self.bits(wanted) {
            return Err(Diagnostic::new(
                inner.span,
                format!("{} cannot be read as {}: the widths differ", self.describe(found), self.describe(wanted)),
            )
            .into());
        }
        Ok(self.push(Op::Reinterpret(value.id), wanted, None))
    }

    /// Width of a value in a register; `None` for predicates and selectors.
    fn bits(&self, ty: Ty) -> Option<u32> {
        match ty {
            Ty::Lanes { lane, lanes } => {
                let ty = self.model().ty(lane);
                (ty.kind != Kind::Predicate).then_some(ty.lane_bits() * lanes)
            }
            Ty::Pick(_) => None,
        }
    }
}

/// Locals that are assigned but never read.
pub(crate) fn unused_locals<'a>(entry: &Entry, semantics: &'a [Stmt]) -> Vec<&'a Ident> {
    let mut targets = Vec::new();
    walk::statements(semantics, &mut |statement| {
        if let Stmt::Assign { target, value: _ } = statement {
            targets.push(target);
        }
    });
    let mut named = HashSet::new();
    walk::expressions(semantics, &mut |expr| {
        if let ExprKind::Name(name) = &expr.kind {
            named.insert(name.to_string());
        }
    });
    targets.retain(|target| {
        let name = target.to_string();
        let operand = entry.operands.iter().any(|operand| operand.name == name);
        !operand && !named.contains(&name)
    });
    targets
}
