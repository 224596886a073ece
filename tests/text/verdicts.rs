//! Verdicts on single statements, each in a module of a version and a target: what the assembler takes is taken, what it
//! refuses is refused. A line is `version target | statement`.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Diagnostic, Severity};
use ptx_isa::text::{Options, check};

/// A module around a statement, with a register of each type.
fn module(version: &str, target: &str, statement: &str) -> String {
    let types = ["pred", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128"];
    let known = |ty: &&&str| **ty != "b128" || version.starts_with('9');
    let single = |ty: &&str| format!(".reg .{ty} {ty}_<8>;\n");
    let vector = |ty: &&str| match *ty {
        "pred" | "b128" => String::new(),
        "b64" | "u64" | "s64" | "f64" => format!(".reg .v2 .{ty} v2_{ty};\n"),
        _ => format!(".reg .v2 .{ty} v2_{ty};\n.reg .v4 .{ty} v4_{ty};\n"),
    };
    let declared: String = types.iter().filter(known).map(|ty| single(ty) + &vector(ty)).collect();
    let outside = ".global .align 16 .u32 gv, ga[4];\n.const .align 16 .u32 cv;\n";
    let function = if version.starts_with('1') { "" } else { ".func function() { ret; }\n" };
    format!(".version {version}\n.target {target}\n{outside}{function}.entry kernel() {{\n{declared}{statement}\n}}\n")
}

/// The errors in a statement.
fn errors(line: &str) -> Vec<Diagnostic> {
    let (head, statement) = line.split_once('|').expect("`version target | statement`");
    let (version, target) = head.trim().split_once(' ').expect("a version and a target");
    let text = module(version, target, statement.trim());
    let found = check(&TABLE, text.as_bytes(), &Options::default()).diagnostics;
    found.into_iter().filter(|finding| finding.severity == Severity::Error).collect()
}

fn taken(lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert!(errors(line).is_empty(), "{line}: {:?}", errors(line));
    }
}

fn refused(lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert_eq!(errors(line).len(), 1, "{line}: {:?}", errors(line));
    }
}

#[test]
fn a_register_alone_is_no_vector_of_several() {
    refused(
        "9.5 sm_90 | ld.global.v2.b32 b32_0, [b64_1];
        9.5 sm_90 | ld.global.nc.v4.f32 f32_0, [b64_1];
        9.5 sm_90 | ld.global.v2.b64 b128_0, [b64_1];
        9.5 sm_90 | ldu.global.v2.f32 f32_0, [b64_1];
        9.5 sm_90 | st.global.v2.b32 [b64_1], b32_0;
        9.5 sm_90 | st.global.v2.b32 [b64_1], 5;
        9.5 sm_100 | ld.v8.b32 b32_0, [b64_1];
        9.5 sm_100 | st.global.v8.b32 [b64_0], b64_0;",
    );
    taken(
        "9.5 sm_90 | ld.global.b32 {b32_0}, [b64_1];
        9.5 sm_90 | ld.global.v2.b32 v2_b32, [b64_1];
        9.5 sm_90 | st.global.b32 [b64_1], {b32_0};
        9.5 sm_90 | tex.2d.v4.f32.s32 v4_f32, [b64_0, b32_1];",
    );
}

#[test]
fn immediate_operands_are_within_their_range() {
    let product =
        "9.5 sm_90a | wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f32_0, f32_1, f32_2, f32_3}, b64_0, b64_1,";
    for scales in ["1, 1, 1, 0, 1", "0, -1, 1, 1, 0", "pred_0, -1, -1, 0, 0"] {
        taken(&format!("{product} {scales};"));
    }
    for scales in ["2, 1, 1, 0, 0", "1, 0, 1, 0, 0", "1, 1, 2, 0, 0", "1, 4294967295, 1, 0, 0", "1, 1, 1, 2, 0"] {
        refused(&format!("{product} {scales};"));
    }
}

#[test]
fn an_arrival_in_another_block_gives_no_state() {
    for name in ["arrive", "arrive_drop"] {
        taken(&format!(
            "9.5 sm_90 | mbarrier.{name}.shared::cluster.b64 _, [b32_0];
            9.5 sm_90 | mbarrier.{name}.release.cluster.shared::cluster.b64 _, [b32_0], 5;
            9.5 sm_90 | mbarrier.{name}.expect_tx.release.cluster.shared::cluster.b64 _, [b32_0], b32_1;
            9.5 sm_90 | mbarrier.{name}.shared::cta.b64 b64_0, [b32_0];"
        ));
        refused(&format!(
            "9.5 sm_90 | mbarrier.{name}.shared::cluster.b64 b64_0, [b32_0];
            9.5 sm_90 | mbarrier.{name}.expect_tx.shared::cluster.b64 b64_0, [b32_0], b32_1;"
        ));
    }
}

