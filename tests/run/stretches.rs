//! Machine code that goes on behind functions that it calls, lanes that meet, branches that some lanes take, loops that lanes leave one by one,
//! and accesses by addresses that they compute.

use ptx_isa::run::{Grid, Memory, Module, Options};

use super::groups::{GRIDS, compare, compare_errors, compare_on};

/// Grids with blocks of whole warps, with threads to spare, and in three dimensions.
const FEW: [([u32; 3], [u32; 3]); 3] = [GRIDS[1], GRIDS[3], GRIDS[8]];

/// Computations of lanes from `%r22`, the element at `%rd3`, to `%r27`.
const COMPUTED: &str = "ld.global.u32 %r22, [%rd3]; add.u32 %r23, %r22, 77; mul.lo.u32 %r24, %r23, %r22; xor.b32 %r25, %r24, %r23; \
    shl.b32 %r26, %r25, 3; sub.u32 %r27, %r26, %r24;";

/// Stores a register, with others that were computed before.
fn stored(register: &str) -> String {
    format!("xor.b32 %r30, {register}, %r26; add.u32 %r31, %r30, %r25; st.global.u32 [%rd4], %r31;")
}

#[test]
fn functions_are_called_where_nothing_is_compiled() {
    let called = [
        "popc.b32 %r28, %r27;",
        "prmt.b32 %r28, %r27, %r25, %r22;",
        "div.u32 %r28, %r27, %r23;",
        "bfind.u32 %r28, %r27; popc.b32 %r28, %r28;",
        "lg2.approx.ftz.f32 %r28, %r27;",
        "setp.lt.u32 %p1, %r27, %r23; selp.u32 %r29, %r22, %r27, %p1; add.u32 %r29, %r29, 1; brev.b32 %r28, %r29; \
         @%p1 add.u32 %r28, %r28, 3;",
        // Of a register that is affine until lanes have it, and to one.
        "popc.b32 %r28, %r4; add.u32 %r28, %r28, %r27;",
        "clz.b32 %r28, %r27; add.u32 %r28, %r28, %r4; clz.b32 %r28, %r28;",
    ];
    for called in called {
        let before =
            "add.u32 %r27, %r27, %r4; xor.b32 %r27, %r27, %r22; add.u32 %r27, %r27, %r24; xor.b32 %r27, %r27, %r25;";
        compare(&format!("{COMPUTED} {before} {called} {before} {}", stored("%r28")), 1);
    }
}

#[test]
fn lanes_meet() {
    // Values from lanes that no thread has are not specified.
    let whole: Vec<_> = GRIDS.into_iter().filter(|(_, [x, y, z])| (x * y * z).is_multiple_of(32)).collect();
    let modes = ["up.b32 %r28|%p1, %r27, 3, 0", "down.b32 %r28|%p1, %r27, 5, 31", "bfly.b32 %r28|%p1, %r27, 16, 31"];
    let of_lanes = [
        "idx.b32 %r28|%p1, %r27, %r22, 31",
        "idx.b32 %r28|%p1, %r27, 1, 0x181c",
        "down.b32 %r28|%p1, %r27, %r22, %r23",
    ];
    for mode in modes.into_iter().chain(of_lanes) {
        // A mask in a register, and one that is written.
        for mask in ["%r29", "-1"] {
            let shuffle = format!("mov.u32 %r29, -1; shfl.sync.{mode}, {mask}; selp.u32 %r27, %r28, %r26, %p1;");
            compare_on(&whole, &format!("{COMPUTED} {shuffle} {}", stored("%r27")), 1);
        }
    }
    for vote in [
        "vote.sync.ballot.b32 %r28, %p1, -1;",
        "vote.sync.ballot.b32 %r28, !%p1, 0xffff0fff;",
        "vote.sync.all.pred %p2, %p1, -1; selp.u32 %r28, 5, 6, %p2;",
        "vote.sync.any.pred %p2, %p1, -1; selp.u32 %r28, 5, 6, %p2;",
        "vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r28, 5, 6, %p2;",
        "activemask.b32 %r28;",
        "bar.warp.sync -1; add.u32 %r28, %r27, 3;",
        "redux.sync.add.u32 %r28, %r27, -1;",
        "match.any.sync.b32 %r28, %r27, -1;",
        "mov.u32 %r29, -1; vote.sync.ballot.b32 %r28, %p1, %r29; match.any.sync.b32 %r30, %r27, %r29; add.u32 %r28, %r28, %r30;",
        // Lanes that name others than those that they meet.
        "setp.lt.u32 %p2, %r12, 16; selp.u32 %r29, 0xffff, 0xffff0000, %p2; vote.sync.ballot.b32 %r28, %p1, %r29;",
        "and.b32 %r29, %r12, 1; mul.lo.u32 %r28, %r29, 0x55555555; add.u32 %r29, %r28, 0x55555555; redux.sync.xor.b32 %r28, %r27, %r29;",
    ] {
        for predicate in ["setp.gt.s32 %p1, %r27, 0;", "setp.ne.u32 %p1, %r22, 7;", "setp.eq.u32 %p1, %r12, 40;"] {
            compare(&format!("{COMPUTED} {predicate} {vote} {}", stored("%r28")), 1);
        }
    }
}

