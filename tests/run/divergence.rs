//! Machine code in which lanes diverge: forward and backward branches by what threads have computed, one within another.

use ptx_isa::run::{Grid, Memory, Module, Options};

use super::groups::{GRIDS, compare, compare_errors, compare_on};

/// Two grids with whole warps, one with threads to spare, and one in three dimensions.
const FEW: [([u32; 3], [u32; 3]); 4] = [GRIDS[1], GRIDS[2], GRIDS[3], GRIDS[8]];

/// The element of a thread in `%r22`, numbers from it, and values that differ from lane to lane, or are the same in some blocks.
const BEFORE: &str = ".reg .b16 %h<4>; .reg .b32 %n, %m, %a, %b, %c; .reg .b64 %w, %wide; \
    ld.global.u32 %r22, [%rd3]; shr.u32 %n, %r22, 7; and.b32 %n, %n, 15; shr.u32 %m, %r22, 13; and.b32 %m, %m, 7; \
    mov.b32 %a, %r22; mul.lo.u32 %b, %r22, 77; cvt.u16.u32 %h1, %r22; mul.wide.u32 %w, %b, %a;";

/// Stores what the bodies have changed.
const BEHIND: &str = "cvt.u32.u16 %r28, %h1; xor.b32 %a, %a, %b; add.u32 %a, %a, %r28; shr.u64 %wide, %w, 11; cvt.u32.u64 %r29, %wide; \
    xor.b32 %a, %a, %r29; add.u32 %a, %a, %n; st.global.u32 [%rd4], %a;";

