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