/// Source lanes that are the same in all threads, but not whenever the code runs.
#[test]
fn source_lanes_change() {
    let text = "
        .version 8.0 .target sm_80 .address_size 64
        .visible .entry each(.param .u64 x) {
            .reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<3>;
            ld.param.u64 %rd1, [x]; ld.global.u32 %r1, [%rd1+256]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
            add.u32 %r3, %r1, 3; and.b32 %r4, %r3, 31; ld.global.u32 %r5, [%rd3]; bar.sync 0;
            shfl.sync.idx.b32 %r6, %r5, %r4, 31, -1; mov.u32 %r7, 0; mov.u32 %r8, 5; bar.sync 0;
        AGAIN:
            shfl.sync.idx.b32 %r9, %r5, %r7, 31, -1; mad.lo.u32 %r6, %r6, 7, %r9; add.u32 %r7, %r7, 1;
            shfl.sync.bfly.b32 %r9, %r6, %r8, 31, -1; add.u32 %r6, %r6, %r9; setp.lt.u32 %p1, %r7, 20; @%p1 bra AGAIN;
            st.global.u32 [%rd3], %r6;
            ret;
        }";
    let memory = Memory::new();
    let kernel = Module::load(text, &memory).unwrap().kernel("each").unwrap();
    let elements: Vec<u32> = (0..64_u32).map(|index| index.wrapping_mul(0x9e37_79b9)).collect();
    for from in [0_u32, 9, 30, 9] {
        let x = memory.upload(&[&elements[..], &[from]].concat());
        let options = Options { compile_after: Some(0), threads: Some(1), ..Options::default() };
        kernel.launch_with(Grid::new(1, 64), &[x.into()], &options).unwrap();
        let wanted = elements.chunks(32).flat_map(|warp| {
            let mut sums = [warp[(from as usize + 3) % 32]; 32];
            for element in &warp[..20] {
                sums = sums.map(|sum| sum.wrapping_mul(7).wrapping_add(*element));
                sums = std::array::from_fn(|lane| sums[lane].wrapping_add(sums[lane ^ 5]));
            }
            sums
        });
        assert_eq!(memory.download::<u32>(x, 64).unwrap(), wanted.collect::<Vec<u32>>(), "{from}");
    }
}

