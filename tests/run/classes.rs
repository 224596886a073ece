//! Kernels by hand of what compilers seldom write: tables of jumps in loops, calls by tables with structs by value, guarded recursion, collectives
//! of some lanes, initial contents of every kind, atomics of every type in shared memory, narrow accesses.

use ptx_isa::run::Grid;

use crate::machine::{on_threads, random};

const THREADS: usize = 128;

/// Four words of each thread.
type Words = [u64; 4];

/// Runs a body in two blocks of 64 threads. `%a` to `%d` are four words of each thread, `%x` to `%w` their lower halves, `%t` its number, `%i` that
/// in its block; what it leaves in `%o0` to `%o3` must be what `expected` computes of the number and all words.
fn check(declarations: &str, body: &str, expected: impl Fn(usize, &[Words]) -> Words) {
    let text = format!(
        ".version 8.6 .target sm_90 .address_size 64
        {declarations}
        .visible .entry k(.param .u64 in, .param .u64 out) {{
            .reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<20>, %t, %i, %x, %y, %z, %w; .reg .b64 %rd<20>, %a, %b, %c, %d, %o<4>;
            .reg .b64 %in, %out; .reg .b128 %q<4>;
            ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
            mov.u32 %i, %tid.x; mov.u32 %r0, %ctaid.x; mad.lo.u32 %t, %r0, 64, %i;
            mad.wide.u32 %in, %t, 32, %in; mad.wide.u32 %out, %t, 32, %out;
            ld.global.v2.u64 {{%a, %b}}, [%in]; ld.global.v2.u64 {{%c, %d}}, [%in+16];
            cvt.u32.u64 %x, %a; cvt.u32.u64 %y, %b; cvt.u32.u64 %z, %c; cvt.u32.u64 %w, %d;
            mov.u64 %o0, 0; mov.u64 %o1, 0; mov.u64 %o2, 0; mov.u64 %o3, 0;
            {body}
            st.global.v2.u64 [%out], {{%o0, %o1}}; st.global.v2.u64 [%out+16], {{%o2, %o3}}; ret;
        }}"
    );
    let halves = random(8 * THREADS);
    let mut words: Vec<Words> = halves
        .chunks(8)
        .map(|part| std::array::from_fn(|at| u64::from(part[2 * at]) << 33 ^ u64::from(part[2 * at + 1])))
        .collect();
    // Edges.
    for (at, word) in [0, 1, u64::MAX, 1 << 31, 1 << 63, u64::from(u32::MAX)].into_iter().enumerate() {
        (words[7 * at][0], words[5 * at + 3][1]) = (word, word);
    }
    on_threads(&text, |machine| {
        let (input, out) = (machine.upload(&words.concat()), machine.upload(&[0_u64; 4 * THREADS]));
        let ran = machine.try_run("k", Grid::new(2, 64), &[input.into(), out.into()]);
        ran.unwrap_or_else(|error| panic!("{error}\n{body}"));
        for (thread, found) in machine.download::<u64>(out, 4 * THREADS).chunks(4).enumerate() {
            let expected = expected(thread, &words);
            assert_eq!(found, expected, "thread {thread} of {:x?}\n{body}", words[thread]);
        }
    });
}

/// The threads of the warp of a thread whose lowest bit of the first word is the same.
fn alike(thread: usize, words: &[Words]) -> Vec<usize> {
    let first = thread / 32 * 32;
    (first..first + 32).filter(|other| (words[*other][0] ^ words[thread][0]) & 1 == 0).collect()
}

fn mask(threads: impl Iterator<Item = usize>) -> u64 {
    threads.fold(0, |mask, thread| mask | 1 << (thread % 32))
}

