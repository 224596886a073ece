//! Loads and stores of warps: each lane has an address, and elements are moved between memory and registers.
//!
//! The access pattern is determined from the addresses: adjacent elements are copied at once, an element that all lanes
//! read is read once, and other addresses are accessed one by one. Addresses are checked against the bounds of a
//! [`Window`] before anything is moved; a warp with an address outside of them is left to the caller, which reports the
//! error.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::{HALF, Level, WARP, Word};

/// Maximum number of elements of a transfer.
pub(crate) const ELEMENTS: usize = 4;

/// Destination of a loaded element, or source of a stored one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Element {
    /// A register, by its offset among those of a warp.
    Register(u32),
    Constant(u64),
    Sink,
}

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

/// An element in memory.
pub(super) trait Stored: Word + Into<u64> {
    /// # Safety
    ///
    /// The element is readable, aligned, and whoever else accesses it does so atomically.
    unsafe fn load(at: usize) -> Self;
    /// # Safety
    ///
    /// As [`Stored::load`], and it is writable.
    unsafe fn store(self, at: usize);
}

macro_rules! elements {
    ($($ty:ident $atomic:ident)*) => {$(
        impl Stored for $ty {
            #[inline(always)]
            unsafe fn load(at: usize) -> $ty {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(at as *mut $ty) }.load(Ordering::Relaxed)
            }
            #[inline(always)]
            unsafe fn store(self, at: usize) {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(at as *mut $ty) }.store(self, Ordering::Relaxed)
            }
        }
    )*};
}

elements!(u8 AtomicU8 u16 AtomicU16 u32 AtomicU32 u64 AtomicU64);

/// An address of 32 or 64 bits.
trait Address: Stored {
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

/// Copies aligned elements between registers and memory that others may access at the same time.
///
/// # Safety
///
/// Both point to `count` elements, a multiple of 16 bytes in all, aligned, readable and writable; concurrent accesses to
/// those in memory are atomic.
#[inline(always)]
pub(super) unsafe fn copy<E: Stored, const WIDE: bool>(to: *mut E, from: *const E, count: usize) {
    let bytes = count * size_of::<E>();
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let (to, from) = (to.cast::<u8>(), from.cast::<u8>());
        let mut at = 0;
        // SAFETY: the caller's promise. As far as others can tell this is a relaxed atomic access to each element, in some
        // order: an aligned element lies in one cache line, of which a move of this architecture accesses no aligned eight bytes in
        // parts. The compiler takes the instructions as they are, so that it makes nothing of a race.
        unsafe {
            while WIDE && at + 32 <= bytes {
                core::arch::asm!(
                    "vmovdqu ymm15, [{from}]",
                    "vmovdqu [{to}], ymm15",
                    from = in(reg) from.add(at),
                    to = in(reg) to.add(at),
                    out("xmm15") _,
                    options(nostack, preserves_flags),
                );
                at += 32;
            }
            while at + 16 <= bytes {
                if WIDE {
                    core::arch::asm!(
                        "vmovdqu xmm15, [{from}]",
                        "vmovdqu [{to}], xmm15",
                        from = in(reg) from.add(at),
                        to = in(reg) to.add(at),
                        out("xmm15") _,
                        options(nostack, preserves_flags),
                    );
                } else {
                    core::arch::asm!(
                        "movdqu xmm15, [{from}]",
                        "movdqu [{to}], xmm15",
                        from = in(reg) from.add(at),
                        to = in(reg) to.add(at),
                        out("xmm15") _,
                        options(nostack, preserves_flags),
                    );
                }
                at += 16;
            }
        }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    {
        let _ = bytes;
        for index in 0..count {
            // SAFETY: the caller's promise.
            unsafe { E::load(from.add(index) as usize).store(to.add(index) as usize) };
        }
    }
}

/// Returns true if the addresses of half of the lanes are these steps apart, and true if they are the same.
#[inline(always)]
fn distances<A: Address, const WIDE: bool>(addresses: &[A; HALF], steps: &[A; WARP]) -> (bool, bool) {
    // Of the loop below the compiler makes a comparison of each lane with a result of its own.
    #[cfg(all(target_arch = "x86_64", feature = "simd", not(miri)))]
    if WIDE {
        use core::arch::x86_64::*;
        let first: u64 = addresses[0].into();
        // SAFETY: `WIDE` says that the machine has the features; the vectors lie within the arrays.
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

/// The lanes of a mask.
#[inline(always)]
fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}

/// Places of a warp's elements in memory. What a warp accesses is often two rows of a tile, one for each half of its lanes.
#[allow(clippy::large_enum_variant, reason = "it lives on the stack, from one function to the next")]
pub(super) enum Places {
    /// Start of each half's elements, which are adjacent, or the one element of all its lanes.
    Halves([(usize, bool); 2]),
    Scattered([u64; WARP]),
}

impl Transfer {
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
                return wide::<WRITE>(self, window, registers, stride, masks);
            }
            let _ = level;
            by_size::<WRITE, false>(self, window, registers, stride, masks)
        }
    }
}

