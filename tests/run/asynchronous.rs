//! Kernels of `kernels/asynchronous.cu`, `rows.cu` and `cancel.cu`, which NVRTC compiled, held against the host: tensor copies, bulk copies
//! and reductions, remote stores, and launches whose clusters are cancelled. Each runs with copies that are performed at once and with
//! copies that are kept until someone waits.

use crate::machine::{Machine, on_threads, random};
use half::f16;
use ptx_isa::run::{Argument, Fill, Grid, Memory, Module, Options, Swizzle, SwizzleAtom, TensorElement, TensorMap};

const SUITE: &str = include_str!("../kernels/asynchronous-compute_90.ptx");
const ROWS: &str = include_str!("../kernels/rows-compute_100f.ptx");
const CANCEL: &str = include_str!("../kernels/cancel-compute_100f.ptx");

/// Runs a test on one thread of the host and on several, with copies at once and with kept ones.
fn each(text: &str, test: impl Fn(&Machine)) {
    on_threads(text, |machine| {
        for delay in [None, Some(0), Some(7)] {
            let options = Options { delay, ..machine.options.clone() };
            test(&machine.with(options));
        }
    });
}

fn encoded(map: &TensorMap) -> Argument {
    Argument::bytes(map.encode().unwrap_or_else(|error| panic!("{error}")))
}

/// Words that are their own places.
fn counted(machine: &Machine, count: u32) -> u64 {
    machine.upload(&(0..count).collect::<Vec<u32>>())
}

/// The chunk of 16 bytes that the manual's table has at a place of a line of 128 bytes.
fn chunk(swizzle: Swizzle, atom: SwizzleAtom, line: usize, place: usize) -> usize {
    let rows: &[[usize; 8]] = match (swizzle, atom) {
        (Swizzle::None, _) => &[[0, 1, 2, 3, 4, 5, 6, 7]],
        (Swizzle::Bytes32, _) => &[[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]],
        (Swizzle::Bytes64, _) => {
            &[[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6], [2, 3, 0, 1, 6, 7, 4, 5], [3, 2, 1, 0, 7, 6, 5, 4]]
        }
        (_, SwizzleAtom::Bytes16) => &[
            [0, 1, 2, 3, 4, 5, 6, 7],
            [1, 0, 3, 2, 5, 4, 7, 6],
            [2, 3, 0, 1, 6, 7, 4, 5],
            [3, 2, 1, 0, 7, 6, 5, 4],
            [4, 5, 6, 7, 0, 1, 2, 3],
            [5, 4, 7, 6, 1, 0, 3, 2],
            [6, 7, 4, 5, 2, 3, 0, 1],
            [7, 6, 5, 4, 3, 2, 1, 0],
        ],
        (_, SwizzleAtom::Bytes64) => &[[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 0, 1, 2, 3]],
        _ => &[[0, 1, 2, 3, 4, 5, 6, 7], [2, 3, 0, 1, 6, 7, 4, 5], [4, 5, 6, 7, 0, 1, 2, 3], [6, 7, 4, 5, 2, 3, 0, 1]],
    };
    rows[line % rows.len()][place]
}

#[test]
fn boxes_are_permuted_on_the_way_and_back() {
    const WIDTH: u32 = 96;
    const HEIGHT: u32 = 40;
    let sixteen = SwizzleAtom::Bytes16;
    let modes = [
        (Swizzle::None, sixteen, 20),
        (Swizzle::Bytes32, sixteen, 8),
        (Swizzle::Bytes64, sixteen, 16),
        (Swizzle::Bytes128, sixteen, 32),
        (Swizzle::Bytes128, SwizzleAtom::Bytes32, 32),
        (Swizzle::Bytes128, SwizzleAtom::Bytes32Flip8, 32),
        (Swizzle::Bytes128, SwizzleAtom::Bytes64, 32),
    ];
    each(SUITE, |machine| {
        for (swizzle, atom, width) in modes {
            let (x, y) = (counted(machine, WIDTH * HEIGHT), machine.upload(&vec![0_u32; (WIDTH * HEIGHT) as usize]));
            let raw = machine.upload(&[0_u32; 512]);
            let map = |pointer: u64| {
                let sizes = [WIDTH.into(), HEIGHT.into()];
                let map = TensorMap::tiled(TensorElement::U32, pointer, &sizes, &[4 * u64::from(WIDTH)], &[width, 16]);
                encoded(&map.swizzle(swizzle).atom(atom))
            };
            let grid = Grid::new(1, 64).shared(4096);
            let arguments = [map(x), map(y), raw.into(), (width * 64).into(), 12_i32.into(), 5_i32.into()];
            machine.run("tile_2d", grid, &arguments);
            let plain: Vec<u32> = (0..16).flat_map(|i| (0..width).map(move |j| (5 + i) * WIDTH + 12 + j)).collect();
            let flips = atom == SwizzleAtom::Bytes32Flip8;
            for (place, found) in machine.download::<u32>(raw, plain.len()).into_iter().enumerate() {
                let (line, place) = (place / 32, place % 32);
                let half = if flips && line % 2 == 1 { (place % 4) ^ 2 } else { place % 4 };
                let expected = plain[32 * line + 4 * chunk(swizzle, atom, line, place / 4) + half];
                assert_eq!(found, expected, "{swizzle:?} {atom:?}, line {line}, word {place}");
            }
            let mut expected = vec![0; (WIDTH * HEIGHT) as usize];
            plain.iter().for_each(|word| expected[*word as usize] = word + 1);
            assert_eq!(machine.download::<u32>(y, expected.len()), expected, "{swizzle:?} {atom:?}");
        }
    });
}

