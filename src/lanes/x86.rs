//! The levels of x86-64.

use core::arch::x86_64::*;

use super::level::widen;
use super::values::sealed;
use super::{Pick, Simd, WARP, Word};

/// AVX2, BMI1, BMI2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(pub(super) ());

/// AVX-512 F, BW, DQ, VL, and what [`Avx2`] has.
#[derive(Clone, Copy)]
pub(super) struct Avx512(pub(super) ());

impl sealed::Sealed for Avx2 {}
impl sealed::Sealed for Avx512 {}

/// Where each word of a vector of 128 bits has its bytes.
const WORDS: [u32; 4] = [0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c];

// SAFETY, of all blocks in the two implementations: a value of the level's type exists only where its features
// do. A load or store of a vector at `round` touches the bytes from `round * size_of::<vector>()` of an array, and
// rounds end where the array does.

impl Simd for Avx2 {
    const MASKS: bool = false;

    #[inline(always)]
    fn mask<const N: usize>(self, lanes: &[i8; N], _: u32) -> u128 {
        let mut mask = 0;
        let mut round = 0;
        while round < N / 32 {
            // SAFETY: see above.
            let part =
                unsafe { _mm256_movemask_epi8(_mm256_loadu_si256(lanes.as_ptr().cast::<__m256i>().add(round))) as u32 };
            mask |= u128::from(part) << (32 * round);
            round += 1;
        }
        mask
    }

    #[inline(always)]
    fn unzip(self, mask: u64) -> (u32, u32) {
        // SAFETY: see above.
        unsafe { (_pext_u64(mask, 0x5555_5555_5555_5555) as u32, _pext_u64(mask, 0xaaaa_aaaa_aaaa_aaaa) as u32) }
    }

    #[inline(always)]
    fn twice(self, mask: u32) -> u64 {
        // SAFETY: see above.
        3 * unsafe { _pdep_u64(mask.into(), 0x5555_5555_5555_5555) }
    }

    #[inline(always)]
    fn select<W: Word, const N: usize>(self, mask: u128, yes: &[W; N], no: &[W; N]) -> [W; N] {
        let mut lanes = *no;
        let each = 256 / W::BITS as usize;
        let mut round = 0;
        while round < N / each {
            let part = (mask >> (round * each)) as u32 as i32;
            // SAFETY: see above.
            unsafe {
                let whole = match W::BITS {
                    8 => {
                        let spread =
                            _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
                        let bits = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
                        let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(part), spread);
                        _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bits), bits)
                    }
                    16 => {
                        let bits = _mm256_setr_epi16(
                            1,
                            2,
                            4,
                            8,
                            16,
                            32,
                            64,
                            128,
                            256,
                            512,
                            1024,
                            2048,
                            4096,
                            8192,
                            16384,
                            i16::MIN,
                        );
                        _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16(part as i16), bits), bits)
                    }
                    32 => {
                        let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
                        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(part), bits), bits)
                    }
                    _ => {
                        let bits = _mm256_setr_epi64x(1, 2, 4, 8);
                        _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(i64::from(part)), bits), bits)
                    }
                };
                let yes = _mm256_loadu_si256(yes.as_ptr().cast::<__m256i>().add(round));
                let no = _mm256_loadu_si256(no.as_ptr().cast::<__m256i>().add(round));
                let chosen = _mm256_blendv_epi8(no, yes, whole);
                _mm256_storeu_si256(lanes.as_mut_ptr().cast::<__m256i>().add(round), chosen);
            }
            round += 1;
        }
        lanes
    }

    #[inline(always)]
    fn count<const EACH: usize>(self, mask: u128) -> [u32; WARP] {
        let mut count = [0; WARP];
        if EACH == 4 {
            let ones: [u8; 128] = self.select(mask, &[1; 128], &[0; 128]);
            let mut round = 0;
            while round < 4 {
                // SAFETY: see above.
                unsafe {
                    let ones = _mm256_loadu_si256(ones.as_ptr().cast::<__m256i>().add(round));
                    let pairs = _mm256_maddubs_epi16(ones, _mm256_set1_epi8(1));
                    let sums = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
                    _mm256_storeu_si256(count.as_mut_ptr().cast::<__m256i>().add(round), sums);
                }
                round += 1;
            }
        } else {
            let ones: [u16; 64] = self.select(mask, &[1; 64], &[0; 64]);
            let mut round = 0;
            while round < 4 {
                // SAFETY: see above.
                unsafe {
                    let ones = _mm256_loadu_si256(ones.as_ptr().cast::<__m256i>().add(round));
                    let sums = _mm256_madd_epi16(ones, _mm256_set1_epi16(1));
                    _mm256_storeu_si256(count.as_mut_ptr().cast::<__m256i>().add(round), sums);
                }
                round += 1;
            }
        }
        count
    }

    /// Sixteen bits are told apart: of one loop for both widths the compiler would make vectors of the wide one.
    #[inline(always)]
    fn widen<V: Word, W: Word>(self, lanes: &[V; WARP]) -> [W; WARP] {
        if (V::BITS, W::BITS) != (16, 32) {
            return widen(lanes);
        }
        let mut wide = [W::default(); WARP];
        let mut round = 0;
        while round < 2 {
            // SAFETY: see above; a round writes twice as many bytes as it reads.
            unsafe {
                let both = _mm256_loadu_si256(lanes.as_ptr().cast::<__m256i>().add(round));
                let to = wide.as_mut_ptr().cast::<__m256i>().add(2 * round);
                _mm256_storeu_si256(to, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(both)));
                _mm256_storeu_si256(to.add(1), _mm256_cvtepi16_epi32(_mm256_extracti128_si256::<1>(both)));
            }
            round += 1;
        }
        wide
    }

    #[inline(always)]
    fn pick(self, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128] {
        let mut picked = [0; 128];
        // SAFETY: see above.
        unsafe {
            let words = _mm256_broadcastsi128_si256(_mm_loadu_si128(WORDS.as_ptr().cast()));
            let first = _mm256_or_si256(_mm256_set1_epi32(pick.first as i32), words);
            let second = _mm256_or_si256(_mm256_set1_epi32(pick.second as i32), words);
            let mut round = 0;
            while round < 4 {
                let a = _mm256_loadu_si256(a.as_ptr().cast::<__m256i>().add(round));
                let b = _mm256_loadu_si256(b.as_ptr().cast::<__m256i>().add(round));
                let both = _mm256_or_si256(_mm256_shuffle_epi8(a, first), _mm256_shuffle_epi8(b, second));
                _mm256_storeu_si256(picked.as_mut_ptr().cast::<__m256i>().add(round), both);
                round += 1;
            }
        }
        picked
    }
}

