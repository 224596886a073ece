//! Kernels that NVRTC compiled, held against the host: `kernels/suite.cu` is their source.

use std::sync::{Arc, Mutex};

use crate::machine::{Machine, floats, on_threads, random, shaped};
use ptx_isa::run::{Argument, Grid, Memory, Module, Options};

/// The suite as compiled for two targets.
const SUITES: [&str; 2] =
    [include_str!("../kernels/suite-compute_80.ptx"), include_str!("../kernels/suite-compute_90.ptx")];

/// Does it with each suite, on one thread of the host and on several.
fn each(test: impl Fn(&Machine)) {
    SUITES.iter().for_each(|text| on_threads(text, &test));
}

#[test]
fn every_kernel_decodes() {
    for text in SUITES {
        let module = Module::load(text, &Memory::new()).unwrap();
        assert!(module.kernels().count() > 35);
        for kernel in module.kernels() {
            kernel.prepare().unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn saxpy() {
    each(|machine| {
        let (x, y) = (floats(1000), floats(1000));
        let (px, py) = (machine.upload(&x), machine.upload(&y));
        machine.run("saxpy", Grid::new(4, 256), &[1000_i32.into(), 3.5_f32.into(), px.into(), py.into()]);
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 3.5_f32.mul_add(*x, *y)).collect();
        assert_eq!(machine.download::<f32>(py, 1000), expected);
    });
}

#[test]
fn reductions() {
    each(|machine| {
        let x: Vec<f32> = random(3000).iter().map(|bits| (bits % 64) as f32).collect();
        let (px, out) = (machine.upload(&x), machine.upload(&[0_f32; 5]));
        machine.run("reduce_shared", Grid::new(5, 256), &[px.into(), out.into(), 3000_i32.into()]);
        assert_eq!(machine.download::<f32>(out, 5).iter().sum::<f32>(), x.iter().sum::<f32>());
        for threads in [256, 96, 100] {
            let x: Vec<i32> = random(3000).iter().map(|bits| *bits as i32 >> 8).collect();
            let (px, out) = (machine.upload(&x), machine.upload(&[0_i32]));
            let blocks = 3000_u32.div_ceil(threads);
            // Of a partial warp the lanes that are not there take no part: shuffles name only those that are.
            if threads % 32 == 0 {
                machine.run("reduce_shuffle", Grid::new(blocks, threads), &[px.into(), out.into(), 3000_i32.into()]);
                assert_eq!(machine.download::<i32>(out, 1)[0], x.iter().fold(0_i32, |a, b| a.wrapping_add(*b)));
            }
        }
    });
}

#[test]
fn matrices() {
    each(|machine| {
        let (w, h) = (40, 23);
        let x = floats(w * h);
        let (px, out) = (machine.upload(&x), machine.upload(&vec![0_f32; w * h]));
        let arguments = [px.into(), out.into(), (w as i32).into(), (h as i32).into()];
        machine.run("transpose", shaped([3, 2, 1], [16, 16, 1]), &arguments);
        let found = machine.download::<f32>(out, w * h);
        assert!((0..w * h).all(|at| found[at % w * h + at / w] == x[at]));

        let n = 48;
        let (a, b) = (floats(n * n), floats(n * n));
        let (pa, pb, pc) = (machine.upload(&a), machine.upload(&b), machine.upload(&vec![0_f32; n * n]));
        let arguments = [pa.into(), pb.into(), pc.into(), (n as i32).into()];
        machine.run("product", shaped([3, 3, 1], [16, 16, 1]), &arguments);
        let found = machine.download::<f32>(pc, n * n);
        for (at, found) in found.iter().enumerate() {
            let (row, column) = (at / n, at % n);
            let sum = (0..n).fold(0_f32, |sum, k| a[row * n + k].mul_add(b[k * n + column], sum));
            assert_eq!(*found, sum);
        }
    });
}

#[test]
fn histogram() {
    each(|machine| {
        let data: Vec<u8> = random(5000).iter().map(|bits| (bits % 200) as u8).collect();
        let (pd, bins) = (machine.upload(&data), machine.upload(&[0_u32; 256]));
        machine.run("histogram", Grid::new(4, 128), &[pd.into(), bins.into(), 5000_i32.into()]);
        let mut expected = vec![0_u32; 256];
        data.iter().for_each(|byte| expected[usize::from(*byte)] += 1);
        assert_eq!(machine.download::<u32>(bins, 256), expected);
    });
}

#[test]
fn atomics() {
    each(|machine| {
        let i = machine.upload(&[0_i32; 4]);
        let u = machine.upload(&[u32::MAX, 0, 0, 0, 0, u32::MAX, 0, 0, 0]);
        let l = machine.upload(&[0_u64; 6]);
        let (f, d) = (machine.upload(&[0_f32]), machine.upload(&[0_f64]));
        machine.run("atomics", Grid::new(3, 70), &[i.into(), u.into(), l.into(), f.into(), d.into()]);
        let n = 210;
        let sum: i32 = (0..n).sum();
        assert_eq!(machine.download::<i32>(i, 4), [sum, -sum, -(n - 1), n - 1]);
        let mixed = (0..n as u32).fold(0, |all, t| all ^ t.wrapping_mul(2_654_435_761));
        // Up to 99 and back to zero; from zero to 99 and down.
        let down = (0..n).fold(0_u32, |old, _| if old == 0 || old > 99 { 99 } else { old - 1 });
        let expected = [0, u32::MAX, mixed, n as u32 % 100, down, 1000 - (n as u32 - 1), n as u32 - 1, 7, 5];
        assert_eq!(machine.download::<u32>(u, 9), expected);
        let bits = (0..n).fold(0_u64, |all, t| all | 1 << (t % 64));
        let n64 = n as u64;
        let expected = [(sum as u64) << 32, (n64 - 1) * (n64 - 1), (1 - n64 as i64) as u64, bits, 9, 1 << 40];
        assert_eq!(machine.download::<u64>(l, 6), expected);
        assert_eq!(machine.download::<f32>(f, 1), [105.0]);
        assert_eq!(machine.download::<f64>(d, 1), [52.5]);
    });
}

#[test]
fn scans_and_sorts() {
    each(|machine| {
        let x: Vec<i32> = random(200).iter().map(|bits| (bits % 100) as i32).collect();
        let (px, py) = (machine.upload(&x), machine.upload(&[0_i32; 200]));
        let grid = Grid::new(1, 256).shared(1024);
        machine.run("scan", grid, &[px.into(), py.into(), 200_i32.into()]);
        let sums = |x: &[i32]| -> Vec<i32> {
            x.iter()
                .scan(0, |sum, x| {
                    *sum += x;
                    Some(*sum)
                })
                .collect()
        };
        assert_eq!(machine.download::<i32>(py, 200), sums(&x));

        let x: Vec<i32> = random(32 * 40).iter().map(|bits| (bits % 100) as i32).collect();
        let (px, py) = (machine.upload(&x), machine.upload(&vec![0_i32; x.len()]));
        let (totals, flags) = (machine.upload(&[0_i32; 40]), machine.upload(&[0_i32; 40]));
        machine.run("look_back", Grid::new(40, 32), &[px.into(), py.into(), totals.into(), flags.into()]);
        assert_eq!(machine.download::<i32>(py, x.len()), sums(&x));

        let mut x: Vec<i32> = random(512).iter().map(|bits| *bits as i32).collect();
        let px = machine.upload(&x);
        machine.run("bitonic", Grid::new(1, 512).shared(2048), &[px.into(), 512_i32.into()]);
        x.sort_unstable();
        assert_eq!(machine.download::<i32>(px, 512), x);
    });
}

#[test]
fn threads_that_spin_on_others_go_on() {
    each(|machine| {
        let (arrived, out) = (machine.upload(&[0_i32]), machine.upload(&vec![0_i32; 20 * 40]));
        machine.run("spin_grid", Grid::new(20, 40), &[arrived.into(), out.into()]);
        assert_eq!(machine.download::<i32>(out, 800), [20; 800]);
        let (lock, count) = (machine.upload(&[0_i32]), machine.upload(&[0_i32]));
        machine.run("spin_lock", Grid::new(3, 70), &[lock.into(), count.into()]);
        assert_eq!(machine.download::<i32>(count, 1), [210]);
    });
}

#[test]
fn diverged_loops() {
    each(|machine| {
        let out = machine.upload(&[0_i32; 64 * 32]);
        machine.run("mandelbrot", shaped([8, 4, 1], [8, 8, 1]), &[out.into(), 64_i32.into(), 32_i32.into()]);
        let found = machine.download::<i32>(out, 64 * 32);
        for (at, found) in found.iter().enumerate() {
            let (x, y) = ((at % 64) as f32, (at / 64) as f32);
            let (cr, ci) = (3.0 * x / 64.0 - 2.0, 2.0 * y / 32.0 - 1.0);
            let (mut zr, mut zi, mut n) = (0_f32, 0_f32, 0);
            while n < 100 && zr.mul_add(zr, zi * zi) < 4.0 {
                let r = zr.mul_add(zr, -(zi * zi)) + cr;
                zi = (2.0 * zr).mul_add(zi, ci);
                zr = r;
                n += 1;
            }
            // If the compiler contracts different operations to FMA, a point near the boundary may escape one iteration
            // earlier or later.
            assert!((found - n).abs() <= 1 || n > 20, "{x} {y}: {found} {n}");
        }
    });
}

#[test]
fn calls() {
    each(|machine| {
        let out = machine.upload(&[0_i32; 40]);
        machine.run("recursion", Grid::new(1, 40), &[out.into()]);
        fn fibonacci(n: i32) -> i32 {
            if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
        }
        let expected: Vec<i32> = (0..40).map(|t| fibonacci(t % 12)).collect();
        assert_eq!(machine.download::<i32>(out, 40), expected);

        let which: Vec<i32> = random(64).iter().map(|bits| (bits % 3) as i32).collect();
        let (out, pw) = (machine.upload(&[0_i32; 64]), machine.upload(&which));
        machine.run("pointers", Grid::new(1, 64), &[out.into(), pw.into()]);
        let expected: Vec<i32> = which.iter().zip(0..).map(|(which, t)| [2 * t, t * t, -t][*which as usize]).collect();
        assert_eq!(machine.download::<i32>(out, 64), expected);

        let mut pair = vec![0_u8; 24];
        pair[..4].copy_from_slice(&7_i32.to_le_bytes());
        pair[8..16].copy_from_slice(&12.75_f64.to_le_bytes());
        pair[16..19].copy_from_slice(&[1, 2, 5]);
        let out = machine.upload(&[0_i32; 10]);
        machine.run("structs", Grid::new(1, 10), &[Argument::bytes(pair), out.into()]);
        let expected: Vec<i32> = (0..10).map(|k| 12_000 + (7 + k) * 10 + 5 - 1).collect();
        assert_eq!(machine.download::<i32>(out, 10), expected);
    });
}

#[test]
fn the_system() {
    each(|machine| {
        let text = Arc::new(Mutex::new(String::new()));
        let own = text.clone();
        let print = Arc::new(move |part: &str| own.lock().unwrap().push_str(part));
        let options = Options { print: Some(print), ..machine.options.clone() };
        machine.module.kernel("print").unwrap().launch_with(Grid::new(1, 32), &[3_i32.into()], &options).unwrap();
        assert_eq!(*text.lock().unwrap(), "0 0.00 ok\n1 0.50 ok\n2 1.00 ok\n");

        let out = machine.upload(&[0_i32; 50]);
        machine.run("heap", Grid::new(1, 50), &[out.into()]);
        assert_eq!(machine.download::<i32>(out, 50), (0..50).map(|t| 4 * t + 6).collect::<Vec<_>>());

        let out = machine.upload(&[0_i64; 32]);
        machine.run("clocks", Grid::new(1, 32), &[out.into()]);
        assert!(machine.download::<i64>(out, 32).iter().all(|ticks| *ticks > 0));
    });
}

#[test]
fn memory_of_every_kind() {
    each(|machine| {
        let index: Vec<i32> = random(50).iter().map(|bits| *bits as i32).collect();
        let (out, pi) = (machine.upload(&[0_i32; 40]), machine.upload(&index));
        machine.run("local_array", Grid::new(1, 40), &[out.into(), pi.into(), 50_i32.into()]);
        let expected = |t: i32| {
            let mut own: Vec<i32> = (0..32).map(|i| i * t).collect();
            index.iter().zip(0..).fold(0_i32, |sum, (index, i)| {
                let k = index & 31;
                own[k as usize] += i;
                sum + own[((k * 7) & 31) as usize]
            })
        };
        assert_eq!(machine.download::<i32>(out, 40), (0..40).map(expected).collect::<Vec<_>>());

        let out = machine.upload(&[0_i32; 20]);
        machine.run("globals", Grid::new(1, 20), &[out.into()]);
        assert_eq!(machine.download::<i32>(out, 20), (0..20).map(|t| (t % 8) * (t % 8) + 5).collect::<Vec<_>>());
        let (counter, bytes) = machine.module.variable("counter").unwrap();
        assert_eq!((machine.download::<i32>(counter, 1), bytes), (vec![5], 4));

        let (a, c) = (floats(4 * 20), random(2 * 20).iter().map(|bits| (bits % 100) as i32).collect::<Vec<_>>());
        let (pa, pb) = (machine.upload(&a), machine.upload(&[0_f32; 80]));
        let (pc, pd) = (machine.upload(&c), machine.upload(&[0_i16; 80]));
        machine.run("vectors", Grid::new(1, 20), &[pa.into(), pb.into(), pc.into(), pd.into()]);
        let expected: Vec<f32> = a.chunks(4).flat_map(|v| [v[3], v[2], v[1], v[0]]).collect();
        assert_eq!(machine.download::<f32>(pb, 80), expected);
        let expected: Vec<i16> =
            c.chunks(2).flat_map(|w| [w[0], w[1], w[0] + w[1], w[0] - w[1]]).map(|x| x as i16).collect();
        assert_eq!(machine.download::<i16>(pd, 80), expected);
    });
}

#[test]
fn narrow_and_wide_types() {
    each(|machine| {
        let a: Vec<i8> = random(64).iter().map(|bits| *bits as i8).collect();
        let b: Vec<u8> = random(64).iter().map(|bits| (*bits >> 8) as u8).collect();
        let (pa, pb) = (machine.upload(&a), machine.upload(&b));
        let (c, s, u) = (machine.upload(&[0_i8; 64]), machine.upload(&[0_i16; 64]), machine.upload(&[0_u16; 64]));
        machine.run("bytes", Grid::new(1, 64), &[pa.into(), pb.into(), c.into(), s.into(), u.into()]);
        let pairs = || a.iter().zip(&b);
        assert_eq!(machine.download::<i8>(c, 64), pairs().map(|(a, b)| a.wrapping_add(*b as i8)).collect::<Vec<_>>());
        let products: Vec<i16> = pairs().map(|(a, b)| (i32::from(*a) * i32::from(*b)) as i16).collect();
        assert_eq!(machine.download::<i16>(s, 64), products);
        let shifted: Vec<u16> = b.iter().map(|b| (u16::from(*b) << 7) >> 3).collect();
        assert_eq!(machine.download::<u16>(u, 64), shifted);

        // Sums and products of small integers are exact as halves: 1.0 is 0x3c00.
        let (a, b) = (machine.upload(&[0x4000_u16; 32]), machine.upload(&[0x4200_u16; 32]));
        let (c, f) = (machine.upload(&[0_u16; 32]), machine.upload(&[0_f32; 32]));
        machine.run("halves", Grid::new(1, 32), &[a.into(), b.into(), c.into(), f.into()]);
        assert_eq!((machine.download::<u16>(c, 32), machine.download::<f32>(f, 32)), (vec![0x4880; 32], vec![6.0; 32]));

        let a: Vec<i64> = random(64).iter().map(|bits| (i64::from(*bits) << 30) - (1 << 60)).collect();
        let x: Vec<f64> = random(64).iter().map(|bits| f64::from(*bits) / 7.0).collect();
        let (pa, px) = (machine.upload(&a), machine.upload(&x));
        let (pb, py) = (machine.upload(&[0_i64; 64]), machine.upload(&[0_f64; 64]));
        machine.run("wide", Grid::new(1, 64), &[pa.into(), px.into(), pb.into(), py.into()]);
        let expected: Vec<i64> = a.iter().zip(0..).map(|(a, i)| a / (i + 3) + a % 7 + (a >> (i & 7))).collect();
        assert_eq!(machine.download::<i64>(pb, 64), expected);
        assert_eq!(machine.download::<f64>(py, 64), x.iter().map(|x| x / 3.0 + x.sqrt()).collect::<Vec<_>>());
    });
}

#[test]
fn warps_vote() {
    each(|machine| {
        let out = machine.upload(&[0_u32; 64]);
        machine.run("votes", Grid::new(1, 64), &[out.into()]);
        let expected = |t: u32| {
            let warp = t / 32 * 32;
            let mask = |test: &dyn Fn(u32) -> bool| {
                (0..32).filter(|lane| test(warp + lane)).fold(0_u32, |all, lane| all | 1 << lane)
            };
            let (ballot, matched) = (mask(&|t| t % 3 == 0), mask(&|o| o / 5 == t / 5));
            let sum: u32 = (warp..warp + 32).sum();
            let any = u32::from(warp == 32);
            let odd = if t & 1 == 1 { 0xaaaa_aaaa ^ mask(&|t| t & 1 == 1 && t > 16) } else { 0 };
            ballot ^ matched ^ sum ^ 1 ^ (any << 1) ^ odd
        };
        assert_eq!(machine.download::<u32>(out, 64), (0..64).map(expected).collect::<Vec<_>>());
    });
}

#[test]
fn barriers_by_name() {
    each(|machine| {
        let out = machine.upload(&[0_i32; 128]);
        machine.run("named", Grid::new(1, 128), &[out.into()]);
        let expected: Vec<i32> = (0..128)
            .map(|t| if t < 64 { (63 - t) * (63 - t) } else { t })
            .map(|own| own + 43 + 1000 + 10_000)
            .collect();
        assert_eq!(machine.download::<i32>(out, 128), expected);
        let out = machine.upload(&[0_i32; 32]);
        machine.run("producer", Grid::new(1, 64), &[out.into()]);
        assert_eq!(machine.download::<i32>(out, 32), (0..32).map(|t| 131 - t).collect::<Vec<_>>());
    });
}

#[test]
fn branches_by_index() {
    each(|machine| {
        let input: Vec<i32> = random(64).iter().map(|bits| (bits % 10) as i32).collect();
        let (out, pi) = (machine.upload(&[3_i32; 64]), machine.upload(&input));
        machine.run("switched", Grid::new(1, 64), &[out.into(), pi.into()]);
        let expected = |(v, t): (&i32, i32)| match *v {
            0 => 11,
            1 => 3 + t,
            2 => 5,
            3 => 4,
            4 => 16,
            5 => -5,
            6 => 6 ^ 0x55,
            7 => 12345 / (7 + t),
            _ => -1,
        };
        assert_eq!(machine.download::<i32>(out, 64), input.iter().zip(0..).map(expected).collect::<Vec<_>>());
    });
}

#[test]
fn graphs_and_sparse_matrices() {
    each(|machine| {
        let n = 300;
        let edges: Vec<i32> = random(n * 3).iter().map(|bits| (*bits as usize % n) as i32).collect();
        let offsets: Vec<i32> = (0..=n).map(|v| 3 * v as i32).collect();
        let mut level = vec![-1_i32; n];
        level[0] = 0;
        let (po, pe, pl) = (machine.upload(&offsets), machine.upload(&edges), machine.upload(&level));
        let changed = machine.upload(&[0_i32]);
        for depth in 0.. {
            machine.memory.write(changed, &[0; 4]).unwrap();
            let arguments = [po.into(), pe.into(), pl.into(), depth.into(), changed.into(), (n as i32).into()];
            machine.run("breadth", Grid::new(3, 128), &arguments);
            for v in 0..n {
                if level[v] == depth {
                    for edge in &edges[3 * v..3 * v + 3] {
                        if level[*edge as usize] == -1 {
                            level[*edge as usize] = depth + 1;
                        }
                    }
                }
            }
            if machine.download::<i32>(changed, 1) == [0] {
                break;
            }
        }
        assert_eq!(machine.download::<i32>(pl, n), level);

        let (values, x) = (floats(n * 3), floats(n));
        let (pv, px, py) = (machine.upload(&values), machine.upload(&x), machine.upload(&vec![0_f32; n]));
        let arguments = [po.into(), pe.into(), pv.into(), px.into(), py.into(), (n as i32).into()];
        machine.run("sparse", Grid::new(3, 128), &arguments);
        let expected: Vec<f32> = (0..n)
            .map(|row| (3 * row..3 * row + 3).fold(0_f32, |sum, i| values[i].mul_add(x[edges[i] as usize], sum)))
            .collect();
        assert_eq!(machine.download::<f32>(py, n), expected);
    });
}

#[test]
fn arithmetic_at_length() {
    each(|machine| {
        let input: Vec<u64> = random(128).iter().map(|bits| u64::from(*bits) << 7).collect();
        let (pi, out) = (machine.upload(&input), machine.upload(&[0_u64; 128]));
        machine.run("hash", Grid::new(2, 64), &[pi.into(), out.into(), 20_i32.into()]);
        let expected = |h: &u64| {
            (0..20).fold(*h, |mut h, _| {
                h ^= h >> 33;
                h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
                h ^= h >> 29;
                h.wrapping_add(0x9e37_79b9_7f4a_7c15)
            })
        };
        assert_eq!(machine.download::<u64>(out, 128), input.iter().map(expected).collect::<Vec<_>>());

        let p = floats(4 * 64);
        let (pp, pa) = (machine.upload(&p), machine.upload(&[0_f32; 256]));
        machine.run("bodies", Grid::new(2, 32), &[pp.into(), pa.into(), 64_i32.into()]);
        let found = machine.download::<f32>(pa, 256);
        for (i, own) in p.chunks(4).enumerate() {
            let mut sum = [0_f64; 3];
            for other in p.chunks(4) {
                let d: Vec<f64> = (0..3).map(|axis| f64::from(other[axis]) - f64::from(own[axis])).collect();
                let square = d.iter().map(|d| d * d).sum::<f64>() + 0.01;
                let force = f64::from(other[3]) / (square * square.sqrt());
                (0..3).for_each(|axis| sum[axis] += d[axis] * force);
            }
            for axis in 0..3 {
                let close = (f64::from(found[4 * i + axis]) - sum[axis]).abs() <= 1e-3 * (1.0 + sum[axis].abs());
                assert!(close, "{i} {axis}: {} {}", found[4 * i + axis], sum[axis]);
            }
        }

        let (w, h) = (40, 30);
        let x = floats(w * h);
        let (px, py) = (machine.upload(&x), machine.upload(&vec![0_f32; w * h]));
        let arguments = [px.into(), py.into(), (w as i32).into(), (h as i32).into()];
        machine.run("stencil", shaped([5, 4, 1], [8, 8, 1]), &arguments);
        let found = machine.download::<f32>(py, w * h);
        for y in 1..h - 1 {
            for at in y * w + 1..y * w + w - 1 {
                assert_eq!(found[at], 0.25 * (x[at - 1] + x[at + 1] + x[at - w] + x[at + w]));
            }
        }
    });
}

#[test]
fn what_goes_wrong_is_told_with_its_place() {
    each(|machine| {
        let out = machine.upload(&[0_i32; 64]);
        let error = machine.try_run("deadlock", Grid::new(1, 64), &[out.into()]).unwrap_err();
        assert_eq!(error.kind.name(), "deadlock");
        assert!(error.message.contains("32 threads at barrier 1"), "{error}");

        let out = machine.upload(&[0_i32; 64]);
        let error = machine.try_run("beyond", Grid::new(1, 32), &[out.into(), 40_i32.into()]).unwrap_err();
        assert_eq!((error.kind.name(), error.thread), ("access", Some([24, 0, 0])));
        assert!(error.source.as_ref().is_some_and(|(file, line, _)| file.ends_with("suite.cu") && *line > 0));
        assert_eq!(machine.download::<i32>(out, 64)[40..], [0; 24]);

        let error = machine.try_run("trapped", Grid::new(2, 32), &[7_i32.into()]).unwrap_err();
        assert_eq!((error.kind.name(), error.thread), ("trap", Some([7, 0, 0])));

        let options = Options { limit: 100_000, ..machine.options.clone() };
        let kernel = machine.module.kernel("forever").unwrap();
        let error = kernel.launch_with(Grid::new(1, 1), &[out.into()], &options).unwrap_err();
        assert_eq!((error.kind.name(), error.block, error.thread), ("limit", Some([0; 3]), Some([0; 3])));
        assert!(error.source.as_ref().is_some_and(|(file, line, _)| file.ends_with("suite.cu") && *line > 0));

        let error = machine.try_run("saxpy", Grid::new(1, 32), &[1_i32.into()]).unwrap_err();
        assert!(
            error.message.starts_with("the kernel takes 4 arguments, not 1; missing: `.f32 saxpy_param_1`, "),
            "{error}"
        );
        // Arguments of the right size whose type is not the parameter's, and of another size.
        let wrong = [
            (
                [2.0_f32.into(), 1_u32.into()],
                "argument 0 is `2.0_f32`, but the parameter is `.u32 saxpy_param_0`: pass `2_u32`",
            ),
            (
                [1_i32.into(), 3_i32.into()],
                "argument 1 is `3_i32`, but the parameter is `.f32 saxpy_param_1`: pass `3.0_f32`",
            ),
            (
                [(-1_i64).into(), 3_f32.into()],
                "argument 0 is `-1_i64`, but the parameter is `.u32 saxpy_param_0`: pass `-1_i32`",
            ),
            (
                [Argument::bytes([0; 3]), 3_f32.into()],
                "argument 0 is `3 bytes`, but the parameter is `.u32 saxpy_param_0`",
            ),
        ];
        for (given, message) in wrong {
            let given: Vec<Argument> = given.into_iter().chain([out.into(), out.into()]).collect();
            let error = machine.try_run("saxpy", Grid::new(1, 32), &given).unwrap_err();
            assert!(error.message.starts_with(message), "{error}");
            assert!(
                error.message.contains("\n  the kernel is saxpy(.u32 saxpy_param_0, .f32 saxpy_param_1, "),
                "{error}"
            );
        }
        let error = machine.try_run("saxpy", Grid::new(1, 2048), &[1_i32.into()]).unwrap_err();
        assert_eq!(error.kind.name(), "arguments");
        let error = machine.try_run("sax", Grid::new(1, 32), &[]).unwrap_err();
        assert_eq!(error.kind.name(), "no-kernel");
    });
}

#[test]
fn any_arguments_end_in_a_result() {
    let mut random = random(1 << 14).into_iter().cycle();
    for text in SUITES {
        let memory = Memory::new();
        let module = Module::load(text, &memory).unwrap();
        let buffer = memory.allocate(1 << 12);
        for kernel in module.kernels() {
            for round in 0..20 {
                let mut next = || random.next().unwrap();
                let arguments: Vec<Argument> = kernel
                    .parameters()
                    .map(|parameter| {
                        let bytes = (0..parameter.size).map(|_| next() as u8).collect::<Vec<_>>();
                        // Now and then a pointer, at times to the end or beside a multiple.
                        match (parameter.size, next() % 4) {
                            (8, 0 | 1) => buffer.into(),
                            (8, 2) => (buffer + u64::from(next() % 5000)).into(),
                            (4, 0 | 1) => (next() % 50).into(),
                            _ => Argument::bytes(bytes),
                        }
                    })
                    .collect();
                let options =
                    Options { limit: 200_000, threads: Some(1 + round % 2), stack: 1 << 12, ..Options::default() };
                let options = Options { print: Some(Arc::new(|_: &str| {})), ..options };
                let grid = Grid { shared: next() % 5000, ..Grid::new(1 + next() % 3, 1 + next() % 100) };
                // Whatever comes out, the process lives on and the memory beside the buffer is as it was.
                _ = kernel.launch_with(grid, &arguments, &options);
            }
        }
        let mut bytes = vec![0; 1 << 12];
        memory.read(buffer, &mut bytes).unwrap();
    }
}
