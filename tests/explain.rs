//! `ptx-isa explain` and the pages it shows: every form and opcode has one, and nothing of it is written twice.
#![cfg(feature = "cli")]

use std::collections::HashSet;
use std::process::{Command, Output};

use ptx_isa::reference::REFERENCE;
use ptx_isa::reference::form::{FormPage, function, variant};
use ptx_isa::{Form, TABLE};

fn explain(mnemonic: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptx-isa")).args(["explain", mnemonic]).output().expect("the binary runs")
}

fn text(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

#[test]
fn a_form_is_explained_with_its_modifiers_filled_in() {
    let output = explain("setp.lt.ftz.f16");
    assert!(output.status.success());
    for part in ["p, a, b;", "t = flush(a) < flush(b);", "PTX 4.2, sm_53", "section 9.7.7.2", "half.isa:", "16 bits"] {
        assert!(text(&output).contains(part), "{part}\n{}", text(&output));
    }
}

#[test]
fn another_order_of_modifiers_is_understood() {
    let output = explain("setp.f16.ftz.lt");
    assert!(output.status.success());
    assert!(text(&output).starts_with("setp.lt.ftz.f16 "));
    assert!(text(&output).contains("modifiers in any order"));
}

#[test]
fn an_illegal_form_is_refused_with_the_reason_and_the_nearest_forms() {
    let output = explain("setp.lo.s32");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("`.lo` is for unsigned integers"));
    assert!(text(&output).contains("setp.lt.s32"));
}

#[test]
fn a_misspelt_opcode_is_refused_with_the_one_that_is_meant() {
    let output = explain("selpp.b32");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("did you mean `selp`"));
}

#[test]
fn every_opcode_has_a_page() {
    for (instruction, page) in TABLE.instructions.iter().zip(REFERENCE.pages) {
        assert_eq!(instruction.opcode, page.opcode);
        assert!(!page.summary().is_empty() && !page.matrices.is_empty(), "{}", page.opcode);
        let forms: u32 = page.entries.iter().map(|entry| entry.forms).sum();
        assert_eq!(forms, page.forms);
    }
    let output = explain("slct");
    assert!(output.status.success());
    assert!(text(&output).contains("d = t ? a : b;"));
}

#[test]
fn the_matrix_and_the_table_agree() {
    for (index, page) in REFERENCE.pages.iter().enumerate() {
        let forms: HashSet<&str> = Form::ALL
            .iter()
            .filter(|form| usize::from(form.info().instruction) == index)
            .map(|form| form.mnemonic())
            .collect();
        for row in page.matrices.iter().flat_map(|matrix| matrix.groups).flat_map(|group| group.rows) {
            for cell in row.cells {
                assert_eq!(cell.forms == 0, !cell.reason.is_empty());
                assert!(cell.forms == 0 || forms.contains(cell.example));
            }
        }
    }
}

#[test]
fn every_form_names_its_items_in_rust() {
    let generated = include_str!(concat!(env!("OUT_DIR"), "/ptx.rs"));
    let functions: HashSet<&str> =
        generated.split("pub const fn ").skip(1).filter_map(|rest| rest.split('(').next()).collect();
    let variants = generated.split("pub enum Form {").nth(1).and_then(|rest| rest.split('}').next()).expect("an enum");
    let variants: HashSet<&str> = variants.lines().filter_map(|line| line.trim().strip_suffix(',')).collect();
    for form in TABLE.forms {
        let page = FormPage::new(form);
        assert!(variants.contains(variant(form.mnemonic).as_str()), "{}", form.mnemonic);
        assert_eq!(page.function.is_some(), !form.evaluators.is_empty());
        assert!(
            form.evaluators.is_empty() || functions.contains(function(form.mnemonic).as_str()),
            "{}",
            form.mnemonic
        );
    }
}

/// The last lines of the pseudo-code are what the evaluator gives, on every range of targets.
#[test]
fn traces_end_with_what_the_evaluators_give() {
    for form in TABLE.forms.iter().filter(|form| !form.evaluators.is_empty()) {
        let inputs = [0x4000_3c00_7f80_8001, 0x8001_3c00_0001_ff80, 1, 0x0123, 0x4567, 0b11, 0, 0];
        let destination = form.operands.iter().find(|operand| operand.destination).expect("there is one");
        for sm in [10, 90] {
            let [first, second] = form.evaluate(sm, &inputs);
            let trace = REFERENCE.trace(form, sm, &inputs);
            assert_eq!(trace.len(), REFERENCE.trace_of(form, sm).expect("a trace").steps.len());
            let value = |name: &str| {
                let step = trace.iter().rev().find(|step| step.step.line.starts_with(&format!("{name} = ")));
                let step = step.expect("a line gives the destination its value");
                let bits = TABLE.types[step.step.ty.index()].bits;
                step.lanes.iter().rev().fold(0, |all, lane| if bits < 64 { all << bits | lane } else { *lane })
            };
            assert_eq!(value(destination.name), first, "{} {trace:?}", form.mnemonic);
            if let Some(other) = &destination.second {
                assert_eq!(value(other.name), second, "{}", form.mnemonic);
            }
        }
    }
}
