//! From semantics to programs: for one choice of modifiers and one range of targets, the pseudo-code is type-checked
//! and becomes a [`Program`].
//!
//! What the modifiers decide is folded away here. This module knows no Rust and no instruction; the one thing that
//! makes a choice of modifiers illegal is an operator asked to work on a type outside its domain.

use std::collections::HashMap;

use proc_macro2::{Ident, Span};

use crate::ast::{Expr, ExprKind, Stmt};
use crate::choice::Scope;
use crate::diagnostic::{Diagnostic, Errors};
use crate::ir::{Op, Program, Ty, ValueId};
use crate::model::{BuiltinId, Entry, Kind, Model, OperandType, Param, Pattern, SlotKind, TypeId};

/// Why a choice of modifiers has no program.
#[derive(Debug)]
pub(crate) enum LowerError {
    /// An operator's member does not work on the type: the choice is illegal.
    Domain(DomainError),
    /// The spec is wrong.
    Spec(Box<Diagnostic>),
    /// The spec is wrong in several statements.
    Mistakes(Errors),
    /// What is asked for could not be lowered, which is reported already.
    Broken,
}

/// The member of an operator and the slot whose type it does not work on, if a slot chose the type.
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

/// A value and the slot that chose its type, if one did.
#[derive(Clone, Copy, Debug)]
struct Typed {
    id: ValueId,
    slot: Option<usize>,
}

/// What a name in semantics stands for.
#[derive(Clone, Copy, Debug)]
enum Local {
    Value(Typed),
    /// A condition that modifiers and target decide.
    Known(bool),
    /// Its statement has a mistake.
    Broken,
}

/// Lowers semantics for the operands of one syntax line of their entry.
pub(crate) fn lower(scope: Scope<'_>, entry: &Entry, semantics: &[Stmt], patterns: &[Pattern]) -> Result<Program> {
    let mut lowering = Lowering {
        scope,
        entry,
        patterns,
        program: Program { values: Vec::new(), outputs: Vec::new(), steps: Vec::new() },
        locals: HashMap::new(),
        outputs: HashMap::new(),
        errors: Errors::new(),
    };
    lowering.block(semantics)?;
    lowering.finish()
}

struct Lowering<'a> {
    scope: Scope<'a>,
    entry: &'a Entry,
    patterns: &'a [Pattern],
    program: Program,
    locals: HashMap<String, Local>,
    /// Values of destinations, by index of the operand; `None` where the statement has a mistake.
    outputs: HashMap<usize, Option<ValueId>>,
    /// A mistake ends its statement: the others are still checked.
    errors: Errors,
}

