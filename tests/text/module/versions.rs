//! The version and the target of a module: which there are, and what is refused below its floor.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Severity};
use ptx_isa::selector::Permission;
use ptx_isa::table::{FormInfo, Operand};
use ptx_isa::target::{Target, Version};
use ptx_isa::text::{Options, check};

use super::{codes, findings, kernel, report};
use crate::statements;

#[test]
fn a_target_has_options() {
    let sampler = ".version 8.6\n.target sm_90, texmode_independent\n.address_size 64\n.global .samplerref x;\n";
    assert_eq!(findings(sampler, &report(sampler)), []);
    for (text, at) in [
        (
            ".version 8.6\n.target sm_90, texmode_unified, texmode_independent\n",
            ".target sm_90, texmode_unified, texmode_independent",
        ),
        (".version 8.6\n.target sm_90, texmode\n", "texmode"),
        (".version 8.6\n.target sm_90, debug\n.entry k() { ret; }\n", ".target sm_90, debug"),
    ] {
        assert_eq!(findings(text, &report(text)), [(2, "target", at)]);
    }
    let old = ".version 1.4\n.target sm_13, texmode_independent\n";
    assert_eq!(findings(old, &report(old)), [(2, "ptx-version", ".target sm_13, texmode_independent")]);
    let debug = ".version 8.6\n.target sm_90, debug\n.entry k() { ret; }\n.section .debug_info { .b8 0 }\n";
    assert_eq!(findings(debug, &report(debug)), []);
}

#[test]
fn every_form_is_refused_just_below_its_floor() {
    let statement = |form: FormInfo| {
        let name = |operand: &Operand| match &operand.second {
            Some(second) if second.optional != Permission::Yes => format!("{}|{}", operand.name, second.name),
            _ => statements::operand(operand, operand.name),
        };
        // Operands that may be left out have floors of their own.
        let needed = form.operands().iter().filter(|operand| !operand.optional);
        let names = needed.map(|operand| operand.with_around(&name(operand)));
        let free = statements::free(form)?;
        // Free modifiers with floors of their own are tested elsewhere.
        let own = form.floors_with(&free).next().is_none();
        own.then(|| format!("{} {};", form.mnemonic_with(&free), names.collect::<Vec<_>>().join(", ")))
    };
    let verdict = |text: &str, ptx: Version, target: Target| {
        let options = Options { ptx: Some(ptx), target: Some(target) };
        let report = check(&TABLE, text.as_bytes(), &options);
        codes(&report)
            .into_iter()
            .find(|code| matches!(code, Code::PtxVersion | Code::Target))
            .zip(report.diagnostics.iter().map(|diagnostic| diagnostic.severity).max())
    };
    for form in TABLE.forms() {
        let Some(text) = statement(form) else { continue };
        // An undeclared name is taken as a register, whose floor is higher than that of a variable if it holds a
        // texture.
        let needed = form.operands().iter().filter(|operand| !operand.optional);
        let of_register = needed.filter_map(|operand| operand.floor).next_back();
        let floor = of_register.unwrap_or(form.lowest_floor());
        if form.lenient_floor().is_some() {
            let earlier = floor.ptx < form.floor().ptx;
            let wanted = Some((if earlier { Code::PtxVersion } else { Code::Target }, Severity::Warning));
            assert_eq!(verdict(&text, floor.ptx, floor.target()), wanted, "{text}");
        }
        let listed = of_register.unwrap_or(form.floor());
        assert_eq!(verdict(&text, listed.ptx, listed.target()), None, "{text}");
        if let Some(below) = TABLE.versions.iter().rev().find(|version| **version < floor.ptx) {
            assert_eq!(verdict(&text, *below, Target::sm(90)), Some((Code::PtxVersion, Severity::Error)), "{text}");
        }
        if let Some(below) = TABLE.targets.iter().rev().find(|known| known.target.sm < floor.target().sm) {
            let newest = TABLE.versions[TABLE.versions.len() - 1];
            assert_eq!(
                verdict(&text, newest, Target::sm(below.target.sm)),
                Some((Code::Target, Severity::Error)),
                "{text}"
            );
        }
    }
}

