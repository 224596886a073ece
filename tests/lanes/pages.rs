//! Slices between pages that nothing may touch: an evaluator that reads or writes outside of them faults.

use ptx_isa::slice::{Evaluator, Slice, SliceMut};
use ptx_isa::table::FormInfo;
use ptx_isa::warp::Level;

use self::fence::{Fenced, Place};
use super::{Random, Signature, forms, selectors};

/// The only module with `unsafe`: maps a page whose neighbors on both sides are inaccessible.
#[allow(unsafe_code, reason = "pages that fault are the system's")]
mod fence {
    use std::io::pipe;
    use std::os::fd::AsRawFd;
    use std::ptr::null_mut;

    /// A page between two inaccessible ones.
    pub(super) struct Fenced {
        before: *mut u8,
        size: usize,
    }

    /// Placement of words in the page.
    #[derive(Clone, Copy, Debug)]
    pub(super) enum Place {
        Start,
        End,
    }

    /// Integers, any bits of which are a value.
    pub(super) trait Word {}
    impl Word for u16 {}
    impl Word for u32 {}
    impl Word for u64 {}

    impl Fenced {
        pub(super) fn new() -> Fenced {
            // SAFETY: a new mapping, which is nobody else's; the page in its middle is opened.
            unsafe {
                let size = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap();
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let before = libc::mmap(null_mut(), 3 * size, libc::PROT_NONE, flags, -1, 0);
                assert_ne!(before, libc::MAP_FAILED, "no pages");
                let opened = libc::mprotect(before.byte_add(size), size, libc::PROT_READ | libc::PROT_WRITE);
                assert_eq!(opened, 0, "the page stays closed");
                Fenced { before: before.cast(), size }
            }
        }

        fn address<W: Word>(&self, count: usize, place: Place) -> *mut W {
            let bytes = count * size_of::<W>();
            assert!(bytes <= self.size, "more than a page");
            let offset = match place {
                Place::Start => self.size,
                Place::End => 2 * self.size - bytes,
            };
            self.before.wrapping_add(offset).cast()
        }

        pub(super) fn words<W: Word>(&self, count: usize, place: Place) -> &[W] {
            // SAFETY: `address` asserts that `count` words fit in the page. They are aligned, as the page is and its
            // size is a multiple of the word size. Every bit pattern is a valid word, and the borrow of `self` prevents
            // writes.
            unsafe { std::slice::from_raw_parts(self.address(count, place), count) }
        }

        pub(super) fn words_mut<W: Word>(&mut self, count: usize, place: Place) -> &mut [W] {
            // SAFETY: as in `words`; `self` is borrowed by nobody else.
            unsafe { std::slice::from_raw_parts_mut(self.address(count, place), count) }
        }

        /// Returns true if the byte at an offset from the start of the page is readable, tested by a system call to
        /// avoid a fault.
        pub(super) fn is_open(&self, offset: isize) -> bool {
            let (_reader, writer) = pipe().unwrap();
            let byte = self.before.wrapping_add(self.size).wrapping_offset(offset);
            // SAFETY: the system checks the address itself.
            unsafe { libc::write(writer.as_raw_fd(), byte.cast(), 1) == 1 }
        }

        pub(super) fn size(&self) -> usize {
            self.size
        }
    }

    impl Drop for Fenced {
        fn drop(&mut self) {
            // SAFETY: the mapping that `new` made, of which no borrow is left.
            unsafe { libc::munmap(self.before.cast(), 3 * self.size) };
        }
    }
}

fn slice(fenced: &Fenced, bits: u32, lanes: usize, place: Place) -> Slice<'_> {
    match bits {
        1 => Slice::Mask(fenced.words(lanes.div_ceil(32), place)),
        16 => Slice::B16(fenced.words(lanes, place)),
        32 => Slice::B32(fenced.words(lanes, place)),
        _ => Slice::B64(fenced.words(lanes, place)),
    }
}

fn slice_mut(fenced: &mut Fenced, bits: u32, lanes: usize, place: Place) -> SliceMut<'_> {
    match bits {
        1 => SliceMut::Mask(fenced.words_mut(lanes.div_ceil(32), place)),
        16 => SliceMut::B16(fenced.words_mut(lanes, place)),
        32 => SliceMut::B32(fenced.words_mut(lanes, place)),
        _ => SliceMut::B64(fenced.words_mut(lanes, place)),
    }
}

/// One form for each shape, and with it for each loop.
fn shapes() -> Vec<FormInfo> {
    let mut forms: Vec<_> = forms().collect();
    let shape = |form: &FormInfo| {
        let evaluator = form.evaluator(90, form.sources().count());
        evaluator.map(|evaluator| std::ptr::from_ref(evaluator.shape()))
    };
    forms.sort_by_key(shape);
    forms.dedup_by_key(|form| shape(form));
    forms
}

#[test]
fn fences_are_closed_and_pages_open() {
    let fenced = Fenced::new();
    let size = fenced.size() as isize;
    assert_eq!(
        [-size, -1, 0, size - 1, size, 2 * size - 1].map(|offset| fenced.is_open(offset)),
        [false, false, true, true, false, false]
    );
}

#[test]
fn slices_between_fences_are_all_that_is_touched() {
    let mut random = Random::new(5);
    let mut fences: Vec<Fenced> = (0..8).map(|_| Fenced::new()).collect();
    for fenced in &mut fences {
        let words = fenced.size() / 8;
        fenced.words_mut(words, Place::Start).fill_with(|| random.next());
    }
    let [d, e, sources @ ..] = &mut fences[..] else { unreachable!("there are eight") };
    for level in Level::available() {
        for form in shapes() {
            let signature = Signature::of(form);
            // With default selectors and others, without and with a second destination.
            let variants = signature.destinations.len() > 1 || form.selectors().count() > 0;
            for second in [false, true].into_iter().take(1 + usize::from(variants)) {
                let selectors = if second { selectors(form, &mut random) } else { Vec::new() };
                let evaluator = Evaluator::with(form, 90, level, &selectors, 0).unwrap();
                for lanes in [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 199, 200] {
                    for place in [Place::Start, Place::End] {
                        let sources: Vec<Slice> = sources
                            .iter()
                            .zip(&signature.sources)
                            .map(|(fenced, bits)| slice(fenced, *bits, lanes, place))
                            .collect();
                        let e = match signature.destinations.get(1) {
                            Some(bits) if second => slice_mut(e, *bits, lanes, place),
                            _ => SliceMut::Sink,
                        };
                        evaluator.run(lanes, [slice_mut(d, signature.destinations[0], lanes, place), e], &sources);
                    }
                }
            }
        }
    }
}