#[test]
fn boxes_beyond_a_tensor_are_filled() {
    each(SUITE, |machine| {
        for fill in [Fill::Zero, Fill::Nan] {
            // 10 × 6 floats in rows of 12.
            let x = machine.upload(&(0..72).map(|x| x as f32 + 1.0).collect::<Vec<_>>());
            let y = machine.upload(&[0_f32; 72]);
            let raw = machine.upload(&[0_u32; 64]);
            let map =
                |pointer| encoded(&TensorMap::tiled(TensorElement::F32, pointer, &[10, 6], &[48], &[8, 4]).fill(fill));
            for (x0, y0) in [(-4, -1), (4, 3), (-20, 0), (0, 100)] {
                let arguments = [map(x), map(y), raw.into(), 128_u32.into(), x0.into(), y0.into()];
                machine.run("tile_2d", Grid::new(1, 32).shared(1024), &arguments);
                let out = if fill == Fill::Nan { 0x7ff7_7ff7 } else { 0 };
                let at = |i: i32, j: i32| match (0..6).contains(&i) && (0..10).contains(&j) {
                    true => ((12 * i + j) as f32 + 1.0).to_bits(),
                    false => out,
                };
                let expected: Vec<u32> = (0..32).map(|place| at(y0 + place / 8, x0 + place % 8)).collect();
                assert_eq!(machine.download::<u32>(raw, 32), expected, "{fill:?} at {x0}, {y0}");
            }
            // Nothing out of bounds was written: neither the padding nor anything after the last row.
            let y = machine.download::<u32>(y, 72);
            assert!(y.chunks(12).all(|row| row[10..] == [0, 0]), "{y:?}");
        }
    });
}

#[test]
fn elements_of_4_and_6_bits_are_padded_in_shared_memory() {
    let text = "
.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 y, .param .s32 x0, .param .s32 y0, .param .u32 moved) {
    .reg .b64 %rd<6>; .reg .b32 %r<6>; .reg .pred %p;
    .shared .align 1024 .b8 data[512]; .shared .align 8 .b64 bar;
    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [y];
    ld.param.s32 %r1, [x0]; ld.param.s32 %r2, [y0]; ld.param.u32 %r3, [moved]; mov.u32 %r4, 0;
MARK:
    mov.u32 %r5, data; add.u32 %r5, %r5, %r4; st.shared.b32 [%r5], 0xeeeeeeee;
    add.u32 %r4, %r4, 4; setp.lt.u32 %p, %r4, 512; @%p bra MARK;
    mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 %rd3, [bar], %r3;
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [data], [%rd1, {%r1, %r2}], [bar];
AGAIN:
    mbarrier.try_wait.shared.b64 %p, [bar], %rd3; @!%p bra AGAIN;
    mov.u32 %r4, 0;
COPY:
    mov.u32 %r5, data; add.u32 %r5, %r5, %r4; ld.shared.b32 %r3, [%r5];
    cvt.u64.u32 %rd4, %r4; add.u64 %rd5, %rd2, %rd4; st.global.b32 [%rd5], %r3;
    add.u32 %r4, %r4, 4; setp.lt.u32 %p, %r4, 512; @%p bra COPY;
    ret;
}";
    const ROWS: usize = 3;
    for (element, group) in [(TensorElement::B4x16P64, 8), (TensorElement::B6x16P32, 12)] {
        // Rows of 256 elements, in boxes of 128 by 4.
        let width = 16 * group;
        let memory = Memory::new();
        let kernel = Module::load(text, &memory).unwrap().kernel("k").unwrap();
        let bytes: Vec<u8> = (0..ROWS * width).map(|byte| (byte * 7 + byte / 64) as u8).collect();
        let (x, y) = (memory.upload(&bytes), memory.upload(&[0_u8; 512]));
        let tiled = |boxes: &[u32]| TensorMap::tiled(element, x, &[256, ROWS as u64], &[width as u64], boxes);
        for (swizzle, atom) in [
            (Swizzle::None, SwizzleAtom::Bytes16),
            (Swizzle::Bytes128, SwizzleAtom::Bytes16),
            (Swizzle::Bytes128, SwizzleAtom::Bytes32),
            (Swizzle::Bytes128, SwizzleAtom::Bytes64),
        ] {
            let map = tiled(&[128, 4]).swizzle(swizzle).atom(atom);
            for (x0, y0) in [(0_i32, 0_i32), (128, 1), (-128, 0), (256, -1)] {
                // The barrier counts the bytes of the elements, not the padding, which keeps what memory held.
                let moved = 4 * 8 * group as u32;
                let arguments = [encoded(&map), y.into(), x0.into(), y0.into(), moved.into()];
                kernel.launch(Grid::new(1, 1), &arguments).unwrap_or_else(|error| panic!("{error}"));
                let found = memory.download::<u8>(y, 512).unwrap();
                for (line, place) in (0..4).flat_map(|line| (0..8).map(move |place| (line, place))) {
                    let row = y0 + line as i32;
                    let inside = (0..ROWS as i32).contains(&row) && (0..256).contains(&x0);
                    let from = (row * width as i32 + x0 / 16 * group as i32) as usize + place * group;
                    let expected = if inside { bytes[from..from + group].to_vec() } else { vec![0; group] };
                    let place = if swizzle == Swizzle::None { place } else { chunk(swizzle, atom, line, place) };
                    let found = &found[128 * line + 16 * place..][..16];
                    assert_eq!(found, [expected, vec![0xee; 16 - group]].concat(), "{element:?} {atom:?} {x0} {y0}");
                }
            }
            let error = kernel.launch(Grid::new(1, 1), &[encoded(&map), y.into(), 64.into(), 0.into(), 0.into()]);
            assert!(error.unwrap_err().to_string().contains("64 is not a multiple of 128"));
        }
        let refused = |map: TensorMap, part: &str| {
            let error = map.encode().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        refused(tiled(&[64, 4]), "a multiple of 128 and one of the box 128, not 256 and 64");
        refused(tiled(&[128, 4]).swizzle(Swizzle::Bytes64), "a swizzle of 128 bytes that keeps");
        refused(TensorMap { global_address: x + 16, ..tiled(&[128, 4]) }, "not a multiple of 32");
        refused(tiled(&[128, 4]).fill(Fill::Nan), "cannot be NaN");
    }
}

