//! What may be asked about a form.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{
    Around, Bound, Effect, EffectList, Entry, Evaluator, Floors, Free, FreeFloor, Instruction, InstructionInfo,
    NO_EVALUATION, Operand, OperandList, Operands, Outputs, Relaxed, Rule, Syntax, Table, TypeId,
};
use crate::notation;
use crate::program::{Evaluation, Lanes, WARP};
use crate::selector::Selector;
use crate::target::Floor;

/// A legal form of a table, with all that the table knows of it: an opcode with all its modifiers.
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
    /// The table whose own it is.
    #[inline(always)]
    pub fn table(self) -> &'static Table {
        self.table
    }

    /// The index among the table's own forms.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// The canonical mnemonic: `set.lt.and.ftz.u32.f32`.
    #[inline]
    pub fn mnemonic(self) -> &'static str {
        self.table.forms.mnemonic(self.index())
    }

    /// Its name among forms: the mnemonic, and what stands around operands, as `.of2` for a vector of two; behind it the
    /// names of all operands where another form would have the same.
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

    /// How far a machine's result may be from the exact one, which [`FormInfo::evaluate`] gives, rounded to nearest;
    /// `None` where the machine's result is that one. For `sin` and `cos` it holds from −2π to 2π.
    pub fn bound(self) -> Option<&'static Bound> {
        let bounds = self.table.forms.bounds;
        let found = bounds.binary_search_by_key(&self.index(), |bounded| bounded.form.into()).ok()?;
        Some(&bounds[found].bound)
    }

    /// The form of the same mnemonic that has other operands, if there is a next one.
    pub fn next_shape(self) -> Option<FormInfo> {
        let (pairs, _) = self.table.forms.next_shapes.as_chunks::<2>();
        let place = pairs.binary_search_by_key(&self.index(), |[form, _]| usize::from(*form)).ok()?;
        Some(FormInfo { index: pairs[place][1].into(), ..self })
    }

    /// This form, and the next ones of the same mnemonic that have other operands.
    pub fn shapes(self) -> impl Iterator<Item = FormInfo> {
        core::iter::successors(Some(self), |form| form.next_shape())
    }

    /// All forms of its mnemonic, which have other operands each.
    pub fn all_shapes(self) -> impl Iterator<Item = FormInfo> {
        self.table.form(self.mnemonic()).into_iter().flat_map(FormInfo::shapes)
    }

    /// The instruction.
    pub fn instruction(self) -> InstructionInfo {
        InstructionInfo { table: self.table, index: usize::from(self.syntax().instruction) }
    }

    /// The syntax line that spells it.
    pub fn syntax(self) -> &'static Syntax {
        &self.table.syntaxes[usize::from(self.table.forms.syntax[self.index()])]
    }

    /// The index of its syntax line among those of its instruction.
    pub fn line(self) -> usize {
        usize::from(self.table.forms.syntax[self.index()] - self.instruction().first_syntax)
    }

    /// The entry of the spec that describes it.
    pub fn entry(self) -> &'static Entry {
        &self.instruction().data().entries[usize::from(self.syntax().entry)]
    }

    /// The manual's section that describes it.
    pub fn section(self) -> &'static str {
        self.entry().section
    }

    /// The member chosen in each slot of the instruction, or [`ABSENT`](super::ABSENT).
    pub fn values(self) -> &'static [u8] {
        let Instruction { first_value, first_form, slots, .. } = self.instruction().data();
        let before = (self.index() - usize::from(*first_form)) * slots.len();
        &self.table.forms.values[*first_value as usize + before..][..slots.len()]
    }

    /// The members in all slots of the instruction: its own, and a statement's free ones.
    pub fn values_with(self, free: &Free) -> Vec<u8> {
        let slots = self.instruction().data().slots.iter().zip(self.values()).enumerate();
        slots.map(|(index, (slot, value))| if slot.free { free.in_slot(index as u8) } else { *value }).collect()
    }

    /// The member in a slot of its instruction, its own or a statement's free one: `global` for the state space of
    /// `ld.global.u32`.
    pub fn modifier(self, free: &Free, slot: u8) -> Option<&'static str> {
        let info = self.instruction().data().slots.get(usize::from(slot))?;
        let value = if info.free { free.in_slot(slot) } else { self.values()[usize::from(slot)] };
        info.members.get(usize::from(value)).copied()
    }

    /// The mnemonic with a statement's free modifiers, in the manual's order: `ld.global.u32`.
    pub fn mnemonic_with(self, free: &Free) -> String {
        self.instruction().spelt(self.syntax(), &self.values_with(free), true)
    }

    /// The mnemonic with places for the free modifiers: `ld{.sem}{.ss}.u32`; without such, the mnemonic.
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

    /// Whether its syntax line has places for some free modifiers, all that it needs are there, and no rule refuses them.
    pub fn takes(self, free: &Free) -> bool {
        if !self.syntax().free {
            return *free == Free::NONE;
        }
        self.syntax().spells(&self.values_with(free)) && self.refusals(free).next().is_none()
    }

    /// Why it does not go with some free modifiers, if it does not: the rules that refuse them.
    pub fn refusals(self, free: &Free) -> impl Iterator<Item = &'static Rule> {
        let values = self.values_with(free);
        let own = move |rule: &&Rule| rule.decides == Some(self.syntax().entry) && rule.refuses(&values);
        self.instruction().data().rules.iter().filter(own)
    }

    /// What it needs with some free modifiers, beyond its own floor.
    pub fn floors_with(self, free: &Free) -> impl Iterator<Item = &'static FreeFloor> + use<> {
        let values = self.values_with(free);
        let floors = self.instruction().data().free_floors;
        let own = move |floor: &&FreeFloor| floor.entry == self.syntax().entry;
        floors.iter().filter(own).filter(move |floor| floor.when.iter().all(|forbidden| forbidden.holds(&values)))
    }

    /// The operands in order of writing, types resolved.
    #[inline]
    pub fn operands(self) -> Operands {
        Operands::new(self.table.forms.all_operands, self.operand_list().operands)
    }

    /// What it reads and writes of a thread's state beside its operands: no statement names it.
    #[inline]
    pub fn states(self) -> Operands {
        Operands::new(self.table.forms.all_operands, self.operand_list().states)
    }

    #[inline]
    fn operand_list(self) -> &'static OperandList {
        &self.table.forms.operand_lists[usize::from(self.table.forms.operands[self.index()])]
    }

    /// Whether one of its operands, or a second destination, has a floor of its own: it asks for more where it is written.
    #[inline]
    pub fn operands_have_floors(self) -> bool {
        self.operand_list().floors
    }

    /// The operands as the manual writes them: `p[|q], a, b{, c}`.
    pub fn signature(self) -> String {
        notation::list(self.operands().iter().map(Operand::notation))
    }

    #[inline]
    fn floors(self) -> &'static Floors {
        &self.table.forms.floor_list[usize::from(self.table.forms.floors[self.index()])]
    }

    /// What the manual asks for.
    #[inline]
    pub fn floor(self) -> &'static Floor {
        &self.floors().manual
    }

    /// Where the assembler asks for less: its own floor and the note that says so.
    pub fn lenient_floor(self) -> Option<&'static Relaxed> {
        self.floors().assembler.as_ref()
    }

    /// Where the manual does not list it and only the assembler takes it: the note that says so.
    #[inline]
    pub fn lenient(self) -> Option<&'static str> {
        match self.table.forms.notes[self.index()] {
            0 => None,
            note => Some(self.table.forms.note_list[usize::from(note)]),
        }
    }

    /// What the assembler asks for: no more than the manual does.
    pub fn lowest_floor(self) -> &'static Floor {
        self.lenient_floor().map_or(self.floor(), |relaxed| &relaxed.floor)
    }

    /// The source operands in order of writing, then the states that it reads.
    pub fn sources(self) -> impl Iterator<Item = &'static Operand> {
        self.operands().iter().chain(self.states()).filter(|operand| !operand.destination)
    }

    /// The selectors behind operands, in order of writing.
    pub fn selectors(self) -> impl Iterator<Item = &'static Selector> {
        self.operands().iter().filter_map(|operand| operand.selector)
    }

    /// The names and types of what it writes, in the order of its results: those of operands in order of writing, then
    /// those of states.
    pub fn results(self) -> impl Iterator<Item = (&'static str, TypeId)> {
        let destinations = self.operands().iter().chain(self.states()).filter(|operand| operand.destination);
        destinations.flat_map(|operand| {
            let second = operand.second.map(|second| (second.name, second.ty));
            core::iter::once((operand.name, operand.ty)).chain(second)
        })
    }

    /// Its evaluations: for ranges of targets, ascending, and for how many sources are written.
    pub fn evaluations(self) -> &'static [Evaluation] {
        let first = self.table.forms.evaluations[self.index()];
        if first == NO_EVALUATION {
            return &[];
        }
        let from = &self.table.programs.evaluations[first as usize..];
        let last = from.iter().position(|evaluation| !evaluation.more).unwrap_or_default();
        &from[..=last]
    }

    /// What it does beyond registers, in order, before what it computes; and why it cannot be executed, if it cannot.
    #[inline]
    pub fn effects(self) -> &'static EffectList {
        &self.table.forms.effect_lists[usize::from(self.table.forms.effects[self.index()])]
    }

    /// How an update computes the new value from the sources and, behind them, the old value.
    pub fn change(self, effect: &Effect) -> Option<Evaluator> {
        let evaluation = self.table.programs.evaluations.get(effect.change as usize)?;
        Some(Evaluator { form: self, evaluation })
    }

    /// Whether its entry describes what a thread computes, and that depends on the thread alone.
    pub fn has_evaluator(self) -> bool {
        !self.evaluations().is_empty() && !self.is_collective()
    }

    /// Whether what a thread computes depends on others of its warp.
    pub fn is_collective(self) -> bool {
        let of_warp =
            |evaluation: &Evaluation| self.table.programs.shapes[evaluation.shape as usize].lanes == Lanes::Warp;
        self.evaluations().first().is_some_and(of_warp)
    }

    /// How it is evaluated on targets with this SM number, with so many source operands.
    pub fn evaluator(self, sm: u16, sources: usize) -> Option<Evaluator> {
        let written = |evaluation: &&Evaluation| usize::from(evaluation.sources) == sources;
        let mut fits = self.evaluations().iter().filter(written);
        let evaluation = fits.clone().find(|evaluation| sm < evaluation.below).or_else(|| fits.next_back())?;
        Some(Evaluator { form: self, evaluation })
    }

    /// Bits in, bits out: what the form computes for one thread on targets with this SM number; `u16::MAX` is the newest.
    ///
    /// `inputs` holds a word for each source operand in order of writing (a predicate in bit 0, with its `!` applied;
    /// packed lanes as in their register), then one for each selector behind an operand, in order of writing, packed
    /// as [`selector::Kind`](crate::selector::Kind) says. Operands at the end that may be left out need not be given. Bits
    /// above an operand's width are ignored.
    ///
    /// # Panics
    ///
    /// If the form has no evaluator for so many inputs, or is a collective one.
    pub fn evaluate(self, sm: u16, inputs: &[u128]) -> Outputs {
        assert!(!self.is_collective(), "what a thread computes depends on others of its warp");
        self.evaluator_for(sm, inputs.len()).evaluate(inputs)
    }

    /// As [`FormInfo::evaluate`], for the threads of a warp at once: `inputs` holds for each source and selector a word a
    /// thread, `active` has a bit for each thread that executes. Gives for each destination a word a thread; those of
    /// threads that do not execute mean nothing.
    ///
    /// # Panics
    ///
    /// If the form has no evaluator for so many inputs.
    pub fn evaluate_warp(self, sm: u16, active: u32, inputs: &[[u128; WARP]]) -> Vec<[u128; WARP]> {
        self.evaluator_for(sm, inputs.len()).evaluate_warp(active, inputs)
    }

    /// Whether results of another machine are right, `found` for each destination: equal to those of [`FormInfo::evaluate`],
    /// within the form's [`bound`](FormInfo::bound) of them, or what the manual leaves open.
    ///
    /// # Panics
    ///
    /// As [`FormInfo::evaluate`], or if there are more or fewer results than destinations.
    pub fn admits(self, sm: u16, inputs: &[u128], found: &[u128]) -> bool {
        let (own, open) = (self.evaluate(sm, inputs), self.unspecified(sm, inputs));
        assert_eq!(own.len(), found.len(), "a result for each destination");
        let types = self.results().map(|(_, ty)| self.table.ty(ty));
        let within = |own, found, ty| self.bound().is_some_and(|bound| bound.allows(self.table, ty, own, found));
        let mut results = own.iter().zip(&*open).zip(found).zip(types);
        results.all(|(((own, open), found), ty)| *open != 0 || own == found || within(*own, *found, ty))
    }

    /// Which results of [`FormInfo::evaluate`] for these inputs are no better than any other, as the manual leaves them open:
    /// a truth value for each destination. None is where a form has no such result.
    ///
    /// # Panics
    ///
    /// As [`FormInfo::evaluate`].
    pub fn unspecified(self, sm: u16, inputs: &[u128]) -> Outputs {
        assert!(!self.is_collective(), "what a thread computes depends on others of its warp");
        let evaluator = self.evaluator_for(sm, inputs.len());
        evaluator.unspecified().map_or_else(|| evaluator.none(), |doubts| doubts.evaluate(inputs))
    }

    /// As [`FormInfo::unspecified`], for what [`FormInfo::evaluate_warp`] gives: for each destination a bit for each thread.
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
        evaluator.expect("the form has an evaluator for as many inputs")
    }
}

/// A form's name, told apart from that of another form by the names of its operands: `call.func_args`.
pub fn name_with_operands<'a>(name: &str, operands: impl Iterator<Item = &'a str>) -> String {
    let mut full = String::from(name);
    for (index, operand) in operands.enumerate() {
        full.push(if index == 0 { '.' } else { '_' });
        full.push_str(operand);
    }
    full
}

/// A form's name: its mnemonic, and what operands add to it by what stands around them: `.into2` for a destination of two
/// elements, `.of4` for a source of four, `.minus_a` for one that is negated. Operands are told by their names and whether
/// they are destinations.
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
