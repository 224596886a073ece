//! Results of machine code compiled by NVIDIA's assembler: forms are compiled with constant operands, and a small
//! interpreter executes the code that remains after optimization.
//!
//! The optimizer folds most operations whose operands are known; the rest is executed. A form is covered if the
//! interpreter supports all of its code. Because the optimizer has bugs, a folded constant is evidence but no proof: if
//! it differs from the evaluator's result, the form is compiled again with operands loaded from memory, and that code
//! decides. If the interpreter does not support that code, the vector is left undecided, as is any result that differs
//! from the evaluator's while an erratum of the table is about compiled code: some instructions are emulated on current
//! machines.

pub(crate) mod card;
mod driver;
mod float;
mod half;
mod integer;
mod interpreter;
mod kernel;
pub(crate) mod launches;
pub(crate) mod listing;
#[path = "../../../kernels/recorded.rs"]
mod recorded;
mod registers;
#[path = "../../../machine/replay.rs"]
mod replay;
mod sass;
#[path = "../../../machine/vectors.rs"]
mod vectors;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use indicatif::{ParallelProgressIterator, ProgressBar, ProgressStyle};
use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, Operand, TypeId};
use ptx_isa::target::{Floor, Target};
use rayon::prelude::*;

use crate::assembler::{Assembler, Temporary};
use crate::random::hash;
use interpreter::Memory;
use registers::Origin;
use sass::Instruction;

/// Number of vectors computed for each form.
const VECTORS: usize = 64;

/// Number of forms in one module.
const FORMS: usize = 24;

/// Maximum length of a form's results in the file, which limits the number of vectors recorded.
const LINE: usize = 140;

/// Architectures to compile for: each form uses the first that supports it.
const ARCHITECTURES: [Target; 3] =
    [Target::sm(90), Target { sm: 100, suffix: Some('a') }, Target { sm: 120, suffix: Some('a') }];

/// A form as it is compiled.
#[derive(Clone, Copy)]
struct Way {
    form: FormInfo,
    /// Target of the module.
    target: Target,
    /// Architecture to compile for.
    architecture: Target,
    /// Number of sources that are written.
    sources: usize,
    /// The seed of its vectors.
    seed: u64,
}

impl Way {
    /// Returns a `Way` for each evaluator of a form, with the highest target below the evaluator's bound.
    fn all(form: FormInfo, seed: u64) -> Vec<Way> {
        let takes = |floor: &Floor, target| floor.takes(target, TABLE.families());
        let optional = form.operands().iter().filter_map(|operand| Some((operand.optional, operand.floor?)));
        let optional: Vec<&Floor> = optional.filter(|(optional, _)| *optional).map(|(_, floor)| floor).collect();
        let all = form.sources().count();
        let way = |below: u16, sources: usize| {
            let knows = |target: Target| {
                takes(form.floor(), target) && (sources < all || optional.iter().all(|floor| takes(floor, target)))
            };
            let architecture = ARCHITECTURES.into_iter().find(|target| knows(*target))?;
            let below = |target: &Target| target.sm < below && target.sm <= architecture.sm;
            let plain = TABLE.targets.iter().map(|info| info.target).filter(|target| target.suffix.is_none());
            let target = [architecture].into_iter().find(below);
            let target = target.or_else(|| plain.filter(|target| below(target) && knows(*target)).max())?;
            // Selectors of a destination can be written only together with all operands.
            (sources == all || form.selectors().next().is_none()).then_some(Way {
                form,
                target,
                architecture,
                sources,
                seed,
            })
        };
        let evaluations = form.evaluations().iter();
        evaluations.filter_map(|evaluation| way(evaluation.below, evaluation.sources.into())).collect()
    }

    /// As a line of the file begins.
    fn name(self) -> String {
        let left_out = self.sources < self.form.sources().count();
        let sources = if left_out { format!("/{}", self.sources) } else { String::new() };
        format!("{} {}{sources}", self.form.name(), self.target.sm)
    }