#[test]
fn six_bits_of_each_byte_are_copied_to_a_tensor() {
    let text = "
.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 x, .param .s32 x0, .param .s32 y0) {
    .reg .b64 %rd<6>; .reg .b32 %r<6>; .reg .pred %p; .shared .align 1024 .b8 data[512];
    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [x];
    ld.param.s32 %r1, [x0]; ld.param.s32 %r2, [y0]; mov.u32 %r4, 0;
COPY:
    mov.u32 %r5, data; add.u32 %r5, %r5, %r4; cvt.u64.u32 %rd4, %r4; add.u64 %rd5, %rd2, %rd4;
    ld.global.b32 %r3, [%rd5]; st.shared.b32 [%r5], %r3;
    add.u32 %r4, %r4, 4; setp.lt.u32 %p, %r4, 512; @%p bra COPY;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [data];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    ret;
}";
    const ROWS: usize = 3;
    const WIDTH: usize = 192;
    let memory = Memory::new();
    let kernel = Module::load(text, &memory).unwrap().kernel("k").unwrap();
    let bytes: Vec<u8> = (0..512_usize).map(|byte| (byte * 89 + byte / 64) as u8).collect();
    let (x, y) = (memory.upload(&bytes), memory.upload(&[0_u8; ROWS * WIDTH]));
    let tiled = |element| TensorMap::tiled(element, y, &[256, ROWS as u64], &[WIDTH as u64], &[128, 4]);
    for (swizzle, atom) in [
        (Swizzle::None, SwizzleAtom::Bytes16),
        (Swizzle::Bytes128, SwizzleAtom::Bytes16),
        (Swizzle::Bytes128, SwizzleAtom::Bytes32),
        (Swizzle::Bytes128, SwizzleAtom::Bytes64),
    ] {
        let map = tiled(TensorElement::B6x16P32).swizzle(swizzle).atom(atom);
        for (x0, y0) in [(0, 0), (128, 1)] {
            for delay in [None, Some(7)] {
                memory.write(y, &[0xee; ROWS * WIDTH]).unwrap();
                let options = Options { delay, ..Options::default() };
                let arguments = [encoded(&map), x.into(), (x0 as i32).into(), (y0 as i32).into()];
                kernel.launch_with(Grid::new(1, 1), &arguments, &options).unwrap_or_else(|error| panic!("{error}"));
                let mut expected = vec![0xee; ROWS * WIDTH];
                for (line, row) in (y0..ROWS).enumerate() {
                    for element in 0..128 {
                        let place = element / 16;
                        let place = if swizzle == Swizzle::None { place } else { chunk(swizzle, atom, line, place) };
                        let byte = bytes[128 * line + 16 * place + element % 16];
                        for bit in 0..6 {
                            let at = 8 * WIDTH * row + 6 * (x0 + element) + bit;
                            expected[at / 8] = expected[at / 8] & !(1 << (at % 8)) | (byte >> bit & 1) << (at % 8);
                        }
                    }
                }
                assert_eq!(memory.download::<u8>(y, ROWS * WIDTH).unwrap(), expected, "{atom:?} {x0} {y0} {delay:?}");
            }
        }
    }
    let error =
        kernel.launch(Grid::new(1, 1), &[encoded(&tiled(TensorElement::B4x16P64)), x.into(), 0.into(), 0.into()]);
    assert!(error.unwrap_err().to_string().contains("to shared memory only"));
}

