//! Values that are computed once for all threads: those that are the same in all, or affine in the position of a thread. Each kernel is
//! compared with the host, over blocks of many shapes, in each of which other values wrap, and other lanes follow each other.

use crate::machine::{on_threads, shaped};
use ptx_isa::run::{Argument, Grid, Memory, Module};

/// Where a thread is: its index, that of its block, and the shape of the block.
#[derive(Clone, Copy)]
struct Thread {
    x: u32,
    y: u32,
    z: u32,
    block: [u32; 3],
    shape: [u32; 3],
}

/// What a thread loads, by its number and the number of threads of a block.
type Loaded<'a> = &'a dyn Fn(usize, usize) -> u32;

/// Shapes of grids and blocks.
const SHAPES: &[([u32; 3], [u32; 3])] = &[
    ([1, 1, 1], [32, 1, 1]),
    ([5, 1, 1], [256, 1, 1]),
    ([3, 12, 1], [32, 8, 1]),
    ([7, 1, 1], [100, 1, 1]),
    ([2, 3, 2], [16, 3, 2]),
    ([4, 2, 1], [8, 8, 1]),
    ([1, 9, 1], [48, 1, 2]),
    ([13, 1, 1], [1, 1, 1]),
    ([3, 3, 1], [5, 7, 3]),
    ([2, 1, 5], [1, 64, 1]),
    ([64, 1, 1], [16, 16, 1]),
    ([3, 2, 1], [64, 4, 1]),
    ([2, 1, 1], [32, 1, 1]),
    ([5, 1, 1], [96, 1, 1]),
];

const HEAD: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 out, .param .u32 n, .param .u64 m) {
    .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<40>;
    ld.param.u64 %rd30, [out];
    ld.param.u32 %r30, [n];
    ld.param.u64 %rd31, [m];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %tid.y;
    mov.u32 %r2, %tid.z;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ctaid.y;
    mov.u32 %r5, %ctaid.z;
    mov.u32 %r31, %ntid.x;
    mov.u32 %r32, %ntid.y;
    mov.u32 %r33, %ntid.z;
    mov.u32 %r34, %nctaid.x;
    mov.u32 %r35, %nctaid.y;
    // The number of the thread among all.
    mad.lo.u32 %r36, %r5, %r35, %r4;
    mad.lo.u32 %r36, %r36, %r34, %r3;
    mad.lo.u32 %r36, %r36, %r33, %r2;
    mad.lo.u32 %r36, %r36, %r32, %r1;
    mad.lo.u32 %r36, %r36, %r31, %r0;
    mul.wide.u32 %rd32, %r36, 8;
    add.u64 %rd32, %rd32, %rd30;
    mov.u64 %rd0, 0;
";

const TAIL: &str = "
    st.global.u64 [%rd32], %rd0;
    ret;
}";

/// Runs a body that computes `%rd0`, with `n` = 11 and `m` = 2⁴⁰ + 5, and compares it with a function of the thread.
#[track_caller]
fn check(body: &str, expected: impl Fn(Thread) -> u64) {
    let text = format!("{HEAD}{body}{TAIL}");
    for (blocks, shape) in SHAPES {
        on_threads(&text, |machine| {
            let threads: u32 = shape.iter().product();
            let all = (blocks.iter().product::<u32>() * threads) as usize;
            let out = machine.upload(&vec![u64::MAX; all]);
            let arguments: [Argument; 3] = [out.into(), 11_u32.into(), ((1_u64 << 40) + 5).into()];
            machine.run("kernel", shaped(*blocks, *shape), &arguments);
            let found = machine.download::<u64>(out, all);
            for (number, found) in found.into_iter().enumerate() {
                let number = number as u32;
                let (thread, block) = (number % threads, number / threads);
                let thread = Thread {
                    x: thread % shape[0],
                    y: thread / shape[0] % shape[1],
                    z: thread / shape[0] / shape[1],
                    block: [block % blocks[0], block / blocks[0] % blocks[1], block / blocks[0] / blocks[1]],
                    shape: *shape,
                };
                let wanted = expected(thread);
                assert_eq!(
                    found, wanted,
                    "{found:#x} instead of {wanted:#x} in thread {} {} {} of block {:?} of {shape:?}:{body}",
                    thread.x, thread.y, thread.z, thread.block
                );
            }
        });
    }
}

