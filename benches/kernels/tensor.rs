//! Products of tensor cores: single ones against the reference of the tests, and a product by Triton against the host's loop.

use ptx_isa::matrix::Lanes;
use ptx_isa::run::{Grid, Memory, Module};

use super::cases::product_tiled;
use super::model::{Model, Random, dot};
use super::products::{Types, contained, elements, fill, hold_a, hold_b, hold_c, product};
use super::rival::Library;
use super::{compare, ratio, report};

/// Rows, columns and depth of the products by Triton.
const SIZE: usize = 512;
const THREADS: u32 = 128;

/// A product by Triton: its name, its module, the rows and columns of a block, and its shared memory.
type Product = (&'static str, &'static str, usize, u32);

/// As it is compiled for sizes that are multiples of 16, with asynchronous copies, and for any sizes.
const PRODUCTS: [Product; 2] = [
    ("tensor product", include_str!("../../tests/kernels/triton-aligned-fp16-80.ptx"), 64, 16384),
    ("tensor product (small tiles)", include_str!("../../tests/kernels/triton-product-fp16-80.ptx"), 32, 4096),
];

/// The kind of inputs: no infinities and NaNs.
const ORDINARY: u64 = 1;

/// A product with the target, its shape, and how that sums.
struct Case {
    form: &'static str,
    sm: u16,
    shape: [usize; 3],
    bits: usize,
    types: Types,
    /// How floats are summed; integers are summed exactly.
    model: Option<Model>,
}

