//! `ptx-isa eval`: one statement from the arguments, or a batch of them, one JSON object a line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::LineIndex;
use ptx_isa::table::{Kind, Operand, TypeInfo};
use ptx_isa::target::Target;
use ptx_isa::text::Statement;
use ptx_isa::text::statement::{Register, Second, Value};
use ptx_isa::value;
use serde::Deserialize;

use super::{EvalArguments, Outcome, report};

/// A statement has at most so many words to read: its sources and its selectors.
const MAX_INPUTS: usize = 16;

pub(super) fn run(arguments: &EvalArguments) -> io::Result<Outcome> {
    match (&arguments.batch, &arguments.statement) {
        (Some(path), _) => batch(path, arguments.target),
        (None, Some(statement)) => single(statement, &arguments.inputs, arguments.target),
        (None, None) => unreachable!("clap asks for one of them"),
    }
}

fn single(text: &str, inputs: &[String], target: Option<Target>) -> io::Result<Outcome> {
    let mut notes = Vec::new();
    let parsed = Statement::parse_with(&TABLE, text, &mut notes);
    let (statement, findings) = match parsed {
        Ok(statement) => (Some(statement), notes),
        Err(error) => (None, vec![error]),
    };
    let mut errors = anstream::stderr().lock();
    let lines = LineIndex::new(text);
    for finding in &findings {
        report::write(&mut errors, "statement", text.as_bytes(), &lines, finding)?;
    }
    drop(errors);
    let Some(statement) = statement else { return Ok(Outcome::InputErrors) };
    match evaluate_named(&statement, inputs, target) {
        Ok(outputs) => {
            let mut out = anstream::stdout().lock();
            for output in outputs.list() {
                writeln!(out, "{} = {}", output.name, value::show(output.bits, output.ty))?;
            }
            if outputs.skipped {
                writeln!(out, "the guard is false: nothing is written")?;
            }
            Ok(Outcome::Fine)
        }
        Err(problems) => {
            problems.iter().for_each(super::complain);
            Ok(Outcome::InputErrors)
        }
    }
}

/// Evaluates with inputs as people write them; all that is wrong with them is told at once.
fn evaluate_named(
    statement: &Statement<'_>,
    inputs: &[String],
    target: Option<Target>,
) -> Result<Outputs, Vec<String>> {
    let mut problems = Vec::new();
    let mut given: HashMap<&str, &str> = HashMap::new();
    for input in inputs {
        match input.split_once('=') {
            Some((name, value)) => {
                if given.insert(name.trim(), value.trim()).is_some() {
                    problems.push(format!("`{}` is given twice", name.trim()));
                }
            }
            None => problems.push(format!("`{input}` is no input: write NAME=VALUE, as in `a=5`")),
        }
    }
    let mut used = Vec::new();
    let outputs = evaluate(statement, target, |name, ty| {
        used.push(name.to_string());
        match given.get(&*name) {
            Some(text) => value::parse(text, ty).map_err(|problem| format!("`{name}`: {problem}")),
            None => Err(format!("`{name}` has no value: give {name}=…, {}", described(ty))),
        }
    });
    let unused = given.keys().filter(|name| !used.iter().any(|used| used == *name));
    let mut unused: Vec<String> =
        unused.map(|name| format!("`{name}` is not read by the statement; it reads {}", used.join(", "))).collect();
    unused.sort();
    problems.extend(unused);
    match outputs {
        Ok(outputs) if problems.is_empty() => Ok(outputs),
        Ok(_) => Err(problems),
        Err(more) => Err(problems.into_iter().chain(more).collect()),
    }
}

fn described(ty: &TypeInfo) -> String {
    match ty.kind {
        Kind::Predicate => "0 or 1".to_owned(),
        _ => format!("{} bits of type `.{}`", ty.bits, ty.name),
    }
}

/// A destination and what it received.
struct Output {
    name: String,
    bits: u64,
    ty: &'static TypeInfo,
}

/// What a statement wrote; sinks are left out.
#[derive(Default)]
struct Outputs {
    first: Option<Output>,
    second: Option<Output>,
    /// Whether the guard kept the statement from writing.
    skipped: bool,
}

impl Outputs {
    fn list(&self) -> impl Iterator<Item = &Output> {
        self.first.iter().chain(&self.second)
    }
}