#[test]
fn sums_and_products_wrap() {
    check("not.b32 %r6, %r0; cvt.u64.u32 %rd0, %r6;", |t| (!t.x).into());
    check("not.b32 %r6, %r3; add.s32 %r6, %r6, 64; cvt.s64.s32 %rd0, %r6;", |t| {
        i64::from(!(t.block[0] as i32) + 64) as u64
    });
    check("cvt.u64.u32 %rd0, %r0; not.b64 %rd0, %rd0; shr.s64 %rd0, %rd0, 1;", |t| (!i64::from(t.x) >> 1) as u64);
    check("mul.lo.u32 %r6, %r0, 0x10000001; cvt.u64.u32 %rd0, %r6;", |t| t.x.wrapping_mul(0x1000_0001).into());
    check("mul.lo.u32 %r6, %r0, 0x10000001; cvt.s64.s32 %rd0, %r6;", |t| {
        i64::from(t.x.wrapping_mul(0x1000_0001) as i32) as u64
    });
    check("mad.lo.s32 %r6, %r0, -3, %r1; mad.lo.s32 %r6, %r2, 7, %r6; mul.wide.s32 %rd0, %r6, -5;", |t| {
        let sum = -3 * i64::from(t.x) + i64::from(t.y) + 7 * i64::from(t.z);
        (-5 * sum) as u64
    });
    check("sub.u32 %r6, 40, %r0; mul.wide.u32 %rd0, %r6, 3;", |t| u64::from(40_u32.wrapping_sub(t.x)) * 3);
    check("mul.lo.u32 %r6, %r0, %r0; cvt.u64.u32 %rd0, %r6;", |t| (t.x * t.x).into());
    check("shl.b32 %r6, %r0, 28; shl.b32 %r7, %r1, 33; add.u32 %r6, %r6, %r7; cvt.u64.u32 %rd0, %r6;", |t| {
        (t.x << 28).into()
    });
    check("shl.b32 %r6, 1, %r0; cvt.u64.u32 %rd0, %r6;", |t| 1_u32.checked_shl(t.x).unwrap_or(0).into());
    check("cvt.u16.u32 %h0, %r0; mul.lo.u16 %h0, %h0, 0x901; cvt.s64.s16 %rd0, %h0;", |t| {
        i64::from((t.x as u16).wrapping_mul(0x901) as i16) as u64
    });
    check("cvt.u64.u32 %rd1, %r0; mad.lo.u64 %rd0, %rd1, %rd31, %rd1; neg.s64 %rd0, %rd0;", |t| {
        let x = u64::from(t.x);
        x.wrapping_mul((1 << 40) + 5).wrapping_add(x).wrapping_neg()
    });
    check("cvt.u32.u64 %r6, %rd31; mad.lo.u32 %r6, %r3, %r6, %r4; cvt.u64.u32 %rd0, %r6;", |t| {
        (t.block[0] * 5 + t.block[1]).into()
    });
}

