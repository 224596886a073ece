//! Loads and stores of warps: each lane has an address, and elements are moved between memory and registers.
//!
//! The access pattern is determined from the addresses: adjacent elements are copied at once, an element that all lanes
//! read is read once, and other addresses are accessed one by one. Addresses are checked against the bounds of a
//! [`Window`] before anything is moved; a warp with an address outside of them is left to the caller, which reports the
//! error.

use super::elements::{ELEMENTS, Element, Elements, Places, access, widths};
use super::{HALF, Level, WARP, Word};

/// A load or store, decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Offset of the guard, and the mask that it is XORed with.
    pub guard: (u32, u32),
    /// Register with addresses: its offset and its width, 32 or 64; the width is 0 without a register.
    pub base: (u32, u8),
    /// Offset added to addresses.
    pub offset: u64,
    /// Size of an element in memory, in bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// True if elements are sign-extended to wider registers.
    pub signed: bool,
    /// Width of the registers: 16, 32 or 64.
    pub bits: u8,
    /// Number of elements: 1, 2 or 4.
    pub count: u8,
    pub elements: [Element; ELEMENTS],
}

/// The range of addresses that a transfer may access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The first address, and the address behind the last byte.
    pub start: u64,
    pub end: u64,
    /// Added to an address of the first lane of the first warp to get the host address; `warp` and `lane` are the
    /// increments for each further warp and lane.
    pub host: u64,
    pub warp: u64,
    pub lane: u64,
}

/// An address of 32 or 64 bits.
trait Address: Word + Into<u64> {
    /// For elements of 1, 2, 4, 8 and 16 bytes how far the address of each lane is from the first one where they are adjacent.
    const STEPS: [[Self; WARP]; 5];
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

macro_rules! addresses {
    ($($ty:ident)*) => {$(
        impl Address for $ty {
            const STEPS: [[$ty; WARP]; 5] = {
                let mut steps = [[0; WARP]; 5];
                let mut size = 0;
                while size < 5 {
                    let mut lane = 0;
                    while lane < WARP {
                        steps[size][lane] = (lane << size) as $ty;
                        lane += 1;
                    }
                    size += 1;
                }
                steps
            };
            #[inline(always)]
            fn plus(self, other: $ty) -> $ty { self.wrapping_add(other) }
            #[inline(always)]
            fn minus(self, other: $ty) -> $ty { self.wrapping_sub(other) }
        }
    )*};
}

addresses!(u32 u64);

/// The register of addresses where there is none.
static ZEROS: [u64; WARP] = [0; WARP];

/// Returns true if the addresses of half of the lanes are these steps apart, and true if they are the same.
#[inline(always)]
fn distances<A: Address, const WIDTH: usize>(addresses: &[A; HALF], steps: &[A; WARP]) -> (bool, bool) {
    // Of the loop below the compiler makes a comparison of each lane with a result of its own.
    #[cfg(all(target_arch = "x86_64", feature = "simd", not(miri)))]
    if WIDTH > 16 {
        use core::arch::x86_64::*;
        let first: u64 = addresses[0].into();
        // SAFETY: vectors of this width are those of AVX2; the vectors lie within the arrays.
        unsafe {
            let first = match A::BITS {
                32 => _mm256_set1_epi32(first as i32),
                _ => _mm256_set1_epi64x(first as i64),
            };
            let (mut apart, mut differs) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for vector in 0..size_of::<[A; HALF]>() / size_of::<__m256i>() {
                let own = _mm256_loadu_si256(addresses.as_ptr().cast::<__m256i>().add(vector));
                let step = _mm256_loadu_si256(steps.as_ptr().cast::<__m256i>().add(vector));
                let distance = match A::BITS {
                    32 => _mm256_sub_epi32(own, first),
                    _ => _mm256_sub_epi64(own, first),
                };
                apart = _mm256_or_si256(apart, _mm256_xor_si256(distance, step));
                differs = _mm256_or_si256(differs, distance);
            }
            return (_mm256_testz_si256(apart, apart) != 0, _mm256_testz_si256(differs, differs) != 0);
        }
    }
    let distance = |lane: usize| addresses[lane].minus(addresses[0]);
    ((0..HALF).all(|lane| distance(lane) == steps[lane]), (0..HALF).all(|lane| distance(lane) == A::default()))
}

impl Transfer {
    /// The offset of the register that takes or gives the elements as they are in memory: the only one, of their width.
    #[inline(always)]
    pub(super) fn alone<E: Word>(&self) -> Option<usize> {
        match self.elements[0] {
            Element::Register(at) if self.count == 1 && u32::from(self.bits) == E::BITS => Some(at as usize),
            _ => None,
        }
    }

