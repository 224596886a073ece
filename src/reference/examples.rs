//! Examples of the spec with their results, for sample inputs chosen by type.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::sample;
use crate::TABLE;
use crate::table::{Kind, TypeInfo};
use crate::text::Statement;
use crate::text::evaluate::evaluate as compute;
use crate::text::statement::Value;
use crate::value;

/// The rows of an example's table.
#[derive(Debug)]
pub struct Evaluated {
    /// Names of the registers that are read, as spelled in the example.
    pub sources: Vec<String>,
    /// Names of the registers that are written.
    pub destinations: Vec<String>,
    /// Results for each set of sample inputs.
    pub rows: Vec<Row>,
}

/// One row of an example's table.
#[derive(Debug)]
pub struct Row {
    /// Values of the sources.
    pub sources: Vec<String>,
    /// Values of the destinations.
    pub destinations: Vec<String>,
    /// Source values, formatted for a link to the evaluator.
    pub link: String,
}

/// Evaluates an example; returns `None` if it is rejected or has no evaluator.
pub fn evaluate(text: &str) -> Option<Evaluated> {
    let statement = Statement::parse(&TABLE, text).ok().filter(|statement| statement.form().has_evaluator())?;
    let mut evaluated = Evaluated { sources: Vec::new(), destinations: Vec::new(), rows: Vec::new() };
    for row in 0..sample::ROWS {
        let mut read: Vec<(String, u128, &TypeInfo)> = Vec::new();
        let outputs = compute::<u128>(&statement, None, 1, |name, ty| {
            let known = read.iter().find(|(other, ..)| *other == *name).map(|(_, bits, _)| *bits);
            Ok(known.unwrap_or_else(|| {
                let bits = sample_of(&statement, &name, row);
                read.push((name.into_owned(), bits, ty));
                bits
            }))
        });
        let list = outputs.ok()?.list;
        evaluated.sources = read.iter().map(|(name, ..)| name.clone()).collect();
        evaluated.destinations = list.iter().map(|output| output.name.clone()).collect();
        evaluated.rows.push(Row {
            sources: read.iter().map(|(_, bits, ty)| value::show(*bits, ty)).collect(),
            destinations: list.iter().map(|output| value::show(output.bits, output.ty)).collect(),
            link: read.iter().map(|(name, bits, ty)| format!(";{name}={}", brief(*bits, ty))).collect(),
        });
    }
    Some(evaluated)
}

/// A value for a register of a statement; a guard lets it write.
fn sample_of(statement: &Statement<'_>, name: &str, row: usize) -> u128 {
    let sources = statement.operands_with_info().filter(|(info, _)| !info.destination).enumerate();
    let mut named = sources.filter(|(_, (_, operand))| match operand.value {
        Value::Register(register) | Value::Negated(register) => register.to_string() == name,
        _ => false,
    });
    let open = statement.guard().is_none_or(|guard| !guard.negated);
    named.next().map_or(u128::from(open), |(place, (info, _))| sample::of(&TABLE, info, row, place))
}

/// A value as short as an input can be.
fn brief(bits: u128, ty: &TypeInfo) -> String {
    match ty.kind {
        Kind::Predicate => bits.to_string(),
        _ => format!("{bits:#x}"),
    }
}
