//! Rules: refused combinations of modifiers, each with its reason in words.
//!
//! They are derived from `legal` and from the domains of operators; the combinations they leave are the forms. At run
//! time they only explain errors, because a mnemonic is legal exactly when it is a form; rules about free modifiers are
//! the exception and are evaluated for each statement.

use crate::model::choice::{Choice, Scope, Values, cubes, slots_asked};
use crate::model::{Entry, Item, Meaning, Model, OnlyIf, Opcode, SlotKind, Syntax};
use crate::program::lower::DomainError;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, TypeSet, UnaryOp};
use crate::text::Diagnostic;

/// Bit for "no modifier in this slot"; the others are members.
pub(crate) use isa_table::table::ABSENT;

/// A refused combination: every listed slot has one of the listed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub forbids: Values,
    pub reason: String,
    /// Index of the entry if the rule constrains free modifiers, so that it is evaluated for each statement.
    pub decides: Option<usize>,
}

/// Rules of one opcode while its entries are checked.
#[derive(Default)]
pub(crate) struct Rules {
    list: Vec<Rule>,
    /// Index of the current entry.
    number: usize,
    /// Slot values that distinguish the current entry from the opcode's others.
    entry: Values,
    /// Domain errors found so far with their entries, and the index of each in `list`.
    domains: Vec<(DomainError, Values, usize)>,
}

impl Rules {
    /// Starts an entry.
    pub(crate) fn enter(&mut self, opcode: &Opcode, number: usize, entry: &Entry) {
        self.number = number;
        self.entry.clear();
        for (slot, all) in opcode.slots.iter().enumerate() {
            let mut values = 0;
            for syntax in &entry.syntaxes {
                match syntax.items.iter().find(|item| item.slot == slot) {
                    Some(item) => {
                        item.members.iter().for_each(|member| values |= 1 << member);
                        values |= u64::from(item.optional) << ABSENT;
                    }
                    None => values |= 1 << ABSENT,
                }
            }
            let full = (1 << all.members.len()) - 1;
            // A flag or an optional modifier does not distinguish entries; a narrower set of members does.
            if values & full != full && opcode.entries.len() > 1 {
                self.entry.push((slot, values));
            }
        }
    }

    /// Converts a `legal` rule to the combinations it refuses.
    pub(crate) fn legal(
        &mut self,
        model: &Model,
        opcode: &Opcode,
        entry: &Entry,
        rule: &OnlyIf,
    ) -> Result<(), Diagnostic> {
        let mut slots = Vec::new();
        slots_asked(&rule.subject, opcode, &mut slots);
        slots_asked(&rule.condition, opcode, &mut slots);
        for narrowed in &entry.narrowed {
            slots_asked(&narrowed.subject, opcode, &mut slots);
            slots_asked(&narrowed.condition, opcode, &mut slots);
        }
        let refuses = |choice: &Choice| -> Result<bool, Diagnostic> {
            let scope = Scope { model, opcode, choice, sm: None, free: true };
            // A rule does not apply to combinations outside the entry.
            let about = entry.narrowed.iter().all(|rule| matches!(holds(scope, rule), Ok(true)));
            Ok(about && !holds(scope, rule)?)
        };
        // A useful rule refuses some combinations of the entry's lines and allows others.
        let (mut refused, mut allowed) = (false, false);
        for choice in
            entry.syntaxes.iter().flat_map(|syntax| super::choices(opcode, syntax, |slot| slots.contains(&slot)))
        {
            *if refuses(&choice)? { &mut refused } else { &mut allowed } = true;
        }
        let cubes = cubes(opcode, &slots, refuses)?;
        if !refused || !allowed {
            let what = if allowed { "nothing" } else { "everything" };
            return Err(Diagnostic::new(rule.span, format!("this rule excludes {what} that the syntax allows")));
        }
        let reason = reason(rule);
        let free = slots.iter().any(|slot| opcode.slots[*slot].free);
        for cube in cubes {
            self.push(cube, reason.clone(), free);
        }
        Ok(())
    }

