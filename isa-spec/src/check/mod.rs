//! Checks the model: computes every legal form with its programs and minimum versions, and every rule that makes a
//! combination illegal.
//!
//! Later stages rely on what is checked here: types agree in every form, every form has a minimum version and target,
//! no two syntax lines spell the same mnemonic, every example is a legal form, every operand and modifier has an
//! effect, and the names of generated items are distinct. This module depends on Rust only for those names.

mod effect;
mod example;
mod floor;
mod fragment;
mod layout;
mod names;
mod operand;
mod rule;
mod scalarize;
mod unused;

use std::collections::HashMap;
use std::iter;

use isa_table::limits;
use isa_table::table::{OperandBuf, name_with, name_with_operands};
use isa_table::target::FloorBuf;

use crate::model::choice::{Choice, Scope, Values, asks_free};
use crate::model::{
    Bound, BoundBuf, EffectKind, Entry, LenientForms, Model, OnlyIf, Opcode, Pattern, Permission, Syntax, arities,
};
use crate::program::Program;
use crate::program::effect::{self as effects, Argument};
use crate::program::lower::{LowerError, Lowered, lower, unused_locals};
use crate::text::{Diagnostic, Errors};

pub(crate) use floor::relaxed;
pub(crate) use operand::values;
pub(crate) use rule::{ABSENT, Rule, choice, reason, words};
pub(crate) use unused::functions as unused_functions;

/// A valid spec. Only [`check`] creates one.
#[derive(Debug)]
pub struct Checked {
    pub(crate) model: Model,
    /// Forms grouped by opcode, in the model's order.
    pub(crate) forms: Vec<Form>,
    /// Rules of each opcode.
    pub(crate) rules: Vec<Vec<Rule>>,
    /// Requirements of each opcode that depend on free modifiers.
    pub(crate) free_floors: Vec<Vec<FreeFloor>>,
    /// Deduplicated programs of the forms.
    pub(crate) programs: Vec<Program>,
    _private: (),
}

/// Requirement of statements with some free modifiers.
#[derive(Clone, Debug)]
pub(crate) struct FreeFloor {
    /// Index of the entry.
    pub entry: usize,
    /// Condition: slots and the values they must have.
    pub when: Values,
    pub floor: FloorBuf,
}

/// A legal form: an opcode with all its modifiers that are not free.
#[derive(Debug)]
pub(crate) struct Form {
    pub opcode: usize,
    pub entry: usize,
    pub syntax: usize,
    pub choice: Choice,
    pub mnemonic: String,
    /// Unique name: the mnemonic with the punctuation of its operands.
    pub name: String,
    /// Operands of its syntax line, followed by the thread states that this form reads or writes.
    pub patterns: Vec<Pattern>,
    /// Operands that each of them accepts.
    pub operands: Vec<OperandBuf>,
    pub floor: FloorBuf,
    /// Minimum of the assembler with its note, if lower than the manual's.
    pub lenient_floor: Option<(FloorBuf, String)>,
    /// Minimum of operands that are optional or accept variables, if higher than the form's, by index in the entry.
    pub operand_floors: Vec<(usize, FloorBuf)>,
    /// Reason why only the assembler accepts it, if the manual does not list it.
    pub lenient: Option<String>,
    /// Maximum error of a machine's result.
    pub bound: Option<BoundBuf>,
    /// True if the spec excludes it from loops over lanes.
    pub scalarized: bool,
    /// Grouped by how many operands are written, the fewest first; ascending by targets.
    pub programs: Vec<FormProgram>,
    /// Effects beyond registers, in execution order.
    pub effects: Vec<FormEffect>,
}

impl Form {
    /// Indices of all its programs in [`Checked::programs`].
    pub(crate) fn all_programs(&self) -> impl Iterator<Item = usize> {
        let own = self.programs.iter().flat_map(|of| iter::once(of.program).chain(of.unspecified));
        own.chain(self.effects.iter().filter_map(|effect| effect.change))
    }
}

