//! Single statements: what is read, what is printed, what is refused, and in which words.

use proptest::prelude::*;
use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Diagnostic, Severity};
use ptx_isa::selector::{self, Permission, Selector};
use ptx_isa::table::{FormInfo, Kind, Operand, OperandKind};
use ptx_isa::text::Statement;
use ptx_isa::text::mnemonic;

fn parse(text: &str) -> Result<Statement<'_>, Diagnostic> {
    Statement::parse(&TABLE, text)
}

fn warnings(text: &str) -> Vec<Code> {
    let mut notes = Vec::new();
    Statement::parse_with(&TABLE, text, &mut notes).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(notes.iter().all(|note| note.severity == Severity::Warning && note.note.is_some()), "{notes:?}");
    notes.into_iter().map(|note| note.code).collect()
}

/// The statement of a form with its operands named as in the manual.
fn plain(form: FormInfo) -> Option<String> {
    let operand = |operand: &Operand| match (&operand.second, &operand.selector) {
        (Some(second), _) => format!("{}|{}", crate::statements::operand(operand, operand.name), second.name),
        // A selector that may not be omitted if all operands are written.
        (None, Some(Selector { kind: selector::Kind::Listed { words }, omission, .. }))
            if *omission != Permission::Yes =>
        {
            format!("{}.{}", operand.name, words[0])
        }
        (None, _) => crate::statements::operand(operand, operand.name),
    };
    let operands: Vec<String> = form.operands().iter().map(|info| info.with_around(&operand(info))).collect();
    let mnemonic = form.mnemonic_with(&crate::statements::free(form)?);
    Some(format!("{mnemonic} {}", operands.join(", ")).trim_end().to_owned() + ";")
}

#[test]
fn every_form_is_read_and_printed_as_it_was_written() {
    let mut bare = 0;
    for form in TABLE.forms() {
        let Some(text) = plain(form) else {
            bare += 1;
            continue;
        };
        let statement = parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        // A vector of one looks like a value: two forms of one mnemonic may differ by that alone.
        let alike = form.operands().iter().any(|operand| operand.kind == OperandKind::Vector(1));
        assert!(
            statement.form() == form || alike && form.all_shapes().any(|shape| shape == statement.form()),
            "{text}"
        );
        assert_eq!(statement.to_string(), text);
        let expected = form.lenient().map(|_| Code::UnlistedForm);
        assert_eq!(warnings(&text), Vec::from_iter(expected), "{text}");
    }
    // With these go so few choices of free modifiers that none was found.
    assert!(bare * 500 < TABLE.forms.len(), "{bare} forms");
}

#[test]
fn what_is_printed_is_taken_again() {
    for line in [
        "wgmma.mma_async.sync.m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, ma, mb, p, -1, 0x1, 0x0, 0x0;",
        "add.s32 d, a, 0xffffffff;",
    ] {
        let printed = parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).to_string();
        assert_eq!(printed, line);
        assert!(parse(&printed).is_ok(), "{printed}");
    }
}

