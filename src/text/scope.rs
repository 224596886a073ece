//! A symbol table with nested scopes.
//!
//! A hash table whose chains grow and shrink at their heads, in the order of declarations: the innermost declaration of
//! a name is found first, and leaving a scope removes its declarations. A register family `%r<10>` is a single entry
//! under its stem `%r`, so that memory is bounded by the size of the text; nearly all names of a module belong to
//! families, and are looked up by their stem only. The table does not interpret types.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use isa_table::hash::Key;

use crate::table::{Space, TypeId};

/// The object that a name denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// A register, or a vector register with more than one lane.
    Register { ty: TypeId, lanes: u8 },
    /// A variable in memory, including parameters.
    Variable {
        /// Its state space.
        space: &'static Space,
        /// The type and the number of lanes of its value, if it is a scalar or a vector.
        holds: Option<(TypeId, u8)>,
        /// The index of the variable's properties in the module reader.
        number: u32,
    },
    /// A function or kernel.
    Function,
    /// A label.
    Label,
    /// A label that names a list or a prototype, by its number in the module reader.
    List(u32),
}

impl Symbol {
    /// Returns the symbol of an array, which holds neither a scalar nor a vector.
    pub(crate) fn as_array(self) -> Symbol {
        match self {
            Symbol::Variable { space, number, .. } => Symbol::Variable { space, holds: None, number },
            other => other,
        }
    }
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) symbol: Symbol,
    /// True if the name is a member of a family with leading zeros in its number.
    pub(crate) leading_zeros: bool,
}

#[derive(Debug)]
struct Entry<'a> {
    /// The name, or the stem of a family.
    name: &'a str,
    /// The first bytes of the name, as in its key.
    first: u64,
    /// Number of registers in a family; [`SINGLE`] for a single name.
    count: u64,
    symbol: Symbol,
    /// One-based index of the next older entry in the same bucket; 0 for none.
    next: u32,
}

/// The `count` of an entry for a single name.
const SINGLE: u64 = u64::MAX;

/// A Bloom filter over the stems of single names that end in a number, such as `%r3`. If a stem is not in the filter,
/// only families have names with this stem; false positives are possible.
#[derive(Debug)]
struct Stems([u64; 64]);

impl Stems {
    const NONE: Stems = Stems([0; 64]);

    /// Returns the word index and the bit of a stem.
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

/// The declarations that are visible at a point in a module.
#[derive(Debug)]
pub(crate) struct Scopes<'a> {
    entries: Vec<Entry<'a>>,
    /// One-based index of the newest entry of each bucket. The number of buckets is a power of two.
    buckets: Vec<u32>,
    /// Number of entries at the start of each open scope.
    open: Vec<u32>,
    /// Stems of numbered single names: those declared outside of all scopes, and those declared within the outermost
    /// open scope.
    outside: Stems,
    inside: Stems,
    /// Smallest nonzero number of the single registers and variables, by scope depth and stem.
    singles: BTreeMap<(usize, &'a str), u64>,
    /// Families of registers that were looked up before, each in the place that its stem gives.
    recent: [Cell<Recent>; RECENT],
}

/// A family of registers of whose members none has another meaning.
#[derive(Clone, Copy, Debug)]
struct Recent {
    /// Its stem of at most 8 bytes, padded with zeros; 0 for none.
    stem: u64,
    count: u64,
    ty: TypeId,
    lanes: u8,
}

/// Number of families that are kept.
const RECENT: usize = 64;

/// No family.
const NOTHING: Recent = Recent { stem: 0, count: 0, ty: TypeId(0), lanes: 0 };

impl<'a> Scopes<'a> {
    pub(crate) fn new() -> Scopes<'a> {
        let buckets = vec![0; 64];
        let (outside, inside, singles) = (Stems::NONE, Stems::NONE, BTreeMap::new());
        let (entries, open, recent) = (Vec::new(), Vec::new(), [const { Cell::new(NOTHING) }; RECENT]);
        Scopes { entries, buckets, open, outside, inside, singles, recent }
    }

