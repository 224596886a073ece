//! mbarrier objects and asynchronous copies in every form that compilers write seldom, one thread or a few of them.

use crate::machine::on_threads;
use ptx_isa::run::{Grid, Options};

fn kernel(target: &str, body: &str) -> String {
    format!(
        ".version 9.2\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 out) {{
            .reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .b128 %q<2>;
            .shared .align 8 .b64 bar; .shared .align 8 .b64 other; .shared .align 128 .b8 box[256];
            ld.param.u64 %rd1, [out];
            {body}
            ret; }}"
    )
}

/// Runs a body with an array of the places of its words, with copies at once and kept ones.
fn run(target: &str, body: &str, grid: Grid, check: impl Fn(Vec<u32>)) {
    on_threads(&kernel(target, body), |machine| {
        for delay in [None, Some(0), Some(5)] {
            let out = machine.upload(&(0..128_u32).collect::<Vec<_>>());
            let options = Options { delay, ..machine.options.clone() };
            let machine = machine.with(options);
            machine.run("k", grid, &[out.into()]);
            check(machine.download::<u32>(out, 128));
        }
    });
}

#[test]
fn arrivals_drop_out_and_do_not_complete() {
    let body = "
        mbarrier.init.shared.b64 [bar], 5;
        mbarrier.arrive.noComplete.shared.b64 %rd2, [bar], 2;
        mbarrier.pending_count.b64 %r1, %rd2;
        mbarrier.arrive.noComplete.release.cta.shared.b64 %rd3, [bar], 1;
        mbarrier.pending_count.b64 %r2, %rd3;
        mbarrier.arrive_drop.noComplete.shared.b64 %rd3, [bar], 1;
        mbarrier.pending_count.b64 %r3, %rd3;
        mbarrier.test_wait.shared.b64 %p1, [bar], %rd2;
        mbarrier.arrive_drop.shared.b64 %rd3, [bar];
        mbarrier.test_wait.acquire.cta.shared::cta.b64 %p2, [bar], %rd2;
        mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0;
        mbarrier.test_wait.parity.shared.b64 %p4, [bar], 1;
        // Three arrivals are expected in the second phase.
        mbarrier.arrive.shared::cta.b64 %rd4, [bar], 2;
        mbarrier.pending_count.b64 %r4, %rd4;
        mbarrier.try_wait.shared.b64 %p5, [bar], %rd4, 100;
        mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];
        mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p6, [bar], 1, 20;
        mbarrier.inval.shared.b64 [bar];
        selp.u32 %r5, 1, 0, %p1; selp.u32 %r6, 2, 0, %p2; selp.u32 %r7, 4, 0, %p3;
        selp.u32 %r8, 8, 0, %p4; selp.u32 %r9, 16, 0, %p5; selp.u32 %r10, 32, 0, %p6;
        or.b32 %r5, %r5, %r6; or.b32 %r5, %r5, %r7; or.b32 %r5, %r5, %r8; or.b32 %r5, %r5, %r9; or.b32 %r5, %r5, %r10;
        st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
        st.global.u32 [%rd1+16], %r5;";
    run("sm_90", body, Grid::new(1, 1), |out| assert_eq!(out[..5], [5, 3, 2, 3, 2 + 4 + 32]));
}

#[test]
fn transactions_are_counted() {
    let body = "
        mbarrier.init.shared.b64 [bar], 2;
        mbarrier.expect_tx.shared.b64 [bar], 40;
        mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 24;
        mbarrier.arrive.shared.b64 %rd2, [bar];
        mbarrier.arrive.expect_tx.shared.b64 _, [bar], 6;
        mbarrier.test_wait.shared.b64 %p1, [bar], %rd2;
        mbarrier.complete_tx.shared.b64 [bar], 60;
        mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 9;
        mbarrier.test_wait.shared.b64 %p2, [bar], %rd2;
        mbarrier.complete_tx.shared.b64 [bar], 1;
        mbarrier.test_wait.shared.b64 %p3, [bar], %rd2;
        mbarrier.arrive_drop.expect_tx.shared.b64 %rd3, [bar], 8;
        mbarrier.arrive_drop.expect_tx.relaxed.cta.shared::cta.b64 _, [bar], 8;
        mbarrier.test_wait.shared.b64 %p4, [bar], %rd3;
        mbarrier.complete_tx.shared.b64 [bar], 16;
        mbarrier.test_wait.shared.b64 %p5, [bar], %rd3;
        selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4; selp.u32 %r5, 1, 0, %p5;
        st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.u32 [%rd1+16], %r5;";
    run("sm_90", body, Grid::new(1, 1), |out| assert_eq!(out[..5], [0, 0, 1, 0, 1]));
}

