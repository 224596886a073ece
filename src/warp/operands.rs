//! How an instruction's operands are given to a program, and why they are refused.

use core::fmt;

use crate::table::{Kind, TypeInfo};

/// A register of a warp: its width, and its number among the registers of that width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Bits of a lane: 16, 32 or 64; 1 for a predicate.
    pub bits: u8,
    /// Its number.
    pub number: u32,
}

impl Row {
    /// The register with this number among those that hold values of a type: bytes are held in 16 bits.
    pub fn of(ty: &TypeInfo, number: u32) -> Row {
        let bits = match (ty.kind, ty.bits) {
            (Kind::Predicate, _) => 1,
            (_, 0..=16) => 16,
            (_, 17..=32) => 32,
            (_, 33..=64) => 64,
            _ => 128,
        };
        Row { bits, number }
    }
}

/// How operands name a register: by its number alone, or by width and number.
pub(super) trait Place: Copy {
    /// The register; `bits` is the width of the operand.
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

/// The width of the registers that hold an operand of so many bits.
pub(super) fn held(bits: u8) -> u8 {
    if bits == 8 { 16 } else { bits }
}

/// A source operand; registers are numbers of the operand's width, or [rows](Row).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<R = u32> {
    /// A register.
    Register(R),
    /// A predicate with `!` before it.
    Not(R),
    /// The same bits in every lane; of a predicate, the lowest bit.
    Constant(u64),
}

/// Where an instruction's operands are; registers are numbers of the operand's width, or [rows](Row). The default has none.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a, R = u32> {
    /// The predicate that guards the instruction, and whether `!` stands before it.
    pub guard: Option<(u32, bool)>,
    /// The destinations, second ones behind their first; `None` for the sink or a second one that is left out.
    pub destinations: &'a [Option<R>],
    /// The sources in order of writing.
    pub sources: &'a [Source<R>],
    /// The selectors in order of writing, packed as [`selector::Kind`](crate::selector::Kind) says; none for the defaults.
    pub selectors: &'a [u32],
}

impl<R> Default for Operands<'_, R> {
    fn default() -> Self {
        Operands { guard: None, destinations: &[], sources: &[], selectors: &[] }
    }
}

/// Why an instruction cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The entry describes no semantics.
    NoEvaluator(&'static str),
    /// Too few or too many destinations, sources or selectors.
    Count(&'static str),
    /// An operand that no register of a warp holds; over slices, a form that is for whole warps.
    NoLanes {
        /// The instruction.
        form: &'static str,
        /// Why.
        why: &'static str,
    },
    /// A register that the program has not declared.
    Register {
        /// The instruction.
        form: &'static str,
        /// The register.
        register: u32,
        /// How many there are.
        count: u32,
        /// Their width; 1 for predicates.
        bits: u32,
    },
    /// A statement's operand that is no constant and no register of the program.
    NoRegister {
        /// The instruction.
        form: &'static str,
        /// The operand's name in the manual, or `guard`.
        operand: &'static str,
    },
    /// A register that cannot be converted to or from the operand's width: a predicate in place of a number or the reverse, or a
    /// converted destination of an instruction that overwrites its own guard.
    Width {
        /// The instruction.
        form: &'static str,
        /// Bits of the register; 1 for a predicate.
        register: u8,
        /// Bits of the operand; 1 for a predicate.
        operand: u8,
    },
    /// `!` before an operand that is no predicate.
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
                write!(f, "`{operand}` of `{form}` is no constant and no register that is known")
            }
            DecodeError::Width { form, register, operand } => {
                write!(f, "`{form}` has a register of {register} bits for an operand of {operand}")
            }
            DecodeError::Not(name) => write!(f, "`{name}` has `!` before an operand that is no predicate"),
        }
    }
}

impl core::error::Error for DecodeError {}