#[test]
fn some_lanes_branch_over_computations() {
    let skipped = "add.u32 %r28, %r27, 5; xor.b32 %r28, %r28, %r4;";
    for branch in ["@%p1 bra OVER;", "@!%p1 bra OVER;"] {
        for predicate in [
            "setp.gt.s32 %p1, %r27, 0;",
            "setp.ne.u32 %p1, %r22, 7;",
            "setp.eq.u32 %p1, %r22, 7;",
            // The same in all lanes of some blocks, or of most.
            "setp.lt.u32 %p1, %r4, 10000;",
            "and.b32 %r29, %r4, 4; setp.eq.u32 %p1, %r29, 0;",
        ] {
            let body =
                format!("{COMPUTED} {predicate} mov.u32 %r28, %r23; {branch} {skipped} OVER: {}", stored("%r28"));
            compare(&body, 1);
        }
        let nested = format!(
            "setp.gt.s32 %p1, %r27, 0; setp.gt.s32 %p2, %r22, 0; mov.u32 %r28, %r23; {branch} {skipped} @%p2 bra OVER; \
             add.u32 %r28, %r28, 9; OVER: @%p2 bra NEXT; mul.lo.u32 %r28, %r28, 3; NEXT:"
        );
        compare(&format!("{COMPUTED} {nested} {}", stored("%r28")), 2);
        // Accesses of those that do not branch: of elements that others do not have, of those of any lane, and to where others access nothing.
        let behind = format!(
            "setp.gt.s32 %p1, %r27, 0; mov.u32 %r28, %r23; {branch} ld.global.u32 %r28, [%rd3+-4]; add.u32 %r28, %r28, %r4; OVER:"
        );
        compare(&format!("{COMPUTED} setp.eq.u32 %p2, %r4, 0; @%p2 bra DONE; {behind} {}", stored("%r28")), 1);
        for access in [
            "ld.global.u32 %r28, [%rd3+8];",
            "ld.global.u64 %rd6, [%rd7]; cvt.u32.u64 %r28, %rd6;",
            "and.b32 %r28, %r27, 0x3fff; mul.wide.u32 %rd6, %r28, 4; add.s64 %rd7, %rd1, %rd6; ld.global.u32 %r28, [%rd7];",
            "st.global.u32 [%rd4], %r27; ld.global.u32 %r28, [%rd4];",
            "mov.u32 %r20, 77; add.u32 %r21, %r20, %r4; st.global.u32 [%rd4], %r21;",
        ] {
            let body = format!(
                "{COMPUTED} mul.wide.u32 %rd8, %r4, 8; add.s64 %rd7, %rd1, %rd8; setp.gt.s32 %p3, %r27, 0; setp.gt.u32 %p2, %r4, 100000; \
                 mov.u32 %r28, %r23; or.pred %p1, %p2, %p3;"
            );
            compare(&format!("{body} @%p1 bra OVER; {access} OVER: {}", stored("%r28")), 1);
            compare(&format!("{body} not.pred %p1, %p1; @!%p1 bra OVER; {access} OVER: {}", stored("%r28")), 1);
        }
        // A predicate that is written, and floats whose NaNs are the machine's.
        let others = format!(
            "setp.gt.s32 %p1, %r27, 0; setp.gt.s32 %p2, %r22, 0; {branch} setp.lt.u32 %p2, %r25, %r24; OVER: selp.u32 %r28, 1, 2, %p2;"
        );
        compare(&format!("{COMPUTED} {others} {}", stored("%r28")), 1);
        let active = format!("setp.gt.s32 %p1, %r27, 0; mov.u32 %r28, %r23; {branch} activemask.b32 %r28; OVER:");
        compare(&format!("{COMPUTED} {active} {}", stored("%r28")), 1);
        let floats = format!(
            "setp.gt.s32 %p1, %r27, 0; or.b32 %r29, %r27, 0x7f800000; add.f32 %r28, %r29, %r22; {branch} mul.f32 %r28, %r29, %r28; \
             OVER: fma.rn.f32 %r28, %r28, %r22, %r27;"
        );
        compare(&format!("{COMPUTED} {floats} {}", stored("%r28")), 1);
    }
}

/// Rounds of a loop, which change `%r29` and `%r21`.
const ROUNDS: &[&str] = &[
    // One value from the other, and both exchanged.
    "mad.lo.u32 %r29, %r29, 3, %r21; xor.b32 %r21, %r21, %r29;",
    "mov.u32 %r20, %r29; mov.u32 %r29, %r21; add.u32 %r21, %r20, 1;",
    "mov.u32 %r20, %r29; mov.u32 %r29, %r21; mov.u32 %r21, %r20;",
    // Operations that some lanes branch over, affine values, constants, and results of the last round.
    "setp.gt.s32 %p2, %r29, 0; @%p2 bra OVER; add.u32 %r29, %r29, %r4; OVER: mad.lo.u32 %r29, %r29, 5, %r4; mov.u32 %r21, 7;",
    "add.u32 %r29, %r29, %r12; mul.lo.u32 %r21, %r29, %r29; shl.b32 %r26, %r21, 3;",
    "mov.u32 %r29, 11; add.u32 %r21, %r29, %r21; add.u32 %r25, %r21, %r25;",
    // Stores of those that are left.
    "add.u32 %r29, %r29, %r21; st.global.u32 [%rd4], %r28;",
    // Floats whose NaNs are the machine's, or keep their bits.
    "add.f32 %r29, %r29, %r21; mul.f32 %r21, %r29, %r21;",
    "or.b32 %r29, %r29, 0x7f800000; mov.b32 %r21, %r29; add.f32 %r29, %r29, %r22;",
    "mov.b32 %r20, %r21; fma.rn.f32 %r21, %r29, %r22, %r21; mov.b32 %r29, %r20;",
    "setp.lt.f32 %p2, %r29, %r21; selp.f32 %r29, %r21, %r29, %p2; abs.f32 %r21, %r29; neg.f32 %r29, %r29;",
    "min.f32 %r29, %r29, %r21; add.f32 %r21, %r21, %r29; ex2.approx.ftz.f32 %r29, %r29;",
    "popc.b32 %r21, %r29; add.u32 %r29, %r29, %r21;",
    // Lanes of other widths.
    "cvt.u64.u32 %rd8, %r29; mad.lo.u64 %rd9, %rd8, 77, %rd9; cvt.u32.u64 %r29, %rd9; xor.b32 %r29, %r29, %r21;",
    "cvt.u16.u32 %h1, %r29; mad.lo.u16 %h2, %h1, 5, %h2; cvt.u32.u16 %r29, %h2;",
    "setp.lt.u32 %p3, %r21, %r29; selp.u32 %r21, 1, 2, %p3; @%p3 add.u32 %r29, %r29, 9;",
];