/// Without `.noinc` the arrival is one more than those that are expected.
#[test]
fn copies_arrive_at_a_barrier() {
    let body = "
        mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 16; cvt.u64.u32 %rd2, %r2; add.s64 %rd3, %rd1, %rd2;
        mov.u32 %r3, box; add.u32 %r3, %r3, %r2;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 mbarrier.init.shared.b64 [bar], 8;
        bar.sync 0;
        cp.async.cg.shared.global [%r3], [%rd3], 16;
        cp.async.mbarrier.arrive.shared.b64 [bar];
        mbarrier.arrive.shared.b64 %rd4, [bar];
    AGAIN:
        mbarrier.try_wait.shared.b64 %p2, [bar], %rd4;
        @!%p2 bra AGAIN;
        xor.b32 %r4, %r3, 16;
        ld.shared.u32 %r5, [%r4];
        st.global.u32 [%rd3+256], %r5;
        // The second operand's predicate, and a number of bytes.
        bar.sync 0;
        setp.lt.u32 %p3, %r1, 4;
        cp.async.ca.shared.global [%r3], [%rd3], 16, %p3;
        cp.async.ca.shared.global [%r3+128], [%rd3], 8, %r1;
        cp.async.wait_all;
        ld.shared.u32 %r6, [%r3+4]; ld.shared.u32 %r7, [%r3+128];
        st.global.u32 [%rd3+260], %r6; st.global.u32 [%rd3+264], %r7;";
    run("sm_90", body, Grid::new(1, 8), |out| {
        for thread in 0..8 {
            let place = 64 + 4 * thread;
            let first = 4 * thread as u32;
            let bytes = first & (u64::MAX >> (64 - 8 * thread.clamp(1, 8))) as u32;
            let cut = if thread == 0 { 0 } else { bytes };
            let skipped = if thread < 4 { 0 } else { first + 1 };
            assert_eq!(out[place..place + 3], [first ^ 4, skipped, cut], "thread {thread}");
        }
    });
}

#[test]
fn bulk_copies_with_masks_and_ignored_bytes() {
    let body = "
        mbarrier.init.shared.b64 [bar], 1;
        cp.async.bulk.prefetch.L2.global [%rd1], 64;
        mbarrier.arrive.expect_tx.shared.b64 %rd2, [bar], 96;
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [box], [%rd1], 64, [bar];
        mov.u32 %r1, 12; mov.u32 %r2, 0;
        // The last twelve bytes are not copied.
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [box+64], [%rd1+480], 32, %r2, %r1, [bar];
    AGAIN:
        mbarrier.try_wait.shared.b64 %p1, [bar], %rd2;
        @!%p1 bra AGAIN;
        mov.b16 %h1, 0x0ff0;
        cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1+128], [box], 32, %h1;
        cp.async.bulk.commit_group;
        cp.async.bulk.global.shared::cta.bulk_group [%rd1+192], [box+64], 16;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;";
    run("sm_100", body, Grid::new(1, 1), |out| {
        assert_eq!(out[32..40], [32, 1, 2, 35, 36, 5, 6, 39]);
        assert_eq!(out[48..52], [120, 121, 122, 123]);
    });
}