fn cases() -> [Case; 6] {
    let case = |form, sm, k, ty, [fraction, step, result]: [i32; 3]| Case {
        form,
        sm,
        shape: [16, 8, k],
        bits: 256 / k,
        types: (ty, ty, "f32", "f32"),
        model: Some(Model { fraction, step: step as usize, result }),
    };
    let exact = |form, k, ty| Case {
        form,
        sm: 80,
        shape: [16, 8, k],
        bits: 256 / k,
        types: (ty, ty, "s32", "s32"),
        model: None,
    };
    [
        case("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 80, 16, "f16", [24, 8, 23]),
        case("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 80, 16, "bf16", [24, 8, 23]),
        case("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 80, 8, "tf32", [24, 4, 23]),
        case("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 89, 32, "e4m3", [13, 16, 13]),
        exact("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 32, "s8"),
        exact("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 256, "b1"),
    ]
}

pub(crate) fn rows(wanted: &str, library: Option<&Library>) {
    for case in cases().iter().filter(|case| case.form.contains(wanted)) {
        single(case);
    }
    for product in PRODUCTS.iter().filter(|(name, ..)| name.contains(wanted)) {
        whole(library, product);
    }
}

/// One product against the reference.
fn single(case: &Case) {
    let Case { form, sm, shape: [m, n, k], bits, types, model } = case;
    let ours = product(form, *sm);
    let mut random = Random::new(7);
    let mut draw = |count: usize, ty: &str, bits: usize| match model {
        Some(_) => fill(&mut random, count, ty, ORDINARY),
        None => (0..count).map(|_| random.next() >> (64 - bits)).collect(),
    };
    let (a, b) = (draw(m * k, types.0, *bits), draw(k * n, types.1, *bits));
    let c = draw(m * n, types.2, 32);
    let columns: Vec<u64> = (0..n * k).map(|index| b[index % k * n + index / k]).collect();
    let reference = || -> Vec<u64> {
        let line = |i: usize, j: usize| {
            let (a, b, c) = (&a[i * k..][..*k], &columns[j * k..][..*k], c[i * n + j]);
            model.as_ref().map_or_else(|| exact(a, b, c, types.0), |model| dot(a, b, c, *types, model))
        };
        (0..m * n).map(|index| line(index / n, index % n)).collect()
    };
    let held: [Vec<Lanes>; 3] = [
        hold_a([*m, *k], *bits, |i, l| contained(types.0, *bits, a[i * k + l])),
        hold_b([*k, *n], *bits, |l, j| contained(types.1, *bits, b[l * n + j])),
        hold_c([*m, *n], types.2, |i, j| c[i * n + j]),
    ];
    let multiply = || ours.multiply([&held[0], &held[1], &held[2]], None);
    let expected = reference();
    for (i, j, bits) in elements(&multiply(), [*m, *n], types.3) {
        assert_eq!(bits, expected[i * n + j], "{form}, row {i}, column {j}");
    }
    const TIMES: usize = 100;
    let (value, time) = ratio(
        || (0..TIMES).for_each(|_| _ = std::hint::black_box(multiply())),
        || (0..TIMES).for_each(|_| _ = std::hint::black_box(reference())),
    );
    let time = time / TIMES as f64;
    let note = format!("({:.2} µs, {:.2} ns a product)", time * 1e6, time * 1e9 / (m * n * k) as f64);
    report(&format!("{form}, reference"), value, if model.is_some() { 20.0 } else { 1.0 }, &note);
}

/// An exact sum of the products of integers, or of the outcomes of XOR of bits.
fn exact(a: &[u64], b: &[u64], c: u64, ty: &str) -> u64 {
    let pairs = a.iter().zip(b);
    let sum: i64 = match ty {
        "s8" => pairs.map(|(a, b)| i64::from(*a as i8) * i64::from(*b as i8)).sum(),
        _ => pairs.map(|(a, b)| ((a ^ b) & 1).cast_signed()).sum(),
    };
    c.wrapping_add(sum.cast_unsigned()) & u64::from(u32::MAX)
}

/// A product by Triton of halves against the host's loop over floats.
fn whole(library: Option<&Library>, (name, text, tile, shared): &Product) {
    let Some(library) = library else { return };
    let rival = product_tiled(SIZE);
    let mut buffers: Vec<Vec<u8>> = rival.buffers.iter().map(|buffer| buffer.bytes.clone()).collect();
    let memory = Memory::new();
    let mut pointers = Vec::new();
    for floats in &mut buffers[..2] {
        // Both multiply the same numbers.
        let words = floats.as_chunks_mut::<4>().0;
        let halves: Vec<half::f16> = words.iter().map(|word| half::f16::from_f32(f32::from_le_bytes(*word))).collect();
        for (word, half) in words.iter_mut().zip(&halves) {
            *word = half.to_f32().to_le_bytes();
        }
        pointers.push(memory.upload(&halves.iter().map(|half| half.to_bits()).collect::<Vec<_>>()));
    }
    pointers.push(memory.upload(&buffers[2]));
    let module = Module::load(text, &memory).unwrap_or_else(|error| panic!("{error}"));
    let kernel = module.kernel("product").unwrap_or_else(|error| panic!("{error}"));
    let side = (SIZE / tile) as u32;
    let grid = Grid { blocks: [side, side, 1], shared: *shared, ..Grid::new(1, THREADS) };
    let [a, b, c] = [pointers[0], pointers[1], pointers[2]].map(Into::into);
    let [m, n, k] = [SIZE as i32; 3].map(Into::into);
    let arguments = [a, b, c, m, n, k, 0_u64.into(), 0_u64.into()];
    let options = ptx_isa::run::Options { threads: Some(1), ..Default::default() };
    let launch = || _ = kernel.launch_with(grid, &arguments, &options).unwrap_or_else(|error| panic!("{error}"));
    launch();
    library.run(&rival, &mut buffers);
    let mut outputs = buffers.clone();
    outputs[2] = memory.download(pointers[2], 4 * SIZE * SIZE).expect("a buffer of ours");
    compare(&rival, &outputs, &buffers);
    let (value, time) = ratio(launch, || library.run(&rival, &mut buffers));
    report(&format!("{name} of {SIZE}³, {}", library.compiler), value, 0.1, &format!("({:.0} ms)", time * 1e3));
}
