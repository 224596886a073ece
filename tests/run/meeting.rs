//! Lanes that wait for each other at different statements, at different depths of calls, or forever.

use ptx_isa::run::{ErrorKind, Grid};

use crate::machine::{on_one_thread, on_threads};

fn kernel(version: &str, target: &str, body: &str) -> String {
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<19>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\n{body}\n}}\n"
    )
}

/// The sum of the lanes of a warp.
const SUM: u32 = 31 * 32 / 2;

#[test]
fn lanes_meet_in_both_arms_of_a_branch() {
    // The last part reads from a register in one arm and from a constant in the other one, under a guard.
    let body = "mov.u32 %r14, %ctaid.x;
        mov.u32 %r15, %ntid.x;
        mad.lo.u32 %r16, %r14, %r15, %r1;
        mul.wide.u32 %rd2, %r16, 20;
        add.u64 %rd2, %rd1, %rd2;
        and.b32 %r1, %r1, 31;
        and.b32 %r2, %r1, 1;
        setp.eq.u32 %p1, %r2, 0;
        xor.b32 %r6, %r1, 1;
        mov.b32 %r8, -1;
        mov.b32 %r9, 7;
        setp.ne.u32 %p3, %r1, 5;
        @%p1 bra EVEN;
        redux.sync.add.s32 %r3, %r1, %r8;
        vote.sync.ballot.b32 %r4, %p1, -1;
        shfl.sync.idx.b32 %r5|%p2, %r1, %r6, 31, %r8;
        @%p3 shfl.sync.up.b32 %r9, 3, 2, 0, 0xffffffdf;
        elect.sync %r10|%p4, -1;
        bra DONE;
        EVEN:
        redux.sync.add.s32 %r3, %r1, -1;
        vote.sync.ballot.b32 %r4, %p1, %r8;
        add.u32 %r7, %r1, 100;
        shfl.sync.idx.b32 %r5, %r7, %r6, 31, %r8;
        shfl.sync.up.b32 %r9, %r1, 2, 0, 0xffffffdf;
        elect.sync %r10|%p4, %r8;
        DONE:
        selp.u32 %r10, 1, 0, %p4;
        st.global.u32 [%rd2], %r3;
        st.global.u32 [%rd2+4], %r4;
        st.global.u32 [%rd2+8], %r5;
        st.global.u32 [%rd2+12], %r9;
        st.global.u32 [%rd2+16], %r10;
        ret;";
    // Some blocks run in lockstep.
    let threads = 9 * 96;
    on_threads(&kernel("8.0", "sm_90", body), |machine| {
        let out = machine.upload(&vec![0_u32; 5 * threads]);
        machine.run("k", Grid::new(9, 96), &[out.into()]);
        let found: Vec<u32> = machine.download(out, 5 * threads);
        let elected = |warp: usize| (0..32).filter(|lane| found[5 * (32 * warp + lane) + 4] == 1).count();
        assert!((0..threads / 32).all(|warp| elected(warp) == 1));
        for (thread, found) in found.chunks(5).enumerate() {
            let lane = thread as u32 % 32;
            // From the other arm: an odd lane has its own number, an even one a hundred more.
            let other = if lane.is_multiple_of(2) { lane + 1 } else { lane - 1 + 100 };
            let above = match lane {
                5 => 7,
                0 => 0,
                odd if odd % 2 == 1 => 3,
                even => even - 2,
            };
            assert_eq!(found[..3], [SUM, 0x5555_5555, other], "thread {thread}");
            // Lane 7 would read from lane 5, which takes no part: its result is not defined.
            assert!(lane == 7 || found[3] == above, "thread {thread}: {}", found[3]);
        }
    });
}

