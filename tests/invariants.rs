//! Invariants of the sources that the design names: each test scans the tokens for constructs that must not occur.
//!
//! Comments, descriptions and `#[cfg(test)]` modules are exempt, as examples have to name something.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use ptx_isa::TABLE;
use ptx_isa::selector;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust source that is neither test nor generated, by its path from the root.
fn sources() -> Vec<(String, TokenStream)> {
    let mut paths = vec![root().join("build.rs")];
    for folder in ["src", "macros", "isa-spec/src", "isa-table/src"] {
        files(&root().join(folder), &mut paths);
    }
    let rust = paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let list: Vec<(String, TokenStream)> = rust
        .map(|path| {
            let tokens: TokenStream = fs::read_to_string(&path).unwrap().parse().unwrap();
            (name(&path), without_docs_and_tests(tokens))
        })
        .collect();
    assert!(list.len() > 20, "the scan finds the sources: {}", list.len());
    list
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target" && name != "tests") {
                files(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}

/// Removes `#[doc = "…"]`, `#![doc = "…"]`, and items under `#[cfg(test)]`.
fn without_docs_and_tests(tokens: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(tree) = tokens.next() {
        match tree {
            TokenTree::Punct(hash) if hash.as_char() == '#' => {
                let mut bang = None;
                if matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '!') {
                    bang = tokens.next();
                }
                let Some(TokenTree::Group(group)) = tokens.next() else { continue };
                let text = group.stream().to_string();
                if text.starts_with("doc =") {
                    continue;
                }
                if text == "cfg (test)" || text == "cfg(test)" {
                    // Up to and including the item's body.
                    for tree in tokens.by_ref() {
                        if matches!(&tree, TokenTree::Group(body) if body.delimiter() == Delimiter::Brace) {
                            break;
                        }
                    }
                    continue;
                }
                kept.push(TokenTree::Punct(hash));
                kept.extend(bang);
                kept.push(TokenTree::Group(group));
            }
            TokenTree::Group(group) => {
                let inner = without_docs_and_tests(group.stream());
                let mut new = Group::new(group.delimiter(), inner);
                new.set_span(group.span());
                kept.push(TokenTree::Group(new));
            }
            other => kept.push(other),
        }
    }
    kept.into_iter().collect()
}

/// Every token in order, groups opened.
fn flat(tokens: &TokenStream) -> Vec<TokenTree> {
    let mut list = Vec::new();
    for tree in tokens.clone() {
        list.push(tree.clone());
        if let TokenTree::Group(group) = tree {
            list.extend(flat(&group.stream()));
        }
    }
    list
}

fn place(file: &str, tree: &TokenTree) -> String {
    let start = tree.span().start();
    format!("{file}:{}:{}: `{tree}`", start.line, start.column + 1)
}

/// Everything in the sources that a rule finds at fault.
fn faults(rule: impl Fn(&TokenTree) -> bool) -> Vec<String> {
    let mut list = Vec::new();
    for (file, tokens) in sources() {
        list.extend(flat(&tokens).iter().filter(|tree| rule(tree)).map(|tree| place(&file, tree)));
    }
    list
}

/// The text of a string, byte string or character literal.
fn string(tree: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = tree else { return None };
    let text = literal.to_string();
    let (open, close) = (text.find(['"', '\''])?, text.rfind(['"', '\''])?);
    Some(text[open + 1..close].to_owned())
}

