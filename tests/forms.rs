//! The forms of the table are those of the manual: enumerated here from the manual's sets and notes, by hand.

#[path = "forms/manual.rs"]
mod manual;

use std::collections::BTreeSet;

use manual::{TYPES, half_set, manual, packed_set, selp, set, setp, slct, vset};
use ptx_isa::table::FormInfo;
use ptx_isa::target::{Target, Version};
use ptx_isa::{Form, Instruction, Opcode, TABLE};

/// Opcodes that `manual` covers: comparison, selection and logic.
const FIRST: [&str; 11] = ["set", "setp", "selp", "slct", "vset", "vset2", "vset4", "and", "or", "xor", "not"];

fn is_first(mnemonic: &str) -> bool {
    let opcode = mnemonic.split('.').next().unwrap_or_default();
    FIRST.contains(&opcode) || matches!(opcode, "cnot" | "testp")
}

#[test]
fn the_counts_are_those_of_the_manual() {
    let counts = |list: Vec<String>| {
        let distinct = list.iter().collect::<BTreeSet<_>>().len();
        assert_eq!(distinct, list.len(), "the enumeration above spells nothing twice");
        distinct
    };
    assert_eq!(counts(set()), 1152);
    assert_eq!(counts(packed_set()), 32);
    assert_eq!(counts(setp(&TYPES)), 384);
    assert_eq!(counts(setp(&["f16", "f16x2", "bf16", "bf16x2"])), 336);
    assert_eq!(counts(selp()), 11);
    assert_eq!(counts(slct()), 33);
    assert_eq!(counts(vset("vset2", &["", ".add"])), 48);
    assert_eq!(counts(vset("vset4", &["", ".add"])), 48);
    assert_eq!(counts(half_set()), 2112);
    // The first table, then what it grew by.
    assert_eq!(TABLE.forms().filter(|form| is_first(form.mnemonic())).count(), 2012 + 2112 + 4 * 4 + 3 + 12 + 96 + 32);
    let of = |opcode: Opcode| Form::ALL.iter().filter(|form| form.opcode() == opcode).count();
    let first = Form::ALL.iter().filter(|form| form.opcode() == Opcode::Set && form.section() == "9.7.6.1");
    assert_eq!(first.count(), 1152 + 32);
    assert_eq!(of(Opcode::Set), 1152 + 32 + 2112);
    assert_eq!(of(Opcode::Setp), 720);
    assert_eq!(of(Opcode::Selp), 11);
    assert_eq!(of(Opcode::Slct), 33);
    assert_eq!(of(Opcode::Vset2), 48);
    assert_eq!(of(Opcode::Vset4), 48);
}

