//! Mistakes as people make them: one finding each, which says what would be right.

use ptx_isa::TABLE;
use ptx_isa::text::{Options, check};

fn module(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.global .align 4 .u32 counter;\n\
         .func (.param .b32 r) helper(.param .b32 a) {{ ret; }}\n\
         .entry k(.param .u64 p, .param .u32 n)\n{{\n    .reg .b32 %r<5>; .reg .f32 %f<5>; .reg .b64 %rd<5>; .reg .pred %p<3>; .reg .f64 %d<3>;\n    \
         .param .b32 arg; .param .b32 res;\nTOP:\n    {body}\n    ret;\n}}\n"
    )
}

/// The mistake, a part of the message, a part of its help, and the text of its first edit.
type Case = (&'static str, &'static str, &'static str, Option<&'static str>);

const CASES: &[Case] = &[
    // Names are answered for what they should be.
    ("call nofunc;", "there is no function `nofunc`", "`.func`", None),
    ("call (res), helpr, (arg);", "there is no function `helpr`", "`helper`", Some("helper")),
    ("bra TP;", "there is no label `TP`", "`TOP`", Some("TOP")),
    ("ld.global.u32 %r1, [countr];", "`countr` is not declared", "`counter`", Some("counter")),
    ("ld.global.u32 %r1, [elsewhere];", "`elsewhere` is not declared", "a variable with its state space", None),
    ("mov.u64 %rd1, countr;", "`countr` is not declared", "`counter`", Some("counter")),
    ("mov.u32 %r1, %tidx;", "`%tidx` is not declared", "`%tid.x`", Some("%tid.x")),
    ("mov.u32 %r1, tid.x;", "`tid` is not declared", "`%tid`", Some("%tid")),
    ("mov.u32 %r1, %smidd;", "`%smidd` is not declared", "`%smid`", Some("%smid")),
    ("add.s32 %r1, %q1, 1;", "`%q1` is not declared", "declare it with `.reg`", None),
    ("{ .reg .b32 %sum<3>; add.s32 %r1, %smu1, 1; }", "`%smu1` is not declared", "`%sum1`", Some("%sum1")),
    ("add.s32 %r1, nothing, 1;", "`nothing` is not declared", "`.reg`", None),
    ("add.s32 %r1, %r9, 1;", "`%r9` is not declared", "`%r<5>` declares `%r0` to `%r4`", Some("10")),
    ("@%p9 ret;", "`%p9` is not declared here, and a guard", "`%p<3>` declares", Some("10")),
    ("@nothing ret;", "`nothing` is not declared here, and a guard", "`.reg .pred`", None),
    // Missing modifiers come first.
    (
        "mul.s32 %r1, %r1, %r2;",
        "`mul` requires a modifier such as `.hi`, `.lo`",
        "use `mul.hi.s32`, `mul.lo.s32` or `mul.wide.s32`",
        None,
    ),
    (
        "cvt.f32.s32 %f1, %r1;",
        "`cvt` requires a modifier such as `.rn`, `.rz`, `.rm`, `.rp`",
        "`cvt.rn.f32.s32`",
        Some("cvt.rn.f32.s32"),
    ),
    ("cvt.f32.f64 %f1, %d1;", "together", "`cvt.rn.f32.f64`", Some("cvt.rn.f32.f64")),
    ("add.ftz.s32 %r1, %r1, %r2;", "`.ftz` is not valid for `add.s32`", "", None),
    ("ld.global.shared.u32 %r1, [%rd1];", "`.shared` conflicts with `.global`", "", None),
    ("bar 0;", "`bar` requires `.sync`", "write `.sync`", None),
    ("neg.u32 %r1, %r1;", "`.u32` is not a valid `.type` of `neg`", "`.s32`", Some("neg.s32")),
    ("and.s32 %r1, %r1, %r2;", "`.s32` is not a valid `.type` of `and", "`.b32`", Some("and.b32")),
    ("shl.u32 %r1, %r1, 2;", "`.u32` is not a valid `.type` of `shl", "`.b32`", Some("shl.b32")),
    // A comparison for unsigned integers has one for signed integers that means the same.
    ("setp.hs.s32 %p1, %r1, %r2;", "`.hs` is for unsigned integers", "", Some("setp.ge.s32")),
    ("setp.hi.s32 %p1, %r1, %r2;", "`.hi` is for unsigned integers", "", Some("setp.gt.s32")),
    ("setp.ls.s32 %p1, %r1, %r2;", "`.ls` is for unsigned integers", "", Some("setp.le.s32")),
    // The operation is kept where another integer type of the width fits.
    ("red.global.add.s64 [%rd1], %rd2;", "`.add` as `.op`", "`red.global.add.u64`", Some("red.global.add.u64")),
    (
        "atom.global.add.s64 %rd1, [%rd1], %rd2;",
        "`.add` as `.op`",
        "`atom.global.add.u64`",
        Some("atom.global.add.u64"),
    ),
    // Types of other languages have their kind and width.
    ("add.i32 %r1, %r1, %r2;", "`add` has no modifier `.i32`", "`.s32`", Some("add.s32")),
    ("setp.lt.i32 %p1, %r1, %r2;", "`setp` has no modifier `.i32`", "`.s32`", Some("setp.lt.s32")),
    ("and.i32 %r1, %r1, %r2;", "`and` has no modifier `.i32`", "`.b32`", Some("and.b32")),
    // A bracket without its other half is not a missing semicolon.
    ("ld.global.u32 %r1, [%rd1]];", "this `]` closes nothing", "", Some("")),
    // Removed forms have a replacement.
    ("div.f32 %f1, %f1, %f2;", "`div.f32` is gone", "`div.rn.f32`", None),
    ("shfl.down.b32 %r1, %r1, 1, 31;", "`shfl.down.b32` is gone", "`shfl.sync.down.b32`", None),
    ("vote.all.pred %p1, %p2;", "`vote.all.pred` is gone", "`vote.sync.all.pred`", None),
];

