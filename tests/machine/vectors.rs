//! Inputs for every form, many of them at the edges of the operands' types: the same wherever results are recorded and
//! wherever they are replayed.
//!
//! This module knows no instruction: operands, types and selectors come from the table. Input words are as
//! [`FormInfo::evaluate`] takes them.

use ptx_isa::TABLE;
use ptx_isa::selector;
use ptx_isa::table::{FormInfo, Kind, TypeInfo};

use crate::random::Random;

fn low(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// The edges of a type that is not packed: zeros, ones, extremes, and for floats infinities, NaNs of every kind, and
/// both ends of the subnormal and normal numbers, of either sign.
pub(crate) fn edges(ty: &TypeInfo) -> Vec<u128> {
    let bits = u32::from(ty.bits);
    let top = 1_u128 << (bits - 1);
    match ty.kind {
        Kind::Predicate => vec![0, 1],
        Kind::Float => {
            let fraction = bits - 1 - u32::from(ty.exponent);
            let infinity = low(u32::from(ty.exponent)) << fraction;
            let one = (low(u32::from(ty.exponent) - 1)) << fraction;
            let quiet = infinity | 1 << (fraction - 1);
            let positive = [
                0,
                1,
                (1 << fraction) - 1,
                1 << fraction,
                one - 1,
                one,
                one + 1,
                infinity - 1,
                infinity,
                infinity + 1,
                quiet,
                quiet | 1,
                low(bits - 1),
            ];
            positive.iter().flat_map(|&value| [value, value | top]).collect()
        }
        Kind::Bits | Kind::Unsigned | Kind::Signed | Kind::Minifloat | Kind::Packed => {
            vec![0, 1, 2, low(bits), low(bits) - 1, top, top - 1, top + 1, top >> 1, (u128::MAX / 3) & low(bits)]
        }
    }
}

/// A value of a type, one in two times at an edge, lane by lane where it is packed.
fn value(random: &mut Random, ty: &TypeInfo) -> u128 {
    if ty.kind == Kind::Packed {
        let lane = TABLE.ty(ty.lane);
        return (0..ty.lanes).fold(0, |word, _| word << ty.lane_bits() | value(random, lane));
    }
    let bits = u32::from(ty.bits);
    if random.next() & 1 == 0 {
        let edges = edges(ty);
        return edges[random.below(edges.len())];
    }
    // Narrow values take one number, as they did when no type was wider.
    let high = if bits > 64 { u128::from(random.next()) << 64 } else { 0 };
    (high | u128::from(random.next())) & low(bits)
}

/// The seed of the vectors whose results are recorded.
pub(crate) const RECORDED: u64 = 0;

/// Returns `count` vectors of input words for a form: sources in order, then selectors in order.
pub(crate) fn of(form: FormInfo, seed: u64, count: usize) -> Vec<Vec<u128>> {
    let mut random = Random::from_text(&form.name(), seed);
    let mut vectors = Vec::with_capacity(count);
    for number in 0..count {
        let mut words: Vec<u128> = Vec::new();
        for operand in form.sources() {
            let ty = TABLE.ty(operand.ty);
            let same = words.last().copied().filter(|_| number % 5 == 4 && ty.kind != Kind::Predicate);
            // Bytes at their edges, for forms that take words apart.
            let bytes = form.selectors().next().is_some().then(|| {
                (0..4).fold(0_u128, |word, _| {
                    let edge = [0, 1, 0x7f, 0x80, 0xff, u128::from(random.next() & 0xff)][random.below(6)];
                    word << 8 | edge
                })
            });
            words.push(match (same, bytes) {
                // Constants in the statement itself are bytes.
                _ if operand.registers.is_empty() => u128::from(random.next() & 0xff),
                (Some(same), _) => same & low(u32::from(ty.bits)),
                (None, Some(bytes)) if number % 2 == 0 => bytes,
                _ => value(&mut random, ty),
            });
        }
        for selector in form.selectors() {
            words.push(match selector.kind {
                _ if number % 4 == 0 => selector.default.into(),
                selector::Kind::Lanes { lanes, of } => {
                    let word = (0..lanes).fold(0, |word, _| word << 4 | random.below(usize::from(of)) as u128);
                    // The assembler reads `.b1024` as a word of another instruction.
                    if word == 0x1024 { selector.default.into() } else { word }
                }
                selector::Kind::Subset { of } => 1 + random.below((1 << of) - 1) as u128,
                selector::Kind::Listed { words } => random.below(words.len()) as u128,
            });
        }
        vectors.push(words);
    }
    vectors
}