/// Of arithmetic, shifts, conversion and video: how many mnemonics each section of the manual spells, counted by hand.
#[test]
fn the_counts_of_arithmetic_are_those_of_the_manual() {
    let counts: [(&str, usize); 87] = [
        // Integers: types, those that saturate, those that keep negative numbers out, parts of products.
        // `clmad`, which is younger than the manual.
        ("9.7.1", 2 * 2),
        ("9.7.1.1", 10 + 6),
        ("9.7.1.2", 8 + 3),
        ("9.7.1.3", 2 * 6 + 4),
        ("9.7.1.4", 2 * 6 + 4 + 1),
        ("9.7.1.5", 4),
        ("9.7.1.6", 4 + 1),
        ("9.7.1.7", 6),
        ("9.7.1.8", 6),
        ("9.7.1.9", 6),
        ("9.7.1.10", 3),
        ("9.7.1.11", 4),
        ("9.7.1.12", 10 + 3),
        ("9.7.1.13", 10 + 3),
        ("9.7.1.14", 2),
        ("9.7.1.15", 2),
        ("9.7.1.16", 2 * 4),
        ("9.7.1.17", 1),
        ("9.7.1.18", 2),
        ("9.7.1.19", 4),
        ("9.7.1.20", 2),
        ("9.7.1.21", 2 * 2),
        ("9.7.1.22", 2),
        ("9.7.1.23", 2 * 2),
        ("9.7.1.24", 2 * 2 * 2),
        // Carry: with and without its going on.
        ("9.7.2.1", 4),
        // Forms with a carry in also have 16-bit types, which only the assembler lists.
        ("9.7.2.2", 2 * 4 + 2),
        ("9.7.2.3", 4),
        ("9.7.2.4", 2 * 4 + 2),
        ("9.7.2.5", 2 * 4),
        ("9.7.2.6", 2 * 2 * 4 + 2 * 2),
        // Floats: roundings and none, flushed, saturated; pairs; doubles. The last ones are those of old versions, which need
        // no rounding.
        ("9.7.3.2", 2),
        ("9.7.3.3", 5 * 2 * 2 + 5 * 2 + 5),
        ("9.7.3.4", 5 * 2 * 2 + 5 * 2 + 5),
        ("9.7.3.5", 5 * 2 * 2 + 5 * 2 + 5),
        ("9.7.3.6", 4 * 2 * 2 + 4 * 2 + 4),
        ("9.7.3.7", 4 * 2 * 2 + 4 + (2 * 2 + 1)),
        ("9.7.3.8", 4 * 2 + 2 + 2 + 4 + 2),
        ("9.7.3.9", 2 + 1),
        ("9.7.3.10", 2 + 1),
        ("9.7.3.11", 2 * 2 * 3 + 1),
        ("9.7.3.12", 2 * 2 * 3 + 1),
        ("9.7.3.13", 4 * 2 + 4 + 2 + 1),
        ("9.7.3.14", 1),
        ("9.7.3.15", 4 * 2 + 4 + 2 + 2),
        ("9.7.3.16", 2 + 1 + 2),
        ("9.7.3.17", 1),
        ("9.7.3.18", 2 + 1),
        ("9.7.3.19", 2 + 1),
        ("9.7.3.20", 2 + 1),
        ("9.7.3.21", 2 + 1),
        ("9.7.3.22", 1),
        // Halves and pairs of them, then bfloats.
        ("9.7.4.1", 2 * 2 * 2 * 2 + 2 * 2),
        ("9.7.4.2", 2 * 2 * 2 * 2 + 2 * 2),
        ("9.7.4.3", 2 * 2 * 2 * 2 + 2 * 2),
        ("9.7.4.4", 2 * (2 * 2 + 2 + 2 + 1) + 2 * 2 * 2),
        ("9.7.4.5", 2 * 2 + 2),
        ("9.7.4.6", 2 * 2 + 2),
        ("9.7.4.7", 2 * (2 * 2 * 2) + 2 * (2 * 2)),
        ("9.7.4.8", 2 * (2 * 2 * 2) + 2 * (2 * 2)),
        ("9.7.4.9", 4),
        ("9.7.4.10", 4),
        // A half and a float.
        // Of PTX 9.4: pairs of halves and of floats, pairs of floats as halves, and four numbers of six types and two.
        ("9.7.5.1", 5 * 2 * 2 + 5 * 2 + 2 * 2 + 2 * 6 * 2 * 2),
        ("9.7.5.2", 5 * 2 * 2 + 5 * 2 + 2 * 2 + 2 * 6 * 2 * 2),
        ("9.7.5.3", 4 * 2 * 2 + 4 * 2 + (2 + 2) + 2 * (2 * 6 * 6 * 2 * 2)),
        // Logic and shifts.
        ("9.7.8.6", 1 + 2),
        ("9.7.8.7", 2 * 2),
        ("9.7.8.8", 3),
        ("9.7.8.9", 9),
        ("9.7.9.7", 7),
        // Movement, packing, and what a warp does together.
        // One value of each type, and two or four values of each type up to 128 bits.
        ("9.7.9.3", 13 + 2 * 7 + 4),
        ("9.7.9.22", 2 + 6),
        ("9.7.9.5", 4),
        ("9.7.9.6", 4),
        ("9.7.13.8", 3 + 1),
        ("9.7.13.9", 3 + 1),
        ("9.7.13.10", 2 * 2),
        ("9.7.13.11", 1),
        ("9.7.13.12", 3 * 2 + 3 + 2 * 4),
        ("9.7.13.14", 1),
        // Video: types, saturation, no second operation or one of three; types with saturation and without, or counted.
        ("9.7.18.1.1", 5 * 8 * 2 * 4),
        ("9.7.18.1.2", 2 * 4 * 2 * 2 * 4),
        // No minus, or one of two on the product or on `c`; plus one with none, or two.
        ("9.7.18.1.3", 8 * 2 * 3 * (2 + 2 + 2) + 8 * 2 * 3 * 2),
        ("9.7.18.2.1", 6 * (8 * 2 + 8)),
        ("9.7.18.2.3", 6 * (8 * 2 + 8)),
        // Between integers: 64 pairs, 38 of which can saturate. From floats: roundings, `.ftz` of singles, `.sat`; bfloats
        // know neither. To floats alike. Between floats: smaller, larger, the same, bfloats.
        ("9.7.9.21", CONVERSIONS),
        ("9.7.6.1", 1152 + 32),
    ];
    const CONVERSIONS: usize = {
        let integers = 64 + 38;
        let to_integers = 8 * 4 * 2 * (1 + 2 + 1) + 8 * 4;
        let from_integers = 8 * 4 * 2 * (1 + 2 + 1) + 8 * 4;
        let smaller = 4 * 2 * (2 + 2 + 1) + 4 * 2 + 4;
        let larger = 4 + 4 + 2;
        let same = 10 + 20 + 10 + 5;
        let bfloats = 3 * 5 + 10;
        let relu = 2 * 2 * 3;
        let pairs = 2 * 2 * 2 * 2;
        let tensor = 2 * 4 + 2;
        let narrow = 5 * 2 + 5 * 2 * 2 + 5 * 2 + 5 * 2 * 2;
        let powers = 4 + 4 + 1;
        let random = 2 * 2 * 2 + 5 * 2;
        let scaled = 5 * 2 * 2 + 2 * 2 * 2 + 2 * 2 * 2 * 2;
        // Of PTX 9.4: to zero, or without negative zeros; five bits of exponent without a sign.
        let newest = 5 * 3 * (2 * 2 + 2) + 3 * 3 * 2 + 3;
        integers
            + to_integers
            + from_integers
            + smaller
            + larger
            + same
            + bfloats
            + relu
            + pairs
            + tensor
            + narrow
            + powers
            + random
            + scaled
            + newest
    };
    for (section, count) in counts {
        let found = Form::ALL.iter().filter(|form| form.section() == section).count();
        assert_eq!(found, count, "{section}");
    }
}

