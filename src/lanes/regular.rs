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
    /// `registers` on, and `masks` has the active lanes of each warp.
    ///
    /// # Safety
    ///
    /// `registers` must hold the registers of `masks.len()` warps of the program that the transfer was decoded for, and the transfer has no
    /// guard. The elements of active lanes are aligned, readable and writable, and any concurrent access to the memory is atomic.
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
            by_size::<WRITE, false, false>(self, addresses, registers);
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
                const WIDE: bool = cfg!(target_arch = "x86_64");
                // SAFETY: the caller's promises.
                unsafe { by_size::<WRITE, WIDE, { $simd::MASKS }>(transfer, addresses, registers) }
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
unsafe fn by_size<const WRITE: bool, const WIDE: bool, const MASKS: bool>(
    transfer: &Transfer,
    addresses: &Regular<'_>,
    registers: Registers<'_>,
) {
    // SAFETY: the caller's promises.
    unsafe {
        match transfer.bytes {
            1 => over_warps::<u8, WRITE, WIDE, MASKS>(transfer, addresses, registers),
            2 => over_warps::<u16, WRITE, WIDE, MASKS>(transfer, addresses, registers),
            4 => over_warps::<u32, WRITE, WIDE, MASKS>(transfer, addresses, registers),
            _ => over_warps::<u64, WRITE, WIDE, MASKS>(transfer, addresses, registers),
        }
    }
}

/// # Safety
///
/// As [`Transfer::run_regular`], for elements of this size.
#[inline(always)]
unsafe fn over_warps<E: Stored, const WRITE: bool, const WIDE: bool, const MASKS: bool>(
    transfer: &Transfer,
    addresses: &Regular<'_>,
    registers: Registers<'_>,
) {
    let whole = u64::from(transfer.count) * size_of::<E>() as u64;
    let step = addresses.step;
    let access = access::<E, WRITE, WIDE>();
    let alone = transfer.alone::<E>();
    let adjacent = step == whole;
    let same = step == 0 && !WRITE;
    for (warp, (mask, offsets)) in registers.masks.iter().zip(addresses.offsets.as_chunks::<2>().0).enumerate() {
        let at = [addresses.base.wrapping_add(offsets[0]), addresses.base.wrapping_add(offsets[1])];
        // SAFETY: the caller's promises: the registers of a warp, and the elements of its active lanes.
        unsafe {
            let own = registers.first.add(warp * registers.stride);
            let elements = Elements { transfer, registers: own };
            match (*mask, alone) {
                (0, _) => {}
                (u32::MAX, Some(register)) if adjacent => {
                    let register = own.add(register).cast::<E>();
                    if at[1].wrapping_sub(at[0]) == HALF as u64 * whole {
                        move_adjacent::<E, WRITE, WIDE>(register, at[0], WARP);
                    } else {
                        move_adjacent::<E, WRITE, WIDE>(register, at[0], HALF);
                        move_adjacent::<E, WRITE, WIDE>(register.add(HALF), at[1], HALF);
                    }
                }
                (u32::MAX, Some(register)) if same => {
                    let register = own.add(register).cast::<[E; HALF]>();
                    register.write([E::load(at[0] as usize); HALF]);
                    register.add(1).write([E::load(at[1] as usize); HALF]);
                }
                (u32::MAX, _) if adjacent || same => {
                    let halves = [(at[0] as usize, same), (at[1] as usize, same)];
                    access(&elements, u32::MAX, &Places::Halves(halves));
                }
                #[cfg(all(target_arch = "x86_64", feature = "simd", not(miri)))]
                (mask, Some(register)) if MASKS && adjacent => {
                    let register = own.add(register).cast::<E>();
                    move_some::<E, WRITE>(register, at[0], mask as u16);
                    move_some::<E, WRITE>(register.add(HALF), at[1], (mask >> HALF) as u16);
                }
                (mask, _) => {
                    let mut places = [0; WARP];
                    for lane in 0..WARP {
                        places[lane] = at[lane / HALF].wrapping_add(step.wrapping_mul((lane % HALF) as u64));
                    }
                    access(&elements, mask, &Places::Scattered(places));
                }
            }
        }
    }
}

/// Moves adjacent elements between a register and memory.
///
/// # Safety
///
/// As [`copy`].
#[inline(always)]
unsafe fn move_adjacent<E: Stored, const WRITE: bool, const WIDE: bool>(register: *mut E, at: u64, count: usize) {
    let memory = at as usize as *mut E;
    // SAFETY: the caller's promises.
    unsafe {
        match WRITE {
            true => copy::<E, WIDE>(memory, register, count),
            false => copy::<E, WIDE>(register, memory, count),
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
unsafe fn move_some<E: Stored, const WRITE: bool>(register: *mut E, at: u64, mask: u16) {
    let memory = at as usize as *mut E;
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
