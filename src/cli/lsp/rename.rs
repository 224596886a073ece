//! Renames what a document declares: all its places, of a register family the stem in each of them.

use std::ops::Range;

use lsp_types::TextEdit;
use ptx_isa::text::module::{Name, Symbol, SymbolKind};

use super::documents::Document;

/// The range of the name at an offset, if it can be renamed.
pub(super) fn prepare(document: &Document, offset: usize) -> Option<lsp_types::Range> {
    let (name, _) = named(document, offset)?;
    Some(document.range(&name.span))
}

/// The edits that give the symbol at an offset another name.
///
/// # Errors
///
/// Why the name is refused.
pub(super) fn rename(document: &Document, offset: usize, new: &str) -> Result<Vec<TextEdit>, String> {
    let (name, symbol) = named(document, offset).ok_or("only names that the module declares can be renamed")?;
    let new = stem(document, name, symbol, new)?;
    let index = &document.index;
    let text = &document.text;
    let places = || index.names().iter().filter(|other| index.meaning(other) == Some(symbol));
    // In a scope that overlaps, another symbol of this name would be declared twice, hide this one or be hidden.
    let overlaps = |other: &Symbol| other.scope.start < symbol.scope.end && symbol.scope.start < other.scope.end;
    let mut others = index.symbols().iter().filter(|other| *other != symbol && overlaps(other));
    let stands_for = |other: &&Symbol| {
        let name = &text[other.name.clone()];
        name == new || has(symbol, new, name) || has(other, name, new)
    };
    if let Some(other) = others.find(stands_for) {
        return Err(format!("`{new}` is already declared here: `{}`", document.in_one_line(&other.declaration)));
    }
    let length = symbol.name.len();
    let edit = |place: &Name| {
        let start = place.span.start;
        TextEdit { range: document.range(&(start..start + length)), new_text: new.to_owned() }
    };
    Ok(places().map(edit).collect())
}

/// Returns true if a symbol is a family of registers to which a name belongs, if its stem is `stem`.
fn has(symbol: &Symbol, stem: &str, name: &str) -> bool {
    let SymbolKind::Register { count: Some(count), .. } = symbol.kind else { return false };
    let number = name.strip_prefix(stem).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    number.and_then(|digits| digits.parse::<u64>().ok()).is_some_and(|number| number < count)
}

fn named(document: &Document, offset: usize) -> Option<(&Name, &Symbol)> {
    let name = document.index.name_at(offset)?;
    Some((name, document.index.meaning(name)?))
}

/// The new name of a symbol, given that of one of its places: a register of a family keeps its number.
fn stem<'n>(document: &Document, name: &Name, symbol: &Symbol, new: &'n str) -> Result<&'n str, String> {
    let number: Range<usize> = name.span.start + symbol.name.len()..name.span.end;
    let number = document.text.get(number).unwrap_or_default();
    let is_family = matches!(symbol.kind, SymbolKind::Register { count: Some(_), .. });
    let stem = match is_family && !name.declares {
        true => new
            .strip_suffix(number)
            .ok_or_else(|| format!("a register of a family keeps its number: a new name ends with `{number}`"))?,
        false => new,
    };
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$');
    let mut letters = stem.chars();
    let begins = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, '_' | '$' | '%'));
    match begins && letters.all(is_part) && (stem.len() > 1 || !matches!(stem, "_" | "$" | "%")) {
        true => Ok(stem),
        false => Err(format!("`{new}` is not a name: names have letters, digits, `_` and `$`, and may begin with `%`")),
    }
}
