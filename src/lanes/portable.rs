//! The level that every machine has.

use super::values::sealed;
use super::{BIT, Kernel, Pick, Simd, WARP, Word, reinterpret};

/// The level that every machine has.
#[derive(Clone, Copy)]
pub(super) struct Portable(pub(super) ());

impl sealed::Sealed for Portable {}

impl Simd for Portable {
    const MASKS: bool = false;
    const WIDTH: usize = 16;

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: the level needs no features.
        unsafe { super::run::portable::call(kernel) }
    }

    #[inline(always)]
    fn mask<const N: usize>(self, lanes: &[i8; N], _: u32) -> u128 {
        let (mut mask, mut lane) = (0, 0);
        // Multiplied, the eight lowest bits of a word's bytes meet in its highest byte.
        for eight in lanes.as_chunks::<8>().0 {
            let word = u64::from_le_bytes(eight.map(|lane| lane as u8)) & 0x0101_0101_0101_0101;
            mask |= u128::from(word.wrapping_mul(0x0102_0408_1020_4080) >> 56) << lane;
            lane += 8;
        }
        mask
    }

    #[inline(always)]
    fn unzip(self, mask: u64) -> (u32, u32) {
        // Bits at even places move together, by twice the distance each time.
        let even = |mut bits: u64| {
            bits &= 0x5555_5555_5555_5555;
            bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
            bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
            bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
            bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
            (bits | bits >> 16) as u32
        };
        (even(mask), even(mask >> 1))
    }

    #[inline(always)]
    fn twice(self, mask: u32) -> u64 {
        let mut bits = u64::from(mask);
        bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
        bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
        bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
        bits = (bits | bits << 1) & 0x5555_5555_5555_5555;
        bits | bits << 1
    }

    #[inline(always)]
    fn select<W: Word, const N: usize>(self, mask: u128, yes: &[W; N], no: &[W; N]) -> [W; N] {
        let mut lanes = *no;
        let mut lane = 0;
        while lane < N {
            let word = (mask >> (lane & !31)) as u32;
            lanes[lane] = if word & BIT[lane & 31] != 0 { yes[lane] } else { no[lane] };
            lane += 1;
        }
        lanes
    }

    #[inline(always)]
    fn count<const EACH: usize>(self, mask: u128) -> [u32; WARP] {
        let mut count = [0; WARP];
        let mut lane = 0;
        while lane < WARP {
            let word = (mask >> ((EACH * lane) & !31)) as u32;
            let shift = (EACH * lane) & 31;
            count[lane] = (word >> shift & ((1 << EACH) - 1)).count_ones();
            lane += 1;
        }
        count
    }

    #[inline(always)]
    fn pick(self, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128] {
        let mut picked = [0; WARP];
        let mut byte = 0;
        while byte < 4 {
            let from = u32::from(pick.bytes >> (4 * byte) & 15);
            let shift = 8 * (from & 3);
            let (keep_a, keep_b) = if from < 4 { (0xff, 0) } else { (0, 0xff) };
            let mut lane = 0;
            while lane < WARP {
                picked[lane] |= ((a[lane] >> shift & keep_a) | (b[lane] >> shift & keep_b)) << (8 * byte);
                lane += 1;
            }
            byte += 1;
        }
        reinterpret(picked)
    }
}
