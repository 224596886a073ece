//! Selectors and masks behind operands: `.b7654`, `.h32`, `.b310`.
//!
//! They are operand data, not part of a form: one program serves all of them. A [`Selector`] is a table's word on what
//! may be written, [`Lanes`] and [`Subset`] are what a function gets.
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

/// Whether something may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission<Note = &'static str> {
    /// It may not.
    No,
    /// It may.
    Yes,
    /// The assembler takes it, the manual does not list it; the note says so.
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
    /// The lanes or the mask that may follow an operand.
    Selector, SelectorBuf {
        /// The set's name in the manual, without its dot: `asel`.
        name: &'static str,
        /// The letter before the digits: `b` or `h`; nothing where the words are listed.
        letter: char,
        /// How the digits are read.
        kind: Kind,
        /// The value when nothing is written, packed as [`Kind`] says.
        default: u32,
        /// Whether it may be left out where all operands are written. What may not be left out, without a note, may stand
        /// only where all operands are written.
        omission: Permission,
    }
}

impl Selector {
    /// The packed value of a word without its dot.
    pub fn parse(&self, word: &str) -> Option<u32> {
        self.kind.parse(self.letter, word)
    }
}

/// How a selector's digits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind<Words = &'static [&'static str]> {
    /// As many digits as `lanes`, each below `of`; the last digit is lane 0.
    /// Packed four bits a lane, lane 0 lowest.
    Lanes {
        /// How many lanes are picked.
        lanes: u8,
        /// How many there are to pick from.
        of: u8,
    },
    /// One to `of` digits, strictly falling, each below `of`. Packed as one bit a digit.
    Subset {
        /// How many lanes there are.
        of: u8,
    },
    /// One of these words. Packed as its place; the place after the last means that none is written.
    Listed {
        /// The words without their dots.
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
    /// The packed value of a word without its dot; digits are written from the highest lane down.
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

    /// The word of a packed value, without its dot; nothing for the value of a list of words that none is.
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

    /// What may be written.
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

/// For each of `LANES` lanes of a result, which of `OF` lanes it is picked from.
///
/// Packed four bits a lane, lane 0 lowest. Written from the highest lane down: `.b3210` picks lane 0 for lane 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lanes<const LANES: usize, const OF: usize>(u32);

impl<const LANES: usize, const OF: usize> Lanes<LANES, OF> {
    /// The selector that picks these lanes, lane 0 first; `None` if one is not below `OF`.
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

    /// The selector with these packed bits; a lane that is not below `OF` is taken modulo `OF`.
    pub const fn from_bits(bits: u32) -> Lanes<LANES, OF> {
        let mut reduced = 0;
        let mut lane = 0;
        while lane < LANES {
            reduced |= ((bits >> (4 * lane) & 15) % (OF as u32)) << (4 * lane);
            lane += 1;
        }
        Lanes(reduced)
    }

    /// The packed bits.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// The lane that is picked for a lane of the result.
    pub const fn lane(self, lane: usize) -> usize {
        (self.0 >> (4 * lane) & 15) as usize
    }
}

/// Some of `OF` lanes, packed one bit a lane. Written from the highest lane down: `.b310`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subset<const OF: usize>(u32);

impl<const OF: usize> Subset<OF> {
    /// The mask of these lanes, lane 0 first; `None` if it is empty, which no mask in PTX is.
    pub const fn new(lanes: [bool; OF]) -> Option<Subset<OF>> {
        let mut bits = 0;
        let mut lane = 0;
        while lane < OF {
            bits |= (lanes[lane] as u32) << lane;
            lane += 1;
        }
        if bits == 0 { None } else { Some(Subset(bits)) }
    }

    /// The mask with these packed bits; bits from `OF` on are ignored.
    pub const fn from_bits(bits: u32) -> Subset<OF> {
        Subset(bits & ((1 << OF) - 1))
    }

    /// The packed bits.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Whether each lane is in the mask, lane 0 first.
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
