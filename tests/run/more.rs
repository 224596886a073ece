//! Kernels of `kernels/more.cu`, which NVRTC compiled, held against the host: cooperative groups, narrow atomics, look-back,
//! virtual functions, sorts, structs by value.

use crate::machine::{Machine, floats, on_threads, random};
use ptx_isa::run::{Argument, Grid};

const SUITES: [&str; 2] =
    [include_str!("../kernels/more-compute_80.ptx"), include_str!("../kernels/more-compute_90.ptx")];

fn each(test: impl Fn(&Machine)) {
    SUITES.iter().for_each(|text| on_threads(text, &test));
}

fn small(count: usize, below: u32) -> Vec<i32> {
    random(count).iter().map(|bits| (bits % below) as i32).collect()
}

fn sums(x: &[i32]) -> Vec<i32> {
    let mut sum = 0;
    let add = |x: &i32| {
        sum += x;
        sum
    };
    x.iter().map(add).collect()
}

#[test]
fn assertions_that_fail_end_the_launch() {
    each(|machine| {
        let mut x = small(64, 100);
        let px = machine.upload(&x);
        machine.run("asserted", Grid::new(1, 64), &[px.into()]);
        x[41] = -1;
        let px = machine.upload(&x);
        let error = machine.try_run("asserted", Grid::new(1, 64), &[px.into()]).unwrap_err();
        assert_eq!((error.kind.name(), error.thread), ("assertion", Some([41, 0, 0])));
        assert!(error.message.contains("x[threadIdx.x] >= 0, at more.cu:42"), "{error}");
    });
}

#[test]
fn cooperative_groups() {
    each(|machine| {
        let x = small(96, 1000);
        let (px, out, scans) = (machine.upload(&x), machine.upload(&[0_i32; 96]), machine.upload(&[0_i32; 96]));
        machine.run("tiles", Grid::new(1, 96), &[px.into(), out.into(), scans.into()]);
        let expected: Vec<i32> = x.chunks(8).flat_map(|tile| [tile.iter().sum::<i32>(); 8]).collect();
        assert_eq!(machine.download::<i32>(out, 96), expected);
        assert_eq!(machine.download::<i32>(scans, 96), x.chunks(8).flat_map(sums).collect::<Vec<_>>());

        let x = small(400, 50);
        let (px, count, ranks) = (machine.upload(&x), machine.upload(&[0_i32]), machine.upload(&[0_i32; 400]));
        machine.run("coalesced", Grid::new(4, 100), &[px.into(), count.into(), ranks.into()]);
        let chosen: Vec<bool> = x.iter().map(|x| x % 3 == 0).collect();
        let found = machine.download::<i32>(ranks, 400);
        assert!(found.iter().zip(&chosen).all(|(rank, chosen)| (*rank != -1) == *chosen));
        let mut found: Vec<i32> = found.into_iter().filter(|rank| *rank != -1).collect();
        found.sort_unstable();
        let total = chosen.iter().filter(|chosen| **chosen).count() as i32;
        assert_eq!((found, machine.download::<i32>(count, 1)), ((0..total).collect(), vec![total]));

        let x = small(300, 100);
        let px = machine.upload(&x);
        machine.run("grid_sync", Grid::new(6, 50), &[px.into(), 300_i32.into()]);
        assert_eq!(machine.download::<i32>(px, 300), sums(&x));
    });
}

#[test]
fn lanes_of_a_warp_take_turns() {
    each(|machine| {
        let count = machine.upload(&[0_i32]);
        let report = machine.try_run("lanes_lock", Grid::new(1, 96), &[count.into()]).unwrap();
        assert_eq!(machine.download::<i32>(count, 1), [96]);
        // A waiting lane yields to the lock's holder soon: spinning for hundreds of rounds first takes ten times the instructions.
        assert!(report.instructions < 1_000_000, "{} instructions", report.instructions);
    });
}

