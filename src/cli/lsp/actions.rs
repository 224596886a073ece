//! Quick fixes: the changes that findings come with.

use std::collections::HashMap;

use lsp_types::{CodeAction, CodeActionContext, CodeActionKind, CodeActionOrCommand, TextEdit, Uri, WorkspaceEdit};
use ptx_isa::diagnostic::{Diagnostic, Fix};

use super::diagnostics::diagnostic;
use super::documents::Document;

/// The quick fixes of what is found within a range, if the client asks for such.
pub(super) fn actions(
    document: &Document,
    uri: &Uri,
    range: lsp_types::Range,
    context: &CodeActionContext,
) -> Vec<CodeActionOrCommand> {
    let wanted = |kind: &CodeActionKind| *kind == CodeActionKind::EMPTY || *kind == CodeActionKind::QUICKFIX;
    if context.only.as_ref().is_some_and(|only| !only.iter().any(wanted)) {
        return Vec::new();
    }
    let (start, end) = (document.offset(range.start), document.offset(range.end));
    let within = |finding: &&Diagnostic| finding.span.start <= end && start <= finding.span.end;
    let findings = document.report.diagnostics.iter().filter(within);
    let fixes = findings.flat_map(|finding| finding.fixes.iter().map(move |fix| action(document, uri, finding, fix)));
    fixes.map(CodeActionOrCommand::CodeAction).collect()
}

fn action(document: &Document, uri: &Uri, finding: &Diagnostic, fix: &Fix) -> CodeAction {
    let edit = TextEdit { range: document.range(&fix.span), new_text: fix.text.clone() };
    #[allow(clippy::mutable_key_type, reason = "the protocol's types are so, and the key does not change")]
    let changes = HashMap::from([(uri.clone(), vec![edit])]);
    let verb = if fix.span.is_empty() { "Insert" } else { "Write" };
    CodeAction {
        title: format!("{verb} `{}`", fix.text),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostic(document, uri, finding)]),
        edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
        is_preferred: Some(finding.fixes.len() == 1),
        ..CodeAction::default()
    }
}
