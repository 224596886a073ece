//! Loads and stores of matrices with 8-, 6- and 4-bit elements, against layouts that are written here by hand.

use ptx_isa::run::{Grid, Memory, Module};

/// Runs a kernel of one warp. `rows` is copied to shared memory, in which lane `i` addresses the 16 bytes at `16 * i`; the
/// instruction has `%a` for that address and `%d0` to `%d3` for its registers, which begin as `given`. Returns the registers
/// of each lane, and shared memory.
fn run(instruction: &str, rows: &[u8; 512], given: &[u32; 128]) -> (Vec<u32>, Vec<u8>) {
    let copied = |from: &str, to: &str| -> String {
        let one =
            |at: usize| format!("ld{from}.u32 %v, [%{}+{at}]; st{to}.u32 [%{}+{at}], %v;\n", &from[1..2], &to[1..2]);
        (0..4).map(|word| one(4 * word)).collect()
    };
    let (before, after) = (copied(".global", ".shared"), copied(".shared", ".global"));
    let text = format!(
        ".version 9.4 .target sm_100a .address_size 64
        .visible .entry k(.param .u64 rows, .param .u64 registers) {{
            .reg .b32 %v, %a, %s, %i, %d<4>; .reg .b64 %g, %r, %o;
            .shared .align 16 .b8 memory[512];
            mov.u32 %i, %laneid; mul.wide.u32 %o, %i, 16;
            ld.param.u64 %g, [rows]; add.u64 %g, %g, %o;
            ld.param.u64 %r, [registers]; add.u64 %r, %r, %o;
            mov.u32 %a, memory; shl.b32 %s, %i, 4; add.u32 %a, %a, %s; mov.u32 %s, %a;
            {before}
            bar.warp.sync -1;
            ld.global.v4.u32 {{%d0, %d1, %d2, %d3}}, [%r];
            {instruction}
            st.global.v4.u32 [%r], {{%d0, %d1, %d2, %d3}};
            bar.warp.sync -1;
            {after}
            ret;
        }}"
    );
    let memory = Memory::new();
    let module = Module::load(&text, &memory).unwrap_or_else(|error| panic!("{instruction}: {error}"));
    let (at, registers) = (memory.upload(rows), memory.upload(given));
    module.kernel("k").unwrap().launch(Grid::new(1, 32), &[at.into(), registers.into()]).unwrap();
    (memory.download(registers, 128).unwrap(), memory.download(at, 512).unwrap())
}

/// Bytes without a pattern.
fn bytes() -> [u8; 512] {
    std::array::from_fn(|at| (at as u32).wrapping_mul(0x9e37_79b9).rotate_left(9) as u8)
}

/// Element `column` of a row of 16 elements with `bits` bits each.
fn element(row: &[u8], column: usize, bits: usize) -> u8 {
    let word = u128::from_le_bytes(row.try_into().unwrap());
    (word >> (column * bits)) as u8 & (u8::MAX >> (8 - bits))
}

/// Compares the registers of each lane with four elements each, given by matrix, row and column.
fn compare(instruction: &str, count: usize, expected: impl Fn(usize, usize, usize) -> u8) {
    let given = [0xdead_beef; 128];
    let (registers, _) = run(instruction, &bytes(), &given);
    for (lane, registers) in registers.chunks(4).enumerate() {
        for (register, word) in registers.iter().enumerate() {
            let held = std::array::from_fn(|part| expected(lane, register, part));
            let expected = if register < count { u32::from_le_bytes(held) } else { 0xdead_beef };
            assert_eq!(*word, expected, "{instruction}: lane {lane}, register {register}");
        }
    }
}

#[test]
fn rows_of_narrow_elements_are_widened() {
    let rows = bytes();
    // Eight rows a matrix: lanes 4g to 4g + 3 hold row g, four adjacent elements each.
    let at = |lane: usize, matrix: usize, part: usize, bits: usize| {
        element(&rows[16 * (8 * matrix + lane / 4)..][..16], lane % 4 * 4 + part, bits)
    };
    for count in [1, 2, 4] {
        let vector = format!("{{{}}}", ["%d0", "%d1", "%d2", "%d3"][..count].join(", "));
        let load = |words: &str| format!("ldmatrix.sync.aligned.m8n16.x{count}.shared.{words} {vector}, [%a];");
        compare(&load("b8x16.b6x16_p32"), count, |lane, matrix, part| at(lane, matrix, part, 6));
        // The four bits of E2M1 lie two bits above the lowest.
        compare(&load("b8x16.b4x16_p64"), count, |lane, matrix, part| at(lane, matrix, part, 4) << 2);
        let signed = |lane, matrix, part| ((at(lane, matrix, part, 4) << 4) as i8 >> 4) as u8;
        compare(&load("s8.s4"), count, signed);
    }
}

#[test]
fn square_matrices_are_transposed() {
    let rows = bytes();
    // Sixteen rows a matrix, two registers each: register 0 has rows g of the transposed matrix, register 1 rows g + 8.
    let at = |lane: usize, register: usize, part: usize, bits: usize| {
        let (row, column) = (lane / 4 + register % 2 * 8, lane % 4 * 4 + part);
        element(&rows[16 * (register / 2 * 16 + column)..][..16], row, bits)
    };
    for count in [1, 2] {
        let vector = ["{%d0, %d1}", "{%d0, %d1, %d2, %d3}"][count - 1];
        let load = |words: &str| format!("ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{words} {vector}, [%a];");
        compare(&load("b8"), 2 * count, |lane, register, part| at(lane, register, part, 8));
        compare(&load("b8x16.b6x16_p32"), 2 * count, |lane, register, part| at(lane, register, part, 6));
        compare(&load("b8x16.b4x16_p64"), 2 * count, |lane, register, part| at(lane, register, part, 4) << 2);
    }
}

#[test]
fn bytes_are_stored_transposed() {
    let given: [u32; 128] = std::array::from_fn(|at| (at as u32).wrapping_mul(0x0108_1021) ^ 0x5a5a_1234);
    for count in [1, 2, 4] {
        let vector = format!("{{{}}}", ["%d0", "%d1", "%d2", "%d3"][..count].join(", "));
        let store = format!("stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%a], {vector};");
        let (_, stored) = run(&store, &bytes(), &given);
        let mut expected = bytes();
        for (lane, matrix, part) in (0..32).flat_map(|lane| (0..count * 4).map(move |at| (lane, at / 4, at % 4))) {
            // As an accumulator of 16 × 8 holds it: two adjacent columns of row g, then of row g + 8.
            let (row, column) = (lane / 4 + part / 2 * 8, lane % 4 * 2 + part % 2);
            expected[16 * (8 * matrix + column) + row] = given[4 * lane + matrix].to_le_bytes()[part];
        }
        assert_eq!(stored, expected, "{store}");
    }
}