/// An effect of a form.
#[derive(Debug)]
pub(crate) struct FormEffect {
    pub kind: EffectKind,
    /// Index of the operand that it writes.
    pub result: Option<usize>,
    pub arguments: Vec<Option<Argument>>,
    /// Free modifiers with which it happens.
    pub when: Vec<(usize, u64)>,
    /// New value of an update: an index into [`Checked::programs`].
    pub change: Option<usize>,
}

/// Program of a form for a range of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormProgram {
    /// Number of written operands.
    pub operands: usize,
    /// Exclusive upper bound of the SM number; `u16::MAX` means no bound.
    pub below: u16,
    /// Index into [`Checked::programs`].
    pub program: usize,
    /// Index of the program that computes, for each destination, whether its value is unspecified; `None` if all are
    /// specified.
    pub unspecified: Option<usize>,
}

/// Maximum number of mnemonics that a syntax line may spell, legal or not; checking more would take minutes.
const MAX_SPELT: usize = 1 << 20;

/// Checks a model.
///
/// # Errors
///
/// Every error that involves more than one item: see the module documentation.
pub fn check(model: Model) -> Result<Checked, Errors> {
    let mut errors = Errors::new();
    let mut forms: Vec<Form> = Vec::new();
    let (mut rules, mut free_floors) = (Vec::new(), Vec::new());
    let (mut programs, mut fragments) = (Programs::default(), fragment::Problems::new());
    for (index, opcode) in model.opcodes.iter().enumerate() {
        let mut checker = OpcodeChecker {
            model: &model,
            opcode,
            index,
            room: limits::FORMS.saturating_sub(forms.len()),
            forms: Vec::new(),
            programs: &mut programs,
            fragments: &mut fragments,
            rules: rule::Rules::default(),
            free_floors: Vec::new(),
            spelt: HashMap::new(),
            errors: Errors::new(),
        };
        for (number, entry) in opcode.entries.iter().enumerate() {
            let before = checker.errors.len();
            checker.entry(number, entry);
            if let Some(span) = entry.from_template {
                checker.errors.note_from(before, span, &format!("as `{}` uses the template", opcode.name));
            }
        }
        checker.tell_apart();
        let OpcodeChecker { forms: mut own, errors: mut found, rules: own_rules, free_floors: own_floors, .. } =
            checker;
        let own_rules = own_rules.finish();
        // If forms are missing, an example may be illegal and a modifier without effect as a mere consequence.
        if found.is_empty() && forms.len() + own.len() < limits::FORMS {
            let (forms, rules, floors) = (&own, &own_rules, &own_floors);
            example::Examples { model: &model, opcode, forms, rules, floors }.check(&mut found);
            effect::check(opcode, &own, &programs.list, &mut found);
        }
        rules.push(own_rules);
        free_floors.push(own_floors);
        forms.append(&mut own);
        found.iter().for_each(|diagnostic| errors.push(diagnostic.clone()));
        if forms.len() >= limits::FORMS {
            let message = format!("too many forms: a table holds at most {}", limits::FORMS);
            errors.push(Diagnostic::new(opcode.entries[0].span, message).label("this opcode has one too many"));
            break;
        }
    }
    if model.opcodes.is_empty() {
        errors.push(Diagnostic::whole("the spec describes no instruction").help("write `instruction name { … }`"));
    }
    if errors.is_empty() {
        scalarize::check(&model, &mut forms, &mut errors);
        names::check(&model, &forms, &mut errors);
    }
    errors.finish(())?;
    Ok(Checked { model, forms, rules, free_floors, programs: programs.list, _private: () })
}

/// Deduplicated programs.
#[derive(Default)]
struct Programs {
    list: Vec<Program>,
    numbers: HashMap<Program, usize>,
}

impl Programs {
    fn number(&mut self, program: Program) -> usize {
        if let Some(number) = self.numbers.get(&program) {
            return *number;
        }
        self.list.push(program.clone());
        self.numbers.insert(program, self.list.len() - 1);
        self.list.len() - 1
    }
}

/// A syntax line of an entry, with the valid rules of the entry and the requirements that its lenient floors replace.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    entry: &'a Entry,
    line: usize,
    syntax: &'a Syntax,
    legal: &'a [&'a OnlyIf],
    relaxed: &'a [Option<usize>],
}

