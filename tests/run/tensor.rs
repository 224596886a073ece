//! Tensor memory: a kernel that writes it, does one thing with it, and reads it back, held against the host and the
//! published model of products.

use crate::machine::{Machine, on_one_thread};
use crate::model::*;
use ptx_isa::run::{Error, Grid};

const BYTES: usize = 65536;
const HALF: usize = BYTES / 2;
/// Columns of tensor memory that the kernel writes and reads.
const WIDTH: usize = 128;
/// Columns of the first factor, and of the scale factors.
const LEFT: u64 = 64;
const SCALES: [u64; 2] = [80, 96];
/// Column of the metadata of a sparse first factor.
const METADATA: usize = 112;

fn names(prefix: &str, count: usize) -> String {
    (0..count).map(|index| format!("%{prefix}{index}")).collect::<Vec<_>>().join(", ")
}

/// A kernel of four warps: `once` is of one thread, `each` of each warp. Tensor memory begins at `%r7`, and at `%r8` for a
/// warp; parameters are in `%rd4` to `%rd6` and `%r6`.
fn kernel(once: &str, each: &str) -> String {
    let all = names("w", WIDTH);
    let list = |verb: &dyn Fn(usize) -> String| (0..WIDTH).map(|index| verb(index) + "\n").collect::<String>();
    let loads = list(&|index| format!("ld.global.b32 %w{index}, [%rd2+{}];", 4 * index));
    let stores = list(&|index| format!("st.global.b32 [%rd2+{}], %w{index};", 4 * index));
    let (shared, row) = (BYTES / 4, 4 * WIDTH);
    format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n\
        .shared .align 1024 .b8 memory[{BYTES}];\n.shared .align 8 .b64 done;\n.shared .align 4 .b32 place;\n\
        .visible .entry kernel(.param .u64 image, .param .u64 cells, .param .u64 a, .param .u64 b, .param .u32 shape)\n{{\n\
        .reg .b64 %rd<12>; .reg .b32 %r<16>; .reg .b32 %w<{WIDTH}>; .reg .b32 %v<128>; .reg .pred %p<8>;\n\
        ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [cells]; ld.param.u64 %rd4, [a]; ld.param.u64 %rd5, [b]; ld.param.u32 %r6, [shape];\n\
        mov.u32 %r1, %tid.x; mov.u32 %r2, memory; mov.u32 %r3, %r1;\n\
        COPY:\n\
        mul.wide.u32 %rd7, %r3, 4; add.s64 %rd7, %rd1, %rd7; ld.global.b32 %r4, [%rd7];\n\
        mad.lo.s32 %r5, %r3, 4, %r2; st.shared.b32 [%r5], %r4;\n\
        add.s32 %r3, %r3, 128; setp.lt.u32 %p1, %r3, {shared};\n\
        @%p1 bra COPY;\n\
        shr.u32 %r9, %r1, 5; setp.eq.u32 %p2, %r9, 0; setp.eq.u32 %p3, %r1, 0; setp.ne.u32 %p4, %r6, 0xffffffff;\n\
        @%p3 mbarrier.init.shared::cta.b64 [done], 1;\n\
        @%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 256;\n\
        @%p2 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n\
        bar.sync 0;\n\
        ld.shared.b32 %r7, [place]; shl.b32 %r8, %r9, 21; add.s32 %r8, %r8, %r7;\n\
        mul.wide.u32 %rd7, %r1, {row}; add.s64 %rd2, %rd2, %rd7;\n\
        {loads}\
        tcgen05.st.sync.aligned.32x32b.x{WIDTH}.b32 [%r8], {{{all}}};\n\
        tcgen05.wait::st.sync.aligned;\n\
        {each}\n\
        tcgen05.fence::before_thread_sync;\n\
        bar.sync 0;\n\
        tcgen05.fence::after_thread_sync;\n\
        @!%p3 bra WAIT;\n\
        {once}\n\
        tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];\n\
        WAIT:\n\
        mbarrier.try_wait.parity.shared::cta.b64 %p5, [done], 0;\n\
        @!%p5 bra WAIT;\n\
        tcgen05.ld.sync.aligned.32x32b.x{WIDTH}.b32 {{{all}}}, [%r8];\n\
        tcgen05.wait::ld.sync.aligned;\n\
        {stores}\
        bar.sync 0;\n\
        @%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7, 256;\n\
        ret;\n}}\n"
    )
}

/// Runs a kernel with what shared and tensor memory hold, and returns what tensor memory holds then.
fn run(text: &str, image: &[u8], cells: &[u32], words: [u64; 2], shape: u32, check: impl Fn(Result<Vec<u32>, Error>)) {
    on_one_thread(text, |machine: &Machine| {
        let (image, held) = (machine.upload(image), machine.upload(cells));
        let arguments = [image.into(), held.into(), words[0].into(), words[1].into(), shape.into()];
        let ran = machine.try_run("kernel", Grid::new(1, 128), &arguments);
        check(ran.map(|_| machine.download::<u32>(held, 128 * WIDTH)));
    });
}

