//! Lookup in a table: forms by mnemonic or modifiers, and named parts.

use core::fmt;

use super::{
    Declared, Directive, FormInfo, Forms, IllegalForm, InstructionInfo, LONG, Lenient, MemoryOrder, Name, Origin,
    Space, Special, Table, TargetInfo, TypeId, TypeInfo,
};
use crate::hash::{self, Key};
use crate::target::{Families, NameError, Target, Version};

/// Maximum number of words of an opcode: `cp.async.bulk.prefetch.tensor`.
const WORDS: usize = 5;

impl Space {
    /// Returns the number of the bank that a word names: 2 for `const[2]`. The space may have fewer banks, but has some.
    pub fn bank(&self, word: &str) -> Option<u64> {
        let number = word.strip_prefix(self.name)?.strip_prefix('[')?.strip_suffix(']')?;
        number.parse().ok().filter(|_| self.banks > 0)
    }
}

impl Table {
    /// Returns the directive with this name, without its dot.
    pub fn directive(&self, name: &str) -> Option<&'static Directive> {
        self.directives.iter().find(|directive| directive.name == name)
    }

    /// Returns the requirements of a part of declarations, in ascending order of their maximum.
    pub fn declared(&self, name: &str) -> impl Iterator<Item = &'static Declared> {
        self.declarations.iter().filter(move |declared| declared.name == name)
    }

    /// Returns the requirement of a word of declarations, given without its dot.
    pub fn declared_word(&self, word: &str) -> Option<&'static Declared> {
        self.declarations.iter().find(|declared| declared.name.strip_prefix('.') == Some(word))
    }

    /// Returns the state space with this name, or the space that contains the named one: `shared::cta` is in `shared`, `const[2]` in
    /// `const`.
    pub fn space(&self, name: &str) -> Option<&'static Space> {
        let window =
            |space: &Space| name.strip_prefix(space.name).is_some_and(|part| part.is_empty() || part.starts_with("::"));
        self.spaces.iter().find(|space| window(space) || space.bank(name).is_some())
    }

    /// Returns how accesses with a modifier are ordered, given without its dot; `None` if they are weak.
    pub fn order(&self, name: &str) -> Option<&'static MemoryOrder> {
        self.orders.iter().find(|order| order.name == name)
    }

    /// Returns the special register with this name.
    pub fn special(&self, name: &str) -> Option<&'static Special> {
        // They are sorted, so that those with the same name before the number are adjacent.
        let stem = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let first = self.specials.partition_point(|special| special.name < stem);
        let candidates = self.specials[first..].iter().take_while(|special| special.name.starts_with(stem));
        // One of a family may have an entry of its own, behind that of the family.
        let own = candidates.filter(|special| special.is_called(name)).last();
        own.or_else(|| self.base?.special(name))
    }

    /// Returns the maximum of each element of the special registers with values from this source; empty if there is none.
    pub fn limit(&self, origin: Origin) -> &'static [u32] {
        let own = self.specials.iter().find(|special| special.origin == origin);
        match (own, self.base) {
            (Some(special), _) => special.limit,
            (None, Some(base)) => base.limit(origin),
            (None, None) => &[],
        }
    }

    /// Returns what the table knows of a target; `None` if it does not know it.
    pub fn target_info(&self, target: Target) -> Option<&'static TargetInfo> {
        self.targets.iter().find(|known| known.target == target)
    }

    /// Returns the target with this name.
    ///
    /// # Errors
    ///
    /// If the name is malformed or unknown; suggests the nearest target.
    pub fn target(&self, name: &str) -> Result<Target, NameError> {
        let target: Target = name.parse()?;
        let known = || self.targets.iter().map(|known| known.target);
        match self.target_info(target) {
            Some(_) => Ok(target),
            None => Err(NameError::NoTarget(target, known().min_by_key(|known| known.sm.abs_diff(target.sm)))),
        }
    }

    /// Returns the version with this name.
    ///
    /// # Errors
    ///
    /// If the name is malformed or unknown; suggests the nearest version.
    pub fn version(&self, name: &str) -> Result<Version, NameError> {
        let version: Version = name.parse()?;
        if self.versions.contains(&version) {
            return Ok(version);
        }
        let before = self.versions.iter().rev().find(|known| **known < version).or(self.versions.first());
        Err(NameError::NoVersion(version, before.copied()))
    }

    /// Returns the form with this canonical mnemonic: modifiers in the manual's order, no spaces.
    #[inline]
    pub fn form(&'static self, mnemonic: &str) -> Option<FormInfo> {
        match self.forms.index(mnemonic) {
            Some(index) => Some(FormInfo { table: self, index: index as u32 }),
            None => self.form_of_base(mnemonic),
        }
    }

    fn form_of_base(&self, mnemonic: &str) -> Option<FormInfo> {
        // The base is not asked for an opcode that this table describes itself.
        let form = self.base?.form(mnemonic)?;
        self.own(form.instruction().data().opcode).is_none().then_some(form)
    }

    /// Returns this table's own form with this index.
    pub fn form_at(&'static self, index: usize) -> Option<FormInfo> {
        (index < self.forms.len()).then_some(FormInfo { table: self, index: index as u32 })
    }

    /// Returns every form: those of the base, then its own.
    pub fn forms(&'static self) -> impl Iterator<Item = FormInfo> {
        let instructions = self.instructions();
        instructions.flat_map(|instruction| instruction.forms())
    }

    fn own(&self, opcode: &str) -> Option<usize> {
        self.instructions.binary_search_by(|instruction| instruction.opcode.cmp(opcode)).ok()
    }

    /// Returns the instruction that a mnemonic names, modifiers in any order; the longest matching opcode wins.
    pub fn instruction_of(&'static self, mnemonic: &str) -> Option<InstructionInfo> {
        let ends = mnemonic.match_indices('.').map(|(dot, _)| dot).chain([mnemonic.len()]).take(WORDS);
        ends.filter_map(|end| self.instruction(&mnemonic[..end])).last()
    }

    /// Returns the instruction with this opcode.
    pub fn instruction(&'static self, opcode: &str) -> Option<InstructionInfo> {
        match self.own(opcode) {
            Some(index) => Some(InstructionInfo { table: self, index }),
            None => self.base?.instruction(opcode),
        }
    }

    /// Returns every instruction: those of the base, then its own, each sorted by opcode.
    pub fn instructions(&'static self) -> alloc::boxed::Box<dyn Iterator<Item = InstructionInfo>> {
        let own = (0..self.instructions.len()).map(move |index| InstructionInfo { table: self, index });
        match self.base {
            Some(base) => {
                let kept = move |instruction: &InstructionInfo| self.own(instruction.opcode).is_none();
                alloc::boxed::Box::new(base.instructions().filter(kept).chain(own))
            }
            None => alloc::boxed::Box::new(own),
        }
    }

    /// Returns the properties of a type.
    #[inline]
    pub fn ty(&self, id: TypeId) -> &'static TypeInfo {
        &self.types[id.index()]
    }

    /// Returns the type with this name, without its dot.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.types.iter().position(|ty| ty.name == name).map(|index| TypeId(index as u8))
    }

    /// Returns the families of targets.
    pub fn families(&self) -> Families<'static> {
        Families(self.families)
    }

    /// Returns the note that the assembler accepts a deviation, if it does.
    #[inline]
    pub fn takes(&self, lenient: Lenient) -> Option<&'static str> {
        self.lenient[lenient as usize]
    }

    /// Returns the index of this table's own form of an instruction with these members in its slots; [`ABSENT`](super::ABSENT) omits a
    /// slot, and [`FOREIGN`](super::FOREIGN) is a modifier that is not a member of the slot.
    ///
    /// # Errors
    ///
    /// The rules that refuse the combination.
    pub fn select(&'static self, instruction: usize, values: &[u8]) -> Result<usize, IllegalForm> {
        let instruction = InstructionInfo { table: self, index: instruction };
        let refusal = IllegalForm::new(instruction, values);
        // Free modifiers are not part of a form.
        let bound = |slot: u8| !instruction.slots[usize::from(slot)].free;
        let spelt = instruction.syntaxes().iter().find(|syntax| syntax.spells_where(values, bound));
        let index = spelt.and_then(|syntax| self.forms.index(&instruction.spell(syntax, values)));
        index.ok_or(refusal)
    }
}

