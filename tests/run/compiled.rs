//! Launches with machine code against the same instruction by instruction.

use ptx_isa::run::{Argument, Error, Grid, Memory, Module, Options, Report};

/// Sums of powers of two along rows of `x`, for threads below a count: a loop with loads by affine addresses and by one for all threads, an
/// instruction that is not compiled, and a store.
const SUMS: &str = "
    .version 8.0 .target sm_80 .address_size 64
    .visible .entry sums(.param .u64 x, .param .u64 y, .param .u64 factors, .param .u32 count, .param .u32 rounds) {
        .reg .pred %p<3>; .reg .f32 %f<8>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u64 %rd3, [factors];
        ld.param.u32 %r1, [count]; ld.param.u32 %r2, [rounds];
        mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
        mad.lo.s32 %r6, %r3, %r4, %r5;
        setp.ge.u32 %p1, %r6, %r1;
        @%p1 bra DONE;
        mul.wide.u32 %rd4, %r6, 4;
        add.s64 %rd5, %rd1, %rd4;
        add.s64 %rd6, %rd2, %rd4;
        mov.f32 %f1, 0f00000000;
        mov.u32 %r7, 0;
    LOOP:
        ld.global.f32 %f2, [%rd5];
        ld.global.f32 %f3, [%rd3];
        mul.f32 %f4, %f2, %f3;
        ex2.approx.f32 %f5, %f4;
        add.f32 %f6, %f5, %f3;
        add.f32 %f1, %f1, %f6;
        add.s64 %rd3, %rd3, 4;
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p2, %r7, %r2;
        @%p2 bra LOOP;
        st.global.f32 [%rd6], %f1;
    DONE:
        ret;
    }";

/// Runs the kernel over buffers of `elements` elements; what it leaves in `y`, and the report.
fn sums(compile_after: Option<u32>, elements: usize, threads: u32, count: u32) -> (Vec<u32>, Result<Report, Error>) {
    let memory = Memory::new();
    let module = Module::load(SUMS, &memory).unwrap();
    let x: Vec<f32> = (0..elements).map(|index| index as f32 / 64.0 - 3.0).collect();
    let (x, y) = (memory.upload(&x), memory.upload(&vec![7.0_f32; elements]));
    let factors = memory.upload(&[0.5_f32, -1.0, f32::NAN, 1e-40, 2.0]);
    let options = Options { compile_after, threads: Some(1), ..Options::default() };
    let arguments: [Argument; 5] = [x.into(), y.into(), factors.into(), count.into(), 5_u32.into()];
    let grid = Grid::new(count.div_ceil(threads).max(1), threads);
    let report = module.kernel("sums").unwrap().launch_with(grid, &arguments, &options);
    (memory.download(y, elements).unwrap(), report)
}

#[test]
fn results_and_counts_are_the_same() {
    for (threads, count) in [(32, 4096), (96, 5000), (50, 999), (256, 1), (1, 3)] {
        let [code, steps] = [Some(0), None].map(|after| sums(after, count, threads, count as u32));
        assert_eq!(code.0, steps.0, "{threads} {count}");
        assert_eq!(code.1.unwrap().instructions, steps.1.unwrap().instructions, "{threads} {count}");
    }
}

#[test]
fn errors_are_the_same() {
    // The last threads load from beyond the buffer.
    let [code, steps] = [Some(0), None].map(|after| sums(after, 4000, 128, 4096));
    let told = |error: Error| (error.kind.name(), error.statement, error.block, error.thread);
    assert_eq!(told(code.1.unwrap_err()), told(steps.1.unwrap_err()));
    assert_eq!(code.0, steps.0);
}

/// For each element of a matrix the sum of its neighbors along the diagonal, those at the borders being their own neighbors.
const NEIGHBORS: &str = "
    .version 8.0 .target sm_80 .address_size 64
    .visible .entry neighbors(.param .u64 x, .param .u64 y, .param .u32 width, .param .u32 height) {
        .reg .pred %p<3>; .reg .b32 %r<24>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
        ld.param.u32 %r1, [width]; ld.param.u32 %r2, [height];
        mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.s32 %r6, %r3, %r4, %r5;
        mov.u32 %r7, %ctaid.y; mov.u32 %r8, %ntid.y; mov.u32 %r9, %tid.y; mad.lo.s32 %r10, %r7, %r8, %r9;
        sub.s32 %r11, %r6, 1; max.s32 %r11, %r11, 0;
        sub.s32 %r12, %r10, 1; max.s32 %r12, %r12, 0;
        sub.s32 %r13, %r1, 1; add.s32 %r14, %r6, 1; min.s32 %r14, %r14, %r13;
        sub.s32 %r15, %r2, 1; add.s32 %r16, %r10, 1; min.s32 %r16, %r16, %r15;
        mad.lo.s32 %r17, %r12, %r1, %r11; mul.wide.s32 %rd3, %r17, 4; add.s64 %rd4, %rd1, %rd3;
        mad.lo.s32 %r18, %r16, %r1, %r14; mul.wide.s32 %rd5, %r18, 4; add.s64 %rd6, %rd1, %rd5;
        ld.global.u32 %r19, [%rd4]; ld.global.u32 %r20, [%rd6]; add.u32 %r21, %r19, %r20;
        mad.lo.s32 %r22, %r10, %r1, %r6; mul.wide.s32 %rd7, %r22, 4; add.s64 %rd8, %rd2, %rd7;
        st.global.u32 [%rd8], %r21;
        ret;
    }";

