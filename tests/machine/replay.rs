//! How recorded results are written, a short word for each vector, and held against the evaluators.

use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, Kind};

/// The result of a vector as a word: exactly one value has it, the inputs being known.
///
/// A digit for predicates (the second destination counts two) and for the values that comparisons write (zero, all
/// ones, 1.0), `a` or `b` for the first or second source, and else the bits in parentheses.
pub(crate) fn word(form: FormInfo, inputs: &[u128], outputs: &[u128]) -> String {
    let (first, second) = (outputs[0], outputs.get(1).copied().unwrap_or(0));
    let destination = form.operands().iter().find(|operand| operand.destination).expect("a form writes something");
    let ty = TABLE.ty(destination.ty);
    let lane = TABLE.ty(ty.lane);
    let ones = ones(form);
    let one = match lane.kind {
        Kind::Float => ((1 << (lane.exponent - 1)) - 1) << (lane.bits - 1 - u16::from(lane.exponent)),
        _ => 1,
    };
    match ty.kind {
        Kind::Predicate => (first & 1 | (second & 1) << 1).to_string(),
        _ if first == 0 => "0".to_owned(),
        _ if first == ones => "1".to_owned(),
        _ if first == one => "2".to_owned(),
        _ if inputs.first() == Some(&first) => "a".to_owned(),
        _ if inputs.get(1) == Some(&first) => "b".to_owned(),
        _ => format!("({first:x})"),
    }
}

/// All ones of the destination's type.
pub(crate) fn ones(form: FormInfo) -> u128 {
    let destination = form.operands().iter().find(|operand| operand.destination).expect("a form writes something");
    let bits = TABLE.ty(destination.ty).bits;
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// The words of a line, one a vector.
pub(crate) fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if first == '(' { rest.find(')').map_or(rest.len(), |end| end + 1) } else { first.len_utf8() };
        words.push(&rest[..length]);
        rest = &rest[length..];
    }
    words
}