/// Cells that all differ.
fn different() -> Vec<u32> {
    (0..128 * WIDTH as u32).map(|index| index.wrapping_mul(0x9e37_79b9) ^ 0x1234_5678).collect()
}

/// Lane and column of a register of a lane, by shape, after the figures; the second half of the lanes of `16x32bx2` is
/// some columns away.
fn place(shape: &str, lane: usize, register: usize, distance: usize) -> (usize, usize) {
    match shape {
        "32x32b" => (lane, register),
        "16x64b" => (lane / 4 + lane % 2 * 8, lane / 2 % 2 + 2 * register),
        "16x128b" => (lane / 4 + register % 2 * 8, lane % 4 + register / 2 * 4),
        "16x256b" => (lane / 4 + register / 2 % 2 * 8, lane % 4 * 2 + register % 2 + register / 4 * 8),
        _ => (lane % 16, register + lane / 16 * distance),
    }
}

#[test]
fn registers_by_shape() {
    for (shape, count, registers) in
        [("32x32b", 4, 4), ("16x64b", 8, 8), ("16x128b", 4, 8), ("16x256b", 2, 8), ("16x32bx2", 8, 8)]
    {
        for (packed, low) in [(false, 0), (true, 0), (false, 16)] {
            if shape == "32x32b" && low != 0 {
                continue;
            }
            let distance = 40;
            let list = names("v", registers);
            let half = if shape == "16x32bx2" { format!(", {distance}") } else { String::new() };
            let (pack, unpack) = if packed { (".pack::16b", ".unpack::16b") } else { ("", "") };
            // From here to another place, in the same lanes.
            let each = format!(
                "add.s32 %r10, %r8, {}; add.s32 %r11, %r10, 64;\n\
                tcgen05.ld.sync.aligned.{shape}.x{count}{pack}.b32 {{{list}}}, [%r10]{half};\n\
                tcgen05.wait::ld.sync.aligned;\n\
                {}\
                tcgen05.st.sync.aligned.{shape}.x{count}{unpack}.b32 [%r11]{half}, {{{list}}};\n\
                tcgen05.wait::st.sync.aligned;",
                low << 16,
                (0..registers).map(|index| format!("xor.b32 %v{index}, %v{index}, %r1;\n")).collect::<String>()
            );
            let cells = different();
            let mut expected = cells.clone();
            for (thread, register) in (0..128).flat_map(|thread| (0..registers).map(move |register| (thread, register)))
            {
                let (lane, column) = place(shape, thread % 32, register, 0);
                let behind = if shape == "16x32bx2" && thread % 32 >= 16 { distance } else { 0 };
                let row = thread / 32 * 32 + low + lane;
                let at = |column: usize| row * WIDTH + behind + column;
                if packed {
                    let word = (cells[at(2 * column)] & 0xffff) | cells[at(2 * column + 1)] << 16;
                    let word = word ^ thread as u32;
                    (expected[at(64 + 2 * column)], expected[at(65 + 2 * column)]) = (word & 0xffff, word >> 16);
                } else {
                    expected[at(64 + column)] = cells[at(column)] ^ thread as u32;
                }
            }
            run(&kernel("", &each), &[0; BYTES], &cells, [0; 2], 0, |found| {
                let found = found.unwrap_or_else(|error| panic!("{shape}: {error}"));
                let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
                assert_eq!(wrong.map(|at| (at / WIDTH, at % WIDTH)), None, "{shape}{pack}, lanes from {low} on");
            });
        }
    }
}

#[test]
fn accesses_that_are_wrong() {
    let fails = |each: &str, what: &str| {
        run(&kernel("", each), &[0; BYTES], &different(), [0; 2], 0, |found| {
            let error = found.unwrap_err();
            assert_eq!(error.kind.name(), "access", "{error}");
            assert!(error.to_string().contains(what), "{error}");
        });
    };
    fails("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v0}, [%r7];", "lanes");
    fails("add.s32 %r10, %r8, 256; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v0}, [%r10];", "not allocated");
    fails("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7, 128;", "128 columns");
}

