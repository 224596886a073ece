//! Kernels of `kernels/triton_descriptors.py`, which Triton compiled: tensor descriptors that kernels make on the device or get from the
//! host, boxes of a tensor that are loaded, stored, added and gathered, held against the host.

use crate::machine::{Machine, on_threads, random};
use half::f16;
use ptx_isa::run::{Argument, Grid, Options, Swizzle, TensorElement, TensorMap};

/// Dynamic shared memory and scratch for each block in bytes: more than any of the kernels needs.
const SHARED: u32 = 32768;
const SCRATCH: usize = 512;

fn run(machine: &Machine, kernel: &str, blocks: [u32; 2], arguments: &[Argument]) {
    let scratch = machine.memory.allocate(SCRATCH * (blocks[0] * blocks[1]) as usize);
    let arguments = [arguments, &[scratch.into(), 0_u64.into()]].concat();
    for delay in [None, Some(3)] {
        let options = Options { delay, ..machine.options.clone() };
        let grid = Grid { blocks: [blocks[0], blocks[1], 1], shared: SHARED, ..Grid::new(1, 128) };
        let ran = machine.module.kernel(kernel).unwrap().launch_with(grid, &arguments, &options);
        ran.unwrap_or_else(|error| panic!("{error}"));
    }
}

fn halves(list: &[f32]) -> Vec<u16> {
    list.iter().map(|x| f16::from_f32(*x).to_bits()).collect()
}

/// Small whole numbers.
fn small(count: usize) -> Vec<f32> {
    random(count).iter().map(|bits| (bits >> 5) as f32 % 17.0 - 8.0).collect()
}

#[test]
fn elements_are_scaled_in_boxes() {
    const ROWS: usize = 70;
    const COLUMNS: usize = 120;
    let x = small(ROWS * COLUMNS);
    let sizes: [Argument; 3] = [(ROWS as i32).into(), (COLUMNS as i32).into(), 3.0_f32.into()];
    for text in [
        include_str!("../kernels/triton-tma-scaled-fp16-90.ptx"),
        include_str!("../kernels/triton-tma-scaled-fp16-100.ptx"),
        include_str!("../kernels/triton-tma-scaled-fp16-120.ptx"),
    ] {
        on_threads(text, |machine| {
            let (px, y) = (machine.upload(&halves(&x)), machine.upload(&[0_u16; ROWS * COLUMNS]));
            run(machine, "scaled", [3, 2], &[&[px.into(), y.into()], &sizes[..]].concat());
            let expected: Vec<f32> = x.iter().map(|x| x * 3.0).collect();
            assert_eq!(machine.download::<u16>(y, ROWS * COLUMNS), halves(&expected));
        });
    }
    for text in [
        include_str!("../kernels/triton-tma-scaled-fp32-90.ptx"),
        include_str!("../kernels/triton-tma-scaled-fp32-100.ptx"),
        include_str!("../kernels/triton-tma-scaled-fp32-120.ptx"),
    ] {
        on_threads(text, |machine| {
            let (px, y) = (machine.upload(&x), machine.upload(&[0_f32; ROWS * COLUMNS]));
            run(machine, "scaled", [5, 8], &[&[px.into(), y.into()], &sizes[..]].concat());
            let expected: Vec<f32> = x.iter().map(|x| x * 3.0).collect();
            assert_eq!(machine.download::<f32>(y, ROWS * COLUMNS), expected);
        });
    }
}

#[test]
fn descriptors_are_parameters() {
    const ROWS: usize = 70;
    const COLUMNS: usize = 120;
    let x = small(ROWS * COLUMNS);
    for text in [
        include_str!("../kernels/triton-tma-host-fp16-90.ptx"),
        include_str!("../kernels/triton-tma-host-fp16-100.ptx"),
        include_str!("../kernels/triton-tma-host-fp16-120.ptx"),
    ] {
        on_threads(text, |machine| {
            let (px, y) = (machine.upload(&halves(&x)), machine.upload(&[0_u16; ROWS * COLUMNS]));
            // A descriptor, and the shape and strides of the tensor.
            let described = |pointer: u64| -> [Argument; 5] {
                let (shape, strides) = ([COLUMNS as u64, ROWS as u64], [2 * COLUMNS as u64]);
                let map = TensorMap::tiled(TensorElement::F16, pointer, &shape, &strides, &[64, 32]);
                let map = map.swizzle(Swizzle::Bytes128).encode().unwrap();
                let [rows, columns] = [ROWS as i32, COLUMNS as i32];
                [Argument::bytes(map), rows.into(), columns.into(), (COLUMNS as i64).into(), 1_i64.into()]
            };
            run(machine, "scaled_by_host", [3, 2], &[&described(px)[..], &described(y), &[3.0_f32.into()]].concat());
            let expected: Vec<f32> = x.iter().map(|x| x * 3.0).collect();
            assert_eq!(machine.download::<u16>(y, ROWS * COLUMNS), halves(&expected));
        });
    }
}

