//! `ptx-isa check`: the verdict on every statement of whole modules, several files at once, reported in order.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use isa_table::count::Count;
use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Diagnostic, Fix, Severity};
use ptx_isa::text::module::{self, Proceed, Visitor};
use ptx_isa::text::{Options, decode};

use super::findings::{self, Source};
use super::ordered::{Ordered, Part};
use super::progress::Progress;
use super::sarif;
use super::{CheckArguments, FindingsFormat, Fixes, Outcome, floor, report};

/// Default maximum number of errors, and of warnings, shown per file in text output.
const MOST_ERRORS: usize = 100;

pub(super) fn run(arguments: &CheckArguments, quiet: bool) -> io::Result<Outcome> {
    let CheckArguments { format, floor: with_floor, .. } = arguments;
    if *with_floor && !matches!(format, FindingsFormat::Text | FindingsFormat::Json) {
        super::complain("`--floor` is printed as text or as JSON");
        return Ok(Outcome::Unusable);
    }
    if arguments.fix.is_some() && arguments.files.iter().any(|path| path.as_os_str() == "-") {
        super::complain("`--fix` rewrites files, and standard input is not one");
        return Ok(Outcome::Unusable);
    }
    let progress = Progress::new("files", quiet);
    let ordered = match format {
        FindingsFormat::Sarif => Ordered::new(&progress, &sarif::begin()?, sarif::SEPARATOR.len()),
        _ => Ordered::new(&progress, "", 0),
    };
    let totals = check_all(arguments, &ordered, &progress);
    progress.finish();
    let mut out = ordered.finish()?;
    let mut totals = totals?;
    totals.failed.sort();
    match format {
        FindingsFormat::Sarif => sarif::end(&mut out, &totals.failed)?,
        FindingsFormat::Text if !quiet && totals.files > 0 => {
            writeln!(out, "{totals}")?;
            if arguments.fix.is_some() {
                writeln!(out, "{} made", Count(totals.edits, "edit"))?;
            }
            if totals.left_out > 0 {
                let are = if totals.left_out == 1 { "is" } else { "are" };
                let left_out = Count(totals.left_out, "finding");
                writeln!(out, "{left_out} {are} left out: `--error-limit 0` shows all")?;
            }
        }
        _ => {}
    }
    out.flush()?;
    let outcome = if totals.failed.is_empty() { Outcome::Fine } else { Outcome::Unusable };
    Ok(outcome.max(if totals.errors > 0 { Outcome::InputErrors } else { Outcome::Fine }))
}

/// Checks every file, several at once, and writes what is found in order.
fn check_all(arguments: &CheckArguments, ordered: &Ordered<'_>, progress: &Progress) -> io::Result<Totals> {
    let files = &arguments.files;
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = || {
        let mut totals = Totals::default();
        while let Some((index, path)) =
            Some(next.fetch_add(1, Relaxed)).and_then(|index| Some((index, files.get(index)?)))
        {
            let mut part = ordered.part(index);
            if let Err(problem) = check(path, arguments, &mut part, &mut totals)? {
                part.alone(|| super::complain(&problem))?;
                totals.failed.push((index, problem));
            }
            part.end()?;
            progress.show(ended.fetch_add(1, Relaxed) as u64 + 1, files.len() as u64);
        }
        Ok(totals)
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(files.len());
    thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(worker)).collect();
        let own = worker();
        let others = others.into_iter().map(|other| other.join().expect("no worker panics"));
        others.fold(own, |all: io::Result<Totals>, other| {
            let mut all = all?;
            all.add(other?);
            Ok(all)
        })
    })
}

/// Checks a file; tells why it could not be read.
fn check(
    path: &Path,
    arguments: &CheckArguments,
    out: &mut Part<'_, '_>,
    totals: &mut Totals,
) -> io::Result<Result<(), String>> {
    let standard_input = path.as_os_str() == "-";
    let name = if standard_input { "<stdin>".to_owned() } else { path.display().to_string() };
    let read = if standard_input {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(path)
    };
    let text = match read {
        Ok(text) => text,
        Err(error) => return Ok(Err(format!("cannot read {name}: {error}"))),
    };
    let decoded = match decode(&text) {
        Cow::Owned(decoded) => Some(decoded),
        Cow::Borrowed(_) => None,
    };
    let options = Options { target: arguments.target, ptx: arguments.ptx };
    let (text, edits) = match (arguments.fix, decoded) {
        (None, decoded) => (decoded.unwrap_or(text), 0),
        (Some(_), Some(_)) => return Ok(Err(format!("cannot fix {name}: it is not UTF-8"))),
        (Some(which), None) => match fix(path, text, which, arguments, &options) {
            Ok(fixed) => fixed,
            Err(error) => return Ok(Err(format!("cannot write {name}: {error}"))),
        },
    };
    let source = Source::new(&name, &text);
    let limit = arguments.error_limit.unwrap_or(match arguments.format {
        FindingsFormat::Text => MOST_ERRORS,
        FindingsFormat::Json | FindingsFormat::Sarif | FindingsFormat::Github => 0,
    });
    let mut findings =
        Findings { arguments, source: &source, out, limit, full: false, totals: Totals::default(), failed: None };
    let report = module::visit(&TABLE, &text, &options, &mut findings);
    let Findings { totals: own, failed, .. } = findings;
    failed.map_or(Ok(()), Err)?;
    totals.add(Totals { files: 1, edits, in_table: report.in_table, outside: report.outside, ..own });
    match arguments.format {
        FindingsFormat::Text if arguments.floor => floor::text(out, &source)?,
        FindingsFormat::Json if arguments.floor => floor::json(out, &source)?,
        _ => {}
    }
    Ok(Ok(()))
}

