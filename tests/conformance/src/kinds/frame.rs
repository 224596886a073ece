//! Whole modules: first lines, declarations and scopes, each taken or refused as a whole.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::Severity;
use ptx_isa::target::{Target, Version};
use ptx_isa::text::{Options, check};
use rayon::prelude::*;

use super::Extent;
use crate::assembler::Assembler;
use crate::report::{Difference, TAKEN, Tally};

/// Variables and parameters of all spaces, types, shapes and values, each line a module.
const DECLARATIONS: &str = include_str!("declarations.txt");

/// Module headers, each placed before an empty kernel.
const HEADS: &[&str] = &[
    ".version 8.6\n.target sm_90",
    ".version 8.6 .target sm_90",
    ".version 8.6\n.target sm_90\n.address_size 64",
    ".version 8.6\n.target sm_90\n.address_size 32",
    ".version 2.2\n.target sm_20\n.address_size 64",
    ".version 2.3\n.target sm_20\n.address_size 64",
    ".version 8.6\n.address_size 64\n.target sm_90",
    ".target sm_90\n.version 8.6",
    ".target sm_90",
    ".version 8.6",
    "",
    ".version 8.6\n.version 8.6\n.target sm_90",
    ".version 8.6\n.target sm_80\n.target sm_90",
    ".version 8.6\n.target sm_90, sm_80",
    ".version 8.6\n.target sm_90\n.address_size 64\n.address_size 64",
    ".version 8.6\n.target sm_90\n.address_size 16",
    ".version 8.6\n.target sm_90\n.address_size 64\n.target sm_80",
    ".version 01.0\n.target sm_10",
    ".version 1.00\n.target sm_10",
    ".version 8.06\n.target sm_90",
    ".version 8.060\n.target sm_90",
    ".version 8\n.target sm_90",
    ".version 8.\n.target sm_90",
    ".version 0x8.6\n.target sm_90",
    ".version 8e0\n.target sm_90",
    ".version\n8.6\n.target sm_90",
    ".version 8.6.1\n.target sm_90",
    ".version 1.10\n.target sm_10",
    ".version 6.18\n.target sm_70",
    ".version 8.9\n.target sm_90",
    ".version 5.2\n.target sm_60",
    ".version 99.9\n.target sm_90",
    ".version 8.6\n.target sm_091",
    ".version 8.6\n.target sm_090",
    ".version 8.6\n.target SM_90",
    ".version 8.6\n.target compute_90",
    ".version 8.6\n.target sm_90x",
    ".version 8.6\n.target sm_91",
    ".version 8.6\n.target debug",
    ".version 8.6\n.target sm_90, foo",
    ".version 8.6\n.target",
    ".version 8.6\n.target sm_90,",
    ".version 8.6\n.target sm_90 sm_80",
    ".version 8.6\n.target sm_90, texmode_unified",
    ".version 8.6\n.target sm_90, texmode_independent",
    ".version 8.6\n.target sm_90, texmode_unified, texmode_independent",
    ".version 1.0\n.target sm_10, map_f64_to_f32",
    ".version 1.2\n.target sm_13, map_f64_to_f32",
    ".version 8.6\n.target texmode_unified, sm_90",
    ".version 8.6\n.target sm_90, texmode_raw",
    "// c\n.version 8.6\n/* c */ .target sm_90",
    "/* /* */\n.version 8.6\n.target sm_90",
    "# 3 \"a\"\n.version 8.6\n.target sm_90",
    ".pragma \"x\";\n.version 8.6\n.target sm_90",
    "\u{feff}.version 8.6\n.target sm_90",
    "// é\n.version 8.6\n.target sm_90",
];

