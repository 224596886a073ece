//! `ptx-isa check`: the verdict on every statement of whole modules, several files at once, reported in order.

use std::borrow::Cow;
use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Diagnostic, LineIndex, Severity};
use ptx_isa::table::FormInfo;
use ptx_isa::text::module::{self, Item};
use ptx_isa::text::{Options, Report, decode};

use super::findings::{self, Source};
use super::names::count;
use super::progress::Progress;
use super::sarif::Log;
use super::{CheckArguments, FindingsFormat, Outcome, floor, report};

/// So many errors of a file are shown as text.
const MOST_ERRORS: usize = 100;

/// A file and what was found in it.
struct Checked {
    name: String,
    text: Vec<u8>,
    report: Report,
    /// Where its statements stand, where that is wanted: see [`Source::statements`].
    statements: Vec<(Range<usize>, Option<FormInfo>)>,
}

pub(super) fn run(arguments: &CheckArguments, quiet: bool) -> io::Result<Outcome> {
    let CheckArguments { format, floor: with_floor, error_limit, .. } = arguments;
    if *with_floor && !matches!(format, FindingsFormat::Text | FindingsFormat::Json) {
        super::complain("`--floor` is printed as text or as JSON");
        return Ok(Outcome::Unusable);
    }
    let checked = check_all(arguments, quiet);
    let mut outcome = Outcome::Fine;
    let mut totals = Totals::default();
    let mut log = Log::new();
    let mut out = BufWriter::new(anstream::stdout().lock());
    let limit = error_limit.unwrap_or(match format {
        FindingsFormat::Text => MOST_ERRORS,
        FindingsFormat::Json | FindingsFormat::Sarif | FindingsFormat::Github => 0,
    });
    let mut left_out = 0;
    for file in &checked {
        match file {
            Ok(file) => {
                totals.add(&file.report);
                let all = &file.report.diagnostics;
                let shown = &all[..shown(all, limit)];
                left_out += all.len() - shown.len();
                let lines = LineIndex::new(&file.text);
                let Checked { name, text, statements, .. } = file;
                let source = Source { name, text, lines, statements };
                // Tools that ask for floors read nothing else.
                let shown = if *with_floor && *format == FindingsFormat::Json { &[] } else { shown };
                for finding in shown {
                    match format {
                        FindingsFormat::Text => {
                            report::write(&mut out, source.name, source.text, &source.lines, finding)?;
                        }
                        FindingsFormat::Json => findings::json(&mut out, &source, finding)?,
                        FindingsFormat::Github => findings::github(&mut out, &source, finding)?,
                        FindingsFormat::Sarif => log.add(&source, finding),
                    }
                }
                match format {
                    FindingsFormat::Text if *with_floor => floor::text(&mut out, &source)?,
                    FindingsFormat::Json if *with_floor => floor::json(&mut out, &source)?,
                    _ => {}
                }
            }
            Err(problem) => {
                out.flush()?;
                log.failed(problem);
                super::complain(problem);
                outcome = Outcome::Unusable;
            }
        }
    }
    if *format == FindingsFormat::Sarif {
        serde_json::to_writer_pretty(&mut out, &log)?;
        writeln!(out)?;
    }
    if *format == FindingsFormat::Text && !quiet && checked.iter().any(Result::is_ok) {
        writeln!(out, "{totals}")?;
        if left_out > 0 {
            let are = if left_out == 1 { "is" } else { "are" };
            writeln!(out, "{} {are} left out: `--error-limit 0` shows all", count(left_out, "finding"))?;
        }
    }
    out.flush()?;
    Ok(outcome.max(if totals.errors > 0 { Outcome::InputErrors } else { Outcome::Fine }))
}

/// Every file's verdict, in order; several files are read at once.
fn check_all(arguments: &CheckArguments, quiet: bool) -> Vec<Result<Checked, String>> {
    let files = &arguments.files;
    let options = Options { target: arguments.target, ptx: arguments.ptx };
    let progress = Progress::new("files", quiet);
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = || {
        let mut done = Vec::new();
        while let Some((index, path)) =
            Some(next.fetch_add(1, Relaxed)).and_then(|index| Some((index, files.get(index)?)))
        {
            done.push((index, check(path, &options, arguments)));
            progress.show(ended.fetch_add(1, Relaxed) as u64 + 1, files.len() as u64);
        }
        done
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let mut checked: Vec<_> = thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(worker)).collect();
        let own = worker();
        own.into_iter().chain(others.into_iter().flat_map(|other| other.join().expect("no worker panics"))).collect()
    });
    progress.finish();
    checked.sort_by_key(|(index, _)| *index);
    checked.into_iter().map(|(_, checked)| checked).collect()
}

fn check(path: &Path, options: &Options, arguments: &CheckArguments) -> Result<Checked, String> {
    let standard_input = path.as_os_str() == "-";
    let name = if standard_input { "<stdin>".to_owned() } else { path.display().to_string() };
    let read = if standard_input {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(path)
    };
    let text = read.map_err(|error| format!("cannot read {name}: {error}"))?;
    let decoded = match decode(&text) {
        Cow::Owned(decoded) => Some(decoded),
        Cow::Borrowed(_) => None,
    };
    let text = decoded.unwrap_or(text);
    let mut statements = Vec::new();
    let located = arguments.format == FindingsFormat::Json;
    let mut report = module::read(&TABLE, &text, options, |item, span| match item {
        Item::Statement(statement) if located => statements.push((span, Some(statement.form()))),
        Item::Refused if located => statements.push((span, None)),
        _ => {}
    });
    if arguments.strict {
        report.diagnostics.iter_mut().for_each(|finding| finding.severity = Severity::Error);
    }
    Ok(Checked { name, text, report, statements })
}

/// How many findings come up to the last error within a limit; 0 is none.
fn shown(findings: &[Diagnostic], limit: usize) -> usize {
    let mut errors = findings.iter().enumerate().filter(|(_, finding)| finding.severity == Severity::Error);
    match limit {
        0 => findings.len(),
        _ => errors.nth(limit).map_or(findings.len(), |(first, _)| first),
    }
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
        self.errors += report.errors();
        self.warnings += report.warnings();
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Totals { in_table, outside, errors, warnings } = self;
        let all = in_table + outside;
        let (all, errors, warnings) = (count(all, "statement"), count(*errors, "error"), count(*warnings, "warning"));
        write!(f, "{all}: {in_table} in the table, {outside} outside it, {errors}, {warnings}")
    }
}
