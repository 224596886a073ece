//! Names of generated Rust items, derived from names in a spec.
//!
//! ```
//! use isa_table::names;
//!
//! assert_eq!(names::camel("bool_op"), "BoolOp");
//! assert_eq!(names::snake("CmpOp"), "cmp_op");
//! assert_eq!(names::function("set.lt.u32.f32"), "set_lt_u32_f32");
//! assert_eq!(names::constant("set.lt.u32.f32"), "LT_U32_F32");
//! ```

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// Reserved words of Rust.
const KEYWORDS: [&str; 47] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "typeof", "unsafe",
    "unsized", "use", "virtual", "where", "while", "yield",
];

/// Words that cannot be raw identifiers, and their customary replacements.
const RESPELT: [(&str, &str); 6] =
    [("type", "ty"), ("self", "self_"), ("Self", "Self_"), ("super", "super_"), ("crate", "crate_"), ("_", "__")];

/// Converts a name to an identifier: raw if it is a keyword.
pub fn identifier(name: &str) -> String {
    if let Some((_, other)) = RESPELT.iter().find(|(word, _)| *word == name) {
        return (*other).to_owned();
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("_{name}");
    }
    if KEYWORDS.contains(&name) { format!("r#{name}") } else { name.to_owned() }
}

/// Name of a type or variant: `bool_op`, `cp.async` and `2d` become `BoolOp`, `CpAsync` and `D2`.
pub fn camel(text: &str) -> String {
    let mut name = String::new();
    for part in text.split(|letter: char| !letter.is_ascii_alphanumeric()) {
        let mut letters = part.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    // Names do not begin with digits.
    let letters = name.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if letters.len() < name.len() && letters.starts_with(|first: char| first.is_ascii_alphabetic()) {
        let digits = &name[..name.len() - letters.len()];
        name = letters[..1].to_ascii_uppercase() + &letters[1..] + digits;
    }
    identifier(&name)
}

/// Name of a function, field or operand: `CmpOp` and `cp.async` become `cmp_op` and `cp_async`.
pub fn snake(text: &str) -> String {
    let mut name = String::new();
    for (index, letter) in text.chars().enumerate() {
        if letter.is_ascii_uppercase() {
            // `NaN` is one word.
            let within = index > 1 && text.as_bytes()[index - 2].is_ascii_uppercase();
            if index > 0 && !within && !name.ends_with('_') {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        } else {
            let apart = !letter.is_ascii_alphanumeric();
            if !(apart && name.ends_with('_')) {
                name.push(if apart { '_' } else { letter });
            }
        }
    }
    identifier(&name)
}

/// Name of the function that evaluates a form.
pub fn function(mnemonic: &str) -> String {
    snake(mnemonic)
}

/// Name of a form among the constants of its instruction: its modifiers, or `FORM` if it has none.
pub fn constant(mnemonic: &str) -> String {
    let Some((_, modifiers)) = mnemonic.split_once('.') else { return "FORM".to_owned() };
    let name: String = modifiers
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
        .collect();
    identifier(&name)
}

/// Name of the marker type of an operand: that of its type, followed by the accepted register types where the
/// instruction narrows them. If no register type is accepted, the operand takes constants only.
pub fn marker(ty: &str, narrowed: Option<&[&str]>) -> String {
    let name = camel(ty);
    match narrowed {
        None => name,
        Some([]) => name + "Constant",
        Some(registers) => registers.iter().fold(name + "From", |name, register| name + &camel(register)),
    }
}