#[test]
fn boxes_of_all_dimensions_with_traversal_strides() {
    each(SUITE, |machine| {
        let x = counted(machine, 20_000);
        let out = machine.upload(&[0_u32; 1024]);
        let sizes = [12_u64, 5, 6, 7, 4];
        let strides = [64_u64, 64 * 6, 64 * 6 * 6, 64 * 6 * 6 * 8];
        let boxes = [8_u32, 3, 4, 2, 2];
        let steps = [1_u32, 1, 2, 1, 3];
        let start = [4_i32, 3, 1, -1, 1];
        for rank in [1, 3, 4, 5] {
            let map = TensorMap::tiled(TensorElement::U32, x, &sizes[..rank], &strides[..rank - 1], &boxes[..rank]);
            let map = encoded(&map.element_stride(&steps[..rank]));
            let mut expected = Vec::new();
            let counts: Vec<usize> = (0..rank).map(|axis| boxes[axis].div_ceil(steps[axis]) as usize).collect();
            for place in 0..counts.iter().product() {
                let mut rest: usize = place;
                let mut address = Some(0_u64);
                for axis in 0..rank {
                    let at = i64::from(start[axis]) + (rest % counts[axis]) as i64 * i64::from(steps[axis]);
                    rest /= counts[axis];
                    let stride = if axis == 0 { 4 } else { strides[axis - 1] };
                    let inside = (0..sizes[axis] as i64).contains(&at);
                    address = address.filter(|_| inside).map(|address| address + at as u64 * stride);
                }
                expected.push(address.map_or(0, |address| (address / 4) as u32));
            }
            let places = machine.upload(&start);
            let arguments = [map, places.into(), out.into(), (4 * expected.len() as u32).into()];
            machine.run(&format!("tile_{rank}d"), Grid::new(1, 32), &arguments);
            assert_eq!(machine.download::<u32>(out, expected.len()), expected, "{rank} dimensions");
        }
    });
}

#[test]
fn boxes_are_reduced_into_tensors() {
    each(SUITE, |machine| {
        let run = |kernel: &str, element: TensorElement, old: &[u32], new: &[u32], width: u32| {
            let (x, y) = (machine.upload(new), machine.upload(old));
            let map = TensorMap::tiled(element, y, &[width.into(), 8], &[64], &[width, 4]);
            let arguments = [encoded(&map), x.into(), (new.len() as i32).into(), 2_i32.into()];
            machine.run(kernel, Grid::new(1, 32), &arguments);
            machine.download::<u32>(y, old.len())
        };
        let (old, new) = (random(128), random(65));
        let new = &new[1..];
        let of = |change: &dyn Fn(u32, u32) -> u32| -> Vec<u32> {
            (0..128).map(|at| if (32..96).contains(&at) { change(old[at], new[at - 32]) } else { old[at] }).collect()
        };
        assert_eq!(run("reduce_add", TensorElement::U32, &old, new, 16), of(&u32::wrapping_add));
        assert_eq!(run("reduce_min", TensorElement::S32, &old, new, 16), of(&|a, b| (a as i32).min(b as i32) as u32));
        assert_eq!(run("reduce_xor", TensorElement::U32, &old, new, 16), of(&|a, b| a ^ b));
        assert_eq!(run("reduce_inc", TensorElement::U32, &old, new, 16), of(&|a, b| if a >= b { 0 } else { a + 1 }));
        let halves = |list: &[u32]| -> Vec<u32> {
            let half = |bits: u32| u32::from(f16::from_f32((bits % 64) as f32).to_bits());
            list.iter().map(|bits| half(*bits) | half(bits >> 8) << 16).collect()
        };
        let sum = |a: u32, b: u32| {
            let half = |bits: u32| f16::from_bits(bits as u16).to_f32();
            let sum = |a: u32, b: u32| u32::from(f16::from_f32(half(a) + half(b)).to_bits());
            sum(a & 0xffff, b & 0xffff) | sum(a >> 16, b >> 16) << 16
        };
        let (old, new) = (halves(&old), halves(new));
        let expected: Vec<u32> =
            (0..128).map(|at| if (32..96).contains(&at) { sum(old[at], new[at - 32]) } else { old[at] }).collect();
        assert_eq!(run("reduce_add", TensorElement::F16, &old, &new, 32), expected);
    });
    let memory = Memory::new();
    let module = Module::load(SUITE, &memory).unwrap();
    let y = memory.allocate(512);
    let map = TensorMap::tiled(TensorElement::F32, y, &[16, 8], &[64], &[16, 4]);
    let arguments = [encoded(&map), y.into(), 64_i32.into(), 0_i32.into()];
    let error = module.kernel("reduce_xor").unwrap().launch(Grid::new(1, 32), &arguments).unwrap_err();
    assert_eq!(
        (error.kind.name(), error.message.as_str()),
        ("tensor-map", "elements of the type F32 have no such reduction")
    );
}