#[test]
fn the_mnemonics_are_those_of_the_manual() {
    let manual: BTreeSet<String> = manual().into_iter().map(|(form, _)| form).collect();
    let first = TABLE.forms().map(FormInfo::mnemonic).filter(|mnemonic| is_first(mnemonic));
    let table: BTreeSet<String> = first.map(str::to_owned).collect();
    let missing: Vec<&String> = manual.difference(&table).collect();
    let invented: Vec<&String> = table.difference(&manual).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    assert!(invented.is_empty(), "invented: {invented:?}");
}

#[test]
fn every_form_knows_its_section() {
    for (mnemonic, section) in manual() {
        let form: Form = mnemonic.parse().unwrap();
        assert_eq!(form.section(), section, "{mnemonic}");
    }
}

#[test]
fn form_ids_are_dense() {
    assert_eq!(Form::ALL.len(), Form::COUNT);
    assert_eq!(TABLE.forms.len(), Form::COUNT);
    for (index, form) in Form::ALL.iter().enumerate() {
        assert_eq!(form.index(), index);
        assert_eq!(Form::from_index(index), Some(*form));
        assert_eq!(Form::of(form.info()), Some(*form));
        assert_eq!(Some(form.info()), TABLE.form_at(index));
        // Of several forms of one mnemonic it names the first, and each the next.
        let first = TABLE.form(form.mnemonic()).unwrap();
        assert!(first.shapes().any(|shape| shape == form.info()), "{form}");
    }
    assert_eq!(Form::from_index(Form::COUNT), None);
    assert_eq!(std::mem::size_of::<Form>(), 2);
}

