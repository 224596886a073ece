//! A second receiver of the parts of a module, beside the validator.

use core::ops::Range;

use super::judge::Judge;
use super::read::{Output, Part};
use crate::text::statement::Statement;

/// Sees the parts of a module. Some may be refused by the validator: what becomes of them counts only if the report has no
/// errors.
pub(in crate::text) trait Watch<'a> {
    /// Sees a part other than an instruction.
    fn part(&mut self, part: &Part<'_, 'a>);

    /// Sees an instruction once it is judged, which may have made it one of another form.
    fn statement(&mut self, statement: &Statement<'a>, span: Range<usize>);
}

/// A validator, and who sees the parts with it.
pub(super) struct Watched<'w, 'o, 'a, W> {
    pub(super) judge: Judge<'o, 'a>,
    pub(super) watch: &'w mut W,
}

impl<'a, W: Watch<'a>> Output<'a> for Watched<'_, '_, 'a, W> {
    #[inline]
    fn part(&mut self, part: Part<'_, 'a>) {
        match part {
            Part::Statement { statement, guard, opcode, span } => {
                let judged = Part::Statement { statement: &mut *statement, guard, opcode, span: span.clone() };
                self.judge.part(judged);
                self.watch.statement(statement, span);
            }
            part => {
                self.watch.part(&part);
                self.judge.part(part);
            }
        }
    }

    fn is_brief(&self) -> bool {
        self.judge.is_brief()
    }

    fn is_done(&self) -> bool {
        self.judge.is_done()
    }
}
