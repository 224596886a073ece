//! A new instruction takes one entry and no Rust: what another project's entries become.

use downstream::shapes::{BoolOp, Form, Instruction, Load, Match, ScalarType, TABLE, scalar};
use ptx_isa::eval::f16;
use ptx_isa::selector::{Lanes, Subset};
use ptx_isa::table::Outputs;
use ptx_isa::text;
use ptx_isa::warp::{Operands, Program, Registers, Source};

fn evaluate(mnemonic: &str, sm: u16, inputs: &[u128]) -> Outputs {
    TABLE.form(mnemonic).unwrap_or_else(|| panic!("{mnemonic}")).evaluate(sm, inputs)
}

#[test]
fn every_entry_has_its_forms() {
    let mut mnemonics: Vec<&str> = Form::ALL.iter().map(|form| form.mnemonic()).collect();
    mnemonics.sort();
    let expected = "ages.u32 combine.and.pred combine.or.pred combine.xor.pred constant.b16 constant.f32 constant.f64 \
        constant.s16 constant.u64 copy halve.b32 halve.s32 hygiene.f32 hygiene.u32 lanes.ge lanes.gt load.b64 load.u32 load.u8 \
        load.volatile.b64 load.volatile.u32 match.fn.b16 match.fn.b64 match.fn.loop.b16 match.fn.loop.b64 own.fam.u32 \
        own.u32 sort.f16x2 sort.f64 sort.s32 sort.u16 store.u32 store.u8 sum.u32 wide.b128";
    assert_eq!(mnemonics, expected.split_whitespace().collect::<Vec<_>>());
    for form in Form::ALL {
        assert_eq!(form.mnemonic().parse::<Form>().unwrap(), *form);
        assert_eq!(form.instruction().form().unwrap(), *form);
    }
}

#[test]
fn typed_functions_have_the_signatures_of_their_entries() {
    assert_eq!(scalar::copy(7_u32), 7_u32);
    assert_eq!(scalar::sum_u32(u32::MAX, 2), 1);
    assert!(scalar::combine_xor_pred(true, false));
    assert_eq!(scalar::sort_s32(3, -4), (-4, 3));
    assert_eq!(scalar::sort_f64(f64::INFINITY, 0.0), (0.0, f64::INFINITY));
    let (one, two) = (f16::from_bits(0x3c00), f16::from_bits(0x4000));
    assert_eq!(scalar::sort_f16x2([two, one], [one, two]), ([one, one], [two, two]));
    assert_eq!(scalar::hygiene_f32(1.0, 2.0, 1.5, true), (true, false));
    assert_eq!(scalar::match_fn_b16(1, 2, true), 1);
    assert_eq!(scalar::match_fn_loop_b64(1, 2, true), 2);
    assert_eq!((scalar::constant_s16(true), scalar::constant_f32(true)), (0x7fff, 1.5));
    const COUNT: u32 =
        scalar::lanes_gt(0x0001_0002, 0, Subset::from_bits(0b11), Lanes::new([0, 1]).expect("below four"));
    assert_eq!(COUNT, 2);
}

#[test]
fn evaluators_on_bits_agree_with_the_entries() {
    assert_eq!(evaluate("copy", 90, &[0xdead_beef_0000_0007]), [7]);
    assert_eq!(evaluate("combine.and.pred", 90, &[1, 1]), [1]);
    assert_eq!(evaluate("sort.u16", 90, &[0xffff, 0x1_0001]), [1, 0xffff]);
    assert_eq!(evaluate("sort.f16x2", 90, &[0x3c00_4000, 0x4000_3c00]), [0x3c00_3c00, 0x4000_4000]);
    assert_eq!(evaluate("constant.f64", 90, &[1]), [1.5_f64.to_bits().into()]);
    assert_eq!(evaluate("constant.b16", 90, &[0]), [0]);
    assert_eq!(evaluate("match.fn.b64", 90, &[u64::MAX.into(), 3, 0]), [3]);
    // Each input and output where it belongs, whatever it is called.
    for c in 0..2 {
        for (d, x, v1) in [(1, 2, 3), (2, 1, 3), (1, 3, 2), (3, 2, 1)] {
            let (t, u) = (d < x, x < v1);
            let expected = [u128::from(t && c == 1), u128::from(u || t != (c == 1))];
            assert_eq!(evaluate("hygiene.u32", 90, &[d, x, v1, c]), expected, "{d} {x} {v1} {c}");
        }
    }
    // The lanes of b are 0xffff and 1; those of a and b together 2, 1, 1, 0xffff.
    let (a, b) = (0x0001_0002, 0xffff_0001);
    assert_eq!(evaluate("lanes.gt", 90, &[a, b, 0b10, 0x03]), [1]);
    assert_eq!(evaluate("lanes.ge", 90, &[a, b, 0b11, 0x33]), [1]);
    assert_eq!(evaluate("lanes.ge", 90, &[a, b, 0b01, 0x33]), [0]);
}