/// The same, where NaNs with other bits than the machine's may come from before the loop.
const OF_NANS: &[&str] = &[
    "shl.b32 %r21, %r29, 1; add.f32 %r29, %r29, %r22;",
    "mov.b32 %r21, %r29; add.f32 %r29, %r29, %r22;",
    "mov.b32 %r20, %r29; mov.b32 %r29, %r21; mov.b32 %r21, %r20;",
    "setp.lt.s32 %p2, %r22, 0; selp.b32 %r21, %r29, %r21, %p2; mul.f32 %r29, %r29, %r22;",
    "st.global.u32 [%rd4], %r29; add.f32 %r29, %r29, %r21; add.f32 %r21, %r29, %r29;",
];

/// NaNs with other bits than the machine's.
const NANS: &str = "or.b32 %r29, %r22, 0x7f800000; or.b32 %r21, %r23, 0xff800000;";

/// Registers of other widths, which rounds change, too.
const WIDTHS: &str = ".reg .b16 %h<3>; mov.u16 %h2, 3; mov.u64 %rd9, 5;";

#[test]
fn lanes_go_round() {
    let rounds = "and.b32 %r28, %r27, 63; add.u32 %r28, %r28, 1; mov.u32 %r29, %r22; mov.u32 %r21, %r23;";
    let last = stored("%r29");
    for body in ROUNDS {
        for branch in ["setp.ne.u32 %p1, %r28, 0; @%p1 bra AGAIN;", "setp.eq.u32 %p1, %r28, 0; @!%p1 bra AGAIN;"] {
            let round = format!("AGAIN: {body} add.s32 %r28, %r28, -1; {branch}");
            compare_on(
                &FEW,
                &format!(
                    "{COMPUTED} {WIDTHS} {rounds} {round} selp.u32 %r21, %r21, 5, %p1; add.u32 %r29, %r29, %r21; {last}"
                ),
                1,
            );
        }
    }
    // NaNs with other bits than the machine's, which the first round of the code finds: it begins behind the barrier.
    let nans = format!("and.b32 %r28, %r27, 1; add.u32 %r28, %r28, 1; {NANS}");
    for body in OF_NANS {
        let round = format!("AGAIN: {body} add.s32 %r28, %r28, -1; setp.ne.u32 %p1, %r28, 0; @%p1 bra AGAIN;");
        compare_on(&FEW, &format!("{COMPUTED} {nans} bar.sync 0; {round} xor.b32 %r29, %r29, %r21; {last}"), 1);
    }
    // A predicate that no round changes.
    let once = "setp.gt.u32 %p1, %r6, 3; AGAIN: add.u32 %r29, %r29, %r28; @!%p1 bra AGAIN;";
    compare_on(&FEW, &format!("{COMPUTED} {rounds} {once} {last}"), 1);
    // A count that is the same in all lanes until they leave, lanes that have left before, and rounds that take turns with other lanes.
    for round in [
        "mov.u32 %r28, 0; AGAIN: mad.lo.u32 %r29, %r29, 3, %r21; add.u32 %r28, %r28, 1; setp.lt.u32 %p1, %r28, 40; setp.lt.s32 %p2, %r29, 0x30000000; \
         and.pred %p3, %p1, %p2; @%p3 bra AGAIN; add.u32 %r29, %r29, %r28;",
        "and.b32 %r20, %r27, 4; setp.eq.u32 %p4, %r20, 0; @%p4 bra LEFT; AGAIN: add.u32 %r29, %r29, %r28; add.s32 %r28, %r28, -1; \
         setp.ne.u32 %p1, %r28, 0; @%p1 bra AGAIN; LEFT: add.u32 %r29, %r29, 1;",
        "shl.b32 %r28, %r28, 7; AGAIN: add.u32 %r29, %r29, %r28; setp.lt.s32 %p2, %r29, 0; @%p2 bra OVER; add.u32 %r29, %r29, %r4; OVER: \
         add.s32 %r28, %r28, -1; setp.ne.u32 %p1, %r28, 0; @%p1 bra AGAIN;",
    ] {
        compare_on(&GRIDS[3..7], &format!("{COMPUTED} {rounds} {round} {last}"), 1);
    }
}

