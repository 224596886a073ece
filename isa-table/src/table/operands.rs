//! Operand lists of forms, which are indices into a shared pool.

use core::ops::Index;
use core::slice;

use super::Operand;

/// The operands of a form, in order of writing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Operands {
    all: &'static [Operand],
    numbers: &'static [u16],
}

impl Operands {
    #[inline]
    pub(super) fn new(all: &'static [Operand], numbers: &'static [u16]) -> Operands {
        Operands { all, numbers }
    }

    /// Number of operands.
    #[inline]
    pub fn len(self) -> usize {
        self.numbers.len()
    }

    /// Returns true if the list has no operands.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns the operand at an index.
    #[inline]
    pub fn get(self, place: usize) -> Option<&'static Operand> {
        self.numbers.get(place).map(|number| &self.all[usize::from(*number)])
    }

    /// Returns the first operand.
    #[inline]
    pub fn first(self) -> Option<&'static Operand> {
        self.get(0)
    }

    /// Returns the last operand.
    #[inline]
    pub fn last(self) -> Option<&'static Operand> {
        self.get(self.len().wrapping_sub(1))
    }

    /// Iterates over the operands.
    #[inline]
    pub fn iter(self) -> OperandsIter {
        OperandsIter { all: self.all, numbers: self.numbers.iter() }
    }
}

impl Index<usize> for Operands {
    type Output = Operand;

    #[inline]
    fn index(&self, place: usize) -> &Operand {
        &self.all[usize::from(self.numbers[place])]
    }
}

impl IntoIterator for Operands {
    type Item = &'static Operand;
    type IntoIter = OperandsIter;

    #[inline]
    fn into_iter(self) -> OperandsIter {
        self.iter()
    }
}

/// Iterator over [`Operands`].
#[derive(Clone, Debug)]
pub struct OperandsIter {
    all: &'static [Operand],
    numbers: slice::Iter<'static, u16>,
}

impl Iterator for OperandsIter {
    type Item = &'static Operand;

    #[inline]
    fn next(&mut self) -> Option<&'static Operand> {
        self.numbers.next().map(|number| &self.all[usize::from(*number)])
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl DoubleEndedIterator for OperandsIter {
    #[inline]
    fn next_back(&mut self) -> Option<&'static Operand> {
        self.numbers.next_back().map(|number| &self.all[usize::from(*number)])
    }
}

impl ExactSizeIterator for OperandsIter {}
