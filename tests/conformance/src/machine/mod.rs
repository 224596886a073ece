//! What the machine computes, from the code that NVIDIA's compiler makes: constants through the optimiser, and what it
//! leaves of a computation executed by a small interpreter.
//!
//! The optimiser folds comparisons of integers, `.f32` and `.f64` itself; what it leaves of halves and video
//! instructions is run. A form is covered if all of its code is known to the interpreter.

pub(crate) mod card;
mod driver;
mod half;
mod interpreter;
mod kernel;
mod registers;
#[path = "../../../machine/replay.rs"]
mod replay;
mod sass;
#[path = "../../../machine/vectors.rs"]
mod vectors;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, Operand, TypeId};
use rayon::prelude::*;

use crate::assembler::{Assembler, Temporary};

/// How many vectors of each form are computed.
const VECTORS: usize = 64;

/// How many forms stand in one module.
const FORMS: usize = 24;

/// The architecture that code is made for.
const ARCHITECTURE: &str = "sm_90";

/// An SM number to compile for, for each evaluator of a form: the highest known one below its bound.
fn targets(form: FormInfo) -> Vec<u16> {
    let known =
        || TABLE.targets.iter().map(|info| info.target.sm).filter(|sm| *sm >= form.floor().target().sm && *sm <= 90);
    form.evaluations().iter().filter_map(|evaluation| known().filter(|sm| *sm < evaluation.below).max()).collect()
}

/// What came of a form.
type Outcome = Result<String, String>;

/// Compiles forms for a target and runs their code.
fn compute(assembler: &Assembler, disassembler: &Path, sm: u16, forms: &[FormInfo]) -> Vec<Outcome> {
    let vectors: Vec<_> = forms.iter().map(|form| vectors::of(*form, VECTORS)).collect();
    let mut module = format!(".version 8.6\n.target sm_{sm}\n.address_size 64\n");
    for (number, (form, vectors)) in forms.iter().zip(&vectors).enumerate() {
        module.push_str(&kernel::constants(&format!("k{number}"), *form, vectors));
    }
    let code = Temporary::new("cubin");
    let path = code.path.to_string_lossy();
    let run = assembler.run_with(&module, ARCHITECTURE, &["-O3", "-o", &path]);
    if !run.passed {
        // One form that does not compile shall not hide the others.
        if forms.len() > 1 {
            let (left, right) = forms.split_at(forms.len() / 2);
            let mut both = compute(assembler, disassembler, sm, left);
            both.extend(compute(assembler, disassembler, sm, right));
            return both;
        }
        return vec![Err(run.output.lines().next().unwrap_or_default().to_owned())];
    }
    let listing = Command::new(disassembler)
        .args(["-c", "-hex"])
        .arg(&code.path)
        .output()
        .expect("the disassembler can be started");
    let kernels = sass::kernels(&String::from_utf8_lossy(&listing.stdout));
    let forms = forms.iter().zip(&vectors).enumerate();
    forms
        .map(|(number, (form, vectors))| {
            let code = kernels.get(&format!("k{number}")).ok_or("there is no code")?;
            let memory = interpreter::run(code)?;
            let mut words = String::new();
            for (number, inputs) in vectors.iter().enumerate() {
                let at = number as u64 * kernel::STRIDE;
                let word = |at: u64| memory.get(&at).copied().map_or(0, u128::from);
                let output = |at: u64| word(at) | word(at + 4) << 32;
                if !memory.contains_key(&at) {
                    return Err("a result is missing".to_owned());
                }
                words.push_str(&replay::word(*form, inputs, &[output(at), output(at + 8)]));
            }
            Ok(words)
        })
        .collect()
}

/// Computes all forms and writes the results; tells what is not covered, and whether all agree with the evaluators.
pub(crate) fn record(assembler: &Assembler, disassembler: &Path, path: &Path, date: &str) -> bool {
    let mut wanted: BTreeMap<u16, Vec<FormInfo>> = BTreeMap::new();
    for form in TABLE.forms().filter(|form| constants_reach(*form)) {
        for sm in targets(form) {
            wanted.entry(sm).or_default().push(form);
        }
    }
    let work: Vec<(u16, &[FormInfo])> =
        wanted.iter().flat_map(|(sm, forms)| forms.chunks(FORMS).map(|forms| (*sm, forms))).collect();
    let done: Vec<(u16, FormInfo, Outcome)> = work
        .into_par_iter()
        .flat_map_iter(|(sm, forms)| {
            let outcomes = compute(assembler, disassembler, sm, forms);
            forms.iter().zip(outcomes).map(move |(form, outcome)| (sm, *form, outcome)).collect::<Vec<_>>()
        })
        .collect();
    let mut text = format!(
        "# What compiled code computes: mnemonic, SM number of the target, a word for each vector of `vectors.rs`.\n\
         # Compiled by ptxas {} -O3 for {ARCHITECTURE}, {date}.\n",
        assembler.version
    );
    let (mut vectors, mut differences) = (0, 0);
    let mut missing: BTreeMap<String, Vec<(&str, String)>> = BTreeMap::new();
    let mut covered: BTreeMap<&str, usize> = BTreeMap::new();
    for (sm, form, outcome) in done {
        match outcome {
            Ok(words) => {
                for (inputs, word) in vectors::of(form, VECTORS).iter().zip(replay::words(&words)) {
                    let here = replay::word(form, inputs, &form.evaluate(sm, inputs));
                    vectors += 1;
                    if here != word {
                        differences += 1;
                        if differences <= 20 {
                            println!("  {} on sm_{sm}, {inputs:x?}: {here} here, {word} there", form.mnemonic());
                        }
                    }
                }
                *covered.entry(form.instruction().data().opcode).or_default() += 1;
                let _ = writeln!(text, "{} {sm} {words}", form.mnemonic());
            }
            Err(problem) => {
                let kind = problem.split(['`', ' ', '.']).find(|word| !word.is_empty()).unwrap_or_default().to_owned();
                missing.entry(kind).or_default().push((form.mnemonic(), problem));
            }
        }
    }
    println!("{vectors} vectors of {} forms, {differences} differ", covered.values().sum::<usize>());
    covered.iter().for_each(|(opcode, forms)| println!("  {opcode}: {forms} forms and targets"));
    for (kind, forms) in &missing {
        println!("  not covered ({kind}): {} forms, {} the first: {}", forms.len(), forms[0].0, forms[0].1);
    }
    fs::write(path, text).expect("the file can be written");
    differences == 0
}

/// Whether a form is run on constants: its operands are registers that `mov` gives a value.
fn constants_reach(form: FormInfo) -> bool {
    let moved = |operand: &Operand| {
        let plain = |ty: TypeId| matches!(TABLE.ty(ty).name, "pred" | "b16" | "b32" | "b64");
        operand.registers.iter().any(plain)
    };
    form.has_evaluator() && form.states().is_empty() && form.operands().iter().all(moved)
}
