//! Analysis of a text: the verdict, the reasons for it, and the table's information on the form it denotes.

use std::borrow::Cow;
use std::ops::Range;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::Diagnostic;
use ptx_isa::reference::{TRACES, form};
use ptx_isa::selector::Permission;
use ptx_isa::table::{FormInfo, Free, InstructionInfo, OperandKind, Requirement};
use ptx_isa::text::statement::Need;
use ptx_isa::text::{Statement, effects, mnemonic};
use serde::Serialize;

use crate::Machine;
use crate::modifiers::{self, Slot};
use crate::pictures::{self, Matrix};
use crate::values::Values;

/// The answer to a request.
#[derive(Serialize)]
pub(crate) struct Answer {
    verdict: Verdict,
    /// Canonical spelling of the statement or mnemonic; the input text if it has no such form.
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    opcode: Option<&'static str>,
    /// Why it is not legal.
    reasons: Vec<Finding>,
    /// Warnings, for example about a form that the assembler accepts but the manual does not list.
    warnings: Vec<Finding>,
    /// Legal forms near an illegal one.
    nearest: Vec<String>,
    /// Choices for each slot of the mnemonic.
    slots: Vec<Slot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<Form>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Values>,
}

#[derive(Clone, Copy, Serialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// Not the name of a PTX instruction.
    Uncovered,
    /// An opcode alone, which needs modifiers.
    Opcode,
    Illegal,
    /// Legal, but not with this version and target.
    Elsewhere,
    Legal,
}

#[derive(Serialize)]
struct Finding {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl From<Diagnostic> for Finding {
    fn from(found: Diagnostic) -> Finding {
        Finding { message: found.message, help: found.help, note: found.note }
    }
}

/// The table's information on a form.
#[derive(Serialize)]
struct Form {
    /// Its place among the forms of its opcode.
    place: usize,
    mnemonic: &'static str,
    pattern: String,
    signature: String,
    /// The number of its entry on its opcode's page.
    entry: u8,
    /// Floor of the whole statement.
    floor: String,
    /// The assembler's floor and the note, where that is below the manual's.
    #[serde(skip_serializing_if = "Option::is_none")]
    assembler: Option<(String, &'static str)>,
    /// Note on a form that only the assembler accepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<&'static str>,
    /// Maximum error of a machine's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<String>,
    /// True if any operand is a float.
    floats: bool,
    code: Vec<&'static str>,
    /// True if kernels run it.
    runs: bool,
    /// Effects on registers, memory, control flow and other threads.
    effects: Vec<String>,
    operands: Vec<Operand>,
    /// Distributions of the matrices that operands hold.
    matrices: Vec<Matrix>,
    constant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
}

#[derive(Serialize)]
struct Operand {
    name: String,
    written: bool,
    ty: String,
    takes: String,
    /// Notes on extensions by the assembler beyond the manual.
    notes: Vec<&'static str>,
}

impl Answer {
    pub(crate) fn to(text: &str, machine: Machine, given: &[(&str, &str)]) -> Answer {
        let nothing = || Answer {
            verdict: Verdict::Uncovered,
            text: text.trim().to_owned(),
            opcode: None,
            reasons: Vec::new(),
            warnings: Vec::new(),
            nearest: Vec::new(),
            slots: Vec::new(),
            form: None,
            values: None,
        };
        let Some(place) = mnemonic::place(text) else {
            return nothing();
        };
        let alone =
            text[..place.start].trim().is_empty() && text[place.end..].trim_matches([' ', ';', '\t']).is_empty();
        match mnemonic::resolve(&TABLE, &text[place.clone()]) {
            Ok(resolved) => {
                let values = resolved.form.values_with(&resolved.free);
                let mut answer = Answer { opcode: Some(resolved.form.instruction().data().opcode), ..nothing() };
                answer.pick(resolved.form.instruction(), &values, machine, text, &place, alone);
                let written = if alone { usual(resolved.form, &resolved.free) } else { text.to_owned() };
                let mut notes = Vec::new();
                match Statement::parse_with(&TABLE, &written, &mut notes) {
                    Ok(statement) => {
                        answer.warnings = notes.into_iter().map(Finding::from).collect();
                        answer.legal(&statement, alone, machine, given);
                    }
                    // Its operands are described, and none is written.
                    Err(_) if alone => {
                        let needs: Vec<Need<'_>> = Need::of(resolved.form, resolved.free).collect();
                        let effects = effects::of_form_in_words(resolved.form, &resolved.free);
                        answer.judge(resolved.form, &resolved.free, &needs, effects, machine);
                        answer.text = resolved.form.mnemonic_with(&resolved.free);
                    }
                    Err(error) => {
                        answer.verdict = Verdict::Illegal;
                        answer.reasons = vec![error.into()];
                        answer.nearest = vec![resolved.form.mnemonic_with(&resolved.free)];
                    }
                }
                answer
            }
            Err(refusal) => {
                let mut answer = nothing();
                if let Some((instruction, values)) = &refusal.read {
                    let opcode = instruction.data().opcode;
                    let bare = alone && text[place.clone()].trim() == opcode;
                    answer.verdict = if bare { Verdict::Opcode } else { Verdict::Illegal };
                    answer.opcode = Some(opcode);
                    answer.pick(*instruction, values, machine, text, &place, alone);
                }
                answer.nearest = refusal.spellings().into_iter().map(Cow::into_owned).collect();
                answer.reasons = refusal.reasons.into_iter().map(Finding::from).collect();
                answer
            }
        }
    }

