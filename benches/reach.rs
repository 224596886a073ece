//! Build costs, each as a ratio to a build of the first table's commit on the same machine. Run with
//! `cargo bench --bench reach`, optionally followed by `--` and a substring of the names of the wanted parts.
//!
//! Times are the user CPU time of a command and its children, the minimum over several rounds in which both are built
//! alternately. It needs the repository's history, and half an hour.
#![cfg(unix)]
#![allow(unsafe_code, reason = "the system is asked for a command's CPU time and memory")]
#![allow(missing_docs, reason = "a bench")]

#[path = "../tests/renaming/mod.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod renaming;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The commit of the first table.
const BEFORE: &str = "304d30a";
const COPIES: u8 = 9;
const ROUNDS: usize = 3;

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let under = root.join("target/reach");
    fs::create_dir_all(&under).unwrap();
    let ours = Tree { root: root.to_owned(), target: under.join("ours") };
    let part = |name: &str, run: &dyn Fn()| {
        if name.contains(&wanted) {
            run();
        }
    };
    match old(root, &under) {
        Some(old) => {
            part("release", &|| release(&ours, &old));
            part("touch", &|| touch(&ours, &old));
            part("copies", &|| copies(&ours, &old));
        }
        None => println!("skipped: the repository's history does not have {BEFORE}"),
    }
    part("rmeta", &|| rmeta(&ours));
    part("docs", &|| docs(&ours));
    part("extension", &|| extension(&ours));
}

/// Sources, and where they are built.
struct Tree {
    root: PathBuf,
    target: PathBuf,
}

/// Resources used by a command: seconds of user CPU time including its children, and peak memory in bytes.
#[derive(Clone, Copy)]
struct Usage {
    seconds: f64,
    bytes: f64,
}

impl Usage {
    fn least(self, other: Usage) -> Usage {
        Usage { seconds: self.seconds.min(other.seconds), bytes: self.bytes.min(other.bytes) }
    }
}

const NOTHING_YET: Usage = Usage { seconds: f64::INFINITY, bytes: f64::INFINITY };

#[track_caller]
#[allow(clippy::zombie_processes, reason = "`wait4` waits for it")]
fn usage(command: &mut Command) -> Usage {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut status = 0;
    // SAFETY: a `rusage` is integers, for which zeros are values.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is ours and is waited for once; both pointers are to locals of the right types.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut used) };
    assert!(waited > 0 && status == 0, "{command:?} fails");
    let seconds = used.ru_utime.tv_sec as f64 + used.ru_utime.tv_usec as f64 / 1e6;
    Usage { seconds, bytes: used.ru_maxrss as f64 * 1024.0 }
}

impl Tree {
    fn cargo(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(&self.root).args(arguments.split(' ')).env("CARGO_TARGET_DIR", &self.target);
        // Variables set for this bench must not reach its child processes.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_") && name != "CARGO_HOME") {
            if name != "CARGO_TARGET_DIR" {
                command.env_remove(name);
            }
        }
        command
    }

    fn clean(&self) {
        if self.target.exists() {
            fs::remove_dir_all(&self.target).unwrap();
        }
    }

    fn touch(&self, file: &str) {
        File::options().append(true).open(self.root.join(file)).unwrap().set_modified(SystemTime::now()).unwrap();
    }

    /// Returns the path in a target folder whose name has this prefix and suffix.
    #[track_caller]
    fn built(&self, folder: &str, starts: &str, ends: &str) -> PathBuf {
        let entries = fs::read_dir(self.target.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let named = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with(starts) && name.ends_with(ends)
        };
        let script = |path: &PathBuf| folder != "release/build" || path.join("build-script-build").exists();
        entries.filter(named).find(script).expect("it was built")
    }

    /// Runs the build script of the library, which was built in release, as Cargo runs it.
    fn build_script(&self, out: &Path) -> Usage {
        fs::create_dir_all(out).unwrap();
        let script = self.built("release/build", "ptx-isa-", "").join("build-script-build");
        usage(Command::new(script).current_dir(&self.root).env("OUT_DIR", out).env("CARGO_FEATURE_STD", "1"))
    }
}

fn report(name: &str, value: f64, goal: f64, figures: &str) {
    let mark = if value <= goal { "" } else { "  MISSED" };
    println!("ratio {name:<58} {value:>8.3} goal ≤ {goal:<5} ({figures}){mark}");
}

/// The least of the rounds, ours and the rival's in turns.
fn rounds(count: usize, mut ours: impl FnMut() -> Usage, mut rival: impl FnMut() -> Usage) -> (Usage, Usage) {
    (0..count)
        .fold((NOTHING_YET, NOTHING_YET), |(least, least_rival), _| (least.least(ours()), least_rival.least(rival())))
}

fn compare(name: &str, goal: f64, (ours, rival): (Usage, Usage)) {
    let figures = format!("{:.1} s by {:.1} s", ours.seconds, rival.seconds);
    report(name, ours.seconds / rival.seconds, goal, &figures);
}

/// The commit before, as a tree beside ours.
fn old(root: &Path, under: &Path) -> Option<Tree> {
    let tree = Tree { root: under.join("before"), target: under.join("before/target") };
    if !tree.root.exists() {
        let mut git = Command::new("git");
        git.current_dir(root).args(["worktree", "add", "--detach"]).arg(&tree.root).arg(BEFORE);
        let done = git.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        done.then_some(())?;
    }
    Some(tree)
}

fn release(ours: &Tree, old: &Tree) {
    for (features, arguments, goal) in
        [("default", "build --release --lib", 0.5), ("simd", "build --release --lib --features simd", 0.6)]
    {
        let build = |tree: &Tree| {
            tree.clean();
            usage(&mut tree.cargo(arguments))
        };
        let name = format!("clean release build, {features}, before");
        compare(&name, goal, rounds(ROUNDS, || build(ours), || build(old)));
    }
}