#[test]
fn atomics_of_every_width() {
    each(|machine| {
        let (s, h, h2) = (machine.upload(&[7_u16, 9]), machine.upload(&[0_u16; 2]), machine.upload(&[0_u16; 2]));
        machine.run("narrow_atomics", Grid::new(1, 64), &[s.into(), h.into(), h2.into()]);
        assert_eq!(machine.download::<u16>(s, 2), [7 + 3 * 64, 9]);
        // 16.0; 64.0 and 32.0
        assert_eq!(machine.download::<u16>(h, 2), [0x4c00, 0]);
        assert_eq!(machine.download::<u16>(h2, 2), [0x5400, 0x5000]);

        let (u, l) = (machine.upload(&[0_u32; 8]), machine.upload(&[0_u64; 4]));
        machine.run("scoped_atomics", Grid::new(2, 64), &[u.into(), l.into()]);
        let xor = (0..64).fold(0_u32, |all, t| all ^ t);
        let up = (0..64).fold(0_u32, |old, _| if old >= 6 { 0 } else { old + 1 });
        let down = (0..64).fold(0_u32, |old, _| if old == 0 || old > 6 { 6 } else { old - 1 });
        let own = [2016, 63, u32::MAX, xor, up, 0xffff_0000, down, (-63_i32) as u32];
        assert_eq!(machine.download::<u32>(u, 8), own.map(|own| own.wrapping_mul(2)));
        let wide = [2016_u64 << 33, 63 << 40, u64::MAX, u64::MAX << 32];
        assert_eq!(machine.download::<u64>(l, 4), wide.map(|own| own.wrapping_mul(2)));
    });
}

#[test]
fn scans_that_look_back() {
    each(|machine| {
        let n = 128 * 30 - 17;
        let x = small(n, 100);
        let (px, py) = (machine.upload(&x), machine.upload(&vec![0_i32; n]));
        let (state, ticket) = (machine.upload(&[0_u64; 30]), machine.upload(&[0_i32]));
        let arguments = [px.into(), py.into(), state.into(), ticket.into(), (n as i32).into()];
        machine.run("decoupled", Grid::new(30, 128), &arguments);
        assert_eq!(machine.download::<i32>(py, n), sums(&x));
    });
}

#[test]
fn sorts() {
    each(|machine| {
        let mut keys = random(512);
        let pk = machine.upload(&keys);
        machine.run("radix", Grid::new(1, 128).shared(2 * 512 * 4), &[pk.into(), 512_i32.into()]);
        keys.sort_unstable();
        assert_eq!(machine.download::<u32>(pk, 512), keys);

        let bits = random(100);
        macro_rules! sorted {
            ($($kernel:literal: $ty:ty, $of:expr;)*) => {$(
                let mut keys: Vec<$ty> = bits.iter().map($of).collect();
                let pk = machine.upload(&keys);
                machine.run($kernel, Grid::new(1, 64), &[pk.into(), 100_i32.into()]);
                keys.sort_by(|a, b| a.partial_cmp(b).unwrap());
                assert_eq!(machine.download::<$ty>(pk, 100), keys, $kernel);
            )*};
        }
        sorted! {
            "sort_bytes": i8, |bits| *bits as i8;
            "sort_shorts": u16, |bits| *bits as u16;
            "sort_longs": i64, |bits| i64::from(*bits as i32) << 20;
            "sort_doubles": f64, |bits| f64::from(*bits as i32) / 3.0;
        }
    });
}

#[test]
fn structs_by_value() {
    each(|machine| {
        // A byte, an integer, a short and a double, with nothing between.
        let mut packed = vec![5_u8];
        packed.extend((-1234_i32).to_le_bytes());
        packed.extend(77_i16.to_le_bytes());
        packed.extend(2.5_f64.to_le_bytes());
        let out = machine.upload(&[0_f64; 32]);
        machine.run("unaligned", Grid::new(1, 32), &[Argument::bytes(packed), out.into()]);
        let expected: Vec<f64> = (0..32).map(|t| 5.0 - 2468.0 + 77.0 + 2.5 * f64::from(t)).collect();
        assert_eq!(machine.download::<f64>(out, 32), expected);

        let a = [[0_f32, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]];
        let bytes: Vec<u8> = a.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        let out = machine.upload(&[0_f32; 9 * 10]);
        machine.run("power", Grid::new(1, 10), &[Argument::bytes(bytes), out.into(), 2_i32.into()]);
        let times = |x: [[f32; 3]; 3]| -> [[f32; 3]; 3] {
            std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| x[i][k] * a[k][j]).sum()))
        };
        let expected: Vec<f32> =
            (0..10).flat_map(|t| (0..2 + t).fold(a, |x, _| times(x)).into_iter().flatten()).collect();
        assert_eq!(machine.download::<f32>(out, 90), expected);
    });
}