#[test]
fn every_form_is_found_with_its_modifiers_in_any_order_that_keeps_its_types_in_order() {
    let is_type = |part: &&str| TABLE.types.iter().any(|ty| ty.name == *part);
    for form in TABLE.forms() {
        let opcode = form.instruction().data().opcode;
        let parts: Vec<&str> = form.mnemonic()[opcode.len()..].split('.').skip(1).collect();
        let (types, others): (Vec<&str>, Vec<&str>) = parts.iter().partition(|part| is_type(part));
        // Moving a modifier that occurs in two slots yields a different form, and free modifiers are not part of a
        // mnemonic.
        let places = |word: &str| {
            let slots = form.instruction().data().slots.iter().filter(|slot| !slot.types);
            slots.filter(|slot| slot.members.contains(&word)).count()
        };
        if form.syntax().free || parts.is_empty() || others.iter().any(|word| places(word) > 1) {
            continue;
        }
        // Some modifiers belong to the opcode and cannot move: `mul.u32.lo` is not `mul.lo.u32`.
        let own = form.instruction().slots.iter().filter(|slot| slot.of_opcode).flat_map(|slot| slot.members);
        let own: Vec<&&str> = own.filter(|word| parts.first() == Some(word)).collect();
        if let [own] = own[..] {
            let torn = format!("{opcode}.{}.{own}", parts[1..].join("."));
            assert!(mnemonic::resolve(&TABLE, &torn).is_err(), "{torn}");
            continue;
        }
        let orders = [
            types.iter().chain(others.iter().rev()).copied().collect::<Vec<_>>(),
            others.iter().rev().chain(&types).copied().collect(),
        ];
        for order in orders {
            let written = format!("{opcode}.{}", order.join("."));
            let found = mnemonic::resolve(&TABLE, &written).unwrap_or_else(|refusal| panic!("{written}: {refusal:?}"));
            assert!(found.form.shapes().any(|shape| shape == form), "{written}");
            assert_eq!(found.reordered, written != form.mnemonic(), "{written}");
        }
    }
}

#[test]
fn printing_is_canonical() {
    for (written, printed) in [
        ("@ ! p setp.f32.lt.ftz p | _ , a , ( 1.0 + 1.0 )", "@!p setp.lt.ftz.f32 p|_, a, 0f40000000;"),
        ("setp.eq.u16 p, v.r, -1;", "setp.eq.u16 p, v.x, 0xffff;"),
        ("setp.eq.b64 p, v.a, 1.0;", "setp.eq.b64 p, v.w, 0x3ff0000000000000;"),
        ("setp.eq.f64 p, a, 0f3f800000;", "setp.eq.f64 p, a, 0d3ff0000000000000;"),
        ("setp.eq.b32 p, a, 0F3f800000;", "setp.eq.b32 p, a, 0x3f800000;"),
        ("selp.s32 d, WARP_SZ, 1 ? 5 : 6, 2;", "selp.s32 d, 0x20, 0x5, 0x1;"),
        ("selp.s32 d, 017, 0, 1;", "selp.s32 d, 0xf, 0x0, 0x1;"),
        ("selp.u32 d, a+2*2, b, !c;", "selp.u32 d, a+4, b, !c;"),
        ("vset4.s32.u32.lt d.b3210, a.b0123 , b.b7654, c;", "vset4.s32.u32.lt d, a.b0123, b, c;"),
        ("vset2.add.lt.u32.u32 d .h0, a, b.h33, c;", "vset2.u32.u32.lt.add d.h0, a, b.h33, c;"),
    ] {
        let statement = parse(written).unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(statement.to_string(), printed);
        assert_eq!(parse(printed).expect(printed), statement);
    }
}

#[test]
fn what_the_manual_does_not_list_is_warned_of() {
    for (text, expected) in [
        ("set.u32.f32.lt d, a, b;", Code::ModifierOrder),
        ("setp.f32.lt p, a, b;", Code::ModifierOrder),
        ("set .lt.u32.f32 d, a, b;", Code::BlankBeforeModifier),
        ("setp.lt\n.f32 p, a, b;", Code::BlankBeforeModifier),
        ("vset2.u32.u32.lt d, r0 .h11, b, c;", Code::BlankBeforeModifier),
        ("set.lo.f16.u32 d, a, b;", Code::UnlistedForm),
        ("set.hs.and.bf16.u64 d, a, b, c;", Code::UnlistedForm),
        ("setp.lt.f16x2 p, a, b;", Code::Destination),
        ("setp.lt.bf16x2 p, a, b;", Code::Destination),
        ("setp.lt.f16 p|_, a, b;", Code::Destination),
        ("setp.lt.f32 p|p, a, b;", Code::Destination),
        ("selp.u32 d, a, b, !p;", Code::Negation),
        ("selp.u32 d, a, b, 1;", Code::Constant),
        ("setp.lt.and.u32 p, a, b, !1;", Code::Constant),
        ("setp.lt.and.u32 p, a, b, -1;", Code::Constant),
        ("setp.lt.u32 p, a, b+1;", Code::RegisterPlusConstant),
        ("setp.lt.u32 p, a+1?2:3, b;", Code::RegisterPlusConstant),
    ] {
        assert_eq!(warnings(text), [expected], "{text}");
    }
}

