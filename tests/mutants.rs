//! Mutation tests: each mutant of `mutants/list.txt` breaks one thing, and the test it names must fail.
//!
//! `cargo test --test mutants -- --ignored --nocapture` tries them all, with one build each. `MUTANTS=src/text` selects
//! those with this text in their block, and `MUTANTS_SAMPLE=2` two of them, which change with each commit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const LIST: &str = include_str!("mutants/list.txt");

/// One thing that is broken.
struct Mutant<'a> {
    block: &'a str,
    what: &'a str,
    file: &'a str,
    from: String,
    to: String,
    /// Arguments of the `cargo` command that must fail.
    command: Vec<&'a str>,
}

/// Parses the blocks of the list: `# what`, the file, lines that begin with `- ` and `+ ` as in a patch, and `$ ` with
/// the command.
fn mutants() -> Vec<Mutant<'static>> {
    let blocks = LIST.split("\n\n").map(|block| {
        let marked = |mark: &str| -> Vec<&str> {
            block
                .lines()
                .filter_map(|line| line.strip_prefix(mark))
                .map(|line| line.strip_prefix(' ').unwrap_or(line))
                .collect()
        };
        let bare = |line: &&str| !line.starts_with(['#', '-', '+', '$']);
        Mutant {
            block,
            what: marked("#")[0],
            file: block.lines().find(bare).expect("a file"),
            from: marked("-").join("\n"),
            to: marked("+").join("\n"),
            command: marked("$")[0].split(' ').collect(),
        }
    });
    blocks.collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A number that depends on a text and a seed only.
fn hash(text: &str, seed: &str) -> u64 {
    let fold = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let sum = seed.bytes().chain(text.bytes()).fold(0xcbf2_9ce4_8422_2325, fold);
    // The last bytes must reach the high bits, by which numbers are ordered.
    (sum ^ sum >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// As many mutants as asked for, by their hashes with a seed.
fn sample<'a>(mut mutants: Vec<Mutant<'a>>, count: usize, seed: &str) -> Vec<Mutant<'a>> {
    mutants.sort_by_key(|mutant| hash(mutant.block, seed));
    mutants.truncate(count);
    mutants
}

/// The commit that is checked out, or nothing where there is none.
fn commit() -> String {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()).output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Number of occurrences of a mutant's original text in its file.
fn occurrences(mutant: &Mutant<'_>) -> usize {
    fs::read_to_string(root().join(mutant.file)).unwrap_or_default().matches(&mutant.from).count()
}

/// A mutant whose text is gone breaks nothing any more.
#[test]
fn every_mutant_has_its_place() {
    let mutants = mutants();
    assert!(mutants.len() >= 30);
    for mutant in mutants {
        assert_eq!(occurrences(&mutant), 1, "the text to break must occur exactly once in the file:\n{}", mutant.block);
        assert_ne!(mutant.from, mutant.to, "{}", mutant.block);
    }
}

/// Samples of one commit are the same, those of a few hundred commits have every mutant.
#[test]
fn samples_rotate() {
    let blocks = |seed: &str| -> Vec<&str> { sample(mutants(), 3, seed).iter().map(|mutant| mutant.block).collect() };
    assert_eq!(blocks("commit 1").len(), 3);
    assert_eq!(blocks("commit 1"), blocks("commit 1"));
    let seen: BTreeSet<&str> = (0..1000).flat_map(|commit| blocks(&format!("commit {commit}"))).collect();
    assert_eq!(seen.len(), mutants().len());
}

/// A copy of the files that git knows; a file that is the same already keeps its time, so that little is built anew.
fn copy_tree(tree: &Path) {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let listed = git.output().expect("git runs");
    let mut copies = BTreeSet::new();
    for name in String::from_utf8(listed.stdout).expect("names are text").lines() {
        let (from, to) = (root().join(name), tree.join(name));
        let Ok(text) = fs::read(from) else { continue };
        if fs::read(&to).ok().as_ref() != Some(&text) {
            fs::create_dir_all(to.parent().expect("a folder")).expect("a folder can be made");
            fs::write(&to, text).expect("a file can be written");
        }
        copies.insert(to);
    }
    keep_only(tree, &copies);
}

/// Removes all other files: what was copied once and is gone.
fn keep_only(folder: &Path, copies: &BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            keep_only(&path, copies);
        } else if !copies.contains(&path) {
            fs::remove_file(path).expect("a file can be removed");
        }
    }
}

/// How a command of cargo ends in the copy.
fn ended(tree: &Path, arguments: &[&str]) -> &'static str {
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo runs the tests"));
    cargo.args(arguments).current_dir(tree).env("CARGO_TARGET_DIR", tree.with_file_name("target"));
    let output = cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").output().expect("cargo runs");
    match output.status.success() {
        true => "MISSED",
        false if String::from_utf8_lossy(&output.stderr).contains("error: test failed") => "noticed",
        false => "NO TEST RAN",
    }
}

#[test]
#[ignore = "most of an hour: run it alone, with --ignored --nocapture"]
fn every_mutant_is_noticed() {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let tree = target.join("mutants/tree");
    copy_tree(&tree);
    let wanted = env::var("MUTANTS").unwrap_or_default();
    let mut mutants: Vec<Mutant<'_>> = mutants().into_iter().filter(|mutant| mutant.block.contains(&wanted)).collect();
    if let Ok(count) = env::var("MUTANTS_SAMPLE") {
        mutants = sample(mutants, count.parse().expect("MUTANTS_SAMPLE is a number"), &commit());
    }
    // A test that fails without a mutant proves nothing.
    for command in mutants.iter().map(|mutant| &mutant.command).collect::<BTreeSet<_>>() {
        assert_eq!(ended(&tree, command), "MISSED", "failed without a mutant: cargo {}", command.join(" "));
    }
    let mut missed = Vec::new();
    for mutant in &mutants {
        let path = tree.join(mutant.file);
        let text = fs::read_to_string(&path).expect("the file can be read");
        fs::write(&path, text.replacen(&mutant.from, &mutant.to, 1)).expect("the file can be written");
        let verdict = ended(&tree, &mutant.command);
        fs::write(&path, text).expect("the file can be written");
        println!("{verdict:<11} {:<32} {}", mutant.file, mutant.what);
        if verdict != "noticed" {
            missed.push(mutant.block);
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {} were not noticed by a test:\n\n{}",
        missed.len(),
        mutants.len(),
        missed.join("\n\n")
    );
}
