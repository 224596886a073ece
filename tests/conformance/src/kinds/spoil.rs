//! One small change to a module, by what it changes: declarations, types, labels, braces, parameters, targets, versions,
//! directives, vectors, initialisers, operands, opcodes, punctuation and lines.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use ptx_isa::TABLE;

use super::near;
use crate::context::declarable;
use crate::random::{Random, pick_name};

/// A module as tokens.
struct Tokens<'a> {
    text: &'a str,
    tokens: Vec<Range<usize>>,
}

/// Byte range of a module and its replacement.
type Edit = (Range<usize>, String);

/// The name of a class of changes, and the function that makes one where the module has a place for it.
type Class = (&'static str, fn(&mut Random, &Tokens<'_>) -> Option<Edit>);

/// All classes of changes.
const CLASSES: &[Class] = &[
    ("version", version),
    ("target", target),
    ("directive", directive),
    ("declaration", declaration),
    ("type", ty),
    ("label", label),
    ("brace", brace),
    ("parameter", parameter),
    ("vector", vector),
    ("initialiser", initialiser),
    ("operand", operand),
    ("opcode", opcode),
    ("statement", statement),
    ("punctuation", punctuation),
    ("line", line),
];

/// Words that begin with a dot and are not modifiers of a statement.
const DIRECTIVES: &[&str] = &[
    ".entry",
    ".func",
    ".visible",
    ".extern",
    ".weak",
    ".common",
    ".global",
    ".const",
    ".shared",
    ".local",
    ".param",
    ".reg",
    ".align",
    ".ptr",
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".pragma",
    ".loc",
    ".file",
    ".section",
    ".callprototype",
    ".branchtargets",
    ".calltargets",
    ".noreturn",
    ".alias",
    ".address_size",
    ".version",
    ".target",
    ".texref",
    ".samplerref",
    ".surfref",
    ".attribute",
    ".reqnctapercluster",
    ".maxclusterrank",
    ".explicitcluster",
    ".abi_preserve",
    ".blocksareclusters",
];

/// State spaces that variables are declared in.
const SPACES: &[&str] = &[".reg", ".global", ".const", ".shared", ".local", ".param"];

/// Candidates for an operand, besides those in the module.
const OPERANDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "1.0",
    "0f3f800000",
    "0x1ffffffff",
    "_",
    "undeclared",
    "%tid.x",
    "%laneid",
    "%clock64",
    "WARP_SZ",
    "[0]",
    "{1, 2}",
    "!%p1",
    "-%r1",
    "%r1+4",
];

/// Candidates for an initial value.
const VALUES: &[&str] = &[
    "0",
    "-1",
    "256",
    "0x1ffffffff",
    "1.0",
    "0f3f800000",
    "0d3ff0000000000000",
    "undeclared",
    "generic(undeclared)",
    "{0}",
    "{0, 1}",
    "\"text\"",
    "1 +",
    "(2 + 3) * 4",
    "0xff(undeclared)",
];

/// Lines that may be written anywhere.
const LINES: &[&str] = &[
    ".reg .u32 %added;",
    ".reg .pred %p<3>;",
    ".shared .align 4 .b8 added[16];",
    ".global .u32 added;",
    ".local .b8 added[4];",
    ".param .b32 added;",
    ".const .u32 added = 1;",
    ".extern .shared .b8 added[];",
    ".maxntid 32, 1, 1",
    ".reqntid 32",
    ".minnctapersm 2",
    ".pragma \"nounroll\";",
    ".file 7 \"added.cu\"",
    ".loc 1 1 1",
    ".noreturn",
    ".visible",
    "added:",
    "ret;",
    "{",
    "}",
    "{ }",
    ";",
    "added: .branchtargets added;",
    "added: .callprototype _ ();",
    ".func added;",
    ".func added() { ret; }",
    ".entry added() { ret; }",
    ".extern .func added();",
    ".alias added, added;",
    ".version 8.0",
    ".target sm_90",
    ".address_size 64",
    "bra added;",
    "mov.u32 %r1, %r2;",
    "@%p1 ret;",
    "call added;",
    ".section .debug_str { .b8 0 }",
];