#[test]
fn a_refusal_names_the_rule_the_token_and_a_legal_choice() {
    // The statement; the code; the underlined token; a part of the help.
    for (text, code, token, help) in [
        ("setp.lo.s32 p, a, b;", Code::IllegalModifier, "lo", "`setp.lt.s32`"),
        ("setp.lt.b32 p, a, b;", Code::IllegalModifier, "lt", "`setp.eq.b32`"),
        ("setp.num.u32 p, a, b;", Code::IllegalModifier, "num", "`setp.ne.u32`"),
        ("setp.lo.f16 p, a, b;", Code::IllegalModifier, "lo", "`.ltu`"),
        ("setp.lt.ftz.u32 p, a, b;", Code::IllegalModifier, "ftz", "`setp.lt.u32`"),
        ("setp.lt.ftz.bf16 p, a, b;", Code::IllegalModifier, "ftz", "`setp.lt.bf16`"),
        ("slct.ftz.u32.s32 d, a, b, c;", Code::IllegalModifier, "ftz", "`slct.u32.s32`"),
        ("slct.f32.ftz.u32 d, a, b, c;", Code::IllegalModifier, "u32", "`.s32`, `.f32`"),
        ("set.lt.b16.u32 d, a, b;", Code::IllegalModifier, "b16", "`.u32`, `.s32`, `.f32`"),
        ("setp.lt.ftz.ftz.f32 p, a, b;", Code::DuplicateModifier, "ftz", "`setp.lt.ftz.f32`"),
        ("setp.lt.ge.u32 p, a, b;", Code::DuplicateModifier, "ge", "`setp.lt.u32`"),
        ("setp.and.or.lt.u32 p, a, b, c;", Code::DuplicateModifier, "or", "`setp.lt.and.u32`"),
        ("setp.lt.u32.s32 p, a, b;", Code::DuplicateModifier, "s32", "`setp.lt.u32`"),
        ("setp.u32 p, a, b;", Code::MissingModifier, "setp.u32", "`setp.eq.u32`"),
        ("set.lt.u32 d, a, b;", Code::MissingModifier, "set.lt.u32", "`set.lt.u32.u32`"),
        ("setp.lt.u33 p, a, b;", Code::UnknownModifier, "u33", "`.u32`"),
        ("setp.LT.u32 p, a, b;", Code::UnknownModifier, "LT", "`.lt`"),
        ("vset4.u32.u32.ne.max d, a, b, c;", Code::IllegalModifier, "max", "`vset4.u32.u32.ne`"),
        ("stp.lt.u32 p, a, b;", Code::UnknownOpcode, "stp", "`setp`"),
        ("setp.lt.u32 p, a, b, c;", Code::OperandCount, "c", "`setp.lt.and.u32 p[|q], a, b, {!}c`"),
        ("setp.lt.and.u32 p, a, b;", Code::OperandCount, ";", "`setp.lt.u32 p[|q], a, b`"),
        ("setp.lt.u32 p, a, 1.0;", Code::Constant, "1.0", "integers"),
        ("setp.lt.f32 p, a, 1;", Code::Constant, "1", "a point"),
        ("setp.lt.f16 p, a, 0f3f800000;", Code::Constant, "0f3f800000", "registers only"),
        ("vset2.u32.u32.lt d.h01, a, b, c;", Code::Selector, ".h01", "falling digits from 1 to 0"),
        ("vset4.u32.u32.lt d, a.b012, b, c;", Code::Selector, ".b012", "4 digits from 0 to 7"),
        ("vset4.u32.u32.lt d, a, b.b7658, c;", Code::Selector, ".b7658", "4 digits from 0 to 7"),
        ("vset4.u32.u32.lt d.b01, a, b, c;", Code::Selector, ".b01", "up to 4 falling digits"),
        ("vset4.u32.u32.lt d.b110, a, b, c;", Code::Selector, ".b110", "up to 4 falling digits"),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!((error.code, &text[error.span.clone()]), (code, token), "{text}: {error}");
        let said = error.help.as_deref().unwrap_or_default();
        assert!(said.contains(help), "{text}: {said}");
    }
}