#[test]
fn copies_from_shared_memory() {
    for (words, rows, group, shape, lanes) in [
        (8, 128, 32, ".128x256b", &[(0, 32)][..]),
        (8, 4, 1, ".4x256b", &[(0, 32)]),
        (4, 128, 32, ".128x128b", &[(0, 32)]),
        (4, 64, 32, ".64x128b.warpx2::02_13", &[(0, 32), (64, 32)]),
        (4, 64, 32, ".64x128b.warpx2::01_23", &[(0, 64), (32, 64)]),
        (4, 32, 32, ".32x128b.warpx4", &[(0, 32), (32, 32), (64, 32), (96, 32)]),
    ] {
        for (format, width) in [("", 32), (".b8x16.b4x16_p64", 4), (".b8x16.b6x16_p32", 6)] {
            let bytes = 4 * words;
            let laid = laid(0, false);
            let mut random = Random::new(rows as u64 + width);
            let image: Vec<u8> = (0..BYTES).map(|_| random.next() as u8).collect();
            let word = laid.tensor_descriptor(8, rows, bytes, 0);
            // A byte of a row: as it is, or an element of the 16 bytes that it belongs to.
            let byte = |row: usize, place: usize| -> u32 {
                let first = laid.bit(8, (rows, bytes), 0, (row, place / 16 * 16)) / 8;
                let unit = u128::from_le_bytes(image[first..][..16].try_into().unwrap());
                let place = place % 16;
                match width {
                    4 => ((unit >> (4 * place)) as u32 & 15) << 2,
                    6 => (unit >> (6 * place)) as u32 & 63,
                    _ => (unit >> (8 * place)) as u32 & 255,
                }
            };
            let cells = different();
            let mut expected = cells.clone();
            for (row, column) in (0..rows).flat_map(|row| (0..words).map(move |column| (row, column))) {
                let value = (0..4).fold(0, |value, part| value | byte(row, 4 * column + part) << (8 * part));
                for (first, spread) in lanes {
                    expected[(first + row / group * spread + row % group) * WIDTH + 3 + column] = value;
                }
            }
            let once = format!("add.s32 %r10, %r7, 3; tcgen05.cp.cta_group::1{shape}{format} [%r10], %rd4;");
            run(&kernel(&once, ""), &image, &cells, [word, 0], 0, |found| {
                let found = found.unwrap_or_else(|error| panic!("{shape}{format}: {error}"));
                let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
                assert_eq!(wrong.map(|at| (at / WIDTH, at % WIDTH)), None, "{shape}{format}");
            });
        }
    }
}

/// A thread of one block copies in both, from the shared memory of each.
#[test]
fn copies_in_pairs_of_blocks() {
    const OTHER: u32 = 0x1234_5678;
    let bytes = 4 * 128 * WIDTH;
    let each = format!(
        ".shared .align 8 .b64 both; .reg .b16 %all; .reg .pred %q;\n\
        mov.u32 %r10, %cluster_ctarank; setp.eq.and.u32 %p6, %r10, 0, %p3; setp.eq.and.u32 %q, %r10, 1, %p3;\n\
        mad.wide.u32 %rd2, %r10, {bytes}, %rd2;\n\
        @%q st.shared.b32 [%r2], {OTHER}; @%p3 mbarrier.init.shared::cta.b64 [both], 1;\n\
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n\
        add.s32 %r10, %r7, 3; mov.u16 %all, 3;\n\
        @%p6 tcgen05.cp.cta_group::2.128x128b [%r10], %rd4;\n\
        @%p6 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [both], %all;\n\
        BOTH: mbarrier.try_wait.parity.shared::cta.b64 %p5, [both], 0; @!%p5 bra BOTH;"
    );
    let laid = laid(0, false);
    let mut random = Random::new(31);
    let image: Vec<u8> = (0..BYTES).map(|_| random.next() as u8).collect();
    let word = |row: usize, column: usize| {
        let at = laid.bit(8, (128, 16), 0, (row, 4 * column)) / 8;
        u32::from_le_bytes(image[at..][..4].try_into().unwrap())
    };
    let mut expected = different();
    for (row, column) in (0..128).flat_map(|row| (0..4).map(move |column| (row, column))) {
        expected[row * WIDTH + 3 + column] = word(row, column);
    }
    let mut other = expected.clone();
    other[3] = OTHER;
    on_one_thread(&kernel("", &each).replace(".cta_group::1", ".cta_group::2"), |machine| {
        let (source, held) = (machine.upload(&image), machine.upload(&[different(), different()].concat()));
        let descriptor = laid.tensor_descriptor(8, 128, 16, 0);
        let arguments = [source.into(), held.into(), descriptor.into(), 0_u64.into(), 0_u32.into()];
        machine.run("kernel", Grid::new(2, 128).cluster(2), &arguments);
        let found = machine.download::<u32>(held, 2 * 128 * WIDTH);
        for (block, (found, expected)) in found.chunks(128 * WIDTH).zip([&expected, &other]).enumerate() {
            let wrong = found.iter().zip(expected).position(|(found, expected)| found != expected);
            assert_eq!(wrong.map(|at| (at / WIDTH, at % WIDTH)), None, "block {block}");
        }
    });
}

