//! Fuzzing on stable Rust: the corpus of `fuzz`, every find among it, replayed, and mutated with a seed.
#![cfg(feature = "cli")]

mod command;
#[allow(unreachable_pub, reason = "the fuzz targets call these functions")]
#[path = "../fuzz/src/lib.rs"]
mod properties;
mod shapes;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use properties::random::Random;
use ptx_isa::TABLE;

/// The corpus of a target, in the order of its names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut paths: Vec<_> = entries.expect("a corpus").iter().map(fs::DirEntry::path).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("an entry")).collect()
}

/// Building blocks of PTX and requests, besides the modifiers of the table.
const PIECES: [&str; 40] = [
    " ",
    "\n",
    ";",
    ",",
    ".",
    "{",
    "}",
    "(",
    ")",
    "[",
    "|",
    "!",
    "@",
    "\"",
    "\\",
    "/*",
    "*/",
    "//",
    "_",
    "%",
    "$",
    "#",
    "-1",
    "0x",
    "0f3f800000",
    "1.5",
    "(1 << 4)",
    "+8",
    "?",
    ":",
    "é",
    "\0",
    ".reg .u32 x<9>;",
    ".target sm_90",
    "@!p ",
    "setp",
    "%r01",
    "v.x",
    ".b10",
    "WARP_SZ",
];

/// An entry with a few things done to it.
fn mutated(entries: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut text = entries[random.below(entries.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(20)).min(text.len());
        let words: Vec<&str> =
            TABLE.instructions.iter().flat_map(|of| of.slots).flat_map(|slot| slot.members).copied().collect();
        let put: Vec<u8> = match random.below(6) {
            0 => vec![],
            1 => (*random.of(&PIECES)).into(),
            2 => format!(".{}", random.of(&words)).into(),
            3 => text[at..end].repeat(2),
            4 => vec![random.below(256) as u8],
            _ => {
                let other = &entries[random.below(entries.len())];
                let from = random.below(other.len() + 1);
                other[from..(from + random.below(60)).min(other.len())].to_vec()
            }
        };
        let kept = if random.below(2) == 0 { at } else { end };
        text.splice(at..kept, put);
    }
    text
}

/// Checks a property on an input; prints the input if the property panics.
fn holds(property: fn(&[u8]), input: &[u8]) {
    let shown = |panic: Box<dyn Any + Send>| {
        eprintln!("the input is:\n{}", input.escape_ascii());
        resume_unwind(panic)
    };
    catch_unwind(AssertUnwindSafe(|| property(input))).unwrap_or_else(shown);
}

/// Compiler output: the head of each module with its first lines, and excerpts from the middle of kernels.
fn compiled() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/modules");
    let mut paths: Vec<_> = fs::read_dir(folder).expect("modules").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let pieces = paths.iter().flat_map(|path| {
        let text = fs::read_to_string(path).expect("a module");
        let lines: Vec<&str> = text.lines().collect();
        let piece = |from: usize| {
            let head = if from == 0 { "" } else { ".version 8.6\n.target sm_90\n.entry k() {\n" };
            (head.to_owned() + &lines[from..(from + 60).min(lines.len())].join("\n")).into_bytes()
        };
        [0, lines.len() / 3, lines.len() * 2 / 3].map(piece)
    });
    pieces.collect()
}

/// Checks a property on the corpus, and on this number of mutants of it.
fn replay(target: &str, property: fn(&[u8]), mutants: usize) {
    replay_all(corpus(target), property, mutants);
}

fn replay_all(entries: Vec<Vec<u8>>, property: fn(&[u8]), mutants: usize) {
    assert!(!entries.is_empty());
    entries.iter().for_each(|entry| holds(property, entry));
    let mut random = Random::new(1);
    (0..mutants).for_each(|_| holds(property, &mutated(&entries, &mut random)));
}

#[test]
fn specs_are_tables_or_reports() {
    replay("spec", properties::spec, 60);
}

#[test]
fn statements_read_back_and_stand_alone() {
    replay("statement", properties::statement, 20_000);
}

#[test]
fn modules_have_findings_in_order_and_statements_that_stand_for_themselves() {
    replay("module", properties::module, 1_000);
}