/// The parts of a name: `set_lt`, `SetLt` and `SET_LT` are all `set`, `lt`.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = vec![String::new()];
    let shouting = name.chars().all(|c| !c.is_ascii_lowercase());
    for char in name.chars() {
        if char == '_' {
            parts.push(String::new());
        } else {
            if char.is_ascii_uppercase() && !shouting {
                parts.push(String::new());
            }
            parts.last_mut().unwrap().push(char.to_ascii_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !inside(c)).map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Returns true if the whole text is the name of a target or a version. A message may mention one as an example of the
/// syntax.
fn is_floor(text: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let target = text.strip_prefix("sm_").is_some_and(|rest| number(rest.trim_end_matches(char::is_alphabetic)));
    let version = text.trim_start_matches("ptx ").split_once('.').is_some_and(|(a, b)| number(a) && number(b));
    target || version
}

fn is_number(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Literal(literal) if literal.to_string().starts_with(|c: char| c.is_ascii_digit()))
}

/// Versions and targets in code: a literal of their spelling, `Version::new(7, 8)`, `Target::sm(90)`,
/// `Floor { …, sm: 90 }`, `sm < 20`.
fn floors(tokens: &[TokenTree]) -> Vec<TokenTree> {
    let text = |at: usize| tokens.get(at).map(ToString::to_string).unwrap_or_default();
    let about_floors = |at: usize| {
        matches!(tokens.get(at), Some(TokenTree::Ident(_)))
            && parts(&text(at)).iter().any(|part| ["sm", "ptx", "target", "version", "since"].contains(&part.as_str()))
    };
    let mut found = Vec::new();
    for (at, tree) in tokens.iter().enumerate() {
        let mut fault = string(tree).is_some_and(|text| is_floor(&text));
        if about_floors(at) {
            // `sm(90)`, `Version::new(7, 8)`, `Version { major: 7, … }`
            let call = if text(at + 1) == ":" && text(at + 2) == ":" { at + 4 } else { at + 1 };
            let in_call = matches!(tokens.get(call), Some(TokenTree::Group(group))
                if flat(&group.stream()).iter().any(is_number) && group.delimiter() == Delimiter::Parenthesis);
            let compared = (1..=3).find(|step| !["=", "<", ">", "!", ":", "."].contains(&text(at + step).as_str()));
            let against = compared.is_some_and(|step| step > 1 && tokens.get(at + step).is_some_and(is_number));
            fault |= in_call || against && text(at + 1) != ".";
        }
        if fault {
            found.push(tree.clone());
        }
    }
    found
}

#[test]
fn no_version_or_target_is_written_in_rust() {
    let mut faults = Vec::new();
    for (file, tokens) in sources() {
        faults.extend(floors(&flat(&tokens)).iter().map(|tree| place(&file, tree)));
    }
    assert!(faults.is_empty(), "a version or target is written:\n{}", faults.join("\n"));
}

#[test]
fn the_scan_knows_a_floor_when_it_sees_one() {
    let found = |text: &str| !floors(&flat(&without_docs_and_tests(text.parse().unwrap()))).is_empty();
    for text in [
        "\"sm_20\"",
        "\"sm_90a\"",
        "\"7.8\"",
        "\"ptx 1.4\"",
        "Version::new(7, 8)",
        "Target::sm(90)",
        "if sm < 20 {}",
        "target.sm >= 90",
        "Floor { sm: 53, ptx }",
        "let since = 14;",
    ] {
        assert!(found(text), "{text}");
    }
    for text in ["\"like `sm_90`\"", "sm < below", "Target::sm(number)", "\"1.1.1\"", "version.major", "x < 20"] {
        assert!(!found(text), "{text}");
    }
}

#[test]
fn no_selector_default_is_written_in_rust() {
    let selectors: Vec<_> = TABLE.forms().flat_map(|form| form.selectors()).collect();
    assert!(!selectors.is_empty());
    let mut spellings = BTreeSet::new();
    let mut packed = BTreeSet::new();
    for selector in selectors {
        let spelling = selector.kind.spell(selector.letter, selector.default);
        // The default may be that nothing is written.
        spellings.extend(Some(spelling).filter(|spelling| !spelling.is_empty()));
        if let selector::Kind::Lanes { .. } = selector.kind {
            // Small numbers are numbers of other things, too.
            packed.extend(Some(u64::from(selector.default)).filter(|value| *value > 0xff));
        }
    }
    // `b32` picks lanes in a video instruction and is a type in all others.
    spellings.retain(|spelling| TABLE.types.iter().all(|ty| ty.name != spelling));
    assert!(spellings.contains("b3210") && packed.contains(&0x7654));
    let faults = faults(|tree| {
        if let Some(text) = string(tree) {
            return words(&text).any(|(_, word)| spellings.contains(word));
        }
        let TokenTree::Literal(literal) = tree else {
            return matches!(tree, TokenTree::Ident(ident) if spellings.contains(&ident.to_string()));
        };
        let text = literal.to_string().replace('_', "");
        let hex = text.strip_prefix("0x").map(|digits| digits.trim_end_matches("u32").trim_end_matches("u64"));
        let value = hex.map_or_else(|| text.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok());
        value.is_some_and(|value| packed.contains(&value))
    });
    assert!(faults.is_empty(), "a default is written:\n{}", faults.join("\n"));
}

/// Files that perform and check the memory accesses of kernels, or state what callers guarantee instead.
const KERNEL_MEMORY: [&str; 10] = [
    "src/warp/memory.rs",
    "src/run/raw.rs",
    "src/run/effect/access.rs",
    "src/run/effect/asynchronous.rs",
    "src/run/effect/call.rs",
    "src/run/effect/matrix.rs",
    "src/run/effect/races.rs",
    "src/run/memory.rs",
    "src/run/pending.rs",
    "src/run/launch.rs",
];

/// Files that make and call machine code.
const MACHINE_CODE: [&str; 6] = [
    "src/jit/mod.rs",
    "src/jit/fallback.rs",
    "src/jit/page.rs",
    "src/run/block/native.rs",
    "src/run/block/native/scattered.rs",
    "src/warp/compiled.rs",
];

#[test]
fn unsafe_stands_in_one_module() {
    let with_unsafe: Vec<String> = sources()
        .into_iter()
        .filter(|(_, tokens)| {
            let tokens = flat(tokens);
            let is_unsafe = |tree: &TokenTree| matches!(tree, TokenTree::Ident(ident) if ident == "unsafe");
            // The type of a function that is unsafe to call is not unsafe itself: `unsafe fn(…)`.
            let is_type = |at: usize| matches!(tokens.get(at + 2), Some(TokenTree::Group(_)));
            (0..tokens.len()).any(|at| is_unsafe(&tokens[at]) && !is_type(at))
        })
        .map(|(file, _)| file)
        // Loops over lanes, machine code, and what touches the memory that kernels address.
        .filter(|file| {
            let own = [&KERNEL_MEMORY[..], &MACHINE_CODE].concat();
            !file.contains("src/lanes/") && !own.contains(&file.as_str())
        })
        .collect();
    assert!(with_unsafe.is_empty(), "{with_unsafe:?}");
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("unsafe_code = \"deny\""), "the workspace denies unsafe code");
}

