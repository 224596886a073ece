//! Machine code that goes on behind functions that it calls, lanes that meet, and branches that some lanes take.

use super::groups::{GRIDS, compare, compare_on};

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