#[test]
fn old_versions_have_floats_without_rounding_or_approximation() {
    for statement in [
        "sqrt.f32 f32_0, f32_1;",
        "sqrt.f64 f64_0, f64_1;",
        "rsqrt.f32 f32_0, f32_1;",
        "rsqrt.f64 f64_0, f64_1;",
        "rcp.f32 f32_0, f32_1;",
        "div.f32 f32_0, f32_1, f32_2;",
        "div.f64 f64_0, f64_1, f64_2;",
        "sin.f32 f32_0, f32_1;",
        "cos.f32 f32_0, f32_1;",
        "lg2.f32 f32_0, f32_1;",
        "ex2.f32 f32_0, f32_1;",
        "mad.f64 f64_0, f64_1, f64_2, f64_3;",
    ] {
        taken(&format!("1.3 sm_13 | {statement}"));
        refused(&format!("1.4 sm_13 | {statement}\n 9.5 sm_90 | {statement}"));
    }
    taken(
        "3.1 sm_20 | mad.f32 f32_0, f32_1, f32_2, f32_3;
        3.2 sm_13 | mad.f32 f32_0, f32_1, f32_2, f32_3;
        1.4 sm_13 | mad.ftz.sat.f32 f32_0, f32_1, f32_2, f32_3;",
    );
    refused(
        "3.2 sm_20 | mad.f32 f32_0, f32_1, f32_2, f32_3;
        1.3 sm_13 | mad.ftz.f32 f32_0, f32_1, f32_2, f32_3;
        1.3 sm_13 | rcp.f64 f64_0, f64_1;
        1.4 sm_13 | ex2.ftz.f32 f32_0, f32_1;",
    );
}

#[test]
fn what_the_assembler_takes_beyond_the_manual_is_taken() {
    taken(
        "9.5 sm_90 | ld.global.v2.u32 {u32_0, u32_1}, [b64_0+4].unified;
        9.5 sm_90 | ld.global.L2::cache_hint.u32 u32_0, [b64_0].unified, b64_1;
        9.5 sm_90 | ldu.global.u32 u32_0, [b64_0] .unified;
        9.5 sm_90 | atom.add.u32 u32_0, [b64_0].unified, u32_1;
        9.5 sm_90 | call (), function;
        9.5 sm_90 | mov.b32 {b32_0}, %tid.x;
        9.5 sm_90 | mov.b64 b64_0, {f64_1};
        9.5 sm_90 | addc.u16 u16_0, u16_1, u16_2;
        9.5 sm_90 | subc.s16 s16_0, s16_1, s16_2;
        9.5 sm_90 | madc.hi.u16 u16_0, u16_1, u16_2, u16_3;",
    );
    refused(
        "9.5 sm_90 | st.global.u32 [b64_0].unified, u32_0;
        9.5 sm_90 | ld.global.u32 u32_0, [b64_0].uniform;
        9.5 sm_90 | mov.b32 {b32_0}, {b32_1};
        9.5 sm_90 | mov.b32 {_}, b32_1;
        9.5 sm_90 | mov.u32 {u32_0}, u32_1;
        9.5 sm_90 | addc.cc.u16 u16_0, u16_1, u16_2;",
    );
}

#[test]
fn an_unknown_member_of_a_family_names_the_nearest_ones() {
    let mistake = |statement: &str| {
        let line = format!("9.5 sm_90 | {statement}");
        let [error] = <[Diagnostic; 1]>::try_from(errors(&line)).expect("one error");
        let fixed: Vec<String> = error.fixes.iter().map(|fix| fix.text.to_string()).collect();
        (error.message, fixed)
    };
    let (message, fixes) = mistake("cp.commit_group;");
    assert_eq!(message, "`cp.commit_group` is not an instruction of the family `cp`");
    assert_eq!(fixes, ["cp.async.commit_group", "cp.async.bulk.commit_group"]);
    let (message, fixes) = mistake("mbarrier.b64 [b32_0], 1;");
    assert_eq!(message, "`mbarrier.b64` is not an instruction of the family `mbarrier`");
    assert!(fixes.contains(&"mbarrier.init.b64".to_owned()), "{fixes:?}");
    assert!(!fixes.contains(&"mbarrier.inval.b64".to_owned()), "{fixes:?}");
    assert_eq!(mistake("wgmma.comit_group.sync.aligned;").1, ["wgmma.commit_group.sync.aligned"]);
}

