//! Kernels of tinygrad's PTX renderer against the host; `tests/kernels/tinygrad_kernels.py` says what each computes.

use half::f16;
use ptx_isa::run::{Argument, Grid, Number};

#[path = "kernels/machine.rs"]
mod machine;

use machine::{Machine, floats, on_threads, random, shaped};

/// The launch that the first line of a kernel says.
fn launch(text: &str) -> Grid {
    let numbers: Vec<u32> = text.lines().next().unwrap().split(' ').filter_map(|word| word.parse().ok()).collect();
    let [gx, gy, gz, bx, by, bz] = numbers[..] else { panic!("the first line must be a launch configuration") };
    shaped([gx, gy, gz], [bx, by, bz])
}

/// Runs the one kernel of a text with an output and inputs.
fn run<O: Number>(text: &str, count: usize, inputs: impl Fn(&Machine) -> Vec<u64>, check: impl Fn(Vec<O>)) {
    on_threads(text, |machine| {
        let out = machine.memory.allocate(count * size_of::<O>());
        let arguments: Vec<Argument> = std::iter::once(out).chain(inputs(machine)).map(Argument::from).collect();
        let kernel = machine.module.only_kernel().unwrap();
        machine.run(kernel.name(), launch(text), &arguments);
        check(machine.download(out, count));
    });
}

fn whole(count: usize, below: u32) -> Vec<i32> {
    random(count).iter().map(|bits| (bits % below) as i32).collect()
}

/// Whole numbers whose sums and products are exact.
fn small(count: usize) -> Vec<f32> {
    whole(count, 9).iter().map(|x| (x - 4) as f32).collect()
}

#[test]
fn elementwise() {
    let (x, mut y) = (floats(1000), floats(1007));
    y.drain(..7);
    let inputs = |machine: &Machine| vec![machine.upload(&x), machine.upload(&y)];
    run(include_str!("kernels/tinygrad-relu_add.ptx"), 1000, inputs, |found: Vec<f32>| {
        assert_eq!(found, x.iter().zip(&y).map(|(x, y)| x.max(0.0) + y).collect::<Vec<_>>());
    });
    let positive: Vec<f32> = y.iter().map(|y| y.abs()).collect();
    let scaled: Vec<f32> = x.iter().map(|x| x / 16.0).collect();
    let inputs = |machine: &Machine| vec![machine.upload(&scaled[..200]), machine.upload(&positive[..200])];
    run(include_str!("kernels/tinygrad-exponential.ptx"), 200, inputs, |found: Vec<f32>| {
        for ((found, x), y) in found.iter().zip(&scaled).zip(&positive) {
            let expected = x.exp() + y.sqrt();
            assert!((found - expected).abs() <= 1e-5 * expected, "{found} instead of {expected}");
        }
    });
    let n = whole(100, 1000);
    let inputs = |machine: &Machine| vec![machine.upload(&x[..100]), machine.upload(&n)];
    run(include_str!("kernels/tinygrad-where.ptx"), 100, inputs, |found: Vec<i32>| {
        assert_eq!(found, x.iter().zip(&n).map(|(x, n)| if *x < 0.5 { *n } else { -1 }).collect::<Vec<_>>());
    });
}

#[test]
fn integers_of_every_width() {
    let (a, b) = (whole(500, 100_000), whole(500, 99_991));
    let inputs = |machine: &Machine| vec![machine.upload(&a), machine.upload(&b)];
    run(include_str!("kernels/tinygrad-integers.ptx"), 500, inputs, |found: Vec<i32>| {
        assert_eq!(found, a.iter().zip(&b).map(|(a, b)| (a / 3 + b % 5) ^ 77).collect::<Vec<_>>());
    });
    let bytes: Vec<i8> = random(300).iter().map(|bits| *bits as i8).collect();
    let inputs = |machine: &Machine| vec![machine.upload(&bytes)];
    run(include_str!("kernels/tinygrad-bytes.ptx"), 300, inputs, |found: Vec<u8>| {
        assert_eq!(found, bytes.iter().map(|x| (i32::from(*x) * 3) as u8).collect::<Vec<_>>());
    });
    let inputs = |machine: &Machine| vec![machine.upload(&a[..64])];
    run(include_str!("kernels/tinygrad-longs.ptx"), 64, inputs, |found: Vec<i64>| {
        assert_eq!(found, a[..64].iter().map(|a| i64::from(*a) * 5_000_000_000).collect::<Vec<_>>());
    });
}