/// # Safety
///
/// As [`Transfer::run`]; the machine has the features.
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn wide<const WRITE: bool>(
    transfer: &Transfer,
    window: &Window,
    registers: *mut u8,
    stride: usize,
    masks: &[u32],
) -> usize {
    // SAFETY: the caller's promises.
    unsafe { by_size::<WRITE, true>(transfer, window, registers, stride, masks) }
}

/// # Safety
///
/// As [`Transfer::run`].
#[inline(always)]
unsafe fn by_size<const WRITE: bool, const WIDE: bool>(
    transfer: &Transfer,
    window: &Window,
    registers: *mut u8,
    stride: usize,
    masks: &[u32],
) -> usize {
    // SAFETY: the caller's promises.
    unsafe {
        match (transfer.base.1, transfer.bytes) {
            (32, 1) => over_warps::<u32, u8, WRITE, WIDE>(transfer, window, registers, stride, masks),
            (32, 2) => over_warps::<u32, u16, WRITE, WIDE>(transfer, window, registers, stride, masks),
            (32, 4) => over_warps::<u32, u32, WRITE, WIDE>(transfer, window, registers, stride, masks),
            (32, _) => over_warps::<u32, u64, WRITE, WIDE>(transfer, window, registers, stride, masks),
            (_, 1) => over_warps::<u64, u8, WRITE, WIDE>(transfer, window, registers, stride, masks),
            (_, 2) => over_warps::<u64, u16, WRITE, WIDE>(transfer, window, registers, stride, masks),
            (_, 4) => over_warps::<u64, u32, WRITE, WIDE>(transfer, window, registers, stride, masks),
            (_, _) => over_warps::<u64, u64, WRITE, WIDE>(transfer, window, registers, stride, masks),
        }
    }
}

/// # Safety
///
/// As [`Transfer::run`], for the sizes of the transfer.
#[inline(always)]
unsafe fn over_warps<A: Address, E: Stored, const WRITE: bool, const WIDE: bool>(
    transfer: &Transfer,
    window: &Window,
    registers: *mut u8,
    stride: usize,
    masks: &[u32],
) -> usize {
    let whole = u64::from(transfer.count) * size_of::<E>() as u64;
    let Some(limit) = (window.end - window.start).checked_sub(whole) else { return 0 };
    for (warp, mask) in masks.iter().enumerate() {
        let host = window.host.wrapping_add(window.warp.wrapping_mul(warp as u64));
        // SAFETY: the caller's promises: the registers of a warp.
        let done = unsafe {
            let registers = registers.add(warp * stride);
            let guard = registers.add(transfer.guard.0 as usize).cast::<u32>().read();
            let mask = mask & (guard ^ transfer.guard.1);
            let addresses = match transfer.base {
                (_, 0) => ZEROS.as_ptr().cast(),
                (at, _) => registers.add(at as usize).cast_const().cast(),
            };
            let warp = Warp::<A> { transfer, window, whole, limit, host, registers, addresses };
            match mask {
                0 => true,
                u32::MAX => match warp.places::<WRITE, WIDE>() {
                    Some(places) => {
                        Elements { transfer, registers }.access::<E, WRITE, WIDE>(&places);
                        true
                    }
                    None => false,
                },
                mask => warp.some::<E, WRITE>(mask),
            }
        };
        if !done {
            return warp;
        }
    }
    masks.len()
}

