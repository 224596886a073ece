//! Completion: opcodes, modifiers with which some form remains, and names in scope.

use std::collections::BTreeMap;
use std::ops::Range;

use lsp_types::{CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, TextEdit};
use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::table::{FormInfo, Kind, Operands};
use ptx_isa::text::completion::{self, Choice, Expected};
use ptx_isa::text::module::{Context, Part, Symbol, SymbolKind};
use ptx_isa::text::statement::ELEMENTS;
use ptx_isa::text::{Options, mnemonic, spelling};

use super::documents::Document;
use super::numbers::numbers;

/// Maximum number of registers offered for a family; a longer prefix reveals others.
const MOST_OF_FAMILY: usize = 100;

pub(super) fn completion(document: &Document, offset: usize) -> CompletionList {
    let mut list = List { document, items: Vec::new(), is_incomplete: false };
    match document.index.context(&document.text, offset) {
        Context::Aside => {}
        Context::Directive(part) => list.directive(part, offset),
        Context::Start => list.opcodes(offset..offset),
        Context::Mnemonic(part) => list.mnemonic(part.mnemonic.clone().unwrap_or(offset..offset), offset),
        Context::Operands(part) => list.names(part, offset),
    }
    CompletionList { is_incomplete: list.is_incomplete, items: list.items }
}

struct List<'d> {
    document: &'d Document,
    items: Vec<CompletionItem>,
    is_incomplete: bool,
}

impl List<'_> {
    /// The version and the target of the module; where one of them is not known, any.
    fn options(&self) -> Options {
        let report = &self.document.report;
        let (ptx, target) = report.version.zip(report.target).unzip();
        Options { ptx, target }
    }

    /// Words of a directive.
    fn directive(&mut self, part: &Part, offset: usize) {
        let text = &self.document.text;
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let word = text[..offset].trim_end_matches(is_part).len();
        // A version has a dot within.
        let number = text[..offset].trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.').len();
        let start = if number < word && text[number..offset].starts_with(|letter: char| letter.is_ascii_digit()) {
            number
        } else if text[..word].ends_with('.') {
            word - 1
        } else {
            word
        };
        let written = start..offset;
        let before = &text[part.span.start.min(start)..start];
        for word in completion::directive(&TABLE, before) {
            self.add(&word.text, CompletionItemKind::KEYWORD, word.about, &written);
        }
    }

    /// Opcodes that begin as what is written.
    fn opcodes(&mut self, written: Range<usize>) {
        let typed = &self.document.text[written.clone()];
        let Options { ptx, target } = self.options();
        for instruction in TABLE.instructions().filter(|instruction| instruction.opcode.starts_with(typed)) {
            if instruction.forms().any(|form| is_listed(form) && spelling::is_taken(form, ptx, target)) {
                let summary = REFERENCE.page(instruction.opcode).map_or("", |page| page.summary);
                self.add(instruction.opcode, CompletionItemKind::KEYWORD, summary, &written);
            }
        }
    }

    /// An opcode, or the modifier of a mnemonic that an offset is in.
    fn mnemonic(&mut self, span: Range<usize>, offset: usize) {
        let text = &self.document.text;
        self.opcodes(span.start..offset);
        let Some(dot) = text[span.start..offset].rfind('.').map(|dot| span.start + dot) else { return };
        let end = text[offset..span.end].find('.').map_or(span.end, |dot| offset + dot);
        let options = self.options();
        let choices = |after| completion::modifiers(&TABLE, &text[span.start..dot], after, &options, is_listed);
        let mut found = choices(&text[end..span.end]);
        if found.is_empty() {
            // The text behind the cursor may be about to be deleted.
            found = choices("");
        }
        let opcode = TABLE.instruction_of(&text[span.start..dot]).map_or("", |instruction| instruction.data().opcode);
        for choice in found {
            self.add(choice.modifier, CompletionItemKind::ENUM_MEMBER, &in_words(opcode, &choice), &(dot + 1..end));
        }
    }

    /// Registers, variables, functions, labels and special registers: first those that may be meant.
    fn names(&mut self, part: &Part, offset: usize) {
        let text = &self.document.text;
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '%');
        let start = text[..offset].trim_end_matches(is_part).len();
        let (typed, written) = (&text[start..offset], start..offset);
        let place = Place::of(part, text, &written);
        if let Some(before) = text[part.span.start..start].strip_suffix('.') {
            let word = &before[before.trim_end_matches(is_part).len()..];
            return self.elements(word, start, &written);
        }
        let index = &self.document.index;
        // Later declarations shadow earlier ones of the same name.
        let visible: BTreeMap<&str, &Symbol> =
            index.visible(start).map(|symbol| (&text[symbol.name.clone()], symbol)).collect();
        for (name, symbol) in visible {
            let detail = self.document.in_one_line(&symbol.declaration);
            let rank = place.rank(symbol.kind);
            let kind = match symbol.kind {
                SymbolKind::Register { .. } => CompletionItemKind::VARIABLE,
                SymbolKind::Variable(_) => CompletionItemKind::FIELD,
                SymbolKind::Function { .. } => CompletionItemKind::FUNCTION,
                SymbolKind::Label => CompletionItemKind::REFERENCE,
            };
            let SymbolKind::Register { count: Some(count), .. } = symbol.kind else {
                self.add(name, kind, &detail, &written).sort_text = Some(format!("{rank}{name}"));
                continue;
            };
            // Of the stem or less, all of them go on.
            let digits = if name.starts_with(typed) { Some("") } else { typed.strip_prefix(name) };
            let mut own = digits.into_iter().flat_map(|digits| numbers(digits, count));
            for number in own.by_ref().take(MOST_OF_FAMILY) {
                let item = self.add(&format!("{name}{number}"), kind, &detail, &written);
                item.sort_text = Some(format!("{rank}{name}{number:010}"));
            }
            self.is_incomplete |= own.next().is_some();
        }
        for special in TABLE.specials {
            let rank = place.special_rank();
            let numbers = (0..special.count).map(|number| format!("{}{number}", special.name));
            let alone = (special.count == 0).then(|| special.name.to_owned());
            for name in alone.into_iter().chain(numbers) {
                let item = self.add(&name, CompletionItemKind::CONSTANT, special.description, &written);
                item.sort_text = Some(format!("{rank}{name}"));
            }
        }
    }

    /// Elements of a vector: a register or a special register with this name.
    fn elements(&mut self, name: &str, start: usize, written: &Range<usize>) {
        let text = &self.document.text;
        let lanes = match TABLE.special(name) {
            Some(special) => usize::from(special.vector) * ELEMENTS.len(),
            None => {
                let named = self.document.index.visible(start).filter(|symbol| text[symbol.name.clone()] == *name);
                let lanes = named.map(|symbol| match symbol.kind {
                    SymbolKind::Register { lanes, .. } if lanes > 1 => usize::from(lanes),
                    _ => 0,
                });
                lanes.last().unwrap_or(0)
            }
        };
        for [element, _] in ELEMENTS.into_iter().take(lanes) {
            self.add(element, CompletionItemKind::FIELD, "", written);
        }
    }

    fn add(
        &mut self,
        label: &str,
        kind: CompletionItemKind,
        about: &str,
        replaced: &Range<usize>,
    ) -> &mut CompletionItem {
        let order = self.items.len();
        let range = self.document.range(replaced);
        self.items.push(CompletionItem {
            label: label.to_owned(),
            kind: Some(kind),
            detail: (!about.is_empty()).then(|| about.to_owned()),
            // The manual's order.
            sort_text: Some(format!("{order:04}")),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: label.to_owned() })),
            ..CompletionItem::default()
        });
        &mut self.items[order]
    }
}