#[derive(Clone, Copy)]
struct Case {
    kind: &'static str,
    types: [&'static str; 3],
    /// Width of the place of an element in shared memory.
    bits: usize,
    size: [usize; 2],
    /// The first factor; none if tensor memory holds it.
    a: Option<Laid>,
    b: Laid,
    negative: [bool; 2],
    keep: bool,
    stationary: bool,
    scales: (usize, &'static str, usize),
    off: Option<[u32; 4]>,
    power: i32,
    clamp: bool,
    /// The sparsity selector, if the first factor is sparse.
    sparse: Option<usize>,
    /// Which columns of the second factor are zero.
    zero: Option<Zeros>,
    /// True if rows have 96 elements; their last third lies elsewhere.
    deep: bool,
}

/// For each part of the columns where its first run begins, and whether that is of zeros; the lengths of runs of zero and of used columns;
/// and a shift.
type Zeros = ([(usize, bool); 4], [usize; 2], usize);

/// Where rows of 96 elements begin in their 128 bytes, and where they go on.
const LAST: usize = 96;
const NEXT: usize = HALF / 2;

fn case(kind: &'static str, types: [&'static str; 3], bits: usize, size: [usize; 2]) -> Case {
    Case {
        kind,
        types,
        bits,
        size,
        a: Some(laid(1, false)),
        b: laid(1, false),
        negative: [false; 2],
        keep: true,
        stationary: false,
        scales: (0, "", 0),
        off: None,
        power: 0,
        clamp: false,
        sparse: None,
        zero: None,
        deep: false,
    }
}

/// For each column whether it is zero: runs alternate in each part of the columns.
fn zeros(starts: &[(usize, bool); 4], lengths: [usize; 2], parts: usize, columns: usize) -> Vec<bool> {
    let of_part = |(start, first): &(usize, bool)| {
        let runs = [(*first, lengths[usize::from(!first)]), (!first, lengths[usize::from(*first)])];
        let all = runs.into_iter().flat_map(|(zero, count)| std::iter::repeat_n(zero, count)).collect::<Vec<_>>();
        all.into_iter().cycle().skip(*start).take(columns / parts).collect::<Vec<_>>()
    };
    starts[..parts].iter().flat_map(of_part).collect()
}

fn code(list: &[&str], ty: &str) -> u32 {
    list.iter().position(|one| *one == ty).unwrap_or_else(|| panic!("{ty}")) as u32
}

fn width(ty: &str) -> usize {
    match ty {
        "e2m1" => 4,
        "e2m3" | "e3m2" => 6,
        "f16" | "bf16" => 16,
        "tf32" => 32,
        _ => 8,
    }
}

/// Bits of an integer element.
fn integer(ty: &str, bits: u64) -> i64 {
    if ty == "s8" { (bits as i8).into() } else { (bits & 0xff) as i64 }
}

fn check(case: Case) {
    let Case { kind, types: [x, y, to], bits, size: [m, n], .. } = case;
    let stored = if case.deep { 96 } else { 256 / bits };
    let k = if case.sparse.is_some() { 2 * stored } else { stored };
    let whole = to == "s32";
    let (count, scale, part) = case.scales;
    let wide = ["e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"];
    let elements: &[&str] = match kind {
        "f16" => &["f16", "bf16"],
        "tf32" => &["", "", "tf32"],
        "i8" => &["u8", "s8"],
        "mxf4" | "mxf4nvf4" => &["", "e2m1"],
        _ => &wide,
    };
    let flag = |index: u32, set: bool| u32::from(set) << index;
    let mut shape = code(elements, x) << 7 | code(elements, y) << 10 | (n as u32 / 8) << 17;
    shape |= flag(13, case.negative[0]) | flag(14, case.negative[1]);
    shape |= flag(15, case.a.is_some_and(|a| a.transposed)) | flag(16, case.b.transposed);
    shape |= match count {
        0 => code(&["f16", "f32", "s32"], to) << 4 | (m as u32 / 16) << 24 | flag(3, case.clamp),
        _ => (m as u32 / 128) << 27 | flag(23, scale == "ue8m0") | (part as u32) << 4 | (part as u32) << 29,
    };
    let columns = n + case.zero.map_or(0, |(_, _, shift)| shift.next_multiple_of(8));
    shape |= flag(31, case.deep) | flag(2, case.sparse.is_some()) | case.sparse.unwrap_or(0) as u32;
    shape |= case.zero.map_or(0, |(_, _, shift)| if shift > 0 { 3 << 30 } else { 0 });
    let ws = if case.stationary { ".ws" } else { "" };
    let left = if case.a.is_some() { "%rd4".to_owned() } else { "[%r10]".to_owned() };
    let block = match (kind, count) {
        ("mxf4nvf4", 2) => ".block_scale.block32",
        ("mxf4nvf4", _) => ".block_scale.block16",
        (_, 0) => "",
        _ => ".block_scale",
    };
    let scales = if count == 0 { "" } else { "[%r11], [%r12], " };
    let off = if case.off.is_some() { "{%r13, %r14, %r15, %r9}, " } else { "" };
    let power = if case.power == 0 { String::new() } else { format!(", {}", case.power) };
    let mut once =
        format!("add.s32 %r10, %r7, {LEFT}; add.s32 %r11, %r7, {}; add.s32 %r12, %r7, {};\n", SCALES[0], SCALES[1]);
    // Which byte the scale factors begin at, addresses may say again.
    once += &format!("or.b32 %r11, %r11, {0}; or.b32 %r12, %r12, {0};\n", (part as u32) << 30);
    once += &format!("add.s32 %r3, %r7, {METADATA};\n");
    let zero = case.zero.map_or(0, |(starts, [zero, used], shift)| {
        let start = (0..4).map(|part| (starts[part].0 as u64) << (8 * part) | u64::from(starts[part].1) << (32 + part));
        start.sum::<u64>() | 1 << 39 | (zero as u64 - 1) << 40 | (used as u64 - 1) << 48 | (shift as u64) << 56
    });
    once += &format!("mov.u64 %rd8, {zero};\n");
    let (sp, metadata) = if case.sparse.is_some() { (".sp", "[%r3], ") } else { ("", "") };
    let mask = if case.zero.is_some() { ", %rd8" } else { "" };
    if let Some([a, b, c, d]) = case.off {
        once += &format!("mov.u32 %r13, {a}; mov.u32 %r14, {b}; mov.u32 %r15, {c}; mov.u32 %r9, {d};\n");
    }
    once += &format!("setp.eq.u32 %p6, 1, {};\n", u32::from(case.keep));
    let line = format!(
        "tcgen05.mma{ws}{sp}.cta_group::1.kind::{kind}{block} [%r7], {left}, %rd5, {metadata}%r6, {scales}{off}%p6{power}{mask};"
    );
    let text = kernel(&(once + &line), "");
    let mut random = Random::new(bits as u64 * 131 + m as u64 + n as u64);
    for round in [1, 0] {
        // Quotients and products with scale factors are exact if they are not subnormal.
        let round = if count > 0 || case.power != 0 { 1 } else { round };
        let mut fill = |count: usize, ty: &str| -> Vec<u64> {
            let number = |random: &mut Random| if whole { random.next() >> 7 & 0xff } else { input(random, ty, round) };
            (0..count).map(|_| number(&mut random)).collect()
        };
        let (a, b) = (fill(m * stored, x), fill(columns * k, y));
        let c: Vec<u64> = if whole {
            let ends = [i32::MAX, i32::MIN, 5];
            (0..m * n).map(|index| u64::from(ends[index % 3] as u32)).collect()
        } else {
            fill(m * n, to)
        };
        let mut image = vec![0_u8; BYTES];
        // Elements of less than a byte are packed from the start of their 16 bytes on.
        let mut put = |laid: Laid, rows: usize, start: usize, at: (usize, usize), ty: &str, value: u64| {
            let unit = 128 / bits;
            let (row, l) = at;
            let size = (rows, if start == 0 { stored } else { k });
            let (start, l) = match case.deep && start == 0 {
                true if l < 64 => (start, l + 2 * LAST),
                true => (NEXT, l - 64),
                false => (start, l),
            };
            let at = (row, l);
            let bit = if laid.transposed || width(ty) == bits {
                laid.bit(bits, size, start, at)
            } else {
                laid.bit(bits, size, start, (row, l / unit * unit)) + l % unit * width(ty)
            };
            let value = value & (u64::MAX >> (64 - width(ty)));
            (0..width(ty))
                .for_each(|index| image[(bit + index) / 8] |= ((value >> index & 1) as u8) << ((bit + index) % 8));
        };
        let mut words = [0; 2];
        if let Some(laid) = case.a {
            words[0] = laid.tensor_descriptor(bits, m, stored, 0);
            if case.deep {
                let next = 0x3fff << 16;
                words[0] = words[0] & !next | (NEXT as u64) << 12 | LAST as u64 >> 4 | 1 << 52;
            }
            (0..m * stored).for_each(|index| put(laid, m, 0, (index / stored, index % stored), x, a[index]));
        }
        words[1] = case.b.tensor_descriptor(bits, columns, k, HALF);
        (0..columns * k).for_each(|index| put(case.b, columns, HALF, (index / k, index % k), y, b[index]));
        // Lane and column of an element of the result.
        let cell = |row: usize, column: usize| match (m, case.stationary) {
            (64, false) => (row % 16 + row / 16 * 32, column),
            (64, true) => (row + column / (n / 2) * 64, column % (n / 2)),
            (32, _) => (row + column / (n / 4) * 32, column % (n / 4)),
            _ => (row, column),
        };
        let mut cells = different();
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let (lane, at) = cell(row, column);
            cells[lane * WIDTH + at] = c[row * n + column] as u32;
        }
        if case.a.is_none() {
            for (row, word) in (0..m).flat_map(|row| (0..8).map(move |word| (row, word))) {
                let per = 32 / bits;
                let place = |value: u64| if bits == 8 && x == "e2m1" { value << 2 } else { value };
                let value =
                    (0..per).fold(0, |value, part| value | place(a[row * stored + word * per + part]) << (part * bits));
                cells[cell(row, 0).0 * WIDTH + LEFT as usize + word] = value as u32;
            }
        }
        let mut factors = [Vec::new(), Vec::new()];
        for (side, rows) in [m, n].into_iter().enumerate().filter(|_| count > 0) {
            for row in 0..rows {
                let one = if scale == "ue8m0" { 120 + random.next() % 12 } else { random.next() & 0x7f };
                let word = (0..8).fold(0, |word, index| word | ((one + index) & 0x7e) << (8 * index));
                // The fifth byte and those behind it are four columns to the right.
                let cell = row % 32 * WIDTH + SCALES[side] as usize + row / 32;
                (cells[cell], cells[cell + 4]) = (word as u32, (word >> 32) as u32);
                let count = if case.deep { count * 3 / 2 } else { count };
                factors[side].push((0..count).map(|index| word >> (8 * (part + index)) & 0xff).collect::<Vec<u64>>());
            }
        }
        let mut chosen = vec![Vec::new(); m];
        if let Some(selector) = case.sparse {
            let chunk = [(32, 2), (4, 8)].iter().find(|(width, _)| *width == bits).map_or(4, |(_, chunk)| *chunk);
            for (row, code) in (0..m).flat_map(|row| (0..k / chunk).map(move |code| (row, code))) {
                let (bits, places): (u32, &[usize]) = match (chunk, random.next() % 7) {
                    (2, even) if even % 2 == 0 => (0x4, &[0]),
                    (2, _) => (0xe, &[1]),
                    (_, 0) => (0x4, &[0, 1]),
                    (_, 1) => (0x8, &[0, 2]),
                    (_, 2) => (0xc, &[0, 3]),
                    (_, 3) => (0x9, &[1, 2]),
                    (_, 4) => (0xd, &[1, 3]),
                    (_, 5) => (0x6, &[2, 1]),
                    _ => (0xe, &[2, 3]),
                };
                let pair = if chunk == 8 { 2 } else { 1 };
                let elements = places.iter().flat_map(|place| (0..pair).map(move |within| place * pair + within));
                chosen[row].extend(elements.map(|place| code * chunk + place));
                for copy in (0..n).step_by(if case.stationary { n * m / 128 } else { n }) {
                    let line = cell(row, copy).0;
                    let (lane, column, digit) = match k / chunk {
                        8 => {
                            let lane = line / 32 * 32 + line % 32 / 16 * 16 + code / 4 * 8 + line % 8;
                            (lane, selector, line % 16 / 8 * 4 + code % 4)
                        }
                        _ => (line, code / 8, code % 8),
                    };
                    let word = &mut cells[lane * WIDTH + METADATA + column];
                    *word = *word & !(15 << (4 * digit)) | bits << (4 * digit);
                }
            }
        } else {
            chosen.fill((0..k).collect());
        }
        let masked = match &case.zero {
            Some((starts, lengths, _)) => zeros(starts, *lengths, 128 / m, n),
            None => vec![false; n],
        };
        let shift = case.zero.map_or(0, |(_, _, shift)| shift);
        let mut expected = cells.clone();
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let (lane, at) = cell(row, column);
            if case.off.is_some_and(|off| off[lane / 32] >> (lane % 32) & 1 == 1) {
                continue;
            }
            let flip = |side: usize, ty: &str| u64::from(case.negative[side]) << (width(ty) - 1);
            let left: Vec<u64> = (0..stored).map(|l| a[row * stored + l] ^ flip(0, x)).collect();
            let of_b = |l: &usize| if masked[column] { 0 } else { b[(column + shift) * k + l] ^ flip(1, y) };
            let right: Vec<u64> = chosen[row].iter().map(of_b).collect();
            let mut first = if case.keep { c[row * n + column] } else { 0 };
            if case.power != 0 {
                first = (f32::from_bits(first as u32) / 2_f32.powi(case.power)).to_bits().into();
            }
            expected[lane * WIDTH + at] = if whole {
                let terms = left.iter().zip(&right).map(|(a, b)| integer(x, *a) * integer(y, *b));
                let sum = i64::from(first as i32) + terms.sum::<i64>();
                if case.clamp { sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { sum as u32 }
            } else if count > 0 {
                let numbers = |ty: &str, list: &[u64]| list.iter().map(|bits| value(ty, *bits)).collect::<Vec<_>>();
                let scales = (&factors[0][row][..], &factors[1][column][..], scale);
                scaled_dot(&numbers(x, &left), &numbers(y, &right), first, scales, (x, y), count > 1) as u32
            } else {
                dot(&left, &right, first, (x, y, to, to), &Model { fraction: 25, step: stored, result: 23 }) as u32
            };
        }
        run(&text, &image, &cells, words, shape, |found| {
            let found = found.unwrap_or_else(|error| panic!("{line}: {error}"));
            let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            let wrong = wrong.map(|at| (at / WIDTH, at % WIDTH, found[at], expected[at]));
            assert_eq!(wrong, None, "{line}, {x} and {y}, {m}×{n}, round {round}");
        });
    }
}

