//! Shapes of kernels: how operands are moved, and what is done with an outcome.

use core::marker::PhantomData;
use core::sync::atomic::{Ordering, compiler_fence};

use super::data::{Masks, WHOLE_FIRST, WHOLE_SECOND};
use super::*;

/// A shape: how a kernel's operands are moved and what is done with its outcome.
pub(super) trait Shape: 'static {
    const LAYOUT: Layout;
    /// # Safety
    ///
    /// The module's promises, for offsets from `base`.
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32);
    /// # Safety
    ///
    /// The module's promises.
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize);
}

/// Bits of a lane in each place of operands: 1 for predicates, 0 where the kernel has no operand.
pub(crate) type Layout = [u32; PLACES];

/// The mask of lanes that an instruction writes.
///
/// # Safety
///
/// The module's second promise.
#[inline(always)]
pub(super) unsafe fn guard(base: *mut u8, op: *const Prepared, active: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { (*base.add((*op).guard as usize).cast::<u32>() ^ (*op).guard_xor) & active }
}

/// The part of an instruction's data that few kernels ask for.
///
/// # Safety
///
/// `op` points to an instruction that lives as long as the result is used.
#[inline(always)]
pub(super) unsafe fn rare<'a>(op: *const Prepared) -> &'a Rare {
    // SAFETY: the caller's promise.
    unsafe { &(&*op).rare }
}

/// The place of an operand in a register file.
///
/// # Safety
///
/// The module's second promise.
#[inline(always)]
pub(super) unsafe fn at(base: *mut u8, op: *const Prepared, place: usize) -> *mut u8 {
    // SAFETY: the caller's promise: the offset is inside the register file.
    unsafe { base.add((*op).at[place] as usize) }
}

/// Keeps the optimiser from two things: from taking warps for lanes (it would gather), and from holding what an
/// instruction's data says in registers that it must save first.
#[inline(always)]
pub(super) fn each_warp_alone() {
    compiler_fence(Ordering::SeqCst);
}

/// Bits of the lanes that a test compares.
pub(super) const fn widest<K: Test>() -> u32 {
    if K::A::BITS > K::B::BITS { K::A::BITS } else { K::B::BITS }
}

/// The outcomes of a test, one bit a lane.
#[inline(always)]
pub(super) fn outcomes<K: Test, L: Simd>(simd: L, a: &[K::A; WARP], b: &[K::B; WARP]) -> u32 {
    let mut lanes = [0; WARP];
    let mut lane = 0;
    while lane < WARP {
        lanes[lane] = -i8::from(K::test(a[lane], b[lane]));
        lane += 1;
    }
    simd.mask(&lanes, widest::<K>()) as u32
}

/// The same for lanes in pairs, of which words hold two.
#[inline(always)]
pub(super) fn pair_outcomes<K: Test, L: Simd>(simd: L, a: &[K::A; 64], b: &[K::B; 64]) -> (u32, u32) {
    let mut lanes = [0; 64];
    let mut lane = 0;
    while lane < 64 {
        lanes[lane] = -i8::from(K::test(a[lane], b[lane]));
        lane += 1;
    }
    simd.unzip(simd.mask(&lanes, widest::<K>()) as u64)
}

/// Outputs are predicates: a truth table of a test and a predicate, and of the complemented test.
pub(super) struct TruthOf<K, const OUTPUTS: usize>(PhantomData<K>);

impl<K: Test, const OUTPUTS: usize> Shape for TruthOf<K, OUTPUTS> {
    const LAYOUT: Layout = [1, if OUTPUTS > 1 { 1 } else { 0 }, K::A::BITS, K::B::BITS, 1, 0, 0, 0];

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let test = outcomes::<K, L>(simd, &*at(base, op, A).cast(), &*at(base, op, B).cast());
            let masks = (*op).truth.masks(*at(base, op, X).cast());
            let guard = guard(base, op, active);
            let first = masks.apply(test);
            first.store(simd, at(base, op, D), guard);
            if OUTPUTS > 1 {
                masks.complement(first).store(simd, at(base, op, E), guard);
            }
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let (a, b) = (places.at[A].cast::<[K::A; WARP]>(), places.at[B].cast::<[K::B; WARP]>());
            each_chunk_asked(places, op, chunks, |chunk, masks| {
                let first = masks.apply(outcomes::<K, L>(simd, &*a.add(chunk), &*b.add(chunk)));
                *predicates(places, D, chunk) = first;
                if OUTPUTS > 1 {
                    *predicates(places, E, chunk) = masks.complement(first);
                }
            });
        }
    }
}