/// Rewrites a file with the edits that are wanted, and gives its text and their number.
fn fix(
    path: &Path,
    text: Vec<u8>,
    which: Fixes,
    arguments: &CheckArguments,
    options: &Options,
) -> io::Result<(Vec<u8>, usize)> {
    let text = match String::from_utf8(text) {
        Ok(text) => text,
        // The check says where it is not.
        Err(error) => return Ok((error.into_bytes(), 0)),
    };
    let wanted = |finding: &Diagnostic, fix: &Fix| {
        !arguments.ignore.contains(&finding.code) && (fix.safe || which == Fixes::Unsafe)
    };
    let fixed = module::fix(&TABLE, &text, options, wanted);
    if fixed.edits > 0 {
        std::fs::write(path, &fixed.text)?;
    }
    Ok((fixed.text.into_bytes(), fixed.edits))
}

/// Writes the findings of a file up to the limit, and counts all of them.
struct Findings<'f, 'o, 'p, 'a> {
    arguments: &'f CheckArguments,
    source: &'f Source<'a>,
    out: &'f mut Part<'o, 'p>,
    /// Maximum number of errors, and of warnings, that are shown; 0 for no limit.
    limit: usize,
    /// True once an error exceeded the limit.
    full: bool,
    totals: Totals,
    failed: Option<io::Error>,
}

impl Findings<'_, '_, '_, '_> {
    fn write(&mut self, finding: &Diagnostic) -> io::Result<()> {
        let Findings { source, out, .. } = self;
        match self.arguments.format {
            FindingsFormat::Text => report::write(out, source.name, source.text, source.lines(), finding),
            FindingsFormat::Json => findings::json(out, source, finding),
            FindingsFormat::Github => findings::github(out, source, finding),
            FindingsFormat::Sarif => sarif::write(out, source, finding),
        }
    }
}

impl Visitor<'_> for Findings<'_, '_, '_, '_> {
    fn finding(&mut self, mut finding: Diagnostic) -> Proceed {
        // A finding that is only counted may have another code.
        let count = if self.arguments.ignore.is_empty() { Proceed::Count } else { Proceed::Explain };
        if self.arguments.ignore.contains(&finding.code) {
            return Proceed::Explain;
        }
        if self.arguments.strict {
            finding.severity = Severity::Error;
        }
        let error = finding.severity == Severity::Error;
        self.full |= error && self.limit > 0 && self.totals.errors == self.limit;
        *(if error { &mut self.totals.errors } else { &mut self.totals.warnings }) += 1;
        // Tools that ask for floors read nothing else.
        if self.arguments.floor && self.arguments.format == FindingsFormat::Json {
            return count;
        }
        if self.full {
            self.totals.left_out += 1;
            return count;
        }
        if !error && self.limit > 0 && self.totals.warnings > self.limit {
            self.totals.left_out += 1;
            return Proceed::Explain;
        }
        match self.write(&finding) {
            Ok(()) => Proceed::Explain,
            Err(error) => {
                self.failed = Some(error);
                Proceed::Stop
            }
        }
    }
}

/// Counts over all files.
#[derive(Default)]
struct Totals {
    /// Files that could be read.
    files: usize,
    /// Edits made.
    edits: usize,
    in_table: usize,
    outside: usize,
    errors: usize,
    warnings: usize,
    /// Findings that are not shown.
    left_out: usize,
    /// Why files could not be read, each with its number.
    failed: Vec<(usize, String)>,
}

impl Totals {
    fn add(&mut self, other: Totals) {
        self.files += other.files;
        self.edits += other.edits;
        self.in_table += other.in_table;
        self.outside += other.outside;
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.left_out += other.left_out;
        self.failed.extend(other.failed);
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Totals { in_table, outside, errors, warnings, .. } = self;
        let all = in_table + outside;
        let (all, errors, warnings) = (Count(all, "statement"), Count(*errors, "error"), Count(*warnings, "warning"));
        write!(f, "{all}: {in_table} in the table, {outside} outside it, {errors}, {warnings}")
    }
}
