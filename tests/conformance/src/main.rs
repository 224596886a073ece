//! Holds the table against NVIDIA's assembler: our verdict and its, on every kind of line.
//!
//! ```sh
//! tests/conformance/install            # fetches the assembler from the package registry
//! cargo run --release -p conformance   # prints agreed/total for each kind, and every difference
//! cargo run --release -p conformance -- --record   # what compiled code computes, for tests/machine.rs to replay
//! cargo run --release -p conformance -- --card     # what a card computes, the same way
//! cargo run --release -p conformance -- --launches FILES --out tests/machine/launches.txt   # what launches of tests leave there
//! ```
//!
//! It prints the agreement. It exits with 0 if every difference is listed in `known.txt` and every line tried from that
//! file still differs, and with 1 otherwise. Without an assembler it prints a message and exits with 0, or fails with
//! `--required`.

mod assembler;
mod context;
mod forms;
mod kinds;
mod known;
mod machine;
mod random;
mod report;
mod shrink;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use rayon::prelude::*;

use assembler::{Assembler, Verdict};
use kinds::{Batch, Extent, frame, modules};
use known::Known;
use random::hash;
use report::{Difference, Tally};

/// Hold the table against NVIDIA's assembler.
#[derive(Parser)]
struct Arguments {
    /// Assembler to use, in place of the ones in target/assembler
    #[arg(long, value_name = "PTXAS")]
    assembler: Option<PathBuf>,
    /// Ask every assembler that is installed, not the newest only
    #[arg(long)]
    all: bool,
    /// Try a part of everything
    #[arg(long)]
    quick: bool,
    /// The seed of random lines; a new one each run unless given
    #[arg(long)]
    seed: Option<u64>,
    /// Number of random lines
    #[arg(long)]
    random: Option<usize>,
    /// Number of modules to mutate
    #[arg(long)]
    modules: Option<usize>,
    /// Try the known differences and one in N lines, for floors one in N pairs of version and target
    #[arg(long, value_name = "N", default_value_t = 1)]
    one_in: u64,
    /// Only these kinds
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Maximum number of differences to print for each group with the same reasons, or for each form
    #[arg(long, default_value_t = 3)]
    show: usize,
    /// In place of verdicts: compile every form, and write what its code computes to tests/machine/compiled.txt; with --seed
    /// or --one-in other vectors or a part of the forms, and nothing is written
    #[arg(long)]
    record: bool,
    /// With --record: only forms whose names begin with this, and nothing is written
    #[arg(long, value_name = "NAME", requires = "record")]
    form: Option<String>,
    /// In place of verdicts: write the machine code of every form to tests/machine/code.txt
    #[arg(long)]
    code: bool,
    /// In place of verdicts: run every form on a card, and write what it computes to tests/machine/card.txt
    #[arg(long)]
    card: bool,
    /// In place of verdicts: repeat the launches of files on a card; tests write them where PTX_ISA_LAUNCHES says
    #[arg(long, value_name = "FILE", num_args = 1..)]
    launches: Vec<PathBuf>,
    /// With --launches: repeat the first file from this launch on, until a launch fails
    #[arg(long, value_name = "NUMBER", requires = "launches")]
    from: Option<usize>,
    /// With --launches: write what the card leaves in memory to this file, such as tests/machine/launches.txt
    #[arg(long, value_name = "FILE", requires = "launches")]
    out: Option<PathBuf>,
    /// Fail if no assembler is installed
    #[arg(long)]
    required: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let paths = match &arguments.assembler {
        Some(path) => vec![path.clone()],
        None => assembler::installed(&root.join("target/assembler")),
    };
    if paths.is_empty() {
        eprintln!("skipped: there is no assembler in target/assembler; tests/conformance/install fetches it from PyPI");
        return if arguments.required { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    let known = match Known::read(&root.join("tests/conformance/known.txt")) {
        Ok(known) => known,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let extent = Extent {
        quick: arguments.quick,
        seed: arguments.seed.unwrap_or(now),
        random: arguments.random.unwrap_or(if arguments.quick { 10_000 } else { 60_000 }),
        modules: arguments.modules.unwrap_or(if arguments.quick { 1_000 } else { 20_000 }),
        known: &known,
    };
    println!("seed {}", extent.seed);
    let mut fine = true;
    for path in if arguments.all { &paths[..] } else { &paths[..1] } {
        let assembler = match Assembler::open(path) {
            Ok(assembler) => assembler,
            Err(problem) => {
                eprintln!("{problem}");
                return ExitCode::from(2);
            }
        };
        if arguments.card || !arguments.launches.is_empty() {
            let show = arguments.show;
            let done = match (&arguments.launches[..], arguments.from) {
                ([], _) => {
                    let file = root.join("tests/machine/card.txt");
                    machine::card::record(&assembler, &file, (&today(), show))
                }
                ([file, ..], Some(from)) => machine::launches::repeat(&assembler, file, from, show),
                (files, None) => {
                    let out = (arguments.out.as_deref(), &*today());
                    machine::launches::repeat_all(&assembler, files, show, out)
                }
            };
            return done.map(|fine| ExitCode::from(u8::from(!fine))).unwrap_or_else(|problem| {
                eprintln!("the card gave up: {problem}");
                ExitCode::from(2)
            });
        }
        if arguments.code {
            let file = root.join("tests/machine/code.txt");
            machine::listing::record(&assembler, &path.with_file_name("nvdisasm"), &file, &today());
            return ExitCode::SUCCESS;
        }
        if arguments.record {
            let disassembler = path.with_file_name("nvdisasm");
            let file = root.join("tests/machine/compiled.txt");
            let form = arguments.form.as_deref();
            let choice = machine::Choice { form, seed: arguments.seed, one_in: arguments.one_in };
            let show = (&*today(), arguments.show);
            return ExitCode::from(u8::from(!machine::record(&assembler, &disassembler, &file, &choice, show)));
        }
        let tallies = hold(&assembler, &extent, &arguments, &root);
        report::table(&assembler.version, &tallies);
        fine &= report::known(&known.judge(&tallies));
    }
    ExitCode::from(u8::from(!fine))
}

/// Today, as `2026-11-20`.
fn today() -> String {
    let said = Command::new("date").args(["-u", "+%F"]).output().expect("the date can be asked for");
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

fn hold(assembler: &Assembler, extent: &Extent, arguments: &Arguments, root: &Path) -> Vec<Tally> {
    let known = extent.known;
    let wanted = |kind: &str| arguments.kind.is_empty() || arguments.kind.iter().any(|other| other == kind);
    let mut tallies = Vec::new();
    let mut done = |tally: Tally, start: Instant| {
        println!("{}: {} of {} agree, {:.1} s", tally.kind, tally.agreed, tally.total, start.elapsed().as_secs_f64());
        report::differences(&tally, known, arguments.show);
        tallies.push(tally);
    };
    for &(kind, whole, batches) in kinds::LINES {
        if !wanted(kind) {
            continue;
        }
        let start = Instant::now();
        let mut tally = Tally::new(kind);
        let mut shrunk = 0;
        batches(extent, &mut |mut batch| {
            let turn = |text: &str| hash(text, extent.seed).is_multiple_of(arguments.one_in.max(1));
            let place = batch.context.place();
            let all = whole && turn(&place);
            batch.lines.retain(|line| all || !whole && turn(line) || known.lists(kind, &place, line));
            if !batch.lines.is_empty() {
                lines(assembler, &batch, known, &mut tally, &mut shrunk);
            }
        });
        done(tally, start);
    }
    if wanted("targets") || wanted("frame") {
        let start = Instant::now();
        frame::hold(assembler, extent).into_iter().for_each(|tally| done(tally, start));
    }
    if wanted("modules") {
        let start = Instant::now();
        let folders = [&*root.join("tests/modules"), &root.join("tests/conformance/modules")];
        modules::hold(assembler, &folders, extent).into_iter().for_each(|tally| done(tally, start));
    }
    tallies
}

/// Judges a batch of lines and compares.
fn lines(assembler: &Assembler, batch: &Batch, known: &Known, tally: &mut Tally, shrunk: &mut usize) {
    let Batch { context, lines } = batch;
    if !assembler.knows(context) {
        return;
    }
    let judged = lines.par_iter().map(|line| (line.as_str(), context.judge(line)));
    let (texts, ours): (Vec<&str>, Vec<(Verdict, bool)>) = judged.unzip();
    let fragile: Vec<bool> = ours.iter().map(|(_, fragile)| *fragile).collect();
    let theirs = assembler.judge(context, &texts, &fragile);
    let said = |verdict: &Verdict| match verdict {
        Verdict::Taken => report::TAKEN.to_owned(),
        Verdict::Refused(reason) => reason.clone(),
    };
    let place = context.place();
    let pairs: Vec<_> = texts.into_iter().zip(ours.iter().map(|(ours, _)| ours)).zip(theirs).collect();
    let compare = |((line, ours), theirs): ((&str, &Verdict), Verdict)| {
        // A line on which they differ is asked again, by itself.
        let theirs = if ours.taken() == theirs.taken() { theirs } else { assembler.judge_one(context, line) };
        let (place, line) = (place.clone(), line.to_owned());
        let differs = (ours.taken() != theirs.taken()).then(|| Difference {
            place,
            line: line.clone(),
            smaller: None,
            ours: said(ours),
            theirs: said(&theirs),
        });
        (line, theirs.taken(), differs)
    };
    let found: Vec<(String, bool, Option<Difference>)> = pairs.into_par_iter().map(compare).collect();
    let before = tally.differences.len();
    for (line, taken, difference) in found {
        tally.add(&place, &line, taken, difference);
    }
    // Of the first ones the smallest line is shown, too.
    let kind = tally.kind;
    let unknown = tally.differences[before..].iter_mut().filter(|difference| !known.has(kind, difference));
    for difference in unknown {
        if *shrunk < 5 {
            *shrunk += 1;
            difference.smaller = Some(shrink::shrink(assembler, context, &difference.line));
        }
    }
}