/// A warp that loads or stores.
struct Warp<'a, A> {
    transfer: &'a Transfer,
    window: &'a Window,
    /// Bytes of all elements of a lane, and the greatest offset of an address from the start of the window.
    whole: u64,
    limit: u64,
    /// Added to an address of the first lane to get the host address.
    host: u64,
    registers: *mut u8,
    /// The register of addresses, which may be loaded to.
    addresses: *const [A; WARP],
}

impl<A: Address> Warp<'_, A> {
    /// Returns the places of all lanes' elements; `None` if any is outside of the window or not aligned.
    ///
    /// # Safety
    ///
    /// The register of addresses is readable.
    #[inline(always)]
    unsafe fn places<const WRITE: bool, const WIDE: bool>(&self) -> Option<Places> {
        let Warp { whole, limit, host, .. } = *self;
        // SAFETY: the caller's promise.
        let addresses = unsafe { &*self.addresses };
        let offset = A::truncate(self.transfer.offset);
        if self.window.lane == 0
            && let Some(halves) = self.halves::<WRITE, WIDE>(addresses, offset)
        {
            return halves;
        }
        let mut places = [0; WARP];
        let (mut outside, mut low) = (0, 0);
        for lane in 0..WARP {
            let at: u64 = addresses[lane].plus(offset).into();
            let from = at.wrapping_sub(self.window.start);
            // The sign of either tells that it is beyond the limit, which has no sign.
            outside |= limit.wrapping_sub(from) | from;
            low |= at;
            places[lane] = at.wrapping_add(host).wrapping_add(self.window.lane.wrapping_mul(lane as u64));
        }
        (outside >> 63 == 0 && low & (whole - 1) == 0).then_some(Places::Scattered(places))
    }

    /// Where the halves of the lanes have their elements, if those of each are adjacent or the same; none in it if some are not in
    /// the window or not aligned.
    #[inline(always)]
    fn halves<const WRITE: bool, const WIDE: bool>(&self, addresses: &[A; WARP], offset: A) -> Option<Option<Places>> {
        let Warp { whole, limit, host, .. } = *self;
        let steps = &A::STEPS[whole.trailing_zeros() as usize];
        let mut halves = [(0, false); 2];
        let mut inside = true;
        for (half, addresses) in halves.iter_mut().zip(addresses.as_chunks::<HALF>().0) {
            let (adjacent, same) = distances::<A, WIDE>(addresses, steps);
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
        Some(inside.then_some(Places::Halves(halves)))
    }

    /// Loads or stores for some lanes, one by one.
    ///
    /// # Safety
    ///
    /// The memory in the window is readable and writable, and so are the registers.
    #[inline(always)]
    unsafe fn some<E: Stored, const WRITE: bool>(&self, mask: u32) -> bool {
        let offset = A::truncate(self.transfer.offset);
        // SAFETY: the caller's promise. It is a copy: what is loaded may replace the addresses.
        let addresses = unsafe { self.addresses.read() };
        let address = |lane: usize| -> u64 { addresses[lane].plus(offset).into() };
        let (mut outside, mut low) = (false, 0);
        for lane in lanes(mask) {
            outside |= address(lane).wrapping_sub(self.window.start) > self.limit;
            low |= address(lane);
        }
        if outside || low & (self.whole - 1) != 0 {
            return false;
        }
        let place = |lane: usize| {
            let host = self.host.wrapping_add(self.window.lane.wrapping_mul(lane as u64));
            address(lane).wrapping_add(host) as usize
        };
        let elements = Elements { transfer: self.transfer, registers: self.registers };
        // SAFETY: the caller's promise.
        unsafe { elements.access_some::<E, WRITE>(mask, place) };
        true
    }
}

/// The elements of a warp in its registers.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub transfer: &'a Transfer,
    pub registers: *mut u8,
}

