//! Video arithmetic against the manual's pseudo-code: parts, masks and selections, saturation, merging and accumulation.
//! Mnemonics are taken apart by their text; nothing of the table but its forms is used.

use crate::reference::{Random, held};
use ptx_isa::TABLE;

/// Parts of a mnemonic, split at the dots: `vadd.s32.u32.s32.sat.add`.
struct Words<'a>(Vec<&'a str>);

impl Words<'_> {
    fn has(&self, word: &str) -> bool {
        self.0[1..].contains(&word)
    }

    /// Returns true if the destination (1), first source (2) or second source (3) is signed.
    fn signed(&self, place: usize) -> bool {
        self.0[place] == "s32"
    }
}

/// Extracts `width` bits of a word, starting at bit `first`, with sign or zero extension.
fn bits(word: i128, first: u32, width: u32, signed: bool) -> i128 {
    let bits = word >> first & ((1 << width) - 1);
    if signed && bits >> (width - 1) & 1 == 1 { bits - (1 << width) } else { bits }
}

/// "CLAMP( tmp, S8_MAX, S8_MIN )" and its like.
fn clamp(value: i128, signed: bool, width: u32) -> i128 {
    match signed {
        true => value.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1),
        false => value.clamp(0, (1 << width) - 1),
    }
}

/// The first bit and the width of `.b0` to `.b3`, `.h0`, `.h1`, and of all.
fn place(part: u128) -> (u32, u32) {
    [(0, 8), (8, 8), (16, 8), (24, 8), (0, 16), (16, 16), (0, 32)][part as usize]
}

/// The result of the primary operation of two numbers.
fn operate(opcode: &str, a: i128, b: i128, wraps: bool) -> i128 {
    let by = if wraps { b & 31 } else { b.min(32) };
    match opcode {
        "vadd" => a + b,
        "vsub" => a - b,
        "vabsdiff" => (a - b).abs(),
        "vmin" => a.min(b),
        "vmax" => a.max(b),
        "vavrg" if a + b >= 0 => (a + b + 1) >> 1,
        "vavrg" => (a + b) >> 1,
        // "perform a scalar arithmetic operation to produce a signed 34-bit result"
        "vshl" => bits(a << by, 0, 34, true),
        "vshr" => a >> by,
        other => panic!("no opcode: {other}"),
    }
}

/// Section 9.7.18.1: `sources` are a, b and perhaps c, `parts` those of d (if the form merges), a and b.
fn scalar(words: &Words<'_>, sources: &[u128], parts: &[u128]) -> u128 {
    let (dsel, parts) = if parts.len() == 3 { (parts[0], &parts[1..]) } else { (6, parts) };
    let source = |at: usize| {
        let (first, width) = place(parts[at]);
        bits(sources[at] as i128, first, width, words.signed(2 + at))
    };
    let result = operate(words.0[0], source(0), source(1), words.has("wrap"));
    let (first, width) = place(dsel);
    let result = if words.has("sat") { clamp(result, words.signed(1), width) } else { result };
    let Some(&c) = sources.get(2) else { return result as u128 & 0xffff_ffff };
    let third = bits(c as i128, 0, 32, words.signed(1));
    let result = match () {
        () if words.has("add") => result + third,
        () if words.has("min") => result.min(third),
        () if words.has("max") => result.max(third),
        () if dsel == 6 => result,
        () => {
            let hole = ((1_i128 << width) - 1) << first;
            result << first & hole | c as i128 & !hole
        }
    };
    result as u128 & 0xffff_ffff
}

/// Section 9.7.18.2: `sources` are a, b and c; then the mask, a bit a lane, and what is picked, four bits a lane.
fn packed(words: &Words<'_>, lanes: u32, sources: &[u128], selectors: &[u128]) -> u128 {
    let width = 32 / lanes;
    let [a, b, c] = [0, 1, 2].map(|at| sources[at] as i128 & 0xffff_ffff);
    let pool = b << 32 | a;
    let pick = |at: usize, lane: u32| {
        let number = (selectors[at] >> (4 * lane)) as u32 & 15;
        bits(pool, number * width, width, words.signed(1 + at))
    };
    let opcode = words.0[0].trim_end_matches(['2', '4']);
    let result = |lane: u32| {
        let result = operate(opcode, pick(1, lane), pick(2, lane), false);
        if words.has("sat") { clamp(result, words.signed(1), width) } else { result }
    };
    let masked = |lane: &u32| selectors[0] >> lane & 1 == 1;
    if words.has("add") {
        return (c + (0..lanes).filter(masked).map(result).sum::<i128>()) as u128 & 0xffff_ffff;
    }
    let lane = |lane: u32| bits(if masked(&lane) { result(lane) } else { c >> (lane * width) }, 0, width, false);
    (0..lanes).map(|at| (lane(at) << (at * width)) as u128).sum()
}

/// A word whose bytes and half-words are at their edges more often than not.
fn word(random: &mut Random) -> u128 {
    match random.below(4) {
        0 => random.below(1 << 32),
        1 => [0, 1, 31, 32, 33, 255, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff][random.below(9) as usize],
        _ => {
            (0..4).fold(0, |word, _| word << 8 | [0, 1, 0x7f, 0x80, 0xff, random.below(256)][random.below(6) as usize])
        }
    }
}

#[test]
fn video_arithmetic_is_what_the_manual_says() {
    let (mut scalars, mut packs) = (Vec::new(), Vec::new());
    for form in TABLE.forms() {
        let opcode = form.instruction().data().opcode;
        let lanes = match opcode {
            "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" => 1,
            "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" => 2,
            "vadd4" | "vsub4" | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" => 4,
            _ => continue,
        };
        let words = Words(form.mnemonic().split('.').collect());
        let selectors = form.selectors().count();
        let mut random = Random::new(form.index() as u64);
        for round in 0..300 {
            let mut sources: Vec<u128> = (0..3).map(|_| word(&mut random)).collect();
            let inputs = if lanes == 1 {
                let mut parts: Vec<u128> = (0..selectors).map(|_| random.below(7)).collect();
                // Without a part to merge into, the third source may be left out.
                if selectors == 3 && round % 4 == 0 {
                    parts[0] = 6;
                    sources.truncate(2);
                }
                [sources, parts].concat()
            } else {
                let mut pick = |lanes: u32| (0..lanes).fold(0, |all, _| all << 4 | random.below(2 * u128::from(lanes)));
                let picked = [pick(lanes), pick(lanes)];
                [&sources[..], &[1 + random.below((1 << lanes) - 1)], &picked].concat()
            };
            let (sources, rest) = inputs.split_at(inputs.len() - selectors);
            let expected =
                if lanes == 1 { scalar(&words, sources, rest) } else { packed(&words, lanes, sources, rest) };
            let found = form.evaluate(u16::MAX, &inputs)[0];
            assert_eq!(
                found,
                expected,
                "{} of {inputs:x?}: {found:#x}, the manual says {expected:#x}",
                form.mnemonic()
            );
        }
        if lanes == 1 { &mut scalars } else { &mut packs }.push(form);
    }
    assert_eq!((scalars.len(), packs.len()), (5 * 64 + 2 * 64, 12 * 24));
    held("video", scalars.into_iter().chain(packs));
}