/// Changes a module, by a class of change that it has a place for; the name of the class and the changed module.
pub(crate) fn spoil(random: &mut Random, text: &str) -> (&'static str, String) {
    let module = Tokens::new(text);
    loop {
        let (class, change) = random.of(CLASSES);
        let Some((span, other)) = change(random, &module) else { continue };
        if text[span.clone()] != other {
            return (class, format!("{}{other}{}", &text[..span.start], &text[span.end..]));
        }
    }
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Tokens<'a> {
        let mut tokens = Vec::new();
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &text[at..];
            let end = |found: Option<usize>, behind: usize| at + found.map_or(rest.len(), |found| found + behind);
            let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
            let mut first = rest.chars();
            let c = first.next().expect("there is text left");
            let next = match c {
                _ if rest.starts_with("//") => end(rest.find('\n'), 0),
                _ if rest.starts_with("/*") => end(rest.find("*/"), 2),
                _ if c.is_whitespace() => at + c.len_utf8(),
                '"' => {
                    let next = end(rest[1..].find('"'), 2);
                    tokens.push(at..next);
                    next
                }
                _ => {
                    let rest = first.as_str();
                    let length = rest.find(|c: char| !word(c) && c != ':').unwrap_or(rest.len());
                    // `::` is part of a modifier, whereas `:` ends a label.
                    let length = if rest[..length].contains("::") {
                        length
                    } else {
                        rest.find(|c: char| !word(c)).unwrap_or(rest.len())
                    };
                    let next = at + c.len_utf8() + if word(c) || c == '.' { length } else { 0 };
                    tokens.push(at..next);
                    next
                }
            };
            at = next;
        }
        Tokens { text, tokens }
    }

    fn get(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |range| &self.text[range.clone()])
    }

    /// Returns a random token that satisfies a predicate.
    fn find(&self, random: &mut Random, wanted: impl Fn(usize, &str) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.tokens.len()).filter(|&index| wanted(index, self.get(index))).collect();
        (!found.is_empty()).then(|| *random.of(&found))
    }

    /// Returns the first token at or after `from` that is one of `wanted`.
    fn next(&self, from: usize, wanted: &[&str]) -> Option<usize> {
        (from..self.tokens.len()).find(|&index| wanted.contains(&self.get(index)))
    }

    /// Returns true if a directive, label or statement begins at a token.
    fn begins(&self, index: usize) -> bool {
        index == 0 || matches!(self.get(index - 1), ";" | "{" | "}" | ":")
    }

    fn is_opcode(&self, index: usize) -> bool {
        let word = self.get(index).starts_with(|c: char| c.is_ascii_lowercase()) && self.get(index + 1) != ":";
        let guarded = index >= 2 && (self.get(index - 2) == "@" || self.get(index - 2) == "!");
        word && (self.begins(index) || guarded) && opcodes().contains(self.get(index))
    }

    fn is_type(&self, index: usize) -> bool {
        self.get(index).strip_prefix('.').is_some_and(|name| TABLE.type_named(name).is_some())
    }

    /// Returns true if a token is a name or number used as an operand of an instruction or declaration.
    fn is_operand(&self, index: usize) -> bool {
        self.get(index).starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%'))
            && !self.is_opcode(index)
            && self.get(index + 1) != ":"
    }

    fn replace(&self, index: usize, text: impl Into<String>) -> Option<Edit> {
        Some((self.tokens.get(index)?.clone(), text.into()))
    }

    fn insert(&self, index: usize, text: impl Into<String>) -> Option<Edit> {
        let at = self.tokens.get(index)?.start;
        Some((at..at, text.into()))
    }

    /// From the start of one token to the end of another.
    fn span(&self, first: usize, last: usize) -> Range<usize> {
        self.tokens[first].start..self.tokens[last].end
    }

    /// The declarations of variables and registers, from the state space to the semicolon.
    fn declaration(&self, random: &mut Random) -> Option<(usize, usize)> {
        let begins = |index: usize| self.begins(index) || DIRECTIVES.contains(&self.get(index - 1));
        let first = self.find(random, |index, word| SPACES.contains(&word) && begins(index))?;
        let last = self.next(first, &[";"])?;
        (last - first < 400).then_some((first, last))
    }
}

