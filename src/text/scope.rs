//! Which names are declared, and as what, in scopes within scopes.
//!
//! A hash table whose chains grow and shrink at their heads, in the order of declarations: the innermost declaration of a
//! name is found first, and leaving a scope undoes its declarations. A family `%r<10>` is one entry under its stem `%r`,
//! so that memory is bounded by the text; nearly all names of a module are those of families, and are found by their stem
//! alone. It does not know which types there are or what fits them.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use isa_table::hash::Key;

use crate::table::{Space, TypeId};

/// What a name is declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// A register of a type, or a vector of so many such registers: one for what is none.
    Register { ty: TypeId, lanes: u8 },
    /// A variable in memory, a parameter among them.
    Variable {
        /// Its state space.
        space: &'static Space,
        /// The type and the lanes of what it holds, where that is one value or one vector.
        holds: Option<(TypeId, u8)>,
        /// The number by which the reader of modules knows more of it.
        number: u32,
    },
    /// A function or kernel.
    Function,
    /// A label.
    Label,
    /// A label in front of a directive that lists labels or functions, by the number that the reader of modules gave it.
    List(u32),
}

impl Symbol {
    /// The same of an array: it is no value, and no vector.
    pub(crate) fn as_array(self) -> Symbol {
        match self {
            Symbol::Variable { space, number, .. } => Symbol::Variable { space, holds: None, number },
            other => other,
        }
    }
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
    /// Its first bytes, as its key has them.
    first: u64,
    /// How many registers a family has; [`SINGLE`] for a single name.
    count: u64,
    symbol: Symbol,
    /// The next older entry in the same bucket, one-based; 0 for none.
    next: u32,
}

/// The count of an entry that is a single name.
const SINGLE: u64 = u64::MAX;

/// Stems of single names that end in a number, as `%r3`. A stem that is not among them has families only; one that is may have
/// none all the same.
#[derive(Debug)]
struct Stems([u64; 64]);

impl Stems {
    const NONE: Stems = Stems([0; 64]);

    /// The word and the bit of a stem.
    #[inline]
    fn place(key: Key) -> (usize, u64) {
        let hash = key.hash();
        ((hash >> 58) as usize, 1 << (hash >> 52 & 63))
    }

    fn add(&mut self, key: Key) {
        let (word, bit) = Stems::place(key);
        self.0[word] |= bit;
    }

    #[inline]
    fn may_have(&self, key: Key) -> bool {
        let (word, bit) = Stems::place(key);
        self.0[word] & bit != 0
    }
}

