//! Where a name is used.

use ptx_isa::text::module::Name;

use super::documents::Document;

/// The places that name what an offset names: one register of a family, or where it is declared all of them.
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
