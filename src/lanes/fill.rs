//! Registers whose lanes grow by a fixed step.

use super::{File, Level, Regular};

/// Lanes of half of a warp.
pub(crate) const HALF: usize = super::WARP / 2;

/// Fills a register of 16, 32 or 64 bits in consecutive warps, two offsets for each, whose registers are `stride` bytes apart. The register of
/// the first warp is at the byte offset `at`.
///
/// # Panics
///
/// If a register is not inside the file.
pub(crate) fn fill(level: Level, bits: u8, (file, at, stride): (&mut File, usize, usize), values: &Regular<'_>) {
    #[cfg(all(target_arch = "x86_64", feature = "simd"))]
    if level.vectors().is_some() {
        // SAFETY: a level with vectors exists only where the machine has its features.
        return unsafe { wide(bits, (file, at, stride), values) };
    }
    let _ = level;
    by_width(bits, (file, at, stride), values);
}

/// # Safety
///
/// The machine has the features.
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
#[target_feature(enable = "avx2")]
unsafe fn wide(bits: u8, registers: (&mut File, usize, usize), values: &Regular<'_>) {
    by_width(bits, registers, values);
}

#[inline(always)]
fn by_width(bits: u8, (file, at, stride): (&mut File, usize, usize), values: &Regular<'_>) {
    macro_rules! halves {
        ($ty:ident) => {{
            let mut steps = [0; HALF];
            for lane in 0..HALF {
                steps[lane] = (lane as $ty).wrapping_mul(values.step as $ty);
            }
            for (warp, offsets) in values.offsets.as_chunks::<2>().0.iter().enumerate() {
                let lanes = file.words_mut::<$ty>(at + warp * stride, 2 * HALF);
                for (lanes, offset) in lanes.as_chunks_mut::<HALF>().0.iter_mut().zip(offsets) {
                    let first = values.base.wrapping_add(*offset) as $ty;
                    for lane in 0..HALF {
                        lanes[lane] = steps[lane].wrapping_add(first);
                    }
                }
            }
        }};
    }
    match bits {
        16 => halves!(u16),
        32 => halves!(u32),
        _ => halves!(u64),
    }
}
