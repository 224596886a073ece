//! Equal values once, in order of their first use.

use std::collections::HashMap;
use std::hash::Hash;

/// Deduplicated values with their indices.
pub(super) struct Shared<T> {
    list: Vec<T>,
    places: HashMap<T, usize>,
}

impl<T: Hash + Eq + Clone> Shared<T> {
    pub(super) fn new() -> Shared<T> {
        Shared { list: Vec::new(), places: HashMap::new() }
    }

    /// Returns the index of a value, and adds the value if it is missing.
    pub(super) fn place(&mut self, value: T) -> usize {
        let next = self.list.len();
        let place = *self.places.entry(value.clone()).or_insert(next);
        if place == next {
            self.list.push(value);
        }
        place
    }

    pub(super) fn list(&self) -> &[T] {
        &self.list
    }
}
