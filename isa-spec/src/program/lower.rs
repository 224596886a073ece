//! Lowering of semantics: for one choice of modifiers and one range of targets, the pseudo-code is type-checked and
//! converted to a [`Program`].
//!
//! Conditions on modifiers are folded. A choice of modifiers is illegal here only if an operator is applied to a type
//! outside its domain.

use std::collections::{HashMap, HashSet};

use proc_macro2::Span;

use super::{Callee, Op, Program, Ty, ValueId};
use crate::model::choice::Scope;
use crate::model::{
    BuiltinId, Entry, Kind, Meaning, Model, OperandType, OperatorId, Param, Pattern, Permission, SelectorKind,
    Signature, SlotKind, TypeCase, TypeId,
};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Ident, Stmt};
use crate::syntax::walk;
use crate::text::{Diagnostic, Errors};

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

/// Callee of a call by name.
#[derive(Clone, Copy, Debug)]
enum Callable {
    Builtin(BuiltinId),
    /// Index into [`Model::functions`].
    Function(usize),
}

/// A word as an argument.
#[derive(Clone, Debug)]
enum Word {
    Chosen(OperatorId, usize),
    /// A literal word such as `.rz`, which the callee resolves.
    Spelt(Ident),
}

/// Arguments of a call other than values.
#[derive(Clone, Debug, Default)]
struct Given {
    /// Requested result type.
    to: Option<TypeId>,
    words: Vec<Word>,
}

/// Instantiation of a signature for given arguments.
#[derive(Clone, Copy, Debug)]
struct Match {
    /// Value of the type parameter.
    ty: Option<TypeId>,
    /// Lane type of the corresponding argument, which may be an integer where bits are declared.
    lane: Option<TypeId>,
    result: Ty,
}

/// Maximum call depth of functions.
const DEEPEST_CALL: usize = 16;

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

