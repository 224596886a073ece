//! Sparse products of a warp: the stored elements are spread over the matrix by hand, as the manual's figures of metadata
//! show it, and multiplied by the published model.

use crate::model::*;
use crate::products::*;
use ptx_isa::matrix::{Metadata, ScaleSource};

struct Case {
    form: String,
    k: usize,
    types: Types,
    bits: usize,
    held: Held,
}

fn case(text: &str, k: usize, types: [&'static str; 4], bits: usize, held: Held) -> Case {
    let [x, y, z, to] = types;
    let form = format!("mma.sp{text}.{to}.{x}.{y}.{z}");
    Case { form, k, types: (x, y, z, to), bits, held }
}

fn check(case: &Case, sm: u16, model: &Model, rounds: u64) {
    let Case { form, k, types: (x, y, z, to), bits, held } = case;
    let (k, bits, held) = (*k, *bits, *held);
    let product = product(form, sm);
    assert_eq!(product.shape(), [16, 8, k], "{form}");
    // The model does not hold them; a card of Hopper's generation was compared.
    assert_eq!(product.sum().likely, sm != 90, "{form}");
    let stored = k / 2;
    let mut random = Random::new(u64::from(sm) * 77 + k as u64);
    for round in 0..rounds {
        let kind = round % 5;
        let selector = match held {
            Held::One => round as usize % 4,
            Held::Pair | Held::Rows => round as usize % 2,
            Held::Quad => 0,
        };
        let sparse = choose(&mut random, k, bits, held, selector, form.contains("ordered"));
        let mut fill = |count: usize, ty: &str| fill(&mut random, count, ty, kind);
        let (a, b, c) = (fill(16 * stored, x), fill(k * 8, y), fill(16 * 8, z));
        let ra = hold_a([16, stored], bits, |row, column| contained(x, bits, a[row * stored + column]));
        let rb = hold_b([k, 8], bits, |row, column| contained(y, bits, b[row * 8 + column]));
        let rc = hold_c([16, 8], z, |row, column| c[row * 8 + column]);
        let metadata = Metadata { register: &sparse.metadata, selector: selector as u8 };
        let d = agreed(&product, |product| product.multiply_sparse([&ra, &rb, &rc], metadata, None));
        for (row, column, got) in elements(&d, [16, 8], to) {
            let chosen = &sparse.columns[row * stored..][..stored];
            let right: Vec<u64> = chosen.iter().map(|l| b[l * 8 + column]).collect();
            let expected = dot(&a[row * stored..][..stored], &right, c[row * 8 + column], case.types, model);
            assert_eq!(got, expected, "{form} sm_{sm}, round {round}: row {row}, column {column}");
        }
    }
}

#[test]
fn floats_are_the_chosen_ones() {
    for kind in ["", "::ordered_metadata"] {
        let text = |k: usize| format!("{kind}.sync.aligned.m16n8k{k}.row.col");
        let cases = [
            case(&text(16), 16, ["f16", "f16", "f32", "f32"], 16, Held::One),
            case(&text(16), 16, ["f16", "f16", "f16", "f16"], 16, Held::One),
            case(&text(32), 32, ["f16", "f16", "f32", "f32"], 16, Held::Pair),
            case(&text(32), 32, ["f16", "f16", "f16", "f16"], 16, Held::Pair),
            case(&text(16), 16, ["bf16", "bf16", "f32", "f32"], 16, Held::One),
            case(&text(32), 32, ["bf16", "bf16", "f32", "f32"], 16, Held::Pair),
            case(&text(8), 8, ["tf32", "tf32", "f32", "f32"], 32, Held::One),
            case(&text(16), 16, ["tf32", "tf32", "f32", "f32"], 32, Held::Pair),
        ];
        for case in &cases {
            let step = if case.bits == 32 { 4 } else { 8 };
            check(case, 80, &Model { fraction: 24, step, result: 23 }, 20);
            check(case, 90, &Model { fraction: 25, step: case.k / 2, result: 23 }, 20);
        }
    }
}

#[test]
fn narrow_floats_are_the_chosen_ones() {
    for (x, y) in [("e4m3", "e5m2"), ("e5m2", "e5m2"), ("e3m2", "e4m3"), ("e2m1", "e2m3"), ("e2m3", "e2m1")] {
        let narrow = [x, y].iter().any(|ty| !["e4m3", "e5m2"].contains(ty));
        for to in ["f32", "f16"] {
            let kind = if narrow || to == "f16" { ".kind::f8f6f4" } else { "" };
            let text = format!("::ordered_metadata.sync.aligned.m16n8k64.row.col{kind}");
            let case = case(&text, 64, [x, y, to, to], 8, Held::Quad);
            check(&case, 120, &Model { fraction: 25, step: 32, result: 23 }, 10);
            if !narrow && to == "f32" {
                check(&case, 89, &Model { fraction: 13, step: 16, result: 13 }, 10);
            }
        }
    }
}

#[test]
fn integers_are_the_chosen_ones() {
    let mut random = Random::new(5);
    for (types, k, bits, held) in [
        (["u8", "s8"], 32, 8, Held::Rows),
        (["u8", "s8"], 64, 8, Held::Quad),
        (["u4", "s4"], 64, 4, Held::Rows),
        (["u4", "s4"], 128, 4, Held::Quad),
    ] {
        for (x, y, clamp) in
            types.iter().flat_map(|x| types.iter().flat_map(move |y| [(x, y, ""), (x, y, ".satfinite")]))
        {
            let form = format!("mma.sp.sync.aligned.m16n8k{k}.row.col{clamp}.s32.{x}.{y}.s32");
            let product = product(&form, 90);
            let stored = k / 2;
            let selector = if held == Held::Quad { 0 } else { random.next() as usize & 1 };
            let sparse = choose(&mut random, k, bits, held, selector, false);
            let mut fill = |count: usize, ty: &str| -> Vec<i64> {
                let number = |word: u64| {
                    let word = word >> 9 & ((1 << bits) - 1);
                    if ty.starts_with('s') { (word << (64 - bits)) as i64 >> (64 - bits) } else { word as i64 }
                };
                (0..count).map(|_| number(random.next())).collect()
            };
            let (a, b) = (fill(16 * stored, x), fill(k * 8, y));
            let mask = (1_u64 << bits) - 1;
            let ra = hold_a([16, stored], bits, |row, column| a[row * stored + column] as u64 & mask);
            let rb = hold_b([k, 8], bits, |row, column| b[row * 8 + column] as u64 & mask);
            let first = [i32::MAX, i32::MIN, 17, -4];
            let rc: Vec<[u64; 32]> = first.iter().map(|c| [u64::from(*c as u32); 32]).collect();
            let metadata = Metadata { register: &sparse.metadata, selector: selector as u8 };
            let d = agreed(&product, |product| product.multiply_sparse([&ra, &rb, &rc], metadata, None));
            for (lane, element) in (0..32).flat_map(|lane| (0..4).map(move |element| (lane, element))) {
                let (row, column) = place_of_c(lane, element);
                let terms = (0..stored).map(|l| a[row * stored + l] * b[sparse.columns[row * stored + l] * 8 + column]);
                let sum = i64::from(first[element]) + terms.sum::<i64>();
                let expected =
                    if clamp.is_empty() { sum as i32 } else { sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32 };
                assert_eq!(d[element][lane] as i32, expected, "{form}: row {row}, column {column}");
            }
        }
    }
}

/// Small whole numbers with factors that are powers of two: the sums are exact.
#[test]
fn scale_factors_are_those_of_their_block() {
    let mut random = Random::new(3);
    for (kind, vector, scale, k, bits, count) in [
        ("mxf8f6f4", "", "ue8m0", 64, 8, 1),
        ("mxf4", "", "ue8m0", 128, 4, 2),
        ("mxf4nvf4", ".scale_vec::4X", "ue4m3", 128, 4, 4),
    ] {
        let form = format!(
            "mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale{vector}.f32.e2m1.e2m1.f32.{scale}"
        );
        let product = product(&form, 120);
        let stored = k / 2;
        let sparse = choose(&mut random, k, bits, Held::Quad, 0, true);
        let mut fill = |count: usize| -> Vec<u64> { (0..count).map(|_| random.next() >> 5 & 15).collect() };
        let (a, b) = (fill(16 * stored), fill(k * 8));
        let ra = hold_a([16, stored], bits, |row, column| contained("e2m1", bits, a[row * stored + column]));
        let rb = hold_b([k, 8], bits, |row, column| contained("e2m1", bits, b[row * 8 + column]));
        let one = if scale == "ue8m0" { 127 } else { 7 << 3 };
        let step = if scale == "ue8m0" { 1 } else { 8 };
        let mut words = || -> [u64; 32] {
            std::array::from_fn(|_| (0..4).fold(0, |word, _| word << 8 | (one + random.next() % 3 * step)))
        };
        let (of_a, of_b) = (words(), words());
        let sources = [&of_a, &of_b].map(|register| ScaleSource { register, byte: 0, lane: 1 });
        let metadata = Metadata { register: &sparse.metadata, selector: 0 };
        let d = agreed(&product, |product| product.multiply_sparse([&ra, &rb, &[[0; 32]; 4]], metadata, Some(sources)));
        let factor = |word: u64, l: usize| value(scale, word >> (8 * (l * count / stored)) & 0xff);
        for (row, column, got) in elements(&d, [16, 8], "f32") {
            let terms = (0..stored).map(|l| {
                let right = b[sparse.columns[row * stored + l] * 8 + column];
                let scales = factor(of_a[row % 8 * 4 + 2 + row / 8], l) * factor(of_b[column * 4 + 1], l);
                value("e2m1", a[row * stored + l]) * value("e2m1", right) * scales
            });
            let expected = terms.sum::<f64>() as f32;
            assert_eq!(f32::from_bits(got as u32), expected, "{form}: row {row}, column {column}");
        }
    }
}
