//! Numbers that look random and come back with their seed.

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True once in `of` times.
    pub(crate) fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    /// One of some names, chosen so that names added to the list change few choices.
    pub(crate) fn name<T: AsRef<str>>(&mut self, names: impl IntoIterator<Item = T>) -> T {
        let turn = self.next();
        names.into_iter().min_by_key(|name| hash(name.as_ref(), turn)).expect("there are names")
    }

    pub(crate) fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// A number that depends on nothing but a text and a seed: samples drawn by it stay as they are when others are added.
pub(crate) fn hash(text: &str, seed: u64) -> u64 {
    let fold = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    Random(text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, fold)).next()
}
