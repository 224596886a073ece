//! Inlay hints: the values of floats that are written as bits, and the types of registers where a function first names them.

use std::collections::BTreeSet;

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel};
use ptx_isa::TABLE;
use ptx_isa::text::module::SymbolKind;

use super::documents::Document;

pub(super) fn hints(document: &Document, range: lsp_types::Range) -> Vec<InlayHint> {
    let (text, index) = (&document.text, &document.index);
    let wanted = document.offset(range.start)..document.offset(range.end);
    let mut hints = Vec::new();
    let mut seen = BTreeSet::new();
    for name in index.names() {
        let Some(symbol) = index.meaning(name).filter(|_| !name.declares) else { continue };
        let SymbolKind::Register { ty, .. } = symbol.kind else { continue };
        // The same name in another function means another symbol.
        let is_first = seen.insert((symbol.name.start, &text[name.span.clone()]));
        if is_first && wanted.contains(&name.span.start) {
            hints.push(hint(document, name.span.end, format!(": {}", ty_name(ty)), InlayHintKind::TYPE));
        }
    }
    for part in index.parts().iter().filter(|part| part.mnemonic.is_some()) {
        let words = text[part.span.clone()].split(|letter: char| !letter.is_ascii_alphanumeric());
        for word in words.filter(|word| word.starts_with("0f") || word.starts_with("0F") || word.starts_with("0d")) {
            let end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
            if let Some(value) = value(word).filter(|_| wanted.contains(&end)) {
                hints.push(hint(document, end, format!("= {value}"), InlayHintKind::PARAMETER));
            }
        }
    }
    hints
}

fn ty_name(ty: ptx_isa::table::TypeId) -> String {
    format!(".{}", TABLE.ty(ty).name.trim_start_matches('.'))
}

/// The float that `0f` and eight digits, or `0d` and sixteen, write.
fn value(word: &str) -> Option<String> {
    let digits = &word[2..];
    let bits = u64::from_str_radix(digits, 16).ok()?;
    match (&word.as_bytes()[1], digits.len()) {
        (b'f' | b'F', 8) => Some(single(f32::from_bits(bits as u32))),
        (b'd' | b'D', 16) => Some(format!("{:?}", f64::from_bits(bits))),
        _ => None,
    }
}

/// The shortest decimal that rounds to a float; of large floats with an exponent, as zeros would pretend more digits.
fn single(value: f32) -> String {
    const INTEGERS: f32 = 16_777_216.0;
    if value.is_finite() && value.abs() > INTEGERS { format!("{value:e}") } else { format!("{value:?}") }
}

fn hint(document: &Document, at: usize, label: String, kind: InlayHintKind) -> InlayHint {
    InlayHint {
        position: document.range(&(at..at)).start,
        label: InlayHintLabel::String(label),
        kind: Some(kind),
        text_edits: None,
        tooltip: None,
        padding_left: Some(kind == InlayHintKind::PARAMETER),
        padding_right: None,
        data: None,
    }
}
