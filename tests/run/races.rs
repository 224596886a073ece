//! Launches that look for data races: what races is reported with both accesses, and what is ordered is not.

use ptx_isa::run::{Error, Grid, Memory, Module, Options};

/// Runs a body by `threads` threads of `blocks` blocks, as instructions one by one and as machine code, and returns the errors of both.
///
/// `%t` and `%b` are the indices, `%rdx` points to 128 KiB, `%pw` to a word of each thread of the grid, `%own` bytes behind it; `s` is shared.
fn outcomes(body: &str, blocks: u32, threads: u32) -> [Option<Error>; 2] {
    let text = format!(
        ".version 8.7 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 x) {{
            .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %t, %b, %n, %r<32>; .reg .b64 %rdx, %pw, %own, %rd<16>; .reg .f32 %f<4>;
            .shared .align 16 .b8 s[8192]; .shared .align 8 .b64 bar;
            ld.param.u64 %rdx, [x]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
            mad.lo.u32 %r0, %b, %n, %t; mul.wide.u32 %own, %r0, 4; add.u64 %pw, %rdx, %own; shl.b32 %r1, %t, 2;
            mov.u32 %r2, s; add.u32 %r3, %r2, %r1; setp.eq.u32 %p0, %t, 0; setp.lt.u32 %p1, %t, 32;
            {body}
            ret;
        }}"
    );
    [None, Some(0)].map(|compile_after| {
        let memory = Memory::new();
        let module = Module::load(&text, &memory).unwrap_or_else(|error| panic!("{error}"));
        let x = memory.allocate(1 << 17);
        let options = Options { races: true, compile_after, limit: 100_000_000, ..Options::default() };
        let kernel = module.kernel("k").expect("it is there");
        kernel.launch_with(Grid::new(blocks, threads), &[x.into()], &options).err()
    })
}

/// A race whose accesses are in these statements, in any order.
#[track_caller]
fn races(body: &str, blocks: u32, threads: u32, statements: [&str; 2]) {
    for error in outcomes(body, blocks, threads) {
        let error = error.unwrap_or_else(|| panic!("no race: {body}"));
        assert_eq!(error.kind.name(), "race", "{error}");
        let other = error.other.as_deref().unwrap_or_else(|| panic!("{error}"));
        let found = [&error, other].map(|access| access.statement.clone().unwrap_or_default());
        let as_given = |pair: [&str; 2]| pair.iter().zip(&found).all(|(part, statement)| statement.contains(part));
        assert!(as_given(statements) || as_given([statements[1], statements[0]]), "{error}");
        assert!(error.block.is_some() && other.block.is_some(), "{error}");
        assert_ne!((error.block, error.thread), (other.block, other.thread), "{error}");
        assert!(error.address.is_some() && error.line.is_some() && other.line.is_some(), "{error}");
    }
}

#[track_caller]
fn is_ordered(body: &str, blocks: u32, threads: u32) {
    for error in outcomes(body, blocks, threads) {
        assert_eq!(error.map(|error| error.to_string()), None, "{body}");
    }
}

#[test]
fn barriers_order_accesses_of_a_block() {
    let write = "st.shared.u32 [%r3], %t;";
    // The neighbor's word, in the same warp and in another one.
    let read = "xor.b32 %r4, %r1, 128; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];";
    races(&format!("{write} {read}"), 1, 64, ["st.shared", "ld.shared"]);
    races(&format!("{read} {write}"), 3, 64, ["ld.shared", "st.shared"]);
    is_ordered(&format!("{write} bar.sync 0; {read}"), 3, 64);
    is_ordered(&format!("{read} bar.sync 0; {write}"), 1, 64);
    is_ordered(&format!("{write} bar.sync 0; {read} bar.sync 0; {write} barrier.sync 1; {read}"), 1, 64);
    // A barrier for other threads alone.
    races(&format!("{write} @%p1 bar.sync 1, 32; {read}"), 1, 64, ["st.shared", "ld.shared"]);
    // Some threads of a block at a barrier with a count: they know each other, and nobody else.
    let some =
        "@!%p1 bra DONE; bar.sync 2, 32; xor.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4]; DONE:";
    is_ordered(&format!("{write} {some}"), 1, 64);
    races(&format!("{write} {}", some.replace("%r1, 4", "%r1, 128")), 1, 64, ["st.shared", "ld.shared"]);
}

