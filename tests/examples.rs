//! Every example of the manual gives what the manual says: transcribed here, with values worked out by hand.

use std::collections::BTreeSet;

use ptx_isa::{Form, TABLE};

/// An example of the manual: section, statement as printed, and inputs (sources, then selectors) with both results.
struct Example {
    section: &'static str,
    statement: &'static str,
    values: &'static [(&'static [u128], &'static [u128])],
}

const TRUE: u128 = 0xffff_ffff;
const ONE: u128 = 0x3f80_0000;

const EXAMPLES: &[Example] = &[
    Example {
        section: "9.7.6.1",
        statement: "@p  set.lt.and.f32.s32  d,a,b,r;",
        values: &[
            // -1 < 1 as signed integers, whatever 0xffffffff is as an unsigned one.
            (&[0xffff_ffff, 1, 1], &[ONE]),
            (&[0xffff_ffff, 1, 0], &[0]),
            (&[1, 1, 1], &[0]),
        ],
    },
    Example {
        section: "9.7.6.1",
        statement: "set.eq.u32.u32      d,i,n;",
        values: &[(&[7, 7], &[TRUE]), (&[7, 8], &[0])],
    },
    Example {
        section: "9.7.6.2",
        statement: "setp.lt.and.s32  p|q,a,b,r;",
        values: &[
            // p = (a < b) and r, q = not (a < b) and r
            (&[0x8000_0000, 0, 1], &[1, 0]),
            (&[0, 0x8000_0000, 1], &[0, 1]),
            (&[0x8000_0000, 0, 0], &[0, 0]),
            (&[0, 0x8000_0000, 0], &[0, 0]),
        ],
    },
    Example {
        section: "9.7.6.2",
        statement: "@q  setp.eq.u32      p,i,n;",
        values: &[(&[7, 7], &[1, 0]), (&[7, 8], &[0, 1])],
    },
    Example {
        section: "9.7.6.3",
        statement: "selp.s32  r0,r,g,p;",
        values: &[(&[0x8000_0000, 5, 1], &[0x8000_0000]), (&[0x8000_0000, 5, 0], &[5])],
    },
    Example {
        section: "9.7.6.3",
        statement: "@q  selp.f32  f0,t,x,xp;",
        values: &[(&[ONE, 0x7fa0_0001, 0], &[0x7fa0_0001]), (&[ONE, 0x7fa0_0001, 1], &[ONE])],
    },
    Example {
        section: "9.7.6.4",
        statement: "slct.u32.s32  x, y, z, val;",
        values: &[(&[3, 4, 0], &[3]), (&[3, 4, 0xffff_ffff], &[4]), (&[3, 4, 0x7fff_ffff], &[3])],
    },
    Example {
        section: "9.7.6.4",
        statement: "slct.ftz.u64.f32  A, B, C, fval;",
        values: &[
            // A negative subnormal is flushed to -0, which is at least zero; -1 is not, nor is NaN.
            (&[0xffff_ffff_ffff_ffff, 4, 0x8000_0001], &[0xffff_ffff_ffff_ffff]),
            (&[0xffff_ffff_ffff_ffff, 4, 0x8000_0000], &[0xffff_ffff_ffff_ffff]),
            (&[0xffff_ffff_ffff_ffff, 4, 0x8080_0000], &[4]),
            (&[0xffff_ffff_ffff_ffff, 4, 0xbf80_0000], &[4]),
            (&[0xffff_ffff_ffff_ffff, 4, 0x7fc0_0000], &[4]),
        ],
    },
    Example {
        section: "9.7.7.2",
        statement: "setp.lt.and.f16x2  p|q,a,b,r;",
        values: &[
            // lanes: 1 < 2, and 2 < 1
            (&[0x4000_3c00, 0x3c00_4000, 1], &[1, 0]),
            (&[0x3c00_4000, 0x4000_3c00, 1], &[0, 1]),
            (&[0x3c00_4000, 0x4000_3c00, 0], &[0, 0]),
        ],
    },
    Example {
        section: "9.7.7.2",
        statement: "@q  setp.eq.f16    p,i,n;",
        values: &[(&[0x8000, 0], &[1]), (&[0x7e00, 0x7e00], &[0]), (&[0x3c00, 0x3c01], &[0])],
    },
    Example {
        section: "9.7.7.2",
        statement: "setp.gt.or.bf16x2  u|v,c,d,s;",
        values: &[
            (&[0x3f80_4000, 0x4000_3f80, 0], &[1, 0]),
            (&[0x3f80_4000, 0x4000_3f80, 1], &[1, 1]),
            (&[0x7fc0_0001, 0x0000_0000, 0], &[1, 0]),
        ],
    },
    Example {
        section: "9.7.7.2",
        statement: "@q  setp.eq.bf16   u,j,m;",
        values: &[(&[0x0001, 0x0001], &[1]), (&[0x0001, 0x8001], &[0])],
    },
    Example {
        section: "9.7.18.2.2",
        statement: "vset2.s32.u32.lt     r1, r2, r3, r0;",
        // -1 < 0xffff and 0 < 0; the mask takes all.
        values: &[(&[0x0000_ffff, 0x0000_ffff, 0x1234_5678, 3, 0x10, 0x32], &[0x0000_0001])],
    },
    Example {
        section: "9.7.18.2.2",
        statement: "vset2.u32.u32.ne.add  r1, r2, r3, r0;",
        values: &[(&[0x0001_0002, 0x0002_0003, 0x1234_5678, 3, 0x10, 0x32], &[0x1234_567a])],
    },
    Example {
        section: "9.7.18.2.4",
        statement: "vset4.s32.u32.lt      r1, r2, r3, r0;",
        // from byte 3 down: 0x80 is -128 < 0, 1 < 2, 2 < 1, 0xff is -1 < 0xff
        values: &[(&[0x8001_02ff, 0x0002_01ff, 0x1234_5678, 15, 0x3210, 0x7654], &[0x0101_0001])],
    },
];

