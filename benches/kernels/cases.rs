//! The kernels, their data and their rivals' arguments.

use super::model::Random;
use super::{Buffer, Holds, Value};

/// A kernel of `kernels.cu` with its function in `rivals.c`.
pub(crate) struct Case {
    pub name: &'static str,
    pub goal: f64,
    pub blocks: [u32; 3],
    pub threads: [u32; 3],
    pub buffers: Vec<Buffer>,
    pub arguments: Vec<Value>,
    pub rival: Vec<Value>,
}

/// Returns a float between `from` and `to`.
fn float(random: &mut Random, from: f32, to: f32) -> f32 {
    from + (to - from) * (random.next() >> 40) as f32 / 16_777_216.0
}

fn input(bytes: Vec<u8>) -> Buffer {
    Buffer { bytes, holds: Holds::Integers, output: false, cleared: false }
}

fn words(count: usize, mut word: impl FnMut() -> u32) -> Buffer {
    input((0..count).flat_map(|_| word().to_le_bytes()).collect())
}

fn floats(count: usize, from: f32, to: f32) -> Buffer {
    let mut random = Random::new(count as u64);
    words(count, || float(&mut random, from, to).to_bits())
}

fn integers(count: usize) -> Buffer {
    let mut random = Random::new(count as u64);
    words(count, || random.next() as u32)
}

fn output(bytes: usize, holds: Holds) -> Buffer {
    Buffer { bytes: vec![0; bytes], holds, output: true, cleared: false }
}

/// An output to which a launch adds.
fn sums(bytes: usize) -> Buffer {
    Buffer { cleared: true, ..output(bytes, Holds::Integers) }
}

const X: Value = Value::Buffer(0);
const Y: Value = Value::Buffer(1);
const Z: Value = Value::Buffer(2);

fn int(value: usize) -> Value {
    Value::Int(value as i32)
}

/// A case whose rival takes what the kernel does.
fn case(name: &'static str, blocks: [usize; 2], threads: [u32; 2], buffers: Vec<Buffer>, arguments: &[Value]) -> Case {
    let [x, y] = blocks.map(|count| count as u32);
    Case {
        name,
        goal: 0.25,
        blocks: [x, y, 1],
        threads: [threads[0], threads[1], 1],
        buffers,
        arguments: arguments.to_vec(),
        rival: arguments.to_vec(),
    }
}

/// The numbers of a matrix with rows of different lengths.
fn sparse(rows: usize) -> [Buffer; 3] {
    let mut random = Random::new(5);
    let mut starts = vec![0_u32];
    for row in 0..rows {
        starts.push(starts[row] + 4 + random.below(24) as u32);
    }
    let count = starts[rows] as usize;
    let mut start = starts.into_iter();
    let columns = words(count, || random.below(rows) as u32);
    [words(rows + 1, || start.next().unwrap_or(0)), columns, floats(count, -1.0, 1.0)]
}