struct OpcodeChecker<'a> {
    model: &'a Model,
    opcode: &'a Opcode,
    index: usize,
    /// Number of further forms that fit into the table.
    room: usize,
    forms: Vec<Form>,
    programs: &'a mut Programs,
    fragments: &'a mut fragment::Problems,
    rules: rule::Rules,
    free_floors: Vec<FreeFloor>,
    /// Forms of each name.
    spelt: HashMap<String, Vec<usize>>,
    errors: Errors,
}

impl Checked {
    /// Returns true if a form has a result that depends on its own thread only.
    pub(crate) fn by_thread(&self, form: &Form) -> bool {
        form.programs.first().is_some_and(|of| !self.programs[of.program].is_collective(&self.model))
    }
}

impl OpcodeChecker<'_> {
    fn entry(&mut self, number: usize, entry: &Entry) {
        let before = self.errors.len();
        let mut legal = Vec::new();
        entry.syntaxes.iter().for_each(|syntax| self.countable(syntax));
        if self.errors.len() > before {
            return;
        }
        self.rules.enter(self.opcode, number, entry);
        for rule in &entry.legal {
            match self.rules.legal(self.model, self.opcode, entry, rule) {
                Ok(()) => legal.push(rule),
                Err(diagnostic) => self.errors.push(diagnostic),
            }
        }
        match floor::free(self.model, self.opcode, (number, entry), &self.rules) {
            Ok(floors) => self.free_floors.extend(floors),
            Err(diagnostic) => self.errors.push(diagnostic),
        }
        let names = || entry.operands.iter().map(|operand| operand.name.as_str());
        for local in unused_locals(entry, entry.semantics.as_deref().unwrap_or_default()) {
            let message = format!("unused local `{local}`");
            self.errors.push(Diagnostic::new(local.span(), message).near(local.as_ref(), names()));
        }
        // Consequences of an invalid rule are not reported.
        let lines = if legal.len() == entry.legal.len() { entry.syntaxes.as_slice() } else { &[] };
        let relaxed = floor::relaxed(self.model, self.opcode, entry);
        let first = self.forms.len();
        for (line, syntax) in lines.iter().enumerate() {
            let before = self.forms.len();
            // Most forms of a line repeat its errors: those of the first one suffice.
            if let Err(errors) = self.line(Line { number, entry, line, syntax, legal: &legal, relaxed: &relaxed }) {
                errors.iter().for_each(|diagnostic| self.errors.push(diagnostic.clone()));
            } else if self.forms.len() == before {
                self.errors.push(Diagnostic::new(syntax.span, "no form of this line is legal").help(
                    "either its operators accept none of its types, or `legal` and `where` exclude every combination",
                ));
            }
        }
        if self.errors.len() > before {
            return;
        }
        let model = (self.model, &mut *self.fragments);
        fragment::check(model, self.opcode, entry, &self.forms[first..], &mut self.errors);
        layout::check(self.model, self.opcode, entry, &self.forms[first..], &mut self.errors);
        for (requirement, note) in &entry.lenient_floors {
            let relaxes = |form: &Form| form.lenient_floor.as_ref().is_some_and(|(_, found)| found == note);
            if !self.forms[first..].iter().any(relaxes) {
                self.errors.push(
                    Diagnostic::new(requirement.span, "this lenient floor has no effect")
                        .help("it repeats the condition of a requirement, with an earlier version or a lower target"),
                );
            }
        }
        for LenientForms { span, text, .. } in &entry.lenient_forms {
            if !self.forms[first..].iter().any(|form| form.lenient.as_ref() == Some(text)) {
                self.errors.push(Diagnostic::new(*span, "no legal form is like this"));
            }
        }
    }

    /// Reports a line that spells too many mnemonics to check, legal or not.
    fn countable(&mut self, syntax: &Syntax) {
        let bound = syntax.items.iter().filter(|item| !self.opcode.slots[item.slot].free);
        let sizes = bound.map(|item| item.members.len() + usize::from(item.optional));
        let count = sizes.fold(1, usize::saturating_mul);
        if count > MAX_SPELT {
            let message = format!("this line spells more mnemonics than {MAX_SPELT}");
            self.errors.push(Diagnostic::new(syntax.span, message));
        }
    }

    fn line(&mut self, of: Line<'_>) -> Result<(), Errors> {
        let Line { entry, syntax, .. } = of;
        let destinations = syntax.patterns.iter().filter(|pattern| pattern.destination);
        let outputs: usize = destinations.map(|pattern| 1 + usize::from(pattern.second.is_some())).sum();
        if outputs > limits::OUTPUTS {
            let message = format!("a form has at most {} destinations", limits::OUTPUTS);
            return Err(Diagnostic::new(syntax.span, message).into());
        }
        if syntax.patterns.len() > limits::OPERANDS {
            let message = format!(
                "too many operands: a form has at most {}, but this line has {}",
                limits::OPERANDS,
                syntax.patterns.len()
            );
            return Err(Diagnostic::new(syntax.span, message).into());
        }
        if outputs == 0 && entry.semantics.is_some() {
            let message = "semantics give no operand of this line a value";
            return Err(Diagnostic::new(syntax.span, message).into());
        }
        for choice in forms_of(self.opcode, syntax) {
            if self.forms.len() >= self.room {
                return Ok(());
            }
            if let Some(form) = self.form(of, choice)? {
                if form.mnemonic.len() > limits::MNEMONIC {
                    let message = format!("`{}` has more than {} characters", form.mnemonic, limits::MNEMONIC);
                    return Err(Diagnostic::new(syntax.span, message).into());
                }
                let alike = self.spelt.get(&form.name).map(Vec::as_slice).unwrap_or_default();
                let names = |form: &Form| entry_names(&self.opcode.entries[form.entry], form);
                if let Some(other) =
                    alike.iter().map(|other| &self.forms[*other]).find(|other| names(other) == names(&form))
                {
                    let first = &self.opcode.entries[other.entry].syntaxes[other.syntax];
                    return Err(Diagnostic::new(syntax.span, format!("two syntax lines spell `{}`", form.mnemonic))
                        .label("this one")
                        .also(first.span, "and this one")
                        .help("narrow one of them with `where`")
                        .into());
                }
                let ambiguous = |other: &&Form| self.reads_alike(other, &form);
                if let Some(other) = alike.iter().map(|other| &self.forms[*other]).find(ambiguous) {
                    let first = &self.opcode.entries[other.entry].syntaxes[other.syntax];
                    let message = format!("this line is ambiguous with another one of `{}`", form.mnemonic);
                    return Err(Diagnostic::new(syntax.span, message)
                        .label("operands of the same kinds and types in the same places")
                        .also(first.span, "as here")
                        .help("lines must differ in their modifiers, their number of operands, or the types of their operands")
                        .into());
                }
                self.spelt.entry(form.name.clone()).or_default().push(self.forms.len());
                self.forms.push(form);
            }
        }
        Ok(())
    }

    /// Returns true if no statement distinguishes two forms of a mnemonic: same number of operands, of pairwise equal
    /// kind, type and punctuation.
    fn reads_alike(&self, one: &Form, other: &Form) -> bool {
        let (entries, patterns) = (&self.opcode.entries, [&one.patterns, &other.patterns]);
        let same = |(own, its): (&Pattern, &Pattern)| {
            let (a, b) = (&entries[one.entry].operands[own.operand], &entries[other.entry].operands[its.operand]);
            let case = |operand, form: &Form| {
                let found = self.opcode.operand_case(self.model, operand, &form.choice).ok().flatten();
                found.map(|(case, ty)| (case.kind, ty))
            };
            own.around == its.around
                && own.second.is_some() == its.second.is_some()
                && own.selector.is_some() == its.selector.is_some()
                && a.immediate == b.immediate
                && a.within == b.within
                && case(a, one) == case(b, other)
        };
        patterns[0].len() == patterns[1].len() && patterns[0].iter().zip(patterns[1]).all(same)
    }

    fn form(&mut self, of: Line<'_>, choice: Choice) -> Result<Option<Form>, Errors> {
        let Line { number, entry, line, syntax, legal, relaxed } = of;
        let scope = Scope { model: self.model, opcode: self.opcode, choice: &choice, sm: None, free: false };
        let decided =
            |rule: &&OnlyIf| !asks_free(&rule.subject, self.opcode) && !asks_free(&rule.condition, self.opcode);
        if let Some(condition) = &syntax.condition
            && !scope.holds(condition)?
        {
            return Ok(None);
        }
        for rule in entry.narrowed.iter().chain(legal.iter().copied().filter(decided)) {
            if scope.holds(&rule.subject)? && !scope.holds(&rule.condition)? {
                return Ok(None);
            }
        }
        if !self.rules.leave(self.opcode, syntax, &choice) {
            return Ok(None);
        }
        let conditions = entry.operands.iter().flat_map(|operand| &operand.substitutes);
        for condition in conditions.filter_map(|rule| rule.condition.as_ref()) {
            scope.holds(condition)?;
        }
        let mut patterns: Vec<Pattern> = Vec::new();
        // The opening bracket of an operand that a form lacks moves to the next operand.
        let mut bracket = false;
        for pattern in &syntax.patterns {
            let operand = &entry.operands[pattern.operand];
            let state = operand.state.as_ref().and_then(|state| state.condition.as_ref());
            let condition = operand.condition.as_ref().or(state);
            let mut pattern = pattern.clone();
            if condition.map_or(Ok(true), |condition| scope.holds(condition))? {
                pattern.around.opens_bracket |= std::mem::take(&mut bracket);
                pattern.optional &= operand.condition.is_none();
                patterns.push(pattern);
                continue;
            }
            bracket |= pattern.around.opens_bracket && !pattern.around.closes_bracket;
            if let (true, false, Some(last)) =
                (pattern.around.closes_bracket, pattern.around.opens_bracket, patterns.last_mut())
            {
                last.around.closes_bracket = true;
            }
        }
        operand::check_types(self.model, self.opcode, entry, &patterns, &choice)?;
        let mut programs: Vec<FormProgram> = Vec::new();
        for written in arities(&patterns).filter(|_| entry.semantics.is_some()) {
            let whole = written.len() == patterns.len();
            let semantics = entry.semantics.as_deref().unwrap_or_default();
            for (below, sm) in floor::target_ranges(semantics) {
                let Lowered { program, unspecified } =
                    match lower(Scope { sm: Some(sm), ..scope }, entry, semantics, written, whole) {
                        Ok(lowered) => lowered,
                        Err(LowerError::Domain(domain)) => {
                            self.rules.domain(self.model, self.opcode, &choice, domain);
                            return Ok(None);
                        }
                        Err(LowerError::Spec(diagnostic)) => return Err((*diagnostic).into()),
                        Err(LowerError::Mistakes(errors)) => return Err(errors),
                        Err(LowerError::Broken) => unreachable!("already reported by the statement that failed"),
                    };
                let operations = iter::once(&program).chain(&unspecified).map(|one| one.values.len());
                if let Some(operations) = operations.max().filter(|operations| *operations > limits::VALUES) {
                    let message = format!("this takes {operations} operations, and a form may {}", limits::VALUES);
                    return Err(Diagnostic::new(syntax.span, message).into());
                }
                let (operands, program) = (written.len(), self.programs.number(program));
                let of = FormProgram {
                    operands,
                    below,
                    program,
                    unspecified: unspecified.map(|program| self.programs.number(program)),
                };
                match programs.last_mut() {
                    Some(last) if *last == (FormProgram { below: last.below, ..of }) => last.below = below,
                    _ => programs.push(of),
                }
            }
        }
        let lowered = effects::effects(scope, entry, &patterns)?;
        let effects = lowered.into_iter().map(|effect| FormEffect {
            kind: effect.kind,
            result: effect.result,
            arguments: effect.arguments,
            when: effect.when,
            change: effect.change.map(|program| self.programs.number(program)),
        });
        let effects = effects.collect();
        // An optional operand may require more than those before it.
        let required = patterns.iter().take_while(|pattern| !pattern.optional).count();
        // So may an optional second destination.
        let mut least = patterns.clone();
        for pattern in &mut least {
            pattern.second.take_if(|(_, permission)| *permission != Permission::No);
        }
        // A variable must not require more than the form.
        let variable = |pattern: &&Pattern| entry.operands[pattern.operand].may_be_variable();
        let fixed: Vec<Pattern> = least[..required].iter().filter(|pattern| !variable(pattern)).cloned().collect();
        let (floor, lenient_floor) = floor::floors(scope, entry, syntax, &fixed, relaxed)?;
        let mut operand_floors = Vec::new();
        let mut asks = |operand: usize, written: &[Pattern]| -> Result<(), Errors> {
            let (with, _) = floor::floors(scope, entry, syntax, written, relaxed)?;
            if with != floor {
                operand_floors.push((operand, with));
            }
            Ok(())
        };
        for pattern in least[..required].iter().filter(variable) {
            asks(pattern.operand, &[&fixed[..], std::slice::from_ref(pattern)].concat())?;
        }
        for count in required..patterns.len() {
            asks(patterns[count].operand, &least[..=count])?;
        }
        for (index, pattern) in patterns.iter().enumerate().take(required) {
            if let Some((second, _)) = &pattern.second
                && least[index].second.is_none()
            {
                let mut written = least[..required].to_vec();
                written[index] = pattern.clone();
                asks(*second, &written)?;
            }
        }
        let mut lenient = None;
        for LenientForms { condition, text, .. } in &entry.lenient_forms {
            if scope.holds(condition)? {
                lenient = Some(text.clone());
            }
        }
        let mut bound = None;
        for Bound { condition, distance } in &entry.bounds {
            if condition.as_ref().map_or(Ok(true), |condition| scope.holds(condition))? {
                bound = Some(distance.clone());
            }
        }
        let mnemonic = choice.mnemonic(self.opcode, syntax.items.iter().map(|item| item.slot));
        let around = entry.written(&patterns).iter().map(|pattern| {
            let name = entry.operands[pattern.operand].name.as_str();
            (name, pattern.destination, pattern.around)
        });
        let name = name_with(&mnemonic, around);
        let mut form = Form {
            opcode: self.index,
            entry: number,
            syntax: line,
            choice,
            mnemonic,
            name,
            patterns,
            operands: Vec::new(),
            floor,
            lenient_floor,
            operand_floors,
            lenient,
            bound,
            scalarized: false,
            programs,
            effects,
        };
        form.operands = operand::operands(self.model, self.opcode, &form)?;
        Ok(Some(form))
    }
}

