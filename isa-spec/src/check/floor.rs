//! Minimum PTX version and targets of each form, and the target ranges that semantics distinguish.

use std::collections::BTreeSet;

use isa_table::target::{FloorBuf, Removed};

use super::FreeFloor;
use super::rule::Rules;
use crate::model::choice::{Choice, Scope, asks_free};
use crate::model::{Entry, Model, Opcode, Pattern, Requirement, Syntax};
use crate::syntax::ast::{Expr, ExprKind, Stmt};
use crate::syntax::walk;
use crate::text::Diagnostic;

/// Minimum required by the manual and, if the assembler requires less, its minimum with the note.
type Floors = (FloorBuf, Option<(FloorBuf, String)>);

/// Computes the minimum version and target of a form with these operands written. `relaxed` is the result of
/// [`relaxed`] for its entry.
pub(crate) fn floors(
    scope: Scope<'_>,
    entry: &Entry,
    syntax: &Syntax,
    written: &[Pattern],
    relaxed: &[Option<usize>],
) -> Result<Floors, Diagnostic> {
    // `.c` tests whether an operand is written.
    let given = |expr: &Expr| match &expr.kind {
        ExprKind::Dotted(name) if scope.slot(name.as_ref()).is_none() => {
            entry.is_written(name.as_ref(), written).map(|written| Ok(Some(written)))
        }
        _ => None,
    };
    let applies = |requirement: &Requirement| match &requirement.condition {
        // Requirements of free modifiers depend on the statement: see [`free`].
        Some(condition) if asks_free(condition, scope.opcode) => Ok(false),
        Some(condition) => scope.holds_given(condition, &given),
        None => Ok(true),
    };
    let mut strict = Vec::new();
    for requirement in &entry.requires {
        strict.push(applies(requirement)?.then_some(requirement));
    }
    let model = scope.model;
    let removal = strict.iter().flatten().find(|requirement| requirement.removed);
    let removed = removal.and_then(|removal| Some(Removed { ptx: removal.ptx?, target: *removal.targets.first()? }));
    let floor = highest(model, strict.iter().copied().flatten())?.ok_or_else(|| {
        Diagnostic::new(syntax.span, "a form of this line has no floor")
            .help("`requires` names a PTX version and a target for every form: `ptx 1.0, sm_10;`")
    })?;
    let mut words = None;
    for ((requirement, note), relaxed) in entry.lenient_floors.iter().zip(relaxed) {
        if !applies(requirement)? {
            continue;
        }
        let Some(relaxed) = *relaxed else {
            return Err(Diagnostic::new(requirement.span, "this lenient floor relaxes no requirement")
                .help("it repeats the condition of a requirement"));
        };
        strict[relaxed] = Some(requirement);
        words = Some(note.clone());
    }
    let lenient = match words {
        Some(note) => {
            let covers = |lenient: &FloorBuf| {
                floor.targets.iter().all(|target| lenient.targets.iter().any(|low| model.target_has(*target, *low)))
            };
            let lower = |lenient: &FloorBuf| *lenient != floor && lenient.ptx <= floor.ptx && covers(lenient);
            highest(model, strict.into_iter().flatten())?.filter(lower).map(|lenient| (lenient, note))
        }
        None => None,
    };
    Ok((FloorBuf { removed, ..floor }, lenient.map(|(lenient, note)| (FloorBuf { removed, ..lenient }, note))))
}

/// Computes the requirements of an entry that depend on free modifiers.
pub(crate) fn free(
    model: &Model,
    opcode: &Opcode,
    (number, entry): (usize, &Entry),
    rules: &Rules,
) -> Result<Vec<FreeFloor>, Diagnostic> {
    let mut found = Vec::new();
    for requirement in &entry.requires {
        let Some(condition) = requirement.condition.as_ref().filter(|condition| asks_free(condition, opcode)) else {
            continue;
        };
        // A component that is not required here is covered by the form's own minimum.
        let (Some(first), Some((lowest, _))) = (model.versions.first(), model.targets.first()) else { continue };
        let ptx = requirement.ptx.unwrap_or(*first);
        let targets = if requirement.targets.is_empty() { vec![*lowest] } else { requirement.targets.clone() };
        let floor = match requirement.removed {
            false => FloorBuf { ptx, targets, removed: None },
            true => {
                FloorBuf { ptx: *first, removed: Some(Removed { ptx, target: targets[0] }), targets: vec![*lowest] }
            }
        };
        let found_values = rules.holding(model, opcode, condition)?;
        if found_values.is_empty() {
            return Err(Diagnostic::new(requirement.span, "no statement of this entry is like this"));
        }
        found.extend(found_values.into_iter().map(|when| FreeFloor { entry: number, when, floor: floor.clone() }));
    }
    Ok(found)
}

/// For each lenient floor of an entry, the requirement with the same condition that it replaces.
pub(crate) fn relaxed(model: &Model, opcode: &Opcode, entry: &Entry) -> Vec<Option<usize>> {
    let choices: Vec<Choice> = match entry.lenient_floors.as_slice() {
        [] => return Vec::new(),
        _ => entry.syntaxes.iter().flat_map(|syntax| super::forms_of(opcode, syntax)).collect(),
    };
    let same = |a: &Expr, b: &Expr| {
        choices.iter().all(|choice| {
            let scope = Scope { model, opcode, choice, sm: None, free: false };
            matches!((scope.decide(a), scope.decide(b)), (Ok(a), Ok(b)) if a == b)
        })
    };
    let stands_in = |requirement: &Requirement, other: &Requirement| match (&other.condition, &requirement.condition) {
        (Some(a), Some(b)) => same(a, b),
        (None, None) => true,
        _ => false,
    };
    let lenient = entry.lenient_floors.iter();
    lenient.map(|(requirement, _)| entry.requires.iter().position(|other| stands_in(requirement, other))).collect()
}

/// Combines all requirements; `None` if none gives a version, or none gives a target.
fn highest<'a>(
    model: &Model,
    requirements: impl Iterator<Item = &'a Requirement>,
) -> Result<Option<FloorBuf>, Diagnostic> {
    let mut ptx = None;
    let mut targets = Vec::new();
    for requirement in requirements.filter(|requirement| !requirement.removed) {
        ptx = ptx.max(requirement.ptx);
        if requirement.targets.is_empty() {
            continue;
        }
        if targets.is_empty() {
            targets = requirement.targets.clone();
            continue;
        }
        let both = model.targets_of_both(&targets, &requirement.targets);
        if both.is_empty() {
            let have = isa_table::target::in_words(&targets);
            let message =
                format!("no target meets both this requirement and {have}, which another requirement asks for");
            return Err(Diagnostic::new(requirement.span, message));
        }
        targets = both;
    }
    Ok(ptx.filter(|_| !targets.is_empty()).map(|ptx| FloorBuf { ptx, targets, removed: None }))
}

/// Target ranges that semantics distinguish: exclusive upper bound and a representative SM number of each.
pub(crate) fn target_ranges(semantics: &[Stmt]) -> Vec<(u16, u16)> {
    let mut bounds = BTreeSet::new();
    walk::expressions(semantics, &mut |expr| {
        if let ExprKind::Target(target) = &expr.kind {
            bounds.insert(target.value.sm);
        }
    });
    let lows = std::iter::once(0).chain(bounds.iter().copied());
    let highs = bounds.iter().copied().chain(std::iter::once(u16::MAX));
    highs.zip(lows).filter(|(high, low)| high > low).collect()
}