#[test]
fn stores_and_reductions_in_the_cluster() {
    let body = "
        mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
        mapa.shared::cluster.u32 %r3, box, %r2;
        mapa.shared::cluster.u32 %r4, bar, %r2;
        st.shared.u32 [box+64], 100; st.shared.u64 [box+72], 5;
        mbarrier.init.shared.b64 [bar], 1;
        mbarrier.arrive.expect_tx.shared.b64 %rd2, [bar], 56;
        barrier.cluster.arrive; barrier.cluster.wait;
        mov.u32 %r5, 7; mov.u32 %r6, 8; mov.u32 %r7, 9; mov.b64 %rd3, 10; mov.b64 %rd4, 11; mov.b128 %q1, {%rd3, %rd4};
        st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r3], {%r5, %r6, %r7, %r1}, [%r4];
        st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r3+16], {%r5, %r1}, [%r4];
        st.async.shared::cluster.mbarrier::complete_tx::bytes.b128 [%r3+32], %q1, [%r4];
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r3+64], %r5, [%r4];
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.b32 [%r3+64], %r5, [%r4];
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r3+72], %rd3, [%r4];
    AGAIN:
        mbarrier.try_wait.acquire.cluster.shared::cta.b64 %p1, [bar], %rd2;
        @!%p1 bra AGAIN;
        mul.lo.u32 %r8, %r1, 64; cvt.u64.u32 %rd5, %r8; add.s64 %rd6, %rd1, %rd5;
        ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [box]; st.global.v4.u32 [%rd6], {%r10, %r11, %r12, %r13};
        ld.shared.v2.u32 {%r10, %r11}, [box+16]; st.global.v2.u32 [%rd6+16], {%r10, %r11};
        ld.shared.v2.u64 {%rd7, %rd8}, [box+32]; st.global.v2.u64 [%rd6+32], {%rd7, %rd8};
        ld.shared.u32 %r10, [box+64]; ld.shared.u32 %r11, [box+72]; st.global.v2.u32 [%rd6+48], {%r10, %r11};
        st.async.release.gpu.global.u32 [%rd6+56], %r5;
        red.async.release.gpu.global.add.u32 [%rd6+60], %r5;
        barrier.cluster.arrive; barrier.cluster.wait;";
    run("sm_100", body, Grid::new(2, 1).cluster(2), |out| {
        for rank in 0..2 {
            let found = &out[16 * rank..][..16];
            let other = 1 - rank as u32;
            // The two reductions of one word come in any order: 0 & 7, or (100 & 7 + 1).
            let reduced = found[12];
            assert!([0, 5].contains(&reduced), "{reduced}");
            let expected = [7, 8, 9, other, 7, other];
            assert_eq!(found[..6], expected);
            assert_eq!(found[8..12], [10, 0, 11, 0]);
            assert_eq!(found[13..], [15, 7, 16 * rank as u32 + 15 + 7]);
        }
    });
}

/// Remote arrivals from another block, with and without an expected transaction count, and with `arrive_drop`.
#[test]
fn blocks_arrive_at_barriers_of_others() {
    let body = "
        mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
        mapa.shared::cluster.u32 %r4, bar, %r2;
        mbarrier.init.shared.b64 [bar], 3;
        barrier.cluster.arrive; barrier.cluster.wait;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4], 1;
        mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r4], 32;
        mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r4], 32;
    AGAIN:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;
        @!%p1 bra AGAIN;
        mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%r4];
        mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [%r4], 0;
        mbarrier.arrive.shared.b64 _, [bar];
    SECOND:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 1;
        @!%p1 bra SECOND;
        // One arrival is left of each phase.
        mbarrier.arrive.shared.b64 %rd2, [bar];
        mbarrier.test_wait.shared.b64 %p2, [bar], %rd2;
        selp.u32 %r5, 1, 0, %p2;
        mul.lo.u32 %r6, %r1, 4; cvt.u64.u32 %rd3, %r6; add.s64 %rd4, %rd1, %rd3;
        st.global.u32 [%rd4], %r5;
        barrier.cluster.arrive; barrier.cluster.wait;";
    run("sm_90", body, Grid::new(2, 1).cluster(2), |out| assert_eq!(out[..2], [1, 1]));
}

#[test]
fn bulk_copies_that_are_not_aligned_are_errors() {
    for (copy, kind) in [
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1+8], [box], 16;", "misaligned"),
        ("mov.u32 %r1, 24; cp.async.bulk.global.shared::cta.bulk_group [%rd1], [box], %r1;", "misaligned"),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1+496], [box], 32;", "access"),
        ("cp.async.bulk.prefetch.L2.global [%rd1+512], 16;", "access"),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [box+4], 16;", "misaligned"),
        ("mbarrier.init.shared.b64 [box+4], 1;", "misaligned"),
        ("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd1, {0}], [box];", "tensor-map"),
        ("tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 1;", "tensor-map"),
    ] {
        let target = if copy.starts_with("tensormap") { "sm_90a" } else { "sm_90" };
        on_threads(&kernel(target, copy), |machine| {
            let out = machine.upload(&(1..129_u32).collect::<Vec<_>>());
            let error = machine.try_run("k", Grid::new(1, 1), &[out.into()]).unwrap_err();
            assert_eq!(error.kind.name(), kind, "{copy}: {error}");
        });
    }
}
