//! `ptx-isa check`: the verdict on every statement of whole modules, several files at once, reported in order.

use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Diagnostic, LineIndex, Severity};
use ptx_isa::text::module::{self, Item, Needs};
use ptx_isa::text::{Options, Report};
use rayon::prelude::*;
use serde::Serialize;

use super::{CheckArguments, Format, Outcome, report};

/// Work that takes longer than this shows its progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// So many errors of a file are shown as text.
const MOST_ERRORS: usize = 100;

/// A file and what was found in it.
struct Checked {
    name: String,
    text: Vec<u8>,
    report: Report,
    /// What its statements ask for, where that is wanted.
    needs: Needs,
}

#[derive(Serialize)]
struct Finding<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    end: End,
    severity: &'a str,
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

#[derive(Serialize)]
struct End {
    line: usize,
    column: usize,
}

pub(super) fn run(arguments: &CheckArguments) -> io::Result<Outcome> {
    let options = Options { target: arguments.target, ptx: arguments.ptx };
    let progress = Progress::new(arguments.files.len());
    let checked: Vec<Result<Checked, String>> = arguments
        .files
        .par_iter()
        .map(|path| {
            let checked = check(path, &options, arguments.strict, arguments.floor);
            progress.step();
            checked
        })
        .collect();
    progress.finish();
    let mut outcome = Outcome::Fine;
    let mut totals = Totals::default();
    let mut out = BufWriter::new(anstream::stdout().lock());
    let limit = arguments.error_limit.unwrap_or(match arguments.format {
        Format::Text => MOST_ERRORS,
        Format::Json => 0,
    });
    let mut left_out = 0;
    for file in &checked {
        match file {
            Ok(file) => {
                totals.add(&file.report);
                let all = &file.report.diagnostics;
                let shown = &all[..shown(all, limit)];
                left_out += all.len() - shown.len();
                match arguments.format {
                    Format::Text => print_text(&mut out, file, shown)?,
                    Format::Json => print_json(&mut out, file, shown)?,
                }
                if arguments.floor {
                    print_floor(&mut out, file)?;
                }
            }
            Err(problem) => {
                out.flush()?;
                super::complain(problem);
                outcome = Outcome::Unusable;
            }
        }
    }
    if arguments.format == Format::Text && checked.iter().any(Result::is_ok) {
        writeln!(out, "{totals}")?;
        if left_out > 0 {
            writeln!(out, "{left_out} findings are left out: `--error-limit 0` shows all")?;
        }
    }
    out.flush()?;
    Ok(outcome.max(if totals.errors > 0 { Outcome::InputErrors } else { Outcome::Fine }))
}

fn check(path: &Path, options: &Options, strict: bool, floor: bool) -> Result<Checked, String> {
    let standard_input = path.as_os_str() == "-";
    let name = if standard_input { "<stdin>".to_owned() } else { path.display().to_string() };
    let read = if standard_input {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(path)
    };
    let text = read.map_err(|error| format!("cannot read {name}: {error}"))?;
    let mut needs = Needs::default();
    let mut report = module::read(&TABLE, &text, options, |item, span| {
        if let Item::Statement(statement) = item
            && floor
        {
            needs.add(&statement, span);
        }
    });
    if strict {
        report.diagnostics.iter_mut().for_each(|finding| finding.severity = Severity::Error);
    }
    Ok(Checked { name, text, report, needs })
}

/// The version and the target that a module needs, each with the statement that needs it.
fn print_floor(out: &mut impl Write, file: &Checked) -> io::Result<()> {
    let lines = LineIndex::new(&file.text);
    let statement = |span: &Range<usize>| {
        let text = String::from_utf8_lossy(&file.text[span.clone()]);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{}:{}: {words}", file.name, lines.position(span.start).line)
    };
    if let Some((version, span)) = file.needs.version() {
        writeln!(out, "needs PTX {version:<5} {}", statement(&span))?;
    }
    if let Some((target, span)) = file.needs.target() {
        writeln!(out, "needs {target:<9} {}", statement(&span))?;
    }
    Ok(())
}

/// How many findings come up to the last error within a limit; 0 is none.
fn shown(findings: &[Diagnostic], limit: usize) -> usize {
    let mut errors = findings.iter().enumerate().filter(|(_, finding)| finding.severity == Severity::Error);
    match limit {
        0 => findings.len(),
        _ => errors.nth(limit).map_or(findings.len(), |(first, _)| first),
    }
}

fn print_text(out: &mut impl Write, file: &Checked, findings: &[Diagnostic]) -> io::Result<()> {
    let lines = LineIndex::new(&file.text);
    findings.iter().try_for_each(|finding| report::write(out, &file.name, &file.text, &lines, finding))
}

fn print_json(out: &mut impl Write, file: &Checked, findings: &[Diagnostic]) -> io::Result<()> {
    let lines = LineIndex::new(&file.text);
    for finding in findings {
        let Diagnostic { code, severity, span, message, help, .. } = finding;
        let (start, end) = (lines.position(span.start), lines.position(span.end));
        let finding = Finding {
            file: &file.name,
            line: start.line,
            column: start.column,
            end: End { line: end.line, column: end.column },
            severity: severity.as_str(),
            code: code.as_str(),
            message,
            help: help.as_deref(),
        };
        serde_json::to_writer(&mut *out, &finding)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Counts over all files.
#[derive(Default)]
struct Totals {
    in_table: usize,
    outside: usize,
    errors: usize,
    warnings: usize,
}

impl Totals {
    fn add(&mut self, report: &Report) {
        self.in_table += report.in_table;
        self.outside += report.outside;
        let errors = report.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).count();
        self.errors += errors;
        self.warnings += report.diagnostics.len() - errors;
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Totals { in_table, outside, errors, warnings } = self;
        let all = in_table + outside;
        write!(
            f,
            "{all} statements: {in_table} in the table, {outside} outside it, {errors} errors, {warnings} warnings"
        )
    }
}

/// A progress bar that appears on a terminal once the work has taken a while.
struct Progress {
    files: u64,
    start: Instant,
    bar: Mutex<(u64, Option<ProgressBar>)>,
}

impl Progress {
    fn new(files: usize) -> Progress {
        Progress { files: files as u64, start: Instant::now(), bar: Mutex::new((0, None)) }
    }

    fn step(&self) {
        let mut state = self.bar.lock().expect("no step panics");
        state.0 += 1;
        if state.1.is_none() && self.start.elapsed() > PATIENCE && io::stderr().is_terminal() {
            let bar = ProgressBar::new(self.files);
            bar.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} files").expect("a template"));
            state.1 = Some(bar);
        }
        if let (done, Some(bar)) = &*state {
            bar.set_position(*done);
        }
    }

    fn finish(self) {
        if let Some(bar) = self.bar.into_inner().expect("no step panics").1 {
            bar.finish_and_clear();
        }
    }
}
