//! Floors: the first PTX version and the lowest target that know a form, and the ranges of targets that semantics
//! tell apart.

use std::collections::BTreeSet;

use crate::ast::{Expr, ExprKind, Stmt, Version};
use crate::choice::{Choice, Scope};
use crate::diagnostic::Diagnostic;
use crate::model::{Entry, Requirement, Syntax};

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

pub(crate) fn floors(scope: Scope<'_>, entry: &Entry, syntax: &Syntax) -> Result<Floors, Diagnostic> {
    let applies = |requirement: &Requirement| match &requirement.condition {
        Some(condition) => scope.holds(condition),
        None => Ok(true),
    };
    let mut strict = Vec::new();
    for requirement in &entry.requires {
        if applies(requirement)? {
            strict.push(requirement);
        }
    }
    let floor = highest(strict.iter().copied()).ok_or_else(|| {
        Diagnostic::new(syntax.span, "a form of this line has no floor")
            .help("`requires` names a PTX version and a target for every form: `ptx 1.0, sm_10;`")
    })?;
    let mut relaxed = None;
    for (requirement, note) in &entry.lenient_floors {
        if !applies(requirement)? {
            continue;
        }
        // It stands in for the requirement of the same condition.
        let replaced = |other: &Requirement| match (&other.condition, &requirement.condition) {
            (Some(a), Some(b)) => same_condition(scope, entry, a, b),
            (None, None) => true,
            _ => false,
        };
        let Some(at) = strict.iter().position(|other| replaced(other)) else {
            return Err(Diagnostic::new(requirement.span, "this lenient floor relaxes no requirement")
                .help("it repeats the condition of a requirement"));
        };
        strict[at] = requirement;
        relaxed = Some(note.clone());
    }
    let lenient = match relaxed {
        Some(note) => {
            let lower = |lenient: &Floor| *lenient != floor && lenient.ptx <= floor.ptx && lenient.sm <= floor.sm;
            highest(strict.into_iter()).filter(lower).map(|lenient| (lenient, note))
        }
        None => None,
    };
    Ok((floor, lenient))
}

/// Whether two conditions hold for the same choices.
fn same_condition(scope: Scope<'_>, entry: &Entry, a: &Expr, b: &Expr) -> bool {
    let agree = |choice: &Choice| {
        let scope = Scope { choice, ..scope };
        matches!((scope.decide(a), scope.decide(b)), (Ok(a), Ok(b)) if a == b)
    };
    entry.syntaxes.iter().flat_map(|syntax| super::choices(scope.opcode, syntax)).all(|choice| agree(&choice))
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
