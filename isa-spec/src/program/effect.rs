//! Effects of a form: their operands, free modifiers, and the computation of an update.

use super::Program;
use super::lower::{LowerError, lower_change};
use crate::model::choice::{Choice, Scope, Values, cubes, slots_asked};
use crate::model::{EffectKind, EffectParam, Entry, Pattern};
use crate::syntax::ast::{Expr, ExprKind, Ident, Stmt};
use crate::text::{Diagnostic, Errors};

/// An effect of a form with resolved arguments.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub kind: EffectKind,
    pub result: Option<usize>,
    pub arguments: Vec<Option<Argument>>,
    /// New value, computed from the sources of the form followed by the old value.
    pub change: Option<Program>,
    /// Values of free modifiers with which it happens: all of these.
    pub when: Values,
}

/// Argument of an effect.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    /// Index of an operand.
    Operand(usize),
    /// Slot of a modifier.
    Word(usize),
    /// Index of a summation.
    Summation(usize),
    /// Index of a bit layout.
    Layout(usize),
    /// Index of a type.
    Type(usize),
    Number(u8),
}

/// Resolves the effects of a form, in order.
pub(crate) fn effects(scope: Scope<'_>, entry: &Entry, patterns: &[Pattern]) -> Result<Vec<Lowered>, Errors> {
    let mut list = Vec::new();
    block(scope, entry, patterns, &entry.effects, &Values::new(), &mut list)?;
    Ok(list)
}

fn block(
    scope: Scope<'_>,
    entry: &Entry,
    patterns: &[Pattern],
    statements: &[Stmt],
    when: &Values,
    list: &mut Vec<Lowered>,
) -> Result<(), Errors> {
    for statement in statements {
        let mut push = |lowered: Lowered| list.push(Lowered { when: when.clone(), ..lowered });
        match statement {
            Stmt::If { condition, then, otherwise } => {
                let mut slots = Vec::new();
                slots_asked(condition, scope.opcode, &mut slots);
                slots.retain(|slot| scope.opcode.slots[*slot].free);
                if slots.is_empty() {
                    let branch = if scope.holds(condition)? { then } else { otherwise };
                    block(scope, entry, patterns, branch, when, list)?;
                    continue;
                }
                // The values of free modifiers are known only per statement, so both branches are lowered under their
                // conditions.
                for (holds, branch) in [(true, then), (false, otherwise)] {
                    let chosen = |free: &Choice| {
                        let choice = scope.choice.with(free, &slots);
                        Ok(Scope { choice: &choice, free: true, ..scope }.holds(condition)? == holds)
                    };
                    for cube in cubes(scope.opcode, &slots, chosen)? {
                        let both = when.iter().copied().chain(cube).collect();
                        block(scope, entry, patterns, branch, &both, list)?;
                    }
                }
            }
            Stmt::Effect { call } => push(effect(scope, entry, patterns, None, call)?),
            Stmt::Assign { target, value } => push(effect(scope, entry, patterns, Some(target), value)?),
            Stmt::Unspecified { target, .. } => {
                return Err(Diagnostic::new(target.span(), "an effect gives a value that is specified").into());
            }
        }
    }
    Ok(())
}