    fn vectors(self) -> Vec<Vec<u128>> {
        let all = self.form.sources().count();
        let mut vectors = vectors::of(self.form, self.seed, VECTORS);
        vectors.iter_mut().for_each(|inputs| drop(inputs.drain(self.sources..all)));
        vectors
    }

    /// Returns the result of the evaluator as a word.
    fn here(self, inputs: &[u128]) -> String {
        replay::word(self.form, inputs, &self.form.evaluate(self.target.sm, inputs))
    }
}

/// Outcome for a form: for each vector a word, and how it was obtained.
type Outcome = Result<Vec<(String, How)>, String>;

/// How a result was obtained; the value is the letter that represents it in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Folded = b'f' as isize,
    Interpreted = b'i' as isize,
}

/// The tools that make code, and show it.
struct Tools<'a> {
    assembler: &'a Assembler,
    disassembler: &'a Path,
}

impl Tools<'_> {
    /// The machine code of kernels for a target, or what the assembler says.
    fn code(&self, way: Way, kernels: &str) -> Result<HashMap<String, Vec<Instruction>>, String> {
        let newest = TABLE.versions.last().expect("the table has versions");
        let module = format!(".version {newest}\n.target {}\n.address_size 64\n{kernels}", way.target);
        let code = Temporary::new("cubin");
        let path = code.path.to_string_lossy();
        let run = self.assembler.run_with(&module, &way.architecture.to_string(), &["-O3", "-o", &path]);
        if !run.passed {
            return Err(run.output.lines().next().unwrap_or_default().to_owned());
        }
        let listing = Command::new(self.disassembler).args(["-c", "-hex"]).arg(&code.path).output();
        Ok(sass::kernels(&String::from_utf8_lossy(&listing.expect("the disassembler can be started").stdout)))
    }

    /// Compiles forms for a target and runs their code.
    fn compute(&self, ways: &[Way]) -> Vec<Outcome> {
        let kernels = ways.iter().enumerate();
        let kernels: String = kernels
            .map(|(number, way)| kernel::constants(&format!("k{number}"), way.form, way.sources, &way.vectors()))
            .collect();
        let code = match self.code(ways[0], &kernels) {
            Ok(code) => code,
            // One form that does not compile shall not hide the others.
            Err(_) if ways.len() > 1 => {
                let (left, right) = ways.split_at(ways.len() / 2);
                return [self.compute(left), self.compute(right)].concat();
            }
            Err(problem) => return vec![Err(problem)],
        };
        let outcome = |(number, way): (usize, &Way)| {
            let code = code.get(&format!("k{number}")).ok_or("there is no code")?;
            let memory = interpreter::run(code, Memory::new())?;
            let vectors = way.vectors();
            let found = vectors.iter().enumerate();
            let found: Vec<_> = found
                .map(|(number, inputs)| results(*way, inputs, &memory, number as u64))
                .collect::<Result<_, _>>()?;
            // Judge every result that differs from the evaluator's once more.
            let differs = |there: &String, inputs: &Vec<u128>| *there != way.here(inputs);
            let asked = found.iter().zip(&vectors).filter(|((there, _), inputs)| differs(there, inputs));
            let asked: Vec<_> = asked.map(|(_, inputs)| inputs).collect();
            let mut judged = self.judge(*way, &asked).into_iter();
            let word = |((there, origin), inputs): (&(String, Origin), &Vec<u128>)| {
                if !differs(there, inputs) {
                    return (there.clone(), if *origin == Origin::Moved { How::Folded } else { How::Interpreted });
                }
                let judge = judged.next().flatten();
                let there = if *origin == Origin::Computed { judge.or(Some(there.clone())) } else { judge };
                let there = there.filter(|there| !differs(there, inputs) || !deviates(way.form));
                (there.unwrap_or_else(|| replay::OPEN.to_owned()), How::Interpreted)
            };
            Ok(found.iter().zip(&vectors).map(word).collect())
        };
        ways.iter().enumerate().map(outcome).collect()
    }

    /// Runs code compiled without knowledge of the operands on some vectors; `None` for each result that cannot be
    /// determined.
    fn judge(&self, way: Way, vectors: &[&Vec<u128>]) -> Vec<Option<String>> {
        // One kernel serves all vectors, unless selectors and immediates are part of the statement.
        let kernels = if kernel::is_written_out(way.form) { vectors } else { &vectors[..vectors.len().min(1)] };
        let kernels = kernels.iter().enumerate();
        let kernels: String = kernels
            .map(|(number, inputs)| kernel::loaded(&format!("k{number}"), way.form, way.sources, inputs))
            .collect();
        let code = if kernels.is_empty() { HashMap::new() } else { self.code(way, &kernels).unwrap_or_default() };
        let word = |(number, inputs): (usize, &&Vec<u128>)| {
            let number = if kernel::is_written_out(way.form) { number } else { 0 };
            let given = inputs[..way.sources].iter().enumerate();
            let memory = given.flat_map(|(number, word)| {
                let at = kernel::INPUTS + kernel::EACH * number as u64;
                [(at, (*word as u32, Origin::Computed)), (at + 4, ((*word >> 32) as u32, Origin::Computed))]
            });
            let memory = interpreter::run(code.get(&format!("k{number}"))?, memory.collect()).ok()?;
            let (word, origin) = results(way, inputs, &memory, 0).ok()?;
            (origin != Origin::Open).then_some(word)
        };
        vectors.iter().enumerate().map(word).collect()
    }
}