#[test]
fn warps_order_theirs_by_their_barrier() {
    let write = "st.shared.u32 [%r3], %t;";
    let read = "xor.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];";
    races(&format!("{write} {read}"), 1, 64, ["st.shared", "ld.shared"]);
    is_ordered(&format!("{write} bar.warp.sync 0xffffffff; {read}"), 1, 64);
    // Collectives on registers order nothing.
    let shuffle = "shfl.sync.bfly.b32 %r6, %t, 1, 31, 0xffffffff;";
    races(&format!("{write} {shuffle} {read}"), 1, 64, ["st.shared", "ld.shared"]);
    // Pairs that meet, of which others know nothing.
    let pair = "and.b32 %r7, %t, 30; mov.u32 %r8, 3; shl.b32 %r8, %r8, %r7; bar.warp.sync %r8;";
    is_ordered(&format!("{write} {pair} {read}"), 1, 32);
    races(&format!("{write} {pair} {}", read.replace(", 4;", ", 8;")), 1, 32, ["st.shared", "ld.shared"]);
    // What one lane knows of another warp, all know behind the barrier of theirs.
    let handed = "
        @%p1 st.shared.u32 [%r3], %t; setp.eq.u32 %p2, %t, 32; @%p1 bar.arrive 3, 64; @%p1 bra DONE;
        bar.sync 3, 64; bar.warp.sync 0xffffffff; ld.shared.u32 %r5, [%r2]; DONE:";
    is_ordered(handed, 1, 64);
    // Who arrives without waiting learns nothing.
    let early = handed.replace("@%p1 bra DONE;", "@%p1 st.shared.u32 [%r3], 7; @%p1 bra DONE;");
    races(&early, 1, 64, ["st.shared", "ld.shared"]);
}