#[test]
fn every_mnemonic_goes_to_its_form_and_back() {
    for (mnemonic, _) in manual() {
        let form: Form = mnemonic.parse().unwrap_or_else(|error| panic!("{mnemonic}: {error}"));
        assert_eq!(form.mnemonic(), mnemonic);
        assert_eq!(form.to_string(), mnemonic);
        assert_eq!(format!("{form:?}"), mnemonic);
        let opcode = mnemonic.split('.').next().unwrap();
        assert_eq!(form.opcode().to_string(), opcode);
        assert_eq!(form.info().instruction().opcode, opcode);
    }
}

/// The perfect hash maps any text to a slot, so the mnemonic in the slot must be compared with the text.
#[test]
fn a_text_that_differs_from_a_mnemonic_in_one_byte_is_not_found() {
    let known: BTreeSet<&str> = Form::ALL.iter().map(|form| form.mnemonic()).collect();
    let mut lengths = BTreeSet::new();
    for mnemonic in &known {
        lengths.insert(mnemonic.len());
        let bytes = mnemonic.as_bytes();
        for index in 0..bytes.len() {
            let mut other = bytes.to_vec();
            other[index] ^= 1;
            let shorter = [&bytes[..index], &bytes[index + 1..]].concat();
            let longer = [&bytes[..=index], b"\0", &bytes[index + 1..]].concat();
            for text in [other, shorter, longer] {
                let text = String::from_utf8(text).unwrap();
                assert_eq!(TABLE.forms.index(&text).is_some(), known.contains(text.as_str()), "{text:?}");
            }
        }
    }
    // Keys of three words are for 8 to 24 bytes, so there should be others.
    assert!(lengths.first().unwrap() < &8 && lengths.last().unwrap() > &24);
}

/// A struct's fields, spelt in the manual's order: for a struct of each shape.
fn spell(instruction: Instruction) -> Option<String> {
    let dotted = |word: Option<&'static str>| word.map(|word| format!(".{word}")).unwrap_or_default();
    let flag = |word: &'static str, there: bool| dotted(there.then_some(word));
    Some(match instruction {
        Instruction::Set(i) => {
            let bool_op = dotted(i.bool_op.map(|op| op.as_str()));
            let dtype = dotted(i.dtype.map(|ty| ty.as_str()));
            format!("set.{}{bool_op}{}{dtype}.{}", i.cmp_op, flag("ftz", i.ftz), i.stype)
        }
        Instruction::Setp(i) => {
            let bool_op = dotted(i.bool_op.map(|op| op.as_str()));
            format!("setp.{}{bool_op}{}.{}", i.cmp_op, flag("ftz", i.ftz), i.ty)
        }
        Instruction::Selp(i) => format!("selp.{}", i.ty),
        Instruction::Slct(i) => format!("slct{}.{}.{}", flag("ftz", i.ftz), i.dtype, i.ctype),
        Instruction::Vset2(i) => format!("vset2.{}.{}.{}{}", i.atype, i.btype, i.cmp, flag("add", i.add)),
        Instruction::Vset4(i) => format!("vset4.{}.{}.{}{}", i.atype, i.btype, i.cmp, flag("add", i.add)),
        Instruction::Vset(i) => {
            format!("vset.{}.{}.{}{}", i.atype, i.btype, i.cmp, dotted(i.op2.map(|op| op.as_str())))
        }
        Instruction::And(i) => format!("and.{}", i.ty),
        Instruction::Testp(i) => format!("testp.{}.{}", i.op, i.ty),
        _ => return None,
    })
}

#[test]
fn every_form_goes_to_its_struct_and_back() {
    let firsts = Form::ALL.iter().filter(|form| TABLE.form(form.mnemonic()) == Some(form.info()));
    for form in firsts {
        let instruction = form.instruction();
        assert!(spell(instruction).is_none_or(|spelt| spelt == form.mnemonic()), "{form}");
        assert_eq!(instruction.form().unwrap(), *form);
        let typed = match instruction {
            Instruction::Set(i) => Form::try_from(i),
            Instruction::Setp(i) => Form::try_from(i),
            Instruction::Selp(i) => Form::try_from(i),
            Instruction::Slct(i) => Form::try_from(i),
            Instruction::Vset2(i) => Form::try_from(i),
            Instruction::Vset4(i) => Form::try_from(i),
            Instruction::Vset(i) => Form::try_from(i),
            Instruction::And(i) => Form::try_from(i),
            Instruction::Testp(i) => Form::try_from(i),
            _ => continue,
        };
        assert_eq!(typed.unwrap(), *form);
    }
}

