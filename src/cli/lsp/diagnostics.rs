//! Conversion of diagnostics to the protocol's.

use lsp_types::{DiagnosticRelatedInformation, DiagnosticSeverity, NumberOrString, Uri};
use ptx_isa::diagnostic::{Code, Diagnostic, Severity};

use super::documents::Document;
use super::location;
use crate::cli::findings::in_full;

/// All findings of a document.
pub(super) fn diagnostics(document: &Document, uri: &Uri) -> Vec<lsp_types::Diagnostic> {
    document.report.diagnostics.iter().map(|finding| diagnostic(document, uri, finding)).collect()
}

pub(super) fn diagnostic(document: &Document, uri: &Uri, finding: &Diagnostic) -> lsp_types::Diagnostic {
    lsp_types::Diagnostic {
        range: document.range(&finding.span),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(finding.code.as_str().to_owned())),
        source: Some("ptx-isa".to_owned()),
        message: in_full(finding),
        related_information: first_declaration(document, uri, finding).map(|first| vec![first]),
        ..lsp_types::Diagnostic::default()
    }
}

/// Of a name that is declared twice, the first declaration.
fn first_declaration(document: &Document, uri: &Uri, finding: &Diagnostic) -> Option<DiagnosticRelatedInformation> {
    if finding.code != Code::DuplicateName {
        return None;
    }
    let name = &document.text[finding.span.clone()];
    let before = document.index.symbols().iter().take_while(|symbol| symbol.name.start < finding.span.start);
    let first = before.filter(|symbol| document.text[symbol.name.clone()] == *name).last()?;
    let message = format!("`{name}` is declared here");
    Some(DiagnosticRelatedInformation { location: location(uri, document.range(&first.name)), message })
}