    /// Loads (or stores) the elements of warps. The registers of consecutive warps are `stride` bytes apart, from
    /// `registers` on, and `masks` has the active lanes of each warp. Returns the number of leading warps that were
    /// completed; the warp after them, if any, is unchanged.
    ///
    /// # Safety
    ///
    /// `registers` must hold the registers of `masks.len()` warps of the program that the transfer was decoded for.
    /// Every address in the window is readable and writable at the host; any concurrent access to the memory is atomic.
    #[inline]
    pub(super) unsafe fn run<const WRITE: bool>(
        &self,
        level: Level,
        window: &Window,
        registers: *mut u8,
        stride: usize,
        masks: &[u32],
    ) -> usize {
        // SAFETY: the caller's promises; a level's code runs only where the machine has its features.
        unsafe {
            #[cfg(all(target_arch = "x86_64", feature = "simd"))]
            if level.vectors().is_some() {
                return match level.gathers() {
                    true => over_warps::<WRITE, 64>(self, window, registers, stride, masks),
                    false => over_warps::<WRITE, 32>(self, window, registers, stride, masks),
                };
            }
            let _ = level;
            over_warps::<WRITE, 16>(self, window, registers, stride, masks)
        }
    }
}

/// # Safety
///
/// As [`Transfer::run`]; the machine has vectors of `WIDTH` bytes.
unsafe fn over_warps<const WRITE: bool, const WIDTH: usize>(
    transfer: &Transfer,
    window: &Window,
    registers: *mut u8,
    stride: usize,
    masks: &[u32],
) -> usize {
    let whole = u64::from(transfer.count) * u64::from(transfer.bytes);
    let Some(limit) = (window.end - window.start).checked_sub(whole) else { return 0 };
    let places: FindPlaces = match (transfer.base.1, WIDTH) {
        (32, 16) => narrow::places::<u32, WRITE>,
        (32, 32) => wide::places::<u32, WRITE>,
        (32, _) => widest::places::<u32, WRITE>,
        (_, 16) => narrow::places::<u64, WRITE>,
        (_, 32) => wide::places::<u64, WRITE>,
        (_, _) => widest::places::<u64, WRITE>,
    };
    let access = match transfer.bytes {
        1 => access::<u8, WRITE, WIDTH>(),
        2 => access::<u16, WRITE, WIDTH>(),
        4 => access::<u32, WRITE, WIDTH>(),
        _ => access::<u64, WRITE, WIDTH>(),
    };
    let mut found = Places::NONE;
    for (warp, mask) in masks.iter().enumerate() {
        let host = window.host.wrapping_add(window.warp.wrapping_mul(warp as u64));
        // SAFETY: the caller's promises: the registers of a warp.
        unsafe {
            let registers = registers.add(warp * stride);
            let guard = registers.add(transfer.guard.0 as usize).cast::<u32>().read();
            let mask = mask & (guard ^ transfer.guard.1);
            if mask == 0 {
                continue;
            }
            let addresses = match transfer.base {
                (_, 0) => ZEROS.as_ptr().cast(),
                (at, _) => registers.add(at as usize).cast_const(),
            };
            let lanes = Lanes { window, offset: transfer.offset, whole, limit, host, addresses, mask };
            if !places(&lanes, &mut found) {
                return warp;
            }
            let elements = Elements { transfer, registers };
            #[cfg(all(target_arch = "x86_64", feature = "simd", not(miri)))]
            if WIDTH == 64 && !WRITE && !found.regular && mask != u32::MAX && elements.gather_from(mask, &found.lanes) {
                continue;
            }
            access(&elements, mask, &found);
        }
    }
    masks.len()
}

/// The lanes of a warp that load or store.
struct Lanes<'a> {
    window: &'a Window,
    /// Added to addresses.
    offset: u64,
    /// Bytes of all elements of a lane, and the greatest offset of an address from the start of the window.
    whole: u64,
    limit: u64,
    /// Added to an address of the first lane to get the host address.
    host: u64,
    /// The register of addresses.
    addresses: *const u8,
    /// The active lanes.
    mask: u32,
}

