//! Products in tensor memory that add an accumulator times a power of two, below the least normal number.

use half::f16;
use ptx_isa::run::{Grid, Memory, Module};

/// The factors are zero, so that the result is what is left of the accumulator.
const TEXT: &str = "
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 io) {
    .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p<4>;
    .shared .align 1024 .b8 zeros[8192]; .shared .align 8 .b64 bar; .shared .align 4 .b32 place;
    mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [io]; mul.wide.u32 %rd1, %r0, 4; add.s64 %rd0, %rd0, %rd1;
    shr.u32 %r4, %r0, 5; setp.eq.u32 %p1, %r4, 0; setp.eq.u32 %p2, %r0, 0; setp.eq.u32 %p3, 0, 0;
    @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 32;
    @%p2 mbarrier.init.shared.b64 [bar], 1;
    bar.sync 0; tcgen05.fence::after_thread_sync;
    ld.shared.b32 %r5, [place]; shl.b32 %r6, %r4, 21; add.u32 %r6, %r6, %r5; ld.global.b32 %r7, [%rd0];
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r7}; tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
    mov.u32 %r1, zeros; shr.u32 %r1, %r1, 4; cvt.u64.u32 %rd2, %r1; or.b64 %rd2, %rd2, 0x0000400800080000;
    @%p2 tcgen05.mma.cta_group::1.kind::f16 [%r5], %rd2, %rd2, SHAPE, %p3, POWER;
    @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra WAIT;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r7}, [%r6]; tcgen05.wait::ld.sync.aligned; st.global.b32 [%rd0], %r7;
    bar.sync 0; @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 32;
    ret;
}";

fn scaled(shape: u32, power: u32, accumulators: &[u32]) -> Vec<u32> {
    let memory = Memory::new();
    let text = TEXT.replace("SHAPE", &shape.to_string()).replace("POWER", &power.to_string());
    let kernel = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
    let mut all = accumulators.to_vec();
    all.resize(128, 0);
    let io = memory.upload(&all);
    kernel.launch(Grid::new(1, 128), &[io.into()]).unwrap_or_else(|error| panic!("{error}"));
    memory.download(io, accumulators.len()).unwrap()
}

#[test]
fn small_accumulators_are_truncated_to_subnormal_numbers() {
    let accumulators = [0x3f80_0000, 0x0080_0000, 0x8027_3f53, 1, 0x0100_0000, 0x0780_0001, 0xff7f_ffff, 0x007f_ffff];
    for power in [0, 1, 14, 15] {
        let exact = |bits: u32| f64::from(f32::from_bits(bits)) / f64::from(1 << power);
        let expected = accumulators.map(|bits| {
            let least = 2_f64.powi(-149);
            let exact = exact(bits);
            // Of normal numbers nothing is lost; of others what is below the least number.
            let kept = if exact.abs() < 2_f64.powi(-126) { (exact / least).trunc() * least } else { exact };
            if kept == 0.0 { 0 } else { (kept as f32).to_bits() }
        });
        // Rows of bfloat16, 8 columns of single precision.
        assert_eq!(scaled(0x0802_0490, power, &accumulators), expected, "{power}");
    }
}

#[test]
fn small_accumulators_of_half_precision_are_rounded_to_subnormal_numbers() {
    let accumulators = [0x0400, 0x3c00, 0x0001, 0x0003, 0x87ff, 0x7bff_u16];
    for power in [0, 1, 5] {
        let expected = accumulators.map(|bits| {
            let rounded = f16::from_f64(f16::from_bits(bits).to_f64() / f64::from(1 << power));
            if rounded == f16::ZERO { 0 } else { rounded.to_bits() }
        });
        let found = scaled(0x0802_0000, power, &accumulators.map(u32::from));
        assert_eq!(found.iter().map(|bits| *bits as u16).collect::<Vec<_>>(), expected, "{power}");
    }
}