/// The declarations that are visible at a point of a module.
#[derive(Debug)]
pub(crate) struct Scopes<'a> {
    entries: Vec<Entry<'a>>,
    /// The newest entry of each bucket, one-based; the length is a power of two.
    buckets: Vec<u32>,
    /// How many entries there were when each open scope began.
    open: Vec<u32>,
    /// The stems of numbered names outside of all scopes, and of those in the outermost one that is open.
    outside: Stems,
    inside: Stems,
    /// The least number above zero of single registers and variables, by their scope and the stem of their names.
    singles: BTreeMap<(usize, &'a str), u64>,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new() -> Scopes<'a> {
        let buckets = vec![0; 64];
        let (outside, inside, singles) = (Stems::NONE, Stems::NONE, BTreeMap::new());
        Scopes { entries: Vec::new(), buckets, open: Vec::new(), outside, inside, singles }
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
        if self.open.is_empty() {
            self.inside = Stems::NONE;
        }
        if !self.singles.is_empty() {
            self.singles.split_off(&(self.open.len() + 1, ""));
        }
        while self.entries.len() > start as usize {
            if let Some(entry) = self.entries.pop() {
                let bucket = self.bucket(Key::new(entry.name.as_bytes()));
                self.buckets[bucket] = entry.next;
            }
        }
        true
    }

    /// Declares a name in the innermost scope; with a count, a family of numbered names. One that the scope has already takes no
    /// more memory.
    pub(crate) fn declare(&mut self, name: &'a str, count: Option<u64>, symbol: Symbol) {
        let count_or_single = count.map_or(SINGLE, |count| count.min(SINGLE - 1));
        let same = |entry: &Entry<'_>| entry.count == count_or_single;
        let known = self.newest(Key::new(name.as_bytes()), name.as_bytes(), same);
        if known > self.open.last().copied().unwrap_or(0) {
            // The newest declaration is the one that counts.
            let entry = &mut self.entries[known as usize - 1];
            (entry.name, entry.symbol) = (name, symbol);
            return;
        }
        if self.entries.len() == self.buckets.len() {
            self.grow();
        }
        if let (stem, Some(number)) = numbered(name.as_bytes())
            && count.is_none()
        {
            let stems = if self.open.is_empty() { &mut self.outside } else { &mut self.inside };
            stems.add(Key::new(stem));
            let declares = matches!(symbol, Symbol::Register { .. } | Symbol::Variable { .. });
            if declares && number > 0 && !has_leading_zeros(name.as_bytes(), stem) {
                let least = self.singles.entry((self.open.len(), &name[..stem.len()])).or_insert(number);
                *least = number.min(*least);
            }
        }
        let [first, ..] = Key::new(name.as_bytes()).words();
        self.entries.push(Entry { name, first, count: count_or_single, symbol, next: 0 });
        self.link(self.entries.len() - 1);
    }

    /// Whether the innermost scope has a single register or variable that a family with this many members has too. The family is
    /// what the name then means. The assembler does not look at the member with number zero.
    pub(crate) fn has_member(&self, stem: &str, count: u64) -> bool {
        self.singles.get(&(self.open.len(), stem)).is_some_and(|least| *least < count)
    }

    /// Whether the innermost scope has such a name, or such a family, already; or a family that has this name.
    pub(crate) fn clashes(&self, name: &str, count: Option<u64>) -> bool {
        let start = self.open.last().copied().unwrap_or(0);
        // A function's own name stands in its scope, and may be declared as something else there.
        let same = |entry: &Entry<'_>| (entry.count == SINGLE) == count.is_none() && entry.symbol != Symbol::Function;
        self.newest(Key::new(name.as_bytes()), name.as_bytes(), same) > start
            || count.is_none() && self.family_with(name) > start
    }

    /// Whether the innermost scope has a family with this name.
    pub(crate) fn is_of_family(&self, name: &str) -> bool {
        self.family_with(name) > self.open.last().copied().unwrap_or(0)
    }

    /// The newest family that has a name, one-based; 0 for none.
    fn family_with(&self, name: &str) -> u32 {
        match numbered(name.as_bytes()) {
            (stem, Some(number)) if !has_leading_zeros(name.as_bytes(), stem) => {
                self.family_of(Key::new(stem), stem, number)
            }
            _ => 0,
        }
    }

    /// The newest family of a stem and its key that has a number, one-based; 0 for none.
    #[inline]
    fn family_of(&self, key: Key, stem: &[u8], number: u64) -> u32 {
        self.newest(key, stem, |entry| entry.count != SINGLE && number < entry.count)
    }

    /// Puts an entry at the head of its bucket. All older ones must be linked already.
    fn link(&mut self, index: usize) {
        let bucket = self.bucket(Key::new(self.entries[index].name.as_bytes()));
        self.entries[index].next = self.buckets[bucket];
        self.buckets[bucket] = index as u32 + 1;
    }

    fn grow(&mut self) {
        self.buckets = vec![0; self.buckets.len() * 2];
        for index in 0..self.entries.len() {
            self.link(index);
        }
    }

    #[inline]
    fn bucket(&self, key: Key) -> usize {
        (key.hash() >> 32) as usize & (self.buckets.len() - 1)
    }

    /// Finds what a name means here.
    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<Found> {
        let (entry, leading_zeros) = self.entry(name)?;
        Some(Found { symbol: entry.symbol, leading_zeros })
    }

    /// The type of the register that a name is, of an element if it is a vector's; `None` for all else, a number with leading
    /// zeros among it.
    #[inline]
    pub(crate) fn register(&self, name: &str, vector: bool) -> Option<TypeId> {
        match self.entry(name)? {
            (Entry { symbol: Symbol::Register { ty, lanes }, .. }, false) if (*lanes > 1) == vector => Some(*ty),
            _ => None,
        }
    }

    /// The name in the declaration of what a name means here: of a family, its stem.
    pub(crate) fn declaration(&self, name: &str) -> Option<&'a str> {
        self.entry(name).map(|(entry, _)| entry.name)
    }

    /// The newest declaration of a name, be it its own or that of its family, and whether its number has leading zeros.
    #[inline]
    fn entry(&self, name: &str) -> Option<(&Entry<'a>, bool)> {
        let name = name.as_bytes();
        let single = |key| self.newest(key, name, |entry| entry.count == SINGLE);
        let (stem, Some(number)) = numbered(name) else { return Some((self.at(single(Key::new(name)))?, false)) };
        let key = Key::new(stem);
        let family = self.family_of(key, stem, number);
        let own = match self.inside.may_have(key) || self.outside.may_have(key) {
            true => single(Key::new(name)),
            false => 0,
        };
        Some((self.at(own.max(family))?, family > own && has_leading_zeros(name, stem)))
    }

    /// An entry by its one-based number.
    #[inline]
    fn at(&self, number: u32) -> Option<&Entry<'a>> {
        self.entries.get((number as usize).wrapping_sub(1))
    }

    /// The newest entry with a name, or a stem, and its key that is the one meant, one-based; 0 for none.
    #[inline]
    fn newest(&self, key: Key, name: &[u8], meant: impl Fn(&Entry<'a>) -> bool) -> u32 {
        let [first, ..] = key.words();
        let short = name.len() <= size_of_val(&first);
        let mut at = self.buckets[self.bucket(key)];
        for _ in 0..LONGEST_CHAIN {
            let Some(entry) = self.at(at) else { return 0 };
            let same = entry.first == first && entry.name.len() == name.len();
            if same && (short || entry.name.as_bytes() == name) && meant(entry) {
                return at;
            }
            at = entry.next;
        }
        0
    }

    /// The names declared last, with the numbers of members of families and what they are.
    pub(crate) fn newest_names(&self) -> impl Iterator<Item = (&'a str, Option<u64>, Symbol)> {
        let newest = self.entries.iter().rev().take(LONGEST_CHAIN);
        newest.map(|entry| (entry.name, (entry.count != SINGLE).then_some(entry.count), entry.symbol))
    }

    /// The family with this stem, if there is one: the stem where it is declared, and how many registers it has.
    pub(crate) fn family(&self, stem: &str) -> Option<(&'a str, u64)> {
        let found = self.newest(Key::new(stem.as_bytes()), stem.as_bytes(), |entry| entry.count != SINGLE);
        self.at(found).map(|entry| (entry.name, entry.count))
    }
}