#[test]
fn fabric_instructions_are_known() {
    let (get, put) = (
        "mbarrier::complete_tx::bytes.mbarrier::report::fabric",
        "mbarrier::complete_tx::16B.mbarrier::report::fabric",
    );
    taken(&format!(
        "9.3 sm_100 | fabric.submit;
        9.3 sm_100 | fabric.submit.op_restrict::fetching;
        9.3 sm_100 | fabric.wait.sync_restrict::reads;
        9.3 sm_100 | fabric.try_get.async.shared::cta.{get}.relaxed.sys.b128 [b64_0], [b32_0, b64_1], 16, [b64_2];
        9.3 sm_100 | fabric.try_put.async.multimem.shared::cta.{put}.relaxed.sys.b128 [b32_0, b64_1], [b64_0], b32_1, [b64_2];
        9.3 sm_100 | fabric.try_put.async.shared::cta.{put}.cp_mask.relaxed.sys.b128 [b32_0, b64_1], [b64_0], b32_1, [b64_2], b16_0;
        9.3 sm_100 | fabric.try_put.async.shared::cta.{put}.counted::bytes.b128 [b32_0, b64_1, b64_3], [b64_0], 16, [b64_2];
        9.3 sm_100 | fabric.try_red.async.shared::cta.{put}.relaxed.sys.max.bf16 [b32_0, b64_1], [b64_0], b32_1, [b64_2];
        9.3 sm_100 | fabric.try_pullred.async.multimem.shared::cta.{get}.relaxed.sys.add.f32.sync [b64_0], [b32_0, b64_1], 16, [b64_2], -1;
        9.3 sm_100f | fabric.try_pullred.async.multimem.shared::cta.{get}.relaxed.sys.min.e4m3.sync [b64_0], [b32_0, b64_1], 16, [b64_2], -1;"
    ));
    refused(&format!(
        "9.2 sm_100 | fabric.submit;
        9.3 sm_90 | fabric.submit;
        9.3 sm_100 | fabric.wait;
        9.3 sm_100 | fabric.try_get.async.shared::cta.{get}.relaxed.b128 [b64_0], [b32_0, b64_1], 16, [b64_2];
        9.3 sm_100 | fabric.try_get.async.shared::cta.{get}.relaxed.sys.b128 [b64_0], [b64_0, b64_1], 16, [b64_2];
        9.3 sm_100 | fabric.try_get.async.shared::cta.{get}.relaxed.sys.b128 [b64_0], [5, b64_1], 16, [b64_2];
        9.3 sm_100 | fabric.try_put.async.shared::cta.{put}.counted::bytes.b128 [b32_0, b64_1], [b64_0], 16, [b64_2];
        9.3 sm_100 | fabric.try_red.async.shared::cta.{put}.relaxed.sys.max.f32 [b32_0, b64_1], [b64_0], b32_1, [b64_2];
        9.3 sm_100 | fabric.try_pullred.async.multimem.shared::cta.{get}.relaxed.sys.add.f32.sync [b64_0], [b32_0, b64_1], 16, [b64_2], 5;
        9.3 sm_100 | fabric.try_pullred.async.multimem.shared::cta.{get}.relaxed.sys.min.e4m3.sync [b64_0], [b32_0, b64_1], 16, [b64_2], -1;"
    ));
}

#[test]
fn what_came_with_the_newest_targets_is_known() {
    taken(
        "9.4 sm_90 | prefetch.global.L1::32B.valid_addr [b64_0];
        9.4 sm_107a | add.u8x4 b32_0, b32_1, b32_2;
        9.4 sm_107f | neg.s8x4 b32_0, b32_1;
        9.2 sm_120a | add.sat.s16x2 b32_0, b32_1, b32_2;",
    );
    refused(
        "9.3 sm_90 | prefetch.L1::32B.valid_addr [b64_0];
        9.4 sm_90 | prefetch.L1::32B [b64_0];
        9.4 sm_90 | prefetch.local.L1::32B.valid_addr [b64_0];
        9.4 sm_107 | add.u8x4 b32_0, b32_1, b32_2;",
    );
}

#[test]
fn operands_of_matrices_textures_and_calls_are_of_their_kind() {
    refused(
        "9.5 sm_90 | movmatrix.sync.aligned.m8n8.trans.b16 1, b32_3;
        9.5 sm_90 | call 16, (5), function;
        9.5 sm_90a | tensormap.replace.tile.swizzle_mode.b1024.b32 [b64_7], 4;
        9.5 sm_90 | tex.a2d.v4.u32.f32 {u32_0, u32_1, u32_2, u32_3}, [b64_0, {u32_0, s32_1, f32_2, f32_3}];
        9.5 sm_90 | ld.u32 u32_0, gv[1];
        9.5 sm_90 | mov.f32 f32_0, ga[1];
        9.5 sm_90 | mbarrier.init.b64 ga[1], 1;",
    );
    taken(
        "9.5 sm_90 | tex.a2d.v4.u32.f32 {u32_0, u32_1, u32_2, u32_3}, [b64_0, {u32_0, f32_1, b32_2, f32_3}];
        9.5 sm_90 | ld.u32 u32_0, ga[1];
        9.5 sm_90 | mov.u32 u32_0, ga[1];
        9.5 sm_90 | mbarrier.check_layout.layout::v0.b64 pred_2, [gv];",
    );
}

