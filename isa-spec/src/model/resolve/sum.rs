//! Resolution of sums of products: how each is rounded.

use crate::model::{Rounding, Sum};
use crate::syntax::ast;
use crate::text::Diagnostic;

/// The kinds of sums, each with the attributes that it may have.
const KINDS: [(&str, &[&str]); 8] = [
    ("exact", &[]),
    ("count_and", &[]),
    ("count_xor", &[]),
    ("chained_rn", &["step"]),
    ("chained_rz", &["step"]),
    ("chained_rm", &["step"]),
    ("chained_rp", &["step"]),
    ("fused", &["fraction", "step", "result", "group", "split"]),
];

/// Resolves the kind of a sum and its attributes.
pub(super) fn sum(row: &ast::SumRow) -> Result<Sum, Diagnostic> {
    let Some((kind, attributes)) = KINDS.iter().find(|(name, _)| row.kind == name) else {
        return Err(Diagnostic::new(row.kind.span(), format!("unknown kind of sum `{}`", row.kind))
            .suggest(row.kind.as_ref(), KINDS.map(|(name, _)| name)));
    };
    for (name, value) in &row.attributes {
        if !attributes.iter().any(|known| name == known) || value.value >= 64 {
            let message = format!("a sum of kind `{kind}` does not have `{name} {}`", value.value);
            return Err(Diagnostic::new(name.span(), message).suggest(name.as_ref(), attributes.iter().copied()));
        }
    }
    let value = |wanted: &str| {
        let found = row.attributes.iter().rfind(|(name, _)| name == wanted);
        found.map_or(0, |(_, value)| value.value as u8)
    };
    let step = value("step");
    let chained = |rounding| Sum::Chained { rounding, step };
    Ok(match *kind {
        "exact" => Sum::Exact,
        "count_and" => Sum::CountAnd,
        "count_xor" => Sum::CountXor,
        "chained_rn" => chained(Rounding::Nearest),
        "chained_rz" => chained(Rounding::Zero),
        "chained_rm" => chained(Rounding::Down),
        "chained_rp" => chained(Rounding::Up),
        _ => Sum::Fused {
            fraction: value("fraction"),
            step,
            result: value("result"),
            group: value("group"),
            split: value("split"),
        },
    })
}
