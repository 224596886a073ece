//! Kernels of `kernels/numba_kernels.py`, which Numba compiled, held against the host: Python's arithmetic, records, tuples, exceptions.

use std::sync::{Arc, Mutex};

use ptx_isa::run::{Argument, Grid, Number, Options, Report};

use crate::machine::{Machine, floats, on_one_thread, on_threads, random, shaped};

/// The parameters of an array: two pointers of Numba's own, the numbers of its elements and of bytes, the address, the shape, the strides.
fn array(address: u64, bytes: u64, shape: &[u64]) -> Vec<Argument> {
    let strides = (1..=shape.len()).map(|axis| bytes * shape[axis..].iter().product::<u64>());
    let head = [0, 0, shape.iter().product(), bytes, address];
    head.into_iter().chain(shape.iter().copied()).chain(strides).map(Argument::from).collect()
}

/// Uploads an array of one dimension, and returns its address and parameters.
fn upload<T: Number>(machine: &Machine, numbers: &[T]) -> (u64, Vec<Argument>) {
    let address = machine.upload(numbers);
    (address, array(address, size_of::<T>() as u64, &[numbers.len() as u64]))
}

/// Runs the one kernel of a module.
fn run(machine: &Machine, grid: Grid, arguments: &[&[Argument]]) -> Report {
    let kernel = machine.module.only_kernel().unwrap();
    kernel.launch_with(grid, &arguments.concat(), &machine.options).unwrap_or_else(|error| panic!("{error}"))
}

/// Quotient and remainder as Python has them.
fn divided(a: i64, b: i64) -> (i64, i64) {
    let down = i64::from(a % b != 0 && (a < 0) != (b < 0));
    (a / b - down, a % b + b * down)
}

#[test]
fn reductions() {
    on_threads(include_str!("../kernels/numba-reduced.ptx"), |machine| {
        let x: Vec<f64> = floats(3000).iter().map(|x| f64::from(*x)).collect();
        let ((_, x_given), (out, out_given)) = (upload(machine, &x), upload(machine, &[1.0_f64]));
        run(machine, Grid::new(3, 128), &[&x_given, &out_given]);
        assert_eq!(machine.download::<f64>(out, 1), [1.0 + x.iter().sum::<f64>()]);
    });
}

#[test]
fn atomics() {
    on_threads(include_str!("../kernels/numba-atomics.ptx"), |machine| {
        let (i, ints) = upload(machine, &[5_i32, 5, 5, 5]);
        let (u, words) = upload(machine, &[u32::MAX, 0, 0, 0, 0, 500, 0]);
        let (l, longs) = upload(machine, &[0_i64, 0]);
        let (f, floats) = upload(machine, &[0.0_f32; 4]);
        let (d, doubles) = upload(machine, &[0.0_f64; 2]);
        run(machine, Grid::new(2, 48), &[&ints, &words, &longs, &floats, &doubles]);
        let sum: i32 = (0..96).sum();
        assert_eq!(machine.download::<i32>(i, 4), [5 + sum, 5 - sum, 3 * 95, -95]);
        let found = machine.download::<u32>(u, 7);
        let xor = (0..96_u32).fold(0, |a, b| a ^ b);
        assert_eq!(found[..5], [1 << 31, u32::MAX >> 1, xor, 96 % 11, 11 - 96 % 11]);
        assert!(found[5] < 96 && (1..=96).contains(&found[6]), "{found:?}");
        assert_eq!(machine.download::<i64>(l, 2), [i64::from(sum) << 33, 95 * 5_000_000_000]);
        assert_eq!(machine.download::<f32>(f, 4), [48.0, 95.0 / 4.0, -95.0 / 4.0, 94.0]);
        assert_eq!(machine.download::<f64>(d, 2), [12.0, -40.0]);
    });
}