/// The pixels of a 3 × 3 filter's corners, as the manual describes the bounding box and the offsets.
#[test]
fn columns_of_images() {
    const SIZES: [i32; 4] = [16, 9, 7, 3];
    each(SUITE, |machine| {
        let count = SIZES.iter().product::<i32>() as u32;
        let x = counted(machine, count);
        let out = machine.upload(&[0_u32; 2048]);
        let sizes = SIZES.map(|size| size as u64);
        let strides = [64, 64 * 9, 64 * 9 * 7];
        for (lower, upper, step, base, offset) in [
            ([-1_i16, -1], [-1_i16, -1], 1, [8, -1, 3, 0], [0_u16, 0]),
            ([0, 0], [-2, -2], 1, [0, 4, 2, 1], [2, 1]),
            ([-1, -1], [-1, -1], 2, [4, 1, 5, 1], [1, 2]),
        ] {
            let map = TensorMap::im2col(TensorElement::U32, x, &sizes, &strides, [&lower, &upper], [8, 60]);
            let map = map.element_stride(&[1, step, step, 1]);
            let start = machine.upload(&base);
            let (w, h) = (Argument::from(offset[0]), Argument::from(offset[1]));
            machine.run("columns", Grid::new(1, 32), &[encoded(&map), start.into(), out.into(), 1920_u32.into(), w, h]);
            let mut expected = Vec::new();
            let [c, mut w, mut h, mut n] = base;
            let step = step as i32;
            for _ in 0..60 {
                let (x, y) = (w + i32::from(offset[0]), h + i32::from(offset[1]));
                let inside = (0..SIZES[1]).contains(&x) && (0..SIZES[2]).contains(&y) && n < SIZES[3];
                let pixel = ((n * SIZES[2] + y) * SIZES[1] + x) * SIZES[0] + c;
                expected.extend((0..8).map(|channel| match inside && c + channel < SIZES[0] {
                    true => (pixel + channel) as u32,
                    false => 0,
                }));
                w += step;
                if w > SIZES[1] - 1 + i32::from(upper[0]) {
                    (w, h) = (lower[0].into(), h + step);
                }
                if h > SIZES[2] - 1 + i32::from(upper[1]) {
                    (h, n) = (lower[1].into(), n + 1);
                }
            }
            assert_eq!(machine.download::<u32>(out, 480), expected, "corners {lower:?} and {upper:?}");
        }
        // Back, without offsets: the pixels are those of the first images in order.
        let data: Vec<u32> = random(480);
        let from = machine.upload(&data);
        let y = machine.upload(&vec![5_u32; count as usize]);
        let map = TensorMap::im2col(TensorElement::U32, y, &sizes, &strides, [&[0, 0], &[0, 0]], [8, 60]);
        for add in [0, 1] {
            machine.run("columns_back", Grid::new(1, 32), &[encoded(&map), from.into(), 1920_u32.into(), add.into()]);
            let mut expected = vec![5; count as usize];
            for (pixel, channels) in data.chunks(8).enumerate() {
                let twice = |value: u32| if add == 1 { value.wrapping_mul(2) } else { value };
                (0..8).for_each(|channel| expected[16 * pixel + channel] = twice(channels[channel]));
            }
            assert_eq!(machine.download::<u32>(y, count as usize), expected, "added: {add}");
        }
    });
}

#[test]
fn copies_are_multicast_to_a_cluster() {
    each(SUITE, |machine| {
        for size in [2_u32, 4, 8] {
            let x = counted(machine, 16 * 64);
            let out = machine.upload(&vec![0_u32; (96 * size * size) as usize]);
            let map = encoded(&TensorMap::tiled(TensorElement::U32, x, &[16, 64], &[64], &[16, 4]));
            let grid = Grid::new(size, 32).cluster(size).shared(8192);
            machine.run("multicast", grid, &[map, x.into(), out.into()]);
            let one: Vec<u32> = (0..64 * size).chain(0..32 * size).collect();
            assert_eq!(machine.download::<u32>(out, (96 * size * size) as usize), one.repeat(size as usize), "{size}");
        }
    });
}

#[test]
fn blocks_write_to_each_other() {
    each(SUITE, |machine| {
        let x: Vec<i32> = random(256).iter().map(|bits| (bits % 2000) as i32 - 1000).collect();
        let (px, out) = (machine.upload(&x), machine.upload(&[0_i32; 8 * 130]));
        machine.run("remote", Grid::new(8, 32), &[px.into(), out.into()]);
        for (block, found) in machine.download::<i32>(out, 8 * 130).chunks(130).enumerate() {
            let before = block & !3 | (block + 3) & 3;
            let own = &x[32 * before..][..32];
            assert_eq!(found[..32], own.iter().map(|x| x * 3).collect::<Vec<_>>());
            assert_eq!(found[32..64], own.iter().map(|x| x + 1000).collect::<Vec<_>>());
            assert_eq!(found[64..96], *own);
            assert_eq!(found[96..128], [7; 32]);
            assert_eq!(found[128..], [own.iter().sum::<i32>(), *own.iter().max().unwrap()]);
        }
    });
}

