//! Queries on a form.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{
    Around, Bound, Effect, EffectList, Entry, Evaluator, Floors, Free, FreeFloor, Instruction, InstructionInfo,
    MemoryOrder, NO_EVALUATION, Operand, OperandList, Operands, Outputs, Relaxed, Rule, Space, Syntax, Table, TypeId,
};
use crate::matrix::Fragment;
use crate::notation;
use crate::program::{Evaluation, WARP};
use crate::selector::Selector;
use crate::target::Floor;

/// A legal form of a table: an opcode with all its modifiers.
#[derive(Clone, Copy)]
pub struct FormInfo {
    pub(super) table: &'static Table,
    pub(super) index: u32,
}

impl PartialEq for FormInfo {
    fn eq(&self, other: &FormInfo) -> bool {
        self.index == other.index && core::ptr::eq(self.table, other.table)
    }
}

impl Eq for FormInfo {}

impl core::hash::Hash for FormInfo {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}

impl fmt::Debug for FormInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

impl FormInfo {
    /// Returns the table that owns it.
    #[inline(always)]
    pub fn table(self) -> &'static Table {
        self.table
    }

    /// Returns its index among the table's own forms.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// Returns the mnemonic without free modifiers: `set.lt.and.ftz.u32.f32`. A form that cannot do without some of them is
    /// spelt by [`mnemonic_with`](Self::mnemonic_with).
    #[inline]
    pub fn mnemonic(self) -> &'static str {
        self.table.forms.mnemonic(self.index())
    }

    /// Returns its unique name: the mnemonic, followed by the punctuation of operands, such as `.of2` for a vector of
    /// two, and by the names of all operands if another form has the same name.
    pub fn name(self) -> String {
        let own = |form: FormInfo| {
            let operands = form.operands().iter();
            name_with(form.mnemonic(), operands.map(|operand| (operand.name, operand.destination, operand.around)))
        };
        let name = own(self);
        match self.all_shapes().filter(|other| *other != self).any(|other| own(other) == name) {
            true => name_with_operands(&name, self.operands().iter().map(|operand| operand.name)),
            false => name,
        }
    }

    /// Maximum error of a machine's result relative to that of [`FormInfo::evaluate`], rounded to nearest; `None` if
    /// both are equal. For `sin` and `cos` it applies to arguments from −2π to 2π.
    pub fn bound(self) -> Option<&'static Bound> {
        let bounds = self.table.forms.bounds;
        let found = bounds.binary_search_by_key(&self.index(), |bounded| bounded.form.into()).ok()?;
        Some(&bounds[found].bound)
    }

    /// Returns the next form of the same mnemonic with other operands.
    pub fn next_shape(self) -> Option<FormInfo> {
        let (pairs, _) = self.table.forms.next_shapes.as_chunks::<2>();
        let place = pairs.binary_search_by_key(&self.index(), |[form, _]| usize::from(*form)).ok()?;
        Some(FormInfo { index: pairs[place][1].into(), ..self })
    }

    /// Returns this form and those after it with the same mnemonic and other operands.
    pub fn shapes(self) -> impl Iterator<Item = FormInfo> {
        core::iter::successors(Some(self), |form| form.next_shape())
    }

    /// Returns all forms with its mnemonic, which differ in their operands.
    pub fn all_shapes(self) -> impl Iterator<Item = FormInfo> {
        self.table.form(self.mnemonic()).into_iter().flat_map(FormInfo::shapes)
    }

    /// Returns the instruction.
    pub fn instruction(self) -> InstructionInfo {
        InstructionInfo { table: self.table, index: usize::from(self.syntax().instruction) }
    }

    /// Returns the syntax line that spells it.
    pub fn syntax(self) -> &'static Syntax {
        &self.table.syntaxes[usize::from(self.table.forms.syntax[self.index()])]
    }

    /// Returns the index of its syntax line among those of its instruction.
    pub fn line(self) -> usize {
        usize::from(self.table.forms.syntax[self.index()] - self.instruction().first_syntax)
    }

    /// Returns the entry of the spec that describes it.
    pub fn entry(self) -> &'static Entry {
        &self.instruction().data().entries[usize::from(self.syntax().entry)]
    }

    /// Returns the section of the manual that describes it.
    pub fn section(self) -> &'static str {
        self.entry().section
    }

    /// Returns the member chosen in each slot of the instruction, or [`ABSENT`](super::ABSENT).
    pub fn values(self) -> &'static [u8] {
        let Instruction { first_value, first_form, slots, .. } = self.instruction().data();
        let before = (self.index() - usize::from(*first_form)) * slots.len();
        &self.table.forms.values[*first_value as usize + before..][..slots.len()]
    }

    /// Returns the member in each slot of the instruction: its own and a statement's free modifiers.
    pub fn values_with(self, free: &Free) -> Vec<u8> {
        let slots = self.instruction().data().slots.iter().zip(self.values()).enumerate();
        slots.map(|(index, (slot, value))| if slot.free { free.in_slot(index as u8) } else { *value }).collect()
    }

    /// Returns the member in a slot of its instruction, including the free modifiers of a statement: `global` for the
    /// state space of `ld.global.u32`.
    pub fn modifier(self, free: &Free, slot: u8) -> Option<&'static str> {
        let info = self.instruction().data().slots.get(usize::from(slot))?;
        let value = if info.free { free.in_slot(slot) } else { self.values()[usize::from(slot)] };
        info.members.get(usize::from(value)).copied()
    }

    /// Returns how an access is ordered by the modifier in a slot, in a statement with these free modifiers. The first that the instruction may
    /// have there stands for none; `None` if the access is weak.
    pub fn order(self, free: &Free, slot: u8) -> Option<&'static MemoryOrder> {
        let first = || self.instruction().data().slots.get(usize::from(slot))?.members.first().copied();
        self.table().order(self.modifier(free, slot).or_else(first)?)
    }

    /// Returns the state space of an address in a statement with these free modifiers: the one that a modifier names, or else the first
    /// that the operand lists; `None` for a generic address.
    pub fn space_of(self, free: &Free, address: &Operand) -> Option<&'static Space> {
        let named = address.space.and_then(|slot| self.modifier(free, slot));
        self.table().space(named.or_else(|| address.spaces.first().copied())?)
    }

    /// Returns the mnemonic with a statement's free modifiers, in the manual's order: `ld.global.u32`.
    pub fn mnemonic_with(self, free: &Free) -> String {
        self.instruction().spelt(self.syntax(), &self.values_with(free), true)
    }

    /// Returns the mnemonic with placeholders for free modifiers: `ld{.sem}{.ss}.u32`; the mnemonic if it has none.
    pub fn pattern(self) -> String {
        let instruction = self.instruction();
        let mut text = String::from(instruction.opcode);
        for item in self.syntax().items {
            let slot = &instruction.slots[usize::from(item.slot)];
            if slot.free {
                let name = slot.name;
                text += &if item.optional { alloc::format!("{{.{name}}}") } else { alloc::format!(".{name}") };
            } else if let Some(member) = slot.members.get(usize::from(self.values()[usize::from(item.slot)])) {
                text.push('.');
                text.push_str(member);
            }
        }
        text
    }

    /// Returns true if the form accepts these free modifiers: each has a slot, none that is required is missing, and no
    /// rule refuses them.
    pub fn takes(self, free: &Free) -> bool {
        if !self.syntax().free {
            return *free == Free::NONE;
        }
        self.syntax().spells(&self.values_with(free)) && self.refusals(free).next().is_none()
    }

    /// Returns the rules that refuse some free modifiers.
    pub fn refusals(self, free: &Free) -> impl Iterator<Item = &'static Rule> {
        let values = self.values_with(free);
        let own = move |rule: &&Rule| rule.decides == Some(self.syntax().entry) && rule.refuses(&values);
        self.instruction().data().rules.iter().filter(own)
    }

    /// Returns the requirements of some free modifiers beyond the form's own.
    pub fn floors_with(self, free: &Free) -> impl Iterator<Item = &'static FreeFloor> + use<> {
        let values = self.values_with(free);
        let floors = self.instruction().data().free_floors;
        let own = move |floor: &&FreeFloor| floor.entry == self.syntax().entry;
        floors.iter().filter(own).filter(move |floor| floor.when.iter().all(|forbidden| forbidden.holds(&values)))
    }

    /// Returns the effects of a statement with some free modifiers, in execution order.
    pub fn effects_with(self, free: &Free) -> impl Iterator<Item = &'static Effect> + use<> {
        let effects = self.effects().effects;
        // Mostly all of them are there whatever the modifiers are.
        let chosen = effects.iter().any(|effect| !effect.when.is_empty());
        let values = if chosen { self.values_with(free) } else { Vec::new() };
        effects.iter().filter(move |effect| effect.when.iter().all(|one| one.holds(&values)))
    }

    /// Returns the fragment that an operand holds in a statement with some free modifiers: the distribution of its
    /// elements, and the number of elements in a register.
    pub fn fragment(self, operand: &Operand, free: &Free) -> Option<(&'static Fragment, u32)> {
        let values = self.values_with(free);
        let share = operand.fragments.iter().find(|share| share.when.iter().all(|one| one.holds(&values)))?;
        Some((&self.table.fragments[usize::from(share.fragment)], share.parts.into()))
    }

    /// Returns the operands in order of writing, with resolved types.
    #[inline]
    pub fn operands(self) -> Operands {
        Operands::new(self.table.forms.all_operands, self.operand_list().operands)
    }

    /// Returns the thread states that it reads or writes; they are not written in a statement.
    #[inline]
    pub fn states(self) -> Operands {
        Operands::new(self.table.forms.all_operands, self.operand_list().states)
    }

    #[inline]
    fn operand_list(self) -> &'static OperandList {
        &self.table.forms.operand_lists[usize::from(self.table.forms.operands[self.index()])]
    }

    /// Returns true if an operand or a second destination has its own minimum version or target.
    #[inline]
    pub fn operands_have_floors(self) -> bool {
        self.operand_list().floors
    }

    /// Returns the operands in the manual's notation: `p[|q], a, b{, c}`.
    pub fn signature(self) -> String {
        notation::list(self.operands().iter().map(Operand::notation))
    }

    #[inline]
    fn floors(self) -> &'static Floors {
        &self.table.forms.floor_list[usize::from(self.table.forms.floors[self.index()])]
    }

    /// Returns the requirement of the manual.
    #[inline]
    pub fn floor(self) -> &'static Floor {
        &self.floors().manual
    }

    /// Returns the requirement of the assembler and its note, if lower than the manual's.
    pub fn lenient_floor(self) -> Option<&'static Relaxed> {
        self.floors().assembler.as_ref()
    }

    /// Returns the note that only the assembler accepts the form, if the manual does not list it.
    #[inline]
    pub fn lenient(self) -> Option<&'static str> {
        match self.table.forms.notes[self.index()] {
            0 => None,
            note => Some(self.table.forms.note_list[usize::from(note)]),
        }
    }

    /// Returns the requirement of the assembler, which is never higher than the manual's.
    pub fn lowest_floor(self) -> &'static Floor {
        self.lenient_floor().map_or(self.floor(), |relaxed| &relaxed.floor)
    }

    /// Returns the source operands in order of writing, followed by the states that it reads.
    pub fn sources(self) -> impl Iterator<Item = &'static Operand> {
        self.operands().iter().chain(self.states()).filter(|operand| !operand.destination)
    }

    /// Returns the selectors of operands, in order of writing.
    pub fn selectors(self) -> impl Iterator<Item = &'static Selector> {
        self.operands().iter().filter_map(|operand| operand.selector)
    }

    /// Returns the names and types of its results: those of operands in order of writing, followed by those of states.
    pub fn results(self) -> impl Iterator<Item = (&'static str, TypeId)> {
        let destinations = self.operands().iter().chain(self.states()).filter(|operand| operand.destination);
        destinations.flat_map(|operand| {
            let second = operand.second.map(|second| (second.name, second.ty));
            core::iter::once((operand.name, operand.ty)).chain(second)
        })
    }

    /// Returns its evaluations, ascending by range of targets and by number of written sources.
    pub fn evaluations(self) -> &'static [Evaluation] {
        let first = self.table.forms.evaluations[self.index()];
        if first == NO_EVALUATION {
            return &[];
        }
        let from = &self.table.programs.evaluations[first as usize..];
        let last = from.iter().position(|evaluation| !evaluation.more).unwrap_or_default();
        &from[..=last]
    }

    /// Returns its effects in execution order and, if it cannot be executed, the reason. Effects precede the
    /// computation of results.
    #[inline]
    pub fn effects(self) -> &'static EffectList {
        &self.table.forms.effect_lists[usize::from(self.table.forms.effects[self.index()])]
    }

    /// Returns the evaluator that computes the new value of an update from the sources followed by the old value.
    pub fn change(self, effect: &Effect) -> Option<Evaluator> {
        let evaluation = self.table.programs.evaluations.get(effect.change as usize)?;
        Some(Evaluator { form: self, evaluation })
    }

    /// Returns the width in bits of the value that an update changes or an inspection reads: of the old one, or of the
    /// new one if it does not depend on that.
    pub fn changed_bits(self, effect: &Effect) -> Option<u8> {
        let change = self.change(effect)?;
        let sources = self.operands().iter().filter(|operand| !operand.destination).count();
        let (places, outputs) = (change.shape().places, change.shape().outputs.len());
        let old = change.sources().iter().position(|source| usize::from(*source) == sources);
        Some(places[old.map_or(0, |index| outputs + index)])
    }

    /// Returns true if it has semantics and the result of a thread depends on that thread alone.
    pub fn has_evaluator(self) -> bool {
        !self.evaluations().is_empty() && !self.is_collective()
    }

    /// Returns true if the result of a thread depends on other threads of its warp.
    pub fn is_collective(self) -> bool {
        let shape = |evaluation: &Evaluation| &self.table.programs.shapes[evaluation.shape as usize];
        self.evaluations().first().is_some_and(|evaluation| shape(evaluation).is_collective())
    }

    /// Returns the evaluator for targets with this SM number and this many source operands.
    pub fn evaluator(self, sm: u16, sources: usize) -> Option<Evaluator> {
        let written = |evaluation: &&Evaluation| usize::from(evaluation.sources) == sources;
        let mut fits = self.evaluations().iter().filter(written);
        let evaluation = fits.clone().find(|evaluation| sm < evaluation.below).or_else(|| fits.next_back())?;
        Some(Evaluator { form: self, evaluation })
    }

    /// Computes the results of the form for one thread on targets with this SM number; `u16::MAX` is the newest.
    ///
    /// `inputs` holds a word for each source operand in order of writing (a predicate in bit 0, after its `!`; packed
    /// lanes as in their register), then one for each operand selector, in order of writing, packed as described at
    /// [`selector::Kind`](crate::selector::Kind). Optional operands at the end may be omitted. Bits above an operand's
    /// width are ignored.
    ///
    /// # Panics
    ///
    /// If the form has no evaluator for this many inputs, or is collective.
    pub fn evaluate(self, sm: u16, inputs: &[u128]) -> Outputs {
        assert!(!self.is_collective(), "the result of a thread depends on other threads of its warp");
        self.evaluator_for(sm, inputs.len()).evaluate(inputs)
    }

    /// As [`FormInfo::evaluate`], for all threads of a warp: `inputs` holds, for each source and selector, a word for
    /// each thread; `active` is the mask of active lanes. Returns a word for each thread for each destination; the
    /// words of inactive lanes are unspecified.
    ///
    /// # Panics
    ///
    /// If the form has no evaluator for this many inputs.
    pub fn evaluate_warp(self, sm: u16, active: u32, inputs: &[[u128; WARP]]) -> Vec<[u128; WARP]> {
        self.evaluator_for(sm, inputs.len()).evaluate_warp(active, inputs)
    }

    /// Returns true if the results of a machine are acceptable, `found` holding one for each destination: equal to
    /// those of [`FormInfo::evaluate`], within the form's [`bound`](FormInfo::bound), or unspecified by the manual.
    ///
    /// # Panics
    ///
    /// As [`FormInfo::evaluate`], or if the number of results differs from the number of destinations.
    pub fn admits(self, sm: u16, inputs: &[u128], found: &[u128]) -> bool {
        let (own, open) = (self.evaluate(sm, inputs), self.unspecified(sm, inputs));
        assert_eq!(own.len(), found.len(), "a result for each destination");
        let types = self.results().map(|(_, ty)| self.table.ty(ty));
        let within = |own, found, ty| self.bound().is_some_and(|bound| bound.allows(self.table, ty, own, found));
        let mut results = own.iter().zip(&*open).zip(found).zip(types);
        results.all(|(((own, open), found), ty)| *open != 0 || own == found || within(*own, *found, ty))
    }

    /// Returns, for each destination, 1 if the manual leaves the result for these inputs unspecified, else 0.
    ///
    /// # Panics
    ///
    /// As [`FormInfo::evaluate`].
    pub fn unspecified(self, sm: u16, inputs: &[u128]) -> Outputs {
        assert!(!self.is_collective(), "the result of a thread depends on other threads of its warp");
        let evaluator = self.evaluator_for(sm, inputs.len());
        evaluator.unspecified().map_or_else(|| evaluator.none(), |doubts| doubts.evaluate(inputs))
    }

    /// As [`FormInfo::unspecified`], for [`FormInfo::evaluate_warp`]: a lane mask for each destination.
    ///
    /// # Panics
    ///
    /// As [`FormInfo::evaluate_warp`].
    pub fn unspecified_warp(self, sm: u16, active: u32, inputs: &[[u128; WARP]]) -> Vec<u32> {
        let evaluator = self.evaluator_for(sm, inputs.len());
        let Some(doubts) = evaluator.unspecified() else { return alloc::vec![0; evaluator.shape().outputs.len()] };
        let results = doubts.evaluate_warp(active, inputs);
        let mask = |words: &[u128; WARP]| (0..WARP).fold(0, |mask, thread| mask | (words[thread] as u32 & 1) << thread);
        results.iter().map(|words| mask(words) & active).collect()
    }

    fn evaluator_for(self, sm: u16, inputs: usize) -> Evaluator {
        let evaluator = self.evaluator(sm, inputs.wrapping_sub(self.selectors().count()));
        evaluator.expect("the form has an evaluator for this number of inputs")
    }
}

