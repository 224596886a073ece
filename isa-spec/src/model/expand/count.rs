//! Vector lengths that are derived from modifiers.

use super::letters::number_at;
use super::{Named, is_word};
use crate::syntax::ast::{
    BinaryOp, Count, Expr, ExprKind, Factor, Ident, Instruction, Number, OperandKind, SetBody, TypeCase,
};
use crate::text::{Diagnostic, Errors};

/// Replaces each length that refers to modifiers by one case for each of their words. Words without a valid length have
/// no case.
pub(super) fn fill(entry: &mut Instruction, named: &Named, errors: &mut Errors) {
    let mut operands = std::mem::take(&mut entry.operands);
    for operand in &mut operands {
        let cases = std::mem::take(&mut operand.cases);
        for case in cases {
            match &case.what {
                OperandKind::Value { count: Some(count), map, ty } if !is_number(count) => {
                    let chosen = choices(count, entry, named, errors);
                    for (condition, length) in chosen {
                        let number = Number { value: length, span: ty.span() };
                        let count = Some(Count { first: Factor::Number(number), rest: Vec::new() });
                        let what = OperandKind::Value { count, map: map.clone(), ty: ty.clone() };
                        let condition = both(condition, case.condition.clone());
                        operand.cases.push(TypeCase { what, spaces: case.spaces.clone(), condition });
                    }
                }
                _ => operand.cases.push(case),
            }
        }
    }
    entry.operands = operands;
}

fn is_number(count: &Count) -> bool {
    count.rest.is_empty() && matches!(count.first, Factor::Number(_))
}

fn both(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => {
            Some(Expr { span: b.span, kind: ExprKind::Binary(BinaryOp::LogicalAnd, Box::new(a), Box::new(b)) })
        }
        (a, b) => a.or(b),
    }
}

/// Combinations of words for the modifiers of a length, as conditions, with the resulting length.
fn choices(count: &Count, entry: &Instruction, named: &Named, errors: &mut Errors) -> Vec<(Option<Expr>, u32)> {
    let mut asked: Vec<(&Ident, Vec<Ident>)> = Vec::new();
    for factor in std::iter::once(&count.first).chain(count.rest.iter().map(|(_, factor)| factor)) {
        let Factor::Of { modifier, .. } = factor else { continue };
        if asked.iter().any(|(other, _)| *other == modifier.as_ref()) {
            continue;
        }
        let set = entry.sets.iter().find(|set| set.name == modifier.as_ref()).map(|set| &set.body);
        let words = match set {
            Some(SetBody::Listed { members, .. }) => Some(members.clone()),
            _ => named.members.get(modifier.as_ref()).cloned(),
        };
        match words {
            Some(words) => asked.push((modifier, words)),
            None => {
                let message = format!("`.{modifier}` is not a set of words in this entry");
                errors.push(Diagnostic::new(modifier.span(), message));
                return Vec::new();
            }
        }
    }
    let mut found = Vec::new();
    let mut chosen: Vec<(&Ident, &Ident)> = Vec::new();
    combine(&asked, &mut chosen, &mut |chosen| {
        if let Some(length) = length(count, chosen) {
            let conditions = chosen.iter().map(|(modifier, word)| is_word(modifier, word, modifier.span()));
            let condition = conditions.map(Some).reduce(both).flatten();
            found.push((condition, length));
        }
    });
    if found.is_empty() {
        let span = asked.first().map_or_else(proc_macro2::Span::call_site, |(modifier, _)| modifier.span());
        errors.push(Diagnostic::new(span, "no word of this modifier has such a number"));
    }
    found
}

/// A modifier and the word chosen for it.
type Chosen<'a> = (&'a Ident, &'a Ident);

fn combine<'a>(
    rest: &'a [(&'a Ident, Vec<Ident>)],
    chosen: &mut Vec<Chosen<'a>>,
    visit: &mut dyn FnMut(&[Chosen<'a>]),
) {
    let Some(((modifier, words), rest)) = rest.split_first() else { return visit(chosen) };
    for word in words {
        chosen.push((modifier, word));
        combine(rest, chosen, visit);
        chosen.pop();
    }
}

/// Length for these words; `None` if it is not an integer.
fn length(count: &Count, chosen: &[(&Ident, &Ident)]) -> Option<u32> {
    let value = |factor: &Factor| match factor {
        Factor::Number(number) => Some(number.value),
        Factor::Of { modifier, letters } => {
            let (_, word) = chosen.iter().find(|(other, _)| *other == modifier.as_ref())?;
            number_at(word.as_ref(), letters.as_ref())
        }
    };
    let mut length = value(&count.first)?;
    for (divides, factor) in &count.rest {
        let factor = value(factor)?;
        length = match divides {
            true => Some(length / factor).filter(|whole| whole * factor == length)?,
            false => length.checked_mul(factor)?,
        };
    }
    (1..=isa_table::limits::ELEMENTS).contains(&length).then_some(length)
}