    /// Returns true if some choice of free modifiers is allowed with a form of the current entry: otherwise no
    /// statement can spell it.
    pub(crate) fn leave(&self, opcode: &Opcode, syntax: &Syntax, choice: &Choice) -> bool {
        let rules: Vec<&Rule> = self.list.iter().filter(|rule| rule.decides == Some(self.number)).collect();
        let open: Vec<&Item> = syntax.items.iter().filter(|item| opcode.slots[item.slot].free).collect();
        leave(&rules, &open, &mut choice.values.clone())
    }

    /// Values for which a condition on free modifiers holds, within the current entry.
    pub(crate) fn holding(&self, model: &Model, opcode: &Opcode, condition: &Expr) -> Result<Vec<Values>, Diagnostic> {
        let mut slots = Vec::new();
        slots_asked(condition, opcode, &mut slots);
        let found =
            cubes(opcode, &slots, |choice| Scope { model, opcode, choice, sm: None, free: true }.holds(condition))?;
        Ok(found.into_iter().filter_map(|cube| self.within_entry(cube)).collect())
    }

    /// Records a choice outside the domain of an operator.
    pub(crate) fn domain(&mut self, model: &Model, opcode: &Opcode, choice: &Choice, error: DomainError) {
        let value = error.type_slot.and_then(|slot| choice.values[slot].map(|member| (slot, 1_u64 << member)));
        let known = self.domains.iter().find(|(other, entry, _)| *other == error && *entry == self.entry);
        if let Some((_, _, place)) = known {
            if let Some((slot, bit)) = value
                && let Some((_, values)) = self.list[*place].forbids.iter_mut().find(|(other, _)| *other == slot)
            {
                *values |= bit;
            }
            return;
        }
        let slot = &opcode.slots[error.slot];
        let (SlotKind::Operator(operator), Meaning::Operator(member)) = (slot.kind, slot.members[error.member].meaning)
        else {
            unreachable!("domains belong to operators");
        };
        let member = &model.operators[operator.0].members[member];
        let reason = format!("`.{}` is for {}", member.name, member.domain_text);
        let forbids = std::iter::once((error.slot, 1 << error.member)).chain(value).collect();
        self.push(forbids, reason, false);
        self.domains.push((error, self.entry.clone(), self.list.len() - 1));
    }

    fn push(&mut self, forbids: Values, reason: String, free: bool) {
        if let Some(forbids) = self.within_entry(forbids) {
            let decides = free.then_some(self.number);
            self.list.push(Rule { forbids, reason, decides });
        }
    }

    /// Restricts a combination to the slot values that distinguish the entry, unless it is narrower already; `None` if
    /// the intersection is empty.
    fn within_entry(&self, mut values: Values) -> Option<Values> {
        for (slot, of_entry) in &self.entry {
            match values.iter_mut().find(|(other, _)| other == slot) {
                Some((_, own)) => *own &= of_entry,
                None => values.push((*slot, *of_entry)),
            }
        }
        values.iter().all(|(_, values)| *values != 0).then_some(values)
    }

    pub(crate) fn finish(self) -> Vec<Rule> {
        self.list
    }
}

/// Returns true if the open slots can be filled without being refused by a rule.
fn leave(rules: &[&Rule], open: &[&Item], values: &mut [Option<usize>]) -> bool {
    let holds = |(slot, allowed): &(usize, u64)| {
        let value = values[*slot].map_or(ABSENT, |member| member as u8);
        allowed >> value & 1 == 1 && !open.iter().any(|item| item.slot == *slot)
    };
    if rules.iter().any(|rule| rule.forbids.iter().all(holds)) {
        return false;
    }
    let Some((item, rest)) = open.split_first() else { return true };
    let absent = item.optional.then_some(None);
    let left = absent.into_iter().chain(item.members.iter().copied().map(Some)).any(|value| {
        values[item.slot] = value;
        leave(rules, rest, values)
    });
    values[item.slot] = None;
    left
}