#[test]
fn all_lanes_go_round() {
    // Behind the barrier the code begins with a round. Some are left over behind as many as warps do at once.
    let rounds = |body: &str, count: u32| {
        format!(
            "mov.u32 %r28, {count}; mov.u64 %rd10, %rd1; bar.sync 0; AGAIN: {body} add.s32 %r28, %r28, -1; setp.ne.u32 %p1, %r28, 0; \
             @%p1 bra AGAIN;"
        )
    };
    // Values that a round leaves to the next one, and those that it leaves behind the loop, too.
    let ends = [String::new(), "mad.lo.u32 %r29, %r21, 3, %r29; xor.b32 %r29, %r29, %r20;".to_owned()];
    let ends = ends.map(|end| end + &stored("%r29"));
    let accesses = [
        "ld.global.u32 %r20, [%rd10]; add.s64 %rd10, %rd10, 4; mad.lo.u32 %r29, %r20, 7, %r29;",
        "ld.global.u32 %r20, [%rd3]; add.s64 %rd3, %rd3, 8; xor.b32 %r29, %r29, %r20; add.u32 %r21, %r21, %r29; st.global.u32 [%rd4], %r21;",
        "add.u32 %r29, %r29, %r28; mad.lo.u32 %r29, %r29, 3, %r4; st.global.u32 [%rd10+64], %r29; add.s64 %rd10, %rd10, 4;",
        "mad.lo.u32 %r29, %r29, 3, %r28; mad.lo.u32 %r21, %r21, %r28, %r29;",
        "mov.b32 %r20, %r29; mad.lo.u32 %r29, %r29, 3, %r4;",
        "mov.b32 %r20, %r29; mul.f32 %r29, %r29, %r22; add.f32 %r21, %r29, %r20;",
        // More tables of offsets than there are registers for.
        "add.u32 %r29, %r29, %r4; xor.b32 %r29, %r29, %r0; add.u32 %r21, %r21, %r7; xor.b32 %r21, %r21, %r8; add.u32 %r29, %r29, %r9; \
         ld.global.u32 %r20, [%rd3]; add.u32 %r29, %r29, %r20;",
        // A round loads an element that the one before has stored.
        "ld.global.u32 %r20, [%rd4]; mad.lo.u32 %r20, %r20, 5, %r29; st.global.u32 [%rd4], %r20; add.u32 %r29, %r29, %r21;",
    ];
    for body in ROUNDS.iter().chain(&accesses) {
        for count in [1, 2, 11, 35] {
            let before = "mov.u32 %r29, %r22; mov.u32 %r21, %r23; mul.lo.u32 %r0, %r4, 3; mul.lo.u32 %r7, %r4, 5; mul.lo.u32 %r8, %r4, 7; \
                          mul.lo.u32 %r9, %r4, 9;";
            for end in &ends {
                compare_on(&FEW, &format!("{COMPUTED} {WIDTHS} {before} {} {end}", rounds(body, count)), 1);
            }
        }
    }
    for body in OF_NANS {
        for count in [2, 9, 10] {
            for register in ["%r21", "%r29"] {
                let end = format!("st.global.u32 [%rd4], {register};");
                compare_on(&FEW, &format!("{COMPUTED} {NANS} {} {end}", rounds(body, count)), 1);
            }
        }
    }
    // Lanes that ended before, and threads of the host that share the blocks.
    let ended =
        format!("setp.gt.s32 %p2, %r27, 0x20000000; @%p2 bra DONE; {NANS} {} {}", rounds(accesses[1], 20), ends[1]);
    [1, 2].into_iter().for_each(|workers| compare_on(&GRIDS[..6], &format!("{COMPUTED} {ended}"), workers));
}

