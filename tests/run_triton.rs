//! Kernels of `kernels/triton_kernels.py`, which Triton compiled, held against the host: products of matrices in several
//! types, with copies ahead of their use, attention, and softmax.

#[path = "kernels/machine.rs"]
mod machine;

use half::{bf16, f16};
use machine::{Machine, on_threads, random};
use ptx_isa::run::Grid;

/// Dynamic shared memory in bytes: more than any of the kernels needs.
const SHARED: u32 = 98304;

fn grid(blocks: [u32; 3]) -> Grid {
    Grid { blocks, shared: SHARED, ..Grid::new(1, 128) }
}

/// Small whole numbers: sums of their products are exact in every format.
fn small(count: usize, most: i32) -> Vec<i32> {
    random(count).iter().map(|bits| (bits >> 5) as i32 % (2 * most + 1) - most).collect()
}

/// Numbers near zero.
fn normal(count: usize) -> Vec<f32> {
    random(4 * count).chunks(4).map(|bits| bits.iter().map(|bits| (bits % 1000) as f32 / 500.0 - 1.0).sum()).collect()
}

fn upload(machine: &Machine, ty: &str, numbers: &[f32]) -> u64 {
    // Small whole numbers by sign, exponent and fraction.
    let narrow = |x: f32, fraction: u32, bias: i32| -> u8 {
        let bits = x.to_bits();
        let exponent = (bits >> 23 & 0xff) as i32 - 127 + bias;
        let sign = (bits >> 24 & 0x80) as u8;
        if x == 0.0 {
            sign
        } else {
            sign | (exponent << fraction) as u8 | (bits >> (23 - fraction) & ((1 << fraction) - 1)) as u8
        }
    };
    match ty {
        "fp16" => machine.upload(&numbers.iter().map(|x| f16::from_f32(*x).to_bits()).collect::<Vec<_>>()),
        "bf16" => machine.upload(&numbers.iter().map(|x| bf16::from_f32(*x).to_bits()).collect::<Vec<_>>()),
        "fp32" => machine.upload(numbers),
        "fp8e4nv" => machine.upload(&numbers.iter().map(|x| narrow(*x, 3, 7)).collect::<Vec<_>>()),
        "fp8e5" => machine.upload(&numbers.iter().map(|x| narrow(*x, 2, 15)).collect::<Vec<_>>()),
        _ => unreachable!("{ty}"),
    }
}

/// A kernel with its element type and the rows of a block.
type Case = (&'static str, usize, &'static str);

macro_rules! case {
    ($ty:literal, $rows:literal, $name:literal) => {
        ($ty, $rows, include_str!(concat!("kernels/triton-", $name, ".ptx")))
    };
}

fn check([m, n, k]: [usize; 3], cases: &[Case]) {
    // Two fraction bits hold whole numbers up to 4.
    let (mut a, mut b) = (small(m * k, 4), small(k * n + 1, 4));
    b.remove(0);
    a.reverse();
    let expected: Vec<f32> =
        (0..m * n).map(|at| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum::<i32>() as f32).collect();
    let floats = |list: &[i32]| list.iter().map(|x| *x as f32).collect::<Vec<_>>();
    let (a, b) = (floats(&a), floats(&b));
    for (ty, rows, text) in cases {
        on_threads(text, |machine| {
            let (pa, pb, pc) = (upload(machine, ty, &a), upload(machine, ty, &b), machine.upload(&vec![0_f32; m * n]));
            let sizes = [m, n, k].map(|size| (size as i32).into());
            let [im, jn, lk] = sizes;
            let arguments = [pa.into(), pb.into(), pc.into(), im, jn, lk, 0_u64.into(), 0_u64.into()];
            machine.run("product", grid([(m / rows) as u32, n as u32 / 32, 1]), &arguments);
            assert_eq!(machine.download::<f32>(pc, m * n), expected, "{ty}, {rows} rows");
        });
    }
}

#[test]
fn products() {
    check(
        [64, 96, 128],
        &[
            case!("fp16", 32, "product-fp16-80"),
            case!("fp16", 32, "product-fp16-90"),
            case!("fp16", 32, "product-fp16-120"),
            case!("bf16", 32, "product-bf16-80"),
            case!("bf16", 32, "product-bf16-120"),
            case!("fp32", 32, "product-fp32-80"),
            case!("fp32", 32, "product-fp32-90"),
            case!("fp8e4nv", 32, "product-fp8e4nv-89"),
            case!("fp8e4nv", 32, "product-fp8e4nv-120"),
            case!("fp8e5", 32, "product-fp8e5-89"),
        ],
    );
}

