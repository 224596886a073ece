//! Which registers are live where: register pressure, and writes that nothing reads.
//!
//! ```sh
//! cargo run --example liveness -- FILE.ptx…
//! ```

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;

use ptx_isa::TABLE;
use ptx_isa::text::resolved::{Function, Module};

/// For each instruction of a function the registers whose values are read later: the least fixed point of
/// `live before = reads + (live behind - writes)`.
pub(crate) fn live_behind(function: &Function) -> Vec<BTreeSet<usize>> {
    let count = function.instructions.len();
    let effects: Vec<_> = function.instructions.iter().map(|instruction| instruction.effects()).collect();
    let mut predecessors = vec![Vec::new(); count];
    for instruction in 0..count {
        function.successors(instruction).iter().for_each(|next| predecessors[*next].push(instruction));
    }
    let mut behind = vec![BTreeSet::new(); count];
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    let mut work: Vec<usize> = (0..count).collect();
    while let Some(instruction) = work.pop() {
        let mut live: BTreeSet<usize> = behind[instruction].clone();
        // Under a guard a register may keep what it holds.
        if function.instructions[instruction].guard.is_none() {
            live.retain(|register| !effects[instruction].writes.contains(register));
        }
        live.extend(&effects[instruction].reads);
        if live == before[instruction] {
            continue;
        }
        for predecessor in &predecessors[instruction] {
            behind[*predecessor].extend(&live);
            work.push(*predecessor);
        }
        before[instruction] = live;
    }
    behind
}

/// The greatest number of live registers of each function of a module, and the writes that nothing reads.
pub(crate) fn report(text: &str) -> Result<String, Box<dyn Error>> {
    let module = Module::read(&TABLE, text).map_err(|errors| errors[0].to_string())?;
    let mut out = String::new();
    for function in module.functions.iter().filter(|function| function.body) {
        let behind = live_behind(function);
        let most = behind.iter().map(BTreeSet::len).max().unwrap_or_default();
        writeln!(out, "{}: {} registers, {most} live at most", function.name, function.registers.len())?;
        for (instruction, live) in function.instructions.iter().zip(&behind) {
            let line = module.line(instruction.at.start);
            let written = instruction.effects().writes;
            for register in written.iter().filter(|register| !live.contains(register)) {
                writeln!(out, "  line {line}: nothing reads {}", function.registers[*register].name)?;
            }
        }
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn Error>> {
    for file in std::env::args().skip(1) {
        print!("{}", report(&std::fs::read_to_string(file)?)?);
    }
    Ok(())
}
