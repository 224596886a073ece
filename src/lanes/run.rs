//! How a loop runs: the code of each level around the generated body.

use isa_table::limits::PLACES;
#[cfg(feature = "simd")]
use isa_table::program::RunWarp;

#[cfg(feature = "simd")]
use super::level::levels;
#[cfg(all(not(target_arch = "x86_64"), feature = "simd"))]
use super::portable::Portable;
use super::step::{Head, Next};
use super::values::Operands;
#[cfg(all(target_arch = "x86_64", feature = "simd"))]
use super::x86::*;
use super::{Kernel, Level, Loop, Outputs, Params, Run, Simd, Sources, Width};

/// The code of a loop at every level that has vectors; none where the crate is built without the feature `simd`.
#[cfg(feature = "simd")]
pub const fn code<K: Loop>() -> &'static [Run] {
    macro_rules! runs {
        ($($name:ident $simd:ident [$($feature:tt)*];)*) => { const { &[$($name::run::<K>()),*] } };
    }
    levels!(runs)
}

/// The code of a loop at every level that has vectors; none where the crate is built without the feature `simd`.
#[cfg(not(feature = "simd"))]
pub const fn code<K: Loop>() -> &'static [Run] {
    &[]
}

/// The functions of each level. Inlining brings the body into functions that have the features.
#[cfg(feature = "simd")]
macro_rules! functions {
    ($($name:ident $simd:ident [$($feature:tt)*];)*) => {$(
        pub(super) mod $name {
            use super::*;

            /// # Safety
            ///
            /// The module's first promise.
            $(#[target_feature(enable = $feature)])*
            #[inline(never)]
            pub(in crate::lanes) unsafe fn call<K: Kernel>(kernel: K) -> K::Output {
                kernel.run($simd(()))
            }

            pub(super) const fn run<K: Loop>() -> Run {
                Run { places: places::<K>(), words: K::Params::WORDS, of_warp: of_warp::<K>, chunks: chunks::<K> }
            }

            /// Returns the function that runs a step: a specialized one if the step's selectors have their usual
            /// values.
            ///
            /// # Safety
            ///
            /// The module's promises: see [`over_warp`].
            unsafe fn of_warp<K: Loop>(step: *const u8) -> RunWarp {
                // SAFETY: the caller's promise.
                match K::Params::SELECTS && unsafe { params::<K>(step) }.usual().is_none() {
                    true => unusual::<K>,
                    false => warp::<K>,
                }
            }

            /// # Safety
            ///
            /// The module's promises: see [`over_warp`]. Selectors pick what they mostly do.
            $(#[target_feature(enable = $feature)])*
            unsafe fn warp<K: Loop>(registers: *mut u8, step: *const u8, more: usize) {
                // SAFETY: the caller's promises; by the first one the features are there, by the last one selectors are known,
                // and where there are none, all is usual.
                unsafe {
                    let params = params::<K>(step).usual().unwrap_unchecked();
                    over_warp::<K, _>($simd(()), params, registers, step, more);
                }
            }

            /// # Safety
            ///
            /// The module's promises: see [`over_warp`].
            $(#[target_feature(enable = $feature)])*
            unsafe fn unusual<K: Loop>(registers: *mut u8, step: *const u8, more: usize) {
                // SAFETY: the caller's promises; by the first one the features are there.
                unsafe { over_warp::<K, _>($simd(()), params::<K>(step).unusual(), registers, step, more) }
            }

            /// # Safety
            ///
            /// The module's promises: see [`over_chunks`].
            $(#[target_feature(enable = $feature)])*
            unsafe fn chunks<K: Loop>(
                registers: *mut u8,
                at: *const *mut u8,
                step: *const u8,
                count: usize,
                strides: *const usize,
            ) {
                // SAFETY: the caller's promises; by the first one the features are there.
                unsafe { over_chunks::<K, _>($simd(()), registers, at, step, count, strides) }
            }
        }
    )*};
}

#[cfg(feature = "simd")]
levels!(functions);

impl Level {
    /// Runs a kernel in a function that has the features of this level; `None` at a level without vectors.
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> Option<K::Output> {
        #[cfg(feature = "simd")]
        {
            macro_rules! calls {
                ($($name:ident $simd:ident [$($feature:tt)*];)*) => { [$($name::call::<K>),*] };
            }
            let calls: &[unsafe fn(K) -> K::Output] = &levels!(calls);
            // SAFETY: by the module's first promise, the machine has the features of this level.
            self.vectors().map(|vectors| unsafe { calls[vectors](kernel) })
        }
        #[cfg(not(feature = "simd"))]
        {
            let _ = kernel;
            None
        }
    }
}

/// Addresses of operands in the registers of one warp, at the offsets of its step.
#[derive(Clone, Copy)]
struct OfWarp {
    registers: *mut u8,
    step: *const u8,
}

impl Operands for OfWarp {
    #[inline(always)]
    unsafe fn at(self, place: usize, _: Width) -> *mut u8 {
        // SAFETY: the caller's promise: behind the head of a step there is an offset for each place.
        unsafe { self.registers.add(self.step.add(Head::place(place)).cast::<u32>().read() as usize) }
    }
}

/// Addresses of operands in one of several chunks: the first chunk of each operand, and for each width the offset of this chunk.
#[derive(Clone, Copy)]
struct OfChunk<'a> {
    firsts: &'a [*mut u8; PLACES],
    offsets: &'a [usize; Width::COUNT],
}

impl Operands for OfChunk<'_> {
    #[inline(always)]
    unsafe fn at(self, place: usize, width: Width) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.firsts[place].add(self.offsets[width as usize]) }
    }
}

