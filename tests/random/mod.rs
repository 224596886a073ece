//! Pseudo-random numbers for tests, benchmarks and fuzz targets. Recorded results and the seeds of tests depend on the
//! sequence.

#![allow(dead_code, reason = "each user needs a part")]

/// SplitMix64: the same sequence for the same seed on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Seeds a generator with the FNV-1a hash of a text, varied by `seed`.
    pub(crate) fn from_text(text: &str, seed: u64) -> Random {
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Random(text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, fold))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Returns a number less than `bound`. Panics if `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Returns true with probability 1 / `count`.
    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Returns an element of a list. Panics if the list is empty.
    pub(crate) fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}
