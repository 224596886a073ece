//! The places of a document that name what the cursor is on.

use lsp_types::{DocumentHighlight, DocumentHighlightKind};

use super::documents::Document;
use super::references;

pub(super) fn highlight(document: &Document, offset: usize) -> Vec<DocumentHighlight> {
    let places = references::references(document, offset, true).into_iter();
    places.map(|range| DocumentHighlight { range, kind: Some(DocumentHighlightKind::TEXT) }).collect()
}