#[test]
fn what_may_not_stand_for_an_operand_is_refused() {
    for (text, code, token) in [
        ("set.lt.u32.u32 _, a, b;", Code::Sink, "_"),
        ("setp.lt.u32 _|_, a, b;", Code::Sink, "_"),
        ("setp.lt.u32 p, _, b;", Code::Sink, "_"),
        ("setp.lt.f16 p|q, a, b;", Code::Destination, "|q"),
        ("setp.lt.f16 _|q, a, b;", Code::Destination, "|q"),
        ("set.lt.u32.u32 d|p, a, b;", Code::Destination, "|p"),
        ("setp.lt.u32 p, !a, b;", Code::Negation, "!a"),
        ("slct.u32.s32 d, a, b, !c;", Code::Negation, "!c"),
        ("setp.lt.u32 p, -a, b;", Code::Negation, "-"),
        ("setp.lt.u32 1, a, b;", Code::Constant, "1"),
        ("setp.lt.u32 p+1, a, b;", Code::OperandType, "p+1"),
        ("setp.lt.u32 p, [a], b;", Code::OperandType, "["),
        ("setp.lt.u32 p, {a,b}, b;", Code::OperandType, "{"),
        ("setp.lt.u32 p, a.xy, b;", Code::OperandType, ".xy"),
        ("setp.lt.u32 p, a.b0, b;", Code::Selector, ".b0"),
        ("vset4.u32.u32.lt d, 5, b, c;", Code::Constant, "5"),
        ("vset4.u32.u32.lt d, a+1, b, c;", Code::OperandType, "a+1"),
        ("vset4.u32.u32.lt d, a, b, c.b0;", Code::Selector, ".b0"),
        ("vset4.u32.u32.lt d, a, b, c.x;", Code::OperandType, ".x"),
        ("vset4.u32.u32.lt d, a.x, b, c;", Code::Selector, ".x"),
        ("setp.lt.u32 p, a, 5/0;", Code::Constant, "5/0"),
        ("setp.lt.u32 p, a, 5u;", Code::Constant, "u"),
        ("setp.lt.u32 p, a, 99999999999999999999;", Code::Constant, "99999999999999999999"),
        ("setp.lt.u32 p, a, b-1;", Code::Syntax, "-"),
        ("setp.lt.u32 p, a, 1+b;", Code::Constant, "b"),
        ("setp.lt.u32 p|q|r, a, b;", Code::Syntax, "|"),
        ("setp.lt.u32 p||q, a, b;", Code::Syntax, "|"),
        ("setp.lt.and.u32 p, a, b, !!c;", Code::Constant, "c"),
        ("setp. lt.u32 p, a, b;", Code::Syntax, "."),
        ("setp.lt.u32. p, a, b;", Code::Syntax, "."),
        ("setp.lt.u32 p a, b;", Code::Syntax, "a"),
        ("setp.lt.u32 p,, a, b;", Code::Syntax, ","),
        ("setp.lt.u32 p, a, b,;", Code::Syntax, ";"),
        ("setp.lt.u32 p, a, b; x", Code::Syntax, "x"),
        ("setp.lt.u32 p, a, b;;", Code::Syntax, ";"),
        ("@1 setp.lt.u32 p, a, b;", Code::Guard, "1"),
        ("@!!p setp.lt.u32 p, a, b;", Code::Guard, "!"),
        ("@p @q setp.lt.u32 p, a, b;", Code::Syntax, "@"),
        ("", Code::Syntax, ""),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!((error.code, &text[error.span.clone()]), (code, token), "{text}: {error}");
    }
}