fn touch(ours: &Tree, old: &Tree) {
    let build = |tree: &Tree| {
        usage(&mut tree.cargo("build --lib"));
        tree.touch("isa-spec/ptx/comparison.isa");
        usage(&mut tree.cargo("build --lib"))
    };
    compare("an entry touched, debug build, before", 0.35, rounds(ROUNDS, || build(ours), || build(old)));
}

fn copies(ours: &Tree, old: &Tree) {
    let copies =
        Tree { root: ours.target.with_file_name("copies"), target: ours.target.with_file_name("copies/target") };
    grow(&ours.root, &copies.root);
    let out = |tree: &Tree| tree.target.join("out");
    let build = "build --release --lib";
    for tree in [ours, old, &copies] {
        usage(&mut tree.cargo(build));
    }
    let (grown, before) = rounds(ROUNDS, || copies.build_script(&out(&copies)), || old.build_script(&out(old)));
    compare(&format!("{COPIES} copies, generator, before with one"), 2.0, (grown, before));
    report(
        &format!("{COPIES} copies, generator's memory, 400 MB"),
        grown.bytes / 400e6,
        1.0,
        &format!("{:.0} MB", grown.bytes / 1e6),
    );
    let text: f64 =
        fs::read_dir(out(&copies)).unwrap().map(|file| file.unwrap().metadata().unwrap().len() as f64).sum();
    report(&format!("{COPIES} copies, generated text, 15 MB"), text / 15e6, 1.0, &format!("{:.1} MB", text / 1e6));
    let library = |tree: &Tree| {
        tree.touch("src/lib.rs");
        usage(&mut tree.cargo(build))
    };
    compare(&format!("{COPIES} copies, rustc, one"), 2.5, rounds(ROUNDS, || library(&copies), || library(ours)));
}

/// Copies what Git knows of a tree, with copies of the instructions in place of the spec's.
fn grow(from: &Path, to: &Path) {
    let listed = Command::new("git").current_dir(from).args(["ls-files"]).output().unwrap();
    for file in String::from_utf8(listed.stdout).unwrap().lines() {
        let copy = to.join(file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(from.join(file), copy).unwrap();
    }
    let library = to.join("isa-spec/src/library.rs");
    let text = fs::read_to_string(&library).unwrap();
    let (before, rest) = text.split_once("pub const PTX").unwrap();
    let (_, behind) = rest.split_once("\n];").unwrap();
    let files = renaming::copies(COPIES);
    let entry = |(name, text): &(String, String)| {
        let path = to.join("isa-spec/ptx").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        format!("    ({name:?}, include_str!({:?})),\n", format!("../ptx/{name}"))
    };
    let entries: String = files.iter().map(entry).collect();
    let list = format!("pub const PTX: [(&str, &str); {}] = [\n{entries}];", files.len());
    fs::write(library, format!("{before}{list}{behind}")).unwrap();
}

fn rmeta(ours: &Tree) {
    ours.clean();
    usage(&mut ours.cargo("build --release --lib"));
    let size = fs::metadata(ours.built("release/deps", "libptx_isa-", ".rmeta")).unwrap().len() as f64;
    report("metadata of the library, 5 MB", size / 5e6, 1.0, &format!("{:.1} MB", size / 1e6));
}

fn docs(ours: &Tree) {
    let pages = ours.target.join("doc");
    if pages.exists() {
        fs::remove_dir_all(&pages).unwrap();
    }
    usage(&mut ours.cargo("doc --lib --no-deps"));
    let (mut count, mut size, mut folders) = (0, 0, vec![pages]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => {
                    size += entry.metadata().unwrap().len();
                    count += u32::from(entry.path().extension().is_some_and(|extension| extension == "html"));
                }
            }
        }
    }
    report("pages of rustdoc, 1200", f64::from(count) / 1200.0, 1.0, &format!("{count} pages"));
    report("size of rustdoc, 15 MB", size as f64 / 15e6, 1.0, &format!("{:.1} MB", size as f64 / 1e6));
}

/// A crate that adds an instruction to PTX.
fn extension(ours: &Tree) {
    let tree = Tree { root: ours.target.with_file_name("extension"), target: ours.target.clone() };
    let file = |name: &str, text: &str| {
        let path = tree.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let from = ours.root.display();
    file(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"extension\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
             [dependencies]\nptx-isa = {{ path = {:?} }}\n[build-dependencies]\nisa-spec = {{ path = {:?} }}\n",
            format!("{from}"),
            format!("{from}/isa-spec"),
        ),
    );
    file("build.rs", "fn main() { isa_spec::Build::new().file(\"one.isa\").write(\"one.rs\"); }\n");
    file("src/lib.rs", "include!(concat!(env!(\"OUT_DIR\"), \"/one.rs\"));\n");
    file(
        "one.isa",
        "use ptx;\n/// Keeps the ones that the other lacks.\ninstruction andn {\n    section 1.1;\n    \
         syntax { andn.type d, a, b; .type = { .b32, .b64 }; }\n    operands { d, a, b: .type; }\n    \
         requires { ptx 1.0, sm_10; }\n    semantics { d = a & not(b); }\n    examples { andn.b32 r, a, b; }\n}\n",
    );
    usage(&mut tree.cargo("build"));
    let build = || {
        tree.touch("one.isa");
        usage(&mut tree.cargo("build"))
    };
    let used = (0..ROUNDS).fold(NOTHING_YET, |least, _| least.least(build()));
    report("one instruction on top of PTX touched, 3 s", used.seconds / 3.0, 1.0, &format!("{:.2} s", used.seconds));
}