/// The predicates of a chunk.
///
/// # Safety
///
/// The module's second promise.
#[inline(always)]
pub(super) unsafe fn predicates(places: &Places, place: usize, chunk: usize) -> *mut u32 {
    // SAFETY: the caller's promise.
    unsafe { places.at[place].add(places.step(place) * chunk).cast() }
}

/// Runs a body for each chunk with its number and the masks of its predicates.
///
/// # Safety
///
/// The module's second promise.
#[inline(always)]
pub(super) unsafe fn each_chunk_asked(
    places: &Places,
    op: *const Prepared,
    chunks: usize,
    mut body: impl FnMut(usize, Masks),
) {
    // SAFETY: the caller's promise.
    let truth = unsafe { (*op).truth };
    let mut chunk = 0;
    if places.step(X) == 0 {
        // SAFETY: the caller's promise: there is one word for all chunks.
        let masks = truth.masks(unsafe { *predicates(places, X, 0) });
        while chunk < chunks {
            body(chunk, masks);
            each_warp_alone();
            chunk += 1;
        }
        return;
    }
    while chunk < chunks {
        // SAFETY: the caller's promise.
        body(chunk, truth.masks(unsafe { *predicates(places, X, chunk) }));
        each_warp_alone();
        chunk += 1;
    }
}

/// The same for pairs of lanes: the first output is the lower lane's, the second the upper one's.
pub(super) struct TruthOfPairs<K>(PhantomData<K>);

impl<K: Test> Shape for TruthOfPairs<K> {
    const LAYOUT: Layout = [1, 1, 2 * K::A::BITS, 2 * K::B::BITS, 1, 0, 0, 0];

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let (lower, upper) = pair_outcomes::<K, L>(simd, &*at(base, op, A).cast(), &*at(base, op, B).cast());
            let masks = (*op).truth.masks(*at(base, op, X).cast());
            let guard = guard(base, op, active);
            masks.apply(lower).store(simd, at(base, op, D), guard);
            masks.apply(upper).store(simd, at(base, op, E), guard);
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let (a, b) = (places.at[A].cast::<[K::A; 64]>(), places.at[B].cast::<[K::B; 64]>());
            each_chunk_asked(places, op, chunks, |chunk, masks| {
                let (lower, upper) = pair_outcomes::<K, L>(simd, &*a.add(chunk), &*b.add(chunk));
                *predicates(places, D, chunk) = masks.apply(lower);
                *predicates(places, E, chunk) = masks.apply(upper);
            });
        }
    }
}

/// The output is one of two constants, chosen by a truth table of a test and a predicate.
pub(super) struct ChooseOf<K, W>(PhantomData<(K, W)>);

impl<K: Test, W: Word> Shape for ChooseOf<K, W> {
    const LAYOUT: Layout = [W::BITS, 0, K::A::BITS, K::B::BITS, 1, 0, 0, 0];

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let test = outcomes::<K, L>(simd, &*at(base, op, A).cast(), &*at(base, op, B).cast());
            let choice = (*op).truth.masks(*at(base, op, X).cast()).apply(test);
            let [yes, no] = (*op).constants.map(W::truncate);
            let chosen = simd.select(choice.into(), &[yes; WARP], &[no; WARP]);
            chosen.store(simd, at(base, op, D), guard(base, op, active));
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let (a, b) = (places.at[A].cast::<[K::A; WARP]>(), places.at[B].cast::<[K::B; WARP]>());
            let d = places.at[D].cast::<[W; WARP]>();
            let [yes, no] = (*op).constants.map(W::truncate);
            if places.step(X) != 0 {
                return each_chunk_asked(places, op, chunks, |chunk, masks| {
                    let choice = masks.apply(outcomes::<K, L>(simd, &*a.add(chunk), &*b.add(chunk)));
                    *d.add(chunk) = simd.select(choice.into(), &[yes; WARP], &[no; WARP]);
                });
            }
            // The commonest case needs no masks: the test alone chooses. And often the constants are what lanes of
            // outcomes are made of.
            if !L::MASKS && yes == W::ONES && no == W::default() {
                choose_by_test::<K, W, L>(simd, a, b, d, chunks, W::ONES, W::default());
            } else {
                choose_by_test::<K, W, L>(simd, a, b, d, chunks, yes, no);
            }
        }
    }
}

