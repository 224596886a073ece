//! Kernels of `kernels/matrix.cu`, which NVRTC compiled, held against the host: matrix products of every shape and type,
//! matrices in shared memory, asynchronous copies and barriers in shared memory.

use crate::machine::{Machine, on_threads, random, shaped};
use half::{bf16, f16};
use ptx_isa::run::{Grid, Number};

const SUITES: [&str; 2] =
    [include_str!("../kernels/matrix-compute_80.ptx"), include_str!("../kernels/matrix-compute_90.ptx")];

fn each(test: impl Fn(&Machine)) {
    SUITES.iter().for_each(|text| on_threads(text, &test));
}

/// Small whole numbers: sums of their products are exact in every format.
fn small(count: usize, from: i32, to: i32) -> Vec<i32> {
    random(count).iter().map(|bits| from + (bits >> 4) as i32 % (to - from)).collect()
}

/// `a × b + c`, where `a` and `b` are in row-major or column-major order.
fn product(a: &[i32], b: &[i32], c: &[i32], [m, n, k]: [usize; 3], (rows_a, rows_b): (bool, bool)) -> Vec<i32> {
    let at_a = |i: usize, l: usize| a[if rows_a { i * k + l } else { l * m + i }];
    let at_b = |l: usize, j: usize| b[if rows_b { l * n + j } else { j * k + l }];
    let place = (0..m).flat_map(|i| (0..n).map(move |j| (i, j)));
    place.map(|(i, j)| c[i * n + j] + (0..k).map(|l| at_a(i, l) * at_b(l, j)).sum::<i32>()).collect()
}

/// A kernel with one product, of elements that `element` and `sum` make of whole numbers.
fn wmma<E: Number, S: Number + PartialEq + core::fmt::Debug>(
    kernel: &str,
    shape: [usize; 3],
    order: (bool, bool),
    element: impl Fn(i32) -> E,
    sum: impl Fn(i32) -> S,
) {
    each(|machine| {
        let [m, n, k] = shape;
        let least = if kernel == "bytes_8" { 0 } else { -8 };
        let (mut a, mut b, mut c) = (small(m * k, least, 9), small(k * n + 3, least, 9), small(m * n, -50, 50));
        b.drain(..3);
        c.reverse();
        a.reverse();
        let elements = |list: &[i32]| machine.upload(&list.iter().map(|x| element(*x)).collect::<Vec<E>>());
        let sums = |list: &[i32]| list.iter().map(|x| sum(*x)).collect::<Vec<S>>();
        let (pa, pb, pc) = (elements(&a), elements(&b), machine.upload(&sums(&c)));
        let d = machine.upload(&sums(&vec![0; m * n]));
        machine.run(kernel, Grid::new(1, 32), &[pa.into(), pb.into(), pc.into(), d.into()]);
        assert_eq!(machine.download::<S>(d, m * n), sums(&product(&a, &b, &c, shape, order)), "{kernel}");
    });
}

fn half_bits(x: i32) -> u16 {
    f16::from_f32(x as f32).to_bits()
}

fn bfloat_bits(x: i32) -> u16 {
    bf16::from_f32(x as f32).to_bits()
}

#[test]
fn products_of_every_shape_and_type() {
    let single = |x: i32| x as f32;
    wmma("halves_16", [16, 16, 16], (true, false), half_bits, single);
    wmma("halves_32", [32, 8, 16], (false, true), half_bits, single);
    wmma("halves_8", [8, 32, 16], (true, true), half_bits, single);
    wmma("halves_in_halves", [16, 16, 16], (false, false), half_bits, half_bits);
    wmma("bfloats_16", [16, 16, 16], (true, true), bfloat_bits, single);
    wmma("bfloats_32", [32, 8, 16], (true, false), bfloat_bits, single);
    wmma("bfloats_8", [8, 32, 16], (false, false), bfloat_bits, single);
    wmma("tf32_16", [16, 16, 8], (true, false), single, single);
    wmma("doubles_8", [8, 8, 4], (true, false), f64::from, f64::from);
    wmma("bytes_16", [16, 16, 16], (true, false), |x| x as u8, |x| x);
    wmma("bytes_32", [32, 8, 16], (false, true), |x| x as u8, |x| x);
    wmma("bytes_8", [8, 32, 16], (true, true), |x| x as u8, |x| x);
}

#[test]
fn products_of_nibbles_and_bits() {
    each(|machine| {
        let (a, b, c) = (small(8 * 32, -8, 8), small(8 * 32 + 1, -8, 8), small(64, -99, 99));
        let b = &b[1..];
        let packed = |list: &[i32]| -> Vec<u32> {
            list.chunks(8).map(|part| part.iter().rev().fold(0, |word, x| word << 4 | (*x as u32 & 15))).collect()
        };
        let (pa, pb, pc) = (machine.upload(&packed(&a)), machine.upload(&packed(b)), machine.upload(&c));
        let d = machine.upload(&[0_i32; 64]);
        machine.run("nibbles", Grid::new(1, 32), &[0_u64.into(), pa.into(), pb.into(), pc.into(), d.into()]);
        assert_eq!(machine.download::<i32>(d, 64), product(&a, b, &c, [8, 8, 32], (true, false)));

        let (a, b) = (small(8 * 128, 0, 2), small(8 * 128 + 5, 0, 2));
        let b = &b[5..];
        let packed = |list: &[i32]| -> Vec<u32> {
            list.chunks(32).map(|part| part.iter().rev().fold(0, |word, x| word << 1 | *x as u32)).collect()
        };
        let (pa, pb) = (machine.upload(&packed(&a)), machine.upload(&packed(b)));
        machine.run("bits", Grid::new(1, 32), &[pa.into(), pb.into(), pc.into(), d.into()]);
        assert_eq!(machine.download::<i32>(d, 64), product(&a, b, &c, [8, 8, 128], (true, false)));
    });
}