#[test]
fn lanes_meet_at_different_depths_of_calls() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n
        .func (.reg .b32 r) sum(.reg .b32 depth, .reg .b32 own) {
            .reg .pred p; .reg .b32 less, more;
            setp.eq.s32 p, depth, 0;
            @p bra LAST;
            sub.s32 less, depth, 1;
            add.s32 more, own, 100;
            call (r), sum, (less, more);
            ret;
            LAST: redux.sync.add.s32 r, own, -1;
            ret;
        }
        .visible .entry k(.param .u64 out) {
            .reg .b32 %r<8>; .reg .b64 %rd<3>;
            ld.param.u64 %rd1, [out];
            mov.u32 %r1, %laneid;
            rem.u32 %r2, %r1, 3;
            call (%r3), sum, (%r2, %r1);
            mov.u32 %r4, %ctaid.x;
            mov.u32 %r5, %ntid.x;
            mov.u32 %r6, %tid.x;
            mad.lo.u32 %r7, %r4, %r5, %r6;
            mul.wide.u32 %rd2, %r7, 4;
            add.u64 %rd1, %rd1, %rd2;
            st.global.u32 [%rd1], %r3;
            ret;
        }";
    on_threads(text, |machine| {
        let out = machine.upload(&[0_u32; 9 * 64]);
        machine.run("k", Grid::new(9, 64), &[out.into()]);
        let sum: u32 = (0..32).map(|lane| lane + lane % 3 * 100).sum();
        assert_eq!(machine.download::<u32>(out, 9 * 64), [sum; 9 * 64]);
    });
}

#[test]
fn lanes_at_two_barriers_let_each_other_go() {
    let body = ".shared .align 4 .b8 words[128];
        mov.u32 %r2, words;
        shl.b32 %r3, %r1, 2;
        add.u32 %r2, %r2, %r3;
        setp.gt.u32 %p1, %r1, 15;
        @%p1 bra UPPER;
        bar.warp.sync -1;
        ld.shared.u32 %r4, [%r2+64];
        st.global.u32 [%rd2], %r4;
        ret;
        UPPER:
        add.u32 %r5, %r1, 100;
        st.shared.u32 [%r2], %r5;
        bar.warp.sync -1;
        ret;";
    on_threads(&kernel("8.0", "sm_80", body), |machine| {
        let out = machine.upload(&[0_u32; 16]);
        machine.run("k", Grid::new(1, 32), &[out.into()]);
        assert_eq!(machine.download::<u32>(out, 16), (116..132).collect::<Vec<u32>>());
    });
}

#[test]
fn lanes_that_end_are_not_awaited_in_either_arm() {
    let body = "and.b32 %r2, %r1, 1;
        setp.eq.u32 %p1, %r2, 0;
        setp.lt.u32 %p2, %r1, 8;
        @%p2 bra LATE;
        @%p1 bra EVEN;
        redux.sync.add.s32 %r3, %r1, -1;
        bra DONE;
        EVEN: redux.sync.add.s32 %r3, %r1, -1;
        DONE: st.global.u32 [%rd2], %r3;
        ret;
        LATE: mov.b32 %r4, 0;
        AGAIN: add.u32 %r4, %r4, 1;
        setp.lt.u32 %p3, %r4, %r1;
        @%p3 bra AGAIN;
        st.global.u32 [%rd2], %r4;
        ret;";
    on_threads(&kernel("8.0", "sm_80", body), |machine| {
        let out = machine.upload(&[0_u32; 32]);
        machine.run("k", Grid::new(1, 32), &[out.into()]);
        let expected = (0..32).map(|lane| if lane < 8 { lane.max(1) } else { SUM - 28 });
        assert_eq!(machine.download::<u32>(out, 32), expected.collect::<Vec<u32>>());
    });
}

#[test]
fn lanes_wait_for_one_at_the_barrier_of_the_cluster() {
    let body = ".shared .align 4 .b32 s;
        mov.u32 %r2, %cluster_ctarank;
        st.shared.u32 [s], 7;
        barrier.cluster.arrive; barrier.cluster.wait;
        setp.eq.u32 %p1, %r2, 0;
        @%p1 bra JOIN;
        mov.u32 %r3, s;
        mapa.shared::cluster.u32 %r4, %r3, 0;
        st.shared::cluster.u32 [%r4], 42;
        JOIN:
        barrier.cluster.arrive.release;
        setp.ne.u32 %p2, %r1, 0;
        @%p2 bra WARP;
        barrier.cluster.wait.acquire;
        WARP:
        bar.warp.sync -1;
        ld.shared.u32 %r5, [s];
        @%p1 st.global.u32 [%rd2], %r5;
        ret;";
    on_threads(&kernel("8.0", "sm_90", body), |machine| {
        let out = machine.upload(&[0_u32; 32]);
        machine.run("k", Grid::new(2, 32).cluster(2), &[out.into()]);
        assert_eq!(machine.download::<u32>(out, 32), [42; 32]);
    });
}