#[test]
fn version_and_target_are_checked_themselves() {
    for (head, expected) in [
        (".version 8.6 .target sm_90", None),
        (".version 8.6\n.target sm_80, sm_90, texmode_unified", None),
        (".version 8.6\n.target sm_80\n.target compute_90", None),
        ("// x\n/* y */ .version 8.0\n.target sm_90a", None),
        (".version 8.9\n.target sm_90", Some((Code::PtxVersion, "8.9"))),
        (".version eight\n.target sm_90", Some((Code::PtxVersion, "eight"))),
        (".version 8.6\n.target sm_91", Some((Code::Target, "sm_91"))),
        (".version 8.6\n.target SM_90", Some((Code::Target, "SM_90"))),
        (".version 8.6\n.target sm_90, foo", Some((Code::Target, "foo"))),
        (".version 7.0\n.target sm_90", Some((Code::Target, "sm_90"))),
        (".version 7.7\n.target sm_90", Some((Code::Target, "sm_90"))),
        (".version 7.8\n.target sm_90", None),
        (".version 7.8\n.target sm_90a", Some((Code::Target, "sm_90a"))),
        (".version 8.6", Some((Code::Target, ".entry"))),
        (".target sm_90", Some((Code::PtxVersion, ".target"))),
        (".version 8.6\n.version 8.6\n.target sm_90", Some((Code::Syntax, ".version"))),
        (".version 8.6\n.target sm_90\n.address_size 64\n.target sm_80", Some((Code::Syntax, ".target"))),
        ("", Some((Code::PtxVersion, ".entry"))),
        (".version\n8.6\n.target sm_90", Some((Code::PtxVersion, ".version"))),
        (".version 5.1\n.target sm_70", None),
        (".version 5.0\n.target sm_70", Some((Code::Target, "sm_70"))),
        (".version 8.6\n.target sm_90, texmode_unified, texmode_unified", None),
        (
            ".version 8.6\n.target sm_90, texmode_unified, texmode_independent",
            Some((Code::Target, ".target sm_90, texmode_unified, texmode_independent")),
        ),
        (".version 8.6\n.target sm_90\n.address_size 32", None),
        (".version 8.6\n.target sm_90\n.address_size 16", Some((Code::Syntax, "16"))),
        (".version 8.6\n.target sm_90\n.address_size x", Some((Code::Syntax, "x"))),
        (".version 8.6\n.target sm_90\n.address_size 64\n.address_size 64", Some((Code::Syntax, ".address_size"))),
        (".version 8.6\n.target sm_90\n.global .u32 g;\n.address_size 64", Some((Code::Syntax, ".address_size"))),
        (".version 8.6\n.target sm_90\n#line 5 \"a.cu\"\n.address_size 64", None),
        (".version 8.6\n.target sm_90\n# 5 \"a.cu\" 1", None),
        (".version 8.6\n.target sm_90\n# 5", Some((Code::Syntax, "#"))),
        (".version 8.6\n.target sm_90\n#line \"a.cu\"", Some((Code::Syntax, "#"))),
        (".version 8.6\n.target sm_90\n# 0x5 \"a.cu\"", Some((Code::Syntax, "#"))),
        (".version 8.6\n.target sm_90\n.reg .u32 r;", Some((Code::PtxVersion, ".reg"))),
    ] {
        let text = format!("{head}\n.entry k() {{ .reg .pred p; .reg .u32 r; setp.eq.u32 p, r, r; }}\n");
        let report = report(&text);
        let found = report.diagnostics.first().map(|found| (found.code, &text[found.span.clone()]));
        assert_eq!(found, expected, "{head}");
        assert!(report.diagnostics.len() <= 1, "{head}: {:?}", report.diagnostics);
    }
}

#[test]
fn the_last_target_counts() {
    let statement = ".entry k() { .reg .pred p; .reg .b16 h; setp.eq.bf16 p, h, h; }";
    assert_eq!(report(&format!(".version 8.6\n.target sm_90\n.target sm_80\n{statement}")).errors(), 1);
    assert_eq!(report(&format!(".version 8.6\n.target sm_80, sm_90\n{statement}")).errors(), 0);
}