#[test]
fn bits_are_masked_shifted_and_joined() {
    // Lanes and warps, parts of them, and masks whose bits do not follow each other.
    for mask in [0, 1, 3, 31, 0x7f, 0xffff_ffe0, 0xc, 0x60, 0x21, 0x8000_0000, u32::MAX] {
        check(&format!("and.b32 %r6, %r0, {mask}; cvt.u64.u32 %rd0, %r6;"), |t| (t.x & mask).into());
        // Steps of 33, with a carry in some threads, and a base that wraps.
        check(&format!("mad.lo.u32 %r6, %r0, 33, %r1; and.b32 %r6, {mask}, %r6; cvt.u64.u32 %rd0, %r6;"), |t| {
            ((t.x * 33 + t.y) & mask).into()
        });
        check(&format!("sub.u32 %r6, %r1, %r0; and.b32 %r6, %r6, {mask}; cvt.u64.u32 %rd0, %r6;"), |t| {
            (t.y.wrapping_sub(t.x) & mask).into()
        });
        check(&format!("sub.u32 %r6, 95, %r0; and.b32 %r6, %r6, {mask}; cvt.u64.u32 %rd0, %r6;"), |t| {
            (95_u32.wrapping_sub(t.x) & mask).into()
        });
        check(&format!("and.b32 %r6, %r30, {mask}; or.b32 %r6, %r6, {mask}; cvt.u64.u32 %rd0, %r6;"), |_| mask.into());
    }
    for by in [0, 1, 3, 5, 31, 32, 40] {
        let shift = |value: u32| u64::from(value.checked_shr(by).unwrap_or(0));
        let signed = |value: i32| (value >> by.min(31)) as u32;
        check(&format!("shr.u32 %r6, %r0, {by}; cvt.u64.u32 %rd0, %r6;"), |t| shift(t.x));
        check(&format!("mad.lo.u32 %r6, %r3, %r31, %r0; shr.u32 %r6, %r6, {by}; cvt.u64.u32 %rd0, %r6;"), |t| {
            shift(t.block[0] * t.shape[0] + t.x)
        });
        check(&format!("sub.s32 %r6, %r0, 64; shr.u32 %r7, %r6, {by}; cvt.u64.u32 %rd0, %r7;"), |t| {
            shift(t.x.wrapping_sub(64))
        });
        check(&format!("sub.s32 %r6, %r0, 64; shr.s32 %r7, %r6, {by}; cvt.u64.u32 %rd0, %r7;"), |t| {
            signed(t.x as i32 - 64).into()
        });
        check(&format!("mul.lo.s32 %r6, %r0, -32; shr.s32 %r7, %r6, {by}; cvt.s64.s32 %rd0, %r7;"), |t| {
            i64::from(signed(t.x as i32 * -32) as i32) as u64
        });
        check(&format!("shl.b32 %r6, %r30, {by}; shr.s32 %r6, %r6, {by}; cvt.s64.s32 %rd0, %r6;"), |_| {
            i64::from(signed(11_u32.checked_shl(by).unwrap_or(0) as i32) as i32) as u64
        });
    }
    check(
        "cvt.u64.u32 %rd1, %r0; mad.lo.u64 %rd1, %rd1, 64, %rd31; shr.u64 %rd2, %rd1, 6; add.u64 %rd0, %rd2, %rd1;",
        |t| {
            let value = (1 << 40) + 5 + 64 * u64::from(t.x);
            value + (value >> 6)
        },
    );
    // Without its last bits, a step has a bit more than the width.
    check("mad.lo.u32 %r6, %r3, 0x7fffffff, 1; shr.u32 %r7, %r6, 4; cvt.u64.u32 %rd0, %r7;", |t| {
        u64::from(t.block[0].wrapping_mul(0x7fff_ffff).wrapping_add(1) >> 4)
    });
    check("mad.lo.u32 %r6, %r0, 0x3ffffff, 63; shr.u32 %r7, %r6, 6; cvt.u64.u32 %rd0, %r7;", |t| {
        u64::from(t.x.wrapping_mul(0x3ff_ffff).wrapping_add(63) >> 6)
    });
    check("mad.lo.s32 %r6, %r3, 0x7fffffff, -15; shr.s32 %r7, %r6, 4; cvt.u64.u32 %rd0, %r7;", |t| {
        u64::from((t.block[0].wrapping_mul(0x7fff_ffff).wrapping_sub(15) as i32 >> 4) as u32)
    });
    check("neg.s64 %rd1, %rd31; shr.u64 %rd2, %rd1, 3; shr.s64 %rd3, %rd1, 3; xor.b64 %rd0, %rd2, %rd3;", |_| 7 << 61);
    for to in [0, 3, 5, 28] {
        check(&format!("shl.b32 %r6, %r0, {to}; or.b32 %r6, %r6, %r30; cvt.u64.u32 %rd0, %r6;"), |t| {
            (t.x << to | 11).into()
        });
        check(&format!("shl.b32 %r6, %r1, {to}; or.b32 %r6, %r0, %r6; cvt.u64.u32 %rd0, %r6;"), |t| {
            (t.y << to | t.x).into()
        });
        check(&format!("neg.s32 %r6, %r0; shl.b32 %r6, %r6, {to}; or.b32 %r6, %r6, 7; cvt.u64.u32 %rd0, %r6;"), |t| {
            (t.x.wrapping_neg() << to | 7).into()
        });
    }
    // Addresses by lanes and warps, which are regular where masks tell them apart.
    let reversed = "
        and.b32 %r6, %r0, 31; shr.u32 %r7, %r0, 5; sub.u32 %r8, 31, %r6;
        shl.b32 %r7, %r7, 5; or.b32 %r7, %r7, %r8; cvt.u64.u32 %rd0, %r7;";
    check(reversed, |t| u64::from((t.x / 32 * 32) | (31 - t.x % 32)));
}

