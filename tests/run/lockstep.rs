//! Optimizations must not be observable: blocks in lockstep, instructions that one block computes for all, and loads
//! and stores of whole warps.

use ptx_isa::run::{Grid, Memory, Module, Options};

const HEAD: &str = ".version 8.0 .target sm_80 .address_size 64\n";

fn one_thread() -> Options {
    Options { threads: Some(1), ..Options::default() }
}

/// Each block of 40 threads turns its part of an array around.
const TURN: &str = "
    .visible .entry turn(.param .u64 x, .param .u32 n) {
        .reg .pred %p<2>; .reg .b32 %r<12>; .reg .b64 %rd<6>;
        .shared .align 4 .b8 part[160];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mov.u32 %r3, %ntid.x;
        mad.lo.s32 %r4, %r2, %r3, %r1;
        ld.param.u64 %rd1, [x];
        mul.wide.u32 %rd2, %r4, 4;
        add.s64 %rd3, %rd1, %rd2;
        ld.global.u32 %r5, [%rd3];
        shl.b32 %r6, %r1, 2;
        mov.u32 %r7, part;
        add.s32 %r8, %r7, %r6;
        st.shared.u32 [%r8], %r5;
        bar.sync 0;
        ld.param.u32 %r11, [n];
        setp.ge.u32 %p1, %r4, %r11;
        @%p1 bra END;
        sub.s32 %r9, %r7, %r6;
        ld.shared.u32 %r10, [%r9+156];
        st.global.u32 [%rd3], %r10;
    END:
        ret;
    }";

#[test]
fn small_blocks_have_their_own_memory_barriers_and_indices() {
    let memory = Memory::new();
    let module = Module::load(&format!("{HEAD}{TURN}"), &memory).unwrap();
    // More blocks than run in lockstep, and not a multiple of them; the last one ends early.
    let (blocks, n) = (23, 23 * 40 - 10);
    for threads in [1, 2] {
        let options = Options { threads: Some(threads), ..Options::default() };
        let numbers: Vec<u32> = (0..blocks * 40).collect();
        let x = memory.upload(&numbers);
        let report =
            module.kernel("turn").unwrap().launch_with(Grid::new(blocks, 40), &[x.into(), n.into()], &options).unwrap();
        let expected = numbers.iter().map(|index| match index {
            index if *index < n => index / 40 * 40 + 39 - index % 40,
            index => *index,
        });
        assert_eq!(memory.download::<u32>(x, numbers.len()).unwrap(), expected.collect::<Vec<_>>());
        // Each thread executes sixteen statements and the final one; threads that do not branch over them execute three
        // more.
        assert_eq!(report.instructions, u64::from(17 * blocks * 40 + 3 * n));
    }
}

#[test]
fn the_first_block_that_fails_is_reported() {
    let text = format!(
        "{HEAD}.visible .entry fails(.param .u64 x) {{
            .reg .pred %p<5>; .reg .b32 %r<3>; .reg .b64 %rd<3>;
            mov.u32 %r1, %ctaid.x;
            mov.u32 %r2, %tid.x;
            setp.eq.u32 %p1, %r1, 5;
            setp.eq.u32 %p2, %r2, 7;
            and.pred %p3, %p1, %p2;
            ld.param.u64 %rd1, [x];
            @%p3 trap;
            st.global.u32 [%rd1], %r1;
            setp.eq.u32 %p4, %r1, 2;
            @%p4 st.global.u32 [%rd1+4000], %r1;
            ret;
        }}"
    );
    let memory = Memory::new();
    let module = Module::load(&text, &memory).unwrap();
    let x = memory.allocate(4);
    let error = module.kernel("fails").unwrap().launch_with(Grid::new(8, 32), &[x.into()], &one_thread()).unwrap_err();
    assert_eq!((error.kind.name(), error.block, error.thread), ("access", Some([2, 0, 0]), Some([0, 0, 0])));
    assert_eq!(error.statement.as_deref(), Some("@%p4 st.global.u32 [%rd1+4000], %r1;"));
}

/// Index of the element that a thread loads.
type Pattern = fn(u32) -> u32;

const PATTERNS: [(&str, Pattern); 6] = [
    ("adjacent", |thread| thread),
    ("same", |_| 17),
    ("rows of 16", |thread| thread % 16 + thread / 16 * 40),
    ("a column for each 16", |thread| thread / 16 * 3),
    ("backwards", |thread| 120 - thread),
    ("scattered", |thread| thread * 37 % 128),
];