#[test]
fn blocks_are_ordered_by_what_is_released_and_acquired() {
    // The first block sends a message, the other one waits for its flag.
    let message = |send: &str, wait: &str| {
        format!(
            "setp.ne.u32 %p2, %b, 0; @!%p0 bra DONE; @%p2 bra WAIT;
            st.global.u32 [%rdx], 5; {send} bra DONE;
        WAIT:
            {wait} setp.eq.u32 %p3, %r5, 0; @%p3 bra WAIT;
            ACQUIRE ld.global.u32 %r6, [%rdx];
        DONE:"
        )
    };
    let orders = [
        ("st.release.gpu.global.u32 [%rdx+64], 1;", "ld.acquire.gpu.global.u32 %r5, [%rdx+64];", "", true),
        (
            "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rdx+64], 1;",
            "ld.relaxed.gpu.global.u32 %r5, [%rdx+64];",
            "fence.acq_rel.gpu;",
            true,
        ),
        (
            "membar.gl; st.volatile.global.u32 [%rdx+64], 1;",
            "ld.volatile.global.u32 %r5, [%rdx+64];",
            "membar.gl;",
            true,
        ),
        (
            "membar.gl; atom.global.exch.b32 %r5, [%rdx+64], 1;",
            "atom.global.or.b32 %r5, [%rdx+64], 0;",
            "fence.sc.gpu;",
            true,
        ),
        ("red.release.gpu.global.add.u32 [%rdx+64], 1;", "atom.acquire.gpu.global.or.b32 %r5, [%rdx+64], 0;", "", true),
        // Nothing releases, or nothing acquires.
        ("st.relaxed.gpu.global.u32 [%rdx+64], 1;", "ld.acquire.gpu.global.u32 %r5, [%rdx+64];", "", false),
        ("st.release.gpu.global.u32 [%rdx+64], 1;", "ld.relaxed.gpu.global.u32 %r5, [%rdx+64];", "", false),
        ("atom.global.exch.b32 %r5, [%rdx+64], 1;", "atom.global.or.b32 %r5, [%rdx+64], 0;", "fence.sc.gpu;", false),
        (
            "st.relaxed.gpu.global.u32 [%rdx+64], 1; fence.acq_rel.gpu;",
            "ld.acquire.gpu.global.u32 %r5, [%rdx+64];",
            "",
            false,
        ),
    ];
    for (send, wait, acquire, is) in orders {
        let body = message(send, wait).replace("ACQUIRE", acquire);
        match is {
            true => is_ordered(&body, 2, 32),
            false => races(&body, 2, 32, ["st.global.u32 [%rdx], 5;", "ld.global.u32 %r6"]),
        }
    }
    // A flag that is no strong access races itself.
    let body = message("st.global.u32 [%rdx+64], 1;", "ld.volatile.global.u32 %r5, [%rdx+64];").replace("ACQUIRE", "");
    races(&body, 2, 32, ["[%rdx+64], 1;", "ld.volatile"]);
    // What a block did before a barrier, one of its threads releases for all; a lock hands on what each one before did.
    let last = "
        st.global.u32 [%pw], %t; bar.sync 0; @!%p0 bra ALL; fence.acq_rel.gpu;
        atom.global.add.u32 %r5, [%rdx+60000], 1; fence.acq_rel.gpu; st.shared.u32 [s], %r5;
    ALL:
        bar.sync 0; ld.shared.u32 %r6, [s]; setp.ne.u32 %p2, %r6, 7; @%p2 bra DONE;
        xor.b64 %own, %own, 256; add.u64 %rd1, %rdx, %own; ld.global.u32 %r7, [%rd1];
    DONE:";
    is_ordered(last, 8, 64);
    races(&last.replacen("fence.acq_rel.gpu;", "", 1), 8, 64, ["st.global", "ld.global.u32 %r7"]);
    races(&last.replacen("bar.sync 0;", "", 1), 8, 64, ["st.global", "ld.global.u32 %r7"]);
    let lock = "
        @!%p0 bra DONE;
    SPIN:
        atom.global.acquire.gpu.cas.b32 %r5, [%rdx], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra SPIN;
        ld.global.u32 %r6, [%rdx+128]; add.u32 %r6, %r6, 1; st.global.u32 [%rdx+128], %r6;
        st.release.gpu.global.u32 [%rdx], 0;
    DONE:";
    is_ordered(lock, 8, 32);
    races(&lock.replace("st.release", "st.relaxed"), 8, 32, ["[%rdx+128]", "[%rdx+128]"]);
}

#[test]
fn bytes_are_told_apart() {
    // Each thread has its own byte, half, word or vector.
    is_ordered(
        "cvt.u64.u32 %rd1, %r0; add.u64 %rd1, %rdx, %rd1; st.global.u8 [%rd1], %t; ld.global.u8 %r5, [%rd1];",
        8,
        96,
    );
    is_ordered(
        "mul.wide.u32 %rd1, %r0, 2; add.u64 %rd1, %rdx, %rd1; mov.u16 %h1, 9; st.global.u16 [%rd1], %h1; ld.global.u16 %h2, [%rd1];",
        8,
        96,
    );
    is_ordered(
        "mul.wide.u32 %rd1, %r0, 16; add.u64 %rd1, %rdx, %rd1; st.global.v4.u32 [%rd1], {%t, %t, %t, %t}; ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1];",
        8,
        96,
    );
    races(
        "cvt.u64.u32 %rd1, %r0; add.u64 %rd1, %rdx, %rd1; st.global.u8 [%rd1], %t; ld.global.u8 %r5, [%rd1+1];",
        8,
        96,
        ["st.global.u8", "ld.global.u8"],
    );
    // A byte of a word; an element of a vector that is left out is not written.
    races("st.global.u32 [%pw], %t; @%p0 ld.global.u8 %r5, [%pw+7];", 1, 32, ["st.global.u32", "ld.global.u8"]);
    // Scattered bytes within one word.
    is_ordered(
        "xor.b32 %r4, %r0, 5; cvt.u64.u32 %rd1, %r4; add.u64 %rd1, %rdx, %rd1; st.global.u8 [%rd1], %t; ld.global.u8 %r5, [%rd1];",
        1,
        96,
    );
}