#[test]
fn products_of_each_kind() {
    for m in [128, 64] {
        check(case("f16", ["f16", "f16", "f32"], 16, [m, 16]));
        check(case("f16", ["f16", "f16", "f16"], 16, [m, 8]));
        check(case("f16", ["bf16", "bf16", "f32"], 16, [m, 24]));
        check(case("tf32", ["tf32", "tf32", "f32"], 32, [m, 8]));
        check(case("i8", ["s8", "u8", "s32"], 8, [m, 8]));
        check(case("f8f6f4", ["e4m3", "e5m2", "f32"], 8, [m, 16]));
        check(case("f8f6f4", ["e5m2", "e4m3", "f16"], 8, [m, 8]));
    }
    for (x, y) in [("e2m1", "e4m3"), ("e3m2", "e2m1"), ("e5m2", "e2m3"), ("e2m3", "e3m2")] {
        check(case("f8f6f4", [x, y, "f32"], 8, [128, 8]));
    }
}

#[test]
fn products_of_each_place() {
    for swizzle in 0..4 {
        let plain = laid(swizzle, false);
        let turned = laid(swizzle, true);
        check(Case { a: Some(plain), b: turned, ..case("f16", ["f16", "f16", "f32"], 16, [64, 16]) });
        check(Case { a: Some(turned), b: plain, ..case("f8f6f4", ["e4m3", "e4m3", "f32"], 8, [64, 16]) });
        check(Case { a: None, b: plain, ..case("f16", ["bf16", "bf16", "f32"], 16, [128, 8]) });
    }
    check(Case { a: None, ..case("tf32", ["tf32", "tf32", "f32"], 32, [64, 8]) });
    check(Case { a: None, ..case("f8f6f4", ["e2m1", "e2m3", "f32"], 8, [128, 8]) });
    check(Case { a: None, ..case("i8", ["u8", "u8", "s32"], 8, [128, 8]) });
}