/// Module bodies, placed after a version and a target.
const BODIES: &[&str] = &[
    "",
    ".entry k() {}",
    ".entry k() { ret; }",
    ".entry k { ret; }",
    ".visible .entry k() { ret; }",
    ".entry k(.param .u32 a, .param .u64 b) { ret; }",
    ".entry k() { ret; } .entry k() { ret; }",
    ".func f() { ret; } .func f() { ret; }",
    ".func f(); .func f() { ret; }",
    ".func f() { ret; } .func f();",
    ".func f(); .func f();",
    ".func f() { ret; } .visible .func f() { ret; }",
    ".entry k() { ret; } .func k() { ret; }",
    ".entry k() { ret; } }",
    ".entry k() { ret;",
    ".entry k() ;",
    ".func f;",
    ".func f() ;",
    ".entry k() { .reg .u32 a; .reg .u32 a; }",
    ".entry k() { .reg .u32 a; { .reg .f32 a; } }",
    ".entry k() { .reg .pred p; .reg .u32 a; { .reg .f32 a; setp.lt.f32 p, a, a; } setp.lt.u32 p, a, a; }",
    ".entry k() { .reg .pred p; .reg .u32 a; { setp.lt.u32 p, a, a; .reg .f32 a; } }",
    ".entry k() { .reg .pred p; .reg .u32 a; { setp.lt.f32 p, a, a; .reg .f32 a; } }",
    ".entry k() { .reg .pred p; { .reg .u32 a; } setp.lt.u32 p, a, a; }",
    ".entry k() { .reg .pred p; setp.lt.u32 p, a, a; .reg .u32 a; }",
    ".entry k() { .reg .u32 %x<4>; .reg .u32 %x1; }",
    ".entry k() { .reg .u32 %x1; .reg .u32 %x<4>; }",
    ".entry k() { .reg .u32 %x<4>; .reg .u32 %x<4>; }",
    ".entry k() { .reg .u32 %x<4>; .reg .u32 %x5; }",
    ".entry k() { .reg .pred p; .reg .u32 %x<4>; { .reg .f32 %x<2>; setp.lt.f32 p, %x1, %x1; setp.lt.u32 p, %x3, %x3; } }",
    ".entry k() { .reg .pred p; .reg .u32 %x<4>; { .reg .f32 %x1; setp.lt.f32 p, %x1, %x1; setp.lt.u32 p, %x01, %x01; } }",
    ".entry k() { .reg .pred p; .reg .u32 x<20>; .reg .f32 x1<3>; setp.lt.u32 p, x12, x12; }",
    ".entry k() { .reg .pred p; .reg .f32 x1<3>; .reg .u32 x<20>; setp.lt.u32 p, x12, x12; }",
    ".entry k() { .reg .pred p; .reg .f32 x1<3>; .reg .u32 x<20>; setp.lt.f32 p, x12, x12; }",
    ".entry k() { .reg .pred p; .reg .u32 a; a: setp.lt.u32 p, a, a; }",
    ".entry k() { .reg .pred p; .reg .u32 a; { a: setp.lt.u32 p, a, a; } }",
    ".entry k() { .reg .pred p; a: a: ret; }",
    ".entry k() { a: ret; { a: ret; } }",
    ".entry k() { a: b: c: }",
    ".reg .u32 r; .entry k() { ret; }",
    ".global .u32 g; .entry k() { .reg .u32 g; .reg .pred p; setp.lt.u32 p, g, g; }",
    ".func f() { ret; } .entry k() { .reg .u32 f; .reg .pred p; setp.lt.u32 p, f, f; }",
    ".entry k() { .reg .u32 k; .reg .pred p; setp.lt.u32 p, k, k; }",
    ".entry k() { .reg .pred p; setp.lt.u32 p, f, f; } .func f() { ret; }",
    ".func f() ; .entry k() { .reg .pred p; setp.lt.u32 p, f, f; }",
    ".func f() { .reg .pred p; setp.lt.u32 p, f, f; ret; }",
    ".func (.reg .u32 r) f (.reg .u32 a, .reg .pred c) { .reg .pred p; setp.lt.and.u32 p, r, a, c; ret; }",
    ".func (.reg .u32 r) f (.reg .u32 a) { .reg .u32 a; ret; }",
    ".func (.reg .u32 r) f (.reg .u32 a) { { .reg .f32 a; } ret; }",
    ".func f (.reg .v2 .u32 v) { .reg .pred p; setp.lt.u32 p, v.x, v.y; ret; }",
    ".func f (.param .u32 a) { .reg .pred p; setp.lt.u32 p, a, a; ret; }",
    ".func f (.reg .u32 a) { ret; } .entry k() { .reg .pred p; setp.lt.u32 p, a, a; }",
    ".func (.reg .u32 r, .reg .u32 s) f () { .reg .pred p; setp.lt.u32 p, r, s; ret; }",
    ".entry k(.reg .u32 a) { ret; }",
    ".func f (.reg .u32 a<4>) { ret; }",
    ".entry k() { .reg .pred %p<2>; .reg .u32 r; @%p2 setp.lt.u32 %p0, r, r; }",
    ".entry k() { setp.lt.u32 p, 1, 2; }",
    "setp.lt.u32 p, 1, 2;",
    ".entry k() { .reg .pred p; setp.lt.u32 p, 1, 2 }",
    ".entry k() { .reg .pred p; setp.lt.u32 p, 1, 2; /* }",
    ".entry k() { .reg .pred p; setp.lt.u32 p, 1, 2; // }",
    ".entry k() { .reg .pred WARP_SZ; }",
    ".entry k() { .reg .pred _; }",
    ".entry k() { .reg .pred __; }",
    ".entry k() { .reg .pred $; }",
    ".entry k() { .reg .pred $a, %a, _a, a$; }",
    ".entry k() { .reg .pred %; }",
    ".entry k() { .reg .pred a%b; }",
    ".entry k() { .reg .pred %%a; }",
    ".entry k() { .reg .pred $%; }",
    ".entry k() { .reg .pred 1a; }",
    ".entry k() { .reg .pred a, ; }",
    ".entry k() { .reg .pred , a; }",
    ".entry k() { .reg .pred a b; }",
    ".entry k() { .reg .pred ; }",
    ".entry k() { .reg .pred a }",
    ".entry k() { .reg pred a; }",
    ".entry k() { .reg.pred a; }",
    ".entry k() { .reg .u32 setp, lt, u32, reg, entry; .reg .pred p; setp.lt.u32 p, setp, lt; set.lt.u32.u32 u32, reg, entry; }",
    ".entry k() { .reg .pred %tid; setp.lt.u32 %tid, 1, 2; }",
    ".entry k() { .reg .u32 %laneid; .reg .pred p; setp.lt.u32 p, %laneid, 2; }",
    ".entry k() { .reg .u32 a<0>; }",
    ".entry k() { .reg .u32 a<08>; }",
    ".entry k() { .reg .u32 a<010>; .reg .pred p; setp.lt.u32 p, a7, a7; }",
    ".entry k() { .reg .u32 a<010>; .reg .pred p; setp.lt.u32 p, a8, a8; }",
    ".entry k() { .reg .u32 a<1+1>; }",
    ".entry k() { .reg .u32 a<1>b; }",
    ".entry k() { .reg .u32 a <2>, c< 2 >; }",
    ".entry k() { .reg .align 4 .u32 a; }",
    ".entry k() { .reg .u32 a[4]; }",
    ".entry k() { .reg .u32 a = 5; }",
    ".entry k() { .reg .v2 .pred a; }",
    ".entry k() { .reg .v4 .f64 a; }",
    ".entry k() { .reg .v2 .u32 a<4>; .reg .pred p; setp.lt.u32 p, a1.x, a3.y; }",
    ".entry k() { .reg .v4 .f32 a; .reg .pred p; setp.lt.f32 p, a.a, a.w; }",
    ".entry k() { .reg .v4 .f32 a; .reg .pred p; setp.lt.f32 p, a.xy, a.w; }",
    ".entry k() { .reg .bf16 a; }",
    ".entry k() { .reg .u128 a; }",
    ".entry k() { .reg .v1 .u32 a; }",
    ".entry k() { .reg .u32 .v2 a; }",
    ".entry k() { .reg .u32 .u32 a; }",
];

