//! How recorded results are written, short words for each vector, and held against the evaluators.

use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, Kind, TypeId};

/// Placeholder for the results of a vector that remained undecided.
pub(crate) const OPEN: &str = "?";

/// Returns the results of a vector as words, from which the values can be recovered if the inputs are known.
///
/// Results that are all predicates form one digit, bit *i* of which is result *i*. Any other result is a digit for the
/// values that comparisons write (zero, all ones, one), `a` or `b` for the first or second source, or its bits in
/// parentheses.
pub(crate) fn word(form: FormInfo, inputs: &[u128], outputs: &[u128]) -> String {
    let results = || form.results().zip(outputs);
    if is_digit(form) {
        return results().enumerate().map(|(place, (_, word))| (word & 1) << place).sum::<u128>().to_string();
    }
    results().map(|((_, ty), word)| value(ty, inputs, word & low(ty))).collect()
}

/// Returns true if a single digit represents all results.
pub(crate) fn is_digit(form: FormInfo) -> bool {
    form.results().all(|(_, ty)| TABLE.ty(ty).kind == Kind::Predicate)
}

fn value(ty: TypeId, inputs: &[u128], word: u128) -> String {
    let lane = TABLE.ty(TABLE.ty(ty).lane);
    let one = match lane.kind {
        Kind::Float => ((1 << (lane.exponent - 1)) - 1) << (lane.bits - 1 - u16::from(lane.exponent)),
        _ => 1,
    };
    match word {
        0 => "0".to_owned(),
        _ if word == low(ty) => "1".to_owned(),
        _ if word == one => "2".to_owned(),
        _ if inputs.first() == Some(&word) => "a".to_owned(),
        _ if inputs.get(1) == Some(&word) => "b".to_owned(),
        _ => format!("({word:x})"),
    }
}

/// All ones of a type.
pub(crate) fn low(ty: TypeId) -> u128 {
    u128::MAX >> (128 - TABLE.ty(ty).bits)
}