/// Bodies that change `%a`, `%b`, `%h1` and `%w`. Labels end in `_`, which the second copy of a body replaces.
const BODIES: &[&str] = &[
    // One of two ways, with a loop in each.
    "setp.lt.u32 %p1, %m, 3; @%p1 bra ELSE_; \
     ONE_: and.b32 %c, %a, 1; setp.ne.u32 %p3, %c, 0; @%p3 bra NEXT_; add.u32 %a, %a, %b; NEXT_: mad.lo.u32 %b, %b, 5, %n; add.u16 %h1, %h1, 3; sub.u32 %n, %n, 1; setp.gt.s32 %p2, %n, 0; @%p2 bra ONE_; bra BOTH_; \
     ELSE_: setp.eq.u32 %p3, %n, 4; @%p3 bra BOTH_; TWO_: xor.b32 %a, %a, %b; add.u64 %w, %w, 77; sub.u32 %n, %n, 2; setp.gt.s32 %p2, %n, 0; \
     @%p2 bra TWO_; BOTH_:",
    // Loops that lanes leave in the middle, or go on with, and with another loop inside.
    "setp.eq.u32 %p1, %n, 0; @%p1 bra BOTH_; AGAIN_: sub.u32 %n, %n, 1; and.b32 %c, %a, 3; setp.eq.u32 %p2, %c, 0; @%p2 bra BOTH_; \
     setp.eq.u32 %p3, %c, 1; @%p3 bra NEXT_; mad.lo.u32 %a, %a, 5, %m; add.u16 %h1, %h1, 9; NEXT_: add.u32 %a, %a, %n; mul.lo.u64 %w, %w, 3; \
     setp.ne.u32 %p4, %n, 0; @%p4 bra AGAIN_; BOTH_:",
    "setp.lt.u32 %p1, %n, 2; @%p1 bra BOTH_; OUTER_: mov.u32 %c, %m; INNER_: add.u32 %a, %a, %c; xor.b32 %b, %b, %a; sub.u32 %c, %c, 1; \
     setp.gt.s32 %p2, %c, 0; @%p2 bra INNER_; add.u32 %b, %b, 1; sub.u32 %n, %n, 1; setp.ne.u32 %p3, %n, 0; @!%p3 bra BOTH_; \
     and.b32 %c, %b, 16; setp.ne.u32 %p4, %c, 0; @%p4 bra OUTER_; add.u64 %w, %w, %w; bra OUTER_; BOTH_:",
    // A predicate that is read behind, one that some lanes have from before, and a jump over nothing.
    "setp.gt.s32 %p5, %a, 0; setp.lt.u32 %p1, %n, 9; @%p1 bra BOTH_; setp.lt.s32 %p5, %b, 0; @%p5 bra NEXT_; NEXT_: \
     setp.ne.u32 %p2, %m, 2; @%p2 bra BOTH_; setp.gt.u32 %p5, %m, 5; BOTH_: selp.b32 %a, %a, %b, %p5;",
    // Operations that are done once for all threads elsewhere, before and between divergent code.
    "add.u32 %r23, %r12, 5; setp.lt.u32 %p1, %n, 9; @%p1 bra ELSE_; mul.lo.u32 %r24, %r4, 3; add.u32 %a, %a, %r24; setp.ne.u32 %p2, %m, 2; \
     @%p2 bra BOTH_; add.u32 %r25, %r24, %r23; xor.b32 %a, %a, %r25; bra BOTH_; ELSE_: mul.lo.u32 %r26, %r11, 7; add.u32 %a, %a, %r26; BOTH_: \
     add.u32 %b, %b, %r23;",
    "mov.u32 %r23, 1; setp.lt.u32 %p1, %n, 5; @%p1 bra BOTH_; AGAIN_: add.u32 %a, %a, %r23; add.u32 %r23, %r23, %r4; sub.u32 %n, %n, 1; \
     and.b32 %c, %a, 1; setp.ne.u32 %p3, %c, 0; @%p3 bra OVER_; add.u32 %b, %b, %r23; OVER_: setp.ne.u32 %p2, %n, 0; @%p2 bra AGAIN_; BOTH_: \
     xor.b32 %a, %a, %r23;",
    // Floats whose NaNs are the machine's, or keep their bits.
    "or.b32 %a, %a, 0x7f800000; setp.lt.u32 %p1, %n, 5; @%p1 bra BOTH_; add.f32 %a, %a, %b; setp.ne.u32 %p2, %m, 2; @%p2 bra BOTH_; \
     mul.f32 %b, %a, %b; mov.b32 %c, %a; add.f32 %a, %b, %a; xor.b32 %b, %b, %c; BOTH_: or.b32 %a, %a, 1;",
    // Memory: elements anywhere, near each other, the same, those that follow each other, and of lanes that were before.
    "setp.lt.u32 %p1, %n, 5; @%p1 bra ELSE_; and.b32 %c, %a, 0xffff; mul.wide.u32 %wide, %c, 4; add.s64 %wide, %rd1, %wide; \
     ld.global.u32 %c, [%wide+16]; add.u32 %a, %a, %c; setp.ne.u32 %p2, %m, 2; @%p2 bra BOTH_; ld.global.u32 %c, [%rd1+64]; \
     ld.volatile.global.u32 %a, [%wide]; add.u32 %a, %a, %c; bra BOTH_; ELSE_: and.b32 %c, %a, 31; mul.wide.u32 %wide, %c, 4; \
     add.s64 %wide, %rd1, %wide; ld.global.u32 %c, [%wide+256]; xor.b32 %a, %a, %c; ld.global.u32 %c, [%rd3+128]; add.u32 %a, %a, %c; \
     setp.gt.u32 %p3, %m, 1; @%p3 bra BOTH_; st.global.u32 [%rd4], %a; ld.volatile.global.u32 %c, [%rd4]; add.u32 %b, %b, %c; BOTH_:",
    "mad.lo.u32 %r23, %r15, %r10, %r12; mad.lo.u32 %r23, %r18, 32, %r23; shl.b32 %r23, %r23, 2; st.shared.u32 [%r23], %a; \
     setp.lt.u32 %p1, %n, 5; @%p1 bra BOTH_; AGAIN_: ld.shared.u32 %c, [%r23]; add.u32 %a, %a, %c; st.shared.u32 [%r23], %b; \
     and.b32 %c, %a, 1; setp.ne.u32 %p3, %c, 0; @%p3 bra OVER_; st.shared.u64 [own+4088], %w; OVER_: sub.u32 %n, %n, 1; setp.ne.u32 %p2, %n, 0; \
     @%p2 bra AGAIN_; BOTH_:",
    // Lanes that all branch, or none of them, in most blocks or in some.
    "setp.lt.u32 %p1, %r4, 9000; @%p1 bra BOTH_; setp.lt.u32 %p2, %n, 9; @%p2 bra NEXT_; add.u32 %a, %a, 5; setp.ne.u32 %p3, %m, 2; \
     @%p3 bra BOTH_; NEXT_: mul.lo.u32 %b, %b, 9; add.u32 %b, %b, %a; BOTH_:",
    "and.b32 %c, %r22, 0; add.u32 %c, %c, %r11; and.b32 %c, %c, 1; setp.eq.u32 %p1, %c, 0; @%p1 bra BOTH_; setp.lt.u32 %p2, %n, 9; @%p2 bra NEXT_; \
     add.u32 %a, %a, 5; setp.ne.u32 %p3, %m, 2; @%p3 bra BOTH_; NEXT_: mul.lo.u32 %b, %b, 9; BOTH_:",
];