/// A kernel `k(out)` and functions or variables beside it, with registers for its body.
fn kernel(beside: &str, body: &str) -> String {
    format!(
        ".version 8.0 .target sm_80 .address_size 64
        {beside}
        .entry k(.param .u64 out) {{
            .reg .b32 %r<3>; .reg .b64 %a, %out; ld.param.u64 %out, [out];
            {body}
        }}"
    )
}

/// Passes the words that such a kernel leaves to a test.
fn words(text: &str, count: usize, test: impl Fn(&[u64])) {
    on_threads(text, |machine| {
        let out = machine.upload(&vec![u64::MAX; count]);
        machine.run("k", Grid::new(1, 1), &[out.into()]);
        test(&machine.download::<u64>(out, count));
    });
}

#[test]
fn what_functions_declare_is_aligned() {
    for align in [32, 64, 128, 1024, 65536] {
        let function = format!(
            ".func (.param .b64 r) f() {{ .reg .b64 %a; .local .align {align} .b8 own[{align}]; mov.u64 %a, own;
            cvta.local.u64 %a, %a; st.param.b64 [r], %a; ret; }}"
        );
        let body = "{ .local .align 8 .b8 first[40]; .reg .b64 %f; mov.u64 %f, first; st.local.u64 [%f], %out;
            .param .b64 r; call (r), f, (); ld.param.b64 %a, [r]; } st.global.u64 [%out], %a; ret;";
        words(&kernel(&function, body), 1, |found| assert_eq!(found[0] % align, 0, "{align}"));
        let variables = format!(".global .align {align} .b8 g[3]; .const .align {align} .b8 c[3];");
        let body = "mov.u64 %a, g; st.global.u64 [%out], %a; mov.u64 %a, c; cvta.const.u64 %a, %a; st.global.u64 [%out+8], %a; ret;";
        words(&kernel(&variables, body), 2, |found| {
            assert_eq!((found[0] % align, found[1] % align), (0, 0), "{align}");
        });
    }
}

#[test]
fn constant_addresses_are_not_global() {
    let variables = ".global .b32 g[4]; .const .b32 c[4];";
    let body = "{ .reg .pred %c, %g; .reg .b64 %n; mov.u64 %n, 0;
        mov.u64 %a, c; cvta.const.u64 %a, %a; add.u64 %a, %a, 12; isspacep.const %c, %a; isspacep.global %g, %a;
        @%c add.u64 %n, %n, 1; @%g add.u64 %n, %n, 2;
        add.u64 %a, %a, 4; isspacep.const %c, %a; @%c add.u64 %n, %n, 4;
        mov.u64 %a, g; isspacep.const %c, %a; isspacep.global %g, %a; @%c add.u64 %n, %n, 8; @%g add.u64 %n, %n, 16;
        st.global.u64 [%out], %n; } ret;";
    words(&kernel(variables, body), 1, |found| assert_eq!(found, [17]));
}

#[test]
fn an_alias_is_another_name() {
    let function = ".func (.param .b32 r) b(.param .b32 x);
        .func (.param .b32 r) a(.param .b32 x) { .reg .b32 %r; ld.param.b32 %r, [x]; add.s32 %r, %r, 7; st.param.b32 [r], %r; ret; }";
    let body = "{ .param .b32 x, r; st.param.b32 [x], 35; call (r), b, (x); ld.param.b32 %r1, [r]; }
        cvt.u64.u32 %a, %r1; st.global.u64 [%out], %a; ret;";
    words(&(kernel(function, body) + " .alias b, a;"), 1, |found| assert_eq!(found, [42]));
}

