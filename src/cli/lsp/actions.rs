//! Quick fixes, the changes that findings come with, and all of them at once that keep the meaning of the text.

use std::collections::HashMap;

use lsp_types::{CodeAction, CodeActionContext, CodeActionKind, CodeActionOrCommand, TextEdit, Uri, WorkspaceEdit};
use ptx_isa::diagnostic::{Diagnostic, Fix};
use ptx_isa::text::module;

use super::diagnostics::{diagnostic, place};
use super::documents::Document;

/// The quick fixes of what is found within a range, and what fixes all of a document, as far as the client asks for them.
pub(super) fn actions(
    document: &Document,
    uri: &Uri,
    range: lsp_types::Range,
    context: &CodeActionContext,
) -> Vec<CodeActionOrCommand> {
    // A client that asks for a kind asks for those below it: `source` is asked for by those who want `source.fixAll`.
    let asks = |kind: &CodeActionKind, asked: &CodeActionKind| {
        *asked == CodeActionKind::EMPTY
            || kind.as_str().strip_prefix(asked.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let is_asked =
        |kind: CodeActionKind| context.only.as_ref().is_none_or(|only| only.iter().any(|asked| asks(&kind, asked)));
    let mut actions = Vec::new();
    if is_asked(CodeActionKind::QUICKFIX) {
        actions.extend(quick_fixes(document, uri, range));
    }
    // Without an explicit request, actions concern the place of the cursor only.
    if context.only.is_some() && is_asked(CodeActionKind::SOURCE_FIX_ALL) {
        actions.extend(fix_all(document, uri));
    }
    actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()
}

/// All edits that keep the meaning of the text.
fn fix_all(document: &Document, uri: &Uri) -> Option<CodeAction> {
    let edits = module::edits(&document.report.diagnostics, |_, fix| fix.safe);
    let edits: Vec<TextEdit> = edits.into_iter().map(|fix| edit(document, fix)).collect();
    (!edits.is_empty()).then(|| CodeAction {
        title: "Apply all safe fixes".to_owned(),
        kind: Some(CodeActionKind::SOURCE_FIX_ALL),
        edit: Some(changes(uri, edits)),
        ..CodeAction::default()
    })
}

fn quick_fixes(document: &Document, uri: &Uri, range: lsp_types::Range) -> Vec<CodeAction> {
    let (start, end) = (document.offset(range.start), document.offset(range.end));
    let within = |finding: &&Diagnostic| {
        let place = place(document, finding);
        place.start <= end && start <= place.end
    };
    let findings = document.report.diagnostics.iter().filter(within);
    let fixes = findings.flat_map(|finding| finding.fixes.iter().map(move |fix| action(document, uri, finding, fix)));
    fixes.collect()
}

fn action(document: &Document, uri: &Uri, finding: &Diagnostic, fix: &Fix) -> CodeAction {
    let verb = if fix.span.is_empty() { "Insert" } else { "Write" };
    CodeAction {
        title: match fix.text.is_empty() {
            true => format!("Remove `{}`", &document.text[fix.span.clone()]),
            false => format!("{verb} `{}`", fix.text),
        },
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostic(document, uri, finding)]),
        edit: Some(changes(uri, vec![edit(document, fix)])),
        is_preferred: Some(finding.fixes.len() == 1),
        data: Some(serde_json::json!({ "safe": fix.safe })),
        ..CodeAction::default()
    }
}

fn edit(document: &Document, fix: &Fix) -> TextEdit {
    TextEdit { range: document.range(&fix.span), new_text: fix.text.clone() }
}

#[allow(clippy::mutable_key_type, reason = "the protocol's types are so, and the key does not change")]
fn changes(uri: &Uri, edits: Vec<TextEdit>) -> WorkspaceEdit {
    WorkspaceEdit { changes: Some(HashMap::from([(uri.clone(), edits)])), ..WorkspaceEdit::default() }
}
