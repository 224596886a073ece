//! Constant expressions, as the assembler was seen to read them.

use ptx_isa::text::constant::{Constant, ConstantErrorKind as Error, parse};

fn value(text: &str) -> i64 {
    match parse(text) {
        Ok(Constant::Integer { bits, .. }) => bits as i64,
        other => panic!("{text}: {other:?}"),
    }
}

fn error(text: &str) -> Error {
    parse(text).expect_err(text).kind
}

#[test]
fn integers_are_decimal_octal_hex_and_binary() {
    for (text, expected) in [("0", 0), ("017", 15), ("0x1F", 31), ("0B101", 5), ("5U", 5), ("0x5U", 5), ("00", 0)] {
        assert_eq!(value(text), expected, "{text}");
    }
    for text in ["018", "0b2", "5u", "5L", "5UU", "1_000", "0o17", "0x1.5", "1.0f", "5.U"] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn an_integer_overflows_once_its_topmost_bit_is_pushed_out() {
    assert_eq!(value("18446744073709551615"), -1);
    assert_eq!(value("20000000000000000000") as u64, 20_000_000_000_000_000_000u128 as u64);
    assert_eq!(value("0x1ffffffffffffffff"), -1);
    for text in ["99999999999999999999", "0xfffffffffffffffff", &format!("0b1{:064}", 0)] {
        assert_eq!(error(text), Error::Overflow, "{text}");
    }
}

#[test]
fn operators_do_what_the_assembler_was_seen_to_do() {
    for (text, expected) in [
        ("~0 >> 60", 15),
        ("-7 % 3", 0),
        ("7 % -3", 7),
        ("-7/2", -3),
        ("1<<64", 1),
        ("1<<-1", i64::MIN),
        ("-1>>200", -1),
        ("-1U>>1", i64::MAX),
        ("-1<1U", 0),
        ("-1+0U<0", 0),
        ("-9223372036854775808>>63", 1),
        ("5--3", 8),
        ("1?2:3?4:5", 2),
        ("1+2*3<<1", 14),
        ("1<<1+2", 8),
        ("1|2^3&1", 3),
        ("(.s64)(.u64)-1>>1", -1),
        ("(.u64)-1>>1", i64::MAX),
        ("((1|1)-2)>>63", -1),
        ("((7%(4))-5)>>63", 1),
        ("(0?-1:1U)-2>>63", 1),
        ("1.0<2.0?3:4", 3),
        ("!(5)", 0),
        ("5>=3>=1", 1),
        ("WARP_SZ/**/*\n2", 64),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn what_the_assembler_refuses_says_why() {
    for (text, expected) in [
        ("1?2:1/0", Error::DivisionByZero),
        ("0&&(1/0)", Error::DivisionByZero),
        ("1.0/0.0", Error::DivisionByZero),
        ("(-9223372036854775807-1)/-1", Error::Overflow),
        ("1.0+2", Error::Mixed),
        ("1.0&2.0", Error::IntegerExpected),
        ("!1.0", Error::IntegerExpected),
        ("1?1.0:2.0", Error::IntegerExpected),
        ("-0f3f800000", Error::SingleInExpression),
        ("0f3f800000+1.0", Error::SingleInExpression),
        ("(.f32)5", Error::Cast),
        ("5u", Error::Suffix),
        ("5 %3", Error::Expected),
        ("5 < < 3", Error::Expected),
        ("x+1", Error::Name),
        ("(5", Error::Missing(')')),
        ("", Error::Expected),
        ("1e-310", Error::Overflow),
        ("1e309", Error::Overflow),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn floats_need_a_point_or_an_exponent() {
    for (text, expected) in [
        ("1.", 1.0),
        (".5", 0.5),
        ("08.5", 8.5),
        ("1e3", 1000.0),
        ("1.e-3", 0.001),
        ("0e500", 0.0),
        ("- -1.0", 1.0),
        ("1e308*10.0", f64::INFINITY),
        ("0d3ff0000000000000*2.0", 2.0),
    ] {
        assert_eq!(parse(text), Ok(Constant::Double(expected)), "{text}");
    }
    assert_eq!(parse("(0F3F800000)"), Ok(Constant::Single(0x3f80_0000)));
    assert_eq!(error("0f3f80000"), Error::Digits("`0f` takes exactly 8 hex digits"));
}

#[test]
fn deep_nesting_is_an_error() {
    for text in ["(".repeat(100_000), "-".repeat(100_000), "1?".repeat(100_000), "1?1:".repeat(100_000)] {
        assert_eq!(error(&text), Error::Depth);
    }
    assert_eq!(value(&format!("0{}", "+1".repeat(100_000))), 100_000);
}
