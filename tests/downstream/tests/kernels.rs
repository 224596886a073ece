//! Kernels of a machine whose instructions have other names than those of PTX: launches know effects only.

use downstream::kernels::TABLE;
use ptx_isa::run::{Argument, Grid, Memory, Module};
use ptx_isa::text::resolved;

/// Sums by blocks, in a loop, with shared memory, a barrier, a function and an atomic addition.
const TEXT: &str = "
    .version 8.0 .target sm_80 .address_size 64
    .func (.param .u32 r) twice(.param .u32 x) {
        .reg .u32 %r<3>;
        fetch.param.u32 %r1, [x]; plus.u32 %r2, %r1, %r1; leave.param.u32 [r], %r2; back;
    }
    .visible .entry sums(.param .u64 from, .param .u64 to, .param .u32 count) {
        .shared .u32 sum; .reg .u32 %r<8>; .reg .u64 %d<4>; .reg .pred %p<3>;
        fetch.param.u64 %d1, [from]; fetch.param.u64 %d2, [to]; fetch.param.u32 %r1, [count];
        give.b32 %r2, %tid.x; give.b32 %r3, %ntid.x; give.b32 %r4, 0;
        below.u32 %p1, %r2, 1;
        @%p1 leave.shared.u32 [sum], %r4;
        meet 0;
    AGAIN:
        below.u32 %p2, %r2, %r1;
        @!%p2 hop DONE;
        along %d3, %d1, %r2; fetch.global.u32 %r5, [%d3]; plus.u32 %r4, %r4, %r5; plus.u32 %r2, %r2, %r3;
        hop AGAIN;
    DONE:
        { .param .u32 x; .param .u32 y; leave.param.u32 [x], %r4; ask (y), twice, (x); fetch.param.u32 %r4, [y]; }
        tally.shared.u32 [sum], %r4;
        meet 0;
        @!%p1 back;
        fetch.shared.u32 %r6, [sum]; give.b32 %r7, %ctaid.x; along %d3, %d2, %r7; leave.global.u32 [%d3], %r6;
        back;
    }";

#[test]
fn kernels_in_other_words_run() {
    let memory = Memory::new();
    let module = resolved::Module::read(&TABLE, TEXT).unwrap_or_else(|errors| panic!("{errors:?}"));
    let module = Module::of(module, &memory).unwrap();
    let kernel = module.kernel("sums").unwrap();
    assert_eq!(kernel.signature(), "sums(.u64 from, .u64 to, .u32 count)");
    let numbers: Vec<u32> = (0..1000).map(|number| number * number % 77).collect();
    let (from, to) = (memory.upload(&numbers), memory.upload(&[0_u32; 3]));
    let run = |count: u32| kernel.launch(Grid::new(3, 70), &[from.into(), to.into(), Argument::from(count)]);
    run(1000).unwrap_or_else(|error| panic!("{error}"));
    let sum = 2 * numbers.iter().sum::<u32>();
    assert_eq!(memory.download::<u32>(to, 3).unwrap(), [sum; 3]);
    // Errors name the statement in its own words.
    let error = run(1001).unwrap_err();
    assert_eq!((error.kind.name(), error.statement.as_deref()), ("access", Some("fetch.global.u32 %r5, [%d3];")));
    assert_eq!((error.thread, error.line), (Some([1000 % 70, 0, 0]), Some(17)));
    // What has no effect of these names is not known.
    assert!(resolved::Module::read(&TABLE, &TEXT.replace("give.b32", "mov.b32")).is_err());
}