#[test]
fn atomics_race_with_other_accesses_alone() {
    is_ordered("atom.global.add.u32 %r5, [%rdx], 1; red.global.add.u32 [%rdx], %r5;", 8, 64);
    is_ordered("red.shared.add.u32 [s], 1; bar.sync 0; ld.shared.u32 %r5, [s];", 8, 64);
    races("red.shared.add.u32 [s], 1; ld.shared.u32 %r5, [s];", 1, 64, ["red.shared", "ld.shared"]);
    races("@%p0 st.global.u32 [%rdx], 7; atom.global.add.u32 %r5, [%rdx], 1;", 1, 32, ["st.global", "atom.global"]);
    is_ordered("st.volatile.global.u32 [%rdx], %t; ld.relaxed.gpu.global.u32 %r5, [%rdx];", 8, 64);
}

#[test]
fn writes_of_the_same_value_do_not_race() {
    is_ordered("st.global.u32 [%rdx], 7;", 8, 64);
    is_ordered("st.shared.u32 [s], 7; st.global.v2.u32 [%rdx], {7, 8};", 2, 64);
    races("st.global.u32 [%rdx], %t;", 1, 2, ["st.global", "st.global"]);
    races("st.global.u32 [%rdx], %b;", 2, 1, ["st.global", "st.global"]);
    // Lanes of a warp, warps of a block, blocks.
    races("shr.u32 %r5, %t, 5; st.shared.u32 [s], %r5;", 1, 64, ["st.shared", "st.shared"]);
    // Parts of rows behind a border of a line, and the low bits of a register.
    is_ordered(
        "cvt.u64.u32 %rd2, %t; mul.wide.u32 %rd1, %t, 8; add.u64 %rd1, %rdx, %rd1; st.global.u64 [%rd1], %rd2;",
        300,
        32,
    );
    is_ordered(
        "mul.wide.u32 %rd1, %t, 4; add.u64 %rd1, %rdx, %rd1; mul.lo.u32 %r5, %t, %t; st.global.u32 [%rd1+64], %r5;",
        300,
        32,
    );
    is_ordered("shl.b32 %r5, %t, 8; add.u32 %r5, %r5, 7; st.global.u8 [%rdx], %r5;", 1, 32);
    // One lane of a warp may write the same, the others do not.
    let row = "mul.wide.u32 %rd1, %t, 4; add.u64 %rd1, %rdx, %rd1; mul.lo.u32 %r5, %t, %b; st.global.u32 [%rd1], %r5;";
    races(row, 2, 32, ["st.global", "st.global"]);
    races(row, 300, 32, ["st.global", "st.global"]);
    // Who reads may see it come.
    races("st.global.u32 [%rdx], 7; ld.global.u32 %r5, [%rdx];", 2, 1, ["st.global", "ld.global"]);
}