#[test]
fn blocks_at_borders_are_computed_like_others() {
    // Groups along x have fewer blocks than those along y at both ends.
    for (blocks, threads) in [([7, 8], [64, 8]), ([3, 40], [32, 2]), ([1, 9], [16, 16]), ([40, 2], [32, 4])] {
        let [width, height]: [u32; 2] = [blocks[0] * threads[0], blocks[1] * threads[1]];
        let x: Vec<u32> = (0..width * height).map(|index| index.wrapping_mul(0x9e37_79b9)).collect();
        let at = |i: i32, j: i32| {
            let [i, j] = [i.clamp(0, width as i32 - 1), j.clamp(0, height as i32 - 1)];
            x[j as usize * width as usize + i as usize]
        };
        let sum = |place: usize| {
            let [i, j] = [(place as u32 % width) as i32, (place as u32 / width) as i32];
            at(i - 1, j - 1).wrapping_add(at(i + 1, j + 1))
        };
        let expected: Vec<u32> = (0..x.len()).map(sum).collect();
        for (compile_after, threads_of_host) in [(Some(0), 1), (None, 1), (Some(0), 3), (Some(16), 1)] {
            let memory = Memory::new();
            let module = Module::load(NEIGHBORS, &memory).unwrap();
            let (from, to) = (memory.upload(&x), memory.upload(&vec![0_u32; x.len()]));
            let options = Options { compile_after, threads: Some(threads_of_host), ..Options::default() };
            let arguments: [Argument; 4] = [from.into(), to.into(), width.into(), height.into()];
            let [blocks, threads] = [blocks, threads].map(|[x, y]| [x, y, 1]);
            let grid = Grid { blocks, threads, ..Grid::new(1, 1) };
            module.kernel("neighbors").unwrap().launch_with(grid, &arguments, &options).unwrap();
            let found: Vec<u32> = memory.download(to, x.len()).unwrap();
            let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            assert_eq!(wrong, None, "{grid:?} {compile_after:?}");
        }
    }
}

/// A loop of `n` rounds over a body, with `%r7` the number of the round, `%rd4` and `%rd5` a thread's elements in two buffers.
fn rounds(body: &str) -> String {
    format!(
        "
    .version 8.0 .target sm_80 .address_size 64
    .visible .entry rounds(.param .u64 x, .param .u64 y, .param .u32 n) {{
        .reg .pred %p<4>; .reg .b32 %r<24>; .reg .b64 %rd<12>;
        .shared .align 4 .b8 own[4096];
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n];
        mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mov.u32 %r2, %tid.y;
        mov.u32 %r14, %tid.z; mad.lo.s32 %r2, %r14, 4, %r2;
        mad.lo.s32 %r6, %r3, %r4, %r5; mad.lo.s32 %r6, %r2, 1024, %r6;
        mul.wide.u32 %rd3, %r6, 4;
        add.s64 %rd4, %rd1, %rd3;
        add.s64 %rd5, %rd2, %rd3;
        mov.u32 %r9, own; shl.b32 %r10, %r5, 2; add.u32 %r9, %r9, %r10;
        mov.u32 %r7, 0; mov.u32 %r8, %r5; mov.u32 %r11, 3;
        setp.eq.u32 %p2, %r7, 0; setp.ne.u32 %p3, %r7, 0;
    LOOP:
        {body}
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p1, %r7, %r1;
        @%p1 bra LOOP;
        ld.global.u32 %r20, [%rd5];
        mad.lo.u32 %r8, %r11, 1000, %r8;
        add.u32 %r8, %r8, %r20;
        st.global.u32 [%rd5], %r8;
        ret;
    }}"
    )
}