/// Fills chunks with one of two constants in each lane.
///
/// # Safety
///
/// So many chunks can be read at `a` and `b` and written at `d`.
#[inline(always)]
pub(super) unsafe fn choose_by_test<K: Test, W: Word, L: Simd>(
    simd: L,
    a: *const [K::A; WARP],
    b: *const [K::B; WARP],
    d: *mut [W; WARP],
    chunks: usize,
    yes: W,
    no: W,
) {
    // SAFETY: the caller's promise.
    unsafe {
        // Two at once, as the compiler would unroll it.
        let mut chunk = 0;
        for _ in 0..chunks / 2 {
            *d.add(chunk) = chosen::<K, W, L>(simd, &*a.add(chunk), &*b.add(chunk), yes, no);
            *d.add(chunk + 1) = chosen::<K, W, L>(simd, &*a.add(chunk + 1), &*b.add(chunk + 1), yes, no);
            each_warp_alone();
            chunk += 2;
        }
        if !chunks.is_multiple_of(2) {
            *d.add(chunk) = chosen::<K, W, L>(simd, &*a.add(chunk), &*b.add(chunk), yes, no);
        }
    }
}

/// One of two constants in each lane, chosen by a test.
#[inline(always)]
pub(super) fn chosen<K: Test, W: Word, L: Simd>(
    simd: L,
    a: &[K::A; WARP],
    b: &[K::B; WARP],
    yes: W,
    no: W,
) -> [W; WARP] {
    let mut lanes = [no; WARP];
    let mut lane = 0;
    if K::A::BITS >= W::BITS {
        while lane < WARP {
            lanes[lane] = if K::test(a[lane], b[lane]) { yes } else { no };
            lane += 1;
        }
        return lanes;
    }
    // Tests are done in the width of the sources, and only outcomes are widened.
    if L::MASKS {
        return simd.select(outcomes::<K, L>(simd, a, b).into(), &[yes; WARP], &lanes);
    }
    let mut outcomes = [K::A::default(); WARP];
    while lane < WARP {
        outcomes[lane] = if K::test(a[lane], b[lane]) { K::A::ONES } else { K::A::default() };
        lane += 1;
    }
    let wide: [W; WARP] = simd.widen(&outcomes);
    lane = 0;
    while lane < WARP {
        lanes[lane] = wide[lane].choose(yes, no);
        lane += 1;
    }
    lanes
}

/// The same for pairs of 16 bits, each with a test of its own.
pub(super) struct ChooseInPairs<K>(PhantomData<K>);

/// What a truth table makes of pairs of tests.
///
/// # Safety
///
/// `op` points to an instruction's data.
#[inline(always)]
pub(super) unsafe fn chosen_pairs<K: Test, L: Simd>(
    simd: L,
    a: &[K::A; 64],
    b: &[K::B; 64],
    x: u32,
    op: *const Prepared,
) -> [u32; WARP] {
    let mut lanes = [0; 64];
    let mut lane = 0;
    while lane < 64 {
        lanes[lane] = -i8::from(K::test(a[lane], b[lane]));
        lane += 1;
    }
    let (tests, x) = (simd.mask(&lanes, widest::<K>()) as u64, simd.twice(x));
    // SAFETY: the caller's promise.
    let (truth, [yes, no]) = unsafe { ((*op).truth, (*op).constants.map(u16::truncate)) };
    let half = |shift: u32| u64::from(truth.masks((x >> shift) as u32).apply((tests >> shift) as u32)) << shift;
    reinterpret(simd.select((half(0) | half(32)).into(), &[yes; 64], &[no; 64]))
}

impl<K: Test> Shape for ChooseInPairs<K> {
    const LAYOUT: Layout = [32, 0, 2 * K::A::BITS, 2 * K::B::BITS, 1, 0, 0, 0];

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let x = *at(base, op, X).cast::<u32>();
            let chosen = chosen_pairs::<K, L>(simd, &*at(base, op, A).cast(), &*at(base, op, B).cast(), x, op);
            chosen.store(simd, at(base, op, D), guard(base, op, active));
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let (a, b) = (places.at[A].cast::<[K::A; 64]>(), places.at[B].cast::<[K::B; 64]>());
            let (d, x) = (places.at[D].cast::<[u32; WARP]>(), places.at[X]);
            let mut chunk = 0;
            while chunk < chunks {
                let x = *x.add(places.step(X) * chunk).cast();
                *d.add(chunk) = chosen_pairs::<K, L>(simd, &*a.add(chunk), &*b.add(chunk), x, op);
                each_warp_alone();
                chunk += 1;
            }
        }
    }
}

