//! Conversion of diagnostics to the protocol's.

use std::ops::Range;

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
    let place = place(document, finding);
    let mut message = in_full(finding);
    if place != finding.span {
        message =
            message.replace("the statement before this is", "this statement is").replace("before this", "behind this");
    }
    lsp_types::Diagnostic {
        range: document.range(&place),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(finding.code.as_str().to_owned())),
        source: Some("ptx-isa".to_owned()),
        message,
        related_information: first_declaration(document, uri, finding).map(|first| vec![first]),
        ..lsp_types::Diagnostic::default()
    }
}

/// Where a finding is shown.
pub(super) fn place(document: &Document, finding: &Diagnostic) -> Range<usize> {
    end_of_unfinished(&document.text, finding).unwrap_or_else(|| finding.span.clone())
}

/// The last character of a statement that is not finished, if what cannot be read begins on a later line: while a statement
/// is typed, the next one has no error.
fn end_of_unfinished(text: &str, finding: &Diagnostic) -> Option<Range<usize>> {
    let (mut above, line) = text.get(..finding.span.start)?.rsplit_once('\n')?;
    if finding.code != Code::Syntax || !line.trim().is_empty() {
        return None;
    }
    // The nearest line above that is more than a comment.
    let code = loop {
        let (rest, last) = above.rsplit_once('\n').unwrap_or(("", above));
        let code = last.split("//").next().unwrap_or_default().trim_end();
        if !code.is_empty() {
            break &text[..above.len() - last.len() + code.len()];
        }
        above = if rest.is_empty() { return None } else { rest };
    };
    let last = code.chars().next_back().filter(|last| !matches!(last, ';' | '{' | '}' | ':' | '/'))?;
    Some(code.len() - last.len_utf8()..code.len())
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
