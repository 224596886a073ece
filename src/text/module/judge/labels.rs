//! Labels of a function: the block that declares each, and the labels that a branch can refer to.
//!
//! A label is visible in its block and in nested blocks, before and after its declaration. A forward reference is
//! resolved at the end of the function.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::text::closest;
use crate::text::lexer::span_of;

/// A forward reference to a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Jump<'a> {
    pub(super) name: &'a str,
    /// Number of labels in a family reference (`L<2>` refers to `L0` and `L1`); 0 for a reference to a single label.
    /// Saturates at `u32::MAX`, which is more than any text can declare.
    count: u32,
    /// Distance in bytes from the start of the statement to the name; 0 if it does not fit.
    behind: u32,
}

impl Jump<'_> {
    /// Returns the start of the statement that refers to the label.
    pub(super) fn statement(&self, text: &str) -> usize {
        span_of(text, self.name).start - self.behind as usize
    }
}

/// A declared label.
#[derive(Debug)]
struct Placed<'a> {
    name: &'a str,
    /// The block that declares it.
    block: u32,
    /// The block that ends last, among the blocks of this label and of the labels of the same name that precede it.
    covering: u32,
}

/// The labels of the open function.
#[derive(Debug, Default)]
pub(super) struct Labels<'a> {
    /// The extent of each block, in order.
    blocks: Vec<Range<usize>>,
    /// The open blocks, outermost first.
    open: Vec<u32>,
    placed: Vec<Placed<'a>>,
    jumps: Vec<Jump<'a>>,
}

/// Maximum number of labels compared for a similar spelling.
const MOST_ALIKE: usize = 256;

/// Reason why a label cannot be referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The function has no such label.
    Nowhere,
    /// The label is declared in a block that does not contain the branch.
    InOtherBlock,
}

impl<'a> Labels<'a> {
    pub(super) fn enter(&mut self, at: usize) {
        self.open.push(self.blocks.len() as u32);
        self.blocks.push(at..usize::MAX);
    }

    pub(super) fn leave(&mut self, at: usize) {
        if let Some(block) = self.open.pop() {
            self.blocks[block as usize].end = at;
        }
    }

    /// Declares a label in the innermost open block. A label outside of all blocks is visible everywhere.
    pub(super) fn place(&mut self, name: &'a str) {
        let block = self.open.last().copied().unwrap_or(u32::MAX);
        self.placed.push(Placed { name, block, covering: block });
    }

