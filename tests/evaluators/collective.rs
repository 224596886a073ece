//! Tests warp-wide (collective) instructions against scalar loops over the lanes.

use ptx_isa::TABLE;
use ptx_isa::table::TypeInfo;
use ptx_isa::text::Statement;
use ptx_isa::text::statement::Register;
use ptx_isa::warp::{Level, Operands, Program, Registers, Row, Source, Warps};

use crate::reference::{Random, held};

type Warp = [u128; 32];

/// Returns the words that a thread receives according to the manual, one for each destination. `sources` are the
/// operands `a`, `b`, `c` and the member mask, as far as the statement has them; threads outside `active` do not
/// participate.
fn expected(mnemonic: &str, active: u32, sources: &[Warp], thread: usize) -> Vec<u128> {
    let parts: Vec<&str> = mnemonic.split('.').collect();
    let word = |source: usize| sources[source][thread];
    let mask = if parts.contains(&"sync") { word(sources.len() - 1) as u32 } else { u32::MAX } & active;
    let inside: Vec<usize> = (0..32).filter(|thread| mask >> thread & 1 != 0).collect();
    let bits =
        |chosen: &dyn Fn(usize) -> bool| inside.iter().filter(|t| chosen(**t)).fold(0, |all, t| all | 1_u128 << t);
    match parts[0] {
        "shfl" => {
            let lane = thread as i64;
            let (b, c) = (word(1) as i64 & 31, word(2) as i64);
            let segment = c >> 8 & 31;
            let most = lane & segment | c & 31 & !segment;
            let (from, valid) = match parts[parts.len() - 2] {
                "up" => (lane - b, lane - b >= most),
                "down" => (lane + b, lane + b <= most),
                "bfly" => (lane ^ b, lane ^ b <= most),
                _ => {
                    let from = lane & segment | b & !segment;
                    (from, from <= most)
                }
            };
            let from = if valid { from } else { lane };
            vec![sources[0][from as usize], valid.into()]
        }
        "vote" => {
            let yes = bits(&|thread| sources[0][thread] & 1 != 0);
            let all = u128::from(mask);
            vec![match *parts.iter().find(|part| ["ballot", "all", "any", "uni"].contains(part)).unwrap() {
                "ballot" => yes,
                "all" => (yes == all).into(),
                "any" => (yes != 0).into(),
                _ => (yes == 0 || yes == all).into(),
            }]
        }
        "match" => {
            let same = bits(&|other| sources[0][other] == word(0));
            match parts[1] {
                "any" => vec![same],
                _ if same == u128::from(mask) => vec![same, 1],
                _ => vec![0, 0],
            }
        }
        "activemask" => vec![active.into()],
        "elect" => {
            let first = inside.first().copied().unwrap_or(32);
            vec![first as u128, u128::from(first == thread)]
        }
        "redux" if parts.contains(&"f32") => {
            let value = |thread: &usize| {
                let x = f32::from_bits(sources[0][*thread] as u32);
                if parts.contains(&"abs") { x.abs() } else { x }
            };
            let (numbers, others): (Vec<f32>, Vec<f32>) = inside.iter().map(value).partition(|x| !x.is_nan());
            let mut numbers: Vec<f32> = numbers;
            numbers.sort_by(f32::total_cmp);
            let found = if parts.contains(&"min") { numbers.first() } else { numbers.last() };
            match found {
                Some(found) if others.is_empty() || !parts.contains(&"NaN") => vec![found.to_bits().into()],
                _ => vec![0x7fff_ffff],
            }
        }
        "redux" => {
            let signed = parts.contains(&"s32");
            let value = |thread: &usize| {
                let word = sources[0][*thread] as u32;
                if signed { i64::from(word.cast_signed()) } else { i64::from(word) }
            };
            let values = inside.iter().map(value);
            let found = match parts[2] {
                "add" => values.sum(),
                "min" => values.min().unwrap_or(if signed { i32::MAX.into() } else { u32::MAX.into() }),
                "max" => values.max().unwrap_or(if signed { i32::MIN.into() } else { 0 }),
                "and" => values.fold(-1, |all, x| all & x),
                "or" => values.fold(0, |all, x| all | x),
                _ => values.fold(0, |all, x| all ^ x),
            };
            vec![(found as u32).into()]
        }
        _ => panic!("{mnemonic}"),
    }
}