#[test]
fn loads_and_stores_move_what_each_lane_addresses() {
    let memory = Memory::new();
    let bytes: Vec<u8> = (0..16 * 512_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let x = memory.upload(&bytes);
    for (ty, size, signed) in [
        ("u8", 1, false),
        ("s8", 1, true),
        ("u16", 2, false),
        ("s16", 2, true),
        ("u32", 4, false),
        ("s32", 4, true),
        ("b64", 8, false),
    ] {
        for count in [1, 2, 4_usize].into_iter().filter(|count| count * size <= 16) {
            let whole = size * count;
            let vector = if count == 1 { String::new() } else { format!("v{count}.") };
            let registers = (0..count).map(|index| format!("%v{index}")).collect::<Vec<_>>().join(", ");
            let list = if count == 1 { registers } else { format!("{{{registers}}}") };
            let stores: String =
                (0..count).map(|index| format!("st.global.b64 [%rd8+{}], %v{index};\n", 8 * index)).collect();
            // Threads of the guard load; all of them store what they have, and copy the elements as they are.
            let text = format!(
                "{HEAD}.visible .entry moves(.param .u64 x, .param .u64 places, .param .u64 out, .param .u64 copy, .param .u32 m) {{
                    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<12>; .reg .b64 %v<4>;
                    mov.u32 %r1, %tid.x;
                    ld.param.u64 %rd1, [x];
                    ld.param.u64 %rd2, [places];
                    ld.param.u64 %rd3, [out];
                    ld.param.u64 %rd4, [copy];
                    ld.param.u32 %r2, [m];
                    mul.wide.u32 %rd5, %r1, 4;
                    add.s64 %rd5, %rd2, %rd5;
                    ld.global.u32 %r3, [%rd5];
                    mul.wide.u32 %rd6, %r3, {whole};
                    add.s64 %rd7, %rd1, %rd6;
                    mul.wide.u32 %rd8, %r1, 32;
                    add.s64 %rd8, %rd3, %rd8;
                    add.s64 %rd9, %rd4, %rd6;
                    mov.b64 %v0, 0; mov.b64 %v1, 0; mov.b64 %v2, 0; mov.b64 %v3, 0;
                    and.b32 %r4, %r1, %r2;
                    setp.eq.u32 %p1, %r4, 0;
                    @%p1 ld.global.{vector}{ty} {list}, [%rd7];
                    {stores}
                    @%p1 st.global.{vector}{ty} [%rd9], {list};
                    ret;
                }}"
            );
            let module = Module::load(&text, &memory).unwrap_or_else(|error| panic!("{error}\n{text}"));
            // All lanes, and every other one; a whole number of warps, and not.
            for ((name, pattern), mask, threads) in
                PATTERNS.iter().flat_map(|pattern| [(pattern, 0, 96_u32), (pattern, 1, 96), (pattern, 0, 100)])
            {
                let places: Vec<u32> = (0..threads).map(pattern).collect();
                let (at, out) = (memory.upload(&places), memory.allocate(32 * threads as usize));
                let copy = memory.allocate(bytes.len());
                let arguments = [x.into(), at.into(), out.into(), copy.into(), mask.into()];
                let kernel = module.kernel("moves").unwrap();
                kernel.launch_with(Grid::new(1, threads), &arguments, &one_thread()).unwrap();
                let element = |place: usize| {
                    let mut word = [0; 8];
                    word[..size].copy_from_slice(&bytes[place..][..size]);
                    let above = 64 - 8 * size as u32;
                    let word = u64::from_le_bytes(word) << above;
                    if signed { ((word as i64) >> above) as u64 } else { word >> above }
                };
                let (mut expected, mut copied) = (vec![0; 4 * threads as usize], vec![0; bytes.len()]);
                for (thread, place) in places.iter().enumerate().filter(|(thread, _)| *thread as u32 & mask == 0) {
                    let from = *place as usize * whole;
                    (0..count).for_each(|index| expected[4 * thread + index] = element(from + index * size));
                    copied[from..][..whole].copy_from_slice(&bytes[from..][..whole]);
                }
                let what = format!("{vector}{ty}, {name}, {threads} threads, mask {mask}");
                assert_eq!(memory.download::<u64>(out, expected.len()).unwrap(), expected, "{what}");
                assert_eq!(memory.download::<u8>(copy, copied.len()).unwrap(), copied, "{what}");
            }
        }
    }
}

