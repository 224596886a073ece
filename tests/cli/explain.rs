//! `ptx-isa explain` and the pages it shows: every form and opcode has one, and nothing of it is written twice.

use std::collections::HashSet;
use std::process::{Command, Output};

use ptx_isa::reference::form::takes;
use ptx_isa::reference::{Computed, REFERENCE};
use ptx_isa::table::{FormInfo, OperandKind};
use ptx_isa::target::Version;
use ptx_isa::text::mnemonic::resolve;
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
fn an_opcode_that_is_no_mnemonic_by_itself_has_its_page() {
    // Its form has no modifier of its own, and needs a free one.
    let bare = |form: &FormInfo| form.mnemonic() == form.instruction().opcode;
    let illegal = |form: &FormInfo| resolve(&TABLE, form.mnemonic()).is_err();
    let form = TABLE.forms().find(|form| bare(form) && illegal(form)).expect("there is such a form");
    let output = explain(form.mnemonic());
    assert!(output.status.success() && text(&output).contains(" form"), "{}", text(&output));
}

#[test]
fn an_illegal_form_is_refused_with_the_reason_and_the_nearest_forms() {
    let output = explain("setp.lo.s32");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("`.lo` is for unsigned integers"));
    assert!(text(&output).contains("setp.lt.s32"));
}

#[test]
fn an_opcode_is_found_by_what_else_it_is_called() {
    let output = explain("popcount");
    assert!(output.status.success() && text(&output).starts_with("popc "), "{}", text(&output));
    // Several have a line each.
    let output = explain("Tensor core");
    assert!(output.status.success(), "{}", text(&output));
    for opcode in ["mma", "wgmma.mma_async", "tcgen05.mma"] {
        assert!(text(&output).lines().any(|line| line.split(' ').next() == Some(opcode)), "{}", text(&output));
    }
    assert_eq!(explain("popcounts").status.code(), Some(1));
    for (name, opcode) in [
        ("__popc", "popc"),
        ("__shfl_down_sync", "shfl"),
        ("__ballot_sync", "vote"),
        ("__syncthreads", "bar"),
        ("wmma::mma_sync", "wmma.mma"),
        ("__byte_perm", "prmt"),
        ("atomicAdd", "atom"),
        ("vprintf", "call"),
    ] {
        let output = explain(name);
        let first = text(&output).lines().filter_map(|line| line.split(' ').next()).any(|first| first == opcode);
        assert!(output.status.success() && first, "{name}: {}", text(&output));
    }
}

#[test]
fn names_of_cuda_are_shown_as_they_are_spelt() {
    for (opcode, name) in [("popc", "__popc,"), ("shfl", "__shfl_up_sync,"), ("bar", "__syncthreads")] {
        let output = explain(opcode);
        assert!(text(&output).contains(name), "{}", text(&output));
    }
}

/// What every form of a section needs comes first, and each condition adds to it.
#[test]
fn floors_of_a_section_do_not_contradict_each_other() {
    let version = |text: Option<&str>| text.map(|text| text.parse::<Version>().expect("a version"));
    for page in REFERENCE.pages() {
        for entry in page.entries {
            let mut listed = entry.floors.iter().filter(|floor| floor.lenient.is_none());
            let every = listed.next().expect("a floor");
            assert!(every.subject.is_none() && every.ptx.is_some() && every.target.is_some(), "{}", page.opcode);
            for floor in listed {
                assert!(floor.subject.is_some() && floor.words.is_some(), "{}", page.opcode);
                let is_later = version(floor.ptx) > version(every.ptx);
                let is_higher = floor.target.is_some_and(|target| Some(target) != every.target);
                assert!(is_later || is_higher, "{}: {floor:?} adds nothing to {every:?}", page.opcode);
                assert!(is_later || floor.ptx.is_none(), "{}: {floor:?} is below {every:?}", page.opcode);
            }
        }
    }
    // All forms of the section are for this type, so that its requirement is that of every form.
    let entries = REFERENCE.page("add").expect("a page").entries;
    let doubles = entries.iter().find(|entry| entry.operands[0].types == ["f64"]).expect("a section");
    let rows: Vec<_> = doubles.floors.iter().map(|floor| (floor.subject, floor.ptx, floor.target)).collect();
    assert_eq!(rows, [(None, Some("1.0"), Some("sm_13")), (None, None, Some("sm_10"))]);
}

