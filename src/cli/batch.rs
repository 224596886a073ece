//! Batches: one request a line, one answer a line, each independent of the others. This module knows no command line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};

use ptx_isa::TABLE;
use ptx_isa::target::Target;
use ptx_isa::text::Statement;
use serde::Deserialize;

use super::evaluate::{described, evaluate};
use super::names;

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

/// Answers each line of an input; tells whether all of them could be.
pub(super) fn run(input: &mut dyn BufRead, out: &mut dyn Write, target: Option<Target>) -> io::Result<bool> {
    let mut line = Vec::new();
    let mut answer = String::new();
    let mut fine = true;
    loop {
        line.clear();
        if read_line(input, &mut line)? == 0 {
            out.flush()?;
            return Ok(fine);
        }
        answer.clear();
        if let Err(problem) = answer_line(&line, target, &mut answer) {
            fine = false;
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
        Some(name) => Some(names::known_target(name)?),
        None => target,
    };
    let statement = Statement::parse(&TABLE, &request.inst).map_err(|error| {
        let help = error.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}{help}", error.message)
    })?;
    let outputs = evaluate(&statement, target, |name, ty| match request.inputs.get(&name) {
        Some(text) => bits(text)
            .filter(|bits| ty.bits >= 128 || bits >> ty.bits == 0)
            .ok_or_else(|| format!("`{name}`: `{text}` is not {} bits in hex or decimal", ty.bits)),
        None => Err(format!("`{name}` has no value: give {}", described(ty))),
    });
    let outputs = outputs.map_err(|problems| problems.join("; "))?;
    answer.push_str("{\"out\":{");
    for (index, output) in outputs.list.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(answer, "{comma}\"{}\":\"{:#x}\"", output.name, output.bits);
    }
    answer.push_str("}}");
    Ok(())
}

fn bits(text: &str) -> Option<u128> {
    match text.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