/// Sparse first factors; where their metadata is was read off the vendor's library, as the manual's text does not say.
#[test]
fn sparse_products() {
    let wide = laid(3, false);
    let sparse = |kind, types, bits, size, selector| {
        check(Case { b: wide, sparse: Some(selector), ..case(kind, types, bits, size) });
        check(Case { b: laid(0, false), sparse: Some(selector), ..case(kind, types, bits, size) });
    };
    for m in [128, 64] {
        sparse("f16", ["f16", "f16", "f32"], 16, [m, 16], 0);
        sparse("f16", ["bf16", "bf16", "f32"], 16, [m, 8], 1);
        sparse("tf32", ["tf32", "tf32", "f32"], 32, [m, 8], 1);
        sparse("i8", ["s8", "u8", "s32"], 8, [m, 8], 0);
        sparse("f8f6f4", ["e4m3", "e5m2", "f32"], 8, [m, 16], 0);
    }
    sparse("f8f6f4", ["e2m1", "e3m2", "f32"], 8, [128, 8], 0);
    let turned = Case { b: laid(3, true), sparse: Some(0), ..case("f16", ["f16", "f16", "f32"], 16, [128, 64]) };
    check(turned);
    let scaled = |kind, types, bits, scales| {
        check(Case { b: wide, sparse: Some(0), scales, ..case(kind, types, bits, [128, 16]) });
    };
    scaled("mxf8f6f4", ["e4m3", "e2m1", "f32"], 8, (1, "ue8m0", 1));
    scaled("mxf4", ["e2m1", "e2m1", "f32"], 4, (2, "ue8m0", 0));
    scaled("mxf4nvf4", ["e2m1", "e2m1", "f32"], 4, (4, "ue4m3", 0));
    for m in [128, 64, 32] {
        let half = case("f16", ["f16", "f16", "f32"], 16, [m, 32]);
        check(Case { stationary: true, b: wide, sparse: Some(1), ..half });
        check(Case { a: None, stationary: true, b: wide, sparse: Some(0), ..half });
    }
}

