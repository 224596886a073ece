//! Labels of a function: the block that declares each, and the labels that a branch can refer to.
//!
//! A label is visible in its block and in nested blocks, before and after its declaration. A forward reference is
//! resolved at the end of the function.

use alloc::vec::Vec;
use core::ops::Range;

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

/// Reason why a label cannot be referred to.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub(super) fn end(&mut self, text: &str, mut missing: impl FnMut(Jump<'a>, Missing)) {
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
        for jump in core::mem::take(&mut self.jumps) {
            let at = span_of(text, jump.name).start;
            let found = match jump.count {
                0 => self.visible(jump.name, at),
                count => {
                    let names = (0..count).map(|number| alloc::format!("{}{number}", jump.name));
                    names.map(|name| self.visible(&name, at)).find(Result::is_err).unwrap_or(Ok(()))
                }
            };
            if let Err(why) = found {
                missing(jump, why);
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
}