#[test]
fn a_mnemonic_is_told_all_that_is_wrong_with_it() {
    let refusal = mnemonic::resolve(&TABLE, "setp.lt.foo.ge").expect_err("three mistakes");
    let codes: Vec<Code> = refusal.reasons.iter().map(|reason| reason.code).collect();
    assert_eq!(codes, [Code::UnknownModifier, Code::DuplicateModifier, Code::MissingModifier]);
    let refusal = mnemonic::resolve(&TABLE, "vset4.u32.u32").expect_err("no comparison");
    assert_eq!(refusal.nearest[0].mnemonic(), "vset4.u32.u32.eq");
}

#[test]
fn the_examples_of_the_spec_are_taken_unless_they_are_marked_as_refused() {
    for example in
        TABLE.instructions.iter().flat_map(|instruction| instruction.entries).flat_map(|entry| entry.examples)
    {
        assert_eq!(parse(example.text).is_err(), example.refused, "{}", example.text);
    }
}

/// A selector's word from its lanes, the highest first.
fn spell(letter: char, lanes: &[u8]) -> String {
    format!(".{letter}{}", lanes.iter().map(u8::to_string).collect::<String>())
}

/// Any text that is a valid operand of a form.
fn operand(info: &'static Operand) -> BoxedStrategy<String> {
    let name = "[a-z][a-z0-9_$]{0,6}|[%$_][a-z0-9]{1,4}".prop_filter("no constant", |name| name != "WARP_SZ");
    let element = prop::option::of(prop::sample::select(&["x", "y", "z", "w", "r", "g", "b", "a"][..]));
    let ty = &TABLE.types[info.ty.index()];
    if let Some(selector) = info.selector {
        let letter = selector.letter;
        let word = match selector.kind {
            selector::Kind::Lanes { lanes, of } => {
                let digits = prop::collection::vec(0..of, usize::from(lanes));
                digits.prop_map(move |digits| spell(letter, &digits)).boxed()
            }
            selector::Kind::Subset { of } => {
                let lanes: Vec<u8> = (0..of).rev().collect();
                let some = prop::sample::subsequence(lanes, 1..=usize::from(of));
                some.prop_map(move |lanes| spell(letter, &lanes)).boxed()
            }
            selector::Kind::Listed { words } => prop::sample::select(words).prop_map(|word| format!(".{word}")).boxed(),
        };
        // All operands are written here, so that a selector may be asked for.
        let written = if selector.omission == Permission::No {
            word.prop_map(Some).boxed()
        } else {
            prop::option::of(word).boxed()
        };
        return (name, written).prop_map(|(name, word)| name + &word.unwrap_or_default()).boxed();
    }
    let register = (name.clone(), element).prop_map(move |(name, element)| match element {
        Some(element) if info.second.is_none() && ty.kind != Kind::Predicate => format!("{name}.{element}"),
        _ => name,
    });
    let register = if info.elements { register.boxed() } else { name.clone().boxed() };
    if info.destination {
        // One element of a vector is a register, and a pair that is always one has both.
        let pair = info.second.is_some_and(|second| second.optional != Permission::Yes);
        let (sink, second) = (info.sink && !info.around.opens, info.second.is_some());
        return (register, name, 0..5)
            .prop_map(move |(register, name, choice)| match choice {
                0 if sink && !pair => "_".to_owned(),
                1 if sink && second => format!("_|{name}"),
                2 if second => format!("{register}|{name}"),
                3 if !pair => {
                    register.split('.').next().unwrap_or_default().to_owned() + if second { "|_" } else { "" }
                }
                _ if second => format!("{register}|{name}"),
                _ => register,
            })
            .boxed();
    }
    let constant = match (info.constants, ty.constants.integer, ty.constants.float) {
        (true, true, _) => any::<i64>().prop_map(|value| value.to_string()).boxed(),
        (true, false, true) => any::<u64>().prop_map(|bits| format!("0d{bits:016x}")).boxed(),
        _ => return register,
    };
    if info.registers.is_empty() {
        return constant;
    }
    let negatable = info.negation != Permission::No;
    prop_oneof![
        3 => register,
        1 => constant,
        1 => name.prop_map(move |name| match negatable {
            true => format!("!{name}"),
            false if info.sums => name + "+4",
            false => name,
        }),
    ]
    .boxed()
}