#[test]
fn one_mistake_is_one_finding_with_its_remedy() {
    let mut wrong = Vec::new();
    for (statement, message, help, fix) in CASES {
        let text = module(statement);
        let found = check(&TABLE, text.as_bytes(), &Options::default()).diagnostics;
        let fits = match &*found {
            [one] => {
                let first = one.fixes.first().map(|fix| &*fix.text);
                one.message.contains(message)
                    && one.help.as_ref().is_some_and(|own| own.contains(help))
                    && fix.is_none_or(|fix| first == Some(fix))
            }
            _ => false,
        };
        if !fits {
            wrong.push(format!("{statement}: {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Help that shows how the form is written, without suggesting removed forms.
#[test]
fn operands_of_another_kind_show_the_form() {
    let found =
        |statement: &str| check(&TABLE, module(statement).as_bytes(), &Options::default()).diagnostics.remove(0);
    let note = |statement: &str| found(statement).note.unwrap_or_default();
    assert_eq!(note("st.global.u32 %r1, [counter];"), "it is written `st.global.u32 [a], b`");
    assert_eq!(note("atom.global.add.u32 [counter], 1;"), "it is written `atom.global.add.u32 d, [a{.unified}], b`");
    assert_eq!(
        (found("ret %r1;").message, note("ret %r1;")),
        ("`ret` takes 0 operands, not 1".into(), "it is written `ret`".into())
    );
    assert_eq!(found("shfl.sync.down.b32 %r1, %r1, 1, 31;").help, None);
}

/// A mnemonic may have forms with other numbers of operands, which its modifiers decide.
#[test]
fn a_wrong_number_of_operands_names_those_that_the_modifiers_allow() {
    let found =
        |statement: &str| check(&TABLE, module(statement).as_bytes(), &Options::default()).diagnostics.remove(0);
    let remote = "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32";
    let many = found(&format!("{remote} [%r1], %r2, [%r3], %r4;"));
    assert_eq!(many.message, format!("`{remote}` takes 2 to 3 operands, not 4"));
    assert_eq!(many.note, Some(format!("it is written `{remote} [a], b, [mbar]` or `{remote} [a], b`")));
    let release = "st.async.mmio.release.sys.global.u32";
    let three = found(&format!("{release} [%rd1], %r2, [%rd2];"));
    assert_eq!(three.message, format!("`{release}` takes 2 operands, not 3"));
    assert_eq!(three.note, Some(format!("it is written `{release} [a], b`")));
    // Their number is right, and one of them is not.
    let register = found(&format!("{remote} [%r1], %r2, %r3;"));
    assert_eq!(register.message, "the operand `mbar` is an address: `[` is expected here");
}