    /// Returns the number of open scopes.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn enter(&mut self) {
        self.open.push(self.entries.len() as u32);
    }

    /// Leaves the innermost scope. Returns false if no scope is open.
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
                self.forget(entry.name, entry.count != SINGLE);
                let bucket = self.bucket(entry.name.as_bytes());
                self.buckets[bucket] = entry.next;
            }
        }
        true
    }

    /// Declares a name in the innermost scope; with a count, a family of numbered names. Declaring the same name again
    /// in a scope takes no additional memory.
    pub(crate) fn declare(&mut self, name: &'a str, count: Option<u64>, symbol: Symbol) {
        self.forget(name, count.is_some());
        let count_or_single = count.map_or(SINGLE, |count| count.min(SINGLE - 1));
        let same = |entry: &Entry<'_>| entry.count == count_or_single;
        let known = self.newest(Key::new(name.as_bytes()), name.as_bytes(), same);
        if known > self.open.last().copied().unwrap_or(0) {
            // The newest declaration takes effect.
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

    /// Returns true if the innermost scope has a single register or variable that is also a member of a family with
    /// this stem and count; its name then denotes the family's member. The assembler ignores the member with number
    /// zero.
    pub(crate) fn has_member(&self, stem: &str, count: u64) -> bool {
        self.singles.get(&(self.open.len(), stem)).is_some_and(|least| *least < count)
    }

    /// Returns true if the innermost scope already declares this name or family, or a family with this member.
    pub(crate) fn clashes(&self, name: &str, count: Option<u64>) -> bool {
        let start = self.open.last().copied().unwrap_or(0);
        // A function's name is declared in its own scope, where it may be redeclared as something else.
        let same = |entry: &Entry<'_>| (entry.count == SINGLE) == count.is_none() && entry.symbol != Symbol::Function;
        self.newest(Key::new(name.as_bytes()), name.as_bytes(), same) > start
            || count.is_none() && self.family_with(name) > start
    }

    /// Returns true if a family in the innermost scope has this member.
    pub(crate) fn is_of_family(&self, name: &str) -> bool {
        self.family_with(name) > self.open.last().copied().unwrap_or(0)
    }

    /// Returns the one-based index of the newest family with this member, whose number may have leading zeros; 0 for none.
    fn family_with(&self, name: &str) -> u32 {
        match numbered(name.as_bytes()) {
            (stem, Some(number)) => self.family_of(Key::new(stem), stem, number),
            _ => 0,
        }
    }

    /// Returns the one-based index of the newest family with this stem and this member number; 0 for none.
    #[inline]
    fn family_of(&self, key: Key, stem: &[u8], number: u64) -> u32 {
        self.newest(key, stem, |entry| entry.count != SINGLE && number < entry.count)
    }

    /// Inserts an entry at the head of its bucket. All older entries must have been linked already.
    fn link(&mut self, index: usize) {
        let bucket = self.bucket(self.entries[index].name.as_bytes());
        self.entries[index].next = self.buckets[bucket];
        self.buckets[bucket] = index as u32 + 1;
    }

    fn grow(&mut self) {
        self.buckets = vec![0; self.buckets.len() * 2];
        for index in 0..self.entries.len() {
            self.link(index);
        }
    }

    /// The bucket of a name. Names that differ in their last letter only, as those beside each other in a large module mostly do, are
    /// in buckets beside each other, so that those that are declared or used together are in a cache together.
    #[inline]
    fn bucket(&self, name: &[u8]) -> usize {
        let (last, head) = name.split_last().unwrap_or((&0, name));
        let place = (Key::new(head).hash() >> 32).wrapping_add(u64::from(*last));
        place as usize & (self.buckets.len() - 1)
    }

    /// Looks up a name.
    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<Found> {
        let (entry, leading_zeros) = self.entry(name)?;
        Some(Found { symbol: entry.symbol, leading_zeros })
    }

    /// Returns the type of a register; with `vector`, the element type of a vector register. Returns `None` for any
    /// other name, and for a member number with leading zeros.
    #[inline]
    pub(crate) fn register(&self, name: &str, vector: bool) -> Option<TypeId> {
        let (ty, lanes) = self.recent_register(name.as_bytes()).or_else(|| self.any_register(name))?;
        ((lanes > 1) == vector).then_some(ty)
    }

    /// Returns the type and the lanes of a member of a family that was looked up before.
    #[inline]
    fn recent_register(&self, name: &[u8]) -> Option<(TypeId, u8)> {
        let (stem, number) = plainly_numbered(name)?;
        let [stem, ..] = Key::exact(stem)?.words();
        let recent = self.recent[recent_place(stem)].get();
        (recent.stem == stem && number < recent.count).then_some((recent.ty, recent.lanes))
    }

    /// Forgets what was looked up of a family, given by its stem or by a name that may be a member's.
    fn forget(&mut self, name: &str, family: bool) {
        let stem = if family { name.as_bytes() } else { numbered(name.as_bytes()).0 };
        if let Some(key) = Key::exact(stem) {
            let [stem, ..] = key.words();
            self.recent[recent_place(stem)].set(NOTHING);
        }
    }

    fn any_register(&self, name: &str) -> Option<(TypeId, u8)> {
        let (entry, false) = self.entry(name)? else { return None };
        let Symbol::Register { ty, lanes } = entry.symbol else { return None };
        if let Some((stem, _)) = plainly_numbered(name.as_bytes())
            && let key = Key::new(stem)
            && !self.inside.may_have(key)
            && !self.outside.may_have(key)
            // An older family has only the members that the newest one lacks.
            && let newest = self.newest(key, stem, |entry| entry.count != SINGLE)
            && self.at(newest).is_some_and(|newest| core::ptr::eq(newest, entry))
        {
            let [stem, ..] = key.words();
            self.recent[recent_place(stem)].set(Recent { stem, count: entry.count, ty, lanes });
        }
        Some((ty, lanes))
    }

    /// Returns the name as it is declared; for a member of a family, the stem.
    pub(crate) fn declaration(&self, name: &str) -> Option<&'a str> {
        self.entry(name).map(|(entry, _)| entry.name)
    }

    /// Returns the name as it is declared, with the number of a member of a family, and what it denotes.
    pub(crate) fn denoted(&self, name: &str) -> Option<(&'a str, Option<u64>, Symbol)> {
        let (entry, _) = self.entry(name)?;
        let member = if entry.count == SINGLE { None } else { numbered(name.as_bytes()).1 };
        Some((entry.name, member, entry.symbol))
    }

    /// Returns the newest declaration of a name, either its own or that of its family, and whether its number has
    /// leading zeros.
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

    /// Returns an entry by its one-based index.
    #[inline]
    fn at(&self, number: u32) -> Option<&Entry<'a>> {
        self.entries.get((number as usize).wrapping_sub(1))
    }

    /// Returns the one-based index of the newest entry with this name or stem for which `meant` returns true; 0 for
    /// none. `key` must be the key of the name.
    #[inline]
    fn newest(&self, key: Key, name: &[u8], meant: impl Fn(&Entry<'a>) -> bool) -> u32 {
        let [first, ..] = key.words();
        let short = name.len() <= size_of_val(&first);
        let mut at = self.buckets[self.bucket(name)];
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

    /// Returns the stem as it is declared and the number of registers of the family with this stem, if any.
    pub(crate) fn family(&self, stem: &str) -> Option<(&'a str, u64)> {
        let found = self.newest(Key::new(stem.as_bytes()), stem.as_bytes(), |entry| entry.count != SINGLE);
        self.at(found).map(|entry| (entry.name, entry.count))
    }
}

/// Maximum number of entries of a bucket that are searched: a family may be declared repeatedly, each time with too few
/// registers.
const LONGEST_CHAIN: usize = 256;

/// Returns true if the number after a stem has leading zeros.
#[inline]
fn has_leading_zeros(name: &[u8], stem: &[u8]) -> bool {
    name.len() > stem.len() + 1 && name[stem.len()] == b'0'
}

/// Splits a name into its stem and the number that its trailing digits denote, if any. The number saturates at
/// `u64::MAX`, which no family contains.
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

/// Splits a name into a stem of at most eight bytes and a number of at most nine digits without leading zeros, if it is
/// made so.
#[inline]
fn plainly_numbered(name: &[u8]) -> Option<(&[u8], u64)> {
    let (mut stem, mut number, mut place) = (name.len(), 0_u32, 1_u32);
    while stem > 0 && name[stem - 1].is_ascii_digit() {
        stem -= 1;
        number = number.wrapping_add(place.wrapping_mul(u32::from(name[stem] - b'0')));
        place = place.wrapping_mul(10);
    }
    let (stem, digits) = name.split_at(stem);
    let plain = matches!(digits.len(), 1..=9) && (digits[0] != b'0' || digits.len() == 1);
    (plain && matches!(stem.len(), 1..=8)).then_some((stem, number.into()))
}

/// Where a stem is among those that were looked up.
#[inline]
fn recent_place(stem: u64) -> usize {
    (stem.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % RECENT
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
        required: false,
        suffixes: true,
        kernel: None,
        function: None,
        banks: 0,
        limit: None,
        reserved: 0,
        unit: 1,
        values: true,
        opaques: true,
        vectors: true,
        common: true,
        fields: &[],
        words: &[],
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
    fn registers_that_were_looked_up_before_are_those_that_are_declared_now() {
        let mut scopes = Scopes::new();
        let ty = |scopes: &Scopes<'_>, name: &str| scopes.register(name, false).map(|ty| ty.0);
        scopes.declare("%x", Some(4), register(1));
        assert_eq!([ty(&scopes, "%x3"), ty(&scopes, "%x1"), ty(&scopes, "%x4")], [Some(1), Some(1), None]);
        scopes.enter();
        assert_eq!(ty(&scopes, "%x3"), Some(1));
        scopes.declare("%x", Some(2), register(2));
        // The outer family is found first, and has not all of the names.
        assert_eq!([ty(&scopes, "%x3"), ty(&scopes, "%x1"), ty(&scopes, "%x3")], [Some(1), Some(2), Some(1)]);
        scopes.declare("%x1", None, register(3));
        assert_eq!([ty(&scopes, "%x0"), ty(&scopes, "%x1"), ty(&scopes, "%x01")], [Some(2), Some(3), None]);
        scopes.leave();
        assert_eq!([ty(&scopes, "%x1"), ty(&scopes, "%x0")], [Some(1), Some(1)]);
        assert_eq!(scopes.register("%x1", true), None);
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
