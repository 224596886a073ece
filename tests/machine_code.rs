//! The loops of a SIMD level are compiled as one piece: what they call was not inlined, lacks the level's features, and
//! takes its vectors through memory. Closures and `array::map` are such traps: 717 ns a warp instead of 11.
//!
//! It reads its own machine code with `objdump`, and says so where there is none, or where nothing is optimized.
#![cfg(all(target_os = "linux", target_arch = "x86_64", feature = "simd", not(miri)))]

use std::collections::{BTreeSet, HashMap};
use std::process::Command;

use ptx_isa::TABLE;

/// Parts of the names of what no loop calls: closures, arrays mapped, intrinsics, and parts of a level.
const TRAPS: [&str; 6] =
    ["{{closure}}", "{closure#", "core::array", "core::ops::function", "core_arch", "ptx_isa::lanes"];

/// Functions of C for what every level has an instruction for.
const LIBRARY: [&str; 4] = ["fma", "fmaf", "sqrt", "sqrtf"];

/// Returns true for a kernel that loops share, which has the level's features.
fn is_kernel(callee: &str) -> bool {
    ["avx2", "avx512"].iter().any(|level| callee.starts_with(&format!("ptx_isa::lanes::run::{level}::call")))
}

fn objdump(arguments: &[&str]) -> Option<String> {
    let own = std::env::current_exe().unwrap();
    let output = Command::new("objdump").args(arguments).arg(own).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// Returns the contents of each slot of the global offset table: a symbol name, or an address in the program.
fn slots(relocations: &str) -> HashMap<u64, Result<String, u64>> {
    let slot = |line: &str| {
        let mut words = line.split_whitespace();
        let at = address(words.next()?)?;
        let value = words.nth(1)?;
        let to = match value.strip_prefix("*ABS*+") {
            Some(offset) => Err(address(offset)?),
            None => Ok(value.split('@').next()?.to_owned()),
        };
        Some((at, to))
    };
    relocations.lines().filter_map(slot).collect()
}

#[test]
fn loops_call_nothing_that_lacks_their_features() {
    assert!(TABLE.forms().any(|form| form.has_evaluator()), "the table is linked");
    if cfg!(debug_assertions) {
        return println!("skipped: nothing is optimized");
    }
    let (Some(text), Some(relocations)) = (objdump(&["-d", "-C", "--no-show-raw-insn"]), objdump(&["-R"])) else {
        return println!("skipped: there is no `objdump`");
    };
    let slots = slots(&relocations);
    let heads = text.lines().filter_map(|line| line.strip_suffix(">:")?.split_once(" <"));
    let names: HashMap<u64, &str> = heads.filter_map(|(at, name)| Some((address(at)?, name))).collect();
    let (mut within, mut loops, mut calls, mut found) = ("", 0, 0, BTreeSet::new());
    for line in text.lines() {
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            let is_loop = ["avx2::", "avx512::"].iter().any(|level| name.contains(&format!("lanes::run::{level}")));
            within = if is_loop { name } else { "" };
            loops += usize::from(is_loop);
            continue;
        }
        // `call 1234 <name>`, or through a slot: `call *0x12(%rip) # 1234 <…>`.
        let Some((_, instruction)) = line.split_once(":\t") else { continue };
        let Some((what, to)) = instruction.split_once(' ') else { continue };
        if within.is_empty() || !matches!(what, "call" | "jmp") {
            continue;
        }
        let callee = match to.split_once("# ") {
            Some((_, slot)) => match slot.split_once(' ').and_then(|(at, _)| slots.get(&address(at)?)) {
                Some(Ok(name)) => name.as_str(),
                Some(Err(at)) => names.get(at).copied().unwrap_or("what has no name"),
                None => "what is in no slot",
            },
            // The program that runs on, and jumps within a function.
            None if to.trim().starts_with('*') => continue,
            None => match to.trim().split_once(' ').and_then(|(at, _)| names.get(&address(at)?)) {
                Some(name) => name,
                None => continue,
            },
        };
        calls += 1;
        let trap = TRAPS.iter().any(|trap| callee.contains(trap)) || LIBRARY.contains(&callee);
        if trap && callee != within && !is_kernel(callee) {
            found.insert(format!("{within} calls {callee}"));
        }
    }
    assert!(loops > 1000 && calls > 10, "the loops are in the test: {loops} functions, {calls} calls");
    assert!(found.is_empty(), "not inlined, so without the level's features:\n{}", Vec::from_iter(found).join("\n"));
}
