//! The validator: judges the parts of a module as the reader passes them on.
//!
//! It holds no position in the text. What a part says is in the part; the text is needed for the places of names only.

mod calls;
mod features;
mod floors;
mod kinds;
mod labels;
mod registers;
mod undeclared;
mod vectors;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use super::findings::Findings;
use super::functions::Signature;
use super::index::{Recorder, SymbolKind};
use crate::table::Table;
use crate::text::lexer::{Cursor, span_of};
use crate::text::reader::Read;
use crate::text::scope::{Scopes, Symbol};
use crate::text::statement::{Guard, Statement};
pub(super) use calls::{List, Shape, bytes_of};
pub(super) use floors::Level;
use labels::Labels;
pub(super) use undeclared::Wanted;

/// Judges the parts of one module.
pub(super) struct Judge<'o, 'a> {
    pub(super) table: &'static Table,
    pub(super) text: &'a str,
    /// True if statements may occur outside of functions.
    pub(super) bare: bool,
    /// True if the text declares registers, so that each register must be declared.
    pub(super) declares: bool,
    pub(super) findings: Findings<'o, 'a>,
    pub(super) names: Names<'o, 'a>,
    pub(super) level: Level<'o>,
    pub(super) declared: Declarations<'a>,
    pub(super) body: Body<'a>,
}

/// The names in scope.
pub(super) struct Names<'o, 'a> {
    pub(super) scopes: Scopes<'a>,
    /// Records the names for an index, if one is wanted.
    pub(super) recorder: Option<&'o mut Recorder<'a>>,
}

/// What is known of declared names beyond their symbols.
#[derive(Default)]
pub(super) struct Declarations<'a> {
    /// Signatures of the functions declared so far.
    pub(super) signatures: BTreeMap<&'a str, Signature>,
    /// The variables declared as `.extern`; true if also defined.
    pub(super) externals: BTreeMap<&'a str, bool>,
    /// The functions defined by `.alias`.
    pub(super) aliases: BTreeSet<&'a str>,
    /// The shapes of the known variables, by number.
    pub(super) shapes: Vec<Shape>,
    /// The functions named by the initializers of an array, by the array's number.
    pub(super) tables: BTreeMap<u32, Vec<&'a str>>,
}

/// The open function.
#[derive(Default)]
pub(super) struct Body<'a> {
    pub(super) labels: Labels<'a>,
    /// The lists and prototypes that are named by labels, by number.
    pub(super) lists: Vec<List<'a>>,
    /// Start of the statement being judged.
    pub(super) statement_at: usize,
    /// True if that statement may name special registers.
    special: bool,
}

impl<'o, 'a> Names<'o, 'a> {
    pub(super) fn new(recorder: Option<&'o mut Recorder<'a>>) -> Self {
        Names { scopes: Scopes::new(), recorder }
    }

    /// Calls `what` with the recorder, if there is one.
    #[inline]
    pub(super) fn record(&mut self, what: impl FnOnce(&mut Recorder<'a>)) {
        if let Some(recorder) = &mut self.recorder {
            what(recorder);
        }
    }

    /// Declares a name, whatever else the scope has.
    pub(super) fn introduce(&mut self, text: &'a str, name: &'a str, count: Option<u64>, symbol: Symbol) {
        self.scopes.declare(name, count, symbol);
        let kind = match symbol {
            Symbol::Register { ty, lanes } => SymbolKind::Register { ty, lanes, count },
            Symbol::Variable { space, .. } => SymbolKind::Variable(space),
            Symbol::Function => SymbolKind::Function { kernel: false },
            Symbol::Label | Symbol::List(_) => return,
        };
        self.record(|recorder| recorder.declare(span_of(text, name), kind));
    }
}

impl<'a> Judge<'_, 'a> {
    /// Judges a statement, which begins at `start`, and may make it one of another form. `opcode` is its start behind
    /// the guard.
    #[inline]
    pub(super) fn statement(
        &mut self,
        statement: &mut Statement<'a>,
        guard: Option<Guard<'a>>,
        opcode: usize,
        span: Range<usize>,
    ) -> Read<()> {
        self.body.statement_at = span.start;
        self.guard_is_predicate(guard)?;
        self.fits(statement, opcode)?;
        self.floors(statement, opcode, span.end)
    }

    /// Enters a block that begins at `at`.
    pub(super) fn enter(&mut self, at: usize) {
        self.names.scopes.enter();
        self.body.labels.enter(at);
        self.names.record(|recorder| recorder.enter(at));
    }

    pub(super) fn leave(&mut self, at: usize) {
        self.names.scopes.leave();
        self.body.labels.leave(at);
        self.names.record(|recorder| recorder.leave(at));
    }

    fn mnemonic_at(&self, opcode: usize) -> Range<usize> {
        let mut cursor = Cursor::new(self.text);
        cursor.seek(opcode);
        cursor.dotted_word();
        opcode..cursor.at()
    }
}