impl<'a> Lowering<'a> {
    fn model(&self) -> &'a Model {
        self.scope.model
    }

    fn finish(mut self) -> Result<Program> {
        let mut outputs = Vec::new();
        for pattern in self.patterns.iter().filter(|pattern| pattern.destination) {
            for operand in std::iter::once(pattern.operand).chain(pattern.second.as_ref().map(|(second, _)| *second)) {
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
        self.errors.finish(()).map_err(LowerError::Mistakes)?;
        self.program.outputs = outputs;
        self.program.prune();
        Ok(self.program)
    }

    fn block(&mut self, statements: &[Stmt]) -> Result<()> {
        for statement in statements {
            let done = match statement {
                Stmt::Assign { target, value } => self.assign(&target.to_string(), target.span(), value),
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

    /// What a statement with a mistake would have given a value is not missed.
    fn give_up(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign { target, .. } => {
                let name = target.to_string();
                match self.entry.operands.iter().position(|operand| operand.name == name) {
                    Some(operand) => drop(self.outputs.entry(operand).or_insert(None)),
                    None => drop(self.locals.entry(name).or_insert(Local::Broken)),
                }
            }
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

    /// A condition on modifiers, targets and locals that stand for such.
    fn decide(&self, expr: &Expr) -> Result<Option<bool>> {
        if let ExprKind::Name(name) = &expr.kind
            && let Some(Local::Known(value)) = self.locals.get(&name.to_string())
        {
            return Ok(Some(*value));
        }
        if let ExprKind::Name(name) = &expr.kind
            && let Some(Local::Broken) = self.locals.get(&name.to_string())
        {
            return Err(LowerError::Broken);
        }
        Ok(self.scope.decide(expr)?)
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
                true => diagnostic.help("write `as` and the type where the same bits are meant"),
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

    fn operand_slot(&self, operand: usize) -> Option<usize> {
        match self.entry.operands[operand].ty {
            OperandType::Slot(slot) => Some(slot),
            OperandType::Fixed(_) => None,
        }
    }

    fn operand_ty(&self, operand: usize) -> Result<Ty> {
        let id = match self.entry.operands[operand].ty {
            OperandType::Fixed(ty) => ty,
            OperandType::Slot(slot) => self.scope.choice.ty(self.scope.opcode, slot).ok_or_else(|| {
                let operand = &self.entry.operands[operand];
                Diagnostic::new(operand.span, format!("a syntax line leaves the type of `{}` open", operand.name))
            })?,
        };
        Ok(self.ty_of(id))
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
            Ty::Pick { lanes, of } => format!("a selector of {lanes} lanes of {of}"),
        }
    }

    fn push(&mut self, op: Op, ty: Ty, slot: Option<usize>) -> Typed {
        Typed { id: self.program.push(op, ty), slot }
    }

    fn expr(&mut self, expr: &Expr, expected: Option<Ty>) -> Result<Typed> {
        match &expr.kind {
            ExprKind::Name(name) => self.name(&name.to_string(), expr.span),
            ExprKind::Integer(value) => self.integer(*value, expr.span, expected),
            ExprKind::Float(value) => self.float(*value, expr.span, expected),
            ExprKind::Unary(op, inner) => {
                let value = self.expr(inner, expected)?;
                self.call(op.builtin(), expr.span, &[value])
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = self.pair(a, b, None)?;
                self.call(op.builtin(), expr.span, &[a, b])
            }
            ExprKind::Infix(name, a, b) => self.operator(&name.to_string(), name.span(), &[a, b]),
            ExprKind::Call(name, args) => {
                let text = name.to_string();
                if self.scope.operator_slot(&text).is_some() {
                    return self.operator(&text, name.span(), &args.iter().collect::<Vec<_>>());
                }
                self.builtin(&text, name.span())?;
                let args = args.iter().map(|arg| self.expr(arg, None)).collect::<Result<Vec<_>>>()?;
                self.call(&text, name.span(), &args)
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
                        format!("there is no lane {} in {}", index.value, self.describe(ty)),
                    )
                    .into()),
                }
            }
            ExprKind::Dotted(_) | ExprKind::Target(_) | ExprKind::In(..) => {
                Err(Diagnostic::new(expr.span, "modifiers and targets have no value; they stand in conditions").into())
            }
        }
    }

    fn name(&mut self, name: &str, span: Span) -> Result<Typed> {
        match self.locals.get(name) {
            Some(Local::Value(value)) => return Ok(*value),
            Some(Local::Known(_)) => {
                return Err(Diagnostic::new(span, format!("`{name}` is a condition, not a value")).into());
            }
            Some(Local::Broken) => return Err(LowerError::Broken),
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
            pattern.selector.as_ref().filter(|selector| selector.name == name).map(|selector| (place, &selector.shape))
        });
        if let Some((place, shape)) = selector {
            let ty = match *shape {
                crate::model::SelectorShape::Lanes { lanes, of } => Ty::Pick { lanes, of },
                crate::model::SelectorShape::Listed(ref words) => Ty::Pick { lanes: 1, of: words.len() as u32 + 1 },
                crate::model::SelectorShape::Subset { of } => Ty::Lanes { lane: self.predicate(span)?, lanes: of },
            };
            return Ok(self.push(Op::Selector(place), ty, None));
        }
        let operands = self.patterns.iter().map(|pattern| self.entry.operands[pattern.operand].name.as_str());
        let selectors = self.patterns.iter().filter_map(|pattern| pattern.selector.as_ref());
        let names = operands.chain(self.locals.keys().map(String::as_str)).chain(selectors.map(|s| s.name.as_str()));
        Err(Diagnostic::new(span, format!("nothing here is called `{name}`"))
            .label("no operand of this syntax line, no selector and no earlier value")
            .suggest(name, names)
            .into())
    }

    fn predicate(&self, span: Span) -> Result<TypeId> {
        let found = self.model().types.iter().position(|ty| ty.kind == Kind::Predicate);
        found.map(TypeId).ok_or_else(|| Diagnostic::new(span, "the prelude has no predicate type").into())
    }

    fn integer(&mut self, value: u64, span: Span, expected: Option<Ty>) -> Result<Typed> {
        let Some(Ty::Lanes { lane, lanes }) = expected else {
            return Err(untyped(span));
        };
        let ty = self.model().ty(lane);
        if ty.kind == Kind::Float {
            return self.float(value as f64, span, expected);
        }
        if ty.bits < 64 && value >> ty.bits != 0 {
            return Err(Diagnostic::new(span, format!("this does not fit `.{}`", ty.name)).into());
        }
        Ok(self.push(Op::Constant(value), Ty::Lanes { lane, lanes }, None))
    }

    fn float(&mut self, value: f64, span: Span, expected: Option<Ty>) -> Result<Typed> {
        let Some(Ty::Lanes { lane, lanes }) = expected else {
            return Err(untyped(span));
        };
        let ty = self.model().ty(lane);
        if ty.kind != Kind::Float {
            return Err(Diagnostic::new(span, format!("`.{}` takes no such number", ty.name)).into());
        }
        let bits = float_bits(value, ty.bits, ty.exponent)
            .ok_or_else(|| Diagnostic::new(span, format!("this is not exact as a normal `.{}`", ty.name)))?;
        Ok(self.push(Op::Constant(bits), Ty::Lanes { lane, lanes }, None))
    }

    /// Two operands of one type; a number takes the type of the other one.
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

    fn reinterpret(&mut self, inner: &Expr, name: &proc_macro2::Ident) -> Result<Typed> {
        let text = name.to_string();
        let chosen = self.scope.slot(&text).and_then(|slot| self.scope.choice.ty(self.scope.opcode, slot));
        let id = chosen.or_else(|| self.model().type_named(&text)).ok_or_else(|| {
            Diagnostic::new(name.span(), format!("there is no type `.{name}`"))
                .suggest(&name.to_string(), self.model().types.iter().map(|ty| ty.name.as_str()))
        })?;
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

    /// Width of a value in a register; predicates and selectors have none.
    fn bits(&self, ty: Ty) -> Option<u32> {
        match ty {
            Ty::Lanes { lane, lanes } => {
                let ty = self.model().ty(lane);
                (ty.kind != Kind::Predicate).then_some(ty.bits * lanes)
            }
            Ty::Pick { .. } => None,
        }
    }

    /// The operator that a slot chose, applied.
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
                format!("`{}` takes {} operands, here are {}", operator.name, operator.params.len(), args.len()),
            )
            .into());
        }
        let chosen = scope.choice.values[slot];
        let (body, member) = match chosen {
            Some(member) => {
                let crate::model::Meaning::Operator(index) = found.members[member].meaning else {
                    unreachable!("a member of an operator's slot")
                };
                (&operator.members[index].body, Some((member, &operator.members[index])))
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
            // Without its modifier an operator may leave an operand out that the line does not have.
            if member.is_some() || mentions(body, param) {
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
        // Who applies the operator is the one to know.
        value.map_err(|error| match error {
            LowerError::Spec(diagnostic) => {
                LowerError::Spec(Box::new(diagnostic.blame(span, "in the meaning of the operator")))
            }
            error => error,
        })
    }

    /// There is a builtin of this name.
    fn builtin(&self, name: &str, span: Span) -> Result<()> {
        let model = self.model();
        if model.builtins.iter().any(|builtin| builtin.name == name) {
            return Ok(());
        }
        let slots = self.scope.opcode.slots.iter().filter(|slot| matches!(slot.kind, SlotKind::Operator(_)));
        let names = model.builtins.iter().map(|builtin| builtin.name.as_str());
        let names = names.chain(slots.map(|slot| slot.name.as_str()));
        Err(Diagnostic::new(span, format!("there is no builtin `{name}`")).suggest(name, names).into())
    }

    fn call(&mut self, name: &str, span: Span, args: &[Typed]) -> Result<Typed> {
        self.builtin(name, span)?;
        let model = self.model();
        let candidates = || model.builtins.iter().enumerate().filter(|(_, builtin)| builtin.name == name);
        let mut counts: Vec<usize> = candidates().map(|(_, builtin)| builtin.params.len()).collect();
        counts.dedup();
        if !counts.contains(&args.len()) {
            let plural = if counts == [1] { "" } else { "s" };
            let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
            let (counts, given) = (counts.join(" or "), args.len());
            let message = format!("the builtin `{name}` takes {counts} value{plural}, here are {given}");
            return Err(Diagnostic::new(span, message).into());
        }
        let args = &self.broadcast(args)[..];
        let tys: Vec<Ty> = args.iter().map(|arg| self.ty(*arg)).collect();
        for (index, builtin) in candidates() {
            if let Some((ty, result)) = self.matches(&builtin.params, builtin.generic.as_deref(), builtin.result, &tys)
            {
                let op = Op::Call { builtin: BuiltinId(index), ty, args: args.iter().map(|arg| arg.id).collect() };
                let slot = args.first().and_then(|arg| arg.slot).filter(|_| builtin.result == Param::Generic);
                return Ok(self.push(op, result, slot));
            }
        }
        let given: Vec<String> = tys.iter().map(|ty| self.describe(*ty)).collect();
        Err(Diagnostic::new(span, format!("the builtin `{name}` does not work on {}", given.join(" and "))).into())
    }

    /// A single predicate beside predicates of several lanes stands for each lane.
    fn broadcast(&mut self, args: &[Typed]) -> Vec<Typed> {
        let predicate = |ty: Ty| match ty {
            Ty::Lanes { lane, lanes } if self.model().ty(lane).kind == Kind::Predicate => Some(lanes),
            Ty::Lanes { .. } | Ty::Pick { .. } => None,
        };
        let lanes: Option<Vec<u32>> = args.iter().map(|arg| predicate(self.ty(*arg))).collect();
        let Some(most) = lanes.as_ref().and_then(|lanes| lanes.iter().copied().max()).filter(|most| *most > 1) else {
            return args.to_vec();
        };
        let spread = |arg: &Typed| match self.ty(*arg) {
            Ty::Lanes { lane, lanes: 1 } => {
                let ty = Ty::Lanes { lane, lanes: most };
                let [yes, no] = [1, 0].map(|bit| self.push(Op::Constant(bit), ty, None).id);
                self.push(Op::Select(arg.id, yes, no), ty, arg.slot)
            }
            Ty::Lanes { .. } | Ty::Pick { .. } => *arg,
        };
        args.iter().map(spread).collect()
    }

    /// The type parameter and the result of a builtin for arguments, if it takes them.
    fn matches(
        &self,
        params: &[Param],
        generic: Option<&[TypeId]>,
        result: Param,
        args: &[Ty],
    ) -> Option<(Option<TypeId>, Ty)> {
        if params.len() != args.len() {
            return None;
        }
        let mut ty = None;
        let mut each_lane = 1;
        for (param, arg) in params.iter().zip(args) {
            match (*param, *arg) {
                (Param::Type(id), arg) => (self.ty_of(id) == arg).then_some(())?,
                (Param::Generic, Ty::Lanes { lane, lanes }) => {
                    let same = ty.is_none_or(|ty| ty == (lane, lanes));
                    (same && generic?.contains(&lane)).then_some(())?;
                    ty = Some((lane, lanes));
                    each_lane = lanes;
                }
                (Param::GenericLanes, Ty::Lanes { lane, lanes }) => {
                    generic?.contains(&lane).then_some(())?;
                    ty = Some((lane, lanes));
                }
                (Param::Pick { lanes, of }, Ty::Pick { lanes: found, of: found_of }) => {
                    (lanes == found && of == found_of).then_some(())?;
                }
                (Param::Generic | Param::GenericLanes, Ty::Pick { .. }) | (Param::Pick { .. }, Ty::Lanes { .. }) => {
                    return None;
                }
            }
        }
        let result = match result {
            Param::Type(id) => match self.ty_of(id) {
                Ty::Lanes { lane, lanes: 1 } => Ty::Lanes { lane, lanes: each_lane },
                whole => whole,
            },
            Param::Generic => Ty::Lanes { lane: ty?.0, lanes: each_lane },
            Param::GenericLanes => Ty::Lanes { lane: ty?.0, lanes: ty?.1 },
            Param::Pick { lanes, of } => Ty::Pick { lanes, of },
        };
        Some((ty.map(|(lane, _)| lane), result))
    }
}

/// The bits of zero or of a normal number in a float format, if it holds the number exactly.
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
    Diagnostic::new(span, "nothing says what type this number has").help("write `as` and a type behind it").into()
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Integer(_) | ExprKind::Float(_))
}

