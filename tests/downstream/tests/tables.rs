//! Three tables of another project: an extension of ours, the same inline, and a standalone one.

use downstream::{bits, inline, named, toy};
use ptx_isa::TABLE;
use ptx_isa::text::{self, Statement};
use ptx_isa::warp::{Program, Registers, Row};

const ONES: u32 = bits::scalar::tally_b64(u64::MAX);

#[test]
fn an_instruction_of_its_own_evaluates() {
    assert_eq!(ONES, 64);
    let form: bits::Form = "tally.b32".parse().unwrap();
    assert_eq!(form.evaluate(&[0xff]), [8]);
    assert_eq!((form.since().to_string(), form.target().to_string()), ("2.0".into(), "sm_20".into()));
}

/// The crate's table holds its own entry, and answers for ours.
#[test]
fn a_table_stands_on_another() {
    assert_eq!(bits::Form::COUNT, 2);
    assert_eq!(bits::TABLE.forms().count(), TABLE.forms().count() + 2);
    assert_eq!(bits::TABLE.form("selp.u32"), TABLE.form("selp.u32"));
    assert_eq!(TABLE.form("tally.b32"), None);
    assert_eq!(bits::TABLE.instruction("tally").unwrap().forms().count(), 2);
    assert!(bits::TABLE.instruction("setp").is_some());
    // Types mean the same in both.
    let named = |table: &ptx_isa::table::Table| table.type_named("f32");
    assert_eq!(named(&bits::TABLE), named(&TABLE));
}

#[test]
fn modules_are_checked_against_both() {
    let module = b".version 8.6 .target sm_90
        .entry k() { .reg .pred p; .reg .b32 r; .reg .f32 f;
            tally.b32 r, r; setp.lt.u32 p, r, 3; tally.b64 r, r; setp.lo.f32 p, f, f; taly.b32 r, r; }";
    let report = text::check(&bits::TABLE, module, &Default::default());
    let codes: Vec<&str> = report.diagnostics.iter().map(|found| found.code.as_str()).collect();
    assert_eq!((report.in_table, codes), (4, vec!["operand-type", "illegal-modifier", "unknown-opcode"]));
    let ours = text::check(&TABLE, module, &Default::default());
    assert_eq!((ours.in_table, ours.outside), (2, 3));
    let near = Statement::parse(&bits::TABLE, "tallyy.b32 r, r;").unwrap_err();
    assert!(near.help.unwrap().contains("tally"));
}

#[test]
fn programs_run_over_both() {
    let registers = Registers { b32: 2, pred: 1, ..Registers::default() };
    let mut program = Program::new(registers, 90);
    for line in ["tally.b32 %r1, %r0;", "setp.eq.u32 %p0, %r1, 4;"] {
        let statement = Statement::parse(&bits::TABLE, line).unwrap();
        program.push_statement(&statement, |register, ty| Some(Row::of(ty, register.name[2..].parse().ok()?))).unwrap();
    }
    let mut warps = program.warps(2);
    *warps.b32_mut(1, 0) = std::array::from_fn(|lane| lane as u32);
    program.run(&mut warps);
    let four = 1 << 15 | 1 << 23 | 1 << 27 | 1 << 29 | 1 << 30;
    assert_eq!((warps.b32(1, 1)[31], warps.pred(0, 0), warps.pred(1, 0)), (5, 0, four));
}

#[test]
fn one_macro_names_instructions_of_both() {
    assert_eq!((named::SELECTED, named::COUNTED), (2, 64));
    let texts = named::built().map(|statement| statement.to_string());
    assert_eq!(texts, ["tally.b32 %r1, %r2;", "@!%p1 setp.lt.u32 %p1, %r1, 0x7;"]);
}

#[test]
fn the_reference_has_pages_of_both() {
    let reference = &bits::reference::REFERENCE;
    assert_eq!(reference.page("tally").unwrap().forms, 2);
    assert_eq!(reference.page("selp").unwrap().entries[0].section, "9.7.6.3");
    for mnemonic in ["tally.b32", "setp.lt.u32"] {
        let form = bits::TABLE.form(mnemonic).unwrap();
        let inputs = &[7, 8][..form.sources().count()];
        let trace = reference.trace(form, 90, inputs);
        assert_eq!(trace.last().map(|last| last.lanes[0]), form.evaluate(90, inputs).last().copied(), "{mnemonic}");
        assert_eq!(reference.form(form).unwrap().page.opcode, form.instruction().opcode);
    }
}

#[test]
fn the_inline_table_is_the_same() {
    let text = |table: &ptx_isa::table::Table| format!("{:?}", table.data);
    let source = |text: &str| text.split("source: \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (file, inline) = (text(&bits::TABLE), text(&inline::TABLE));
    assert_eq!((source(&file).as_str(), source(&inline).as_str()), ("spec/bits.isa:9", "src/lib.rs:54"));
    assert_eq!(file.replace("spec/bits.isa:9", ""), inline.replace("src/lib.rs:54", ""));
}

#[test]
fn a_table_may_stand_alone() {
    assert_eq!(toy::Form::COUNT, 2);
    assert_eq!(toy::scalar::blend(0x81, 0), 3);
    assert_eq!(toy::scalar::blend_twice(0x81, 1), 5);
    let twice = toy::Blend { twice: true }.form().unwrap();
    assert_eq!((twice.mnemonic(), twice.target().to_string()), ("blend.twice", "sm_2".to_owned()));
}