/// Kernels of compilers, each alone with the declarations of its module.
fn kernels() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let entries = fs::read_dir(folder).expect("kernels").map(|entry| entry.expect("a file").path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|kind| kind == "ptx")).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path).expect("a module");
        // A kernel begins at a line with one of these, and extends to the next such line.
        let starts = |line: &str| [".visible .entry", ".entry"].iter().any(|head| line.starts_with(head));
        let (mut common, mut own) = (String::new(), Vec::<String>::new());
        let (mut inside, mut depth) = (false, 0);
        // `.loc` refers to files that the debugging sections declare.
        for line in text.lines().filter(|line| !line.trim_start().starts_with(".loc")) {
            if starts(line) {
                own.push(String::new());
                inside = true;
            }
            let to = if inside { own.last_mut().expect("it was begun") } else { &mut common };
            to.push_str(line);
            to.push('\n');
            depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
            inside &= line != "}" || depth > 0;
        }
        // Debugging sections name labels of all kernels.
        let common: String =
            common.lines().take_while(|line| !line.starts_with(".section")).map(|line| format!("{line}\n")).collect();
        let whole = own.into_iter().map(|kernel| common.clone() + &kernel);
        found.extend(whole.filter(|text| text.len() < 30_000));
    }
    found
}

/// A kernel with some statements exchanged, left out or repeated, and some numbers of registers, constants and labels replaced.
fn spoilt(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let statements: Vec<usize> = (0..lines.len())
        .filter(|at| {
            lines[*at].ends_with(';') && lines[*at].starts_with(['\t', ' ', '@']) && !lines[*at].contains(".reg")
        })
        .collect();
    if statements.is_empty() {
        return text.to_owned();
    }
    for _ in 0..=random.below(3) {
        let at = statements[random.below(statements.len())];
        let other = statements[random.below(statements.len())];
        match random.below(8) {
            0 => lines.swap(at, other),
            1 => lines[at].clear(),
            2 => lines[at] = lines[other].clone(),
            3 => {
                lines[at] = lines[at]
                    .trim_start()
                    .split_once(' ')
                    .filter(|(guard, _)| guard.starts_with('@'))
                    .map_or_else(|| format!("@%p1 {}", lines[at].trim_start()), |(_, rest)| rest.to_owned())
            }
            _ => {
                // A number becomes another one: of a register, of a label, or a constant.
                let digits: Vec<usize> =
                    lines[at].match_indices(|letter: char| letter.is_ascii_digit()).map(|(at, _)| at).collect();
                if let Some(place) = digits.get(random.below(digits.len().max(1))) {
                    let number = random.of(&["0", "1", "2", "3", "5", "7", "8", "9", "31", "64", "-4", "4294967295"]);
                    lines[at].replace_range(place..&(place + 1), number);
                }
            }
        }
    }
    lines.join("\n")
}

#[test]
fn launches_of_spoilt_kernels_end_and_stay_in_their_memory() {
    let kernels = kernels();
    assert!(kernels.len() > 60, "{}", kernels.len());
    let mut random = Random::new(7);
    let mut launched = 0;
    for _ in 0..3_000 {
        let text = spoilt(&kernels[random.below(kernels.len())], &mut random);
        launched += usize::from(
            ptx_isa::text::check(&TABLE, text.as_bytes(), &ptx_isa::text::Options::default()).errors() == 0,
        );
        holds(properties::launch, text.as_bytes());
    }
    // Enough of them are still modules.
    assert!(launched > 500, "{launched}");
}

#[test]
fn variables_beyond_all_memory_are_refused() {
    for declaration in [
        ".global .b8 g[9223372036854775807];",
        ".global .b64 g[1152921504606846976];",
        ".shared .b8 s[18446744073709551615];",
    ] {
        let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n{declaration}\n.entry k() {{ ret; }}");
        holds(properties::launch, text.as_bytes());
    }
    for declaration in [".local .b8 l[4611686018427387904];", ".local .b64 l[2305843009213693951]; .local .b64 m[3];"] {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {{ .reg .b64 a; {declaration} mov.u64 a, l; st.local.u32 [l+8], 1; ret; }}"
        );
        holds(properties::launch, text.as_bytes());
    }
}

#[test]
fn what_editors_ask_is_answered_and_edits_are_read_again() {
    replay_all([corpus("module"), corpus("editor"), compiled()].concat(), properties::editor, 1_500);
}

