//! Compares bit manipulation, masks and dot products with the manual's pseudo-code. Mnemonics are parsed as text; only
//! the list of forms is taken from the table.

use crate::reference::{Random, held};
use ptx_isa::TABLE;

/// Section 9.7.1.17, where the base is at most 31.
fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    let bit = |place: i64| mask >> place & 1 == 1;
    if offset == 0 {
        return if bit(base.into()) { base } else { u32::MAX };
    }
    let (mut place, mut count) = (i64::from(base), i64::from(offset).abs() - 1);
    while (0..32).contains(&place) {
        if bit(place) {
            if count == 0 {
                return place as u32;
            }
            count -= 1;
        }
        place += i64::from(offset.signum());
    }
    u32::MAX
}

/// Section 9.7.1.21.
fn szext(clamps: bool, signed: bool, a: u32, b: u32) -> u32 {
    let width = b & 31;
    let too_large = b >= 32 && clamps;
    let mask = if too_large { 0 } else { u32::MAX << width };
    let sign = width != 0 && !too_large && signed && a >> (width.wrapping_sub(1) & 31) & 1 == 1;
    a & !mask | if sign { mask } else { 0 }
}

/// Section 9.7.1.22.
fn bmsk(clamps: bool, a: u32, b: u32) -> u32 {
    let (first, width) = (a & 31, b & 31);
    let position_overflows = clamps && a >= 32;
    let from = if position_overflows { 0 } else { u32::MAX << first };
    let sum = first + width;
    let beyond = match () {
        () if sum >= 32 || position_overflows || clamps && b >= 32 => 0,
        () if width == 0 => u32::MAX,
        () => u32::MAX << sum,
    };
    from & !beyond
}

/// Extracts `width` bits of a word starting at bit `first`, sign-extended for `s32`.
fn part(word: u32, first: u32, width: u32, ty: &str) -> i64 {
    let bits = i64::from(word >> first) & ((1 << width) - 1);
    if ty == "s32" && bits >> (width - 1) == 1 { bits - (1 << width) } else { bits }
}

/// The bytes of the table in section 9.7.9.7, highest first.
fn permutation(mode: &str, place: u32) -> [u32; 4] {
    match (mode, place) {
        ("f4e", 0) => [3, 2, 1, 0],
        ("f4e", 1) => [4, 3, 2, 1],
        ("f4e", 2) => [5, 4, 3, 2],
        ("f4e", _) => [6, 5, 4, 3],
        ("b4e", 0) => [5, 6, 7, 0],
        ("b4e", 1) => [6, 7, 0, 1],
        ("b4e", 2) => [7, 0, 1, 2],
        ("b4e", _) => [0, 1, 2, 3],
        ("rc8", place) => [place; 4],
        ("ecl", 0) => [3, 2, 1, 0],
        ("ecl", 1) => [3, 2, 1, 1],
        ("ecl", 2) => [3, 2, 2, 2],
        ("ecl", _) => [3, 3, 3, 3],
        ("ecr", 0) => [0, 0, 0, 0],
        ("ecr", 1) => [1, 1, 1, 0],
        ("ecr", 2) => [2, 2, 1, 0],
        ("ecr", _) => [3, 2, 1, 0],
        ("rc16", 0 | 2) => [1, 0, 1, 0],
        ("rc16", _) => [3, 2, 3, 2],
        (other, _) => panic!("no mode: {other}"),
    }
}

/// Returns the results of a form; `None` if this reference does not implement it.
fn expected(parts: &[&str], x: &[u32]) -> Option<Vec<u128>> {
    let clamps = parts.contains(&"clamp");
    let last = parts[parts.len() - 1];
    let word = match parts[0] {
        "fns" => fns(x[0], x[1], x[2].cast_signed()),
        "szext" => szext(clamps, last == "s32", x[0], x[1]),
        "bmsk" => bmsk(clamps, x[0], x[1]),
        "dp4a" => (0..4).fold(x[2], |sum, at| {
            sum.wrapping_add((part(x[0], 8 * at, 8, parts[1]) * part(x[1], 8 * at, 8, parts[2])) as u32)
        }),
        "dp2a" => (0..2).fold(x[2], |sum, at| {
            let byte = at + if parts[1] == "lo" { 0 } else { 2 };
            sum.wrapping_add((part(x[0], 16 * at, 16, parts[2]) * part(x[1], 8 * byte, 8, parts[3])) as u32)
        }),
        "prmt" => {
            let pool = u64::from(x[1]) << 32 | u64::from(x[0]);
            let byte = |number: u32| (pool >> (8 * number)) as u32 & 255;
            match parts.len() {
                2 => (0..4).fold(0, |all, lane| {
                    let digit = x[2] >> (4 * lane) & 15;
                    let literal = byte(digit & 7);
                    let byte = if digit >> 3 == 1 { 255 * (literal >> 7) } else { literal };
                    all | byte << (8 * lane)
                }),
                _ => permutation(last, x[2] & 3).iter().fold(0, |all, number| all << 8 | byte(*number)),
            }
        }
        "lop3" if parts.len() == 3 => {
            let table = |place: u32| {
                let row = (x[0] >> place & 1) << 2 | (x[1] >> place & 1) << 1 | x[2] >> place & 1;
                (x[3] >> row & 1) << place
            };
            let word: u32 = (0..32).map(table).sum();
            let (any, q) = (word != 0, x[4] & 1 == 1);
            return Some(vec![word.into(), u128::from(if parts[1] == "or" { any | q } else { any & q })]);
        }
        _ => return None,
    };
    Some(vec![word.into()])
}

#[test]
fn bits_are_what_the_manual_says() {
    let mut told = Vec::new();
    for form in TABLE.forms().filter(|form| form.has_evaluator()) {
        let name = form.name();
        let parts: Vec<&str> = name.split('.').collect();
        let mut random = Random::new(form.index() as u64);
        for round in 0..3000 {
            let mut inputs: Vec<u32> = form
                .sources()
                .map(|_| match random.below(3) {
                    0 => random.below(70) as u32,
                    1 => [0, 1, 0x7f80_ff01, 0x8000_0000, 0x7fff_ffff, u32::MAX][random.below(6) as usize],
                    _ => random.next() as u32,
                })
                .collect();
            if parts[0] == "fns" {
                inputs[1] &= 31;
                if round % 2 == 0 {
                    inputs[2] = (random.below(70) as u32).wrapping_sub(35);
                }
            }
            // Few bits are one, or a table has one row.
            if round % 5 == 0 {
                inputs[0] &= random.next() as u32 & random.next() as u32;
            }
            let Some(expected) = expected(&parts, &inputs) else { break };
            told.extend((round == 0).then_some(form));
            let words: Vec<u128> = inputs.iter().map(|word| u128::from(*word)).collect();
            assert_eq!(*form.evaluate(u16::MAX, &words), expected[..], "{name} of {inputs:x?}");
        }
    }
    assert_eq!(told.len(), 1 + 4 + 2 + 4 + 8 + 7 + 2, "fns, szext, bmsk, dp4a, dp2a, prmt, lop3 with a predicate");
    held("bits", told);
}
