//! Pairs of halves, for operators of each kind: a sixteenth of all 2³², and all of them with
//! `cargo test --release --features scalar --test evaluators halves -- --ignored` (two minutes of one core).
//!
//! The oracle is a table of 65,536 numbers, each decoded to an `f64` and replaced by its rank.

use std::thread;

use crate::reference::{Format, decode, flush, format};
use ptx_isa::eval::{bf16, f16};
use ptx_isa::scalar;

/// The rank among all numbers of a format, the same for both zeros; `None` for NaN.
type Ranks = Vec<Option<u32>>;

fn ranks(format: Format, flushed: bool) -> Ranks {
    let value = |bits: u16| {
        let bits = u128::from(bits);
        decode(if flushed { flush(bits, format) } else { bits }, format)
    };
    let mut numbers: Vec<f64> = (0..=u16::MAX).filter_map(value).collect();
    numbers.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    numbers.dedup();
    // `-0.0 == 0.0`: both are at one place.
    (0..=u16::MAX).map(|bits| value(bits).map(|value| numbers.partition_point(|other| *other < value) as u32)).collect()
}

/// First operands: all, or a sixteenth with the edges of both formats. The second operands are always all.
#[derive(Clone, Copy)]
enum First {
    All,
    Sample,
}

impl First {
    fn has(self, bits: u16) -> bool {
        const EDGES: [u16; 11] = [0, 1, 0x7f, 0x80, 0x3ff, 0x400, 0x7c00, 0x7c01, 0x7f80, 0x7f81, 0x7fff];
        let mixed = (bits ^ bits >> 4 ^ bits >> 8 ^ bits >> 12) & 0xf;
        matches!(self, First::All) || mixed == 0 || EDGES.contains(&(bits & 0x7fff))
    }
}

/// Compares a function with a relation of ranks on pairs.
fn pairs(
    first: First,
    name: &str,
    ranks: &Ranks,
    function: impl Fn(u16, u16) -> (bool, bool) + Sync,
    both: impl Fn(u32, u32) -> bool + Sync,
    with_nan: bool,
) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (function, both) = (&function, &both);
            scope.spawn(move || {
                for a in (0..=u16::MAX).filter(|a| first.has(*a)).skip(thread).step_by(threads) {
                    let rank = ranks[usize::from(a)];
                    let mut wrong = 0_u32;
                    for b in 0..=u16::MAX {
                        let expected = match (rank, ranks[usize::from(b)]) {
                            (Some(a), Some(b)) => both(a, b),
                            _ => with_nan,
                        };
                        wrong += u32::from(function(a, b) != (expected, expected));
                    }
                    assert_eq!(wrong, 0, "{name}: pairs of {a:#06x}");
                }
            });
        }
    });
}

/// The form of one half, and both lanes of the packed form: the same, all three.
macro_rules! check {
    ($first:expr, $format:literal, $half:ident, $flushed:expr, $one:ident, $packed:ident, $both:expr, $with_nan:expr) => {
        pairs(
            $first,
            stringify!($one),
            &ranks(format($format).unwrap(), $flushed),
            |a, b| {
                let (a, b) = ($half::from_bits(a), $half::from_bits(b));
                let (lower, upper) = scalar::$packed([a, a], [b, b]);
                (scalar::$one(a, b), lower & upper)
            },
            $both,
            $with_nan,
        )
    };
}

#[test]
#[cfg_attr(debug_assertions, ignore = "minutes without optimisation: run with --release")]
fn pairs_of_f16_compare_as_their_numbers_do() {
    compare_f16(First::Sample);
}

#[test]
#[ignore = "a minute: run with --release -- --ignored"]
fn every_pair_of_f16_compares_as_its_numbers_do() {
    compare_f16(First::All);
}

fn compare_f16(first: First) {
    check!(first, "f16", f16, false, setp_lt_f16, setp_lt_f16x2, |a, b| a < b, false);
    check!(first, "f16", f16, false, setp_ne_f16, setp_ne_f16x2, |a, b| a != b, false);
    check!(first, "f16", f16, false, setp_equ_f16, setp_equ_f16x2, |a, b| a == b, true);
    check!(first, "f16", f16, false, setp_gtu_f16, setp_gtu_f16x2, |a, b| a > b, true);
    check!(first, "f16", f16, false, setp_num_f16, setp_num_f16x2, |_, _| true, false);
    check!(first, "f16", f16, false, setp_nan_f16, setp_nan_f16x2, |_, _| false, true);
    check!(first, "f16", f16, true, setp_le_ftz_f16, setp_le_ftz_f16x2, |a, b| a <= b, false);
    check!(first, "f16", f16, true, setp_neu_ftz_f16, setp_neu_ftz_f16x2, |a, b| a != b, true);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "minutes without optimisation: run with --release")]
fn pairs_of_bf16_compare_as_their_numbers_do() {
    compare_bf16(First::Sample);
}

#[test]
#[ignore = "a minute: run with --release -- --ignored"]
fn every_pair_of_bf16_compares_as_its_numbers_do() {
    compare_bf16(First::All);
}

fn compare_bf16(first: First) {
    check!(first, "bf16", bf16, false, setp_ge_bf16, setp_ge_bf16x2, |a, b| a >= b, false);
    check!(first, "bf16", bf16, false, setp_eq_bf16, setp_eq_bf16x2, |a, b| a == b, false);
    check!(first, "bf16", bf16, false, setp_ltu_bf16, setp_ltu_bf16x2, |a, b| a < b, true);
    check!(first, "bf16", bf16, false, setp_neu_bf16, setp_neu_bf16x2, |a, b| a != b, true);
    check!(first, "bf16", bf16, false, setp_num_bf16, setp_num_bf16x2, |_, _| true, false);
    check!(first, "bf16", bf16, false, setp_nan_bf16, setp_nan_bf16x2, |_, _| false, true);
}

/// The oracle itself: ranks are in the order of the numbers, zeros share one, and the counts are those of the formats.
#[test]
fn ranks_are_those_of_the_formats() {
    let f16s = ranks(format("f16").unwrap(), false);
    assert_eq!(f16s.iter().flatten().count(), 65_536 - 2 * 1023);
    assert_eq!(f16s[0], f16s[0x8000]);
    assert!(f16s[0x0001] > f16s[0] && f16s[0x8001] < f16s[0] && f16s[0x7c00] > f16s[0x7bff]);
    assert_eq!(f16s[0x7c00], Some(2 * 0x7c00));
    let flushed = ranks(format("f16").unwrap(), true);
    assert_eq!(flushed[0x83ff], flushed[0x03ff]);
    assert!(flushed[0x0400] > flushed[0x03ff]);
    let bf16s = ranks(format("bf16").unwrap(), false);
    assert_eq!(bf16s.iter().flatten().count(), 65_536 - 2 * 127);
}
