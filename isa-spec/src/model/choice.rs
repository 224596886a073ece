//! Choices of modifiers and the conditions that they decide: `.ftz`, `.stype == .f32`, `.dtype in float`, `target <
//! sm_20`.
//!
//! Conditions that depend on values are left undecided, for evaluation at run time.

use std::collections::HashMap;

use isa_table::table::ABSENT;

use crate::model::{Meaning, Model, Opcode, Operand, OperandType, Slot, SlotKind, TypeCase, TypeId};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, TypeSet, UnaryOp};
use crate::text::Diagnostic;

/// A choice of modifiers: one member, or none, for each slot of an opcode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Choice {
    pub values: Vec<Option<usize>>,
}

/// Context in which conditions are decided.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub model: &'a Model,
    pub opcode: &'a Opcode,
    pub choice: &'a Choice,
    /// A representative SM number of the target range; `None` where conditions must not depend on the target.
    pub sm: Option<u16>,
    /// True if the choice includes free modifiers; otherwise conditions must not depend on them.
    pub free: bool,
}

type Decision<E = Diagnostic> = Result<Option<bool>, E>;

impl Choice {
    /// Mnemonic: opcode and modifiers in the order of a syntax line's slots.
    pub(crate) fn mnemonic(&self, opcode: &Opcode, slots: impl Iterator<Item = usize>) -> String {
        let mut text = opcode.name.clone();
        for slot in slots {
            if let Some(member) = self.values[slot] {
                text.push('.');
                text += &opcode.slots[slot].members[member].spelling;
            }
        }
        text
    }

    /// The choice with the values of another in some slots.
    pub(crate) fn with(&self, other: &Choice, slots: &[usize]) -> Choice {
        let mut choice = self.clone();
        slots.iter().for_each(|slot| choice.values[*slot] = other.values[*slot]);
        choice
    }

    /// Type chosen in a slot of types.
    pub(crate) fn ty(&self, opcode: &Opcode, slot: usize) -> Option<TypeId> {
        match opcode.slots[slot].members[self.values[slot]?].meaning {
            Meaning::Type(ty) => Some(ty),
            Meaning::Operator(_) | Meaning::Flag => None,
        }
    }
}

impl Opcode {
    /// Kind and type of an operand for a choice of modifiers; `None` if the choice does not decide it.
    ///
    /// # Errors
    ///
    /// If modifiers do not decide a condition.
    pub(crate) fn operand_case<'a>(
        &self,
        model: &Model,
        operand: &'a Operand,
        choice: &Choice,
    ) -> Result<Option<(&'a TypeCase, TypeId)>, Diagnostic> {
        let scope = Scope { model, opcode: self, choice, sm: None, free: false };
        for case in &operand.cases {
            if case.condition.as_ref().map_or(Ok(true), |condition| scope.holds(condition))? {
                let ty = match &case.ty {
                    OperandType::Fixed(ty) => Some(*ty),
                    OperandType::Slot(slot) => choice.ty(self, *slot),
                    OperandType::Mapped(slot, pairs) => choice
                        .ty(self, *slot)
                        .and_then(|ty| pairs.iter().find(|(from, _)| *from == ty).map(|(_, to)| *to)),
                };
                return Ok(ty.map(|ty| (case, ty)));
            }
        }
        Ok(None)
    }

    /// Type of an operand of a form.
    pub(crate) fn operand_type(&self, model: &Model, operand: &Operand, choice: &Choice) -> Option<TypeId> {
        self.operand_case(model, operand, choice).ok().flatten().map(|(_, ty)| ty)
    }
}

