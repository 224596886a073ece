//! Forms of comparison, selection and logic as the manual spells them.

/// Section 9.7.6: `.bN`, `.uN`, `.sN`, `.fN`, as the manual writes them.
pub(crate) const TYPES: [&str; 11] = ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"];

/// The ways to combine with a predicate: none, or a Boolean operator.
const BOOL: [&str; 4] = ["", ".and", ".or", ".xor"];

/// "The untyped, bit-size comparisons are eq and ne"; "The signed and unsigned comparison operators are …"; "For
/// unsigned values, … lo, ls, hi, and hs … may be used instead"; ordered and unordered comparisons of floats.
fn comparisons(ty: &str) -> Vec<&'static str> {
    match ty.as_bytes()[0] {
        b'b' if !ty.starts_with("bf") => vec!["eq", "ne"],
        b'u' => vec!["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
        b's' => vec!["eq", "ne", "lt", "le", "gt", "ge"],
        _ => vec!["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"],
    }
}

/// "Modifier .ftz applies only to .f32 comparisons", and in 9.7.7.2 `.f16` and `.f16x2` have one, `.bf16` has not.
fn flushes(ty: &str) -> &'static [&'static str] {
    if ["f32", "f16", "f16x2"].contains(&ty) { &["", ".ftz"] } else { &[""] }
}

pub(crate) fn set() -> Vec<String> {
    let mut list = Vec::new();
    for dtype in ["u32", "s32", "f32"] {
        for stype in TYPES {
            for cmp in comparisons(stype) {
                for bool_op in BOOL {
                    for ftz in flushes(stype) {
                        list.push(format!("set.{cmp}{bool_op}{ftz}.{dtype}.{stype}"));
                    }
                }
            }
        }
    }
    list
}

/// Forms added by PTX 9.4: packed integers, with a single type.
pub(crate) fn packed_set() -> Vec<String> {
    let types = ["u8x4", "s8x4", "u16x2", "s16x2"];
    types.iter().flat_map(|ty| comparisons(ty).into_iter().map(move |cmp| format!("set.{cmp}.{ty}"))).collect()
}

pub(crate) fn setp(types: &[&str]) -> Vec<String> {
    let mut list = Vec::new();
    for ty in types {
        for cmp in comparisons(ty) {
            for bool_op in BOOL {
                for ftz in flushes(ty) {
                    list.push(format!("setp.{cmp}{bool_op}{ftz}.{ty}"));
                }
            }
        }
    }
    list
}

/// Section 9.7.7.1: halves as destination or source. Each destination type with the source types it permits.
pub(crate) fn half_set() -> Vec<String> {
    let numbers: Vec<&str> = TYPES.into_iter().filter(|ty| !ty.starts_with('f')).collect();
    let with = |more: &[&'static str]| numbers.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>();
    let words = vec!["f16", "f16x2", "bf16", "bf16x2"];
    let pairs = [
        ("u16", vec!["f16", "bf16"]),
        ("s16", vec!["f16", "bf16"]),
        ("u32", words.clone()),
        ("s32", words),
        ("f16", with(&["f16", "f32", "f64"])),
        ("bf16", with(&["f16", "f32", "f64", "bf16"])),
        ("f16x2", vec!["f16x2"]),
        ("bf16x2", vec!["bf16x2"]),
    ];
    let mut list = Vec::new();
    for (dtype, stypes) in pairs {
        for stype in stypes {
            for cmp in comparisons(stype) {
                for bool_op in BOOL {
                    // The assembler knows no flush where a bfloat is written.
                    for ftz in if dtype == "bf16" { &[""] } else { flushes(stype) } {
                        list.push(format!("set.{cmp}{bool_op}{ftz}.{dtype}.{stype}"));
                    }
                }
            }
        }
    }
    list
}

fn logic(opcode: &str) -> Vec<String> {
    ["pred", "b16", "b32", "b64"].map(|ty| format!("{opcode}.{ty}")).to_vec()
}

fn cnot() -> Vec<String> {
    ["b16", "b32", "b64"].map(|ty| format!("cnot.{ty}")).to_vec()
}

fn testp() -> Vec<String> {
    let tests = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
    ["f32", "f64"].iter().flat_map(|ty| tests.map(|test| format!("testp.{test}.{ty}"))).collect()
}

pub(crate) fn selp() -> Vec<String> {
    TYPES.iter().map(|ty| format!("selp.{ty}")).collect()
}

pub(crate) fn slct() -> Vec<String> {
    let heads = ["slct.", "slct.", "slct.ftz."];
    let tails = [".s32", ".f32", ".f32"];
    heads.iter().zip(tails).flat_map(|(head, tail)| TYPES.map(|ty| format!("{head}{ty}{tail}"))).collect()
}

pub(crate) fn vset(opcode: &str, secondary: &[&str]) -> Vec<String> {
    let mut list = Vec::new();
    for atype in ["u32", "s32"] {
        for btype in ["u32", "s32"] {
            for cmp in ["eq", "ne", "lt", "le", "gt", "ge"] {
                for second in secondary {
                    list.push(format!("{opcode}.{atype}.{btype}.{cmp}{second}"));
                }
            }
        }
    }
    list
}

/// Every form with the section that describes it.
pub(crate) fn manual() -> Vec<(String, &'static str)> {
    let sections = [
        (set(), "9.7.6.1"),
        (packed_set(), "9.7.6.1"),
        (setp(&TYPES), "9.7.6.2"),
        (selp(), "9.7.6.3"),
        (slct(), "9.7.6.4"),
        (setp(&["f16", "f16x2", "bf16", "bf16x2"]), "9.7.7.2"),
        (vset("vset2", &["", ".add"]), "9.7.18.2.2"),
        (vset("vset4", &["", ".add"]), "9.7.18.2.4"),
        (half_set(), "9.7.7.1"),
        (logic("and"), "9.7.8.1"),
        (logic("or"), "9.7.8.2"),
        (logic("xor"), "9.7.8.3"),
        (logic("not"), "9.7.8.4"),
        (cnot(), "9.7.8.5"),
        (testp(), "9.7.3.1"),
        (vset("vset", &["", ".add", ".min", ".max"]), "9.7.18.1.4"),
    ];
    sections.into_iter().flat_map(|(list, section)| list.into_iter().map(move |form| (form, section))).collect()
}
