//! Values of 128 bits: registers, memory and atomics.

use crate::machine::on_one_thread;
use ptx_isa::run::{Grid, Memory, Module, Options};

const TEXT: &str = "
    .version 8.4 .target sm_90 .address_size 64
    .visible .entry moved(.param .u64 in, .param .u64 out) {
        .reg .pred %p<2>; .reg .b64 %rd<8>; .reg .b128 %q<4>; .reg .b32 %r<4>;
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd3, %r1, 16;
        add.u64 %rd1, %rd1, %rd3;
        add.u64 %rd2, %rd2, %rd3;
        ld.global.b128 %q1, [%rd1];
        mov.b128 {%rd4, %rd5}, %q1;
        xor.b64 %rd4, %rd4, 1;
        mov.b128 %q2, {%rd5, %rd4};
        and.b32 %r2, %r1, 1;
        setp.eq.u32 %p1, %r2, 1;
        @%p1 mov.b128 %q2, %q1;
        st.global.b128 [%rd2], %q2;
        ret;
    }
    // A counter of 128 bits that is near the end of its lower half, by compare and swap; and a chain of exchanges.
    .visible .entry counted(.param .u64 at, .param .u64 seen) {
        .reg .pred %p<4>; .reg .b64 %rd<12>; .reg .b128 %q<6>; .reg .b32 %r<4>;
        ld.param.u64 %rd1, [at];
        ld.param.u64 %rd2, [seen];
        ld.relaxed.gpu.global.b128 %q1, [%rd1];
    AGAIN:
        mov.b128 {%rd3, %rd4}, %q1;
        add.cc.u64 %rd5, %rd3, 1;
        addc.u64 %rd6, %rd4, 0;
        mov.b128 %q2, {%rd5, %rd6};
        atom.global.cas.b128 %q3, [%rd1], %q1, %q2;
        mov.b128 {%rd7, %rd8}, %q3;
        setp.eq.u64 %p1, %rd7, %rd3;
        setp.eq.and.u64 %p2, %rd8, %rd4, %p1;
        mov.b128 %q1, %q3;
        @!%p2 bra AGAIN;
        // Each thread leaves its number twice, and adds what it found.
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mad.lo.u32 %r1, %r2, 64, %r1;
        cvt.u64.u32 %rd9, %r1;
        mov.b128 %q4, {%rd9, %rd9};
        atom.global.exch.b128 %q5, [%rd1+16], %q4;
        mov.b128 {%rd10, %rd11}, %q5;
        setp.ne.u64 %p3, %rd10, %rd11;
        @%p3 trap;
        atom.global.add.u64 %rd10, [%rd2], %rd11;
        ret;
    }";

#[test]
fn registers_of_128_bits_are_loaded_moved_and_stored() {
    on_one_thread(TEXT, |machine| {
        let input: Vec<u64> = (0..64).map(|number| number * 0x0123_4567_89ab_cdef).collect();
        let (from, to) = (machine.upload(&input), machine.upload(&[0_u64; 64]));
        machine.run("moved", Grid::new(1, 32), &[from.into(), to.into()]);
        let found = machine.download::<u64>(to, 64);
        for (thread, (found, pair)) in found.chunks(2).zip(input.chunks(2)).enumerate() {
            let expected = if thread % 2 == 1 { [pair[0], pair[1]] } else { [pair[1], pair[0] ^ 1] };
            assert_eq!(found, expected, "thread {thread}");
        }
    });
}

#[test]
fn atomics_of_128_bits_are_whole() {
    for threads in [1, 4] {
        let memory = Memory::new();
        let module = Module::load(TEXT, &memory).unwrap();
        let at = memory.upload(&[u64::MAX - 9, 6, 0, 0]);
        let seen = memory.upload(&[0_u64]);
        let options = Options { threads: Some(threads), ..Options::default() };
        let kernel = module.kernel("counted").unwrap();
        kernel.launch_with(Grid::new(8, 64), &[at.into(), seen.into()], &options).unwrap();
        let found = memory.download::<u64>(at, 4).unwrap();
        assert_eq!(found[..2], [512 - 10, 7]);
        // The threads observed all values but the last one written.
        let sum: u64 = (0..512).sum();
        assert_eq!((found[2], memory.download::<u64>(seen, 1).unwrap()[0] + found[3]), (found[3], sum));
        let error = kernel.launch_with(Grid::new(1, 1), &[(at + 8).into(), seen.into()], &options).unwrap_err();
        assert_eq!(error.kind.name(), "misaligned");
    }
}
