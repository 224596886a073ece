//! The legal forms that are nearest to what is written.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Fit, NEAREST, Speller, Token, resolve, spelt};
use crate::table::{ABSENT, FormInfo, Free, Kind, Slot, TypeInfo};
use crate::text::alike::distance;
use crate::text::spelling;

/// Maximum number of legal mnemonics that a refused one may mean, before operands decide among them.
pub(super) const MEANT: usize = 8;

/// Cost of a modifier in place of another one, to which the distance of their spellings is added.
const REPLACED: usize = 100;
/// Cost of a member that means the same: less than that of an integer type of the same width, which is [`REPLACED`].
const SYNONYM: usize = REPLACED - 1;
/// Cost of a modifier that goes.
const REMOVED: usize = 120;
/// Cost of a modifier that is added.
const ADDED: usize = 150;
/// Discount for a suspect slot.
const SUSPECT: usize = 30;
/// Discount for a missing modifier: it was omitted, and everything else is meant as written.
const LEFT_OUT: usize = 90;
/// Surcharge for a type of another width, or a float for an integer: registers have the type that is written.
const OTHER_TYPE: usize = 200;

/// Maximum number of near forms: several may have one mnemonic.
const FORMS: usize = 12;

/// The modifiers that are meant.
pub(super) struct Wanted {
    /// The member in each slot, or [`ABSENT`].
    pub(super) values: Vec<u8>,
    /// Other members that are equally likely, each with its slot.
    pub(super) also: Vec<(usize, u8)>,
}

impl Wanted {
    /// Puts the members that are equally likely into a slot, the first of them as its value.
    pub(super) fn set(&mut self, slot: usize, names: &Slot, members: &[&str]) {
        let index = |name: &&str| names.members.iter().position(|member| member == name);
        let mut members = members.iter().filter_map(index).map(|member| member as u8);
        if let Some(first) = members.next() {
            self.values[slot] = first;
            self.also.extend(members.map(|member| (slot, member)));
        }
    }
}

/// The form of the same instruction that `fits` accepts and whose modifiers are nearest to those of `form`.
pub(crate) fn nearest_that(form: FormInfo, fits: impl Fn(FormInfo) -> bool) -> Option<FormInfo> {
    let speller = Speller { table: form.table(), instruction: form.instruction(), opcode: 0..0 };
    let wanted = Wanted { values: form.values().to_vec(), also: Vec::new() };
    let near = speller.nearest(&wanted, &[], |near| fits(near) && near.floor().removed.is_none());
    near.first().map(|(_, form)| *form)
}

/// The mnemonics nearest to that of a form which later versions do not have, of those that are wanted: other forms of the
/// instruction, and instructions whose names go on from its own.
pub(crate) fn successors(form: FormInfo, wanted: impl Fn(FormInfo) -> bool) -> Vec<String> {
    let (table, instruction) = (form.table(), form.instruction());
    let speller = Speller { table, instruction, opcode: 0..0 };
    // A modifier that is required now may have been optional.
    let absent: Vec<usize> = (0..form.values().len()).filter(|slot| form.values()[*slot] == ABSENT).collect();
    let same = |near: &FormInfo| {
        let written = form.values().iter().zip(near.values()).filter(|(own, _)| **own != ABSENT);
        written.into_iter().all(|(own, other)| own == other)
    };
    let values = Wanted { values: form.values().to_vec(), also: Vec::new() };
    let near = speller.nearest(&values, &absent, |near| same(&near) && wanted(near));
    let own = near.into_iter().take(NEAREST).map(|(_, form)| form.mnemonic().to_owned());
    let opcode = instruction.data().opcode;
    let modifiers = &form.mnemonic()[opcode.len()..];
    let longer = table
        .instructions()
        .map(|other| other.data().opcode)
        .filter(|other| other.strip_prefix(opcode).is_some_and(|rest| rest.starts_with('.')));
    let longer = longer.map(|opcode| format!("{opcode}{modifiers}"));
    let longer = longer.filter(|mnemonic| resolve(table, mnemonic).is_ok_and(|resolved| wanted(resolved.form)));
    own.chain(longer).collect()
}

fn is_float(ty: &TypeInfo) -> bool {
    matches!(ty.kind, Kind::Float | Kind::Minifloat)
}