impl Scope<'_> {
    /// Value of a condition that the modifiers must decide.
    pub(crate) fn holds(&self, expr: &Expr) -> Result<bool, Diagnostic> {
        self.holds_given(expr, &|_| None)
    }

    /// As [`Scope::holds`], with additional knowledge: see [`Scope::decide_given`].
    pub(crate) fn holds_given(
        &self,
        expr: &Expr,
        given: &dyn Fn(&Expr) -> Option<Decision>,
    ) -> Result<bool, Diagnostic> {
        self.decide_given(expr, given)?.ok_or_else(|| {
            Diagnostic::new(expr.span, "modifiers alone do not decide this condition")
                .help("use `.ftz`, `.type == .f32`, `.type in { … }`, and `&&`, `||`, `!` of such")
        })
    }

    /// Value of a condition, or `None` if modifiers and targets do not decide it.
    pub(crate) fn decide(&self, expr: &Expr) -> Decision {
        self.decide_given(expr, &|_| None)
    }

    /// As [`Scope::decide`], with additional knowledge: `given` is consulted first for each subexpression.
    pub(crate) fn decide_given<E: From<Diagnostic>>(
        &self,
        expr: &Expr,
        given: &dyn Fn(&Expr) -> Option<Decision<E>>,
    ) -> Decision<E> {
        if let Some(decision) = given(expr) {
            return decision;
        }
        let decide = |expr: &Expr| self.decide_given(expr, given);
        match &expr.kind {
            ExprKind::Dotted(name) => Ok(Some(self.choice.values[self.asked(expr, name.as_ref())?].is_some())),
            ExprKind::Unary(UnaryOp::Not, inner) => Ok(decide(inner)?.map(|value| !value)),
            ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), a, b) => match (decide(a)?, decide(b)?)
            {
                (Some(a), Some(b)) => Ok(Some(if *op == BinaryOp::LogicalAnd { a && b } else { a || b })),
                _ => Err(Diagnostic::new(expr.span, "`&&` and `||` combine conditions on modifiers and targets")
                    .help("predicates are combined with `&` and `|`")
                    .into()),
            },
            ExprKind::Binary(op, a, b) => Ok(self.comparison(*op, a, b)?),
            ExprKind::In(value, set) => Ok(Some(self.member_of(value, set)?)),
            ExprKind::Choose(condition, a, b) => match decide(condition)? {
                Some(true) => decide(a),
                Some(false) => decide(b),
                None => Ok(None),
            },
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::Complement, _)
            | ExprKind::Name(_)
            | ExprKind::Target(_)
            | ExprKind::Integer(_)
            | ExprKind::Float(_)
            | ExprKind::Infix(..)
            | ExprKind::Call(..)
            | ExprKind::As(..)
            | ExprKind::Index(..) => Ok(None),
        }
    }

    fn comparison(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Decision {
        match (&a.kind, &b.kind) {
            (ExprKind::Name(name), ExprKind::Target(target)) if name == "target" => {
                let Some(sm) = self.sm else {
                    return Err(Diagnostic::new(a.span, "the target is known in semantics only")
                        .help("floors are written in `requires`"));
                };
                match op {
                    BinaryOp::Lt => Ok(Some(sm < target.value.sm)),
                    BinaryOp::Ge => Ok(Some(sm >= target.value.sm)),
                    _ => Err(Diagnostic::new(a.span, "targets are compared with `<` and `>=`")),
                }
            }
            (ExprKind::Dotted(slot), ExprKind::Dotted(member)) => {
                let equal = self.slot_is(a, slot.as_ref(), b, member.as_ref())?;
                match op {
                    BinaryOp::Eq => Ok(Some(equal)),
                    BinaryOp::Ne => Ok(Some(!equal)),
                    _ => Err(Diagnostic::new(a.span, "modifiers are compared with `==` and `!=`")),
                }
            }
            _ => Ok(None),
        }
    }

    fn slot_is(&self, a: &Expr, slot: &str, b: &Expr, member: &str) -> Result<bool, Diagnostic> {
        let index = self.asked(a, slot)?;
        let members = &self.opcode.slots[index].members;
        let Some(wanted) = members.iter().position(|other| other.spelling == member) else {
            return Err(Diagnostic::new(b.span, format!("`.{slot}` has no member `.{member}`"))
                .suggest(member, members.iter().map(|member| member.spelling.as_str())));
        };
        Ok(self.choice.values[index] == Some(wanted))
    }

    fn member_of(&self, value: &Expr, set: &[TypeSet]) -> Result<bool, Diagnostic> {
        let ExprKind::Dotted(name) = &value.kind else {
            return Err(Diagnostic::new(value.span, "the left side of `in` must be a modifier such as `.type`"));
        };
        let name = name.to_string();
        let slot = self.asked(value, &name)?;
        let members = &self.opcode.slots[slot].members;
        let chosen = self.choice.values[slot];
        let mut found = false;
        for item in set {
            match item {
                TypeSet::Type(member) => {
                    let text = member.to_string();
                    let index = members.iter().position(|other| other.spelling == text).ok_or_else(|| {
                        Diagnostic::new(member.span(), format!("`.{name}` has no member `.{text}`"))
                            .suggest(&text, members.iter().map(|member| member.spelling.as_str()))
                    })?;
                    found |= chosen == Some(index);
                }
                TypeSet::Class(class) => {
                    let text = class.to_string();
                    let class = self.model.class_named(&text).ok_or_else(|| {
                        Diagnostic::new(class.span(), format!("unknown class `{text}`"))
                            .suggest(&text, self.model.classes.iter().map(|class| class.name.as_str()))
                    })?;
                    found |= self.choice.ty(self.opcode, slot).is_some_and(|ty| class.types.contains(&ty));
                }
            }
        }
        Ok(found)
    }

    /// Slot that a condition refers to.
    fn asked(&self, expr: &Expr, name: &str) -> Result<usize, Diagnostic> {
        let slot = self.slot(name).ok_or_else(|| self.unknown(expr, name))?;
        if self.opcode.slots[slot].free && !self.free {
            return Err(Diagnostic::new(expr.span, format!("`.{name}` is free: no form depends on it"))
                .help("`legal` and `requires` may ask for free modifiers"));
        }
        Ok(slot)
    }

    pub(crate) fn slot(&self, name: &str) -> Option<usize> {
        self.opcode.slots.iter().position(|slot| slot.name == name)
    }

    /// Slot that an operator name in semantics refers to.
    pub(crate) fn operator_slot(&self, name: &str) -> Option<(usize, &Slot)> {
        let index = self.slot(name)?;
        let slot = &self.opcode.slots[index];
        let SlotKind::Operator(id) = slot.kind else { return None };
        (!self.model.operators[id.0].params.is_empty()).then_some((index, slot))
    }

    fn unknown(&self, expr: &Expr, name: &str) -> Diagnostic {
        Diagnostic::new(expr.span, format!("no syntax line of `{}` has a modifier `.{name}`", self.opcode.name))
            .suggest(name, self.opcode.slots.iter().map(|slot| slot.name.as_str()))
    }
}

