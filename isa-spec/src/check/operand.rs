//! Operands of a form: their types, and what may be written for them. This is decided here once: the table holds the
//! decision, and the reference describes it.

use isa_table::matrix::ShareBuf;
use isa_table::table::{ForbiddenBuf, OperandBuf, SecondBuf, Substitute, TypeId};

use super::Form;
use crate::model::choice::{Choice, Scope};
use crate::model::{
    ADDRESS, Entry, Kind, Model, Opcode, OperandKind, Pattern, Permission, Spaces, SubstituteRule, TypeSet,
};
use crate::text::{Diagnostic, Errors, one_line};

/// Checks that every operand has a type that registers hold.
///
/// # Errors
///
/// The first operand without one.
pub(super) fn check_types(
    model: &Model,
    opcode: &Opcode,
    entry: &Entry,
    patterns: &[Pattern],
    choice: &Choice,
) -> Result<(), Errors> {
    let second = |pattern: &Pattern| pattern.second.as_ref().map(|(second, _)| *second);
    for operand in patterns.iter().flat_map(|pattern| [Some(pattern.operand), second(pattern)]).flatten() {
        let operand = &entry.operands[operand];
        let Some((case, ty)) = opcode.operand_case(model, operand, choice)? else {
            let message = format!("a syntax line leaves the type of `{}` open", operand.name);
            return Err(Diagnostic::new(operand.span, message).into());
        };
        if case.kind != OperandKind::Scalar && entry.semantics.is_some() {
            let message = format!("operand `{}` of an entry with semantics must be a value", operand.name);
            return Err(Diagnostic::new(operand.span, message).into());
        }
        if case.kind == OperandKind::Address && model.address_registers().is_empty() {
            let message = format!("missing class `{ADDRESS}`: it lists the registers that hold addresses");
            return Err(Diagnostic::new(operand.span, message).into());
        }
        if case.kind.is_value()
            && model.registers_of(operand, case.kind, ty).is_empty()
            && !(operand.immediate || operand.sink)
        {
            let message =
                format!("no register type holds `.{}`, the type of operand `{}`", model.ty(ty).name, operand.name);
            return Err(Diagnostic::new(operand.span, message)
                .help("list register types in `registers { … }`, here or at the declaration of the type")
                .into());
        }
    }
    Ok(())
}

/// Decides what may be written for each operand of a form.
///
/// # Errors
///
/// If a condition of the operands cannot be evaluated.
pub(super) fn operands(model: &Model, opcode: &Opcode, form: &Form) -> Result<Vec<OperandBuf>, Errors> {
    form.patterns.iter().map(|pattern| operand(model, opcode, form, pattern)).collect()
}

fn operand(model: &Model, opcode: &Opcode, form: &Form, pattern: &Pattern) -> Result<OperandBuf, Errors> {
    let entry = &opcode.entries[form.entry];
    let operand = &entry.operands[pattern.operand];
    let case = opcode.operand_case(model, operand, &form.choice)?;
    let (case, ty) = case.expect("the types were checked");
    let scope = Scope { model, opcode, choice: &form.choice, sm: None, free: false };
    let mut rules: Vec<&SubstituteRule> = Vec::new();
    for rule in &operand.substitutes {
        if rule.condition.as_ref().map_or(Ok(true), |condition| scope.holds(condition))? {
            rules.push(rule);
        }
    }
    // The last rule about a substitute counts.
    let said =
        |substitute: Substitute| rules.iter().rev().find(|rule| rule.kinds.contains(&substitute)).map(|rule| rule.with);
    let refused = |register: &TypeId| rules.iter().any(|rule| rule.registers.has(*register));
    let may = |substitute: Substitute| said(substitute).unwrap_or(substitute.is_usual());
    let floor_of = |operand: usize| {
        let found = form.operand_floors.iter().find(|(of, _)| *of == operand);
        found.map(|(_, floor)| floor.clone())
    };
    let destination = pattern.destination;
    // A minus is allowed before registers of a single number.
    let minus = pattern.around.minus;
    let number = |register: &TypeId| !minus || model.ty(*register).kind != Kind::Packed;
    let listed = operand.registers.is_some();
    let registers: TypeSet = model
        .registers_of(operand, case.kind, ty)
        .iter()
        .filter(|register| number(register) && !refused(register))
        .collect();
    let is_predicate = |ty: TypeId| model.ty(ty).kind == Kind::Predicate;
    Ok(OperandBuf {
        name: entry.shown(model, pattern).to_owned(),
        kind: case.kind,
        ty,
        space: match case.spaces {
            Spaces::Slot(slot) => Some(slot as u8),
            Spaces::Listed(_) => None,
        },
        spaces: match &case.spaces {
            Spaces::Slot(_) => Vec::new(),
            Spaces::Listed(list) => list.clone(),
        },
        registers,
        destination,
        second: pattern.second.as_ref().map(|(place, optional)| {
            let second = &entry.operands[*place];
            let ty = opcode.operand_type(model, second, &form.choice).expect("the types were checked");
            SecondBuf {
                name: second.name.clone(),
                ty,
                registers: model.registers_of(second, OperandKind::Scalar, ty),
                optional: noted(optional),
                floor: floor_of(*place),
            }
        }),
        trailing_sink: noted(&pattern.trailing_sink),
        // Only predicates can be negated, whatever the syntax line allows.
        negation: match is_predicate(ty) || registers.iter().any(is_predicate) {
            true => noted(&pattern.negation),
            false => Permission::No,
        },
        sink: operand.sink,
        sinks: operand.sinks,
        constants: !destination && !minus && may(Substitute::Constants),
        within: operand.within.clone(),
        listed_constants: !destination && said(Substitute::Constants) == Some(true),
        sums: !destination && !minus && may(Substitute::Sums),
        elements: may(Substitute::Elements),
        functions: !destination && !minus && !listed && may(Substitute::Functions),
        specials: !destination && may(Substitute::Specials),
        addresses: !destination && may(Substitute::Addresses),
        mixtures: may(Substitute::Mixtures),
        numbers: may(Substitute::Numbers),
        bare: may(Substitute::Bare),
        longer: may(Substitute::Longer),
        selector: pattern.selector.as_ref().map(|selector| {
            let mut spelling = selector.spelling.clone();
            spelling.omission = noted(&spelling.omission);
            spelling
        }),
        optional: pattern.optional,
        floor: floor_of(pattern.operand),
        around: pattern.around,
        state: operand.state.as_ref().map(|state| state.number as u8),
        fragments: entry
            .shares(model, opcode, (pattern.operand, &form.choice))?
            .into_iter()
            .map(|(_, share, when)| ShareBuf {
                fragment: share.fragment as u8,
                parts: share.parts as u8,
                when: values(&when),
            })
            .collect(),
    })
}

/// Joins the lines of a permission's note.
fn noted(permission: &Permission<String>) -> Permission<String> {
    match permission {
        Permission::No => Permission::No,
        Permission::Yes => Permission::Yes,
        Permission::Lenient(note) => Permission::Lenient(one_line(note)),
    }
}

/// Slots with the values that they must have.
pub(crate) fn values(list: &[(usize, u64)]) -> Vec<ForbiddenBuf> {
    list.iter().map(|(slot, values)| ForbiddenBuf { slot: *slot as u8, values: *values }).collect()
}
