//! Slices, and an instruction that runs over them.

use super::*;

/// A source of a slice evaluator: lanes of a width, or predicates packed as bits, 32 to a word.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Slice<'a> {
    /// Lanes of 16 bits.
    B16(&'a [u16]),
    /// Lanes of 32 bits.
    B32(&'a [u32]),
    /// Lanes of 64 bits.
    B64(&'a [u64]),
    /// Predicates.
    Mask(&'a [u32]),
}

/// A destination of a slice evaluator.
#[derive(Debug)]
#[repr(usize)]
pub enum SliceMut<'a> {
    /// Lanes of 16 bits.
    B16(&'a mut [u16]),
    /// Lanes of 32 bits.
    B32(&'a mut [u32]),
    /// Lanes of 64 bits.
    B64(&'a mut [u64]),
    /// Predicates.
    Mask(&'a mut [u32]),
    /// The second destination is not wanted.
    Sink,
}

/// Which variant of [`Slice`] or [`SliceMut`] a slice is.
pub(super) type Tag = usize;

/// The variant for a place with so many bits a lane; none where a place has no operand.
pub(super) fn tag(bits: u32) -> Tag {
    match bits {
        16 => 0,
        32 => 1,
        64 => 2,
        MASK_BITS => MASK,
        _ => Tag::MAX,
    }
}

pub(super) const MASK: Tag = 3;
pub(super) const MASK_BITS: u32 = 1;
pub(super) const SINK: Tag = 4;

/// Where an operand's words are, and how many there are.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    tag: Tag,
    at: *mut u8,
    words: usize,
}

impl Slice<'_> {
    #[inline(always)]
    fn extent(&self) -> Extent {
        let (at, words) = match self {
            Slice::B16(x) => (x.as_ptr().cast(), x.len()),
            Slice::B32(x) | Slice::Mask(x) => (x.as_ptr().cast(), x.len()),
            Slice::B64(x) => (x.as_ptr().cast::<u8>(), x.len()),
        };
        // SAFETY: an enum of a primitive representation begins with its tag.
        let tag = unsafe { *(&raw const *self).cast::<Tag>() };
        Extent { tag, at: at.cast_mut(), words }
    }
}

impl SliceMut<'_> {
    #[inline(always)]
    fn extent(mut self) -> Extent {
        // SAFETY: an enum of a primitive representation begins with its tag.
        let tag = unsafe { *(&raw const self).cast::<Tag>() };
        let (at, words) = match &mut self {
            SliceMut::B16(x) => (x.as_mut_ptr().cast(), x.len()),
            SliceMut::B32(x) | SliceMut::Mask(x) => (x.as_mut_ptr().cast(), x.len()),
            SliceMut::B64(x) => (x.as_mut_ptr().cast::<u8>(), x.len()),
            SliceMut::Sink => (core::ptr::null_mut(), 0),
        };
        Extent { tag, at, words }
    }
}

/// One instruction over slices.
#[derive(Clone, Debug)]
pub(crate) struct SliceCode {
    layout: Layout,
    /// With offsets into a [`Scratch`].
    op: Prepared,
    destinations: [Wanted; 2],
    /// The sources in order of writing, and how many there are.
    sources: [Wanted; PLACES - SOURCES],
    count: usize,
    /// The places of predicate sources that have no slice, a bit each.
    fixed: u32,
    /// Whether the kernel reads the first source in the place of the second too.
    twice: bool,
}

/// The slice that an operand asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    tag: Tag,
    /// Lanes in a word, as a power of two.
    lanes: u32,
    /// The place of the operand; [`UNREAD`] for a source that the kernel does not read.
    place: u8,
}

/// The place of a source that a kernel does not read.
pub(crate) const UNREAD: u8 = u8::MAX;

impl Wanted {
    fn new(layout: Layout, place: u8) -> Wanted {
        let tag = layout.get(usize::from(place)).map_or(Tag::MAX, |bits| tag(*bits));
        Wanted { tag, lanes: if tag == MASK { WARP.ilog2() } else { 0 }, place }
    }

    #[inline(always)]
    fn fits(self, slice: Extent, lanes: usize) -> bool {
        slice.tag == self.tag && slice.words << self.lanes >= lanes
    }

    /// Tells why a slice does not fit.
    #[cold]
    #[inline(never)]
    fn refuse(self, slice: Extent, lanes: usize) -> ! {
        const WORDS: [&str; 5] = ["lanes of 16 bits", "lanes of 32 bits", "lanes of 64 bits", "predicates", "nothing"];
        let wanted = WORDS.get(self.tag).unwrap_or(&"nothing");
        assert!(slice.tag == self.tag, "a slice has {}, its operand {wanted}", WORDS[slice.tag]);
        panic!("a slice of {} words is too short for {lanes} lanes", slice.words)
    }
}

/// A warp that the lanes behind the last whole chunk are copied to.
#[repr(C, align(64))]
pub(super) struct Scratch([[u64; WARP]; PLACES + 1]);

impl SliceCode {
    /// `places` tells for each of the `count` sources in order of writing its place, or [`UNREAD`].
    pub(crate) fn new(kernel: &Kernel, mut op: Prepared, places: [u8; PLACES - SOURCES], count: usize) -> SliceCode {
        for (place, at) in op.at.iter_mut().enumerate() {
            *at = (place * size_of::<[u64; WARP]>()) as u32;
        }
        op.guard = (PLACES * size_of::<[u64; WARP]>()) as u32;
        op.guard_xor = 0;
        let layout = kernel.layout;
        let given = |place: usize| places[..count].contains(&(place as u8));
        let twice = kernel.tables && !given(B);
        let needed = |place: usize| layout[place] != 0 && !(kernel.tables && (place == B || place == X));
        assert!((SOURCES..PLACES).all(|place| given(place) || !needed(place)), "a kernel's sources are operands");
        SliceCode {
            layout,
            op,
            destinations: [D, E].map(|place| Wanted::new(layout, place as u8)),
            sources: places.map(|place| Wanted::new(layout, place)),
            count,
            fixed: if given(X) { 0 } else { 1 << X },
            twice,
        }
    }

    /// Runs `lanes` lanes. `sources` are in order of writing.
    ///
    /// # Panics
    ///
    /// If a slice is missing, has another width than its operand, or fewer lanes.
    #[inline]
    pub(crate) fn run(&self, lanes: usize, destinations: [SliceMut<'_>; 2], sources: &[Slice<'_>]) {
        // What a place points to that has no slice: one word, again and again.
        let mut nothing = 0_u32;
        let mut places = Places { at: [(&raw mut nothing).cast(); PLACES], fixed: self.fixed };
        for (place, (wanted, destination)) in self.destinations.iter().zip(destinations).enumerate() {
            let slice = destination.extent();
            if wanted.fits(slice, lanes) {
                places.at[place] = slice.at;
            } else if slice.tag == SINK && self.layout[place] <= MASK_BITS {
                places.fixed |= 1 << place;
            } else {
                wanted.refuse(slice, lanes);
            }
        }
        assert!(sources.len() == self.count, "there are {} sources, not {}", self.count, sources.len());
        for (wanted, source) in self.sources.iter().zip(sources) {
            if wanted.place != UNREAD {
                let slice = source.extent();
                if !wanted.fits(slice, lanes) {
                    wanted.refuse(slice, lanes);
                }
                places.at[usize::from(wanted.place) % PLACES] = slice.at;
            }
        }
        if self.twice {
            places.at[B] = places.at[A];
        }
        let (chunks, rest) = (lanes / WARP, lanes % WARP);
        if chunks > 0 {
            // SAFETY: the level's features are there, as in `Code::run`. Every place that the kernel uses was given
            // one of the slices, by the checks here and in `new`, with lanes enough of its width; or it is a
            // predicate that may be left out, whose word is there for every chunk. The borrows of the destinations
            // and `sources` are disjoint and live as long as this call.
            unsafe { (self.op.rare.slice)(&places, &raw const self.op, chunks) };
        }
        if rest > 0 {
            self.tail(&places, chunks, rest);
        }
    }

    /// Runs the lanes behind the last whole chunk, for places that [`SliceCode::run`] has checked.
    #[inline(never)]
    fn tail(&self, places: &Places, chunks: usize, rest: usize) {
        let mut scratch = Scratch([[0; WARP]; PLACES + 1]);
        let base = (&raw mut scratch).cast::<u8>();
        let tail = |place: usize| {
            let bits = self.layout[place];
            // Lanes behind the last whole chunk: their first byte, and how many bytes they have.
            match bits {
                1 => (places.at[place].wrapping_add(places.step(place) * chunks), 4),
                _ => (places.at[place].wrapping_add(bits as usize * WARP / 8 * chunks), bits as usize / 8 * rest),
            }
        };
        for place in (0..PLACES).filter(|place| self.layout[*place] != 0) {
            let (from, bytes) = tail(place);
            // SAFETY: as above, the place has `rest` lanes behind its whole chunks, or a word of them; its part of
            // the scratch has 256 bytes.
            unsafe { core::ptr::copy_nonoverlapping(from, base.add(self.op.at[place] as usize), bytes) };
        }
        // SAFETY: all operands are in the scratch, whose last part is the guard.
        unsafe {
            *base.add(self.op.guard as usize).cast::<u32>() = u32::MAX;
            (self.op.run)(base, &raw const self.op, BIT[rest] - 1);
        }
        for place in (D..=E).filter(|place| self.layout[*place] != 0) {
            let (to, bytes) = tail(place);
            // SAFETY: as when they were copied in; destinations may be written.
            unsafe { core::ptr::copy_nonoverlapping(base.add(self.op.at[place] as usize), to, bytes) };
        }
    }
}
