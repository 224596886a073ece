//! From text to validated instructions, against the search for the ends of lines.

use std::hint::black_box;

use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, TypeSet};
use ptx_isa::target::Target;
use ptx_isa::text::module;

use crate::measure::{Random, report};

/// Returns a module of `statements` random statements from the table, formatted as a compiler would write it.
fn module(random: &mut Random, statements: usize) -> String {
    let registers = |set: TypeSet| set.iter().next().map_or("", |first| TABLE.ty(first).name);
    let (version, target) = (*TABLE.versions.last().expect("a version"), Target::sm(100));
    let mut text = format!(".version {version}\n.target {target}\n.address_size 64\n\n.visible .entry kernel()\n{{\n");
    text += "\t.reg .pred \t%q_<100>;\n";
    let declared = TABLE.types.iter().filter(|ty| !ty.registers.is_empty()).map(|ty| registers(ty.registers));
    for ty in std::collections::BTreeSet::from_iter(declared.chain(["pred"])) {
        text += &format!("\t.reg .{ty} \t%{ty}_<100>;\n");
    }
    // Forms that compute, that the target has and that the manual lists: of others each would have a finding.
    let listed = |form: &FormInfo| form.floor().has(version, target, TABLE.families()) && form.lenient().is_none();
    let forms: Vec<_> = TABLE.forms().filter(|form| form.has_evaluator() && listed(form)).collect();
    for _ in 0..statements {
        let form = forms[random.next() as usize % forms.len()];
        let mut register = |ty: &str| format!("%{ty}_{}", random.next() % 100);
        let operands = form.operands().iter().filter(|operand| !operand.optional).map(|operand| {
            let second = operand.second.as_ref().map_or(String::new(), |_| format!("|{}", register("q")));
            let name = match registers(operand.registers) {
                "" => "1".to_owned(),
                ty => register(ty),
            };
            operand.with_around(&(name + &second))
        });
        let operands = operands.collect::<Vec<_>>().join(", ");
        let guard = if random.next().is_multiple_of(8) { "@%pred_0 " } else { "" };
        text += &format!("\t{guard}{} \t{operands};\n", form.mnemonic());
    }
    text + "}\n"
}

/// A module as a compiler wrote it.
const COMPILED: &str = include_str!("../../tests/modules/nvrtc-13.0-compute_90.ptx");

/// Reads a module; how many statements it has.
fn read(text: &str) -> (usize, module::Report) {
    let mut statements = 0;
    let report = module::read(&TABLE, text.as_bytes(), &module::Options::default(), |item, _| {
        if let module::Item::Statement(statement) = item {
            black_box(&statement);
            statements += 1;
        }
    });
    (statements, report)
}

fn split(text: &str) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
        black_box(&text[start..end]);
        start = end + 1;
    }
}

fn row(name: &str, text: &str) {
    let mut ours = || {
        black_box(read(black_box(text)));
    };
    report(name, 0.04, 1, &mut ours, &mut || split(black_box(text)));
}

pub(crate) fn rows(random: &mut Random) {
    const STATEMENTS: usize = 20_000;
    let text = module(random, STATEMENTS);
    let (statements, found) = read(&text);
    assert_eq!((statements, found.diagnostics.first()), (STATEMENTS, None));
    row("text to validated instructions, lines with memchr", &text);
    assert_eq!(read(COMPILED).1.diagnostics.first(), None);
    row("a compiled module, lines with memchr", COMPILED);
}
