//! Hover: of a mnemonic what `ptx-isa explain` prints for the module's version and target, of a name what declares it.

use std::ops::Range;

use lsp_types::{ClientCapabilities, Hover, HoverContents, MarkupContent, MarkupKind};
use ptx_isa::TABLE;
use ptx_isa::reference::text::Terminal;
use ptx_isa::text::Statement;
use ptx_isa::text::module::{Name, Part, SymbolKind};

use super::Client;
use super::documents::Document;
use crate::cli::Machine;
use crate::cli::explain::{self, Explained};

/// Returns true if the client renders Markdown in hovers.
pub(super) fn takes_markdown(capabilities: &ClientCapabilities) -> bool {
    let hover = capabilities.text_document.as_ref().and_then(|it| it.hover.as_ref());
    let formats = hover.and_then(|hover| hover.content_format.as_deref());
    formats.is_some_and(|formats| formats.contains(&MarkupKind::Markdown))
}

pub(super) fn hover(document: &Document, offset: usize, client: &Client) -> Option<Hover> {
    let part = document.index.part_at(offset);
    let mnemonic = part.and_then(|part| Some((part, part.mnemonic.clone()?)));
    let (language, text, span) = match mnemonic.filter(|(_, span)| (span.start..=span.end).contains(&offset)) {
        Some((part, span)) => ("text", explained(document, part, &span)?, span),
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

/// The page of a statement's form, with what all of the statement needs; of a mnemonic alone where the statement has an error.
fn explained(document: &Document, part: &Part, mnemonic: &Range<usize>) -> Option<String> {
    let machine = Machine { ptx: document.report.version, target: document.report.target };
    let mut out = anstream::StripStream::new(Vec::new());
    match Statement::parse(&TABLE, &document.text[part.span.clone()]) {
        Ok(statement) => {
            let meaning = |name: &str| document.index.meaning_in(&document.text, &part.span, name);
            let kind = |name: &str| meaning(name).map(|symbol| symbol.kind);
            let is_variable = |name: &str| kind(name).map(|kind| matches!(kind, SymbolKind::Variable(_)));
            let is_register = |name: &str| kind(name).is_none_or(|kind| matches!(kind, SymbolKind::Register { .. }));
            let explained = Explained::statement(&statement, statement.needs_among(is_variable), is_register);
            explained.write(&mut Terminal { out: &mut out }, &machine).ok()?;
        }
        Err(_) => {
            explain::write(&mut out, &document.text[mnemonic.clone()], &machine).ok()?;
        }
    }
    String::from_utf8(out.into_inner()).ok()
}

/// Returns the declaration of a name, or the table's description of a special register.
fn described(document: &Document, name: &Name) -> Option<String> {
    if let Some(symbol) = document.index.meaning(name) {
        return Some(document.in_one_line(&symbol.declaration));
    }
    let written = &document.text[name.span.clone()];
    let special = TABLE.special(written)?;
    Some(format!("{written} // {}; {}", special.description, special.floor))
}
