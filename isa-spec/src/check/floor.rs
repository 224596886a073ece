//! Floors: the first PTX version and the lowest target that know a form, and the ranges of targets that semantics
//! tell apart.

use std::collections::BTreeSet;

use crate::ast::{Expr, ExprKind, Stmt, Version};
use crate::choice::{Choice, Scope};
use crate::diagnostic::Diagnostic;
use crate::model::{Entry, Model, Opcode, Requirement, Syntax};

/// What a form asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Floor {
    /// Major and minor version of PTX.
    pub ptx: (u8, u8),
    /// SM number.
    pub sm: u16,
}

/// The manual's floor, and the assembler's with its note where that is lower.
type Floors = (Floor, Option<(Floor, String)>);

/// The floors of a form. `relaxed` is what [`relaxed`] finds for its entry.
pub(crate) fn floors(
    scope: Scope<'_>,
    entry: &Entry,
    syntax: &Syntax,
    relaxed: &[Option<usize>],
) -> Result<Floors, Diagnostic> {
    let applies = |requirement: &Requirement| match &requirement.condition {
        Some(condition) => scope.holds(condition),
        None => Ok(true),
    };
    let mut strict = Vec::new();
    for requirement in &entry.requires {
        strict.push(applies(requirement)?.then_some(requirement));
    }
    let floor = highest(strict.iter().copied().flatten()).ok_or_else(|| {
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
            let lower = |lenient: &Floor| *lenient != floor && lenient.ptx <= floor.ptx && lenient.sm <= floor.sm;
            highest(strict.into_iter().flatten()).filter(lower).map(|lenient| (lenient, note))
        }
        None => None,
    };
    Ok((floor, lenient))
}

/// For each lenient floor of an entry the requirement that it stands in for: the one of the same condition.
pub(crate) fn relaxed(model: &Model, opcode: &Opcode, entry: &Entry) -> Vec<Option<usize>> {
    let choices: Vec<Choice> = match entry.lenient_floors.as_slice() {
        [] => return Vec::new(),
        _ => entry.syntaxes.iter().flat_map(|syntax| super::choices(opcode, syntax)).collect(),
    };
    let same = |a: &Expr, b: &Expr| {
        choices.iter().all(|choice| {
            let scope = Scope { model, opcode, choice, sm: None };
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

fn highest<'a>(requirements: impl Iterator<Item = &'a Requirement>) -> Option<Floor> {
    let version = |version: &Version| (version.major, version.minor);
    let (mut ptx, mut sm) = (None, None);
    for requirement in requirements {
        ptx = ptx.max(requirement.ptx.as_ref().map(version));
        sm = sm.max(requirement.target.as_ref().map(|target| target.sm));
    }
    Some(Floor { ptx: ptx?, sm: sm? })
}

/// The ranges of targets that semantics tell apart: each with the bound it stays below and an SM number in it.
pub(crate) fn target_ranges(semantics: &[Stmt]) -> Vec<(u16, u16)> {
    let mut bounds = BTreeSet::new();
    statements(semantics, &mut bounds);
    let lows = std::iter::once(0).chain(bounds.iter().copied());
    let highs = bounds.iter().copied().chain(std::iter::once(u16::MAX));
    highs.zip(lows).filter(|(high, low)| high > low).collect()
}

fn statements(semantics: &[Stmt], bounds: &mut BTreeSet<u16>) {
    for statement in semantics {
        match statement {
            Stmt::Assign { value, .. } => expression(value, bounds),
            Stmt::If { condition, then, otherwise } => {
                expression(condition, bounds);
                statements(then, bounds);
                statements(otherwise, bounds);
            }
        }
    }
}

fn expression(expr: &Expr, bounds: &mut BTreeSet<u16>) {
    match &expr.kind {
        ExprKind::Target(target) => {
            bounds.insert(target.sm);
        }
        ExprKind::Name(_) | ExprKind::Dotted(_) | ExprKind::Integer(_) | ExprKind::Float(_) => {}
        ExprKind::Unary(_, inner) | ExprKind::As(inner, _) | ExprKind::In(inner, _) | ExprKind::Index(inner, _) => {
            expression(inner, bounds);
        }
        ExprKind::Binary(_, a, b) | ExprKind::Infix(_, a, b) => {
            expression(a, bounds);
            expression(b, bounds);
        }
        ExprKind::Call(_, args) => args.iter().for_each(|arg| expression(arg, bounds)),
        ExprKind::Choose(a, b, c) => [a, b, c].into_iter().for_each(|expr| expression(expr, bounds)),
    }
}