/// Returns true if a condition depends on a free modifier.
pub(crate) fn asks_free(expr: &Expr, opcode: &Opcode) -> bool {
    let mut slots = Vec::new();
    slots_asked(expr, opcode, &mut slots);
    slots.iter().any(|slot| opcode.slots[*slot].free)
}

/// Slots that a condition depends on.
pub(crate) fn slots_asked(expr: &Expr, opcode: &Opcode, found: &mut Vec<usize>) {
    expr.walk(&mut |expr| {
        if let ExprKind::Dotted(name) = &expr.kind {
            let slot = opcode.slots.iter().position(|slot| name == &slot.name);
            found.extend(slot.filter(|slot| !found.contains(slot)));
        }
    });
}

/// Slots with the sets of values they may have.
pub(crate) type Values = Vec<(usize, u64)>;

/// Slot values for which a predicate holds, merged into as few products as possible.
pub(crate) fn cubes(
    opcode: &Opcode,
    slots: &[usize],
    holds: impl Fn(&Choice) -> Result<bool, Diagnostic>,
) -> Result<Vec<Values>, Diagnostic> {
    let mut choices = vec![Choice { values: vec![None; opcode.slots.len()] }];
    for slot in slots {
        let members = 0..opcode.slots[*slot].members.len();
        let values: Vec<Option<usize>> = std::iter::once(None).chain(members.map(Some)).collect();
        let with = |choice: &Choice, value| {
            let mut choice = choice.clone();
            choice.values[*slot] = value;
            choice
        };
        choices = choices.iter().flat_map(|choice| values.iter().map(move |value| with(choice, *value))).collect();
    }
    let mut found: Vec<Vec<u64>> = Vec::new();
    for choice in &choices {
        if holds(choice)? {
            found.push(
                slots.iter().map(|slot| 1 << choice.values[*slot].map_or(ABSENT, |member| member as u8)).collect(),
            );
        }
    }
    // Merge products that differ in a single slot, slot by slot.
    for place in (0..slots.len()).rev() {
        let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut merged: Vec<Vec<u64>> = Vec::new();
        for cube in found {
            let mut rest = cube.clone();
            rest[place] = 0;
            match places.get(&rest) {
                Some(other) => merged[*other][place] |= cube[place],
                None => {
                    places.insert(rest, merged.len());
                    merged.push(cube);
                }
            }
        }
        found = merged;
    }
    Ok(found.into_iter().map(|cube| slots.iter().copied().zip(cube).collect()).collect())
}