#[test]
fn products_of_warpgroups() {
    check(
        [128, 64, 128],
        &[
            case!("fp16", 64, "group-fp16-90"),
            case!("bf16", 64, "group-bf16-90"),
            case!("fp32", 64, "group-fp32-90"),
            case!("fp8e4nv", 64, "group-fp8e4nv-90"),
            case!("fp8e5", 64, "group-fp8e5-90"),
        ],
    );
}

#[test]
fn products_in_tensor_memory() {
    check(
        [128, 64, 128],
        &[
            case!("fp16", 128, "tensor-fp16-100"),
            case!("fp16", 64, "half-fp16-100"),
            case!("bf16", 128, "tensor-bf16-100"),
            case!("bf16", 64, "half-bf16-100"),
            case!("fp32", 128, "tensor-fp32-100"),
            case!("fp32", 64, "half-fp32-100"),
            case!("fp8e4nv", 128, "tensor-fp8e4nv-100"),
            case!("fp8e4nv", 64, "half-fp8e4nv-100"),
            case!("fp8e5", 128, "tensor-fp8e5-100"),
            case!("fp8e5", 64, "half-fp8e5-100"),
        ],
    );
}

#[test]
fn attention() {
    attend::<32>(&[
        (32, include_str!("kernels/triton-attention-80.ptx")),
        (32, include_str!("kernels/triton-attention-120.ptx")),
    ]);
    // Products of warpgroups and in tensor memory, with a factor that lanes hold or that is written back.
    attend::<64>(&[
        (64, include_str!("kernels/triton-attention-90.ptx")),
        (128, include_str!("kernels/triton-attention-100.ptx")),
    ]);
}

/// Attention with rows of `WIDTH` elements; each kernel comes with the number of rows per block.
fn attend<const WIDTH: usize>(kernels: &[(usize, &str)]) {
    const ROWS: usize = 128;
    const COUNT: usize = 96;
    let halves = |list: Vec<f32>| list.into_iter().map(|x| f16::from_f32(x).to_f32()).collect::<Vec<_>>();
    let (q, mut k, mut v) =
        (halves(normal(ROWS * WIDTH)), halves(normal(COUNT * WIDTH + 9)), halves(normal(COUNT * WIDTH)));
    k.drain(..9);
    v.reverse();
    let scale = 0.25_f32;
    let mut expected = vec![0.0; ROWS * WIDTH];
    for i in 0..ROWS {
        let score = |j: usize| -> f64 {
            (0..WIDTH).map(|d| f64::from(q[i * WIDTH + d]) * f64::from(k[j * WIDTH + d])).sum::<f64>()
                * f64::from(scale)
        };
        let weights: Vec<f64> = (0..COUNT).map(|j| score(j).exp2()).collect();
        let total: f64 = weights.iter().sum();
        for d in 0..WIDTH {
            let sum: f64 = (0..COUNT).map(|j| weights[j] * f64::from(v[j * WIDTH + d])).sum();
            expected[i * WIDTH + d] = (sum / total) as f32;
        }
    }
    for (rows, text) in kernels {
        on_threads(text, |machine| {
            let [pq, pk, pv] = [&q, &k, &v].map(|list| upload(machine, "fp16", list));
            let out = machine.upload(&vec![0_f32; ROWS * WIDTH]);
            let (count, none) = ((COUNT as i32).into(), 0_u64.into());
            let arguments = [pq.into(), pk.into(), pv.into(), out.into(), count, scale.into(), none, 0_u64.into()];
            machine.run("attention", grid([(ROWS / rows) as u32, 1, 1]), &arguments);
            let found = machine.download::<f32>(out, ROWS * WIDTH);
            // Weights are halves.
            let worst = found.iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
            assert!(worst < 4e-3, "{worst}");
        });
    }
}

#[test]
fn softmax() {
    for text in [include_str!("kernels/triton-softmax-80.ptx"), include_str!("kernels/triton-softmax-120.ptx")] {
        on_threads(text, |machine| {
            const COLUMNS: usize = 201;
            let x = normal(5 * COLUMNS);
            let (px, y) = (machine.upload(&x), machine.upload(&vec![0_f32; x.len()]));
            let arguments = [px.into(), y.into(), (COLUMNS as i32).into(), 0_u64.into(), 0_u64.into()];
            machine.run("softmax", grid([5, 1, 1]), &arguments);
            let found = machine.download::<f32>(y, x.len());
            for (row, found) in x.chunks(COLUMNS).zip(found.chunks(COLUMNS)) {
                let total: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
                for (x, found) in row.iter().zip(found) {
                    let expected = (f64::from(*x).exp() / total) as f32;
                    assert!((found - expected).abs() <= 2e-6 * expected.abs(), "{found} instead of {expected}");
                }
            }
        });
    }
}
