//! Resolution of sums of products: how each is rounded.

use crate::model::{Rounding, Sum};
use crate::syntax::ast;
use crate::text::Diagnostic;

/// Resolves the kind of a sum and its attributes.
pub(super) fn sum(row: &ast::SumRow) -> Result<Sum, Diagnostic> {
    const KINDS: [(&str, Sum); 7] = [
        ("exact", Sum::Exact),
        ("count_and", Sum::CountAnd),
        ("count_xor", Sum::CountXor),
        ("chained_rn", Sum::Chained(Rounding::Nearest)),
        ("chained_rz", Sum::Chained(Rounding::Zero)),
        ("chained_rm", Sum::Chained(Rounding::Down)),
        ("chained_rp", Sum::Chained(Rounding::Up)),
    ];
    const ATTRIBUTES: [&str; 4] = ["fraction", "step", "result", "group"];
    let fused = row.kind == "fused";
    let mut values = [0; 4];
    for (name, value) in &row.attributes {
        match ATTRIBUTES.iter().position(|known| name == known) {
            Some(place) if fused && value.value < 64 => values[place] = value.value as u8,
            _ => {
                let message = format!("a sum of kind `{}` does not have `{name} {}`", row.kind, value.value);
                let known = if fused { &ATTRIBUTES[..] } else { &[] };
                return Err(Diagnostic::new(name.span(), message).suggest(name.as_ref(), known.iter().copied()));
            }
        }
    }
    let [fraction, step, result, group] = values;
    if fused {
        return Ok(Sum::Fused { fraction, step, result, group });
    }
    let found = KINDS.iter().find(|(name, _)| row.kind == name).map(|(_, sum)| *sum);
    found.ok_or_else(|| {
        let known = KINDS.map(|(name, _)| name).into_iter().chain(["fused"]);
        Diagnostic::new(row.kind.span(), format!("unknown kind of sum `{}`", row.kind))
            .suggest(row.kind.as_ref(), known)
    })
}