/// Every struct that can be built is a form, or is refused with the reason: never another form.
#[test]
fn every_struct_is_its_form_or_is_refused() {
    use ptx_isa::{BoolOp, CmpOp, ScalarType, Set, Setp};
    let manual: BTreeSet<String> = manual().into_iter().map(|(form, _)| form).collect();
    let bool_ops: Vec<Option<BoolOp>> = std::iter::once(None).chain(BoolOp::ALL.map(Some)).collect();
    let mut refused = 0;
    let mut check = |instruction: Instruction| match instruction.form() {
        Ok(form) => assert_eq!(Some(form.mnemonic()), spell(instruction).as_deref()),
        Err(error) => {
            refused += 1;
            let spelt = spell(instruction).unwrap();
            assert!(!manual.contains(&spelt), "{spelt}: {error}");
            assert!(!error.to_string().is_empty());
        }
    };
    for cmp_op in CmpOp::ALL {
        for &bool_op in &bool_ops {
            for ftz in [false, true] {
                for stype in ScalarType::ALL {
                    check(Setp { cmp_op, bool_op, ftz, ty: stype }.into());
                    for dtype in [None, Some(ScalarType::U32), Some(ScalarType::F32), Some(ScalarType::F16)] {
                        check(Set { cmp_op, bool_op, ftz, dtype, stype }.into());
                    }
                }
            }
        }
    }
    assert!(refused > 5000, "{refused}");
}

/// The first PTX version and the lowest target, from the notes under each section.
fn floor(mnemonic: &str) -> (Version, Target) {
    let parts: Vec<&str> = mnemonic.split('.').collect();
    let (opcode, last) = (parts[0], parts[parts.len() - 1]);
    let dtype = parts[parts.len() - 2];
    let first = match (opcode, last) {
        ("set", _) if dtype.starts_with("bf") || last.starts_with("bf") => (Version::new(7, 8), Target::sm(90)),
        ("set", _) if ["f16", "f16x2"].contains(&dtype) => (Version::new(4, 2), Target::sm(53)),
        ("set", "f16" | "f16x2") => (Version::new(6, 5), Target::sm(53)),
        ("set", "u8x4" | "s8x4" | "u16x2" | "s16x2") => (Version::new(9, 4), Target { sm: 107, suffix: Some('f') }),
        ("vset" | "testp", _) => (Version::new(2, 0), Target::sm(20)),
        (_, "f16" | "f16x2") => (Version::new(4, 2), Target::sm(53)),
        (_, "bf16" | "bf16x2") => (Version::new(7, 8), Target::sm(90)),
        ("vset2" | "vset4", _) => (Version::new(3, 0), Target::sm(30)),
        _ => {
            // The type that is asked about is the last one, but slct's is the one before.
            let asked = if opcode == "slct" { parts[parts.len() - 2] } else { last };
            (Version::new(1, 0), Target::sm(if asked == "f64" { 13 } else { 10 }))
        }
    };
    // The assembler's floor of `.ftz`; the manual's half section has a later one of its own.
    if parts.contains(&"ftz") { (first.0.max(Version::new(1, 4)), first.1) } else { first }
}

#[test]
fn floors_are_those_of_the_manual() {
    for (mnemonic, _) in manual() {
        let form: Form = mnemonic.parse().unwrap();
        assert_eq!((form.since(), form.target()), floor(&mnemonic), "{mnemonic}");
    }
}

