//! Completion: modifiers that fit at a place of a mnemonic, so that some form remains, operands that fit behind it, and words of
//! directives.
//!
//! ```
//! use ptx_isa::text::{Options, completion};
//!
//! let words = |before, after| -> Vec<&str> {
//!     let choices = completion::modifiers(&ptx_isa::TABLE, before, after, &Options::default(), |_| true);
//!     choices.iter().map(|choice| choice.modifier).collect()
//! };
//! // `.lo` compares unsigned integers.
//! assert_eq!(words("setp.lo", ""), ["u16", "u32", "u64", "and", "or", "xor"]);
//! assert!(words("setp", ".u32").contains(&"lo") && !words("setp", ".s32").contains(&"lo"));
//! ```

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::mnemonic::{self, Resolved};
use super::module::{Linkage, OWN, Options, SymbolKind};
use super::reader::operands_at_end;
use super::spelling::{self, members};
use crate::table::{
    ABSENT, Directive, FormInfo, InstructionInfo, Item, Kind, Operand, OperandKind, Slot, Space, Syntax, Table,
};
use crate::target::Floor;

/// A modifier that is valid at a place.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The spelling without its dot.
    pub modifier: &'static str,
    /// The slot of the instruction that it fills.
    pub slot: &'static Slot,
}

/// Returns the modifiers that can be inserted between two parts of a mnemonic, such as `setp.lt` and `.f32`, whose
/// modifiers are in the manual's order. For each of them at least one form remains that `wanted` accepts and that,
/// possibly with further free modifiers, the assembler accepts for the version and the target of `options`.
pub fn modifiers(
    table: &'static Table,
    before: &str,
    after: &str,
    options: &Options,
    wanted: impl Fn(FormInfo) -> bool,
) -> Vec<Choice> {
    let Some(instruction) = table.instruction_of(before) else { return Vec::new() };
    let before = before[instruction.opcode.len()..].split('.').skip(1).map(Some);
    let after = after.split('.').skip(1).map(Some);
    let words: Vec<Option<&str>> = before.chain([None]).chain(after).collect();
    let there = |floor: &Floor| table.has(floor, options.ptx, options.target);
    let forms = instruction.forms().filter(|form| wanted(*form) && there(form.lowest_floor()));
    let forms: Vec<FormInfo> = forms.collect();
    let mut choices = Vec::new();
    for syntax in instruction.syntaxes() {
        let of_line = |form: &&FormInfo| core::ptr::eq(form.syntax(), syntax);
        let forms: Vec<FormInfo> = forms.iter().filter(of_line).copied().collect();
        let values = vec![ABSENT; instruction.slots.len()];
        let mut search =
            Search { instruction, syntax, forms, there: &there, values, choice: None, choices: &mut choices };
        search.lay(0, &words);
    }
    choices
}

/// An operand that can be written at a place.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The operand.
    pub operand: &'static Operand,
    /// State space of the address that it is, if the statement names one.
    pub space: Option<&'static Space>,
}

impl Expected {
    /// Returns true if the name of a symbol can be written for it.
    pub fn takes(&self, kind: SymbolKind) -> bool {
        let Expected { operand, space: named } = self;
        match kind {
            SymbolKind::Register { ty, .. } => operand.registers.has(ty),
            SymbolKind::Variable(space) => match operand.kind {
                OperandKind::Address => named.map_or(space.generic, |named| core::ptr::eq(named, space)),
                OperandKind::Arguments => space.function.is_some(),
                _ => operand.addresses || operand.spaces.contains(&space.name),
            },
            SymbolKind::Function { kernel } => {
                operand.addresses || !kernel && (operand.functions || operand.kind == OperandKind::Function)
            }
            SymbolKind::Label => {
                matches!(operand.kind, OperandKind::Label | OperandKind::Branches | OperandKind::Targets)
            }
        }
    }
}

/// Returns the operands of which one can be written behind a mnemonic and `before`, the operands before it as far as they are
/// written: one for each form with this mnemonic that begins so. Empty if the mnemonic means no form.
///
/// ```
/// use ptx_isa::text::completion::operands;
///
/// let expected = operands(&ptx_isa::TABLE, "ld.shared.u64", " %rd1, [");
/// assert_eq!((expected[0].operand.name, expected[0].space.unwrap().name), ("a", "shared"));
/// assert_eq!(operands(&ptx_isa::TABLE, "call", " (%r1), ")[0].operand.name, "func");
/// ```
pub fn operands(table: &'static Table, mnemonic: &str, before: &str) -> Vec<Expected> {
    let Ok(Resolved { form, free, .. }) = mnemonic::resolve(table, mnemonic) else { return Vec::new() };
    let expected = |operand| Expected { operand, space: form.space_of(&free, operand) };
    operands_at_end(form, &free, before).into_iter().map(expected).collect()
}

/// A word of a directive, with its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word, with the dot that it may have.
    pub text: String,
    /// A sentence on it; empty where the table has none.
    pub about: &'static str,
}