#[test]
fn tables_of_jumps_in_loops() {
    let body = "and.b32 %r1, %x, 3; T: .branchtargets L0, L1, L2, L3;
        AGAIN: brx.idx %r1, T;
        L0: add.u64 %o0, %o0, 1; mov.u32 %r1, 1; setp.gt.u64 %p1, %o0, 5; @%p1 bra END; bra.uni AGAIN;
        L1: add.u64 %o1, %o1, 1; mov.u32 %r1, 3; bra AGAIN;
        L2: add.u64 %o2, %o2, 7; mov.u32 %r1, 0; bra AGAIN;
        L3: add.u64 %o3, %o3, %o0; and.b32 %r2, %y, 1; shl.b32 %r1, %r2, 1; add.u64 %o0, %o0, 1; bra AGAIN;
        END:";
    check("", body, |thread, words| {
        let (mut at, mut o) = (words[thread][0] & 3, [0; 4]);
        loop {
            at = match at {
                0 => {
                    o[0] += 1;
                    if o[0] > 5 {
                        return o;
                    }
                    1
                }
                1 => {
                    o[1] += 1;
                    3
                }
                2 => {
                    o[2] += 7;
                    0
                }
                _ => {
                    o[3] += o[0];
                    o[0] += 1;
                    2 * (words[thread][1] & 1)
                }
            }
        }
    });
}

#[test]
fn calls_by_tables_with_structs_by_value() {
    let functions = "
        .func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 s[12]) {
            .reg .b32 %r<4>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [s+8]; ld.param.b32 %r3, [s];
            add.u32 %r1, %r1, %r2; xor.b32 %r1, %r1, %r3; st.param.b32 [r], %r1; ret; }
        .func (.param .b32 r) g(.param .b32 a, .param .align 8 .b8 s[12]) {
            .reg .b32 %r<3>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [s+4]; sub.u32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret; }
        .func (.param .align 4 .b8 r[12]) unaligned(.param .align 1 .b8 s[7]) {
            .reg .b32 %r<4>; ld.param.u8 %r1, [s+6]; ld.param.s8 %r2, [s]; ld.param.u8 %r3, [s+3];
            st.param.b32 [r], %r1; st.param.b32 [r+8], %r2; st.param.b32 [r+4], %r3; ret; }
        .func (.reg .u32 r, .reg .u64 s) registers(.reg .u32 a, .reg .u16 b) { cvt.u64.u16 s, b; add.u32 r, a, 1; ret; }
        .const .align 8 .u64 table[2] = {f, g};";
    let body = "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[12]);
        and.b32 %r1, %z, 1; mul.wide.u32 %rd1, %r1, 8; mov.u64 %rd2, table; add.u64 %rd1, %rd1, %rd2; ld.const.u64 %rd3, [%rd1];
        { .param .b32 r; .param .b32 a; .param .align 8 .b8 s[12]; st.param.b32 [a], %x; st.param.b64 [s], %b; st.param.b32 [s+8], %w;
        call (r), %rd3, (a, s), P; ld.param.b32 %r2, [r]; cvt.u64.u32 %o0, %r2; }
        { .param .align 4 .b8 r[12]; .param .align 1 .b8 s[7]; st.param.b8 [s], %x; st.param.b8 [s+3], %y; st.param.b8 [s+6], %z;
        call.uni (r), unaligned, (s); ld.param.b32 %r3, [r]; ld.param.b32 %r4, [r+4]; ld.param.b32 %r5, [r+8];
        mov.b64 %o1, {%r3, %r4}; cvt.s64.s32 %o2, %r5; }
        setp.eq.u32 %p1, %r1, 0; cvt.u16.u32 %h1, %y; mov.u32 %r6, 9; mov.u64 %rd9, 8;
        @%p1 call (%r6, %rd9), registers, (%x, %h1); cvt.u64.u32 %rd8, %r6; shl.b64 %rd8, %rd8, 16; add.u64 %o3, %rd8, %rd9;";
    check(functions, body, |thread, words| {
        let [a, b, c, d] = words[thread];
        let first = c & 1 == 0;
        let called = if first {
            (a as u32).wrapping_add(d as u32) ^ b as u32
        } else {
            (a as u32).wrapping_sub((b >> 32) as u32)
        };
        let guarded = if first { (u64::from((a as u32).wrapping_add(1)) << 16) + (b & 0xffff) } else { (9 << 16) + 8 };
        [called.into(), c & 0xff | (b & 0xff) << 32, a as i8 as u64, guarded]
    });
}

