//! Rules: the combinations of modifiers that are refused, each with its reason in words.
//!
//! They come from `legal` and from the domains of operators; the forms they leave are the table. At run time they
//! only explain, as a mnemonic is legal exactly when it is a form; but those about free modifiers decide.

use std::collections::HashMap;

use crate::model::choice::{Choice, Scope, slots_asked};
use crate::model::{Entry, Item, Meaning, Model, OnlyIf, Opcode, SlotKind, Syntax};
use crate::program::lower::DomainError;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, TypeSet, UnaryOp};
use crate::text::Diagnostic;

/// The bit for "no modifier in this slot"; the others are members.
pub(crate) use isa_table::table::ABSENT;

/// A refused combination: all of its slots hold one of the named values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub forbids: Values,
    pub reason: String,
    /// The entry, where it is about free modifiers: then it does not only explain, it decides.
    pub decides: Option<usize>,
}

/// The rules of one opcode while its entries are checked.
#[derive(Default)]
pub(crate) struct Rules {
    list: Vec<Rule>,
    /// The present entry's number.
    number: usize,
    /// The slots whose values tell the present entry from the opcode's others.
    entry: Values,
    /// Domain errors found so far, with their entry: the place of each in `list`.
    domains: Vec<(DomainError, Values, usize)>,
}

/// Slots and the sets of values they hold.
pub(crate) type Values = Vec<(usize, u64)>;

impl Rules {
    /// What follows is about this entry.
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
            // A flag or an absent modifier does not tell entries apart; a set of members of its own does.
            if values & full != full && opcode.entries.len() > 1 {
                self.entry.push((slot, values));
            }
        }
    }

    /// A `legal` rule, as the combinations it refuses.
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
            // A rule says nothing of what the entry is not about.
            let about = entry.narrowed.iter().all(|rule| matches!(holds(scope, rule), Ok(true)));
            Ok(about && !holds(scope, rule)?)
        };
        // Of what the entry's lines spell, a rule refuses something and leaves something.
        let (mut refused, mut allowed) = (false, false);
        for choice in
            entry.syntaxes.iter().flat_map(|syntax| super::choices(opcode, syntax, |slot| slots.contains(&slot)))
        {
            *if refuses(&choice)? { &mut refused } else { &mut allowed } = true;
        }
        let cubes = cubes(opcode, &slots, refuses)?;
        if !refused || !allowed {
            let what = if allowed { "nothing" } else { "everything" };
            return Err(Diagnostic::new(rule.span, format!("this rule refuses {what}")));
        }
        let reason = format!("{} needs {}", words(&rule.subject), words(&rule.condition));
        let free = slots.iter().any(|slot| opcode.slots[*slot].free);
        for cube in cubes {
            self.push(cube, reason.clone(), free);
        }
        Ok(())
    }

    /// Whether some choice of free modifiers goes with a form of the present entry: without one, no statement spells it.
    pub(crate) fn leave(&self, opcode: &Opcode, syntax: &Syntax, choice: &Choice) -> bool {
        let rules: Vec<&Rule> = self.list.iter().filter(|rule| rule.decides == Some(self.number)).collect();
        let open: Vec<&Item> = syntax.items.iter().filter(|item| opcode.slots[item.slot].free).collect();
        leave(&rules, &open, &mut choice.values.clone())
    }

    /// What a condition on free modifiers holds for, in the present entry.
    pub(crate) fn holding(&self, model: &Model, opcode: &Opcode, condition: &Expr) -> Result<Vec<Values>, Diagnostic> {
        let mut slots = Vec::new();
        slots_asked(condition, opcode, &mut slots);
        let found =
            cubes(opcode, &slots, |choice| Scope { model, opcode, choice, sm: None, free: true }.holds(condition))?;
        Ok(found.into_iter().filter_map(|cube| self.within_entry(cube)).collect())
    }

    /// A choice that an operator's domain refuses.
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

    /// A combination with the slots that tell the entry apart, unless it is itself narrower there; none where nothing of
    /// the entry is like this.
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

/// Whether the open places can be filled so that no rule refuses the whole.
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

/// Whether a choice is within a rule.
fn holds(scope: Scope<'_>, rule: &OnlyIf) -> Result<bool, Diagnostic> {
    Ok(!scope.holds(&rule.subject)? || scope.holds(&rule.condition)?)
}

/// The combinations of members in some slots for which something holds, as few as merging gives.
fn cubes(
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
    // What differs in one slot only becomes one, slot by slot.
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