#[test]
fn reductions() {
    let x = small(17 * 300);
    run(
        include_str!("kernels/tinygrad-sum_rows.ptx"),
        17,
        |machine| vec![machine.upload(&x)],
        |found: Vec<f32>| {
            assert_eq!(found, x.chunks(300).map(|row| row.iter().sum()).collect::<Vec<f32>>());
        },
    );
    let x = floats(4096);
    run(
        include_str!("kernels/tinygrad-max_all.ptx"),
        1,
        |machine| vec![machine.upload(&x)],
        |found: Vec<f32>| {
            assert_eq!(found[0], x.iter().copied().fold(f32::MIN, f32::max));
        },
    );
    let x = floats(3 * 16 * 16);
    run(
        include_str!("kernels/tinygrad-pool.ptx"),
        3 * 64,
        |machine| vec![machine.upload(&x)],
        |found: Vec<f32>| {
            for (place, found) in found.iter().enumerate() {
                let (plane, row, column) = (place / 64, place / 8 % 8, place % 8);
                let at = |i: usize, j: usize| x[256 * plane + 16 * (2 * row + i) + 2 * column + j];
                assert_eq!(*found, at(0, 0).max(at(0, 1)).max(at(1, 0)).max(at(1, 1)));
            }
        },
    );
}

#[test]
fn products() {
    let product = |a: &[f32], b: &[f32], [m, n, k]: [usize; 3]| -> Vec<f32> {
        (0..m * n).map(|at| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum()).collect()
    };
    let (a, b) = (small(32 * 48), small(48 * 24));
    let inputs = |machine: &Machine| vec![machine.upload(&a), machine.upload(&b)];
    run(include_str!("kernels/tinygrad-product.ptx"), 32 * 24, inputs, |found: Vec<f32>| {
        assert_eq!(found, product(&a, &b, [32, 24, 48]));
    });
    let (a, b) = (small(32 * 32), small(32 * 64));
    let halves = |list: &[f32]| list.iter().map(|x| f16::from_f32(*x).to_bits()).collect::<Vec<_>>();
    let inputs = |machine: &Machine| vec![machine.upload(&halves(&a)), machine.upload(&halves(&b))];
    run(include_str!("kernels/tinygrad-product_half.ptx"), 32 * 64, inputs, |found: Vec<u16>| {
        assert_eq!(found, halves(&product(&a, &b, [32, 64, 32])));
    });
}

#[test]
fn convolution() {
    let (x, w) = (small(2 * 3 * 144), small(4 * 3 * 9));
    let inputs = |machine: &Machine| vec![machine.upload(&x), machine.upload(&w)];
    run(include_str!("kernels/tinygrad-convolution.ptx"), 2 * 4 * 144, inputs, |found: Vec<f32>| {
        for (place, found) in found.iter().enumerate() {
            let (image, filter, row, column) = (place / 576, place / 144 % 4, place / 12 % 12, place % 12);
            let mut sum = 0.0;
            for (channel, i, j) in (0..27).map(|tap| (tap / 9, tap / 3 % 3, tap % 3)) {
                let (y, z) = ((row + i).wrapping_sub(1), (column + j).wrapping_sub(1));
                if y < 12 && z < 12 {
                    sum += x[432 * image + 144 * channel + 12 * y + z] * w[27 * filter + 9 * channel + 3 * i + j];
                }
            }
            assert_eq!(*found, sum, "{place}");
        }
    });
}
