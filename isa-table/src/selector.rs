//! Operand selectors and masks: `.b7654`, `.h32`, `.b310`.
//!
//! They are operand data rather than part of a form: one program serves all of them. [`Selector`] describes the
//! accepted selectors; [`Lanes`] and [`Subset`] are values passed to functions.
//!
//! ```
//! use isa_table::selector::{Kind, Lanes, Subset};
//!
//! let swapped = Lanes::<4, 8>::new([3, 2, 1, 0]).unwrap();
//! assert_eq!(swapped.lane(0), 3);
//! let upper = Subset::<4>::new([false, false, true, true]).unwrap();
//! assert_eq!(upper.to_bits(), 0b1100);
//!
//! let four: Kind = Kind::Lanes { lanes: 4, of: 8 };
//! assert_eq!((four.parse('b', "b0123"), four.parse('b', "b012")), (Some(swapped.to_bits()), None));
//! assert_eq!(four.spell('b', swapped.to_bits()), "b0123");
//! ```

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

#[cfg(feature = "write")]
use crate::constant::Content;
use crate::constant::contents;

/// Permission to write something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission<Note = &'static str> {
    /// Not allowed.
    No,
    /// Allowed.
    Yes,
    /// Accepted by the assembler but not listed in the manual, as the note explains.
    Lenient(Note),
}

#[cfg(feature = "write")]
impl Content for Permission {
    type Buf = Permission<String>;

    fn write(buf: &Permission<String>, out: &mut String) {
        match buf {
            Permission::No => out.push_str("Permission::No"),
            Permission::Yes => out.push_str("Permission::Yes"),
            Permission::Lenient(note) => out.push_str(&format!("Permission::Lenient({note:?})")),
        }
    }

    fn leak(buf: Permission<String>) -> Permission {
        match buf {
            Permission::No => Permission::No,
            Permission::Yes => Permission::Yes,
            Permission::Lenient(note) => Permission::Lenient(note.leak()),
        }
    }
}

contents! {
    /// The lane selector or mask that may follow an operand.
    Selector, SelectorBuf {
        /// Name of the set in the manual, without its dot: `asel`.
        name: &'static str,
        /// Letter before the digits, `b` or `h`; NUL if the words are listed.
        letter: char,
        /// Interpretation of the digits.
        kind: Kind,
        /// Value if omitted, packed as described at [`Kind`].
        default: u32,
        /// Permission to omit it in a statement that writes all operands. A selector that may not be omitted, without a
        /// note, is valid only in such statements.
        omission: Permission,
    }
}

impl Selector {
    /// Returns the packed value of a word without its dot.
    pub fn parse(&self, word: &str) -> Option<u32> {
        self.kind.parse(self.letter, word)
    }
}

/// Interpretation of a selector's digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind<Words = &'static [&'static str]> {
    /// `lanes` digits, each below `of`; the last digit is lane 0. Packed as four bits for each lane, lane 0 lowest.
    Lanes {
        /// Number of lanes picked.
        lanes: u8,
        /// Number of lanes to pick from.
        of: u8,
    },
    /// One to `of` strictly descending digits, each below `of`. Packed as one bit for each digit.
    Subset {
        /// Number of lanes.
        of: u8,
    },
    /// One of a list of words. Packed as the index of the word; the index after the last means that none is written.
    Listed {
        /// The words, without their dots.
        words: Words,
    },
}

#[cfg(feature = "write")]
impl Content for Kind {
    type Buf = Kind<Vec<String>>;

    fn write(buf: &Kind<Vec<String>>, out: &mut String) {
        match buf {
            Kind::Lanes { lanes, of } => out.push_str(&format!("selector::Kind::Lanes {{ lanes: {lanes}, of: {of} }}")),
            Kind::Subset { of } => out.push_str(&format!("selector::Kind::Subset {{ of: {of} }}")),
            Kind::Listed { words } => out.push_str(&format!("selector::Kind::Listed {{ words: &{words:?} }}")),
        }
    }

    fn leak(buf: Kind<Vec<String>>) -> Kind {
        match buf {
            Kind::Lanes { lanes, of } => Kind::Lanes { lanes, of },
            Kind::Subset { of } => Kind::Subset { of },
            Kind::Listed { words } => Kind::Listed { words: Content::leak(words) },
        }
    }
}