#[test]
fn functions_recur_and_return_tuples() {
    fn ackermann(n: i32) -> i32 {
        if n < 2 { 1 } else { ackermann(n - 1) + 2 * ackermann(n - 2) }
    }
    on_threads(include_str!("../kernels/numba-called.ptx"), |machine| {
        let x: Vec<f64> = floats(64).iter().map(|x| f64::from(*x)).collect();
        let ((_, x_given), (out, out_given)) = (upload(machine, &x), upload(machine, &[0_i32; 64]));
        let parts = machine.upload(&[0.0_f64; 256]);
        run(machine, Grid::new(2, 32), &[&x_given, &out_given, &array(parts, 8, &[64, 4])]);
        assert_eq!(machine.download::<i32>(out, 64), (0..64).map(|own| ackermann(own % 9)).collect::<Vec<_>>());
        for (own, (found, a)) in machine.download::<f64>(parts, 256).chunks(4).zip(&x).enumerate() {
            let (a, b) = (*a, *a + 1.5);
            let [first, second, real, imaginary] = if own % 3 == 0 { [b, a * 2.0, a, b] } else { [a, b, b, a] };
            assert_eq!(found[..3], [first, second, real * real - imaginary * imaginary]);
            let expected = (imaginary - 2.0 * real) / 5.0;
            assert!((found[3] - expected).abs() <= 1e-14 * (1.0 + expected.abs()), "{} {expected}", found[3]);
        }
    });
}

#[test]
fn arrays_in_local_memory() {
    on_threads(include_str!("../kernels/numba-sorted_locally.ptx"), |machine| {
        let mut x: Vec<i16> = random(64 * 8).iter().map(|bits| *bits as i16).collect();
        let given = machine.upload(&x);
        run(machine, Grid::new(2, 32), &[&array(given, 2, &[64, 8])]);
        for row in x.chunks_mut(8) {
            row.iter_mut().zip([3, 1, 4, 1, 5, 9, 2, 6]).for_each(|(x, less)| *x = x.wrapping_sub(less));
            row.sort_unstable_by(|a, b| b.cmp(a));
        }
        assert_eq!(machine.download::<i16>(given, 64 * 8), x);
    });
}

#[test]
fn records() {
    // `a: u8` at 0, `b: f64` at 8, `c: [i16; 3]` at 16, `d: i32` at 24, 32 bytes in all.
    on_threads(include_str!("../kernels/numba-records.ptx"), |machine| {
        let given: Vec<u8> = random(50 * 32).iter().map(|bits| *bits as u8).collect();
        let at = machine.upload(&given);
        run(machine, Grid::new(2, 32), &[&array(at, 32, &[50])]);
        for (own, (found, old)) in machine.download::<u8>(at, 50 * 32).chunks(32).zip(given.chunks(32)).enumerate() {
            let mut expected = old.to_vec();
            expected[0] = old[0].wrapping_add(200);
            let b = f64::from_le_bytes(old[8..16].try_into().unwrap()) * 0.5;
            expected[8..16].copy_from_slice(&b.to_le_bytes());
            let c = 16 + 2 * (own % 3);
            let less = i16::from_le_bytes([old[c], old[c + 1]]).wrapping_sub(5);
            expected[c..c + 2].copy_from_slice(&less.to_le_bytes());
            let first = i16::from_le_bytes([expected[16], expected[17]]);
            let d = i32::from_le_bytes(old[24..28].try_into().unwrap());
            let d = divided(d.into(), own as i64 + 1).0 + divided(first.into(), 7).1;
            expected[24..28].copy_from_slice(&(d as i32).to_le_bytes());
            assert_eq!(found, expected, "{own}");
        }
    });
}