/// Registers that outlive others: over a loop, under a guard, in one arm of a branch, as addresses of what replaces them, and as results of
/// functions.
const KEEP: &str = "
    .func (.reg .b32 before) count(.reg .b64 at) {
        atom.global.add.u32 before, [at], 1;
        ret;
    }
    .visible .entry keep(.param .u64 x, .param .u64 pairs, .param .u64 counts) {
        .reg .pred %p<6>; .reg .b32 %r<24>; .reg .b64 %rd<12>;
        ld.param.u64 %rd1, [x];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mov.u32 %r3, %ntid.x;
        mad.lo.u32 %r4, %r2, %r3, %r1;
        mul.wide.u32 %rd2, %r4, 4;
        add.u64 %rd3, %rd1, %rd2;
        ld.global.u32 %r5, [%rd3];
        mov.u32 %r6, 0;
        and.b32 %r7, %r5, 7;
        mov.u32 %r8, 0;
    LOOP:
        setp.ne.u32 %p1, %r8, 0;
        @%p1 bra KEPT;
        xor.b32 %r9, %r5, 0x5555;
        mov.u32 %r10, %r5;
    KEPT:
        mul.lo.u32 %r11, %r8, %r5;
        add.u32 %r12, %r11, 77;
        xor.b32 %r13, %r12, %r10;
        add.u32 %r14, %r13, %r9;
        add.u32 %r6, %r6, %r14;
        shr.u32 %r10, %r14, 3;
        add.u32 %r8, %r8, 1;
        setp.le.u32 %p2, %r8, %r7;
        @%p2 bra LOOP;
        and.b32 %r15, %r5, 1;
        setp.eq.u32 %p3, %r15, 0;
        mul.lo.u32 %r16, %r5, %r6;
        @%p3 bra EVEN;
        add.u32 %r17, %r16, %r5;
        xor.b32 %r18, %r17, %r6;
        bra JOIN;
    EVEN:
        sub.u32 %r19, %r16, %r6;
        or.b32 %r18, %r19, %r5;
    JOIN:
        @%p3 add.u32 %r18, %r18, %r16;
        and.b32 %r20, %r5, 3;
        ld.param.u64 %rd4, [pairs];
        mul.wide.u32 %rd5, %r20, 16;
        add.u64 %rd6, %rd4, %rd5;
        ld.global.v2.u64 {%rd6, %rd7}, [%rd6];
        cvt.u32.u64 %r21, %rd6;
        cvt.u32.u64 %r22, %rd7;
        add.u32 %r18, %r18, %r21;
        xor.b32 %r18, %r18, %r22;
        st.global.u32 [%rd3], %r18;
        ld.param.u64 %rd8, [counts];
        mul.wide.u32 %rd9, %r20, 4;
        add.u64 %rd10, %rd8, %rd9;
        call (%r23), count, (%rd10);
        setp.lt.u32 %p4, %r23, 1000000;
        @%p4 red.global.max.u32 [%rd8+16], %r23;
        ret;
    }";

