//! Kernels of `kernels/triton_kernels.py`, which Triton compiled, held against the host: products of matrices in several
//! types, with copies ahead of their use, attention, and softmax.

#[path = "kernels/machine.rs"]
mod machine;

use half::{bf16, f16};
use machine::{Machine, on_threads, random};
use ptx_isa::run::Grid;

/// Dynamic shared memory in bytes: more than any of the kernels needs.
const SHARED: u32 = 32768;

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

#[test]
fn products() {
    const CASES: [(&str, &str); 10] = [
        ("fp16", include_str!("kernels/triton-product-fp16-80.ptx")),
        ("fp16", include_str!("kernels/triton-product-fp16-90.ptx")),
        ("fp16", include_str!("kernels/triton-product-fp16-120.ptx")),
        ("bf16", include_str!("kernels/triton-product-bf16-80.ptx")),
        ("bf16", include_str!("kernels/triton-product-bf16-120.ptx")),
        ("fp32", include_str!("kernels/triton-product-fp32-80.ptx")),
        ("fp32", include_str!("kernels/triton-product-fp32-90.ptx")),
        ("fp8e4nv", include_str!("kernels/triton-product-fp8e4nv-89.ptx")),
        ("fp8e4nv", include_str!("kernels/triton-product-fp8e4nv-120.ptx")),
        ("fp8e5", include_str!("kernels/triton-product-fp8e5-89.ptx")),
    ];
    const M: usize = 64;
    const N: usize = 96;
    const K: usize = 128;
    // Two fraction bits hold whole numbers up to 4.
    let (mut a, mut b) = (small(M * K, 4), small(K * N + 1, 4));
    b.remove(0);
    a.reverse();
    let expected: Vec<f32> =
        (0..M * N).map(|at| (0..K).map(|l| a[at / N * K + l] * b[l * N + at % N]).sum::<i32>() as f32).collect();
    let floats = |list: &[i32]| list.iter().map(|x| *x as f32).collect::<Vec<_>>();
    let (a, b) = (floats(&a), floats(&b));
    for (ty, text) in CASES {
        on_threads(text, |machine| {
            let (pa, pb, pc) = (upload(machine, ty, &a), upload(machine, ty, &b), machine.upload(&[0_f32; M * N]));
            let sizes = [M, N, K].map(|size| (size as i32).into());
            let [m, n, k] = sizes;
            let arguments = [pa.into(), pb.into(), pc.into(), m, n, k, 0_u64.into(), 0_u64.into()];
            machine.run("product", grid([M as u32 / 32, N as u32 / 32, 1]), &arguments);
            assert_eq!(machine.download::<f32>(pc, M * N), expected, "{ty}");
        });
    }
}

#[test]
fn attention() {
    const ROWS: usize = 64;
    const COUNT: usize = 96;
    const WIDTH: usize = 32;
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
    for text in [include_str!("kernels/triton-attention-80.ptx"), include_str!("kernels/triton-attention-120.ptx")] {
        on_threads(text, |machine| {
            let [pq, pk, pv] = [&q, &k, &v].map(|list| upload(machine, "fp16", list));
            let out = machine.upload(&[0_f32; ROWS * WIDTH]);
            let (count, none) = ((COUNT as i32).into(), 0_u64.into());
            let arguments = [pq.into(), pk.into(), pv.into(), out.into(), count, scale.into(), none, 0_u64.into()];
            machine.run("attention", grid([ROWS as u32 / 32, 1, 1]), &arguments);
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
