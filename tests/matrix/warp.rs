//! Matrix products of a warp, held against the published model of tensor cores, computed in doubles and straight from
//! its description; layouts are written here by hand, after the manual's formulas.

use crate::model::*;
use crate::products::*;
use ptx_isa::matrix::ScaleSource;

struct Case {
    form: &'static str,
    shape: [usize; 3],
    types: Types,
    /// Bits of an element in a register.
    bits: usize,
}

fn check(case: &Case, sm: u16, model: &Model, rounds: u64) {
    let [m, n, k] = case.shape;
    let (x, y, z, to) = case.types;
    let product = product(case.form, sm);
    assert_eq!(product.shape(), case.shape, "{}", case.form);
    let mut random = Random::new(u64::from(sm) * 1000 + k as u64);
    for round in 0..rounds {
        let kind = round % 5;
        let mut fill = |count: usize, ty: &str| fill(&mut random, count, ty, kind);
        let (a, b, c) = (fill(m * k, x), fill(k * n, y), fill(m * n, z));
        let ra = hold_a([m, k], case.bits, |row, column| contained(x, case.bits, a[row * k + column]));
        let rb = hold_b([k, n], case.bits, |row, column| contained(y, case.bits, b[row * n + column]));
        let rc = hold_c([m, n], z, |row, column| c[row * n + column]);
        let d = agreed(&product, |product| product.multiply([&ra, &rb, &rc], None));
        for (row, column, got) in elements(&d, [m, n], to) {
            let column_of_b: Vec<u64> = (0..k).map(|l| b[l * n + column]).collect();
            let row_of_a = &a[row * k..][..k];
            let expected = dot(row_of_a, &column_of_b, c[row * n + column], case.types, model);
            assert_eq!(
                got, expected,
                "{} sm_{sm}, round {round}: row {row}, column {column}: {got:#x} instead of {expected:#x}",
                case.form
            );
        }
    }
}

const fn case(form: &'static str, shape: [usize; 3], types: Types, bits: usize) -> Case {
    Case { form, shape, types, bits }
}

