//! Rust types and expressions for the types and values of a spec.

use isa_table::names::snake;

use crate::model::{Kind, Model, Param, TypeId};
use crate::program::Callee;

/// Rust type of one lane.
pub(super) fn lane_type(model: &Model, lane: TypeId) -> String {
    let ty = model.ty(lane);
    match (ty.kind, ty.bits) {
        (Kind::Predicate, _) => "bool".to_owned(),
        (Kind::Bits | Kind::Unsigned | Kind::Packed | Kind::Minifloat, bits) => format!("u{}", storage(bits)),
        (Kind::Signed, bits) => format!("i{}", storage(bits)),
        (Kind::Float, 32 | 64) => format!("f{}", ty.bits),
        (Kind::Float, _) => format!("rt::{}", ty.name),
    }
}

/// Width of the Rust integer that stores `bits` bits.
pub(super) fn storage(bits: u32) -> u32 {
    bits.next_power_of_two().max(8)
}

/// Rust type of a whole value of a type.
pub(super) fn whole_type(model: &Model, id: TypeId) -> String {
    let ty = model.ty(id);
    let lane = lane_type(model, ty.lane);
    if ty.lanes == 1 { lane } else { format!("[{lane}; {}]", ty.lanes) }
}

/// Name of a builtin's body: type names as in a mnemonic, the result's first, and words as constants.
///
/// ```text
/// builtin convert<T: .f32; U: .s32>(a: T, r: Rounding) -> U;      convert_s32_f32::<{ rt::rounding::RZ }>
/// ```
pub(super) fn body(model: &Model, callee: &Callee) -> String {
    let (name, words) = (body_name(model, callee), words(model, callee));
    if words.is_empty() { name } else { format!("{name}::<{}>", words.join(", ")) }
}

/// Name of a builtin's body without words.
pub(super) fn body_name(model: &Model, callee: &Callee) -> String {
    let name = &model.builtins[callee.builtin.0].signature.name;
    let types: String = callee.to.iter().chain(&callee.ty).map(|ty| format!("_{}", model.ty(*ty).name)).collect();
    if types.is_empty() { isa_table::names::identifier(name) } else { format!("{name}{types}") }
}

/// Name of an operation: that of its body, and a dot before each word, as in `add_f32.rz`.
pub(super) fn operation_name(model: &Model, callee: &Callee) -> String {
    let words = callee.modes.iter().map(|(words, member)| &model.operators[words.0].members[*member].name);
    words.fold(body_name(model, callee), |name, word| name + "." + word)
}

/// Words that a builtin's body is instantiated with, as constants.
pub(super) fn words(model: &Model, callee: &Callee) -> Vec<String> {
    let words = callee.modes.iter().map(|(words, member)| {
        let words = &model.operators[words.0];
        format!("{{ rt::{}::{} }}", snake(&words.name), snake(&words.members[*member].name).to_ascii_uppercase())
    });
    words.collect()
}

/// Type of a parameter in a call.
pub(super) fn concrete(param: Param, callee: &Callee) -> Option<TypeId> {
    match param {
        Param::Type(id) => Some(id),
        Param::Generic | Param::GenericLanes => callee.ty,
        Param::To => callee.to,
        Param::Pick(_) => None,
    }
}

/// Converts one lane to an unsigned integer of its width.
pub(super) fn to_bits(model: &Model, lane: TypeId, value: &str) -> String {
    match model.ty(lane).kind {
        Kind::Float => format!("{value}.to_bits()"),
        Kind::Signed => format!("{value}.cast_unsigned()"),
        Kind::Predicate | Kind::Bits | Kind::Unsigned | Kind::Packed | Kind::Minifloat => value.to_owned(),
    }
}

/// Converts an unsigned integer to one lane of its width.
pub(super) fn from_bits(model: &Model, lane: TypeId, word: &str) -> String {
    match model.ty(lane).kind {
        Kind::Float => format!("{}::from_bits({word})", lane_type(model, lane)),
        Kind::Signed => format!("{word}.cast_signed()"),
        Kind::Predicate | Kind::Bits | Kind::Unsigned | Kind::Packed | Kind::Minifloat => word.to_owned(),
    }
}

/// Returns true if a text is a single name, number or bracketed expression, so that a postfix operator may follow.
pub(super) fn is_atom(text: &str) -> bool {
    // Words of a call, `::<{ … }>`, are part of its name.
    if let Some((name, rest)) = text.split_once("::<{")
        && let Some((_, behind)) = rest.split_once("}>")
    {
        return is_atom(&format!("{name}{behind}"));
    }
    let mut depth = 0;
    for (index, letter) in text.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ if depth > 0 || letter.is_alphanumeric() || matches!(letter, '_' | ':' | '.' | '#') => {}
            _ => return false,
        }
        if depth == 0 && text.starts_with('(') && index + 1 < text.len() && letter == ')' {
            return text[index + 1..].starts_with(['.', '[']);
        }
    }
    true
}

/// Adds parentheses unless the text is an atom.
pub(super) fn atom(text: &str) -> String {
    if is_atom(text) { text.to_owned() } else { format!("({text})") }
}
