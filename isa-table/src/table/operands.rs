//! The operands of forms: most forms share theirs with others, so that a form has numbers, and the table the operands.

use core::ops::Index;
use core::slice;

use super::Operand;

/// Operands of a form, in order of writing.
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

    /// How many there are.
    #[inline]
    pub fn len(self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.numbers.is_empty()
    }

    /// The operand at a place, the first one at 0.
    #[inline]
    pub fn get(self, place: usize) -> Option<&'static Operand> {
        self.numbers.get(place).map(|number| &self.all[usize::from(*number)])
    }

    /// The first one.
    #[inline]
    pub fn first(self) -> Option<&'static Operand> {
        self.get(0)
    }

    /// The last one.
    #[inline]
    pub fn last(self) -> Option<&'static Operand> {
        self.get(self.len().wrapping_sub(1))
    }

    /// All of them.
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

/// Goes over [`Operands`].
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
