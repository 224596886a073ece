//! Records of accesses, by lines of memory.

use std::prelude::rust_2024::*;

/// Number of bytes of a line, and its logarithm: what a warp accesses with an element of 32 bits in each lane.
pub(super) const LINE: u64 = 1 << LINE_BITS;
const LINE_BITS: u32 = 7;

/// Number of lines of a page, as a logarithm.
const PAGE_BITS: u32 = 7;

/// Maximum number of records of a line besides those by words. Of more, some are forgotten: reads first.
const MANY: usize = 7;

/// Maximum number of bytes of records that are kept by words.
const SMALL: u64 = 16;

/// Number of words of a line.
const WORDS: usize = LINE as usize / 4;

/// Maximum number of reads of a word that are recorded where nothing orders them: of more, the last one stands for those before it.
const READERS: usize = 2;

/// An access of lanes of a warp to bytes of a line. Lanes that follow each other access elements that do (it is linear), or all access all
/// of the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record(u64);

/// The lanes of a record: each one accesses `1 << shift` bytes behind those of the lane before it, or all access all bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lanes {
    Linear { first: u8, shift: u8 },
    Together { first: u8, last: u8 },
}

impl Record {
    /// A record of an event, whose number fits in 31 bits, of one of up to 128 warps. `bytes` are the first and the last byte in the line.
    #[inline]
    pub(super) fn new(event: u32, warp: usize, bytes: (u64, u64), lanes: Lanes, writes: bool) -> Record {
        let (first, other, linear) = match lanes {
            Lanes::Linear { first, shift } => (first, shift, true),
            Lanes::Together { first, last } => (first, last, false),
        };
        let place = u64::from(first) | u64::from(other) << 5 | u64::from(linear) << 10 | u64::from(writes) << 11;
        Record(place | bytes.0 << 12 | bytes.1 << 19 | (warp as u64) << 26 | u64::from(event) << 33)
    }

    /// No access: no event has the number zero.
    const NONE: Record = Record(0);

    #[inline]
    pub(super) fn event(self) -> u32 {
        (self.0 >> 33) as u32
    }

    /// The warp, as it is numbered among those of its blocks in lockstep.
    #[inline]
    pub(super) fn warp(self) -> usize {
        (self.0 >> 26) as usize & 0x7f
    }

    #[inline]
    pub(super) fn writes(self) -> bool {
        self.0 >> 11 & 1 != 0
    }

    #[inline]
    fn first(self) -> u64 {
        self.0 >> 12 & 0x7f
    }

    #[inline]
    fn last(self) -> u64 {
        self.0 >> 19 & 0x7f
    }

    /// Number of its bytes.
    #[inline]
    fn bytes(self) -> u64 {
        self.last() + 1 - self.first()
    }

    /// The words that it accesses.
    #[inline]
    fn words(self) -> u32 {
        u32::MAX >> (31 - self.last() / 4) & u32::MAX << (self.first() / 4)
    }

    #[inline]
    fn covers(self, other: Record) -> bool {
        self.first() <= other.first() && other.last() <= self.last()
    }

    /// The first and the last byte that both access.
    #[inline]
    pub(super) fn overlap(self, other: Record) -> Option<(u64, u64)> {
        let (first, last) = (self.first().max(other.first()), self.last().min(other.last()));
        (first <= last).then_some((first, last))
    }

    /// The lanes that access a byte.
    #[inline]
    pub(super) fn lanes_at(self, byte: u64) -> u32 {
        let (first, other) = (self.0 as u32 & 0x1f, (self.0 >> 5) as u32 & 0x1f);
        match self.0 >> 10 & 1 != 0 {
            true => 1 << (first + (((byte - self.first()) >> other) as u32)),
            false => u32::MAX >> (31 - other) & u32::MAX << first,
        }
    }

    /// How bytes belong to lanes: zero if all lanes access all of them.
    #[inline]
    fn shape(self) -> u64 {
        if self.0 >> 10 & 1 != 0 { self.0 >> 5 & 0x3f } else { 0 }
    }

    /// Returns true if a byte, and with it each one that both access, is accessed by one lane alone, which is the same in both.
    #[inline]
    pub(super) fn is_of_same_lane(self, other: Record, byte: u64) -> bool {
        let lanes = self.lanes_at(byte);
        lanes.is_power_of_two() && lanes == other.lanes_at(byte) && self.shape() == other.shape()
    }
}

/// How an access relates to an earlier one of the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It is ordered behind it, as all that follow are.
    Past,
    /// It is ordered behind it; `replaces` says that it tells all of the earlier one to those that follow.
    Ordered { replaces: bool },
    /// Nothing orders them, but they do not race, or nobody asks.
    Apart,
    /// They race.
    Race,
}