/// The words that may follow in a directive, given as far as it is written before the word: names of directives where that is
/// nothing, versions, targets, types of what is declared, and directives of a function's head.
///
/// ```
/// use ptx_isa::text::completion::directive;
///
/// let words = |before| -> Vec<String> {
///     directive(&ptx_isa::TABLE, before).into_iter().map(|word| word.text).collect()
/// };
/// assert!(words("").contains(&".visible".to_owned()) && words(".visible").contains(&".entry".to_owned()));
/// assert!(words(".target").contains(&"sm_90a".to_owned()));
/// assert!(words(".version").contains(&"9.4".to_owned()));
/// assert!(words(".reg").contains(&".pred".to_owned()) && !words(".global").contains(&".pred".to_owned()));
/// assert!(words(".entry k(.param .u64 p)").contains(&".maxntid".to_owned()));
/// ```
pub fn directive(table: &'static Table, before: &str) -> Vec<Word> {
    let words: Vec<&str> = before.split_whitespace().collect();
    let is = |name: &str| words.iter().any(|word| word.trim_start_matches('.') == name);
    let dotted = |name: &str, about| Word { text: [".", name].concat(), about };
    let types = |registers: bool| {
        let declared = table.types.iter().filter(move |ty| !ty.registers.is_empty());
        declared.filter(move |ty| registers || ty.kind != Kind::Predicate).map(|ty| dotted(ty.name, ty.description))
    };
    let spaces = || table.spaces.iter().map(|space| dotted(space.name, space.description));
    let directives = |fits: fn(&Directive) -> bool| {
        table.directives.iter().filter(move |it| fits(it)).map(|it| dotted(it.name, it.description))
    };
    if is("version") {
        let newest_first = table.versions.iter().rev();
        return newest_first.map(|version| Word { text: version.to_string(), about: "" }).collect();
    }
    if is("target") {
        let targets = table.targets.iter().rev().map(|known| Word { text: known.target.to_string(), about: "" });
        let options = table.directives.iter().filter(|it| it.option);
        return targets.chain(options.map(|it| Word { text: it.name.into(), about: it.description })).collect();
    }
    if is("entry") || is("func") {
        // Within parentheses there are parameters.
        return match before.matches('(').count() > before.matches(')').count() {
            true => spaces().chain([dotted("reg", "")]).chain(types(true)).collect(),
            false if is("entry") => directives(|it| it.entry).collect(),
            false => directives(|it| it.function).collect(),
        };
    }
    if is("reg") {
        return types(true).collect();
    }
    if words.iter().any(|word| table.space(word.trim_start_matches('.')).is_some()) {
        return types(false).collect();
    }
    let own = || OWN.iter().copied().chain(Linkage::NAMED.map(|(name, _)| name));
    let described = own().map(|name| dotted(name, table.directive(name).map_or("", |it| it.description)));
    let others = table.directives.iter().filter(|it| it.module && !own().any(|name| name == it.name));
    described.chain(spaces()).chain(others.map(|it| dotted(it.name, it.description))).collect()
}

/// Words on their way into the items of a syntax line.
struct Search<'c> {
    instruction: InstructionInfo,
    syntax: &'static Syntax,
    /// The forms of the line that are wanted.
    forms: Vec<FormInfo>,
    /// Returns true if the version and the target satisfy a floor.
    there: &'c dyn Fn(&Floor) -> bool,
    /// Values of the items that are already filled.
    values: Vec<u8>,
    choice: Option<Choice>,
    choices: &'c mut Vec<Choice>,
}

impl Search<'_> {
    /// Assigns words to the items from `item` on, in order; `None` is the modifier to complete.
    fn lay(&mut self, item: usize, words: &[Option<&str>]) {
        let Some((word, rest)) = words.split_first() else { return self.add(item) };
        let Some(info) = self.syntax.items.get(item) else { return };
        let slot = &self.instruction.data().slots[usize::from(info.slot)];
        for (member, modifier) in members(info, slot) {
            match word {
                Some(word) if *word != modifier => continue,
                Some(_) => {}
                None if self.choices.iter().any(|choice| choice.modifier == modifier) => continue,
                None => self.choice = Some(Choice { modifier, slot }),
            }
            self.values[usize::from(info.slot)] = member;
            self.lay(item + 1, rest);
            self.values[usize::from(info.slot)] = ABSENT;
        }
        if info.optional {
            self.lay(item + 1, words);
        }
    }

    /// Adds the choice if a form remains, whatever the items from one on have.
    fn add(&mut self, item: usize) {
        let Some(choice) = self.choice else { return };
        let known = self.choices.iter().any(|other| other.modifier == choice.modifier);
        if !known && self.forms.iter().any(|form| self.remains(*form, item)) {
            self.choices.push(choice);
        }
    }

    /// Returns true if a form matches the items before `item` and is valid with some choice of the free modifiers that
    /// follow.
    fn remains(&self, form: FormInfo, item: usize) -> bool {
        let free = |item: &Item| self.instruction.data().slots[usize::from(item.slot)].free;
        let so_far = &self.syntax.items[..item];
        let own = |item: &Item| form.values()[usize::from(item.slot)] == self.values[usize::from(item.slot)];
        if !so_far.iter().all(|item| free(item) || own(item)) {
            return false;
        }
        let mut values = form.values().to_vec();
        so_far.iter().filter(|item| free(item)).for_each(|item| {
            values[usize::from(item.slot)] = self.values[usize::from(item.slot)];
        });
        let search = spelling::Search { form, there: self.there };
        search.visit(&mut values, &search.open(item), None, &mut |_| true)
    }
}
