//! Launches that tests wrote (`PTX_ISA_LAUNCHES=FOLDER cargo test …`, `tests/kernels/launches.rs`), repeated on a GPU: the
//! runner's memory after each launch against the card's.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use ptx_isa::target::{Target, Version};
use rayon::prelude::*;

use super::driver::{Card, Code, Shape};
use super::recorded;
use crate::assembler::Assembler;

/// A launch.
struct Launch {
    module: usize,
    kernel: String,
    shape: Shape,
    arguments: Vec<Vec<u8>>,
    buffers: Vec<Buffer>,
}

/// An allocation: its address in the runner, and its bytes before and after.
struct Buffer {
    address: u64,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// Modules, and their launches.
#[derive(Default)]
struct Launches {
    modules: Vec<String>,
    launches: Vec<Launch>,
}

impl Launches {
    fn last(&mut self) -> Result<&mut Launch, String> {
        self.launches.last_mut().ok_or_else(|| "there is no launch yet".to_owned())
    }
}

fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hex.as_bytes().chunks(2).map(byte).collect::<Option<_>>().ok_or_else(|| format!("`{hex:.20}…` has no bytes"))
}

fn number<T: FromStr>(word: Option<&str>) -> Result<T, String> {
    word.and_then(|word| word.parse().ok()).ok_or_else(|| "a number is missing".to_owned())
}

fn read(text: &str) -> Result<Launches, String> {
    let mut all = Launches::default();
    for line in text.lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("module") => {
                let text = bytes(words.next().unwrap_or_default())?;
                all.modules.push(String::from_utf8(text).map_err(|error| error.to_string())?);
            }
            Some("launch") => {
                let (module, kernel) = (number(words.next())?, words.next().unwrap_or_default().to_owned());
                let sizes: Vec<u32> = words.map(|word| number(Some(word))).collect::<Result<_, _>>()?;
                let &[a, b, c, d, e, f, g, h, i, shared] = &sizes[..] else { return Err("ten sizes".to_owned()) };
                let shape = Shape { blocks: [a, b, c], threads: [d, e, f], cluster: [g, h, i], shared };
                all.launches.push(Launch { module, kernel, shape, arguments: Vec::new(), buffers: Vec::new() });
            }
            Some("argument") => {
                let argument = bytes(words.next().unwrap_or_default())?;
                all.last()?.arguments.push(argument);
            }
            Some("buffer") => {
                let (address, before) = (number(words.next())?, bytes(words.next().unwrap_or_default())?);
                let after = words.next().unwrap_or_default();
                let after = if after == "same" { before.clone() } else { bytes(after)? };
                all.last()?.buffers.push(Buffer { address, before, after });
            }
            _ => return Err(format!("`{line:.40}` is no line of launches")),
        }
    }
    Ok(all)
}

/// The target to compile a module for: its own if it has a suffix, or else the card's.
fn target(module: &str, card: &Card) -> Target {
    let own = module
        .split(".target")
        .nth(1)
        .and_then(|rest| rest.split([' ', ',', '\n', '\t']).find(|word| !word.is_empty()));
    let own = own.and_then(|word| word.parse::<Target>().ok()).filter(|target| target.suffix.is_some());
    own.unwrap_or(Target::sm(card.sm))
}

/// The module with the newest version that the assembler takes, if its own is newer: most modules need no newer one.
fn lowered(module: &str, newest: Version) -> String {
    let Some((before, rest)) = module.split_once(".version") else { return module.to_owned() };
    let own = rest.split_whitespace().next().unwrap_or_default();
    match own.parse::<Version>() {
        Ok(version) if version > newest => {
            format!("{before}.version {newest}{}", &rest[rest.find(own).unwrap_or(0) + own.len()..])
        }
        _ => module.to_owned(),
    }
}

/// An argument with the card's address for the runner's.
fn moved(argument: &[u8], buffers: &[(u64, &[u8])], addresses: &[u64]) -> Vec<u8> {
    let address = recorded::pointed(argument, buffers).map(|(at, offset)| addresses[at] + offset);
    address.map_or_else(|| argument.to_vec(), |address| address.to_le_bytes().to_vec())
}

