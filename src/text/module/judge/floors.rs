//! Checks of statements against the version and target of a module.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Display;
use core::ops::Range;

use super::super::Options;
use super::super::needs::Collector;
use super::Judge;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Directive, FormInfo, Free, Relaxed, Requirement, Table};
use crate::target::{Floor, Target, Version, in_words};
use crate::text::lexer::span_of;
use crate::text::mnemonic;
use crate::text::reader::Read;
use crate::text::scope::Symbol;
use crate::text::statement::{Need, Statement};

/// Cache of requirements that the version and the target satisfy: a text has few distinct ones.
pub(super) struct Met {
    /// Floors, each in the place that its address gives.
    floors: [Option<&'static Floor>; 64],
    /// Forms with free modifiers, each in the place that its index gives.
    forms: [Option<(FormInfo, Free)>; 64],
}

impl Default for Met {
    fn default() -> Met {
        Met { floors: [None; 64], forms: [None; 64] }
    }
}

impl Met {
    #[inline]
    fn floor(&mut self, floor: &'static Floor) -> &mut Option<&'static Floor> {
        let place = core::ptr::from_ref(floor).addr() / size_of::<Floor>();
        &mut self.floors[place % self.floors.len()]
    }
}

/// The version and the target that a module is judged against.
pub(in super::super) struct Level<'o> {
    table: &'static Table,
    /// What takes precedence over the text.
    pub(super) given: Options,
    pub(in super::super) version: Option<Version>,
    pub(in super::super) target: Option<Target>,
    /// Their byte ranges in the text, if it names them.
    pub(super) version_at: Option<Range<usize>>,
    pub(super) target_at: Option<Range<usize>>,
    /// The options that follow the target, and their byte ranges.
    pub(super) options: Vec<(&'static Directive, Range<usize>)>,
    met: Met,
    /// Collects requirements instead of checking them.
    pub(super) collector: Option<&'o mut Collector>,
}

impl<'a> Judge<'_, 'a> {
    /// Checks what a statement, which ends at `end`, asks of the version and the target.
    #[inline]
    pub(super) fn floors(&mut self, statement: &Statement<'a>, opcode: usize, end: usize) -> Read<()> {
        let form = statement.form();
        if self.names.required && !self.body.special && !form.operands_have_floors() && self.has_met(form, statement) {
            return Ok(());
        }
        self.new_floors(statement, opcode, end)
    }

    /// Returns a finding about a form; for a removed form it names the current ones.
    #[cold]
    fn with_successors(&self, form: FormInfo, mut error: Box<Diagnostic>) -> Box<Diagnostic> {
        if error.help.is_none() && form.floor().removed.is_some() && !self.findings.brief {
            let there = |form: FormInfo| self.table.has(form.lowest_floor(), self.level.version, self.level.target);
            let near = mnemonic::successors(form, there);
            let names: Vec<String> = near.iter().map(|near| format!("`{near}`")).collect();
            if !names.is_empty() {
                error.help = Some(format!("in its place there is {}", names.join(", ")));
            }
        }
        error
    }

    /// Returns true if the form is known to be available with the same free modifiers.
    #[inline]
    fn has_met(&mut self, form: FormInfo, statement: &Statement<'a>) -> bool {
        let floor = form.floor();
        if !self.level.met.floor(floor).is_some_and(|met| core::ptr::eq(met, floor)) {
            return false;
        }
        if !form.syntax().free || form.instruction().data().free_floors.is_empty() {
            return true;
        }
        let met = &self.level.met.forms[form.index() % self.level.met.forms.len()];
        met.as_ref().is_some_and(|(met, free)| *met == form && free == statement.free())
    }

    fn new_floors(&mut self, statement: &Statement<'a>, opcode: usize, end: usize) -> Read<()> {
        let (form, before) = (statement.form(), self.findings.waiting.len());
        self.body.special = false;
        let scopes = &self.names.scopes;
        let declared = |name| {
            let found = scopes.find(name)?;
            Some(matches!(found.symbol, Symbol::Variable { .. }))
        };
        let needs: Vec<Need<'a>> = statement.needs_among(declared).collect();
        for need in &needs {
            // All of the statement is to be seen where its floor is asked for.
            let span = match (&self.level.collector, need.special()) {
                (Some(_), _) => opcode..end,
                (None, Some(name)) => span_of(self.text, name),
                (None, None) => self.mnemonic_at(opcode),
            };
            let needs = self.level.needs(need, need.floor, span);
            needs.map_err(|error| self.with_successors(form, error))?;
        }
        if self.level.collector.is_some() {
            return Ok(());
        }
        if let Some(Relaxed { note, .. }) = form.lenient_floor() {
            self.below_manual(form, note, opcode)?;
        }
        if self.findings.waiting.len() == before {
            *self.level.met.floor(form.floor()) = Some(form.floor());
            self.level.met.forms[form.index() % self.level.met.forms.len()] = Some((form, *statement.free()));
        }
        Ok(())
    }