#[test]
fn comparisons_hold_in_all_threads_or_some() {
    for (op, compare) in [
        ("lt", (|a, b| a < b) as fn(i64, i64) -> bool),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
    ] {
        let select = "selp.u64 %rd0, 1, 2, %p0;";
        let answer = |yes: bool| if yes { 1 } else { 2 };
        check(&format!("setp.{op}.s32 %p0, %r0, %r30; {select}"), |t| answer(compare(t.x.into(), 11)));
        check(&format!("setp.{op}.s32 %p0, %r0, -1; {select}"), |t| answer(compare(t.x.into(), -1)));
        check(&format!("sub.s32 %r6, %r0, 20; setp.{op}.s32 %p0, %r6, %r1; {select}"), |t| {
            answer(compare(i64::from(t.x) - 20, t.y.into()))
        });
        check(&format!("add.u32 %r6, %r0, 4; setp.{op}.u32 %p0, %r6, %r0; {select}"), |_| answer(compare(4, 0)));
        check(&format!("cvt.u64.u32 %rd1, %r0; setp.{op}.s64 %p0, %rd1, %rd31; {select}"), |t| {
            answer(compare(t.x.into(), (1 << 40) + 5))
        });
        if op != "eq" && op != "ne" {
            check(&format!("sub.u32 %r6, %r0, 4; setp.{op}.u32 %p0, %r6, 100; {select}"), |t| {
                answer(compare(t.x.wrapping_sub(4).into(), 100))
            });
            let far = "mov.u64 %rd1, 0x7ffffffffffffff0; cvt.u64.u32 %rd2, %r0; add.u64 %rd1, %rd1, %rd2;";
            check(&format!("{far} neg.s64 %rd2, %rd1; setp.{op}.s64 %p0, %rd1, %rd2; {select}"), |t| {
                let value = 0x7fff_ffff_ffff_fff0_u64.wrapping_add(t.x.into()) as i64;
                answer(compare(value, value.wrapping_neg()))
            });
            check(&format!("{far} setp.{op}.u64 %p0, %rd1, %rd31; {select}"), |_| answer(compare(9, 5)));
        }
    }
    check("max.s32 %r6, %r0, 3; min.s32 %r6, %r6, 20; cvt.u64.u32 %rd0, %r6;", |t| t.x.clamp(3, 20).into());
    check(
        "setp.lt.s32 %p0|%p1, %r30, 12; selp.u64 %rd1, 4, 5, %p0; selp.u64 %rd2, 40, 50, %p1; add.u64 %rd0, %rd1, %rd2;",
        |_| 54,
    );
    check(
        "setp.lt.u32 %p0, %r0, 8; setp.lt.and.u32 %p1, %r30, 12, %p0; not.pred %p1, %p1; selp.u64 %rd0, 1, 2, %p1;",
        |t| {
            if t.x < 8 { 2 } else { 1 }
        },
    );
}

#[test]
fn registers_are_written_by_some_threads() {
    // One of two writes, and a write that only some threads reach.
    check(
        "mov.u32 %r6, 7; setp.ge.u32 %p0, %r0, 9; @%p0 bra NEXT; mov.u32 %r6, %r1; NEXT: cvt.u64.u32 %rd0, %r6;",
        |t| {
            if t.x < 9 { t.y.into() } else { 7 }
        },
    );
    check("mov.u32 %r6, 7; setp.ge.u32 %p0, %r0, 9; @%p0 mov.u32 %r6, %r0; cvt.u64.u32 %rd0, %r6;", |t| {
        if t.x < 9 { 7 } else { t.x.into() }
    });
    let both = "
        setp.ge.u32 %p0, %r0, 5;
        @%p0 bra OTHER;
        add.u32 %r6, %r0, 100;
        mul.lo.u32 %r7, %r6, %r30;
        bra NEXT;
    OTHER:
        add.u32 %r8, %r1, 200;
        mul.lo.u32 %r7, %r8, 3;
    NEXT:
        add.u32 %r9, %r7, %r7;
        cvt.u64.u32 %rd0, %r9;";
    check(both, |t| 2 * u64::from(if t.x < 5 { (t.x + 100) * 11 } else { (t.y + 200) * 3 }));
    // What is written before the paths join is written once by each thread, at different times.
    let late = "
        setp.lt.u32 %p0, %r0, 3;
        @%p0 bra FIRST;
        bar.warp.sync 0xffffffff;
    FIRST:
        mad.lo.u32 %r6, %r0, 5, %r30;
        shr.u32 %r7, %r30, 1;
        cvt.u64.u32 %rd1, %r6;
        cvt.u64.u32 %rd2, %r7;
        add.u64 %rd0, %rd1, %rd2;";
    let late = late.replace("        bar.warp.sync 0xffffffff;\n", "        add.u32 %r8, %r0, 1;\n");
    check(&late, |t| u64::from(t.x) * 5 + 11 + 5);
}