#[test]
fn an_argument_is_read_at_once() {
    let function = ".func (.param .align 1 .b8 r[9]) f() { st.param.b8 [r], 1; st.param.b8 [r+7], 2; ret; }";
    let body = "{ .param .align 1 .b8 first[1], r[9]; call (r), f, (); ld.param.b64 %a, [r]; } and.b64 %a, %a, 0xff000000000000ff;
        st.global.u64 [%out], %a; ret;";
    words(&kernel(function, body), 1, |found| assert_eq!(found, [0x0200_0000_0000_0001]));
}

#[test]
fn recursion_without_end_exhausts_the_stack() {
    let text = ".version 8.0 .target sm_80 .address_size 64 .func f() { call f; ret; } .entry k() { call f; ret; }";
    on_threads(text, |machine| {
        let error = machine.try_run("k", Grid::new(1, 32), &[]).unwrap_err();
        assert_eq!(error.kind.name(), "stack", "{error}");
    });
}

#[test]
fn recursion_and_virtual_functions() {
    each(|machine| {
        let nodes: Vec<i32> = (0..40)
            .flat_map(|at| {
                [2 * at + 1, 2 * at + 2].map(|child| if child < 40 { child } else { -1 }).into_iter().chain([at + 3])
            })
            .collect();
        fn visit(nodes: &[i32], at: i32, depth: i32) -> i32 {
            if at < 0 {
                return 0;
            }
            let [left, right, value] = nodes[3 * at as usize..][..3] else { unreachable!() };
            let (l, r) = (visit(nodes, left, depth + 1), visit(nodes, right, depth + 2));
            value * (depth + (l & 3)) + l + r
        }
        let (pn, out) = (machine.upload(&nodes), machine.upload(&[0_i32; 40]));
        machine.run("tree", Grid::new(1, 40), &[pn.into(), out.into()]);
        assert_eq!(machine.download::<i32>(out, 40), (0..40).map(|at| visit(&nodes, at, 0)).collect::<Vec<_>>());

        let out = machine.upload(&[0_f32; 40]);
        machine.run("virtuals", Grid::new(1, 40), &[out.into()]);
        let expected = |t: u8| if t % 2 == 1 { f32::from(t).powi(2) } else { 3.0 * f32::from(t).powi(2) };
        assert_eq!(machine.download::<f32>(out, 40), (0..40).map(expected).collect::<Vec<_>>());

        let out = machine.upload(&[0_i32; 40]);
        machine.run("list", Grid::new(1, 40), &[out.into()]);
        let expected = |t: i32| (0..=t % 7).rev().fold(0, |sum, i| sum * 3 + i * i);
        assert_eq!(machine.download::<i32>(out, 40), (0..40).map(expected).collect::<Vec<_>>());
    });
}

#[test]
fn wide_integers_and_bits() {
    each(|machine| {
        let a: Vec<i64> =
            random(64).iter().map(|bits| i64::from(*bits).wrapping_mul(0x1_2345_6789).wrapping_sub(1 << 62)).collect();
        let b: Vec<u64> = random(64).iter().map(|bits| u64::from(*bits) << 33 | u64::from(*bits)).collect();
        let (pa, pb) = (machine.upload(&a), machine.upload(&b));
        let (high, low, square) =
            (machine.upload(&[0_i64; 64]), machine.upload(&[0_u64; 64]), machine.upload(&[0_u64; 128]));
        let arguments = [pa.into(), pb.into(), high.into(), low.into(), square.into()];
        machine.run("wide_products", Grid::new(1, 64), &arguments);
        let pairs = || a.iter().zip(&b);
        let expected: Vec<i64> =
            pairs().map(|(a, b)| ((i128::from(*a) * i128::from(*b as i64)) >> 64) as i64).collect();
        assert_eq!(machine.download::<i64>(high, 64), expected);
        let expected: Vec<u64> = pairs().map(|(a, b)| (*a as u64).wrapping_mul(*b)).collect();
        assert_eq!(machine.download::<u64>(low, 64), expected);
        let expected = b.iter().map(|b| u128::from(*b) * u128::from(*b) / 1_000_003);
        let expected: Vec<u64> = expected.flat_map(|x| [x as u64, (x >> 64) as u64]).collect();
        assert_eq!(machine.download::<u64>(square, 128), expected);

        let x: Vec<u32> = random(64).iter().map(|bits| bits >> (bits % 31)).collect();
        let (px, out) = (machine.upload(&x), machine.upload(&[0_i32; 64]));
        machine.run("bits", Grid::new(1, 64), &[px.into(), out.into()]);
        let expected = |v: &u32| {
            let bytes = [v.to_le_bytes(), (!v).to_le_bytes()].concat();
            let permuted = u32::from_le_bytes([0, 4, 1, 5].map(|at| bytes[at]));
            let first = if *v == 0 { 0 } else { v.trailing_zeros() + 1 };
            let sum = v.count_ones() + 100 * v.leading_zeros() + 10_000 * first;
            sum.wrapping_add(v.reverse_bits() >> 12).wrapping_add(permuted).wrapping_add(v.rotate_left(9)) as i32
        };
        assert_eq!(machine.download::<i32>(out, 64), x.iter().map(expected).collect::<Vec<_>>());
    });
}