/// Words that are often alike, and floats of all kinds.
fn words(bits: u16, random: &mut Random) -> Warp {
    const FLOATS: [u32; 8] =
        [0, 0x8000_0000, 0x7fc0_0000, 0xff80_0001, 0x3f80_0000, 0xbf80_0000, 0x7f80_0000, 0x0000_0001];
    let (style, one) = (random.below(4), random.below(1 << 64));
    core::array::from_fn(|_| {
        let word = match style {
            0 => one,
            1 => FLOATS[random.below(8) as usize].into(),
            2 => random.below(3),
            _ => random.below(1 << 64),
        };
        word & (u128::MAX >> (128 - u32::from(bits)))
    })
}

fn fill(warps: &mut Warps, row: Row, words: &Warp) {
    match row.bits {
        1 => *warps.pred_mut(0, row.number) = (0..32).fold(0, |all, lane| all | ((words[lane] & 1) as u32) << lane),
        32 => *warps.b32_mut(0, row.number) = words.map(|word| word as u32),
        _ => *warps.b64_mut(0, row.number) = words.map(|word| word as u64),
    }
}

fn lanes(warps: &Warps, row: Row) -> Warp {
    match row.bits {
        1 => core::array::from_fn(|lane| (warps.pred(0, row.number) >> lane & 1).into()),
        32 => warps.b32(0, row.number).map(u128::from),
        _ => warps.b64(0, row.number).map(u128::from),
    }
}

#[test]
fn collectives_compute_what_the_manual_says() {
    let forms: Vec<_> = TABLE.forms().filter(|form| form.is_collective()).collect();
    // shfl, vote, match, activemask, redux, elect: counted by hand.
    assert_eq!(forms.len(), 2 * 4 + 2 * 4 + 4 + 1 + 6 + 3 + 8 + 1);
    let mut random = Random::new(7);
    for form in &forms {
        let mnemonic = form.mnemonic();
        let places = form.evaluator(u16::MAX, form.sources().count()).unwrap().shape();
        let places = &places.places[..places.outputs.len()];
        let row = |first: u32| move |(number, bits)| Row { bits, number: first + number as u32 };
        let read: Vec<Row> = form.sources().map(|x| Row::of(TABLE.ty(x.ty), 0).bits).enumerate().map(row(0)).collect();
        let written: Vec<Row> = places.iter().copied().enumerate().map(row(8)).collect();
        let mut programs: Vec<(Program, Warps)> = Level::available()
            .map(|level| {
                let registers = Registers { b32: 12, b64: 12, pred: 12, ..Registers::default() };
                let mut program = Program::at_level(registers, u16::MAX, level);
                let destinations: Vec<Option<Row>> = written.iter().copied().map(Some).collect();
                let sources: Vec<Source<Row>> = read.iter().copied().map(Source::Register).collect();
                let operands = Operands { guard: None, destinations: &destinations, sources: &sources, selectors: &[] };
                program.push_rows(*form, &operands).unwrap();
                let warps = program.warps(1);
                (program, warps)
            })
            .collect();
        for round in 0..200 {
            let active = if round % 4 == 0 { u32::MAX } else { random.below(1 << 32) as u32 };
            let mut sources: Vec<Warp> = form.sources().map(|x| words(TABLE.ty(x.ty).bits, &mut random)).collect();
            if mnemonic.contains("sync") {
                // The mask is the same in all threads, which it mostly has.
                let mask = if round % 3 == 0 { random.below(1 << 32) } else { u32::MAX.into() };
                *sources.last_mut().unwrap() = [mask; 32];
            }
            let found = form.evaluate_warp(u16::MAX, active, &sources);
            for (program, warps) in &mut programs {
                read.iter().zip(&sources).for_each(|(row, words)| fill(warps, *row, words));
                written.iter().for_each(|row| fill(warps, *row, &[0; 32]));
                *warps.active_mut(0) = active;
                program.run(warps);
                for (row, words) in written.iter().zip(&found) {
                    let some = core::array::from_fn(|lane| if active >> lane & 1 != 0 { words[lane] } else { 0 });
                    let level = program.level();
                    assert_eq!(lanes(warps, *row), some, "{mnemonic}, {level:?}, {active:#x}, {sources:x?}");
                }
            }
            for thread in (0..32).filter(|thread| active >> thread & 1 != 0) {
                let expected = expected(mnemonic, active, &sources, thread);
                let found: Vec<u128> = found.iter().map(|words| words[thread]).collect();
                assert_eq!(found, expected, "{mnemonic} in thread {thread} of {active:#x} for {sources:x?}");
            }
        }
    }
    held("collective", forms);
}