/// The index of a thread in the grid, in the order of blocks, in `%r28`, and the index of the first one of its warp in `%r29`.
const IN_ORDER: &str = "mad.lo.u32 %r21, %r17, %r20, %r14; mad.lo.u32 %r21, %r21, %r19, %r11; mad.lo.u32 %r20, %r18, %r13, %r15; \
    mad.lo.u32 %r20, %r20, %r10, %r12; mul.lo.u32 %r28, %r10, %r13; mul.lo.u32 %r28, %r28, %r16; mad.lo.u32 %r28, %r21, %r28, %r20; \
    mov.u32 %r21, %laneid; sub.u32 %r29, %r28, %r21;";

#[test]
fn lanes_access_what_they_compute() {
    let any = "and.b32 %r28, %r27, 0x3fff0; mul.wide.u32 %rd6, %r28, 4; add.s64 %rd7, %rd1, %rd6;";
    let unchanged = "and.b32 %r28, %r27, 0x7fff; add.u32 %r28, %r28, 0x35000; mul.wide.u32 %rd6, %r28, 4; add.s64 %rd7, %rd1, %rd6;";
    let bodies = [
        format!("{any} ld.global.u32 %r29, [%rd7]; add.u32 %r29, %r29, %r27;"),
        format!("{any} ld.global.u32 %r29, [%rd7+12]; ld.global.u32 %r28, [%rd7+4]; add.u32 %r29, %r29, %r28;"),
        format!("{any} ld.global.u64 %rd8, [%rd7+8]; cvt.u32.u64 %r29, %rd8; shr.u64 %rd8, %rd8, 32; cvt.u32.u64 %r28, %rd8; add.u32 %r29, %r29, %r28;"),
        format!("{any} ld.global.v2.u32 {{%r29, %r28}}, [%rd7+8]; sub.u32 %r29, %r29, %r28;"),
        format!("{any} ld.global.v4.u32 {{%r29, %r28, %r21, %r20}}, [%rd7+16]; sub.u32 %r29, %r29, %r28; mad.lo.u32 %r29, %r29, %r20, %r21;"),
        format!("{any} ld.global.v2.u64 {{%rd8, %rd9}}, [%rd7+16]; xor.b64 %rd8, %rd8, %rd9; cvt.u32.u64 %r29, %rd8;"),
        format!("{any} ld.global.u16 %r29, [%rd7+2]; ld.global.s8 %r28, [%rd7+1]; add.u32 %r29, %r29, %r28;"),
        // One of two buffers, another one in all late blocks, of elements that nobody stores, and generic addresses.
        format!("{unchanged} setp.lt.s32 %p1, %r27, 0; add.s64 %rd8, %rd2, %rd6; selp.b64 %rd7, %rd8, %rd7, %p1; ld.global.u32 %r29, [%rd7];"),
        format!("{unchanged} setp.gt.u32 %p1, %r4, 5000; add.s64 %rd8, %rd2, %rd6; selp.b64 %rd7, %rd8, %rd7, %p1; ld.u32 %r29, [%rd7];"),
        format!("{any} mov.u32 %r21, own; cvta.shared.u32 %r21, %r21; ld.u32 %r29, [%rd7]; add.u32 %r29, %r29, %r21;"),
        "mov.u64 %rd8, own; cvta.shared.u64 %rd8, %rd8; and.b32 %r28, %r27, 0xffc; cvt.u64.u32 %rd7, %r28; add.s64 %rd8, %rd8, %rd7; ld.u32 %r29, [%rd8]; add.u32 %r29, %r29, 5;".to_owned(),
        // In a loop, where it ends one by one.
        format!("{any} and.b32 %r28, %r27, 15; AGAIN: ld.global.u32 %r29, [%rd7]; xor.b32 %r26, %r26, %r29; add.s64 %rd7, %rd7, 4; add.s32 %r28, %r28, -1; \
                 setp.gt.s32 %p1, %r28, 0; @%p1 bra AGAIN;"),
        "and.b32 %r28, %r27, 15; AGAIN: and.b32 %r21, %r29, 0x3ffff; mul.wide.u32 %rd6, %r21, 4; add.s64 %rd7, %rd1, %rd6; ld.global.u32 %r29, [%rd7]; \
                 add.s32 %r28, %r28, -1; setp.gt.s32 %p1, %r28, 0; @%p1 bra AGAIN;".to_owned(),
        // Further apart than the elements of lanes are.
        "and.b32 %r28, %r4, 4095; mul.wide.u32 %rd6, %r28, 20; add.s64 %rd7, %rd1, %rd6; ld.global.u32 %r29, [%rd7]; add.u32 %r29, %r29, %r27;".to_owned(),
        "mul.wide.u32 %rd6, %r12, 20; add.s64 %rd7, %rd1, %rd6; ld.global.u32 %r29, [%rd7]; add.u32 %r29, %r29, %r27;".to_owned(),
    ];
    for body in bodies {
        compare_on(&FEW, &format!("{COMPUTED} mov.u32 %r29, %r22; {body} {}", stored("%r29")), 1);
    }
    // Stores: each lane its own, or the last one of some.
    let whole = "add.u32 %r28, %r28, 77; shl.b64 %rd6, %rd6, 2; add.s64 %rd7, %rd2, %rd6;";
    for place in ["xor.b32 %r21, %r21, 1", "and.b32 %r21, %r21, 7", "shr.u32 %r21, %r21, 1", "mov.u32 %r21, 0"] {
        let place = format!(
            "{IN_ORDER} {place}; add.u32 %r29, %r29, %r21; xor.b32 %r29, %r29, 0; cvt.u64.u32 %rd6, %r29; {whole}"
        );
        for store in [
            "st.global.u32 [%rd7], %r28;",
            "st.global.u32 [%rd7], 5;",
            "setp.lt.s32 %p1, %r28, 900; @%p1 bra DONE; st.global.u32 [%rd7], %r28;",
        ] {
            compare_on(&GRIDS[..4], &format!("{place} {store}"), 1);
        }
        let wide = format!(
            "{place} shl.b64 %rd6, %rd6, 1; and.b64 %rd6, %rd6, 0x7fff8; add.s64 %rd7, %rd2, %rd6; cvt.u64.u32 %rd8, %r28;"
        );
        compare_on(&GRIDS[2..3], &format!("{wide} st.global.u64 [%rd7], %rd8;"), 1);
        compare_on(&GRIDS[2..3], &format!("{wide} st.global.v2.u32 [%rd7], {{%r28, %r21}};"), 1);
    }
    // Shared memory, of which each block has its own.
    let offset = "mad.lo.u32 %r23, %r15, %r10, %r12; mad.lo.u32 %r24, %r18, 32, %r23; xor.b32 %r25, %r24, 5; shl.b32 %r25, %r25, 2; and.b32 %r25, %r25, 0xffc;";
    for (store, load) in [
        ("st.shared.u32 [%r25], %r4;", "ld.shared.u32 %r29, [%r26];"),
        ("st.shared.u32 [%r25+1024], %r4;", "ld.shared.v2.u32 {%r29, %r28}, [%r26+1024]; add.u32 %r29, %r29, %r28;"),
        ("st.shared.u32 [%r25], %r4;", "ld.shared.u64 %rd8, [%r26]; shr.u64 %rd8, %rd8, 9; cvt.u32.u64 %r29, %rd8;"),
    ] {
        let reads = "ld.global.u32 %r22, [%rd3]; and.b32 %r26, %r22, 0x3f8; bar.sync 0;";
        compare_on(
            &FEW,
            &format!("{offset} {store} {reads} {load} xor.b32 %r29, %r29, %r22; st.global.u32 [%rd4], %r29;"),
            1,
        );
    }
}

