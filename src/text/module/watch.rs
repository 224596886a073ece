//! A second receiver of the parts of a module, beside the validator.

use core::ops::Range;

use super::judge::Judge;
use super::read::{Instruction, Output, Part};
use crate::text::statement::Statement;

/// Sees the parts of a module. Some may be refused by the validator: what becomes of them counts only if the report has no
/// errors.
pub(in crate::text) trait Watch<'a> {
    /// Sees a part.
    fn part(&mut self, part: &Part<'_, 'a>);

    /// Sees an instruction once it is judged, which may have made it one of another form.
    fn statement(&mut self, statement: &Statement<'a>, span: Range<usize>);
}

/// A validator and an optional second receiver. Readers have no other output, so that their code is instantiated once.
pub(super) struct Watched<'o, 'a> {
    pub(super) judge: Judge<'o, 'a>,
    pub(super) watch: Option<&'o mut dyn Watch<'a>>,
}

impl<'a> Output<'a> for Watched<'_, 'a> {
    fn next(&mut self, item: bool) {
        self.judge.next(item);
    }

    fn begins(&mut self) {
        self.judge.begins();
    }

    fn instruction(&mut self, instruction: Instruction<'_, 'a>) {
        let Some(watch) = &mut self.watch else { return self.judge.instruction(instruction) };
        let Instruction { statement, registers, opcode, span } = instruction;
        let judged = Instruction { statement: &mut *statement, registers, opcode, span: span.clone() };
        self.judge.instruction(judged);
        watch.statement(statement, span);
    }

    fn statement_ends(&mut self, span: Range<usize>) {
        self.judge.statement_ends(span);
    }

    fn ends(&mut self, span: Range<usize>) {
        self.judge.ends(span);
    }

    fn part(&mut self, part: Part<'_, 'a>) {
        if let Some(watch) = &mut self.watch {
            watch.part(&part);
        }
        self.judge.part(part);
    }

    fn is_brief(&self) -> bool {
        self.judge.is_brief()
    }

    fn is_done(&self) -> bool {
        self.judge.is_done()
    }
}