impl Speller {
    pub(super) fn ty(&self, name: &str) -> Option<&'static TypeInfo> {
        self.table.type_named(name).map(|ty| self.table.ty(ty))
    }

    /// Returns true if both are types, and of another width or a float and an integer.
    fn is_other_type(&self, was: &str, to: &str) -> bool {
        let Some((was, to)) = self.ty(was).zip(self.ty(to)) else { return false };
        // Untyped bits may be either.
        let typed = was.kind != Kind::Bits && to.kind != Kind::Bits;
        (was.bits, was.lanes) != (to.bits, to.lanes)
            || typed && (is_float(was) && to.is_word() || is_float(to) && was.is_word())
    }

    /// Returns true if both are integers or untyped bits of the same width, which the same registers hold.
    fn is_same_width(&self, was: &str, to: &str) -> bool {
        let types = self.ty(was).zip(self.ty(to));
        types.is_some_and(|(was, to)| was.is_word() && to.is_word() && (was.bits, was.lanes) == (to.bits, to.lanes))
    }

    /// The scalar type that a name of other languages denotes, such as `i32`, `int8` or `float64`.
    pub(super) fn foreign(&self, text: &str) -> Option<&'static TypeInfo> {
        let letters = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let kind = match letters {
            "i" | "int" => Kind::Signed,
            "uint" => Kind::Unsigned,
            "float" => Kind::Float,
            _ => return None,
        };
        let bits = text[letters.len()..].parse().ok()?;
        self.table.types.iter().find(|ty| ty.kind == kind && (ty.bits, ty.lanes) == (bits, 1))
    }

    /// Of some names the types that are most like a type: as wide, then also an integer or a float, then as it is spelt. There
    /// is none if none is as wide, or `text` is no type.
    pub(super) fn alike(&self, text: &str, names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
        let Some(own) = self.ty(text).or_else(|| self.foreign(text)) else { return Vec::new() };
        let fits = |name: &&'static str| self.ty(name).is_some_and(|ty| (ty.bits, ty.lanes) == (own.bits, own.lanes));
        let apart = |name: &str| (self.ty(name).map(is_float) != Some(is_float(own)), distance(own.name, name));
        let mut near: Vec<_> = names.filter(fits).map(|name| (apart(name), name)).collect();
        let least = near.iter().map(|(apart, _)| *apart).min();
        near.retain(|(apart, _)| Some(*apart) == least);
        let mut alike = Vec::new();
        near.into_iter().for_each(|(_, name)| {
            if !alike.contains(&name) {
                alike.push(name);
            }
        });
        alike
    }

    /// The state space of a window, and any other word as it is.
    fn unwindowed<'w>(&self, word: &'w str) -> &'w str {
        self.table.space(word).map_or(word, |space| space.name)
    }

    /// The spellings of a form with these free modifiers and as few others as possible, each with the cost of what is added or, if
    /// the form does not take them, dropped. A window of a state space counts as the space.
    pub(super) fn spellings(&self, form: FormInfo, free: &Free) -> Vec<(usize, String)> {
        let first = spelt(form, free).into_owned();
        if form.takes(free) {
            return [(0, first)].into();
        }
        let completions = spelling::completions(form, free, NEAREST + 1);
        if completions.is_empty() {
            return [(REMOVED, first)].into();
        }
        let modifiers = |mnemonic: &str| mnemonic.matches('.').count();
        let written = modifiers(&form.mnemonic_with(free));
        let same = |a: &str, b: &str| {
            let (a, b) =
                (a.split('.').map(|word| self.unwindowed(word)), b.split('.').map(|word| self.unwindowed(word)));
            a.eq(b)
        };
        let mut spellings: Vec<(usize, String)> = Vec::new();
        for other in [first].into_iter().chain(completions.iter().map(|free| form.mnemonic_with(free))) {
            if spellings.iter().all(|(_, known)| !same(known, &other)) {
                spellings.push((modifiers(&other).abs_diff(written) * (ADDED - LEFT_OUT), other));
            }
        }
        spellings
    }

    /// Returns the form that results if unknown modifiers are replaced by those with the closest spelling.
    pub(super) fn respelt(&self, fit: &Fit, tokens: &[Token<'_>]) -> Option<(FormInfo, Free)> {
        let unknown = |index: usize| fit.left.iter().any(|&(left, by)| left == index && by.is_none());
        let spelt = tokens.iter().enumerate().map(|(index, token)| {
            let near = if unknown(index) { self.near(fit, token).first().copied() } else { None };
            Token { text: near.unwrap_or(token.text), span: token.span.clone() }
        });
        self.legal(&spelt.collect::<Vec<_>>())
    }

    /// The forms that differ least from the wanted modifiers: best in one slot, and there in spelling. A suspect slot
    /// is the first to be changed. Each has its cost, by which they are sorted.
    pub(super) fn nearest(
        &self,
        wanted: &Wanted,
        suspects: &[usize],
        fits: impl Fn(FormInfo) -> bool,
    ) -> Vec<(usize, FormInfo)> {
        let mut costs: Vec<Vec<usize>> = Vec::new();
        for (index, slot) in self.instruction.slots.iter().enumerate() {
            let was = slot.members.get(usize::from(wanted.values[index])).copied();
            let less = if suspects.contains(&index) { SUSPECT } else { 0 };
            let alike = if was.is_some() { self.synonyms(index, wanted.values[index]) } else { Vec::new() };
            let also: Vec<&str> = wanted
                .also
                .iter()
                .filter(|(slot, _)| *slot == index)
                .filter_map(|(_, member)| slot.members.get(usize::from(*member)).copied())
                .collect();
            let cost = |to: Option<&str>| match (was, to) {
                (None, None) => 0,
                (None, Some(_)) if less > 0 => ADDED - LEFT_OUT,
                (None, Some(_)) => ADDED,
                (Some(_), None) => REMOVED - less,
                (Some(was), Some(to)) if was == to || also.contains(&to) => 0,
                (Some(_), Some(to)) if alike.contains(&to) => SYNONYM - less,
                (Some(was), Some(to)) if less > 0 && self.is_same_width(was, to) => REPLACED - less,
                (Some(was), Some(to)) => {
                    REPLACED - less + distance(was, to) + if self.is_other_type(was, to) { OTHER_TYPE } else { 0 }
                }
            };
            let present = slot.members.iter().map(|member| cost(Some(*member)));
            costs.push(present.chain([cost(None)]).collect());
        }
        let cost = |form: FormInfo| -> usize {
            // The last cost of a slot is that of having nothing in it.
            let cost_of = |(cost, &value): (&Vec<usize>, &u8)| cost[usize::from(value).min(cost.len() - 1)];
            // Forms that later versions have removed are rarely meant.
            let gone = if form.floor().removed.is_some() { ADDED } else { 0 };
            costs.iter().zip(form.values()).map(cost_of).sum::<usize>() + gone
        };
        let mut near: Vec<(usize, FormInfo)> = Vec::new();
        for form in self.instruction.forms().filter(|form| fits(*form)) {
            let cost = cost(form);
            // Of equal ones the older is likelier.
            let place = near.partition_point(|&(other, near)| (other, near.floor().ptx) <= (cost, form.floor().ptx));
            if place < FORMS {
                near.insert(place, (cost, form));
                near.truncate(FORMS);
            }
        }
        let best = near.first().map_or(0, |&(cost, _)| cost);
        near.retain(|&(cost, _)| cost <= best + SUSPECT);
        near
    }

    /// The members of a slot that mean what one of them means where both are legal, as `.ge` what `.hs` means for unsigned
    /// integers: forms that differ in them alone compute the same.
    fn synonyms(&self, slot: usize, member: u8) -> Vec<&'static str> {
        let of = |value: u8| self.instruction.slots[slot].members.get(usize::from(value)).copied();
        let mut forms = self.instruction.forms();
        let Some(own) = forms.find(|form| form.values()[slot] == member && form.has_evaluator()) else {
            return Vec::new();
        };
        let same = |other: &FormInfo| {
            let others = own.values().iter().zip(other.values()).enumerate();
            let differ = others.filter(|(_, (own, other))| own != other).map(|(index, _)| index);
            differ.eq([slot]) && core::ptr::eq(own.evaluations(), other.evaluations())
        };
        self.instruction.forms().filter(same).filter_map(|form| of(form.values()[slot])).collect()
    }
}