#[test]
fn guarded_calls_recur() {
    let functions = "
        .func (.param .b64 r) even(.param .b32 n);
        .func (.param .b64 r) odd(.param .b32 n) {
            .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;
            ld.param.b32 %r1, [n]; setp.eq.u32 %p, %r1, 0; mov.u64 %rd1, 3; @%p bra E; sub.u32 %r2, %r1, 1;
            { .param .b32 m; .param .b64 q; st.param.b32 [m], %r2; call (q), even, (m); ld.param.b64 %rd2, [q]; }
            cvt.u64.u32 %rd3, %r1; mad.lo.u64 %rd1, %rd2, 3, %rd3; E: st.param.b64 [r], %rd1; ret; }
        .func (.param .b64 r) even(.param .b32 n) {
            .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p, %q; .local .align 4 .b32 keep[4];
            ld.param.b32 %r1, [n]; st.local.u32 [keep+8], %r1; setp.lt.u32 %p, %r1, 2; and.b32 %r3, %r1, 1; setp.eq.u32 %q, %r3, 1;
            mov.u64 %rd1, 1; @%p bra E; sub.u32 %r2, %r1, 1;
            { .param .b32 m; .param .b64 s; st.param.b32 [m], %r2; call (s), even, (m); ld.param.b64 %rd2, [s]; }
            ld.local.u32 %r1, [keep+8]; sub.u32 %r2, %r1, 2;
            { .param .b32 m; .param .b64 s; st.param.b32 [m], %r2; @%q call (s), odd, (m); @!%q call (s), even, (m); ld.param.b64 %rd3, [s]; }
            add.u64 %rd1, %rd2, %rd3; E: st.param.b64 [r], %rd1; ret; }";
    let body = "rem.u32 %r1, %x, 12; { .param .b32 m; .param .b64 s; st.param.b32 [m], %r1; call.uni (s), even, (m); ld.param.b64 %o0, [s]; }
        rem.u32 %r1, %y, 9; { .param .b32 m; .param .b64 s; st.param.b32 [m], %r1; call.uni (s), odd, (m); ld.param.b64 %o1, [s]; }";
    fn odd(n: u32) -> u64 {
        if n == 0 { 3 } else { 3 * even(n - 1) + u64::from(n) }
    }
    fn even(n: u32) -> u64 {
        match n {
            0 | 1 => 1,
            n if n % 2 == 1 => even(n - 1) + odd(n - 2),
            n => even(n - 1) + even(n - 2),
        }
    }
    check(functions, body, |thread, words| {
        [even(words[thread][0] as u32 % 12), odd(words[thread][1] as u32 % 9), 0, 0]
    });
}

#[test]
fn collectives_of_some_lanes() {
    let body = "and.b32 %r1, %x, 1; setp.eq.u32 %p1, %r1, 1; and.b32 %r2, %y, 1; setp.eq.u32 %p2, %r2, 1; @!%p1 bra ELSE;
        activemask.b32 %r3; vote.sync.ballot.b32 %r4, %p2, %r3; vote.sync.all.pred %p3, %p2, %r3; vote.sync.uni.pred %p4, %p2, %r3;
        mov.b64 %o0, {%r3, %r4}; selp.u64 %o1, 1, 0, %p3; selp.u64 %rd1, 2, 0, %p4; or.b64 %o1, %o1, %rd1;
        match.any.sync.b32 %r5, %r2, %r3; match.all.sync.b64 %r6|%p5, %d, %r3; cvt.u64.u32 %o2, %r5; cvt.u64.u32 %o3, %r6; bra END;
        ELSE: activemask.b32 %r3; vote.sync.ballot.b32 %r4, !%p2, %r3; mov.b64 %o0, {%r3, %r4};
        redux.sync.add.s32 %r5, %z, %r3; cvt.u64.u32 %o1, %r5; redux.sync.min.s32 %r6, %z, %r3; cvt.s64.s32 %o2, %r6; END:";
    check("", body, |thread, words| {
        let own = alike(thread, words);
        let all = mask(own.iter().copied());
        let second = |other: &&usize| words[**other][1] & 1 == 1;
        let ballot = mask(own.iter().filter(second).copied());
        if words[thread][0] & 1 == 1 {
            let kind = u64::from(ballot == all) | u64::from(ballot == all || ballot == 0) << 1;
            let same = mask(own.iter().copied().filter(|other| (words[*other][1] ^ words[thread][1]) & 1 == 0));
            let equal = own.iter().all(|other| words[*other][3] == words[thread][3]);
            [all | ballot << 32, kind, same, if equal { all } else { 0 }]
        } else {
            let third = || own.iter().map(|other| words[*other][2] as i32);
            [
                all | (all & !ballot) << 32,
                third().fold(0, i32::wrapping_add) as u32 as u64,
                third().min().unwrap() as u64,
                0,
            ]
        }
    });
}