#[test]
fn a_statement_is_explained_in_its_own_terms() {
    let evened = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let output = explain("st.global.u32 [%rd1+4], %r1;");
    let shown = evened(text(&output));
    for part in
        ["a read [%rd1+4]: an address; registers", "b read %r1: 1 of .u32", "Writes 4 bytes at [%rd1+4] in .global"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(evened(text(&explain("st.global.u32"))).contains("a read an address; registers"));
}

/// As `check` does: a constant is an address in some state spaces only.
#[test]
fn constant_addresses_depend_on_the_space() {
    let mut found = HashSet::new();
    for space in TABLE.spaces {
        let Ok(resolved) = resolve(&TABLE, &format!("ld.{}.u32", space.name)) else { continue };
        let address = resolved.form.operands().iter().find(|operand| operand.kind == OperandKind::Address);
        let takes = takes(resolved.form, &resolved.free, address.expect("an address"));
        assert_eq!(takes.iter().any(|phrase| phrase.contains("constants")), space.constants, "{}", space.name);
        found.insert(space.constants);
    }
    assert_eq!(found.len(), 2);
}

#[test]
fn a_matrix_is_shown_with_who_holds_what() {
    let output = explain("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
    let shown = text(&output);
    assert!(shown.contains("16 × 16 elements; each lane has 4 registers of 2 elements"), "{shown}");
    // Row 9 of the left factor: lanes 4 to 7 have it, in their second and their fourth register.
    let row = "9 T4 2–3 T5 2–3 T6 2–3 T7 2–3 T4 6–7 T5 6–7 T6 6–7 T7 6–7";
    let evened = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.lines().any(|line| evened(line) == row), "{shown}");
    // So it is what the bits of a descriptor mean.
    let output = explain("tcgen05.cp");
    assert!(text(&output).lines().any(|line| line.trim().starts_with("63:61  swizzle")), "{}", text(&output));
}

#[test]
fn a_misspelt_opcode_is_refused_with_the_one_that_is_meant() {
    let output = explain("selpp.b32");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("did you mean `selp`"));
}

#[test]
fn every_opcode_has_a_page() {
    for (instruction, page) in TABLE.instructions().zip(REFERENCE.pages()) {
        assert_eq!(instruction.opcode, page.opcode);
        // The combinations of modifiers are shown if there is a choice.
        let chosen = instruction.slots.iter().any(|slot| !slot.free);
        assert!(!page.summary.is_empty() && (!page.matrices.is_empty() || !chosen), "{}", page.opcode);
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
            .filter(|form| form.info().instruction().index() == index)
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
    let functions: HashSet<&str> = include_str!(concat!(env!("OUT_DIR"), "/functions.rs"))
        .lines()
        .filter_map(|line| line.trim().split_once(' ')?.1.split('(').next())
        .collect();
    let mut constants = HashSet::new();
    let mut of = "";
    for line in include_str!(concat!(env!("OUT_DIR"), "/ptx.rs")).lines() {
        if let Some(name) = line.strip_prefix("impl ").and_then(|rest| rest.strip_suffix(" {")) {
            of = name;
        }
        if let Some((name, "Form")) =
            line.trim().strip_prefix("pub const ").and_then(|rest| rest.split(" =").next()?.split_once(": "))
        {
            constants.insert(format!("{of}::{name}"));
        }
    }
    for form in TABLE.forms() {
        let page = REFERENCE.form(form).expect("every form has a page");
        assert!(constants.contains(&page.constant), "{}", page.constant);
        assert_eq!(page.function.is_some(), form.has_evaluator());
        assert!(page.function.is_none_or(|function| functions.contains(function.as_str())), "{form:?}");
    }
}

/// The last lines of the pseudo-code are what the evaluator gives, on every range of targets.
#[test]
fn traces_end_with_what_the_evaluators_give() {
    for form in TABLE.forms().filter(|form| form.has_evaluator()) {
        let inputs = [0x4000_3c00_7f80_8001, 0x8001_3c00_0001_ff80, 1, 0x0123, 0x4567, 0b11, 0, 0];
        let inputs = &inputs[..form.sources().count() + form.selectors().count()];
        for sm in [10, 90] {
            let outputs = form.evaluate(sm, inputs);
            let trace = REFERENCE.trace(form, sm, inputs);
            assert!(!trace.is_empty());
            let value = |name: &str| {
                let of = |computed: &&Computed| computed.line.starts_with(&format!("{name} = "));
                // Lines without lanes only state that a result is unspecified.
                let computed = trace.iter().rev().filter(|computed| !computed.lanes.is_empty()).find(of);
                let computed = computed.expect("a line gives the destination its value");
                let bits = TABLE.ty(computed.step.ty).lane_bits();
                computed.lanes.iter().rev().fold(0_u128, |all, lane| all.unbounded_shl(bits) | lane)
            };
            for ((name, _), output) in form.results().zip(outputs.iter()) {
                assert_eq!(value(name), *output, "{form:?} {trace:?}");
            }
        }
    }
}

#[test]
fn what_is_there_is_asked_for_a_machine() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ptx-isa")).args(arguments).output().expect("the binary runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let old = run(&["table", "--target", "sm_75", "--ptx", "7.0", "setp.lt.*"]);
    let new = run(&["table", "--target", "sm_90", "setp.lt.*"]);
    assert!(old.contains("setp.lt.f16 ") && !old.contains("setp.lt.bf16 "), "{old}");
    assert!(new.contains("setp.lt.f16 ") && new.contains("setp.lt.bf16 "), "{new}");
    // Forms that the assembler accepts by demotion are listed as well.
    assert!(run(&["table", "--target", "sm_11", "--ptx", "1.0", "setp.lt.f64"]).ends_with("1 form\n"));

    let asked = |target| run(&["explain", "--target", target, "--ptx", "7.8", "setp.lt.bf16"]);
    assert!(asked("sm_90").contains("PTX 7.8, sm_90\n  Available."), "{}", asked("sm_90"));
    assert!(asked("sm_89").contains("PTX 7.8, sm_89\n  Not available."), "{}", asked("sm_89"));
    let opcode = run(&["explain", "--ptx", "1.0", "selp"]);
    assert!(opcode.contains("11 of 11 forms"), "{opcode}");
}