/// Returns true if a choice is subject to a rule.
fn holds(scope: Scope<'_>, rule: &OnlyIf) -> Result<bool, Diagnostic> {
    Ok(!scope.holds(&rule.subject)? || scope.holds(&rule.condition)?)
}

/// A rule in words: the modifiers that a modifier needs, or the members to which the rule restricts it.
pub(crate) fn reason(rule: &OnlyIf) -> String {
    let (subject, condition) = (words(&rule.subject), words(&rule.condition));
    match condition.strip_prefix(&subject).filter(|rest| rest.starts_with(" to be ")) {
        Some(rest) => format!("{subject} has{rest}"),
        None => match &rule.condition.kind {
            ExprKind::Unary(UnaryOp::Not, other) => {
                format!("{} cannot be combined with {}", choice(&rule.subject), choice(other))
            }
            _ => format!("{} needs {condition}", choice(&rule.subject)),
        },
    }
}

/// A condition on modifiers as the subject of a sentence: `.f16` or `.f16x2` as `.type`, without `.ftz`.
pub(crate) fn choice(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::In(value, _) | ExprKind::Binary(BinaryOp::Eq, value, _) => {
            let (value, all) = (words(value), words(expr));
            match all.strip_prefix(&value).and_then(|rest| rest.strip_prefix(" to be ")) {
                Some(members) => format!("{members} as {value}"),
                None => all,
            }
        }
        ExprKind::Binary(BinaryOp::Ne, value, member) => format!("{} other than {}", words(value), words(member)),
        ExprKind::Binary(BinaryOp::LogicalAnd, a, b) => {
            let first = either(a);
            match &b.kind {
                ExprKind::Unary(UnaryOp::Not, inner) => format!("{first} without {}", either(inner)),
                _ => format!("{first} with {}", either(b)),
            }
        }
        // A comma shows where an alternative of several words ends.
        ExprKind::Binary(BinaryOp::LogicalOr, a, b) => {
            let or = if is_words(expr) { " or" } else { ", or" };
            format!("{}{or} {}", choice(a), choice(b))
        }
        ExprKind::Unary(UnaryOp::Not, inner) => format!("no {}", either(inner)),
        _ => words(expr),
    }
}

/// Returns true for alternatives that are a word each: `.e || .f`.
fn is_words(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::LogicalOr, a, b) => is_words(a) && is_words(b),
        ExprKind::Dotted(_) => true,
        _ => false,
    }
}

/// A condition as a part of another: alternatives are joined by *either*.
fn either(expr: &Expr) -> String {
    let is_or = matches!(expr.kind, ExprKind::Binary(BinaryOp::LogicalOr, ..));
    format!("{}{}", if is_or { "either " } else { "" }, choice(expr))
}

/// A condition on modifiers, in words.
pub(crate) fn words(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Dotted(name) => format!("`.{name}`"),
        ExprKind::Unary(UnaryOp::Not, inner) => format!("not {}", words(inner)),
        ExprKind::Unary(op, inner) => format!("{}{}", op.symbol(), words(inner)),
        ExprKind::Binary(op, a, b) => {
            let verb = match op {
                BinaryOp::Eq => "to be",
                BinaryOp::Ne => "not to be",
                BinaryOp::LogicalAnd => "and",
                BinaryOp::LogicalOr => "or",
                other => other.symbol(),
            };
            format!("{} {verb} {}", words(a), words(b))
        }
        ExprKind::In(value, set) => {
            let members: Vec<String> = set
                .iter()
                .map(|item| match item {
                    TypeSet::Type(name) => format!("`.{name}`"),
                    TypeSet::Class(name) => name.to_string(),
                })
                .collect();
            format!("{} to be {}", words(value), members.join(" or "))
        }
        ExprKind::Name(_)
        | ExprKind::Target(_)
        | ExprKind::Integer(_)
        | ExprKind::Float(_)
        | ExprKind::Infix(..)
        | ExprKind::Call(..)
        | ExprKind::Choose(..)
        | ExprKind::As(..)
        | ExprKind::Index(..) => String::from("this"),
    }
}
