//! The machine code of each form, as opcodes: what NVIDIA's assembler makes of it where its operands are loaded from
//! memory and its results are stored.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use indicatif::ParallelProgressIterator;
use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, Kind, Operand};
use rayon::prelude::*;

use super::sass::Instruction;
use super::{FORMS, Tools, Way, constants_reach, kernel, progress, vectors};
use crate::assembler::Assembler;

/// Opcodes that load operands, store results, and end a kernel.
const FRAME: [&str; 12] = ["LDG", "STG", "LDC", "LDCU", "ULDC", "S2R", "S2UR", "EXIT", "BRA", "NOP", "UMOV", "R2UR"];

/// The most opcodes of a form that are listed.
const MOST: usize = 16;

/// Writes a file with the machine code of each form, in the table's order: its name, the architecture, and the opcodes, in the
/// order of the code.
pub(crate) fn record(assembler: &Assembler, disassembler: &Path, path: &Path, date: &str) {
    let tools = Tools { assembler, disassembler };
    let way = |form: FormInfo| {
        let whole = |way: &Way| way.target == way.architecture && way.sources == form.sources().count();
        Way::all(form, vectors::RECORDED).into_iter().rfind(whole)
    };
    let mut ways: Vec<Way> = TABLE.forms().filter(|form| operands_move(*form)).filter_map(way).collect();
    ways.sort_by_key(|way| (way.architecture, way.form.index()));
    let work: Vec<&[Way]> =
        ways.chunk_by(|a, b| a.architecture == b.architecture).flat_map(|ways| ways.chunks(FORMS)).collect();
    let bar = progress(work.len());
    let mut lines: Vec<(usize, String)> =
        work.into_par_iter().progress_with(bar).flat_map_iter(|ways| compile(&tools, ways)).collect();
    lines.sort();
    let mut text = format!(
        "# Machine code of forms: name, architecture, opcodes in the order of the code, without those that load operands\n\
         # and store results.\n# ptxas {} -O3, {date}.\n",
        assembler.version
    );
    for (_, line) in &lines {
        let _ = writeln!(text, "{line}");
    }
    println!("the machine code of {} forms", lines.len());
    fs::write(path, text).expect("the file can be written");
}

/// Returns true if the operands of a form can be loaded from memory.
fn operands_move(form: FormInfo) -> bool {
    constants_reach(form) || form.bound().is_some() && form.has_evaluator()
}

fn compile(tools: &Tools<'_>, ways: &[Way]) -> Vec<(usize, String)> {
    let kernels = ways.iter().enumerate();
    let kernels: String = kernels
        .map(|(number, way)| kernel::loaded(&format!("k{number}"), way.form, way.sources, &way.vectors()[0]))
        .collect();
    let code = match tools.code(ways[0], &kernels) {
        Ok(code) => code,
        // One form that does not compile shall not hide the others.
        Err(_) if ways.len() > 1 => {
            let (left, right) = ways.split_at(ways.len() / 2);
            return [compile(tools, left), compile(tools, right)].concat();
        }
        Err(_) => return Vec::new(),
    };
    let line = |(number, way): (usize, &Way)| {
        let opcodes = opcodes(way.form, code.get(&format!("k{number}"))?);
        (!opcodes.is_empty())
            .then(|| (way.form.index(), format!("{} {} {}", way.form.name(), way.architecture, listed(&opcodes))))
    };
    ways.iter().enumerate().filter_map(line).collect()
}

/// The opcodes behind the last load, without those that make predicates of loaded words and words of predicates.
fn opcodes(form: FormInfo, code: &[Instruction]) -> Vec<String> {
    let is = |instruction: &Instruction, opcode: &str| instruction.parts.first().is_some_and(|own| own == opcode);
    let first = code.iter().rposition(|one| is(one, "LDG")).map_or(0, |last| last + 1);
    let mut opcodes: Vec<String> = code[first..]
        .iter()
        .filter(|one| !FRAME.iter().any(|opcode| is(one, opcode)))
        .map(|one| one.parts.join("."))
        .collect();
    let is_predicate = |operand: &&Operand| TABLE.ty(operand.ty).kind == Kind::Predicate;
    for _ in form.sources().filter(is_predicate) {
        opcodes.iter().position(|opcode| opcode.starts_with("ISETP.NE")).map(|place| opcodes.remove(place));
    }
    for _ in form.results().filter(|(_, ty)| TABLE.ty(*ty).kind == Kind::Predicate) {
        opcodes.iter().rposition(|opcode| opcode == "SEL").map(|place| opcodes.remove(place));
    }
    opcodes
}

/// `IMAD IADD3×2 SHF.R.U32.HI`
fn listed(opcodes: &[String]) -> String {
    let runs: Vec<&[String]> = opcodes.chunk_by(|a, b| a == b).collect();
    let run = |run: &&[String]| if run.len() > 1 { format!("{}×{}", run[0], run.len()) } else { run[0].clone() };
    let mut text = runs.iter().take(MOST).map(run).collect::<Vec<_>>().join(" ");
    if runs.len() > MOST {
        let _ = write!(text, " …{}", opcodes.len());
    }
    text
}
