//! Statements decoded to programs: every form with its operands as text against the same operands as numbers.

use ptx_isa::TABLE;
use ptx_isa::selector::{self, Permission, Selector};
use ptx_isa::table::{FormInfo, Kind, TypeInfo};
use ptx_isa::text::Statement;
use ptx_isa::text::statement::Register;
use ptx_isa::warp::{Accesses, DecodeError, Operands, Program, Registers, Row, Source, Warps};

const REGISTERS: Registers = Registers { b16: 8, b32: 8, b64: 8, pred: 8 };

/// `r5` is register 5 of the operand's width; `w5` is one of 32 bits, `d5` of 64, `h5` of 16, `p5` a predicate.
fn number(register: Register<'_>, ty: &TypeInfo) -> Option<Row> {
    let (kind, number) = (register.name.get(..1)?, register.name.get(1..)?.parse().ok()?);
    Some(match kind {
        "r" => Row::of(ty, number),
        "h" => Row { bits: 16, number },
        "w" => Row { bits: 32, number },
        "d" => Row { bits: 64, number },
        "p" => Row { bits: 1, number },
        _ => return None,
    })
}

fn push(text: &str) -> Result<Program, DecodeError> {
    let statement = Statement::parse(&TABLE, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut program = Program::new(REGISTERS, 90);
    program.push_statement(&statement, number).map(|()| program)
}

/// Two warps whose registers have distinct values.
fn filled(program: &Program) -> Warps {
    let mut warps = program.warps(2);
    for (warp, register) in (0..2).flat_map(|warp| (0..8).map(move |register| (warp, register))) {
        for lane in 0..32 {
            let bits = (u64::from(register) << 8 | (32 * warp + lane) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            warps.b16_mut(warp, register)[lane] = (bits >> 48) as u16;
            warps.b32_mut(warp, register)[lane] = (bits >> 32) as u32;
            warps.b64_mut(warp, register)[lane] = bits;
        }
        *warps.pred_mut(warp, register) = 0x6b17_c3a5_u32.rotate_left(5 * register + warp as u32);
    }
    warps
}

/// Runs a program on registers with distinct values and returns the final contents of those of a warp.
fn run(program: &Program) -> Vec<u64> {
    let mut warps = filled(program);
    program.run(&mut warps);
    registers(&warps)
}

/// The lanes of a register.
fn lanes(warps: &Warps, warp: usize, row: Row) -> Vec<u64> {
    match row.bits {
        1 => (0..32).map(|lane| u64::from(warps.pred(warp, row.number) >> lane & 1)).collect(),
        16 => warps.b16(warp, row.number).map(u64::from).to_vec(),
        32 => warps.b32(warp, row.number).map(u64::from).to_vec(),
        _ => warps.b64(warp, row.number).to_vec(),
    }
}

fn rows() -> impl Iterator<Item = Row> {
    [1, 16, 32, 64].into_iter().flat_map(|bits| (0..8).map(move |number| Row { bits, number }))
}

fn registers(warps: &Warps) -> Vec<u64> {
    let mut all = Vec::new();
    for register in 0..8 {
        all.extend(warps.b16(0, register).map(u64::from));
        all.extend(warps.b32(0, register).map(u64::from));
        all.extend(warps.b64(0, register));
        all.push(warps.pred(0, register).into());
    }
    all
}

/// A selector that is not the default, where there is one: its text and its bits.
fn selector(info: &Selector) -> (String, u32) {
    match info.kind {
        selector::Kind::Lanes { lanes, of } => {
            let lane = |place: u8| u32::from((3 * place + 1) % of);
            let digits: String = (0..lanes).rev().map(|place| lane(place).to_string()).collect();
            (format!(".{}{digits}", info.letter), (0..lanes).fold(0, |all, place| all | lane(place) << (4 * place)))
        }
        selector::Kind::Subset { .. } => (format!(".{}1", info.letter), 1 << 1),
        selector::Kind::Listed { words } => (format!(".{}", words[words.len() - 1]), words.len() as u32 - 1),
    }
}

/// A form with a guard, selectors, `!` and a constant wherever they may be.
fn written(form: FormInfo) -> (String, Program) {
    let (mut text, mut separator) = (format!("@!r7 {}", form.mnemonic()), " ");
    let (mut destinations, mut sources, mut selectors) = (Vec::new(), Vec::new(), Vec::new());
    for (place, operand) in form.operands().iter().enumerate() {
        text += separator;
        separator = ", ";
        text += operand.around.before();
        let ty = TABLE.ty(operand.ty);
        if operand.destination {
            text += &format!("r{place}");
            destinations.push(Some(place as u32));
            if operand.second.is_some() {
                text += "|r6";
                destinations.push(Some(6));
            }
        } else if operand.negation == Permission::Yes {
            text += &format!("!r{place}");
            sources.push(Source::Not(place as u32));
        } else if operand.registers.is_empty()
            || operand.constants && ty.constants.integer && ty.kind != Kind::Predicate && sources.len() == 1
        {
            text += "77";
            sources.push(Source::Constant(77));
        } else {
            text += &format!("r{place}");
            sources.push(Source::Register(place as u32));
        }
        if let Some(info) = &operand.selector {
            let (word, bits) = selector(info);
            if sources.last() == Some(&Source::Constant(77)) {
                selectors.push(info.default);
            } else {
                text += &word;
                selectors.push(bits);
            }
        }
        text += operand.around.behind();
    }
    let mut program = Program::new(REGISTERS, 90);
    let operands =
        Operands { guard: Some((7, true)), destinations: &destinations, sources: &sources, selectors: &selectors };
    program.push(form, &operands).unwrap_or_else(|error| panic!("{text}: {error}"));
    (text + ";", program)
}

/// Warps have registers of 16 bits, which hold bytes, of 32 and 64 bits, and predicates.
fn runs_over_warps(form: FormInfo) -> bool {
    form.operands().iter().all(|operand| matches!(TABLE.ty(operand.ty).bits, 1 | 8 | 16 | 32 | 64))
}

#[test]
fn statements_of_all_forms_decode_as_their_operands() {
    for form in TABLE.forms().filter(|form| form.has_evaluator() && runs_over_warps(*form)) {
        let (text, expected) = written(form);
        let program = push(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(run(&program), run(&expected), "{text}");
    }
}

#[test]
fn an_instruction_accesses_the_rows_that_it_lists() {
    for form in TABLE.forms().filter(|form| form.has_evaluator() && runs_over_warps(*form)) {
        let (text, program) = written(form);
        let accesses = program.accesses(0);
        let before = filled(&program);
        let mut after = before.clone();
        program.run(&mut after);
        // Other registers have no influence.
        let mut other = before.clone();
        for row in rows().filter(|row| !accesses.reads.contains(row) && !accesses.writes.contains(row)) {
            for warp in 0..2 {
                match row.bits {
                    1 => *other.pred_mut(warp, row.number) ^= 0x55aa_33cc,
                    16 => other.b16_mut(warp, row.number).iter_mut().for_each(|lane| *lane ^= 0x5a3c),
                    32 => other.b32_mut(warp, row.number).iter_mut().for_each(|lane| *lane ^= 0x5555_aaaa),
                    _ => other.b64_mut(warp, row.number).iter_mut().for_each(|lane| *lane ^= 0x5555_aaaa_3333_cccc),
                }
            }
        }
        program.run(&mut other);
        for row in rows() {
            match accesses.writes.contains(&row) {
                true => assert_eq!(lanes(&after, 0, row), lanes(&other, 0, row), "{text}, {row:?}"),
                false => assert_eq!(lanes(&after, 0, row), lanes(&before, 0, row), "{text}, {row:?}"),
            }
        }
        assert_eq!(accesses.reads[0], Row { bits: 1, number: 7 }, "{text}");
    }
    let mut program = Program::new(REGISTERS, 90);
    for text in ["cvt.u16.u32 d1, w2;", "setp.lt.and.s32 p0|_, w1, 7, !p3;", "add.cc.u32 w1, w1, w2;"] {
        program.push_statement(&Statement::parse(&TABLE, text).unwrap(), number).unwrap();
    }
    let row = |(bits, number)| Row { bits, number };
    for (instruction, reads, writes) in
        [(0, &[(32, 2)][..], &[(64, 1)][..]), (1, &[(32, 1), (1, 3)], &[(1, 0)]), (2, &[(32, 1), (32, 2)], &[(32, 1)])]
    {
        let [reads, writes] = [reads, writes].map(|list| list.iter().copied().map(row).collect::<Vec<_>>());
        assert_eq!(program.accesses(instruction), Accesses { reads: &reads, writes: &writes });
    }
}

#[test]
fn full_warps_need_no_masks() {
    for form in TABLE.forms().filter(|form| form.has_evaluator() && runs_over_warps(*form)) {
        let (text, program) = written(form);
        for masks in [[u32::MAX; 2], [0x0ff0_1234, 0x8000_0001]] {
            let mut masked = filled(&program);
            (0..2).for_each(|warp| *masked.active_mut(warp) = masks[warp]);
            let mut full = masked.clone();
            program.run(&mut masked);
            program.run_full(0..1, 0..2, &mut full);
            for (row, warp) in rows().flat_map(|row| [(row, 0), (row, 1)]) {
                for (lane, (full, masked)) in
                    lanes(&full, warp, row).into_iter().zip(lanes(&masked, warp, row)).enumerate()
                {
                    assert!(full == masked || masks[warp] >> lane & 1 == 0, "{text}, {row:?}, lane {lane}");
                }
            }
        }
    }
}

#[test]
fn what_is_left_out_or_dropped_is_no_register() {
    for (short, long) in [
        ("setp.lt.s32 r0, r1, r2;", "setp.lt.and.s32 r0|_, r1, r2, 1;"),
        ("setp.lt.and.s32 _|r0, r1, r2, r3;", "setp.lt.and.s32 r6|r0, r1, r2, r3;"),
        ("vset4.u32.u32.lt r0, r1, r2, r3;", "vset4.u32.u32.lt r0.b3210, r1.b3210, r2.b7654, r3;"),
    ] {
        let [mut short, mut long] = [short, long].map(|text| run(&push(text).unwrap()));
        // The predicate that only one of the statements writes.
        let r6 = short.len() / 8 * 7 - 1;
        (short[r6], long[r6]) = (0, 0);
        assert_eq!(short, long);
    }
}

#[test]
fn operands_that_are_no_registers_of_the_program_are_refused() {
    for (text, message) in [
        ("set.lt.u32.f32 r0, a, r1;", "`a` of `set.lt.u32.f32` is neither a constant nor a known register"),
        ("setp.lt.f32 r0|q, r1, r1;", "`q` of `setp.lt.f32` is neither a constant nor a known register"),
        ("@p selp.b32 r0, r1, r1, r2;", "`guard` of `selp.b32` is neither a constant nor a known register"),
        ("selp.u32 r0, r1+4, r1, r2;", "`a` of `selp.u32` is neither a constant nor a known register"),
        ("selp.u32 r0, r1, p1, r2;", "`selp.u32` has a register of 1 bits for an operand of 32"),
        ("setp.lt.s32 p0|w1, r1, r2;", "`setp.lt.s32` has a register of 32 bits for an operand of 1"),
        ("@w1 not.b32 r1, r2;", "`not.b32` has a register of 32 bits for an operand of 1"),
        ("selp.u32 r0, r1, r8, r2;", "`selp.u32` names register 8 of 8 with 32 bits"),
    ] {
        assert_eq!(push(text).unwrap_err().to_string(), message, "{text}");
    }
}

/// Accesses to a register wider or narrower than the operand, compared with statements that convert explicitly.
#[test]
fn registers_of_another_width_are_converted() {
    for (text, long) in [
        // The lowest bits of a wider register, not the register of the same number among narrower ones.
        ("cvt.u32.u16 w1, w2;", "and.b32 w1, w2, 0xffff;"),
        ("cvt.s32.s16 w1, d2;", "cvt.u32.u64 w3, d2; bfe.s32 w1, w3, 0, 16;"),
        ("cvt.u32.u8 w1, h2;", "cvt.u32.u16 w3, h2; and.b32 w1, w3, 0xff;"),
        ("cvt.s32.s8 w1, w2;", "bfe.s32 w1, w2, 0, 8;"),
        ("cvt.s64.s8 d1, d2;", "bfe.s64 d1, d2, 0, 8;"),
        ("cvt.rn.f32.u8 w1, w2;", "and.b32 w3, w2, 0xff; cvt.rn.f32.u32 w1, w3;"),
        // A wider destination is extended as the operand's type says.
        ("cvt.u8.u32 w1, w2;", "and.b32 w1, w2, 0xff;"),
        ("cvt.s8.s32 w1, w2;", "bfe.s32 w1, w2, 0, 8;"),
        ("cvt.s16.s32 d1, w2;", "bfe.s32 w3, w2, 0, 16; cvt.s64.s32 d1, w3;"),
        ("cvt.u16.u32 d1, w2;", "and.b32 w3, w2, 0xffff; cvt.u64.u32 d1, w3;"),
        // So is a byte in a register of 16 bits.
        ("cvt.s8.s32 h1, w2;", "bfe.s32 w3, w2, 0, 8; cvt.u16.u32 h1, w3;"),
        ("cvt.u8.s32 h1, w2;", "and.b32 w3, w2, 0xff; cvt.u16.u32 h1, w3;"),
        ("cvt.s8.u8 h1, h2;", "cvt.u32.u16 w3, h2; bfe.s32 w3, w3, 0, 8; cvt.u16.u32 h1, w3;"),
        ("@p3 cvt.sat.s8.s64 h1, d2;", "cvt.sat.s8.s64 d3, d2; @p3 cvt.u16.u64 h1, d3;"),
        // Two operands of one width, and lanes that a guard leaves out.
        ("@p3 cvt.u16.u32 d1, w2;", "and.b32 w3, w2, 0xffff; @p3 cvt.u64.u32 d1, w3;"),
        (
            "@!p3 min.u16 w1, w2, d2;",
            "cvt.u16.u32 h3, w2; cvt.u16.u64 h4, d2; min.u16 h3, h3, h4; @!p3 cvt.u32.u16 w1, h3;",
        ),
    ] {
        let mut found = [text, long].map(|text| {
            let mut program = Program::new(REGISTERS, 90);
            for text in text.split_inclusive(';') {
                let statement = Statement::parse(&TABLE, text).unwrap_or_else(|error| panic!("{text}: {error}"));
                program.push_statement(&statement, number).unwrap_or_else(|error| panic!("{text}: {error}"));
            }
            run(&program)
        });
        // Registers that only the longer one uses.
        for found in &mut found {
            for register in [3, 4] {
                found[register * 97..][..96].fill(0);
            }
        }
        assert_eq!(found[0], found[1], "{text}");
    }
}

#[test]
fn an_instruction_is_counted_once_however_its_operands_are_converted() {
    let mut program = Program::new(REGISTERS, 90);
    for text in ["cvt.u16.u32 d1, w2;", "not.b32 w3, w2;", "cvt.u32.u8 w4, w2;"] {
        program.push_statement(&Statement::parse(&TABLE, text).unwrap(), number).unwrap();
    }
    assert_eq!(program.len(), 3);
    let mut warps = program.warps(1);
    warps.b32_mut(0, 2)[5] = 0x1234_5678;
    program.run_range(1..3, 0..1, &mut warps);
    assert_eq!((warps.b64(0, 1)[5], warps.b32(0, 3)[5], warps.b32(0, 4)[5]), (0, !0x1234_5678, 0x78));
    program.run_range(0..1, 0..1, &mut warps);
    assert_eq!(warps.b64(0, 1)[5], 0x5678);
}

#[test]
fn a_range_of_a_program_runs_alone() {
    let mut program = Program::new(REGISTERS, 90);
    for text in ["not.b32 r1, r0;", "not.b32 r2, r0;", "not.b32 r3, r0;"] {
        program.push_statement(&Statement::parse(&TABLE, text).unwrap(), number).unwrap();
    }
    let mut warps = program.warps(1);
    program.run_range(1..2, 0..1, &mut warps);
    assert_eq!([1, 2, 3].map(|register| warps.b32(0, register)[31]), [0, u32::MAX, 0]);
}

/// A thread's words of 32 bits.
fn words(value: u128) -> [u32; 4] {
    core::array::from_fn(|word| (value >> (32 * word)) as u32)
}

/// Runs `lines` in each lane on two 128-bit numbers, in `r0` to `r3` and `r4` to `r7`, and returns the first four
/// registers.
fn of_words(lines: &str, numbers: impl Fn(usize) -> (u128, u128)) -> Vec<u128> {
    let mut program = Program::new(REGISTERS, 90);
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let statement = Statement::parse(&TABLE, line).unwrap_or_else(|error| panic!("{line}: {error}"));
        program.push_statement(&statement, number).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    let mut warps = program.warps(1);
    for lane in 0..32 {
        let (a, b) = numbers(lane);
        for (register, word) in words(a).into_iter().chain(words(b)).enumerate() {
            warps.b32_mut(0, register as u32)[lane] = word;
        }
    }
    program.run(&mut warps);
    let word = |lane: usize, register: u32| u128::from(warps.b32(0, register)[lane]) << (32 * register);
    (0..32).map(|lane| (0..4).map(|register| word(lane, register)).sum()).collect()
}

/// Numbers whose words are often all ones or zero, so that carries go far.
fn numbers(lane: usize) -> (u128, u128) {
    let part = |seed: u64| match seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 {
        0..=2 => 0_u128,
        3..=5 => 0xffff_ffff,
        _ => u128::from(seed.wrapping_mul(0xd134_2543_de82_ef95) >> 32),
    };
    let number = |from: u64| (0..4).fold(0, |all, word| all << 32 | part(from + word));
    (number(lane as u64 * 8), number(lane as u64 * 8 + 4))
}

#[test]
fn a_carry_goes_from_one_statement_to_the_next() {
    let sum = of_words(
        "add.cc.u32 r0, r0, r4;
         addc.cc.u32 r1, r1, r5;
         addc.cc.s32 r2, r2, r6;
         addc.u32 r3, r3, r7;",
        numbers,
    );
    let difference = of_words(
        "sub.cc.u32 r0, r0, r4;
         subc.cc.u32 r1, r1, r5;
         subc.cc.s32 r2, r2, r6;
         subc.u32 r3, r3, r7;",
        numbers,
    );
    // The product of the lower halves, word by word.
    let product = of_words(
        "mul.lo.u32 r2, r0, r5;
         mul.hi.u32 r3, r0, r5;
         mad.lo.cc.u32 r2, r1, r4, r2;
         madc.hi.cc.u32 r3, r1, r4, r3;
         addc.u32 r6, 0, 0;
         mul.hi.u32 r7, r0, r4;
         mul.lo.u32 r0, r0, r4;
         mad.lo.cc.u32 r3, r1, r5, r3;
         madc.hi.u32 r6, r1, r5, r6;
         add.cc.u32 r1, r2, r7;
         addc.cc.u32 r2, r3, 0;
         addc.u32 r3, r6, 0;",
        numbers,
    );
    for lane in 0..32 {
        let (a, b) = numbers(lane);
        assert_eq!(sum[lane], a.wrapping_add(b), "{a:x} + {b:x}");
        assert_eq!(difference[lane], a.wrapping_sub(b), "{a:x} - {b:x}");
        let low = |x: u128| u128::from(x as u64);
        assert_eq!(product[lane], low(a) * low(b), "{:x} * {:x}", low(a), low(b));
    }
    // After `add.cc`, `subc` computes `a + !b + carry`: the carry flag is not the borrow that the manual describes.
    let mixed = of_words("add.cc.u32 r0, r0, r4; \n subc.u32 r1, r1, r5;", numbers);
    for (lane, found) in mixed.into_iter().enumerate() {
        let (a, b) = numbers(lane);
        let [[a0, a1, ..], [b0, b1, ..]] = [words(a), words(b)];
        let carry = a0.checked_add(b0).is_none();
        assert_eq!(found >> 32 & 0xffff_ffff, a1.wrapping_add(!b1).wrapping_add(carry.into()).into());
    }
}

#[test]
fn a_carry_is_given_and_taken_by_its_name() {
    let form = TABLE.form("madc.hi.cc.u64").unwrap();
    let states: Vec<_> = form.states().iter().map(|state| (state.name, state.destination)).collect();
    assert_eq!(states, [("CC.CF", false), ("CC.CF", true)]);
    assert_eq!((form.operands().len(), form.sources().count(), form.results().count()), (4, 4, 2));
    let ones = u128::from(u64::MAX);
    assert_eq!(form.evaluate(90, &[ones, ones, 1, 1]), [0, 1]);
    assert_eq!(form.evaluate(90, &[ones, ones, 1, 0]), [ones, 0]);
    // Without `.cc` nothing goes on.
    let alone: Vec<_> = TABLE.form("subc.u32").unwrap().states().iter().map(|state| state.destination).collect();
    assert_eq!(alone, [false]);
    #[cfg(feature = "scalar")]
    assert_eq!(ptx_isa::scalar::subc_cc_u32(0, 1, true), (u32::MAX, false));
}