#[test]
fn lanes_diverge_and_reconverge() {
    for body in BODIES {
        compare_on(&FEW, &format!("{BEFORE} {body} {BEHIND}"), 1);
        // Twice, and after some lanes have ended.
        let again = body.replace("_;", "2;").replace("_:", "2:");
        let left = "setp.gt.s32 %p7, %b, 0x40000000; @%p7 bra DONE;";
        compare_on(&GRIDS[..4], &format!("{BEFORE} {left} {body} mov.u32 %n, %m; {again} {BEHIND}"), 1);
    }
    [1, 2].into_iter().for_each(|workers| compare(&format!("{BEFORE} {} {BEHIND}", BODIES[1]), workers));
    // A branch back behind the point of reconvergence.
    let round = BODIES[6].replace("BOTH_:", "BOTH_: sub.u32 %n, %n, 1; setp.gt.s32 %p6, %n, 0;");
    compare_on(&FEW, &format!("{BEFORE} ROUND: {round} @%p6 bra ROUND; {BEHIND}"), 1);
}

/// Loops with more rounds than code runs at once: lanes go on where they are, some while others have left.
#[test]
fn loops_are_long() {
    for often in ["%n", "%m"] {
        let long = format!(
            "mul.lo.u32 %c, {often}, 700; setp.lt.u32 %p1, %c, 1000; @%p1 bra BOTH; AGAIN: mad.lo.u32 %a, %a, 5, %c; and.b32 %r24, %a, 64; \
             setp.ne.u32 %p3, %r24, 0; @%p3 bra OVER; add.u32 %b, %b, %a; OVER: setp.lt.u32 %p4, %a, 0x100000; @%p4 bra BOTH; \
             sub.u32 %c, %c, 1; setp.ne.u32 %p2, %c, 0; @%p2 bra AGAIN; add.u32 %b, %b, 1; BOTH:"
        );
        compare_on(&[([70, 1, 1], [96, 1, 1]), ([9, 1, 1], [50, 1, 1])], &format!("{BEFORE} {long} {BEHIND}"), 1);
    }
}

#[test]
fn loops_without_end_reach_the_limit() {
    let text = "
        .version 8.0 .target sm_80 .address_size 64
        .visible .entry k(.param .u64 x) {
            .reg .b64 %rd<4>; .reg .b32 %r<6>; .reg .pred %p<4>;
            ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
            ld.global.u32 %r2, [%rd3]; setp.eq.u32 %p1, %r2, 0; @%p1 bra OUT;
        AGAIN:
            add.u32 %r2, %r2, 2; and.b32 %r3, %r2, 4; setp.eq.u32 %p2, %r3, 0; @%p2 bra OVER;
            add.u32 %r4, %r4, 1;
        OVER:
            setp.ne.u32 %p3, %r2, 0; @%p3 bra AGAIN;
        OUT:
            ret;
        }";
    for compile_after in [Some(0), None] {
        let memory = Memory::new();
        let kernel = Module::load(text, &memory).unwrap().kernel("k").unwrap();
        let x = memory.upload(&[1_u32; 256]);
        let options = Options { compile_after, threads: Some(1), limit: 20_000_000, ..Options::default() };
        let error = kernel.launch_with(Grid::new(64, 256), &[x.into()], &options).unwrap_err();
        assert_eq!(error.kind.name(), "limit", "{error}");
    }
}

