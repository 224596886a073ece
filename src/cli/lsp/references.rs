//! Find references.

use ptx_isa::text::module::Name;

use super::documents::Document;

/// Returns the ranges that refer to the name at an offset: one register of a family, or, at its declaration, all of
/// them.
pub(super) fn references(document: &Document, offset: usize, declaration: bool) -> Vec<lsp_types::Range> {
    let index = &document.index;
    let Some((name, symbol)) = index.name_at(offset).and_then(|name| Some((name, index.meaning(name)?))) else {
        return Vec::new();
    };
    let written = |name: &Name| &document.text[name.span.clone()];
    let same = |other: &&Name| match other.declares {
        true => declaration,
        false => name.declares || written(other) == written(name),
    };
    let all = index.names().iter().filter(|other| index.meaning(other) == Some(symbol));
    all.filter(same).map(|name| document.range(&name.span)).collect()
}