/// Lowers the new value of an update; the old value is an additional source.
pub(crate) fn lower_change(
    scope: Scope<'_>,
    entry: &Entry,
    patterns: &[Pattern],
    ty: &Ident,
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
    let new = lowering.expr(value, Some(ty))?;
    if lowering.ty(new) != ty {
        let message = format!("{} is changed, this is {}", lowering.describe(ty), lowering.describe(lowering.ty(new)));
        return Err(Diagnostic::new(value.span, message).into());
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

    fn integer(&mut self, value: i128, span: Span, expected: Option<Ty>) -> Result<Typed> {
        let Some(Ty::Lanes { lane, lanes }) = expected else {
            return Err(untyped(span));
        };
        let ty = self.model().ty(lane);
        if ty.kind == Kind::Float {
            return self.float(value as f64, span, expected);
        }
        // A negative number is in two's complement for every type.
        let least = if ty.bits > 1 { -(1_i128 << (ty.bits.min(64) - 1)) } else { 0 };
        let most = i128::from(u64::MAX >> (64 - ty.bits.min(64)));
        if !(least..=most).contains(&value) {
            return Err(Diagnostic::new(span, format!("this does not fit `.{}`", ty.name)).into());
        }
        let bits = value as u64 & most as u64;
        Ok(self.push(Op::Constant(bits), Ty::Lanes { lane, lanes }, None))
    }

    fn float(&mut self, value: f64, span: Span, expected: Option<Ty>) -> Result<Typed> {
        let Some(Ty::Lanes { lane, lanes }) = expected else {
            return Err(untyped(span));
        };
        let ty = self.model().ty(lane);
        if ty.kind != Kind::Float {
            return Err(Diagnostic::new(span, format!("number out of range for `.{}`", ty.name)).into());
        }
        let bits = float_bits(value, ty.bits, ty.exponent)
            .ok_or_else(|| Diagnostic::new(span, format!("this is not exact as a normal `.{}`", ty.name)))?;
        Ok(self.push(Op::Constant(bits), Ty::Lanes { lane, lanes }, None))
    }

    /// Word that an argument denotes, if any: a modifier, a dotted word, or a function's own parameter.
    fn word(&self, expr: &Expr) -> Result<Option<Word>> {
        match &expr.kind {
            ExprKind::Name(name) => match self.locals.get(&name.to_string()) {
                Some(Local::Word(words, member)) => Ok(Some(Word::Chosen(*words, *member))),
                _ => Ok(None),
            },
            ExprKind::Choose(condition, a, b) => match self.decide(condition)? {
                Some(true) => self.word(a),
                Some(false) => self.word(b),
                None => Ok(None),
            },
            ExprKind::Dotted(name) => {
                let Some(slot) = self.scope.slot(name.as_ref()) else {
                    return Ok(Some(Word::Spelt(name.clone())));
                };
                let found = &self.scope.opcode.slots[slot];
                match (found.kind, self.scope.choice.values[slot].map(|member| found.members[member].meaning)) {
                    (SlotKind::Operator(words), Some(Meaning::Operator(member))) => {
                        Ok(Some(Word::Chosen(words, member)))
                    }
                    (SlotKind::Operator(_), _) => {
                        Err(Diagnostic::new(expr.span, format!("a syntax line leaves `.{name}` out"))
                            .help("give a default: `.rnd ? .rnd : .rn`")
                            .into())
                    }
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// Values of a call. A literal has the type of its parameter, or of the first argument that is not a literal.
    fn arguments(&mut self, name: &str, args: &[&Expr]) -> Result<Vec<Typed>> {
        let found = self.callables(name).find(|(_, signature)| signature.params.len() == args.len());
        let params = found.map(|(_, signature)| signature.params.clone()).unwrap_or_default();
        let mut values: Vec<Option<Typed>> = vec![None; args.len()];
        for (value, arg) in values.iter_mut().zip(args).filter(|(_, arg)| !is_number(arg)) {
            *value = Some(self.expr(arg, None)?);
        }
        let given: Vec<Option<Ty>> = values.iter().map(|value| value.map(|value| self.ty(value))).collect();
        let of_generic = |index: usize| matches!(params.get(index), Some(Param::Generic | Param::GenericLanes) | None);
        let usual = (0..args.len()).find_map(|index| given[index].filter(|_| of_generic(index)));
        for (index, arg) in args.iter().enumerate() {
            if values[index].is_none() {
                let expected = match params.get(index) {
                    Some(Param::Type(ty)) => Some(self.ty_of(*ty)),
                    _ => usual,
                };
                values[index] = Some(self.expr(arg, expected)?);
            }
        }
        Ok(values.into_iter().map(|value| value.expect("each has one")).collect())
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
                (ty.kind != Kind::Predicate).then_some(ty.bits * lanes)
            }
            Ty::Pick(_) => None,
        }
    }

    /// Application of the operator that a slot chose.
    fn operator(&mut self, name: &str, span: Span, args: &[&Expr]) -> Result<Typed> {
        let scope = self.scope;
        let Some((slot, found)) = scope.operator_slot(name) else {
            let slots = scope.opcode.slots.iter().filter(|slot| matches!(slot.kind, SlotKind::Operator(_)));
            let names = slots.map(|slot| slot.name.as_str());
            return Err(Diagnostic::new(span, format!("no syntax line has an operator `{name}`"))
                .suggest(name, names)
                .into());
        };
        let SlotKind::Operator(id) = found.kind else { unreachable!("an operator's slot") };
        let operator = &self.model().operators[id.0];
        if operator.params.len() != args.len() {
            return Err(Diagnostic::new(
                span,
                format!("`{}` takes {} operands, but {} were given", operator.name, operator.params.len(), args.len()),
            )
            .into());
        }
        let chosen = scope.choice.values[slot];
        let (body, member) = match chosen {
            Some(member) => {
                let Meaning::Operator(index) = found.members[member].meaning else {
                    unreachable!("a member of an operator's slot")
                };
                let body = operator.members[index].body.as_ref().expect("no list of words");
                (body, Some((member, &operator.members[index])))
            }
            None => match &operator.absent {
                Some(body) => (body, None),
                None => {
                    return Err(Diagnostic::new(span, format!("this syntax line has no `{name}`"))
                        .help(format!("give `{}` a member `absent`", operator.name))
                        .into());
                }
            },
        };
        let mut bound = HashMap::new();
        for (param, arg) in operator.params.iter().zip(args) {
            // The definition for an absent modifier may omit an operand that the line lacks.
            if member.is_some() || body.mentions(param) {
                bound.insert(param.clone(), Local::Value(self.expr(arg, None)?));
            }
        }
        if let Some((member, operator)) = member
            && let Some(Local::Value(first)) = bound.get(&self.model().operators[id.0].params[0])
            && let Ty::Lanes { lane, .. } = self.ty(*first)
            && !operator.domain.contains(&lane)
        {
            return Err(LowerError::Domain(DomainError { slot, member, type_slot: first.slot }));
        }
        let outer = std::mem::replace(&mut self.locals, bound);
        let value = self.expr(body, None);
        self.locals = outer;
        // The error is reported at the application of the operator.
        value.map_err(|error| match error {
            LowerError::Spec(diagnostic) => {
                LowerError::Spec(Box::new(diagnostic.blame(span, "in the meaning of the operator")))
            }
            error => error,
        })
    }

    /// Every builtin and function of a name.
    fn callables(&self, name: &str) -> impl Iterator<Item = (Callable, &'a Signature)> {
        let model = self.model();
        let builtins = model.builtins.iter().enumerate();
        let builtins = builtins.map(|(index, builtin)| (Callable::Builtin(BuiltinId(index)), &builtin.signature));
        let functions = model.functions.iter().enumerate();
        let functions = functions.map(|(index, function)| (Callable::Function(index), &function.signature));
        let name = name.to_owned();
        builtins.chain(functions).filter(move |(_, signature)| signature.name == name)
    }

    /// Checks that a builtin or function of this name exists.
    fn callable(&self, name: &str, span: Span) -> Result<()> {
        if self.callables(name).next().is_some() {
            return Ok(());
        }
        let model = self.model();
        let slots = self.scope.opcode.slots.iter().filter(|slot| matches!(slot.kind, SlotKind::Operator(_)));
        let names = model.builtins.iter().map(|builtin| builtin.signature.name.as_str());
        let names = names.chain(model.functions.iter().map(|function| function.signature.name.as_str()));
        let names = names.chain(slots.map(|slot| slot.name.as_str()));
        Err(Diagnostic::new(span, format!("unknown builtin `{name}`")).suggest(name, names).into())
    }

    /// Types that the callables of a name with this many values accept.
    fn domain(&self, name: &str, values: usize) -> Option<String> {
        let signatures = self.callables(name).filter(|(_, signature)| signature.params.len() == values);
        let mut names: Vec<String> = Vec::new();
        for ty in signatures.flat_map(|(_, signature)| signature.generic.iter().flatten()) {
            let name = format!("`.{}`", self.model().ty(*ty).name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        (!names.is_empty()).then(|| names.join(", "))
    }

    fn call(&mut self, name: &str, span: Span, args: &[Typed], beside: &Given) -> Result<Typed> {
        self.callable(name, span)?;
        let mut counts: Vec<usize> = self.callables(name).map(|(_, signature)| signature.params.len()).collect();
        counts.sort_unstable();
        counts.dedup();
        if !counts.contains(&args.len()) {
            let plural = if counts == [1] { "" } else { "s" };
            let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
            let (counts, given) = (counts.join(" or "), args.len());
            let message = format!("the builtin `{name}` takes {counts} value{plural}, but {given} were given");
            return Err(Diagnostic::new(span, message).into());
        }
        let args = &self.broadcast(args)[..];
        let tys: Vec<Ty> = args.iter().map(|arg| self.ty(*arg)).collect();
        let fits = self
            .callables(name)
            .filter(|(_, signature)| signature.modes.len() == beside.words.len())
            .filter_map(|(callable, signature)| {
                self.matches(signature, &tys, beside.to).map(|found| (callable, signature, found))
            })
            // A match of the type itself takes precedence over a match of its bits.
            .min_by_key(|(_, _, found)| found.ty != found.lane);
        let Some((callable, signature, Match { ty, lane, result })) = fits else {
            let given: Vec<String> = tys.iter().map(|ty| self.describe(*ty)).collect();
            let to = beside.to.map_or_else(String::new, |to| format!(" to `.{}`", self.model().ty(to).name));
            let mut counts: Vec<usize> = self.callables(name).map(|(_, signature)| signature.modes.len()).collect();
            counts.dedup();
            let message = format!("the builtin `{name}` does not work on {}{to}", given.join(" and "));
            let diagnostic = Diagnostic::new(span, message);
            return Err(match counts.contains(&beside.words.len()) {
                true if self.callables(name).any(|(_, signature)| signature.to.is_some()) && beside.to.is_none() => {
                    diagnostic.help(format!("name the result type: `{name}.type(…)`"))
                }
                true => match self.domain(name, args.len()) {
                    Some(domain) => diagnostic.help(format!("it works on {domain}")),
                    None => diagnostic,
                },
                false => {
                    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
                    diagnostic.help(format!("its values are followed by {} words", counts.join(" or ")))
                }
            }
            .into());
        };
        let mut modes = Vec::new();
        for (words, given) in signature.modes.iter().zip(&beside.words) {
            modes.push(match given {
                Word::Chosen(own, member) if own == words => (*words, *member),
                Word::Chosen(own, _) => {
                    let name = |words: OperatorId| &self.model().operators[words.0].name;
                    let message = format!("this is a `{}`, and `{}` is asked for", name(*own), name(*words));
                    return Err(Diagnostic::new(span, message).into());
                }
                Word::Spelt(word) => (*words, self.member(*words, word)?),
            });
        }
        let to = beside.to.map(|to| self.model().ty(to).lane);
        let slot = args.first().and_then(|arg| arg.slot).filter(|_| signature.result == Param::Generic);
        match callable {
            Callable::Builtin(builtin) => {
                let callee = Callee { builtin, ty, to, modes };
                let op = Op::Call { callee, args: args.iter().map(|arg| arg.id).collect() };
                Ok(self.push(op, result, slot))
            }
            Callable::Function(index) => {
                let value = self.function(index, span, args, [lane, to], &modes, result)?;
                Ok(Typed { id: value.id, slot })
            }
        }
    }

    /// Lowers a function's body with values for its parameters.
    fn function(
        &mut self,
        index: usize,
        span: Span,
        args: &[Typed],
        types: [Option<TypeId>; 2],
        modes: &[(OperatorId, usize)],
        result: Ty,
    ) -> Result<Typed> {
        if self.calls >= DEEPEST_CALL {
            return Err(Diagnostic::new(span, "functions call each other without an end").into());
        }
        let function = &self.model().functions[index];
        let values = args.iter().map(|arg| Local::Value(*arg));
        let words = modes.iter().map(|(words, member)| Local::Word(*words, *member));
        let bound = function.names.iter().cloned().zip(values.chain(words)).collect();
        let types = function.types.iter().cloned().zip(types).filter_map(|(name, ty)| Some((name?, ty?))).collect();
        let outer = std::mem::replace(&mut self.locals, bound);
        let outer_types = std::mem::replace(&mut self.types, types);
        self.calls += 1;
        let value = self.named_values(&function.lets).and_then(|()| self.expr(&function.body, Some(result)));
        self.calls -= 1;
        self.locals = outer;
        self.types = outer_types;
        let label = "in the body of the function";
        let value = value.map_err(|error| match error {
            LowerError::Spec(diagnostic) => LowerError::Spec(Box::new(diagnostic.blame(span, label))),
            error => error,
        })?;
        let found = self.ty(value);
        if found != result {
            let message = format!(
                "the function `{}` gives {}, and its body is {}",
                function.signature.name,
                self.describe(result),
                self.describe(found)
            );
            return Err(Diagnostic::new(function.body.span, message).into());
        }
        Ok(value)
    }

    /// Lowers the named values of a function's body.
    fn named_values(&mut self, lets: &[(String, Expr)]) -> Result<()> {
        for (name, value) in lets {
            let local = match (self.decide(value)?, self.word(value)?) {
                (Some(known), _) => Local::Known(known),
                (None, Some(Word::Chosen(words, member))) => Local::Word(words, member),
                (None, _) => Local::Value(self.expr(value, None)?),
            };
            self.locals.insert(name.clone(), local);
        }
        Ok(())
    }

    /// Broadcasts a single predicate next to predicates of several lanes.
    fn broadcast(&mut self, args: &[Typed]) -> Vec<Typed> {
        let predicate = |ty: Ty| match ty {
            Ty::Lanes { lane, lanes } if self.model().ty(lane).kind == Kind::Predicate => Some(lanes),
            Ty::Lanes { .. } | Ty::Pick(_) => None,
        };
        let lanes: Option<Vec<u32>> = args.iter().map(|arg| predicate(self.ty(*arg))).collect();
        let Some(most) = lanes.as_ref().and_then(|lanes| lanes.iter().copied().max()).filter(|most| *most > 1) else {
            return args.to_vec();
        };
        let spread = |arg: &Typed| match self.ty(*arg) {
            Ty::Lanes { lane, lanes: 1 } => self.push(Op::Spread(arg.id), Ty::Lanes { lane, lanes: most }, arg.slot),
            Ty::Lanes { .. } | Ty::Pick(_) => *arg,
        };
        args.iter().map(spread).collect()
    }

    /// Instantiates a signature for arguments, if it accepts them.
    ///
    /// A declaration for bits also accepts integers of that width, unless there is one for the integers.
    fn matches(&self, signature: &Signature, args: &[Ty], to: Option<TypeId>) -> Option<Match> {
        let Signature { params, generic, result, .. } = signature;
        if params.len() != args.len() || signature.to.is_some() != to.is_some() {
            return None;
        }
        let to = to.map(|to| self.model().ty(to).lane);
        if let (Some(to), Some(range)) = (to, &signature.to) {
            range.contains(&to).then_some(())?;
        }
        let taken = |lane: TypeId| {
            let generic = generic.as_ref()?;
            generic
                .contains(&lane)
                .then_some(lane)
                .or_else(|| generic.iter().copied().find(|ty| self.is_bits_of(*ty, lane)))
        };
        let mut ty = None;
        let mut given = None;
        let mut each_lane = 1;
        for (param, arg) in params.iter().zip(args) {
            match (*param, *arg) {
                (Param::Type(id), arg) => (self.ty_of(id) == arg).then_some(())?,
                (Param::Generic, Ty::Lanes { lane, lanes }) => {
                    given.is_none_or(|given| given == (lane, lanes)).then_some(())?;
                    given = Some((lane, lanes));
                    ty = Some(taken(lane)?);
                    each_lane = lanes;
                }
                (Param::GenericLanes, Ty::Lanes { lane, lanes }) => {
                    given = Some((lane, lanes));
                    ty = Some(taken(lane)?);
                }
                (Param::Pick(pick), Ty::Pick(found)) => (pick == found).then_some(())?,
                (Param::Generic | Param::GenericLanes | Param::To, _) | (Param::Pick(_), Ty::Lanes { .. }) => {
                    return None;
                }
            }
        }
        let result = match *result {
            Param::Type(id) => match self.ty_of(id) {
                Ty::Lanes { lane, lanes: 1 } => Ty::Lanes { lane, lanes: each_lane },
                whole => whole,
            },
            Param::Generic => Ty::Lanes { lane: given?.0, lanes: each_lane },
            Param::GenericLanes => Ty::Lanes { lane: given?.0, lanes: given?.1 },
            Param::To => Ty::Lanes { lane: to?, lanes: each_lane },
            Param::Pick(pick) => Ty::Pick(pick),
        };
        Some(Match { ty, lane: given.map(|(lane, _)| lane), result })
    }

    /// Returns true if a type is the untyped bits of an integer type.
    fn is_bits_of(&self, bits: TypeId, integer: TypeId) -> bool {
        let (bits, integer) = (self.model().ty(bits), self.model().ty(integer));
        bits.kind == Kind::Bits && matches!(integer.kind, Kind::Unsigned | Kind::Signed) && bits.bits == integer.bits
    }
}

/// Bits of zero or of a normal number in a float format, if the number is exactly representable.
fn float_bits(value: f64, width: u32, exponent: u32) -> Option<u64> {
    const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    let fraction = width - 1 - exponent;
    let bits = value.to_bits();
    let sign = bits >> 63 << (width - 1);
    if value == 0.0 {
        return Some(sign);
    }
    let biased = (bits >> FRACTION & 0x7ff) as i64 - 1023 + (1 << (exponent - 1)) - 1;
    let dropped = FRACTION - fraction;
    let exact = bits & ((1 << dropped) - 1) == 0 && (1..(1 << exponent) - 1).contains(&biased);
    exact.then(|| sign | (biased as u64) << fraction | (bits & ((1 << FRACTION) - 1)) >> dropped)
}

fn untyped(span: Span) -> LowerError {
    Diagnostic::new(span, "the type of this number is ambiguous").help("write `as` and a type after it").into()
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Integer(_) | ExprKind::Float(_))
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
