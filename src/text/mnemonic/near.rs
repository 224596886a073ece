//! The legal forms that are nearest to what is written.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Fit, NEAREST, Speller, Token, resolve};
use crate::table::{ABSENT, FormInfo, Free, Kind, TypeInfo};
use crate::text::alike::distance;

/// The legal forms of the same instruction with `operands` operands whose modifiers are nearest to those of `form`.
pub(crate) fn nearest_with_operands(form: FormInfo, operands: usize) -> Option<FormInfo> {
    let speller = Speller { table: form.table(), instruction: form.instruction(), opcode: 0..0 };
    let fits = |near: FormInfo| near.operands().len() == operands && near.floor().removed.is_none();
    speller.nearest(form.values(), &[], fits).first().copied()
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
    let near = speller.nearest(form.values(), &absent, |near| same(&near) && wanted(near));
    let own = near.into_iter().map(|form| form.mnemonic().to_owned());
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
    fn ty(&self, name: &str) -> Option<&'static TypeInfo> {
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

    /// Of some names the type that is most like a type: as wide, then also an integer or a float, then as it is spelt.
    /// `None` if none is as wide, or `text` is no type.
    pub(super) fn alike(&self, text: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
        let own = self.ty(text)?;
        let fits = |name: &&'static str| self.ty(name).is_some_and(|ty| (ty.bits, ty.lanes) == (own.bits, own.lanes));
        let apart = |name: &&'static str| (self.ty(name).map(is_float) != Some(is_float(own)), distance(text, name));
        names.filter(fits).min_by_key(apart)
    }

    /// Returns the form that results if unknown modifiers are replaced by those with the closest spelling.
    pub(super) fn respelt(&self, fit: &Fit, tokens: &[Token<'_>]) -> Option<(FormInfo, Free)> {
        let unknown = |index: usize| fit.left.iter().any(|&(left, by)| left == index && by.is_none());
        let spelt = tokens.iter().enumerate().map(|(index, token)| {
            let near = if unknown(index) { self.near(fit, token) } else { None };
            Token { text: near.unwrap_or(token.text), span: token.span.clone() }
        });
        self.legal(&spelt.collect::<Vec<_>>())
    }

    /// The forms that differ least from the wanted modifiers: best in one slot, and there in spelling. A suspect slot
    /// is the first to be changed.
    pub(super) fn nearest(&self, wanted: &[u8], suspects: &[usize], fits: impl Fn(FormInfo) -> bool) -> Vec<FormInfo> {
        const REPLACED: usize = 100;
        const REMOVED: usize = 120;
        const ADDED: usize = 150;
        const SUSPECT: usize = 30;
        // A type is meant as written, where another one has another width or is a float and not an integer: registers have it.
        const OTHER_TYPE: usize = 200;
        // The missing modifier was omitted; everything else is meant as written.
        const LEFT_OUT: usize = 90;
        let mut costs: Vec<Vec<usize>> = Vec::new();
        for (index, slot) in self.instruction.slots.iter().enumerate() {
            let was = slot.members.get(usize::from(wanted[index])).copied();
            let less = if suspects.contains(&index) { SUSPECT } else { 0 };
            let alike = if was.is_some() { self.synonyms(index, wanted[index]) } else { Vec::new() };
            let cost = |to: Option<&str>| match (was, to) {
                (None, None) => 0,
                (None, Some(_)) if less > 0 => ADDED - LEFT_OUT,
                (None, Some(_)) => ADDED,
                (Some(_), None) => REMOVED - less,
                (Some(was), Some(to)) if was == to => 0,
                (Some(_), Some(to)) if alike.contains(&to) => REPLACED - less,
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
            if place < NEAREST {
                near.insert(place, (cost, form));
                near.truncate(NEAREST);
            }
        }
        let best = near.first().map_or(0, |&(cost, _)| cost);
        near.into_iter().filter(|&(cost, _)| cost <= best + SUSPECT).map(|(_, form)| form).collect()
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