#[test]
fn loops_and_groups_of_blocks_race_as_single_ones_do() {
    // Many rounds at once: each thread has its own words, or those of the one behind it.
    let rounds = |behind: u32| {
        format!(
            "mov.u32 %r5, 0; bar.sync 0;
        LOOP:
            ld.global.u32 %r6, [%pw+{behind}]; add.u32 %r6, %r6, %r5; st.global.u32 [%pw], %r6; add.u64 %pw, %pw, 512;
            add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 100; @%p2 bra LOOP;"
        )
    };
    is_ordered(&rounds(0), 1, 128);
    races(&rounds(4), 1, 128, ["ld.global", "st.global"]);
    // The word of the next round is that of the same thread.
    is_ordered(&rounds(512), 1, 128);
    // Groups that follow each other: the last thread of a block and the first one of the next.
    let groups =
        |behind: u32| format!("ld.global.u32 %r5, [%pw+{behind}]; add.u32 %r5, %r5, 1; st.global.u32 [%pw], %r5;");
    is_ordered(&groups(0), 300, 32);
    races(&groups(128), 300, 32, ["ld.global", "st.global"]);
    let apart = "ld.global.u32 %r5, [%pw+32768]; st.global.u32 [%pw], %r5;";
    is_ordered(apart, 256, 32);
    races(apart, 257, 32, ["ld.global", "st.global"]);
}

#[test]
fn what_is_recorded_in_another_way_is_found() {
    // Machine code stops before the second store, of which each word is written twice; the first one still happens.
    let stopped = "
        mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rdx, %rd1; st.global.u32 [%rd1], %r0;
        and.b32 %r5, %r0, 31; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd2, %rdx, %rd2; st.global.u32 [%rd2+4096], %r5;
        xor.b32 %r6, %r0, 32; mul.wide.u32 %rd3, %r6, 4; add.u64 %rd3, %rdx, %rd3; ld.global.u32 %r7, [%rd3];";
    races(stopped, 1, 64, ["st.global.u32 [%rd1]", "ld.global"]);
    // Of two writes of a thread the later one stays.
    let twice = "
        setp.ge.u32 %p2, %t, 32; @%p2 st.global.u32 [%pw], %t; bar.sync 0; add.u32 %r5, %t, 9; st.global.u32 [%pw], %r5;
        xor.b32 %r6, %t, 1; mul.wide.u32 %rd1, %r6, 4; add.u64 %rd1, %rdx, %rd1; @%p2 ld.global.u32 %r7, [%rd1];";
    races(twice, 1, 64, ["st.global.u32 [%pw], %r5", "ld.global"]);
    // Atomics of others before those of the thread itself.
    let atomics = "@%p0 red.global.add.u32 [%rdx], 1; bar.warp.sync 0xffffffff; setp.eq.u32 %p2, %t, 32;
        @%p2 red.global.add.u32 [%rdx], 1; @%p2 ld.global.u32 %r5, [%rdx];";
    races(atomics, 1, 64, ["red.global", "ld.global"]);
    // A vector releases by each of its elements.
    let vector = "
        @!%p0 bra OTHERS; st.global.u32 [%rdx], 9; membar.gl; st.volatile.global.v2.u32 [%rdx+64], {1, 1}; bra DONE;
    OTHERS:
        setp.ne.u32 %p2, %t, 32; @%p2 bra DONE;
    WAIT:
        ld.volatile.global.u32 %r5, [%rdx+68]; setp.eq.u32 %p3, %r5, 0; @%p3 bra WAIT; membar.gl; ld.global.u32 %r6, [%rdx];
    DONE:";
    is_ordered(vector, 1, 64);
}

