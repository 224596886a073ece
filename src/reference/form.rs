//! One form, explained: what its page says, narrowed to its modifiers.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use isa_table::names;

use super::page::{Entry, Fragment, Function, Page};
use crate::TABLE;
use crate::selector::Permission;
use crate::table::{FormInfo, Free, Kind, Operand, OperandKind, TypeInfo};
use crate::text::effects;

/// Returns the forms with the mnemonic of a form that take the same free modifiers: they differ in their operands.
pub fn alike(form: FormInfo, free: &Free) -> impl Iterator<Item = FormInfo> + use<'_> {
    let forms = form.instruction().forms();
    forms.filter(move |other| other.mnemonic() == form.mnemonic() && other.takes(free))
}

/// Reference page of one form.
#[derive(Debug)]
pub struct FormPage {
    /// The form.
    pub form: FormInfo,
    /// The free modifiers that it is shown with.
    pub free: Free,
    /// The page of its opcode.
    pub page: &'static Page,
    /// Its entry on that page.
    pub entry: &'static Entry,
    /// Its modifiers, in the order of the mnemonic.
    pub modifiers: Vec<Modifier>,
    /// Its pseudo-code on the newest targets, modifiers filled in; none where the table has no evaluator.
    pub lines: Vec<&'static str>,
    /// The functions that its pseudo-code calls.
    pub functions: Vec<&'static Function>,
    /// The function of [`scalar`](crate::scalar) that computes it; none where the table has no evaluator.
    pub function: Option<String>,
    /// The form as a constant: `Setp::LT_S32`.
    pub constant: String,
    /// The operands as a statement writes them, in the order of the form's; empty where no statement is explained.
    pub written: Vec<String>,
}

/// A modifier of a form.
#[derive(Debug)]
pub struct Modifier {
    /// The spelling, without a dot.
    pub spelling: &'static str,
    /// Name of the modifier's slot.
    pub slot: &'static str,
    /// Meaning of the modifier; empty if the pseudo-code defines it.
    pub description: &'static str,
}

impl FormPage {
    pub(super) fn new(form: FormInfo, free: Free, page: &'static Page, lines: Vec<&'static str>) -> FormPage {
        let instruction = form.instruction();
        let values = form.values_with(&free);
        let modifiers = form.syntax().items.iter().filter_map(|item| {
            let slot = &instruction.slots[usize::from(item.slot)];
            let spelling = *slot.members.get(usize::from(values[usize::from(item.slot)]))?;
            let description = page.member(slot.name, spelling).map_or("", |member| match has_floats(form) {
                true => member.description,
                false => member.plain,
            });
            Some(Modifier { spelling, slot: slot.name, description })
        });
        let calls = |function: &&Function| {
            let name = function.signature.split('(').next().unwrap_or_default();
            lines.iter().any(|line| line.contains(&format!("{name}(")))
        };
        FormPage {
            form,
            free,
            page,
            entry: &page.entries[usize::from(form.syntax().entry)],
            modifiers: modifiers.collect(),
            functions: page.functions.iter().filter(calls).collect(),
            lines,
            function: function(form),
            constant: constant(form),
            written: Vec::new(),
        }
    }
}

impl FormPage {
    /// The fragments that its operands are, in the order of these, and which operands these are.
    pub fn fragments(&self) -> Vec<(&'static Fragment, Vec<&'static str>)> {
        let place = self.form.instruction().forms().position(|form| form == self.form);
        let Some(place) = place.map(|place| place as u32) else { return Vec::new() };
        let held = |fragment: &Fragment| {
            let held = fragment.held.iter().filter(|held| held.forms.contains(&place));
            held.map(|held| held.operand).collect::<Vec<_>>()
        };
        let all = self.page.fragments.iter().map(|fragment| (fragment, held(fragment)));
        let mut found: Vec<_> = all.filter(|(_, operands)| !operands.is_empty()).collect();
        found.sort_by_key(|(_, held)| self.form.operands().iter().position(|operand| held.contains(&operand.name)));
        found
    }
}

/// The effects of an entry of an opcode beyond registers, in words: those of all its forms, each once.
pub fn effects(opcode: &str, entry: usize) -> Vec<String> {
    let forms = TABLE.instruction(opcode).into_iter().flat_map(|info| info.forms());
    let mut found: Vec<String> = Vec::new();
    for form in forms.filter(|form| usize::from(form.syntax().entry) == entry) {
        for sentence in effects::in_words(form) {
            if !found.contains(&sentence) {
                found.push(sentence);
            }
        }
    }
    found
}

/// The function of [`scalar`](crate::scalar) that computes a form; none where the table has no evaluator.
pub fn function(form: FormInfo) -> Option<String> {
    form.has_evaluator().then(|| names::function(&form.name()))
}

/// A form as a constant: `Setp::LT_S32`.
pub fn constant(form: FormInfo) -> String {
    format!("{}::{}", names::camel(form.instruction().opcode), names::constant(&form.name()))
}

/// Returns true if an operand of a form is a float or has float lanes.
pub fn has_floats(form: FormInfo) -> bool {
    let table = form.table();
    form.operands().iter().any(|operand| table.ty(table.ty(operand.ty).lane).kind == Kind::Float)
}

/// A type with its width: `.f16x2, 2 lanes of 16 bits`.
pub fn width(ty: &TypeInfo) -> String {
    match (ty.kind, ty.lanes) {
        (Kind::Predicate, _) => "1 bit".to_string(),
        (_, 1) => format!("{} bits", ty.bits),
        (_, lanes) => format!("{lanes} lanes of {} bits", ty.lane_bits()),
    }
}

/// Returns phrases that describe the values an operand of a form accepts in statements with these free modifiers.
pub fn takes(form: FormInfo, free: &Free, operand: &Operand) -> Vec<String> {
    let table = form.table();
    let ty = table.ty(operand.ty);
    let mut list = Vec::new();
    if operand.state.is_some() {
        list.push("a state of the thread, which no statement names".to_string());
        return list;
    }
    let registers: Vec<String> = operand.registers.iter().map(|id| format!(".{}", table.ty(id).name)).collect();
    if !registers.is_empty() {
        list.push(format!("registers {}", registers.join(" ")));
    }
    if let Some(second) = &operand.second {
        let how = if second.optional == Permission::Yes { "may be followed by" } else { "is followed by" };
        let ty = table.ty(second.ty);
        let ty = if second.ty == operand.ty { String::new() } else { format!(", a .{}, {}", ty.name, width(ty)) };
        list.push(format!("{how} |{}{ty}", second.name));
    }
    if operand.sink || operand.sinks {
        list.push("the sink _".to_string());
    }
    // Of addresses, the state space decides, and they are integers.
    let is_address = operand.kind == OperandKind::Address;
    if operand.constants && (!is_address || form.space_of(free, operand).is_some_and(|space| space.constants)) {
        let kinds = [
            (ty.constants.integer, "integer"),
            (ty.constants.float && !is_address, "float"),
            (ty.constants.single && !ty.constants.float && !is_address, "0f…"),
        ];
        let kinds: Vec<&str> = kinds.iter().filter(|(has, _)| *has).map(|(_, name)| *name).collect();
        if !kinds.is_empty() {
            list.push(format!("{} constants", kinds.join(" and ")));
        }
    }
    if operand.specials {
        list.push("special registers".to_string());
    }
    if operand.addresses {
        list.push("the address of a variable or function".to_string());
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
