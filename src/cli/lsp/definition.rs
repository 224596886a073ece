//! Go to definition.

use super::documents::Document;

pub(super) fn definition(document: &Document, offset: usize) -> Option<lsp_types::Range> {
    let name = document.index.name_at(offset)?;
    Some(document.range(&document.index.meaning(name)?.name))
}
