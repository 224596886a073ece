//! Hover: of a mnemonic what `ptx-isa explain` prints for the module's version and target, of a name what declares it.

use lsp_types::{ClientCapabilities, Hover, HoverContents, MarkupContent, MarkupKind};
use ptx_isa::TABLE;
use ptx_isa::text::module::Name;

use super::Client;
use super::documents::Document;
use crate::cli::{Machine, explain};

/// Whether a client shows Markdown.
pub(super) fn takes_markdown(capabilities: &ClientCapabilities) -> bool {
    let hover = capabilities.text_document.as_ref().and_then(|it| it.hover.as_ref());
    let formats = hover.and_then(|hover| hover.content_format.as_deref());
    formats.is_some_and(|formats| formats.contains(&MarkupKind::Markdown))
}

pub(super) fn hover(document: &Document, offset: usize, client: &Client) -> Option<Hover> {
    let mnemonic = document.index.part_at(offset).and_then(|part| part.mnemonic.clone());
    let (language, text, span) = match mnemonic.filter(|span| (span.start..=span.end).contains(&offset)) {
        Some(span) => ("text", explained(document, &document.text[span.clone()])?, span),
        None => {
            let name = document.index.name_at(offset)?;
            ("ptx", described(document, name)?, name.span.clone())
        }
    };
    let (kind, value) = match client.markdown {
        true => (MarkupKind::Markdown, format!("```{language}\n{}\n```", text.trim_end())),
        false => (MarkupKind::PlainText, text),
    };
    let contents = HoverContents::Markup(MarkupContent { kind, value });
    Some(Hover { contents, range: Some(document.range(&span)) })
}

/// The page of a form, or why a mnemonic is none.
fn explained(document: &Document, mnemonic: &str) -> Option<String> {
    let machine = Machine { ptx: document.report.version, target: document.report.target };
    let mut out = anstream::StripStream::new(Vec::new());
    explain::write(&mut out, mnemonic, &machine).ok()?;
    String::from_utf8(out.into_inner()).ok()
}

/// What declares a name; what the table says of a special register.
fn described(document: &Document, name: &Name) -> Option<String> {
    if let Some(symbol) = document.index.meaning(name) {
        return Some(document.in_one_line(&symbol.declaration));
    }
    let written = &document.text[name.span.clone()];
    let special = TABLE.special(written)?;
    Some(format!("{written} // {}; {}", special.description, special.floor))
}