fn effect(
    scope: Scope<'_>,
    entry: &Entry,
    patterns: &[Pattern],
    target: Option<&Ident>,
    call: &Expr,
) -> Result<Lowered, Errors> {
    let model = scope.model;
    let ExprKind::Call(name, ty, given) = &call.kind else {
        return Err(Diagnostic::new(call.span, "a statement is an assignment or an effect").into());
    };
    let Some(declared) = model.effects.iter().find(|effect| name == effect.kind.name()) else {
        let names = model.effects.iter().map(|effect| effect.kind.name());
        let mistake = Diagnostic::new(name.span(), format!("unknown effect `{name}`"));
        return Err(mistake.suggest(name.as_ref(), names).into());
    };
    if target.is_some() && !declared.result {
        return Err(Diagnostic::new(call.span, format!("the effect `{name}` gives no value")).into());
    }
    let more = declared.params.last() == Some(&EffectParam::Types);
    if given.len() > declared.params.len() && !more {
        let message = format!("the effect `{name}` has {} parameters", declared.params.len());
        return Err(Diagnostic::new(call.span, message).into());
    }
    let result = match target {
        Some(target) => Some(
            operand(entry, patterns, target)?
                .ok_or_else(|| Diagnostic::new(target.span(), format!("this syntax line has no operand `{target}`")))?,
        ),
        None => None,
    };
    let mut lowered = Lowered { kind: declared.kind, result, arguments: Vec::new(), change: None, when: Values::new() };
    // The types are all that follow.
    for (param, argument) in declared.params.iter().chain(std::iter::repeat(&EffectParam::Types)).zip(given) {
        let found = match (param, &argument.kind) {
            // An omitted argument before other arguments.
            (EffectParam::Operand | EffectParam::Word, ExprKind::Name(name)) if name == "_" => None,
            (EffectParam::Operand, ExprKind::Name(name)) => operand(entry, patterns, name)?.map(Argument::Operand),
            (EffectParam::Word, ExprKind::Dotted(name)) => {
                let slot = scope.slot(name.as_ref()).ok_or_else(|| {
                    Diagnostic::new(name.span(), format!("no syntax line has the modifier `.{name}`"))
                })?;
                Some(Argument::Word(slot))
            }
            (EffectParam::Program, _) => {
                let ty = ty.as_ref().ok_or_else(|| {
                    Diagnostic::new(call.span, "missing type of the updated value")
                        .help("write the type after the name of the effect")
                })?;
                let own = match (declared.kind, result) {
                    (EffectKind::Inspect, Some(place)) => {
                        let operand = &entry.operands[patterns[place].operand];
                        scope.opcode.operand_type(model, operand, scope.choice)
                    }
                    _ => None,
                };
                let provided = match declared.kind {
                    EffectKind::BeginReduce
                    | EffectKind::BeginReduceTensor
                    | EffectKind::ConvertElement
                    | EffectKind::Fold => Some("new"),
                    EffectKind::Signal => Some("moved"),
                    _ => None,
                };
                let change =
                    lower_change(scope, entry, patterns, (ty, own), provided, argument).map_err(
                        |error| match error {
                            LowerError::Spec(diagnostic) => Errors::from(*diagnostic),
                            LowerError::Mistakes(errors) => errors,
                            LowerError::Domain(_) | LowerError::Broken => {
                                Diagnostic::new(argument.span, "an operator does not work on this type").into()
                            }
                        },
                    )?;
                lowered.change = Some(change);
                None
            }
            (EffectParam::Summation, ExprKind::Name(name)) => {
                let found = model.summations.iter().position(|summation| name == &summation.name);
                Some(Argument::Summation(found.ok_or_else(|| {
                    let names = model.summations.iter().map(|summation| summation.name.as_str());
                    Diagnostic::new(name.span(), format!("unknown summation `{name}`")).suggest(name.as_ref(), names)
                })?))
            }
            (EffectParam::Layout, ExprKind::Name(name)) => {
                let found = model.layouts.iter().position(|layout| name == &layout.name);
                Some(Argument::Layout(found.ok_or_else(|| {
                    let names = model.layouts.iter().map(|layout| layout.name.as_str());
                    Diagnostic::new(name.span(), format!("unknown layout `{name}`")).suggest(name.as_ref(), names)
                })?))
            }
            (EffectParam::Types, ExprKind::Dotted(name)) => {
                let found = model.type_ids().find(|(_, ty)| name == &ty.name).map(|(id, _)| id.index());
                Some(Argument::Type(
                    found
                        .filter(|index| *index < 255)
                        .ok_or_else(|| Diagnostic::new(name.span(), format!("unknown type `.{name}`")))?,
                ))
            }
            // An omitted type.
            (EffectParam::Types, ExprKind::Name(name)) if name == "_" => None,
            (EffectParam::Number, ExprKind::Integer(number)) if *number < 255 => Some(Argument::Number(*number as u8)),
            (EffectParam::Number, _) => {
                return Err(Diagnostic::new(argument.span, "a literal number below 255 is expected here").into());
            }
            (EffectParam::Layout, _) => {
                return Err(Diagnostic::new(argument.span, "the name of a layout is expected here").into());
            }
            (EffectParam::Types, _) => {
                return Err(Diagnostic::new(argument.span, "a type, or `_` for none, is expected here").into());
            }
            (EffectParam::Summation, _) => {
                return Err(Diagnostic::new(argument.span, "the name of a summation is expected here").into());
            }
            (EffectParam::Operand, _) => {
                return Err(Diagnostic::new(argument.span, "an operand of the entry is expected here").into());
            }
            (EffectParam::Word, _) => {
                return Err(Diagnostic::new(argument.span, "a modifier is expected here").into());
            }
        };
        lowered.arguments.push(found);
    }
    let count = lowered.arguments.len().max(declared.params.len());
    lowered.arguments.resize(count, None);
    Ok(lowered)
}

/// Index of an operand; `None` if this line does not have it.
fn operand(entry: &Entry, patterns: &[Pattern], name: &Ident) -> Result<Option<usize>, Errors> {
    let Some(index) = entry.operands.iter().position(|operand| name == &operand.name) else {
        let names = entry.operands.iter().map(|operand| operand.name.as_str());
        let mistake = Diagnostic::new(name.span(), format!("the entry has no operand `{name}`"));
        return Err(mistake.suggest(name.as_ref(), names).into());
    };
    Ok(patterns.iter().position(|pattern| pattern.operand == index))
}