#[test]
fn divergent_lanes_access_what_is_not_there() {
    let late = "setp.ne.u32 %p6, %r4, 900; @%p6 bra FINE; add.s64 %rd7, %rd7, 0x40000000; FINE:";
    for access in ["ld.global.u32 %c, [%rd7]; add.u32 %a, %a, %c;", "st.global.u32 [%rd7], %a;"] {
        compare_errors(&format!(
            "{BEFORE} mov.u64 %rd7, %rd4; {late} setp.lt.u32 %p1, %n, 0; @%p1 bra BOTH; AGAIN: and.b32 %c, %a, 1; setp.ne.u32 %p3, %c, 0; \
             @%p3 bra OVER; {access} OVER: add.u32 %a, %a, 1; sub.u32 %n, %n, 1; setp.gt.s32 %p2, %n, -3; @%p2 bra AGAIN; BOTH: {BEHIND}"
        ));
    }
}

/// Each block waits for a message of another one, and passes on what it has.
const MESSAGES: &str = "
.version 8.0 .target sm_80 .address_size 64
.visible .entry k(.param .u64 x, .param .u32 from) {
    .reg .b64 %rd<9>; .reg .b32 %r<12>; .reg .pred %p<6>; .shared .b32 got;
    ld.param.u64 %rd1, [x]; ld.param.u32 %r9, [from]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;
    sub.u32 %r4, %r3, 1; sub.u32 %r4, %r4, %r2; setp.eq.u32 %p1, %r9, 0; selp.u32 %r4, %r2, %r4, %p1;
    setp.ne.u32 %p1, %r1, 37; @%p1 bra ALL;
    mov.u32 %r5, 0; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
    setp.eq.u32 %p2, %r4, 0; @%p2 bra PASS;
BACK:
    ld.volatile.global.u32 %r5, [%rd3+-4];
    setp.ne.u32 %p3, %r5, 0; @%p3 bra GOT;
    bra BACK;
GOT:
    and.b32 %r6, %r5, 1; setp.eq.u32 %p4, %r6, 0; @%p4 bra PASS;
    xor.b32 %r5, %r5, 0x100;
PASS:
    add.u32 %r5, %r5, 3; st.shared.b32 [got], %r5; st.volatile.global.u32 [%rd3], %r5;
ALL:
    bar.sync 0;
    ld.shared.b32 %r7, [got]; add.u32 %r7, %r7, %r1;
    mad.lo.u32 %r8, %r2, 64, %r1; add.u32 %r8, %r8, %r3; mul.wide.u32 %rd4, %r8, 4; add.s64 %rd5, %rd1, %rd4;
    st.global.u32 [%rd5], %r7;
    ret;
}";