/// Predicates that are the same in all threads, or were until some threads wrote them, as guards and negated sources.
#[test]
fn predicates_guard_in_all_threads_or_some() {
    // Only some threads write a predicate, each the same value; then all read its complement.
    let some = "
        setp.ne.u32 %p1, 1, 1;
        setp.ge.u32 %p0, %r0, 5;
        @%p0 bra NEXT;
        setp.eq.u32 %p1, 1, 1;
    NEXT:";
    check(
        &format!("{some} setp.eq.and.u32 %p2, 1, 1, !%p1; selp.u64 %rd0, 1, 2, %p2;"),
        |t| if t.x < 5 { 2 } else { 1 },
    );
    check(&format!("{some} @%p1 mov.u64 %rd0, 4; @!%p1 add.u64 %rd0, %rd0, 3;"), |t| if t.x < 5 { 4 } else { 3 });
    check(&format!("{some} @!%p1 bra LAST; mov.u64 %rd0, 4; LAST: add.u64 %rd0, %rd0, 1;"), |t| {
        if t.x < 5 { 5 } else { 1 }
    });
    // The same in all threads, which computes nothing in lanes: code, loads and stores, conversions, votes, and branches.
    for (least, yes) in [(11, true), (12, false)] {
        let same = format!("setp.ge.u32 %p1, %r30, {least};");
        let answer = |yes: bool, a: u64, b: u64| if yes { a } else { b };
        check(&format!("{same} @%p1 mov.u64 %rd0, 4; @!%p1 mov.u64 %rd0, 3;"), |_| answer(yes, 4, 3));
        check(&format!("{same} @%p1 add.u64 %rd0, %rd32, 1; @%p1 sub.u64 %rd0, %rd0, %rd32;"), |_| answer(yes, 1, 0));
        check(&format!("{same} st.global.u64 [%rd32], 6; @%p1 ld.global.u64 %rd0, [%rd32];"), |_| answer(yes, 6, 0));
        check(&format!("{same} @%p1 st.global.u64 [%rd32], 6; ld.global.u64 %rd0, [%rd32];"), |_| {
            answer(yes, 6, u64::MAX)
        });
        check(&format!("{same} @!%p1 atom.global.add.u64 %rd1, [%rd32], 6; ld.global.u64 %rd0, [%rd32];"), |_| {
            answer(yes, u64::MAX, 5)
        });
        check(&format!("{same} mov.u64 %rd1, 9; @%p1 cvta.to.global.u64 %rd0, %rd1;"), |_| answer(yes, 9, 0));
        check(
            &format!("{same} activemask.b32 %r6; vote.sync.any.pred %p2, !%p1, %r6; selp.u64 %rd0, 1, 2, %p2;"),
            |_| answer(yes, 2, 1),
        );
        check(
            &format!(
                "{same} not.pred %p2, %p1; and.pred %p3, %p2, %p1; or.pred %p4, %p2, %p1; selp.u64 %rd1, 1, 2, %p3; selp.u64 %rd0, %rd1, 9, %p4;"
            ),
            |_| 2,
        );
        check(&format!("{same} @%p1 bra LAST; mov.u64 %rd0, 4; LAST: add.u64 %rd0, %rd0, 1;"), |_| answer(yes, 1, 5));
        check(&format!("{same} @!%p1 bra LAST; mov.u64 %rd0, 4; LAST: add.u64 %rd0, %rd0, 1;"), |_| answer(yes, 5, 1));
        check(
            &format!(
                "{same} @%p1 bar.sync 0; mov.u64 %rd0, 4; st.global.u64 [%rd32], %rd0; @%p1 exit; mov.u64 %rd0, 5;"
            ),
            |_| answer(yes, 4, 5),
        );
        // Some threads alone look at it, behind a branch.
        check(
            &format!(
                "setp.lt.u32 %p0, %r0, 3; {same} @%p0 bra LAST; @%p1 add.u64 %rd0, %rd0, 8; LAST: add.u64 %rd0, %rd0, 1;"
            ),
            |t| answer(yes && t.x >= 3, 9, 1),
        );
    }
}

#[test]
fn threads_that_take_no_part_have_addresses_below_all_others() {
    let body = "
        .shared .align 4 .b8 own[1024];
        shl.b32 %r6, %r0, 2;
        mov.u32 %r7, own;
        add.u32 %r7, %r7, %r6;
        st.shared.u32 [%r7], %r0;
        bar.sync 0;
        mov.u32 %r8, 100;
        setp.lt.u32 %p0, %r0, 3;
        @%p0 bra NEXT;
        ld.shared.u32 %r8, [%r7+-12];
    NEXT:
        cvt.u64.u32 %rd0, %r8;";
    check(body, |t| if t.x < 3 { 100 } else { u64::from(t.x - 3) });
}

