//! Clusters: distributed shared memory, the barrier of the cluster, and how clusters are launched. `kernels/cluster.cu` was compiled
//! by NVRTC.

use crate::machine::{Machine, on_threads, random, shaped};
use ptx_isa::run::{Grid, Memory, Module};

const SUITE: &str = include_str!("../kernels/cluster-compute_90.ptx");

#[test]
fn shared_memory_of_a_cluster_holds_one_histogram() {
    on_threads(SUITE, |machine| {
        for cluster in [1, 2, 8] {
            let per_block = 64 / cluster;
            let data: Vec<i32> = random(3000).iter().map(|bits| (bits % 64) as i32).collect();
            let (input, bins) = (machine.upload(&data), machine.upload(&[0_i32; 64]));
            let grid = Grid::new(16, 96).cluster(cluster).shared(4 * per_block);
            let arguments = [bins.into(), (per_block as i32).into(), input.into(), 3000_i32.into()];
            machine.run("cluster_histogram", grid, &arguments);
            let mut expected = [0_i32; 64];
            data.iter().for_each(|bin| expected[*bin as usize] += 1);
            assert_eq!(machine.download::<i32>(bins, 64), expected);
        }
    });
}

/// The kernel's head has the shape of its clusters.
#[test]
fn blocks_pass_values_around_their_cluster() {
    on_threads(SUITE, |machine| {
        let x: Vec<i32> = (0..12).collect();
        let (px, py) = (machine.upload(&x), machine.upload(&[0_i32; 12]));
        machine.run("cluster_ring", Grid::new(12, 33), &[px.into(), py.into(), 7_i32.into()]);
        let mut expected = x;
        for cluster in expected.chunks_mut(4) {
            for _ in 0..7 {
                let last: Vec<i32> = cluster.to_vec();
                (0..4).for_each(|rank| cluster[(rank + 1) % 4] = last[rank].wrapping_mul(3).wrapping_add(rank as i32));
            }
        }
        assert_eq!(machine.download::<i32>(py, 12), expected);
    });
}

#[test]
fn blocks_know_their_places_in_clusters_of_two_dimensions() {
    on_threads(SUITE, |machine| {
        let out = machine.upload(&[0_i32; 240]);
        let grid = Grid { cluster: [2, 3, 1], ..shaped([4, 6, 1], [1, 1, 1]) };
        machine.run("cluster_places", grid, &[out.into()]);
        let found = machine.download::<i32>(out, 240);
        for (block, found) in found.chunks(10).enumerate() {
            let [x, y] = [block as i32 % 4 % 2, block as i32 / 4 % 3];
            let rank = x + 2 * y;
            assert_eq!(found, [x, y, 2, 3, rank, 6, rank, 5, i32::from(rank == 5), 0], "block {block}");
        }
    });
}

fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {{
            .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<8>;
            .shared .align 8 .b8 box[64];
            ld.param.u64 %rd1, [out];
            {body}
            ret; }}"
    )
}

fn launch(body: &str, grid: Grid, check: impl Fn(&Machine, u64)) {
    on_threads(&kernel(body), |machine| {
        let out = machine.upload(&[0_u32; 64]);
        machine.run("k", grid, &[out.into()]);
        check(machine, out);
    });
}

