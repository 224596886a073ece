//! The spec of PTX in other words: every opcode, modifier word and operand renamed, floors shifted, copies beside each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::table::InstructionInfo;

/// The files of the spec, the prelude first, without descriptions and comments: prose has words of its own.
pub(crate) fn spec() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("isa-spec/ptx");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            // Strings that end as sentences do are descriptions.
            let shorten = |(at, part): (usize, &str)| match (at % 2, part.ends_with('.')) {
                (0, _) => part.to_owned(),
                (_, true) => "\"0.\"".to_owned(),
                (_, false) => format!("\"{part}\""),
            };
            let described = |line: &str| match line.trim_start() {
                comment if comment.starts_with("///") => line.replace(comment, "/// 0."),
                // The phrases of `also` may go on in the next lines.
                own if own.starts_with('"') && own.split('"').nth(1).is_some_and(|first| first.ends_with('.')) => {
                    line.split('"').enumerate().map(shorten).collect()
                }
                prose if ["//", "also ", "\""].iter().any(|start| prose.starts_with(start)) => String::new(),
                // A phrase may be the opcode of a copy.
                _ => match line.split_once(" also \"") {
                    Some((before, also)) => before.to_owned() + also.split_once(';').map_or("", |(_, behind)| behind),
                    None => line.split('"').enumerate().map(shorten).collect(),
                },
            };
            let text = text.lines().map(described).collect::<Vec<_>>().join("\n");
            (path.file_name().unwrap().to_string_lossy().into_owned(), text)
        })
        .collect();
    // Keep the files whose instructions have semantics: the modifiers of the others contain colons and digits, which
    // Rust names cannot represent. A file without instructions is shared by all of them.
    files.retain(|(_, text)| text.contains("semantics {") || !text.contains("\ninstruction "));
    // Skip files whose formulas have rows and columns, which are also names of modifiers, or whose templates contain
    // opcodes.
    let left = ["matrix.isa", "warpgroup.isa", "tensor_core.isa", "asynchronous.isa"];
    files.retain(|(name, _)| !left.contains(&name.as_str()));
    files.sort_by_key(|(name, _)| (name != "prelude.isa", name.clone()));
    files
}

/// The generated Rust of a spec.
pub(crate) fn generated(files: &[(String, String)]) -> String {
    let build = isa_spec::Build::new();
    let build = files.iter().fold(build, |build, (name, text)| build.text(name, text));
    build.generate().unwrap_or_else(|report| panic!("{report}"))
}

/// New words for old ones, of the same length but for single letters.
pub(crate) struct Renaming {
    words: BTreeMap<String, String>,
    /// Words behind a dot stay as they are.
    opcodes_only: bool,
}

impl Renaming {
    /// Nonsense for some words, which no text with which it is to be compared has. It sorts as the words do.
    pub(crate) fn nonsense(words: &BTreeSet<String>, texts: &[&str]) -> Renaming {
        let mut taken = BTreeSet::new();
        for text in texts {
            pieces(text, |part| _ = taken.insert(part.to_ascii_lowercase()));
        }
        // The first two letters put it in order.
        let letters = || 'a'..='z';
        let mut starts = letters().flat_map(|first| letters().map(move |second| format!("{first}{second}")));
        let mut new = |word: &String| {
            let mut start = starts.by_ref().map(|start| format!("{start:j<width$}", width = word.len()));
            start.find(|new| !taken.contains(new)).expect("there is nonsense enough")
        };
        Renaming { words: words.iter().map(|word| (word.clone(), new(word))).collect(), opcodes_only: false }
    }

    /// Copies of opcodes: the letter behind each of them.
    pub(crate) fn copies(letter: char) -> Renaming {
        let first = |opcode: &'static str| opcode.split('.').next().unwrap_or(opcode);
        let words = TABLE.instructions().map(|instruction| first(instruction.opcode));
        let words = words.map(|word| (word.to_owned(), format!("{word}{letter}"))).collect();
        Renaming { words, opcodes_only: true }
    }