impl Elements<'_> {
    /// Loads or stores the elements of all lanes.
    ///
    /// # Safety
    ///
    /// The elements are in memory that is readable and writable, and the registers are a warp's of the transfer's program.
    #[inline(always)]
    pub(super) unsafe fn access<E: Stored, const WRITE: bool, const WIDE: bool>(&self, places: &Places) {
        // SAFETY: the caller's promises.
        unsafe {
            match WRITE {
                true => self.store::<E, WIDE>(places),
                false => self.load::<E, WIDE>(places),
            }
        }
    }

    /// # Safety
    ///
    /// The elements are in memory that is readable.
    #[inline(always)]
    unsafe fn load<E: Stored, const WIDE: bool>(&self, places: &Places) {
        let count = usize::from(self.transfer.count);
        let mut buffer = MaybeUninit::<[E; ELEMENTS * WARP]>::uninit();
        let alone = count == 1 && u32::from(self.transfer.bits) == E::BITS;
        // SAFETY: the caller's promise; the buffer has room for all elements, and so has a register of their width for one of
        // each lane.
        unsafe {
            let to = match self.transfer.elements[0] {
                Element::Register(at) if alone => self.registers.add(at as usize).cast::<E>(),
                _ => buffer.as_mut_ptr().cast::<E>(),
            };
            match places {
                Places::Halves(halves) => {
                    for (half, (from, same)) in halves.iter().enumerate() {
                        let to = to.add(half * HALF * count);
                        if !same {
                            copy::<E, WIDE>(to, *from as *const E, count * HALF);
                            continue;
                        }
                        for index in 0..count {
                            let element = E::load(*from + index * size_of::<E>());
                            (0..HALF).for_each(|lane| to.add(lane * count + index).write(element));
                        }
                    }
                }
                Places::Scattered(places) => {
                    for (lane, place) in places.iter().enumerate() {
                        for index in 0..count {
                            to.add(lane * count + index).write(E::load(*place as usize + index * size_of::<E>()));
                        }
                    }
                }
            }
            if alone {
                return;
            }
            let from = to.cast_const();
            match (self.transfer.bits, count) {
                (16, 1) => self.spread::<E, u16, 1>(from),
                (16, 2) => self.spread::<E, u16, 2>(from),
                (16, _) => self.spread::<E, u16, 4>(from),
                (32, 1) => self.spread::<E, u32, 1>(from),
                (32, 2) => self.spread::<E, u32, 2>(from),
                (32, _) => self.spread::<E, u32, 4>(from),
                (_, 1) => self.spread::<E, u64, 1>(from),
                (_, 2) => self.spread::<E, u64, 2>(from),
                (_, _) => self.spread::<E, u64, 4>(from),
            }
        }
    }

    /// Loads or stores for some lanes, one by one.
    ///
    /// # Safety
    ///
    /// At each lane's place are its elements, readable and writable, and the registers are a warp's of the transfer's program.
    #[inline(always)]
    pub(super) unsafe fn access_some<E: Stored, const WRITE: bool>(&self, mask: u32, first: impl Fn(usize) -> usize) {
        for (index, element) in self.transfer.elements.iter().enumerate().take(self.transfer.count.into()) {
            let place = |lane: usize| first(lane) + index * size_of::<E>();
            // SAFETY: the caller's promise; the registers are of the transfer's width.
            unsafe {
                match *element {
                    Element::Register(at) => {
                        let register = self.registers.add(at as usize);
                        match self.transfer.bits {
                            16 => some::<E, u16, WRITE>(register, mask, place, self.transfer.signed),
                            32 => some::<E, u32, WRITE>(register, mask, place, self.transfer.signed),
                            _ => some::<E, u64, WRITE>(register, mask, place, self.transfer.signed),
                        }
                    }
                    Element::Constant(bits) if WRITE => {
                        lanes(mask).for_each(|lane| E::truncate(bits).store(place(lane)));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Spreads elements over registers, lane by lane behind each other as they are in memory.
    ///
    /// # Safety
    ///
    /// There are `COUNT` elements for each lane, and the registers are of this width.
    #[inline(always)]
    unsafe fn spread<E: Stored, W: Word, const COUNT: usize>(&self, from: *const E) {
        let signed = self.transfer.signed;
        for index in 0..COUNT {
            let Element::Register(at) = self.transfer.elements[index] else { continue };
            // SAFETY: the caller's promise.
            unsafe {
                let to = &mut *self.registers.add(at as usize).cast::<[W; WARP]>();
                let element = |lane: usize| from.add(lane * COUNT + index).read();
                match signed {
                    true => (0..WARP).for_each(|lane| to[lane] = element(lane).widen()),
                    false => (0..WARP).for_each(|lane| to[lane] = W::truncate(element(lane).into())),
                }
            }
        }
    }

    /// # Safety
    ///
    /// The elements are in memory that is writable.
    #[inline(always)]
    unsafe fn store<E: Stored, const WIDE: bool>(&self, places: &Places) {
        let count = usize::from(self.transfer.count);
        let mut buffer = MaybeUninit::<[E; ELEMENTS * WARP]>::uninit();
        let alone = count == 1 && u32::from(self.transfer.bits) == E::BITS;
        // SAFETY: the caller's promise; the buffer has room for all elements.
        unsafe {
            let from = match self.transfer.elements[0] {
                Element::Register(at) if alone => self.registers.add(at as usize).cast::<E>().cast_const(),
                _ => {
                    let to = buffer.as_mut_ptr().cast::<E>();
                    match (self.transfer.bits, count) {
                        (16, 1) => self.gather::<E, u16, 1>(to),
                        (16, 2) => self.gather::<E, u16, 2>(to),
                        (16, _) => self.gather::<E, u16, 4>(to),
                        (32, 1) => self.gather::<E, u32, 1>(to),
                        (32, 2) => self.gather::<E, u32, 2>(to),
                        (32, _) => self.gather::<E, u32, 4>(to),
                        (_, 1) => self.gather::<E, u64, 1>(to),
                        (_, 2) => self.gather::<E, u64, 2>(to),
                        (_, _) => self.gather::<E, u64, 4>(to),
                    }
                    to.cast_const()
                }
            };
            match places {
                Places::Halves(halves) => {
                    for (half, (to, _)) in halves.iter().enumerate() {
                        copy::<E, WIDE>(*to as *mut E, from.add(half * HALF * count), count * HALF);
                    }
                }
                Places::Scattered(places) => {
                    for (lane, place) in places.iter().enumerate() {
                        for index in 0..count {
                            from.add(lane * count + index).read().store(*place as usize + index * size_of::<E>());
                        }
                    }
                }
            }
        }
    }

    /// Collects the elements of registers, lane by lane behind each other as they are in memory.
    ///
    /// # Safety
    ///
    /// There is room for `COUNT` elements of each lane, and the registers are of this width.
    #[inline(always)]
    unsafe fn gather<E: Stored, W: Stored, const COUNT: usize>(&self, to: *mut E) {
        for index in 0..COUNT {
            // SAFETY: the caller's promise.
            unsafe {
                match self.transfer.elements[index] {
                    Element::Register(at) => {
                        let from = &*self.registers.add(at as usize).cast::<[W; WARP]>();
                        for (lane, value) in from.iter().enumerate() {
                            to.add(lane * COUNT + index).write(E::truncate((*value).into()));
                        }
                    }
                    Element::Constant(bits) => {
                        for lane in 0..WARP {
                            to.add(lane * COUNT + index).write(E::truncate(bits));
                        }
                    }
                    Element::Sink => {
                        for lane in 0..WARP {
                            to.add(lane * COUNT + index).write(E::default());
                        }
                    }
                }
            }
        }
    }
}

/// Moves an element of some lanes between a register and memory.
///
/// # Safety
///
/// At each lane's place is an element, readable and writable, and the register has this width.
#[inline(always)]
unsafe fn some<E: Stored, W: Stored, const WRITE: bool>(
    register: *mut u8,
    mask: u32,
    place: impl Fn(usize) -> usize,
    signed: bool,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let register = &mut *register.cast::<[W; WARP]>();
        for lane in lanes(mask) {
            if WRITE {
                E::truncate(register[lane].into()).store(place(lane));
                continue;
            }
            let element = E::load(place(lane));
            register[lane] = if signed { element.widen() } else { W::truncate(element.into()) };
        }
    }
}