/// The locals that semantics give a value and never ask for it.
pub(crate) fn unused_locals<'a>(entry: &Entry, semantics: &'a [Stmt]) -> Vec<&'a Ident> {
    let mut targets = Vec::new();
    let mut values = Vec::new();
    read(semantics, &mut targets, &mut values);
    targets.retain(|target| {
        let name = target.to_string();
        let operand = entry.operands.iter().any(|operand| operand.name == name);
        !operand && !values.iter().any(|value| mentions(value, &name))
    });
    targets
}

/// What statements assign to, and every expression in them.
fn read<'a>(statements: &'a [Stmt], targets: &mut Vec<&'a Ident>, values: &mut Vec<&'a Expr>) {
    for statement in statements {
        match statement {
            Stmt::Assign { target, value } => {
                targets.push(target);
                values.push(value);
            }
            Stmt::If { condition, then, otherwise } => {
                values.push(condition);
                read(then, targets, values);
                read(otherwise, targets, values);
            }
        }
    }
}

/// Whether an expression names something.
fn mentions(expr: &Expr, name: &str) -> bool {
    match &expr.kind {
        ExprKind::Name(ident) => ident == name,
        ExprKind::Dotted(_) | ExprKind::Target(_) | ExprKind::Integer(_) | ExprKind::Float(_) => false,
        ExprKind::Unary(_, inner) | ExprKind::As(inner, _) | ExprKind::In(inner, _) | ExprKind::Index(inner, _) => {
            mentions(inner, name)
        }
        ExprKind::Binary(_, a, b) | ExprKind::Infix(_, a, b) => mentions(a, name) || mentions(b, name),
        ExprKind::Call(_, args) => args.iter().any(|arg| mentions(arg, name)),
        ExprKind::Choose(a, b, c) => [a, b, c].into_iter().any(|expr| mentions(expr, name)),
    }
}