    /// Warns where the assembler takes a form below the manual's floor.
    #[cold]
    fn below_manual(&mut self, form: FormInfo, note: &'static str, opcode: usize) -> Read<()> {
        let floor = form.floor();
        let (old_version, old_target) = self.level.below(floor);
        if !old_version && !old_target {
            return Ok(());
        }
        let message = format!("`{}` needs {floor}", form.mnemonic());
        let code = if old_version { Code::PtxVersion } else { Code::Target };
        self.findings.lenient(Some(note), code, self.mnemonic_at(opcode), &message)
    }
}

impl<'o> Level<'o> {
    pub(in super::super) fn new(table: &'static Table, given: Options, collector: Option<&'o mut Collector>) -> Self {
        let (Options { ptx: version, target }, options, met) = (given, Vec::new(), Met::default());
        Level { table, given, version, target, version_at: None, target_at: None, options, met, collector }
    }

    /// Changes the target. What another one has met counts no more.
    pub(super) fn aim(&mut self, target: Target) {
        (self.target, self.met) = (Some(target), Met::default());
    }

    /// Returns whether the version and whether the target is below a floor. An unknown version or target is not.
    #[inline]
    fn below(&self, floor: &Floor) -> (bool, bool) {
        let families = self.table.families();
        (
            self.version.is_some_and(|version| version < floor.ptx),
            self.target.is_some_and(|target| !floor.takes(target, families)),
        )
    }

    /// Returns true if the version is `until` or later, from which on something is removed. While requirements are
    /// collected, records `until` and returns false.
    pub(super) fn is_gone(&mut self, until: Option<Version>, span: &Range<usize>) -> bool {
        let Some(until) = until else { return false };
        match &mut self.collector {
            Some(collector) => {
                collector.add(Requirement::Before(until), span.clone());
                false
            }
            None => self.version.is_some_and(|version| version >= until),
        }
    }

    /// Checks that the version and the target support a construct. `what` is its name in messages. All requirements
    /// pass through here, so that this is also where they are collected.
    pub(super) fn needs(&mut self, what: impl Display, floor: &'static Floor, span: Range<usize>) -> Read<()> {
        if let Some(collector) = &mut self.collector {
            collector.add(Requirement::From(floor), span);
            return Ok(());
        }
        let (old_version, old_target) = self.below(floor);
        let gone = self.version.zip(self.target).is_some_and(|(version, target)| floor.is_gone(version, target));
        match old_version || old_target || gone {
            true => self.below_floor(&what, floor, span),
            false => Ok(()),
        }
    }

    #[cold]
    fn below_floor(&self, what: &dyn Display, floor: &'static Floor, span: Range<usize>) -> Read<()> {
        let (old_version, old_target) = self.below(floor);
        if let (false, false, Some(removed)) = (old_version, old_target, floor.removed) {
            return Err(Box::new(Diagnostic::error(Code::PtxVersion, span, format!("{what} is {removed}"))));
        }
        let have = |name: Option<String>| name.unwrap_or_default();
        let version = || have(self.version.map(|version| format!("{version}")));
        let target = || have(self.target.map(|target| format!("{target}")));
        let ptx = floor.ptx;
        let at = self.version.map_or(ptx, |version| version.max(ptx));
        let targets = self.table.least_targets(at, &[Requirement::From(floor)]);
        let (least, wanted) = (targets.first().copied().unwrap_or(floor.target()), in_words(&targets));
        let diagnostic = if old_version {
            let message = format!("{what} needs PTX {ptx}, and this is PTX {}", version());
            let error = Diagnostic::error(Code::PtxVersion, span, message);
            let error = error.with_help(format!("write `.version {ptx}` or later"));
            instead(error, &self.version_at, format!("{ptx}"))
        } else {
            let message = format!("{what} needs {wanted}, and the target is {}", target());
            let more = if least.suffix.is_none() { " or higher" } else { "" };
            let help = format!("write `.target {least}`{more}");
            let error = Diagnostic::error(Code::Target, span, message).with_help(help);
            instead(error, &self.target_at, format!("{least}"))
        };
        let both = old_version && old_target;
        let note = format!("it also needs {wanted}, and the target is {}", target());
        Err(Box::new(if both { diagnostic.with_note(note) } else { diagnostic }))
    }
}

/// An error that another word in the module's head makes right, where it has that line.
fn instead(error: Diagnostic, line: &Option<Range<usize>>, word: String) -> Diagnostic {
    match line {
        Some(span) => error.with_fix(span.clone(), word),
        None => error,
    }
}