/// Returns a module for each pair of version and target; a quick run keeps only the first version that supports the
/// target, and the version before it.
fn pairs(quick: bool) -> Vec<String> {
    let mut pairs = Vec::new();
    for info in TABLE.targets {
        let first = TABLE.versions.iter().position(|version| *version == info.since).unwrap_or(0);
        let near = first.saturating_sub(1)..=first;
        let all: Vec<&Version> = TABLE
            .versions
            .iter()
            .enumerate()
            .filter(|(index, _)| !quick || near.contains(index))
            .map(|(_, v)| v)
            .collect();
        pairs.extend(
            all.into_iter().map(|version| format!(".version {version}\n.target {}\n.entry k() {{ }}\n", info.target)),
        );
    }
    pairs
}

pub(crate) fn hold(assembler: &Assembler, extent: &Extent) -> [Tally; 2] {
    let targets: Vec<String> = pairs(extent.quick);
    let heads = HEADS.iter().map(|head| format!("{head}\n.entry k() {{ }}\n"));
    let bodies = BODIES
        .iter()
        .copied()
        .chain(DECLARATIONS.lines())
        .map(|body| format!(".version 8.6\n.target sm_90\n.address_size 64\n{body}\n"));
    [judge("targets", assembler, targets), judge("frame", assembler, heads.chain(bodies).collect())]
}

fn judge(kind: &'static str, assembler: &Assembler, modules: Vec<String>) -> Tally {
    let mut tally = Tally::new(kind);
    let judged = modules.par_iter().filter_map(|module| {
        let report = check(&TABLE, module.as_bytes(), &Options::default());
        let ours = report.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
        // Targets with a suffix are read only when asked for, and of several the last counts.
        let named = module.rsplit(".target ").next().and_then(|rest| rest.lines().next()?.parse().ok());
        let theirs = assembler.run(module, named.unwrap_or(Target::sm(90)));
        let line = module.replace('\n', "⏎");
        let differs = (ours.is_none() != theirs.passed).then(|| Difference {
            place: String::new(),
            line: line.clone(),
            smaller: None,
            ours: ours.map_or(TAKEN.to_owned(), |error| format!("[{}] {}", error.code, error.message)),
            theirs: if theirs.passed { TAKEN.to_owned() } else { theirs.output.clone() },
        });
        (!assembler.cannot_judge(&theirs)).then_some((line, theirs.passed, differs))
    });
    let judged: Vec<(String, bool, Option<Difference>)> = judged.collect();
    for (line, taken, difference) in judged {
        tally.add("", &line, taken, difference);
    }
    tally
}