/// Records of accesses to a line. Those of few bytes are kept by words, as a line may have many.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Number of records of many bytes.
    count: u32,
    /// The number of its words, from one on; 0 if it has none.
    words: u32,
    records: [Record; MANY],
}

/// Records of accesses to few bytes, by the words that they access.
#[derive(Clone, Copy, Debug, Default)]
struct Words {
    /// The words that have some.
    some: u32,
    words: [Word; WORDS],
}

/// The last write of a word, and reads since then; [`Record::NONE`] if there is none.
#[derive(Clone, Copy, Debug, Default)]
struct Word([Record; 1 + READERS]);

/// Records of accesses to an allocation, or to the shared memory of blocks.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The number of the first line.
    first: u64,
    /// Pages, as far as they were accessed.
    pages: Vec<Option<Box<[Line; 1 << PAGE_BITS]>>>,
    words: Vec<Words>,
}

impl Lines {
    /// Lines for memory between two addresses.
    pub(super) fn new((start, end): (u64, u64)) -> Lines {
        let (first, behind) = (start >> LINE_BITS, end.div_ceil(LINE));
        let pages = (behind - first).div_ceil(1 << PAGE_BITS) as usize;
        Lines { first, pages: std::iter::repeat_with(|| None).take(pages).collect(), words: Vec::new() }
    }

    /// Enters a record of an access to the line of an address, unless it races with an earlier one, which is returned. `relate` compares the
    /// access to one that is recorded for some of its bytes, from the first to the last one.
    pub(super) fn enter(
        &mut self,
        address: u64,
        new: Record,
        mut relate: impl FnMut(Record, (u64, u64)) -> Relation,
    ) -> Result<(), Record> {
        let number = (address >> LINE_BITS) - self.first;
        let (page, within) = ((number >> PAGE_BITS) as usize, number as usize & ((1 << PAGE_BITS) - 1));
        let Some(page) = self.pages.get_mut(page) else { return Ok(()) };
        let page = page.get_or_insert_with(|| Box::new([Line::default(); 1 << PAGE_BITS]));
        let line = &mut page[within];
        // Returns true if the new record stands for an earlier one.
        let mut replaces = |record: Record| match record.overlap(new) {
            None => Ok(false),
            Some(both) => match relate(record, both) {
                Relation::Race => Err(record),
                Relation::Past => Ok(true),
                Relation::Ordered { replaces } => {
                    Ok(replaces && new.covers(record) && (new.writes() || !record.writes()))
                }
                Relation::Apart => Ok(record == new),
            },
        };
        let mut at = 0;
        while at < line.count as usize {
            if replaces(line.records[at])? {
                line.count -= 1;
                line.records[at] = line.records[line.count as usize];
            } else {
                at += 1;
            }
        }
        let own = new.words();
        if let Some(words) = self.words.get_mut((line.words as usize).wrapping_sub(1)) {
            let mut some = words.some & own;
            while some != 0 {
                let Word(records) = &mut words.words[some.trailing_zeros() as usize];
                for record in records.iter_mut().filter(|record| **record != Record::NONE) {
                    if replaces(*record)? {
                        *record = Record::NONE;
                    }
                }
                some &= some - 1;
            }
        }
        if new.bytes() > SMALL {
            line.push(new);
            return Ok(());
        }
        if line.words == 0 {
            self.words.push(Words::default());
            line.words = self.words.len() as u32;
        }
        let words = &mut self.words[line.words as usize - 1];
        let mut rest = own;
        while rest != 0 {
            let word = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if words.some >> word & 1 == 0 {
                (words.some, words.words[word]) = (words.some | 1 << word, Word::default());
            }
            let Word([write, reads @ ..]) = &mut words.words[word];
            if new.writes() {
                // What the new one does not stand for: a write of other bytes, or one that does not race with it.
                let other = std::mem::replace(write, new);
                if other != Record::NONE && (!new.covers(other) || (line.count as usize) < MANY / 2) {
                    line.push(other);
                }
            } else {
                let place = reads.iter().position(|read| *read == Record::NONE).unwrap_or(READERS - 1);
                reads[place] = new;
            }
        }
        Ok(())
    }

    /// Forgets all accesses.
    pub(super) fn clear(&mut self) {
        self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut()).for_each(|line| line.count = 0);
        self.words.iter_mut().for_each(|words| words.some = 0);
    }
}

impl Line {
    /// Adds a record, in place of a read if there are many.
    fn push(&mut self, record: Record) {
        if self.count as usize == MANY {
            let read = self.records.iter().position(|record| !record.writes());
            self.count -= 1;
            self.records[read.unwrap_or(0)] = self.records[self.count as usize];
        }
        self.records[self.count as usize] = record;
        self.count += 1;
    }
}
