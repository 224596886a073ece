//! Invariants that hold for any input, one function for each reader of text; each panics if its invariant is violated.
//!
//! The fuzz targets call these, and `tests/fuzz.rs` includes this file and replays the corpus on stable Rust.

#[allow(dead_code, reason = "the command line uses more of it")]
#[path = "../../src/cli/batch.rs"]
mod batches;
mod launch;
mod memory;
#[allow(dead_code, reason = "the command line uses more of it")]
#[path = "../../src/cli/names.rs"]
mod names;
#[path = "../../tests/random/mod.rs"]
pub(crate) mod random;

pub use launch::launch;

use isa_spec::Build;
use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Diagnostic, Severity};
use ptx_isa::reference::REFERENCE;
use ptx_isa::reference::text::Terminal;
use ptx_isa::text::module::{Context, Index, Item, Module, Part, Proceed, Visitor, read, visit};
use ptx_isa::text::{Options, Statement, check, completion, effects, mnemonic, spelling};

/// The front end of the spec: a table or a report, the same each time, and no longer than the spec accounts for.
pub fn spec(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let generate = || Build::new().text("fuzz.isa", text).generate().map(drop);
    // A table of `MAX_SPELT` mnemonics, most of them illegal, is what a short text may ask for.
    let generated = memory::bounded(1 << 29, 1 << 10, text.len(), generate);
    let Err(report) = generated else { return };
    assert!(report.starts_with("error: "), "{report}");
    assert!(report.contains("--> ") || report.contains("describes no instruction"), "{report}");
    assert!(report.len() <= (1 << 16) + (text.len() << 10), "a report of {} bytes", report.len());
    assert_eq!(generate(), Err(report));
}

/// One statement: what is read is printed so that it reads back, and a module that holds it alone takes it, too.
pub fn statement(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let mut notes = Vec::new();
    let read = memory::bounded(1 << 16, 1 << 10, text.len(), || Statement::parse_with(&TABLE, text, &mut notes));
    assert_placed(text, &notes);
    match read {
        Ok(statement) => {
            assert!(notes.iter().all(|note| note.severity == Severity::Warning), "{notes:?}");
            assert_reads_back(&statement);
            assert_eq!(verdict(&statement.to_string()), (1, vec![]), "printed alone");
            if text.ends_with(';') && !text.contains("//") {
                assert_eq!(verdict(text), (1, vec![]), "alone in a module");
            }
        }
        Err(error) => {
            assert_eq!((error.severity, notes.as_slice()), (Severity::Error, [].as_slice()));
            assert_placed(text, &[error]);
        }
    }
}

/// A module: findings have places in order, statements read back, and no statement's verdict depends on another's.
pub fn module(input: &[u8]) {
    let options = Options::default();
    let report = memory::bounded(1 << 16, 1 << 10, input.len(), || check(&TABLE, input, &options));
    assert!(report.diagnostics.is_sorted_by_key(|found| found.span.start));
    assert!(report.diagnostics.len() <= input.len() + 2, "{} findings", report.diagnostics.len());
    assert!(report.in_table + report.outside <= input.len());
    let Ok(text) = str::from_utf8(input) else { return };
    assert_placed(text, &report.diagnostics);
    let again = read(&TABLE, input, &options, |item, span| {
        assert!(text.get(span).is_some(), "a part of a module has a place in it");
        if let Item::Statement(statement) = item {
            assert_reads_back(statement);
        }
    });
    assert_eq!(again.diagnostics, report.diagnostics);
    assert_eq!(Module::read(&TABLE, text, &options).0.to_string(), text);
    indexed(text, &report.diagnostics);
    independent(text);
}

/// Asserts that reading a text takes a bounded number of bytes of memory for each byte of text, plus a constant for
/// pending events, whatever findings it has. Reserved memory counts, and a growing buffer counts twice: a third of it
/// is used.
pub fn shape(text: &str) {
    struct Counting;

    impl Visitor<'_> for Counting {
        fn finding(&mut self, _: Diagnostic) -> Proceed {
            Proceed::Count
        }
    }

    memory::bounded(1 << 20, 36, text.len(), || visit(&TABLE, text.as_bytes(), &Options::default(), &mut Counting));
}

