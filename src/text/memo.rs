//! Cache of the meanings of words: a text has few distinct words, which recur often.

use alloc::vec::Vec;

use isa_table::hash::{Key, SHORT};

/// A cache of fixed size from words to their meanings. The hash of a word gives the first of its [`NEXT`] possible
/// places; if all of them are occupied, a new word replaces the first.
pub(crate) struct Memo<'a, T> {
    places: Vec<Option<Meaning<'a, T>>>,
}

#[derive(Clone)]
struct Meaning<'a, T> {
    key: Key,
    word: &'a str,
    meaning: T,
}

impl<T> Default for Memo<'_, T> {
    fn default() -> Self {
        Memo { places: Vec::new() }
    }
}

/// Capacity in words.
const PLACES: usize = 256;

/// Number of consecutive places that can hold a word.
const NEXT: usize = 4;

/// The places of a word.
#[inline]
fn places(key: Key) -> impl Iterator<Item = usize> {
    let first = (key.hash() >> 32) as usize;
    (first..first + NEXT).map(|place| place % PLACES)
}

impl<'a, T: Clone> Memo<'a, T> {
    /// Returns the cached meaning of a word.
    #[inline]
    pub(crate) fn get(&self, word: &str) -> Option<&T> {
        if self.places.is_empty() {
            return None;
        }
        let key = Key::new(word.as_bytes());
        for place in places(key) {
            let known = self.places[place].as_ref()?;
            // Words that are longer than a key may have the same one.
            if known.key == key && (word.len() <= SHORT || known.word == word) {
                return Some(&known.meaning);
            }
        }
        None
    }

    /// Says what a word means.
    pub(crate) fn insert(&mut self, word: &'a str, meaning: T) {
        self.places.resize(PLACES, None);
        let key = Key::new(word.as_bytes());
        let empty = places(key).find(|place| self.places[*place].is_none());
        if let Some(place) = empty.or(places(key).next()) {
            self.places[place] = Some(Meaning { key, word, meaning });
        }
    }
}