#[test]
fn lanes_that_wait_forever_are_reported() {
    let body = "setp.gt.u32 %p1, %r1, 15;
        @%p1 bra DONE;
        redux.sync.add.s32 %r2, %r1, -1;
        DONE:
        bar.sync 0;
        ret;";
    on_one_thread(&kernel("8.0", "sm_80", body), |machine| {
        let error = machine.try_run("k", Grid::new(1, 64), &[0_u64.into()]).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Deadlock));
        assert_eq!(
            error.message,
            "deadlock: all 64 threads that have not ended wait; 48 threads at \
             barrier 0, line 17: bar.sync 0; 16 threads for lanes of their warp, line 15: redux.sync.add.s32 %r2, %r1, -1"
        );
    });
}

#[test]
fn one_block_of_several_waits_forever() {
    let body = "mov.u32 %r2, %ctaid.x;
        setp.eq.u32 %p1, %r2, 2;
        setp.gt.and.u32 %p2, %r1, 15, %p1;
        @%p2 bra OTHER;
        shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;
        ret;
        OTHER: vote.sync.ballot.b32 %r3, %p1, -1;
        ret;";
    on_threads(&kernel("8.0", "sm_80", body), |machine| {
        let error = machine.try_run("k", Grid::new(4, 32), &[0_u64.into()]).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Deadlock));
        assert_eq!(error.block, Some([2, 0, 0]));
        let place = "deadlock: all 32 threads that have not ended wait; 16 threads for lanes of their warp, line ";
        assert!(error.message.starts_with(place), "{}", error.message);
    });
}

#[test]
fn warps_wait_for_tensor_memory() {
    let body = ".shared .align 4 .b8 slots[16];
        shr.u32 %r2, %r1, 5;
        mov.u32 %r3, slots;
        shl.b32 %r4, %r2, 2;
        add.u32 %r4, %r3, %r4;
        tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 256;
        ld.shared.b32 %r5, [%r4];
        shl.b32 %r6, %r2, 21;
        add.u32 %r7, %r5, %r6;
        add.u32 %r8, %r1, 100;
        tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {%r8};
        tcgen05.wait::st.sync.aligned;
        tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r9}, [%r7];
        tcgen05.wait::ld.sync.aligned;
        tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 256;
        st.global.b32 [%rd2], %r9;
        ret;";
    on_threads(&kernel("8.6", "sm_100a", body), |machine| {
        let out = machine.upload(&[0_u32; 128]);
        machine.run("k", Grid::new(1, 128), &[out.into()]);
        assert_eq!(machine.download::<u32>(out, 128), (100..228).collect::<Vec<u32>>());
    });
}

#[test]
fn an_instruction_counts_once() {
    let body = "shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;
        activemask.b32 %r3;
        mov.u32 %r4, %clock;
        bar.sync 0;
        ret;";
    on_one_thread(&kernel("8.0", "sm_80", body), |machine| {
        let report = machine.try_run("k", Grid::new(1, 32), &[0_u64.into()]).unwrap();
        assert_eq!(report.instructions, 32 * 9);
    });
    // The others wait until a lane has ended.
    let body = "setp.eq.u32 %p1, %r1, 0;
        @%p1 bra LATE;
        redux.sync.add.s32 %r2, %r1, -1;
        ret;
        LATE: add.u32 %r2, %r1, 1;
        st.global.u32 [%rd2], %r2;
        ret;";
    on_one_thread(&kernel("8.0", "sm_80", body), |machine| {
        let out = machine.upload(&[0_u32]);
        let report = machine.try_run("k", Grid::new(1, 32), &[out.into()]).unwrap();
        assert_eq!(report.instructions, 32 * 6 + 31 * 2 + 3);
    });
}
