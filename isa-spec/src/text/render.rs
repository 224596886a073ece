//! Renders diagnostics with file, line, column, source and caret.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use isa_table::count::Count;

use super::report::At;
use super::{Diagnostic, Errors, Sources};

/// Maximum number of errors in a report.
const MAX_SHOWN: usize = 100;

impl Errors {
    /// Renders all errors with file, line, column, source and caret, ordered by position; `colour` enables terminal
    /// colors.
    pub fn render(&self, sources: &Sources, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let mut list: Vec<&Diagnostic> = self.iter().collect();
        list.sort_by_key(|diagnostic| diagnostic.range().start);
        let mut text = String::new();
        for diagnostic in list.iter().take(MAX_SHOWN) {
            text += &one(diagnostic, sources, &renderer);
            text += "\n\n";
        }
        let rest = if list.len() > MAX_SHOWN { format!("; the first {MAX_SHOWN} are shown") } else { String::new() };
        text + &format!("{} in the spec{rest}\n", Count(list.len(), "mistake"))
    }
}

/// Renders one error with its help.
fn one(mistake: &Diagnostic, sources: &Sources, renderer: &Renderer) -> String {
    if let At::Spec = mistake.at {
        let title = Level::ERROR.primary_title(&mistake.message);
        let help = mistake.help.as_deref().map(|help| Level::HELP.message(help));
        return renderer.render(&[title.elements(help)]);
    }
    let range = mistake.range();
    let (name, text, start) = sources.file(range.start);
    let local = |range: Range<usize>| {
        let from = (range.start - start).min(text.len());
        from..range.end.saturating_sub(start).clamp(from, text.len())
    };
    let mut snippet = Snippet::source(text)
        .path(name)
        .annotation(AnnotationKind::Primary.span(local(range)).label(mistake.label.as_deref()));
    let mut elsewhere = Vec::new();
    for (span, label) in &mistake.secondary {
        let range = span.byte_range();
        let (other, text, start) = sources.file(range.start);
        if other == name {
            snippet = snippet.annotation(AnnotationKind::Context.span(local(range)).label(label));
        } else {
            let annotation = AnnotationKind::Context.span(range.start - start..range.end - start).label(label);
            elsewhere.push(Snippet::source(text).path(other).annotation(annotation));
        }
    }
    let mut group = Level::ERROR.primary_title(&mistake.message).element(snippet);
    for snippet in elsewhere {
        group = group.element(snippet);
    }
    if let Some(help) = mistake.help.as_deref() {
        group = group.element(Level::HELP.message(help));
    }
    renderer.render(&[group])
}
