//! Kernels of `kernels/triton_kernels.py`, which Triton compiled, held against the host: products of matrices in several
//! types, with copies ahead of their use, by persistent blocks, by blocks that add their parts, and with scale factors;
//! attention, softmax and layer norm. Those of `kernels/gluon_kernels.py` multiply in the tensor memory of pairs of blocks.

use crate::machine::{Machine, on_threads, random};
use half::{bf16, f16};
use ptx_isa::run::{Argument, Grid};

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
        ($ty, $rows, include_str!(concat!("../kernels/triton-", $name, ".ptx")))
    };
}

/// A kernel for each generation of tensor cores.
macro_rules! generations {
    ($name:literal) => {
        [
            include_str!(concat!("../kernels/triton-", $name, "-80.ptx")),
            include_str!(concat!("../kernels/triton-", $name, "-90.ptx")),
            include_str!(concat!("../kernels/triton-", $name, "-100.ptx")),
            include_str!(concat!("../kernels/triton-", $name, "-120.ptx")),
        ]
    };
}

fn check(sizes: [usize; 3], cases: &[Case]) {
    let [m, n, _] = sizes;
    check_blocks("product", sizes, cases, |rows| grid([(m / rows) as u32, n as u32 / 32, 1]));
}

/// Holds a kernel that multiplies matrices against the host, with the blocks that it takes for the rows of one. Pairs of blocks take the
/// second factor column by column, and no sizes.
fn check_blocks(kernel: &str, [m, n, k]: [usize; 3], cases: &[Case], grid: impl Fn(usize) -> Grid) {
    let pair = kernel == "pair";
    // Two fraction bits hold whole numbers up to 4.
    let (mut a, mut b) = (small(m * k, 4), small(k * n + 1, 4));
    b.remove(0);
    a.reverse();
    let expected: Vec<f32> =
        (0..m * n).map(|at| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum::<i32>() as f32).collect();
    let floats = |list: &[i32]| list.iter().map(|x| *x as f32).collect::<Vec<_>>();
    let (a, b) = (floats(&a), floats(&b));
    let turned: Vec<f32> = (0..n * k).map(|at| b[at % k * n + at / k]).collect();
    let b = if pair { turned } else { b };
    for (ty, rows, text) in cases {
        on_threads(text, |machine| {
            let (pa, pb, pc) = (upload(machine, ty, &a), upload(machine, ty, &b), machine.upload(&vec![0_f32; m * n]));
            let mut arguments = vec![pa.into(), pb.into(), pc.into()];
            if !pair {
                arguments.extend([m, n, k].map(|size| Argument::from(size as i32)));
            }
            arguments.extend([0_u64; 2].map(Argument::from));
            machine.run(kernel, grid(*rows), &arguments);
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

/// Copied asynchronously, several steps ahead.
#[test]
fn products_of_sizes_that_are_multiples_of_16() {
    let cases = [case!("fp16", 64, "aligned-fp16-80")];
    check_blocks("product", [128, 192, 96], &cases, |_| grid([2, 3, 1]));
}

/// Fewer blocks than tiles, whose last ones are not whole.
#[test]
fn products_by_persistent_blocks() {
    let cases = generations!("persistent").map(|text| ("fp16", 64, text));
    check_blocks("persistent", [150, 72, 96], &cases, |_| grid([3, 1, 1]));
}

/// Two blocks compute each tile.
#[test]
fn products_of_split_sums() {
    let cases = generations!("split").map(|text| ("fp16", 64, text));
    check_blocks("split", [128, 64, 160], &cases, |rows| grid([(128 / rows) as u32 * 2, 2, 1]));
}

/// Products in the tensor memory of a pair of blocks, each of which holds a half of the rows.
#[test]
fn products_of_pairs_of_blocks() {
    let rows =
        |rows: usize, cases: &[Case]| check_blocks("pair", [rows, 64, 64], cases, |_| grid([2, 1, 1]).cluster(2));
    macro_rules! pair {
        ($ty:literal, $rows:literal) => {
            ($ty, $rows, include_str!(concat!("../kernels/gluon-pair-", $ty, "-", $rows, "-100.ptx")))
        };
    }
    rows(256, &[pair!("fp16", 256), pair!("fp8e4nv", 256), pair!("fp32", 256)]);
    rows(128, &[pair!("fp16", 128), pair!("fp8e4nv", 128), pair!("fp32", 128)]);
}

/// Reductions of rows of tensor memory: the least element, and the greatest magnitude, which is NaN where an element is.
#[test]
fn extremes_of_tensor_memory() {
    const ROWS: usize = 128;
    const COLUMNS: usize = 64;
    let mut x = normal(ROWS * COLUMNS);
    for row in 0..ROWS {
        let special = [f32::NAN, f32::NEG_INFINITY, f32::INFINITY, -0.0][row / 4 % 4];
        match row % 4 {
            0 => {}
            1 => x[row * COLUMNS + row % COLUMNS] = special,
            2 => x[row * COLUMNS..][..COLUMNS].fill(special),
            _ => {
                x[row * COLUMNS..][..COLUMNS].fill(0.0);
                x[row * COLUMNS + row % COLUMNS] = special;
            }
        }
    }
    on_threads(include_str!("../kernels/gluon-extremes-103.ptx"), |machine| {
        let out = [machine.upload(&[0_u32; ROWS]), machine.upload(&[0_u32; ROWS])];
        let arguments = [machine.upload(&x).into(), out[0].into(), out[1].into(), 0_u64.into(), 0_u64.into()];
        machine.run("extremes", grid([1, 1, 1]), &arguments);
        let [least, most] = out.map(|out| machine.download::<u32>(out, ROWS));
        for (row, x) in x.chunks(COLUMNS).enumerate() {
            let numbers = || x.iter().copied().filter(|x| !x.is_nan());
            let canonical = |value: Option<f32>| value.map_or(0x7fff_ffff, f32::to_bits);
            let greatest = numbers().map(f32::abs).max_by(f32::total_cmp).filter(|_| numbers().count() == COLUMNS);
            assert_eq!(least[row], canonical(numbers().min_by(f32::total_cmp)), "row {row}");
            assert_eq!(most[row], canonical(greatest), "row {row}");
        }
    });
}

/// A kernel that multiplies matrices with scale factors, and how many blocks it takes.
struct Scaled {
    kernel: &'static str,
    blocks: u32,
    size: [usize; 3],
    /// Elements in a byte.
    packed: usize,
    /// Elements that share a scale factor.
    block: usize,
    /// The numbers of elements and of factors, and the range of the factors' bytes.
    value: fn(u8) -> f64,
    scale: fn(u8) -> f64,
    scales: [u8; 2],
}

fn scaled(case: &Scaled, kernels: &[&str]) {
    let Scaled { kernel, blocks, size: [rows, columns, depth], packed, block, value, scale, scales } = *case;
    let bytes = |count: usize| -> Vec<u8> { random(count).iter().map(|bits| (bits >> 9) as u8).collect() };
    let factor = |byte: u8| scales[0] + byte % (scales[1] - scales[0]);
    // Of e4m3, no NaN.
    let element = |byte: u8| if packed == 1 && byte & 0x7f == 0x7f { byte & 0xf0 } else { byte };
    let side = |lines: usize, skip: usize| -> (Vec<u8>, Vec<u8>) {
        let elements = bytes(skip + lines * depth / packed)[skip..].iter().map(|byte| element(*byte)).collect();
        (elements, bytes(skip + lines * depth / block)[skip..].iter().map(|byte| factor(*byte)).collect())
    };
    let ((a, of_a), (b, of_b)) = (side(rows, 0), side(columns, 3));
    let number = |bytes: &[u8], line: usize, l: usize| {
        let byte = bytes[line * (depth / packed) + l / packed];
        value(if packed == 2 { byte >> (4 * (l % 2)) & 15 } else { byte })
    };
    for text in kernels {
        on_threads(text, |machine| {
            let [pa, ps, pb, pt] = [&a, &of_a, &b, &of_b].map(|bytes| machine.upload(bytes).into());
            let out = machine.upload(&vec![0_f32; rows * columns]);
            let arguments = [pa, ps, pb, pt, out.into(), 0_u64.into(), 0_u64.into()];
            machine.run(kernel, grid([blocks, 1, 1]).cluster(blocks), &arguments);
            for (at, found) in machine.download::<f32>(out, rows * columns).iter().enumerate() {
                let (i, j) = (at / columns, at % columns);
                let (mut sum, mut size) = (0.0, 0.0);
                for l in 0..depth {
                    let factors = scale(of_a[(i * depth + l) / block]) * scale(of_b[(j * depth + l) / block]);
                    let term = number(&a, i, l) * number(&b, j, l) * factors;
                    (sum, size) = (sum + term, size + term.abs());
                }
                assert!((f64::from(*found) - sum).abs() <= 1e-6 * size, "row {i}, column {j}: {found}, not {sum}");
            }
        });
    }
}

/// Value of a float of a byte or less: its fraction has so many bits, and its sign lies behind `sign` bits.
fn small_float(bits: u8, fraction: u32, bias: i32, sign: u32) -> f64 {
    let (field, rest) = ((bits & ((1 << sign) - 1)) >> fraction, f64::from(bits & ((1 << fraction) - 1)));
    let part = rest / f64::from(1 << fraction);
    let size = match field {
        0 => part * 2_f64.powi(1 - bias),
        field => (1.0 + part) * 2_f64.powi(i32::from(field) - bias),
    };
    if bits >> sign & 1 == 1 { -size } else { size }
}

#[test]
fn products_with_scale_factors() {
    let power = |byte: u8| 2_f64.powi(i32::from(byte) - 127);
    let e4m3 = |byte: u8| small_float(byte, 3, 7, 7);
    let e2m1 = |bits: u8| small_float(bits, 1, 1, 3);
    macro_rules! both {
        ($name:literal) => {
            &[
                include_str!(concat!("../kernels/triton-scaled-", $name, "-100.ptx")),
                include_str!(concat!("../kernels/triton-scaled-", $name, "-120.ptx")),
            ]
        };
    }
    let case = Scaled {
        kernel: "block_scaled",
        blocks: 1,
        size: [128, 64, 256],
        packed: 1,
        block: 32,
        value: e4m3,
        scale: power,
        scales: [120, 132],
    };
    scaled(&case, both!("e4m3-32"));
    let pair = [include_str!("../kernels/gluon-scaled-100.ptx")];
    scaled(&Scaled { kernel: "scaled_pair", blocks: 2, size: [256, 64, 128], ..case }, &pair);
    scaled(&Scaled { packed: 2, value: e2m1, ..case }, both!("e2m1-32"));
    scaled(&Scaled { packed: 2, block: 16, value: e2m1, scale: e4m3, scales: [0x20, 0x60], ..case }, both!("e2m1-16"));
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
        (32, include_str!("../kernels/triton-attention-80.ptx")),
        (32, include_str!("../kernels/triton-attention-120.ptx")),
    ]);
    // Products of warpgroups and in tensor memory, with a factor that lanes hold or that is written back.
    attend::<64>(&[
        (64, include_str!("../kernels/triton-attention-90.ptx")),
        (128, include_str!("../kernels/triton-attention-100.ptx")),
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
    for text in [include_str!("../kernels/triton-softmax-80.ptx"), include_str!("../kernels/triton-softmax-120.ptx")] {
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

#[test]
fn layer_norm() {
    const ROWS: usize = 5;
    const COLUMNS: usize = 201;
    for text in generations!("layer_norm") {
        on_threads(text, |machine| {
            let x: Vec<f32> = normal(ROWS * COLUMNS).iter().map(|x| f16::from_f32(*x).to_f32()).collect();
            let (weights, shifts) = (normal(COLUMNS), normal(COLUMNS + 1)[1..].to_vec());
            let (px, y) = (upload(machine, "fp16", &x), machine.upload(&vec![0_u16; x.len()]));
            let [pw, pb] = [&weights, &shifts].map(|list| machine.upload(list).into());
            let (columns, none) = ((COLUMNS as i32).into(), 0_u64.into());
            let arguments = [px.into(), y.into(), pw, pb, columns, 1e-5_f32.into(), none, 0_u64.into()];
            machine.run("layer_norm", grid([ROWS as u32, 1, 1]), &arguments);
            let found = machine.download::<u16>(y, x.len());
            for (x, found) in x.chunks(COLUMNS).zip(found.chunks(COLUMNS)) {
                let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / COLUMNS as f64;
                let variance = x.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / COLUMNS as f64;
                for (column, (x, found)) in x.iter().zip(found).enumerate() {
                    let [w, b] = [weights[column], shifts[column]].map(f64::from);
                    let expected = (f64::from(*x) - mean) / (variance + 1e-5).sqrt() * w + b;
                    let found = f64::from(f16::from_bits(*found).to_f32());
                    assert!((found - expected).abs() <= 2e-3 * expected.abs().max(1.0), "{found}, not {expected}");
                }
            }
        });
    }
}