/// How many entries of a bucket are looked at: a family may be declared again and again, each time with too few.
const LONGEST_CHAIN: usize = 256;

/// Whether the number behind a stem begins with a zero that it does not need.
#[inline]
fn has_leading_zeros(name: &[u8], stem: &[u8]) -> bool {
    name.len() > stem.len() + 1 && name[stem.len()] == b'0'
}

/// A name without the digits at its end, and the number that these spell, if there are any; of one that is too large
/// `u64::MAX`, which no family has.
#[inline]
fn numbered(name: &[u8]) -> (&[u8], Option<u64>) {
    let (mut stem, mut number, mut place) = (name.len(), 0_u64, 1_u64);
    while stem > 0 && name[stem - 1].is_ascii_digit() {
        stem -= 1;
        number = number.saturating_add(place.saturating_mul(u64::from(name[stem] - b'0')));
        place = place.saturating_mul(10);
    }
    (&name[..stem], (stem < name.len()).then_some(number))
}

#[cfg(test)]
mod tests {
    use super::{Found, Scopes, Symbol};
    use crate::table::{Space, TypeId};
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    const SPACE: &Space = &Space {
        memory: None,
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
    };

    const VARIABLE: Symbol = Symbol::Variable { space: SPACE, holds: None, number: 0 };

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

    #[test]
    fn long_names_are_told_apart_by_all_their_bytes() {
        let names =
            ["abcdefgh", "abcdefghi", "abcdefghj", "a_name_of_more_than_24_bytes_", "a_name_of_more_than_24_bytes$"];
        let mut scopes = Scopes::new();
        for (ty, name) in names.iter().enumerate() {
            assert_eq!(scopes.find(name), None);
            scopes.declare(name, None, register(ty as u8));
        }
        for (ty, name) in names.iter().enumerate() {
            assert_eq!(scopes.find(name), found(register(ty as u8)));
        }
    }
}