#[test]
fn functions_are_not_addresses_of_variables_or_textures() {
    refused(
        "9.5 sm_90 | cvta.global.u64 b64_0, function;
        9.5 sm_90 | cvta.shared.u64 b64_0, kernel;
        9.5 sm_90 | tex.2d.v4.f32.f32 v4_f32, [function, v2_f32];
        9.5 sm_90 | suld.b.1d.v4.b32.trap v4_b32, [function, {b32_1}];
        9.5 sm_90 | txq.height.b32 b32_0, [kernel];
        9.5 sm_90 | mov.b64 b64_0, {function};",
    );
    taken(
        "9.5 sm_90 | mov.u64 b64_0, function;
        9.5 sm_90 | mov.b64 {b64_0}, kernel;
        9.5 sm_90 | mov.b64 {b32_0, b32_1}, function;
        9.5 sm_90 | cvta.global.u64 b64_0, gv;
        9.5 sm_90 | cvta.global.u64 b64_0, b16_1+4;
        9.5 sm_90 | mapa.u64 b64_0, function, b32_1;",
    );
}

#[test]
fn a_source_in_braces_has_no_offset() {
    refused(
        "9.5 sm_90 | mov.b16 b16_0, {b16_2+0};
        9.5 sm_90 | mov.b32 b32_0, {b32_2+1};
        9.5 sm_90 | mov.b32 b32_0, {gv+4};
        9.5 sm_90 | mov.b64 b64_0, {gv};",
    );
    taken(
        "9.5 sm_90 | mov.b32 b32_0, {b32_2};
        9.5 sm_90 | mov.b32 b32_0, {gv};
        9.5 sm_90 | mov.b32 b32_0, {5+4};
        9.5 sm_90 | mov.b32 {b32_0}, b32_1+4;
        9.5 sm_90 | mov.b64 {b64_0}, gv+4;",
    );
}

