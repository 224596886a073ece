//! NVIDIA's assembler as a judge of lines: which of many it takes.
//!
//! It reads a module of all lines at once and tells every mistake, but stops at the first that breaks the grammar. So
//! lines that are likely to do that are judged one by one, and a line is taken only if a module of nothing but taken
//! lines passes as a whole.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptx_isa::TABLE;
use ptx_isa::target::{Target, Version};
use rayon::prelude::*;

use crate::context::Context;

/// Maximum number of lines in one module.
const CHUNK: usize = 3000;

/// Number of lines in a module while it is unknown whether they break the grammar.
const WINDOW: usize = 1000;

/// Maximum number of one-line modules in one run of the assembler.
const ALONE: usize = 250;

/// Module inserted after each of them, to reset the assembler.
const FLUSH: &str = ".version 1.0\n.target sm_10\n.func flush() { ret; ret; }\n";

/// An installed assembler.
#[derive(Clone, Debug)]
pub(crate) struct Assembler {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
    /// The targets without a suffix that `-arch` may name, the newest last; for all others it names the newest.
    plain: Vec<Target>,
    /// True if it supports the newest version of the table.
    current: bool,
}

/// Verdict on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Taken,
    /// With the first reason given.
    Refused(String),
}

impl Verdict {
    pub(crate) fn taken(&self) -> bool {
        *self == Verdict::Taken
    }
}

/// One run: whether it passed, and its complaints by line.
pub(crate) struct Run {
    pub(crate) passed: bool,
    /// Line, whether reading stopped there, message.
    pub(crate) complaints: Vec<(usize, bool, String)>,
    /// Number of errors that concern the whole module and name no line.
    pub(crate) unplaced: usize,
    /// All that was said.
    pub(crate) output: String,
}

/// Returns the paths of the assemblers in `target/assembler`, where `install` puts them, newest first.
pub(crate) fn installed(folder: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<(Vec<u32>, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let place = entry.ok()?.path();
            let numbers = place.file_name()?.to_str()?.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
            let tool = place.join("ptxas");
            tool.exists().then_some((numbers, tool))
        })
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, tool)| tool).collect()
}

impl Assembler {
    pub(crate) fn open(path: &Path) -> Result<Assembler, String> {
        let said =
            Command::new(path).arg("--version").output().map_err(|error| format!("{}: {error}", path.display()))?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let version = said.rsplit("release ").next().and_then(|rest| rest.split_whitespace().last());
        let version =
            said.lines().find_map(|line| line.split(", V").nth(1)).or(version).unwrap_or("?").trim().to_owned();
        let plain = TABLE.targets.iter().map(|info| info.target).filter(|target| target.suffix.is_none()).collect();
        let mut assembler = Assembler { path: path.to_owned(), version, plain, current: false };
        let runs = |target: &Target| assembler.run(".version 1.0\n.target sm_10\n", *target).passed;
        assembler.plain = assembler.plain.iter().copied().filter(runs).collect();
        if assembler.plain.is_empty() {
            return Err(format!("{} takes no module at all", path.display()));
        }
        let latest = TABLE.versions.last().expect("the table has versions");
        assembler.current = assembler.run(&format!(".version {latest}\n.target sm_90\n"), Target::sm(90)).passed;
        Ok(assembler)
    }

    /// Returns true if the assembler refuses a module only because it does not support the version or the target.
    pub(crate) fn cannot_judge(&self, run: &Run) -> bool {
        // Before 13, comments too were to be ASCII.
        let old = ["Unsupported .", "non-ASCII"].iter().any(|reason| run.output.contains(reason));
        old && !self.current || run.output.contains("option 'gpu-name'")
    }

    /// Returns true if the assembler supports the version and target of a context.
    pub(crate) fn knows(&self, context: &Context) -> bool {
        self.run(&context.module([]), context.target).passed
    }

    /// Reads a module as PTX for a target and checks it; no code is generated.
    pub(crate) fn run(&self, module: &str, target: Target) -> Run {
        self.run_with(module, &self.architecture(target), &["-o", "/dev/null"])
    }

    /// The newest PTX version that it takes for a target.
    pub(crate) fn newest(&self, target: Target) -> Option<Version> {
        let takes = |version: &&Version| self.run(&format!(".version {version}\n.target {target}\n"), target).passed;
        TABLE.versions.iter().rev().find(takes).copied()
    }

