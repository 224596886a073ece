//! `ptx-isa eval`: one statement from the arguments, or a batch of them, one JSON object a line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::LineIndex;
use ptx_isa::table::TypeInfo;
use ptx_isa::target::Target;
use ptx_isa::text::Statement;
use ptx_isa::text::evaluate::{Lanes as _, Outputs, Problem, WARP, Words, described, evaluate, one_each};
use ptx_isa::value;

use super::{EvalArguments, Outcome, batch, report};

pub(super) fn run(arguments: &EvalArguments) -> io::Result<Outcome> {
    match (&arguments.batch, &arguments.statement) {
        (Some(path), _) => from_file(path, arguments.target),
        (None, Some(statement)) => single(statement, arguments),
        (None, None) => unreachable!("clap asks for one of them"),
    }
}

fn single(text: &str, arguments: &EvalArguments) -> io::Result<Outcome> {
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
    let mut lines = Vec::new();
    let done = if arguments.active.is_some() || statement.form().is_collective() {
        evaluate_named::<[u128; WARP]>(&statement, arguments).map(|outputs| {
            for output in &outputs.list {
                let threads = (0..WARP).filter(|thread| outputs.written >> thread & 1 != 0);
                lines.extend(threads.map(|thread| {
                    let open = open(output.unspecified >> thread);
                    format!("{}[{thread}] = {}{open}", output.name, value::show(output.bits[thread], output.ty))
                }));
            }
            outputs.written
        })
    } else {
        evaluate_named::<u128>(&statement, arguments).map(|outputs| {
            lines.extend(outputs.list.iter().map(|output| {
                format!("{} = {}{}", output.name, value::show(output.bits, output.ty), open(output.unspecified))
            }));
            outputs.written
        })
    };
    match done {
        Ok(written) => {
            let mut out = anstream::stdout().lock();
            lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            if let Some(bound) = statement.form().bound() {
                writeln!(out, "a machine's result is within {bound} of the exact one")?;
            }
            if written == 0 {
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

/// Returns the note behind a result; the lowest bit of `unspecified` is set if the manual leaves the result
/// unspecified.
fn open(unspecified: u32) -> &'static str {
    if unspecified & 1 != 0 { " — unspecified result" } else { "" }
}

/// A word of one thread, or of each, as people write it.
trait Written: Words {
    fn parse(text: &str, ty: &TypeInfo) -> Result<Self, String>;

    /// The threads that execute where nothing is said.
    const ACTIVE: u32;
}

impl Written for u128 {
    const ACTIVE: u32 = 1;

    fn parse(text: &str, ty: &TypeInfo) -> Result<u128, String> {
        value::parse_lanes(&TABLE, text, ty)
    }
}

impl Written for [u128; WARP] {
    const ACTIVE: u32 = u32::MAX;

    /// One for all threads, or one for each, parted by commas.
    fn parse(text: &str, ty: &TypeInfo) -> Result<Self, String> {
        if !text.contains(',') {
            return value::parse(text, ty).map(Self::same);
        }
        let words = text.split(',').map(|word| value::parse(word.trim(), ty)).collect::<Result<Vec<_>, _>>()?;
        one_each(words)
    }
}

/// Evaluates with inputs in the command line's notation; all invalid inputs are reported together.
fn evaluate_named<W: Written>(statement: &Statement<'_>, arguments: &EvalArguments) -> Result<Outputs<W>, Vec<String>> {
    let mut problems = Vec::new();
    let mut given: HashMap<&str, &str> = HashMap::new();
    for input in &arguments.inputs {
        match input.split_once('=') {
            Some((name, value)) => {
                if given.insert(name.trim(), value.trim()).is_some() {
                    problems.push(format!("`{}` is given twice", name.trim()));
                }
            }
            None => problems.push(format!("`{input}` is not an input: write NAME=VALUE, as in `a=5`")),
        }
    }
    let mut used = Vec::new();
    let active = arguments.active.unwrap_or(W::ACTIVE);
    let outputs = evaluate(statement, arguments.target, active, |name, ty| {
        used.push(name.to_string());
        match given.get(&*name) {
            Some(text) => W::parse(text, ty).map_err(|problem| format!("`{name}`: {problem}")),
            None => Err(format!("`{name}` has no value: give {name}=…, {}", described(ty))),
        }
    });
    // A statement that is refused before it reads anything says why itself.
    let refused = outputs.is_err() && used.is_empty();
    let unused = given.keys().filter(|name| !refused && !used.iter().any(|used| used == *name));
    let reads = if used.is_empty() { "no register".to_owned() } else { used.join(", ") };
    let mut unused: Vec<String> =
        unused.map(|name| format!("`{name}` is not read by the statement; it reads {reads}")).collect();
    unused.sort();
    problems.extend(unused);
    match outputs {
        Ok(outputs) if problems.is_empty() => Ok(outputs),
        Ok(_) => Err(problems),
        Err(more) => Err(problems.into_iter().chain(more.iter().map(Problem::to_string)).collect()),
    }
}

fn from_file(path: &Path, target: Option<Target>) -> io::Result<Outcome> {
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
    let fine = batch::run(&mut *input, &mut out, target)?;
    Ok(if fine { Outcome::Fine } else { Outcome::InputErrors })
}
