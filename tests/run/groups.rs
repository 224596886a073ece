//! Groups of blocks that run in the same way, prepared at once, against the same instruction by instruction.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ptx_isa::run::{Argument, Grid, Memory, Module, Options};

/// Elements of each buffer: more than the grids have threads.
const ELEMENTS: usize = 1 << 18;

/// A kernel whose body may use the index of a thread along each axis (`%r1` to `%r3`), its index in the grid (`%r4`), its addresses in two
/// buffers (`%rd3` and `%rd4`), the number of threads in the grid along x (`%r5`), and a count (`%r6`).
fn kernel(body: &str) -> String {
    format!(
        "
        .version 8.0 .target sm_80 .address_size 64
        .visible .entry each(.param .u64 x, .param .u64 y, .param .u32 count) {{
            .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<12>; .shared .align 4 .b8 own[4096];
            ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r6, [count];
            mov.u32 %r10, %ntid.x; mov.u32 %r11, %ctaid.x; mov.u32 %r12, %tid.x; mad.lo.u32 %r1, %r11, %r10, %r12;
            mov.u32 %r13, %ntid.y; mov.u32 %r14, %ctaid.y; mov.u32 %r15, %tid.y; mad.lo.u32 %r2, %r14, %r13, %r15;
            mov.u32 %r16, %ntid.z; mov.u32 %r17, %ctaid.z; mov.u32 %r18, %tid.z; mad.lo.u32 %r3, %r17, %r16, %r18;
            mov.u32 %r19, %nctaid.x; mul.lo.u32 %r5, %r19, %r10;
            mov.u32 %r20, %nctaid.y; mul.lo.u32 %r21, %r20, %r13;
            mad.lo.u32 %r4, %r3, %r21, %r2; mad.lo.u32 %r4, %r4, %r5, %r1;
            mul.wide.u32 %rd5, %r4, 4; add.s64 %rd3, %rd1, %rd5; add.s64 %rd4, %rd2, %rd5;
            {body}
        DONE:
            ret;
        }}"
    )
}

/// Contents of the second buffer behind a launch, its instructions or its error, and the number of blocks that were finished at the end.
type Outcome = (Vec<u32>, Result<u64, String>, u64);

fn run(text: &str, grid: Grid, workers: usize, compile_after: Option<u32>) -> Outcome {
    let memory = Memory::new();
    let module = Module::load(text, &memory).unwrap_or_else(|error| panic!("{error}"));
    let elements: Vec<u32> = (0..ELEMENTS as u32).map(|index| index.wrapping_mul(0x9e37_79b9)).collect();
    let (x, y) = (memory.upload(&elements), memory.upload(&elements));
    let (finished, total) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(0)));
    let progress = {
        let (finished, total) = (finished.clone(), total.clone());
        move |done: u64, blocks: u64| {
            assert!(done <= blocks && finished.swap(done, Ordering::Relaxed) < done);
            *total.lock().unwrap() = blocks;
        }
    };
    let options =
        Options { compile_after, threads: Some(workers), progress: Some(Arc::new(progress)), ..Options::default() };
    let threads: u32 = grid.blocks.iter().chain(&grid.threads).product();
    let arguments: [Argument; 3] = [x.into(), y.into(), (threads - 5).into()];
    let report = module.kernel("each").unwrap().launch_with(grid, &arguments, &options);
    let report = report.map(|report| report.instructions).map_err(|error| {
        format!("{} at {:?} in block {:?}, thread {:?}", error.kind.name(), error.statement, error.block, error.thread)
    });
    (memory.download(y, ELEMENTS).unwrap(), report, finished.load(Ordering::Relaxed))
}

/// Grids of many groups: in a line, with a last block that has threads to spare, in two and three dimensions, with blocks that are no whole
/// warps.
pub(super) const GRIDS: [([u32; 3], [u32; 3]); 9] = [
    ([700, 1, 1], [256, 1, 1]),
    ([997, 1, 1], [96, 1, 1]),
    ([3000, 1, 1], [32, 1, 1]),
    ([301, 1, 1], [50, 1, 1]),
    ([32, 40, 1], [32, 4, 1]),
    ([3, 300, 1], [64, 1, 1]),
    ([20, 17, 5], [16, 4, 1]),
    ([1, 1, 500], [128, 1, 1]),
    ([40, 9, 2], [8, 4, 4]),
];

/// Compares what a kernel of this body does compiled at once, and never.
pub(super) fn compare(body: &str, workers: usize) {
    compare_on(&GRIDS, body, workers);
}

/// The same, on some grids.
pub(super) fn compare_on(grids: &[([u32; 3], [u32; 3])], body: &str, workers: usize) {
    let text = kernel(body);
    for &(blocks, threads) in grids {
        let grid = Grid { blocks, threads, ..Grid::new(1, 1) };
        let [code, steps] = [Some(0), None].map(|after| run(&text, grid, workers, after));
        assert_eq!((&code.1, code.2), (&steps.1, steps.2), "{blocks:?} of {threads:?}: {body}");
        // After an error, memory may hold what other threads stored, or not.
        assert!(code.1.is_err() || code.0 == steps.0, "{blocks:?} of {threads:?}: {body}");
        assert!(code.1.is_err() || code.2 == u64::from(blocks.iter().product::<u32>()), "{body}");
    }
}

