//! Loads and stores of warps whose addresses are known to be regular: a base, an offset for each half of a warp, and lanes of a half that
//! are a fixed distance apart.

use super::elements::{Elements, Places, Stored, access, copy};
#[cfg(feature = "simd")]
use super::level::levels;
use super::memory::Transfer;
use super::{HALF, Level, WARP};
#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
use super::{Simd, portable::Portable};
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
use super::{Simd, x86::*};

/// Addresses of the lanes of consecutive warps at the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Regular<'a> {
    pub base: u64,
    /// Added to the base for the first lane of each half of each warp.
    pub offsets: &'a [u64],
    /// Distance between the lanes of a half.
    pub step: u64,
}

/// Registers of consecutive warps: those of the first, the distance in bytes to those of the next, and the active lanes of each.
#[derive(Clone, Copy)]
struct Registers<'a> {
    first: *mut u8,
    stride: usize,
    masks: &'a [u32],
}

impl Transfer {
    /// Loads (or stores) the elements of warps whose addresses are regular. The registers of consecutive warps are `stride` bytes apart, from
    /// `registers` on, and `masks` has the lanes of each warp that access, whatever the guard is.
    ///
    /// # Safety
    ///
    /// `registers` must hold the registers of `masks.len()` warps of the program that the transfer was decoded for. The elements of these
    /// lanes are aligned, readable and writable, and any concurrent access to the memory is atomic.
    #[inline]
    pub(super) unsafe fn run_regular<const WRITE: bool>(
        &self,
        level: Level,
        addresses: &Regular<'_>,
        first: *mut u8,
        stride: usize,
        masks: &[u32],
    ) {
        let registers = Registers { first, stride, masks };
        // SAFETY: the caller's promises; a level's code runs only where the machine has its features.
        unsafe {
            #[cfg(feature = "simd")]
            if let Some(vectors) = level.vectors() {
                macro_rules! runs {
                    ($($name:ident $simd:ident [$($feature:tt)*];)*) => { [$($name::run::<WRITE>),*] };
                }
                let runs: &[unsafe fn(&Transfer, &Regular<'_>, Registers<'_>)] = &levels!(runs);
                return runs[vectors](self, addresses, registers);
            }
            let _ = level;
            by_size::<WRITE, 16>(self, addresses, registers);
        }
    }
}