pub(crate) fn cases() -> Vec<Case> {
    let n = 1 << 20;
    let floats_out = |count: usize| output(4 * count, Holds::Floats);
    let halves = |count: usize| {
        let mut random = Random::new(count as u64);
        input((0..count).flat_map(|_| half::f16::from_f32(float(&mut random, -1.0, 1.0)).to_le_bytes()).collect())
    };
    let with = |case: Case, rival: &[Value]| Case { rival: rival.to_vec(), ..case };
    let line = [n / 256, 1];
    let in_line = [256, 1];
    let square = |n: usize| [n / 16, n / 16];
    let [starts, columns, values] = sparse(1 << 16);
    vec![
        saxpy(n),
        case("copy", line, in_line, vec![floats(n, -1.0, 1.0), floats_out(n)], &[X, Y, int(n)]),
        case("copy_strided", line, in_line, vec![floats(5 * n, -1.0, 1.0), floats_out(n)], &[X, Y, int(5), int(n)]),
        case("transpose", [32, 32], [32, 8], vec![floats(n, -1.0, 1.0), floats_out(n)], &[X, Y, int(1024)]),
        with(
            case("reduce_shared", [64, 1], in_line, vec![floats(n, -1.0, 1.0), floats_out(64)], &[X, Y, int(n)]),
            &[X, Y, int(n), int(64)],
        ),
        case("reduce_shuffle", [64, 1], in_line, vec![integers(n), sums(4)], &[X, Y, int(n)]),
        with(case("scan", line, in_line, vec![integers(n), output(4 * n, Holds::Integers)], &[X, Y]), &[X, Y, int(n)]),
        case("histogram", [64, 1], in_line, vec![integers(n), sums(1024)], &[X, Y, int(n)]),
        case(
            "product_naive",
            square(256),
            [16, 16],
            vec![floats(1 << 16, -1.0, 1.0), floats(1 << 16, -1.0, 1.0), floats_out(1 << 16)],
            &[X, Y, Z, int(256)],
        ),
        product_tiled(256),
        case(
            "product_half",
            [8, 16],
            [16, 16],
            vec![halves(1 << 16), halves(1 << 16), output(2 << 16, Holds::Halves)],
            &[X, Y, Z, int(256)],
        ),
        case("stencil_2d", [32, 128], [32, 8], vec![floats(n, -1.0, 1.0), floats_out(n)], &[X, Y, int(1024)]),
        case(
            "stencil_3d",
            [3, 12],
            [32, 8],
            vec![floats(96 * 96 * 96, -1.0, 1.0), floats_out(96 * 96 * 96)],
            &[X, Y, int(96)],
        ),
        case(
            "convolution",
            [16, 64],
            [32, 8],
            vec![floats(1 << 18, -1.0, 1.0), floats_out(1 << 18)],
            &[X, Y, int(512)],
        ),
        with(
            case(
                "softmax",
                [512, 1],
                [128, 1],
                vec![floats(1 << 19, -4.0, 4.0), floats_out(1 << 19)],
                &[X, Y, int(1024)],
            ),
            &[X, Y, int(1024), int(512)],
        ),
        with(
            case(
                "layer_norm",
                [128, 1],
                [128, 1],
                vec![floats(1 << 19, -4.0, 4.0), floats_out(1 << 19)],
                &[X, Y, int(1024)],
            ),
            &[X, Y, int(1024), int(512)],
        ),
        Case {
            goal: 0.8,
            ..case(
                "black_scholes",
                [1024, 1],
                in_line,
                vec![
                    floats(1 << 18, 5.0, 30.0),
                    floats(1 << 18, 4.0, 40.0),
                    floats(1 << 18, 0.25, 10.0),
                    floats_out(1 << 18),
                    floats_out(1 << 18),
                ],
                &[X, Y, Z, Value::Buffer(3), Value::Buffer(4), int(1 << 18)],
            )
        },
        case("n_body", [16, 1], [128, 1], vec![floats(8192, -1.0, 1.0), floats_out(8192)], &[X, Y, int(2048)]),
        case(
            "mandelbrot",
            [16, 64],
            [32, 8],
            vec![output(4 << 18, Holds::Integers)],
            &[X, int(512), int(512), int(128)],
        ),
        with(
            case("bitonic_sort", [512, 1], in_line, vec![integers(1 << 18), output(4 << 18, Holds::Integers)], &[X, Y]),
            &[X, Y, int(1 << 18)],
        ),
        case(
            "sparse_product",
            [256, 1],
            in_line,
            vec![starts, columns, values, floats(1 << 16, -1.0, 1.0), floats_out(1 << 16)],
            &[X, Y, Z, Value::Buffer(3), Value::Buffer(4), int(1 << 16)],
        ),
        case(
            "hash",
            [2048, 1],
            in_line,
            vec![integers(1 << 20), output(4 << 20, Holds::Integers)],
            &[X, Y, int(1 << 19)],
        ),
        with(
            case(
                "look_back",
                [1024, 1],
                in_line,
                vec![
                    integers(1 << 18),
                    output(4 << 18, Holds::Integers),
                    Buffer { output: false, ..sums(4) },
                    Buffer { output: false, ..sums(8 << 10) },
                ],
                &[X, Y, Z, Value::Buffer(3)],
            ),
            &[X, Y, int(1 << 18)],
        ),
        case(
            "philox",
            [1024, 1],
            in_line,
            vec![output(16 << 18, Holds::Integers)],
            &[X, int(0x1234_5678), int(1 << 18)],
        ),
    ]
}

/// `y = a · x + y` over the given number of elements, a multiple of 256.
pub(crate) fn saxpy(n: usize) -> Case {
    case(
        "saxpy",
        [n / 256, 1],
        [256, 1],
        vec![floats(n, -1.0, 1.0), Buffer { output: true, holds: Holds::Floats, ..floats(n, 0.0, 1.0) }],
        &[X, Y, Value::Float(0.5), int(n)],
    )
}

/// The product of square matrices with rows of the given length, a multiple of 64.
pub(crate) fn product_tiled(n: usize) -> Case {
    let matrix = || floats(n * n, -1.0, 1.0);
    let buffers = vec![matrix(), matrix(), output(4 * n * n, Holds::Floats)];
    case("product_tiled", [n / 16, n / 16], [16, 16], buffers, &[X, Y, Z, int(n)])
}

/// Kernels that do little but copy, on buffers that no cache holds.
pub(crate) fn beyond_caches() -> Vec<Case> {
    let n = 1 << 24;
    let line = [n / 256, 1];
    let large = |case: Case| Case { goal: 0.9, ..case };
    vec![
        large(saxpy(n)),
        large(case("copy", line, [256, 1], vec![floats(n, -1.0, 1.0), output(4 * n, Holds::Floats)], &[X, Y, int(n)])),
    ]
}
