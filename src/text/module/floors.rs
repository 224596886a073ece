//! What version and target say of a statement.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{FormInfo, Free, Relaxed};
use crate::target::Floor;
use crate::text::reader::Read;
use crate::text::scope::Symbol;
use crate::text::statement::{Register, Statement, Value};

/// What the version and the target of a text were found to have: a text asks for few things, again and again. Both stand before
/// the first statement, and stay what they are.
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

impl<'a> Checker<'_, '_, 'a> {
    #[inline]
    pub(super) fn floor(&mut self, form: FormInfo, opcode: usize) -> Read<()> {
        let floor = form.floor();
        if self.met.floor(floor).is_some_and(|met| core::ptr::eq(met, floor)) {
            return Ok(());
        }
        self.new_floor(form, floor, opcode)
    }

    fn new_floor(&mut self, form: FormInfo, floor: &'static Floor, opcode: usize) -> Read<()> {
        if floor.removed.is_some() {
            self.gone(form.mnemonic(), floor, opcode)?;
        }
        if self.below(floor) == (false, false) {
            *self.met.floor(floor) = Some(floor);
            return Ok(());
        }
        self.below_floor(form, opcode)
    }

    /// Operands may ask for more than the form: the last one that is written, for all before it.
    #[inline]
    pub(super) fn floors_of_operands(&self, statement: &Statement<'a>, opcode: usize) -> Read<()> {
        if !statement.form().operands_have_floors() {
            return Ok(());
        }
        let asks = |name: &str, floor: &Floor| {
            let what = format!("{}` with `{name}", statement.form().mnemonic());
            self.needs(&what, floor, self.mnemonic_at(opcode))
        };
        let is_variable = |value: Value<'a>| match value {
            Value::Register(Register { name, .. }) => {
                self.scopes.find(name).is_some_and(|found| matches!(found.symbol, Symbol::Variable { .. }))
            }
            _ => false,
        };
        for (info, operand) in statement.operands_with_info() {
            if let Some(floor) = info.floor.filter(|_| !info.optional)
                && !is_variable(operand.value)
            {
                asks(info.name, floor)?;
            }
            if let (Some(second), Some(_)) = (info.second, operand.second)
                && let Some(floor) = second.floor
            {
                asks(second.name, floor)?;
            }
        }
        let asking = statement.operands_with_info().filter_map(|(info, operand)| Some((info.floor?, info, operand)));
        match asking.filter(|(_, info, operand)| info.optional && operand.value != Value::Absent).last() {
            Some((floor, info, _)) => asks(info.name, floor),
            None => Ok(()),
        }
    }

    /// Free modifiers may ask for more than the form.
    #[inline]
    pub(super) fn floors_of_free(&mut self, statement: &Statement<'a>, opcode: usize) -> Read<()> {
        if !statement.form().syntax().free || statement.form().instruction().free_floors.is_empty() {
            return Ok(());
        }
        let place = statement.form().index() % self.met.forms.len();
        let met = |(form, free): &(FormInfo, Free)| *form == statement.form() && free == statement.free();
        if self.met.forms[place].as_ref().is_some_and(met) {
            return Ok(());
        }
        for free in statement.form().floors_with(statement.free()) {
            let words = free.when.iter().filter_map(|forbidden| statement.modifier(forbidden.slot));
            let words = words.fold(String::new(), |words, word| words + "." + word);
            let what = format!("{}` with `{words}", statement.form().mnemonic());
            self.needs(&what, &free.floor, self.mnemonic_at(opcode))?;
            self.gone(&what, &free.floor, opcode)?;
        }
        self.met.forms[place] = Some((statement.form(), *statement.free()));
        Ok(())
    }

    /// What later versions have no more on later targets.
    #[cold]
    fn gone(&self, what: &str, floor: &Floor, opcode: usize) -> Read<()> {
        let (Some(version), Some(target), Some(removed)) = (self.version, self.target, floor.removed) else {
            return Ok(());
        };
        if !floor.is_gone(version, target) {
            return Ok(());
        }
        let message = format!("`{what}` is {removed}");
        Err(Box::new(Diagnostic::error(Code::PtxVersion, self.mnemonic_at(opcode), message)))
    }

    /// Whether the version and the target are below a floor. What is not known is not.
    #[inline]
    fn below(&self, floor: &Floor) -> (bool, bool) {
        let families = self.reader.table.families();
        (
            self.version.is_some_and(|version| version < floor.ptx),
            self.target.is_some_and(|target| !floor.takes(target, families)),
        )
    }

    #[cold]
    fn below_floor(&mut self, form: FormInfo, opcode: usize) -> Read<()> {
        let span = self.mnemonic_at(opcode);
        let (mnemonic, mut floor) = (form.mnemonic(), form.floor());
        if let Some(Relaxed { floor: lenient, note }) = form.lenient_floor() {
            if self.below(lenient) == (false, false) {
                let message = format!("`{mnemonic}` needs {floor}");
                let code = if self.below(floor).0 { Code::PtxVersion } else { Code::Target };
                return self.reader.lenient(Some(note), code, span, &message);
            }
            floor = lenient;
        }
        self.needs(mnemonic, floor, span)
    }

    /// Something that stands at a place needs a version and targets.
    pub(super) fn needs(&self, what: &str, floor: &Floor, span: Range<usize>) -> Read<()> {
        let (old_version, old_target) = self.below(floor);
        if !old_version && !old_target {
            return Ok(());
        }
        let have = |name: Option<String>| name.unwrap_or_default();
        let version = || have(self.version.map(|version| format!("{version}")));
        let target = || have(self.target.map(|target| format!("{target}")));
        let (ptx, wanted) = (floor.ptx, floor.targets_in_words());
        let diagnostic = if old_version {
            let message = format!("`{what}` needs PTX {ptx}, and this is PTX {}", version());
            let error = Diagnostic::error(Code::PtxVersion, span, message);
            let error = error.with_help(format!("write `.version {ptx}` or later"));
            instead(error, &self.version_at, format!("{ptx}"))
        } else {
            let message = format!("`{what}` needs {wanted}, and the target is {}", target());
            let more = if floor.target().suffix.is_none() { " or higher" } else { "" };
            let help = format!("write `.target {}`{more}", floor.target());
            let error = Diagnostic::error(Code::Target, span, message).with_help(help);
            instead(error, &self.target_at, format!("{}", floor.target()))
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