#[test]
fn lanes_of_warps() {
    on_threads(include_str!("../kernels/numba-warps.ptx"), |machine| {
        let out = machine.upload(&[0_i32; 192 * 7]);
        let (counts, given) = upload(machine, &[0_i32; 192]);
        run(machine, Grid::new(2, 96), &[&array(out, 4, &[192, 7]), &given]);
        let found = machine.download::<i32>(out, 192 * 7);
        let counts = machine.download::<i32>(counts, 192);
        for own in 0..192_i32 {
            let (warp, lane) = (own / 32 * 32, own % 32);
            let mask = |holds: &dyn Fn(i32) -> bool| {
                (0..32).filter(|lane| holds(warp + lane)).fold(0_u32, |mask, lane| mask | 1 << lane)
            };
            let (ballot, same) = (mask(&|x| x % 3 == 0), mask(&|x| x % 5 == own % 5));
            let up = own - if lane < 3 { 0 } else { 3 } + if warp == 32 { 1000 } else { 0 };
            let down = own + if lane > 26 { 0 } else { 5 };
            let first = if own == 0 { 0 } else { own.trailing_zeros() + 1 };
            let bits = ballot.count_ones() + 100 * i64::from(own).leading_zeros() + 10_000 * first;
            let expected = [
                ballot as i32,
                same as i32,
                up,
                down,
                bits as i32,
                ((own as u32).reverse_bits() >> 20) as i32,
                if lane > 7 { lane } else { -lane },
            ];
            let at = 7 * own as usize;
            assert_eq!(found[at..at + 7], expected, "{own}");
            let block = own / 96 * 96;
            let count = (block..block + 96).filter(|x| x % 7 < 3).count() as i32;
            let (all, some) = (i32::from((block..block + 96).all(|x| x < 64)), i32::from(block == 0));
            assert_eq!(counts[own as usize], count + 1000 * all + 2000 * some, "{own}");
        }
    });
}

/// The logarithm of the gamma function, by Stirling's series.
fn logarithm_of_gamma(mut x: f64) -> f64 {
    let mut shifted = 0.0;
    while x < 12.0 {
        shifted -= x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square) / x;
    shifted + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[test]
fn functions_of_the_mathematical_library() {
    on_threads(include_str!("../kernels/numba-mathematics.ptx"), |machine| {
        let x: Vec<f64> = floats(50).iter().map(|x| f64::from(*x) / 4.0 + 0.1).collect();
        let (_, x_given) = upload(machine, &x);
        let y = machine.upload(&[0.0_f64; 350]);
        run(machine, Grid::new(2, 32), &[&x_given, &array(y, 8, &[50, 7])]);
        for (found, v) in machine.download::<f64>(y, 350).chunks(7).zip(x) {
            // A series without differences.
            let z = v / 4.0;
            let (mut term, mut erf) = (z, z);
            for n in 1..200 {
                term *= 2.0 * z * z / f64::from(2 * n + 1);
                erf += term;
            }
            let erf = erf * (-z * z).exp() * std::f64::consts::FRAC_2_SQRT_PI;
            let (remainder, quotient) = (v - 3.0 * (v / 3.0).floor(), (v / 2.5).floor());
            let expected = [
                v.sin() * v.cos() + (v / 4.0).tan(),
                (v / 8.0).exp() - v.abs().ln_1p() + (v / 50.0).exp_m1(),
                v.atan2(2.0) + v.asinh() + v.hypot(3.0),
                erf + logarithm_of_gamma(v.abs() / 8.0 + 0.5).exp() - logarithm_of_gamma(v.abs() + 1.0),
                remainder + quotient + v % 1.7 + v.abs().powf(1.3),
                v.floor() + (v * 2.0).ceil() + (v * 3.0).trunc() + (v * 1.5).round_ties_even() + 2.0_f64.copysign(v),
                v * 8.0 + (v.abs().log2().floor() + 1.0) + v.fract(),
            ];
            for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
                assert!((found - expected).abs() <= 1e-10 * (1.0 + expected.abs()), "{v}, {at}: {found} {expected}");
            }
        }
    });
}

