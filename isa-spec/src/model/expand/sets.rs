//! Named sets, and minimum versions of words.

use super::{Named, expressions, is_word};
use crate::syntax::ast::{Expr, ExprKind, Ident, Instruction, Requirement, Set, SetBody, TypeSet};
use crate::text::{Diagnostic, Errors};

/// Replaces references to sets within sets by their members.
pub(super) fn flatten_all(named: &mut Named, errors: &mut Errors) {
    let names: Vec<String> = named.sets.keys().cloned().collect();
    for name in names {
        let Some(mut set) = named.sets.remove(&name) else { continue };
        flatten(&mut set.body, named, errors);
        named.sets.insert(name, set);
    }
}

/// Members of a list that may refer to sets and classes.
fn members(list: &[Ident], named: &Named) -> Vec<Ident> {
    let mut found: Vec<Ident> = Vec::new();
    for member in list {
        let inner = if member.is_bare() { named_members(member, named) } else { None };
        match inner {
            // Members take the position of the set's name.
            Some(inner) => {
                found.extend(inner.iter().map(|inner| Ident::new(inner.to_string(), member.span())));
            }
            None => found.push(member.clone()),
        }
    }
    found
}

fn named_members(name: &Ident, named: &Named) -> Option<Vec<Ident>> {
    match named.sets.get(name.as_ref()).map(|set| &set.body) {
        Some(SetBody::Listed { members: list, .. }) => Some(members(list, named)),
        Some(_) => None,
        None => named.classes.get(name.as_ref()).cloned(),
    }
}

fn flatten(body: &mut SetBody, named: &Named, errors: &mut Errors) {
    if let SetBody::Named(name) = body {
        let operator = named.members.get(name.as_ref());
        match (named.sets.get(name.as_ref()), named.classes.get(name.as_ref()).or(operator)) {
            (Some(set), _) => *body = set.body.clone(),
            (None, Some(members)) => {
                let operator = operator.map(|_| name.clone());
                *body = SetBody::Listed { operator, members: members.clone() };
            }
            (None, None) => {
                let message = format!("unknown set `{name}`");
                let names = named.sets.keys().chain(named.classes.keys()).map(String::as_str);
                errors.push(Diagnostic::new(name.span(), message).suggest(name.as_ref(), names));
                *body = SetBody::Listed { operator: None, members: Vec::new() };
            }
        }
    }
    if let SetBody::Listed { members: list, .. } = body {
        *list = members(list, named);
    }
}

/// Adds the sets that an entry refers to, and the minimum versions of its words.
pub(super) fn fill(entry: &mut Instruction, named: &Named, errors: &mut Errors) {
    for set in &mut entry.sets {
        if let SetBody::Named(name) = &set.body
            && named.sets.get(name.as_ref()).is_some_and(|named| named.free)
        {
            entry.free.push(set.name.clone());
        }
        flatten(&mut set.body, named, errors);
    }
    for name in asked(entry) {
        let declared = entry.sets.iter().any(|set| set.name == name) || named.members.contains_key(name.as_ref());
        let Some(set) = named.sets.get(name.as_ref()).filter(|_| !declared) else { continue };
        if set.free {
            entry.free.push(name.clone());
        }
        entry.sets.push(Set { name, body: set.body.clone() });
    }
    for operand in &mut entry.operands {
        if let Some(registers) = &mut operand.registers {
            *registers = members(registers, named);
        }
        for case in &mut operand.cases {
            case.spaces = members(&case.spaces, named);
        }
    }
    expressions(entry, &mut |expr| conditions(expr, named));
    floors(entry, named);
}

/// Names of modifiers and selectors.
fn asked(entry: &Instruction) -> Vec<Ident> {
    let mut names: Vec<Ident> = Vec::new();
    for line in entry.syntax.iter().chain(&entry.lenient_syntax) {
        let selectors = line.operands.iter().filter_map(|pattern| pattern.selector.as_ref().map(|(name, _)| name));
        for name in line.modifiers.iter().map(|modifier| &modifier.name).chain(selectors) {
            if names.iter().all(|other| *other != *name.as_ref()) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Expands sets in conditions such as `.ss in { shared }`; classes of types are kept.
fn conditions(expr: &mut Expr, named: &Named) {
    if let ExprKind::In(_, list) = &mut expr.kind {
        let written = std::mem::take(list);
        for item in written {
            match &item {
                TypeSet::Class(name) if named.sets.contains_key(name.as_ref()) => {
                    let inner = named_members(name, named).unwrap_or_default();
                    let placed = inner.iter().map(|inner| Ident::new(inner.to_string(), name.span()));
                    list.extend(placed.map(TypeSet::Type));
                }
                _ => list.push(item),
            }
        }
    }
    match &mut expr.kind {
        ExprKind::Unary(_, inner) | ExprKind::As(inner, _) | ExprKind::In(inner, _) | ExprKind::Index(inner, _) => {
            conditions(inner, named);
        }
        ExprKind::Binary(_, a, b) | ExprKind::Infix(_, a, b) => {
            conditions(a, named);
            conditions(b, named);
        }
        ExprKind::Call(_, _, args) => args.iter_mut().for_each(|arg| conditions(arg, named)),
        ExprKind::Choose(condition, a, b) => {
            conditions(condition, named);
            conditions(a, named);
            conditions(b, named);
        }
        ExprKind::Name(_) | ExprKind::Dotted(_) | ExprKind::Target(_) | ExprKind::Integer(_) | ExprKind::Float(_) => {}
    }
}

/// Adds the requirements of words, for each modifier that may have them.
fn floors(entry: &mut Instruction, named: &Named) {
    let mut found: Vec<Requirement> = Vec::new();
    for name in asked(entry) {
        let set = entry.sets.iter().find(|set| set.name == name.as_ref());
        let words = match set.map(|set| &set.body) {
            Some(SetBody::Listed { members, .. }) => members.clone(),
            Some(_) => continue,
            None => vec![name.clone()],
        };
        for word in words {
            let Some(floor) = named.words.get(word.as_ref()).and_then(|word| word.floor.as_ref()) else { continue };
            let condition = Some(is_word(&name, &word, word.span()));
            found.push(Requirement { span: floor.span, condition, ..floor.clone() });
        }
    }
    entry.requires.extend(found);
}