impl Forms {
    /// Number of forms.
    pub const fn len(&self) -> usize {
        self.syntax.len()
    }

    /// Returns true if the table has no forms.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the mnemonic of a form.
    #[inline]
    pub fn mnemonic(&self, index: usize) -> &'static str {
        let Name(name) = &self.names[index];
        match name {
            [LONG, low, high, ..] => self.long_names[usize::from(u16::from_le_bytes([*low, *high]))],
            _ => {
                let length = name.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                core::str::from_utf8(&name[..length]).expect("mnemonics are text")
            }
        }
    }

    /// Returns the form with this canonical mnemonic.
    #[inline(always)]
    pub fn index(&self, mnemonic: &str) -> Option<usize> {
        match Key::exact(mnemonic.as_bytes()) {
            Some(key) => {
                let index = self.place(key);
                (Key::padded(&self.names.get(index)?.0) == key).then_some(index)
            }
            None => self.index_of_any(mnemonic),
        }
    }

    #[inline(never)]
    fn index_of_any(&self, mnemonic: &str) -> Option<usize> {
        let index = self.place(Key::of(mnemonic.as_bytes()));
        (index < self.len() && self.mnemonic(index) == mnemonic).then_some(index)
    }

    /// Returns the form in the place of a key, if it is occupied.
    #[inline(always)]
    fn place(&self, key: Key) -> usize {
        self.places[hash::find(key.hash(), self.factors, self.places.len())].into()
    }
}

/// Error: no form has this mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMnemonic;

impl fmt::Display for UnknownMnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no form of the table has this mnemonic")
    }
}

impl core::error::Error for UnknownMnemonic {}
