//! The levels of x86-64.

use core::arch::x86_64::*;
use core::convert::identity;

use super::level::{gather, has_feature, widen};
use super::run::{avx2, avx512};
use super::values::sealed;
use super::{Kernel, Pick, Simd, WARP, Word};
use crate::eval::rounding::{RM, RN, RZ};

/// AVX2, BMI1, BMI2, F16C, FMA.
#[derive(Clone, Copy)]
pub(super) struct Avx2(pub(super) ());

/// AVX-512 F, BW, DQ, VL, and what [`Avx2`] has.
#[derive(Clone, Copy)]
pub(super) struct Avx512(pub(super) ());

impl sealed::Sealed for Avx2 {}
impl sealed::Sealed for Avx512 {}

/// Suppresses floating-point exceptions; required by intrinsics with an explicit rounding mode.
const QUIET: i32 = _MM_FROUND_NO_EXC;

/// Byte offset of each 32-bit word in a 128-bit vector, repeated in the four bytes of the word.
const WORDS: [u32; 4] = [0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c];

/// An intrinsic with the rounding that is asked for, and flags.
macro_rules! rounded {
    ($flags:expr, $intrinsic:ident($($arg:ident),*)) => {
        match ROUNDING {
            RN => $intrinsic::<{ $flags | _MM_FROUND_TO_NEAREST_INT }>($($arg),*),
            RZ => $intrinsic::<{ $flags | _MM_FROUND_TO_ZERO }>($($arg),*),
            RM => $intrinsic::<{ $flags | _MM_FROUND_TO_NEG_INF }>($($arg),*),
            _ => $intrinsic::<{ $flags | _MM_FROUND_TO_POS_INF }>($($arg),*),
        }
    };
}

/// The lanes of a result, vector by vector: how vectors of the arguments are read and those of the result are written, and
/// the value of each.
macro_rules! vectors {
    ($from:ident $load:ident, $to:ident $store:ident, |$($arg:ident)*| $value:expr) => {{
        let mut lanes = [0; N];
        let mut round = 0;
        while round < size_of_val(&lanes) / size_of::<$to>() {
            // SAFETY: see below.
            unsafe {
                $(let $arg = $load($arg.as_ptr().cast::<$from>().add(round));)*
                $store(lanes.as_mut_ptr().cast::<$to>().add(round), $value);
            }
            round += 1;
        }
        lanes
    }};
}

/// Functions of floats: how vectors are read and written, for which roundings there are such functions, and each one's
/// vectors of floats from those of bits, its value, and its bits.
macro_rules! floats {
    ($from:ident $load:ident, $to:ident $store:ident, $roundings:pat => $(
        $name:ident($($arg:ident)*) $word:ident -> $result:ident, $floats:ident $value:expr => $bits:ident;
    )*) => {$(
        #[inline(always)]
        fn $name<const ROUNDING: u8, const N: usize>(self, $($arg: &[$word; N]),*) -> Option<[$result; N]> {
            if !matches!(ROUNDING, $roundings) {
                return None;
            }
            Some(vectors!($from $load, $to $store, |$($arg)*| {
                $(let $arg = $floats($arg);)*
                $bits($value)
            }))
        }
    )*};
}

// SAFETY, of all blocks in the two implementations: a value of the level's type exists only where its features
// do. A load or store of a vector at `round` touches the bytes from `round * size_of::<vector>()` of an array, and
// rounds end where the array does.

