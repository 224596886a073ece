//! Document symbols: functions with their contents.

use lsp_types::{DocumentSymbol, DocumentSymbolResponse, Location, SymbolInformation, Uri};
use ptx_isa::text::module::{Symbol, SymbolKind};

use super::documents::Document;

pub(super) fn symbols(document: &Document) -> DocumentSymbolResponse {
    let all = document.index.symbols().iter();
    let functions: Vec<&Symbol> = all.clone().filter(|symbol| is_function(symbol)).collect();
    // Index of the function that contains a symbol; its results and parameters are among its contents.
    let owner = |symbol: &Symbol| {
        let behind = functions.partition_point(|function| function.whole.start <= symbol.name.start);
        let function = behind.checked_sub(1)?;
        (functions[function].whole.contains(&symbol.name.start) && !is_function(symbol)).then_some(function)
    };
    let mut children: Vec<Vec<DocumentSymbol>> = vec![Vec::new(); functions.len()];
    let mut outermost = Vec::new();
    for symbol in all {
        match owner(symbol) {
            Some(function) => children[function].push(shown(document, symbol)),
            None => outermost.push(symbol),
        }
    }
    let mut children = children.into_iter();
    let nested = outermost.into_iter().map(|symbol| {
        let children = is_function(symbol).then(|| children.next()).flatten();
        DocumentSymbol { children, ..shown(document, symbol) }
    });
    DocumentSymbolResponse::Nested(nested.collect())
}

/// Functions and variables of the module whose names contain a text.
pub(super) fn matching(document: &Document, uri: &str, query: &str) -> Vec<SymbolInformation> {
    let Ok(uri) = uri.parse::<Uri>() else { return Vec::new() };
    let query = query.to_ascii_lowercase();
    let is_outermost = |symbol: &&Symbol| symbol.scope.end > document.text.len();
    let all = document.index.symbols().iter().filter(is_outermost).map(|symbol| shown(document, symbol));
    #[allow(deprecated, reason = "the field has to be given")]
    let information = |symbol: DocumentSymbol| SymbolInformation {
        name: symbol.name,
        kind: symbol.kind,
        tags: None,
        deprecated: None,
        location: Location { uri: uri.clone(), range: symbol.range },
        container_name: None,
    };
    all.filter(|symbol| symbol.name.to_ascii_lowercase().contains(&query)).map(information).collect()
}

fn is_function(symbol: &Symbol) -> bool {
    matches!(symbol.kind, SymbolKind::Function { .. })
}

fn shown(document: &Document, symbol: &Symbol) -> DocumentSymbol {
    let kind = match symbol.kind {
        SymbolKind::Function { .. } => lsp_types::SymbolKind::FUNCTION,
        SymbolKind::Register { .. } | SymbolKind::Variable(_) => lsp_types::SymbolKind::VARIABLE,
        SymbolKind::Label => lsp_types::SymbolKind::KEY,
    };
    let detail = match symbol.kind {
        SymbolKind::Label => None,
        _ => Some(document.in_one_line(&symbol.declaration)),
    };
    #[allow(deprecated, reason = "the field has to be given")]
    DocumentSymbol {
        name: document.text[symbol.name.clone()].to_owned(),
        detail,
        kind,
        tags: None,
        deprecated: None,
        range: document.range(&symbol.whole),
        selection_range: document.range(&symbol.name),
        children: None,
    }
}