/// The assembler demotes `.f64` below sm_13 and takes it; nothing else runs on targets below the manual's, but for bfloats
/// made singles.
#[test]
fn only_doubles_have_a_lenient_floor() {
    for form in TABLE.forms().filter(|form| !form.evaluations().is_empty()) {
        let parts: Vec<&str> = form.mnemonic().split('.').collect();
        let asked = if parts[0] == "slct" { parts[parts.len() - 2] } else { parts[parts.len() - 1] };
        // A conversion asks for doubles on either side.
        let asked = if parts[0] == "cvt" && parts[parts.len() - 2] == "f64" { "f64" } else { asked };
        // If the whole instruction is newer than doubles, there is nothing to relax.
        let asked = if form.floor().target().sm > 13 { "" } else { asked };
        match form.lenient_floor() {
            Some(relaxed)
                if relaxed.floor.targets == form.floor().targets || form.mnemonic().ends_with(".f32.bf16") =>
            {
                assert!(relaxed.floor.ptx < form.floor().ptx && !relaxed.note.is_empty(), "{}", form.mnemonic());
            }
            Some(relaxed) => {
                assert_eq!(asked, "f64", "{}", form.mnemonic());
                assert_eq!(relaxed.floor.ptx, form.floor().ptx, "{}", form.mnemonic());
                assert_eq!(relaxed.floor.targets, [Target::sm(10)], "{}", form.mnemonic());
                assert!(!relaxed.note.is_empty());
            }
            None => assert_ne!(asked, "f64", "{}", form.mnemonic()),
        }
    }
}

/// Every spelling one edit away: a character left out, doubled, replaced or swapped, a modifier left out, doubled,
/// swapped or replaced.
fn neighbours(mnemonic: &str) -> BTreeSet<String> {
    let chars: Vec<char> = mnemonic.chars().collect();
    let mut list = BTreeSet::new();
    for at in 0..chars.len() {
        let mut shorter = chars.clone();
        shorter.remove(at);
        list.insert(shorter.iter().collect());
        for new in ['.', ' ', 'a', 'e', 's', 'u', '1', '3', '4', 'A', '\0', 'é'] {
            let mut other = chars.clone();
            other[at] = new;
            list.insert(other.iter().collect());
            other = chars.clone();
            other.insert(at, new);
            list.insert(other.iter().collect());
        }
        if at > 0 {
            let mut swapped = chars.clone();
            swapped.swap(at - 1, at);
            list.insert(swapped.iter().collect());
        }
    }
    let words: Vec<&str> = mnemonic.split('.').collect();
    let modifiers = ["ftz", "and", "lt", "ltu", "lo", "u32", "f32", "f64", "b16", "f16x2", "add", "max", "h10"];
    for at in 0..words.len() {
        let mut shorter = words.clone();
        shorter.remove(at);
        list.insert(shorter.join("."));
        for new in modifiers.into_iter().chain([words[at]]) {
            let mut other = words.clone();
            other[at] = new;
            list.insert(other.join("."));
            other = words.clone();
            other.insert(at, new);
            list.insert(other.join("."));
        }
        if at > 0 {
            let mut swapped = words.clone();
            swapped.swap(at - 1, at);
            list.insert(swapped.join("."));
        }
    }
    for tail in [".", " ", ";", ".x"] {
        list.insert(format!("{mnemonic}{tail}"));
    }
    list
}

#[test]
fn neighbours_of_forms_that_are_no_forms_are_refused() {
    let manual: BTreeSet<String> = manual().into_iter().map(|(form, _)| form).collect();
    let mut refused = 0_usize;
    for mnemonic in &manual {
        for near in neighbours(mnemonic).into_iter().filter(|near| is_first(near)) {
            let parsed = near.parse::<Form>().ok().map(Form::mnemonic);
            let expected = manual.get(&near).map(String::as_str);
            assert_eq!(parsed, expected, "{near:?}");
            refused += usize::from(parsed.is_none());
        }
    }
    assert!(refused > 400_000, "{refused}");
    for rubbish in ["", ".", "set", "set.", "SETP.LT.S32", " setp.lt.s32", "\u{feff}selp.b32"] {
        assert!(rubbish.parse::<Form>().is_err(), "{rubbish:?}");
    }
    assert!("set".repeat(1000).parse::<Form>().is_err());
}

