//! From the model to the checked model: every legal form, its program and its floors, and every rule that makes a
//! combination illegal.
//!
//! The checker proves what the emitters rely on: types agree in every form, every form has a floor, no two syntax
//! lines spell one mnemonic, every example is a legal form. This module knows no Rust.

mod example;
mod floor;
mod rule;

use std::collections::HashMap;

use crate::choice::{Choice, Scope};
use crate::diagnostic::{Diagnostic, Errors};
use crate::ir::Program;
use crate::lower::{LowerError, lower, unused_locals};
use crate::model::{Entry, LenientForms, Model, OnlyIf, Opcode, Syntax};

pub(crate) use floor::Floor;
pub(crate) use rule::{ABSENT, Rule, words};

/// A spec that holds together. Only [`check`] makes one.
#[derive(Debug)]
pub struct Checked {
    pub(crate) model: Model,
    /// Grouped by opcode, in the model's order.
    pub(crate) forms: Vec<Form>,
    /// The rules of each opcode.
    pub(crate) rules: Vec<Vec<Rule>>,
    _private: (),
}

/// A legal form: an opcode with all its modifiers.
#[derive(Debug)]
pub(crate) struct Form {
    pub opcode: usize,
    pub entry: usize,
    pub syntax: usize,
    pub choice: Choice,
    pub mnemonic: String,
    pub floor: Floor,
    /// The assembler's floor and the note, where it is below the manual's.
    pub lenient_floor: Option<(Floor, String)>,
    /// Why only the assembler takes it, where the manual does not list it.
    pub lenient: Option<String>,
    /// Programs for SM numbers below a bound, ascending; the last one is for all the others.
    pub programs: Vec<(u16, Program)>,
}

/// A destination's and a second one's bits is what an evaluator returns.
const MAX_OUTPUTS: usize = 2;

/// A table's ids have sixteen bits, and one value of them says "none".
const MAX_FORMS: usize = u16::MAX as usize;

/// A line that spells more, most of them illegal, is a mistake: checking them would take minutes.
const MAX_SPELT: usize = 1 << 20;

/// The library spells a mnemonic in a buffer of this size.
const MAX_MNEMONIC: usize = 64;

/// Checks a model.
///
/// # Errors
///
/// Every mistake that no single item shows: see the module's description.
pub fn check(model: Model) -> Result<Checked, Errors> {
    let mut errors = Errors::new();
    let mut forms = Vec::new();
    let mut rules = Vec::new();
    for (index, opcode) in model.opcodes.iter().enumerate() {
        let mut checker = OpcodeChecker {
            model: &model,
            opcode,
            index,
            forms: Vec::new(),
            rules: rule::Rules::default(),
            spelt: HashMap::new(),
            errors: Errors::new(),
        };
        for (number, entry) in opcode.entries.iter().enumerate() {
            checker.entry(number, entry);
        }
        let mut found = checker.errors;
        // Without all forms an example may be illegal for no mistake of its own.
        if found.is_empty() {
            example::check(opcode, &checker.forms, &mut found);
        }
        rules.push(checker.rules.finish());
        forms.append(&mut checker.forms);
        for diagnostic in found.iter() {
            errors.push(diagnostic.clone());
        }
    }
    if model.opcodes.is_empty() {
        errors.push(Diagnostic::whole("the spec describes no instruction").help("write `instruction name { … }`"));
    }
    if forms.len() >= MAX_FORMS {
        errors.push(Diagnostic::whole(format!("a table holds at most {MAX_FORMS} forms, here are {}", forms.len())));
    }
    errors.finish(())?;
    Ok(Checked { model, forms, rules, _private: () })
}

/// A syntax line of an entry, with the rules of the entry that hold together and the requirements that its lenient floors
/// relax.
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
    forms: Vec<Form>,
    rules: rule::Rules,
    /// The entry and line that spell a mnemonic.
    spelt: HashMap<String, (usize, usize)>,
    errors: Errors,
}