#[test]
fn initial_contents() {
    let variables = "
        .global .align 4 .u32 rows[2][3] = {{1, 2, 3}, {4, 5}};
        .const .align 8 .b64 wide[3] = {-1, 0d3FF8000000000000, 0x123456789abcdef0};
        .global .align 4 .f32 floats[3] = {1.5, -2.0, 0f40490FDB};
        .global .align 1 .b8 text[4] = {97, 10, 98};
        .global .align 8 .u64 pointers[3] = {rows, rows+8, generic(text)+1};
        .global .align 4 .s16 narrow[4] = {-1, -32768, 65535, 5};
        .global .align 1 .u8 masked[4] = {0xff(rows), 0xff00(rows), 0xff0000(rows), 0xff000000(rows)};";
    let body = "mov.u64 %rd1, rows; ld.global.u32 %r1, [%rd1+16]; ld.global.u32 %r2, [rows+20]; ld.global.u32 %r3, [rows+4];
        mad.lo.u32 %r1, %r1, 100, %r2; mad.lo.u32 %r1, %r1, 100, %r3; cvt.u64.u32 %o0, %r1;
        ld.const.u64 %rd2, [wide]; ld.const.u64 %rd3, [wide+8]; ld.const.u64 %rd4, [wide+16]; add.u64 %o1, %rd2, %rd3; add.u64 %o1, %o1, %rd4;
        ld.global.u64 %rd5, [pointers+8]; ld.global.u32 %r4, [%rd5]; ld.global.u64 %rd6, [pointers+16]; ld.u8 %r5, [%rd6];
        ld.global.s16 %r6, [narrow+2]; ld.global.s16 %r7, [narrow+4]; add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; add.u32 %r4, %r4, %r7;
        cvt.s64.s32 %o2, %r4; ld.global.b32 %r8, [floats+8]; ld.global.b32 %r9, [floats+4]; mov.b64 %o3, {%r8, %r9};
        ld.global.u64 %rd7, [pointers]; cvt.u32.u64 %r10, %rd7; ld.global.u8 %r11, [masked+3]; shr.u32 %r12, %r10, 24; setp.ne.u32 %p1, %r11, %r12;
        ld.global.u8 %r11, [masked+1]; bfe.u32 %r12, %r10, 8, 8; setp.ne.or.u32 %p1, %r11, %r12, %p1; @%p1 trap;";
    check(variables, body, |_, _| {
        let sum = u64::MAX.wrapping_add(1.5_f64.to_bits()).wrapping_add(0x1234_5678_9abc_def0);
        let floats = u64::from(0x4049_0fdb_u32) | u64::from((-2.0_f32).to_bits()) << 32;
        [5 * 10_000 + 2, sum, (3 + 10 - 32_768 - 1_i64) as u64, floats]
    });
}