impl Simd for Avx2 {
    const MASKS: bool = false;
    const WIDTH: usize = 32;

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: see above.
        unsafe { avx2::call(kernel) }
    }

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

    /// Handles 16 to 32 bits separately: from a generic loop the compiler would make vectors of the wide type only.
    #[inline(always)]
    fn widen<V: Word, W: Word>(self, lanes: &[V; WARP]) -> [W; WARP] {
        if (V::BITS, W::BITS) != (16, 32) {
            return widen(lanes);
        }
        let mut wide = [W::default(); WARP];
        let mut round = 0;
        while round < 2 {
            // SAFETY: see above; each round writes twice the number of bytes that it reads.
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

    #[inline(always)]
    fn byte_permute<const N: usize>(self, a: &[u32; N], b: &[u32; N], control: &[u32; N]) -> Option<[u32; N]> {
        Some(vectors!(__m256i _mm256_loadu_si256, __m256i _mm256_storeu_si256, |a b control| {
            // Spread the selectors to one byte each; the upper 16 bits of `control` are ignored.
            let halves = _mm256_and_si256(control, _mm256_set1_epi32(0xffff));
            let bytes = _mm256_or_si256(halves, _mm256_slli_epi32::<8>(halves));
            let bytes = _mm256_and_si256(bytes, _mm256_set1_epi32(0x00ff_00ff));
            let digits = _mm256_or_si256(bytes, _mm256_slli_epi32::<4>(bytes));
            let words = _mm256_broadcastsi128_si256(_mm_loadu_si128(WORDS.as_ptr().cast()));
            let place = _mm256_or_si256(_mm256_and_si256(digits, _mm256_set1_epi8(3)), words);
            // A digit's bits that choose are shifted to the highest one of its byte.
            let second = _mm256_slli_epi32::<5>(digits);
            let picked = _mm256_blendv_epi8(_mm256_shuffle_epi8(a, place), _mm256_shuffle_epi8(b, place), second);
            let sign = _mm256_cmpgt_epi8(_mm256_setzero_si256(), picked);
            _mm256_blendv_epi8(picked, sign, _mm256_slli_epi32::<4>(digits))
        }))
    }

    floats! {
        __m256i _mm256_loadu_si256, __m256i _mm256_storeu_si256, RZ =>
        truncate(a) u32 -> u32, _mm256_castsi256_ps _mm256_cvttps_epi32(a) => identity;
        max_s32(a b) u32 -> u32, identity _mm256_max_epi32(a, b) => identity;
    }

    floats! {
        __m256i _mm256_loadu_si256, __m256i _mm256_storeu_si256, RN =>
        fma_f32(a b c) u32 -> u32, _mm256_castsi256_ps _mm256_fmadd_ps(a, b, c) => _mm256_castps_si256;
        sqrt_f32(a) u32 -> u32, _mm256_castsi256_ps _mm256_sqrt_ps(a) => _mm256_castps_si256;
        fma_f64(a b c) u64 -> u64, _mm256_castsi256_pd _mm256_fmadd_pd(a, b, c) => _mm256_castpd_si256;
        sqrt_f64(a) u64 -> u64, _mm256_castsi256_pd _mm256_sqrt_pd(a) => _mm256_castpd_si256;
    }

    floats! {
        __m128i _mm_loadu_si128, __m256i _mm256_storeu_si256, _ =>
        single(a) u16 -> u32, identity _mm256_cvtph_ps(a) => _mm256_castps_si256;
    }

    floats! {
        __m256i _mm256_loadu_si256, __m128i _mm_storeu_si128, _ =>
        half(a) u32 -> u16, _mm256_castsi256_ps rounded!(0, _mm256_cvtps_ph(a)) => identity;
    }

    #[inline(always)]
    fn dot_bytes(self, rows: &[[u32; 16]], columns: &[u32], sums: &mut [[u32; 16]]) {
        for (column, sums) in columns.chunks_exact(rows.len()).zip(sums) {
            // SAFETY: see above; a row has the bytes of two vectors.
            unsafe {
                let mut totals = [_mm256_setzero_si256(); 2];
                for (row, bytes) in rows.iter().zip(column) {
                    let signed = _mm256_set1_epi32(bytes.cast_signed());
                    // Bytes at odd places, and those at even ones.
                    let odd = _mm256_srai_epi16::<8>(signed);
                    let even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(signed));
                    let mut half = 0;
                    while half < 2 {
                        let unsigned = _mm256_loadu_si256(row.as_ptr().cast::<__m256i>().add(half));
                        let odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(unsigned), odd);
                        let even = _mm256_madd_epi16(_mm256_and_si256(unsigned, _mm256_set1_epi16(0xff)), even);
                        totals[half] = _mm256_add_epi32(totals[half], _mm256_add_epi32(odd, even));
                        half += 1;
                    }
                }
                _mm256_storeu_si256(sums.as_mut_ptr().cast(), totals[0]);
                _mm256_storeu_si256(sums.as_mut_ptr().cast::<__m256i>().add(1), totals[1]);
            }
        }
    }
}

