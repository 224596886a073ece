//! Which names are declared, and as what, in scopes within scopes.
//!
//! A hash table whose chains grow and shrink at their heads, in the order of declarations: the innermost declaration of a
//! name is found first, and leaving a scope undoes its declarations. A family `%r<10>` is one entry under its stem `%r`,
//! so that memory is bounded by the text. It does not know which types there are or what fits them.

use alloc::vec;
use alloc::vec::Vec;

use crate::table::{Space, TypeId};

/// What a name is declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// A register of a type, or a vector of so many such registers: one for what is none.
    Register { ty: TypeId, lanes: u8 },
    /// A variable in memory, a parameter among them, with its state space.
    Variable(&'static Space),
    /// A function or kernel.
    Function,
    /// A label.
    Label,
}

/// A name that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) symbol: Symbol,
    /// Whether the name is the number of a family's register, written with leading zeros.
    pub(crate) leading_zeros: bool,
}

#[derive(Debug)]
struct Entry<'a> {
    /// The name, or the stem of a family.
    name: &'a str,
    /// How many registers a family has; `None` for a single name.
    count: Option<u64>,
    symbol: Symbol,
    hash: u32,
    /// The next older entry in the same bucket, one-based; 0 for none.
    next: u32,
}

/// The declarations that are visible at a point of a module.
#[derive(Debug)]
pub(crate) struct Scopes<'a> {
    entries: Vec<Entry<'a>>,
    /// The newest entry of each bucket, one-based; the length is a power of two.
    buckets: Vec<u32>,
    /// How many entries there were when each open scope began.
    open: Vec<u32>,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new() -> Scopes<'a> {
        Scopes { entries: Vec::new(), buckets: vec![0; 64], open: Vec::new() }
    }

    /// How many scopes are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn enter(&mut self) {
        self.open.push(self.entries.len() as u32);
    }

    /// Leaves the innermost scope; tells whether there was one.
    pub(crate) fn leave(&mut self) -> bool {
        let Some(start) = self.open.pop() else { return false };
        while self.entries.len() > start as usize {
            if let Some(entry) = self.entries.pop() {
                let bucket = self.bucket(entry.hash);
                self.buckets[bucket] = entry.next;
            }
        }
        true
    }

    /// Declares a name in the innermost scope; with a count, a family of numbered names.
    pub(crate) fn declare(&mut self, name: &'a str, count: Option<u64>, symbol: Symbol) {
        if self.entries.len() == self.buckets.len() {
            self.grow();
        }
        let hash = hash(SEED, name.as_bytes());
        self.entries.push(Entry { name, count, symbol, hash, next: 0 });
        self.link(self.entries.len() - 1);
    }

    /// Whether the innermost scope has such a name, or such a family, already; or a family that has this name. A family
    /// may come behind one of its names: it is what the name then means.
    pub(crate) fn clashes(&self, name: &str, count: Option<u64>) -> bool {
        let start = self.open.last().copied().unwrap_or(0);
        let here = hash(SEED, name.as_bytes());
        // A function's own name stands in its scope, and may be declared as something else there.
        let same = |entry: &Entry<'_>| {
            entry.count.is_some() == count.is_some() && entry.name == name && entry.symbol != Symbol::Function
        };
        self.newest(here, same) > start || count.is_none() && self.family_with(name) > start
    }

    /// Whether the innermost scope has a family with this name.
    pub(crate) fn is_of_family(&self, name: &str) -> bool {
        self.family_with(name) > self.open.last().copied().unwrap_or(0)
    }

    /// The newest family that has a name, one-based; 0 for none.
    fn family_with(&self, name: &str) -> u32 {
        let (stem, number) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        let plain = !number.is_empty() && (number == "0" || !number.starts_with('0'));
        let has = |entry: &Entry<'_>| entry.name == stem && value(number.as_bytes()) < entry.count;
        if plain { self.newest(hash(SEED, stem.as_bytes()), has) } else { 0 }
    }

    /// Puts an entry at the head of its bucket. All older ones must be linked already.
    fn link(&mut self, index: usize) {
        let bucket = self.bucket(self.entries[index].hash);
        self.entries[index].next = self.buckets[bucket];
        self.buckets[bucket] = index as u32 + 1;
    }

    fn grow(&mut self) {
        self.buckets = vec![0; self.buckets.len() * 2];
        for index in 0..self.entries.len() {
            self.link(index);
        }
    }

    fn bucket(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// Finds what a name means here.
    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<Found> {
        let (entry, leading_zeros) = self.entry(name)?;
        Some(Found { symbol: entry.symbol, leading_zeros })
    }

    /// The name in the declaration of what a name means here: of a family, its stem.
    pub(crate) fn declaration(&self, name: &str) -> Option<&'a str> {
        self.entry(name).map(|(entry, _)| entry.name)
    }

    /// The newest declaration of a name, be it its own or that of its family, and whether its number has leading zeros.
    #[inline]
    fn entry(&self, name: &str) -> Option<(&Entry<'a>, bool)> {
        let bytes = name.as_bytes();
        let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (stem, number) = bytes.split_at(bytes.len() - digits);
        let stem_hash = hash(SEED, stem);
        let own = self.newest(hash(stem_hash, number), |entry| entry.count.is_none() && entry.name == name);
        let family = |stem_hash: u32, split: usize| {
            let (stem, number) = bytes.split_at(split);
            self.newest(stem_hash, |entry| entry.name.as_bytes() == stem && value(number) < entry.count)
        };
        let zeros = |split: usize| bytes[split] == b'0' && split + 1 < bytes.len();
        let mut newest = own;
        let mut leading_zeros = false;
        if digits > 0 {
            let found = family(stem_hash, stem.len());
            if found > newest {
                newest = found;
                leading_zeros = zeros(stem.len());
            }
        }
        let entry = self.entries.get((newest as usize).checked_sub(1)?)?;
        Some((entry, leading_zeros))
    }

    /// The newest entry with a hash that is the one meant, one-based; 0 for none.
    #[inline]
    fn newest(&self, hash: u32, meant: impl Fn(&Entry<'a>) -> bool) -> u32 {
        let mut at = self.buckets[self.bucket(hash)];
        for _ in 0..LONGEST_CHAIN {
            let Some(entry) = self.entries.get((at as usize).wrapping_sub(1)) else { return 0 };
            if entry.hash == hash && meant(entry) {
                return at;
            }
            at = entry.next;
        }
        0
    }

    /// The family with this stem, if there is one: the stem where it is declared, and how many registers it has.
    pub(crate) fn family(&self, stem: &str) -> Option<(&'a str, u64)> {
        let found = self.newest(hash(SEED, stem.as_bytes()), |entry| entry.count.is_some() && entry.name == stem);
        let entry = self.entries.get((found as usize).checked_sub(1)?)?;
        Some((entry.name, entry.count?))
    }
}