    /// Records a reference to a label, or to a family of `count` labels, in a statement that begins `behind` bytes
    /// before the name.
    pub(super) fn jump(&mut self, name: &'a str, count: Option<u64>, behind: usize) {
        if count == Some(0) {
            return;
        }
        let count = count.map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX));
        self.jumps.push(Jump { name, count, behind: u32::try_from(behind).unwrap_or(0) });
    }

    /// Ends the function: reports each reference to a label that is not visible, then clears all state.
    pub(super) fn end(&mut self, text: &str, mut missing: impl FnMut(&Self, Jump<'a>, Missing)) {
        let blocks = &self.blocks;
        let end = |block: u32| blocks.get(block as usize).map_or(usize::MAX, |block| block.end);
        // Blocks are numbered in order of their starts. Labels outside of all blocks (`u32::MAX`) sort first.
        self.placed.sort_unstable_by_key(|placed| (placed.name, placed.block.wrapping_add(1)));
        let mut before: Option<(&str, u32)> = None;
        for placed in &mut self.placed {
            let namesake = before.filter(|(name, _)| *name == placed.name).map(|(_, covering)| covering);
            placed.covering = namesake.filter(|other| end(*other) > end(placed.block)).unwrap_or(placed.block);
            before = Some((placed.name, placed.covering));
        }
        let jumps = core::mem::take(&mut self.jumps);
        let families = self.families(text, &jumps);
        for (index, jump) in jumps.into_iter().enumerate() {
            let found = match jump.count {
                0 => self.visible(jump.name, span_of(text, jump.name).start).err(),
                _ => families.get(&index).copied(),
            };
            if let Some(why) = found {
                missing(self, jump, why);
            }
        }
        self.forget();
    }

    /// Discards a function whose blocks are not known.
    pub(super) fn forget(&mut self) {
        self.blocks.clear();
        self.open.clear();
        self.placed.clear();
        self.jumps.clear();
    }

    /// Returns the end of a block.
    fn end_of(&self, block: u32) -> usize {
        self.blocks.get(block as usize).map_or(usize::MAX, |block| block.end)
    }

    /// Why families of labels cannot be named, by the index of the jump that does. Labels are sorted.
    fn families(&self, text: &str, jumps: &[Jump<'a>]) -> BTreeMap<usize, Missing> {
        let mut lists: Vec<usize> = (0..jumps.len()).filter(|index| jumps[*index].count > 0).collect();
        lists.sort_by_key(|index| jumps[*index].name);
        let mut found = BTreeMap::new();
        for lists in lists.chunk_by(|one, other| jumps[*one].name == jumps[*other].name) {
            let stem = jumps[lists[0]].name;
            let first = self.placed.partition_point(|placed| placed.name < stem);
            let named = self.placed[first..].iter().take_while(|placed| placed.name.starts_with(stem));
            let members: Vec<(usize, u32)> =
                named.filter_map(|placed| Some((member(placed.name, stem)?, placed.block))).collect();
            let mut events = Vec::with_capacity(2 * members.len() + lists.len());
            // Of more numbers than there are labels one is missing.
            for (number, block) in members.iter().filter(|(number, _)| *number < members.len()) {
                let start = self.blocks.get(*block as usize).map_or(0, |block| block.start);
                events.push((start, Event::Begins(*number)));
                events.push((self.end_of(*block), Event::Ends(*number)));
            }
            events.extend(lists.iter().map(|index| (span_of(text, jumps[*index].name).start, Event::Named(*index))));
            events.sort_unstable();
            let mut visible = Visible::new(members.len());
            for (at, event) in events {
                match event {
                    Event::Begins(number) => visible.add(number, 1),
                    Event::Ends(number) => visible.add(number, -1),
                    Event::Named(index) => {
                        let count = visible.complete();
                        if count < jumps[index].count as usize {
                            let lacks = self.visible(&alloc::format!("{stem}{count}"), at);
                            found.insert(index, lacks.err().unwrap_or(Missing::Nowhere));
                        }
                    }
                }
            }
        }
        found
    }

    /// Checks that a label is visible at an offset. The labels must be sorted.
    fn visible(&self, name: &str, at: usize) -> Result<(), Missing> {
        let start = |placed: &Placed<'_>| self.blocks.get(placed.block as usize).map_or(0, |block| block.start);
        let behind = self.placed.partition_point(|placed| (placed.name, start(placed)) <= (name, at));
        let last = self.placed[..behind].last().filter(|placed| placed.name == name);
        match last {
            Some(placed) if self.end_of(placed.covering) >= at => Ok(()),
            Some(_) => Err(Missing::InOtherBlock),
            None if self.placed.get(behind).is_some_and(|placed| placed.name == name) => Err(Missing::InOtherBlock),
            None => Err(Missing::Nowhere),
        }
    }

    /// Returns a label with a similar spelling.
    pub(super) fn near(&self, name: &str) -> Option<&'a str> {
        closest(name, self.placed.iter().take(MOST_ALIKE).map(|placed| placed.name))
    }
}

/// The number of a label of a family.
fn member(name: &str, stem: &str) -> Option<usize> {
    let number = name.strip_prefix(stem)?;
    let canonical = number == "0" || number.starts_with(|first: char| matches!(first, '1'..='9'));
    number.parse().ok().filter(|_| canonical)
}

/// An event at a place of the text; events of one place occur in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A block begins that has the label of this number.
    Begins(usize),
    /// A jump names the family.
    Named(usize),
    /// Such a block ends.
    Ends(usize),
}

/// The labels of a family that are visible: a Fenwick tree of their numbers.
struct Visible {
    /// How often each is.
    times: Vec<u32>,
    /// Number of visible labels in the range of each node of the tree.
    counts: Vec<u32>,
}

impl Visible {
    fn new(labels: usize) -> Visible {
        Visible { times: vec![0; labels], counts: vec![0; labels + 1] }
    }

    fn add(&mut self, number: usize, times: i32) {
        let before = self.times[number] > 0;
        self.times[number] = self.times[number].wrapping_add_signed(times);
        let more = i32::from(self.times[number] > 0) - i32::from(before);
        let mut node = number + 1;
        while more != 0 && node < self.counts.len() {
            self.counts[node] = self.counts[node].wrapping_add_signed(more);
            node += node & node.wrapping_neg();
        }
    }

    /// The first number that is not visible.
    fn complete(&self) -> usize {
        let mut number = 0;
        for step in (0..usize::BITS).rev().map(|bit| 1 << bit) {
            if self.counts.get(number + step).is_some_and(|count| *count as usize == step) {
                number += step;
            }
        }
        number
    }
}