#[test]
fn addresses_that_the_assembler_computes_with_are_not_in_registers_of_16_bits() {
    for (target, line) in [
        ("sm_90", "createpolicy.range.global.L2::evict_first.b64 b64_0, [@], b32_1, b32_2;"),
        ("sm_90", "prefetch.const.tensormap [@];"),
        ("sm_90", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [b32_0], [b32_1], 16, [@];"),
        ("sm_90", "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [b32_0], [b32_1], 16, [@];"),
        ("sm_90a", "tensormap.replace.tile.rank.global.b1024.b32 [@], b32_1;"),
        ("sm_100a", "st.bulk.weak.shared::cta [@], b32_1, 0;"),
        ("sm_100a", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [@], b32_1;"),
        ("sm_100a", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [@];"),
    ] {
        refused(&format!("9.5 {target} | {}", line.replace('@', "b16_1")));
        taken(&format!("9.5 {target} | {}", line.replace('@', "b32_1")));
        taken(&format!("9.5 {target} | {}", line.replace('@', "b64_1")));
    }
    taken(
        "9.5 sm_90 | ldmatrix.sync.aligned.m8n8.x1.shared.b16 {b32_0}, [b16_1];
        9.5 sm_90 | cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [b32_5], [b64_1, {b32_1}], [b16_0];",
    );
}

#[test]
fn scale_factors_and_metadata_may_be_in_braces() {
    let words = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e5m2.f32.ue8m0";
    let values =
        "{f32_0, f32_1, f32_2, f32_3}, {b32_0, b32_1, b32_2, b32_3}, {b32_0, b32_1}, {f32_0, f32_1, f32_2, f32_3}";
    taken(&format!("9.5 sm_120a | {words} {values}, {{b32_4}}, {{0, 1}}, {{b32_5}}, {{b16_0, b16_1}};"));
    taken(&format!("9.5 sm_120a | {words} {values}, b32_4, {{0, 1}}, {{b32_5}}, {{0, 3}};"));
    taken(
        "9.5 sm_90 | mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {b32_0, b32_1}, {b32_2, b32_3}, {b32_4, b32_5}, {b32_6, b32_7}, {b32_7}, 1;
        9.5 sm_90 | mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {b32_0, b32_1}, {b32_2, b32_3}, {b32_4, b32_5}, {b32_6, b32_7}, b32_7, 1;",
    );
    refused("9.5 sm_90 | movmatrix.sync.aligned.m8n8.trans.b16 {b32_0}, {b32_1};");
}

#[test]
fn an_arrival_of_copies_without_a_state_space_takes_a_generic_address() {
    taken(
        "9.5 sm_90 | cp.async.mbarrier.arrive.b64 [gv];
        9.5 sm_90 | cp.async.mbarrier.arrive.noinc.b64 [b64_1];",
    );
    refused(
        "9.5 sm_90 | cp.async.mbarrier.arrive.b64 [cv];
        9.5 sm_90 | cp.async.mbarrier.arrive.shared.b64 [gv];",
    );
}

#[test]
fn the_words_of_an_opcode_stand_together() {
    taken("9.5 sm_100 | clusterlaunchcontrol.try_cancel.async.b128.mbarrier::complete_tx::bytes [b32_0], [b64_1];");
    refused("9.5 sm_100 | clusterlaunchcontrol.try_cancel.b128.async.mbarrier::complete_tx::bytes [b32_0], [b64_1];");
}

#[test]
fn a_constant_in_parentheses_is_no_list_and_stands_for_no_coordinates() {
    taken(
        "9.5 sm_90 | vmad.u32.u32.u32.po u32_0, -u32_1, -u32_2, (.u64)5;
        9.5 sm_90 | tex.1d.v4.f32.f32 {f32_0, f32_1, f32_2, f32_3}, [u64_1, {f32_2}], (1.0)-2e3;
        9.5 sm_90 | suld.b.1d.b32.trap b32_0, [u64_1, s32_1];
        9.5 sm_90 | suld.b.1d.b32.trap b32_0, [u64_1, {5}];",
    );
    refused(
        "9.5 sm_90 | suld.b.1d.b32.trap b32_0, [u64_1, 5];
        9.5 sm_90 | sust.b.1d.b32.trap [b64_3, (.s64)5], b32_0;
        9.5 sm_90 | tex.1d.v4.f32.f32 {f32_0, f32_1, f32_2, f32_3}, [u64_1, 1.0];",
    );
}

#[test]
fn each_element_of_a_vector_goes_with_the_one_before_it() {
    taken(
        "9.5 sm_90 | mov.b32 b32_1, {5, b16_0};
        9.5 sm_90 | mov.b32 b32_1, {u16_0, 5};
        9.5 sm_90 | tex.a2d.v4.f32.s32 {f32_0, f32_1, f32_2, f32_3}, [u64_1, {u32_2, s32_0, b32_0, f32_0}];",
    );
    refused(
        "9.5 sm_90 | mov.b64 b64_1, {f32_0, 5};
        9.5 sm_90 | mov.b64 b64_1, {5, f32_0};
        9.5 sm_90 | tex.a2d.v4.f32.s32 {f32_0, f32_1, f32_2, f32_3}, [u64_1, {u32_2, 5, f32_0, f32_0}];",
    );
}

#[test]
fn conversions_read_the_low_bits_of_wider_special_registers() {
    taken(
        "9.5 sm_90 | cvt.u32.u16 u32_3, %clock64;
        9.5 sm_90 | cvt.s32.s32 u32_3, %clock64;
        9.5 sm_90 | cvt.u32.u64 u32_3, %clock64;",
    );
    refused(
        "9.5 sm_90 | cvt.u32.u64 u32_3, %tid.x;
        9.5 sm_90 | mov.u32 u32_3, %clock64;
        9.5 sm_90 | mov.u16 u16_3, %clock64;",
    );
}

#[test]
fn a_vector_register_stands_for_its_elements_in_braces() {
    taken(
        "9.5 sm_90 | mov.b64 b64_0, v2_b32;
        9.5 sm_90 | mov.b64 v2_f32, f64_0;
        9.5 sm_90 | mov.b32 v2_u16, %tid.x;
        9.5 sm_90 | mov.b64 v2_b64.x, v2_s32;
        9.5 sm_90 | mov.b64 b64_0, v4_b16;
        9.5 sm_90 | @!pred_0 mov.b128 b128_0, v2_u64;",
    );
    refused(
        "9.5 sm_90 | mov.b64 v2_b32, v2_b32;
        9.5 sm_90 | mov.b64 b64_0, v2_b64;
        9.5 sm_90 | mov.b64 v2_b16, b64_0;
        9.5 sm_90 | mov.u64 u64_0, v2_u32;
        9.5 sm_90 | mov.b32 b32_0, {v2_b16};
        9.5 sm_90 | mov.b64 {v2_b32}, b64_1;
        9.5 sm_90 | add.u32 u32_0, v2_u32, u32_1;
        8.2 sm_90 | mov.b128 v2_b64, v2_b64;",
    );
}

#[test]
fn elements_of_vectors_do_not_stand_beside_constants() {
    taken(
        "9.5 sm_90 | st.global.v2.b32 [b64_0], {b32_0, 1};
        9.5 sm_90 | st.global.v2.b32 [b64_0], {v2_b32.x, b32_0};
        9.5 sm_90 | mov.b64 b64_0, {1, b32_0};
        9.5 sm_90 | tex.a1d.v4.f32.f32 {f32_0, f32_1, f32_2, f32_3}, [b64_0, {1, f32_0}];",
    );
    refused(
        "9.5 sm_90 | st.global.v2.b32 [b64_0], {v2_b32.x, 1};
        9.5 sm_90 | st.global.v4.b32 [b64_0], {1, b32_0, v2_b32.y, b32_1};
        9.5 sm_90 | mov.v2.b32 {b32_0, b32_1}, {v2_b32.x, 1};
        9.5 sm_90 | mov.b64 b64_0, {v2_b32.x, 1};
        9.5 sm_90 | mov.b64 b64_0, {1, %tid.x};
        9.5 sm_90 | tex.a1d.v4.f32.f32 {f32_0, f32_1, f32_2, f32_3}, [b64_0, {1, v2_f32.x}];",
    );
}

#[test]
fn nothing_stands_behind_a_register_in_place_of_coordinates() {
    taken(
        "9.5 sm_90 | suld.b.1d.b32.trap b32_0, [b64_0, {v2_s32.x}];
        9.5 sm_90 | tex.1d.v4.f32.s32 v4_f32, [b64_0, s32_0];",
    );
    refused(
        "9.5 sm_90 | suld.b.1d.b32.trap b32_0, [b64_0, v2_s32.x];
        9.5 sm_90 | suld.b.1d.b32.trap b32_0, [b64_0, s32_0+1];
        9.5 sm_90 | tex.1d.v4.f32.s32 v4_f32, [b64_0, v4_s32.w];
        9.5 sm_90 | tex.1d.v4.f32.s32 v4_f32, [b64_0, gv+4];",
    );
}

#[test]
fn conversions_that_flush_and_involve_64_bits_take_no_wider_registers() {
    taken(
        "9.5 sm_90 | cvt.rni.s64.f32 b128_0, f32_0;
        9.5 sm_90 | cvt.rni.ftz.s32.f32 b128_0, f32_0;
        9.5 sm_90 | cvt.rn.ftz.f32.s64 f32_0, b128_0;
        9.5 sm_90 | cvt.rn.ftz.f32.f64 b64_0, b64_1;",
    );
    refused(
        "9.5 sm_90 | cvt.rni.ftz.s64.f32 b128_0, f32_0;
        9.5 sm_90 | cvt.rzi.ftz.sat.u64.f32 u64_0, b128_0;
        9.5 sm_90 | cvt.rn.ftz.f32.f64 f32_0, b128_0;
        9.5 sm_90 | cvt.ftz.f64.f32 b128_0, f32_0;
        9.5 sm_90 | cvt.rz.ftz.f32.f64 b64_0, f64_0;",
    );
}

#[test]
fn an_integer_behind_coordinates_is_an_offset() {
    taken(
        "9.5 sm_90 | tex.1d.v4.f32.f32 v4_f32, [b64_0, {f32_0}], 1;
        9.5 sm_90 | tex.2d.v4.f32.f32 v4_f32, [b64_0, b64_1, {f32_0, f32_1}], 1?2:3;
        9.5 sm_90 | tex.1d.v4.f32.f32 v4_f32, [b64_0, {f32_0}], 1.0;",
    );
    refused("9.5 sm_90 | tex.1d.v4.f32.f32 v4_f32, [b64_0, {f32_0}], 0x;");
}

#[test]
fn variables_of_calls_and_windows_of_spaces_are_declared_as_the_assembler_wants() {
    taken("2.0 sm_13 | .param .b32 x;\n9.5 sm_90 | P: .callprototype _ (.param .texref t);");
    refused(
        "1.5 sm_13 | .param .b32 x;
        9.5 sm_90 | .shared::cta .u32 x;
        9.5 sm_90 | .param::func .u32 x;
        9.5 sm_90 | P: .callprototype _ (.reg .texref t);",
    );
}

#[test]
fn a_predicate_that_skips_a_copy_may_be_negated() {
    taken(
        "9.5 sm_90 | cp.async.ca.shared.global [b64_0], [b64_1], 4, !pred_0;
        9.5 sm_90 | cp.async.cg.shared.global [b64_0], [b64_1], 16, !pred_0;",
    );
    refused("9.5 sm_90 | cp.async.ca.shared.global [b64_0], [b64_1], 4, !u32_0;");
}

#[test]
fn constant_memory_has_numbered_banks_from_ptx_1_5_to_2_1() {
    taken(
        "1.5 sm_10 | ld.const[0].u32 u32_0, [cv];
        2.1 sm_20 | ld.const[10].u32 u32_0, [cv];
        2.1 sm_20 | ld.b32.const[3] b32_0, [b32_1];
        2.1 sm_20 | ld.const[0] .v2.b32 {b32_0, b32_1}, [cv];",
    );
    refused(
        "1.4 sm_10 | ld.const[0].u32 u32_0, [cv];
        2.2 sm_20 | ld.const[0].u32 u32_0, [cv];
        2.1 sm_20 | ld.const[11].u32 u32_0, [cv];
        2.1 sm_20 | ld.global[0].u32 u32_0, [gv];
        2.1 sm_20 | ld.const[0].volatile.u32 u32_0, [cv];
        2.1 sm_20 | ld.const.u32[0] u32_0, [cv];",
    );
}

#[test]
fn a_predicate_may_be_beside_untyped_registers_of_32_bits_in_a_vector() {
    taken(
        "9.5 sm_90 | mov.b64 b64_0, {pred_0, b32_0};
        9.5 sm_90 | mov.b64 {b32_0, pred_0}, b64_0;
        9.5 sm_90 | .local .b32 lv; mov.b64 b64_0, {pred_0, lv};
        9.5 sm_90 | ld.global.v2.b32 {pred_0, b32_0}, [b64_0];
        9.5 sm_90 | st.global.v4.u32 [b64_0], {b32_0, pred_0, b32_1, pred_1};",
    );
    refused(
        "9.5 sm_90 | mov.b64 b64_0, {pred_0, pred_1};
        9.5 sm_90 | mov.b64 b64_0, {pred_0, u32_0};
        9.5 sm_90 | mov.b64 b64_0, {f32_0, pred_0};
        9.5 sm_90 | mov.b64 b64_0, {3, pred_0};
        9.5 sm_90 | mov.b64 {_, pred_0}, b64_0;
        9.5 sm_90 | mov.b32 b32_0, {b16_0, pred_0};
        9.5 sm_90 | st.global.v4.b32 [b64_0], {b32_0, pred_0, u32_0, b32_1};
        9.5 sm_90 | st.global.v4.b32 [b64_0], {b32_0, pred_0, 3, b32_1};",
    );
}

/// Statements of a template, in which `@` is each of some operands.
fn each(template: &str, operands: &[&str]) -> String {
    operands.iter().map(|operand| template.replace('@', operand) + "\n").collect()
}

#[test]
fn matrix_operands_accept_the_registers_that_the_assembler_does() {
    let doubles = "9.5 sm_90 | mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {f64_0, f64_1}, {f64_2}, {f64_3}, @;";
    taken(&each(doubles, &["{u64_0, s64_1}", "{b64_0, b64_1}", "{f64_0, b64_1}"]));
    refused(&each(doubles, &["{u64_0, f64_1}", "{u32_0, u32_1}"]));
    let loaded = "9.5 sm_90 | wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64 {u64_0, u64_1}, {@}, {f64_0}, {f64_0, f64_1};";
    taken(&each(loaded, &["f64_1", "b64_1"]));
    refused(&each(loaded, &["u64_1", "f32_1"]));
    let bytes =
        "9.5 sm_90 | mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {s32_0, s32_1}, {@}, {b32_0}, {s32_0, s32_1};";
    taken(&each(bytes, &["b32_1", "u32_1", "s32_1"]));
    refused(&each(bytes, &["f32_1", "5", "0f3f800000"]));
    taken(&each(&bytes.replace("m8n8k16", "m8n8k32").replace("s8", "s4"), &["b32_1", "u32_1", "f32_1"]));
    let sparse =
        "9.5 sm_90 | mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {f32_0, f32_1, f32_2, f32_3}, @, b32_0, 1;";
    taken(&each(
        sparse,
        &[
            "{b32_0, b32_1}, {b32_2, b32_3}, {u32_0, u32_1, u32_2, u32_3}",
            "{f32_0, f32_1}, {s32_2, s32_3}, {b32_0, b32_1, b32_2, b32_3}",
        ],
    ));
    refused(&each(
        "9.5 sm_90 | mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {b32_0, b32_1}, @, b32_0, 1;",
        &["{u32_0, u32_1}, {b32_2, b32_3}, {b32_0, b32_1}", "{b32_0, b32_1}, {b32_2, b32_3}, {f32_0, f32_1}"],
    ));
    let scaled = "9.5 sm_120a | mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 \
        {f32_0, f32_1, f32_2, f32_3}, {b32_0, b32_1, b32_2, b32_3}, {@_0, @_1}, {f32_0, f32_1, f32_2, f32_3}, u32_0, {2, 1}, f32_1, {0, 1};";
    taken(&scaled.replace('@', "b32"));
    refused(&each(scaled, &["u32", "f32"]));
    refused(&each(&scaled.replace('@', "b32").replace("{2, 1}", "{@, 1}"), &["1", "3"]));
    let load = "9.5 sm_90 | wmma.load.a.sync.aligned.row.m8n8k32.s4 {@}, [b64_0];";
    taken(&each(load, &["b32_0", "u32_0", "f32_0"]));
    refused(&each(&load.replace("m8n8k32.s4", "m8n32k16.s8"), &["f32_0"]));
}

#[test]
fn constants_in_vectors_are_compared_with_registers_or_with_the_operand() {
    let stored = "9.5 sm_90 | stmatrix.sync.aligned.m8n8.x2.b16 [b64_0], {@};";
    taken(&each(stored, &["0f3f800000, 0f00000000", "b32_0, 5", "b32_0, 1.0"]));
    refused(&each(stored, &["5, 5", "1.0, 1.0", "u32_0, 1.0"]));
    let sum = "9.5 sm_90 | mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {f32_0, f32_1, f32_2, f32_3}, {b32_0, b32_1}, {b32_0}, {@};";
    taken(&each(
        sum,
        &["f32_0, 1.0, 0f3f800000, f32_1", "b32_0, 5, b32_1, 1.0", "0f3f800000, 0f00000000, 0f3f800000, 0f00000000"],
    ));
    refused(&each(sum, &["1.0, 1.0, 1.0, 1.0", "f32_0, 5, 5, 5", "5, 5, 5, 5"]));
    taken(
        "9.5 sm_90 | mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {f64_0, f64_1}, {5}, {1.0}, {0f3f800000, 1.0};
        9.5 sm_90 | st.f64 [b64_0], {5};
        9.5 sm_90 | st.v2.f64 [b64_0], {u64_0, 5};
        9.5 sm_90 | st.v2.f32 [b64_0], {b32_0, 5};
        9.5 sm_90 | st.f32 [b64_0], {b64_0};
        9.5 sm_90 | mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {s32_0, s32_1, s32_2, s32_3}, {b32_0, b32_1}, {b32_2, b32_3},
            {s32_0, s32_1, s32_2, s32_3}, 0f3f800000, 0;"
            .replace(",\n", ",")
            .as_str(),
    );
    refused(
        "9.5 sm_90 | st.f32 [b64_0], {5};
        9.5 sm_90 | st.f32 [b64_0], {u64_0};
        9.5 sm_90 | st.v2.f64 [b64_0], {f64_0, 5};",
    );
}

#[test]
fn special_registers_are_elements_of_vectors_as_bits() {
    taken(
        "9.5 sm_90 | st.u16 [b64_0], {%globaltimer};
        9.5 sm_90 | st.v2.s32 [b64_0], {s32_0, %tid.x};
        9.5 sm_90 | ld.f32 {%pm0}, [b64_0];
        9.5 sm_90 | mov.v2.u32 {%clock, u32_1}, {u32_1, u32_2};
        9.5 sm_90 | atom.global.add.v2.f32 {%laneid, f32_1}, [b64_1], {f32_2, %tid.x};
        9.5 sm_90 | mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%globaltimer, f64_1}, {f64_1}, {f64_2}, {f64_3, f64_0};",
    );
    refused(
        "9.5 sm_90 | st.f64 [b64_0], {%laneid};
        9.5 sm_90 | st.v2.s32 [b64_0], {s32_0, %clock64};
        9.5 sm_90 | st.v2.s32 [b64_0], {s32_0, %tid};
        9.5 sm_90 | mov.u32 %tid.x, u32_0;",
    );
}

#[test]
fn a_depth_behind_offsets_is_a_float() {
    refused(
        "9.5 sm_90 | tex.1d.v4.f32.f32 v4_f32, [b64_0, {f32_0}], {s32_0}, s32_1;
        9.5 sm_90 | tex.2d.v4.f32.f32 v4_f32, [b64_0, {f32_0, f32_1}], {s32_0, s32_1}, u32_0;
        9.5 sm_90 | tex.level.1d.v4.f32.f32 v4_f32, [b64_0, {f32_0}], f32_1, {s32_0}, s32_1;
        9.5 sm_90 | tld4.r.2d.v4.f32.f32 v4_f32, [b64_0, {f32_0, f32_1}], {s32_0, s32_1}, s32_0;
        9.5 sm_90 | tex.cube.v4.f32.f32 v4_f32, [b64_0, {f32_0, f32_1, f32_2, f32_3}], s32_0, s32_1;",
    );
    taken(
        "9.5 sm_90 | tex.1d.v4.f32.f32 v4_f32, [b64_0, {f32_0}], {s32_0}, f32_1;
        9.5 sm_90 | tex.1d.v4.f32.f32 v4_f32, [b64_0, {f32_0}], {s32_0}, b32_1;
        9.5 sm_90 | tex.1d.v4.f32.f32 v4_f32, [b64_0, {f32_0}], s32_1;
        9.5 sm_90 | tex.1d.v4.f32.f32 v4_f32, [b64_0, {f32_0}], f32_1;
        9.5 sm_90 | tex.cube.v4.f32.f32 v4_f32, [b64_0, {f32_0, f32_1, f32_2, f32_3}], u32_0;",
    );
}

#[test]
fn a_constant_that_is_rounded_away_from_zero_to_tf32_is_written_as_bits() {
    refused(
        "9.5 sm_90 | cvt.rna.tf32.f32 b32_0, -1.5;
        9.5 sm_90 | cvt.rna.satfinite.tf32.f32 b32_0, 1.5;",
    );
    taken(
        "9.5 sm_90 | cvt.rna.tf32.f32 b32_0, 0f3f800000;
        9.5 sm_90 | cvt.rna.tf32.f32 b32_0, f32_0+1;
        9.5 sm_90 | cvt.rn.tf32.f32 b32_0, 1.5;",
    );
}
