//! Semantic tokens: opcodes, modifiers, and names by what they mean.

use std::ops::Range;

use lsp_types::{SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend};
use ptx_isa::TABLE;
use ptx_isa::text::module::{Name, SymbolKind};

use super::documents::Document;

/// Kinds of tokens; their order is that of the legend.
#[derive(Clone, Copy)]
enum Kind {
    Opcode,
    Modifier,
    Register,
    Variable,
    Function,
    Label,
    Special,
}

/// The bit of the only modifier: the token declares what it names.
const DECLARATION: u32 = 1;

pub(super) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: vec![
            SemanticTokenType::KEYWORD,
            SemanticTokenType::MODIFIER,
            SemanticTokenType::VARIABLE,
            SemanticTokenType::PROPERTY,
            SemanticTokenType::FUNCTION,
            SemanticTokenType::new("label"),
            SemanticTokenType::ENUM_MEMBER,
        ],
        token_modifiers: vec![SemanticTokenModifier::DECLARATION],
    }
}

pub(super) fn tokens(document: &Document) -> SemanticTokens {
    let (index, text) = (&document.index, &document.text);
    let mut found: Vec<(Range<usize>, Kind, u32)> = Vec::new();
    for mnemonic in index.parts().iter().filter_map(|part| part.mnemonic.clone()) {
        // An opcode may have dots of its own; what the table does not know ends at the first.
        let written = &text[mnemonic.clone()];
        let opcode = TABLE.instruction_of(written).map(|instruction| instruction.data().opcode);
        let length = opcode.filter(|opcode| written.starts_with(opcode)).map(str::len);
        let behind = mnemonic.start + length.or_else(|| written.find('.')).unwrap_or(written.len());
        found.push((mnemonic.start..behind, Kind::Opcode, 0));
        if behind < mnemonic.end {
            found.push((behind..mnemonic.end, Kind::Modifier, 0));
        }
    }
    let names = index.names().iter();
    found.extend(names.filter_map(|name| {
        let declares = if name.declares { DECLARATION } else { 0 };
        Some((name.span.clone(), kind(document, name)?, declares))
    }));
    found.sort_by_key(|(span, ..)| span.start);
    let mut before = lsp_types::Position::default();
    let mut end = 0;
    let mut data = Vec::with_capacity(found.len());
    for (span, kind, modifiers) in found {
        let range = document.range(&span);
        // The protocol has no tokens of several lines, and none within another.
        if range.start.line != range.end.line || span.start < end {
            continue;
        }
        let start = range.start;
        let delta_line = start.line - before.line;
        data.push(SemanticToken {
            delta_line,
            delta_start: if delta_line == 0 { start.character - before.character } else { start.character },
            length: range.end.character - start.character,
            token_type: kind as u32,
            token_modifiers_bitset: modifiers,
        });
        (before, end) = (start, span.end);
    }
    SemanticTokens { result_id: None, data }
}

/// The kind of a name; `None` where it means nothing.
fn kind(document: &Document, name: &Name) -> Option<Kind> {
    Some(match document.index.meaning(name).map(|symbol| symbol.kind) {
        Some(SymbolKind::Register { .. }) => Kind::Register,
        Some(SymbolKind::Variable(_)) => Kind::Variable,
        Some(SymbolKind::Function { .. }) => Kind::Function,
        Some(SymbolKind::Label) => Kind::Label,
        None => {
            TABLE.special(&document.text[name.span.clone()])?;
            Kind::Special
        }
    })
}
