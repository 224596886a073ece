//! Queries of editors: where names occur and what they refer to, and which modifiers may follow.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ptx_isa::TABLE;
use ptx_isa::table::InstructionInfo;
use ptx_isa::text::completion;
use ptx_isa::text::mnemonic;
use ptx_isa::text::module::{Context, Index, Item, Options, SymbolKind, read};
use ptx_isa::text::statement::{Register, Value};

fn modules() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/modules");
    let files = fs::read_dir(folder).expect("the modules").map(|entry| entry.expect("a file").path());
    files.map(|path| (path.display().to_string(), fs::read_to_string(&path).expect("text"))).collect()
}

#[test]
fn every_register_of_every_statement_is_found_with_its_declaration() {
    for (file, text) in modules() {
        let (index, report) = Index::read(&TABLE, &text, &Options::default());
        assert!(report.in_table > 10, "{file}");
        let mut registers = 0;
        let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        read(&TABLE, text.as_bytes(), &Options::default(), |item, span| {
            let Item::Statement(statement) = item else { return };
            let part = index.part_at(span.start).expect("a part");
            assert_eq!(part.span, span);
            let mnemonic = &text[part.mnemonic.clone().expect("a statement has a mnemonic")];
            assert!(mnemonic.starts_with(statement.form().instruction().opcode), "{file}: {mnemonic}");
            let guard = statement.guard().map(|guard| guard.register);
            let written = statement.operands().iter().filter_map(|operand| match operand.value {
                Value::Register(Register { name, .. }) | Value::Negated(Register { name, .. }) => Some(name),
                _ => None,
            });
            for register in guard.into_iter().chain(written).filter(|name| TABLE.special(name).is_none()) {
                let name = index.name_at(place(register)).expect("a name");
                assert_eq!((&text[name.span.clone()], name.declares), (register, false), "{file}");
                let symbol = index.meaning(name).unwrap_or_else(|| panic!("{file}: {register} is declared"));
                let declared = &text[symbol.name.clone()];
                let family = matches!(symbol.kind, SymbolKind::Register { count: Some(_), .. });
                let number = register.strip_prefix(declared).expect("it begins as what declares it");
                assert_eq!(number.bytes().all(|byte| byte.is_ascii_digit()), family || number.is_empty(), "{register}");
                assert!(symbol.scope.contains(&name.span.start) && text[symbol.declaration.clone()].contains(declared));
                registers += 1;
            }
        });
        assert!(registers > 10, "{file}: {registers}");
        assert!(index.names().is_sorted_by_key(|name| name.span.start));
        assert!(index.names().windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
        assert!(index.parts().windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    }
}

#[test]
fn scopes_hide_and_end() {
    let text = ".version 7.0 .target sm_80 .func f(.reg .b32 x) { { .reg .f32 x; neg.f32 x, x; } neg.s32 x, x; }
        .entry k() { bra x; x: ret; }";
    let (index, report) = Index::read(&TABLE, text, &Options::default());
    assert_eq!(report.errors(), 0, "{:?}", report.diagnostics);
    let meanings: Vec<usize> = text
        .match_indices('x')
        .filter_map(|(at, _)| index.name_at(at).filter(|name| name.span.len() == 1))
        .map(|name| index.meaning(name).expect("each is declared").name.start)
        .collect();
    let [parameter, inner, label] = [0, 1, 7].map(|nth| text.match_indices('x').nth(nth).unwrap().0);
    assert_eq!(meanings, [parameter, inner, inner, inner, parameter, parameter, label, label]);
    let visible = |piece: &str| -> Vec<&str> {
        index.visible(text.find(piece).unwrap()).map(|symbol| &text[symbol.declaration.clone()]).collect()
    };
    assert_eq!(visible("neg.f32"), [".func f(.reg .b32 x)", ".reg .b32 x", ".reg .f32 x"]);
    assert_eq!(visible("neg.s32"), [".func f(.reg .b32 x)", ".reg .b32 x"]);
    assert_eq!(visible("ret"), [".func f(.reg .b32 x)", ".entry k()", "x"]);
}

#[test]
fn an_offset_is_in_what_stands_there() {
    let text = ".version 7.0 .target sm_80 .entry k() { // add\n @%p add.s32 %r1, /* , */ 2; .pragma \"a\"; }";
    let (index, _) = Index::read(&TABLE, text, &Options::default());
    let context = |piece: &str, behind: usize| match index.context(text, text.find(piece).unwrap() + behind) {
        Context::Aside => "aside",
        Context::Start => "start",
        Context::Mnemonic(_) => "mnemonic",
        Context::Operands(_) => "operands",
        Context::Directive(_) => "directive",
    };
    let places = [("// add", 4, "aside"), ("@%p", 0, "start"), ("@%p", 2, "operands"), ("add.s32", 3, "mnemonic")];
    let more = [("%r1", 1, "operands"), ("/* , */", 3, "aside"), ("2;", 0, "operands"), ("2;", 2, "start")];
    let rest = [("7.0", 1, "directive"), ("k()", 1, "directive"), ("\"a\"", 1, "aside"), (" }", 0, "start")];
    for (piece, behind, wanted) in places.into_iter().chain(more).chain(rest) {
        assert_eq!(context(piece, behind), wanted, "{piece} {behind}");
    }
}

fn choices(before: &str, after: &str) -> Vec<&'static str> {
    completion::modifiers(&TABLE, before, after, &Options::default(), |_| true)
        .iter()
        .map(|choice| choice.modifier)
        .collect()
}

#[test]
fn each_modifier_of_each_form_is_offered_in_its_place() {
    for form in TABLE.forms().step_by(11) {
        // The mnemonic of such a form is none: what is free may be needed.
        if form.syntax().free {
            continue;
        }
        let mnemonic = form.mnemonic();
        let opcode = form.instruction().opcode.len();
        for (dot, _) in mnemonic.match_indices('.').filter(|(dot, _)| *dot >= opcode) {
            let end = mnemonic[dot + 1..].find('.').map_or(mnemonic.len(), |next| dot + 1 + next);
            let (before, word) = (&mnemonic[..dot], &mnemonic[dot + 1..end]);
            // A longer opcode may begin with this one.
            if TABLE.instruction_of(before).map(|instruction| instruction.opcode) == Some(form.instruction().opcode) {
                assert!(choices(before, &mnemonic[end..]).contains(&word), "{mnemonic}: {word}");
            }
        }
    }
}

/// Whoever takes what is offered until nothing is, has a mnemonic.
#[test]
fn what_is_offered_leads_to_a_form() {
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut ends = BTreeSet::new();
    let opcodes: Vec<InstructionInfo> = TABLE.instructions().collect();
    for instruction in &opcodes {
        for _ in 0..5 {
            let mut mnemonic = instruction.opcode.to_owned();
            loop {
                let offered = choices(&mnemonic, "");
                if offered.is_empty() {
                    break;
                }
                mnemonic = format!("{mnemonic}.{}", offered[random(offered.len())]);
            }
            match mnemonic::resolve(&TABLE, &mnemonic) {
                Ok(resolved) => assert!(!resolved.reordered, "{mnemonic}"),
                Err(refusal) => panic!("{mnemonic}: {}", refusal.reasons[0]),
            }
            ends.insert(mnemonic);
        }
    }
    assert!(ends.len() > opcodes.len());
}