#[test]
fn arrays_are_reduced_into_memory() {
    each(SUITE, |machine| {
        let (old, new) = (random(16), random(17));
        let new = &new[1..];
        let run = |kind: i32, old: &[u32], new: &[u32]| {
            let (x, y) = (machine.upload(new), machine.upload(old));
            machine.run("bulk_reduce", Grid::new(1, 32), &[y.into(), x.into(), kind.into(), 16_i32.into()]);
            machine.download::<u32>(y, 16)
        };
        let each = |change: &dyn Fn(u32, u32) -> u32| -> Vec<u32> {
            old.iter().zip(new).map(|(a, b)| change(*a, *b)).collect()
        };
        assert_eq!(run(0, &old, new), each(&u32::wrapping_add));
        assert_eq!(run(1, &old, new), each(&|a, b| (a as i32).min(b as i32) as u32));
        assert_eq!(run(6, &old, new), each(&|a, b| if a == 0 || a > b { b } else { a - 1 }));
        assert_eq!(run(7, &old, new), each(&|a, b| a | b));
        // Subnormal numbers are not flushed.
        let bits = |list: [f32; 16]| list.map(f32::to_bits);
        let (mut a, mut b) = ([1.5_f32; 16], [2.25_f32; 16]);
        (a[1], b[1], a[2], b[2]) = (1e-40, 1e-40, f32::MIN_POSITIVE * 1.5, -f32::MIN_POSITIVE);
        let mut sums = [3.75; 16];
        (sums[1], sums[2]) = (1e-40 + 1e-40, f32::MIN_POSITIVE * 0.5);
        assert_eq!(run(2, &bits(a), &bits(b)), bits(sums));
        let words = |list: [f64; 8]| -> Vec<u32> {
            list.iter().flat_map(|x| [x.to_bits() as u32, (x.to_bits() >> 32) as u32]).collect()
        };
        assert_eq!(run(3, &words([1.5; 8]), &words([0.1; 8])), words([1.6; 8]));
        let halves = |x: f32| vec![u32::from(f16::from_f32(x).to_bits()) * 0x1_0001; 16];
        assert_eq!(run(4, &halves(1.5), &halves(-4.0)), halves(-2.5));
        let wide = |list: &[i64]| -> Vec<u32> { list.iter().flat_map(|x| [*x as u32, (*x >> 32) as u32]).collect() };
        assert_eq!(
            run(5, &wide(&[-5, 7, 0, 1, 2, 3, 4, 5]), &wide(&[-9, 8, 1, 0, -2, 9, 4, 6])),
            wide(&[-5, 8, 1, 1, 2, 9, 4, 6])
        );
    });
}

#[test]
fn stages_of_a_pipeline_are_filled_by_tensor_copies() {
    each(SUITE, |machine| {
        const ROUNDS: u32 = 11;
        let x = counted(machine, 32 * 4 * ROUNDS);
        let sums = machine.upload(&[0_u32; 64]);
        let map = encoded(&TensorMap::tiled(TensorElement::U32, x, &[32, (4 * ROUNDS).into()], &[128], &[32, 4]));
        machine.run("pipeline", Grid::new(1, 96).shared(2048), &[map, sums.into(), (ROUNDS as i32).into()]);
        let sum = |t: u32| (0..ROUNDS).map(|round| (128 * round + t) * (round + 1) + 128 * round + 64 + t).sum();
        assert_eq!(machine.download::<u32>(sums, 64), (0..64).map(sum).collect::<Vec<u32>>());
    });
}

/// Copies that are kept show each wait that is left out; a kernel that waits for all is right with any seed.
#[test]
fn missing_waits_show() {
    let memory = Memory::new();
    let module = Module::load(SUITE, &memory).unwrap();
    let x: Vec<i32> = (100..164).collect();
    let (px, y) = (memory.upload(&x), memory.allocate(4 * 192));
    let reversed: Vec<i32> = x.iter().rev().copied().collect();
    for delay in [None, Some(0), Some(1), Some(99)] {
        for waits in 0..8_i32 {
            let options = Options { delay, ..Options::default() };
            let arguments = [px.into(), y.into(), waits.into()];
            module.kernel("waiting").unwrap().launch_with(Grid::new(1, 64), &arguments, &options).unwrap();
            let found = memory.download::<i32>(y, 192).unwrap();
            for (part, found) in found.chunks(64).enumerate() {
                // An mbarrier that tracks copies completes those before it, too.
                let waited = waits >> part & 1 == 1 || part == 1 && waits & 4 != 0 || delay.is_none();
                let expected = if waited { reversed.clone() } else { vec![-1; 64] };
                assert_eq!(found, expected, "part {part} with the waits {waits:03b} and the seed {delay:?}");
            }
        }
        for waits in [0, 1_i32] {
            let options = Options { delay, ..Options::default() };
            module
                .kernel("reading")
                .unwrap()
                .launch_with(Grid::new(1, 64), &[y.into(), waits.into()], &options)
                .unwrap();
            let right = delay.is_none() || waits == 1;
            let expected: Vec<i32> = (0..64).map(|t| if t < 32 && !right { -1 } else { t }).collect();
            assert_eq!(memory.download::<i32>(y, 64).unwrap(), expected, "waits {waits}, seed {delay:?}");
        }
    }
}

