//! Data model of an instruction table, and queries on it.
//!
//! Data that grows with the number of forms is stored in columns of indices ([`Forms`]) into shared pools; data that
//! grows with the number of instructions is stored in structs. A table may extend a base table: it then holds its own
//! instructions only and answers queries for both. Types, versions and targets are the exception: each table lists all
//! of them, those of its base first, so that an index has the same meaning in both.
//!
//! This module names no instruction, type or version: the generator writes every value from a spec.

mod evaluator;
mod form;
mod instruction;
mod least;
mod lookup;
mod operands;
mod quality;
mod schema;
mod vocabulary;

use core::fmt;
use core::ops::Deref;

pub use crate::effect::{ALONE, BULK, COPIES, Effect, EffectKind, EffectList, Memory, NO_OPERAND, Origin, Traversal};
#[cfg(feature = "write")]
pub use crate::effect::{EffectBuf, EffectListBuf};
pub use crate::notation::Around;
use crate::program::{Linear, Operation, Run};
pub use evaluator::{Evaluator, LinearValue, Outputs, Single};
pub use form::{FormInfo, name_with, name_with_operands};
pub use instruction::{Free, IllegalForm, InstructionInfo, member, optional_member};
pub use least::{Least, Requirement};
pub use lookup::UnknownMnemonic;
pub use operands::{Operands, OperandsIter};
pub use schema::*;
pub use vocabulary::{Constants, Feature, Kind, Lenient, Measure, NonFinite, OperandKind, Substitute};

/// An instruction table, computed from a spec: data and code.
pub struct Table {
    /// The table that this one extends.
    pub base: Option<&'static Table>,
    /// Data.
    pub data: Data,
    /// Computes the operations that the programs call.
    pub operation: Operation,
    /// Names of these operations, by number: of the builtin, its types and its words, as in `add_f32.rz`.
    pub operations: &'static [&'static str],
    /// Numbers of the operations that keep values linear in the index of a thread, ascending.
    pub linear: &'static [(u16, Linear)],
    /// Code of each loop at every SIMD level.
    pub loops: &'static [&'static [Run]],
}

impl Deref for Table {
    type Target = Data;

    #[inline(always)]
    fn deref(&self) -> &Data {
        &self.data
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("forms", &self.forms.len()).finish_non_exhaustive()
    }
}