/// The operands of the syntax lines, with their types: `d{.mask}` is a destination with a selector.
#[test]
fn operands_are_those_of_the_manual() {
    for form in Form::ALL.iter().filter(|form| is_first(form.mnemonic())) {
        let parts: Vec<&str> = form.mnemonic().split('.').collect();
        let combined = parts[1..].iter().any(|part| ["and", "or", "xor"].contains(part));
        let last = parts[parts.len() - 1];
        let mut expected: Vec<(&str, &str)> = match parts[0] {
            "set" => {
                let packed = ["u8x4", "s8x4", "u16x2", "s16x2"].contains(&last);
                vec![("d", parts[parts.len() - if packed { 1 } else { 2 }]), ("a", last), ("b", last)]
            }
            "setp" => vec![("p", "pred"), ("a", last), ("b", last)],
            "selp" => vec![("d", last), ("a", last), ("b", last), ("c", "pred")],
            "slct" => {
                let ty = parts[parts.len() - 2];
                vec![("d", ty), ("a", ty), ("b", ty), ("c", last)]
            }
            "and" | "or" | "xor" => vec![("d", last), ("a", last), ("b", last)],
            "not" | "cnot" => vec![("d", last), ("a", last)],
            "testp" => vec![("p", "pred"), ("a", last)],
            _ => vec![("d", "u32"), ("a", parts[1]), ("b", parts[2]), ("c", "u32")],
        };
        if combined {
            expected.push(("c", "pred"));
        }
        let found: Vec<(&str, &str)> =
            form.operands().iter().map(|operand| (operand.name, TABLE.ty(operand.ty).name)).collect();
        assert_eq!(found, expected, "{form}");
        for (place, operand) in form.operands().iter().enumerate() {
            assert_eq!(operand.destination, place == 0, "{form} {}", operand.name);
            let second = operand.second.as_ref().map(|second| second.name);
            let pair = place == 0 && parts[0] == "setp" && !["f16", "bf16"].contains(&last);
            assert_eq!(second, pair.then_some("q"), "{form} {}", operand.name);
            assert_eq!(operand.sink, place == 0 && parts[0] == "setp", "{form} {}", operand.name);
            let selector = operand.selector.map(|selector| (selector.name, selector.letter, selector.default));
            let expected = match (parts[0], place) {
                ("vset2", 0) => Some(("mask", 'h', 0b11)),
                ("vset2", 1) => Some(("asel", 'h', 0x10)),
                ("vset2", 2) => Some(("bsel", 'h', 0x32)),
                ("vset4", 0) => Some(("mask", 'b', 0b1111)),
                ("vset4", 1) => Some(("asel", 'b', 0x3210)),
                ("vset4", 2) => Some(("bsel", 'b', 0x7654)),
                // None of six words; a destination's part only where there is something to merge it into.
                ("vset", 0) if parts.len() == 4 => Some(("dsel", '_', 6)),
                ("vset", 1) => Some(("asel", '_', 6)),
                ("vset", 2) => Some(("bsel", '_', 6)),
                _ => None,
            };
            assert_eq!(selector, expected, "{form} {}", operand.name);
        }
    }
}

/// The manual bounds what single-precision and half units approximate; bounds of doubles are those of a card.
#[test]
fn approximate_forms_have_bounds() {
    let mut bounds = BTreeSet::new();
    for form in TABLE.forms() {
        let parts: Vec<&str> = form.mnemonic().split('.').collect();
        // Old versions approximate where nothing is said.
        let unsaid = form.floor().removed.is_some() && form.has_evaluator() && form.section().starts_with("9.7.3.");
        let approximate = parts.contains(&"approx") || parts.contains(&"full") || unsaid;
        let double = parts.contains(&"f64");
        let bounded = if double { parts[0] == "rsqrt" || parts.contains(&"approx") } else { approximate };
        assert_eq!(form.bound().is_some(), bounded, "{}", form.mnemonic());
        bounds.extend(form.bound().map(|bound| format!("{} {} {}", parts[0], bound.measure.name(), bound.value)));
    }
    let expected = [
        "cos absolute 2^-20.5",
        "div ulps 2",
        "ex2 relative 2^-7",
        "ex2 relative 2^-9.9",
        "ex2 ulps 2",
        "lg2 relative 2^-22",
        "rcp relative 2^-19",
        "rcp ulps 1",
        "rsqrt relative 2^-19",
        "rsqrt relative 2^-22.9",
        "rsqrt ulps 2",
        "sin absolute 2^-20.5",
        "sqrt relative 2^-23",
        "tanh absolute 2^-10.987",
        "tanh absolute 2^-8",
        "tanh relative 2^-11",
    ];
    assert!(bounds.iter().map(String::as_str).eq(expected), "{bounds:?}");
}