#[test]
fn lanes_access_what_is_not_there() {
    let of_lane = format!(
        "{COMPUTED} {IN_ORDER} and.b32 %r23, %r27, 0xfff; mul.wide.u32 %rd6, %r23, 4; add.s64 %rd7, %rd1, %rd6;"
    );
    for (place, bad) in [
        ("%r28, 900", "add.s64 %rd7, %rd7, 0x40000000"),
        ("%r28, 31", "add.s64 %rd7, %rd7, 2"),
        ("%r28, 5", "sub.s64 %rd7, %rd7, %rd1"),
    ] {
        let of_one = format!("{of_lane} setp.ne.u32 %p1, {place}; @%p1 bra FINE; {bad}; FINE:");
        compare_errors(&format!(
            "{of_one} ld.global.u32 %r29, [%rd7]; add.u32 %r29, %r29, %r27; st.global.u32 [%rd4], %r29;"
        ));
        compare_errors(&format!("{of_one} add.u32 %r29, %r29, %r27; st.global.u32 [%rd7], %r29;"));
        compare_errors(&format!(
            "{of_one} AGAIN: ld.global.u32 %r29, [%rd7]; and.b32 %r29, %r29, 7; setp.ne.u32 %p2, %r29, 0; @%p2 bra DONE; bra AGAIN;"
        ));
    }
}