/// The first words of all opcodes.
fn opcodes() -> &'static BTreeSet<&'static str> {
    static OPCODES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
        let opcodes = TABLE.instructions().map(|instruction| instruction.opcode);
        opcodes.filter_map(|opcode| opcode.split('.').next()).collect()
    });
    &OPCODES
}

/// A word with a letter dropped, doubled, or in upper case.
fn misspelt(random: &mut Random, word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = random.below(letters.len());
    match random.below(3) {
        0 => drop(letters.remove(at)),
        1 => letters.insert(at, letters[at]),
        _ => letters[at] = letters[at].to_ascii_uppercase(),
    }
    letters.into_iter().collect()
}

fn random_type(random: &mut Random) -> String {
    let mut types: Vec<String> = declarable().map(|ty| format!(".{}", TABLE.ty(ty).name)).collect();
    types.push(".pred".to_owned());
    pick_name(random, types)
}

fn version(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let index = module.find(random, |_, word| word == ".version")?;
    // The number is two tokens, `8` and `.6`.
    let span = module.span(index + 1, index + 2);
    Some((span, pick_name(random, TABLE.versions.iter().map(ToString::to_string))))
}

fn target(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let index = module.find(random, |_, word| word == ".target")?;
    match random.below(8) {
        0 => {
            let size = module.find(random, |_, word| word == ".address_size")?;
            module.replace(size + 1, *random.of(&["32", "64", "16", "64.0"]))
        }
        1 => {
            let option = random.of(&["debug", "texmode_independent", "texmode_unified", "map_f64_to_f32", "none"]);
            module.insert(index + 2, format!(", {option}\n"))
        }
        _ => module.replace(index + 1, pick_name(random, TABLE.targets.iter().map(|info| info.target.to_string()))),
    }
}

fn directive(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let index = module.find(random, |_, word| DIRECTIVES.contains(&word))?;
    match random.below(5) {
        0 => module.replace(index, ""),
        1 => module.insert(index, format!("{} ", module.get(index))),
        2 => module.replace(index, misspelt(random, module.get(index))),
        3 => module.insert(index, format!("{} ", random.of(DIRECTIVES))),
        _ => module.replace(index, *random.of(DIRECTIVES)),
    }
}

fn declaration(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let (first, last) = module.declaration(random)?;
    let whole = module.span(first, last);
    let text = &module.text[whole.clone()];
    match random.below(9) {
        0 => Some((whole, String::new())),
        1 => Some((whole, format!("{text} {text}"))),
        2 => module.replace(first, *random.of(SPACES)),
        3 => module
            .insert(first + 1, format!("{} ", random.of(&[".v2", ".v4", ".v8", ".align 8", ".align 3", ".volatile"]))),
        4 => {
            let number = (first..last).find(|&index| matches!(module.get(index), "<" | "["))? + 1;
            module.replace(number, *random.of(&["0", "1", "2", "3", "", "-1", "1.5", "0x4", "4294967296"]))
        }
        5 => {
            // A name loses its last letter.
            let name = (first..last).find(|&index| module.is_operand(index))?;
            let shorter = &module.get(name)[..module.get(name).len() - 1];
            module.replace(name, shorter)
        }
        6 => {
            let (other, end) = module.declaration(random)?;
            Some((whole, format!("{text}\n{}", &module.text[module.span(other, end)])))
        }
        _ => {
            let ty = (first..last).find(|&index| module.is_type(index))?;
            module.replace(ty, random_type(random))
        }
    }
}