/// Returns true if compiled code for a form deviates from its semantics according to an erratum.
fn deviates(form: FormInfo) -> bool {
    form.entry().errata.iter().any(|erratum| erratum.compiled)
}

/// The results of a vector as a kernel stored them, and where they are from.
fn results(way: Way, inputs: &[u128], memory: &Memory, number: u64) -> Result<(String, Origin), String> {
    let (mut words, mut origin) = (Vec::new(), Origin::Moved);
    for (place, _) in way.form.results().enumerate() {
        let at = (number * way.form.results().count() as u64 + place as u64) * kernel::EACH;
        let (low, from) = memory.get(&at).ok_or("a result is missing")?;
        let (high, above) = memory.get(&(at + 4)).copied().unwrap_or((0, Origin::Moved));
        words.push(u128::from(*low) | u128::from(high) << 32);
        origin = origin.max(*from).max(above);
    }
    Ok((replay::word(way.form, inputs, &words), origin))
}

/// Selection of the forms and vectors to compute.
pub(crate) struct Choice<'a> {
    /// Only forms whose names begin with this.
    pub(crate) form: Option<&'a str>,
    /// Other vectors than those that are recorded.
    pub(crate) seed: Option<u64>,
    /// Compute only one in this many forms.
    pub(crate) one_in: u64,
}

impl Choice<'_> {
    fn has(&self, form: FormInfo) -> bool {
        let name = form.name();
        let turn = hash(&name, self.seed.unwrap_or_default()).is_multiple_of(self.one_in.max(1));
        turn && self.form.is_none_or(|begin| name.starts_with(begin))
    }

    fn is_all(&self) -> bool {
        self.form.is_none() && self.seed.is_none() && self.one_in <= 1
    }
}