/// Loads, stores and atomics of `.shared::cluster`, addresses of 32 bits and generic ones, and which of them are whose.
#[test]
fn addresses_of_other_blocks() {
    let body = "
        mov.u32 %r1, %cluster_ctarank;
        add.u32 %r2, %r1, 1;
        and.b32 %r2, %r2, 1;
        mapa.shared::cluster.u32 %r3, box, %r2;
        st.shared::cluster.u32 [%r3], %r1;
        atom.shared::cluster.add.u32 %r4, [%r3+4], 5;
        mov.u32 %r5, box;
        mapa.shared::cluster.u32 %r5, %r5, %r1;
        atom.shared::cluster.add.u32 %r4, [%r5+4], 2;
        barrier.cluster.arrive.release;
        barrier.cluster.wait.acquire;
        cvt.u64.u32 %rd2, %r3;
        cvta.shared::cluster.u64 %rd2, %rd2;
        ld.u32 %r6, [%rd2];
        ld.shared.u32 %r7, [box+4];
        getctarank.u64 %r8, %rd2;
        getctarank.shared::cluster.u32 %r9, box;
        isspacep.shared::cluster %p1, %rd2;
        isspacep.shared %p2, %rd2;
        selp.u32 %r10, 1, 0, %p1;
        @%p2 add.u32 %r10, %r10, 2;
        mov.u32 %r11, %ctaid.x;
        mul.lo.u32 %r11, %r11, 20;
        cvt.u64.u32 %rd3, %r11;
        add.u64 %rd1, %rd1, %rd3;
        st.global.u32 [%rd1], %r6;
        st.global.u32 [%rd1+4], %r7;
        st.global.u32 [%rd1+8], %r8;
        st.global.u32 [%rd1+12], %r9;
        st.global.u32 [%rd1+16], %r10;
        barrier.cluster.arrive;
        barrier.cluster.wait;";
    launch(body, Grid::new(4, 1).cluster(2), |machine, out| {
        let found = machine.download::<u32>(out, 20);
        assert_eq!(found[..10], [0, 7, 1, 0, 1, 1, 7, 0, 1, 1]);
        assert_eq!(found[10..], found[..10]);
    });
}

/// The address of a block's own shared memory has its rank, as on a card: another block that gets it accesses the memory of the first one.
#[test]
fn addresses_that_blocks_pass_on() {
    let body = "
        mov.u32 %r1, %cluster_ctarank;
        xor.b32 %r2, %r1, 1;
        mul.lo.u32 %r3, %r1, 16; cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %rd1, %rd2;
        mul.lo.u32 %r3, %r2, 16; cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd1, %rd3;
        mov.u32 %r4, box+8; st.global.u32 [%rd2], %r4;
        mov.u64 %rd4, box; cvta.shared.u64 %rd4, %rd4; st.global.u64 [%rd2+8], %rd4;
        add.u32 %r5, %r1, 10; st.shared.u32 [box+8], %r5;
        add.u32 %r5, %r1, 20; st.shared.u32 [box+4], %r5;
        barrier.cluster.arrive; barrier.cluster.wait;
        ld.global.u32 %r6, [%rd3]; ld.shared::cluster.u32 %r7, [%r6];
        ld.global.u64 %rd5, [%rd3+8]; ld.u32 %r8, [%rd5+4];
        getctarank.u64 %r9, %rd5;
        barrier.cluster.arrive; barrier.cluster.wait;
        st.global.u32 [%rd2], %r7; st.global.u32 [%rd2+4], %r8; st.global.u32 [%rd2+8], %r9;
        sub.u32 %r10, %r6, %r4; st.global.u32 [%rd2+12], %r10;";
    launch(body, Grid::new(2, 1).cluster(2), |machine, out| {
        let found = machine.download::<u32>(out, 8);
        assert_eq!(found, [11, 21, 1, 1 << 24, 10, 20, 0, 0_u32.wrapping_sub(1 << 24)]);
    });
}

/// The grid of a kernel with `.blocksareclusters` counts clusters.
#[test]
fn a_grid_of_clusters() {
    let text = "
        .version 9.0
        .target sm_90
        .address_size 64
        .visible .entry k(.param .u64 out) .reqntid 1 .reqnctapercluster 2 .blocksareclusters {
            .reg .b64 %rd<3>; .reg .b32 %r<4>;
            ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 8; add.u64 %rd1, %rd1, %rd2;
            mov.u32 %r2, %nctaid.x; mov.u32 %r3, %nclusterid.x; st.global.v2.u32 [%rd1], {%r2, %r3}; ret;
        }";
    on_threads(text, |machine| {
        for (clusters, expected) in [(1, [2, 1, 2, 1, 0, 0, 0, 0]), (2, [4, 2, 4, 2, 4, 2, 4, 2])] {
            let out = machine.upload(&[0_u32; 8]);
            machine.run("k", Grid::new(clusters, 1), &[out.into()]);
            assert_eq!(machine.download::<u32>(out, 8), expected);
        }
    });
}