/// Warps of packed values, which run as slices of one chunk: half the code, and a call more.
///
/// # Safety
///
/// The module's promises.
pub(super) unsafe fn warp_as_slice<const D_BITS: u32, const E_BITS: u32>(
    base: *mut u8,
    op: *const Prepared,
    active: u32,
) {
    // SAFETY: the caller's promise; the function in `op.rare` is of a level that the machine has.
    unsafe {
        let mut places = Places { at: core::array::from_fn(|place| at(base, op, place)), fixed: u32::MAX };
        let guard = guard(base, op, active);
        if guard == u32::MAX {
            return (rare(op).slice)(&places, op, 1);
        }
        let mut new = [[0_u64; WARP]; 2];
        places.at[D] = new[0].as_mut_ptr().cast();
        places.at[E] = new[1].as_mut_ptr().cast();
        (rare(op).slice)(&places, op, 1);
        for (place, bits) in [(D, D_BITS), (E, E_BITS)] {
            let (from, to) = (places.at[place].cast_const(), at(base, op, place));
            match bits {
                0 => {}
                1 => keep::<u32>(1, from, to, |_| guard),
                16 => keep::<u16>(WARP, from, to, |lane| if guard & BIT[lane] != 0 { u16::MAX } else { 0 }),
                32 => keep::<u32>(WARP, from, to, |lane| if guard & BIT[lane] != 0 { u32::MAX } else { 0 }),
                _ => keep::<u64>(WARP, from, to, |lane| if guard & BIT[lane] != 0 { u64::MAX } else { 0 }),
            }
        }
    }
}

/// Writes the bits of `from` that a mask has, word by word.
///
/// # Safety
///
/// `from` may be read and `to` written for so many words.
pub(super) unsafe fn keep<W>(words: usize, from: *const u8, to: *mut u8, mask: impl Fn(usize) -> W)
where
    W: Copy + core::ops::BitXor<Output = W> + core::ops::BitAnd<Output = W>,
{
    for word in 0..words {
        // SAFETY: the caller's promise.
        unsafe {
            let (from, to) = (from.cast::<W>().add(word), to.cast::<W>().add(word));
            *to = ((*from ^ *to) & mask(word)) ^ *to;
        }
    }
}

/// Any other program.
pub(super) struct General<P>(PhantomData<P>);

impl<P: Program> Shape for General<P> {
    const LAYOUT: Layout = {
        let sources = P::Sources::BITS;
        let mut layout = [0; PLACES];
        layout[D] = P::D::BITS;
        layout[E] = P::E::BITS;
        let mut source = 0;
        while source < sources.len() {
            layout[SOURCES + source] = sources[source];
            source += 1;
        }
        layout
    };

    #[inline(always)]
    unsafe fn warp<L: Simd>(simd: L, base: *mut u8, op: *const Prepared, active: u32) {
        // SAFETY: the caller's promise. The sources are not used any more when the outputs are stored.
        unsafe {
            let sources = P::Sources::load(|place| at(base, op, place).cast_const(), (*op).complement);
            let (d, e) = P::run(simd, sources, &rare(op).selectors);
            let guard = guard(base, op, active);
            d.store(simd, at(base, op, D), guard);
            e.store(simd, at(base, op, E), guard);
        }
    }

    #[inline(always)]
    unsafe fn slice<L: Simd>(simd: L, places: &Places, op: *const Prepared, chunks: usize) {
        // A copy, so that what is made of it is made once.
        // SAFETY: the caller's promise.
        let mut selectors = unsafe { rare(op).selectors };
        let picks = &mut selectors.picks[..P::PICKS];
        // Either every selector picks a word as it is, the first one the first, the second one the second, or all are
        // done by shuffles. Within a loop nothing is asked.
        let whole = picks.iter().zip([WHOLE_FIRST, WHOLE_SECOND]).all(|(pick, whole)| pick.whole == whole);
        if P::PICKS == 2 && whole {
            [picks[0].whole, picks[1].whole] = [WHOLE_FIRST, WHOLE_SECOND];
            // SAFETY: the caller's promise.
            unsafe { compute::<P, L>(simd, places, op, chunks, &selectors) }
        } else {
            picks.iter_mut().for_each(|pick| pick.whole = 0);
            // SAFETY: the caller's promise.
            unsafe { compute::<P, L>(simd, places, op, chunks, &selectors) }
        }
    }
}

/// Runs a program for each chunk.
///
/// # Safety
///
/// The module's promises.
#[inline(always)]
pub(super) unsafe fn compute<P: Program, L: Simd>(
    simd: L,
    places: &Places,
    op: *const Prepared,
    chunks: usize,
    selectors: &Selectors,
) {
    let layout = General::<P>::LAYOUT;
    let mut chunk = 0;
    while chunk < chunks {
        let at = |place: usize| {
            let step = if layout[place] == 1 { places.step(place) } else { layout[place] as usize * WARP / 8 };
            // SAFETY: the caller's promise.
            unsafe { places.at[place].add(step * chunk) }
        };
        // SAFETY: the caller's promise, for each of the chunks.
        unsafe {
            let sources = P::Sources::load(|place| at(place).cast_const(), (*op).complement);
            let (d, e) = P::run(simd, sources, selectors);
            d.store(simd, at(D), u32::MAX);
            e.store(simd, at(E), u32::MAX);
        }
        each_warp_alone();
        chunk += 1;
    }
}