/// A test in a file that no target builds as a test would never run. No library or command is built as one.
#[test]
fn units_that_test_themselves_are_built_for_it() {
    for crate_dir in [".", "isa-spec", "isa-table", "macros", "run", "wasm"] {
        let root = root().join(crate_dir);
        let mut sources = Vec::new();
        files(&root.join("src"), &mut sources);
        let units = fs::read_to_string(root.join("tests/units.rs")).unwrap_or_default();
        let built = |path: &Path| {
            let path = path.strip_prefix(&root).expect("a file of the crate").to_string_lossy().replace('\\', "/");
            units.contains(&format!("\"../{path}\""))
        };
        let untested: Vec<&PathBuf> = sources
            .iter()
            .filter(|path| fs::read_to_string(path).expect("a source").contains("#[cfg(test)]"))
            .filter(|path| !built(path))
            .collect();
        assert!(untested.is_empty(), "not in {crate_dir}/tests/units.rs: {untested:?}");
        let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
        let is_target = |section: &&str| section.starts_with("lib]") || section.starts_with("[bin]]");
        let targets: Vec<&str> = manifest.split("\n[").filter(is_target).collect();
        assert!(!targets.is_empty() && targets.iter().all(|target| target.contains("\ntest = false")), "{targets:?}");
    }
}

