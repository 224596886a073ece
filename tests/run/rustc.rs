//! Kernels of `kernels/rustc_kernels.rs`, which rustc compiled, held against the same library functions on the host: sorting and text with
//! recursion and tables of functions, integers of 128 bits, panics, structs by value, atomics of every width.

use crate::machine::{floats, on_threads, random};
use half::f16;
use ptx_isa::run::{Argument, Grid};

const TEXT: &str = include_str!("../kernels/rustc-sm_80.ptx");

/// Random words of 64 bits, with all magnitudes.
fn words(count: usize) -> Vec<u64> {
    let pairs = random(2 * count);
    pairs.chunks(2).map(|pair| (u64::from(pair[0]) << 33 | u64::from(pair[1])) >> (pair[0] % 60)).collect()
}

#[test]
fn slices_are_sorted() {
    on_threads(TEXT, |machine| {
        for length in [0, 1, 15, 33, 300] {
            let mut keys: Vec<u32> = random(64 * length).iter().map(|bits| bits % 5000).collect();
            let given = machine.upload(&keys);
            machine.run("sorted", Grid::new(2, 32), &[given.into(), (length as u64).into()]);
            keys.chunks_mut(length.max(1)).for_each(|part| part.sort_unstable_by_key(|key| (key % 16, *key)));
            assert_eq!(machine.download::<u32>(given, 64 * length), keys);
        }
    });
}

#[test]
fn an_index_out_of_bounds_panics() {
    on_threads(TEXT, |machine| {
        let from: Vec<i16> = random(50).iter().map(|bits| *bits as i16).collect();
        let mut places: Vec<u32> = random(64).iter().map(|bits| bits % 50).collect();
        let (given, to) = (machine.upload(&from), machine.upload(&[0_i16; 64]));
        let run = |places: &[u32]| {
            let arguments = [given.into(), 50_u64.into(), machine.upload(places).into(), to.into()];
            machine.try_run("gathered", Grid::new(2, 32), &arguments)
        };
        run(&places).unwrap();
        let expected: Vec<i16> = places.iter().map(|place| from[*place as usize]).collect();
        assert_eq!(machine.download::<i16>(to, 64), expected);
        places[41] = 50;
        let error = run(&places).unwrap_err();
        assert_eq!((error.kind.name(), error.block, error.thread), ("assertion", Some([1, 0, 0]), Some([9, 0, 0])));
        let line =
            include_str!("../kernels/rustc_kernels.rs").lines().position(|line| line.contains("from[places[")).unwrap();
        let message = "index out of bounds: the len is 50 but the index is 50, at rustc_kernels.rs:";
        assert!(error.message.contains(&format!("{message}{}", line + 1)), "{error}");
    });
}