    /// A spec in the new words.
    pub(crate) fn spec(&self, text: &str) -> String {
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (builtins, compound) = (builtins(), compound());
        let mut new = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(inside) {
            let (before, from) = rest.split_at(start);
            let (word, behind) = from.split_at(from.find(|c| !inside(c)).unwrap_or(from.len()));
            new.push_str(before);
            // A letter behind `lanes` and `subset` is a selector's, a name before a bracket is a builtin's, also with the
            // type between that it is to give.
            let letter = ["lanes .", "subset ."].iter().any(|words| before.ends_with(words) || new.ends_with(words));
            let typed = behind.strip_prefix('.').and_then(|rest| rest.split_once('(')).is_some_and(|(ty, _)| {
                !ty.is_empty() && ty.chars().all(inside) && !word.starts_with(|c: char| c.is_ascii_digit())
            });
            // An item begins a line; a builtin may be an argument of a template.
            let line = new.rsplit('\n').next().unwrap_or_default();
            let item = matches!(line, "" | "free ") && behind.starts_with(' ');
            let used = line.rsplit_once("use ").is_some_and(|(_, args)| !args.contains(';'));
            let called = behind.starts_with(" $");
            let argument = (used || called) && !before.ends_with('.') && builtins.contains(word);
            let kept = (self.opcodes_only || letter) && before.ends_with('.')
                || item
                // `.pred state CC.CF`
                || behind.starts_with(" CC.")
                // `.param of call`
                || new.ends_with(" of ")
                // `linear sum`
                || new.ends_with(" linear ")
                || argument
                || behind.starts_with(['(', '<']) && !before.ends_with('.')
                || typed && !before.ends_with('.');
            let renamed = |part: &str| self.words.get(part).cloned().unwrap_or_else(|| part.to_owned());
            // A word of an opcode is renamed part by part, as its name in Rust is.
            let other = match compound.contains(word) && !self.opcodes_only {
                true => word.split('_').map(renamed).collect::<Vec<_>>().join("_"),
                false => renamed(word),
            };
            new.push_str(if kept { word } else { &other });
            rest = behind;
        }
        new + rest
    }

    /// Rust with the new words in its names, whatever their case: `SET_LT`, `set_lt` and `SetLt` are all `set`, `lt`.
    pub(crate) fn rust(&self, text: &str) -> String {
        let mut new = String::new();
        // New words are none of Rust's.
        pieces(&text.replace("r#", ""), |part| match self.words.get(&part.to_ascii_lowercase()) {
            None => new.push_str(part),
            Some(other) => {
                let shouting = part.bytes().all(|byte| !byte.is_ascii_lowercase());
                let upper = |at: usize| part.as_bytes()[0].is_ascii_uppercase() && (at == 0 || shouting);
                let cased = other.chars().enumerate().map(|(at, c)| if upper(at) { c.to_ascii_uppercase() } else { c });
                new.extend(cased);
            }
        });
        new
    }
}

/// Cuts a text into the words of its names and what is between them.
fn pieces<'a>(text: &'a str, mut piece: impl FnMut(&'a str)) {
    let bytes = text.as_bytes();
    let kind = |at: usize| match bytes[at] {
        b'a'..=b'z' | b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    };
    let mut start = 0;
    for at in 1..=bytes.len() {
        let cut = at == bytes.len()
            || match (kind(at - 1), kind(at)) {
                (1, 0) => bytes[at - 1].is_ascii_uppercase() && at - start > 1 && bytes[at].is_ascii_lowercase(),
                // `U32` and `LT` go on, `SetLt` does not.
                (0, 1) => bytes[start..at].iter().any(u8::is_ascii_lowercase) || bytes[at - 1].is_ascii_lowercase(),
                (a, b) => a != b || a == 2,
            };
        if cut {
            piece(&text[start..at]);
            start = at;
        }
    }
}

/// The names of the prelude's builtins and functions.
fn builtins() -> BTreeSet<&'static str> {
    let declared = |line: &'static str| line.strip_prefix("builtin ").or(line.strip_prefix("fn "));
    let names = isa_spec::PTX[0].1.lines().filter_map(declared);
    names.filter_map(|line| line.split(['<', '(']).next()).collect()
}

/// The items of a file, each with its description, and whether it is an instruction.
fn items(text: &str) -> Vec<(bool, String)> {
    let (mut items, mut item, mut depth, mut begun) = (Vec::new(), String::new(), 0, false);
    for line in text.lines() {
        item += line;
        item.push('\n');
        begun |= !line.is_empty() && !line.starts_with("///");
        let count = |brackets: [char; 2]| line.matches(brackets).count();
        depth += count(['{', '(']);
        depth -= count(['}', ')']);
        if begun && depth == 0 && line.ends_with(['}', ';']) {
            let own = item.lines().any(|line| line.starts_with("instruction ") || line == "scalarize {");
            items.push((own, std::mem::take(&mut item)));
            begun = false;
        }
    }
    items
}