#[test]
fn floats_are_those_of_the_model() {
    let wide = [
        case("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", [16, 8, 8], ("f16", "f16", "f32", "f32"), 16),
        case("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", [16, 8, 8], ("f16", "f16", "f16", "f16"), 16),
    ];
    for case in &wide {
        check(case, 75, &Model { fraction: 24, step: 8, result: 23 }, 25);
    }
    let wider = [
        case("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", [16, 8, 16], ("f16", "f16", "f32", "f32"), 16),
        case("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", [16, 8, 16], ("f16", "f16", "f16", "f16"), 16),
        case("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", [16, 8, 16], ("bf16", "bf16", "f32", "f32"), 16),
        case("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", [16, 8, 8], ("bf16", "bf16", "f32", "f32"), 16),
    ];
    for case in wide.iter().chain(&wider) {
        check(case, 80, &Model { fraction: 24, step: 8, result: 23 }, 25);
        check(case, 90, &Model { fraction: 25, step: case.shape[2], result: 23 }, 25);
        check(case, 120, &Model { fraction: 25, step: case.shape[2], result: 23 }, 10);
    }
    for (k, form) in [
        (4, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32"),
        (8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ] {
        let case = case(form, [16, 8, k], ("tf32", "tf32", "f32", "f32"), 32);
        check(&case, 86, &Model { fraction: 24, step: 4, result: 23 }, 25);
        check(&case, 100, &Model { fraction: 25, step: k, result: 23 }, 25);
    }
}

#[test]
fn narrow_floats_are_those_of_the_model() {
    let list = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"];
    for (x, y) in list.iter().flat_map(|x| list.iter().map(move |y| (*x, *y))) {
        let narrow = [x, y].iter().any(|ty| !["e4m3", "e5m2"].contains(ty));
        let kind = if narrow { ".kind::f8f6f4" } else { "" };
        for to in ["f32", "f16"] {
            let form: &'static str = format!("mma.sync.aligned.m16n8k32.row.col{kind}.{to}.{x}.{y}.{to}").leak();
            let case = case(form, [16, 8, 32], (x, y, to, to), 8);
            check(&case, 120, &Model { fraction: 25, step: 32, result: 23 }, 5);
            if !narrow {
                check(&case, 89, &Model { fraction: 13, step: 16, result: 13 }, 10);
            }
        }
    }
}

/// A register of each element.
fn integers(random: &mut Random, ty: &str, count: usize) -> Vec<i64> {
    let number = |bits: u64| match ty {
        "u8" => (bits & 0xff) as i64,
        "s8" => (bits as i8).into(),
        "u4" => (bits & 0xf) as i64,
        "s4" => (bits << 60).cast_signed() >> 60,
        "b1" => (bits & 1) as i64,
        _ => (bits as i32).into(),
    };
    (0..count).map(|_| number(random.next() >> 11)).collect()
}

#[test]
fn integers_are_exact() {
    let mut random = Random::new(7);
    let shapes: [(&[&str], &[[usize; 3]]); 3] = [
        (&["u8", "s8"], &[[8, 8, 16], [16, 8, 16], [16, 8, 32]]),
        (&["u4", "s4"], &[[8, 8, 32], [16, 8, 32], [16, 8, 64]]),
        (&["b1"], &[[8, 8, 128], [16, 8, 128], [16, 8, 256]]),
    ];
    for (types, shape) in shapes.iter().flat_map(|(types, shapes)| shapes.iter().map(move |shape| (*types, *shape))) {
        let [m, n, k] = shape;
        for (x, y, end) in types.iter().flat_map(|x| types.iter().map(move |y| (*x, *y))).flat_map(|(x, y)| {
            let ends: &[&str] = if x == "b1" { &[".xor.popc", ".and.popc"] } else { &["", ".satfinite"] };
            ends.iter().map(move |end| (x, y, *end))
        }) {
            let (clamp, op) = if end == ".satfinite" { (end, "") } else { ("", end) };
            let text = format!("mma.sync.aligned.m{m}n{n}k{k}.row.col{clamp}.s32.{x}.{y}.s32{op}");
            let product = product(&text, 90);
            let bits = match x {
                "u8" | "s8" => 8,
                "b1" => 1,
                _ => 4,
            };
            let mask = (1_u64 << bits) - 1;
            let (a, b) = (integers(&mut random, x, m * k), integers(&mut random, y, k * n));
            let mut c = integers(&mut random, "s32", m * n);
            // Some sums leave the range.
            c.iter_mut().step_by(3).for_each(|c| *c = if *c < 0 { i32::MIN.into() } else { i32::MAX.into() });
            let ra = hold_a([m, k], bits, |row, column| a[row * k + column] as u64 & mask);
            let rb = hold_b([k, n], bits, |row, column| b[row * n + column] as u64 & mask);
            let rc = hold_c([m, n], "s32", |row, column| c[row * n + column] as u64 & 0xffff_ffff);
            let d = agreed(&product, |product| product.multiply([&ra, &rb, &rc], None));
            for (row, column, got) in elements(&d, [m, n], "s32") {
                let terms = (0..k).map(|l| (a[row * k + l], b[l * n + column]));
                let sum: i64 = match op {
                    ".xor.popc" => terms.map(|(a, b)| a ^ b).sum(),
                    ".and.popc" => terms.map(|(a, b)| a & b).sum(),
                    _ => terms.map(|(a, b)| a * b).sum(),
                };
                let sum = sum + c[row * n + column];
                let expected =
                    if clamp.is_empty() { sum as i32 } else { sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32 };
                assert_eq!(got as i32, expected, "{text}: row {row}, column {column}");
            }
        }
    }
}

#[test]
fn doubles_are_chains_of_fused_multiply_adds() {
    let mut random = Random::new(9);
    for k in [4, 8, 16] {
        let text = format!("mma.sync.aligned.m16n8k{k}.row.col.f64.f64.f64.f64");
        let product = product(&text, 90);
        let mut fill = |count: usize| -> Vec<f64> {
            (0..count)
                .map(|_| (random.next() >> 12) as f64 * 2_f64.powi((random.next() % 40) as i32 - 60) - 1.0)
                .collect()
        };
        let (a, b, c) = (fill(16 * k), fill(k * 8), fill(16 * 8));
        let ra = pack(k / 2, 1, 64, |lane, register, _| {
            let (row, column) = (lane / 4 + register % 2 * 8, lane % 4 + register / 2 * 4);
            a[row * k + column].to_bits()
        });
        let rb = pack(k / 4, 1, 64, |lane, register, _| b[(lane % 4 + register * 4) * 8 + lane / 4].to_bits());
        let rc = hold_c([16, 8], "f64", |row, column| c[row * 8 + column].to_bits());
        let d = agreed(&product, |product| product.multiply([&ra, &rb, &rc], None));
        for (row, column, got) in elements(&d, [16, 8], "f64") {
            let sum = (0..k).fold(c[row * 8 + column], |sum, l| a[row * k + l].mul_add(b[l * 8 + column], sum));
            assert_eq!(f64::from_bits(got), sum, "{text}: row {row}, column {column}");
        }
    }
}

/// Volta's products: eight lanes hold each of four, and the layout of factors depends on their order.
#[test]
fn quarters_of_a_warp_have_products_of_their_own() {
    let model = Model { fraction: 23, step: 4, result: 23 };
    let mut random = Random::new(11);
    for (x, y) in [("row", "col"), ("row", "row"), ("col", "col"), ("col", "row")] {
        for (z, to) in [("f32", "f32"), ("f16", "f16"), ("f16", "f32")] {
            let text = format!("mma.sync.aligned.m8n8k4.{x}.{y}.{to}.f16.f16.{z}");
            let product = product(&text, 70);
            let mut fill = |count: usize, ty: &str| fill(&mut random, count, ty, 1);
            let (a, b, c) = (fill(4 * 8 * 4, "f16"), fill(4 * 4 * 8, "f16"), fill(4 * 8 * 8, z));
            let quarter = |lane: usize| lane % 16 / 4;
            let high = |lane: usize| if lane < 16 { 0 } else { 4 };
            let ra = pack(2, 2, 16, |lane, register, part| {
                let i = 2 * register + part;
                let (row, column) = if x == "row" { (lane % 4 + high(lane), i) } else { (i + high(lane), lane % 4) };
                a[quarter(lane) * 32 + row * 4 + column]
            });
            let rb = pack(2, 2, 16, |lane, register, part| {
                let i = 2 * register + part;
                let (row, column) = if y == "row" { (lane % 4, i + high(lane)) } else { (i, lane % 4 + high(lane)) };
                b[quarter(lane) * 32 + row * 8 + column]
            });
            // Halves: one row per lane. Singles: bits of the lane and of the element make row and column.
            let place = |ty: &str, lane: usize, i: usize| match ty {
                "f16" => (lane % 4 + high(lane), i),
                _ => ((lane & 1) + (i & 2) + high(lane), (i & 4) + (lane & 2) + (i & 1)),
            };
            let per = |ty: &str| if ty == "f16" { 2 } else { 1 };
            let rc = pack(8 / per(z), per(z), 16, |lane, register, part| {
                let (row, column) = place(z, lane, register * per(z) + part);
                c[quarter(lane) * 64 + row * 8 + column]
            });
            let d = agreed(&product, |product| product.multiply([&ra, &rb, &rc], None));
            for (lane, i) in (0..32).flat_map(|lane| (0..8).map(move |i| (lane, i))) {
                let (row, column) = place(to, lane, i);
                let matrix = quarter(lane);
                let row_of_a = &a[matrix * 32 + row * 4..][..4];
                let column_of_b: Vec<u64> = (0..4).map(|l| b[matrix * 32 + l * 8 + column]).collect();
                let first = c[matrix * 64 + row * 8 + column];
                let expected = dot(row_of_a, &column_of_b, first, ("f16", "f16", z, to), &model);
                let word = d[i / per(to)][lane] >> (16 * (i % per(to)));
                let got = if to == "f16" { word & 0xffff } else { word };
                assert_eq!(got, expected, "{text}: product {matrix}, row {row}, column {column}");
            }
        }
    }
}

#[test]
fn scale_factors_are_those_of_the_model() {
    let mut random = Random::new(13);
    for (kind, size, scale, count, k, types) in [
        ("mxf8f6f4", "", "ue8m0", 1, 32, ("e4m3", "e2m1")),
        ("mxf8f6f4", ".scale_vec::1X", "ue8m0", 1, 32, ("e5m2", "e2m3")),
        ("mxf4", "", "ue8m0", 2, 64, ("e2m1", "e2m1")),
        ("mxf4nvf4", ".scale_vec::2X", "ue8m0", 2, 64, ("e2m1", "e2m1")),
        ("mxf4nvf4", ".scale_vec::4X", "ue4m3", 4, 64, ("e2m1", "e2m1")),
        ("mxf4nvf4", ".scale_vec::4X", "ue8m0", 4, 64, ("e2m1", "e2m1")),
    ] {
        let (x, y) = types;
        let text = format!("mma.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale{size}.f32.{x}.{y}.f32.{scale}");
        let product = product(&text, 120);
        let bits = if k == 64 { 4 } else { 8 };
        for round in 0..30 {
            // Without infinities and NaNs, which other tests have.
            let mut fill = |count: usize, ty: &str| fill(&mut random, count, ty, 1);
            let (a, b, c) = (fill(16 * k, x), fill(k * 8, y), fill(16 * 8, "f32"));
            let mut words = || -> [u64; 32] {
                std::array::from_fn(|_| match scale {
                    // Factors near one, and now and then any.
                    "ue8m0" if round % 3 != 0 => (0..4).fold(0, |word, _| word << 8 | (120 + random.next() % 12)),
                    _ => random.next() & 0xffff_ffff,
                })
            };
            let (of_a, of_b) = (words(), words());
            let byte = [0, if count == 1 { 3 } else { 0 }, if count == 2 { 2 } else { 0 }][round % 3] as u8;
            let (pair, thread) = ((round % 2) as u8, (round % 4) as u8);
            let ra = hold_a([16, k], bits, |row, column| contained(x, bits, a[row * k + column]));
            let rb = hold_b([k, 8], bits, |row, column| contained(y, bits, b[row * 8 + column]));
            let rc = hold_c([16, 8], "f32", |row, column| c[row * 8 + column]);
            let sources = [
                ScaleSource { register: &of_a, byte, lane: pair },
                ScaleSource { register: &of_b, byte, lane: thread },
            ];
            let d = agreed(&product, |product| product.multiply([&ra, &rb, &rc], Some(sources)));
            let factors = |word: u64| -> Vec<u64> {
                (0..count).map(|index| word >> (8 * (usize::from(byte) + index)) & 0xff).collect()
            };
            for (row, column, got) in elements(&d, [16, 8], "f32") {
                let left: Vec<f64> = a[row * k..][..k].iter().map(|bits| value(x, *bits)).collect();
                let right: Vec<f64> = (0..k).map(|l| value(y, b[l * 8 + column])).collect();
                let row_scales = factors(of_a[row % 8 * 4 + usize::from(pair) * 2 + row / 8]);
                let column_scales = factors(of_b[column * 4 + usize::from(thread)]);
                let scales = (&row_scales[..], &column_scales[..], scale);
                let expected = scaled_dot(&left, &right, c[row * 8 + column], scales, types, k == 64);
                assert_eq!(got, expected, "{text}, round {round}: row {row}, column {column}");
            }
        }
    }
}