fn ty(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let index = module.find(random, |index, _| module.is_type(index))?;
    match random.below(8) {
        0 => module.replace(index, ""),
        1 => module.replace(index, misspelt(random, module.get(index))),
        _ => module.replace(index, random_type(random)),
    }
}

fn label(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let is_label = |index: usize| module.get(index + 1) == ":" && module.is_operand(index) | module.begins(index);
    let index = module.find(random, |index, _| is_label(index))?;
    let other = module.find(random, |index, _| is_label(index))?;
    let (name, other) = (module.get(index), module.get(other));
    let whole = module.span(index, index + 1);
    match random.below(8) {
        0 => Some((whole, String::new())),
        1 => Some((whole, format!("{{ {name}: }}"))),
        2 => module.replace(index, other),
        3 => Some((whole, format!("{name}: {name}:"))),
        4 => {
            let name = *random.of(&["%r1", "ret", "1", "_", ".x", "%tid", "$$", "WARP_SZ"]);
            module.replace(index, name)
        }
        5 => module.replace(index + 1, ""),
        _ => {
            let used = module.find(random, |at, word| word == name && module.get(at + 1) != ":")?;
            module.replace(used, *random.of(&["undeclared", other, "%r1", "1"]))
        }
    }
}

fn brace(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let index = module.find(random, |_, word| matches!(word, "{" | "}"))?;
    match random.below(4) {
        0 => module.replace(index, ""),
        1 => module.replace(index, module.get(index).repeat(2)),
        2 => module.replace(index, *random.of(&["(", ")", "[", "]", "{ }"])),
        _ => {
            let start = module.find(random, |index, _| module.begins(index))?;
            module.insert(start, *random.of(&["{ ", "} ", "{ } "]))
        }
    }
}

/// The elements between two brackets, separated by commas: first and last token of each.
fn elements(module: &Tokens<'_>, open: usize, close: &str) -> Option<(usize, Vec<(usize, usize)>)> {
    let end = module.next(open, &[close])?;
    let mut elements = Vec::new();
    let mut first = open + 1;
    for index in open + 1..=end {
        if index == end || module.get(index) == "," {
            if index > first {
                elements.push((first, index - 1));
            }
            first = index + 1;
        }
    }
    Some((end, elements))
}

/// Changes one of the elements between brackets, or how many they are.
fn change_elements(random: &mut Random, module: &Tokens<'_>, open: usize, close: &str, other: String) -> Option<Edit> {
    let (end, elements) = elements(module, open, close)?;
    let text = |&(first, last): &(usize, usize)| module.text[module.span(first, last)].to_owned();
    let mut texts: Vec<String> = elements.iter().map(text).collect();
    if texts.is_empty() {
        return module.insert(end, other);
    }
    let at = random.below(texts.len());
    match random.below(5) {
        0 => drop(texts.remove(at)),
        1 => texts.insert(at, texts[at].clone()),
        2 => texts.swap(0, at),
        3 => texts.push(other),
        _ => texts[at] = other,
    }
    Some((module.span(elements[0].0, elements.last()?.1), texts.join(", ")))
}

fn parameter(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let open = module.find(random, |index, word| word == "(" && index > 0)?;
    let declared = module.get(open + 1) == ".param" || module.get(open + 1) == ".reg";
    let other = match declared {
        true => format!(".param {} added", random_type(random)),
        false => random.of(OPERANDS).to_string(),
    };
    if declared && random.one_in(2) {
        let (end, _) = elements(module, open, ")")?;
        let at = open + 1 + random.below(end - open - 1);
        return match module.is_type(at) {
            true => module.replace(at, random_type(random)),
            false => module.replace(at, *random.of(&["", ".reg", ".param", ".align 4", ".ptr", ".v2", "added", "4"])),
        };
    }
    change_elements(random, module, open, ")", other)
}