/// Words of PTX that are words of the language, too.
const LANGUAGE: [&str; 3] = ["layout", "to", "warp"];

/// The words of every opcode of the table, and their parts, but for those of the language.
pub(crate) fn opcodes() -> BTreeSet<String> {
    let words = TABLE.instructions().flat_map(|instruction| instruction.opcode.split(['.', '_']));
    words.filter(|word| !LANGUAGE.contains(word)).map(str::to_owned).collect()
}

/// A number with at most a letter beside it, from which the language derives counts: `v2`, `1d`.
fn counts(word: &str) -> bool {
    let letters = word.bytes().filter(|byte| !byte.is_ascii_digit()).count();
    letters <= 1 && letters < word.len()
}

/// The words of opcodes that have several parts: `ld_reduce`.
fn compound() -> BTreeSet<&'static str> {
    TABLE
        .instructions()
        .flat_map(|instruction| instruction.opcode.split('.'))
        .filter(|word| word.contains('_'))
        .collect()
}

/// Returns true if any form of an instruction has semantics.
fn computes(instruction: &InstructionInfo) -> bool {
    instruction.forms().any(|form| !form.evaluations().is_empty())
}

/// Every word of a modifier that is neither a type nor a count, and every operand's name.
pub(crate) fn words() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for form in TABLE.instructions().filter(computes).flat_map(|instruction| instruction.forms()) {
        let instruction = form.instruction();
        for operand in form.operands() {
            words.extend([operand.name].into_iter().chain(operand.second.map(|second| second.name)).map(str::to_owned));
        }
        words.extend(instruction.slots.iter().flat_map(|slot| slot.members.iter().map(|word| (*word).to_owned())));
    }
    // Names with capitals or underscores cannot be renamed, as these distinguish them from others: `NaN`,
    // `is_canceled`.
    words.retain(|word| {
        let parted = word.contains(|c: char| c.is_ascii_uppercase() || c == '_');
        !parted && !counts(word) && !LANGUAGE.contains(&word.as_str()) && TABLE.types.iter().all(|ty| ty.name != word)
    });
    words
}

/// A spec with every PTX version increased by ten and every target by a thousand.
pub(crate) fn later(text: &str) -> String {
    let mut new = String::new();
    let mut rest = text;
    // True within a list of versions: `ptx 1.0, 1.1;`, also as arguments of a template: `use carry_in(1.2, sm_10);`
    let mut versions = false;
    while let Some(first) = rest.chars().next() {
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
        let behind = &rest[digits.len()..];
        let add = match digits.is_empty() {
            true => 0,
            false if new.ends_with("sm_") => 1000,
            false if versions && behind.starts_with('.') => 10,
            false => 0,
        };
        let length = digits.len().max(first.len_utf8());
        match digits.parse::<u32>() {
            Ok(number) if add > 0 => new.push_str(&(number + add).to_string()),
            _ => new.push_str(&rest[..length]),
        }
        rest = &rest[length..];
        let argument =
            first == '(' && rest.split_once(", sm_").is_some_and(|(version, _)| version.parse::<f64>().is_ok());
        versions = argument
            || ["ptx", "manual", "inside", "until"].iter().any(|word| new.ends_with(word))
            || versions && matches!(first, '0'..='9' | '.' | ',' | ' ' | '\n');
    }
    new
}

/// Returns the spec with `count` copies of every instruction, each with other opcodes.
pub(crate) fn copies(count: u8) -> Vec<(String, String)> {
    let (mut files, mut own) = (Vec::new(), Vec::new());
    for (name, text) in spec() {
        let (instructions, shared): (Vec<_>, Vec<_>) = items(&text).into_iter().partition(|(own, _)| *own);
        let joined = |items: Vec<(bool, String)>| items.into_iter().map(|(_, text)| text).collect::<String>();
        own.push((name.clone(), joined(instructions)));
        files.push((name, joined(shared)));
    }
    for letter in ('a'..).take(count.into()) {
        let renaming = Renaming::copies(letter);
        files.extend(own.iter().map(|(name, text)| (format!("{letter}/{name}"), renaming.spec(text))));
    }
    files
}