impl Simd for Avx512 {
    const MASKS: bool = true;

    #[inline(always)]
    fn mask<const N: usize>(self, lanes: &[i8; N], compared: u32) -> u128 {
        // As many lanes at once as one comparison made: its mask is used as it is.
        let each = match compared {
            8 => 64,
            16 => 32,
            _ => 16,
        };
        let each = if N < each { N } else { each };
        let mut mask = 0;
        let mut lane = 0;
        while lane < N {
            let part = lanes.as_ptr().wrapping_add(lane);
            // SAFETY: see above.
            let part = unsafe {
                match each {
                    64 => _mm512_movepi8_mask(_mm512_loadu_si512(part.cast())),
                    32 => _mm256_movepi8_mask(_mm256_loadu_si256(part.cast())).into(),
                    _ => _mm_movepi8_mask(_mm_loadu_si128(part.cast())).into(),
                }
            };
            mask |= u128::from(part) << lane;
            lane += each;
        }
        mask
    }

    #[inline(always)]
    fn unzip(self, mask: u64) -> (u32, u32) {
        Avx2(()).unzip(mask)
    }

    #[inline(always)]
    fn twice(self, mask: u32) -> u64 {
        Avx2(()).twice(mask)
    }

    #[inline(always)]
    fn select<W: Word, const N: usize>(self, mask: u128, yes: &[W; N], no: &[W; N]) -> [W; N] {
        let mut lanes = *no;
        let each = 512 / W::BITS as usize;
        let mut round = 0;
        while round < N / each {
            let part = (mask >> (round * each)) as u64;
            // SAFETY: see above.
            unsafe {
                let yes = _mm512_loadu_si512(yes.as_ptr().cast::<__m512i>().add(round));
                let no = _mm512_loadu_si512(no.as_ptr().cast::<__m512i>().add(round));
                let chosen = match W::BITS {
                    8 => _mm512_mask_blend_epi8(part, no, yes),
                    16 => _mm512_mask_blend_epi16(part as u32, no, yes),
                    32 => _mm512_mask_blend_epi32(part as u16, no, yes),
                    _ => _mm512_mask_blend_epi64(part as u8, no, yes),
                };
                _mm512_storeu_si512(lanes.as_mut_ptr().cast::<__m512i>().add(round), chosen);
            }
            round += 1;
        }
        lanes
    }

    #[inline(always)]
    fn count<const EACH: usize>(self, mask: u128) -> [u32; WARP] {
        let mut count = [0; WARP];
        let mut round = 0;
        while round < 2 {
            let part = (mask >> (16 * EACH * round)) as u64;
            // SAFETY: see above.
            unsafe {
                // Two factors of -1: a mask becomes lanes of ones, not of one.
                let minus_one = _mm512_set1_epi16(-1);
                let sums = match EACH {
                    4 => {
                        let pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), _mm512_movm_epi8(part));
                        _mm512_madd_epi16(pairs, minus_one)
                    }
                    _ => _mm512_madd_epi16(_mm512_movm_epi16(part as u32), minus_one),
                };
                _mm512_storeu_si512(count.as_mut_ptr().cast::<__m512i>().add(round), sums);
            }
            round += 1;
        }
        count
    }

    #[inline(always)]
    fn pick(self, a: &[u32; WARP], b: &[u32; WARP], pick: &Pick) -> [u8; 128] {
        let mut picked = [0; 128];
        // SAFETY: see above.
        unsafe {
            let words = _mm512_broadcast_i32x4(_mm_loadu_si128(WORDS.as_ptr().cast()));
            let first = _mm512_or_si512(_mm512_set1_epi32(pick.first as i32), words);
            let second = _mm512_or_si512(_mm512_set1_epi32(pick.second as i32), words);
            let mut round = 0;
            while round < 2 {
                let a = _mm512_loadu_si512(a.as_ptr().cast::<__m512i>().add(round));
                let b = _mm512_loadu_si512(b.as_ptr().cast::<__m512i>().add(round));
                let both = _mm512_or_si512(_mm512_shuffle_epi8(a, first), _mm512_shuffle_epi8(b, second));
                _mm512_storeu_si512(picked.as_mut_ptr().cast::<__m512i>().add(round), both);
                round += 1;
            }
        }
        picked
    }
}