/// Appends the names of operands to the name of a form, to distinguish it from another: `call.func_args`.
pub fn name_with_operands<'a>(name: &str, operands: impl Iterator<Item = &'a str>) -> String {
    let mut full = String::from(name);
    for (index, operand) in operands.enumerate() {
        full.push(if index == 0 { '.' } else { '_' });
        full.push_str(operand);
    }
    full
}

/// Unique name of a form: its mnemonic, followed by the punctuation of operands: `.into2` for a destination of two
/// elements, `.of4` for a source of four, `.minus_a` for a negated operand. `operands` gives the name of each, whether
/// it is a destination, and its punctuation.
pub fn name_with<'a>(mnemonic: &str, operands: impl Iterator<Item = (&'a str, bool, Around)>) -> String {
    let (mut full, mut elements, mut brackets) = (String::from(mnemonic), 0, 0);
    for (name, destination, around) in operands {
        elements = if around.opens { 1 } else { elements + 1 };
        if around.closes {
            full += &alloc::format!(".{}{elements}", if destination { "into" } else { "of" });
        }
        brackets = if around.opens_bracket { 1 } else { brackets + 1 };
        if around.closes_bracket && brackets > 1 {
            full += &alloc::format!(".at{brackets}");
        }
        if around.minus {
            full += &alloc::format!(".minus_{name}");
        }
    }
    full
}
