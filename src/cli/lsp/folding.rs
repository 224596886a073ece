//! Folding ranges: bodies of functions, and comments of several lines.

use lsp_types::{FoldingRange, FoldingRangeKind};
use ptx_isa::text::module::SymbolKind;

use super::documents::Document;

pub(super) fn ranges(document: &Document) -> Vec<FoldingRange> {
    let functions = document.index.symbols().iter().filter(|symbol| {
        let is_function = matches!(symbol.kind, SymbolKind::Function { .. });
        is_function && symbol.whole.end > symbol.declaration.end
    });
    let mut folds: Vec<FoldingRange> = functions
        .filter_map(|function| {
            let (start, end) = (document.range(&function.declaration).end, document.range(&function.whole).end);
            fold(start.line, end.line, FoldingRangeKind::Region)
        })
        .collect();
    let mut first = None;
    let lines = document.text.lines().map(|line| line.trim_start().starts_with("//")).chain([false]);
    for (number, is_comment) in (0..).zip(lines) {
        if is_comment {
            first.get_or_insert(number);
        } else if let Some(first) = first.take() {
            folds.extend(fold(first, number - 1, FoldingRangeKind::Comment));
        }
    }
    folds
}

fn fold(start_line: u32, end_line: u32, kind: FoldingRangeKind) -> Option<FoldingRange> {
    (start_line < end_line).then(|| FoldingRange { start_line, end_line, kind: Some(kind), ..FoldingRange::default() })
}
