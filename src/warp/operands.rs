//! Operands of instructions that are added to a program, and decoding errors.

use core::fmt;

use crate::table::{Kind, TypeInfo};

/// A register of a warp: its width, and its index among the registers of that width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Bits per lane: 16, 32 or 64; 1 for a predicate.
    pub bits: u8,
    /// Index among the registers of that width.
    pub number: u32,
}

impl Row {
    /// Returns the register with this index whose width fits a type: bytes are held in 16 bits.
    pub fn of(ty: &TypeInfo, number: u32) -> Row {
        let bits = if ty.kind == Kind::Predicate { 1 } else { ty.bits.clamp(2, 128) as u8 };
        Row { bits: held(bits), number }
    }
}

/// An operand's reference to a register: an index alone, or a [`Row`].
pub(super) trait Place: Copy {
    /// Returns the register; `bits` is the width of the operand.
    fn row(self, bits: u8) -> Row;
}

impl Place for u32 {
    fn row(self, bits: u8) -> Row {
        Row { bits: held(bits), number: self }
    }
}

impl Place for Row {
    fn row(self, _: u8) -> Row {
        self
    }
}

/// Returns the width of the registers that hold an operand of `bits` bits; 1 is a predicate.
pub(super) fn held(bits: u8) -> u8 {
    match bits {
        0 | 1 => 1,
        2..=16 => 16,
        17..=32 => 32,
        33..=64 => 64,
        65.. => 128,
    }
}

/// A source operand. Registers are given as indices among those of the operand's width, or as [rows](Row).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<R = u32> {
    /// A register.
    Register(R),
    /// A negated predicate, `!p`.
    Not(R),
    /// A constant that is the same in every lane; for a predicate, its lowest bit.
    Constant(u64),
}

/// The operands of an instruction. Registers are given as indices among those of the operand's width, or as
/// [rows](Row). The default has no operands.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a, R = u32> {
    /// Index of the guard predicate, and true if it is negated (`@!p`).
    pub guard: Option<(u32, bool)>,
    /// The destinations, each followed by its second destination if the form has one; `None` for a sink or an omitted
    /// second destination.
    pub destinations: &'a [Option<R>],
    /// The sources, in order of writing.
    pub sources: &'a [Source<R>],
    /// The selectors in order of writing, packed as [`selector::Kind`](crate::selector::Kind) describes; if empty, the
    /// defaults apply.
    pub selectors: &'a [u32],
}

impl<R> Default for Operands<'_, R> {
    fn default() -> Self {
        Operands { guard: None, destinations: &[], sources: &[], selectors: &[] }
    }
}

/// Reason why an instruction cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The instruction has no described semantics.
    NoEvaluator(&'static str),
    /// Wrong number of destinations, sources or selectors.
    Count(&'static str),
    /// An operand does not fit the registers of a warp; over slices, the form works on whole warps only.
    NoLanes {
        /// The instruction.
        form: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// A register index is out of bounds.
    Register {
        /// The instruction.
        form: &'static str,
        /// The register's index.
        register: u32,
        /// Number of registers of that width.
        count: u32,
        /// Width in bits; 1 for predicates.
        bits: u32,
    },
    /// An operand of a statement is neither a constant nor a register of the program.
    NoRegister {
        /// The instruction.
        form: &'static str,
        /// The operand's name in the manual, or `guard`.
        operand: &'static str,
    },
    /// A register cannot be converted to or from the operand's width: a predicate in place of a number or vice versa,
    /// or a converted destination of an instruction that overwrites its own guard.
    Width {
        /// The instruction.
        form: &'static str,
        /// Width of the register in bits; 1 for a predicate.
        register: u8,
        /// Width of the operand in bits; 1 for a predicate.
        operand: u8,
    },
    /// `!` before an operand that is not a predicate.
    Not(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::NoEvaluator(name) => write!(f, "`{name}` has no evaluator"),
            DecodeError::Count(name) => write!(f, "`{name}` has another number of operands"),
            DecodeError::NoLanes { form, why } => write!(f, "`{form}` does not run over lanes: {why}"),
            DecodeError::Register { form, register, count, bits } => {
                write!(f, "`{form}` names register {register} of {count} with {bits} bits")
            }
            DecodeError::NoRegister { form, operand } => {
                write!(f, "`{operand}` of `{form}` is neither a constant nor a known register")
            }
            DecodeError::Width { form, register, operand } => {
                write!(f, "`{form}` has a register of {register} bits for an operand of {operand}")
            }
            DecodeError::Not(name) => write!(f, "`{name}` has `!` before an operand that is not a predicate"),
        }
    }
}

impl core::error::Error for DecodeError {}