#[test]
fn rows_are_gathered_and_scattered() {
    each(ROWS, |machine| {
        const WIDTH: u32 = 48;
        for swizzle in [Swizzle::None, Swizzle::Bytes128] {
            for add in [0, 1] {
                let x = counted(machine, WIDTH * 20);
                let map =
                    TensorMap::tiled(TensorElement::U32, x, &[WIDTH.into(), 20], &[u64::from(4 * WIDTH)], &[32, 1]);
                let (from, to) = ([3, 17, 0, -1], [9, 2, 10, 30]);
                let (pf, pt) = (machine.upload(&from), machine.upload(&to));
                let arguments = [encoded(&map.swizzle(swizzle)), pf.into(), pt.into(), 8_i32.into(), add.into()];
                machine.run("rows", Grid::new(1, 1), &arguments);
                let mut expected: Vec<u32> = (0..WIDTH * 20).collect();
                for (from, to) in [(3, 9), (17, 2), (0, 10)] {
                    for j in 8..40 {
                        let (from, to) = (from * WIDTH + j, to * WIDTH + j);
                        expected[to as usize] = if add == 1 { from + to } else { from };
                    }
                }
                assert_eq!(machine.download::<u32>(x, expected.len()), expected, "{swizzle:?}, added: {add}");
            }
        }
    });
}

#[test]
fn pixels_along_one_row_of_images() {
    const SIZES: [i32; 4] = [8, 9, 7, 20];
    each(ROWS, |machine| {
        let x = counted(machine, SIZES.iter().product::<i32>() as u32);
        let out = machine.upload(&[0_u32; 2048]);
        let strides = [32, 32 * 9, 32 * 9 * 7];
        for (fixed, pixels) in [(0_i32, 40), (1, 128)] {
            let (lower, upper, offset) = (-1, -1, 1_u16);
            let corners: [&[i16]; 2] = [&[lower, 0], &[upper, 0]];
            let map =
                TensorMap::im2col(TensorElement::U32, x, &SIZES.map(|size| size as u64), &strides, corners, [8, 40]);
            let map = map.element_stride(&[1, 2, 1, 1]).swizzle(Swizzle::Bytes32);
            let bytes = 32 * pixels as u32;
            let arguments = [
                encoded(&map),
                out.into(),
                bytes.into(),
                0.into(),
                3.into(),
                5.into(),
                2.into(),
                offset.into(),
                fixed.into(),
            ];
            machine.run("along", Grid::new(1, 32), &arguments);
            let (mut w, mut n) = (3 + 1, 2);
            for pixel in 0..pixels {
                let inside = (0..SIZES[1]).contains(&w) && n < SIZES[3];
                let first = ((n * SIZES[2] + 5) * SIZES[1] + w) * SIZES[0];
                let expected = (0..8).map(|c| if inside { (first + c) as u32 } else { 0 });
                let found = machine.download::<u32>(out + 32 * pixel as u64, 8);
                // Rows of 32 bytes, four to a line of 128: in odd lines the two halves of each row are swapped.
                let found = if pixel / 4 % 2 == 1 { [&found[4..], &found[..4]].concat() } else { found };
                assert_eq!(found, expected.collect::<Vec<_>>(), "pixel {pixel}");
                w += 2;
                if w > SIZES[1] - 1 + i32::from(upper) + 1 {
                    (w, n) = (i32::from(lower) + 1, n + 1);
                }
            }
        }
    });
}

#[test]
fn pairs_of_blocks_signal_one_barrier() {
    each(ROWS, |machine| {
        let x = counted(machine, 32 * 8);
        let out = machine.upload(&[0_u32; 512]);
        for all in [0_i32, 1] {
            let map = encoded(&TensorMap::tiled(TensorElement::U32, x, &[32, 8], &[128], &[32, 4]));
            machine.run("pairs", Grid::new(2, 32), &[map, out.into(), all.into()]);
            let found = machine.download::<u32>(out, 512);
            let whole: Vec<u32> = (0..256).collect();
            let parts = [(0..128, 0..128), (384..512, 128..256)];
            match all {
                1 => assert_eq!(found, [whole.clone(), whole].concat()),
                _ => parts.into_iter().for_each(|(place, part)| assert_eq!(found[place], whole[part])),
            }
        }
    });
}