/// Rows of 96 elements, with three and six scale factors each.
#[test]
fn deep_products() {
    let deep = |kind, scales| {
        let types = ["e2m1", "e2m1", "f32"];
        check(Case {
            a: Some(laid(3, false)),
            b: laid(2, false),
            deep: true,
            scales,
            ..case(kind, types, 4, [128, 16])
        });
    };
    (0..4).for_each(|part| deep("mxf4", (2, "ue8m0", part)));
    [0, 2].into_iter().for_each(|part| deep("mxf4nvf4", (4, "ue4m3", part)));
}

/// The examples of the manual, and starts behind the first run.
#[test]
fn zero_columns() {
    let half = |m, n| Case { stationary: true, ..case("f16", ["f16", "f16", "f32"], 16, [m, n]) };
    let mask = |starts, shift| Some((starts, [3, 4], shift));
    check(Case { zero: mask([(0, false); 4], 0), ..half(128, 64) });
    check(Case { zero: mask([(0, true), (0, false), (0, false), (0, false)], 0), ..half(64, 64) });
    check(Case { zero: mask([(0, true), (1, true), (2, false), (1, false)], 2), ..half(32, 64) });
    check(Case { zero: mask([(0, true), (1, true), (2, false), (1, false)], 32), ..half(128, 32) });
    check(Case { zero: mask([(2, false), (2, true), (2, false), (1, false)], 0), ..half(64, 64) });
}