#[test]
fn nothing_is_left_to_do() {
    let macros = ["todo", "unimplemented", "dbg"];
    let faults = faults(|tree| matches!(tree, TokenTree::Ident(ident) if macros.contains(&ident.to_string().as_str())));
    assert!(faults.is_empty(), "left to do:\n{}", faults.join("\n"));
}

#[test]
fn no_path_of_one_machine_is_written() {
    let mut paths = vec![root().join("build.rs"), root().join("Cargo.toml")];
    for folder in ["src", "macros", "isa-spec"] {
        files(&root().join(folder), &mut paths);
    }
    let folders = ["home", "root", "work", "tmp", "usr", "Users", "mnt", "opt"];
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let found = folders.iter().find(|folder| line.contains(&format!("/{folder}/")));
            assert!(found.is_none(), "{}:{}: {line}", name(&path), number + 1);
        }
    }
}

/// The way of the data: a module imports only from its left. Those in one place are at one level.
const PIPELINE: [&[&str]; 11] = [
    &["text"],
    &["syntax"],
    &["format", "library", "model"],
    &["program"],
    &["check"],
    &["pseudo"],
    &["plan"],
    &["pages"],
    &["emit"],
    &["script"],
    &["main"],
];

fn level(module: &str) -> usize {
    PIPELINE
        .iter()
        .position(|modules| modules.contains(&module))
        .unwrap_or_else(|| panic!("`{module}` has no place in the pipeline: add it to `PIPELINE` in this test"))
}

/// The modules that `crate::…` paths name, with the token to blame.
fn imports(tokens: &[TokenTree]) -> Vec<(String, TokenTree)> {
    // A re-export of `lib.rs` belongs to the module that defines it.
    let exported = |name: &str| {
        match name {
            "Spec" | "parse" => "syntax",
            "Checked" => "check",
            "Model" | "resolve" => "model",
            "Diagnostic" | "Errors" | "Place" | "Sources" => "text",
            other => return other.to_owned(),
        }
        .to_owned()
    };
    let mut list = Vec::new();
    for window in tokens.windows(4) {
        let path = window[0].to_string() == "crate" && window[1].to_string() == ":" && window[2].to_string() == ":";
        match &window[3] {
            TokenTree::Ident(ident) if path => list.push((exported(&ident.to_string()), window[3].clone())),
            TokenTree::Group(group) if path => {
                let mut first = true;
                for tree in group.stream() {
                    match &tree {
                        TokenTree::Ident(ident) if first => {
                            list.push((exported(&ident.to_string()), tree.clone()));
                            first = false;
                        }
                        TokenTree::Punct(punct) if punct.as_char() == ',' => first = true,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    list
}

#[test]
fn the_compilers_modules_import_from_their_left_only() {
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for (file, tokens) in sources() {
        let Some(path) = file.strip_prefix("isa-spec/src/") else { continue };
        let module = path.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        for (import, tree) in imports(&flat(&tokens)) {
            if level(&import) > level(&module) {
                faults.push(place(&file, &tree));
            }
        }
        seen.insert(module);
    }
    let pipeline: BTreeSet<String> =
        PIPELINE.iter().flat_map(|modules| modules.iter().map(|m| (*m).to_owned())).collect();
    assert_eq!(seen, pipeline, "each module of the compiler has a place in the pipeline");
    assert!(faults.is_empty(), "imports from the right:\n{}", faults.join("\n"));
}

/// At run time nothing of the compiler is linked: it is a build dependency.
#[test]
fn the_library_does_not_link_the_compiler() {
    for (file, tokens) in sources() {
        let compiler = |tree: &TokenTree| matches!(tree, TokenTree::Ident(ident) if ident == "isa_spec");
        if file.starts_with("src/") {
            assert!(!flat(&tokens).iter().any(compiler), "{file}");
        }
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, behind) = manifest.split_once("\n[dependencies]\n").unwrap();
    assert!(!behind.split("\n[").next().unwrap().contains("isa-spec"));
}
