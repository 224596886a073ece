//! Kernels of tinygrad's PTX renderer against the host; `tests/kernels/tinygrad_kernels.py` says what each computes.

use half::f16;
use ptx_isa::run::{Argument, Grid, Number};

use crate::machine::{Machine, floats, on_threads, random, shaped};

/// The launch that the first line of a kernel says.
fn launch(text: &str) -> Grid {
    let numbers: Vec<u32> = text.lines().next().unwrap().split(' ').filter_map(|word| word.parse().ok()).collect();
    let [gx, gy, gz, bx, by, bz] = numbers[..] else { panic!("the first line must be a launch configuration") };
    shaped([gx, gy, gz], [bx, by, bz])
}

/// Runs the one kernel of a text with an output and inputs.
fn run<O: Number>(text: &str, count: usize, inputs: impl Fn(&Machine) -> Vec<u64>, check: impl Fn(Vec<O>)) {
    on_threads(text, |machine| {
        let out = machine.upload(&vec![0_u8; count * size_of::<O>()]);
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
    run(include_str!("../kernels/tinygrad-relu_add.ptx"), 1000, inputs, |found: Vec<f32>| {
        assert_eq!(found, x.iter().zip(&y).map(|(x, y)| x.max(0.0) + y).collect::<Vec<_>>());
    });
    let positive: Vec<f32> = y.iter().map(|y| y.abs()).collect();
    let scaled: Vec<f32> = x.iter().map(|x| x / 16.0).collect();
    let inputs = |machine: &Machine| vec![machine.upload(&scaled[..200]), machine.upload(&positive[..200])];
    run(include_str!("../kernels/tinygrad-exponential.ptx"), 200, inputs, |found: Vec<f32>| {
        for ((found, x), y) in found.iter().zip(&scaled).zip(&positive) {
            let expected = x.exp() + y.sqrt();
            assert!((found - expected).abs() <= 1e-5 * expected, "{found} instead of {expected}");
        }
    });
    let n = whole(100, 1000);
    let inputs = |machine: &Machine| vec![machine.upload(&x[..100]), machine.upload(&n)];
    run(include_str!("../kernels/tinygrad-where.ptx"), 100, inputs, |found: Vec<i32>| {
        assert_eq!(found, x.iter().zip(&n).map(|(x, n)| if *x < 0.5 { *n } else { -1 }).collect::<Vec<_>>());
    });
}

#[test]
fn integers_of_every_width() {
    let (a, b) = (whole(500, 100_000), whole(500, 99_991));
    let inputs = |machine: &Machine| vec![machine.upload(&a), machine.upload(&b)];
    run(include_str!("../kernels/tinygrad-integers.ptx"), 500, inputs, |found: Vec<i32>| {
        assert_eq!(found, a.iter().zip(&b).map(|(a, b)| (a / 3 + b % 5) ^ 77).collect::<Vec<_>>());
    });
    let bytes: Vec<i8> = random(300).iter().map(|bits| *bits as i8).collect();
    let inputs = |machine: &Machine| vec![machine.upload(&bytes)];
    run(include_str!("../kernels/tinygrad-bytes.ptx"), 300, inputs, |found: Vec<u8>| {
        assert_eq!(found, bytes.iter().map(|x| (i32::from(*x) * 3) as u8).collect::<Vec<_>>());
    });
    let inputs = |machine: &Machine| vec![machine.upload(&a[..64])];
    run(include_str!("../kernels/tinygrad-longs.ptx"), 64, inputs, |found: Vec<i64>| {
        assert_eq!(found, a[..64].iter().map(|a| i64::from(*a) * 5_000_000_000).collect::<Vec<_>>());
    });
}

#[test]
fn reductions() {
    let x = small(17 * 300);
    run(
        include_str!("../kernels/tinygrad-sum_rows.ptx"),
        17,
        |machine| vec![machine.upload(&x)],
        |found: Vec<f32>| {
            assert_eq!(found, x.chunks(300).map(|row| row.iter().sum()).collect::<Vec<f32>>());
        },
    );
    let x = floats(4096);
    run(
        include_str!("../kernels/tinygrad-max_all.ptx"),
        1,
        |machine| vec![machine.upload(&x)],
        |found: Vec<f32>| {
            assert_eq!(found[0], x.iter().copied().fold(f32::MIN, f32::max));
        },
    );
    let x = floats(3 * 16 * 16);
    run(
        include_str!("../kernels/tinygrad-pool.ptx"),
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
    run(include_str!("../kernels/tinygrad-product.ptx"), 32 * 24, inputs, |found: Vec<f32>| {
        assert_eq!(found, product(&a, &b, [32, 24, 48]));
    });
    let (a, b) = (small(32 * 32), small(32 * 64));
    let halves = |list: &[f32]| list.iter().map(|x| f16::from_f32(*x).to_bits()).collect::<Vec<_>>();
    let inputs = |machine: &Machine| vec![machine.upload(&halves(&a)), machine.upload(&halves(&b))];
    run(include_str!("../kernels/tinygrad-product_half.ptx"), 32 * 64, inputs, |found: Vec<u16>| {
        assert_eq!(found, halves(&product(&a, &b, [32, 64, 32])));
    });
}

#[test]
fn convolution() {
    let (x, w) = (small(2 * 3 * 144), small(4 * 3 * 9));
    let inputs = |machine: &Machine| vec![machine.upload(&x), machine.upload(&w)];
    run(include_str!("../kernels/tinygrad-convolution.ptx"), 2 * 4 * 144, inputs, |found: Vec<f32>| {
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

#[test]
fn reductions_in_groups() {
    let halves = |list: &[f32]| list.iter().map(|x| f16::from_f32(*x).to_bits()).collect::<Vec<_>>();
    // Sums of small whole numbers are exact in halves, in any order.
    let x = small(8 * 4096);
    let inputs = |machine: &Machine| vec![machine.upload(&halves(&x))];
    run(include_str!("../kernels/tinygrad-half_sums.ptx"), 8, inputs, |found: Vec<u16>| {
        assert_eq!(found, halves(&x.chunks(4096).map(|row| row.iter().sum()).collect::<Vec<f32>>()));
    });
    let x: Vec<f64> = floats(10_000).iter().map(|x| f64::from(*x)).collect();
    let inputs = |machine: &Machine| vec![machine.upload(&x)];
    run(include_str!("../kernels/tinygrad-double_sums.ptx"), 5, inputs, |found: Vec<f64>| {
        assert_eq!(found, x.chunks(2000).map(|row| row.iter().sum()).collect::<Vec<f64>>());
    });
    let (x, mean) = (small(6 * 256), small(6));
    let inputs = |machine: &Machine| vec![machine.upload(&x), machine.upload(&mean)];
    run(include_str!("../kernels/tinygrad-variance.ptx"), 6, inputs, |found: Vec<f32>| {
        let of = |(row, mean): (&[f32], &f32)| row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 256.0;
        assert_eq!(found, x.chunks(256).zip(&mean).map(of).collect::<Vec<_>>());
    });
    let x = whole(20 * 100, 200);
    let inputs = |machine: &Machine| vec![machine.upload(&x)];
    run(include_str!("../kernels/tinygrad-any.ptx"), 20, inputs, |found: Vec<u8>| {
        let expected: Vec<u8> = x.chunks(100).map(|row| row.contains(&7).into()).collect();
        assert!(expected.contains(&0) && expected.contains(&1));
        assert_eq!(found, expected);
    });
    let x: Vec<u8> = random(256).iter().map(|bits| (*bits % 250) as u8).collect();
    let inputs = |machine: &Machine| vec![machine.upload(&x)];
    run(include_str!("../kernels/tinygrad-largest_bytes.ptx"), 4, inputs, |found: Vec<u8>| {
        assert_eq!(found, x.chunks(64).map(|row| *row.iter().max().unwrap()).collect::<Vec<_>>());
    });
    let x: Vec<i64> = random(300).iter().map(|bits| (i64::from(*bits) - (1 << 30)) | 1).collect();
    let inputs = |machine: &Machine| vec![machine.upload(&x)];
    run(include_str!("../kernels/tinygrad-long_products.ptx"), 3, inputs, |found: Vec<i64>| {
        let product = |row: &[i64]| row.iter().fold(1_i64, |a, b| a.wrapping_mul(*b));
        assert_eq!(found, x.chunks(100).map(product).collect::<Vec<_>>());
    });
    let x = whole(300, 1000);
    let inputs = |machine: &Machine| vec![machine.upload(&x)];
    run(include_str!("../kernels/tinygrad-running_sums.ptx"), 300, inputs, |found: Vec<i32>| {
        let sum = |row: &[i32], end: usize| row[..=end].iter().sum::<i32>();
        let expected = x.chunks(50).flat_map(|row| (0..50).map(move |end| sum(row, end)));
        assert_eq!(found, expected.collect::<Vec<_>>());
    });
}

#[test]
fn narrow_types_shifts_and_views() {
    let shorts = |from: usize| random(from + 200)[from..].iter().map(|bits| *bits as u16).collect::<Vec<_>>();
    let (a, b, c) = (shorts(0), shorts(200), shorts(400));
    let inputs = |machine: &Machine| [&a, &b, &c].map(|list| machine.upload(list)).to_vec();
    run(include_str!("../kernels/tinygrad-shorts.ptx"), 200, inputs, |found: Vec<u16>| {
        let of = |at: usize| a[at].wrapping_mul(b[at]).wrapping_add(c[at]);
        assert_eq!(found, (0..200).map(of).collect::<Vec<_>>());
    });
    let (a, b) = (random(200), random(400)[200..].to_vec());
    let inputs = |machine: &Machine| vec![machine.upload(&a), machine.upload(&b)];
    run(include_str!("../kernels/tinygrad-shifts.ptx"), 200, inputs, |found: Vec<u32>| {
        assert_eq!(found, a.iter().zip(&b).map(|(a, b)| a << 3 ^ b >> 5).collect::<Vec<_>>());
    });
    let x = floats(63);
    let inputs = |machine: &Machine| vec![machine.upload(&x)];
    run(include_str!("../kernels/tinygrad-padded.ptx"), 120, inputs, |found: Vec<f32>| {
        let of = |at: usize| match (9 - at / 12, at % 12) {
            (row @ 2..9, column @ 0..9) => 2.0 * x[9 * (row - 2) + column],
            _ => 0.0,
        };
        assert_eq!(found, (0..120).map(of).collect::<Vec<_>>());
    });
}

#[test]
fn functions_and_products_in_other_precision() {
    let (x, y) = (floats(200), floats(400)[200..].to_vec());
    let close = |found: Vec<f32>, of: &dyn Fn(f32, f32) -> f32| {
        for ((found, x), y) in found.iter().zip(&x).zip(&y) {
            let expected = of(*x, *y);
            assert!(
                (found - expected).abs() <= 2e-5 * (1.0 + expected.abs()),
                "{x} {y}: {found} instead of {expected}"
            );
        }
    };
    let inputs = |machine: &Machine| vec![machine.upload(&x), machine.upload(&y)];
    run(include_str!("../kernels/tinygrad-activations.ptx"), 200, inputs, |found: Vec<f32>| {
        close(found, &|x, y| x.tanh() + 1.0 / (1.0 + (-y).exp()));
    });
    let positive: Vec<f32> = y.iter().map(|y| y.abs() + 0.5).collect();
    let inputs = |machine: &Machine| vec![machine.upload(&x), machine.upload(&positive)];
    run(include_str!("../kernels/tinygrad-waves.ptx"), 200, inputs, |found: Vec<f32>| {
        close(found, &|x, y| x.sin() + (y.abs() + 0.5).log2());
    });
    let (a, b) = (small(64 * 64), small(64 * 32));
    let halves = |list: &[f32]| list.iter().map(|x| f16::from_f32(*x).to_bits()).collect::<Vec<_>>();
    let inputs = |machine: &Machine| vec![machine.upload(&halves(&a)), machine.upload(&halves(&b))];
    run(include_str!("../kernels/tinygrad-product_mixed.ptx"), 64 * 32, inputs, |found: Vec<f32>| {
        let of = |at: usize| (0..64).map(|l| a[at / 32 * 64 + l] * b[32 * l + at % 32]).sum();
        assert_eq!(found, (0..64 * 32).map(of).collect::<Vec<f32>>());
    });
}