/// Returns true if the manual lists a form.
fn is_listed(form: FormInfo) -> bool {
    form.lenient().is_none()
}

/// Returns the reference's description of a modifier, or else the name of its set.
fn in_words(opcode: &str, choice: &Choice) -> String {
    let page = REFERENCE.page(opcode);
    let modifiers = page.into_iter().flat_map(|page| page.modifiers);
    let mut own = modifiers.filter(|modifier| modifier.name == choice.slot.name);
    let member = own.find_map(|modifier| modifier.members.iter().find(|member| member.name == choice.modifier));
    match member.map(|member| member.description).filter(|description| !description.is_empty()) {
        Some(description) => description.to_owned(),
        None => format!(".{}", choice.slot.name),
    }
}

/// Place in a statement where a name is to be completed.
enum Place {
    Guard,
    Operand {
        /// The operands that can be written here.
        expected: Vec<Expected>,
        /// All operands of the form that the mnemonic means first.
        all: Operands,
    },
}

impl Place {
    fn of(part: &Part, text: &str, written: &Range<usize>) -> Place {
        match &part.mnemonic {
            Some(mnemonic) if written.end >= mnemonic.end => {
                let name = &text[mnemonic.clone()];
                let all = mnemonic::form(&TABLE, name).map(|form| form.operands()).unwrap_or_default();
                let before = text.get(mnemonic.end..written.start).unwrap_or_default();
                Place::Operand { expected: completion::operands(&TABLE, name, before), all }
            }
            _ => Place::Guard,
        }
    }

    /// Order of a symbol among the completions: those that fit come first, of an address variables in the space that it names, then
    /// registers of the operand's width.
    fn rank(&self, kind: SymbolKind) -> u8 {
        match self {
            Place::Guard => match kind {
                SymbolKind::Register { ty, .. } if TABLE.ty(ty).kind == Kind::Predicate => 1,
                _ => 6,
            },
            Place::Operand { expected, all } => {
                let fitting = || expected.iter().filter(|expected| expected.takes(kind));
                let is_best = |expected: &Expected| match kind {
                    SymbolKind::Register { ty, .. } => TABLE.ty(ty).bits == TABLE.ty(expected.operand.ty).bits,
                    _ => true,
                };
                let is_variable = matches!(kind, SymbolKind::Variable(_));
                if is_variable && fitting().any(|expected| expected.space.is_some()) {
                    0
                } else if fitting().any(is_best) {
                    1
                } else if fitting().next().is_some() {
                    2
                } else if all.iter().any(|operand| Expected { operand, space: None }.takes(kind)) {
                    4
                } else {
                    6
                }
            }
        }
    }

    /// Order of the special registers.
    fn special_rank(&self) -> u8 {
        match self {
            Place::Operand { expected, .. } if expected.iter().any(|expected| expected.operand.specials) => 3,
            Place::Operand { all, .. } if all.iter().any(|operand| operand.specials) => 5,
            _ => 7,
        }
    }
}