#[test]
fn structs_are_passed_by_value() {
    #[repr(C)]
    struct Settings {
        narrow: u8,
        wide: u64,
        triple: [u16; 3],
        scale: f32,
        signed: i8,
    }
    const SIZE: usize = size_of::<Settings>();
    let offsets = [
        std::mem::offset_of!(Settings, narrow),
        std::mem::offset_of!(Settings, wide),
        std::mem::offset_of!(Settings, triple),
        std::mem::offset_of!(Settings, scale),
        std::mem::offset_of!(Settings, signed),
    ];
    let fields = |narrow: u8, wide: u64, triple: [u16; 3], scale: f32, signed: i8| {
        let triple: Vec<u8> = triple.iter().flat_map(|x| x.to_le_bytes()).collect();
        [vec![narrow], wide.to_le_bytes().to_vec(), triple, scale.to_le_bytes().to_vec(), signed.to_le_bytes().to_vec()]
    };
    on_threads(TEXT, |machine| {
        let mut given = vec![0_u8; SIZE];
        for (at, bytes) in offsets.iter().zip(fields(250, 0x8000_0000_0000_0003, [1, 2, 65535], 1.5, -120)) {
            given[*at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let out = machine.upload(&vec![0_u8; SIZE * 40]);
        machine.run("settings", Grid::new(2, 20), &[Argument::bytes(given), out.into()]);
        let found = machine.download::<u8>(out, SIZE * 40);
        for (thread, found) in found.chunks(SIZE).enumerate() {
            let mut triple = [1, 2, 65535];
            triple.rotate_left(thread % 3);
            let expected = fields(
                250_u8.wrapping_add(thread as u8),
                0x8000_0000_0000_0003_u64.rotate_left(thread as u32),
                triple,
                1.5 * thread as f32,
                (-120_i8).saturating_sub(thread as i8),
            );
            for (at, bytes) in offsets.iter().zip(expected) {
                assert_eq!(found[*at..at + bytes.len()], bytes, "thread {thread}, field at {at}");
            }
        }
    });
}

#[test]
fn integers_of_128_bits() {
    let parts = words(256);
    let a: Vec<u128> = parts.chunks(4).map(|part| u128::from(part[0]) << 64 | u128::from(part[1])).collect();
    let mut b: Vec<i128> =
        parts.chunks(4).map(|part| i128::from(part[2] as i64) << (part[0] % 64) ^ i128::from(part[3])).collect();
    (b[0], b[1]) = (-1, 1);
    let list = |numbers: &mut dyn Iterator<Item = u128>| -> Vec<u64> {
        numbers.flat_map(|x| [x as u64, (x >> 64) as u64]).collect()
    };
    on_threads(TEXT, |machine| {
        let given =
            [list(&mut a.iter().copied()), list(&mut b.iter().map(|b| *b as u128))].map(|list| machine.upload(&list));
        let out = machine.upload(&[0_u64; 64 * 16]);
        machine.run("wide", Grid::new(2, 32), &[given[0].into(), given[1].into(), out.into()]);
        let found = machine.download::<u64>(out, 64 * 16);
        for (thread, (a, b)) in a.iter().copied().zip(b.iter().copied()).enumerate() {
            let expected = [
                a.wrapping_mul(b as u128),
                a.checked_div(b as u128).unwrap_or(1),
                (a as i128).wrapping_rem(b) as u128,
                a.rotate_right(thread as u32 * 5),
                u128::from(a.leading_zeros() + b.count_ones()),
                u128::from(a.reverse_bits() < b.unsigned_abs()),
                (a >> (b as u32 % 128)).saturating_mul(a & 0xffff_ffff),
                u128::from(a.isqrt() as u64),
            ];
            assert_eq!(found[16 * thread..16 * thread + 16], list(&mut expected.into_iter()), "{a} {b}");
        }
    });
}

#[test]
fn numbers_are_formatted() {
    let mut numbers: Vec<f64> = words(64).iter().map(|bits| f64::from_bits(bits << 1)).collect();
    numbers[..8].copy_from_slice(&[0.1, -0.0, 1e23, 123_456.789, 5e-324, f64::NAN, f64::INFINITY, 9.995]);
    // Long numbers of zeros do not fit the text, which ends there.
    numbers
        .iter_mut()
        .skip(8)
        .for_each(|x| *x = f64::from_bits(x.to_bits() & !(0x7ff << 52) | (1000 + (x.to_bits() % 50)) << 52));
    let integers: Vec<i64> = words(64).iter().map(|bits| bits.rotate_left(7) as i64).collect();
    on_threads(TEXT, |machine| {
        let (floats, given) = (machine.upload(&numbers), machine.upload(&integers));
        let out = machine.upload(&[0_u8; 64 * 96]);
        machine.run("formatted", Grid::new(2, 32), &[floats.into(), given.into(), out.into()]);
        let found = machine.download::<u8>(out, 64 * 96);
        for ((found, float), integer) in found.chunks(96).zip(&numbers).zip(&integers) {
            let (narrow, short) = (*float as f32, *integer as u16);
            let text = format!("{integer:+08} {narrow} {float:.3e} {short:#x} {:?} {float:9.2}|", Some(*integer > 0));
            let found = String::from_utf8_lossy(found);
            assert_eq!(found.trim_end_matches('\0'), &text[..text.len().min(96)]);
        }
    });
}

#[test]
fn texts_are_parsed() {
    let mut texts: Vec<String> = words(56).iter().map(|bits| format!("{:e}", f64::from_bits(bits << 1))).collect();
    for text in ["17", " -2147483648", "2147483648", "+9", "inf", "-nan", "0.1e", "9007199254740993"] {
        texts.push(text.to_owned());
    }
    on_threads(TEXT, |machine| {
        let bytes: Vec<u8> = texts
            .iter()
            .flat_map(|text| {
                let mut bytes = text.clone().into_bytes();
                bytes.resize(24, 0);
                bytes
            })
            .collect();
        let (given, floats, integers) =
            (machine.upload(&bytes), machine.upload(&[0_f64; 64]), machine.upload(&[0_i32; 64]));
        machine.run("parsed", Grid::new(2, 32), &[given.into(), floats.into(), integers.into()]);
        let (floats, integers) = (machine.download::<f64>(floats, 64), machine.download::<i32>(integers, 64));
        for (at, text) in texts.iter().enumerate() {
            let text = text[..text.len().min(24)].trim();
            let expected: f64 = text.parse().unwrap_or(f64::NAN);
            assert!(
                floats[at].to_bits() == expected.to_bits() || floats[at].is_nan() && expected.is_nan(),
                "{text}: {}",
                floats[at]
            );
            assert_eq!(integers[at], text.parse().unwrap_or(-1), "{text}");
        }
    });
}

#[test]
fn methods_are_called_by_tables() {
    on_threads(TEXT, |machine| {
        let out = machine.upload(&[0_f32; 64]);
        machine.run("shapes", Grid::new(2, 32), &[out.into()]);
        let expected = |thread: usize| {
            let side = thread as f32;
            let each = [4.0 * side * side, 8.0 * side, 3.0 * 36.0];
            each[thread % 3] + each[(thread + 1) % 3]
        };
        assert_eq!(machine.download::<f32>(out, 64), (0..64).map(expected).collect::<Vec<_>>());
    });
}

#[test]
fn tables_of_jumps() {
    // The sum of squares of all numbers to that of the thread modulo 16: `s = 0; n = thread & 15; do s += n * n while (n -= 1) > 0`.
    let squares = [10, 0, 0, 10, 15, 5, 11, 11, 2, 12, 12, 1, 12, 10, 255, 1, 11, 13, 6, 12, 20];
    // Others, by each operation.
    let others = [0, 3, 10, 100, 2, 4, 7, 11, 8, 6, 14, 10, 77, 5, 9, 0, 1, 20];
    on_threads(TEXT, |machine| {
        for code in [&squares[..], &others[..]] {
            let out = machine.upload(&[0_i32; 64]);
            machine.run(
                "interpreted",
                Grid::new(2, 32),
                &[machine.upload(code).into(), (code.len() as u64).into(), out.into()],
            );
            let found = machine.download::<i32>(out, 64);
            let expected = |thread: i32| match code.len() == squares.len() {
                true => interpreted(&squares, thread),
                false => interpreted(&others, thread),
            };
            assert_eq!(found, (0..64).map(expected).collect::<Vec<_>>());
        }
    });
    assert_eq!(interpreted(&others, 5), 6);
}

/// What the kernel of this name computes.
fn interpreted(code: &[u8], thread: i32) -> i32 {
    let (mut stack, mut at) = (Vec::new(), 0);
    let mut left = 10_000;
    while at < code.len() && left > 0 {
        let operation = code[at];
        (at, left) = (at + 1, left - 1);
        let mut pop = || stack.pop().unwrap_or_default();
        let value = match operation {
            0 => thread,
            1 => i32::wrapping_add(pop(), pop()),
            2 => i32::wrapping_mul(pop(), pop()),
            3 => i32::wrapping_neg(pop()),
            4 => !pop(),
            5 => pop() & pop(),
            6 => pop() ^ pop(),
            7 => pop() << 3,
            8 => i32::count_ones(pop()) as i32,
            9 => i32::signum(pop()),
            10 => {
                at += 1;
                i32::from(code[at - 1] as i8)
            }
            11 => {
                let value = pop();
                stack.push(value);
                value
            }
            12 => {
                let (a, b) = (pop(), pop());
                stack.push(a);
                b
            }
            13 => {
                at = if pop() > 0 { code[at].into() } else { at + 1 };
                continue;
            }
            14 => pop() / 7,
            _ => break,
        };
        stack.push(value);
    }
    stack.pop().unwrap_or_default()
}

#[test]
fn atomics_of_every_width() {
    on_threads(TEXT, |machine| {
        let bytes = machine.upload(&[250_u8; 4]);
        let shorts = machine.upload(&[0_u16; 2]);
        let words = machine.upload(&[0, 0, u32::MAX, 0, u32::MAX, 5, 7, 0]);
        let longs = machine.upload(&[0_u64; 4]);
        let signed = machine.upload(&[0_i64]);
        let arguments = [bytes, shorts, words, longs, signed].map(Argument::from);
        machine.run("atomics", Grid::new(4, 24), &arguments);
        assert_eq!(machine.download::<u8>(bytes, 4), [250_u8.wrapping_add(24); 4]);
        let expected = |parity: u16| (0..96_u16).filter(|x| x % 2 == parity).fold(0, |a, b| a ^ b);
        assert_eq!(machine.download::<u16>(shorts, 2), [expected(0), expected(1)]);
        let sum: u32 = (0..96).sum();
        let most = (0..96_u32).map(|x| x.wrapping_mul(2_654_435_761)).max().unwrap();
        let found = machine.download::<u32>(words, 8);
        let added: u32 = (0..96).map(|x| x % 7).sum();
        assert_eq!(found[..4], [sum, most, u32::MAX - 95, u32::MAX]);
        // The order decides what comes of the fifth.
        assert_eq!(found[5..], [5 + added, 7, 0]);
        let found = machine.download::<u64>(longs, 4);
        assert_eq!(found[0], u64::from(sum).wrapping_neg());
        assert!(found[1] >> 63 == 1 && found[1] << 1 >> 1 < 96, "{:#x}", found[1]);
        assert_eq!(found[2..], [7, 0]);
        assert_eq!(machine.download::<i64>(signed, 1), [-95 << 33]);
    });
}

#[test]
fn a_lock_of_blocks() {
    on_threads(TEXT, |machine| {
        let x: Vec<f32> = floats(1000);
        let (given, lock, sum) = (machine.upload(&x), machine.upload(&[0_u32]), machine.upload(&[0.0_f64]));
        machine.run("summed", Grid::new(4, 96), &[given.into(), 1000_u64.into(), lock.into(), sum.into()]);
        // All sums are exact.
        let expected: f64 = x.iter().map(|x| f64::from(*x)).sum();
        assert_eq!((machine.download::<f64>(sum, 1)[0], machine.download::<u32>(lock, 1)[0]), (expected, 0));
    });
}

#[test]
fn narrow_numbers() {
    let bits = random(192);
    let a: Vec<i8> = bits[..64].iter().map(|bits| *bits as i8).collect();
    let b: Vec<u16> = bits[64..128].iter().map(|bits| (*bits >> (bits % 13)) as u16).collect();
    let mut h: Vec<f16> = bits[128..].iter().map(|bits| f16::from_bits(*bits as u16)).collect();
    h.iter_mut().skip(8).for_each(|h| *h = f16::from_f32(h.to_f32() % 300.0));
    (h[0], h[1], h[2]) = (f16::NAN, f16::NEG_INFINITY, f16::from_f32(60000.0));
    on_threads(TEXT, |machine| {
        let halves: Vec<u16> = h.iter().map(|h| h.to_bits()).collect();
        let out = machine.upload(&[0_i32; 640]);
        let given = [machine.upload(&a), machine.upload(&b), machine.upload(&halves), out].map(Argument::from);
        machine.run("narrow", Grid::new(2, 32), &given);
        let found = machine.download::<i32>(out, 640);
        for thread in 0..64 {
            let (a, b, h) = (a[thread], b[thread], h[thread]);
            let sum = f16::from_f32(f16::from_f32(h.to_f32() * 2.0).to_f32() + 1.0).to_f32();
            let mut expected = [
                a.saturating_add(b as i8).into(),
                a.overflowing_mul(b as i8).1.into(),
                b.rotate_left(a as u32 % 16).swap_bytes().into(),
                (b.leading_zeros() + a.unsigned_abs().trailing_zeros()) as i32,
                a.checked_rem(b as i8).map_or(1000, i32::from),
                b.abs_diff(a as u16).isqrt().into(),
                sum.to_bits() as i32,
                (h.to_f32() as i8).into(),
                f16::from_f32(a.into()).to_bits().into(),
                i32::from(h.to_f32() < 1.0) + 2 * i32::from(h.is_nan()),
            ];
            let mut found = found[10 * thread..10 * thread + 10].to_vec();
            if sum.is_nan() && f32::from_bits(found[6] as u32).is_nan() {
                (expected[6], found[6]) = (0, 0);
            }
            assert_eq!(found, expected, "{a} {b} {h}");
        }
    });
}
