//! The files of `editors`: what of them is the table's is written from the table.
//!
//! With `PTX_ISA_WRITE=1` the grammar is written anew; without it the test says whether it is what would be written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ptx_isa::TABLE;
use serde_json::{Value, json};

fn editors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("editors")
}

/// Returns a pattern that matches any of the words, tried from longest to shortest so that no word hides a longer one.
fn any<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: BTreeSet<&str> = words.into_iter().collect();
    let mut words: Vec<String> = words.into_iter().map(|word| word.replace('.', r"\.")).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    format!("(?:{})", words.join("|"))
}

fn pattern(name: &str, pattern: impl Into<String>) -> Value {
    json!({ "name": format!("{name}.ptx"), "match": pattern.into() })
}

/// The TextMate grammar of PTX.
fn grammar() -> Value {
    let opcodes = any(TABLE.instructions().map(|instruction| instruction.data().opcode));
    let slots = TABLE.instructions().flat_map(|instruction| instruction.data().slots);
    let modifiers = any(slots.flat_map(|slot| slot.members).copied());
    let types = any(TABLE.types.iter().filter(|ty| !ty.registers.is_empty()).map(|ty| ty.name));
    let spaces = any(TABLE.spaces.iter().map(|space| space.name));
    let of_one = any(TABLE.specials.iter().filter(|special| special.count == 0).map(|special| special.name));
    let of_many = any(TABLE.specials.iter().filter(|special| special.count > 0).map(|special| special.name));
    // Names, and what ends one.
    let (name, end) = (r"[A-Za-z_$%][\w$]*", r"(?![\w$])");
    json!({
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "PTX",
        "scopeName": "source.ptx",
        "patterns": [
            pattern("comment.line.double-slash", "//.*$"),
            { "name": "comment.block.ptx", "begin": r"/\*", "end": r"\*/" },
            pattern("string.quoted.double", "\"[^\"]*\""),
            {
                "match": format!(r"(\.entry)\s+({name})"),
                "captures": {
                    "1": { "name": "keyword.control.directive.ptx" },
                    "2": { "name": "entity.name.function.ptx" },
                },
            },
            {
                "match": format!(r"^\s*({name})\s*:(?!:)"),
                "captures": { "1": { "name": "entity.name.label.ptx" } },
            },
            {
                // A mnemonic: an opcode, and modifiers without blanks.
                "begin": format!(r"(?<![\w$%.]){opcodes}(?=[.\s;]){end}"),
                "beginCaptures": { "0": { "name": "keyword.operator.opcode.ptx" } },
                "end": r"(?![.\w:])",
                "patterns": [
                    pattern("storage.type", format!(r"\.{types}{end}")),
                    pattern("storage.modifier.space", format!(r"\.{spaces}(?:::\w+)?{end}")),
                    pattern("entity.other.attribute-name.modifier", format!(r"\.{modifiers}{end}")),
                    pattern("invalid.illegal.modifier", r"\.[\w:]+"),
                ],
            },
            pattern("storage.type", format!(r"(?<![\w$])\.{types}{end}")),
            pattern("storage.modifier.space", format!(r"(?<![\w$])\.{spaces}(?:::\w+)?{end}")),
            // Vector elements directly follow a name, directives do not.
            pattern("keyword.control.directive", format!(r"(?<![\w$])\.[A-Za-z_]\w*{end}")),
            pattern("variable.language.special", format!(r"(?<![\w$]){of_one}{end}")),
            pattern("variable.language.special", format!(r"(?<![\w$]){of_many}\d+{end}")),
            pattern("variable.other.register", r"%[\w$]+"),
            pattern("constant.numeric.float", format!(r"(?<![\w$%])(?:0[fF][0-9a-fA-F]{{8}}|0[dD][0-9a-fA-F]{{16}}){end}")),
            pattern("constant.numeric.float", r"(?<![\w$%.])\d+\.\d*(?:[eE][+-]?\d+)?"),
            pattern("constant.numeric.integer", format!(r"(?<![\w$%])(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?{end}")),
            pattern("keyword.operator.guard", "@!?"),
        ],
    })
}

#[test]
fn the_grammar_of_ptx_is_that_of_the_table() {
    let path = editors().join("vscode/syntaxes/ptx.tmLanguage.json");
    let wanted = serde_json::to_string_pretty(&grammar()).expect("JSON") + "\n";
    if std::env::var_os("PTX_ISA_WRITE").is_some() {
        fs::write(&path, &wanted).expect("the grammar is written");
    }
    let found = fs::read_to_string(&path).expect("the grammar");
    assert!(found == wanted, "write it anew: PTX_ISA_WRITE=1 cargo test --release --test editors");
}

#[test]
fn every_file_of_the_extension_is_there() {
    let folder = editors().join("vscode");
    let read = |file: &str| -> Value {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    let package = read("package.json");
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    assert!(folder.join(package["main"].as_str().expect("a file")).exists());
    let parts = &package["contributes"];
    for language in parts["languages"].as_array().expect("languages") {
        read(language["configuration"].as_str().expect("a file"));
    }
    for grammar in parts["grammars"].as_array().expect("grammars") {
        assert_eq!(read(grammar["path"].as_str().expect("a file"))["scopeName"], grammar["scopeName"]);
    }
}