#[test]
fn memory_that_is_allocated_again_is_new() {
    let body = "
        .extern .func (.param .b64 r) malloc (.param .b64 n); .extern .func free (.param .b64 p);
        .visible .entry k(.param .u64 x) {
            .reg .b64 %rd<4>; .reg .b32 %r<2>;
            mov.u32 %r1, %tid.x;
            { .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call.uni (r), malloc, (n); ld.param.b64 %rd1, [r]; }
            st.u32 [%rd1], %r1; ld.u32 %r1, [%rd1];
            { .param .b64 p; st.param.b64 [p], %rd1; call.uni free, (p); }
            ret;
        }";
    let memory = Memory::new();
    let module = Module::load(&format!(".version 8.0 .target sm_80 .address_size 64 {body}"), &memory);
    let kernel = module.unwrap_or_else(|error| panic!("{error}")).kernel("k").expect("it is there");
    let options = Options { races: true, ..Options::default() };
    for _ in 0..2 {
        kernel.launch_with(Grid::new(4, 64), &[0_u64.into()], &options).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn objects_and_clusters_order_accesses() {
    let barrier = |arrive: &str, wait: &str| {
        format!(
            "@%p0 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; @!%p1 bra WAIT;
            st.shared.u32 [%r3], %t; {arrive} bra DONE;
        WAIT:
            {wait} %p3, [bar], 0; @!%p3 bra WAIT;
            ld.shared.u32 %r5, [%r3+-128];
        DONE:"
        )
    };
    let (arrive, wait) = ("mbarrier.arrive.shared.b64 _, [bar];", "mbarrier.test_wait.parity.shared.b64");
    is_ordered(&barrier(arrive, wait), 1, 64);
    let relaxed =
        ["mbarrier.arrive.relaxed.cta.shared.b64 _, [bar];", "mbarrier.test_wait.parity.relaxed.cta.shared.b64"];
    races(&barrier(relaxed[0], wait), 1, 64, ["st.shared", "ld.shared"]);
    races(&barrier(arrive, relaxed[1]), 1, 64, ["st.shared", "ld.shared"]);
    // The other block's memory.
    let cluster = |between: &str| {
        format!(
            "st.shared.u32 [%r3], %t; {between} mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1;
            mapa.shared::cluster.u32 %r6, %r3, %r5; ld.shared::cluster.u32 %r7, [%r6];
            barrier.cluster.arrive; barrier.cluster.wait;"
        )
    };
    for (between, is) in [("barrier.cluster.arrive; barrier.cluster.wait;", true), ("bar.sync 0;", false)] {
        let text = cluster(between);
        for error in clustered(&text) {
            assert_eq!(error.map(|error| error.kind.name()), if is { None } else { Some("race") }, "{between}");
        }
    }
}

/// The same for one cluster of two blocks.
fn clustered(body: &str) -> [Option<Error>; 2] {
    let text = format!(
        ".version 8.7 .target sm_90 .address_size 64
        .visible .entry k() .reqnctapercluster 2, 1, 1 {{
            .reg .b32 %t, %r<8>; .shared .align 4 .b8 s[256];
            mov.u32 %t, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, %r2;
            {body}
            ret;
        }}"
    );
    [None, Some(0)].map(|compile_after| {
        let kernel = Module::load(&text, &Memory::new()).and_then(|module| module.only_kernel());
        let options = Options { races: true, compile_after, ..Options::default() };
        kernel.unwrap_or_else(|error| panic!("{error}")).launch_with(Grid::new(2, 64), &[], &options).err()
    })
}

/// An access of a random program: which words the threads access, as far as their index is below a bound.
#[derive(Clone, Copy, Debug)]
struct Step {
    writes: bool,
    shared: bool,
    /// Threads that take part, a factor of the index, what it is changed by bit by bit, and what is added: `((t · f) ^ x) + c`.
    below: u32,
    factor: u32,
    xor: u32,
    add: u32,
    /// True if each block has words of its own.
    own: bool,
}

impl Step {
    fn word(&self, block: u32, thread: u32) -> u32 {
        ((thread * self.factor) ^ self.xor) + self.add + if self.own && !self.shared { 512 * block } else { 0 }
    }

    /// Each value is that of one thread and one statement.
    fn text(&self, number: usize) -> String {
        let Step { below, factor, xor, add, .. } = self;
        let base = if self.shared { "mov.u32 %r8, s;" } else { "" };
        let (space, at) = if self.shared { ("shared", "%r8") } else { ("global", "%rd1") };
        let block = if self.own && !self.shared { 2048 } else { 0 };
        let address = match self.shared {
            true => format!("{base} mad.lo.u32 %r8, %r5, 4, %r8;"),
            false => format!(
                "mul.wide.u32 %rd1, %r5, 4; mul.wide.u32 %rd2, %b, {block}; add.u64 %rd1, %rd1, %rd2; add.u64 %rd1, %rd1, %rdx;"
            ),
        };
        let access = match self.writes {
            true => format!("mad.lo.u32 %r6, %r0, 64, {number}; add.u32 %r6, %r6, 1; @%p2 st.{space}.u32 [{at}], %r6;"),
            false => format!("@%p2 ld.{space}.u32 %r7, [{at}];"),
        };
        let xor = if *xor > 0 { format!("xor.b32 %r5, %r5, {xor};") } else { String::new() };
        format!(
            "setp.lt.u32 %p2, %t, {below}; mul.lo.u32 %r5, %t, {factor}; {xor} add.u32 %r5, %r5, {add}; {address} {access}\n"
        )
    }
}

/// Returns true if two accesses of different threads race: barriers end phases of a block.
fn may_race(phases: &[Vec<Step>], blocks: u32, threads: u32) -> bool {
    // Who accessed each word, when, and whether it was written.
    let mut accesses = std::collections::HashMap::<(bool, u32, u32), Vec<(u32, u32, usize, bool)>>::new();
    for (phase, step) in
        phases.iter().enumerate().flat_map(|(phase, steps)| steps.iter().map(move |step| (phase, step)))
    {
        for (block, thread) in
            (0..blocks).flat_map(|block| (0..threads.min(step.below)).map(move |thread| (block, thread)))
        {
            let memory = if step.shared { block } else { 0 };
            let place = accesses.entry((step.shared, memory, step.word(block, thread))).or_default();
            place.push((block, thread, phase, step.writes));
        }
    }
    accesses.values().any(|list| {
        list.iter().enumerate().any(|(at, one)| {
            list[..at].iter().any(|other| {
                let alone = (one.0, one.1) == (other.0, other.1) || one.0 == other.0 && one.2 != other.2;
                !alone && (one.3 || other.3)
            })
        })
    })
}

#[test]
fn random_programs_race_where_a_model_says_so() {
    let mut numbers = crate::machine::random(200_000).into_iter();
    let mut below = |most: u32| numbers.next().expect("there are enough") % most;
    let mut found = [0; 2];
    for _ in 0..400 {
        let (blocks, threads) = ([1, 2, 3, 9][below(4) as usize], [32, 48, 64, 128][below(4) as usize]);
        let phases: Vec<Vec<Step>> = (0..1 + below(3))
            .map(|_| {
                let step = |below: &mut dyn FnMut(u32) -> u32| Step {
                    writes: below(2) == 0,
                    shared: below(2) == 0,
                    below: [1000, 1000, 1000, 16, 40][below(5) as usize],
                    factor: [1, 1, 1, 2][below(4) as usize],
                    xor: [0, 0, 0, 1, 5, 32][below(6) as usize],
                    add: [0, 0, 0, 1, 128][below(5) as usize],
                    own: below(4) > 0,
                };
                (0..1 + below(4)).map(|_| step(&mut below)).collect()
            })
            .collect();
        let mut number = 0..;
        let text = |steps: &Vec<Step>| -> String {
            steps.iter().zip(&mut number).map(|(step, number)| step.text(number)).collect()
        };
        let body = phases.iter().map(text).collect::<Vec<_>>().join("bar.sync 0;\n");
        let races = may_race(&phases, blocks, threads);
        found[usize::from(races)] += 1;
        for error in outcomes(&body, blocks, threads) {
            let kind = error.as_ref().map(|error| error.kind.name());
            assert_eq!(kind, races.then_some("race"), "{error:?}\n{blocks} blocks of {threads}: {body}");
        }
    }
    assert!(found.iter().all(|count| *count > 80), "{found:?}");
}