impl Simd for Avx512 {
    const MASKS: bool = true;
    const WIDTH: usize = 64;

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: see above.
        unsafe { avx512::call(kernel) }
    }

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

    /// Permutes all words of a few registers, and selects.
    #[inline(always)]
    fn gather(self, words: &[u32], places: &[u32; 16]) -> [u32; 16] {
        let (rows, rest) = words.as_chunks::<WARP>();
        if rows.len() > 8 || !rest.is_empty() {
            return gather(words, places);
        }
        let mut gathered = [0; 16];
        // SAFETY: see above; a row is two vectors.
        let inside = unsafe {
            let at = _mm512_loadu_si512(places.as_ptr().cast());
            let (row, mut all) = (_mm512_srli_epi32::<5>(at), _mm512_setzero_si512());
            for (index, words) in rows.iter().enumerate() {
                let own = _mm512_cmpeq_epi32_mask(row, _mm512_set1_epi32(index as i32));
                let low = _mm512_loadu_si512(words.as_ptr().cast());
                let high = _mm512_loadu_si512(words.as_ptr().cast::<__m512i>().add(1));
                all = _mm512_or_si512(all, _mm512_maskz_permutex2var_epi32(own, low, at, high));
            }
            _mm512_storeu_si512(gathered.as_mut_ptr().cast(), all);
            _mm512_cmpge_epu32_mask(at, _mm512_set1_epi32(words.len() as i32)) == 0
        };
        assert!(inside, "places within the words");
        gathered
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

    floats! {
        __m512i _mm512_loadu_si512, __m512i _mm512_storeu_si512, _ =>
        add_f32(a b) u32 -> u32, _mm512_castsi512_ps rounded!(QUIET, _mm512_add_round_ps(a, b)) => _mm512_castps_si512;
        mul_f32(a b) u32 -> u32, _mm512_castsi512_ps rounded!(QUIET, _mm512_mul_round_ps(a, b)) => _mm512_castps_si512;
        fma_f32(a b c) u32 -> u32, _mm512_castsi512_ps rounded!(QUIET, _mm512_fmadd_round_ps(a, b, c)) => _mm512_castps_si512;
        sqrt_f32(a) u32 -> u32, _mm512_castsi512_ps rounded!(QUIET, _mm512_sqrt_round_ps(a)) => _mm512_castps_si512;
        // The instructions keep the first of two NaNs, `add` and `mul` of PTX the second.
        add_f64(a b) u64 -> u64, _mm512_castsi512_pd rounded!(QUIET, _mm512_add_round_pd(b, a)) => _mm512_castpd_si512;
        mul_f64(a b) u64 -> u64, _mm512_castsi512_pd rounded!(QUIET, _mm512_mul_round_pd(b, a)) => _mm512_castpd_si512;
        fma_f64(a b c) u64 -> u64, _mm512_castsi512_pd rounded!(QUIET, _mm512_fmadd_round_pd(a, b, c)) => _mm512_castpd_si512;
        sqrt_f64(a) u64 -> u64, _mm512_castsi512_pd rounded!(QUIET, _mm512_sqrt_round_pd(a)) => _mm512_castpd_si512;
    }

    floats! {
        __m512i _mm512_loadu_si512, __m512i _mm512_storeu_si512, RZ =>
        truncate(a) u32 -> u32, _mm512_castsi512_ps _mm512_cvttps_epi32(a) => identity;
        max_s32(a b) u32 -> u32, identity _mm512_max_epi32(a, b) => identity;
    }

    floats! {
        __m256i _mm256_loadu_si256, __m512i _mm512_storeu_si512, _ =>
        single(a) u16 -> u32, identity _mm512_cvtph_ps(a) => _mm512_castps_si512;
    }

    floats! {
        __m512i _mm512_loadu_si512, __m256i _mm256_storeu_si256, _ =>
        half(a) u32 -> u16, _mm512_castsi512_ps rounded!(QUIET, _mm512_cvtps_ph(a)) => identity;
    }

    #[inline(always)]
    fn logic3<const N: usize>(self, a: &[u32; N], b: &[u32; N], c: &[u32; N], table: &[u32; N]) -> Option<[u32; N]> {
        // The truth table must be an immediate. The branches yield vectors, because arrays would be copied.
        macro_rules! by_table {
            ($a:ident, $b:ident, $c:ident; $($table:literal)*) => {
                match table[0] as u8 {
                    $($table => [
                        _mm512_ternarylogic_epi32::<$table>($a[0], $b[0], $c[0]),
                        _mm512_ternarylogic_epi32::<$table>($a[1], $b[1], $c[1]),
                    ],)*
                }
            };
        }
        // Two vectors a round.
        const { assert!(N.is_multiple_of(32)) };
        let mut lanes = [0; N];
        let mut round = 0;
        while round < N / 16 {
            // SAFETY: see above.
            unsafe {
                macro_rules! load {
                    ($from:ident) => {{
                        let from = $from.as_ptr().cast::<__m512i>().add(round);
                        [_mm512_loadu_si512(from), _mm512_loadu_si512(from.add(1))]
                    }};
                }
                let first = _mm512_set1_epi32(table[0].cast_signed());
                let [low, high] = load!(table);
                if _mm512_cmpneq_epi32_mask(low, first) | _mm512_cmpneq_epi32_mask(high, first) != 0 {
                    return None;
                }
                let (a, b, c) = (load!(a), load!(b), load!(c));
                let [low, high] = by_table! { a, b, c;
                    0x00 0x01 0x02 0x03 0x04 0x05 0x06 0x07 0x08 0x09 0x0a 0x0b 0x0c 0x0d 0x0e 0x0f
                    0x10 0x11 0x12 0x13 0x14 0x15 0x16 0x17 0x18 0x19 0x1a 0x1b 0x1c 0x1d 0x1e 0x1f
                    0x20 0x21 0x22 0x23 0x24 0x25 0x26 0x27 0x28 0x29 0x2a 0x2b 0x2c 0x2d 0x2e 0x2f
                    0x30 0x31 0x32 0x33 0x34 0x35 0x36 0x37 0x38 0x39 0x3a 0x3b 0x3c 0x3d 0x3e 0x3f
                    0x40 0x41 0x42 0x43 0x44 0x45 0x46 0x47 0x48 0x49 0x4a 0x4b 0x4c 0x4d 0x4e 0x4f
                    0x50 0x51 0x52 0x53 0x54 0x55 0x56 0x57 0x58 0x59 0x5a 0x5b 0x5c 0x5d 0x5e 0x5f
                    0x60 0x61 0x62 0x63 0x64 0x65 0x66 0x67 0x68 0x69 0x6a 0x6b 0x6c 0x6d 0x6e 0x6f
                    0x70 0x71 0x72 0x73 0x74 0x75 0x76 0x77 0x78 0x79 0x7a 0x7b 0x7c 0x7d 0x7e 0x7f
                    0x80 0x81 0x82 0x83 0x84 0x85 0x86 0x87 0x88 0x89 0x8a 0x8b 0x8c 0x8d 0x8e 0x8f
                    0x90 0x91 0x92 0x93 0x94 0x95 0x96 0x97 0x98 0x99 0x9a 0x9b 0x9c 0x9d 0x9e 0x9f
                    0xa0 0xa1 0xa2 0xa3 0xa4 0xa5 0xa6 0xa7 0xa8 0xa9 0xaa 0xab 0xac 0xad 0xae 0xaf
                    0xb0 0xb1 0xb2 0xb3 0xb4 0xb5 0xb6 0xb7 0xb8 0xb9 0xba 0xbb 0xbc 0xbd 0xbe 0xbf
                    0xc0 0xc1 0xc2 0xc3 0xc4 0xc5 0xc6 0xc7 0xc8 0xc9 0xca 0xcb 0xcc 0xcd 0xce 0xcf
                    0xd0 0xd1 0xd2 0xd3 0xd4 0xd5 0xd6 0xd7 0xd8 0xd9 0xda 0xdb 0xdc 0xdd 0xde 0xdf
                    0xe0 0xe1 0xe2 0xe3 0xe4 0xe5 0xe6 0xe7 0xe8 0xe9 0xea 0xeb 0xec 0xed 0xee 0xef
                    0xf0 0xf1 0xf2 0xf3 0xf4 0xf5 0xf6 0xf7 0xf8 0xf9 0xfa 0xfb 0xfc 0xfd 0xfe 0xff
                };
                let to = lanes.as_mut_ptr().cast::<__m512i>().add(round);
                _mm512_storeu_si512(to, low);
                _mm512_storeu_si512(to.add(1), high);
            }
            round += 2;
        }
        Some(lanes)
    }

    #[inline(always)]
    fn shuffle(self, x: &[u32; WARP], lanes: &[u32; WARP]) -> [u32; WARP] {
        let mut result = [0; WARP];
        // SAFETY: see above.
        unsafe {
            let x = x.as_ptr().cast::<__m512i>();
            let (low, high) = (_mm512_loadu_si512(x), _mm512_loadu_si512(x.add(1)));
            let mut half = 0;
            while half < 2 {
                let lanes = _mm512_loadu_si512(lanes.as_ptr().cast::<__m512i>().add(half));
                let found = _mm512_permutex2var_epi32(low, lanes, high);
                _mm512_storeu_si512(result.as_mut_ptr().cast::<__m512i>().add(half), found);
                half += 1;
            }
        }
        result
    }

    #[inline(always)]
    fn population_count_b32<const N: usize>(self, x: &[u32; N]) -> Option<[u32; N]> {
        // Look up the population count of each 4-bit digit, then add pairs of digits, bytes and 16-bit halves.
        Some(vectors!(__m512i _mm512_loadu_si512, __m512i _mm512_storeu_si512, |x| {
            let digit = _mm512_set1_epi8(15);
            let counts = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
            let low = _mm512_shuffle_epi8(counts, _mm512_and_si512(x, digit));
            let high = _mm512_shuffle_epi8(counts, _mm512_and_si512(_mm512_srli_epi32::<4>(x), digit));
            let halves = _mm512_maddubs_epi16(_mm512_add_epi8(low, high), _mm512_set1_epi8(1));
            _mm512_madd_epi16(halves, _mm512_set1_epi16(1))
        }))
    }

    #[inline(always)]
    fn byte_permute<const N: usize>(self, a: &[u32; N], b: &[u32; N], control: &[u32; N]) -> Option<[u32; N]> {
        Some(vectors!(__m512i _mm512_loadu_si512, __m512i _mm512_storeu_si512, |a b control| {
            // Spread the selectors to one byte each; the upper 16 bits of `control` are ignored.
            let halves = _mm512_and_si512(control, _mm512_set1_epi32(0xffff));
            let bytes = _mm512_or_si512(halves, _mm512_slli_epi32::<8>(halves));
            let bytes = _mm512_and_si512(bytes, _mm512_set1_epi32(0x00ff_00ff));
            let digits = _mm512_or_si512(bytes, _mm512_slli_epi32::<4>(bytes));
            let words = _mm512_broadcast_i32x4(_mm_loadu_si128(WORDS.as_ptr().cast()));
            let place = _mm512_or_si512(_mm512_and_si512(digits, _mm512_set1_epi8(3)), words);
            let second = _mm512_test_epi8_mask(digits, _mm512_set1_epi8(4));
            let picked = _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(a, place), second, b, place);
            let sign = _mm512_movm_epi8(_mm512_movepi8_mask(picked));
            let signs = _mm512_test_epi8_mask(digits, _mm512_set1_epi8(8));
            _mm512_mask_blend_epi8(signs, picked, sign)
        }))
    }

    #[inline(always)]
    fn dot_bytes(self, rows: &[[u32; 16]], columns: &[u32], sums: &mut [[u32; 16]]) {
        if has_feature!("avx512vnni") {
            // SAFETY: see above, and the machine has the feature.
            return unsafe { dot_bytes(rows, columns, sums) };
        }
        Avx2(()).dot_bytes(rows, columns, sums);
    }
}

/// [`Simd::dot_bytes`] with an instruction for four products and their sum.
#[target_feature(enable = "avx512f,avx512vnni")]
fn dot_bytes(rows: &[[u32; 16]], columns: &[u32], sums: &mut [[u32; 16]]) {
    for (column, sums) in columns.chunks_exact(rows.len()).zip(sums) {
        let mut total = _mm512_setzero_si512();
        for (row, bytes) in rows.iter().zip(column) {
            // SAFETY: a row has the bytes of a vector.
            let unsigned = unsafe { _mm512_loadu_si512(row.as_ptr().cast()) };
            total = _mm512_dpbusd_epi32(total, unsigned, _mm512_set1_epi32(bytes.cast_signed()));
        }
        // SAFETY: so have the sums.
        unsafe { _mm512_storeu_si512(sums.as_mut_ptr().cast(), total) };
    }
}