fn statement() -> impl Strategy<Value = String> {
    let guard = prop::option::of("@!?%p[0-9]{1,2} ");
    // Operands other than plain values have tests of their own.
    let plain = |form: &FormInfo| {
        let scalar = form.operands().iter().all(|info| info.kind == OperandKind::Scalar && info.within.is_empty());
        scalar && !form.syntax().free && !form.operands().is_empty()
    };
    let forms: Vec<FormInfo> = TABLE.forms().filter(plain).collect();
    (guard, 0..forms.len()).prop_flat_map(move |(guard, index)| {
        let form = forms[index];
        let operands: Vec<BoxedStrategy<String>> = form.operands().iter().map(operand).collect();
        operands.prop_map(move |operands| {
            let operands: Vec<String> =
                form.operands().iter().zip(&operands).map(|(info, text)| info.with_around(text)).collect();
            format!("{}{} {};", guard.as_deref().unwrap_or_default(), form.mnemonic(), operands.join(", "))
        })
    })
}

/// Pieces of statements, whole and broken.
fn fragments() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        statement(),
        prop::sample::select(
            &[
                "setp",
                "set",
                ".lt",
                ".u32",
                ".f32",
                ".ftz",
                " ",
                "\n",
                ",",
                ";",
                "|",
                "!",
                "@",
                "_",
                "%p1",
                "r0",
                "5",
                "-",
                "+",
                "(",
                ")",
                "0x",
                "0f",
                "1.",
                "?",
                ":",
                "<<",
                "%",
                ".b0",
                ".x",
                "[",
                "]",
                "{",
                "}",
                "/*",
                "*/",
                "//",
                "\"",
                "WARP_SZ",
                "é",
                "\0",
                ".",
                "..",
                "::",
                ".reg",
                "vset4.u32.u32.lt",
                "(.s64)",
                "#",
            ][..]
        )
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_as_the_same_statement(text in statement()) {
        let read = parse(&text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let printed = read.to_string();
        let again = parse(&printed).unwrap_or_else(|error| panic!("{text}: {printed}: {error:?}"));
        prop_assert_eq!(read, again);
        prop_assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in fragments()) {
        if let Err(error) = parse(&text) {
            prop_assert!(text.get(error.span.clone()).is_some(), "{:?}", error);
        }
    }
}

#[test]
fn a_modifier_that_begins_with_a_digit_may_stand_behind_a_blank() {
    let text = "cp.async.bulk.prefetch.tensor\n.4d.L2.global [m, {x, y, z, w}];";
    let statement = Statement::parse(&TABLE, text).expect("a legal statement");
    assert_eq!(statement.form().mnemonic(), "cp.async.bulk.prefetch.tensor.4d.L2.global");
    // A number that begins with a dot is none.
    let refusal = Statement::parse(&TABLE, "ret .5e3;").expect_err("a number follows the opcode");
    assert!(!refusal.message.contains("modifier"), "{}", refusal.message);
}

#[test]
fn a_star_stands_for_any_text() {
    assert!(mnemonic::matches("setp.*.f16", "setp.lt.f16"));
    assert!(mnemonic::matches("setp.*.f16", "setp.lt.and.f16"));
    assert!(!mnemonic::matches("setp.*.f16", "setp.lt.f16x2"));
    assert!(mnemonic::matches("*.ftz.*", "set.lt.ftz.u32.f32"));
    assert!(mnemonic::matches("*", "selp.b32"));
    assert!(mnemonic::matches("selp.b32", "selp.b32"));
    assert!(!mnemonic::matches("selp", "selp.b32"));
}