/// Finds the places of the elements of active lanes; returns false if any is outside of the window or not aligned.
///
/// # Safety
///
/// The register of addresses is readable, and has the width that the function was chosen for.
type FindPlaces = unsafe fn(&Lanes<'_>, &mut Places) -> bool;

macro_rules! compiled {
    ($module:ident $width:literal [$($features:literal)?]) => {
        mod $module {
            use super::*;

            /// # Safety
            ///
            /// As [`FindPlaces`].
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn places<A: Address, const WRITE: bool>(lanes: &Lanes<'_>, found: &mut Places) -> bool {
                // SAFETY: the caller's promises.
                unsafe { lanes.places::<A, WRITE, $width>(found) }
            }
        }
    };
}

widths!(compiled);
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
compiled!(widest 64 ["avx512f,avx512bw,avx512vl,bmi1,bmi2"]);
#[cfg(not(all(target_arch = "x86_64", feature = "simd")))]
use narrow as widest;

impl Lanes<'_> {
    /// # Safety
    ///
    /// As [`FindPlaces`]; the machine has vectors of `WIDTH` bytes.
    #[inline(always)]
    unsafe fn places<A: Address, const WRITE: bool, const WIDTH: usize>(&self, found: &mut Places) -> bool {
        // SAFETY: the caller's promise.
        let addresses = unsafe { &*self.addresses.cast::<[A; WARP]>() };
        let offset = A::truncate(self.offset);
        if self.window.lane == 0
            && self.mask == u32::MAX
            && let Some(inside) = self.halves::<A, WRITE, WIDTH>(addresses, offset, &mut found.halves)
        {
            found.regular = true;
            return inside;
        }
        found.regular = false;
        let places = &mut found.lanes;
        let inside = match self.mask {
            u32::MAX => self.scattered(|lane| addresses[lane].plus(offset).into(), places),
            mask => {
                let first = addresses[mask.trailing_zeros() as usize];
                let address = |lane: usize| if mask >> lane & 1 != 0 { addresses[lane] } else { first };
                self.scattered(|lane| address(lane).plus(offset).into(), places)
            }
        };
        if self.window.lane != 0 {
            // Each lane has a window of its own.
            let places = (0..).zip(places);
            places.for_each(|(lane, place)| *place = place.wrapping_add(self.window.lane.wrapping_mul(lane)));
        }
        inside
    }

    /// Finds the place of the element at each lane's address; returns true if all are in the window and aligned.
    #[inline(always)]
    fn scattered(&self, address: impl Fn(usize) -> u64, places: &mut [u64; WARP]) -> bool {
        let (mut outside, mut low) = (0, 0);
        for (lane, place) in places.iter_mut().enumerate() {
            let at = address(lane);
            let from = at.wrapping_sub(self.window.start);
            // The sign of either tells that it is beyond the limit, which has no sign.
            outside |= self.limit.wrapping_sub(from) | from;
            low |= at;
            *place = at.wrapping_add(self.host);
        }
        outside >> 63 == 0 && low & (self.whole - 1) == 0
    }

    /// Finds where the halves of the lanes have their elements, if those of each are adjacent or the same; false if some are not in the
    /// window or not aligned.
    #[inline(always)]
    fn halves<A: Address, const WRITE: bool, const WIDTH: usize>(
        &self,
        addresses: &[A; WARP],
        offset: A,
        places: &mut [(usize, bool); 2],
    ) -> Option<bool> {
        let Lanes { whole, limit, host, .. } = *self;
        let steps = &A::STEPS[whole.trailing_zeros() as usize];
        let mut inside = true;
        for (half, addresses) in places.iter_mut().zip(addresses.as_chunks::<HALF>().0) {
            let (adjacent, same) = distances::<A, WIDTH>(addresses, steps);
            // Stores to one element are not told to be the same: the last lane counts.
            let same = same && !WRITE;
            if !same && !adjacent {
                return None;
            }
            let at: u64 = addresses[0].plus(offset).into();
            let rest = if same { 0 } else { (HALF as u64 - 1) * whole };
            inside &= limit >= rest && at.wrapping_sub(self.window.start) <= limit.wrapping_sub(rest);
            inside &= at <= A::ONES.into() - rest && at & (whole - 1) == 0;
            *half = (at.wrapping_add(host) as usize, same);
        }
        Some(inside)
    }
}
