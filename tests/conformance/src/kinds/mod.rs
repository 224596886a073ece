//! The kinds of lines that are held against the assembler. Each gives its lines with the context they are judged in.
//!
//! No kind names an opcode: what is tried comes from the table's slots, operands and floors. What is named here is
//! PTX that no spec describes, such as special registers and guards.

pub(crate) mod floors;
pub(crate) mod frame;
pub(crate) mod mnemonics;
pub(crate) mod modifiers;
pub(crate) mod modules;
pub(crate) mod near;
pub(crate) mod operands;
pub(crate) mod selectors;
pub(crate) mod spoil;
pub(crate) mod statements;

use ptx_isa::TABLE;
use ptx_isa::target::{Target, Version};

use crate::context::Context;
use crate::known::Known;

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent<'a> {
    /// A part of what is usually tried, for a run of a minute.
    pub(crate) quick: bool,
    pub(crate) seed: u64,
    /// Number of random lines.
    pub(crate) random: usize,
    /// Number of mutated modules.
    pub(crate) modules: usize,
    /// Listed lines, which are always tried.
    pub(crate) known: &'a Known,
}

/// Lines and the context they are judged in.
pub(crate) struct Batch {
    pub(crate) context: Context,
    pub(crate) lines: Vec<String>,
}

/// The context that lines are judged in where version and target do not matter: the newest version, and the newest
/// target of all assemblers.
pub(crate) fn newest() -> Context {
    Context::full(*TABLE.versions.last().expect("there are versions"), Target::sm(90))
}

/// A name, and how many lines there are: the batches are made one after the other.
///
/// Some fill a module for each version and target: of these a part is whole modules, of the others some lines of each.
pub(crate) type Kind = (&'static str, bool, fn(&Extent, &mut dyn FnMut(Batch)));

/// All kinds whose lines are judged one by one.
pub(crate) const LINES: &[Kind] = &[
    ("mnemonics", false, mnemonics::batches),
    ("modifiers", false, modifiers::batches),
    ("floors", true, floors::batches),
    ("operands", false, operands::batches),
    ("selectors", false, selectors::batches),
    ("statements", false, statements::batches),
    ("random", false, near::batches),
];

/// A context that an older assembler knows.
pub(crate) fn context(version: Version, target: Target) -> Context {
    Context::plain(version, target)
}
