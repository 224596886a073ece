//! What words of a text were found to mean: a text has few of them, again and again.

use alloc::vec::Vec;

use isa_table::hash::{Key, SHORT};

/// Words with what they mean, each in the place that its bytes give or in one of the next. It holds so many; where there is no
/// place left, one takes another's.
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

/// How many words are held.
const PLACES: usize = 256;

/// How many places there are from the first one on where a word may be.
const NEXT: usize = 4;

/// The places of a word.
#[inline]
fn places(key: Key) -> impl Iterator<Item = usize> {
    let first = (key.hash() >> 32) as usize;
    (first..first + NEXT).map(|place| place % PLACES)
}

impl<'a, T: Clone> Memo<'a, T> {
    /// What a word was said to mean.
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