/// The shared memory of blocks may be closer together than where the code was made.
#[test]
fn launches_have_other_shared_memory() {
    let text = "
        .version 8.0 .target sm_80 .address_size 64
        .extern .shared .align 4 .b8 own[];
        .visible .entry each(.param .u64 x) {
            .reg .pred %p<2>; .reg .b32 %r<12>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
            mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r5, own; xor.b32 %r6, %r1, 21; shl.b32 %r7, %r6, 2; add.u32 %r8, %r5, %r7;
            ld.global.u32 %r0, [%rd3]; add.u32 %r4, %r4, %r0; st.shared.u32 [%r8], %r4; bar.sync 0;
            shl.b32 %r9, %r1, 2; add.u32 %r10, %r5, %r9; ld.shared.u32 %r11, [%r10]; st.global.u32 [%rd3], %r11;
            ret;
        }";
    for sizes in [[1 << 15, 256, 1 << 13], [256, 1 << 15, 512]] {
        let memory = Memory::new();
        let module = Module::load(text, &memory).unwrap();
        let options = Options { compile_after: Some(0), threads: Some(1), ..Options::default() };
        for shared in sizes {
            let (grid, x) = (Grid { shared, ..Grid::new(500, 64) }, memory.upload(&[0_u32; 64 * 500]));
            module.kernel("each").unwrap().launch_with(grid, &[x.into()], &options).unwrap();
            let wanted: Vec<u32> = (0..64 * 500).map(|index| index ^ 21).collect();
            assert!(memory.download::<u32>(x, wanted.len()).unwrap() == wanted, "{shared} of {sizes:?}");
        }
    }
}

#[test]
fn launches_have_other_shapes() {
    // Along x alone, the position along x and the one in the grid grow by the same from thread to thread.
    let text = "
        .version 8.0 .target sm_80 .address_size 64
        .visible .entry each(.param .u64 x) {
            .reg .b32 %r<16>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
            mov.u32 %r5, %tid.y; mov.u32 %r6, %ctaid.y; mov.u32 %r7, %ntid.y; mad.lo.u32 %r8, %r6, %r7, %r5;
            mov.u32 %r9, %nctaid.x; mul.lo.u32 %r10, %r9, %r3; mad.lo.u32 %r11, %r8, %r10, %r4; mul.wide.u32 %rd2, %r11, 4; add.s64 %rd3, %rd1, %rd2;
            ld.global.u32 %r12, [%rd3]; mad.lo.u32 %r13, %r12, 1000003, %r4; xor.b32 %r14, %r13, %r11; st.global.u32 [%rd3], %r14;
            ret;
        }";
    let shapes = [
        ([64, 1, 1], [256, 1, 1]),
        ([3, 1, 1], [96, 1, 1]),
        ([8, 40, 1], [32, 8, 1]),
        ([2, 300, 1], [64, 2, 1]),
        ([40, 3, 1], [16, 4, 1]),
        ([1, 1, 1], [32, 1, 1]),
    ];
    for first in 0..shapes.len() {
        let memory = Memory::new();
        let module = Module::load(text, &memory).unwrap();
        let options = Options { compile_after: Some(0), threads: Some(1), ..Options::default() };
        for (blocks, threads) in shapes.iter().cycle().skip(first).take(shapes.len()) {
            let [width, height] = [0, 1].map(|axis| blocks[axis] * threads[axis]);
            let x = memory.upload(&vec![7_u32; (width * height) as usize]);
            let grid = Grid { blocks: *blocks, threads: *threads, ..Grid::new(1, 1) };
            module.kernel("each").unwrap().launch_with(grid, &[x.into()], &options).unwrap();
            let wanted: Vec<u32> = (0..width * height).map(|index| (7_000_021 + index % width) ^ index).collect();
            assert!(
                memory.download::<u32>(x, wanted.len()).unwrap() == wanted,
                "{blocks:?} of {threads:?} behind {first}"
            );
        }
    }
}