#[test]
fn signs_masks_and_powers() {
    let half = case("f16", ["f16", "f16", "f32"], 16, [128, 8]);
    check(Case { negative: [true, false], keep: false, ..half });
    check(Case { negative: [false, true], off: Some([1, 0xffff_0000, 0, 0x8000_0001]), ..half });
    check(Case { power: 3, ..case("tf32", ["tf32", "tf32", "f32"], 32, [64, 8]) });
    check(Case { clamp: true, ..case("i8", ["s8", "s8", "s32"], 8, [128, 8]) });
}

#[test]
fn stationary_products() {
    for m in [128, 64, 32] {
        let base = case("f16", ["f16", "f16", "f32"], 16, [m, 64]);
        check(Case { stationary: true, ..base });
    }
    check(Case { stationary: true, ..case("i8", ["u8", "s8", "s32"], 8, [32, 64]) });
}

#[test]
fn scaled_products() {
    check(Case { scales: (1, "ue8m0", 2), ..case("mxf8f6f4", ["e4m3", "e2m1", "f32"], 8, [128, 40]) });
    check(Case { scales: (1, "ue8m0", 0), a: None, ..case("mxf8f6f4", ["e3m2", "e5m2", "f32"], 8, [128, 8]) });
    check(Case { scales: (2, "ue8m0", 2), ..case("mxf4", ["e2m1", "e2m1", "f32"], 4, [128, 8]) });
    check(Case { scales: (2, "ue8m0", 0), ..case("mxf4nvf4", ["e2m1", "e2m1", "f32"], 4, [128, 8]) });
    check(Case { scales: (4, "ue4m3", 0), ..case("mxf4nvf4", ["e2m1", "e2m1", "f32"], 4, [128, 16]) });
}

/// A block that is alone is no pair.
#[test]
fn pairs_need_a_cluster() {
    for line in [
        "tcgen05.mma.cta_group::2.kind::f16 [%r7], %rd4, %rd5, %r6, %p6;",
        "tcgen05.cp.cta_group::2.128x128b [%r7], %rd4;",
    ] {
        run(&kernel(line, ""), &[0; BYTES], &different(), [0; 2], 0, |found| {
            let error = found.unwrap_err();
            assert!(error.to_string().contains("pair of blocks"), "{line}: {error}");
        });
    }
}

/// Instructions that are not modeled are refused before the launch.
#[test]
fn the_rest_is_refused() {
    for line in [
        "tcgen05.mma.cta_group::1.kind::f16.ashift [%r7], [%r10], %rd5, %r6, %p6;",
        "tcgen05.shift.cta_group::1.down [%r7];",
    ] {
        run(&kernel(line, ""), &[0; BYTES], &different(), [0; 2], 0, |found| {
            let error = found.unwrap_err();
            assert_eq!(error.kind.name(), "unsupported", "{line}: {error}");
        });
    }
}