#[test]
fn registers_that_share_lanes_keep_their_values() {
    let memory = Memory::new();
    let module = Module::load(&format!("{HEAD}{KEEP}"), &memory).unwrap();
    let values: Vec<u32> = (0..37 * 96_u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    let pairs: Vec<u64> = (0..8).map(|i| 0x1234_5678 * (i + 1)).collect();
    let expected = |x: u32| {
        let (mut sum, mut last) = (0_u32, x);
        for i in 0..=(x & 7) {
            let next = (i.wrapping_mul(x).wrapping_add(77) ^ last).wrapping_add(x ^ 0x5555);
            sum = sum.wrapping_add(next);
            last = next >> 3;
        }
        let product = x.wrapping_mul(sum);
        let own = match x % 2 {
            0 => (product.wrapping_sub(sum) | x).wrapping_add(product),
            _ => product.wrapping_add(x) ^ sum,
        };
        let pair = 2 * (x & 3) as usize;
        own.wrapping_add(pairs[pair] as u32) ^ pairs[pair + 1] as u32
    };
    for threads in [1, 2] {
        let options = Options { threads: Some(threads), ..Options::default() };
        let (x, table) = (memory.upload(&values), memory.upload(&pairs));
        let counts = memory.upload(&[0_u32; 5]);
        let arguments = [x.into(), table.into(), counts.into()];
        module.kernel("keep").unwrap().launch_with(Grid::new(37, 96), &arguments, &options).unwrap();
        assert_eq!(
            memory.download::<u32>(x, values.len()).unwrap(),
            values.iter().map(|x| expected(*x)).collect::<Vec<_>>()
        );
        let found = memory.download::<u32>(counts, 5).unwrap();
        let own = |low: u32| values.iter().filter(|x| **x & 3 == low).count() as u32;
        assert_eq!(found[..4], [0, 1, 2, 3].map(own));
        assert_eq!(found[4] + 1, found[..4].iter().copied().max().unwrap());
    }
}

/// Each block waits for a flag: the first for that of the second, which has none to wait for, and the others for that of the first.
const CHAIN: &str = "
    .visible .entry chain(.param .u64 flags) {
        .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [flags];
        mov.u32 %r1, %ctaid.x;
        mul.wide.u32 %rd2, %r1, 4;
        add.u64 %rd2, %rd1, %rd2;
        setp.eq.u32 %p1, %r1, 1;
        @%p1 bra SET;
        setp.eq.u32 %p2, %r1, 0;
        @%p2 add.u64 %rd1, %rd1, 4;
    SPIN:
        ld.volatile.global.u32 %r2, [%rd1];
        setp.eq.u32 %p3, %r2, 0;
        @%p3 bra SPIN;
    SET:
        st.volatile.global.u32 [%rd2], 1;
        ret;
    }";

#[test]
fn a_block_that_waited_goes_on_before_others_begin() {
    let memory = Memory::new();
    let module = Module::load(&format!("{HEAD}{CHAIN}"), &memory).unwrap();
    let flags = memory.upload(&[0_u32; 64]);
    let kernel = module.kernel("chain").unwrap();
    let report = kernel.launch_with(Grid::new(64, 1), &[flags.into()], &one_thread()).unwrap();
    assert_eq!(memory.download::<u32>(flags, 64).unwrap(), [1; 64]);
    // The first block looks a thousand times before the second begins. If it then came last, each of the others would do so too.
    assert!(report.instructions < 20_000, "{} instructions", report.instructions);
}

/// Counts the low bits of numbers in the shared memory of each block, by registers and by a constant; one address may be wrong. No thread
/// gets to the load behind the variable in constant memory.
const COUNTS: &str = "
    .const .align 4 .b32 steps[4] = {1, 2, 3, 4};
    .visible .entry counts(.param .u64 x, .param .u64 y, .param .u32 wrong) {
        .reg .pred %p<2>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
        .shared .align 4 .b8 bins[64];
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [wrong];
        mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.s32 %r5, %r3, %r4, %r2;
        mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; ld.global.u32 %r6, [%rd4];
        and.b32 %r7, %r6, 15; shl.b32 %r8, %r7, 2; mov.u32 %r9, bins; add.s32 %r10, %r9, %r8;
        setp.eq.u32 %p1, %r5, 45; selp.b32 %r11, %r1, 0, %p1; add.u32 %r10, %r10, %r11;
        ld.const.u32 %r12, [steps+8];
        red.shared.add.u32 [%r10], 1;
        red.shared.add.u32 [%r10], %r6;
        red.shared.add.u32 [%r10], %r12;
        bar.sync 0;
        setp.ge.u32 %p1, %r2, 16;
        @%p1 bra DONE;
        shl.b32 %r13, %r2, 2; add.s32 %r13, %r9, %r13; ld.shared.u32 %r14, [%r13];
        mad.lo.s32 %r15, %r3, 16, %r2; mul.wide.u32 %rd5, %r15, 4; add.s64 %rd6, %rd2, %rd5; st.global.u32 [%rd6], %r14;
        setp.lt.u32 %p1, %r4, 1000;
        @%p1 bra DONE;
        ld.const.u32 %r12, [steps+16]; st.global.u32 [%rd6], %r12;
    DONE:
        ret;
    }";

#[test]
fn blocks_count_in_their_own_memory() {
    // Whole warps, and one with lanes that no thread has.
    for threads in [64, 40] {
        let memory = Memory::new();
        let module = Module::load(&format!("{HEAD}{COUNTS}"), &memory).unwrap();
        let blocks = 9;
        let numbers: Vec<u32> = (0..blocks * threads).map(|index: u32| index.wrapping_mul(0x9e37_79b9)).collect();
        let (x, y) = (memory.upload(&numbers), memory.upload(&vec![0_u32; 16 * blocks as usize]));
        let kernel = module.kernel("counts").unwrap();
        let launch = |wrong: u32| {
            kernel.launch_with(Grid::new(blocks, threads), &[x.into(), y.into(), wrong.into()], &one_thread())
        };
        // The host may write constant memory between launches.
        let (steps, _) = module.variable("steps").unwrap();
        for step in [3_u32, 1000] {
            memory.write(steps + 8, &step.to_le_bytes()).unwrap();
            launch(0).unwrap();
            let mut expected = vec![0_u32; 16 * blocks as usize];
            for (index, number) in numbers.iter().enumerate() {
                let bin = &mut expected[16 * (index / threads as usize) + (number & 15) as usize];
                *bin = bin.wrapping_add(1).wrapping_add(*number).wrapping_add(step);
            }
            assert_eq!(memory.download::<u32>(y, expected.len()).unwrap(), expected);
        }
        for (wrong, kind) in [(2, "misaligned"), (64, "access"), (u32::MAX - 99, "access")] {
            let error = launch(wrong).unwrap_err();
            let thread = [45 % threads, 0, 0];
            assert_eq!(
                (error.kind.name(), error.block, error.thread),
                (kind, Some([45 / threads, 0, 0]), Some(thread))
            );
            assert_eq!(error.statement.as_deref(), Some("red.shared.add.u32 [%r10], 1;"));
        }
    }
}