#[test]
fn each_range_of_targets_has_its_evaluator() {
    for (sm, expected) in [(10, 1), (19, 1), (20, 2), (89, 2), (90, 3), (u16::MAX, 3)] {
        assert_eq!(evaluate("ages.u32", sm, &[1, 2, 3]), [expected], "sm_{sm}");
    }
    assert_eq!(scalar::ages_u32(1, 2, 3), 3);
}

#[test]
fn entries_without_semantics_have_syntax_and_validity() {
    for mnemonic in ["load.u8", "load.volatile.b64", "store.u32"] {
        let form = TABLE.form(mnemonic).unwrap();
        assert!(!form.has_evaluator(), "{mnemonic}");
        let destinations = form.operands().iter().filter(|operand| operand.destination).count();
        assert_eq!(destinations, usize::from(mnemonic.starts_with("load")), "{mnemonic}");
    }
    let error = Load { volatile: true, ty: ScalarType::U8 }.form().unwrap_err();
    assert_eq!(error.to_string(), "`.volatile` needs `.type` to be `.u32` or `.b64`");
    assert_eq!(TABLE.form("load.volatile.u32").unwrap().floor().ptx, ptx_isa::target::Version::new(1, 1));
}

#[test]
fn selectors_keep_their_letters_and_defaults() {
    let form = TABLE.form("lanes.gt").unwrap();
    let found: Vec<_> = form.selectors().map(|selector| (selector.name, selector.letter, selector.default)).collect();
    assert_eq!(found, [("keep", 'w', 0b10), ("pick", 'w', 0x03)]);
}

#[test]
fn structs_of_another_table_are_its_own() {
    let form = Match { r#fn: true, r#loop: true, ty: ScalarType::B16 }.form().unwrap();
    assert_eq!(form.to_string(), "match.fn.loop.b16");
    assert!(matches!(form.instruction(), Instruction::Match(Match { r#loop: true, .. })));
    assert_eq!(BoolOp::Xor.to_string(), "xor");
    assert_eq!(ptx_isa::TABLE.form("copy").map(|form| form.mnemonic()), None);
}

/// One body for each type, where the entry does not say that the bits are all that matters.
#[test]
fn types_of_one_width_keep_their_bodies() {
    let registers = Registers { b32: 3, ..Registers::default() };
    let mut program = Program::new(registers, 90);
    for (mnemonic, destination) in [("halve.b32", 1), ("halve.s32", 2)] {
        assert_eq!(evaluate(mnemonic, 90, &[0xffff_fffe]), [if destination == 1 { 0x7fff_ffff } else { 0xffff_ffff }]);
        let form = TABLE.form(mnemonic).unwrap();
        let operands =
            Operands { destinations: &[Some(destination)], sources: &[Source::Register(0)], ..Operands::default() };
        program.push(form, &operands).unwrap();
    }
    let mut warps = program.warps(1);
    *warps.b32_mut(0, 0) = [0xffff_fffe; 32];
    program.run(&mut warps);
    assert_eq!((warps.b32(0, 1)[7], warps.b32(0, 2)[7]), (0x7fff_ffff, 0xffff_ffff));
}

#[test]
fn registers_of_128_bits_are_whole_and_no_warp_has_them() {
    let (a, b) = (u128::MAX << 100 | 7, 1 << 99);
    assert_eq!(evaluate("wide.b128", 90, &[a, b, 1]), [a]);
    assert_eq!(evaluate("wide.b128", 90, &[a, b, 0]), [b]);
    let mut program = Program::new(Registers::default(), 90);
    let sources = &[Source::Constant(0), Source::Constant(1), Source::Constant(1)];
    let operands = Operands { destinations: &[None], sources, ..Operands::default() };
    let error = program.push(TABLE.form("wide.b128").unwrap(), &operands).unwrap_err();
    let why =
        "`wide.b128` does not run over lanes: an operand has 128 bits, and the registers of warps have 16, 32 or 64";
    assert_eq!(error.to_string(), why);
}

/// A form for one architecture or family is unavailable on every other target, however recent.
#[test]
fn suffixes_of_targets_are_floors_of_their_own() {
    let check = |statement: &str, target: &str| {
        let module = format!(".version 9.0 .target {target} .entry k() {{ .reg .b32 r; {statement} }}");
        text::check(&TABLE, module.as_bytes(), &Default::default()).diagnostics.len()
    };
    for (statement, target, errors) in [
        ("own.u32 r, r;", "sm_90a", 0),
        ("own.u32 r, r;", "sm_90", 1),
        ("own.u32 r, r;", "sm_100a", 1),
        ("own.fam.u32 r, r;", "sm_100f", 0),
        ("own.fam.u32 r, r;", "sm_100a", 0),
        ("own.fam.u32 r, r;", "sm_103a", 0),
        ("own.fam.u32 r, r;", "sm_100", 1),
        ("own.fam.u32 r, r;", "sm_120a", 0),
        ("own.fam.u32 r, r;", "sm_90a", 1),
    ] {
        assert_eq!(check(statement, target), errors, "{statement} on {target}");
    }
}