/// The number of a register, and where it has threads of its own a mask or words.
fn number(register: Register<'_>, ty: &TypeInfo) -> Option<Row> {
    Some(Row::of(ty, register.name[1..].parse().ok()?))
}

#[test]
fn a_program_exchanges_what_its_threads_hold() {
    let lines = [
        // The number of true predicates below each thread, and their sum over the warp.
        "vote.sync.ballot.b32 r1, p0, 0xffffffff;",
        "and.b32 r2, r1, r3;",
        "popc.b32 r2, r2;",
        "redux.sync.add.u32 r4, r2, 0xffffffff;",
        // A butterfly reduction over only the threads whose predicate is true.
        "@p0 activemask.b32 r5;",
        "shfl.sync.bfly.b32 r6|p1, r2, 16, 31, 0xffffffff;",
        "@!p0 shfl.sync.idx.b32 r6, r2, 0, 31, 0;",
    ];
    let registers = Registers { b32: 8, pred: 2, ..Registers::default() };
    let mut program = Program::new(registers, 90);
    for line in lines {
        program.push_statement(&Statement::parse(&TABLE, line).unwrap(), number).unwrap();
    }
    let mut warps = program.warps(2);
    let chosen = [0x8421_f00f_u32, 0x0000_ffff];
    for (warp, chosen) in chosen.into_iter().enumerate() {
        *warps.pred_mut(warp, 0) = chosen;
        *warps.b32_mut(warp, 3) = core::array::from_fn(|lane| (1 << lane) - 1);
    }
    program.run(&mut warps);
    for (warp, chosen) in chosen.into_iter().enumerate() {
        let below = |lane: usize| (chosen & ((1 << lane) - 1)).count_ones();
        assert_eq!(*warps.b32(warp, 1), [chosen; 32]);
        assert_eq!(*warps.b32(warp, 4), [(0..32).map(below).sum(); 32]);
        for lane in 0..32 {
            let holds = chosen >> lane & 1 != 0;
            assert_eq!(warps.b32(warp, 5)[lane], if holds { chosen } else { 0 });
            assert_eq!(warps.b32(warp, 6)[lane], if holds { below(lane ^ 16) } else { below(0) });
        }
        assert_eq!(warps.pred(warp, 1), u32::MAX);
    }
}

#[test]
fn slices_and_single_threads_have_no_collectives() {
    let form = TABLE.form("activemask.b32").unwrap();
    let error = ptx_isa::slice::Evaluator::new(form, 90).unwrap_err().to_string();
    assert_eq!(error, "`activemask.b32` does not run over lanes: what a thread computes depends on others of its warp");
    assert!(!form.has_evaluator() && form.is_collective());
}