#[test]
fn atomics_in_shared_memory() {
    let body = ".shared .align 16 .b8 s[80]; mov.u32 %r1, 0; setp.ne.u32 %p1, %i, 0; @%p1 bra READY;
        ZERO: mov.u32 %r2, s; add.u32 %r2, %r2, %r1; st.shared.u64 [%r2], 0; add.u32 %r1, %r1, 8; setp.lt.u32 %p2, %r1, 80; @%p2 bra ZERO;
        READY: bar.sync 0;
        atom.shared.add.u32 %r1, [s], 1; atom.shared.inc.u32 %r2, [s+4], 6; atom.shared.dec.u32 %r3, [s+8], 6; red.shared.max.s32 [s+12], %x;
        red.shared.min.s64 [s+16], %b; red.shared.or.b64 [s+24], %c; red.shared.xor.b32 [s+32], %w; red.shared.add.f32 [s+36], 0f3f000000;
        mov.b32 %r4, 0x3c003c00; red.shared.add.noftz.f16x2 [s+40], %r4; mov.b16 %h1, 0x3f80; atom.shared.add.noftz.bf16 %h2, [s+44], %h1;
        red.shared.add.f64 [s+48], 0d3fe0000000000000; setp.eq.u32 %p3, %i, 17; mov.b128 %q0, {%a, %b};
        @%p3 atom.shared.exch.b128 %q1, [s+64], %q0; bar.sync 0;
        and.b32 %r5, %i, 1; setp.eq.u32 %p2, %r5, 1; ld.shared.v2.u64 {%o0, %o1}, [s]; ld.shared.v2.u64 {%o2, %o3}, [s+16];
        @%p2 ld.shared.v2.u64 {%o0, %o1}, [s+32]; @%p2 ld.shared.u64 %o2, [s+48]; @%p2 ld.shared.u64 %o3, [s+72];";
    check("", body, |thread, words| {
        let block = &words[thread / 64 * 64..][..64];
        if thread % 2 == 0 {
            let most = block.iter().map(|words| words[0] as i32).max().unwrap().max(0);
            let least = block.iter().map(|words| words[1] as i64).min().unwrap().min(0);
            let all = block.iter().fold(0, |all, words| all | words[2]);
            let (up, down) = (64_u64 % 7, 7 - 64_u64 % 7);
            [64 | up << 32, down | u64::from(most as u32) << 32, least as u64, all]
        } else {
            let xor = block.iter().fold(0, |all, words| all ^ words[3] as u32);
            // 32.0; 64.0 in two halves and as a bfloat.
            let floats = [u64::from(xor) | u64::from(32_f32.to_bits()) << 32, 0x5400_5400 | 0x4280 << 32];
            [floats[0], floats[1], 32_f64.to_bits(), block[17][1]]
        }
    });
}

#[test]
fn narrow_accesses_and_copies() {
    let body = ".local .align 8 .b8 kept[32]; st.local.u64 [kept], %a; st.local.u64 [kept+8], 0;
        ld.local.s8 %h1, [kept+1]; ld.local.v2.s8 {%h2, %h3}, [kept+2]; ld.local.s8 %rd1, [kept+7]; ld.local.u8 %h4, [kept+1];
        add.s16 %h2, %h2, %h3; cvt.s64.s16 %o0, %h1; cvt.s64.s16 %rd2, %h2; add.s64 %o0, %o0, %rd2; add.s64 %o0, %o0, %rd1;
        cvt.s8.s64 %h5, %b; shr.s16 %h5, %h5, 3; cvt.s64.s16 %o1, %h5; cvt.u64.u16 %rd3, %h4; shl.b64 %rd3, %rd3, 32; add.u64 %o1, %o1, %rd3;
        .shared .align 16 .b8 tile[2048]; mov.u32 %r1, tile; mad.lo.u32 %r1, %i, 32, %r1; st.shared.v2.u64 [%r1], {-1, -1};
        st.shared.u64 [%r1+16], -1; and.b32 %r2, %x, 15; cp.async.cg.shared.global [%r1], [%in], 16, %r2;
        and.b32 %r3, %y, 1; setp.eq.u32 %p1, %r3, 1; cp.async.ca.shared.global [%r1+16], [%in+16], 4, %p1;
        cp.async.commit_group; cp.async.wait_group 0; ld.shared.u64 %o2, [%r1+8]; ld.shared.u64 %o3, [%r1+16];";
    check("", body, |thread, words| {
        let [a, b, c, _] = words[thread];
        let byte = |at: u32| (a >> (8 * at)) as i8 as i64;
        let narrow = byte(1) + i64::from((byte(2) + byte(3)) as i16) + byte(7);
        let shifted = i64::from((b as i8) >> 3) as u64;
        let copied = (a & 15) as u32;
        let upper = if copied <= 8 { 0 } else { b & u64::MAX >> (128 - 8 * copied) };
        let ignored = if b & 1 == 1 { 0 } else { c & 0xffff_ffff };
        [narrow as u64, shifted.wrapping_add((a >> 8 & 0xff) << 32), upper, ignored | 0xffff_ffff << 32]
    });
}