#[test]
fn narrow_integers() {
    on_threads(include_str!("../kernels/numba-narrow.ptx"), |machine| {
        let a: Vec<i8> = random(100).iter().map(|bits| *bits as i8).collect();
        let b: Vec<i8> = random(300)[200..].iter().map(|bits| (*bits as i8) | 1).collect();
        let ((_, a_given), (_, b_given)) = (upload(machine, &a), upload(machine, &b));
        let out = machine.upload(&[0_i64; 800]);
        run(machine, Grid::new(4, 32), &[&a_given, &b_given, &array(out, 8, &[100, 8])]);
        for ((found, a), b) in machine.download::<i64>(out, 800).chunks(8).zip(a).zip(b) {
            let (x, y) = (i64::from(a), i64::from(b));
            let expected = [
                divided(x, y).0,
                divided(x, y).1,
                (a.wrapping_mul(3) >> 1).into(),
                i64::from(x as u16) * i64::from(y as u16),
                (x as u64 >> 60) as i64,
                divided(x << 40, y * 7).0,
                x.min(y) ^ x.max(y),
                x.pow(3),
            ];
            assert_eq!(found, expected, "{a} {b}");
        }
    });
}

#[test]
fn exceptions_leave_a_code_and_the_thread() {
    on_threads(include_str!("../kernels/numba-checked.ptx"), |machine| {
        let x: Vec<i32> = random(40).iter().map(|bits| *bits as i32).collect();
        let mut at: Vec<i32> = random(64).iter().map(|bits| 1 + (bits % 39) as i32).collect();
        let variable = |name: &str| {
            let kernel = machine.module.only_kernel().unwrap();
            let (address, _) = machine.module.variable(&format!("{}__{name}__", kernel.name())).unwrap();
            machine.download::<u32>(address, 1)[0]
        };
        let (_, x_given) = upload(machine, &x);
        for wrong in [None, Some(43)] {
            wrong.into_iter().for_each(|place: usize| at[place] = 0);
            let ((_, places), (out, given)) = (upload(machine, &at), upload(machine, &[i32::MAX; 64]));
            run(machine, Grid::new(2, 32), &[&x_given, &places, &given]);
            let quotient = |at: i32| divided(x[at as usize].into(), at.into()).0 as i32;
            let expected = at.iter().map(|at| if *at == 0 { i32::MAX } else { quotient(*at) });
            assert_eq!(machine.download::<i32>(out, 64), expected.collect::<Vec<_>>());
            assert_eq!(variable("errcode") != 0, wrong.is_some());
        }
        assert_eq!((variable("ctaidx"), variable("tidx")), (1, 11));
    });
}

#[test]
fn threads_print() {
    let taken = Arc::new(Mutex::new(String::new()));
    let own = taken.clone();
    let print = Arc::new(move |part: &str| own.lock().unwrap().push_str(part));
    on_one_thread(include_str!("../kernels/numba-printed.ptx"), |machine| {
        taken.lock().unwrap().clear();
        let machine = machine.with(Options { print: Some(print.clone()), ..machine.options.clone() });
        let (_, x) = upload(&machine, &[0.5_f32, -3.0, 1e6, 0.1]);
        run(&machine, Grid::new(1, 32), &[&x, &[3_i32.into()]]);
    });
    let mut lines: Vec<String> = taken.lock().unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    let expected = [
        "thread 0 has 0.500000 twice 1.250000",
        "thread 1 has -3.000000 twice -7.500000",
        "thread 2 has 1000000.000000 twice 2500000.000000",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn tiles_of_two_dimensions() {
    on_threads(include_str!("../kernels/numba-transposed.ptx"), |machine| {
        let x = floats(40 * 23);
        let (from, to) = (machine.upload(&x), machine.upload(&[0.0_f32; 40 * 23]));
        run(machine, shaped([3, 2, 1], [16, 16, 1]), &[&array(from, 4, &[40, 23]), &array(to, 4, &[23, 40])]);
        let found = machine.download::<f32>(to, 40 * 23);
        assert!((0..40 * 23).all(|at| found[at] == x[at % 40 * 23 + at / 40]));
    });
}