impl<Words: core::ops::Deref<Target = [Word]>, Word: AsRef<str>> Kind<Words> {
    /// Returns the packed value of a word without its dot; digits run from the highest lane down.
    pub fn parse(&self, letter: char, word: &str) -> Option<u32> {
        let digits = || word.strip_prefix(letter).map(str::as_bytes);
        let below = |of: u8| move |digit: &u8| digit.is_ascii_digit() && digit - b'0' < of;
        let value = |digit: &u8| u32::from(digit - b'0');
        match self {
            Kind::Listed { words } => words.iter().position(|other| other.as_ref() == word).map(|place| place as u32),
            Kind::Lanes { lanes, of } => {
                let digits = digits()?;
                let right = digits.len() == usize::from(*lanes) && digits.iter().all(below(*of));
                right.then(|| digits.iter().fold(0, |bits, digit| bits << 4 | value(digit)))
            }
            Kind::Subset { of } => {
                let digits = digits()?;
                let falling = digits.windows(2).all(|pair| pair[0] > pair[1]);
                let right = !digits.is_empty() && falling && digits.iter().all(below(*of));
                right.then(|| digits.iter().fold(0, |bits, digit| bits | 1 << value(digit)))
            }
        }
    }

    /// Returns the word of a packed value, without its dot; empty if no listed word is written.
    pub fn spell(&self, letter: char, bits: u32) -> String {
        let digits = |count: u8, digit: &dyn Fn(u8) -> Option<u32>| {
            let digits: String = (0..count).rev().filter_map(digit).map(|digit| digit.to_string()).collect();
            format!("{letter}{digits}")
        };
        match self {
            Kind::Listed { words } => words.get(bits as usize).map_or(String::new(), |word| word.as_ref().to_string()),
            Kind::Lanes { lanes, .. } => digits(*lanes, &|lane| Some(bits >> (4 * lane) & 15)),
            Kind::Subset { of } => digits(*of, &|lane| (bits >> lane & 1 != 0).then_some(lane.into())),
        }
    }

    /// Describes the accepted words.
    pub fn describe(&self, letter: char) -> String {
        match self {
            Kind::Listed { words } => {
                let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
                format!("it is one of `.{}`", words.join("`, `."))
            }
            Kind::Lanes { lanes, of } => {
                format!("a selector is `.{letter}` and {lanes} digits from 0 to {}", of.saturating_sub(1))
            }
            Kind::Subset { of } => {
                format!("a mask is `.{letter}` and up to {of} falling digits from {} to 0", of.saturating_sub(1))
            }
        }
    }
}

/// For each of `LANES` lanes of a result, the index of the source lane among `OF` lanes.
///
/// Packed as four bits for each lane, lane 0 lowest. Written from the highest lane down: `.b3210` picks lane 0 for lane
/// 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lanes<const LANES: usize, const OF: usize>(u32);

impl<const LANES: usize, const OF: usize> Lanes<LANES, OF> {
    /// Selector that picks these lanes, lane 0 first; `None` if an index is not below `OF`.
    pub const fn new(lanes: [usize; LANES]) -> Option<Lanes<LANES, OF>> {
        let mut bits = 0;
        let mut lane = 0;
        while lane < LANES {
            if lanes[lane] >= OF {
                return None;
            }
            bits |= (lanes[lane] as u32) << (4 * lane);
            lane += 1;
        }
        Some(Lanes(bits))
    }

    /// Selector with these packed bits; indices are taken modulo `OF`.
    pub const fn from_bits(bits: u32) -> Lanes<LANES, OF> {
        let mut reduced = 0;
        let mut lane = 0;
        while lane < LANES {
            reduced |= ((bits >> (4 * lane) & 15) % (OF as u32)) << (4 * lane);
            lane += 1;
        }
        Lanes(reduced)
    }

    /// Returns the packed bits.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Returns the source lane for a lane of the result.
    pub const fn lane(self, lane: usize) -> usize {
        (self.0 >> (4 * lane) & 15) as usize
    }
}

/// A subset of `OF` lanes, packed as one bit for each lane. Written from the highest lane down: `.b310`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subset<const OF: usize>(u32);

impl<const OF: usize> Subset<OF> {
    /// Mask of these lanes, lane 0 first; `None` if it is empty, which PTX does not allow.
    pub const fn new(lanes: [bool; OF]) -> Option<Subset<OF>> {
        let mut bits = 0;
        let mut lane = 0;
        while lane < OF {
            bits |= (lanes[lane] as u32) << lane;
            lane += 1;
        }
        if bits == 0 { None } else { Some(Subset(bits)) }
    }

    /// Mask with these packed bits; bits from `OF` on are ignored.
    pub const fn from_bits(bits: u32) -> Subset<OF> {
        Subset(bits & ((1 << OF) - 1))
    }

    /// Returns the packed bits.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Returns the membership of each lane, lane 0 first.
    pub const fn lanes(self) -> [bool; OF] {
        let mut lanes = [false; OF];
        let mut lane = 0;
        while lane < OF {
            lanes[lane] = self.0 >> lane & 1 != 0;
            lane += 1;
        }
        lanes
    }
}