/// Each format of `check` is well formed whatever it reads, ends as `check` does, and says the same of a file as the others.
#[test]
fn findings_are_well_formed_in_every_format() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("spoilt");
    fs::create_dir_all(&folder).expect("a folder");
    let entries = [corpus("module"), corpus("editor"), compiled()].concat();
    let mut random = Random::new(2);
    let mut texts = entries.clone();
    texts.extend((0..300).map(|_| mutated(&entries, &mut random)));
    let mut files = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let path = folder.join(format!("{number}.ptx"));
        fs::write(&path, text).expect("it can be written");
        files.push(path.to_str().expect("a name").to_owned());
    }
    let check = |more: &[&str]| {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let output = command::run(&[&["check", "--error-limit", "0"], more, &files].concat());
        assert!(output.status == 1 && !output.err.contains("panicked"), "{more:?}: {}", output.err);
        output.out
    };
    let errors = |out: &str| -> Vec<(String, u64)> {
        let lines = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an object"));
        let errors = lines.filter(|it| it["severity"] == "error");
        errors
            .map(|it| (it["file"].as_str().expect("a file").to_owned(), it["line"].as_u64().expect("a line")))
            .collect()
    };
    let json = errors(&check(&["--format", "json"]));
    assert!(json.len() > 300, "{} errors", json.len());
    let sarif: serde_json::Value = serde_json::from_str(&check(&["--format", "sarif"])).expect("a log");
    let results = sarif["runs"][0]["results"].as_array().expect("a list");
    assert_eq!(results.iter().filter(|it| it["level"] == "error").count(), json.len());
    let github = check(&["--format", "github"]);
    assert_eq!(github.lines().filter(|line| line.starts_with("::error ")).count(), json.len());
    let text = check(&["--format", "text"]);
    assert_eq!(text.lines().filter(|line| line.starts_with("error[")).count(), json.len());
    // Strict mode reports at least as large a number of errors; `--floor` must not panic on any file.
    assert!(errors(&check(&["--format", "json", "--strict"])).len() >= json.len());
    for format in ["text", "json"] {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let output = command::run(&[&["check", "--floor", "--format", format][..], &files].concat());
        assert!(output.status <= 1 && !output.err.contains("panicked"), "{}", output.err);
    }
}

#[test]
fn requests_have_answers_of_their_own() {
    replay("batch", properties::batch, 2_000);
}

#[test]
fn texts_of_unpleasant_shapes_take_little_memory() {
    for shape in shapes::SHAPES {
        let text = shape.text(1 << 18);
        catch_unwind(|| properties::shape(&text)).unwrap_or_else(|panic| {
            eprintln!("the shape is: {}", shape.name);
            resume_unwind(panic)
        });
    }
}

/// The time for repeated text is linear in its length.
#[test]
fn repeated_text_takes_no_time() {
    let start = Instant::now();
    for entry in corpus("module").iter().chain(&corpus("statement")) {
        let options = ptx_isa::text::Options::default();
        ptx_isa::text::check(&TABLE, &entry.repeat(200_000 / entry.len()), &options);
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// One function head, one mnemonic, or one list of two megabytes takes as long as two megabytes of statements.
#[test]
fn long_heads_mnemonics_and_lists_take_linear_time() {
    let start = Instant::now();
    let long = |part: &str| part.repeat(2_000_000 / part.len());
    let head = ".version 8.0 .target sm_80 .entry k()";
    let modules = [
        (format!("{head}{} {{ ret; }}", long(" .maxntid 128")), 0),
        (format!("{head} {{ .reg .b32 %r<3>; add{} %r0, %r1, %r2; }}", long(".u32")), 1),
        (format!("{head} {{ .reg .b32 %r<3>; ld{} %r0, [%r1]; }}", long(".globel")), 1),
        (format!("{head} {{ .reg .b32 %r<3>; cp{} %r0, %r1; }}", long(".q")), 1),
        (format!("{head} {{ t: .branchtargets A{}; }}", long(", B")), 1 + 2_000_000 / 3),
    ];
    for (module, errors) in modules {
        let report = ptx_isa::text::check(&TABLE, module.as_bytes(), &ptx_isa::text::Options::default());
        assert_eq!(report.errors(), errors, "{}", &module[..100]);
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn a_mnemonic_with_more_modifiers_than_any_instruction_is_one_error() {
    let most = ptx_isa::TABLE.instructions().map(|instruction| instruction.data().slots.len()).max();
    assert!(most.is_some_and(|most| most <= 64), "{most:?}");
    let errors = |count: usize| {
        let module = format!("add{} a, b, c;", ".u32".repeat(count));
        let report = ptx_isa::text::check(&TABLE, module.as_bytes(), &ptx_isa::text::Options::default());
        report.diagnostics.into_iter().map(|error| error.message).collect::<Vec<_>>()
    };
    assert_eq!(errors(65), ["no instruction has more than 64 modifiers"]);
    assert_ne!(errors(64), errors(65));
}