/// Blocks that give way to each other: one of them has to go first.
#[test]
fn blocks_that_give_way_have_turns() {
    // Two blocks by flags, each by two warps, which are in loops of their own.
    let by_flags = |loops: &str| {
        format!(
            "{loops}TRY:
            st.volatile.global.u32 [%rd3], 1; membar.gl; ld.volatile.global.u32 %r3, [%rd4];
            setp.eq.u32 %p1, %r3, 0; @%p1 bra {loops}IN;
            st.volatile.global.u32 [%rd3], 0; bra {loops}TRY;
        {loops}IN:
            ld.volatile.global.u32 %r4, [%rd1+48]; add.u32 %r4, %r4, 1; st.volatile.global.u32 [%rd1+48], %r4; membar.gl;
            st.volatile.global.u32 [%rd3], 0;"
        )
    };
    let (first, second) = (by_flags("A"), by_flags("B"));
    let second = second.replace("%rd3]", "%rd3+16]").replace("%rd4]", "%rd4+16]").replace("%rd1+48", "%rd1+52");
    let by_flags = format!("setp.ge.u32 %p2, %r1, 32; @%p2 bra BTRY; {first} bra OUT; {second} OUT:");
    // Three in a ring by counts, of which one has to be last.
    let by_counts = "
    TRY:
        atom.global.add.u32 %r3, [%rd3], 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra BACK;
        atom.global.add.u32 %r4, [%rd4], 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra BOTH;
        ld.volatile.global.u32 %r4, [%rd1+48]; setp.lt.u32 %p1, %r4, 2; setp.eq.u32 %p2, %r2, 1; and.pred %p3, %p1, %p2; @!%p3 bra IN;
    BOTH:
        red.global.add.u32 [%rd4], -1;
    BACK:
        red.global.add.u32 [%rd3], -1; bra TRY;
    IN:
        add.u32 %r4, %r4, 1; st.volatile.global.u32 [%rd1+48], %r4; membar.gl; red.global.add.u32 [%rd3], -1; red.global.add.u32 [%rd4], -1;";
    for (body, blocks, wanted) in [(&by_flags[..], 2, [2, 2]), (by_counts, 3, [3, 0])] {
        let text = format!(
            ".version 8.0 .target sm_80 .address_size 64
            .visible .entry k(.param .u64 x) {{
                .reg .b64 %rd<6>; .reg .b32 %r<6>; .reg .pred %p<4>;
                ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
                mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
                add.u32 %r5, %r2, 1; rem.u32 %r5, %r5, {blocks}; mul.wide.u32 %rd2, %r5, 4; add.s64 %rd4, %rd1, %rd2;
                and.b32 %r5, %r1, 31; setp.ne.u32 %p1, %r5, 0; @%p1 bra DONE;
                {body}
            DONE:
                ret;
            }}"
        );
        // In lockstep, and on two threads of the host.
        for (compile_after, threads) in [(Some(0), 1), (None, 1), (None, 2)] {
            let memory = Memory::new();
            let kernel = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
            let x = memory.upload(&[0_u32; 14]);
            let options = Options { compile_after, threads: Some(threads), limit: 50_000_000, ..Options::default() };
            let ran = kernel.launch_with(Grid::new(blocks, if blocks == 2 { 64 } else { 1 }), &[x.into()], &options);
            ran.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(memory.download::<u32>(x, 14).unwrap()[12..], wanted);
        }
    }
}

#[test]
fn blocks_wait_for_each_other() {
    const BLOCKS: usize = 150;
    let mut wanted = Vec::new();
    for number in 0..BLOCKS {
        let before: u32 = if number == 0 { 0 } else { wanted[number - 1] };
        wanted.push(if before & 1 == 0 { before } else { before ^ 0x100 } + 3);
    }
    // For the block before, or the one behind: those that begin first then are many.
    for (from, after, threads) in
        [(0, Some(0), 1), (0, None, 1), (0, Some(0), 2), (1, Some(0), 1), (1, None, 1), (1, Some(0), 2)]
    {
        let memory = Memory::new();
        let kernel = Module::load(MESSAGES, &memory).unwrap().kernel("k").unwrap();
        let x = memory.upload(&vec![0_u32; BLOCKS + 64 * BLOCKS]);
        let options =
            Options { compile_after: after, threads: Some(threads), limit: 200_000_000, ..Options::default() };
        let ran = kernel.launch_with(Grid::new(BLOCKS as u32, 64), &[x.into(), from.into()], &options);
        ran.unwrap_or_else(|error| panic!("{error}"));
        let found = memory.download::<u32>(x, BLOCKS + 64 * BLOCKS).unwrap();
        assert_eq!(found[..BLOCKS], wanted, "{from} {after:?}");
        for (block, own) in found[BLOCKS..].chunks(64).enumerate() {
            let number = if from == 0 { block } else { BLOCKS - 1 - block };
            assert!(own.iter().enumerate().all(|(thread, word)| *word == wanted[number] + thread as u32), "{block}");
        }
    }
}
