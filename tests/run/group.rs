//! Products of warpgroups: a kernel with one of them, whose factors the host lays out in shared memory after the manual's
//! table of canonical layouts, held against the published model.

use std::fmt::Write as _;

use crate::machine::on_one_thread;
use crate::model::*;
use ptx_isa::run::Grid;

/// Bytes of shared memory; the second factor starts in the middle.
const BYTES: usize = 49152;
const HALF: usize = BYTES / 2;

struct Case {
    types: [&'static str; 3],
    bits: usize,
    n: usize,
    /// The first factor; none if registers hold it.
    a: Option<Laid>,
    b: Laid,
    negative: [bool; 2],
    keep: bool,
    sparse: bool,
    clamp: bool,
}

fn case(types: [&'static str; 3], bits: usize, n: usize, a: Option<Laid>, b: Laid) -> Case {
    Case { types, bits, n, a, b, negative: [false; 2], keep: true, sparse: false, clamp: false }
}

impl Case {
    fn kernel(&self, registers: usize, selector: usize) -> String {
        let [x, y, to] = self.types;
        let dense = 256 / self.bits;
        let k = if self.sparse { 2 * dense } else { dense };
        let (sp, clamp) = (if self.sparse { ".sp" } else { "" }, if self.clamp { ".satfinite" } else { "" });
        let tail = if x == "b1" { ".and.popc" } else { "" };
        let d: Vec<String> = (0..registers).map(|index| format!("%d{index}")).collect();
        let a = if self.a.is_some() { "%rd5".to_owned() } else { "{%a0, %a1, %a2, %a3}".to_owned() };
        let mut text = format!("wgmma.mma_async{sp}.sync.aligned.m64n{}k{k}{clamp}.{to}.{x}.{y}{tail} {{", self.n);
        write!(text, "{}}}, {a}, %rd6", d.join(", ")).unwrap();
        if self.sparse {
            write!(text, ", %e, {selector}").unwrap();
        }
        text += ", %p2";
        if self.bits != 1 && to != "s32" {
            let sign = |negative: bool| if negative { -1 } else { 1 };
            write!(text, ", {}, {}", sign(self.negative[0]), sign(self.negative[1])).unwrap();
            if self.bits == 16 {
                if let Some(a) = self.a {
                    write!(text, ", {}", u8::from(a.transposed)).unwrap();
                }
                write!(text, ", {}", u8::from(self.b.transposed)).unwrap();
            }
        }
        let ty = if to == "f32" { "f32" } else { "b32" };
        let each = |verb: &dyn Fn(usize) -> String| (0..registers).map(|index| verb(index) + "\n").collect::<String>();
        let loads = each(&|index| format!("ld.global.b32 %d{index}, [%rd4+{}];", 4 * index));
        let stores = each(&|index| format!("st.global.b32 [%rd4+{}], %d{index};", 4 * index));
        let shared = BYTES / 4;
        format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n\
            .shared .align 1024 .b8 memory[{BYTES}];\n\
            .visible .entry product(.param .u64 image, .param .u64 held, .param .u64 factors, .param .u64 a, .param .u64 b, .param .u32 keep)\n{{\n\
            .reg .b64 %rd<12>; .reg .b32 %r<12>; .reg .b32 %a<4>; .reg .b32 %e; .reg .{ty} %d<{registers}>; .reg .pred %p<4>;\n\
            ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [held]; ld.param.u64 %rd3, [factors];\n\
            ld.param.u64 %rd5, [a]; ld.param.u64 %rd6, [b]; ld.param.u32 %r6, [keep];\n\
            mov.u32 %r1, %tid.x; mov.u32 %r2, memory; mov.u32 %r3, %r1;\n\
            shr.u32 %r7, %r2, 4; cvt.u64.u32 %rd9, %r7; add.s64 %rd5, %rd5, %rd9; add.s64 %rd6, %rd6, %rd9;\n\
            COPY:\n\
            mul.wide.u32 %rd7, %r3, 4; add.s64 %rd7, %rd1, %rd7; ld.global.b32 %r4, [%rd7];\n\
            mad.lo.s32 %r5, %r3, 4, %r2; st.shared.b32 [%r5], %r4;\n\
            add.s32 %r3, %r3, 128; setp.lt.u32 %p1, %r3, {shared};\n\
            @%p1 bra COPY;\n\
            bar.sync 0;\n\
            mul.wide.u32 %rd4, %r1, {}; add.s64 %rd4, %rd2, %rd4;\n\
            mul.wide.u32 %rd8, %r1, 20; add.s64 %rd8, %rd3, %rd8;\n\
            ld.global.b32 %a0, [%rd8]; ld.global.b32 %a1, [%rd8+4]; ld.global.b32 %a2, [%rd8+8]; ld.global.b32 %a3, [%rd8+12];\n\
            ld.global.b32 %e, [%rd8+16];\n\
            {loads}\
            setp.ne.u32 %p2, %r6, 0;\n\
            wgmma.fence.sync.aligned;\n\
            {text};\n\
            wgmma.commit_group.sync.aligned;\n\
            wgmma.wait_group.sync.aligned 0;\n\
            {stores}\
            ret;\n}}\n",
            4 * registers
        )
    }
}

/// Bits of an integer element.
fn integer(ty: &str, bits: u64) -> i64 {
    match ty {
        "u8" => (bits & 0xff) as i64,
        "s8" => (bits as i8).into(),
        _ => (bits & 1) as i64,
    }
}

fn check(case: &Case) {
    let [x, y, to] = case.types;
    let (bits, n) = (case.bits, case.n);
    let stored = 256 / bits;
    let k = if case.sparse { 2 * stored } else { stored };
    let whole = to == "s32";
    let mut random = Random::new(bits as u64 * 31 + n as u64);
    let held = if bits == 8 { Held::Quad } else { Held::Pair };
    for round in 0..2_u64 {
        let selector = if held == Held::Quad { 0 } else { round as usize % 2 };
        let kind = [1, 0][round as usize];
        let mask = u64::MAX >> (64 - bits);
        let mut fill = |count: usize, ty: &str| -> Vec<u64> {
            let number = |random: &mut Random| if whole { random.next() >> 7 } else { input(random, ty, kind) };
            (0..count).map(|_| number(&mut random)).collect()
        };
        let (a, b) = (fill(64 * stored, x), fill(n * k, y));
        let c: Vec<u64> = if whole {
            let ends = [i32::MAX, i32::MIN, 5];
            (0..64 * n).map(|index| u64::from(ends[index % 3] as u32)).collect()
        } else {
            fill(64 * n, to)
        };
        let mut image = vec![0_u8; BYTES];
        let mut put = |at: usize, value: u64| match bits {
            1 => image[at / 8] |= ((value & 1) as u8) << (at % 8),
            _ => (0..bits / 8).for_each(|byte| image[at / 8 + byte] = (value >> (8 * byte)) as u8),
        };
        let mut words = [0; 2];
        if let Some(laid) = case.a {
            words[0] = laid.descriptor(bits, 64, stored, 0);
            for (row, l) in (0..64).flat_map(|row| (0..stored).map(move |l| (row, l))) {
                put(laid.bit(bits, (64, stored), 0, (row, l)), a[row * stored + l]);
            }
        }
        words[1] = case.b.descriptor(bits, n, k, HALF);
        for (column, l) in (0..n).flat_map(|column| (0..k).map(move |l| (column, l))) {
            put(case.b.bit(bits, (n, k), HALF, (column, l)), b[column * k + l]);
        }
        let per = 32 / bits;
        let mut factors = vec![0_u32; 128 * 5];
        let mut columns = Vec::new();
        for warp in 0..4 {
            for (lane, register) in (0..32).flat_map(|lane| (0..4).map(move |register| (lane, register))) {
                for part in 0..per {
                    let (row, l) = place_of_a(lane, register, part, per);
                    let value = a[(16 * warp + row) * stored + l] & mask;
                    factors[(32 * warp + lane) * 5 + register] |= (value << (part * bits)) as u32;
                }
            }
            if case.sparse {
                let sparse = choose(&mut random, k, bits, held, selector, true);
                (0..32).for_each(|lane| factors[(32 * warp + lane) * 5 + 4] = sparse.metadata[lane] as u32);
                columns.extend(sparse.columns);
            }
        }
        // Accumulators: four elements for each eight columns.
        let place = |thread: usize, element: usize| {
            let (row, column) = place_of_c(thread % 32, element % 4);
            (thread / 32 * 16 + row, element / 4 * 8 + column)
        };
        let per_d = if to == "f16" { 2 } else { 1 };
        let registers = n / 2 / per_d;
        let mut sums = vec![0_u32; 128 * registers];
        for (thread, element) in (0..128).flat_map(|thread| (0..n / 2).map(move |element| (thread, element))) {
            let (row, column) = place(thread, element);
            sums[thread * registers + element / per_d] |= (c[row * n + column] << (16 * (element % per_d))) as u32;
        }
        let text = case.kernel(registers, selector);
        on_one_thread(&text, |machine| {
            let (image, factors) = (machine.upload(&image), machine.upload(&factors));
            let held = machine.upload(&sums);
            let keep = u32::from(case.keep);
            let [a_word, b_word] = words;
            let arguments = [image.into(), held.into(), factors.into(), a_word.into(), b_word.into(), keep.into()];
            machine.run("product", Grid::new(1, 128), &arguments);
            let found = machine.download::<u32>(held, 128 * registers);
            for (thread, element) in (0..128).flat_map(|thread| (0..n / 2).map(move |element| (thread, element))) {
                let (row, column) = place(thread, element);
                let flip = |negative: bool| if negative { 1 << (bits - 1) } else { 0 };
                let left: Vec<u64> = (0..stored).map(|l| a[row * stored + l] ^ flip(case.negative[0])).collect();
                let chosen = |l: usize| if case.sparse { columns[row * stored + l] } else { l };
                let right: Vec<u64> = (0..stored).map(|l| b[column * k + chosen(l)] ^ flip(case.negative[1])).collect();
                let first = if case.keep { c[row * n + column] } else { 0 };
                let expected = if whole {
                    let terms = left.iter().zip(&right).map(|(a, b)| integer(x, *a) * integer(y, *b));
                    let sum = i64::from(first as i32) + terms.sum::<i64>();
                    let clamped = sum.clamp(i32::MIN.into(), i32::MAX.into());
                    u64::from(if case.clamp { clamped as u32 } else { sum as u32 })
                } else {
                    let (fraction, result) = if bits == 8 { (13, 13) } else { (25, 23) };
                    dot(&left, &right, first, (x, y, to, to), &Model { fraction, step: stored, result })
                };
                let word = u64::from(found[thread * registers + element / per_d]) >> (16 * (element % per_d));
                let got = if to == "f16" { word & 0xffff } else { word };
                let line = text.lines().find(|line| line.starts_with("wgmma.mma")).unwrap();
                assert_eq!(got, expected, "{line}, round {round}: row {row}, column {column}");
            }
        });
    }
}

#[test]
fn factors_in_shared_memory() {
    for swizzle in 0..4 {
        let plain = laid(swizzle, false);
        check(&case(["f16", "f16", "f32"], 16, 16, Some(plain), laid(3 - swizzle, false)));
        check(&case(["f16", "f16", "f16"], 16, 8, Some(laid(swizzle, true)), plain));
        check(&case(["bf16", "bf16", "f32"], 16, 24, Some(plain), laid(swizzle, true)));
        check(&case(["tf32", "tf32", "f32"], 32, 8, Some(plain), plain));
        check(&case(["e4m3", "e5m2", "f32"], 8, 16, Some(plain), plain));
    }
    check(&case(["bf16", "bf16", "f32"], 16, 64, Some(laid(3, true)), laid(3, true)));
}

#[test]
fn factors_in_registers() {
    for (types, bits) in [
        (["f16", "f16", "f32"], 16),
        (["f16", "f16", "f16"], 16),
        (["bf16", "bf16", "f32"], 16),
        (["tf32", "tf32", "f32"], 32),
        (["e5m2", "e4m3", "f32"], 8),
        (["e4m3", "e4m3", "f16"], 8),
        (["s8", "u8", "s32"], 8),
        (["b1", "b1", "s32"], 1),
    ] {
        check(&case(types, bits, 16, None, laid(1, false)));
    }
}

#[test]
fn signs_accumulators_and_clamps() {
    let plain = Some(laid(1, false));
    for negative in [[true, false], [false, true], [true, true]] {
        let keep = negative[0] && negative[1];
        check(&Case { negative, keep, ..case(["f16", "f16", "f32"], 16, 8, plain, laid(1, false)) });
        check(&Case { negative, keep, ..case(["e5m2", "e5m2", "f16"], 8, 8, None, laid(1, false)) });
    }
    for (clamp, keep) in [(true, true), (false, true), (false, false)] {
        check(&Case { clamp, keep, ..case(["u8", "s8", "s32"], 8, 8, plain, laid(0, false)) });
    }
    check(&Case { keep: false, ..case(["b1", "b1", "s32"], 1, 8, plain, laid(1, false)) });
}

#[test]
fn sparse_factors() {
    for a in [Some(laid(1, false)), None] {
        for (types, bits) in [
            (["f16", "f16", "f32"], 16),
            (["f16", "f16", "f16"], 16),
            (["bf16", "bf16", "f32"], 16),
            (["tf32", "tf32", "f32"], 32),
            (["e4m3", "e5m2", "f32"], 8),
            (["e5m2", "e5m2", "f16"], 8),
            (["s8", "s8", "s32"], 8),
        ] {
            check(&Case { sparse: true, ..case(types, bits, 8, a, laid(2, false)) });
        }
    }
    check(&Case { sparse: true, ..case(["f16", "f16", "f32"], 16, 16, Some(laid(1, true)), laid(2, true)) });
}

/// One thread of a warpgroup may tell a producer that all four warps have read shared memory.
#[test]
fn a_warpgroup_executes_together() {
    let mut text = case(["f16", "f16", "f32"], 16, 8, Some(laid(0, false)), laid(0, false)).kernel(4, 0);
    // Warps come at different times; the first one overwrites the factors at once.
    text = text.replace(
        "wgmma.fence",
        "shr.u32 %r8, %r1, 5;\nLATE:\nsetp.eq.u32 %p3, %r8, 0;\n@%p3 bra READY;\nsub.u32 %r8, %r8, 1;\nbra LATE;\nREADY:\nwgmma.fence",
    );
    text = text.replace(
        "st.global.b32 [%rd4+0]",
        "mad.lo.s32 %r9, %r1, 16, %r2;\nst.shared.b32 [%r9], 0;\nst.global.b32 [%rd4+0]",
    );
    on_one_thread(&text, |machine| {
        // Ones of half precision.
        let image = machine.upload(&vec![0x3c00_3c00_u32; BYTES / 4]);
        let (held, factors) = (machine.upload(&[0_u32; 512]), machine.upload(&[0_u32; 640]));
        let words = [0, HALF].map(|start| laid(0, false).descriptor(16, 64, 16, start));
        let arguments = [image.into(), held.into(), factors.into(), words[0].into(), words[1].into(), 0_u32.into()];
        machine.run("product", Grid::new(1, 128), &arguments);
        assert_eq!(machine.download::<f32>(held, 512), [16.0; 512]);
        // Three warps are none.
        let error = machine.try_run("product", Grid::new(1, 96), &arguments).unwrap_err();
        assert_eq!(error.kind.name(), "convergence", "{error}");
    });
}