/// Computes forms and prints those that are not covered. Writes the results if all forms are computed on the vectors
/// that are replayed. Returns true if all results agree with the evaluators.
pub(crate) fn record(
    assembler: &Assembler,
    disassembler: &Path,
    path: &Path,
    choice: &Choice<'_>,
    (date, show): (&str, usize),
) -> bool {
    let mut wanted: BTreeMap<(Target, Target), Vec<Way>> = BTreeMap::new();
    let seed = choice.seed.unwrap_or(vectors::RECORDED);
    let forms = TABLE.forms().filter(|form| constants_reach(*form) && choice.has(*form));
    for way in forms.flat_map(|form| Way::all(form, seed)) {
        wanted.entry((way.architecture, way.target)).or_default().push(way);
    }
    let tools = Tools { assembler, disassembler };
    let work: Vec<&[Way]> = wanted.values().flat_map(|ways| ways.chunks(FORMS)).collect();
    let bar = progress(work.len());
    let done: Vec<(Way, Outcome)> = work
        .into_par_iter()
        .progress_with(bar)
        .flat_map_iter(|ways| ways.iter().copied().zip(tools.compute(ways)).collect::<Vec<_>>())
        .collect();
    let mut text = format!(
        "# What compiled code computes: name, SM number of the target, words for each vector of `vectors.rs`,\n\
         # and how it is known: `f`, the assembler folded it, `i`, machine code was interpreted.\n\
         # Compiled by ptxas {} -O3 for {}, {date}.\n",
        assembler.version,
        ARCHITECTURES.map(|target| target.to_string()).join(", ")
    );
    let (mut vectors, mut open, mut differences) = (0, 0, 0);
    let mut missing: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut covered: BTreeMap<&str, usize> = BTreeMap::new();
    for (way, outcome) in done {
        let words = match outcome {
            Ok(words) => words,
            Err(problem) => {
                let kind = problem.split(['`', ' ', '.']).find(|word| !word.is_empty()).unwrap_or_default().to_owned();
                missing.entry(kind).or_default().push((way.name(), problem));
                continue;
            }
        };
        let judged = || {
            let words = words.iter().map(|(word, _)| word);
            way.vectors().into_iter().zip(words).filter(|(_, word)| *word != replay::OPEN)
        };
        vectors += judged().count();
        open += words.len() - judged().count();
        let differing = judged().map(|(inputs, there)| (way.here(&inputs), there, inputs));
        let differing: Vec<_> = differing.filter(|(here, there, _)| here != *there).collect();
        differences += differing.len();
        for (here, there, inputs) in differing.iter().take(show) {
            println!("  {}, {inputs:x?}: {here} here, {there} there", way.name());
        }
        if judged().count() == 0 {
            missing.entry("folded".to_owned()).or_default().push((way.name(), "nothing but witnesses".to_owned()));
            continue;
        }
        *covered.entry(way.form.instruction().data().opcode).or_default() += 1;
        let mut line = String::new();
        let mut ways = Vec::new();
        for (word, how) in &words {
            if line.len() + word.len() > LINE {
                break;
            }
            line += word;
            if word != replay::OPEN && !ways.contains(how) {
                ways.push(*how);
            }
        }
        ways.sort_by_key(|how| *how as u8);
        let ways: String = ways.into_iter().map(|how| char::from(how as u8)).collect();
        let _ = writeln!(text, "{} {line} {ways}", way.name());
    }
    println!(
        "{vectors} vectors of {} forms, {differences} differ, {open} are judged by nobody",
        covered.values().sum::<usize>()
    );
    covered.iter().for_each(|(opcode, forms)| println!("  {opcode}: {forms} forms and targets"));
    for (kind, forms) in &missing {
        println!("  not covered ({kind}): {} forms, {} the first: {}", forms.len(), forms[0].0, forms[0].1);
    }
    if choice.is_all() {
        fs::write(path, text).expect("the file can be written");
    }
    differences == 0
}

/// A bar on standard error, if that is a terminal, that counts modules.
fn progress(modules: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} modules, {eta} left").expect("a template");
    ProgressBar::new(modules as u64).with_style(style)
}

/// Returns true if a form can run on constants: its operands are immediates or registers that `mov` can set, and the
/// machine's result is exact.
fn constants_reach(form: FormInfo) -> bool {
    let moved = |operand: &Operand| {
        let plain = |ty: TypeId| matches!(TABLE.ty(ty).name, "pred" | "b16" | "b32" | "b64");
        operand.registers.is_empty() || operand.registers.iter().any(plain)
    };
    form.has_evaluator() && form.bound().is_none() && form.operands().iter().all(moved)
}