/// Runs a loop with the given parameters over one warp, then runs the steps that follow. The operands are at the step's
/// offsets in `registers`. Only lanes that are active and enabled by the step's guard are written.
///
/// The fields of the step are read at their uses: held in machine registers, they would have to be spilled first.
///
/// # Safety
///
/// The module's promises, for each of the steps. The first one is of this loop.
#[inline(always)]
unsafe fn over_warp<K: Loop, L: Simd>(simd: L, params: K::Params, registers: *mut u8, step: *const u8, more: usize) {
    // SAFETY: the caller's promises: behind the head there is an offset for each place, then the parameters.
    unsafe {
        let next = Next::at(step.add(Head::size(places::<K>(), K::Params::WORDS)));
        let operands = OfWarp { registers, step };
        let head = step.cast::<Head>();
        // A warp begins with the mask of its active lanes.
        let guard = registers.add((*head).guard as usize).cast::<u32>().read();
        let mask = (guard ^ (*head).flip) & registers.cast::<u32>().read();
        let sources = K::Sources::load(operands, K::Outputs::COUNT);
        // The sources are not used any more when the outputs are stored.
        K::chunk(simd, sources, params, mask).store_masked(simd, operands, mask);
        next.run(registers, more);
    }
}

/// Runs a loop over chunks of 32 lanes, at least one. The first chunk of each operand is at the step's offset in
/// `registers`; or, if that is null, where `at` points, destinations first. `strides` says for each [`Width`] how many bytes
/// a chunk is behind the other. All lanes are written.
///
/// # Safety
///
/// The module's promises. `step` points to a step of this loop; its guard is not looked at.
#[inline(always)]
unsafe fn over_chunks<K: Loop, L: Simd>(
    simd: L,
    registers: *mut u8,
    at: *const *mut u8,
    step: *const u8,
    count: usize,
    strides: *const usize,
) {
    // SAFETY: the caller's promises.
    unsafe {
        let firsts = firsts(registers, at, step, places::<K>());
        let strides = strides.cast::<[usize; Width::COUNT]>().read();
        let params = params::<K>(step);
        if K::Params::SELECTS {
            match params.usual() {
                Some(params) => chunks::<K, L>(simd, params, &firsts, count, &strides),
                None => chunks::<K, L>(simd, params.unusual(), &firsts, count, &strides),
            }
        } else {
            chunks::<K, L>(simd, params, &firsts, count, &strides);
        }
    }
}

/// # Safety
///
/// As [`over_chunks`].
#[inline(always)]
unsafe fn chunks<K: Loop, L: Simd>(
    simd: L,
    params: K::Params,
    firsts: &[*mut u8; PLACES],
    mut count: usize,
    strides: &[usize; Width::COUNT],
) {
    let mut offsets = [0; Width::COUNT];
    // SAFETY: by the caller's promises, `firsts` has an entry for each place, and all `count` chunks of it exist.
    unsafe {
        loop {
            let operands = OfChunk { firsts, offsets: &offsets };
            let sources = K::Sources::load(operands, K::Outputs::COUNT);
            K::chunk(simd, sources, params, u32::MAX).store(operands);
            count -= 1;
            if count == 0 {
                return;
            }
            advance(&mut offsets, strides);
        }
    }
}

/// Returns the address of the first chunk of each operand.
///
/// # Safety
///
/// As [`over_chunks`], for a step with this number of operands.
#[inline(always)]
unsafe fn firsts(registers: *mut u8, at: *const *mut u8, step: *const u8, places: usize) -> [*mut u8; PLACES] {
    let mut firsts = [registers; PLACES];
    for (place, first) in firsts.iter_mut().enumerate().take(places) {
        // SAFETY: the caller's promises.
        *first = unsafe {
            match registers.is_null() {
                true => at.add(place).read(),
                false => OfWarp { registers, step }.at(place, Width::B32),
            }
        };
    }
    firsts
}

/// Moves on to the next chunk.
#[inline(always)]
fn advance(offsets: &mut [usize; Width::COUNT], strides: &[usize; Width::COUNT]) {
    let mut width = 0;
    while width < Width::COUNT {
        offsets[width] += strides[width];
        width += 1;
    }
}

/// Number of operands in a step of this loop.
const fn places<K: Loop>() -> usize {
    K::Outputs::COUNT + K::Sources::COUNT
}

/// Returns the parameters of a step, which follow its operand offsets.
///
/// # Safety
///
/// `step` points to a step of this loop.
#[inline(always)]
unsafe fn params<K: Loop>(step: *const u8) -> K::Params {
    // SAFETY: the caller's promise.
    unsafe { K::Params::load(step.add(Head::params(places::<K>()))) }
}