fn vector(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    if random.one_in(3) {
        let is_arity = |word: &str| matches!(word, ".v2" | ".v4" | ".v8");
        if let Some(index) = module.find(random, |_, word| is_arity(word)) {
            return module.replace(index, *random.of(&["", ".v2", ".v4", ".v8", ".v3"]));
        }
    }
    if random.one_in(4) {
        // A type that gets an arity before it.
        let index = module.find(random, |index, _| module.is_type(index))?;
        return module.insert(index, *random.of(&[".v2", ".v4"]));
    }
    let is_vector = |index: usize| index > 0 && !module.begins(index) && !matches!(module.get(index - 1), ")" | "=");
    if random.one_in(4) {
        let index = module.find(random, |index, _| module.is_operand(index))?;
        return module.replace(index, format!("{{{}}}", module.get(index)));
    }
    let open = module.find(random, |index, word| word == "{" && is_vector(index))?;
    if random.one_in(4) {
        let (end, elements) = elements(module, open, "}")?;
        let (first, last) = *elements.first()?;
        return Some((module.span(open, end), module.text[module.span(first, last)].to_owned()));
    }
    let other = module.find(random, |index, _| module.is_operand(index))?;
    change_elements(random, module, open, "}", module.get(other).to_owned())
}

fn initialiser(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let value = *random.of(VALUES);
    let Some(equals) = module.find(random, |_, word| word == "=").filter(|_| !random.one_in(4)) else {
        let (_, last) = module.declaration(random)?;
        return module.insert(last, format!(" = {value}"));
    };
    match (module.get(equals + 1), random.below(4)) {
        (_, 0) => {
            let last = module.next(equals, &[";"])?;
            Some((module.span(equals, last - 1), random.of(&["", "=", "= 1", "= {1, 2}"]).to_string()))
        }
        ("{", _) => change_elements(random, module, equals + 1, "}", value.to_owned()),
        _ => module.replace(equals + 1, value),
    }
}

fn operand(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let index = module.find(random, |index, _| module.is_operand(index))?;
    if random.one_in(3) {
        return module.replace(index, *random.of(OPERANDS));
    }
    let other = module.find(random, |index, _| module.is_operand(index))?;
    module.replace(index, module.get(other))
}

fn opcode(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let index = module.find(random, |index, _| module.is_opcode(index))?;
    if random.one_in(3) {
        return module.replace(index, misspelt(random, module.get(index)));
    }
    module.replace(index, pick_name(random, opcodes()).to_owned())
}

fn statement(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let first = module.find(random, |index, _| module.is_opcode(index))?;
    let last = module.next(first, &[";"])?;
    let span = module.span(first, last);
    let text = near::spoil(random, &module.text[span.clone()]);
    Some((span, text))
}

fn punctuation(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    const MARKS: &[&str] = &[",", ";", ":", "[", "]", "(", ")", "{", "}", "@", "!", "+", "-", "<", ">", "=", "|", "."];
    match random.below(4) {
        0 => {
            let index = module.find(random, |_, _| true)?;
            module.insert(index, *random.of(MARKS))
        }
        1 => {
            let index = module.find(random, |_, word| MARKS.contains(&word))?;
            module.replace(index, *random.of(MARKS))
        }
        _ => {
            let index = module.find(random, |_, word| MARKS.contains(&word))?;
            module.replace(index, "")
        }
    }
}

fn line(random: &mut Random, module: &Tokens<'_>) -> Option<Edit> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in module.text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            lines.push(start..start + line.len());
        }
        start += line.len();
    }
    let at = random.below(lines.len().checked_sub(1)?);
    let (line, next) = (lines[at].clone(), lines[at + 1].clone());
    let text = &module.text[line.clone()];
    match random.below(4) {
        0 => Some((line, String::new())),
        1 => Some((line.start..line.start, text.to_owned())),
        2 => Some((line.start..next.end, format!("{}{text}", &module.text[next]))),
        _ => Some((line.start..line.start, format!("{}\n", random.of(LINES)))),
    }
}
