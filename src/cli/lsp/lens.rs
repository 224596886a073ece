//! Code lenses: above each function the minimum PTX version and target that it is accepted with.

use lsp_types::{CodeLens, Command};
use ptx_isa::TABLE;
use ptx_isa::text::module::{self, SymbolKind};

use super::documents::Document;

pub(super) fn lenses(document: &Document) -> Vec<CodeLens> {
    let needs = module::needs(&TABLE, document.text.as_bytes());
    let symbols = document.index.symbols().iter();
    let functions = symbols.filter(|symbol| {
        matches!(symbol.kind, SymbolKind::Function { .. }) && symbol.whole.end > symbol.declaration.end
    });
    functions
        .filter_map(|function| {
            let name = &document.text[function.name.clone()];
            let own = needs.iter().find(|needs| needs.function.as_ref().is_some_and(|own| own.name == name))?;
            let title = match own.minimum() {
                Some(minimum) => format!("needs PTX {}, {}", minimum.ptx, minimum.target),
                None => "is accepted with no PTX version and target".to_owned(),
            };
            let command = Command { title, command: String::new(), arguments: None };
            Some(CodeLens { range: document.range(&function.name), command: Some(command), data: None })
        })
        .collect()
}