    fn pick(
        &mut self,
        instruction: InstructionInfo,
        values: &[u8],
        machine: Machine,
        text: &str,
        place: &Range<usize>,
        alone: bool,
    ) {
        let around = if alone { None } else { Some((&text[..place.start], &text[place.end..])) };
        self.slots = modifiers::slots(instruction, values, machine, around);
    }

    /// Completes the answer for a statement that parses.
    fn legal(&mut self, statement: &Statement<'_>, alone: bool, machine: Machine, given: &[(&str, &str)]) {
        let (values, statement) = Values::of(statement, machine, given);
        let effects = statement.effects_in_words(|_| true);
        let needs: Vec<Need<'_>> = statement.needs().collect();
        self.judge(statement.form(), statement.free(), &needs, effects, machine);
        self.text = statement.to_string();
        if alone && !given.iter().any(|(name, _)| name.starts_with('/')) {
            self.text = statement.mnemonic().into_owned();
        }
        self.values = Some(values);
    }

    /// Sets the verdict and the form: legal if the version and target meet every need, with the unmet ones as reasons
    /// otherwise.
    fn judge(&mut self, form: FormInfo, free: &Free, needs: &[Need<'_>], effects: Vec<String>, machine: Machine) {
        let lacking = needs.iter().filter(|need| !machine.has(need.floor));
        let lacks =
            |need: &Need<'_>| Finding { message: format!("{need} needs {}", need.floor), help: None, note: None };
        self.reasons = lacking.map(lacks).collect();
        self.verdict = if self.reasons.is_empty() { Verdict::Legal } else { Verdict::Elsewhere };
        self.form = Some(described(form, free, needs, effects));
    }
}

fn described(form: FormInfo, free: &Free, needs: &[Need<'_>], effects: Vec<String>) -> Form {
    let since = TABLE.least(needs.iter().map(|need| Requirement::From(need.listed())));
    let traces = TRACES.of(form.index());
    Form {
        place: TABLE
            .instruction_of(form.mnemonic())
            .map_or(0, |info| info.forms().take_while(|other| *other != form).count()),
        mnemonic: form.mnemonic(),
        pattern: form.pattern(),
        signature: form.signature(),
        entry: form.syntax().entry,
        floor: since.map_or_else(|| "no PTX version and target".to_owned(), |since| since.to_string()),
        assembler: form.lenient_floor().map(|relaxed| (relaxed.floor.to_string(), relaxed.note)),
        unlisted: form.lenient(),
        bound: form.bound().map(ToString::to_string),
        floats: form::has_floats(form),
        code: traces.last().map(|trace| TRACES.lines(trace).collect()).unwrap_or_default(),
        runs: form.effects().lacks.is_empty(),
        effects,
        operands: form.operands().iter().chain(form.states()).map(|info| operand(form, free, info)).collect(),
        matrices: pictures::matrices(form, free),
        constant: form::constant(form),
        function: form::function(form),
    }
}

fn operand(form: FormInfo, free: &Free, operand: &'static ptx_isa::table::Operand) -> Operand {
    let ty = TABLE.ty(operand.ty);
    let second = operand.second.as_ref();
    let permissions =
        [operand.negation, operand.trailing_sink, second.map_or(Permission::No, |second| second.optional)];
    let note = |permission: Permission| match permission {
        Permission::Lenient(note) => Some(note),
        Permission::No | Permission::Yes => None,
    };
    Operand {
        name: second.map_or(operand.name.to_owned(), |second| format!("{}|{}", operand.name, second.name)),
        written: operand.destination,
        ty: match operand.kind {
            OperandKind::Scalar => format!(".{}, {}", ty.name, form::width(ty)),
            OperandKind::Vector(count) => format!("{count} of .{}, {} each", ty.name, form::width(ty)),
            OperandKind::Address => "an address".to_owned(),
            other => other.name().to_owned(),
        },
        takes: form::takes(form, free, operand).join(", "),
        notes: permissions.into_iter().filter_map(note).collect(),
    }
}

/// A form as a statement, its operands called as the manual calls them.
fn usual(form: FormInfo, free: &Free) -> String {
    let mut text = form.mnemonic_with(free);
    for (index, operand) in form.operands().iter().enumerate() {
        text += if index == 0 { " " } else { ", " };
        let mut written = match (operand.registers.is_empty(), operand.kind, operand.within) {
            (true, OperandKind::Scalar, [range, ..]) => range.least.to_string(),
            (true, OperandKind::Scalar, []) => "0".to_owned(),
            _ => operand.name.to_owned(),
        };
        if let Some(second) = &operand.second {
            written += &format!("|{}", second.name);
        }
        if let Some(selector) = operand.selector.filter(|selector| selector.omission == Permission::No) {
            written += &format!(".{}", selector.kind.spell(selector.letter, selector.default));
        }
        text += &operand.with_around(&written);
    }
    text + ";"
}