/// Opcode and modifiers of a statement; operands.
fn take_apart(statement: &str) -> (&str, Vec<&str>) {
    let statement = statement.trim_end_matches(';');
    let unguarded = statement.strip_prefix('@').map_or(statement, |rest| rest.split_once(' ').unwrap().1).trim_start();
    let (mnemonic, operands) = unguarded.split_once(' ').unwrap();
    (mnemonic, operands.split(',').map(str::trim).collect())
}

#[test]
fn every_example_of_the_manual_gives_what_the_manual_says() {
    for example in EXAMPLES {
        let (mnemonic, operands) = take_apart(example.statement);
        let form: Form = mnemonic.parse().unwrap_or_else(|error| panic!("{}: {error}", example.statement));
        assert_eq!(form.section(), example.section, "{}", example.statement);
        assert_eq!(form.operands().len(), operands.len(), "{}", example.statement);
        for (operand, written) in form.operands().iter().zip(operands) {
            assert!(!written.contains('|') || operand.second.is_some(), "{}: {written}", example.statement);
        }
        for (inputs, expected) in example.values {
            assert_eq!(*form.evaluate(inputs), **expected, "{} of {inputs:x?}", example.statement);
        }
    }
}

/// The example's statement without the blanks that the manual lines its columns up with.
fn evened(statement: &str) -> String {
    statement.replace(',', ", ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_spec_shows_the_examples_of_the_manual() {
    let refused = ("9.7.18.2.4", "vset4.u32.u32.ne.max  r1, r2, r3, r0;");
    let entries: Vec<_> = TABLE.instructions.iter().flat_map(|instruction| instruction.entries).collect();
    let mut shown: Vec<(&str, String, bool)> = Vec::new();
    // The manual's text for the sections that the table has grown by is not transcribed here.
    let transcribed: BTreeSet<&str> = EXAMPLES.iter().map(|example| example.section).collect();
    for entry in entries.into_iter().filter(|entry| transcribed.contains(entry.section)) {
        // Forms newer than the manual have no example there.
        let younger = |text: &str| text.starts_with("set.lt.u8x4");
        let examples = entry.examples.iter().filter(|example| !younger(example.text));
        shown.extend(examples.map(|example| (entry.section, evened(example.text), example.refused)));
    }
    let mut manual: Vec<(&str, String, bool)> =
        EXAMPLES.iter().map(|example| (example.section, evened(example.statement), false)).collect();
    manual.push((refused.0, evened(refused.1), true));
    shown.sort();
    manual.sort();
    assert_eq!(shown, manual);
}

/// The manual shows a secondary maximum that its syntax does not have.
#[test]
fn the_manuals_example_with_a_maximum_is_refused_and_the_erratum_says_why() {
    let (mnemonic, _) = take_apart("vset4.u32.u32.ne.max  r1, r2, r3, r0;");
    assert!(mnemonic.parse::<Form>().is_err());
    assert!(TABLE.form(mnemonic).is_none());
    let instruction = TABLE.instruction("vset4").unwrap();
    let erratum = instruction.entries[0].errata.iter().find(|erratum| erratum.manual.contains(".max"));
    let erratum = erratum.expect("an erratum about `.max`");
    assert!(erratum.manual.contains(mnemonic), "{}", erratum.manual);
    assert!(erratum.machine.contains("refused"), "{}", erratum.machine);
    assert!(!erratum.subject.is_empty());
}

/// The other slips of the manual, each where its entry is.
#[test]
fn every_known_slip_of_the_manual_is_an_erratum() {
    let about = |opcode: &str, word: &str| {
        let errata = TABLE.instruction(opcode).unwrap().entries[0].errata;
        errata.iter().any(|erratum| erratum.manual.contains(word) && !erratum.machine.is_empty())
    };
    for opcode in ["vset2", "vset4"] {
        assert!(about(opcode, "copies them from operand `b`"), "{opcode}: the source of unselected lanes");
        assert!(about(opcode, "without shifting"), "{opcode}: the shift to the lane");
    }
    assert!(about("vset4", "comma"), "the list of masks");
}