/// Blocks of one cluster that spin on what the others write, and blocks that end early: neither hangs.
#[test]
fn blocks_of_a_cluster_go_on_together() {
    let body = "
        mov.u32 %r1, %cluster_ctarank;
        setp.eq.u32 %p1, %r1, 2;
        @%p1 bra DONE;
        xor.b32 %r2, %r1, 1;
        mapa.shared::cluster.u32 %r3, box, %r2;
        st.relaxed.cluster.shared::cluster.u32 [%r3], 1;
    SPIN:
        ld.relaxed.cluster.shared::cta.u32 %r4, [box];
        setp.eq.u32 %p2, %r4, 0;
        @%p2 bra SPIN;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        atom.global.add.u32 %r5, [%rd1], 1;
    DONE:";
    launch(body, Grid::new(6, 40).cluster(3), |machine, out| assert_eq!(machine.download::<u32>(out, 1), [160]));
}

#[test]
fn a_cluster_that_waits_in_vain_is_a_deadlock() {
    let body = "
        mov.u32 %r1, %cluster_ctarank;
        setp.eq.u32 %p1, %r1, 1;
        @%p1 bra OTHER;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        bra DONE;
    OTHER:
        mov.u32 %r2, %tid.x;
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bar.sync 3, 64;
    DONE:";
    on_threads(&kernel(body), |machine| {
        let out = machine.upload(&[0_u32]);
        let error = machine.try_run("k", Grid::new(2, 32).cluster(2), &[out.into()]).unwrap_err();
        assert_eq!(error.kind.name(), "deadlock", "{error}");
    });
}

#[test]
fn a_block_outside_of_the_cluster_has_no_memory() {
    let body = "
        mapa.shared::cluster.u32 %r3, box, 2;
        st.shared::cluster.u32 [%r3], %r1;";
    on_threads(&kernel(body), |machine| {
        let out = machine.upload(&[0_u32]);
        let error = machine.try_run("k", Grid::new(2, 1).cluster(2), &[out.into()]).unwrap_err();
        assert_eq!(error.kind.name(), "access", "{error}");
    });
}

#[test]
fn shapes_of_clusters_are_checked() {
    let module = Module::load(SUITE, &Memory::new()).unwrap();
    let fails = |name: &str, grid: Grid| {
        let arguments: Vec<_> = match name {
            "cluster_places" => vec![0_u64.into()],
            _ => vec![0_u64.into(), 0_u64.into(), 0_i32.into()],
        };
        module.kernel(name).unwrap().launch(grid, &arguments).unwrap_err().message
    };
    let found = fails("cluster_ring", Grid::new(8, 1).cluster(2));
    assert_eq!(found, "the kernel requires clusters of 4×1×1 blocks, not 2×1×1");
    let found = fails("cluster_ring", Grid::new(6, 1));
    assert_eq!(found, "a grid of 6×1×1 blocks is not a whole number of clusters of 4×1×1");
    assert_eq!(fails("cluster_places", Grid::new(32, 1).cluster(32)), "a cluster has 1 to 16 blocks, not 32");
}