/// How many entries of a bucket are looked at: a family may be declared again and again, each time with too few.
const LONGEST_CHAIN: usize = 256;

const SEED: u32 = 0x811c_9dc5;

/// FNV-1a, which can be continued: the hash of a name goes on from that of its stem.
#[inline]
fn hash(from: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(from, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The number that digits spell; `u64::MAX`, which no family has, for one that is too large.
fn value(digits: &[u8]) -> Option<u64> {
    let digit = |value: u64, &byte: &u8| value.checked_mul(10)?.checked_add(u64::from(byte - b'0'));
    Some(digits.iter().try_fold(0, digit).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{Found, Scopes, Symbol};
    use crate::table::{Space, TypeId};
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    const VARIABLE: Symbol = Symbol::Variable(&Space {
        name: "global",
        generic: true,
        constants: false,
        opaque: false,
        option: None,
        values: true,
        opaques: true,
        vectors: true,
        inside: None,
        until: None,
        description: "",
    });

    fn register(ty: u8) -> Symbol {
        Symbol::Register { ty: TypeId(ty), lanes: 1 }
    }

    fn found(symbol: Symbol) -> Option<Found> {
        Some(Found { symbol, leading_zeros: false })
    }

    #[test]
    fn a_family_has_as_many_registers_as_it_says() {
        let mut scopes = Scopes::new();
        scopes.declare("%r", Some(10), register(1));
        assert_eq!(scopes.find("%r0"), found(register(1)));
        assert_eq!(scopes.find("%r9"), found(register(1)));
        assert_eq!(scopes.find("%r007"), Some(Found { symbol: register(1), leading_zeros: true }));
        for name in ["%r10", "%r010", "%r", "%r1a", "%R1", "%r99999999999999999999999"] {
            assert_eq!(scopes.find(name), None, "{name}");
        }
        assert_eq!(scopes.family("%r"), Some(("%r", 10)));
    }

    #[test]
    fn the_innermost_declaration_is_meant_until_its_scope_ends() {
        let mut scopes = Scopes::new();
        scopes.declare("%x", Some(4), register(1));
        scopes.enter();
        scopes.declare("%x", Some(2), register(2));
        assert_eq!(scopes.find("%x1"), found(register(2)));
        assert_eq!(scopes.find("%x3"), found(register(1)));
        scopes.enter();
        scopes.declare("%x1", None, register(3));
        assert_eq!(scopes.find("%x1"), found(register(3)));
        assert_eq!(scopes.find("%x01"), Some(Found { symbol: register(2), leading_zeros: true }));
        assert!(scopes.leave() && scopes.leave());
        assert_eq!(scopes.find("%x1"), found(register(1)));
        assert!(!scopes.leave());
    }

    #[test]
    fn a_family_whose_stem_ends_in_a_digit_has_no_names() {
        let mut scopes = Scopes::new();
        scopes.declare("x1", Some(3), register(1));
        assert_eq!(scopes.find("x12"), None);
        scopes.declare("x", Some(20), register(2));
        assert_eq!(scopes.find("x12"), found(register(2)));
        assert_eq!(scopes.find("x102"), None);
    }

    #[test]
    fn many_names_are_found_and_forgotten() {
        let names: Vec<String> = (0..1000).map(|number| format!("n{number}_")).collect();
        let mut scopes = Scopes::new();
        scopes.declare("outer", None, Symbol::Label);
        scopes.enter();
        for name in &names {
            scopes.declare(name, None, VARIABLE);
        }
        assert!(names.iter().all(|name| scopes.find(name) == found(VARIABLE)));
        scopes.leave();
        assert!(names.iter().all(|name| scopes.find(name).is_none()));
        assert_eq!(scopes.find("outer"), found(Symbol::Label));
    }
}