#[test]
fn functions_of_the_mathematical_library() {
    each(|machine| {
        let x: Vec<f32> = floats(64).iter().map(|x| x / 8.0).collect();
        let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let (px, py) = (machine.upload(&x), machine.upload(&[0_f32; 64]));
        let (pdx, pdy) = (machine.upload(&wide), machine.upload(&[0_f64; 64]));
        machine.run("mathematics", Grid::new(1, 64), &[px.into(), py.into(), pdx.into(), pdy.into()]);
        let common = |x: f64| x.sin() + x.exp() * (x.abs() + 1.0).ln() + x.abs().powf(0.3) + x.tanh();
        // A power series is close enough for the error function of what is small; beyond three it is one.
        let erf = |x: f64| {
            let mut term = x;
            let mut sum = x;
            for n in 1..80 {
                term *= -x * x / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            if x.abs() > 3.5 { x.signum() } else { sum * std::f64::consts::FRAC_2_SQRT_PI }
        };
        let (y, dy) = (machine.download::<f32>(py, 64), machine.download::<f64>(pdy, 64));
        for (at, x) in wide.iter().copied().enumerate() {
            let expected = common(x) + erf(x) + x.cbrt();
            assert!((f64::from(y[at]) - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{x}: {} {expected}", y[at]);
            let expected = common(x) + x.atan2(2.0) + x % 0.7;
            assert!((dy[at] - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{x}: {} {expected}", dy[at]);
        }
    });
}

#[test]
fn pairs_of_halves() {
    each(|machine| {
        let half = |x: f32| half::f16::from_f32(x);
        let a: Vec<half::f16> = small(64, 16).iter().map(|x| half(*x as f32 / 4.0)).collect();
        let b: Vec<half::f16> = small(200, 16)[100..164].iter().map(|x| half(*x as f32 / 4.0 - 1.0)).collect();
        let upload = |x: &[half::f16]| machine.upload(&x.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
        let (pa, pb) = (upload(&a), upload(&b));
        let (out, f) = (machine.upload(&[0_u16; 64]), machine.upload(&[0_f32; 32]));
        machine.run("bits_of_halves", Grid::new(1, 32), &[pa.into(), pb.into(), out.into(), f.into()]);
        let one = |at: usize| {
            let (a, b) = (a[at].to_f32(), b[at].to_f32());
            half(a * b + a.max(b))
        };
        let (found, roots) = (machine.download::<u16>(out, 64), machine.download::<f32>(f, 32));
        for at in 0..32 {
            let (low, high) = (one(2 * at), one(2 * at + 1));
            let expected = if low < high { [low, high] } else { [high, low] };
            assert_eq!(found[2 * at..2 * at + 2], expected.map(half::f16::to_bits), "{at}");
            assert_eq!(roots[at], half(low.to_f32().abs().sqrt()).to_f32());
        }
    });
}