/// Computes a statement; `input` gives the bits of a register by name.
fn evaluate<'a>(
    statement: &Statement<'a>,
    target: Option<Target>,
    mut input: impl FnMut(Cow<'a, str>, &'static TypeInfo) -> Result<u64, String>,
) -> Result<Outputs, Vec<String>> {
    let form = statement.form();
    let mut problems = Vec::new();
    if form.evaluators.is_empty() {
        return Err(vec![format!("`{}` is in the table without semantics", form.mnemonic)]);
    }
    if let Some(target) = target.filter(|target| target.sm < form.floor.sm) {
        problems.push(format!("`{}` needs `sm_{}`; the target is `{target}`", form.mnemonic, form.floor.sm));
    }
    let mut words = [0; MAX_INPUTS];
    let mut count = 0;
    let mut push = |word| {
        words[count] = word;
        count += 1;
    };
    let type_of = |operand: &Operand| &TABLE.types[operand.ty.index()];
    let mut read = |name, ty| {
        input(name, ty).unwrap_or_else(|problem| {
            problems.push(problem);
            0
        })
    };
    for (info, operand) in statement.operands_with_info().filter(|(info, _)| !info.destination) {
        let ty = type_of(info);
        push(match operand.value {
            Value::Register(register) => read(name_of(register), ty),
            Value::Negated(register) => read(name_of(register), ty) ^ 1,
            Value::Sum { name, addend } => read(Cow::Borrowed(name), ty).wrapping_add(addend),
            Value::Constant(bits) => bits,
            Value::Sink | Value::Absent => 0,
        });
    }
    statement.operands().iter().filter_map(|operand| operand.selector).for_each(|selector| push(selector.into()));
    let taken = match statement.guard() {
        Some(guard) => read(Cow::Borrowed(guard.register), predicate()) & 1 != u64::from(guard.negated),
        None => true,
    };
    let written = statement.operands_with_info().find(|(info, _)| info.destination);
    if let Some((_, operand)) = written
        && let (Value::Register(Register { name, .. }), Some(Second::Register(second))) =
            (operand.value, operand.second)
        && name == second
    {
        problems.push(format!("both destinations are `{name}`: which of the two results is left is not defined"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if !taken {
        return Ok(Outputs { skipped: true, ..Outputs::default() });
    }
    let results = form.evaluate(target.map_or(u16::MAX, |target| target.sm), &words[..count]);
    let mut outputs = Outputs::default();
    if let Some((info, operand)) = written {
        let ty = type_of(info);
        if let Value::Register(register) = operand.value {
            outputs.first = Some(Output { name: name_of(register).into_owned(), bits: results[0], ty });
        }
        if let Some(Second::Register(name)) = operand.second {
            outputs.second = Some(Output { name: name.to_owned(), bits: results[1], ty });
        }
    }
    Ok(outputs)
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

/// One request of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    #[serde(borrow)]
    inst: Cow<'a, str>,
    #[serde(borrow, default)]
    target: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "in", default)]
    inputs: HashMap<Cow<'a, str>, Cow<'a, str>>,
}

fn batch(path: &Path, target: Option<Target>) -> io::Result<Outcome> {
    let mut input: Box<dyn BufRead> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        match File::open(path)
            .and_then(|file| if file.metadata()?.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(file) })
        {
            Ok(file) => Box::new(BufReader::with_capacity(1 << 16, file)),
            Err(error) => {
                super::complain(format_args!("cannot read {}: {error}", path.display()));
                return Ok(Outcome::Unusable);
            }
        }
    };
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut line = Vec::new();
    let mut answer = String::new();
    let mut outcome = Outcome::Fine;
    loop {
        line.clear();
        if read_line(&mut input, &mut line)? == 0 {
            out.flush()?;
            return Ok(outcome);
        }
        answer.clear();
        if let Err(problem) = answer_line(&line, target, &mut answer) {
            outcome = Outcome::InputErrors;
            answer.clear();
            let problem = serde_json::to_string(&problem)?;
            let _ = write!(answer, "{{\"error\":{problem}}}");
        }
        answer.push('\n');
        out.write_all(answer.as_bytes())?;
    }
}

/// A request longer than this is refused unread, so that no input can fill the memory.
const LONGEST_REQUEST: u64 = 1 << 20;

/// Reads to the end of a line; of one that is too long only the beginning is kept.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let read = io::Read::take(&mut *input, LONGEST_REQUEST).read_until(b'\n', line)?;
    if read as u64 == LONGEST_REQUEST && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(read)
}

/// Writes the answer to one line of a batch.
fn answer_line(line: &[u8], target: Option<Target>, answer: &mut String) -> Result<(), String> {
    if line.len() as u64 == LONGEST_REQUEST {
        return Err(format!("the line is longer than {LONGEST_REQUEST} bytes"));
    }
    let request: Request<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let target = match &request.target {
        Some(name) => Some(super::known_target(name)?),
        None => target,
    };
    let statement = Statement::parse(&TABLE, &request.inst).map_err(|error| {
        let help = error.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}{help}", error.message)
    })?;
    let outputs = evaluate(&statement, target, |name, ty| match request.inputs.get(&name) {
        Some(text) => bits(text)
            .filter(|bits| ty.bits >= 64 || bits >> ty.bits == 0)
            .ok_or_else(|| format!("`{name}`: `{text}` is not {} bits in hex or decimal", ty.bits)),
        None => Err(format!("`{name}` has no value: give {}", described(ty))),
    });
    let outputs = outputs.map_err(|problems| problems.join("; "))?;
    answer.push_str("{\"out\":{");
    for (index, output) in outputs.list().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(answer, "{comma}\"{}\":\"{:#x}\"", output.name, output.bits);
    }
    answer.push_str("}}");
    Ok(())
}

fn bits(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