    /// The machine code of a module for a target, or what is wrong.
    pub(crate) fn image(&self, module: &str, target: Target) -> Result<Vec<u8>, String> {
        let file = Temporary::new("cubin");
        let run = self.run_with(module, &target.to_string(), &["-o", &file.path.to_string_lossy()]);
        if !run.passed {
            return Err(run.output.lines().next().unwrap_or_default().to_owned());
        }
        fs::read(&file.path).map_err(|error| error.to_string())
    }

    fn architecture(&self, target: Target) -> String {
        match target.suffix {
            Some(suffix) => format!("compute_{}{suffix}", target.sm),
            None if self.plain.contains(&target) => format!("compute_{}", target.sm),
            None => format!("compute_{}", self.plain.last().expect("it takes some").sm),
        }
    }

    pub(crate) fn run_with(&self, module: &str, architecture: &str, arguments: &[&str]) -> Run {
        self.run_many(&[module], architecture, arguments).pop().expect("one module was given")
    }

    /// Checks several modules one after the other, with a separate result for each.
    fn run_many(&self, modules: &[&str], architecture: &str, arguments: &[&str]) -> Vec<Run> {
        let files: Vec<Temporary> = modules.iter().map(|_| Temporary::new("ptx")).collect();
        for (file, module) in files.iter().zip(modules) {
            fs::write(&file.path, module).expect("the temporary folder can be written");
        }
        let paths = files.iter().map(|file| &file.path);
        let output = Command::new(&self.path).args(["-arch", architecture]).args(paths).args(arguments).output();
        let output = output.expect("the assembler can be started");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let names: HashMap<String, usize> =
            files.iter().enumerate().map(|(index, file)| (file.path.to_string_lossy().into_owned(), index)).collect();
        let passed = output.status.success();
        let mut runs: Vec<Run> = modules
            .iter()
            .map(|_| Run { passed: true, complaints: Vec::new(), unplaced: 0, output: String::new() })
            .collect();
        let mut clear = passed || modules.len() > 1;
        for line in said.lines() {
            let told = line.strip_prefix("ptxas ").and_then(|rest| {
                let (name, rest) = rest.split_once(", line ")?;
                let (number, rest) = rest.split_once(';')?;
                let (kind, message) = rest.split_once(':')?;
                Some((*names.get(name)?, number.parse().ok()?, kind.trim(), message.trim()))
            });
            match told {
                Some((index, number, kind @ ("error" | "fatal"), message)) => {
                    runs[index].passed = false;
                    runs[index].complaints.push((number, kind == "fatal", message.to_owned()));
                    runs[index].output.push_str(message);
                }
                Some(_) => {}
                // A message that names no module may concern any of them.
                None if line.contains("aborted due to errors") => {}
                None if line.contains("fatal") || line.contains("error") => clear = false,
                None => {}
            }
        }
        if let [run] = &mut runs[..] {
            run.passed = passed;
            let unplaced = |line: &&str| line.starts_with("ptxas error") || line.starts_with("ptxas <macro util>");
            run.unplaced = said.lines().filter(unplaced).count();
            run.output = said.replace(&*files[0].path.to_string_lossy(), "FILE");
        } else if !clear || !passed && runs.iter().all(|run| run.passed) {
            // Halves, until it is clear which.
            let (left, right) = modules.split_at(modules.len() / 2);
            runs = self.run_many(left, architecture, arguments);
            runs.extend(self.run_many(right, architecture, arguments));
        }
        runs
    }

    /// The verdict on each line in a context. `fragile` tells which are likely to break the grammar.
    pub(crate) fn judge(&self, context: &Context, lines: &[&str], fragile: &[bool]) -> Vec<Verdict> {
        let mut verdicts = vec![None; lines.len()];
        let (alone, together): (Vec<usize>, Vec<usize>) = (0..lines.len()).partition(|&index| fragile[index]);
        let mut settled: Vec<(usize, Verdict)> =
            alone.par_chunks(ALONE).flat_map_iter(|chunk| self.judge_alone(context, lines, chunk)).collect();
        // Chunks small enough for all processors to have one.
        let chunk = CHUNK.min(together.len() / rayon::current_num_threads() + 1);
        settled.par_extend(together.par_chunks(chunk).flat_map_iter(|chunk| self.judge_chunk(context, lines, chunk)));
        for (index, verdict) in settled {
            verdicts[index] = Some(verdict);
        }
        verdicts.into_iter().map(|verdict| verdict.expect("every line was judged")).collect()
    }