/// Compares the errors of a kernel of this body.
pub(super) fn compare_errors(body: &str) {
    compare(body, 1);
    let failed =
        |(blocks, threads)| run(&kernel(body), Grid { blocks, threads, ..Grid::new(1, 1) }, 1, Some(0)).1.is_err();
    assert!(GRIDS.into_iter().all(failed), "{body}");
}

/// Loads an element, changes it by a value, and stores it. Each register is written once, so that it may be affine.
fn store(from: &str, value: &str) -> String {
    format!("ld.global.u32 %r22, [{from}]; xor.b32 %r26, %r22, {value}; st.global.u32 [%rd4], %r26;")
}

#[test]
fn groups_access_what_each_of_them_does() {
    let plain = store("%rd3", "%r4");
    for body in [plain.clone(), format!("setp.ge.u32 %p1, %r4, %r6; @%p1 bra DONE; {plain}")] {
        [1, 2].into_iter().for_each(|workers| compare(&body, workers));
    }
    let (from_other, with_other) = (store("%rd7", "%r4"), store("%rd3", "%r25"));
    let bodies = [
        // From the last element on; far apart; the same elements in all groups, of which the last one counts.
        "mul.wide.u32 %rd6, %r4, 4; sub.s64 %rd7, %rd2, %rd6; st.global.u32 [%rd7+1048572], %r4;".to_owned(),
        "mul.wide.u32 %rd6, %r1, 256; add.s64 %rd7, %rd2, %rd6; setp.gt.u32 %p1, %r1, 4000; @%p1 bra DONE; \
         ld.global.u32 %r22, [%rd7]; st.global.u32 [%rd7+4], %r22;"
            .to_owned(),
        "mul.wide.u32 %rd6, %r12, 4; add.s64 %rd7, %rd2, %rd6; st.global.u32 [%rd7], %r4;".to_owned(),
        // Borders, and what differs from group to group, in one axis or another.
        format!(
            "sub.u32 %r23, %r5, 1; setp.eq.u32 %p1, %r1, 0; setp.ge.u32 %p2, %r1, %r23; or.pred %p3, %p1, %p2; \
             @%p3 bra DONE; ld.global.u32 %r24, [%rd3+-4]; {plain} st.global.u32 [%rd4], %r24;"
        ),
        format!("and.b32 %r23, %r14, 1; setp.ne.u32 %p1, %r23, 0; @%p1 bra DONE; {plain}"),
        format!("and.b32 %r23, %r17, 2; setp.ne.u32 %p1, %r23, 0; @!%p1 bra DONE; {plain}"),
        format!("setp.lt.u32 %p1, %r14, 9; @%p1 bra LESS; {plain} bra DONE; LESS: st.global.u32 [%rd4], %r14;"),
        format!("min.u32 %r23, %r11, 100; mul.wide.u32 %rd6, %r23, 4; add.s64 %rd7, %rd1, %rd6; {from_other}"),
        format!("and.b32 %r23, %r11, 3; mul.wide.u32 %rd6, %r23, 4; add.s64 %rd7, %rd1, %rd6; {from_other}"),
        format!("mul.lo.u32 %r23, %r11, %r11; add.u32 %r25, %r4, %r23; {with_other}"),
        // A branch over a part, one without a guard, guards of accesses, and values that wrap.
        format!(
            "mov.u32 %r25, 5; setp.eq.u32 %p1, %r6, 3; @%p1 bra OVER; mul.lo.u32 %r25, %r4, 77; OVER: bra NEXT; NEXT: {with_other}"
        ),
        format!("setp.lt.u32 %p1, %r14, 7; {plain} @%p1 st.global.u32 [%rd4], %r11; @!%p1 st.global.u32 [%rd4], %r2;"),
        format!("mul.lo.u32 %r23, %r11, 0x10000001; add.u32 %r25, %r4, %r23; {with_other}"),
        // Shared memory, which each block has for itself, and lanes that are not affine.
        "mad.lo.u32 %r23, %r15, %r10, %r12; mad.lo.u32 %r24, %r18, 32, %r23; shl.b32 %r25, %r24, 2; ld.shared.u32 %r27, [%r25]; \
         st.shared.u32 [%r25], %r4; ld.global.u32 %r22, [%rd3]; add.u32 %r26, %r22, %r27; st.global.u32 [%rd4], %r26;"
            .to_owned(),
        format!("mul.lo.u32 %r23, %r12, %r12; add.u32 %r25, %r4, %r23; {with_other}"),
        // Elements that some late block would access are not there.
        "mul.wide.u32 %rd6, %r4, 8; add.s64 %rd7, %rd2, %rd6; st.global.u32 [%rd7], %r4;".to_owned(),
        "mul.wide.u32 %rd6, %r4, 12; add.s64 %rd7, %rd2, %rd6; st.global.u32 [%rd7], %r4; st.global.u32 [%rd7+4], %r1;".to_owned(),
    ];
    bodies.iter().for_each(|body| compare(body, 1));
}
