//! Names in Rust for names in specs.

use proc_macro2::{Ident, Span};

/// `set.lt.u32.f32` and `bool_op` become `SetLtU32F32` and `BoolOp`.
pub(crate) fn camel(text: &str) -> Ident {
    let mut name = String::new();
    for part in text.split(['.', '_', ':']) {
        let mut chars = part.chars();
        name.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(chars.as_str());
    }
    ident(&name)
}

/// `CmpOp` and `set.lt.u32.f32` become `cmp_op` and `set_lt_u32_f32`.
pub(super) fn snake(text: &str) -> Ident {
    let mut name = String::new();
    for (index, char) in text.chars().enumerate() {
        if char.is_ascii_uppercase() {
            if index > 0 && !name.ends_with('_') {
                name.push('_');
            }
            name.push(char.to_ascii_lowercase());
        } else {
            name.push(if char.is_ascii_alphanumeric() { char } else { '_' });
        }
    }
    // The one keyword that manuals are fond of has a customary spelling.
    ident(if name == "type" { "ty" } else { &name })
}

/// An identifier; Rust's keywords become raw ones.
pub(crate) fn ident(name: &str) -> Ident {
    match syn::parse_str::<Ident>(name) {
        Ok(ident) => ident,
        Err(_) if name.starts_with(|c: char| c.is_ascii_digit()) => Ident::new(&format!("_{name}"), Span::call_site()),
        Err(_) => Ident::new_raw(name, Span::call_site()),
    }
}