    /// Each line in a module of its own.
    fn judge_alone(&self, context: &Context, lines: &[&str], chosen: &[usize]) -> Vec<(usize, Verdict)> {
        let modules: Vec<String> = chosen.iter().map(|&index| context.module([lines[index]])).collect();
        // A broken statement leaves state in the assembler that corrupts the verdict on the next one, even in another
        // module.
        let modules: Vec<&str> = modules.iter().flat_map(|module| [module, FLUSH]).collect();
        let mut runs = self.run_many(&modules, &self.architecture(context.target), &["-o", "/dev/null"]);
        let mut own = false;
        runs.retain(|_| {
            own = !own;
            own
        });
        let verdict = |run: Run| match run.passed {
            true => Verdict::Taken,
            false => Verdict::Refused(run.complaints.into_iter().next().map_or(run.output, |(_, _, message)| message)),
        };
        chosen.iter().copied().zip(runs.into_iter().map(verdict)).collect()
    }

    /// Judges the lines in windows; those after a line that breaks the grammar are judged alone.
    fn judge_chunk(&self, context: &Context, lines: &[&str], chunk: &[usize]) -> Vec<(usize, Verdict)> {
        let mut settled = Vec::new();
        let mut likely = Vec::new();
        for window in chunk.chunks(WINDOW) {
            let before = settled.len();
            let seen = match self.sieve(context, lines, window, &mut settled) {
                Sieve::Passed | Sieve::Refused => window.len(),
                Sieve::Stopped(at) => at + 1,
                Sieve::Unclear => 0,
            };
            let known: HashSet<usize> = settled[before..].iter().map(|(index, _)| *index).collect();
            likely.extend(window[..seen].iter().filter(|index| !known.contains(index)));
            for rest in window[seen..].chunks(ALONE) {
                settled.extend(self.judge_alone(context, lines, rest));
            }
        }
        while !likely.is_empty() {
            let before = settled.len();
            match self.sieve(context, lines, &likely, &mut settled) {
                Sieve::Passed => break,
                Sieve::Refused | Sieve::Stopped(_) => {
                    let known: HashSet<usize> = settled[before..].iter().map(|(index, _)| *index).collect();
                    likely.retain(|index| !known.contains(index));
                }
                Sieve::Unclear => {
                    settled.extend(self.judge_alone(context, lines, &likely));
                    likely.clear();
                }
            }
        }
        settled.extend(likely.into_iter().map(|index| (index, Verdict::Taken)));
        settled
    }

    /// Runs some lines as one module, and settles those that are refused.
    fn sieve(&self, context: &Context, lines: &[&str], chosen: &[usize], settled: &mut Vec<(usize, Verdict)>) -> Sieve {
        let run = self.run(&context.module(chosen.iter().map(|&index| lines[index])), context.target);
        if run.passed {
            return Sieve::Passed;
        }
        // Last line of each chosen line's block in the module; a brace precedes and follows it.
        let mut ends = Vec::with_capacity(chosen.len());
        let mut end = context.lines();
        for &index in chosen {
            end += 3 + lines[index].matches('\n').count();
            ends.push(end);
        }
        let mut stopped = None;
        let mut refused = vec![None; chosen.len()];
        for (line, fatal, message) in run.complaints {
            let place = ends.partition_point(|&end| end < line);
            if line <= context.lines() || place == chosen.len() {
                return Sieve::Unclear;
            }
            if fatal {
                stopped = Some(place);
            }
            refused[place].get_or_insert(message);
        }
        let before = settled.len();
        let refused = refused.into_iter().enumerate().filter_map(|(place, message)| Some((place, message?)));
        settled.extend(refused.map(|(place, message)| (chosen[place], Verdict::Refused(message))));
        match stopped {
            Some(at) => Sieve::Stopped(at),
            None if settled.len() > before => Sieve::Refused,
            None => Sieve::Unclear,
        }
    }

    /// The verdict on one line, from a process of its own.
    pub(crate) fn judge_one(&self, context: &Context, line: &str) -> Verdict {
        let run = self.run(&context.module([line]), context.target);
        match run.passed {
            true => Verdict::Taken,
            false => Verdict::Refused(run.complaints.into_iter().next().map_or(run.output, |(_, _, message)| message)),
        }
    }
}

enum Sieve {
    /// All are taken.
    Passed,
    /// Some are refused; the others are to be seen without them.
    Refused,
    /// Reading stopped at one of them; those behind it were not seen.
    Stopped(usize),
    /// The complaint is about none of them.
    Unclear,
}

/// Temporary file, removed on drop.
pub(crate) struct Temporary {
    pub(crate) path: PathBuf,
}

impl Temporary {
    pub(crate) fn new(extension: &str) -> Temporary {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Temporary { path: folder.join(format!("conformance-{}-{number}.{extension}", std::process::id())) }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It may never have been written.
        let _: io::Result<()> = fs::remove_file(&self.path);
    }
}