#[test]
fn a_product_by_tiles() {
    each(|machine| {
        const N: usize = 64;
        let (a, b) = (small(N * N, -4, 5), small(N * N + 7, -4, 5));
        let b = &b[7..];
        let halves = |list: &[i32]| machine.upload(&list.iter().map(|x| half_bits(*x)).collect::<Vec<_>>());
        let d = machine.upload(&[0_f32; N * N]);
        let grid = shaped([N as u32 / 16, N as u32 / 16, 1], [32, 1, 1]);
        machine.run("tiled", grid, &[halves(&a).into(), halves(b).into(), d.into(), (N as i32).into()]);
        let expected = product(&a, b, &vec![0; N * N], [N, N, N], (true, true));
        assert_eq!(machine.download::<f32>(d, N * N), expected.iter().map(|x| *x as f32).collect::<Vec<_>>());
    });
}

#[test]
fn matrices_are_transposed_on_the_way_and_in_registers() {
    each(|machine| {
        let numbers: Vec<u16> = (0..256).map(|x| x * 3 + 1).collect();
        let (x, loaded, moved) =
            (machine.upload(&numbers), machine.upload(&[0_u16; 256]), machine.upload(&[0_u16; 256]));
        machine.run("transposes", Grid::new(1, 32), &[x.into(), loaded.into(), moved.into()]);
        let transposed: Vec<u16> = (0..256).map(|i| numbers[i / 64 * 64 + i % 8 * 8 + i / 8 % 8]).collect();
        assert_eq!(machine.download::<u16>(loaded, 256), transposed);
        assert_eq!(machine.download::<u16>(moved, 256), numbers);
    });
}

#[test]
fn copies_are_there_when_they_are_waited_for() {
    each(|machine| {
        let x: Vec<f32> = small(256 * 6, -90, 90).iter().map(|x| *x as f32).collect();
        let (px, sums) = (machine.upload(&x), machine.upload(&[0_f32; 128]));
        machine.run("staged", Grid::new(1, 128), &[px.into(), sums.into(), 6_i32.into()]);
        let expected: Vec<f32> =
            (0..128).map(|thread| (0..6).map(|tile| x[tile * 256 + thread * 7 % 256]).sum()).collect();
        assert_eq!(machine.download::<f32>(sums, 128), expected);

        const COUNT: usize = 128 * 5 + 37;
        machine.run("grouped", Grid::new(1, 128), &[px.into(), sums.into(), (COUNT as i32).into()]);
        let at = |index: usize| if index < COUNT { x[index] } else { 0.0 };
        let expected: Vec<f32> =
            (0..128).map(|thread| (0..6).map(|tile| at(tile * 128 + 127 - thread)).sum()).collect();
        assert_eq!(machine.download::<f32>(sums, 128), expected);
    });
}

#[test]
fn barriers_in_shared_memory_have_phases() {
    each(|machine| {
        let x = small(64 * 9, -1000, 1000);
        let (px, y) = (machine.upload(&x), machine.upload(&vec![0_i32; x.len()]));
        machine.run("producers", Grid::new(1, 128), &[px.into(), y.into(), 9_i32.into()]);
        let expected: Vec<i32> = x.chunks(64).flat_map(|part| part.iter().rev().map(|x| x * 3 + 1)).collect();
        assert_eq!(machine.download::<i32>(y, x.len()), expected);

        let counts = machine.upload(&[0_i32; 5]);
        machine.run("leavers", Grid::new(1, 100), &[counts.into(), 5_i32.into()]);
        assert_eq!(machine.download::<i32>(counts, 5), [80, 140, 180, 200, 0]);
    });
}

#[test]
fn bulk_copies_signal_a_barrier() {
    on_threads(SUITES[1], |machine| {
        let x = small(512, -1000, 1000);
        let (px, y) = (machine.upload(&x), machine.upload(&[7_i32; 512]));
        machine.run("bulk", Grid::new(1, 64), &[px.into(), y.into(), 500_i32.into()]);
        let expected: Vec<i32> = (0..512).map(|i| if i < 500 { x[i] * x[i] + i as i32 } else { 7 }).collect();
        assert_eq!(machine.download::<i32>(y, 512), expected);
    });
}

#[test]
fn lanes_that_are_missing_end_the_launch() {
    on_threads(SUITES[0], |machine| {
        let x = machine.upload(&[0_u16; 256]);
        let error = machine.try_run("transposes", Grid::new(1, 31), &[x.into(), x.into(), x.into()]).unwrap_err();
        assert_eq!(error.kind.name(), "convergence", "{error}");
        assert!(error.statement.is_some_and(|text| text.starts_with("ldmatrix")));
    });
}