/// Commits of tensor operations arrive in the block of the barrier's address, or in the blocks of a mask.
#[test]
fn commits_arrive_in_the_blocks_of_a_mask() {
    let commits = [
        (8.6, "sm_100a", ".shared::cluster.b64 [done]", [0, 1, 0, 0]),
        (8.6, "sm_100a", ".b64 [%rd3]", [0, 1, 0, 0]),
        (8.6, "sm_100a", ".shared::cluster.b64 [%r3]", [0, 0, 1, 0]),
        (8.6, "sm_100a", ".shared::cluster.multicast::cluster.b64 [done], %h1", [1, 0, 1, 1]),
        (8.6, "sm_100a", ".multicast::cluster.b64 [%rd3], %h1", [1, 0, 1, 1]),
        (8.6, "sm_100a", ".shared::cluster.multicast::cluster.b64 [%r3], 6", [0, 1, 1, 0]),
        (9.4, "sm_107f", ".shared::cluster.multicast::cluster::32b.b64 [done], %r4", [1, 0, 1, 1]),
    ];
    for (version, target, commit, expected) in commits {
        let text = format!(
            ".version {version:.1}\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 out) {{
            .reg .pred %p<4>; .reg .b16 %h<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
            .shared .align 8 .b64 done;
            ld.param.u64 %rd1, [out];
            mov.u32 %r1, %cluster_ctarank;
            mov.u32 %r2, done;
            mapa.shared::cluster.u32 %r3, %r2, 2;
            cvt.u64.u32 %rd3, %r2;
            cvta.shared.u64 %rd3, %rd3;
            mov.u16 %h1, 13;
            mov.u32 %r4, 13;
            mbarrier.init.shared::cta.b64 [done], 1;
            barrier.cluster.arrive.release;
            barrier.cluster.wait.acquire;
            setp.ne.u32 %p1, %r1, 1;
            @%p1 bra COMMITTED;
            tcgen05.commit.cta_group::1.mbarrier::arrive::one{commit};
        COMMITTED:
            barrier.cluster.arrive.release;
            barrier.cluster.wait.acquire;
            mbarrier.test_wait.parity.shared::cta.b64 %p2, [done], 0;
            selp.u32 %r5, 1, 0, %p2;
            mul.wide.u32 %rd2, %r1, 4;
            add.u64 %rd2, %rd1, %rd2;
            st.global.u32 [%rd2], %r5;
            barrier.cluster.arrive;
            barrier.cluster.wait;
            ret; }}"
        );
        on_threads(&text, |machine| {
            let out = machine.upload(&[0_u32; 4]);
            machine.run("k", Grid::new(4, 1).cluster(4), &[out.into()]);
            assert_eq!(machine.download::<u32>(out, 4), expected, "{commit}");
        });
    }
}

/// Kernels clear the lowest bit of the rank in an address of shared memory to address the first block of a pair.
#[test]
fn the_first_block_of_a_pair_has_an_address_of_its_own() {
    let text = "
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 y) {
    .reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .pred %p;
    .shared .align 16 .b32 pad[4]; .shared .align 4 .b32 own;
    ld.param.u64 %rd1, [y]; mov.u32 %r1, own; mov.u32 %r2, %cluster_ctarank;
    st.shared.b32 [%r1], 0;
    barrier.cluster.arrive; barrier.cluster.wait;
    and.b32 %r3, %r1, 0xfeffffff; atom.shared::cluster.add.u32 %r4, [%r3], 7;
    mapa.shared::cluster.u32 %r5, %r1, 2; and.b32 %r5, %r5, 0xfeffffff; atom.shared::cluster.add.u32 %r4, [%r5], 100;
    mapa.shared::cluster.u32 %r5, %r1, 3; and.b32 %r5, %r5, 0xfeffffff; atom.shared::cluster.add.u32 %r4, [%r5], 1000;
    barrier.cluster.arrive; barrier.cluster.wait;
    mapa.shared::cluster.u32 %r6, %r1, %r2; getctarank.shared::cluster.u32 %r7, %r3;
    ld.shared.b32 %r4, [own]; mul.wide.u32 %rd2, %r2, 12; add.u64 %rd1, %rd1, %rd2;
    sub.u32 %r6, %r6, %r1;
    st.global.b32 [%rd1], %r4; st.global.b32 [%rd1+4], %r6; st.global.b32 [%rd1+8], %r7;
    ret;
}";
    let memory = Memory::new();
    let kernel = Module::load(text, &memory).unwrap().kernel("k").unwrap();
    let y = memory.upload(&[9_u32; 12]);
    kernel.launch(Grid::new(4, 1).cluster(4), &[y.into()]).unwrap_or_else(|error| panic!("{error}"));
    // The sum, the distance of the own address by rank, and the rank of the first block.
    assert_eq!(memory.download::<u32>(y, 12).unwrap(), [14, 0, 0, 0, 0, 0, 4414, 0, 2, 0, 0, 2]);
}