#[test]
fn rounds_of_loops_are_those_one_by_one() {
    let sum = "ld.global.u32 %r12, [%rd4]; add.u32 %r8, %r8, %r12;";
    let masked =
        "and.b32 %r13, %r7, 3; mad.wide.u32 %rd6, %r13, 64, %rd4; ld.global.u32 %r12, [%rd6]; add.u32 %r8, %r8, %r12;";
    let squared = "mul.lo.u32 %r13, %r7, %r7; mad.wide.u32 %rd6, %r13, 4, %rd4; ld.global.u32 %r12, [%rd6]; add.u32 %r8, %r8, %r12;";
    let clamped =
        "min.u32 %r13, %r7, 5; mad.wide.u32 %rd6, %r13, 4, %rd4; ld.global.u32 %r12, [%rd6]; add.u32 %r8, %r8, %r12;";
    let bodies = [
        // Elements behind each other, from the last one on, apart, and the same ones.
        format!("{sum} add.s64 %rd4, %rd4, 128;"),
        "sub.s64 %rd4, %rd4, 4; add.s64 %rd6, %rd4, 4096; ld.global.u32 %r12, [%rd6]; add.u32 %r8, %r8, %r12;"
            .to_owned(),
        format!("{sum} add.u32 %r11, %r11, %r8;"),
        // Values that do not grow by the same.
        masked.to_owned(),
        squared.to_owned(),
        clamped.to_owned(),
        format!("{sum} shl.b32 %r11, %r11, 1; xor.b32 %r13, %r7, 1; mad.wide.u32 %rd4, %r13, 8, %rd4;"),
        // A register that wraps, one that lanes have, and one for which the last round matters.
        format!(
            "{sum} add.u32 %r11, %r11, 0x30000000; cvt.u64.u32 %rd6, %r11; cvt.u32.u64 %r13, %rd6; add.u32 %r8, %r8, %r13;"
        ),
        format!("{sum} mad.lo.u32 %r11, %r7, 7, %r5; sub.u32 %r8, %r8, %r11;"),
        // Registers that code reads before they are computed for the next round: an address, a value, and predicates that change places.
        "ld.global.u32 %r12, [%rd4]; add.u32 %r8, %r8, %r12; mad.wide.u32 %rd4, %r7, 4, %rd5;".to_owned(),
        format!("{sum} sub.u32 %r8, %r8, %r11; mul.lo.u32 %r11, %r7, 7;"),
        format!("{sum} selp.b32 %r13, 5, 9, %p2; add.u32 %r8, %r8, %r13; not.pred %p2, %p2;"),
        format!(
            "{sum} selp.b32 %r13, 5, 9, %p2; add.u32 %r8, %r8, %r13; mov.pred %p0, %p2; mov.pred %p2, %p3; mov.pred %p3, %p0;"
        ),
        // Guards that are the same in all threads and rounds, in some threads, and in some rounds.
        "mov.u32 %r12, 1; setp.ne.u32 %p0, %r1, 5000; @%p0 ld.global.u32 %r12, [%rd4]; @!%p0 st.global.u32 [%rd4], %r7; \
         add.u32 %r8, %r8, %r12; add.s64 %rd4, %rd4, 64;"
            .to_owned(),
        "mov.u32 %r12, 1; setp.gt.u32 %p0, %r5, 20; @%p0 ld.global.u32 %r12, [%rd4+-80]; @%p0 st.global.u32 [%rd5], %r12; \
         add.u32 %r8, %r8, %r12;"
            .to_owned(),
        "mov.u32 %r12, 1; setp.lt.u32 %p0, %r7, 5; @%p0 ld.global.u32 %r12, [%rd4]; @!%p0 ld.global.u32 %r12, [%rd5]; \
         add.u32 %r8, %r8, %r12; add.u32 %r11, %r11, %r12;"
            .to_owned(),
        // Stores: to other elements, and to those that the next round loads.
        "st.global.u32 [%rd5], %r7; add.s64 %rd5, %rd5, 256;".to_owned(),
        "ld.global.u32 %r12, [%rd5]; add.u32 %r12, %r12, %r7; st.global.u32 [%rd5], %r12;".to_owned(),
        "st.shared.u32 [%r9], %r7; ld.shared.u32 %r12, [%r9]; add.u32 %r8, %r8, %r12; add.u32 %r9, %r9, 32;".to_owned(),
    ];
    for body in &bodies {
        let text = rounds(body);
        for (threads, n) in [([64, 1, 1], 1), ([64, 1, 1], 2), ([96, 1, 1], 3), ([50, 1, 1], 9), ([32, 4, 1], 10)]
            .into_iter()
            .chain([([16, 2, 2], 11), ([64, 2, 1], 40), ([256, 1, 1], 100), ([40, 1, 1], 300), ([128, 1, 1], 2000)])
        {
            let run = |compile_after: Option<u32>| {
                let memory = Memory::new();
                let module = Module::load(&text, &memory).unwrap();
                let elements: Vec<u32> = (0..8192_u32).map(|index| index.wrapping_mul(0x9e37_79b9)).collect();
                let (x, y) = (memory.upload(&elements), memory.upload(&elements));
                let options = Options { compile_after, threads: Some(1), ..Options::default() };
                let grid = Grid { blocks: [3, 1, 1], threads, ..Grid::new(1, 1) };
                let kernel = module.kernel("rounds").unwrap();
                // Twice, as the second launch knows how many rounds there were.
                let reports =
                    [3 * n / 2, n].map(|n| kernel.launch_with(grid, &[x.into(), y.into(), n.into()], &options));
                let reports = reports.map(|report| match report {
                    Ok(report) => Ok(report.instructions),
                    Err(error) => Err((error.kind.name(), error.statement, error.block, error.thread)),
                });
                (reports, memory.download::<u32>(y, elements.len()).unwrap())
            };
            let [code, steps] = [Some(0), None].map(run);
            assert_eq!(code.0, steps.0, "{threads:?} {n}: {body}");
            assert!(code.1 == steps.1, "{threads:?} {n}: {body}");
        }
    }
}
