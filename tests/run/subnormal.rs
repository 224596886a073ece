//! Atomic and asynchronous sums of subnormal numbers: where they are flushed to zero.

use crate::machine::on_one_thread;
use ptx_isa::run::Grid;

/// Sums in global memory and shared memory, each into an element of its own, by one thread.
const SUMS: [&str; 12] = [
    "atom.global.add.f32 %r, [%out], %x;",
    "red.global.add.f32 [%out+4], %x;",
    "atom.shared.add.f32 %r, [word], %x; ld.shared.b32 %w, [word]; st.global.b32 [%out+8], %w;",
    "st.shared.b32 [word], %x; red.shared.add.f32 [word], %x; ld.shared.b32 %w, [word]; st.global.b32 [%out+12], %w;",
    "atom.add.f32 %r, [%out+16], %x;",
    "atom.global.v2.f32.add {%r, %r2}, [%out+24], {%x, %x};",
    "red.global.v2.f32.add [%out+32], {%x, %x};",
    "atom.global.add.noftz.f16x2 %w, [%out+40], %h;",
    "red.global.add.noftz.bf16x2 [%out+44], %h;",
    "atom.shared.add.noftz.f16x2 %w, [half], %h; ld.shared.b32 %w, [half]; st.global.b32 [%out+48], %w;",
    "add.f32 %r, %x, %x; st.global.b32 [%out+52], %r; add.ftz.f32 %r, %x, %x; st.global.b32 [%out+56], %r;",
    "fma.rn.f32 %r, %x, %n, %x; st.global.b32 [%out+60], %r;",
];

#[test]
fn sums_of_subnormal_numbers() {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n\
        .visible .entry sums(.param .u64 out, .param .f32 x, .param .f32 n, .param .b32 h) {{\n\
        .shared .align 8 .b32 word; .shared .align 8 .b32 half; .reg .b64 %out; .reg .f32 %x, %n, %r, %r2; .reg .b32 %w, %h;\n\
        ld.param.u64 %out, [out]; ld.param.f32 %x, [x]; ld.param.f32 %n, [n]; ld.param.b32 %h, [h];\n\
        st.shared.b32 [word], %x; st.shared.b32 [half], %h;\n{}\nret; }}\n",
        SUMS.join("\n")
    );
    on_one_thread(&text, |machine| {
        let x = f32::from_bits(3);
        let mut words = [x.to_bits(); 16];
        let half = 0x0003_0003_u32;
        words[10..13].fill(half);
        let out = machine.upload(&words);
        machine.run("sums", Grid::new(1, 1), &[out.into(), x.into(), (-x).into(), half.into()]);
        let flushed = [0, 0, 6, 6, 0, 3, 0, 0, 0, 0, 0x0006_0006, 0x0006_0006, 0x0006_0006, 6, 0, 3];
        assert_eq!(machine.download::<u32>(out, 16), flushed);
    });
}

/// By generic addresses, and in another block of a cluster: sums are flushed in global memory alone, wherever an address comes from.
#[test]
fn sums_by_generic_addresses() {
    let text = "
        .version 8.4
        .target sm_90
        .address_size 64
        .visible .entry sums(.param .u64 out, .param .f32 x) {
            .shared .align 8 .b32 word; .reg .b64 %out, %at, %near, %far; .reg .f32 %x, %r; .reg .b32 %w, %rank, %t; .reg .pred %p;
            ld.param.u64 %out, [out]; ld.param.f32 %x, [x]; st.shared.f32 [word], %x; mov.u32 %t, %tid.x;
            mov.b64 %near, word; cvta.shared.u64 %near, %near; mov.u32 %rank, %cluster_ctarank; xor.b32 %w, %rank, 1;
            mapa.u64 %far, %near, %w; barrier.cluster.arrive; barrier.cluster.wait;
            setp.eq.u32 %p, %t, 0; selp.b64 %at, %near, %out, %p; setp.le.u32 %p, %t, 1;
            @%p atom.add.f32 %r, [%at], %x; mad.wide.u32 %at, %t, 4, %out; @%p st.global.f32 [%at+16], %r;
            setp.eq.u32 %p, %t, 2; @%p red.add.f32 [%far], %x;
            barrier.cluster.arrive; barrier.cluster.wait; setp.ne.u32 %p, %t, 3; @%p ret;
            ld.shared.b32 %w, [word]; mad.wide.u32 %at, %rank, 4, %out; st.global.b32 [%at+24], %w; ret;
        }";
    on_one_thread(text, |machine| {
        let x = f32::from_bits(3);
        let out = machine.upload(&[x.to_bits(); 8]);
        machine.run("sums", Grid::new(2, 4).cluster(2), &[out.into(), x.into()]);
        let found = machine.download::<u32>(out, 8);
        // The sum in global memory, and the words of both blocks after two sums each.
        assert_eq!((found[0], &found[6..]), (0, &[9, 9][..]));
    });
}
