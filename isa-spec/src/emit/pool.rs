//! Pools of deduplicated data.

use std::collections::HashMap;
use std::hash::Hash;

/// Deduplicated items with their indices.
pub(super) struct Pool<K, T> {
    pub(super) list: Vec<T>,
    numbers: HashMap<K, usize>,
}

impl<K: Hash + Eq, T> Pool<K, T> {
    pub(super) fn new() -> Pool<K, T> {
        Pool { list: Vec::new(), numbers: HashMap::new() }
    }

    /// Returns the index of the item with this key, adding it if it is new.
    pub(super) fn number(&mut self, key: K, make: impl FnOnce() -> T) -> usize {
        let list = &mut self.list;
        *self.numbers.entry(key).or_insert_with(|| {
            list.push(make());
            list.len() - 1
        })
    }
}

/// A list in which runs are stored, reusing any occurrence.
pub(super) struct Runs<T> {
    pub(super) list: Vec<T>,
    starts: HashMap<Vec<T>, usize>,
}

impl<T: Clone + Hash + Eq> Runs<T> {
    pub(super) fn new() -> Runs<T> {
        Runs { list: Vec::new(), starts: HashMap::new() }
    }

    /// Returns the start of a run, appending it if necessary.
    pub(super) fn start(&mut self, run: &[T]) -> usize {
        if run.is_empty() {
            return 0;
        }
        if let Some(start) = self.starts.get(run) {
            return *start;
        }
        let start = self.list.len();
        self.list.extend_from_slice(run);
        self.starts.insert(run.to_vec(), start);
        start
    }
}