/// The function of each level.
#[cfg(feature = "simd")]
macro_rules! functions {
    ($($name:ident $simd:ident [$($feature:tt)*];)*) => {$(
        mod $name {
            use super::*;

            /// # Safety
            ///
            /// As [`Transfer::run_regular`]; the machine has the features.
            $(#[target_feature(enable = $feature)])*
            pub(super) unsafe fn run<const WRITE: bool>(
                transfer: &Transfer,
                addresses: &Regular<'_>,
                registers: Registers<'_>,
            ) {
                // SAFETY: the caller's promises.
                unsafe { by_size::<WRITE, { $simd::WIDTH }>(transfer, addresses, registers) }
            }
        }
    )*};
}

#[cfg(feature = "simd")]
levels!(functions);

/// # Safety
///
/// As [`Transfer::run_regular`].
#[inline(always)]
unsafe fn by_size<const WRITE: bool, const WIDTH: usize>(
    transfer: &Transfer,
    addresses: &Regular<'_>,
    registers: Registers<'_>,
) {
    // SAFETY: the caller's promises.
    unsafe {
        match transfer.bytes {
            1 => over_warps::<u8, WRITE, WIDTH>(transfer, addresses, registers),
            2 => over_warps::<u16, WRITE, WIDTH>(transfer, addresses, registers),
            4 => over_warps::<u32, WRITE, WIDTH>(transfer, addresses, registers),
            _ => over_warps::<u64, WRITE, WIDTH>(transfer, addresses, registers),
        }
    }
}

/// # Safety
///
/// As [`Transfer::run_regular`], for elements of this size.
#[inline(always)]
unsafe fn over_warps<E: Stored, const WRITE: bool, const WIDTH: usize>(
    transfer: &Transfer,
    addresses: &Regular<'_>,
    registers: Registers<'_>,
) {
    let whole = u64::from(transfer.count) * size_of::<E>() as u64;
    let Registers { first, stride, masks } = registers;
    let step = addresses.step;
    let alone = transfer.alone::<E>();
    let adjacent = step == whole;
    let same = step == 0 && !WRITE;
    let halves = addresses.offsets.as_chunks::<2>().0.iter().map(|offsets| {
        [addresses.base.wrapping_add(offsets[0]) as usize, addresses.base.wrapping_add(offsets[1]) as usize]
    });
    let warps = (0..masks.len()).zip(halves);
    // SAFETY: the caller's promises: the registers of a warp, and the elements of its active lanes.
    unsafe {
        let elements = |warp: usize| Elements { transfer, registers: first.add(warp * stride) };
        let full = || masks.iter().fold(u32::MAX, |all, mask| all & mask) == u32::MAX;
        match alone {
            Some(register) if same && full() => {
                for (warp, at) in warps {
                    let register = first.add(warp * stride + register).cast::<[E; HALF]>();
                    register.write([E::load(at[0]); HALF]);
                    register.add(1).write([E::load(at[1]); HALF]);
                }
                return;
            }
            None if same && full() => {
                for (warp, at) in warps {
                    elements(warp).broadcast::<E>(at);
                }
                return;
            }
            _ => {}
        }
        // The warps that come next mostly access what is behind this.
        let ahead = masks.len() * WARP * size_of::<E>();
        let access = access::<E, WRITE, WIDTH>();
        let mut places = Places::NONE;
        for (warp, at) in warps {
            match (masks[warp], alone) {
                (0, _) => {}
                (u32::MAX, Some(register)) if adjacent => {
                    prefetch::<E>(at[0].wrapping_add(ahead));
                    prefetch::<E>(at[1].wrapping_add(ahead));
                    let register = first.add(warp * stride + register).cast::<E>();
                    move_adjacent::<E, WRITE, WIDTH>(register, at[0], HALF);
                    move_adjacent::<E, WRITE, WIDTH>(register.add(HALF), at[1], HALF);
                }
                (u32::MAX, _) if adjacent || same => {
                    places.regular = true;
                    places.halves = [(at[0], same), (at[1], same)];
                    access(&elements(warp), u32::MAX, &places);
                }
                #[cfg(all(target_arch = "x86_64", feature = "simd", not(miri)))]
                (mask, Some(register)) if WIDTH == 64 && adjacent => {
                    let register = first.add(warp * stride + register).cast::<E>();
                    move_some::<E, WRITE>(register, at[0], mask as u16);
                    move_some::<E, WRITE>(register.add(HALF), at[1], (mask >> HALF) as u16);
                }
                (mask, _) => {
                    places.regular = false;
                    for lane in 0..WARP {
                        places.lanes[lane] =
                            (at[lane / HALF] as u64).wrapping_add(step.wrapping_mul((lane % HALF) as u64));
                    }
                    access(&elements(warp), mask, &places);
                }
            }
        }
    }
}

/// Brings the lines of the elements of half a warp closer, if there is memory.
#[inline(always)]
fn prefetch<E>(at: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in (0..HALF * size_of::<E>()).step_by(64) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: nothing is read, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(line) as *const i8) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// Moves adjacent elements between a register and memory.
///
/// # Safety
///
/// As [`copy`].
#[inline(always)]
unsafe fn move_adjacent<E: Stored, const WRITE: bool, const WIDTH: usize>(register: *mut E, at: usize, count: usize) {
    let memory = at as *mut E;
    // SAFETY: the caller's promises.
    unsafe {
        match WRITE {
            true => copy::<E, WIDTH>(memory, register, count),
            false => copy::<E, WIDTH>(register, memory, count),
        }
    }
}

/// Moves those of 16 adjacent elements that a mask has between a register and memory.
///
/// # Safety
///
/// As [`copy`], for the elements that the mask has; the machine has AVX-512 with the extensions F, BW, DQ and VL.
#[cfg(all(target_arch = "x86_64", feature = "simd", not(miri)))]
#[inline(always)]
unsafe fn move_some<E: Stored, const WRITE: bool>(register: *mut E, at: usize, mask: u16) {
    let memory = at as *mut E;
    let (to, from) = if WRITE { (memory, register) } else { (register, memory) };
    macro_rules! moved {
        ($mov:literal $vector:literal, $to:expr, $from:expr, $mask:expr) => {
            core::arch::asm!(
                "kmovd k1, {mask:e}",
                concat!($mov, " ", $vector, "{{k1}}{{z}}, [{from}]"),
                concat!($mov, " [{to}]{{k1}}, ", $vector),
                mask = in(reg) u32::from($mask),
                from = in(reg) $from,
                to = in(reg) $to,
                out("xmm15") _,
                out("k1") _,
                options(nostack, preserves_flags),
            )
        };
    }
    // SAFETY: the caller's promise. As with `copy`, an aligned element is accessed as a whole; elements whose mask is zero are not
    // accessed.
    unsafe {
        match E::BITS {
            8 => moved!("vmovdqu8" "xmm15", to, from, mask),
            16 => moved!("vmovdqu16" "ymm15", to, from, mask),
            32 => moved!("vmovdqu32" "zmm15", to, from, mask),
            _ => {
                moved!("vmovdqu64" "zmm15", to, from, mask & 0xff);
                moved!("vmovdqu64" "zmm15", to.add(HALF / 2), from.add(HALF / 2), mask >> 8);
            }
        }
    }
}
