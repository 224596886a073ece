//! A new instruction takes one entry and no Rust: entries of many shapes, and what is generated from each.
//!
//! That the output compiles and computes is shown by the crate in `tests/downstream`.

use isa_spec::Build;

/// The generated module, formatted and on one line, so that a signature can be looked for.
fn generated(spec: &str) -> String {
    let rust = Build::new()
        .prelude()
        .text("new.isa", spec)
        .with_scalar()
        .generate()
        .unwrap_or_else(|report| panic!("{report}"));
    rust.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(", )", ")")
}

/// An entry with these syntax lines and sets, operands and semantics, and one example.
fn entry(opcode: &str, syntax: &str, operands: &str, semantics: &str, example: &str) -> String {
    format!(
        "/// Does something.
        instruction {opcode} {{
            section 1.1;
            syntax    {{ {syntax} }}
            operands  {{ {operands} }}
            requires  {{ ptx 1.0, sm_10; }}
            semantics {semantics}
            examples  {{ {example} }}
        }}"
    )
}

#[test]
fn operands_become_parameters_of_their_types() {
    let rust = generated(&entry(
        "pick",
        "pick.type d, a, b, c; .type = { .b16, .s64, .f32, .f16, .bf16x2 };",
        "d, a, b: .type; c: .pred;",
        "{ d = c ? a : b; }",
        "pick.b16 r0, r1, r2, p;",
    ));
    for signature in [
        "pub const fn pick_b16(a: u16, b: u16, c: bool) -> u16 {",
        "pub const fn pick_s64(a: i64, b: i64, c: bool) -> i64 {",
        "pub const fn pick_f32(a: f32, b: f32, c: bool) -> f32 {",
        "pub const fn pick_f16(a: rt::f16, b: rt::f16, c: bool) -> rt::f16 {",
        "pub const fn pick_bf16x2(a: [rt::bf16; 2], b: [rt::bf16; 2], c: bool) -> [rt::bf16; 2] {",
        "pub struct Pick {",
        "pub const BF16X2: Form = Form::at(",
    ] {
        assert!(rust.contains(signature), "{signature}");
    }
}

#[test]
fn two_destinations_become_a_pair() {
    let rust = generated(&entry(
        "test",
        "test.CmpOp.type p|q, a, b; .type = { .u32 }; .CmpOp = { lt, ge };",
        "p, q: .pred; a, b: .type;",
        "{ t = a CmpOp b; p = t; q = !t; }",
        "test.lt.u32 p|q, r1, r2;",
    ));
    assert!(rust.contains("pub const fn test_lt_u32(a: u32, b: u32) -> (bool, bool) {"));
    assert!(rust.contains("pub const fn test_ge_u32(a: u32, b: u32) -> (bool, bool) {"));
    assert!(!rust.contains("test_gt_u32"));
}

#[test]
fn selectors_become_parameters_behind_the_operands() {
    let rust = generated(&entry(
        "bytewise",
        "bytewise.cmp d{.mask}, a{.pick}, b;
         .cmp = CmpOp { .eq }; .mask = subset .b of 4 default .b3210; .pick = lanes .b 4 of 8 default .b3210;",
        "d, a, b: .u32;",
        "{ d = count_true((select_bytes(a as .b32, b as .b32, pick) cmp (b as .u8x4)) & mask); }",
        "bytewise.eq r0.b3, r1.b7777, r2;",
    ));
    let signature = "pub const fn bytewise_eq(a: u32, b: u32, mask: ::ptx_isa::selector::Subset<4>, \
                     pick: ::ptx_isa::selector::Lanes<4, 8>) -> u32 {";
    assert!(rust.contains(signature));
}

#[test]
fn an_entry_may_be_syntax_only() {
    let rust = generated(&entry(
        "load",
        "load{.volatile}.type d, a; .type = { .u8, .f64 };",
        "d: .type destination; a: .u64;",
        "none;",
        "load.volatile.f64 r0, r1;",
    ));
    assert!(!rust.contains("fn load_u8"), "it has no evaluator");
    assert!(rust.contains("load.volatile.u8") && rust.contains("pub const VOLATILE_F64: Form"));
    let evaluations = rust.split("static EVALUATIONS").nth(1).unwrap().split(';').nth(1).unwrap();
    assert_eq!(evaluations.matches("4294967295").count(), 4, "{evaluations}");
    assert!(
        rust.contains("name: \"d\", kind: OperandKind::Scalar, ty: TypeId(6)") && rust.contains("destination: true")
    );
}

#[test]
fn a_new_operator_takes_an_item_and_no_rust() {
    let operator = "
        /// How two values are chosen from.
        operator Choice(a, b) {
            /// The lesser.
            lesser = a < b ? a : b for unsigned, signed;
            /// The greater.
            greater = a > b ? a : b for unsigned, signed;
        }";
    let spec = entry(
        "choose",
        "choose.Choice.type d, a, b; .type = { .u16, .s16, .f32 };",
        "d, a, b: .type;",
        "{ d = a Choice b; }",
        "choose.lesser.s16 r0, r1, r2; refused choose.lesser.f32 r0, r1, r2;",
    );
    let rust = generated(&format!("{operator}\n{spec}"));
    assert!(rust.contains("pub enum Choice {"));
    assert!(rust.contains("pub const fn choose_greater_s16(a: i16, b: i16) -> i16 {"));
    assert!(rust.contains("reason: \"`.lesser` is for unsigned integers and signed integers\""));
}

#[test]
fn an_entry_of_the_table_may_get_another_form_by_one_word() {
    let file = |name: &str| isa_spec::PTX.iter().find(|(other, _)| *other == name).map(|(_, text)| *text).unwrap();
    let video = file("video.isa").replace("{ .eq, .ne, .lt, .le, .gt, .ge }", "{ .eq, .ne, .lt, .le, .gt, .ge, .nan }");
    let templates = file("video_arithmetic.isa");
    let report = Build::new().prelude().text("video_arithmetic.isa", templates).text("video.isa", &video);
    let report = report.generate().map(drop);
    assert_eq!(report, Ok(()), "a member that no type fits gives no form");
    let comparison =
        file("comparison.isa").replace(".dtype = { .u32, .s32, .f32 };", ".dtype = { .u32, .s32, .f32, .f64 };");
    let rust = Build::new().prelude().text("comparison.isa", &comparison).with_scalar().generate().unwrap();
    assert!(rust.contains("pub const fn set_lt_f64_s32(a: i32, b: i32) -> f64 {"));
}

#[test]
fn operators_of_one_rank_group_from_the_left() {
    let builtin = "/// The difference.\nbuiltin sub<T: .u32>(a: T, b: T) -> T;";
    let spec = entry(
        "lessen",
        "lessen.type d, a, b, c; .type = { .u32 };",
        "d, a, b, c: .type;",
        "{ d = a - b - c; }",
        "lessen.u32 r0, r1, r2, r3;",
    );
    let rust = generated(&format!("{builtin}\n{spec}"));
    assert!(rust.contains("rt::sub_u32(rt::sub_u32(a, b), c)"), "{rust}");
}
