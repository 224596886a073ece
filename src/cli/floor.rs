//! `ptx-isa check --floor`: the minimum PTX version and target of each function and of the module, and why.

use std::fmt::Display;
use std::io::{self, Write};
use std::ops::Range;

use ptx_isa::TABLE;
use ptx_isa::text::module::{self, Minimum, Needs};
use ptx_isa::text::{Options, check};
use serde::Serialize;

use super::findings::Source;

/// Minimum version and target of a kernel or a module, as JSON.
#[derive(Serialize)]
struct Floor<'a> {
    file: &'a str,
    /// `None` for the module.
    kernel: Option<&'a str>,
    ptx: Option<String>,
    target: Option<String>,
    /// The target where only its architecture or its family has what is needed.
    architecture: Option<String>,
    because: Vec<Reason>,
}

#[derive(Serialize)]
struct Reason {
    line: usize,
    column: usize,
    needs: String,
    statement: String,
}

impl Reason {
    fn new(source: &Source<'_>, span: &Range<usize>, needs: impl Display) -> Reason {
        let position = source.lines().position(span.start);
        Reason {
            line: position.line,
            column: position.column,
            needs: needs.to_string(),
            statement: statement(source.text, span),
        }
    }

    /// First what the version is for, then what the target is for; where no version and target have all, what excludes each
    /// other.
    fn all(source: &Source<'_>, needs: &Needs<'_>, minimum: Option<&Minimum>) -> Vec<Reason> {
        let Some(Minimum { version_reason, target_reasons, .. }) = minimum else {
            let conflict = needs.conflict();
            return conflict.map(|(requirement, span)| Reason::new(source, &span, requirement)).collect();
        };
        let version = version_reason.iter().map(|it| Reason::new(source, &it.span, format_args!("PTX {}", it.needs)));
        let targets = target_reasons.iter().map(|it| Reason::new(source, &it.span, it.needs));
        version.chain(targets).collect()
    }
}

/// The statement, directive or parameter that begins at a place, in one line.
fn statement(text: &[u8], span: &Range<usize>) -> String {
    let behind = &text[span.end..];
    let whole = text[span.clone()].ends_with(b";");
    let mut rest = behind.iter().position(|byte| matches!(byte, b'\n' | b';' | b'{' | b'}')).unwrap_or(behind.len());
    let mut open = 0_usize;
    let closing = behind[..rest].iter().position(|byte| {
        let closes = *byte == b')' && open == 0;
        open = if *byte == b'(' { open + 1 } else { open.saturating_sub(usize::from(*byte == b')')) };
        closes
    });
    // Within a list, one of its elements.
    if let Some(closing) = closing {
        rest = behind[..closing].iter().position(|byte| *byte == b',').unwrap_or(closing);
    }
    let end = if whole { span.end } else { span.end + rest };
    let line = String::from_utf8_lossy(&text[span.start..end]).split_whitespace().collect::<Vec<_>>().join(" ");
    line.trim_end_matches(',').to_owned()
}

/// Returns true if no version and target make a module legal: it has errors with what its parts need, too.
fn has_errors(source: &Source<'_>, parts: &[Needs<'_>]) -> bool {
    let whole = parts.iter().find(|needs| needs.function.is_none()).and_then(Needs::minimum);
    whole.is_some_and(|least| {
        let options = Options { ptx: Some(least.ptx), target: Some(least.target) };
        check(&TABLE, source.text, &options).errors() > 0
    })
}

/// An object a line: one for each kernel, then one for the module.
pub(super) fn json(out: &mut impl Write, source: &Source<'_>) -> io::Result<()> {
    let parts = module::needs(&TABLE, source.text);
    let broken = has_errors(source, &parts);
    for needs in parts {
        if needs.function.is_some_and(|function| !function.kernel) {
            continue;
        }
        let minimum = needs.minimum().filter(|_| !broken);
        let target = minimum.as_ref().map(|minimum| minimum.target);
        let floor = Floor {
            file: source.name,
            kernel: needs.function.map(|function| function.name),
            ptx: minimum.as_ref().map(|minimum| minimum.ptx.to_string()),
            target: target.map(|target| target.to_string()),
            architecture: target.filter(|target| target.suffix.is_some()).map(|target| target.to_string()),
            because: if broken { Vec::new() } else { Reason::all(source, &needs, minimum.as_ref()) },
        };
        serde_json::to_writer(&mut *out, &floor)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the same as text, and includes functions that are not kernels.
pub(super) fn text(out: &mut impl Write, source: &Source<'_>) -> io::Result<()> {
    let parts = module::needs(&TABLE, source.text);
    if has_errors(source, &parts) {
        return writeln!(out, "{} is accepted with no PTX version and target: it has errors", source.name);
    }
    for needs in parts {
        match needs.function {
            Some(function) if function.kernel => write!(out, "kernel {} ", function.name)?,
            Some(function) => write!(out, "function {} ", function.name)?,
            None => write!(out, "{} ", source.name)?,
        }
        let minimum = needs.minimum();
        match &minimum {
            Some(Minimum { ptx, target, .. }) => writeln!(out, "needs PTX {ptx}, {target}")?,
            None => writeln!(out, "is accepted with no PTX version and target, as these needs exclude each other:")?,
        }
        for Reason { line, column, needs, statement } in Reason::all(source, &needs, minimum.as_ref()) {
            writeln!(out, "  {needs:<9} {}:{line}:{column}: {statement}", source.name)?;
        }
    }
    Ok(())
}