#[test]
fn rows_are_summed_over_boxes() {
    const ROWS: usize = 50;
    const COLUMNS: usize = 104;
    for text in [
        include_str!("../kernels/triton-tma-sums-90.ptx"),
        include_str!("../kernels/triton-tma-sums-100.ptx"),
        include_str!("../kernels/triton-tma-sums-120.ptx"),
    ] {
        on_threads(text, |machine| {
            let x = small(ROWS * COLUMNS);
            let (px, y) = (machine.upload(&halves(&x)), machine.upload(&[0_f32; ROWS]));
            run(machine, "row_sums", [2, 1], &[px.into(), y.into(), (ROWS as i32).into(), (COLUMNS as i32).into()]);
            let expected: Vec<f32> = x.chunks(COLUMNS).map(|row| row.iter().sum()).collect();
            assert_eq!(machine.download::<f32>(y, ROWS), expected);
        });
    }
}

#[test]
fn boxes_are_added_to_one() {
    const ROWS: usize = 60;
    const COLUMNS: usize = 72;
    for text in [
        include_str!("../kernels/triton-tma-added-90.ptx"),
        include_str!("../kernels/triton-tma-added-100.ptx"),
        include_str!("../kernels/triton-tma-added-120.ptx"),
    ] {
        on_threads(text, |machine| {
            let x = small(ROWS * COLUMNS);
            let (px, y) = (machine.upload(&x), machine.upload(&[0_f32; 16 * COLUMNS]));
            run(machine, "added", [4, 3], &[px.into(), y.into(), (ROWS as i32).into(), (COLUMNS as i32).into()]);
            // The kernel runs twice.
            let sum = |at: usize| 2.0 * (at..ROWS * COLUMNS).step_by(16 * COLUMNS).map(|at| x[at]).sum::<f32>();
            assert_eq!(machine.download::<f32>(y, 16 * COLUMNS), (0..16 * COLUMNS).map(sum).collect::<Vec<_>>());
        });
    }
}

#[test]
fn rows_are_gathered() {
    const COLUMNS: usize = 128;
    on_threads(include_str!("../kernels/triton-tma-gathered-100.ptx"), |machine| {
        let x = small(100 * COLUMNS);
        let index: Vec<i32> = random(32).iter().map(|bits| (bits % 100) as i32).collect();
        let (px, pi, y) = (machine.upload(&halves(&x)), machine.upload(&index), machine.upload(&[0_u16; 32 * COLUMNS]));
        run(machine, "gathered", [2, 1], &[px.into(), pi.into(), y.into(), 100_i32.into(), (COLUMNS as i32).into()]);
        let expected: Vec<f32> =
            index.iter().flat_map(|row| x[*row as usize * COLUMNS..][..COLUMNS].to_vec()).collect();
        assert_eq!(machine.download::<u16>(y, 32 * COLUMNS), halves(&expected));
    });
}

#[test]
fn products_of_boxes() {
    const M: usize = 100;
    const N: usize = 96;
    const K: usize = 80;
    on_threads(include_str!("../kernels/triton-tma-product-120.ptx"), |machine| {
        let (a, b) = (small(M * K), small(K * N + 1));
        let b = &b[1..];
        let (pa, pb, c) = (machine.upload(&halves(&a)), machine.upload(&halves(b)), machine.upload(&[0_f32; M * N]));
        let sizes = [M, N, K].map(|size| Argument::from(size as i32));
        run(machine, "product", [2, 2], &[&[pa.into(), pb.into(), c.into()], &sizes[..]].concat());
        let at = |place: usize| (0..K).map(|l| a[place / N * K + l] * b[l * N + place % N]).sum::<f32>();
        assert_eq!(machine.download::<f32>(c, M * N), (0..M * N).map(at).collect::<Vec<_>>());
    });
}