#[test]
fn guards_let_some_threads_access_regular_addresses() {
    let some = "setp.lt.u32 %p0, %r0, 9; st.global.v2.u32 [%rd32], {%r0, %r1};";
    let two = "mad.wide.u32 %rd0, %r6, 1000, %rd0; cvt.u64.u32 %rd1, %r7; add.u64 %rd0, %rd0, %rd1;";
    for (guard, is) in [("%p0", true), ("!%p0", false)] {
        let taken = |t: Thread| (t.x < 9) == is;
        let answer = |t: Thread, a: u32, b: u64| if taken(t) { a.into() } else { b };
        check(&format!("{some} mov.u64 %rd0, 77; @{guard} ld.global.u64 %rd0, [%rd32];"), |t| {
            if taken(t) { (u64::from(t.y) << 32) | u64::from(t.x) } else { 77 }
        });
        check(&format!("{some} mov.u32 %r6, 77; @{guard} ld.global.u32 %r6, [%rd32+4]; cvt.u64.u32 %rd0, %r6;"), |t| {
            answer(t, t.y, 77)
        });
        check(&format!("{some} mov.u16 %h1, 77; @{guard} ld.global.u16 %h1, [%rd32]; cvt.u64.u16 %rd0, %h1;"), |t| {
            answer(t, t.x, 77)
        });
        check(&format!("{some} mov.u32 %r6, 77; @{guard} ld.global.s8 %r6, [%rd32]; cvt.u64.u32 %rd0, %r6;"), |t| {
            answer(t, t.x as i8 as u32, 77)
        });
        check(
            &format!("{some} mov.u32 %r6, 1; mov.u32 %r7, 2; @{guard} ld.global.v2.u32 {{%r6, %r7}}, [%rd32]; {two}"),
            |t| answer(t, 1000 * t.x + t.y, 1002),
        );
        check(
            &format!(
                "{some} st.global.u64 [%rd32], 5; @{guard} st.global.u64 [%rd32], 6; ld.global.u64 %rd0, [%rd32];"
            ),
            |t| answer(t, 6, 5),
        );
        check(
            &format!(
                "{some} @{guard} st.global.v2.u32 [%rd32], {{%r1, %r0}}; ld.global.v2.u32 {{%r6, %r7}}, [%rd32]; {two}"
            ),
            |t| answer(t, 1000 * t.y + t.x, u64::from(1000 * t.x + t.y)),
        );
    }
}

#[test]
fn loops_count_in_all_threads_or_some() {
    let same = "
        mov.u32 %r6, 0; mov.u32 %r7, %r0;
    LOOP:
        add.u32 %r7, %r7, %r1;
        add.u32 %r6, %r6, 1;
        setp.lt.u32 %p0, %r6, %r30;
        @%p0 bra LOOP;
        add.u32 %r7, %r7, %r6;
        cvt.u64.u32 %rd0, %r7;";
    check(same, |t| u64::from(t.x + 11 * t.y + 11));
    // As many rounds as each thread's index says, and what was computed in the last one.
    let own = "
        mov.u32 %r6, 0; mov.u32 %r8, 0;
    LOOP:
        mul.lo.u32 %r7, %r6, 3;
        add.u32 %r8, %r7, %r0;
        add.u32 %r6, %r6, 1;
        setp.le.u32 %p0, %r6, %r0;
        @%p0 bra LOOP;
        mad.lo.u32 %r8, %r6, 1000, %r8;
        cvt.u64.u32 %rd0, %r8;";
    check(own, |t| u64::from((t.x + 1) * 1000 + 3 * t.x + t.x));
    // Threads leave a loop at different times, and the register of the loop lives on.
    let leave = "
        mov.u32 %r6, 0;
    LOOP:
        add.u32 %r7, %r6, %r1;
        setp.eq.u32 %p0, %r6, %r0;
        @%p0 bra DONE;
        add.u32 %r6, %r6, 1;
        setp.lt.u32 %p1, %r6, 6;
        @%p1 bra LOOP;
    DONE:
        cvt.u64.u32 %rd0, %r7;";
    check(leave, |t| u64::from(t.x.min(5) + t.y));
    // In each round other threads write, and keep what they wrote in the round before.
    let turns = "
        mov.u32 %r6, 0;
    LOOP:
        and.b32 %r8, %r6, 1;
        setp.lt.u32 %p0, %r0, 4;
        setp.eq.u32 %p1, %r8, 1;
        xor.pred %p2, %p0, %p1;
        @%p2 bra NEXT;
        mad.lo.u32 %r7, %r6, 3, 1;
    NEXT:
        add.u32 %r6, %r6, 1;
        setp.lt.u32 %p3, %r6, 6;
        @%p3 bra LOOP;
        cvt.u64.u32 %rd0, %r7;";
    check(turns, |t| if t.x < 4 { 16 } else { 13 });
    let halve = "
        mov.u32 %r6, %r31; mov.u32 %r7, 0;
    LOOP:
        setp.lt.u32 %p0, %r0, %r6;
        @%p0 add.u32 %r7, %r7, %r6;
        shr.u32 %r6, %r6, 1;
        setp.ne.u32 %p1, %r6, 0;
        @%p1 bra LOOP;
        cvt.u64.u32 %rd0, %r7;";
    check(halve, |t| {
        let mut steps = std::iter::successors(Some(t.shape[0]), |step| Some(step / 2)).take_while(|step| *step != 0);
        steps.by_ref().filter(|step| t.x < *step).map(u64::from).sum()
    });
}