impl OpcodeChecker<'_> {
    /// Appends operand names to forms that would otherwise share a name.
    fn tell_apart(&mut self) {
        for alike in self.spelt.values().filter(|alike| alike.len() > 1) {
            for index in alike {
                let form = &mut self.forms[*index];
                let entry = &self.opcode.entries[form.entry];
                let names =
                    entry.written(&form.patterns).iter().map(|pattern| entry.operands[pattern.operand].name.as_str());
                form.name = name_with_operands(&form.name, names);
            }
        }
    }
}

/// Names of the operands of a form.
fn entry_names(entry: &Entry, form: &Form) -> Vec<String> {
    form.patterns.iter().map(|pattern| entry.operands[pattern.operand].name.clone()).collect()
}

/// Candidate forms of a syntax line: every choice of its bound modifiers.
fn forms_of(opcode: &Opcode, syntax: &Syntax) -> Vec<Choice> {
    choices(opcode, syntax, |slot| !opcode.slots[slot].free)
}

/// Every choice of the selected modifiers that a syntax line spells, legal or not.
fn choices(opcode: &Opcode, syntax: &Syntax, asked: impl Fn(usize) -> bool) -> Vec<Choice> {
    let mut list = vec![Choice { values: vec![None; opcode.slots.len()] }];
    for item in syntax.items.iter().filter(|item| asked(item.slot)) {
        let mut longer = Vec::new();
        for choice in list {
            if item.optional {
                longer.push(choice.clone());
            }
            for member in &item.members {
                let mut choice = choice.clone();
                choice.values[item.slot] = Some(*member);
                longer.push(choice);
            }
        }
        list = longer;
    }
    list
}
