//! Elements of a warp's lanes: moved between memory, where each has a place, and registers.
//!
//! Elements that need conversion pass through a buffer that has the layout of memory. Each combination of size, width and count is
//! a function of its own, not inlined into its callers: all of them in one function take the compiler half a minute.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::memory::Transfer;
use super::{HALF, WARP, Word};

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

/// Copies aligned elements between registers and memory that others may access at the same time.
///
/// # Safety
///
/// Both point to `count` elements, a multiple of 16 bytes in all, aligned, readable and writable; concurrent accesses to
/// those in memory are atomic. The machine has vectors of `WIDTH` bytes: 64 with AVX-512, 32 with AVX2, or 16.
#[inline(always)]
pub(super) unsafe fn copy<E: Stored, const WIDTH: usize>(to: *mut E, from: *const E, count: usize) {
    let bytes = count * size_of::<E>();
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        macro_rules! moved {
            ($mov:literal $vector:literal, $to:expr, $from:expr) => {
                core::arch::asm!(
                    concat!($mov, " ", $vector, ", [{from}]"),
                    concat!($mov, " [{to}], ", $vector),
                    from = in(reg) $from,
                    to = in(reg) $to,
                    out("xmm15") _,
                    options(nostack, preserves_flags),
                )
            };
        }
        let (to, from) = (to.cast::<u8>(), from.cast::<u8>());
        let mut at = 0;
        // SAFETY: the caller's promise. As far as others can tell this is a relaxed atomic access to each element, in some
        // order: an aligned element lies in one cache line, of which a move of this architecture accesses no aligned eight bytes in
        // parts. The compiler takes the instructions as they are, so that it makes nothing of a race.
        unsafe {
            while WIDTH >= 64 && at + 64 <= bytes {
                moved!("vmovdqu64" "zmm15", to.add(at), from.add(at));
                at += 64;
            }
            while WIDTH >= 32 && at + 32 <= bytes {
                moved!("vmovdqu" "ymm15", to.add(at), from.add(at));
                at += 32;
            }
            while at + 16 <= bytes {
                match WIDTH {
                    16 => moved!("movdqu" "xmm15", to.add(at), from.add(at)),
                    _ => moved!("vmovdqu" "xmm15", to.add(at), from.add(at)),
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
pub(super) struct Places {
    /// True if the elements of each half are adjacent, or the same, and all lanes are active; else each active lane has its own place.
    pub regular: bool,
    /// Start of each half's elements, and true if they are the one element of all its lanes.
    pub halves: [(usize, bool); 2],
    pub lanes: [u64; WARP],
}

impl Places {
    pub(super) const NONE: Places = Places { regular: false, halves: [(0, false); 2], lanes: [0; WARP] };
}

/// The elements of a warp in its registers.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub transfer: &'a Transfer,
    pub registers: *mut u8,
}

/// Loads or stores the elements of active lanes.
///
/// # Safety
///
/// At each active lane's place are its elements, readable and writable, the registers are a warp's of the transfer's program,
/// and elements have the size that the function was chosen for. Halves have places only where all lanes are active.
pub(super) type Access = unsafe fn(&Elements<'_>, mask: u32, &Places);

/// Returns the function for elements of this size, on a machine with vectors of `WIDTH` bytes.
pub(super) fn access<E: Stored, const WRITE: bool, const WIDTH: usize>() -> Access {
    match WIDTH {
        16 => narrow::access::<E, WRITE>,
        _ => wide::access::<E, WRITE>,
    }
}

/// Calls a macro with each set of CPU features that transfers are compiled for: the name of its module, the bytes of its vectors, and the
/// features. Where the machine cannot be wide, `wide` is the other.
macro_rules! widths {
    ($each:ident) => {
        $each!(narrow 16 []);
        #[cfg(all(target_arch = "x86_64", feature = "simd"))]
        $each!(wide 32 ["avx2,bmi1,bmi2"]);
        #[cfg(not(all(target_arch = "x86_64", feature = "simd")))]
        use narrow as wide;
    };
}
pub(super) use widths;

/// Defines the functions for each size, width and count, compiled with CPU features.
macro_rules! compiled {
    ($module:ident $width:literal [$($features:literal)?]) => {
        mod $module {
            use super::*;

            /// # Safety
            ///
            /// As [`Access`].
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn access<E: Stored, const WRITE: bool>(
                elements: &Elements<'_>,
                mask: u32,
                places: &Places,
            ) {
                // SAFETY: the caller's promises.
                unsafe {
                    match (mask, WRITE) {
                        (u32::MAX, true) => elements.store::<E, $width>(places),
                        (u32::MAX, false) => elements.load::<E, $width>(places),
                        _ => elements.some::<E, WRITE>(mask, &places.lanes),
                    }
                }
            }

            /// # Safety
            ///
            /// As [`spread_register`].
            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            pub(super) unsafe fn spread<E: Stored, W: Word, const COUNT: usize>(
                from: *const E,
                to: *mut [W; WARP],
                signed: bool,
            ) {
                // SAFETY: the caller's promises.
                unsafe { spread_register::<E, W, COUNT>(from, to, signed) }
            }

            /// # Safety
            ///
            /// As [`deinterleave_registers`].
            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            pub(super) unsafe fn deinterleave<E: Stored, const COUNT: usize>(from: *const E, to: &[*mut u8; COUNT]) {
                // SAFETY: the caller's promises.
                unsafe { deinterleave_registers::<E, COUNT>(from, to) }
            }

            /// # Safety
            ///
            /// As [`gather_register`].
            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            pub(super) unsafe fn gather<E: Stored, W: Stored, const COUNT: usize>(from: *const [W; WARP], to: *mut E) {
                // SAFETY: the caller's promises.
                unsafe { gather_register::<E, W, COUNT>(from, to) }
            }
        }
    };
}

widths!(compiled);

/// Calls a macro's arm with the width of a transfer's registers and its number of elements as a type and a constant.
macro_rules! with_sizes {
    ($transfer:expr, $call:ident) => {
        match ($transfer.bits, $transfer.count) {
            (16, 1) => $call!(u16, 1),
            (16, 2) => $call!(u16, 2),
            (16, _) => $call!(u16, 4),
            (32, 1) => $call!(u32, 1),
            (32, 2) => $call!(u32, 2),
            (32, _) => $call!(u32, 4),
            (_, 1) => $call!(u64, 1),
            (_, 2) => $call!(u64, 2),
            (_, _) => $call!(u64, 4),
        }
    };
}

impl Elements<'_> {
    /// # Safety
    ///
    /// As [`Access`], with all lanes active.
    #[inline(always)]
    unsafe fn load<E: Stored, const WIDTH: usize>(&self, places: &Places) {
        let count = usize::from(self.transfer.count);
        let mut buffer = MaybeUninit::<[E; ELEMENTS * WARP]>::uninit();
        let alone = self.transfer.alone::<E>();
        // SAFETY: the caller's promise; the buffer has room for all elements, and so has a register of their width for one of
        // each lane.
        unsafe {
            let to = match alone {
                Some(at) => self.registers.add(at).cast::<E>(),
                None => buffer.as_mut_ptr().cast::<E>(),
            };
            match (places.regular, places.halves) {
                (true, [(low, true), (high, true)]) => return self.broadcast::<E>([low, high]),
                (true, halves) => {
                    for (half, (from, same)) in halves.into_iter().enumerate() {
                        let to = to.add(half * HALF * count);
                        if !same {
                            copy::<E, WIDTH>(to, from as *const E, count * HALF);
                            continue;
                        }
                        for index in 0..count {
                            let element = E::load(from + index * size_of::<E>());
                            (0..HALF).for_each(|lane| to.add(lane * count + index).write(element));
                        }
                    }
                }
                (false, _) => match count {
                    1 => load_each::<E, 1>(to, &places.lanes),
                    2 => load_each::<E, 2>(to, &places.lanes),
                    _ => load_each::<E, 4>(to, &places.lanes),
                },
            }
            if alone.is_none() {
                self.spread::<E, WIDTH>(to);
            }
        }
    }

    /// Loads elements that are the same for all lanes of a half.
    ///
    /// # Safety
    ///
    /// As [`Access`], with all lanes active.
    #[inline(always)]
    pub(super) unsafe fn broadcast<E: Stored>(&self, halves: [usize; 2]) {
        let Transfer { bits, count, signed, .. } = *self.transfer;
        for (index, element) in self.transfer.elements.iter().enumerate().take(count.into()) {
            let Element::Register(at) = *element else { continue };
            for (half, from) in halves.iter().enumerate() {
                // SAFETY: the caller's promise; the register has this width.
                unsafe {
                    let element = E::load(*from + index * size_of::<E>());
                    let register = self.registers.add(at as usize);
                    match bits {
                        16 => register.cast::<[u16; HALF]>().add(half).write([extended(element, signed); HALF]),
                        32 => register.cast::<[u32; HALF]>().add(half).write([extended(element, signed); HALF]),
                        _ => register.cast::<[u64; HALF]>().add(half).write([extended(element, signed); HALF]),
                    }
                }
            }
        }
    }

    /// # Safety
    ///
    /// As [`Access`], with all lanes active.
    #[inline(always)]
    unsafe fn store<E: Stored, const WIDTH: usize>(&self, places: &Places) {
        let count = usize::from(self.transfer.count);
        let mut buffer = MaybeUninit::<[E; ELEMENTS * WARP]>::uninit();
        // SAFETY: the caller's promise; the buffer has room for all elements.
        unsafe {
            let from = match self.transfer.alone::<E>() {
                Some(at) => self.registers.add(at).cast::<E>().cast_const(),
                None => {
                    let to = buffer.as_mut_ptr().cast::<E>();
                    self.gather::<E, WIDTH>(to);
                    to.cast_const()
                }
            };
            match (places.regular, count) {
                (true, _) => {
                    for (half, (to, _)) in places.halves.into_iter().enumerate() {
                        copy::<E, WIDTH>(to as *mut E, from.add(half * HALF * count), count * HALF);
                    }
                }
                (false, 1) => store_each::<E, 1>(from, &places.lanes),
                (false, 2) => store_each::<E, 2>(from, &places.lanes),
                (false, _) => store_each::<E, 4>(from, &places.lanes),
            }
        }
    }

    /// Loads one element for each active lane by instructions that gather them, if there are such for its size; returns false, and does
    /// nothing, if there are not.
    ///
    /// # Safety
    ///
    /// As [`Access`], on a machine with AVX-512 with the extensions F, BW and VL.
    #[cfg(all(target_arch = "x86_64", feature = "simd", not(miri)))]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn gather_from(&self, mask: u32, places: &[u64; WARP]) -> bool {
        macro_rules! gathered {
            ($gather:literal $mov:literal $vector:literal, $to:expr, $places:expr, $mask:expr) => {
                core::arch::asm!(
                    "kmovd k1, {mask:e}",
                    "vmovdqu64 zmm16, [{places}]",
                    concat!($mov, " ", $vector, ", [{to}]"),
                    concat!($gather, " ", $vector, "{{k1}}, [{base} + zmm16]"),
                    concat!($mov, " [{to}], ", $vector),
                    mask = in(reg) $mask,
                    places = in(reg) $places.as_ptr(),
                    to = in(reg) $to,
                    base = in(reg) 0_usize,
                    out("zmm16") _,
                    out("zmm17") _,
                    out("k1") _,
                    options(nostack, preserves_flags),
                )
            };
        }
        let (bytes, eights) = (self.transfer.bytes, places.as_chunks::<8>().0.iter().enumerate());
        let Element::Register(at) = self.transfer.elements[0] else { return false };
        if self.transfer.count != 1 || u32::from(self.transfer.bits) != 8 * u32::from(bytes) {
            return false;
        }
        // SAFETY: the caller's promise. As with `copy`, an aligned element is accessed as a whole; elements whose mask is zero are not
        // accessed. The register keeps its lanes there.
        unsafe {
            let register = self.registers.add(at as usize);
            match bytes {
                4 => {
                    for (eight, places) in eights {
                        gathered!("vpgatherqd" "vmovdqu32" "ymm17", register.add(32 * eight), places, mask >> (8 * eight));
                    }
                }
                8 => {
                    for (eight, places) in eights {
                        gathered!("vpgatherqq" "vmovdqu64" "zmm17", register.add(64 * eight), places, mask >> (8 * eight));
                    }
                }
                _ => return false,
            }
        }
        true
    }

    /// The registers that take several elements as they are in memory.
    #[inline(always)]
    fn registers<E: Stored>(&self) -> Option<[*mut u8; ELEMENTS]> {
        let mut registers = [self.registers; ELEMENTS];
        for (to, element) in registers.iter_mut().zip(&self.transfer.elements[..self.transfer.count.into()]) {
            let Element::Register(at) = *element else { return None };
            // SAFETY: the offset is one in the registers.
            *to = unsafe { self.registers.add(at as usize) };
        }
        (self.transfer.count > 1 && u32::from(self.transfer.bits) == E::BITS).then_some(registers)
    }

    /// Spreads elements over registers, lane by lane behind each other as they are in memory.
    ///
    /// # Safety
    ///
    /// There are as many elements as the transfer has for all lanes, and the registers are those of its program.
    #[inline(always)]
    unsafe fn spread<E: Stored, const WIDTH: usize>(&self, from: *const E) {
        if let Some(registers) = self.registers::<E>() {
            // SAFETY: the caller's promise.
            return unsafe {
                match (WIDTH, self.transfer.count) {
                    (16, 2) => narrow::deinterleave::<E, 2>(from, registers.first_chunk().unwrap()),
                    (16, _) => narrow::deinterleave::<E, 4>(from, &registers),
                    (_, 2) => wide::deinterleave::<E, 2>(from, registers.first_chunk().unwrap()),
                    _ => wide::deinterleave::<E, 4>(from, &registers),
                }
            };
        }
        for (index, element) in self.transfer.elements.iter().enumerate().take(self.transfer.count.into()) {
            let Element::Register(at) = *element else { continue };
            // SAFETY: the caller's promise.
            unsafe {
                let (from, to) = (from.add(index), self.registers.add(at as usize));
                macro_rules! spread {
                    ($width:ident, $count:literal) => {
                        match WIDTH {
                            16 => narrow::spread::<E, $width, $count>(from, to.cast(), self.transfer.signed),
                            _ => wide::spread::<E, $width, $count>(from, to.cast(), self.transfer.signed),
                        }
                    };
                }
                with_sizes!(self.transfer, spread);
            }
        }
    }

    /// Collects the elements of registers, lane by lane behind each other as they are in memory.
    ///
    /// # Safety
    ///
    /// There is room for as many elements as the transfer has for all lanes, and the registers are those of its program.
    #[inline(always)]
    unsafe fn gather<E: Stored, const WIDTH: usize>(&self, to: *mut E) {
        let count = usize::from(self.transfer.count);
        for (index, element) in self.transfer.elements.iter().enumerate().take(count) {
            // SAFETY: the caller's promise.
            unsafe {
                let to = to.add(index);
                let constant = match *element {
                    Element::Register(at) => {
                        let from = self.registers.add(at as usize).cast_const();
                        macro_rules! gather {
                            ($width:ident, $count:literal) => {
                                match WIDTH {
                                    16 => narrow::gather::<E, $width, $count>(from.cast(), to),
                                    _ => wide::gather::<E, $width, $count>(from.cast(), to),
                                }
                            };
                        }
                        with_sizes!(self.transfer, gather);
                        continue;
                    }
                    Element::Constant(bits) => E::truncate(bits),
                    Element::Sink => E::default(),
                };
                for lane in 0..WARP {
                    to.add(lane * count).write(constant);
                }
            }
        }
    }

    /// Loads or stores for some lanes, one by one.
    ///
    /// # Safety
    ///
    /// As [`Access`].
    #[inline(always)]
    unsafe fn some<E: Stored, const WRITE: bool>(&self, mask: u32, places: &[u64; WARP]) {
        for (index, element) in self.transfer.elements.iter().enumerate().take(self.transfer.count.into()) {
            let place = |lane: usize| places[lane] as usize + index * size_of::<E>();
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
}

/// An element in a register.
#[inline(always)]
fn extended<E: Stored, W: Word>(element: E, signed: bool) -> W {
    if signed { element.widen() } else { W::truncate(element.into()) }
}

/// Loads `COUNT` elements for each lane.
///
/// # Safety
///
/// As [`Access`], with all lanes active; there is room for all elements.
#[inline(always)]
unsafe fn load_each<E: Stored, const COUNT: usize>(to: *mut E, places: &[u64; WARP]) {
    for (lane, place) in places.iter().enumerate() {
        for index in 0..COUNT {
            // SAFETY: the caller's promise.
            unsafe { to.add(lane * COUNT + index).write(E::load(*place as usize + index * size_of::<E>())) };
        }
    }
}

/// Stores `COUNT` elements for each lane.
///
/// # Safety
///
/// As [`Access`], with all lanes active.
#[inline(always)]
unsafe fn store_each<E: Stored, const COUNT: usize>(from: *const E, places: &[u64; WARP]) {
    for (lane, place) in places.iter().enumerate() {
        for index in 0..COUNT {
            // SAFETY: the caller's promise.
            unsafe { from.add(lane * COUNT + index).read().store(*place as usize + index * size_of::<E>()) };
        }
    }
}

/// Moves each `COUNT`th element, from the first on, to the lanes of a register.
///
/// # Safety
///
/// There are `COUNT` elements for each lane, from the first one of a lane on; the register is writable.
#[inline(always)]
unsafe fn spread_register<E: Stored, W: Word, const COUNT: usize>(from: *const E, to: *mut [W; WARP], signed: bool) {
    // SAFETY: the caller's promise.
    let (element, to) = (|lane: usize| unsafe { from.add(lane * COUNT).read() }, unsafe { &mut *to });
    match signed && E::BITS < W::BITS {
        true => (0..WARP).for_each(|lane| to[lane] = element(lane).widen()),
        false => (0..WARP).for_each(|lane| to[lane] = W::truncate(element(lane).into())),
    }
}

/// Deinterleaves elements into registers of their width: the first one of each lane goes to the first register, and so on.
///
/// # Safety
///
/// There are `COUNT` elements for each lane; the registers are writable.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "one lane of all registers after the other, as they are in memory")]
unsafe fn deinterleave_registers<E: Stored, const COUNT: usize>(from: *const E, to: &[*mut u8; COUNT]) {
    let mut registers = [[E::default(); WARP]; COUNT];
    for lane in 0..WARP {
        for index in 0..COUNT {
            // SAFETY: the caller's promise.
            registers[index][lane] = unsafe { from.add(lane * COUNT + index).read() };
        }
    }
    for index in 0..COUNT {
        // SAFETY: the caller's promise.
        unsafe { to[index].cast::<[E; WARP]>().write(registers[index]) };
    }
}

/// Moves the lanes of a register to each `COUNT`th element, from the first on.
///
/// # Safety
///
/// There is room for `COUNT` elements of each lane, from the first one of a lane on; the register is readable.
#[inline(always)]
unsafe fn gather_register<E: Stored, W: Stored, const COUNT: usize>(from: *const [W; WARP], to: *mut E) {
    // SAFETY: the caller's promise.
    let from = unsafe { &*from };
    for (lane, value) in from.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.add(lane * COUNT).write(E::truncate((*value).into())) };
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
            register[lane] = extended(E::load(place(lane)), signed);
        }
    }
}
