//! Matrices that the lanes of a warp hold: where their elements are, and how tensor cores sum products.
//!
//! ```
//! use isa_table::matrix::{Element, Fragment, Step};
//!
//! // Lanes 4g to 4g + 3 hold row g, two adjacent elements each.
//! let fragment = Fragment {
//!     matrix: &[],
//!     row: &[Step::Lane, Step::Constant(2), Step::Shr],
//!     column: &[Step::Lane, Step::Constant(3), Step::And, Step::Constant(2), Step::Mul, Step::Part, Step::Add],
//! };
//! let place = fragment.place(Element { lane: 5, register: 0, part: 1, parts: 2 });
//! assert_eq!((place.row, place.column), (1, 3));
//! ```

#[cfg(feature = "write")]
use alloc::format;

use crate::constant::{contents, plain};
use crate::table::Forbidden;

/// A step of a formula, which is written in postfix notation and computes whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Index of the lane in its warp.
    Lane,
    /// Index of the register in its vector.
    Register,
    /// Index of the element in its register.
    Part,
    /// Number of elements in a register.
    Parts,
    /// Index of the element among all that the lane holds.
    Element,
    /// A constant.
    Constant(u16),
    /// Sum of the last two results.
    Add,
    /// Their difference.
    Sub,
    /// Their product.
    Mul,
    /// The former shifted left by the latter.
    Shl,
    /// The former shifted right by the latter.
    Shr,
    /// Bitwise AND of both.
    And,
    /// Bitwise OR of both.
    Or,
    /// Bitwise XOR of both.
    Xor,
}

/// An element of a fragment, by the registers that hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// Index of the lane in its warp.
    pub lane: u32,
    /// Index of the register in its vector.
    pub register: u32,
    /// Index of the element in its register, counted from the lowest bits.
    pub part: u32,
    /// Number of elements in a register.
    pub parts: u32,
}

/// Place of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Index of the matrix, or of the copy, if there are several.
    pub matrix: u32,
    /// Row in its matrix.
    pub row: u32,
    /// Column in its matrix.
    pub column: u32,
}

/// How the final sum is rounded, and what its terms are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sum {
    /// Exact sums of integers, modulo their width.
    Exact,
    /// Population counts of the bitwise AND.
    CountAnd,
    /// Population counts of the bitwise XOR.
    CountXor,
    /// Fused multiply-adds in the order of the inner dimension.
    Chained {
        /// How each is rounded.
        rounding: Rounding,
        /// Bytes of a row of the first factor whose chain starts at zero, in single precision, and whose sum is then added to the
        /// accumulator; 0 if there is one chain, which starts with the accumulator.
        step: u8,
    },
    /// Fused dot products, whose terms are aligned to the greatest exponent and truncated.
    Fused {
        /// Bits kept behind the binary point of a significand with the greatest exponent.
        fraction: u8,
        /// Bytes of a row of the first factor that one dot product takes; all if 0.
        step: u8,
        /// Fraction bits of a single-precision result; all if 0.
        result: u8,
        /// Number of products summed exactly before alignment; 0 if they are aligned one by one.
        group: u8,
        /// If not 0, elements count as half precision: the products of the first half of every `split` elements are summed,
        /// then those of the second half, and the accumulator is added at last, rounded to nearest.
        split: u8,
    },
}

/// Rounding mode of a floating-point operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Toward zero.
    Zero,
    /// Toward negative infinity.
    Down,
    /// Toward positive infinity.
    Up,
}

plain! {
    Step = |step| format!("matrix::Step::{step:?}");
    Rounding = |rounding| format!("matrix::Rounding::{rounding:?}");
    Sum = |sum| match sum {
        Sum::Chained { rounding, step } => {
            format!("matrix::Sum::Chained {{ rounding: matrix::Rounding::{rounding:?}, step: {step} }}")
        }
        sum => format!("matrix::Sum::{sum:?}"),
    };
}

contents! {
    /// Bits of a word that mean something.
    BitField, BitFieldBuf {
        /// Name.
        name: &'static str,
        /// Lowest bit.
        low: u8,
        /// Highest bit.
        high: u8,
    }

    /// Bit layout of a word that describes a matrix or a product.
    BitLayout, BitLayoutBuf {
        /// Name in the spec.
        name: &'static str,
        /// Its fields.
        fields: &'static [BitField],
    }

    /// Distribution of the elements of matrices over the lanes of a warp.
    Fragment, FragmentBuf {
        /// Formula of the index of the matrix; empty if there is one matrix.
        matrix: &'static [Step],
        /// Formula of the row.
        row: &'static [Step],
        /// Formula of the column.
        column: &'static [Step],
    }

    /// Fragment that an operand holds.
    Share, ShareBuf {
        /// Index of the fragment among those of the table.
        fragment: u8,
        /// Number of elements in a register.
        parts: u8,
        /// Free modifiers with which the operand holds it: all of these hold.
        when: &'static [Forbidden],
    }

    /// How products are summed, by target.
    Summation, SummationBuf {
        /// Name in the spec.
        name: &'static str,
        /// Description.
        description: &'static str,
        /// By target, ascending.
        rows: &'static [SumOf],
    }

    /// How products are summed from a target on.
    SumOf, SumOfBuf {
        /// First SM number.
        sm: u16,
        /// The sum.
        sum: Sum,
        /// True if it is likely, but has not been compared with the machine.
        likely: bool,
    }
}

impl BitLayout {
    /// Returns the value of a field in a word; `None` if it has no such field.
    pub fn get(&self, field: &str, word: u64) -> Option<u64> {
        let BitField { low, high, .. } = self.fields.iter().find(|own| own.name == field)?;
        Some(word >> low & (u64::MAX >> (63 - (high - low))))
    }
}

impl Fragment {
    /// Returns the place of an element.
    pub fn place(&self, element: Element) -> Place {
        let value = |formula: &[Step]| value(formula, element);
        Place { matrix: value(self.matrix), row: value(self.row), column: value(self.column) }
    }
}

impl Summation {
    /// Returns how a target sums, if it has the instruction at all.
    pub fn of(&self, sm: u16) -> Option<SumOf> {
        self.rows.iter().rev().find(|row| row.sm <= sm).copied()
    }
}

/// Number of intermediate results that a formula may have at once.
pub const DEPTH: usize = 16;

/// Value of a formula; 0 if it is empty.
fn value(formula: &[Step], element: Element) -> u32 {
    let mut stack = [0_u32; DEPTH];
    let mut top = 0;
    for step in formula {
        let pushed = match *step {
            Step::Lane => element.lane,
            Step::Register => element.register,
            Step::Part => element.part,
            Step::Parts => element.parts,
            Step::Element => element.register * element.parts + element.part,
            Step::Constant(value) => value.into(),
            operation => {
                let (a, b) = (stack[top - 2], stack[top - 1]);
                top -= 2;
                match operation {
                    Step::Add => a.wrapping_add(b),
                    Step::Sub => a.wrapping_sub(b),
                    Step::Mul => a.wrapping_mul(b),
                    Step::Shl => a.wrapping_shl(b),
                    Step::Shr => a.wrapping_shr(b),
                    Step::And => a & b,
                    Step::Or => a | b,
                    _ => a ^ b,
                }
            }
        };
        stack[top] = pushed;
        top += 1;
    }
    stack[0]
}
