//! Batches: one request a line, one answer a line, each independent of the others. This module knows no command line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};

use ptx_isa::TABLE;
use ptx_isa::table::{Bound, Measure, TypeInfo};
use ptx_isa::target::Target;
use ptx_isa::text::Statement;
use ptx_isa::text::evaluate::{Outputs, Problem, WARP, Words, described, evaluate, one_each};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::names;

/// One request of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    #[serde(borrow)]
    inst: Cow<'a, str>,
    #[serde(borrow, default)]
    target: Option<Cow<'a, str>>,
    /// For a warp: the threads that execute, a bit each.
    #[serde(borrow, default)]
    active: Option<Cow<'a, str>>,
    /// A word for each name, or one for each thread.
    #[serde(borrow, rename = "in", default)]
    inputs: HashMap<Cow<'a, str>, &'a RawValue>,
}

/// Answers each line of an input; tells whether all of them could be.
pub(super) fn run(input: &mut dyn BufRead, out: &mut dyn Write, target: Option<Target>) -> io::Result<bool> {
    let mut line = Vec::new();
    let mut answer = String::new();
    let mut fine = true;
    for number in 1.. {
        line.clear();
        if read_line(input, &mut line)? == 0 {
            break;
        }
        answer.clear();
        if let Err(problem) = answer_line(number, &line, target, &mut answer) {
            fine = false;
            answer.clear();
            let problem = serde_json::to_string(&problem)?;
            let _ = write!(answer, "{{\"error\":{problem}}}");
        }
        answer.push('\n');
        out.write_all(answer.as_bytes())?;
    }
    out.flush()?;
    Ok(fine)
}

/// A request longer than this is refused unread, so that no input can fill the memory.
const LONGEST_REQUEST: u64 = 1 << 20;

/// Reads to the end of a line; an overlong line is truncated.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let read = io::Read::take(&mut *input, LONGEST_REQUEST).read_until(b'\n', line)?;
    if read as u64 == LONGEST_REQUEST && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(read)
}

/// Returns the message for a line that is not valid JSON. The parser sees one line only, so the line number is
/// replaced.
fn malformed(number: u64, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&place) {
        Some(message) => format!("line {number}, column {}: {message}", error.column()),
        None => format!("line {number}: {message}"),
    }
}

/// Writes the answer to one line of a batch.
fn answer_line(number: u64, line: &[u8], target: Option<Target>, answer: &mut String) -> Result<(), String> {
    if line.len() as u64 == LONGEST_REQUEST {
        return Err(format!("line {number} is longer than {LONGEST_REQUEST} bytes"));
    }
    let request: Request<'_> = serde_json::from_slice(line).map_err(|error| malformed(number, &error))?;
    let target = match &request.target {
        Some(name) => Some(names::known_target(name)?),
        None => target,
    };
    let statement = Statement::parse(&TABLE, &request.inst).map_err(|error| {
        let help = error.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}{help}", error.message)
    })?;
    let active = request.active.as_deref().map(names::mask).transpose()?;
    let each = |given: &&RawValue| given.get().starts_with('[');
    answer.push_str("{\"out\":{");
    let mut unspecified = Vec::new();
    let of_warp = active.is_some() || statement.form().is_collective() || request.inputs.values().any(each);
    if of_warp {
        let outputs = evaluated::<[u128; WARP]>(&statement, target, active.unwrap_or(u32::MAX), &request)?;
        for (index, output) in outputs.list.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(answer, "{comma}\"{}\":[", output.name);
            for (thread, bits) in output.bits.iter().enumerate() {
                let comma = if thread > 0 { "," } else { "" };
                // A thread that does not execute writes nothing.
                let _ = match outputs.written >> thread & 1 {
                    0 => write!(answer, "{comma}null"),
                    _ => write!(answer, "{comma}\"{bits:#x}\""),
                };
            }
            answer.push(']');
            if output.unspecified != 0 {
                unspecified.push(format!("\"{}\":\"{:#x}\"", output.name, output.unspecified));
            }
        }
    } else {
        let outputs = evaluated::<u128>(&statement, target, 1, &request)?;
        for (index, output) in outputs.list.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(answer, "{comma}\"{}\":\"{:#x}\"", output.name, output.bits);
            if output.unspecified != 0 {
                unspecified.push(format!("\"{}\"", output.name));
            }
        }
    }
    answer.push('}');
    if !unspecified.is_empty() {
        // Names; of a warp each with the threads, a bit each.
        let (open, close) = if of_warp { ('{', '}') } else { ('[', ']') };
        let _ = write!(answer, ",\"unspecified\":{open}{}{close}", unspecified.join(","));
    }
    if let Some(Bound { measure, value, .. }) = statement.form().bound() {
        let _ = match measure {
            Measure::Ulp => write!(answer, ",\"bound\":{{\"ulp\":{value}}}"),
            Measure::Absolute => write!(answer, ",\"bound\":{{\"abs\":\"{value}\"}}"),
            Measure::Relative => write!(answer, ",\"bound\":{{\"rel\":\"{value}\"}}"),
        };
    }
    answer.push('}');
    Ok(())
}

/// Evaluates a statement with the inputs of a request.
fn evaluated<W: Given>(
    statement: &Statement<'_>,
    target: Option<Target>,
    active: u32,
    request: &Request<'_>,
) -> Result<Outputs<W>, String> {
    let outputs = evaluate(statement, target, active, |name, ty| match request.inputs.get(&name) {
        Some(given) => W::read(given.get(), ty).map_err(|problem| format!("`{name}`: {problem}")),
        None => Err(format!("`{name}` has no value: give {}", described(ty))),
    });
    outputs.map_err(|problems| problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))
}

/// A word of one thread, or of each, as JSON has it.
trait Given: Words {
    fn read(json: &str, ty: &TypeInfo) -> Result<Self, String>;
}

impl Given for u128 {
    fn read(json: &str, ty: &TypeInfo) -> Result<u128, String> {
        let text: Cow<'_, str> = match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
            _ => serde_json::from_str(json).map_err(|_| format!("`{json}` is not a string"))?,
        };
        names::bits(&text)
            .filter(|bits| ty.bits >= 128 || bits >> ty.bits == 0)
            .ok_or_else(|| format!("`{text}` is not {} bits in hex or decimal", ty.bits))
    }
}

impl Given for [u128; WARP] {
    fn read(json: &str, ty: &TypeInfo) -> Result<Self, String> {
        if !json.starts_with('[') {
            return u128::read(json, ty).map(Self::same);
        }
        let words: Vec<&RawValue> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let words = words.iter().map(|word| u128::read(word.get(), ty)).collect::<Result<Vec<_>, _>>()?;
        one_each(words)
    }
}