#[test]
fn clusters_that_have_not_begun_are_cancelled() {
    each(CANCEL, |machine| {
        let (done, blocks) = (machine.upload(&[0_u32; 60]), machine.upload(&[0_u32]));
        machine.run("steal", Grid { blocks: [10, 6, 1], ..Grid::new(1, 32) }, &[done.into(), blocks.into()]);
        assert_eq!(machine.download::<u32>(done, 60), [32; 60]);
        let begun = machine.download::<u32>(blocks, 1)[0];
        assert!(begun < 60, "{begun} blocks began");

        let (done, blocks) = (machine.upload(&[0_u32; 40]), machine.upload(&[0_u32]));
        machine.run("steal_pairs", Grid::new(40, 1), &[done.into(), blocks.into()]);
        assert_eq!(machine.download::<u32>(done, 40), [1; 40]);
        let begun = machine.download::<u32>(blocks, 1)[0];
        assert!(begun < 40 && begun % 2 == 0, "{begun} blocks began");
    });
}

#[test]
fn what_is_no_tensor_map_is_an_error() {
    let memory = Memory::new();
    let module = Module::load(SUITE, &memory).unwrap();
    let x = memory.allocate(4096);
    let good = TensorMap::tiled(TensorElement::U32, x, &[16, 8], &[64], &[16, 4]);
    let launch = |map: Vec<u8>| {
        let arguments =
            [Argument::bytes(map.clone()), Argument::bytes(map), x.into(), 256_u32.into(), 0_i32.into(), 0_i32.into()];
        // A box of another size never completes the barrier's phase.
        let options = Options { limit: 20_000, ..Options::default() };
        module.kernel("tile_2d").unwrap().launch_with(Grid::new(1, 32).shared(1024), &arguments, &options).map(|_| ())
    };
    let bytes = good.encode().unwrap();
    launch(bytes.to_vec()).unwrap();
    assert_eq!(launch(vec![0; 128]).unwrap_err().kind.name(), "tensor-map");
    // Any byte may be corrupted: the map may be invalid or name other memory, but the launch must not panic.
    for place in 0..128 {
        for change in [1, 0x80, 0xff] {
            let mut bytes = bytes.to_vec();
            bytes[place] ^= change;
            if let Err(error) = launch(bytes) {
                assert!(["tensor-map", "access", "deadlock", "limit"].contains(&error.kind.name()), "{place}: {error}");
            }
        }
    }
    let wrong = |map: TensorMap, part: &str| {
        let error = map.encode().unwrap_err();
        assert!(error.message.contains(part), "{error}");
    };
    let tiled =
        |sizes: &[u64], strides: &[u64], boxes: &[u32]| TensorMap::tiled(TensorElement::F16, x, sizes, strides, boxes);
    wrong(tiled(&[], &[], &[]), "1 to 5 dimensions");
    wrong(tiled(&[64, 8], &[], &[64, 8]), "1 strides, not 0");
    wrong(tiled(&[64, 8], &[100], &[64, 8]), "multiple of 16");
    wrong(tiled(&[64, 8], &[128], &[4, 8]), "multiple of 16 bytes");
    wrong(tiled(&[64, 8], &[128], &[64, 300]), "not 1 to 256");
    wrong(tiled(&[64, 8], &[128], &[64, 8]).swizzle(Swizzle::Bytes64), "128 bytes, and the swizzle mode takes 64");
    wrong(tiled(&[64, 8], &[128], &[64, 8]).element_stride(&[1, 9]), "not 1 to 8");
    wrong(TensorMap::tiled(TensorElement::U8, x, &[64], &[], &[64]).fill(Fill::Nan), "cannot be NaN");
    wrong(TensorMap::im2col(TensorElement::F16, x, &[64], &[], [&[], &[]], [64, 1]), "3 to 5 dimensions, not 1");
    let error = launch(
        TensorMap { global_dim: vec![16], global_stride: vec![], ..tiled(&[16], &[], &[16]) }
            .encode()
            .unwrap()
            .to_vec(),
    );
    assert!(error.unwrap_err().message.starts_with("the instruction is for tensors of 2 dimensions"));
}

#[test]
fn an_empty_copy_may_lie_anywhere() {
    let text = ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {
        .reg .b32 %r<2>; .reg .b64 %rd<5>; .reg .pred %p<2>;
        .shared .align 128 .b8 data[64]; .shared .align 8 .b64 bar;
        ld.param.u64 %rd2, [out];
        mbarrier.init.shared.b64 [bar], 1;
        mov.u32 %r1, 0;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [data+1], [%rd2+3], %r1, [bar];
        mbarrier.arrive.expect_tx.shared.b64 %rd3, [bar], 0;
        AGAIN: mbarrier.try_wait.shared.b64 %p1, [bar], %rd3;
        @!%p1 bra AGAIN;
        st.global.u32 [%rd2], 1;
        ret;
    }";
    each(text, |machine| {
        let out = machine.upload(&[0_u32]);
        machine.run("k", Grid::new(1, 1), &[out.into()]);
        assert_eq!(machine.download::<u32>(out, 1), [1]);
    });
}