impl OpcodeChecker<'_> {
    fn entry(&mut self, number: usize, entry: &Entry) {
        let before = self.errors.len();
        let mut legal = Vec::new();
        entry.syntaxes.iter().for_each(|syntax| self.countable(syntax));
        if self.errors.len() > before {
            return;
        }
        self.rules.enter(self.opcode, entry);
        for rule in &entry.legal {
            match self.rules.legal(self.model, self.opcode, entry, rule) {
                Ok(()) => legal.push(rule),
                Err(diagnostic) => self.errors.push(diagnostic),
            }
        }
        let names = || entry.operands.iter().map(|operand| operand.name.as_str());
        for local in unused_locals(entry, entry.semantics.as_deref().unwrap_or_default()) {
            let message = format!("nothing uses `{local}`");
            self.errors.push(Diagnostic::new(local.span(), message).suggest(&local.to_string(), names()));
        }
        // What a broken rule was to refuse is no mistake of its own.
        let lines = if legal.len() == entry.legal.len() { entry.syntaxes.as_slice() } else { &[] };
        let relaxed = floor::relaxed(self.model, self.opcode, entry);
        let first = self.forms.len();
        for (line, syntax) in lines.iter().enumerate() {
            let before = self.forms.len();
            // A mistake in a line is the same in most of its forms: the first is enough.
            if let Err(errors) = self.line(Line { number, entry, line, syntax, legal: &legal, relaxed: &relaxed }) {
                errors.iter().for_each(|diagnostic| self.errors.push(diagnostic.clone()));
            } else if self.forms.len() == before {
                self.errors.push(
                    Diagnostic::new(syntax.span, "no form of this line is legal")
                        .help("its operators work on none of its types, or `legal` and `where` rule all out"),
                );
            }
        }
        if self.errors.len() > before {
            return;
        }
        for (requirement, note) in &entry.lenient_floors {
            let relaxes = |form: &Form| form.lenient_floor.as_ref().is_some_and(|(_, found)| found == note);
            if !self.forms[first..].iter().any(relaxes) {
                self.errors.push(
                    Diagnostic::new(requirement.span, "this lenient floor relaxes nothing")
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

    /// The mnemonics that a line spells, legal or not, are few enough to be looked at.
    fn countable(&mut self, syntax: &Syntax) {
        let sizes = syntax.items.iter().map(|item| item.members.len() + usize::from(item.optional));
        let count = sizes.fold(1, usize::saturating_mul);
        if count > MAX_SPELT {
            let message = format!("this line spells more mnemonics than {MAX_SPELT}");
            self.errors.push(Diagnostic::new(syntax.span, message));
        }
    }

    fn line(&mut self, of: Line<'_>) -> Result<(), Errors> {
        let Line { number, entry, line, syntax, .. } = of;
        let destinations = syntax.patterns.iter().filter(|pattern| pattern.destination);
        let outputs: usize = destinations.map(|pattern| 1 + usize::from(pattern.second.is_some())).sum();
        if outputs > MAX_OUTPUTS {
            let message = format!("a form has at most {MAX_OUTPUTS} destinations");
            return Err(Diagnostic::new(syntax.span, message).into());
        }
        if outputs == 0 && entry.semantics.is_some() {
            let message = "semantics give no operand of this line a value";
            return Err(Diagnostic::new(syntax.span, message).into());
        }
        for choice in choices(self.opcode, syntax) {
            if let Some(form) = self.form(of, choice)? {
                if form.mnemonic.len() > MAX_MNEMONIC {
                    let message = format!("`{}` has more than {MAX_MNEMONIC} characters", form.mnemonic);
                    return Err(Diagnostic::new(syntax.span, message).into());
                }
                if let Some((other, other_line)) = self.spelt.insert(form.mnemonic.clone(), (number, line)) {
                    let first = &self.opcode.entries[other].syntaxes[other_line];
                    return Err(Diagnostic::new(syntax.span, format!("two syntax lines spell `{}`", form.mnemonic))
                        .label("this one")
                        .also(first.span, "and this one")
                        .help("narrow one of them with `where`")
                        .into());
                }
                self.forms.push(form);
            }
        }
        Ok(())
    }

    fn form(&mut self, of: Line<'_>, choice: Choice) -> Result<Option<Form>, Errors> {
        let Line { number, entry, line, syntax, legal, relaxed } = of;
        let scope = Scope { model: self.model, opcode: self.opcode, choice: &choice, sm: None };
        if let Some(condition) = &syntax.condition
            && !scope.holds(condition)?
        {
            return Ok(None);
        }
        for rule in entry.narrowed.iter().chain(legal.iter().copied()) {
            if scope.holds(&rule.subject)? && !scope.holds(&rule.condition)? {
                return Ok(None);
            }
        }
        let conditions = entry.operands.iter().flat_map(|operand| &operand.without);
        for condition in conditions.filter_map(|(_, condition)| condition.as_ref()) {
            scope.holds(condition)?;
        }
        let mut programs: Vec<(u16, Program)> = Vec::new();
        if let Some(semantics) = &entry.semantics {
            for (below, sm) in floor::target_ranges(semantics) {
                match lower(Scope { sm: Some(sm), ..scope }, entry, semantics, &syntax.patterns) {
                    Ok(program) => match programs.last_mut() {
                        Some((bound, last)) if *last == program => *bound = below,
                        _ => programs.push((below, program)),
                    },
                    Err(LowerError::Domain(domain)) => {
                        self.rules.domain(self.model, self.opcode, &choice, domain);
                        return Ok(None);
                    }
                    Err(LowerError::Spec(diagnostic)) => return Err((*diagnostic).into()),
                    Err(LowerError::Mistakes(errors)) => return Err(errors),
                    Err(LowerError::Broken) => unreachable!("it is reported where it broke"),
                }
            }
        }
        let (floor, lenient_floor) = floor::floors(scope, entry, syntax, relaxed)?;
        let mut lenient = None;
        for LenientForms { condition, text, .. } in &entry.lenient_forms {
            if scope.holds(condition)? {
                lenient = Some(text.clone());
            }
        }
        let mnemonic = choice.mnemonic(self.opcode, syntax.items.iter().map(|item| item.slot));
        Ok(Some(Form {
            opcode: self.index,
            entry: number,
            syntax: line,
            choice,
            mnemonic,
            floor,
            lenient_floor,
            lenient,
            programs,
        }))
    }
}

/// Every choice of modifiers that a syntax line can spell, legal or not.
fn choices(opcode: &Opcode, syntax: &Syntax) -> Vec<Choice> {
    let mut list = vec![Choice { values: vec![None; opcode.slots.len()] }];
    for item in &syntax.items {
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