#[test]
fn options_override_the_module() {
    let text = kernel("setp.eq.bf16 p, b16a, b16a;");
    let with =
        |ptx: Option<Version>, target: Option<Target>| codes(&check(&TABLE, text.as_bytes(), &Options { ptx, target }));
    assert_eq!(with(None, None), []);
    assert_eq!(with(None, Some(Target::sm(80))), [Code::Target]);
    // The kernel declares a register of 128 bits.
    assert_eq!(with(Some(Version::new(7, 0)), None), [Code::PtxVersion, Code::PtxVersion]);
}

#[test]
fn bare_statements_need_a_version_and_a_target_and_no_declarations() {
    let options = Options { ptx: Some(Version::new(8, 6)), target: Some(Target::sm(90)) };
    let text = "@%p1 setp.lt.u32 %p2, %r1, %r2;\nset.u32.f32.lt a, b, c;\nsetp.lo.s32 p, a, b;\nbar.sync a;\n";
    let bare = check(&TABLE, text.as_bytes(), &options);
    assert_eq!((bare.in_table, bare.outside), (4, 0));
    assert_eq!(codes(&bare), [Code::ModifierOrder, Code::IllegalModifier]);
    assert_eq!(codes(&report(text))[0], Code::PtxVersion);

    let declared = ".reg .f32 a; .reg .u32 b;\nsetp.lt.u32 p, a, b;";
    assert_eq!(codes(&check(&TABLE, declared.as_bytes(), &options)), [Code::UndeclaredRegister]);
}

/// An optional operand may have a higher floor than the form.
#[test]
fn operands_are_refused_below_their_floors() {
    let verdict = |text: &str, ptx: Version, target: Target| {
        let options = Options { ptx: Some(ptx), target: Some(target) };
        codes(&check(&TABLE, text.as_bytes(), &options)).into_iter().find(|code| *code != Code::UndeclaredRegister)
    };
    let mut asking = 0;
    for form in TABLE.forms().filter(|form| form.has_evaluator()) {
        let names: Vec<&str> = form.operands().iter().map(|operand| operand.name).collect();
        for (place, operand) in form.operands().iter().enumerate() {
            let Some(floor) = &operand.floor else { continue };
            let with = |count: usize| format!("{} {};", form.mnemonic(), names[..count].join(", "));
            let (shorter, longer) = (with(place), with(place + 1));
            assert_eq!(verdict(&longer, floor.ptx, floor.target()), None, "{longer}");
            let below = *TABLE.versions.iter().rev().find(|version| **version < floor.ptx).expect("an older one");
            assert_eq!(verdict(&longer, below, floor.target()), Some(Code::PtxVersion), "{longer}");
            assert_eq!(verdict(&longer, floor.ptx, Target::sm(90)), Some(Code::Target), "{longer}");
            assert_eq!(verdict(&shorter, below, Target::sm(90)), None, "{shorter}");
            asking += 1;
        }
    }
    // The third source of `min` and `max`, with and without `.ftz`, `.NaN`.
    assert_eq!(asking, 2 * 2 * 2);
}

#[test]
fn free_modifiers_have_floors() {
    for (line, version, target, errors) in [
        ("ld.global.u32 r, [a];", "7.0", "sm_70", 0),
        ("ld.relaxed.cluster.global.u32 r, [a];", "7.8", "sm_90", 0),
        ("txq.width.b32 r, [a];", "3.1", "sm_20", 0),
        ("txq.width.b32 r, [a];", "3.0", "sm_20", 1),
        ("txq.width.b32 r, [t];", "3.0", "sm_20", 0),
        ("ld.relaxed.cluster.global.u32 r, [a];", "7.7", "sm_80", 1),
        ("ld.relaxed.cluster.global.u32 r, [a];", "7.8", "sm_80", 1),
        ("ld.relaxed.gpu.global.u32 r, [a];", "7.8", "sm_80", 0),
    ] {
        let text = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.global .texref t;\n.entry k() {{ .reg .u32 r; .reg .u64 a; {line} }}\n"
        );
        assert_eq!(report(&text).errors(), errors, "{line} {version} {target}");
    }
}
