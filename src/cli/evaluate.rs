//! What a statement computes, from the bits of the registers it reads. This module knows no command line.

use std::borrow::Cow;

use ptx_isa::TABLE;
use ptx_isa::table::{Kind, TypeInfo};
use ptx_isa::target::Target;
use ptx_isa::text::Statement;
use ptx_isa::text::statement::{Register, Second, Value};

/// A statement has at most so many words to read: its sources and its selectors.
const MAX_INPUTS: usize = 16;

/// What a value of a type looks like, for a message.
pub(super) fn described(ty: &TypeInfo) -> String {
    match ty.kind {
        Kind::Predicate => "0 or 1".to_owned(),
        _ => format!("{} bits of type `.{}`", ty.bits, ty.name),
    }
}

/// A destination and what it received.
pub(super) struct Output {
    pub name: String,
    pub bits: u128,
    pub ty: &'static TypeInfo,
}

/// What a statement wrote; sinks are left out.
#[derive(Default)]
pub(super) struct Outputs {
    pub list: Vec<Output>,
    /// Whether the guard kept the statement from writing.
    pub skipped: bool,
}

/// Computes a statement; `input` gives the bits of a register by name.
pub(super) fn evaluate<'a>(
    statement: &Statement<'a>,
    target: Option<Target>,
    mut input: impl FnMut(Cow<'a, str>, &'static TypeInfo) -> Result<u128, String>,
) -> Result<Outputs, Vec<String>> {
    let form = statement.form();
    let mut problems = Vec::new();
    if !form.has_evaluator() {
        return Err(vec![format!("`{}` is in the table without semantics", form.mnemonic())]);
    }
    if let Some(target) = target.filter(|target| !form.floor().takes(*target, TABLE.families())) {
        let needed = form.floor().targets_in_words();
        problems.push(format!("`{}` needs `{needed}`; the target is `{target}`", form.mnemonic()));
    }
    let mut words = [0; MAX_INPUTS];
    let mut count = 0;
    let mut push = |word| {
        words[count] = word;
        count += 1;
    };
    let mut read = |name, ty| {
        input(name, ty).unwrap_or_else(|problem| {
            problems.push(problem);
            0
        })
    };
    for (info, operand) in statement.operands_with_info().filter(|(info, _)| !info.destination) {
        let ty = TABLE.ty(info.ty);
        push(match operand.value {
            Value::Register(register) => read(name_of(register), ty),
            Value::Negated(register) => read(name_of(register), ty) ^ 1,
            Value::Sum { name, addend } => read(Cow::Borrowed(name), ty).wrapping_add(addend.into()),
            Value::Constant(bits) => bits.into(),
            Value::Sink => 0,
            Value::Absent => continue,
        });
    }
    statement.operands().iter().filter_map(|operand| operand.selector).for_each(|selector| push(selector.into()));
    let taken = match statement.guard() {
        Some(guard) => read(Cow::Borrowed(guard.register), predicate()) & 1 != u128::from(guard.negated),
        None => true,
    };
    // Results, in the order in which the evaluator gives them: nothing for a sink.
    let mut written = Vec::new();
    for (info, operand) in statement.operands_with_info().filter(|(info, _)| info.destination) {
        let ty = TABLE.ty(info.ty);
        written.push(match operand.value {
            Value::Register(register) => Some((name_of(register), ty)),
            _ => None,
        });
        if info.second.is_some() {
            written.push(match operand.second {
                Some(Second::Register(name)) => Some((Cow::Borrowed(name), ty)),
                Some(Second::Sink) | None => None,
            });
        }
    }
    for (index, (name, _)) in written.iter().flatten().enumerate() {
        if written.iter().flatten().take(index).any(|(other, _)| other == name) {
            problems.push(format!("both destinations are `{name}`: which of the two results is left is not defined"));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if !taken {
        return Ok(Outputs { skipped: true, ..Outputs::default() });
    }
    let results = form.evaluate(target.map_or(u16::MAX, |target| target.sm), &words[..count]);
    let outputs = written.into_iter().zip(results.iter()).filter_map(|(destination, bits)| {
        let (name, ty) = destination?;
        Some(Output { name: name.into_owned(), bits: *bits, ty })
    });
    Ok(Outputs { list: outputs.collect(), skipped: false })
}

/// A register's name as the statement writes it: `r` or `v.x`.
fn name_of(register: Register<'_>) -> Cow<'_, str> {
    match register.element {
        None => Cow::Borrowed(register.name),
        Some(element) => Cow::Owned(format!("{}.{}", register.name, ["x", "y", "z", "w"][usize::from(element) & 3])),
    }
}

/// The type of a guard.
fn predicate() -> &'static TypeInfo {
    let found = TABLE.types.iter().find(|ty| ty.kind == Kind::Predicate);
    found.expect("a table with guards has predicates")
}
