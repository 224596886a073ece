//! One form, explained: what its page says, narrowed to its modifiers.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::REFERENCE;
use super::page::{Function, Page};
use crate::TABLE;
use crate::table::{Floor, FormInfo, Kind, Operand, Permission, TypeInfo};
use crate::text::statement::signature;

/// What the reference says of one form.
#[derive(Debug)]
pub struct FormPage {
    /// The form.
    pub form: &'static FormInfo,
    /// The page of its opcode.
    pub page: &'static Page,
    /// Its entry on that page.
    pub entry: &'static super::page::Entry,
    /// The operands in the manual's notation.
    pub operands: String,
    /// Its modifiers, in the order of the mnemonic.
    pub modifiers: Vec<Modifier>,
    /// The functions that its pseudo-code calls.
    pub functions: Vec<&'static Function>,
    /// The function of [`scalar`](crate::scalar) that computes it; none where the table has no evaluator.
    pub function: Option<String>,
    /// The variant of [`Form`](crate::Form).
    pub variant: String,
}

/// A modifier of a form.
#[derive(Debug)]
pub struct Modifier {
    /// The spelling, without a dot.
    pub spelling: &'static str,
    /// The place it stands in.
    pub slot: &'static str,
    /// What it means; empty for words whose meaning the pseudo-code gives.
    pub description: &'static str,
}

impl FormPage {
    /// The page of a form of [`TABLE`].
    pub fn new(form: &'static FormInfo) -> FormPage {
        let index = usize::from(form.instruction);
        let (instruction, page) = (&TABLE.instructions[index], &REFERENCE.pages[index]);
        let syntax = &instruction.syntaxes[usize::from(form.syntax)];
        let modifiers = syntax.items.iter().filter_map(|item| {
            let slot = &instruction.slots[usize::from(item.slot)];
            let member = slot.members.get(usize::from(form.values[usize::from(item.slot)]))?;
            let spelling = TABLE.modifiers[usize::from(member.0)];
            let description = page.member(slot.name, spelling).map_or("", |member| member.description);
            Some(Modifier { spelling, slot: slot.name, description })
        });
        let calls = |function: &&Function| {
            let name = function.signature.split('(').next().unwrap_or_default();
            form.pseudo_code.iter().any(|line| line.contains(&format!("{name}(")))
        };
        FormPage {
            form,
            page,
            entry: &page.entries[usize::from(syntax.entry)],
            operands: signature(form),
            modifiers: modifiers.collect(),
            functions: page.functions.iter().filter(calls).collect(),
            function: (!form.evaluators.is_empty()).then(|| function(form.mnemonic)),
            variant: variant(form.mnemonic),
        }
    }
}

/// The name of the function in [`scalar`](crate::scalar) that computes a form.
pub fn function(mnemonic: &str) -> String {
    let mut name = String::new();
    for letter in mnemonic.chars() {
        if letter.is_ascii_uppercase() && !name.ends_with('_') {
            name.push('_');
        }
        name.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' });
    }
    name
}

/// The name of a form's variant of [`Form`](crate::Form).
pub fn variant(mnemonic: &str) -> String {
    let mut name = String::new();
    for part in mnemonic.split(['.', '_', ':']) {
        let mut letters = part.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

/// A floor as people write it: `PTX 4.2, sm_53`.
pub fn floor(floor: &Floor) -> String {
    format!("PTX {}, sm_{}", floor.ptx, floor.sm)
}

/// A type with its width: `.f16x2, 2 lanes of 16 bits`.
pub fn width(ty: &TypeInfo) -> String {
    match (ty.kind, ty.lanes) {
        (Kind::Predicate, _) => "1 bit".to_string(),
        (_, 1) => format!("{} bits", ty.bits),
        (_, lanes) => format!("{lanes} lanes of {} bits", ty.bits / u16::from(lanes)),
    }
}

/// What may be written for an operand of a form, as phrases.
pub fn takes(operand: &Operand) -> Vec<String> {
    let ty = &TABLE.types[operand.ty.index()];
    let mut list = Vec::new();
    let registers: Vec<String> = TABLE
        .types
        .iter()
        .enumerate()
        .filter(|(index, _)| operand.registers >> index & 1 != 0)
        .map(|(_, ty)| format!(".{}", ty.name))
        .collect();
    list.push(format!("registers {}", registers.join(" ")));
    if let Some(second) = &operand.second {
        let how = if second.optional == Permission::Yes { "may be followed by" } else { "is followed by" };
        list.push(format!("{how} |{}", second.name));
    }
    if operand.sink {
        list.push("the sink _".to_string());
    }
    if operand.constants {
        let kinds = [
            (ty.constants.integer, "integer"),
            (ty.constants.float, "float"),
            (ty.constants.single && !ty.constants.float, "0f…"),
        ];
        let kinds: Vec<&str> = kinds.iter().filter(|(has, _)| *has).map(|(_, name)| *name).collect();
        if !kinds.is_empty() {
            list.push(format!("{} constants", kinds.join(" and ")));
        }
    }
    match operand.negation {
        Permission::Yes => list.push(format!("!{}", operand.name)),
        Permission::Lenient(_) | Permission::No => {}
    }
    if let Some(selector) = &operand.selector {
        list.push(format!("a selector .{}", selector.name));
    }
    if operand.optional {
        list.push("may be left out".to_string());
    }
    list
}