#[test]
fn threads_that_end_at_once_leave_the_others() {
    let text = "
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry kernel(.param .u64 out, .param .u32 n) {
            .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
            ld.param.u64 %rd1, [out];
            ld.param.u32 %r1, [n];
            mov.u32 %r2, %tid.x;
            mov.u32 %r3, %ctaid.x;
            mov.u32 %r4, %ntid.x;
            mad.lo.u32 %r2, %r3, %r4, %r2;
            setp.ge.u32 %p0, %r2, %r1;
            @%p0 bra DONE;
            bar.sync 0;
            mul.wide.u32 %rd2, %r2, 4;
            add.u64 %rd3, %rd1, %rd2;
            st.global.u32 [%rd3], %r2;
        DONE:
            ret;
        }";
    for n in [0, 1, 31, 32, 33, 95, 100, 128, 500] {
        let memory = Memory::new();
        let module = Module::load(text, &memory).unwrap();
        let out = memory.upload(&vec![u32::MAX; n.max(1)]);
        // Behind `n` there is no memory.
        let report =
            module.kernel("kernel").unwrap().launch(Grid::new(4, 128), &[out.into(), (n as u32).into()]).unwrap();
        let found = memory.download::<u32>(out, n).unwrap();
        assert!(found.iter().enumerate().all(|(index, value)| *value as usize == index), "{n}");
        assert_eq!(report.instructions, (9 * 512 + 4 * n.min(512)) as u64, "each thread counts its `ret`");
    }
}

#[test]
fn memory_is_accessed_at_regular_addresses() {
    // Elements forwards, backwards, the same for all, and apart; narrow ones, and several at once.
    let text = |body: &str| {
        format!(
            ".version 8.0
            .target sm_80
            .address_size 64
            .visible .entry kernel(.param .u64 in, .param .u64 out, .param .u32 n) {{
                .reg .pred %p<2>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;
                .shared .align 16 .b8 own[4096];
                ld.param.u64 %rd1, [in];
                ld.param.u64 %rd2, [out];
                ld.param.u32 %r7, [n];
                mov.u32 %r1, %tid.x;
                mov.u32 %r2, %ctaid.x;
                mov.u32 %r3, %ntid.x;
                mad.lo.u32 %r4, %r2, %r3, %r1;
                mul.wide.u32 %rd3, %r4, 4;
                add.u64 %rd4, %rd2, %rd3;
                mov.u32 %r5, 0;
                {body}
                st.global.u32 [%rd4], %r5;
                ret;
            }}"
        )
    };
    let input: Vec<u32> = (0..4096_u32).map(|index| index.wrapping_mul(0x9e37_79b9)).collect();
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    let half = |index: usize| u16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]]);
    let cases: [(&str, Loaded<'_>); 12] = [
        ("add.u64 %rd5, %rd1, %rd3; ld.global.u32 %r5, [%rd5+8];", &|i, _| input[i + 2]),
        ("sub.u32 %r6, 1000, %r4; mul.wide.u32 %rd5, %r6, 4; add.u64 %rd5, %rd1, %rd5; ld.global.u32 %r5, [%rd5];", &|i, _| input[1000 - i]),
        ("mul.wide.u32 %rd5, %r2, 4; add.u64 %rd5, %rd1, %rd5; ld.global.u32 %r5, [%rd5];", &|i, n| input[i / n]),
        ("mul.wide.u32 %rd5, %r4, 12; add.u64 %rd5, %rd1, %rd5; ld.global.u32 %r5, [%rd5];", &|i, _| input[3 * i]),
        ("cvt.u64.u32 %rd5, %r4; add.u64 %rd5, %rd1, %rd5; ld.global.s8 %r5, [%rd5+1];", &|i, _| i32::from(bytes[i + 1] as i8) as u32),
        ("mul.wide.u32 %rd5, %r4, 2; add.u64 %rd5, %rd1, %rd5; ld.global.u16 %h1, [%rd5]; cvt.u32.u16 %r5, %h1;", &|i, _| half(i).into()),
        ("mul.wide.u32 %rd5, %r4, 8; add.u64 %rd5, %rd1, %rd5; ld.global.v2.u32 {%r5, %r6}, [%rd5]; sub.u32 %r5, %r5, %r6;", &|i, _| {
            input[2 * i].wrapping_sub(input[2 * i + 1])
        }),
        ("mul.wide.u32 %rd5, %r2, 16; add.u64 %rd5, %rd1, %rd5; ld.global.v4.u32 {%r5, %r6, %r8, %r9}, [%rd5]; sub.u32 %r5, %r9, %r6;", &|i, n| {
            input[4 * (i / n) + 3].wrapping_sub(input[4 * (i / n) + 1])
        }),
        ("mul.wide.u32 %rd5, %r4, 8; add.u64 %rd5, %rd1, %rd5; ld.global.u64 %rd6, [%rd5]; cvt.u32.u64 %r5, %rd6;", &|i, _| input[2 * i]),
        // In shared memory, with what another thread has written; of several writers to one place the last one counts.
        (
            "shl.b32 %r6, %r1, 2; mov.u32 %r8, own; add.u32 %r6, %r6, %r8; st.shared.u32 [%r6], %r4; bar.sync 0;
             sub.u32 %r9, %r3, %r1; mad.lo.u32 %r9, %r9, 4, %r8; ld.shared.u32 %r5, [%r9+-4];",
            &|i, n| (i / n * n + (n - 1 - i % n)) as u32,
        ),
        (
            "mov.u32 %r8, own; mad.lo.u32 %r8, %r2, 0, %r8; st.shared.u32 [%r8], %r4; bar.sync 0; ld.shared.u32 %r5, [%r8];",
            &|i, n| (i / n * n + n - 1) as u32,
        ),
        // Lanes that take no part may be anywhere.
        (
            "setp.ge.u32 %p1, %r1, %r7; @%p1 bra NEXT; mul.wide.u32 %rd5, %r1, 262144; add.u64 %rd5, %rd1, %rd5; ld.global.u32 %r5, [%rd5];
             NEXT:",
            &|i, n| if i % n < 1 { input[0] } else { 0 },
        ),
    ];
    for (body, expected) in cases {
        let text = text(body);
        for (blocks, threads) in [(1, 32), (5, 64), (3, 256), (2, 40), (9, 16)] {
            let memory = Memory::new();
            let module = Module::load(&text, &memory).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let all = (blocks * threads) as usize;
            let (from, out) = (memory.upload(&input), memory.upload(&vec![0_u32; all]));
            let kernel = module.kernel("kernel").unwrap();
            let ran = kernel.launch(Grid::new(blocks, threads), &[from.into(), out.into(), 1_u32.into()]);
            ran.unwrap_or_else(|error| panic!("{error}\n{body}"));
            let found = memory.download::<u32>(out, all).unwrap();
            for (index, found) in found.into_iter().enumerate() {
                assert_eq!(found, expected(index, threads as usize), "thread {index} of {blocks} × {threads}: {body}");
            }
        }
    }
}

