//! The loops of a SIMD level are compiled as one piece: whatever they call was not inlined, does not have the level's
//! features, and takes its vectors through memory. Closures and `array::map` are such traps: 717 ns instead of 11.
//!
//! It reads its own machine code with `objdump`, and says so where there is none, or where nothing was optimized.
#![cfg(all(unix, target_arch = "x86_64", feature = "simd", not(miri)))]

use std::collections::BTreeSet;
use std::process::Command;

use ptx_isa::TABLE;

/// Parts of the names of functions that no loop calls.
const TRAPS: [&str; 6] =
    ["{{closure}}", "{closure#", "core::array", "core::ops::function", "core_arch", "ptx_isa::lanes"];

/// Calls that are meant: kernels that loops share.
fn is_meant(callee: &str) -> bool {
    ["avx2", "avx512"].iter().any(|level| callee.contains(&format!("ptx_isa::lanes::run::{level}::call")))
}

#[test]
fn loops_call_nothing_that_lacks_their_features() {
    assert!(TABLE.forms().any(|form| form.has_evaluator()), "the table is linked");
    if cfg!(debug_assertions) {
        return println!("skipped: nothing is optimized");
    }
    let own = std::env::current_exe().unwrap();
    let disassembled = Command::new("objdump").args(["-d", "-C", "--no-show-raw-insn"]).arg(own).output();
    let Ok(disassembled) = disassembled else { return println!("skipped: there is no `objdump`") };
    let text = String::from_utf8_lossy(&disassembled.stdout);
    let (mut within, mut loops, mut found) = ("", 0, BTreeSet::new());
    for line in text.lines() {
        let name = line.split_once('<').and_then(|(_, name)| name.rsplit_once('>')).map_or("", |(name, _)| name);
        if line.ends_with(">:") {
            within = if ["avx2::", "avx512::"].iter().any(|level| name.contains(&format!("lanes::run::{level}"))) {
                loops += 1;
                name
            } else {
                ""
            };
        } else if !within.is_empty() && (line.contains("call ") || line.contains("jmp ")) {
            // Jumps within a function have an offset behind its name.
            let elsewhere = name != within && !name.starts_with(&format!("{within}+"));
            if elsewhere && TRAPS.iter().any(|trap| name.contains(trap)) && !is_meant(name) {
                found.insert(format!("{within} calls {name}"));
            }
        }
    }
    assert!(loops > 100, "the loops are in the test: {loops} functions");
    assert!(found.is_empty(), "not inlined, so without the level's features:\n{}", Vec::from_iter(found).join("\n"));
}