/// An index comes with the same findings; its places are in the text and in order, and each offset is in something.
fn indexed(text: &str, findings: &[Diagnostic]) {
    let (index, report) = Index::read(&TABLE, text, &Options::default());
    assert_eq!(report.diagnostics, findings);
    assert!(index.names().windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    assert!(index.parts().windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    let symbols = index.symbols().iter();
    let spans = symbols.flat_map(|symbol| [&symbol.name, &symbol.declaration, &symbol.whole]);
    let spans = spans.chain(index.names().iter().map(|name| &name.span));
    for span in spans.chain(index.parts().iter().map(|part| &part.span)) {
        assert!(text.get(span.clone()).is_some(), "no place in the text: {span:?}");
    }
    // As many places as do not take long.
    for offset in (0..=text.len()).step_by(1 + text.len() / 50) {
        index.context(text, offset);
        index.visible(offset).for_each(|symbol| assert!(symbol.name.start <= offset || symbol.scope.start <= offset));
        assert!(index.name_at(offset).is_none_or(|name| (name.span.start..=name.span.end).contains(&offset)));
    }
}

/// Queries of an editor at places of a module: the symbol of a name, completion, and the explanation of a statement with its
/// requirements and effects. Every edit that a finding offers changes the text, and the edited text is checked again.
pub fn editor(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let options = Options::default();
    let (index, report) = Index::read(&TABLE, text, &options);
    // As many as do not take long.
    for finding in report.diagnostics.iter().take(20) {
        for fix in &finding.fixes {
            let edited = fix.apply(text);
            assert_ne!(edited, text, "an edit that changes nothing: {finding:?}");
            assert_placed(&edited, &check(&TABLE, edited.as_bytes(), &options).diagnostics);
        }
    }
    let (ptx, target) = report.version.zip(report.target).unzip();
    for offset in (0..=text.len()).step_by(1 + text.len() / 20).filter(|offset| text.is_char_boundary(*offset)) {
        index.visible(offset).for_each(|symbol| drop(text[symbol.declaration.clone()].to_owned()));
        index.name_at(offset).map(|name| index.meaning(name));
        if let Context::Mnemonic(Part { mnemonic: Some(span), .. }) = index.context(text, offset) {
            let written = &text[span.start..offset.clamp(span.start, span.end)];
            let before = written.rfind('.').map_or(written, |dot| &written[..dot]);
            for choice in completion::modifiers(&TABLE, before, "", &Options { ptx, target }, |_| true) {
                let longer = format!("{before}.{}", choice.modifier);
                let instruction = TABLE.instruction_of(&longer).expect("what is offered goes on with an opcode");
                assert!(instruction.slots.iter().any(|slot| slot.members.contains(&choice.modifier)), "{longer}");
            }
        }
        if let Some(part) = index.part_at(offset) {
            explained(&text[part.span.clone()], part.mnemonic.as_ref().map(|span| &text[span.clone()]));
        }
    }
}

/// The explanation of a statement or, where it has an error, of its mnemonic.
fn explained(text: &str, mnemonic: Option<&str>) {
    let mut terminal = Terminal { out: Vec::new() };
    if let Ok(statement) = Statement::parse(&TABLE, text) {
        let (needs, effects) = (statement.needs().collect::<Vec<_>>(), statement.effects_in_words(|_| true));
        let page = REFERENCE.form_with(statement.form(), statement.free()).expect("a page for each form");
        return terminal.form(&page, &needs, &effects).expect("memory can be written");
    }
    let Some(mnemonic) = mnemonic else { return };
    match mnemonic::resolve(&TABLE, mnemonic) {
        Ok(found) => drop(effects::of_form_in_words(found.form, &found.free)),
        Err(refusal) => {
            assert_placed(mnemonic, &refusal.reasons);
            refusal.nearest.iter().for_each(|near| drop(spelling::since(*near)));
        }
    }
}

/// Requests: the output has one line for each input line, each an object with one key, and each equal to the answer to
/// that line alone.
pub fn batch(input: &[u8]) {
    let lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    let whole = memory::bounded(1 << 16, 1 << 10, input.len(), || answers(input));
    // An answer to an invalid request names its line number.
    let numbered = |(index, line): (usize, &&[u8])| {
        let answer = String::from_utf8_lossy(&answers(line)).into_owned();
        answer.replacen("{\"error\":\"line 1", &format!("{{\"error\":\"line {}", index + 1), 1)
    };
    let alone: String = lines.iter().enumerate().map(numbered).collect();
    assert_eq!(String::from_utf8_lossy(&whole), alone);
    assert_eq!(whole.iter().filter(|byte| **byte == b'\n').count(), lines.len());
    for answer in whole.split_inclusive(|byte| *byte == b'\n') {
        let answer: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(answer).expect("an object");
        let is = |key, kind: fn(&serde_json::Value) -> bool| answer.get(key).is_some_and(kind);
        assert!(answer.len() == 1, "{answer:?}");
        assert!(is("out", serde_json::Value::is_object) || is("error", serde_json::Value::is_string), "{answer:?}");
    }
}

fn answers(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    batches::run(&mut { input }, &mut out, None).expect("memory can be read and written");
    out
}

/// Every finding says something about a piece of the text.
fn assert_placed(text: &str, findings: &[Diagnostic]) {
    for found in findings {
        assert!(text.get(found.span.clone()).is_some(), "no place in the text: {found:?}");
        assert!(!found.message.is_empty(), "{found:?}");
        assert!(found.fixes.iter().all(|fix| text.get(fix.span.clone()).is_some()), "no place in the text: {found:?}");
    }
}

/// Printing is canonical: it reads back as an equal statement, which is printed alike.
fn assert_reads_back(statement: &Statement<'_>) {
    let printed = statement.to_string();
    let again = Statement::parse(&TABLE, &printed).unwrap_or_else(|error| panic!("`{printed}`: {error}"));
    assert_eq!(again, *statement);
    assert_eq!(again.to_string(), printed);
}

/// Returns the number of statements of a text that are in the table, and its errors, for the newest version and target.
/// Fixes that edit the head are left out.
fn verdict(text: &str) -> (usize, Vec<Diagnostic>) {
    let target = TABLE.targets.iter().map(|known| known.target).max_by_key(|target| target.sm);
    let options = Options { ptx: TABLE.versions.iter().max().copied(), target };
    let report = check(&TABLE, text.as_bytes(), &options);
    let mut errors = report.diagnostics;
    errors.retain(|found| found.severity == Severity::Error);
    errors.iter_mut().for_each(|found| found.fixes.retain(|fix| fix.span.start >= HEAD.len()));
    (report.in_table, errors)
}

/// Text placed before the statements: a function, and the registers that the corpus uses.
const HEAD: &str = ".version 1.0 .target sm_10 .func f () {
    .reg .pred p, q, %p<9>; .reg .b16 %h<9>; .reg .u32 a, b, c, d, %r<9>; .reg .f32 %f<9>;
    .reg .b64 %d<9>; .reg .s32 %s<9>; .reg .f16x2 %x<9>; .reg .v4 .f32 %v<9>;\n";

/// Lines of whole statements have together the findings that each has alone.
fn independent(text: &str) {
    let in_function = |lines: &str| verdict(&format!("{HEAD}{lines}}}"));
    let (mut lines, mut expected) = (String::new(), (0, Vec::new()));
    for line in text.lines().filter(|line| is_whole(line)).take(64) {
        let (count, found) = in_function(line);
        expected.0 += count;
        expected.1.extend(found.into_iter().map(|found| found.shifted(lines.len())));
        lines = lines + line + "\n";
    }
    assert_eq!(in_function(&lines), expected, "{lines}");
}

/// Returns true if a line consists of complete statements only, without blocks or declarations.
fn is_whole(line: &str) -> bool {
    let statements =
        |line: &str| line.split(';').all(|part| part.trim_start().starts_with(|c: char| c.is_alphabetic()));
    let closed = |line: &str| !line.contains(['{', '}', '"', '/', '#', ':']);
    line.strip_suffix(';').is_some_and(|line| statements(line) && closed(line))
}