#[test]
fn errors_name_the_first_thread() {
    let text = "
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry kernel(.param .u64 in, .param .u32 step) {
            .reg .b32 %r<4>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [in];
            ld.param.u32 %r1, [step];
            mov.u32 %r2, %tid.x;
            mul.wide.u32 %rd2, %r2, %r1;
            add.u64 %rd3, %rd1, %rd2;
            ld.global.u32 %r3, [%rd3];
            st.global.u32 [%rd3], %r2;
            ret;
        }";
    let memory = Memory::new();
    let module = Module::load(text, &memory).unwrap();
    let kernel = module.kernel("kernel").unwrap();
    let buffer = memory.upload(&[0_u32; 100]);
    for (step, kind, thread) in
        [(4_u32, "access", 100), (8, "access", 50), (6, "misaligned", 1), (0x8000_0000, "access", 1)]
    {
        let error = kernel.launch(Grid::new(1, 128), &[buffer.into(), step.into()]).unwrap_err();
        assert_eq!((error.kind.name(), error.thread), (kind, Some([thread, 0, 0])), "{step}: {error}");
    }
}

/// One of the results of an instruction is the same in all threads and the other one is not, as another instruction writes it: then the
/// lanes of both are written.
#[test]
fn an_instruction_with_one_varying_result_writes_the_lanes_of_both() {
    let text = "
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry kernel(.param .u64 out, .param .u64 given) {
            .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<3>;
            ld.param.u64 %rd1, [out];
            ld.param.u64 %rd2, [given];
            mov.u32 %r1, %tid.x;
            mov.u32 %r2, %laneid;
            mov.u32 %r3, 1;
            mov.b64 {%r3, %r2}, %rd2;
            mov.u32 %r4, %laneid;
            setp.gt.u32 %p0, %r4, 7;
            setp.ge.u32 %p1, %r1, 0;
            setp.lt.u32 %p0|%p1, %r1, 100;
            @%p1 add.u32 %r3, %r3, 1000;
            mul.wide.u32 %rd3, %r1, 4;
            add.u64 %rd1, %rd1, %rd3;
            st.global.u32 [%rd1], %r3;
            ret;
        }";
    let memory = Memory::new();
    let kernel = Module::load(text, &memory).unwrap().kernel("kernel").unwrap();
    let out = memory.upload(&[0_u32; 40]);
    kernel.launch(Grid::new(1, 40), &[out.into(), (9_u64 << 32 | 7).into()]).unwrap();
    assert_eq!(memory.download::<u32>(out, 40).unwrap(), [7; 40]);
}