/// Words of four bytes that differ: how many, and the first `show` with their places.
fn differences(ours: &[u8], card: &[u8], show: usize) -> Option<String> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    let different = || ours.chunks(4).zip(card.chunks(4)).enumerate().filter(|(_, (ours, card))| ours != card);
    let count = different().count();
    let first = different().take(show).fold(String::new(), |mut text, (place, (ours, card))| {
        let _ = write!(text, "; {place}: {:08x} here, {:08x} there", word(ours), word(card));
        text
    });
    (count > 0).then(|| format!("{count} of {} words differ{first}", ours.len().div_ceil(4)))
}

/// Begins a line with the names of a launch and of the memory that it left.
const SAME: &str = "= ";

/// Size of a tensor map in bytes. A card takes those that its driver makes, and the runner its own.
const TENSOR_MAP: usize = 128;

/// Begins the line with the number of a launch that failed.
const FAILED: &str = "failed: launch ";

/// Repeats the launches of files on the first card, and prints each difference; whether there is none. Writes what the card
/// leaves in memory, where the runner leaves the same.
///
/// After a launch that fails nothing more runs in a process: each file has a process of its own, and another one for what
/// follows a failure.
pub(crate) fn repeat_all(
    assembler: &Assembler,
    paths: &[PathBuf],
    show: usize,
    (out, date): (Option<&Path>, &str),
) -> Result<bool, String> {
    let card = Card::open()?;
    let (mut names, mut all, mut fine) = (String::new(), BTreeSet::new(), true);
    for path in paths {
        let (mut from, mut ran, mut same) = (Some(0), 0, 0);
        while let Some(first) = from.take() {
            let program = env::current_exe().map_err(|error| error.to_string())?;
            let mut command = Command::new(program);
            command.arg("--launches").arg(path).args(["--from", &first.to_string(), "--show", &show.to_string()]);
            let said = command.arg("--assembler").arg(&assembler.path).stderr(Stdio::inherit()).output();
            let said = said.map_err(|error| error.to_string())?;
            for line in String::from_utf8_lossy(&said.stdout).lines() {
                match (line.strip_prefix(SAME), line.strip_prefix(FAILED)) {
                    (Some(names), _) => {
                        same += 1;
                        all.insert(names.to_owned());
                    }
                    (_, Some(what)) => {
                        println!("  {what}");
                        from = what.split(',').next().and_then(|number| number.parse::<usize>().ok()).map(|at| at + 1);
                        ran += 1;
                        fine = false;
                    }
                    _ => match line.strip_prefix("ran ").and_then(|count| count.parse::<usize>().ok()) {
                        Some(count) => ran += count,
                        None => println!("{line}"),
                    },
                }
            }
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        println!("{name}: {same} of {ran} launches leave the same memory");
        let _ = writeln!(names, "# {name}: {same} of {ran}");
        fine &= same == ran;
    }
    if let Some(out) = out {
        let head = format!(
            "# What a card leaves in memory, by launch (`kernels/recorded.rs`), where the runner leaves the same.\n\
             # {}, driver for CUDA {}, ptxas {}, {date}. Launches by test:\n",
            card.name, card.driver, assembler.version
        );
        let lines = all.into_iter().fold(head + &names, |text, line| text + &line + "\n");
        fs::write(out, lines).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    Ok(fine)
}

/// Repeats the launches of a file from number `from` on, until one fails. Prints differences, with `show` words of each buffer,
/// and what is left in memory where it is the same.
pub(crate) fn repeat(assembler: &Assembler, path: &Path, from: usize, show: usize) -> Result<bool, String> {
    let card = Card::open()?;
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let Launches { modules, launches } = read(&text)?;
    let targets: HashSet<Target> = modules.iter().map(|module| target(module, &card)).collect();
    let newest = targets.into_iter().filter_map(|target| Some((target, assembler.newest(target)?)));
    let newest: HashMap<Target, Version> = newest.collect();
    let compile = |module: &String| {
        let target = target(module, &card);
        let newest = newest.get(&target).ok_or_else(|| format!("the assembler does not know {target}"))?;
        assembler.image(&lowered(module, *newest), target)
    };
    let images: Vec<_> = modules.par_iter().map(compile).collect();
    images.iter().filter_map(|image| image.as_ref().err()).for_each(|problem| println!("  not compiled: {problem}"));
    let mut loaded: HashMap<usize, Code> = HashMap::new();
    let (mut ran, mut fine) = (0, true);
    for (number, launch) in launches.iter().enumerate().skip(from) {
        let Ok(image) = &images[launch.module] else { continue };
        if launch.arguments.iter().any(|argument| argument.len() == TENSOR_MAP) {
            continue;
        }
        let code = match loaded.get(&launch.module) {
            Some(code) => *code,
            None => match card.load(image) {
                Ok(code) => *loaded.entry(launch.module).or_insert(code),
                // Code for another target.
                Err(_) => continue,
            },
        };
        let given: Vec<(u64, &[u8])> = launch.buffers.iter().map(|one| (one.address, &one.before[..])).collect();
        let mut buffers: Vec<Vec<u8>> = launch.buffers.iter().map(|buffer| buffer.before.clone()).collect();
        let arguments =
            |addresses: &[u64]| launch.arguments.iter().map(|argument| moved(argument, &given, addresses)).collect();
        if let Err(problem) = card.launch(code, &launch.kernel, launch.shape, &mut buffers, arguments) {
            println!("ran {ran}\n{FAILED}{number}, {}: {problem}", launch.kernel);
            return Ok(false);
        }
        ran += 1;
        let pairs = launch.buffers.iter().zip(&buffers).enumerate();
        let different = pairs.filter_map(|(at, (one, card))| Some((at, differences(&one.after, card, show)?)));
        let different: Vec<_> = different.collect();
        // The statement of a product names it.
        let product = modules[launch.module].lines().find(|line| line.contains("mma") && line.ends_with(';'));
        for (at, what) in &different {
            println!("  launch {number}, {}, {}: buffer {at}: {what}", launch.kernel, product.unwrap_or_default());
        }
        fine &= different.is_empty();
        if different.is_empty() {
            let sizes = launch.shape.sizes();
            let name = recorded::launch(&modules[launch.module], &launch.kernel, &sizes, &launch.arguments, &given);
            println!("{SAME}{name:016x} {:016x}", recorded::memory(buffers.iter().map(Vec::as_slice)));
        }
    }
    println!("ran {ran}");
    Ok(fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_read_as_tests_write_them() {
        let text = "module 2e76\nlaunch 0 k 2 1 1 32 1 1 1 1 1 64\nargument 1200000000000000\nargument 07000000\n\
            buffer 16 01020304 same\nbuffer 64 00 ff\n";
        let Launches { modules, launches } = read(text).expect("launches");
        assert_eq!(modules, [".v"]);
        let [Launch { module: 0, kernel, shape, arguments, buffers }] = &launches[..] else { panic!("one launch") };
        assert_eq!((&**kernel, shape.sizes()), ("k", vec![2, 1, 1, 32, 1, 1, 1, 1, 1, 64]));
        assert_eq!((&buffers[0].after, &buffers[1].after), (&vec![1, 2, 3, 4], &vec![0xff]));
        let given: Vec<(u64, &[u8])> = buffers.iter().map(|one| (one.address, &one.before[..])).collect();
        // A pointer moves with its buffer; a number stays.
        assert_eq!(moved(&arguments[0], &given, &[0x100, 0x200]), 0x102_u64.to_le_bytes());
        assert_eq!(moved(&arguments[1], &given, &[0x100, 0x200]), [7, 0, 0, 0]);
        assert!(["argument 00", "launch 0 k 1", "buffer x 00 same", "word"].iter().all(|line| read(line).is_err()));
    }

    #[test]
    fn newer_versions_are_lowered() {
        let newest = Version { major: 9, minor: 0 };
        assert_eq!(lowered("// x\n.version 9.5\n.target sm_90\n", newest), "// x\n.version 9.0\n.target sm_90\n");
        assert_eq!(lowered(".version 8.4 .target sm_90", newest), ".version 8.4 .target sm_90");
    }
}
