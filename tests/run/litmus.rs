//! Litmus tests of memory ordering: two blocks on two threads of the host, many rounds, and outcomes that must not be seen.

use ptx_isa::run::{Grid, Memory, Module, Options};

/// Runs two blocks of one thread, each round in a cell of its own, and returns what both have read, by round.
fn rounds(first: &str, second: &str) -> Vec<(u32, u32)> {
    const ROUNDS: u32 = 500;
    // Cells of a round lie on lines of their own; blocks meet before each round.
    let text = format!(
        ".version 8.0 .target sm_80 .address_size 64
        .visible .entry k(.param .u64 cells, .param .u64 seen, .param .u64 meet) {{
            .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %x, %y, %seen, %meet, %wide;
            ld.param.u64 %x, [cells]; ld.param.u64 %seen, [seen]; ld.param.u64 %meet, [meet];
            mov.u32 %r1, %ctaid.x; mul.wide.u32 %wide, %r1, 4; add.u64 %seen, %seen, %wide;
            mov.u32 %r2, 0; setp.eq.u32 %p1, %r1, 0;
        ROUND:
            add.u64 %y, %x, 64; mov.u32 %r8, 0; mov.u32 %r9, 0;
            atom.global.add.u32 %r3, [%meet], 1; add.u32 %r4, %r2, 1; shl.b32 %r4, %r4, 1;
        WAIT:
            ld.relaxed.gpu.global.u32 %r3, [%meet]; setp.lt.u32 %p2, %r3, %r4; @%p2 bra WAIT;
            @!%p1 bra SECOND;
            {first}
            bra DONE;
        SECOND:
            {second}
        DONE:
            st.global.u32 [%seen], %r9; add.u64 %seen, %seen, 8; add.u64 %x, %x, 128;
            add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, {ROUNDS}; @%p3 bra ROUND;
            ret;
        }}"
    );
    let memory = Memory::new();
    let module = Module::load(&text, &memory).unwrap_or_else(|error| panic!("{error}"));
    let cells = memory.upload(&vec![0_u32; 32 * ROUNDS as usize]);
    let (seen, meet) = (memory.upload(&vec![0_u32; 2 * ROUNDS as usize]), memory.upload(&[0_u32]));
    let options = Options { threads: Some(2), ..Options::default() };
    let arguments = [cells.into(), seen.into(), meet.into()];
    module.kernel("k").unwrap().launch_with(Grid::new(2, 1), &arguments, &options).unwrap();
    let seen = memory.download::<u32>(seen, 2 * ROUNDS as usize).unwrap();
    seen.chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

#[test]
fn a_message_is_there_once_its_flag_is() {
    // The reader notes 2 · flag + data: a flag without its data is 2.
    let readers = [
        (
            "st.relaxed.gpu.global.u32 [%x], 1; st.release.gpu.global.u32 [%y], 1;",
            "ld.acquire.gpu.global.u32 %r8, [%y]; ld.relaxed.gpu.global.u32 %r9, [%x]; mad.lo.u32 %r9, %r8, 2, %r9;",
        ),
        (
            "st.global.u32 [%x], 1; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%y], 1;",
            "ld.relaxed.gpu.global.u32 %r8, [%y]; fence.acq_rel.gpu; ld.global.u32 %r9, [%x]; mad.lo.u32 %r9, %r8, 2, %r9;",
        ),
        (
            "st.volatile.global.u32 [%x], 1; membar.gl; st.volatile.global.u32 [%y], 1;",
            "ld.volatile.global.u32 %r8, [%y]; membar.gl; ld.volatile.global.u32 %r9, [%x]; mad.lo.u32 %r9, %r8, 2, %r9;",
        ),
        (
            "st.global.u32 [%x], 1; atom.release.gpu.global.exch.b32 %r8, [%y], 1;",
            "atom.acquire.gpu.global.or.b32 %r8, [%y], 0; ld.global.u32 %r9, [%x]; mad.lo.u32 %r9, %r8, 2, %r9;",
        ),
    ];
    for (writer, reader) in readers {
        let seen = rounds(writer, reader);
        assert!(seen.iter().all(|(_, read)| *read != 2), "{writer} | {reader}");
    }
}

#[test]
fn of_two_stores_behind_fences_one_is_seen() {
    let side = |own: &str, other: &str, fence: &str| {
        format!("st.relaxed.gpu.global.u32 [{own}], 1; {fence} ld.relaxed.gpu.global.u32 %r9, [{other}];")
    };
    for fence in ["fence.sc.gpu;", "membar.gl;", "membar.sys;"] {
        let seen = rounds(&side("%x", "%y", fence), &side("%y", "%x", fence));
        assert!(seen.iter().all(|pair| *pair != (0, 0)), "{fence}");
    }
    // Atomic updates are ordered as well.
    let update = |own: &str, other: &str| {
        format!(
            "atom.acq_rel.gpu.global.exch.b32 %r8, [{own}], 1; fence.sc.gpu; atom.acq_rel.gpu.global.add.u32 %r9, [{other}], 0;"
        )
    };
    let seen = rounds(&update("%x", "%y"), &update("%y", "%x"));
    assert!(seen.iter().all(|pair| *pair != (0, 0)));
}

#[test]
fn loads_of_one_place_do_not_go_back() {
    // The reader notes whether a second load saw less than the first.
    let reader =
        "ld.relaxed.gpu.global.u32 %r8, [%x]; ld.relaxed.gpu.global.u32 %r9, [%x]; set.lt.u32.u32 %r9, %r9, %r8;";
    let seen = rounds("st.relaxed.gpu.global.u32 [%x], 1;", reader);
    assert!(seen.iter().all(|(_, back)| *back == 0));
}

#[test]
fn one_of_two_exchanges_is_first() {
    let exchange = "atom.relaxed.gpu.global.exch.b32 %r9, [%x], 1;";
    let seen = rounds(exchange, exchange);
    assert!(seen.iter().all(|(one, other)| one + other == 1));
}
