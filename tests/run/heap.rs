//! The heap of kernels: what is freed is used again, and stays harmless while other blocks run.

use ptx_isa::run::{Grid, Memory, Module, Options};

const TEXT: &str = "
    .version 8.0 .target sm_90 .address_size 64
    .extern .func (.param .b64 r) malloc(.param .b64 n);
    .extern .func free(.param .b64 p);
    .visible .entry k(.param .u64 out, .param .u32 rounds) {
        .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
        .param .b64 n; .param .b64 p;
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r1, [rounds];
    AGAIN:
        st.param.b64 [n], 60000;
        call (p), malloc, (n);
        ld.param.b64 %rd2, [p];
        setp.eq.u64 %p1, %rd2, 0;
        @%p1 atom.global.add.u32 %r3, [%rd1], 1;
        @%p1 bra DONE;
        st.u32 [%rd2+59996], %r1;
        st.param.b64 [p], %rd2;
        call free, (p);
        sub.u32 %r1, %r1, 1;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra AGAIN;
        @%p1 st.u32 [%rd2], 1;
    DONE:
        ret; }";

/// Sizes whose next power of two overflows, and one beyond any address space.
#[test]
fn an_allocation_that_is_too_large_is_null() {
    for bytes in [1_u64 << 63 | 1, u64::MAX, 1 << 62] {
        let memory = Memory::new();
        let module = Module::load(&TEXT.replace("60000", &format!("{bytes}U")), &memory).unwrap();
        let out = memory.upload(&[0_u32]);
        let options = Options { heap: u64::MAX, ..Options::default() };
        let kernel = module.kernel("k").unwrap();
        kernel.launch_with(Grid::new(1, 1), &[out.into(), 1_u32.into()], &options).unwrap();
        assert_eq!(memory.download::<u32>(out, 1).unwrap()[0], 1, "{bytes}");
    }
}

#[test]
fn a_kernel_that_allocates_and_frees_in_a_loop_does_not_exhaust_the_heap() {
    for threads in [1, 3] {
        let memory = Memory::new();
        let module = Module::load(TEXT, &memory).unwrap();
        let out = memory.upload(&[0_u32]);
        let options = Options { heap: 1 << 20, threads: Some(threads), ..Options::default() };
        let launch = |grid: Grid, rounds: u32| {
            module.kernel("k").unwrap().launch_with(grid, &[out.into(), rounds.into()], &options).unwrap();
            memory.download::<u32>(out, 1).unwrap()[0]
        };
        assert_eq!(launch(Grid::new(8, 1), 300), 0);
        // The threads of a block allocate together, before any of them frees: 17 times 65,536 bytes are more than there are.
        assert_eq!(launch(Grid::new(1, 17), 1), 1);
    }
}
